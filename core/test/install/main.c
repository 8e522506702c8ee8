/* SPDX-License-Identifier: MIT */
/* Uses the installed header and library: prints a formula. */
#include <einloom.h>
#include <stdio.h>

int main(void) {
  loom_ctx *ctx = loom_ctx_new();
  if (!ctx) return 1;
  loom_expr m = loom_symbol(ctx, "M", NULL);
  char *text = loom_print(ctx, loom_ceil(ctx, loom_div(ctx, m, loom_int(ctx, 4))), LOOM_INFIX);
  if (!text) return 1;
  puts(text);
  loom_free(text);
  loom_ctx_free(ctx);
  return 0;
}
