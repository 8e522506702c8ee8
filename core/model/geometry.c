/* SPDX-License-Identifier: MIT */
/* What a tile of the iteration space is in a tensor: doc/formulas.md#geometry. */
#include "model/workload.h"

#include <string.h>

static const loom_index_term *term_of(const loom_rank *rank, int variable) {
  for (int i = 0; i < rank->n_terms; i++)
    if (rank->terms[i].variable == variable) return &rank->terms[i];
  return NULL;
}

/* c*v for one variable. */
static bool is_multiple(const loom_rank *rank) {
  return rank->n_terms == 1 && rank->constant == 0 && rank->n_steps == 0;
}

loom_relevancy loom_access_relevancy(const loom_access *access, int variable) {
  for (size_t i = 0; i < access->ranks.n; i++) {
    const loom_rank *rank = &access->ranks.at[i];
    if (term_of(rank, variable)) return is_multiple(rank) ? LOOM_RELEVANT : LOOM_PARTIALLY_RELEVANT;
  }
  return LOOM_IRRELEVANT;
}

static bool is_bare(const loom_rank *rank) {
  return is_multiple(rank) && rank->terms[0].coefficient == 1;
}

bool loom_einsum_used_alone(const loom_einsum *e, int variable) {
  for (size_t a = 0; a < e->accesses.n; a++)
    for (size_t i = 0; i < e->accesses.at[a].ranks.n; i++) {
      const loom_rank *rank = &e->accesses.at[a].ranks.at[i];
      if (term_of(rank, variable) && !is_bare(rank)) return false;
    }
  return true;
}

bool loom_einsum_has_variable(const loom_einsum *e, int variable) {
  for (size_t a = 0; a < e->accesses.n; a++)
    if (loom_access_relevancy(&e->accesses.at[a], variable) != LOOM_IRRELEVANT) return true;
  return false;
}

/* Distinct values of a rank's expression, at most: doc/formulas.md#width. */
static loom_expr width(loom_ctx *ctx, const loom_rank *rank, const loom_expr *extents) {
  if (is_bare(rank)) return extents[rank->terms[0].variable];
  int64_t shift = rank->constant > 0 ? rank->constant : 0;
  loom_expr sum = loom_add(ctx, loom_int(ctx, shift), loom_int(ctx, 1));
  for (int i = 0; i < rank->n_terms; i++) {
    int64_t c = rank->terms[i].coefficient;
    loom_expr factor = loom_int(ctx, c);
    if (c < 0) factor = loom_neg(ctx, factor);
    loom_expr steps = loom_sub(ctx, extents[rank->terms[i].variable], loom_int(ctx, 1));
    sum = loom_add(ctx, sum, loom_mul(ctx, factor, steps));
  }
  return sum;
}

loom_expr loom_access_occupancy(loom_ctx *ctx, const loom_access *access,
                                const loom_expr *extents) {
  loom_expr product = loom_int(ctx, 1);
  for (size_t i = 0; i < access->ranks.n; i++)
    product = loom_mul(ctx, product, width(ctx, &access->ranks.at[i], extents));
  return product;
}

bool loom_rank_has_halo(const loom_workload *w, const loom_rank *rank, int variable) {
  const loom_index_term *term = term_of(rank, variable);
  if (!term) return false;
  if (term->coefficient != 1 || rank->constant > 0 || rank->n_steps > 0) return true;
  for (int i = 0; i < rank->n_terms; i++)
    if (rank->terms[i].variable != variable &&
        w->variables.at[rank->terms[i].variable].size != loom_int(w->ctx, 1))
      return true;
  return false;
}

/* ---- the public questions ----------------------------------------------------------------- */

static int variable_at(const loom_workload *w, int einsum, const char *variable) {
  int v = loom_workload_find_variable(w, variable);
  if (v < 0)
    loom_name_error(w->ctx, LOOM_ERR_UNKNOWN_RANK_VARIABLE, w->einsums.at[einsum].name,
                    "unknown rank variable", variable, loom_workload_variable_names(w));
  return v;
}

int loom_workload_relevancy(loom_workload *w, int einsum, int access, const char *variable) {
  const loom_access *a = loom_workload_access_at(w, einsum, access);
  int v = a ? variable_at(w, einsum, variable) : -1;
  return v < 0 ? -1 : (int)loom_access_relevancy(a, v);
}

int loom_workload_used_alone(loom_workload *w, int einsum, const char *variable) {
  const loom_einsum *e = loom_workload_einsum_at(w, einsum);
  int v = e ? variable_at(w, einsum, variable) : -1;
  return v < 0 ? -1 : loom_einsum_used_alone(e, v);
}

/* The sizes of all variables, to be overwritten; NULL with a recorded error.  Freed by the caller.
 */
static loom_expr *whole_extents(loom_workload *w) {
  loom_expr *extents = loom_realloc_array(w->ctx, NULL, 0, w->variables.n + 1, sizeof *extents);
  for (size_t i = 0; extents && i < w->variables.n; i++) extents[i] = w->variables.at[i].size;
  return extents;
}

static void free_extents(loom_workload *w, loom_expr *extents) {
  loom_realloc_array(w->ctx, extents, w->variables.n + 1, 0, sizeof *extents);
}

static loom_status refuse_steps(loom_workload *w, const loom_access *a, const loom_rank *rank) {
  return loom_error_set(w->ctx, LOOM_ERR_ARGUMENT,
                        "the index of rank '%s' of tensor '%s' is no sum of multiples of variables",
                        rank->name, w->tensors.at[a->tensor].name);
}

loom_status loom_workload_stride_halo(loom_workload *w, int einsum, int access, int rank,
                                      const char *variable, loom_expr *stride, loom_expr *halo) {
  *stride = *halo = LOOM_NONE;
  const loom_access *a = loom_workload_access_at(w, einsum, access);
  int v = a ? variable_at(w, einsum, variable) : -1;
  if (v < 0) return loom_error_status(w->ctx);
  if (rank < 0 || (size_t)rank >= a->ranks.n)
    return loom_error_set(w->ctx, LOOM_ERR_ARGUMENT, "tensor '%s' has no rank number %d",
                          w->tensors.at[a->tensor].name, rank);
  const loom_rank *r = &a->ranks.at[rank];
  const loom_index_term *term = term_of(r, v);
  if (r->n_steps > 0) return refuse_steps(w, a, r);
  if (!term)
    return loom_error_set(w->ctx, LOOM_ERR_ARGUMENT, "rank '%s' does not use '%s'", r->name,
                          variable);
  loom_expr *extents = whole_extents(w);
  if (!extents) return loom_error_status(w->ctx);
  extents[v] = loom_int(w->ctx, 1);
  *stride = loom_int(w->ctx, term->coefficient);
  *halo = loom_sub(w->ctx, width(w->ctx, r, extents), loom_int(w->ctx, 1));
  free_extents(w, extents);
  return *halo == LOOM_NONE || *stride == LOOM_NONE ? loom_error_status(w->ctx) : LOOM_OK;
}

loom_expr loom_workload_tile_occupancy(loom_workload *w, int einsum, int access, size_t n,
                                       const char *const *variables, const loom_expr *tile) {
  const loom_access *a = loom_workload_access_at(w, einsum, access);
  for (size_t k = 0; a && k < a->ranks.n; k++)
    if (a->ranks.at[k].n_steps > 0) {
      refuse_steps(w, a, &a->ranks.at[k]);
      return LOOM_NONE;
    }
  loom_expr *extents = a ? whole_extents(w) : NULL;
  if (!extents) return LOOM_NONE;
  loom_expr result = LOOM_NONE;
  size_t i = 0;
  for (; i < n; i++) {
    int v = variable_at(w, einsum, variables[i]);
    if (v < 0) break;
    extents[v] = tile[i];
  }
  if (i == n) result = loom_access_occupancy(w->ctx, a, extents);
  free_extents(w, extents);
  return result;
}
