/* SPDX-License-Identifier: MIT */
/* What an operation needs, itself and by others (doc/formulas.md#dependencies).
** Invariant: needs are ascending and before the operation; a search visits an operation once, and none
** of which its labels say that it cannot lead to the one that is looked for. */
#include <stdlib.h>
#include <string.h>

#include "simd/graph.h"

/* ---- needs -------------------------------------------------------------------------------- */

static int ascending(const void *one, const void *other) {
  int a = *(const int *)one, b = *(const int *)other;
  return a < b ? -1 : a > b;
}

/* What the operation reads or overwrites comes from, in g->numbers; repeats included. */
static bool list_needs(loom_graph *g, const loom_op_info *info, const loom_op *op) {
  g->numbers.n = 0;
  if (!loom_vec_reserve(g->ctx, &g->numbers, op->n_dep_reads + info->n_after)) return false;
  for (size_t i = 0; i < op->n_dep_reads; i++) {
    int writer = g->buffers.at[op->dep_reads[i]->buffer].writer;
    if (writer >= 0) g->numbers.at[g->numbers.n++] = writer;
  }
  for (size_t i = 0; i < info->n_after; i++) g->numbers.at[g->numbers.n++] = info->after[i];
  return true;
}

bool loom_graph_find_needs(loom_graph *g, const loom_op_info *info, loom_op *op) {
  if (!list_needs(g, info, op)) return false;
  int *needs = loom_arena_array(&g->arena, g->numbers.n, sizeof *needs);
  if (!needs) return false;
  if (g->numbers.n > 1) qsort(g->numbers.at, g->numbers.n, sizeof *g->numbers.at, ascending);
  for (size_t i = 0; i < g->numbers.n; i++)
    if (op->n_needs == 0 || needs[op->n_needs - 1] != g->numbers.at[i])
      needs[op->n_needs++] = g->numbers.at[i];
  op->needs = needs;
  return true;
}

/* ---- labels ------------------------------------------------------------------------------- */

bool loom_graph_label(loom_graph *g, const loom_op *op) {
  int number = (int)g->ops.n;
  loom_reach label = {.low = number, .chain = number, .is_tail = true}, *before = NULL;
  g->reach.n = g->stack.n = g->ops.n;
  if (!loom_vec_reserve(g->ctx, &g->reach, 1) || !loom_vec_reserve(g->ctx, &g->stack, 1))
    return false;
  for (size_t i = 0; i < op->n_needs; i++) {
    loom_reach *need = &g->reach.at[op->needs[i]];
    if (need->level >= label.level) label.level = need->level + 1;
    if (need->low < label.low) label.low = need->low;
    if (need->is_tail) before = need;
  }
  if (before) {
    label.chain = before->chain;
    before->is_tail = false;
  }
  g->reach.at[g->reach.n++] = label;
  g->stack.at[g->stack.n++] = 0;
  return true;
}

/* ---- search ------------------------------------------------------------------------------- */

/* Whether the labels leave it open that `on` is before the operation. */
static bool may_lead(const loom_graph *g, int op, int on) {
  const loom_reach *a = &g->reach.at[op], *b = &g->reach.at[on];
  return op > on && a->level > b->level && a->low <= b->low;
}

/* The searches of a graph are counted in the marks of its operations, which are no part of what it
** says. */
static uint32_t begin_search(const loom_graph *g) {
  loom_graph *own = (loom_graph *)(uintptr_t)g;
  if (++own->search == 0) {
    for (size_t i = 0; i < own->reach.n; i++) own->reach.at[i].mark = 0;
    own->search = 1;
  }
  return own->search;
}

bool loom_graph_depends(const loom_graph *g, int op, int on) {
  if (op < 0 || (size_t)op >= g->ops.n || on < 0 || !may_lead(g, op, on)) return false;
  uint32_t mark = begin_search(g);
  size_t n = 0;
  g->stack.at[n++] = op;
  while (n > 0) {
    int top = g->stack.at[--n];
    if (g->reach.at[top].chain == g->reach.at[on].chain) return true;
    const loom_op *o = &g->ops.at[top];
    for (size_t i = 0; i < o->n_needs; i++) {
      int need = o->needs[i];
      if (need == on) return true;
      if (g->reach.at[need].mark == mark || !may_lead(g, need, on)) continue;
      g->reach.at[need].mark = mark;
      g->stack.at[n++] = need;
    }
  }
  return false;
}

size_t loom_graph_ancestors(const loom_graph *g, int op, int *list) {
  size_t n = 0;
  if (op < 0 || (size_t)op >= g->ops.n) return 0;
  uint32_t mark = begin_search(g);
  for (size_t next = 0;; next++) {
    const loom_op *o = &g->ops.at[next == 0 ? op : list[next - 1]];
    for (size_t i = 0; i < o->n_needs; i++) {
      loom_reach *need = &g->reach.at[o->needs[i]];
      if (need->mark == mark) continue;
      need->mark = mark;
      list[n++] = o->needs[i];
    }
    if (next == n) break;
  }
  if (n > 1) qsort(list, n, sizeof *list, ascending);
  return n;
}
