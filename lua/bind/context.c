/* SPDX-License-Identifier: MIT */
/* Contexts, the cache of boxes, and collection.
**
** Invariant: a handle is alive exactly while a box of it can be reached (or an object of the core
** holds it); the cache names every such box, so marking its keys marks everything in use. */
#include "bind.h"

/* Its address names the default context in the registry. */
static const char default_context = 0;

/* Marks from the cache and sweeps.  [-0, +0, -] */
static void sweep(lua_State *L, bind_context *owner, int cache) {
  loom_gc_begin(owner->ctx);
  lua_pushnil(L);
  while (lua_next(L, cache)) {
    const bind_box *box = lua_touserdata(L, -1);
    if (box->generation == loom_expr_generation(owner->ctx, box->id)) {
      loom_gc_mark(owner->ctx, box->id);
    }
    lua_pop(L, 1);
  }
  loom_gc_end(owner->ctx);
}

/* A node and what hangs on it, in bytes, about. */
enum { NODE_BYTES = 128 };

/* Lua paces its collector by its own heap, so garbage boxes that hold more nodes than that heap is
** large are collected here.  Finalizers may run then, and may close the context.  A collector that
** is stopped, or busy with a finalizer, is left alone.  [-0, +0, e] */
static void collect(lua_State *L, bind_context *owner, int holder) {
  if (owner->busy > 0 || lua_gc(L, LUA_GCISRUNNING) != 1) return;
  luaL_checkstack(L, 4, NULL);
  lua_getiuservalue(L, holder, 1);
  int cache = lua_gettop(L);
  sweep(L, owner, cache);
  if (loom_ctx_nodes(owner->ctx) / 1024 * NODE_BYTES > (size_t)lua_gc(L, LUA_GCCOUNT)) {
    lua_gc(L, LUA_GCCOLLECT);
    if (owner->ctx) sweep(L, owner, cache);
  }
  lua_pop(L, 1);
}

void bind_enter_in(bind_scope *s, lua_State *L, int holder, bind_context *owner) {
  if (!owner->ctx) luaL_error(L, "the context is closed");
  if (loom_gc_due(owner->ctx)) {
    collect(L, owner, holder);
    if (!owner->ctx) luaL_error(L, "the context is closed");
  }
  loom_error_clear(owner->ctx);
  *s = (bind_scope){L, owner, owner->ctx, holder};
}

void bind_enter(bind_scope *s, lua_State *L, int first, int last) {
  for (int i = first; i <= last; i++) {
    const bind_box *box = bind_test_box(L, i);
    if (box) {
      bind_enter_in(s, L, i, box->owner);
      return;
    }
  }
  bind_enter_in(s, L, lua_upvalueindex(2), lua_touserdata(L, lua_upvalueindex(2)));
}

void bind_enter_list(bind_scope *s, lua_State *L, int i, int slot) {
  luaL_checktype(L, i, LUA_TTABLE);
  size_t n = lua_rawlen(L, i);
  for (size_t k = 1; k <= n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k);
    const bind_box *box = bind_test_box(L, -1);
    if (box) {
      lua_replace(L, slot);
      bind_enter_in(s, L, slot, box->owner);
      return;
    }
    lua_pop(L, 1);
  }
  bind_enter(s, L, 1, 0);
}

bind_context *bind_check_context(lua_State *L, int i) {
  return luaL_checkudata(L, i, BIND_CONTEXT);
}

int bind_enter_maker(bind_scope *s, lua_State *L) {
  if (!lua_toboolean(L, lua_upvalueindex(3))) {
    bind_enter_in(s, L, lua_upvalueindex(2), lua_touserdata(L, lua_upvalueindex(2)));
    return 1;
  }
  bind_enter_in(s, L, 1, bind_check_context(L, 1));
  return 2;
}

int bind_return_text(bind_scope *s, char *text) {
  if (!text) return bind_raise(s);
  loom_free(s->owner->text);
  s->owner->text = text;
  lua_pushstring(s->L, text);
  loom_free(s->owner->text);
  s->owner->text = NULL;
  return 1;
}

/* context:close(), __gc, __close: closes its objects, then frees it; its expressions are stale
** then. [-0, +0, v] */
static int l_context_close(lua_State *L) {
  bind_context *owner = bind_check_context(L, 1);
  if (owner->busy > 0) return luaL_error(L, "the context is in use by the running analysis");
  while (owner->objects) bind_close_object(owner->objects);
  loom_free(owner->text);
  owner->text = NULL;
  if (owner->ctx) loom_ctx_free(owner->ctx);
  owner->ctx = NULL;
  return 0;
}

/* context:nodes() -> live nodes, bytes held.  [-0, +2, v] */
static int l_context_nodes(lua_State *L) {
  bind_context *owner = bind_check_context(L, 1);
  if (!owner->ctx) return luaL_error(L, "the context is closed");
  lua_pushinteger(L, (lua_Integer)loom_ctx_nodes(owner->ctx));
  lua_pushinteger(L, (lua_Integer)loom_ctx_bytes(owner->ctx));
  return 2;
}

/* context:collect() -> live nodes: frees the expressions nobody holds, now.  [-0, +1, v] */
static int l_context_collect(lua_State *L) {
  bind_scope s;
  bind_enter_in(&s, L, 1, bind_check_context(L, 1));
  lua_gc(L, LUA_GCCOLLECT);
  collect(L, s.owner, 1);
  if (!s.owner->ctx) return luaL_error(L, "the context is closed");
  lua_pushinteger(L, (lua_Integer)loom_ctx_nodes(s.ctx));
  return 1;
}

/* context:mark() -> mark: expressions made from here on can be dropped together.  [-0, +1, v] */
static int l_context_mark(lua_State *L) {
  bind_scope s;
  bind_enter_in(&s, L, 1, bind_check_context(L, 1));
  lua_pushinteger(L, loom_scratch_mark(s.ctx));
  return 1;
}

/* context:release(mark): drops every expression made since; their handles are stale.
** [-0, +0, v] */
static int l_context_release(lua_State *L) {
  bind_scope s;
  bind_enter_in(&s, L, 1, bind_check_context(L, 1));
  lua_Integer mark = luaL_checkinteger(L, 2);
  luaL_argcheck(L, mark >= 0 && mark <= UINT32_MAX, 2, "not a mark");
  if (loom_scratch_release(s.ctx, (uint32_t)mark) != LOOM_OK) return bind_raise(&s);
  return 0;
}

/* Pushes a new context with its cache.  [-0, +1, e] */
static bind_context *new_context(lua_State *L) {
  bind_context *owner = lua_newuserdatauv(L, sizeof *owner, 1);
  *owner = (bind_context){0};
  luaL_setmetatable(L, BIND_CONTEXT);
  lua_newtable(L);
  lua_createtable(L, 1, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, 1);
  lua_setmetatable(L, -2);
  lua_setiuservalue(L, -2, 1);
  owner->ctx = loom_ctx_new();
  if (!owner->ctx) luaL_error(L, "not enough memory");
  return owner;
}

/* core.context() -> a context of its own.  [-0, +1, e] */
static int l_context(lua_State *L) {
  new_context(L);
  return 1;
}

void bind_open_context(lua_State *L) {
  static const luaL_Reg methods[] = {{"close", l_context_close},     {"nodes", l_context_nodes},
                                     {"collect", l_context_collect}, {"mark", l_context_mark},
                                     {"release", l_context_release}, {NULL, NULL}};
  luaL_newmetatable(L, BIND_CONTEXT);
  lua_pushcfunction(L, l_context_close);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, l_context_close);
  lua_setfield(L, -2, "__close");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &default_context) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    new_context(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &default_context);
  }
  lua_setfield(L, -2, "default");
  lua_pushcfunction(L, l_context);
  lua_setfield(L, -2, "context");
}

void bind_push_upvalues(lua_State *L, bool of_context) {
  luaL_getmetatable(L, BIND_EXPR);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &default_context);
  lua_pushboolean(L, of_context);
}

void bind_set_functions(lua_State *L, const luaL_Reg *functions, bool of_context) {
  bind_push_upvalues(L, of_context);
  luaL_setfuncs(L, functions, 3);
}

void bind_set_makers(lua_State *L, const luaL_Reg *makers) {
  bind_set_functions(L, makers, false);
  luaL_getmetatable(L, BIND_CONTEXT);
  lua_getfield(L, -1, "__index");
  bind_set_functions(L, makers, true);
  lua_pop(L, 2);
}
