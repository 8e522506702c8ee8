/* SPDX-License-Identifier: MIT */
/* Times index arithmetic: fresh indices of three variables, and the index expressions of
** spec/golden/expr, whose operations are counted before and after.  Medians of repeats, in fresh
** contexts, beside a fixed loop; one line per figure: name, value, unit. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "einloom.h"
#include "golden_symbols.h"

enum { REPEATS = 15, MOST = 256, MOST_SYMBOLS = 16, FRESH = 1000 };

static double now(void) {
  return (double)clock() * (1e6 / CLOCKS_PER_SEC);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times) {
  qsort(times, REPEATS, sizeof *times, by_value);
  return times[REPEATS / 2];
}

static void die(const char *what) {
  fprintf(stderr, "bench_index: %s\n", what);
  exit(1);
}

static void report(const char *name, double value, const char *unit) {
  printf("%-44s %10.2f %s\n", name, value, unit);
}

static void calibrate(void) {
  double times[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    volatile uint64_t sink = 0;
    uint64_t h = 1;
    double start = now();
    for (int k = 0; k < 1000000; k++) h = h * 6364136223846793005u + (h >> 29);
    sink = h;
    times[i] = now() - start + (double)(sink & 0);
  }
  report("calibration: one multiply and shift", median(times) * 1e3 / 1e6, "ns");
}

/* ---- fresh indices ------------------------------------------------------------------------ */

/* An index of three variables, of sizes that were not met before: pieces of a flat index put
** together again, with a digit of another split. */
static loom_expr build(loom_ctx *c, const loom_expr *x, int64_t a, int64_t b) {
  loom_expr flat = loom_add(c, loom_mul(c, x[0], loom_int(c, a * b)),
                            loom_add(c, loom_mul(c, x[1], loom_int(c, b)), x[2]));
  loom_expr high = loom_floor_div(c, flat, loom_int(c, b));
  loom_expr low = loom_mod(c, flat, loom_int(c, b));
  loom_expr whole = loom_add(c, loom_mul(c, high, loom_int(c, b)), low);
  loom_expr other = loom_mod_index(c, whole, loom_int(c, b / 2), loom_int(c, 2 * a));
  return loom_add(c, loom_mul(c, other, loom_int(c, 3 * a)), whole);
}

static double time_fresh(bool simplified) {
  loom_ctx *c = loom_ctx_new();
  if (!c) die("no memory");
  const loom_assume natural = {.integer = true, .has_min = true};
  loom_expr x[] = {loom_symbol(c, "x0", &natural), loom_symbol(c, "x1", &natural),
                   loom_symbol(c, "x2", &natural)};
  double start = now();
  for (int64_t i = 0; i < FRESH; i++) {
    int64_t a = 3 + i, b = 2 * (64 + i);
    loom_expr e = build(c, x, a, b);
    loom_extent extents[] = {
        {x[0], loom_int(c, 7 + i)}, {x[1], loom_int(c, a)}, {x[2], loom_int(c, b)}};
    loom_given given = {.extents = extents, .n_extents = 3};
    if (simplified && !loom_simplify_in(c, e, &given)) die(loom_error_message(c));
  }
  double time = now() - start;
  loom_ctx_free(c);
  return time / FRESH;
}

static void bench_fresh(void) {
  double built[REPEATS], all[REPEATS];
  for (int i = 0; i < REPEATS; i++) built[i] = time_fresh(false);
  for (int i = 0; i < REPEATS; i++) all[i] = time_fresh(true);
  report("fresh index of three variables: build", median(built), "us");
  report("  build and simplify", median(all), "us");
}

/* ---- the index expressions of spec/golden/expr -------------------------------------------- */

typedef struct entry {
  const char *text;
  const json_t *item;
  int64_t ops;
} entry;

static size_t load(json_t *file, entry *entries) {
  json_t *items = json_object_get(file, "expressions"), *item;
  size_t n = 0, i;
  json_array_foreach(items, i, item) {
    if (strcmp(json_string_value(json_object_get(item, "group")), "index") != 0) continue;
    if (n == MOST) die("too many expressions");
    entries[n++] = (entry){json_string_value(json_object_get(item, "expr")), item,
                           json_integer_value(json_object_get(item, "ops"))};
  }
  return n;
}

/* Operations of the text of e: one for each of + - * / // %, of min and max with two arguments, ...;
** two for a modular index. */
static int64_t operations(loom_ctx *c, loom_expr e) {
  size_t n = loom_expr_arity(c, e);
  int64_t count = 0;
  for (size_t i = 0; i < n; i++) count += operations(c, loom_expr_arg(c, e, i));
  switch (loom_expr_kind(c, e)) {
  case LOOM_NUM:
  case LOOM_SYM: return 0;
  case LOOM_ADD:
  case LOOM_MIN:
  case LOOM_MAX: return count + (int64_t)n - 1;
  case LOOM_MUL:
    return count + (int64_t)n - 1 - (loom_expr_arg(c, e, 0) == loom_int(c, -1) ? 1 : 0);
  case LOOM_MODIDX: return count + 2;
  default: return count + 1;
  }
}

static double simplify_all(const entry *entries, size_t n, int64_t *after) {
  loom_ctx *c = loom_ctx_new();
  if (!c) die("no memory");
  loom_expr built[MOST], simple[MOST];
  for (size_t i = 0; i < n; i++) {
    loom_expr symbols[MOST_SYMBOLS];
    size_t count = golden_symbols(c, entries[i].item, symbols, MOST_SYMBOLS);
    built[i] = loom_parse(c, entries[i].text, strlen(entries[i].text), count, symbols, NULL);
    if (built[i] == LOOM_NONE) die(loom_error_message(c));
  }
  double start = now();
  for (size_t i = 0; i < n; i++) simple[i] = loom_simplify_in(c, built[i], NULL);
  double time = now() - start;
  *after = 0;
  for (size_t i = 0; i < n; i++) *after += operations(c, simple[i]);
  loom_ctx_free(c);
  return time / (double)n;
}

static void bench_golden(void) {
  static entry entries[MOST];
  json_error_t problem;
  json_t *file = json_load_file(EINLOOM_GOLDEN "/expr/expressions.json", 0, &problem);
  if (!file) die(problem.text);
  size_t n = load(file, entries);
  double times[REPEATS];
  int64_t before = 0, after = 0;
  for (size_t i = 0; i < n; i++) before += entries[i].ops;
  for (int i = 0; i < REPEATS; i++) times[i] = simplify_all(entries, n, &after);
  report("golden index expressions: simplify", median(times), "us each");
  report("  operations as written", (double)before, "");
  report("  operations simplified", (double)after, "");
  json_decref(file);
}

int main(void) {
  calibrate();
  bench_fresh();
  bench_golden();
  return 0;
}
