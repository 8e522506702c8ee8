/* SPDX-License-Identifier: MIT */
/* Groups of operations: their facts, kept when they are joined.
** Invariant: joining costs as much as the smaller group, but for sets of one bit per operation. */
#include <string.h>

#include "expr/ops.h"
#include "simd/fusion.h"

/* ---- sets --------------------------------------------------------------------------------- */

enum { FEW = 16 };

bool loom_id_set_has(const loom_id_set *set, int id) {
  if (set->bits) return loom_bit(set->bits, id);
  for (size_t i = 0; i < set->n; i++)
    if (set->at[i] == id) return true;
  return false;
}

static void set_bit(uint64_t *bits, int i) {
  bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool grow_set(loom_arena *arena, loom_id_set *set, size_t limit) {
  size_t capacity = set->capacity ? 2 * set->capacity : 4;
  int *at = loom_arena_array(arena, capacity, sizeof *at);
  if (!at) return false;
  if (set->n > 0) memcpy(at, set->at, set->n * sizeof *at);
  set->at = at;
  set->capacity = capacity;
  if (capacity <= FEW || set->bits) return true;
  set->bits = loom_arena_array(arena, limit / 64 + 1, sizeof *set->bits);
  for (size_t i = 0; set->bits && i < set->n; i++) set_bit(set->bits, set->at[i]);
  return set->bits;
}

bool loom_id_set_add(loom_arena *arena, loom_id_set *set, int id, size_t limit) {
  if (loom_id_set_has(set, id)) return true;
  if (set->n == set->capacity && !grow_set(arena, set, limit)) return false;
  set->at[set->n++] = id;
  if (set->bits) set_bit(set->bits, id);
  return true;
}

/* Takes the last number into the place of number i. */
static void id_set_drop(loom_id_set *set, size_t i) {
  int id = set->at[i];
  if (set->bits) set->bits[id / 64] &= ~(UINT64_C(1) << (id % 64));
  set->at[i] = set->at[--set->n];
}

/* a gets what either has; b is not to be used any more. */
static bool id_set_join(loom_arena *arena, loom_id_set *a, loom_id_set *b, size_t limit) {
  if (a->n < b->n) {
    loom_id_set other = *a;
    *a = *b;
    *b = other;
  }
  for (size_t i = 0; i < b->n; i++)
    if (!loom_id_set_add(arena, a, b->at[i], limit)) return false;
  return true;
}

/* ---- one operation ------------------------------------------------------------------------ */

int loom_fusion_group(loom_fusion *f, int op) {
  while (f->parent[op] != op) op = f->parent[op] = f->parent[f->parent[op]];
  return op;
}

/* The place of a type and storage size. */
static int storage_of(loom_fusion *f, const loom_buffer *b) {
  uint64_t key = (uint64_t)(b->dtype + 1) << 32 | b->storage;
  uint32_t known = loom_idmap_get(&f->storages, key);
  if (known) return (int)known - 1;
  if (!loom_vec_push(f->ctx, &f->storage_sizes, b->storage) ||
      !loom_idmap_put(f->ctx, &f->storages, key, (uint32_t)f->storage_sizes.n))
    return -1;
  return (int)f->storage_sizes.n - 1;
}

static bool count_storage(loom_fusion *f, loom_group *g, int storage, int more) {
  for (size_t i = 0; i < g->storages.n; i++) {
    if (g->storages.at[i].storage != storage) continue;
    g->storages.at[i].count += more;
    if (g->storages.at[i].count == 0) g->storages.at[i] = g->storages.at[--g->storages.n];
    return true;
  }
  return more <= 0 || loom_vec_push(f->ctx, &g->storages, ((loom_storage_use){storage, more}));
}

/* A buffer made in the graph of which all is read by one operation, and nothing leaves. */
static bool is_used_once(const loom_buffer *b) {
  return b->writer >= 0 && b->n_users + b->output == 1;
}

static bool add_read(loom_fusion *f, loom_group *g, const loom_dep *dep) {
  const loom_buffer *b = &f->graph->buffers.at[dep->buffer];
  if (!loom_id_set_add(&f->arena, &g->deps, dep->id, f->graph->deps.n)) return false;
  if (b->writer < 0) return true;
  if (!loom_id_set_add(&f->arena, &g->unmet, dep->id, f->graph->deps.n)) return false;
  if (!is_used_once(b)) return true;
  int storage = storage_of(f, b);
  return storage >= 0 && count_storage(f, g, storage, 1);
}

static bool begin_group(loom_fusion *f, int number) {
  const loom_op *op = loom_fusion_op(f, number);
  loom_group *g = &f->groups[number];
  *g = (loom_group){.first = number,
                    .last = number,
                    .n = 1,
                    .lead = number,
                    .template = -1,
                    .min_order = number,
                    .max_order = number,
                    .tiling = -1};
  g->opaque = (op->kind == LOOM_OP_OPAQUE && !op->extensible) || op->kind == LOOM_OP_NOP;
  if (op->extensible) g->template = number;
  g->split_scan = op->split;
  g->reduces = op->kind == LOOM_OP_REDUCTION || op->kind == LOOM_OP_SCAN;
  g->members = loom_arena_array(&f->arena, f->n_words, sizeof *g->members);
  g->ancestors = loom_arena_array(&f->arena, f->n_words, sizeof *g->ancestors);
  g->above = loom_arena_array(&f->arena, f->n_words, sizeof *g->above);
  g->below = loom_arena_array(&f->arena, f->n_words, sizeof *g->below);
  if (!g->members || !g->ancestors || !g->above || !g->below) return false;
  set_bit(g->members, number);
  size_t known = (size_t)number / 64 + 1;
  memcpy(g->ancestors, op->ancestors, known * sizeof *g->ancestors);
  memcpy(g->above, op->ancestors, known * sizeof *g->above);
  for (size_t i = 0; i < op->n_dep_reads; i++)
    if (!add_read(f, g, op->dep_reads[i])) return false;
  for (size_t i = 0; i < op->n_dep_writes; i++)
    if (!loom_id_set_add(&f->arena, &g->deps, op->dep_writes[i]->id, f->graph->deps.n))
      return false;
  return true;
}

/* Swaps rows and columns of 64 words of bits: quarters of ever smaller squares. */
static void transpose(uint64_t square[64]) {
  uint64_t low = UINT64_C(0xffffffff);
  for (int half = 32; half > 0; half /= 2, low ^= low << half)
    for (int row = 0; row < 64; row = ((row | half) + 1) & ~half) {
      uint64_t swap = ((square[row] >> half) ^ square[row | half]) & low;
      square[row] ^= swap << half;
      square[row | half] ^= swap;
    }
}

/* Who is below an operation: those that have it above them. */
static void find_below(loom_fusion *f) {
  for (size_t row = 0; row < f->n_words; row++)
    for (size_t column = 0; column <= row; column++) {
      uint64_t square[64] = {0}, any = 0;
      for (size_t i = 0; i < 64 && row * 64 + i < f->n_ops; i++)
        any |= square[i] = f->groups[row * 64 + i].above[column];
      if (!any) continue;
      transpose(square);
      for (size_t i = 0; i < 64 && column * 64 + i < f->n_ops; i++)
        f->groups[column * 64 + i].below[row] = square[i];
    }
}

bool loom_fusion_begin(loom_fusion *f) {
  for (size_t i = 0; i < f->n_ops; i++) {
    f->parent[i] = (int)i;
    f->next[i] = -1;
    f->nest_of[i] = -1;
    if (!begin_group(f, (int)i) || !loom_vec_push(f->ctx, &f->order, (int)i)) return false;
  }
  find_below(f);
  return true;
}

/* ---- joining ------------------------------------------------------------------------------ */

static bool writes(const loom_op *op, const loom_dep *dep) {
  for (size_t i = 0; i < op->n_dep_writes; i++)
    if (op->dep_writes[i] == dep) return true;
  return false;
}

/* Reads of b that a's operations provide are met; one that equals the write is no read any more. */
static bool meet(loom_fusion *f, loom_group *a, loom_group *b) {
  for (size_t i = b->unmet.n; i-- > 0;) {
    const loom_dep *dep = f->graph->deps.at[b->unmet.at[i]];
    const loom_buffer *buffer = &f->graph->buffers.at[dep->buffer];
    if (!loom_bit(a->members, buffer->writer)) continue;
    id_set_drop(&b->unmet, i);
    if (is_used_once(buffer) && writes(loom_fusion_op(f, buffer->writer), dep) &&
        !count_storage(f, b, storage_of(f, buffer), -1))
      return false;
  }
  return true;
}

static bool join_storages(loom_fusion *f, loom_group *a, const loom_group *b) {
  for (size_t i = 0; i < b->storages.n; i++)
    if (!count_storage(f, a, b->storages.at[i].storage, b->storages.at[i].count)) return false;
  return true;
}

/* What is above or below one of two groups alone is now above or below both: ones has its operations,
** which are below the joined group or above it. */
static void spread(loom_fusion *f, const uint64_t *ones, const loom_group *joined, bool below) {
  const uint64_t *from = below ? joined->above : joined->below;
  for (size_t w = 0; w < f->n_words; w++)
    for (uint64_t bits = ones[w]; bits; bits &= bits - 1) {
      int op = (int)(w * 64) + __builtin_ctzll(bits);
      if (loom_fusion_group(f, op) != op) continue;
      uint64_t *into = below ? f->groups[op].above : f->groups[op].below;
      for (size_t i = 0; i < f->n_words; i++) into[i] |= from[i] | joined->members[i];
    }
}

/* a gets the sets of both, b->above and b->below become what was in one of them alone. */
static void join_sets(loom_fusion *f, loom_group *a, loom_group *b) {
  for (size_t w = 0; w < f->n_words; w++) {
    uint64_t members = a->members[w] | b->members[w];
    uint64_t above = a->above[w] | b->above[w], below = a->below[w] | b->below[w];
    b->above[w] = (a->above[w] ^ b->above[w]) & ~members;
    b->below[w] = (a->below[w] ^ b->below[w]) & ~members;
    a->members[w] = members;
    a->ancestors[w] |= b->ancestors[w];
    a->above[w] = above & ~members;
    a->below[w] = below & ~members;
  }
}

static void join_members(loom_fusion *f, loom_group *a, const loom_group *b) {
  f->next[a->last] = b->first;
  a->last = b->last;
  a->n += b->n;
  if (b->template >= 0 || (!a->reduces && b->reduces && a->template <0)) a->lead = b->lead;
  a->reduces |= b->reduces;
  a->split_scan |= b->split_scan;
  if (a->template <0) a->template = b->template;
  if (b->min_order < a->min_order) a->min_order = b->min_order;
  if (b->max_order > a->max_order) a->max_order = b->max_order;
}

int loom_fusion_join(loom_fusion *f, int first, int second) {
  loom_group *a = &f->groups[first], *b = &f->groups[second];
  if (!loom_group_join_tilings(f, a, b) || !meet(f, a, b) || !join_storages(f, a, b) ||
      !id_set_join(&f->arena, &a->deps, &b->deps, f->graph->deps.n) ||
      !id_set_join(&f->arena, &a->unmet, &b->unmet, f->graph->deps.n))
    return -1;
  join_members(f, a, b);
  join_sets(f, a, b);
  f->parent[second] = first;
  spread(f, b->below, a, true);
  spread(f, b->above, a, false);
  loom_vec_free(f->ctx, &b->storages);
  loom_vec_free(f->ctx, &b->candidates);
  loom_vec_free(f->ctx, &b->ranked);
  return first;
}

bool loom_fusion_cycle(const loom_fusion *f, int first, int second) {
  const loom_group *a = &f->groups[first], *b = &f->groups[second];
  for (size_t w = 0; w < f->n_words; w++)
    if (((a->below[w] & b->above[w]) | (b->below[w] & a->above[w])) &
        ~(a->members[w] | b->members[w]))
      return true;
  return false;
}
