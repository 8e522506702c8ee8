/* SPDX-License-Identifier: MIT */
/* Sums of integer multiples of variables, perhaps divided: indices on which extents and strides are
** compared as numbers.
** Invariant: what is not proved with the numbers at hand is denied; the general way decides it. */
#include "ranges/ranges.h"

static bool add_term(loom_flat *flat, loom_expr symbol, int64_t coef) {
  if (flat->n == LOOM_MOST_FLAT) return false;
  for (size_t i = 0; i < flat->n; i++)
    if (flat->symbols[i] == symbol) return false;
  flat->symbols[flat->n] = symbol;
  flat->coefs[flat->n++] = coef;
  return true;
}

/* symbol // number, once. */
static bool add_quotient(const loom_ranges *r, loom_flat *flat, loom_term term) {
  loom_expr symbol = loom_child(r->ctx, term.id, 0);
  int64_t divisor;
  return flat->divisor == 1 && loom_num_is_one(term.coef) &&
         loom_kind_of(r->ctx, symbol) == LOOM_SYM &&
         loom_as_int(r->ctx, loom_child(r->ctx, term.id, 1), &divisor) && divisor > 1 &&
         add_term(flat, symbol, 0) && (flat->divisor = divisor) > 1;
}

/* The coefficients in the numerator; that of what is divided is 0 before. */
static bool multiply(const loom_ranges *r, loom_expr e, loom_flat *flat) {
  if (flat->divisor == 1) return true;
  if (flat->n < 2 || !loom_num_is_zero(loom_add_constant(r->ctx, e))) return false;
  for (size_t i = 0; i < flat->n; i++) {
    int64_t *coef = &flat->coefs[i];
    if (*coef == 1 || !loom_ranges_find(r, flat->symbols[i])) return false;
    if (*coef == 0)
      *coef = 1;
    else if (__builtin_mul_overflow(*coef, flat->divisor, coef))
      return false;
  }
  return true;
}

bool loom_flat_of(const loom_ranges *r, loom_expr e, loom_flat *flat) {
  flat->n = 0;
  flat->divisor = 1;
  if (loom_kind_of(r->ctx, e) != LOOM_ADD) return false;
  for (size_t i = 0, n = loom_add_count(r->ctx, e); i < n; i++) {
    loom_term term = loom_add_term(r->ctx, e, i);
    loom_kind kind = loom_kind_of(r->ctx, term.id);
    bool good = kind == LOOM_SYM ? term.coef.den == 1 && add_term(flat, term.id, term.coef.num)
                                 : kind == LOOM_FLOORDIV && add_quotient(r, flat, term);
    if (!good) return false;
  }
  return multiply(r, e, flat);
}

bool loom_flat_is_simple(const loom_ranges *r, const loom_flat *flat) {
  if (flat->divisor == 1) return true;
  for (size_t i = 0; i < flat->n; i++) {
    int64_t length, least = flat->coefs[i] == 1 ? flat->divisor : 1;
    if (!loom_as_int(r->ctx, loom_ranges_find(r, flat->symbols[i])->length, &length)) return false;
    if (length <= least) return false;
  }
  return true;
}

static int64_t coef_of(const loom_flat *flat, loom_expr symbol) {
  for (size_t i = 0; i < flat->n; i++)
    if (flat->symbols[i] == symbol) return flat->coefs[i];
  return 0;
}

/* Over sizes of 2 or more only neighbours can be one loop: the index of all loops, which has to stay
** what it is, steps by the product of the sizes inside. */
bool loom_flat_is_merged(const loom_ranges *r, const loom_flat *flat) {
  int64_t outer = 0;
  for (size_t i = 0; i < r->vars.n; i++) {
    int64_t size, coef = coef_of(flat, r->vars.at[i]), whole;
    if (!loom_as_int(r->ctx, r->sizes.at[i], &size) || size < 2) return false;
    if (__builtin_mul_overflow(coef, size, &whole) || (i > 0 && whole == outer)) return false;
    outer = coef;
  }
  return true;
}
