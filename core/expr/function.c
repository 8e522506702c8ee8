/* SPDX-License-Identifier: MIT */
/* Named functions and calls of them.
** Invariant: a call all of whose arguments are numbers is its value, never a node; two calls of
** functions of equal content on equal arguments are one node. */
#include "expr/function.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "expr/facts.h"
#include "expr/lex.h"

struct loom_function {
  atomic_size_t holders;
  uint32_t hash;
  size_t arity, size;
  loom_evaluator evaluate;
  loom_upper_bound upper;
  bool has_min;
  int64_t min;
  char *name;
  max_align_t data[]; /* size bytes, then the name */
};

/* ---- functions ------------------------------------------------------------------------------ */

static uint32_t hash_bytes(uint32_t h, const void *bytes, size_t n) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < n; i++) h = (h ^ at[i]) * 16777619u;
  return h;
}

static bool check(loom_ctx *ctx, const loom_function_info *info) {
  if (info->name && loom_lex_is_name(info->name) && info->evaluate &&
      info->arity <= LOOM_MOST_ARGUMENTS)
    return true;
  loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                 "a function needs a name, an evaluator and at most %d arguments",
                 LOOM_MOST_ARGUMENTS);
  return false;
}

loom_function *loom_function_new(loom_ctx *ctx, const loom_function_info *info) {
  if (!check(ctx, info)) return NULL;
  size_t length = strlen(info->name) + 1;
  loom_function *f = malloc(sizeof *f + info->size + length);
  if (!f) {
    loom_error_memory(ctx);
    return NULL;
  }
  memset(f, 0, sizeof *f);
  atomic_init(&f->holders, 1);
  f->arity = info->arity;
  f->size = info->size;
  f->evaluate = info->evaluate;
  f->upper = info->upper;
  f->has_min = info->has_min;
  f->min = info->has_min ? info->min : 0;
  f->name = (char *)f->data + info->size;
  if (info->size) memcpy(f->data, info->data, info->size);
  memcpy(f->name, info->name, length);
  f->hash = hash_bytes(hash_bytes(2166136261u, f->name, length), f->data, f->size);
  return f;
}

loom_function *loom_function_hold(const loom_function *f) {
  loom_function *held = (loom_function *)(uintptr_t)f;
  atomic_fetch_add_explicit(&held->holders, 1, memory_order_relaxed);
  return held;
}

void loom_function_free(loom_function *f) {
  if (f && atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) == 1) free(f);
}

uint32_t loom_function_hash(const loom_function *f) {
  return f->hash;
}

const char *loom_function_name(const loom_function *f) {
  return f->name;
}

size_t loom_function_arity(const loom_function *f) {
  return f->arity;
}

static int order_of(uint64_t a, uint64_t b) {
  return (a > b) - (a < b);
}

int loom_function_order(const loom_function *f, const loom_function *g) {
  if (f == g) return 0;
  int order = strcmp(f->name, g->name);
  if (!order) order = order_of(f->arity, g->arity);
  if (!order) order = order_of(f->size, g->size);
  if (!order && f->size) order = memcmp(f->data, g->data, f->size);
  if (!order) order = order_of(f->has_min, g->has_min);
  if (!order) order = f->min == g->min ? 0 : f->min < g->min ? -1 : 1;
  if (!order) order = order_of((uintptr_t)f->evaluate, (uintptr_t)g->evaluate);
  return order ? order : order_of((uintptr_t)f->upper, (uintptr_t)g->upper);
}

/* ---- values --------------------------------------------------------------------------------- */

loom_facts loom_function_facts(const loom_ctx *ctx, const loom_function *f, const loom_expr *args) {
  loom_facts facts = loom_facts_nothing();
  int64_t lo[LOOM_MOST_ARGUMENTS], hi[LOOM_MOST_ARGUMENTS], bound;
  facts.integer = LOOM_YES;
  if (f->has_min) facts.lo = loom_end_lo(f->min);
  if (!f->upper) return facts;
  for (size_t i = 0; i < f->arity; i++) {
    loom_facts a = loom_facts_of(ctx, args[i]);
    lo[i] = a.lo;
    hi[i] = a.hi;
  }
  if (f->upper((const void *)f->data, lo, hi, &bound)) facts.hi = loom_end_hi(bound);
  return facts;
}

static bool as_integers(loom_ctx *ctx, const loom_function *f, const loom_num *args, int64_t *out) {
  for (size_t i = 0; i < f->arity; i++) {
    if (loom_num_is_none(args[i])) return false;
    if (loom_num_to_int(ctx, args[i], &out[i])) continue;
    loom_error_set(ctx, LOOM_ERR_DOMAIN, "argument %zu of %s must be an integer of 64 bits", i + 1,
                   f->name);
    return false;
  }
  return true;
}

loom_num loom_function_at(loom_ctx *ctx, const loom_function *f, const loom_num *args) {
  int64_t values[LOOM_MOST_ARGUMENTS], value = 0;
  char message[LOOM_MESSAGE_SIZE] = "no value";
  if (!as_integers(ctx, f, args, values)) return LOOM_NUM_NONE;
  loom_status status = f->evaluate((const void *)f->data, values, &value, message, sizeof message);
  if (status == LOOM_OK) return loom_num_int(ctx, value);
  if (status == LOOM_ERR_MEMORY)
    loom_error_memory(ctx);
  else
    loom_error_set(ctx, status, "%s: %s", f->name, message);
  return LOOM_NUM_NONE;
}

double loom_function_real(const loom_function *f, const double *args) {
  int64_t values[LOOM_MOST_ARGUMENTS], value = 0;
  char message[LOOM_MESSAGE_SIZE];
  for (size_t i = 0; i < f->arity; i++) {
    if (!(fabs(args[i]) <= 0x1p53) || floor(args[i]) != args[i]) return NAN;
    values[i] = (int64_t)args[i];
  }
  loom_status status = f->evaluate((const void *)f->data, values, &value, message, sizeof message);
  return status == LOOM_OK ? (double)value : NAN;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool all_numbers(const loom_ctx *ctx, size_t n, const loom_expr *args) {
  for (size_t i = 0; i < n; i++)
    if (!loom_expr_is_num(ctx, args[i])) return false;
  return true;
}

loom_expr loom_call(loom_ctx *ctx, const loom_function *f, size_t n, const loom_expr *args) {
  loom_num values[LOOM_MOST_ARGUMENTS];
  if (!loom_usable(ctx, n, args)) return LOOM_NONE;
  if (n != f->arity) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s has %zu arguments, not %zu", f->name, f->arity, n);
    return LOOM_NONE;
  }
  if (!all_numbers(ctx, n, args)) return loom_finish(ctx, loom_make_call(ctx, f, args));
  for (size_t i = 0; i < n; i++) values[i] = loom_num_of(ctx, args[i]);
  loom_num value = loom_function_at(ctx, f, values);
  return loom_num_is_none(value) ? LOOM_NONE : loom_finish(ctx, loom_from_num(ctx, value));
}

const loom_function *loom_call_function(const loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_live(ctx, e) || loom_kind_of(ctx, e) != LOOM_CALL) return NULL;
  return loom_cell_of(ctx, e)->u.call->function;
}

const char *loom_call_name(const loom_ctx *ctx, loom_expr e) {
  const loom_function *f = loom_call_function(ctx, e);
  return f ? f->name : NULL;
}
