/* SPDX-License-Identifier: MIT */
/* Two rewritings of single forms: a remainder of a remainder, a sum with one division.
** Invariant: what does not have exactly the form stays as it is. */
#include "expr/index.h"
#include "expr/rounding.h"

static bool is_nonnegative_symbol(const loom_ctx *ctx, loom_expr e, const loom_given *given) {
  if (loom_kind_of(ctx, e) != LOOM_SYM) return false;
  if (!(loom_facts_of(ctx, e).sign & LOOM_NEG)) return true;
  for (size_t i = 0; given && i < given->n_extents; i++)
    if (given->extents[i].variable == e) return true;
  return false;
}

static bool is_positive_number(const loom_ctx *ctx, loom_expr e) {
  return loom_expr_is_num(ctx, e) && loom_is_positive_integer(ctx, e);
}

loom_expr loom_pair_mod(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  if (loom_kind_of(ctx, e) != LOOM_MOD) return e;
  loom_expr inner = loom_child(ctx, e, 0), b = loom_child(ctx, e, 1);
  if (loom_kind_of(ctx, inner) != LOOM_MOD) return e;
  loom_expr x = loom_child(ctx, inner, 0), a = loom_child(ctx, inner, 1);
  bool fits = is_nonnegative_symbol(ctx, x, given) && is_positive_number(ctx, a) &&
              is_positive_number(ctx, b) && loom_is_multiple(ctx, a, b);
  return fits ? loom_mod(ctx, x, b) : e;
}

/* The place of the one term symbol // number of a sum whose other terms are numbers (not 1) times
** symbols; false if e is something else. */
static bool find_quotient(loom_ctx *ctx, loom_expr e, const loom_given *given, size_t *at) {
  if (loom_kind_of(ctx, e) != LOOM_ADD || loom_add_count(ctx, e) < 2) return false;
  if (!loom_num_is_zero(loom_add_constant(ctx, e))) return false;
  size_t n = loom_add_count(ctx, e), quotients = 0;
  for (size_t i = 0; i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    bool one = loom_num_is_one(term.coef);
    if (one && loom_kind_of(ctx, term.id) == LOOM_FLOORDIV) {
      loom_expr below = loom_child(ctx, term.id, 1);
      if (!is_nonnegative_symbol(ctx, loom_child(ctx, term.id, 0), given)) return false;
      if (!loom_expr_is_num(ctx, below) || !loom_num_is_int(ctx, loom_num_of(ctx, below)))
        return false;
      *at = i;
      quotients++;
    } else if (one || !loom_num_is_int(ctx, term.coef) ||
               !is_nonnegative_symbol(ctx, term.id, given)) {
      return false;
    }
  }
  return quotients == 1;
}

bool loom_expand_div(loom_ctx *ctx, loom_expr e, const loom_given *given, loom_expr *numerator,
                     loom_expr *divisor) {
  size_t at;
  if (!loom_expr_check(ctx, e) || !find_quotient(ctx, e, given, &at)) return false;
  loom_expr quotient = loom_add_term(ctx, e, at).id, c = loom_child(ctx, quotient, 1);
  loom_expr others = loom_mul(ctx, loom_sub(ctx, e, quotient), c);
  *divisor = c;
  *numerator = loom_add(ctx, others, loom_child(ctx, quotient, 0));
  return *numerator != LOOM_NONE;
}
