/* SPDX-License-Identifier: MIT */
/* Relevancy, stride and halo, bounding boxes, variables used alone; the width of an index range is
** held against enumeration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/workload.h"
#include "nest_text.h"

#define CONV "p=12 r=3 k=4 c=2 E:F[k,c,r],I[c,2*p+3*r]>O[k,p]"

static int64_t occupancy(text_case *c, int access, size_t n, const char *const *names,
                         const int64_t *tile) {
  loom_expr extents[8];
  for (size_t i = 0; i < n; i++) extents[i] = loom_int(c->ctx, tile[i]);
  int64_t value = -1;
  assert_true(loom_as_int(c->ctx, loom_workload_tile_occupancy(c->w, 0, access, n, names, extents),
                          &value));
  return value;
}

static void relevancy_is_by_the_first_rank_that_mentions(void **state) {
  (void)state;
  text_case c = case_begin(CONV, "Main +MAC", "");
  assert_int_equal(loom_workload_relevancy(c.w, 0, 0, "k"), LOOM_RELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 0, "p"), LOOM_IRRELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 1, "p"), LOOM_PARTIALLY_RELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 1, "c"), LOOM_RELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 0, "x"), -1);
  assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_UNKNOWN_RANK_VARIABLE);
  case_end(&c);
  c = case_begin("p=8 r=2 E:A[p,p+r],B[p+r,p],C[2*p]>D[p+1]", "Main +MAC", "");
  assert_int_equal(loom_workload_relevancy(c.w, 0, 0, "p"), LOOM_RELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 1, "p"), LOOM_PARTIALLY_RELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 2, "p"), LOOM_RELEVANT);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 3, "p"), LOOM_PARTIALLY_RELEVANT);
  case_end(&c);
}

static void used_alone_wants_the_bare_variable_everywhere(void **state) {
  (void)state;
  text_case c = case_begin("p=8 r=2 k=4 m=3 E:A[p+r,m],B[2*k]>D[p,k,m]", "Main +MAC", "");
  assert_int_equal(loom_workload_used_alone(c.w, 0, "m"), 1);
  assert_int_equal(loom_workload_used_alone(c.w, 0, "k"), 0);
  assert_int_equal(loom_workload_used_alone(c.w, 0, "p"), 0);
  case_end(&c);
}

static void stride_and_halo(void **state) {
  (void)state;
  text_case c = case_begin(CONV, "Main +MAC", "");
  loom_expr stride, halo;
  assert_int_equal(loom_workload_stride_halo(c.w, 0, 1, 1, "p", &stride, &halo), LOOM_OK);
  assert_int_equal(stride, loom_int(c.ctx, 2));
  assert_int_equal(halo, loom_int(c.ctx, 6));
  assert_int_equal(loom_workload_stride_halo(c.w, 0, 1, 1, "r", &stride, &halo), LOOM_OK);
  assert_int_equal(stride, loom_int(c.ctx, 3));
  assert_int_equal(halo, loom_int(c.ctx, 22));
  assert_int_equal(loom_workload_stride_halo(c.w, 0, 1, 0, "r", &stride, &halo), LOOM_ERR_ARGUMENT);
  case_end(&c);
}

static void occupancy_of_tiles(void **state) {
  (void)state;
  text_case c = case_begin(CONV, "Main +MAC", "");
  static const char *const names[] = {"p", "r", "c"};
  assert_int_equal(occupancy(&c, 1, 3, names, (const int64_t[]){4, 2, 2}), 2 * (2 * 3 + 3 + 1));
  assert_int_equal(occupancy(&c, 0, 3, names, (const int64_t[]){4, 2, 2}), 4 * 2 * 2);
  assert_int_equal(occupancy(&c, 1, 0, names, NULL), 2 * (2 * 11 + 3 * 2 + 1));
  case_end(&c);
}

static void occupancy_is_a_formula(void **state) {
  (void)state;
  text_case c = case_begin(CONV, "Main +MAC", "");
  static const char *const names[] = {"p", "r"};
  loom_expr extents[] = {loom_symbol(c.ctx, "P", NULL), loom_int(c.ctx, 1)};
  loom_expr expected = loom_mul(
      c.ctx, loom_int(c.ctx, 2),
      loom_sub(c.ctx, loom_mul(c.ctx, loom_int(c.ctx, 2), extents[0]), loom_int(c.ctx, 1)));
  assert_int_equal(loom_workload_tile_occupancy(c.w, 0, 1, 2, names, extents), expected);
  case_end(&c);
}

/* (p - 2*r) // 3 % 4 - r, at all points; what cannot be an index is refused. */
static void indices_with_steps(void **state) {
  (void)state;
  text_case c = case_begin("p=8 r=2 E:A[p,r]>D[p]", "Main +MAC", "");
  const loom_index_step steps[] = {
      {LOOM_INDEX_VARIABLE, "p", 0}, {LOOM_INDEX_VARIABLE, "r", 0},   {LOOM_INDEX_SCALE, NULL, -2},
      {LOOM_INDEX_ADD, NULL, 0},     {LOOM_INDEX_FLOOR_DIV, NULL, 3}, {LOOM_INDEX_MOD, NULL, 4},
      {LOOM_INDEX_VARIABLE, "r", 0}, {LOOM_INDEX_SCALE, NULL, -1},    {LOOM_INDEX_ADD, NULL, 0},
  };
  assert_int_equal(loom_workload_index(c.w, 0, 0, "S", 9, steps), LOOM_OK);
  const loom_access *access;
  const loom_rank *rank = loom_einsum_quasi_affine(&c.w->einsums.at[0], &access);
  assert_non_null(rank);
  assert_int_equal(rank->n_terms, 2);
  for (int64_t p = -9; p < 9; p++)
    for (int64_t r = -3; r < 3; r++) {
      int64_t at[2] = {p, r}, value, expected = p - 2 * r + 300;
      expected = (expected / 3 - 100 + 400) % 4 - r;
      assert_true(loom_rank_value(rank, at, &value));
      assert_int_equal(value, expected);
    }
  int64_t far[2] = {INT64_MIN, 1}, value;
  assert_false(loom_rank_value(rank, far, &value));
  assert_int_equal(loom_workload_index(c.w, 0, 0, "S", 1, steps), LOOM_ERR_BAD_WORKLOAD);
  loom_error_clear(c.ctx);
  assert_int_equal(loom_workload_index(c.w, 0, 0, "U", 2, steps), LOOM_ERR_ARGUMENT);
  loom_error_clear(c.ctx);
  assert_int_equal(loom_workload_index(c.w, 0, 0, "U", 1, steps + 3), LOOM_ERR_ARGUMENT);
  case_end(&c);
}

/* Smallest interval that holds every value of the index over a tile. */
static int64_t enumerated_width(const int64_t coefficients[2], const int64_t tile[2]) {
  int64_t lo = 0, hi = 0;
  for (int64_t p = 0; p < tile[0]; p++)
    for (int64_t r = 0; r < tile[1]; r++) {
      int64_t value = coefficients[0] * p + coefficients[1] * r;
      if (value < lo) lo = value;
      if (value > hi) hi = value;
    }
  return hi - lo + 1;
}

static void width_is_the_enumerated_interval(void **state) {
  (void)state;
  static const char *const names[] = {"p", "r"};
  for (int64_t a = -3; a <= 3; a++)
    for (int64_t b = -3; b <= 3; b++) {
      loom_ctx *ctx = loom_ctx_new();
      text_case c = {.ctx = ctx, .w = workload_of(ctx, "p=6 r=4 E:X[p,r]")};
      int access = loom_workload_access(c.w, 0, "I", false, loom_int(ctx, 8));
      loom_workload_rank(c.w, 0, access, "W", 0, 2, names, (const int64_t[]){a, b});
      for (int64_t p = 1; p <= 6; p++)
        for (int64_t r = 1; r <= 4; r++) {
          const int64_t tile[] = {p, r};
          assert_int_equal(occupancy(&c, access, 2, names, tile),
                           enumerated_width((const int64_t[]){a, b}, tile));
        }
      case_end(&c);
    }
}

static void positive_constants_widen_and_negative_ones_shift(void **state) {
  (void)state;
  text_case c = case_begin("p=8 r=3 E:I[p+r+2],J[p+r-1]>O[p]", "Main +MAC", "");
  static const char *const names[] = {"p", "r"};
  assert_int_equal(occupancy(&c, 0, 2, names, (const int64_t[]){4, 3}), 8);
  assert_int_equal(occupancy(&c, 1, 2, names, (const int64_t[]){4, 3}), 6);
  case_end(&c);
}

static void terms_of_one_variable_add(void **state) {
  (void)state;
  text_case c = case_begin("p=8 r=3 E:I[p+p],J[r+p-p]>O[p]", "Main +MAC", "");
  static const char *const names[] = {"p", "r"};
  assert_int_equal(occupancy(&c, 0, 2, names, (const int64_t[]){4, 3}), 7);
  assert_int_equal(occupancy(&c, 1, 2, names, (const int64_t[]){4, 3}), 3);
  assert_int_equal(loom_workload_relevancy(c.w, 0, 1, "p"), LOOM_IRRELEVANT);
  case_end(&c);
}

static void wrong_workloads_are_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"m=0 E:A[m]>Z[m]", "'m'"},      {"m=-3 E:A[m]>Z[m]", "'m'"},
      {"m=3/2 E:A[m]>Z[m]", "'m'"},    {"m=4 E:A[m,n]>Z[m]", "'n'"},
      {"m=4 m=5 E:A[m]>Z[m]", "'m'"},  {"m=4 E:A[m]>Z[m] E:A[m]>Y[m]", "'E'"},
      {"m=4 E:A[m],A[m]>Z[m]", "'A'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    loom_ctx *ctx = loom_ctx_new();
    loom_workload_free(workload_of(ctx, cases[i][0]));
    assert_int_equal(loom_error_status(ctx), LOOM_ERR_BAD_WORKLOAD);
    assert_non_null(strstr(loom_error_message(ctx), cases[i][1]));
    loom_ctx_free(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(relevancy_is_by_the_first_rank_that_mentions),
      cmocka_unit_test(used_alone_wants_the_bare_variable_everywhere),
      cmocka_unit_test(stride_and_halo),
      cmocka_unit_test(occupancy_of_tiles),
      cmocka_unit_test(indices_with_steps),
      cmocka_unit_test(occupancy_is_a_formula),
      cmocka_unit_test(width_is_the_enumerated_interval),
      cmocka_unit_test(positive_constants_widen_and_negative_ones_shift),
      cmocka_unit_test(terms_of_one_variable_add),
      cmocka_unit_test(wrong_workloads_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
