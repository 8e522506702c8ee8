/* SPDX-License-Identifier: MIT */
/* Memory of one object, given back at once.
** Invariant: blocks stay where they are until loom_arena_free or loom_arena_reset. */
#ifndef EINLOOM_ARENA_H
#define EINLOOM_ARENA_H

#include "base/base.h"

typedef struct loom_arena {
  loom_ctx *ctx;
  struct loom_arena_chunk *chunks;
  char *top, *end;
} loom_arena;

void loom_arena_init(loom_arena *arena, loom_ctx *ctx);
void loom_arena_free(loom_arena *arena);
/* Gives back every block; memory for about as many is kept. */
void loom_arena_reset(loom_arena *arena);
/* A block of size bytes, 8-byte aligned and zero.  NULL with a recorded error. */
void *loom_arena_new(loom_arena *arena, size_t size);
/* n items of a size, zero; n = 0 gives a block too. */
void *loom_arena_array(loom_arena *arena, size_t n, size_t item);
/* A copy of text.  NULL with a recorded error. */
char *loom_arena_string(loom_arena *arena, const char *text);

#endif
