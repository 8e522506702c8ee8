/* SPDX-License-Identifier: MIT */
/* Expressions in Lua: one userdata per live node, so that == and table keys are identity.
**
** Invariant: the cache of a context holds at most one box for a handle of the current generation,
** and bind_push is the only maker of boxes. */
#include <math.h>
#include <string.h>

#include "bind.h"
#include "model/names.h"

/* ---- boxes -------------------------------------------------------------------------------- */

/* Its address marks boxes: telling one from other userdata of its size is two calls of Lua. */
static const char mark = 0;

bind_box *bind_test_box(lua_State *L, int i) {
  bind_box *box = lua_touserdata(L, i);
  return box && lua_rawlen(L, i) == sizeof *box && box->mark == &mark ? box : NULL;
}

/* Pushes the cache and the box of a live handle.  [-0, +2, m] */
static void push_box(bind_scope *s, loom_expr e) {
  lua_State *L = s->L;
  uint32_t generation = loom_expr_generation(s->ctx, e);
  lua_getiuservalue(L, s->holder, 1);
  if (lua_rawgeti(L, -1, e) == LUA_TUSERDATA) {
    const bind_box *known = lua_touserdata(L, -1);
    if (known->generation == generation) return;
  }
  lua_pop(L, 1);
  bind_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = (bind_box){&mark, s->owner, e, generation};
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -1);
  lua_rawseti(L, -3, e);
}

void bind_push(bind_scope *s, loom_expr e) {
  if (e == LOOM_NONE) {
    lua_pushnil(s->L);
    return;
  }
  push_box(s, e);
  lua_remove(s->L, -2);
}

int bind_return(bind_scope *s, loom_expr e) {
  if (e == LOOM_NONE) return bind_raise(s);
  push_box(s, e);
  return 1;
}

void bind_push_list(bind_scope *s, size_t n, const loom_expr *items) {
  lua_createtable(s->L, n > INT32_MAX ? 0 : (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    bind_push(s, items[i]);
    lua_rawseti(s->L, -2, (lua_Integer)i + 1);
  }
}

/* ---- arguments ---------------------------------------------------------------------------- */

/* The handle of the value at index i, or LOOM_NONE with the reason.  [-0, +0, m] */
static loom_expr convert(bind_scope *s, int i, const char **reason) {
  lua_State *L = s->L;
  *reason = NULL;
  const bind_box *box = bind_test_box(L, i);
  if (box) {
    if (box->owner != s->owner) {
      *reason = "expression of another context";
    } else if (loom_expr_generation(s->ctx, box->id) != box->generation) {
      *reason = "stale handle: the expression was released";
    }
    return *reason ? LOOM_NONE : box->id;
  }
  loom_expr e = LOOM_NONE;
  if (lua_isinteger(L, i)) {
    e = loom_int(s->ctx, lua_tointeger(L, i));
  } else if (lua_type(L, i) == LUA_TNUMBER) {
    e = loom_real(s->ctx, lua_tonumber(L, i));
  } else if (lua_type(L, i) == LUA_TSTRING) {
    size_t length;
    const char *text = lua_tolstring(L, i, &length);
    e = loom_decimal(s->ctx, text, length);
  } else {
    *reason = lua_pushfstring(L, "expression or number expected, got %s", luaL_typename(L, i));
    return LOOM_NONE;
  }
  if (e == LOOM_NONE) *reason = loom_error_message(s->ctx);
  return e;
}

loom_expr bind_arg(bind_scope *s, int i) {
  const char *reason;
  loom_expr e = convert(s, i, &reason);
  if (reason) luaL_argerror(s->L, i, reason);
  return e;
}

loom_expr bind_take(bind_scope *s, const char *name) {
  const char *reason;
  loom_expr e = convert(s, -1, &reason);
  if (reason) luaL_error(s->L, "%s: %s", name, reason);
  lua_pop(s->L, 1);
  return e;
}

loom_expr bind_field(bind_scope *s, int i, const char *name) {
  lua_getfield(s->L, i, name);
  return bind_take(s, name);
}

loom_expr bind_optional(bind_scope *s, int i) {
  if (lua_isnoneornil(s->L, i)) return LOOM_NONE;
  if (lua_type(s->L, i) == LUA_TNUMBER && lua_tonumber(s->L, i) == HUGE_VAL) return LOOM_NONE;
  return bind_arg(s, i);
}

loom_expr *bind_check_list(bind_scope *s, int i, size_t *n) {
  lua_State *L = s->L;
  luaL_checktype(L, i, LUA_TTABLE);
  *n = lua_rawlen(L, i);
  loom_expr *items = lua_newuserdatauv(L, (*n + 1) * sizeof *items, 0);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    const char *reason;
    items[k] = convert(s, -1, &reason);
    if (reason) luaL_error(L, "item %d: %s", (int)k + 1, reason);
    lua_pop(L, 1);
  }
  return items;
}

/* The expression at 1 that a method was called on.  [-0, +0, v] */
static loom_expr begin_method(bind_scope *s, lua_State *L, int last) {
  if (!bind_test_box(L, 1)) luaL_typeerror(L, 1, "expression");
  bind_enter(s, L, 1, last);
  return bind_arg(s, 1);
}

/* ---- operators ---------------------------------------------------------------------------- */

BIND_BINARY(add, loom_add)
BIND_BINARY(sub, loom_sub)
BIND_BINARY(mul, loom_mul)
BIND_BINARY(div, loom_div)
BIND_BINARY(floor_div, loom_floor_div)
BIND_BINARY(mod, loom_mod)

/* [-0, +1, v] */
static int l_unm(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  return bind_return(&s, loom_neg(s.ctx, e));
}

/* a ^ n for an integer n.  [-0, +1, v] */
static int l_pow(lua_State *L) {
  bind_scope s;
  bind_enter(&s, L, 1, 2);
  loom_expr base = bind_arg(&s, 1);
  int64_t exponent;
  if (!loom_as_int(s.ctx, bind_arg(&s, 2), &exponent)) {
    return luaL_argerror(L, 2, "the exponent of an expression is an integer");
  }
  return bind_return(&s, loom_pow(s.ctx, base, exponent));
}

/* [-0, +1, v] */
static int l_tostring(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  return bind_return_text(&s, loom_print(s.ctx, e, LOOM_INFIX));
}

/* a .. b: text.  [-0, +1, e] */
static int l_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/* ---- substitution ------------------------------------------------------------------------- */

/* The symbols of e in memory pushed on the stack.  [-0, +1, m] */
static loom_expr *push_symbols(bind_scope *s, loom_expr e, size_t *n) {
  *n = loom_expr_symbols(s->ctx, e, NULL, 0);
  loom_expr *symbols = lua_newuserdatauv(s->L, (*n + 1) * sizeof *symbols, 0);
  loom_expr_symbols(s->ctx, e, symbols, *n);
  return symbols;
}

/* The symbols of an expression as names. */
typedef struct symbol_names {
  const loom_ctx *ctx;
  const loom_expr *symbols;
} symbol_names;

static const char *name_at(const void *data, size_t i) {
  const symbol_names *names = data;
  return loom_symbol_name(names->ctx, names->symbols[i]);
}

/* Raises: the expression has no symbol of that name, but these, one of which may be meant.
** [-0, +0, v] */
static int unknown_symbol(bind_scope *s, const char *name, size_t n, const loom_expr *symbols) {
  symbol_names names = {s->ctx, symbols};
  loom_name_error(s->ctx, LOOM_ERR_ARGUMENT, "substitution", "no symbol", name,
                  (loom_names){n, &names, name_at});
  return bind_raise(s);
}

/* Refuses keys of the table at 2 that are no symbol of the expression, by name or itself.
** [-0, +0, v] */
static void check_keys(bind_scope *s, size_t n, const loom_expr *symbols) {
  lua_State *L = s->L;
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    const bind_box *box = bind_test_box(L, -2);
    const char *name = bind_text(L, -2);
    if (!box && !name) {
      luaL_error(L, "symbol or its name expected as key, got a %s", luaL_typename(L, -2));
    }
    bool known = false;
    for (size_t i = 0; i < n && !known; i++) {
      known = name ? strcmp(loom_symbol_name(s->ctx, symbols[i]), name) == 0
                   : box->owner == s->owner && box->id == symbols[i];
    }
    if (!known) unknown_symbol(s, name ? name : luaL_tolstring(L, -2, NULL), n, symbols);
    lua_pop(L, 1);
  }
}

/* Pushes what the table at 2 has for a symbol: under itself, else under its name.  [-0, +1, m] */
static bool push_value(bind_scope *s, loom_expr symbol) {
  bind_push(s, symbol);
  if (lua_rawget(s->L, 2) != LUA_TNIL) return true;
  lua_pop(s->L, 1);
  lua_pushstring(s->L, loom_symbol_name(s->ctx, symbol));
  if (lua_rawget(s->L, 2) != LUA_TNIL) return true;
  lua_pop(s->L, 1);
  return false;
}

/* e{name = value, [symbol] = value, ...}: all at once.  [-0, +1, v] */
static int l_call(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t n, used = 0;
  loom_expr *symbols = push_symbols(&s, e, &n);
  check_keys(&s, n, symbols);
  loom_expr *values = lua_newuserdatauv(L, (n + 1) * sizeof *values, 0);
  for (size_t i = 0; i < n; i++) {
    loom_expr symbol = symbols[i];
    if (!push_value(&s, symbol)) continue;
    values[used] = bind_take(&s, loom_symbol_name(s.ctx, symbol));
    symbols[used++] = symbol;
  }
  return bind_return(&s, loom_substitute(s.ctx, e, used, symbols, values));
}

/* ---- looking ------------------------------------------------------------------------------ */

static int push_answer(lua_State *L, loom_answer answer) {
  if (answer == LOOM_UNKNOWN) {
    lua_pushnil(L);
  } else {
    lua_pushboolean(L, answer == LOOM_YES);
  }
  return 1;
}

/* e:kind() -> "add", ...  [-0, +1, v] */
static int l_kind(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_pushstring(L, loom_kind_name(loom_expr_kind(s.ctx, e)));
  return 1;
}

/* e:arity() [-0, +1, v] */
static int l_arity(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_pushinteger(L, (lua_Integer)loom_expr_arity(s.ctx, e));
  return 1;
}

/* e:arg(i), from 1.  [-0, +1, v] */
static int l_arg(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_Integer i = luaL_checkinteger(L, 2);
  luaL_argcheck(L, i >= 1 && (lua_Unsigned)i <= loom_expr_arity(s.ctx, e), 2, "no such argument");
  return bind_return(&s, loom_expr_arg(s.ctx, e, (size_t)i - 1));
}

/* e:args() -> list.  [-0, +1, v] */
static int l_args(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  size_t n = loom_expr_arity(s.ctx, e);
  lua_createtable(L, n > INT32_MAX ? 0 : (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    loom_expr arg = loom_expr_arg(s.ctx, e, i);
    if (arg == LOOM_NONE) return bind_raise(&s);
    bind_push(&s, arg);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* e:symbols() -> list.  [-0, +1, v] */
static int l_symbols(lua_State *L) {
  bind_scope s;
  size_t n;
  loom_expr *symbols = push_symbols(&s, begin_method(&s, L, 1), &n);
  bind_push_list(&s, n, symbols);
  return 1;
}

/* e:name() -> name of a symbol, else nil.  [-0, +1, v] */
static int l_name(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_pushstring(L, loom_expr_kind(s.ctx, e) == LOOM_SYM ? loom_symbol_name(s.ctx, e) : NULL);
  return 1;
}

/* e:called() -> name of the function of a call, else nil.  [-0, +1, v] */
static int l_called(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_pushstring(L, loom_call_name(s.ctx, e));
  return 1;
}

/* e:is_number() [-0, +1, v] */
static int l_is_number(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_pushboolean(L, loom_expr_kind(s.ctx, e) == LOOM_NUM);
  return 1;
}

/* e:is_integer() -> true, false or nil (unknown).  [-0, +1, v] */
static int l_is_integer(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  return push_answer(L, loom_is_integer(s.ctx, e));
}

/* e:bounds() -> lo, hi, each a number or nil.  [-0, +2, v] */
static int l_bounds(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1), lo, hi;
  if (loom_bounds(s.ctx, e, &lo, &hi) != LOOM_OK) return bind_raise(&s);
  bind_push(&s, lo);
  bind_push(&s, hi);
  return 2;
}

/* e:residue() -> modulus, remainder.  [-0, +2, v] */
static int l_residue(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  int64_t modulus, remainder;
  loom_residue(s.ctx, e, &modulus, &remainder);
  lua_pushinteger(L, modulus);
  lua_pushinteger(L, remainder);
  return 2;
}

/* e:lt(f), e:le(f), e:eq(f), e:divides(f) -> true, false or nil (unknown).  [-0, +1, v] */
#define QUESTION(name, ask)                                \
  static int l_known_##name(lua_State *L) {                \
    bind_scope s;                                          \
    loom_expr e = begin_method(&s, L, 2);                  \
    return push_answer(L, ask(s.ctx, e, bind_arg(&s, 2))); \
  }
QUESTION(lt, loom_known_lt)
QUESTION(le, loom_known_le)
QUESTION(eq, loom_known_eq)
QUESTION(divides, loom_known_divides)

/* e:order(f) -> -1, 0 or 1 in the structural order.  [-0, +1, v] */
static int l_order(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 2);
  int order = loom_expr_order(s.ctx, e, bind_arg(&s, 2));
  lua_pushinteger(L, (order > 0) - (order < 0));
  return 1;
}

/* e:size() -> distinct sub-expressions.  [-0, +1, v] */
static int l_size(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  lua_pushinteger(L, (lua_Integer)loom_expr_size(s.ctx, e));
  return 1;
}

/* e:tointeger() -> Lua integer, or nil if it is no number or does not fit.  [-0, +1, v] */
static int l_tointeger(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  int64_t value;
  if (!loom_as_int(s.ctx, e, &value)) return lua_pushnil(L), 1;
  lua_pushinteger(L, value);
  return 1;
}

/* e:tonumber() -> float rounded once, or nil if it is no number.  [-0, +1, v] */
static int l_tonumber(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  double value;
  if (!loom_as_real(s.ctx, e, &value)) return lua_pushnil(L), 1;
  lua_pushnumber(L, value);
  return 1;
}

/* e:ratio() -> numerator, denominator, or nil if it is no number or they do not fit.
** [-0, +1|2, v] */
static int l_ratio(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  int64_t numerator, denominator;
  if (!loom_as_ratio(s.ctx, e, &numerator, &denominator)) return lua_pushnil(L), 1;
  lua_pushinteger(L, numerator);
  lua_pushinteger(L, denominator);
  return 2;
}

/* e:assumptions() -> table of a symbol's assumptions, else nil.  [-0, +1, v] */
static int l_assumptions(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  loom_assume assume;
  if (!loom_symbol_assume(s.ctx, e, &assume)) return lua_pushnil(L), 1;
  lua_createtable(L, 0, 5);
  lua_pushboolean(L, assume.integer);
  lua_setfield(L, -2, "integer");
  if (assume.has_min) lua_pushinteger(L, assume.min), lua_setfield(L, -2, "min");
  if (assume.has_max) lua_pushinteger(L, assume.max), lua_setfield(L, -2, "max");
  if (assume.multiple > 1) lua_pushinteger(L, assume.multiple), lua_setfield(L, -2, "multiple");
  bind_push(&s, assume.divides);
  lua_setfield(L, -2, "divides");
  return 1;
}

/* ---- working ------------------------------------------------------------------------------ */

/* e:expand() [-0, +1, v] */
static int l_expand(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  return bind_return(&s, loom_expand(s.ctx, e));
}

/* e:diff(symbol) [-0, +1, v] */
static int l_diff(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 2);
  return bind_return(&s, loom_diff(s.ctx, e, bind_arg(&s, 2)));
}

/* e:difference(symbol[, step]): e(symbol + step) - e.  [-0, +1, v] */
static int l_difference(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 3);
  loom_expr symbol = bind_arg(&s, 2);
  loom_expr step = lua_isnoneornil(L, 3) ? loom_int(s.ctx, 1) : bind_arg(&s, 3);
  return bind_return(&s, loom_difference(s.ctx, e, symbol, step));
}

/* e:breakpoints(symbol, lo, hi) -> ascending list of Lua integers.  [-0, +1, v] */
static int l_breakpoints(lua_State *L) {
  bind_scope s;
  loom_expr e = begin_method(&s, L, 2);
  loom_expr symbol = bind_arg(&s, 2);
  lua_Integer lo = luaL_checkinteger(L, 3), hi = luaL_checkinteger(L, 4);
  ptrdiff_t n = loom_breakpoints(s.ctx, e, symbol, lo, hi, NULL, 0);
  if (n < 0) return bind_raise(&s);
  int64_t *found = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *found, 0);
  loom_breakpoints(s.ctx, e, symbol, lo, hi, found, (size_t)n);
  lua_createtable(L, n > INT32_MAX ? 0 : (int)n, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    lua_pushinteger(L, found[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* e:print([style]) -> text.  [-0, +1, v] */
static int l_print(lua_State *L) {
  static const char *const styles[] = {"infix", "c", "latex", "lua", NULL};
  bind_scope s;
  loom_expr e = begin_method(&s, L, 1);
  int style = luaL_checkoption(L, 2, "infix", styles);
  return bind_return_text(&s, loom_print(s.ctx, e, (loom_style)style));
}

/* core.is_expr(x) [-0, +1, -] */
static int l_is_expr(lua_State *L) {
  lua_pushboolean(L, bind_test_box(L, 1) != NULL);
  return 1;
}

void bind_open_expr(lua_State *L) {
  static const luaL_Reg operators[] = {
      {"__add", l_add},   {"__sub", l_sub},           {"__mul", l_mul},       {"__div", l_div},
      {"__mod", l_mod},   {"__idiv", l_floor_div},    {"__pow", l_pow},       {"__unm", l_unm},
      {"__call", l_call}, {"__tostring", l_tostring}, {"__concat", l_concat}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"kind", l_kind},
                                     {"arity", l_arity},
                                     {"arg", l_arg},
                                     {"args", l_args},
                                     {"symbols", l_symbols},
                                     {"name", l_name},
                                     {"called", l_called},
                                     {"assumptions", l_assumptions},
                                     {"is_number", l_is_number},
                                     {"is_integer", l_is_integer},
                                     {"bounds", l_bounds},
                                     {"residue", l_residue},
                                     {"lt", l_known_lt},
                                     {"le", l_known_le},
                                     {"eq", l_known_eq},
                                     {"divides", l_known_divides},
                                     {"order", l_order},
                                     {"size", l_size},
                                     {"tointeger", l_tointeger},
                                     {"tonumber", l_tonumber},
                                     {"ratio", l_ratio},
                                     {"expand", l_expand},
                                     {"diff", l_diff},
                                     {"difference", l_difference},
                                     {"breakpoints", l_breakpoints},
                                     {"print", l_print},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"is_expr", l_is_expr}, {"floor_div", l_floor_div}, {"mod", l_mod}, {NULL, NULL}};
  luaL_newmetatable(L, BIND_EXPR);
  bind_set_functions(L, operators, false);
  lua_newtable(L);
  bind_set_functions(L, methods, false);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  bind_set_functions(L, functions, false);
}
