/* SPDX-License-Identifier: MIT */
/* Exact rationals: 64-bit numerator and denominator in the value, larger ones interned in the
** context.
** Invariant: a value has one representation, so equality is equality of the two words.  den > 0:
** num / den in lowest terms, num > INT64_MIN; den == 0: the big value with index num; den == -1: no
** value (a failed operation), which every operation passes on.  A value that fits is never big. */
#ifndef EINLOOM_NUM_H
#define EINLOOM_NUM_H

#include "base/base.h"

typedef struct loom_num {
  int64_t num, den;
} loom_num;

#define LOOM_NUM_NONE ((loom_num){0, -1})
#define LOOM_NUM_ZERO ((loom_num){0, 1})
#define LOOM_NUM_ONE ((loom_num){1, 1})
#define LOOM_NUM_MINUS_ONE ((loom_num){-1, 1})
/* A literal; v > INT64_MIN. */
#define LOOM_NUM(v) ((loom_num){(v), 1})

static inline bool loom_num_is_none(loom_num a) {
  return a.den < 0;
}
static inline bool loom_num_is_big(loom_num a) {
  return a.den == 0;
}
static inline bool loom_num_same(loom_num a, loom_num b) {
  return a.num == b.num && a.den == b.den;
}
static inline bool loom_num_is_zero(loom_num a) {
  return a.num == 0 && a.den == 1;
}
static inline bool loom_num_is_one(loom_num a) {
  return a.num == 1 && a.den == 1;
}
static inline bool loom_num_is_minus_one(loom_num a) {
  return a.num == -1 && a.den == 1;
}

/* Any int64; the ratio of any two (denominator 0: LOOM_ERR_DOMAIN). */
loom_num loom_num_int(loom_ctx *ctx, int64_t value);
loom_num loom_num_ratio(loom_ctx *ctx, int64_t numerator, int64_t denominator);

/* Arithmetic.  LOOM_NUM_NONE with a recorded error when memory runs out, for division by zero
** (LOOM_ERR_DOMAIN), and for results of more than LOOM_NUM_MAX_BITS (LOOM_ERR_LIMIT). */
#define LOOM_NUM_MAX_BITS (1 << 18)
loom_num loom_num_add_slow(loom_ctx *ctx, loom_num a, loom_num b);
loom_num loom_num_mul_slow(loom_ctx *ctx, loom_num a, loom_num b);
loom_num loom_num_neg(loom_ctx *ctx, loom_num a);
loom_num loom_num_inv(loom_ctx *ctx, loom_num a);
loom_num loom_num_pow(loom_ctx *ctx, loom_num a, int64_t exponent);
loom_num loom_num_floor(loom_ctx *ctx, loom_num a);
loom_num loom_num_ceil(loom_ctx *ctx, loom_num a);
/* floor(a / b) and a - b * floor(a / b), for any rationals, b not 0. */
loom_num loom_num_floor_div(loom_ctx *ctx, loom_num a, loom_num b);
loom_num loom_num_mod(loom_ctx *ctx, loom_num a, loom_num b);
/* The largest g >= 0 with a / g and b / g integers: gcd of numerators over lcm of denominators. */
loom_num loom_num_gcd(loom_ctx *ctx, loom_num a, loom_num b);
/* The numerator and the denominator (> 0), each as an integer. */
loom_num loom_num_numerator(loom_ctx *ctx, loom_num a);
loom_num loom_num_denominator(loom_ctx *ctx, loom_num a);

static inline loom_num loom_num_add(loom_ctx *ctx, loom_num a, loom_num b) {
  int64_t sum;
  if (a.den == 1 && b.den == 1 && !__builtin_add_overflow(a.num, b.num, &sum) && sum != INT64_MIN)
    return (loom_num){sum, 1};
  return loom_num_add_slow(ctx, a, b);
}
static inline loom_num loom_num_mul(loom_ctx *ctx, loom_num a, loom_num b) {
  int64_t product;
  if (a.den == 1 && b.den == 1 && !__builtin_mul_overflow(a.num, b.num, &product) &&
      product != INT64_MIN)
    return (loom_num){product, 1};
  return loom_num_mul_slow(ctx, a, b);
}
static inline loom_num loom_num_sub(loom_ctx *ctx, loom_num a, loom_num b) {
  return loom_num_add(ctx, a, loom_num_neg(ctx, b));
}
static inline loom_num loom_num_div(loom_ctx *ctx, loom_num a, loom_num b) {
  return loom_num_mul(ctx, a, loom_num_inv(ctx, b));
}

/* -1, 0 or 1.  No value counts as 0. */
int loom_num_sign(const loom_ctx *ctx, loom_num a);
/* <0, 0, >0.  Records an error (and gives 0) when memory runs out. */
int loom_num_cmp(loom_ctx *ctx, loom_num a, loom_num b);
/* Total order of values, also without memory, for canonical orders: no error possible. */
int loom_num_order(const loom_ctx *ctx, loom_num a, loom_num b);
bool loom_num_is_int(const loom_ctx *ctx, loom_num a);
/* A hash of the value, the same in every context. */
uint32_t loom_num_hash_big(const loom_ctx *ctx, loom_num a);
static inline uint32_t loom_num_hash(const loom_ctx *ctx, loom_num a) {
  if (loom_num_is_big(a)) return loom_num_hash_big(ctx, a);
  uint64_t h = ((uint64_t)a.num + (uint64_t)a.den * 0xd6e8feb86659fd93u) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(h >> 32) ^ (uint32_t)(h >> 15);
}
/* True and the value if a is an integer that fits in 64 bits. */
bool loom_num_to_int(const loom_ctx *ctx, loom_num a, int64_t *value);
/* True and the ratio if both parts fit in 64 bits. */
bool loom_num_to_ratio(const loom_ctx *ctx, loom_num a, int64_t *num, int64_t *den);
/* Outward bounds in 64 bits: lower <= a, INT64_MIN for "none", never INT64_MAX; a <= upper,
** INT64_MAX for "none", never INT64_MIN.  floor(a) and ceil(a) where they fit. */
int64_t loom_num_lower(const loom_ctx *ctx, loom_num a);
int64_t loom_num_upper(const loom_ctx *ctx, loom_num a);
/* Remainder of an integer a modulo m > 0, in [0, m). */
int64_t loom_num_residue(const loom_ctx *ctx, loom_num a, int64_t m);

/* The nearest double, ties to even, +-inf beyond the range: one rounding. */
double loom_num_to_real(loom_ctx *ctx, loom_num a);
/* The same without recording an error: false for no value and when memory runs out. */
bool loom_num_nearest(const loom_ctx *ctx, loom_num a, double *value);
/* The shortest decimal that reads back as value, exactly; LOOM_ERR_ARGUMENT for inf and nan. */
loom_num loom_num_from_real(loom_ctx *ctx, double value);
/* [-+]digits[.digits][e[+-]digits] or [-+]digits/digits; the whole text, no blanks. LOOM_ERR_SYNTAX
** with the offset otherwise. */
loom_num loom_num_parse(loom_ctx *ctx, const char *text, size_t length);
/* "n" or "n/d" in decimal; NULL with a recorded error.  Freed with loom_free. */
LOOM_GIVE char *loom_num_print(loom_ctx *ctx, loom_num a);

/* Collection of interned values, driven by the node table: marks between begin and end stay. */
void loom_bigs_begin(loom_ctx *ctx);
void loom_bigs_mark(loom_ctx *ctx, loom_num a);
void loom_bigs_end(loom_ctx *ctx);
void loom_bigs_free(loom_ctx *ctx);

#endif
