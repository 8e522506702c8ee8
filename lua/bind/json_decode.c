/* SPDX-License-Identifier: MIT */
/* JSON text to Lua values.
**
** Invariant: integers stay integers, nothing is dropped or guessed: duplicate keys, integers beyond
** 64 bits, text after the value and nesting beyond Jansson's limit are errors with line and column.
 */
#include <jansson.h>

#include "json.h"

/* Holds the parsed value while tables are made of it. */
typedef struct document {
  json_t *root;
} document;

/* [-0, +0, -] */
static int l_document_close(lua_State *L) {
  document *d = lua_touserdata(L, 1);
  json_decref(d->root);
  d->root = NULL;
  return 0;
}

static void push_value(lua_State *L, json_t *value, int array_metatable);

/* [-0, +1, m] */
static void push_array(lua_State *L, json_t *value, int array_metatable) {
  size_t n = json_array_size(value);
  lua_createtable(L, n > INT32_MAX ? 0 : (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_value(L, json_array_get(value, i), array_metatable);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushvalue(L, array_metatable);
  lua_setmetatable(L, -2);
}

/* [-0, +1, m] */
static void push_object(lua_State *L, json_t *value, int array_metatable) {
  const char *key;
  json_t *item;
  size_t n = json_object_size(value);
  lua_createtable(L, 0, n > INT32_MAX ? 0 : (int)n);
  json_object_foreach(value, key, item) {
    lua_pushstring(L, key);
    push_value(L, item, array_metatable);
    lua_rawset(L, -3);
  }
}

/* Recursion is bounded by the parser's limit of depth.  [-0, +1, m] */
static void push_value(lua_State *L, json_t *value, int array_metatable) {
  luaL_checkstack(L, 4, "JSON nested too deeply");
  switch (json_typeof(value)) {
  case JSON_OBJECT: push_object(L, value, array_metatable); break;
  case JSON_ARRAY: push_array(L, value, array_metatable); break;
  case JSON_STRING: lua_pushlstring(L, json_string_value(value), json_string_length(value)); break;
  case JSON_INTEGER: lua_pushinteger(L, json_integer_value(value)); break;
  case JSON_REAL: lua_pushnumber(L, json_real_value(value)); break;
  case JSON_TRUE: lua_pushboolean(L, true); break;
  case JSON_FALSE: lua_pushboolean(L, false); break;
  case JSON_NULL: lua_pushlightuserdata(L, NULL); break;
  }
}

/* core.json.decode(text[, name]) -> value; raises an error object with line and column.  Upvalue:
** the metatable of arrays.  [-0, +1, v] */
int bind_json_decode(lua_State *L) {
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  const char *name = bind_optional_text(L, 2);
  document *d = lua_newuserdatauv(L, sizeof *d, 0);
  d->root = NULL;
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, l_document_close);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__gc");
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  json_error_t error;
  d->root =
      json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
  if (!d->root) {
    return bind_raise_line(L, "syntax", error.text, name, error.line,
                           error.column > 0 ? error.column : 1);
  }
  push_value(L, d->root, lua_upvalueindex(1));
  return 1;
}
