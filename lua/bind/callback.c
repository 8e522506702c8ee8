/* SPDX-License-Identifier: MIT */
/* Functions written in Lua that the core calls while it works.
**
** Invariant: nothing jumps over the core: a function runs protected, and its error waits on the
** stack of the call that started the core until the core has returned. */
#include <string.h>

#include "bind.h"

/* What travels into protected code. */
typedef struct passage {
  const char *name;
  lua_CFunction call;
  void *data;
} passage;

/* Message handler: a traceback for strings, down to the function that was called; other errors
** pass.  [-1, +1, m] */
static int add_traceback(lua_State *L) {
  static const char outside[] = "\n\t[C]: in ?";
  if (lua_type(L, 1) != LUA_TSTRING) return 1;
  luaL_traceback(L, L, NULL, 1);
  const char *trace = lua_tostring(L, -1), *frames = strchr(trace, '\n');
  const char *end = frames ? strstr(frames, outside) : NULL;
  if (!frames || end == frames) {
    lua_pop(L, 1);
    return 1;
  }
  lua_pushliteral(L, "\n");
  lua_pushlstring(L, trace, end ? (size_t)(end - trace) : strlen(trace));
  lua_remove(L, -3);
  lua_concat(L, 3);
  return 1;
}

/* [passage, functions, holder]: calls `call` with data, the named function and holder, giving it
** the upvalues of the binding.  [-0, +0, e] */
static int pass(lua_State *L) {
  const passage *p = lua_touserdata(L, 1);
  bind_push_upvalues(L, false);
  lua_pushcclosure(L, p->call, 3);
  lua_pushlightuserdata(L, p->data);
  lua_pushstring(L, p->name);
  lua_rawget(L, 2);
  lua_pushvalue(L, 3);
  lua_call(L, 3, 0);
  return 0;
}

loom_status bind_run_callback(bind_callbacks *self, const char *name, lua_CFunction call,
                              void *data) {
  lua_State *L = self->scope->L;
  loom_ctx *ctx = self->scope->ctx;
  passage p = {name, call, data};
  if (!lua_checkstack(L, 8)) return loom_error_set(ctx, LOOM_ERR_MEMORY, "stack overflow");
  int top = lua_gettop(L);
  lua_pushcfunction(L, add_traceback);
  lua_pushcfunction(L, pass);
  lua_pushlightuserdata(L, &p);
  lua_pushvalue(L, self->functions);
  lua_pushvalue(L, self->scope->holder);
  if (lua_pcall(L, 3, 0, top + 1) == LUA_OK) {
    lua_settop(L, top);
    loom_error_clear(ctx);
    return LOOM_OK;
  }
  lua_replace(L, top + 1);
  self->error = top + 1;
  loom_error_clear(ctx);
  return loom_error_set(ctx, LOOM_ERR_CALLBACK, "the function for '%s' failed", name);
}

size_t bind_check_callbacks(bind_callbacks *self, int i, const char *option) {
  lua_State *L = self->scope->L;
  if (lua_getfield(L, i, option) == LUA_TNIL) return 0;
  if (!lua_istable(L, -1)) luaL_error(L, "%s: table of functions expected", option);
  self->functions = lua_gettop(L);
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, self->functions); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "%s: names expected as keys", option);
    n++;
  }
  return n;
}

void bind_check_options(lua_State *L, int i, const char *const names[]) {
  if (lua_isnil(L, i)) {
    lua_newtable(L);
    lua_replace(L, i);
  }
  luaL_checktype(L, i, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    bind_check_name(L, lua_gettop(L), names);
    lua_pop(L, 1);
  }
}

int bind_finish(bind_callbacks *self, bind_object *object, void *handle) {
  lua_State *L = self->scope->L;
  if (!handle && self->error > 0) {
    if (lua_type(L, self->error) == LUA_TSTRING) {
      lua_pushfstring(L, "%s: %s", loom_error_message(self->scope->ctx),
                      lua_tostring(L, self->error));
      return bind_raise_line(L, loom_status_kind(LOOM_ERR_CALLBACK), lua_tostring(L, -1), NULL, 0,
                             0);
    }
    lua_pushvalue(L, self->error);
    return lua_error(L);
  }
  return bind_adopt(self->scope, object, handle);
}

void bind_hold(bind_scope *s, int n, bind_object *const objects[], int change) {
  for (int i = 0; i < n; i++) objects[i]->busy += change;
  s->owner->busy += change;
}
