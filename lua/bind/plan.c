/* SPDX-License-Identifier: MIT */
/* Plans of kernels in Lua: kernels are added with their schedule and tiling, and read as tables.
**
** Invariant: no logic. */
#include <limits.h>
#include <string.h>

#include "bind.h"

static void release(void *handle) {
  loom_plan_free(handle);
}

static loom_plan *check_plan(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_PLAN)->handle;
}

/* g:plan() [-0, +1|3, v] */
int bind_graph_plan(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  bind_object *object = bind_new_object(&s, BIND_PLAN, release);
  return bind_adopt(&s, object, loom_plan_new(g));
}

/* ---- tilings ------------------------------------------------------------------------------ */

static const char *const prefixes[] = {
#define NAME(enumerator, name) name,
    LOOM_PREFIX_LIST(NAME)
#undef NAME
        NULL};

loom_tiling bind_check_tiling(bind_scope *s, int i) {
  lua_State *L = s->L;
  loom_tiling tiling = {0};
  luaL_checktype(L, i, LUA_TTABLE);
  size_t n = lua_rawlen(L, i);
  if (n > LOOM_N_PREFIXES) luaL_error(L, "a tiling has at most %d ranges", LOOM_N_PREFIXES);
  for (size_t k = 0; k < n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    if (!lua_istable(L, -1)) luaL_error(L, "tiling: {prefix, extent} expected");
    lua_rawgeti(L, -1, 1);
    tiling.prefix[k] = (loom_prefix)bind_check_name(L, lua_gettop(L), prefixes);
    lua_rawgeti(L, -2, 2);
    tiling.extent[k] = bind_take(s, prefixes[tiling.prefix[k]]);
    lua_pop(L, 2);
  }
  tiling.n = n;
  return tiling;
}

void bind_push_tiling(bind_scope *s, const loom_tiling *tiling) {
  lua_State *L = s->L;
  lua_createtable(L, (int)tiling->n, 0);
  for (size_t i = 0; i < tiling->n; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, prefixes[tiling->prefix[i]]);
    lua_rawseti(L, -2, 1);
    bind_push(s, tiling->extent[i]);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* ---- schedules ---------------------------------------------------------------------------- */

int *bind_check_schedule(bind_scope *s, const loom_graph *g, int i, size_t *n) {
  lua_State *L = s->L;
  luaL_checktype(L, i, LUA_TTABLE);
  *n = lua_rawlen(L, i);
  int *steps = lua_newuserdatauv(L, (*n + 1) * sizeof *steps, 0);
  for (size_t k = 0; k < *n; k++) {
    lua_rawgeti(L, i, (lua_Integer)k + 1);
    const char *name = bind_text(L, -1);
    if (name && strcmp(name, "reduction_off") == 0)
      steps[k] = LOOM_REDUCTION_OFF;
    else if (name && strcmp(name, "reduction_on") == 0)
      steps[k] = LOOM_REDUCTION_ON;
    else
      steps[k] = bind_check_op(s, g, lua_gettop(L));
    lua_pop(L, 1);
  }
  return steps;
}

void bind_push_schedule(lua_State *L, const loom_graph *g, size_t n, const int *steps) {
  const loom_op *ops;
  loom_graph_ops(g, &ops);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    const char *name = steps[i] == LOOM_REDUCTION_OFF  ? "reduction_off"
                       : steps[i] == LOOM_REDUCTION_ON ? "reduction_on"
                                                       : ops[steps[i]].name;
    lua_pushstring(L, name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* g:schedule(operations, {N, R}) -> schedule, nil if an operation does not fit.  [-0, +1|3, v] */
int bind_graph_schedule(lua_State *L) {
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  size_t n, n_extents;
  const int *ops = bind_check_ops(&s, g, 2, &n);
  const loom_expr *extents = bind_check_list(&s, 3, &n_extents);
  luaL_argcheck(L, n > 0, 2, "an operation expected");
  luaL_argcheck(L, n_extents == 2, 3, "two extents expected");
  int *steps = lua_newuserdatauv(L, 5 * n * sizeof *steps, 0);
  ptrdiff_t length = loom_schedule(g, n, ops, extents[0], extents[1], steps);
  if (length < 0) return bind_fail(&s);
  if (length == 0)
    lua_pushnil(L);
  else
    bind_push_schedule(L, g, (size_t)length, steps);
  return 1;
}

/* ---- adding ------------------------------------------------------------------------------- */

/* plan:kernel {schedule =, extents = {N, R}, tiling =, one_pass =, no_x =, launch =} -> number from 1.
** [-0, +1|3, v] */
static int l_kernel(lua_State *L) {
  static const char *const names[] = {"schedule", "extents", "tiling", "one_pass",
                                      "no_x",     "launch",  NULL};
  bind_scope s;
  loom_plan *plan = check_plan(&s, L);
  lua_settop(L, 2);
  bind_check_options(L, 2, names);
  loom_kernel_info info = {.one_pass = bind_flag(L, 2, "one_pass"),
                           .no_x = bind_flag(L, 2, "no_x")};
  lua_getfield(L, 2, "schedule");
  info.schedule = bind_check_schedule(&s, loom_plan_graph(plan), 3, &info.n);
  info.extent = info.reduction_extent = loom_int(s.ctx, 1);
  if (lua_getfield(L, 2, "extents") != LUA_TNIL) {
    size_t n;
    const loom_expr *extents = bind_check_list(&s, 5, &n);
    if (n != 2) return luaL_error(L, "extents: the extent and the reduction extent expected");
    info.extent = extents[0];
    info.reduction_extent = extents[1];
  }
  lua_settop(L, 5);
  lua_Integer launch = lua_getfield(L, 2, "launch") == LUA_TNIL ? 0 : luaL_checkinteger(L, 6);
  luaL_argcheck(L, launch >= 0 && launch <= INT_MAX, 2, "launch: a number from 1 on expected");
  info.launch = (int)launch;
  if (lua_getfield(L, 2, "tiling") != LUA_TNIL) info.tiling = bind_check_tiling(&s, 7);
  int number = loom_plan_kernel(plan, &info);
  return bind_number(&s, number < 0 ? number : number + 1);
}

/* ---- looking ------------------------------------------------------------------------------ */

static const char *buffer_name(const loom_graph *g, int buffer) {
  const loom_buffer *buffers;
  loom_graph_buffers(g, &buffers);
  return buffers[buffer].name;
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

static void set_strides(bind_scope *s, const loom_tiling *tiling, const loom_kernel_access *a) {
  if (a->indirect) return;
  lua_createtable(s->L, 0, (int)tiling->n);
  for (size_t i = 0; i < tiling->n; i++)
    bind_set_expr(s, prefixes[tiling->prefix[i]], a->strides[i]);
  lua_setfield(s->L, -2, "strides");
}

static void push_access(bind_scope *s, const loom_graph *g, const loom_tiling *tiling,
                        const loom_kernel_access *a) {
  lua_State *L = s->L;
  lua_createtable(L, 0, 8);
  bind_set_string(L, "kind", !a->store ? "load" : a->reduced ? "store_reduced" : "store");
  bind_set_string(L, "buffer", buffer_name(g, a->buffer));
  if (a->index == LOOM_NONE) return;
  bind_set_expr(s, "index", a->index);
  bind_set_expr(s, "simplified", a->simplified);
  bind_set_boolean(L, "indirect", a->indirect);
  bind_set_boolean(L, "broadcasted", a->broadcasted);
  bind_set_boolean(L, "narrow", a->narrow);
  set_strides(s, tiling, a);
}

/* The tiling of the part of the kernel that the operation is in. */
static const loom_tiling *tiling_of(const loom_kernel *k, const loom_kernel_op *op) {
  for (size_t i = 0; i < k->n_parts; i++)
    if (op >= k->parts[i].ops && op < k->parts[i].ops + k->parts[i].n_ops)
      return &k->parts[i].tiling;
  return &k->info.tiling;
}

static void push_kernel_op(bind_scope *s, const loom_graph *g, const loom_kernel *k,
                           const loom_kernel_op *op) {
  lua_State *L = s->L;
  const loom_op *ops;
  loom_graph_ops(g, &ops);
  lua_createtable(L, 0, 5);
  bind_set_string(L, "op", ops[op->op].name);
  bind_set_boolean(L, "reduction_on", op->reduction_on);
  bind_push_list(s, op->n_pointwise, op->values);
  lua_setfield(L, -2, "pointwise");
  bind_push_list(s, op->n_reduction, op->values + op->n_pointwise);
  lua_setfield(L, -2, "reduction");
  lua_createtable(L, (int)op->n_accesses, 0);
  for (size_t i = 0; i < op->n_accesses; i++) {
    push_access(s, g, tiling_of(k, op), &op->accesses[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "accesses");
}

static void set_ops(bind_scope *s, const loom_graph *g, const loom_kernel *k) {
  lua_createtable(s->L, (int)k->n_ops, 0);
  for (size_t i = 0; i < k->n_ops; i++) {
    push_kernel_op(s, g, k, &k->ops[i]);
    lua_rawseti(s->L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(s->L, -2, "ops");
}

static void set_side(bind_scope *s, const char *key, const loom_traffic *t) {
  lua_State *L = s->L;
  lua_createtable(L, 0, 7);
  bind_set_integer(L, "accesses", t->accesses);
  bind_set_integer(L, "bytes_per_element", t->bytes_per_element);
  bind_set_expr(s, "bytes", t->bytes);
  bind_set_expr(s, "bytes_contiguous_or_broadcast", t->bytes_contiguous_or_broadcast);
  bind_set_expr(s, "bytes_other", t->bytes_other);
  lua_createtable(L, 2, 0);
  for (int d = 0; d < 2; d++) {
    lua_createtable(L, 0, 5);
    bind_set_integer(L, "contiguous", t->dims[d].contiguous);
    bind_set_integer(L, "broadcast", t->dims[d].broadcast);
    bind_set_integer(L, "other", t->dims[d].other);
    bind_set_expr(s, "bytes_contiguous_or_broadcast", t->dims[d].bytes_contiguous_or_broadcast);
    bind_set_expr(s, "bytes_other", t->dims[d].bytes_other);
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "dims");
  lua_createtable(L, (int)t->n_loops, 0);
  for (size_t i = 0; i < t->n_loops; i++) {
    lua_createtable(L, 0, 2);
    bind_set_integer(L, "accesses", t->loops[i].accesses);
    bind_set_integer(L, "bytes", t->loops[i].bytes);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "loops");
  lua_setfield(L, -2, key);
}

static void set_traffic(bind_scope *s, const char *key, const loom_traffic sides[2]) {
  lua_createtable(s->L, 0, 2);
  set_side(s, "reads", &sides[0]);
  set_side(s, "writes", &sides[1]);
  lua_setfield(s->L, -2, key);
}

static void set_arguments(bind_scope *s, const loom_graph *g, const loom_kernel *k) {
  static const char *const kinds[] = {"buffer", "in_place", "size"};
  lua_State *L = s->L;
  lua_createtable(L, (int)k->n_arguments, 0);
  for (size_t i = 0; i < k->n_arguments; i++) {
    const loom_argument *a = &k->arguments[i];
    lua_createtable(L, 0, 3);
    bind_set_string(L, "kind", kinds[a->kind]);
    if (a->kind == LOOM_ARGUMENT_SIZE)
      bind_set_expr(s, "symbol", a->symbol);
    else
      bind_set_string(L, "buffer", buffer_name(g, a->buffer));
    bind_set_boolean(L, "written", a->written);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "arguments");
}

static void set_groups(lua_State *L, const loom_graph *g, const loom_kernel *k) {
  lua_createtable(L, (int)k->n_groups, 0);
  for (size_t i = 0; i < k->n_groups; i++) {
    lua_createtable(L, (int)k->groups[i].n, 0);
    for (size_t j = 0; j < k->groups[i].n; j++) {
      lua_pushstring(L, buffer_name(g, k->groups[i].buffers[j]));
      lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "in_place");
}

static void set_mixed(lua_State *L, const loom_graph *g, const loom_kernel *k) {
  lua_createtable(L, (int)k->n_mixed, 0);
  for (size_t i = 0; i < k->n_mixed; i++) {
    lua_createtable(L, 2, 0);
    lua_pushstring(L, buffer_name(g, k->mixed[i].first));
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, buffer_name(g, k->mixed[i].second));
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "mixed_layouts");
}

static void push_part(bind_scope *s, const loom_graph *g, const loom_kernel *k,
                      const loom_template_part *part) {
  lua_State *L = s->L;
  size_t first = (size_t)(part->ops - k->ops);
  lua_createtable(L, 0, 8);
  bind_set_string(L, "role", part->ranges == k->ranges ? "output" : "input");
  bind_set_string(L, "buffer", buffer_name(g, part->buffer));
  bind_push_tiling(s, &part->tiling);
  lua_setfield(L, -2, "tiling");
  bind_push_entries(s, part->ranges, 0);
  lua_setfield(L, -2, "entries");
  bind_set_integer(L, "first", (lua_Integer)first + 1);
  bind_set_integer(L, "last", (lua_Integer)(first + part->n_ops));
  bind_set_boolean(L, "keeps_zero", part->keeps_zero);
  bind_set_boolean(L, "keeps_type", part->keeps_type);
}

static void set_template(bind_scope *s, const loom_graph *g, const loom_kernel *k) {
  lua_State *L = s->L;
  const loom_op *ops;
  loom_graph_ops(g, &ops);
  bind_set_string(L, "template", ops[k->template_op].name);
  lua_createtable(L, (int)k->n_parts, 0);
  for (size_t i = 0; i < k->n_parts; i++) {
    push_part(s, g, k, &k->parts[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "parts");
}

static void set_memory(bind_scope *s, const loom_kernel *k) {
  lua_createtable(s->L, 0, 2);
  set_traffic(s, "one_pass", k->one_pass);
  set_traffic(s, "looped", k->looped);
  lua_setfield(s->L, -2, "memory");
}

static void set_loops_facts(bind_scope *s, const loom_graph *g, const loom_kernel *k) {
  lua_State *L = s->L;
  bind_push_list(s, 2, (loom_expr[]){k->info.extent, k->info.reduction_extent});
  lua_setfield(L, -2, "extents");
  bind_push_tiling(s, &k->info.tiling);
  lua_setfield(L, -2, "tiling");
  bind_set_boolean(L, "one_pass", k->info.one_pass);
  bind_set_boolean(L, "no_x", k->info.no_x);
  bind_push_entries(s, k->ranges, 0);
  lua_setfield(L, -2, "entries");
  set_ops(s, g, k);
  bind_set_boolean(L, "narrow", k->narrow);
  bind_set_boolean(L, "narrow_proved", k->narrow_proved);
  if (k->kind == LOOM_OP_REDUCTION) bind_set_string(L, "hint", loom_reduction_hint_name(k->hint));
  if (k->template_op >= 0)
    set_template(s, g, k);
  else
    set_memory(s, k);
  set_groups(L, g, k);
  set_arguments(s, g, k);
  set_buffers(L, g, "never_stored", k->n_never_stored, k->never_stored);
  set_mixed(L, g, k);
  bind_set_expr(s, "bytes", k->bytes);
}

static void push_kernel(bind_scope *s, const loom_graph *g, const loom_kernel *k) {
  lua_State *L = s->L;
  luaL_checkstack(L, 20, NULL);
  lua_createtable(L, 0, 20);
  bind_set_string(L, "kind", loom_op_kind_name(k->kind));
  bind_push_schedule(L, g, k->info.n, k->info.schedule);
  lua_setfield(L, -2, "schedule");
  bind_set_expr(s, "flops", k->flops);
  if (k->info.launch > 0) bind_set_integer(L, "launch", k->info.launch);
  if (k->ranges) set_loops_facts(s, g, k);
}

/* plan:kernels([first]) -> list of what is known of each from that one on.  [-0, +1, v] */
static int l_kernels(lua_State *L) {
  bind_scope s;
  loom_plan *plan = check_plan(&s, L);
  lua_Integer first = luaL_optinteger(L, 2, 1);
  luaL_argcheck(L, first >= 1, 2, "kernels count from 1");
  const loom_kernel *const *kernels;
  size_t n = loom_plan_kernels(plan, &kernels);
  lua_newtable(L);
  lua_Integer place = 1;
  for (size_t i = (size_t)first - 1; i < n; i++) {
    push_kernel(&s, loom_plan_graph(plan), kernels[i]);
    lua_rawseti(L, -2, place++);
  }
  return 1;
}

void bind_open_plan(lua_State *L) {
  static const luaL_Reg methods[] = {{"kernel", l_kernel}, {"kernels", l_kernels}, {NULL, NULL}};
  bind_object_type(L, BIND_PLAN, methods);
}
