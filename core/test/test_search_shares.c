/* SPDX-License-Identifier: MIT */
/* Least shares of dimensions and bounds of loops against every choice of tiles of a template: as full as
** can be, or where a memory leaves no tiles for that, the next fullest. */
#include <setjmp.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/base.h"
#include "search_text.h"

enum { M = 12, N = 8, K = 6, N_LOOPS = 8, X = 6, Y = 4 };
static const char *const workload = "m=12 n=8 k=6 MM:A[m,k],B[k,n]>Z[m,n]";
static const char *const arch = "Main Buf #PE(x=6,y=4) +MAC";
static const char *const nest =
    "Main[A,B,Z] m:m0 n:n0 k:k0 Buf[A,B,Z] m:m1@PE.x n:n1@PE.y m:1 n:1 k:1 +MM@MAC";

/* What is asked of x and y. */
typedef struct wish {
  double share_x, share_y;
  loom_bound_op op;
  bool product;
  double value; /* 0: no bound */
} wish;

static text_case make(loom_costs **costs) {
  text_case c = case_begin(workload, arch, nest);
  case_action(&c, 0, "read", 50, 3);
  case_action(&c, 0, "write", 60, 2);
  case_action(&c, 1, "read", 2, 7);
  case_action(&c, 1, "write", 3, 5);
  case_action(&c, 3, "compute", 1, 4);
  *costs = template_costs(&c);
  assert_non_null(*costs);
  return c;
}

static loom_space *start(const text_case *c, const loom_costs *costs, double bits, wish wanted) {
  static const char *const tiles[N_LOOPS] = {"m0", "n0", "k0", "m1", "n1"};
  static const int variables[N_LOOPS] = {0, 1, 2, 0, 1, 0, 1, 2};
  static const int both[] = {0, 1};
  const int64_t sizes[] = {M, N, K};
  loom_space_loop loops[N_LOOPS];
  loom_space_options options = {.energy = true, .max_fused_loops = -1};
  template_loops(c->ctx, N_LOOPS, variables, tiles, loops);
  for (int d = 0; d < 2; d++) loops[3 + d].dimension = d;
  loom_space_template t = {.n_loops = N_LOOPS, .loops = loops};
  loom_space *s = space_of_product(c->ctx, &options, bits, LOOM_MEMORY_PRIVATE, sizes);
  assert_non_null(s);
  assert_int_equal(loom_space_dimension(s, 0, "PE", "x", X, wanted.share_x), 0);
  assert_int_equal(loom_space_dimension(s, 0, "PE", "y", Y, wanted.share_y), 1);
  if (wanted.value > 0)
    for (int d = 0; d < 2; d++)
      assert_int_equal(loom_space_bound_loops(s, 0, d, wanted.product ? 2 : 1,
                                              wanted.product ? both : &both[d], wanted.op,
                                              wanted.product, wanted.value),
                       LOOM_OK);
  assert_int_equal(loom_space_add(s, 0, costs, &t), 0);
  return s;
}

static double share(double used, double count, double least) {
  return least > 0 ? fmin(1, used / count / least) : 1;
}

static bool holds(loom_bound_op op, double x, double value) {
  return op == LOOM_BOUND_EQ   ? x == value
         : op == LOOM_BOUND_LE ? x <= value
         : op == LOOM_BOUND_GE ? x >= value
         : op == LOOM_BOUND_LT ? x < value
                               : x > value;
}

typedef struct choice {
  int32_t tiles[N_LOOPS];
  double x, y, energy; /* shares */
} choice;

/* Every choice of tiles that fits without shares, as the space without them judges. */
static size_t list_all(loom_space *s, wish wanted, choice *out) {
  size_t n = 0;
  for (int32_t m0 = 1; m0 <= M; m0++)
    for (int32_t m1 = 1; m1 <= m0; m1++)
      for (int32_t n0 = 1; n0 <= N; n0++)
        for (int32_t n1 = 1; n1 <= n0; n1++)
          for (int32_t k = 1; k <= K; k++) {
            loom_space_verdict v;
            if (M % m0 || m0 % m1 || N % n0 || n0 % n1 || K % k) continue;
            double x = (double)m0 / m1, y = (double)n0 / n1;
            choice c = {{m0, n0, k, m1, n1, 1, 1, 1}, 0, 0, 0};
            if (wanted.value > 0 &&
                !(holds(wanted.op, x, wanted.value) && holds(wanted.op, y, wanted.value)))
              continue;
            assert_int_equal(loom_space_evaluate(s, 0, 0, 1, c.tiles, &c.energy, &v), LOOM_OK);
            if (v.rule != LOOM_RULE_NONE) continue;
            c.x = share(x, X, wanted.share_x);
            c.y = share(y, Y, wanted.share_y);
            out[n++] = c;
          }
  return n;
}

static bool is_fuller(const choice *a, const choice *b) {
  return a->x >= b->x && a->y >= b->y && (a->x > b->x || a->y > b->y);
}

static void check(double bits, wish wanted) {
  loom_costs *costs;
  text_case c = make(&costs);
  choice *all = calloc(20000, sizeof *all);
  loom_space *plain = start(&c, costs, bits, (wish){0});
  loom_space *s = start(&c, costs, bits, wanted);
  size_t n = list_all(plain, wanted, all), n_values;
  double best = INFINITY;
  assert_int_equal(loom_space_explore(s, 0), LOOM_OK);
  assert_int_equal(loom_space_join(s, 1, &only_use), LOOM_OK);
  for (size_t i = 0; i < n; i++) {
    bool fullest = true;
    loom_space_verdict v;
    double energy;
    for (size_t k = 0; k < n && fullest; k++) fullest = !is_fuller(&all[k], &all[i]);
    assert_int_equal(loom_space_evaluate(s, 0, 0, 1, all[i].tiles, &energy, &v), LOOM_OK);
    assert_int_equal(v.rule, fullest ? LOOM_RULE_NONE : LOOM_RULE_SHARE);
    if (fullest) best = fmin(best, all[i].energy);
  }
  assert_int_equal(loom_space_results(s), n > 0);
  if (n > 0) assert_true(*loom_space_result(s, 0, &n_values) == best);
  double sum = 0;
  loom_space_fall fall;
  for (size_t i = 0; loom_space_falls(s, 0, i, &fall); i++) sum += fall.n;
  assert_true(sum == loom_space_size(s, 0));
  free(all);
  loom_space_free(plain);
  loom_space_free(s);
  loom_costs_free(costs);
  case_end(&c);
}

static void keeps_the_fullest(void **state) {
  (void)state;
  for (int bits = 16; bits <= 1600; bits += bits / 3 + 8) {
    check(bits, (wish){.share_x = 1, .share_y = 1});
    check(bits, (wish){.share_x = 1});
    check(bits, (wish){.share_x = 0.5, .share_y = 0.75});
  }
}

/* Per dimension one variable only: a product over both is one loop's trips. */
static void keeps_to_bounds(void **state) {
  (void)state;
  const char *given = getenv("LOOM_SEED");
  unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
  print_message("LOOM_SEED=%u\n", seed);
  srand(seed);
  for (int round = 0; round < 20; round++) {
    static const double shares[] = {0, 0.5, 1};
    wish wanted = {.share_x = shares[rand() % 3],
                   .share_y = shares[rand() % 3],
                   .op = (loom_bound_op)(rand() % 5),
                   .product = rand() % 2,
                   .value = 1 + rand() % 4};
    check(16 + rand() % 1000, wanted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_the_fullest),
                                     cmocka_unit_test(keeps_to_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
