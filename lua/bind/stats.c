/* SPDX-License-Identifier: MIT */
/* Nodes, shapes and statistics of the core as Lua tables, and statistics back.
**
** Invariant: names of fields are those of einloom.h; an expression stays the same expression. */
#include <string.h>

#include "bind.h"

void bind_set_string(lua_State *L, const char *key, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

void bind_set_expr(bind_scope *s, const char *key, loom_expr e) {
  if (e == LOOM_NONE) return;
  bind_push(s, e);
  lua_setfield(s->L, -2, key);
}

void bind_set_boolean(lua_State *L, const char *key, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, key);
}

void bind_set_integer(lua_State *L, const char *key, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, key);
}

const char *const bind_lifetimes[] = {"scope", "retain", NULL};

void bind_push_node(bind_scope *s, const loom_node *node) {
#define NAME(enumerator, name) name,
  static const char *const kinds[] = {LOOM_NODE_LIST(NAME)};
#undef NAME
  lua_State *L = s->L;
  lua_createtable(L, 0, 12);
  bind_set_string(L, "kind", kinds[node->kind]);
  bind_set_string(L, "custom", node->custom);
  bind_set_string(L, "tensor", node->tensor);
  bind_set_string(L, "component", node->component);
  bind_set_string(L, "dim", node->dim);
  bind_set_string(L, "variable", node->variable);
  bind_set_string(L, "einsum", node->einsum);
  bind_set_expr(s, "tile", node->tile);
  bind_set_expr(s, "first", node->first);
  bind_set_expr(s, "step", node->step);
  bind_set_expr(s, "trips", node->trips);
  bind_set_boolean(L, "persistent", node->persistent);
  bind_set_boolean(L, "backing", node->backing);
  bind_set_boolean(L, "fused", node->fused);
  if (node->kind == LOOM_NODE_STORAGE)
    bind_set_string(L, "lifetime", bind_lifetimes[node->lifetime == LOOM_RETAIN]);
  if (node->loop >= 0) bind_set_integer(L, "loop", node->loop);
}

void bind_push_shape(bind_scope *s, const loom_shape *shape) {
  lua_createtable(s->L, 0, (int)shape->n);
  for (size_t i = 0; i < shape->n; i++) bind_set_expr(s, shape->variables[i], shape->extents[i]);
}

void bind_push_buffet(bind_scope *s, const loom_buffet *buffet) {
  lua_State *L = s->L;
  lua_createtable(L, 0, LOOM_N_BUFFET_FIELDS + 4);
  bind_set_string(L, "tensor", buffet->tensor);
  bind_set_string(L, "level", buffet->level);
  for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
    bind_set_expr(s, loom_buffet_field_name((loom_buffet_field)f), buffet->field[f]);
  }
  bind_set_integer(L, "n_loops_above", buffet->n_loops_above);
  bind_set_boolean(L, "persistent", buffet->persistent);
}

void bind_push_compute(bind_scope *s, const loom_compute_stats *compute) {
  lua_createtable(s->L, 0, 5);
  bind_set_string(s->L, "level", compute->level);
  bind_set_expr(s, "total_ops", compute->total_ops);
  bind_set_expr(s, "max_per_unit_ops", compute->max_per_unit_ops);
  bind_set_expr(s, "max_latency", compute->max_latency);
  bind_set_expr(s, "instances", compute->instances);
}

void bind_push_fanout(bind_scope *s, const loom_stats *stats) {
  lua_State *L = s->L;
  lua_createtable(L, (int)stats->n_fanout, 0);
  for (size_t i = 0; i < stats->n_fanout; i++) {
    lua_createtable(L, 0, 3);
    bind_set_string(L, "component", stats->fanout[i].component);
    bind_set_string(L, "dim", stats->fanout[i].dim);
    bind_set_expr(s, "used", stats->fanout[i].used);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

void bind_push_first_latency(bind_scope *s, const loom_stats *stats) {
  lua_State *L = s->L;
  lua_createtable(L, (int)stats->n_first_latency, 0);
  for (size_t i = 0; i < stats->n_first_latency; i++) {
    lua_createtable(L, 0, 2);
    bind_set_integer(L, "loop", stats->first_latency[i].loop);
    bind_set_expr(s, "steps", stats->first_latency[i].steps);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

void bind_push_stats(bind_scope *s, const loom_stats *stats) {
  lua_State *L = s->L;
  luaL_checkstack(L, 10, NULL);
  lua_createtable(L, 0, 5);
  lua_createtable(L, (int)stats->n_buffets, 0);
  for (size_t i = 0; i < stats->n_buffets; i++) {
    bind_push_buffet(s, &stats->buffets[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "buffets");
  bind_push_compute(s, &stats->compute);
  lua_setfield(L, -2, "compute");
  bind_push_fanout(s, stats);
  lua_setfield(L, -2, "fanout");
  bind_push_first_latency(s, stats);
  lua_setfield(L, -2, "first_latency");
  bind_set_expr(s, "temporal_steps", stats->temporal_steps);
}

/* ---- back --------------------------------------------------------------------------------- */

/* Pushes the list stats[name], which must have n records.  [-0, +1, e] */
static void push_records(lua_State *L, int i, const char *name, size_t n) {
  if (lua_getfield(L, i, name) != LUA_TTABLE) luaL_error(L, "stats.%s: list expected", name);
  if (lua_rawlen(L, -1) != n) {
    luaL_error(L, "stats.%s: %d records expected, got %d", name, (int)n, (int)lua_rawlen(L, -1));
  }
}

/* Pushes record i of the list at the top of the stack.  [-0, +1, e] */
static void push_record(lua_State *L, const char *name, size_t i) {
  if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TTABLE) {
    luaL_error(L, "stats.%s[%d]: table expected", name, (int)i + 1);
  }
}

/* Refuses a record at the top of the stack whose field is not the name it had.  [-0, +0, e] */
static void check_same(lua_State *L, const char *key, const char *value) {
  lua_getfield(L, -1, key);
  const char *now = bind_text(L, -1);
  if ((value == NULL) != lua_isnil(L, -1) || (value && (!now || strcmp(now, value) != 0))) {
    luaL_error(L, "stats: the %s of a record may not change", key);
  }
  lua_pop(L, 1);
}

/* The field of the record at the top of the stack.  [-0, +0, e] */
static loom_expr read_expr(bind_scope *s, const char *key, loom_expr before) {
  if (lua_getfield(s->L, -1, key) == LUA_TNIL && before == LOOM_NONE) {
    lua_pop(s->L, 1);
    return LOOM_NONE;
  }
  return bind_take(s, key);
}

/* Refuses keys of the table at the top of the stack but these (NULL-terminated) and, in a buffet,
** the names of its fields.  [-0, +0, v] */
static void check_fields(lua_State *L, const char *what, const char *const known[], bool buffet) {
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    const char *key = bind_text(L, -2);
    bool found = false;
    for (int k = 0; key && known[k] && !found; k++) found = strcmp(known[k], key) == 0;
    for (int f = 0; key && buffet && f < LOOM_N_BUFFET_FIELDS && !found; f++)
      found = strcmp(loom_buffet_field_name((loom_buffet_field)f), key) == 0;
    if (!found) luaL_error(L, "%s has no field '%s'", what, luaL_tolstring(L, -2, NULL));
  }
}

/* Refuses a buffet at the top of the stack whose place was changed.  [-0, +0, v] */
static void check_place(lua_State *L, const loom_buffet *buffet) {
  int type = lua_getfield(L, -1, "n_loops_above");
  bool same =
      type == LUA_TNIL || (lua_isinteger(L, -1) && lua_tointeger(L, -1) == buffet->n_loops_above);
  type = lua_getfield(L, -2, "persistent");
  same = same && (type == LUA_TNIL ||
                  (type == LUA_TBOOLEAN && lua_toboolean(L, -1) == (int)buffet->persistent));
  if (!same) luaL_error(L, "stats: n_loops_above and persistent of a buffet may not change");
  lua_pop(L, 2);
}

static void read_buffets(bind_scope *s, int i, loom_stats *stats) {
  static const char *const known[] = {"tensor", "level", "n_loops_above", "persistent", NULL};
  lua_State *L = s->L;
  push_records(L, i, "buffets", stats->n_buffets);
  for (size_t b = 0; b < stats->n_buffets; b++) {
    loom_buffet *buffet = &stats->buffets[b];
    push_record(L, "buffets", b);
    check_same(L, "tensor", buffet->tensor);
    check_same(L, "level", buffet->level);
    check_fields(L, "a buffet", known, true);
    check_place(L, buffet);
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      buffet->field[f] =
          read_expr(s, loom_buffet_field_name((loom_buffet_field)f), buffet->field[f]);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_compute(bind_scope *s, int i, loom_compute_stats *compute) {
  static const char *const known[] = {"level",       "total_ops", "max_per_unit_ops",
                                      "max_latency", "instances", NULL};
  lua_State *L = s->L;
  if (lua_getfield(L, i, "compute") != LUA_TTABLE) luaL_error(L, "stats.compute: table expected");
  check_fields(L, "stats.compute", known, false);
  check_same(L, "level", compute->level);
  compute->total_ops = read_expr(s, "total_ops", compute->total_ops);
  compute->max_per_unit_ops = read_expr(s, "max_per_unit_ops", compute->max_per_unit_ops);
  compute->max_latency = read_expr(s, "max_latency", compute->max_latency);
  compute->instances = read_expr(s, "instances", compute->instances);
  lua_pop(L, 1);
}

static void read_fanout(bind_scope *s, int i, loom_stats *stats) {
  static const char *const known[] = {"component", "dim", "used", NULL};
  lua_State *L = s->L;
  push_records(L, i, "fanout", stats->n_fanout);
  for (size_t f = 0; f < stats->n_fanout; f++) {
    push_record(L, "fanout", f);
    check_fields(L, "a record of stats.fanout", known, false);
    check_same(L, "component", stats->fanout[f].component);
    check_same(L, "dim", stats->fanout[f].dim);
    stats->fanout[f].used = read_expr(s, "used", stats->fanout[f].used);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_first_latency(bind_scope *s, int i, loom_stats *stats) {
  static const char *const known[] = {"loop", "steps", NULL};
  lua_State *L = s->L;
  push_records(L, i, "first_latency", stats->n_first_latency);
  for (size_t f = 0; f < stats->n_first_latency; f++) {
    loom_first_latency *first = &stats->first_latency[f];
    push_record(L, "first_latency", f);
    check_fields(L, "a record of stats.first_latency", known, false);
    first->steps = read_expr(s, "steps", first->steps);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void bind_read_stats(bind_scope *s, int i, loom_stats *stats) {
  lua_State *L = s->L;
  luaL_checkstack(L, 8, NULL);
  static const char *const known[] = {"buffets",       "compute",        "fanout",
                                      "first_latency", "temporal_steps", NULL};
  if (!lua_istable(L, i)) luaL_error(L, "stats expected, got %s", luaL_typename(L, i));
  lua_pushvalue(L, i);
  check_fields(L, "stats", known, false);
  lua_pop(L, 1);
  read_buffets(s, i, stats);
  read_compute(s, i, &stats->compute);
  read_fanout(s, i, stats);
  read_first_latency(s, i, stats);
  lua_pushvalue(L, i);
  stats->temporal_steps = read_expr(s, "temporal_steps", stats->temporal_steps);
  lua_pop(L, 1);
}
