/* SPDX-License-Identifier: MIT */
/* Memory sectors of tilings in Lua: the best tiling, what a tiling touches.
**
** Invariant: no logic. */
#include "bind.h"

/* ---- arguments ---------------------------------------------------------------------------- */

static int64_t optional_integer(lua_State *L, int i, const char *name) {
  int64_t value = 0;
  if (lua_getfield(L, i, name) != LUA_TNIL) value = bind_check_index(L, lua_gettop(L));
  lua_pop(L, 1);
  return value;
}

static loom_best_options check_options(lua_State *L, int i) {
  static const char *const names[] = {"max_tiles", "reductions", "points", NULL};
  bind_check_options(L, i, names);
  return (loom_best_options){.max_tiles = (size_t)optional_integer(L, i, "max_tiles"),
                             .reductions = bind_flag(L, i, "reductions"),
                             .points = optional_integer(L, i, "points")};
}

/* Blocks {{prefix, points}, ...} at index i, one for each range of the tiling; nil: none. */
static void check_blocks(bind_scope *s, int i, loom_blocked *blocked) {
  lua_State *L = s->L;
  if (lua_isnil(L, i)) return;
  loom_tiling blocks = bind_check_tiling(s, i);
  bool same = blocks.n == blocked->tiling.n;
  for (size_t k = 0; same && k < blocks.n; k++)
    same = blocks.prefix[k] == blocked->tiling.prefix[k] &&
           loom_as_int(s->ctx, blocks.extent[k], &blocked->block[k]) && blocked->block[k] > 0;
  luaL_argcheck(L, same, i, "points of a block, 1 or more, for each range of the tiling expected");
}

/* ---- results ------------------------------------------------------------------------------ */

static void set_blocks(lua_State *L, const loom_blocked *blocked) {
  size_t n = blocked->tiling.n;
  if (n == 0 || blocked->block[0] == 0) return;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, loom_prefix_name(blocked->tiling.prefix[i]));
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, blocked->block[i]);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "blocks");
}

static void push_access(bind_scope *s, const loom_graph *g, const loom_access_sectors *a) {
  lua_State *L = s->L;
  const loom_buffer *buffers;
  const loom_op *ops;
  loom_graph_buffers(g, &buffers);
  loom_graph_ops(g, &ops);
  lua_createtable(L, 0, 5);
  bind_set_string(L, "op", ops[a->op].name);
  bind_set_string(L, "buffer", buffers[a->buffer].name);
  bind_set_boolean(L, "store", a->store);
  bind_set_expr(s, "index", a->index);
  if (a->sectors >= 0) bind_set_integer(L, "sectors", a->sectors);
}

/* {tiling, blocks, sectors, accesses} of a tiling, its blocks chosen where they are not given.
** [-0, +1|3, v] */
static int return_counted(bind_scope *s, loom_graph *g, const loom_kernel_steps *steps,
                          loom_blocked *blocked) {
  lua_State *L = s->L;
  loom_blocked copy = *blocked;
  ptrdiff_t n = loom_tiling_sectors(g, steps, &copy, NULL, 0);
  if (n < 0) return bind_fail(s);
  size_t count = (size_t)n;
  *blocked = copy;
  loom_access_sectors *list = lua_newuserdatauv(L, (count + 1) * sizeof *list, 0);
  if (loom_tiling_sectors(g, steps, blocked, list, count) != n) return bind_fail(s);
  lua_createtable(L, 0, 4);
  bind_push_tiling(s, &blocked->tiling);
  lua_setfield(L, -2, "tiling");
  set_blocks(L, blocked);
  if (blocked->sectors >= 0) bind_set_integer(L, "sectors", blocked->sectors);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; blocked->block[0] > 0 && i < count; i++) {
    push_access(s, g, &list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "accesses");
  return 1;
}

/* ---- methods ------------------------------------------------------------------------------ */

/* g:best_tiling(schedule, {N, R}[, {max_tiles =, reductions =, points =}])
** -> {tiling, blocks, sectors, accesses}.  [-0, +1|3, v] */
int bind_graph_best_tiling(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  loom_best_options options = check_options(L, 4);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  loom_blocked best;
  if (loom_tiling_best(g, &steps, &options, &best) != LOOM_OK) return bind_fail(&s);
  return return_counted(&s, g, &steps, &best);
}

/* g:sectors(schedule, {N, R}, tiling[, blocks]) -> {tiling, blocks, sectors, accesses}.
** [-0, +1|3, v] */
int bind_graph_sectors(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 5);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  loom_blocked blocked = {.tiling = bind_check_tiling(&s, 4)};
  check_blocks(&s, 5, &blocked);
  return return_counted(&s, g, &steps, &blocked);
}
