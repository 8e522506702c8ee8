/* SPDX-License-Identifier: MIT */
/* Memory of one object, given back at once. */
#include "model/arena.h"

#include <string.h>

#define FIRST_CHUNK ((size_t)8192)
#define LARGEST_CHUNK ((size_t)65536)

typedef struct loom_arena_chunk {
  struct loom_arena_chunk *next;
  size_t size;
} loom_arena_chunk;

void loom_arena_init(loom_arena *arena, loom_ctx *ctx) {
  *arena = (loom_arena){.ctx = ctx};
}

static void free_chunks(loom_arena *arena, loom_arena_chunk *chunk) {
  while (chunk) {
    loom_arena_chunk *next = chunk->next;
    loom_realloc(arena->ctx, chunk, chunk->size, 0);
    chunk = next;
  }
}

void loom_arena_free(loom_arena *arena) {
  free_chunks(arena, arena->chunks);
  arena->chunks = NULL;
  arena->top = arena->end = NULL;
}

void loom_arena_reset(loom_arena *arena) {
  if (!arena->chunks) return;
  free_chunks(arena, arena->chunks->next);
  arena->chunks->next = NULL;
  arena->top = (char *)(arena->chunks + 1);
}

static bool add_chunk(loom_arena *arena, size_t size) {
  size_t room = arena->chunks ? 2 * arena->chunks->size : FIRST_CHUNK;
  if (room > LARGEST_CHUNK) room = LARGEST_CHUNK;
  if (room < size + sizeof(loom_arena_chunk)) room = size + sizeof(loom_arena_chunk);
  loom_arena_chunk *chunk = loom_realloc(arena->ctx, NULL, 0, room);
  if (!chunk) return false;
  *chunk = (loom_arena_chunk){arena->chunks, room};
  arena->chunks = chunk;
  arena->top = (char *)(chunk + 1);
  arena->end = (char *)chunk + room;
  return true;
}

void *loom_arena_new(loom_arena *arena, size_t size) {
  if (size > SIZE_MAX / 2) {
    loom_error_memory(arena->ctx);
    return NULL;
  }
  size = size ? (size + 7) & ~(size_t)7 : 8;
  if (size > (size_t)(arena->end - arena->top) && !add_chunk(arena, size)) return NULL;
  void *block = arena->top;
  arena->top += size;
  return memset(block, 0, size);
}

void *loom_arena_array(loom_arena *arena, size_t n, size_t item) {
  if (item && n > SIZE_MAX / 2 / item) {
    loom_error_memory(arena->ctx);
    return NULL;
  }
  return loom_arena_new(arena, n * item);
}

char *loom_arena_string(loom_arena *arena, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = loom_arena_new(arena, size);
  return copy ? memcpy(copy, text, size) : NULL;
}
