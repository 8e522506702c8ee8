/* SPDX-License-Identifier: MIT */
/* Small tables from 64-bit keys to 32-bit values, for handles of expressions.
** Invariant: keys and values are not 0; at most half of the places are taken. */
#ifndef EINLOOM_IDMAP_H
#define EINLOOM_IDMAP_H

#include "base/base.h"

typedef struct loom_idmap_item {
  uint64_t key; /* 0: free */
  uint32_t value;
} loom_idmap_item;

typedef struct loom_idmap {
  loom_idmap_item *at;
  size_t n, capacity; /* capacity: 0 or a power of two */
} loom_idmap;

/* 0 where there is none. */
uint32_t loom_idmap_get(const loom_idmap *map, uint64_t key);
/* Enters or replaces.  False with a recorded error. */
bool loom_idmap_put(loom_ctx *ctx, loom_idmap *map, uint64_t key, uint32_t value);
/* Takes every key out; room for a few is kept. */
void loom_idmap_clear(loom_ctx *ctx, loom_idmap *map);
void loom_idmap_free(loom_ctx *ctx, loom_idmap *map);

#endif
