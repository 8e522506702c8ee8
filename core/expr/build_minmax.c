/* SPDX-License-Identifier: MIT */
/* Minimum and maximum.
** Invariant: arguments are flat, distinct, ascending, at most one is a number, and (among up to WORK)
** none is beaten by another as far as loom_sign_of_sum tells of their difference.  loom_known_le
** looks harder, so it can order arguments that both stay. */
#include "expr/content.h"
#include "expr/facts.h"

#include <stdlib.h>
#include <string.h>

/* Pairs of arguments times their terms beyond which differences are not looked at. */
enum { WORK = 20000 };

enum { FEW = 16 };

/* The arguments while they are being put together: on the stack while they are few. */
typedef struct exprs {
  loom_expr *at;
  size_t n, capacity;
  loom_expr few[FEW];
} exprs;

static bool push(loom_ctx *ctx, exprs *args, loom_expr e) {
  if (args->n == args->capacity) {
    bool few = args->at == args->few;
    loom_expr *at = loom_realloc_array(ctx, few ? NULL : args->at, few ? 0 : args->capacity,
                                       args->capacity * 2, sizeof *at);
    if (!at) return false;
    if (few) memcpy(at, args->few, sizeof args->few);
    args->at = at;
    args->capacity *= 2;
  }
  args->at[args->n++] = e;
  return true;
}

static bool undecided(uint8_t sign) {
  return (sign & LOOM_NEG) && (sign & LOOM_POS);
}

/* The signs that a - b can have. */
static uint8_t sign_of_difference(loom_ctx *ctx, loom_expr a, loom_expr b) {
  loom_facts x = loom_facts_of(ctx, a), y = loom_facts_of(ctx, b);
  if (x.lo > y.hi) return LOOM_POS;
  if (x.hi < y.lo) return LOOM_NEG;
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  uint8_t sign = LOOM_ANY_SIGN;
  if (loom_terms_add(&sum, LOOM_NUM_ONE, a) && loom_terms_add(&sum, LOOM_NUM_MINUS_ONE, b) &&
      loom_terms_merge(&sum))
    sign = loom_sign_of_sum(&sum);
  loom_terms_end(&sum);
  return sign;
}

static int by_id(const void *a, const void *b) {
  loom_expr x = *(const loom_expr *)a, y = *(const loom_expr *)b;
  return (x > y) - (x < y);
}

/* Whether a min (max) among the sorted arguments of a max (min) holds one of the others. */
static bool is_absorbed(const loom_ctx *ctx, loom_kind kind, loom_expr e, const exprs *args) {
  if (loom_kind_of(ctx, e) != (kind == LOOM_MAX ? LOOM_MIN : LOOM_MAX)) return false;
  for (size_t i = 0; i < loom_child_count(ctx, e); i++) {
    loom_expr child = loom_child(ctx, e, i);
    if (bsearch(&child, args->at, args->n, sizeof child, by_id)) return true;
  }
  return false;
}

/* Adds e or, of the same kind, its arguments; numbers are folded into *number. */
static bool flatten(loom_ctx *ctx, loom_kind kind, loom_expr e, exprs *args, loom_num *number) {
  if (loom_expr_is_num(ctx, e)) {
    loom_num value = loom_num_of(ctx, e);
    bool better = loom_num_is_none(*number);
    if (!better) {
      int order = loom_num_cmp(ctx, value, *number);
      better = kind == LOOM_MAX ? order > 0 : order < 0;
    }
    if (better) *number = value;
    return true;
  }
  if (loom_kind_of(ctx, e) != kind) return push(ctx, args, e);
  for (size_t i = 0; i < loom_child_count(ctx, e); i++)
    if (!flatten(ctx, kind, loom_child(ctx, e, i), args, number)) return false;
  return true;
}

static void sort_distinct(exprs *args) {
  if (args->n == 2 && args->at[0] > args->at[1]) {
    loom_expr t = args->at[0];
    args->at[0] = args->at[1];
    args->at[1] = t;
  } else if (args->n > 2) {
    qsort(args->at, args->n, sizeof *args->at, by_id);
  }
  size_t kept = args->n > 0;
  for (size_t i = 1; i < args->n; i++)
    if (args->at[i] != args->at[kept - 1]) args->at[kept++] = args->at[i];
  args->n = kept;
}

static size_t terms_in(const loom_ctx *ctx, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) + 1 : 1;
}

static void remove_at(exprs *args, size_t i) {
  memmove(&args->at[i], &args->at[i + 1], (args->n - i - 1) * sizeof *args->at);
  args->n--;
}

static void drop_absorbed(const loom_ctx *ctx, loom_kind kind, exprs *args) {
  for (size_t i = args->n; i > 0; i--)
    if (is_absorbed(ctx, kind, args->at[i - 1], args)) remove_at(args, i - 1);
}

/* Compares two arguments and strikes out the one that never counts; of equal values the
** structurally first stays, so that the result does not depend on ids. */
static void compare_two(loom_ctx *ctx, loom_kind kind, loom_expr *a, loom_expr *b) {
  uint8_t sign = sign_of_difference(ctx, *a, *b);
  if (kind == LOOM_MIN) sign = loom_sign_neg(sign);
  if (undecided(sign)) return;
  bool keep_a = sign == LOOM_ZERO ? loom_expr_order(ctx, *a, *b) < 0 : !(sign & LOOM_NEG);
  *(keep_a ? b : a) = LOOM_NONE;
}

static void drop_beaten(loom_ctx *ctx, loom_kind kind, exprs *args) {
  size_t n = args->n, terms = 0, kept = 0;
  for (size_t i = 0; i < n; i++) terms += terms_in(ctx, args->at[i]);
  if (n * terms > WORK) return;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i + 1; j < n && args->at[i] != LOOM_NONE; j++)
      if (args->at[j] != LOOM_NONE) compare_two(ctx, kind, &args->at[i], &args->at[j]);
  for (size_t i = 0; i < n; i++)
    if (args->at[i] != LOOM_NONE) args->at[kept++] = args->at[i];
  args->n = kept;
}

static loom_expr reduce(loom_ctx *ctx, loom_kind kind, exprs *args) {
  sort_distinct(args);
  drop_absorbed(ctx, kind, args);
  drop_beaten(ctx, kind, args);
  return args->n == 1 ? args->at[0] : loom_make_args(ctx, kind, args->n, args->at);
}

static loom_expr build(loom_ctx *ctx, loom_kind kind, size_t n, const loom_expr *list) {
  exprs args = {.at = args.few, .capacity = FEW};
  loom_num number = LOOM_NUM_NONE;
  bool good = true;
  for (size_t i = 0; good && i < n; i++) good = flatten(ctx, kind, list[i], &args, &number);
  if (good && !loom_num_is_none(number)) {
    loom_expr e = loom_from_num(ctx, number);
    good = e != LOOM_NONE && push(ctx, &args, e);
  }
  loom_expr result = good ? reduce(ctx, kind, &args) : LOOM_NONE;
  if (args.at != args.few) loom_realloc_array(ctx, args.at, args.capacity, 0, sizeof *args.at);
  return loom_finish(ctx, result);
}

static loom_expr extreme(loom_ctx *ctx, loom_kind kind, size_t n, const loom_expr *list) {
  if (n == 0) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "%s of nothing", loom_kind_name(kind));
    return LOOM_NONE;
  }
  if (!loom_usable(ctx, n, list)) return LOOM_NONE;
  if (n != 2) return build(ctx, kind, n, list);
  unsigned operation = kind == LOOM_MAX ? LOOM_MEMO_MAX : LOOM_MEMO_MIN;
  bool swap = list[0] > list[1];
  loom_expr a = list[swap], b = list[!swap], result = loom_memo_get(ctx, operation, a, b);
  if (result != LOOM_NONE) return result;
  result = build(ctx, kind, n, list);
  loom_memo_put(ctx, operation, a, b, result);
  return result;
}

loom_expr loom_min(loom_ctx *ctx, size_t n, const loom_expr *args) {
  return extreme(ctx, LOOM_MIN, n, args);
}

loom_expr loom_max(loom_ctx *ctx, size_t n, const loom_expr *args) {
  return extreme(ctx, LOOM_MAX, n, args);
}
