/* SPDX-License-Identifier: MIT */
/* Arithmetic of exact rationals: 64 and 128 bits in front, big ratios behind.
** Invariant: every result is in its one representation (num.h). */
#include "base/num.h"
#include "base/big.h"
#include "base/wide.h"

typedef __int128 wide;
typedef unsigned __int128 uwide;

static uint64_t magnitude(int64_t a) {
  return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

static uint64_t gcd64(uint64_t a, uint64_t b) {
  if (a == 0 || b == 1) return b;
  if (b == 0 || a == 1) return a;
  int shift = __builtin_ctzll(a | b);
  a >>= __builtin_ctzll(a);
  while (b) {
    b >>= __builtin_ctzll(b);
    uint64_t more = a > b ? a - b : b - a;
    a = a < b ? a : b;
    b = more;
  }
  return a << shift;
}

static bool fits(wide a) {
  return a > INT64_MIN && a <= INT64_MAX;
}

static bool both_small(loom_num a, loom_num b) {
  return a.den > 0 && b.den > 0;
}

static bool any_none(loom_num a, loom_num b) {
  return a.den < 0 || b.den < 0;
}

loom_num loom_num_int(loom_ctx *ctx, int64_t value) {
  if (value != INT64_MIN) return (loom_num){value, 1};
  loom_fraction r;
  if (!loom_fraction_zero(ctx, &r)) return LOOM_NUM_NONE;
  mp_set_i64(&r.num, value);
  return loom_fraction_store(ctx, &r);
}

loom_num loom_num_ratio(loom_ctx *ctx, int64_t numerator, int64_t denominator) {
  return loom_num_div(ctx, loom_num_int(ctx, numerator), loom_num_int(ctx, denominator));
}

/* ---- operations through big ratios ---------------------------------------------------------- */

typedef mp_err operation(loom_fraction *a, const loom_fraction *b);

static mp_err big_add(loom_fraction *a, const loom_fraction *b) {
  mp_int t;
  mp_err err = mp_init(&t);
  if (err != MP_OKAY) return err;
  err = mp_mul(&b->num, &a->den, &t);
  if (err == MP_OKAY) err = mp_mul(&a->num, &b->den, &a->num);
  if (err == MP_OKAY) err = mp_add(&a->num, &t, &a->num);
  if (err == MP_OKAY) err = mp_mul(&a->den, &b->den, &a->den);
  mp_clear(&t);
  return err;
}

static mp_err big_mul(loom_fraction *a, const loom_fraction *b) {
  mp_err err = mp_mul(&a->num, &b->num, &a->num);
  return err == MP_OKAY ? mp_mul(&a->den, &b->den, &a->den) : err;
}

static mp_err floor_of(loom_fraction *a) {
  mp_int rest;
  mp_err err = mp_init(&rest);
  if (err != MP_OKAY) return err;
  err = mp_div(&a->num, &a->den, &a->num, &rest);
  if (err == MP_OKAY && rest.sign == MP_NEG && !mp_iszero(&rest))
    err = mp_sub_d(&a->num, 1, &a->num);
  mp_set_u32(&a->den, 1);
  mp_clear(&rest);
  return err;
}

static mp_err big_floor(loom_fraction *a, const loom_fraction *b) {
  (void)b;
  return floor_of(a);
}

static mp_err big_gcd(loom_fraction *a, const loom_fraction *b) {
  mp_err err = mp_gcd(&a->num, &b->num, &a->num);
  return err == MP_OKAY ? mp_lcm(&a->den, &b->den, &a->den) : err;
}

static loom_num through_big(loom_ctx *ctx, operation *apply, loom_num a, loom_num b) {
  loom_fraction x, y;
  if (!loom_fraction_load(ctx, &x, a)) return LOOM_NUM_NONE;
  if (!loom_fraction_load(ctx, &y, b)) {
    loom_fraction_clear(&x);
    return LOOM_NUM_NONE;
  }
  mp_err err = apply(&x, &y);
  loom_fraction_clear(&y);
  if (err == MP_OKAY) return loom_fraction_store(ctx, &x);
  loom_fraction_clear(&x);
  loom_error_memory(ctx);
  return LOOM_NUM_NONE;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static loom_num add_large(loom_ctx *ctx, loom_num a, loom_num b) {
  loom_num result;
  return loom_wide_add(ctx, a, b, &result) ? result : through_big(ctx, big_add, a, b);
}

static loom_num mul_large(loom_ctx *ctx, loom_num a, loom_num b) {
  loom_num result;
  return loom_wide_mul(ctx, a, b, &result) ? result : through_big(ctx, big_mul, a, b);
}

static loom_num gcd_large(loom_ctx *ctx, loom_num a, loom_num b) {
  loom_num result;
  return loom_wide_gcd(ctx, a, b, &result) ? result : through_big(ctx, big_gcd, a, b);
}

loom_num loom_num_add_slow(loom_ctx *ctx, loom_num a, loom_num b) {
  if (any_none(a, b)) return LOOM_NUM_NONE;
  if (!both_small(a, b)) return add_large(ctx, a, b);
  int64_t g = (int64_t)gcd64((uint64_t)a.den, (uint64_t)b.den);
  wide sum = (wide)a.num * (b.den / g) + (wide)b.num * (a.den / g);
  wide rest = sum % g;
  int64_t h = (int64_t)gcd64(magnitude((int64_t)rest), (uint64_t)g);
  wide num = sum / h, den = (wide)(a.den / g) * (b.den / h);
  if (fits(num) && fits(den)) return (loom_num){(int64_t)num, (int64_t)den};
  return add_large(ctx, a, b);
}

loom_num loom_num_mul_slow(loom_ctx *ctx, loom_num a, loom_num b) {
  if (any_none(a, b)) return LOOM_NUM_NONE;
  if (!both_small(a, b)) return mul_large(ctx, a, b);
  int64_t g = (int64_t)gcd64(magnitude(a.num), (uint64_t)b.den);
  int64_t h = (int64_t)gcd64(magnitude(b.num), (uint64_t)a.den);
  wide num = (wide)(a.num / g) * (b.num / h), den = (wide)(a.den / h) * (b.den / g);
  if (fits(num) && fits(den)) return (loom_num){(int64_t)num, (int64_t)den};
  return mul_large(ctx, a, b);
}

loom_num loom_num_neg(loom_ctx *ctx, loom_num a) {
  if (a.den > 0) return (loom_num){-a.num, a.den};
  return loom_num_mul_slow(ctx, a, LOOM_NUM_MINUS_ONE);
}

loom_num loom_num_inv(loom_ctx *ctx, loom_num a) {
  if (loom_num_is_none(a)) return a;
  if (a.den > 0 && a.num > 0) return (loom_num){a.den, a.num};
  if (a.den > 0 && a.num < 0) return (loom_num){-a.den, -a.num};
  loom_num result;
  if (loom_wide_inv(ctx, a, &result)) return result;
  loom_fraction r;
  if (!loom_fraction_load(ctx, &r, a)) return LOOM_NUM_NONE;
  mp_exch(&r.num, &r.den);
  return loom_fraction_store(ctx, &r);
}

static loom_num power_by_squaring(loom_ctx *ctx, loom_num a, uint64_t n) {
  loom_num result = LOOM_NUM_ONE;
  for (;; n >>= 1) {
    if (n & 1) result = loom_num_mul(ctx, result, a);
    if (n <= 1 || loom_num_is_none(result)) return result;
    a = loom_num_mul(ctx, a, a);
  }
}

loom_num loom_num_pow(loom_ctx *ctx, loom_num a, int64_t exponent) {
  if (exponent < 0) a = loom_num_inv(ctx, a);
  if (loom_num_is_none(a)) return a;
  if (exponent == 0 || loom_num_is_one(a)) return LOOM_NUM_ONE;
  if (loom_num_is_zero(a)) return a;
  if (loom_num_is_minus_one(a)) return exponent & 1 ? a : LOOM_NUM_ONE;
  return power_by_squaring(ctx, a, magnitude(exponent));
}

loom_num loom_num_floor(loom_ctx *ctx, loom_num a) {
  if (a.den == 1 || loom_num_is_none(a)) return a;
  if (a.den > 1) return (loom_num){a.num / a.den - (a.num < 0), 1};
  loom_num result;
  if (loom_num_is_int(ctx, a)) return a;
  return loom_wide_floor(ctx, a, &result) ? result : through_big(ctx, big_floor, a, LOOM_NUM_ZERO);
}

loom_num loom_num_ceil(loom_ctx *ctx, loom_num a) {
  if (a.den == 1 || loom_num_is_none(a)) return a;
  return loom_num_neg(ctx, loom_num_floor(ctx, loom_num_neg(ctx, a)));
}

loom_num loom_num_floor_div(loom_ctx *ctx, loom_num a, loom_num b) {
  if (a.den == 1 && b.den == 1 && b.num != 0)
    return (loom_num){a.num / b.num - (a.num % b.num != 0 && (a.num < 0) != (b.num < 0)), 1};
  return loom_num_floor(ctx, loom_num_div(ctx, a, b));
}

loom_num loom_num_mod(loom_ctx *ctx, loom_num a, loom_num b) {
  return loom_num_sub(ctx, a, loom_num_mul(ctx, b, loom_num_floor_div(ctx, a, b)));
}

loom_num loom_num_gcd(loom_ctx *ctx, loom_num a, loom_num b) {
  if (any_none(a, b)) return LOOM_NUM_NONE;
  if (!both_small(a, b)) return gcd_large(ctx, a, b);
  uint64_t num = gcd64(magnitude(a.num), magnitude(b.num));
  if (a.den == 1 && b.den == 1) return (loom_num){(int64_t)num, 1};
  uwide den = (uwide)(a.den / (int64_t)gcd64((uint64_t)a.den, (uint64_t)b.den)) * (uwide)b.den;
  if (den <= INT64_MAX) return (loom_num){(int64_t)num, num ? (int64_t)den : 1};
  return gcd_large(ctx, a, b);
}

static loom_num one_part(loom_ctx *ctx, loom_num a, bool denominator) {
  if (loom_num_is_none(a)) return a;
  if (a.den > 0) return (loom_num){denominator ? a.den : a.num, 1};
  loom_num result;
  if (loom_wide_part(ctx, a, denominator, &result)) return result;
  loom_fraction r;
  if (!loom_fraction_load(ctx, &r, a)) return LOOM_NUM_NONE;
  if (denominator) mp_exch(&r.num, &r.den);
  mp_set_u32(&r.den, 1);
  return loom_fraction_store(ctx, &r);
}

loom_num loom_num_numerator(loom_ctx *ctx, loom_num a) {
  return one_part(ctx, a, false);
}

loom_num loom_num_denominator(loom_ctx *ctx, loom_num a) {
  return one_part(ctx, a, true);
}

/* ---- questions ------------------------------------------------------------------------------ */

int loom_num_sign(const loom_ctx *ctx, loom_num a) {
  if (a.den > 0) return (a.num > 0) - (a.num < 0);
  if (a.den < 0) return 0;
  return loom_big_of(ctx, a)->num.sign == MP_NEG ? -1 : 1;
}

static int order_small(loom_num a, loom_num b) {
  wide x = (wide)a.num * b.den, y = (wide)b.num * a.den;
  return (x > y) - (x < y);
}

int loom_num_cmp(loom_ctx *ctx, loom_num a, loom_num b) {
  if (both_small(a, b)) return order_small(a, b);
  if (loom_num_same(a, b) || any_none(a, b)) return 0;
  int x = loom_num_sign(ctx, a), y = loom_num_sign(ctx, b);
  return x != y ? x - y : loom_num_sign(ctx, loom_num_sub(ctx, a, b));
}

int loom_num_order(const loom_ctx *ctx, loom_num a, loom_num b) {
  if (both_small(a, b)) return order_small(a, b);
  if (a.den != 0 || b.den != 0) return (a.den == 0) - (b.den == 0);
  const loom_fraction *x = loom_big_of(ctx, a), *y = loom_big_of(ctx, b);
  int order = mp_cmp(&x->num, &y->num);
  return order ? order : mp_cmp(&x->den, &y->den);
}

bool loom_num_is_int(const loom_ctx *ctx, loom_num a) {
  if (a.den != 0) return a.den == 1;
  const mp_int *den = &loom_big_of(ctx, a)->den;
  return den->used == 1 && den->dp[0] == 1;
}

uint32_t loom_num_hash_big(const loom_ctx *ctx, loom_num a) {
  return loom_big_hash(ctx, a);
}

bool loom_num_to_int(const loom_ctx *ctx, loom_num a, int64_t *value) {
  int64_t den;
  return loom_num_is_int(ctx, a) && loom_num_to_ratio(ctx, a, value, &den);
}

static bool int64_of(const mp_int *a, int64_t *value) {
  *value = mp_get_i64(a);
  return mp_count_bits(a) < 64 || (a->sign == MP_NEG && mp_count_bits(a) == 64 &&
                                   *value == INT64_MIN && mp_get_mag_u64(a) == (uint64_t)1 << 63);
}

bool loom_num_to_ratio(const loom_ctx *ctx, loom_num a, int64_t *num, int64_t *den) {
  if (a.den > 0) {
    *num = a.num;
    *den = a.den;
    return true;
  }
  if (a.den < 0) return false;
  const loom_fraction *big = loom_big_of(ctx, a);
  return int64_of(&big->num, num) && int64_of(&big->den, den);
}

/* floor(a) of a big ratio: the value if it is in (INT64_MIN, INT64_MAX), the nearer of these two if
** it lies beyond, or (memory ran out) the farther one that is known. */
static int64_t big_floor_int(const loom_ctx *ctx, loom_num a, int64_t unknown) {
  int64_t small;
  if (loom_wide_floor_int(ctx, a, &small)) return small;
  const loom_fraction *big = loom_big_of(ctx, a);
  int64_t beyond = big->num.sign == MP_NEG ? INT64_MIN : INT64_MAX;
  if (mp_count_bits(&big->num) - mp_count_bits(&big->den) > 64) return beyond;
  loom_fraction r;
  if (mp_init_multi(&r.num, &r.den, NULL) != MP_OKAY) return unknown;
  int64_t value = unknown;
  if (mp_copy(&big->num, &r.num) == MP_OKAY && mp_copy(&big->den, &r.den) == MP_OKAY &&
      floor_of(&r) == MP_OKAY)
    value = mp_count_bits(&r.num) < 64 ? mp_get_i64(&r.num) : beyond;
  loom_fraction_clear(&r);
  return value;
}

int64_t loom_num_lower(const loom_ctx *ctx, loom_num a) {
  if (a.den < 0) return INT64_MIN;
  int64_t floor =
      a.den > 0 ? a.num / a.den - (a.num % a.den < 0) : big_floor_int(ctx, a, INT64_MIN);
  return floor < INT64_MAX ? floor : INT64_MAX - 1;
}

int64_t loom_num_upper(const loom_ctx *ctx, loom_num a) {
  if (a.den < 0) return INT64_MAX;
  if (a.den > 0) return a.num / a.den + (a.num % a.den > 0);
  int64_t floor = big_floor_int(ctx, a, INT64_MAX);
  return floor < INT64_MAX ? floor + 1 : INT64_MAX;
}

int64_t loom_num_residue(const loom_ctx *ctx, loom_num a, int64_t m) {
  if (a.den > 0) return a.num % m + (a.num % m < 0 ? m : 0);
  if (a.den < 0) return 0;
  const mp_int *big = &loom_big_of(ctx, a)->num;
  uwide rest = 0;
  for (int i = big->used - 1; i >= 0; i--)
    rest = ((rest << MP_DIGIT_BIT) | big->dp[i]) % (uint64_t)m;
  return big->sign == MP_NEG && rest ? m - (int64_t)rest : (int64_t)rest;
}
