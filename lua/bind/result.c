/* SPDX-License-Identifier: MIT */
/* Results of an analysis in Lua.
**
** Invariant: tables made here are copies; the result itself never changes. */
#include <string.h>

#include "bind.h"

static loom_result *check_result(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_RESULT)->handle;
}

/* The einsum named at index 2.  [-0, +0, v] */
static size_t check_einsum(lua_State *L, const loom_result *r) {
  const char *name = bind_check_text(L, 2);
  size_t n = loom_result_einsums(r);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(loom_result_einsum(r, i), name) == 0) return i;
  }
  return (size_t)luaL_argerror(L, 2, lua_pushfstring(L, "no einsum '%s' in the result", name));
}

static const loom_stats *check_stats(bind_scope *s, lua_State *L) {
  const loom_result *r = check_result(s, L);
  return loom_result_stats(r, check_einsum(L, r));
}

/* r:einsums() -> list of names.  [-0, +1, v] */
static int l_einsums(lua_State *L) {
  bind_scope s;
  const loom_result *r = check_result(&s, L);
  size_t n = loom_result_einsums(r);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, loom_result_einsum(r, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* r:buffets(einsum) -> list of records.  [-0, +1, v] */
static int l_buffets(lua_State *L) {
  bind_scope s;
  const loom_stats *stats = check_stats(&s, L);
  lua_createtable(L, (int)stats->n_buffets, 0);
  for (size_t i = 0; i < stats->n_buffets; i++) {
    bind_push_buffet(&s, &stats->buffets[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* r:buffet(einsum, level, tensor) -> record or nil.  [-0, +1, v] */
static int l_buffet(lua_State *L) {
  bind_scope s;
  const loom_stats *stats = check_stats(&s, L);
  const char *level = bind_check_text(L, 3), *tensor = bind_check_text(L, 4);
  for (size_t i = 0; i < stats->n_buffets; i++) {
    const loom_buffet *buffet = &stats->buffets[i];
    if (strcmp(buffet->level, level) == 0 && strcmp(buffet->tensor, tensor) == 0) {
      bind_push_buffet(&s, buffet);
      return 1;
    }
  }
  lua_pushnil(L);
  return 1;
}

/* r:compute(einsum) -> record.  [-0, +1, v] */
static int l_compute(lua_State *L) {
  bind_scope s;
  bind_push_compute(&s, &check_stats(&s, L)->compute);
  return 1;
}

/* r:fanout(einsum) -> list of {component, dim, used}.  [-0, +1, v] */
static int l_fanout(lua_State *L) {
  bind_scope s;
  bind_push_fanout(&s, check_stats(&s, L));
  return 1;
}

/* r:first_latency(einsum) -> list of {loop, steps}.  [-0, +1, v] */
static int l_first_latency(lua_State *L) {
  bind_scope s;
  bind_push_first_latency(&s, check_stats(&s, L));
  return 1;
}

/* r:temporal_steps(einsum) -> expression.  [-0, +1, v] */
static int l_temporal_steps(lua_State *L) {
  bind_scope s;
  const loom_stats *stats = check_stats(&s, L);
  bind_push(&s, stats->temporal_steps);
  return 1;
}

/* r:symbols(einsum) -> list of symbols.  [-0, +1, v] */
static int l_symbols(lua_State *L) {
  bind_scope s;
  const loom_result *r = check_result(&s, L);
  const loom_expr *symbols;
  size_t n = loom_result_symbols(r, check_einsum(L, r), &symbols);
  bind_push_list(&s, n, symbols);
  return 1;
}

static void push_nodes(bind_scope *s, size_t n, const loom_node *nodes) {
  lua_createtable(s->L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    bind_push_node(s, &nodes[i]);
    lua_rawseti(s->L, -2, (lua_Integer)i + 1);
  }
}

/* r:path(einsum) -> list of nodes, reservations among them.  [-0, +1, v] */
static int l_path(lua_State *L) {
  bind_scope s;
  const loom_result *r = check_result(&s, L);
  const loom_node *nodes;
  size_t n = loom_result_path(r, check_einsum(L, r), &nodes);
  push_nodes(&s, n, nodes);
  return 1;
}

/* r:tensors(einsum) -> list of names.  [-0, +1, v] */
static int l_tensors(lua_State *L) {
  bind_scope s;
  const loom_result *r = check_result(&s, L);
  size_t einsum = check_einsum(L, r), n = loom_result_tensors(r, einsum);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushstring(L, loom_result_tensor(r, einsum, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* r:nest(einsum, tensor) -> list of nodes.  [-0, +1, v] */
static int l_nest(lua_State *L) {
  bind_scope s;
  const loom_result *r = check_result(&s, L);
  size_t einsum = check_einsum(L, r), n = loom_result_tensors(r, einsum);
  const char *tensor = bind_check_text(L, 3);
  for (size_t i = 0; i < n; i++) {
    if (strcmp(loom_result_tensor(r, einsum, i), tensor) != 0) continue;
    const loom_node *nodes;
    size_t length = loom_result_nest(r, einsum, i, &nodes);
    push_nodes(&s, length, nodes);
    return 1;
  }
  return luaL_argerror(L, 3, lua_pushfstring(L, "no tensor '%s' in the einsum", tensor));
}

void bind_open_result(lua_State *L) {
  static const luaL_Reg methods[] = {{"einsums", l_einsums},
                                     {"buffets", l_buffets},
                                     {"buffet", l_buffet},
                                     {"compute", l_compute},
                                     {"fanout", l_fanout},
                                     {"first_latency", l_first_latency},
                                     {"temporal_steps", l_temporal_steps},
                                     {"symbols", l_symbols},
                                     {"path", l_path},
                                     {"tensors", l_tensors},
                                     {"nest", l_nest},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_RESULT, methods);
}
