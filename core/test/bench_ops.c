/* SPDX-License-Identifier: MIT */
/* Benchmark of the operations on expressions over spec/golden/expr: the best of several repeats,
** beside a fixed loop for comparing machines.  Prints one line per figure: name, value, unit. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "einloom.h"
#include "golden_symbols.h"

#define MOST 512
#define MOST_SYMBOLS 16
#define REPEATS 15
#define POINTS 8192

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct entry {
  const char *id, *text, *group, *stage, *source;
  int64_t ops;
  size_t n;
  loom_expr symbols[MOST_SYMBOLS];
  loom_expr e;
} entry;

typedef struct bench {
  loom_ctx *ctx;
  size_t n;
  entry at[MOST];
} bench;

static void die(const char *what) {
  fprintf(stderr, "bench_ops: %s\n", what);
  exit(1);
}

static void parse_all(bench *b) {
  for (size_t i = 0; i < b->n; i++) {
    entry *x = &b->at[i];
    x->e = loom_parse(b->ctx, x->text, strlen(x->text), x->n, x->symbols, NULL);
    if (x->e == LOOM_NONE) die(loom_error_message(b->ctx));
  }
}

static void load(bench *b, const json_t *file) {
  const json_t *items = json_object_get(file, "expressions");
  b->n = json_array_size(items);
  if (b->n == 0 || b->n > MOST) die("unexpected number of expressions");
  for (size_t i = 0; i < b->n; i++) {
    const json_t *item = json_array_get(items, i);
    entry *x = &b->at[i];
    x->id = json_string_value(json_object_get(item, "id"));
    x->text = json_string_value(json_object_get(item, "expr"));
    x->group = json_string_value(json_object_get(item, "group"));
    x->stage = json_string_value(json_object_get(item, "stage"));
    x->source = json_string_value(json_object_get(item, "source"));
    x->ops = json_integer_value(json_object_get(item, "ops"));
    x->n = golden_symbols(b->ctx, item, x->symbols, MOST_SYMBOLS);
    if (x->n > MOST_SYMBOLS) die("too many symbols");
  }
  parse_all(b);
}

/* ---- symbolic work ------------------------------------------------------------------------ */

/* Does the operation on every expression of a group; how many. */
typedef size_t (*operation)(bench *b, const char *group);

static bool in_group(const entry *x, const char *group) {
  return !group || strcmp(x->group, group) == 0;
}

static size_t do_parse(bench *b, const char *group) {
  size_t ops = 0;
  for (size_t i = 0; i < b->n; i++) {
    entry *x = &b->at[i];
    if (!in_group(x, group)) continue;
    if (!loom_parse(b->ctx, x->text, strlen(x->text), x->n, x->symbols, NULL)) die("parse");
    ops += (size_t)x->ops;
  }
  return ops;
}

static size_t do_print(bench *b, const char *group) {
  size_t count = 0;
  for (size_t i = 0; i < b->n; i++) {
    if (!in_group(&b->at[i], group)) continue;
    loom_free(loom_print(b->ctx, b->at[i].e, LOOM_INFIX));
    count++;
  }
  return count;
}

static size_t do_substitute(bench *b, const char *group) {
  size_t count = 0;
  loom_expr values[2] = {loom_int(b->ctx, 3), loom_int(b->ctx, 4)};
  for (size_t i = 0; i < b->n; i++) {
    entry *x = &b->at[i];
    if (!in_group(x, group)) continue;
    if (!loom_substitute(b->ctx, x->e, x->n < 2 ? x->n : 2, x->symbols, values))
      loom_error_clear(b->ctx);
    count++;
  }
  return count;
}

static size_t do_diff(bench *b, const char *group) {
  size_t count = 0;
  for (size_t i = 0; i < b->n; i++) {
    entry *x = &b->at[i];
    if (!in_group(x, group)) continue;
    if (!loom_diff(b->ctx, x->e, x->symbols[0])) die("diff");
    count++;
  }
  return count;
}

static size_t do_expand(bench *b, const char *group) {
  size_t count = 0;
  for (size_t i = 0; i < b->n; i++) {
    if (!in_group(&b->at[i], group)) continue;
    if (!loom_expand(b->ctx, b->at[i].e)) die("expand");
    count++;
  }
  return count;
}

static size_t do_sign(bench *b, const char *group) {
  size_t count = 0;
  loom_expr zero = loom_int(b->ctx, 0);
  for (size_t i = 0; i < b->n; i++) {
    entry *x = &b->at[i];
    if (!in_group(x, group)) continue;
    loom_known_le(b->ctx, zero, loom_diff(b->ctx, x->e, x->symbols[0]));
    count++;
  }
  return count;
}

static size_t do_compile(bench *b, const char *group) {
  size_t count = 0;
  for (size_t i = 0; i < b->n; i++) {
    entry *x = &b->at[i];
    if (!in_group(x, group)) continue;
    loom_program *program = loom_compile(b->ctx, 1, &x->e, x->n, x->symbols);
    if (!program) die("compile");
    loom_program_free(program);
    count++;
  }
  return count;
}

/* first: what is made is dropped after every repeat, so that each builds its nodes anew. */
static void measure(bench *b, const char *name, const char *group, operation op, bool first) {
  double best = 1e9;
  for (int r = 0; r < REPEATS; r++) {
    uint32_t mark = first ? loom_scratch_mark(b->ctx) : 0;
    double start = now();
    size_t count = op(b, group);
    double each = (now() - start) / (double)count;
    if (first) loom_scratch_release(b->ctx, mark);
    if (each < best) best = each;
  }
  printf("%-28s %-9s %10.1f ns\n", name, group ? group : "all", best * 1e9);
}

/* ---- evaluation --------------------------------------------------------------------------- */

/* The union of the symbols of some entries. */
static size_t join_symbols(const bench *b, size_t n, const size_t *which, loom_expr *symbols) {
  size_t found = 0;
  for (size_t k = 0; k < n; k++) {
    const entry *x = &b->at[which[k]];
    for (size_t i = 0; i < x->n; i++) {
      size_t j = 0;
      while (j < found && symbols[j] != x->symbols[i]) j++;
      if (j == found && found < 2 * MOST_SYMBOLS) symbols[found++] = x->symbols[i];
    }
  }
  return found;
}

static void measure_eval(bench *b, const char *name, size_t n, const size_t *which) {
  loom_expr symbols[2 * MOST_SYMBOLS], *outputs = calloc(n, sizeof *outputs);
  size_t n_symbols = join_symbols(b, n, which, symbols);
  double best_compile = 1e9, best = 1e9;
  loom_program *program = NULL;
  for (size_t k = 0; k < n; k++) outputs[k] = b->at[which[k]].e;
  for (int r = 0; r < REPEATS; r++) {
    loom_program_free(program);
    double start = now();
    program = loom_compile(b->ctx, n, outputs, n_symbols, symbols);
    if (now() - start < best_compile) best_compile = now() - start;
    if (!program) die("compile");
  }
  double *in = malloc((n_symbols + 1) * POINTS * sizeof *in);
  double *out = malloc(n * POINTS * sizeof *out);
  const double **inputs = calloc(n_symbols + 1, sizeof *inputs);
  double **results = calloc(n, sizeof *results);
  if (!in || !out || !inputs || !results) die("out of memory");
  for (size_t i = 0; i < n_symbols; i++) {
    inputs[i] = in + i * POINTS;
    for (size_t p = 0; p < POINTS; p++)
      in[i * POINTS + p] = (double)(1 + (p * (i + 3) * 7919) % 61);
  }
  for (size_t k = 0; k < n; k++) results[k] = out + k * POINTS;
  for (int r = 0; r < 4 * REPEATS; r++) {
    double start = now();
    if (loom_program_eval(program, POINTS, inputs, results) != LOOM_OK) die("eval");
    if (now() - start < best) best = now() - start;
  }
  printf("%-28s %3zu outputs %6zu instructions %8.2f ns/point, compile %8.1f us\n", name, n,
         loom_program_length(program), best * 1e9 / POINTS, best_compile * 1e6);
  loom_program_free(program);
  free(outputs);
  free(in);
  free(out);
  free(inputs);
  free(results);
}

/* The largest expression of a kind. */
static void measure_largest(bench *b, const char *name, const char *part, const char *group) {
  size_t best = MOST;
  for (size_t i = 0; i < b->n; i++) {
    const entry *x = &b->at[i];
    if (strcmp(x->group, group) != 0 || !strstr(x->text, part)) continue;
    if (best == MOST || x->ops > b->at[best].ops) best = i;
  }
  if (best < MOST) {
    char title[64];
    snprintf(title, sizeof title, "eval %s %s (%d ops)", name, b->at[best].id,
             (int)b->at[best].ops);
    measure_eval(b, title, 1, &best);
  }
}

/* All captured expressions of the source with the most. */
static void measure_source(bench *b, bool uneven) {
  size_t which[MOST], best[MOST], n_best = 0;
  for (size_t i = 0; i < b->n; i++) {
    size_t n = 0;
    bool ceiling = false;
    for (size_t k = 0; k < b->n; k++)
      if (strcmp(b->at[k].group, "loopnest") == 0 &&
          strcmp(b->at[k].source, b->at[i].source) == 0) {
        ceiling |= strstr(b->at[k].text, "ceiling") != NULL;
        which[n++] = k;
      }
    if (n <= n_best || ceiling != uneven) continue;
    memcpy(best, which, n * sizeof *which);
    n_best = n;
  }
  if (n_best) measure_eval(b, uneven ? "eval set, uneven tiles" : "eval set", n_best, best);
}

/* A fixed loop: dependent multiplications and divisions. */
static void calibrate(void) {
  double best = 1e9;
  volatile double sink;
  for (int r = 0; r < REPEATS; r++) {
    double start = now(), x = 1.5;
    for (int i = 0; i < 1000000; i++) x = 2.0 / (x * 0.75 + 0.125);
    sink = x;
    (void)sink;
    if (now() - start < best) best = now() - start;
  }
  printf("%-28s %-9s %10.2f ns\n", "calibration loop", "", best * 1e3);
}

int main(void) {
  json_error_t error;
  json_t *file = json_load_file(EINLOOM_GOLDEN "/expr/expressions.json", 0, &error);
  if (!file) die(error.text);
  bench *b = calloc(1, sizeof *b);
  if (!b || !(b->ctx = loom_ctx_new())) die("out of memory");
  load(b, file);
  calibrate();
  measure(b, "parse, per operation", "loopnest", do_parse, false);
  measure(b, "parse, per operation", "index", do_parse, false);
  measure(b, "print", "loopnest", do_print, false);
  measure(b, "substitute 2, first", "loopnest", do_substitute, true);
  measure(b, "substitute 2, again", "loopnest", do_substitute, false);
  measure(b, "differentiate, first", "loopnest", do_diff, true);
  measure(b, "differentiate, again", "loopnest", do_diff, false);
  measure(b, "expand, first", "loopnest", do_expand, true);
  measure(b, "sign of derivative", "loopnest", do_sign, true);
  measure(b, "compile", "loopnest", do_compile, false);
  measure(b, "compile", "index", do_compile, false);
  measure_largest(b, "sum", "+", "loopnest");
  measure_largest(b, "ceil", "ceiling", "loopnest");
  measure_largest(b, "max", "Max", "loopnest");
  measure_largest(b, "index", "Mod", "index");
  measure_source(b, false);
  measure_source(b, true);
  loom_ctx_free(b->ctx);
  free(b);
  json_decref(file);
  return 0;
}
