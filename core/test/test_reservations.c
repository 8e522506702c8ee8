/* SPDX-License-Identifier: MIT */
/* Where reservations sink to, rule by rule, in the notation of nest_text.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nest_text.h"

#define MATMUL "m=8 k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]"
#define CONV "p=8 r=3 k=4 C:I[p+r],F[r,k]>O[k,p]"
#define LEVELS "Main Buf(X=4) Reg +MAC"

static void check(const char *workload, const char *mapping, const char *expected) {
  text_case c = case_analyze(workload, LEVELS, mapping);
  if (!c.r) fail_msg("%s: %s", mapping, loom_error_message(c.ctx));
  char text[1024];
  const loom_node *nodes;
  size_t n = loom_result_path(c.r, 0, &nodes);
  write_nodes(c.ctx, nodes, n, text, sizeof text);
  assert_string_equal(text, expected);
  case_end(&c);
}

#define BACKED "Main[A] (A@Main) Main[B] (B@Main) Main[Z] (Z@Main) "
#define CONV_BACKED "Main[I] (I@Main) Main[F] (F@Main) Main[O] (O@Main) "

static void backing_holders_stay(void **state) {
  (void)state;
  check(MATMUL, "Main[A,B,Z] m:1 k:1 n:1 +MM@MAC", BACKED "m:1 k:1 n:1 +MM@MAC");
}

static void sinks_through_relevant_loops_only(void **state) {
  (void)state;
  check(MATMUL, "Main[A,B,Z] Buf[Z] m:1 n:1 k:1 +MM@MAC",
        BACKED "Buf[Z] m:1 n:1 (Z@Buf) k:1 +MM@MAC");
  check(MATMUL, "Main[A,B,Z] Buf[Z] k:1 m:1 n:1 +MM@MAC",
        BACKED "Buf[Z] (Z@Buf) k:1 m:1 n:1 +MM@MAC");
  check(MATMUL, "Main[A,B,Z] Buf[Z] m:2 m:1 n:1 k:1 +MM@MAC",
        BACKED "Buf[Z] m:2 m:1 n:1 (Z@Buf) k:1 +MM@MAC");
  check(MATMUL, "Main[A,B,Z] k:1 Buf[Z] m:1 n:1 +MM@MAC",
        BACKED "k:1 Buf[Z] m:1 n:1 (Z@Buf) +MM@MAC");
}

static void sinks_below_one_partially_relevant_loop(void **state) {
  (void)state;
  check(CONV, "Main[I,F,O] Buf[I] p:1 r:1 k:1 +C@MAC",
        CONV_BACKED "Buf[I] p:1 (I@Buf) r:1 k:1 +C@MAC");
  check(CONV, "Main[I,F,O] Buf[I] k:1 p:1 r:1 +C@MAC",
        CONV_BACKED "Buf[I] (I@Buf) k:1 p:1 r:1 +C@MAC");
}

static void only_the_last_of_a_run_sinks(void **state) {
  (void)state;
  check(MATMUL, "Main[A,B,Z] Buf[A,Z] m:1 n:1 k:1 +MM@MAC",
        BACKED "Buf[A] (A@Buf) Buf[Z] m:1 n:1 (Z@Buf) k:1 +MM@MAC");
}

static void another_holder_stops_it(void **state) {
  (void)state;
  check(MATMUL, "Main[A,B,Z] Buf[Z] m:1 Reg[A] n:1 k:1 +MM@MAC",
        BACKED "Buf[Z] m:1 (Z@Buf) Reg[A] (A@Reg) n:1 k:1 +MM@MAC");
}

static void may_not_be_lowered(void **state) {
  (void)state;
  check(MATMUL, "Main[A,B,Z] Buf-[Z] m:1 n:1 k:1 +MM@MAC",
        BACKED "Buf[Z] (Z@Buf) m:1 n:1 k:1 +MM@MAC");
}

static void spatial_loops_stop_all_but_their_own_component(void **state) {
  (void)state;
  check(MATMUL, "Main[A,B,Z] Buf[Z] m:2@Buf.X m:1 n:1 k:1 +MM@MAC",
        BACKED "Buf[Z] m:2@Buf.X m:1 n:1 (Z@Buf) k:1 +MM@MAC");
  check(MATMUL, "Main[A,B,Z] m:4 Buf[A,B] Reg[Z] m:2@Buf.X m:1 n:1 k:1 +MM@MAC",
        BACKED "m:4 Buf[A] (A@Buf) Buf[B] (B@Buf) Reg[Z] (Z@Reg) m:2@Buf.X m:1 n:1 k:1 +MM@MAC");
}

static void copies_never_sink_and_lose_what_is_below_the_last_backing(void **state) {
  (void)state;
  check("m=8 n=4 CP=:A[m,n]>Z[m,n]", "Main[A] m:2 Buf[A,Z] Reg[A,Z] m:1 n:1 +CP@MAC",
        "Main[A] (A@Main) m:2 Buf[A] (A@Buf) Buf[Z] (Z@Buf) m:1 n:1 +CP@MAC");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(backing_holders_stay),
      cmocka_unit_test(sinks_through_relevant_loops_only),
      cmocka_unit_test(sinks_below_one_partially_relevant_loop),
      cmocka_unit_test(only_the_last_of_a_run_sinks),
      cmocka_unit_test(another_holder_stops_it),
      cmocka_unit_test(may_not_be_lowered),
      cmocka_unit_test(spatial_loops_stop_all_but_their_own_component),
      cmocka_unit_test(copies_never_sink_and_lose_what_is_below_the_last_backing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
