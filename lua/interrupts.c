/* SPDX-License-Identifier: MIT */
/* What signals do to the einloom program: Ctrl-C interrupts Lua; while a search catches signals, they
** ask its engine to stop instead.
**
** Invariant: a handler does nothing but what may be done at any moment: it sets flags and a hook. */
#include "interrupts.h"

#include <lauxlib.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "bind.h"

/* A signal handler has no other way to know the state, the engine that is to stop, and to say what
** came. */
static lua_State *interrupted;
static loom_ctx *volatile searching;
static volatile sig_atomic_t caught;
static volatile sig_atomic_t was_interrupted;

/* ---- Lua ---------------------------------------------------------------------------------- */

static void on_interrupt(int signal_number);

/* Ctrl-C ends a read that waits: else the next line would be read before Lua stops. */
static void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(signal_number, &action, NULL);
}

/* Runs where Lua can be left: the next Ctrl-C interrupts again. */
static void stop(lua_State *L, lua_Debug *info) {
  (void)info;
  lua_sethook(L, NULL, 0, 0);
  handle(SIGINT, on_interrupt);
  was_interrupted = 1;
  luaL_error(L, "interrupted!");
}

static void on_interrupt(int signal_number) {
  signal(signal_number, SIG_DFL);
  lua_sethook(interrupted, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void interrupts_begin(lua_State *L) {
  interrupted = L;
  handle(SIGINT, on_interrupt);
}

bool interrupts_came(void) {
  return was_interrupted != 0;
}

void interrupts_end(void) {
  signal(SIGINT, SIG_DFL);
}

/* ---- searches ----------------------------------------------------------------------------- */

/* The next one of the kind ends the process. */
static void on_caught(int signal_number) {
  signal(signal_number, SIG_DFL);
  if (!caught) caught = signal_number;
  if (searching) loom_stop(searching);
}

static void set_timer(double seconds) {
  struct itimerval timer;
  memset(&timer, 0, sizeof timer);
  timer.it_value.tv_sec = (time_t)seconds;
  timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
  setitimer(ITIMER_REAL, &timer, NULL);
}

/* catch(context [, seconds]): from now on SIGINT, SIGTERM and the end of so many seconds stop the
** engine of the context.  [-0, +0, v] */
static int l_catch(lua_State *L) {
  loom_ctx *ctx = bind_check_context(L, 1)->ctx;
  double seconds = luaL_optnumber(L, 2, 0);
  luaL_argcheck(L, ctx != NULL, 1, "the context is closed");
  luaL_argcheck(L, seconds >= 0 && seconds < 1e9, 2, "seconds from 0 to 1e9 expected");
  loom_go_on(ctx);
  caught = 0;
  searching = ctx;
  handle(SIGINT, on_caught);
  handle(SIGTERM, on_caught);
  handle(SIGALRM, on_caught);
  if (seconds > 0) set_timer(seconds < 1e-6 ? 1e-6 : seconds);
  return 0;
}

/* caught() -> "interrupt", "time" or nil: what came since catch.  [-0, +1, -] */
static int l_caught(lua_State *L) {
  if (caught == 0) return 0;
  lua_pushstring(L, caught == SIGALRM ? "time" : "interrupt");
  return 1;
}

/* release(): signals do what they did before catch, and the engine goes on.  [-0, +0, -] */
static int l_release(lua_State *L) {
  (void)L;
  set_timer(0);
  signal(SIGALRM, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  handle(SIGINT, on_interrupt);
  if (searching) loom_go_on(searching);
  searching = NULL;
  return 0;
}

int luaopen_einloom_interrupts(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"catch", l_catch}, {"caught", l_caught}, {"release", l_release}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
