/* SPDX-License-Identifier: MIT */
/* A space of 36 templates, many of them equal: what is found does not depend on threads, on the order
** in which templates come, or on who explores what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/base.h"
#include "search_text.h"

enum { M = 24, N = 20, K = 36, UNITS = 36, LOOPS = 6, BITS = 3000 };
static const char *const workload = "m=24 n=20 k=36 MM:A[m,k],B[k,n]>Z[m,n]";

typedef struct units {
  text_case c;
  char texts[UNITS][128];
  loom_costs *costs[UNITS];
  loom_space_loop loops[UNITS][LOOPS];
} units;

/* Loops over variables in the order p, holders in the order q. */
static void make_unit(units *u, int i, const int *p, const int *q) {
  static const char *const names[] = {"m", "n", "k"}, *const tensors[] = {"A", "B", "Z"};
  static const char *const symbols[] = {"m0", "n0", "k0"};
  snprintf(u->texts[i], sizeof u->texts[i],
           "Main[A,B,Z] %s:%s0 %s:%s0 Buf[%s] %s:%s0 Buf[%s] Buf[%s] m:1 n:1 k:1 +MM@MAC",
           names[p[0]], names[p[0]], names[p[1]], names[p[1]], tensors[q[0]], names[p[2]],
           names[p[2]], tensors[q[1]], tensors[q[2]]);
  const int variables[] = {p[0], p[1], p[2], 0, 1, 2};
  const char *const tiles[LOOPS] = {symbols[p[0]], symbols[p[1]], symbols[p[2]]};
  template_loops(u->c.ctx, LOOPS, variables, tiles, u->loops[i]);
  loom_mapping_free(u->c.m);
  u->c.m = mapping_of(u->c.ctx, u->texts[i]);
  u->costs[i] = template_costs(&u->c);
  assert_non_null(u->costs[i]);
}

static units *make(void) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  units *u = calloc(1, sizeof *u);
  u->c = case_begin(workload, "Main Buf +MAC",
                    "Main[A,B,Z] m:m0 n:n0 k:k0 Buf[A,B,Z] m:1 n:1 k:1 +MM@MAC");
  case_action(&u->c, 0, "read", 100, 40);
  case_action(&u->c, 0, "write", 1, 1);
  case_action(&u->c, 1, "read", 2, 90);
  case_action(&u->c, 1, "write", 3, 90);
  case_action(&u->c, 2, "compute", 1, 40);
  for (int p = 0; p < 6; p++)
    for (int q = 0; q < 6; q++) make_unit(u, 6 * p + q, orders[p], orders[q]);
  return u;
}

static void drop(units *u) {
  for (int i = 0; i < UNITS; i++) loom_costs_free(u->costs[i]);
  case_end(&u->c);
  free(u);
}

/* A space with the templates in an order; NULL with an error. */
static loom_space *start_with(const units *u, const int *order, int threads, double bits) {
  const int64_t sizes[] = {M, N, K};
  loom_space_options options = {
      .energy = true, .usage = true, .max_fused_loops = -1, .threads = threads};
  loom_space *s = space_of_product(u->c.ctx, &options, bits, LOOM_MEMORY_OPEN, sizes);
  bool done = s != NULL;
  for (int i = 0; i < UNITS && done; i++) {
    int k = order ? order[i] : i;
    loom_space_template t = {.n_loops = LOOPS, .loops = u->loops[k], .text = u->texts[k]};
    done = loom_space_add(s, 0, u->costs[k], &t) == i;
  }
  if (done) return s;
  loom_space_free(s);
  return NULL;
}

static loom_space *start(const units *u, const int *order, int threads) {
  return start_with(u, order, threads, BITS);
}

static void finish(loom_space *s) {
  assert_int_equal(loom_space_explore(s, 0), LOOM_OK);
  assert_int_equal(loom_space_join(s, 1, &only_use), LOOM_OK);
  assert_true(loom_space_results(s) > 1);
}

/* The same figures, templates by text, and tiles. */
static void check_same(const units *u, const loom_space *a, const loom_space *b, const int *order) {
  size_t n;
  assert_int_equal(loom_space_results(a), loom_space_results(b));
  for (size_t i = 0; i < loom_space_results(a); i++) {
    loom_space_choice x, y;
    const double *mine = loom_space_result(a, i, &n), *other = loom_space_result(b, i, &n);
    assert_memory_equal(mine, other, n * sizeof *mine);
    assert_int_equal(loom_space_choose(a, i, 0, &x), LOOM_OK);
    assert_int_equal(loom_space_choose(b, i, 0, &y), LOOM_OK);
    assert_string_equal(u->texts[x.number], u->texts[order ? order[y.number] : y.number]);
    assert_memory_equal(x.tiles, y.tiles, LOOPS * sizeof *x.tiles);
  }
}

static void uses_threads(void **state) {
  (void)state;
  units *u = make();
  loom_space *one = start(u, NULL, 1);
  finish(one);
  loom_space_counts a = loom_space_counts_of(one, 0);
  for (int threads = 2; threads <= 5; threads += 3) {
    loom_space *several = start(u, NULL, threads);
    finish(several);
    loom_space_counts b = loom_space_counts_of(several, 0);
    check_same(u, one, several, NULL);
    assert_memory_equal(&a, &b, sizeof a);
    loom_space_free(several);
  }
  loom_space_free(one);
  drop(u);
}

/* With more memory in use than chains are kept beside, they are found again: nothing else changes. */
static void finds_chains_again(void **state) {
  (void)state;
  enum { BALLAST = 128 << 20 };
  units *u = make();
  loom_space *kept = start(u, NULL, 1);
  finish(kept);
  loom_space_counts a = loom_space_counts_of(kept, 0);
  void *ballast = loom_realloc(u->c.ctx, NULL, 0, BALLAST);
  assert_non_null(ballast);
  loom_space *again = start(u, NULL, 2);
  finish(again);
  loom_space_counts b = loom_space_counts_of(again, 0);
  check_same(u, kept, again, NULL);
  assert_memory_equal(&a, &b, sizeof a);
  loom_space_fall x, y;
  for (size_t i = 0; loom_space_falls(kept, 0, i, &x); i++) {
    assert_true(loom_space_falls(again, 0, i, &y));
    assert_true(x.n == y.n);
  }
  loom_realloc(u->c.ctx, ballast, BALLAST, 0);
  loom_space_free(kept);
  loom_space_free(again);
  drop(u);
}

static void takes_any_order(void **state) {
  (void)state;
  const char *given = getenv("LOOM_SEED");
  unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
  print_message("LOOM_SEED=%u\n", seed);
  srand(seed);
  units *u = make();
  loom_space *first = start(u, NULL, 1);
  finish(first);
  for (int round = 0; round < 3; round++) {
    int order[UNITS];
    for (int i = 0; i < UNITS; i++) {
      int k = rand() % (i + 1);
      order[i] = order[k];
      order[k] = i;
    }
    loom_space *s = start(u, order, 2);
    finish(s);
    check_same(u, first, s, order);
    loom_space_free(s);
  }
  loom_space_free(first);
  drop(u);
}

typedef struct points {
  int n, number[4096];
  int32_t tiles[4096][LOOPS];
} points;

static void copy_point(void *data, const loom_space_point *point) {
  points *list = data;
  assert_true(list->n < 4096);
  list->number[list->n] = point->number;
  memcpy(list->tiles[list->n++], point->tiles, sizeof list->tiles[0]);
}

/* Each part explores every n-th template; another space joins what they left. */
static void takes_parts(void **state) {
  (void)state;
  units *u = make();
  points *list = calloc(1, sizeof *list);
  loom_space *whole = start(u, NULL, 1);
  finish(whole);
  for (int n = 2; n <= 7; n += 5) {
    loom_space *all = start(u, NULL, 1);
    for (int part = 0; part < n; part++) {
      loom_space *s = start(u, NULL, 1);
      for (int i = 0; i < UNITS; i++)
        if (i % n != part) assert_int_equal(loom_space_leave(s, 0, i), LOOM_OK);
      assert_int_equal(loom_space_explore(s, 0), LOOM_OK);
      list->n = 0;
      for (int i = part; i < UNITS; i += n)
        assert_int_equal(loom_space_points(s, 0, i, copy_point, list), LOOM_OK);
      for (int i = list->n; i-- > 0;)
        assert_int_equal(loom_space_insert(all, 0, list->number[i], list->tiles[i]), LOOM_OK);
      loom_space_free(s);
    }
    for (int i = 0; i < UNITS; i++) assert_int_equal(loom_space_leave(all, 0, i), LOOM_OK);
    finish(all);
    check_same(u, whole, all, NULL);
    loom_space_free(all);
  }
  free(list);
  loom_space_free(whole);
  drop(u);
}

/* Lists of units, in any order and with repetitions, on several threads. */
static void explores_lists(void **state) {
  (void)state;
  units *u = make();
  loom_space *whole = start(u, NULL, 1), *s = start(u, NULL, 3);
  finish(whole);
  int numbers[2 * UNITS];
  for (int i = 0; i < UNITS; i++) numbers[i] = numbers[2 * UNITS - 1 - i] = UNITS - 1 - i;
  assert_int_equal(loom_space_explore_units(s, 0, 0, numbers), LOOM_OK);
  assert_true(loom_space_counts_of(s, 0).sketched == UNITS);
  for (int i = 0; i < UNITS; i += 3)
    assert_int_equal(loom_space_explore_units(s, 0, 3, numbers + i), LOOM_OK);
  assert_int_equal(loom_space_explore_units(s, 0, 2 * UNITS, numbers), LOOM_OK);
  assert_true(loom_space_counts_of(s, 0).explored == UNITS);
  finish(s);
  check_same(u, whole, s, NULL);
  numbers[1] = UNITS;
  assert_int_equal(loom_space_explore_units(s, 0, 2, numbers), LOOM_ERR_ARGUMENT);
  loom_space_free(s);
  loom_space_free(whole);
  drop(u);
}

/* All tiles of all templates: nothing is better than the front, and of equal points the template that
** comes first is the one that is given. */
static void finds_the_first_of_the_best(void **state) {
  (void)state;
  units *u = make();
  loom_space *s = start(u, NULL, 2);
  finish(s);
  size_t n, results = loom_space_results(s);
  bool *first = calloc(results, sizeof *first);
  for (int i = 0; i < UNITS; i++)
    for (int32_t m = 1; m <= M; m++)
      for (int32_t n0 = 1; n0 <= N; n0++)
        for (int32_t k = 1; k <= K; k++) {
          int32_t tiles[LOOPS] = {0, 0, 0, 1, 1, 1};
          double x[2];
          loom_space_verdict v;
          if (M % m || N % n0 || K % k) continue;
          for (int j = 0; j < 3; j++)
            tiles[j] = (const int32_t[]){m, n0, k}[u->loops[i][j].variable];
          assert_int_equal(loom_space_evaluate(s, 0, i, 1, tiles, x, &v), LOOM_OK);
          if (v.rule != LOOM_RULE_NONE) continue;
          bool reached = false;
          for (size_t r = 0; r < results; r++) {
            loom_space_choice c;
            const double *y = loom_space_result(s, r, &n);
            if (y[0] > x[0] || y[1] > x[1]) continue;
            reached = true;
            if (y[0] != x[0] || y[1] != x[1]) continue;
            assert_int_equal(loom_space_choose(s, r, 0, &c), LOOM_OK);
            assert_true(strcmp(u->texts[c.number], u->texts[i]) <= 0);
            first[r] = first[r] || c.number == i;
          }
          assert_true(reached);
        }
  for (size_t r = 0; r < results; r++) assert_true(first[r]);
  free(first);
  loom_space_free(s);
  drop(u);
}

/* Every choice of tiles of every template has fallen to a rule or is a point; with little memory to
** nothing else than that. */
static void counts_what_falls(void **state) {
  (void)state;
  units *u = make();
  for (int round = 0; round < 2; round++) {
    loom_space *s = start_with(u, NULL, 2, round ? 16 : BITS);
    assert_int_equal(loom_space_explore(s, 0), LOOM_OK);
    double size = 0, sum = 0;
    for (int m = 1; m <= M; m++)
      for (int n = 1; n <= N; n++)
        for (int k = 1; k <= K; k++) size += M % m == 0 && N % n == 0 && K % k == 0;
    loom_space_fall fall;
    for (size_t i = 0; loom_space_falls(s, 0, i, &fall); i++) {
      sum += fall.n;
      bool small = fall.verdict.rule == LOOM_RULE_CAPACITY;
      if (round) assert_true(small || fall.n == 0 || fall.verdict.rule == LOOM_RULE_DOMINATED);
      if (small) assert_true(fall.n > 0);
    }
    assert_true(sum == UNITS * size && loom_space_size(s, 0) == sum);
    loom_space_free(s);
  }
  drop(u);
}

static void needs_memory_in_threads(void **state) {
  (void)state;
  units *u = make();
  bool done = false;
  for (size_t extra = 1 << 12; !done; extra *= 2) {
    loom_base_of(u->c.ctx)->bytes_limit = loom_ctx_bytes(u->c.ctx) + extra;
    size_t before = loom_ctx_bytes(u->c.ctx);
    loom_space *s = start(u, NULL, 3);
    done = s && loom_space_explore(s, 0) == LOOM_OK && loom_space_join(s, 1, &only_use) == LOOM_OK;
    assert_true(done || loom_error_status(u->c.ctx) == LOOM_ERR_MEMORY);
    loom_space_free(s);
    loom_error_clear(u->c.ctx);
    if (done) assert_true(loom_ctx_bytes(u->c.ctx) >= before);
    assert_true(extra < (size_t)1 << 32);
  }
  drop(u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uses_threads),      cmocka_unit_test(finds_chains_again),
      cmocka_unit_test(takes_any_order),   cmocka_unit_test(takes_parts),
      cmocka_unit_test(explores_lists),    cmocka_unit_test(finds_the_first_of_the_best),
      cmocka_unit_test(counts_what_falls), cmocka_unit_test(needs_memory_in_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
