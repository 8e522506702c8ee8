/* SPDX-License-Identifier: MIT */
/* Whether the loops of two groups go together, and the tilings of groups without reductions that this
** depends on (doc/formulas.md#fusion).
** Invariant: a tiling and a list of loop sizes are asked about once; g->candidates has each name once,
** in order of the group's operations; g->ranked has each tiling once, the best score first and of
** equal ones the one seen first. */
#include <string.h>

#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/fusion.h"

/* ---- tilings by number -------------------------------------------------------------------- */

static bool same_extents(const loom_tiling *a, const loom_tiling *b) {
  if (a->n != b->n) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->prefix[i] != b->prefix[i] || a->extent[i] != b->extent[i]) return false;
  return true;
}

static bool same_tiling(const void *data, uint32_t i, const void *key) {
  return same_extents(&((const loom_fusion *)data)->tilings.at[i], key);
}

/* -1 with an error. */
static int tiling_number(loom_fusion *f, const loom_tiling *tiling) {
  loom_tiling t = *tiling;
  uint32_t hash = (uint32_t)t.n;
  for (size_t i = 0; i < t.n; i++) {
    t.extent[i] = loom_simplify(f->ctx, t.extent[i]);
    if (t.extent[i] == LOOM_NONE) return -1;
    hash = loom_table_mix(loom_table_mix(hash, (uint32_t)t.prefix[i]), t.extent[i]);
  }
  ptrdiff_t found = loom_table_find(&f->tiling_places, hash, same_tiling, f, &t);
  if (found >= 0) return (int)found;
  if (!loom_vec_push(f->ctx, &f->tilings, t) ||
      !loom_table_add(f->ctx, &f->tiling_places, hash, (uint32_t)f->tilings.n - 1))
    return -1;
  return (int)f->tilings.n - 1;
}

/* One range for each side. */
static int plain_tiling(loom_fusion *f, loom_expr extent, loom_expr reduction_extent) {
  return tiling_number(f, &(loom_tiling){.n = 2,
                                         .prefix = {LOOM_PREFIX_X, LOOM_PREFIX_R0},
                                         .extent = {extent, reduction_extent}});
}

/* ---- loops by number ---------------------------------------------------------------------- */

static bool same_nest(const void *data, uint32_t i, const void *key) {
  const loom_fusion *f = data;
  const loom_op *a = loom_fusion_op(f, f->nests.at[i]), *b = key;
  if (a->n_pointwise != b->n_pointwise || a->n_reduction != b->n_reduction) return false;
  for (size_t k = 0; k < a->n_pointwise + a->n_reduction; k++)
    if (a->loops[k].size != b->loops[k].size) return false;
  return true;
}

static int nest_number(loom_fusion *f, int number) {
  if (f->nest_of[number] >= 0) return f->nest_of[number];
  const loom_op *op = loom_fusion_op(f, number);
  uint32_t hash = loom_table_mix((uint32_t)op->n_pointwise, (uint32_t)op->n_reduction);
  for (size_t i = 0; i < op->n_pointwise + op->n_reduction; i++)
    hash = loom_table_mix(hash, op->loops[i].size);
  ptrdiff_t found = loom_table_find(&f->nest_places, hash, same_nest, f, op);
  if (found < 0) {
    if (!loom_vec_push(f->ctx, &f->nests, number) ||
        !loom_table_add(f->ctx, &f->nest_places, hash, (uint32_t)f->nests.n - 1))
      return -1;
    found = (ptrdiff_t)f->nests.n - 1;
  }
  return f->nest_of[number] = (int)found;
}

/* ---- fitting ------------------------------------------------------------------------------ */

typedef enum answer { NO, YES, FAILED } answer;

/* Whether loops split onto the extents of a tiling; alone: a reduction among them is not added to
** pointwise loops. */
static answer split_fits(loom_fusion *f, int nest, const loom_tiling *tiling) {
  const loom_op *op = loom_fusion_op(f, f->nests.at[nest]);
  size_t n = op->n_pointwise + op->n_reduction;
  f->numbers.n = 0;
  loom_expr *sizes = loom_realloc_array(f->ctx, NULL, 0, n + 1, sizeof *sizes);
  if (!sizes) return FAILED;
  for (size_t i = 0; i < n; i++) sizes[i] = op->loops[i].size;
  loom_loops loops = {sizes, op->n_pointwise, op->n_reduction};
  const loom_given *given = &f->graph->given;
  loom_split_options options = {given, given->strict};
  loom_status status =
      loom_loops_fit(f->ctx, tiling->n, tiling->extent, &loops, LOOM_NONE, &options);
  loom_realloc_array(f->ctx, sizes, n + 1, 0, sizeof *sizes);
  if (status == LOOM_OK) return YES;
  return status == LOOM_ERR_CANNOT_SPLIT || status == LOOM_ERR_INCOMPLETE_SPLIT ? NO : FAILED;
}

static answer nest_fits(loom_fusion *f, int nest, int tiling) {
  uint64_t key = ((uint64_t)nest + 1) << 32 | (uint32_t)(tiling + 1);
  uint32_t known = loom_idmap_get(&f->fits, key);
  if (known) return known == 2 ? YES : NO;
  answer fits = split_fits(f, nest, &f->tilings.at[tiling]);
  if (fits == FAILED || !loom_idmap_put(f->ctx, &f->fits, key, fits == YES ? 2 : 1)) return FAILED;
  return fits;
}

static answer nests_fit(loom_fusion *f, const loom_id_set *nests, int tiling) {
  for (size_t i = 0; nests && i < nests->n; i++) {
    answer fits = nest_fits(f, nests->at[i], tiling);
    if (fits != YES) return fits;
  }
  return YES;
}

/* ---- candidates --------------------------------------------------------------------------- */

static bool is_above(loom_ctx *ctx, loom_expr a, loom_expr b) {
  return loom_size_above(ctx, a, b, NULL);
}

/* Puts a tiling where its score says, unless it has a place before. */
static bool rank(loom_fusion *f, loom_fuse_candidates *list, const loom_fuse_candidate *c) {
  size_t place = list->n;
  for (size_t i = 0; i < list->n; i++)
    if (list->at[i].tiling == c->tiling) {
      if (!is_above(f->ctx, c->score, list->at[i].score)) return true;
      memmove(list->at + i, list->at + i + 1, (list->n - i - 1) * sizeof *list->at);
      place = --list->n;
      break;
    }
  if (!loom_vec_reserve(f->ctx, list, 1)) return false;
  place = list->n;
  while (place > 0 && is_above(f->ctx, c->score, list->at[place - 1].score)) place--;
  memmove(list->at + place + 1, list->at + place, (list->n - place) * sizeof *list->at);
  list->at[place] = *c;
  list->n++;
  return true;
}

static bool add_candidate(loom_fusion *f, loom_group *g, const loom_fuse_candidate *c) {
  if (loom_id_set_has(&g->names, c->name)) return true;
  return loom_id_set_add(&f->arena, &g->names, c->name) &&
         loom_vec_push(f->ctx, &g->candidates, *c) && rank(f, &g->ranked, c);
}

/* What the tilings of a group of one operation depend on. */
static bool tile(loom_fusion *f, loom_group *g) {
  const loom_candidate *list;
  int nest = nest_number(f, g->first);
  ptrdiff_t n = loom_tiling_candidates(f->graph, g->first, loom_group_extent(f, g),
                                       loom_int(f->ctx, 1), &list);
  if (n < 0 || nest < 0 || !loom_id_set_add(&f->arena, &g->nests, nest)) return false;
  for (ptrdiff_t i = 0; i < n; i++) {
    loom_fuse_candidate c = {list[i].buffer + 1, list[i].score, tiling_number(f, &list[i].tiling)};
    if (c.tiling < 0 || !add_candidate(f, g, &c)) return false;
  }
  return g->tiled = true;
}

static bool join_candidates(loom_fusion *f, loom_group *a, const loom_group *b) {
  for (size_t i = 0; i < b->candidates.n; i++)
    if (!add_candidate(f, a, &b->candidates.at[i])) return false;
  return true;
}

/* Groups with reductions have no tilings of their own; what is not known is found when it is asked
** for: so a group of several operations is known or never asked. */
bool loom_group_join_tilings(loom_fusion *f, loom_group *a, loom_group *b) {
  a->tiling = -1;
  if (a->reduces || b->reduces || a->template_op >= 0 || b->template_op >= 0) return true;
  if ((!a->tiled && !tile(f, a)) || (!b->tiled && !tile(f, b))) return false;
  for (size_t i = 0; i < b->nests.n; i++)
    if (!loom_id_set_add(&f->arena, &a->nests, b->nests.at[i])) return false;
  return join_candidates(f, a, b);
}

/* The first of the ranked tilings onto which the loops split. */
static int first_fit(loom_fusion *f, const loom_fuse_candidates *ranked, const loom_id_set *one,
                     const loom_id_set *other, loom_expr extent) {
  for (size_t i = 0; i < ranked->n; i++) {
    int tiling = ranked->at[i].tiling;
    answer fits = nests_fit(f, one, tiling);
    if (fits == YES) fits = nests_fit(f, other, tiling);
    if (fits == FAILED) return -1;
    if (fits == YES) return tiling;
  }
  return plain_tiling(f, extent, loom_int(f->ctx, 1));
}

/* The tiling of a group without reductions; -1 with an error. */
static int tiling_of(loom_fusion *f, loom_group *g) {
  if (g->tiling >= 0) return g->tiling;
  if (!g->tiled && !tile(f, g)) return -1;
  return g->tiling = first_fit(f, &g->ranked, &g->nests, NULL, loom_group_extent(f, g));
}

/* The tiling of two groups together. */
static int common_tiling(loom_fusion *f, const loom_group *a, const loom_group *b) {
  f->scratch.n = 0;
  if (!loom_vec_reserve(f->ctx, &f->scratch, a->ranked.n + 1)) return -1;
  for (size_t i = 0; i < a->ranked.n; i++) f->scratch.at[f->scratch.n++] = a->ranked.at[i];
  for (size_t i = 0; i < b->candidates.n; i++) {
    const loom_fuse_candidate *c = &b->candidates.at[i];
    if (!loom_id_set_has(&a->names, c->name) && !rank(f, &f->scratch, c)) return -1;
  }
  return first_fit(f, &f->scratch, &a->nests, &b->nests, loom_group_extent(f, a));
}

/* ---- pairs -------------------------------------------------------------------------------- */

static loom_fuse_reason pointwise_pair(loom_fusion *f, loom_group *a, loom_group *b) {
  int one = tiling_of(f, a), other = tiling_of(f, b);
  if (one < 0 || other < 0) return LOOM_FUSE_ERROR;
  bool one_tiled = f->tilings.at[one].n > 2, other_tiled = f->tilings.at[other].n > 2;
  if (!one_tiled && !other_tiled) return LOOM_FUSE_OK;
  int both = common_tiling(f, a, b);
  if (both < 0) return LOOM_FUSE_ERROR;
  return (one_tiled && one != both) || (other_tiled && other != both) ? LOOM_FUSE_TILING_DIFFERS
                                                                      : LOOM_FUSE_OK;
}

/* Whether the tiling is one range over everything, or that of the reduction's extents. */
static bool suits(const loom_tiling *t, loom_expr extent, loom_expr n, loom_expr r, loom_expr one) {
  if (t->n == 2) return t->extent[0] == extent && t->extent[1] == one;
  return t->n == 3 && t->extent[0] == n && t->extent[1] == r && t->extent[2] == one;
}

static loom_fuse_reason pointwise_with_reduction(loom_fusion *f, loom_group *a, loom_group *b,
                                                 bool tilings) {
  loom_expr extent = loom_group_extent(f, a), n = loom_group_extent(f, b);
  loom_expr r = loom_group_reduction(f, b);
  if (extent != loom_simplify(f->ctx, loom_mul(f->ctx, n, r)))
    return loom_base_failed(f->ctx) ? LOOM_FUSE_ERROR
           : extent == n            ? LOOM_FUSE_OK
                                    : LOOM_FUSE_OUTER_EXTENT_DIFFERS;
  int tiling = tiling_of(f, a), extents = plain_tiling(f, n, r);
  if (tiling < 0 || extents < 0) return LOOM_FUSE_ERROR;
  answer fits = nests_fit(f, &a->nests, extents);
  if (fits != YES) return fits == NO ? LOOM_FUSE_LOOPS_DO_NOT_SPLIT : LOOM_FUSE_ERROR;
  if (tilings && !suits(&f->tilings.at[tiling], extent, n, r, loom_int(f->ctx, 1)))
    return LOOM_FUSE_TILING_UNFIT;
  return LOOM_FUSE_OK;
}

static bool reads_from(const loom_fusion *f, int op, const loom_group *g) {
  const loom_op *o = loom_fusion_op(f, op);
  for (size_t i = 0; i < o->n_dep_reads; i++) {
    int writer = f->graph->buffers.at[o->dep_reads[i]->buffer].writer;
    if (writer >= 0 && loom_fusion_in(f, writer, g)) return true;
  }
  return false;
}

/* What runs before a template has the extents of those of its members before it that use it; the
** template itself reads in its own way. */
static loom_fuse_reason before_template(const loom_fusion *f, const loom_group *a,
                                        const loom_group *b) {
  for (int op = b->first; op >= 0 && op != b->template_op; op = f->next[op])
    if (reads_from(f, op, a) && loom_fusion_op(f, op)->extent != loom_group_extent(f, a))
      return LOOM_FUSE_EXTENTS_DIFFER;
  return LOOM_FUSE_OK;
}

loom_fuse_reason loom_fusion_shape(loom_fusion *f, loom_group *a, loom_group *b) {
  bool equal = loom_group_extent(f, a) == loom_group_extent(f, b) &&
               loom_group_reduction(f, a) == loom_group_reduction(f, b);
  bool around_template = a->template_op >= 0 || b->template_op >= 0;
  if (a->split_scan != b->split_scan && (a->split_scan ? b->reduces : a->reduces))
    return LOOM_FUSE_SPLIT_SCAN;
  if (a->reduces && b->reduces) return equal ? LOOM_FUSE_OK : LOOM_FUSE_REDUCTION_EXTENTS_DIFFER;
  if (a->reduces) return pointwise_with_reduction(f, b, a, !around_template);
  if (b->reduces) return pointwise_with_reduction(f, a, b, !around_template);
  if (b->template_op >= 0) return before_template(f, a, b);
  if (!equal) return LOOM_FUSE_EXTENTS_DIFFER;
  return around_template ? LOOM_FUSE_OK : pointwise_pair(f, a, b);
}
