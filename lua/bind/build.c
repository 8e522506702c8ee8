/* SPDX-License-Identifier: MIT */
/* Making expressions: symbols, numbers, parsing and the builders that are no operators.
**
** Invariant: what starts from nothing (symbol, number, parse) works in the default context or in
** the one it is a method of; everything else in the context of its arguments. */
#include "bind.h"

/* ---- makers: functions of the module and methods of contexts -------------------------------- */

/* A field of the assumptions at index i as an integer.  [-0, +0, v] */
static bool integer_field(lua_State *L, int i, const char *name, int64_t *value) {
  lua_getfield(L, i, name);
  bool given = !lua_isnil(L, -1);
  if (given) {
    int exact;
    *value = lua_tointegerx(L, -1, &exact);
    if (!exact) luaL_error(L, "assumption '%s': integer expected", name);
  }
  lua_pop(L, 1);
  return given;
}

/* Refuses unknown keys in the assumptions at index i.  [-0, +0, v] */
static void check_assumptions(lua_State *L, int i) {
  static const char *const known[] = {"integer", "min", "max", "multiple", "divides", NULL};
  luaL_checktype(L, i, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    bind_check_name(L, lua_gettop(L), known);
    lua_pop(L, 1);
  }
}

/* The assumptions at index i; a minimum of 1 holds unless another minimum, a maximum below it or
** integer = false is given.  [-0, +0, v] */
static loom_assume read_assumptions(bind_scope *s, int i) {
  lua_State *L = s->L;
  loom_assume assume = {.integer = true, .has_min = true, .min = 1};
  check_assumptions(L, i);
  if (lua_getfield(L, i, "integer") != LUA_TNIL) assume.integer = lua_toboolean(L, -1);
  lua_pop(L, 1);
  bool given = integer_field(L, i, "min", &assume.min);
  assume.has_max = integer_field(L, i, "max", &assume.max);
  if (!given && (!assume.integer || (assume.has_max && assume.max < 1))) assume.has_min = false;
  integer_field(L, i, "multiple", &assume.multiple);
  if (lua_getfield(L, i, "divides") == LUA_TNIL) {
    lua_pop(L, 1);
  } else {
    assume.divides = bind_take(s, "divides");
  }
  return assume;
}

/* core.symbol(name[, assumptions]) [-0, +1, v] */
static int l_symbol(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  const char *name = bind_check_text(L, i);
  if (lua_isnoneornil(L, i + 1)) return bind_return(&s, loom_symbol(s.ctx, name, NULL));
  loom_assume assume = read_assumptions(&s, i + 1);
  return bind_return(&s, loom_symbol(s.ctx, name, &assume));
}

/* core.number(number or text) -> exact number.  [-0, +1, v] */
static int l_number(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  if (!lua_isnumber(L, i) && !lua_isstring(L, i)) luaL_typeerror(L, i, "number or text");
  return bind_return(&s, bind_arg(&s, i));
}

/* core.int(n) for a Lua integer n.  [-0, +1, v] */
static int l_int(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  return bind_return(&s, loom_int(s.ctx, luaL_checkinteger(L, i)));
}

/* core.parse(text[, name of its source][, list of known symbols]) -> expression; a number is itself,
** exactly; raises an error object with line and column.  [-0, +1, v] */
static int l_parse(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  if (lua_type(L, i) == LUA_TNUMBER) return bind_return(&s, bind_arg(&s, i));
  size_t length, n = 0;
  const char *text = luaL_checklstring(L, i, &length);
  const char *source = bind_optional_text(L, i + 1);
  const loom_expr *symbols = NULL;
  if (!lua_isnoneornil(L, i + 2)) symbols = bind_check_list(&s, i + 2, &n);
  loom_expr e = loom_parse(s.ctx, text, length, n, symbols, NULL);
  if (e != LOOM_NONE) return bind_return(&s, e);
  return bind_raise_at(L, loom_status_kind(loom_error_status(s.ctx)), loom_error_message(s.ctx),
                       source, text, loom_error_offset(s.ctx));
}

/* ---- builders ----------------------------------------------------------------------------- */

/* core.sum{...}, core.product{...} [-0, +1, v] */
#define OF_LIST(name, build)                             \
  static int l_##name(lua_State *L) {                    \
    bind_scope s;                                        \
    size_t n;                                            \
    lua_settop(L, 2);                                    \
    bind_enter_list(&s, L, 1, 2);                        \
    const loom_expr *items = bind_check_list(&s, 1, &n); \
    return bind_return(&s, build(s.ctx, n, items));      \
  }
OF_LIST(sum, loom_sum)
OF_LIST(product, loom_product)

/* core.min(...), core.max(...) [-0, +1, v] */
#define OF_ARGUMENTS(name, build)                                                \
  static int l_##name(lua_State *L) {                                            \
    bind_scope s;                                                                \
    int n = lua_gettop(L);                                                       \
    bind_enter(&s, L, 1, n);                                                     \
    loom_expr *items = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *items, 0); \
    for (int i = 0; i < n; i++) items[i] = bind_arg(&s, i + 1);                  \
    return bind_return(&s, build(s.ctx, (size_t)n, items));                      \
  }
OF_ARGUMENTS(min, loom_min)
OF_ARGUMENTS(max, loom_max)

/* core.floor(e), core.ceil(e) [-0, +1, v] */
#define UNARY(name, build)                                 \
  static int l_##name(lua_State *L) {                      \
    bind_scope s;                                          \
    bind_enter(&s, L, 1, 1);                               \
    return bind_return(&s, build(s.ctx, bind_arg(&s, 1))); \
  }
UNARY(expr_floor, loom_floor)
UNARY(expr_ceil, loom_ceil)

/* core.lt(a, b), core.le, core.eq */
BIND_BINARY(lt, loom_lt)
BIND_BINARY(le, loom_le)
BIND_BINARY(eq, loom_eq)

/* core.mod_index(a, d, m), core.select(c, a, b) [-0, +1, v] */
#define TERNARY(name, build)                                     \
  static int l_##name(lua_State *L) {                            \
    bind_scope s;                                                \
    bind_enter(&s, L, 1, 3);                                     \
    loom_expr a = bind_arg(&s, 1), b = bind_arg(&s, 2);          \
    return bind_return(&s, build(s.ctx, a, b, bind_arg(&s, 3))); \
  }
TERNARY(mod_index, loom_mod_index)
TERNARY(select, loom_select)

/* core.tile_sequence(mode, outer, tile[, first]) -> {stride =, pairs = {{extent, repeats}, ...}},
** or nil, message, kind.  [-0, +1|3, v] */
static int l_tile_sequence(lua_State *L) {
  static const char *const modes[] = {"whole_trips", "first_tile", "exact_last_tile", "average",
                                      NULL};
  bind_scope s;
  lua_settop(L, 4);
  bind_enter(&s, L, 2, 4);
  int mode = bind_check_name(L, 1, modes);
  loom_expr outer = bind_arg(&s, 2), tile = bind_arg(&s, 3), first = bind_optional(&s, 4);
  loom_tiles tiles;
  if (loom_tile_sequence(s.ctx, (loom_tiling_mode)mode, outer, tile, first, &tiles) != LOOM_OK) {
    return bind_fail(&s);
  }
  lua_createtable(L, 0, 2);
  bind_push(&s, tiles.stride);
  lua_setfield(L, -2, "stride");
  lua_createtable(L, tiles.n, 0);
  for (int i = 0; i < tiles.n; i++) {
    bind_push_list(&s, 2, (loom_expr[]){tiles.extent[i], tiles.repeats[i]});
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "pairs");
  return 1;
}

void bind_open_build(lua_State *L) {
  static const luaL_Reg makers[] = {
      {"symbol", l_symbol}, {"number", l_number}, {"int", l_int}, {"parse", l_parse}, {NULL, NULL}};
  static const luaL_Reg builders[] = {{"sum", l_sum},
                                      {"product", l_product},
                                      {"min", l_min},
                                      {"max", l_max},
                                      {"floor", l_expr_floor},
                                      {"ceil", l_expr_ceil},
                                      {"mod_index", l_mod_index},
                                      {"lt", l_lt},
                                      {"le", l_le},
                                      {"eq", l_eq},
                                      {"select", l_select},
                                      {"tile_sequence", l_tile_sequence},
                                      {NULL, NULL}};
  bind_set_makers(L, makers);
  bind_set_functions(L, builders, false);
}
