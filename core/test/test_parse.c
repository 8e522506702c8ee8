/* SPDX-License-Identifier: MIT */
/* Tests of the infix notation: precedence, errors with their place, what is printed, depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "random_expr.h"

static loom_ctx *ctx;

static int setup(void **state) {
  (void)state;
  return (ctx = loom_ctx_new()) ? 0 : -1;
}
static int teardown(void **state) {
  (void)state;
  loom_ctx_free(ctx);
  return 0;
}

static loom_expr parse(const char *text) {
  return loom_parse(ctx, text, strlen(text), 0, NULL, NULL);
}

static void assert_same(const char *a, const char *b) {
  loom_expr x = parse(a), y = parse(b);
  if (x != y || x == LOOM_NONE) print_error("%s\n%s\n%s\n", a, b, loom_error_message(ctx));
  assert_int_equal(x, y);
  assert_int_not_equal(x, LOOM_NONE);
}

static void assert_prints(const char *text, loom_style style, const char *expected) {
  char *got = loom_print(ctx, parse(text), style);
  assert_non_null(got);
  assert_string_equal(got, expected);
  loom_free(got);
}

static void assert_error(const char *text, ptrdiff_t offset, const char *expected) {
  loom_error_clear(ctx);
  assert_int_equal(parse(text), LOOM_NONE);
  if (!strstr(loom_error_message(ctx), expected) || loom_error_offset(ctx) != offset)
    print_error("%s: %s at %d\n", text, loom_error_message(ctx), (int)loom_error_offset(ctx));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_SYNTAX);
  assert_non_null(strstr(loom_error_message(ctx), expected));
  assert_int_equal(loom_error_offset(ctx), offset);
  loom_error_clear(ctx);
}

static void test_precedence(void **state) {
  (void)state;
  assert_same("-a**2", "-(a*a)");
  assert_same("a/b/c", "(a/b)/c");
  assert_same("a/b*c", "(a/b)*c");
  assert_same("a - b - c", "a + (-b) + (-c)");
  assert_same("a - b + c", "(a - b) + c");
  assert_same("2**3**2", "512");
  assert_same("2^-1", "1/2");
  assert_same("a**-2", "1/(a*a)");
  assert_same("-a // 4", "(-a) // 4");
  assert_same("a*b // 4 * c", "((a*b) // 4)*c");
  assert_same("a // 4 % 3", "(a // 4) % 3");
  assert_same("a * b % 7", "(a*b) % 7");
  assert_same("a % 7 * b", "(a % 7)*b");
  assert_same("a - -b", "a + b");
  assert_same("+a", "a");
  assert_same("a * -b * c", "-(a*b*c)");
  assert_same("a + b < c * d", "lt(a + b, c*d)");
  assert_same("a > b", "b < a");
  assert_same("a >= b", "le(b, a)");
  assert_same("a <= b", "b >= a");
  assert_same("a == b", "eq(a, b)");
  assert_same("((((a))))", "a");
  assert_same("a\t+\n b", "b+a");
}

static void test_numbers_and_calls(void **state) {
  (void)state;
  assert_same("0.1", "1/10");
  assert_same("1e6", "1000000.0");
  assert_same("2.5e-1", "1/4");
  assert_same("123456789012345678901234567890 - 123456789012345678901234567889", "1");
  assert_same("Max(a, b, 3)", "max(3, b, a)");
  assert_same("Min(a, b)", "min(b, a)");
  assert_same("ceiling(a/4)", "ceil(a/4)");
  assert_same("FloorDiv(a, 4)", "a // 4");
  assert_same("floor_div(a, 4)", "a // 4");
  assert_same("Mod(a, 8)", "a % 8");
  assert_same("mod(a, 8)", "a % 8");
  assert_same("ModularIndexing(a, 4, 3)", "mod_index(a, 4, 3)");
  assert_same("select(1, a, b)", "a");
  assert_same("Heaviside(3)", "1");
  assert_same("Heaviside(0)", "1/2");
  assert_same("Heaviside(-3)", "0");
  assert_same("floor(7/2)", "3");
  assert_same("`max` + `a b`", "`a b` + `max`");
}

static void test_symbols(void **state) {
  (void)state;
  loom_assume any = {.integer = true};
  loom_expr a = loom_symbol(ctx, "a", &any);
  loom_expr e = loom_parse(ctx, "a + b", 5, 1, &a, NULL);
  assert_int_equal(e, loom_add(ctx, a, loom_symbol(ctx, "b", NULL)));
  assert_int_not_equal(e, parse("a + b"));
  assert_int_equal(loom_parse(ctx, "a + b", 5, 0, NULL, &any),
                   loom_add(ctx, a, loom_symbol(ctx, "b", &any)));
}

static void test_errors(void **state) {
  (void)state;
  assert_error("", 0, "expected a number, a name");
  assert_error("a +", 3, "expected a number, a name");
  assert_error("a b", 2, "expected an operator or the end");
  assert_error("(a", 2, "expected ')' to close what starts with '(a'");
  assert_error("2*max(a, b", 10, "starts with 'max(a, b'");
  assert_error("a)", 1, "')' without '('");
  assert_error("(a, b)", 2, "expected an operator or ')'");
  assert_error("max()", 4, "expected a number, a name");
  assert_error("max(a,)", 6, "expected a number, a name");
  assert_error("floor(a, b)", 0, "expected 1 argument of floor, got 2");
  assert_error("a + mod(b)", 4, "expected 2 arguments of mod, got 1");
  assert_error("foo(a)", 0, "unknown function 'foo'");
  assert_error("a ** b", 2, "integer exponent");
  assert_error("a ** 0.5", 2, "integer exponent");
  assert_error("a < b < c", 6, "parentheses around one of two comparisons");
  assert_error("a = b", 2, "'=='");
  assert_error("a $ b", 2, "unexpected character '$'");
  assert_error("1.", 2, "digit after '.'");
  assert_error("1e+", 1, "exponent");
  assert_error("2x", 1, "between a number and a name");
  assert_error("a \x01", 2, "unexpected byte 0x01");
  assert_error("`a", 0, "to close the name");
  assert_error("``", 1, "a name between the quotes");
  assert_int_equal(parse("a + 1/0"), LOOM_NONE);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_DOMAIN);
  assert_int_equal(loom_error_offset(ctx), 5);
}

static void test_printing(void **state) {
  (void)state;
  assert_prints("13824/stride0", LOOM_INFIX, "13824/stride0");
  assert_prints("1728/stride0 + 264", LOOM_INFIX, "264 + 1728/stride0");
  assert_prints("M0*128", LOOM_INFIX, "128*M0");
  assert_prints("2*b - a", LOOM_INFIX, "-a + 2*b");
  assert_prints("Max(264 + 1728/stride0, 1000)", LOOM_INFIX, "max(1000, 264 + 1728/stride0)");
  assert_prints("ceil(m/4)", LOOM_INFIX, "ceil(m/4)");
  assert_prints("t10 + t9 + t2*t10 + t02", LOOM_INFIX, "t02 + t9 + t10 + t2*t10");
  assert_prints("a // 4", LOOM_INFIX, "a // 4");
  assert_prints("a % 8", LOOM_INFIX, "a % 8");
  assert_prints("3*(a // 4) + 1", LOOM_INFIX, "1 + 3*(a // 4)");
  assert_prints("(a*b)/(2*c*d)", LOOM_INFIX, "a*b/(2*c*d)");
  assert_prints("-3/4*a**2/b**3", LOOM_INFIX, "-3*a^2/(4*b^3)");
  assert_prints("(a+b)*c", LOOM_INFIX, "c*(a + b)");
  assert_prints("-a", LOOM_INFIX, "-a");
  assert_prints("1/3", LOOM_INFIX, "1/3");
  assert_prints("select(a < b, a, b*2)", LOOM_INFIX, "select(a < b, a, 2*b)");
  assert_prints("`a b` + 1", LOOM_INFIX, "1 + `a b`");
  assert_prints("a/4 + b**2", LOOM_C, "a/4.0 + pow(b, 2.0)");
  assert_prints("max(a, b, 3)", LOOM_C, "fmax(3.0, fmax(a, b))");
  assert_prints("a // 4", LOOM_C, "floor(a/4.0)");
  assert_prints("a % 8", LOOM_C, "(a - 8.0*floor(a/8.0))");
  assert_prints("select(a < b, a, b*2)", LOOM_C, "(a < b ? a : 2.0*b)");
  assert_prints("1 + (a < b)", LOOM_C, "1.0 + (a < b ? 1.0 : 0.0)");
  assert_prints("max(a, 3) + a % 8", LOOM_LUA, "math.max(3, a) + a % 8");
  assert_prints("select(a < b, a, b)", LOOM_LUA, "(a < b and a or b)");
  assert_prints("select(a, 1, b)", LOOM_LUA, "1");
  assert_prints("13824/stride0", LOOM_LATEX, "\\frac{13824}{\\mathit{stride}_{0}}");
  assert_prints("M0*2 + a", LOOM_LATEX, "2 M_{0} + a");
  assert_prints("(a + b)/c", LOOM_LATEX, "\\frac{a + b}{c}");
  assert_prints("a // 4", LOOM_LATEX, "\\left\\lfloor \\frac{a}{4} \\right\\rfloor");
}

static void fill(char *at, const char *piece, size_t n) {
  for (size_t i = 0; i < n; i++) memcpy(at + i * strlen(piece), piece, strlen(piece));
  at[n * strlen(piece)] = '\0';
}

#define DEEP 100000

static void test_deep(void **state) {
  (void)state;
  char *text = malloc(16 * DEEP), *rest = malloc(16 * DEEP);
  fill(text, "(", DEEP);
  strcat(text, "a");
  fill(rest, ")", DEEP);
  strcat(text, rest);
  assert_int_equal(parse(text), parse("a"));

  fill(text, "-", DEEP);
  strcat(text, "a");
  assert_int_equal(parse(text), parse("a"));

  fill(text, "max(b,1+min(c,", DEEP / 4);
  strcat(text, "a");
  fill(rest, "))", DEEP / 4);
  strcat(text, rest);
  loom_expr e = parse(text);
  assert_int_not_equal(e, LOOM_NONE);
  char *printed = loom_print(ctx, e, LOOM_INFIX);
  assert_non_null(printed);
  assert_int_equal(parse(printed), e);
  loom_free(printed);

  fill(text, "(", DEEP);
  strcat(text, "a");
  assert_error(text, DEEP + 1, "starts with '(a'");
  free(text);
  free(rest);
}

static void test_long_sum(void **state) {
  (void)state;
  size_t size = (size_t)DEEP * 24;
  char *text = malloc(size);
  size_t n = 0;
  for (int i = 0; i < DEEP; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%d*x%d", i ? (i % 3 ? " + " : " - ") : "", i + 2,
                          i);
  loom_expr e = parse(text);
  assert_int_not_equal(e, LOOM_NONE);
  assert_int_equal(loom_expr_arity(ctx, e), DEEP);
  char *printed = loom_print(ctx, e, LOOM_INFIX);
  assert_non_null(printed);
  assert_int_equal(parse(printed), e);
  loom_free(printed);
  free(text);
}

static void test_round_trip(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_parse");
  loom_expr symbols[N_SYMBOLS];
  make_symbols(ctx, symbols);
  for (int i = 0; i < 3000; i++) {
    forest f = {.seed = seed + (uint64_t)i};
    loom_expr e = build_tree(ctx, &f, grow_tree(&f, 1 + i % 6), symbols);
    loom_error_clear(ctx);
    if (e == LOOM_NONE) continue;
    char *text = loom_print(ctx, e, LOOM_INFIX);
    assert_non_null(text);
    loom_expr back = loom_parse(ctx, text, strlen(text), N_SYMBOLS, symbols, NULL);
    if (back != e) {
      char *other = loom_print(ctx, back, LOOM_INFIX);
      print_error("case %d: %s\nreads as %s\n%s\n", i, text, other ? other : "nothing",
                  loom_error_message(ctx));
      loom_free(other);
    }
    assert_int_equal(back, e);
    for (int style = LOOM_C; style <= LOOM_LUA; style++) {
      char *styled = loom_print(ctx, e, (loom_style)style);
      assert_non_null(styled);
      loom_free(styled);
    }
    loom_free(text);
  }
}

/* Any text is read or refused; what is read prints and reads back. */
static void test_random_text(void **state) {
  (void)state;
  static const char *const pieces[] = {
      "a", "b",  "x1",   "7",     "0", "1.5",  "2e3", "+", "-",    "*",  "/",      "//",
      "%", "**", "^",    "(",     ")", "(",    ")",   ",", "<",    "<=", "==",     ">",
      " ", "`q", "max(", "ceil(", "$", "mod(", "1.",  "e", "min(", "`",  "floor(", "select("};
  enum { PIECES = sizeof pieces / sizeof *pieces };
  uint64_t seed = test_seed("test_random_text");
  size_t good = 0;
  for (int i = 0; i < 30000; i++) {
    char text[200] = "";
    for (int k = random_below(&seed, 12); k >= 0; k--)
      strcat(text, pieces[random_below(&seed, PIECES)]);
    loom_expr e = parse(text);
    if (e == LOOM_NONE) {
      assert_int_not_equal(loom_error_status(ctx), LOOM_OK);
      assert_true(loom_error_offset(ctx) >= 0);
      assert_true(loom_error_offset(ctx) <= (ptrdiff_t)strlen(text));
      loom_error_clear(ctx);
      continue;
    }
    char *printed = loom_print(ctx, e, LOOM_INFIX);
    if (parse(printed) != e) print_error("%s\n%s\n", text, printed);
    assert_int_equal(parse(printed), e);
    loom_free(printed);
    good++;
  }
  assert_true(good > 100);
}

/* The text of an expression does not depend on what was made before. */
static void test_history(void **state) {
  (void)state;
  static const char *const text =
      "max(z*y + x, 3*y/x - z, ceil(z/4)*x) + y*x*z - 7/z + min(x, y // 3, z % 5)";
  loom_ctx *other = loom_ctx_new();
  assert_int_not_equal(loom_parse(other, "z + 3*y*x + x // 5", 18, 0, NULL, NULL), LOOM_NONE);
  assert_int_not_equal(loom_parse(other, "7/z - z*y", 9, 0, NULL, NULL), LOOM_NONE);
  char *a = loom_print(ctx, parse(text), LOOM_INFIX);
  char *b = loom_print(other, loom_parse(other, text, strlen(text), 0, NULL, NULL), LOOM_INFIX);
  assert_string_equal(a, b);
  loom_free(a);
  loom_free(b);
  loom_ctx_free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_precedence, setup, teardown),
      cmocka_unit_test_setup_teardown(test_numbers_and_calls, setup, teardown),
      cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
      cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_printing, setup, teardown),
      cmocka_unit_test_setup_teardown(test_deep, setup, teardown),
      cmocka_unit_test_setup_teardown(test_long_sum, setup, teardown),
      cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
      cmocka_unit_test_setup_teardown(test_random_text, setup, teardown),
      cmocka_unit_test_setup_teardown(test_history, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
