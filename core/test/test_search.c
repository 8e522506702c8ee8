/* SPDX-License-Identifier: MIT */
/* A space with one template against every choice of its tiles, and with little memory. */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "search_text.h"

enum { M = 12, N = 8, K = 6, N_LOOPS = 6 };
static const char *const workload = "m=12 n=8 k=6 MM:A[m,k],B[k,n]>Z[m,n]";
static const char *const nest =
    "Main[A,B,Z] m:m0 n:n0 Buf[Z] k:k0 Buf[A] Buf[B] m:1 n:1 k:1 +MM@MAC";

static text_case make(void) {
  text_case c = case_begin(workload, "Main Buf +MAC", nest);
  case_action(&c, 0, "read", 50, 3);
  case_action(&c, 0, "write", 60, 2);
  case_action(&c, 1, "read", 2, 7);
  case_action(&c, 1, "write", 3, 5);
  case_action(&c, 2, "compute", 1, 4);
  case_number(&c, 1, LOOM_LEAK_POWER, 1);
  return c;
}

/* A space with the template added, not explored. */
static loom_space *start(text_case *c, const loom_costs *costs, loom_space_options options,
                         double bits) {
  static const char *const tiles[N_LOOPS] = {"m0", "n0", "k0"};
  static const int variables[N_LOOPS] = {0, 1, 2, 0, 1, 2};
  const int64_t sizes[] = {M, N, K};
  loom_space_loop loops[N_LOOPS];
  template_loops(c->ctx, N_LOOPS, variables, tiles, loops);
  loom_space_template t = {.n_loops = N_LOOPS, .loops = loops};
  loom_space *s = space_of_product(c->ctx, &options, bits, LOOM_MEMORY_PRIVATE, sizes);
  if (s && loom_space_add(s, 0, costs, &t) == 0) return s;
  loom_space_free(s);
  return NULL;
}

static const loom_space_options both = {.energy = true, .latency = true, .max_fused_loops = -1};

static loom_space *space_of(text_case *c, const loom_costs *costs, loom_space_options options,
                            double bits) {
  loom_space *s = start(c, costs, options, bits);
  if (s && loom_space_explore(s, 0) == LOOM_OK && loom_space_join(s, 1, &only_use) == LOOM_OK)
    return s;
  loom_space_free(s);
  return NULL;
}

/* Energy, latency and bits at tiles. */
static void figures(text_case *c, const loom_costs *costs, const int *tiles, double out[3]) {
  const char *const names[] = {"m0", "n0", "k0"};
  const loom_einsum_costs *e = loom_costs_einsum(costs, 0);
  loom_expr symbols[3], values[3];
  for (int i = 0; i < 3; i++) {
    symbols[i] = loom_symbol(c->ctx, names[i], NULL);
    values[i] = loom_int(c->ctx, tiles[i]);
  }
  loom_expr energy = loom_add(c->ctx, e->dynamic_energy, e->leak_energy);
  loom_expr all[] = {energy, e->latency, cost_component(costs, 0, "Buf")->bits};
  for (int i = 0; i < 3; i++)
    assert_true(loom_as_real(c->ctx, loom_substitute(c->ctx, all[i], 3, symbols, values), &out[i]));
}

static bool near(double a, double b) {
  return a <= b * (1 + 1e-12) && b <= a * (1 + 1e-12);
}

/* Every result is a point, and every point is reached by a result. */
static void check_front(text_case *c, const loom_costs *costs, const loom_space *s, double bits) {
  size_t n_results = loom_space_results(s), n;
  for (size_t i = 0; i < n_results; i++) {
    loom_space_choice choice;
    double x[3];
    const double *result = loom_space_result(s, i, &n);
    assert_int_equal(n, 2);
    assert_int_equal(loom_space_choose(s, i, 0, &choice), LOOM_OK);
    figures(c, costs, (const int[]){choice.tiles[0], choice.tiles[1], choice.tiles[2]}, x);
    assert_true(near(x[0], result[0]) && near(x[1], result[1]) && x[2] <= bits);
  }
  for (int m = 1; m <= M; m++)
    for (int n0 = 1; n0 <= N; n0++)
      for (int k = 1; k <= K; k++) {
        double x[3];
        if (M % m || N % n0 || K % k) continue;
        figures(c, costs, (const int[]){m, n0, k}, x);
        bool reached = x[2] > bits;
        for (size_t i = 0; i < n_results && !reached; i++) {
          const double *r = loom_space_result(s, i, &n);
          reached = r[0] <= x[0] * (1 + 1e-12) && r[1] <= x[1] * (1 + 1e-12);
        }
        assert_true(reached);
      }
}

static void finds_the_front(void **state) {
  (void)state;
  const double sizes[] = {100, 200, 400, 900, 2000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    text_case c = make();
    loom_costs *costs = template_costs(&c);
    assert_non_null(costs);
    loom_space *s = space_of(&c, costs, both, sizes[i]);
    assert_non_null(s);
    check_front(&c, costs, s, sizes[i]);
    loom_space_free(s);
    loom_costs_free(costs);
    case_end(&c);
  }
}

static void keeps_one_of_a_product(void **state) {
  (void)state;
  text_case c = make();
  loom_costs *costs = template_costs(&c);
  loom_space_options one = both;
  one.product = true;
  size_t n;
  double least = INFINITY;
  loom_space *s = space_of(&c, costs, both, 400);
  for (size_t i = 0; i < loom_space_results(s); i++) {
    const double *x = loom_space_result(s, i, &n);
    if (x[0] * x[1] < least) least = x[0] * x[1];
  }
  loom_space_free(s);
  s = space_of(&c, costs, one, 400);
  double found = INFINITY;
  for (size_t i = 0; i < loom_space_results(s); i++) {
    const double *x = loom_space_result(s, i, &n);
    if (x[0] * x[1] < found) found = x[0] * x[1];
  }
  assert_true(near(least, found));
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

/* The results of two spaces are the same, one by one. */
static void check_same(const loom_space *a, const loom_space *b) {
  size_t n;
  assert_true(loom_space_results(a) > 0);
  assert_int_equal(loom_space_results(a), loom_space_results(b));
  for (size_t i = 0; i < loom_space_results(a); i++) {
    loom_space_choice x, y;
    const double *mine = loom_space_result(a, i, &n), *other = loom_space_result(b, i, &n);
    assert_memory_equal(mine, other, n * sizeof *mine);
    assert_int_equal(loom_space_choose(a, i, 0, &x), LOOM_OK);
    assert_int_equal(loom_space_choose(b, i, 0, &y), LOOM_OK);
    assert_int_equal(x.number, y.number);
    assert_memory_equal(x.tiles, y.tiles, x.n_loops * sizeof *x.tiles);
  }
}

static void goes_in_steps(void **state) {
  (void)state;
  text_case c = make();
  loom_costs *costs = template_costs(&c);
  loom_space *whole = space_of(&c, costs, both, 400), *s = start(&c, costs, both, 400);
  size_t steps = 0;
  for (bool more = true; more; steps++)
    assert_int_equal(loom_space_explore_some(s, 0, 1, &more), LOOM_OK);
  assert_int_equal(steps, 2);
  assert_int_equal(loom_space_join_begin(s, 1, &only_use, LOOM_JOIN_ALL), LOOM_OK);
  for (bool more = true; more;) {
    double bound[2];
    assert_true(loom_space_bound(s, bound));
    for (size_t i = 0, n; i < loom_space_results(whole); i++)
      for (int k = 0; k < 2; k++) assert_true(bound[k] <= loom_space_result(whole, i, &n)[k]);
    assert_int_equal(loom_space_join_some(s, 1, &more), LOOM_OK);
  }
  check_same(whole, s);
  loom_space_free(whole);
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

static void stops(void **state) {
  (void)state;
  text_case c = make();
  loom_costs *costs = template_costs(&c);
  loom_space *whole = space_of(&c, costs, both, 200), *s = start(&c, costs, both, 200);
  bool more;
  loom_stop(c.ctx);
  assert_int_equal(loom_space_explore(s, 0), LOOM_ERR_STOPPED);
  assert_int_equal(loom_space_counts_of(s, 0).sketched, 0);
  loom_go_on(c.ctx);
  loom_error_clear(c.ctx);
  assert_int_equal(loom_space_explore_some(s, 0, 1, &more), LOOM_OK);
  loom_stop(c.ctx);
  assert_int_equal(loom_space_explore(s, 0), LOOM_ERR_STOPPED);
  loom_go_on(c.ctx);
  loom_error_clear(c.ctx);
  assert_int_equal(loom_space_join_begin(s, 1, &only_use, LOOM_JOIN_QUICK), LOOM_OK);
  assert_int_equal(loom_space_join_some(s, SIZE_MAX, &more), LOOM_OK);
  assert_true(loom_space_results(s) > 0 && !more);
  assert_int_equal(loom_space_explore(s, 0), LOOM_OK);
  assert_int_equal(loom_space_join_begin(s, 1, &only_use, LOOM_JOIN_ALL), LOOM_OK);
  loom_stop(c.ctx);
  assert_int_equal(loom_space_join_some(s, SIZE_MAX, &more), LOOM_ERR_STOPPED);
  loom_go_on(c.ctx);
  loom_error_clear(c.ctx);
  assert_int_equal(loom_space_join_some(s, SIZE_MAX, &more), LOOM_OK);
  check_same(whole, s);
  loom_space_free(whole);
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

typedef struct copies {
  int n;
  int32_t tiles[64][N_LOOPS];
} copies;

static void copy_point(void *data, const loom_space_point *point) {
  copies *list = data;
  assert_int_equal(point->n_loops, N_LOOPS);
  assert_int_equal(point->n_values, 2);
  memcpy(list->tiles[list->n++], point->tiles, sizeof list->tiles[0]);
}

/* What one space finds, inserted into another that leaves the template to it. */
static void inserts_what_others_found(void **state) {
  (void)state;
  text_case c = make();
  loom_costs *costs = template_costs(&c);
  loom_space *whole = space_of(&c, costs, both, 200), *s = start(&c, costs, both, 200);
  copies list = {0};
  assert_int_equal(loom_space_points(whole, 0, 0, copy_point, &list), LOOM_OK);
  assert_true(list.n > 0);
  assert_int_equal(loom_space_leave(s, 0, 0), LOOM_OK);
  assert_int_equal(loom_space_explore(s, 0), LOOM_OK);
  for (int i = list.n; i-- > 0;)
    assert_int_equal(loom_space_insert(s, 0, 0, list.tiles[i]), LOOM_OK);
  assert_int_equal(loom_space_join(s, 1, &only_use), LOOM_OK);
  check_same(whole, s);
  const int32_t odd[N_LOOPS] = {5, 1, 1, 1, 1, 1};
  assert_int_equal(loom_space_insert(s, 0, 0, odd), LOOM_ERR_DOMAIN);
  assert_non_null(strstr(loom_error_message(c.ctx), "tiles"));
  loom_space_free(whole);
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

/* All choices of tiles, also those that do not divide. */
static void judges_tiles(void **state) {
  (void)state;
  enum { ALL = (M + 1) * (N + 1) * (K + 1) };
  static const double bits = 400;
  text_case c = make();
  loom_costs *costs = template_costs(&c);
  loom_space *s = start(&c, costs, both, bits);
  int32_t *tiles = calloc(ALL * N_LOOPS, sizeof *tiles);
  double *values = calloc(ALL * 2, sizeof *values);
  loom_space_verdict *verdicts = calloc(ALL, sizeof *verdicts);
  size_t n = 0, fit = 0, full = 0;
  for (int32_t m = 1; m <= M + 1; m++)
    for (int32_t n0 = 1; n0 <= N + 1; n0++)
      for (int32_t k = 1; k <= K + 1; k++)
        memcpy(&tiles[n++ * N_LOOPS], (const int32_t[]){m, n0, k, 1, 1, 1},
               N_LOOPS * sizeof *tiles);
  assert_int_equal(loom_space_evaluate(s, 0, 0, n, tiles, values, verdicts), LOOM_OK);
  for (size_t i = 0; i < n; i++) {
    const int32_t *t = &tiles[i * N_LOOPS];
    double x[3];
    bool chain =
        t[0] <= M && t[1] <= N && t[2] <= K && M % t[0] == 0 && N % t[1] == 0 && K % t[2] == 0;
    assert_true(chain == (verdicts[i].rule != LOOM_RULE_TILES));
    if (!chain) continue;
    figures(&c, costs, (const int[]){t[0], t[1], t[2]}, x);
    assert_true((x[2] > bits) == (verdicts[i].rule == LOOM_RULE_CAPACITY));
    full += x[2] > bits;
    if (x[2] > bits) continue;
    fit++;
    assert_true(near(x[0], values[2 * i]) && near(x[1], values[2 * i + 1]));
  }
  assert_true(fit > 0 && full > 0);
  free(tiles);
  free(values);
  free(verdicts);
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

static void fits_nothing(void **state) {
  (void)state;
  text_case c = make();
  loom_costs *costs = template_costs(&c);
  loom_space_options energy = {.energy = true, .max_fused_loops = -1};
  loom_space *s = space_of(&c, costs, energy, 8);
  assert_non_null(s);
  assert_int_equal(loom_space_results(s), 0);
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

static void needs_memory(void **state) {
  (void)state;
  bool done = false;
  for (size_t extra = 0; !done; extra += 1024) {
    text_case c = make();
    loom_costs *costs = template_costs(&c);
    loom_base_of(c.ctx)->bytes_limit = loom_ctx_bytes(c.ctx) + extra;
    loom_space *s = space_of(&c, costs, both, 400);
    done = s != NULL;
    if (!done) assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_MEMORY);
    assert_true(extra < 1 << 24);
    loom_space_free(s);
    loom_costs_free(costs);
    case_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_front), cmocka_unit_test(keeps_one_of_a_product),
      cmocka_unit_test(fits_nothing),    cmocka_unit_test(goes_in_steps),
      cmocka_unit_test(stops),           cmocka_unit_test(inserts_what_others_found),
      cmocka_unit_test(judges_tiles),    cmocka_unit_test(needs_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
