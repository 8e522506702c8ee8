/* SPDX-License-Identifier: MIT */
/* Architectures in Lua: the builder calls of einloom.h as methods.
**
** Invariant: no logic; indices are those of the core, from 0. */
#include "bind.h"

static void release(void *handle) {
  loom_arch_free(handle);
}

static loom_arch *check_arch(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_ARCH)->handle;
}

/* core.arch() [-0, +1, v] */
static int l_arch(lua_State *L) {
  bind_scope s;
  bind_enter_maker(&s, L);
  bind_object *object = bind_new_object(&s, BIND_ARCH, release);
  return bind_adopt(&s, object, loom_arch_new(s.ctx));
}

/* a:component(class, name[, list]) -> component.  [-0, +1|3, v] */
static int l_component(lua_State *L) {
  static const char *const classes[] = {"memory", "toll", "compute", "container", NULL};
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int class_ = bind_check_name(L, 2, classes);
  const char *name = bind_check_text(L, 3);
  int list = lua_isnoneornil(L, 4) ? 0 : bind_check_index(L, 4);
  return bind_number(&s, loom_arch_component_in(a, list, (loom_class)class_, name));
}

/* a:fork(list) -> fork.  [-0, +1|3, v] */
static int l_fork(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  return bind_number(&s, loom_arch_fork(a, bind_check_index(L, 2)));
}

/* a:branch(fork) -> list.  [-0, +1|3, v] */
static int l_branch(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  return bind_number(&s, loom_arch_branch(a, bind_check_index(L, 2)));
}

/* a:number(component, which, value or nil or infinity) [-0, +1|3, v] */
static int l_number(lua_State *L) {
#define NAME(enumerator, name) name,
  static const char *const names[] = {LOOM_COMPONENT_NUMBER_LIST(NAME) NULL};
#undef NAME
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2), which = bind_check_name(L, 3, names);
  return bind_done(
      &s, loom_arch_number(a, component, (loom_component_number)which, bind_optional(&s, 4)));
}

/* a:skip_initial_output_write(component, boolean) [-0, +1|3, v] */
static int l_skip_initial_output_write(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  luaL_checktype(L, 3, LUA_TBOOLEAN);
  return bind_done(
      &s, loom_arch_skip_initial_output_write(a, bind_check_index(L, 2), lua_toboolean(L, 3)));
}

/* a:latency_rule(component, rule[, value]) [-0, +1|3, v] */
static int l_latency_rule(lua_State *L) {
  static const char *const rules[] = {"sum_count_over_throughput", "max_count_over_throughput",
                                      "sum_count_over", "constant", NULL};
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2), rule = bind_check_name(L, 3, rules);
  return bind_done(
      &s, loom_arch_latency_rule(a, component, (loom_latency_rule)rule, bind_optional(&s, 4)));
}

/* a:action(component, name, energy, throughput, bits_per_action) [-0, +1|3, v] */
static int l_action(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2);
  const char *name = bind_check_text(L, 3);
  loom_expr energy = bind_optional(&s, 4), throughput = bind_optional(&s, 5);
  return bind_done(&s,
                   loom_arch_action(a, component, name, energy, throughput, bind_optional(&s, 6)));
}

/* a:dimension(component, name, fanout[, usage_scale[, gateable]]) -> dimension.  [-0, +1|3, v] */
static int l_dimension(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2);
  const char *name = bind_check_text(L, 3);
  loom_expr fanout = bind_arg(&s, 4);
  loom_expr scale = lua_isnoneornil(L, 5) ? loom_int(s.ctx, 1) : bind_arg(&s, 5);
  return bind_number(&s,
                     loom_arch_dimension(a, component, name, fanout, scale, lua_toboolean(L, 6)));
}

/* a:may_reuse(component, dimension, einsum or nil, tensor or nil) [-0, +1|3, v] */
static int l_may_reuse(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  return bind_done(&s, loom_arch_may_reuse(a, bind_check_index(L, 2), bind_check_index(L, 3),
                                           bind_optional_text(L, 4), bind_optional_text(L, 5)));
}

/* a:bits_per_value(component, einsum or nil, tensor, bits) [-0, +1|3, v] */
static int l_bits_per_value(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2);
  const char *einsum = bind_optional_text(L, 3), *tensor = bind_check_text(L, 4);
  return bind_done(&s, loom_arch_bits_per_value(a, component, einsum, tensor, bind_arg(&s, 5)));
}

/* a:values_per_action(component, action or nil, einsum or nil, tensor, values) [-0, +1|3, v] */
static int l_values_per_action(lua_State *L) {
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2);
  const char *action = bind_optional_text(L, 3), *einsum = bind_optional_text(L, 4);
  const char *tensor = bind_check_text(L, 5);
  return bind_done(
      &s, loom_arch_values_per_action(a, component, action, einsum, tensor, bind_arg(&s, 6)));
}

/* a:direction(component, einsum or nil, tensor or nil, direction) [-0, +1|3, v] */
static int l_direction(lua_State *L) {
  static const char *const names[] = {"up", "down", "up_and_down", NULL};
  bind_scope s;
  loom_arch *a = check_arch(&s, L);
  int component = bind_check_index(L, 2);
  const char *einsum = bind_optional_text(L, 3), *tensor = bind_optional_text(L, 4);
  int direction = bind_check_name(L, 5, names) + LOOM_UP;
  return bind_done(&s,
                   loom_arch_direction(a, component, einsum, tensor, (loom_direction)direction));
}

void bind_open_arch(lua_State *L) {
  static const luaL_Reg makers[] = {{"arch", l_arch}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"component", l_component},
                                     {"fork", l_fork},
                                     {"branch", l_branch},
                                     {"number", l_number},
                                     {"skip_initial_output_write", l_skip_initial_output_write},
                                     {"latency_rule", l_latency_rule},
                                     {"action", l_action},
                                     {"dimension", l_dimension},
                                     {"may_reuse", l_may_reuse},
                                     {"bits_per_value", l_bits_per_value},
                                     {"values_per_action", l_values_per_action},
                                     {"direction", l_direction},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_ARCH, methods);
  bind_set_makers(L, makers);
}
