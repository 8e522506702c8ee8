/* SPDX-License-Identifier: MIT */
/* Bounds loaded values by the memory that they lead to (doc/formulas.md#indices-of-32-bits).
** Invariant: a value within memory is within the bounds given to it, whatever the others are. */
#include "simd/loaded.h"

#include "expr/index.h"
#include "ranges/address.h"
#include "simd/form.h"

typedef struct bounder {
  loom_ctx *ctx;
  loom_scope scope;
  loom_expr address; /* in narrow symbols */
  int64_t most;
} bounder;

/* The factor of the value in the address, if it stands in one term alone and nowhere else. */
static bool factor_of(const bounder *b, loom_expr value, int64_t *factor) {
  loom_ctx *ctx = b->ctx;
  *factor = 0;
  if (loom_kind_of(ctx, b->address) != LOOM_ADD) {
    loom_term term = loom_split_coef(ctx, b->address);
    return term.id == value && loom_num_to_int(ctx, term.coef, factor);
  }
  for (size_t i = 0, n = loom_add_count(ctx, b->address); i < n; i++) {
    loom_term term = loom_add_term(ctx, b->address, i);
    if (term.id == value) {
      if (!loom_num_to_int(ctx, term.coef, factor)) return false;
    } else if (loom_occurs(ctx, value, term.id)) {
      return false;
    }
  }
  return *factor != 0;
}

/* 0 <= factor * value + rest <= most, rest within lo and hi.  The ends for a factor below 0 are those of
** the value's opposite. */
static bool ends_of(const bounder *b, int64_t factor, loom_facts rest, int64_t *lo, int64_t *hi) {
  int64_t above, below, size = factor < 0 ? -factor : factor;
  if (factor == INT64_MIN || rest.lo == LOOM_MINUS_INF || rest.hi == LOOM_PLUS_INF ||
      __builtin_sub_overflow(b->most, rest.lo, &above))
    return false;
  below = -rest.hi;
  *lo = -loom_floor_quotient(-below, size);
  *hi = loom_floor_quotient(above, size);
  if (factor > 0) return true;
  int64_t least = *lo;
  *lo = -*hi;
  *hi = -least;
  return true;
}

/* A symbol for the value with what is assumed of it and the bounds found. */
static loom_expr bounded_symbol(loom_ctx *ctx, loom_expr value, int64_t lo, int64_t hi) {
  loom_facts known = loom_facts_of(ctx, value);
  if (known.lo > lo) lo = known.lo;
  if (known.hi < hi) hi = known.hi;
  if (lo > hi) return loom_int(ctx, lo); /* no point leads to memory */
  loom_assume assume = {.integer = true, .has_min = true, .min = lo, .has_max = true, .max = hi};
  return loom_symbol(ctx, loom_symbol_name(ctx, value), &assume);
}

static bool replace(bounder *b, loom_expr value, loom_expr *address) {
  loom_ctx *ctx = b->ctx;
  int64_t factor, lo, hi;
  if (!factor_of(b, value, &factor)) return false;
  loom_expr own = loom_mul(ctx, loom_int(ctx, factor), value);
  loom_expr rest = loom_sub(ctx, b->address, own);
  if (rest == LOOM_NONE || !ends_of(b, factor, loom_facts_of(ctx, rest), &lo, &hi)) return false;
  loom_expr symbol = bounded_symbol(ctx, value, lo, hi);
  b->address = loom_replace(ctx, b->address, 1, &value, &symbol);
  *address = loom_replace(ctx, *address, 1, &value, &symbol);
  return b->address != LOOM_NONE && *address != LOOM_NONE;
}

loom_expr loom_bound_loaded(loom_ctx *ctx, loom_expr address, int64_t most, size_t n,
                            const loom_extent *loops) {
  bounder b = {.ctx = ctx, .most = most};
  loom_given given = {.extents = loops, .n_extents = n};
  loom_expr_list symbols = {0};
  bool good = loom_scope_begin(ctx, &b.scope, &given) && loom_list_symbols(ctx, address, &symbols);
  if (good) b.address = loom_scope_enter(&b.scope, address);
  good = good && b.address != LOOM_NONE;
  for (size_t i = 0; good && i < symbols.n; i++)
    if (loom_symbol_is_loaded(ctx, symbols.at[i])) good = replace(&b, symbols.at[i], &address);
  loom_scope_end(&b.scope);
  loom_vec_free(ctx, &symbols);
  return good && loom_error_status(ctx) == LOOM_OK ? address : LOOM_NONE;
}
