/* SPDX-License-Identifier: MIT */
/* The hash table of nodes: contexts, cells, slots.
** Invariant: slots hold exactly the live cells, by linear probing, at most three quarters full. */
#include "expr/make.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 1024u

/* ---- contexts ------------------------------------------------------------------------------- */

loom_ctx *loom_ctx_new(void) {
  loom_ctx *ctx = calloc(1, sizeof *ctx);
  if (!ctx) return NULL;
  ctx->base.error.offset = -1;
  ctx->owners.next = ctx->owners.prev = &ctx->owners;
  ctx->memo_epoch = 1;
  ctx->n_cells = 1;
  ctx->slots = loom_realloc_array(ctx, NULL, 0, FIRST_SLOTS, sizeof *ctx->slots);
  if (!ctx->slots) {
    free(ctx);
    return NULL;
  }
  memset(ctx->slots, 0, FIRST_SLOTS * sizeof *ctx->slots);
  ctx->n_slots = FIRST_SLOTS;
  return ctx;
}

void loom_ctx_free(loom_ctx *ctx) {
  if (!ctx) return;
  for (loom_expr e = 1; e < ctx->n_cells; e++)
    if (loom_expr_live(ctx, e)) loom_cell_empty(ctx, loom_cell_at(ctx, e));
  for (uint32_t i = 0; i < ctx->n_pages; i++)
    loom_realloc_array(ctx, ctx->pages[i], LOOM_PAGE_SIZE, 0, sizeof(loom_cell));
  loom_realloc_array(ctx, ctx->pages, ctx->capacity_pages, 0, sizeof *ctx->pages);
  loom_realloc_array(ctx, ctx->slots, ctx->n_slots, 0, sizeof *ctx->slots);
  for (int i = 0; i < LOOM_WALK_LEVELS; i++) {
    loom_realloc_array(ctx, ctx->side[i].seen, ctx->side[i].capacity, 0, sizeof(uint32_t));
    loom_realloc_array(ctx, ctx->side[i].value, ctx->side[i].capacity, 0, sizeof(uint32_t));
  }
  if (ctx->memo) loom_realloc_array(ctx, ctx->memo, LOOM_MEMO_SIZE, 0, sizeof *ctx->memo);
  loom_vec_free(ctx, &ctx->mark_stack);
  loom_vec_free(ctx, &ctx->scratch_log);
  loom_vec_free(ctx, &ctx->scratch_marks);
  loom_bigs_free(ctx);
  loom_pool_free(ctx);
  assert(ctx->base.bytes == 0);
  free(ctx);
}

size_t loom_ctx_nodes(const loom_ctx *ctx) {
  return ctx->n_live;
}

size_t loom_ctx_bytes(const loom_ctx *ctx) {
  return ctx->base.bytes + sizeof *ctx;
}

uint32_t loom_expr_generation(const loom_ctx *ctx, loom_expr e) {
  return loom_expr_live(ctx, e) ? loom_cell_of(ctx, e)->generation : 0;
}

bool loom_usable(loom_ctx *ctx, size_t n, const loom_expr *handles) {
  for (size_t i = 0; i < n; i++) {
    if (handles[i] == LOOM_NONE) return false;
    if (loom_expr_live(ctx, handles[i])) continue;
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "expression %u is not alive in this context",
                   (unsigned)handles[i]);
    return false;
  }
  return true;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static bool add_page(loom_ctx *ctx) {
  if (ctx->n_pages == ctx->capacity_pages) {
    uint32_t capacity = ctx->capacity_pages ? ctx->capacity_pages * 2 : 16;
    loom_cell **pages =
        loom_realloc_array(ctx, ctx->pages, ctx->capacity_pages, capacity, sizeof *pages);
    if (!pages) return false;
    ctx->pages = pages;
    ctx->capacity_pages = capacity;
  }
  loom_cell *page = loom_realloc_array(ctx, NULL, 0, LOOM_PAGE_SIZE, sizeof *page);
  if (!page) return false;
  ctx->pages[ctx->n_pages++] = page;
  return true;
}

static loom_expr new_cell(loom_ctx *ctx) {
  loom_expr e = ctx->free_cell;
  if (e != LOOM_NONE) {
    ctx->free_cell = loom_cell_of(ctx, e)->count;
    return e;
  }
  if (ctx->n_cells == UINT32_MAX) {
    loom_error_set(ctx, LOOM_ERR_LIMIT, "more than %u expressions", UINT32_MAX);
    return LOOM_NONE;
  }
  if (ctx->n_cells >> LOOM_PAGE_BITS >= ctx->n_pages && !add_page(ctx)) return LOOM_NONE;
  e = ctx->n_cells++;
  loom_cell *cell = loom_cell_at(ctx, e);
  cell->generation = 1;
  cell->kind = LOOM_KIND_FREE;
  return e;
}

static void free_cell(loom_ctx *ctx, loom_expr e) {
  loom_cell *cell = loom_cell_at(ctx, e);
  cell->kind = LOOM_KIND_FREE;
  cell->flags = 0;
  cell->count = ctx->free_cell;
  ctx->free_cell = e;
}

/* ---- slots ---------------------------------------------------------------------------------- */

static void put_slot(loom_ctx *ctx, uint32_t hash, loom_expr e) {
  uint32_t mask = ctx->n_slots - 1, at = hash & mask;
  while (ctx->slots[at].id != LOOM_NONE) at = (at + 1) & mask;
  ctx->slots[at] = (loom_slot){hash, e};
}

static bool grow_slots(loom_ctx *ctx) {
  uint32_t n = ctx->n_slots, larger = n * 2;
  if (larger == 0) {
    loom_error_memory(ctx);
    return false;
  }
  loom_slot *old = ctx->slots;
  loom_slot *slots = loom_realloc_array(ctx, NULL, 0, larger, sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, larger * sizeof *slots);
  ctx->slots = slots;
  ctx->n_slots = larger;
  for (uint32_t i = 0; i < n; i++)
    if (old[i].id != LOOM_NONE) put_slot(ctx, old[i].hash, old[i].id);
  loom_realloc_array(ctx, old, n, 0, sizeof *old);
  return true;
}

void loom_table_rehash(loom_ctx *ctx) {
  memset(ctx->slots, 0, ctx->n_slots * sizeof *ctx->slots);
  for (loom_expr e = 1; e < ctx->n_cells; e++)
    if (loom_expr_live(ctx, e)) put_slot(ctx, loom_cell_of(ctx, e)->hash, e);
}

/* Linear probing without tombstones: entries behind the hole move up where that shortens their way.
 */
static void take_slot(loom_ctx *ctx, loom_expr e) {
  uint32_t mask = ctx->n_slots - 1, hole = loom_cell_of(ctx, e)->hash & mask;
  while (ctx->slots[hole].id != e) hole = (hole + 1) & mask;
  for (uint32_t at = (hole + 1) & mask; ctx->slots[at].id != LOOM_NONE; at = (at + 1) & mask) {
    uint32_t home = ctx->slots[at].hash & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    ctx->slots[hole] = ctx->slots[at];
    hole = at;
  }
  ctx->slots[hole].id = LOOM_NONE;
}

void loom_table_remove(loom_ctx *ctx, loom_expr e, bool rehash_follows) {
  if (!rehash_follows) take_slot(ctx, e);
  loom_cell *cell = loom_cell_at(ctx, e);
  loom_cell_empty(ctx, cell);
  cell->generation += cell->generation == UINT32_MAX ? 2 : 1;
  free_cell(ctx, e);
  ctx->n_live--;
}

/* ---- entering --------------------------------------------------------------------------------- */

static void store_facts(loom_cell *cell, loom_facts f) {
  cell->known = (uint8_t)(f.sign | f.integer << 3);
  cell->modulus = (uint32_t)f.modulus;
  cell->remainder = (uint32_t)f.remainder;
  if (cell->kind == LOOM_NUM) return;
  cell->v.range.lo = f.lo;
  cell->v.range.hi = f.hi;
}

loom_expr loom_table_insert(loom_ctx *ctx, const loom_draft *draft) {
  if (ctx->n_live >= ctx->n_slots / 4 * 3 && !grow_slots(ctx)) return LOOM_NONE;
  bool logged = ctx->scratch_marks.n > 0;
  if (logged && !loom_vec_reserve(ctx, &ctx->scratch_log, 1)) return LOOM_NONE;
  loom_facts facts = loom_facts_draft(ctx, draft);
  loom_expr e = new_cell(ctx);
  if (e == LOOM_NONE) return e;
  loom_cell *cell = loom_cell_at(ctx, e);
  cell->hash = draft->hash;
  cell->flags = 0;
  cell->spare = 0;
  cell->count = draft->count;
  if (loom_base_failed(ctx) || !loom_cell_fill(ctx, cell, draft)) {
    free_cell(ctx, e);
    return LOOM_NONE;
  }
  cell->kind = (uint8_t)draft->kind;
  store_facts(cell, facts);
  put_slot(ctx, draft->hash, e);
  ctx->n_live++;
  if (logged) ctx->scratch_log.at[ctx->scratch_log.n++] = e;
  return e;
}

/* ---- memo ----------------------------------------------------------------------------------- */

static uint32_t memo_index(unsigned operation, loom_expr a, loom_expr b) {
  uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u + operation;
  return (uint32_t)(h >> 40) & (LOOM_MEMO_SIZE - 1);
}

static uint32_t stamp_of(const loom_ctx *ctx, unsigned operation) {
  return ctx->memo_epoch << LOOM_MEMO_BITS | operation;
}

loom_expr loom_memo_get(const loom_ctx *ctx, unsigned operation, loom_expr a, loom_expr b) {
  if (!ctx->memo) return LOOM_NONE;
  const loom_memo_entry *entry = &ctx->memo[memo_index(operation, a, b)];
  bool hit = entry->a == a && entry->b == b && entry->stamp == stamp_of(ctx, operation);
  return hit ? entry->result : LOOM_NONE;
}

void loom_memo_put(loom_ctx *ctx, unsigned operation, loom_expr a, loom_expr b, loom_expr result) {
  if (result == LOOM_NONE) return;
  if (!ctx->memo) {
    ctx->memo = loom_realloc_array(ctx, NULL, 0, LOOM_MEMO_SIZE, sizeof *ctx->memo);
    if (!ctx->memo) return;
    memset(ctx->memo, 0, LOOM_MEMO_SIZE * sizeof *ctx->memo);
  }
  ctx->memo[memo_index(operation, a, b)] =
      (loom_memo_entry){a, b, result, stamp_of(ctx, operation)};
}

void loom_memo_clear(loom_ctx *ctx) {
  ctx->memo_epoch = (ctx->memo_epoch + 1) & (UINT32_MAX >> LOOM_MEMO_BITS);
  if (ctx->memo_epoch == 0) {
    ctx->memo_epoch = 1;
    if (ctx->memo) memset(ctx->memo, 0, LOOM_MEMO_SIZE * sizeof *ctx->memo);
  }
}
