/* SPDX-License-Identifier: MIT */
/* The signs a sum can have, looked at harder than its interval alone tells: what all terms share,
** what stands below them and symbols known to divide something are taken out first, and rounded
** terms and extremes are replaced by what bounds them.  Nothing is built for the question. */
#include "expr/content.h"
#include "expr/facts.h"

enum { MOST_POWERS = 32 };

static uint8_t sign_of_powers(const loom_ctx *ctx, size_t n, const loom_power *powers) {
  uint8_t sign = LOOM_POS;
  for (size_t i = 0; i < n; i++)
    sign = loom_sign_mul(
        sign, loom_sign_pow(loom_facts_of(ctx, powers[i].base).sign, powers[i].exponent));
  return sign;
}

/* The powers of e over n others, from LOOM_NONE for 1; returns how many, or more than MOST_POWERS. */
static size_t divide_powers(const loom_ctx *ctx, loom_expr e, size_t n, const loom_power *others,
                            loom_power *out) {
  size_t count = 0, m = e == LOOM_NONE ? 0 : loom_mul_count(ctx, e);
  if (m + n > MOST_POWERS) return MOST_POWERS + 1;
  for (size_t i = 0; i < m; i++) out[count++] = loom_mul_power(ctx, e, i);
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < m && out[k].base != others[i].base) k++;
    if (k == m) {
      k = count++;
      out[k] = (loom_power){others[i].base, 0};
    }
    out[k].exponent -= others[i].exponent;
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (out[i].exponent != 0) out[kept++] = out[i];
  return kept;
}

/* An interval and the signs of its parts, while values are added. */
typedef struct total {
  int64_t lo, hi;
  uint8_t signs;
  bool nonzero;
} total;

static void add_facts(total *t, loom_facts f) {
  bool below = t->lo != LOOM_MINUS_INF && f.lo != LOOM_MINUS_INF;
  bool above = t->hi != LOOM_PLUS_INF && f.hi != LOOM_PLUS_INF;
  t->lo = below ? loom_end_lo((loom_wide)t->lo + f.lo) : LOOM_MINUS_INF;
  t->hi = above ? loom_end_hi((loom_wide)t->hi + f.hi) : LOOM_PLUS_INF;
  t->signs |= f.sign;
  t->nonzero = t->nonzero || !(f.sign & LOOM_ZERO);
}

static uint8_t sign_of_total(const total *t) {
  uint8_t sign = LOOM_ANY_SIGN;
  bool one_sided = !(t->signs & LOOM_NEG) || !(t->signs & LOOM_POS);
  if (t->lo >= 0 || !(t->signs & LOOM_NEG)) sign &= (uint8_t)~LOOM_NEG;
  if (t->hi <= 0 || !(t->signs & LOOM_POS)) sign &= (uint8_t)~LOOM_POS;
  if (t->lo > 0 || t->hi < 0 || (one_sided && t->nonzero)) sign &= (uint8_t)~LOOM_ZERO;
  return sign;
}

/* Adds coef * powers to the flat terms where it is a number or a term, to the total otherwise. */
static bool add_product(loom_terms *flat, total *t, loom_num coef, size_t n,
                        const loom_power *powers) {
  if (n == 0) flat->constant = loom_num_add(flat->ctx, flat->constant, coef);
  if (n == 0) return !loom_num_is_none(flat->constant);
  if (n == 1 && powers->exponent == 1) return loom_terms_add(flat, coef, powers->base);
  add_facts(t, loom_facts_product(flat->ctx, coef, n, powers));
  return true;
}

/* Divides the sum by its content > 0 and n powers, term by term. */
static bool divide_terms(const loom_terms *sum, loom_num content, size_t n,
                         const loom_power *powers, loom_terms *flat, total *t) {
  loom_ctx *ctx = sum->ctx;
  for (size_t i = loom_num_is_zero(sum->constant) ? 1 : 0; i <= sum->n; i++) {
    loom_num coef = i == 0 ? sum->constant : sum->at[i - 1].coef;
    loom_power rest[MOST_POWERS];
    size_t m = divide_powers(ctx, i == 0 ? LOOM_NONE : sum->at[i - 1].id, n, powers, rest);
    coef = loom_num_div(ctx, coef, content);
    if (m > MOST_POWERS || loom_num_is_none(coef) || !add_product(flat, t, coef, m, rest))
      return false;
  }
  return loom_terms_merge(flat);
}

static uint8_t sign_of_rest(const loom_terms *sum, loom_num content, size_t n,
                            const loom_power *powers) {
  loom_ctx *ctx = sum->ctx;
  total t = {0};
  loom_terms flat;
  loom_terms_begin(ctx, &flat);
  uint8_t sign = LOOM_ANY_SIGN;
  if (divide_terms(sum, content, n, powers, &flat, &t)) {
    if (flat.n > 0 || !loom_num_is_zero(flat.constant))
      add_facts(&t, loom_facts_sum(ctx, flat.constant, flat.n, flat.at));
    sign = sign_of_total(&t);
  }
  loom_terms_end(&flat);
  return sign;
}

/* The sign of the sum as n powers times the rest. */
static uint8_t sign_of_product(const loom_terms *sum, size_t n, const loom_power *powers) {
  loom_ctx *ctx = sum->ctx;
  loom_num content = loom_content(ctx, sum->constant, sum->n, sum->at);
  if (loom_num_sign(ctx, content) < 0) content = loom_num_neg(ctx, content);
  if (loom_num_is_none(content)) return LOOM_ANY_SIGN;
  return loom_sign_mul(sign_of_powers(ctx, n, powers), sign_of_rest(sum, content, n, powers));
}

static bool is_open(uint8_t sign) {
  return (sign & LOOM_NEG) && (sign & LOOM_POS);
}

/* A symbol that divides something and is not 0. */
static bool is_divisor(const loom_ctx *ctx, loom_power power) {
  const loom_cell *cell = loom_cell_of(ctx, power.base);
  return power.exponent > 0 && cell->kind == LOOM_SYM &&
         cell->u.symbol->assume.divides != LOOM_NONE &&
         loom_facts_nonzero(loom_facts_of(ctx, power.base));
}

/* The distinct divisors among the factors of the terms; MOST_TRIED + 1 when there are more. */
enum { MOST_TRIED = 4 };
static size_t list_divisors(const loom_terms *sum, loom_expr *out) {
  size_t n = 0;
  for (size_t i = 0; i < sum->n; i++) {
    for (size_t k = 0, m = loom_mul_count(sum->ctx, sum->at[i].id); k < m; k++) {
      loom_power power = loom_mul_power(sum->ctx, sum->at[i].id, k);
      size_t j = 0;
      while (j < n && out[j] != power.base) j++;
      if (j < n || !is_divisor(sum->ctx, power)) continue;
      if (n == MOST_TRIED) return MOST_TRIED + 1;
      out[n++] = power.base;
    }
  }
  return n;
}

/* t * (w / t - 1) tells more than w - t when t divides w: tries the divisors, if they are few. */
static uint8_t sign_by_divisor(const loom_terms *sum, size_t n, loom_power *powers) {
  loom_expr divisors[MOST_TRIED];
  uint8_t sign = LOOM_ANY_SIGN;
  size_t count = sum->n > 1 ? list_divisors(sum, divisors) : 0;
  for (size_t i = 0; i < count && count <= MOST_TRIED; i++) {
    powers[n] = (loom_power){divisors[i], 1};
    sign &= sign_of_product(sum, n + 1, powers);
  }
  return sign;
}

static uint8_t sign_by_quotient(const loom_terms *sum) {
  loom_power powers[LOOM_MOST_COMMON + 1];
  size_t n = loom_common_powers(sum, powers, true);
  uint8_t sign = n == 0 ? LOOM_ANY_SIGN : sign_of_product(sum, n, powers);
  return is_open(sign) ? sign & sign_by_divisor(sum, n, powers) : sign;
}

static bool is_rounded(const loom_ctx *ctx, loom_expr e) {
  loom_kind kind = loom_kind_of(ctx, e);
  return kind == LOOM_FLOOR || kind == LOOM_CEIL ||
         (kind == LOOM_FLOORDIV && loom_expr_is_num(ctx, loom_child(ctx, e, 1)));
}

/* Adds coef * a bound of the rounded e: of floor(v) v above and v - 1 below, n / d of integers at
** least (n - d + 1) / d; of ceil(v) v below and v + 1 above. */
static bool add_bound(loom_terms *bound, loom_num coef, loom_expr e, bool above) {
  loom_ctx *ctx = bound->ctx;
  loom_kind kind = loom_kind_of(ctx, e);
  loom_num by = LOOM_NUM_ONE, away = LOOM_NUM_ONE;
  if (kind == LOOM_FLOORDIV) {
    by = loom_num_inv(ctx, loom_num_of(ctx, loom_child(ctx, e, 1)));
    bool integers = loom_facts_of(ctx, loom_child(ctx, e, 0)).integer == LOOM_YES &&
                    loom_num_is_one(loom_num_numerator(ctx, by));
    if (integers) away = loom_num_sub(ctx, away, by);
  }
  if (!loom_terms_add(bound, loom_num_mul(ctx, coef, by), loom_child(ctx, e, 0))) return false;
  if (above == (kind != LOOM_CEIL)) return true;
  away = loom_num_mul(ctx, coef, above ? away : loom_num_neg(ctx, away));
  bound->constant = loom_num_add(ctx, bound->constant, away);
  return !loom_num_is_none(bound->constant);
}

/* Bounds the sum from above or below by one without its rounded terms. */
static bool bound_rounded(const loom_terms *sum, bool above, loom_terms *bound) {
  loom_ctx *ctx = sum->ctx;
  bound->constant = sum->constant;
  for (size_t i = 0; i < sum->n; i++) {
    loom_term term = sum->at[i];
    bool up = (loom_num_sign(ctx, term.coef) > 0) == above;
    if (!(is_rounded(ctx, term.id) ? add_bound(bound, term.coef, term.id, up)
                                   : loom_terms_add(bound, term.coef, term.id)))
      return false;
  }
  return loom_terms_merge(bound);
}

static uint8_t sign_without_rounding(const loom_terms *sum) {
  uint8_t sign = loom_facts_sum(sum->ctx, sum->constant, sum->n, sum->at).sign;
  return is_open(sign) ? sign & sign_by_quotient(sum) : sign;
}

/* Whether base is a factor of a term of e. */
static bool has_factor(const loom_ctx *ctx, loom_expr e, loom_expr base) {
  bool sum = loom_kind_of(ctx, e) == LOOM_ADD;
  for (size_t i = 0, n = sum ? loom_add_count(ctx, e) : 1; i < n; i++) {
    loom_expr product = sum ? loom_add_term(ctx, e, i).id : e;
    for (size_t k = 0, m = loom_mul_count(ctx, product); k < m; k++) {
      loom_power power = loom_mul_power(ctx, product, k);
      if (power.base == base && power.exponent > 0) return true;
    }
  }
  return false;
}

/* Whether base is a factor of a term other than the one at a position, or rounded in it. */
static bool occurs_beside(const loom_terms *sum, size_t at, loom_expr base) {
  for (size_t i = 0; i < sum->n; i++) {
    loom_expr e = sum->at[i].id;
    if (i != at && is_rounded(sum->ctx, e)) e = loom_child(sum->ctx, e, 0);
    if (i != at && has_factor(sum->ctx, e, base)) return true;
  }
  return false;
}

/* Whether a factor of e occurs in another term than the one at a position. */
static bool is_related(const loom_terms *sum, size_t at, loom_expr e) {
  enum { MOST = 8 };
  const loom_ctx *ctx = sum->ctx;
  if (loom_expr_is_num(ctx, e)) return false;
  size_t n = loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) : 1;
  for (size_t i = 0; n <= MOST && i < n; i++) {
    loom_expr product = loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_term(ctx, e, i).id : e;
    for (size_t k = 0, m = loom_mul_count(ctx, product); m <= MOST && k < m; k++) {
      loom_power power = loom_mul_power(ctx, product, k);
      if (power.exponent > 0 && occurs_beside(sum, at, power.base)) return true;
    }
  }
  return false;
}

static bool has_related(const loom_terms *sum) {
  for (size_t i = 0; i < sum->n; i++)
    if (is_rounded(sum->ctx, sum->at[i].id) &&
        is_related(sum, i, loom_child(sum->ctx, sum->at[i].id, 0)))
      return true;
  return false;
}

/* c * (floor(u) - floor(v)) + constant, or the same of ceil: rounding keeps the order. */
static uint8_t sign_of_like(const loom_terms *sum) {
  loom_ctx *ctx = sum->ctx;
  if (sum->n != 2 || !is_rounded(ctx, sum->at[0].id) || !is_rounded(ctx, sum->at[1].id) ||
      !loom_num_same(sum->at[0].coef, loom_num_neg(ctx, sum->at[1].coef)))
    return LOOM_ANY_SIGN;
  bool up = loom_kind_of(ctx, sum->at[0].id) == LOOM_CEIL;
  if (up != (loom_kind_of(ctx, sum->at[1].id) == LOOM_CEIL)) return LOOM_ANY_SIGN;
  loom_terms inside;
  loom_terms_begin(ctx, &inside);
  uint8_t sign = LOOM_ANY_SIGN;
  if (add_bound(&inside, sum->at[0].coef, sum->at[0].id, !up) &&
      add_bound(&inside, sum->at[1].coef, sum->at[1].id, !up) && loom_terms_merge(&inside))
    sign = sign_without_rounding(&inside) | LOOM_ZERO;
  loom_terms_end(&inside);
  int constant = loom_num_sign(ctx, sum->constant);
  if (constant == 0 || is_open(sign)) return sign;
  uint8_t other = constant > 0 ? LOOM_POS : LOOM_NEG;
  return (sign & ~(other | LOOM_ZERO)) == 0 ? other : LOOM_ANY_SIGN;
}

static uint8_t sign_by_rounding(const loom_terms *sum) {
  enum { MOST_TERMS = 16 };
  if (sum->n > MOST_TERMS || !has_related(sum)) return LOOM_ANY_SIGN;
  uint8_t sign = sign_of_like(sum);
  for (int above = 0; above < 2 && is_open(sign); above++) {
    loom_terms bound;
    loom_terms_begin(sum->ctx, &bound);
    uint8_t signs = LOOM_ANY_SIGN;
    if (bound_rounded(sum, above, &bound)) signs = sign_without_rounding(&bound);
    loom_terms_end(&bound);
    if (!(signs & (above ? LOOM_POS : LOOM_NEG))) sign &= signs | (above ? LOOM_NEG : LOOM_POS);
  }
  return sign;
}

/* The place of the only min or max among the terms, or their count. */
static size_t find_extreme(const loom_terms *sum) {
  size_t found = sum->n;
  for (size_t i = 0; i < sum->n; i++) {
    loom_kind kind = loom_kind_of(sum->ctx, sum->at[i].id);
    if (kind != LOOM_MIN && kind != LOOM_MAX) continue;
    if (found < sum->n) return sum->n;
    found = i;
  }
  return found;
}

/* The sign of the sum with the term at a position replaced by its multiple of e. */
static uint8_t sign_with(const loom_terms *sum, size_t at, loom_expr e) {
  loom_terms bound;
  loom_terms_begin(sum->ctx, &bound);
  bound.constant = sum->constant;
  bool good = true;
  for (size_t i = 0; good && i < sum->n; i++)
    good = loom_terms_add(&bound, sum->at[i].coef, i == at ? e : sum->at[i].id);
  uint8_t sign = LOOM_ANY_SIGN;
  if (good && loom_terms_merge(&bound)) sign = sign_without_rounding(&bound);
  loom_terms_end(&bound);
  return sign;
}

/* Whether e and the sum have multiples of one term. */
static bool shares_term(const loom_terms *sum, loom_expr e) {
  bool many = loom_kind_of(sum->ctx, e) == LOOM_ADD;
  for (size_t i = 0, n = many ? loom_add_count(sum->ctx, e) : 1; i < n; i++) {
    loom_expr id = many ? loom_add_term(sum->ctx, e, i).id : e;
    for (size_t k = 0; k < sum->n; k++)
      if (sum->at[k].id == id) return true;
  }
  return false;
}

/* A max is at least, a min at most, each of its arguments; those are tried that can cancel. */
static uint8_t sign_by_extreme(const loom_terms *sum) {
  enum { MOST_TERMS = 8, MOST_ARGS = 4 };
  const loom_ctx *ctx = sum->ctx;
  size_t at = sum->n <= MOST_TERMS ? find_extreme(sum) : sum->n;
  if (at == sum->n || loom_child_count(ctx, sum->at[at].id) > MOST_ARGS) return LOOM_ANY_SIGN;
  loom_expr e = sum->at[at].id;
  bool above = (loom_num_sign(ctx, sum->at[at].coef) > 0) == (loom_kind_of(ctx, e) == LOOM_MIN);
  uint8_t sign = LOOM_ANY_SIGN;
  for (size_t i = 0, n = loom_child_count(ctx, e); i < n; i++) {
    if (!shares_term(sum, loom_child(ctx, e, i))) continue;
    uint8_t signs = sign_with(sum, at, loom_child(ctx, e, i));
    if (!(signs & (above ? LOOM_POS : LOOM_NEG))) sign &= signs | (above ? LOOM_NEG : LOOM_POS);
  }
  return sign;
}

uint8_t loom_sign_of_sum(const loom_terms *sum) {
  uint8_t sign = sign_without_rounding(sum);
  if (is_open(sign)) sign &= sign_by_rounding(sum);
  return is_open(sign) ? sign & sign_by_extreme(sum) : sign;
}

loom_facts loom_facts_difference(loom_ctx *ctx, loom_expr a, loom_expr b) {
  loom_terms sum;
  loom_facts f = loom_facts_nothing();
  loom_terms_begin(ctx, &sum);
  if (loom_terms_add(&sum, LOOM_NUM_ONE, a) && loom_terms_add(&sum, LOOM_NUM_MINUS_ONE, b) &&
      loom_terms_merge(&sum)) {
    f = loom_facts_sum(ctx, sum.constant, sum.n, sum.at);
    f.sign = loom_sign_of_sum(&sum);
    f = loom_facts_settle(f);
  }
  loom_terms_end(&sum);
  return loom_base_failed(ctx) ? loom_facts_nothing() : f;
}
