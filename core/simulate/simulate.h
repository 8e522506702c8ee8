/* SPDX-License-Identifier: MIT */
/* Counting a mapping by walking it: every point of one einsum's loops, in order of time, with the sets
** of elements that are touched.  Numbers only; no rule of the analyses in core/reuse or core/exact is
** used beyond the path and the nests: doc/formulas.md#enumeration.
** Invariant: arrays live in the scratch arena of the analysis; a loop is named by its position among
** the loops of the path. */
#ifndef EINLOOM_SIMULATE_H
#define EINLOOM_SIMULATE_H

#include "reuse/reuse.h"

typedef struct sim_interval {
  int64_t lo, hi; /* lo <= x < hi; empty where lo >= hi */
} sim_interval;

typedef struct sim_loop {
  int variable;
  bool spatial;
  bool remakes; /* goes through points again: overlapping tiles, a variable the einsum lacks */
  int64_t tile, step, first; /* first 0: none */
  size_t trips;              /* at most, over all units and steps */
} sim_loop;

/* An einsum with numbers. */
typedef struct sim {
  loom_analysis *an;
  int64_t *sizes; /* by variable */
  int *looped;    /* variables with loops */
  size_t n_looped;
  sim_loop *loops;
  size_t n_loops;
} sim;

/* Loops in the order in which a walk turns them, and where they stand in a nest. */
typedef struct sim_list {
  int *loop;
  size_t n;
} sim_list;

/* A number that index vectors are given, mixed radix over some digits of a walk. */
typedef struct sim_track {
  size_t at, size;
  size_t *weight; /* by digit */
} sim_track;

/* Index vectors of some loops, the last one turning fastest, with the interval of every variable. */
typedef struct sim_walk {
  const sim *s;
  sim_list digits;
  size_t *index;
  sim_track *tracks; /* first one by variable, then those added */
  size_t n_tracks;
  sim_interval **intervals; /* by variable, then position of its track */
} sim_walk;

/* Begins at the first index vector, with room for `extra` more tracks. */
bool sim_walk_begin(sim_walk *walk, const sim *s, sim_list digits, size_t extra);
/* Numbers index vectors by the loops of a list among the digits; returns the track. */
const sim_track *sim_walk_track(sim_walk *walk, sim_list loops);
/* The next index vector; false after the last. */
bool sim_walk_next(sim_walk *walk);
sim_interval sim_walk_interval(const sim_walk *walk, int variable);
/* No variable's interval is empty. */
bool sim_walk_active(const sim_walk *walk);
/* Product of the trips of a list. */
size_t sim_trips(const sim *s, sim_list loops);
/* The piece of an interval that a loop takes at an index. */
sim_interval sim_piece(const sim_loop *loop, sim_interval around, size_t index);

/* The elements of one tensor, numbered; `id` by point of the variables in its indices. */
typedef struct sim_elements {
  int *variables;
  size_t n_variables, *strides;
  uint32_t *id;
  size_t n;
  sim_interval *box; /* while listing */
  int64_t *at;
} sim_elements;

bool sim_elements_number(sim_elements *elements, const sim *s, const loom_access *access);
/* Lists the distinct elements that the box at hand touches into out (room for elements->n), using
** marks (by element) other than `mark` before; returns how many. */
size_t sim_elements_list(const sim_elements *elements, const sim_walk *walk, int64_t *marks,
                         int64_t mark, uint32_t *out);

/* A tensor's nest: its holders from the outside in, the compute unit last. */
typedef struct sim_holder {
  const loom_path_node *node;
  sim_list temporal, spatial; /* loops above it, in order of the nest */
} sim_holder;

typedef struct sim_tensor {
  const sim *s;
  const loom_access *access;
  sim_elements elements;
  sim_holder *holders;
  size_t n_holders;
  /* By element and index vector of the remaking loops above the outermost holder: number of the first
  ** time step (of all temporal loops) at which an operation updates it, -1: none. */
  int64_t *updated;
  sim_list remaking;
} sim_tensor;

/* Fills all but `updated` from the nest at hand. */
bool sim_tensor_begin(sim_tensor *t, const sim *s);
bool sim_note_updates(sim_tensor *t);
/* Largest number of elements alive at a step of one visit of a holder.  -1: failed. */
int64_t sim_fewest_live(const sim_tensor *t, size_t holder);

/* What goes on between a holder and one outside it; lists by unit in the order of the nest. */
typedef struct sim_traffic {
  int64_t reads, writes, skips;                         /* of the outer one */
  int64_t *outer_reads, *outer_writes, *outer_skips;    /* by its unit */
  int64_t deliveries, departures;                       /* at the holder */
  int64_t *arrivals, *first_arrivals, *unit_departures; /* by its unit */
  int64_t largest;                                      /* tile */
  size_t n_outer, n_units;
} sim_traffic;

/* holder: not a toll.  outer < 0: only `largest`. */
bool sim_count_traffic(const sim_tensor *t, size_t holder, int outer, sim_traffic *out);

/* The buffets of the tensor, appended to stats. */
loom_status sim_add_buffets(const sim_tensor *t, loom_stats *stats);
/* Operations, steps, fanout, first latencies; `stats` has room for the latter two. */
bool sim_count_operations(const sim *s, loom_stats *stats);

#endif
