/* SPDX-License-Identifier: MIT */
/* Statistics of small mappings derived by hand: storage, tolls, copies, custom holders, latency of
** first iterations, tiles of two kinds, formulas; and the memory behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"
#include "nest_text.h"

#define MATMUL "m=8 k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]"
#define CHAIN "m=8 a=4 b=6 c=8 E0:T0[m,a],W0[a,b]>T1[m,b] E1:T1[m,b],W1[b,c]>T2[m,c]"
#define LOOPS "m:1 n:1 k:1 +MM@MAC"

static void equals(const text_case *c, loom_expr got, int64_t expected) {
  if (got == loom_int(c->ctx, expected)) return;
  char *text = loom_print(c->ctx, got, LOOM_INFIX);
  fail_msg("expected %lld, got %s", (long long)expected, text);
}

static text_case good(const char *workload, const char *arch, const char *mapping) {
  text_case c = case_analyze(workload, arch, mapping);
  if (!c.r) fail_msg("%s: %s", mapping, loom_error_message(c.ctx));
  return c;
}

static const loom_buffet *buffet(const text_case *c, const char *level, const char *tensor) {
  const loom_buffet *b = case_buffet(c, 0, level, tensor);
  if (!b) fail_msg("no buffet %s@%s", tensor, level);
  return b;
}

#define FIELD(b, name) ((b)->field[LOOM_BUFFET_##name])

/* k in two halves above Buf: Z's tile of 48 values goes up and down twice, the first way up to Buf
** is skipped. */
static void outputs_return_for_each_part_of_a_reduction(void **state) {
  (void)state;
  text_case c = good(MATMUL, "Main Buf +MAC", "Main[A,B,Z] k:2 Buf[A,B,Z] m:1 n:1 k:1 +MM@MAC");
  const loom_buffet *z = buffet(&c, "Buf", "Z"), *main_z = buffet(&c, "Main", "Z");
  equals(&c, FIELD(z, total_reads_to_parent), 96);
  equals(&c, FIELD(z, total_writes_to_parent), 96);
  equals(&c, FIELD(z, total_skipped_first_reads_to_parent), 48);
  equals(&c, FIELD(z, max_occupancy), 8);
  assert_int_equal(z->n_loops_above, 3);
  equals(&c, FIELD(z, total_read_actions), 8 * (96 + 192));
  equals(&c, FIELD(z, total_write_actions), 8 * (96 + 192));
  equals(&c, FIELD(z, total_skipped_first_read_actions), 8 * 48);
  equals(&c, FIELD(z, total_skipped_first_write_actions), 8 * 48);
  equals(&c, FIELD(main_z, total_read_actions), 8 * 96);
  equals(&c, FIELD(main_z, total_skipped_first_read_actions), 8 * 48);
  equals(&c, FIELD(main_z, total_skipped_first_write_actions), 0);
  const loom_stats *stats = loom_result_stats(c.r, 0);
  equals(&c, stats->compute.total_ops, 192);
  equals(&c, stats->temporal_steps, 192);
  assert_string_equal(stats->compute.level, "MAC");
  case_end(&c);
}

static void skip_settings_count_apart(void **state) {
  (void)state;
  for (int which = 0; which < 3; which++) {
    text_case c = case_begin(MATMUL, "Main Buf +MAC", "Main[A,B,Z] k:2 Buf[Z] " LOOPS);
    loom_arch_skip_initial_output_write(c.a, which, false);
    c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
    const loom_buffet *top = buffet(&c, "Main", "Z"), *b = buffet(&c, "Buf", "Z");
    equals(&c, FIELD(b, total_skipped_first_reads_to_parent), which == 1 ? 0 : 48);
    equals(&c, FIELD(top, total_skipped_first_read_actions), which == 0 || which == 1 ? 0 : 384);
    equals(&c, FIELD(b, total_skipped_first_read_actions), which == 0 ? 384 : 0);
    case_end(&c);
  }
}

static void persistent_tensors_stand_above_all_loops(void **state) {
  (void)state;
  text_case c = good(MATMUL, "Main Buf +MAC", "Main[A,Z] m:2 Buf*[B] " LOOPS);
  const loom_buffet *b = buffet(&c, "Buf", "B");
  assert_true(b->persistent);
  assert_int_equal(b->n_loops_above, -1);
  equals(&c, FIELD(b, max_occupancy), 24 * 8);
  case_end(&c);
}

/* Multicast to 4 units, each with its own copy; partial sums meet in an adder tree. */
static void units_share_what_does_not_depend_on_them(void **state) {
  (void)state;
  text_case c = good(MATMUL, "Main #PE(X=4) Reg +MAC", "Main[A,B,Z] k:1@PE.X Reg[A,B,Z] " LOOPS);
  equals(&c, FIELD(buffet(&c, "Reg", "Z"), total_reads_to_parent), 48);
  equals(&c, FIELD(buffet(&c, "Reg", "A"), total_reads_to_parent), 32);
  equals(&c, FIELD(buffet(&c, "Reg", "Z"), total_write_actions), 8 * 4 * (48 + 48));
  equals(&c, FIELD(buffet(&c, "Reg", "Z"), max_per_unit_write_actions), 8 * (48 + 48));
  const loom_stats *stats = loom_result_stats(c.r, 0);
  assert_int_equal(stats->n_fanout, 1);
  assert_string_equal(stats->fanout[0].dim, "X");
  equals(&c, stats->fanout[0].used, 4);
  equals(&c, stats->temporal_steps, 48);
  case_end(&c);
}

static void reuse_only_where_the_dimension_allows_it(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, "Main #PE Reg +MAC", "Main[A,B,Z] k:1@PE.X Reg[A,B,Z] " LOOPS);
  int d = loom_arch_dimension(c.a, 1, "X", loom_int(c.ctx, 4), LOOM_NONE, false);
  loom_arch_may_reuse(c.a, 1, d, "MM", "A");
  loom_arch_may_reuse(c.a, 1, d, "OTHER", "Z");
  c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
  equals(&c, FIELD(buffet(&c, "Reg", "Z"), total_reads_to_parent), 192);
  case_end(&c);
}

static void tolls_charge_what_passes(void **state) {
  (void)state;
  static const loom_direction directions[] = {LOOM_UP, LOOM_DOWN, LOOM_UP_AND_DOWN};
  for (int i = 0; i < 3; i++) {
    text_case c =
        case_begin(MATMUL, "Main !Link Buf +MAC", "Main[A,B,Z] !Link[A,Z] k:2 Buf-[A,Z] " LOOPS);
    loom_arch_direction(c.a, 1, NULL, NULL, directions[i]);
    c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
    const loom_buffet *a = buffet(&c, "Link", "A"), *z = buffet(&c, "Link", "Z");
    equals(&c, FIELD(a, total_reads_to_parent), 32);
    equals(&c, FIELD(a, max_occupancy), 0);
    equals(&c, FIELD(a, total_write_actions), 0);
    equals(&c, FIELD(a, total_read_actions), directions[i] & LOOM_DOWN ? 256 : 0);
    equals(&c, FIELD(z, total_skipped_first_reads_to_parent), 48);
    equals(&c, FIELD(z, total_read_actions),
           (directions[i] & LOOM_DOWN ? 768 : 0) + (directions[i] & LOOM_UP ? 768 : 0));
    equals(&c, FIELD(z, total_skipped_first_read_actions), directions[i] & LOOM_DOWN ? 384 : 0);
    case_end(&c);
  }
}

static void bits_and_values_per_action_by_tensor(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, "Main Buf +MAC", "Main[A,B,Z] Buf-[A,B] " LOOPS);
  loom_arch_action(c.a, 1, "read", LOOM_NONE, LOOM_NONE, loom_int(c.ctx, 64));
  loom_arch_bits_per_value(c.a, 1, NULL, "A", loom_int(c.ctx, 4));
  loom_arch_bits_per_value(c.a, 1, "MM", "A", loom_int(c.ctx, 2));
  loom_arch_values_per_action(c.a, 1, NULL, NULL, "B", loom_int(c.ctx, 4));
  loom_arch_values_per_action(c.a, 1, "write", NULL, "B", loom_int(c.ctx, 3));
  c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
  const loom_buffet *a = buffet(&c, "Buf", "A"), *b = buffet(&c, "Buf", "B");
  equals(&c, FIELD(a, max_occupancy), 32 * 2);
  equals(&c, FIELD(a, total_read_actions), 192 * 2 / 64);
  equals(&c, FIELD(a, total_write_actions), 32 * 2);
  equals(&c, FIELD(b, total_read_actions), 192 / 4);
  equals(&c, FIELD(b, total_write_actions), 24 / 3);
  case_end(&c);
}

static void copies_move_each_value_once(void **state) {
  (void)state;
  text_case c =
      good("m=8 n=6 CP=:A[m,n]>Z[m,n]", "Main Buf +MAC", "Main[A] Buf[Z] m:1 n:1 +CP@MAC");
  assert_int_equal(loom_result_stats(c.r, 0)->n_buffets, 3);
  assert_null(case_buffet(&c, 0, "Buf", "Z"));
  equals(&c, FIELD(buffet(&c, "Main", "A"), total_read_actions), 384);
  equals(&c, FIELD(buffet(&c, "Buf", "A"), total_write_actions), 384);
  equals(&c, loom_result_stats(c.r, 0)->compute.total_ops, 0);
  case_end(&c);
  c = good("m=8 n=6 CP=:A[m,n]>Z[m,n]", "Main +MAC", "Main[A,Z] m:1 n:1 +CP@MAC");
  equals(&c, FIELD(buffet(&c, "Main", "A"), total_read_actions), 0);
  equals(&c, FIELD(buffet(&c, "Main", "A"), total_write_actions), 0);
  equals(&c, FIELD(buffet(&c, "Main", "A"), max_occupancy), 384);
  case_end(&c);
}

static void counts_are_formulas_of_tiles_sizes_and_bits(void **state) {
  (void)state;
  text_case c = good("m=M k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]", "Main Buf +MAC",
                     "Main[A,B,Z] m:M0 Buf[A,B,Z] m:1 n:1 k:1 +MM@MAC");
  loom_expr size = loom_symbol(c.ctx, "M", NULL), tile = loom_symbol(c.ctx, "M0", NULL);
  loom_expr fills = loom_mul(c.ctx, loom_int(c.ctx, 24), loom_div(c.ctx, size, tile));
  assert_int_equal(FIELD(buffet(&c, "Buf", "B"), total_reads_to_parent), fills);
  assert_int_equal(FIELD(buffet(&c, "Buf", "A"), total_reads_to_parent),
                   loom_mul(c.ctx, loom_int(c.ctx, 4), size));
  assert_int_equal(FIELD(buffet(&c, "Buf", "A"), max_occupancy),
                   loom_mul(c.ctx, loom_int(c.ctx, 32), tile));
  const loom_expr *symbols;
  assert_int_equal(loom_result_symbols(c.r, 0, &symbols), 1);
  assert_int_equal(symbols[0], tile);
  case_end(&c);
}

/* 10 rows in tiles of 4: B's fills round up, everything of the rows themselves is a fraction; with
** a symbol on the path nothing rounds. */
static void uneven_tiles_round_for_tensors_that_do_not_use_them(void **state) {
  (void)state;
  text_case c = good("m=10 k=7 n=9 MM:A[m,k],B[k,n]>Z[m,n]", "Main Buf +MAC",
                     "Main[A,B,Z] m:4 Buf-[A,B,Z] k:1 m:1 n:1 +MM@MAC");
  equals(&c, FIELD(buffet(&c, "Buf", "B"), total_reads_to_parent), 189);
  equals(&c, FIELD(buffet(&c, "Buf", "A"), total_reads_to_parent), 70);
  equals(&c, FIELD(buffet(&c, "MAC", "B"), total_reads_to_parent), 756);
  equals(&c, loom_result_stats(c.r, 0)->compute.total_ops, 630);
  case_end(&c);
  c = good("m=10 k=7 n=9 MM:A[m,k],B[k,n]>Z[m,n]", "Main Buf +MAC",
           "Main[A,B,Z] m:4 Buf-[A,B,Z] n:N0 k:1 m:1 n:1 +MM@MAC");
  assert_int_equal(FIELD(buffet(&c, "Buf", "B"), total_reads_to_parent), loom_ratio(c.ctx, 315, 2));
  case_end(&c);
}

/* 18 in a first tile of 6 and three of 4: counts of one unit add over time. */
static void first_tiles_add_over_time(void **state) {
  (void)state;
  text_case c = good("p=18 r=3 C:I[p+r],F[r]>O[p]", "Main Buf +MAC",
                     "Main[I,F,O] p:4^6 Buf-[I,F,O] r:1 p:1 +C@MAC");
  equals(&c, FIELD(buffet(&c, "Buf", "F"), max_per_parent_reads_to_parent), 12);
  equals(&c, FIELD(buffet(&c, "MAC", "F"), total_reads_to_parent), 54);
  equals(&c, FIELD(buffet(&c, "Buf", "I"), total_reads_to_parent), 8 + 3 * 6);
  equals(&c, FIELD(buffet(&c, "Buf", "I"), max_occupancy), 64);
  equals(&c, FIELD(buffet(&c, "Buf", "O"), min_per_unit_skipped_first_write_actions), 144);
  equals(&c, loom_result_stats(c.r, 0)->temporal_steps, 54);
  const loom_node *nodes;
  loom_result_path(c.r, 0, &nodes);
  equals(&c, nodes[6].trips, 4);
  case_end(&c);
}

static void symbolic_first_tiles_agree_with_numbers(void **state) {
  (void)state;
  text_case c = good("p=24 r=3 C:I[2*p+r],F[r]>O[p]", "Main Buf +MAC",
                     "Main[I,F,O] p:T^S Buf-[I,F,O] r:1 p:1 +C@MAC");
  loom_expr symbols[2] = {loom_symbol(c.ctx, "T", NULL), loom_symbol(c.ctx, "S", NULL)};
  static const int points[][2] = {{8, 8}, {2, 18}, {1, 17}, {4, 4}, {24, 24}};
  for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
    char mapping[128];
    snprintf(mapping, sizeof mapping, "Main[I,F,O] p:%d^%d Buf-[I,F,O] r:1 p:1 +C@MAC",
             points[p][0], points[p][1]);
    text_case d = good("p=24 r=3 C:I[2*p+r],F[r]>O[p]", "Main Buf +MAC", mapping);
    const loom_stats *s = loom_result_stats(c.r, 0), *n = loom_result_stats(d.r, 0);
    loom_expr values[2] = {loom_int(c.ctx, points[p][0]), loom_int(c.ctx, points[p][1])};
    for (size_t i = 0; i < s->n_buffets; i++)
      for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
        if (n->buffets[i].field[f] == LOOM_NONE) continue;
        int64_t expected = -1;
        assert_true(loom_as_int(d.ctx, n->buffets[i].field[f], &expected));
        equals(&c, loom_substitute(c.ctx, s->buffets[i].field[f], 2, symbols, values), expected);
      }
    case_end(&d);
  }
  case_end(&c);
}

/* 8 columns on units of 4, 2 and 2: one has twice the work. */
static void units_with_different_tiles(void **state) {
  (void)state;
  text_case c = good("p=8 r=3 C:I[p+r],F[r]>O[p]", "Main #PE(X=4) Buf +MAC",
                     "Main[F,I,O] p:2^4@PE.X Buf-[F,O] r:1 p:1 +C@MAC");
  equals(&c, FIELD(buffet(&c, "Buf", "F"), total_reads_to_parent), 3);
  equals(&c, FIELD(buffet(&c, "Buf", "F"), total_write_actions), 3 * 3 * 8);
  equals(&c, FIELD(buffet(&c, "Buf", "O"), total_reads_to_parent), 8);
  equals(&c, FIELD(buffet(&c, "Buf", "O"), max_per_unit_write_actions), 8 * (4 + 12));
  equals(&c, FIELD(buffet(&c, "Buf", "O"), min_per_unit_skipped_first_write_actions), 8 * 2);
  equals(&c, FIELD(buffet(&c, "Buf", "O"), max_occupancy), 8 * 4);
  const loom_stats *stats = loom_result_stats(c.r, 0);
  equals(&c, stats->compute.total_ops, 24);
  equals(&c, stats->temporal_steps, 12);
  equals(&c, stats->fanout[0].used, 3);
  case_end(&c);
}

/* F does not use p, but how often the inner loop runs depends on the unit. */
static void loops_around_different_tiles_keep_their_place(void **state) {
  (void)state;
  static const char *const mappings[] = {"Main[F,I,O] p:2@PE.X p:1 Buf-[F] r:1 +C@MAC",
                                         "Main[F,I,O] p:2^4@PE.X p:1 Buf-[F] r:1 +C@MAC"};
  text_case c = good("p=8 r=3 C:I[p+r],F[r]>O[p]", "Main Buf #PE(X=4) +MAC", mappings[0]);
  case_end(&c);
  c = case_analyze("p=8 r=3 C:I[p+r],F[r]>O[p]", "Main Buf #PE(X=4) +MAC", mappings[1]);
  assert_null(c.r);
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_SPATIAL_TEMPORAL_ORDER);
  case_end(&c);
}

static void too_many_first_tiles_are_refused(void **state) {
  (void)state;
  char mapping[512] = "Main[A,Z] ";
  for (int i = 0; i < 13; i++) {
    size_t used = strlen(mapping);
    snprintf(mapping + used, sizeof mapping - used, "m:%d^%d ", 1 << (13 - i), 1 << (13 - i));
  }
  strcat(mapping, "m:1 +E@MAC");
  text_case c = case_analyze("m=16384 E:A[m]>Z[m]", "Main +MAC", mapping);
  assert_null(c.r);
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_LIMIT);
  case_end(&c);
}

static void first_latency_of_fused_loops(void **state) {
  (void)state;
  text_case c = good(CHAIN, "Main Buf +MAC",
                     "Main[T0,W0,W1,T2] m:4 m:2 Buf-[T1] "
                     "{ m:1 a:1 b:1 +E0@MAC | m:1 b:1 c:1 +E1@MAC }");
  const loom_stats *first = loom_result_stats(c.r, 0), *second = loom_result_stats(c.r, 1);
  assert_int_equal(first->n_first_latency, 1);
  assert_int_equal(first->first_latency[0].loop, 1);
  equals(&c, first->first_latency[0].steps, 2 * 4 * 6);
  equals(&c, second->first_latency[0].steps, 2 * 6 * 8);
  case_end(&c);
  c = good("p=10 k=2 E0:A[p+k]>T[p,k] E1:T[p,k]>Z[p,k]", "Main Buf +MAC",
           "Main[A,Z] k:1 p:2^4 Buf-[T] { p:1 +E0@MAC | p:1 +E1@MAC }");
  equals(&c, loom_result_stats(c.r, 0)->first_latency[0].steps, 4);
  equals(&c, loom_result_stats(c.r, 0)->temporal_steps, 20);
  case_end(&c);
}

/* ---- custom holders ----------------------------------------------------------------------- */

/* A store that keeps values packed to a quarter. */
static loom_status packed(void *data, loom_ctx *ctx, loom_analysis *self, const loom_node *node,
                          const loom_shape *shape, loom_stats *stats) {
  int *calls = data;
  ++*calls;
  if (strcmp(node->custom, "packed") != 0 || node->backing || shape->n != 3)
    return loom_error_set(ctx, LOOM_ERR_CALLBACK, "unexpected node");
  loom_status status = loom_analyze_as(self, LOOM_NODE_STORAGE, stats);
  if (status != LOOM_OK) return status;
  loom_gc_begin(ctx);
  loom_gc_end(ctx);
  loom_buffet *b = &stats->buffets[stats->n_buffets - 1];
  b->field[LOOM_BUFFET_max_occupancy] =
      loom_div(ctx, b->field[LOOM_BUFFET_max_occupancy], loom_int(ctx, 4));
  b->n_loops_above = 77;
  return LOOM_OK;
}

static void custom_holders_use_and_change_built_in_ones(void **state) {
  (void)state;
  text_case c = case_begin("m=M k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]", "Main Buf +MAC",
                           "Main[A,B,Z] m:M0 packed~Buf-[A] m:1 n:1 k:1 +MM@MAC");
  int calls = 0;
  loom_node_analyzer analyzer = {"packed", packed, &calls};
  loom_options options = {.model = LOOM_REFERENCE, .analyzers = &analyzer, .n_analyzers = 1};
  c.r = loom_analyze(c.w, c.a, c.m, &options);
  if (!c.r) fail_msg("%s", loom_error_message(c.ctx));
  assert_int_equal(calls, 1);
  loom_gc_begin(c.ctx);
  loom_gc_end(c.ctx);
  const loom_buffet *a = buffet(&c, "Buf", "A");
  loom_expr tile = loom_symbol(c.ctx, "M0", NULL);
  assert_int_equal(FIELD(a, max_occupancy), loom_mul(c.ctx, loom_int(c.ctx, 8), tile));
  assert_int_equal(FIELD(a, total_reads_to_parent),
                   loom_mul(c.ctx, loom_int(c.ctx, 4), loom_symbol(c.ctx, "M", NULL)));
  assert_int_equal(a->n_loops_above, 1);
  case_end(&c);
}

static loom_status failing(void *data, loom_ctx *ctx, loom_analysis *self, const loom_node *node,
                           const loom_shape *shape, loom_stats *stats) {
  (void)self, (void)node, (void)shape;
  const char *how = data;
  if (strcmp(how, "drop") == 0) stats->n_buffets--;
  if (strcmp(how, "none") == 0) stats->buffets[0].field[0] = LOOM_NONE;
  if (strcmp(how, "error") == 0) return loom_error_set(ctx, LOOM_ERR_CALLBACK, "no such thing");
  return strcmp(how, "status") == 0 ? LOOM_ERR_CALLBACK : LOOM_OK;
}

static void failing_analyzers_are_errors(void **state) {
  (void)state;
  static const char *const ways[] = {"drop", "none", "error", "status"};
  for (size_t i = 0; i < 4; i++) {
    text_case c = case_begin(MATMUL, "Main Buf +MAC", "Main[A,B,Z] odd~Buf[A] " LOOPS);
    loom_node_analyzer analyzer = {"odd", failing, (void *)(uintptr_t)ways[i]};
    loom_options options = {.model = LOOM_REFERENCE, .analyzers = &analyzer, .n_analyzers = 1};
    assert_null(loom_analyze(c.w, c.a, c.m, &options));
    assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_CALLBACK);
    case_end(&c);
  }
}

/* ---- memory ------------------------------------------------------------------------------- */

static void results_outlive_what_they_are_made_of(void **state) {
  (void)state;
  text_case c = good(MATMUL, "Main Buf +MAC", "Main[A,B,Z] m:M0 Buf[A,B,Z] " LOOPS);
  loom_mapping_free(c.m);
  loom_arch_free(c.a);
  loom_workload_free(c.w);
  c.m = NULL;
  c.a = NULL;
  c.w = NULL;
  loom_gc_begin(c.ctx);
  loom_gc_end(c.ctx);
  loom_expr tile = loom_symbol(c.ctx, "M0", NULL);
  assert_int_equal(FIELD(buffet(&c, "Buf", "A"), max_occupancy),
                   loom_mul(c.ctx, loom_int(c.ctx, 32), tile));
  const loom_node *nodes;
  assert_int_equal(loom_result_nest(c.r, 0, 2, &nodes), 9);
  assert_string_equal(nodes[0].component, "Main");
  case_end(&c);
}

static void results_stay_bounded_under_collection(void **state) {
  (void)state;
  text_case c = good(MATMUL, "Main Buf +MAC", "Main[A,B,Z] m:M0 Buf[A,B,Z] n:N0 " LOOPS);
  size_t bytes = 0;
  for (int i = 0; i < 400; i++) {
    loom_result_free(loom_analyze(c.w, c.a, c.m, &of_reference));
    loom_gc_begin(c.ctx);
    loom_gc_end(c.ctx);
    if (i == 10) bytes = loom_ctx_bytes(c.ctx);
  }
  assert_int_equal(loom_ctx_bytes(c.ctx), bytes);
  case_end(&c);
}

/* Every allocation of an analysis fails in turn: an error each time, nothing lost. */
static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  bool done = false;
  for (size_t extra = 0; !done; extra += 512) {
    text_case c = case_begin(MATMUL, "Main Buf #PE(X=4) Reg +MAC",
                             "Main[A,B,Z] m:M0 Buf[A,B,Z] n:2@PE.X Reg[A,B,Z] n:N0 " LOOPS);
    assert_int_equal(loom_error_status(c.ctx), LOOM_OK);
    loom_base_of(c.ctx)->bytes_limit = loom_ctx_bytes(c.ctx) + extra;
    c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
    done = c.r != NULL;
    if (!done) assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_MEMORY);
    assert_true(extra < 1 << 24);
    case_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outputs_return_for_each_part_of_a_reduction),
      cmocka_unit_test(skip_settings_count_apart),
      cmocka_unit_test(persistent_tensors_stand_above_all_loops),
      cmocka_unit_test(units_share_what_does_not_depend_on_them),
      cmocka_unit_test(reuse_only_where_the_dimension_allows_it),
      cmocka_unit_test(tolls_charge_what_passes),
      cmocka_unit_test(bits_and_values_per_action_by_tensor),
      cmocka_unit_test(copies_move_each_value_once),
      cmocka_unit_test(counts_are_formulas_of_tiles_sizes_and_bits),
      cmocka_unit_test(uneven_tiles_round_for_tensors_that_do_not_use_them),
      cmocka_unit_test(first_tiles_add_over_time),
      cmocka_unit_test(symbolic_first_tiles_agree_with_numbers),
      cmocka_unit_test(units_with_different_tiles),
      cmocka_unit_test(loops_around_different_tiles_keep_their_place),
      cmocka_unit_test(too_many_first_tiles_are_refused),
      cmocka_unit_test(first_latency_of_fused_loops),
      cmocka_unit_test(custom_holders_use_and_change_built_in_ones),
      cmocka_unit_test(failing_analyzers_are_errors),
      cmocka_unit_test(results_outlive_what_they_are_made_of),
      cmocka_unit_test(results_stay_bounded_under_collection),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
