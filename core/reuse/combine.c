/* SPDX-License-Identifier: MIT */
/* Statistics with a loop's first tile and with its other tiles become those of the whole loop:
** doc/formulas.md#kinds. */
#include "reuse/reuse.h"

static bool join_max(const loom_analysis *an, loom_expr *into, loom_expr other) {
  if (*into == other) return true;
  loom_expr pair[2] = {*into, other};
  *into = loom_max(an->ctx, 2, pair);
  return *into != LOOM_NONE;
}

/* The smaller of two counts, where zero means that there is none. */
static bool join_min(const loom_analysis *an, loom_expr *into, loom_expr other) {
  if (*into == other || other == an->zero) return true;
  loom_expr pair[2] = {*into, other};
  *into = *into == an->zero ? other : loom_min(an->ctx, 2, pair);
  return *into != LOOM_NONE;
}

static bool join_over_time(const loom_analysis *an, loom_relevancy relevancy, unsigned class_,
                           loom_expr *into, loom_expr other) {
  bool once = (class_ & LOOM_F_SKIP) && relevancy != LOOM_RELEVANT;
  if (once || (class_ & LOOM_F_OCCUPANCY)) return join_max(an, into, other);
  return loom_accumulate(an, into, other);
}

static bool join_over_space(const loom_analysis *an, bool shared, unsigned class_, loom_expr *into,
                            loom_expr other) {
  if ((class_ & LOOM_F_UNIT) && (class_ & LOOM_F_SKIP)) return join_min(an, into, other);
  if ((class_ & (LOOM_F_UNIT | LOOM_F_OCCUPANCY)) || ((class_ & LOOM_F_PARENT) && shared))
    return join_max(an, into, other);
  return loom_accumulate(an, into, other);
}

static bool join_buffets(const loom_analysis *an, const loom_loop *loop, loom_relevancy relevancy,
                         loom_stats *stats, const loom_stats *second) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      loom_expr *into = &stats->buffets[i].field[f];
      loom_expr other = second->buffets[i].field[f];
      unsigned class_ = loom_buffet_classes[f];
      if (class_ & LOOM_F_EXACT) continue;
      bool good = loop->spatial
                      ? join_over_space(an, (int)i == loop->shared_buffet, class_, into, other)
                      : join_over_time(an, relevancy, class_, into, other);
      if (!good) return false;
    }
  return true;
}

static bool join_steps(const loom_analysis *an, bool spatial, loom_expr *into, loom_expr other) {
  return spatial ? join_max(an, into, other) : loom_accumulate(an, into, other);
}

static bool join_compute(const loom_analysis *an, const loom_loop *loop, loom_stats *stats,
                         const loom_stats *second) {
  bool spatial = loop->spatial;
  for (size_t i = 0; i < stats->n_fanout; i++) {
    loom_expr *used = &stats->fanout[i].used, other = second->fanout[i].used;
    bool adds = spatial && loop->fanout == (int)i;
    if (!(adds ? loom_accumulate(an, used, other) : join_max(an, used, other))) return false;
  }
  for (size_t i = 0; i < stats->n_first_latency; i++) {
    loom_expr *steps = &stats->first_latency[i].steps, other = second->first_latency[i].steps;
    if (*steps == LOOM_NONE) {
      *steps = other;
    } else if (other != LOOM_NONE && !join_max(an, steps, other)) {
      return false;
    }
  }
  return loom_accumulate(an, &stats->compute.total_ops, second->compute.total_ops) &&
         join_steps(an, spatial, &stats->compute.max_per_unit_ops,
                    second->compute.max_per_unit_ops) &&
         join_steps(an, spatial, &stats->compute.max_latency, second->compute.max_latency) &&
         join_steps(an, spatial, &stats->temporal_steps, second->temporal_steps);
}

bool loom_combine_kinds(loom_analysis *an, const loom_loop *loop, loom_relevancy relevancy,
                        loom_stats *stats, const loom_stats *second) {
  return join_buffets(an, loop, relevancy, stats, second) &&
         (!an->with_compute || join_compute(an, loop, stats, second));
}
