/* SPDX-License-Identifier: MIT */
/* Accesses held against walking their loops: merged nests visit the same addresses, in the same
** order where it is kept; what is said strictly is so at every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "random_expr.h"

enum { ROUNDS = 1500, MOST_LOOPS = 5, MOST_POINTS = 4096 };

typedef struct access {
  loom_expr index;
  size_t n;
  loom_extent loops[MOST_LOOPS];
} access;

static loom_address address_of(const access *a) {
  return (loom_address){a->index, a->n, a->loops};
}

static loom_expr variable(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static int64_t value(loom_ctx *ctx, loom_expr e) {
  int64_t v = INT64_MIN;
  if (!loom_as_int(ctx, e, &v)) fail_msg("%s", loom_print(ctx, e, LOOM_INFIX));
  return v;
}

/* The addresses of all iterations in order; how many. */
static size_t walk(loom_ctx *ctx, const access *a, int64_t *out) {
  loom_expr symbols[MOST_LOOPS], values[MOST_LOOPS];
  int64_t at[MOST_LOOPS] = {0}, total = 1;
  for (size_t i = 0; i < a->n; i++) {
    symbols[i] = a->loops[i].variable;
    total *= value(ctx, a->loops[i].size);
  }
  assert_true(total <= MOST_POINTS);
  for (int64_t k = 0; k < total; k++) {
    for (size_t i = 0; i < a->n; i++) values[i] = loom_int(ctx, at[i]);
    out[k] = value(ctx, loom_substitute(ctx, a->index, a->n, symbols, values));
    for (size_t i = a->n; i-- > 0 && ++at[i] == value(ctx, a->loops[i].size);) at[i] = 0;
  }
  return (size_t)total;
}

static access random_access(loom_ctx *ctx, uint64_t *seed) {
  static const char *const names[] = {"p0", "p1", "p2", "p3", "p4"};
  access a = {.n = (size_t)random_below(seed, MOST_LOOPS)};
  int64_t stride = 1;
  a.index = loom_int(ctx, random_below(seed, 3) ? 0 : random_below(seed, 9));
  for (size_t i = a.n; i-- > 0;) {
    int64_t size = 1 + random_below(seed, 5);
    a.loops[i] = (loom_extent){variable(ctx, names[i]), loom_int(ctx, size)};
    int64_t c = random_below(seed, 3) ? stride : random_below(seed, 7) - 1;
    loom_expr part = loom_mul(ctx, loom_int(ctx, c), a.loops[i].variable);
    if (random_below(seed, 8) == 0) part = loom_floor_div(ctx, part, loom_int(ctx, 2));
    if (random_below(seed, 8) == 0) part = loom_mod(ctx, part, loom_int(ctx, 3));
    a.index = loom_add(ctx, a.index, part);
    stride *= size;
  }
  if (random_below(seed, 6) == 0) a.index = loom_floor_div(ctx, a.index, loom_int(ctx, 4));
  return a;
}

static access merged(loom_ctx *ctx, const access *a, bool by_stride) {
  access m = {0};
  loom_address address = address_of(a);
  ptrdiff_t n = loom_address_merge(ctx, &address, by_stride, "c", NULL, &m.index, m.loops);
  assert_true(n >= 0);
  m.n = (size_t)n;
  return m;
}

/* Loops that were dropped repeat each address. */
static void same_order(size_t n, const int64_t *all, size_t n_merged, const int64_t *few) {
  assert_int_equal(n % n_merged, 0);
  for (size_t i = 0; i < n; i++) assert_int_equal(all[i], few[i / (n / n_merged)]);
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void merged_nests_visit_the_same_addresses(void **state) {
  (void)state;
  static int64_t all[MOST_POINTS], few[MOST_POINTS];
  uint64_t seed = test_seed("merged_nests_visit_the_same_addresses");
  for (int round = 0, n = test_rounds(ROUNDS); round < n; round++) {
    loom_ctx *ctx = loom_ctx_new();
    access a = random_access(ctx, &seed);
    size_t points = walk(ctx, &a, all);
    access in_order = merged(ctx, &a, false), by_stride = merged(ctx, &a, true);
    assert_true(in_order.n <= a.n && by_stride.n <= a.n);
    size_t n_merged = walk(ctx, &in_order, few);
    same_order(points, all, n_merged, few);
    n_merged = walk(ctx, &by_stride, few);
    assert_int_equal(n_merged, points);
    qsort(all, points, sizeof *all, ascending);
    qsort(few, points, sizeof *few, ascending);
    assert_memory_equal(all, few, points * sizeof *all);
    loom_ctx_free(ctx);
  }
}

static size_t distinct(size_t n, int64_t *addresses) {
  size_t count = n > 0;
  qsort(addresses, n, sizeof *addresses, ascending);
  for (size_t i = 1; i < n; i++) count += addresses[i] != addresses[i - 1];
  return count;
}

static bool are_neighbours(size_t n, const int64_t *addresses) {
  int64_t before = addresses[0];
  for (size_t i = 1; i < n; before = addresses[i++])
    if (addresses[i] != before && addresses[i] != before + 1) return false;
  return true;
}

static void what_is_said_strictly_is_so(void **state) {
  (void)state;
  static int64_t all[MOST_POINTS];
  uint64_t seed = test_seed("what_is_said_strictly_is_so");
  loom_given strict = {.strict = true};
  int contiguous = 0, stride1 = 0;
  for (int round = 0, n = test_rounds(ROUNDS); round < n; round++) {
    loom_ctx *ctx = loom_ctx_new();
    access a = random_access(ctx, &seed);
    loom_address address = address_of(&a);
    loom_address_features f;
    size_t points = walk(ctx, &a, all);
    assert_int_equal(loom_address_look(ctx, &address, loom_int(ctx, MOST_POINTS), &strict, &f),
                     LOOM_OK);
    assert_int_equal(value(ctx, f.offset), all[0]);
    if (f.contiguous) assert_true(are_neighbours(points, all));
    if (f.stride1_last && a.n > 0) {
      size_t last = (size_t)value(ctx, a.loops[a.n - 1].size);
      for (size_t i = 0; i + 1 < points; i++)
        if ((i + 1) % last != 0) assert_int_equal(all[i + 1], all[i] + 1);
    }
    contiguous += f.contiguous;
    stride1 += f.stride1_last;
    assert_true((size_t)value(ctx, f.elements) >= distinct(points, all));
    loom_ctx_free(ctx);
  }
  assert_true(contiguous > test_rounds(ROUNDS) / 50 && stride1 > test_rounds(ROUNDS) / 50);
}

/* ---- by hand ------------------------------------------------------------------------------ */

static void quirks_and_proofs(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_given strict = {.strict = true};
  loom_address_features f;
  loom_expr x = variable(ctx, "x0"), y = variable(ctx, "x1"), k = loom_int(ctx, 32);
  loom_extent loops[] = {{x, loom_int(ctx, 4)}, {y, k}};
  loom_address a = {loom_add(ctx, loom_mul(ctx, k, x), y), 2, loops};
  loom_expr elements = loom_int(ctx, 100);
  assert_int_equal(loom_address_look(ctx, &a, elements, NULL, &f), LOOM_OK);
  assert_false(f.contiguous);
  assert_true(f.stride1_last);
  assert_int_equal(f.elements, loom_int(ctx, 128));
  assert_int_equal(loom_address_look(ctx, &a, elements, &strict, &f), LOOM_OK);
  assert_true(f.contiguous);
  assert_int_equal(f.elements, elements);
  a.index = loom_mul(ctx, k, x);
  assert_int_equal(loom_address_look(ctx, &a, elements, NULL, &f), LOOM_OK);
  assert_true(f.stride1_last);
  assert_int_equal(loom_address_look(ctx, &a, elements, &strict, &f), LOOM_OK);
  assert_false(f.stride1_last);
  loom_ctx_free(ctx);
}

static void loaded_values(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_address_features f;
  loom_expr x = variable(ctx, "x0"), t = variable(ctx, "tmp0");
  loom_extent loop = {x, loom_int(ctx, 8)};
  loom_address a = {t, 1, &loop};
  assert_int_equal(loom_address_look(ctx, &a, loom_int(ctx, 1000), NULL, &f), LOOM_OK);
  assert_true(f.indirect);
  assert_false(f.scalar);
  assert_int_equal(f.elements, loom_int(ctx, 1000));
  a.index = variable(ctx, "tmpest");
  assert_int_equal(loom_address_look(ctx, &a, loom_int(ctx, 1000), NULL, &f), LOOM_OK);
  assert_false(f.indirect);
  assert_true(f.scalar);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(merged_nests_visit_the_same_addresses),
      cmocka_unit_test(what_is_said_strictly_is_so),
      cmocka_unit_test(quirks_and_proofs),
      cmocka_unit_test(loaded_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
