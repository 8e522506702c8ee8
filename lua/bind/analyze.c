/* SPDX-License-Identifier: MIT */
/* The analysis of a mapping, with analyzers of node kinds written in Lua.
**
** Invariant: while the core runs, nothing jumps over it: analyzers run protected, their error waits
** on the stack until the core has returned; the objects in use cannot be closed and the context
** does not collect. */
#include <string.h>

#include "bind.h"

static void release(void *handle) {
  loom_result_free(handle);
}

/* What the analyzers of one call of analyze share. */
typedef struct session {
  lua_State *L;
  bind_scope *scope;
  int functions; /* stack index of the table kind -> function */
  int error;     /* stack index of the first error of an analyzer, or 0 */
} session;

/* One run of one analyzer, on its way into protected Lua code. */
typedef struct run {
  session *session;
  loom_analysis *analysis;
  const loom_node *node;
  const loom_shape *shape;
  loom_stats *stats;
} run;

/* Message handler: a traceback for strings; other errors pass.  [-1, +1, m] */
static int add_traceback(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

/* as(kind[, stats]) -> stats of the built-in kind for the given ones, else the child's.  Upvalues:
** 4 slot of the run, NULL when it is over; 5 the child's stats.  [-0, +1, v] */
static int l_as(lua_State *L) {
  static const char *const names[] = {"storage", "toll", NULL};
  static const loom_node_kind kinds[] = {LOOM_NODE_STORAGE, LOOM_NODE_TOLL};
  run **slot = lua_touserdata(L, lua_upvalueindex(4));
  if (!*slot) return luaL_error(L, "the analysis of this node is over");
  run *r = *slot;
  bind_scope s = *r->session->scope;
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
  bind_scope s = *r->session->scope;
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

/* [run, functions, holder]: calls call_analyzer with the function of the node's kind, giving it the
** upvalues of the binding.  [-0, +0, e] */
static int with_upvalues(lua_State *L) {
  const run *r = lua_touserdata(L, 1);
  lua_pushstring(L, r->node->custom);
  lua_rawget(L, 2);
  lua_replace(L, 2);
  luaL_getmetatable(L, BIND_EXPR);
  lua_pushvalue(L, 3);
  lua_pushboolean(L, false);
  lua_pushcclosure(L, call_analyzer, 3);
  lua_insert(L, 1);
  lua_call(L, 3, 0);
  return 0;
}

/* The analyzer given to the core.  Leaves an error on the stack of the call of analyze. */
static loom_status run_analyzer(void *data, loom_ctx *ctx, loom_analysis *analysis,
                                const loom_node *node, const loom_shape *shape, loom_stats *stats) {
  session *self = data;
  lua_State *L = self->L;
  run r = {self, analysis, node, shape, stats};
  if (!lua_checkstack(L, 8)) return loom_error_set(ctx, LOOM_ERR_MEMORY, "stack overflow");
  int top = lua_gettop(L);
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, with_upvalues);
  lua_pushlightuserdata(L, &r);
  lua_pushvalue(L, self->functions);
  lua_pushvalue(L, self->scope->holder);
  if (lua_pcall(L, 3, 0, top + 1) == LUA_OK) {
    lua_settop(L, top);
    loom_error_clear(ctx);
    return LOOM_OK;
  }
  lua_replace(L, top + 1);
  self->error = top + 1;
  return loom_error_set(ctx, LOOM_ERR_CALLBACK, "the analyzer of '%s' failed", node->custom);
}

/* The analyzers of the options at index 4 in memory pushed on the stack, above their table.
** [-0, +2, v] */
static void read_analyzers(lua_State *L, session *self, loom_options *options) {
  size_t n = 0;
  if (lua_getfield(L, 4, "analyzers") == LUA_TNIL) {
    lua_pushnil(L);
    return;
  }
  luaL_argcheck(L, lua_istable(L, -1), 4, "analyzers: table of functions expected");
  self->functions = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, self->functions); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) luaL_argerror(L, 4, "analyzers: kinds are strings");
    n++;
  }
  loom_node_analyzer *list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  size_t i = 0;
  for (lua_pushnil(L); lua_next(L, self->functions); lua_pop(L, 1)) {
    list[i++] = (loom_node_analyzer){lua_tostring(L, -2), run_analyzer, self};
  }
  options->analyzers = list;
  options->n_analyzers = n;
}

/* The options at index 4; unknown ones are refused.  [-0, +2, v] */
static void read_options(lua_State *L, session *self, loom_options *options) {
  static const char *const names[] = {"allow_unknown_tensors", "allow_growing_tiles",
                                      "allow_unmapped_einsums", "analyzers", NULL};
  if (lua_isnil(L, 4)) {
    lua_newtable(L);
    lua_replace(L, 4);
  }
  luaL_checktype(L, 4, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 4)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    bind_check_name(L, lua_gettop(L), names);
    lua_pop(L, 1);
  }
  bool *flags[] = {&options->allow_unknown_tensors, &options->allow_growing_tiles,
                   &options->allow_unmapped_einsums};
  for (int i = 0; i < 3; i++) {
    lua_getfield(L, 4, names[i]);
    *flags[i] = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  read_analyzers(L, self, options);
}

/* core.analyze(workload, arch, mapping[, options]) -> result, or nil, message, kind; an error of an
** analyzer is raised as it was.  [-0, +1|3, v] */
static int l_analyze(lua_State *L) {
  static const char *const types[] = {BIND_WORKLOAD, BIND_ARCH, BIND_MAPPING};
  bind_scope s;
  bind_object *objects[3];
  lua_settop(L, 4);
  for (int i = 0; i < 3; i++) {
    objects[i] = bind_check_object(&s, L, i + 1, types[i]);
    luaL_argcheck(L, objects[i]->owner == objects[0]->owner, i + 1, "object of another context");
  }
  session self = {.L = L, .scope = &s};
  loom_options options = {0};
  read_options(L, &self, &options);
  bind_object *object = bind_new_object(&s, BIND_RESULT, release);
  for (int i = 0; i < 3; i++) objects[i]->busy++;
  s.owner->busy++;
  loom_result *result =
      loom_analyze(objects[0]->handle, objects[1]->handle, objects[2]->handle, &options);
  s.owner->busy--;
  for (int i = 0; i < 3; i++) objects[i]->busy--;
  if (!result && self.error > 0) {
    lua_pushvalue(L, self.error);
    return lua_error(L);
  }
  return bind_adopt(&s, object, result);
}

void bind_open_analyze(lua_State *L) {
  static const luaL_Reg functions[] = {{"analyze", l_analyze}, {NULL, NULL}};
  bind_set_functions(L, functions, false);
}
