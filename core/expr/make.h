/* SPDX-License-Identifier: MIT */
/* Making nodes, for the builders in core/expr/: the table's side of the split between make and
** build. Invariant: make never simplifies; what it is given is canonical (asserted), what it
** returns is
** the one node of that content. */
#ifndef EINLOOM_MAKE_H
#define EINLOOM_MAKE_H

#include "expr/node.h"

/* The content of a node that may or may not be in the table yet. */
typedef struct loom_draft {
  loom_kind kind;
  uint32_t count, hash;
  loom_num num;                   /* LOOM_NUM */
  const loom_symbol_data *symbol; /* LOOM_SYM */
  const loom_power *powers;       /* LOOM_POW, LOOM_MUL */
  const loom_packed *packed;      /* LOOM_ADD: constant, then coefficients */
  const loom_expr *args;          /* LOOM_ADD: ids of terms; else arguments */
  const loom_function *function;  /* LOOM_CALL */
} loom_draft;

/* The node of this content; LOOM_NONE with an error when memory runs out. */
loom_expr loom_make_num(loom_ctx *ctx, loom_num value);
loom_expr loom_make_symbol(loom_ctx *ctx, const loom_symbol_data *symbol);
/* n arguments of LOOM_MIN ... LOOM_OPAQUE, in order (min and max: ascending ids); the number instead
** where facts leave one value. */
loom_expr loom_make_args(loom_ctx *ctx, loom_kind kind, size_t n, const loom_expr *args);
/* A call, not all of its arguments numbers. */
loom_expr loom_make_call(loom_ctx *ctx, const loom_function *f, const loom_expr *args);
/* Ascending distinct ids, no zero coefficient. */
loom_expr loom_make_sum(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms);
/* Ascending distinct bases, no zero exponent; one power (exponent not 1) or more. */
loom_expr loom_make_product(loom_ctx *ctx, size_t n, const loom_power *powers);

/* Enters content that is not in the table yet. */
loom_expr loom_table_insert(loom_ctx *ctx, const loom_draft *draft);

/* Facts of a draft from the facts of its children. */
loom_facts loom_facts_draft(loom_ctx *ctx, const loom_draft *draft);

/* Puts content into a fresh cell; false with an error. */
bool loom_cell_fill(loom_ctx *ctx, loom_cell *cell, const loom_draft *draft);
/* Gives the payload of a cell back. */
void loom_cell_empty(loom_ctx *ctx, loom_cell *cell);

/* Takes a dead node out: its payload and its cell, and its slot too unless the slots will be
** rehashed before anything else happens. */
void loom_table_remove(loom_ctx *ctx, loom_expr e, bool rehash_follows);
/* Empties and refills the slots from the live cells. */
void loom_table_rehash(loom_ctx *ctx);
/* Calls visit with every node that a live cell holds, coefficients and assumptions included. */
void loom_cell_references(loom_ctx *ctx, const loom_cell *cell,
                          void (*visit)(loom_ctx *ctx, loom_expr e));

static inline loom_cell *loom_cell_at(loom_ctx *ctx, loom_expr e) {
  return &ctx->pages[e >> LOOM_PAGE_BITS][e & (LOOM_PAGE_SIZE - 1)];
}

/* Up to two arguments lie in the cell itself. */
static inline bool loom_args_inline(loom_kind kind, uint32_t count) {
  return kind > LOOM_ADD && kind != LOOM_MIN && kind != LOOM_MAX && kind != LOOM_CALL && count <= 2;
}
static inline const loom_expr *loom_cell_args(const loom_cell *cell) {
  if (cell->kind == LOOM_CALL) return cell->u.call->args;
  return loom_args_inline((loom_kind)cell->kind, cell->count) ? cell->u.arg : cell->u.args;
}
/* The ids of the terms of a sum. */
static inline const loom_expr *loom_cell_ids(const loom_cell *cell) {
  return (const loom_expr *)(const void *)&cell->u.add->coef[cell->count];
}

/* True if every one of n handles is usable: LOOM_NONE is quietly not, a stale one records an error.
 */
bool loom_usable(loom_ctx *ctx, size_t n, const loom_expr *handles);

static inline bool loom_usable2(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (loom_expr_live(ctx, a) && loom_expr_live(ctx, b)) return true;
  return loom_usable(ctx, 2, (loom_expr[]){a, b});
}
static inline bool loom_usable1(loom_ctx *ctx, loom_expr a) {
  return loom_expr_live(ctx, a) || loom_usable(ctx, 1, &a);
}
/* What a public builder returns: nothing once memory has run out. */
static inline loom_expr loom_finish(const loom_ctx *ctx, loom_expr result) {
  return loom_base_failed(ctx) ? LOOM_NONE : result;
}

/* The cache of results of one or two arguments (b = a for one). */
enum {
  LOOM_MEMO_ADD,
  LOOM_MEMO_MUL,
  LOOM_MEMO_DIV,
  LOOM_MEMO_SUB,
  LOOM_MEMO_MIN,
  LOOM_MEMO_MAX,
  LOOM_MEMO_CEIL,
  LOOM_MEMO_FLOORDIV
};
#define LOOM_MEMO_BITS 3
loom_expr loom_memo_get(const loom_ctx *ctx, unsigned operation, loom_expr a, loom_expr b);
void loom_memo_put(loom_ctx *ctx, unsigned operation, loom_expr a, loom_expr b, loom_expr result);
/* Forgets everything: after nodes died. */
void loom_memo_clear(loom_ctx *ctx);

/* The last byte of the names of narrow symbols, which others do not have. */
#define LOOM_NARROW '\1'
/* The symbol that stands for another one of which more is assumed; assume must make sense. */
loom_expr loom_narrow_symbol(loom_ctx *ctx, loom_expr symbol, const loom_assume *assume);

/* ---- assume.c ---- */

/* False and LOOM_ERR_ARGUMENT where the assumptions contradict themselves or each other. */
bool loom_assume_check(loom_ctx *ctx, const char *name, const loom_assume *a);

#endif
