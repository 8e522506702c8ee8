/* SPDX-License-Identifier: MIT */
/* Microseconds per operation on the ranges of kernels: the best of several repeats, beside a fixed
** loop of arithmetic that tells how fast the machine is. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "einloom.h"

enum { REPEATS = 201, COUNT = 100 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

typedef struct bench {
  loom_ctx *ctx;
  loom_ranges *kernel;
  loom_expr sizes[8], vars[3];
  loom_loops nest;
  loom_tiling tiling;
  loom_split split;
  int64_t fresh;
} bench;

static void die(const bench *b, const char *what) {
  fprintf(stderr, "bench_ranges: %s: %s\n", what, loom_error_message(b->ctx));
  exit(1);
}

/* Does something once. */
typedef void (*operation)(bench *b);

/* Best time of one, with what it makes thrown away after each repeat. */
static void measure(bench *b, const char *what, operation run) {
  double best = 1e18;
  for (int i = 0; i < REPEATS; i++) {
    double start = now();
    for (int k = 0; k < COUNT; k++) run(b);
    double each = (now() - start) / COUNT;
    if (each < best) best = each;
    loom_gc_begin(b->ctx);
    for (int k = 0; k < 8; k++) loom_gc_mark(b->ctx, b->sizes[k]);
    for (int k = 0; k < 3; k++) loom_gc_mark(b->ctx, b->vars[k]);
    for (size_t k = 0; k < b->tiling.n; k++) loom_gc_mark(b->ctx, b->tiling.extent[k]);
    loom_gc_end(b->ctx);
  }
  printf("%-60s %8.3f us\n", what, best);
}

static void calibrate(bench *b) {
  volatile uint64_t sink = (uint64_t)b->fresh;
  uint64_t x = sink;
  for (int k = 0; k < 1000; k++) x = x * 6364136223846793005u + 1442695040888963407u;
  sink = x;
}

static void split(bench *b) {
  if (loom_split_loops(b->ctx, 2, b->tiling.extent, &b->nest, NULL, &b->split) != LOOM_OK)
    die(b, "split");
}

static void fit(bench *b) {
  if (loom_loops_fit(b->ctx, 2, b->tiling.extent, &b->nest, LOOM_NONE, NULL) != LOOM_OK)
    die(b, "fit");
}

static void span(bench *b) {
  loom_loops one = {&b->sizes[4], 1, 0};
  if (loom_split_loops(b->ctx, 2, b->tiling.extent, &one, NULL, &b->split) != LOOM_OK)
    die(b, "span");
}

static void refuse(bench *b) {
  loom_loops odd = {&b->sizes[5], 2, 0};
  if (loom_loops_fit(b->ctx, 2, b->tiling.extent, &odd, LOOM_NONE, NULL) != LOOM_ERR_CANNOT_SPLIT)
    die(b, "refuse");
}

static void map_again(bench *b) {
  loom_mapped mapped;
  if (loom_ranges_map(b->kernel, &b->nest, &mapped) != LOOM_OK) die(b, "map");
}

static void new_kernel(bench *b) {
  loom_mapped mapped;
  loom_ranges *r = loom_ranges_new(b->ctx, &b->tiling, NULL);
  if (!r || loom_ranges_map(r, &b->nest, &mapped) != LOOM_OK) die(b, "kernel");
  loom_ranges_free(r);
}

/* An index that the context has not seen before. */
static loom_expr new_index(bench *b) {
  int64_t k = 3 + b->fresh++;
  loom_expr terms[] = {loom_mul(b->ctx, loom_int(b->ctx, 64 * k), b->vars[0]),
                       loom_mul(b->ctx, loom_int(b->ctx, k), b->vars[1]), b->vars[2]};
  return loom_sum(b->ctx, 3, terms);
}

static void simplify(bench *b) {
  if (!loom_ranges_simplify(b->kernel, new_index(b))) die(b, "simplify");
}

static void simplify_divided(bench *b) {
  loom_expr divided = loom_floor_div(b->ctx, new_index(b), loom_int(b->ctx, 32));
  if (!loom_ranges_simplify(b->kernel, divided)) die(b, "simplify");
}

static void simplify_again(bench *b) {
  loom_expr terms[] = {b->vars[0], b->vars[1], b->vars[2]};
  if (!loom_ranges_simplify(b->kernel, loom_sum(b->ctx, 3, terms))) die(b, "simplify");
}

static void strides(bench *b) {
  loom_expr out[LOOM_N_PREFIXES];
  if (loom_ranges_tile_strides(b->kernel, new_index(b), out) != LOOM_OK) die(b, "strides");
}

static void broadcasted(bench *b) {
  if (loom_ranges_broadcasted(b->kernel, new_index(b))) die(b, "broadcasted");
}

int main(void) {
  bench b = {.ctx = loom_ctx_new()};
  static const int64_t sizes[] = {32, 32, 8, 64, 1024 * 512, 48, 10923, 1};
  for (int i = 0; i < 8; i++) b.sizes[i] = loom_int(b.ctx, sizes[i]);
  b.tiling = (loom_tiling){
      2, {LOOM_PREFIX_X, LOOM_PREFIX_R0}, {loom_int(b.ctx, 1024), loom_int(b.ctx, 512)}};
  b.nest = (loom_loops){b.sizes, 2, 2};
  b.kernel = loom_ranges_new(b.ctx, &b.tiling, NULL);
  loom_mapped mapped;
  if (!b.kernel || loom_ranges_map(b.kernel, &b.nest, &mapped) != LOOM_OK) die(&b, "kernel");
  b.vars[0] = mapped.values[0];
  b.vars[1] = mapped.values[1];
  if (loom_ranges_construct(b.kernel, 1, 1, &b.tiling.extent[1], &b.vars[2]) != LOOM_OK)
    die(&b, "kernel");
  measure(&b, "calibration: 1000 steps of a generator", calibrate);
  measure(&b, "split [[32,32],[8,64]] onto [1024,512]", split);
  measure(&b, "the same as a question", fit);
  measure(&b, "split [524288] onto [1024,512]", span);
  measure(&b, "refuse [48,10923] on [1024,512]", refuse);
  measure(&b, "map [[32,32],[8,64]] onto a kernel that has it", map_again);
  measure(&b, "a new kernel with that nest", new_kernel);
  measure(&b, "build and simplify a fresh index of 3 variables", simplify);
  measure(&b, "build and simplify a fresh index of 3 variables // 32", simplify_divided);
  measure(&b, "simplify an index again", simplify_again);
  measure(&b, "build a fresh index, its tile strides", strides);
  measure(&b, "build a fresh index, whether it is broadcasted", broadcasted);
  loom_split_free(b.ctx, &b.split);
  loom_ranges_free(b.kernel);
  loom_ctx_free(b.ctx);
  return 0;
}
