/* SPDX-License-Identifier: MIT */
/* Costs of a mapping in Lua, with latency formulas written in Lua.
**
** Invariant: formulas run as callback.c says; tables made here are copies. */
#include <string.h>

#include "bind.h"

static void release(void *handle) {
  loom_costs_free(handle);
}

/* ---- tables ------------------------------------------------------------------------------- */

/* Field `key` of the table at the top becomes a list; each record is filled with `row` at hand.
** [-0, +0, m] */
#define SET_LIST(s, key, n, rows, type, ...)    \
  do {                                          \
    lua_State *L_ = (s)->L;                     \
    lua_createtable(L_, (int)(n), 0);           \
    for (size_t i_ = 0; i_ < (n); i_++) {       \
      const type *row = &(rows)[i_];            \
      lua_createtable(L_, 0, 8);                \
      __VA_ARGS__                               \
      lua_rawseti(L_, -2, (lua_Integer)i_ + 1); \
    }                                           \
    lua_setfield(L_, -2, key);                  \
  } while (0)

static void set_actions(bind_scope *s, const loom_einsum_costs *e) {
  SET_LIST(s, "actions", e->n_actions, e->actions, loom_action_cost, {
    bind_set_string(s->L, "component", row->component);
    bind_set_string(s->L, "tensor", row->tensor);
    bind_set_string(s->L, "action", row->action);
    bind_set_expr(s, "total", row->total);
    bind_set_expr(s, "max_per_unit", row->max_per_unit);
    bind_set_expr(s, "energy", row->energy);
  });
}

static void set_components(bind_scope *s, const loom_einsum_costs *e) {
  SET_LIST(s, "components", e->n_components, e->components, loom_component_cost, {
    bind_set_string(s->L, "component", row->component);
    bind_set_boolean(s->L, "mapped", row->mapped);
    bind_set_expr(s, "latency", row->latency);
    bind_set_expr(s, "leak_energy", row->leak_energy);
    bind_set_expr(s, "bits", row->bits);
    bind_set_expr(s, "usage", row->usage);
  });
}

static void set_memory(bind_scope *s, const loom_einsum_costs *e) {
  SET_LIST(s, "memory", e->n_memory, e->memory, loom_memory_usage, {
    bind_set_string(s->L, "component", row->component);
    bind_set_string(s->L, "tensor", row->tensor);
    bind_set_integer(s->L, "n_loops_above", row->n_loops_above);
    bind_set_expr(s, "bits", row->bits);
    bind_set_expr(s, "fraction", row->fraction);
  });
  SET_LIST(s, "reserved", e->n_reserved, e->reserved, loom_reserved, {
    bind_set_string(s->L, "component", row->component);
    bind_set_integer(s->L, "n_loops_above", row->n_loops_above);
    bind_set_expr(s, "bits", row->bits);
    bind_set_expr(s, "fraction", row->fraction);
  });
}

static void set_spatial(bind_scope *s, const loom_einsum_costs *e) {
  SET_LIST(s, "spatial", e->n_spatial, e->spatial, loom_spatial_usage, {
    bind_set_string(s->L, "component", row->component);
    bind_set_string(s->L, "dim", row->dim);
    bind_set_expr(s, "used", row->used);
    bind_set_expr(s, "fanout", row->fanout);
    bind_set_expr(s, "fraction", row->fraction);
  });
}

static void set_component_totals(bind_scope *s, const loom_total_costs *t) {
  SET_LIST(s, "components", t->n_components, t->components, loom_component_total, {
    bind_set_string(s->L, "component", row->component);
    bind_set_expr(s, "energy", row->energy);
    bind_set_expr(s, "dynamic_energy", row->dynamic_energy);
    bind_set_expr(s, "leak_energy", row->leak_energy);
    bind_set_expr(s, "area", row->area);
  });
}

/* Steps count from 1, as einsums do. */
static void set_lifetimes(bind_scope *s, const loom_total_costs *t) {
  SET_LIST(s, "peaks", t->n_peaks, t->peaks, loom_peak, {
    bind_set_string(s->L, "component", row->component);
    if (row->step >= 0) bind_set_integer(s->L, "step", row->step + 1);
    bind_set_expr(s, "bits", row->bits);
    bind_set_expr(s, "fraction", row->fraction);
  });
  SET_LIST(s, "steps", t->n_steps, t->steps, loom_step_usage, {
    bind_set_integer(s->L, "step", (lua_Integer)row->step + 1);
    bind_set_string(s->L, "component", row->component);
    bind_set_expr(s, "bits", row->bits);
    bind_set_expr(s, "fraction", row->fraction);
  });
  SET_LIST(s, "residents", t->n_residents, t->residents, loom_resident, {
    bind_set_integer(s->L, "step", (lua_Integer)row->step + 1);
    bind_set_string(s->L, "component", row->component);
    bind_set_string(s->L, "tensor", row->tensor);
    bind_set_string(s->L, "einsum", row->einsum);
    bind_set_expr(s, "bits", row->bits);
    bind_set_expr(s, "fraction", row->fraction);
  });
}

static void set_constraints(bind_scope *s, const loom_total_costs *t) {
  SET_LIST(s, "constraints", t->n_constraints, t->constraints, loom_constraint, {
    bind_set_string(s->L, "kind", loom_status_kind(row->kind));
    bind_set_string(s->L, "einsum", row->einsum);
    bind_set_string(s->L, "component", row->component);
    bind_set_string(s->L, "dim", row->dim);
    bind_set_expr(s, "needed", row->needed);
    bind_set_expr(s, "available", row->available);
    bind_set_expr(s, "condition", row->condition);
  });
}

/* ---- methods ------------------------------------------------------------------------------ */

static const loom_costs *check_costs(bind_scope *s, lua_State *L) {
  luaL_checkstack(L, 12, NULL);
  return bind_check_object(s, L, 1, BIND_COSTS)->handle;
}

/* c:einsums() -> list of names.  [-0, +1, v] */
static int l_einsums(lua_State *L) {
  bind_scope s;
  const loom_costs *costs = check_costs(&s, L);
  size_t n = loom_costs_einsums(costs);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, loom_costs_einsum(costs, i)->einsum);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* c:einsum(name) -> record.  [-0, +1, v] */
static int l_einsum(lua_State *L) {
  bind_scope s;
  const loom_costs *costs = check_costs(&s, L);
  const char *name = bind_check_text(L, 2);
  const loom_einsum_costs *e = NULL;
  for (size_t i = 0; i < loom_costs_einsums(costs) && !e; i++) {
    e = loom_costs_einsum(costs, i);
    if (strcmp(e->einsum, name) != 0) e = NULL;
  }
  if (!e) return luaL_argerror(L, 2, lua_pushfstring(L, "no einsum '%s' in the costs", name));
  lua_createtable(L, 0, 12);
  bind_set_string(L, "einsum", e->einsum);
  bind_set_expr(&s, "n_instances", e->n_instances);
  bind_set_expr(&s, "latency", e->latency);
  bind_set_expr(&s, "dynamic_energy", e->dynamic_energy);
  bind_set_expr(&s, "leak_energy", e->leak_energy);
  bind_set_string(L, "bound_by", e->bound_by);
  bind_set_boolean(L, "compute_bound", e->compute_bound);
  set_actions(&s, e);
  set_components(&s, e);
  set_memory(&s, e);
  set_spatial(&s, e);
  return 1;
}

/* c:total() -> record.  [-0, +1, v] */
static int l_total(lua_State *L) {
  bind_scope s;
  const loom_total_costs *t = loom_costs_total(check_costs(&s, L));
  lua_createtable(L, 0, 12);
  bind_set_expr(&s, "latency", t->latency);
  bind_set_expr(&s, "energy", t->energy);
  bind_set_expr(&s, "dynamic_energy", t->dynamic_energy);
  bind_set_expr(&s, "leak_energy", t->leak_energy);
  bind_set_expr(&s, "energy_delay_product", t->energy_delay_product);
  bind_set_expr(&s, "area", t->area);
  set_component_totals(&s, t);
  set_lifetimes(&s, t);
  set_constraints(&s, t);
  return 1;
}

/* c:energy(by, ...) -> list of records with the names asked for: einsum, component, tensor, action.
** [-0, +1, v] */
static int l_energy(lua_State *L) {
  static const char *const names[] = {"einsum", "component", "tensor", "action", NULL};
  bind_scope s;
  const loom_costs *costs = check_costs(&s, L);
  unsigned by = 0;
  for (int i = 2; i <= lua_gettop(L); i++) by |= 1u << bind_check_name(L, i, names);
  size_t n = loom_costs_energy(costs, by, NULL, 0);
  loom_energy *rows = lua_newuserdatauv(L, (n + 1) * sizeof *rows, 0);
  if (loom_costs_energy(costs, by, rows, n) != n || loom_error_status(s.ctx) != LOOM_OK) {
    return bind_raise(&s);
  }
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 5);
    bind_set_string(L, "einsum", rows[i].einsum);
    bind_set_string(L, "component", rows[i].component);
    bind_set_string(L, "tensor", rows[i].tensor);
    bind_set_string(L, "action", rows[i].action);
    bind_set_expr(&s, "energy", rows[i].energy);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- latency formulas --------------------------------------------------------------------- */

/* One run of one formula, on its way into protected Lua code. */
typedef struct run {
  bind_scope *scope;
  const loom_latency_query *query;
  loom_expr latency;
} run;

/* [run, function, holder of the context's cache] calls the function with the counts by action and a
** table of component, einsum and throughput by action, and reads what it returns.  [-0, +0, e] */
static int call_formula(lua_State *L) {
  run *r = lua_touserdata(L, 1);
  bind_scope s = *r->scope;
  s.L = L;
  s.holder = 3;
  lua_pushvalue(L, 2);
  lua_createtable(L, 0, 2);
  for (size_t i = 0; i < r->query->n_actions; i++)
    bind_set_expr(&s, r->query->actions[i].action, r->query->actions[i].count);
  lua_createtable(L, 0, 3);
  bind_set_string(L, "component", r->query->component);
  bind_set_string(L, "einsum", r->query->einsum);
  lua_createtable(L, 0, 2);
  for (size_t i = 0; i < r->query->n_actions; i++)
    bind_set_expr(&s, r->query->actions[i].action, r->query->actions[i].throughput);
  lua_setfield(L, -2, "throughput");
  lua_call(L, 2, 1);
  r->latency = bind_take(&s, "latency");
  return 0;
}

/* The formula given to the core. */
static loom_expr run_formula(void *data, loom_ctx *ctx, const loom_latency_query *query) {
  bind_callbacks *callbacks = data;
  run r = {callbacks->scope, query, LOOM_NONE};
  (void)ctx;
  bind_run_callback(callbacks, query->component, call_formula, &r);
  return r.latency;
}

/* The options at index 5; unknown ones are refused.  [-0, +2, v] */
static void read_options(bind_callbacks *callbacks, loom_cost_options *options) {
  static const char *const names[] = {"allow_exceeded_limits", "latencies", "leave_undecided",
                                      NULL};
  lua_State *L = callbacks->scope->L;
  bind_check_options(L, 5, names);
  lua_getfield(L, 5, names[0]);
  options->allow_exceeded_limits = lua_toboolean(L, -1);
  lua_getfield(L, 5, names[2]);
  options->leave_undecided = lua_toboolean(L, -1);
  lua_pop(L, 2);
  size_t n = bind_check_callbacks(callbacks, 5, names[1]), i = 0;
  loom_component_latency *list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
  if (n > 0) {
    for (lua_pushnil(L); lua_next(L, callbacks->functions); lua_pop(L, 1)) {
      list[i++] = (loom_component_latency){lua_tostring(L, -2), run_formula, callbacks};
    }
  }
  options->latencies = list;
  options->n_latencies = n;
}

/* core.cost(result, workload, arch, mapping[, options]) -> costs, or nil, message, kind; an error
** of a formula is raised as it was.  [-0, +1|3, v] */
static int l_cost(lua_State *L) {
  static const char *const types[] = {BIND_RESULT, BIND_WORKLOAD, BIND_ARCH, BIND_MAPPING};
  bind_scope s;
  bind_object *objects[4];
  lua_settop(L, 5);
  for (int i = 0; i < 4; i++) {
    objects[i] = bind_check_object(&s, L, i + 1, types[i]);
    luaL_argcheck(L, objects[i]->owner == objects[0]->owner, i + 1, "object of another context");
  }
  bind_callbacks callbacks = {.scope = &s};
  loom_cost_options options = {0};
  read_options(&callbacks, &options);
  bind_object *object = bind_new_object(&s, BIND_COSTS, release);
  bind_hold(&s, 4, objects, 1);
  loom_costs *costs = loom_cost(objects[0]->handle, objects[1]->handle, objects[2]->handle,
                                objects[3]->handle, &options);
  bind_hold(&s, 4, objects, -1);
  return bind_finish(&callbacks, object, costs);
}

void bind_open_costs(lua_State *L) {
  static const luaL_Reg functions[] = {{"cost", l_cost}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"einsums", l_einsums},
                                     {"einsum", l_einsum},
                                     {"total", l_total},
                                     {"energy", l_energy},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_COSTS, methods);
  bind_set_functions(L, functions, false);
}
