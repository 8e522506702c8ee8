/* SPDX-License-Identifier: MIT */
/* Whether what is assumed of a symbol makes sense.
** Invariant: a symbol whose assumptions are numbers of usual size has a value that meets them. */
#include "expr/make.h"

/* A range of candidates longer than this is not searched. */
#define MOST_CANDIDATES 1000000

static bool refuse(loom_ctx *ctx, const char *name, const char *what) {
  loom_error_set(ctx, LOOM_ERR_ARGUMENT, "symbol '%s': %s", name, what);
  return false;
}

static const char no_value[] = "no number meets its assumptions";

/* Is there a divisor of number > 0 in [lo, hi], lo >= 1?  Yes too where the search would be long. */
static bool divisor_between(int64_t number, int64_t lo, int64_t hi) {
  if (hi > number) hi = number;
  if (lo > hi) return false;
  int64_t least = number / hi + (number % hi != 0), most = number / lo; /* quotients */
  if (most - least < hi - lo) {
    lo = least;
    hi = most;
  }
  if (hi - lo > MOST_CANDIDATES) return true;
  for (int64_t d = lo; d <= hi; d++)
    if (number % d == 0) return true;
  return false;
}

/* Is there a k in [lo, hi], not 0, that divides number > 0? */
static bool has_divisor(int64_t number, int64_t lo, int64_t hi) {
  if (hi >= 1 && divisor_between(number, lo < 1 ? 1 : lo, hi)) return true;
  return lo <= -1 && divisor_between(number, hi > -1 ? 1 : -hi, -lo);
}

static int64_t ceil_of(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}

static int64_t floor_of(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* An integer symbol that divides a number. */
static bool check_number(loom_ctx *ctx, const char *name, const loom_assume *a, loom_num number) {
  int64_t step = a->multiple > 1 ? a->multiple : 1;
  if (loom_num_is_zero(number)) return refuse(ctx, name, "to divide 0 says nothing");
  if (!loom_num_is_int(ctx, number)) return refuse(ctx, name, "no integer divides a fraction");
  if (loom_num_residue(ctx, number, step) != 0) return refuse(ctx, name, no_value);
  if (loom_num_is_big(number) || number.num == INT64_MIN) return true;
  int64_t whole = number.num < 0 ? -number.num : number.num;
  int64_t lo = a->has_min && a->min > -whole ? a->min : -whole;
  int64_t hi = a->has_max && a->max < whole ? a->max : whole;
  return has_divisor(whole / step, ceil_of(lo, step), floor_of(hi, step)) ||
         refuse(ctx, name, no_value);
}

/* An integer symbol that divides an expression, which is not 0 or bounded, or neither. */
static bool check_divides(loom_ctx *ctx, const char *name, const loom_assume *a) {
  if (!loom_usable1(ctx, a->divides)) return false;
  if (loom_expr_is_num(ctx, a->divides))
    return check_number(ctx, name, a, loom_num_of(ctx, a->divides));
  loom_facts f = loom_facts_of(ctx, a->divides);
  if (f.integer == LOOM_NO) return refuse(ctx, name, "no integer divides a fraction");
  if ((f.sign & LOOM_ZERO) || f.lo == LOOM_MINUS_INF || f.hi == LOOM_PLUS_INF) return true;
  int64_t most = -f.lo > f.hi ? -f.lo : f.hi;
  if ((a->has_min && a->min > most) || (a->has_max && a->max < -most))
    return refuse(ctx, name, no_value);
  return true;
}

bool loom_assume_check(loom_ctx *ctx, const char *name, const loom_assume *a) {
  if (a->multiple < 0) return refuse(ctx, name, "multiple must not be negative");
  if ((a->multiple > 1 || a->divides != LOOM_NONE) && !a->integer)
    return refuse(ctx, name, "multiple and divides need an integer symbol");
  if (a->has_min && a->has_max && a->min > a->max) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "symbol '%s': minimum %lld is above maximum %lld", name,
                   (long long)a->min, (long long)a->max);
    return false;
  }
  if (a->multiple > 1 && a->has_min && a->has_max &&
      ceil_of(a->min, a->multiple) > floor_of(a->max, a->multiple))
    return refuse(ctx, name, no_value);
  return a->divides == LOOM_NONE || check_divides(ctx, name, a);
}
