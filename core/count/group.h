/* SPDX-License-Identifier: MIT */
/* What one group of variables contributes to the traffic of a holder.
** Invariant: sums run over the index vectors of the group's temporal loops and over the units that
** its spatial loops make. */
#ifndef EINLOOM_GROUP_H
#define EINLOOM_GROUP_H

#include "count/chain.h"

/* While one loop advances: elements that every joined unit that gets them has already; elements of
** the units before; those of them that every such unit has afterwards. */
typedef struct loom_advance {
  int64_t kept, gone, stays;
} loom_advance;

typedef struct loom_figures {
  int64_t all, last, first; /* elements of tiles; of last tiles; of tiles, touched there first */
  loom_advance *advance;    /* by temporal loop outside the holder */
} loom_figures;

typedef struct loom_grouped {
  const loom_numbers *p;
  const loom_index_group *g;
  loom_chain *chains;            /* by place in the group */
  loom_words tiles, pairs;       /* one kind of each variable */
  LOOM_LIST(int64_t) size;       /* by tiles */
  LOOM_LIST(loom_advance) moved; /* by pairs */
  size_t n_joint;
  uint32_t *joint; /* units joined together, in the order of their indices: one of each variable */
  loom_runs *sets, *before; /* scratch, as all below but the figures */
  loom_runs here, old, mine, twice, fresh, left, after, there;
  int64_t *tuple;
  loom_figures all;                 /* of all owners */
  LOOM_LIST(loom_figures) of_owner; /* distinct */
} loom_grouped;

bool loom_grouped_begin(loom_tally *t, const loom_numbers *p, const loom_index_group *g,
                        loom_view view, loom_grouped *group);
bool loom_grouped_count(loom_tally *t, loom_grouped *group, int n_advance, bool owners,
                        bool with_first);
/* The figures of one choice of steps for each variable. */
bool loom_grouped_figures(loom_tally *t, loom_grouped *group, const loom_steps *const *steps,
                          int n_advance, loom_figures *out);
/* What one choice of figures for each group comes to. */
typedef struct loom_crossing {
  int64_t reads, writes, first;
} loom_crossing;
loom_crossing loom_crossing_of(loom_tally *t, const loom_numbers *p, int n_advance,
                               const loom_figures *const *of);
/* Each element is in one tile only: one variable, whose tiles do not overlap. */
bool loom_index_group_is_partition(const loom_numbers *p, const loom_index_group *g);
/* What units hold factors over the groups (all of the nest): none idles before it works, and where old
** partial sums go to one unit none idles with an element that another gets.  Of units with equal tiles
** that one has a working one before it, so only tiles that overlap in part matter. */
bool loom_contents_factor(const loom_numbers *p, const loom_grouped *groups);
/* The largest tile. */
int64_t loom_grouped_largest(loom_tally *t, loom_grouped *group);

/* Elements whose first step at the holder it is, by the group's owners (the last variable's fastest):
** see loom_count_problem.anew. */
bool loom_count_first(loom_tally *t, const loom_grouped *group, int64_t *by_owner);

#endif
