/* SPDX-License-Identifier: MIT */
/* Fusion of a graph's operations in Lua: decisions about pairs, the kernels, and why they are apart,
** as tables.
**
** Invariant: no logic. */
#include "bind.h"

static void release(void *handle) {
  loom_fusion_free(handle);
}

static loom_fusion *check_fusion(bind_scope *s, lua_State *L) {
  return bind_check_object(s, L, 1, BIND_FUSION)->handle;
}

static size_t option_count(lua_State *L, int i, const char *name) {
  lua_getfield(L, i, name);
  lua_Integer n = luaL_optinteger(L, -1, 0);
  if (n < 0) luaL_error(L, "%s must not be negative", name);
  lua_pop(L, 1);
  return (size_t)n;
}

/* g:fusion {aggressive =, unshared =, max_ops =, max_buffers =}  [-0, +1|3, v] */
int bind_graph_fusion(lua_State *L) {
  static const char *const names[] = {"aggressive", "unshared", "max_ops", "max_buffers", NULL};
  bind_scope s;
  loom_graph *g = bind_check_graph(&s, L, 1);
  lua_settop(L, 2);
  bind_check_options(L, 2, names);
  loom_fusion_options options = {.aggressive = bind_flag(L, 2, "aggressive"),
                                 .unshared = bind_flag(L, 2, "unshared"),
                                 .max_ops = option_count(L, 2, "max_ops"),
                                 .max_buffers = option_count(L, 2, "max_buffers")};
  bind_object *object = bind_new_object(&s, BIND_FUSION, release);
  return bind_adopt(&s, object, loom_fusion_new(g, &options));
}

static void set_score(lua_State *L, const loom_fuse_score *score) {
  lua_createtable(L, 0, 4);
  bind_set_integer(L, "kind", score->kind);
  bind_set_boolean(L, "same_kind", score->same_kind);
  bind_set_integer(L, "bytes", score->bytes);
  bind_set_integer(L, "nearness", score->nearness);
  lua_setfield(L, -2, "score");
}

static void set_reason(lua_State *L, const char *key, loom_fuse_reason reason) {
  if (reason != LOOM_FUSE_OK) bind_set_string(L, key, loom_fuse_reason_name(reason));
}

/* f:pair(first, second) -> {reason =, shape =, depends =, score =}; no reason, no shape: nothing
** is against it.  [-0, +1|3, v] */
static int l_pair(lua_State *L) {
  bind_scope s;
  loom_fusion *f = check_fusion(&s, L);
  const loom_graph *g = loom_fusion_graph(f);
  int first = bind_check_op(&s, g, 2);
  loom_fuse_pair pair;
  if (loom_fusion_pair(f, first, bind_check_op(&s, g, 3), &pair) != LOOM_OK) return bind_fail(&s);
  lua_createtable(L, 0, 4);
  set_reason(L, "reason", pair.reason);
  set_reason(L, "shape", pair.shape);
  bind_set_boolean(L, "depends", pair.depends);
  set_score(L, &pair.score);
  return 1;
}

/* f:run() -> f  [-0, +1|3, v] */
static int l_run(lua_State *L) {
  bind_scope s;
  loom_fusion *f = check_fusion(&s, L);
  return bind_done(&s, loom_fusion_run(f));
}

/* f:kernels() -> list of {ops =, extents = {N, R}, launch =}  [-0, +1|3, v] */
static int l_kernels(lua_State *L) {
  bind_scope s;
  loom_fusion *f = check_fusion(&s, L);
  const loom_fused *kernels;
  ptrdiff_t n = loom_fusion_kernels(f, &kernels);
  if (n < 0) return bind_fail(&s);
  lua_createtable(L, (int)n, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 3);
    bind_push_schedule(L, loom_fusion_graph(f), kernels[i].n, kernels[i].ops);
    lua_setfield(L, -2, "ops");
    bind_push_list(&s, 2, (loom_expr[]){kernels[i].extent, kernels[i].reduction_extent});
    lua_setfield(L, -2, "extents");
    bind_set_integer(L, "launch", (lua_Integer)kernels[i].launch + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* f:refusals() -> list of {first =, second =, reason =}, the first two places in the list of kernels
** (from 1)  [-0, +1|3, v] */
static int l_refusals(lua_State *L) {
  bind_scope s;
  loom_fusion *f = check_fusion(&s, L);
  const loom_refusal *list;
  ptrdiff_t n = loom_fusion_refusals(f, &list);
  if (n < 0) return bind_fail(&s);
  lua_createtable(L, (int)n, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 3);
    bind_set_integer(L, "first", (lua_Integer)list[i].first + 1);
    bind_set_integer(L, "second", (lua_Integer)list[i].second + 1);
    set_reason(L, "reason", list[i].reason);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void bind_open_fusion(lua_State *L) {
  static const luaL_Reg methods[] = {{"pair", l_pair},
                                     {"run", l_run},
                                     {"kernels", l_kernels},
                                     {"refusals", l_refusals},
                                     {NULL, NULL}};
  bind_object_type(L, BIND_FUSION, methods);
}
