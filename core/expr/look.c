/* SPDX-License-Identifier: MIT */
/* Reading expressions from outside the core: kinds, arguments, values, facts. */
#include "expr/terms.h"

#include <stdlib.h>

/* A sum of one term without a constant: from outside, the product it stands for. */
static bool is_scaled_term(const loom_ctx *ctx, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD && loom_add_count(ctx, e) == 1 &&
         loom_num_is_zero(loom_add_constant(ctx, e));
}

loom_kind loom_expr_kind(const loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_live(ctx, e)) return LOOM_NUM;
  return is_scaled_term(ctx, e) ? LOOM_MUL : loom_kind_of(ctx, e);
}

const char *loom_kind_name(loom_kind kind) {
  static const char *const names[] = {
#define LOOM_KIND_NAME(enumerator, name) name,
      LOOM_KIND_LIST(LOOM_KIND_NAME)
#undef LOOM_KIND_NAME
  };
  size_t i = (size_t)kind;
  return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

static bool has_constant(const loom_ctx *ctx, loom_expr e) {
  return !loom_num_is_zero(loom_add_constant(ctx, e));
}

size_t loom_expr_arity(const loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_live(ctx, e)) return 0;
  if (is_scaled_term(ctx, e)) return 1 + loom_mul_count(ctx, loom_add_term(ctx, e, 0).id);
  switch (loom_kind_of(ctx, e)) {
  case LOOM_NUM:
  case LOOM_SYM: return 0;
  case LOOM_POW: return 2;
  case LOOM_ADD: return loom_add_count(ctx, e) + has_constant(ctx, e);
  default: return loom_child_count(ctx, e);
  }
}

static loom_expr argument_of_product(loom_ctx *ctx, loom_expr e, size_t i) {
  loom_power power = loom_mul_power(ctx, e, i);
  return loom_finish(ctx, loom_build_product(ctx, LOOM_NUM_ONE, 1, &power));
}

static loom_expr argument_of_sum(loom_ctx *ctx, loom_expr e, size_t i) {
  if (has_constant(ctx, e) && i-- == 0) return loom_from_num(ctx, loom_add_constant(ctx, e));
  loom_term term = loom_add_term(ctx, e, i);
  return loom_scale(ctx, term.coef, term.id);
}

loom_expr loom_expr_arg(loom_ctx *ctx, loom_expr e, size_t i) {
  if (!loom_usable1(ctx, e)) return LOOM_NONE;
  if (i >= loom_expr_arity(ctx, e)) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "a %s expression has no argument %zu",
                   loom_kind_name(loom_expr_kind(ctx, e)), i);
    return LOOM_NONE;
  }
  if (is_scaled_term(ctx, e)) {
    loom_term term = loom_add_term(ctx, e, 0);
    return i == 0 ? loom_finish(ctx, loom_from_num(ctx, term.coef))
                  : argument_of_product(ctx, term.id, i - 1);
  }
  loom_power power;
  switch (loom_kind_of(ctx, e)) {
  case LOOM_ADD: return loom_finish(ctx, argument_of_sum(ctx, e, i));
  case LOOM_POW:
    power = loom_mul_power(ctx, e, 0);
    return i == 0 ? power.base : loom_int(ctx, power.exponent);
  case LOOM_MUL: return argument_of_product(ctx, e, i);
  default: return loom_child(ctx, e, i);
  }
}

const char *loom_symbol_name(const loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_live(ctx, e) || loom_kind_of(ctx, e) != LOOM_SYM) return NULL;
  return loom_cell_of(ctx, e)->u.symbol->name;
}

bool loom_symbol_assume(const loom_ctx *ctx, loom_expr e, loom_assume *out) {
  if (!loom_expr_live(ctx, e) || loom_kind_of(ctx, e) != LOOM_SYM) return false;
  *out = loom_cell_of(ctx, e)->u.symbol->assume;
  return true;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool is_num(const loom_ctx *ctx, loom_expr e) {
  return loom_expr_live(ctx, e) && loom_expr_is_num(ctx, e);
}

bool loom_as_int(const loom_ctx *ctx, loom_expr e, int64_t *value) {
  return is_num(ctx, e) && loom_num_to_int(ctx, loom_num_of(ctx, e), value);
}

bool loom_as_ratio(const loom_ctx *ctx, loom_expr e, int64_t *num, int64_t *den) {
  return is_num(ctx, e) && loom_num_to_ratio(ctx, loom_num_of(ctx, e), num, den);
}

bool loom_as_real(const loom_ctx *ctx, loom_expr e, double *value) {
  return is_num(ctx, e) && loom_num_nearest(ctx, loom_num_of(ctx, e), value);
}

/* ---- whole expressions ----------------------------------------------------------------------- */

/* Moves the expression at i of a heap of n (the last in order on top) down to where it belongs. */
static void sift_down(const loom_ctx *ctx, loom_expr *at, size_t i, size_t n) {
  loom_expr e = at[i];
  for (size_t child; (child = 2 * i + 1) < n; i = child) {
    if (child + 1 < n && loom_expr_order(ctx, at[child + 1], at[child]) > 0) child++;
    if (loom_expr_order(ctx, e, at[child]) >= 0) break;
    at[i] = at[child];
  }
  at[i] = e;
}

static void sort_exprs(const loom_ctx *ctx, loom_expr *at, size_t n) {
  for (size_t i = n / 2; i > 0; i--) sift_down(ctx, at, i - 1, n);
  for (size_t last = n; last > 1; last--) {
    loom_expr e = at[0];
    at[0] = at[last - 1];
    at[last - 1] = e;
    sift_down(ctx, at, 0, last - 1);
  }
}

size_t loom_expr_symbols(loom_ctx *ctx, loom_expr e, loom_expr *out, size_t capacity) {
  loom_walk walk;
  LOOM_VEC(loom_expr) found = {0};
  if (!loom_usable1(ctx, e) || !loom_walk_begin(ctx, &walk, false)) return 0;
  loom_walk_root(&walk, e);
  bool good = true;
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;)
    if (loom_kind_of(ctx, f) == LOOM_SYM) good = loom_vec_push(ctx, &found, f);
  good = loom_walk_end(&walk) && good;
  size_t n = good ? found.n : 0;
  sort_exprs(ctx, found.at, n);
  for (size_t i = 0; i < n && i < capacity; i++) out[i] = found.at[i];
  loom_vec_free(ctx, &found);
  return n;
}

size_t loom_expr_size(loom_ctx *ctx, loom_expr e) {
  loom_walk walk;
  if (!loom_usable1(ctx, e) || !loom_walk_begin(ctx, &walk, false)) return 0;
  loom_walk_root(&walk, e);
  size_t n = 0;
  while (loom_walk_next(&walk) != LOOM_NONE) n++;
  return loom_walk_end(&walk) ? n : 0;
}

/* ---- facts ---------------------------------------------------------------------------------- */

loom_answer loom_is_integer(const loom_ctx *ctx, loom_expr e) {
  return loom_expr_live(ctx, e) ? (loom_answer)loom_facts_of(ctx, e).integer : LOOM_UNKNOWN;
}

loom_status loom_bounds(loom_ctx *ctx, loom_expr e, loom_expr *lo, loom_expr *hi) {
  *lo = *hi = LOOM_NONE;
  if (!loom_usable1(ctx, e)) return LOOM_ERR_ARGUMENT;
  if (loom_expr_is_num(ctx, e)) {
    *lo = *hi = e;
    return LOOM_OK;
  }
  loom_facts f = loom_facts_of(ctx, e);
  if (f.lo != LOOM_MINUS_INF) *lo = loom_int(ctx, f.lo);
  if (f.hi != LOOM_PLUS_INF) *hi = loom_int(ctx, f.hi);
  return loom_base_failed(ctx) ? LOOM_ERR_MEMORY : LOOM_OK;
}

void loom_residue(const loom_ctx *ctx, loom_expr e, int64_t *modulus, int64_t *remainder) {
  *modulus = 1;
  *remainder = 0;
  if (!loom_expr_live(ctx, e)) return;
  loom_facts f = loom_facts_of(ctx, e);
  if (f.integer != LOOM_YES) return;
  *modulus = f.modulus;
  *remainder = f.remainder;
}
