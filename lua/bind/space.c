/* SPDX-License-Identifier: MIT */
/* Spaces of mappings in Lua.
**
** Invariant: numbers of einsums, templates, variables and loops count from 0 as in the core; einsums
** and lists given are checked against what the space has. */
#include <string.h>

#include "bind.h"

static void release(void *handle) {
  loom_space_free(handle);
}

static loom_space *check_space(bind_scope *s, lua_State *L) {
  luaL_checkstack(L, 16, NULL);
  return bind_check_object(s, L, 1, BIND_SPACE)->handle;
}

/* ---- stopping ----------------------------------------------------------------------------- */

/* The hook of the main thread as it was at the beginning of a call: Ctrl-C sets another one, in this
** program as in others that run Lua. */
typedef struct hook {
  lua_State *L;
  lua_Hook function;
  int mask, count;
} hook;

static hook hook_of(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *thread = lua_tothread(L, -1);
  lua_pop(L, 1);
  return (hook){thread, lua_gethook(thread), lua_gethookmask(thread), lua_gethookcount(thread)};
}

static bool is_interrupted(void *data) {
  const hook *h = data;
  return lua_gethook(h->L) != h->function || lua_gethookmask(h->L) != h->mask ||
         lua_gethookcount(h->L) != h->count;
}

/* Around a call of the core that may take long. */
#define WATCHED(s, status, call)                       \
  do {                                                 \
    hook before = hook_of((s)->L);                     \
    loom_set_watch((s)->ctx, is_interrupted, &before); \
    (status) = (call);                                 \
    loom_set_watch((s)->ctx, NULL, NULL);              \
  } while (0)

/* ---- reading tables ----------------------------------------------------------------------- */

static int integer_field(lua_State *L, int i, const char *key, int otherwise) {
  lua_getfield(L, i, key);
  int number = (int)luaL_optinteger(L, -1, otherwise);
  lua_pop(L, 1);
  return number;
}

static bool boolean_field(lua_State *L, int i, const char *key) {
  lua_getfield(L, i, key);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* core.space{energy =, latency =, usage =, product =, persistent =, threads =, and the limits that
** options of searches have by the same names} -> space.  [-0, +1, v] */
static int l_space(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  luaL_checktype(L, i, LUA_TTABLE);
  loom_space_options options = {.energy = boolean_field(L, i, "energy"),
                                .latency = boolean_field(L, i, "latency"),
                                .usage = boolean_field(L, i, "usage"),
                                .product = boolean_field(L, i, "product"),
                                .one_spatial_dim_per_variable =
                                    boolean_field(L, i, "one_spatial_dim_per_variable"),
                                .persistent = boolean_field(L, i, "persistent"),
                                .threads = integer_field(L, i, "threads", 1),
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
  loom_space *space = check_space(&s, L);
  loom_memory_role role = lua_toboolean(L, 4) ? LOOM_MEMORY_OPEN : LOOM_MEMORY_PRIVATE;
  return bind_number(&s,
                     loom_space_memory(space, bind_check_text(L, 2), luaL_checknumber(L, 3), role));
}

/* Integers of the list at index i into memory pushed on the stack.  [-0, +1, v] */
static int64_t *check_integers(lua_State *L, int i, size_t *n) {
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

/* s:einsum(name, sizes, uneven) -> number.  [-0, +1|3, v] */
static int l_einsum(lua_State *L) {
  bind_scope s;
  size_t n;
  lua_settop(L, 4);
  loom_space *space = check_space(&s, L);
  const char *name = bind_check_text(L, 2);
  int64_t *sizes = check_integers(L, 3, &n);
  bool *uneven = lua_newuserdatauv(L, n + 1, 0);
  memset(uneven, 0, n + 1);
  for (size_t k = 0; k < n && lua_istable(L, 4); k++) {
    lua_rawgeti(L, 4, (lua_Integer)k + 1);
    uneven[k] = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return bind_number(&s, loom_space_einsum(space, name, n, sizes, uneven));
}

static int check_einsum(lua_State *L, const loom_space *space, int i) {
  int einsum = bind_check_index(L, i);
  luaL_argcheck(L, (size_t)einsum < loom_space_einsums(space), i, "no such einsum in the space");
  return einsum;
}

/* s:dimension(einsum, component, dimension, count, min_fraction) -> number.  [-0, +1|3, v] */
static int l_dimension(lua_State *L) {
  bind_scope s;
  loom_space *space = check_space(&s, L);
  return bind_number(&s, loom_space_dimension(space, check_einsum(L, space, 2),
                                              bind_check_text(L, 3), bind_check_text(L, 4),
                                              luaL_checknumber(L, 5), luaL_optnumber(L, 6, 0)));
}

/* s:tensor(einsum, name, ranks) -> number.  [-0, +1|3, v] */
static int l_tensor(lua_State *L) {
  bind_scope s;
  size_t n;
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  const int64_t *list = check_integers(L, 4, &n);
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
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2), dimension = bind_check_index(L, 3);
  luaL_argcheck(L, (size_t)dimension < loom_space_dimensions(space, einsum), 3,
                "no such dimension of the einsum");
  const int64_t *list = check_integers(L, 4, &n);
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
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
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

/* ---- exploring ---------------------------------------------------------------------------- */

static int check_unit(lua_State *L, const loom_space *space, int einsum, int i) {
  int number = bind_check_index(L, i);
  luaL_argcheck(L, (size_t)number < loom_space_units(space, einsum), i,
                "no such template of the einsum");
  return number;
}

/* The numbers of units in the list at index 3 into memory pushed on the stack.  [-0, +1, v] */
static int *check_units(lua_State *L, const loom_space *space, int einsum, size_t *n) {
  luaL_checktype(L, 3, LUA_TTABLE);
  *n = lua_rawlen(L, 3);
  int *numbers = lua_newuserdatauv(L, (*n + 1) * sizeof *numbers, 0);
  for (size_t i = 0; i < *n; i++) {
    lua_rawgeti(L, 3, (lua_Integer)i + 1);
    numbers[i] = check_unit(L, space, einsum, lua_gettop(L));
    lua_pop(L, 1);
  }
  return numbers;
}

/* s:explore(einsum [, {template, ...}]) -> s, or nil, message, kind ("stopped").  [-0, +1|3, v] */
static int l_explore(lua_State *L) {
  bind_scope s;
  loom_status status;
  lua_settop(L, 3);
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  if (lua_isnil(L, 3)) {
    WATCHED(&s, status, loom_space_explore(space, einsum));
  } else {
    size_t n;
    const int *numbers = check_units(L, space, einsum, &n);
    WATCHED(&s, status, loom_space_explore_units(space, einsum, n, numbers));
  }
  lua_settop(L, 1);
  return bind_done(&s, status);
}

/* The answer of a step: whether there is more to do.  [-0, +1|3, v] */
static int push_more(bind_scope *s, loom_status status, bool more) {
  if (status != LOOM_OK) return bind_fail(s);
  lua_pushboolean(s->L, more);
  return 1;
}

/* s:explore_some(einsum, n) -> whether there is more to do, or nil, message, kind.
** [-0, +1|3, v] */
static int l_explore_some(lua_State *L) {
  bind_scope s;
  loom_status status;
  bool more;
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  lua_Integer n = luaL_checkinteger(L, 3);
  luaL_argcheck(L, n > 0, 3, "at least one unit expected");
  WATCHED(&s, status, loom_space_explore_some(space, einsum, (size_t)n, &more));
  return push_more(&s, status, more);
}

/* s:leave(einsum, template) -> s.  [-0, +1, v] */
static int l_leave(lua_State *L) {
  bind_scope s;
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
  lua_settop(L, 1);
  return bind_done(&s, loom_space_leave(space, einsum, number));
}

static void push_integers(lua_State *L, size_t n, const int32_t *list) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushinteger(L, list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_numbers(lua_State *L, size_t n, const double *list) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushnumber(L, list[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Points on their way to Lua: copied into memory that Lua owns, since pushing them may raise. */
typedef struct point_copies {
  size_t n, room;
  loom_space_point *points; /* NULL: only counted */
} point_copies;

static void copy_point(void *data, const loom_space_point *point) {
  point_copies *copies = data;
  if (copies->points && copies->n < copies->room) copies->points[copies->n] = *point;
  copies->n++;
}

static void push_point(lua_State *L, const loom_space_point *point) {
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, point->number);
  lua_setfield(L, -2, "template");
  push_integers(L, point->n_loops, point->tiles);
  lua_setfield(L, -2, "tiles");
  push_numbers(L, point->n_values, point->values);
  lua_setfield(L, -2, "values");
}

/* s:points(einsum [, template]) -> list of {template =, tiles =, values =}: what may be part of a best
** mapping as far as is known.  [-0, +1|3, v] */
static int l_points(lua_State *L) {
  bind_scope s;
  lua_settop(L, 3);
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  int number = lua_isnil(L, 3) ? -1 : check_unit(L, space, einsum, 3);
  point_copies copies = {0};
  if (loom_space_points(space, einsum, number, copy_point, &copies) != LOOM_OK)
    return bind_fail(&s);
  copies.room = copies.n;
  copies.n = 0;
  copies.points = lua_newuserdatauv(L, (copies.room + 1) * sizeof *copies.points, 0);
  if (loom_space_points(space, einsum, number, copy_point, &copies) != LOOM_OK)
    return bind_fail(&s);
  lua_createtable(L, (int)copies.n, 0);
  for (size_t i = 0; i < copies.n; i++) {
    push_point(L, &copies.points[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Adds the tiles in the list at index i to those in `out`.  [-0, +0, v] */
static void check_tiles(lua_State *L, int i, size_t n_loops, int32_t *out) {
  luaL_checktype(L, i, LUA_TTABLE);
  if (lua_rawlen(L, i) != n_loops)
    luaL_error(L, "%d tiles expected, one for each loop of the template, got %d", (int)n_loops,
               (int)lua_rawlen(L, i));
  for (size_t k = 0; k < n_loops; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    int is_integer;
    lua_Integer tile = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || tile < 1 || tile > INT32_MAX)
      luaL_error(L, "a tile is an integer from 1 to 2147483647 (loop %d)", (int)k + 1);
    out[k] = (int32_t)tile;
    lua_pop(L, 1);
  }
}

/* s:insert(einsum, template, tiles) -> s, or nil, message, kind.  [-0, +1|3, v] */
static int l_insert(lua_State *L) {
  bind_scope s;
  lua_settop(L, 4);
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
  size_t n = loom_space_loops(space, einsum, number);
  int32_t *tiles = lua_newuserdatauv(L, (n + 1) * sizeof *tiles, 0);
  check_tiles(L, 4, n, tiles);
  loom_status status = loom_space_insert(space, einsum, number, tiles);
  lua_settop(L, 1);
  return bind_done(&s, status);
}

/* Lists of figures and of rules for n choices. */
static void push_judged(lua_State *L, const loom_space *space, int einsum, size_t n, size_t width,
                        const double *values, const loom_space_verdict *verdicts) {
  char name[256];
  lua_createtable(L, (int)n, 0);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    if (verdicts[i].rule == LOOM_RULE_NONE) {
      push_numbers(L, width, values + i * width);
      lua_rawseti(L, -3, (lua_Integer)i + 1);
      lua_pushboolean(L, false);
    } else {
      lua_pushboolean(L, false);
      lua_rawseti(L, -3, (lua_Integer)i + 1);
      loom_space_name_rule(space, einsum, verdicts[i], sizeof name, name);
      lua_pushstring(L, name);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* s:evaluate(einsum, template, {tiles, ...}) -> list of figures or false, list of the first rules
** broken or false; or nil, message, kind.  [-0, +2|3, v] */
static int l_evaluate(lua_State *L) {
  bind_scope s;
  loom_status status;
  lua_settop(L, 4);
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
  luaL_checktype(L, 4, LUA_TTABLE);
  size_t n = lua_rawlen(L, 4), n_loops = loom_space_loops(space, einsum, number);
  size_t width = loom_space_figures(space);
  int32_t *tiles = lua_newuserdatauv(L, (n * n_loops + 1) * sizeof *tiles, 0);
  double *values = lua_newuserdatauv(L, (n * width + 1) * sizeof *values, 0);
  loom_space_verdict *verdicts = lua_newuserdatauv(L, (n + 1) * sizeof *verdicts, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 4, (lua_Integer)i + 1);
    check_tiles(L, lua_gettop(L), n_loops, tiles + i * n_loops);
    lua_pop(L, 1);
  }
  WATCHED(&s, status, loom_space_evaluate(space, einsum, number, n, tiles, values, verdicts));
  if (status != LOOM_OK) return bind_fail(&s);
  push_judged(L, space, einsum, n, width, values, verdicts);
  return 2;
}

/* s:counts(einsum) -> table.  [-0, +1, v] */
static int l_counts(lua_State *L) {
  bind_scope s;
  loom_space *space = check_space(&s, L);
  loom_space_counts c = loom_space_counts_of(space, check_einsum(L, space, 2));
  const char *const names[] = {"chains", "combined", "points",   "kept",
                               "groups", "units",    "sketched", "explored"};
  double values[] = {c.chains, c.combined, c.points,   c.kept,
                     c.groups, c.units,    c.sketched, c.explored};
  lua_createtable(L, 0, 8);
  for (int i = 0; i < 8; i++) {
    lua_pushnumber(L, values[i]);
    lua_setfield(L, -2, names[i]);
  }
  return 1;
}

/* The numbers of the list at index i: one for each objective.  [-0, +0, v] */
static void check_objectives(lua_State *L, const loom_space *space, int i, double *out) {
  luaL_checktype(L, i, LUA_TTABLE);
  luaL_argcheck(L, lua_rawlen(L, i) == loom_space_objectives(space), i,
                "a number for each objective expected");
  for (size_t k = 0; k < loom_space_objectives(space); k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    out[k] = luaL_checknumber(L, -1);
    lua_pop(L, 1);
  }
}

/* s:limit(limits) -> s: the most of each objective, of all uses.  [-0, +1, v] */
static int l_limit(lua_State *L) {
  bind_scope s;
  double limits[2];
  loom_space *space = check_space(&s, L);
  check_objectives(L, space, 2, limits);
  loom_space_limit(space, limits);
  lua_settop(L, 1);
  return 1;
}

/* s:limit_einsum(einsum, others) -> s: what other uses add at least to each objective.  [-0, +1, v] */
static int l_limit_einsum(lua_State *L) {
  bind_scope s;
  double others[2];
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  check_objectives(L, space, 3, others);
  loom_space_limit_einsum(space, einsum, others);
  lua_settop(L, 1);
  return 1;
}

/* s:least(einsum [, template]) -> list of what no point is below, by objective.  [-0, +1, v] */
static int l_least(lua_State *L) {
  bind_scope s;
  double least[2];
  loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  int number = lua_isnoneornil(L, 3) ? -1 : check_unit(L, space, einsum, 3);
  if (loom_space_least(space, einsum, number, least) != LOOM_OK) return bind_raise(&s);
  push_numbers(L, loom_space_objectives(space), least);
  return 1;
}

/* s:joint_falls(memory) -> pairs of points for which it was too small.  [-0, +1, v] */
static int l_joint_falls(lua_State *L) {
  bind_scope s;
  const loom_space *space = check_space(&s, L);
  int memory = bind_check_index(L, 2);
  luaL_argcheck(L, (size_t)memory < loom_space_memories(space), 2, "no such memory");
  lua_pushnumber(L, loom_space_joint_falls(space, memory));
  return 1;
}

/* s:falls(einsum) -> {size = choices of all tiles of the templates explored, points = those that were
** handed on, rules = {name = choices that fell to it, ...}}.  [-0, +1, v] */
static int l_falls(lua_State *L) {
  bind_scope s;
  loom_space_fall fall;
  char name[256];
  const loom_space *space = check_space(&s, L);
  int einsum = check_einsum(L, space, 2);
  lua_createtable(L, 0, 3);
  lua_pushnumber(L, loom_space_size(space, einsum));
  lua_setfield(L, -2, "size");
  lua_newtable(L);
  for (size_t i = 0; loom_space_falls(space, einsum, i, &fall); i++) {
    if (fall.verdict.rule == LOOM_RULE_NONE) {
      lua_pushnumber(L, fall.n);
      lua_setfield(L, -3, "points");
    } else if (fall.n > 0) {
      loom_space_name_rule(space, einsum, fall.verdict, sizeof name, name);
      lua_pushnumber(L, fall.n);
      lua_setfield(L, -2, name);
    }
  }
  lua_setfield(L, -2, "rules");
  return 1;
}

/* ---- joining ------------------------------------------------------------------------------ */

/* The uses in the list at index 2 into memory pushed on the stack.  [-0, +n, v] */
static loom_space_use *check_uses(lua_State *L, const loom_space *space, size_t *n) {
  luaL_checktype(L, 2, LUA_TTABLE);
  *n = lua_rawlen(L, 2);
  loom_space_use *uses = lua_newuserdatauv(L, (*n + 1) * sizeof *uses, 0);
  for (size_t i = 0; i < *n; i++) {
    size_t n_tensors;
    luaL_checkstack(L, 8, NULL);
    luaL_argcheck(L, lua_rawgeti(L, 2, (lua_Integer)i + 1) == LUA_TTABLE, 2, "use expected");
    int at = lua_gettop(L);
    uses[i].einsum = integer_field(L, at, "einsum", -1);
    luaL_argcheck(L, uses[i].einsum >= 0 && (size_t)uses[i].einsum < loom_space_einsums(space), 2,
                  "no such einsum in the space");
    lua_getfield(L, at, "tensors");
    const int64_t *list = check_integers(L, lua_gettop(L), &n_tensors);
    luaL_argcheck(L, n_tensors == loom_space_tensors(space, uses[i].einsum), 2,
                  "a number for each shared tensor expected");
    int *tensors = lua_newuserdatauv(L, (n_tensors + 1) * sizeof *tensors, 0);
    for (size_t k = 0; k < n_tensors; k++) {
      luaL_argcheck(L, list[k] >= 0 && list[k] < 1 << 20, 2, "number of a tensor expected");
      tensors[k] = (int)list[k];
    }
    uses[i].tensors = tensors;
    lua_replace(L, at);
    lua_settop(L, at);
  }
  return uses;
}

static loom_join_kind check_kind(lua_State *L) {
  return lua_istable(L, 3) && boolean_field(L, 3, "quick") ? LOOM_JOIN_QUICK : LOOM_JOIN_ALL;
}

/* s:join_begin({{einsum =, tensors = {...}}, ...} [, {quick = true}]) -> s, or nil, message, kind.
** [-0, +1|3, v] */
static int l_join_begin(lua_State *L) {
  bind_scope s;
  size_t n;
  loom_status status;
  lua_settop(L, 3);
  loom_space *space = check_space(&s, L);
  loom_join_kind kind = check_kind(L);
  const loom_space_use *uses = check_uses(L, space, &n);
  WATCHED(&s, status, loom_space_join_begin(space, n, uses, kind));
  lua_settop(L, 1);
  return bind_done(&s, status);
}

/* s:join_some(work) -> whether there is more to do, or nil, message, kind.  [-0, +1|3, v] */
static int l_join_some(lua_State *L) {
  bind_scope s;
  loom_status status;
  bool more;
  loom_space *space = check_space(&s, L);
  lua_Integer work = luaL_checkinteger(L, 2);
  luaL_argcheck(L, work > 0, 2, "work expected");
  WATCHED(&s, status, loom_space_join_some(space, (size_t)work, &more));
  return push_more(&s, status, more);
}

/* s:join(uses [, {quick = true}]): both until the end.  [-0, +1|3, v] */
static int l_join(lua_State *L) {
  bind_scope s;
  size_t n;
  loom_status status;
  lua_settop(L, 3);
  loom_space *space = check_space(&s, L);
  loom_join_kind kind = check_kind(L);
  const loom_space_use *uses = check_uses(L, space, &n);
  WATCHED(&s, status, loom_space_join_begin(space, n, uses, kind));
  for (bool more = true; more && status == LOOM_OK;)
    WATCHED(&s, status, loom_space_join_some(space, SIZE_MAX, &more));
  lua_settop(L, 1);
  return bind_done(&s, status);
}

/* s:bound() -> list of the least that each objective can be, nil before a join has begun.
** [-0, +1, v] */
static int l_bound(lua_State *L) {
  bind_scope s;
  double bound[2];
  const loom_space *space = check_space(&s, L);
  size_t n = loom_space_objectives(space);
  if (loom_space_bound(space, bound)) {
    push_numbers(L, n, bound);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* s:results() -> how many.  [-0, +1, v] */
static int l_results(lua_State *L) {
  bind_scope s;
  lua_pushinteger(L, (lua_Integer)loom_space_results(check_space(&s, L)));
  return 1;
}

/* The number of a result at index 2, from 0.  [-0, +0, v] */
static size_t check_result(lua_State *L, const loom_space *space) {
  size_t i = (size_t)bind_check_index(L, 2);
  luaL_argcheck(L, i < loom_space_results(space), 2, "no such result");
  return i;
}

/* s:result(i) -> list of its values.  [-0, +1, v] */
static int l_result(lua_State *L) {
  bind_scope s;
  size_t n;
  const loom_space *space = check_space(&s, L);
  const double *values = loom_space_result(space, check_result(L, space), &n);
  push_numbers(L, n, values);
  return 1;
}

/* s:choice(i, use) -> number of the template, tiles of its loops, variables of its fused loops.
** [-0, +3, v] */
static int l_choice(lua_State *L) {
  bind_scope s;
  const loom_space *space = check_space(&s, L);
  loom_space_choice c;
  size_t result = check_result(L, space);
  if (loom_space_choose(space, result, (size_t)bind_check_index(L, 3), &c) != LOOM_OK)
    return bind_raise(&s);
  lua_pushinteger(L, c.number);
  push_integers(L, c.n_loops, c.tiles);
  lua_createtable(L, (int)c.n_fused, 0);
  for (size_t i = 0; i < c.n_fused; i++) {
    lua_pushinteger(L, c.variables[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 3;
}

void bind_open_space(lua_State *L) {
  static const luaL_Reg makers[] = {{"space", l_space}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"memory", l_memory},
                                     {"einsum", l_einsum},
                                     {"dimension", l_dimension},
                                     {"tensor", l_tensor},
                                     {"add", l_add},
                                     {"explore", l_explore},
                                     {"counts", l_counts},
                                     {"join", l_join},
                                     {"results", l_results},
                                     {"result", l_result},
                                     {"choice", l_choice},
                                     {"explore_some", l_explore_some},
                                     {"leave", l_leave},
                                     {"points", l_points},
                                     {"insert", l_insert},
                                     {"evaluate", l_evaluate},
                                     {"join_begin", l_join_begin},
                                     {"join_some", l_join_some},
                                     {"bound", l_bound},
                                     {"bound_loops", l_bound_loops},
                                     {"limit", l_limit},
                                     {"limit_einsum", l_limit_einsum},
                                     {"least", l_least},
                                     {"falls", l_falls},
                                     {"joint_falls", l_joint_falls},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_SPACE, methods);
  bind_set_makers(L, makers);
}
