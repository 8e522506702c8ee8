/* SPDX-License-Identifier: MIT */
/* Splits of loop nests held against walking them: every iteration once, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "random_expr.h"

enum { MOST = 24, ROUNDS = 3000 };

typedef struct sizes {
  size_t n;
  int64_t at[MOST];
  loom_expr e[MOST];
} sizes;

static sizes make(loom_ctx *ctx, size_t n, const int64_t *values) {
  sizes s = {.n = n};
  for (size_t i = 0; i < n; i++) {
    s.at[i] = values[i];
    s.e[i] = loom_int(ctx, values[i]);
  }
  return s;
}
#define SIZES(...) \
  make(ctx, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static loom_status split(loom_ctx *ctx, const sizes *groups, const sizes *loops, size_t pointwise,
                         bool any_span, bool strict, loom_split *out) {
  loom_given given = {.strict = strict};
  loom_split_options options = {&given, any_span};
  loom_loops nest = {loops->e, pointwise, loops->n - pointwise};
  loom_status status = loom_split_loops(ctx, groups->n, groups->e, &nest, &options, out);
  assert_int_equal(loom_error_status(ctx), status);
  loom_error_clear(ctx);
  assert_int_equal(loom_loops_fit(ctx, groups->n, groups->e, &nest, LOOM_NONE, &options), status);
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  return status;
}

static int64_t product(size_t n, const int64_t *values) {
  int64_t all = 1;
  for (size_t i = 0; i < n; i++) all *= values[i];
  return all;
}

static int64_t value(loom_ctx *ctx, loom_expr e) {
  int64_t v = -1;
  assert_true(loom_as_int(ctx, e, &v));
  return v;
}

/* The digits of a number in a mixed radix, outermost first. */
static void digits_of(int64_t flat, size_t n, const int64_t *radix, int64_t *digits) {
  for (size_t i = n; i-- > 0; flat /= radix[i]) digits[i] = flat % radix[i];
}

static void pieces_make_the_groups(loom_ctx *ctx, const sizes *groups, const loom_split *s) {
  size_t k = 0;
  for (size_t g = 0; g < groups->n; g++) {
    int64_t all = 1;
    for (; k < s->n_pieces && s->pieces[k].group == g; k++) all *= value(ctx, s->pieces[k].size);
    assert_int_equal(all, groups->at[g]);
  }
  assert_int_equal(k, s->n_pieces);
}

/* At each point of the pieces, taken in order, the loops have the next point of the nest. */
static void enumerates(loom_ctx *ctx, const sizes *groups, const sizes *loops,
                       const loom_split *s) {
  int64_t radix[2 * MOST], piece[2 * MOST], wanted[MOST];
  for (size_t i = 0; i < s->n_pieces; i++) radix[i] = value(ctx, s->pieces[i].size);
  pieces_make_the_groups(ctx, groups, s);
  assert_int_equal(s->n_pointwise + s->n_reduction, loops->n);
  for (int64_t flat = 0; flat < product(groups->n, groups->at); flat++) {
    digits_of(flat, s->n_pieces, radix, piece);
    digits_of(flat, loops->n, loops->at, wanted);
    for (size_t i = 0; i < loops->n; i++) {
      int64_t got = 0;
      for (size_t k = 0; k < s->getters[i].count; k++)
        got = got * radix[s->getters[i].first + k] + piece[s->getters[i].first + k];
      assert_int_equal(got, wanted[i]);
    }
  }
}

/* The values that loom_getter_value gives, at one point. */
static void getters_have_values(loom_ctx *ctx, const loom_split *s, uint64_t *seed) {
  loom_expr pieces[2 * MOST];
  int64_t point[2 * MOST];
  for (size_t i = 0; i < s->n_pieces; i++) {
    point[i] = random_below(seed, (int)value(ctx, s->pieces[i].size));
    pieces[i] = loom_int(ctx, point[i]);
  }
  for (size_t i = 0; i < s->n_pointwise + s->n_reduction; i++) {
    int64_t got = 0;
    for (size_t k = s->getters[i].first; k < s->getters[i].first + s->getters[i].count; k++)
      got = got * value(ctx, s->pieces[k].size) + point[k];
    assert_int_equal(loom_getter_value(ctx, s, s->getters[i], pieces), loom_int(ctx, got));
  }
}

/* ---- when a split exists ------------------------------------------------------------------ */

/* Loops and groups have a common refinement exactly when the products of their ends divide one
** another. */
static bool can_be_split(const sizes *a, const sizes *b) {
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < b->n; k++) {
      int64_t x = product(a->n - i, a->at + i), y = product(b->n - k, b->at + k);
      if (x % y != 0 && y % x != 0) return false;
    }
  return true;
}

/* Groups longer than 1 that a loop has a part in. */
static bool spans_two_at_most(const sizes *groups, const sizes *loops) {
  for (size_t i = 0; i < loops->n; i++) {
    int64_t low = product(loops->n - i - 1, loops->at + i + 1), high = low * loops->at[i];
    int parts = 0;
    for (size_t g = 0; g < groups->n; g++) {
      int64_t from = product(groups->n - g - 1, groups->at + g + 1), to = from * groups->at[g];
      parts += from < high && to > low && groups->at[g] > 1;
    }
    if (parts > 2) return false;
  }
  return true;
}

/* Shares the prime factors of a number out to up to four sizes, in order or shuffled. */
static sizes random_sizes(loom_ctx *ctx, uint64_t *seed, int n_primes, const int64_t *primes,
                          bool ones) {
  int64_t values[MOST];
  size_t n = 0;
  for (int i = 0; i < n_primes; i++) {
    if (n == 0 || (n < 5 && random_below(seed, 2))) values[n++] = 1;
    values[n - 1] *= primes[i];
    if (ones && n < MOST - 6 && random_below(seed, 6) == 0) values[n++] = 1;
  }
  return make(ctx, n, values);
}

static void shuffle(uint64_t *seed, int n, int64_t *items) {
  for (int i = n - 1; i > 0; i--) {
    int k = random_below(seed, i + 1);
    int64_t item = items[i];
    items[i] = items[k];
    items[k] = item;
  }
}

static void random_splits(void **state) {
  (void)state;
  uint64_t seed = test_seed("random_splits");
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  int done = 0, refused = 0;
  for (int round = 0, n = test_rounds(ROUNDS); round < n; round++) {
    int64_t primes[6];
    int n_primes = 1 + random_below(&seed, 6);
    for (int i = 0; i < n_primes; i++) primes[i] = (int64_t[]){2, 2, 3, 5}[random_below(&seed, 4)];
    sizes groups = random_sizes(ctx, &seed, n_primes, primes, false);
    if (random_below(&seed, 2)) shuffle(&seed, n_primes, primes);
    sizes loops = random_sizes(ctx, &seed, n_primes, primes, true);
    size_t pointwise = (size_t)random_below(&seed, (int)loops.n + 1);
    bool any_span = random_below(&seed, 2), strict = random_below(&seed, 2);
    loom_status status = split(ctx, &groups, &loops, pointwise, any_span, strict, &out);
    bool wanted = can_be_split(&groups, &loops) && (any_span || spans_two_at_most(&groups, &loops));
    assert_int_equal(status, wanted ? LOOM_OK : LOOM_ERR_CANNOT_SPLIT);
    refused += !wanted;
    done += wanted;
    if (!wanted) continue;
    enumerates(ctx, &groups, &loops, &out);
    getters_have_values(ctx, &out, &seed);
  }
  assert_true(done > test_rounds(ROUNDS) / 8 && refused > test_rounds(ROUNDS) / 16);
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

/* ---- by hand ------------------------------------------------------------------------------ */

static void loops_span_two_groups(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  sizes groups = SIZES(8, 8, 1), loops = SIZES(4, 16);
  assert_int_equal(split(ctx, &groups, &loops, 2, false, false, &out), LOOM_OK);
  assert_int_equal(out.n_pieces, 3);
  assert_int_equal(out.pieces[1].size, loom_int(ctx, 2));
  assert_int_equal(out.pieces[1].group, 0);
  assert_int_equal(out.getters[1].first, 1);
  assert_int_equal(out.getters[1].count, 2);
  sizes three = SIZES(4, 8, 16), one = SIZES(512);
  assert_int_equal(split(ctx, &three, &one, 1, false, false, &out), LOOM_ERR_CANNOT_SPLIT);
  assert_int_equal(split(ctx, &three, &one, 1, true, false, &out), LOOM_OK);
  enumerates(ctx, &three, &one, &out);
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

static void loops_left_over_are_ignored_or_refused(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  sizes groups = SIZES(8, 1), loops = SIZES(8, 2);
  assert_int_equal(split(ctx, &groups, &loops, 2, false, false, &out), LOOM_OK);
  assert_int_equal(out.n_pointwise, 1);
  assert_int_equal(split(ctx, &groups, &loops, 2, false, true, &out), LOOM_ERR_CANNOT_SPLIT);
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

static void groups_left_over_are_refused(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  sizes groups = SIZES(64, 32), loops = SIZES(64);
  assert_int_equal(split(ctx, &groups, &loops, 1, false, false, &out), LOOM_ERR_INCOMPLETE_SPLIT);
  loom_loops nest = {loops.e, 1, 0};
  loom_expr extent = loom_int(ctx, 32);
  assert_true(loom_loops_lack_reduction(ctx, 2, groups.e, &nest, extent, NULL));
  assert_int_equal(loom_loops_fit(ctx, 2, groups.e, &nest, extent, NULL), LOOM_OK);
  assert_false(loom_loops_lack_reduction(ctx, 2, groups.e, &nest, loom_int(ctx, 16), NULL));
  assert_int_equal(loom_split_loops(ctx, 2, groups.e, &nest, NULL, &out),
                   LOOM_ERR_INCOMPLETE_SPLIT);
  assert_string_equal(loom_error_message(ctx), "loops [64] do not run over all of [64, 32]");
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

static void lists_that_are_groups_are_not_split(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  sizes groups = SIZES(64, 1), loops = SIZES(1, 64, 1);
  loom_loops nest = {loops.e, 2, 1};
  assert_int_equal(loom_map_loops(ctx, 2, groups.e, &nest, NULL, &out), LOOM_OK);
  assert_true(out.direct);
  assert_int_equal(out.n_pieces, 3);
  assert_int_equal(out.pieces[2].group, 1);
  groups = SIZES(8, 8);
  assert_int_equal(loom_map_loops(ctx, 2, groups.e, &nest, NULL, &out), LOOM_OK);
  assert_false(out.direct);
  assert_int_equal(out.n_pieces, 2);
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

static void sizes_may_be_symbols(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  loom_assume two = {.integer = true, .has_min = true, .min = 2};
  loom_expr s = loom_symbol(ctx, "s0", &two), t = loom_symbol(ctx, "s1", &two);
  loom_hint hints[] = {{s, loom_int(ctx, 4)}, {t, loom_int(ctx, 6)}};
  loom_given given = {.hints = hints, .n_hints = 2};
  loom_expr groups[] = {s, t, loom_int(ctx, 1)}, loop = loom_mul(ctx, s, t);
  loom_split_options options = {&given, false};
  loom_loops nest = {&loop, 1, 0};
  assert_int_equal(loom_split_loops(ctx, 3, groups, &nest, &options, &out), LOOM_OK);
  assert_int_equal(out.n_pieces, 2);
  loom_expr v[] = {loom_symbol(ctx, "a", NULL), loom_symbol(ctx, "b", NULL)};
  assert_int_equal(loom_getter_value(ctx, &out, out.getters[0], v),
                   loom_add(ctx, loom_mul(ctx, t, v[0]), v[1]));
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

static void bad_sizes_are_errors(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_split out = {0};
  loom_expr half = loom_ratio(ctx, 1, 2), group = loom_int(ctx, 4);
  loom_loops nest = {&half, 1, 0};
  assert_int_equal(loom_split_loops(ctx, 1, &group, &nest, NULL, &out), LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  half = loom_int(ctx, -4);
  assert_int_equal(loom_split_loops(ctx, 1, &group, &nest, NULL, &out), LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  half = loom_int(ctx, 0);
  assert_int_equal(loom_split_loops(ctx, 1, &group, &nest, NULL, &out), LOOM_ERR_CANNOT_SPLIT);
  loom_split_free(ctx, &out);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_splits),
      cmocka_unit_test(loops_span_two_groups),
      cmocka_unit_test(loops_left_over_are_ignored_or_refused),
      cmocka_unit_test(groups_left_over_are_refused),
      cmocka_unit_test(lists_that_are_groups_are_not_split),
      cmocka_unit_test(sizes_may_be_symbols),
      cmocka_unit_test(bad_sizes_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
