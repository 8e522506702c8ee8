/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing.
** Invariant: between the place of an item's hash and the item none is free. */
#include "simd/table.h"

enum { FIRST_CAPACITY = 16, KEPT_CAPACITY = 64 };

ptrdiff_t loom_table_find(const loom_table *table, uint32_t hash, loom_table_same *same,
                          const void *data, const void *key) {
  if (table->capacity == 0) return -1;
  size_t mask = table->capacity - 1;
  for (size_t i = hash & mask; table->at[i].number != 0; i = (i + 1) & mask)
    if (table->at[i].hash == hash && same(data, table->at[i].number - 1, key))
      return (ptrdiff_t)table->at[i].number - 1;
  return -1;
}

static void put(loom_table *table, loom_table_place place) {
  size_t mask = table->capacity - 1, i = place.hash & mask;
  while (table->at[i].number != 0) i = (i + 1) & mask;
  table->at[i] = place;
}

static bool grow(loom_ctx *ctx, loom_table *table) {
  loom_table bigger = {.capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY,
                       .n = table->n};
  bigger.at = loom_realloc_array(ctx, NULL, 0, bigger.capacity, sizeof *bigger.at);
  if (!bigger.at) return false;
  for (size_t i = 0; i < bigger.capacity; i++) bigger.at[i] = (loom_table_place){0};
  for (size_t i = 0; i < table->capacity; i++)
    if (table->at[i].number != 0) put(&bigger, table->at[i]);
  loom_table_free(ctx, table);
  *table = bigger;
  return true;
}

bool loom_table_add(loom_ctx *ctx, loom_table *table, uint32_t hash, uint32_t number) {
  if (2 * (table->n + 1) > table->capacity && !grow(ctx, table)) return false;
  put(table, (loom_table_place){hash, number + 1});
  table->n++;
  return true;
}

void loom_table_clear(loom_ctx *ctx, loom_table *table) {
  if (table->capacity > KEPT_CAPACITY) loom_table_free(ctx, table);
  for (size_t i = 0; i < table->capacity; i++) table->at[i] = (loom_table_place){0};
  table->n = 0;
}

void loom_table_free(loom_ctx *ctx, loom_table *table) {
  loom_realloc_array(ctx, table->at, table->capacity, 0, sizeof *table->at);
  *table = (loom_table){0};
}

uint32_t loom_table_hash_text(const char *text) {
  uint32_t hash = 0;
  for (; *text; text++) hash = loom_table_mix(hash, (unsigned char)*text);
  return hash;
}
