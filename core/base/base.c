/* SPDX-License-Identifier: MIT */
/* The error record of a context and its counted memory.
** Invariant: `bytes` is the sum of what loom_realloc and the pool's chunks hold. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Accounts give back blocks that the context has counted: their count starts above any of that. */
#define ACCOUNT_START (SIZE_MAX / 4)

const char *loom_status_kind(loom_status status) {
  static const char *const kinds[] = {
#define LOOM_STATUS_NAME(enumerator, kind) kind,
      LOOM_STATUS_LIST(LOOM_STATUS_NAME)
#undef LOOM_STATUS_NAME
  };
  size_t i = (size_t)status;
  return i < sizeof kinds / sizeof *kinds ? kinds[i] : "unknown";
}

loom_status loom_error_status(const loom_ctx *ctx) {
  return loom_base_of_const(ctx)->error.status;
}

const char *loom_error_message(const loom_ctx *ctx) {
  return loom_base_of_const(ctx)->error.message;
}

ptrdiff_t loom_error_offset(const loom_ctx *ctx) {
  const loom_error_record *error = &loom_base_of_const(ctx)->error;
  return error->status == LOOM_OK ? -1 : error->offset;
}

void loom_error_clear(loom_ctx *ctx) {
  loom_base *base = loom_base_of(ctx);
  base->error.status = LOOM_OK;
  base->error.offset = -1;
  base->error.message[0] = '\0';
  base->exhausted = false;
}

/* Names may hold anything: control characters become escapes, as far as there is room. */
static void escape(char *text, size_t size) {
  for (size_t n = strlen(text), i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= ' ' && c != 127) continue;
    char escaped[5];
    size_t length = (size_t)snprintf(escaped, sizeof escaped, c == '\n' ? "\\n" : "\\x%02X", c);
    if (n + length > size) {
      text[i] = '?';
      continue;
    }
    memmove(text + i + length, text + i + 1, n - i);
    memcpy(text + i, escaped, length);
    n += length - 1;
    i += length - 1;
  }
}

static void record(loom_base *base, loom_status status, ptrdiff_t offset, const char *format,
                   va_list arguments) {
  if (base->error.status != LOOM_OK || status == LOOM_OK) return;
  base->error.status = status;
  base->error.offset = offset;
  vsnprintf(base->error.message, sizeof base->error.message, format, arguments);
  escape(base->error.message, sizeof base->error.message);
}

loom_status loom_error_set(loom_ctx *ctx, loom_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  record(loom_base_of(ctx), status, -1, format, arguments);
  va_end(arguments);
  return status;
}

loom_status loom_error_set_at(loom_ctx *ctx, loom_status status, ptrdiff_t offset,
                              const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  record(loom_base_of(ctx), status, offset, format, arguments);
  va_end(arguments);
  return status;
}

loom_status loom_error_memory(loom_ctx *ctx) {
  loom_base_of(ctx)->exhausted = true;
  return loom_error_set(ctx, LOOM_ERR_MEMORY, "out of memory");
}

void loom_stop(loom_ctx *ctx) {
  atomic_store_explicit(&loom_base_of(ctx)->stop, true, memory_order_relaxed);
}

void loom_go_on(loom_ctx *ctx) {
  atomic_store_explicit(&loom_base_of(ctx)->stop, false, memory_order_relaxed);
}

void loom_set_watch(loom_ctx *ctx, loom_watch *watch, void *data) {
  loom_base_of(ctx)->watch = watch;
  loom_base_of(ctx)->watched = data;
}

bool loom_is_stopped(loom_ctx *ctx) {
  loom_base *base = loom_base_of(ctx);
  const atomic_bool *stop = base->stop_of ? base->stop_of : &base->stop;
  if (!atomic_load_explicit(stop, memory_order_relaxed) &&
      !(base->watch && base->watch(base->watched)))
    return false;
  loom_error_set(ctx, LOOM_ERR_STOPPED, "stopped");
  return true;
}

loom_ctx *loom_account_open(loom_ctx *ctx, loom_base *account, size_t n, const atomic_bool *stop) {
  const loom_base *base = loom_base_of(ctx);
  memset(account, 0, sizeof *account);
  account->stop_of = stop;
  if (base->bytes_limit > 0) {
    size_t left = base->bytes_limit > base->bytes ? base->bytes_limit - base->bytes : 0;
    account->bytes = ACCOUNT_START;
    account->bytes_limit = ACCOUNT_START + left / n;
  }
  return (loom_ctx *)(void *)account;
}

void loom_account_close(loom_ctx *ctx, loom_base *account) {
  loom_base *base = loom_base_of(ctx);
  base->bytes += account->bytes - (account->bytes_limit > 0 ? ACCOUNT_START : 0);
  base->exhausted = base->exhausted || account->exhausted;
  if (account->error.status != LOOM_OK)
    loom_error_set(ctx, account->error.status, "%s", account->error.message);
}

void loom_free(void *memory) {
  free(memory);
}

void *loom_try_realloc(loom_ctx *ctx, void *memory, size_t old, size_t size) {
  loom_base *base = loom_base_of(ctx);
  if (size == 0) {
    free(memory);
    base->bytes -= old;
    return NULL;
  }
  size_t limit = base->bytes_limit;
  if (limit != 0 && size > old && base->bytes - old + size > limit) return NULL;
  void *block = realloc(memory, size);
  if (block) base->bytes = base->bytes - old + size;
  return block;
}

void *loom_realloc(loom_ctx *ctx, void *memory, size_t old, size_t size) {
  void *block = loom_try_realloc(ctx, memory, old, size);
  if (!block && size != 0) loom_error_memory(ctx);
  return block;
}

void *loom_realloc_array(loom_ctx *ctx, void *memory, size_t old_n, size_t n, size_t item) {
  size_t size;
  if (__builtin_mul_overflow(n, item, &size)) {
    loom_error_memory(ctx);
    return NULL;
  }
  return loom_realloc(ctx, memory, old_n * item, size);
}

bool loom_vec_grow(loom_ctx *ctx, void **at, size_t *capacity, size_t n, size_t item) {
  size_t larger = *capacity < 8 ? 16 : *capacity * 2;
  if (larger < n) larger = n;
  void *block = loom_realloc_array(ctx, *at, *capacity, larger, item);
  if (!block) return false;
  *at = block;
  *capacity = larger;
  return true;
}
