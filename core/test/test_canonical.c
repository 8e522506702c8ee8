/* SPDX-License-Identifier: MIT */
/* What holds of every expression, whatever it is made of: building it again from its own arguments
** or from its print gives it back, expanding twice is expanding once, a question knows at least what
** building decides, and of a select only the side that counts needs a value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "einloom.h"
#include "random_expr.h"

enum { ROUNDS = 6000 };

/* Symbols with everything that can be assumed. */
static void make_varied(loom_ctx *ctx, uint64_t *seed, loom_expr *s) {
  bool reals = random_below(seed, 4) == 0;
  loom_assume four = {
      .integer = true, .has_min = true, .min = -8, .has_max = true, .max = 8, .multiple = 4};
  loom_assume three = {.integer = true, .multiple = 3};
  loom_assume below = {.integer = true, .has_max = true, .max = -1};
  s[0] = loom_symbol(ctx, "N", NULL);
  loom_assume part = {.integer = true, .has_min = true, .min = 1, .divides = s[0]};
  s[1] = loom_symbol(ctx, "t", &part);
  s[2] = loom_symbol(ctx, "q", random_below(seed, 2) ? &four : &three);
  loom_assume real = {.has_min = true, .min = 0};
  s[3] = loom_symbol(ctx, "v", reals ? &real : &below);
}

static loom_expr build_again(loom_ctx *ctx, loom_expr e) {
  enum { MOST = 512 };
  loom_expr a[MOST];
  size_t n = loom_expr_arity(ctx, e);
  int64_t exponent;
  assert_true(n <= MOST);
  for (size_t i = 0; i < n; i++) a[i] = loom_expr_arg(ctx, e, i);
  switch (loom_expr_kind(ctx, e)) {
  case LOOM_POW: return loom_as_int(ctx, a[1], &exponent) ? loom_pow(ctx, a[0], exponent) : e;
  case LOOM_MUL: return loom_product(ctx, n, a);
  case LOOM_ADD: return loom_sum(ctx, n, a);
  case LOOM_MIN: return loom_min(ctx, n, a);
  case LOOM_MAX: return loom_max(ctx, n, a);
  case LOOM_FLOOR: return loom_floor(ctx, a[0]);
  case LOOM_CEIL: return loom_ceil(ctx, a[0]);
  case LOOM_FLOORDIV: return loom_floor_div(ctx, a[0], a[1]);
  case LOOM_MOD: return loom_mod(ctx, a[0], a[1]);
  case LOOM_MODIDX: return loom_mod_index(ctx, a[0], a[1], a[2]);
  case LOOM_LT: return loom_lt(ctx, a[0], a[1]);
  case LOOM_LE: return loom_le(ctx, a[0], a[1]);
  case LOOM_EQ: return loom_eq(ctx, a[0], a[1]);
  case LOOM_SELECT: return loom_select(ctx, a[0], a[1], a[2]);
  default: return e;
  }
}

static void assert_same(loom_ctx *ctx, loom_expr e, loom_expr again, const char *what) {
  if (e == again) return;
  char *text = loom_print(ctx, e, LOOM_INFIX);
  char *other = again == LOOM_NONE ? NULL : loom_print(ctx, again, LOOM_INFIX);
  print_error("%s: %s, %s\n", what, text, other ? other : loom_error_message(ctx));
  loom_free(text);
  loom_free(other);
  fail();
}

static loom_expr parse_with(loom_ctx *ctx, const char *text, const loom_expr *symbols) {
  return loom_parse(ctx, text, strlen(text), N_SYMBOLS, symbols, NULL);
}

static void check_round_trips(loom_ctx *ctx, loom_expr e, const loom_expr *symbols) {
  assert_same(ctx, e, build_again(ctx, e), "building again");
  char *text = loom_print(ctx, e, LOOM_INFIX);
  assert_non_null(text);
  assert_same(ctx, e, parse_with(ctx, text, symbols), "parsing what was printed");
  loom_free(text);
  loom_expr once = loom_expand(ctx, e);
  if (once != LOOM_NONE) assert_same(ctx, once, loom_expand(ctx, once), "expanding again");
}

/* What a built comparison decides, its question answers. */
static void check_questions(loom_ctx *ctx, loom_expr a, loom_expr b) {
  const loom_expr built[] = {loom_lt(ctx, a, b), loom_le(ctx, a, b), loom_eq(ctx, a, b)};
  const loom_answer known[] = {loom_known_lt(ctx, a, b), loom_known_le(ctx, a, b),
                               loom_known_eq(ctx, a, b)};
  for (int i = 0; i < 3; i++) {
    int64_t value;
    if (loom_as_int(ctx, built[i], &value))
      assert_int_equal(known[i], value ? LOOM_YES : LOOM_NO);
    else
      assert_int_equal(loom_expr_kind(ctx, built[i]), LOOM_LT + i);
  }
  const loom_expr both[] = {a, b};
  loom_expr largest = loom_max(ctx, 2, both);
  if (largest == b && loom_known_le(ctx, a, b) != LOOM_YES)
    assert_same(ctx, a, b, "max knows, and le does not, that this is at most that");
}

static void expressions_are_canonical(void **state) {
  (void)state;
  uint64_t seed = test_seed("expressions_are_canonical");
  int whole = 0;
  for (int round = 0; round < ROUNDS; round++) {
    loom_ctx *ctx = loom_ctx_new();
    loom_expr symbols[N_SYMBOLS], e[2];
    forest f = {.seed = next_random(&seed)};
    make_varied(ctx, &f.seed, symbols);
    for (int i = 0; i < 2; i++) {
      f.n = 0;
      e[i] = build_tree(ctx, &f, grow_tree(&f, 1 + random_below(&f.seed, 4)), symbols);
      if (e[i] != LOOM_NONE) check_round_trips(ctx, e[i], symbols);
      loom_error_clear(ctx);
      whole += e[i] != LOOM_NONE;
    }
    if (e[0] != LOOM_NONE && e[1] != LOOM_NONE) check_questions(ctx, e[0], e[1]);
    loom_ctx_free(ctx);
  }
  assert_true(whole > ROUNDS);
}

/* ---- hand values ------------------------------------------------------------------------------ */

typedef struct pair {
  const char *text, *same;
} pair;

static void assert_pairs(const loom_expr *symbols, loom_ctx *ctx, const pair *pairs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    loom_expr e = parse_with(ctx, pairs[i].text, symbols);
    assert_int_not_equal(e, LOOM_NONE);
    assert_same(ctx, e, parse_with(ctx, pairs[i].same, symbols), pairs[i].text);
  }
}

static void built_forms(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_assume four = {
      .integer = true, .has_min = true, .min = -8, .has_max = true, .max = 8, .multiple = 4};
  loom_assume three = {.integer = true, .multiple = 3};
  loom_expr s[N_SYMBOLS] = {loom_symbol(ctx, "N", NULL)};
  loom_assume part = {.integer = true, .has_min = true, .min = 1, .divides = s[0]};
  s[1] = loom_symbol(ctx, "t", &part);
  s[2] = loom_symbol(ctx, "q", &four);
  s[3] = loom_symbol(ctx, "z", &three);
  static const pair pairs[] = {
      {"mod_index(q, -2, 2)", "0"},
      {"mod_index(z, 3/2, -2)", "0"},
      {"mod_index(q + N, -2, 2)", "mod_index(-N, 2, 2)"},
      {"mod_index(q == t, 7, z/3 - 1/6)", "0"},
      {"ceil(21*select(q, 3, 1)/2)", "21*select(q, 3, 1)/2 + 1/2"},
      {"(21*select(q, 3, 1) + 1) // 2", "21*select(q, 3, 1)/2 + 1/2"},
      {"(q - 7)*(2*z + 5) // 2", "(q - 7)*(2*z + 5)/2 - 1/2"},
      {"(1 - t)/(z - t*z)", "1/z"},
      {"(1 - z)/(t - t*z)", "1/t"},
      {"(1 - q)/(z - q*z)", "1/z"},
      {"max(t, N)", "N"},
      {"min(t, N)", "t"},
      {"t <= N", "1"},
      {"N < t", "0"},
      {"max(t*x, N*x, 3*t*x/4)", "N*x"},
      {"max(N, N // 5)", "N"},
      {"min(N, (N + 4) // 5)", "(N + 4) // 5"},
      {"max(x^2, x // 5)", "x^2"},
      {"x // 3 <= x", "1"},
      {"x < x // 3", "0"},
      {"x // 7 <= x // 3", "1"},
      {"max(x // 3, x // 7, 0)", "x // 3"},
      {"x <= max(x, y)", "1"},
      {"max(y, x) + 1 <= y", "0"},
      {"max(x, min(y, x - 1))", "x"},
      {"min(2*x, 3*max(x, y))", "2*x"},
  };
  assert_pairs(s, ctx, pairs, sizeof pairs / sizeof *pairs);
  loom_assume five = {.integer = true, .has_min = true, .min = 5, .has_max = true, .max = 5};
  loom_expr m = loom_symbol(ctx, "m5", &five);
  assert_int_equal(loom_known_eq(ctx, m, loom_int(ctx, 5)), LOOM_YES);
  loom_ctx_free(ctx);
}

/* At k = 0: what is given, and its value; "" for division by zero. */
static const pair sides[] = {
    {"select(0 < k, x/k, 5)", "5"},
    {"select(k < 1, 7, x // k) + 1", "8"},
    {"max(select(0 < k, x % k, 2), select(k < 0, ceil(x/k), 3))", "3"},
    {"select(0 < k, select(x < k, 1/k, 2), 4)", "4"},
    {"select(x//3 < k, min(1, x/k) + x, k - 1)", "-1"},
    {"select(k < 1, x/k, 5)", ""},
    {"select(x // k, 1, 2)", ""},
    {"select(0 < k, 1, 2) + x/k", ""},
};

static void only_the_side_that_counts(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_assume any = {.integer = true, .has_min = true, .min = -3, .has_max = true, .max = 3};
  loom_expr s[N_SYMBOLS] = {loom_symbol(ctx, "k", &any), loom_symbol(ctx, "x", NULL),
                            loom_symbol(ctx, "y", NULL), loom_symbol(ctx, "w", NULL)};
  const loom_expr at[] = {loom_int(ctx, 0), loom_int(ctx, 6)};
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    loom_expr e = parse_with(ctx, sides[i].text, s), exact = LOOM_NONE;
    loom_expr want = sides[i].same[0] ? parse_with(ctx, sides[i].same, s) : LOOM_NONE;
    loom_status status = want == LOOM_NONE ? LOOM_ERR_DOMAIN : LOOM_OK;
    assert_int_equal(loom_substitute(ctx, e, 2, s, at), want);
    assert_int_equal(loom_error_status(ctx), status);
    loom_error_clear(ctx);
    loom_program *program = loom_compile(ctx, 1, &e, 2, s);
    assert_non_null(program);
    assert_int_equal(loom_program_exact(program, ctx, at, &exact), status);
    if (status == LOOM_OK) assert_int_equal(exact, want);
    loom_error_clear(ctx);
    double in[2] = {0, 6}, out, real;
    const double *inputs[] = {&in[0], &in[1]};
    double *outputs[] = {&out};
    assert_int_equal(loom_program_eval(program, 1, inputs, outputs), LOOM_OK);
    if (status == LOOM_OK) assert_true(loom_as_real(ctx, want, &real) && real == out);
    loom_program_free(program);
  }
  loom_ctx_free(ctx);
}

/* Too many pieces are refused before they have been counted. */
static void hopeless_searches_are_short(void **state) {
  (void)state;
  static const char *const texts[] = {"x // 3", "x % 1000", "x // 3 + x // 5",
                                      "max(x // 3, x^2 // 7 - 100)", "ceil(x / 7)"};
  loom_ctx *ctx = loom_ctx_new();
  loom_expr x = loom_symbol(ctx, "x", NULL);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    loom_expr e = loom_parse(ctx, texts[i], strlen(texts[i]), 1, &x, NULL);
    int64_t out[4];
    clock_t from = clock();
    assert_int_equal(loom_breakpoints(ctx, e, x, 1, INT64_C(10000000000), out, 4), -1);
    assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
    assert_true(clock() - from < CLOCKS_PER_SEC);
    loom_error_clear(ctx);
  }
  loom_expr e = loom_parse(ctx, "x // 9", 6, 1, &x, NULL);
  assert_int_equal(loom_breakpoints(ctx, e, x, 0, 90000, NULL, 0), 10000);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expressions_are_canonical),
      cmocka_unit_test(built_forms),
      cmocka_unit_test(only_the_side_that_counts),
      cmocka_unit_test(hopeless_searches_are_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
