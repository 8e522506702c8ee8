/* SPDX-License-Identifier: MIT */
/* Bytes that a kernel moves, and operations of calls. */
#include <string.h>

#include "expr/ops.h"
#include "simd/plan.h"

/* ---- calls -------------------------------------------------------------------------------- */

static bool is_one_of(const char *call, const char *const *names) {
  for (; *names; names++)
    if (strcmp(call, *names) == 0) return true;
  return false;
}

static loom_expr product(loom_ctx *ctx, const loom_sizes *sizes, size_t first) {
  loom_expr all = loom_int(ctx, 1);
  for (size_t i = first; i < sizes->rank; i++) all = loom_mul(ctx, all, sizes->sizes[i]);
  return all;
}

loom_expr loom_call_flops(loom_ctx *ctx, const char *call, size_t n_inputs,
                          const loom_sizes *inputs, const loom_sizes *output) {
  static const char *const products[] = {"mm", "addmm", "bmm", "baddbmm", "matmul", NULL};
  static const char *const windows[] = {"conv", "conv1d", "conv2d", "conv3d", "convolution", NULL};
  loom_expr inner = LOOM_NONE;
  if (n_inputs >= 2 && is_one_of(call, products)) {
    const loom_sizes *left = &inputs[n_inputs - 2];
    if (left->rank > 0) inner = left->sizes[left->rank - 1];
  } else if (n_inputs >= 2 && is_one_of(call, windows)) {
    inner = product(ctx, &inputs[1], 1);
  }
  if (inner == LOOM_NONE) return loom_int(ctx, 0);
  loom_expr factors[] = {loom_int(ctx, 2), product(ctx, output, 0), inner};
  return loom_product(ctx, 3, factors);
}

/* ---- bytes -------------------------------------------------------------------------------- */

static loom_expr at_hints(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  loom_expr value;
  return loom_hint_value(ctx, e, given, &value) ? value : LOOM_NONE;
}

static loom_expr argument_bytes(loom_ctx *ctx, const loom_moved *a, loom_expr extent,
                                const loom_given *given) {
  if (a->n_indices == 0) return loom_int(ctx, 0);
  loom_expr elements = at_hints(ctx, a->elements, given);
  if (elements == LOOM_NONE) return LOOM_NONE;
  if (loom_known_lt(ctx, extent, elements) == LOOM_YES)
    elements = loom_mul(ctx, extent, loom_int(ctx, (int64_t)a->n_indices));
  return loom_mul(ctx, elements, loom_int(ctx, a->bytes));
}

loom_expr loom_moved_bytes(loom_ctx *ctx, const loom_tiling *tiling, size_t n,
                           const loom_moved *arguments, size_t n_in_place,
                           const loom_given *given) {
  loom_expr extent = loom_int(ctx, 1), sum = loom_int(ctx, 0), two = loom_int(ctx, 2);
  for (size_t i = 0; i < tiling->n; i++) extent = loom_mul(ctx, extent, tiling->extent[i]);
  extent = at_hints(ctx, extent, given);
  for (size_t i = 0; extent != LOOM_NONE && i < n; i++) {
    loom_expr bytes = argument_bytes(ctx, &arguments[i], extent, given);
    if (bytes == LOOM_NONE) return LOOM_NONE;
    sum = loom_add(ctx, sum, i < n_in_place ? loom_mul(ctx, bytes, two) : bytes);
  }
  return extent == LOOM_NONE ? LOOM_NONE : sum;
}

/* ---- of a kernel -------------------------------------------------------------------------- */

/* How often a buffer is accessed: in plan->place the arguments by buffer + 1, in the table the
** different indices. */
typedef struct counter {
  loom_plan *plan;
  loom_moved *arguments;
} counter;

static bool same_index(const void *data, uint32_t i, const void *key) {
  const loom_dep *a = ((const counter *)data)->plan->deps.at[i], *b = key;
  return a->buffer == b->buffer && a->index == b->index;
}

static bool count(counter *c, const loom_dep *dep) {
  loom_ctx *ctx = c->plan->ctx;
  int argument = c->plan->place.at[dep->buffer];
  if (argument == 0) return true;
  if (dep->mode == LOOM_USE_INDEXED) {
    uint32_t hash = loom_table_mix((uint32_t)dep->buffer, dep->index);
    if (loom_table_find(&c->plan->seen, hash, same_index, c, dep) >= 0) return true;
    if (!loom_vec_push(ctx, &c->plan->deps, dep) ||
        !loom_table_add(ctx, &c->plan->seen, hash, (uint32_t)c->plan->deps.n - 1))
      return false;
  }
  c->arguments[argument - 1].n_indices++;
  return true;
}

static bool count_all(counter *c, const loom_kernel *k) {
  for (size_t i = 0; i < k->n_ops; i++) {
    const loom_op *op = loom_plan_op(c->plan, k, i);
    for (size_t j = 0; j < op->n_dep_reads + op->n_dep_writes; j++)
      if (!count(c, op->dep_reads[j])) return false; /* writes follow reads */
  }
  return true;
}

/* The arguments that are buffers; a buffer that is an argument twice is counted at the first place
** and copied to the second. */
static void list_arguments(counter *c, const loom_kernel *k) {
  loom_plan *plan = c->plan;
  for (size_t i = 0; i < k->n_arguments; i++) {
    const loom_argument *a = &k->arguments[i];
    if (a->kind == LOOM_ARGUMENT_SIZE) continue;
    const loom_buffer *b = &plan->graph->buffers.at[a->buffer];
    c->arguments[i] = (loom_moved){b->elements, loom_dtype_bytes(b->dtype), 0};
    if (plan->place.at[a->buffer] == 0) plan->place.at[a->buffer] = (int)i + 1;
  }
}

static void copy_repeats(const counter *c, const loom_kernel *k) {
  for (size_t i = 0; i < k->n_arguments; i++)
    if (k->arguments[i].kind != LOOM_ARGUMENT_SIZE)
      c->arguments[i].n_indices =
          c->arguments[c->plan->place.at[k->arguments[i].buffer] - 1].n_indices;
}

bool loom_plan_bytes(loom_plan *plan, loom_kernel *k) {
  loom_ctx *ctx = plan->ctx;
  counter c = {.plan = plan};
  c.arguments = loom_arena_array(&plan->arena, k->n_arguments, sizeof *c.arguments);
  if (!c.arguments) return false;
  list_arguments(&c, k);
  bool good = count_all(&c, k);
  if (good) {
    copy_repeats(&c, k);
    size_t n = k->n_arguments, n_in_place = 0;
    while (n > 0 && k->arguments[n - 1].kind == LOOM_ARGUMENT_SIZE) n--;
    while (n_in_place < n && k->arguments[n_in_place].kind == LOOM_ARGUMENT_IN_PLACE) n_in_place++;
    k->bytes =
        loom_moved_bytes(ctx, &k->info.tiling, n, c.arguments, n_in_place, &plan->graph->given);
  }
  loom_plan_clear(plan, k, plan->place.at);
  plan->deps.n = 0;
  loom_table_clear(plan->ctx, &plan->seen);
  return good && !loom_base_failed(ctx);
}

/* ---- around a template -------------------------------------------------------------------- */

static bool is_counted(const loom_plan *plan, const loom_dep *dep) {
  for (size_t i = 0; i < plan->deps.n; i++)
    if (plan->deps.at[i] == dep) return true;
  return false;
}

/* Elements of a buffer that the kernel touches: all for a use as a whole, else those of its different
** accesses, but no more than it has. */
static loom_expr touched(loom_plan *plan, const loom_kernel *k, int buffer, bool written) {
  loom_ctx *ctx = plan->ctx;
  loom_expr sum = loom_int(ctx, 0);
  plan->deps.n = 0;
  for (size_t i = 0; i < k->n_ops; i++) {
    const loom_op *op = loom_plan_op(plan, k, i);
    size_t n = written ? op->n_dep_writes : op->n_dep_reads;
    for (size_t j = 0; j < n; j++) {
      const loom_dep *dep = written ? op->dep_writes[j] : op->dep_reads[j];
      if (dep->buffer != buffer || is_counted(plan, dep)) continue;
      if (!loom_vec_push(ctx, &plan->deps, dep)) return LOOM_NONE;
      sum = loom_add(ctx, sum, dep->elements);
    }
  }
  return loom_min(ctx, 2, (loom_expr[]){sum, plan->graph->buffers.at[buffer].elements});
}

/* The storage a group begins with is read, and its last buffer is written. */
static loom_expr argument_elements(loom_plan *plan, const loom_kernel *k, size_t i) {
  const loom_argument *a = &k->arguments[i];
  if (a->kind != LOOM_ARGUMENT_IN_PLACE) return touched(plan, k, a->buffer, a->written);
  return loom_add(plan->ctx, touched(plan, k, k->groups[i].buffers[0], false),
                  touched(plan, k, a->buffer, true));
}

/* A template reads its inputs as often as it likes: each element that is touched counts once. */
bool loom_plan_template_bytes(loom_plan *plan, loom_kernel *k) {
  loom_ctx *ctx = plan->ctx;
  k->bytes = loom_int(ctx, 0);
  for (size_t i = 0; k->bytes != LOOM_NONE && i < k->n_arguments; i++) {
    if (k->arguments[i].kind == LOOM_ARGUMENT_SIZE) continue;
    loom_dtype dtype = plan->graph->buffers.at[k->arguments[i].buffer].dtype;
    loom_expr elements = at_hints(ctx, argument_elements(plan, k, i), &plan->graph->given);
    loom_expr item = loom_int(ctx, loom_dtype_bytes(dtype));
    k->bytes =
        elements == LOOM_NONE ? LOOM_NONE : loom_add(ctx, k->bytes, loom_mul(ctx, elements, item));
  }
  plan->deps.n = 0;
  return !loom_base_failed(ctx);
}
