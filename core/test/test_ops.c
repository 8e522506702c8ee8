/* SPDX-License-Identifier: MIT */
/* Tests of substitution, expansion, derivatives, differences and breakpoints, by enumeration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "expr_fixture.h"

static loom_expr parse(const char *text) {
  return loom_parse(ctx, text, strlen(text), N_SYMBOLS, symbols, NULL);
}

static void print_case(const char *what, loom_expr e, const int *v) {
  char *text = loom_print(ctx, e, LOOM_INFIX);
  print_error("%s: %s at a=%d b=%d c=%d d=%d: %s\n", what, text ? text : "?", v[0], v[1], v[2],
              v[3], loom_error_message(ctx));
  loom_free(text);
}

static loom_expr at_point(loom_expr e, const int *v) {
  loom_expr values[N_SYMBOLS];
  for (int i = 0; i < N_SYMBOLS; i++) values[i] = loom_int(ctx, v[i]);
  return loom_substitute(ctx, e, N_SYMBOLS, symbols, values);
}

static void assert_value(const char *what, loom_expr whole, loom_expr got, ratio expected,
                         const int *v) {
  if (!is_ratio(ctx, got, expected)) {
    print_case(what, whole, v);
    char *text = loom_print(ctx, got, LOOM_INFIX);
    print_error("got %s, expected %lld/%lld\n", text ? text : "nothing", (long long)expected.num,
                (long long)expected.den);
    loom_free(text);
  }
  assert_true(is_ratio(ctx, got, expected));
}

/* e, expanded, substituted in two steps, and through a program, all have the value of the tree. */
static void check_values(const forest *f, int root, loom_expr e, uint64_t *seed) {
  int v[N_SYMBOLS];
  loom_expr expanded = loom_expand(ctx, e), outputs[2];
  assert_int_not_equal(expanded, LOOM_NONE);
  loom_program *program = loom_compile(ctx, 1, &e, N_SYMBOLS, symbols);
  assert_non_null(program);
  for (bool more = next_point(v, false); more; more = next_point(v, true)) {
    if (random_below(seed, 60)) continue;
    ratio expected = eval_tree(f, root, v);
    if (!expected.den) continue;
    assert_value("value", e, at_point(e, v), expected, v);
    assert_value("expanded", expanded, at_point(expanded, v), expected, v);
    loom_expr inputs[N_SYMBOLS];
    for (int i = 0; i < N_SYMBOLS; i++) inputs[i] = loom_int(ctx, v[i]);
    loom_expr half = loom_substitute(ctx, e, 2, symbols + 1, inputs + 1);
    if (half != LOOM_NONE) assert_value("in two steps", e, at_point(half, v), expected, v);
    loom_error_clear(ctx);
    loom_status status = loom_program_exact(program, ctx, inputs, outputs);
    if (status == LOOM_ERR_DOMAIN) {
      print_case("undefined in the program", e, v);
      fail();
    }
    assert_int_equal(status, LOOM_OK);
    assert_value("program", e, outputs[0], expected, v);
  }
  loom_program_free(program);
}

static void test_values(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_values");
  for (int i = 0; i < 1500; i++) {
    forest f = {.seed = seed + (uint64_t)i};
    int root = grow_tree(&f, 1 + i % 5);
    loom_expr e = build_tree(ctx, &f, root, symbols);
    loom_error_clear(ctx);
    if (e != LOOM_NONE) check_values(&f, root, e, &f.seed);
  }
}

/* Swapping symbols at once, and a symbol inside its own value. */
static void test_simultaneous(void **state) {
  (void)state;
  loom_expr swap[] = {symbols[1], symbols[0]};
  assert_int_equal(loom_substitute(ctx, parse("a + 2*b"), 2, symbols, swap), parse("b + 2*a"));
  loom_expr next = parse("a + 1");
  assert_int_equal(loom_substitute(ctx, parse("a*(a + 1)"), 1, symbols, &next),
                   parse("(a + 1)*(a + 2)"));
  assert_int_equal(loom_substitute(ctx, parse("a"), 0, NULL, NULL), symbols[0]);
  assert_int_equal(loom_substitute(ctx, LOOM_NONE, 1, symbols, &next), LOOM_NONE);
}

static void test_inadmissible(void **state) {
  (void)state;
  loom_assume assume = {.integer = true, .has_min = true, .min = 4, .multiple = 4};
  loom_expr s = loom_symbol(ctx, "s", &assume), e = loom_add(ctx, s, symbols[0]);
  loom_expr bad[] = {loom_int(ctx, 0), loom_int(ctx, 6), loom_ratio(ctx, 9, 2)};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(loom_substitute(ctx, e, 1, &s, &bad[i]), LOOM_NONE);
    assert_int_equal(loom_error_status(ctx), LOOM_ERR_DOMAIN);
    loom_error_clear(ctx);
  }
  loom_expr good = loom_int(ctx, 8);
  assert_int_equal(loom_substitute(ctx, e, 1, &s, &good), parse("a + 8"));
}

static void test_expand(void **state) {
  (void)state;
  assert_int_equal(loom_expand(ctx, parse("(a + b)*(a - b)")), parse("a*a - b*b"));
  assert_int_equal(loom_expand(ctx, parse("(a + 1)**3")), parse("a**3 + 3*a**2 + 3*a + 1"));
  assert_int_equal(loom_expand(ctx, parse("(a + b)*c/b - c")), parse("a*c/b"));
  assert_int_equal(loom_expand(ctx, parse("max(2, c*(a + b) - c*b - a*c + 1)")), parse("2"));
  loom_expr big = loom_expand(ctx, parse("(a + b + c + d)**40 * (a + 2)**40"));
  assert_int_not_equal(big, LOOM_NONE);
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
}

static void test_derivatives(void **state) {
  (void)state;
  loom_expr a = symbols[0];
  assert_int_equal(loom_diff(ctx, parse("3*a*a*b + a/b + 7"), a), parse("6*a*b + 1/b"));
  assert_int_equal(loom_diff(ctx, parse("c/a"), a), parse("-c/a**2"));
  assert_int_equal(loom_diff(ctx, parse("floor(a/b) + ceil(a/4) + a // 3 + (a < b)"), a),
                   parse("0"));
  assert_int_equal(loom_diff(ctx, parse("a % 3"), a), parse("1"));
  assert_int_equal(loom_diff(ctx, parse("b*c"), a), parse("0"));
  assert_int_equal(loom_diff(ctx, a, a), parse("1"));
  loom_expr slope = loom_diff(ctx, parse("max(a*a, a + b)"), a);
  assert_int_equal(slope, parse("select(a*a < a + b, 1, 2*a)"));
}

/* Exponents end at 32 bits: an error, not another value. */
static void test_exponent_limits(void **state) {
  (void)state;
  loom_expr e = parse("1/b**2147483648");
  assert_int_equal(e, LOOM_NONE);
  loom_error_clear(ctx);
  e = parse("b**-2147483647");
  assert_int_not_equal(e, LOOM_NONE);
  assert_int_equal(loom_diff(ctx, e, symbols[1]), LOOM_NONE);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
  loom_error_clear(ctx);
  assert_int_equal(loom_known_lt(ctx, e, parse("2 + c")), LOOM_YES);
  assert_int_equal(parse("b**2147483648"), LOOM_NONE);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
  loom_error_clear(ctx);
}

/* Where the central difference quotients of an expression agree with its neighbours', the
** derivative is what they say: exact for polynomials of degree 2 in one piece. */
static void test_derivative_values(void **state) {
  (void)state;
  static const char *const texts[] = {"a*a*b - 3*a + c",
                                      "max(a*b, 3 - a, c*a - 2)",
                                      "min(a*a, 5 - 2*a, b)",
                                      "select(b < 3, a*a, -a)",
                                      "max(a, min(2*a + 1, c))",
                                      "(a + b)*(a - c)*2",
                                      "a % b",
                                      "a*(a // b) + a",
                                      "mod_index(a*2, 3, b)*a"};
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    loom_expr e = parse(texts[t]), slope = loom_diff(ctx, e, symbols[0]);
    assert_int_not_equal(slope, LOOM_NONE);
    int v[N_SYMBOLS];
    size_t checked = 0;
    for (bool more = next_point(v, false); more; more = next_point(v, true)) {
      /* halves, so that the symbol must be real */
      loom_assume real = {.integer = false};
      loom_expr x = loom_symbol(ctx, "x", &real), f, values[N_SYMBOLS];
      for (int i = 0; i < N_SYMBOLS; i++) values[i] = i ? loom_int(ctx, v[i]) : x;
      f = loom_substitute(ctx, e, N_SYMBOLS, symbols, values);
      loom_expr at[5], y[5];
      for (int k = 0; k < 5; k++) {
        at[k] = loom_ratio(ctx, 1000 * v[0] + 137 + (k - 2), 1000);
        y[k] = loom_substitute(ctx, f, 1, &x, &at[k]);
      }
      loom_expr near = loom_mul(ctx, loom_sub(ctx, y[3], y[1]), loom_int(ctx, 500));
      loom_expr far = loom_mul(ctx, loom_sub(ctx, y[4], y[0]), loom_int(ctx, 250));
      if (near != far) continue;
      loom_expr g = loom_substitute(ctx, loom_diff(ctx, f, x), 1, &x, &at[2]);
      if (g != near) print_case(texts[t], slope, v);
      assert_int_equal(g, near);
      checked++;
    }
    assert_true(checked > 100);
  }
}

static void test_difference(void **state) {
  (void)state;
  loom_expr one = loom_int(ctx, 1);
  assert_int_equal(loom_difference(ctx, parse("a*b + c"), symbols[0], one), parse("b"));
  assert_int_equal(loom_difference(ctx, parse("a*a"), symbols[0], symbols[1]),
                   parse("2*a*b + b*b"));
  loom_expr e = parse("a // 3"), d = loom_difference(ctx, e, symbols[0], one);
  for (int v = -3; v < 4; v++) {
    int at[N_SYMBOLS] = {v, 1, 0, -1}, next[N_SYMBOLS] = {v + 1, 1, 0, -1};
    assert_int_equal(at_point(d, at), loom_sub(ctx, at_point(e, next), at_point(e, at)));
  }
}

static void test_symbols_and_size(void **state) {
  (void)state;
  loom_expr out[2];
  assert_int_equal(loom_expr_symbols(ctx, parse("c*max(b, a) + c // a"), out, 2), 3);
  assert_int_equal(out[0], symbols[0]);
  assert_int_equal(out[1], symbols[1]);
  assert_int_equal(loom_expr_size(ctx, parse("a*b")), 3);
}

/* 64 terms under // and %: quick, and right against plain integers. */
static void test_wide_division(void **state) {
  (void)state;
  enum { N = 64 };
  uint64_t seed = test_seed("test_wide_division");
  loom_assume any = {.integer = true};
  loom_expr x[N], terms[N + 1], values[N];
  int coef[N];
  for (int i = 0; i < N; i++) {
    char name[16];
    snprintf(name, sizeof name, "x%d", i);
    x[i] = loom_symbol(ctx, name, &any);
    coef[i] = random_below(&seed, 41) - 20;
    terms[i] = loom_mul(ctx, loom_int(ctx, coef[i]), x[i]);
  }
  terms[N] = loom_int(ctx, 7);
  clock_t start = clock();
  loom_expr sum = loom_sum(ctx, N + 1, terms), twelve = loom_int(ctx, 12), three = loom_int(ctx, 3);
  loom_expr e[] = {loom_floor_div(ctx, sum, twelve), loom_mod(ctx, sum, twelve),
                   loom_mod_index(ctx, sum, three, twelve),
                   loom_floor_div(ctx, sum, loom_add(ctx, x[0], twelve))};
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  assert_true(seconds < 0.5);
  for (int k = 0; k < 4; k++) assert_int_not_equal(e[k], LOOM_NONE);
  for (int round = 0; round < 200; round++) {
    int64_t total = 7, first = 0;
    for (int i = 0; i < N; i++) {
      int v = random_below(&seed, 201) - 100;
      values[i] = loom_int(ctx, v);
      total += (int64_t)coef[i] * v;
      if (i == 0) first = v + 12;
    }
    int64_t d[] = {12, 3, first};
    int64_t q[3];
    for (int k = 0; k < 3; k++)
      q[k] = d[k] ? total / d[k] - (total % d[k] != 0 && (total < 0) != (d[k] < 0)) : 0;
    int64_t want[] = {q[0], total - 12 * q[0], (q[1] % 12 + 12) % 12, q[2]};
    for (int k = 0; k < 4; k++) {
      int64_t got = 0;
      if (k == 3 && first == 0) continue;
      assert_true(loom_as_int(ctx, loom_substitute(ctx, e[k], N, x, values), &got));
      assert_int_equal(got, want[k]);
    }
  }
}

/* What is shared many times over is small as nodes and long as text. */
static void test_shared(void **state) {
  (void)state;
  loom_expr e = symbols[0];
  for (int i = 0; i < 60; i++) {
    loom_expr pair[] = {loom_add(ctx, loom_mul(ctx, e, symbols[1]), symbols[2]),
                        loom_mul(ctx, e, symbols[3])};
    e = loom_max(ctx, 2, pair);
  }
  assert_true(loom_expr_size(ctx, e) < 500);
  assert_null(loom_print(ctx, e, LOOM_INFIX));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
  loom_error_clear(ctx);
  assert_int_not_equal(loom_diff(ctx, e, symbols[0]), LOOM_NONE);
  assert_int_not_equal(loom_expand(ctx, e), LOOM_NONE);
  loom_program *program = loom_compile(ctx, 1, &e, N_SYMBOLS, symbols);
  assert_non_null(program);
  assert_true(loom_program_length(program) < 400);
  loom_program_free(program);
  assert_int_equal(loom_known_lt(ctx, e, loom_add(ctx, e, symbols[1])), LOOM_YES);
}

/* ---- breakpoints -------------------------------------------------------------------------- */

static ptrdiff_t breakpoints(const char *text, int64_t lo, int64_t hi, int64_t *out, size_t n) {
  loom_assume any = {.integer = true};
  loom_expr v = loom_symbol(ctx, "v", &any);
  loom_expr e = loom_parse(ctx, text, strlen(text), 1, &v, NULL);
  return loom_breakpoints(ctx, e, v, lo, hi, out, n);
}

static void assert_breakpoints(const char *text, int64_t lo, int64_t hi, size_t n,
                               const int64_t *expected) {
  int64_t out[64];
  ptrdiff_t found = breakpoints(text, lo, hi, out, 64);
  if (found != (ptrdiff_t)n) print_error("%s: %d found\n", text, (int)found);
  assert_int_equal(found, n);
  for (size_t i = 0; i < n; i++) assert_int_equal(out[i], expected[i]);
}

static void test_breakpoints(void **state) {
  (void)state;
  assert_breakpoints("v // 4", 0, 15, 3, (int64_t[]){4, 8, 12});
  assert_breakpoints("v // 4", -9, 1, 3, (int64_t[]){-8, -4, 0});
  assert_breakpoints("v % 5", 1, 11, 2, (int64_t[]){5, 10});
  assert_breakpoints("max(v, 10)", 0, 1000000000000, 1, (int64_t[]){11});
  assert_breakpoints("max(v*v, v*v + v - 1000)", 0, 1000000, 1, (int64_t[]){1001});
  assert_breakpoints("min(3*v, 100 - v)", 0, 1000, 1, (int64_t[]){25});
  assert_breakpoints("v < 7", -100, 100, 1, (int64_t[]){7});
  assert_breakpoints("v == 7", -100, 100, 2, (int64_t[]){7, 8});
  assert_breakpoints("select(v*v < 50, v, 3)", 0, 100, 1, (int64_t[]){8});
  assert_breakpoints("floor(100/v)", 30, 60, 2, (int64_t[]){34, 51});
  assert_breakpoints("ceil(100/v)", 20, 60, 3, (int64_t[]){25, 34, 50});
}

static void test_breakpoint_errors(void **state) {
  (void)state;
  int64_t out[4];
  assert_int_equal(breakpoints("v // 4", 0, INT64_C(1) << 40, out, 4), -1);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
  loom_error_clear(ctx);
  assert_int_equal(breakpoints("v // w", 0, 10, out, 4), -1);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  assert_int_equal(breakpoints("v // 4", 5, 5, out, 4), 0);
  assert_int_equal(breakpoints("v // 2", 0, 100, out, 4), 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_values, setup, teardown),
      cmocka_unit_test_setup_teardown(test_simultaneous, setup, teardown),
      cmocka_unit_test_setup_teardown(test_inadmissible, setup, teardown),
      cmocka_unit_test_setup_teardown(test_expand, setup, teardown),
      cmocka_unit_test_setup_teardown(test_derivatives, setup, teardown),
      cmocka_unit_test_setup_teardown(test_exponent_limits, setup, teardown),
      cmocka_unit_test_setup_teardown(test_derivative_values, setup, teardown),
      cmocka_unit_test_setup_teardown(test_difference, setup, teardown),
      cmocka_unit_test_setup_teardown(test_symbols_and_size, setup, teardown),
      cmocka_unit_test_setup_teardown(test_wide_division, setup, teardown),
      cmocka_unit_test_setup_teardown(test_shared, setup, teardown),
      cmocka_unit_test_setup_teardown(test_breakpoints, setup, teardown),
      cmocka_unit_test_setup_teardown(test_breakpoint_errors, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
