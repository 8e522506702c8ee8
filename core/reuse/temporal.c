/* SPDX-License-Identifier: MIT */
/* A temporal loop repeats what is below it: doc/formulas.md#temporal. */
#include "reuse/reuse.h"

static bool repeat_buffet(const loom_analysis *an, const loom_step *step, loom_buffet *b) {
  b->n_loops_above++;
  if (step->trips == an->one) return true;
  for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
    unsigned class_ = loom_buffet_classes[f];
    if (class_ & (LOOM_F_OCCUPANCY | LOOM_F_EXACT)) continue;
    if ((class_ & LOOM_F_SKIP) && step->relevancy != LOOM_RELEVANT) continue;
    if (!loom_multiply(an, &b->field[f], step->trips)) return false;
  }
  return true;
}

/* The latency of the first iteration is that of the first tile's nest. */
static void note_first_latency(const loom_step *step, loom_stats *stats) {
  int entry = step->loop->first_latency;
  if (entry >= 0 && step->loop->kind != 1)
    stats->first_latency[entry].steps = stats->temporal_steps;
}

bool loom_analyze_temporal(loom_analysis *an, const loom_step *step, loom_stats *stats) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    if (!repeat_buffet(an, step, &stats->buffets[i])) return false;
  if (!an->with_compute) return true;
  note_first_latency(step, stats);
  return loom_multiply(an, &stats->compute.total_ops, step->true_trips) &&
         loom_multiply(an, &stats->compute.max_per_unit_ops, step->true_trips) &&
         loom_multiply(an, &stats->compute.max_latency, step->true_trips) &&
         loom_multiply(an, &stats->temporal_steps, step->true_trips);
}
