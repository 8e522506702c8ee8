/* SPDX-License-Identifier: MIT */
/* Facts of a number times a product of powers.
** Invariant: a quotient counts as an integer only if the "divides" assumptions of its symbols and
** the residues of what is left prove it. */
#include "expr/facts.h"

#include <string.h>

enum { MOST_POWERS = 32, MOST_STEPS = 64 };

typedef struct product {
  loom_num coef;
  size_t n;
  loom_power powers[MOST_POWERS];
  bool factors; /* times integers of which nothing more is known */
} product;

static loom_residue_class class_of(loom_facts f) {
  return (loom_residue_class){f.modulus, f.remainder};
}

/* Multiplies by base ^ exponent; false if there is no room. */
static bool multiply(product *p, loom_expr base, int64_t exponent) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->powers[i].base != base) continue;
    int64_t sum = p->powers[i].exponent + exponent;
    if (sum > INT32_MAX || sum < INT32_MIN) return false;
    p->powers[i].exponent = (int32_t)sum;
    return true;
  }
  if (p->n == MOST_POWERS || exponent > INT32_MAX || exponent < INT32_MIN) return false;
  p->powers[p->n++] = (loom_power){base, (int32_t)exponent};
  return true;
}

/* Divides by whole ^ k. */
static bool divide_by(loom_ctx *ctx, product *p, loom_expr whole, int64_t k) {
  loom_term split = loom_split_coef(ctx, whole);
  p->coef = loom_num_div(ctx, p->coef, loom_num_pow(ctx, split.coef, k));
  if (loom_num_is_none(p->coef)) return false;
  if (split.id == LOOM_NONE) return true;
  for (size_t i = 0; i < loom_mul_count(ctx, split.id); i++) {
    loom_power power = loom_mul_power(ctx, split.id, i);
    if (!multiply(p, power.base, -k * power.exponent)) return false;
  }
  return true;
}

/* The position of a denominator that divides something known, or -1. */
static ptrdiff_t find_divisor(const loom_ctx *ctx, const product *p) {
  for (size_t i = 0; i < p->n; i++) {
    const loom_cell *cell = loom_cell_of(ctx, p->powers[i].base);
    if (p->powers[i].exponent >= 0 || cell->kind != LOOM_SYM) continue;
    const loom_assume *assume = &cell->u.symbol->assume;
    if (!assume->integer || assume->divides == LOOM_NONE) continue;
    bool zero = loom_expr_is_num(ctx, assume->divides) &&
                loom_num_is_zero(loom_num_of(ctx, assume->divides));
    if (!zero) return (ptrdiff_t)i;
  }
  return -1;
}

/* Replaces 1 / t by (w / t) / w where t divides w, until no such t is left below the line. */
static bool clear_denominators(loom_ctx *ctx, product *p) {
  for (int step = 0; step < MOST_STEPS; step++) {
    ptrdiff_t i = find_divisor(ctx, p);
    if (i < 0) break;
    const loom_cell *cell = loom_cell_of(ctx, p->powers[i].base);
    int64_t k = -(int64_t)p->powers[i].exponent;
    p->powers[i].exponent = 0;
    p->factors = true;
    if (k > MOST_STEPS || !divide_by(ctx, p, cell->u.symbol->assume.divides, k)) return false;
  }
  for (size_t i = 0; i < p->n; i++)
    if (p->powers[i].exponent < 0) return false;
  return true;
}

static loom_residue_class residue_of_power(loom_facts base, int32_t exponent) {
  loom_residue_class one = class_of(base), result = {0, 1};
  if (one.modulus == 1 || exponent == 1) return one;
  if (exponent > MOST_STEPS) return (loom_residue_class){1, 0};
  for (int32_t k = 0; k < exponent; k++) result = loom_residue_mul(result, one);
  return result;
}

/* The residue of the integer product of the powers; false if a base is not known to be one. */
static bool class_of_powers(const loom_ctx *ctx, const product *p, loom_residue_class *out) {
  loom_residue_class result = {0, 1};
  for (size_t i = 0; i < p->n; i++) {
    if (p->powers[i].exponent == 0) continue;
    loom_facts f = loom_facts_of(ctx, p->powers[i].base);
    if (f.integer != LOOM_YES) return false;
    result = loom_residue_mul(result, residue_of_power(f, p->powers[i].exponent));
  }
  if (p->factors) result = loom_residue_mul(result, (loom_residue_class){1, 0});
  *out = result;
  return true;
}

/* Integrality and residue of coef * (an integer of the given class). */
static void scale_class(const loom_ctx *ctx, loom_facts *f, loom_num coef, loom_residue_class r) {
  if (loom_num_is_big(coef)) {
    if (loom_num_is_int(ctx, coef)) f->integer = LOOM_YES;
    return;
  }
  r = loom_residue_mul(r, (loom_residue_class){0, coef.num});
  int64_t d = coef.den;
  if (d == 1) {
    f->integer = LOOM_YES;
    f->modulus = r.modulus;
    f->remainder = r.remainder;
    return;
  }
  if (r.modulus % d == 0 && r.remainder % d == 0) {
    f->integer = LOOM_YES;
    f->modulus = r.modulus / d;
    f->remainder = r.remainder / d;
  } else if (r.remainder % loom_gcd64(r.modulus, d) != 0) {
    f->integer = LOOM_NO;
  }
}

/* Integrality of a quotient: what the "divides" assumptions and residues prove. */
static void quotient_integrality(loom_ctx *ctx, loom_num coef, size_t n, const loom_power *powers,
                                 loom_facts *f) {
  product p;
  loom_residue_class r;
  if (n > MOST_POWERS) return;
  p.coef = coef;
  p.n = n;
  p.factors = false;
  memcpy(p.powers, powers, n * sizeof *powers);
  if (!clear_denominators(ctx, &p) || !class_of_powers(ctx, &p, &r)) return;
  loom_facts g = *f;
  scale_class(ctx, &g, p.coef, r);
  if (g.integer == LOOM_YES || !p.factors) *f = g;
}

/* The product so far: its signs and intervals above and below the line, and the residue of what
** stands above if that is an integer. */
typedef struct progress {
  uint8_t sign, sign_below;
  loom_range above, below;
  bool integer, quotient;
  loom_residue_class residue;
} progress;

static void include(progress *s, loom_facts base, int32_t e) {
  uint8_t sign = e == 1 ? base.sign : loom_sign_pow(base.sign, e);
  loom_range r = {base.lo, base.hi};
  s->sign = loom_sign_mul(s->sign, sign);
  if (e < 0) {
    s->below = loom_range_mul(s->below, loom_range_pow(r, (uint32_t)0 - (uint32_t)e));
    s->sign_below = loom_sign_mul(s->sign_below, sign);
    s->quotient = true;
    return;
  }
  s->above = loom_range_mul(s->above, e == 1 ? r : loom_range_pow(r, (uint32_t)e));
  s->integer = s->integer && base.integer == LOOM_YES;
  if (s->integer) s->residue = loom_residue_mul(s->residue, residue_of_power(base, e));
}

loom_facts loom_facts_product(loom_ctx *ctx, loom_num coef, size_t n, const loom_power *powers) {
  progress s = {.sign = loom_num_sign(ctx, coef) > 0 ? LOOM_POS : LOOM_NEG,
                .sign_below = LOOM_POS,
                .above = {coef.num, coef.num},
                .below = {coef.den, coef.den},
                .integer = true,
                .residue = {0, 1}};
  if (loom_num_is_big(coef)) {
    s.above = (loom_range){loom_num_lower(ctx, coef), loom_num_upper(ctx, coef)};
    s.below = (loom_range){1, 1};
  }
  for (size_t i = 0; i < n; i++)
    include(&s, loom_facts_of(ctx, powers[i].base), powers[i].exponent);
  bool whole = s.below.lo == 1 && s.below.hi == 1;
  loom_range r = whole ? s.above : loom_range_div(s.above, s.below, s.sign_below);
  loom_facts f = loom_facts_nothing();
  f.lo = r.lo;
  f.hi = r.hi;
  f.sign = s.sign;
  if (s.quotient)
    quotient_integrality(ctx, coef, n, powers, &f);
  else if (s.integer)
    scale_class(ctx, &f, coef, s.residue);
  return loom_facts_settle(f);
}

loom_facts loom_facts_term(loom_ctx *ctx, loom_num coef, loom_expr e) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (cell->kind == LOOM_MUL) return loom_facts_product(ctx, coef, cell->count, cell->u.powers);
  if (cell->kind == LOOM_POW) return loom_facts_product(ctx, coef, 1, &cell->u.power);
  return loom_facts_product(ctx, coef, 1, &(loom_power){e, 1});
}

bool loom_has_denominator(const loom_cell *cell) {
  if (cell->kind == LOOM_POW) return cell->u.power.exponent < 0;
  if (cell->kind != LOOM_MUL) return false;
  for (uint32_t i = 0; i < cell->count; i++)
    if (cell->u.powers[i].exponent < 0) return true;
  return false;
}

bool loom_term_is_integer(loom_ctx *ctx, loom_num coef, loom_expr e) {
  if (loom_num_is_big(coef) || loom_has_denominator(loom_cell_of(ctx, e)))
    return loom_facts_term(ctx, coef, e).integer == LOOM_YES;
  loom_facts f = loom_facts_of(ctx, e);
  if (f.integer != LOOM_YES) return false;
  return coef.den == 1 || (f.modulus % coef.den == 0 && f.remainder % coef.den == 0);
}
