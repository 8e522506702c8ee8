/* SPDX-License-Identifier: MIT */
/* Which loops are fused with other einsums' loops, and the symbols of loops left open:
** doc/formulas.md#labels. */
#include "reuse/reuse.h"

#include <stdio.h>

loom_expr loom_loop_symbol(loom_ctx *ctx, loom_loop_quantity which, int loop) {
  static const char *const names[] = {"stride", "initial", "n_iterations"};
  if (loop < 0 || which < LOOM_LOOP_STRIDE || which > LOOM_LOOP_ITERATIONS) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "loop %d has no symbol number %d", loop, (int)which);
    return LOOM_NONE;
  }
  char name[32];
  snprintf(name, sizeof name, "%s%d", names[which], loop);
  return loom_symbol(ctx, name, NULL);
}

static bool is_shared(const loom_analysis *an, const loom_path_node *node) {
  return an->w->tensors.at[loom_access_of(an, node->access)->tensor].n_users > 1;
}

static void mark_fused(loom_analysis *an) {
  int last = -1;
  for (size_t i = 0; i < an->n_path; i++)
    if (an->path[i].node.backing && is_shared(an, &an->path[i])) last = (int)i;
  if (last < 0) return;
  bool one_more = an->path[last].may_lower;
  for (size_t i = 0; i < an->n_loops; i++) {
    bool above = an->loops[i].at < last;
    if (!above && !one_more) return;
    an->path[an->loops[i].at].node.fused = true;
    if (!above) return;
  }
}

/* Some tensor has a stride other than 1 or a halo for the variable. */
static bool used_with_halo(const loom_analysis *an, int variable) {
  for (size_t i = 0; i < an->einsum->accesses.n; i++)
    for (size_t r = 0; r < an->einsum->accesses.at[i].ranks.n; r++)
      if (loom_rank_has_halo(an->w, &an->einsum->accesses.at[i].ranks.at[r], variable)) return true;
  return false;
}

static bool has_first_above(const loom_analysis *an, const loom_loop *loop) {
  for (int i = loop->outer; i >= 0; i = an->loops[i].outer)
    if (an->loops[i].first != LOOM_NONE) return true;
  return false;
}

static loom_status open_loop(loom_analysis *an, int index) {
  loom_loop *loop = &an->loops[index];
  loom_node *node = &an->path[loop->at].node;
  if (an->w->variables.at[loop->variable].size == an->one) {
    loop->tile = an->one;
  } else {
    loop->tile = loom_loop_symbol(an->ctx, LOOM_LOOP_STRIDE, index);
    if (loop->first == LOOM_NONE && node->fused && used_with_halo(an, loop->variable) &&
        !has_first_above(an, loop))
      loop->first = loom_loop_symbol(an->ctx, LOOM_LOOP_INITIAL, index);
  }
  node->tile = loop->tile;
  node->first = loop->first;
  return loop->tile == LOOM_NONE ? loom_failed(an) : LOOM_OK;
}

loom_status loom_label_loops(loom_analysis *an) {
  mark_fused(an);
  for (size_t i = 0; i < an->n_loops; i++)
    if (an->loops[i].tile == LOOM_NONE && open_loop(an, (int)i) != LOOM_OK) return loom_failed(an);
  return LOOM_OK;
}
