/* SPDX-License-Identifier: MIT */
/* Tests of exact numbers around 64 and 126 bits, where one way of computing takes over from
** another: the laws of arithmetic hold whatever way is taken, and a value has one representation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#include "base/num.h"
#include "random_expr.h"

static loom_ctx *ctx;

/* An integer of up to `bits` bits, often next to a power of two. */
static loom_num random_int(uint64_t *seed, int bits) {
  loom_num a = LOOM_NUM_ZERO;
  int n = random_below(seed, bits + 1);
  if (random_below(seed, 4) == 0) {
    a = loom_num_pow(ctx, LOOM_NUM(2), n);
    return loom_num_add(ctx, a, LOOM_NUM(random_below(seed, 5) - 2));
  }
  for (; n > 0; n -= 24)
    a = loom_num_add(ctx, loom_num_mul(ctx, a, LOOM_NUM(1 << (n < 24 ? n : 24))),
                     LOOM_NUM(random_below(seed, 1 << (n < 24 ? n : 24))));
  return random_below(seed, 2) ? loom_num_neg(ctx, a) : a;
}

static loom_num random_num(uint64_t *seed) {
  int bits = 20 + random_below(seed, 120);
  loom_num a = random_int(seed, bits), b = random_int(seed, bits);
  if (random_below(seed, 3) == 0 || loom_num_is_zero(b)) return a;
  return loom_num_div(ctx, a, b);
}

static void assert_num(loom_num a, loom_num b) {
  if (!loom_num_same(a, b)) {
    char *x = loom_num_print(ctx, a), *y = loom_num_print(ctx, b);
    print_error("%s is not %s\n", x ? x : "nothing", y ? y : "nothing");
    loom_free(x);
    loom_free(y);
  }
  assert_false(loom_num_is_none(a));
  assert_true(loom_num_same(a, b));
}

static void check_pair(loom_num a, loom_num b, loom_num c) {
  assert_num(loom_num_sub(ctx, loom_num_add(ctx, a, b), b), a);
  assert_num(loom_num_add(ctx, a, b), loom_num_add(ctx, b, a));
  assert_num(loom_num_mul(ctx, a, b), loom_num_mul(ctx, b, a));
  assert_num(loom_num_mul(ctx, c, loom_num_add(ctx, a, b)),
             loom_num_add(ctx, loom_num_mul(ctx, c, a), loom_num_mul(ctx, c, b)));
  assert_num(loom_num_add(ctx, loom_num_add(ctx, a, b), c),
             loom_num_add(ctx, a, loom_num_add(ctx, b, c)));
  assert_num(loom_num_div(ctx, loom_num_numerator(ctx, a), loom_num_denominator(ctx, a)), a);
  assert_int_equal(loom_num_cmp(ctx, a, b) < 0, loom_num_sign(ctx, loom_num_sub(ctx, a, b)) < 0);
  if (loom_num_is_zero(b)) return;
  assert_num(loom_num_div(ctx, loom_num_mul(ctx, a, b), b), a);
  assert_num(loom_num_mul(ctx, loom_num_div(ctx, a, b), b), a);
  assert_num(loom_num_inv(ctx, loom_num_inv(ctx, b)), b);
  loom_num q = loom_num_floor_div(ctx, a, b), r = loom_num_mod(ctx, a, b);
  assert_num(loom_num_add(ctx, loom_num_mul(ctx, q, b), r), a);
  assert_true(loom_num_is_int(ctx, q));
  int sign = loom_num_sign(ctx, r);
  assert_true(sign == 0 || sign == loom_num_sign(ctx, b));
  assert_true(loom_num_sign(ctx, loom_num_sub(ctx, r, b)) * loom_num_sign(ctx, b) < 0);
}

static void check_parts(loom_num a, loom_num b) {
  loom_num floor = loom_num_floor(ctx, a), rest = loom_num_sub(ctx, a, floor);
  assert_true(loom_num_sign(ctx, rest) >= 0 && loom_num_cmp(ctx, rest, LOOM_NUM_ONE) < 0);
  int64_t lower = loom_num_lower(ctx, a), small;
  if (loom_num_to_int(ctx, floor, &small) && small != INT64_MIN && small != INT64_MAX)
    assert_int_equal(lower, small);
  char *text = loom_num_print(ctx, a);
  assert_num(loom_num_parse(ctx, text, strlen(text)), a);
  loom_free(text);
  loom_num g = loom_num_gcd(ctx, a, b);
  if (loom_num_is_zero(g)) return;
  assert_true(loom_num_is_int(ctx, loom_num_div(ctx, a, g)));
  assert_true(loom_num_is_int(ctx, loom_num_div(ctx, b, g)));
  loom_num x = loom_num_div(ctx, a, g), y = loom_num_div(ctx, b, g);
  assert_num(loom_num_gcd(ctx, x, y), LOOM_NUM_ONE);
}

/* The value of a double, exactly. */
static loom_num num_of_double(double value) {
  int exponent;
  int64_t mantissa = (int64_t)ldexp(frexp(value, &exponent), 53);
  loom_num scale = loom_num_pow(ctx, LOOM_NUM(2), exponent - 53);
  return loom_num_mul(ctx, LOOM_NUM(mantissa), scale);
}

/* The nearest double: no other double is nearer, checked exactly. */
static void check_nearest(loom_num a) {
  double value = 0;
  assert_true(loom_num_nearest(ctx, a, &value));
  loom_num at = num_of_double(value), rest = loom_num_sub(ctx, a, at);
  loom_num above = num_of_double(nextafter(value, INFINITY));
  loom_num below = num_of_double(nextafter(value, -INFINITY));
  loom_num up = loom_num_sub(ctx, above, a), down = loom_num_sub(ctx, a, below);
  if (loom_num_sign(ctx, rest) < 0) rest = loom_num_neg(ctx, rest);
  assert_true(loom_num_cmp(ctx, rest, up) <= 0 && loom_num_cmp(ctx, rest, down) <= 0);
}

static void test_laws(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_wide");
  ctx = loom_ctx_new();
  for (int i = 0; i < 20000; i++) {
    loom_num a = random_num(&seed), b = random_num(&seed), c = random_num(&seed);
    check_pair(a, b, c);
    check_parts(a, b);
    check_nearest(a);
  }
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_laws)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
