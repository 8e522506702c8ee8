/* SPDX-License-Identifier: MIT */
/* Graphs of loop nests in Lua: the builder calls of einloom.h as methods that take tables; buffers
** and operations go by their names.
**
** Invariant: no logic. */
#include "bind.h"

static void release(void *handle) {
  loom_graph_free(handle);
}

loom_graph *bind_check_graph(bind_scope *s, lua_State *L, int i) {
  return bind_check_object(s, L, i, BIND_GRAPH)->handle;
}

/* core.graph([options]) [-0, +1|3, v] */
static int l_graph(lua_State *L) {
  bind_scope s;
  loom_split_options options;
  loom_given given;
  bind_enter_split(&s, L, 0, &options, &given);
  bind_object *object = bind_new_object(&s, BIND_GRAPH, release);
  return bind_adopt(&s, object, loom_graph_new(s.ctx, &given));
}

/* ---- names -------------------------------------------------------------------------------- */

static const char *const dtypes[] = {
#define NAME(enumerator, name, bytes) name,
    LOOM_DTYPE_LIST(NAME)
#undef NAME
        NULL};
#define NAME(enumerator, name) name,
static const char *const kinds[] = {LOOM_OP_KIND_LIST(NAME) NULL};
static const char *const hints[] = {LOOM_REDUCTION_HINT_LIST(NAME) NULL};
static const char *const modes[] = {LOOM_USE_MODE_LIST(NAME) NULL};
#undef NAME

/* The number of the named buffer (op: operation) at index i.  [-0, +0, v] */
static int check_number(bind_scope *s, const loom_graph *g, int i, bool op) {
  const char *name = bind_check_text(s->L, i);
  int number = op ? loom_graph_find_op(g, name) : loom_graph_find_buffer(g, name);
  if (number < 0) luaL_error(s->L, "the graph has no %s '%s'", op ? "operation" : "buffer", name);
  return number;
}

int bind_check_op(bind_scope *s, const loom_graph *g, int i) {
  return check_number(s, g, i, true);
}

int bind_check_buffer(bind_scope *s, const loom_graph *g, int i) {
  return check_number(s, g, i, false);
}

/* ---- fields of the table at index 2 ------------------------------------------------------- */

static const char *text_field(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  const char *text = bind_text(L, -1);
  if (!text) luaL_error(L, "%s: text expected", name);
  return text;
}

/* An option; 0 for nil.  [-0, +1, v] */
static int option_field(lua_State *L, const char *name, const char *const names[]) {
  if (lua_getfield(L, 2, name) == LUA_TNIL) return 0;
  return bind_check_name(L, lua_gettop(L), names);
}

/* Pushes the list that is the field, empty for nil; returns where it is.  [-0, +1, v] */
static int push_field(lua_State *L, const char *name) {
  if (lua_getfield(L, 2, name) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  if (!lua_istable(L, -1)) luaL_error(L, "%s: list expected", name);
  return lua_gettop(L);
}

/* The same; returns how long it is.  [-0, +1, v] */
static size_t push_list_field(lua_State *L, const char *name) {
  return lua_rawlen(L, push_field(L, name));
}

loom_sizes *bind_check_shapes(bind_scope *s, int i, size_t *n) {
  lua_State *L = s->L;
  luaL_checktype(L, i, LUA_TTABLE);
  size_t all = 0;
  *n = lua_rawlen(L, i);
  for (size_t k = 0; k < *n; k++) {
    if (lua_rawgeti(L, i, (lua_Integer)k + 1) != LUA_TTABLE)
      luaL_error(L, "list of sizes expected");
    all += lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  loom_sizes *shapes = lua_newuserdatauv(L, (*n + 1) * sizeof *shapes + all * sizeof(loom_expr), 0);
  loom_expr *next = (loom_expr *)(void *)(shapes + *n + 1);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    size_t rank = lua_rawlen(L, -1);
    shapes[k] = (loom_sizes){rank, next};
    for (size_t j = 0; j < rank; j++) {
      lua_rawgeti(L, -1, (lua_Integer)j + 1);
      *next++ = bind_take(s, "size");
    }
    lua_pop(L, 1);
  }
  return shapes;
}

/* Expressions, in memory pushed on the stack.  [-0, +1, v] */
static loom_expr *exprs_field(bind_scope *s, const char *name, size_t *n) {
  *n = push_list_field(s->L, name);
  loom_expr *list = bind_check_list(s, lua_gettop(s->L), n);
  lua_remove(s->L, -2);
  return list;
}

/* The numbers of the named buffers or operations of the list at index i, in memory pushed on the
** stack.  [-0, +1, v] */
static int *check_numbers(bind_scope *s, const loom_graph *g, int i, bool op, size_t *n) {
  lua_State *L = s->L;
  luaL_checktype(L, i, LUA_TTABLE);
  *n = lua_rawlen(L, i);
  int *numbers = lua_newuserdatauv(L, (*n + 1) * sizeof *numbers, 0);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    numbers[k] = check_number(s, g, lua_gettop(L), op);
    lua_pop(L, 1);
  }
  return numbers;
}

int *bind_check_ops(bind_scope *s, const loom_graph *g, int i, size_t *n) {
  return check_numbers(s, g, i, true, n);
}

/* [-0, +2, v] */
static int *numbers_field(bind_scope *s, const loom_graph *g, const char *name, bool op,
                          size_t *n) {
  return check_numbers(s, g, push_field(s->L, name), op, n);
}

/* Appends the loops {{variable, size}, ...} of the list at index i.  [-0, +0, v] */
static void read_loops(bind_scope *s, int i, size_t n, loom_extent *loops) {
  lua_State *L = s->L;
  for (size_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    if (!lua_istable(L, -1)) luaL_error(L, "loop %d: {variable, size} expected", (int)k + 1);
    lua_rawgeti(L, -1, 1);
    loops[k].variable = bind_take(s, "variable");
    lua_rawgeti(L, -1, 2);
    loops[k].size = bind_take(s, "size");
    lua_pop(L, 1);
  }
}

/* The loops of both lists, in memory pushed on the stack.  [-0, +3, v] */
static void loops_fields(bind_scope *s, loom_op_info *info) {
  lua_State *L = s->L;
  info->n_pointwise = push_list_field(L, "pointwise");
  info->n_reduction = push_list_field(L, "reduction");
  int last = lua_gettop(L);
  size_t n = info->n_pointwise + info->n_reduction;
  loom_extent *loops = lua_newuserdatauv(L, (n + 1) * sizeof *loops, 0);
  read_loops(s, last - 1, info->n_pointwise, loops);
  read_loops(s, last, info->n_reduction, loops + info->n_pointwise);
  info->loops = loops;
}

/* {buffer =, index =} or {buffer =, mode =} at the top of the stack.  [-0, +0, v] */
static loom_use read_use(bind_scope *s, const loom_graph *g) {
  lua_State *L = s->L;
  luaL_checktype(L, -1, LUA_TTABLE);
  int use = lua_gettop(L);
  loom_use result = {.accumulates = bind_flag(L, use, "accumulates")};
  lua_getfield(L, use, "buffer");
  result.buffer = check_number(s, g, lua_gettop(L), false);
  if (lua_getfield(L, use, "mode") != LUA_TNIL)
    result.mode = (loom_use_mode)bind_check_name(L, lua_gettop(L), modes);
  lua_settop(L, use);
  if (result.mode == LOOM_USE_INDEXED) result.index = bind_field(s, use, "index");
  return result;
}

/* In memory pushed on the stack.  [-0, +1, v] */
static loom_use *uses_field(bind_scope *s, const loom_graph *g, const char *name, size_t *n) {
  lua_State *L = s->L;
  *n = push_list_field(L, name);
  int list = lua_gettop(L);
  loom_use *uses = lua_newuserdatauv(L, (*n + 1) * sizeof *uses, 0);
  for (size_t i = 0; i < *n; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    uses[i] = read_use(s, g);
    lua_pop(L, 1);
  }
  lua_remove(L, list);
  return uses;
}

/* ---- building ----------------------------------------------------------------------------- */

/* g:buffer {name =, sizes =, strides =, offset =, dtype =, output =} -> g.  [-0, +1|3, v] */
static int l_buffer(lua_State *L) {
  static const char *const names[] = {"name",  "sizes",  "strides", "offset",
                                      "dtype", "output", NULL};
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 2);
  bind_check_options(L, 2, names);
  loom_buffer_info info = {.name = text_field(L, "name"), .output = bind_flag(L, 2, "output")};
  info.dtype = (loom_dtype)option_field(L, "dtype", dtypes);
  info.sizes = exprs_field(&s, "sizes", &info.rank);
  if (lua_getfield(L, 2, "strides") != LUA_TNIL) {
    size_t n;
    info.strides = exprs_field(&s, "strides", &n);
    if (n != info.rank) return luaL_error(L, "strides: one for each size expected");
  }
  lua_getfield(L, 2, "offset");
  info.offset = bind_optional(&s, lua_gettop(L));
  int number = loom_graph_buffer(g, &info);
  return bind_done(&s, number < 0 ? loom_error_status(s.ctx) : LOOM_OK);
}

/* g:op {name =, kind =, reduce =, call =, inputs =, pointwise =, reduction =, reads =, writes =,
** mutates =, after =, hint =} -> g.  [-0, +1|3, v] */
static int l_op(lua_State *L) {
  static const char *const names[] = {
      "name",      "kind",       "reduce",     "call",       "inputs", "pointwise",
      "reduction", "reads",      "writes",     "mutates",    "after",  "hint",
      "split",     "extensible", "keeps_zero", "keeps_type", NULL};
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 2);
  bind_check_options(L, 2, names);
  luaL_checkstack(L, 40, NULL);
  loom_op_info info = {.name = text_field(L, "name")};
  info.kind = (loom_op_kind)option_field(L, "kind", kinds);
  info.hint = (loom_reduction_hint)option_field(L, "hint", hints);
  info.split = bind_flag(L, 2, "split");
  info.extensible = bind_flag(L, 2, "extensible");
  info.keeps_zero = bind_flag(L, 2, "keeps_zero");
  info.keeps_type = bind_flag(L, 2, "keeps_type");
  lua_getfield(L, 2, "reduce");
  info.reduction = bind_optional_text(L, lua_gettop(L));
  lua_getfield(L, 2, "call");
  info.call = bind_optional_text(L, lua_gettop(L));
  info.inputs = bind_check_shapes(&s, push_field(L, "inputs"), &info.n_inputs);
  loops_fields(&s, &info);
  info.reads = uses_field(&s, g, "reads", &info.n_reads);
  info.writes = uses_field(&s, g, "writes", &info.n_writes);
  info.mutates = numbers_field(&s, g, "mutates", false, &info.n_mutates);
  info.after = numbers_field(&s, g, "after", true, &info.n_after);
  int number = loom_graph_op(g, &info);
  return bind_done(&s, number < 0 ? loom_error_status(s.ctx) : LOOM_OK);
}

/* g:remove(buffer[, removed]) -> g.  [-0, +1|3, v] */
static int l_remove(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  int buffer = check_number(&s, g, 2, false);
  bool removed = lua_isnoneornil(L, 3) || lua_toboolean(L, 3);
  return bind_done(&s, loom_graph_remove(g, buffer, removed));
}

/* ---- looking ------------------------------------------------------------------------------ */

static const char *buffer_name(const loom_graph *g, int buffer) {
  const loom_buffer *buffers;
  loom_graph_buffers(g, &buffers);
  return buffer < 0 ? NULL : buffers[buffer].name;
}

static const char *op_name(const loom_graph *g, int op) {
  const loom_op *ops;
  loom_graph_ops(g, &ops);
  return op < 0 ? NULL : ops[op].name;
}

static void set_list(bind_scope *s, const char *key, size_t n, const loom_expr *list) {
  bind_push_list(s, n, list);
  lua_setfield(s->L, -2, key);
}

static void set_loops(bind_scope *s, const char *key, size_t n, const loom_extent *loops) {
  lua_State *L = s->L;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    bind_push_list(s, 2, (loom_expr[]){loops[i].variable, loops[i].size});
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

static void set_buffers(lua_State *L, const loom_graph *g, const char *key, size_t n,
                        const int *list) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, buffer_name(g, list[i]));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

static void push_buffer(bind_scope *s, const loom_graph *g, size_t i) {
  lua_State *L = s->L;
  const loom_buffer *buffers;
  loom_graph_buffers(g, &buffers);
  const loom_buffer *b = &buffers[i];
  lua_createtable(L, 0, 14);
  bind_set_string(L, "name", b->name);
  set_list(s, "sizes", b->rank, b->sizes);
  set_list(s, "strides", b->rank, b->strides);
  bind_set_expr(s, "offset", b->offset);
  bind_set_string(L, "dtype", loom_dtype_name(b->dtype));
  bind_set_integer(L, "itemsize", loom_dtype_bytes(b->dtype));
  bind_set_boolean(L, "output", b->output);
  bind_set_boolean(L, "removed", b->removed);
  bind_set_expr(s, "elements", b->elements);
  bind_set_expr(s, "storage", b->storage);
  bind_set_string(L, "writer", op_name(g, b->writer));
  bind_set_string(L, "updates", buffer_name(g, b->updates));
  bind_set_string(L, "updated_by", buffer_name(g, b->updated_by));
  lua_createtable(L, (int)b->n_users, 0);
  for (size_t k = 0; k < b->n_users; k++) {
    lua_createtable(L, 0, 2);
    bind_set_string(L, "op", op_name(g, b->users[k].op));
    bind_set_boolean(L, "order", b->users[k].order);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
  lua_setfield(L, -2, "users");
}

/* g:buffers() -> list of what is known of each.  [-0, +1, v] */
static int l_buffers(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  size_t n = loom_graph_buffers(g, NULL);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_buffer(&s, g, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static void set_uses(bind_scope *s, const loom_graph *g, const char *key, size_t n,
                     const loom_use *uses) {
  lua_State *L = s->L;
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 4);
    bind_set_string(L, "buffer", buffer_name(g, uses[i].buffer));
    bind_set_string(L, "mode", modes[uses[i].mode]);
    bind_set_expr(s, "index", uses[i].index);
    bind_set_boolean(L, "accumulates", uses[i].accumulates);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, key);
}

static void push_dep(bind_scope *s, const loom_graph *g, const loom_dep *dep) {
  lua_State *L = s->L;
  lua_createtable(L, 0, 12);
  bind_set_integer(L, "id", dep->id);
  bind_set_string(L, "buffer", buffer_name(g, dep->buffer));
  bind_set_string(L, "mode", modes[dep->mode]);
  bind_set_expr(s, "elements", dep->elements);
  if (dep->moved != LOOM_NONE) bind_set_expr(s, "moved", dep->moved);
  bind_set_integer(L, "bytes", dep->bytes);
  if (dep->mode != LOOM_USE_INDEXED) return;
  bind_set_expr(s, "index", dep->index);
  set_loops(s, "loops", dep->n, dep->loops);
  bind_set_boolean(L, "accumulates", dep->accumulates);
  bind_set_boolean(L, "indirect", dep->indirect);
  bind_set_boolean(L, "contiguous", dep->contiguous);
  bind_set_boolean(L, "stride1_last", dep->stride1_last);
}

static void set_deps(bind_scope *s, const loom_graph *g, const char *key, size_t n,
                     const loom_dep *const *deps) {
  lua_createtable(s->L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_dep(s, g, deps[i]);
    lua_rawseti(s->L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(s->L, -2, key);
}

static void push_op(bind_scope *s, const loom_graph *g, int i) {
  lua_State *L = s->L;
  const loom_op *ops;
  loom_graph_ops(g, &ops);
  const loom_op *op = &ops[i];
  lua_createtable(L, 0, 15);
  bind_set_string(L, "name", op->name);
  bind_set_string(L, "kind", loom_op_kind_name(op->kind));
  bind_set_string(L, "reduce", op->reduction);
  bind_set_string(L, "call", op->call);
  bind_set_expr(s, "flops", op->flops);
  set_loops(s, "pointwise", op->n_pointwise, op->loops);
  set_loops(s, "reduction", op->n_reduction, op->loops + op->n_pointwise);
  set_uses(s, g, "reads", op->n_reads, op->reads);
  set_uses(s, g, "writes", op->n_writes, op->writes);
  set_buffers(L, g, "outputs", op->n_outputs, op->outputs);
  set_buffers(L, g, "mutates", op->n_mutates, op->mutates);
  bind_set_string(L, "hint", loom_reduction_hint_name(op->hint));
  if (op->split) bind_set_boolean(L, "split", true);
  if (op->extensible) bind_set_boolean(L, "extensible", true);
  if (op->keeps_zero) bind_set_boolean(L, "keeps_zero", true);
  if (op->keeps_type) bind_set_boolean(L, "keeps_type", true);
  bind_set_expr(s, "extent", op->extent);
  bind_set_expr(s, "reduction_extent", op->reduction_extent);
  bind_push_schedule(L, g, op->n_needs, op->needs);
  lua_setfield(L, -2, "needs");
  set_deps(s, g, "dep_reads", op->n_dep_reads, op->dep_reads);
  set_deps(s, g, "dep_writes", op->n_dep_writes, op->dep_writes);
}

/* g:ops() -> list of what is known of each.  [-0, +1, v] */
static int l_ops(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  size_t n = loom_graph_ops(g, NULL);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_op(&s, g, (int)i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* g:depends(op, on) -> boolean.  [-0, +1, v] */
static int l_depends(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  int op = check_number(&s, g, 2, true);
  lua_pushboolean(L, loom_graph_depends(g, op, check_number(&s, g, 3, true)));
  return 1;
}

/* g:ancestors(op) -> names of the operations that must run before it, in order.  [-0, +1, v] */
static int l_ancestors(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  int op = check_number(&s, g, 2, true);
  int *list = lua_newuserdatauv(L, (size_t)op * sizeof *list, 0);
  size_t n = loom_graph_ancestors(g, op, list);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, op_name(g, list[i]));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* g:list {op, ...} -> number from 1 of the list that they are.  [-0, +1|3, v] */
static int l_list(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  size_t n;
  const int *ops = bind_check_ops(&s, g, 2, &n);
  int number = loom_graph_list(g, n, ops);
  return bind_number(&s, number < 0 ? number : number + 1);
}

/* g:lists() -> lists of names of operations.  [-0, +1, v] */
static int l_lists(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  const loom_list *lists;
  size_t n = loom_graph_lists(g, &lists);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    bind_push_schedule(L, g, lists[i].n, lists[i].ops);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void bind_open_graph(lua_State *L) {
  static const luaL_Reg makers[] = {{"graph", l_graph}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"buffer", l_buffer},
                                     {"op", l_op},
                                     {"remove", l_remove},
                                     {"buffers", l_buffers},
                                     {"ops", l_ops},
                                     {"depends", l_depends},
                                     {"list", l_list},
                                     {"lists", l_lists},
                                     {"ancestors", l_ancestors},
                                     {"plan", bind_graph_plan},
                                     {"fusion", bind_graph_fusion},
                                     {"schedule", bind_graph_schedule},
                                     {"candidates", bind_graph_candidates},
                                     {"block_tilings", bind_graph_blocks},
                                     {"fits", bind_graph_fits},
                                     {"tiling", bind_graph_tiling},
                                     {"coalesce", bind_graph_coalesce},
                                     {"coalesced_tilings", bind_graph_coalesced_tilings},
                                     {"coalesced_tiling", bind_graph_coalesced_tiling},
                                     {"best_tiling", bind_graph_best_tiling},
                                     {"sectors", bind_graph_sectors},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_GRAPH, methods);
  bind_set_makers(L, makers);
}
