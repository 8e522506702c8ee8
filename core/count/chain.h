/* SPDX-License-Identifier: MIT */
/* The intervals that the loops over one variable give the units of a holder, step by step, as kinds
** that are translates of one another.
** Invariant: what is counted of a kind is the same for each of its translates, because moving a
** variable by a multiple of its period moves every element of its group alike. */
#ifndef EINLOOM_CHAIN_H
#define EINLOOM_CHAIN_H

#include "count/nest.h"

/* So many times one kind. */
typedef struct loom_share {
  int64_t kind, times;
} loom_share;
typedef LOOM_LIST(loom_share) loom_shares;

/* What units do that the spatial loops outside the parent tell apart.  Depth: between which of the
** variable's loops another variable's loop lies, counted from outside. */
typedef struct loom_steps {
  loom_shares tiles;    /* kinds of tiles */
  loom_shares last;     /* the last tile of each unit */
  loom_shares *advance; /* by own loop: pairs (before, after) where it advances */
  loom_shares *wrap;    /* by depth: pairs (last, first) of what is inside */
} loom_steps;

typedef enum loom_role { LOOM_ROLE_TEMPORAL, LOOM_ROLE_JOINED, LOOM_ROLE_KEYED } loom_role;

typedef struct loom_chain {
  int variable, n_loops;
  int *loops; /* in the nest */
  loom_role *role;
  int64_t *units;          /* of spatial loops */
  size_t n_joined, n_keys; /* units counted together; each on its own */
  size_t n_owners;         /* keys told apart in results */
  size_t *owner;           /* by key */
  loom_words tiles, pairs; /* kinds: an interval per joined unit; before and after */
  loom_steps *of_owner;    /* distinct ones */
  size_t n_kinds;          /* of owners */
  size_t *kind, *count;    /* by owner; by kind: how many owners */
  loom_steps all;          /* of all owners */
  bool idles;              /* some joined unit idles while another works */
  bool uneven;             /* some unit idles at an index and not at a later one of the same loop */
} loom_chain;

/* What is counted together. */
typedef enum loom_view {
  LOOM_VIEW_SHARED, /* units that share are joined; units of the parent are told apart */
  LOOM_VIEW_UNITS   /* every unit of the holder on its own */
} loom_view;

/* Walks the loops over a variable outside the holder; pairs only where the contents stay. */
bool loom_chain_walk(loom_tally *t, const loom_numbers *p, int variable, loom_view view,
                     loom_chain *chain);
/* The pairs of a chain when a loop of the nest advances. */
const loom_shares *loom_chain_pairs(const loom_chain *chain, const loom_steps *steps, int loop);

#endif
