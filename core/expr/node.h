/* SPDX-License-Identifier: MIT */
/* The node table of a context, for the code inside core/: reading nodes, making them, walking them.
** Invariant: every live node is canonical and unique in its table, so equal means same id; its
** hash, its facts and its children are stored when it is made and never change; ids and addresses
** stay put until the node is collected. */
#ifndef EINLOOM_NODE_H
#define EINLOOM_NODE_H

#include "base/base.h"
#include "base/num.h"
#include "einloom.h"

/* ---- facts -------------------------------------------------------------------------------- */

/* Bounds of a value, rounded outwards to integers.  A lower end is LOOM_MINUS_INF ("no bound") or
** finite, an upper end LOOM_PLUS_INF or finite; finite ends lie in [-LOOM_MOST, LOOM_MOST], so that
** negating one gives a finite end. */
#define LOOM_MINUS_INF INT64_MIN
#define LOOM_PLUS_INF INT64_MAX
#define LOOM_MOST (INT64_MAX - 1)

/* Which signs a value can have. */
enum { LOOM_NEG = 1, LOOM_ZERO = 2, LOOM_POS = 4, LOOM_ANY_SIGN = 7 };

/* What is true of a value at every point that the assumptions allow (and where it is defined).
** A finite bound of an integer value is reached or not, but never outside; of a value that is not
** an integer it is the floor (lo) or the ceiling (hi) of a bound.  Signs are finer than the bounds:
** 1/x is in [0, 1] and LOOM_POS. */
typedef struct loom_facts {
  int64_t lo, hi;
  int64_t modulus, remainder; /* value = remainder (mod modulus) if modulus > 1; 0 <= remainder <
                                 modulus; 1: nothing known; 0: the constant remainder */
  uint8_t integer;            /* loom_answer */
  uint8_t sign;               /* set of LOOM_NEG, LOOM_ZERO, LOOM_POS */
} loom_facts;

static inline bool loom_facts_integer(loom_facts f) {
  return f.integer == LOOM_YES;
}
static inline bool loom_facts_positive(loom_facts f) {
  return f.sign == LOOM_POS;
}
static inline bool loom_facts_nonnegative(loom_facts f) {
  return !(f.sign & LOOM_NEG);
}
static inline bool loom_facts_negative(loom_facts f) {
  return f.sign == LOOM_NEG;
}
static inline bool loom_facts_nonpositive(loom_facts f) {
  return !(f.sign & LOOM_POS);
}
static inline bool loom_facts_nonzero(loom_facts f) {
  return !(f.sign & LOOM_ZERO);
}

/* ---- cells -------------------------------------------------------------------------------- */

#define LOOM_KIND_FREE 255

enum { LOOM_CELL_MARKED = 1, LOOM_CELL_PERMANENT = 2 };

/* A pair of a product: base ^ exponent, exponent not 0. */
typedef struct loom_power {
  loom_expr base;
  int32_t exponent;
} loom_power;

/* A term of a sum as the builders pass it around. */
typedef struct loom_term {
  loom_num coef;
  loom_expr id;
} loom_term;

typedef struct loom_symbol_data {
  loom_assume assume;
  uint32_t length;
  char name[];
} loom_symbol_data;

/* A coefficient in 8 bytes: 48 bits of numerator and 16 of denominator, or (denominator 0) the id
** of the number's node. */
typedef int64_t loom_packed;

/* The payload of a sum: constant and coefficients, then the ids of the terms, ascending. */
typedef struct loom_add_data {
  loom_packed constant;
  loom_packed coef[];
} loom_add_data;

/* The payload of a call: the function, held, and its arguments. */
typedef struct loom_call_data {
  loom_function *function;
  loom_expr args[];
} loom_call_data;

typedef struct loom_cell {
  uint32_t hash; /* structural: the same in every context */
  uint32_t generation;
  uint8_t kind;  /* loom_kind or LOOM_KIND_FREE */
  uint8_t known; /* sign | integer << 3 */
  uint8_t flags; /* LOOM_CELL_ */
  uint8_t spare;
  uint32_t count; /* terms of a sum, powers of a product, arguments; of a free cell the next one */
  union {
    loom_expr arg[2]; /* kinds with one or two arguments */
    loom_power power; /* LOOM_POW */
    loom_expr *args;  /* three or more arguments, and min and max */
    loom_power *powers;
    loom_add_data *add;
    loom_call_data *call;
    loom_symbol_data *symbol;
  } u;
  union {
    struct {
      int64_t lo, hi;
    } range;
    loom_num num; /* LOOM_NUM: its own fact */
  } v;
  uint32_t modulus, remainder;
} loom_cell;

#define LOOM_PAGE_BITS 10
#define LOOM_PAGE_SIZE (1u << LOOM_PAGE_BITS)

typedef struct loom_slot {
  uint32_t hash;
  loom_expr id; /* LOOM_NONE: empty */
} loom_slot;

/* Side data of one level of nested walks: valid where seen[id] == epoch. */
typedef struct loom_side {
  uint32_t *seen, *value;
  size_t capacity;
  uint32_t epoch;
  bool busy;
} loom_side;

#define LOOM_MEMO_SIZE 4096
typedef struct loom_memo_entry {
  loom_expr a, b, result;
  uint32_t stamp; /* epoch << LOOM_MEMO_BITS | operation */
} loom_memo_entry;

/* Something outside the table that holds expressions: called at the end of a collection, it marks
** each with loom_gc_mark.  Linked in by loom_owner_add; the struct lives in the owner. */
typedef struct loom_owner {
  struct loom_owner *next, *prev;
  void (*mark)(struct loom_owner *owner, loom_ctx *ctx);
} loom_owner;

#define LOOM_WALK_LEVELS 8
#define LOOM_SMALL_INTS 257 /* -64 .. 192 are made with the context */
#define LOOM_SMALL_INT_MIN (-64)

struct loom_ctx {
  loom_base base;
  loom_cell **pages;
  uint32_t n_cells, n_pages, capacity_pages; /* cells handed out, cell 0 unused */
  uint32_t free_cell, n_live;
  loom_slot *slots;
  uint32_t n_slots;        /* a power of two */
  uint32_t n_survivors;    /* of the last collection */
  size_t surviving_digits; /* bytes of big numbers then */
  bool collecting, mark_overflow;
  LOOM_VEC(loom_expr) mark_stack;
  LOOM_VEC(loom_expr) scratch_log;  /* made inside scratch regions */
  LOOM_VEC(uint32_t) scratch_marks; /* lengths of scratch_log */
  loom_owner owners;                /* ring */
  loom_memo_entry *memo;
  uint32_t memo_epoch;
  loom_side side[LOOM_WALK_LEVELS];
  loom_expr small_int[LOOM_SMALL_INTS];
};

static inline const loom_cell *loom_cell_of(const loom_ctx *ctx, loom_expr e) {
  return &ctx->pages[e >> LOOM_PAGE_BITS][e & (LOOM_PAGE_SIZE - 1)];
}
static inline bool loom_expr_live(const loom_ctx *ctx, loom_expr e) {
  return e != LOOM_NONE && e < ctx->n_cells && loom_cell_of(ctx, e)->kind != LOOM_KIND_FREE;
}
static inline loom_kind loom_kind_of(const loom_ctx *ctx, loom_expr e) {
  return (loom_kind)loom_cell_of(ctx, e)->kind;
}

/* ---- reading nodes (e live, no check) ----------------------------------------------------- */

loom_facts loom_facts_of(const loom_ctx *ctx, loom_expr e);

static inline bool loom_expr_is_num(const loom_ctx *ctx, loom_expr e) {
  return loom_cell_of(ctx, e)->kind == LOOM_NUM;
}
/* The value of a number. */
static inline loom_num loom_num_of(const loom_ctx *ctx, loom_expr e) {
  return loom_cell_of(ctx, e)->v.num;
}
static inline loom_num loom_unpack(const loom_ctx *ctx, loom_packed p) {
  int64_t den = p & 0xffff;
  return den ? (loom_num){p >> 16, den} : loom_num_of(ctx, (loom_expr)(p >> 16));
}

/* A sum: constant + n terms (n >= 1; constant not 0 or coefficient not 1 if n == 1). No term is a
** number or a sum, coefficients are not 0. */
static inline size_t loom_add_count(const loom_ctx *ctx, loom_expr e) {
  return loom_cell_of(ctx, e)->count;
}
static inline loom_num loom_add_constant(const loom_ctx *ctx, loom_expr e) {
  return loom_unpack(ctx, loom_cell_of(ctx, e)->u.add->constant);
}
static inline loom_term loom_add_term(const loom_ctx *ctx, loom_expr e, size_t i) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  const loom_expr *ids = (const loom_expr *)(const void *)&cell->u.add->coef[cell->count];
  return (loom_term){loom_unpack(ctx, cell->u.add->coef[i]), ids[i]};
}

/* A product or a power as powers: n >= 2 for LOOM_MUL, 1 for LOOM_POW.  Any other expression counts
** as its own first power.  No base is a number, a product or a power. */
static inline size_t loom_mul_count(const loom_ctx *ctx, loom_expr e) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  return cell->kind == LOOM_MUL ? cell->count : 1;
}
static inline loom_power loom_mul_power(const loom_ctx *ctx, loom_expr e, size_t i) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  if (cell->kind == LOOM_MUL) return cell->u.powers[i];
  return cell->kind == LOOM_POW ? cell->u.power : (loom_power){e, 1};
}

/* The sub-expressions a node is made of: terms of a sum (without coefficients and constant), bases
** of a product or power, arguments of the others; none for numbers and symbols. */
size_t loom_child_count(const loom_ctx *ctx, loom_expr e);
loom_expr loom_child(const loom_ctx *ctx, loom_expr e, size_t i);
/* The order of the children that does not depend on the context's history, as indices into
** loom_child: sorted by loom_expr_order for sums, products, min and max, as they are for others. */
void loom_child_order(const loom_ctx *ctx, loom_expr e, uint32_t *indices);

/* ---- building ----------------------------------------------------------------------------- */

/* Builders canonicalise; they are the public loom_add, loom_floor, ... and these.  LOOM_NONE in or
** a failure gives LOOM_NONE.  Terms and powers may come in any order, repeat, be zero, and have ids
** of any kind (a sum within a sum is flattened, a product within a product too). */
loom_expr loom_from_num(loom_ctx *ctx, loom_num value);
loom_expr loom_build_sum(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms);
loom_expr loom_build_product(loom_ctx *ctx, loom_num coef, size_t n, const loom_power *powers);
/* coef * e. */
loom_expr loom_scale(loom_ctx *ctx, loom_num coef, loom_expr e);
/* The same operation on other children (as many as loom_child_count): the way to rewrite.  For a
** sum constant and coefficients are kept, for a product or power the exponents. */
loom_expr loom_rebuild(loom_ctx *ctx, loom_expr e, const loom_expr *children);

/* coefficient and rest of e: c and t of a sum c * t, 1 and e otherwise; number: itself and
** LOOM_NONE. */
loom_term loom_split_coef(const loom_ctx *ctx, loom_expr e);

/* Facts of a - b without building it, from the merged terms: never weaker than those of the parts.
** When a memory error occurs nothing is known. */
loom_facts loom_facts_difference(loom_ctx *ctx, loom_expr a, loom_expr b);
/* Facts of constant + sum of coef * id. */
loom_facts loom_facts_sum(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms);

/* ---- walking ------------------------------------------------------------------------------ */

/* Visits the distinct sub-expressions of some roots, children first, without recursion, and keeps
** one 32-bit value for each node visited.  Walks nest (to LOOM_WALK_LEVELS); nodes may be built
** during
** a walk; collection and scratch release may not happen.
 **
 **   loom_walk walk;
 **   if (!loom_walk_begin(ctx, &walk, canonical)) return LOOM_NONE;
 **   loom_walk_root(&walk, e);
 **   for (loom_expr f; (f = loom_walk_next(&walk)) != LOOM_NONE;)
 **     ... loom_walk_get(&walk, child) ... loom_walk_set(&walk, f, value);
 **   bool good = loom_walk_end(&walk);     -- false: memory ran out somewhere */
typedef struct loom_walk {
  loom_ctx *ctx;
  loom_side *side;
  LOOM_VEC(uint64_t) stack;
  bool canonical, failed;
} loom_walk;

/* canonical: children in loom_child_order instead of stored order. */
bool loom_walk_begin(loom_ctx *ctx, loom_walk *walk, bool canonical);
/* Another root; also between calls of next (with roots visited already doing nothing). */
void loom_walk_root(loom_walk *walk, loom_expr e);
loom_expr loom_walk_next(loom_walk *walk);
bool loom_walk_end(loom_walk *walk);
/* The value given to a visited node, 0 if it has none. */
uint32_t loom_walk_get(const loom_walk *walk, loom_expr e);
/* e: any live node; it counts as visited from now on and is not visited by next. */
void loom_walk_set(loom_walk *walk, loom_expr e, uint32_t value);
bool loom_walk_seen(const loom_walk *walk, loom_expr e);

/* ---- holding on --------------------------------------------------------------------------- */

void loom_owner_add(loom_ctx *ctx, loom_owner *owner, void (*mark)(loom_owner *, loom_ctx *));
void loom_owner_remove(loom_owner *owner);

#endif
