/* SPDX-License-Identifier: MIT */
/* Tests of named functions: identity, facts, values by every way there is, what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>

#include "expr_fixture.h"

/* ---- functions ---------------------------------------------------------------------------- */

/* scale * greatest common divisor; no value where both are 0. */
static loom_status gcd_of(const void *data, const int64_t *args, int64_t *value, char *message,
                          size_t size) {
  int64_t a = args[0], b = args[1], scale;
  memcpy(&scale, data, sizeof scale);
  if (a == 0 && b == 0) {
    snprintf(message, size, "0 and 0 have no greatest divisor");
    return LOOM_ERR_DOMAIN;
  }
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  *value = scale * (a < 0 ? -a : a);
  return LOOM_OK;
}

static bool least_upper(const void *data, const int64_t *lo, const int64_t *hi, int64_t *bound) {
  int64_t scale;
  memcpy(&scale, data, sizeof scale);
  if (lo[0] < 1 || hi[0] == INT64_MAX) return false;
  *bound = scale * hi[0];
  return true;
}

static loom_function *make_gcd(loom_ctx *c, const char *name, int64_t scale) {
  loom_function_info info = {.name = name,
                             .arity = 2,
                             .evaluate = gcd_of,
                             .upper = least_upper,
                             .has_min = true,
                             .data = &scale,
                             .size = sizeof scale};
  loom_function *f = loom_function_new(c, &info);
  assert_non_null(f);
  return f;
}

static loom_expr call(const loom_function *f, loom_expr a, loom_expr b) {
  return loom_call(ctx, f, 2, (loom_expr[]){a, b});
}

static loom_expr named(const char *name) {
  return loom_symbol(ctx, name, NULL);
}

static void check_text(loom_expr e, loom_style style, const char *expected) {
  char *text = loom_print(ctx, e, style);
  assert_string_equal(text, expected);
  loom_free(text);
}

static void check_error(loom_status status, const char *part) {
  assert_int_equal(loom_error_status(ctx), status);
  assert_non_null(strstr(loom_error_message(ctx), part));
  loom_error_clear(ctx);
}

/* ---- building ----------------------------------------------------------------------------- */

static void test_numbers_are_evaluated(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "gcd", 1);
  assert_int_equal(call(f, loom_int(ctx, 12), loom_int(ctx, 18)), loom_int(ctx, 6));
  assert_int_equal(call(f, loom_int(ctx, 0), loom_int(ctx, 0)), LOOM_NONE);
  check_error(LOOM_ERR_DOMAIN, "gcd: 0 and 0 have no greatest divisor");
  assert_int_equal(call(f, loom_int(ctx, 1), loom_ratio(ctx, 1, 2)), LOOM_NONE);
  check_error(LOOM_ERR_DOMAIN, "argument 2 of gcd must be an integer");
  assert_int_equal(loom_call(ctx, f, 1, (loom_expr[]){named("x")}), LOOM_NONE);
  check_error(LOOM_ERR_ARGUMENT, "gcd has 2 arguments, not 1");
  loom_function_free(f);
}

static void test_refuses_bad_functions(void **state) {
  (void)state;
  assert_null(loom_function_new(ctx, &(loom_function_info){.name = "a b", .evaluate = gcd_of}));
  check_error(LOOM_ERR_ARGUMENT, "a function needs a name");
  assert_null(loom_function_new(ctx, &(loom_function_info){.name = "f"}));
  check_error(LOOM_ERR_ARGUMENT, "a function needs a name");
  assert_null(loom_function_new(
      ctx,
      &(loom_function_info){.name = "f", .evaluate = gcd_of, .arity = LOOM_MOST_ARGUMENTS + 1}));
  check_error(LOOM_ERR_ARGUMENT, "a function needs a name");
}

static void test_equal_calls_are_one_node(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "gcd", 1), *again = make_gcd(ctx, "gcd", 1);
  loom_function *twice = make_gcd(ctx, "gcd", 2), *other = make_gcd(ctx, "divisor", 1);
  loom_expr x = named("x"), y = named("y"), e = call(f, x, y);
  assert_int_equal(call(again, x, y), e);
  assert_int_not_equal(call(f, y, x), e);
  assert_int_not_equal(call(twice, x, y), e);
  assert_int_not_equal(call(other, x, y), e);
  assert_true(loom_expr_order(ctx, call(other, x, y), e) < 0);
  assert_int_equal(loom_expr_order(ctx, call(twice, x, y), e),
                   -loom_expr_order(ctx, e, call(twice, x, y)));
  assert_int_equal(loom_expr_kind(ctx, e), LOOM_CALL);
  assert_string_equal(loom_call_name(ctx, e), "gcd");
  assert_null(loom_call_name(ctx, x));
  assert_int_equal(loom_expr_arity(ctx, e), 2);
  assert_int_equal(loom_expr_arg(ctx, e, 1), y);
  assert_int_equal(loom_call(ctx, loom_call_function(ctx, e), 2, (loom_expr[]){x, y}), e);
  loom_function_free(f);
  loom_function_free(again);
  loom_function_free(twice);
  loom_function_free(other);
}

static void test_text(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "reads_I_Reg", 1);
  loom_expr x = named("x"), one = loom_int(ctx, 1);
  loom_expr e = loom_mul(ctx, loom_int(ctx, 2), call(f, loom_add(ctx, x, one), named("t0")));
  check_text(e, LOOM_INFIX, "2*reads_I_Reg(1 + x, t0)");
  check_text(e, LOOM_C, "2.0*reads_I_Reg(1.0 + x, t0)");
  check_text(e, LOOM_LUA, "2*reads_I_Reg(1 + x, t0)");
  check_text(call(f, x, one), LOOM_LATEX, "\\mathit{reads\\_I\\_Reg}\\left(x, 1\\right)");
  loom_function_free(f);
}

static void test_facts(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "gcd", 3);
  loom_assume small = {.integer = true, .has_min = true, .min = 1, .has_max = true, .max = 7};
  loom_expr x = loom_symbol(ctx, "s", &small), y = named("y"), lo, hi;
  assert_int_equal(loom_bounds(ctx, call(f, x, y), &lo, &hi), LOOM_OK);
  assert_int_equal(lo, loom_int(ctx, 0));
  assert_int_equal(hi, loom_int(ctx, 21));
  assert_int_equal(loom_bounds(ctx, call(f, y, x), &lo, &hi), LOOM_OK);
  assert_int_equal(hi, LOOM_NONE);
  loom_expr e = call(f, x, y);
  assert_int_equal(loom_is_integer(ctx, e), LOOM_YES);
  assert_int_equal(loom_floor(ctx, e), e);
  assert_int_equal(loom_max(ctx, 2, (loom_expr[]){e, loom_int(ctx, 0)}), e);
  assert_int_equal(loom_known_le(ctx, e, loom_int(ctx, 21)), LOOM_YES);
  assert_int_equal(loom_known_le(ctx, e, loom_int(ctx, 20)), LOOM_UNKNOWN);
  assert_int_equal(loom_known_lt(ctx, e, loom_int(ctx, 2)), LOOM_UNKNOWN);
  loom_function_free(f);
}

/* ---- working ------------------------------------------------------------------------------ */

static void test_substitution(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "gcd", 1);
  loom_expr x = named("x"), y = named("y"), e = loom_add(ctx, call(f, x, y), x);
  loom_expr six = loom_int(ctx, 6);
  loom_expr half = loom_substitute(ctx, e, 1, &x, &six);
  check_text(half, LOOM_INFIX, "6 + gcd(6, y)");
  assert_int_equal(loom_substitute(ctx, half, 1, &y, (loom_expr[]){loom_int(ctx, 4)}),
                   loom_int(ctx, 8));
  loom_expr zero = loom_int(ctx, 0);
  loom_assume any = {.integer = true};
  loom_expr z = loom_symbol(ctx, "z", &any), bad = call(f, z, z);
  assert_int_equal(loom_substitute(ctx, bad, 1, &z, &zero), LOOM_NONE);
  check_error(LOOM_ERR_DOMAIN, "no greatest divisor");
  /* On the side of a select that does not count it is no error. */
  loom_expr guarded = loom_select(ctx, loom_eq(ctx, z, zero), six, bad);
  assert_int_equal(loom_substitute(ctx, guarded, 1, &z, &zero), six);
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  loom_expr step = loom_difference(ctx, call(f, x, six), x, loom_int(ctx, 1));
  assert_int_equal(loom_substitute(ctx, step, 1, &x, (loom_expr[]){loom_int(ctx, 2)}),
                   loom_int(ctx, 1));
  loom_function_free(f);
}

static void test_refused_operations(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "gcd", 1);
  loom_expr x = named("x"), y = named("y"), e = call(f, x, loom_int(ctx, 6));
  assert_int_equal(loom_diff(ctx, e, x), LOOM_NONE);
  check_error(LOOM_ERR_ARGUMENT, "gcd, a function that is computed, has no derivative");
  assert_int_equal(loom_diff(ctx, loom_add(ctx, e, y), y), loom_int(ctx, 1));
  assert_int_equal(loom_breakpoints(ctx, e, x, 1, 9, NULL, 0), -1);
  check_error(LOOM_ERR_ARGUMENT, "gcd, a function that is computed, tells no pieces");
  loom_function_free(f);
}

static void test_collection(void **state) {
  (void)state;
  loom_function *f = make_gcd(ctx, "gcd", 1);
  loom_expr x = named("x"), e = call(f, loom_add(ctx, x, loom_int(ctx, 1)), x);
  loom_expr dead = call(f, x, x);
  uint32_t mark = loom_scratch_mark(ctx);
  call(f, x, loom_int(ctx, 3));
  loom_scratch_release(ctx, mark);
  loom_function_free(f);
  uint32_t generation = loom_expr_generation(ctx, dead);
  loom_gc_begin(ctx);
  loom_gc_mark(ctx, e);
  loom_gc_end(ctx);
  assert_int_not_equal(loom_expr_generation(ctx, dead), generation);
  check_text(e, LOOM_INFIX, "gcd(1 + x, x)");
  assert_int_equal(loom_substitute(ctx, e, 1, &x, (loom_expr[]){loom_int(ctx, 8)}),
                   loom_int(ctx, 1));
}

/* ---- programs ----------------------------------------------------------------------------- */

#define POINTS 700

typedef struct job {
  const loom_program *program;
  double x[POINTS], out[POINTS], other[POINTS];
} job;

static void *run_job(void *data) {
  job *j = data;
  for (int p = 0; p < POINTS; p++) j->x[p] = p;
  const double *inputs[] = {j->x};
  double *outputs[] = {j->out, j->other};
  return loom_program_eval(j->program, POINTS, inputs, outputs) == LOOM_OK ? NULL : data;
}

static int64_t gcd64(int64_t a, int64_t b) {
  return b ? gcd64(b, a % b) : a;
}

static void check_job(const job *j) {
  for (int p = 0; p < POINTS; p++) {
    double both = (double)gcd64(p, 12) + 5 * (double)gcd64(p + 1, p) + p;
    assert_true(p == 0 ? j->out[p] == 17 : j->out[p] == both);
    assert_true(p ? j->other[p] == p : isnan(j->other[p]));
  }
}

/* The program outlives the context and everybody's hold of the functions. */
static void test_programs(void **state) {
  (void)state;
  loom_ctx *c = loom_ctx_new();
  loom_function *f = make_gcd(c, "gcd", 1), *five = make_gcd(c, "gcd", 5);
  loom_assume any = {.integer = true, .has_min = true};
  loom_expr x = loom_symbol(c, "x", &any), one = loom_int(c, 1);
  loom_expr outputs[2] = {
      loom_add(c, x,
               loom_add(c, loom_call(c, f, 2, (loom_expr[]){x, loom_int(c, 12)}),
                        loom_call(c, five, 2, (loom_expr[]){loom_add(c, x, one), x}))),
      loom_call(c, f, 2, (loom_expr[]){x, x})};
  loom_program *program = loom_compile(c, 2, outputs, 1, &x);
  assert_non_null(program);
  loom_function_free(f);
  loom_function_free(five);
  loom_ctx_free(c);
  static job jobs[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    jobs[i].program = program;
    assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
  }
  for (int i = 0; i < 3; i++) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
    check_job(&jobs[i]);
  }
  loom_expr out[2], in = loom_int(ctx, 30);
  assert_int_equal(loom_program_exact(program, ctx, &in, out), LOOM_OK);
  assert_int_equal(out[0], loom_int(ctx, 6 + 5 + 30));
  assert_int_equal(out[1], in);
  in = loom_int(ctx, 0);
  assert_int_equal(loom_program_exact(program, ctx, &in, out), LOOM_ERR_DOMAIN);
  check_error(LOOM_ERR_DOMAIN, "gcd: 0 and 0");
  loom_program_free(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers_are_evaluated),
                                     cmocka_unit_test(test_refuses_bad_functions),
                                     cmocka_unit_test(test_equal_calls_are_one_node),
                                     cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_facts),
                                     cmocka_unit_test(test_substitution),
                                     cmocka_unit_test(test_refused_operations),
                                     cmocka_unit_test(test_collection),
                                     cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
