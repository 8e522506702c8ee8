/* SPDX-License-Identifier: MIT */
/* Paths, fused loops, symbols of open loops, and every way in which a mapping can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nest_text.h"

#define MATMUL "m=8 k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]"
#define CHAIN "m=8 a=4 b=6 c=8 E0:T0[m,a],W0[a,b]>T1[m,b] E1:T1[m,b],W1[b,c]>T2[m,c]"
#define TWO_LEVELS "Main Buf +MAC"
#define ARRAY "Main Buf #PE(X=4) Reg +MAC"
#define LOOPS "m:1 k:1 n:1 +MM@MAC"

static void check_path(const text_case *c, size_t einsum, const char *expected) {
  char text[1024];
  const loom_node *nodes;
  size_t n = loom_result_path(c->r, einsum, &nodes);
  write_nodes(c->ctx, nodes, n, text, sizeof text);
  assert_string_equal(text, expected);
}

static void splits_holders_and_marks_backing(void **state) {
  (void)state;
  text_case c = case_analyze(MATMUL, TWO_LEVELS, "Main[A,B,Z] m:2 Buf-[Z,A] " LOOPS);
  assert_non_null(c.r);
  check_path(&c, 0,
             "Main[A] (A@Main) Main[B] (B@Main) Main[Z] (Z@Main) m:2 Buf[Z] (Z@Buf) Buf[A] (A@Buf) "
             "m:1 k:1 n:1 +MM@MAC");
  const loom_node *nodes;
  loom_result_path(c.r, 0, &nodes);
  assert_true(nodes[0].backing);
  assert_false(nodes[7].backing);
  assert_int_equal(nodes[6].loop, 0);
  case_end(&c);
}

static void walks_branches_and_drops_foreign_tensors(void **state) {
  (void)state;
  text_case c = case_analyze(CHAIN, TWO_LEVELS,
                             "Main[T0,W0,W1,T2] Buf[T1] "
                             "{ m:1 a:1 b:1 +E0@MAC | Buf[W1] b:1 m:1 c:1 +E1@MAC }");
  assert_non_null(c.r);
  assert_int_equal(loom_result_einsums(c.r), 2);
  check_path(&c, 0, "Main[T0] (T0@Main) Main[W0] (W0@Main) Buf[T1] (T1@Buf) m:1& a:1 b:1 +E0@MAC");
  check_path(&c, 1,
             "Main[W1] (W1@Main) Main[T2] (T2@Main) Buf[T1] (T1@Buf) Buf[W1] b:1& (W1@Buf) m:1 c:1 "
             "+E1@MAC");
  case_end(&c);
}

static void takes_the_variable_of_the_einsum(void **state) {
  (void)state;
  text_case c =
      case_begin("m=8 p=8 k=2 E0:A[m,k]>T[m,k] E1:T[p,k]>Z[p,k]", TWO_LEVELS, "Main[A,Z]");
  int loop = loom_mapping_temporal(c.m, 0, NULL, loom_int(c.ctx, 2), LOOM_NONE);
  loom_mapping_variable_in(c.m, loop, "E0", "m");
  loom_mapping_variable_in(c.m, loop, "E1", "p");
  loom_mapping_tensor(c.m, loom_mapping_storage(c.m, 0, "Buf", false, false), "T");
  int split = loom_mapping_sequential(c.m, 0);
  static const char *const names[2][3] = {{"m", "k", "E0"}, {"p", "k", "E1"}};
  for (int i = 0; i < 2; i++) {
    int list = loom_mapping_branch(c.m, split);
    for (int v = 0; v < 2; v++)
      loom_mapping_temporal(c.m, list, names[i][v], loom_int(c.ctx, 1), LOOM_NONE);
    loom_mapping_compute(c.m, list, names[i][2], "MAC");
  }
  c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
  assert_non_null(c.r);
  check_path(&c, 0, "Main[A] (A@Main) m:2& Buf[T] (T@Buf) m:1 k:1 +E0@MAC");
  check_path(&c, 1, "Main[Z] (Z@Main) p:2& Buf[T] (T@Buf) p:1 k:1 +E1@MAC");
  case_end(&c);
}

static void fuses_one_loop_more_where_the_holder_may_sink(void **state) {
  (void)state;
  text_case c = case_analyze(CHAIN, TWO_LEVELS,
                             "Main[T0,W0,W1,T2] m:4 Buf[T1] "
                             "{ m:1 a:1 b:1 +E0@MAC | m:1 b:1 c:1 +E1@MAC }");
  assert_non_null(c.r);
  check_path(&c, 0,
             "Main[T0] (T0@Main) Main[W0] (W0@Main) m:4& Buf[T1] (T1@Buf) m:1& a:1 b:1 +E0@MAC");
  case_end(&c);
}

static void names_open_loops(void **state) {
  (void)state;
  text_case c =
      case_analyze("p=16 r=3 k=4 q=1 E0:I[p+r],W[r,k]>T[p,k] E1:T[p,k],V[k]>O[p,q]", TWO_LEVELS,
                   "Main[I,W,V,O] p:? Buf-[T] { k:? p:? q:? p:1 k:1 r:1 +E0@MAC "
                   "| p:1 k:1 q:1 +E1@MAC }");
  assert_null(c.r);
  assert_string_equal(loom_status_kind(loom_error_status(c.ctx)), "unknown_rank_variable");
  case_end(&c);
  c = case_analyze("p=16 r=3 k=4 E0:I[p+r],W[r,k]>T[p,k] E1:T[p,k],V[k]>O[p]", TWO_LEVELS,
                   "Main[I,W,V,O] p:? Buf-[T] { k:? p:? p:1 k:1 r:1 +E0@MAC | p:1 k:1 +E1@MAC }");
  assert_non_null(c.r);
  check_path(&c, 0,
             "Main[I] (I@Main) Main[W] (W@Main) p:stride0^initial0& Buf[T] (T@Buf) k:stride1 "
             "p:stride2 p:1 k:1 r:1 +E0@MAC");
  check_path(&c, 1, "Main[V] (V@Main) Main[O] (O@Main) p:stride0& Buf[T] (T@Buf) p:1 k:1 +E1@MAC");
  const loom_expr *symbols;
  assert_int_equal(loom_result_symbols(c.r, 0, &symbols), 4);
  assert_int_equal(symbols[0], loom_loop_symbol(c.ctx, LOOM_LOOP_INITIAL, 0));
  assert_int_equal(symbols[1], loom_loop_symbol(c.ctx, LOOM_LOOP_STRIDE, 0));
  assert_string_equal(loom_symbol_name(c.ctx, loom_loop_symbol(c.ctx, LOOM_LOOP_ITERATIONS, 7)),
                      "n_iterations7");
  case_end(&c);
}

static void open_loops_of_size_one_have_tile_one(void **state) {
  (void)state;
  text_case c = case_analyze("m=1 k=4 E:A[m,k]>Z[m]", "Main +MAC", "Main[A,Z] m:? k:1 +E@MAC");
  assert_non_null(c.r);
  check_path(&c, 0, "Main[A] (A@Main) Main[Z] (Z@Main) m:1 k:1 +E@MAC");
  case_end(&c);
}

/* ---- errors ------------------------------------------------------------------------------- */

typedef struct wrong {
  const char *kind, *workload, *arch, *mapping;
  const char *mentions[3];
} wrong;

static const wrong wrongs[] = {
    {"missing_loop", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:1 k:1 +MM@MAC", {"'n'"}},
    {"missing_loop", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:2 k:1 n:1 +MM@MAC", {"nodes[2]", "'m'"}},
    {"missing_loop", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:M0 k:1 n:1 +MM@MAC", {"'m'"}},
    {"unknown_rank_variable", MATMUL, TWO_LEVELS, "Main[A,B,Z] q:1 " LOOPS, {"nodes[2]", "'q'"}},
    {"unknown_rank_variable",
     CHAIN,
     TWO_LEVELS,
     "Main[T0,T1,W0,W1,T2] c:2 { m:1 a:1 b:1 +E0@MAC | m:1 b:1 c:1 +E1@MAC }",
     {"nodes[2]", "E0", "'c'"}},
    {"unknown_component",
     MATMUL,
     "Main Glb +MAC",
     "Main[A,B,Z] Gbl[A] " LOOPS,
     {"nodes[2]", "'Gbl'", "nearest: Glb"}},
    {"unknown_component",
     MATMUL,
     TWO_LEVELS,
     "Main[A,B,Z] m:1 k:1 n:1 +MM@MAX",
     {"'MAX'", "unknown component", "nearest: MAC"}},
    {"unknown_einsum", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:1 k:1 n:1 +NO@MAC", {"'NO'", "MM"}},
    {"unknown_dimension", MATMUL, ARRAY, "Main[A,B,Z] m:2@PE.Q " LOOPS, {"'Q'", "X", "nodes[2]"}},
    {"unknown_dimension", MATMUL, ARRAY, "Main[A,B,Z] m:2@Reg.X " LOOPS, {"'X'", "none"}},
    {"unknown_tensor", MATMUL, TWO_LEVELS, "Main[A,B,Z,Q] " LOOPS, {"nodes[1]", "'Q'", "A, B, Z"}},
    {"unknown_node_kind", MATMUL, TWO_LEVELS, "Main[A,B,Z] squeezed~Buf[A] " LOOPS, {"'squeezed'"}},
    {"wrong_class", MATMUL, ARRAY, "Main[A,B,Z] PE[A] " LOOPS, {"'PE'", "container"}},
    {"wrong_class", MATMUL, TWO_LEVELS, "Main[A,B,Z] !Buf[A] " LOOPS, {"'Buf'", "memory"}},
    {"wrong_class", MATMUL, "Main !Link +MAC", "Main[A,B,Z] Link[A] " LOOPS, {"'Link'", "toll"}},
    {"wrong_class", MATMUL, TWO_LEVELS, "Main[A,B,Z] MAC[A] " LOOPS, {"'MAC'", "compute unit"}},
    {"wrong_class", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:1 k:1 n:1 +MM@Buf", {"'Buf'", "compute"}},
    {"no_compute", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:1 k:1 n:1", {"nodes[4]", "compute"}},
    {"no_compute", MATMUL, TWO_LEVELS, "", {"compute"}},
    {"no_compute", MATMUL, TWO_LEVELS, "Main[A,B,Z] { " LOOPS " | }", {"nodes[2]", "branch 2"}},
    {"no_compute",
     MATMUL,
     TWO_LEVELS,
     "Main[A,B,Z] { " LOOPS " | m:1 }",
     {"nodes[2].branches[2][1]"}},
    {"unmapped_einsum", CHAIN, TWO_LEVELS, "Main[T0,T1,W0] m:1 a:1 b:1 +E0@MAC", {"'E1'"}},
    {"repeated_einsum", MATMUL, TWO_LEVELS, "Main[A,B,Z] { " LOOPS " | " LOOPS " }", {"'MM'"}},
    {"spatial_temporal_order",
     MATMUL,
     ARRAY,
     "Main[A,B,Z] m:2@PE.X m:1 Buf[A,B,Z] Reg[A,B,Z] k:1 n:1 +MM@MAC",
     {"nodes[2]", "'m'", "'PE'"}},
    {"storage_order", MATMUL, TWO_LEVELS, "Buf[A,B,Z] Main[A] " LOOPS, {"'A'", "'Buf'", "'Main'"}},
    {"toll_outermost",
     CHAIN,
     "Main !Link Buf +MAC",
     "Main[T0,T2,W0,W1] !Link[T1] { m:1 a:1 b:1 +E0@MAC | m:1 b:1 c:1 +E1@MAC }",
     {"'Link'", "'T1'"}},
    {"missing_storage", MATMUL, TWO_LEVELS, "Main[A,B] " LOOPS, {"'Z'"}},
    {"duplicate_storage",
     MATMUL,
     TWO_LEVELS,
     "Main[A,B,Z] Buf[A] m:4 Buf[A] " LOOPS,
     {"'A'", "'Buf'", "nodes[4]"}},
    {"duplicate_storage", MATMUL, TWO_LEVELS, "Main[A,B,Z] Buf[A,A] " LOOPS, {"'A'", "'Buf'"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:0 " LOOPS, {"nodes[2]", "0", "'m'"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:-2 " LOOPS, {"-2", "'m'"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:5/2 " LOOPS, {"5/2", "'m'"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:2 m:4 " LOOPS, {"nodes[3]", "4", "2"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:9 " LOOPS, {"9", "8"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:4^9 " LOOPS, {"first", "9", "8"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:2^4 m:3 " LOOPS, {"3", "2"}},
    {"bad_tile_shape", MATMUL, TWO_LEVELS, "Main[A,B,Z] m:2^0 " LOOPS, {"first", "0"}},
    {"bad_mapping", MATMUL, TWO_LEVELS, "Main[A,B,Z] " LOOPS " Buf[A]", {"nodes[6]"}},
    {"bad_mapping", MATMUL, "Main +MAC #PE(X=4)", "Main[A,B,Z] m:2@PE.X " LOOPS, {"'PE'", "'MAC'"}},
    {"bad_workload", "m=4 E:A[m]", TWO_LEVELS, "Main[A] m:1 +E@MAC", {"'E'", "output"}},
};

static void wrong_mappings_are_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
    const wrong *x = &wrongs[i];
    text_case c = case_analyze(x->workload, x->arch, x->mapping);
    const char *message = loom_error_message(c.ctx);
    if (c.r || strcmp(loom_status_kind(loom_error_status(c.ctx)), x->kind) != 0)
      fail_msg("%s: expected %s, got %s", x->mapping, x->kind, c.r ? "a result" : message);
    for (size_t k = 0; k < 3; k++)
      if (x->mentions[k] && !strstr(message, x->mentions[k]))
        fail_msg("'%s' does not mention %s", message, x->mentions[k]);
    case_end(&c);
  }
}

static void places_are_the_callers(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, TWO_LEVELS, "Main[A,B,Z] q:1 " LOOPS);
  loom_mapping_where(c.m, 1, "conv.loom:3:7");
  assert_null(loom_analyze(c.w, c.a, c.m, &of_reference));
  assert_ptr_equal(strstr(loom_error_message(c.ctx), "conv.loom:3:7: "), loom_error_message(c.ctx));
  case_end(&c);
}

static void switches_allow(void **state) {
  (void)state;
  static const char *const cases[][3] = {
      {MATMUL, "Main[A,B,Z,Q] " LOOPS, "unknown_tensor"},
      {MATMUL, "Main[A,B,Z] m:2 m:4 " LOOPS, "bad_tile_shape"},
      {CHAIN, "Main[T0,T1,W0] m:1 a:1 b:1 +E0@MAC", "unmapped_einsum"}};
  for (int i = 0; i < 3; i++) {
    text_case c = case_analyze(cases[i][0], TWO_LEVELS, cases[i][1]);
    assert_null(c.r);
    assert_string_equal(loom_status_kind(loom_error_status(c.ctx)), cases[i][2]);
    loom_error_clear(c.ctx);
    loom_options options = {.model = LOOM_REFERENCE,
                            .allow_unknown_tensors = i == 0,
                            .allow_growing_tiles = i == 1,
                            .allow_unmapped_einsums = i == 2};
    c.r = loom_analyze(c.w, c.a, c.m, &options);
    assert_non_null(c.r);
    case_end(&c);
  }
}

static void symbolic_tiles_that_must_be_too_large_are_refused(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, TWO_LEVELS, "Main[A,B,Z]");
  loom_assume large = {.integer = true, .has_min = true, .min = 9};
  loom_mapping_temporal(c.m, 0, "m", loom_symbol(c.ctx, "M0", &large), LOOM_NONE);
  int rest = loom_mapping_sequential(c.m, 0);
  text_reader r = {c.ctx, LOOPS};
  read_nodes(&r, c.m, loom_mapping_branch(c.m, rest));
  assert_null(loom_analyze(c.w, c.a, c.m, &of_reference));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_BAD_TILE_SHAPE);
  case_end(&c);
}

static void a_failed_tile_is_not_an_open_one(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, TWO_LEVELS, "Main[A,B,Z]");
  loom_expr failed = loom_div(c.ctx, loom_int(c.ctx, 1), loom_int(c.ctx, 0));
  assert_int_equal(loom_mapping_temporal(c.m, 0, "m", failed, LOOM_NONE), -1);
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_DOMAIN);
  case_end(&c);
}

static void contexts_do_not_mix(void **state) {
  (void)state;
  text_case c = case_begin(MATMUL, TWO_LEVELS, "Main[A,B,Z] " LOOPS);
  text_case d = case_begin(MATMUL, TWO_LEVELS, "Main[A,B,Z] " LOOPS);
  assert_null(loom_analyze(c.w, d.a, c.m, &of_reference));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_ARGUMENT);
  case_end(&c);
  case_end(&d);
}

static void deep_splits_and_long_paths(void **state) {
  (void)state;
  text_case c = case_begin("m=2 E:A[m]>Z[m]", "Main +MAC", "Main[A,Z]");
  int list = 0;
  for (int i = 0; i < 5000; i++) {
    if (i < 1000) loom_mapping_temporal(c.m, list, "m", loom_int(c.ctx, 2), LOOM_NONE);
    list = loom_mapping_branch(c.m, loom_mapping_sequential(c.m, list));
  }
  loom_mapping_temporal(c.m, list, "m", loom_int(c.ctx, 1), LOOM_NONE);
  int leaf = loom_mapping_compute(c.m, list, "E", "NONE");
  assert_null(loom_analyze(c.w, c.a, c.m, &of_reference));
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_UNKNOWN_COMPONENT);
  assert_non_null(strstr(loom_error_message(c.ctx), ".branches[1][2]: unknown component 'NONE'"));
  assert_int_equal(leaf, 6002);
  case_end(&c);
  c = case_begin("m=2 E:A[m]>Z[m]", "Main +MAC", "Main[A,Z]");
  for (list = 0; list < 5000;) {
    loom_mapping_temporal(c.m, list, "m", loom_int(c.ctx, list < 4999 ? 2 : 1), LOOM_NONE);
    list = loom_mapping_branch(c.m, loom_mapping_sequential(c.m, list));
  }
  loom_mapping_compute(c.m, list, "E", "MAC");
  c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
  assert_non_null(c.r);
  assert_int_equal(case_buffet(&c, 0, "MAC", "A")->n_loops_above, 5000);
  case_end(&c);
}

/* ---- random trees ------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* A word of a list with one more, wrong, now and then. */
static const char *pick(uint32_t *seed, const char *const *words, uint32_t n) {
  uint32_t i = next_random(seed) % (40 * n);
  return i == 0 ? "odd" : words[i % n];
}

static void random_nodes(uint32_t *seed, text_case *c, int list, int depth) {
  static const char *const components[] = {"Buf", "Reg", "Reg"};
  static const char *const variables[] = {"m", "b"};
  static const char *const tensors[] = {"T0", "W0", "T1", "W1", "T2"};
  static const char *const own[2][4] = {{"m", "a", "b", "E0"}, {"m", "b", "c", "E1"}};
  static const char *const tiles[] = {"4", "2", "2", "1", "X", "?"};
  uint32_t n = next_random(seed) % 5;
  for (uint32_t i = 0; i < n; i++) {
    const char *tile = tiles[next_random(seed) % 6];
    loom_expr shape = word_expr(c->ctx, tile);
    loom_expr first = next_random(seed) % 6 ? LOOM_NONE : word_expr(c->ctx, "2");
    const char *component = pick(seed, components, 3), *variable = pick(seed, variables, 2);
    int node = -1;
    switch (next_random(seed) % 6) {
    case 0: node = loom_mapping_storage(c->m, list, component, false, i & 1); break;
    case 1: node = loom_mapping_toll(c->m, list, "Link", i & 1); break;
    case 2: loom_mapping_spatial(c->m, list, variable, shape, first, "PE", "X"); break;
    default: loom_mapping_temporal(c->m, list, variable, shape, first);
    }
    for (int t = 0; node >= 0 && t < 3; t++)
      loom_mapping_tensor(c->m, node, pick(seed, tensors, 5));
  }
  if (depth > 0 && next_random(seed) % 2) {
    int split = loom_mapping_sequential(c->m, list);
    for (uint32_t i = next_random(seed) % 3 + 1; i > 0; i--)
      random_nodes(seed, c, loom_mapping_branch(c->m, split), depth - 1);
  } else {
    uint32_t e = next_random(seed) % 2;
    for (int v = 0; v < 3; v++)
      loom_mapping_temporal(c->m, list, own[e][v], loom_int(c->ctx, 1), LOOM_NONE);
    loom_mapping_compute(c->m, list, pick(seed, &own[e][3], 1), "MAC");
  }
}

static void random_trees_give_results_or_errors(void **state) {
  (void)state;
  const char *given = getenv("EINLOOM_SEED");
  uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 10) : 5;
  print_message("seed %u\n", seed);
  int results = 0;
  for (int i = 0; i < 3000; i++) {
    text_case c = case_begin(CHAIN, "Main !Link Buf #PE(X=4) Reg +MAC",
                             i & 7 ? "Main[T0,W0,T1,W1,T2] m:4" : "");
    random_nodes(&seed, &c, 0, 3);
    loom_options options = {
        .model = LOOM_REFERENCE, .allow_unknown_tensors = true, .allow_unmapped_einsums = true};
    c.r = loom_analyze(c.w, c.a, c.m, &options);
    assert_true((c.r == NULL) == (loom_error_status(c.ctx) != LOOM_OK));
    results += c.r != NULL;
    case_end(&c);
  }
  assert_true(results > 300);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(splits_holders_and_marks_backing),
      cmocka_unit_test(walks_branches_and_drops_foreign_tensors),
      cmocka_unit_test(takes_the_variable_of_the_einsum),
      cmocka_unit_test(fuses_one_loop_more_where_the_holder_may_sink),
      cmocka_unit_test(names_open_loops),
      cmocka_unit_test(open_loops_of_size_one_have_tile_one),
      cmocka_unit_test(wrong_mappings_are_named),
      cmocka_unit_test(places_are_the_callers),
      cmocka_unit_test(switches_allow),
      cmocka_unit_test(symbolic_tiles_that_must_be_too_large_are_refused),
      cmocka_unit_test(a_failed_tile_is_not_an_open_one),
      cmocka_unit_test(contexts_do_not_mix),
      cmocka_unit_test(deep_splits_and_long_paths),
      cmocka_unit_test(random_trees_give_results_or_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
