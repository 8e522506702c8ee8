/* SPDX-License-Identifier: MIT */
/* Arithmetic of 64-bit intervals with infinite ends, residues and sign sets.
** Invariant: ends come in and go out as node.h says: a lower one is no bound or in [-LOOM_MOST,
** LOOM_MOST], an upper one too, so negation and the absolute value of an end are ends; results are
** rounded outwards, and what does not fit moves outwards to the nearest end, never past infinity. */
#include "expr/interval.h"

int64_t loom_gcd64(int64_t a, int64_t b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  if (a == 0 || b == 1) return b;
  if (b == 0 || a == 1) return a;
  int shift = __builtin_ctzll((uint64_t)(a | b));
  a >>= __builtin_ctzll((uint64_t)a);
  while (b) {
    b >>= __builtin_ctzll((uint64_t)b);
    int64_t difference = a - b;
    a = difference < 0 ? a : b;
    b = difference < 0 ? -difference : difference;
  }
  return a << shift;
}

int64_t loom_floor_div64(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t loom_mod64(int64_t a, int64_t m) {
  int64_t r = a % m;
  return r < 0 ? r + m : r;
}

/* ---- ranges --------------------------------------------------------------------------------- */

static bool infinite(int64_t a) {
  return a == LOOM_MINUS_INF || a == LOOM_PLUS_INF;
}

/* The product of two ends, as a wide number where infinity is beyond every finite one. */
static loom_wide end_mul(int64_t a, int64_t b) {
  const loom_wide infinity = (loom_wide)1 << 126;
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? infinity : -infinity;
  return (loom_wide)a * b;
}

loom_range loom_range_mul(loom_range a, loom_range b) {
  if (a.lo >= 0 && b.lo >= 0)
    return (loom_range){loom_end_lo(end_mul(a.lo, b.lo)), loom_end_hi(end_mul(a.hi, b.hi))};
  loom_wide ends[4] = {end_mul(a.lo, b.lo), end_mul(a.lo, b.hi), end_mul(a.hi, b.lo),
                       end_mul(a.hi, b.hi)};
  loom_wide lo = ends[0], hi = ends[0];
  for (int i = 1; i < 4; i++) {
    if (ends[i] < lo) lo = ends[i];
    if (ends[i] > hi) hi = ends[i];
  }
  return (loom_range){loom_end_lo(lo), loom_end_hi(hi)};
}

loom_range loom_range_pow(loom_range a, uint32_t exponent) {
  if (exponent > 65) exponent = 64 + (exponent & 1);
  loom_range result = {1, 1}, base = a;
  bool even = (exponent & 1) == 0;
  if (even && a.hi <= 0)
    base = (loom_range){a.hi == LOOM_PLUS_INF ? 0 : -a.hi,
                        a.lo == LOOM_MINUS_INF ? LOOM_PLUS_INF : -a.lo};
  else if (even && a.lo < 0)
    base = (loom_range){0, a.lo == LOOM_MINUS_INF || a.hi == LOOM_PLUS_INF
                               ? LOOM_PLUS_INF
                               : (-a.lo > a.hi ? -a.lo : a.hi)};
  for (uint32_t i = 0; i < exponent; i++) {
    loom_range next = loom_range_mul(result, base);
    if (next.lo == result.lo && next.hi == result.hi) break;
    result = next;
  }
  return result;
}

/* The quotient of two ends, b > 0, rounded down or up. */
static int64_t end_div(int64_t a, int64_t b, bool up) {
  if (infinite(a)) return a;
  if (b == LOOM_PLUS_INF) return a < 0 && !up ? -1 : (a > 0 && up ? 1 : 0);
  return up ? -loom_floor_div64(-a, b) : loom_floor_div64(a, b);
}

/* b > 0 everywhere; `up`: how the upper end is rounded. */
static loom_range divide_by_positive(loom_range a, loom_range b, bool up) {
  loom_range result = LOOM_EVERYTHING;
  if (b.hi <= 0) return result;
  if (b.lo < 0) b.lo = 0;
  if (a.lo >= 0)
    result.lo = end_div(a.lo, b.hi, false);
  else if (b.lo > 0)
    result.lo = end_div(a.lo, b.lo, false);
  if (a.hi <= 0)
    result.hi = end_div(a.hi, b.hi, up);
  else if (b.lo > 0)
    result.hi = end_div(a.hi, b.lo, up);
  return result;
}

static int64_t end_neg(int64_t a) {
  return a == LOOM_MINUS_INF ? LOOM_PLUS_INF : a == LOOM_PLUS_INF ? LOOM_MINUS_INF : -a;
}

static loom_range range_neg(loom_range a) {
  return (loom_range){end_neg(a.hi), end_neg(a.lo)};
}

static loom_range divide(loom_range a, loom_range b, uint8_t sign_of_b, bool up) {
  if (sign_of_b == LOOM_POS) return divide_by_positive(a, b, up);
  if (sign_of_b == LOOM_NEG) return divide_by_positive(range_neg(a), range_neg(b), up);
  return LOOM_EVERYTHING;
}

loom_range loom_range_div(loom_range a, loom_range b, uint8_t sign_of_b) {
  return divide(a, b, sign_of_b & (uint8_t)~LOOM_ZERO, true);
}

loom_range loom_range_floor_div(loom_range a, loom_range b, uint8_t sign_of_b) {
  return divide(a, b, sign_of_b & (uint8_t)~LOOM_ZERO, false);
}

/* ---- residues ------------------------------------------------------------------------------- */

loom_residue_class loom_residue_mul(loom_residue_class a, loom_residue_class b) {
  if (a.modulus == 1 && b.modulus == 1) return a;
  int64_t mm, ma, mb, rr;
  if (__builtin_mul_overflow(a.modulus, b.modulus, &mm) ||
      __builtin_mul_overflow(a.modulus, b.remainder, &ma) ||
      __builtin_mul_overflow(b.modulus, a.remainder, &mb) ||
      __builtin_mul_overflow(a.remainder, b.remainder, &rr) || ma == INT64_MIN || mb == INT64_MIN ||
      rr == INT64_MIN)
    return (loom_residue_class){1, 0};
  int64_t m = loom_gcd64(mm, loom_gcd64(ma, mb));
  return (loom_residue_class){m, m ? loom_mod64(rr, m) : rr};
}

loom_residue_class loom_residue_join(loom_residue_class a, loom_residue_class b) {
  int64_t difference;
  if (__builtin_sub_overflow(a.remainder, b.remainder, &difference) || difference == INT64_MIN)
    return (loom_residue_class){1, 0};
  int64_t m = loom_gcd64(loom_gcd64(a.modulus, b.modulus), difference);
  return (loom_residue_class){m, m ? loom_mod64(a.remainder, m) : a.remainder};
}

/* ---- signs ---------------------------------------------------------------------------------- */

uint8_t loom_sign_neg(uint8_t a) {
  return (uint8_t)((a & LOOM_ZERO) | (a & LOOM_NEG ? LOOM_POS : 0) | (a & LOOM_POS ? LOOM_NEG : 0));
}

uint8_t loom_sign_mul(uint8_t a, uint8_t b) {
  uint8_t result = 0;
  if ((a | b) & LOOM_ZERO) result |= LOOM_ZERO;
  if (a & LOOM_POS) result |= b & (LOOM_POS | LOOM_NEG);
  if (a & LOOM_NEG) result |= loom_sign_neg(b) & (LOOM_POS | LOOM_NEG);
  return result;
}

uint8_t loom_sign_pow(uint8_t a, int32_t exponent) {
  if (exponent < 0) a &= (uint8_t)~LOOM_ZERO;
  if (exponent & 1) return a;
  return (uint8_t)((a & LOOM_ZERO) | (a & (LOOM_POS | LOOM_NEG) ? LOOM_POS : 0));
}

uint8_t loom_sign_min(uint8_t a, uint8_t b) {
  uint8_t result = (a | b) & LOOM_NEG;
  if (((a & LOOM_ZERO) && (b & (LOOM_ZERO | LOOM_POS))) ||
      ((b & LOOM_ZERO) && (a & (LOOM_ZERO | LOOM_POS))))
    result |= LOOM_ZERO;
  return result | (a & b & LOOM_POS);
}

/* ---- settling ------------------------------------------------------------------------------- */

static void cut_by_sign(loom_facts *f) {
  bool integer = f->integer == LOOM_YES;
  if (!(f->sign & LOOM_NEG) && f->lo < 0) f->lo = 0;
  if (!(f->sign & LOOM_POS) && f->hi > 0) f->hi = 0;
  if (!integer || (f->sign & LOOM_ZERO)) return;
  if (f->lo == 0) f->lo = 1;
  if (f->hi == 0) f->hi = -1;
}

static void cut_sign(loom_facts *f) {
  if (f->modulus > 1 && f->remainder != 0) f->sign &= (uint8_t)~LOOM_ZERO;
  if (f->lo > 0 || f->hi < 0) f->sign &= (uint8_t)~LOOM_ZERO;
  if (f->lo >= 0) f->sign &= (uint8_t)~LOOM_NEG;
  if (f->hi <= 0) f->sign &= (uint8_t)~LOOM_POS;
  if (f->sign == 0) f->sign = LOOM_ANY_SIGN;
}

static void cut_by_residue(loom_facts *f) {
  int64_t m = f->modulus;
  if (m <= 1) return;
  if (f->lo != LOOM_MINUS_INF)
    f->lo = loom_end_lo((loom_wide)f->lo + loom_mod64(f->remainder - loom_mod64(f->lo, m), m));
  if (f->hi != LOOM_PLUS_INF)
    f->hi = loom_end_hi((loom_wide)f->hi - loom_mod64(loom_mod64(f->hi, m) - f->remainder, m));
}

static void fit_residue(loom_facts *f) {
  if (f->integer != LOOM_YES) {
    f->modulus = 1;
    f->remainder = 0;
  }
  if (f->modulus == 0 && (f->remainder > LOOM_MOST || f->remainder < -LOOM_MOST))
    f->modulus = (int64_t)1 << 31;
  if (f->modulus > UINT32_MAX) f->modulus = loom_gcd64(f->modulus, (int64_t)1 << 31);
  if (f->modulus > 1)
    f->remainder = loom_mod64(f->remainder, f->modulus);
  else if (f->modulus == 1)
    f->remainder = 0;
}

/* Facts that contradict one another: there is no value anywhere, so nothing is said. */
static loom_facts no_value(loom_facts f) {
  return (loom_facts){.lo = LOOM_MINUS_INF,
                      .hi = LOOM_PLUS_INF,
                      .modulus = 1,
                      .integer = f.integer,
                      .sign = LOOM_ANY_SIGN};
}

loom_facts loom_facts_settle(loom_facts f) {
  if (f.modulus == 0 && f.integer == LOOM_YES) f.lo = f.hi = f.remainder;
  fit_residue(&f);
  cut_sign(&f);
  cut_by_sign(&f);
  if (f.modulus > 1) {
    cut_by_residue(&f);
    if (f.lo <= f.hi) cut_sign(&f);
  }
  return f.lo <= f.hi ? f : no_value(f);
}
