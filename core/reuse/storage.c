/* SPDX-License-Identifier: MIT */
/* A memory is filled with its tile once per visit and written back once: doc/formulas.md#storage.
 */
#include "reuse/reuse.h"

static bool add_traffic(const loom_analysis *an, const loom_path_node *node, loom_buffet *b,
                        loom_expr fill) {
  bool output = loom_access_of(an, node->access)->output;
  bool copy = an->einsum->is_copy;
  loom_expr *field = b->field;
  if (!copy && (!loom_accumulate(an, &field[LOOM_BUFFET_total_reads_to_parent], fill) ||
                !loom_accumulate(an, &field[LOOM_BUFFET_max_per_parent_reads_to_parent], fill)))
    return false;
  if (!copy && !output) return true;
  if (!loom_accumulate(an, &field[LOOM_BUFFET_total_writes_to_parent], fill) ||
      !loom_accumulate(an, &field[LOOM_BUFFET_max_per_parent_writes_to_parent], fill))
    return false;
  if (copy || !an->a->components.at[node->component].skip_initial_output_write) return true;
  return loom_accumulate(an, &field[LOOM_BUFFET_total_skipped_first_reads_to_parent], fill) &&
         loom_accumulate(an, &field[LOOM_BUFFET_min_per_parent_skipped_first_reads_to_parent],
                         fill);
}

/* What the model `exact` notes besides, of one visit. */
static void note_moves(loom_buffet *b) {
  loom_expr *field = b->field;
  if (field[LOOM_BUFFET_total_deliveries] == LOOM_NONE) return;
  field[LOOM_BUFFET_total_deliveries] = field[LOOM_BUFFET_total_reads_to_parent];
  field[LOOM_BUFFET_total_departures] = field[LOOM_BUFFET_total_drains] =
      field[LOOM_BUFFET_total_writes_to_parent];
}

bool loom_analyze_storage(loom_analysis *an, const loom_path_node *node, loom_stats *stats) {
  const loom_access *access = loom_access_of(an, node->access);
  const loom_component *c = &an->a->components.at[node->component];
  loom_buffet *b = &stats->buffets[stats->n_buffets - 1];
  if (node->node.persistent) b->persistent = true;
  if (!node->node.backing) {
    loom_expr fill = an->rules->footprint(an, access, an->extents);
    if (fill == LOOM_NONE || !add_traffic(an, node, b, fill)) return false;
  }
  note_moves(b);
  const char *tensor = an->w->tensors.at[access->tensor].name;
  loom_expr bits = loom_bits_of(an, node);
  loom_expr read =
      loom_component_actions_per_value(an->ctx, c, "read", an->einsum->name, tensor, bits);
  loom_expr write =
      loom_component_actions_per_value(an->ctx, c, "write", an->einsum->name, tensor, bits);
  if (read == LOOM_NONE || write == LOOM_NONE) return false;
  bool skips = c->skip_initial_output_write && !an->einsum->is_copy;
  return loom_holder_actions(an, stats, read, write, LOOM_UP_AND_DOWN, skips,
                             an->options->model == LOOM_REFERENCE ||
                                 !an->options->uncounted_drains);
}
