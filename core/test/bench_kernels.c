/* SPDX-License-Identifier: MIT */
/* Microseconds for graphs of loop nests and plans of their kernels: medians of repeats, beside the
** recorded times of another tool for the same work (spec/golden/simd).  Sizes are different in each
** repeat, so that nothing is remembered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "einloom.h"

enum { REPEATS = 201 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void check(loom_ctx *ctx, bool good) {
  if (good) return;
  fprintf(stderr, "bench_kernels: %s\n", loom_error_message(ctx));
  exit(1);
}

static loom_expr variable(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static int buffer(loom_ctx *ctx, loom_graph *g, const char *name, size_t rank,
                  const loom_expr *sizes, bool output) {
  int number = loom_graph_buffer(
      g, &(loom_buffer_info){.name = name, .rank = rank, .sizes = sizes, .output = output});
  check(ctx, number >= 0);
  return number;
}

/* ---- softmax ------------------------------------------------------------------------------ */

typedef struct softmax {
  loom_ctx *ctx;
  loom_graph *g;
  loom_expr n, r;
  loom_extent loops[2];
  loom_expr at;
} softmax;

static void op(softmax *s, const char *name, bool reduces, size_t n_reads, const int *reads,
               const loom_expr *at, int write) {
  loom_use uses[4], out = {.buffer = write, .index = reduces ? s->loops[0].variable : s->at};
  for (size_t i = 0; i < n_reads; i++) uses[i] = (loom_use){.buffer = reads[i], .index = at[i]};
  loom_op_info info = {.name = name,
                       .kind = reduces ? LOOM_OP_REDUCTION : LOOM_OP_POINTWISE,
                       .reduction = "sum",
                       .n_pointwise = reduces ? 1 : 2,
                       .n_reduction = reduces ? 1 : 0,
                       .loops = s->loops,
                       .n_reads = n_reads,
                       .reads = uses,
                       .n_writes = 1,
                       .writes = &out};
  check(s->ctx, loom_graph_op(s->g, &info) >= 0);
}

static void build_softmax(softmax *s, int64_t n, int64_t r) {
  loom_ctx *ctx = s->ctx;
  loom_expr sizes[] = {loom_int(ctx, n), loom_int(ctx, r)};
  s->n = sizes[0];
  s->r = sizes[1];
  s->g = loom_graph_new(ctx, NULL);
  check(ctx, s->g);
  s->loops[0] = (loom_extent){variable(ctx, "p0"), s->n};
  s->loops[1] = (loom_extent){variable(ctx, "p1"), s->r};
  s->at = loom_add(ctx, loom_mul(ctx, s->r, s->loops[0].variable), s->loops[1].variable);
  buffer(ctx, s->g, "a", 2, sizes, false);
  buffer(ctx, s->g, "most", 1, sizes, false);
  buffer(ctx, s->g, "e", 2, sizes, false);
  buffer(ctx, s->g, "sum", 1, sizes, false);
  buffer(ctx, s->g, "q", 2, sizes, true);
  loom_expr both[] = {s->at, s->loops[0].variable};
  op(s, "max", true, 1, (int[]){0}, both, 1);
  op(s, "exp", false, 2, (int[]){0, 1}, both, 2);
  op(s, "sum", true, 1, (int[]){2}, both, 3);
  op(s, "div", false, 2, (int[]){2, 3}, both, 4);
}

/* The order of its operations, a tiling by the rules, and its kernel. */
static void plan_softmax(softmax *s) {
  static const int ops[] = {0, 1, 2, 3};
  int steps[20];
  ptrdiff_t n = loom_schedule(s->g, 4, ops, s->n, s->r, steps);
  check(s->ctx, n == 8);
  loom_kernel_info info = {
      .n = (size_t)n, .schedule = steps, .extent = s->n, .reduction_extent = s->r};
  loom_kernel_steps nest = {info.n, steps, s->n, s->r};
  check(s->ctx,
        loom_tiling_select(s->g, &nest, &(loom_tiling_options){0}, &info.tiling) == LOOM_OK);
  loom_plan *plan = loom_plan_new(s->g);
  check(s->ctx, plan && loom_plan_kernel(plan, &info) == 0);
  loom_plan_free(plan);
}

static void forget(loom_ctx *ctx, loom_graph *g) {
  loom_graph_free(g);
  loom_gc_begin(ctx);
  loom_gc_end(ctx);
}

static int by_value(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return a < b ? -1 : a > b;
}

/* What another tool took for the same, in us. */
typedef struct peer_time {
  const char *key;
  double us;
  const char *origin;
} peer_time;

enum { N_PEER = 5 };

/* The median beside the peer's time of that key, if any. */
static void report(const peer_time *peer, const char *what, double *times, const char *key) {
  qsort(times, REPEATS, sizeof *times, by_value);
  double median = times[REPEATS / 2];
  printf("%-60s %8.2f us", what, median);
  for (int i = 0; key && i < N_PEER; i++)
    if (strcmp(peer[i].key, key) == 0)
      printf(", %s %6.0f us: %6.0f times", peer[i].origin, peer[i].us, peer[i].us / median);
  printf("\n");
}

static void measure_softmax(loom_ctx *ctx, const peer_time *peer) {
  double build[REPEATS], plan[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    softmax s = {.ctx = ctx};
    double start = now();
    build_softmax(&s, 32 + i, 128 + i);
    double built = now();
    plan_softmax(&s);
    plan[i] = now() - built;
    build[i] = built - start;
    forget(ctx, s.g);
  }
  report(peer, "softmax: 4 operations and 5 buffers into a graph", build, NULL);
  report(peer, "softmax: order, tiling and plan of its kernel", plan, "softmax");
}

/* ---- a transposed sum --------------------------------------------------------------------- */

/* y[i,j] = a[i,j] + b[j,i]: two accesses that want different tilings. */
static loom_graph *build_transposed(loom_ctx *ctx, int64_t n, int64_t m) {
  loom_expr sizes[] = {loom_int(ctx, n), loom_int(ctx, m)}, back[] = {sizes[1], sizes[0]};
  loom_graph *g = loom_graph_new(ctx, NULL);
  check(ctx, g);
  buffer(ctx, g, "a", 2, sizes, false);
  buffer(ctx, g, "b", 2, back, false);
  buffer(ctx, g, "y", 2, sizes, true);
  loom_extent loops[] = {{variable(ctx, "p0"), sizes[0]}, {variable(ctx, "p1"), sizes[1]}};
  loom_expr i = loops[0].variable, j = loops[1].variable;
  loom_expr row = loom_add(ctx, loom_mul(ctx, i, sizes[1]), j);
  loom_use reads[] = {{.index = row},
                      {.buffer = 1, .index = loom_add(ctx, loom_mul(ctx, j, sizes[0]), i)}};
  loom_use write = {.buffer = 2, .index = row};
  loom_op_info info = {.name = "y",
                       .n_pointwise = 2,
                       .loops = loops,
                       .n_reads = 2,
                       .reads = reads,
                       .n_writes = 1,
                       .writes = &write};
  check(ctx, loom_graph_op(g, &info) == 0);
  return g;
}

static void measure_transposed(loom_ctx *ctx, const peer_time *peer) {
  double analysis[REPEATS], choice[REPEATS], counting[REPEATS];
  static const int schedule[] = {0};
  for (int i = 0; i < REPEATS; i++) {
    int64_t n = 64 + 32 * i, m = 96 + 32 * i;
    loom_graph *g = build_transposed(ctx, n, m);
    loom_kernel_steps steps = {1, schedule, loom_int(ctx, n * m), loom_int(ctx, 1)};
    loom_tiling tiling;
    double start = now();
    loom_coalescing *c = loom_coalesce(g, &steps, false);
    double analyzed = now();
    check(ctx, c && loom_tiling_select(g, &steps, &(loom_tiling_options){0}, &tiling) == LOOM_OK);
    double chosen = now();
    loom_blocked best;
    check(ctx, loom_tiling_best(g, &steps, NULL, &best) == LOOM_OK && best.sectors > 0);
    counting[i] = now() - chosen;
    choice[i] = chosen - analyzed;
    analysis[i] = analyzed - start;
    check(ctx, tiling.n == 3 && best.sectors == 3 * n * m / 8);
    loom_coalescing_free(c);
    forget(ctx, g);
  }
  report(peer, "transposed sum: coalescing", analysis, "coalescing");
  report(peer, "transposed sum: candidates and choice of a tiling", choice, "tiling");
  report(peer, "transposed sum: tilings counted and chosen by memory sectors", counting, NULL);
}

/* ---- ranges ------------------------------------------------------------------------------- */

/* One nest of two loops of two pieces, its extents, and an index on a kernel that has its ranges. */
typedef struct ranges_case {
  loom_expr sizes[4], index;
  loom_tiling tiling;
  loom_split pieces;
  loom_ranges *ranges;
} ranges_case;

static void prepare_ranges(loom_ctx *ctx, ranges_case *c, int64_t a, int64_t b) {
  *c = (ranges_case){
      .sizes = {loom_int(ctx, a), loom_int(ctx, 4), loom_int(ctx, b), loom_int(ctx, 2)},
      .tiling = {2, {LOOM_PREFIX_X, LOOM_PREFIX_R0}, {loom_int(ctx, 4 * a), loom_int(ctx, 2 * b)}}};
  loom_loops nest = {c->sizes, 2, 2};
  loom_mapped mapped;
  c->ranges = loom_ranges_new(ctx, &c->tiling, NULL);
  check(ctx, c->ranges && loom_ranges_map(c->ranges, &nest, &mapped) == LOOM_OK);
  const loom_expr *v = mapped.values;
  c->index = loom_add(
      ctx, loom_mul(ctx, v[0], loom_int(ctx, 8 * b)),
      loom_add(ctx, loom_mul(ctx, v[1], c->sizes[2]), loom_floor_div(ctx, v[2], loom_int(ctx, 4))));
}

/* Many at a time, since reading the clock would count.  As recorded of the other tool, the ranges
** of the kernel are there before its index is simplified, and no index was seen before. */
static void measure_ranges(loom_ctx *ctx, const peer_time *peer) {
  enum { BATCH = 16 };
  double splits[REPEATS], simplified[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    ranges_case cases[BATCH];
    for (int k = 0; k < BATCH; k++)
      prepare_ranges(ctx, &cases[k], 8 + BATCH * i + k, 64 + BATCH * i + k);
    double start = now();
    for (int k = 0; k < BATCH; k++) {
      loom_loops nest = {cases[k].sizes, 2, 2};
      check(ctx, loom_split_loops(ctx, 2, cases[k].tiling.extent, &nest, NULL, &cases[k].pieces) ==
                     LOOM_OK);
    }
    double split = now();
    for (int k = 0; k < BATCH; k++)
      check(ctx, loom_ranges_simplify(cases[k].ranges, cases[k].index) != LOOM_NONE);
    simplified[i] = (now() - split) / BATCH;
    splits[i] = (split - start) / BATCH;
    for (int k = 0; k < BATCH; k++) {
      loom_split_free(ctx, &cases[k].pieces);
      loom_ranges_free(cases[k].ranges);
    }
    loom_gc_begin(ctx);
    loom_gc_end(ctx);
  }
  report(peer, "two loops of two pieces split onto the extents", splits, "splitting");
  report(peer, "an index of three variables, one divided, simplified", simplified, "simplifying");
}

/* Arguments: KEY=MICROSECONDS of another tool, in place of the recorded ones. */
int main(int argc, char **argv) {
  peer_time peer[N_PEER] = {{"softmax", 8200, "recorded"},
                            {"coalescing", 1800, "recorded"},
                            {"tiling", 280, "recorded"},
                            {"splitting", 70, "recorded"},
                            {"simplifying", 160, "recorded"}};
  for (int i = 1; i < argc; i++)
    for (int k = 0; k < N_PEER; k++) {
      size_t n = strlen(peer[k].key);
      if (strncmp(argv[i], peer[k].key, n) == 0 && argv[i][n] == '=')
        peer[k] = (peer_time){peer[k].key, strtod(argv[i] + n + 1, NULL), "peer"};
    }
  loom_ctx *ctx = loom_ctx_new();
  measure_softmax(ctx, peer);
  measure_transposed(ctx, peer);
  measure_ranges(ctx, peer);
  loom_ctx_free(ctx);
  return 0;
}
