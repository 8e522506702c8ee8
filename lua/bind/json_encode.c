/* SPDX-License-Identifier: MIT */
/* Lua values to JSON text.
**
** Invariant: equal values give equal text (keys sorted), and what is written reads back the same:
** floats in the fewest digits that do, integers exactly, integers beyond 64 bits and infinities as
** strings; what has no such text is an error. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

enum { MAX_DEPTH = 2000, ARRAY_METATABLE = lua_upvalueindex(4) };

/* Text being written: bytes in a userdata at a stack slot, replaced when it grows. */
typedef struct writer {
  lua_State *L;
  int slot, depth, indent;
  bool sort_keys;
  char *bytes;
  size_t length, capacity;
} writer;

/* [-0, +0, m] */
static void put(writer *w, const char *bytes, size_t n) {
  if (w->capacity - w->length < n) {
    size_t capacity = (w->length + n) * 2;
    char *grown = lua_newuserdatauv(w->L, capacity, 0);
    if (w->length > 0) memcpy(grown, w->bytes, w->length);
    lua_replace(w->L, w->slot);
    w->bytes = grown;
    w->capacity = capacity;
  }
  memcpy(w->bytes + w->length, bytes, n);
  w->length += n;
}

static void put_text(writer *w, const char *text) {
  put(w, text, strlen(text));
}

static void put_line_end(writer *w) {
  if (w->indent < 0) return;
  put(w, "\n", 1);
  for (int i = 0; i < w->indent * w->depth; i++) put(w, " ", 1);
}

/* The length of the valid UTF-8 sequence at text, or 0. */
static size_t utf8_length(const unsigned char *text, size_t n) {
  size_t length = text[0] < 0x80   ? 1
                  : text[0] < 0xC2 ? 0
                  : text[0] < 0xE0 ? 2
                  : text[0] < 0xF0 ? 3
                  : text[0] < 0xF5 ? 4
                                   : 0;
  if (length > n) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xC0) != 0x80) return 0;
  }
  if (length == 3 && ((text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xED && text[1] > 0x9F))) {
    return 0;
  }
  if (length == 4 && ((text[0] == 0xF0 && text[1] < 0x90) || (text[0] == 0xF4 && text[1] > 0x8F))) {
    return 0;
  }
  return length;
}

/* The string at the top of the stack, in quotes.  [-0, +0, e] */
static void put_string(writer *w) {
  size_t n;
  const char *text = lua_tolstring(w->L, -1, &n);
  put(w, "\"", 1);
  for (size_t i = 0; i < n;) {
    unsigned char c = (unsigned char)text[i];
    size_t length = utf8_length((const unsigned char *)text + i, n - i);
    if (length == 0) luaL_error(w->L, "string is not UTF-8 text");
    char escape[8];
    if (c == '"' || c == '\\') {
      put(w, (char[]){'\\', (char)c}, 2);
    } else if (c == '\n') {
      put(w, "\\n", 2);
    } else if (c < 0x20 || c == 0x7F) {
      put(w, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
    } else {
      put(w, text + i, length);
    }
    i += length;
  }
  put(w, "\"", 1);
}

/* Fewest digits that read back as x, with a point or an exponent whatever the locale. */
static void put_real(writer *w, double x) {
  char text[64];
  if (isnan(x)) luaL_error(w->L, "nan has no JSON text");
  if (isinf(x)) {
    put_text(w, x > 0 ? "\"inf\"" : "\"-inf\"");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  const char *point = localeconv()->decimal_point;
  char *found = strstr(text, point);
  if (found && strcmp(point, ".") != 0) {
    *found = '.';
    memmove(found + 1, found + strlen(point), strlen(found + strlen(point)) + 1);
  }
  put_text(w, text);
  if (!strpbrk(text, ".e")) put_text(w, ".0");
}

static void put_integer(writer *w, lua_Integer n) {
  char text[32];
  snprintf(text, sizeof text, LUA_INTEGER_FMT, n);
  put_text(w, text);
}

/* The expression at the top of the stack, if it is a number.  [-0, +0, e] */
static void put_expr(writer *w) {
  lua_State *L = w->L;
  bind_scope s;
  int top = lua_gettop(L);
  bind_enter(&s, L, top, top);
  loom_expr e = bind_arg(&s, top);
  int64_t n;
  double x;
  if (loom_as_int(s.ctx, e, &n)) {
    put_integer(w, n);
  } else if (!loom_as_real(s.ctx, e, &x)) {
    luaL_error(L, "an expression with symbols has no JSON text");
  } else if (loom_is_integer(s.ctx, e) == LOOM_YES) {
    bind_return_text(&s, loom_print(s.ctx, e, LOOM_INFIX));
    put_string(w);
    lua_pop(L, 1);
  } else {
    put_real(w, x);
  }
}

static void put_value(writer *w);

/* 1 for an array, 0 for an object: the table at the top of the stack is marked as an array, or
** holds exactly 1..n for n > 0.  [-0, +0, e] */
static bool is_array(writer *w, size_t *n) {
  lua_State *L = w->L;
  *n = lua_rawlen(L, -1);
  bool marked = false;
  if (lua_getmetatable(L, -1)) {
    marked = lua_rawequal(L, -1, ARRAY_METATABLE);
    lua_pop(L, 1);
  }
  size_t keys = 0, strings = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    keys++;
    strings += lua_type(L, -2) == LUA_TSTRING;
  }
  bool sequence = keys == *n && strings == 0;
  if (marked && !sequence) luaL_error(L, "array with holes or named fields");
  if (!sequence && strings != keys)
    luaL_error(L, "table that is neither a list nor has only names");
  return marked || (sequence && *n > 0);
}

/* [-0, +0, e] */
static void put_array(writer *w, size_t n) {
  put(w, "[", 1);
  w->depth++;
  for (size_t i = 1; i <= n; i++) {
    if (i > 1) put(w, ",", 1);
    put_line_end(w);
    lua_rawgeti(w->L, -1, (lua_Integer)i);
    put_value(w);
    lua_pop(w->L, 1);
  }
  w->depth--;
  if (n > 0) put_line_end(w);
  put(w, "]", 1);
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of the table at the top of the stack, in memory pushed on the stack.  [-0, +1, m] */
static const char **push_keys(writer *w, size_t *n) {
  lua_State *L = w->L;
  *n = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) ++*n;
  const char **keys = lua_newuserdatauv(L, (*n + 1) * sizeof *keys, 0);
  size_t i = 0;
  for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) {
    size_t length;
    keys[i] = lua_tolstring(L, -2, &length);
    if (strlen(keys[i++]) != length) luaL_error(L, "a zero byte in the name of a field");
  }
  if (w->sort_keys) qsort(keys, *n, sizeof *keys, compare_keys);
  return keys;
}

/* [-0, +0, e] */
static void put_object(writer *w) {
  lua_State *L = w->L;
  size_t n;
  const char **keys = push_keys(w, &n);
  put(w, "{", 1);
  w->depth++;
  for (size_t i = 0; i < n; i++) {
    if (i > 0) put(w, ",", 1);
    put_line_end(w);
    lua_pushstring(L, keys[i]);
    put_string(w);
    put(w, w->indent < 0 ? ":" : ": ", w->indent < 0 ? 1 : 2);
    lua_rawget(L, -3);
    put_value(w);
    lua_pop(L, 1);
  }
  w->depth--;
  if (n > 0) put_line_end(w);
  put(w, "}", 1);
  lua_pop(L, 1);
}

/* The value at the top of the stack.  [-0, +0, e] */
static void put_value(writer *w) {
  lua_State *L = w->L;
  luaL_checkstack(L, 8, "value nested too deeply");
  switch (lua_type(L, -1)) {
  case LUA_TBOOLEAN: put_text(w, lua_toboolean(L, -1) ? "true" : "false"); return;
  case LUA_TSTRING: put_string(w); return;
  case LUA_TNUMBER:
    if (lua_isinteger(L, -1)) {
      put_integer(w, lua_tointeger(L, -1));
    } else {
      put_real(w, lua_tonumber(L, -1));
    }
    return;
  case LUA_TTABLE: {
    size_t n;
    if (w->depth >= MAX_DEPTH) luaL_error(L, "value nested too deeply, or in itself");
    if (is_array(w, &n)) {
      put_array(w, n);
    } else {
      put_object(w);
    }
    return;
  }
  case LUA_TLIGHTUSERDATA:
    if (lua_touserdata(L, -1) == NULL) {
      put_text(w, "null");
      return;
    }
    break;
  case LUA_TUSERDATA:
    if (bind_test_box(L, -1)) {
      put_expr(w);
      return;
    }
    break;
  default: break;
  }
  luaL_error(L, "a %s has no JSON text", luaL_typename(L, -1));
}

/* The options at index 2.  [-0, +0, v] */
static void read_options(lua_State *L, writer *w) {
  static const char *const names[] = {"indent", "sort_keys", NULL};
  bind_check_options(L, 2, names);
  if (lua_getfield(L, 2, "indent") != LUA_TNIL) {
    lua_Integer indent = luaL_checkinteger(L, -1);
    luaL_argcheck(L, indent >= 0 && indent <= 16, 2, "indent between 0 and 16 expected");
    w->indent = (int)indent;
  }
  if (lua_getfield(L, 2, "sort_keys") != LUA_TNIL) w->sort_keys = lua_toboolean(L, -1);
  lua_pop(L, 2);
}

/* core.json.encode(value[, {indent =, sort_keys = true}]) -> text; on one line without indent.
** [-0, +1, v] */
int bind_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  writer w = {.L = L, .slot = 3, .indent = -1, .sort_keys = true};
  if (!lua_isnil(L, 2)) read_options(L, &w);
  lua_pushnil(L);
  lua_pushvalue(L, 1);
  put_value(&w);
  lua_pushlstring(L, w.bytes, w.length);
  return 1;
}
