/* SPDX-License-Identifier: MIT */
/* Sets of numbers in an arena.
** Invariant: a set takes room for what is in it, however large its numbers are. */
#ifndef EINLOOM_IDSET_H
#define EINLOOM_IDSET_H

#include "model/arena.h"

/* Each number once, in order of entry. */
typedef struct loom_id_set {
  int *at;
  size_t n, capacity;
  uint32_t *slots; /* number + 1 by its hash, 0: free; NULL while there are few */
  size_t n_slots;  /* a power of two */
} loom_id_set;

bool loom_id_set_has(const loom_id_set *set, int id);
/* False with an error. */
bool loom_id_set_add(loom_arena *arena, loom_id_set *set, int id);
/* Takes out number i of the list; the last one takes its place. */
void loom_id_set_drop(loom_id_set *set, size_t i);
/* a gets what either has, in time of the smaller one; b is not to be used any more. */
bool loom_id_set_join(loom_arena *arena, loom_id_set *a, loom_id_set *b);

#endif
