/* SPDX-License-Identifier: MIT */
/* What every part of a context shares: its error record and its memory.
** Invariant: the first error stays until loom_error_clear; out of memory is sticky beside it, so
** that a computation that lost a step cannot return a result (loom_base_failed). */
#ifndef EINLOOM_BASE_H
#define EINLOOM_BASE_H

#include <stdatomic.h>

#include "einloom.h"

#define LOOM_MESSAGE_SIZE 512

typedef struct loom_error_record {
  loom_status status;
  ptrdiff_t offset; /* byte in the parsed text or -1 */
  char message[LOOM_MESSAGE_SIZE];
} loom_error_record;

/* Blocks of up to LOOM_POOL_LARGEST bytes from chunks, with one free list per size; larger blocks
** are the allocator's.  Sizes are given back on release: blocks carry no header. */
#define LOOM_POOL_STEP 8
#define LOOM_POOL_CLASSES 32
#define LOOM_POOL_LARGEST (LOOM_POOL_STEP * LOOM_POOL_CLASSES)

typedef struct loom_pool {
  struct loom_pool_chunk *chunks;
  char *top, *end;
  void *free_list[LOOM_POOL_CLASSES + 1];
} loom_pool;

struct loom_big;

/* Interned integers and ratios beyond 64 bits (core/base/big.c). */
typedef struct loom_bigs {
  struct loom_big *items;
  size_t n, capacity;
  uint32_t *slots; /* index + 1, 0 empty */
  size_t n_slots;
  uint32_t free_list; /* index + 1 */
  size_t bytes;       /* of digits */
} loom_bigs;

/* The first member of every context. */
typedef struct loom_base {
  loom_error_record error;
  bool exhausted;     /* memory ran out since the last loom_error_clear */
  size_t bytes;       /* memory held */
  size_t bytes_limit; /* 0: none; tests set it to make allocations fail */
  loom_pool pool;
  loom_bigs bigs;
  atomic_bool stop;           /* long calls shall end */
  const atomic_bool *stop_of; /* of an account: that of the context; NULL: its own */
  loom_watch *watch;
  void *watched;
} loom_base;

static inline loom_base *loom_base_of(loom_ctx *ctx) {
  return (loom_base *)(void *)ctx;
}
static inline const loom_base *loom_base_of_const(const loom_ctx *ctx) {
  return (const loom_base *)(const void *)ctx;
}

/* True from running out of memory to loom_error_clear: results obtained in between must not be
 * used.
 */
static inline bool loom_base_failed(const loom_ctx *ctx) {
  return loom_base_of_const(ctx)->exhausted;
}

/* Long loops ask this at least every few milliseconds: true, with LOOM_ERR_STOPPED recorded, when
** they shall end. */
bool loom_is_stopped(loom_ctx *ctx);

/* An account of memory and errors beside a context, for a thread that makes no expressions: where
** only loom_realloc, the error record and loom_is_stopped are used, it is a context.  It may use
** as much memory as the limit of the context leaves for `n` such accounts, and is stopped by `stop`.
** Closing adds what it holds and its first error to the context. */
loom_ctx *loom_account_open(loom_ctx *ctx, loom_base *account, size_t n, const atomic_bool *stop);
void loom_account_close(loom_ctx *ctx, loom_base *account);

/* Records "out of memory" and sets `exhausted`.  Returns LOOM_ERR_MEMORY. */
loom_status loom_error_memory(loom_ctx *ctx);
/* As loom_error_set, with the byte offset of the text being parsed. */
loom_status loom_error_set_at(loom_ctx *ctx, loom_status status, ptrdiff_t offset,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Allocation counted in the context; `old` and `size` are what was asked.  NULL with a recorded
** error when memory runs out (the old block stays).  Size 0 frees and gives NULL. */
void *loom_realloc(loom_ctx *ctx, void *memory, size_t old, size_t size);
/* The same without recording an error. */
void *loom_try_realloc(loom_ctx *ctx, void *memory, size_t old, size_t size);
/* As loom_realloc for n items of a size, safe against overflow. */
void *loom_realloc_array(loom_ctx *ctx, void *memory, size_t old_n, size_t n, size_t item);

/* A block of the pool, 8-byte aligned, not cleared.  NULL with a recorded error. */
void *loom_pool_new(loom_ctx *ctx, size_t size);
void loom_pool_release(loom_ctx *ctx, void *block, size_t size);
/* Frees every chunk; large blocks must have been released before. */
void loom_pool_free(loom_ctx *ctx);

/* A growable array in one struct: VEC(type) v = {0}; loom_vec_reserve(ctx, &v, n). */
#define LOOM_VEC(type)  \
  struct {              \
    type *at;           \
    size_t n, capacity; \
  }
/* Room for `more` further items: true, or false with a recorded error. */
#define loom_vec_reserve(ctx, v, more)                                              \
  ((v)->n + (more) <= (v)->capacity ||                                              \
   loom_vec_grow((ctx), (void **)(void *)&(v)->at, &(v)->capacity, (v)->n + (more), \
                 sizeof *(v)->at))
#define loom_vec_push(ctx, v, item) \
  (loom_vec_reserve(ctx, v, 1) ? ((v)->at[(v)->n++] = (item), true) : false)
#define loom_vec_free(ctx, v)                                                                   \
  ((void)loom_realloc_array((ctx), (v)->at, (v)->capacity, 0, sizeof *(v)->at), (v)->at = NULL, \
   (v)->n = (v)->capacity = 0)
bool loom_vec_grow(loom_ctx *ctx, void **at, size_t *capacity, size_t n, size_t item);

#endif
