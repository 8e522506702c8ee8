/* SPDX-License-Identifier: MIT */
/* Milliseconds from operations to planned kernels - graph, fusion, schedules, tilings, plan - for graphs
** of several shapes, each ten times as large as the one before, and how much longer that takes; the
** best of several repeats, with other sizes in each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "einloom.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void check(loom_ctx *ctx, bool good) {
  if (good) return;
  fprintf(stderr, "bench_growth: %s\n", loom_error_message(ctx));
  exit(1);
}

/* ---- graphs ------------------------------------------------------------------------------- */

typedef struct builder {
  loom_ctx *ctx;
  loom_graph *g;
  loom_extent loop;
  int n;
} builder;

static void add(builder *b, size_t n_reads, const int *reads) {
  char name[32];
  loom_use uses[3], write = {.buffer = b->n + 1, .index = b->loop.variable};
  for (size_t i = 0; i < n_reads; i++)
    uses[i] = (loom_use){.buffer = reads[i], .index = b->loop.variable};
  snprintf(name, sizeof name, "buf%d", b->n + 1);
  loom_buffer_info info = {.name = name, .rank = 1, .sizes = &b->loop.size};
  check(b->ctx, loom_graph_buffer(b->g, &info) >= 0);
  snprintf(name, sizeof name, "op%d", b->n);
  loom_op_info op = {.name = name,
                     .n_pointwise = 1,
                     .loops = &b->loop,
                     .n_reads = n_reads,
                     .reads = uses,
                     .n_writes = 1,
                     .writes = &write};
  check(b->ctx, loom_graph_op(b->g, &op) == b->n++);
}

/* Each reads what the one before it writes. */
static void chain(builder *b, int n) {
  for (int i = 0; i < n; i++) add(b, 1, (int[]){i});
}

/* Each writes what two others read. */
static void tree(builder *b, int n) {
  for (int i = 0; i < n; i++) add(b, 1, (int[]){(i + 1) / 2});
}

/* All read one buffer. */
static void wide(builder *b, int n) {
  for (int i = 0; i < n; i++) add(b, 1, (int[]){0});
}

/* Two in a row and a sum with what was there before them, as in a network with skips. */
static void skips(builder *b, int n) {
  for (int i = 0; i < n; i++) {
    bool sum = i % 3 == 2;
    add(b, sum ? 2 : 1, (int[]){i, sum ? i - 2 : 0});
  }
}

/* Rows of 100, each reading two of the row before. */
static void mesh(builder *b, int n) {
  for (int i = 0; i < n; i++) {
    int above = i - 100, beside = i % 100 == 99 ? above - 99 : above + 1;
    add(b, i < 100 ? 1 : 2, (int[]){i < 100 ? 0 : above + 1, beside + 1});
  }
}

static loom_graph *build(loom_ctx *ctx, void (*shape)(builder *b, int n), int n, int64_t size) {
  builder b = {.ctx = ctx, .g = loom_graph_new(ctx, NULL)};
  check(ctx, b.g);
  loom_assume index = {.integer = true, .has_min = true};
  b.loop = (loom_extent){loom_symbol(ctx, "p0", &index), loom_int(ctx, size)};
  loom_buffer_info info = {.name = "buf0", .rank = 1, .sizes = &b.loop.size};
  check(ctx, loom_graph_buffer(b.g, &info) == 0);
  shape(&b, n);
  return b.g;
}

/* ---- kernels ------------------------------------------------------------------------------ */

static void plan_kernel(loom_ctx *ctx, loom_graph *g, loom_plan *plan, const loom_fused *kernel,
                        int *steps) {
  loom_kernel_info info = {
      .extent = kernel->extent, .reduction_extent = kernel->reduction_extent, .schedule = steps};
  ptrdiff_t n = loom_schedule(g, kernel->n, kernel->ops, info.extent, info.reduction_extent, steps);
  check(ctx, n > 0);
  info.n = (size_t)n;
  loom_kernel_steps nest = {info.n, steps, info.extent, info.reduction_extent};
  check(ctx, loom_tiling_select(g, &nest, &(loom_tiling_options){0}, &info.tiling) == LOOM_OK &&
                 loom_plan_kernel(plan, &info) >= 0);
}

typedef struct times {
  double graph, fusion, plan;
  size_t n_kernels, bytes;
} times;

/* Kernels of up to max_ops operations. */
static times run(loom_ctx *ctx, void (*shape)(builder *b, int n), int n, int max_ops,
                 int64_t size) {
  const loom_fused *kernels;
  int *steps = malloc(5 * (size_t)n * sizeof *steps);
  size_t bytes = loom_ctx_bytes(ctx);
  double start = now();
  loom_graph *g = build(ctx, shape, n, size);
  double built = now();
  loom_fusion *f = loom_fusion_new(g, &(loom_fusion_options){.max_ops = (size_t)max_ops});
  check(ctx, steps && f && loom_fusion_run(f) == LOOM_OK);
  ptrdiff_t n_kernels = loom_fusion_kernels(f, &kernels);
  check(ctx, n_kernels > 0);
  double fused = now();
  loom_plan *plan = loom_plan_new(g);
  check(ctx, plan);
  for (ptrdiff_t i = 0; i < n_kernels; i++) plan_kernel(ctx, g, plan, &kernels[i], steps);
  double planned = now();
  times t = {built - start, fused - built, planned - fused, (size_t)n_kernels,
             loom_ctx_bytes(ctx) - bytes};
  loom_plan_free(plan);
  loom_fusion_free(f);
  loom_graph_free(g);
  free(steps);
  loom_gc_begin(ctx);
  loom_gc_end(ctx);
  return t;
}

static double total(const times *t) {
  return t->graph + t->fusion + t->plan;
}

static times best(loom_ctx *ctx, void (*shape)(builder *b, int n), int n, int max_ops) {
  times least = {0};
  int repeats = n <= 1000 ? 20 : n <= 10000 ? 5 : 2;
  for (int i = 0; i < repeats; i++) {
    times t = run(ctx, shape, n, max_ops, 100000 + i);
    if (i == 0 || total(&t) < total(&least)) least = t;
  }
  return least;
}

static void grow(loom_ctx *ctx, const char *what, void (*shape)(builder *b, int n), bool one) {
  double before = 0;
  for (int n = 1000; n <= 100000; n *= 10) {
    times t = best(ctx, shape, n, one ? n : 0);
    printf("%-22s %6d ops, %6zu kernels: graph %8.3f, fusion %8.3f, plan %8.3f, in all %8.3f ms",
           what, n, t.n_kernels, t.graph, t.fusion, t.plan, total(&t));
    if (before > 0)
      printf(", x%4.1f", total(&t) / before);
    else
      printf("       ");
    printf(", %5zu bytes/op\n", t.bytes / (size_t)n);
    before = total(&t);
  }
}

/* The chain whose figures of another tool are recorded, in both forms. */
static void compare(loom_ctx *ctx, const char *what, int max_ops, double recorded) {
  times t = best(ctx, chain, 1000, max_ops);
  printf("%-60s %10.3f ms, recorded %10.3f: %5.0f times\n", what, total(&t), recorded,
         recorded / total(&t));
}

int main(int argc, char **argv) {
  loom_ctx *ctx = loom_ctx_new();
  compare(ctx, "chain of 1000 operations: graph to 1000 kernels", 1, 1050);
  compare(ctx, "chain of 1000 operations: graph to one kernel", 1000, 5700);
  if (argc > 1 && strcmp(argv[1], "short") == 0) return loom_ctx_free(ctx), 0;
  grow(ctx, "chain", chain, false);
  grow(ctx, "chain as one kernel", chain, true);
  grow(ctx, "tree", tree, false);
  grow(ctx, "all read one buffer", wide, false);
  grow(ctx, "network with skips", skips, false);
  grow(ctx, "mesh of 100 a row", mesh, false);
  loom_ctx_free(ctx);
  return 0;
}
