/* SPDX-License-Identifier: MIT */
/* Points of an einsum read, judged and inserted.
** Invariant: tiles that are judged to be a point are those that exploring might come to. */
#include <math.h>
#include <string.h>

#include "search/search.h"

loom_unit *loom_space_unit(loom_space *s, int einsum, int number) {
  loom_space_one *one = &s->einsums.at[einsum];
  if (number >= 0 && (size_t)number < one->units.n) return one->units.at[number];
  loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "no such template");
  return NULL;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Objectives, then bits of each open memory in whole. */
static void read_figures(const loom_space *s, const loom_nest *nest, const double *columns,
                         double *out) {
  loom_objectives(s, nest, columns, out);
  for (size_t m = 0; m < s->memories.n; m++) {
    int open = s->memories.at[m].open;
    if (open < 0) continue;
    double bits = 0;
    for (size_t i = 0; i < nest->columns.n; i++) {
      const loom_column *c = &nest->columns.at[i];
      if ((c->kind == LOOM_COLUMN_OWN || c->kind == LOOM_COLUMN_ALWAYS) && c->index == (int)m)
        bits += columns[i];
      if (c->kind == LOOM_COLUMN_SHARED && c->memory == (int)m) bits += columns[i];
    }
    out[s->n_objectives + open] = bits;
  }
}

static bool visit_point(loom_space *s, const loom_space_one *one, const loom_fronts *fronts,
                        const loom_group *g, size_t p, loom_space_visit *visit, void *data) {
  const loom_unit *u = one->units.at[g->templates[p]];
  loom_space_point point = {.number = u->number,
                            .n_loops = u->t.n_loops,
                            .n_values = (size_t)(s->n_objectives + s->n_open),
                            .tiles = fronts->tiles.at + g->tiles[p]};
  double columns[LOOM_SEARCH_MAX_FIGURES];
  if (!loom_nest_evaluate(&u->nest, point.tiles, columns)) return false;
  read_figures(s, &u->nest, columns, point.values);
  visit(data, &point);
  return true;
}

/* Every point of some fronts that is of the unit (-1: of any). */
static loom_status visit_fronts(loom_space *s, const loom_space_one *one, const loom_fronts *fronts,
                                int number, loom_space_visit *visit, void *data) {
  size_t room = fronts->tiles.n + 1;
  bool *seen = loom_realloc_array(s->ctx, NULL, 0, room, sizeof *seen), done = seen != NULL;
  if (done) memset(seen, 0, room * sizeof *seen);
  for (size_t i = 0; i < fronts->groups.n && done; i++) {
    const loom_group *g = &fronts->groups.at[i];
    for (size_t p = 0; p < g->n && done; p++) {
      if ((number >= 0 && g->templates[p] != number) || seen[g->tiles[p]]) continue;
      seen[g->tiles[p]] = true;
      done = visit_point(s, one, fronts, g, p, visit, data);
    }
  }
  loom_give_back(s->ctx, seen, room, sizeof *seen);
  return done ? LOOM_OK : loom_error_status(s->ctx);
}

loom_status loom_space_points(loom_space *s, int einsum, int number, loom_space_visit *visit,
                              void *data) {
  const loom_space_one *one = &s->einsums.at[einsum];
  return visit_fronts(s, one, &one->fronts, number, visit, data);
}

loom_status loom_space_sketches(loom_space *s, int einsum, loom_space_visit *visit, void *data) {
  const loom_space_one *one = &s->einsums.at[einsum];
  return visit_fronts(s, one, &one->sketch, -1, visit, data);
}

/* ---- judging ------------------------------------------------------------------------------ */

static loom_space_verdict verdict(loom_rule rule, int index) {
  return (loom_space_verdict){rule, index};
}

/* A tile is one of those that the loop at a position may have around an inner one. */
static bool is_around(const loom_nest *nest, const loom_search_variable *v, int position,
                      int64_t inner, int64_t tile) {
  loom_tile_walk w = loom_tiles_around(nest, v, position, inner);
  if (!v->table->uneven && w.coarseness <= 1) return tile % inner == 0;
  while (loom_tile_step(&w))
    if (w.tile >= tile) return w.tile == tile;
  return false;
}

/* The tiles of a variable are a chain, from the last one, which is 1, to the outermost. */
static bool is_chain(const loom_nest *nest, const loom_search_variable *v, const int32_t *tiles) {
  bool absorbs = false;
  for (int j = v->n_loops - 1; j >= 0; j--) {
    int64_t tile = tiles[v->loop[j]], outer = j == 0 ? v->size : tiles[v->loop[j - 1]];
    if (tile < 1 || tile > outer || outer > v->size || (j + 1 == v->n_loops && tile != 1))
      return false;
    if (j > 0 && !is_around(nest, v, j - 1, tile, outer)) return false;
    if (!loom_tile_cuts(v, j, outer, tile, &absorbs)) return false;
    if (!loom_nest_may_have(nest, v->loop[j], (int32_t)tile)) return false;
  }
  return true;
}

/* Trips of every loop, loops with several of them among the fused ones, uses of dimensions. */
typedef struct shape {
  double trips[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  double used[LOOM_SEARCH_MAX_FUSED];
  double keys[LOOM_SEARCH_MAX_FUSED];
  uint32_t fused;
} shape;

static void read_shape(const loom_nest *nest, const int32_t *tiles, shape *out) {
  out->fused = 0;
  for (int d = 0; d < nest->n_dims; d++) out->used[d] = 1;
  for (int i = 0; i < nest->n_variables; i++) {
    const loom_search_variable *v = &nest->variables[i];
    double outer = (double)v->size;
    for (int j = 0; j < v->n_loops; j++) {
      int at = v->loop[j], dim = nest->loops[at].dimension;
      out->trips[at] = outer / tiles[at];
      outer = tiles[at];
      if (dim >= 0) out->used[dim] *= out->trips[at];
      if (at >= nest->n_fused) continue;
      out->keys[at] = out->trips[at] > 1 ? tiles[at] : 1;
      if (out->trips[at] > 1) out->fused |= (uint32_t)1 << at;
    }
  }
}

static loom_space_verdict judge_fused(const loom_nest *nest, const shape *x) {
  for (int i = 0; i < nest->n_variables; i++) {
    const loom_search_variable *v = &nest->variables[i];
    int own = 0;
    for (int j = 0; j < v->n_loops; j++)
      own += v->loop[j] < nest->n_fused && (x->fused >> v->loop[j] & 1) != 0;
    if (nest->max_fused_per_variable >= 0 && own > nest->max_fused_per_variable)
      return verdict(LOOM_RULE_FUSED_PER_VARIABLE, i);
  }
  int all = 0;
  for (int i = 0; i < nest->n_fused; i++) all += (x->fused >> i & 1) != 0;
  return verdict(nest->max_fused >= 0 && all > nest->max_fused ? LOOM_RULE_FUSED : LOOM_RULE_NONE,
                 -1);
}

/* A variable spread over two dimensions of one level. */
static bool is_spread_twice(const loom_nest *nest, const loom_search_variable *v, const shape *x) {
  for (int j = 0; j < v->n_loops; j++)
    for (int k = 0; k < j; k++) {
      int a = nest->loops[v->loop[j]].dimension, b = nest->loops[v->loop[k]].dimension;
      if (a >= 0 && b >= 0 && a != b && x->trips[v->loop[j]] > 1 && x->trips[v->loop[k]] > 1 &&
          strcmp(nest->dims[a].component, nest->dims[b].component) == 0)
        return true;
    }
  return false;
}

/* Trips of a variable over a dimension. */
static double trips_over(const loom_nest *nest, int variable, int dim, const shape *x) {
  const loom_search_variable *v = &nest->variables[variable];
  double product = 1;
  for (int j = 0; j < v->n_loops; j++)
    if (nest->loops[v->loop[j]].dimension == dim) product *= x->trips[v->loop[j]];
  return product;
}

static bool is_allowed(const loom_nest *nest, const loom_search_bound *bound, const shape *x) {
  double product = 1;
  if (nest->absent >> bound->dim & 1) return true;
  for (int i = 0; i < nest->n_variables; i++) {
    if (!(bound->variables >> i & 1)) continue;
    double trips = trips_over(nest, i, bound->dim, x);
    if (!bound->product && !loom_bound_allows(bound, trips, true)) return false;
    product *= trips;
  }
  return !bound->product || loom_bound_allows(bound, product, true);
}

static loom_space_verdict judge_dimensions(const loom_nest *nest, const shape *x) {
  for (int d = 0; d < nest->n_dims; d++)
    if (loom_exceeds(x->used[d], nest->dims[d].count)) return verdict(LOOM_RULE_FANOUT, d);
  for (size_t i = 0; i < nest->n_bounds; i++)
    if (!is_allowed(nest, &nest->bounds[i], x))
      return verdict(LOOM_RULE_LOOP_BOUND, nest->bounds[i].dim);
  for (int i = 0; i < nest->n_variables && nest->one_dimension; i++)
    if (is_spread_twice(nest, &nest->variables[i], x)) return verdict(LOOM_RULE_ONE_DIMENSION, i);
  return verdict(loom_nest_is_spread(nest, x->used) ? LOOM_RULE_NONE : LOOM_RULE_SHARE, -1);
}

static loom_space_verdict judge_limits(const loom_nest *nest, const double *columns) {
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *c = &nest->columns.at[i];
    if (columns[i] > c->limit) return loom_limit_rule(c);
  }
  return verdict(LOOM_RULE_NONE, -1);
}

/* Columns of tiles and the first rule that they break; false with an error. */
static bool judge(const loom_nest *nest, const int32_t *tiles, double *columns, shape *x,
                  loom_space_verdict *out) {
  *out = verdict(LOOM_RULE_NONE, -1);
  for (int i = 0; i < nest->n_variables; i++)
    if (!is_chain(nest, &nest->variables[i], tiles)) *out = verdict(LOOM_RULE_TILES, i);
  if (out->rule != LOOM_RULE_NONE) return true;
  read_shape(nest, tiles, x);
  *out = judge_fused(nest, x);
  if (out->rule == LOOM_RULE_NONE) *out = judge_dimensions(nest, x);
  if (out->rule != LOOM_RULE_NONE) return true;
  if (!loom_nest_evaluate(nest, tiles, columns)) return false;
  *out = judge_limits(nest, columns);
  return true;
}

loom_status loom_space_evaluate(loom_space *s, int einsum, int number, size_t n,
                                const int32_t *tiles, double *values,
                                loom_space_verdict *verdicts) {
  const loom_unit *u = loom_space_unit(s, einsum, number);
  size_t width = (size_t)(s->n_objectives + s->n_open);
  double columns[LOOM_SEARCH_MAX_FIGURES];
  shape x;
  if (!u) return loom_error_status(s->ctx);
  for (size_t i = 0; i < n; i++) {
    if (i % 1024 == 1023 && loom_is_stopped(s->ctx)) return LOOM_ERR_STOPPED;
    double *out = values + i * width;
    if (!judge(&u->nest, tiles + i * u->t.n_loops, columns, &x, &verdicts[i]))
      return loom_error_status(s->ctx);
    for (size_t k = 0; k < width; k++) out[k] = NAN;
    if (verdicts[i].rule == LOOM_RULE_NONE) read_figures(s, &u->nest, columns, out);
  }
  return LOOM_OK;
}

/* Tiles of a point of the unit into its own fronts, which are empty before the first. */
static loom_status take_in(loom_space *s, int einsum, loom_unit *u, const int32_t *tiles) {
  loom_space_one *one = &s->einsums.at[einsum];
  double columns[LOOM_SEARCH_MAX_FIGURES];
  loom_space_verdict broken;
  shape x;
  if (!judge(&u->nest, tiles, columns, &x, &broken)) return loom_error_status(s->ctx);
  if (broken.rule != LOOM_RULE_NONE) {
    char name[256];
    loom_space_name_rule(s, einsum, broken, sizeof name, name);
    return loom_error_set(s->ctx, LOOM_ERR_DOMAIN,
                          "tiles of template %d of %s are not part of the space: %s", u->number,
                          one->name, name);
  }
  loom_collector *c = loom_collector_new(s, one, u, NULL);
  if (c) loom_collector_enter(c, x.fused, x.keys);
  bool done = c && loom_collector_add(c, tiles);
  loom_collector_free(c);
  return done ? LOOM_OK : loom_error_status(s->ctx);
}

loom_status loom_space_insert(loom_space *s, int einsum, int number, const int32_t *tiles) {
  loom_space_one *one = &s->einsums.at[einsum];
  loom_unit *u = loom_space_unit(s, einsum, number);
  if (!u) return loom_error_status(s->ctx);
  loom_fronts found = u->found;
  u->found = (loom_fronts){0};
  loom_ranking ranking = loom_ranking_of(one);
  loom_status status = take_in(s, einsum, u, tiles);
  if (status == LOOM_OK) loom_space_end_join(s);
  if (status == LOOM_OK && !loom_fronts_merge(s->ctx, &one->fronts, &u->found, &ranking))
    status = loom_error_status(s->ctx);
  loom_fronts_free(s->ctx, &u->found);
  u->found = found;
  return status;
}

bool loom_space_may_restore(loom_space *s, int einsum, int number) {
  const loom_unit *u = loom_space_unit(s, einsum, number);
  return u && u->state == LOOM_UNIT_ADDED && !u->nest.spreads;
}

loom_status loom_space_restore(loom_space *s, int einsum, int number, size_t n,
                               const int32_t *tiles, const double least[2]) {
  loom_unit *u = loom_space_unit(s, einsum, number);
  if (!u) return loom_error_status(s->ctx);
  if (!loom_space_may_restore(s, einsum, number))
    return loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "the unit is sketched, or has to be");
  loom_status status = LOOM_OK;
  for (size_t i = 0; i < n && status == LOOM_OK; i++)
    status = take_in(s, einsum, u, tiles + i * u->t.n_loops);
  if (status != LOOM_OK) {
    loom_fronts_free(s->ctx, &u->found);
    return status;
  }
  for (int k = 0; k < s->n_objectives; k++) u->least[k] = least[k];
  return loom_unit_take_sketch(s, &s->einsums.at[einsum], u) ? LOOM_OK : loom_error_status(s->ctx);
}
