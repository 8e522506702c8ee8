/* SPDX-License-Identifier: MIT */
/* Loop nests on the trees of a kernel.
** Invariant: the values of the loops, at all values of the flat indices, are the iterations of the
** nest in order. */
#include "ranges/ranges.h"

/* The extents that loops are split onto: 1 for trees that are not active. */
static void active_extents(loom_ranges *r, loom_expr *groups) {
  loom_expr one = loom_int(r->ctx, 1);
  for (size_t i = 0; i < r->n_trees; i++)
    groups[i] = loom_ranges_tree_active(r, i) ? r->trees[i].extent : one;
}

loom_status loom_ranges_set(loom_ranges *r, const size_t *n_lengths, const loom_expr *lengths,
                            const loom_expr **values) {
  size_t n = 0;
  for (size_t i = 0; i < r->n_trees; i++) n += n_lengths[i];
  r->set.n = 0;
  if (!loom_vec_reserve(r->ctx, &r->set, n)) return LOOM_ERR_MEMORY;
  for (size_t i = 0; i < r->n_trees; i++) {
    loom_status status =
        loom_ranges_construct(r, i, n_lengths[i], lengths + r->set.n, r->set.at + r->set.n);
    if (status != LOOM_OK) return status;
    r->set.n += n_lengths[i];
  }
  *values = r->set.at;
  return LOOM_OK;
}

static loom_status set_pieces(loom_ranges *r, const loom_expr **values) {
  size_t n[LOOM_N_PREFIXES] = {0};
  const loom_split *split = &r->split;
  r->sizes.n = 0;
  if (!loom_vec_reserve(r->ctx, &r->sizes, split->n_pieces)) return LOOM_ERR_MEMORY;
  for (size_t i = 0; i < split->n_pieces; i++) {
    r->sizes.at[r->sizes.n++] = split->pieces[i].size;
    n[split->pieces[i].group]++;
  }
  return loom_ranges_set(r, n, r->sizes.at, values);
}

loom_status loom_ranges_map(loom_ranges *r, const loom_loops *loops, loom_mapped *out) {
  loom_expr groups[LOOM_N_PREFIXES];
  const loom_expr *pieces;
  active_extents(r, groups);
  loom_status status =
      loom_map_loops(r->ctx, r->n_trees, groups, loops, &r->options.split, &r->split);
  if (status == LOOM_OK) status = set_pieces(r, &pieces);
  if (status != LOOM_OK) return status;
  size_t n = r->split.n_pointwise + r->split.n_reduction;
  r->values.n = 0;
  if (!loom_vec_reserve(r->ctx, &r->values, n)) return LOOM_ERR_MEMORY;
  for (size_t i = 0; i < n; i++) {
    loom_expr value = loom_getter_value(r->ctx, &r->split, r->split.getters[i], pieces);
    if (value == LOOM_NONE) return loom_error_status(r->ctx);
    r->values.at[r->values.n++] = value;
  }
  *out = (loom_mapped){r->values.at, r->split.n_pointwise, r->split.n_reduction, &r->split};
  return LOOM_OK;
}
