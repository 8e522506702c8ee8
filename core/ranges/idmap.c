/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing. */
#include "ranges/idmap.h"

enum { FIRST_CAPACITY = 16, KEPT_CAPACITY = 64 };

static size_t place(const loom_idmap *map, uint64_t key) {
  size_t mask = map->capacity - 1, i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
  while (map->at[i].key != 0 && map->at[i].key != key) i = (i + 1) & mask;
  return i;
}

uint32_t loom_idmap_get(const loom_idmap *map, uint64_t key) {
  if (map->capacity == 0) return 0;
  const loom_idmap_item *item = &map->at[place(map, key)];
  return item->key == key ? item->value : 0;
}

static bool grow(loom_ctx *ctx, loom_idmap *map) {
  loom_idmap bigger = {.capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY, .n = map->n};
  bigger.at = loom_realloc_array(ctx, NULL, 0, bigger.capacity, sizeof *bigger.at);
  if (!bigger.at) return false;
  for (size_t i = 0; i < bigger.capacity; i++) bigger.at[i].key = 0;
  for (size_t i = 0; i < map->capacity; i++)
    if (map->at[i].key != 0) bigger.at[place(&bigger, map->at[i].key)] = map->at[i];
  loom_realloc_array(ctx, map->at, map->capacity, 0, sizeof *map->at);
  *map = bigger;
  return true;
}

bool loom_idmap_put(loom_ctx *ctx, loom_idmap *map, uint64_t key, uint32_t value) {
  if (2 * (map->n + 1) > map->capacity && !grow(ctx, map)) return false;
  loom_idmap_item *item = &map->at[place(map, key)];
  if (item->key == 0) map->n++;
  *item = (loom_idmap_item){key, value};
  return true;
}

void loom_idmap_clear(loom_ctx *ctx, loom_idmap *map) {
  if (map->capacity > KEPT_CAPACITY) loom_idmap_free(ctx, map);
  for (size_t i = 0; i < map->capacity; i++) map->at[i].key = 0;
  map->n = 0;
}

void loom_idmap_free(loom_ctx *ctx, loom_idmap *map) {
  loom_realloc_array(ctx, map->at, map->capacity, 0, sizeof *map->at);
  *map = (loom_idmap){0};
}
