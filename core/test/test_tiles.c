/* SPDX-License-Identifier: MIT */
/* Tile sequences in their four modes, held against walking the extent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "einloom.h"

static loom_tiles tiles_of(loom_ctx *ctx, loom_tiling_mode mode, int64_t outer, int64_t tile,
                           int64_t first) {
  loom_tiles tiles;
  assert_int_equal(loom_tile_sequence(ctx, mode, loom_int(ctx, outer), loom_int(ctx, tile),
                                      first ? loom_int(ctx, first) : LOOM_NONE, &tiles),
                   LOOM_OK);
  assert_int_equal(tiles.stride, loom_int(ctx, tile));
  return tiles;
}

static int64_t value(loom_ctx *ctx, loom_expr e) {
  int64_t v = -1;
  assert_true(loom_as_int(ctx, e, &v));
  return v;
}

static void whole_trips_may_be_fractions(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_tiling_mode modes[] = {LOOM_WHOLE_TRIPS, LOOM_AVERAGE};
  for (int i = 0; i < 2; i++) {
    loom_tiles t = tiles_of(ctx, modes[i], 10, 4, 0);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.extent[0], loom_int(ctx, 4));
    assert_int_equal(t.repeats[0], loom_ratio(ctx, 5, 2));
  }
  loom_ctx_free(ctx);
}

/* Walks [0, outer) in steps of tile, the first step being `first` if not 0: how many tiles have
** their full length and what is left. */
static int64_t walk(int64_t outer, int64_t tile, int64_t first, int64_t *left) {
  int64_t full = 0, at = first;
  for (; at + tile <= outer; at += tile) full++;
  *left = outer - at;
  return full;
}

static void exact_last_tiles_cover_the_extent(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  for (int64_t outer = 1; outer <= 24; outer++)
    for (int64_t tile = 1; tile <= outer; tile++) {
      loom_tiles t = tiles_of(ctx, LOOM_EXACT_LAST_TILE, outer, tile, 0);
      assert_int_equal(t.n, 2);
      int64_t left, full = walk(outer, tile, 0, &left);
      int64_t before_last = left ? full : full - 1;
      assert_int_equal(value(ctx, t.repeats[0]), before_last);
      assert_int_equal(value(ctx, t.repeats[1]), 1);
      assert_int_equal(value(ctx, t.extent[1]), left ? left : tile);
    }
  loom_ctx_free(ctx);
}

static void first_tiles_round_the_rest_up(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  for (int64_t outer = 1; outer <= 18; outer++)
    for (int64_t first = 1; first <= outer; first++)
      for (int64_t tile = 1; tile <= outer; tile++) {
        loom_tiles t = tiles_of(ctx, LOOM_FIRST_TILE, outer, tile, first);
        int64_t left, full = walk(outer, tile, first, &left);
        assert_int_equal(value(ctx, t.extent[0]), first);
        assert_int_equal(value(ctx, t.repeats[0]), 1);
        assert_int_equal(value(ctx, t.extent[1]), tile);
        assert_int_equal(value(ctx, t.repeats[1]), full + (left > 0));
      }
  loom_ctx_free(ctx);
}

static void symbols_flow_through(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_expr t = loom_symbol(ctx, "T", NULL), eight = loom_int(ctx, 8);
  loom_tiles tiles;
  assert_int_equal(loom_tile_sequence(ctx, LOOM_EXACT_LAST_TILE, eight, t, LOOM_NONE, &tiles),
                   LOOM_OK);
  loom_expr whole = tiles.repeats[0], last = tiles.extent[1];
  for (int64_t v = 1; v <= 8; v++) {
    loom_expr number = loom_int(ctx, v);
    int64_t n = value(ctx, loom_substitute(ctx, whole, 1, &t, &number));
    assert_int_equal(value(ctx, loom_substitute(ctx, last, 1, &t, &number)) + n * v, 8);
  }
  loom_ctx_free(ctx);
}

static void missing_parts_are_errors(void **state) {
  (void)state;
  loom_ctx *ctx = loom_ctx_new();
  loom_tiles tiles;
  loom_expr four = loom_int(ctx, 4);
  assert_int_equal(loom_tile_sequence(ctx, LOOM_FIRST_TILE, four, four, LOOM_NONE, &tiles),
                   LOOM_ERR_ARGUMENT);
  loom_error_clear(ctx);
  assert_int_equal(
      loom_tile_sequence(ctx, LOOM_WHOLE_TRIPS, four, loom_int(ctx, 0), LOOM_NONE, &tiles),
      LOOM_ERR_DOMAIN);
  loom_ctx_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_trips_may_be_fractions),
      cmocka_unit_test(exact_last_tiles_cover_the_extent),
      cmocka_unit_test(first_tiles_round_the_rest_up),
      cmocka_unit_test(symbols_flow_through),
      cmocka_unit_test(missing_parts_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
