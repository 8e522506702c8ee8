/* SPDX-License-Identifier: MIT */
/* Simplification of index expressions under extents of their variables.
** Invariant: each rule keeps the value at every point at which the expression has one, whatever the
** signs: // rounds towards minus infinity, % has the sign of its divisor. */
#include "expr/index.h"
#include "expr/rounding.h"

/* Rounds until nothing changes; sums of more terms are not searched for small parts. */
enum { MOST_ROUNDS = 16, MOST_TERMS = 64 };

bool loom_occurs(loom_ctx *ctx, loom_expr symbol, loom_expr e) {
  loom_walk walk;
  bool found = false;
  if (!loom_walk_begin(ctx, &walk, false)) return true;
  loom_walk_root(&walk, e);
  for (loom_expr f; !found && (f = loom_walk_next(&walk)) != LOOM_NONE;) found = f == symbol;
  return !loom_walk_end(&walk) || found;
}

/* Sums of multiples of products of symbols: there is nothing to do. */
static bool is_plain(const loom_ctx *ctx, loom_expr e) {
  bool sum = loom_kind_of(ctx, e) == LOOM_ADD;
  for (size_t i = 0, n = sum ? loom_add_count(ctx, e) : 1; i < n; i++) {
    loom_expr id = sum ? loom_add_term(ctx, e, i).id : e;
    for (size_t k = 0, m = loom_mul_count(ctx, id); k < m; k++)
      if (loom_kind_of(ctx, loom_mul_power(ctx, id, k).base) > LOOM_SYM) return false;
  }
  return true;
}

/* Whether the sum e has digits of what has digits, or sums as factors. */
static bool is_deep(const loom_ctx *ctx, loom_expr e) {
  if (loom_kind_of(ctx, e) != LOOM_ADD) return false;
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_expr id = loom_add_term(ctx, e, i).id;
    for (size_t k = 0, m = loom_mul_count(ctx, id); k < m; k++) {
      loom_expr base = loom_mul_power(ctx, id, k).base;
      if (loom_kind_of(ctx, base) == LOOM_ADD) return true;
      for (size_t c = 0, count = loom_child_count(ctx, base); c < count; c++)
        if (!is_plain(ctx, loom_child(ctx, base, c))) return true;
    }
  }
  return false;
}

loom_expr loom_simplify(loom_ctx *ctx, loom_expr e) {
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  return is_plain(ctx, e) ? e : loom_expand(ctx, e);
}

/* ---- small parts ---------------------------------------------------------------------------- */

/* A sum a = g*h + r taken apart: h and r have integer coefficients. */
typedef struct split {
  loom_terms high; /* g*h */
  int64_t constant;
  loom_range low; /* of r */
} split;

static loom_range add_ranges(loom_range a, loom_range b) {
  bool below = a.lo == LOOM_MINUS_INF || b.lo == LOOM_MINUS_INF;
  bool above = a.hi == LOOM_PLUS_INF || b.hi == LOOM_PLUS_INF;
  return (loom_range){below ? LOOM_MINUS_INF : loom_end_lo((loom_wide)a.lo + b.lo),
                      above ? LOOM_PLUS_INF : loom_end_hi((loom_wide)a.hi + b.hi)};
}

/* False: a term is no integer multiple of an integer, r is not bounded, or an error. */
static bool split_by(loom_ctx *ctx, loom_expr a, int64_t g, split *s) {
  s->high.n = 0;
  loom_num constant = loom_add_constant(ctx, a);
  if (constant.den != 1) return false;
  s->constant = loom_mod64(constant.num, g);
  s->low = (loom_range){s->constant, s->constant};
  s->high.constant = loom_num_sub(ctx, constant, LOOM_NUM(s->constant));
  if (loom_num_is_none(s->high.constant)) return false;
  for (size_t i = 0, n = loom_add_count(ctx, a); i < n; i++) {
    loom_term term = loom_add_term(ctx, a, i);
    loom_facts f = loom_facts_of(ctx, term.id);
    if (term.coef.den != 1 || f.integer != LOOM_YES) return false;
    if (term.coef.num % g == 0) {
      if (!loom_terms_push(&s->high, term.coef, term.id)) return false;
      continue;
    }
    loom_range coef = {term.coef.num, term.coef.num};
    s->low = add_ranges(s->low, loom_range_mul(coef, (loom_range){f.lo, f.hi}));
    if (s->low.lo == LOOM_MINUS_INF || s->low.hi == LOOM_PLUS_INF) return false;
  }
  return true;
}

/* g*h and the multiple of g that r reaches everywhere, if r stays between two of them; else a. */
static loom_expr without_low(loom_ctx *ctx, loom_expr a, int64_t g, split *s) {
  if (!split_by(ctx, a, g, s)) return loom_base_failed(ctx) ? LOOM_NONE : a;
  int64_t whole = loom_floor_div64(s->low.lo, g);
  bool anything = s->constant != 0 || s->high.n < loom_add_count(ctx, a);
  if (!anything || whole != loom_floor_div64(s->low.hi, g)) return a;
  loom_num reached = loom_num_mul(ctx, LOOM_NUM(whole), LOOM_NUM(g));
  s->high.constant = loom_num_add(ctx, s->high.constant, reached);
  if (loom_num_is_none(s->high.constant) || !loom_terms_merge(&s->high)) return LOOM_NONE;
  return loom_terms_build(&s->high);
}

/* a with what is less than g = gcd(a coefficient, d) everywhere left out: (g*h + r) // (g*k) is
** h // k for r in [0, g). */
static loom_expr without_small(loom_ctx *ctx, loom_expr a, int64_t d) {
  if (loom_kind_of(ctx, a) != LOOM_ADD || loom_add_count(ctx, a) > MOST_TERMS) return a;
  split s;
  int64_t last = 1;
  loom_expr result = a;
  loom_terms_begin(ctx, &s.high);
  for (size_t i = 0; result == a && i < loom_add_count(ctx, a); i++) {
    loom_num coef = loom_add_term(ctx, a, i).coef;
    int64_t g = coef.den == 1 ? loom_gcd64(coef.num, d) : 1;
    if (g == 1 || g == last) continue;
    result = without_low(ctx, a, g, &s);
    last = g;
  }
  loom_terms_end(&s.high);
  return result;
}

/* a without a variable that is less than d, where d divides the rest. */
static loom_expr without_variable(loom_scope *scope, loom_expr a, loom_expr d) {
  loom_ctx *ctx = scope->ctx;
  if (loom_kind_of(ctx, a) != LOOM_ADD || loom_add_count(ctx, a) > MOST_TERMS) return a;
  for (size_t i = 0; i < loom_add_count(ctx, a); i++) {
    loom_term term = loom_add_term(ctx, a, i);
    if (!loom_num_is_one(term.coef) || loom_facts_of(ctx, term.id).integer != LOOM_YES) continue;
    if (loom_facts_of(ctx, term.id).sign & LOOM_NEG) continue;
    loom_expr rest = loom_sub(ctx, a, term.id);
    if (rest == LOOM_NONE) return LOOM_NONE;
    if (loom_is_multiple(ctx, rest, d) && loom_scope_less(scope, term.id, d)) return rest;
  }
  return a;
}

static loom_expr trim(loom_scope *scope, loom_expr a, loom_expr d) {
  loom_ctx *ctx = scope->ctx;
  if (loom_facts_of(ctx, a).integer != LOOM_YES || !loom_is_positive_integer(ctx, d)) return a;
  int64_t by;
  if (loom_as_int(ctx, d, &by)) return without_small(ctx, a, by);
  return without_variable(scope, a, d);
}

/* ---- divisions ------------------------------------------------------------------------------ */

/* Whether 0 <= b < size. */
static bool is_within(loom_scope *scope, loom_expr b, loom_expr size) {
  loom_ctx *ctx = scope->ctx;
  loom_facts f = loom_facts_of(ctx, b);
  if (size == LOOM_NONE || f.integer != LOOM_YES || !loom_is_positive_integer(ctx, size))
    return false;
  bool negative = f.sign & LOOM_NEG;
  if (loom_expr_is_num(ctx, size) && scope->open.n == 0)
    return !negative && f.hi < loom_facts_of(ctx, size).lo;
  if (negative && !loom_scope_less(scope, loom_int(ctx, -1), b)) return false;
  return loom_scope_less(scope, b, size);
}

/* A division or remainder with what the extents say. */
static loom_expr resolve(loom_scope *scope, loom_expr e) {
  loom_ctx *ctx = scope->ctx;
  loom_digit digit;
  if (!loom_digit_of(ctx, e, &digit)) return e;
  bool changed = false;
  if (!loom_digit_unfold(ctx, &digit, &changed)) return LOOM_NONE;
  if (loom_digit_collapse(ctx, &digit)) changed = true;
  loom_expr b = trim(scope, digit.b, digit.d);
  if (b == LOOM_NONE) return LOOM_NONE;
  changed = changed || b != digit.b;
  digit.b = b;
  if (digit.m == LOOM_NONE) {
    if (is_within(scope, b, digit.d)) return loom_int(ctx, 0);
  } else if (is_within(scope, b, loom_build_mul(ctx, digit.d, digit.m))) {
    digit.m = LOOM_NONE;
    changed = true;
  }
  return changed ? loom_finish(ctx, loom_digit_build(ctx, digit)) : e;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Rewrites until nothing changes.  What a node became is kept, so each is looked at once. */
typedef struct simplifier {
  loom_ctx *ctx;
  loom_scope *scope;
  bool resolves; /* divisions too; before, sums are joined that would not fit together after */
  int64_t budget;
  loom_walk walk;
  LOOM_VEC(loom_expr) children;
} simplifier;

/* Whether a sum has remainders and quotients among its factors. */
static bool is_mixed(const loom_ctx *ctx, loom_expr e) {
  bool quotients = false, remainders = false;
  if (e == LOOM_NONE || loom_kind_of(ctx, e) != LOOM_ADD) return false;
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_expr id = loom_add_term(ctx, e, i).id;
    for (size_t k = 0, m = loom_mul_count(ctx, id); k < m; k++) {
      loom_kind kind = loom_kind_of(ctx, loom_mul_power(ctx, id, k).base);
      quotients |= kind == LOOM_FLOORDIV || kind == LOOM_CEIL;
      remainders |= kind == LOOM_MOD || kind == LOOM_MODIDX;
    }
  }
  return quotients && remainders;
}

static loom_expr rewrite_node(simplifier *s, loom_expr f) {
  loom_ctx *ctx = s->ctx;
  size_t n = loom_child_count(ctx, f);
  if (n == 0 || loom_kind_of(ctx, f) == LOOM_OPAQUE) return f;
  if (!loom_vec_reserve(ctx, &s->children, n)) return LOOM_NONE;
  bool changed = false;
  for (size_t i = 0; i < n; i++) {
    loom_expr child = loom_child(ctx, f, i);
    s->children.at[i] = loom_walk_get(&s->walk, child);
    changed |= s->children.at[i] != child;
  }
  loom_expr e = changed ? loom_rebuild(ctx, f, s->children.at) : f;
  if (e == LOOM_NONE) return LOOM_NONE;
  switch (loom_kind_of(ctx, e)) {
  case LOOM_MUL:
  case LOOM_POW: return loom_multiply_out(ctx, e, &s->budget);
  case LOOM_ADD: return loom_join_sum(ctx, e);
  case LOOM_FLOORDIV:
  case LOOM_MOD:
  case LOOM_MODIDX: return s->resolves ? resolve(s->scope, e) : e;
  default: return e;
  }
}

static loom_expr rewrite_all(simplifier *s, loom_expr e) {
  enum { BUDGET = 100000 };
  s->budget = BUDGET;
  if (e == LOOM_NONE || !loom_walk_begin(s->ctx, &s->walk, false)) return LOOM_NONE;
  bool good = true;
  for (int round = 0; good && round < MOST_ROUNDS; round++) {
    loom_walk_root(&s->walk, e);
    for (loom_expr f; good && (f = loom_walk_next(&s->walk)) != LOOM_NONE;) {
      loom_expr result = rewrite_node(s, f);
      good = result != LOOM_NONE;
      if (good) loom_walk_set(&s->walk, f, result);
    }
    loom_expr next = loom_walk_get(&s->walk, e);
    if (!good || next == e) break;
    e = next;
  }
  return loom_walk_end(&s->walk) && good ? e : LOOM_NONE;
}

static loom_expr simplify_narrow(loom_scope *scope, loom_expr e) {
  simplifier s = {.ctx = scope->ctx, .scope = scope};
  e = rewrite_all(&s, e);
  s.resolves = true;
  e = rewrite_all(&s, e);
  if (is_mixed(scope->ctx, e)) {
    loom_expr next = loom_join_apart(scope->ctx, e);
    if (next != e) e = rewrite_all(&s, next);
  }
  loom_vec_free(scope->ctx, &s.children);
  return e;
}

/* Bounded rounds of walks linear in the distinct sub-expressions; what a round leaves is exact. */
loom_expr loom_simplify_in(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  loom_scope scope;
  if (!loom_expr_check(ctx, e)) return LOOM_NONE;
  if (is_plain(ctx, e)) return e;
  if (is_deep(ctx, e)) e = loom_join_outside(ctx, e);
  if (e == LOOM_NONE) return LOOM_NONE;
  bool good = loom_scope_begin(ctx, &scope, given) && loom_scope_hide(&scope, e);
  if (good) e = loom_scope_leave(&scope, simplify_narrow(&scope, loom_scope_enter(&scope, e)));
  loom_scope_end(&scope);
  return good ? loom_finish(ctx, e) : LOOM_NONE;
}
