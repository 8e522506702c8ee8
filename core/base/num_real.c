/* SPDX-License-Identifier: MIT */
/* Between exact rationals and doubles: one rounding out, the shortest decimal in.
** Invariant: loom_num_to_real(loom_num_from_real(x)) == x for every finite x. */
#include "base/big.h"
#include "base/wide.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define EXACT_INT ((int64_t)1 << 53)

/* quotient * 2^-shift to the nearest double, ties to even; quotient has its top bit at 62 or 63 and
** its last bit set if anything non-zero was cut off below it. */
static double round_once(uint64_t quotient, int shift) {
  int length = 64 - __builtin_clzll(quotient);
  int exponent = length - 1 - shift;
  int precision = exponent >= DBL_MIN_EXP - 1 ? 53 : 53 - (DBL_MIN_EXP - 1 - exponent);
  int drop = length - precision;
  if (drop > 64) return 0.0;
  uint64_t kept = drop == 64 ? 0 : quotient >> drop;
  uint64_t cut = drop == 64 ? quotient : quotient & (((uint64_t)1 << drop) - 1);
  uint64_t half = (uint64_t)1 << (drop - 1);
  kept += cut > half || (cut == half && (kept & 1));
  return ldexp((double)kept, drop - shift);
}

static mp_err divide_scaled(loom_fraction *r, double *value) {
  int shift = 63 - (mp_count_bits(&r->num) - mp_count_bits(&r->den));
  mp_err err =
      shift >= 0 ? mp_mul_2d(&r->num, shift, &r->num) : mp_mul_2d(&r->den, -shift, &r->den);
  mp_int rest;
  if (err != MP_OKAY || (err = mp_init(&rest)) != MP_OKAY) return err;
  err = mp_div(&r->num, &r->den, &r->num, &rest);
  if (err == MP_OKAY)
    *value = round_once(mp_get_mag_u64(&r->num) | (mp_iszero(&rest) ? 0 : 1), shift);
  mp_clear(&rest);
  return err;
}

static bool copy_magnitude(loom_fraction *r, const loom_ctx *ctx, loom_num a) {
  if (mp_init_multi(&r->num, &r->den, NULL) != MP_OKAY) return false;
  mp_err err = MP_OKAY;
  if (loom_num_is_big(a)) {
    const loom_fraction *big = loom_big_of(ctx, a);
    err = mp_abs(&big->num, &r->num);
    if (err == MP_OKAY) err = mp_copy(&big->den, &r->den);
  } else {
    mp_set_i64(&r->num, a.num < 0 ? -a.num : a.num);
    mp_set_i64(&r->den, a.den);
  }
  if (err != MP_OKAY) loom_fraction_clear(r);
  return err == MP_OKAY;
}

bool loom_num_nearest(const loom_ctx *ctx, loom_num a, double *value) {
  if (loom_num_is_none(a)) return false;
  bool exact = a.den > 0 && a.num <= EXACT_INT && a.num >= -EXACT_INT && a.den <= EXACT_INT;
  if (exact || a.den == 1) {
    *value = (double)a.num / (double)a.den;
    return true;
  }
  uint64_t quotient;
  int shift;
  bool good = loom_wide_quotient(ctx, a, &quotient, &shift);
  if (good) {
    *value = round_once(quotient, shift);
  } else {
    loom_fraction r;
    if (!copy_magnitude(&r, ctx, a)) return false;
    good = divide_scaled(&r, value) == MP_OKAY;
    loom_fraction_clear(&r);
  }
  if (loom_num_sign(ctx, a) < 0) *value = -*value;
  return good;
}

double loom_num_to_real(loom_ctx *ctx, loom_num a) {
  double value = NAN;
  if (!loom_num_is_none(a) && !loom_num_nearest(ctx, a, &value)) loom_error_memory(ctx);
  return value;
}

/* "d.ddde+xx" without the decimal point, whatever the locale calls it. */
static loom_num read_scientific(loom_ctx *ctx, const char *text) {
  char digits[40];
  size_t n = 0, places = 0;
  bool fraction = false;
  const char *at = text;
  for (; *at && *at != 'e'; at++) {
    bool digit = *at >= '0' && *at <= '9';
    if (digit || *at == '-') digits[n++] = *at;
    if (digit && fraction) places++;
    if (!digit && *at != '-') fraction = true;
  }
  long exponent = *at ? strtol(at + 1, NULL, 10) : 0;
  n += (size_t)snprintf(digits + n, sizeof digits - n, "e%ld", exponent - (long)places);
  return loom_num_parse(ctx, digits, n);
}

loom_num loom_num_from_real(loom_ctx *ctx, double value) {
  if (!isfinite(value)) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s is not a number that can be kept exactly",
                   isnan(value) ? "nan" : "infinity");
    return LOOM_NUM_NONE;
  }
  if (fabs(value) < (double)EXACT_INT && value == floor(value)) return LOOM_NUM((int64_t)value);
  char text[40];
  for (int places = 0; places < 17; places++) {
    snprintf(text, sizeof text, "%.*e", places, value);
    if (strtod(text, NULL) == value) break;
  }
  return read_scientific(ctx, text);
}
