/* SPDX-License-Identifier: MIT */
/* Operations, time steps and units at work, point by point. */
#include "simulate/simulate.h"

/* What is counted while walking; `busy` is by unit. */
typedef struct tally {
  int64_t points, steps, *busy;
  int64_t *first; /* by loop: steps in the first iteration of it and of those above */
  bool **used;    /* by entry of the fanout list, then index along its dimension */
} tally;

static bool list_loops(const sim *s, int spatial, int fanout, sim_list *list) {
  *list = (sim_list){loom_arena_array(&s->an->scratch, s->n_loops, sizeof(int)), 0};
  if (!list->loop) return false;
  for (size_t i = 0; i < s->n_loops; i++)
    if (s->loops[i].spatial == (spatial == 1) && (fanout < 0 || s->an->loops[i].fanout == fanout))
      list->loop[list->n++] = (int)i;
  return true;
}

/* A step counts for a loop while that loop and every temporal one above it are at their first index. */
static void note_step(const sim *s, const sim_walk *walk, tally *x) {
  x->steps++;
  for (size_t d = 0; d < walk->digits.n; d++) {
    int loop = walk->digits.loop[d];
    if (s->loops[loop].spatial || walk->index[d] > 0) break;
    x->first[loop]++;
  }
}

static bool tally_begin(tally *x, const sim *s, size_t units, const sim_track *const *dims) {
  loom_arena *scratch = &s->an->scratch;
  *x = (tally){.busy = loom_arena_array(scratch, units, sizeof *x->busy),
               .first = loom_arena_array(scratch, s->n_loops, sizeof *x->first),
               .used = loom_arena_array(scratch, s->an->n_fanout, sizeof *x->used)};
  if (!x->busy || !x->first || !x->used) return false;
  for (size_t i = 0; i < s->an->n_fanout; i++)
    if (!(x->used[i] = loom_arena_array(scratch, dims[i]->size, sizeof(bool)))) return false;
  return true;
}

static void fill(const sim *s, const tally *x, const sim_track *const *dims, size_t units,
                 loom_stats *stats) {
  loom_analysis *an = s->an;
  int64_t instances = 0, most = 0;
  bool copy = an->einsum->is_copy;
  for (size_t i = 0; i < units; i++) {
    instances += x->busy[i] > 0;
    if (x->busy[i] > most) most = x->busy[i];
  }
  stats->temporal_steps = loom_int(an->ctx, copy ? 0 : x->steps);
  stats->compute = (loom_compute_stats){.level = loom_name_of_component(an, an->compute),
                                        .total_ops = loom_int(an->ctx, copy ? 0 : x->points),
                                        .max_per_unit_ops = loom_int(an->ctx, copy ? 0 : most),
                                        .max_latency = loom_int(an->ctx, copy ? 0 : x->steps),
                                        .instances = loom_int(an->ctx, instances)};
  stats->n_fanout = an->n_fanout;
  for (size_t i = 0; i < an->n_fanout; i++) {
    int64_t used = 0;
    for (size_t k = 0; k < dims[i]->size; k++) used += x->used[i][k];
    stats->fanout[i] = an->fanout[i];
    stats->fanout[i].used = loom_int(an->ctx, used);
  }
  stats->n_first_latency = an->n_first_latency;
  for (size_t i = 0; i < s->n_loops; i++)
    if (an->loops[i].first_latency >= 0)
      stats->first_latency[an->loops[i].first_latency] =
          (loom_first_latency){.loop = (int)i, .steps = loom_int(an->ctx, x->first[i])};
}

bool sim_count_operations(const sim *s, loom_stats *stats) {
  loom_analysis *an = s->an;
  sim_list temporal, spatial, digits, along;
  sim_walk walk;
  if (!list_loops(s, 0, -1, &temporal) || !list_loops(s, 1, -1, &spatial)) return false;
  digits = (sim_list){loom_arena_array(&an->scratch, s->n_loops, sizeof(int)), 0};
  const sim_track **dims = loom_arena_array(&an->scratch, an->n_fanout, sizeof *dims);
  if (!digits.loop || !dims) return false;
  for (size_t i = 0; i < temporal.n; i++) digits.loop[digits.n++] = temporal.loop[i];
  for (size_t i = 0; i < spatial.n; i++) digits.loop[digits.n++] = spatial.loop[i];
  if (!sim_walk_begin(&walk, s, digits, 1 + an->n_fanout)) return false;
  const sim_track *unit = sim_walk_track(&walk, spatial);
  for (size_t i = 0; i < an->n_fanout; i++) {
    if (!list_loops(s, 1, (int)i, &along)) return false;
    dims[i] = sim_walk_track(&walk, along);
  }
  tally x;
  if (!tally_begin(&x, s, unit->size, dims)) return false;
  bool stepped = false;
  do {
    if (unit->at == 0) stepped = false;
    if (!sim_walk_active(&walk)) continue;
    x.points++;
    x.busy[unit->at]++;
    for (size_t i = 0; i < an->n_fanout; i++) x.used[i][dims[i]->at] = true;
    if (!stepped) note_step(s, &walk, &x);
    stepped = true;
  } while (sim_walk_next(&walk));
  fill(s, &x, dims, unit->size, stats);
  return true;
}
