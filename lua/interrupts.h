/* SPDX-License-Identifier: MIT */
/* What signals do to the einloom program. */
#ifndef EINLOOM_INTERRUPTS_H
#define EINLOOM_INTERRUPTS_H

#include <lua.h>
#include <stdbool.h>

/* From now on Ctrl-C ends what the state runs with the error "interrupted!"; till Lua can be left, a
** second one ends the process. */
void interrupts_begin(lua_State *L);
/* Whether that error was ever raised. */
bool interrupts_came(void);
/* From now on it ends the process, as before interrupts_begin. */
void interrupts_end(void);

/* The module einloom.interrupts: catch, caught, release. */
int luaopen_einloom_interrupts(lua_State *L);

#endif
