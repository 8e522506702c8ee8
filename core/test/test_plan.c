/* SPDX-License-Identifier: MIT */
/* Plans of kernels on random graphs, executed point by point in the storage that they leave: values
** of all that leaves the graph are those of the operations one after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "random_expr.h"

/* All buffers have ROWS * COLUMNS elements, or (results of reductions) ROWS. */
enum { ROWS = 4, COLUMNS = 6, ALL = ROWS * COLUMNS, MOST_OPS = 24, ROUNDS = 150 };

/* A kernel that is to be planned when all operations are known. */
typedef struct kernel_spec {
  int steps[MOST_OPS];
  size_t n;
  int64_t extent, reduction;
  bool two;
} kernel_spec;

typedef struct world {
  loom_ctx *ctx;
  loom_graph *g;
  loom_plan *plan;
  uint64_t seed;
  int n_ops;
  bool is_row[MOST_OPS + 4]; /* by buffer: ROWS elements */
  int64_t wanted[MOST_OPS + 4][ALL];
  int64_t memory[MOST_OPS + 4][ALL]; /* by storage: the number of its first buffer */
  int storage[MOST_OPS + 4];
  kernel_spec specs[MOST_OPS];
  int n_specs;
} world;

static loom_expr variable(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

/* What an operation makes of the values it reads. */
static int64_t combine(int op, size_t n, const int64_t *values) {
  int64_t result = op + 1;
  for (size_t i = 0; i < n; i++) result = (result * 31 + values[i]) % 1000003;
  return result;
}

/* ---- graphs ------------------------------------------------------------------------------- */

/* Loops and indices an operation may have: over all elements as one loop, as two, or over rows. */
typedef enum nest_shape { FLAT, NESTED, ROW, N_SHAPES } nest_shape;

static size_t loops_of(loom_ctx *ctx, nest_shape shape, loom_extent *loops) {
  loom_expr p0 = variable(ctx, "p0"), p1 = variable(ctx, "p1");
  if (shape == FLAT) {
    loops[0] = (loom_extent){p0, loom_int(ctx, ALL)};
    return 1;
  }
  loops[0] = (loom_extent){p0, loom_int(ctx, ROWS)};
  loops[1] = (loom_extent){p1, loom_int(ctx, COLUMNS)};
  return shape == NESTED ? 2 : 1;
}

static loom_expr index_of(loom_ctx *ctx, nest_shape shape, bool row, bool transposed) {
  loom_expr p0 = variable(ctx, "p0"), p1 = variable(ctx, "p1");
  loom_expr columns = loom_int(ctx, COLUMNS), rows = loom_int(ctx, ROWS);
  if (shape == FLAT) return row ? loom_floor_div(ctx, p0, columns) : p0;
  if (row || shape == ROW) return p0;
  return transposed ? loom_add(ctx, loom_mul(ctx, p1, rows), p0)
                    : loom_add(ctx, loom_mul(ctx, p0, columns), p1);
}

static int add_buffer(world *w, bool row) {
  char name[32];
  int number = (int)loom_graph_buffers(w->g, NULL);
  loom_expr size = loom_int(w->ctx, row ? ROWS : ALL);
  snprintf(name, sizeof name, "buf%d", number);
  loom_buffer_info info = {
      .name = name, .rank = 1, .sizes = &size, .output = random_below(&w->seed, 5) == 0};
  assert_int_equal(loom_graph_buffer(w->g, &info), number);
  w->is_row[number] = row;
  return number;
}

/* An operation on buffers before `known` (in any order of elements) or on newer ones (straight). */
static int add_op(world *w, nest_shape shape, bool reduces, int known) {
  loom_extent loops[2];
  loom_use reads[3];
  char name[32];
  loom_ctx *ctx = w->ctx;
  int newest = (int)loom_graph_buffers(w->g, NULL), n = 1 + random_below(&w->seed, 3), n_reads = 0;
  for (int i = 0; i < n; i++) {
    int b = i == 0 && newest > known ? newest - 1 : random_below(&w->seed, newest);
    if (shape == ROW && !reduces && !w->is_row[b]) continue;
    bool transposed = b < known && random_below(&w->seed, 3) == 0;
    loom_expr index = index_of(ctx, shape, w->is_row[b], transposed);
    reads[n_reads++] = (loom_use){.buffer = b, .index = index};
  }
  bool row = reduces || shape == ROW;
  loom_use write = {.buffer = add_buffer(w, row),
                    .index = index_of(ctx, row ? ROW : shape, row, false)};
  snprintf(name, sizeof name, "op%d", w->n_ops);
  size_t n_loops = loops_of(ctx, shape, loops);
  loom_op_info info = {.name = name,
                       .kind = reduces ? LOOM_OP_REDUCTION : LOOM_OP_POINTWISE,
                       .reduction = reduces ? "sum" : NULL,
                       .n_pointwise = reduces ? 1 : n_loops,
                       .n_reduction = reduces ? 1 : 0,
                       .loops = loops,
                       .n_reads = (size_t)n_reads,
                       .reads = reads,
                       .n_writes = 1,
                       .writes = &write};
  assert_int_equal(loom_graph_op(w->g, &info), w->n_ops);
  return w->n_ops++;
}

/* ---- direct evaluation -------------------------------------------------------------------- */

static int64_t number(loom_ctx *ctx, loom_expr e) {
  int64_t value = -1;
  assert_true(loom_as_int(ctx, e, &value));
  return value;
}

static int64_t address(world *w, const loom_op *op, loom_expr index, int64_t p0, int64_t p1) {
  loom_expr symbols[2], values[] = {loom_int(w->ctx, p0), loom_int(w->ctx, p1)};
  size_t n = op->n_pointwise + op->n_reduction;
  for (size_t i = 0; i < n; i++) symbols[i] = op->loops[i].variable;
  return number(w->ctx, loom_substitute(w->ctx, index, n, symbols, values));
}

static void evaluate(world *w, int o) {
  const loom_op *ops;
  loom_graph_ops(w->g, &ops);
  const loom_op *op = &ops[o];
  size_t n = op->n_pointwise + op->n_reduction;
  int64_t outer = number(w->ctx, op->loops[0].size);
  int64_t inner = n > 1 ? number(w->ctx, op->loops[1].size) : 1, values[3];
  for (int64_t i = 0; i < outer; i++)
    for (int64_t j = 0; j < inner; j++) {
      for (size_t k = 0; k < op->n_reads; k++) {
        int64_t at = address(w, op, op->reads[k].index, i, j);
        values[k] = w->wanted[op->reads[k].buffer][at];
      }
      int64_t *out = &w->wanted[op->writes[0].buffer][address(w, op, op->writes[0].index, i, j)];
      int64_t value = combine(o, op->n_reads, values);
      *out = op->kind == LOOM_OP_REDUCTION && j > 0 ? *out + value : value;
    }
}

/* ---- execution of kernels ----------------------------------------------------------------- */

typedef struct run {
  world *w;
  const loom_kernel *k;
  int64_t x, r;
  bool fresh[MOST_OPS + 4]; /* by buffer: its value at this point is known */
  bool in_kernel[MOST_OPS + 4];
  int64_t value[MOST_OPS + 4];
} run;

/* The address at the current point. */
static int64_t kernel_address(run *r, loom_expr index) {
  const loom_entry *entries;
  const loom_tree *trees;
  size_t n = loom_ranges_entries(r->k->ranges, &entries);
  loom_ranges_trees(r->k->ranges, &trees);
  loom_expr symbols[64], values[64];
  assert_true(n <= 64);
  int64_t y_extent = 1;
  for (size_t i = 0; i < r->k->info.tiling.n; i++)
    if (r->k->info.tiling.prefix[i] == LOOM_PREFIX_X)
      y_extent = number(r->w->ctx, r->k->info.tiling.extent[i]);
  for (size_t i = 0; i < n; i++) {
    loom_prefix prefix = trees[entries[i].tree].prefix;
    int64_t flat = prefix == LOOM_PREFIX_X   ? r->x % y_extent
                   : prefix == LOOM_PREFIX_Y ? r->x / y_extent
                                             : r->r;
    int64_t divisor = number(r->w->ctx, entries[i].divisor);
    symbols[i] = entries[i].variable;
    values[i] = loom_int(r->w->ctx, flat / divisor % number(r->w->ctx, entries[i].length));
  }
  return number(r->w->ctx, loom_substitute(r->w->ctx, index, n, symbols, values));
}

static bool is_never_stored(const loom_kernel *k, int buffer) {
  for (size_t i = 0; i < k->n_never_stored; i++)
    if (k->never_stored[i] == buffer) return true;
  return false;
}

static int64_t load(run *r, const loom_kernel_access *a) {
  int64_t at = kernel_address(r, a->simplified);
  assert_int_equal(at, kernel_address(r, a->index));
  if (r->fresh[a->buffer]) return r->value[a->buffer];
  assert_false(is_never_stored(r->k, a->buffer));
  return r->w->memory[r->w->storage[a->buffer]][at];
}

static void store(run *r, const loom_kernel_access *a, int64_t value) {
  r->value[a->buffer] = value;
  r->fresh[a->buffer] = true;
  if (!is_never_stored(r->k, a->buffer))
    r->w->memory[r->w->storage[a->buffer]][kernel_address(r, a->simplified)] = value;
}

static void run_op(run *r, const loom_kernel_op *op, bool first) {
  int64_t values[3];
  size_t n = op->n_accesses - 1;
  for (size_t i = 0; i < n; i++) values[i] = load(r, &op->accesses[i]);
  const loom_kernel_access *out = &op->accesses[n];
  int64_t value = combine(op->op, n, values);
  if (out->reduced) {
    r->value[out->buffer] = first ? value : r->value[out->buffer] + value;
    return;
  }
  store(r, out, value);
}

/* Runs the operations first .. last - 1 of the kernel as one loop over the reduction. */
static void run_section(run *r, size_t first, size_t last, int64_t extent) {
  for (r->r = 0; r->r < extent; r->r++) {
    for (size_t i = first; i < last; i++) {
      const loom_kernel_op *op = &r->k->ops[i];
      const loom_kernel_access *out = &op->accesses[op->n_accesses - 1];
      if (!out->reduced) r->fresh[out->buffer] = false;
      run_op(r, op, r->r == 0);
    }
  }
  r->r = 0;
  for (size_t i = first; i < last; i++) {
    const loom_kernel_op *op = &r->k->ops[i];
    const loom_kernel_access *out = &op->accesses[op->n_accesses - 1];
    bool once = out->reduced || extent == 1;
    if (out->reduced) store(r, out, r->value[out->buffer]);
    r->fresh[out->buffer] = once;
  }
}

/* Storage that a buffer takes over from the one before it in its group. */
static void share_storage(world *w, const loom_kernel *k) {
  for (size_t i = 0; i < k->n_groups; i++)
    for (size_t j = 1; j < k->groups[i].n; j++)
      w->storage[k->groups[i].buffers[j]] = w->storage[k->groups[i].buffers[0]];
}

static void run_kernel(world *w, const loom_kernel *k) {
  share_storage(w, k);
  int64_t extent = number(w->ctx, k->info.extent);
  int64_t reduction = number(w->ctx, k->info.reduction_extent);
  for (int64_t x = 0; x < extent; x++) {
    run r = {.w = w, .k = k, .x = x};
    bool on = true;
    size_t first = 0, next = 0;
    for (size_t i = 0; i <= k->info.n; i++) {
      if (i < k->info.n && k->info.schedule[i] >= 0) {
        next++;
        continue;
      }
      run_section(&r, first, next, on ? reduction : 1);
      first = next;
      if (i < k->info.n) on = k->info.schedule[i] == LOOM_REDUCTION_ON;
    }
  }
}

/* Every access of memory is by an argument. */
static void check_arguments(world *w, const loom_kernel *k) {
  for (size_t i = 0; i < k->n_ops; i++)
    for (size_t j = 0; j < k->ops[i].n_accesses; j++) {
      int buffer = k->ops[i].accesses[j].buffer;
      bool found = is_never_stored(k, buffer);
      for (size_t n = 0; !found && n < k->n_arguments; n++)
        found = w->storage[k->arguments[n].buffer] == w->storage[buffer];
      const loom_buffer *buffers;
      loom_graph_buffers(w->g, &buffers);
      if (!found) assert_false(buffers[buffer].output); /* a group that lives here as a whole */
    }
}

/* ---- kernels ------------------------------------------------------------------------------ */

static void plan_kernel(world *w, const kernel_spec *spec) {
  loom_ctx *ctx = w->ctx;
  loom_kernel_info info = {.n = spec->n,
                           .schedule = spec->steps,
                           .extent = loom_int(ctx, spec->extent),
                           .reduction_extent = loom_int(ctx, spec->reduction)};
  loom_tiling *t = &info.tiling;
  if (spec->two) {
    t->prefix[t->n] = LOOM_PREFIX_Y;
    t->extent[t->n++] = loom_int(ctx, ROWS);
  }
  t->prefix[t->n] = LOOM_PREFIX_X;
  t->extent[t->n++] = loom_int(ctx, spec->two ? COLUMNS : spec->extent);
  t->prefix[t->n] = LOOM_PREFIX_R0;
  t->extent[t->n++] = info.reduction_extent;
  if (loom_plan_kernel(w->plan, &info) < 0) fail_msg("%s", loom_error_message(ctx));
  const loom_kernel *const *kernels;
  size_t n = loom_plan_kernels(w->plan, &kernels);
  run_kernel(w, kernels[n - 1]);
  check_arguments(w, kernels[n - 1]);
}

/* Pointwise operations over all elements. */
static void add_pointwise(world *w, int n) {
  kernel_spec *spec = &w->specs[w->n_specs++];
  int known = (int)loom_graph_buffers(w->g, NULL);
  spec->two = random_below(&w->seed, 2) == 0;
  spec->extent = ALL;
  spec->reduction = 1;
  for (int i = 0; i < n; i++)
    spec->steps[spec->n++] = add_op(w, (nest_shape)random_below(&w->seed, 2), false, known);
}

/* Pointwise operations and a reduction in one loop, one on its result behind it, others in a second
** loop that reads the result. */
static void add_reduction(world *w, int n) {
  kernel_spec *spec = &w->specs[w->n_specs++];
  int *steps = spec->steps;
  size_t k = 0;
  int known = (int)loom_graph_buffers(w->g, NULL);
  for (int i = 0; i < n; i++)
    steps[k++] = add_op(w, (nest_shape)random_below(&w->seed, 2), false, known);
  steps[k++] = add_op(w, NESTED, true, known);
  steps[k++] = LOOM_REDUCTION_OFF;
  if (random_below(&w->seed, 2)) steps[k++] = add_op(w, ROW, false, known);
  steps[k++] = LOOM_REDUCTION_ON;
  for (int i = 0; i < n; i++)
    steps[k++] = add_op(w, (nest_shape)random_below(&w->seed, 2), false, known);
  spec->n = k;
  spec->extent = ROWS;
  spec->reduction = COLUMNS;
}

static void check_outputs(world *w) {
  const loom_buffer *buffers;
  size_t n = loom_graph_buffers(w->g, &buffers);
  for (size_t i = 0; i < n; i++) {
    if (!buffers[i].output) continue;
    size_t bytes = (w->is_row[i] ? ROWS : ALL) * sizeof(int64_t);
    assert_memory_equal(w->wanted[i], w->memory[w->storage[i]], bytes);
  }
}

static void test_execution(void **state) {
  (void)state;
  uint64_t seed = test_seed("test_plan");
  for (int round = 0; round < ROUNDS; round++) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->ctx = loom_ctx_new();
    w->seed = seed + (uint64_t)round;
    w->g = loom_graph_new(w->ctx, NULL);
    w->plan = loom_plan_new(w->g);
    for (int i = 0; i < MOST_OPS + 4; i++) w->storage[i] = i;
    for (int b = 0; b < 2; b++) {
      add_buffer(w, false);
      for (int i = 0; i < ALL; i++) w->wanted[b][i] = w->memory[b][i] = 100 * b + 7 * i;
    }
    while (w->n_ops < MOST_OPS - 8) {
      int n = 1 + random_below(&w->seed, 3);
      if (random_below(&w->seed, 2))
        add_reduction(w, n);
      else
        add_pointwise(w, n);
    }
    for (int i = 0; i < w->n_ops; i++) evaluate(w, i);
    for (int i = 0; i < w->n_specs; i++) plan_kernel(w, &w->specs[i]);
    check_outputs(w);
    loom_plan_free(w->plan);
    loom_graph_free(w->g);
    loom_ctx_free(w->ctx);
    free(w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_execution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
