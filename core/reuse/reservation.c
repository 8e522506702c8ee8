/* SPDX-License-Identifier: MIT */
/* A reservation makes its holder's buffet, as large as the tile there:
** doc/formulas.md#reservation. */
#include "reuse/reuse.h"

loom_expr loom_bits_of(const loom_analysis *an, const loom_path_node *node) {
  const loom_access *access = loom_access_of(an, node->access);
  return loom_component_bits(&an->a->components.at[node->component], an->einsum->name,
                             an->w->tensors.at[access->tensor].name, access->bits);
}

bool loom_analyze_reservation(loom_analysis *an, const loom_path_node *node, loom_stats *stats) {
  const loom_access *access = loom_access_of(an, node->access);
  loom_buffet *b = loom_buffet_add(an, stats, node->node.component);
  b->tensor = node->node.tensor;
  loom_expr *occupancy = &b->field[LOOM_BUFFET_max_occupancy];
  *occupancy = an->rules->footprint(an, access, an->extents);
  return *occupancy != LOOM_NONE && loom_multiply(an, occupancy, loom_bits_of(an, node));
}
