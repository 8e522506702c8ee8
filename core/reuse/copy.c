/* SPDX-License-Identifier: MIT */
/* A copy einsum has one datum in several places: buffets of one level become one, named after the
** source: doc/formulas.md#copy. */
#include "reuse/reuse.h"

static bool join_field(const loom_analysis *an, loom_expr *into, loom_expr other) {
  if (*into == other || *into == an->zero) return true;
  loom_expr pair[2] = {*into, other};
  *into = other == an->zero ? an->zero : loom_min(an->ctx, 2, pair);
  return *into != LOOM_NONE;
}

static bool join_buffet(const loom_analysis *an, loom_buffet *into, const loom_buffet *other) {
  for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++)
    if (!join_field(an, &into->field[f], other->field[f])) return false;
  if (into->n_loops_above > other->n_loops_above) into->n_loops_above = other->n_loops_above;
  into->persistent = into->persistent || other->persistent;
  return true;
}

loom_status loom_merge_copy(loom_analysis *an, loom_stats *stats) {
  const char *source = NULL;
  for (size_t i = 0; i < an->einsum->accesses.n && !source; i++)
    if (!an->einsum->accesses.at[i].output)
      source = loom_name_of_tensor(an, an->einsum->accesses.at[i].tensor);
  size_t kept = 0;
  for (size_t i = 0; i < stats->n_buffets; i++) {
    loom_buffet *into = NULL;
    for (size_t k = 0; k < kept && !into; k++)
      if (stats->buffets[k].level == stats->buffets[i].level) into = &stats->buffets[k];
    if (into) {
      if (!join_buffet(an, into, &stats->buffets[i])) return loom_failed(an);
      continue;
    }
    stats->buffets[kept] = stats->buffets[i];
    stats->buffets[kept++].tensor = source;
  }
  stats->n_buffets = kept;
  return LOOM_OK;
}
