/* SPDX-License-Identifier: MIT */
/* Figures of launches in Lua that need no graph: bytes moved, operations of calls, groups of
** independent kernels.
**
** Invariant: no logic. */
#include "bind.h"

/* ---- bytes -------------------------------------------------------------------------------- */

/* {elements =, bytes =, indices =} of argument k of the list at index i.  [-0, +0, v] */
static loom_moved read_moved(bind_scope *s, int i, size_t k) {
  lua_State *L = s->L;
  loom_moved moved = {0};
  if (lua_rawgeti(L, i, (lua_Integer)k + 1) != LUA_TTABLE)
    luaL_error(L, "arguments: tables expected");
  int argument = lua_gettop(L);
  moved.elements = bind_field(s, argument, "elements");
  lua_getfield(L, argument, "bytes");
  moved.bytes = bind_check_index(L, lua_gettop(L));
  lua_getfield(L, argument, "indices");
  moved.n_indices = (size_t)bind_check_index(L, lua_gettop(L));
  lua_settop(L, argument - 1);
  return moved;
}

/* core.moved_bytes(tiling, arguments, in_place[, options]) -> bytes, nil where a size has no hint.
** [-0, +1|3, v] */
static int l_moved_bytes(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 3, &options, &given);
  loom_tiling tiling = bind_check_tiling(&s, i);
  luaL_checktype(L, i + 1, LUA_TTABLE);
  size_t n = lua_rawlen(L, i + 1);
  loom_moved *arguments = lua_newuserdatauv(L, (n + 1) * sizeof *arguments, 0);
  for (size_t k = 0; k < n; k++) arguments[k] = read_moved(&s, i + 1, k);
  size_t n_in_place = (size_t)bind_check_index(L, i + 2);
  loom_expr bytes = loom_moved_bytes(s.ctx, &tiling, n, arguments, n_in_place, &given);
  if (loom_error_status(s.ctx) != LOOM_OK) return bind_fail(&s);
  bind_push(&s, bytes);
  return 1;
}

/* core.call_flops(call, inputs, output) -> operations.  [-0, +1|3, v] */
static int l_call_flops(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  lua_settop(L, i + 2);
  const char *call = bind_check_text(L, i);
  size_t n;
  const loom_sizes *inputs = bind_check_shapes(&s, i + 1, &n);
  loom_sizes output = {0};
  output.sizes = bind_check_list(&s, i + 2, &output.rank);
  return bind_return(&s, loom_call_flops(s.ctx, call, n, inputs, &output));
}

/* ---- groups ------------------------------------------------------------------------------- */

/* {tiling =, reduction =, one_pass =, no_x =, reduction_extent =, accesses =} of kernel k of the list
** at index i.  [-0, +0, v] */
static loom_launch read_launch(bind_scope *s, int i, size_t k) {
  lua_State *L = s->L;
  if (lua_rawgeti(L, i, (lua_Integer)k + 1) != LUA_TTABLE)
    luaL_error(L, "kernels: tables expected");
  int kernel = lua_gettop(L);
  loom_launch launch = {.reduction = bind_flag(L, kernel, "reduction"),
                        .one_pass = bind_flag(L, kernel, "one_pass"),
                        .no_x = bind_flag(L, kernel, "no_x")};
  lua_getfield(L, kernel, "tiling");
  launch.tiling = bind_check_tiling(s, lua_gettop(L));
  launch.reduction_extent = bind_field(s, kernel, "reduction_extent");
  lua_getfield(L, kernel, "accesses");
  launch.n_accesses = (size_t)bind_check_index(L, lua_gettop(L));
  lua_settop(L, kernel - 1);
  return launch;
}

static void push_groups(lua_State *L, const size_t *order, const size_t *ends, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t g = 0, k = 0; g < n; g++) {
    lua_newtable(L);
    for (lua_Integer place = 1; k < ends[g]; k++) {
      lua_pushinteger(L, (lua_Integer)order[k] + 1);
      lua_rawseti(L, -2, place++);
    }
    lua_rawseti(L, -2, (lua_Integer)g + 1);
  }
}

/* core.combine(kernels[, {size_aware =, mixed =}[, options]]) -> lists of positions.
** [-0, +1|3, v] */
static int l_combine(lua_State *L) {
  static const char *const names[] = {"size_aware", "mixed", NULL};
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  lua_settop(L, i + 2);
  loom_split_options options;
  loom_given given;
  bind_check_options(L, i + 1, names);
  bind_check_split(&s, i + 2, &options, &given);
  luaL_checktype(L, i, LUA_TTABLE);
  loom_combine_options how = {.size_aware = bind_flag(L, i + 1, "size_aware"), .given = &given};
  lua_getfield(L, i + 1, "mixed");
  if (!lua_isnil(L, -1)) how.mixed = bind_check_index(L, lua_gettop(L));
  size_t n = lua_rawlen(L, i), n_groups;
  loom_launch *kernels = lua_newuserdatauv(L, (n + 1) * sizeof *kernels, 0);
  for (size_t k = 0; k < n; k++) kernels[k] = read_launch(&s, i, k);
  size_t *order = lua_newuserdatauv(L, (3 * n + 1) * sizeof *order, 0);
  if (loom_combine(s.ctx, n, kernels, &how, order, order + n, &n_groups) != LOOM_OK)
    return bind_fail(&s);
  push_groups(L, order, order + n, n_groups);
  return 1;
}

void bind_open_launch(lua_State *L) {
  static const luaL_Reg makers[] = {{"moved_bytes", l_moved_bytes},
                                    {"call_flops", l_call_flops},
                                    {"combine", l_combine},
                                    {NULL, NULL}};
  bind_set_makers(L, makers);
}
