/* SPDX-License-Identifier: MIT */
/* Sets of numbers: a list, and open addressing with linear probing once there are many.
** Invariant: at most half of the slots are taken; between the slot of a number's hash and the number
** none is free. */
#include "simd/idset.h"

#include <string.h>

enum { FEW = 16 };

static size_t slot_of(const loom_id_set *set, int id) {
  uint32_t hash = (uint32_t)id * UINT32_C(0x9e3779b1);
  return (hash ^ hash >> 15) & (set->n_slots - 1);
}

/* The slot that has the number, or the free one where it would be. */
static size_t find(const loom_id_set *set, int id) {
  size_t i = slot_of(set, id);
  while (set->slots[i] != 0 && set->slots[i] != (uint32_t)id + 1) i = (i + 1) & (set->n_slots - 1);
  return i;
}

bool loom_id_set_has(const loom_id_set *set, int id) {
  if (set->slots) return set->slots[find(set, id)] != 0;
  for (size_t i = 0; i < set->n; i++)
    if (set->at[i] == id) return true;
  return false;
}

static bool grow(loom_arena *arena, loom_id_set *set) {
  size_t capacity = set->capacity ? 2 * set->capacity : 4;
  int *at = loom_arena_array(arena, capacity, sizeof *at);
  if (!at) return false;
  if (set->n > 0) memcpy(at, set->at, set->n * sizeof *at);
  set->at = at;
  set->capacity = capacity;
  if (capacity <= FEW) return true;
  set->n_slots = 2 * capacity;
  set->slots = loom_arena_array(arena, set->n_slots, sizeof *set->slots);
  for (size_t i = 0; set->slots && i < set->n; i++)
    set->slots[find(set, set->at[i])] = (uint32_t)set->at[i] + 1;
  return set->slots;
}

bool loom_id_set_add(loom_arena *arena, loom_id_set *set, int id) {
  if (loom_id_set_has(set, id)) return true;
  if (set->n == set->capacity && !grow(arena, set)) return false;
  set->at[set->n++] = id;
  if (set->slots) set->slots[find(set, id)] = (uint32_t)id + 1;
  return true;
}

/* Numbers behind a slot that becomes free move up where a search for them would stop at it. */
static void free_slot(loom_id_set *set, size_t hole) {
  size_t mask = set->n_slots - 1;
  for (size_t i = (hole + 1) & mask; set->slots[i] != 0; i = (i + 1) & mask) {
    size_t home = slot_of(set, (int)(set->slots[i] - 1));
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    set->slots[hole] = set->slots[i];
    hole = i;
  }
  set->slots[hole] = 0;
}

void loom_id_set_drop(loom_id_set *set, size_t i) {
  if (set->slots) free_slot(set, find(set, set->at[i]));
  set->at[i] = set->at[--set->n];
}

bool loom_id_set_join(loom_arena *arena, loom_id_set *a, loom_id_set *b) {
  if (a->n < b->n) {
    loom_id_set other = *a;
    *a = *b;
    *b = other;
  }
  for (size_t i = 0; i < b->n; i++)
    if (!loom_id_set_add(arena, a, b->at[i])) return false;
  return true;
}
