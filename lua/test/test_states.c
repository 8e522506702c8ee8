/* SPDX-License-Identifier: MIT */
/* States under hard conditions: an allocator that fails, closing, several states in one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "script.h"

/* An allocator that refuses to grow anything at the n-th request: once, or from then on. */
typedef struct fragile {
  long countdown; /* requests until then; 0: never */
  bool once, failed;
} fragile;

static void *fragile_alloc(void *data, void *block, size_t old_size, size_t new_size) {
  fragile *f = data;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  if (!block || new_size > old_size) {
    bool now = f->countdown > 0 && --f->countdown == 0;
    f->failed = f->failed || now;
    if (now || (f->failed && !f->once)) return NULL;
  }
  return realloc(block, new_size);
}

static int open_and_run(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "einloom.core", luaopen_einloom_core, 0);
  if (luaL_loadstring(L, whole_binding) != LUA_OK) lua_error(L);
  lua_call(L, 0, 1);
  return 1;
}

/* Runs the script; the result or the error message stays on the stack. */
static int run(lua_State *L) {
  lua_pushcfunction(L, open_and_run);
  return lua_pcall(L, 0, 1, 0);
}

static char *expected_text(void) {
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  if (run(L) != LUA_OK) fail_msg("%s", luaL_tolstring(L, -1, NULL));
  char *text = strdup(lua_tostring(L, -1));
  lua_close(L);
  return text;
}

/* For every n: when the n-th allocation and all after it fail, the script ends in an error (or, where
** it caught that, in the right answer), nothing leaks, and the state can be closed. */
static void test_allocator_that_fails(void **unused) {
  (void)unused;
  char *expected = expected_text();
  long n = 1, errors = 0;
  for (bool done = false; !done; n++) {
    fragile f = {n, false, false};
    lua_State *L = lua_newstate(fragile_alloc, &f);
    if (!L) continue;
    int status = run(L);
    done = !f.failed;
    if (done) assert_int_equal(status, LUA_OK);
    if (status == LUA_OK) assert_string_equal(lua_tostring(L, -1), expected);
    errors += status != LUA_OK;
    f = (fragile){0};
    lua_close(L);
  }
  assert_true(n > 1000 && errors > 500);
  free(expected);
}

/* As above, but only the one allocation fails (and the emergency collection that follows may save
** it): whatever comes out is an error or the right answer, and the state works afterwards. */
static void test_one_allocation_fails(void **unused) {
  (void)unused;
  char *expected = expected_text();
  bool done = false;
  for (long n = 1; !done; n++) {
    fragile f = {n, true, false};
    lua_State *L = lua_newstate(fragile_alloc, &f);
    if (!L) continue;
    int status = run(L);
    done = !f.failed;
    f = (fragile){0};
    if (status == LUA_OK) assert_string_equal(lua_tostring(L, -1), expected);
    lua_settop(L, 0);
    if (run(L) != LUA_OK) fail_msg("n = %ld: %s", n, luaL_tolstring(L, -1, NULL));
    assert_string_equal(lua_tostring(L, -1), expected);
    lua_close(L);
  }
  free(expected);
}

static void test_a_state_outlives_another(void **unused) {
  (void)unused;
  lua_State *first = luaL_newstate(), *second = luaL_newstate();
  assert_non_null(first);
  assert_non_null(second);
  assert_int_equal(run(first), LUA_OK);
  assert_int_equal(run(second), LUA_OK);
  char *text = strdup(lua_tostring(first, -1));
  lua_close(first);
  assert_string_equal(lua_tostring(second, -1), text);
  assert_int_equal(run(second), LUA_OK);
  assert_string_equal(lua_tostring(second, -1), text);
  lua_close(second);
  free(text);
}

/* The module opened twice in one state serves the same default context. */
static void test_opened_twice(void **unused) {
  (void)unused;
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  luaL_requiref(L, "first", luaopen_einloom_core, 1);
  luaL_requiref(L, "second", luaopen_einloom_core, 1);
  if (luaL_dostring(L, "assert(first.symbol 'x' + 1 == second.symbol 'x' + 1)") != LUA_OK) {
    fail_msg("%s", lua_tostring(L, -1));
  }
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_state_outlives_another),
      cmocka_unit_test(test_opened_twice),
      cmocka_unit_test(test_allocator_that_fails),
      cmocka_unit_test(test_one_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
