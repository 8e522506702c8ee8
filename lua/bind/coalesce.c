/* SPDX-License-Identifier: MIT */
/* Coalescing in Lua: helpers for single addresses, the analysis of kernels, tilings along it.
**
** Invariant: no logic. */
#include "bind.h"

/* ---- addresses ---------------------------------------------------------------------------- */

/* An expression that was found, or nil.  [-0, +1, v] */
static int return_found(bind_scope *s, bool found, loom_expr e) {
  if (!found && loom_error_status(s->ctx) != LOOM_OK) return bind_fail(s);
  bind_push(s, found ? e : LOOM_NONE);
  return 1;
}

/* core.zero_of(e, variable) -> value, or nil.  [-0, +1|3, v] */
static int l_zero_of(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  loom_expr e = bind_arg(&s, i), value;
  bool found = loom_zero_of(s.ctx, e, bind_arg(&s, i + 1), &value);
  return return_found(&s, found, value);
}

/* core.unit_factor(e) -> factor, or nil.  [-0, +1|3, v] */
static int l_unit_factor(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  loom_expr factor;
  bool found = loom_unit_factor(s.ctx, bind_arg(&s, i), &factor);
  return return_found(&s, found, factor);
}

/* core.unit_split(e, loops, position[, options]) -> split, or nil.  [-0, +1|3, v] */
static int l_unit_split(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 3, &options, &given);
  size_t n;
  lua_Integer loop = bind_check_index(L, i + 2);
  const loom_extent *loops = bind_check_nest(&s, i + 1, &n);
  luaL_argcheck(L, (size_t)loop <= n, i + 2, "no such loop");
  loom_expr split;
  bool found = loom_unit_split(s.ctx, bind_arg(&s, i), n, loops, (size_t)loop - 1, &given, &split);
  return return_found(&s, found, split);
}

/* core.unit_loop(e, loops[, options]) -> position, or nil.  [-0, +1|3, v] */
static int l_unit_loop(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 2, &options, &given);
  size_t n;
  const loom_extent *loops = bind_check_nest(&s, i + 1, &n);
  ptrdiff_t loop = loom_unit_loop(s.ctx, bind_arg(&s, i), n, loops, &given);
  if (loom_error_status(s.ctx) != LOOM_OK) return bind_fail(&s);
  if (loop < 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, (lua_Integer)loop + 1);
  return 1;
}

/* core.address_points(e, loops[, options]) -> points.  [-0, +1|3, v] */
static int l_address_points(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 2, &options, &given);
  size_t n;
  const loom_extent *loops = bind_check_nest(&s, i + 1, &n);
  return bind_return(&s, loom_address_points(s.ctx, bind_arg(&s, i), n, loops, &given));
}

/* ---- the analysis of a kernel ------------------------------------------------------------- */

/* The analysis lives in an object while Lua makes tables of it.  [-0, +1, v] */
static void release(void *handle) {
  loom_coalescing_free(handle);
}

/* Pushes an object with the analysis; NULL where it gives up.  [-0, +1, v] */
static const loom_coalescing *push_analysis(bind_scope *s, loom_graph *g,
                                            const loom_kernel_steps *steps, bool exact) {
  bind_object *object = bind_new_object(s, BIND_COALESCING, release);
  loom_coalescing *c = loom_coalesce(g, steps, exact);
  if (c) bind_adopt(s, object, c);
  return c;
}

static void set_loops(bind_scope *s, const char *key, size_t n, const loom_extent *loops) {
  bind_push_nest(s, n, loops);
  lua_setfield(s->L, -2, key);
}

static void set_addresses(bind_scope *s, const loom_graph *g, const char *key, size_t n,
                          const loom_common_address *list) {
  lua_State *L = s->L;
  const loom_buffer *buffers;
  loom_graph_buffers(g, &buffers);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 2);
    bind_set_expr(s, "index", list[i].index);
    lua_createtable(L, (int)list[i].n, 0);
    for (size_t k = 0; k < list[i].n; k++) {
      lua_pushstring(L, buffers[list[i].buffers[k]].name);
      lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_setfield(L, -2, "buffers");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

/* A size as an integer if it is a number. */
static void set_size(bind_scope *s, const char *key, loom_expr size) {
  int64_t number;
  if (loom_as_int(s->ctx, size, &number))
    bind_set_integer(s->L, key, number);
  else
    bind_set_expr(s, key, size);
}

static void set_coalesced(bind_scope *s, const loom_coalescing *c) {
  lua_State *L = s->L;
  lua_createtable(L, (int)c->n_coalesced, 0);
  for (size_t i = 0; i < c->n_coalesced; i++) {
    lua_createtable(L, 0, 2);
    bind_set_expr(s, "variable", c->coalesced[i].variable);
    bind_set_integer(L, "score", c->coalesced[i].score);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "coalesced");
  if (c->split_variable == LOOM_NONE) return;
  lua_createtable(L, 0, 3);
  bind_set_expr(s, "variable", c->split_variable);
  set_size(s, "factor", c->split_factor);
  bind_set_integer(L, "score", c->split_score);
  lua_setfield(L, -2, "split");
}

/* nil where the analysis gives up; else its error.  [-0, +1|3, v] */
static int return_nothing(bind_scope *s) {
  if (loom_error_status(s->ctx) != LOOM_OK) return bind_fail(s);
  lua_pushnil(s->L);
  return 1;
}

typedef struct coalesce_options {
  bool exact;
  size_t max_tiles;
} coalesce_options;

/* {max_tiles =, exact =} at index i, or nil; max_tiles where it has a meaning. */
static coalesce_options check_coalesce_options(lua_State *L, int i, bool tiles) {
  static const char *const names[] = {"exact", "max_tiles", NULL};
  static const char *const few[] = {"exact", NULL};
  coalesce_options options = {0};
  bind_check_options(L, i, tiles ? names : few);
  options.exact = bind_flag(L, i, "exact");
  if (tiles && lua_getfield(L, i, "max_tiles") != LUA_TNIL)
    options.max_tiles = (size_t)bind_check_index(L, lua_gettop(L));
  lua_settop(L, i);
  return options;
}

/* g:coalesce(schedule, {N, R}[, {exact =}]) -> analysis, or nil.  [-0, +1|3, v] */
int bind_graph_coalesce(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  coalesce_options options = check_coalesce_options(L, 4, false);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  const loom_coalescing *c = push_analysis(&s, g, &steps, options.exact);
  if (!c) return return_nothing(&s);
  lua_createtable(L, 0, 6);
  set_loops(&s, "pointwise", c->n_pointwise, c->loops);
  set_loops(&s, "reduction", c->n_reduction, c->loops + c->n_pointwise);
  set_addresses(&s, g, "reads", c->n_reads, c->reads);
  set_addresses(&s, g, "writes", c->n_writes, c->writes);
  set_coalesced(&s, c);
  return 1;
}

/* ---- tilings ------------------------------------------------------------------------------ */

static void push_scored(bind_scope *s, const loom_scored_tiling *t) {
  lua_State *L = s->L;
  lua_createtable(L, 0, 3);
  bind_push_tiling(s, &t->tiling);
  lua_setfield(L, -2, "tiling");
  lua_newtable(L);
  for (size_t i = 0; i < t->tiling.n; i++)
    if (t->score[i] >= 0) bind_set_integer(L, loom_prefix_name(t->tiling.prefix[i]), t->score[i]);
  lua_setfield(L, -2, "scores");
  bind_set_integer(L, "total", t->total);
}

/* g:coalesced_tilings(schedule, {N, R}[, {max_tiles =, exact =}]) -> list, or nil.  [-0, +1|3, v] */
int bind_graph_coalesced_tilings(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  coalesce_options options = check_coalesce_options(L, 4, true);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  const loom_coalescing *c = push_analysis(&s, g, &steps, options.exact);
  if (!c) return return_nothing(&s);
  ptrdiff_t n = loom_coalesced_tilings(g, &steps, c, options.max_tiles, NULL, 0);
  if (n < 0) return bind_fail(&s);
  size_t count = (size_t)n;
  loom_scored_tiling *list = lua_newuserdatauv(L, (count + 1) * sizeof *list, 0);
  if (loom_coalesced_tilings(g, &steps, c, options.max_tiles, list, count) != n)
    return bind_fail(&s);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_scored(&s, &list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* g:coalesced_tiling(schedule, {N, R}[, {max_tiles =, exact =}]) -> the best that fits, or nil.  [-0, +1|3, v] */
int bind_graph_coalesced_tiling(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 4);
  coalesce_options options = check_coalesce_options(L, 4, true);
  loom_kernel_steps steps = bind_check_steps(&s, g, 2);
  const loom_coalescing *c = push_analysis(&s, g, &steps, options.exact);
  if (!c) return return_nothing(&s);
  loom_scored_tiling best;
  if (loom_coalesced_select(g, &steps, c, options.max_tiles, &best) != LOOM_OK)
    return bind_fail(&s);
  push_scored(&s, &best);
  return 1;
}

void bind_open_coalesce(lua_State *L) {
  static const luaL_Reg makers[] = {{"zero_of", l_zero_of},
                                    {"unit_factor", l_unit_factor},
                                    {"unit_split", l_unit_split},
                                    {"unit_loop", l_unit_loop},
                                    {"address_points", l_address_points},
                                    {NULL, NULL}};
  static const luaL_Reg methods[] = {{NULL, NULL}};
  bind_object_type(L, BIND_COALESCING, methods);
  bind_set_makers(L, makers);
}
