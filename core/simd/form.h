/* SPDX-License-Identifier: MIT */
/* Indices as sums over the digits of a nest. */
#ifndef EINLOOM_FORM_H
#define EINLOOM_FORM_H

#include "expr/node.h"

enum { LOOM_MOST_DIGITS = 24 };

/* Takes size values, each of which adds step. */
typedef struct loom_step {
  int64_t size, step;
} loom_step;

/* constant + the sum of value * step over the digits of the running number of the points of a nest, the
** outermost first; no size is 1.  No partial sum leaves [-2^60, 2^60]. */
typedef struct loom_form {
  size_t n;
  int64_t constant;
  loom_step digits[LOOM_MOST_DIGITS];
} loom_form;

/* The index over n loops of these sizes (1 or more); divisions and remainders are resolved by cutting
** loops into digits.  False: it is not of that form, or an error. */
bool loom_form_of(loom_ctx *ctx, loom_expr index, size_t n, const loom_expr *variables,
                  const int64_t *sizes, loom_form *out);

static inline int64_t loom_floor_quotient(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
static inline int64_t loom_floor_rest(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + b : r;
}

#endif
