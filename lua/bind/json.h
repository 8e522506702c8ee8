/* SPDX-License-Identifier: MIT */
/* The two halves of core.json. */
#ifndef EINLOOM_BIND_JSON_H
#define EINLOOM_BIND_JSON_H

#include "bind.h"

/* Functions of Lua.  decode: upvalue 1 is the metatable of arrays; encode: upvalues of the binding
** and 4 the metatable of arrays. */
int bind_json_decode(lua_State *L);
int bind_json_encode(lua_State *L);

#endif
