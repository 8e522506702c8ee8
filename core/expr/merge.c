/* SPDX-License-Identifier: MIT */
/* Merges loops that all formulas walk as one.
** Invariant: with the new loops in place of the old ones every formula takes the same values, each
** as often: a merged pair is one loop over all of its pairs of iterations. */
#include "expr/index.h"
#include "expr/make.h"

typedef struct merger {
  loom_ctx *ctx;
  size_t n, n_formulas;
  const loom_expr *variables;
  LOOM_VEC(loom_expr) formulas; /* simplified */
  LOOM_VEC(loom_expr) sizes;    /* LOOM_NONE: the loop is dead */
  LOOM_VEC(loom_expr) strides;  /* n for each formula */
  loom_expr low, high;          /* fresh variables of a trial */
} merger;

/* The row-major index of all loops. */
static loom_expr row_major(loom_ctx *ctx, size_t n, const loom_expr *variables,
                           const loom_expr *sizes) {
  loom_expr index = loom_int(ctx, 0);
  for (size_t i = 0; i < n; i++)
    index = loom_add(ctx, loom_mul(ctx, index, sizes[i]), variables[i]);
  return index;
}

static bool add_formula(merger *m, loom_expr formula) {
  loom_ctx *ctx = m->ctx;
  size_t at = m->strides.n;
  formula = loom_simplify(ctx, formula);
  if (formula == LOOM_NONE || !loom_vec_push(ctx, &m->formulas, formula) ||
      !loom_vec_reserve(ctx, &m->strides, m->n))
    return false;
  m->strides.n += m->n;
  return loom_strides(ctx, formula, m->n, m->variables, 0, NULL, m->strides.at + at) == LOOM_OK;
}

static bool add_size(merger *m, loom_expr size) {
  size = loom_simplify(m->ctx, size);
  if (size == LOOM_NONE) return false;
  bool one = loom_expr_is_num(m->ctx, size) && loom_num_is_one(loom_num_of(m->ctx, size));
  return loom_vec_push(m->ctx, &m->sizes, one ? LOOM_NONE : size);
}

/* Variables that no formula has. */
static bool make_fresh(merger *m) {
  const loom_assume any = {.integer = true, .has_min = true, .min = 0};
  loom_expr first = loom_symbol(m->ctx, "m1", NULL), second = loom_symbol(m->ctx, "m2", NULL);
  if (first == LOOM_NONE || second == LOOM_NONE) return false;
  m->low = loom_narrow_symbol(m->ctx, first, &any);
  m->high = loom_narrow_symbol(m->ctx, second, &any);
  return m->low != LOOM_NONE && m->high != LOOM_NONE;
}

static bool begin(merger *m, const loom_expr *sizes, const loom_expr *formulas, bool keep_order) {
  loom_ctx *ctx = m->ctx;
  for (size_t i = 0; i < m->n; i++)
    if (!loom_symbol_check(ctx, m->variables[i]) || !loom_expr_check(ctx, sizes[i])) return false;
  bool good = make_fresh(m);
  for (size_t i = 0; good && i < m->n; i++) good = add_size(m, sizes[i]);
  for (size_t k = 0; good && k < m->n_formulas; k++)
    good = loom_expr_check(ctx, formulas[k]) && add_formula(m, formulas[k]);
  if (good && keep_order) {
    good = add_formula(m, row_major(ctx, m->n, m->variables, sizes));
    m->n_formulas++;
  }
  return good;
}

/* Whether stepping the inner loop i through is one step of the outer loop j in each formula, at the
** origin. */
static bool strides_fit(const merger *m, size_t i, size_t j, bool *good) {
  for (size_t k = 0; k < m->n_formulas; k++) {
    const loom_expr *strides = m->strides.at + k * m->n;
    loom_expr step = loom_simplify(m->ctx, loom_mul(m->ctx, strides[i], m->sizes.at[i]));
    *good = step != LOOM_NONE;
    if (step != strides[j]) return false;
  }
  return true;
}

static loom_expr with_pair(const merger *m, loom_expr formula, size_t i, size_t j, loom_expr inner,
                           loom_expr outer) {
  loom_expr pair[] = {m->variables[i], m->variables[j]}, values[] = {inner, outer};
  return loom_simplify(m->ctx, loom_substitute(m->ctx, formula, 2, pair, values));
}

/* Whether the inner loop run on past its end goes on as the outer one does: first for full turns,
** as the reference asks, then for every iteration. */
static bool is_same(const merger *m, loom_expr formula, size_t i, size_t j, bool *good) {
  loom_ctx *ctx = m->ctx;
  loom_expr zero = loom_int(ctx, 0), size = m->sizes.at[i], inner = m->variables[i], stride;
  *good = true;
  if (loom_linear_stride(ctx, formula, inner, m->n, m->variables, &stride) &&
      loom_linear_stride(ctx, formula, m->variables[j], m->n, m->variables, &stride))
    return true;
  loom_expr turns = with_pair(m, formula, i, j, loom_mul(ctx, m->low, size), m->high);
  loom_expr joined = with_pair(m, formula, i, j, zero, loom_add(ctx, m->low, m->high));
  loom_expr on = loom_add(ctx, inner, loom_mul(ctx, m->variables[j], size));
  loom_expr all = with_pair(m, formula, i, j, on, zero);
  *good = turns != LOOM_NONE && joined != LOOM_NONE && all != LOOM_NONE;
  if (!*good || turns != joined || all == formula) return *good && turns == joined;
  loom_given given = {.extents = &(loom_extent){inner, size}, .n_extents = 1};
  all = loom_simplify_in(ctx, all, &given);
  formula = loom_simplify_in(ctx, formula, &given);
  *good = all != LOOM_NONE && formula != LOOM_NONE;
  return all == formula;
}

static bool can_merge(const merger *m, size_t i, size_t j, bool *good) {
  if (!strides_fit(m, i, j, good)) return false;
  for (size_t k = 0; *good && k < m->n_formulas; k++)
    if (!is_same(m, m->formulas.at[k], i, j, good)) return false;
  return *good;
}

/* One sweep from last to first; *changed: a pair was merged.  False with an error. */
static bool sweep(merger *m, bool *changed) {
  *changed = false;
  for (size_t i = m->n; i-- > 0;) {
    for (size_t j = m->n; j-- > 0;) {
      if (i == j || m->sizes.at[i] == LOOM_NONE || m->sizes.at[j] == LOOM_NONE) continue;
      bool good = true;
      if (can_merge(m, i, j, &good)) {
        loom_expr both = loom_simplify(m->ctx, loom_mul(m->ctx, m->sizes.at[i], m->sizes.at[j]));
        if (both == LOOM_NONE) return false;
        m->sizes.at[i] = both;
        m->sizes.at[j] = LOOM_NONE;
        *changed = true;
      }
      if (!good) return false;
    }
  }
  return true;
}

ptrdiff_t loom_merge_loops(loom_ctx *ctx, size_t n, const loom_expr *variables,
                           const loom_expr *sizes, size_t n_formulas, const loom_expr *formulas,
                           bool keep_order, size_t *kept, loom_expr *new_sizes) {
  merger m = {.ctx = ctx, .n = n, .n_formulas = n_formulas, .variables = variables};
  bool good = begin(&m, sizes, formulas, keep_order), changed = true;
  while (good && changed) good = sweep(&m, &changed);
  ptrdiff_t left = 0;
  for (size_t i = 0; good && i < n; i++) {
    if (m.sizes.at[i] == LOOM_NONE) continue;
    kept[left] = i;
    new_sizes[left++] = m.sizes.at[i];
  }
  loom_vec_free(ctx, &m.formulas);
  loom_vec_free(ctx, &m.sizes);
  loom_vec_free(ctx, &m.strides);
  return good && !loom_base_failed(ctx) ? left : -1;
}
