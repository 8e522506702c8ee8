/* SPDX-License-Identifier: MIT */
/* The module einloom.core: opens the files of the binding in the order they need each other.
**
** Invariant: nothing is shared by two Lua states. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "bind.h"
#include "json.h"

/* core.json: decode, encode, null, array (the metatable that marks arrays).  [-0, +0, m] */
static void open_json(lua_State *L) {
  lua_createtable(L, 0, 4);
  int json = lua_gettop(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "einloom.json.array");
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, bind_json_decode, 1);
  lua_setfield(L, json, "decode");
  bind_push_upvalues(L, false);
  lua_pushvalue(L, json + 1);
  lua_pushcclosure(L, bind_json_encode, 4);
  lua_setfield(L, json, "encode");
  lua_setfield(L, json, "array");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, json, "null");
  lua_setfield(L, -2, "json");
}

/* core.clock() -> seconds since some moment; it never goes back.  [-0, +1, -] */
static int l_clock(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec + 1e-9 * (lua_Number)t.tv_nsec);
  return 1;
}

/* core.file_kind(path) -> "file" and the path without symbolic links, "directory", "other" (a device, a
** pipe, a link to nothing), or nil where nothing is there.  [-0, +2, v] */
static int l_file_kind(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct stat about;
  lua_settop(L, 1);
  if (stat(path, &about) != 0) {
    if (lstat(path, &about) == 0) {
      lua_pushliteral(L, "other");
    } else {
      lua_pushnil(L);
    }
    return 1;
  }
  if (!S_ISREG(about.st_mode)) {
    lua_pushstring(L, S_ISDIR(about.st_mode) ? "directory" : "other");
    return 1;
  }
  char *real = realpath(path, NULL);
  lua_pushliteral(L, "file");
  lua_pushstring(L, real ? real : path);
  free(real);
  return 2;
}

/* [-0, +1, e] */
int luaopen_einloom_core(lua_State *L) {
  luaL_checkversion(L);
  luaL_checkstack(L, 20, NULL);
  lua_newtable(L);
  lua_pushliteral(L, LOOM_VERSION);
  lua_setfield(L, -2, "version");
  lua_pushcfunction(L, l_clock);
  lua_setfield(L, -2, "clock");
  lua_pushcfunction(L, l_file_kind);
  lua_setfield(L, -2, "file_kind");
  bind_open_error(L);
  bind_open_context(L);
  bind_open_expr(L);
  bind_open_build(L);
  bind_open_index(L);
  bind_open_program(L);
  bind_open_workload(L);
  bind_open_arch(L);
  bind_open_mapping(L);
  bind_open_result(L);
  bind_open_analyze(L);
  bind_open_costs(L);
  bind_open_ranges(L);
  bind_open_loops(L);
  bind_open_graph(L);
  bind_open_plan(L);
  bind_open_fusion(L);
  bind_open_launch(L);
  bind_open_tilings(L);
  bind_open_coalesce(L);
  bind_open_space(L);
  open_json(L);
  return 1;
}
