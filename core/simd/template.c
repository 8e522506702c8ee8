/* SPDX-License-Identifier: MIT */
/* Kernels around a template: an opaque operation that calls for its inputs element by element and gives
** its output element by element (doc/formulas.md#templates).
** Invariant: what is before the template in its kernel is needed by nothing else; every operation of a
** part runs over all elements of the part's buffer. */
#include <string.h>

#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/plan.h"

/* ---- what an input comes from ------------------------------------------------------------- */

size_t loom_graph_template(const loom_graph *g, size_t n, const int *ops) {
  size_t i = 0;
  while (i < n && (ops[i] < 0 || !g->ops.at[ops[i]].extensible)) i++;
  return i;
}

static bool is_stamped(const loom_graph *g, size_t n, const loom_dep *const *deps) {
  for (size_t i = 0; i < n; i++)
    if (g->stamps.at[deps[i]->buffer] == g->epoch) return true;
  return false;
}

ptrdiff_t loom_graph_feed(loom_graph *g, size_t n, const int *ops, int buffer, int *list) {
  size_t found = 0;
  if (!loom_graph_stamp(g)) return -1;
  g->stamps.at[buffer] = g->epoch;
  for (size_t i = n; i-- > 0;) {
    const loom_op *op = &g->ops.at[ops[i]];
    if (!is_stamped(g, op->n_dep_writes, op->dep_writes)) continue;
    for (size_t k = 0; k < op->n_dep_reads; k++) g->stamps.at[op->dep_reads[k]->buffer] = g->epoch;
    list[found++] = ops[i];
  }
  for (size_t i = 0; i < found / 2; i++) {
    int op = list[i];
    list[i] = list[found - 1 - i];
    list[found - 1 - i] = op;
  }
  return (ptrdiff_t)found;
}

/* ---- schedule ----------------------------------------------------------------------------- */

static bool has(size_t n, const int *list, int op) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == op) return true;
  return false;
}

ptrdiff_t loom_template_schedule(loom_graph *g, size_t n, const int *ops, int *steps) {
  size_t place = loom_graph_template(g, n, ops), done = 0;
  const loom_op *op = &g->ops.at[ops[place]];
  int *feed = steps + n;
  for (size_t i = 0; i < op->n_dep_reads; i++) {
    ptrdiff_t found = loom_graph_feed(g, place, ops, op->dep_reads[i]->buffer, feed);
    if (found < 0) return -1;
    for (ptrdiff_t k = 0; k < found; k++)
      if (!has(done, steps, feed[k])) steps[done++] = feed[k];
  }
  for (size_t i = 0; i < n; i++)
    if (!has(done, steps, ops[i])) steps[done++] = ops[i];
  return (ptrdiff_t)done;
}

/* ---- checks ------------------------------------------------------------------------------- */

typedef struct planner {
  loom_plan *plan;
  loom_graph *g;
  loom_kernel *k;
  const loom_op *op;
  size_t n, place; /* operations of the schedule; the template's */
  const int *ops;
  int number; /* of the kernel */
  loom_kernel_op *kernel_ops;
  loom_template_part *parts;
  int *feed;
} planner;

static const char *name_of(const planner *p, int buffer) {
  return p->g->buffers.at[buffer].name;
}

static bool refuse(const planner *p, const char *op, const char *why, const char *what) {
  loom_graph_bad(p->g, "operation '%s' cannot be in the kernel of template '%s': %s%s", op,
                 p->op->name, why, what);
  return false;
}

/* Whether what an operation reads of others in the kernel is there at the element it reads. */
static bool check_reads(const planner *p, const loom_op *op) {
  for (size_t i = 0; i < op->n_dep_reads; i++) {
    const loom_dep *read = op->dep_reads[i];
    int writer = p->g->buffers.at[read->buffer].writer;
    if (writer < 0 || p->plan->kernel_of.at[writer] != p->number) continue;
    bool met = false;
    for (size_t k = 0; k < p->g->ops.at[writer].n_dep_writes; k++) {
      const loom_dep *write = p->g->ops.at[writer].dep_writes[k];
      met = met || (read->buffer == write->buffer && read->index == write->index &&
                    read->mode == write->mode && !read->indirect);
    }
    if (&p->g->ops.at[writer] == p->op) met = loom_graph_covers(p->g, read);
    if (!met)
      return refuse(p, op->name, "it does not read in the order of its making ",
                    name_of(p, read->buffer));
  }
  return true;
}

static bool check_kind(const planner *p, const loom_op *op) {
  if (op->kind != LOOM_OP_POINTWISE) return refuse(p, op->name, "it is not pointwise", "");
  if (op->n_mutates > 0)
    return refuse(p, op->name, "it updates in place ", name_of(p, op->mutates[0]));
  return check_reads(p, op);
}

/* What is before the template is needed there and nowhere else. */
static bool check_before(const planner *p, const loom_op *op) {
  for (size_t i = 0; i < op->n_outputs; i++) {
    const loom_buffer *b = &p->g->buffers.at[op->outputs[i]];
    bool needed = !loom_plan_local(p->plan, op->outputs[i], p->number);
    for (size_t k = 0; k < b->n_users; k++)
      needed = needed || !has(p->place + 1, p->ops, b->users[k].op);
    if (needed) return refuse(p, op->name, "something other than the template needs ", b->name);
  }
  return true;
}

static bool check_all(const planner *p) {
  for (size_t i = 0; i < p->n; i++) {
    const loom_op *op = &p->g->ops.at[p->ops[i]];
    if (i == p->place) continue;
    if (!check_kind(p, op) || (i < p->place && !check_before(p, op))) return false;
    if (i > p->place && !loom_graph_depends(p->g, p->ops[i], p->ops[p->place]))
      return refuse(p, op->name, "it is behind the template, but does not need it", "");
  }
  return true;
}

/* ---- parts -------------------------------------------------------------------------------- */

static bool of_one_type(const planner *p, const loom_op *op, loom_dtype dtype) {
  for (size_t i = 0; i < op->n_dep_reads + op->n_dep_writes; i++)
    if (p->g->buffers.at[op->dep_reads[i]->buffer].dtype != dtype) return false;
  return true;
}

/* The operations of list on the ranges of a part, which is the kernel but for these. */
static bool fill_part(planner *p, loom_template_part *part, size_t n, const int *list) {
  loom_kernel view = *p->k;
  view.ranges = part->ranges;
  view.kind = LOOM_OP_POINTWISE;
  view.info.tiling = part->tiling;
  part->n_ops = n;
  part->ops = p->kernel_ops + p->k->n_ops;
  part->keeps_zero = n == 1 && p->g->ops.at[list[0]].keeps_zero;
  part->keeps_type = true;
  loom_plan_forget(p->plan);
  for (size_t i = 0; i < n; i++) {
    const loom_op *op = &p->g->ops.at[list[i]];
    loom_kernel_op *out = &p->kernel_ops[p->k->n_ops++];
    *out = (loom_kernel_op){.op = list[i], .reduction_on = true};
    part->keeps_type = part->keeps_type && op->keeps_type &&
                       of_one_type(p, op, p->g->buffers.at[part->buffer].dtype);
    if (!loom_plan_map_op(p->plan, &view, out)) return false;
  }
  return true;
}

static const loom_ranges *new_ranges(const planner *p, const loom_tiling *tiling) {
  const loom_given *given = &p->g->given;
  loom_ranges_options options = {.split = {given, given->strict}};
  return loom_ranges_new(p->plan->ctx, tiling, &options);
}

static bool is_made_before(const planner *p, const loom_op *op, const loom_dep *input) {
  for (size_t i = 0; i < op->n_dep_writes; i++)
    if (op->dep_writes[i]->buffer == input->buffer)
      return loom_graph_covers(p->g, op->dep_writes[i]);
  return false;
}

/* What an input of the template is made from in the kernel, if it is. */
static bool add_input(planner *p, const loom_dep *input) {
  ptrdiff_t n = loom_graph_feed(p->g, p->place, p->ops, input->buffer, p->feed);
  if (n <= 0) return n == 0;
  const loom_op *last = &p->g->ops.at[p->feed[n - 1]];
  if (input->mode != LOOM_USE_WHOLE || !is_made_before(p, last, input))
    return refuse(p, last->name, "the template does not take element by element ",
                  name_of(p, input->buffer));
  loom_template_part *part = &p->parts[p->k->n_parts++];
  loom_expr one = loom_int(p->plan->ctx, 1);
  *part = (loom_template_part){.buffer = input->buffer,
                               .tiling = {2,
                                          {LOOM_PREFIX_X, LOOM_PREFIX_R0},
                                          {p->g->buffers.at[input->buffer].elements, one}}};
  part->ranges = new_ranges(p, &part->tiling);
  return part->ranges && fill_part(p, part, (size_t)n, p->feed);
}

static bool check_fed(const planner *p) {
  size_t n = p->k->n_ops;
  for (size_t i = 0; i < p->place; i++) {
    size_t k = 0;
    while (k < n && p->kernel_ops[k].op != p->ops[i]) k++;
    if (k == n)
      return refuse(p, p->g->ops.at[p->ops[i]].name,
                    "it is before the template, which reads nothing that is made of it", "");
  }
  return true;
}

static bool add_template(planner *p) {
  loom_kernel_op *out = &p->kernel_ops[p->k->n_ops++];
  *out = (loom_kernel_op){.op = p->ops[p->place], .reduction_on = true};
  loom_plan_forget(p->plan);
  return loom_plan_map_op(p->plan, p->k, out);
}

static bool add_epilogue(planner *p) {
  size_t n = p->n - p->place - 1;
  if (n == 0) return true;
  loom_template_part *part = &p->parts[p->k->n_parts++];
  *part = (loom_template_part){
      .buffer = p->op->outputs[0], .tiling = p->k->info.tiling, .ranges = p->k->ranges};
  return fill_part(p, part, n, p->ops + p->place + 1);
}

static bool begin(planner *p) {
  loom_arena *arena = &p->plan->arena;
  size_t n_inputs = p->op->n_dep_reads;
  p->kernel_ops = loom_arena_array(arena, n_inputs * p->place + p->n, sizeof *p->kernel_ops);
  p->parts = loom_arena_array(arena, n_inputs + 1, sizeof *p->parts);
  p->feed = loom_arena_array(arena, p->n, sizeof *p->feed);
  if (!p->kernel_ops || !p->parts || !p->feed) return false;
  p->k->parts = p->parts;
  p->k->ops = p->kernel_ops;
  p->k->n_ops = 0;
  p->k->ranges = new_ranges(p, &p->k->info.tiling);
  return p->k->ranges;
}

bool loom_plan_template(loom_plan *plan, loom_kernel *k) {
  planner p = {.plan = plan, .g = plan->graph, .k = k, .ops = k->info.schedule, .n = k->info.n};
  p.number = (int)plan->kernels.n;
  p.place = loom_graph_template(p.g, p.n, p.ops);
  p.op = &p.g->ops.at[p.ops[p.place]];
  k->template_op = p.ops[p.place];
  if (!check_all(&p) || !begin(&p)) return false;
  for (size_t i = 0; i < p.op->n_dep_reads; i++)
    if (!add_input(&p, p.op->dep_reads[i])) return false;
  return check_fed(&p) && add_template(&p) && add_epilogue(&p);
}
