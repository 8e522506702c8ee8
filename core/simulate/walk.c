/* SPDX-License-Identifier: MIT */
/* Index vectors of loops and the intervals of variables they stand for: doc/formulas.md#enumeration.
*/
#include "simulate/simulate.h"

size_t sim_trips(const sim *s, sim_list loops) {
  size_t product = 1;
  for (size_t i = 0; i < loops.n; i++) product *= s->loops[loops.loop[i]].trips;
  return product;
}

sim_interval sim_piece(const sim_loop *loop, sim_interval around, size_t index) {
  static const sim_interval empty = {0, 0};
  int64_t i = (int64_t)index, begin, end;
  if (around.lo >= around.hi) return empty;
  if (loop->first > 0) {
    begin = i == 0 ? around.lo : around.lo + loop->first + (i - 1) * loop->tile;
    end = begin + (i == 0 ? loop->first : loop->tile);
  } else {
    begin = around.lo + i * loop->step;
    end = begin + loop->tile;
    if (i > 0 && end - loop->step >= around.hi) return empty;
  }
  if (begin >= around.hi) return empty;
  return (sim_interval){begin, end < around.hi ? end : around.hi};
}

/* Digit of a loop in a list, or -1. */
static int digit_of(sim_list list, int loop) {
  for (size_t i = 0; i < list.n; i++)
    if (list.loop[i] == loop) return (int)i;
  return -1;
}

/* What the table of a variable has at a position: the hull of what was met there. */
static void note_interval(sim_interval *entry, sim_interval met) {
  if (met.lo >= met.hi) return;
  if (entry->lo >= entry->hi) {
    *entry = met;
    return;
  }
  if (met.lo < entry->lo) entry->lo = met.lo;
  if (met.hi > entry->hi) entry->hi = met.hi;
}

/* The loops of the path over the variable, down to the last one among the digits. */
static bool list_chain(const sim *s, sim_list digits, int variable, sim_list *chain) {
  chain->loop = loom_arena_array(&s->an->scratch, s->n_loops, sizeof *chain->loop);
  if (!chain->loop) return false;
  size_t n = 0;
  chain->n = 0;
  for (size_t i = 0; i < s->n_loops; i++) {
    if (s->loops[i].variable != variable) continue;
    chain->loop[n++] = (int)i;
    if (digit_of(digits, (int)i) >= 0) chain->n = n;
  }
  return true;
}

/* Intervals of one variable by the indices of its loops; loops of the path that the walk leaves out
** have all their pieces together. */
static bool tabulate(sim_walk *walk, int variable) {
  const sim *s = walk->s;
  loom_arena *scratch = &s->an->scratch;
  sim_list chain;
  if (!list_chain(s, walk->digits, variable, &chain)) return false;
  sim_track *track = &walk->tracks[variable];
  track->size = 1;
  for (size_t i = 0; i < chain.n; i++) {
    int digit = digit_of(walk->digits, chain.loop[i]);
    if (digit < 0) continue;
    track->weight[digit] = track->size;
    track->size *= s->loops[chain.loop[i]].trips;
  }
  sim_interval *table = loom_arena_array(scratch, track->size, sizeof *table);
  size_t *index = loom_arena_array(scratch, chain.n + 1, sizeof *index);
  if (!table || !index) return false;
  for (size_t turn = chain.n + 1; turn > 0;) {
    sim_interval interval = {0, s->sizes[variable]};
    size_t at = 0;
    for (size_t i = 0; i < chain.n; i++) {
      int digit = digit_of(walk->digits, chain.loop[i]);
      interval = sim_piece(&s->loops[chain.loop[i]], interval, index[i]);
      if (digit >= 0) at += index[i] * track->weight[digit];
    }
    note_interval(&table[at], interval);
    for (turn = chain.n; turn > 0 && ++index[turn - 1] == s->loops[chain.loop[turn - 1]].trips;
         turn--)
      index[turn - 1] = 0;
  }
  walk->intervals[variable] = table;
  return true;
}

bool sim_walk_begin(sim_walk *walk, const sim *s, sim_list digits, size_t extra) {
  loom_arena *scratch = &s->an->scratch;
  size_t n = s->an->w->variables.n;
  *walk = (sim_walk){.s = s, .digits = digits, .n_tracks = n};
  walk->index = loom_arena_array(scratch, digits.n, sizeof *walk->index);
  walk->tracks = loom_arena_array(scratch, n + extra, sizeof *walk->tracks);
  walk->intervals = loom_arena_array(scratch, n, sizeof *walk->intervals);
  if (!walk->index || !walk->tracks || !walk->intervals) return false;
  for (size_t i = 0; i < n + extra; i++) {
    walk->tracks[i].weight = loom_arena_array(scratch, digits.n, sizeof(size_t));
    if (!walk->tracks[i].weight) return false;
  }
  for (size_t v = 0; v < n; v++)
    if (!tabulate(walk, (int)v)) return false;
  return true;
}

const sim_track *sim_walk_track(sim_walk *walk, sim_list loops) {
  sim_track *track = &walk->tracks[walk->n_tracks++];
  track->size = 1;
  for (size_t i = loops.n; i-- > 0;) {
    int digit = digit_of(walk->digits, loops.loop[i]);
    track->weight[digit] = track->size;
    track->size *= walk->s->loops[loops.loop[i]].trips;
  }
  return track;
}

bool sim_walk_next(sim_walk *walk) {
  for (size_t d = walk->digits.n; d-- > 0;) {
    size_t trips = walk->s->loops[walk->digits.loop[d]].trips;
    bool turns = walk->index[d] + 1 < trips;
    for (size_t i = 0; i < walk->n_tracks; i++) {
      sim_track *track = &walk->tracks[i];
      if (turns) {
        track->at += track->weight[d];
      } else {
        track->at -= walk->index[d] * track->weight[d];
      }
    }
    walk->index[d] = turns ? walk->index[d] + 1 : 0;
    if (turns) return true;
  }
  return false;
}

sim_interval sim_walk_interval(const sim_walk *walk, int variable) {
  return walk->intervals[variable][walk->tracks[variable].at];
}

bool sim_walk_active(const sim_walk *walk) {
  for (size_t i = 0; i < walk->s->n_looped; i++) {
    sim_interval interval = sim_walk_interval(walk, walk->s->looped[i]);
    if (interval.lo >= interval.hi) return false;
  }
  return true;
}
