/* SPDX-License-Identifier: MIT */
/* The enumerator from C: figures of small nests by hand, numbers at a point, limits, memory that runs
** out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"
#include "nest_text.h"

#define WINDOW "p=6 r=3 E:I[p+r],W[r]>O[p]"
#define MACHINE "Main Buf #PE(X=8) Reg +MAC"

static text_case simulate(const char *workload, const char *mapping, const loom_options *options) {
  text_case c = case_begin(workload, MACHINE, mapping);
  c.r = loom_simulate(c.w, c.a, c.m, options, 0, NULL, NULL);
  return c;
}

static void check(const text_case *c, const char *level, const char *tensor,
                  loom_buffet_field field, int64_t expected) {
  const loom_buffet *b = case_buffet(c, 0, level, tensor);
  int64_t value = -1;
  assert_non_null(b);
  assert_true(loom_as_int(c->ctx, b->field[field], &value));
  assert_int_equal(value, expected);
}

static void windows_are_sets(void **state) {
  (void)state;
  text_case c = simulate(WINDOW, "Main[I,W,O] p:4 Buf[I,W,O] p:1 r:1 +E@MAC", NULL);
  assert_non_null(c.r);
  check(&c, "Buf", "I", LOOM_BUFFET_total_reads_to_parent, 6 + 4);
  check(&c, "Buf", "I", LOOM_BUFFET_max_occupancy, 8 * 6);
  check(&c, "Buf", "I", LOOM_BUFFET_fewest_live, 8 * 2);
  check(&c, "Buf", "W", LOOM_BUFFET_total_reads_to_parent, 3 + 3);
  check(&c, "MAC", "O", LOOM_BUFFET_total_reads_to_parent, 18);
  check(&c, "MAC", "O", LOOM_BUFFET_total_skipped_first_reads_to_parent, 6);
  case_end(&c);
  const loom_options retain = {.lifetime = LOOM_RETAIN};
  c = simulate(WINDOW, "Main[I,W,O] p:4 Buf[I,W,O] p:1 r:1 +E@MAC", &retain);
  check(&c, "Buf", "I", LOOM_BUFFET_total_reads_to_parent, 8);
  check(&c, "Buf", "W", LOOM_BUFFET_total_reads_to_parent, 3);
  check(&c, "Buf", "O", LOOM_BUFFET_total_departures, 6);
  case_end(&c);
}

static void units_share_what_is_the_same(void **state) {
  (void)state;
  text_case c = simulate(WINDOW, "Main[I,W,O] p:2@PE.X Reg[I,W,O] p:1 r:1 +E@MAC", NULL);
  check(&c, "Reg", "I", LOOM_BUFFET_total_reads_to_parent, 8);
  check(&c, "Reg", "I", LOOM_BUFFET_total_deliveries, 12);
  check(&c, "Reg", "W", LOOM_BUFFET_total_reads_to_parent, 3);
  check(&c, "Reg", "W", LOOM_BUFFET_total_deliveries, 9);
  case_end(&c);
}

static void symbols_have_values(void **state) {
  (void)state;
  text_case c = case_begin("p=S E:I[p]>O[p]", MACHINE, "Main[I,O] p:T Buf[I,O] p:1 +E@MAC");
  loom_expr symbols[] = {loom_symbol(c.ctx, "S", NULL), loom_symbol(c.ctx, "T", NULL)};
  loom_expr values[] = {loom_int(c.ctx, 7), loom_int(c.ctx, 3)};
  assert_null(loom_simulate(c.w, c.a, c.m, NULL, 0, NULL, NULL));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_DOMAIN);
  loom_error_clear(c.ctx);
  assert_null(loom_simulate(c.w, c.a, c.m, NULL, 1, symbols, values));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_DOMAIN);
  loom_error_clear(c.ctx);
  c.r = loom_simulate(c.w, c.a, c.m, NULL, 2, symbols, values);
  check(&c, "Buf", "I", LOOM_BUFFET_total_reads_to_parent, 7);
  check(&c, "Buf", "I", LOOM_BUFFET_max_occupancy, 24);
  case_end(&c);
}

static void too_many_points_are_refused(void **state) {
  (void)state;
  static const char *const sizes[] = {"p=100000 q=100000 E:I[p,q]>O[p]",
                                      "p=4000000000000000000 q=4 E:I[p,q]>O[p]"};
  for (int i = 0; i < 2; i++) {
    text_case c = simulate(sizes[i], "Main[I,O] p:1 q:1 +E@MAC", NULL);
    assert_null(c.r);
    assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_LIMIT);
    case_end(&c);
  }
}

static void memory_that_runs_out_is_an_error(void **state) {
  (void)state;
  const loom_options retain = {.lifetime = LOOM_RETAIN};
  text_case c = case_begin(WINDOW, MACHINE, "Main[I,W,O] p:4@PE.X Reg[I,W,O] p:1 r:1 +E@MAC");
  size_t failures = 0;
  for (size_t extra = 0; !c.r; extra += extra / 16 + 24) {
    loom_base_of(c.ctx)->bytes_limit = loom_ctx_bytes(c.ctx) + extra;
    c.r = loom_simulate(c.w, c.a, c.m, &retain, 0, NULL, NULL);
    loom_base_of(c.ctx)->bytes_limit = 0;
    if (c.r) break;
    failures++;
    assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_MEMORY);
    loom_error_clear(c.ctx);
  }
  assert_true(failures > 10);
  check(&c, "Reg", "I", LOOM_BUFFET_total_reads_to_parent, 8);
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_are_sets),
      cmocka_unit_test(units_share_what_is_the_same),
      cmocka_unit_test(symbols_have_values),
      cmocka_unit_test(too_many_points_are_refused),
      cmocka_unit_test(memory_that_runs_out_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
