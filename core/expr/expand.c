/* SPDX-License-Identifier: MIT */
/* Distributes products over sums.
** Invariant: the result equals its argument at every point; products whose distribution would cost
** more than the budget stay as they are. */
#include "expr/ops.h"

typedef LOOM_VEC(loom_term) term_list;

typedef struct expander {
  loom_ctx *ctx;
  int64_t budget;
  term_list left, terms;
  LOOM_VEC(loom_power) rest;
  LOOM_VEC(loom_expr) children;
} expander;

/* e as terms; a number is a term without an id. */
static bool list_terms(expander *x, term_list *list, loom_expr e) {
  loom_ctx *ctx = x->ctx;
  list->n = 0;
  if (loom_kind_of(ctx, e) != LOOM_ADD) return loom_vec_push(ctx, list, loom_split_coef(ctx, e));
  size_t n = loom_add_count(ctx, e);
  if (!loom_vec_reserve(ctx, list, n + 1)) return false;
  loom_num constant = loom_add_constant(ctx, e);
  if (!loom_num_is_zero(constant)) list->at[list->n++] = (loom_term){constant, LOOM_NONE};
  for (size_t i = 0; i < n; i++) list->at[list->n++] = loom_add_term(ctx, e, i);
  return true;
}

static bool push_product(expander *x, loom_term a, loom_term b, loom_num *constant) {
  loom_num coef = loom_num_mul(x->ctx, a.coef, b.coef);
  if (loom_num_is_none(coef)) return false;
  if (a.id == LOOM_NONE && b.id == LOOM_NONE) {
    *constant = loom_num_add(x->ctx, *constant, coef);
    return !loom_num_is_none(*constant);
  }
  loom_expr id = a.id == LOOM_NONE ? b.id : a.id;
  if (a.id != LOOM_NONE && b.id != LOOM_NONE)
    id = loom_build_product(x->ctx, LOOM_NUM_ONE, 2, (loom_power[]){{a.id, 1}, {b.id, 1}});
  return id != LOOM_NONE && loom_vec_push(x->ctx, &x->terms, ((loom_term){coef, id}));
}

/* product * sum, distributed. LOOM_NONE on failure. */
static loom_expr distribute(expander *x, loom_expr product, loom_expr sum) {
  loom_num constant = LOOM_NUM_ZERO;
  term_list right = {0};
  bool good = list_terms(x, &x->left, product) && list_terms(x, &right, sum);
  x->terms.n = 0;
  for (size_t i = 0; good && i < x->left.n; i++)
    for (size_t j = 0; good && j < right.n; j++)
      good = push_product(x, x->left.at[i], right.at[j], &constant);
  loom_vec_free(x->ctx, &right);
  return good ? loom_build_sum(x->ctx, constant, x->terms.n, x->terms.at) : LOOM_NONE;
}

static size_t term_count(const loom_ctx *ctx, loom_expr e) {
  return loom_kind_of(ctx, e) == LOOM_ADD ? loom_add_count(ctx, e) + 1 : 1;
}

static bool is_sum_power(const loom_ctx *ctx, loom_power power) {
  return power.exponent > 0 && loom_kind_of(ctx, power.base) == LOOM_ADD;
}

/* The product or power e with its sums multiplied out, or e itself when the budget is used up. */
static loom_expr multiply_out(expander *x, loom_expr e) {
  loom_ctx *ctx = x->ctx;
  size_t n = loom_mul_count(ctx, e), n_sums = 0;
  x->rest.n = 0;
  if (!loom_vec_reserve(ctx, &x->rest, n)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    loom_power power = loom_mul_power(ctx, e, i);
    if (is_sum_power(ctx, power))
      n_sums++;
    else
      x->rest.at[x->rest.n++] = power;
  }
  if (n_sums == 0) return e;
  loom_expr result = loom_build_product(ctx, LOOM_NUM_ONE, x->rest.n, x->rest.at);
  for (size_t i = 0; i < n && result != LOOM_NONE; i++) {
    loom_power power = loom_mul_power(ctx, e, i);
    if (!is_sum_power(ctx, power)) continue;
    for (int32_t k = 0; k < power.exponent && result != LOOM_NONE; k++) {
      x->budget -= (int64_t)(term_count(ctx, result) * term_count(ctx, power.base));
      if (x->budget < 0) return e;
      result = distribute(x, result, power.base);
    }
  }
  return result;
}

static loom_expr expand_node(expander *x, const loom_walk *walk, loom_expr f) {
  loom_ctx *ctx = x->ctx;
  size_t n = loom_child_count(ctx, f);
  bool changed = false;
  if (loom_kind_of(ctx, f) == LOOM_OPAQUE) return f;
  if (!loom_vec_reserve(ctx, &x->children, n)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    loom_expr child = loom_child(ctx, f, i);
    x->children.at[i] = loom_walk_get(walk, child);
    changed |= x->children.at[i] != child;
  }
  loom_expr result = changed ? loom_rebuild(ctx, f, x->children.at) : f;
  if (result == LOOM_NONE) return LOOM_NONE;
  loom_kind kind = loom_kind_of(ctx, result);
  return kind == LOOM_MUL || kind == LOOM_POW ? multiply_out(x, result) : result;
}

static void free_lists(expander *x) {
  loom_vec_free(x->ctx, &x->left);
  loom_vec_free(x->ctx, &x->terms);
  loom_vec_free(x->ctx, &x->rest);
  loom_vec_free(x->ctx, &x->children);
}

static bool has_sum(const loom_ctx *ctx, loom_expr e) {
  for (size_t i = 0, n = loom_mul_count(ctx, e); i < n; i++)
    if (is_sum_power(ctx, loom_mul_power(ctx, e, i))) return true;
  return false;
}

loom_expr loom_multiply_out(loom_ctx *ctx, loom_expr e, int64_t *budget) {
  if (!has_sum(ctx, e)) return e;
  expander x = {.ctx = ctx, .budget = *budget};
  loom_expr result = multiply_out(&x, e);
  *budget = x.budget;
  free_lists(&x);
  return result;
}

loom_expr loom_expand_within(loom_ctx *ctx, loom_expr e, int64_t budget) {
  loom_walk walk;
  expander x = {.ctx = ctx, .budget = budget};
  if (!loom_expr_check(ctx, e) || !loom_walk_begin(ctx, &walk, false)) return LOOM_NONE;
  loom_walk_root(&walk, e);
  loom_expr result = LOOM_NONE;
  bool good = true;
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    good = (result = expand_node(&x, &walk, f)) != LOOM_NONE;
    if (good) loom_walk_set(&walk, f, result);
  }
  if (good) result = loom_walk_get(&walk, e);
  if (!loom_walk_end(&walk)) good = false;
  free_lists(&x);
  return good ? result : LOOM_NONE;
}

/* Until nothing changes: rebuilding what a product stands in can make products of sums again.  At
** most 10^5 products of terms are made in a round. */
loom_expr loom_expand(loom_ctx *ctx, loom_expr e) {
  enum { BUDGET = 100000, MOST_ROUNDS = 16 };
  for (int round = 0; round < MOST_ROUNDS && e != LOOM_NONE; round++) {
    loom_expr next = loom_expand_within(ctx, e, BUDGET);
    if (next == e) break;
    e = next;
  }
  return e;
}
