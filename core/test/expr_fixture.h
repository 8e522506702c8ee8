/* SPDX-License-Identifier: MIT */
/* A context with the symbols of random_expr.h for all tests of a file. */
#ifndef EINLOOM_EXPR_FIXTURE_H
#define EINLOOM_EXPR_FIXTURE_H

#include "random_expr.h"

static loom_ctx *ctx;
static loom_expr symbols[N_SYMBOLS];

static int setup(void **state) {
  (void)state;
  ctx = loom_ctx_new();
  if (!ctx) return -1;
  make_symbols(ctx, symbols);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  loom_ctx_free(ctx);
  return 0;
}

#endif
