/* SPDX-License-Identifier: MIT */
/* Sums and products while they are being put together.
** Invariant: lists own their memory until end; a failed step leaves them valid. */
#include "expr/terms.h"

#include <stdlib.h>
#include <string.h>

/* ---- sums ----------------------------------------------------------------------------------- */

void loom_terms_begin(loom_ctx *ctx, loom_terms *sum) {
  sum->ctx = ctx;
  sum->constant = LOOM_NUM_ZERO;
  sum->at = sum->few;
  sum->n = 0;
  sum->capacity = LOOM_FEW_TERMS;
}

void loom_terms_end(loom_terms *sum) {
  if (sum->at != sum->few) loom_realloc_array(sum->ctx, sum->at, sum->capacity, 0, sizeof *sum->at);
}

static bool reserve_terms(loom_terms *sum, size_t more) {
  if (sum->n + more <= sum->capacity) return true;
  bool few = sum->at == sum->few;
  size_t capacity = sum->capacity * 2;
  if (capacity < sum->n + more) capacity = sum->n + more;
  loom_term *at = loom_realloc_array(sum->ctx, few ? NULL : sum->at, few ? 0 : sum->capacity,
                                     capacity, sizeof *at);
  if (!at) return false;
  if (few) memcpy(at, sum->few, sum->n * sizeof *at);
  sum->at = at;
  sum->capacity = capacity;
  return true;
}

bool loom_terms_push(loom_terms *sum, loom_num coef, loom_expr id) {
  if (loom_num_is_none(coef) || !reserve_terms(sum, 1)) return false;
  sum->at[sum->n++] = (loom_term){coef, id};
  return true;
}

static bool add_constant(loom_terms *sum, loom_num value) {
  sum->constant = loom_num_add(sum->ctx, sum->constant, value);
  return !loom_num_is_none(sum->constant);
}

bool loom_terms_add(loom_terms *sum, loom_num coef, loom_expr e) {
  loom_ctx *ctx = sum->ctx;
  if (e == LOOM_NONE) return false;
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (cell->kind == LOOM_NUM) return add_constant(sum, loom_num_mul(ctx, coef, cell->v.num));
  if (cell->kind != LOOM_ADD) return loom_terms_push(sum, coef, e);
  loom_num constant = loom_add_constant(ctx, e);
  if (!loom_num_is_zero(constant) && !add_constant(sum, loom_num_mul(ctx, coef, constant)))
    return false;
  if (!reserve_terms(sum, cell->count)) return false;
  bool one = loom_num_is_one(coef);
  for (uint32_t i = 0; i < cell->count; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (!loom_terms_push(sum, one ? term.coef : loom_num_mul(ctx, coef, term.coef), term.id))
      return false;
  }
  return true;
}

static void insertion_sort(loom_term *at, size_t n) {
  for (size_t i = 1; i < n; i++) {
    loom_term term = at[i];
    size_t j = i;
    for (; j > 0 && at[j - 1].id > term.id; j--) at[j] = at[j - 1];
    at[j] = term;
  }
}

static size_t run_end(const loom_term *at, size_t from, size_t n) {
  size_t i = from + 1;
  while (i < n && at[i - 1].id <= at[i].id) i++;
  return i < n ? i : n;
}

/* Merges neighbouring ascending runs of `from` into `to`; returns how many runs are left. */
static size_t merge_runs(const loom_term *from, loom_term *to, size_t n) {
  size_t runs = 0;
  for (size_t start = 0; start < n; runs++) {
    size_t middle = run_end(from, start, n), end = middle < n ? run_end(from, middle, n) : n;
    for (size_t i = start, j = middle, k = start; k < end; k++)
      to[k] = j >= end || (i < middle && from[i].id <= from[j].id) ? from[i++] : from[j++];
    start = end;
  }
  return runs;
}

static bool sort_terms(loom_terms *sum) {
  size_t n = sum->n;
  if (n < 2 || run_end(sum->at, 0, n) == n) return true;
  if (n <= 2 * LOOM_FEW_TERMS) {
    insertion_sort(sum->at, n);
    return true;
  }
  loom_term *other = loom_realloc_array(sum->ctx, NULL, 0, n, sizeof *other);
  if (!other) return false;
  loom_term *from = sum->at, *to = other;
  for (size_t runs = 2; runs > 1;) {
    runs = merge_runs(from, to, n);
    loom_term *t = from;
    from = to;
    to = t;
  }
  if (from != sum->at) memcpy(sum->at, from, n * sizeof *from);
  loom_realloc_array(sum->ctx, other, n, 0, sizeof *other);
  return true;
}

bool loom_terms_merge(loom_terms *sum) {
  if (!sort_terms(sum)) return false;
  size_t kept = 0;
  for (size_t i = 0; i < sum->n;) {
    loom_term term = sum->at[i++];
    while (i < sum->n && sum->at[i].id == term.id)
      term.coef = loom_num_add(sum->ctx, term.coef, sum->at[i++].coef);
    if (loom_num_is_none(term.coef)) return false;
    if (!loom_num_is_zero(term.coef)) sum->at[kept++] = term;
  }
  sum->n = kept;
  return true;
}

loom_expr loom_terms_build(loom_terms *sum) {
  if (sum->n == 0) return loom_from_num(sum->ctx, sum->constant);
  bool bare = sum->n == 1 && loom_num_is_zero(sum->constant) && loom_num_is_one(sum->at->coef);
  return bare ? sum->at->id : loom_make_sum(sum->ctx, sum->constant, sum->n, sum->at);
}

/* ---- products ------------------------------------------------------------------------------- */

void loom_factors_begin(loom_ctx *ctx, loom_factors *product) {
  product->ctx = ctx;
  product->coef = LOOM_NUM_ONE;
  product->at = product->few;
  product->n = 0;
  product->capacity = LOOM_FEW_POWERS;
}

void loom_factors_end(loom_factors *product) {
  if (product->at != product->few)
    loom_realloc_array(product->ctx, product->at, product->capacity, 0, sizeof *product->at);
}

bool loom_factors_push(loom_factors *product, loom_factor factor) {
  if (product->n == product->capacity) {
    bool few = product->at == product->few;
    size_t capacity = product->capacity * 2;
    loom_factor *at = loom_realloc_array(product->ctx, few ? NULL : product->at,
                                         few ? 0 : product->capacity, capacity, sizeof *at);
    if (!at) return false;
    if (few) memcpy(at, product->few, product->n * sizeof *at);
    product->at = at;
    product->capacity = capacity;
  }
  product->at[product->n++] = factor;
  return true;
}

static bool add_number(loom_factors *product, loom_num value, int64_t exponent) {
  loom_ctx *ctx = product->ctx;
  if (exponent != 1) value = loom_num_pow(ctx, value, exponent);
  product->coef = loom_num_mul(ctx, product->coef, value);
  return !loom_num_is_none(product->coef);
}

static bool too_high(loom_ctx *ctx) {
  loom_error_set(ctx, LOOM_ERR_LIMIT, "an exponent beyond 32 bits");
  return false;
}

bool loom_factors_add(loom_factors *product, loom_expr e, int64_t exponent) {
  loom_ctx *ctx = product->ctx;
  if (e == LOOM_NONE) return false;
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (exponent == 0) return true;
  if (cell->kind == LOOM_NUM) return add_number(product, cell->v.num, exponent);
  if (exponent > INT32_MAX || exponent < -INT32_MAX) return too_high(ctx);
  if (cell->kind == LOOM_ADD) {
    loom_term split = loom_split_coef(ctx, e);
    if (split.id == e) return loom_factors_push(product, (loom_factor){e, true, exponent});
    return add_number(product, split.coef, exponent) &&
           loom_factors_add(product, split.id, exponent);
  }
  size_t n = loom_mul_count(ctx, e);
  for (size_t i = 0; i < n; i++) {
    loom_power power = loom_mul_power(ctx, e, i);
    loom_factor factor = {power.base, false, power.exponent * exponent};
    if (!loom_factors_push(product, factor)) return false;
  }
  return true;
}

static int by_base(const void *a, const void *b) {
  const loom_factor *x = a, *y = b;
  return (x->base > y->base) - (x->base < y->base);
}

static void sort_factors(loom_factor *at, size_t n) {
  if (n > 4 * LOOM_FEW_POWERS) {
    qsort(at, n, sizeof *at, by_base);
    return;
  }
  for (size_t i = 1; i < n; i++) {
    loom_factor factor = at[i];
    size_t j = i;
    for (; j > 0 && at[j - 1].base > factor.base; j--) at[j] = at[j - 1];
    at[j] = factor;
  }
}

bool loom_factors_merge(loom_factors *product) {
  loom_factor *at = product->at;
  sort_factors(at, product->n);
  size_t kept = 0;
  for (size_t i = 0; i < product->n;) {
    loom_factor factor = at[i++];
    while (i < product->n && at[i].base == factor.base) {
      factor.fresh = factor.fresh && at[i].fresh;
      factor.exponent += at[i++].exponent;
    }
    if (factor.exponent > INT32_MAX || factor.exponent < -INT32_MAX) return too_high(product->ctx);
    if (factor.exponent != 0) at[kept++] = factor;
  }
  product->n = kept;
  return true;
}
