/* SPDX-License-Identifier: MIT */
/* Every expression of spec/golden/expr at every sample point: exactly where the file says so, else
** to 1e-12 relative; as parsed, expanded, printed and read again, and through a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "einloom.h"
#include "golden_symbols.h"

#define MOST_SYMBOLS 16

typedef struct sample {
  loom_ctx *ctx;
  const json_t *item;
  bool exact;
  size_t n;
  loom_expr symbols[MOST_SYMBOLS];
} sample;

static const char *text_of(const json_t *item, const char *key) {
  const char *text = json_string_value(json_object_get(item, key));
  assert_non_null(text);
  return text;
}

static void make_symbols(sample *s) {
  s->n = golden_symbols(s->ctx, s->item, s->symbols, MOST_SYMBOLS);
  assert_true(s->n <= MOST_SYMBOLS);
}

static void assert_close(const sample *s, double got, double want) {
  if (!(fabs(got - want) <= 1e-12 * fabs(want)))
    print_error("%s: %.17g, not %.17g\n", text_of(s->item, "id"), got, want);
  assert_true(fabs(got - want) <= 1e-12 * fabs(want));
}

/* The sample's value as a double. */
static double expected_real(const sample *s, const json_t *value) {
  double want = 0;
  if (!s->exact) return json_number_value(value);
  const char *text = json_string_value(value);
  assert_non_null(text);
  assert_true(loom_as_real(s->ctx, loom_decimal(s->ctx, text, strlen(text)), &want));
  return want;
}

static void assert_value(const sample *s, loom_expr got, const json_t *value) {
  double real = 0;
  if (s->exact) {
    const char *text = json_string_value(value);
    assert_non_null(text);
    if (got != loom_decimal(s->ctx, text, strlen(text)))
      print_error("%s: expected %s\n", text_of(s->item, "id"), text);
    assert_int_equal(got, loom_decimal(s->ctx, text, strlen(text)));
  } else {
    assert_true(loom_as_real(s->ctx, got, &real));
    assert_close(s, real, json_number_value(value));
  }
}

static size_t check_points(const sample *s, size_t n, const loom_expr *forms) {
  const json_t *points = json_object_get(s->item, "points");
  loom_program *program = loom_compile(s->ctx, n, forms, s->n, s->symbols);
  assert_non_null(program);
  for (size_t p = 0; p < json_array_size(points); p++) {
    const json_t *point = json_array_get(points, p), *value = json_object_get(point, "value");
    loom_expr at[MOST_SYMBOLS], exact[4];
    double columns[MOST_SYMBOLS], results[4], *outputs[4];
    const double *inputs[MOST_SYMBOLS];
    for (size_t i = 0; i < s->n; i++) {
      json_int_t v = json_integer_value(json_array_get(json_object_get(point, "at"), i));
      at[i] = loom_int(s->ctx, v);
      columns[i] = (double)v;
      inputs[i] = &columns[i];
    }
    for (size_t k = 0; k < n; k++) outputs[k] = &results[k];
    assert_int_equal(loom_program_exact(program, s->ctx, at, exact), LOOM_OK);
    assert_int_equal(loom_program_eval(program, 1, inputs, outputs), LOOM_OK);
    for (size_t k = 0; k < n; k++) {
      assert_value(s, loom_substitute(s->ctx, forms[k], s->n, s->symbols, at), value);
      assert_value(s, exact[k], value);
      assert_close(s, results[k], expected_real(s, value));
    }
  }
  loom_program_free(program);
  return json_array_size(points);
}

static size_t check_expression(loom_ctx *ctx, const json_t *item) {
  sample s = {.ctx = ctx, .item = item, .exact = json_is_true(json_object_get(item, "exact"))};
  const char *text = text_of(item, "expr");
  make_symbols(&s);
  loom_expr e = loom_parse(ctx, text, strlen(text), s.n, s.symbols, NULL);
  if (e == LOOM_NONE) print_error("%s: %s\n", text_of(item, "id"), loom_error_message(ctx));
  assert_int_not_equal(e, LOOM_NONE);
  char *printed = loom_print(ctx, e, LOOM_INFIX);
  assert_non_null(printed);
  loom_expr again = loom_parse(ctx, printed, strlen(printed), s.n, s.symbols, NULL);
  if (again != e) print_error("%s: %s\n", text_of(item, "id"), printed);
  assert_int_equal(again, e);
  loom_free(printed);
  loom_expr forms[] = {e, loom_expand(ctx, e)};
  return check_points(&s, 2, forms);
}

static void test_golden(void **state) {
  (void)state;
  json_error_t error;
  json_t *file =
      json_load_file(EINLOOM_GOLDEN "/expr/expressions.json", JSON_REJECT_DUPLICATES, &error);
  if (!file) print_error("%s:%d: %s\n", error.source, error.line, error.text);
  assert_non_null(file);
  const json_t *items = json_object_get(file, "expressions");
  size_t count = (size_t)json_integer_value(json_object_get(file, "count")), points = 0;
  assert_true(count > 0);
  assert_int_equal(json_array_size(items), count);
  loom_ctx *ctx = loom_ctx_new();
  for (size_t i = 0; i < count; i++) points += check_expression(ctx, json_array_get(items, i));
  assert_true(points >= count);
  printf("test_golden_expr: %zu expressions, %zu points\n", count, points);
  loom_ctx_free(ctx);
  json_decref(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
