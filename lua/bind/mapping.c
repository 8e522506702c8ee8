/* SPDX-License-Identifier: MIT */
/* Mappings in Lua: the builder calls of einloom.h as methods.
**
** Invariant: no logic; indices are those of the core, from 0. */
#include "bind.h"

static void release(void *handle) {
  loom_mapping_free(handle);
}

static loom_mapping *check_mapping(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_MAPPING)->handle;
}

/* A boolean that is true when absent. */
static bool default_true(lua_State *L, int i) {
  return lua_isnoneornil(L, i) || lua_toboolean(L, i);
}

/* core.mapping() [-0, +1, v] */
static int l_mapping(lua_State *L) {
  bind_scope s;
  bind_enter_maker(&s, L);
  bind_object *object = bind_new_object(&s, BIND_MAPPING, release);
  return bind_adopt(&s, object, loom_mapping_new(s.ctx));
}

/* m:storage(list, component[, persistent[, may_lower]]) -> node.  [-0, +1|3, v] */
static int l_storage(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_number(&s, loom_mapping_storage(m, bind_check_index(L, 2), bind_check_text(L, 3),
                                              lua_toboolean(L, 4), default_true(L, 5)));
}

/* m:toll(list, component[, may_lower]) -> node.  [-0, +1|3, v] */
static int l_toll(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_number(
      &s, loom_mapping_toll(m, bind_check_index(L, 2), bind_check_text(L, 3), default_true(L, 4)));
}

/* m:custom(list, kind, component[, may_lower]) -> node.  [-0, +1|3, v] */
static int l_custom(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_number(&s, loom_mapping_custom(m, bind_check_index(L, 2), bind_check_text(L, 3),
                                             bind_check_text(L, 4), default_true(L, 5)));
}

/* m:tensor(node, tensor) [-0, +1|3, v] */
static int l_tensor(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_done(&s, loom_mapping_tensor(m, bind_check_index(L, 2), bind_check_text(L, 3)));
}

/* m:temporal(list, variable, tile[, first]) -> node.  [-0, +1|3, v] */
static int l_temporal(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  int list = bind_check_index(L, 2);
  const char *variable = bind_check_text(L, 3);
  loom_expr tile = bind_arg(&s, 4);
  return bind_number(&s, loom_mapping_temporal(m, list, variable, tile, bind_optional(&s, 5)));
}

/* m:spatial(list, variable, tile, first or nil, component, dimension) -> node.  [-0, +1|3, v] */
static int l_spatial(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  int list = bind_check_index(L, 2);
  const char *variable = bind_check_text(L, 3);
  const char *component = bind_check_text(L, 6), *dimension = bind_check_text(L, 7);
  loom_expr tile = bind_arg(&s, 4);
  return bind_number(&s, loom_mapping_spatial(m, list, variable, tile, bind_optional(&s, 5),
                                              component, dimension));
}

/* m:variable_in(node, einsum, variable) [-0, +1|3, v] */
static int l_variable_in(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_done(&s, loom_mapping_variable_in(m, bind_check_index(L, 2), bind_check_text(L, 3),
                                                bind_check_text(L, 4)));
}

/* m:lifetime(storage, "scope" or "retain") [-0, +1|3, v] */
static int l_lifetime(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  int node = bind_check_index(L, 2), rule = bind_check_name(L, 3, bind_lifetimes);
  return bind_done(&s, loom_mapping_lifetime(m, node, rule == 1 ? LOOM_RETAIN : LOOM_SCOPE));
}

/* m:step(loop, step) [-0, +1|3, v] */
static int l_step(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  int node = bind_check_index(L, 2);
  return bind_done(&s, loom_mapping_step(m, node, bind_optional(&s, 3)));
}

/* m:tile_in(loop, einsum, tile[, first[, step]]) [-0, +1|3, v] */
static int l_tile_in(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  int node = bind_check_index(L, 2);
  const char *einsum = bind_check_text(L, 3);
  loom_expr tile = bind_arg(&s, 4), first = bind_optional(&s, 5);
  return bind_done(&s, loom_mapping_tile_in(m, node, einsum, tile, first, bind_optional(&s, 6)));
}

/* m:sequential(list), m:pipeline(list), m:parallel(list) -> node.  [-0, +1|3, v] */
#define SPLIT(name)                                                         \
  static int l_##name(lua_State *L) {                                       \
    bind_scope s;                                                           \
    loom_mapping *m = check_mapping(&s, L);                                 \
    return bind_number(&s, loom_mapping_##name(m, bind_check_index(L, 2))); \
  }
SPLIT(sequential)
SPLIT(pipeline)
SPLIT(parallel)

/* m:branch(split) -> list.  [-0, +1|3, v] */
static int l_branch(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_number(&s, loom_mapping_branch(m, bind_check_index(L, 2)));
}

/* m:compute(list, einsum, component) -> node.  [-0, +1|3, v] */
static int l_compute(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_number(&s, loom_mapping_compute(m, bind_check_index(L, 2), bind_check_text(L, 3),
                                              bind_check_text(L, 4)));
}

/* m:where(node, text) [-0, +1|3, v] */
static int l_where(lua_State *L) {
  bind_scope s;
  loom_mapping *m = check_mapping(&s, L);
  return bind_done(&s, loom_mapping_where(m, bind_check_index(L, 2), bind_check_text(L, 3)));
}

void bind_open_mapping(lua_State *L) {
  static const luaL_Reg makers[] = {{"mapping", l_mapping}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"storage", l_storage},
                                     {"toll", l_toll},
                                     {"custom", l_custom},
                                     {"tensor", l_tensor},
                                     {"temporal", l_temporal},
                                     {"spatial", l_spatial},
                                     {"variable_in", l_variable_in},
                                     {"lifetime", l_lifetime},
                                     {"step", l_step},
                                     {"tile_in", l_tile_in},
                                     {"sequential", l_sequential},
                                     {"pipeline", l_pipeline},
                                     {"parallel", l_parallel},
                                     {"branch", l_branch},
                                     {"compute", l_compute},
                                     {"where", l_where},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_MAPPING, methods);
  bind_set_makers(L, makers);
}
