/* SPDX-License-Identifier: MIT */
/* Two states in two threads: the same answers as alone, nothing shared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lualib.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "script.h"

/* Ten thousand evaluations of formulas in one thread; the sum of what came out. */
static const char *const evaluations =
    "local core = require 'einloom.core'\n"
    "local x, y = core.symbol 'x', core.symbol 'y'\n"
    "local p = core.compile({ x * y + x // y, core.max(x, y) % 7 }, { x, y })\n"
    "local total = core.int(0)\n"
    "for i = 1, 10000 do\n"
    "  local values = p:exact { i, i % 13 + 1 }\n"
    "  total = total + values[1] + values[2] * (x + i) { x = 1 }\n"
    "end\n"
    "return tostring(total)\n";

typedef struct work {
  char *text; /* what came out, or the error */
  bool ok;
} work;

static int protected_work(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "einloom.core", luaopen_einloom_core, 0);
  const char *const scripts[] = {whole_binding, evaluations};
  for (int i = 0; i < 2; i++) {
    if (luaL_loadstring(L, scripts[i]) != LUA_OK) lua_error(L);
    lua_call(L, 0, 1);
  }
  lua_concat(L, 2);
  return 1;
}

static void *do_work(void *data) {
  work *w = data;
  lua_State *L = luaL_newstate();
  if (!L) return NULL;
  lua_pushcfunction(L, protected_work);
  w->ok = lua_pcall(L, 0, 1, 0) == LUA_OK;
  w->text = strdup(luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return NULL;
}

static void test_two_threads(void **unused) {
  (void)unused;
  work alone = {0}, both[2] = {{0}, {0}};
  do_work(&alone);
  if (!alone.ok) fail_msg("%s", alone.text);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, do_work, &both[i]), 0);
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    assert_true(both[i].ok);
    assert_string_equal(both[i].text, alone.text);
    free(both[i].text);
  }
  free(alone.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
