/* SPDX-License-Identifier: MIT */
/* Operations, steps, units and first latencies: products of numbers of pieces, one for each variable
** (doc/formulas.md#exact-operations). */
#include "exact/exact.h"

#include <string.h>

/* Inside one visit of a holder, loops around it are not looked into. */
static bool is_around(const loom_analysis *an, size_t loop) {
  return an->exact->from > 0 && an->exact->place[loop] < an->exact->from;
}

/* Ways of the temporal and of the spatial loops, but CUT for the loops of one dimension. */
static void take(loom_analysis *an, loom_way temporal, loom_way spatial, int fanout) {
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_loop *loop = &an->loops[i];
    loom_way way = loop->spatial ? spatial : temporal;
    if (loop->spatial && loop->fanout == fanout) way = LOOM_WAY_CUT;
    if (is_around(an, i)) way = LOOM_WAY_PASS;
    an->exact->ways[i] = (unsigned char)way;
  }
}

/* Combinations of the pieces of all variables. */
static loom_expr combinations(loom_analysis *an) {
  loom_expr product = an->one;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    if (an->exact->loops_of[v][0] < 0) continue;
    loom_view *view = loom_view_of(an, (int)v);
    loom_expr number = view ? loom_view_number(an, view) : LOOM_NONE;
    if (number == LOOM_NONE || !loom_multiply(an, &product, number)) return LOOM_NONE;
  }
  return product;
}

#define MOST_CHOICES 6

/* Pieces of the busiest unit.  A loop with a first tile has its busiest unit first or second, the same
** one in every piece around it; the units of different loops and variables are independent. */
static loom_expr most_pieces(loom_analysis *an, const int *loops) {
  int chosen[MOST_CHOICES], n = 0;
  for (const int *l = loops; *l >= 0; l++)
    if (an->loops[*l].spatial && an->loops[*l].first != LOOM_NONE &&
        an->exact->ways[*l] == LOOM_WAY_LARGEST) {
      if (n < MOST_CHOICES) chosen[n] = *l;
      n++;
    }
  if (n > MOST_CHOICES) {
    loom_error_set(an->ctx, LOOM_ERR_LIMIT,
                   "einsum '%s': %d spatial loops over one variable with a first tile; at most %d "
                   "can be analysed",
                   an->einsum->name, n, MOST_CHOICES);
    return LOOM_NONE;
  }
  loom_expr numbers[1 << MOST_CHOICES];
  for (int choice = 0; choice < 1 << n; choice++) {
    for (int i = 0; i < n; i++)
      an->exact->ways[chosen[i]] =
          (unsigned char)((choice >> i) & 1 ? LOOM_WAY_SECOND : LOOM_WAY_FIRST);
    loom_view *view = loom_view_of(an, an->loops[*loops].variable);
    numbers[choice] = view ? loom_view_number(an, view) : LOOM_NONE;
    if (numbers[choice] == LOOM_NONE) return LOOM_NONE;
  }
  return loom_max(an->ctx, (size_t)1 << n, numbers);
}

static loom_expr most_combinations(loom_analysis *an) {
  loom_expr product = an->one;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    if (an->exact->loops_of[v][0] < 0) continue;
    loom_expr number = most_pieces(an, an->exact->loops_of[v]);
    if (number == LOOM_NONE || !loom_multiply(an, &product, number)) return LOOM_NONE;
  }
  return product;
}

static bool count_fanout(loom_analysis *an, loom_stats *stats) {
  stats->n_fanout = an->n_fanout;
  for (size_t f = 0; f < an->n_fanout; f++) {
    stats->fanout[f] = an->fanout[f];
    take(an, LOOM_WAY_LARGEST, LOOM_WAY_LARGEST, (int)f);
    stats->fanout[f].used = combinations(an);
    if (stats->fanout[f].used == LOOM_NONE) return false;
  }
  return true;
}

/* Steps in the first iteration of a loop, and of all loops around it. */
static bool count_first_latencies(loom_analysis *an, loom_stats *stats) {
  stats->n_first_latency = an->n_first_latency;
  for (size_t i = 0; i < an->n_loops; i++) {
    int entry = an->loops[i].first_latency;
    if (entry < 0) continue;
    take(an, LOOM_WAY_CUT, LOOM_WAY_LARGEST, -2);
    for (size_t k = 0; k <= i; k++)
      if (!an->loops[k].spatial) an->exact->ways[k] = LOOM_WAY_FIRST;
    stats->first_latency[entry] = (loom_first_latency){(int)i, combinations(an)};
    if (stats->first_latency[entry].steps == LOOM_NONE) return false;
  }
  return true;
}

/* How often each loop runs, where that is the same every time. */
static bool count_trips(loom_analysis *an) {
  loom_exact *ex = an->exact;
  for (size_t i = 0; i < an->n_loops; i++) {
    loom_loop *loop = &an->loops[i];
    for (size_t k = 0; k < an->n_loops; k++) ex->ways[k] = k < i ? LOOM_WAY_CUT : LOOM_WAY_PASS;
    loom_view *around = loom_view_of(an, loop->variable);
    loom_expr extent;
    if (!around) return false;
    if (!loom_view_even(an, around, &extent)) {
      if (loom_error_status(an->ctx) != LOOM_OK) return false;
      continue;
    }
    for (size_t k = 0; k < i; k++) ex->ways[k] = LOOM_WAY_LARGEST;
    ex->ways[i] = LOOM_WAY_CUT;
    loom_view *view = loom_view_of(an, loop->variable);
    loop->trips = loop->reference = view ? loom_view_number(an, view) : LOOM_NONE;
    an->path[loop->at].node.trips = loop->trips;
    if (loop->trips == LOOM_NONE) return false;
  }
  return true;
}

static bool count_operations(loom_analysis *an, loom_stats *stats) {
  loom_compute_stats *c = &stats->compute;
  *c = (loom_compute_stats){.level = loom_name_of_component(an, an->compute)};
  if (an->einsum->is_copy) {
    c->total_ops = c->max_per_unit_ops = c->max_latency = stats->temporal_steps = an->zero;
  } else {
    take(an, LOOM_WAY_CUT, LOOM_WAY_CUT, -2);
    c->total_ops = combinations(an);
    take(an, LOOM_WAY_CUT, LOOM_WAY_LARGEST, -2);
    c->max_latency = stats->temporal_steps = combinations(an);
    c->max_per_unit_ops = most_combinations(an);
  }
  take(an, LOOM_WAY_LARGEST, LOOM_WAY_CUT, -2);
  c->instances = combinations(an);
  return c->level && c->total_ops != LOOM_NONE && c->max_per_unit_ops != LOOM_NONE &&
         stats->temporal_steps != LOOM_NONE && c->instances != LOOM_NONE;
}

loom_status loom_exact_operations(loom_analysis *an, loom_stats *stats) {
  bool good = count_operations(an, stats) && count_fanout(an, stats) && count_trips(an);
  if (good && !an->einsum->is_copy) good = count_first_latencies(an, stats);
  return good ? LOOM_OK : loom_failed(an);
}

bool loom_count_inside(loom_analysis *an, loom_stats *stats) {
  stats->n_first_latency = an->n_first_latency;
  for (size_t i = 0; i < an->n_loops; i++)
    if (an->loops[i].first_latency >= 0)
      stats->first_latency[an->loops[i].first_latency] = (loom_first_latency){.loop = (int)i};
  return count_operations(an, stats) && count_fanout(an, stats);
}
