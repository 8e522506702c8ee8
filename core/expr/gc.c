/* SPDX-License-Identifier: MIT */
/* Collection of unused nodes, scratch regions, and owners of expressions outside the table.
** Invariant: what is marked, what an owner marks, the permanent small integers and all they are
** made of survive a collection with their ids; the generation of every other cell moves on. */
#include "expr/make.h"

/* Nodes, and bytes of digits of big numbers, below which no collection is due. */
enum { FIRST_NODES = 16384, FIRST_DIGITS = 1 << 22 };

/* ---- owners --------------------------------------------------------------------------------- */

void loom_owner_add(loom_ctx *ctx, loom_owner *owner, void (*mark)(loom_owner *, loom_ctx *)) {
  owner->mark = mark;
  owner->next = &ctx->owners;
  owner->prev = ctx->owners.prev;
  owner->prev->next = owner;
  ctx->owners.prev = owner;
}

void loom_owner_remove(loom_owner *owner) {
  if (!owner->next) return;
  owner->prev->next = owner->next;
  owner->next->prev = owner->prev;
  owner->next = owner->prev = NULL;
}

/* ---- marking -------------------------------------------------------------------------------- */

/* Makes room on the mark stack if memory allows; never an error. */
static bool stack_has_room(loom_ctx *ctx) {
  size_t n = ctx->mark_stack.capacity;
  if (ctx->mark_stack.n < n) return true;
  size_t larger = n ? n * 2 : 256;
  loom_expr *at = loom_try_realloc(ctx, ctx->mark_stack.at, n * sizeof *at, larger * sizeof *at);
  if (!at) return false;
  ctx->mark_stack.at = at;
  ctx->mark_stack.capacity = larger;
  return true;
}

static void mark_cell(loom_ctx *ctx, loom_expr e) {
  loom_cell *cell = loom_cell_at(ctx, e);
  if (cell->flags & LOOM_CELL_MARKED) return;
  cell->flags |= LOOM_CELL_MARKED;
  if (stack_has_room(ctx))
    ctx->mark_stack.at[ctx->mark_stack.n++] = e;
  else
    ctx->mark_overflow = true;
}

static void drain(loom_ctx *ctx) {
  while (ctx->mark_stack.n > 0) {
    loom_expr e = ctx->mark_stack.at[--ctx->mark_stack.n];
    loom_cell_references(ctx, loom_cell_of(ctx, e), mark_cell);
  }
}

/* Finds what a full mark stack left out: marked cells with unmarked parts. */
static void finish_marking(loom_ctx *ctx) {
  while (ctx->mark_overflow) {
    ctx->mark_overflow = false;
    for (loom_expr e = 1; e < ctx->n_cells; e++) {
      const loom_cell *cell = loom_cell_of(ctx, e);
      if (cell->kind == LOOM_KIND_FREE || !(cell->flags & LOOM_CELL_MARKED)) continue;
      loom_cell_references(ctx, cell, mark_cell);
      drain(ctx);
    }
  }
}

bool loom_gc_due(const loom_ctx *ctx) {
  uint32_t nodes = ctx->n_survivors < FIRST_NODES ? FIRST_NODES : ctx->n_survivors;
  size_t digits = ctx->surviving_digits < FIRST_DIGITS ? FIRST_DIGITS : ctx->surviving_digits;
  return ctx->scratch_marks.n == 0 &&
         (ctx->n_live / 2 >= nodes || ctx->base.bigs.bytes / 2 >= digits);
}

void loom_gc_begin(loom_ctx *ctx) {
  if (ctx->scratch_marks.n > 0) return;
  ctx->collecting = true;
  ctx->mark_overflow = false;
  loom_memo_clear(ctx);
}

void loom_gc_mark(loom_ctx *ctx, loom_expr e) {
  if (!ctx->collecting || !loom_expr_live(ctx, e)) return;
  mark_cell(ctx, e);
  drain(ctx);
}

/* Frees the unmarked cells, clears the marks of the others and marks their big numbers. */
static void sweep(loom_ctx *ctx) {
  for (loom_expr e = 1; e < ctx->n_cells; e++) {
    loom_cell *cell = loom_cell_at(ctx, e);
    if (cell->kind == LOOM_KIND_FREE) continue;
    if (!(cell->flags & (LOOM_CELL_MARKED | LOOM_CELL_PERMANENT))) {
      loom_table_remove(ctx, e, true);
      continue;
    }
    cell->flags &= (uint8_t)~LOOM_CELL_MARKED;
    if (cell->kind == LOOM_NUM) loom_bigs_mark(ctx, cell->v.num);
  }
}

void loom_gc_end(loom_ctx *ctx) {
  if (!ctx->collecting) return;
  for (loom_owner *o = ctx->owners.next; o != &ctx->owners; o = o->next) o->mark(o, ctx);
  finish_marking(ctx);
  ctx->collecting = false;
  loom_bigs_begin(ctx);
  sweep(ctx);
  loom_bigs_end(ctx);
  loom_table_rehash(ctx);
  loom_memo_clear(ctx);
  ctx->n_survivors = ctx->n_live;
  ctx->surviving_digits = ctx->base.bigs.bytes;
}

/* ---- scratch regions ------------------------------------------------------------------------- */

uint32_t loom_scratch_mark(loom_ctx *ctx) {
  uint32_t length = (uint32_t)ctx->scratch_log.n;
  if (!loom_vec_push(ctx, &ctx->scratch_marks, length)) return 0;
  return (uint32_t)ctx->scratch_marks.n;
}

loom_status loom_scratch_release(loom_ctx *ctx, uint32_t mark) {
  if (mark == 0 || mark > ctx->scratch_marks.n)
    return loom_error_set(ctx, LOOM_ERR_ARGUMENT, "no scratch region %u is open", (unsigned)mark);
  uint32_t length = ctx->scratch_marks.at[mark - 1];
  while (ctx->scratch_log.n > length) {
    loom_expr e = ctx->scratch_log.at[--ctx->scratch_log.n];
    loom_table_remove(ctx, e, false);
  }
  ctx->scratch_marks.n = mark - 1;
  loom_memo_clear(ctx);
  return LOOM_OK;
}
