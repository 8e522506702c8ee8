/* SPDX-License-Identifier: MIT */
/* What is known of index expressions and sizes under what is given.
** Invariant: what is said to be known holds at every point that the assumptions and the extents
** allow; hints are never used for a proof. */
#include "expr/index.h"
#include "expr/make.h"
#include "expr/ranges.h"

/* A multiple with more symbols than this is not known by the rules of the reference. */
enum { MOST_SYMBOLS = 20 };

/* ---- ranges of symbols ---------------------------------------------------------------------- */

/* By the assumptions and the extents of constant size. */
static loom_range given_range(const loom_ctx *ctx, loom_expr symbol, const void *data) {
  const loom_given *given = data;
  loom_facts f = loom_facts_of(ctx, symbol);
  loom_range r = {f.lo, f.hi};
  for (size_t i = 0; given && i < given->n_extents; i++) {
    const loom_extent *extent = &given->extents[i];
    int64_t size;
    if (extent->variable != symbol) continue;
    bool constant = loom_as_int(ctx, extent->size, &size);
    if (constant && size <= 0) continue;
    if (r.lo < 0) r.lo = 0;
    if (constant && r.hi > size - 1) r.hi = size - 1;
  }
  return r.lo <= r.hi ? r : LOOM_EVERYTHING;
}

/* The sign alone. */
static loom_range given_sign(const loom_ctx *ctx, loom_expr symbol, const void *data) {
  loom_range r = given_range(ctx, symbol, data);
  return (loom_range){r.lo > 0    ? 1
                      : r.lo == 0 ? 0
                                  : LOOM_MINUS_INF,
                      r.hi < 0    ? -1
                      : r.hi == 0 ? 0
                                  : LOOM_PLUS_INF};
}

/* Symbols moved so that they start at 1. */
typedef struct shift {
  LOOM_VEC(loom_expr) symbols; /* of the expression */
  LOOM_VEC(loom_expr) values;  /* moved symbol + least value - 1 */
  LOOM_VEC(loom_expr) moved;
  LOOM_VEC(loom_range) ranges; /* of the moved symbols */
} shift;

static loom_range moved_range(const loom_ctx *ctx, loom_expr symbol, const void *data) {
  const shift *s = data;
  for (size_t i = 0; i < s->moved.n; i++)
    if (s->moved.at[i] == symbol) return s->ranges.at[i];
  loom_facts f = loom_facts_of(ctx, symbol);
  return (loom_range){f.lo, f.hi};
}

static bool move_symbol(loom_ctx *ctx, shift *s, loom_expr symbol, const loom_given *given) {
  loom_range r = given_range(ctx, symbol, given);
  if (r.lo == LOOM_MINUS_INF) return true;
  loom_assume positive = {
      .integer = loom_facts_of(ctx, symbol).integer == LOOM_YES, .has_min = true, .min = 1};
  loom_expr moved = loom_narrow_symbol(ctx, symbol, &positive);
  loom_expr value = loom_add(ctx, moved, loom_sub(ctx, loom_int(ctx, r.lo), loom_int(ctx, 1)));
  if (value == LOOM_NONE) return false;
  r.hi = r.hi == LOOM_PLUS_INF ? r.hi : loom_end_hi((loom_wide)r.hi - r.lo + 1);
  r.lo = 1;
  return loom_vec_push(ctx, &s->symbols, symbol) && loom_vec_push(ctx, &s->values, value) &&
         loom_vec_push(ctx, &s->moved, moved) && loom_vec_push(ctx, &s->ranges, r);
}

static bool list_shift(loom_ctx *ctx, shift *s, loom_expr d, const loom_given *given) {
  loom_walk walk;
  bool good = true;
  if (!loom_walk_begin(ctx, &walk, false)) return false;
  loom_walk_root(&walk, d);
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;)
    if (loom_kind_of(ctx, f) == LOOM_SYM) good = move_symbol(ctx, s, f, given);
  return loom_walk_end(&walk) && good;
}

static bool range_shifted(loom_ctx *ctx, loom_expr d, const loom_given *given, loom_range *out) {
  shift s = {0};
  bool good = list_shift(ctx, &s, d, given);
  if (good) {
    d = loom_substitute(ctx, d, s.symbols.n, s.symbols.at, s.values.at);
    d = loom_expand(ctx, d);
    good = d != LOOM_NONE && loom_range_over(ctx, d, moved_range, &s, out);
  }
  loom_vec_free(ctx, &s.symbols);
  loom_vec_free(ctx, &s.values);
  loom_vec_free(ctx, &s.moved);
  loom_vec_free(ctx, &s.ranges);
  return good;
}

/* ---- relations of d with 0 ------------------------------------------------------------------ */

static bool range_shows(loom_relation relation, loom_range r) {
  switch (relation) {
  case LOOM_REL_EQ: return r.lo == 0 && r.hi == 0;
  case LOOM_REL_LE: return r.hi <= 0;
  case LOOM_REL_LT: return r.hi < 0;
  case LOOM_REL_GE: return r.lo >= 0;
  default: return r.lo > 0;
  }
}

/* d is v - size (or a little more) of an extent, or the negative of it. */
static bool extent_shows(loom_ctx *ctx, loom_relation relation, loom_expr d,
                         const loom_given *given) {
  bool less = relation == LOOM_REL_LT || relation == LOOM_REL_LE;
  if (!less && relation != LOOM_REL_GT && relation != LOOM_REL_GE) return false;
  for (size_t i = 0; i < given->n_extents; i++) {
    loom_extent extent = given->extents[i];
    loom_expr gap = loom_sub(ctx, extent.variable, extent.size);
    loom_expr e = loom_expand(ctx, less ? gap : loom_neg(ctx, gap));
    if (e == d) return true;
    bool weak = relation == LOOM_REL_LE || relation == LOOM_REL_GE;
    if (weak && e != LOOM_NONE && loom_add(ctx, e, loom_int(ctx, less ? 1 : -1)) == d) return true;
  }
  return false;
}

static bool known_as_reference(loom_ctx *ctx, loom_relation relation, loom_expr a, loom_expr b,
                               const loom_given *given) {
  loom_expr d = loom_expand(ctx, loom_sub(ctx, a, b));
  loom_range r;
  if (d == LOOM_NONE) return false;
  if (loom_range_over(ctx, d, given_sign, given, &r) && range_shows(relation, r)) return true;
  if (given && extent_shows(ctx, relation, d, given)) return true;
  return range_shifted(ctx, d, given, &r) && range_shows(relation, r);
}

static bool known_at_all(loom_ctx *ctx, loom_relation relation, loom_expr a, loom_expr b,
                         const loom_given *given) {
  loom_scope scope;
  bool good = loom_scope_begin(ctx, &scope, given), known = false;
  if (relation == LOOM_REL_GE || relation == LOOM_REL_GT) {
    loom_expr t = a;
    a = b, b = t;
  }
  if (good) a = loom_scope_enter(&scope, a), b = loom_scope_enter(&scope, b);
  if (good && a != LOOM_NONE && b != LOOM_NONE) {
    if (relation == LOOM_REL_EQ)
      known = loom_known_eq(ctx, a, b) == LOOM_YES;
    else if (relation == LOOM_REL_LT || relation == LOOM_REL_GT)
      known = loom_scope_less(&scope, a, b) || loom_known_lt(ctx, a, b) == LOOM_YES;
    else if (relation == LOOM_REL_MULTIPLE)
      known = loom_known_divides(ctx, b, a) == LOOM_YES;
    else
      known = loom_known_le(ctx, a, b) == LOOM_YES || loom_scope_less_equal(&scope, a, b);
  }
  loom_scope_end(&scope);
  return known;
}

/* ---- multiples ------------------------------------------------------------------------------ */

/* Whether each symbol of e has a hint where it is listed as a size.  *n: symbols seen. */
static bool all_hinted(loom_ctx *ctx, loom_expr e, const loom_given *given, size_t *n) {
  loom_walk walk;
  bool good = true;
  if (!loom_walk_begin(ctx, &walk, false)) return false;
  loom_walk_root(&walk, e);
  for (loom_expr f; (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    if (loom_kind_of(ctx, f) != LOOM_SYM) continue;
    ++*n;
    for (size_t i = 0; given && i < given->n_hints; i++)
      if (given->hints[i].symbol == f && given->hints[i].value == LOOM_NONE) good = false;
  }
  return loom_walk_end(&walk) && good;
}

static bool multiple_as_reference(loom_ctx *ctx, loom_expr a, loom_expr b,
                                  const loom_given *given) {
  size_t n = 0, others = 0;
  if (!all_hinted(ctx, a, given, &n) || !all_hinted(ctx, b, given, &others)) return false;
  return n <= MOST_SYMBOLS && loom_known_divides(ctx, b, a) == LOOM_YES;
}

bool loom_known(loom_ctx *ctx, loom_relation relation, loom_expr a, loom_expr b,
                const loom_given *given) {
  if (!loom_expr_check(ctx, a) || !loom_expr_check(ctx, b)) return false;
  if (relation < LOOM_REL_EQ || relation > LOOM_REL_MULTIPLE) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "unknown relation %d", (int)relation);
    return false;
  }
  bool known, clean = loom_error_status(ctx) == LOOM_OK;
  if (given && given->strict)
    known = known_at_all(ctx, relation, a, b, given);
  else if (relation == LOOM_REL_MULTIPLE)
    known = multiple_as_reference(ctx, a, b, given);
  else
    known = known_as_reference(ctx, relation, a, b, given);
  loom_status status = loom_error_status(ctx);
  bool gave_up = status == LOOM_ERR_DOMAIN || status == LOOM_ERR_LIMIT;
  if (clean && gave_up && !loom_base_failed(ctx)) loom_error_clear(ctx);
  return known && !loom_base_failed(ctx);
}
