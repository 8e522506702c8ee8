/* SPDX-License-Identifier: MIT */
/* Random expressions with an evaluator of their own, to hold the library against.
** Invariant: nothing here uses the arithmetic of the library: values are ratios of 128-bit
** integers, and a point where one would overflow or something divides by zero is reported as undefined. */
#ifndef EINLOOM_RANDOM_EXPR_H
#define EINLOOM_RANDOM_EXPR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "einloom.h"

__extension__ typedef __int128 wide;

typedef struct ratio {
  wide num, den; /* den 0: undefined */
} ratio;

#define UNDEFINED ((ratio){0, 0})
#define SMALL ((wide)1 << 60)

static inline wide wide_gcd(wide a, wide b) {
  if (a < 0) a = -a;
  while (b) {
    wide r = a % b;
    a = b;
    b = r < 0 ? -r : r;
  }
  return a;
}

static inline bool is_small(wide a) {
  return a > -SMALL && a < SMALL;
}

static inline ratio make_ratio(wide num, wide den) {
  if (den == 0) return UNDEFINED;
  wide g = wide_gcd(num, den < 0 ? -den : den);
  if (den < 0) g = -g;
  num /= g;
  den /= g;
  return is_small(num) && is_small(den) ? (ratio){num, den} : UNDEFINED;
}

static inline ratio ratio_add(ratio a, ratio b) {
  return make_ratio(a.num * b.den + b.num * a.den, a.den * b.den);
}
static inline ratio ratio_mul(ratio a, ratio b) {
  return make_ratio(a.num * b.num, a.den * b.den);
}
static inline ratio ratio_neg(ratio a) {
  return (ratio){-a.num, a.den};
}
static inline ratio ratio_div(ratio a, ratio b) {
  return make_ratio(a.num * b.den, a.den * b.num);
}
static inline int ratio_cmp(ratio a, ratio b) {
  wide d = a.num * b.den - b.num * a.den;
  return (d > 0) - (d < 0);
}
static inline ratio ratio_floor(ratio a) {
  wide q = a.num / a.den;
  return (ratio){q - (a.num % a.den != 0 && a.num < 0), 1};
}
static inline ratio ratio_mod(ratio a, ratio b) {
  ratio q = ratio_div(a, b);
  if (!q.den) return q;
  ratio back = ratio_mul(b, ratio_floor(q));
  return back.den ? ratio_add(a, ratio_neg(back)) : back;
}

/* ---- trees -------------------------------------------------------------------------------- */

typedef enum tree_op {
  T_NUM,
  T_SYM,
  T_ADD,
  T_SUB,
  T_MUL,
  T_DIV,
  T_SQUARE,
  T_MIN,
  T_MAX,
  T_FLOOR,
  T_CEIL,
  T_FLOOR_DIV,
  T_MOD,
  T_MOD_INDEX,
  T_LT,
  T_LE,
  T_EQ,
  T_SELECT,
  T_OPS
} tree_op;

typedef struct tree {
  tree_op op;
  int num, den; /* T_NUM; T_SYM: num is the index */
  int kid[3];   /* into the forest */
} tree;

#define FOREST 256
#define N_SYMBOLS 4

/* What may grow: anything; only continuous operations; only operations that keep integers. */
typedef enum tree_mode { ANY_TREE, CONTINUOUS_TREE, INTEGER_TREE } tree_mode;

typedef struct forest {
  tree at[FOREST];
  int n;
  uint64_t seed;
  tree_mode mode;
} forest;

static inline uint32_t next_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}
static inline int random_below(uint64_t *seed, int n) {
  return (int)(next_random(seed) % (uint32_t)n);
}

/* The seed of a test: LOOM_SEED or the clock; printed so that a failure can be repeated. */
static inline uint64_t test_seed(const char *name) {
  const char *given = getenv("LOOM_SEED");
  uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  printf("%s: LOOM_SEED=%llu\n", name, (unsigned long long)seed);
  return seed;
}

/* How many random cases: EINLOOM_ROUNDS, or as given. */
static inline int test_rounds(int usual) {
  const char *given = getenv("EINLOOM_ROUNDS");
  return given ? atoi(given) : usual;
}

static inline int tree_arity(tree_op op) {
  if (op <= T_SYM) return 0;
  if (op == T_SQUARE || op == T_FLOOR || op == T_CEIL) return 1;
  return op == T_MOD_INDEX || op == T_SELECT ? 3 : 2;
}

static inline tree random_leaf(forest *f) {
  uint64_t *seed = &f->seed;
  if (random_below(seed, 3)) return (tree){.op = T_SYM, .num = random_below(seed, N_SYMBOLS)};
  int den = f->mode == INTEGER_TREE || random_below(seed, 4) ? 1 : 1 + random_below(seed, 6);
  return (tree){.op = T_NUM, .num = random_below(seed, 17) - 8, .den = den};
}

static inline tree_op random_op(forest *f) {
  static const tree_op plain[] = {T_ADD, T_ADD, T_SUB, T_MUL, T_MUL, T_DIV};
  for (;;) {
    tree_op op = random_below(&f->seed, 2)
                     ? plain[random_below(&f->seed, 6)]
                     : (tree_op)(T_ADD + random_below(&f->seed, T_OPS - T_ADD));
    if (f->mode == CONTINUOUS_TREE && op > T_MAX) continue;
    if (f->mode == INTEGER_TREE && op == T_DIV) continue;
    return op;
  }
}

static inline int grow_tree(forest *f, int depth) {
  int at = f->n++;
  tree t = random_leaf(f);
  if (depth > 0 && f->n < FOREST - 8 && random_below(&f->seed, 8)) {
    t.op = random_op(f);
    for (int i = 0; i < tree_arity(t.op); i++) t.kid[i] = grow_tree(f, depth - 1);
  }
  f->at[at] = t;
  return at;
}

static inline loom_expr build_tree(loom_ctx *ctx, const forest *f, int at,
                                   const loom_expr *symbols) {
  const tree *t = &f->at[at];
  loom_expr k[3] = {LOOM_NONE, LOOM_NONE, LOOM_NONE};
  for (int i = 0; i < tree_arity(t->op); i++) k[i] = build_tree(ctx, f, t->kid[i], symbols);
  switch (t->op) {
  case T_NUM: return loom_ratio(ctx, t->num, t->den);
  case T_SYM: return symbols[t->num];
  case T_ADD: return loom_add(ctx, k[0], k[1]);
  case T_SUB: return loom_sub(ctx, k[0], k[1]);
  case T_MUL: return loom_mul(ctx, k[0], k[1]);
  case T_DIV: return loom_div(ctx, k[0], k[1]);
  case T_SQUARE: return loom_pow(ctx, k[0], 2);
  case T_MIN: return loom_min(ctx, 2, k);
  case T_MAX: return loom_max(ctx, 2, k);
  case T_FLOOR: return loom_floor(ctx, k[0]);
  case T_CEIL: return loom_ceil(ctx, k[0]);
  case T_FLOOR_DIV: return loom_floor_div(ctx, k[0], k[1]);
  case T_MOD: return loom_mod(ctx, k[0], k[1]);
  case T_MOD_INDEX: return loom_mod_index(ctx, k[0], k[1], k[2]);
  case T_LT: return loom_lt(ctx, k[0], k[1]);
  case T_LE: return loom_le(ctx, k[0], k[1]);
  case T_EQ: return loom_eq(ctx, k[0], k[1]);
  default: return loom_select(ctx, k[0], k[1], k[2]);
  }
}

/* The value at a point; undefined if any part is. */
static inline ratio eval_tree(const forest *f, int at, const int *values) {
  const tree *t = &f->at[at];
  ratio k[3] = {UNDEFINED, UNDEFINED, UNDEFINED}, q;
  for (int i = 0; i < tree_arity(t->op); i++) {
    k[i] = eval_tree(f, t->kid[i], values);
    if (!k[i].den) return UNDEFINED;
  }
  switch (t->op) {
  case T_NUM: return make_ratio(t->num, t->den);
  case T_SYM: return (ratio){values[t->num], 1};
  case T_ADD: return ratio_add(k[0], k[1]);
  case T_SUB: return ratio_add(k[0], ratio_neg(k[1]));
  case T_MUL: return ratio_mul(k[0], k[1]);
  case T_DIV: return ratio_div(k[0], k[1]);
  case T_SQUARE: return ratio_mul(k[0], k[0]);
  case T_MIN: return ratio_cmp(k[1], k[0]) < 0 ? k[1] : k[0];
  case T_MAX: return ratio_cmp(k[1], k[0]) > 0 ? k[1] : k[0];
  case T_FLOOR: return ratio_floor(k[0]);
  case T_CEIL: return ratio_neg(ratio_floor(ratio_neg(k[0])));
  case T_FLOOR_DIV: q = ratio_div(k[0], k[1]); return q.den ? ratio_floor(q) : q;
  case T_MOD: return ratio_mod(k[0], k[1]);
  case T_MOD_INDEX: q = ratio_div(k[0], k[1]); return q.den ? ratio_mod(ratio_floor(q), k[2]) : q;
  case T_LT: return (ratio){ratio_cmp(k[0], k[1]) < 0, 1};
  case T_LE: return (ratio){ratio_cmp(k[0], k[1]) <= 0, 1};
  case T_EQ: return (ratio){ratio_cmp(k[0], k[1]) == 0, 1};
  default: return k[0].num ? k[1] : k[2];
  }
}

/* ---- points ------------------------------------------------------------------------------- */

/* Ranges of the symbols a, b, c, d: negative values, zero, and plain positive integers. */
static const int symbol_lo[N_SYMBOLS] = {-3, 1, 0, -5};
static const int symbol_hi[N_SYMBOLS] = {4, 6, 5, -1};

static inline void make_symbols(loom_ctx *ctx, loom_expr *symbols) {
  static const char *const names[N_SYMBOLS] = {"a", "b", "c", "d"};
  for (int i = 0; i < N_SYMBOLS; i++) {
    loom_assume assume = {.integer = true,
                          .has_min = true,
                          .has_max = true,
                          .min = symbol_lo[i],
                          .max = symbol_hi[i]};
    symbols[i] = loom_symbol(ctx, names[i], &assume);
  }
}

/* Steps to the next point; false after the last.  The first call has next = false. */
static inline bool next_point(int *values, bool next) {
  for (int i = 0; i < N_SYMBOLS && !next; i++) values[i] = symbol_lo[i];
  if (!next) return true;
  for (int i = 0; i < N_SYMBOLS; i++) {
    if (values[i]++ < symbol_hi[i]) return true;
    values[i] = symbol_lo[i];
  }
  return false;
}

static inline bool is_ratio(const loom_ctx *ctx, loom_expr e, ratio r) {
  int64_t num, den;
  return loom_as_ratio(ctx, e, &num, &den) && num == (int64_t)r.num && den == (int64_t)r.den;
}

#endif
