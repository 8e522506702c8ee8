/* SPDX-License-Identifier: MIT */
/* Small blocks without headers, cut from chunks and kept in one free list per size.
** Invariant: a block belongs to the size class of the size it was asked with. */
#include "base/base.h"

#define FIRST_CHUNK ((size_t)4096)
#define LARGEST_CHUNK ((size_t)1 << 18)

struct loom_pool_chunk {
  struct loom_pool_chunk *next;
  size_t size;
};

static size_t size_class(size_t size) {
  return size ? (size + LOOM_POOL_STEP - 1) / LOOM_POOL_STEP : 1;
}

static bool add_chunk(loom_ctx *ctx) {
  loom_pool *pool = &loom_base_of(ctx)->pool;
  size_t size = pool->chunks ? pool->chunks->size * 2 : FIRST_CHUNK;
  if (size > LARGEST_CHUNK) size = LARGEST_CHUNK;
  struct loom_pool_chunk *chunk = loom_realloc(ctx, NULL, 0, size);
  if (!chunk) return false;
  chunk->next = pool->chunks;
  chunk->size = size;
  pool->chunks = chunk;
  pool->top = (char *)(chunk + 1);
  pool->end = (char *)chunk + size;
  return true;
}

void *loom_pool_new(loom_ctx *ctx, size_t size) {
  if (size > LOOM_POOL_LARGEST) return loom_realloc(ctx, NULL, 0, size);
  loom_pool *pool = &loom_base_of(ctx)->pool;
  size_t class = size_class(size);
  void *block = pool->free_list[class];
  if (block) {
    pool->free_list[class] = *(void **)block;
    return block;
  }
  size_t bytes = class * LOOM_POOL_STEP;
  if ((size_t)(pool->end - pool->top) < bytes && !add_chunk(ctx)) return NULL;
  block = pool->top;
  pool->top += bytes;
  return block;
}

void loom_pool_release(loom_ctx *ctx, void *block, size_t size) {
  if (!block) return;
  if (size > LOOM_POOL_LARGEST) {
    loom_realloc(ctx, block, size, 0);
    return;
  }
  loom_pool *pool = &loom_base_of(ctx)->pool;
  size_t class = size_class(size);
  *(void **)block = pool->free_list[class];
  pool->free_list[class] = block;
}

void loom_pool_free(loom_ctx *ctx) {
  loom_pool *pool = &loom_base_of(ctx)->pool;
  for (struct loom_pool_chunk *chunk = pool->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    loom_realloc(ctx, chunk, chunk->size, 0);
  }
  *pool = (loom_pool){0};
}
