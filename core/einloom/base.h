/* SPDX-License-Identifier: MIT */
/* What every public header stands on: handles, the list of statuses, the context with its memory and
** its error. */
#ifndef EINLOOM_PUBLIC_BASE_H
#define EINLOOM_PUBLIC_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define LOOM_C_BEGIN extern "C" {
#define LOOM_C_END }
#else
#define LOOM_C_BEGIN
#define LOOM_C_END
#endif

#if defined(LOOM_BUILD) && defined(__GNUC__)
#define LOOM_API __attribute__((visibility("default")))
#else
#define LOOM_API
#endif

#define LOOM_VERSION "0.1.0"

LOOM_C_BEGIN

/* Ownership words: what is returned with LOOM_GIVE is freed by the caller; all else is borrowed. */
#define LOOM_GIVE

typedef struct loom_ctx loom_ctx;
typedef struct loom_program loom_program;
typedef struct loom_workload loom_workload;
typedef struct loom_arch loom_arch;
typedef struct loom_mapping loom_mapping;
typedef struct loom_result loom_result;
typedef struct loom_costs loom_costs;
typedef struct loom_ranges loom_ranges;
typedef struct loom_graph loom_graph;
typedef struct loom_plan loom_plan;
typedef struct loom_fusion loom_fusion;

/* An expression: an index into its context.  Equal expressions of one context have equal handles.
 */
typedef uint32_t loom_expr;
#define LOOM_NONE ((loom_expr)0)

/* ---- status ------------------------------------------------------------------------------- */

/* X(enumerator, printed kind) */
#define LOOM_STATUS_LIST(X)                                    \
  X(LOOM_OK, "ok")                                             \
  X(LOOM_ERR_MEMORY, "out_of_memory")                          \
  X(LOOM_ERR_ARGUMENT, "bad_argument")                         \
  X(LOOM_ERR_DOMAIN, "domain")                                 \
  X(LOOM_ERR_LIMIT, "limit")                                   \
  X(LOOM_ERR_SYNTAX, "syntax")                                 \
  X(LOOM_ERR_STOPPED, "stopped")                               \
  X(LOOM_ERR_CALLBACK, "callback")                             \
  X(LOOM_ERR_MISSING_LOOP, "missing_loop")                     \
  X(LOOM_ERR_UNKNOWN_RANK_VARIABLE, "unknown_rank_variable")   \
  X(LOOM_ERR_UNKNOWN_COMPONENT, "unknown_component")           \
  X(LOOM_ERR_UNKNOWN_EINSUM, "unknown_einsum")                 \
  X(LOOM_ERR_UNKNOWN_DIMENSION, "unknown_dimension")           \
  X(LOOM_ERR_UNKNOWN_TENSOR, "unknown_tensor")                 \
  X(LOOM_ERR_UNKNOWN_NODE_KIND, "unknown_node_kind")           \
  X(LOOM_ERR_WRONG_CLASS, "wrong_class")                       \
  X(LOOM_ERR_NO_COMPUTE, "no_compute")                         \
  X(LOOM_ERR_UNMAPPED_EINSUM, "unmapped_einsum")               \
  X(LOOM_ERR_REPEATED_EINSUM, "repeated_einsum")               \
  X(LOOM_ERR_CAPACITY, "capacity")                             \
  X(LOOM_ERR_CAPACITY_JOINT, "capacity_joint")                 \
  X(LOOM_ERR_FANOUT, "fanout")                                 \
  X(LOOM_ERR_SPATIAL_TEMPORAL_ORDER, "spatial_temporal_order") \
  X(LOOM_ERR_STORAGE_ORDER, "storage_order")                   \
  X(LOOM_ERR_TOLL_OUTERMOST, "toll_outermost")                 \
  X(LOOM_ERR_MISSING_STORAGE, "missing_storage")               \
  X(LOOM_ERR_DUPLICATE_STORAGE, "duplicate_storage")           \
  X(LOOM_ERR_BAD_TILE_SHAPE, "bad_tile_shape")                 \
  X(LOOM_ERR_BAD_WORKLOAD, "bad_workload")                     \
  X(LOOM_ERR_BAD_ARCH, "bad_arch")                             \
  X(LOOM_ERR_BAD_MAPPING, "bad_mapping")                       \
  X(LOOM_ERR_CANNOT_SPLIT, "cannot_split")                     \
  X(LOOM_ERR_INCOMPLETE_SPLIT, "incomplete_split")             \
  X(LOOM_ERR_BAD_GRAPH, "bad_graph")

typedef enum loom_status {
#define LOOM_STATUS_ENUM(enumerator, kind) enumerator,
  LOOM_STATUS_LIST(LOOM_STATUS_ENUM)
#undef LOOM_STATUS_ENUM
} loom_status;

/* The printed kind of a status, e.g. "missing_loop". */
LOOM_API const char *loom_status_kind(loom_status status);

/* ---- context ------------------------------------------------------------------------------ */

LOOM_API LOOM_GIVE loom_ctx *loom_ctx_new(void);
/* Frees the context and every expression; objects made in it must have been freed before. */
LOOM_API void loom_ctx_free(loom_ctx *ctx);

/* The first error since the last loom_error_clear. */
LOOM_API loom_status loom_error_status(const loom_ctx *ctx);
LOOM_API const char *loom_error_message(const loom_ctx *ctx);
/* Byte offset in the parsed text (0-based), or -1. */
LOOM_API ptrdiff_t loom_error_offset(const loom_ctx *ctx);
LOOM_API void loom_error_clear(loom_ctx *ctx);
/* Record an error (for callbacks): the first one stays.  Returns status. */
LOOM_API loom_status loom_error_set(loom_ctx *ctx, loom_status status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Asks long calls in the context (searches) to end with LOOM_ERR_STOPPED within 50 ms; it stays asked
** until loom_go_on.  May be called from a signal handler and from any thread. */
LOOM_API void loom_stop(loom_ctx *ctx);
LOOM_API void loom_go_on(loom_ctx *ctx);
/* A function that long calls ask every few milliseconds, on the thread of the call; true stops it.
** NULL: none. */
typedef bool loom_watch(void *data);
LOOM_API void loom_set_watch(loom_ctx *ctx, loom_watch *watch, void *data);

/* Frees what the library handed out with LOOM_GIVE as plain memory (strings). */
LOOM_API void loom_free(void *memory);

/* Collection.  Objects (workloads, architectures, mappings, results) mark what they hold; the
** caller marks the handles it still uses.  Unmarked expressions die and their handles go stale. */
LOOM_API bool loom_gc_due(const loom_ctx *ctx); /* the node table has doubled since the last one */
LOOM_API void loom_gc_begin(loom_ctx *ctx);
LOOM_API void loom_gc_mark(loom_ctx *ctx, loom_expr e);
LOOM_API void loom_gc_end(loom_ctx *ctx);
LOOM_API size_t loom_ctx_nodes(const loom_ctx *ctx); /* live nodes */
LOOM_API size_t loom_ctx_bytes(const loom_ctx *ctx); /* memory held */

/* Scratch region: release drops every expression made since its mark.  Regions nest; collection
** does not run inside one. */
LOOM_API uint32_t loom_scratch_mark(loom_ctx *ctx);
LOOM_API loom_status loom_scratch_release(loom_ctx *ctx, uint32_t mark);

/* The generation of a live handle's slot; a handle kept with its generation is live while equal. */
LOOM_API uint32_t loom_expr_generation(const loom_ctx *ctx, loom_expr e); /* 0: not live */

LOOM_C_END

#endif
