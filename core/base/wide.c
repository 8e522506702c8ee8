/* SPDX-License-Identifier: MIT */
/* Arithmetic of ratios of up to 126 bits.
** Invariant: a product is formed only when its factors' lengths show that it fits. */
#include "base/wide.h"
#include "base/big.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

#define MOST_BITS 126

typedef struct wide_ratio {
  wide num, den;
} wide_ratio;

static uwide magnitude(wide a) {
  return a < 0 ? 0 - (uwide)a : (uwide)a;
}

static int bits_of(uwide a) {
  uint64_t high = (uint64_t)(a >> 64), low = (uint64_t)a;
  return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

static int trailing_zeros(uwide a) {
  uint64_t low = (uint64_t)a;
  return low ? __builtin_ctzll(low) : 64 + __builtin_ctzll((uint64_t)(a >> 64));
}

static uint64_t gcd64(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return a | b;
  int shift = __builtin_ctzll(a | b);
  a >>= __builtin_ctzll(a);
  while (b) {
    b >>= __builtin_ctzll(b);
    uint64_t least = a < b ? a : b;
    b = a < b ? b - a : a - b;
    a = least;
  }
  return a << shift;
}

/* One division brings the lengths together; then halving, in 64 bits as soon as they fit. */
static uwide gcd(uwide a, uwide b) {
  if (a < b) {
    uwide t = a;
    a = b;
    b = t;
  }
  if (b == 0) return a;
  if (b == 1) return 1;
  a %= b;
  if (a == 0) return b;
  int shift = trailing_zeros(a | b);
  a >>= trailing_zeros(a);
  b >>= trailing_zeros(b);
  while ((a | b) >> 64) {
    if (a == b) return a << shift;
    uwide *more = a > b ? &a : &b;
    *more -= a > b ? b : a;
    *more >>= trailing_zeros(*more);
  }
  return (uwide)gcd64((uint64_t)a, (uint64_t)b) << shift;
}

static bool multiply(wide a, wide b, wide *product) {
  if (bits_of(magnitude(a)) + bits_of(magnitude(b)) > MOST_BITS) return false;
  *product = a * b;
  return true;
}

/* ---- in and out --------------------------------------------------------------------------- */

static bool wide_of(const mp_int *a, wide *value) {
  uwide sum = 0;
  if (a->used * MP_DIGIT_BIT > MOST_BITS && mp_count_bits(a) > MOST_BITS) return false;
  for (int i = a->used; i-- > 0;) sum = sum << MP_DIGIT_BIT | a->dp[i];
  *value = a->sign == MP_NEG ? -(wide)sum : (wide)sum;
  return true;
}

static bool load(const loom_ctx *ctx, loom_num a, wide_ratio *w) {
  if (!loom_num_is_big(a)) {
    *w = (wide_ratio){a.num, a.den};
    return true;
  }
  const loom_fraction *big = loom_big_of(ctx, a);
  return wide_of(&big->num, &w->num) && wide_of(&big->den, &w->den);
}

#define DIGITS (128 / MP_DIGIT_BIT + 1)

/* The value as an mp_int over digits of the caller's. */
static mp_int borrow(wide value, mp_digit *digits) {
  mp_int a = {.alloc = DIGITS, .sign = value < 0 ? MP_NEG : MP_ZPOS, .dp = digits};
  for (uwide rest = magnitude(value); rest; rest >>= MP_DIGIT_BIT)
    digits[a.used++] = (mp_digit)(rest & MP_MASK);
  return a;
}

static bool is_small(wide a) {
  return a > INT64_MIN && a <= INT64_MAX;
}

static loom_num store(loom_ctx *ctx, wide num, wide den) {
  if (is_small(num) && is_small(den)) return (loom_num){(int64_t)num, (int64_t)den};
  mp_digit above[DIGITS] = {0}, below[DIGITS] = {0};
  mp_int n = borrow(num, above), d = borrow(den, below);
  return loom_big_intern(ctx, &n, &d);
}

static void words_of(uwide a, uint64_t words[2]) {
  words[0] = (uint64_t)a;
  words[1] = (uint64_t)(a >> 64);
}

static uwide from_words(const uint64_t words[2]) {
  return (uwide)words[1] << 64 | words[0];
}

bool loom_wide_get(const loom_ctx *ctx, loom_num a, loom_wide *out) {
  wide_ratio w;
  if (!load(ctx, a, &w)) return false;
  out->negative = w.num < 0;
  words_of(magnitude(w.num), out->num);
  words_of((uwide)w.den, out->den);
  return true;
}

loom_num loom_wide_put(loom_ctx *ctx, const loom_wide *value) {
  wide num = (wide)from_words(value->num), den = (wide)from_words(value->den);
  return store(ctx, value->negative ? -num : num, den);
}

bool loom_wide_quotient(const loom_ctx *ctx, loom_num a, uint64_t *quotient, int *shift) {
  wide_ratio w;
  if (!load(ctx, a, &w) || w.num == 0) return false;
  uwide num = magnitude(w.num), den = (uwide)w.den;
  int lead = bits_of(num) - bits_of(den);
  *shift = 63 - lead;
  if (lead < 0) num <<= -lead;
  if (lead > 63) den <<= lead - 63;
  uwide q = num / den, rest = num % den;
  for (int i = lead < 0 ? 0 : lead; i < 63; i++) {
    rest <<= 1;
    q <<= 1;
    if (rest < den) continue;
    rest -= den;
    q |= 1;
  }
  *quotient = (uint64_t)q | (rest != 0);
  return true;
}

/* ---- operations --------------------------------------------------------------------------- */

bool loom_wide_add(loom_ctx *ctx, loom_num a, loom_num b, loom_num *result) {
  wide_ratio x, y;
  wide left, right, den;
  if (!load(ctx, a, &x) || !load(ctx, b, &y)) return false;
  wide g = x.den == y.den ? x.den : (wide)gcd((uwide)x.den, (uwide)y.den);
  if (!multiply(x.num, y.den / g, &left) || !multiply(y.num, x.den / g, &right)) return false;
  wide sum = left + right, h = g == 1 ? 1 : (wide)gcd(magnitude(sum), (uwide)g);
  if (bits_of(magnitude(sum)) > MOST_BITS || !multiply(x.den / g, y.den / h, &den)) return false;
  *result = store(ctx, sum / h, sum ? den : 1);
  return true;
}

bool loom_wide_mul(loom_ctx *ctx, loom_num a, loom_num b, loom_num *result) {
  wide_ratio x, y;
  wide num, den;
  if (!load(ctx, a, &x) || !load(ctx, b, &y)) return false;
  wide g = (wide)gcd(magnitude(x.num), (uwide)y.den), h = (wide)gcd(magnitude(y.num), (uwide)x.den);
  if (!multiply(x.num / g, y.num / h, &num) || !multiply(x.den / h, y.den / g, &den)) return false;
  *result = store(ctx, num, den);
  return true;
}

bool loom_wide_gcd(loom_ctx *ctx, loom_num a, loom_num b, loom_num *result) {
  wide_ratio x, y;
  wide den;
  if (!load(ctx, a, &x) || !load(ctx, b, &y)) return false;
  wide num = (wide)gcd(magnitude(x.num), magnitude(y.num));
  wide common = (wide)gcd((uwide)x.den, (uwide)y.den);
  if (!multiply(x.den / common, y.den, &den)) return false;
  *result = store(ctx, num, num ? den : 1);
  return true;
}

static wide floor_of(wide_ratio x) {
  return x.num / x.den - (x.num % x.den < 0);
}

bool loom_wide_floor(loom_ctx *ctx, loom_num a, loom_num *result) {
  wide_ratio x;
  if (!load(ctx, a, &x)) return false;
  *result = store(ctx, floor_of(x), 1);
  return true;
}

bool loom_wide_inv(loom_ctx *ctx, loom_num a, loom_num *result) {
  wide_ratio x;
  if (!load(ctx, a, &x) || x.num == 0) return false;
  *result = x.num < 0 ? store(ctx, -x.den, -x.num) : store(ctx, x.den, x.num);
  return true;
}

bool loom_wide_part(loom_ctx *ctx, loom_num a, bool denominator, loom_num *result) {
  wide_ratio x;
  if (!load(ctx, a, &x)) return false;
  *result = store(ctx, denominator ? x.den : x.num, 1);
  return true;
}

bool loom_wide_floor_int(const loom_ctx *ctx, loom_num a, int64_t *result) {
  wide_ratio x;
  if (!load(ctx, a, &x)) return false;
  wide floor = floor_of(x);
  *result = floor < INT64_MIN ? INT64_MIN : floor > INT64_MAX ? INT64_MAX : (int64_t)floor;
  return true;
}
