/* SPDX-License-Identifier: MIT */
/* Tilings of kernels in Lua: building them, candidates of operations, choosing one.
**
** Invariant: no logic. */
#include "bind.h"

/* ---- arguments ---------------------------------------------------------------------------- */

/* The extents {N, R} at index i. */
static void check_extents(bind_scope *s, int i, loom_expr *extent, loom_expr *reduction_extent) {
  size_t n;
  const loom_expr *extents = bind_check_list(s, i, &n);
  luaL_argcheck(s->L, n == 2, i, "the extent and the reduction extent expected");
  *extent = extents[0];
  *reduction_extent = extents[1];
  lua_pop(s->L, 1);
}

loom_kernel_steps bind_check_steps(bind_scope *s, const loom_graph *g, int i) {
  loom_kernel_steps steps;
  steps.schedule = bind_check_schedule(s, g, i, &steps.n);
  check_extents(s, i + 1, &steps.extent, &steps.reduction_extent);
  return steps;
}

static int return_tiling(bind_scope *s, loom_status status, const loom_tiling *tiling) {
  if (status != LOOM_OK) return bind_fail(s);
  bind_push_tiling(s, tiling);
  return 1;
}

/* ---- building ----------------------------------------------------------------------------- */

/* core.tiling_create(pointwise, reduction) -> tiling.  [-0, +1|3, v] */
static int l_tiling_create(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  size_t n, n_reduction;
  const loom_expr *pointwise = bind_check_list(&s, i, &n);
  const loom_expr *reduction = bind_check_list(&s, i + 1, &n_reduction);
  loom_tiling tiling;
  loom_status status = loom_tiling_create(s.ctx, n, pointwise, n_reduction, reduction, &tiling);
  return return_tiling(&s, status, &tiling);
}

/* core.tiling_complete(side, {N, R}) -> tiling.  [-0, +1|3, v] */
static int l_tiling_complete(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  loom_tiling side = bind_check_tiling(&s, i), tiling;
  loom_expr extent, reduction_extent;
  check_extents(&s, i + 1, &extent, &reduction_extent);
  loom_status status = loom_tiling_complete(s.ctx, &side, extent, reduction_extent, &tiling);
  return return_tiling(&s, status, &tiling);
}

/* core.tiling_good_size(size[, options]) -> boolean.  [-0, +1|3, v] */
static int l_tiling_good_size(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 1, &options, &given);
  return bind_return_boolean(&s, loom_tiling_good_size(s.ctx, bind_arg(&s, i), &given));
}

/* ---- choosing ----------------------------------------------------------------------------- */

/* g:candidates(operation, {N, R}) -> list of {buffer, score, tiling}.  [-0, +1|3, v] */
int bind_graph_candidates(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  int op = bind_check_op(&s, g, 2);
  loom_expr extent, reduction_extent;
  check_extents(&s, 3, &extent, &reduction_extent);
  const loom_candidate *list;
  const loom_buffer *buffers;
  ptrdiff_t n = loom_tiling_candidates(g, op, extent, reduction_extent, &list);
  if (n < 0) return bind_fail(&s);
  loom_graph_buffers(g, &buffers);
  lua_createtable(L, (int)n, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 3);
    bind_set_string(L, "buffer", list[i].buffer < 0 ? NULL : buffers[list[i].buffer].name);
    bind_set_expr(&s, "score", list[i].score);
    bind_push_tiling(&s, &list[i].tiling);
    lua_setfield(L, -2, "tiling");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* g:block_tilings(schedule, {N, R}[, max_tiles]) -> list of tilings.  [-0, +1|3, v] */
int bind_graph_blocks(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  size_t max_tiles = lua_isnil(L, 4) ? 0 : (size_t)bind_check_index(L, 4);
  ptrdiff_t n = loom_tiling_blocks(g, &steps, max_tiles, NULL, 0);
  if (n < 0) return bind_fail(&s);
  size_t count = (size_t)n;
  loom_tiling *list = lua_newuserdatauv(L, (count + 1) * sizeof *list, 0);
  if (loom_tiling_blocks(g, &steps, max_tiles, list, count) != n) return bind_fail(&s);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    bind_push_tiling(&s, &list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* g:fits(schedule, {N, R}, tiling) -> boolean.  [-0, +1|3, v] */
int bind_graph_fits(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  loom_tiling tiling = bind_check_tiling(&s, 4);
  return bind_return_boolean(&s, loom_tiling_fits(g, &steps, &tiling));
}

/* g:tiling(schedule, {N, R}[, {max_tiles =, blocks =, reductions =}]) -> tiling.  [-0, +1|3, v] */
int bind_graph_tiling(lua_State *L) {
  static const char *const names[] = {"max_tiles", "blocks", "reductions", NULL};
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  bind_check_options(L, 4, names);
  loom_tiling_options options = {.blocks = bind_flag(L, 4, "blocks"),
                                 .reductions = bind_flag(L, 4, "reductions")};
  if (lua_getfield(L, 4, "max_tiles") != LUA_TNIL)
    options.max_tiles = (size_t)bind_check_index(L, 5);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  loom_tiling tiling;
  loom_status status = loom_tiling_select(g, &steps, &options, &tiling);
  return return_tiling(&s, status, &tiling);
}

void bind_open_tilings(lua_State *L) {
  static const luaL_Reg makers[] = {{"tiling_create", l_tiling_create},
                                    {"tiling_complete", l_tiling_complete},
                                    {"tiling_good_size", l_tiling_good_size},
                                    {NULL, NULL}};
  bind_set_makers(L, makers);
}
