/* SPDX-License-Identifier: MIT */
/* The same operation on other children: what every rewriting of expressions is made of. */
#include "expr/ops.h"
#include "expr/terms.h"

static loom_expr rebuild_sum(loom_ctx *ctx, loom_expr e, const loom_expr *children) {
  loom_terms sum;
  loom_terms_begin(ctx, &sum);
  sum.constant = loom_add_constant(ctx, e);
  bool good = true;
  for (size_t i = 0; good && i < loom_add_count(ctx, e); i++)
    good = loom_terms_add(&sum, loom_add_term(ctx, e, i).coef, children[i]);
  loom_expr result = good && loom_terms_merge(&sum) ? loom_terms_build(&sum) : LOOM_NONE;
  loom_terms_end(&sum);
  return loom_finish(ctx, result);
}

static loom_expr rebuild_product(loom_ctx *ctx, loom_expr e, const loom_expr *children) {
  enum { FEW = 32 };
  size_t n = loom_mul_count(ctx, e);
  loom_power few[FEW], *powers = few;
  if (n > FEW) powers = loom_realloc_array(ctx, NULL, 0, n, sizeof *powers);
  if (!powers) return LOOM_NONE;
  for (size_t i = 0; i < n; i++)
    powers[i] = (loom_power){children[i], loom_mul_power(ctx, e, i).exponent};
  loom_expr result = loom_build_product(ctx, LOOM_NUM_ONE, n, powers);
  if (powers != few) loom_realloc_array(ctx, powers, n, 0, sizeof *powers);
  return loom_finish(ctx, result);
}

loom_expr loom_rebuild(loom_ctx *ctx, loom_expr e, const loom_expr *children) {
  size_t n = loom_child_count(ctx, e);
  if (!loom_usable(ctx, n, children)) return LOOM_NONE;
  bool same = true;
  for (size_t i = 0; same && i < n; i++) same = children[i] == loom_child(ctx, e, i);
  if (same) return e;
  switch (loom_kind_of(ctx, e)) {
  case LOOM_NUM:
  case LOOM_SYM: return e;
  case LOOM_POW:
  case LOOM_MUL: return rebuild_product(ctx, e, children);
  case LOOM_ADD: return rebuild_sum(ctx, e, children);
  case LOOM_MIN: return loom_min(ctx, n, children);
  case LOOM_MAX: return loom_max(ctx, n, children);
  case LOOM_FLOOR: return loom_floor(ctx, children[0]);
  case LOOM_CEIL: return loom_ceil(ctx, children[0]);
  case LOOM_FLOORDIV: return loom_floor_div(ctx, children[0], children[1]);
  case LOOM_MOD: return loom_mod(ctx, children[0], children[1]);
  case LOOM_MODIDX: return loom_mod_index(ctx, children[0], children[1], children[2]);
  case LOOM_LT: return loom_lt(ctx, children[0], children[1]);
  case LOOM_LE: return loom_le(ctx, children[0], children[1]);
  case LOOM_EQ: return loom_eq(ctx, children[0], children[1]);
  case LOOM_SELECT: return loom_select(ctx, children[0], children[1], children[2]);
  case LOOM_OPAQUE: return loom_opaque(ctx, children[0]);
  case LOOM_CALL: return loom_call(ctx, loom_call_function(ctx, e), n, children);
  }
  return LOOM_NONE;
}

typedef LOOM_VEC(loom_expr) expr_list;

static loom_expr rewrite_node(loom_walk *walk, loom_expr f, expr_list *children) {
  loom_ctx *ctx = walk->ctx;
  size_t n = loom_child_count(ctx, f);
  bool changed = false;
  if (!loom_vec_reserve(ctx, children, n)) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    loom_expr child = loom_child(ctx, f, i);
    children->at[i] = loom_walk_get(walk, child);
    changed |= children->at[i] != child;
  }
  return changed ? loom_rebuild(ctx, f, children->at) : f;
}

loom_expr loom_rewrite(loom_ctx *ctx, loom_expr e, loom_rewriter *rewriter, void *data) {
  loom_walk walk;
  expr_list children = {0};
  if (!loom_expr_check(ctx, e) || !loom_walk_begin(ctx, &walk, false)) return LOOM_NONE;
  loom_walk_root(&walk, e);
  loom_expr result = LOOM_NONE;
  bool good = true;
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    result = rewrite_node(&walk, f, &children);
    if (result != LOOM_NONE) result = rewriter(ctx, data, result);
    good = result != LOOM_NONE;
    if (good) loom_walk_set(&walk, f, result);
  }
  if (good) result = loom_walk_get(&walk, e);
  if (!loom_walk_end(&walk)) good = false;
  loom_vec_free(ctx, &children);
  return good ? result : LOOM_NONE;
}
