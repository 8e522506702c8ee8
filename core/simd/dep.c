/* SPDX-License-Identifier: MIT */
/* Accesses in merged form.
** Invariant: equal accesses of a graph have one loom_dep, equal addresses are merged once. */
#include <string.h>

#include "simd/graph.h"

/* ---- merging ------------------------------------------------------------------------------ */

typedef struct address_key {
  loom_expr index;
  size_t n;
  const loom_extent *loops;
} address_key;

static bool same_loops(size_t n, const loom_extent *a, const loom_extent *b) {
  for (size_t i = 0; i < n; i++)
    if (a[i].variable != b[i].variable || a[i].size != b[i].size) return false;
  return true;
}

static bool same_address(const void *data, uint32_t i, const void *key) {
  const loom_merged *m = &((const loom_graph *)data)->merged.at[i];
  const address_key *k = key;
  return m->index == k->index && m->n == k->n && same_loops(m->n, m->loops, k->loops);
}

static uint32_t hash_address(loom_expr index, size_t n, const loom_extent *loops) {
  uint32_t hash = loom_table_mix((uint32_t)n, index);
  for (size_t i = 0; i < n; i++)
    hash = loom_table_mix(loom_table_mix(hash, loops[i].variable), loops[i].size);
  return hash;
}

static loom_extent *copy_loops(loom_graph *g, size_t n, const loom_extent *loops) {
  loom_extent *copy = loom_arena_array(&g->arena, n, sizeof *copy);
  if (copy && n > 0) memcpy(copy, loops, n * sizeof *copy);
  return copy;
}

/* The place of the merged address in g->merged, -1 with an error. */
static ptrdiff_t merge(loom_graph *g, loom_expr index, size_t n, const loom_extent *loops) {
  uint32_t hash = hash_address(index, n, loops);
  address_key key = {index, n, loops};
  ptrdiff_t found = loom_table_find(&g->merged_places, hash, same_address, g, &key);
  if (found >= 0) return found;
  loom_merged m = {.index = index, .n = n};
  m.loops = copy_loops(g, n, loops);
  loom_extent *merged = loom_arena_array(&g->arena, n, sizeof *merged);
  if (!m.loops || !merged) return -1;
  loom_address address = {index, n, loops};
  ptrdiff_t left =
      loom_address_merge(g->ctx, &address, false, "c", &g->given, &m.merged_index, merged);
  if (left < 0) return -1;
  m.n_merged = (size_t)left;
  m.merged_loops = merged;
  if (!loom_vec_push(g->ctx, &g->merged, m)) return -1;
  if (loom_table_add(g->ctx, &g->merged_places, hash, (uint32_t)g->merged.n - 1))
    return (ptrdiff_t)g->merged.n - 1;
  g->merged.n--;
  return -1;
}

/* ---- interning ---------------------------------------------------------------------------- */

static bool same_dep(const void *data, uint32_t i, const void *key) {
  const loom_dep *a = ((const loom_graph *)data)->deps.at[i], *b = key;
  return a->buffer == b->buffer && a->mode == b->mode && a->accumulates == b->accumulates &&
         a->index == b->index && a->n == b->n && same_loops(a->n, a->loops, b->loops);
}

static void weigh(const loom_graph *g, loom_dep *dep) {
  loom_ctx *ctx = g->ctx;
  loom_expr item = loom_int(ctx, loom_dtype_bytes(g->buffers.at[dep->buffer].dtype));
  loom_expr all = loom_mul(ctx, dep->elements, item);
  dep->bytes = 0;
  if (!loom_hint_value(ctx, all, &g->given, &dep->moved))
    dep->moved = LOOM_NONE;
  else if (!loom_as_int(ctx, dep->moved, &dep->bytes))
    dep->bytes = loom_known_lt(ctx, loom_int(ctx, 0), dep->moved) == LOOM_YES ? INT64_MAX : 0;
}

static bool look(const loom_graph *g, loom_dep *dep) {
  loom_expr all = g->buffers.at[dep->buffer].elements;
  dep->elements = dep->mode == LOOM_USE_WHOLE ? all : loom_int(g->ctx, 0);
  if (dep->mode == LOOM_USE_INDEXED) {
    loom_address address = {dep->index, dep->n, dep->loops};
    loom_address_features f;
    if (loom_address_look(g->ctx, &address, all, &g->given, &f) != LOOM_OK) return false;
    dep->indirect = f.indirect;
    dep->contiguous = f.contiguous;
    dep->stride1_last = f.stride1_last;
    dep->elements = f.elements;
  }
  weigh(g, dep);
  return !loom_base_failed(g->ctx);
}

const loom_dep *loom_graph_dep(loom_graph *g, const loom_use *use, size_t n,
                               const loom_extent *loops) {
  loom_ctx *ctx = g->ctx;
  loom_dep dep = {.buffer = use->buffer, .mode = use->mode, .accumulates = use->accumulates};
  if (use->mode == LOOM_USE_INDEXED) {
    ptrdiff_t place = merge(g, use->index, n, loops);
    if (place < 0) return NULL;
    const loom_merged *m = &g->merged.at[place];
    dep.index = m->merged_index;
    dep.n = m->n_merged;
    dep.loops = m->merged_loops;
  }
  uint32_t hash = hash_address(dep.index, dep.n, dep.loops);
  hash = loom_table_mix(loom_table_mix(hash, (uint32_t)dep.buffer), (uint32_t)dep.mode);
  ptrdiff_t found = loom_table_find(&g->dep_places, hash, same_dep, g, &dep);
  if (found >= 0) return g->deps.at[found];
  dep.id = (int)g->deps.n;
  if (!look(g, &dep)) return NULL;
  loom_dep *kept = loom_arena_new(&g->arena, sizeof *kept);
  if (!kept || !loom_vec_reserve(ctx, &g->deps, 1) ||
      !loom_table_add(ctx, &g->dep_places, hash, (uint32_t)dep.id))
    return NULL;
  *kept = dep;
  return g->deps.at[g->deps.n++] = kept;
}

bool loom_graph_covers(const loom_graph *g, const loom_dep *dep) {
  const loom_buffer *b = &g->buffers.at[dep->buffer];
  return dep->mode == LOOM_USE_INDEXED && !dep->indirect && dep->n <= 1 && dep->contiguous &&
         dep->elements == b->elements && b->storage == b->elements;
}
