/* SPDX-License-Identifier: MIT */
/* Workloads in Lua: the builder calls of einloom.h as methods.
**
** Invariant: no logic; indices are those of the core, from 0. */
#include "bind.h"

static void release(void *handle) {
  loom_workload_free(handle);
}

static loom_workload *check_workload(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_WORKLOAD)->handle;
}

/* core.workload() [-0, +1, v] */
static int l_workload(lua_State *L) {
  bind_scope s;
  bind_enter_maker(&s, L);
  bind_object *object = bind_new_object(&s, BIND_WORKLOAD, release);
  return bind_adopt(&s, object, loom_workload_new(s.ctx));
}

/* w:variable(name, size) [-0, +1|3, v] */
static int l_variable(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  const char *name = bind_check_text(L, 2);
  return bind_done(&s, loom_workload_variable(w, name, bind_arg(&s, 3)));
}

/* w:repeats(n) [-0, +1|3, v] */
static int l_repeats(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  return bind_done(&s, loom_workload_repeat(w, bind_arg(&s, 2)));
}

/* w:einsum(name[, is_copy[, n]]) -> einsum.  [-0, +1|3, v] */
static int l_einsum(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  const char *name = bind_check_text(L, 2);
  loom_expr n = lua_isnoneornil(L, 4) ? loom_int(s.ctx, 1) : bind_arg(&s, 4);
  return bind_number(&s, loom_workload_einsum(w, name, lua_toboolean(L, 3), n));
}

/* w:access(einsum, tensor, output, bits) -> access.  [-0, +1|3, v] */
static int l_access(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  int einsum = bind_check_index(L, 2);
  const char *tensor = bind_check_text(L, 3);
  return bind_number(&s,
                     loom_workload_access(w, einsum, tensor, lua_toboolean(L, 4), bind_arg(&s, 5)));
}

/* The variables and coefficients of the terms at index i, in memory pushed on the stack.
** [-0, +1, v] */
static size_t read_terms(lua_State *L, int i, const char ***variables, int64_t **coefficients) {
  luaL_checktype(L, i, LUA_TTABLE);
  size_t n = lua_rawlen(L, i);
  *variables = lua_newuserdatauv(L, (n + 1) * (sizeof **variables + sizeof **coefficients), 0);
  *coefficients = (int64_t *)(void *)(*variables + n + 1);
  for (size_t k = 0; k < n; k++) {
    int exact = 0;
    if (lua_rawgeti(L, i, (lua_Integer)k + 1) == LUA_TTABLE) {
      lua_rawgeti(L, -1, 1);
      lua_rawgeti(L, -2, 2);
      (*variables)[k] = bind_text(L, -2);
      (*coefficients)[k] = lua_tointegerx(L, -1, &exact);
      lua_pop(L, 2);
    }
    if (!exact || !(*variables)[k]) {
      luaL_error(L, "term %d: {variable, integer} expected", (int)k + 1);
    }
    lua_pop(L, 1);
  }
  return n;
}

/* w:rank(einsum, access, rank, constant, {{variable, coefficient}, ...}) [-0, +1|3, v] */
static int l_rank(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  int einsum = bind_check_index(L, 2), access = bind_check_index(L, 3);
  const char *rank = bind_check_text(L, 4);
  int64_t constant = luaL_checkinteger(L, 5);
  const char **variables;
  int64_t *coefficients;
  size_t n = read_terms(L, 6, &variables, &coefficients);
  return bind_done(
      &s, loom_workload_rank(w, einsum, access, rank, constant, n, variables, coefficients));
}

/* One step {operation[, name or integer]} of the list at index i.  [-0, +0, v] */
static loom_index_step read_step(lua_State *L, int i, lua_Integer k) {
  static const char *const names[] = {"variable",  "constant", "add", "scale",
                                      "floor_div", "mod",      NULL};
  loom_index_step step = {.operation = LOOM_INDEX_ADD};
  int exact = 1;
  if (lua_rawgeti(L, i, k) != LUA_TTABLE) luaL_error(L, "step %d: table expected", (int)k);
  lua_rawgeti(L, -1, 1);
  step.operation = (loom_index_operation)bind_check_name(L, lua_gettop(L), names);
  lua_rawgeti(L, -2, 2);
  if (step.operation == LOOM_INDEX_VARIABLE) {
    step.variable = bind_text(L, -1);
  } else if (step.operation != LOOM_INDEX_ADD) {
    step.value = lua_tointegerx(L, -1, &exact);
  }
  if (!exact || (step.operation == LOOM_INDEX_VARIABLE && !step.variable))
    luaL_error(L, "step %d: name of a variable or integer expected", (int)k);
  lua_pop(L, 3);
  return step;
}

/* w:index(einsum, access, rank, {{"variable", name}, {"constant", n}, {"add"}, ...})
** [-0, +1|3, v] */
static int l_index(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  int einsum = bind_check_index(L, 2), access = bind_check_index(L, 3);
  const char *rank = bind_check_text(L, 4);
  luaL_checktype(L, 5, LUA_TTABLE);
  lua_settop(L, 5);
  size_t n = lua_rawlen(L, 5);
  loom_index_step *steps = lua_newuserdatauv(L, (n + 1) * sizeof *steps, 0);
  for (size_t k = 0; k < n; k++) steps[k] = read_step(L, 5, (lua_Integer)k + 1);
  return bind_done(&s, loom_workload_index(w, einsum, access, rank, n, steps));
}

/* w:relevancy(einsum, access, variable) -> "relevant", ...  [-0, +1|3, v] */
static int l_relevancy(lua_State *L) {
  static const char *const names[] = {"irrelevant", "relevant", "partially_relevant"};
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  int relevancy = loom_workload_relevancy(w, bind_check_index(L, 2), bind_check_index(L, 3),
                                          bind_check_text(L, 4));
  if (relevancy < 0) return bind_fail(&s);
  lua_pushstring(L, names[relevancy]);
  return 1;
}

/* w:stride_halo(einsum, access, rank, variable) -> stride, halo.  [-0, +2|3, v] */
static int l_stride_halo(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  loom_expr stride, halo;
  loom_status status =
      loom_workload_stride_halo(w, bind_check_index(L, 2), bind_check_index(L, 3),
                                bind_check_index(L, 4), bind_check_text(L, 5), &stride, &halo);
  if (status != LOOM_OK) return bind_fail(&s);
  bind_push(&s, stride);
  bind_push(&s, halo);
  return 2;
}

/* w:tile_occupancy(einsum, access, {variable = extent}) -> values.  [-0, +1|3, v] */
static int l_tile_occupancy(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  int einsum = bind_check_index(L, 2), access = bind_check_index(L, 3);
  luaL_checktype(L, 4, LUA_TTABLE);
  size_t n = 0;
  for (lua_pushnil(L); lua_next(L, 4); lua_pop(L, 1)) n++;
  const char **variables =
      lua_newuserdatauv(L, (n + 1) * (sizeof *variables + sizeof(loom_expr)), 0);
  loom_expr *extents = (loom_expr *)(void *)(variables + n + 1);
  size_t k = 0;
  for (lua_pushnil(L); lua_next(L, 4);) {
    if (lua_type(L, -2) != LUA_TSTRING)
      return luaL_argerror(L, 4, "names of variables expected as keys");
    variables[k] = lua_tostring(L, -2);
    extents[k] = bind_take(&s, variables[k]);
    k++;
  }
  loom_expr values = loom_workload_tile_occupancy(w, einsum, access, n, variables, extents);
  if (values == LOOM_NONE) return bind_fail(&s);
  return bind_return(&s, values);
}

/* w:used_alone(einsum, variable) -> boolean.  [-0, +1|3, v] */
static int l_used_alone(lua_State *L) {
  bind_scope s;
  loom_workload *w = check_workload(&s, L);
  int alone = loom_workload_used_alone(w, bind_check_index(L, 2), bind_check_text(L, 3));
  if (alone < 0) return bind_fail(&s);
  lua_pushboolean(L, alone);
  return 1;
}

void bind_open_workload(lua_State *L) {
  static const luaL_Reg makers[] = {{"workload", l_workload}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"variable", l_variable},
                                     {"repeats", l_repeats},
                                     {"einsum", l_einsum},
                                     {"access", l_access},
                                     {"rank", l_rank},
                                     {"index", l_index},
                                     {"relevancy", l_relevancy},
                                     {"stride_halo", l_stride_halo},
                                     {"tile_occupancy", l_tile_occupancy},
                                     {"used_alone", l_used_alone},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_WORKLOAD, methods);
  bind_set_makers(L, makers);
}
