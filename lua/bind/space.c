/* SPDX-License-Identifier: MIT */
/* Spaces of mappings in Lua: what they are made of, and their templates.
**
** Invariant: numbers of einsums, templates, variables and loops count from 0 as in the core; einsums
** and lists given are checked against what the space has. */
#include <string.h>

#include "space.h"

static void release(void *handle) {
  loom_space_free(handle);
}

loom_space *bind_check_space(bind_scope *s, lua_State *L) {
  luaL_checkstack(L, 16, NULL);
  return bind_check_object(s, L, 1, BIND_SPACE)->handle;
}

/* ---- reading tables ----------------------------------------------------------------------- */

static int integer_field(lua_State *L, int i, const char *key, int otherwise) {
  lua_getfield(L, i, key);
  int number = (int)luaL_optinteger(L, -1, otherwise);
  lua_pop(L, 1);
  return number;
}

static double number_field(lua_State *L, int i, const char *key, double otherwise) {
  lua_getfield(L, i, key);
  double number = luaL_optnumber(L, -1, otherwise);
  lua_pop(L, 1);
  return number;
}

/* core.space{energy =, latency =, usage =, product =, ranked =, persistent =, threads =, and the limits that
** options of searches have by the same names} -> space.  [-0, +1, v] */
static int l_space(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  luaL_checktype(L, i, LUA_TTABLE);
  loom_space_options options = {.energy = bind_flag(L, i, "energy"),
                                .latency = bind_flag(L, i, "latency"),
                                .usage = bind_flag(L, i, "usage"),
                                .product = bind_flag(L, i, "product"),
                                .one_spatial_dim_per_variable =
                                    bind_flag(L, i, "one_spatial_dim_per_variable"),
                                .ranked = bind_flag(L, i, "ranked"),
                                .persistent = bind_flag(L, i, "persistent"),
                                .threads = integer_field(L, i, "threads", 1),
                                .objective_slack = number_field(L, i, "objective_slack", 0),
                                .usage_slack = number_field(L, i, "usage_slack", 0),
                                .coarseness = number_field(L, i, "coarseness", 1),
                                .max_fused_loops = integer_field(L, i, "max_fused_loops", -1),
                                .max_fused_loops_per_rank_variable =
                                    integer_field(L, i, "max_fused_loops_per_rank_variable", -1)};
  luaL_argcheck(L, !options.product || (options.energy && options.latency), i,
                "a product of energy and latency needs both");
  bind_object *object = bind_new_object(&s, BIND_SPACE, release);
  return bind_adopt(&s, object, loom_space_new(s.ctx, &options));
}

/* s:memory(component, bits, open) -> number.  [-0, +1|3, v] */
static int l_memory(lua_State *L) {
  bind_scope s;
  loom_space *space = bind_check_space(&s, L);
  loom_memory_role role = lua_toboolean(L, 4) ? LOOM_MEMORY_OPEN : LOOM_MEMORY_PRIVATE;
  return bind_number(&s,
                     loom_space_memory(space, bind_check_text(L, 2), luaL_checknumber(L, 3), role));
}

/* Integers of the list at index i into memory pushed on the stack.  [-0, +1, v] */
int64_t *bind_check_integers(lua_State *L, int i, size_t *n) {
  luaL_checktype(L, i, LUA_TTABLE);
  *n = lua_rawlen(L, i);
  int64_t *list = lua_newuserdatauv(L, (*n + 1) * sizeof *list, 0);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    list[k] = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  return list;
}

/* s:einsum(name, sizes, uneven) -> number; uneven: 0, 1 (temporal), 2 (spatial loops) or 3, by variable.
** [-0, +1|3, v] */
static int l_einsum(lua_State *L) {
  bind_scope s;
  size_t n;
  lua_settop(L, 4);
  loom_space *space = bind_check_space(&s, L);
  const char *name = bind_check_text(L, 2);
  int64_t *sizes = bind_check_integers(L, 3, &n);
  unsigned *uneven = lua_newuserdatauv(L, (n + 1) * sizeof *uneven, 0);
  memset(uneven, 0, (n + 1) * sizeof *uneven);
  for (size_t k = 0; k < n && lua_istable(L, 4); k++) {
    lua_rawgeti(L, 4, (lua_Integer)k + 1);
    uneven[k] = (unsigned)luaL_optinteger(L, -1, 0);
    lua_pop(L, 1);
  }
  return bind_number(&s, loom_space_einsum(space, name, n, sizes, uneven));
}

int bind_check_einsum(lua_State *L, const loom_space *space, int i) {
  int einsum = bind_check_index(L, i);
  luaL_argcheck(L, (size_t)einsum < loom_space_einsums(space), i, "no such einsum in the space");
  return einsum;
}

/* s:dimension(einsum, component, dimension, count, min_fraction) -> number.  [-0, +1|3, v] */
static int l_dimension(lua_State *L) {
  bind_scope s;
  loom_space *space = bind_check_space(&s, L);
  return bind_number(&s, loom_space_dimension(space, bind_check_einsum(L, space, 2),
                                              bind_check_text(L, 3), bind_check_text(L, 4),
                                              luaL_checknumber(L, 5), luaL_optnumber(L, 6, 0)));
}

/* s:tensor(einsum, name, ranks) -> number.  [-0, +1|3, v] */
static int l_tensor(lua_State *L) {
  bind_scope s;
  size_t n;
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  const int64_t *list = bind_check_integers(L, 4, &n);
  luaL_argcheck(L, n == loom_space_variables(space, einsum), 4,
                "a rank for each variable expected");
  int *ranks = lua_newuserdatauv(L, (n + 1) * sizeof *ranks, 0);
  for (size_t k = 0; k < n; k++) ranks[k] = (int)list[k];
  return bind_number(&s, loom_space_tensor(space, einsum, bind_check_text(L, 3), ranks));
}

/* s:bound_loops(einsum, dimension, variables, op, value) -> s: trips over a dimension of each variable,
** or of all multiplied ("product<=").  [-0, +1|3, v] */
static int l_bound_loops(lua_State *L) {
  static const char *const ops[] = {"==",       "<=",        ">=",        "<",
                                    ">",        "product==", "product<=", "product>=",
                                    "product<", "product>",  NULL};
  bind_scope s;
  size_t n;
  lua_settop(L, 6);
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2), dimension = bind_check_index(L, 3);
  luaL_argcheck(L, (size_t)dimension < loom_space_dimensions(space, einsum), 3,
                "no such dimension of the einsum");
  const int64_t *list = bind_check_integers(L, 4, &n);
  int *variables = lua_newuserdatauv(L, (n + 1) * sizeof *variables, 0);
  for (size_t i = 0; i < n; i++) {
    luaL_argcheck(L, list[i] >= 0 && (size_t)list[i] < loom_space_variables(space, einsum), 4,
                  "no such variable of the einsum");
    variables[i] = (int)list[i];
  }
  int op = bind_check_name(L, 5, ops);
  double value = luaL_checknumber(L, 6);
  loom_status status = loom_space_bound_loops(space, einsum, dimension, n, variables,
                                              (loom_bound_op)(op % 5), op >= 5, value);
  lua_settop(L, 1);
  return bind_done(&s, status);
}

/* ---- templates ---------------------------------------------------------------------------- */

/* Tiles of the loops of the list at an index, one after the other, on the stack.  [-0, +1, v] */
static int32_t *read_tiles(lua_State *L, int list) {
  size_t n = 0, k = 0, n_loops = lua_rawlen(L, list);
  for (size_t i = 1; i <= n_loops; i++) {
    luaL_argcheck(L, lua_rawgeti(L, list, (lua_Integer)i) == LUA_TTABLE, 4, "loop expected");
    if (lua_getfield(L, -1, "tiles") == LUA_TTABLE) n += lua_rawlen(L, -1);
    lua_pop(L, 2);
  }
  int32_t *tiles = lua_newuserdatauv(L, (n + 1) * sizeof *tiles, 0);
  for (size_t i = 1; i <= n_loops; i++) {
    lua_rawgeti(L, list, (lua_Integer)i);
    size_t own = lua_getfield(L, -1, "tiles") == LUA_TTABLE ? lua_rawlen(L, -1) : 0;
    for (size_t j = 1; j <= own; j++) {
      lua_rawgeti(L, -1, (lua_Integer)j);
      tiles[k++] = (int32_t)luaL_checkinteger(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
  return tiles;
}

/* The loops at the top of the stack into memory that takes their place.  [-1, +1, v] */
static loom_space_loop *read_loops(bind_scope *s, const loom_space *space, int einsum, size_t *n) {
  lua_State *L = s->L;
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *n = lua_rawlen(L, list);
  const int32_t *tiles = read_tiles(L, list);
  loom_space_loop *loops = lua_newuserdatauv(L, (*n + 1) * sizeof *loops, 0);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, list, (lua_Integer)k + 1);
    int at = lua_gettop(L);
    bool open = lua_getfield(L, at, "tiles") != LUA_TTABLE;
    loops[k].n_tiles = open ? 0 : lua_rawlen(L, -1);
    loops[k].tiles = open ? NULL : tiles;
    tiles += loops[k].n_tiles;
    lua_pop(L, 1);
    loops[k].variable = integer_field(L, at, "variable", -1);
    loops[k].dimension = integer_field(L, at, "dimension", -1);
    lua_getfield(L, at, "pinned");
    loops[k].pinned = lua_toboolean(L, -1);
    lua_getfield(L, at, "tile");
    loops[k].tile = lua_isnil(L, -1) ? LOOM_NONE : bind_arg(s, lua_gettop(L));
    lua_settop(L, at - 1);
    luaL_argcheck(L,
                  loops[k].variable >= 0 &&
                      (size_t)loops[k].variable < loom_space_variables(space, einsum) &&
                      loops[k].dimension < (int)loom_space_dimensions(space, einsum),
                  4, "a loop of a variable or dimension that the einsum does not have");
  }
  lua_remove(L, list);
  return loops;
}

static bool *read_borders(lua_State *L, size_t n) {
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  bool *border = lua_newuserdatauv(L, n + 1, 0);
  for (size_t k = 0; k < n; k++) {
    lua_rawgeti(L, list, (lua_Integer)k + 1);
    border[k] = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  lua_remove(L, list);
  return border;
}

static loom_space_backing *read_backings(lua_State *L, const loom_space *space, int einsum,
                                         size_t *n) {
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  *n = lua_rawlen(L, list);
  loom_space_backing *backings = lua_newuserdatauv(L, (*n + 1) * sizeof *backings, 0);
  for (size_t k = 0; k < *n; k++) {
    luaL_argcheck(L, lua_rawgeti(L, list, (lua_Integer)k + 1) == LUA_TTABLE, 4, "holder expected");
    int at = lua_gettop(L);
    loom_space_backing *b = &backings[k];
    b->tensor = integer_field(L, at, "tensor", -1);
    b->memory = integer_field(L, at, "memory", -1);
    b->n_loops = integer_field(L, at, "n_loops", -1);
    lua_pop(L, 1);
    luaL_argcheck(L,
                  b->tensor >= 0 && (size_t)b->tensor < loom_space_tensors(space, einsum) &&
                      b->memory >= 0 && (size_t)b->memory < loom_space_memories(space) &&
                      b->n_loops >= 0,
                  4, "a holder of a tensor or memory that the space does not have");
  }
  lua_remove(L, list);
  return backings;
}

/* The dimensions in field `absent` of the table at 4, as bits.  [-0, +0, v] */
static uint32_t read_absent(lua_State *L, const loom_space *space, int einsum) {
  uint32_t bits = 0;
  if (lua_getfield(L, 4, "absent") == LUA_TTABLE)
    for (lua_Integer k = 1; lua_rawgeti(L, -1, k) != LUA_TNIL; k++) {
      int d = bind_check_index(L, lua_gettop(L));
      luaL_argcheck(L, (size_t)d < loom_space_dimensions(space, einsum), 4,
                    "no such dimension of the einsum");
      bits |= (uint32_t)1 << d;
      lua_pop(L, 1);
    }
  lua_settop(L, 4);
  return bits;
}

/* s:add(einsum, costs, {loops =, n_fused =, border =, backings =, absent =, text =}) -> number of the template.
** [-0, +1|3, v] */
static int l_add(lua_State *L) {
  bind_scope s;
  lua_settop(L, 4);
  bind_object *costs = bind_check_object(&s, L, 3, BIND_COSTS);
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  luaL_checktype(L, 4, LUA_TTABLE);
  loom_space_template t = {0};
  t.n_fused = (size_t)integer_field(L, 4, "n_fused", 0);
  t.absent = read_absent(L, space, einsum);
  lua_getfield(L, 4, "text");
  t.text = bind_optional_text(L, 5);
  lua_getfield(L, 4, "loops");
  t.loops = read_loops(&s, space, einsum, &t.n_loops);
  luaL_argcheck(L, t.n_fused <= t.n_loops, 4, "more fused loops than loops");
  lua_getfield(L, 4, "border");
  t.border = read_borders(L, t.n_fused);
  lua_getfield(L, 4, "backings");
  t.backings = read_backings(L, space, einsum, &t.n_backings);
  for (size_t k = 0; k < t.n_backings; k++)
    luaL_argcheck(L, (size_t)t.backings[k].n_loops <= t.n_fused, 4,
                  "a shared tensor under a loop that is not fused");
  return bind_number(&s, loom_space_add(space, einsum, costs->handle, &t));
}

void bind_open_space(lua_State *L) {
  static const luaL_Reg makers[] = {{"space", l_space}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"memory", l_memory}, {"einsum", l_einsum},           {"dimension", l_dimension},
      {"tensor", l_tensor}, {"bound_loops", l_bound_loops}, {"add", l_add},
      {NULL, NULL},
  };
  bind_object_type(L, BIND_SPACE, methods);
  bind_set_makers(L, makers);
  bind_open_search(L);
}
