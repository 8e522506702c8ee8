/* SPDX-License-Identifier: MIT */
/* Building expressions: the forms that rules must give, collection, scratch regions, errors, deep
** nesting, long sums, and what happens when memory runs out at every possible place. */
#include "expr/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

typedef struct fixture {
  loom_ctx *ctx;
  loom_expr x, y, s, z, w, r, m, t; /* as in setup */
} fixture;

static loom_ctx *c;
static fixture f;

static int setup(void **unused) {
  (void)unused;
  c = loom_ctx_new();
  f.x = loom_symbol(c, "x", NULL);
  f.y = loom_symbol(c, "y", NULL);
  f.s = loom_symbol(c, "s", NULL);
  f.z = loom_symbol(c, "z", &(loom_assume){.integer = true});
  f.w = loom_symbol(c, "w", &(loom_assume){.integer = true});
  f.r = loom_symbol(c, "r", &(loom_assume){0});
  f.m = loom_symbol(c, "m",
                    &(loom_assume){.integer = true, .has_min = true, .min = 1, .multiple = 16});
  f.t = loom_symbol(c, "t",
                    &(loom_assume){.integer = true, .has_min = true, .min = 1, .divides = f.m});
  return 0;
}

static int teardown(void **unused) {
  (void)unused;
  loom_ctx_free(c);
  return 0;
}

static loom_expr n(int64_t value) {
  return loom_int(c, value);
}
static loom_expr q(int64_t a, int64_t b) {
  return loom_ratio(c, a, b);
}
static loom_expr add(loom_expr a, loom_expr b) {
  return loom_add(c, a, b);
}
static loom_expr sub(loom_expr a, loom_expr b) {
  return loom_sub(c, a, b);
}
static loom_expr mul(loom_expr a, loom_expr b) {
  return loom_mul(c, a, b);
}
static loom_expr over(loom_expr a, loom_expr b) {
  return loom_div(c, a, b);
}
static loom_expr to(loom_expr a, int64_t e) {
  return loom_pow(c, a, e);
}
static loom_expr fdiv(loom_expr a, loom_expr b) {
  return loom_floor_div(c, a, b);
}
static loom_expr idx(loom_expr a, loom_expr d, loom_expr m) {
  return loom_mod_index(c, a, d, m);
}
static loom_expr largest(loom_expr a, loom_expr b) {
  return loom_max(c, 2, (loom_expr[]){a, b});
}
static loom_expr smallest(loom_expr a, loom_expr b) {
  return loom_min(c, 2, (loom_expr[]){a, b});
}
static loom_kind kind(loom_expr e) {
  return loom_expr_kind(c, e);
}

#define SAME(a, b)                 \
  do {                             \
    loom_expr left = (a);          \
    assert_int_not_equal(left, 0); \
    assert_int_equal(left, (b));   \
  } while (0)

/* ---- rules ------------------------------------------------------------------------------------ */

static void sums(void **unused) {
  (void)unused;
  loom_expr x = f.x, y = f.y;
  SAME(add(x, y), add(y, x));
  SAME(sub(add(x, y), y), x);
  SAME(add(x, x), mul(n(2), x));
  SAME(add(add(x, n(1)), n(-1)), x);
  SAME(sub(x, x), n(0));
  SAME(mul(n(2), add(x, n(3))), add(mul(n(2), x), n(6)));
  SAME(over(add(mul(n(2), x), n(3)), n(2)), add(x, q(3, 2)));
  SAME(loom_neg(c, sub(x, y)), sub(y, x));
  SAME(mul(n(0), add(x, y)), n(0));
  SAME(loom_sum(c, 0, NULL), n(0));
  assert_int_equal(kind(mul(n(2), x)), LOOM_MUL);
  assert_int_equal(loom_expr_arity(c, add(mul(n(2), x), n(3))), 2);
  SAME(loom_expr_arg(c, add(mul(n(2), x), n(3)), 0), n(3));
  SAME(loom_expr_arg(c, add(mul(n(2), x), n(3)), 1), mul(n(2), x));
  SAME(add(loom_real(c, 0.1), loom_real(c, 0.2)), loom_real(c, 0.3));
}

static void products(void **unused) {
  (void)unused;
  loom_expr x = f.x, y = f.y, s = f.s;
  SAME(mul(x, x), to(x, 2));
  SAME(mul(to(x, 3), to(x, -5)), to(x, -2));
  SAME(mul(x, over(y, x)), y);
  SAME(to(mul(n(3), x), 2), mul(n(9), to(x, 2)));
  SAME(to(mul(x, y), -2), mul(to(x, -2), to(y, -2)));
  SAME(to(to(x, 2), 3), to(x, 6));
  SAME(over(over(x, y), s), over(x, mul(y, s)));
  SAME(mul(add(mul(n(2), x), n(4)), y), mul(n(2), mul(add(x, n(2)), y)));
  SAME(mul(sub(x, y), to(sub(y, x), -1)), n(-1));
  SAME(over(add(mul(x, y), mul(x, s)), x), add(y, s));
  SAME(over(add(mul(s, x), x), add(s, n(1))), x);
  SAME(mul(mul(add(x, y), s), add(x, y)), mul(s, to(add(x, y), 2)));
  SAME(to(add(x, x), -1), mul(q(1, 2), to(x, -1)));
  SAME(to(x, 0), n(1));
  SAME(loom_product(c, 0, NULL), n(1));
  SAME(loom_product(c, 3, (loom_expr[]){x, n(2), y}), mul(mul(x, n(2)), y));
  assert_int_equal(kind(mul(add(x, y), add(x, s))), LOOM_MUL);
  assert_int_equal(kind(to(x, 2)), LOOM_POW);
  SAME(loom_expr_arg(c, to(x, -2), 1), n(-2));
  loom_expr e = mul(sub(mul(x, add(y, n(1))), mul(x, y)), s);
  SAME(e, mul(x, s));
}

static void rounding(void **unused) {
  (void)unused;
  loom_expr x = f.x, z = f.z, s = f.s, m = f.m, t = f.t, r = f.r;
  SAME(loom_floor(c, x), x);
  SAME(loom_ceil(c, add(x, z)), add(x, z));
  SAME(loom_ceil(c, over(m, n(16))), over(m, n(16)));
  SAME(loom_ceil(c, over(mul(n(12), m), n(4))), mul(n(3), m));
  SAME(loom_ceil(c, over(m, t)), over(m, t));
  SAME(loom_ceil(c, over(mul(m, x), t)), over(mul(m, x), t));
  SAME(loom_floor(c, add(x, over(z, n(3)))), add(x, fdiv(z, n(3))));
  SAME(loom_ceil(c, add(r, n(5))), add(loom_ceil(c, r), n(5)));
  SAME(loom_floor(c, add(r, q(7, 2))), add(loom_floor(c, add(r, q(1, 2))), n(3)));
  SAME(add(loom_floor(c, r), loom_ceil(c, loom_neg(c, r))), n(0));
  SAME(add(loom_floor(c, over(z, n(3))), loom_ceil(c, over(z, n(-3)))), n(0));
  SAME(add(loom_floor(c, over(z, s)), loom_ceil(c, loom_neg(c, over(z, s)))), n(0));
  SAME(add(loom_floor(c, sub(r, over(z, n(3)))), loom_ceil(c, sub(over(z, n(3)), r))), n(0));
  SAME(loom_floor(c, over(loom_floor(c, r), n(4))), loom_floor(c, over(r, n(4))));
  SAME(loom_ceil(c, over(loom_ceil(c, r), n(4))), loom_ceil(c, over(r, n(4))));
  SAME(loom_ceil(c, over(loom_ceil(c, over(z, n(3))), n(4))), loom_ceil(c, over(z, n(12))));
  assert_int_equal(kind(loom_ceil(c, over(n(48), s))), LOOM_CEIL);
  SAME(loom_floor(c, over(n(-48), s)), loom_neg(c, loom_ceil(c, over(n(48), s))));
  SAME(loom_floor(c, q(-7, 2)), n(-4));
  SAME(loom_ceil(c, over(to(add(x, n(1)), -1), n(2))), n(1));
}

static void floor_divisions(void **unused) {
  (void)unused;
  loom_expr x = f.x, y = f.y, z = f.z, w = f.w, s = f.s, m = f.m, t = f.t;
  SAME(fdiv(n(17), n(5)), n(3));
  SAME(fdiv(n(-17), n(5)), n(-4));
  SAME(fdiv(n(17), n(-5)), n(-4));
  SAME(fdiv(z, n(1)), z);
  SAME(fdiv(z, n(-1)), loom_neg(c, z));
  SAME(fdiv(n(0), s), n(0));
  SAME(fdiv(z, n(3)), loom_floor(c, over(z, n(3))));
  SAME(fdiv(fdiv(fdiv(z, n(2)), n(3)), n(5)), fdiv(z, n(30)));
  SAME(fdiv(fdiv(z, s), n(4)), fdiv(z, mul(n(4), s)));
  SAME(fdiv(fdiv(z, n(4)), s), fdiv(z, mul(n(4), s)));
  SAME(fdiv(add(mul(n(32), z), w), n(32)), add(z, fdiv(w, n(32))));
  SAME(fdiv(add(z, n(64)), n(32)), add(fdiv(z, n(32)), n(2)));
  SAME(fdiv(add(mul(n(12), z), add(mul(n(4), w), n(2))), n(8)),
       fdiv(add(mul(n(6), z), add(mul(n(2), w), n(1))), n(4)));
  SAME(fdiv(add(mul(s, x), mul(s, y)), s), add(x, y));
  SAME(fdiv(mul(n(4), mul(s, z)), mul(n(2), s)), mul(n(2), z));
  SAME(fdiv(add(mul(s, z), w), s), add(z, fdiv(w, s)));
  SAME(fdiv(add(mul(n(2), s), n(2)), add(s, n(1))), n(2));
  loom_expr square = add(add(to(s, 2), mul(n(2), s)), n(1));
  SAME(fdiv(square, add(s, n(1))), add(s, n(1)));
  SAME(fdiv(add(mul(s, x), x), add(s, n(1))), x);
  SAME(fdiv(add(add(mul(s, x), mul(s, y)), add(x, y)), add(s, n(1))), add(x, y));
  SAME(idx(square, add(s, n(1)), n(4)), loom_mod(c, add(s, n(1)), n(4)));
  SAME(loom_mod(c, square, add(s, n(1))), n(0));
  SAME(loom_ceil(c, over(square, add(s, n(1)))), add(s, n(1)));
  SAME(fdiv(m, n(16)), over(m, n(16)));
  SAME(fdiv(m, t), over(m, t));
  SAME(fdiv(sub(n(63), z), n(8)), sub(n(7), fdiv(z, n(8))));
  SAME(fdiv(add(z, w), n(-8)), fdiv(loom_neg(c, add(z, w)), n(8)));
  SAME(fdiv(loom_mod(c, z, n(8)), n(8)), n(0));
  SAME(fdiv(x, add(x, n(1))), n(0));
  SAME(fdiv(over(z, n(2)), n(3)), fdiv(z, n(6)));
}

static void modulo(void **unused) {
  (void)unused;
  loom_expr z = f.z, w = f.w, s = f.s, x = f.x, m = f.m;
  SAME(loom_mod(c, n(-7), n(3)), n(2));
  SAME(loom_mod(c, n(7), n(-3)), n(-2));
  SAME(loom_mod(c, q(7, 2), n(2)), q(3, 2));
  SAME(loom_mod(c, mul(n(6), z), n(3)), n(0));
  SAME(loom_mod(c, add(mul(n(6), z), w), n(3)), loom_mod(c, w, n(3)));
  SAME(loom_mod(c, m, n(8)), n(0));
  SAME(loom_mod(c, loom_mod(c, z, n(4)), n(8)), loom_mod(c, z, n(4)));
  SAME(loom_mod(c, z, n(-3)), loom_neg(c, loom_mod(c, loom_neg(c, z), n(3))));
  SAME(loom_mod(c, x, add(x, n(1))), x);
  SAME(loom_mod(c, mul(s, z), s), n(0));
  SAME(loom_mod(c, fdiv(z, n(4)), n(8)), idx(z, n(4), n(8)));
  SAME(idx(z, n(1), n(32)), loom_mod(c, z, n(32)));
  SAME(idx(z, n(5), n(1)), n(0));
  SAME(idx(n(29), n(3), n(4)), n(1));
  SAME(idx(fdiv(fdiv(z, n(2)), n(4)), n(3), n(5)), idx(z, n(24), n(5)));
  SAME(idx(add(mul(n(64), z), w), n(2), n(32)), idx(w, n(2), n(32)));
  SAME(idx(sub(w, mul(n(64), z)), n(1), n(32)), loom_mod(c, w, n(32)));
  SAME(idx(add(mul(n(128), z), add(mul(n(32), w), x)), n(32), n(4)),
       idx(add(mul(n(32), w), x), n(32), n(4)));
  SAME(idx(add(mul(n(12), z), mul(n(4), w)), n(8), n(5)), idx(add(mul(n(3), z), w), n(2), n(5)));
  SAME(idx(mul(n(8), z), n(4), n(4)), loom_mod(c, mul(n(2), z), n(4)));
  SAME(idx(mul(s, z), s, n(5)), loom_mod(c, z, n(5)));
  SAME(idx(add(mul(s, z), w), n(1), s), loom_mod(c, w, s));
  SAME(idx(loom_mod(c, z, n(16)), n(4), n(4)), fdiv(loom_mod(c, z, n(16)), n(4)));
  SAME(idx(z, n(-4), n(8)), idx(loom_neg(c, z), n(4), n(8)));
}

static void extremes(void **unused) {
  (void)unused;
  loom_expr x = f.x, y = f.y, s = f.s, z = f.z, r = f.r;
  SAME(largest(x, n(0)), x);
  SAME(largest(x, n(1)), x);
  SAME(smallest(x, n(1)), n(1));
  SAME(largest(x, add(x, n(1))), add(x, n(1)));
  SAME(largest(z, z), z);
  SAME(largest(n(3), n(5)), n(5));
  SAME(smallest(q(1, 2), q(1, 3)), q(1, 3));
  SAME(largest(largest(x, z), largest(z, r)), loom_max(c, 3, (loom_expr[]){r, z, x}));
  SAME(largest(z, smallest(z, r)), z);
  SAME(smallest(z, largest(z, r)), z);
  SAME(largest(mul(x, s), mul(add(x, n(1)), s)), mul(add(x, n(1)), s));
  SAME(largest(mul(x, s), mul(mul(x, y), s)), mul(mul(x, y), s));
  SAME(largest(over(x, s), over(add(x, n(1)), s)), over(add(x, n(1)), s));
  SAME(loom_max(c, 3, (loom_expr[]){z, n(4), n(2)}), largest(z, n(4)));
  assert_int_equal(kind(largest(z, n(4))), LOOM_MAX);
  assert_int_equal(kind(largest(x, z)), LOOM_MAX);
  SAME(largest(loom_mod(c, z, n(8)), n(8)), n(8));
  assert_int_equal(loom_max(c, 0, NULL), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_ARGUMENT);
}

static void comparisons(void **unused) {
  (void)unused;
  loom_expr x = f.x, y = f.y, z = f.z, m = f.m;
  SAME(loom_lt(c, x, n(1)), n(0));
  SAME(loom_le(c, n(1), x), n(1));
  SAME(loom_lt(c, x, add(x, y)), n(1));
  SAME(loom_eq(c, x, x), n(1));
  SAME(loom_eq(c, m, add(m, n(3))), n(0));
  SAME(loom_eq(c, m, n(24)), n(0));
  SAME(loom_eq(c, z, x), loom_eq(c, x, z));
  SAME(loom_lt(c, add(x, z), add(y, z)), loom_lt(c, x, y));
  SAME(loom_lt(c, mul(n(2), x), n(6)), loom_lt(c, x, n(3)));
  SAME(loom_lt(c, loom_neg(c, z), n(-3)), loom_lt(c, n(3), z));
  SAME(loom_select(c, loom_lt(c, x, n(1)), y, z), z);
  SAME(loom_select(c, x, y, z), y);
  SAME(loom_select(c, z, y, y), y);
  SAME(loom_select(c, loom_lt(c, z, n(3)), n(1), n(0)), loom_lt(c, z, n(3)));
  assert_int_equal(kind(loom_select(c, z, x, y)), LOOM_SELECT);
}

/* ---- facts ------------------------------------------------------------------------------------ */

static void known_facts(void **unused) {
  (void)unused;
  loom_expr x = f.x, m = f.m, t = f.t, r = f.r, lo, hi;
  int64_t modulus, remainder;
  assert_int_equal(loom_is_integer(c, over(m, t)), LOOM_YES);
  assert_int_equal(loom_is_integer(c, over(m, n(8))), LOOM_YES);
  assert_int_equal(loom_is_integer(c, over(m, n(32))), LOOM_UNKNOWN);
  assert_int_equal(loom_is_integer(c, add(over(m, n(8)), q(1, 2))), LOOM_NO);
  assert_int_equal(loom_is_integer(c, r), LOOM_UNKNOWN);
  loom_residue(c, add(mul(n(3), m), n(5)), &modulus, &remainder);
  assert_int_equal(modulus, 48);
  assert_int_equal(remainder, 5);
  loom_residue(c, n(-7), &modulus, &remainder);
  assert_int_equal(modulus, 0);
  assert_int_equal(remainder, -7);
  assert_int_equal(loom_bounds(c, sub(over(m, t), n(3)), &lo, &hi), LOOM_OK);
  SAME(lo, n(-2));
  assert_int_equal(hi, LOOM_NONE);
  assert_int_equal(loom_bounds(c, m, &lo, &hi), LOOM_OK);
  SAME(lo, n(16));
  assert_int_equal(loom_bounds(c, loom_mod(c, f.z, n(12)), &lo, &hi), LOOM_OK);
  SAME(lo, n(0));
  SAME(hi, n(11));
  loom_assume a = {.integer = true, .has_min = true, .min = 1, .divides = n(60)};
  loom_expr d = loom_symbol(c, "d", &a),
            e = loom_symbol(
                c, "e", &(loom_assume){.integer = true, .has_min = true, .min = 1, .divides = d});
  assert_int_equal(loom_is_integer(c, over(n(60), d)), LOOM_YES);
  assert_int_equal(loom_is_integer(c, over(n(30), d)), LOOM_UNKNOWN);
  assert_int_equal(loom_is_integer(c, over(mul(n(120), x), e)), LOOM_YES);
  assert_int_equal(loom_bounds(c, e, &lo, &hi), LOOM_OK);
  SAME(hi, n(60));
  assert_int_equal(loom_facts_of(c, to(x, -1)).sign, LOOM_POS);
  loom_expr three = loom_symbol(
      c, "k",
      &(loom_assume){.integer = true, .has_min = true, .min = 3, .has_max = true, .max = 3});
  SAME(loom_mod(c, three, n(2)), n(1));
  assert_int_equal(loom_facts_difference(c, mul(n(2), x), x).sign, LOOM_POS);
}

static void symbols_and_their_assumptions(void **unused) {
  (void)unused;
  SAME(loom_symbol(c, "x", NULL), f.x);
  SAME(loom_symbol(c, "x",
                   &(loom_assume){.integer = true, .has_min = true, .min = 1, .multiple = 1}),
       f.x);
  assert_int_not_equal(loom_symbol(c, "x", &(loom_assume){.integer = true}), f.x);
  loom_assume a;
  assert_true(loom_symbol_assume(c, f.t, &a) && a.divides == f.m && a.integer);
  assert_string_equal(loom_symbol_name(c, f.t), "t");
  assert_null(loom_symbol_name(c, n(1)));
  const loom_assume wrong[] = {{.integer = true, .multiple = -2},
                               {.multiple = 2},
                               {.divides = f.m},
                               {.has_min = true, .min = 2, .has_max = true, .max = 1},
                               {.integer = true, .divides = 999999}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(loom_symbol(c, "q", &wrong[i]), LOOM_NONE);
    assert_int_equal(loom_error_status(c), LOOM_ERR_ARGUMENT);
    loom_error_clear(c);
  }
  loom_expr e = add(mul(f.y, f.x), to(f.s, -1)), found[4];
  assert_int_equal(loom_expr_symbols(c, e, found, 2), 3);
  SAME(found[0], f.s);
  SAME(found[1], f.x);
}

/* ---- errors ----------------------------------------------------------------------------------- */

static void errors(void **unused) {
  (void)unused;
  assert_int_equal(over(f.x, n(0)), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_DOMAIN);
  assert_int_equal(fdiv(n(1), n(0)), LOOM_NONE);
  assert_int_equal(loom_mod(c, f.x, n(0)), LOOM_NONE);
  assert_int_equal(idx(f.x, n(0), n(3)), LOOM_NONE);
  assert_int_equal(idx(f.x, n(3), n(0)), LOOM_NONE);
  assert_int_equal(to(sub(f.x, f.x), -2), LOOM_NONE);
  assert_int_equal(loom_ratio(c, 1, 0), LOOM_NONE);
  loom_error_clear(c);
  assert_int_equal(add(LOOM_NONE, f.x), LOOM_NONE);
  assert_int_equal(largest(LOOM_NONE, f.x), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_OK);
  assert_int_equal(add(f.x, 12345678), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_ARGUMENT);
  assert_int_equal(to(f.x, (int64_t)1 << 40), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_ARGUMENT);
  loom_error_clear(c);
  assert_int_equal(to(f.x, (int64_t)1 << 40), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_LIMIT);
  loom_error_clear(c);
  assert_int_equal(to(n(3), (int64_t)1 << 40), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_LIMIT);
  loom_error_clear(c);
  assert_int_equal(loom_expr_arg(c, f.x, 0), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_ARGUMENT);
}

static void numbers_beyond_64_bits(void **unused) {
  (void)unused;
  loom_expr big = to(n(10), 40), x = f.x;
  SAME(sub(add(mul(big, x), x), mul(big, x)), x);
  SAME(over(mul(big, x), big), x);
  SAME(fdiv(add(mul(big, f.z), f.w), big), add(f.z, fdiv(f.w, big)));
  int64_t value;
  double real;
  assert_false(loom_as_int(c, big, &value));
  assert_true(loom_as_real(c, big, &real) && real == 1e40);
  SAME(largest(big, n(1)), big);
  SAME(loom_lt(c, n(1), mul(big, x)), n(1));
}

/* ---- memory ----------------------------------------------------------------------------------- */

static void collection(void **unused) {
  (void)unused;
  loom_expr kept = add(mul(to(n(10), 30), f.x), largest(f.z, over(f.y, n(3)))), big = to(n(7), 90);
  loom_expr dead = add(mul(f.x, f.y), n(1000));
  uint32_t alive = loom_expr_generation(c, kept), before = loom_expr_generation(c, dead);
  assert_true(alive > 0 && before > 0);
  size_t nodes = loom_ctx_nodes(c);
  loom_gc_begin(c);
  loom_gc_mark(c, kept);
  loom_gc_mark(c, f.t);
  loom_gc_end(c);
  assert_true(loom_ctx_nodes(c) < nodes);
  assert_int_equal(loom_expr_generation(c, kept), alive);
  assert_int_equal(loom_expr_generation(c, dead), 0);
  assert_int_equal(loom_expr_generation(c, big), 0);
  assert_int_equal(add(dead, kept), LOOM_NONE);
  assert_int_equal(loom_error_status(c), LOOM_ERR_ARGUMENT);
  loom_error_clear(c);
  SAME(loom_symbol(c, "m",
                   &(loom_assume){.integer = true, .has_min = true, .min = 1, .multiple = 16}),
       f.m);
  loom_expr x = loom_symbol(c, "x", NULL), y = loom_symbol(c, "y", NULL);
  loom_expr z = loom_symbol(c, "z", &(loom_assume){.integer = true});
  SAME(add(mul(to(n(10), 30), x), largest(z, over(y, n(3)))), kept);
  for (int i = 0; i < 2000 && loom_expr_generation(c, dead) == 0; i++) add(x, n(100000 + i));
  assert_true(loom_expr_generation(c, dead) > before);
}

typedef struct holder {
  loom_owner owner;
  loom_expr held;
} holder;

static void mark_held(loom_owner *owner, loom_ctx *ctx) {
  loom_gc_mark(ctx, ((holder *)(void *)owner)->held);
}

static void owners(void **unused) {
  (void)unused;
  holder a = {.held = add(f.x, n(500))}, b = {.held = add(f.x, n(501))};
  loom_owner_add(c, &a.owner, mark_held);
  loom_owner_add(c, &b.owner, mark_held);
  loom_owner_remove(&b.owner);
  loom_owner_remove(&b.owner);
  loom_gc_begin(c);
  loom_gc_end(c);
  assert_true(loom_expr_live(c, a.held) && loom_expr_live(c, f.x));
  assert_false(loom_expr_live(c, b.held));
  loom_owner_remove(&a.owner);
  loom_gc_begin(c);
  loom_gc_end(c);
  assert_false(loom_expr_live(c, a.held));
}

static void collections_stay_bounded(void **unused) {
  (void)unused;
  size_t most = 0;
  loom_expr keep[2] = {f.x, f.y};
  for (int i = 0; i < 400000; i++) {
    mul(add(keep[0], n(i)), add(keep[1], q(i, 7)));
    if (!loom_gc_due(c)) continue;
    size_t bytes = loom_ctx_bytes(c);
    if (bytes > most) most = bytes;
    loom_gc_begin(c);
    for (int k = 0; k < 2; k++) loom_gc_mark(c, keep[k]);
    loom_gc_end(c);
  }
  assert_true(most > 0 && most < (size_t)16 << 20);
  assert_true(loom_expr_live(c, keep[0]));
}

static void scratch_regions(void **unused) {
  (void)unused;
  loom_expr before = add(f.x, f.y), sum = add(before, n(700));
  n(1);
  n(9);
  size_t nodes = loom_ctx_nodes(c);
  uint32_t outer = loom_scratch_mark(c);
  loom_expr a = mul(sum, f.s), small = n(-60);
  SAME(add(f.x, f.y), before);
  uint32_t inner = loom_scratch_mark(c);
  loom_expr b = mul(a, f.z), big = to(n(9), 80);
  assert_false(loom_gc_due(c));
  loom_gc_begin(c);
  loom_gc_end(c);
  assert_true(loom_expr_live(c, b) && loom_expr_live(c, big));
  assert_int_equal(loom_scratch_release(c, inner), LOOM_OK);
  assert_true(loom_expr_live(c, a) && !loom_expr_live(c, b) && !loom_expr_live(c, big));
  assert_int_equal(loom_scratch_release(c, inner), LOOM_ERR_ARGUMENT);
  loom_error_clear(c);
  assert_int_equal(loom_scratch_release(c, outer), LOOM_OK);
  assert_false(loom_expr_live(c, a));
  SAME(n(-60), small);
  assert_int_equal(loom_ctx_nodes(c), nodes + 1);
  SAME(add(before, n(700)), sum);
  loom_expr again = mul(sum, f.s);
  assert_true(loom_expr_live(c, again));
  for (int i = 0; i < 50; i++) {
    uint32_t mark = loom_scratch_mark(c);
    for (int k = 0; k < 2000; k++) mul(add(f.x, n(k)), over(f.y, n(k + 1)));
    assert_int_equal(loom_scratch_release(c, mark), LOOM_OK);
  }
  SAME(mul(sum, f.s), again);
}

/* ---- size ------------------------------------------------------------------------------------- */

static double seconds_since(clock_t start) {
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void deep_nesting(void **unused) {
  (void)unused;
  clock_t start = clock();
  enum { DEEP = 100000 };
  loom_expr e = f.r, other = f.w;
  for (int i = 0; i < DEEP / 2; i++) {
    e = largest(loom_floor(c, over(add(e, n(1)), n(2))), f.r);
    other = smallest(loom_mod(c, add(other, f.z), n(1000 + i % 7)), f.w);
  }
  assert_int_not_equal(e, LOOM_NONE);
  assert_int_not_equal(other, LOOM_NONE);
  assert_true(loom_expr_size(c, e) > DEEP);
  loom_expr found[4];
  assert_int_equal(loom_expr_symbols(c, e, found, 4), 1);
  loom_expr twin = largest(loom_floor(c, over(add(e, n(2)), n(2))), f.r);
  assert_int_not_equal(loom_expr_order(c, e, twin), 0);
  loom_gc_begin(c);
  loom_gc_mark(c, e);
  loom_gc_end(c);
  assert_true(loom_expr_live(c, e) && !loom_expr_live(c, twin));
  assert_true(loom_expr_size(c, e) > DEEP);
  assert_true(seconds_since(start) < 20);
}

/* Towers of max and min over eight arguments each that differ only at the bottom. */
static loom_expr tower(int64_t seed) {
  loom_expr level[8], next[8];
  char name[16];
  for (int i = 0; i < 8; i++) {
    sprintf(name, "u%d", (int)(i * 5 + seed) % 8);
    level[i] = loom_symbol(c, name, &(loom_assume){.integer = true});
  }
  for (int height = 0; height < 6; height++) {
    for (int i = 0; i < 8; i++) {
      for (int k = 0; k < 8; k++) next[k] = mul(level[k], add(level[(i + k) % 8], n(seed + k)));
      level[i] = height % 2 ? loom_max(c, 8, next) : loom_sum(c, 8, next);
    }
  }
  return loom_sum(c, 8, level);
}

static void comparisons_do_bounded_work(void **unused) {
  (void)unused;
  loom_expr a = tower(100), b = tower(200);
  assert_int_not_equal(a, LOOM_NONE);
  clock_t start = clock();
  int order = loom_expr_order(c, a, b);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(loom_expr_order(c, a, b) < 0, order < 0);
    assert_int_equal(loom_expr_order(c, b, a) < 0, order > 0);
  }
  assert_true(seconds_since(start) < 2);
}

static void long_sums(void **unused) {
  (void)unused;
  enum { LONG = 20000, SHORT = 300 };
  loom_expr *terms = malloc(LONG * sizeof *terms);
  char name[16];
  for (int i = 0; i < LONG; i++) {
    sprintf(name, "v%d", i * 7919 % LONG);
    terms[i] = mul(n(i + 1), loom_symbol(c, name, NULL));
  }
  loom_expr one_by_one = n(0);
  for (int i = 0; i < SHORT; i++) one_by_one = add(one_by_one, terms[i]);
  SAME(one_by_one, loom_sum(c, SHORT, terms));
  clock_t start = clock();
  loom_expr sum = loom_sum(c, LONG, terms);
  assert_int_equal(loom_expr_arity(c, sum), LONG);
  SAME(sub(sum, sum), n(0));
  uint32_t *order = malloc(LONG * sizeof *order);
  loom_child_order(c, sum, order);
  for (int i = 1; i < LONG; i++)
    assert_true(loom_expr_order(c, loom_child(c, sum, order[i - 1]), loom_child(c, sum, order[i])) <
                0);
  for (int i = 0; i < LONG; i++) terms[i] = loom_child(c, sum, (size_t)(LONG - 1 - i));
  loom_expr product = loom_product(c, LONG, terms);
  assert_int_not_equal(product, LOOM_NONE);
  assert_true(seconds_since(start) < 5);
  free(order);
  free(terms);
}

static void a_division_of_64_terms(void **unused) {
  (void)unused;
  loom_expr terms[64], symbolic[64];
  char name[16];
  for (int i = 0; i < 64; i++) {
    sprintf(name, "v%d", i);
    loom_expr v = loom_symbol(
        c, name, &(loom_assume){.integer = true, .has_min = true, .has_max = true, .max = 255});
    terms[i] = mul(n((int64_t)(i % 9 + 1) * (i % 3 ? 1 : 64)), v);
    symbolic[i] = i % 3 ? mul(v, f.y) : mul(n(i + 1), mul(v, f.s));
  }
  loom_expr sum = loom_sum(c, 64, terms), other = loom_sum(c, 64, symbolic);
  clock_t start = clock();
  enum { REPEATS = 20 };
  for (int i = 0; i < REPEATS; i++) {
    assert_int_not_equal(fdiv(add(sum, n(i)), n(64)), LOOM_NONE);
    assert_int_not_equal(idx(add(sum, n(i)), n(8), n(8)), LOOM_NONE);
    assert_int_not_equal(fdiv(add(other, n(i)), f.s), LOOM_NONE);
    assert_int_not_equal(loom_ceil(c, over(add(other, n(i)), f.s)), LOOM_NONE);
    assert_int_not_equal(loom_max(c, 64, i % 2 ? terms : symbolic), LOOM_NONE);
  }
  assert_true(seconds_since(start) / REPEATS < 0.1);
}

/* Everything a small program does, for runs in which memory ends somewhere. */
static loom_expr all_sorts(loom_ctx *ctx) {
  loom_expr x = loom_symbol(ctx, "x", NULL),
            z = loom_symbol(ctx, "z", &(loom_assume){.integer = true});
  loom_expr terms[40];
  char name[16];
  for (int i = 0; i < 40; i++) {
    sprintf(name, "v%d", i);
    loom_expr v = loom_symbol(ctx, name, NULL);
    terms[i] = loom_mul(ctx, loom_pow(ctx, v, i % 5 - 2),
                        loom_add(ctx, v, loom_mul(ctx, x, loom_int(ctx, 3 * i))));
  }
  loom_expr sum = loom_sum(ctx, 40, terms), product = loom_product(ctx, 40, terms);
  loom_expr big = loom_pow(ctx, loom_int(ctx, 10), 60);
  loom_expr parts[] = {
      loom_floor_div(ctx, loom_add(ctx, sum, z), loom_int(ctx, 12)),
      loom_mod_index(ctx, loom_mul(ctx, big, z), x, loom_int(ctx, 7)), loom_max(ctx, 40, terms),
      loom_ceil(ctx, loom_div(ctx, product, big)),
      loom_select(ctx, loom_lt(ctx, z, x), sum, loom_mod(ctx, z, loom_int(ctx, 5)))};
  uint32_t mark = loom_scratch_mark(ctx);
  loom_expr passing = loom_mul(ctx, loom_sum(ctx, 5, parts), x);
  size_t size = loom_expr_size(ctx, passing);
  if (mark) loom_scratch_release(ctx, mark);
  loom_expr all = loom_sum(ctx, 5, parts);
  loom_gc_begin(ctx);
  loom_gc_mark(ctx, all);
  loom_gc_end(ctx);
  return size ? all : LOOM_NONE;
}

static void memory_ends_anywhere(void **unused) {
  (void)unused;
  loom_ctx *whole = loom_ctx_new();
  loom_expr all = all_sorts(whole);
  assert_int_not_equal(all, LOOM_NONE);
  size_t nodes = loom_ctx_nodes(whole), most = loom_ctx_bytes(whole) * 2;
  loom_ctx_free(whole);
  int failed = 0, passed = 0;
  for (size_t limit = 17000; limit < most; limit += 977) {
    loom_ctx *ctx = loom_ctx_new();
    assert_non_null(ctx);
    ctx->base.bytes_limit = limit;
    loom_expr e = all_sorts(ctx);
    bool good = e != LOOM_NONE && loom_error_status(ctx) == LOOM_OK;
    if (!good) assert_int_equal(loom_error_status(ctx), LOOM_ERR_MEMORY);
    (*(good ? &passed : &failed))++;
    ctx->base.bytes_limit = 0;
    loom_error_clear(ctx);
    assert_int_not_equal(all_sorts(ctx), LOOM_NONE);
    assert_int_equal(loom_ctx_nodes(ctx) >= nodes, 1);
    loom_ctx_free(ctx);
  }
  assert_true(failed > 10 && passed > 10);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sums),
      TEST(products),
      TEST(rounding),
      TEST(floor_divisions),
      TEST(modulo),
      TEST(extremes),
      TEST(comparisons),
      TEST(known_facts),
      TEST(symbols_and_their_assumptions),
      TEST(errors),
      TEST(numbers_beyond_64_bits),
      TEST(collection),
      TEST(owners),
      TEST(collections_stay_bounded),
      TEST(scratch_regions),
      TEST(deep_nesting),
      TEST(comparisons_do_bounded_work),
      TEST(long_sums),
      TEST(a_division_of_64_terms),
      TEST(memory_ends_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
