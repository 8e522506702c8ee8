/* SPDX-License-Identifier: MIT */
/* Fusion of random graphs: kernels hold every operation once and in an order in which they may run,
** each has a schedule, and what is kept of groups is what their operations say when asked one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "random_expr.h"

enum { ROWS = 8, COLUMNS = 32, ALL = ROWS * COLUMNS, INPUTS = 3, MOST_OPS = 140, ROUNDS = 150 };

typedef struct world {
  loom_ctx *ctx;
  loom_graph *g;
  uint64_t seed;
  int n_ops;
  bool is_row[MOST_OPS + INPUTS]; /* by buffer: ROWS elements */
  int kernel_of[MOST_OPS], place_of[MOST_OPS];
} world;

static loom_expr variable(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static int add_buffer(world *w, bool row, bool output) {
  char name[32];
  int number = (int)loom_graph_buffers(w->g, NULL);
  loom_expr size = loom_int(w->ctx, row ? ROWS : ALL);
  snprintf(name, sizeof name, "b%d", number);
  loom_buffer_info info = {.name = name, .rank = 1, .sizes = &size, .output = output};
  assert_int_equal(loom_graph_buffer(w->g, &info), number);
  w->is_row[number] = row;
  return number;
}

/* Nests over all elements in one loop or two, over rows, and reductions of rows. */
typedef enum shape { FLAT, NESTED, ROW, REDUCE, CALL, N_SHAPES } shape;

static loom_expr index_of(world *w, shape s, bool row) {
  loom_ctx *ctx = w->ctx;
  loom_expr p0 = variable(ctx, "p0"), p1 = variable(ctx, "p1");
  loom_expr columns = loom_int(ctx, COLUMNS), rows = loom_int(ctx, ROWS);
  if (s == FLAT) return row ? loom_floor_div(ctx, p0, columns) : p0;
  if (row) return p0;
  if (s == ROW) return loom_mul(ctx, p0, columns);
  if (random_below(&w->seed, 5) == 0) return loom_add(ctx, loom_mul(ctx, p1, rows), p0);
  return loom_add(ctx, loom_mul(ctx, p0, columns), p1);
}

static void add_op(world *w) {
  loom_ctx *ctx = w->ctx;
  char name[32];
  shape s = (shape)random_below(&w->seed, random_below(&w->seed, 8) ? REDUCE + 1 : N_SHAPES);
  int n_buffers = INPUTS + w->n_ops, near = random_below(&w->seed, 2) ? 6 : n_buffers;
  loom_use reads[3], write;
  size_t n = 1 + (size_t)random_below(&w->seed, 3);
  for (size_t i = 0; i < n; i++) {
    int from = near < n_buffers ? n_buffers - near : 0;
    int buffer = from + random_below(&w->seed, n_buffers - from);
    reads[i] = (loom_use){.buffer = buffer, .mode = s == CALL ? LOOM_USE_WHOLE : LOOM_USE_INDEXED};
    if (s != CALL) reads[i].index = index_of(w, s, w->is_row[buffer]);
  }
  bool row = s == ROW || s == REDUCE;
  write = (loom_use){.buffer = add_buffer(w, row, random_below(&w->seed, 10) == 0),
                     .mode = s == CALL ? LOOM_USE_WHOLE : LOOM_USE_INDEXED};
  loom_expr p0 = variable(ctx, "p0"), p1 = variable(ctx, "p1");
  loom_extent loops[] = {{p0, loom_int(ctx, s == FLAT ? ALL : ROWS)}, {p1, loom_int(ctx, COLUMNS)}};
  if (s != CALL)
    write.index =
        row || s == FLAT ? p0 : loom_add(ctx, loom_mul(ctx, p0, loom_int(ctx, COLUMNS)), p1);
  snprintf(name, sizeof name, "op%d", w->n_ops);
  loom_op_info info = {.name = name,
                       .kind = s == CALL     ? LOOM_OP_OPAQUE
                               : s == REDUCE ? LOOM_OP_REDUCTION
                                             : LOOM_OP_POINTWISE,
                       .reduction = "sum",
                       .n_pointwise = s == CALL     ? 0
                                      : s == NESTED ? 2
                                                    : 1,
                       .n_reduction = s == REDUCE,
                       .loops = loops,
                       .n_reads = n,
                       .reads = reads,
                       .n_writes = 1,
                       .writes = &write};
  assert_int_equal(loom_graph_op(w->g, &info), w->n_ops++);
}

/* A few lists of operations that may be one. */
static size_t add_lists(world *w) {
  for (int k = random_below(&w->seed, 5); k > 0; k--) {
    int ops[3], n = 2 + random_below(&w->seed, 2);
    for (int i = 0; i < n; i++) ops[i] = random_below(&w->seed, w->n_ops);
    if (loom_graph_list(w->g, (size_t)n, ops) < 0)
      assert_int_equal(loom_error_status(w->ctx), LOOM_ERR_BAD_GRAPH);
    loom_error_clear(w->ctx);
  }
  return loom_graph_lists(w->g, NULL);
}

/* ---- what has to hold --------------------------------------------------------------------- */

/* What waits for another operation is behind it in its kernel, or in a later launch. */
static void check_order(world *w, size_t n, const loom_fused *kernels) {
  int seen = 0;
  for (int i = 0; i < w->n_ops; i++) w->kernel_of[i] = -1;
  for (size_t k = 0; k < n; k++)
    for (size_t i = 0; i < kernels[k].n; i++) {
      int op = kernels[k].ops[i];
      assert_int_equal(w->kernel_of[op], -1);
      w->kernel_of[op] = (int)k;
      w->place_of[op] = seen++;
    }
  assert_int_equal(seen, w->n_ops);
  for (int a = 0; a < w->n_ops; a++)
    for (int b = 0; b < w->n_ops; b++)
      if (loom_graph_depends(w->g, b, a)) {
        int k = w->kernel_of[a], m = w->kernel_of[b];
        assert_true(k == m ? w->place_of[a] < w->place_of[b]
                           : kernels[k].launch < kernels[m].launch);
      }
}

/* The members of a list are in kernels of one launch, each in another, in the order of the list. */
static void check_lists(world *w, const loom_fused *kernels) {
  const loom_list *lists;
  size_t n = loom_graph_lists(w->g, &lists);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 1; k < lists[i].n; k++) {
      int before = w->kernel_of[lists[i].ops[k - 1]], here = w->kernel_of[lists[i].ops[k]];
      assert_int_equal(here, before + 1);
      assert_int_equal(kernels[here].launch, kernels[before].launch);
    }
}

static void check_schedules(world *w, size_t n, const loom_fused *kernels) {
  const loom_op *ops;
  int *steps = malloc(5 * MOST_OPS * sizeof *steps);
  loom_graph_ops(w->g, &ops);
  for (size_t k = 0; k < n; k++) {
    if (ops[kernels[k].ops[0]].kind == LOOM_OP_OPAQUE) {
      assert_int_equal(kernels[k].n, 1);
      continue;
    }
    ptrdiff_t length = loom_schedule(w->g, kernels[k].n, kernels[k].ops, kernels[k].extent,
                                     kernels[k].reduction_extent, steps);
    assert_true(length >= (ptrdiff_t)kernels[k].n);
  }
  free(steps);
}

static bool has_dep(const loom_op *ops, const loom_fused *kernel, const loom_dep *dep) {
  for (size_t i = 0; i < kernel->n; i++) {
    const loom_op *op = &ops[kernel->ops[i]];
    for (size_t k = 0; k < op->n_dep_reads; k++)
      if (op->dep_reads[k] == dep) return true;
    for (size_t k = 0; k < op->n_dep_writes; k++)
      if (op->dep_writes[k] == dep) return true;
  }
  return false;
}

/* Bytes of the accesses of a that b has as well, each once. */
static int64_t shared_bytes(const loom_op *ops, const loom_fused *a, const loom_fused *b) {
  const loom_dep *seen[4 * MOST_OPS];
  size_t n_seen = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < a->n; i++) {
    const loom_op *op = &ops[a->ops[i]];
    for (size_t k = 0; k < op->n_dep_reads + op->n_dep_writes; k++) {
      const loom_dep *dep =
          k < op->n_dep_reads ? op->dep_reads[k] : op->dep_writes[k - op->n_dep_reads];
      bool known = false;
      for (size_t j = 0; j < n_seen; j++) known |= seen[j] == dep;
      if (known) continue;
      seen[n_seen++] = dep;
      if (has_dep(ops, b, dep)) bytes += dep->bytes;
    }
  }
  return bytes;
}

/* The tiling of operations without reductions. */
static loom_tiling tiling_of(world *w, size_t n, const int *ops, loom_expr extent) {
  loom_tiling tiling;
  loom_kernel_steps steps = {n, ops, extent, loom_int(w->ctx, 1)};
  assert_int_equal(loom_tiling_select(w->g, &steps, &(loom_tiling_options){0}, &tiling), LOOM_OK);
  return tiling;
}

static bool same_tiling(const loom_tiling *a, const loom_tiling *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->prefix[i] != b->prefix[i] || a->extent[i] != b->extent[i]) return false;
  return true;
}

/* The shape test of two groups without reductions, from their operations. */
static loom_fuse_reason pointwise_shape(world *w, const loom_fused *a, const loom_fused *b) {
  if (a->extent != b->extent) return LOOM_FUSE_EXTENTS_DIFFER;
  int both[2 * MOST_OPS];
  memcpy(both, a->ops, a->n * sizeof *both);
  memcpy(both + a->n, b->ops, b->n * sizeof *both);
  loom_tiling t1 = tiling_of(w, a->n, a->ops, a->extent);
  loom_tiling t2 = tiling_of(w, b->n, b->ops, a->extent);
  loom_tiling t3 = tiling_of(w, a->n + b->n, both, a->extent);
  bool differs = (t1.n > 2 && !same_tiling(&t1, &t3)) || (t2.n > 2 && !same_tiling(&t2, &t3));
  return differs ? LOOM_FUSE_TILING_DIFFERS : LOOM_FUSE_OK;
}

static void check_pairs(world *w, loom_fusion *f, size_t n, const loom_fused *kernels) {
  const loom_op *ops;
  loom_graph_ops(w->g, &ops);
  loom_expr one = loom_int(w->ctx, 1);
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n; b++) {
      loom_fuse_pair pair;
      if (a == b) continue;
      assert_int_equal(loom_fusion_pair(f, kernels[a].ops[0], kernels[b].ops[0], &pair), LOOM_OK);
      assert_true(pair.score.bytes == shared_bytes(ops, &kernels[a], &kernels[b]));
      if (ops[kernels[a].ops[0]].kind == LOOM_OP_OPAQUE ||
          ops[kernels[b].ops[0]].kind == LOOM_OP_OPAQUE) {
        assert_true(pair.reason == LOOM_FUSE_FIRST_OPAQUE ||
                    pair.reason == LOOM_FUSE_SECOND_OPAQUE);
        continue;
      }
      if (kernels[a].reduction_extent == one && kernels[b].reduction_extent == one)
        assert_int_equal(pair.shape, pointwise_shape(w, &kernels[a], &kernels[b]));
    }
}

static void check_round(uint64_t seed, size_t *n_fused, size_t *n_lists) {
  world w = {.ctx = loom_ctx_new(), .seed = seed};
  w.g = loom_graph_new(w.ctx, NULL);
  for (int i = 0; i < INPUTS; i++) add_buffer(&w, i == 2, false);
  for (int n = 2 + random_below(&w.seed, MOST_OPS - 2); n > 0; n--) add_op(&w);
  *n_lists += add_lists(&w);
  int most = random_below(&w.seed, 2) ? 0 : 1 + random_below(&w.seed, 200);
  loom_fusion_options options = {.aggressive = random_below(&w.seed, 3) == 0,
                                 .unshared = random_below(&w.seed, 3) == 0,
                                 .max_ops = (size_t)most,
                                 .max_buffers = random_below(&w.seed, 3) ? 0 : 12};
  loom_fusion *f = loom_fusion_new(w.g, &options);
  const loom_fused *kernels;
  assert_non_null(f);
  assert_int_equal(loom_fusion_run(f), LOOM_OK);
  ptrdiff_t n = loom_fusion_kernels(f, &kernels);
  assert_true(n > 0);
  *n_fused += (size_t)w.n_ops - (size_t)n;
  check_order(&w, (size_t)n, kernels);
  check_lists(&w, kernels);
  check_schedules(&w, (size_t)n, kernels);
  if (n < 60 && loom_graph_lists(w.g, NULL) == 0) check_pairs(&w, f, (size_t)n, kernels);
  loom_fusion_free(f);
  loom_graph_free(w.g);
  loom_ctx_free(w.ctx);
}

static void test_random_graphs(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_fusion");
  size_t n_fused = 0, n_lists = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) check_round(seed + i, &n_fused, &n_lists);
  assert_true(n_lists > ROUNDS / 4);
  assert_true(n_fused > 10 * ROUNDS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
