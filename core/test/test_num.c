/* SPDX-License-Identifier: MIT */
/* Exact numbers: laws that hold whatever the size, text, and rounding to the nearest double.
** EINLOOM_SEED in the environment repeats a run. */
#include "base/num.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint64_t state;

static uint64_t draw64(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1du;
}

static uint32_t draw(uint32_t n) {
  return (uint32_t)(draw64() >> 33) % n;
}

/* Integers of every size, often near the limits of 64 bits. */
static loom_num draw_int(loom_ctx *ctx) {
  static const int64_t edges[] = {0,
                                  1,
                                  -1,
                                  2,
                                  INT64_MAX,
                                  INT64_MIN,
                                  INT64_MAX - 1,
                                  INT64_MIN + 1,
                                  (int64_t)1 << 32,
                                  -((int64_t)1 << 31),
                                  1000000007};
  switch (draw(5)) {
  case 0: return loom_num_int(ctx, edges[draw(11)]);
  case 1: return loom_num_int(ctx, (int64_t)draw64());
  case 2:
    return loom_num_mul(ctx, loom_num_int(ctx, (int64_t)draw64()),
                        loom_num_int(ctx, (int64_t)draw64()));
  default: return loom_num_int(ctx, (int64_t)draw(41) - 20);
  }
}

static loom_num draw_num(loom_ctx *ctx) {
  loom_num den = draw_int(ctx);
  if (draw(2) || loom_num_is_zero(den)) return draw_int(ctx);
  return loom_num_div(ctx, draw_int(ctx), den);
}

static void assert_same(loom_ctx *ctx, loom_num a, loom_num b) {
  if (loom_num_same(a, b) && !loom_num_is_none(a)) return;
  char *x = loom_num_print(ctx, a), *y = loom_num_print(ctx, b);
  print_error("%s is not %s\n", x ? x : "nothing", y ? y : "nothing");
  loom_free(x);
  loom_free(y);
  fail();
}

static void laws(void **unused) {
  (void)unused;
  loom_ctx *ctx = loom_ctx_new();
  for (int i = 0; i < 5000; i++) {
    loom_num a = draw_num(ctx), b = draw_num(ctx), c = draw_num(ctx);
    assert_same(ctx, loom_num_add(ctx, a, b), loom_num_add(ctx, b, a));
    assert_same(ctx, loom_num_mul(ctx, a, b), loom_num_mul(ctx, b, a));
    assert_same(ctx, loom_num_sub(ctx, loom_num_add(ctx, a, b), b), a);
    assert_same(ctx, loom_num_mul(ctx, a, loom_num_add(ctx, b, c)),
                loom_num_add(ctx, loom_num_mul(ctx, a, b), loom_num_mul(ctx, a, c)));
    assert_same(ctx, loom_num_neg(ctx, loom_num_neg(ctx, a)), a);
    assert_int_equal(loom_num_sign(ctx, loom_num_sub(ctx, a, b)),
                     (loom_num_cmp(ctx, a, b) > 0) - (loom_num_cmp(ctx, a, b) < 0));
    assert_int_equal(loom_num_order(ctx, a, b) == 0, loom_num_same(a, b));
    assert_true(loom_num_order(ctx, a, b) == 0 ||
                (loom_num_order(ctx, a, b) < 0) == (loom_num_order(ctx, b, a) > 0));
    assert_same(ctx, loom_num_div(ctx, loom_num_numerator(ctx, a), loom_num_denominator(ctx, a)),
                a);
    loom_num floor = loom_num_floor(ctx, a), rest = loom_num_sub(ctx, a, floor);
    assert_true(loom_num_is_int(ctx, floor) && loom_num_sign(ctx, rest) >= 0 &&
                loom_num_cmp(ctx, rest, LOOM_NUM_ONE) < 0);
    assert_same(ctx, loom_num_ceil(ctx, a),
                loom_num_neg(ctx, loom_num_floor(ctx, loom_num_neg(ctx, a))));
    assert_int_equal(loom_num_is_int(ctx, a), loom_num_same(floor, a));
    if (!loom_num_is_zero(b)) {
      assert_same(ctx, loom_num_mul(ctx, loom_num_div(ctx, a, b), b), a);
      loom_num q = loom_num_floor_div(ctx, a, b), r = loom_num_mod(ctx, a, b);
      assert_same(ctx, loom_num_add(ctx, loom_num_mul(ctx, b, q), r), a);
      assert_true(loom_num_is_int(ctx, q));
      assert_true(loom_num_is_zero(r) || loom_num_sign(ctx, r) == loom_num_sign(ctx, b));
      assert_true(loom_num_is_zero(r) ||
                  (loom_num_cmp(ctx, r, b) < 0) == (loom_num_sign(ctx, b) > 0));
      loom_num g = loom_num_gcd(ctx, a, b);
      assert_true(loom_num_sign(ctx, g) > 0);
      loom_num x = loom_num_div(ctx, a, g), y = loom_num_div(ctx, b, g);
      assert_true(loom_num_is_int(ctx, x) && loom_num_is_int(ctx, y));
      assert_same(ctx, loom_num_gcd(ctx, x, y), LOOM_NUM_ONE);
    }
  }
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  loom_ctx_free(ctx);
}

static void bounds_and_residues(void **unused) {
  (void)unused;
  loom_ctx *ctx = loom_ctx_new();
  for (int i = 0; i < 5000; i++) {
    loom_num a = draw_num(ctx);
    int64_t lo = loom_num_lower(ctx, a), hi = loom_num_upper(ctx, a);
    assert_true(lo != INT64_MAX && hi != INT64_MIN);
    if (lo != INT64_MIN) assert_true(loom_num_cmp(ctx, loom_num_int(ctx, lo), a) <= 0);
    if (hi != INT64_MAX) assert_true(loom_num_cmp(ctx, loom_num_int(ctx, hi), a) >= 0);
    int64_t value;
    if (loom_num_to_int(ctx, a, &value)) {
      assert_same(ctx, loom_num_int(ctx, value), a);
      if (value > INT64_MIN && value < INT64_MAX) assert_true(lo == value && hi == value);
    }
    if (loom_num_is_int(ctx, a)) {
      int64_t m = 1 + (int64_t)draw(1000000), r = loom_num_residue(ctx, a, m);
      assert_true(r >= 0 && r < m);
      assert_same(ctx, loom_num_mod(ctx, a, LOOM_NUM(m)), LOOM_NUM(r));
    }
  }
  int64_t value;
  assert_true(loom_num_to_int(ctx, loom_num_int(ctx, INT64_MIN), &value) && value == INT64_MIN);
  assert_true(loom_num_is_big(loom_num_int(ctx, INT64_MIN)));
  loom_ctx_free(ctx);
}

static void powers(void **unused) {
  (void)unused;
  loom_ctx *ctx = loom_ctx_new();
  loom_num two = LOOM_NUM(2), big = loom_num_pow(ctx, two, 200);
  char *text = loom_num_print(ctx, big);
  assert_string_equal(text, "1606938044258990275541962092341162602522202993782792835301376");
  loom_free(text);
  assert_same(ctx, loom_num_pow(ctx, big, -1), loom_num_pow(ctx, two, -200));
  assert_same(ctx, loom_num_mul(ctx, big, loom_num_pow(ctx, two, -199)), two);
  assert_same(ctx, loom_num_pow(ctx, LOOM_NUM_MINUS_ONE, INT64_MIN), LOOM_NUM_ONE);
  assert_same(ctx, loom_num_pow(ctx, LOOM_NUM_MINUS_ONE, INT64_MAX), LOOM_NUM_MINUS_ONE);
  assert_same(ctx, loom_num_pow(ctx, LOOM_NUM_ZERO, 5), LOOM_NUM_ZERO);
  assert_same(ctx, loom_num_pow(ctx, LOOM_NUM_ZERO, 0), LOOM_NUM_ONE);
  assert_true(loom_num_is_none(loom_num_pow(ctx, LOOM_NUM_ZERO, -1)));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_DOMAIN);
  loom_error_clear(ctx);
  assert_true(loom_num_is_none(loom_num_pow(ctx, LOOM_NUM(3), INT64_MAX)));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
  loom_ctx_free(ctx);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void check_text(loom_ctx *ctx, const char *text, const char *printed) {
  loom_num a = loom_num_parse(ctx, text, strlen(text));
  if (!printed) {
    assert_true(loom_num_is_none(a));
    assert_int_not_equal(loom_error_status(ctx), LOOM_OK);
    loom_error_clear(ctx);
    return;
  }
  char *back = loom_num_print(ctx, a);
  assert_non_null(back);
  assert_string_equal(back, printed);
  loom_free(back);
}

static void reading_and_printing(void **unused) {
  (void)unused;
  static const char *const cases[][2] = {
      {"0", "0"},
      {"-0", "0"},
      {"+7", "7"},
      {"007", "7"},
      {"12.50", "25/2"},
      {"-.5", "-1/2"},
      {"5.", "5"},
      {"1e6", "1000000"},
      {"1000000.0", "1000000"},
      {"1E-3", "1/1000"},
      {"6/4", "3/2"},
      {"-6/4", "-3/2"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9223372036854775808"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"1e30", "1000000000000000000000000000000"},
      {"1e-20", "1/100000000000000000000"},
      {"123456789012345678901234567890/10", "12345678901234567890123456789"},
      {"0e999999999999", "0"},
      {"2.50e1", "25"},
      {"", NULL},
      {"-", NULL},
      {".", NULL},
      {"1.2.3", NULL},
      {"1e", NULL},
      {"1/", NULL},
      {"1/0", NULL},
      {"1/-2", NULL},
      {"0x10", NULL},
      {" 1", NULL},
      {"1 ", NULL},
      {"1e99999999999", NULL},
      {"inf", NULL},
      {"1.5/2", NULL},
      {"/2", NULL}};
  loom_ctx *ctx = loom_ctx_new();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_text(ctx, cases[i][0], cases[i][1]);
  for (int i = 0; i < 5000; i++) {
    loom_num a = draw_num(ctx);
    char *text = loom_num_print(ctx, a);
    assert_same(ctx, loom_num_parse(ctx, text, strlen(text)), a);
    loom_free(text);
  }
  loom_num_parse(ctx, "12x", 3);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_SYNTAX);
  assert_int_equal(loom_error_offset(ctx), 2);
  loom_error_clear(ctx);
  enum { LONG = 20000 };
  char *digits = malloc(LONG + 1);
  for (int i = 0; i < LONG; i++) digits[i] = (char)('1' + i % 9);
  digits[LONG] = '\0';
  check_text(ctx, digits, digits);
  free(digits);
  loom_ctx_free(ctx);
}

/* ---- doubles --------------------------------------------------------------------------------- */

static double draw_real(void) {
  uint64_t bits = draw64();
  double value;
  if (draw(4) == 0) bits &= 0x800fffffffffffffu; /* subnormal */
  memcpy(&value, &bits, sizeof value);
  return isfinite(value) ? value : (double)(int64_t)draw64();
}

static loom_num exact_value(loom_ctx *ctx, double value) {
  int exponent;
  double mantissa = frexp(value, &exponent);
  return loom_num_mul(ctx, loom_num_int(ctx, (int64_t)ldexp(mantissa, 53)),
                      loom_num_pow(ctx, LOOM_NUM(2), exponent - 53));
}

static loom_num distance(loom_ctx *ctx, loom_num a, loom_num b) {
  loom_num d = loom_num_sub(ctx, a, b);
  return loom_num_sign(ctx, d) < 0 ? loom_num_neg(ctx, d) : d;
}

static bool is_even(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (bits & 1) == 0;
}

static void check_nearest(loom_ctx *ctx, loom_num a) {
  double value = loom_num_to_real(ctx, a);
  if (isinf(value)) {
    assert_true(loom_num_cmp(ctx, distance(ctx, a, LOOM_NUM_ZERO),
                             exact_value(ctx, 1.7976931348623157e308)) > 0);
    return;
  }
  loom_num here = distance(ctx, a, exact_value(ctx, value));
  for (int side = 0; side < 2; side++) {
    double other = nextafter(value, side ? INFINITY : -INFINITY);
    if (isinf(other)) continue;
    int order = loom_num_cmp(ctx, here, distance(ctx, a, exact_value(ctx, other)));
    assert_true(order < 0 || (order == 0 && is_even(value)));
  }
}

static void rounding_once(void **unused) {
  (void)unused;
  loom_ctx *ctx = loom_ctx_new();
  for (int i = 0; i < 1000; i++) {
    check_nearest(ctx, draw_num(ctx));
    double x = draw_real();
    loom_num a = exact_value(ctx, x),
             half = loom_num_div(ctx, loom_num_add(ctx, a, exact_value(ctx, nextafter(x, 0))),
                                 LOOM_NUM(2));
    assert_true(loom_num_to_real(ctx, a) == x);
    check_nearest(ctx, half);
    check_nearest(ctx, loom_num_add(ctx, half, loom_num_pow(ctx, LOOM_NUM(2), -1200)));
    assert_true(loom_num_to_real(ctx, loom_num_from_real(ctx, x)) == x);
    if (i % 500 == 0) {
      loom_gc_begin(ctx);
      loom_gc_end(ctx);
    }
  }
  assert_true(isinf(loom_num_to_real(ctx, loom_num_pow(ctx, LOOM_NUM(10), 400))));
  assert_true(loom_num_to_real(ctx, loom_num_pow(ctx, LOOM_NUM(10), -400)) == 0.0);
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  loom_ctx_free(ctx);
}

static void shortest_decimals(void **unused) {
  (void)unused;
  static const struct {
    double value;
    const char *exact;
  } cases[] = {{0.1, "1/10"},
               {1e6, "1000000"},
               {1e22, "10000000000000000000000"},
               {5688.000000000001, "5688000000000001/1000000000000"},
               {-2.5, "-5/2"},
               {1e-7, "1/10000000"},
               {9007199254740993.0, "9007199254740992"},
               {0.0, "0"},
               {-0.0, "0"},
               {123456789.125, "987654313/8"}};
  loom_ctx *ctx = loom_ctx_new();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = loom_num_print(ctx, loom_num_from_real(ctx, cases[i].value));
    assert_string_equal(text, cases[i].exact);
    loom_free(text);
  }
  assert_true(loom_num_is_none(loom_num_from_real(ctx, INFINITY)));
  loom_error_clear(ctx);
  assert_true(loom_num_is_none(loom_num_from_real(ctx, NAN)));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_ARGUMENT);
  loom_ctx_free(ctx);
}

static void nothing_passes_on(void **unused) {
  (void)unused;
  loom_ctx *ctx = loom_ctx_new();
  loom_num n = loom_num_div(ctx, LOOM_NUM_ONE, LOOM_NUM_ZERO), one = LOOM_NUM_ONE;
  assert_true(loom_num_is_none(n));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_DOMAIN);
  assert_true(loom_num_is_none(loom_num_add(ctx, n, one)) &&
              loom_num_is_none(loom_num_mul(ctx, one, n)));
  assert_true(loom_num_is_none(loom_num_neg(ctx, n)) && loom_num_is_none(loom_num_inv(ctx, n)));
  assert_true(loom_num_is_none(loom_num_pow(ctx, n, 3)) &&
              loom_num_is_none(loom_num_floor(ctx, n)));
  assert_true(loom_num_is_none(loom_num_mod(ctx, one, n)) &&
              loom_num_is_none(loom_num_gcd(ctx, n, one)));
  assert_null(loom_num_print(ctx, n));
  loom_ctx_free(ctx);
}

int main(void) {
  const char *seed = getenv("EINLOOM_SEED");
  state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  if (state == 0) state = 1;
  print_message("EINLOOM_SEED=%llu\n", (unsigned long long)state);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(laws),
      cmocka_unit_test(bounds_and_residues),
      cmocka_unit_test(powers),
      cmocka_unit_test(reading_and_printing),
      cmocka_unit_test(rounding_once),
      cmocka_unit_test(shortest_decimals),
      cmocka_unit_test(nothing_passes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
