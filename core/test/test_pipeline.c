/* SPDX-License-Identifier: MIT */
/* Elapsed time of branches that run together, against a simulation tile by tile, and what they cost
** in memory and leakage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"
#include "cost_text.h"

/* Three products in a row; units X, Y and W take t, u and v per step. */
#define CHAIN                                                                   \
  "m=12 a=2 b=3 c=4 d=5 E0:T0[m,a],W0[a,b]>T1[m,b] E1:T1[m,b],W1[b,c]>T2[m,c] " \
  "E2:T2[m,c],W2[c,d]>T3[m,d]"
/* The same without handing anything over. */
#define APART                                                                   \
  "m=12 a=2 b=3 c=4 d=5 E0:T0[m,a],W0[a,b]>T1[m,b] E1:S1[m,b],W1[b,c]>T2[m,c] " \
  "E2:S2[m,c],W2[c,d]>T3[m,d]"
#define MACHINE "Main Buf +X +Y +W"
#define STAGES "m:1 a:1 b:1 +E0@X | m:1 b:1 c:1 +E1@Y | m:1 c:1 d:1 +E2@W"
#define HEAD "Main[T0,W0,W1,W2,T3] "
#define HEAD_APART "Main[T0,W0,W1,W2,S1,S2,T3] "

static const int64_t steps_per_row[3] = {6, 12, 20};

static void equals(const text_case *c, loom_expr got, int64_t expected) {
  if (got == loom_int(c->ctx, expected)) return;
  char *text = loom_print(c->ctx, got, LOOM_INFIX);
  fail_msg("expected %lld, got %s", (long long)expected, text);
}

static text_case chain(const char *mapping, const int64_t step[3]) {
  text_case c = case_begin(strstr(mapping, "S1") ? APART : CHAIN, MACHINE, mapping);
  for (int i = 0; i < 3; i++)
    loom_arch_action(c.a, 2 + i, "compute", LOOM_NONE, loom_ratio(c.ctx, 1, step[i]), LOOM_NONE);
  return c;
}

static loom_costs *good(text_case *c) {
  loom_costs *costs = case_costs(c, NULL);
  if (!costs) fail_msg("%s", loom_error_message(c->ctx));
  return costs;
}

static void check_latency(const char *mapping, const int64_t step[3], int64_t expected) {
  text_case c = chain(mapping, step);
  loom_costs *costs = good(&c);
  equals(&c, loom_costs_total(costs)->latency, expected);
  loom_costs_free(costs);
  case_end(&c);
}

/* Tile i of stage s starts when stage s is done with tile i - 1 and stage s - 1 with tile i. */
static int64_t simulate(size_t n_stages, const int64_t *stage_step, const int64_t *rows, int n,
                        const int64_t *steps) {
  int64_t done[4] = {0};
  for (int i = 0; i < n; i++)
    for (size_t s = 0; s < n_stages; s++) {
      int64_t start = s > 0 && done[s - 1] > done[s] ? done[s - 1] : done[s];
      done[s] = start + rows[i] * steps[s] * stage_step[s];
    }
  return done[n_stages - 1];
}

static uint32_t next_random(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % n;
}

/* Rows of m in each tile: `first`, then as many of `tile` as cover the rest. */
static int cut(int64_t first, int64_t tile, int64_t rows[12]) {
  int n = 0;
  int64_t left = 12;
  if (first) {
    rows[n++] = first;
    left -= first;
  }
  for (; left > 0; left -= tile) rows[n++] = tile;
  return n;
}

static void pipelines_take_what_a_simulation_takes(void **state) {
  (void)state;
  uint32_t seed = 4711;
  print_message("seed %u\n", seed);
  for (int i = 0; i < 200; i++) {
    static const int64_t tiles[] = {1, 2, 3, 4, 6, 12};
    int64_t tile = tiles[next_random(&seed, 6)], first = 0, rows[12], step[3];
    if (i % 2) {
      tile = 1 + next_random(&seed, 4);
      first = 12 - tile * next_random(&seed, (uint32_t)(12 / tile));
    }
    for (int s = 0; s < 3; s++) step[s] = 1 + next_random(&seed, 9);
    char text[200], shape[32];
    snprintf(shape, sizeof shape, first ? "%lld^%lld" : "%lld", (long long)tile, (long long)first);
    snprintf(text, sizeof text, HEAD "m:%s Buf[T1,T2] {> " STAGES " }", shape);
    int n = cut(first, tile, rows);
    check_latency(text, step, simulate(3, step, rows, n, steps_per_row));
    snprintf(text, sizeof text, HEAD "m:%s Buf[T1,T2] { " STAGES " }", shape);
    int64_t sum = 0;
    for (int s = 0; s < 3; s++) sum += 12 * steps_per_row[s] * step[s];
    check_latency(text, step, sum);
    int64_t slowest = 0;
    for (int s = 0; s < 3; s++)
      if (12 * steps_per_row[s] * step[s] > slowest) slowest = 12 * steps_per_row[s] * step[s];
    snprintf(text, sizeof text, HEAD_APART "m:%s Buf[T1,T2] {& " STAGES " }", shape);
    check_latency(text, step, slowest);
  }
}

static void pipelines_of_symbolic_tiles(void **state) {
  (void)state;
  const int64_t step[3] = {5, 3, 1};
  text_case c = chain(HEAD "m:M0 Buf[T1,T2] {> " STAGES " }", step);
  loom_costs *costs = good(&c);
  loom_expr tile = loom_symbol(c.ctx, "M0", NULL);
  for (int64_t m = 1; m <= 12; m++) {
    if (12 % m) continue;
    int64_t rows[12];
    int n = cut(0, m, rows);
    loom_expr value = loom_int(c.ctx, m);
    equals(&c, loom_substitute(c.ctx, loom_costs_total(costs)->latency, 1, &tile, &value),
           simulate(3, step, rows, n, steps_per_row));
  }
  loom_costs_free(costs);
  case_end(&c);
  c = chain(HEAD "m:M0^M1 Buf[T1,T2] {> " STAGES " }", step);
  costs = good(&c);
  for (int64_t first = 2; first <= 12; first += 2) {
    int64_t rows[12];
    int n = cut(first, 2, rows);
    loom_expr symbols[2] = {tile, loom_symbol(c.ctx, "M1", NULL)};
    loom_expr values[2] = {loom_int(c.ctx, 2), loom_int(c.ctx, first)};
    symbols[0] = loom_symbol(c.ctx, "M0", NULL);
    equals(&c, loom_substitute(c.ctx, loom_costs_total(costs)->latency, 2, symbols, values),
           simulate(3, step, rows, n, steps_per_row));
  }
  loom_costs_free(costs);
  case_end(&c);
}

/* A pipeline runs over the loops of its own list and drains between runs; inside a stage it is done
** before the stage's tile is. */
static void pipelines_nest(void **state) {
  (void)state;
  const int64_t step[3] = {2, 3, 1};
  int64_t rows[12], whole = 0;
  int n = cut(0, 1, rows);
  /* m in 3 parts; in each, E0 and E1 are a pipeline over 4 rows, then E2. */
  int64_t pair = simulate(2, step, rows, 4, steps_per_row);
  whole = 3 * (pair + 4 * steps_per_row[2] * step[2]);
  check_latency(HEAD "m:4 Buf[T1,T2] { m:1 {> a:1 b:1 +E0@X | b:1 c:1 +E1@Y } | "
                     "m:1 c:1 d:1 +E2@W }",
                step, whole);
  /* The same pipeline as first stage of a pipeline over the 3 parts. */
  int64_t times[2] = {1, 1}, outer_steps[2] = {pair, 4 * steps_per_row[2] * step[2]};
  int64_t ones[3] = {1, 1, 1};
  check_latency(HEAD "m:4 Buf[T1,T2] {> m:1 {> a:1 b:1 +E0@X | b:1 c:1 +E1@Y } | "
                     "m:1 c:1 d:1 +E2@W }",
                step, simulate(2, times, ones, 3, outer_steps));
  /* No loop to run over: one stage after the other. */
  check_latency(HEAD "Buf[T1,T2] {> " STAGES " }", step,
                12 * (6 * step[0] + 12 * step[1] + 20 * step[2]));
  assert_int_equal(n, 12);
}

/* First tile of 4 rows, then tiles of 2; inside, single rows: the inner loop has no one number of
** iterations. */
static void pipelines_below_two_sizes_of_tiles_are_refused(void **state) {
  (void)state;
  const int64_t step[3] = {1, 1, 1};
  text_case c = chain(HEAD "m:2^4 m:1 Buf[T1,T2] {> " STAGES " }", step);
  assert_null(case_costs(&c, NULL));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_BAD_MAPPING);
  case_end(&c);
}

/* One unit for two stages works for one of them at a time, as one memory does. */
static void shared_components_are_used_in_turn(void **state) {
  (void)state;
  const int64_t step[3] = {2, 3, 4};
  for (int kind = 0; kind < 2; kind++) {
    char text[200];
    snprintf(text, sizeof text,
             "%s m:1 Buf[T1,T2] {%c a:1 b:1 +E0@X | b:1 c:1 +E1@X | c:1 d:1 +E2@W }",
             kind ? HEAD_APART : HEAD, kind ? '&' : '>');
    int64_t shared = 12 * (6 + 12) * 2, alone = 12 * 20 * 4;
    int64_t rows[12], own[3] = {2, 2, 4};
    int64_t pipe = kind ? alone : simulate(3, own, rows, cut(0, 1, rows), steps_per_row);
    check_latency(text, step, shared > pipe ? shared : pipe);
    const int64_t slow[3] = {9, 3, 4};
    shared = 12 * (6 + 12) * 9;
    check_latency(text, slow, shared);
  }
  text_case c = chain(HEAD "m:1 Buf[T1,T2] {> " STAGES " }", step);
  loom_arch_action(c.a, 1, "read", LOOM_NONE, loom_ratio(c.ctx, 1, 7), loom_int(c.ctx, 8));
  loom_costs *costs = good(&c);
  int64_t reads = 0;
  for (size_t i = 0; i < 3; i++) {
    loom_expr latency = cost_component(costs, i, "Buf")->latency;
    int64_t value;
    assert_true(loom_as_int(c.ctx, latency, &value));
    reads += value;
  }
  equals(&c, loom_costs_total(costs)->latency, reads);
  loom_costs_free(costs);
  case_end(&c);
}

/* Leakage lasts as long as the whole does; a gated unit leaks while its einsum runs. */
static void leakage_lasts_as_long_as_the_whole(void **state) {
  (void)state;
  const int64_t step[3] = {2, 3, 4};
  static const char kinds[] = {' ', '>', '&'};
  for (int kind = 0; kind < 3; kind++) {
    char text[200];
    snprintf(text, sizeof text, "%s m:2 Buf[T1,T2] {%c " STAGES " }", kind == 2 ? HEAD_APART : HEAD,
             kinds[kind]);
    text_case c = chain(text, step);
    int x = loom_arch_dimension(c.a, 4, "U", loom_int(c.ctx, 2), LOOM_NONE, true);
    loom_arch_may_reuse(c.a, 4, x, NULL, NULL);
    case_number(&c, 1, LOOM_LEAK_POWER, 5);
    case_number(&c, 4, LOOM_LEAK_POWER, 3);
    loom_costs *costs = good(&c);
    const loom_total_costs *t = loom_costs_total(costs);
    for (size_t i = 0; i < t->n_components; i++) {
      loom_expr five = loom_mul(c.ctx, loom_int(c.ctx, 5), t->latency);
      if (strcmp(t->components[i].component, "Buf") == 0)
        assert_int_equal(t->components[i].leak_energy, five);
      if (strcmp(t->components[i].component, "W") == 0)
        equals(&c, t->components[i].leak_energy, 3 * 12 * 20 * 4);
    }
    loom_energy rows[8];
    loom_expr sum = loom_int(c.ctx, 0);
    size_t n = loom_costs_energy(costs, LOOM_BY_EINSUM, rows, 8);
    for (size_t i = 0; i < n; i++) sum = loom_add(c.ctx, sum, rows[i].energy);
    assert_int_equal(sum, t->energy);
    loom_costs_free(costs);
    case_end(&c);
  }
}

static void check_buf(const char *mapping, int64_t bits) {
  const int64_t step[3] = {1, 1, 1};
  text_case c = chain(mapping, step);
  loom_costs *costs = good(&c);
  equals(&c, cost_peak(costs, "Buf")->bits, bits);
  loom_costs_free(costs);
  case_end(&c);
}

/* Tiles of 2 rows: T1 48 and T2 64 bits.  Stages that run together hold what they hold together;
** a tile that is made and a tile that is used are two, one that skips a stage three. */
static void memory_of_stages_that_run_together(void **state) {
  (void)state;
#define FILLED "Buf[W0] m:1 a:1 b:1 +E0@X | Buf[W1] m:1 b:1 c:1 +E1@Y | Buf[W2] m:1 c:1 d:1 +E2@W }"
  check_buf(HEAD "m:2 Buf[T1,T2] { " STAGES " }", 48 + 64);
  check_buf(HEAD "m:2 Buf[T1,T2] {> " STAGES " }", 2 * 48 + 2 * 64);
  check_buf(HEAD "Buf[T1,T2] m:2 {> " STAGES " }", 6 * (48 + 64));
  check_buf(HEAD "Buf[T1] m:2 Buf[T2] {> " STAGES " }", 6 * 48 + 2 * 64);
  check_buf(HEAD "m:2 Buf[T1,T2] { " FILLED, 64 + 160);
  check_buf(HEAD "m:2 Buf[T1,T2] {> " FILLED, 2 * 48 + 2 * 64 + 48 + 96 + 160);
  check_buf(HEAD_APART "m:2 Buf[T1,T2] {& " FILLED, 48 + 64 + 48 + 96 + 160);
  text_case c =
      case_begin("m=12 a=2 E0:A[m,a]>T1[m,a] E1:T1[m,a]>T2[m,a] E2:T1[m,a],T2[m,a]>Z[m,a]", MACHINE,
                 "Main[A,Z] m:1 Buf[T1,T2] {> a:1 +E0@X | a:1 +E1@Y | a:1 +E2@W }");
  loom_costs *costs = good(&c);
  equals(&c, cost_peak(costs, "Buf")->bits, 3 * 16 + 2 * 16);
  loom_costs_free(costs);
  case_end(&c);
}

static void branches_at_once_hand_nothing_over(void **state) {
  (void)state;
  const int64_t step[3] = {1, 1, 1};
  text_case c = chain(HEAD "m:2 Buf[T1,T2] {& " STAGES " }", step);
  assert_null(case_costs(&c, NULL));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_BAD_MAPPING);
  assert_non_null(strstr(loom_error_message(c.ctx), "'T1'"));
  case_end(&c);
}

static void another_mapping_is_refused(void **state) {
  (void)state;
  const int64_t step[3] = {1, 1, 1};
  static const char *const others[] = {"", "Main[A]", HEAD "m:2 Buf[T1,T2] {> | }", "+E0@X",
                                       HEAD "m:2 Buf[T1,T2] m:1 { +E0@X }"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    text_case c = chain(HEAD "m:2 Buf[T1,T2] {> " STAGES " }", step);
    c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
    assert_non_null(c.r);
    loom_mapping *other = mapping_of(c.ctx, others[i]);
    assert_null(loom_cost(c.r, c.w, c.a, other, NULL));
    assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_ARGUMENT);
    loom_mapping_free(other);
    case_end(&c);
  }
}

static text_case one_case(void) {
  static const int64_t step[3] = {1, 2, 3};
  return chain(HEAD "m:M0^M1 Buf[T1,T2] {> " STAGES " }", step);
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  costs_with_little_memory(one_case);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pipelines_take_what_a_simulation_takes),
      cmocka_unit_test(pipelines_of_symbolic_tiles),
      cmocka_unit_test(pipelines_nest),
      cmocka_unit_test(pipelines_below_two_sizes_of_tiles_are_refused),
      cmocka_unit_test(shared_components_are_used_in_turn),
      cmocka_unit_test(leakage_lasts_as_long_as_the_whole),
      cmocka_unit_test(memory_of_stages_that_run_together),
      cmocka_unit_test(branches_at_once_hand_nothing_over),
      cmocka_unit_test(another_mapping_is_refused),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
