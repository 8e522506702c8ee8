/* SPDX-License-Identifier: MIT */
/* A toll passes on what its child asks and returns, and charges for it: doc/formulas.md#toll. */
#include "reuse/reuse.h"

static bool pass_on(const loom_analysis *an, const loom_path_node *node, loom_buffet *b) {
  static const loom_buffet_field reads[] = {LOOM_BUFFET_total_reads_to_parent,
                                            LOOM_BUFFET_max_per_parent_reads_to_parent};
  static const loom_buffet_field writes[] = {
      LOOM_BUFFET_total_writes_to_parent, LOOM_BUFFET_max_per_parent_writes_to_parent,
      LOOM_BUFFET_total_skipped_first_reads_to_parent,
      LOOM_BUFFET_min_per_parent_skipped_first_reads_to_parent};
  const loom_buffet *child = b - 1;
  bool copy = an->einsum->is_copy;
  for (size_t i = 0; i < 2 && !copy; i++)
    if (!loom_accumulate(an, &b->field[reads[i]], child->field[reads[i]])) return false;
  if (!copy && !loom_access_of(an, node->access)->output) return true;
  for (size_t i = 0; i < 4; i++)
    if (!loom_accumulate(an, &b->field[writes[i]], child->field[writes[i]])) return false;
  return true;
}

/* What the model `exact` notes besides, of one visit. */
static void note_moves(const loom_analysis *an, loom_buffet *b) {
  b->field[LOOM_BUFFET_fewest_live] = an->zero;
  b->field[LOOM_BUFFET_total_deliveries] = b->field[LOOM_BUFFET_total_reads_to_parent];
  b->field[LOOM_BUFFET_total_departures] = b->field[LOOM_BUFFET_total_writes_to_parent];
}

bool loom_analyze_toll(loom_analysis *an, const loom_path_node *node, loom_stats *stats) {
  const loom_access *access = loom_access_of(an, node->access);
  const loom_component *c = &an->a->components.at[node->component];
  const char *tensor = an->w->tensors.at[access->tensor].name;
  loom_buffet *b = &stats->buffets[stats->n_buffets - 1];
  if (node->node.persistent) b->persistent = true;
  if (!node->node.backing && !pass_on(an, node, b)) return false;
  b->field[LOOM_BUFFET_max_occupancy] = an->zero;
  if (b->field[LOOM_BUFFET_fewest_live] != LOOM_NONE) note_moves(an, b);
  loom_expr read = loom_component_actions_per_value(an->ctx, c, "read", an->einsum->name, tensor,
                                                    loom_bits_of(an, node));
  if (read == LOOM_NONE) return false;
  return loom_holder_actions(an, stats, read, an->zero,
                             loom_component_direction(c, an->einsum->name, tensor),
                             !an->einsum->is_copy, true);
}
