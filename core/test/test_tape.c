/* SPDX-License-Identifier: MIT */
/* Tests of compiled programs: double against exact values, blocks, threads, history, width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>

#include "expr/tape.h"
#include "random_expr.h"

static loom_expr parse_in(loom_ctx *ctx, const char *text) {
  return loom_parse(ctx, text, strlen(text), 0, NULL, NULL);
}

/* ---- random sets -------------------------------------------------------------------------- */

#define MOST_POINTS 2048
#define SET 5

static bool is_close(double got, double expected) {
  return fabs(got - expected) <= 1e-12 * (1 + fabs(expected));
}

/* Every point of the ranges at once. */
static void check_set(loom_ctx *ctx, const loom_expr *symbols, uint64_t seed, tree_mode mode) {
  static double columns[N_SYMBOLS][MOST_POINTS], results[SET][MOST_POINTS];
  const double *inputs[N_SYMBOLS];
  double *outputs[SET];
  forest f[SET];
  loom_expr e[SET];
  int roots[SET], v[N_SYMBOLS];
  size_t n = 0;
  for (int k = 0; k < SET; k++) {
    do {
      f[k] = (forest){.seed = seed++, .mode = mode};
      roots[k] = grow_tree(&f[k], 1 + k);
      e[k] = build_tree(ctx, &f[k], roots[k], symbols);
      loom_error_clear(ctx);
    } while (e[k] == LOOM_NONE);
    outputs[k] = results[k];
  }
  for (int i = 0; i < N_SYMBOLS; i++) inputs[i] = columns[i];
  for (bool more = next_point(v, false); more && n < MOST_POINTS; more = next_point(v, true), n++)
    for (int i = 0; i < N_SYMBOLS; i++) columns[i][n] = v[i];
  loom_program *program = loom_compile(ctx, SET, e, N_SYMBOLS, symbols);
  assert_non_null(program);
  assert_int_equal(loom_program_eval(program, n, inputs, outputs), LOOM_OK);
  for (size_t p = 0; p < n; p++) {
    for (int i = 0; i < N_SYMBOLS; i++) v[i] = (int)columns[i][p];
    for (int k = 0; k < SET; k++) {
      ratio expected = eval_tree(&f[k], roots[k], v);
      if (!expected.den) continue;
      double want = (double)expected.num / (double)expected.den;
      bool integer = mode == INTEGER_TREE && fabs(want) < 0x1p53;
      if (integer ? results[k][p] == want : is_close(results[k][p], want)) continue;
      char *text = loom_print(ctx, e[k], LOOM_INFIX);
      print_error("%s at %d %d %d %d: %.17g, not %.17g\n", text, v[0], v[1], v[2], v[3],
                  results[k][p], want);
      loom_free(text);
      fail();
    }
  }
  loom_program_free(program);
}

/* Continuous trees within rounding; trees of integers, with their jumps, exactly. */
static void test_double(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_double");
  loom_ctx *ctx = loom_ctx_new();
  loom_expr symbols[N_SYMBOLS];
  make_symbols(ctx, symbols);
  for (int i = 0; i < 300; i++)
    check_set(ctx, symbols, seed + (uint64_t)(i * 1000), i % 2 ? CONTINUOUS_TREE : INTEGER_TREE);
  loom_ctx_free(ctx);
}

/* ---- exactness of what is rounded --------------------------------------------------------- */

/* Quotients that are whole numbers must come out whole, whatever the coefficients. */
static void test_whole_quotients(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  static const char *const texts[] = {"ceil(60/t)",
                                      "floor(t/49)",
                                      "floor(t/49 + u/49)",
                                      "floor(t/7 + 3*u/11 - 5/77)",
                                      "floor(t/u + u/t)",
                                      "ceil(5*t/(3*u) - 1/7)",
                                      "t/49",
                                      "(t/6 + u/3) // (1/3)",
                                      "(t/3) % (u/7)",
                                      "max(t/49, u/7) <= 1"};
  enum { N = sizeof texts / sizeof *texts, SIDE = 150 };
  loom_expr e[N], symbols[2] = {loom_symbol(ctx, "t", NULL), loom_symbol(ctx, "u", NULL)};
  for (int k = 0; k < N; k++) e[k] = parse_in(ctx, texts[k]);
  loom_program *program = loom_compile(ctx, N, e, 2, symbols);
  assert_non_null(program);
  static double t[SIDE * SIDE], u[SIDE * SIDE], out[N][SIDE * SIDE];
  const double *inputs[] = {t, u};
  double *outputs[N];
  for (int k = 0; k < N; k++) outputs[k] = out[k];
  for (int p = 0; p < SIDE * SIDE; p++) {
    t[p] = 1 + p % SIDE;
    u[p] = 1 + p / SIDE;
  }
  assert_int_equal(loom_program_eval(program, SIDE * SIDE, inputs, outputs), LOOM_OK);
  for (int p = 0; p < SIDE * SIDE; p += 7) {
    loom_expr at[] = {loom_int(ctx, (int)t[p]), loom_int(ctx, (int)u[p])}, exact[N];
    assert_int_equal(loom_program_exact(program, ctx, at, exact), LOOM_OK);
    for (int k = 0; k < N; k++) {
      double want = 0;
      assert_true(loom_as_real(ctx, exact[k], &want));
      assert_int_equal(exact[k], loom_substitute(ctx, e[k], 2, symbols, at));
      if (!is_close(out[k][p], want) || (floor(want) == want && out[k][p] != want))
        print_error("%s at %g %g: %.17g, not %.17g\n", texts[k], t[p], u[p], out[k][p], want);
      assert_true(is_close(out[k][p], want));
      if (floor(want) == want) assert_true(out[k][p] == want);
    }
  }
  loom_program_free(program);
  loom_ctx_free(ctx);
}

/* ---- shape of programs -------------------------------------------------------------------- */

static void test_outputs(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_expr t = loom_symbol(ctx, "t", NULL), twice = parse_in(ctx, "2*t"),
            seven = parse_in(ctx, "7");
  loom_expr e[] = {t, twice, seven, twice, parse_in(ctx, "max(2*t, 7)"), parse_in(ctx, "7/t")};
  loom_program *program = loom_compile(ctx, 6, e, 1, &t);
  assert_non_null(program);
  assert_int_equal(loom_program_inputs(program), 1);
  assert_int_equal(loom_program_outputs(program), 6);
  loom_ctx_free(ctx);
  double x[300], y[6][300], *outputs[] = {y[0], y[1], y[2], y[3], y[4], y[5]};
  const double *inputs[] = {x};
  for (int p = 0; p < 300; p++) x[p] = p;
  assert_int_equal(loom_program_eval(program, 300, inputs, outputs), LOOM_OK);
  for (int p = 0; p < 300; p++) {
    assert_true(y[0][p] == p && y[1][p] == 2 * p && y[2][p] == 7 && y[3][p] == 2 * p);
    assert_true(y[4][p] == (2 * p > 7 ? 2 * p : 7));
    assert_true(p ? is_close(y[5][p], 7.0 / p) : isinf(y[5][p]));
  }
  assert_int_equal(loom_program_eval(program, 0, inputs, outputs), LOOM_OK);
  loom_program_free(program);
}

static void test_errors(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_expr t = loom_symbol(ctx, "t", NULL), e = parse_in(ctx, "t + u"), out;
  assert_null(loom_compile(ctx, 1, &e, 1, &t));
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  assert_null(loom_compile(ctx, 1, &t, 1, &e));
  loom_error_clear(ctx);
  loom_expr quotient = parse_in(ctx, "1/t"), zero = loom_int(ctx, 0);
  loom_program *program = loom_compile(ctx, 1, &quotient, 1, &t);
  assert_int_equal(loom_program_exact(program, ctx, &zero, &out), LOOM_ERR_DOMAIN);
  loom_error_clear(ctx);
  assert_int_equal(loom_program_exact(program, ctx, &t, &out), LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  loom_ctx *other = loom_ctx_new();
  loom_expr three = loom_int(other, 3);
  assert_int_equal(loom_program_exact(program, other, &three, &out), LOOM_OK);
  assert_int_equal(out, loom_ratio(other, 1, 3));
  loom_program_free(program);
  loom_program_free(NULL);
  loom_ctx_free(other);
  loom_ctx_free(ctx);
}

/* Constants beyond 64 bits. */
static void test_big(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_expr t = loom_symbol(ctx, "t", NULL), two = loom_int(ctx, 2), out;
  loom_expr e = parse_in(ctx, "100000000000000000000000000001*t + 1/3**50");
  loom_program *program = loom_compile(ctx, 1, &e, 1, &t);
  assert_non_null(program);
  assert_int_equal(loom_program_exact(program, ctx, &two, &out), LOOM_OK);
  assert_int_equal(out, parse_in(ctx, "200000000000000000000000000002 + 1/3**50"));
  double x = 2, y;
  const double *inputs[] = {&x};
  double *outputs[] = {&y};
  assert_int_equal(loom_program_eval(program, 1, inputs, outputs), LOOM_OK);
  assert_true(is_close(y, 2e29));
  loom_program_free(program);
  loom_ctx_free(ctx);
}

/* Sub-expressions are shared: ten outputs that differ by a constant cost little more than one. */
static void test_sharing(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_expr core = parse_in(ctx, "max(ceil(t/7)*u + t*u*5/3, t // u % 8, 3*u)");
  loom_expr symbols[] = {loom_symbol(ctx, "t", NULL), loom_symbol(ctx, "u", NULL)}, e[10];
  for (int k = 0; k < 10; k++) e[k] = loom_add(ctx, loom_int(ctx, k + 1), core);
  loom_program *one = loom_compile(ctx, 1, e, 2, symbols);
  loom_program *ten = loom_compile(ctx, 10, e, 2, symbols);
  assert_int_equal(loom_program_length(ten), loom_program_length(one) + 9);
  loom_program_free(one);
  loom_program_free(ten);
  loom_ctx_free(ctx);
}

/* ---- the same bits whatever was made before ------------------------------------------------ */

static void test_history(void **state) {
  (void)state;
  static const char *const text =
      "0.1*x*y + 0.7*z/y + 1.3*x/z + max(0.3*x, 0.9*z*z/x) + 0.21*x*y*z "
      "+ min(x/3 + y/7, z/11 + y/13) - 2.7*ceil(x/(3*z))";
  static const char *const before[] = {"", "z*y*x + 1", "0.3*x - z*z", "z/y/11 - ceil(x/(3*z))"};
  static double x[1000], y[1000], z[1000], first[1000], out[1000];
  for (int p = 0; p < 1000; p++) {
    x[p] = 1 + p % 13;
    y[p] = 1 + p % 17;
    z[p] = 1 + p % 19;
  }
  for (int k = 0; k < 4; k++) {
    loom_ctx *ctx = loom_ctx_new();
    if (k) assert_int_not_equal(parse_in(ctx, before[k]), LOOM_NONE);
    loom_expr e = parse_in(ctx, text);
    loom_expr symbols[] = {parse_in(ctx, "x"), parse_in(ctx, "y"), parse_in(ctx, "z")};
    loom_program *program = loom_compile(ctx, 1, &e, 3, symbols);
    const double *inputs[] = {x, y, z};
    double *outputs[] = {k ? out : first};
    assert_int_equal(loom_program_eval(program, 1000, inputs, outputs), LOOM_OK);
    if (k) assert_memory_equal(first, out, sizeof out);
    loom_program_free(program);
    loom_ctx_free(ctx);
  }
}

/* ---- the same bits on every machine ------------------------------------------------------- */

static void run_kernels(const loom_program *program, size_t n_inputs) {
  enum { POINTS_HERE = 1003, OUTPUTS_HERE = 3 };
  static double columns[N_SYMBOLS][POINTS_HERE], first[OUTPUTS_HERE][POINTS_HERE],
      other[OUTPUTS_HERE][POINTS_HERE];
  const double *inputs[N_SYMBOLS];
  loom_program copy = *program;
  for (size_t i = 0; i < n_inputs; i++) {
    inputs[i] = columns[i];
    for (size_t p = 0; p < POINTS_HERE; p++)
      columns[i][p] = (double)((int)(p * (7 + 2 * i)) % 23 - 9) / (p % 5 ? 1 : 3);
  }
  for (size_t k = 0; (copy.run = loom_tape_kernel_at(k)) != NULL; k++) {
    double *outputs[OUTPUTS_HERE];
    for (int j = 0; j < OUTPUTS_HERE; j++) outputs[j] = k ? other[j] : first[j];
    assert_int_equal(loom_program_eval(&copy, POINTS_HERE, inputs, outputs), LOOM_OK);
    for (int j = 0; k && j < OUTPUTS_HERE; j++)
      for (int p = 0; p < POINTS_HERE; p++)
        if (!(isnan(first[j][p]) && isnan(other[j][p])))
          assert_memory_equal(&first[j][p], &other[j][p], sizeof(double));
  }
}

static void test_kernels(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_kernels");
  loom_ctx *ctx = loom_ctx_new();
  loom_expr symbols[N_SYMBOLS];
  make_symbols(ctx, symbols);
  assert_non_null(loom_tape_kernel_at(0));
  for (int i = 0; i < 200; i++) {
    loom_expr e[3] = {symbols[0], symbols[1], symbols[2]};
    for (int k = 0; k < 3; k++) {
      forest f = {.seed = seed++};
      loom_expr grown = build_tree(ctx, &f, grow_tree(&f, 5), symbols);
      if (grown != LOOM_NONE) e[k] = grown;
      loom_error_clear(ctx);
    }
    loom_program *program = loom_compile(ctx, 3, e, N_SYMBOLS, symbols);
    assert_non_null(program);
    run_kernels(program, N_SYMBOLS);
    loom_program_free(program);
  }
  loom_ctx_free(ctx);
}

/* ---- threads ------------------------------------------------------------------------------ */

#define THREADS 4
#define POINTS 5000

typedef struct job {
  const loom_program *program;
  double x[POINTS], y[POINTS], out[2][POINTS];
  loom_status status;
} job;

static void *run_job(void *data) {
  job *j = data;
  const double *inputs[] = {j->x, j->y};
  double *outputs[] = {j->out[0], j->out[1]};
  loom_ctx *ctx = loom_ctx_new();
  loom_expr at[] = {loom_int(ctx, 5), loom_int(ctx, 3)}, exact[2];
  for (int i = 0; i < 20 && j->status == LOOM_OK; i++) {
    j->status = loom_program_eval(j->program, POINTS, inputs, outputs);
    if (j->status == LOOM_OK) j->status = loom_program_exact(j->program, ctx, at, exact);
  }
  loom_ctx_free(ctx);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_expr e[] = {parse_in(ctx, "x*y + 3*x/y + max(x, 2*y)"),
                   parse_in(ctx, "ceil(x/(2*y)) + x % 7")};
  loom_expr symbols[] = {parse_in(ctx, "x"), parse_in(ctx, "y")};
  loom_program *program = loom_compile(ctx, 2, e, 2, symbols);
  loom_ctx_free(ctx);
  pthread_t threads[THREADS];
  job *jobs = calloc(THREADS, sizeof *jobs);
  for (int t = 0; t < THREADS; t++) {
    jobs[t].program = program;
    for (int p = 0; p < POINTS; p++) {
      jobs[t].x[p] = 1 + (p + t) % 97;
      jobs[t].y[p] = 1 + p % 31;
    }
    assert_int_equal(pthread_create(&threads[t], NULL, run_job, &jobs[t]), 0);
  }
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
    assert_int_equal(jobs[t].status, LOOM_OK);
    for (int p = 0; p < POINTS; p++) {
      double x = jobs[t].x[p], y = jobs[t].y[p];
      assert_true(is_close(jobs[t].out[0][p], x * y + 3 * x / y + (x > 2 * y ? x : 2 * y)));
      assert_true(jobs[t].out[1][p] == ceil(x / (2 * y)) + fmod(x, 7));
    }
  }
  free(jobs);
  loom_program_free(program);
}

/* ---- deep and wide ------------------------------------------------------------------------ */

static void test_deep_and_wide(void **state) {
  (void)state;
  enum { N = 100000 };
  loom_ctx *ctx = loom_ctx_new();
  loom_expr t = loom_symbol(ctx, "t", NULL), u = loom_symbol(ctx, "u", NULL), deep = t, e[2];
  for (int i = 0; i < N / 2; i++) {
    deep = loom_max(ctx, 2, (loom_expr[]){loom_mul(ctx, deep, loom_int(ctx, i % 2 ? 2 : -1)), u});
    deep = loom_sub(ctx, deep, loom_int(ctx, 1));
  }
  loom_expr *terms = malloc(N * sizeof *terms);
  for (int i = 0; i < N; i++) terms[i] = loom_div(ctx, u, loom_add(ctx, t, loom_int(ctx, i)));
  e[0] = deep;
  e[1] = loom_sum(ctx, N, terms);
  loom_expr symbols[] = {t, u};
  loom_program *program = loom_compile(ctx, 2, e, 2, symbols);
  assert_non_null(program);
  double at[] = {1.0, 2.0}, got[2], sum = 0;
  const double *inputs[] = {&at[0], &at[1]};
  double *outputs[] = {&got[0], &got[1]};
  assert_int_equal(loom_program_eval(program, 1, inputs, outputs), LOOM_OK);
  for (int i = 0; i < N; i++) sum += 2.0 / (1 + i);
  assert_true(fabs(got[1] - sum) < 1e-9 * sum);
  loom_expr slope = loom_diff(ctx, e[0], t), one = loom_int(ctx, 3);
  assert_int_not_equal(slope, LOOM_NONE);
  assert_int_not_equal(loom_diff(ctx, e[1], t), LOOM_NONE);
  assert_int_not_equal(loom_substitute(ctx, e[0], 1, &t, &one), LOOM_NONE);
  assert_int_not_equal(loom_expand(ctx, e[0]), LOOM_NONE);
  assert_int_not_equal(loom_known_lt(ctx, e[0], u), LOOM_YES);
  loom_program_free(program);
  free(terms);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_double),  cmocka_unit_test(test_whole_quotients),
      cmocka_unit_test(test_outputs), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_big),     cmocka_unit_test(test_sharing),
      cmocka_unit_test(test_history), cmocka_unit_test(test_kernels),
      cmocka_unit_test(test_threads), cmocka_unit_test(test_deep_and_wide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
