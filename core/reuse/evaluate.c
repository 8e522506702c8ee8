/* SPDX-License-Identifier: MIT */
/* Walks a nest down, noting trips and extents, and back up, letting each node's analyzer make its
** statistics of its child's.  A loop with two kinds of tile is walked once for each
** (doc/formulas.md#kinds): 2^k walks for k such loops. */
#include "reuse/reuse.h"

#include <string.h>

/* The extent that a loop leaves inside, for the kind of tile chosen. */
static loom_expr tile_of(const loom_loop *loop) {
  return loop->kind == 0 ? loop->first : loop->tile;
}

static loom_expr extent_around(const loom_analysis *an, const loom_loop *loop) {
  if (loop->outer < 0) return an->w->variables.at[loop->variable].size;
  return tile_of(&an->loops[loop->outer]);
}

/* Both kinds of the loop's tiles are still to be walked. */
static bool undecided(const loom_analysis *an, size_t at) {
  int index = an->path[an->nest[at].at].node.loop;
  return index >= 0 && an->loops[index].two_kinds && an->loops[index].kind < 0;
}

static bool count_trips(loom_analysis *an, const loom_loop *loop, loom_relevancy relevancy,
                        loom_level *level) {
  if (!loop->varies) {
    level->true_trips = loop->trips;
    level->trips = relevancy == LOOM_IRRELEVANT && an->access >= 0 ? loop->reference : loop->trips;
    return true;
  }
  loom_tiles tiles;
  if (an->rules->tiles(an->ctx, extent_around(an, loop), loop->tile,
                       loop->two_kinds ? loop->first : LOOM_NONE, &tiles) != LOOM_OK)
    return false;
  level->trips = level->true_trips = tiles.repeats[loop->two_kinds ? loop->kind : 0];
  return true;
}

static bool enter(loom_analysis *an, size_t at) {
  const loom_path_node *node = &an->path[an->nest[at].at];
  if (node->node.loop < 0) return true;
  const loom_loop *loop = &an->loops[node->node.loop];
  loom_level *level = &an->levels[at];
  level->outside = an->extents[loop->variable];
  an->extents[loop->variable] = tile_of(loop);
  return count_trips(an, loop, an->nest[at].relevancy, level);
}

static bool leave_loop(loom_analysis *an, size_t at, loom_stats *stats) {
  const loom_level *level = &an->levels[at];
  loom_loop *loop = &an->loops[an->path[an->nest[at].at].node.loop];
  loom_step step = {loop, level->trips, level->true_trips, an->nest[at].relevancy,
                    an->nest[at].shared};
  bool good = loop->spatial ? loom_analyze_spatial(an, &step, stats)
                            : loom_analyze_temporal(an, &step, stats);
  an->extents[loop->variable] = level->outside;
  return good;
}

static bool leave(loom_analysis *an, size_t at, loom_stats *stats) {
  const loom_path_node *node = &an->path[an->nest[at].at];
  switch (node->node.kind) {
  case LOOM_NODE_TEMPORAL:
  case LOOM_NODE_SPATIAL: return leave_loop(an, at, stats);
  case LOOM_NODE_STORAGE: return loom_analyze_storage(an, node, stats);
  case LOOM_NODE_TOLL: return loom_analyze_toll(an, node, stats);
  case LOOM_NODE_CUSTOM: return loom_analyze_custom(an, node, stats);
  case LOOM_NODE_RESERVATION: return loom_analyze_reservation(an, node, stats);
  default: return loom_analyze_compute(an, node, stats);
  }
}

static bool evaluate_from(loom_analysis *an, size_t from, loom_stats *stats);

/* Statistics with the same room as stats, empty. */
static bool copy_room(loom_analysis *an, const loom_stats *stats, loom_stats *out) {
  *out = (loom_stats){.n_buffets = stats->n_buffets};
  size_t holders = 1;
  for (size_t i = 0; i < an->n_nest; i++)
    holders += an->path[an->nest[i].at].node.kind == LOOM_NODE_RESERVATION;
  out->buffets = loom_arena_array(&an->scratch, holders, sizeof *out->buffets);
  out->fanout = loom_arena_array(&an->scratch, an->n_fanout, sizeof *out->fanout);
  out->first_latency =
      loom_arena_array(&an->scratch, an->n_first_latency, sizeof *out->first_latency);
  return out->buffets && out->fanout && out->first_latency;
}

/* The nest from a loop with two kinds of tile on: for the first tile, then for the others. */
static bool evaluate_kinds(loom_analysis *an, size_t at, loom_stats *stats) {
  loom_loop *loop = &an->loops[an->path[an->nest[at].at].node.loop];
  loom_tiles tiles;
  if (an->rules->tiles(an->ctx, extent_around(an, loop), loop->tile, loop->first, &tiles) !=
      LOOM_OK)
    return false;
  loom_stats second;
  if (!copy_room(an, stats, &second)) return false;
  loom_frame frame = {an->frames, &second};
  an->frames = &frame;
  loop->kind = 0;
  bool good = evaluate_from(an, at, stats);
  if (good && tiles.repeats[1] != an->zero) {
    loop->kind = 1;
    good = evaluate_from(an, at, &second) &&
           loom_combine_kinds(an, loop, an->nest[at].relevancy, stats, &second);
  }
  loop->kind = -1;
  an->frames = frame.next;
  return good;
}

static bool evaluate_from(loom_analysis *an, size_t from, loom_stats *stats) {
  size_t at = from;
  for (; at < an->n_nest; at++) {
    if (undecided(an, at)) {
      if (!evaluate_kinds(an, at, stats)) return false;
      break;
    }
    if (!enter(an, at)) return false;
  }
  while (at-- > from)
    if (!leave(an, at, stats)) return false;
  return true;
}

#define MOST_KINDS 12

loom_status loom_evaluate(loom_analysis *an, loom_stats *stats) {
  int kinds = 0;
  for (size_t i = 0; i < an->n_loops; i++) kinds += an->loops[i].two_kinds;
  if (kinds > MOST_KINDS)
    return loom_error_set(an->ctx, LOOM_ERR_LIMIT,
                          "einsum '%s': %d loops with a first tile; at most %d can be analysed",
                          an->einsum->name, kinds, MOST_KINDS);
  for (size_t v = 0; v < an->w->variables.n; v++) an->extents[v] = an->w->variables.at[v].size;
  memset(an->levels, 0, an->n_nest * sizeof *an->levels);
  loom_frame frame = {an->frames, stats};
  an->frames = &frame;
  bool good = evaluate_from(an, 0, stats);
  an->frames = frame.next;
  return good ? LOOM_OK : loom_failed(an);
}
