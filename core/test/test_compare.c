/* SPDX-License-Identifier: MIT */
/* Tests of comparisons under assumptions: never wrong on any point, and not often unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "expr_fixture.h"

/* ---- against enumeration ------------------------------------------------------------------ */

typedef struct truth {
  bool lt, not_lt, le, not_le, eq, not_eq, divides, not_divides; /* seen at some point */
} truth;

static truth observe(const forest *f, int a, int b) {
  truth t = {0};
  int v[N_SYMBOLS];
  for (bool more = next_point(v, false); more; more = next_point(v, true)) {
    ratio x = eval_tree(f, a, v), y = eval_tree(f, b, v);
    if (!x.den || !y.den) continue;
    int order = ratio_cmp(x, y);
    *(order < 0 ? &t.lt : &t.not_lt) = true;
    *(order <= 0 ? &t.le : &t.not_le) = true;
    *(order == 0 ? &t.eq : &t.not_eq) = true;
    ratio q = ratio_div(x, y);
    if (q.den) *(q.den == 1 ? &t.divides : &t.not_divides) = true;
  }
  return t;
}

static int check_answer(const char *what, loom_answer got, bool yes, bool no, loom_expr a,
                        loom_expr b) {
  bool wrong = (got == LOOM_YES && no) || (got == LOOM_NO && yes);
  if (wrong) {
    char *x = loom_print(ctx, a, LOOM_INFIX), *y = loom_print(ctx, b, LOOM_INFIX);
    print_error("%s is not %s for\n%s\n%s\n", what, got == LOOM_YES ? "true" : "false", x, y);
    loom_free(x);
    loom_free(y);
  }
  assert_false(wrong);
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  return got == LOOM_UNKNOWN && yes != no;
}

static void test_never_wrong(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_never_wrong");
  int open = 0, asked = 0;
  for (int i = 0; i < 1500; i++) {
    forest f = {.seed = seed + (uint64_t)i, .mode = i % 3 == 0 ? ANY_TREE : CONTINUOUS_TREE};
    int roots[] = {grow_tree(&f, 1 + i % 3), 0};
    roots[1] = grow_tree(&f, 1 + i % 3);
    loom_expr a = build_tree(ctx, &f, roots[0], symbols);
    loom_expr b = build_tree(ctx, &f, roots[1], symbols);
    loom_error_clear(ctx);
    if (a == LOOM_NONE || b == LOOM_NONE) continue;
    truth t = observe(&f, roots[0], roots[1]);
    asked++;
    open += check_answer("<", loom_known_lt(ctx, a, b), t.lt, t.not_lt, a, b);
    check_answer("<=", loom_known_le(ctx, a, b), t.le, t.not_le, a, b);
    check_answer("==", loom_known_eq(ctx, a, b), t.eq, t.not_eq, a, b);
    check_answer("divides", loom_known_divides(ctx, b, a), t.divides, t.not_divides, a, b);
  }
  printf("test_never_wrong: %d of %d orders left open\n", open, asked);
  assert_true(open * 4 < asked);
}

/* ---- questions that must be answered ------------------------------------------------------ */

static loom_expr parse(const char *text) {
  loom_expr all[N_SYMBOLS + 2];
  loom_assume tile = {.integer = true, .has_min = true, .min = 1};
  loom_expr n = loom_symbol(ctx, "n", NULL);
  memcpy(all, symbols, sizeof symbols);
  tile.divides = n;
  all[N_SYMBOLS] = loom_symbol(ctx, "tile", &tile);
  tile.divides = loom_int(ctx, 48);
  all[N_SYMBOLS + 1] = loom_symbol(ctx, "t48", &tile);
  loom_expr e = loom_parse(ctx, text, strlen(text), N_SYMBOLS + 2, all, NULL);
  assert_int_not_equal(e, LOOM_NONE);
  return e;
}

/* x, y, z, n are positive integers; a in -3..4, b in 1..6, c in 0..5, d in -5..-1. */
static void test_order(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    loom_answer lt, le;
  } questions[] = {
      {"x", "x + 1", LOOM_YES, LOOM_YES},
      {"x", "x", LOOM_NO, LOOM_YES},
      {"d", "c", LOOM_YES, LOOM_YES},
      {"b", "c", LOOM_UNKNOWN, LOOM_UNKNOWN},
      {"x*y", "x*y + x", LOOM_YES, LOOM_YES},
      {"(x + y)**2", "x*x + y*y", LOOM_NO, LOOM_NO},
      {"x/y", "(x + 1)/y", LOOM_YES, LOOM_YES},
      {"1/(y + 1)", "1/y", LOOM_YES, LOOM_YES},
      {"x/(x + y)", "1", LOOM_YES, LOOM_YES},
      {"x*ceil(y/x)", "y", LOOM_NO, LOOM_UNKNOWN},
      {"y", "x*ceil(y/x)", LOOM_UNKNOWN, LOOM_YES},
      {"x*(y // x)", "y + 1", LOOM_YES, LOOM_YES},
      {"y % x", "x", LOOM_YES, LOOM_YES},
      {"y % x", "x - 1", LOOM_UNKNOWN, LOOM_YES},
      {"y", "4*ceil(y/4)", LOOM_UNKNOWN, LOOM_YES},
      {"4*ceil(y/4)", "y + 4", LOOM_YES, LOOM_YES},
      {"x*(y // x)", "y - x + 1", LOOM_NO, LOOM_UNKNOWN},
      {"y - x", "x*(y // x)", LOOM_YES, LOOM_YES},
      {"max(x, y)", "x + y", LOOM_YES, LOOM_YES},
      {"min(x, y)", "x + 1", LOOM_YES, LOOM_YES},
      {"x", "max(x, y)", LOOM_UNKNOWN, LOOM_YES},
      {"max(x, y)", "min(x, y)", LOOM_NO, LOOM_UNKNOWN},
      {"b*(6 - b)", "c + 10", LOOM_UNKNOWN, LOOM_UNKNOWN},
      {"b**3 + 2*b", "229", LOOM_YES, LOOM_YES},
      {"b**3 + 2*b", "228", LOOM_UNKNOWN, LOOM_YES},
      {"select(x < y, x, y)", "x + y", LOOM_YES, LOOM_YES},
      {"tile", "n", LOOM_UNKNOWN, LOOM_YES},
      {"tile", "n + 1", LOOM_YES, LOOM_YES},
      {"tile*x", "n*x + 1", LOOM_YES, LOOM_YES},
      {"t48*t48 + t48", "48*49", LOOM_UNKNOWN, LOOM_YES},
      {"48/t48", "1", LOOM_NO, LOOM_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    loom_expr a = parse(questions[i].a), b = parse(questions[i].b);
    loom_answer lt = loom_known_lt(ctx, a, b), le = loom_known_le(ctx, a, b);
    if (lt != questions[i].lt || le != questions[i].le)
      print_error("%s, %s: < %d, <= %d\n", questions[i].a, questions[i].b, lt, le);
    assert_int_equal(lt, questions[i].lt);
    assert_int_equal(le, questions[i].le);
  }
}

static void test_equal(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    loom_answer eq;
  } questions[] = {
      {"(x + y)*(x - y)", "x*x - y*y", LOOM_YES},
      {"x/(x + y) + y/(x + y)", "1", LOOM_YES},
      {"(a + c)/(a + d) - c/(a + d)", "a/(a + d)", LOOM_YES},
      {"x", "x + 1", LOOM_NO},
      {"2*x", "2*y + 1", LOOM_NO},
      {"x*y", "-z", LOOM_NO},
      {"x", "y", LOOM_UNKNOWN},
      {"n % tile", "0", LOOM_YES},
  };
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    loom_answer eq = loom_known_eq(ctx, parse(questions[i].a), parse(questions[i].b));
    if (eq != questions[i].eq) print_error("%s, %s: %d\n", questions[i].a, questions[i].b, eq);
    assert_int_equal(eq, questions[i].eq);
  }
}

static void test_divides(void **state) {
  (void)state;
  static const struct {
    const char *d, *a;
    loom_answer answer;
  } questions[] = {
      {"4", "8*x + 12*y", LOOM_YES},   {"4", "8*x + 2", LOOM_NO},
      {"x", "x*y + x", LOOM_YES},      {"x", "y", LOOM_UNKNOWN},
      {"tile", "n", LOOM_YES},         {"tile", "n*x + 2*n", LOOM_YES},
      {"t48", "96", LOOM_YES},         {"t48", "48*y", LOOM_YES},
      {"tile", "n + 1", LOOM_UNKNOWN}, {"x + y", "x*x - y*y", LOOM_UNKNOWN},
      {"3", "x", LOOM_UNKNOWN},        {"x + y", "x", LOOM_NO},
  };
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    loom_answer answer = loom_known_divides(ctx, parse(questions[i].d), parse(questions[i].a));
    if (answer != questions[i].answer)
      print_error("%s | %s: %d\n", questions[i].d, questions[i].a, answer);
    assert_int_equal(answer, questions[i].answer);
  }
}

/* A question builds much and leaves nothing: no node, no error. */
static void test_leaves_nothing(void **state) {
  (void)state;
  loom_expr a = parse("(x + y + z)**6/(x*y)"), b = parse("(x + y)**6/(x*z) + 1/(x - y)");
  loom_known_lt(ctx, a, b);
  size_t nodes = loom_ctx_nodes(ctx);
  loom_known_lt(ctx, a, b);
  loom_known_le(ctx, b, a);
  loom_known_eq(ctx, a, b);
  loom_known_divides(ctx, a, b);
  assert_int_equal(loom_ctx_nodes(ctx), nodes);
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
}

/* Hard questions end quickly, answered or not. */
static void test_bounded(void **state) {
  (void)state;
  static char text[60000];
  size_t n = 0;
  for (int i = 0; i < 64; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%smax(x%d*y%d, z%d/x%d, %d) // (x%d + 3)",
                          i ? " + " : "", i, i, i, i, i, i);
  loom_expr a = parse(text), b = parse("(x1 + y2 + z3 + x4 + 1)**9*(x0 + y1 - z2)**5");
  clock_t start = clock();
  loom_known_lt(ctx, a, b);
  loom_known_le(ctx, b, a);
  loom_known_eq(ctx, a, b);
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  printf("test_bounded: %.3f s\n", seconds);
  assert_true(seconds < 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_never_wrong, setup, teardown),
      cmocka_unit_test_setup_teardown(test_order, setup, teardown),
      cmocka_unit_test_setup_teardown(test_equal, setup, teardown),
      cmocka_unit_test_setup_teardown(test_divides, setup, teardown),
      cmocka_unit_test_setup_teardown(test_leaves_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
