/* SPDX-License-Identifier: MIT */
/* Lists of like operations of a graph.
** Invariant: an operation is in one list at most; with each list taken as one, nothing waits for
** itself. */
#include <string.h>

#include "simd/graph.h"

size_t loom_graph_lists(const loom_graph *g, const loom_list **lists) {
  if (lists) *lists = g->lists.at;
  return g->lists.n;
}

const loom_list *loom_graph_list_of(const loom_graph *g, int op) {
  if (op < 0 || (size_t)op >= g->list_of.n || g->list_of.at[op] == 0) return NULL;
  return &g->lists.at[g->list_of.at[op] - 1];
}

/* ---- checks ------------------------------------------------------------------------------- */

static bool check_member(loom_graph *g, int op) {
  if (op < 0 || (size_t)op >= g->ops.n) {
    loom_graph_bad(g, "there is no operation number %d to be in a list", op);
    return false;
  }
  const loom_op *o = &g->ops.at[op];
  if (o->kind == LOOM_OP_OPAQUE || o->kind == LOOM_OP_NOP)
    loom_graph_bad(g, "operation '%s' has no loops and cannot be in a list", o->name);
  else if (loom_graph_list_of(g, op))
    loom_graph_bad(g, "operation '%s' is in a list already", o->name);
  else
    return true;
  return false;
}

static bool check(loom_graph *g, size_t n, const int *ops) {
  if (n < 2) {
    loom_graph_bad(g, "a list has two operations or more");
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    if (!check_member(g, ops[i])) return false;
    for (size_t k = 0; k < i; k++)
      if (ops[i] == ops[k]) {
        loom_graph_bad(g, "operation '%s' is in the list twice", g->ops.at[ops[i]].name);
        return false;
      }
  }
  return true;
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* Puts what the operation needs on the stack; of one in a list, what the whole list needs. */
static bool push_needs(loom_graph *g, int op) {
  const loom_list *list = loom_graph_list_of(g, op);
  size_t n = list ? list->n : 1;
  for (size_t i = 0; i < n; i++) {
    const loom_op *o = &g->ops.at[list ? list->ops[i] : op];
    for (size_t k = 0; k < o->n_needs; k++)
      if (!loom_vec_push(g->ctx, &g->numbers, o->needs[k])) return false;
  }
  return true;
}

/* Whether one of the operations is reached from what they need: which, -1: none, -2 with an error. */
static int find_waiting(loom_graph *g, const loom_list *list) {
  unsigned char *seen = loom_realloc_array(g->ctx, NULL, 0, g->ops.n, sizeof *seen);
  if (!seen) return -2;
  memset(seen, 0, g->ops.n);
  int found = -1;
  g->numbers.n = 0;
  for (size_t i = 0; i < list->n && found == -1; i++)
    if (!push_needs(g, list->ops[i])) found = -2;
  while (g->numbers.n > 0 && found == -1) {
    int op = g->numbers.at[--g->numbers.n];
    if (seen[op]) continue;
    seen[op] = 1;
    for (size_t i = 0; i < list->n; i++)
      if (list->ops[i] == op) found = op;
    if (found == -1 && !push_needs(g, op)) found = -2;
  }
  loom_realloc_array(g->ctx, seen, g->ops.n, 0, sizeof *seen);
  return found;
}

/* ---- entry -------------------------------------------------------------------------------- */

static bool enter(loom_graph *g, const loom_list *list) {
  if (!loom_vec_reserve(g->ctx, &g->lists, 1) ||
      !loom_vec_reserve(g->ctx, &g->list_of, g->ops.n - g->list_of.n))
    return false;
  while (g->list_of.n < g->ops.n) g->list_of.at[g->list_of.n++] = 0;
  g->lists.at[g->lists.n++] = *list;
  for (size_t i = 0; i < list->n; i++) g->list_of.at[list->ops[i]] = (int)g->lists.n;
  return true;
}

int loom_graph_list(loom_graph *g, size_t n, const int *ops) {
  if (!check(g, n, ops)) return -1;
  int *copy = loom_arena_array(&g->arena, n, sizeof *copy);
  if (!copy) return -1;
  memcpy(copy, ops, n * sizeof *copy);
  loom_list list = {n, copy};
  int waiting = find_waiting(g, &list);
  if (waiting >= 0)
    return loom_graph_bad(g, "operation '%s' would be launched with what waits for it",
                          g->ops.at[waiting].name);
  return waiting == -1 && enter(g, &list) ? (int)g->lists.n - 1 : -1;
}
