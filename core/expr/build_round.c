/* SPDX-License-Identifier: MIT */
/* Floor and ceiling.
** Invariant: an argument holds no term known to be an integer; a quotient by a literal of integers
** is a floor division; of floor(x) and ceil(-x), ceil(x) and floor(-x) one form is kept, the one
** with a positive leading term, so that they cancel. */
#include "expr/rounding.h"

/* A sum taken apart for rounding: integers outside, the rest inside. */
typedef struct parts {
  loom_terms outside, inside;
  bool integer_terms; /* every term inside is a ratio times an integer */
  loom_num den;       /* lcm of the denominators inside, the constant's included */
} parts;

static bool split_term(loom_ctx *ctx, parts *p, loom_term term) {
  if (loom_term_is_integer(ctx, term.coef, term.id))
    return loom_terms_push(&p->outside, term.coef, term.id);
  if (loom_facts_of(ctx, term.id).integer != LOOM_YES) p->integer_terms = false;
  loom_num den = loom_num_denominator(ctx, term.coef);
  loom_num gcd = loom_num_gcd(ctx, p->den, den);
  p->den = loom_num_mul(ctx, p->den, loom_num_div(ctx, den, gcd));
  return !loom_num_is_none(p->den) && loom_terms_push(&p->inside, term.coef, term.id);
}

/* Takes the sum of terms apart; a whole constant goes outside. */
static bool split(loom_ctx *ctx, parts *p, const loom_terms *sum) {
  p->integer_terms = true;
  p->den = loom_num_denominator(ctx, sum->constant);
  if (loom_num_is_one(p->den))
    p->outside.constant = sum->constant;
  else
    p->inside.constant = sum->constant;
  for (size_t i = 0; i < sum->n; i++)
    if (!split_term(ctx, p, sum->at[i])) return false;
  return !loom_num_is_none(p->den);
}

static bool leads_negative(loom_ctx *ctx, const loom_terms *sum) {
  return loom_num_sign(ctx, sum->at[loom_leading(ctx, sum->n, sum->at)].coef) < 0;
}

static bool multiply_terms(loom_terms *sum, loom_num by) {
  loom_ctx *ctx = sum->ctx;
  sum->constant = loom_num_mul(ctx, sum->constant, by);
  bool good = !loom_num_is_none(sum->constant);
  for (size_t i = 0; good && i < sum->n; i++) {
    sum->at[i].coef = loom_num_mul(ctx, sum->at[i].coef, by);
    good = !loom_num_is_none(sum->at[i].coef);
  }
  return good;
}

/* Takes a factor that the divisor shares with every coefficient out; the constant is rounded down to
** a multiple of it, which the quotient of integers does not see. */
static bool take_out_common(loom_ctx *ctx, loom_terms *sum, loom_num *den) {
  loom_num common = *den;
  for (size_t i = 0; i < sum->n && !loom_num_is_one(common); i++)
    common = loom_num_gcd(ctx, common, sum->at[i].coef);
  if (loom_num_is_one(common)) return true;
  loom_num constant = loom_num_floor_div(ctx, sum->constant, common);
  sum->constant = LOOM_NUM_ZERO;
  if (!multiply_terms(sum, loom_num_inv(ctx, common))) return false;
  sum->constant = constant;
  *den = loom_num_div(ctx, *den, common);
  return !loom_num_is_none(constant) && !loom_num_is_none(*den);
}

/* Whether a sum is 1 * e + an integer constant, e of a kind. */
static bool is_one_of(loom_ctx *ctx, const loom_terms *sum, loom_kind kind) {
  return sum->n == 1 && loom_num_is_one(sum->at->coef) && loom_kind_of(ctx, sum->at->id) == kind &&
         loom_num_is_int(ctx, sum->constant);
}

static bool collapses(loom_ctx *ctx, const loom_terms *sum) {
  if (is_one_of(ctx, sum, LOOM_FLOOR)) return true;
  if (!is_one_of(ctx, sum, LOOM_FLOORDIV)) return false;
  return loom_num_is_zero(sum->constant) || loom_expr_is_num(ctx, loom_child(ctx, sum->at->id, 1));
}

/* floor((floor(a / b) + k) / den) = floor((a + k * b) / (b * den)) for b a number or k = 0. */
static loom_expr collapse(loom_ctx *ctx, const loom_terms *sum, loom_num den) {
  loom_expr inner = sum->at->id, b = loom_from_num(ctx, LOOM_NUM_ONE);
  if (loom_kind_of(ctx, inner) == LOOM_FLOORDIV) b = loom_child(ctx, inner, 1);
  if (b == LOOM_NONE) return b;
  loom_term terms[] = {{LOOM_NUM_ONE, loom_child(ctx, inner, 0)}, {sum->constant, b}};
  return loom_build_floor_div(ctx, loom_build_sum(ctx, LOOM_NUM_ZERO, 2, terms),
                              loom_scale(ctx, den, b));
}

/* floor(sum / den), sum with integer terms and constant, the constant in [0, den): a node, a simpler
** nested division, or the quotient itself where the remainder is known. */
static loom_expr divide_reduced(loom_ctx *ctx, loom_terms *sum, loom_num den) {
  if (collapses(ctx, sum)) return collapse(ctx, sum, den);
  loom_expr divisor = loom_from_num(ctx, den), numerator = loom_terms_build(sum);
  if (divisor == LOOM_NONE || numerator == LOOM_NONE) return LOOM_NONE;
  loom_facts a = loom_facts_of(ctx, numerator);
  int64_t d;
  if (loom_num_to_int(ctx, den, &d) && a.lo != LOOM_MINUS_INF && a.hi != LOOM_PLUS_INF &&
      loom_floor_div64(a.lo, d) == loom_floor_div64(a.hi, d))
    return loom_int(ctx, loom_floor_div64(a.lo, d));
  if (loom_num_to_int(ctx, den, &d) && a.integer == LOOM_YES && a.modulus % d == 0) {
    loom_num down = loom_num_sub(ctx, sum->constant, LOOM_NUM(loom_mod64(a.remainder, d)));
    if (loom_num_is_none(down)) return LOOM_NONE;
    sum->constant = down;
    return multiply_terms(sum, loom_num_inv(ctx, den)) ? loom_terms_build(sum) : LOOM_NONE;
  }
  return loom_make_args(ctx, LOOM_FLOORDIV, 2, (loom_expr[]){numerator, divisor});
}

/* floor(sum / den), sum with integer terms and constant. */
static loom_expr divide_integers(loom_ctx *ctx, loom_terms *sum, loom_num den) {
  if (!take_out_common(ctx, sum, &den)) return LOOM_NONE;
  loom_num whole = loom_num_floor_div(ctx, sum->constant, den);
  sum->constant = loom_num_mod(ctx, sum->constant, den);
  if (loom_num_is_none(whole) || loom_num_is_none(sum->constant)) return LOOM_NONE;
  loom_term rest = {LOOM_NUM_ONE, divide_reduced(ctx, sum, den)};
  return loom_build_sum(ctx, whole, 1, &rest);
}

/* floor(sum / den) where ceil(-sum / den) is the form to keep, or ceil(sum / den): the ceiling of
** n / d is q + floor((n' + r) / d) with the constant of n split so that 0 <= r < d. */
static loom_expr ceil_of_integers(loom_ctx *ctx, loom_terms *sum, loom_num den) {
  if (is_one_of(ctx, sum, LOOM_CEIL) && loom_num_is_zero(sum->constant))
    return loom_build_ceil(
        ctx, loom_build_div(ctx, loom_child(ctx, sum->at->id, 0), loom_from_num(ctx, den)));
  sum->constant = loom_num_add(ctx, sum->constant, loom_num_sub(ctx, den, LOOM_NUM_ONE));
  return loom_num_is_none(sum->constant) ? LOOM_NONE : divide_integers(ctx, sum, den);
}

/* floor or ceil of a sum of ratios of integers. */
static loom_expr round_ratios(loom_ctx *ctx, loom_terms *sum, loom_num den, bool up) {
  bool negative = leads_negative(ctx, sum);
  if (!multiply_terms(sum, negative ? loom_num_neg(ctx, den) : den)) return LOOM_NONE;
  loom_expr e = up != negative ? ceil_of_integers(ctx, sum, den) : divide_integers(ctx, sum, den);
  return loom_scale(ctx, negative ? LOOM_NUM_MINUS_ONE : LOOM_NUM_ONE, e);
}

/* Whether facts leave one integer for floor or ceil of a value. */
static bool only_one(loom_facts f, bool up, int64_t *value) {
  if (f.lo == LOOM_MINUS_INF || f.hi == LOOM_PLUS_INF) return false;
  int64_t lo = f.lo, hi = f.hi;
  bool open = f.integer == LOOM_NO;
  if (up && (open || (lo == 0 && f.sign == LOOM_POS))) lo++;
  if (!up && (open || (hi == 0 && f.sign == LOOM_NEG))) hi--;
  *value = lo;
  return lo == hi;
}

/* floor or ceil of what is no sum of ratios of integers. */
static loom_expr round_other(loom_ctx *ctx, loom_terms *sum, bool up) {
  loom_num whole = loom_num_floor(ctx, sum->constant);
  sum->constant = loom_num_sub(ctx, sum->constant, whole);
  if (loom_num_is_none(sum->constant)) return LOOM_NONE;
  bool negative = leads_negative(ctx, sum);
  if (negative) {
    loom_num carry = loom_num_is_zero(sum->constant) ? LOOM_NUM_ZERO : LOOM_NUM_ONE;
    if (!multiply_terms(sum, LOOM_NUM_MINUS_ONE)) return LOOM_NONE;
    sum->constant = loom_num_add(ctx, sum->constant, carry);
    whole = loom_num_add(ctx, whole, carry);
    up = !up;
  }
  loom_expr e = loom_terms_build(sum), above, below;
  if (e == LOOM_NONE || !loom_take_apart(ctx, e, &above, &below)) return LOOM_NONE;
  int64_t value;
  if (only_one(loom_facts_of(ctx, e), up, &value))
    e = loom_int(ctx, value);
  else if (!loom_expr_is_num(ctx, below))
    e = loom_round_quotient(ctx, up, above, below);
  else
    e = loom_make_args(ctx, up ? LOOM_CEIL : LOOM_FLOOR, 1, &e);
  loom_term term = {negative ? LOOM_NUM_MINUS_ONE : LOOM_NUM_ONE, e};
  return loom_build_sum(ctx, whole, 1, &term);
}

/* Whether 0 < a <= b (up) or 0 <= a < b. */
static bool within(loom_ctx *ctx, bool up, loom_expr a, loom_expr b) {
  loom_facts f = loom_facts_of(ctx, a), g = loom_facts_of(ctx, b);
  if (g.sign != LOOM_POS || (f.sign & LOOM_NEG) || (up && f.sign != LOOM_POS)) return false;
  if (up ? f.hi <= g.lo : f.hi < g.lo) return true;
  if (f.lo > g.hi || loom_expr_is_num(ctx, a)) return false;
  uint8_t sign = loom_facts_difference(ctx, a, b).sign;
  return up ? !(sign & LOOM_POS) : sign == LOOM_NEG;
}

loom_expr loom_round_quotient(loom_ctx *ctx, bool up, loom_expr numerator, loom_expr denominator) {
  if (within(ctx, up, numerator, denominator))
    return loom_from_num(ctx, up ? LOOM_NUM_ONE : LOOM_NUM_ZERO);
  loom_expr split = loom_divide_exactly(ctx, numerator, denominator);
  if (split != LOOM_NONE) return up ? loom_build_ceil(ctx, split) : loom_build_floor(ctx, split);
  if (loom_divide_out(ctx, up, numerator, denominator, &split)) return split;
  if (up) {
    loom_expr quotient = loom_build_div(ctx, numerator, denominator);
    return quotient == LOOM_NONE ? quotient : loom_make_args(ctx, LOOM_CEIL, 1, &quotient);
  }
  loom_facts b = loom_facts_of(ctx, denominator);
  bool nests = b.integer == LOOM_YES && b.sign == LOOM_POS;
  if (nests && loom_kind_of(ctx, numerator) == LOOM_FLOORDIV)
    return loom_build_floor_div(ctx, loom_child(ctx, numerator, 0),
                                loom_build_mul(ctx, loom_child(ctx, numerator, 1), denominator));
  if (nests && loom_kind_of(ctx, numerator) == LOOM_FLOOR)
    return loom_build_floor_div(ctx, loom_child(ctx, numerator, 0), denominator);
  return loom_make_args(ctx, LOOM_FLOORDIV, 2, (loom_expr[]){numerator, denominator});
}

/* Whether terms that are no integers add up to one. */
static bool is_whole(loom_ctx *ctx, const loom_terms *sum) {
  if (sum->n == 1 && loom_num_is_zero(sum->constant)) return false;
  return loom_facts_sum(ctx, sum->constant, sum->n, sum->at).integer == LOOM_YES;
}

static loom_expr round_parts(loom_ctx *ctx, parts *p, bool up) {
  loom_expr inside;
  if (is_whole(ctx, &p->inside))
    inside = loom_terms_build(&p->inside);
  else if (p->inside.n == 0)
    inside = loom_from_num(ctx, up ? loom_num_ceil(ctx, p->inside.constant)
                                   : loom_num_floor(ctx, p->inside.constant));
  else if (p->integer_terms)
    inside = round_ratios(ctx, &p->inside, p->den, up);
  else
    inside = round_other(ctx, &p->inside, up);
  if (inside == LOOM_NONE || !loom_terms_add(&p->outside, LOOM_NUM_ONE, inside) ||
      !loom_terms_merge(&p->outside))
    return LOOM_NONE;
  return loom_terms_build(&p->outside);
}

static loom_expr round_sum(loom_ctx *ctx, const loom_terms *sum, bool up) {
  parts p;
  loom_terms_begin(ctx, &p.outside);
  loom_terms_begin(ctx, &p.inside);
  loom_expr e = split(ctx, &p, sum) ? round_parts(ctx, &p, up) : LOOM_NONE;
  loom_terms_end(&p.outside);
  loom_terms_end(&p.inside);
  return e;
}

/* floor or ceil of a / b, b a number. */
static loom_expr round_scaled(loom_ctx *ctx, loom_expr a, loom_num inverse, bool up) {
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  loom_expr e = LOOM_NONE;
  if (!loom_num_is_none(inverse) && loom_terms_add(&sum, inverse, a)) e = round_sum(ctx, &sum, up);
  loom_terms_end(&sum);
  return e;
}

loom_expr loom_build_floor(loom_ctx *ctx, loom_expr a) {
  if (a == LOOM_NONE || loom_facts_of(ctx, a).integer == LOOM_YES) return a;
  return round_scaled(ctx, a, LOOM_NUM_ONE, false);
}

loom_expr loom_build_ceil(loom_ctx *ctx, loom_expr a) {
  if (a == LOOM_NONE || loom_facts_of(ctx, a).integer == LOOM_YES) return a;
  return round_scaled(ctx, a, LOOM_NUM_ONE, true);
}

loom_expr loom_build_floor_by(loom_ctx *ctx, loom_expr a, loom_num divisor) {
  return round_scaled(ctx, a, loom_num_inv(ctx, divisor), false);
}

loom_expr loom_floor(loom_ctx *ctx, loom_expr a) {
  return loom_usable1(ctx, a) ? loom_finish(ctx, loom_build_floor(ctx, a)) : LOOM_NONE;
}

loom_expr loom_ceil(loom_ctx *ctx, loom_expr a) {
  if (!loom_usable1(ctx, a)) return LOOM_NONE;
  loom_expr result = loom_memo_get(ctx, LOOM_MEMO_CEIL, a, a);
  if (result != LOOM_NONE) return result;
  result = loom_finish(ctx, loom_build_ceil(ctx, a));
  loom_memo_put(ctx, LOOM_MEMO_CEIL, a, a, result);
  return result;
}
