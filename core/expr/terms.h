/* SPDX-License-Identifier: MIT */
/* Sums and products while they are being put together: lists that grow from the stack to the heap.
** Invariant: after merge the ids are ascending and distinct and nothing is zero. */
#ifndef EINLOOM_TERMS_H
#define EINLOOM_TERMS_H

#include "expr/make.h"

enum { LOOM_FEW_TERMS = 16, LOOM_FEW_POWERS = 16 };

typedef struct loom_terms {
  loom_ctx *ctx;
  loom_num constant;
  loom_term *at;
  size_t n, capacity;
  loom_term few[LOOM_FEW_TERMS];
} loom_terms;

void loom_terms_begin(loom_ctx *ctx, loom_terms *sum);
void loom_terms_end(loom_terms *sum);
/* Adds coef * e, e of any kind (sums are taken apart).  False with an error, and for LOOM_NONE. */
bool loom_terms_add(loom_terms *sum, loom_num coef, loom_expr e);
/* Adds coef * id, id neither a number nor a sum. */
bool loom_terms_push(loom_terms *sum, loom_num coef, loom_expr id);
bool loom_terms_merge(loom_terms *sum);
/* The sum as an expression; merge must have been called. */
loom_expr loom_terms_build(loom_terms *sum);

typedef struct loom_factor {
  loom_expr base;
  bool fresh; /* a sum whose content may not have been taken out */
  int64_t exponent;
} loom_factor;

typedef struct loom_factors {
  loom_ctx *ctx;
  loom_num coef;
  loom_factor *at;
  size_t n, capacity;
  loom_factor few[LOOM_FEW_POWERS];
} loom_factors;

void loom_factors_begin(loom_ctx *ctx, loom_factors *product);
void loom_factors_end(loom_factors *product);
/* Multiplies by e ^ exponent, e of any kind (products and multiples are taken apart).  False with an
** error, and for LOOM_NONE. */
bool loom_factors_add(loom_factors *product, loom_expr e, int64_t exponent);
bool loom_factors_push(loom_factors *product, loom_factor factor);
bool loom_factors_merge(loom_factors *product);
/* The product of the merged powers, without the coefficient; contents are not looked at. */
loom_expr loom_factors_make(loom_factors *product);

/* Products and quotients of usable expressions, for builders.  LOOM_NONE gives LOOM_NONE. */
loom_expr loom_build_mul(loom_ctx *ctx, loom_expr a, loom_expr b);
loom_expr loom_build_div(loom_ctx *ctx, loom_expr a, loom_expr b);

/* The sum a divided by the sum b if that leaves no remainder; LOOM_NONE if it does, if it would cost too
** much, or with an error.  Where b is not 0 the value is a / b. */
loom_expr loom_divide_exactly(loom_ctx *ctx, loom_expr a, loom_expr b);

#endif
