/* SPDX-License-Identifier: MIT */
/* Expressions under extents of variables.
** Invariant: a narrow symbol takes the values its variable has within the extents, so a proof about
** the one is a proof about the other; plain and narrow expressions have the same values there. */
#include "expr/index.h"
#include "expr/rounding.h"

#include <stdio.h>

/* ---- narrowing ------------------------------------------------------------------------------ */

static bool find_plain(const loom_scope *scope, loom_expr variable, size_t *at) {
  for (*at = 0; *at < scope->plain.n; ++*at)
    if (scope->plain.at[*at] == variable) return true;
  return false;
}

/* The symbol of a variable (narrowed already, maybe) in [0, size); itself where that says nothing
** or leaves nothing. */
static loom_expr narrowed(loom_ctx *ctx, loom_expr variable, loom_expr size) {
  loom_facts f = loom_facts_of(ctx, size);
  int64_t top = f.hi == LOOM_PLUS_INF ? INT64_MAX : f.hi - 1;
  loom_assume a;
  if (!loom_symbol_assume(ctx, variable, &a) || a.divides != LOOM_NONE) return variable;
  if (!a.has_min || a.min < 0) a.has_min = true, a.min = 0;
  if (top != INT64_MAX && (!a.has_max || a.max > top)) a.has_max = true, a.max = top;
  if (a.multiple > 1 && a.has_max) a.max = loom_floor_div64(a.max, a.multiple) * a.multiple;
  if (a.has_max && a.min > a.max) return variable;
  if (a.has_max && a.min == a.max) return loom_int(ctx, a.min);
  return loom_narrow_symbol(ctx, variable, &a);
}

static bool add_extent(loom_scope *scope, loom_extent extent) {
  loom_ctx *ctx = scope->ctx;
  size_t at;
  bool known = find_plain(scope, extent.variable, &at);
  loom_expr from = known ? scope->narrow.at[at] : extent.variable;
  loom_expr to = narrowed(ctx, from, extent.size);
  if (to == LOOM_NONE) return false;
  if (known) {
    for (size_t i = 0; i < scope->open.n; i++)
      if (scope->open.at[i].variable == from) scope->open.at[i].variable = to;
    scope->narrow.at[at] = to;
  } else if (!loom_vec_push(ctx, &scope->plain, extent.variable) ||
             !loom_vec_push(ctx, &scope->narrow, to)) {
    return false;
  }
  if (loom_expr_is_num(ctx, extent.size) || loom_expr_is_num(ctx, to)) return true;
  return loom_vec_push(ctx, &scope->open, ((loom_extent){to, extent.size}));
}

static bool check_extent(loom_ctx *ctx, loom_extent extent) {
  if (!loom_symbol_check(ctx, extent.variable) || !loom_expr_check(ctx, extent.size)) return false;
  if (loom_facts_of(ctx, extent.variable).integer == LOOM_YES) return true;
  loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s has an extent but is no integer",
                 loom_symbol_name(ctx, extent.variable));
  return false;
}

bool loom_scope_begin(loom_ctx *ctx, loom_scope *scope, const loom_given *given) {
  *scope = (loom_scope){.ctx = ctx};
  for (size_t i = 0; given && i < given->n_extents; i++) {
    loom_extent extent = given->extents[i];
    if (!check_extent(ctx, extent) || !add_extent(scope, extent)) return false;
  }
  for (size_t i = 0; i < scope->open.n; i++) {
    loom_extent *open = &scope->open.at[i];
    open->size = loom_scope_enter(scope, open->size);
    if (open->size == LOOM_NONE) return false;
  }
  return true;
}

void loom_scope_end(loom_scope *scope) {
  loom_vec_free(scope->ctx, &scope->plain);
  loom_vec_free(scope->ctx, &scope->narrow);
  loom_vec_free(scope->ctx, &scope->open);
}

/* A symbol of which the bounds of an opaque node are assumed. */
static loom_expr symbol_for(loom_ctx *ctx, loom_expr opaque, size_t number) {
  char name[32];
  snprintf(name, sizeof name, "opaque%zu", number);
  loom_facts f = loom_facts_of(ctx, opaque);
  loom_assume a = {.integer = f.integer == LOOM_YES,
                   .has_min = f.lo != LOOM_MINUS_INF,
                   .min = f.lo,
                   .has_max = f.hi != LOOM_PLUS_INF,
                   .max = f.hi};
  loom_expr plain = loom_symbol(ctx, name, NULL);
  return plain == LOOM_NONE ? plain : loom_narrow_symbol(ctx, plain, &a);
}

bool loom_scope_hide(loom_scope *scope, loom_expr e) {
  loom_ctx *ctx = scope->ctx;
  loom_walk walk;
  if (scope->plain.n == 0) return true;
  bool good = loom_walk_begin(ctx, &walk, true);
  if (!good) return false;
  loom_walk_root(&walk, e);
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    if (loom_kind_of(ctx, f) != LOOM_OPAQUE) continue;
    loom_expr symbol = symbol_for(ctx, f, scope->plain.n);
    good = symbol != LOOM_NONE && loom_vec_push(ctx, &scope->plain, f) &&
           loom_vec_push(ctx, &scope->narrow, symbol);
  }
  return loom_walk_end(&walk) && good;
}

loom_expr loom_scope_enter(loom_scope *scope, loom_expr e) {
  if (scope->plain.n == 0) return e;
  return loom_replace(scope->ctx, e, scope->plain.n, scope->plain.at, scope->narrow.at);
}

loom_expr loom_scope_leave(loom_scope *scope, loom_expr e) {
  size_t n = 0;
  for (size_t i = 0; i < scope->plain.n; i++) {
    if (loom_expr_is_num(scope->ctx, scope->narrow.at[i])) continue;
    scope->plain.at[n] = scope->plain.at[i];
    scope->narrow.at[n++] = scope->narrow.at[i];
  }
  scope->plain.n = scope->narrow.n = n;
  if (n == 0 || e == LOOM_NONE) return e;
  return loom_replace(scope->ctx, e, n, scope->narrow.at, scope->plain.at);
}

/* ---- proofs --------------------------------------------------------------------------------- */

/* d = rest + slope * variable with a slope free of the variable.  False: it is not, or an error. */
static bool take_linear(loom_ctx *ctx, loom_expr d, loom_expr variable, loom_expr *rest,
                        loom_expr *slope) {
  loom_expr zero = loom_int(ctx, 0);
  *rest = loom_substitute(ctx, d, 1, &variable, &zero);
  if (*rest == LOOM_NONE || *rest == d) return false;
  loom_expr moving = loom_expand(ctx, loom_sub(ctx, d, *rest));
  *slope = loom_expand(ctx, loom_div(ctx, moving, variable));
  return *slope != LOOM_NONE && !loom_occurs(ctx, variable, *slope);
}

/* The least value of d over the variables of open extents in which it is linear. */
static loom_expr at_worst(loom_scope *scope, loom_expr d) {
  loom_ctx *ctx = scope->ctx;
  for (size_t i = 0; i < scope->open.n && d != LOOM_NONE; i++) {
    loom_extent extent = scope->open.at[i];
    loom_expr rest, slope;
    if (!take_linear(ctx, d, extent.variable, &rest, &slope)) continue;
    loom_facts f = loom_facts_of(ctx, slope);
    loom_expr last = loom_sub(ctx, extent.size, loom_int(ctx, 1));
    if (loom_facts_nonnegative(f))
      d = rest;
    else if (loom_facts_nonpositive(f))
      d = loom_expand(ctx, loom_add(ctx, rest, loom_mul(ctx, slope, last)));
  }
  return d;
}

/* Whether d > 0, or d >= 0. */
static bool prove_positive(loom_scope *scope, loom_expr d, bool or_zero) {
  loom_ctx *ctx = scope->ctx;
  d = at_worst(scope, loom_expand(ctx, d));
  if (d == LOOM_NONE) return false;
  loom_facts f = loom_facts_of(ctx, d);
  if (or_zero ? loom_facts_nonnegative(f) : loom_facts_positive(f)) return true;
  loom_expr zero = loom_int(ctx, 0);
  return (or_zero ? loom_known_le(ctx, zero, d) : loom_known_lt(ctx, zero, d)) == LOOM_YES;
}

static bool proves(loom_scope *scope, loom_expr a, loom_expr b, bool or_equal) {
  loom_ctx *ctx = scope->ctx;
  loom_facts f = loom_facts_difference(ctx, a, b);
  if (or_equal ? loom_facts_nonpositive(f) : loom_facts_negative(f)) return true;
  if (scope->open.n == 0) return false;
  bool clean = loom_error_status(ctx) == LOOM_OK;
  bool proved = prove_positive(scope, loom_sub(ctx, b, a), or_equal);
  if (loom_base_failed(ctx)) return false;
  if (clean) loom_error_clear(ctx);
  return proved;
}

bool loom_scope_less(loom_scope *scope, loom_expr a, loom_expr b) {
  return proves(scope, a, b, false);
}

bool loom_scope_less_equal(loom_scope *scope, loom_expr a, loom_expr b) {
  return proves(scope, a, b, true);
}
