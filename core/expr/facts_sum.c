/* SPDX-License-Identifier: MIT */
/* Facts of sums, and of differences that are not built.
** Invariant: the ends of the interval are added exactly, as ratios, and rounded outwards once. */
#include "expr/facts.h"

/* An exact sum of ends: num / den, or no bound. */
typedef struct end {
  loom_wide num;
  int64_t den;
  bool none;
} end;

static const loom_wide safe = (loom_wide)1 << 124;

/* Adds p / q * bound. */
static void add_end(end *sum, int64_t p, int64_t q, int64_t bound) {
  if (bound == LOOM_MINUS_INF || bound == LOOM_PLUS_INF) sum->none = true;
  if (sum->none) return;
  loom_wide add = (loom_wide)p * bound;
  if (q != sum->den) {
    int64_t g = loom_gcd64(q, sum->den), den, up = q / g;
    loom_wide num;
    if (__builtin_mul_overflow(sum->den, up, &den) ||
        __builtin_mul_overflow(sum->num, (loom_wide)up, &num) ||
        __builtin_mul_overflow(add, (loom_wide)(den / q), &add)) {
      sum->none = true;
      return;
    }
    sum->num = num;
    sum->den = den;
  }
  sum->num += add;
  if (add > safe || add < -safe || sum->num > safe || sum->num < -safe) sum->none = true;
}

static loom_wide floor_wide(loom_wide a, int64_t b) {
  return a / b - (a % b < 0);
}

static int64_t lower_of(const end *sum) {
  if (sum->none) return LOOM_MINUS_INF;
  return loom_end_lo(floor_wide(sum->num, sum->den));
}

static int64_t upper_of(const end *sum) {
  if (sum->none) return LOOM_PLUS_INF;
  return loom_end_hi(-floor_wide(-sum->num, sum->den));
}

/* Signs that an exact interval allows. */
static uint8_t sign_between(const end *lo, const end *hi) {
  uint8_t sign = LOOM_ANY_SIGN;
  if (!lo->none && lo->num >= 0) sign &= (uint8_t)~LOOM_NEG;
  if (!lo->none && lo->num > 0) sign &= (uint8_t)~LOOM_ZERO;
  if (!hi->none && hi->num <= 0) sign &= (uint8_t)~LOOM_POS;
  if (!hi->none && hi->num < 0) sign &= (uint8_t)~LOOM_ZERO;
  return sign;
}

/* The sum so far.  sum = (classes) / den as long as every term is an integer times a ratio. */
typedef struct state {
  end lo, hi;
  uint8_t signs; /* union of the signs of the parts */
  bool some_nonzero;
  int n_unknown, n_not; /* terms of unknown integrality; terms known not to be integers */
  bool ratios;
  int64_t den, modulus;
  loom_wide remainder;
} state;

static void add_sign(state *s, uint8_t sign) {
  s->signs |= sign;
  if (!(sign & LOOM_ZERO)) s->some_nonzero = true;
}

/* The common case of add_class: whole numbers only. */
static void add_whole_class(state *s, int64_t p, loom_residue_class r) {
  int64_t step;
  if (__builtin_mul_overflow(p, r.modulus, &step) || step == INT64_MIN) step = p;
  s->modulus = loom_gcd64(s->modulus, step);
  s->remainder = s->modulus == 1 ? 0 : s->remainder + (loom_wide)p * r.remainder;
  if (s->remainder > safe || s->remainder < -safe) s->ratios = false;
}

/* Adds p / q * (an integer of class r) to the residue. */
static void add_class(state *s, int64_t p, int64_t q, loom_residue_class r) {
  if (!s->ratios) return;
  if (q == 1 && s->den == 1 && p != INT64_MIN) {
    add_whole_class(s, p, r);
    return;
  }
  int64_t g = loom_gcd64(q, s->den), up = q / g, den, modulus, scaled;
  bool overflow = __builtin_mul_overflow(s->den, up, &den);
  overflow = overflow || __builtin_mul_overflow(s->modulus, up, &modulus);
  overflow = overflow || __builtin_mul_overflow(p, den / q, &scaled) || scaled == INT64_MIN;
  if (overflow || den > INT32_MAX) {
    s->ratios = false;
    return;
  }
  s->den = den;
  s->modulus = modulus;
  s->remainder *= up;
  add_whole_class(s, scaled, r);
}

/* A term seen as one value. */
static void add_value(state *s, loom_facts f) {
  add_end(&s->lo, 1, 1, f.lo);
  add_end(&s->hi, 1, 1, f.hi);
  add_sign(s, f.sign);
  if (f.integer == LOOM_YES)
    add_class(s, 1, 1, (loom_residue_class){f.modulus, f.remainder});
  else
    (*(f.integer == LOOM_NO ? &s->n_not : &s->n_unknown))++;
}

static void add_term(loom_ctx *ctx, state *s, loom_num coef, loom_expr e) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (loom_num_is_big(coef) || loom_has_denominator(cell)) {
    add_value(s, loom_facts_term(ctx, coef, e));
    return;
  }
  loom_facts f = loom_facts_of(ctx, e);
  bool up = coef.num > 0;
  add_end(&s->lo, coef.num, coef.den, up ? f.lo : f.hi);
  add_end(&s->hi, coef.num, coef.den, up ? f.hi : f.lo);
  add_sign(s, up ? f.sign : loom_sign_neg(f.sign));
  if (f.integer == LOOM_YES)
    add_class(s, coef.num, coef.den, (loom_residue_class){f.modulus, f.remainder});
  else if (f.integer == LOOM_NO && (coef.num == 1 || coef.num == -1))
    s->n_not++;
  else
    s->n_unknown++;
}

static void start(loom_ctx *ctx, state *s, loom_num constant) {
  *s = (state){.lo = {.den = 1}, .hi = {.den = 1}, .ratios = true, .den = 1};
  if (loom_num_is_zero(constant)) return;
  if (constant.den > 0) {
    add_end(&s->lo, constant.num, constant.den, 1);
    add_end(&s->hi, constant.num, constant.den, 1);
    add_sign(s, constant.num > 0 ? LOOM_POS : LOOM_NEG);
    add_class(s, constant.num, constant.den, (loom_residue_class){0, 1});
  } else {
    add_end(&s->lo, 1, 1, loom_num_lower(ctx, constant));
    add_end(&s->hi, 1, 1, loom_num_upper(ctx, constant));
    add_sign(s, loom_num_sign(ctx, constant) > 0 ? LOOM_POS : LOOM_NEG);
    if (loom_num_is_int(ctx, constant))
      add_class(s, 1, 1, (loom_residue_class){1, 0});
    else
      s->n_unknown++;
  }
}

static void finish_class(const state *s, loom_facts *f) {
  if (!s->ratios) return;
  int64_t m = s->modulus, d = s->den;
  loom_wide r = m == 1 ? 0 : m > 1 ? s->remainder % m : s->remainder;
  if (d == 1) f->integer = LOOM_YES;
  if (r > INT64_MAX || r <= INT64_MIN) return;
  int64_t remainder = (int64_t)r;
  if (d == 1 || (m % d == 0 && remainder % d == 0)) {
    f->integer = LOOM_YES;
    f->modulus = m / d;
    f->remainder = remainder / d;
  } else if (remainder % loom_gcd64(m, d) != 0) {
    f->integer = LOOM_NO;
  }
}

static loom_facts finish(const state *s) {
  loom_facts f = loom_facts_nothing();
  f.lo = lower_of(&s->lo);
  f.hi = upper_of(&s->hi);
  f.sign = sign_between(&s->lo, &s->hi);
  if (!(s->signs & LOOM_NEG)) f.sign &= (uint8_t)~LOOM_NEG;
  if (!(s->signs & LOOM_POS)) f.sign &= (uint8_t)~LOOM_POS;
  if (s->some_nonzero && (!(s->signs & LOOM_NEG) || !(s->signs & LOOM_POS)))
    f.sign &= (uint8_t)~LOOM_ZERO;
  if (s->n_unknown == 0 && s->n_not == 0)
    finish_class(s, &f);
  else if (s->n_unknown == 0 && s->n_not == 1 && s->ratios && s->den == 1)
    f.integer = LOOM_NO;
  return loom_facts_settle(f);
}

loom_facts loom_facts_sum(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms) {
  state s;
  start(ctx, &s, constant);
  for (size_t i = 0; i < n; i++) add_term(ctx, &s, terms[i].coef, terms[i].id);
  return loom_base_failed(ctx) ? loom_facts_nothing() : finish(&s);
}

loom_facts loom_facts_packed_sum(loom_ctx *ctx, const loom_draft *d) {
  state s;
  start(ctx, &s, loom_unpack(ctx, d->packed[0]));
  for (uint32_t i = 0; i < d->count; i++)
    add_term(ctx, &s, loom_unpack(ctx, d->packed[i + 1]), d->args[i]);
  return finish(&s);
}
