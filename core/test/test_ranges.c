/* SPDX-License-Identifier: MIT */
/* Ranges of kernels: entries, mapped nests and simplified indices held against the values they have
** at every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "every_limit.h"
#include "random_expr.h"

enum { ROUNDS = 400, MOST_LOOPS = 8 };

static loom_ranges *make_kernel(loom_ctx *ctx, int64_t y, int64_t x, int64_t r, bool strict) {
  loom_tiling tiling = {0};
  int64_t extents[] = {y, x, r};
  loom_prefix prefixes[] = {LOOM_PREFIX_Y, LOOM_PREFIX_X, LOOM_PREFIX_R0};
  for (int i = 0; i < 3; i++) {
    if (extents[i] == 0) continue;
    tiling.prefix[tiling.n] = prefixes[i];
    tiling.extent[tiling.n++] = loom_int(ctx, extents[i]);
  }
  loom_given given = {.strict = strict};
  loom_ranges_options options = {.split = {&given, strict}};
  loom_ranges *r0 = loom_ranges_new(ctx, &tiling, &options);
  assert_non_null(r0);
  return r0;
}

static int64_t value(loom_ctx *ctx, loom_expr e) {
  int64_t v = INT64_MIN;
  if (!loom_as_int(ctx, e, &v)) fail_msg("%s", loom_print(ctx, e, LOOM_INFIX));
  return v;
}

/* ---- points ------------------------------------------------------------------------------- */

/* The value of e where the flat index of tree i is flat[i]: variables have theirs by division. */
static int64_t value_at(loom_ctx *ctx, loom_ranges *r, loom_expr e, const int64_t *flat) {
  const loom_entry *entries;
  size_t n = loom_ranges_entries(r, &entries);
  loom_expr symbols[256], values[256];
  assert_true(n <= 256);
  for (size_t i = 0; i < n; i++) {
    int64_t length = value(ctx, entries[i].length), x = flat[entries[i].tree];
    symbols[i] = entries[i].variable;
    values[i] = loom_int(ctx, length == 0 ? 0 : x / value(ctx, entries[i].divisor) % length);
  }
  return value(ctx, loom_substitute(ctx, e, n, symbols, values));
}

static bool next_indices(const loom_tree *trees, loom_ctx *ctx, size_t n, int64_t *flat) {
  for (size_t i = n; i-- > 0;) {
    if (++flat[i] < value(ctx, trees[i].extent)) return true;
    flat[i] = 0;
  }
  return false;
}

static void same_everywhere(loom_ctx *ctx, loom_ranges *r, loom_expr a, loom_expr b) {
  const loom_tree *trees;
  size_t n = loom_ranges_trees(r, &trees);
  int64_t flat[LOOM_N_PREFIXES] = {0};
  do {
    int64_t x = value_at(ctx, r, a, flat), y = value_at(ctx, r, b, flat);
    if (x != y)
      fail_msg("%s became %s: %lld, %lld", loom_print(ctx, a, LOOM_INFIX),
               loom_print(ctx, b, LOOM_INFIX), (long long)x, (long long)y);
  } while (next_indices(trees, ctx, n, flat));
}

/* The expressions of the entries say what their divisors and lengths say. */
static void entries_agree(loom_ctx *ctx, loom_ranges *r) {
  const loom_tree *trees;
  const loom_entry *entries;
  loom_ranges_trees(r, &trees);
  for (size_t i = 0; i < loom_ranges_entries(r, &entries); i++) {
    const loom_entry e = entries[i];
    int64_t length = value(ctx, e.length), divisor = value(ctx, e.divisor);
    assert_ptr_equal(loom_ranges_entry(r, e.variable), &entries[i]);
    for (int64_t x = 0; length > 0 && x < value(ctx, trees[e.tree].extent); x++) {
      loom_expr flat = loom_int(ctx, x);
      loom_expr got = loom_substitute(ctx, e.expr, 1, &trees[e.tree].index, &flat);
      assert_int_equal(value(ctx, got), x / divisor % length);
    }
  }
}

/* ---- random kernels ----------------------------------------------------------------------- */

static int64_t random_factor(uint64_t *seed, int64_t of) {
  int64_t candidates[64];
  int n = 0;
  for (int64_t d = 1; d <= of && n < 64; d++)
    if (of % d == 0) candidates[n++] = d;
  return candidates[random_below(seed, n)];
}

/* Variables of a tree for lengths that multiply to its extent, into `found`. */
static size_t some_variables(loom_ctx *ctx, loom_ranges *r, size_t which, uint64_t *seed,
                             loom_expr *found) {
  const loom_tree *trees;
  loom_ranges_trees(r, &trees);
  int64_t left = value(ctx, trees[which].extent);
  loom_expr lengths[4];
  size_t n = 0;
  for (; n < 3; n++) {
    int64_t factor = random_factor(seed, left);
    lengths[n] = loom_int(ctx, factor);
    left /= factor;
  }
  lengths[n++] = loom_int(ctx, left);
  assert_int_equal(loom_ranges_construct(r, which, n, lengths, found), LOOM_OK);
  return n;
}

/* A variable with any divisor and length, overlapping others. */
static loom_expr odd_variable(loom_ctx *ctx, loom_ranges *r, size_t which, uint64_t *seed) {
  loom_expr divisor = loom_int(ctx, 1 + random_below(seed, 6));
  return loom_ranges_lookup(r, which, divisor, loom_int(ctx, 1 + random_below(seed, 9)));
}

static loom_expr random_sum(loom_ctx *ctx, uint64_t *seed, size_t n, const loom_expr *variables) {
  static const int coefficients[] = {1, 1, 2, 3, 4, 6, 8, 12, 16, -1, 0};
  loom_expr e = loom_int(ctx, random_below(seed, 3) ? 0 : random_below(seed, 9) - 2);
  for (size_t i = 0; i < n; i++) {
    int c = coefficients[random_below(seed, 11)];
    e = loom_add(ctx, e, loom_mul(ctx, loom_int(ctx, c), variables[i]));
  }
  return e;
}

/* The sum of the variables in which they run through their tree without a gap, times a number. */
static loom_expr row_major(loom_ctx *ctx, uint64_t *seed, loom_ranges *r, size_t n,
                           const loom_expr *variables) {
  loom_expr e = loom_int(ctx, 0);
  for (size_t i = 0; i < n; i++)
    e = loom_add(ctx, loom_mul(ctx, e, loom_ranges_entry(r, variables[i])->length), variables[i]);
  return loom_mul(ctx, e, loom_int(ctx, 1 + random_below(seed, 3)));
}

static loom_expr divided(loom_ctx *ctx, uint64_t *seed, loom_expr e) {
  loom_expr d = loom_int(ctx, 1 + random_below(seed, 8));
  loom_expr m = loom_int(ctx, 2 + random_below(seed, 8));
  switch (random_below(seed, 4)) {
  case 0: return loom_floor_div(ctx, e, d);
  case 1: return loom_mod_index(ctx, e, d, m);
  case 2: return loom_mod(ctx, e, m);
  default: return e;
  }
}

static loom_expr random_index(loom_ctx *ctx, loom_ranges *r, uint64_t *seed) {
  const loom_tree *trees;
  size_t n_trees = loom_ranges_trees(r, &trees);
  loom_expr e = loom_int(ctx, 0), variables[MOST_LOOPS];
  for (size_t i = 0; i < n_trees; i++) {
    size_t n = some_variables(ctx, r, i, seed, variables);
    if (random_below(seed, 4) == 0) variables[n++] = odd_variable(ctx, r, i, seed);
    loom_expr part = random_below(seed, 2) ? row_major(ctx, seed, r, n, variables)
                                           : random_sum(ctx, seed, n, variables);
    e = loom_add(ctx, e, divided(ctx, seed, part));
  }
  return divided(ctx, seed, e);
}

static void simplified_indices_keep_their_values(void **state) {
  (void)state;
  uint64_t seed = test_seed("simplified_indices_keep_their_values");
  for (int round = 0, n = test_rounds(ROUNDS); round < n; round++) {
    loom_ctx *ctx = loom_ctx_new();
    static const int64_t extents[] = {6, 8, 12, 16, 18, 24, 36, 64};
    loom_ranges *r = make_kernel(ctx, random_below(&seed, 3) ? 0 : 1 + random_below(&seed, 4),
                                 extents[random_below(&seed, 8)],
                                 random_below(&seed, 3) ? 1 : 1 + random_below(&seed, 8),
                                 random_below(&seed, 2));
    for (int i = 0; i < 3; i++) {
      loom_expr index = random_index(ctx, r, &seed);
      loom_expr simple = loom_ranges_simplify(r, index);
      assert_int_not_equal(simple, LOOM_NONE);
      same_everywhere(ctx, r, index, simple);
      assert_int_equal(loom_ranges_simplify(r, index), simple);
    }
    entries_agree(ctx, r);
    loom_ranges_free(r);
    loom_ctx_free(ctx);
  }
}

/* The iterations of a mapped nest come in order as the flat indices, taken as one, run. */
static void mapped_nests_run_in_order(void **state) {
  (void)state;
  uint64_t seed = test_seed("mapped_nests_run_in_order");
  for (int round = 0, n = test_rounds(ROUNDS); round < n; round++) {
    loom_ctx *ctx = loom_ctx_new();
    int64_t y = random_below(&seed, 2) ? 0 : 2 + random_below(&seed, 3);
    loom_ranges *r = make_kernel(ctx, y, 12, 6, true);
    int64_t left = (y ? y : 1) * 12 * 6, sizes[MOST_LOOPS];
    loom_expr e[MOST_LOOPS];
    size_t n_loops = 0;
    for (; n_loops < 4; left /= sizes[n_loops++]) sizes[n_loops] = random_factor(&seed, left);
    sizes[n_loops++] = left;
    for (size_t i = 0; i < n_loops; i++) e[i] = loom_int(ctx, sizes[i]);
    loom_loops nest = {e, (size_t)random_below(&seed, (int)n_loops + 1), 0};
    nest.n_reduction = n_loops - nest.n_pointwise;
    loom_mapped mapped;
    if (loom_ranges_map(r, &nest, &mapped) == LOOM_OK) {
      loom_expr all = loom_int(ctx, 0);
      for (size_t i = 0; i < n_loops; i++)
        all = loom_add(ctx, loom_mul(ctx, all, e[i]), mapped.values[i]);
      const loom_tree *trees;
      size_t n_trees = loom_ranges_trees(r, &trees);
      int64_t flat[LOOM_N_PREFIXES] = {0}, iteration = 0;
      do assert_int_equal(value_at(ctx, r, all, flat), iteration++);
      while (next_indices(trees, ctx, n_trees, flat));
    } else {
      assert_int_equal(loom_error_status(ctx), LOOM_ERR_CANNOT_SPLIT);
    }
    loom_ranges_free(r);
    loom_ctx_free(ctx);
  }
}

/* ---- symbolic sizes ----------------------------------------------------------------------- */

enum { N_SIZES = 2 };

typedef struct symbolic {
  loom_ctx *ctx;
  loom_ranges *r;
  loom_expr size[N_SIZES], value[N_SIZES];
} symbolic;

static symbolic make_symbolic(loom_ctx *ctx, int64_t factor, bool strict) {
  symbolic k = {.ctx = ctx};
  loom_assume two = {.integer = true, .has_min = true, .min = 2};
  k.size[0] = loom_symbol(ctx, "s0", &two);
  k.size[1] = loom_symbol(ctx, "s1", &two);
  loom_hint hints[] = {{k.size[0], loom_int(ctx, 6)}, {k.size[1], loom_int(ctx, 4)}};
  loom_given given = {.hints = hints, .n_hints = N_SIZES, .strict = strict};
  loom_ranges_options options = {.split = {&given, false}};
  loom_expr all = loom_product(ctx, 3, (loom_expr[]){k.size[0], k.size[1], loom_int(ctx, factor)});
  k.r = loom_ranges_new(ctx, &(loom_tiling){1, {LOOM_PREFIX_X}, {all}}, &options);
  assert_non_null(k.r);
  return k;
}

static int64_t sized(const symbolic *k, loom_expr e) {
  return value(k->ctx, loom_substitute(k->ctx, e, N_SIZES, k->size, k->value));
}

/* Variables for the two sizes and the factor, in any order, neighbours joined or not. */
static size_t symbolic_variables(const symbolic *k, uint64_t *seed, int64_t factor,
                                 loom_expr *found) {
  loom_expr sizes[] = {k->size[0], k->size[1], loom_int(k->ctx, factor)}, lengths[3];
  for (int i = 2; i > 0; i--) {
    int other = random_below(seed, i + 1);
    loom_expr size = sizes[i];
    sizes[i] = sizes[other];
    sizes[other] = size;
  }
  size_t n = 0;
  for (int i = 0; i < 3; i++) {
    if (n > 0 && random_below(seed, 4) == 0)
      lengths[n - 1] = loom_mul(k->ctx, lengths[n - 1], sizes[i]);
    else
      lengths[n++] = sizes[i];
  }
  assert_int_equal(loom_ranges_construct(k->r, 0, n, lengths, found), LOOM_OK);
  return n;
}

static loom_expr symbolic_size(const symbolic *k, uint64_t *seed) {
  switch (random_below(seed, 5)) {
  case 0: return k->size[0];
  case 1: return k->size[1];
  case 2: return loom_mul(k->ctx, k->size[0], k->size[1]);
  default: return loom_int(k->ctx, 1 + random_below(seed, 4));
  }
}

static loom_expr symbolic_index(const symbolic *k, uint64_t *seed, int64_t factor) {
  loom_ctx *ctx = k->ctx;
  loom_expr v[3], e = loom_int(ctx, 0);
  size_t n = symbolic_variables(k, seed, factor, v);
  if (random_below(seed, 2)) {
    e = row_major(ctx, seed, k->r, n, v);
  } else {
    for (size_t i = 0; i < n; i++)
      e = loom_add(ctx, e, loom_mul(ctx, symbolic_size(k, seed), v[i]));
  }
  if (random_below(seed, 4) == 0) e = loom_sub(ctx, e, symbolic_size(k, seed));
  switch (random_below(seed, 4)) {
  case 0: return loom_floor_div(ctx, e, symbolic_size(k, seed));
  case 1: return loom_mod_index(ctx, e, symbolic_size(k, seed), symbolic_size(k, seed));
  case 2: return loom_mod(ctx, e, symbolic_size(k, seed));
  default: return e;
  }
}

static int64_t symbolic_value(const symbolic *k, loom_expr e, int64_t flat) {
  const loom_entry *entries;
  size_t n = loom_ranges_entries(k->r, &entries);
  loom_expr symbols[64], values[64];
  assert_true(n + N_SIZES <= 64);
  for (size_t i = 0; i < n; i++) {
    int64_t length = sized(k, entries[i].length);
    symbols[i] = entries[i].variable;
    values[i] = loom_int(k->ctx, length == 0 ? 0 : flat / sized(k, entries[i].divisor) % length);
  }
  for (size_t i = 0; i < N_SIZES; i++) {
    symbols[n + i] = k->size[i];
    values[n + i] = k->value[i];
  }
  return value(k->ctx, loom_substitute(k->ctx, e, n + N_SIZES, symbols, values));
}

static void symbolic_indices_keep_their_values(void **state) {
  (void)state;
  uint64_t seed = test_seed("symbolic_indices_keep_their_values");
  for (int round = 0, n = test_rounds(ROUNDS); round < n; round++) {
    loom_ctx *ctx = loom_ctx_new();
    int64_t factor = 1 + random_below(&seed, 4);
    symbolic k = make_symbolic(ctx, factor, random_below(&seed, 2));
    loom_expr index[3], simple[3];
    for (int i = 0; i < 3; i++) {
      index[i] = symbolic_index(&k, &seed, factor);
      simple[i] = loom_ranges_simplify(k.r, index[i]);
      assert_int_not_equal(simple[i], LOOM_NONE);
    }
    int64_t s = 2 + random_below(&seed, 4), t = 2 + random_below(&seed, 3);
    k.value[0] = loom_int(ctx, s);
    k.value[1] = loom_int(ctx, t);
    for (int i = 0; i < 3; i++)
      for (int64_t flat = 0; flat < s * t * factor; flat++)
        if (symbolic_value(&k, index[i], flat) != symbolic_value(&k, simple[i], flat))
          fail_msg("%s became %s", loom_print(ctx, index[i], LOOM_INFIX),
                   loom_print(ctx, simple[i], LOOM_INFIX));
    loom_ranges_free(k.r);
    loom_ctx_free(ctx);
  }
}

/* ---- by hand ------------------------------------------------------------------------------ */

static void variables_are_named_by_one_counter(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_ranges *r = make_kernel(ctx, 0, 64, 32, false);
  loom_expr x[2], v = loom_ranges_lookup(r, 1, loom_int(ctx, 1), loom_int(ctx, 32));
  loom_expr lengths[] = {loom_int(ctx, 8), loom_int(ctx, 8)};
  assert_string_equal(loom_symbol_name(ctx, v), "r0_0");
  assert_int_equal(loom_ranges_construct(r, 0, 2, lengths, x), LOOM_OK);
  assert_string_equal(loom_symbol_name(ctx, x[0]), "x2");
  assert_string_equal(loom_symbol_name(ctx, x[1]), "x1");
  assert_int_equal(loom_ranges_lookup(r, 0, loom_int(ctx, 8), loom_int(ctx, 8)), x[0]);
  const loom_entry *entries;
  assert_int_equal(loom_ranges_entries(r, &entries), 3);
  loom_ranges_free(r);
  loom_ctx_free(ctx);
}

/* Overlapping variables do not make a nest: merging them would change values. */
static void overlapping_variables_are_not_merged(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_ranges *r = make_kernel(ctx, 0, 32, 1, false);
  loom_expr a = loom_ranges_lookup(r, 0, loom_int(ctx, 1), loom_int(ctx, 6));
  loom_expr b = loom_ranges_lookup(r, 0, loom_int(ctx, 8), loom_int(ctx, 4));
  loom_expr index = loom_add(ctx, a, loom_mul(ctx, loom_int(ctx, 6), b));
  loom_expr merged = loom_ranges_merge_dims(r, 0, index);
  same_everywhere(ctx, r, index, merged);
  assert_int_equal(merged, index);
  loom_ranges_free(r);
  loom_ctx_free(ctx);
}

static void strict_tells_whether_variables_determine_the_index(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  for (int strict = 0; strict <= 1; strict++) {
    loom_ranges *r = make_kernel(ctx, 0, 512, 1, strict);
    loom_expr a = loom_ranges_lookup(r, 0, loom_int(ctx, 1), loom_int(ctx, 8));
    loom_expr b = loom_ranges_lookup(r, 0, loom_int(ctx, 1), loom_int(ctx, 64));
    loom_expr c = loom_ranges_lookup(r, 0, loom_int(ctx, 64), loom_int(ctx, 8));
    assert_int_equal(loom_ranges_broadcasted(r, loom_add(ctx, a, b)), strict);
    assert_false(loom_ranges_broadcasted(r, loom_add(ctx, b, c)));
    assert_int_equal(loom_ranges_broadcasted(r, loom_sum(ctx, 3, (loom_expr[]){a, b, c})), !strict);
    assert_true(loom_ranges_broadcasted(r, a));
    loom_ranges_free(r);
  }
  loom_ctx_free(ctx);
}

static void strides_of_what_is_not_linear(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  for (int strict = 0; strict <= 1; strict++) {
    loom_ranges *r = make_kernel(ctx, 0, 512, 4, strict);
    loom_expr a = loom_ranges_lookup(r, 0, loom_int(ctx, 1), loom_int(ctx, 8));
    loom_expr k = loom_ranges_lookup(r, 1, loom_int(ctx, 1), loom_int(ctx, 4));
    loom_expr strides[2];
    loom_expr index = loom_add(ctx, a, loom_mul(ctx, k, loom_int(ctx, 7)));
    assert_int_equal(loom_ranges_tile_strides(r, index, strides), LOOM_OK);
    assert_int_equal(strides[0], strict ? LOOM_NONE : loom_int(ctx, 1));
    assert_int_equal(strides[1], loom_int(ctx, 7));
    loom_ranges_free(r);
  }
  loom_ctx_free(ctx);
}

static void sizes_are_hoisted(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_assume two = {.integer = true, .has_min = true, .min = 2};
  loom_expr s = loom_symbol(ctx, "s0", &two), t = loom_symbol(ctx, "s1", &two);
  loom_tiling tiling = {1, {LOOM_PREFIX_X}, {loom_product(ctx, 3, (loom_expr[]){s, t, t})}};
  loom_ranges *r = loom_ranges_new(ctx, &tiling, NULL);
  loom_expr lengths[] = {s, loom_mul(ctx, t, t)}, x[2];
  assert_int_equal(loom_ranges_construct(r, 0, 2, lengths, x), LOOM_OK);
  loom_expr index = loom_add(ctx, loom_mul(ctx, x[0], loom_int(ctx, 5)), x[1]);
  assert_int_not_equal(loom_ranges_prepare(r, index), LOOM_NONE);
  const loom_hoisted *hoisted;
  assert_int_equal(loom_ranges_hoisted(r, &hoisted), 1);
  assert_int_equal(hoisted[0].value, lengths[1]);
  assert_string_equal(loom_symbol_name(ctx, hoisted[0].symbol), "ps0");
  char *text = loom_print(ctx, loom_ranges_entry(r, x[0])->expr, LOOM_INFIX);
  assert_string_equal(text, "xindex // ps0");
  loom_free(text);
  assert_int_not_equal(loom_ranges_prepare(r, index), LOOM_NONE);
  assert_int_equal(loom_ranges_hoisted(r, &hoisted), 1);
  loom_ranges_free(r);
  loom_ctx_free(ctx);
}

static void bad_tilings_are_errors(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_tiling tiling = {2, {LOOM_PREFIX_X, LOOM_PREFIX_Y}, {loom_int(ctx, 4), loom_int(ctx, 4)}};
  assert_null(loom_ranges_new(ctx, &tiling, NULL));
  loom_error_clear(ctx);
  tiling = (loom_tiling){1, {LOOM_PREFIX_X}, {loom_ratio(ctx, 1, 2)}};
  assert_null(loom_ranges_new(ctx, &tiling, NULL));
  loom_error_clear(ctx);
  tiling.n = 0;
  assert_null(loom_ranges_new(ctx, &tiling, NULL));
  loom_ctx_free(ctx);
}

/* ---- flat indices ------------------------------------------------------------------------- */

/* A sum of multiples of some of the variables, perhaps with one of them divided. */
static loom_expr random_flat(loom_ctx *ctx, const loom_mapped *mapped, const int64_t *sizes,
                             uint64_t *seed) {
  static const int64_t factors[] = {0, 1, 2, 3, 4, 8, 12, 24, -1};
  size_t n = mapped->n_pointwise + mapped->n_reduction, divided = (size_t)random_below(seed, 6);
  loom_expr index = loom_int(ctx, random_below(seed, 4) ? 0 : random_below(seed, 5) - 2);
  int64_t stride = 1;
  for (size_t i = n; i-- > 0;) {
    int64_t coef = random_below(seed, 3) ? factors[random_below(seed, 9)] : stride;
    loom_expr v = mapped->values[i];
    if (i == divided) v = loom_floor_div(ctx, v, loom_int(ctx, 2 + random_below(seed, 4)));
    index = loom_add(ctx, index, loom_mul(ctx, loom_int(ctx, i == divided ? 1 : coef), v));
    stride = coef * sizes[i];
  }
  return index;
}

/* What is read off the numbers is what the general rules, called one by one, come to. */
static void flat_indices_are_no_exception(void **unused) {
  (void)unused;
  uint64_t seed = test_seed("flat_indices_are_no_exception");
  loom_ctx *ctx = loom_ctx_new();
  for (int round = 0; round < test_rounds(3000); round++) {
    int64_t sizes[4], all[2] = {1, 1};
    loom_expr loops[4];
    for (int i = 0; i < 4; i++) {
      sizes[i] = 1 + random_below(&seed, 6);
      loops[i] = loom_int(ctx, sizes[i]);
      all[i / 2] *= sizes[i];
    }
    loom_ranges *one = make_kernel(ctx, 0, all[0], all[1], false);
    loom_ranges *other = make_kernel(ctx, 0, all[0], all[1], false);
    loom_loops nest = {loops, 2, 2};
    loom_mapped mapped, again;
    assert_int_equal(loom_ranges_map(other, &nest, &again), LOOM_OK);
    assert_int_equal(loom_ranges_map(one, &nest, &mapped), LOOM_OK);
    loom_expr index = random_flat(ctx, &mapped, sizes, &seed);
    loom_extent extents[16];
    const loom_entry *entries;
    size_t n = loom_ranges_entries(other, &entries);
    for (size_t i = 0; i < n; i++)
      extents[i] = (loom_extent){entries[i].variable, entries[i].length};
    loom_given given = {.extents = extents, .n_extents = n};
    loom_expr expected = loom_simplify_in(ctx, index, &given);
    for (size_t i = 0; i < 2; i++) expected = loom_ranges_merge_dims(other, i, expected);
    expected = loom_ranges_pair_mod(other, expected);
    loom_expr got = loom_ranges_simplify(one, index);
    if (got != expected)
      fail_msg("%s: %s, not %s", loom_print(ctx, index, LOOM_INFIX),
               loom_print(ctx, got, LOOM_INFIX), loom_print(ctx, expected, LOOM_INFIX));
    assert_int_equal(loom_ranges_entries(one, &entries), loom_ranges_entries(other, &entries));
    loom_ranges_free(one);
    loom_ranges_free(other);
  }
  loom_ctx_free(ctx);
}

/* ---- without memory ----------------------------------------------------------------------- */

/* Everything once; false where something failed, nothing being left behind. */
static bool do_all(loom_ctx *ctx) {
  loom_expr extents[] = {loom_int(ctx, 64), loom_int(ctx, 32)},
            sizes[] = {loom_int(ctx, 8), loom_int(ctx, 8), loom_int(ctx, 4), loom_int(ctx, 8)};
  loom_tiling tiling = {2, {LOOM_PREFIX_X, LOOM_PREFIX_R0}, {extents[0], extents[1]}};
  loom_ranges *r = loom_ranges_new(ctx, &tiling, NULL);
  loom_loops nest = {sizes, 2, 2};
  loom_mapped mapped;
  loom_expr strides[2], index = LOOM_NONE;
  bool good = r && loom_ranges_map(r, &nest, &mapped) == LOOM_OK;
  if (good) {
    loom_expr terms[] = {loom_mul(ctx, sizes[0], mapped.values[0]), mapped.values[1],
                         mapped.values[2]};
    index = loom_ranges_prepare(r, loom_sum(ctx, 3, terms));
  }
  good = good && index != LOOM_NONE && loom_ranges_tile_strides(r, index, strides) == LOOM_OK;
  if (good) loom_ranges_broadcasted(r, index);
  good = good && loom_error_status(ctx) == LOOM_OK;
  if (good) {
    loom_extent loops[] = {{mapped.values[0], sizes[0]}, {mapped.values[1], sizes[1]}}, merged[2];
    loom_address a = {loom_mul(ctx, mapped.values[0], sizes[2]), 2, loops};
    good = loom_address_merge(ctx, &a, true, "c", NULL, &index, merged) >= 0;
  }
  loom_ranges_free(r);
  return good;
}

static void memory_may_run_out(void **unused) {
  (void)unused;
  assert_every_limit(do_all, 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(simplified_indices_keep_their_values),
      cmocka_unit_test(symbolic_indices_keep_their_values),
      cmocka_unit_test(mapped_nests_run_in_order),
      cmocka_unit_test(variables_are_named_by_one_counter),
      cmocka_unit_test(overlapping_variables_are_not_merged),
      cmocka_unit_test(strict_tells_whether_variables_determine_the_index),
      cmocka_unit_test(strides_of_what_is_not_linear),
      cmocka_unit_test(sizes_are_hoisted),
      cmocka_unit_test(bad_tilings_are_errors),
      cmocka_unit_test(flat_indices_are_no_exception),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
