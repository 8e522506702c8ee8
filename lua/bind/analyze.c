/* SPDX-License-Identifier: MIT */
/* The analysis of a mapping, with analyzers of node kinds written in Lua.
**
** Invariant: analyzers run as callback.c says; the objects in use cannot be closed and the context
** does not collect while the core runs. */
#include "bind.h"

static void release(void *handle) {
  loom_result_free(handle);
}

/* One run of one analyzer, on its way into protected Lua code. */
typedef struct run {
  bind_scope *scope;
  loom_analysis *analysis;
  const loom_node *node;
  const loom_shape *shape;
  loom_stats *stats;
} run;

/* as(kind[, stats]) -> stats of the built-in kind for the given ones, else the child's.  Upvalues:
** 4 slot of the run, NULL when it is over; 5 the child's stats.  [-0, +1, v] */
static int l_as(lua_State *L) {
  static const char *const names[] = {"storage", "toll", NULL};
  static const loom_node_kind kinds[] = {LOOM_NODE_STORAGE, LOOM_NODE_TOLL};
  run **slot = lua_touserdata(L, lua_upvalueindex(4));
  if (!*slot) return luaL_error(L, "the analysis of this node is over");
  run *r = *slot;
  bind_scope s = *r->scope;
  s.L = L;
  s.holder = lua_upvalueindex(2);
  lua_settop(L, 2);
  int kind = bind_check_name(L, 1, names);
  if (lua_isnil(L, 2)) {
    lua_pushvalue(L, lua_upvalueindex(5));
    lua_replace(L, 2);
  }
  bind_read_stats(&s, 2, r->stats);
  if (loom_analyze_as(r->analysis, kinds[kind], r->stats) != LOOM_OK) return bind_raise(&s);
  bind_push_stats(&s, r->stats);
  return 1;
}

/* Ends the run in the slot when the analyzer leaves in whatever way.  [-0, +0, -] */
static int end_run(lua_State *L) {
  run **slot = lua_touserdata(L, 1);
  if (slot) *slot = NULL;
  return 0;
}

/* [run, function, holder of the context's cache] calls the function with node, shape, stats, as and
** reads back what it returns.  [-0, +0, e] */
static int call_analyzer(lua_State *L) {
  run *r = lua_touserdata(L, 1);
  bind_scope s = *r->scope;
  s.L = L;
  s.holder = 3;
  run **slot = lua_newuserdatauv(L, sizeof *slot, 0);
  *slot = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, end_run);
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  int guard = lua_gettop(L);
  lua_pushvalue(L, 2);
  bind_push_node(&s, r->node);
  bind_push_shape(&s, r->shape);
  bind_push_stats(&s, r->stats);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 3);
  lua_pushboolean(L, false);
  lua_pushvalue(L, guard);
  lua_pushvalue(L, -5);
  lua_pushcclosure(L, l_as, 5);
  *slot = r;
  lua_call(L, 4, 1);
  bind_read_stats(&s, lua_gettop(L), r->stats);
  return 0;
}

/* The analyzer given to the core, which says where the node is when it fails. */
static loom_status run_analyzer(void *data, loom_ctx *ctx, loom_analysis *analysis,
                                const loom_node *node, const loom_shape *shape, loom_stats *stats) {
  bind_callbacks *callbacks = data;
  run r = {callbacks->scope, analysis, node, shape, stats};
  loom_status status = bind_run_callback(callbacks, node->custom, call_analyzer, &r);
  if (status == LOOM_ERR_CALLBACK) loom_error_clear(ctx);
  return status;
}

/* The option of the table at index 4 that is one of two names; the first when absent. */
static bool is_second(lua_State *L, const char *option, const char *const names[]) {
  bool second = false;
  if (lua_getfield(L, 4, option) != LUA_TNIL) {
    second = bind_check_name(L, lua_gettop(L), names) == 1;
  }
  lua_pop(L, 1);
  return second;
}

/* The options at index 4; unknown ones are refused.  [-0, +2, v] */
static void read_options(bind_callbacks *callbacks, loom_options *options) {
  static const char *const names[] = {"allow_unknown_tensors",
                                      "allow_growing_tiles",
                                      "allow_unmapped_einsums",
                                      "uncounted_drains",
                                      "partial_sums_to_one_unit",
                                      "round_trips",
                                      "analyzers",
                                      "model",
                                      "lifetime",
                                      NULL};
  static const char *const models[] = {"exact", "reference", NULL};
  enum { N_FLAGS = 6, ANALYZERS = N_FLAGS };
  lua_State *L = callbacks->scope->L;
  bind_check_options(L, 4, names);
  bool *flags[N_FLAGS] = {&options->allow_unknown_tensors,    &options->allow_growing_tiles,
                          &options->allow_unmapped_einsums,   &options->uncounted_drains,
                          &options->partial_sums_to_one_unit, &options->round_trips};
  for (int i = 0; i < N_FLAGS; i++) {
    lua_getfield(L, 4, names[i]);
    *flags[i] = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  options->model = is_second(L, "model", models) ? LOOM_REFERENCE : LOOM_EXACT;
  options->lifetime = is_second(L, "lifetime", bind_lifetimes) ? LOOM_RETAIN : LOOM_SCOPE;
  size_t n = bind_check_callbacks(callbacks, 4, names[ANALYZERS]), i = 0;
  loom_node_analyzer *list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  if (n > 0) {
    for (lua_pushnil(L); lua_next(L, callbacks->functions); lua_pop(L, 1)) {
      list[i++] = (loom_node_analyzer){lua_tostring(L, -2), run_analyzer, callbacks};
    }
  }
  options->analyzers = list;
  options->n_analyzers = n;
}

/* The expressions of the list at index i, one for each of n symbols.  [-0, +1, v] */
static loom_expr *read_list(bind_scope *s, int i, size_t n) {
  lua_State *L = s->L;
  loom_expr *list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  for (size_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    list[k] = bind_take(s, "a symbol and its value");
  }
  return list;
}

/* Values of symbols: two lists at indices 5 and 6, or nothing.  [-0, +0|2, v] */
typedef struct point {
  size_t n;
  loom_expr *symbols, *values;
} point;

static point read_point(bind_scope *s) {
  lua_State *L = s->L;
  if (lua_isnil(L, 5)) return (point){0};
  luaL_checktype(L, 5, LUA_TTABLE);
  luaL_checktype(L, 6, LUA_TTABLE);
  point p = {.n = lua_rawlen(L, 5)};
  p.symbols = read_list(s, 5, p.n);
  p.values = read_list(s, 6, p.n);
  return p;
}

static int analyze_by(lua_State *L, bool walk) {
  static const char *const types[] = {BIND_WORKLOAD, BIND_ARCH, BIND_MAPPING};
  bind_scope s;
  bind_object *objects[3];
  lua_settop(L, 6);
  for (int i = 0; i < 3; i++) {
    objects[i] = bind_check_object(&s, L, i + 1, types[i]);
    luaL_argcheck(L, objects[i]->owner == objects[0]->owner, i + 1, "object of another context");
  }
  bind_callbacks callbacks = {.scope = &s};
  loom_options options = {0};
  read_options(&callbacks, &options);
  point at = read_point(&s);
  bind_object *object = bind_new_object(&s, BIND_RESULT, release);
  bind_hold(&s, 3, objects, 1);
  const loom_workload *w = objects[0]->handle;
  loom_result *result = walk ? loom_simulate(w, objects[1]->handle, objects[2]->handle, &options,
                                             at.n, at.symbols, at.values)
                             : loom_analyze(w, objects[1]->handle, objects[2]->handle, &options);
  bind_hold(&s, 3, objects, -1);
  return bind_finish(&callbacks, object, result);
}

/* core.analyze(workload, arch, mapping[, options]) -> result, or nil, message, kind; an error of an
** analyzer is raised as it was.  [-0, +1|3, v] */
static int l_analyze(lua_State *L) {
  return analyze_by(L, false);
}

/* core.simulate(workload, arch, mapping[, options[, symbols, values]]) -> as core.analyze.
** [-0, +1|3, v] */
static int l_simulate(lua_State *L) {
  return analyze_by(L, true);
}

void bind_open_analyze(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"analyze", l_analyze}, {"simulate", l_simulate}, {NULL, NULL}};
  bind_set_functions(L, functions, false);
}
