/* SPDX-License-Identifier: MIT */
/* Derivatives.
** Invariant: at every point where e is differentiable the derivative has its value there; at the
** seams of min, max and select it is the derivative of the piece that is taken. */
#include <stdlib.h>

#include "expr/ops.h"

typedef struct piece {
  loom_expr slope;
  uint32_t place; /* of the first argument with that slope, in canonical order */
  loom_expr value;
} piece;

typedef struct differ {
  loom_ctx *ctx;
  loom_walk walk;
  LOOM_VEC(loom_term) terms;
  LOOM_VEC(loom_power) powers;
  LOOM_VEC(piece) pieces;
  LOOM_VEC(uint32_t) order;
  LOOM_VEC(loom_expr) group;
} differ;

static loom_expr slope_of(const differ *d, loom_expr e) {
  return loom_walk_get(&d->walk, e);
}

static bool is_zero(const differ *d, loom_expr e) {
  return loom_expr_is_num(d->ctx, e) && loom_num_is_zero(loom_num_of(d->ctx, e));
}

static loom_expr diff_sum(differ *d, loom_expr e) {
  size_t n = loom_add_count(d->ctx, e);
  d->terms.n = 0;
  if (!loom_vec_reserve(d->ctx, &d->terms, n)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    loom_term term = loom_add_term(d->ctx, e, i);
    loom_expr slope = slope_of(d, term.id);
    if (!is_zero(d, slope)) d->terms.at[d->terms.n++] = (loom_term){term.coef, slope};
  }
  return loom_build_sum(d->ctx, LOOM_NUM_ZERO, d->terms.n, d->terms.at);
}

/* Sum over the powers b^k of e of  k * b' * e / b. */
static loom_expr diff_product(differ *d, loom_expr e) {
  size_t n = loom_mul_count(d->ctx, e);
  d->terms.n = 0;
  if (!loom_vec_reserve(d->ctx, &d->powers, n + 1)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    loom_power power = loom_mul_power(d->ctx, e, i);
    loom_expr slope = slope_of(d, power.base);
    if (is_zero(d, slope)) continue;
    for (size_t j = 0; j < n; j++) d->powers.at[j] = loom_mul_power(d->ctx, e, j);
    d->powers.at[i].exponent--;
    d->powers.at[n] = (loom_power){slope, 1};
    loom_expr id = loom_build_product(d->ctx, LOOM_NUM_ONE, n + 1, d->powers.at);
    loom_term term = {LOOM_NUM(power.exponent), id};
    if (id == LOOM_NONE || !loom_vec_push(d->ctx, &d->terms, term)) return LOOM_NONE;
  }
  return loom_build_sum(d->ctx, LOOM_NUM_ZERO, d->terms.n, d->terms.at);
}

static int by_slope(const void *a, const void *b) {
  const piece *x = a, *y = b;
  if (x->slope != y->slope) return x->slope < y->slope ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b) {
  const piece *x = a, *y = b;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Arguments of a min or max with one slope become one piece; pieces in canonical order. */
static bool list_pieces(differ *d, loom_expr e) {
  loom_ctx *ctx = d->ctx;
  bool max = loom_kind_of(ctx, e) == LOOM_MAX;
  size_t n = loom_child_count(ctx, e), found = 0;
  d->pieces.n = d->order.n = 0;
  if (!loom_vec_reserve(ctx, &d->pieces, n) || !loom_vec_reserve(ctx, &d->order, n)) return false;
  loom_child_order(ctx, e, d->order.at);
  for (uint32_t i = 0; i < n; i++) {
    loom_expr value = loom_child(ctx, e, d->order.at[i]);
    d->pieces.at[i] = (piece){slope_of(d, value), i, value};
  }
  qsort(d->pieces.at, n, sizeof(piece), by_slope);
  for (size_t i = 0, j; i < n; i = j) {
    d->group.n = 0;
    for (j = i; j < n && d->pieces.at[j].slope == d->pieces.at[i].slope; j++)
      if (!loom_vec_push(ctx, &d->group, d->pieces.at[j].value)) return false;
    piece merged = d->pieces.at[i];
    merged.value = (max ? loom_max : loom_min)(ctx, d->group.n, d->group.at);
    if (merged.value == LOOM_NONE) return false;
    d->pieces.at[found++] = merged;
  }
  d->pieces.n = found;
  qsort(d->pieces.at, found, sizeof(piece), by_place);
  return true;
}

static loom_expr diff_extremum(differ *d, loom_expr e) {
  loom_ctx *ctx = d->ctx;
  bool max = loom_kind_of(ctx, e) == LOOM_MAX;
  if (!list_pieces(d, e)) return LOOM_NONE;
  loom_expr best = d->pieces.at[0].value, slope = d->pieces.at[0].slope;
  for (size_t i = 1; i < d->pieces.n; i++) {
    piece next = d->pieces.at[i];
    loom_expr better = max ? loom_lt(ctx, best, next.value) : loom_lt(ctx, next.value, best);
    slope = loom_select(ctx, better, next.slope, slope);
    if (i + 1 < d->pieces.n)
      best = (max ? loom_max : loom_min)(ctx, 2, (loom_expr[]){best, next.value});
  }
  return slope;
}

/* a % b = a - b * (a // b), with the quotient flat. */
static loom_expr diff_mod(differ *d, loom_expr a_slope, loom_expr b_slope, loom_expr a,
                          loom_expr b) {
  if (is_zero(d, b_slope)) return a_slope;
  loom_expr quotient = loom_floor_div(d->ctx, a, b);
  return loom_sub(d->ctx, a_slope, loom_mul(d->ctx, b_slope, quotient));
}

static loom_expr diff_node(differ *d, loom_expr f) {
  loom_ctx *ctx = d->ctx;
  loom_kind kind = loom_kind_of(ctx, f);
  loom_expr zero = loom_int(ctx, 0), a, b, c;
  bool flat = true;
  for (size_t i = 0, n = loom_child_count(ctx, f); flat && i < n; i++)
    flat = slope_of(d, loom_child(ctx, f, i)) == zero;
  if (flat) return zero;
  switch (kind) {
  case LOOM_ADD: return diff_sum(d, f);
  case LOOM_MUL:
  case LOOM_POW: return diff_product(d, f);
  case LOOM_MIN:
  case LOOM_MAX: return diff_extremum(d, f);
  case LOOM_MOD:
    a = loom_child(ctx, f, 0), b = loom_child(ctx, f, 1);
    return diff_mod(d, slope_of(d, a), slope_of(d, b), a, b);
  case LOOM_MODIDX:
    a = loom_child(ctx, f, 0), b = loom_child(ctx, f, 1), c = loom_child(ctx, f, 2);
    return diff_mod(d, zero, slope_of(d, c), loom_floor_div(ctx, a, b), c);
  case LOOM_SELECT:
    a = loom_child(ctx, f, 0), b = loom_child(ctx, f, 1), c = loom_child(ctx, f, 2);
    return loom_select(ctx, a, slope_of(d, b), slope_of(d, c));
  case LOOM_OPAQUE: return slope_of(d, loom_child(ctx, f, 0));
  case LOOM_CALL:
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s, a function that is computed, has no derivative",
                   loom_call_name(ctx, f));
    return LOOM_NONE;
  default: return zero;
  }
}

/* One pass over the distinct sub-expressions. */
loom_expr loom_diff(loom_ctx *ctx, loom_expr e, loom_expr symbol) {
  differ d = {.ctx = ctx};
  if (!loom_expr_check(ctx, e) || !loom_symbol_check(ctx, symbol)) return LOOM_NONE;
  loom_expr result = loom_int(ctx, 0), one = loom_int(ctx, 1);
  if (result == LOOM_NONE || one == LOOM_NONE || !loom_walk_begin(ctx, &d.walk, false))
    return LOOM_NONE;
  loom_walk_set(&d.walk, symbol, one);
  loom_walk_root(&d.walk, e);
  bool good = true;
  for (loom_expr f; good && (f = loom_walk_next(&d.walk)) != LOOM_NONE;) {
    good = (result = diff_node(&d, f)) != LOOM_NONE;
    if (good) loom_walk_set(&d.walk, f, result);
  }
  if (good) result = loom_walk_get(&d.walk, e);
  if (!loom_walk_end(&d.walk)) good = false;
  loom_vec_free(ctx, &d.terms);
  loom_vec_free(ctx, &d.powers);
  loom_vec_free(ctx, &d.pieces);
  loom_vec_free(ctx, &d.order);
  loom_vec_free(ctx, &d.group);
  return good ? result : LOOM_NONE;
}
