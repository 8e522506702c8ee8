/* SPDX-License-Identifier: MIT */
/* Compiled programs in Lua.
**
** Invariant: a program needs its context only for exact evaluation; the program itself outlives it.
 */
#include <math.h>

#include "bind.h"

typedef struct program {
  loom_program *tape; /* NULL: closed */
  bind_context *owner;
} program;

/* [-0, +0, v] */
static program *check_program(lua_State *L, int i) {
  program *p = luaL_checkudata(L, i, BIND_PROGRAM);
  luaL_argcheck(L, p->tape, i, "the program is closed");
  return p;
}

/* p:close(), __gc, __close.  [-0, +0, v] */
static int l_close(lua_State *L) {
  program *p = luaL_checkudata(L, 1, BIND_PROGRAM);
  if (p->tape) loom_program_free(p->tape);
  p->tape = NULL;
  return 0;
}

/* core.compile({outputs}, {symbols}) -> program.  [-0, +1, v] */
static int l_compile(lua_State *L) {
  bind_scope s;
  size_t n_outputs, n_symbols;
  lua_settop(L, 3);
  bind_enter_list(&s, L, 1, 3);
  const loom_expr *outputs = bind_check_list(&s, 1, &n_outputs);
  const loom_expr *symbols = bind_check_list(&s, 2, &n_symbols);
  program *p = lua_newuserdatauv(L, sizeof *p, 1);
  *p = (program){NULL, s.owner};
  luaL_setmetatable(L, BIND_PROGRAM);
  lua_getiuservalue(L, s.holder, 1);
  lua_setiuservalue(L, -2, 1);
  p->tape = loom_compile(s.ctx, n_outputs, outputs, n_symbols, symbols);
  return p->tape ? 1 : bind_raise(&s);
}

/* Reads the list of equally long columns at 2 into memory pushed on the stack; n points each.  What is no
** number is an error, or NaN.  [-0, +1, v] */
static const double **read_columns(lua_State *L, size_t n_inputs, bool nan, size_t *n) {
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(
      L, lua_rawlen(L, 2) == n_inputs, 2,
      lua_pushfstring(L, "%d columns expected, got %d", (int)n_inputs, (int)lua_rawlen(L, 2)));
  *n = 1;
  for (size_t i = 0; i < n_inputs; i++) {
    luaL_argcheck(L, lua_rawgeti(L, 2, (lua_Integer)i + 1) == LUA_TTABLE, 2,
                  "list of columns expected");
    size_t length = lua_rawlen(L, -1);
    luaL_argcheck(L, i == 0 || length == *n, 2, "columns of different lengths");
    *n = length;
    lua_pop(L, 1);
  }
  const double **inputs =
      lua_newuserdatauv(L, n_inputs * (sizeof *inputs + *n * sizeof **inputs) + 1, 0);
  double *values = (double *)(inputs + n_inputs);
  for (size_t i = 0; i < n_inputs; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    inputs[i] = values;
    for (size_t p = 0; p < *n; p++) {
      int number;
      lua_rawgeti(L, -1, (lua_Integer)p + 1);
      *values++ = lua_tonumberx(L, -1, &number);
      luaL_argcheck(L, number || nan, 2, "numbers expected in the columns");
      if (!number) values[-1] = NAN;
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  return inputs;
}

/* Whether all values are integers from 1 to those of the list at 3; the first that is not, from 1.
** [-0, +0, v] */
static bool are_integers(lua_State *L, const double **inputs, size_t n_inputs, size_t n, size_t *i,
                         size_t *k) {
  for (*i = 1; *i <= n_inputs; ++*i) {
    lua_rawgeti(L, 3, (lua_Integer)*i);
    double most = luaL_checknumber(L, -1);
    lua_pop(L, 1);
    for (*k = 1; *k <= n; ++*k) {
      double x = inputs[*i - 1][*k - 1];
      if (!(x >= 1 && x <= most && floor(x) == x)) return false;
    }
  }
  return true;
}

/* p:eval({column, ...} [, most]) -> list of columns of floats; input i is the i-th symbol.  With a list of
** the most of each, values have to be integers from 1 on: else nil, the number of the first column with
** another one, and its place.  [-0, +1|3, v] */
static int l_eval(lua_State *L) {
  program *p = check_program(L, 1);
  size_t n, i_wrong, k_wrong, n_outputs = loom_program_outputs(p->tape);
  size_t n_inputs = loom_program_inputs(p->tape);
  lua_settop(L, 3);
  bool checked = !lua_isnil(L, 3);
  if (checked) luaL_checktype(L, 3, LUA_TTABLE);
  const double **inputs = read_columns(L, n_inputs, checked, &n);
  if (checked && !are_integers(L, inputs, n_inputs, n, &i_wrong, &k_wrong)) {
    lua_pushnil(L);
    lua_pushinteger(L, (lua_Integer)i_wrong);
    lua_pushinteger(L, (lua_Integer)k_wrong);
    return 3;
  }
  double **outputs =
      lua_newuserdatauv(L, n_outputs * (sizeof *outputs + n * sizeof **outputs) + 1, 0);
  double *values = (double *)(outputs + n_outputs);
  for (size_t i = 0; i < n_outputs; i++) outputs[i] = values + i * n;
  if (loom_program_eval(p->tape, n, inputs, outputs) != LOOM_OK) {
    return luaL_error(L, "not enough memory");
  }
  lua_createtable(L, (int)n_outputs, 0);
  for (size_t i = 0; i < n_outputs; i++) {
    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
      lua_pushnumber(L, outputs[i][k]);
      lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* p:exact{value, ...} -> list of exact numbers at one point.  [-0, +1, v] */
static int l_exact(lua_State *L) {
  program *p = check_program(L, 1);
  bind_scope s;
  size_t n, n_outputs = loom_program_outputs(p->tape);
  bind_enter_in(&s, L, 1, p->owner);
  const loom_expr *inputs = bind_check_list(&s, 2, &n);
  luaL_argcheck(
      L, n == loom_program_inputs(p->tape), 2,
      lua_pushfstring(L, "%d values expected, got %d", (int)loom_program_inputs(p->tape), (int)n));
  for (size_t i = 0; i < n; i++) {
    luaL_argcheck(L, loom_expr_kind(s.ctx, inputs[i]) == LOOM_NUM, 2, "numbers expected");
  }
  loom_expr *outputs = lua_newuserdatauv(L, (n_outputs + 1) * sizeof *outputs, 0);
  if (loom_program_exact(p->tape, s.ctx, inputs, outputs) != LOOM_OK) return bind_raise(&s);
  bind_push_list(&s, n_outputs, outputs);
  return 1;
}

/* #p -> instructions.  [-0, +1, v] */
static int l_length(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)loom_program_length(check_program(L, 1)->tape));
  return 1;
}

void bind_open_program(lua_State *L) {
  static const luaL_Reg functions[] = {{"compile", l_compile}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
      {"__gc", l_close}, {"__close", l_close}, {"__len", l_length}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"eval", l_eval}, {"exact", l_exact}, {"close", l_close}, {NULL, NULL}};
  luaL_newmetatable(L, BIND_PROGRAM);
  bind_set_functions(L, metamethods, false);
  lua_newtable(L);
  bind_set_functions(L, methods, false);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  bind_set_functions(L, functions, false);
}
