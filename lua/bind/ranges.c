/* SPDX-License-Identifier: MIT */
/* Ranges of kernels in Lua: the calls of einloom.h as methods; trees are named by their prefixes.
**
** Invariant: no logic. */
#include "bind.h"

static void release(void *handle) {
  loom_ranges_free(handle);
}

static loom_ranges *check_ranges(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_RANGES)->handle;
}

/* ---- arguments ---------------------------------------------------------------------------- */

static const char *const prefixes[] = {
#define NAME(enumerator, name) name,
    LOOM_PREFIX_LIST(NAME)
#undef NAME
        NULL};

/* The number of the tree whose prefix is at index i.  [-0, +0, v] */
static size_t check_tree(lua_State *L, const loom_ranges *r, int i) {
  const loom_tree *trees;
  size_t n = loom_ranges_trees(r, &trees);
  loom_prefix prefix = (loom_prefix)bind_check_name(L, i, prefixes);
  for (size_t k = 0; k < n; k++)
    if (trees[k].prefix == prefix) return k;
  return (size_t)luaL_error(L, "the kernel has no %s range", prefixes[prefix]);
}

/* ---- kernels ------------------------------------------------------------------------------ */

/* The extents in the table at index i, by prefix.  [-0, +0, v] */
static loom_tiling read_tiling(bind_scope *s, int i) {
  lua_State *L = s->L;
  loom_tiling tiling = {0};
  luaL_checktype(L, i, LUA_TTABLE);
  for (int prefix = 0; prefix < LOOM_N_PREFIXES; prefix++) {
    if (lua_getfield(L, i, prefixes[prefix]) == LUA_TNIL) {
      lua_pop(L, 1);
      continue;
    }
    tiling.prefix[tiling.n] = (loom_prefix)prefix;
    tiling.extent[tiling.n++] = bind_take(s, prefixes[prefix]);
  }
  return tiling;
}

/* core.ranges({prefix = extent}[, options]) [-0, +1|3, v] */
static int l_ranges(lua_State *L) {
  bind_scope s;
  int i = bind_enter_maker(&s, L);
  lua_settop(L, i + 1);
  loom_ranges_options options = {0};
  loom_given given;
  bind_check_split(&s, i + 1, &options.split, &given);
  options.one_pass = bind_flag(L, i + 1, "one_pass");
  options.no_x = bind_flag(L, i + 1, "no_x");
  loom_tiling tiling = read_tiling(&s, i);
  bind_object *object = bind_new_object(&s, BIND_RANGES, release);
  return bind_adopt(&s, object, loom_ranges_new(s.ctx, &tiling, &options));
}

static void set_position(lua_State *L, const char *key, int value) {
  if (value >= 0) bind_set_integer(L, key, value);
}

static void push_tree(bind_scope *s, const loom_ranges *r, size_t k) {
  lua_State *L = s->L;
  const loom_tree *trees;
  loom_ranges_trees(r, &trees);
  const loom_tree *tree = &trees[k];
  lua_createtable(L, 0, 9);
  bind_set_string(L, "tree", prefixes[tree->prefix]);
  bind_set_expr(s, "index", tree->index);
  bind_set_expr(s, "extent", tree->extent);
  bind_set_integer(L, "position", tree->position);
  set_position(L, "grid_dim", tree->grid_dim);
  set_position(L, "tensor_dim", tree->tensor_dim);
  bind_set_boolean(L, "is_loop", tree->is_loop);
  bind_set_boolean(L, "is_reduction", loom_prefix_is_reduction(tree->prefix));
  bind_set_boolean(L, "active", loom_ranges_tree_active(r, k));
}

/* r:trees() -> list of {tree, index, extent, position, ...}.  [-0, +1, v] */
static int l_trees(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  const loom_tree *trees;
  size_t n = loom_ranges_trees(r, &trees);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_tree(&s, r, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static void push_entry(bind_scope *s, const loom_ranges *r, size_t i) {
  const loom_tree *trees;
  const loom_entry *entries;
  loom_ranges_trees(r, &trees);
  loom_ranges_entries(r, &entries);
  loom_entry e = entries[i];
  lua_createtable(s->L, 0, 6);
  bind_set_string(s->L, "name", e.name);
  bind_set_string(s->L, "tree", prefixes[trees[e.tree].prefix]);
  bind_set_expr(s, "variable", e.variable);
  bind_set_expr(s, "divisor", e.divisor);
  bind_set_expr(s, "length", e.length);
  bind_set_expr(s, "expr", e.expr);
}

void bind_push_entries(bind_scope *s, const loom_ranges *r, size_t first) {
  const loom_entry *entries;
  size_t n = loom_ranges_entries(r, &entries);
  lua_newtable(s->L);
  lua_Integer place = 1;
  for (size_t i = first; i < n; i++) {
    push_entry(s, r, i);
    lua_rawseti(s->L, -2, place++);
  }
}

/* r:entries([first]) -> list of {name, tree, variable, divisor, length, expr} from that position
** on.  [-0, +1, v] */
static int l_entries(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  lua_Integer first = luaL_optinteger(L, 2, 1);
  luaL_argcheck(L, first >= 1, 2, "positions count from 1");
  bind_push_entries(&s, r, (size_t)first - 1);
  return 1;
}

/* r:lookup(tree, divisor, length) -> variable.  [-0, +1|3, v] */
static int l_lookup(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  size_t tree = check_tree(L, r, 2);
  loom_expr divisor = bind_arg(&s, 3);
  loom_expr variable = loom_ranges_lookup(r, tree, divisor, bind_arg(&s, 4));
  return variable == LOOM_NONE ? bind_fail(&s) : bind_return(&s, variable);
}

/* r:construct(tree, lengths) -> variables.  [-0, +1|3, v] */
static int l_construct(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  size_t n, tree = check_tree(L, r, 2);
  const loom_expr *lengths = bind_check_list(&s, 3, &n);
  loom_expr *variables = lua_newuserdatauv(L, (n + 1) * sizeof *variables, 0);
  if (loom_ranges_construct(r, tree, n, lengths, variables) != LOOM_OK) return bind_fail(&s);
  bind_push_list(&s, n, variables);
  return 1;
}

/* r:vars_and_sizes(tree, index) -> variables, sizes.  [-0, +2|3, v] */
static int l_vars_and_sizes(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  size_t n, tree = check_tree(L, r, 2);
  const loom_expr *variables, *sizes;
  if (loom_ranges_vars_and_sizes(r, tree, bind_arg(&s, 3), &n, &variables, &sizes) != LOOM_OK)
    return bind_fail(&s);
  bind_push_list(&s, n, variables);
  bind_push_list(&s, n, sizes);
  return 2;
}

/* r:reduction(on) [-0, +1, v] */
static int l_reduction(lua_State *L) {
  bind_scope s;
  loom_ranges_reduction(check_ranges(&s, L), lua_toboolean(L, 2));
  return bind_done(&s, LOOM_OK);
}

/* ---- loops -------------------------------------------------------------------------------- */

/* r:set({lengths of a tree, ...}) -> lists of variables.  [-0, +1|3, v] */
static int l_set(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  const loom_tree *trees;
  size_t n = loom_ranges_trees(r, &trees), counts[LOOM_N_PREFIXES], total = 0, used = 0;
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(L, lua_rawlen(L, 2) == n, 2, "a list of lengths for each tree expected");
  luaL_checkstack(L, (int)(2 * n) + 8, NULL);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    total += counts[i] = lua_rawlen(L, -1);
  }
  loom_expr *lengths = lua_newuserdatauv(L, (total + 1) * sizeof *lengths, 0);
  for (size_t i = 0; i < n; i++) {
    size_t count;
    const loom_expr *list = bind_check_list(&s, 3 + (int)i, &count);
    for (size_t k = 0; k < counts[i]; k++) lengths[used++] = list[k];
  }
  const loom_expr *values;
  if (loom_ranges_set(r, counts, lengths, &values) != LOOM_OK) return bind_fail(&s);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; values += counts[i++]) {
    bind_push_list(&s, counts[i], values);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* r:map(pointwise, reduction) -> values of the pointwise and of the reduction loops.
** [-0, +2|3, v] */
static int l_map(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  lua_settop(L, 3);
  loom_loops loops = bind_check_loops(&s, 2);
  loom_mapped mapped;
  if (loom_ranges_map(r, &loops, &mapped) != LOOM_OK) return bind_fail(&s);
  bind_push_list(&s, mapped.n_pointwise, mapped.values);
  bind_push_list(&s, mapped.n_reduction, mapped.values + mapped.n_pointwise);
  return 2;
}

/* ---- indices ------------------------------------------------------------------------------ */

static int answer(bind_scope *s, loom_expr e) {
  return e == LOOM_NONE ? bind_fail(s) : bind_return(s, e);
}

/* r:simplify(index), r:pair_mod(index), r:prepare(index) -> index.  [-0, +1|3, v] */
#define OF_INDEX(name)                                         \
  static int l_##name(lua_State *L) {                          \
    bind_scope s;                                              \
    loom_ranges *r = check_ranges(&s, L);                      \
    return answer(&s, loom_ranges_##name(r, bind_arg(&s, 2))); \
  }
OF_INDEX(simplify)
OF_INDEX(pair_mod)
OF_INDEX(prepare)

/* r:merge_dims(tree, index) -> index.  [-0, +1|3, v] */
static int l_merge_dims(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  size_t tree = check_tree(L, r, 2);
  return answer(&s, loom_ranges_merge_dims(r, tree, bind_arg(&s, 3)));
}

/* r:hoisted() -> list of {symbol, value}.  [-0, +1, v] */
static int l_hoisted(lua_State *L) {
  bind_scope s;
  const loom_hoisted *hoisted;
  size_t n = loom_ranges_hoisted(check_ranges(&s, L), &hoisted);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 2);
    bind_set_expr(&s, "symbol", hoisted[i].symbol);
    bind_set_expr(&s, "value", hoisted[i].value);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* r:broadcasted(index[, tree]) -> boolean.  [-0, +1|3, v] */
static int l_broadcasted(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  loom_expr index = bind_arg(&s, 2);
  return bind_return_boolean(&s, lua_isnoneornil(L, 3)
                                     ? loom_ranges_broadcasted(r, index)
                                     : loom_ranges_broadcasted_in(r, check_tree(L, r, 3), index));
}

/* r:tile_strides(index) -> strides by prefix.  [-0, +1|3, v] */
static int l_tile_strides(lua_State *L) {
  bind_scope s;
  loom_ranges *r = check_ranges(&s, L);
  const loom_tree *trees;
  size_t n = loom_ranges_trees(r, &trees);
  loom_expr strides[LOOM_N_PREFIXES];
  if (loom_ranges_tile_strides(r, bind_arg(&s, 2), strides) != LOOM_OK) return bind_fail(&s);
  lua_createtable(L, 0, (int)n);
  for (size_t i = 0; i < n; i++) bind_set_expr(&s, prefixes[trees[i].prefix], strides[i]);
  return 1;
}

void bind_open_ranges(lua_State *L) {
  static const luaL_Reg makers[] = {{"ranges", l_ranges}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"trees", l_trees},
                                     {"entries", l_entries},
                                     {"lookup", l_lookup},
                                     {"construct", l_construct},
                                     {"vars_and_sizes", l_vars_and_sizes},
                                     {"reduction", l_reduction},
                                     {"set", l_set},
                                     {"map", l_map},
                                     {"simplify", l_simplify},
                                     {"merge_dims", l_merge_dims},
                                     {"pair_mod", l_pair_mod},
                                     {"prepare", l_prepare},
                                     {"hoisted", l_hoisted},
                                     {"broadcasted", l_broadcasted},
                                     {"tile_strides", l_tile_strides},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_RANGES, methods);
  bind_set_makers(L, makers);
}
