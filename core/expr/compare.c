/* SPDX-License-Identifier: MIT */
/* Comparisons under the assumptions: what building a comparison decides, and more.
** Invariant: an answer is a proof: yes and no hold at every point at which both sides are defined,
** anything undecided within the work limit is unknown.  What is built on the way is dropped. */
#include "expr/ops.h"

/* Limits of one question. */
#define STEPS 48
#define EXPAND_BUDGET 2000
#define LARGEST_SUM 256
#define MOST_SYMBOLS 16

typedef struct judge {
  loom_ctx *ctx;
  int steps;
} judge;

/* ---- rewriting a difference --------------------------------------------------------------- */

static size_t term_count(const loom_ctx *ctx, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) : 1;
}

/* The exponent of base in a product. */
static int32_t exponent_in(const loom_ctx *ctx, loom_expr product, loom_expr base) {
  for (size_t i = 0, n = loom_mul_count(ctx, product); i < n; i++) {
    loom_power power = loom_mul_power(ctx, product, i);
    if (power.base == base) return power.exponent;
  }
  return 0;
}

/* The least exponent of base among the terms of the sum d. */
static int32_t least_exponent(const loom_ctx *ctx, loom_expr d, loom_expr base) {
  int32_t least = loom_num_is_zero(loom_add_constant(ctx, d)) ? INT32_MAX : 0;
  for (size_t i = 0, n = loom_add_count(ctx, d); i < n; i++) {
    int32_t exponent = exponent_in(ctx, loom_add_term(ctx, d, i).id, base);
    if (exponent < least) least = exponent;
  }
  return least;
}

typedef LOOM_VEC(loom_power) power_list;

/* Collects the powers that free the sum d of denominators and, unless any base will do, of common
** factors; any_sign: also bases whose sign is not known (not 0 where d is defined). */
static bool list_powers(loom_ctx *ctx, loom_expr d, bool any_sign, power_list *powers) {
  loom_walk seen;
  bool good = loom_walk_begin(ctx, &seen, false);
  if (!good) return false;
  for (size_t i = 0, n = loom_add_count(ctx, d); good && i < n; i++) {
    loom_expr product = loom_add_term(ctx, d, i).id;
    for (size_t k = 0, m = loom_mul_count(ctx, product); good && k < m; k++) {
      loom_expr base = loom_mul_power(ctx, product, k).base;
      if (loom_walk_get(&seen, base)) continue;
      loom_walk_set(&seen, base, 1);
      int32_t least = least_exponent(ctx, d, base);
      bool wanted =
          any_sign ? least < 0 : least != 0 && loom_facts_positive(loom_facts_of(ctx, base));
      if (wanted) good = loom_vec_push(ctx, powers, ((loom_power){base, -least}));
    }
  }
  return loom_walk_end(&seen) && good;
}

/* Term by term, so that a sum in a denominator cancels before it is multiplied out.  The last place
** of `powers` is free for the term. */
static loom_expr multiply_terms(loom_ctx *ctx, loom_expr d, power_list *powers) {
  size_t n = powers->n - 1, count = loom_add_count(ctx, d);
  LOOM_VEC(loom_term) terms = {0};
  loom_expr result = LOOM_NONE;
  bool good = loom_vec_reserve(ctx, &terms, count + 1);
  if (good)
    terms.at[terms.n++] = (loom_term){loom_add_constant(ctx, d),
                                      loom_build_product(ctx, LOOM_NUM_ONE, n, powers->at)};
  for (size_t i = 0; good && i < count; i++) {
    loom_term term = loom_add_term(ctx, d, i);
    powers->at[n] = (loom_power){term.id, 1};
    term.id = loom_build_product(ctx, LOOM_NUM_ONE, n + 1, powers->at);
    terms.at[terms.n++] = term;
    good = term.id != LOOM_NONE;
  }
  if (good) result = loom_build_sum(ctx, LOOM_NUM_ZERO, terms.n, terms.at);
  loom_vec_free(ctx, &terms);
  return result;
}

/* The sum d times a product of its bases: see list_powers. */
static loom_expr clear_denominators(loom_ctx *ctx, loom_expr d, bool any_sign) {
  power_list powers = {0};
  loom_expr result = LOOM_NONE;
  if (list_powers(ctx, d, any_sign, &powers)) {
    result = d;
    if (powers.n && loom_vec_push(ctx, &powers, ((loom_power){d, 1})))
      result = loom_expand_within(ctx, multiply_terms(ctx, d, &powers), EXPAND_BUDGET);
  }
  loom_vec_free(ctx, &powers);
  return result;
}

/* d expanded and over its positive common denominator: same sign everywhere. */
static loom_expr normalise(loom_ctx *ctx, loom_expr d, bool any_sign) {
  d = loom_expand_within(ctx, d, EXPAND_BUDGET);
  if (d == LOOM_NONE || loom_kind_of(ctx, d) != LOOM_ADD || term_count(ctx, d) > LARGEST_SUM)
    return d;
  return clear_denominators(ctx, d, any_sign);
}

/* ---- proofs that d < 0 (strict) or d <= 0 ------------------------------------------------- */

static bool prove(judge *j, loom_expr d, bool strict);

static bool facts_prove(const loom_ctx *ctx, loom_expr d, bool strict) {
  loom_facts facts = loom_facts_of(ctx, d);
  return strict ? loom_facts_negative(facts) : loom_facts_nonpositive(facts);
}

/* A term of d with a piecewise factor: rest * piecewise, rest of known sign. */
typedef struct piecewise {
  loom_expr node, without, rest; /* d = without + rest * node */
  bool up;                       /* rest >= 0 */
} piecewise;

static bool is_piecewise(loom_kind kind) {
  return kind >= LOOM_MIN && kind != LOOM_CALL;
}

/* Splits term i of d (coef * product) at its first power if that is piecewise. */
static bool split_term(loom_ctx *ctx, loom_expr d, loom_term term, piecewise *out) {
  for (size_t k = 0, m = loom_mul_count(ctx, term.id); k < m; k++) {
    loom_power power = loom_mul_power(ctx, term.id, k);
    if (power.exponent != 1 || !is_piecewise(loom_kind_of(ctx, power.base))) continue;
    loom_expr whole = loom_scale(ctx, term.coef, term.id);
    loom_expr rest = loom_scale(ctx, term.coef, loom_div(ctx, term.id, power.base));
    if (whole == LOOM_NONE || rest == LOOM_NONE) return false;
    loom_facts facts = loom_facts_of(ctx, rest);
    if (!loom_facts_nonnegative(facts) && !loom_facts_nonpositive(facts)) continue;
    *out = (piecewise){power.base, loom_sub(ctx, d, whole), rest, loom_facts_nonnegative(facts)};
    return out->without != LOOM_NONE;
  }
  return false;
}

static bool find_piecewise(loom_ctx *ctx, loom_expr d, piecewise *out) {
  if (loom_kind_of(ctx, d) != LOOM_ADD) {
    loom_term term = loom_split_coef(ctx, d);
    return term.id != LOOM_NONE && split_term(ctx, d, term, out);
  }
  for (size_t i = 0, n = loom_add_count(ctx, d); i < n && i < LARGEST_SUM; i++)
    if (split_term(ctx, d, loom_add_term(ctx, d, i), out)) return true;
  return false;
}

/* The proof with the piecewise node replaced by something at its bad side. */
static bool prove_with(judge *j, const piecewise *p, loom_expr value, bool strict) {
  loom_expr d = loom_add(j->ctx, p->without, loom_mul(j->ctx, p->rest, value));
  return d != LOOM_NONE && prove(j, d, strict);
}

/* All arguments must do where the node can be any of them, one is enough where it is beyond it. */
static bool prove_arguments(judge *j, const piecewise *p, size_t first, bool all, bool strict) {
  for (size_t i = first, n = loom_child_count(j->ctx, p->node); i < n; i++)
    if (prove_with(j, p, loom_child(j->ctx, p->node, i), strict) != all) return !all;
  return all;
}

/* floor(x) lies in (x - 1, x], ceil(x) in [x, x + 1). */
static bool prove_rounding(judge *j, const piecewise *p, loom_expr x, int64_t far, bool strict) {
  bool near = p->up == (far < 0);
  if (near) return prove_with(j, p, x, strict);
  bool nonzero = loom_facts_nonzero(loom_facts_of(j->ctx, p->rest));
  return prove_with(j, p, loom_add(j->ctx, x, loom_int(j->ctx, far)), strict && !nonzero);
}

static bool is_integer(const loom_ctx *ctx, loom_expr e) {
  return e != LOOM_NONE && loom_facts_of(ctx, e).integer == LOOM_YES;
}

/* a // b; of integers with b > 0 it is at least (a - b + 1) / b. */
static bool prove_floor_div(judge *j, const piecewise *p, bool strict) {
  loom_ctx *ctx = j->ctx;
  loom_expr a = loom_child(ctx, p->node, 0), b = loom_child(ctx, p->node, 1);
  bool whole = is_integer(ctx, a) && is_integer(ctx, b);
  if (p->up || !whole || !loom_facts_positive(loom_facts_of(ctx, b)))
    return prove_rounding(j, p, loom_div(ctx, a, b), -1, strict);
  loom_expr least = loom_add(ctx, loom_sub(ctx, a, b), loom_int(ctx, 1));
  return prove_with(j, p, loom_div(ctx, least, b), strict);
}

/* A remainder of m > 0 lies in [0, m), of integers in [0, m - 1]. */
static bool prove_remainder(judge *j, const piecewise *p, bool strict) {
  loom_ctx *ctx = j->ctx;
  loom_expr m = loom_child(ctx, p->node, loom_child_count(ctx, p->node) - 1);
  if (!loom_facts_positive(loom_facts_of(ctx, m))) return false;
  if (!p->up) return prove_with(j, p, loom_int(ctx, 0), strict);
  if (is_integer(ctx, m) && is_integer(ctx, p->node))
    return prove_with(j, p, loom_sub(ctx, m, loom_int(ctx, 1)), strict);
  return prove_with(j, p, m, strict && !loom_facts_nonzero(loom_facts_of(ctx, p->rest)));
}

static bool prove_piecewise(judge *j, const piecewise *p, bool strict) {
  loom_ctx *ctx = j->ctx;
  loom_expr node = p->node;
  switch (loom_kind_of(ctx, node)) {
  case LOOM_MAX: return prove_arguments(j, p, 0, p->up, strict);
  case LOOM_MIN: return prove_arguments(j, p, 0, !p->up, strict);
  case LOOM_SELECT: return prove_arguments(j, p, 1, true, strict);
  case LOOM_FLOOR: return prove_rounding(j, p, loom_child(ctx, node, 0), -1, strict);
  case LOOM_CEIL: return prove_rounding(j, p, loom_child(ctx, node, 0), 1, strict);
  case LOOM_FLOORDIV: return prove_floor_div(j, p, strict);
  case LOOM_MOD:
  case LOOM_MODIDX: return prove_remainder(j, p, strict);
  case LOOM_OPAQUE: return prove_with(j, p, loom_child(ctx, node, 0), strict);
  default: return prove_with(j, p, loom_int(ctx, p->up), strict);
  }
}

/* Continuous in each symbol: sums and products without poles, min and max. */
static bool is_continuous(loom_ctx *ctx, loom_expr d) {
  loom_walk walk;
  bool good = true;
  if (!loom_walk_begin(ctx, &walk, false)) return false;
  loom_walk_root(&walk, d);
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    loom_kind kind = loom_kind_of(ctx, f);
    good = kind <= LOOM_MAX;
    if (kind != LOOM_POW && kind != LOOM_MUL) continue;
    for (size_t i = 0, n = loom_mul_count(ctx, f); good && i < n; i++) {
      loom_power power = loom_mul_power(ctx, f, i);
      loom_facts facts = loom_facts_of(ctx, power.base);
      good = power.exponent > 0 || loom_facts_positive(facts) || loom_facts_negative(facts);
    }
  }
  return loom_walk_end(&walk) && good;
}

/* The bounds a symbol has: numbers, or what it divides. */
static size_t end_points(loom_ctx *ctx, loom_expr symbol, bool upper, loom_expr out[2]) {
  const loom_assume *assume = &loom_cell_of(ctx, symbol)->u.symbol->assume;
  size_t n = 0;
  if (upper ? assume->has_max : assume->has_min)
    out[n++] = loom_int(ctx, upper ? assume->max : assume->min);
  if (upper && assume->divides != LOOM_NONE &&
      loom_facts_positive(loom_facts_of(ctx, assume->divides)))
    out[n++] = assume->divides;
  return n;
}

static bool has_divides(const loom_ctx *ctx, loom_expr symbol) {
  return loom_cell_of(ctx, symbol)->u.symbol->assume.divides != LOOM_NONE;
}

/* A continuous d that only grows (falls) with a symbol is largest at its upper (lower) end. */
static bool prove_at_end(judge *j, loom_expr d, loom_expr symbol, bool strict) {
  loom_ctx *ctx = j->ctx;
  loom_expr slope = normalise(ctx, loom_diff(ctx, d, symbol), false), ends[2];
  if (slope == LOOM_NONE) return false;
  bool grows = facts_prove(ctx, loom_neg(ctx, slope), false);
  if (!grows && !facts_prove(ctx, slope, false)) return false;
  size_t n = end_points(ctx, symbol, grows, ends);
  for (size_t k = 0; k < n; k++)
    if (prove(j, loom_substitute(ctx, d, 1, &symbol, &ends[k]), strict)) return true;
  return false;
}

/* Symbols that divide something first: what they divide may go away afterwards. */
static bool prove_at_ends(judge *j, loom_expr d, bool strict) {
  loom_ctx *ctx = j->ctx;
  loom_expr symbols[MOST_SYMBOLS];
  size_t n = loom_expr_symbols(ctx, d, symbols, MOST_SYMBOLS);
  if (n > MOST_SYMBOLS || !is_continuous(ctx, d)) return false;
  for (int divides = 1; divides >= 0; divides--)
    for (size_t i = 0; i < n && j->steps > 0; i++)
      if (has_divides(ctx, symbols[i]) == divides && prove_at_end(j, d, symbols[i], strict))
        return true;
  return false;
}

static bool prove(judge *j, loom_expr d, bool strict) {
  loom_ctx *ctx = j->ctx;
  if (j->steps-- <= 0 || d == LOOM_NONE) return false;
  if (facts_prove(ctx, d, strict)) return true;
  d = normalise(ctx, d, false);
  if (d == LOOM_NONE) return false;
  if (facts_prove(ctx, d, strict)) return true;
  if (loom_expr_is_num(ctx, d)) return false;
  piecewise p;
  if (find_piecewise(ctx, d, &p) && prove_piecewise(j, &p, strict)) return true;
  return prove_at_ends(j, d, strict);
}

/* ---- questions ---------------------------------------------------------------------------- */

/* A question builds in a scratch region; what fails on the way (a limit, a pole) makes the answer
** unknown and leaves no error behind, unless memory ran out. */
typedef struct question {
  loom_ctx *ctx;
  uint32_t mark;
  bool clean;
} question;

static question ask(loom_ctx *ctx) {
  return (question){ctx, loom_scratch_mark(ctx), loom_error_status(ctx) == LOOM_OK};
}

static loom_answer answered(question q, loom_answer answer) {
  if (loom_scratch_release(q.ctx, q.mark) != LOOM_OK || loom_base_failed(q.ctx))
    return LOOM_UNKNOWN;
  if (q.clean) loom_error_clear(q.ctx);
  return answer;
}

/* Whether d < 0 (strict) or d <= 0: yes, no or unknown. */
static loom_answer decide(loom_ctx *ctx, loom_expr d, bool strict) {
  judge yes = {ctx, STEPS}, no = {ctx, STEPS};
  if (d == LOOM_NONE) return LOOM_UNKNOWN;
  if (prove(&yes, d, strict)) return LOOM_YES;
  return prove(&no, loom_neg(ctx, d), !strict) ? LOOM_NO : LOOM_UNKNOWN;
}

/* The answer that a comparison that has been built tells. */
static loom_answer built(const loom_ctx *ctx, loom_expr comparison) {
  if (comparison == LOOM_NONE || !loom_expr_is_num(ctx, comparison)) return LOOM_UNKNOWN;
  return loom_num_is_zero(loom_num_of(ctx, comparison)) ? LOOM_NO : LOOM_YES;
}

/* The answer to a < b (strict) or a <= b that building the max and min of both tells. */
static loom_answer built_extremes(loom_ctx *ctx, loom_expr a, loom_expr b, bool strict) {
  const loom_expr both[] = {a, b};
  loom_expr wanted = strict ? a : b, other = strict ? b : a;
  bool told = loom_max(ctx, 2, both) == wanted || loom_min(ctx, 2, both) == other;
  return !told ? LOOM_UNKNOWN : strict ? LOOM_NO : LOOM_YES;
}

static loom_answer known_less(loom_ctx *ctx, loom_expr a, loom_expr b, bool strict) {
  if (!loom_expr_check(ctx, a) || !loom_expr_check(ctx, b)) return LOOM_UNKNOWN;
  if (a == b) return strict ? LOOM_NO : LOOM_YES;
  loom_facts facts = loom_facts_difference(ctx, a, b);
  if (strict ? loom_facts_negative(facts) : loom_facts_nonpositive(facts)) return LOOM_YES;
  if (strict ? loom_facts_nonnegative(facts) : loom_facts_positive(facts)) return LOOM_NO;
  question q = ask(ctx);
  loom_answer answer = built(ctx, strict ? loom_lt(ctx, a, b) : loom_le(ctx, a, b));
  if (answer == LOOM_UNKNOWN) answer = built_extremes(ctx, a, b, strict);
  if (answer == LOOM_UNKNOWN) answer = decide(ctx, loom_sub(ctx, a, b), strict);
  return answered(q, answer);
}

/* Bounded work: some dozens of rewritings of the difference, each within a small budget. */
loom_answer loom_known_lt(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return known_less(ctx, a, b, true);
}

loom_answer loom_known_le(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return known_less(ctx, a, b, false);
}

static loom_answer decide_equal(loom_ctx *ctx, loom_expr d) {
  loom_expr cleared = normalise(ctx, d, true);
  if (cleared == LOOM_NONE) return LOOM_UNKNOWN;
  if (loom_expr_is_num(ctx, cleared) && loom_num_is_zero(loom_num_of(ctx, cleared)))
    return LOOM_YES;
  if (loom_facts_nonzero(loom_facts_of(ctx, d)) || loom_facts_nonzero(loom_facts_of(ctx, cleared)))
    return LOOM_NO;
  judge below = {ctx, STEPS}, above = {ctx, STEPS};
  if (prove(&below, d, true) || prove(&above, loom_neg(ctx, d), true)) return LOOM_NO;
  return LOOM_UNKNOWN;
}

loom_answer loom_known_eq(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_expr_check(ctx, a) || !loom_expr_check(ctx, b)) return LOOM_UNKNOWN;
  if (a == b) return LOOM_YES;
  if (loom_facts_nonzero(loom_facts_difference(ctx, a, b))) return LOOM_NO;
  question q = ask(ctx);
  loom_answer answer = built(ctx, loom_eq(ctx, a, b));
  loom_expr d = loom_sub(ctx, a, b);
  if (answer == LOOM_UNKNOWN && d != LOOM_NONE) answer = decide_equal(ctx, d);
  return answered(q, answer);
}

/* ---- divisibility ------------------------------------------------------------------------- */

/* a / d is an integer: at once, expanded, or because d divides something that divides a. */
static bool proves_divides(loom_ctx *ctx, loom_expr d, loom_expr a, int depth) {
  loom_expr quotient = loom_div(ctx, a, d);
  if (is_integer(ctx, quotient)) return true;
  if (is_integer(ctx, loom_expand_within(ctx, quotient, EXPAND_BUDGET))) return true;
  if (depth == 0 || loom_kind_of(ctx, d) != LOOM_SYM) return false;
  loom_expr whole = loom_cell_of(ctx, d)->u.symbol->assume.divides;
  return whole != LOOM_NONE && proves_divides(ctx, whole, a, depth - 1);
}

static bool refutes_divides(loom_ctx *ctx, loom_expr d, loom_expr a) {
  loom_expr quotient = loom_expand_within(ctx, loom_div(ctx, a, d), EXPAND_BUDGET);
  if (quotient == LOOM_NONE) return false;
  if (loom_facts_of(ctx, quotient).integer == LOOM_NO) return true;
  loom_facts facts = loom_facts_of(ctx, quotient);
  judge above = {ctx, STEPS};
  if (!loom_facts_positive(facts)) return false;
  return prove(&above, loom_sub(ctx, quotient, loom_int(ctx, 1)), true);
}

/* Whether a / d is an integer; a point with d = 0 does not count. */
loom_answer loom_known_divides(loom_ctx *ctx, loom_expr d, loom_expr a) {
  if (!loom_expr_check(ctx, d) || !loom_expr_check(ctx, a)) return LOOM_UNKNOWN;
  if (loom_expr_is_num(ctx, d) && loom_num_is_zero(loom_num_of(ctx, d))) return LOOM_UNKNOWN;
  question q = ask(ctx);
  loom_answer answer = LOOM_UNKNOWN;
  if (proves_divides(ctx, d, a, 8))
    answer = LOOM_YES;
  else if (refutes_divides(ctx, d, a))
    answer = LOOM_NO;
  return answered(q, answer);
}
