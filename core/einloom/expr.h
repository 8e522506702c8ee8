/* SPDX-License-Identifier: MIT */
/* Expressions: building, looking at them, working with them, index arithmetic. */
#ifndef EINLOOM_PUBLIC_EXPR_H
#define EINLOOM_PUBLIC_EXPR_H

#include "einloom/base.h"

LOOM_C_BEGIN

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

LOOM_C_END

#endif
