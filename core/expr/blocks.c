/* SPDX-License-Identifier: MIT */
/* Block shapes that divisions and remainders of one variable imply.
** Invariant: a match is an identity: strides times pieces add up to the expression. */
#include "expr/index.h"
#include "expr/rounding.h"

/* ---- terms ---------------------------------------------------------------------------------- */

static loom_expr keep_terms(loom_ctx *ctx, loom_expr e, loom_expr variable) {
  loom_term split = loom_split_coef(ctx, e);
  if (split.id == LOOM_NONE) return loom_int(ctx, 0);
  if (loom_kind_of(ctx, split.id) != LOOM_ADD)
    return loom_occurs(ctx, variable, e) ? e : loom_int(ctx, 0);
  loom_terms kept;
  loom_terms_begin(ctx, &kept);
  bool good = true;
  for (size_t i = 0; good && i < loom_add_count(ctx, e); i++) {
    loom_term term = loom_add_term(ctx, e, i);
    if (loom_occurs(ctx, variable, term.id)) good = loom_terms_push(&kept, term.coef, term.id);
  }
  loom_expr result = good && loom_terms_merge(&kept) ? loom_terms_build(&kept) : LOOM_NONE;
  loom_terms_end(&kept);
  return loom_finish(ctx, result);
}

loom_expr loom_terms_of(loom_ctx *ctx, loom_expr e, loom_expr variable) {
  if (!loom_symbol_check(ctx, variable)) return LOOM_NONE;
  e = loom_simplify(ctx, loom_reveal(ctx, e));
  return e == LOOM_NONE ? e : keep_terms(ctx, e, variable);
}

bool loom_affine(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr *stride) {
  if (!loom_symbol_check(ctx, variable)) return false;
  e = loom_simplify(ctx, e);
  *stride = loom_simplify(ctx, loom_div(ctx, e, variable));
  return *stride != LOOM_NONE && loom_facts_of(ctx, *stride).integer == LOOM_YES &&
         !loom_occurs(ctx, variable, *stride);
}

/* ---- matching ------------------------------------------------------------------------------- */

/* stride * ((variable // step) % dim), dim LOOM_NONE: without the remainder. */
typedef struct level {
  loom_expr stride, step, dim;
} level;

typedef struct matcher {
  loom_ctx *ctx;
  loom_expr variable;
  LOOM_VEC(level) levels; /* of the remainders; innermost first once sorted */
  level outer;            /* of the quotient; stride LOOM_NONE: there is none */
} matcher;

/* False: the term has another form, or an error. */
static bool read_term(matcher *m, loom_term term) {
  loom_ctx *ctx = m->ctx;
  for (size_t i = 0, n = loom_mul_count(ctx, term.id); i < n; i++) {
    loom_power power = loom_mul_power(ctx, term.id, i);
    loom_digit digit;
    if (power.exponent != 1 || !loom_digit_of(ctx, power.base, &digit)) continue;
    loom_expr stride = loom_scale(ctx, term.coef, loom_build_div(ctx, term.id, power.base));
    if (stride == LOOM_NONE || digit.b != m->variable) return false;
    if (loom_occurs(ctx, m->variable, stride) || loom_occurs(ctx, m->variable, digit.d))
      return false;
    level found = {stride, digit.d, digit.m};
    if (digit.m != LOOM_NONE)
      return !loom_occurs(ctx, m->variable, digit.m) && loom_vec_push(ctx, &m->levels, found);
    if (m->outer.stride != LOOM_NONE) return false;
    m->outer = found;
    return true;
  }
  return false;
}

static bool read_terms(matcher *m, loom_expr e) {
  loom_ctx *ctx = m->ctx;
  loom_term split = loom_split_coef(ctx, e);
  if (split.id == LOOM_NONE) return false;
  if (loom_kind_of(ctx, split.id) != LOOM_ADD) return read_term(m, split);
  if (!loom_num_is_zero(loom_add_constant(ctx, e))) return false;
  for (size_t i = 0; i < loom_add_count(ctx, e); i++)
    if (!read_term(m, loom_add_term(ctx, e, i))) return false;
  return true;
}

/* Innermost first: each step divides the next.  False: they do not. */
static bool sort_levels(matcher *m) {
  for (size_t i = 0; i < m->levels.n; i++) {
    size_t least = i;
    for (size_t k = i + 1; k < m->levels.n; k++)
      if (loom_is_multiple(m->ctx, m->levels.at[least].step, m->levels.at[k].step)) least = k;
    level t = m->levels.at[i];
    m->levels.at[i] = m->levels.at[least];
    m->levels.at[least] = t;
  }
  return true;
}

/* The dims from the innermost outwards, as far as the levels say. */
typedef struct filling {
  loom_ctx *ctx;
  size_t n, next;    /* dims, and those not filled yet, which are the outermost */
  loom_expr product; /* of the filled ones */
  loom_expr *dims, *strides, *steps;
} filling;

static bool fill(filling *f, loom_expr dim, loom_expr stride) {
  if (f->next <= 1 || dim == LOOM_NONE || stride == LOOM_NONE) return false;
  f->next--;
  f->dims[f->next] = dim;
  f->strides[f->next] = stride;
  f->steps[f->next] = f->product;
  f->product = loom_mul(f->ctx, f->product, dim);
  return f->product != LOOM_NONE;
}

/* A dim that nothing walks, where the next step is not the product of the dims so far. */
static bool fill_gap(filling *f, loom_expr step) {
  if (step == f->product) return true;
  if (!loom_is_multiple(f->ctx, step, f->product)) return false;
  return fill(f, loom_div(f->ctx, step, f->product), loom_int(f->ctx, 0));
}

static bool fill_levels(filling *f, const matcher *m) {
  for (size_t i = 0; i < m->levels.n; i++) {
    level l = m->levels.at[i];
    if (!fill_gap(f, l.step) || !fill(f, l.dim, l.stride)) return false;
  }
  if (m->outer.stride != LOOM_NONE && !fill_gap(f, m->outer.step)) return false;
  while (f->next > 1)
    if (!fill(f, loom_int(f->ctx, 1), loom_int(f->ctx, 0))) return false;
  return true;
}

static bool finish(filling *f, const matcher *m, loom_expr extent) {
  loom_ctx *ctx = f->ctx;
  if (!loom_is_multiple(ctx, extent, f->product)) return false;
  f->dims[0] = loom_simplify(ctx, loom_div(ctx, extent, f->product));
  f->strides[0] = m->outer.stride != LOOM_NONE ? m->outer.stride : loom_int(ctx, 0);
  f->steps[0] = loom_floor_div(ctx, m->variable, f->product);
  bool good = f->dims[0] != LOOM_NONE && f->strides[0] != LOOM_NONE && f->steps[0] != LOOM_NONE;
  for (size_t k = 1; good && k < f->n; k++) {
    f->steps[k] = loom_mod_index(ctx, m->variable, f->steps[k], f->dims[k]);
    good = f->steps[k] != LOOM_NONE;
  }
  return good;
}

static bool match(matcher *m, loom_expr e, loom_expr extent, filling *f) {
  bool nothing = loom_expr_is_num(m->ctx, e) && loom_num_is_zero(loom_num_of(m->ctx, e));
  if (!nothing && (!read_terms(m, e) || !sort_levels(m))) return false;
  return fill_levels(f, m) && finish(f, m, extent);
}

/* With fewer levels than n the dims that are left are 1, outermost but for the leading one. */
bool loom_match_blocks(loom_ctx *ctx, loom_expr e, loom_expr variable, loom_expr extent, size_t n,
                       loom_expr *dims, loom_expr *strides, loom_expr *pieces) {
  if (!loom_expr_check(ctx, e) || !loom_symbol_check(ctx, variable) ||
      !loom_expr_check(ctx, extent))
    return false;
  if (n == 0) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "a block has at least one dimension");
    return false;
  }
  matcher m = {.ctx = ctx, .variable = variable};
  filling f = {ctx, n, n, loom_int(ctx, 1), dims, strides, pieces};
  e = loom_simplify(ctx, e);
  bool matched = e != LOOM_NONE && f.product != LOOM_NONE && match(&m, e, extent, &f);
  loom_vec_free(ctx, &m.levels);
  return matched && !loom_base_failed(ctx);
}
