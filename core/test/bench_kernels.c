/* SPDX-License-Identifier: MIT */
/* Microseconds for graphs of loop nests and plans of their kernels: the best of several repeats.
** Sizes are different in each repeat, so that nothing is remembered. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "einloom.h"

enum { REPEATS = 200 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
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

static void plan_softmax(softmax *s) {
  static const int steps[] = {0, LOOM_REDUCTION_OFF, LOOM_REDUCTION_ON, 1,
                              2, LOOM_REDUCTION_OFF, LOOM_REDUCTION_ON, 3};
  loom_kernel_info info = {.n = 8,
                           .schedule = steps,
                           .extent = s->n,
                           .reduction_extent = s->r,
                           .tiling = {2, {LOOM_PREFIX_X, LOOM_PREFIX_R0}, {s->n, s->r}}};
  loom_plan *plan = loom_plan_new(s->g);
  check(s->ctx, plan && loom_plan_kernel(plan, &info) == 0);
  loom_plan_free(plan);
}

static void measure_softmax(loom_ctx *ctx) {
  double build = 1e18, plan = 1e18;
  for (int i = 0; i < REPEATS; i++) {
    softmax s = {.ctx = ctx};
    double start = now();
    build_softmax(&s, 32 + i, 128 + i);
    double built = now();
    plan_softmax(&s);
    double planned = now();
    if (built - start < build) build = built - start;
    if (planned - built < plan) plan = planned - built;
    loom_graph_free(s.g);
    loom_gc_begin(ctx);
    loom_gc_end(ctx);
  }
  printf("%-60s %8.1f us\n", "softmax: 4 operations and 5 buffers into a graph", build);
  printf("%-60s %8.1f us\n", "softmax: one kernel planned", plan);
}

/* ---- chains ------------------------------------------------------------------------------- */

static loom_graph *build_chain(loom_ctx *ctx, int n, loom_expr size) {
  char name[32];
  loom_extent loop = {variable(ctx, "p0"), size};
  loom_graph *g = loom_graph_new(ctx, NULL);
  check(ctx, g);
  buffer(ctx, g, "buf0", 1, &size, false);
  for (int i = 0; i < n; i++) {
    snprintf(name, sizeof name, "buf%d", i + 1);
    loom_use read = {.buffer = i, .index = loop.variable};
    loom_use write = {.buffer = buffer(ctx, g, name, 1, &size, i == n - 1), .index = loop.variable};
    snprintf(name, sizeof name, "op%d", i);
    loom_op_info info = {.name = name,
                         .n_pointwise = 1,
                         .loops = &loop,
                         .n_reads = 1,
                         .reads = &read,
                         .n_writes = 1,
                         .writes = &write};
    check(ctx, loom_graph_op(g, &info) == i);
  }
  return g;
}

/* Kernels of as many operations as each has. */
static void plan_chain(loom_ctx *ctx, loom_graph *g, int n, int each, loom_expr size) {
  loom_plan *plan = loom_plan_new(g);
  int *steps = malloc((size_t)n * sizeof *steps);
  check(ctx, plan && steps);
  for (int i = 0; i < n; i++) steps[i] = i;
  loom_expr one = loom_int(ctx, 1);
  for (int i = 0; i < n; i += each) {
    loom_kernel_info info = {.n = (size_t)each,
                             .schedule = steps + i,
                             .extent = size,
                             .reduction_extent = one,
                             .tiling = {2, {LOOM_PREFIX_X, LOOM_PREFIX_R0}, {size, one}}};
    check(ctx, loom_plan_kernel(plan, &info) >= 0);
  }
  free(steps);
  loom_plan_free(plan);
}

/* Kernels as they are decided: up to max_ops operations each. */
static void fuse_chain(loom_ctx *ctx, loom_graph *g, int n, int max_ops) {
  const loom_fused *kernels;
  loom_fusion *f = loom_fusion_new(g, &(loom_fusion_options){.max_ops = (size_t)max_ops});
  check(ctx, f && loom_fusion_run(f) == LOOM_OK);
  check(ctx, loom_fusion_kernels(f, &kernels) == (n + max_ops - 1) / max_ops);
  loom_fusion_free(f);
}

static double shorter(double a, double b) {
  return a < b ? a : b;
}

static void measure_fusion(loom_ctx *ctx, int n) {
  double apart = 1e18, some = 1e18, all = 1e18;
  for (int i = 0; i < REPEATS / 10; i++) {
    loom_graph *g = build_chain(ctx, n, loom_int(ctx, 100000 + i));
    double start = now();
    fuse_chain(ctx, g, n, 1);
    double first = now();
    fuse_chain(ctx, g, n, 50);
    double second = now();
    fuse_chain(ctx, g, n, n);
    double third = now();
    apart = shorter(apart, first - start);
    some = shorter(some, second - first);
    all = shorter(all, third - second);
    loom_graph_free(g);
    loom_gc_begin(ctx);
    loom_gc_end(ctx);
  }
  printf("chain of %5d: fusion refused for every pair %10s %8.3f ms\n", n, "", apart / 1e3);
  printf("chain of %5d: fused into kernels of 50 %15s %8.3f ms\n", n, "", some / 1e3);
  printf("chain of %5d: fused into one kernel %18s %8.3f ms\n", n, "", all / 1e3);
}

static void measure_chain(loom_ctx *ctx, int n) {
  double build = 1e18, apart = 1e18, fused = 1e18;
  for (int i = 0; i < REPEATS / 10; i++) {
    loom_expr size = loom_int(ctx, 100000 + i);
    double start = now();
    loom_graph *g = build_chain(ctx, n, size);
    double built = now();
    plan_chain(ctx, g, n, 1, size);
    double first = now();
    plan_chain(ctx, g, n, n, size);
    double second = now();
    if (built - start < build) build = built - start;
    if (first - built < apart) apart = first - built;
    if (second - first < fused) fused = second - first;
    loom_graph_free(g);
    loom_gc_begin(ctx);
    loom_gc_end(ctx);
  }
  printf("chain of %5d: graph %33s %8.3f ms\n", n, "", build / 1e3);
  printf("chain of %5d: planned as %5d kernels %16s %8.3f ms\n", n, n, "", apart / 1e3);
  printf("chain of %5d: planned as one kernel %18s %8.3f ms\n", n, "", fused / 1e3);
}

int main(void) {
  loom_ctx *ctx = loom_ctx_new();
  measure_softmax(ctx);
  measure_chain(ctx, 1000);
  measure_fusion(ctx, 1000);
  if (getenv("LONG")) {
    measure_chain(ctx, 10000);
    measure_fusion(ctx, 10000);
  }
  loom_ctx_free(ctx);
  return 0;
}
