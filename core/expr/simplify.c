/* SPDX-License-Identifier: MIT */
/* Simplification of index expressions under extents of their variables.
** Invariant: each rule keeps the value at every point at which the expression has one, whatever the
** signs: // rounds towards minus infinity, % has the sign of its divisor. */
#include "expr/index.h"
#include "expr/rounding.h"

/* Rounds until nothing changes; sums of more terms are not searched for small parts. */
enum { MOST_ROUNDS = 16, MOST_TERMS = 64 };

bool loom_occurs(loom_ctx *ctx, loom_expr symbol, loom_expr e) {
  loom_walk walk;
  bool found = false;
  if (!loom_walk_begin(ctx, &walk, false)) return true;
  loom_walk_root(&walk, e);
  for (loom_expr f; !found && (f = loom_walk_next(&walk)) != LOOM_NONE;) found = f == symbol;
  return !loom_walk_end(&walk) || found;
}

loom_expr loom_simplify(loom_ctx *ctx, loom_expr e) {
  return loom_expand(ctx, e);
}

/* ---- small parts ---------------------------------------------------------------------------- */

/* The terms of a sum that g does not divide, and the others.  False with an error. */
static bool split_by(loom_ctx *ctx, loom_expr a, loom_num g, loom_terms *high, loom_terms *low) {
  high->n = low->n = 0;
  low->constant = loom_num_mod(ctx, loom_add_constant(ctx, a), g);
  high->constant = loom_num_sub(ctx, loom_add_constant(ctx, a), low->constant);
  if (loom_num_is_none(low->constant) || loom_num_is_none(high->constant)) return false;
  for (size_t i = 0; i < loom_add_count(ctx, a); i++) {
    loom_term term = loom_add_term(ctx, a, i);
    bool whole = loom_term_is_integer(ctx, loom_num_div(ctx, term.coef, g), term.id);
    if (!loom_terms_push(whole ? high : low, term.coef, term.id)) return false;
  }
  return true;
}

/* The multiple of g that the small part reaches everywhere, if it stays between two of them. */
static bool whole_part(loom_ctx *ctx, const loom_terms *low, loom_num g, loom_num *whole) {
  loom_facts f = loom_facts_sum(ctx, low->constant, low->n, low->at);
  int64_t step;
  if (f.lo == LOOM_MINUS_INF || f.hi == LOOM_PLUS_INF || !loom_num_to_int(ctx, g, &step))
    return false;
  int64_t quotient = loom_floor_div64(f.lo, step);
  *whole = loom_num_mul(ctx, LOOM_NUM(quotient), g);
  return quotient == loom_floor_div64(f.hi, step) && !loom_num_is_none(*whole);
}

/* a with what is less than g = gcd(a coefficient, d) everywhere left out: (g*h + r) // (g*k) is
** h // k for r in [0, g). */
static loom_expr without_small(loom_ctx *ctx, loom_expr a, loom_num d) {
  if (loom_kind_of(ctx, a) != LOOM_ADD || loom_add_count(ctx, a) > MOST_TERMS) return a;
  loom_terms high, low;
  loom_terms_begin(ctx, &high);
  loom_terms_begin(ctx, &low);
  loom_expr result = a;
  bool good = true;
  for (size_t i = 0; good && result == a && i < loom_add_count(ctx, a); i++) {
    loom_num g = loom_num_gcd(ctx, loom_add_term(ctx, a, i).coef, d), whole;
    if (loom_num_is_none(g) || !loom_num_is_int(ctx, g) || loom_num_is_one(g)) continue;
    good = split_by(ctx, a, g, &high, &low);
    if (!good || (low.n == 0 && loom_num_is_zero(low.constant))) continue;
    if (!whole_part(ctx, &low, g, &whole)) continue;
    high.constant = loom_num_add(ctx, high.constant, whole);
    good = !loom_num_is_none(high.constant) && loom_terms_merge(&high);
    if (good) result = loom_terms_build(&high);
  }
  loom_terms_end(&high);
  loom_terms_end(&low);
  return good ? result : LOOM_NONE;
}

/* a without a variable that is less than d, where d divides the rest. */
static loom_expr without_variable(loom_scope *scope, loom_expr a, loom_expr d) {
  loom_ctx *ctx = scope->ctx;
  if (loom_kind_of(ctx, a) != LOOM_ADD || loom_add_count(ctx, a) > MOST_TERMS) return a;
  for (size_t i = 0; i < loom_add_count(ctx, a); i++) {
    loom_term term = loom_add_term(ctx, a, i);
    if (!loom_num_is_one(term.coef) || loom_facts_of(ctx, term.id).integer != LOOM_YES) continue;
    if (loom_facts_of(ctx, term.id).sign & LOOM_NEG) continue;
    loom_expr rest = loom_sub(ctx, a, term.id);
    if (rest == LOOM_NONE) return LOOM_NONE;
    if (loom_is_multiple(ctx, rest, d) && loom_scope_less(scope, term.id, d)) return rest;
  }
  return a;
}

static loom_expr trim(loom_scope *scope, loom_expr a, loom_expr d) {
  loom_ctx *ctx = scope->ctx;
  if (loom_facts_of(ctx, a).integer != LOOM_YES || !loom_is_positive_integer(ctx, d)) return a;
  if (loom_expr_is_num(ctx, d)) return without_small(ctx, a, loom_num_of(ctx, d));
  return without_variable(scope, a, d);
}

/* ---- divisions ------------------------------------------------------------------------------ */

/* Of a digit of a digit one is enough where the sizes divide: ((b // c) % k) // d with d dividing k,
** and the same % m with d*m dividing k. */
static bool collapse(loom_ctx *ctx, loom_digit *digit) {
  loom_digit inner;
  if (!loom_digit_of(ctx, digit->b, &inner) || inner.m == LOOM_NONE) return false;
  bool whole = loom_is_positive_integer(ctx, digit->d) && loom_is_positive_integer(ctx, inner.m);
  if (!whole) return false;
  loom_expr size = digit->d;
  if (digit->m != LOOM_NONE) size = loom_build_mul(ctx, digit->d, digit->m);
  if (size == LOOM_NONE || !loom_is_multiple(ctx, inner.m, size)) return false;
  if (digit->m == LOOM_NONE) digit->m = loom_build_div(ctx, inner.m, digit->d);
  *digit = (loom_digit){inner.b, loom_build_mul(ctx, inner.d, digit->d), digit->m};
  return digit->d != LOOM_NONE && digit->m != LOOM_NONE;
}

/* Whether 0 <= b < size. */
static bool is_within(loom_scope *scope, loom_expr b, loom_expr size) {
  loom_ctx *ctx = scope->ctx;
  if (size == LOOM_NONE || loom_facts_of(ctx, b).integer != LOOM_YES) return false;
  if (!loom_is_positive_integer(ctx, size)) return false;
  bool negative = loom_facts_of(ctx, b).sign & LOOM_NEG;
  if (negative && !loom_scope_less(scope, loom_int(ctx, -1), b)) return false;
  return loom_scope_less(scope, b, size);
}

static loom_expr resolve(loom_scope *scope, loom_expr e) {
  loom_ctx *ctx = scope->ctx;
  loom_digit digit;
  if (!loom_digit_of(ctx, e, &digit)) return e;
  bool changed = collapse(ctx, &digit);
  loom_expr b = trim(scope, digit.b, digit.d);
  if (b == LOOM_NONE) return LOOM_NONE;
  changed = changed || b != digit.b;
  digit.b = b;
  if (digit.m == LOOM_NONE) {
    if (is_within(scope, b, digit.d)) return loom_int(ctx, 0);
  } else if (is_within(scope, b, loom_build_mul(ctx, digit.d, digit.m))) {
    digit.m = LOOM_NONE;
    changed = true;
  }
  return changed ? loom_finish(ctx, loom_digit_build(ctx, digit)) : e;
}

static loom_expr resolve_or_join(loom_ctx *ctx, void *data, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD ? loom_join_sum(ctx, e) : resolve(data, e);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static loom_expr simplify_narrow(loom_scope *scope, loom_expr e) {
  loom_ctx *ctx = scope->ctx;
  for (int round = 0; round < MOST_ROUNDS && e != LOOM_NONE; round++) {
    loom_expr next = loom_rewrite(ctx, loom_expand(ctx, e), resolve_or_join, scope);
    if (next == e) break;
    e = next;
  }
  return e;
}

/* Bounded rounds of walks linear in the distinct sub-expressions; what a round leaves is exact. */
loom_expr loom_simplify_in(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  loom_scope scope;
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  bool good = loom_scope_begin(ctx, &scope, given);
  if (good) e = loom_scope_leave(&scope, simplify_narrow(&scope, loom_scope_enter(&scope, e)));
  loom_scope_end(&scope);
  return good ? loom_finish(ctx, e) : LOOM_NONE;
}
