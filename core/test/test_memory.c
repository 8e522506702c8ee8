/* SPDX-License-Identifier: MIT */
/* Tests of what happens when memory runs out: an error, nothing lost, nothing wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "every_limit.h"

static const char *const text =
    "max(x*y/3 + 7/z, ceil(x/(2*y)) % 5, min(x, y // 4) + z) + (x + y)**3*"
    "(z - 1/x) + select(x < y, x*z, 123456789012345678901234567890/z)";

/* Everything once; true if it all came out. */
static bool do_all(loom_ctx *ctx) {
  loom_expr x = loom_symbol(ctx, "x", NULL), y = loom_symbol(ctx, "y", NULL),
            z = loom_symbol(ctx, "z", NULL), two = loom_int(ctx, 2), symbols[] = {x, y, z};
  loom_expr e = loom_parse(ctx, text, strlen(text), 0, NULL, NULL);
  char *printed = loom_print(ctx, e, LOOM_INFIX);
  loom_expr expanded = loom_expand(ctx, e), slope = loom_diff(ctx, e, x);
  loom_expr half = loom_substitute(ctx, e, 1, &y, &two);
  loom_expr step = loom_difference(ctx, e, z, two);
  loom_known_lt(ctx, e, slope);
  loom_known_divides(ctx, x, e);
  int64_t breaks[8];
  loom_expr one = loom_substitute(ctx, half, 1, &z, &two);
  ptrdiff_t found = one == LOOM_NONE ? -1 : loom_breakpoints(ctx, one, x, 1, 40, breaks, 8);
  loom_program *program = loom_compile(ctx, 1, &e, 3, symbols);
  loom_expr at[] = {two, two, two}, out = LOOM_NONE;
  loom_status status = program ? loom_program_exact(program, ctx, at, &out) : LOOM_ERR_MEMORY;
  bool good = printed && expanded && slope && half && step && found > 0 && program &&
              status == LOOM_OK && out == loom_substitute(ctx, e, 3, symbols, at) && out;
  loom_free(printed);
  loom_program_free(program);
  return good;
}

static void test_every_limit(void **state) {
  (void)state;
  assert_every_limit(do_all, 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
