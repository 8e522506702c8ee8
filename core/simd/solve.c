/* SPDX-License-Identifier: MIT */
/* Where addresses in one variable take the values 0 and 1.
** Invariant: what is returned has been checked by exact evaluation, or is a zero of a linear form. */
#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/address.h"

/* ---- linear forms ------------------------------------------------------------------------- */

static loom_expr at(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr value) {
  return loom_simplify(ctx, loom_substitute(ctx, e, 1, &variable, &value));
}

static bool is_whole(const loom_ctx *ctx, loom_expr e) {
  return loom_is_integer(ctx, e) == LOOM_YES;
}

/* The value of the variable where e takes a value, if e is linear in it: a whole number, not below
** 0. */
static bool solve(loom_ctx *ctx, loom_expr e, loom_expr variable, int64_t value, loom_expr *out) {
  loom_expr zero = loom_int(ctx, 0), one = loom_int(ctx, 1);
  loom_expr origin = at(ctx, e, variable, zero);
  loom_expr slope = loom_simplify(ctx, loom_sub(ctx, at(ctx, e, variable, one), origin));
  loom_expr line = loom_add(ctx, origin, loom_mul(ctx, slope, variable));
  if (slope == LOOM_NONE || slope == zero || !loom_expr_is_num(ctx, slope) ||
      !loom_expr_is_num(ctx, origin) || loom_simplify(ctx, loom_sub(ctx, e, line)) != zero)
    return false;
  *out = loom_div(ctx, loom_sub(ctx, loom_int(ctx, value), origin), slope);
  return *out != LOOM_NONE && is_whole(ctx, *out) && loom_known_le(ctx, zero, *out) == LOOM_YES;
}

bool loom_zero_of(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr *value) {
  loom_digit digit;
  if (!loom_expr_check(ctx, e) || loom_expr_is_num(ctx, e)) return false;
  if (loom_digit_of(ctx, e, &digit)) {
    if (digit.m == LOOM_NONE) return false;
    return solve(ctx, loom_sub(ctx, digit.b, digit.m), variable, 0, value);
  }
  if (loom_kind_of(ctx, e) != LOOM_ADD && e != variable) return false;
  loom_num constant = {0, 1};
  if (e != variable) constant = loom_add_constant(ctx, e);
  if (e != variable && loom_num_is_zero(constant) && loom_add_count(ctx, e) == 1) return false;
  return solve(ctx, e, variable, 0, value);
}

/* ---- factors ------------------------------------------------------------------------------ */

/* Divisions and remainders as plain quotients, opaque parts opened. */
static loom_expr ratio(loom_ctx *ctx, void *data, loom_expr e) {
  (void)data;
  loom_digit digit;
  return loom_digit_of(ctx, e, &digit) ? loom_div(ctx, digit.b, digit.d) : e;
}

typedef struct parts {
  loom_ctx *ctx;
  loom_expr variable, sum, required; /* the value at which the products vanish; LOOM_NONE: any */
} parts;

/* Some factor of the product must vanish where the others do; false: it cannot. */
static bool require(parts *p, loom_expr term) {
  bool found = false;
  for (size_t i = 0, n = loom_mul_count(p->ctx, term); i < n; i++) {
    loom_expr value;
    if (!loom_zero_of(p->ctx, loom_mul_power(p->ctx, term, i).base, p->variable, &value)) continue;
    if (p->required != LOOM_NONE && p->required != value) return false;
    p->required = value;
    found = true;
  }
  return found;
}

static bool take_term(parts *p, loom_term term) {
  bool product = !loom_num_is_one(term.coef) || loom_kind_of(p->ctx, term.id) == LOOM_MUL;
  if (product) return require(p, term.id);
  p->sum = loom_add(p->ctx, p->sum, term.id);
  return true;
}

static bool take_terms(parts *p, loom_expr e) {
  loom_ctx *ctx = p->ctx;
  if (loom_kind_of(ctx, e) != LOOM_ADD) return take_term(p, loom_split_coef(ctx, e));
  p->sum = loom_from_num(ctx, loom_add_constant(ctx, e));
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++)
    if (!take_term(p, loom_add_term(ctx, e, i))) return false;
  return true;
}

static bool has_digits(loom_ctx *ctx, loom_expr e) {
  return loom_rewrite(ctx, e, ratio, NULL) != e;
}

static bool find_factor(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr *factor) {
  parts p = {.ctx = ctx, .variable = variable, .sum = loom_int(ctx, 0)};
  if (!has_digits(ctx, e)) return solve(ctx, e, variable, 1, factor);
  if (!take_terms(&p, e)) return false;
  loom_expr plain = loom_rewrite(ctx, p.sum, ratio, NULL);
  if (plain == LOOM_NONE || !solve(ctx, plain, variable, 1, factor)) return false;
  if (p.required != LOOM_NONE && p.required != *factor) return false;
  return at(ctx, p.sum, variable, *factor) == loom_int(ctx, 1);
}

bool loom_unit_factor(loom_ctx *ctx, loom_expr e, loom_expr *factor) {
  if (!loom_expr_check(ctx, e)) return false;
  e = loom_reveal(ctx, e);
  loom_expr variable;
  if (loom_expr_symbols(ctx, e, &variable, 1) != 1) return false;
  uint32_t mark = loom_scratch_mark(ctx);
  loom_expr found = LOOM_NONE;
  int64_t number;
  bool good = find_factor(ctx, e, variable, &found) && loom_as_int(ctx, found, &number);
  if (loom_scratch_release(ctx, mark) != LOOM_OK || !good || loom_base_failed(ctx)) return false;
  *factor = loom_int(ctx, number);
  return true;
}

/* ---- loops -------------------------------------------------------------------------------- */

static bool is_term(loom_ctx *ctx, loom_expr e, loom_expr variable) {
  if (e == variable) return true;
  if (loom_kind_of(ctx, e) != LOOM_ADD) return false;
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (term.id == variable && loom_num_is_one(term.coef)) return true;
  }
  return false;
}

/* The value where loop `moving` is at i and the others are at 0, sizes at their hints. */
static loom_expr value_at(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                          size_t moving, int64_t i, const loom_given *given) {
  for (size_t k = 0; k < n; k++) {
    loom_expr value = loom_int(ctx, k == moving ? i : 0);
    e = loom_substitute(ctx, e, 1, &loops[k].variable, &value);
  }
  return loom_at_hints(ctx, e, given);
}

static bool grows_by_one(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                         size_t moving, const loom_given *given) {
  loom_expr values[3], one = loom_int(ctx, 1);
  for (int i = 0; i < 3; i++) values[i] = value_at(ctx, e, n, loops, moving, i, given);
  return loom_simplify(ctx, loom_sub(ctx, values[1], values[0])) == one &&
         loom_simplify(ctx, loom_sub(ctx, values[2], values[1])) == one;
}

ptrdiff_t loom_unit_loop(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                         const loom_given *given) {
  if (!loom_expr_check(ctx, e)) return -1;
  for (size_t i = 0; i < n; i++)
    if (is_term(ctx, e, loops[i].variable)) return (ptrdiff_t)i;
  for (size_t i = 0; i < n; i++)
    if (loom_occurs(ctx, loops[i].variable, e) && grows_by_one(ctx, e, n, loops, i, given))
      return (ptrdiff_t)i;
  return -1;
}

loom_expr loom_address_points(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                              const loom_given *given) {
  loom_expr points = loom_int(ctx, 1);
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++)
    if (loom_occurs(ctx, loops[i].variable, e)) points = loom_mul(ctx, points, loops[i].size);
  return loom_at_hints(ctx, points, given);
}
