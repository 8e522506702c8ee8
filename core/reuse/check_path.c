/* SPDX-License-Identifier: MIT */
/* The path is a valid mapping of its einsum: loops cover the iteration space with shrinking whole
** tiles, tensors are held once per component from the outside in: doc/formulas.md#validity. */
#include "reuse/reuse.h"

/* A tile shape is known to be an integer; one that is a symbol, to be above 0; any other not to be
** below 1. */
static loom_status check_tile(const loom_analysis *an, const loom_loop *loop, const char *what,
                              loom_expr tile) {
  loom_facts facts = loom_facts_of(an->ctx, tile);
  bool symbol = loom_expr_kind(an->ctx, tile) == LOOM_SYM;
  if (facts.integer == LOOM_YES && (symbol ? facts.lo >= 1 : !loom_facts_nonpositive(facts)))
    return LOOM_OK;
  const loom_path_node *node = &an->path[loop->at];
  char *text = loom_print(an->ctx, tile, LOOM_INFIX);
  loom_status status = loom_fail(an, LOOM_ERR_BAD_TILE_SHAPE, node->source,
                                 "%s %s of the loop over '%s' must be an integer above 0", what,
                                 text ? text : "?", node->node.variable);
  loom_free(text);
  return status;
}

static loom_status check_fits(const loom_analysis *an, const loom_loop *loop, const char *what,
                              loom_expr tile, loom_expr extent) {
  if (tile == extent || tile == an->one || an->options->allow_growing_tiles ||
      an->options->model == LOOM_EXACT ||
      !loom_facts_negative(loom_facts_difference(an->ctx, extent, tile)))
    return LOOM_OK;
  const loom_path_node *node = &an->path[loop->at];
  char *text = loom_print(an->ctx, tile, LOOM_INFIX);
  char *room = loom_print(an->ctx, extent, LOOM_INFIX);
  loom_status status =
      loom_fail(an, LOOM_ERR_BAD_TILE_SHAPE, node->source,
                "%s %s of the loop over '%s' is larger than the extent %s around it", what,
                text ? text : "?", node->node.variable, room ? room : "?");
  loom_free(text);
  loom_free(room);
  return status;
}

/* Tiles that overlap begin at most one tile apart, and leave no choice of a first one. */
static loom_status check_step(const loom_analysis *an, const loom_loop *loop) {
  int source = an->path[loop->at].source;
  loom_status status = check_tile(an, loop, "step", loop->step);
  if (status != LOOM_OK) return status;
  if (an->options->model == LOOM_REFERENCE)
    return loom_fail(an, LOOM_ERR_BAD_TILE_SHAPE, source,
                     "tiles that overlap (a step) are not counted by the model reference");
  if (loop->first != LOOM_NONE)
    return loom_fail(an, LOOM_ERR_BAD_TILE_SHAPE, source,
                     "a loop has a first tile shape or a step, not both");
  if (!loom_facts_negative(loom_facts_difference(an->ctx, loop->tile, loop->step))) return LOOM_OK;
  return loom_fail(an, LOOM_ERR_BAD_TILE_SHAPE, source,
                   "the step of the loop over '%s' is larger than its tile shape: it leaves out "
                   "values",
                   an->path[loop->at].node.variable);
}

static loom_status check_loop(const loom_analysis *an, const loom_loop *loop) {
  bool first = loop->first != LOOM_NONE;
  loom_status status = check_tile(an, loop, "tile shape", loop->tile);
  if (status == LOOM_OK && first) status = check_tile(an, loop, "first tile shape", loop->first);
  if (status == LOOM_OK && loop->step != LOOM_NONE) status = check_step(an, loop);
  const loom_loop *outer = loop->outer < 0 ? NULL : &an->loops[loop->outer];
  loom_expr extents[2] = {outer ? outer->tile : an->w->variables.at[loop->variable].size,
                          outer ? outer->first : LOOM_NONE};
  for (int i = 0; i < 2 && status == LOOM_OK; i++) {
    if (extents[i] == LOOM_NONE) continue;
    status = check_fits(an, loop, "tile shape", loop->tile, extents[i]);
    if (status == LOOM_OK && first)
      status = check_fits(an, loop, "first tile shape", loop->first, extents[i]);
  }
  return status;
}

static loom_status check_covered(const loom_analysis *an, int variable) {
  if (an->w->variables.at[variable].size == an->one ||
      !loom_einsum_has_variable(an->einsum, variable))
    return LOOM_OK;
  int last = -1;
  for (size_t i = 0; i < an->n_loops; i++) {
    if (an->loops[i].variable != variable) continue;
    if (an->loops[i].tile == an->one) return LOOM_OK;
    last = (int)i;
  }
  const char *name = an->w->variables.at[variable].name;
  int source = an->path[last < 0 ? (int)an->n_path - 1 : an->loops[last].at].source;
  if (last < 0)
    return loom_fail(an, LOOM_ERR_MISSING_LOOP, source,
                     "einsum '%s' has no loop over rank variable '%s'", an->einsum->name, name);
  return loom_fail(an, LOOM_ERR_MISSING_LOOP, source,
                   "the loops over '%s' of einsum '%s' do not reach tile shape 1", name,
                   an->einsum->name);
}

/* Holders of one tensor go down the architecture, one per component. */
static loom_status check_holders(const loom_analysis *an, int access) {
  const loom_tensor *tensor = &an->w->tensors.at[loom_access_of(an, access)->tensor];
  const loom_path_node *above = NULL;
  for (size_t i = 0; i < an->n_path; i++) {
    const loom_path_node *node = &an->path[i];
    if (node->access != access) continue;
    if (!above && node->node.kind == LOOM_NODE_TOLL && tensor->n_users > 1)
      return loom_fail(
          an, LOOM_ERR_TOLL_OUTERMOST, node->source,
          "toll '%s' is the outermost holder of tensor '%s', which several einsums use",
          node->node.component, tensor->name);
    for (size_t k = 0; k < i; k++)
      if (an->path[k].access == access && an->path[k].component == node->component)
        return loom_fail(an, LOOM_ERR_DUPLICATE_STORAGE, node->source,
                         "tensor '%s' is held twice in '%s'", tensor->name, node->node.component);
    if (above && !loom_arch_at_or_above(an->a, above->component, node->component))
      return loom_fail(an, LOOM_ERR_STORAGE_ORDER, node->source,
                       "tensor '%s' is held in '%s' above '%s', which is outside it", tensor->name,
                       above->node.component, node->node.component);
    above = node;
  }
  if (above) return LOOM_OK;
  return loom_fail(an, LOOM_ERR_MISSING_STORAGE, an->path[an->n_path - 1].source,
                   "tensor '%s' of einsum '%s' is stored nowhere", tensor->name, an->einsum->name);
}

static loom_status check_einsum(const loom_analysis *an) {
  size_t outputs = 0;
  for (size_t i = 0; i < an->einsum->accesses.n; i++) outputs += an->einsum->accesses.at[i].output;
  if (outputs == 0)
    return loom_error_set(an->ctx, LOOM_ERR_BAD_WORKLOAD, "einsum '%s' has no output tensor",
                          an->einsum->name);
  const loom_access *access;
  const loom_rank *rank = loom_einsum_quasi_affine(an->einsum, &access);
  if (rank && an->options->model == LOOM_REFERENCE)
    return loom_error_set(an->ctx, LOOM_ERR_BAD_WORKLOAD,
                          "einsum '%s': the index of rank '%s' of tensor '%s' is not affine: the "
                          "model reference takes sums of rank variables times integers",
                          an->einsum->name, rank->name, an->w->tensors.at[access->tensor].name);
  if (an->einsum->is_copy && outputs == an->einsum->accesses.n)
    return loom_error_set(an->ctx, LOOM_ERR_BAD_WORKLOAD, "copy einsum '%s' has no input tensor",
                          an->einsum->name);
  return LOOM_OK;
}

/* The reference drops the contents of every storage node at the end of a visit. */
static loom_status check_lifetimes(const loom_analysis *an) {
  for (size_t i = 0; i < an->n_path; i++)
    if (an->path[i].node.lifetime == LOOM_RETAIN && an->options->model == LOOM_REFERENCE)
      return loom_fail(an, LOOM_ERR_BAD_MAPPING, an->path[i].source,
                       "contents that are retained between visits are not counted by the model "
                       "reference");
  return LOOM_OK;
}

/* A component that is not on the way to the compute unit has nothing to do. */
static loom_status check_components(const loom_analysis *an) {
  for (size_t i = 0; i < an->n_path; i++) {
    const loom_path_node *node = &an->path[i];
    if (!loom_arch_at_or_above(an->a, node->component, an->compute))
      return loom_fail(an, LOOM_ERR_BAD_MAPPING, node->source,
                       "einsum '%s': component '%s' does not stand above the compute unit '%s' in "
                       "the architecture",
                       an->einsum->name, node->node.component,
                       an->a->components.at[an->compute].name);
  }
  return LOOM_OK;
}

loom_status loom_check_path(loom_analysis *an) {
  loom_status status = check_einsum(an);
  for (size_t i = 0; i < an->n_loops && status == LOOM_OK; i++)
    status = check_loop(an, &an->loops[i]);
  for (size_t v = 0; v < an->w->variables.n && status == LOOM_OK; v++)
    status = check_covered(an, (int)v);
  if (status == LOOM_OK) status = check_components(an);
  if (status == LOOM_OK) status = check_lifetimes(an);
  for (size_t i = 0; i < an->einsum->accesses.n && status == LOOM_OK; i++)
    status = check_holders(an, (int)i);
  return status;
}
