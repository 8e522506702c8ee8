/* SPDX-License-Identifier: MIT */
/* The mapping as a tree: every name is known and of the right class, every list ends in a compute
** node or a split, no einsum is computed twice. */
#include "reuse/reuse.h"

#include <string.h>

static const char *analyzer_name(const void *data, size_t i) {
  return ((const loom_options *)data)->analyzers[i].kind;
}

static loom_status check_component(const loom_analysis *an, int source) {
  const loom_mapping_node *node = &an->m->nodes.at[source];
  if (!node->component)
    return loom_fail(an, LOOM_ERR_BAD_MAPPING, source, "the %s node names no component",
                     node->kind == LOOM_NODE_SPATIAL ? "spatial" : "holder or compute");
  int c = loom_arch_find(an->a, node->component);
  if (c < 0)
    return loom_fail_name(an, LOOM_ERR_UNKNOWN_COMPONENT, source, "unknown component",
                          node->component, loom_arch_names(an->a));
  loom_class class_ = an->a->components.at[c].class_;
  bool fits = true;
  const char *what = "";
  switch (node->kind) {
  case LOOM_NODE_STORAGE:
    fits = class_ == LOOM_MEMORY;
    what = "a storage node needs a memory";
    break;
  case LOOM_NODE_TOLL:
    fits = class_ == LOOM_TOLL;
    what = "a toll node needs a toll";
    break;
  case LOOM_NODE_CUSTOM:
    fits = class_ == LOOM_MEMORY || class_ == LOOM_TOLL;
    what = "a holder needs a memory or a toll";
    break;
  case LOOM_NODE_COMPUTE:
    fits = class_ == LOOM_COMPUTE;
    what = "a compute node needs a compute unit";
    break;
  default: break;
  }
  if (fits) return LOOM_OK;
  return loom_fail(an, LOOM_ERR_WRONG_CLASS, source, "%s; '%s' is a %s", what, node->component,
                   loom_class_name(class_));
}

static loom_status check_holder(const loom_analysis *an, int source) {
  const loom_mapping_node *node = &an->m->nodes.at[source];
  for (size_t i = 0; i < node->tensors.n; i++) {
    const char *tensor = node->tensors.at[i];
    if (!an->options->allow_unknown_tensors && loom_workload_find_tensor(an->w, tensor) < 0)
      return loom_fail_name(an, LOOM_ERR_UNKNOWN_TENSOR, source, "unknown tensor", tensor,
                            loom_workload_tensor_names(an->w));
    for (size_t j = 0; j < i; j++)
      if (strcmp(node->tensors.at[j], tensor) == 0)
        return loom_fail(an, LOOM_ERR_DUPLICATE_STORAGE, source,
                         "tensor '%s' stands twice in the list of '%s'", tensor, node->component);
  }
  if (node->kind != LOOM_NODE_CUSTOM) return LOOM_OK;
  for (size_t i = 0; i < an->options->n_analyzers; i++)
    if (strcmp(an->options->analyzers[i].kind, node->custom) == 0) return LOOM_OK;
  return loom_fail_name(an, LOOM_ERR_UNKNOWN_NODE_KIND, source, "unknown node kind", node->custom,
                        (loom_names){an->options->n_analyzers, an->options, analyzer_name});
}

static loom_status check_loop(const loom_analysis *an, int source) {
  const loom_mapping_node *node = &an->m->nodes.at[source];
  for (size_t i = 0; i < node->aliases.n; i++)
    if (loom_workload_find_einsum(an->w, node->aliases.at[i].einsum) < 0)
      return loom_fail_name(an, LOOM_ERR_UNKNOWN_EINSUM, source, "unknown einsum",
                            node->aliases.at[i].einsum, loom_workload_einsum_names(an->w));
  if (node->kind != LOOM_NODE_SPATIAL) return LOOM_OK;
  const loom_component *c = &an->a->components.at[loom_arch_find(an->a, node->component)];
  if (!node->dim)
    return loom_fail(an, LOOM_ERR_UNKNOWN_DIMENSION, source,
                     "the spatial loop names no dimension of '%s'", c->name);
  if (loom_component_find_dimension(c, node->dim) < 0)
    return loom_fail_name(an, LOOM_ERR_UNKNOWN_DIMENSION, source, "unknown dimension", node->dim,
                          loom_component_dimension_names(c));
  return LOOM_OK;
}

static loom_status check_compute(const loom_analysis *an, int source) {
  const loom_mapping_node *node = &an->m->nodes.at[source];
  if (!node->einsum)
    return loom_fail(an, LOOM_ERR_UNKNOWN_EINSUM, source, "the compute node names no einsum");
  if (loom_workload_find_einsum(an->w, node->einsum) < 0)
    return loom_fail_name(an, LOOM_ERR_UNKNOWN_EINSUM, source, "unknown einsum", node->einsum,
                          loom_workload_einsum_names(an->w));
  for (int i = 0; i < source; i++) {
    const loom_mapping_node *other = &an->m->nodes.at[i];
    if (other->kind == LOOM_NODE_COMPUTE && strcmp(other->einsum, node->einsum) == 0)
      return loom_fail(an, LOOM_ERR_REPEATED_EINSUM, source, "einsum '%s' is computed twice",
                       node->einsum);
  }
  return LOOM_OK;
}

static loom_status check_node(const loom_analysis *an, int source) {
  loom_node_kind kind = an->m->nodes.at[source].kind;
  if (kind != LOOM_NODE_TEMPORAL && !loom_node_is_split(kind)) {
    loom_status status = check_component(an, source);
    if (status != LOOM_OK) return status;
  }
  if (loom_node_is_holder(kind)) return check_holder(an, source);
  if (loom_node_is_loop(kind)) return check_loop(an, source);
  return kind == LOOM_NODE_COMPUTE ? check_compute(an, source) : LOOM_OK;
}

static loom_status check_list(const loom_analysis *an, const loom_mapping_list *list) {
  for (size_t i = 0; i < list->nodes.n; i++) {
    const loom_mapping_node *node = &an->m->nodes.at[list->nodes.at[i]];
    bool last = i + 1 == list->nodes.n;
    bool split = loom_node_is_split(node->kind), ends = node->kind == LOOM_NODE_COMPUTE || split;
    if (split && node->branches.n == 0)
      return loom_fail(an, LOOM_ERR_NO_COMPUTE, list->nodes.at[i],
                       "a node without branches computes nothing");
    if (ends && !last)
      return loom_fail(an, LOOM_ERR_BAD_MAPPING, list->nodes.at[i + 1],
                       "nothing may follow a compute node or a split in its list");
    if (last && !ends)
      return loom_fail(an, LOOM_ERR_NO_COMPUTE, list->nodes.at[i],
                       "the list of nodes ends without a compute node");
  }
  if (list->nodes.n > 0) return LOOM_OK;
  if (list->parent >= 0)
    return loom_fail(an, LOOM_ERR_NO_COMPUTE, list->parent, "branch %d has no compute node",
                     list->branch + 1);
  return loom_error_set(an->ctx, LOOM_ERR_NO_COMPUTE, "mapping: no compute node");
}

static loom_status check_all_mapped(const loom_analysis *an) {
  if (an->options->allow_unmapped_einsums) return LOOM_OK;
  for (size_t e = 0; e < an->w->einsums.n; e++) {
    const char *name = an->w->einsums.at[e].name;
    bool mapped = false;
    for (size_t i = 0; i < an->m->nodes.n && !mapped; i++)
      mapped = an->m->nodes.at[i].kind == LOOM_NODE_COMPUTE &&
               strcmp(an->m->nodes.at[i].einsum, name) == 0;
    if (!mapped)
      return loom_error_set(an->ctx, LOOM_ERR_UNMAPPED_EINSUM,
                            "mapping: einsum '%s' has no compute node", name);
  }
  return LOOM_OK;
}

loom_status loom_check_tree(const loom_analysis *an) {
  loom_status status = LOOM_OK;
  for (size_t i = 0; i < an->m->nodes.n && status == LOOM_OK; i++) status = check_node(an, (int)i);
  for (size_t i = 0; i < an->m->lists.n && status == LOOM_OK; i++)
    status = check_list(an, &an->m->lists.at[i]);
  return status == LOOM_OK ? check_all_mapped(an) : status;
}
