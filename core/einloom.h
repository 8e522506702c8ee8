/* SPDX-License-Identifier: MIT */
/* einloom: exact symbolic analysis of tensor computations on machines.  The only installed header.
**
** One context owns every expression and belongs to one thread.  A fallible call returns LOOM_NONE,
** NULL, -1 or a loom_status other than LOOM_OK; what went wrong is then in the context
** (loom_error_*).  LOOM_NONE given to an expression function gives LOOM_NONE back and leaves the
** first error in place, so a chain of calls needs one check.  No call prints, exits or jumps. */
#ifndef EINLOOM_H
#define EINLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(LOOM_BUILD) && defined(__GNUC__)
#define LOOM_API __attribute__((visibility("default")))
#else
#define LOOM_API
#endif

#define LOOM_VERSION "0.1.0"

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

/* ---- expressions: building ---------------------------------------------------------------- */

/* X(enumerator, name).  Order is strength: it is the major key of the canonical order. */
#define LOOM_KIND_LIST(X)                                               \
  X(LOOM_NUM, "num") /* exact rational */                               \
  X(LOOM_SYM, "sym") /* symbol with assumptions */                      \
  X(LOOM_POW, "pow") /* base ^ integer exponent, exponent not 0 or 1 */ \
  X(LOOM_MUL, "mul") /* product of two or more powers */                \
  X(LOOM_ADD, "add") /* constant + sum of coefficient * term */         \
  X(LOOM_MIN, "min")                                                    \
  X(LOOM_MAX, "max")                                                    \
  X(LOOM_FLOOR, "floor")                                                \
  X(LOOM_CEIL, "ceil")                                                  \
  X(LOOM_FLOORDIV, "floor_div") /* floor(a / b) */                      \
  X(LOOM_MOD, "mod")            /* a - b * floor(a / b) */              \
  X(LOOM_MODIDX, "mod_index")   /* (a // d) % m */                      \
  X(LOOM_LT, "lt")              /* a < b: 1 or 0 */                     \
  X(LOOM_LE, "le")              /* a <= b: 1 or 0 */                    \
  X(LOOM_EQ, "eq")              /* a == b: 1 or 0 */                    \
  X(LOOM_SELECT, "select")      /* c ~= 0 ? a : b */                    \
  X(LOOM_OPAQUE, "opaque")      /* a, into which no rule looks */       \
  X(LOOM_CALL, "call")          /* a named function of its arguments */

typedef enum loom_kind {
#define LOOM_KIND_ENUM(enumerator, name) enumerator,
  LOOM_KIND_LIST(LOOM_KIND_ENUM)
#undef LOOM_KIND_ENUM
} loom_kind;

LOOM_API loom_expr loom_int(loom_ctx *ctx, int64_t value);
LOOM_API loom_expr loom_ratio(loom_ctx *ctx, int64_t numerator, int64_t denominator);
/* An exact number from text: [-]digits[.digits][e[+-]digits] or p/q, any length. */
LOOM_API loom_expr loom_decimal(loom_ctx *ctx, const char *text, size_t length);
/* The shortest decimal that reads back as value, as an exact rational; inf and nan are errors. */
LOOM_API loom_expr loom_real(loom_ctx *ctx, double value);

/* What is known of a symbol.  The default (NULL) is a positive integer.  A symbol is its name and
** its assumptions: the same name with others is another symbol. */
typedef struct loom_assume {
  bool integer;
  bool has_min, has_max;
  int64_t min, max;  /* inclusive */
  int64_t multiple;  /* value is a multiple of this; 0 or 1: nothing known */
  loom_expr divides; /* value divides this expression; LOOM_NONE: nothing known */
} loom_assume;
LOOM_API loom_expr loom_symbol(loom_ctx *ctx, const char *name, const loom_assume *assume);

LOOM_API loom_expr loom_add(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_sub(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_neg(loom_ctx *ctx, loom_expr a);
LOOM_API loom_expr loom_mul(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_div(loom_ctx *ctx, loom_expr a, loom_expr b); /* exact quotient */
LOOM_API loom_expr loom_pow(loom_ctx *ctx, loom_expr a, int64_t exponent);
LOOM_API loom_expr loom_floor(loom_ctx *ctx, loom_expr a);
LOOM_API loom_expr loom_ceil(loom_ctx *ctx, loom_expr a);
LOOM_API loom_expr loom_floor_div(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_mod(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_mod_index(loom_ctx *ctx, loom_expr a, loom_expr d, loom_expr m);
LOOM_API loom_expr loom_lt(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_le(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_eq(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_expr loom_select(loom_ctx *ctx, loom_expr c, loom_expr a, loom_expr b);
/* The value of a as one atom: rules see its bounds and whether it is an integer, no more. */
LOOM_API loom_expr loom_opaque(loom_ctx *ctx, loom_expr a);
/* N-ary builders: linear-ish where repeated binary calls are quadratic.  n = 0: 0, 1, error. */
LOOM_API loom_expr loom_sum(loom_ctx *ctx, size_t n, const loom_expr *terms);
LOOM_API loom_expr loom_product(loom_ctx *ctx, size_t n, const loom_expr *factors);
LOOM_API loom_expr loom_min(loom_ctx *ctx, size_t n, const loom_expr *args);
LOOM_API loom_expr loom_max(loom_ctx *ctx, size_t n, const loom_expr *args);

/* ---- expressions: named functions --------------------------------------------------------- */

/* A function that is computed rather than spelled.  A call of it on numbers is its value; on
** anything else it stays `name(arguments)` until substitution or evaluation gives numbers.
** A function does not change, belongs to no context, and is shared by the nodes and programs that
** call it; functions that agree in all of loom_function_info, data byte by byte, are the same. */
typedef struct loom_function loom_function;
#define LOOM_MOST_ARGUMENTS 64

/* The value at integers.  Pure, since programs call it from several threads, and of bounded work:
** where the value is not found, a status other than LOOM_OK and what is wrong in message (of size
** bytes). */
typedef loom_status (*loom_evaluator)(const void *data, const int64_t *args, int64_t *value,
                                      char *message, size_t size);
/* A number the value never exceeds for arguments within [lo[i], hi[i]] (INT64_MIN, INT64_MAX: no
** bound); false: none is known.  Pure too. */
typedef bool (*loom_upper_bound)(const void *data, const int64_t *lo, const int64_t *hi,
                                 int64_t *bound);
typedef struct loom_function_info {
  const char *name; /* letters, digits and _ */
  size_t arity;     /* up to LOOM_MOST_ARGUMENTS */
  loom_evaluator evaluate;
  loom_upper_bound upper; /* NULL: no upper bound */
  bool has_min;
  int64_t min; /* no value is less */
  const void *data;
  size_t size; /* bytes of data; copied */
} loom_function_info;
LOOM_API LOOM_GIVE loom_function *loom_function_new(loom_ctx *ctx, const loom_function_info *info);
/* Gives up the caller's hold; nodes and programs that call it keep theirs. */
LOOM_API void loom_function_free(loom_function *f);
LOOM_API loom_expr loom_call(loom_ctx *ctx, const loom_function *f, size_t n,
                             const loom_expr *args);

/* ---- expressions: looking at them --------------------------------------------------------- */

LOOM_API loom_kind loom_expr_kind(const loom_ctx *ctx, loom_expr e);
LOOM_API const char *loom_kind_name(loom_kind kind);
/* Kind, number of arguments and the i-th: for add, terms with their coefficient multiplied in (the
** constant, if not 0, first); for mul, the coefficient, if not 1, then powers (3 * x is a mul here);
** for pow, base and exponent.  Building the kind from the arguments gives e. */
LOOM_API size_t loom_expr_arity(const loom_ctx *ctx, loom_expr e);
LOOM_API loom_expr loom_expr_arg(loom_ctx *ctx, loom_expr e, size_t i);
LOOM_API const char *loom_symbol_name(const loom_ctx *ctx, loom_expr e);
/* Of a call, else NULL. */
LOOM_API const char *loom_call_name(const loom_ctx *ctx, loom_expr e);
LOOM_API const loom_function *loom_call_function(const loom_ctx *ctx, loom_expr e);
LOOM_API bool loom_symbol_assume(const loom_ctx *ctx, loom_expr e, loom_assume *out);
/* True and the value if e is a number that fits. */
LOOM_API bool loom_as_int(const loom_ctx *ctx, loom_expr e, int64_t *value);
LOOM_API bool loom_as_ratio(const loom_ctx *ctx, loom_expr e, int64_t *num, int64_t *den);
/* A number rounded once to the nearest double; false if e is not a number. */
LOOM_API bool loom_as_real(const loom_ctx *ctx, loom_expr e, double *value);
/* The distinct symbols of e in canonical order: writes up to capacity, returns how many there are.
 */
LOOM_API size_t loom_expr_symbols(loom_ctx *ctx, loom_expr e, loom_expr *out, size_t capacity);
/* Total structural order, independent of the history of the context: <0, 0, >0. */
LOOM_API int loom_expr_order(const loom_ctx *ctx, loom_expr a, loom_expr b);
/* Distinct sub-expressions of e. */
LOOM_API size_t loom_expr_size(loom_ctx *ctx, loom_expr e);

typedef enum loom_answer { LOOM_NO = 0, LOOM_YES = 1, LOOM_UNKNOWN = 2 } loom_answer;

/* Facts: true at every point that the symbols' assumptions allow. */
LOOM_API loom_answer loom_is_integer(const loom_ctx *ctx, loom_expr e);
/* Bounds as numbers, LOOM_NONE where unbounded or unknown. */
LOOM_API loom_status loom_bounds(loom_ctx *ctx, loom_expr e, loom_expr *lo, loom_expr *hi);
/* e == remainder modulo modulus for an integer e; modulus 0: e is the constant remainder; 1:
 * nothing known. */
LOOM_API void loom_residue(const loom_ctx *ctx, loom_expr e, int64_t *modulus, int64_t *remainder);
/* Questions under the assumptions: LOOM_YES and LOOM_NO are proofs, LOOM_UNKNOWN says nothing.  They
** decide at least what building a comparison, min or max decides, and often more. */
LOOM_API loom_answer loom_known_lt(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_answer loom_known_le(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_answer loom_known_eq(loom_ctx *ctx, loom_expr a, loom_expr b);
LOOM_API loom_answer loom_known_divides(loom_ctx *ctx, loom_expr d, loom_expr a);

/* ---- expressions: working with them ------------------------------------------------------- */

/* Simultaneous substitution of n symbols.  A division by zero is an error unless it stands on the
** side of a select that does not count; so it is in exact evaluation. */
LOOM_API loom_expr loom_substitute(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *symbols,
                                   const loom_expr *values);
LOOM_API loom_expr loom_expand(loom_ctx *ctx,
                               loom_expr e); /* products over sums, within a budget */
/* Derivative; piecewise: min, max by select, floor, ceil, // and comparisons are flat.  A call whose
** arguments change has none: an error. */
LOOM_API loom_expr loom_diff(loom_ctx *ctx, loom_expr e, loom_expr symbol);
/* e(symbol + step) - e(symbol). */
LOOM_API loom_expr loom_difference(loom_ctx *ctx, loom_expr e, loom_expr symbol, loom_expr step);
/* Values of symbol in [lo, hi] at which some min, max, floor, ceil, //, % or comparison in e
** (with every other symbol substituted) changes its piece; ascending, up to capacity; returns how
** many.  A call of a named function has no pieces to tell: an error. */
LOOM_API ptrdiff_t loom_breakpoints(loom_ctx *ctx, loom_expr e, loom_expr symbol, int64_t lo,
                                    int64_t hi, int64_t *out, size_t capacity);

/* ---- expressions: index arithmetic -------------------------------------------------------- */

/* The rules are those of loop-kernel compilers (doc/formulas.md#index-arithmetic).  A rewriting keeps
** the value at every point that the assumptions and what is given allow. */

/* 0 <= variable < size. */
typedef struct loom_extent {
  loom_expr variable, size;
} loom_extent;

/* An example value of a symbolic size, a number; LOOM_NONE: a size without one.  Never used as
** proof. */
typedef struct loom_hint {
  loom_expr symbol, value;
} loom_hint;

/* What is given in a place beside the assumptions of symbols.  Where a function takes it, NULL is
** nothing.  Extents of equal variables all hold; one of size 0 or less is not used. */
typedef struct loom_given {
  const loom_extent *extents;
  size_t n_extents;
  const loom_hint *hints;
  size_t n_hints;
  bool strict; /* proofs of loom_known by all means, not only by those of the reference */
} loom_given;

/* e without its opaque nodes: their arguments in their place. */
LOOM_API loom_expr loom_reveal(loom_ctx *ctx, loom_expr e);
/* Products distributed over sums everywhere, building rules run again. */
LOOM_API loom_expr loom_simplify(loom_ctx *ctx, loom_expr e);
/* In every sum: s*((b // d) % m) + s*m*((b // (d*m)) % n) = s*((b // d) % (m*n)), the same with
** b // (d*m) = s*(b // d). */
LOOM_API loom_expr loom_join(loom_ctx *ctx, loom_expr e);
/* Simplified and joined, and divisions and remainders resolved by the extents, until nothing
** changes. */
LOOM_API loom_expr loom_simplify_in(loom_ctx *ctx, loom_expr e, const loom_given *given);
/* (x % a) % b = x % b for numbers of which b divides a, x a symbol known not to be negative, if e is
** that as a whole; else e. */
LOOM_API loom_expr loom_pair_mod(loom_ctx *ctx, loom_expr e, const loom_given *given);
/* e = numerator // divisor for a sum of numbers (not 1) times symbols and one symbol // number, the
** symbols known not to be negative.  False: e is no such sum, or an error. */
LOOM_API bool loom_expand_div(loom_ctx *ctx, loom_expr e, const loom_given *given,
                              loom_expr *numerator, loom_expr *divisor);

typedef enum loom_relation {
  LOOM_REL_EQ,
  LOOM_REL_LE,
  LOOM_REL_LT,
  LOOM_REL_GE,
  LOOM_REL_GT,
  LOOM_REL_MULTIPLE /* a is an integer times b */
} loom_relation;
/* Whether the relation is proved.  By default with what the reference uses (the difference folds,
** an extent says it, or interval arithmetic over the symbols shifted to start at 1); a multiple of or by a size that has no hint is never known, nor one with more than 20 symbols.
** strict: with all that loom_known_lt and the others know.  False with an error too. */
LOOM_API bool loom_known(loom_ctx *ctx, loom_relation relation, loom_expr a, loom_expr b,
                         const loom_given *given);
/* The value of e at the hints: true and a number; false if a symbol has none, or an error. */
LOOM_API bool loom_hint_value(loom_ctx *ctx, loom_expr e, const loom_given *given,
                              loom_expr *value);
/* The same; where a symbol has no hint, fallback clamped to the bounds of e. */
LOOM_API loom_expr loom_hint_or(loom_ctx *ctx, loom_expr e, const loom_given *given,
                                int64_t fallback);

/* The step of e along each of n variables at the origin: e at 1 less e at 0, the other support
** variables (NULL: the n themselves) being 0.  The stride of a number is 0. */
LOOM_API loom_status loom_strides(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *variables,
                                  size_t n_support, const loom_expr *support, loom_expr *strides);
/* Strides at the hints, as integers; symbols named indirect... count as 0, and so does what has no
** value then. */
LOOM_API loom_status loom_stride_hints(loom_ctx *ctx, loom_expr e, size_t n,
                                       const loom_expr *variables, size_t n_support,
                                       const loom_expr *support, const loom_given *given,
                                       loom_expr *hints);
/* e with the n variables at 0. */
LOOM_API loom_expr loom_offset(loom_ctx *ctx, loom_expr e, size_t n, const loom_expr *variables);
/* Merges loops that all formulas walk as one: the inner one becomes size_i * size_j long, the outer
** one dies, as do loops of size 1.  keep_order: no merging that changes the order of iterations.
** Writes the positions of the loops that are left and their sizes (room for n), and returns how many
** there are, -1 with an error.  With variables of the new loops in place of the old ones that are
** left and 0 in place of the others the formulas take the same values. */
LOOM_API ptrdiff_t loom_merge_loops(loom_ctx *ctx, size_t n, const loom_expr *variables,
                                    const loom_expr *sizes, size_t n_formulas,
                                    const loom_expr *formulas, bool keep_order, size_t *kept,
                                    loom_expr *new_sizes);

/* The terms of e (expanded, opaque nodes revealed) in which variable occurs. */
LOOM_API loom_expr loom_terms_of(loom_ctx *ctx, loom_expr e, loom_expr variable);
/* Whether e = stride * variable with an integer stride free of it. */
LOOM_API bool loom_affine(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr *stride);
/* Whether e is the address of n >= 1 nested blocks of which variable counts the extent elements:
** e = strides[0]*(variable // P[0]) + sum of strides[k]*((variable // P[k]) % dims[k]), P[k] the
** product of the dims after k, dims[0] = extent / P[0].  pieces: what stands beside the strides.
** Each array has room for n. */
LOOM_API bool loom_match_blocks(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr extent,
                                size_t n, loom_expr *dims, loom_expr *strides, loom_expr *pieces);

typedef enum loom_style { LOOM_INFIX, LOOM_C, LOOM_LATEX, LOOM_LUA } loom_style;
LOOM_API LOOM_GIVE char *loom_print(loom_ctx *ctx, loom_expr e, loom_style style);
/* Infix text to an expression.  Names are looked up among the n given symbols first; any other
** becomes a symbol with the given assumptions (NULL: positive integer). */
LOOM_API loom_expr loom_parse(loom_ctx *ctx, const char *text, size_t length, size_t n,
                              const loom_expr *symbols, const loom_assume *others);

/* A tape for a set of expressions over given symbols: immutable, independent of the context, usable
** from several threads at once. */
LOOM_API LOOM_GIVE loom_program *loom_compile(loom_ctx *ctx, size_t n_outputs,
                                              const loom_expr *outputs, size_t n_symbols,
                                              const loom_expr *symbols);
LOOM_API void loom_program_free(loom_program *program);
LOOM_API size_t loom_program_inputs(const loom_program *program);
LOOM_API size_t loom_program_outputs(const loom_program *program);
LOOM_API size_t loom_program_length(const loom_program *program); /* instructions */
/* n points at once: inputs[i][p] is symbol i at point p, outputs[j][p] likewise.  Division by zero
** gives inf or nan there.  LOOM_ERR_MEMORY is the only failure. */
LOOM_API loom_status loom_program_eval(const loom_program *program, size_t n,
                                       const double *const *inputs, double *const *outputs);
/* One point, exactly, with numbers of ctx (any context, used by this thread alone). */
LOOM_API loom_status loom_program_exact(const loom_program *program, loom_ctx *ctx,
                                        const loom_expr *inputs, loom_expr *outputs);

/* ---- workload ----------------------------------------------------------------------------- */

/* Names are copied.  Sizes, bits and repeats are expressions (usually numbers), in values and bits.
** Builders return an index (0, 1, ...) or -1, or a status. */
LOOM_API LOOM_GIVE loom_workload *loom_workload_new(loom_ctx *ctx);
LOOM_API void loom_workload_free(loom_workload *w);
LOOM_API loom_status loom_workload_variable(loom_workload *w, const char *variable, loom_expr size);
LOOM_API loom_status loom_workload_repeat(loom_workload *w, loom_expr n_instances);
LOOM_API int loom_workload_einsum(loom_workload *w, const char *name, bool is_copy,
                                  loom_expr n_instances);
LOOM_API int loom_workload_access(loom_workload *w, int einsum, const char *tensor, bool output,
                                  loom_expr bits_per_value);
/* The next rank of an access: constant + sum of coefficient * variable. */
LOOM_API loom_status loom_workload_rank(loom_workload *w, int einsum, int access, const char *rank,
                                        int64_t constant, size_t n_terms,
                                        const char *const *variables, const int64_t *coefficients);

/* The next rank of an access whose index is no such sum, as steps on a stack of integers: put a
** variable or a constant there; replace the two topmost by their sum; multiply the topmost, divide it
** (floor) or take its remainder (that of floor division) by a value, above 0 for the last two.  One
** integer is left. */
typedef enum loom_index_operation {
  LOOM_INDEX_VARIABLE,
  LOOM_INDEX_CONSTANT,
  LOOM_INDEX_ADD,
  LOOM_INDEX_SCALE,
  LOOM_INDEX_FLOOR_DIV,
  LOOM_INDEX_MOD
} loom_index_operation;
typedef struct loom_index_step {
  loom_index_operation operation;
  const char *variable;
  int64_t value;
} loom_index_step;
LOOM_API loom_status loom_workload_index(loom_workload *w, int einsum, int access, const char *rank,
                                         size_t n_steps, const loom_index_step *steps);

typedef enum loom_relevancy {
  LOOM_IRRELEVANT,
  LOOM_RELEVANT,
  LOOM_PARTIALLY_RELEVANT
} loom_relevancy;
/* Geometry of an access.  -1 or LOOM_NONE with an error for an unknown name. */
LOOM_API int loom_workload_relevancy(loom_workload *w, int einsum, int access,
                                     const char *variable);
LOOM_API loom_status loom_workload_stride_halo(loom_workload *w, int einsum, int access, int rank,
                                               const char *variable, loom_expr *stride,
                                               loom_expr *halo);
/* Values in the bounding box of a tile: n variables with their extents, all others whole. */
LOOM_API loom_expr loom_workload_tile_occupancy(loom_workload *w, int einsum, int access, size_t n,
                                                const char *const *variables,
                                                const loom_expr *extents);
LOOM_API int loom_workload_used_alone(loom_workload *w, int einsum, const char *variable);

/* How a loop cuts an extent: stride and up to two runs of (tile extent, repeats). */
typedef enum loom_tiling_mode {
  LOOM_WHOLE_TRIPS,     /* extent / tile repeats, maybe a fraction */
  LOOM_FIRST_TILE,      /* one first tile, then ceil of the rest */
  LOOM_EXACT_LAST_TILE, /* whole tiles, then what is left */
  LOOM_AVERAGE          /* as whole trips: tiles of average extent */
} loom_tiling_mode;
typedef struct loom_tiles {
  loom_expr stride;
  int n; /* 1 or 2 */
  loom_expr extent[2], repeats[2];
} loom_tiles;
LOOM_API loom_status loom_tile_sequence(loom_ctx *ctx, loom_tiling_mode mode, loom_expr outer,
                                        loom_expr tile, loom_expr first, loom_tiles *out);

/* ---- architecture ------------------------------------------------------------------------- */

typedef enum loom_class { LOOM_MEMORY, LOOM_TOLL, LOOM_COMPUTE, LOOM_CONTAINER } loom_class;
typedef enum loom_direction { LOOM_UP = 1, LOOM_DOWN = 2, LOOM_UP_AND_DOWN = 3 } loom_direction;

/* Numbers of a component: X(enumerator, name). LOOM_NONE for size and throughput: without limit. */
#define LOOM_COMPONENT_NUMBER_LIST(X)                  \
  X(LOOM_SIZE, "size")                                 \
  X(LOOM_LEAK_POWER, "leak_power")                     \
  X(LOOM_ACTIONS_SCALE, "actions_scale")               \
  X(LOOM_N_PARALLEL_INSTANCES, "n_parallel_instances") \
  X(LOOM_AREA, "area")
typedef enum loom_component_number {
#define LOOM_NUMBER_ENUM(enumerator, name) enumerator,
  LOOM_COMPONENT_NUMBER_LIST(LOOM_NUMBER_ENUM)
#undef LOOM_NUMBER_ENUM
      LOOM_N_COMPONENT_NUMBERS
} loom_component_number;

typedef enum loom_latency_rule {
  LOOM_SUM_COUNT_OVER_THROUGHPUT,
  LOOM_MAX_COUNT_OVER_THROUGHPUT,
  LOOM_SUM_COUNT_OVER, /* divided by the value */
  LOOM_CONSTANT_LATENCY
} loom_latency_rule;

LOOM_API LOOM_GIVE loom_arch *loom_arch_new(loom_ctx *ctx);
LOOM_API void loom_arch_free(loom_arch *a);
/* The next component of list 0, outermost first. */
LOOM_API int loom_arch_component(loom_arch *a, loom_class class_, const char *name);
/* A machine with several kinds of units is a tree: a fork ends a list, its branches are lists that go
** on below the list's last component.  Every einsum runs on the way from list 0 to one compute unit:
** it holds tensors and spreads loops there alone, and what is below or above a component follows
** the tree. */
LOOM_API int loom_arch_component_in(loom_arch *a, int list, loom_class class_, const char *name);
LOOM_API int loom_arch_fork(loom_arch *a, int list);
LOOM_API int loom_arch_branch(loom_arch *a, int fork); /* returns a list */
LOOM_API loom_status loom_arch_number(loom_arch *a, int component, loom_component_number which,
                                      loom_expr value);
LOOM_API loom_status loom_arch_skip_initial_output_write(loom_arch *a, int component, bool skip);
LOOM_API loom_status loom_arch_latency_rule(loom_arch *a, int component, loom_latency_rule rule,
                                            loom_expr value);
/* Actions: "read" and "write" of a memory, "read" of a toll, "compute". LOOM_NONE: energy 0,
** throughput without limit, bits_per_action 1. */
LOOM_API loom_status loom_arch_action(loom_arch *a, int component, const char *action,
                                      loom_expr energy, loom_expr throughput,
                                      loom_expr bits_per_action);
LOOM_API int loom_arch_dimension(loom_arch *a, int component, const char *name, loom_expr fanout,
                                 loom_expr usage_scale, bool power_gateable);
/* Per-tensor settings; einsum NULL: in every einsum, tensor NULL: every tensor.  A setting with the
** einsum wins, then one with the tensor, then the last given.  Nothing given: no reuse, the tensor's
** own bits, bits / bits_per_action, both directions. */
LOOM_API loom_status loom_arch_may_reuse(loom_arch *a, int component, int dimension,
                                         const char *einsum, const char *tensor); /* NULL: all */
LOOM_API loom_status loom_arch_bits_per_value(loom_arch *a, int component, const char *einsum,
                                              const char *tensor, loom_expr bits);
LOOM_API loom_status loom_arch_values_per_action(loom_arch *a, int component, const char *action,
                                                 const char *einsum, const char *tensor,
                                                 loom_expr values); /* action NULL: all */
LOOM_API loom_status loom_arch_direction(loom_arch *a, int component, const char *einsum,
                                         const char *tensor, loom_direction d); /* NULL: all */

/* ---- mapping ------------------------------------------------------------------------------ */

/* X(enumerator, name) */
#define LOOM_NODE_LIST(X)                 \
  X(LOOM_NODE_STORAGE, "storage")         \
  X(LOOM_NODE_TOLL, "toll")               \
  X(LOOM_NODE_TEMPORAL, "temporal")       \
  X(LOOM_NODE_SPATIAL, "spatial")         \
  X(LOOM_NODE_SEQUENTIAL, "sequential")   \
  X(LOOM_NODE_PIPELINE, "pipeline")       \
  X(LOOM_NODE_PARALLEL, "parallel")       \
  X(LOOM_NODE_RESERVATION, "reservation") \
  X(LOOM_NODE_COMPUTE, "compute")         \
  X(LOOM_NODE_CUSTOM, "custom")
typedef enum loom_node_kind {
#define LOOM_NODE_ENUM(enumerator, name) enumerator,
  LOOM_NODE_LIST(LOOM_NODE_ENUM)
#undef LOOM_NODE_ENUM
} loom_node_kind;

/* Nodes are added to a list, outermost first: list 0 is the root, others are branches. */
LOOM_API LOOM_GIVE loom_mapping *loom_mapping_new(loom_ctx *ctx);
LOOM_API void loom_mapping_free(loom_mapping *m);
LOOM_API int loom_mapping_storage(loom_mapping *m, int list, const char *component, bool persistent,
                                  bool may_lower);
LOOM_API int loom_mapping_toll(loom_mapping *m, int list, const char *component, bool may_lower);
/* A holder of a kind of its own: `kind` names the analyzer given to loom_analyze. */
LOOM_API int loom_mapping_custom(loom_mapping *m, int list, const char *kind, const char *component,
                                 bool may_lower);
LOOM_API loom_status loom_mapping_tensor(loom_mapping *m, int holder, const char *tensor);
/* What becomes of the contents of a storage node at the end of a visit: dropped, or kept so that
** only the difference to the next tile moves.  A node that is not told follows loom_options. */
typedef enum loom_lifetime { LOOM_SCOPE, LOOM_RETAIN } loom_lifetime;
LOOM_API loom_status loom_mapping_lifetime(loom_mapping *m, int storage, loom_lifetime lifetime);
/* Tile: extent inside the loop, LOOM_NONE leaves it open (the analysis gives it the symbols of
** loom_loop_symbol); first: extent of the first tile or LOOM_NONE. */
LOOM_API int loom_mapping_temporal(loom_mapping *m, int list, const char *variable, loom_expr tile,
                                   loom_expr first);
LOOM_API int loom_mapping_spatial(loom_mapping *m, int list, const char *variable, loom_expr tile,
                                  loom_expr first, const char *component, const char *dimension);
/* The variable a loop has in one einsum, where it differs. */
LOOM_API loom_status loom_mapping_variable_in(loom_mapping *m, int loop, const char *einsum,
                                              const char *variable);
/* The tiles of a loop start every `step` values where that is less than their extent: what two of
** them share is gone through, and computed, twice.  There are as many as reach the end of the extent
** around the loop; the last is clipped there. */
LOOM_API loom_status loom_mapping_step(loom_mapping *m, int loop, loom_expr step);
/* The tiles of a shared loop in one einsum, after loom_mapping_variable_in; first and step LOOM_NONE:
** none. */
LOOM_API loom_status loom_mapping_tile_in(loom_mapping *m, int loop, const char *einsum,
                                          loom_expr tile, loom_expr first, loom_expr step);
/* Splits: the branches run one after the other in each iteration of the loops above; as the stages of
** a pipeline over the iterations of the loops in the same list; or at the same time.  They differ in
** elapsed time and in what is in memory together, not in reuse. */
LOOM_API int loom_mapping_sequential(loom_mapping *m, int list);
LOOM_API int loom_mapping_pipeline(loom_mapping *m, int list);
LOOM_API int loom_mapping_parallel(loom_mapping *m, int list);
LOOM_API int loom_mapping_branch(loom_mapping *m, int split); /* returns a list */
LOOM_API int loom_mapping_compute(loom_mapping *m, int list, const char *einsum,
                                  const char *component);
/* Where a node was written ("file.loom:3:7"), for messages; without it they give the node's path.
 */
LOOM_API loom_status loom_mapping_where(loom_mapping *m, int node, const char *where);

/* The symbols of an open mapping, named after the position of a loop among the loops of its path:
** stride0 (the open tile shape), initial0 (the first tile), n_iterations0.  Positive integers. */
typedef enum loom_loop_quantity {
  LOOM_LOOP_STRIDE,
  LOOM_LOOP_INITIAL,
  LOOM_LOOP_ITERATIONS
} loom_loop_quantity;
LOOM_API loom_expr loom_loop_symbol(loom_ctx *ctx, loom_loop_quantity which, int loop);

/* ---- reuse analysis ----------------------------------------------------------------------- */

/* Statistics of a buffet: one tensor at one level of one einsum.
** Classes say which loops multiply a field (doc/formulas.md):
** PARENT about traffic to the next outer holder; TOTAL summed over all instances; UNIT of the
** busiest instance; SKIP first touches, not repeated by loops that leave the tile in place; EXACT
** counted by the model `exact` alone: LOOM_NONE in others.
** X(field, classes) */
#define LOOM_BUFFET_FIELD_LIST(X)                                              \
  X(total_reads_to_parent, LOOM_F_PARENT)                                      \
  X(total_writes_to_parent, LOOM_F_PARENT)                                     \
  X(max_per_parent_reads_to_parent, LOOM_F_PARENT)                             \
  X(max_per_parent_writes_to_parent, LOOM_F_PARENT)                            \
  X(total_skipped_first_reads_to_parent, LOOM_F_PARENT | LOOM_F_SKIP)          \
  X(min_per_parent_skipped_first_reads_to_parent, LOOM_F_PARENT | LOOM_F_SKIP) \
  X(total_read_actions, LOOM_F_TOTAL)                                          \
  X(total_write_actions, LOOM_F_TOTAL)                                         \
  X(max_per_unit_read_actions, LOOM_F_UNIT)                                    \
  X(max_per_unit_write_actions, LOOM_F_UNIT)                                   \
  X(total_skipped_first_read_actions, LOOM_F_TOTAL | LOOM_F_SKIP)              \
  X(total_skipped_first_write_actions, LOOM_F_TOTAL | LOOM_F_SKIP)             \
  X(min_per_unit_skipped_first_read_actions, LOOM_F_UNIT | LOOM_F_SKIP)        \
  X(min_per_unit_skipped_first_write_actions, LOOM_F_UNIT | LOOM_F_SKIP)       \
  X(max_occupancy, LOOM_F_OCCUPANCY)                                           \
  X(total_deliveries, LOOM_F_EXACT)                                            \
  X(total_departures, LOOM_F_EXACT)                                            \
  X(total_drains, LOOM_F_EXACT)                                                \
  X(fewest_live, LOOM_F_EXACT)
enum {
  LOOM_F_PARENT = 1,
  LOOM_F_TOTAL = 2,
  LOOM_F_UNIT = 4,
  LOOM_F_SKIP = 8,
  LOOM_F_OCCUPANCY = 16,
  LOOM_F_EXACT = 32
};
typedef enum loom_buffet_field {
#define LOOM_FIELD_ENUM(field, classes) LOOM_BUFFET_##field,
  LOOM_BUFFET_FIELD_LIST(LOOM_FIELD_ENUM)
#undef LOOM_FIELD_ENUM
      LOOM_N_BUFFET_FIELDS
} loom_buffet_field;
LOOM_API const char *loom_buffet_field_name(loom_buffet_field field);

/* reads, writes, occupancy: values, values, bits; *_actions: actions.  Deliveries: values arriving
** at all instances; departures: values leaving them upwards; drains: departures that are reads of
** the holder; fewest_live: bits that must be there at one time at least, LOOM_NONE too where counting
** them takes too long. */
typedef struct loom_buffet {
  const char *tensor, *level;
  loom_expr field[LOOM_N_BUFFET_FIELDS];
  int n_loops_above; /* loops above the reservation in the tensor's nest; -1 persistent */
  bool persistent;
} loom_buffet;

typedef struct loom_compute_stats {
  const char *level;
  loom_expr total_ops, max_per_unit_ops, max_latency; /* operations, operations, steps */
  loom_expr instances; /* units that compute at least once; model `exact`, else LOOM_NONE */
} loom_compute_stats;

typedef struct loom_fanout {
  const char *component, *dim;
  loom_expr used; /* instances */
} loom_fanout;

/* Latency of the first iteration of a loop of the path (by position among its loops). */
typedef struct loom_first_latency {
  int loop;
  loom_expr steps;
} loom_first_latency;

/* One node of a path or of a tensor's nest.  Names are NULL, expressions LOOM_NONE where not used.
** trips: how often a loop runs, in a nest as the tensor sees it; LOOM_NONE where that depends on
** which tile (first or other) of an outer loop over the variable is meant. */
typedef struct loom_node {
  loom_node_kind kind;
  const char *custom, *tensor, *component, *dim, *variable, *einsum;
  loom_expr tile, first, step, trips;
  bool persistent, backing, fused;
  loom_lifetime lifetime; /* of a storage node: its own or that of loom_options */
  int loop;               /* position among the loops of the path, or -1 */
  int source;             /* number of the mapping's node; of a reservation: its holder's */
} loom_node;

/* What a node is analysed from and gives back, innermost buffet first.  Fields are filled in the
** arrays given; the library owns them.  In the result of an einsum the buffets of all its tensors
** stand one tensor after the other. */
typedef struct loom_stats {
  loom_buffet *buffets;
  size_t n_buffets;
  loom_compute_stats compute;
  loom_fanout *fanout;
  size_t n_fanout;
  loom_first_latency *first_latency;
  size_t n_first_latency;
  loom_expr temporal_steps;
} loom_stats;

/* Extents of the tile at a node, by rank variable. */
typedef struct loom_shape {
  size_t n;
  const char *const *variables;
  const loom_expr *extents;
} loom_shape;

/* A user's analyzer for a holder kind: `stats` holds the child's result on entry and the node's on
** return; the node's buffet is the last one, made by its reservation.  `self` serves
** loom_analyze_as.  Buffets are for changing (fields other than n_loops_above and names); compute,
** fanout, first latency and temporal_steps are those of the loops below, for information: what is
** done to them reaches no result.  Any failure: record with loom_error_set and return it. */
typedef struct loom_analysis loom_analysis;
typedef loom_status (*loom_analyzer)(void *data, loom_ctx *ctx, loom_analysis *self,
                                     const loom_node *node, const loom_shape *shape,
                                     loom_stats *stats);
/* Applies a built-in holder analyzer (storage or toll) to stats, as if the node were of that kind.
 */
LOOM_API loom_status loom_analyze_as(loom_analysis *self, loom_node_kind kind, loom_stats *stats);

typedef struct loom_node_analyzer {
  const char *kind;
  loom_analyzer analyze;
  void *data;
} loom_node_analyzer;

/* How is counted: `reference` with averages and bounding boxes, `exact` what the loop nest really
** does (doc/formulas.md). */
typedef enum loom_model { LOOM_EXACT, LOOM_REFERENCE } loom_model;

typedef struct loom_options {
  loom_model model;
  /* Conventions of the model `exact`; the reference has the first of each pair alone: */
  loom_lifetime lifetime;        /* of storage nodes that do not say: LOOM_SCOPE, LOOM_RETAIN */
  bool uncounted_drains;         /* reading values to write them back is an action, or is not */
  bool partial_sums_to_one_unit; /* all units that reduce into an element get its old sum, or one */
  /* Accepted instead of an error: */
  bool allow_unknown_tensors; /* holders may list tensors no einsum of the workload has */
  /* A tile may be larger than the extent it cuts.  The model `exact` takes such numbers as one piece
  ** all the same; its formulas hold for them with this option. */
  bool allow_growing_tiles;
  bool allow_unmapped_einsums; /* einsums without a compute node are left out */
  bool round_trips; /* open tiles may leave a part: the trips of a variable's outermost loop
                                  are rounded up where numbers would be (doc/formulas.md#trips) */
  const loom_node_analyzer *analyzers;
  size_t n_analyzers;
} loom_options;

/* Analyses every mapped einsum (doc/formulas.md); options NULL: all 0.  NULL and an error when the
** mapping is invalid, or when an error is recorded already.  The result outlives w, a and m. */
LOOM_API LOOM_GIVE loom_result *loom_analyze(const loom_workload *w, const loom_arch *a,
                                             const loom_mapping *m, const loom_options *options);
/* The figures of the model `exact`, counted by walking every point of the loops: numbers only, of
** nests of limited size.  Sizes and tiles are taken where n symbols have their values.  Holders of a
** kind of their own are refused; options->model is not looked at. */
LOOM_API LOOM_GIVE loom_result *loom_simulate(const loom_workload *w, const loom_arch *a,
                                              const loom_mapping *m, const loom_options *options,
                                              size_t n, const loom_expr *symbols,
                                              const loom_expr *values);
LOOM_API void loom_result_free(loom_result *r);
LOOM_API size_t loom_result_einsums(const loom_result *r);
LOOM_API const char *loom_result_einsum(const loom_result *r, size_t einsum);
LOOM_API const loom_stats *loom_result_stats(const loom_result *r, size_t einsum);
/* Symbols of the tile shapes on the einsum's path, by first occurrence. */
LOOM_API size_t loom_result_symbols(const loom_result *r, size_t einsum, const loom_expr **symbols);
/* The path with its reservations; the nest used for one tensor (by access index). */
LOOM_API size_t loom_result_path(const loom_result *r, size_t einsum, const loom_node **nodes);
LOOM_API const char *loom_result_tensor(const loom_result *r, size_t einsum, size_t access);
LOOM_API size_t loom_result_tensors(const loom_result *r, size_t einsum);
LOOM_API size_t loom_result_nest(const loom_result *r, size_t einsum, size_t access,
                                 const loom_node **nodes);

/* ---- cost --------------------------------------------------------------------------------- */

/* What a mapping costs, from its reuse statistics (doc/formulas.md#costs).  Every quantity is an
** expression, a number where workload, architecture and tiles are; energy, time, power and area in
** the units of the architecture, memory in bits and as a fraction of the memory's size (0 of one
** without limit). */

/* The actions of one component, of one tensor (NULL: operations of a compute unit).  First accesses
** that are skipped are not counted; counts are multiplied by the component's actions_scale. */
typedef struct loom_action_cost {
  const char *component, *tensor, *action;
  loom_expr total, max_per_unit; /* over all instances; of the busiest one */
  loom_expr energy;              /* of the total */
} loom_action_cost;

typedef struct loom_component_cost {
  const char *component;
  bool mapped;           /* it holds a tensor or computes */
  loom_expr latency;     /* LOOM_NONE: not mapped */
  loom_expr leak_energy; /* of all instances; LOOM_NONE: a container without leak power */
  loom_expr bits, usage; /* memories that hold something: most at once; else LOOM_NONE */
} loom_component_cost;

/* What one tensor occupies in one memory, and where (-1: persistent). */
typedef struct loom_memory_usage {
  const char *component, *tensor;
  int n_loops_above;
  loom_expr bits, fraction;
} loom_memory_usage;

/* All that is reserved in a memory below at most that many loops. */
typedef struct loom_reserved {
  const char *component;
  int n_loops_above;
  loom_expr bits, fraction;
} loom_reserved;

/* Instances used in a dimension on the way to the compute unit; fraction: of the fanout, times the
** dimension's usage_scale. */
typedef struct loom_spatial_usage {
  const char *component, *dim;
  loom_expr used, fanout, fraction;
} loom_spatial_usage;

/* One einsum, executed once; latency, dynamic_energy and leak_energy are times n_instances, the
** repeats of the einsum and of the workload. */
typedef struct loom_einsum_costs {
  const char *einsum;
  loom_expr n_instances, latency, dynamic_energy, leak_energy;
  const char *bound_by; /* the component whose latency is the einsum's; NULL: symbols decide */
  bool compute_bound;   /* and it is the compute unit */
  loom_action_cost *actions;
  loom_component_cost *components; /* outermost first */
  loom_memory_usage *memory;
  loom_reserved *reserved; /* by component, then ascending n_loops_above */
  loom_spatial_usage *spatial;
  size_t n_actions, n_components, n_memory, n_reserved, n_spatial;
} loom_einsum_costs;

/* What is in a memory while an einsum (by position, `step`) runs; `einsum` reserved it. */
typedef struct loom_resident {
  size_t step;
  const char *component, *tensor, *einsum;
  loom_expr bits, fraction;
} loom_resident;

typedef struct loom_step_usage {
  size_t step;
  const char *component;
  loom_expr bits, fraction;
} loom_step_usage;

typedef struct loom_peak {
  const char *component;
  int step; /* an einsum that runs while most is in use; -1: symbols decide */
  loom_expr bits, fraction;
} loom_peak;

typedef struct loom_component_total {
  const char *component;
  loom_expr energy, dynamic_energy, leak_energy, area; /* area of all instances */
} loom_component_total;

/* A limit of the architecture, met where `condition` (needed <= available) is 1.  Kinds:
** LOOM_ERR_FANOUT (instances, of one einsum), LOOM_ERR_CAPACITY (bits, of one einsum),
** LOOM_ERR_CAPACITY_JOINT (bits, of all einsums; einsum NULL). */
typedef struct loom_constraint {
  loom_status kind;
  const char *einsum, *component, *dim;
  loom_expr needed, available, condition;
} loom_constraint;

/* The whole workload, repeats included. */
typedef struct loom_total_costs {
  loom_expr latency, energy, dynamic_energy, leak_energy, energy_delay_product, area;
  loom_component_total *components; /* containers without energy and area left out */
  loom_peak *peaks;                 /* of the memories that hold something */
  loom_step_usage *steps;           /* of the same, while each einsum runs */
  loom_resident *residents;         /* what the steps are made of */
  loom_constraint *constraints;
  size_t n_components, n_peaks, n_steps, n_residents, n_constraints;
} loom_total_costs;

/* A user's latency of a component in one einsum from what its busiest unit does; called once, with
** formulas.  LOOM_NONE: failed, the error is recorded. */
typedef struct loom_action_count {
  const char *action;
  loom_expr count;      /* actions; steps for a compute unit */
  loom_expr throughput; /* n_parallel_instances included; LOOM_NONE: without limit */
} loom_action_count;
typedef struct loom_latency_query {
  const char *component, *einsum;
  const loom_action_count *actions;
  size_t n_actions;
} loom_latency_query;
typedef loom_expr (*loom_latency)(void *data, loom_ctx *ctx, const loom_latency_query *query);
typedef struct loom_component_latency {
  const char *component;
  loom_latency latency;
  void *data;
} loom_component_latency;

typedef struct loom_cost_options {
  bool allow_exceeded_limits; /* limits that are not met are no errors */
  bool leave_undecided; /* formulas alone: nothing is said of which is largest, nor of limits */
  const loom_component_latency *latencies; /* instead of the components' own rules */
  size_t n_latencies;
} loom_cost_options;

/* Costs of what loom_analyze gave for w, a and m.  A limit of the architecture that is not met is
** an error unless a size or tile is symbolic.  NULL and an error otherwise too.  The costs outlive
** r, w, a and m.  Options NULL: none. */
LOOM_API LOOM_GIVE loom_costs *loom_cost(const loom_result *r, const loom_workload *w,
                                         const loom_arch *a, const loom_mapping *m,
                                         const loom_cost_options *options);
LOOM_API void loom_costs_free(loom_costs *costs);
/* Einsums in the order of loom_result_einsum. */
LOOM_API size_t loom_costs_einsums(const loom_costs *costs);
LOOM_API const loom_einsum_costs *loom_costs_einsum(const loom_costs *costs, size_t einsum);
LOOM_API const loom_total_costs *loom_costs_total(const loom_costs *costs);

/* Energy of the whole workload broken down: rows with the names that are asked for (NULL: the
** others, added up), in order of first occurrence.  Leakage is the action "leak" of no tensor.  The
** rows always add up to the total.  Writes up to capacity, returns how many there are; 0 and an
** error when memory runs out. */
enum { LOOM_BY_EINSUM = 1, LOOM_BY_COMPONENT = 2, LOOM_BY_TENSOR = 4, LOOM_BY_ACTION = 8 };
typedef struct loom_energy {
  const char *einsum, *component, *tensor, *action;
  loom_expr energy;
} loom_energy;
LOOM_API size_t loom_costs_energy(const loom_costs *costs, unsigned by, loom_energy *out,
                                  size_t capacity);

/* ---- ranges of a kernel ------------------------------------------------------------------- */

/* A kernel runs over one flat index for each prefix of its tiling; loop nests of other shapes are
** split onto it.  X(enumerator, name), in the order of every tiling, outermost first. */
#define LOOM_PREFIX_LIST(X) \
  X(LOOM_PREFIX_Z, "z")     \
  X(LOOM_PREFIX_Y, "y")     \
  X(LOOM_PREFIX_X, "x")     \
  X(LOOM_PREFIX_R0, "r0_")  \
  X(LOOM_PREFIX_R1, "r1_")
typedef enum loom_prefix {
#define LOOM_PREFIX_ENUM(enumerator, name) enumerator,
  LOOM_PREFIX_LIST(LOOM_PREFIX_ENUM)
#undef LOOM_PREFIX_ENUM
      LOOM_N_PREFIXES
} loom_prefix;
LOOM_API const char *loom_prefix_name(loom_prefix prefix);
static inline bool loom_prefix_is_reduction(loom_prefix prefix) {
  return prefix >= LOOM_PREFIX_R0;
}

/* Extents of a kernel by prefix, outermost first: prefixes ascend. */
typedef struct loom_tiling {
  size_t n;
  loom_prefix prefix[LOOM_N_PREFIXES];
  loom_expr extent[LOOM_N_PREFIXES];
} loom_tiling;

/* The sizes of a loop nest, outermost first: its pointwise loops, then its reduction loops. */
typedef struct loom_loops {
  const loom_expr *sizes;
  size_t n_pointwise, n_reduction;
} loom_loops;

/* Splitting.  Each loop becomes one piece of a group, or several: then its value is theirs as digits
** of a mixed radix.  A loop of size 1 has no piece, its value is 0. */
typedef struct loom_split_piece {
  loom_expr size;
  size_t group;
} loom_split_piece;
typedef struct loom_getter {
  size_t first, count; /* consecutive pieces, the outermost first; none: 0 */
} loom_getter;
/* Begins as {0}; can be used again and again, loom_split_free gives its memory back.  Or with arrays of
** the caller, which are never moved where capacities suffice: groups + loops, loops. */
typedef struct loom_split {
  loom_split_piece *pieces; /* in order of the groups, outermost first */
  loom_getter *getters;
  size_t n_pieces;
  size_t n_pointwise,
      n_reduction; /* getters; fewer than loops where the groups ended before them */
  bool direct;     /* by loom_map_loops: every loop is one piece, also those of size 1 */
  size_t capacity_pieces, capacity_getters;
} loom_split;

/* strict (of what is given): loops left over when the groups are used up are refused, not ignored. */
typedef struct loom_split_options {
  const loom_given *given; /* of sizes */
  bool any_span;           /* a loop may span any number of groups, else two */
} loom_split_options;

/* Splits loops onto groups (outermost first).  LOOM_ERR_CANNOT_SPLIT where some loop does not fit,
** LOOM_ERR_INCOMPLETE_SPLIT where the loops end before the groups do.  Options NULL: none. */
LOOM_API loom_status loom_split_loops(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                      const loom_loops *loops, const loom_split_options *options,
                                      loom_split *out);
/* The same, but where there are as many groups as lists of loops (two) and each list multiplies to its
** group, the loops themselves are the pieces. */
LOOM_API loom_status loom_map_loops(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                    const loom_loops *loops, const loom_split_options *options,
                                    loom_split *out);
/* Splitting as a question: LOOM_OK, LOOM_ERR_CANNOT_SPLIT or LOOM_ERR_INCOMPLETE_SPLIT without an error
** being recorded; other failures are.  A nest of pointwise loops alone that runs over the groups
** without reduction_extent is asked about with a reduction loop of that size
** (loom_loops_lack_reduction); LOOM_NONE: as it is. */
LOOM_API loom_status loom_loops_fit(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                    const loom_loops *loops, loom_expr reduction_extent,
                                    const loom_split_options *options);
/* Whether a reduction loop of that size has to be added to the (pointwise) loops before they are
** split onto groups of a reduction: the groups multiply to the loops times the extent. */
LOOM_API bool loom_loops_lack_reduction(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                                        const loom_loops *loops, loom_expr reduction_extent,
                                        const loom_split_options *options);
/* The value of a loop from the values of all pieces. */
LOOM_API loom_expr loom_getter_value(loom_ctx *ctx, const loom_split *split, loom_getter getter,
                                     const loom_expr *values);
LOOM_API void loom_split_free(loom_ctx *ctx, loom_split *split);

/* One flat index of a kernel.  Dimensions count from 0; -1: none. */
typedef struct loom_tree {
  loom_prefix prefix;
  loom_expr index, extent;
  int position;   /* x 0, y 1, z 2; of a reduction its place in the tiling */
  int grid_dim;   /* the position of a pointwise tree */
  int tensor_dim; /* the axis of a block of values */
  bool is_loop;   /* the kernel loops over it: a reduction, not in one pass */
} loom_tree;

/* A variable of a kernel: floor(index / divisor) modulo length for the index of its tree. */
typedef struct loom_entry {
  const char *name;
  size_t tree;
  loom_expr variable, divisor, length;
  loom_expr expr; /* in the index of the tree */
} loom_entry;

typedef struct loom_ranges_options {
  loom_split_options split;
  bool one_pass; /* the reduction is done in one pass: its trees are no loops */
  bool no_x;     /* blocks of values have reduction axes alone */
} loom_ranges_options;

/* The ranges of a kernel with this tiling.  Options (NULL: none) are copied, with what is given. */
LOOM_API LOOM_GIVE loom_ranges *loom_ranges_new(loom_ctx *ctx, const loom_tiling *tiling,
                                                const loom_ranges_options *options);
LOOM_API void loom_ranges_free(loom_ranges *r);
LOOM_API size_t loom_ranges_trees(const loom_ranges *r, const loom_tree **trees);
/* Entries in order of creation; they stay where they are until the next one is made. */
LOOM_API size_t loom_ranges_entries(const loom_ranges *r, const loom_entry **entries);
/* The entry of a variable, NULL for other symbols. */
LOOM_API const loom_entry *loom_ranges_entry(const loom_ranges *r, loom_expr variable);

/* The variable with this divisor and length, which is made when no variable of the tree has the same
** expression: named prefix + running number of the kernel. */
LOOM_API loom_expr loom_ranges_lookup(loom_ranges *r, size_t tree, loom_expr divisor,
                                      loom_expr length);
/* Variables for n lengths, outermost first, that together run over the tree. */
LOOM_API loom_status loom_ranges_construct(loom_ranges *r, size_t tree, size_t n,
                                           const loom_expr *lengths, loom_expr *variables);
/* The variables of the tree in index, and those that fill the gaps between them, with their sizes,
** outermost first.  The lists stay until the next call. */
LOOM_API loom_status loom_ranges_vars_and_sizes(loom_ranges *r, size_t tree, loom_expr index,
                                                size_t *n, const loom_expr **variables,
                                                const loom_expr **sizes);
/* Whether the reduction trees are active. */
LOOM_API void loom_ranges_reduction(loom_ranges *r, bool on);
LOOM_API bool loom_ranges_tree_active(const loom_ranges *r, size_t tree);

/* What the loops of a nest become: values holds n_pointwise + n_reduction of them. */
typedef struct loom_mapped {
  const loom_expr *values;
  size_t n_pointwise, n_reduction;
  const loom_split *split; /* of the loops; its pieces are variables, in the same order */
} loom_mapped;
/* Puts loops on the active trees; they must have been prepared (loom_loops_lack_reduction).  What is
** mapped stays until the next call. */
LOOM_API loom_status loom_ranges_map(loom_ranges *r, const loom_loops *loops, loom_mapped *out);
/* Variables for lengths that are given for each tree (n_lengths of them), one list after the other;
** values are theirs. */
LOOM_API loom_status loom_ranges_set(loom_ranges *r, const size_t *n_lengths,
                                     const loom_expr *lengths, const loom_expr **values);

/* An index in as few variables as possible: proved by all ranges of the kernel, then the variables of
** each tree that run together merged, then loom_ranges_pair_mod.  Remembered by index. */
LOOM_API loom_expr loom_ranges_simplify(loom_ranges *r, loom_expr index);
/* The steps: variables of one tree merged; (v % a) % b for a variable v in the index of its tree
** where the whole index is that. */
LOOM_API loom_expr loom_ranges_merge_dims(loom_ranges *r, size_t tree, loom_expr index);
LOOM_API loom_expr loom_ranges_pair_mod(loom_ranges *r, loom_expr index);

/* A size computed before the kernel starts. */
typedef struct loom_hoisted {
  loom_expr symbol, value;
} loom_hoisted;
/* Simplifies an index for use in the kernel: what is computed from sizes alone in the divisors and
** lengths of its variables becomes symbols ps0, ps1, ... */
LOOM_API loom_expr loom_ranges_prepare(loom_ranges *r, loom_expr index);
LOOM_API size_t loom_ranges_hoisted(const loom_ranges *r, const loom_hoisted **hoisted);

/* Whether index is used at several points of the kernel: the variables in it run over less than the
** extents.  Their lengths are multiplied by tree and compared with its extent (strict: it is proved
** that they determine the tree's index); run-time values (symbols tmp0, tmp1, ...) are never
** broadcasted. */
LOOM_API bool loom_ranges_broadcasted_in(loom_ranges *r, size_t tree, loom_expr index);
/* In some tree; not strict: as the reference compares, where extents of trees are taken for those of
** others if there are y or z trees.  false with an error too. */
LOOM_API bool loom_ranges_broadcasted(loom_ranges *r, loom_expr index);
/* The step of index along the flat index of each tree at the origin (strict: LOOM_NONE where the
** index is not linear in it). */
LOOM_API loom_status loom_ranges_tile_strides(loom_ranges *r, loom_expr index, loom_expr *strides);

/* An access: its address in the variables of a loop nest, outermost first. */
typedef struct loom_address {
  loom_expr index;
  size_t n;
  const loom_extent *loops;
} loom_address;

/* The nest with loops that run together merged, of which the variables are called prefix0, prefix1,
** ...  by_stride: loops are ordered by descending stride before (at the hints); else their order
** is kept and inner loops that the index does not use are dropped.  Writes the index and up to n
** loops; returns how many, -1 with an error. */
LOOM_API ptrdiff_t loom_address_merge(loom_ctx *ctx, const loom_address *address, bool by_stride,
                                      const char *prefix, const loom_given *given, loom_expr *index,
                                      loom_extent *loops);

typedef struct loom_address_features {
  bool contiguous;    /* one loop variable, or a number */
  bool stride1_last;  /* no loops, or not a multiple of the last variable */
  bool scalar;        /* neither a loop variable nor a run-time value in it */
  bool indirect;      /* a run-time value in it (symbols tmp0, indirect0, ...) */
  loom_expr elements; /* product of the sizes of the variables in it; all if indirect */
  loom_expr offset;   /* with all variables 0 */
} loom_address_features;
/* elements: of the buffer.  strict (of what is given): contiguous of the merged nest without its
** offset, stride1_last where a step of the last variable is one element, elements no more than the
** buffer has. */
LOOM_API loom_status loom_address_look(loom_ctx *ctx, const loom_address *address,
                                       loom_expr elements, const loom_given *given,
                                       loom_address_features *out);

/* Whether 32-bit indices do for a kernel of that extent and buffers of n sizes: none is above
** 2^31 - 1 by its bounds or, if every symbol has a hint and not strict, at the hints. */
LOOM_API bool loom_index_narrow(loom_ctx *ctx, loom_expr extent, size_t n, const loom_expr *sizes,
                                const loom_given *given);
/* Whether an address can be computed in 32 bits at every point of its loops: proved of its value, of
** every part and constant of it, of each loop's variable and of the number of iterations. */
LOOM_API bool loom_address_narrow(loom_ctx *ctx, const loom_address *address);

/* ---- graphs of loop nests ----------------------------------------------------------------- */

/* A graph is what is scheduled into kernels: buffers, and operations in the order in which they may
** run, each of them a loop nest (or something opaque) that reads and writes buffers.  What is derived
** of a buffer or an operation is computed once, when it is added.  Buffers and operations are
** numbered from 0; the lists of the graph stay where they are until the next one is added. */

/* X(enumerator, name, bytes of an item) */
#define LOOM_DTYPE_LIST(X) \
  X(LOOM_F32, "f32", 4)    \
  X(LOOM_F64, "f64", 8)    \
  X(LOOM_F16, "f16", 2)    \
  X(LOOM_BF16, "bf16", 2)  \
  X(LOOM_I64, "i64", 8)    \
  X(LOOM_I32, "i32", 4)    \
  X(LOOM_I8, "i8", 1)      \
  X(LOOM_BOOL, "bool", 1)
typedef enum loom_dtype {
#define LOOM_DTYPE_ENUM(enumerator, name, bytes) enumerator,
  LOOM_DTYPE_LIST(LOOM_DTYPE_ENUM)
#undef LOOM_DTYPE_ENUM
      LOOM_N_DTYPES
} loom_dtype;
LOOM_API const char *loom_dtype_name(loom_dtype dtype);
LOOM_API int loom_dtype_bytes(loom_dtype dtype);

/* X(enumerator, name) */
#define LOOM_OP_KIND_LIST(X)                                                            \
  X(LOOM_OP_POINTWISE, "pointwise")                                                     \
  X(LOOM_OP_REDUCTION, "reduction")                                                     \
  X(LOOM_OP_SCAN, "scan")       /* a reduction of which every partial result is kept */ \
  X(LOOM_OP_SCATTER, "scatter") /* writes where a loaded value says */                  \
  X(LOOM_OP_OPAQUE, "opaque")   /* no loop nest: a matrix product, a library call */    \
  X(LOOM_OP_NOP, "nop") /* launches nothing: its buffers are other names for parts of storage */
typedef enum loom_op_kind {
#define LOOM_OP_ENUM(enumerator, name) enumerator,
  LOOM_OP_KIND_LIST(LOOM_OP_ENUM)
#undef LOOM_OP_ENUM
      LOOM_N_OP_KINDS
} loom_op_kind;
LOOM_API const char *loom_op_kind_name(loom_op_kind kind);

/* How a reduction is best spread over a machine, chosen before planning.  X(enumerator, name) */
#define LOOM_REDUCTION_HINT_LIST(X) \
  X(LOOM_HINT_DEFAULT, "default")   \
  X(LOOM_HINT_INNER, "inner")       \
  X(LOOM_HINT_OUTER, "outer")       \
  X(LOOM_HINT_OUTER_TINY, "outer_tiny")
typedef enum loom_reduction_hint {
#define LOOM_REDUCTION_HINT_ENUM(enumerator, name) enumerator,
  LOOM_REDUCTION_HINT_LIST(LOOM_REDUCTION_HINT_ENUM)
#undef LOOM_REDUCTION_HINT_ENUM
      LOOM_N_REDUCTION_HINTS
} loom_reduction_hint;
LOOM_API const char *loom_reduction_hint_name(loom_reduction_hint hint);

/* X(enumerator, name) */
#define LOOM_USE_MODE_LIST(X)                                        \
  X(LOOM_USE_INDEXED, "index") /* the element at index */            \
  X(LOOM_USE_WHOLE, "whole")   /* all of the buffer, in any order */ \
  X(LOOM_USE_ORDER, "order")   /* nothing of it, but not before its writer */
typedef enum loom_use_mode {
#define LOOM_USE_MODE_ENUM(enumerator, name) enumerator,
  LOOM_USE_MODE_LIST(LOOM_USE_MODE_ENUM)
#undef LOOM_USE_MODE_ENUM
      LOOM_N_USE_MODES
} loom_use_mode;
LOOM_API const char *loom_use_mode_name(loom_use_mode mode);

typedef struct loom_buffer_info {
  const char *name;
  size_t rank;
  const loom_expr *sizes;
  const loom_expr *strides; /* in elements; NULL: row-major */
  loom_expr offset;         /* elements before the first one; LOOM_NONE: 0 */
  loom_dtype dtype;
  bool output; /* leaves the graph */
} loom_buffer_info;

/* An operation that uses a buffer. */
typedef struct loom_user {
  int op;
  bool order; /* for ordering alone */
} loom_user;

typedef struct loom_buffer {
  const char *name;
  size_t rank;
  const loom_expr *sizes, *strides;
  loom_expr offset;
  loom_dtype dtype;
  bool output;
  bool removed;       /* dropped from the graph: lives within one kernel */
  loom_expr elements; /* product of the sizes */
  loom_expr storage;  /* elements from the start of the storage to the last one */
  int writer;         /* the operation that writes it; -1: an input of the graph */
  int updates;        /* the buffer of which it is the new content, -1: it has its own storage */
  int updated_by;     /* the buffer that is its new content, -1: none */
  const loom_user *users; /* operations that read it, in order, each once */
  size_t n_users;
} loom_buffer;

/* One access of an operation. */
typedef struct loom_use {
  int buffer;
  loom_use_mode mode;
  loom_expr
      index; /* elements from the buffer's offset on, over the loop variables; LOOM_NONE unless
                      indexed */
  bool accumulates; /* a write that adds to what is there */
} loom_use;

/* An access in merged form: loops that the index walks as one are one, called c0, c1, ... from the
** outside, and inner loops that it does not use are left out.  Equal accesses of a graph are one
** loom_dep: they are equal exactly if their addresses are. */
typedef struct loom_dep {
  int id; /* running number in the graph, in order of first occurrence */
  int buffer;
  loom_use_mode mode;
  bool accumulates;
  loom_expr index;
  size_t n;
  const loom_extent *loops;
  bool indirect;      /* a value loaded at run time is in the index */
  bool contiguous;    /* the index is one loop variable, or a number */
  bool stride1_last;  /* as in loom_address_features */
  loom_expr elements; /* touched, counting no repeats: product of the sizes of the loops in the
                         index; all of the buffer for indirect and whole uses; 0 for ordering */
  int64_t bytes;      /* of these, at the hints; 0 for sizes without a hint */
} loom_dep;

/* The sizes of a tensor, outermost first. */
typedef struct loom_sizes {
  size_t rank;
  const loom_expr *sizes;
} loom_sizes;
/* Multiplications and additions of a call on tensors of these sizes: of matrix products (mm, bmm,
** addmm, baddbmm: the last two inputs) and convolutions (conv, convolution: weights last); 0 of
** others. */
LOOM_API loom_expr loom_call_flops(loom_ctx *ctx, const char *call, size_t n_inputs,
                                   const loom_sizes *inputs, const loom_sizes *output);

typedef struct loom_op_info {
  const char *name;
  loom_op_kind kind;
  const char *reduction; /* of reductions and scans: sum, max, argmax, welford_reduce, ... */
  const char *call;      /* of opaque operations, what is called: mm, addmm, bmm, conv, ... */
  size_t n_inputs;
  const loom_sizes *inputs; /* in the shapes it sees; without any: those of the buffers read */
  size_t n_pointwise, n_reduction;
  const loom_extent *loops; /* the pointwise loops, then those that are reduced; outermost first */
  size_t n_reads, n_writes;
  const loom_use *reads, *writes; /* in program order */
  size_t n_mutates;
  const int *mutates; /* buffers updated in place: the i-th one by the buffer of the i-th write */
  size_t n_after;
  const int *after; /* operations that must run before it for other reasons */
  loom_reduction_hint hint;
  bool split; /* a scan over a loop that is too long for one pass */
  bool
      extensible; /* a template: an opaque operation that can take in pointwise neighbours; its loops
                      are those of its one output */
} loom_op_info;

typedef struct loom_op {
  const char *name;
  loom_op_kind kind;
  const char *reduction, *call;
  loom_expr flops; /* of an opaque call; 0 of others */
  size_t n_pointwise, n_reduction;
  const loom_extent *loops;
  size_t n_reads, n_writes, n_outputs, n_mutates;
  const loom_use *reads, *writes; /* repeats removed */
  const int *outputs;             /* buffers written, each once */
  const int *mutates;             /* buffers updated in place */
  loom_reduction_hint hint;
  bool split, extensible;
  loom_expr extent, reduction_extent; /* products of the pointwise and of the reduced loops */
  size_t n_dep_reads, n_dep_writes;
  const loom_dep *const *dep_reads; /* what is read, each once; then, for buffers updated in place,
                                       those as a whole and the ordering behind their readers */
  const loom_dep *const *dep_writes;
  const uint64_t *ancestors; /* bit a: operation a < op must have run before, itself or by others */
} loom_op;

/* A graph whose sizes have these extents and hints (NULL: none), which are copied. */
LOOM_API LOOM_GIVE loom_graph *loom_graph_new(loom_ctx *ctx, const loom_given *given);
LOOM_API void loom_graph_free(loom_graph *g);
/* Add a buffer, an operation: its number, -1 with an error (LOOM_ERR_BAD_GRAPH).  An operation comes
** behind those that write what it reads; a buffer is written by one operation. */
LOOM_API int loom_graph_buffer(loom_graph *g, const loom_buffer_info *info);
LOOM_API int loom_graph_op(loom_graph *g, const loom_op_info *info);
LOOM_API size_t loom_graph_buffers(const loom_graph *g, const loom_buffer **buffers);
LOOM_API size_t loom_graph_ops(const loom_graph *g, const loom_op **ops);
LOOM_API const loom_given *loom_graph_given(const loom_graph *g);
/* The number of the buffer or operation of that name, -1 without one. */
LOOM_API int loom_graph_find_buffer(const loom_graph *g, const char *name);
LOOM_API int loom_graph_find_op(const loom_graph *g, const char *name);
/* Whether op must run after `on`: `on` is an ancestor of it. */
LOOM_API bool loom_graph_depends(const loom_graph *g, int op, int on);
/* The buffer lives within one kernel and is never stored, or (false) it is. */
LOOM_API loom_status loom_graph_remove(loom_graph *g, int buffer, bool removed);

/* ---- kernels of a graph ------------------------------------------------------------------- */

/* What runs in one kernel, in order: numbers of operations, and the ends of its reduction loop: what
** follows LOOM_REDUCTION_OFF runs after the loop, what follows LOOM_REDUCTION_ON in the next one. */
enum { LOOM_REDUCTION_OFF = -1, LOOM_REDUCTION_ON = -2 };

/* The schedule of a kernel of these extents with n operations (1 or more, in an order in which they
** may run): its length, 0 if some operation runs neither inside its loops nor behind them, -1 with an
** error.  steps has room for 5 * n. */
LOOM_API ptrdiff_t loom_schedule(loom_graph *g, size_t n, const int *ops, loom_expr extent,
                                 loom_expr reduction_extent, int *steps);

typedef struct loom_kernel_info {
  size_t n;
  const int *schedule;
  loom_expr extent, reduction_extent;
  loom_tiling tiling;
  bool one_pass; /* all of a reduction is held at once: loops over it read memory once */
  bool no_x;     /* blocks of values have reduction axes alone */
} loom_kernel_info;

/* An access in the variables of the kernel's ranges. */
typedef struct loom_kernel_access {
  int buffer;
  bool store;
  bool reduced;         /* the store of a reduction's result, after the loop */
  loom_expr index;      /* LOOM_NONE: the buffer as a whole */
  loom_expr simplified; /* by loom_ranges_simplify */
  bool indirect, broadcasted;
  bool narrow; /* proved: the address can be computed in 32 bits (loom_address_narrow) */
  loom_expr strides[LOOM_N_PREFIXES]; /* along the index of each tree; LOOM_NONE if indirect */
} loom_kernel_access;

typedef struct loom_kernel_op {
  int op;
  bool reduction_on;
  size_t n_pointwise, n_reduction; /* a loop over the reduction is added where a pointwise
                                      operation runs inside */
  const loom_expr *values;         /* what the loops become */
  size_t n_accesses;               /* loads, then stores */
  const loom_kernel_access *accesses;
} loom_kernel_op;

/* Memory traffic by accesses: of a dimension (0: pointwise, 1: reduction) how many step by one
** element, by none, by anything else; and bytes of the buffers with none of the last, and of
** others. */
typedef struct loom_traffic_dim {
  int64_t contiguous, broadcast, other;
  loom_expr bytes_contiguous_or_broadcast, bytes_other;
} loom_traffic_dim;
typedef struct loom_traffic_loop {
  int64_t accesses, bytes; /* per element */
} loom_traffic_loop;
typedef struct loom_traffic {
  int64_t accesses, bytes_per_element;
  loom_expr bytes, bytes_contiguous_or_broadcast, bytes_other; /* the first: in some dimension */
  loom_traffic_dim dims[2];
  size_t n_loops;
  const loom_traffic_loop *loops; /* what is outside is counted in each of them */
} loom_traffic;

typedef enum loom_argument_kind {
  LOOM_ARGUMENT_BUFFER,
  LOOM_ARGUMENT_IN_PLACE, /* read, and overwritten by the last buffer of a group */
  LOOM_ARGUMENT_SIZE      /* a symbol in the indices */
} loom_argument_kind;
typedef struct loom_argument {
  loom_argument_kind kind;
  int buffer; /* of a group the last; of an update in place the buffer updated; -1: a size */
  bool written;
  loom_expr symbol;
} loom_argument;

/* Buffers that share one storage, the first one read and each then overwritten by the next. */
typedef struct loom_in_place {
  size_t n;
  const int *buffers;
} loom_in_place;

/* Two buffers read that have the same sizes and walk two dimensions in opposite orders. */
typedef struct loom_mixed_layout {
  int first, second;
} loom_mixed_layout;

typedef struct loom_kernel {
  loom_op_kind kind; /* LOOM_OP_OPAQUE, LOOM_OP_NOP: of the one operation in it; else pointwise or
                        reduction */
  loom_kernel_info info;     /* the schedule is the kernel's own */
  const loom_ranges *ranges; /* NULL unless it has loops */
  size_t n_ops;
  const loom_kernel_op *ops;
  bool narrow;        /* 32-bit indices by the rule of the reference: extents and storage sizes */
  bool narrow_proved; /* by what is proved of each address and of the extents */
  loom_reduction_hint hint;            /* of a reduction */
  loom_traffic one_pass[2], looped[2]; /* reads, writes; with all of a reduction held, or not */
  loom_expr flops;
  size_t n_groups, n_arguments, n_never_stored, n_mixed;
  const loom_in_place *groups;
  const loom_argument *arguments;
  const int *never_stored;
  const loom_mixed_layout *mixed;
  loom_expr bytes; /* moved, at the hints; LOOM_NONE if a size has none */
} loom_kernel;

/* The kernels of a graph in the order in which they run.  Each is planned when it is added, knowing
** those before it. */
LOOM_API LOOM_GIVE loom_plan *loom_plan_new(loom_graph *g);
LOOM_API void loom_plan_free(loom_plan *plan);
/* The number of the kernel; -1 with an error: LOOM_ERR_CANNOT_SPLIT and LOOM_ERR_INCOMPLETE_SPLIT
** where an operation does not run over the tiling, LOOM_ERR_BAD_GRAPH where the schedule is none. */
LOOM_API int loom_plan_kernel(loom_plan *plan, const loom_kernel_info *info);
LOOM_API size_t loom_plan_kernels(const loom_plan *plan, const loom_kernel *const **kernels);
LOOM_API const loom_graph *loom_plan_graph(const loom_plan *plan);

/* Bytes moved: of each argument what it holds, or (if that is more than the kernel's extents) one
** extent for each different access; twice for as many arguments from the first on as there are in
** place.  Sizes at the hints; LOOM_NONE where one has none. */
typedef struct loom_moved {
  loom_expr elements;
  int bytes;        /* of an item */
  size_t n_indices; /* different indices, and uses as a whole or for ordering */
} loom_moved;
LOOM_API loom_expr loom_moved_bytes(loom_ctx *ctx, const loom_tiling *tiling, size_t n,
                                    const loom_moved *arguments, size_t n_in_place,
                                    const loom_given *given);

/* Partition of independent kernels into groups that are launched together. */
typedef struct loom_launch {
  loom_tiling tiling;
  bool reduction, one_pass, no_x;
  loom_expr reduction_extent;
  size_t n_accesses; /* buffers read and written */
} loom_launch;
typedef struct loom_combine_options {
  bool size_aware; /* large kernels alone, long reductions apart from others */
  int mixed; /* kernels of three tiles with different y together: 0 never, 1 if size_aware, 2 */
  const loom_given *given;
} loom_combine_options;
/* Writes the kernels in order of their groups, and the end of each group in that order (room for
** 2 * n; the first group of a list may be empty).  LOOM_ERR_DOMAIN for more than three tiles that may
** not be mixed. */
LOOM_API loom_status loom_combine(loom_ctx *ctx, size_t n, const loom_launch *kernels,
                                  const loom_combine_options *options, size_t *order, size_t *ends,
                                  size_t *n_groups);
/* ---- search ------------------------------------------------------------------------------- */

/* Best mappings of a workload by template: loop nests of single einsums with open tile shapes, whose
** costs are formulas.  The space finds the tiles of each template (perfect factors: a tile divides
** the extent it cuts), keeps what may be part of a best mapping, and joins einsums in their order,
** fused where tensors are kept under shared loops (doc/formulas.md#search). */
typedef struct loom_space loom_space;

typedef struct loom_space_options {
  bool energy, latency, usage; /* what is minimised, together; usage: bits of each open memory */
  bool product;                /* of energy and latency, both asked for, only the product counts */
  int max_fused;               /* loops with several trips above a shared tensor; -1: no limit */
  int max_fused_per_variable;
  bool one_dimension_per_variable; /* a variable is spread over one dimension of a level at most */
} loom_space_options;

LOOM_API LOOM_GIVE loom_space *loom_space_new(loom_ctx *ctx, const loom_space_options *options);
LOOM_API void loom_space_free(loom_space *s);

/* Memories: private ones limit single einsums, open ones hold tiles of several einsums at once. */
typedef enum loom_memory_role { LOOM_MEMORY_PRIVATE, LOOM_MEMORY_OPEN } loom_memory_role;
LOOM_API int loom_space_memory(loom_space *s, const char *component, double bits,
                               loom_memory_role role);

/* An einsum with the sizes of its variables, of which some may have uneven tiles (N / tile trips of the
** outermost loop, rounded up for what it does not index; NULL: none); a dimension its loops may be spread over (at least
** min_fraction of it is used, or as much as a template can); a tensor that other einsums use too,
** with the number of the rank that each variable indexes alone, or -1. */
LOOM_API int loom_space_einsum(loom_space *s, const char *einsum, size_t n_variables,
                               const int64_t *sizes, const bool *uneven);
LOOM_API int loom_space_dimension(loom_space *s, int einsum, const char *component,
                                  const char *dimension, double count, double min_fraction);
LOOM_API int loom_space_tensor(loom_space *s, int einsum, const char *tensor, const int *ranks);

typedef struct loom_space_loop {
  loom_expr tile;          /* a symbol; LOOM_NONE: 1 */
  int variable, dimension; /* -1: temporal */
} loom_space_loop;
/* The outermost holder of a shared tensor, under so many of the fused loops. */
typedef struct loom_space_backing {
  int tensor, memory, n_loops;
} loom_space_backing;
typedef struct loom_space_template {
  size_t n_loops, n_fused, n_backings; /* the first n_fused loops are fused */
  const loom_space_loop *loops;        /* outermost first */
  const bool *border;                  /* per fused loop: a holder stands right above it */
  const loom_space_backing *backings;
} loom_space_template;
/* Adds a template of an einsum with its costs and looks for some good points of it; returns its
** number. */
LOOM_API int loom_space_add(loom_space *s, int einsum, const loom_costs *costs,
                            const loom_space_template *t);
/* Finds every point of the templates added that may be part of a best mapping. */
LOOM_API loom_status loom_space_explore(loom_space *s, int einsum);

/* How much of each a space has. */
LOOM_API size_t loom_space_memories(const loom_space *s);
LOOM_API size_t loom_space_einsums(const loom_space *s);
LOOM_API size_t loom_space_variables(const loom_space *s, int einsum);
LOOM_API size_t loom_space_dimensions(const loom_space *s, int einsum);
LOOM_API size_t loom_space_tensors(const loom_space *s, int einsum);

/* Points kept for an einsum, and counts over all templates. */
typedef struct loom_space_counts {
  double chains, combined, points; /* of tiles looked at: per variable, together, complete */
  double kept, groups;
} loom_space_counts;
LOOM_API loom_space_counts loom_space_counts_of(const loom_space *s, int einsum);

/* One use of an einsum: tensors[i] numbers the i-th tensor of loom_space_tensor among all. */
typedef struct loom_space_use {
  int einsum;
  const int *tensors;
} loom_space_use;
/* Joins uses in order; what results are then the points that no other one dominates. */
LOOM_API loom_status loom_space_join(loom_space *s, size_t n, const loom_space_use *uses);
LOOM_API size_t loom_space_results(const loom_space *s);
/* Values of a result: energy, latency, bits of each open memory (as asked for). */
LOOM_API const double *loom_space_result(const loom_space *s, size_t result, size_t *n);
/* What a result has of a use: the template, the tiles of its loops, and the variables of its fused
** loops with several trips in the order that fits the others. */
typedef struct loom_space_choice {
  int number; /* of the template */
  size_t n_loops, n_fused;
  const int32_t *tiles;
  int variables[16];
} loom_space_choice;
LOOM_API loom_status loom_space_choose(const loom_space *s, size_t result, size_t use,
                                       loom_space_choice *out);

/* ---- tilings of kernels ------------------------------------------------------------------- */

/* A tiling from lists of extents, outermost first: at most three of the pointwise and two of the
** reduction ranges (more are an error). */
LOOM_API loom_status loom_tiling_create(loom_ctx *ctx, size_t n_pointwise,
                                        const loom_expr *pointwise, size_t n_reduction,
                                        const loom_expr *reduction, loom_tiling *out);
/* A tiling of one side (pointwise if it has x) with the other one as what is left of the extents:
** extent * reduction_extent // (product of the side). */
LOOM_API loom_status loom_tiling_complete(loom_ctx *ctx, const loom_tiling *side, loom_expr extent,
                                          loom_expr reduction_extent, loom_tiling *out);
/* Whether a block of that size is convenient: 32 or more and a multiple of it, at the hint. */
LOOM_API bool loom_tiling_good_size(loom_ctx *ctx, loom_expr size, const loom_given *given);

/* A tiling that suits an access of an operation. */
typedef struct loom_candidate {
  int buffer;      /* accessed; -1: one tile, for none */
  loom_expr score; /* elements that it serves, doubled for a write and for each good size */
  loom_tiling tiling;
} loom_candidate;
/* The candidates of an operation in a kernel of these extents: how many, and the list, which stays
** until the next call for the operation or buffers are removed; -1 with an error. */
LOOM_API ptrdiff_t loom_tiling_candidates(loom_graph *g, int op, loom_expr extent,
                                          loom_expr reduction_extent, const loom_candidate **list);

/* n steps of a kernel of these extents. */
typedef struct loom_kernel_steps {
  size_t n;
  const int *schedule;
  loom_expr extent, reduction_extent;
} loom_kernel_steps;
/* Tilings of up to max_tiles (0: two) ranges per side that follow the blocks in the accesses, those
** with most ranges first: how many, of which up to capacity are written; -1 with an error. */
LOOM_API ptrdiff_t loom_tiling_blocks(loom_graph *g, const loom_kernel_steps *steps,
                                      size_t max_tiles, loom_tiling *out, size_t capacity);
/* Whether every operation runs over the tiling. */
LOOM_API bool loom_tiling_fits(loom_graph *g, const loom_kernel_steps *steps,
                               const loom_tiling *tiling);

typedef struct loom_tiling_options {
  size_t max_tiles; /* of the pointwise side; 0: two */
  bool blocks;      /* loom_tiling_blocks come first */
  bool reductions;  /* kernels with a reduction are tiled too */
} loom_tiling_options;
/* The tiling of a kernel: the first that fits of what suits its accesses best, else one range for
** each side. */
LOOM_API loom_status loom_tiling_select(loom_graph *g, const loom_kernel_steps *steps,
                                        const loom_tiling_options *options, loom_tiling *out);

/* ---- coalescing --------------------------------------------------------------------------- */

/* Which variables of a kernel an access walks element by element, and how to split one so that another
** access is walked too.  e: an address in one variable for loom_zero_of and loom_unit_factor. */

/* The value of the variable that makes e, a factor of a term, 0: of (a // d) % m where a = m, of others
** where e = 0.  False: none is found, or an error. */
LOOM_API bool loom_zero_of(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr *value);
/* The whole number f such that e is 1 where its variable is f and its products are 0: split into
** outer * f + inner the address grows by one along the outer part.  False: none, or an error. */
LOOM_API bool loom_unit_factor(loom_ctx *ctx, loom_expr e, loom_expr *factor);
/* The first of n loops along which e grows by exactly one element at the origin; -1: none. */
LOOM_API ptrdiff_t loom_unit_loop(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops,
                                  const loom_given *given);
/* The product of the sizes of the loops in e, at the hints. */
LOOM_API loom_expr loom_address_points(loom_ctx *ctx, loom_expr e, size_t n,
                                       const loom_extent *loops, const loom_given *given);

/* An address of a kernel in its common loops, with the buffers accessed there. */
typedef struct loom_common_address {
  loom_expr index;
  size_t n;
  const int *buffers;
} loom_common_address;
typedef struct loom_coalesced {
  loom_expr variable;
  int64_t score; /* bytes walked along it, twice for writes */
} loom_coalesced;
typedef struct loom_coalescing {
  size_t n_pointwise, n_reduction;
  const loom_extent *loops; /* common to all operations: n0, n1, ..., pointwise first */
  size_t n_reads, n_writes, n_coalesced;
  const loom_common_address *reads, *writes;
  const loom_coalesced *coalesced; /* in order of first occurrence */
  loom_expr split_variable;        /* LOOM_NONE: no split is suggested */
  int64_t split_factor, split_score;
} loom_coalescing;

/* The analysis of a kernel.  NULL without an error: it gives up (an extent is not a number, or an
** index holds a value loaded at run time). */
LOOM_API LOOM_GIVE loom_coalescing *loom_coalesce(loom_graph *g, const loom_kernel_steps *steps);
LOOM_API void loom_coalescing_free(loom_coalescing *c);

/* Tilings along coalesced variables: each with the scores of its ranges (-1: none). */
typedef struct loom_scored_tiling {
  loom_tiling tiling;
  int64_t score[LOOM_N_PREFIXES], total;
} loom_scored_tiling;
/* All of up to max_tiles (0: three) pointwise ranges: how many, of which up to capacity are written;
** -1 with an error. */
LOOM_API ptrdiff_t loom_coalesced_tilings(loom_graph *g, const loom_kernel_steps *steps,
                                          const loom_coalescing *c, size_t max_tiles,
                                          loom_scored_tiling *out, size_t capacity);
/* The best of them that fits, else one range for each side without scores. */
LOOM_API loom_status loom_coalesced_select(loom_graph *g, const loom_kernel_steps *steps,
                                           const loom_coalescing *c, size_t max_tiles,
                                           loom_scored_tiling *out);

/* ---- fusion of a graph's operations into kernels ------------------------------------------ */

/* Why two groups of operations do not become one kernel.  X(enumerator, name) */
#define LOOM_FUSE_REASON_LIST(X)                                                                   \
  X(LOOM_FUSE_OK, "ok")                                                                            \
  /* the scheduler's */                                                                            \
  X(LOOM_FUSE_FIRST_OPAQUE, "first_opaque") /* or it launches nothing */                           \
  X(LOOM_FUSE_SECOND_OPAQUE, "second_opaque")                                                      \
  X(LOOM_FUSE_WRONG_ORDER, "wrong_order")               /* the first depends on the second */      \
  X(LOOM_FUSE_UNFIT_FOR_TEMPLATE, "unfit_for_template") /* no pointwise neighbour of its own */    \
  X(LOOM_FUSE_NO_SHARED_DATA, "no_shared_data")         /* no access is common to both */          \
  X(LOOM_FUSE_TOO_MANY_NODES, "too_many_nodes")                                                    \
  X(LOOM_FUSE_MANY_READS, "many_reads")           /* more buffers than allowed */                  \
  X(LOOM_FUSE_PEAK_MEMORY, "peak_memory")         /* inputs that could reuse storage live */       \
  X(LOOM_FUSE_ACCESS_MISMATCH, "access_mismatch") /* reads other elements than are written */      \
  X(LOOM_FUSE_NODE_BETWEEN, "node_between")       /* must run after one and before other */        \
  X(LOOM_FUSE_LITTLE_SHARED_DATA, "little_shared_data") /* less than 10 bytes */                   \
  X(LOOM_FUSE_TOO_FAR, "too_far")                       /* more than 64 operations apart */        \
  X(LOOM_FUSE_CYCLE, "cycle")                           /* another kernel would wait for itself */ \
  /* of the loop shapes */                                                                         \
  X(LOOM_FUSE_SPLIT_SCAN, "split_scan") /* with a reduction */                                     \
  X(LOOM_FUSE_REDUCTION_EXTENTS_DIFFER, "reduction_extents_differ")                                \
  X(LOOM_FUSE_EXTENTS_DIFFER, "extents_differ")                                                    \
  X(LOOM_FUSE_TILING_DIFFERS, "tiling_differs")                                                    \
  X(LOOM_FUSE_LOOPS_DO_NOT_SPLIT, "loops_do_not_split")                                            \
  X(LOOM_FUSE_TILING_UNFIT, "tiling_unfit_for_reduction")                                          \
  X(LOOM_FUSE_OUTER_EXTENT_DIFFERS, "outer_extent_differs")                                        \
  X(LOOM_FUSE_ERROR, "error") /* recorded in the context */
typedef enum loom_fuse_reason {
#define LOOM_FUSE_REASON_ENUM(enumerator, name) enumerator,
  LOOM_FUSE_REASON_LIST(LOOM_FUSE_REASON_ENUM)
#undef LOOM_FUSE_REASON_ENUM
      LOOM_N_FUSE_REASONS
} loom_fuse_reason;
LOOM_API const char *loom_fuse_reason_name(loom_fuse_reason reason);

typedef struct loom_fusion_options {
  bool aggressive;    /* pairs of equal extents are asked about too, and pointwise ones that have no
                         access in common are not refused for that; as independent ones they still
                         must share some bytes */
  bool unshared;      /* aggressive, and independent pointwise operations need share nothing */
  size_t max_ops;     /* in one kernel; 0: 64 */
  size_t max_buffers; /* read or written by one kernel; 0: any number */
} loom_fusion_options;

/* The order in which pairs are fused: larger members first, one after the other. */
typedef struct loom_fuse_score {
  int kind;         /* 2: accesses are shared, 1: none are or the first is a template, 0: the second
                      is one */
  bool same_kind;   /* both reduce or neither does, and accesses are shared */
  int64_t bytes;    /* shared */
  int64_t nearness; /* minus the distance in the order of the operations */
} loom_fuse_score;

typedef struct loom_fuse_pair {
  loom_fuse_reason reason; /* of the scheduler */
  loom_fuse_reason shape;  /* of the loop shapes alone; LOOM_FUSE_OK where they are not asked */
  bool depends;            /* the second on the first */
  loom_fuse_score score;
} loom_fuse_pair;

/* Operations that run in one kernel, in order. */
typedef struct loom_fused {
  size_t n;
  const int *ops;
  loom_expr extent, reduction_extent;
} loom_fused;

/* Two kernels that use a buffer in common and are not one. */
typedef struct loom_refusal {
  size_t first, second; /* places in the list of kernels */
  loom_fuse_reason reason;
} loom_refusal;

/* The operations of a graph, each a group of its own (and of those there are now). */
LOOM_API LOOM_GIVE loom_fusion *loom_fusion_new(loom_graph *g, const loom_fusion_options *options);
LOOM_API void loom_fusion_free(loom_fusion *f);
LOOM_API const loom_graph *loom_fusion_graph(const loom_fusion *f);
/* What is decided of the groups in which two operations are; LOOM_ERR_ARGUMENT for the same one. */
LOOM_API loom_status loom_fusion_pair(loom_fusion *f, int first, int second, loom_fuse_pair *out);
/* Fuses pairs of groups, the best score first, until nothing changes (ten rounds at most). */
LOOM_API loom_status loom_fusion_run(loom_fusion *f);
/* The groups in an order in which they may run, each behind those it depends on.  The list stays
** until the next call. */
LOOM_API ptrdiff_t loom_fusion_kernels(loom_fusion *f, const loom_fused **kernels);
/* Why kernels that use a common buffer are apart: pairs in order of the first, then of the second;
** at most 64 partners of each.  -1 with an error. */
LOOM_API ptrdiff_t loom_fusion_refusals(loom_fusion *f, const loom_refusal **refusals);

#ifdef __cplusplus
}
#endif
#endif
