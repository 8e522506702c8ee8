/* SPDX-License-Identifier: MIT */
/* Index arithmetic in Lua: methods of expressions that take extents { variable = size, ... } and
** hints { size = example or false, ... }, keyed by symbols or their names.
**
** Invariant: what is given counts for the symbols of the expressions of the call, others are left
** unread; lists of the core live in userdata on the stack. */
#include <string.h>

#include "bind.h"

/* ---- what is given ------------------------------------------------------------------------ */

/* Pushes what the table at index i has for a symbol: under itself, else under its name.
** [-0, +0|1, m] */
static bool push_given(bind_scope *s, int i, loom_expr symbol) {
  lua_State *L = s->L;
  bind_push(s, symbol);
  if (lua_rawget(L, i) != LUA_TNIL) return true;
  lua_pop(L, 1);
  lua_pushstring(L, loom_symbol_name(s->ctx, symbol));
  if (lua_rawget(L, i) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

/* The symbols of n expressions, in memory pushed on the stack.  [-0, +1, m] */
static loom_expr *push_symbols_of(bind_scope *s, size_t n, const loom_expr *items, size_t *found) {
  size_t room = 0;
  for (size_t i = 0; i < n; i++) room += loom_expr_symbols(s->ctx, items[i], NULL, 0);
  loom_expr *symbols = lua_newuserdatauv(s->L, (room + 1) * sizeof *symbols, 0);
  *found = 0;
  for (size_t i = 0; i < n; i++)
    *found += loom_expr_symbols(s->ctx, items[i], symbols + *found, room - *found);
  return symbols;
}

/* Reads extents of the symbols from the table at index i (nil: none).  [-0, +1, v] */
static void read_extents(bind_scope *s, int i, size_t n, const loom_expr *symbols,
                         loom_given *given) {
  lua_State *L = s->L;
  loom_extent *extents = lua_newuserdatauv(L, (n + 1) * sizeof *extents, 0);
  given->extents = extents;
  if (lua_isnoneornil(L, i)) return;
  luaL_checktype(L, i, LUA_TTABLE);
  for (size_t k = 0; k < n; k++) {
    if (!push_given(s, i, symbols[k])) continue;
    loom_expr size = bind_take(s, loom_symbol_name(s->ctx, symbols[k]));
    extents[given->n_extents++] = (loom_extent){symbols[k], size};
  }
}

/* Reads hints: a value, or false for a size without one.  [-0, +1, v] */
static void read_hints(bind_scope *s, int i, size_t n, const loom_expr *symbols,
                       loom_given *given) {
  lua_State *L = s->L;
  loom_hint *hints = lua_newuserdatauv(L, (n + 1) * sizeof *hints, 0);
  given->hints = hints;
  if (lua_isnoneornil(L, i)) return;
  luaL_checktype(L, i, LUA_TTABLE);
  for (size_t k = 0; k < n; k++) {
    if (!push_given(s, i, symbols[k])) continue;
    loom_expr value = LOOM_NONE;
    if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
      lua_pop(L, 1);
    else
      value = bind_take(s, loom_symbol_name(s->ctx, symbols[k]));
    hints[given->n_hints++] = (loom_hint){symbols[k], value};
  }
}

/* The expression at 1 that a method was called on.  [-0, +0, v] */
static loom_expr begin(bind_scope *s, lua_State *L, int last) {
  if (!bind_test_box(L, 1)) luaL_typeerror(L, 1, "expression");
  lua_settop(L, last);
  bind_enter(s, L, 1, last);
  return bind_arg(s, 1);
}

/* The same with extents of its symbols at 2.  [-0, +2, v] */
static loom_expr begin_in(bind_scope *s, lua_State *L, loom_given *given) {
  loom_expr e = begin(s, L, 2);
  size_t n;
  const loom_expr *symbols = push_symbols_of(s, 1, &e, &n);
  read_extents(s, 2, n, symbols, given);
  return e;
}

/* nil after a call that says no; raises what went wrong.  [-0, +1, v] */
static int say_no(bind_scope *s) {
  if (loom_error_status(s->ctx) != LOOM_OK) return bind_raise(s);
  lua_pushnil(s->L);
  return 1;
}

/* ---- rewriting ---------------------------------------------------------------------------- */

/* e:simplify([extents]) [-0, +1, v] */
static int l_simplify(lua_State *L) {
  bind_scope s;
  loom_given given = {0};
  if (lua_isnoneornil(L, 2)) {
    loom_expr e = begin(&s, L, 1);
    return bind_return(&s, loom_simplify(s.ctx, e));
  }
  loom_expr e = begin_in(&s, L, &given);
  return bind_return(&s, loom_simplify_in(s.ctx, e, &given));
}

/* e:join() [-0, +1, v] */
static int l_join(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 1);
  return bind_return(&s, loom_join(s.ctx, e));
}

/* e:reveal() [-0, +1, v] */
static int l_reveal(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 1);
  return bind_return(&s, loom_reveal(s.ctx, e));
}

/* e:pair_mod([extents]) [-0, +1, v] */
static int l_pair_mod(lua_State *L) {
  bind_scope s;
  loom_given given = {0};
  loom_expr e = begin_in(&s, L, &given);
  return bind_return(&s, loom_pair_mod(s.ctx, e, &given));
}

/* e:expand_div([extents]) -> numerator, divisor, or nil.  [-0, +1|2, v] */
static int l_expand_div(lua_State *L) {
  bind_scope s;
  loom_given given = {0};
  loom_expr e = begin_in(&s, L, &given), numerator, divisor;
  if (!loom_expand_div(s.ctx, e, &given, &numerator, &divisor)) return say_no(&s);
  bind_push(&s, numerator);
  bind_push(&s, divisor);
  return 2;
}

/* core.opaque(e) [-0, +1, v] */
static int l_opaque(lua_State *L) {
  bind_scope s;
  bind_enter(&s, L, 1, 1);
  return bind_return(&s, loom_opaque(s.ctx, bind_arg(&s, 1)));
}

/* ---- facts -------------------------------------------------------------------------------- */

/* e:known(relation, other[, {extents =, hints =, strict =}]) -> boolean.  [-0, +1, v] */
static int l_known(lua_State *L) {
  static const char *const relations[] = {"eq", "le", "lt", "ge", "gt", "multiple", NULL};
  static const char *const options[] = {"extents", "hints", "strict", NULL};
  bind_scope s;
  loom_given given = {0};
  loom_expr e = begin(&s, L, 4);
  int relation = bind_check_name(L, 2, relations);
  loom_expr both[] = {e, bind_arg(&s, 3)};
  bind_check_options(L, 4, options);
  lua_getfield(L, 4, "extents");
  lua_getfield(L, 4, "hints");
  lua_getfield(L, 4, "strict");
  given.strict = lua_toboolean(L, 7);
  size_t n;
  const loom_expr *symbols = push_symbols_of(&s, 2, both, &n);
  read_extents(&s, 5, n, symbols, &given);
  read_hints(&s, 6, n, symbols, &given);
  bool known = loom_known(s.ctx, (loom_relation)relation, both[0], both[1], &given);
  if (!known && loom_error_status(s.ctx) != LOOM_OK) return bind_raise(&s);
  lua_pushboolean(L, known);
  return 1;
}

/* e:hint(hints[, fallback]) -> number, or nil without a fallback where a symbol has no hint.
** [-0, +1, v] */
static int l_hint(lua_State *L) {
  bind_scope s;
  loom_given given = {0};
  loom_expr e = begin(&s, L, 3), value;
  size_t n;
  const loom_expr *symbols = push_symbols_of(&s, 1, &e, &n);
  read_hints(&s, 2, n, symbols, &given);
  if (!lua_isnil(L, 3)) {
    lua_Integer fallback = luaL_checkinteger(L, 3);
    return bind_return(&s, loom_hint_or(s.ctx, e, &given, fallback));
  }
  if (!loom_hint_value(s.ctx, e, &given, &value)) return say_no(&s);
  return bind_return(&s, value);
}

/* ---- strides ------------------------------------------------------------------------------ */

/* The list at index i, or nothing.  [-0, +1, v] */
static const loom_expr *optional_list(bind_scope *s, int i, size_t *n) {
  *n = 0;
  if (!lua_isnoneornil(s->L, i)) return bind_check_list(s, i, n);
  lua_pushnil(s->L);
  return NULL;
}

static int return_list(bind_scope *s, loom_status status, size_t n, const loom_expr *items) {
  if (status != LOOM_OK) return bind_raise(s);
  bind_push_list(s, n, items);
  return 1;
}

/* e:strides(variables[, support]) -> list.  [-0, +1, v] */
static int l_strides(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 3);
  size_t n, n_support;
  const loom_expr *variables = bind_check_list(&s, 2, &n);
  const loom_expr *support = optional_list(&s, 3, &n_support);
  loom_expr *strides = lua_newuserdatauv(L, (n + 1) * sizeof *strides, 0);
  loom_status status = loom_strides(s.ctx, e, n, variables, n_support, support, strides);
  return return_list(&s, status, n, strides);
}

/* e:stride_hints(variables, hints[, support]) -> list of integers.  [-0, +1, v] */
static int l_stride_hints(lua_State *L) {
  bind_scope s;
  loom_given given = {0};
  loom_expr e = begin(&s, L, 4);
  size_t n, n_support, n_symbols;
  const loom_expr *variables = bind_check_list(&s, 2, &n);
  const loom_expr *symbols = push_symbols_of(&s, 1, &e, &n_symbols);
  read_hints(&s, 3, n_symbols, symbols, &given);
  const loom_expr *support = optional_list(&s, 4, &n_support);
  loom_expr *hints = lua_newuserdatauv(L, (n + 1) * sizeof *hints, 0);
  loom_status status = loom_stride_hints(s.ctx, e, n, variables, n_support, support, &given, hints);
  return return_list(&s, status, n, hints);
}

/* e:offset(variables) [-0, +1, v] */
static int l_offset(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 2);
  size_t n;
  const loom_expr *variables = bind_check_list(&s, 2, &n);
  return bind_return(&s, loom_offset(s.ctx, e, n, variables));
}

/* core.merge_loops(variables, sizes, formulas[, keep_order]) -> {kept = positions from 1,
** sizes = list}.  [-0, +1, v] */
static int l_merge_loops(lua_State *L) {
  bind_scope s;
  size_t n, n_sizes, n_formulas;
  lua_settop(L, 5);
  bind_enter_list(&s, L, 1, 5);
  const loom_expr *variables = bind_check_list(&s, 1, &n);
  const loom_expr *sizes = bind_check_list(&s, 2, &n_sizes);
  luaL_argcheck(L, n == n_sizes, 2, "one size for each variable expected");
  const loom_expr *formulas = bind_check_list(&s, 3, &n_formulas);
  bool keep_order = lua_toboolean(L, 4);
  size_t *kept = lua_newuserdatauv(L, (n + 1) * sizeof *kept, 0);
  loom_expr *left = lua_newuserdatauv(L, (n + 1) * sizeof *left, 0);
  ptrdiff_t count =
      loom_merge_loops(s.ctx, n, variables, sizes, n_formulas, formulas, keep_order, kept, left);
  if (count < 0) return bind_raise(&s);
  lua_createtable(L, 0, 2);
  lua_createtable(L, (int)count, 0);
  for (ptrdiff_t i = 0; i < count; i++) {
    lua_pushinteger(L, (lua_Integer)kept[i] + 1);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "kept");
  bind_push_list(&s, (size_t)count, left);
  lua_setfield(L, -2, "sizes");
  return 1;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* e:terms_of(variable) [-0, +1, v] */
static int l_terms_of(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 2);
  return bind_return(&s, loom_terms_of(s.ctx, e, bind_arg(&s, 2)));
}

/* e:affine(variable) -> stride, or nil.  [-0, +1, v] */
static int l_affine(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 2), stride;
  if (!loom_affine(s.ctx, e, bind_arg(&s, 2), &stride)) return say_no(&s);
  return bind_return(&s, stride);
}

/* e:match_blocks(variable, extent, n) -> {dims =, strides =, pieces =}, or nil.  [-0, +1, v] */
static int l_match_blocks(lua_State *L) {
  bind_scope s;
  loom_expr e = begin(&s, L, 4);
  loom_expr variable = bind_arg(&s, 2), extent = bind_arg(&s, 3);
  lua_Integer n = luaL_checkinteger(L, 4);
  luaL_argcheck(L, n >= 1 && n <= 1000, 4, "a number of dimensions from 1 to 1000 expected");
  size_t size = (size_t)n;
  loom_expr *lists = lua_newuserdatauv(L, 3 * size * sizeof *lists, 0);
  loom_expr *strides = lists + size, *pieces = strides + size;
  if (!loom_match_blocks(s.ctx, e, variable, extent, size, lists, strides, pieces))
    return say_no(&s);
  static const char *const names[] = {"dims", "strides", "pieces"};
  lua_createtable(L, 0, 3);
  for (size_t i = 0; i < 3; i++) {
    bind_push_list(&s, size, lists + i * size);
    lua_setfield(L, -2, names[i]);
  }
  return 1;
}

void bind_open_index(lua_State *L) {
  static const luaL_Reg methods[] = {{"simplify", l_simplify},
                                     {"join", l_join},
                                     {"reveal", l_reveal},
                                     {"pair_mod", l_pair_mod},
                                     {"expand_div", l_expand_div},
                                     {"known", l_known},
                                     {"hint", l_hint},
                                     {"strides", l_strides},
                                     {"offset", l_offset},
                                     {"stride_hints", l_stride_hints},
                                     {"terms_of", l_terms_of},
                                     {"affine", l_affine},
                                     {"match_blocks", l_match_blocks},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"opaque", l_opaque}, {"merge_loops", l_merge_loops}, {NULL, NULL}};
  luaL_getmetatable(L, BIND_EXPR);
  lua_getfield(L, -1, "__index");
  bind_set_functions(L, methods, false);
  lua_pop(L, 2);
  bind_set_functions(L, functions, false);
}
