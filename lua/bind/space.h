/* SPDX-License-Identifier: MIT */
/* The two halves of core.space: what spaces are made of, and how they are searched. */
#ifndef EINLOOM_BIND_SPACE_H
#define EINLOOM_BIND_SPACE_H

#include "bind.h"

/* The space at index 1; room on the stack for a few values.  [-0, +0, v] */
loom_space *bind_check_space(bind_scope *s, lua_State *L);
/* The number of an einsum of a space at an index.  [-0, +0, v] */
int bind_check_einsum(lua_State *L, const loom_space *space, int i);
/* The list of n integers at an index, in memory pushed on the stack.  [-0, +1, v] */
int64_t *bind_check_integers(lua_State *L, int i, size_t *n);
/* Adds the methods that search to the type of spaces.  [-0, +0, m] */
void bind_open_search(lua_State *L);

#endif
