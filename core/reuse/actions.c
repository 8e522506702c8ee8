/* SPDX-License-Identifier: MIT */
/* The actions at a holder that one filling and its child's traffic cost:
** doc/formulas.md#actions. */
#include "reuse/reuse.h"

#define FIELD(b, name) ((b)->field[LOOM_BUFFET_##name])

/* *into += count * scale. */
static bool charge(const loom_analysis *an, loom_expr *into, loom_expr count, loom_expr scale) {
  if (count == an->zero || scale == an->zero) return true;
  return loom_multiply(an, &count, scale) && loom_accumulate(an, into, count);
}

static bool charge_fill(const loom_analysis *an, loom_buffet *b, loom_expr scale) {
  loom_expr reads = FIELD(b, total_reads_to_parent);
  loom_expr skipped = FIELD(b, total_skipped_first_reads_to_parent);
  return charge(an, &FIELD(b, total_write_actions), reads, scale) &&
         charge(an, &FIELD(b, max_per_unit_write_actions), reads, scale) &&
         charge(an, &FIELD(b, total_skipped_first_write_actions), skipped, scale) &&
         charge(an, &FIELD(b, min_per_unit_skipped_first_write_actions), skipped, scale);
}

static bool charge_write_back(const loom_analysis *an, loom_buffet *b, loom_expr scale) {
  loom_expr writes = FIELD(b, total_writes_to_parent);
  return charge(an, &FIELD(b, total_read_actions), writes, scale) &&
         charge(an, &FIELD(b, max_per_unit_read_actions), writes, scale);
}

static bool charge_serving(const loom_analysis *an, loom_buffet *b, const loom_buffet *child,
                           loom_expr scale, bool skips) {
  bool good =
      charge(an, &FIELD(b, total_read_actions), FIELD(child, total_reads_to_parent), scale) &&
      charge(an, &FIELD(b, max_per_unit_read_actions), FIELD(child, max_per_parent_reads_to_parent),
             scale);
  if (!skips || !good) return good;
  return charge(an, &FIELD(b, total_skipped_first_read_actions),
                FIELD(child, total_skipped_first_reads_to_parent), scale) &&
         charge(an, &FIELD(b, min_per_unit_skipped_first_read_actions),
                FIELD(child, min_per_parent_skipped_first_reads_to_parent), scale);
}

static bool charge_receiving(const loom_analysis *an, loom_buffet *b, const loom_buffet *child,
                             loom_expr scale) {
  return charge(an, &FIELD(b, total_write_actions), FIELD(child, total_writes_to_parent), scale) &&
         charge(an, &FIELD(b, max_per_unit_write_actions),
                FIELD(child, max_per_parent_writes_to_parent), scale);
}

bool loom_holder_actions(loom_analysis *an, loom_stats *stats, loom_expr read_scale,
                         loom_expr write_scale, unsigned direction, bool skips, bool drains) {
  loom_buffet *b = &stats->buffets[stats->n_buffets - 1];
  const loom_buffet *child = b - 1;
  if (direction & LOOM_DOWN)
    if (!charge_fill(an, b, write_scale) || !charge_serving(an, b, child, read_scale, skips))
      return false;
  if (direction & LOOM_UP)
    if ((drains && !charge_write_back(an, b, read_scale)) ||
        !charge_receiving(an, b, child, write_scale))
      return false;
  return true;
}
