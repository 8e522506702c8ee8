/* SPDX-License-Identifier: MIT */
/* From the tree to the path of one einsum: doc/formulas.md#paths. */
#include "reuse/reuse.h"

#include <string.h>

static int access_of_tensor(const loom_analysis *an, const char *tensor) {
  for (size_t i = 0; i < an->einsum->accesses.n; i++)
    if (strcmp(an->w->tensors.at[an->einsum->accesses.at[i].tensor].name, tensor) == 0)
      return (int)i;
  return -1;
}

/* The lists from the root to the one the leaf stands in, in scratch. */
static int *lists_to(loom_analysis *an, int leaf, size_t *n) {
  *n = 0;
  for (int node = leaf; node >= 0; node = an->m->lists.at[an->m->nodes.at[node].list].parent) ++*n;
  int *lists = loom_arena_array(&an->scratch, *n, sizeof *lists);
  if (!lists) return NULL;
  size_t i = *n;
  for (int node = leaf; node >= 0; node = an->m->lists.at[an->m->nodes.at[node].list].parent)
    lists[--i] = an->m->nodes.at[node].list;
  return lists;
}

static loom_path_node *append(loom_analysis *an, int source) {
  const loom_mapping_node *from = &an->m->nodes.at[source];
  loom_path_node *node = &an->path[an->n_path++];
  *node =
      (loom_path_node){.source = source, .access = -1, .component = -1, .dim = -1, .analyzer = -1};
  node->node = (loom_node){.kind = from->kind, .loop = -1, .source = source};
  if (from->component) {
    node->component = loom_arch_find(an->a, from->component);
    node->node.component = loom_name_of_component(an, node->component);
  }
  return node;
}

static int analyzer_of(const loom_analysis *an, const char *kind) {
  for (size_t i = 0; i < an->options->n_analyzers; i++)
    if (strcmp(an->options->analyzers[i].kind, kind) == 0) return (int)i;
  return -1;
}

static void append_holder(loom_analysis *an, int source) {
  const loom_mapping_node *from = &an->m->nodes.at[source];
  for (size_t i = 0; i < from->tensors.n; i++) {
    int access = access_of_tensor(an, from->tensors.at[i]);
    if (access < 0) continue;
    loom_path_node *node = append(an, source);
    node->access = access;
    node->may_lower = from->may_lower;
    node->node.tensor = loom_name_of_tensor(an, loom_access_of(an, access)->tensor);
    node->node.persistent = from->persistent;
    if (from->kind == LOOM_NODE_STORAGE)
      node->node.lifetime = from->has_lifetime ? from->lifetime : an->options->lifetime;
    node->node.backing = true;
    for (size_t k = 0; k + 1 < an->n_path && node->node.backing; k++)
      node->node.backing = an->path[k].access != access;
    if (from->kind == LOOM_NODE_CUSTOM) {
      node->analyzer = analyzer_of(an, from->custom);
      node->node.custom = loom_arena_string(&an->result->arena, from->custom);
    }
  }
}

/* The exact model lets an einsum be computed once more in each iteration of a loop over a variable
** that it does not have. */
static bool may_loop_over(const loom_analysis *an, int variable) {
  return variable >= 0 &&
         (loom_einsum_has_variable(an->einsum, variable) || an->options->model == LOOM_EXACT);
}

static loom_status append_loop(loom_analysis *an, int source) {
  const loom_mapping_node *from = &an->m->nodes.at[source];
  loom_alias as = loom_mapping_loop_in(from, an->einsum->name);
  if (!as.variable)
    return loom_fail(an, LOOM_ERR_BAD_MAPPING, source,
                     "the loop has no rank variable in einsum '%s'", an->einsum->name);
  int variable = loom_workload_find_variable(an->w, as.variable);
  if (!may_loop_over(an, variable)) return loom_fail_variable(an, source, as.variable);
  loom_path_node *node = append(an, source);
  node->node.loop = (int)an->n_loops;
  node->node.variable = loom_name_of_variable(an, variable);
  node->node.tile = as.tile;
  node->node.first = as.first;
  node->node.step = as.step;
  loom_loop *loop = &an->loops[an->n_loops++];
  *loop = (loom_loop){.at = (int)an->n_path - 1,
                      .variable = variable,
                      .outer = -1,
                      .fanout = -1,
                      .first_latency = -1,
                      .spatial = from->kind == LOOM_NODE_SPATIAL,
                      .tile = as.tile,
                      .first = as.first,
                      .step = as.step,
                      .kind = -1,
                      .shared_buffet = -1};
  for (int i = (int)an->n_loops - 2; i >= 0 && loop->outer < 0; i--)
    if (an->loops[i].variable == variable) loop->outer = i;
  if (loop->spatial) {
    const loom_component *c = &an->a->components.at[node->component];
    node->dim = loom_component_find_dimension(c, from->dim);
    node->node.dim = loom_arena_string(&an->result->arena, from->dim);
    if (!node->node.dim) return loom_failed(an);
  }
  return LOOM_OK;
}

static loom_status append_node(loom_analysis *an, int source) {
  const loom_mapping_node *from = &an->m->nodes.at[source];
  if (loom_node_is_loop(from->kind)) return append_loop(an, source);
  if (loom_node_is_holder(from->kind)) {
    append_holder(an, source);
  } else if (from->kind == LOOM_NODE_COMPUTE) {
    loom_path_node *node = append(an, source);
    node->node.einsum = an->einsum_name;
    an->compute = node->component;
  }
  return LOOM_OK;
}

/* Of a copy einsum only what is above the last backing holder is of use. */
static void drop_holders_below_backing(loom_analysis *an) {
  size_t last = 0;
  for (size_t i = 0; i < an->n_path; i++)
    if (an->path[i].node.backing) last = i;
  size_t kept = 0;
  for (size_t i = 0; i < an->n_path; i++) {
    if (i > last && an->path[i].access >= 0) continue;
    an->path[kept] = an->path[i];
    if (an->path[kept].node.loop >= 0) an->loops[an->path[kept].node.loop].at = (int)kept;
    kept++;
  }
  an->n_path = kept;
}

/* Room for every node of the lists, each tensor of a holder counted. */
static bool reserve(loom_analysis *an, const int *lists, size_t n_lists) {
  size_t nodes = 0, loops = 0;
  for (size_t i = 0; i < n_lists; i++) {
    const loom_mapping_list *list = &an->m->lists.at[lists[i]];
    for (size_t k = 0; k < list->nodes.n; k++) {
      const loom_mapping_node *node = &an->m->nodes.at[list->nodes.at[k]];
      nodes += node->tensors.n + 1;
      loops += loom_node_is_loop(node->kind);
    }
  }
  an->path = loom_arena_array(&an->scratch, nodes, sizeof *an->path);
  an->loops = loom_arena_array(&an->scratch, loops, sizeof *an->loops);
  an->n_path = an->n_loops = 0;
  return an->path && an->loops;
}

loom_status loom_path_build(loom_analysis *an, int leaf) {
  size_t n_lists;
  int *lists = lists_to(an, leaf, &n_lists);
  if (!lists || !reserve(an, lists, n_lists)) return loom_failed(an);
  for (size_t i = 0; i < n_lists; i++) {
    const loom_mapping_list *list = &an->m->lists.at[lists[i]];
    for (size_t k = 0; k < list->nodes.n; k++) {
      loom_status status = append_node(an, list->nodes.at[k]);
      if (status != LOOM_OK) return status;
    }
  }
  if (an->einsum->is_copy) drop_holders_below_backing(an);
  return LOOM_OK;
}
