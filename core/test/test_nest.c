/* SPDX-License-Identifier: MIT */
/* The nest of each tensor: spatial loops go where their hardware is, runs keep the path's order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nest_text.h"

#define MATMUL "m=8 k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]"
#define ARRAY "Main #PE(X=4) Buf Reg +MAC"

static void check(const char *workload, const char *arch, const char *mapping, const char *tensor,
                  const char *expected) {
  text_case c = case_analyze(workload, arch, mapping);
  if (!c.r) fail_msg("%s: %s", mapping, loom_error_message(c.ctx));
  char text[1024];
  for (size_t i = 0; i < loom_result_tensors(c.r, 0); i++) {
    if (strcmp(loom_result_tensor(c.r, 0, i), tensor) != 0) continue;
    const loom_node *nodes;
    size_t n = loom_result_nest(c.r, 0, i, &nodes);
    write_nodes(c.ctx, nodes, n, text, sizeof text);
    assert_string_equal(text, expected);
  }
  case_end(&c);
}

static void other_tensors_nodes_vanish(void **state) {
  (void)state;
  check(MATMUL, "Main Buf +MAC", "Main[A,B,Z] m:2 Buf[A,Z] m:1 k:1 n:1 +MM@MAC", "B",
        "Main[B] (B@Main) m:2 m:1 k:1 n:1 +MM@MAC");
}

static void spatial_loops_move_above_the_holders_below_their_array(void **state) {
  (void)state;
  check(MATMUL, ARRAY, "Main[A,B,Z] Buf[A,B,Z] n:1@PE.X m:1 k:1 +MM@MAC", "A",
        "Main[A] (A@Main) n:1@PE.X Buf[A] (A@Buf) m:1 k:1 +MM@MAC");
}

static void spatial_loops_stay_below_the_holders_above_their_array(void **state) {
  (void)state;
  check(MATMUL, "Main Buf #PE(X=4) Reg +MAC", "Main[A,B,Z] n:1@PE.X Buf[A,B,Z] m:1 k:1 +MM@MAC",
        "A", "Main[A] (A@Main) Buf[A] (A@Buf) n:1@PE.X m:1 k:1 +MM@MAC");
}

static void a_fanout_of_a_memory_multiplies_it(void **state) {
  (void)state;
  check(MATMUL, "Main Buf(X=4) +MAC", "Main[A,B,Z] Buf-[A,B,Z] n:1@Buf.X m:1 k:1 +MM@MAC", "B",
        "Main[B] (B@Main) n:1@Buf.X Buf[B] (B@Buf) m:1 k:1 +MM@MAC");
}

static void moved_loops_are_sorted_into_their_run(void **state) {
  (void)state;
  check(MATMUL, "Main #PE(X=4) Buf +MAC", "Main[A,B,Z] m:4 n:1@PE.X m:2 Buf[A,B,Z] m:1 k:1 +MM@MAC",
        "A", "Main[A] (A@Main) m:4 n:1@PE.X m:2 Buf[A] (A@Buf) m:1 k:1 +MM@MAC");
}

static void reservations_delimit_runs(void **state) {
  (void)state;
  check(MATMUL, "Main Buf #PE(X=4) +MAC", "Main[A,B,Z] Buf[Z] m:1 n:2@PE.X n:1 k:1 +MM@MAC", "Z",
        "Main[Z] (Z@Main) Buf[Z] m:1 (Z@Buf) n:2@PE.X n:1 k:1 +MM@MAC");
}

static void order_matters_only_for_variables_the_tensor_uses(void **state) {
  (void)state;
  const char *mapping = "Main[A,B,Z] n:2@PE.X n:1 Buf-[A] m:1 k:1 +MM@MAC";
  check(MATMUL, "Main Buf #PE(X=4) +MAC", mapping, "A",
        "Main[A] (A@Main) n:1 Buf[A] (A@Buf) n:2@PE.X m:1 k:1 +MM@MAC");
  text_case c = case_analyze(MATMUL, "Main Buf #PE(X=4) +MAC",
                             "Main[A,B,Z] n:2@PE.X n:1 Buf[B] m:1 k:1 +MM@MAC");
  assert_null(c.r);
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_SPATIAL_TEMPORAL_ORDER);
  case_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(other_tensors_nodes_vanish),
      cmocka_unit_test(spatial_loops_move_above_the_holders_below_their_array),
      cmocka_unit_test(spatial_loops_stay_below_the_holders_above_their_array),
      cmocka_unit_test(a_fanout_of_a_memory_multiplies_it),
      cmocka_unit_test(moved_loops_are_sorted_into_their_run),
      cmocka_unit_test(reservations_delimit_runs),
      cmocka_unit_test(order_matters_only_for_variables_the_tensor_uses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
