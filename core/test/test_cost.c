/* SPDX-License-Identifier: MIT */
/* Costs of small mappings derived by hand, limits, sums that must agree on random mappings, and the
** memory behind it all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"
#include "cost_text.h"

#define MATMUL "m=8 k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]"
#define CHAIN "m=8 a=4 b=6 c=8 E0:T0[m,a],W0[a,b]>T1[m,b] E1:T1[m,b],W1[b,c]>T2[m,c]"

static void equals(const text_case *c, loom_expr got, int64_t expected) {
  if (got == loom_int(c->ctx, expected)) return;
  char *text = loom_print(c->ctx, got, LOOM_INFIX);
  fail_msg("expected %lld, got %s", (long long)expected, text);
}

static loom_costs *good(text_case *c, const loom_cost_options *options) {
  loom_costs *costs = case_costs(c, options);
  if (!costs) fail_msg("%s", loom_error_message(c->ctx));
  return costs;
}

/* Main, Buf and a MAC with energies and rates: Main 0, Buf 1, `mac` the compute unit. */
static void equip(const text_case *c, int mac) {
  case_action(c, 0, "read", 100, 4);
  case_action(c, 0, "write", 120, 2);
  case_action(c, 1, "read", 2, 8);
  case_action(c, 1, "write", 3, 4);
  case_action(c, mac, "compute", 1, 1);
}

static text_case matmul(void) {
  text_case c = case_begin(MATMUL, "Main Buf +MAC", "Main[A,B,Z] Buf[A,B,Z] m:1 k:1 n:1 +MM@MAC");
  equip(&c, 2);
  return c;
}

static void check_row(const text_case *c, const loom_costs *costs, const char *component,
                      const char *tensor, const char *action, int64_t total, int64_t energy) {
  const loom_action_cost *row = cost_action(costs, 0, component, tensor, action);
  if (!row) fail_msg("no row %s %s %s", component, tensor, action);
  equals(c, row->total, total);
  equals(c, row->max_per_unit, total);
  equals(c, row->energy, energy);
}

/* 32, 24 and 48 values cross between Main and Buf once; Buf serves 192 operations.  The first reads
** of the 48 values of Z are skipped on both sides. */
static void actions_and_their_energy(void **state) {
  (void)state;
  text_case c = matmul();
  loom_costs *costs = good(&c, NULL);
  check_row(&c, costs, "Main", "A", "read", 32, 3200);
  check_row(&c, costs, "Main", "A", "write", 0, 0);
  check_row(&c, costs, "Main", "B", "read", 24, 2400);
  check_row(&c, costs, "Main", "Z", "read", 0, 0);
  check_row(&c, costs, "Main", "Z", "write", 48, 5760);
  check_row(&c, costs, "Buf", "A", "read", 192, 384);
  check_row(&c, costs, "Buf", "A", "write", 32, 96);
  check_row(&c, costs, "Buf", "Z", "read", 192 - 48 + 48, 384);
  check_row(&c, costs, "Buf", "Z", "write", 192 + 48 - 48, 576);
  check_row(&c, costs, "MAC", "", "compute", 192, 192);
  const loom_total_costs *t = loom_costs_total(costs);
  equals(&c, t->dynamic_energy, 13448);
  equals(&c, t->energy, 13448);
  equals(&c, t->leak_energy, 0);
  equals(&c, t->energy_delay_product, 13448 * 192);
  loom_energy rows[8];
  static const char *const tensors[] = {"A", "B", "Z", NULL};
  static const int64_t energies[] = {3680, 2856, 6720, 192};
  assert_int_equal(loom_costs_energy(costs, LOOM_BY_TENSOR, rows, 8), 4);
  for (size_t i = 0; i < 4; i++) {
    if (tensors[i])
      assert_string_equal(rows[i].tensor, tensors[i]);
    else
      assert_null(rows[i].tensor);
    equals(&c, rows[i].energy, energies[i]);
  }
  loom_costs_free(costs);
  case_end(&c);
}

static void check_latency(text_case *c, const loom_cost_options *options, const char *component,
                          int64_t latency, int64_t whole, const char *bound) {
  loom_costs *costs = good(c, options);
  equals(c, cost_component(costs, 0, component)->latency, latency);
  equals(c, loom_costs_total(costs)->latency, whole);
  assert_string_equal(loom_costs_einsum(costs, 0)->bound_by, bound);
  assert_int_equal(loom_costs_einsum(costs, 0)->compute_bound, strcmp(bound, "MAC") == 0);
  loom_costs_free(costs);
}

static loom_expr reads_and_writes(void *data, loom_ctx *ctx, const loom_latency_query *query) {
  ++*(int *)data;
  assert_string_equal(query->component, "Buf");
  assert_string_equal(query->einsum, "MM");
  assert_int_equal(query->n_actions, 2);
  loom_gc_begin(ctx);
  loom_gc_end(ctx);
  return loom_add(ctx, query->actions[0].count, query->actions[1].count);
}

static loom_expr nothing(void *data, loom_ctx *ctx, const loom_latency_query *query) {
  (void)data, (void)ctx, (void)query;
  return LOOM_NONE;
}

/* Main reads 56 and writes 48 values, Buf reads 576 and writes 248. */
static void latency_by_rule(void **state) {
  (void)state;
  text_case c = matmul();
  check_latency(&c, NULL, "Main", 56 / 4 + 48 / 2, 192, "MAC");
  check_latency(&c, NULL, "Buf", 576 / 8 + 248 / 4, 192, "MAC");
  loom_arch_latency_rule(c.a, 0, LOOM_MAX_COUNT_OVER_THROUGHPUT, LOOM_NONE);
  check_latency(&c, NULL, "Main", 24, 192, "MAC");
  loom_arch_latency_rule(c.a, 0, LOOM_SUM_COUNT_OVER, loom_int(c.ctx, 8));
  check_latency(&c, NULL, "Main", 13, 192, "MAC");
  loom_arch_latency_rule(c.a, 0, LOOM_CONSTANT_LATENCY, loom_int(c.ctx, 500));
  check_latency(&c, NULL, "Main", 500, 500, "Main");
  loom_arch_latency_rule(c.a, 0, LOOM_SUM_COUNT_OVER_THROUGHPUT, LOOM_NONE);
  case_number(&c, 2, LOOM_N_PARALLEL_INSTANCES, 2);
  check_latency(&c, NULL, "MAC", 96, 134, "Buf");
  case_number(&c, 1, LOOM_ACTIONS_SCALE, 3);
  check_latency(&c, NULL, "Buf", 3 * 134, 3 * 134, "Buf");
  case_number(&c, 1, LOOM_ACTIONS_SCALE, 1);
  int calls = 0;
  loom_component_latency formula = {"Buf", reads_and_writes, &calls};
  loom_cost_options options = {.latencies = &formula, .n_latencies = 1};
  check_latency(&c, &options, "Buf", 576 + 248, 576 + 248, "Buf");
  assert_int_equal(calls, 1);
  formula.latency = nothing;
  assert_null(case_costs(&c, &options));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_CALLBACK);
  loom_error_clear(c.ctx);
  formula.component = "Bug";
  assert_null(case_costs(&c, &options));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_UNKNOWN_COMPONENT);
  case_end(&c);
}

static void symbols_may_decide_what_bounds(void **state) {
  (void)state;
  text_case c =
      case_begin(MATMUL, "Main Buf +MAC", "Main[A,B,Z] m:M0 Buf[A,B,Z] m:1 k:1 n:1 +MM@MAC");
  equip(&c, 2);
  loom_costs *costs = good(&c, NULL);
  assert_string_equal(loom_costs_einsum(costs, 0)->bound_by, "MAC");
  loom_costs_free(costs);
  loom_arch_latency_rule(c.a, 0, LOOM_SUM_COUNT_OVER, loom_ratio(c.ctx, 1, 2));
  costs = good(&c, NULL);
  assert_null(loom_costs_einsum(costs, 0)->bound_by);
  loom_costs_free(costs);
  case_end(&c);
}

/* 4 of 8 units in use for 48 steps. */
static void leakage_of_gated_units(void **state) {
  (void)state;
  for (int gated = 0; gated < 2; gated++) {
    text_case c = case_begin(MATMUL, "Main Buf #PE Reg +MAC",
                             "Main[A,B,Z] Buf[A,B,Z] m:2@PE.X Reg[A,B,Z] m:1 n:1 k:1 +MM@MAC");
    int x = loom_arch_dimension(c.a, 2, "X", loom_int(c.ctx, 8), loom_int(c.ctx, 2), gated);
    loom_arch_may_reuse(c.a, 2, x, NULL, NULL);
    case_action(&c, 4, "compute", 1, 1);
    case_number(&c, 1, LOOM_LEAK_POWER, 7);
    case_number(&c, 3, LOOM_LEAK_POWER, 3);
    case_number(&c, 4, LOOM_LEAK_POWER, 5);
    case_number(&c, 4, LOOM_N_PARALLEL_INSTANCES, 2);
    case_number(&c, 3, LOOM_AREA, 11);
    loom_costs *costs = good(&c, NULL);
    int64_t time = 24, part = gated ? 2 : 1;
    equals(&c, loom_costs_total(costs)->latency, time);
    equals(&c, cost_component(costs, 0, "Buf")->leak_energy, 7 * time);
    equals(&c, cost_component(costs, 0, "Reg")->leak_energy, 3 * 8 * time / part);
    equals(&c, cost_component(costs, 0, "MAC")->leak_energy, 2 * 5 * 8 * time / part);
    assert_int_equal(cost_component(costs, 0, "PE")->leak_energy, LOOM_NONE);
    equals(&c, loom_costs_total(costs)->leak_energy, 7 * time + 104 * time / part);
    equals(&c, loom_costs_total(costs)->area, 88);
    const loom_einsum_costs *e = loom_costs_einsum(costs, 0);
    assert_int_equal(e->n_spatial, 1);
    equals(&c, e->spatial[0].used, 4);
    equals(&c, e->spatial[0].fraction, 1);
    loom_costs_free(costs);
    case_end(&c);
  }
}

/* Repeats multiply sums and what stays in memory, not the rows of one execution. */
static void repeats_multiply(void **state) {
  (void)state;
  text_case c =
      case_begin(MATMUL, "Main Buf +MAC", "Main[A,Z] Main*[B] Buf[A,B,Z] m:1 k:1 n:1 +MM@MAC");
  equip(&c, 2);
  case_number(&c, 0, LOOM_SIZE, 8192);
  loom_workload_repeat(c.w, loom_int(c.ctx, 5));
  loom_costs *costs = good(&c, NULL);
  const loom_einsum_costs *e = loom_costs_einsum(costs, 0);
  equals(&c, e->n_instances, 5);
  equals(&c, e->latency, 5 * 192);
  equals(&c, e->dynamic_energy, 5 * 13448);
  equals(&c, loom_costs_total(costs)->energy, 5 * 13448);
  equals(&c, cost_component(costs, 0, "MAC")->latency, 192);
  equals(&c, cost_component(costs, 0, "Main")->bits, 8 * (32 + 48 + 5 * 24));
  assert_int_equal(e->reserved[0].n_loops_above, -1);
  equals(&c, e->reserved[0].bits, 8 * 5 * 24);
  loom_costs_free(costs);
  case_end(&c);
}

static text_case fused(int64_t size) {
  text_case c = case_begin(CHAIN, "Main Buf +MAC",
                           "Main[T0,W0,W1,T2] Buf[W0,W1] m:2 Buf[T1] { "
                           "Buf[T0] m:1 a:1 b:1 +E0@MAC | Buf[T2] m:1 b:1 c:1 +E1@MAC }");
  equip(&c, 2);
  if (size) case_number(&c, 1, LOOM_SIZE, size);
  return c;
}

/* W0 (192 bits) and W1 (384) stand above the shared loop and stay; T1 (96) lives from E0 to E1; T0
** (8) and T2 (64) are freed in between. */
static void memory_over_fused_loops(void **state) {
  (void)state;
  text_case c = fused(0);
  loom_costs *costs = good(&c, NULL);
  const loom_total_costs *t = loom_costs_total(costs);
  equals(&c, cost_component(costs, 0, "Buf")->bits, 192 + 96 + 8);
  equals(&c, cost_component(costs, 1, "Buf")->bits, 384 + 96 + 64);
  const loom_peak *peak = cost_peak(costs, "Buf");
  equals(&c, peak->bits, 192 + 384 + 96 + 64);
  assert_int_equal(peak->step, 1);
  static const struct {
    size_t step;
    const char *tensor, *einsum;
    int64_t bits;
  } expected[] = {{0, "W0", "E0", 192}, {0, "T1", "E0", 96},  {0, "T0", "E0", 8},
                  {0, "W1", "E1", 384}, {1, "W0", "E0", 192}, {1, "T1", "E0", 96},
                  {1, "W1", "E1", 384}, {1, "T2", "E1", 64}};
  size_t found = 0, n = sizeof expected / sizeof *expected;
  for (size_t i = 0; i < t->n_residents; i++) {
    const loom_resident *r = &t->residents[i];
    if (strcmp(r->component, "Buf") != 0) continue;
    size_t k = 0;
    while (k < n && (expected[k].step != r->step || strcmp(expected[k].tensor, r->tensor) != 0 ||
                     strcmp(expected[k].einsum, r->einsum) != 0))
      k++;
    if (k == n) fail_msg("%s of %s at step %zu", r->tensor, r->einsum, r->step);
    equals(&c, r->bits, expected[k].bits);
    found++;
  }
  assert_int_equal(found, n);
  loom_costs_free(costs);
  case_end(&c);
}

static void check_limit(int64_t size, loom_status status, const char *const words[4]) {
  text_case c = fused(size);
  assert_null(case_costs(&c, NULL));
  assert_int_equal(loom_error_status(c.ctx), status);
  for (size_t i = 0; i < 4; i++)
    if (!strstr(loom_error_message(c.ctx), words[i]))
      fail_msg("no '%s' in: %s", words[i], loom_error_message(c.ctx));
  loom_error_clear(c.ctx);
  loom_costs *costs = good(&c, &(loom_cost_options){.allow_exceeded_limits = true});
  equals(&c, cost_peak(costs, "Buf")->bits, 736);
  loom_costs_free(costs);
  case_end(&c);
}

static void limits_are_errors_of_numbers(void **state) {
  (void)state;
  check_limit(500, LOOM_ERR_CAPACITY, (const char *const[]){"'E1'", "'Buf'", "544", "500"});
  check_limit(480, LOOM_ERR_CAPACITY, (const char *const[]){"'E1'", "2 loops", "544", "480"});
  check_limit(479, LOOM_ERR_CAPACITY, (const char *const[]){"'E1'", "1 loop ", "544", "479"});
  check_limit(735, LOOM_ERR_CAPACITY_JOINT, (const char *const[]){"'E1'", "'Buf'", "736", "735"});
  text_case c = fused(736);
  loom_costs_free(good(&c, NULL));
  case_end(&c);
  c = case_begin(MATMUL, "Main Buf #PE(X=4) +MAC", "Main[A,B,Z] m:1@PE.X n:1 k:1 +MM@MAC");
  assert_null(case_costs(&c, NULL));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_FANOUT);
  assert_non_null(strstr(loom_error_message(c.ctx), "dimension 'X' of 'PE' needs 8 instances, 4"));
  case_end(&c);
}

static void limits_are_constraints_of_symbols(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, "Main Buf #PE(X=4) +MAC",
                           "Main[A,B,Z] n:2 Buf[A,B,Z] m:M0@PE.X m:1 k:1 n:1 +MM@MAC");
  equip(&c, 3);
  case_number(&c, 1, LOOM_SIZE, 100);
  loom_costs *costs = good(&c, NULL);
  const loom_total_costs *t = loom_costs_total(costs);
  assert_int_equal(t->n_constraints, 2);
  const loom_constraint *fanout = &t->constraints[0], *capacity = &t->constraints[1];
  assert_int_equal(fanout->kind, LOOM_ERR_FANOUT);
  assert_string_equal(fanout->dim, "X");
  assert_int_equal(capacity->kind, LOOM_ERR_CAPACITY);
  assert_string_equal(capacity->einsum, "MM");
  equals(&c, capacity->condition, 0);
  loom_expr tile = loom_symbol(c.ctx, "M0", NULL);
  for (int64_t m = 1; m <= 8; m *= 2) {
    loom_expr value = loom_int(c.ctx, m);
    equals(&c, loom_substitute(c.ctx, fanout->condition, 1, &tile, &value), m >= 2);
    equals(&c, loom_substitute(c.ctx, fanout->needed, 1, &tile, &value), 8 / m);
  }
  loom_costs_free(costs);
  case_end(&c);
}

/* ---- sums that must agree ----------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % n;
}

/* "Main[...] loops Buf[...] loops +MM@MAC" with tiles dividing 8, 4 and 6; `symbolic` names tiles
** M0, K0, N0 whose numbers are given in `tiles`. */
static void random_mapping(uint32_t *seed, char *out, size_t size, bool symbolic,
                           int64_t tiles[3]) {
  static const int64_t divisors[3][4] = {{1, 2, 4, 8}, {1, 2, 4, 2}, {1, 2, 3, 6}};
  static const char variables[] = "mkn";
  size_t used = (size_t)snprintf(out, size, "Main[A,B,Z]");
  for (int level = 0; level < 2; level++) {
    uint32_t start = next_random(seed, 3);
    for (uint32_t i = 0; i < 3; i++) {
      uint32_t v = (start + i) % 3;
      if (level == 0) tiles[v] = divisors[v][next_random(seed, 4)];
      if (level == 0 && symbolic)
        used += (size_t)snprintf(out + used, size - used, " %c:%c0", variables[v],
                                 variables[v] - 'a' + 'A');
      else
        used += (size_t)snprintf(out + used, size - used, " %c:%lld", variables[v],
                                 level ? 1LL : (long long)tiles[v]);
    }
    if (level == 0) used += (size_t)snprintf(out + used, size - used, " Buf[A,B,Z]");
  }
  snprintf(out + used, size - used, " +MM@MAC");
}

static void check_breakdowns(const text_case *c, const loom_costs *costs) {
  const loom_total_costs *t = loom_costs_total(costs);
  loom_energy rows[64];
  for (unsigned by = 0; by < 16; by++) {
    size_t n = loom_costs_energy(costs, by, rows, 64);
    assert_in_range(n, 1, 64);
    loom_expr sum = loom_int(c->ctx, 0);
    for (size_t i = 0; i < n; i++) sum = loom_add(c->ctx, sum, rows[i].energy);
    assert_int_equal(sum, t->energy);
  }
  loom_expr components = loom_int(c->ctx, 0), einsums = components;
  for (size_t i = 0; i < t->n_components; i++)
    components = loom_add(c->ctx, components, t->components[i].energy);
  for (size_t i = 0; i < loom_costs_einsums(costs); i++) {
    const loom_einsum_costs *e = loom_costs_einsum(costs, i);
    einsums = loom_add(c->ctx, einsums, loom_add(c->ctx, e->dynamic_energy, e->leak_energy));
  }
  assert_int_equal(components, t->energy);
  assert_int_equal(einsums, t->energy);
}

static loom_expr at_tiles(const text_case *c, loom_expr e, const int64_t tiles[3]) {
  loom_expr symbols[3], values[3];
  static const char *const names[] = {"M0", "K0", "N0"};
  for (size_t i = 0; i < 3; i++) {
    symbols[i] = loom_symbol(c->ctx, names[i], NULL);
    values[i] = loom_int(c->ctx, tiles[i]);
  }
  return loom_substitute(c->ctx, e, 3, symbols, values);
}

static void fit_out(text_case *c) {
  equip(c, 2);
  for (int i = 0; i < 3; i++)
    loom_arch_number(c->a, i, LOOM_LEAK_POWER, loom_ratio(c->ctx, i + 1, 7));
  case_number(c, 1, LOOM_SIZE, 100000);
  loom_workload_repeat(c->w, loom_int(c->ctx, 3));
}

/* Every breakdown adds up to the total, and formulas give what numbers give. */
static void sums_agree(void **state) {
  (void)state;
  uint32_t seed = 20250611;
  print_message("seed %u\n", seed);
  for (int i = 0; i < 60; i++) {
    char text[200], open[200];
    int64_t tiles[3];
    uint32_t same = seed;
    random_mapping(&seed, text, sizeof text, false, tiles);
    random_mapping(&same, open, sizeof open, true, tiles);
    text_case c = case_begin(MATMUL, "Main Buf +MAC", text);
    fit_out(&c);
    loom_costs *numbers = good(&c, NULL);
    check_breakdowns(&c, numbers);
    loom_mapping *closed = c.m;
    c.m = mapping_of(c.ctx, open);
    loom_costs *formulas = good(&c, NULL);
    check_breakdowns(&c, formulas);
    const loom_total_costs *n = loom_costs_total(numbers), *f = loom_costs_total(formulas);
    assert_int_equal(at_tiles(&c, f->energy, tiles), n->energy);
    assert_int_equal(at_tiles(&c, f->latency, tiles), n->latency);
    assert_int_equal(at_tiles(&c, f->energy_delay_product, tiles), n->energy_delay_product);
    for (size_t k = 0; k < n->n_peaks; k++)
      assert_int_equal(at_tiles(&c, f->peaks[k].fraction, tiles), n->peaks[k].fraction);
    loom_costs_free(numbers);
    loom_costs_free(formulas);
    loom_mapping_free(closed);
    case_end(&c);
  }
}

/* ---- memory ------------------------------------------------------------------------------- */

static void costs_outlive_what_they_come_from(void **state) {
  (void)state;
  text_case c = fused(1000);
  loom_costs *costs = good(&c, NULL);
  loom_result_free(c.r);
  loom_mapping_free(c.m);
  loom_arch_free(c.a);
  loom_workload_free(c.w);
  c.r = NULL, c.m = NULL, c.a = NULL, c.w = NULL;
  loom_gc_begin(c.ctx);
  loom_gc_end(c.ctx);
  check_breakdowns(&c, costs);
  assert_string_equal(cost_peak(costs, "Buf")->component, "Buf");
  loom_expr fraction = cost_peak(costs, "Buf")->fraction;
  assert_int_equal(fraction, loom_ratio(c.ctx, 736, 1000));
  assert_null(loom_costs_einsum(costs, 2));
  loom_costs_free(costs);
  loom_costs_free(NULL);
  case_end(&c);
}

/* Every allocation fails in turn: an error each time, nothing lost. */
static text_case one_case(void) {
  return fused(1000);
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  costs_with_little_memory(one_case);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(actions_and_their_energy),
      cmocka_unit_test(latency_by_rule),
      cmocka_unit_test(symbols_may_decide_what_bounds),
      cmocka_unit_test(leakage_of_gated_units),
      cmocka_unit_test(repeats_multiply),
      cmocka_unit_test(memory_over_fused_loops),
      cmocka_unit_test(limits_are_errors_of_numbers),
      cmocka_unit_test(limits_are_constraints_of_symbols),
      cmocka_unit_test(sums_agree),
      cmocka_unit_test(costs_outlive_what_they_come_from),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
