/* SPDX-License-Identifier: MIT */
/* Joins neighbouring terms of sums: what a modular index keeps of a quotient and what it leaves out.
** Invariant: for integers m > 0 (and n > 0), with b the same up to a multiple of d*m,
** s*((b // d) % m) + s*m*(b // (d*m)) is s*(b // d), and with (b // (d*m)) % n in the second place
** s*((b // d) % (m*n)), whatever the signs of b and d. */
#include "expr/index.h"
#include "expr/rounding.h"

/* Sums of more terms are left alone. */
enum { MOST_TERMS = 256 };

/* ---- digits --------------------------------------------------------------------------------- */

bool loom_digit_of(loom_ctx *ctx, loom_expr e, loom_digit *out) {
  switch (loom_kind_of(ctx, e)) {
  case LOOM_FLOORDIV:
    *out = (loom_digit){loom_child(ctx, e, 0), loom_child(ctx, e, 1), LOOM_NONE};
    return true;
  case LOOM_MOD:
    *out = (loom_digit){loom_child(ctx, e, 0), loom_int(ctx, 1), loom_child(ctx, e, 1)};
    return loom_facts_of(ctx, out->b).integer == LOOM_YES && out->d != LOOM_NONE;
  case LOOM_MODIDX:
    *out = (loom_digit){loom_child(ctx, e, 0), loom_child(ctx, e, 1), loom_child(ctx, e, 2)};
    return true;
  default: return false;
  }
}

/* The one term x // number with coefficient 1 of a sum; false: there is none, or there are more. */
static bool lone_quotient(const loom_ctx *ctx, loom_expr b, size_t *at) {
  size_t found = 0;
  if (loom_kind_of(ctx, b) != LOOM_ADD) return false;
  for (size_t i = 0, n = loom_add_count(ctx, b); i < n; i++) {
    loom_term term = loom_add_term(ctx, b, i);
    if (loom_kind_of(ctx, term.id) != LOOM_FLOORDIV || !loom_num_is_one(term.coef)) continue;
    loom_expr below = loom_child(ctx, term.id, 1);
    if (!loom_expr_is_num(ctx, below) || !loom_is_positive_integer(ctx, below)) continue;
    *at = i;
    found++;
  }
  return found == 1;
}

bool loom_digit_unfold(loom_ctx *ctx, loom_digit *digit, bool *changed) {
  enum { DEEPEST = 8 };
  size_t at;
  for (int depth = 0; depth < DEEPEST && lone_quotient(ctx, digit->b, &at); depth++) {
    if (!loom_is_positive_integer(ctx, digit->d)) break;
    if (loom_facts_of(ctx, digit->b).integer != LOOM_YES) break;
    loom_expr quotient = loom_add_term(ctx, digit->b, at).id, e = loom_child(ctx, quotient, 1);
    loom_num by = loom_num_of(ctx, e);
    loom_term terms[] = {{by, digit->b},
                         {loom_num_neg(ctx, by), quotient},
                         {LOOM_NUM_ONE, loom_child(ctx, quotient, 0)}};
    digit->b = loom_build_sum(ctx, LOOM_NUM_ZERO, 3, terms);
    digit->d = loom_scale(ctx, by, digit->d);
    if (digit->b == LOOM_NONE || digit->d == LOOM_NONE) return false;
    *changed = true;
  }
  return true;
}

loom_expr loom_digit_build(loom_ctx *ctx, loom_digit digit) {
  if (digit.m == LOOM_NONE) return loom_build_floor_div(ctx, digit.b, digit.d);
  return loom_build_mod_index(ctx, digit.b, digit.d, digit.m);
}

bool loom_is_multiple(loom_ctx *ctx, loom_expr a, loom_expr d) {
  int64_t step;
  loom_facts f = loom_facts_of(ctx, a);
  if (loom_expr_is_num(ctx, d) && loom_num_to_int(ctx, loom_num_of(ctx, d), &step) && step > 0 &&
      f.integer == LOOM_YES)
    return f.modulus % step == 0 && f.remainder % step == 0;
  loom_expr quotient = loom_build_div(ctx, a, d);
  if (quotient == LOOM_NONE) return false;
  if (loom_facts_of(ctx, quotient).integer == LOOM_YES) return true;
  if (loom_expr_is_num(ctx, d)) return false;
  quotient = loom_divide_exactly(ctx, a, d);
  return quotient != LOOM_NONE && loom_facts_of(ctx, quotient).integer == LOOM_YES;
}

bool loom_is_positive_integer(const loom_ctx *ctx, loom_expr e) {
  int64_t value;
  if (loom_as_int(ctx, e, &value)) return value > 0;
  loom_facts f = loom_facts_of(ctx, e);
  return f.integer == LOOM_YES && f.sign == LOOM_POS;
}

bool loom_digit_collapse(loom_ctx *ctx, loom_digit *digit) {
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

/* ---- terms ---------------------------------------------------------------------------------- */

/* coef * rest * digit, a term of a sum; rest LOOM_NONE: 1. */
typedef struct place {
  loom_num coef;
  loom_expr rest;
  loom_digit digit;
  loom_expr node; /* the digit; LOOM_NONE: a term without one */
} place;

/* The digit of a factor; a ceiling of x / d is the negative of -x // d. */
static bool digit_of_factor(loom_ctx *ctx, loom_expr e, place *out) {
  if (loom_kind_of(ctx, e) != LOOM_CEIL) return loom_digit_of(ctx, e, &out->digit);
  loom_expr above, below;
  if (!loom_take_apart(ctx, loom_child(ctx, e, 0), &above, &below)) return false;
  if (loom_facts_of(ctx, above).integer != LOOM_YES || !loom_is_positive_integer(ctx, below))
    return false;
  out->digit = (loom_digit){loom_neg(ctx, above), below, LOOM_NONE};
  out->coef = loom_num_neg(ctx, out->coef);
  return out->digit.b != LOOM_NONE && !loom_num_is_none(out->coef);
}

/* s * (b // d) as -s * ((d - 1 - b) // d), since building keeps one form of the two.  False: it is no
** such quotient, or an error. */
static bool turn(loom_ctx *ctx, place *p) {
  loom_digit *digit = &p->digit;
  int64_t d;
  if (digit->m != LOOM_NONE || !loom_as_int(ctx, digit->d, &d) || d <= 0) return false;
  if (loom_facts_of(ctx, digit->b).integer != LOOM_YES) return false;
  loom_term terms[] = {{LOOM_NUM_MINUS_ONE, digit->b}};
  digit->b = loom_build_sum(ctx, LOOM_NUM(d - 1), 1, terms);
  p->coef = loom_num_neg(ctx, p->coef);
  return digit->b != LOOM_NONE && !loom_num_is_none(p->coef);
}

/* False with an error. */
static bool find_digit(loom_ctx *ctx, loom_term term, place *out) {
  *out = (place){.coef = term.coef};
  for (size_t i = 0, n = loom_mul_count(ctx, term.id); i < n; i++) {
    loom_power power = loom_mul_power(ctx, term.id, i);
    if (power.exponent != 1 || !digit_of_factor(ctx, power.base, out)) continue;
    out->node = power.base;
    if (n > 1) out->rest = loom_build_div(ctx, term.id, power.base);
    return n == 1 || out->rest != LOOM_NONE;
  }
  return true;
}

static loom_expr scale_of(loom_ctx *ctx, const place *p) {
  return loom_scale(ctx, p->coef, p->rest == LOOM_NONE ? loom_int(ctx, 1) : p->rest);
}

/* 1: high stands m times as high as low; -1: times -m; 0: neither. */
static int scales_fit(loom_ctx *ctx, const place *low, const place *high) {
  loom_expr m = low->digit.m;
  if (loom_expr_is_num(ctx, m)) {
    if (low->rest != high->rest) return 0;
    loom_num scale = loom_num_mul(ctx, low->coef, loom_num_of(ctx, m));
    if (loom_num_same(scale, high->coef)) return 1;
    return loom_num_same(loom_num_neg(ctx, scale), high->coef) ? -1 : 0;
  }
  loom_expr scale = loom_build_mul(ctx, scale_of(ctx, low), m), other = scale_of(ctx, high);
  if (scale == LOOM_NONE) return 0;
  return scale == other ? 1 : loom_scale(ctx, LOOM_NUM_MINUS_ONE, scale) == other ? -1 : 0;
}

/* Whether step divides a - b, multiplied out where one of them is a product. */
static bool is_congruent(loom_ctx *ctx, loom_expr a, loom_expr b, loom_expr step) {
  if (a == b) return true;
  int64_t by;
  if (loom_kind_of(ctx, a) == LOOM_MUL || loom_kind_of(ctx, b) == LOOM_MUL) {
    loom_expr x = loom_expand(ctx, a), y = loom_expand(ctx, b);
    if (x == LOOM_NONE || y == LOOM_NONE) return false;
    if (x == y) return true;
    a = x, b = y;
  }
  loom_facts f = loom_facts_difference(ctx, a, b);
  if (loom_as_int(ctx, step, &by) && by > 0 && f.integer == LOOM_YES)
    return f.modulus % by == 0 && f.remainder % by == 0;
  return loom_is_multiple(ctx, loom_sub(ctx, a, b), step);
}

/* Whether high is the digit next to the low one, and in which base: (base // (d*m)) % n. */
static bool is_next(loom_ctx *ctx, const loom_digit *low, const loom_digit *high, loom_expr *base) {
  loom_expr step = loom_build_mul(ctx, low->d, low->m);
  *base = high->b;
  if (step == LOOM_NONE) return false;
  if (high->d != step) {
    int64_t from, to;
    if (!loom_as_int(ctx, high->d, &from) || !loom_as_int(ctx, step, &to) || from <= 0 ||
        to % from != 0)
      return false;
    *base = loom_scale(ctx, LOOM_NUM(to / from), high->b);
  }
  return *base != LOOM_NONE && is_congruent(ctx, low->b, *base, step);
}

/* What two terms whose scales fit add up to as one, or LOOM_NONE. */
static loom_expr join_pair(loom_ctx *ctx, const place *low_place, const place *high_place) {
  loom_digit low = low_place->digit, high = high_place->digit;
  bool changed;
  loom_expr base;
  if (!loom_digit_unfold(ctx, &low, &changed) || !loom_digit_unfold(ctx, &high, &changed) ||
      !is_next(ctx, &low, &high, &base))
    return LOOM_NONE;
  loom_digit whole = {base, low.d, LOOM_NONE};
  if (high.m != LOOM_NONE) {
    if (!loom_is_positive_integer(ctx, high.m)) return LOOM_NONE;
    whole.m = loom_build_mul(ctx, low.m, high.m);
    if (whole.m == LOOM_NONE) return LOOM_NONE;
  }
  return loom_build_mul(ctx, scale_of(ctx, low_place), loom_digit_build(ctx, whole));
}

/* The sum e with terms i and k replaced by one. */
static loom_expr replace(loom_ctx *ctx, loom_expr e, size_t i, size_t k, loom_expr joined) {
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  sum.constant = loom_add_constant(ctx, e);
  bool good = loom_terms_add(&sum, LOOM_NUM_ONE, joined);
  for (size_t t = 0; good && t < loom_add_count(ctx, e); t++) {
    loom_term term = loom_add_term(ctx, e, t);
    good = t == i || t == k || loom_terms_push(&sum, term.coef, term.id);
  }
  loom_expr result = good && loom_terms_merge(&sum) ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return result;
}

static size_t count_terms(const loom_ctx *ctx, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) : !loom_expr_is_num(ctx, e);
}

/* Whether node is e, or a term of the sum e with coefficient 1. */
static bool has_node(const loom_ctx *ctx, loom_expr e, loom_expr node) {
  if (loom_kind_of(ctx, e) != LOOM_ADD) return e == node;
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (term.id == node) return loom_num_is_one(term.coef);
  }
  return false;
}

static bool has_sum_in_term(const loom_ctx *ctx, loom_expr e) {
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_expr id = loom_add_term(ctx, e, i).id;
    if (loom_kind_of(ctx, id) != LOOM_MUL) continue;
    for (size_t k = 0, m = loom_mul_count(ctx, id); k < m; k++)
      if (loom_kind_of(ctx, loom_mul_power(ctx, id, k).base) == LOOM_ADD) return true;
  }
  return false;
}

/* The sum e (or anything) with the products among its terms multiplied out. */
static loom_expr multiply_terms_out(loom_ctx *ctx, loom_expr e) {
  if (loom_kind_of(ctx, e) != LOOM_ADD || !has_sum_in_term(ctx, e)) return e;
  int64_t budget = 1000;
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  sum.constant = loom_add_constant(ctx, e);
  bool good = true;
  for (size_t i = 0, n = loom_add_count(ctx, e); good && i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (loom_kind_of(ctx, term.id) == LOOM_MUL) term.id = loom_multiply_out(ctx, term.id, &budget);
    good = term.id != LOOM_NONE && loom_terms_add(&sum, term.coef, term.id);
  }
  loom_expr result = good && loom_terms_merge(&sum) ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return result;
}

/* e + s*q - s*(q % m) - s*m*next, q = b // d and next = q // m. */
static loom_expr exchange(loom_ctx *ctx, loom_expr e, const place *low, loom_expr q,
                          loom_expr next) {
  loom_expr scale = scale_of(ctx, low);
  loom_expr here = loom_build_mul(ctx, scale, q), there = loom_build_mul(ctx, scale, low->node);
  next = loom_build_mul(ctx, loom_build_mul(ctx, scale, low->digit.m), next);
  if (here == LOOM_NONE || there == LOOM_NONE || next == LOOM_NONE) return LOOM_NONE;
  loom_term terms[] = {{LOOM_NUM_ONE, e},
                       {LOOM_NUM_ONE, here},
                       {LOOM_NUM_MINUS_ONE, there},
                       {LOOM_NUM_MINUS_ONE, next}};
  loom_expr sum = loom_build_sum(ctx, LOOM_NUM_ZERO, 4, terms);
  bool plain = low->rest == LOOM_NONE && loom_expr_is_num(ctx, low->digit.m);
  return plain || sum == LOOM_NONE ? sum : multiply_terms_out(ctx, sum);
}

/* The sum e with s*(q % m) + s*m*(q // m) as s*q, q = b // d, where high is what building makes of
** q // m, which may have lost what tells that they are neighbours; e if that does not fit. */
static loom_expr add_quotient(loom_ctx *ctx, loom_expr e, const place *low, const place *high) {
  loom_digit digit = low->digit;
  loom_expr next = loom_build_floor_div(ctx, digit.b, loom_build_mul(ctx, digit.d, digit.m));
  if (next == LOOM_NONE || !has_node(ctx, next, high->node)) return next == LOOM_NONE ? next : e;
  loom_expr q = loom_build_floor_div(ctx, digit.b, digit.d);
  if (q == LOOM_NONE) return q;
  size_t most = count_terms(ctx, e) + count_terms(ctx, q) - 2;
  loom_expr sum = exchange(ctx, e, low, q, next);
  return sum == LOOM_NONE || count_terms(ctx, sum) <= most ? sum : e;
}

static bool may_be_low(const loom_ctx *ctx, const place *p) {
  return p->node != LOOM_NONE && p->digit.m != LOOM_NONE &&
         loom_is_positive_integer(ctx, p->digit.m);
}

/* The sum e with a low place and a plain quotient, fit as scales_fit says, joined; e if they are no
** neighbours. */
static loom_expr join_quotient(loom_ctx *ctx, loom_expr e, const place *places, size_t i, size_t k,
                               int fit) {
  const place *low = &places[i];
  if (fit < 0) {
    place high = places[k];
    loom_expr joined = turn(ctx, &high) ? join_pair(ctx, low, &high) : LOOM_NONE;
    return joined == LOOM_NONE ? e : replace(ctx, e, i, k, joined);
  }
  loom_expr joined = join_pair(ctx, low, &places[k]);
  return joined == LOOM_NONE ? add_quotient(ctx, e, low, &places[k])
                             : replace(ctx, e, i, k, joined);
}

/* Joins the first pair that fits, modular ones (or those with a plain quotient); e if none does. */
static loom_expr join_once(loom_ctx *ctx, loom_expr e, size_t n, const place *places,
                           bool quotients) {
  for (size_t i = 0; i < n; i++) {
    if (!may_be_low(ctx, &places[i])) continue;
    for (size_t k = 0; k < n; k++) {
      bool fits = places[k].node != LOOM_NONE && (places[k].digit.m == LOOM_NONE) == quotients;
      int fit = k == i || !fits ? 0 : scales_fit(ctx, &places[i], &places[k]);
      if (fit != 0 && quotients) {
        loom_expr next = join_quotient(ctx, e, places, i, k, fit);
        if (next != e) return next;
      } else if (fit > 0) {
        loom_expr joined = join_pair(ctx, &places[i], &places[k]);
        if (joined != LOOM_NONE) return replace(ctx, e, i, k, joined);
      }
    }
  }
  return e;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* The terms of a sum with their digits; *n 0 where there is nothing to join.  False with an error. */
static bool find_places(loom_ctx *ctx, loom_expr e, place *places, size_t *n) {
  size_t lows = 0, digits = 0,
         count = loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) : 0;
  *n = 0;
  if (count < 2 || count > MOST_TERMS) return true;
  for (size_t i = 0; i < count; i++) {
    if (!find_digit(ctx, loom_add_term(ctx, e, i), &places[i])) return false;
    lows += may_be_low(ctx, &places[i]);
    digits += (places[i].node != LOOM_NONE);
  }
  if (lows > 0 && digits > 1) *n = count;
  return true;
}

loom_expr loom_join_sum(loom_ctx *ctx, loom_expr e) {
  place places[MOST_TERMS];
  size_t n;
  while (e != LOOM_NONE) {
    if (!find_places(ctx, e, places, &n)) return LOOM_NONE;
    if (n == 0) break;
    loom_expr next = join_once(ctx, e, n, places, false);
    if (next == e) next = join_once(ctx, e, n, places, true);
    if (next == e) break;
    e = next;
  }
  return loom_finish(ctx, e);
}

loom_expr loom_join_outside(loom_ctx *ctx, loom_expr e) {
  if (loom_kind_of(ctx, e) != LOOM_ADD) return e;
  e = loom_join_sum(ctx, e);
  if (e == LOOM_NONE || loom_kind_of(ctx, e) != LOOM_ADD) return e;
  loom_expr out = multiply_terms_out(ctx, e);
  if (out == e || out == LOOM_NONE) return out;
  loom_expr joined = loom_join_sum(ctx, out);
  return joined == out ? e : joined;
}

/* How many terms of the sum e (or anything) are remainders, and how many quotients. */
static bool count_digits(loom_ctx *ctx, loom_expr e, size_t *modular, size_t *quotients) {
  bool sum = loom_kind_of(ctx, e) == LOOM_ADD;
  *modular = *quotients = 0;
  for (size_t i = 0, n = sum ? loom_add_count(ctx, e) : 1; i < n; i++) {
    place p;
    loom_term term = sum ? loom_add_term(ctx, e, i) : (loom_term){LOOM_NUM_ONE, e};
    if (!find_digit(ctx, term, &p)) return false;
    if (p.node != LOOM_NONE) ++*(p.digit.m == LOOM_NONE ? quotients : modular);
  }
  return true;
}

/* Whether high stands more than m times as high as low. */
static bool has_more(loom_ctx *ctx, const place *low, const place *high) {
  if (low->rest != high->rest || !loom_expr_is_num(ctx, low->digit.m)) return false;
  loom_num once = loom_num_mul(ctx, low->coef, loom_num_of(ctx, low->digit.m));
  loom_num more = loom_num_sub(ctx, high->coef, once);
  if (loom_num_is_none(more)) return false;
  return loom_num_sign(ctx, more) * loom_num_sign(ctx, once) > 0;
}

/* The sum e with a remainder less, if there are a remainder and a quotient of one base; else e. */
static loom_expr part_of(loom_ctx *ctx, loom_expr e, const place *low, place high) {
  for (int turned = 0; turned < 2; turned++) {
    loom_expr base;
    if (turned && !turn(ctx, &high)) break;
    if (!has_more(ctx, low, &high)) continue;
    if (!is_next(ctx, &low->digit, &high.digit, &base)) continue;
    loom_expr q = loom_build_floor_div(ctx, base, low->digit.d);
    loom_expr next = loom_build_floor_div(ctx, high.digit.b, high.digit.d);
    if (q == LOOM_NONE || next == LOOM_NONE) return LOOM_NONE;
    loom_expr sum = exchange(ctx, e, low, q, next);
    size_t before[2], after[2];
    if (sum == LOOM_NONE || !count_digits(ctx, e, &before[0], &before[1]) ||
        !count_digits(ctx, sum, &after[0], &after[1]))
      return LOOM_NONE;
    bool fewer = after[0] < before[0] && after[1] <= before[1];
    if (fewer && count_terms(ctx, sum) <= count_terms(ctx, e)) return sum;
  }
  return e;
}

/* Whether a quotient may be the digit next to a remainder, at a glance. */
static bool may_be_next(loom_ctx *ctx, const loom_digit *low, const loom_digit *high) {
  int64_t d, m, by;
  if (!loom_as_int(ctx, high->d, &by) || by == 0) return high->d != low->d;
  if (!loom_as_int(ctx, low->d, &d) || !loom_as_int(ctx, low->m, &m)) return false;
  return (__int128)d * m % by == 0;
}

/* Whether the quotient of a remainder may be there already, or be one term without a division. */
static bool has_quotient(loom_ctx *ctx, const place *low, size_t n, const place *places) {
  int64_t d;
  if (loom_as_int(ctx, low->digit.d, &d) && d == 1)
    return loom_kind_of(ctx, low->digit.b) != LOOM_ADD;
  for (size_t i = 0; i < n; i++)
    if (places[i].node != LOOM_NONE && places[i].digit.m == LOOM_NONE &&
        places[i].digit.d == low->digit.d)
      return true;
  return false;
}

static loom_expr part_once(loom_ctx *ctx, loom_expr e, size_t n, const place *places) {
  for (size_t i = 0; i < n; i++) {
    if (!may_be_low(ctx, &places[i]) || !has_quotient(ctx, &places[i], n, places)) continue;
    for (size_t k = 0; k < n; k++) {
      if (k == i || places[k].node == LOOM_NONE || places[k].digit.m != LOOM_NONE) continue;
      if (!may_be_next(ctx, &places[i].digit, &places[k].digit)) continue;
      loom_expr next = part_of(ctx, e, &places[i], places[k]);
      if (next != e) return next;
    }
  }
  return e;
}

loom_expr loom_join_apart(loom_ctx *ctx, loom_expr e) {
  place places[MOST_TERMS];
  size_t n;
  while (e != LOOM_NONE) {
    if (!find_places(ctx, e, places, &n)) return LOOM_NONE;
    loom_expr next = part_once(ctx, e, n, places);
    if (next == e) break;
    e = loom_join_sum(ctx, next);
  }
  return loom_finish(ctx, e);
}

static loom_expr join(loom_ctx *ctx, void *data, loom_expr e) {
  const bool *collapses = data;
  loom_digit digit;
  if (loom_kind_of(ctx, e) == LOOM_ADD) return loom_join_sum(ctx, e);
  if (!*collapses || !loom_digit_of(ctx, e, &digit) || !loom_digit_collapse(ctx, &digit)) return e;
  return loom_finish(ctx, loom_digit_build(ctx, digit));
}

/* Quadratic in the terms of a sum with modular indices.  Digits of digits are collapsed after, since
** they may be neighbours as they are. */
loom_expr loom_join(loom_ctx *ctx, loom_expr e) {
  bool collapses = false;
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  e = loom_finish(ctx, loom_join_outside(ctx, e));
  if (e != LOOM_NONE) e = loom_rewrite(ctx, e, join, &collapses);
  collapses = true;
  return e == LOOM_NONE ? e : loom_rewrite(ctx, e, join, &collapses);
}
