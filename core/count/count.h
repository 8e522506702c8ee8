/* SPDX-License-Identifier: MIT */
/* Counting engine: exact numbers of the traffic between a holder of a tensor and the next outer one
** where no formula is known (doc/formulas.md#exact).
** Invariant: a figure is the number that walking every step and unit would give, or an error; it
** depends on the problem alone, so a figure of a symbolic problem is a call that becomes it. */
#ifndef EINLOOM_COUNT_H
#define EINLOOM_COUNT_H

#include "model/workload.h"

/* Figures of one tensor between a holder h and its parent p.  X(enumerator, name in formulas).
** A visit is a step at h; "shared" is along the dimensions of shared loops. */
#define LOOM_COUNT_FIGURE_LIST(X)                                                                  \
  X(LOOM_COUNT_READS, "reads")           /* per visit and unit of p: distinct arrivals, shared */  \
  X(LOOM_COUNT_WRITES, "writes")         /* the same of what leaves */                             \
  X(LOOM_COUNT_DELIVERIES, "deliveries") /* arrivals of all units of h */                          \
  X(LOOM_COUNT_DEPARTURES, "departures") /* what leaves all units of h */                          \
  X(LOOM_COUNT_FIRST_READS, "first_reads") /* of READS: no earlier step computed the element */    \
  X(LOOM_COUNT_FIRST_DELIVERIES, "first_deliveries")   /* the same of DELIVERIES */                \
  X(LOOM_COUNT_MOST_READS, "most_reads")               /* of one unit of p */                      \
  X(LOOM_COUNT_MOST_WRITES, "most_writes")             /* of one unit of p */                      \
  X(LOOM_COUNT_LEAST_FIRST_READS, "least_first_reads") /* MOST_READS less the most without them */ \
  X(LOOM_COUNT_MOST_DELIVERIES, "most_deliveries")     /* to one unit of h */                      \
  X(LOOM_COUNT_MOST_DEPARTURES, "most_departures")     /* of one unit of h */                      \
  X(LOOM_COUNT_LEAST_FIRST_DELIVERIES, "least_first_deliveries") /* of MOST_DELIVERIES */          \
  X(LOOM_COUNT_TILE, "tile")                                     /* the largest tile of a visit */ \
  X(LOOM_COUNT_LIVE, "live") /* most elements alive at once within a visit: first to last use */   \
  X(LOOM_COUNT_UNIT, "unit") /* the largest sum of parts of one unit of h */                       \
  X(LOOM_COUNT_LEAST_UNIT_FIRST, "least_unit_first") /* UNIT less the most without first ones */
typedef enum loom_count_figure {
#define LOOM_COUNT_ENUM(enumerator, name) enumerator,
  LOOM_COUNT_FIGURE_LIST(LOOM_COUNT_ENUM)
#undef LOOM_COUNT_ENUM
      LOOM_N_COUNT_FIGURES
} loom_count_figure;

/* A loop cuts the interval that the next outer loop over its variable leaves. */
typedef struct loom_count_loop {
  int variable; /* of the workload */
  bool spatial;
  bool outside; /* spatial: its units have each an own p */
  bool shared;  /* spatial: one read or write serves all its units */
  bool alone;   /* its largest tile stands for all */
  /* Outside p, for first reads: every index begins afresh; the same only if its tiles overlap. */
  bool anew, anew_if_overlapping;
  loom_expr tile, first, step; /* first, step LOOM_NONE: as tile */
} loom_count_loop;

/* What counts for a unit of h: what is read of it and written to it by the next inner holder, and its
** own traffic with p.  First are those of the reads, or else of the deliveries, that count. */
enum {
  LOOM_UNIT_READS = 1,
  LOOM_UNIT_DEPARTURES = 2,
  LOOM_UNIT_DELIVERIES = 4,
  LOOM_UNIT_WRITES = 8
};

typedef struct loom_count_problem {
  const char *tensor, *level; /* of h; for names and messages */
  const loom_access *access;  /* its ranks may be those of one group of variables alone */
  const loom_expr *sizes;     /* by variable */
  size_t n_loops; /* outermost first, those above h before others; variables without are whole */
  const loom_count_loop *loops;
  size_t above_holder; /* loops above h */
  loom_lifetime lifetime;
  bool to_one_unit; /* old partial sums go to the first of the units that share */
  /* Of UNIT figures: the same between h and the next inner holder, and what adds up. */
  const struct loom_count_problem *inside;
  unsigned parts;
} loom_count_problem;

/* One figure: a number where all sizes and tiles are numbers, else a call named after it, the
** tensor and the level, of the distinct other expressions among them.  LOOM_NONE with a recorded
** error: LOOM_ERR_LIMIT naming tensor and level when counting takes too long. */
loom_expr loom_count(loom_ctx *ctx, const loom_count_problem *problem, loom_count_figure figure);
/* All of a set (1 << figure | ...) in one walk; the others are left alone. */
loom_status loom_count_all(loom_ctx *ctx, const loom_count_problem *problem, unsigned figures,
                           loom_expr out[LOOM_N_COUNT_FIGURES]);

#endif
