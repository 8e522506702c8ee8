/* SPDX-License-Identifier: MIT */
/* The einloom program: a Lua 5.4 state with einloom built in.
**
**   einloom run FILE.lua [args]   runs a script, as does  einloom FILE.lua [args]
**   einloom ...                   everything else is for einloom.cli
**
** Invariant: nothing is decided here but where the Lua files are and who runs; the exit status is 0
** only if the state closed without an error and all output arrived. */
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind.h"
#include "interrupts.h"

/* The exit status of a program that Ctrl-C ends, as shells have it. */
#define INTERRUPTED 130

typedef struct arguments {
  int count;
  char **values;
} arguments;

static int message_handler(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) {
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
  } else {
    luaL_tolstring(L, 1, NULL);
  }
  return 1;
}

/* The directory two levels above the program, e.g. /usr for /usr/bin/einloom; false if unknown. */
static bool find_prefix(char *path, size_t size) {
  ssize_t length = readlink("/proc/self/exe", path, size - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  for (int level = 0; level < 2; level++) {
    char *slash = strrchr(path, '/');
    if (!slash) return false;
    *slash = '\0';
  }
  return true;
}

static void set_package_path(lua_State *L) {
  char prefix[PATH_MAX];
  if (!find_prefix(prefix, sizeof prefix)) return;
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  lua_pushfstring(L, "%s/%s/?.lua;%s/%s/?/init.lua;%s", prefix, EINLOOM_LUA_SHARE, prefix,
                  EINLOOM_LUA_SHARE, lua_tostring(L, -1));
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

static void open_libraries(lua_State *L) {
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_einloom_core);
  lua_setfield(L, -2, "einloom.core");
  lua_pushcfunction(L, luaopen_einloom_interrupts);
  lua_setfield(L, -2, "einloom.interrupts");
  lua_pop(L, 1);
  set_package_path(L);
}

static bool is_script(const char *name) {
  size_t length = strlen(name);
  return length > 4 && strcmp(name + length - 4, ".lua") == 0;
}

/* Global `arg` as lua has it: the script at 0, what came before it below.  [-0, +0, m] */
static void set_arg(lua_State *L, const arguments *args, int script) {
  lua_createtable(L, args->count - script, script + 1);
  for (int i = 0; i < args->count; i++) {
    lua_pushstring(L, args->values[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

/* [-0, +1, e] the status */
static void run_script(lua_State *L, const arguments *args, int script) {
  set_arg(L, args, script);
  if (luaL_loadfile(L, args->values[script]) != LUA_OK) {
    fprintf(stderr, "einloom: %s\n", lua_tostring(L, -1));
    lua_pushinteger(L, EXIT_FAILURE);
    return;
  }
  int count = args->count - script - 1;
  luaL_checkstack(L, count, "too many arguments");
  for (int i = script + 1; i < args->count; i++) lua_pushstring(L, args->values[i]);
  lua_call(L, count, 0);
  lua_pushinteger(L, 0);
}

/* einloom.cli's main(list of arguments) -> exit status.  [-0, +1, e] */
static void run_cli(lua_State *L, const arguments *args) {
  set_arg(L, args, 0);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "einloom.cli");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "main");
  lua_createtable(L, args->count, 0);
  for (int i = 1; i < args->count; i++) {
    lua_pushstring(L, args->values[i]);
    lua_rawseti(L, -2, i);
  }
  lua_call(L, 1, 1);
  lua_remove(L, -2);
}

/* [arguments] -> status */
static int protected_main(lua_State *L) {
  const arguments *args = lua_touserdata(L, 1);
  luaL_checkversion(L);
  open_libraries(L);
  if (args->count > 2 && strcmp(args->values[1], "run") == 0) {
    run_script(L, args, 2);
  } else if (args->count > 1 && is_script(args->values[1])) {
    run_script(L, args, 1);
  } else {
    run_cli(L, args);
  }
  return 1;
}

static bool runs_script(const arguments *args) {
  return args->count > 1 && (strcmp(args->values[1], "run") == 0 || is_script(args->values[1]));
}

/* Says what ended the program; the exit status. */
static int fail(lua_State *L, const arguments *args) {
  const char *message = lua_tostring(L, -1);
  bool interrupted = interrupts_came() && !runs_script(args);
  if (interrupted) message = "interrupted";
  fprintf(stderr, "einloom: %s\n", message ? message : "error without a message");
  return interrupted ? INTERRUPTED : EXIT_FAILURE;
}

/* Whether all that was printed has arrived; says so if not. */
static bool output_arrived(void) {
  errno = 0;
  if (fflush(stdout) != EOF && !ferror(stdout)) return true;
  fprintf(stderr, "einloom: cannot write to the standard output%s%s\n", errno ? ": " : "",
          errno ? strerror(errno) : "");
  return false;
}

int main(int argc, char **argv) {
  arguments args = {argc, argv};
  lua_State *L = luaL_newstate();
  if (!L) {
    fprintf(stderr, "einloom: not enough memory\n");
    return EXIT_FAILURE;
  }
  interrupts_begin(L);
  lua_pushcfunction(L, message_handler);
  lua_pushcfunction(L, protected_main);
  lua_pushlightuserdata(L, &args);
  int status = EXIT_FAILURE;
  if (lua_pcall(L, 1, 1, 1) == LUA_OK) {
    status = lua_isinteger(L, -1) ? (int)lua_tointeger(L, -1) : EXIT_SUCCESS;
  } else {
    status = fail(L, &args);
  }
  interrupts_end();
  lua_close(L);
  return output_arrived() ? status : EXIT_FAILURE;
}
