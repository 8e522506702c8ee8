/* SPDX-License-Identifier: MIT */
/* Errors of the core on their way to Lua.
**
** Invariant: misuse and lack of memory raise; a domain error is nil, message and kind; an error in
** a text is an object that knows its place. */
#include <string.h>

#include "bind.h"

int bind_raise(bind_scope *s) {
  if (loom_error_status(s->ctx) == LOOM_ERR_MEMORY) return luaL_error(s->L, "not enough memory");
  return luaL_error(s->L, "%s", loom_error_message(s->ctx));
}

int bind_fail(bind_scope *s) {
  loom_status status = loom_error_status(s->ctx);
  if (status == LOOM_ERR_ARGUMENT || status == LOOM_ERR_MEMORY) return bind_raise(s);
  lua_pushnil(s->L);
  lua_pushstring(s->L, loom_error_message(s->ctx));
  lua_pushstring(s->L, loom_status_kind(status));
  return 3;
}

int bind_return_boolean(bind_scope *s, bool value) {
  if (loom_error_status(s->ctx) != LOOM_OK) return bind_fail(s);
  lua_pushboolean(s->L, value);
  return 1;
}

int bind_raise_line(lua_State *L, const char *kind, const char *message, const char *file, int line,
                    int column) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, message);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, file);
  lua_setfield(L, -2, "file");
  if (line > 0) {
    lua_pushinteger(L, line);
    lua_setfield(L, -2, "line");
    lua_pushinteger(L, column);
    lua_setfield(L, -2, "column");
  }
  luaL_setmetatable(L, BIND_ERROR);
  return lua_error(L);
}

int bind_raise_at(lua_State *L, const char *kind, const char *message, const char *file,
                  const char *text, ptrdiff_t offset) {
  int line = 1, column = 1;
  for (ptrdiff_t i = 0; i < offset; i++) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return bind_raise_line(L, kind, message, file, offset < 0 ? 0 : line, column);
}

/* "file:line:column: message", as far as they are known.  [-0, +1, e] */
static int l_error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  static const char *const parts[] = {"file", "line", "column"};
  for (int i = 0; i < 3; i++) {
    if (lua_getfield(L, 1, parts[i]) == LUA_TNIL) {
      lua_pop(L, 1);
      continue;
    }
    luaL_addvalue(&text);
    luaL_addchar(&text, ':');
  }
  if (luaL_bufflen(&text) > 0) luaL_addchar(&text, ' ');
  lua_getfield(L, 1, "message");
  luaL_tolstring(L, -1, NULL);
  lua_remove(L, -2);
  luaL_addvalue(&text);
  luaL_pushresult(&text);
  return 1;
}

/* core.error: the metatable of error objects.  */
void bind_open_error(lua_State *L) {
  luaL_newmetatable(L, BIND_ERROR);
  lua_pushcfunction(L, l_error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_setfield(L, -2, "error");
}
