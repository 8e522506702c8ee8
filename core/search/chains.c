/* SPDX-License-Identifier: MIT */
/* Chains of tiles of one variable, from the innermost loop outwards.  Two partial chains of one
** extent have the same ways to go on, so what compares equal or less in every product of powers of the
** tiles chosen so far stays so (products of what comes are positive). */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* A product of powers that has to be small, or large. */
typedef struct watch {
  int factor;
  bool large;
} watch;

/* A least share of a limited column: coefficient * factor, the other variables at their least. */
typedef struct load {
  double coefficient;
  int factor;
} load;

typedef struct chains {
  loom_nest *nest;
  const loom_search_variable *v;
  int variable;
  LOOM_VEC(watch) watches;
  LOOM_VEC(load) loads;
  LOOM_VEC(size_t) load_ends; /* of each limited column */
  LOOM_VEC(const loom_column *) limited;
  bool compared[256];
} chains;

static bool add_watch(chains *c, int factor, bool large) {
  if (factor == 0) return true;
  for (size_t i = 0; i < c->watches.n; i++)
    if (c->watches.at[i].factor == factor && c->watches.at[i].large == large) return true;
  watch w = {factor, large};
  return loom_vec_push(c->nest->ctx, &c->watches, w);
}

static bool list_watches(chains *c, const loom_search_level *first, const loom_search_level *level,
                         const double *values) {
  for (size_t i = 0; i < level->terms.n; i++) {
    const loom_step_term *t = &level->terms.at[i];
    const loom_column *column = &c->nest->columns.at[first->bases.at[t->from].column];
    if (!column->compared && column->limit == INFINITY) continue;
    bool negative = values[t->from] < 0;
    if (!add_watch(c, t->p, negative)) return false;
    if (t->n > 0 && !add_watch(c, t->n, !negative)) return false;
  }
  return true;
}

static bool list_loads(chains *c) {
  loom_nest *nest = c->nest;
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *column = &nest->columns.at[i];
    if (column->limit == INFINITY) continue;
    for (size_t k = 0; k < column->items.n; k++) {
      const loom_item *item = &column->items.at[k];
      if (item->n[0] >= 0) continue;
      load l = {item->coefficient, item->p[c->variable]};
      for (int v = 0; v < nest->n_variables; v++) {
        if (v == c->variable) continue;
        l.coefficient *= item->coefficient > 0 ? loom_factor_min(nest, v, item->p[v])
                                               : loom_factor_max(nest, v, item->p[v]);
      }
      if (!loom_vec_push(nest->ctx, &c->loads, l)) return false;
    }
    if (!loom_vec_push(nest->ctx, &c->load_ends, c->loads.n) ||
        !loom_vec_push(nest->ctx, &c->limited, column))
      return false;
  }
  return true;
}

static double power(double x, int exponent) {
  double result = 1;
  int n = exponent < 0 ? -exponent : exponent;
  while (n-- > 0) result *= x;
  return exponent < 0 ? 1 / result : result;
}

/* The trips of the loops from a position on that count rounded up in a factor, multiplied. */
static double rounded_trips(const loom_search_variable *v, const loom_factor *f,
                            const int32_t *tiles, int from) {
  double product = 1;
  for (int j = from; j < v->n_loops; j++) {
    if (!(f->rounded >> j & 1)) continue;
    int64_t outer = j == 0 ? v->size : tiles[v->loop[j - 1]], tile = tiles[v->loop[j]];
    product *= (double)((outer + tile - 1) / tile);
  }
  return product;
}

/* The least that a factor can become when loops outside position `from` have tiles of at least t. */
static double least_factor(const chains *c, int factor, const int32_t *tiles, int from) {
  const loom_factor *f = &c->v->factors.at[factor];
  double product = rounded_trips(c->v, f, tiles, from + 1);
  for (int j = c->v->n_loops - 2; j >= from; j--)
    product *= power(tiles[c->v->loop[j]], f->power[j]);
  double t = tiles[c->v->loop[from]];
  for (int j = 0; j < from; j++) {
    if (f->power[j] < 0) return 0;
    product *= power(t, f->power[j]);
  }
  return product;
}

/* A limited column that is too large whatever tiles are chosen for the loops outside; NULL: none. */
static const loom_column *exceeded(const chains *c, const int32_t *tiles, int from) {
  size_t k = 0;
  for (size_t i = 0; i < c->limited.n; i++) {
    double sum = 0;
    for (; k < c->load_ends.at[i]; k++) {
      const load *l = &c->loads.at[k];
      if (l->coefficient < 0) {
        sum = -INFINITY;
        k = c->load_ends.at[i];
        break;
      }
      sum += l->coefficient * least_factor(c, l->factor, tiles, from);
    }
    if (sum > c->limited.at[i]->limit * (1 + 1e-12)) return c->limited.at[i];
  }
  return NULL;
}

/* A loop inside the one at a position spreads the variable over another dimension of the level. */
static bool spreads_elsewhere(const chains *c, int position, const int32_t *tiles) {
  const loom_nest *nest = c->nest;
  int own = nest->loops[c->v->loop[position]].dimension;
  for (int j = position + 1; j < c->v->n_loops; j++) {
    int other = nest->loops[c->v->loop[j]].dimension;
    if (other >= 0 && other != own && tiles[c->v->loop[j - 1]] > tiles[c->v->loop[j]] &&
        strcmp(nest->dims[other].component, nest->dims[own].component) == 0)
      return true;
  }
  return false;
}

static loom_space_verdict verdict(loom_rule rule, int index) {
  return (loom_space_verdict){rule, index};
}

/* The rule that fused loops of the chain break. */
static loom_rule judge_fused(const chains *c, uint32_t fused) {
  const loom_nest *nest = c->nest;
  uint32_t own = 0;
  for (int j = 0; j < c->v->n_loops; j++)
    if (c->v->loop[j] < nest->n_fused) own |= fused & (uint32_t)1 << c->v->loop[j];
  if (nest->max_fused_per_variable >= 0 && loom_count_bits(own) > nest->max_fused_per_variable)
    return LOOM_RULE_FUSED_PER_VARIABLE;
  return nest->max_fused >= 0 && loom_count_bits(fused) > nest->max_fused ? LOOM_RULE_FUSED
                                                                          : LOOM_RULE_NONE;
}

/* Trips of the variable over a dimension that a bound on each variable does not allow. */
static bool is_bounded(const chains *c, int dim, double trips, bool all) {
  for (size_t i = 0; i < c->nest->n_bounds; i++) {
    const loom_search_bound *bound = &c->nest->bounds[i];
    if (bound->dim == dim && !bound->product && (bound->variables >> c->variable & 1) &&
        !(c->nest->absent >> dim & 1) && !loom_bound_allows(bound, trips, all))
      return true;
  }
  return false;
}

/* Notes that the loop at a position runs `trips` times; the rule that it breaks. */
static loom_space_verdict run_loop(const chains *c, int position, double trips, int32_t tile,
                                   double *keys, uint32_t *fused, const int32_t *tiles) {
  const loom_nest *nest = c->nest;
  int index = c->v->loop[position];
  const loom_space_loop *loop = &nest->loops[index];
  if (index < nest->n_fused && trips > 1) {
    *fused |= (uint32_t)1 << index;
    keys[index] = tile;
    loom_rule rule = judge_fused(c, *fused);
    if (rule != LOOM_RULE_NONE) return verdict(rule, c->variable);
  }
  if (loop->dimension < 0) return verdict(LOOM_RULE_NONE, -1);
  const loom_search_dim *dim = &nest->dims[loop->dimension];
  double used = trips;
  for (int j = position + 1; j < c->v->n_loops; j++)
    if (nest->loops[c->v->loop[j]].dimension == loop->dimension)
      used *= (double)tiles[c->v->loop[j - 1]] / tiles[c->v->loop[j]];
  if (loom_exceeds(used, dim->count)) return verdict(LOOM_RULE_FANOUT, loop->dimension);
  if (nest->one_dimension && trips > 1 && spreads_elsewhere(c, position, tiles))
    return verdict(LOOM_RULE_ONE_DIMENSION, c->variable);
  if (is_bounded(c, loop->dimension, used, false))
    return verdict(LOOM_RULE_LOOP_BOUND, loop->dimension);
  if (dim->keyed) keys[nest->n_fused + loop->dimension] = used;
  return verdict(
      loom_nest_may_spread(nest, keys + nest->n_fused) ? LOOM_RULE_NONE : LOOM_RULE_SHARE, -1);
}

/* The rule that a complete chain breaks. */
static loom_space_verdict judge_bounds(const chains *c, const double *keys) {
  for (int d = 0; d < c->nest->n_dims; d++)
    if (is_bounded(c, d, keys[c->nest->n_fused + d], true)) return verdict(LOOM_RULE_LOOP_BOUND, d);
  return verdict(LOOM_RULE_NONE, -1);
}

/* Notes that the chains from a tile of the loop at a position on have fallen to a rule. */
static void fall(const chains *c, loom_space_verdict broken, int position, int64_t tile,
                 bool absorbs) {
  loom_nest_fall(c->nest, broken.rule, broken.index,
                 c->nest->others * loom_chains_from(c->v, position, tile, absorbs));
}

/* The extent of a chain as it is compared: what loops may do to the outside depends on it, and where
** kinds of loops differ, on whether one of those inside may leave a part. */
static double key_of(const chains *c, int32_t tile, bool absorbs) {
  return tile + (c->v->table->mixed && absorbs ? 0.5 : 0);
}

static bool absorbs_inside(const loom_rows *rows, size_t i) {
  double key = rows->keys[(i + 1) * (size_t)rows->n_keys - 1];
  return key > floor(key);
}

static bool extend(chains *c, const loom_rows *from, size_t i, int position, int32_t tile,
                   bool absorbs, loom_rows *to) {
  const loom_nest *nest = c->nest;
  ptrdiff_t r = loom_rows_add(nest->ctx, to);
  if (r < 0) return false;
  size_t row = (size_t)r, k = (size_t)to->n_keys, t = (size_t)to->n_tiles, w = c->watches.n;
  double *keys = to->keys + row * k, *values = to->values + row * (size_t)to->n_values;
  int32_t *tiles = to->tiles + row * t;
  memcpy(keys, from->keys + i * k, k * sizeof *keys);
  memcpy(tiles, from->tiles + i * t, t * sizeof *tiles);
  to->fused[row] = from->fused[i];
  int inner = c->v->loop[position + 1], index = c->v->loop[position];
  tiles[index] = tile;
  double trips = (double)tile / tiles[inner];
  keys[k - 1] = key_of(c, tile, absorbs);
  loom_space_verdict broken =
      run_loop(c, position + 1, trips, tiles[inner], keys, &to->fused[row], tiles);
  const loom_column *limited = NULL;
  if (broken.rule == LOOM_RULE_NONE) limited = exceeded(c, tiles, position);
  if (limited) broken = loom_limit_rule(limited);
  if (broken.rule != LOOM_RULE_NONE) {
    fall(c, broken, position, tile, absorbs);
    to->n--;
    return true;
  }
  const double *old = from->values + i * (size_t)from->n_values;
  for (size_t j = 0; j < w; j++) {
    const loom_factor *f = &c->v->factors.at[c->watches.at[j].factor];
    int exponent = f->power[position];
    values[j] = exponent ? old[j] * power(tile, exponent) : old[j];
    if (f->rounded >> (position + 1) & 1) values[j] *= ceil(trips);
  }
  return true;
}

static bool extend_all(chains *c, const loom_rows *from, int position, loom_rows *to) {
  int inner = c->v->loop[position + 1];
  for (size_t i = 0; i < from->n; i++) {
    if (i % 64 == 63 && loom_is_stopped(c->nest->ctx)) return false;
    bool inside = absorbs_inside(from, i);
    loom_tile_walk w = {.table = c->v->table,
                        .inner = from->tiles[i * (size_t)from->n_tiles + (size_t)inner]};
    while (loom_tile_step(&w)) {
      bool absorbs = inside;
      if (!loom_nest_may_have(c->nest, c->v->loop[position], (int32_t)w.tile) ||
          !loom_tile_cuts(c->v, position + 1, w.tile, w.inner, &absorbs))
        continue;
      if (!extend(c, from, i, position, (int32_t)w.tile, absorbs, to)) return false;
    }
  }
  return true;
}

static void init_rows(const chains *c, loom_rows *rows) {
  const loom_nest *nest = c->nest;
  *rows = (loom_rows){.n_values = (int)c->watches.n,
                      .n_keys = nest->n_fused + nest->n_dims + 1,
                      .n_tiles = nest->n_loops};
}

/* Watched products that shall be large are compared by their negatives. */
static void negate(const chains *c, loom_rows *rows) {
  for (size_t j = 0; j < c->watches.n; j++) {
    if (!c->watches.at[j].large) continue;
    for (size_t i = 0; i < rows->n; i++) {
      double *x = &rows->values[i * (size_t)rows->n_values + j];
      *x = -*x;
    }
  }
}

/* Chains that rows stand for. */
static double chains_of(const chains *c, const loom_rows *rows, int position) {
  double sum = 0;
  for (size_t i = 0; i < rows->n; i++)
    sum += loom_chains_from(c->v, position,
                            rows->tiles[i * (size_t)rows->n_tiles + (size_t)c->v->loop[position]],
                            absorbs_inside(rows, i));
  return sum;
}

static bool walk(chains *c, loom_rows *rows) {
  loom_ctx *ctx = c->nest->ctx;
  init_rows(c, rows);
  if (loom_rows_add(ctx, rows) < 0) return false;
  for (int k = 0; k < rows->n_keys; k++) rows->keys[k] = 1;
  memset(rows->tiles, 0, (size_t)rows->n_tiles * sizeof *rows->tiles);
  for (size_t j = 0; j < c->watches.n; j++) rows->values[j] = 1;
  rows->fused[0] = 0;
  rows->tiles[c->v->loop[c->v->n_loops - 1]] = 1;
  for (int position = c->v->n_loops - 2; position >= 0; position--) {
    loom_rows next;
    init_rows(c, &next);
    bool done = extend_all(c, rows, position, &next);
    c->nest->counts.chains += (double)next.n;
    if (done) {
      double before = chains_of(c, &next, position);
      negate(c, &next);
      done = loom_rows_prune(ctx, &next, c->compared);
      negate(c, &next);
      loom_nest_fall(c->nest, LOOM_RULE_DOMINATED, -1,
                     c->nest->others * (before - chains_of(c, &next, position)));
    }
    loom_rows_free(ctx, rows);
    *rows = next;
    if (!done) return false;
  }
  return true;
}

/* The outermost loop of each chain; keys lose the extent. */
static bool finish(chains *c, const loom_rows *rows, const loom_search_level *level,
                   const double *values, loom_rows *out) {
  const loom_nest *nest = c->nest;
  *out = (loom_rows){.n_values = (int)level->bases.n,
                     .n_keys = nest->n_fused + nest->n_dims,
                     .n_tiles = nest->n_loops};
  double factors[LOOM_SEARCH_MAX_FACTORS];
  for (size_t i = 0; i < rows->n; i++) {
    if (i % 1024 == 1023 && loom_is_stopped(nest->ctx)) return false;
    int32_t outer = rows->tiles[i * (size_t)rows->n_tiles + (size_t)c->v->loop[0]];
    bool absorbs = absorbs_inside(rows, i);
    if (!loom_tile_cuts(c->v, 0, c->v->size, outer, &absorbs)) continue;
    ptrdiff_t r = loom_rows_add(nest->ctx, out);
    if (r < 0) return false;
    size_t row = (size_t)r, k = (size_t)out->n_keys;
    double *keys = out->keys + row * k;
    int32_t *tiles = out->tiles + row * (size_t)out->n_tiles;
    for (size_t q = 0; q < k; q++) keys[q] = rows->keys[i * (k + 1) + q];
    memcpy(tiles, rows->tiles + i * (size_t)rows->n_tiles, (size_t)rows->n_tiles * sizeof *tiles);
    out->fused[row] = rows->fused[i];
    double trips = (double)c->v->size / outer;
    loom_space_verdict broken = run_loop(c, 0, trips, outer, keys, &out->fused[row], tiles);
    if (broken.rule == LOOM_RULE_NONE) broken = judge_bounds(c, keys);
    if (broken.rule != LOOM_RULE_NONE) {
      fall(c, broken, 0, outer, absorbs_inside(rows, i));
      out->n--;
      continue;
    }
    loom_nest_factors(nest, c->variable, tiles, factors);
    double *x = out->values + row * (size_t)out->n_values;
    for (int q = 0; q < out->n_values; q++) x[q] = 0;
    for (size_t t = 0; t < level->terms.n; t++) {
      const loom_step_term *term = &level->terms.at[t];
      x[term->to] += values[term->from] * (factors[term->p] - (term->n < 0 ? 0 : factors[term->n]));
    }
  }
  return true;
}

void loom_nest_factors(const loom_nest *nest, int variable, const int32_t *tiles, double *out) {
  const loom_search_variable *v = &nest->variables[variable];
  for (size_t i = 0; i < v->factors.n; i++) {
    const loom_factor *f = &v->factors.at[i];
    double product = 1;
    for (int j = 0; j + 1 < v->n_loops; j++)
      if (f->power[j]) product *= power(tiles[v->loop[j]], f->power[j]);
    out[i] = f->rounded ? product * rounded_trips(v, f, tiles, 0) : product;
  }
}

bool loom_nest_chains(loom_nest *nest, int variable, const loom_search_level *first,
                      const double *values, const loom_search_level *level, loom_rows *out) {
  chains c = {.nest = nest, .v = &nest->variables[variable], .variable = variable};
  loom_rows rows = {0};
  memset(c.compared, true, sizeof c.compared);
  bool compared[256];
  bool done = list_watches(&c, first, level, values) && list_loads(&c) && c.watches.n <= 256 &&
              walk(&c, &rows) && finish(&c, &rows, level, values, out);
  if (done && level->bases.n <= 256) {
    for (size_t k = 0; k < level->bases.n; k++)
      compared[k] = nest->columns.at[level->bases.at[k].column].compared;
    size_t before = out->n;
    done = loom_rows_prune(nest->ctx, out, compared);
    loom_nest_fall(nest, LOOM_RULE_DOMINATED, -1, nest->others * (double)(before - out->n));
  }
  loom_rows_free(nest->ctx, &rows);
  loom_vec_free(nest->ctx, &c.watches);
  loom_vec_free(nest->ctx, &c.loads);
  loom_vec_free(nest->ctx, &c.load_ends);
  loom_vec_free(nest->ctx, &c.limited);
  return done;
}
