/* SPDX-License-Identifier: MIT */
/* The compute leaf: one operation reads its inputs, and the partial result, and writes that back:
** doc/formulas.md#compute. */
#include "reuse/reuse.h"

static void count_operation(const loom_analysis *an, const loom_path_node *node,
                            loom_stats *stats) {
  loom_expr one = an->einsum->is_copy ? an->zero : an->one;
  stats->compute = (loom_compute_stats){
      .level = node->node.component, .total_ops = one, .max_per_unit_ops = one, .max_latency = one};
  stats->temporal_steps = one;
  stats->n_fanout = an->n_fanout;
  for (size_t i = 0; i < an->n_fanout; i++) stats->fanout[i] = an->fanout[i];
  stats->n_first_latency = an->n_first_latency;
  for (size_t i = 0; i < an->n_loops; i++)
    if (an->loops[i].first_latency >= 0)
      stats->first_latency[an->loops[i].first_latency] = (loom_first_latency){.loop = (int)i};
}

bool loom_analyze_compute(loom_analysis *an, const loom_path_node *node, loom_stats *stats) {
  stats->n_buffets = 0;
  if (an->with_compute) count_operation(an, node, stats);
  if (an->access < 0) return true;
  const loom_access *access = loom_access_of(an, an->access);
  loom_buffet *b = loom_buffet_add(an, stats, node->node.component);
  b->tensor = loom_name_of_tensor(an, access->tensor);
  loom_expr *field = b->field;
  field[LOOM_BUFFET_max_occupancy] = an->one;
  if (!an->einsum->is_copy || !access->output)
    field[LOOM_BUFFET_total_reads_to_parent] = field[LOOM_BUFFET_max_per_parent_reads_to_parent] =
        an->one;
  if (!access->output) return true;
  field[LOOM_BUFFET_total_writes_to_parent] = field[LOOM_BUFFET_max_per_parent_writes_to_parent] =
      an->one;
  if (!an->einsum->is_copy && an->a->components.at[node->component].skip_initial_output_write)
    field[LOOM_BUFFET_total_skipped_first_reads_to_parent] =
        field[LOOM_BUFFET_min_per_parent_skipped_first_reads_to_parent] = an->one;
  return true;
}
