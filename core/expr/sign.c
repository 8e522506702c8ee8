/* SPDX-License-Identifier: MIT */
/* The signs a sum can have, looked at harder than its interval alone tells: what all terms share and
** what stands below them is taken out first.  Nothing is built for the question. */
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

static uint8_t sign_by_quotient(const loom_terms *sum) {
  loom_ctx *ctx = sum->ctx;
  loom_power powers[LOOM_MOST_COMMON];
  size_t n = loom_common_powers(sum, powers, true);
  if (n == 0) return LOOM_ANY_SIGN;
  loom_num content = loom_content(ctx, sum->constant, sum->n, sum->at);
  if (loom_num_sign(ctx, content) < 0) content = loom_num_neg(ctx, content);
  if (loom_num_is_none(content)) return LOOM_ANY_SIGN;
  return loom_sign_mul(sign_of_powers(ctx, n, powers), sign_of_rest(sum, content, n, powers));
}

uint8_t loom_sign_of_sum(const loom_terms *sum) {
  uint8_t sign = loom_facts_sum(sum->ctx, sum->constant, sum->n, sum->at).sign;
  bool undecided = (sign & LOOM_NEG) && (sign & LOOM_POS);
  return undecided ? sign & sign_by_quotient(sum) : sign;
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
