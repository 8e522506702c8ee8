/* SPDX-License-Identifier: MIT */
/* Searches of spaces in Lua: units explored, points read and judged, einsums joined.
**
** Invariant: numbers of einsums, templates and variables count from 0 as in the core; einsums,
** templates and lists given are checked against what the space has. */
#include <string.h>

#include "space.h"

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
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
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
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  lua_Integer n = luaL_checkinteger(L, 3);
  luaL_argcheck(L, n > 0, 3, "at least one unit expected");
  WATCHED(&s, status, loom_space_explore_some(space, einsum, (size_t)n, &more));
  return push_more(&s, status, more);
}

/* s:leave(einsum, template) -> s.  [-0, +1, v] */
static int l_leave(lua_State *L) {
  bind_scope s;
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
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

/* [-0, +1, m] */
static int push_points(lua_State *L, const point_copies *copies) {
  lua_createtable(L, (int)copies->n, 0);
  for (size_t i = 0; i < copies->n; i++) {
    push_point(L, &copies->points[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* s:points(einsum [, template]) -> list of {template =, tiles =, values =}: what may be part of a best
** mapping as far as is known.  [-0, +1|3, v] */
static int l_points(lua_State *L) {
  bind_scope s;
  lua_settop(L, 3);
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  int number = lua_isnil(L, 3) ? -1 : check_unit(L, space, einsum, 3);
  point_copies copies = {0};
  if (loom_space_points(space, einsum, number, copy_point, &copies) != LOOM_OK)
    return bind_fail(&s);
  copies.room = copies.n;
  copies.n = 0;
  copies.points = lua_newuserdatauv(L, (copies.room + 1) * sizeof *copies.points, 0);
  if (loom_space_points(space, einsum, number, copy_point, &copies) != LOOM_OK)
    return bind_fail(&s);
  return push_points(L, &copies);
}

/* s:sketches(einsum) -> list of {template =, tiles =, values =}: points of sketches that no other beats.
** [-0, +1|3, v] */
static int l_sketches(lua_State *L) {
  bind_scope s;
  lua_settop(L, 2);
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  point_copies copies = {0};
  if (loom_space_sketches(space, einsum, copy_point, &copies) != LOOM_OK) return bind_fail(&s);
  copies.room = copies.n;
  copies.n = 0;
  copies.points = lua_newuserdatauv(L, (copies.room + 1) * sizeof *copies.points, 0);
  if (loom_space_sketches(space, einsum, copy_point, &copies) != LOOM_OK) return bind_fail(&s);
  return push_points(L, &copies);
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
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
  size_t n = loom_space_loops(space, einsum, number);
  int32_t *tiles = lua_newuserdatauv(L, (n + 1) * sizeof *tiles, 0);
  check_tiles(L, 4, n, tiles);
  loom_status status = loom_space_insert(space, einsum, number, tiles);
  lua_settop(L, 1);
  return bind_done(&s, status);
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

/* s:may_restore(einsum, template) -> boolean.  [-0, +1, v] */
static int l_may_restore(lua_State *L) {
  bind_scope s;
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
  lua_pushboolean(L, loom_space_may_restore(space, einsum, number));
  return 1;
}

/* s:restore(einsum, template, {tiles, ...}, least) -> s, or nil, message, kind.  [-0, +1|3, v] */
static int l_restore(lua_State *L) {
  bind_scope s;
  double least[2];
  lua_settop(L, 5);
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
  luaL_checktype(L, 4, LUA_TTABLE);
  check_objectives(L, space, 5, least);
  size_t n = lua_rawlen(L, 4), n_loops = loom_space_loops(space, einsum, number);
  int32_t *tiles = lua_newuserdatauv(L, (n * n_loops + 1) * sizeof *tiles, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 4, (lua_Integer)i + 1);
    check_tiles(L, lua_gettop(L), n_loops, tiles + i * n_loops);
    lua_pop(L, 1);
  }
  loom_status status = loom_space_restore(space, einsum, number, n, tiles, least);
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
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2), number = check_unit(L, space, einsum, 3);
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
  loom_space *space = bind_check_space(&s, L);
  loom_space_counts c = loom_space_counts_of(space, bind_check_einsum(L, space, 2));
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

/* s:limit(limits, decided) -> s: the most of each objective, of all uses; whether all within are equal.
** [-0, +1, v] */
static int l_limit(lua_State *L) {
  bind_scope s;
  double limits[2];
  bool decided[2] = {false, false};
  loom_space *space = bind_check_space(&s, L);
  check_objectives(L, space, 2, limits);
  luaL_checktype(L, 3, LUA_TTABLE);
  for (int k = 0; k < 2; k++) {
    lua_rawgeti(L, 3, k + 1);
    decided[k] = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  loom_space_limit(space, limits, decided);
  lua_settop(L, 1);
  return 1;
}

/* s:limit_einsum(einsum, others) -> s: what other uses add at least to each objective.  [-0, +1, v] */
static int l_limit_einsum(lua_State *L) {
  bind_scope s;
  double others[2];
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  check_objectives(L, space, 3, others);
  loom_space_limit_einsum(space, einsum, others);
  lua_settop(L, 1);
  return 1;
}

/* s:least(einsum [, template]) -> list of what no point is below, by objective.  [-0, +1, v] */
static int l_least(lua_State *L) {
  bind_scope s;
  double least[2];
  loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
  int number = lua_isnoneornil(L, 3) ? -1 : check_unit(L, space, einsum, 3);
  if (loom_space_least(space, einsum, number, least) != LOOM_OK) return bind_raise(&s);
  push_numbers(L, loom_space_objectives(space), least);
  return 1;
}

/* s:joint_falls(memory) -> pairs of points for which it was too small.  [-0, +1, v] */
static int l_joint_falls(lua_State *L) {
  bind_scope s;
  const loom_space *space = bind_check_space(&s, L);
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
  const loom_space *space = bind_check_space(&s, L);
  int einsum = bind_check_einsum(L, space, 2);
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
    lua_getfield(L, at, "einsum");
    uses[i].einsum = (int)luaL_optinteger(L, -1, -1);
    lua_settop(L, at);
    luaL_argcheck(L, uses[i].einsum >= 0 && (size_t)uses[i].einsum < loom_space_einsums(space), 2,
                  "no such einsum in the space");
    lua_getfield(L, at, "tensors");
    const int64_t *list = bind_check_integers(L, lua_gettop(L), &n_tensors);
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
  return lua_istable(L, 3) && bind_flag(L, 3, "quick") ? LOOM_JOIN_QUICK : LOOM_JOIN_ALL;
}

/* s:join_begin({{einsum =, tensors = {...}}, ...} [, {quick = true}]) -> s, or nil, message, kind.
** [-0, +1|3, v] */
static int l_join_begin(lua_State *L) {
  bind_scope s;
  size_t n;
  loom_status status;
  lua_settop(L, 3);
  loom_space *space = bind_check_space(&s, L);
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
  loom_space *space = bind_check_space(&s, L);
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
  loom_space *space = bind_check_space(&s, L);
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
  const loom_space *space = bind_check_space(&s, L);
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
  lua_pushinteger(L, (lua_Integer)loom_space_results(bind_check_space(&s, L)));
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
  const loom_space *space = bind_check_space(&s, L);
  const double *values = loom_space_result(space, check_result(L, space), &n);
  push_numbers(L, n, values);
  return 1;
}

/* s:choice(i, use) -> number of the template, tiles of its loops, variables of its fused loops.
** [-0, +3, v] */
static int l_choice(lua_State *L) {
  bind_scope s;
  const loom_space *space = bind_check_space(&s, L);
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

void bind_open_search(lua_State *L) {
  static const luaL_Reg methods[] = {
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
      {"sketches", l_sketches},
      {"may_restore", l_may_restore},
      {"restore", l_restore},
      {"evaluate", l_evaluate},
      {"join_begin", l_join_begin},
      {"join_some", l_join_some},
      {"bound", l_bound},
      {"limit", l_limit},
      {"limit_einsum", l_limit_einsum},
      {"least", l_least},
      {"falls", l_falls},
      {"joint_falls", l_joint_falls},
      {NULL, NULL},
  };
  luaL_getmetatable(L, BIND_SPACE);
  lua_getfield(L, -1, "__index");
  bind_set_functions(L, methods, false);
  lua_pop(L, 2);
}
