/* SPDX-License-Identifier: MIT */
/* Machines with several kinds of units: each einsum runs on the way to its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"
#include "cost_text.h"

#define WORK "m=8 k=4 n=6 E0:A[m,k],B[k,n]>Z[m,n] E1:Z[m,n]>Y[m,n]"
#define MACHINE "Main Shared { Buf #PE(X=4) +MAC | Vec #Lane(L=8) +ALU }"
enum { MAIN, SHARED, BUF, PE, MAC, VEC, LANE, ALU };
#define STEPS "Buf[A,B,Z] m:2@PE.X m:1 n:1 k:1 +E0@MAC | Vec[Z,Y] m:1@Lane.L n:1 +E1@ALU }"

static void equals(const text_case *c, loom_expr got, int64_t expected) {
  if (got == loom_int(c->ctx, expected)) return;
  char *text = loom_print(c->ctx, got, LOOM_INFIX);
  fail_msg("expected %lld, got %s", (long long)expected, text);
}

static text_case machine(const char *mapping) {
  text_case c = case_begin(WORK, MACHINE, mapping);
  case_action(&c, MAC, "compute", 1, 1);
  case_action(&c, ALU, "compute", 1, 1);
  for (int i = MAIN; i <= ALU; i++) case_number(&c, i, LOOM_LEAK_POWER, 1 + i);
  return c;
}

static loom_costs *good(text_case *c) {
  loom_costs *costs = case_costs(c, NULL);
  if (!costs) fail_msg("%s", loom_error_message(c->ctx));
  return costs;
}

/* E0 takes 2 * 6 * 4 steps on 4 units, E1 6 steps on 8 lanes.  There are 4 MACs and 8 ALUs, not 32,
** and all leak the whole time. */
static void instances_follow_the_branch(void **state) {
  (void)state;
  text_case c = machine("Main[A,B,Z,Y] { " STEPS);
  loom_costs *costs = good(&c);
  static const int64_t instances[] = {1, 1, 1, 4, 4, 1, 8, 8}, steps[] = {48, 6};
  static const char *const names[] = {"Main", "Shared", "Buf", "PE", "MAC", "Vec", "Lane", "ALU"};
  for (size_t e = 0; e < 2; e++) {
    equals(&c, loom_costs_einsum(costs, e)->latency, steps[e]);
    for (int i = MAIN; i <= ALU; i++)
      equals(&c, cost_component(costs, e, names[i])->leak_energy,
             (1 + i) * instances[i] * steps[e]);
    const loom_einsum_costs *k = loom_costs_einsum(costs, e);
    assert_int_equal(k->n_spatial, 1);
    assert_string_equal(k->spatial[0].dim, e ? "L" : "X");
    equals(&c, k->spatial[0].fraction, 1);
  }
  assert_int_equal(cost_component(costs, 0, "Vec")->latency, LOOM_NONE);
  assert_int_equal(cost_component(costs, 1, "MAC")->latency, LOOM_NONE);
  const loom_buffet *z = case_buffet(&c, 1, "Vec", "Z");
  equals(&c, z->field[LOOM_BUFFET_total_reads_to_parent], 48);
  equals(&c, z->field[LOOM_BUFFET_max_occupancy], 8 * 48);
  equals(&c, loom_costs_total(costs)->latency, 54);
  loom_costs_free(costs);
  case_end(&c);
}

/* Row by row: E0 makes a row in 24 steps on one MAC, E1 uses it in 6 on one lane. */
static void branches_make_a_pipeline(void **state) {
  (void)state;
  text_case c = machine("Main[A,B,Y] m:1 Shared[Z] {> n:1 k:1 +E0@MAC | n:1 +E1@ALU }");
  loom_costs *costs = good(&c);
  equals(&c, loom_costs_total(costs)->latency, 8 * 24 + 6);
  equals(&c, cost_peak(costs, "Shared")->bits, 2 * 6 * 8);
  loom_costs_free(costs);
  case_end(&c);
}

static void gated_branches_leak_for_their_einsums_alone(void **state) {
  (void)state;
  text_case c = machine("Main[A,B,Z,Y] { " STEPS);
  int y = loom_arch_dimension(c.a, MAC, "Y", loom_int(c.ctx, 2), LOOM_NONE, true);
  loom_arch_may_reuse(c.a, MAC, y, NULL, NULL);
  loom_costs *costs = good(&c);
  equals(&c, cost_component(costs, 0, "MAC")->leak_energy, (1 + MAC) * 4 * 48);
  equals(&c, cost_component(costs, 1, "MAC")->leak_energy, 0);
  equals(&c, cost_component(costs, 1, "Buf")->leak_energy, (1 + BUF) * 6);
  loom_costs_free(costs);
  case_end(&c);
}

static void components_of_other_branches_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *mapping, *words[2];
  } cases[] = {
      {"Main[A,B,Z,Y] { m:1 n:1 k:1 +E0@MAC | Buf[Z] m:1 n:1 +E1@ALU }", {"'E1'", "'Buf'"}},
      {"Main[A,B,Y] Buf[Z] { m:1 n:1 k:1 +E0@MAC | m:1 n:1 +E1@ALU }", {"'E1'", "'Buf'"}},
      {"Main[A,B,Z,Y] { m:1@Lane.L n:1 k:1 +E0@MAC | m:1 n:1 +E1@ALU }", {"'E0'", "'Lane'"}},
      {"Main[A,B,Z,Y] { Buf[Z] Vec[Z] m:1 n:1 k:1 +E0@MAC | m:1 n:1 +E1@ALU }", {"'E0'", "'Vec'"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    text_case c = machine(cases[i].mapping);
    assert_null(loom_analyze(c.w, c.a, c.m, &of_reference));
    assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_BAD_MAPPING);
    for (size_t k = 0; k < 2; k++)
      if (!strstr(loom_error_message(c.ctx), cases[i].words[k]))
        fail_msg("no %s in: %s", cases[i].words[k], loom_error_message(c.ctx));
    case_end(&c);
  }
}

static void forks_end_their_lists(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_arch *a = loom_arch_new(ctx);
  assert_int_equal(loom_arch_component(a, LOOM_MEMORY, "Main"), 0);
  int fork = loom_arch_fork(a, 0);
  assert_int_equal(loom_arch_component(a, LOOM_MEMORY, "Buf"), -1);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_BAD_ARCH);
  loom_error_clear(ctx);
  assert_int_equal(loom_arch_fork(a, 0), -1);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_BAD_ARCH);
  loom_error_clear(ctx);
  assert_int_equal(loom_arch_fork(a, 1), -1);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  assert_int_equal(loom_arch_branch(a, 1), -1);
  loom_error_clear(ctx);
  assert_int_equal(loom_arch_component_in(a, -1, LOOM_MEMORY, "Buf"), -1);
  loom_error_clear(ctx);
  int left = loom_arch_branch(a, fork), right = loom_arch_branch(a, fork);
  assert_int_equal(loom_arch_component_in(a, left, LOOM_COMPUTE, "MAC"), 1);
  assert_int_equal(loom_arch_component_in(a, right, LOOM_COMPUTE, "MAC"), -1);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_BAD_ARCH);
  loom_error_clear(ctx);
  assert_int_equal(loom_arch_component_in(a, right, LOOM_COMPUTE, "ALU"), 2);
  loom_arch_free(a);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instances_follow_the_branch),
      cmocka_unit_test(branches_make_a_pipeline),
      cmocka_unit_test(gated_branches_leak_for_their_einsums_alone),
      cmocka_unit_test(components_of_other_branches_are_refused),
      cmocka_unit_test(forks_end_their_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
