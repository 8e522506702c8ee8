/* SPDX-License-Identifier: MIT */
/* Numbers, symbols and sums.
** Invariant: a sum is flat, its like terms are merged, and a number times a sum is the sum of the
** multiples; a sum of one term with coefficient 1 and no constant is that term. */
#include "expr/terms.h"

#include <string.h>

/* ---- numbers -------------------------------------------------------------------------------- */

/* Small integers are made once and never die. */
static loom_expr small_int(loom_ctx *ctx, int64_t value) {
  loom_expr *at = &ctx->small_int[value - LOOM_SMALL_INT_MIN];
  if (*at != LOOM_NONE) return *at;
  size_t logged = ctx->scratch_log.n;
  loom_expr e = loom_make_num(ctx, LOOM_NUM(value));
  if (e == LOOM_NONE) return e;
  if (ctx->scratch_log.n > logged) ctx->scratch_log.n = logged;
  loom_cell_at(ctx, e)->flags |= LOOM_CELL_PERMANENT;
  return *at = e;
}

loom_expr loom_from_num(loom_ctx *ctx, loom_num value) {
  if (loom_num_is_none(value)) return LOOM_NONE;
  if (value.den == 1 && value.num >= LOOM_SMALL_INT_MIN &&
      value.num < LOOM_SMALL_INT_MIN + LOOM_SMALL_INTS)
    return small_int(ctx, value.num);
  return loom_make_num(ctx, value);
}

loom_expr loom_int(loom_ctx *ctx, int64_t value) {
  return loom_finish(ctx, loom_from_num(ctx, loom_num_int(ctx, value)));
}

loom_expr loom_ratio(loom_ctx *ctx, int64_t numerator, int64_t denominator) {
  return loom_finish(ctx, loom_from_num(ctx, loom_num_ratio(ctx, numerator, denominator)));
}

loom_expr loom_decimal(loom_ctx *ctx, const char *text, size_t length) {
  return loom_finish(ctx, loom_from_num(ctx, loom_num_parse(ctx, text, length)));
}

loom_expr loom_real(loom_ctx *ctx, double value) {
  return loom_finish(ctx, loom_from_num(ctx, loom_num_from_real(ctx, value)));
}

/* ---- symbols -------------------------------------------------------------------------------- */

/* One spelling of the same assumptions, so that equal ones give the same symbol. */
static loom_assume tidy(const loom_assume *a) {
  if (!a) return (loom_assume){.integer = true, .has_min = true, .min = 1};
  loom_assume t = {.integer = a->integer,
                   .has_min = a->has_min && a->min != INT64_MIN,
                   .has_max = a->has_max && a->max != INT64_MAX,
                   .multiple = a->multiple > 1 ? a->multiple : 0,
                   .divides = a->divides};
  if (t.has_min) t.min = a->min;
  if (t.has_max) t.max = a->max;
  return t;
}

static loom_expr make_symbol(loom_ctx *ctx, const char *name, size_t length,
                             const loom_assume *assume) {
  size_t size = sizeof(loom_symbol_data) + length + 1;
  loom_symbol_data *symbol = loom_pool_new(ctx, size);
  if (!symbol) return LOOM_NONE;
  *symbol = (loom_symbol_data){.assume = *assume, .length = (uint32_t)length};
  memcpy(symbol->name, name, length + 1);
  loom_expr e = loom_make_symbol(ctx, symbol);
  loom_pool_release(ctx, symbol, size);
  return e;
}

static bool check_name(loom_ctx *ctx, const char *name) {
  size_t length = name ? strlen(name) : 0;
  if (length > 0 && length <= UINT16_MAX && !strchr(name, LOOM_NARROW)) return true;
  if (length == 0)
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "a symbol needs a name");
  else if (length > UINT16_MAX)
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "the name of a symbol is longer than %d bytes",
                   UINT16_MAX);
  else
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "the name of a symbol has no byte %d in it",
                   LOOM_NARROW);
  return false;
}

loom_expr loom_narrow_symbol(loom_ctx *ctx, loom_expr symbol, const loom_assume *assume) {
  const loom_symbol_data *data = loom_cell_of(ctx, symbol)->u.symbol;
  char few[64], *name = few;
  size_t length = data->length, size = length + 2;
  if (size > sizeof few) name = loom_realloc(ctx, NULL, 0, size);
  if (!name) return LOOM_NONE;
  memcpy(name, data->name, length);
  if (length == 0 || name[length - 1] != LOOM_NARROW) name[length++] = LOOM_NARROW;
  name[length] = '\0';
  loom_assume tidied = tidy(assume);
  loom_expr e = make_symbol(ctx, name, length, &tidied);
  if (name != few) loom_realloc(ctx, name, size, 0);
  return e;
}

loom_expr loom_symbol(loom_ctx *ctx, const char *name, const loom_assume *assume) {
  if (!check_name(ctx, name)) return LOOM_NONE;
  size_t length = strlen(name);
  if (assume && !loom_assume_check(ctx, name, assume)) return LOOM_NONE;
  loom_assume tidied = tidy(assume);
  return loom_finish(ctx, make_symbol(ctx, name, length, &tidied));
}

/* ---- sums ----------------------------------------------------------------------------------- */

loom_term loom_split_coef(const loom_ctx *ctx, loom_expr e) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (cell->kind == LOOM_NUM) return (loom_term){cell->v.num, LOOM_NONE};
  if (cell->kind == LOOM_ADD && cell->count == 1 && loom_num_is_zero(loom_add_constant(ctx, e)))
    return loom_add_term(ctx, e, 0);
  return (loom_term){LOOM_NUM_ONE, e};
}

loom_expr loom_scale(loom_ctx *ctx, loom_num coef, loom_expr e) {
  if (loom_num_is_none(coef) || e == LOOM_NONE) return LOOM_NONE;
  if (loom_num_is_one(coef)) return e;
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  loom_expr result = LOOM_NONE;
  if (loom_num_is_zero(coef))
    result = loom_from_num(ctx, coef);
  else if (loom_terms_add(&sum, coef, e))
    result = loom_terms_build(&sum);
  loom_terms_end(&sum);
  return result;
}

loom_expr loom_build_sum(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms) {
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  sum.constant = constant;
  bool good = !loom_num_is_none(constant);
  for (size_t i = 0; good && i < n; i++)
    good = terms[i].id != LOOM_NONE && loom_terms_add(&sum, terms[i].coef, terms[i].id);
  loom_expr result = good && loom_terms_merge(&sum) ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return result;
}

static loom_expr add_scaled(loom_ctx *ctx, loom_expr a, loom_num coef, loom_expr b) {
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  bool good = loom_terms_add(&sum, LOOM_NUM_ONE, a) && loom_terms_add(&sum, coef, b) &&
              loom_terms_merge(&sum);
  loom_expr result = good ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return result;
}

loom_expr loom_add(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  if (a > b) {
    loom_expr t = a;
    a = b;
    b = t;
  }
  loom_expr result = loom_memo_get(ctx, LOOM_MEMO_ADD, a, b);
  if (result != LOOM_NONE) return result;
  result = loom_finish(ctx, add_scaled(ctx, a, LOOM_NUM_ONE, b));
  loom_memo_put(ctx, LOOM_MEMO_ADD, a, b, result);
  return result;
}

loom_expr loom_sub(loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_usable2(ctx, a, b)) return LOOM_NONE;
  loom_expr result = loom_memo_get(ctx, LOOM_MEMO_SUB, a, b);
  if (result != LOOM_NONE) return result;
  result = loom_finish(ctx, add_scaled(ctx, a, LOOM_NUM_MINUS_ONE, b));
  loom_memo_put(ctx, LOOM_MEMO_SUB, a, b, result);
  return result;
}

loom_expr loom_neg(loom_ctx *ctx, loom_expr a) {
  if (!loom_usable1(ctx, a)) return LOOM_NONE;
  return loom_finish(ctx, loom_scale(ctx, LOOM_NUM_MINUS_ONE, a));
}

loom_expr loom_sum(loom_ctx *ctx, size_t n, const loom_expr *terms) {
  if (!loom_usable(ctx, n, terms)) return LOOM_NONE;
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  bool good = true;
  for (size_t i = 0; good && i < n; i++) good = loom_terms_add(&sum, LOOM_NUM_ONE, terms[i]);
  loom_expr result = good && loom_terms_merge(&sum) ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return loom_finish(ctx, result);
}
