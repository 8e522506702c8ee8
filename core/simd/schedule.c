/* SPDX-License-Identifier: MIT */
/* The order of operations inside one kernel, and where its reduction loop ends and begins again
** (doc/formulas.md#order-in-a-kernel).
** Invariant: no operation stands in the loop in which a reduction that it depends on is finished. */
#include <string.h>

#include "ranges/sizes.h"
#include "simd/graph.h"

typedef enum place { NOWHERE, INSIDE, BEHIND } place;

typedef struct scheduler {
  loom_graph *g;
  bool reduces;
  loom_expr extent, reduction_extent;
  int *steps;
  size_t n;
  size_t split; /* where operations that share nothing with those before begin; 0: nowhere */
  bool touches; /* some buffer is stamped */
  LOOM_VEC(int) unfinished; /* reductions of the current loop */
} scheduler;

/* ---- buffers of the current loop ---------------------------------------------------------- */

static void forget_buffers(scheduler *s) {
  s->g->epoch++;
  s->touches = false;
}

static void touch(scheduler *s, size_t n, const loom_dep *const *deps) {
  for (size_t i = 0; i < n; i++) s->g->stamps.at[deps[i]->buffer] = s->g->epoch;
  if (n > 0) s->touches = true;
}

static bool touches_any(const scheduler *s, const loom_op *op) {
  for (size_t i = 0; i < op->n_dep_reads; i++)
    if (s->g->stamps.at[op->dep_reads[i]->buffer] == s->g->epoch) return true;
  return false;
}

/* ---- loops -------------------------------------------------------------------------------- */

static void close_loop(scheduler *s) {
  if (s->n > 0 && s->steps[s->n - 1] == LOOM_REDUCTION_ON)
    s->n--;
  else
    s->steps[s->n++] = LOOM_REDUCTION_OFF;
  if (s->split == 0) return;
  memmove(s->steps + s->split + 2, s->steps + s->split, (s->n - s->split) * sizeof *s->steps);
  s->steps[s->split] = LOOM_REDUCTION_OFF;
  s->steps[s->split + 1] = LOOM_REDUCTION_ON;
  s->n += 2;
  s->split = 0;
}

static void open_loop(scheduler *s) {
  s->steps[s->n++] = LOOM_REDUCTION_ON;
  s->unfinished.n = 0;
  forget_buffers(s);
}

static bool waits(const scheduler *s, int number) {
  for (size_t i = s->unfinished.n; i-- > 0;)
    if (loom_graph_depends(s->g, number, s->unfinished.at[i])) return true;
  return false;
}

static bool add_inside(scheduler *s, const loom_op *op, int number) {
  if (s->reduces && waits(s, number)) {
    close_loop(s);
    open_loop(s);
  }
  bool apart = s->touches && !touches_any(s, op);
  s->split = !apart ? 0 : s->split ? s->split : s->n;
  s->steps[s->n++] = number;
  touch(s, op->n_dep_reads, op->dep_reads);
  if (op->kind == LOOM_OP_REDUCTION) return loom_vec_push(s->g->ctx, &s->unfinished, number);
  touch(s, op->n_dep_writes, op->dep_writes);
  return true;
}

static void add_behind(scheduler *s, int number) {
  close_loop(s);
  s->steps[s->n++] = number;
  open_loop(s);
}

/* ---- entry -------------------------------------------------------------------------------- */

/* Where an operation stands in a kernel of these (simplified) extents. */
static place place_of(loom_ctx *ctx, const loom_op *op, loom_expr extent,
                      loom_expr reduction_extent) {
  loom_expr one = loom_int(ctx, 1);
  if (op->extent == extent && op->reduction_extent == reduction_extent) return INSIDE;
  if (op->reduction_extent != one) return NOWHERE;
  if (op->extent == loom_simplify(ctx, loom_mul(ctx, extent, reduction_extent))) return INSIDE;
  return op->extent == extent ? BEHIND : NOWHERE;
}

static bool begin(scheduler *s, loom_expr extent, loom_expr reduction_extent) {
  loom_graph *g = s->g;
  s->extent = loom_simplify(g->ctx, extent);
  s->reduction_extent = loom_simplify(g->ctx, reduction_extent);
  s->reduces = s->reduction_extent != loom_int(g->ctx, 1);
  s->touches = false;
  return loom_graph_stamp(g) && !loom_base_failed(g->ctx);
}

static bool check(loom_graph *g, size_t n, const int *ops, loom_expr extent,
                  loom_expr reduction_extent) {
  if (!loom_size_check(g->ctx, extent, "the extent of a kernel") ||
      !loom_size_check(g->ctx, reduction_extent, "the reduction extent of a kernel"))
    return false;
  for (size_t i = 0; i < n; i++) {
    if (ops[i] >= 0 && (size_t)ops[i] < g->ops.n) continue;
    loom_graph_bad(g, "there is no operation number %d to be scheduled", ops[i]);
    return false;
  }
  return true;
}

/* Whether the scheduler's extents are those of a template and nothing is reduced. */
static bool has_extents(const scheduler *s, const loom_op *op) {
  return !s->reduces && op->extent == s->extent;
}

ptrdiff_t loom_schedule(loom_graph *g, size_t n, const int *ops, loom_expr extent,
                        loom_expr reduction_extent, int *steps) {
  scheduler s = {.g = g, .steps = steps};
  if (!check(g, n, ops, extent, reduction_extent)) return -1;
  bool good = begin(&s, extent, reduction_extent), fits = true;
  size_t template_op = loom_graph_template(g, n, ops);
  if (good && template_op < n && n > 1)
    return has_extents(&s, &g->ops.at[ops[template_op]]) ? loom_template_schedule(g, n, ops, steps)
                                                         : 0;
  for (size_t i = 0; good && fits && i < n; i++) {
    const loom_op *op = &g->ops.at[ops[i]];
    place where = place_of(g->ctx, op, s.extent, s.reduction_extent);
    if (where == INSIDE)
      good = add_inside(&s, op, ops[i]);
    else if (where == BEHIND)
      add_behind(&s, ops[i]);
    else
      fits = false;
  }
  loom_vec_free(g->ctx, &s.unfinished);
  if (!good || loom_base_failed(g->ctx)) return -1;
  return fits ? (ptrdiff_t)s.n : 0;
}
