/* SPDX-License-Identifier: MIT */
/* Userdata that own an object of the core: workload, architecture, mapping, result.
**
** Invariant: a live object is in the list of its context and is closed before the context is;
** `handle` is NULL exactly when it is closed. */
#include <limits.h>
#include <string.h>

#include "bind.h"

bind_object *bind_new_object(bind_scope *s, const char *type, void (*release)(void *handle)) {
  bind_object *object = lua_newuserdatauv(s->L, sizeof *object, 1);
  *object = (bind_object){.release = release, .owner = s->owner};
  luaL_setmetatable(s->L, type);
  lua_getiuservalue(s->L, s->holder, 1);
  lua_setiuservalue(s->L, -2, 1);
  return object;
}

int bind_adopt(bind_scope *s, bind_object *object, void *handle) {
  if (!handle) return bind_fail(s);
  object->handle = handle;
  object->next = s->owner->objects;
  object->link = &s->owner->objects;
  if (object->next) object->next->link = &object->next;
  s->owner->objects = object;
  return 1;
}

void bind_close_object(bind_object *object) {
  if (!object->handle) return;
  void *handle = object->handle;
  object->handle = NULL;
  *object->link = object->next;
  if (object->next) object->next->link = object->link;
  object->release(handle);
}

bind_object *bind_check_object(bind_scope *s, lua_State *L, int i, const char *type) {
  bind_object *object = luaL_checkudata(L, i, type);
  if (!object->handle) luaL_argerror(L, i, lua_pushfstring(L, "the %s is closed", type + 8));
  bind_enter_in(s, L, i, object->owner);
  return object;
}

/* close, __gc and __close of every type.  [-0, +0, v] */
static int l_close(lua_State *L) {
  luaL_argcheck(L, lua_getmetatable(L, 1) && lua_rawequal(L, -1, lua_upvalueindex(1)), 1,
                "object of another type");
  bind_object *object = lua_touserdata(L, 1);
  if (object->busy > 0) return luaL_error(L, "the object is in use by the running analysis");
  bind_close_object(object);
  return 0;
}

void bind_object_type(lua_State *L, const char *type, const luaL_Reg *methods) {
  luaL_newmetatable(L, type);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_close, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__gc");
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__close");
  lua_newtable(L);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "close");
  bind_set_functions(L, methods, false);
  lua_setfield(L, -3, "__index");
  lua_pop(L, 2);
}

const char *bind_text(lua_State *L, int i) {
  size_t length;
  const char *text = lua_type(L, i) == LUA_TSTRING ? lua_tolstring(L, i, &length) : NULL;
  return text && strlen(text) == length ? text : NULL;
}

const char *bind_check_text(lua_State *L, int i) {
  const char *text = luaL_checkstring(L, i);
  if (strlen(text) != lua_rawlen(L, i)) luaL_argerror(L, i, "a name has no zero bytes");
  return text;
}

const char *bind_optional_text(lua_State *L, int i) {
  return lua_isnoneornil(L, i) ? NULL : bind_check_text(L, i);
}

int bind_check_index(lua_State *L, int i) {
  lua_Integer index = luaL_checkinteger(L, i);
  luaL_argcheck(L, index >= 0 && index <= INT_MAX, i, "index out of range");
  return (int)index;
}

int bind_number(bind_scope *s, int number) {
  if (number < 0) return bind_fail(s);
  lua_pushinteger(s->L, number);
  return 1;
}

int bind_done(bind_scope *s, loom_status status) {
  if (status != LOOM_OK) return bind_fail(s);
  lua_settop(s->L, 1);
  return 1;
}

int bind_check_name(lua_State *L, int i, const char *const names[]) {
  const char *name = bind_text(L, i);
  for (int k = 0; name && names[k]; k++) {
    if (strcmp(names[k], name) == 0) return k;
  }
  luaL_Buffer list;
  luaL_buffinit(L, &list);
  for (int k = 0; names[k]; k++) {
    if (k > 0) luaL_addstring(&list, ", ");
    luaL_addstring(&list, names[k]);
  }
  luaL_pushresult(&list);
  return luaL_error(L, "one of %s expected, got %s", lua_tostring(L, -1),
                    name ? name : luaL_typename(L, i));
}
