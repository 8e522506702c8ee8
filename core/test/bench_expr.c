/* SPDX-License-Identifier: MIT */
/* Times of expression operations on the captured set: ns per operation, medians of repeats, beside
** a fixed calibration loop.  Usage: bench_expr spec/golden/expr/expressions.json
**
** The set is parsed once; its distinct nodes, in an order in which arguments come first, are what
** is built again: into an empty context (every node new) and into one that has them (every node
** found). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "einloom.h"

enum { REPEATS = 21, MAX_EXPRS = 4096, POINTS = 8192 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t n) {
  qsort(values, n, sizeof *values, compare);
  return values[n / 2];
}

static void report(const char *what, double ns, const char *unit) {
  printf("%-44s %10.1f %s\n", what, ns, unit);
}

static void *checked(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "bench_expr: not enough memory\n");
  exit(EXIT_FAILURE);
}

/* ---- the captured set --------------------------------------------------------------------- */

typedef struct set {
  char *text[MAX_EXPRS]; /* infix, as captured */
  size_t n;
} set;

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = checked(malloc((size_t)size + 1));
  text[fread(text, 1, (size_t)size, file)] = '\0';
  fclose(file);
  return text;
}

/* The values of every "expr" field (they hold no escapes), or of those without decimals: numbers that
** carry 17 digits leave 64 bits as soon as two of them meet. */
static void scan(set *s, const char *json, bool decimals) {
  static const char key[] = "\"expr\": \"";
  s->n = 0;
  for (const char *at = strstr(json, key); at && s->n < MAX_EXPRS; at = strstr(at, key)) {
    at += sizeof key - 1;
    size_t length = strcspn(at, "\"");
    if (decimals || !memchr(at, '.', length)) s->text[s->n++] = checked(strndup(at, length));
  }
}

static loom_expr *parse_all(loom_ctx *ctx, const set *s, size_t *n) {
  loom_expr *exprs = checked(calloc(s->n, sizeof *exprs));
  *n = 0;
  for (size_t i = 0; i < s->n; i++) {
    loom_expr e = loom_parse(ctx, s->text[i], strlen(s->text[i]), 0, NULL, NULL);
    if (e != LOOM_NONE) exprs[(*n)++] = e;
    loom_error_clear(ctx);
  }
  return exprs;
}

/* ---- building again ----------------------------------------------------------------------- */

typedef struct step {
  loom_kind kind;
  size_t first, n; /* its arguments in `args`; for a power n = 1 and the exponent is in value */
  int64_t value, denominator;
  const char *name;
} step;

typedef struct recipe {
  step *steps;
  size_t n_steps, n_args, operations;
  size_t *args;
  loom_expr *seen; /* node -> step, by handle */
} recipe;

static size_t record(recipe *r, loom_ctx *ctx, loom_expr e) {
  for (size_t i = r->n_steps; i-- > 0;) {
    if (r->seen[i] == e) return i;
  }
  step s = {.kind = loom_expr_kind(ctx, e)};
  size_t arity = s.kind == LOOM_NUM || s.kind == LOOM_SYM ? 0 : loom_expr_arity(ctx, e);
  size_t own[256];
  if (arity > 256) arity = 256;
  if (s.kind == LOOM_NUM && !loom_as_ratio(ctx, e, &s.value, &s.denominator)) s.value = 1;
  if (s.kind == LOOM_NUM && s.denominator == 0) s.denominator = 1;
  if (s.kind == LOOM_SYM) s.name = loom_symbol_name(ctx, e);
  if (s.kind == LOOM_POW) {
    loom_as_int(ctx, loom_expr_arg(ctx, e, 1), &s.value);
    arity = 1;
  }
  for (size_t i = 0; i < arity; i++) own[i] = record(r, ctx, loom_expr_arg(ctx, e, i));
  s.first = r->n_args;
  s.n = arity;
  memcpy(r->args + r->n_args, own, arity * sizeof *own);
  r->n_args += arity;
  r->operations += arity > 2 ? arity - 1 : arity > 0;
  r->seen[r->n_steps] = e;
  r->steps[r->n_steps] = s;
  return r->n_steps++;
}

static loom_expr build(loom_ctx *ctx, const step *s, const loom_expr *a) {
  switch (s->kind) {
  case LOOM_NUM: return loom_ratio(ctx, s->value, s->denominator);
  case LOOM_SYM: return loom_symbol(ctx, s->name, NULL);
  case LOOM_POW: return loom_pow(ctx, a[0], s->value);
  case LOOM_MUL: return loom_product(ctx, s->n, a);
  case LOOM_ADD: return loom_sum(ctx, s->n, a);
  case LOOM_MIN: return loom_min(ctx, s->n, a);
  case LOOM_MAX: return loom_max(ctx, s->n, a);
  case LOOM_FLOOR: return loom_floor(ctx, a[0]);
  case LOOM_CEIL: return loom_ceil(ctx, a[0]);
  case LOOM_FLOORDIV: return loom_floor_div(ctx, a[0], a[1]);
  case LOOM_MOD: return loom_mod(ctx, a[0], a[1]);
  case LOOM_MODIDX: return loom_mod_index(ctx, a[0], a[1], a[2]);
  case LOOM_LT: return loom_lt(ctx, a[0], a[1]);
  case LOOM_LE: return loom_le(ctx, a[0], a[1]);
  case LOOM_EQ: return loom_eq(ctx, a[0], a[1]);
  case LOOM_SELECT: return loom_select(ctx, a[0], a[1], a[2]);
  }
  return LOOM_NONE;
}

static void build_all(loom_ctx *ctx, const recipe *r, loom_expr *made) {
  loom_expr args[256];
  for (size_t i = 0; i < r->n_steps; i++) {
    const step *s = &r->steps[i];
    for (size_t k = 0; k < s->n; k++) args[k] = made[r->args[s->first + k]];
    made[i] = build(ctx, s, args);
  }
}

/* ns per operation: into an empty context, then into the same one again. */
static void bench_build(loom_ctx *source, const loom_expr *exprs, size_t n) {
  enum { MAX_STEPS = 200000 };
  recipe r = {.steps = checked(calloc(MAX_STEPS, sizeof(step))),
              .args = checked(calloc(MAX_STEPS * 4, sizeof(size_t))),
              .seen = checked(calloc(MAX_STEPS, sizeof(loom_expr)))};
  for (size_t i = 0; i < n; i++) record(&r, source, exprs[i]);
  loom_expr *made = checked(calloc(r.n_steps, sizeof *made));
  double fresh[REPEATS], again[REPEATS];
  size_t bytes = 0, nodes = 1;
  for (int k = 0; k < REPEATS; k++) {
    loom_ctx *ctx = checked(loom_ctx_new());
    double start = now_ns();
    build_all(ctx, &r, made);
    double middle = now_ns();
    build_all(ctx, &r, made);
    again[k] = (now_ns() - middle) / (double)r.operations;
    fresh[k] = (middle - start) / (double)r.operations;
    bytes = loom_ctx_bytes(ctx);
    nodes = loom_ctx_nodes(ctx);
    loom_ctx_free(ctx);
  }
  printf("%zu expressions, %zu distinct nodes, %zu operations\n", n, r.n_steps, r.operations);
  report("build, every node new", median(fresh, REPEATS), "ns per operation");
  report("build, every node found", median(again, REPEATS), "ns per operation");
  report("memory", (double)bytes / (double)nodes, "bytes per node");
  free(made);
  free(r.steps);
  free(r.args);
  free(r.seen);
}

/* ---- working ------------------------------------------------------------------------------ */

typedef loom_expr (*operation)(loom_ctx *ctx, loom_expr e, loom_expr symbol);

static loom_expr op_substitute(loom_ctx *ctx, loom_expr e, loom_expr symbol) {
  loom_expr value = loom_int(ctx, 12);
  return loom_substitute(ctx, e, 1, &symbol, &value);
}

static loom_expr op_expand(loom_ctx *ctx, loom_expr e, loom_expr symbol) {
  (void)symbol;
  return loom_expand(ctx, e);
}

static loom_expr op_bounds(loom_ctx *ctx, loom_expr e, loom_expr symbol) {
  loom_expr lo, hi;
  (void)symbol;
  loom_bounds(ctx, e, &lo, &hi);
  return e;
}

/* Each repeat works in a scratch region, so what it makes is new every time. */
static void bench_operation(const char *what, operation op, loom_ctx *ctx, const loom_expr *exprs,
                            const loom_expr *symbols, size_t n) {
  double times[REPEATS];
  for (int k = 0; k < REPEATS; k++) {
    uint32_t mark = loom_scratch_mark(ctx);
    double start = now_ns();
    for (size_t i = 0; i < n; i++) op(ctx, exprs[i], symbols[i]);
    times[k] = (now_ns() - start) / (double)n;
    loom_scratch_release(ctx, mark);
    loom_error_clear(ctx);
  }
  report(what, median(times, REPEATS), "ns per expression");
}

/* One program for each expression: compiling it, and a point of it in blocks that stay in cache. */
static void bench_programs(loom_ctx *ctx, const loom_expr *exprs, size_t n) {
  double compiling[REPEATS], running[REPEATS];
  static double input[POINTS], output[POINTS];
  for (size_t p = 0; p < POINTS; p++) input[p] = (double)(p % 61 + 1);
  for (int k = 0; k < REPEATS; k++) {
    double compile_ns = 0, run_ns = 0;
    for (size_t i = 0; i < n; i++) {
      loom_expr symbols[64];
      const double *inputs[64];
      double *outputs[] = {output};
      size_t count = loom_expr_symbols(ctx, exprs[i], symbols, 64);
      if (count > 64) continue;
      for (size_t j = 0; j < count; j++) inputs[j] = input;
      double start = now_ns();
      loom_program *program = loom_compile(ctx, 1, &exprs[i], count, symbols);
      double middle = now_ns();
      if (!program) continue;
      if (k < 3) loom_program_eval(program, POINTS, inputs, outputs);
      run_ns += now_ns() - middle;
      compile_ns += middle - start;
      loom_program_free(program);
    }
    compiling[k] = compile_ns / (double)n;
    if (k < 3) running[k] = run_ns / (double)n / POINTS;
  }
  report("compile", median(compiling, REPEATS), "ns per expression");
  report("evaluate, 8192 points", median(running, 3), "ns per expression and point");
}

static volatile uint64_t calibration_sink;

static void calibrate(void) {
  double times[REPEATS];
  for (int k = 0; k < REPEATS; k++) {
    uint64_t x = 88172645463325252u;
    double start = now_ns();
    for (int i = 0; i < 1000000; i++) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
    }
    times[k] = (now_ns() - start) / 1e6;
    calibration_sink = x;
  }
  report("calibration: one xorshift step", median(times, REPEATS), "ns");
}

static void bench_set(const char *json, bool decimals) {
  set *s = checked(calloc(1, sizeof *s));
  scan(s, json, decimals);
  loom_ctx *ctx = checked(loom_ctx_new());
  size_t n;
  loom_expr *exprs = parse_all(ctx, s, &n);
  printf("-- %s\n", decimals ? "all expressions" : "expressions without decimals");
  bench_build(ctx, exprs, n);
  loom_expr *symbols = checked(calloc(n + 1, sizeof *symbols));
  for (size_t i = 0; i < n; i++) {
    if (loom_expr_symbols(ctx, exprs[i], &symbols[i], 1) == 0) {
      symbols[i] = loom_symbol(ctx, "t0", NULL);
    }
  }
  bench_operation("substitute one symbol", op_substitute, ctx, exprs, symbols, n);
  bench_operation("differentiate", loom_diff, ctx, exprs, symbols, n);
  bench_operation("expand", op_expand, ctx, exprs, symbols, n);
  bench_operation("bounds", op_bounds, ctx, exprs, symbols, n);
  bench_programs(ctx, exprs, n);
  loom_ctx_free(ctx);
  for (size_t i = 0; i < s->n; i++) free(s->text[i]);
  free(s);
  free(exprs);
  free(symbols);
}

int main(int argc, char **argv) {
  char *json = argc == 2 ? read_file(argv[1]) : NULL;
  if (!json) {
    fprintf(stderr, "usage: bench_expr FILE with \"expr\" fields\n");
    return EXIT_FAILURE;
  }
  calibrate();
  bench_set(json, false);
  bench_set(json, true);
  free(json);
  return EXIT_SUCCESS;
}
