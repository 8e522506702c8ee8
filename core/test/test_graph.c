/* SPDX-License-Identifier: MIT */
/* Graphs of loop nests: ancestors against a search along the edges, merged accesses against each
** other, and memory that runs out anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "random_expr.h"
#include "simd/idset.h"

enum { MOST_OPS = 150, ROUNDS = 40 };

static loom_expr variable(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

/* Operation i writes buffer i + 1 (buffer 0 is an input), reads those of the list and comes behind the
** operation `after` (-1: none). */
static int add(loom_graph *g, loom_ctx *ctx, int i, size_t n_reads, const int *reads, int after) {
  char name[32];
  loom_expr sizes[] = {loom_int(ctx, 8), loom_int(ctx, 16)};
  snprintf(name, sizeof name, "buf%d", i + 1);
  if (loom_graph_buffer(g, &(loom_buffer_info){.name = name, .rank = 2, .sizes = sizes}) < 0)
    return -1;
  loom_extent loops[] = {{variable(ctx, "p0"), sizes[0]}, {variable(ctx, "p1"), sizes[1]}};
  loom_expr index = loom_add(ctx, loom_mul(ctx, sizes[1], loops[0].variable), loops[1].variable);
  loom_use uses[8], write = {.buffer = i + 1, .index = index};
  for (size_t k = 0; k < n_reads; k++) uses[k] = (loom_use){.buffer = reads[k], .index = index};
  snprintf(name, sizeof name, "op%d", i);
  return loom_graph_op(g, &(loom_op_info){.name = name,
                                          .n_pointwise = 2,
                                          .loops = loops,
                                          .n_reads = n_reads,
                                          .reads = uses,
                                          .n_writes = 1,
                                          .writes = &write,
                                          .n_after = after >= 0,
                                          .after = &after});
}

static loom_graph *begin(loom_ctx *ctx) {
  loom_graph *g = loom_graph_new(ctx, NULL);
  loom_expr sizes[] = {loom_int(ctx, 8), loom_int(ctx, 16)};
  if (!g) return NULL;
  if (loom_graph_buffer(g, &(loom_buffer_info){.name = "a", .rank = 2, .sizes = sizes}) == 0)
    return g;
  loom_graph_free(g);
  return NULL;
}

static void check_ancestors(const loom_graph *g, int n, bool (*edge)[MOST_OPS]) {
  static bool reach[MOST_OPS][MOST_OPS];
  memset(reach, 0, sizeof reach);
  for (int i = 0; i < n; i++)
    for (int k = i - 1; k >= 0; k--) {
      reach[i][k] = edge[i][k];
      for (int m = k + 1; m < i && !reach[i][k]; m++) reach[i][k] = reach[i][m] && reach[m][k];
    }
  for (int i = 0; i < n; i++) {
    int list[MOST_OPS];
    size_t n_listed = loom_graph_ancestors(g, i, list), place = 0;
    for (int k = 0; k < n; k++) {
      assert_int_equal(loom_graph_depends(g, i, k), reach[i][k]);
      if (reach[i][k]) assert_int_equal(list[place++], k);
    }
    assert_int_equal(n_listed, place);
  }
}

/* What operation i reads: all from anywhere, or mostly from near, so that there are long chains with
** branches. */
static size_t choose_reads(uint64_t *seed, int i, bool near, int reads[4]) {
  size_t n = (size_t)random_below(seed, 4);
  for (size_t k = 0; k < n; k++) {
    int back = near && random_below(seed, 8) ? random_below(seed, 4) : random_below(seed, i + 1);
    reads[k] = back > i ? 0 : i - back;
  }
  return n;
}

static void test_ancestors(void **state) {
  (void)state;
  static bool edge[MOST_OPS][MOST_OPS];
  uint64_t seed = test_seed("test_graph");
  for (int round = 0; round < ROUNDS; round++) {
    loom_ctx *ctx = loom_ctx_new();
    loom_graph *g = begin(ctx);
    int n = 1 + random_below(&seed, MOST_OPS);
    memset(edge, 0, sizeof edge);
    for (int i = 0; i < n; i++) {
      int reads[4], after = random_below(&seed, 6) ? -1 : random_below(&seed, i + 1) - 1;
      size_t n_reads = choose_reads(&seed, i, round % 2 == 0, reads);
      for (size_t k = 0; k < n_reads; k++)
        if (reads[k] > 0) edge[i][reads[k] - 1] = true;
      if (after >= 0) edge[i][after] = true;
      assert_int_equal(add(g, ctx, i, n_reads, reads, after), i);
    }
    check_ancestors(g, n, edge);
    loom_graph_free(g);
    loom_ctx_free(ctx);
  }
}

/* Every read of buffer b is the one loom_dep that its writer has too. */
static void test_equal_accesses(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_graph *g = begin(ctx);
  const loom_op *ops;
  for (int i = 0; i < 100; i++)
    assert_int_equal(add(g, ctx, i, i > 0 ? 2 : 1, (int[]){i, i / 2}, -1), i);
  loom_graph_ops(g, &ops);
  for (int i = 1; i < 100; i++) {
    assert_ptr_equal(ops[i].dep_reads[0], ops[i - 1].dep_writes[0]);
    assert_int_equal(ops[i].dep_reads[0]->n, 1);
    assert_int_equal(ops[i].dep_reads[0]->bytes, 512);
  }
  const loom_buffer *buffers;
  loom_graph_buffers(g, &buffers);
  assert_int_equal(buffers[10].n_users, 3);
  loom_graph_free(g);
  loom_ctx_free(ctx);
}

/* Sets of numbers against one flag for each. */
static void test_sets(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_graph: sets");
  for (int round = 0; round < ROUNDS; round++) {
    loom_ctx *ctx = loom_ctx_new();
    loom_arena arena;
    loom_arena_init(&arena, ctx);
    loom_id_set sets[2] = {0};
    static bool in[2][4 * MOST_OPS];
    memset(in, 0, sizeof in);
    int limit = 1 + random_below(&seed, 4 * MOST_OPS);
    for (int i = 0; i < 8 * MOST_OPS; i++) {
      int which = random_below(&seed, 2), id = random_below(&seed, limit);
      loom_id_set *set = &sets[which];
      if (random_below(&seed, 3) || set->n == 0) {
        assert_true(loom_id_set_add(&arena, set, id));
        in[which][id] = true;
      } else {
        size_t place = (size_t)random_below(&seed, (int)set->n);
        in[which][set->at[place]] = false;
        loom_id_set_drop(set, place);
      }
      int asked = random_below(&seed, limit);
      assert_int_equal(loom_id_set_has(set, asked), in[which][asked]);
    }
    assert_true(loom_id_set_join(&arena, &sets[0], &sets[1]));
    size_t n = 0;
    for (int id = 0; id < limit; id++) {
      bool expected = in[0][id] || in[1][id];
      assert_int_equal(loom_id_set_has(&sets[0], id), expected);
      n += expected;
    }
    assert_int_equal(sets[0].n, n);
    loom_arena_free(&arena);
    loom_ctx_free(ctx);
  }
}

enum { SOME_OPS = 40 };

/* Schedules all operations as one kernel, tiles it in each way and plans it. */
static bool plan_all(loom_ctx *ctx, loom_graph *g) {
  int ops[SOME_OPS], schedule[5 * SOME_OPS];
  loom_kernel_info info = {.extent = loom_int(ctx, 128), .reduction_extent = loom_int(ctx, 1)};
  for (int i = 0; i < SOME_OPS; i++) ops[i] = i;
  ptrdiff_t n = loom_schedule(g, SOME_OPS, ops, info.extent, info.reduction_extent, schedule);
  if (n <= 0) return false;
  info.n = (size_t)n;
  info.schedule = schedule;
  loom_kernel_steps steps = {info.n, schedule, info.extent, info.reduction_extent};
  loom_tiling_options options = {.blocks = true, .max_tiles = 3};
  loom_coalescing *c = loom_coalesce(g, &steps, false);
  loom_scored_tiling scored;
  loom_blocked best;
  bool good = c && loom_coalesced_select(g, &steps, c, 3, &scored) == LOOM_OK &&
              loom_tiling_best(g, &steps, NULL, &best) == LOOM_OK && best.sectors > 0 &&
              loom_tiling_select(g, &steps, &options, &info.tiling) == LOOM_OK;
  loom_plan *plan = good ? loom_plan_new(g) : NULL;
  good = plan && loom_plan_kernel(plan, &info) == 0;
  loom_plan_free(plan);
  loom_coalescing_free(c);
  return good;
}

/* Fuses the operations, some of them in a list. */
static bool fuse_all(loom_ctx *ctx, loom_graph *g) {
  static const int others[] = {SOME_OPS, SOME_OPS + 1};
  const loom_fused *kernels;
  for (int i = 0; i < 2; i++)
    if (add(g, ctx, SOME_OPS + i, 1, (int[]){i}, -1) != SOME_OPS + i) return false;
  if (loom_graph_list(g, 2, others) != 0) return false;
  loom_fusion *f = loom_fusion_new(g, NULL);
  bool good = f && loom_fusion_run(f) == LOOM_OK && loom_fusion_kernels(f, &kernels) > 1;
  loom_fusion_free(f);
  return good;
}

static bool build_all(loom_ctx *ctx) {
  loom_graph *g = begin(ctx);
  bool good = g != NULL;
  for (int i = 0; good && i < SOME_OPS; i++) good = add(g, ctx, i, 2, (int[]){i, i / 3}, -1) == i;
  good = good && plan_all(ctx, g) && fuse_all(ctx, g);
  loom_graph_free(g);
  return good;
}

static void test_memory(void **state) {
  (void)state;
  for (size_t extra = 0;; extra += 512) {
    loom_ctx *ctx = loom_ctx_new();
    loom_base_of(ctx)->bytes_limit = loom_ctx_bytes(ctx) + extra;
    bool good = build_all(ctx);
    if (!good) assert_int_equal(loom_error_status(ctx), LOOM_ERR_MEMORY);
    loom_ctx_free(ctx);
    if (good) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ancestors),
                                     cmocka_unit_test(test_equal_accesses),
                                     cmocka_unit_test(test_sets), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
