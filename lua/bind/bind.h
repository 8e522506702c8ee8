/* SPDX-License-Identifier: MIT */
/* What the files of the binding share: contexts, boxes of expressions, owned objects, errors.
**
** Every function that works with expressions carries three upvalues: 1 the metatable of
** expressions, 2 the default context, 3 whether it is a method of a context (bind_enter_maker).
**
** Two rules keep handles alive (a handle is alive while its box is, see context.c): collection runs
** only in bind_enter, never in a finalizer and never while a context is busy; and no function runs
** foreign Lua code between making a handle and boxing it. */
#ifndef EINLOOM_BIND_H
#define EINLOOM_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "einloom.h"

#define BIND_CONTEXT "einloom.context"
#define BIND_EXPR "einloom.expr"
#define BIND_PROGRAM "einloom.program"
#define BIND_WORKLOAD "einloom.workload"
#define BIND_ARCH "einloom.arch"
#define BIND_MAPPING "einloom.mapping"
#define BIND_RESULT "einloom.result"
#define BIND_COSTS "einloom.costs"
#define BIND_RANGES "einloom.ranges"
#define BIND_GRAPH "einloom.graph"
#define BIND_PLAN "einloom.plan"
#define BIND_COALESCING "einloom.coalescing"
#define BIND_SPACE "einloom.space"
#define BIND_FUSION "einloom.fusion"
#define BIND_ERROR "einloom.error"

typedef struct bind_object bind_object;

/* The userdata of a context.  User value 1 is its cache: a table from handle to box, weak in the
** boxes, whose metatable holds the context. */
typedef struct bind_context {
  loom_ctx *ctx;        /* NULL: closed */
  int busy;             /* > 0: handles without boxes are in use, do not collect */
  char *text;           /* printed text on its way to Lua, or NULL */
  bind_object *objects; /* live objects, closed before the context is */
} bind_context;

/* The userdata of an expression.  User value 1 is the cache of its context. */
typedef struct bind_box {
  const char *mark; /* tells boxes from other userdata, see expr.c */
  bind_context *owner;
  loom_expr id;
  uint32_t generation;
} bind_box;

/* The head of the userdata of a workload, architecture, mapping or result.  User value 1 is the
** cache of its context. */
struct bind_object {
  void *handle; /* NULL: closed */
  void (*release)(void *handle);
  bind_context *owner;
  bind_object *next, **link;
  int busy; /* > 0: the core is working with it, it may not be closed */
};

/* One call: the context it works in and a stack index whose user value 1 is the cache. */
typedef struct bind_scope {
  lua_State *L;
  bind_context *owner;
  loom_ctx *ctx;
  int holder;
} bind_scope;

#ifdef __GNUC__
#define BIND_EXPORT __attribute__((visibility("default")))
#else
#define BIND_EXPORT
#endif

/* The one exported symbol of the module. */
BIND_EXPORT int luaopen_einloom_core(lua_State *L);

/* ---- context.c ---- */

/* Begins a call whose expressions are in the slots first..last (last < first: none): takes the
** context of the first expression there, else the default one.  Collects if that is due, clears the
** last error.  [-0, +0, e] closed context */
void bind_enter(bind_scope *s, lua_State *L, int first, int last);
/* Begins a call in the context of the first expression in the list at index i, which is put into
** slot, else in the default one. */
void bind_enter_list(bind_scope *s, lua_State *L, int i, int slot);
/* Begins a call in the context of the object or context in slot holder. */
void bind_enter_in(bind_scope *s, lua_State *L, int holder, bind_context *owner);
/* The context userdata at index i.  [-0, +0, v] other types */
bind_context *bind_check_context(lua_State *L, int i);
/* A function that makes things takes its context from its first argument when it is a method of a
** context (upvalue 3 true; the argument stays at 1), else it is the default one: returns the index
** of the first argument proper. */
int bind_enter_maker(bind_scope *s, lua_State *L);
/* Pushes a Lua string made of text, which is freed; NULL raises the error of the context. */
int bind_return_text(bind_scope *s, char *text);
/* Pushes the three upvalues.  [-0, +3, m] */
void bind_push_upvalues(lua_State *L, bool of_context);
/* Gives the functions the three upvalues and puts them into the table at the top of the stack.
** [-0, +0, m] */
void bind_set_functions(lua_State *L, const luaL_Reg *functions, bool of_context);
/* Makers become functions of the module at the top of the stack, in the default context, and
** methods of contexts.  [-0, +0, m] */
void bind_set_makers(lua_State *L, const luaL_Reg *makers);
/* The module's table is at the top of the stack, here and in the other bind_open functions. */
void bind_open_context(lua_State *L);

/* ---- expr.c ---- */

/* The box at index i, or NULL if there is no expression. */
bind_box *bind_test_box(lua_State *L, int i);
/* The expression at index i: a live one of this context, a number or a numeric string.
** [-0, +0, v] */
loom_expr bind_arg(bind_scope *s, int i);
/* As bind_arg, for the value at the top of the stack, named in messages; pops it.  [-1, +0, e] */
loom_expr bind_take(bind_scope *s, const char *name);
/* As bind_arg, for field `name` of the table at index i.  [-0, +0, v] */
loom_expr bind_field(bind_scope *s, int i, const char *name);
/* As bind_arg, but nil, absence and infinity are LOOM_NONE. */
loom_expr bind_optional(bind_scope *s, int i);
/* Returns the box of a handle, on top of others; LOOM_NONE raises the error of the context.
** [-0, +2, e] */
int bind_return(bind_scope *s, loom_expr e);
/* Pushes the box of a handle, nil for LOOM_NONE.  [-0, +1, m] */
void bind_push(bind_scope *s, loom_expr e);
/* Pushes a list of the boxes of n handles.  [-0, +1, m] */
void bind_push_list(bind_scope *s, size_t n, const loom_expr *items);
/* Reads the list at index i into memory pushed on the stack.  [-0, +1, e] */
loom_expr *bind_check_list(bind_scope *s, int i, size_t *n);
void bind_open_expr(lua_State *L);
/* Defines l_name(a, b) of two operands.  [-0, +1, v] */
#define BIND_BINARY(name, build)                              \
  static int l_##name(lua_State *L) {                         \
    bind_scope s;                                             \
    bind_enter(&s, L, 1, 2);                                  \
    loom_expr a = bind_arg(&s, 1);                            \
    return bind_return(&s, build(s.ctx, a, bind_arg(&s, 2))); \
  }

/* ---- error.c ---- */

/* Raises the error of the context as misuse.  [-0, +0, v] */
int bind_raise(bind_scope *s);
/* Returns nil, message and kind for a domain error; raises bad arguments and lack of memory. */
int bind_fail(bind_scope *s);
/* Returns what was answered, or as bind_fail if that is an error of the context. */
int bind_return_boolean(bind_scope *s, bool value);
/* Raises the table {kind, message, file, line, column}: offset counts bytes of text from 0. */
int bind_raise_at(lua_State *L, const char *kind, const char *message, const char *file,
                  const char *text, ptrdiff_t offset);
/* As bind_raise_at with a line and column (0: unknown). */
int bind_raise_line(lua_State *L, const char *kind, const char *message, const char *file, int line,
                    int column);
void bind_open_error(lua_State *L);

/* ---- object.c ---- */

/* Pushes an empty object of a type for the scope's context: give it its handle next.
** [-0, +1, m] */
bind_object *bind_new_object(bind_scope *s, const char *type, void (*release)(void *handle));
/* The object takes the handle over; NULL fails with the error of the context.  Returns as a
** function of Lua does, the object being at the top of the stack. */
int bind_adopt(bind_scope *s, bind_object *object, void *handle);
/* The open object at index i; begins the call in its context.  [-0, +0, v] */
bind_object *bind_check_object(bind_scope *s, lua_State *L, int i, const char *type);
/* Frees what the object holds; harmless when repeated. */
void bind_close_object(bind_object *object);
/* Makes the metatable of an object type: methods, __gc = __close = close, __name.  [-0, +0, m] */
void bind_object_type(lua_State *L, const char *type, const luaL_Reg *methods);
/* The text at index i, NULL for anything else and for texts with zero bytes.  [-0, +0, -] */
const char *bind_text(lua_State *L, int i);
/* The text at index i, which has no zero bytes: C would see its beginning only.  [-0, +0, v] */
const char *bind_check_text(lua_State *L, int i);
/* The same; nil and absence are NULL. */
const char *bind_optional_text(lua_State *L, int i);
/* The number of the component, list, ... at index i.  [-0, +0, v] */
int bind_check_index(lua_State *L, int i);
/* What a builder gave: a number, else nil, message and kind.  [-0, +1|3, v] */
int bind_number(bind_scope *s, int number);
/* What a builder gave: the object itself (at 1), else nil, message and kind.  [-0, +1|3, v] */
int bind_done(bind_scope *s, loom_status status);
/* The index of the option in a NULL-terminated list; raises a message with all of them. */
int bind_check_name(lua_State *L, int i, const char *const names[]);

/* ---- callback.c ---- */

/* Functions of Lua that the core may call during one call of the binding. */
typedef struct bind_callbacks {
  bind_scope *scope;
  int functions; /* stack index of the table name -> function */
  int error;     /* stack index of the first error of a function, or 0 */
} bind_callbacks;

/* Runs `call` protected, with [data, the function of that name, holder of the context's cache] and
** the upvalues of the binding.  An error stays on the stack and in the context. */
loom_status bind_run_callback(bind_callbacks *self, const char *name, lua_CFunction call,
                              void *data);
/* Pushes the table of functions that is the option of the table at index i, nil without one; returns
** how many there are.  [-0, +1, v] */
size_t bind_check_callbacks(bind_callbacks *self, int i, const char *option);
/* The table at index i, made if it is nil, has no keys but these (NULL-terminated).  [-0, +0, v] */
void bind_check_options(lua_State *L, int i, const char *const names[]);
/* Marks objects and their context as in use by the core (change 1), and no more (-1). */
void bind_hold(bind_scope *s, int n, bind_object *const objects[], int change);
/* As bind_adopt, but an error of a function is raised: a string as an error object that says which
** function failed and where, anything else as it was. */
int bind_finish(bind_callbacks *self, bind_object *object, void *handle);

/* ---- the other files ---- */

void bind_open_build(lua_State *L);
void bind_open_index(lua_State *L);
void bind_open_program(lua_State *L);
void bind_open_workload(lua_State *L);
void bind_open_arch(lua_State *L);
void bind_open_mapping(lua_State *L);
void bind_open_result(lua_State *L);
void bind_open_analyze(lua_State *L);
void bind_open_costs(lua_State *L);
void bind_open_ranges(lua_State *L);
void bind_open_loops(lua_State *L);
void bind_open_graph(lua_State *L);
void bind_open_plan(lua_State *L);
void bind_open_fusion(lua_State *L);
void bind_open_launch(lua_State *L);
void bind_open_tilings(lua_State *L);
void bind_open_coalesce(lua_State *L);

/* The graph at index i; begins the call in its context (graph.c).  [-0, +0, v] */
loom_graph *bind_check_graph(bind_scope *s, lua_State *L, int i);
/* The number of its operation, of its buffer, of the name at index i.  [-0, +0, v] */
int bind_check_op(bind_scope *s, const loom_graph *g, int i);
int bind_check_buffer(bind_scope *s, const loom_graph *g, int i);
/* The list of lists of sizes at index i, in memory pushed on the stack.  [-0, +1, v] */
loom_sizes *bind_check_shapes(bind_scope *s, int i, size_t *n);
/* The numbers of the operations named in the list at index i, in memory pushed on the stack.
** [-0, +1, v] */
int *bind_check_ops(bind_scope *s, const loom_graph *g, int i, size_t *n);
/* The methods g:plan() and g:schedule() (plan.c). */
int bind_graph_plan(lua_State *L);
int bind_graph_schedule(lua_State *L);
/* The methods candidates, block_tilings, fits and tiling (tilings.c). */
int bind_graph_candidates(lua_State *L);
int bind_graph_blocks(lua_State *L);
int bind_graph_fits(lua_State *L);
int bind_graph_tiling(lua_State *L);
/* The methods coalesce, coalesced_tilings and coalesced_tiling (coalesce.c). */
int bind_graph_coalesce(lua_State *L);
int bind_graph_coalesced_tilings(lua_State *L);
int bind_graph_coalesced_tiling(lua_State *L);
int bind_graph_best_tiling(lua_State *L);
int bind_graph_sectors(lua_State *L);
/* The loops {{variable, size}, ...} at index i, in memory pushed on the stack (loops.c).
** [-0, +1, v] */
loom_extent *bind_check_nest(bind_scope *s, int i, size_t *n);
/* Pushes the list {{variable, size}, ...} of loops (loops.c).  [-0, +1, m] */
void bind_push_nest(bind_scope *s, size_t n, const loom_extent *loops);
/* The schedule at index i and the extents {N, R} at i + 1, in memory pushed on the stack.
** [-0, +1, v] */
loom_kernel_steps bind_check_steps(bind_scope *s, const loom_graph *g, int i);
/* The method g:fusion() (fusion.c). */
int bind_graph_fusion(lua_State *L);
/* The tiling {{prefix, extent}, ...} at index i, and back.  [-0, +0, v] [-0, +1, m] */
loom_tiling bind_check_tiling(bind_scope *s, int i);
void bind_push_tiling(bind_scope *s, const loom_tiling *tiling);
/* The schedule at index i (names of operations, "reduction_off", "reduction_on") in memory pushed on
** the stack, and back.  [-0, +1, v] [-0, +1, m] */
int *bind_check_schedule(bind_scope *s, const loom_graph *g, int i, size_t *n);
void bind_push_schedule(lua_State *L, const loom_graph *g, size_t n, const int *steps);
/* Pushes the list of entries from that position (from 0) on (ranges.c).  [-0, +1, m] */
void bind_push_entries(bind_scope *s, const loom_ranges *r, size_t first);

/* The options of a split in the table at index i, which is made if it is nil: strict, any_span,
** extents (symbol -> size) and hints (symbol -> number or false), in memory pushed on the stack; those
** of ranges may be there too (loops.c).  [-0, +4, v] */
void bind_check_split(bind_scope *s, int i, loom_split_options *options, loom_given *given);
/* Enters a maker of n arguments and, behind them, the options of a split; the index of the first
** argument (loops.c).  [-0, +4, v] */
int bind_enter_split(bind_scope *s, lua_State *L, int n, loom_split_options *options,
                     loom_given *given);
/* The loops of the lists at index i and i + 1, in memory pushed on the stack.  [-0, +1, e] */
loom_loops bind_check_loops(bind_scope *s, int i);
/* The field of the table at index i as a flag. */
bool bind_flag(lua_State *L, int i, const char *name);
void bind_open_space(lua_State *L);

/* Fields of the table at the top of the stack; NULL and LOOM_NONE set nothing (stats.c). */
void bind_set_string(lua_State *L, const char *key, const char *value);
void bind_set_boolean(lua_State *L, const char *key, bool value);
void bind_set_integer(lua_State *L, const char *key, lua_Integer value);
void bind_set_expr(bind_scope *s, const char *key, loom_expr e);

/* The names of loom_lifetime, NULL at the end (stats.c). */
extern const char *const bind_lifetimes[];

/* Tables for what analyses give, and back (stats.c). */
void bind_push_node(bind_scope *s, const loom_node *node);
void bind_push_shape(bind_scope *s, const loom_shape *shape);
void bind_push_stats(bind_scope *s, const loom_stats *stats);
void bind_push_buffet(bind_scope *s, const loom_buffet *buffet);
void bind_push_compute(bind_scope *s, const loom_compute_stats *compute);
void bind_push_fanout(bind_scope *s, const loom_stats *stats);
void bind_push_first_latency(bind_scope *s, const loom_stats *stats);
/* Writes the table at index i back into stats, which has the same records.  [-0, +0, e] */
void bind_read_stats(bind_scope *s, int i, loom_stats *stats);

#endif
