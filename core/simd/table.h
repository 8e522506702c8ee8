/* SPDX-License-Identifier: MIT */
/* Tables that find the number of an item by its content.
** Invariant: numbers of equal items are equal; at most half of the places are taken. */
#ifndef EINLOOM_TABLE_H
#define EINLOOM_TABLE_H

#include "base/base.h"

typedef struct loom_table_place {
  uint32_t hash;
  uint32_t number; /* + 1; 0: free */
} loom_table_place;

typedef struct loom_table {
  loom_table_place *at;
  size_t n, capacity; /* capacity: 0 or a power of two */
} loom_table;

/* Whether the item of that number is the one that key describes. */
typedef bool loom_table_same(const void *data, uint32_t number, const void *key);

/* The number of an item, -1 without it. */
ptrdiff_t loom_table_find(const loom_table *table, uint32_t hash, loom_table_same *same,
                          const void *data, const void *key);
/* Enters an item that is not there.  False with a recorded error. */
bool loom_table_add(loom_ctx *ctx, loom_table *table, uint32_t hash, uint32_t number);
/* Takes every item out; room for a few is kept. */
void loom_table_clear(loom_ctx *ctx, loom_table *table);
void loom_table_free(loom_ctx *ctx, loom_table *table);

static inline uint32_t loom_table_mix(uint32_t hash, uint32_t value) {
  hash = (hash ^ value) * UINT32_C(0x9e3779b1);
  return hash ^ (hash >> 15);
}
uint32_t loom_table_hash_text(const char *text);

#endif
