/* SPDX-License-Identifier: MIT */
/* Loop nests and accesses in Lua: splitting without a kernel, properties of addresses.
**
** Invariant: no logic. */
#include "bind.h"

/* ---- arguments ---------------------------------------------------------------------------- */

/* The field of the table at index i, a table with symbols as keys, is pushed (empty without one);
** returns how many keys there are.  [-0, +1, v] */
static size_t push_keyed(bind_scope *s, int i, const char *field) {
  lua_State *L = s->L;
  size_t n = 0;
  if (lua_getfield(L, i, field) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  if (!lua_istable(L, -1)) luaL_error(L, "%s: table expected", field);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (!bind_test_box(L, -2)) luaL_error(L, "%s: symbols expected as keys", field);
    n++;
  }
  return n;
}

/* The symbol that is the key at the top of the stack, which stays there. */
static loom_expr key_symbol(bind_scope *s, const char *field) {
  lua_pushvalue(s->L, -1);
  return bind_take(s, field);
}

/* Hints: symbol -> number, or false for a size without one.  In memory pushed on the stack.
** [-0, +2, v] */
static void read_hints(bind_scope *s, int i, loom_given *given) {
  lua_State *L = s->L;
  size_t n = push_keyed(s, i, "hints"), k = 0;
  loom_hint *hints = lua_newuserdatauv(L, (n + 1) * sizeof *hints, 0);
  for (lua_pushnil(L); lua_next(L, -3); k++) {
    bool none = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    if (none) lua_pop(L, 1);
    hints[k].value = none ? LOOM_NONE : bind_take(s, "hints");
    hints[k].symbol = key_symbol(s, "hints");
  }
  given->hints = hints;
  given->n_hints = n;
}

/* Extents: symbol -> size.  In memory pushed on the stack.  [-0, +2, v] */
static void read_extents(bind_scope *s, int i, loom_given *given) {
  lua_State *L = s->L;
  size_t n = push_keyed(s, i, "extents"), k = 0;
  loom_extent *extents = lua_newuserdatauv(L, (n + 1) * sizeof *extents, 0);
  for (lua_pushnil(L); lua_next(L, -3); k++) {
    extents[k].size = bind_take(s, "extents");
    extents[k].variable = key_symbol(s, "extents");
  }
  given->extents = extents;
  given->n_extents = n;
}

bool bind_flag(lua_State *L, int i, const char *name) {
  lua_getfield(L, i, name);
  bool flag = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return flag;
}

void bind_check_split(bind_scope *s, int i, loom_split_options *options, loom_given *given) {
  static const char *const names[] = {"extents",  "hints", "strict", "any_span",
                                      "one_pass", "no_x",  NULL};
  lua_State *L = s->L;
  bind_check_options(L, i, names);
  *given = (loom_given){.strict = bind_flag(L, i, "strict")};
  read_extents(s, i, given);
  read_hints(s, i, given);
  *options = (loom_split_options){given, bind_flag(L, i, "any_span")};
}

int bind_enter_split(bind_scope *s, lua_State *L, int n, loom_split_options *options,
                     loom_given *given) {
  int i = bind_enter_maker(s, L);
  lua_settop(L, i + n);
  bind_check_split(s, i + n, options, given);
  return i;
}

loom_loops bind_check_loops(bind_scope *s, int i) {
  lua_State *L = s->L;
  size_t n[2];
  loom_expr *lists[2];
  for (int k = 0; k < 2; k++) lists[k] = bind_check_list(s, i + k, &n[k]);
  loom_expr *sizes = lua_newuserdatauv(L, (n[0] + n[1] + 1) * sizeof *sizes, 0);
  for (size_t k = 0; k < n[0]; k++) sizes[k] = lists[0][k];
  for (size_t k = 0; k < n[1]; k++) sizes[n[0] + k] = lists[1][k];
  lua_replace(L, -3);
  lua_pop(L, 1);
  return (loom_loops){sizes, n[0], n[1]};
}

/* Groups of ranges, and the loops that are to run on them. */
typedef struct grouped_loops {
  size_t n;
  const loom_expr *groups;
  loom_loops loops;
} grouped_loops;

/* Groups, pointwise and reduction loops at index i, i + 1 and i + 2, in memory pushed on the stack.
** [-0, +2, v] */
static grouped_loops check_grouped(bind_scope *s, int i) {
  grouped_loops g;
  g.groups = bind_check_list(s, i, &g.n);
  g.loops = bind_check_loops(s, i + 1);
  return g;
}

/* ---- splits ------------------------------------------------------------------------------- */

static void push_getters(lua_State *L, const loom_getter *getters, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 2);
    bind_set_integer(L, "first", (lua_Integer)getters[i].first + 1);
    bind_set_integer(L, "count", (lua_Integer)getters[i].count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* {pieces = {sizes by group}, pointwise = {{first, count}}, reduction = {...}, direct} */
static void push_split(bind_scope *s, const loom_split *split, size_t n_groups) {
  lua_State *L = s->L;
  lua_createtable(L, 0, 4);
  lua_createtable(L, (int)n_groups, 0);
  for (size_t i = 0, k = 0; i < n_groups; i++) {
    lua_newtable(L);
    for (lua_Integer place = 1; k < split->n_pieces && split->pieces[k].group == i; k++) {
      bind_push(s, split->pieces[k].size);
      lua_rawseti(L, -2, place++);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "pieces");
  push_getters(L, split->getters, split->n_pointwise);
  lua_setfield(L, -2, "pointwise");
  push_getters(L, split->getters + split->n_pointwise, split->n_reduction);
  lua_setfield(L, -2, "reduction");
  bind_set_boolean(L, "direct", split->direct);
}

typedef loom_status (*splitting)(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                 const loom_loops *loops, const loom_split_options *options,
                                 loom_split *out);

/* (groups, pointwise, reduction[, options]) -> split.  [-0, +1|3, v] */
static int split_with(lua_State *L, splitting split_loops) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 3, &options, &given);
  grouped_loops g = check_grouped(&s, i);
  size_t n_loops = g.loops.n_pointwise + g.loops.n_reduction, n_pieces = g.n + n_loops;
  loom_split split = {.capacity_pieces = n_pieces, .capacity_getters = n_loops};
  split.pieces = lua_newuserdatauv(L, (n_pieces + 1) * sizeof *split.pieces, 0);
  split.getters = lua_newuserdatauv(L, (n_loops + 1) * sizeof *split.getters, 0);
  if (split_loops(s.ctx, g.n, g.groups, &g.loops, &options, &split) != LOOM_OK)
    return bind_fail(&s);
  push_split(&s, &split, g.n);
  return 1;
}

/* core.split_loops(groups, pointwise, reduction[, options]) [-0, +1|3, v] */
static int l_split_loops(lua_State *L) {
  return split_with(L, loom_split_loops);
}

/* core.map_loops(groups, pointwise, reduction[, options]) [-0, +1|3, v] */
static int l_map_loops(lua_State *L) {
  return split_with(L, loom_map_loops);
}

/* core.loops_fit(groups, pointwise, reduction, reduction_extent or nil[, options]) -> true, or false
** and the kind of refusal.  [-0, +1|2|3, v] */
static int l_loops_fit(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 4, &options, &given);
  grouped_loops g = check_grouped(&s, i);
  loom_expr extent = bind_optional(&s, i + 3);
  loom_status status = loom_loops_fit(s.ctx, g.n, g.groups, &g.loops, extent, &options);
  if (status != LOOM_OK && loom_error_status(s.ctx) != LOOM_OK) return bind_fail(&s);
  lua_pushboolean(L, status == LOOM_OK);
  if (status == LOOM_OK) return 1;
  lua_pushstring(L, loom_status_kind(status));
  return 2;
}

/* core.loops_lack_reduction(groups, pointwise, reduction, reduction_extent[, options]) -> boolean.
** [-0, +1|3, v] */
static int l_loops_lack_reduction(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 4, &options, &given);
  grouped_loops g = check_grouped(&s, i);
  loom_expr extent = bind_arg(&s, i + 3);
  return bind_return_boolean(
      &s, loom_loops_lack_reduction(s.ctx, g.n, g.groups, &g.loops, extent, &options));
}

/* ---- accesses ----------------------------------------------------------------------------- */

loom_extent *bind_check_nest(bind_scope *s, int i, size_t *n) {
  lua_State *L = s->L;
  luaL_checktype(L, i, LUA_TTABLE);
  *n = lua_rawlen(L, i);
  loom_extent *loops = lua_newuserdatauv(L, (*n + 1) * sizeof *loops, 0);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    if (!lua_istable(L, -1)) luaL_error(L, "loop %d: {variable, size} expected", (int)k + 1);
    lua_rawgeti(L, -1, 1);
    loops[k].variable = bind_take(s, "variable");
    lua_rawgeti(L, -1, 2);
    loops[k].size = bind_take(s, "size");
    lua_pop(L, 1);
  }
  return loops;
}

/* The index at i and the loops {{variable, size}, ...} at i + 1, in memory pushed on the stack.
** [-0, +1, v] */
static loom_address check_address(bind_scope *s, int i) {
  loom_address address;
  address.loops = bind_check_nest(s, i + 1, &address.n);
  address.index = bind_arg(s, i);
  return address;
}

void bind_push_nest(bind_scope *s, size_t n, const loom_extent *loops) {
  lua_State *L = s->L;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    bind_push_list(s, 2, (loom_expr[]){loops[i].variable, loops[i].size});
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* core.address_merge(index, loops, prefix[, by_stride[, options]]) -> index, loops.
** [-0, +2|3, v] */
static int l_address_merge(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 4, &options, &given);
  loom_address address = check_address(&s, i);
  const char *prefix = bind_check_text(L, i + 2);
  loom_extent *loops = lua_newuserdatauv(L, (address.n + 1) * sizeof *loops, 0);
  loom_expr index;
  ptrdiff_t n =
      loom_address_merge(s.ctx, &address, lua_toboolean(L, i + 3), prefix, &given, &index, loops);
  if (n < 0) return bind_fail(&s);
  bind_push(&s, index);
  bind_push_nest(&s, (size_t)n, loops);
  return 2;
}

/* core.address_look(index, loops, elements[, options]) -> {contiguous, ...}.  [-0, +1|3, v] */
static int l_address_look(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 3, &options, &given);
  loom_address address = check_address(&s, i);
  loom_address_features f;
  if (loom_address_look(s.ctx, &address, bind_arg(&s, i + 2), &given, &f) != LOOM_OK)
    return bind_fail(&s);
  lua_createtable(L, 0, 6);
  bind_set_boolean(L, "contiguous", f.contiguous);
  bind_set_boolean(L, "stride1_last", f.stride1_last);
  bind_set_boolean(L, "scalar", f.scalar);
  bind_set_boolean(L, "indirect", f.indirect);
  bind_set_expr(&s, "elements", f.elements);
  bind_set_expr(&s, "offset", f.offset);
  return 1;
}

/* core.address_narrow(index, loops) -> boolean.  [-0, +1|3, v] */
static int l_address_narrow(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  loom_address address = check_address(&s, i);
  return bind_return_boolean(&s, loom_address_narrow(s.ctx, &address));
}

/* core.index_narrow(extent, sizes[, options]) -> boolean.  [-0, +1|3, v] */
static int l_index_narrow(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  int i = bind_enter_split(&s, L, 2, &options, &given);
  size_t n;
  const loom_expr *sizes = bind_check_list(&s, i + 1, &n);
  return bind_return_boolean(&s, loom_index_narrow(s.ctx, bind_arg(&s, i), n, sizes, &given));
}

void bind_open_loops(lua_State *L) {
  static const luaL_Reg makers[] = {{"split_loops", l_split_loops},
                                    {"map_loops", l_map_loops},
                                    {"loops_fit", l_loops_fit},
                                    {"loops_lack_reduction", l_loops_lack_reduction},
                                    {"address_merge", l_address_merge},
                                    {"address_look", l_address_look},
                                    {"address_narrow", l_address_narrow},
                                    {"index_narrow", l_index_narrow},
                                    {NULL, NULL}};
  bind_set_makers(L, makers);
}
