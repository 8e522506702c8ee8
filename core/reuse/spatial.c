/* SPDX-License-Identifier: MIT */
/* A spatial loop has several units do what is below it, at the same time:
** doc/formulas.md#spatial. */
#include "reuse/reuse.h"

static bool spread_buffet(const loom_analysis *an, const loom_step *step, bool shared,
                          loom_buffet *b) {
  b->n_loops_above++;
  if (step->trips == an->one) return true;
  for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
    unsigned class_ = loom_buffet_classes[f];
    bool grows = (class_ & LOOM_F_PARENT) ? !shared : (class_ & LOOM_F_TOTAL) != 0;
    if (grows && !loom_multiply(an, &b->field[f], step->trips)) return false;
  }
  return true;
}

bool loom_analyze_spatial(loom_analysis *an, const loom_step *step, loom_stats *stats) {
  step->loop->shared_buffet = step->shared ? (int)stats->n_buffets - 1 : -1;
  for (size_t i = 0; i < stats->n_buffets; i++) {
    bool shared = (int)i == step->loop->shared_buffet;
    if (!spread_buffet(an, step, shared, &stats->buffets[i])) return false;
  }
  if (!an->with_compute) return true;
  return loom_multiply(an, &stats->compute.total_ops, step->true_trips) &&
         loom_multiply(an, &stats->fanout[step->loop->fanout].used, step->true_trips);
}
