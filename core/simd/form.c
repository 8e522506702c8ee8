/* SPDX-License-Identifier: MIT */
/* Reads an index as a sum over digits of loops (doc/formulas.md#memory-sectors).
** Invariant: the product of the sizes of a loop's digits is the size of the loop; a sum holds at
** every point of the nest. */
#include "simd/form.h"

#include "expr/index.h"
#include "expr/interval.h"
#include "expr/ops.h"

#define MOST (INT64_C(1) << 60)

/* A digit of the value of a loop: its value times `unit` is a part of it. */
typedef struct digit {
  size_t loop;
  int64_t size, unit;
} digit;

typedef struct sum {
  int64_t constant, step[LOOM_MOST_DIGITS];
} sum;

typedef struct reader {
  loom_ctx *ctx;
  size_t n_loops;
  const loom_expr *variables;
  size_t n;
  digit digits[LOOM_MOST_DIGITS];
  LOOM_VEC(sum) sums; /* of the nodes visited: one behind its number */
  bool cut;           /* a digit has been cut: begin again */
} reader;

/* ---- sums --------------------------------------------------------------------------------- */

/* Whether the sum stays in bounds at all points, whatever the order of adding. */
static bool is_bounded(const reader *r, const sum *s) {
  int64_t all = s->constant < 0 ? -s->constant : s->constant;
  for (size_t i = 0; i < r->n; i++) {
    int64_t part, step = s->step[i] < 0 ? -s->step[i] : s->step[i];
    if (__builtin_mul_overflow(step, r->digits[i].size - 1, &part) ||
        __builtin_add_overflow(all, part, &all) || all > MOST)
      return false;
  }
  return true;
}

static bool add_scaled(const reader *r, sum *s, int64_t factor, const sum *more) {
  int64_t part;
  if (__builtin_mul_overflow(more->constant, factor, &part) ||
      __builtin_add_overflow(s->constant, part, &s->constant))
    return false;
  for (size_t i = 0; i < r->n; i++)
    if (__builtin_mul_overflow(more->step[i], factor, &part) ||
        __builtin_add_overflow(s->step[i], part, &s->step[i]))
      return false;
  return is_bounded(r, s);
}

static bool is_constant(const reader *r, const sum *s) {
  for (size_t i = 0; i < r->n; i++)
    if (s->step[i] != 0) return false;
  return true;
}

/* ---- divisions ---------------------------------------------------------------------------- */

/* Cuts a digit whose steps come back to a multiple of d within it, if they do so evenly. */
static bool cut_digit(reader *r, const sum *s, int64_t d) {
  if (r->n == LOOM_MOST_DIGITS) return false;
  for (size_t i = 0; i < r->n; i++) {
    int64_t step = loom_floor_rest(s->step[i], d);
    if (step == 0) continue;
    int64_t inner = d / loom_gcd64(d, step), size = r->digits[i].size;
    if (inner >= size || size % inner != 0) continue;
    for (size_t k = r->n++; k > i + 1; k--) r->digits[k] = r->digits[k - 1];
    r->digits[i + 1] = (digit){r->digits[i].loop, inner, r->digits[i].unit};
    r->digits[i].size = size / inner;
    r->digits[i].unit *= inner;
    r->cut = true;
    return true;
  }
  return false;
}

/* s // d and s % d: what is no multiple of d must stay between two neighbouring ones. */
static bool divide(reader *r, const sum *s, int64_t d, sum *quotient, sum *rest) {
  int64_t least = loom_floor_rest(s->constant, d), most = least;
  *quotient = *rest = (sum){0};
  for (size_t i = 0; i < r->n; i++) {
    if (s->step[i] % d == 0) {
      quotient->step[i] = s->step[i] / d;
      continue;
    }
    rest->step[i] = s->step[i];
    int64_t span = s->step[i] * (r->digits[i].size - 1);
    if (span < 0)
      least += span;
    else
      most += span;
  }
  int64_t cell = loom_floor_quotient(least, d);
  if (cell != loom_floor_quotient(most, d)) {
    cut_digit(r, s, d);
    return false;
  }
  rest->constant = loom_floor_rest(s->constant, d) - cell * d;
  quotient->constant = loom_floor_quotient(s->constant, d) + cell;
  return true;
}

/* ---- nodes -------------------------------------------------------------------------------- */

static const sum *sum_of(const reader *r, const loom_walk *walk, loom_expr e) {
  return &r->sums.at[loom_walk_get(walk, e) - 1];
}

static bool positive(const reader *r, const sum *s) {
  return is_constant(r, s) && s->constant > 0;
}

static bool read_symbol(const reader *r, loom_expr e, sum *out) {
  for (size_t v = 0; v < r->n_loops; v++) {
    if (r->variables[v] != e) continue;
    for (size_t i = 0; i < r->n; i++)
      if (r->digits[i].loop == v) out->step[i] = r->digits[i].unit;
    return true;
  }
  return false;
}

static bool read_add(const reader *r, const loom_walk *walk, loom_expr e, sum *out) {
  if (!loom_num_to_int(r->ctx, loom_add_constant(r->ctx, e), &out->constant)) return false;
  for (size_t i = 0, n = loom_add_count(r->ctx, e); i < n; i++) {
    loom_term term = loom_add_term(r->ctx, e, i);
    int64_t factor;
    if (!loom_num_to_int(r->ctx, term.coef, &factor) ||
        !add_scaled(r, out, factor, sum_of(r, walk, term.id)))
      return false;
  }
  return true;
}

/* A product of which one factor at most is not constant. */
static bool read_product(const reader *r, const loom_walk *walk, loom_expr e, sum *out) {
  out->constant = 1;
  for (size_t i = 0, n = loom_mul_count(r->ctx, e); i < n; i++) {
    loom_power power = loom_mul_power(r->ctx, e, i);
    const sum *base = sum_of(r, walk, power.base);
    if (power.exponent < 0) return false;
    for (int32_t k = 0; k < power.exponent; k++) {
      sum old = *out, product = {0};
      const sum *factor = is_constant(r, base) ? base : &old;
      if (!is_constant(r, factor) ||
          !add_scaled(r, &product, factor->constant, factor == base ? &old : base))
        return false;
      *out = product;
    }
  }
  return true;
}

static bool read_division(reader *r, const loom_walk *walk, loom_expr e, sum *out) {
  loom_kind kind = loom_kind_of(r->ctx, e);
  const sum *a = sum_of(r, walk, loom_child(r->ctx, e, 0));
  const sum *b = sum_of(r, walk, loom_child(r->ctx, e, 1));
  sum quotient, rest;
  if (!positive(r, b) || !divide(r, a, b->constant, &quotient, &rest)) return false;
  *out = kind == LOOM_MOD ? rest : quotient;
  if (kind != LOOM_MODIDX) return true;
  const sum *m = sum_of(r, walk, loom_child(r->ctx, e, 2));
  return positive(r, m) && divide(r, &quotient, m->constant, &rest, out);
}

static bool read_node(reader *r, const loom_walk *walk, loom_expr e, sum *out) {
  *out = (sum){0};
  switch (loom_kind_of(r->ctx, e)) {
  case LOOM_NUM:
    return loom_num_to_int(r->ctx, loom_num_of(r->ctx, e), &out->constant) && is_bounded(r, out);
  case LOOM_SYM: return read_symbol(r, e, out);
  case LOOM_ADD: return read_add(r, walk, e, out);
  case LOOM_MUL:
  case LOOM_POW: return read_product(r, walk, e, out);
  case LOOM_FLOORDIV:
  case LOOM_MOD:
  case LOOM_MODIDX: return read_division(r, walk, e, out);
  case LOOM_OPAQUE: *out = *sum_of(r, walk, loom_child(r->ctx, e, 0)); return true;
  default: return false;
  }
}

/* ---- entry -------------------------------------------------------------------------------- */

static bool read_once(reader *r, loom_expr index, sum *out) {
  loom_walk walk;
  bool good = loom_walk_begin(r->ctx, &walk, false);
  if (!good) return false;
  r->sums.n = 0;
  r->cut = false;
  loom_walk_root(&walk, index);
  for (loom_expr e; good && (e = loom_walk_next(&walk)) != LOOM_NONE;) {
    good = read_node(r, &walk, e, out) && loom_vec_push(r->ctx, &r->sums, *out);
    if (good) loom_walk_set(&walk, e, (uint32_t)r->sums.n);
  }
  return loom_walk_end(&walk) && good;
}

static bool begin(reader *r, const int64_t *sizes) {
  for (size_t i = 0; i < r->n_loops; i++) {
    if (sizes[i] == 1) continue;
    if (r->n == LOOM_MOST_DIGITS) return false;
    r->digits[r->n++] = (digit){i, sizes[i], 1};
  }
  return true;
}

bool loom_form_of(loom_ctx *ctx, loom_expr index, size_t n, const loom_expr *variables,
                  const int64_t *sizes, loom_form *out) {
  reader r = {.ctx = ctx, .n_loops = n, .variables = variables};
  sum s = {0};
  if (!begin(&r, sizes)) return false;
  bool good = read_once(&r, index, &s);
  while (!good && r.cut) good = read_once(&r, index, &s);
  loom_vec_free(ctx, &r.sums);
  if (!good) return false;
  out->n = r.n;
  out->constant = s.constant;
  for (size_t i = 0; i < r.n; i++) out->digits[i] = (loom_step){r.digits[i].size, s.step[i]};
  return !loom_base_failed(ctx);
}
