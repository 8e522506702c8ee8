/* SPDX-License-Identifier: MIT */
/* Chains of tiles of one variable, from the innermost loop outwards.  Two partial chains of one
** extent have the same ways to go on, so what compares equal or less in every product of powers of the
** tiles chosen so far stays so (products of what comes are positive).  A function of tiles is a factor
** of such a product once all that it looks at are chosen; before, chains compare only if they have the
** same of them. */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* A factor that has to be small, or large; its function is known from a position on, -1: never. */
typedef struct watch {
  int factor, known_from;
  bool large;
} watch;

/* A least share of a limited column: coefficient * factor, the other variables at their least. */
typedef struct load {
  double coefficient;
  int factor;
} load;

typedef struct chains {
  loom_nest *nest;
  const loom_search_part *part;
  const loom_search_variable *v;
  int variable, number; /* of the variable, of the part */
  LOOM_VEC(watch) watches;
  LOOM_VEC(load) loads;
  LOOM_VEC(size_t) load_ends; /* of each limited column */
  LOOM_VEC(const loom_column *) limited;
  int n_awaited; /* positions whose tiles are keys while functions wait for others */
  int awaited[LOOM_SEARCH_MAX_LOOPS];
  int until[LOOM_SEARCH_MAX_LOOPS]; /* where the last of these functions is known */
  bool compared[256];
} chains;

/* ---- what is asked of chains ----------------------------------------------------------------- */

/* The position from which on a function is known: all its tiles are chosen; -1: it has tiles of others. */
static int known_from(const chains *c, int function) {
  const loom_part_function *own = &c->part->functions.at[function];
  int position = c->v->n_loops;
  for (int i = 0; i < own->f->n; i++) {
    if (own->f->variables[i] != c->variable) return -1;
    if (own->place[i] - c->v->first < position) position = own->place[i] - c->v->first;
  }
  return position;
}

static bool add_watch(chains *c, int factor, bool large) {
  if (factor == 0) return true;
  for (size_t i = 0; i < c->watches.n; i++)
    if (c->watches.at[i].factor == factor && c->watches.at[i].large == large) return true;
  int function = c->part->factors.at[factor].function;
  watch w = {factor, function ? known_from(c, function) : c->v->n_loops, large};
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

/* Tiles that a watched function looks at, as long as it waits for others. */
static void list_awaited(chains *c) {
  for (int j = 0; j + 1 < c->v->n_loops; j++) {
    int until = c->v->n_loops;
    for (size_t i = 0; i < c->watches.n; i++) {
      const watch *w = &c->watches.at[i];
      int function = c->part->factors.at[w->factor].function;
      const loom_part_function *own = &c->part->functions.at[function];
      for (int k = 0; function > 0 && k < own->f->n; k++)
        if (own->place[k] == c->v->first + j && w->known_from < until) until = w->known_from;
    }
    if (until >= j) continue;
    c->until[c->n_awaited] = until;
    c->awaited[c->n_awaited++] = j;
  }
}

/* The least share of the other variables in an item of a column; negative: it is not known. */
static double least_of_others(const chains *c, const loom_item *item) {
  const loom_nest *nest = c->nest;
  double product = item->coefficient;
  for (int i = 0; i < nest->n_parts; i++) {
    if (i == c->number) continue;
    product *= item->coefficient > 0 ? loom_factor_min(nest, i, item->p[i])
                                     : loom_factor_max(nest, i, item->p[i]);
  }
  const loom_factor *own = &c->part->factors.at[item->p[c->number]];
  for (int i = 0; i < c->part->n_variables; i++)
    if (c->part->variables[i] != c->variable)
      product *= loom_powers_min(nest, c->part->variables[i], own);
  if (own->function && !c->part->functions.at[own->function].bounded) return -1;
  return product;
}

static bool list_loads(chains *c) {
  loom_nest *nest = c->nest;
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *column = &nest->columns.at[i];
    if (column->limit == INFINITY) continue;
    for (size_t k = 0; k < column->items.n; k++) {
      const loom_item *item = &column->items.at[k];
      if (item->n[0] >= 0) continue;
      load l = {least_of_others(c, item), item->p[c->number]};
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
    if (!(f->rounded >> (v->first + j) & 1)) continue;
    int64_t outer = j == 0 ? v->size : tiles[v->loop[j - 1]], tile = tiles[v->loop[j]];
    product *= (double)((outer + tile - 1) / tile);
  }
  return product;
}

/* ---- limits ------------------------------------------------------------------------------- */

/* The least that a function can become when loops outside position `from` are open. */
static double least_function(const chains *c, int function, const int32_t *tiles, int from) {
  int known = known_from(c, function);
  if (known >= 0 && known >= from) return loom_part_value(c->nest, c->number, function, tiles);
  return c->part->functions.at[function].f->least;
}

/* The least that a factor can become when loops outside position `from` have tiles of at least t. */
static double least_factor(const chains *c, int factor, const int32_t *tiles, int from) {
  const loom_factor *f = &c->part->factors.at[factor];
  const int8_t *exponent = f->power + c->v->first;
  double product = rounded_trips(c->v, f, tiles, from + 1);
  if (f->function) product *= least_function(c, f->function, tiles, from);
  for (int j = c->v->n_loops - 2; j >= from; j--)
    product *= power(tiles[c->v->loop[j]], exponent[j]);
  double t = tiles[c->v->loop[from]];
  for (int j = 0; j < from; j++) {
    if (exponent[j] < 0) return 0;
    product *= power(t, exponent[j]);
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
    if (sum > c->limited.at[i]->limit) return c->limited.at[i];
  }
  return NULL;
}

/* ---- rules -------------------------------------------------------------------------------- */

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

/* Where keys have the extent; those of tiles that functions wait for come after it. */
static size_t extent_key(const chains *c) {
  return (size_t)(c->nest->n_fused + c->nest->n_dims);
}

/* The extent of a chain as it is compared: what loops may do to the outside depends on it, and where
** kinds of loops differ, on whether one of those inside may leave a part. */
static double key_of(const chains *c, int32_t tile, bool absorbs) {
  return tile + (c->v->table->mixed && absorbs ? 0.5 : 0);
}

static bool absorbs_inside(const chains *c, const loom_rows *rows, size_t i) {
  double key = rows->keys[i * (size_t)rows->n_keys + extent_key(c)];
  return key > floor(key);
}

/* Tiles that functions wait for, into keys. */
static void await(const chains *c, int position, const int32_t *tiles, double *keys) {
  for (int i = 0; i < c->n_awaited; i++) {
    bool waits = c->awaited[i] >= position && position > c->until[i];
    keys[i] = waits ? tiles[c->v->loop[c->awaited[i]]] : 1;
  }
}

/* The watched factors of a chain with one more tile. */
static void multiply(const chains *c, int position, const int32_t *tiles, const double *old,
                     double *values) {
  int32_t tile = tiles[c->v->loop[position]];
  for (size_t j = 0; j < c->watches.n; j++) {
    const watch *w = &c->watches.at[j];
    const loom_factor *f = &c->part->factors.at[w->factor];
    int exponent = f->power[c->v->first + position];
    values[j] = exponent ? old[j] * power(tile, exponent) : old[j];
    if (f->rounded >> (c->v->first + position + 1) & 1)
      values[j] *= ceil((double)tile / tiles[c->v->loop[position + 1]]);
    if (w->known_from == position)
      values[j] *= loom_part_value(c->nest, c->number, f->function, tiles);
  }
}

static bool extend(chains *c, const loom_rows *from, size_t i, int position, int32_t tile,
                   bool absorbs, loom_rows *to) {
  const loom_nest *nest = c->nest;
  ptrdiff_t r = loom_rows_add(nest->ctx, to);
  if (r < 0) return false;
  size_t row = (size_t)r, k = (size_t)to->n_keys, t = (size_t)to->n_tiles;
  double *keys = to->keys + row * k;
  int32_t *tiles = to->tiles + row * t;
  memcpy(keys, from->keys + i * k, k * sizeof *keys);
  memcpy(tiles, from->tiles + i * t, t * sizeof *tiles);
  to->fused[row] = from->fused[i];
  int inner = c->v->loop[position + 1], index = c->v->loop[position];
  tiles[index] = tile;
  double trips = (double)tile / tiles[inner];
  keys[extent_key(c)] = key_of(c, tile, absorbs);
  await(c, position, tiles, keys + extent_key(c) + 1);
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
  multiply(c, position, tiles, from->values + i * (size_t)from->n_values,
           to->values + row * (size_t)to->n_values);
  return true;
}

static bool extend_all(chains *c, const loom_rows *from, int position, loom_rows *to) {
  int inner = c->v->loop[position + 1];
  for (size_t i = 0; i < from->n; i++) {
    if (i % 64 == 63 && loom_is_stopped(c->nest->ctx)) return false;
    bool inside = absorbs_inside(c, from, i);
    loom_tile_walk w = loom_tiles_around(c->nest, c->v, position,
                                         from->tiles[i * (size_t)from->n_tiles + (size_t)inner]);
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
  *rows = (loom_rows){.ranked = nest->ranked,
                      .n_values = (int)c->watches.n,
                      .n_keys = nest->n_fused + nest->n_dims + 1 + c->n_awaited,
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
                            absorbs_inside(c, rows, i));
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

/* Whether the outermost loop of a chain may be as it is, and its rules; with it and all of the chain. */
static bool take_outermost(const chains *c, loom_rows *rows, size_t i) {
  double *keys = rows->keys + i * (size_t)rows->n_keys;
  const int32_t *tiles = rows->tiles + i * (size_t)rows->n_tiles;
  int32_t outer = tiles[c->v->loop[0]];
  bool inside = absorbs_inside(c, rows, i), absorbs = inside;
  if (!loom_tile_cuts(c->v, 0, c->v->size, outer, &absorbs)) return false;
  loom_space_verdict broken =
      run_loop(c, 0, (double)c->v->size / outer, outer, keys, &rows->fused[i], tiles);
  if (broken.rule == LOOM_RULE_NONE) broken = judge_bounds(c, keys);
  if (broken.rule != LOOM_RULE_NONE) fall(c, broken, 0, outer, inside);
  return broken.rule == LOOM_RULE_NONE;
}

/* Copies a row to its place at the end of those that are kept. */
static void move_row(loom_rows *r, size_t from, size_t to) {
  size_t v = (size_t)r->n_values, k = (size_t)r->n_keys, t = (size_t)r->n_tiles;
  if (from == to) return;
  if (v > 0) memcpy(r->values + to * v, r->values + from * v, v * sizeof *r->values);
  memcpy(r->keys + to * k, r->keys + from * k, k * sizeof *r->keys);
  memcpy(r->tiles + to * t, r->tiles + from * t, t * sizeof *r->tiles);
  r->fused[to] = r->fused[from];
}

/* The outermost loop of each chain. */
static void close(const chains *c, loom_rows *rows) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->n; i++)
    if (take_outermost(c, rows, i)) move_row(rows, i, kept++);
  rows->n = kept;
}

static void free_asked(chains *c) {
  loom_ctx *ctx = c->nest->ctx;
  loom_vec_free(ctx, &c->watches);
  loom_vec_free(ctx, &c->loads);
  loom_vec_free(ctx, &c->load_ends);
  loom_vec_free(ctx, &c->limited);
}

/* Chains of one variable of a part, and the keys of the part. */
static bool list_variable(loom_nest *nest, int number, int variable, const loom_search_level *first,
                          const double *values, const loom_search_level *level, loom_rows *rows) {
  chains c = {.nest = nest,
              .part = &nest->parts[number],
              .v = &nest->variables[variable],
              .variable = variable,
              .number = number};
  memset(c.compared, true, sizeof c.compared);
  bool done = list_watches(&c, first, level, values) && list_loads(&c) && c.watches.n <= 256;
  if (done) list_awaited(&c);
  done = done && walk(&c, rows);
  if (done) close(&c, rows);
  free_asked(&c);
  return done;
}

/* ---- values of factors -------------------------------------------------------------------- */

bool loom_nest_factors(const loom_nest *nest, int number, const int32_t *tiles, double *out) {
  const loom_search_part *part = &nest->parts[number];
  for (size_t i = 0; i < part->factors.n; i++) {
    const loom_factor *f = &part->factors.at[i];
    double product = 1;
    for (int j = 0; j < part->n_places; j++)
      if (f->power[j]) product *= power(tiles[part->loop[j]], f->power[j]);
    for (int k = 0; f->rounded && k < part->n_variables; k++)
      product *= rounded_trips(&nest->variables[part->variables[k]], f, tiles, 0);
    if (f->function) product *= loom_part_value(nest, number, f->function, tiles);
    if (isnan(product)) {
      loom_error_set(nest->ctx, LOOM_ERR_DOMAIN, "a formula has no value at some tiles of '%s'",
                     nest->text ? nest->text : "");
      return false;
    }
    out[i] = product;
  }
  return true;
}

/* ---- choices of a part -------------------------------------------------------------------- */

/* Values of the level of a part alone at the factors of a choice. */
static void level_values(const loom_search_level *level, const double *values,
                         const double *factors, double *out) {
  for (size_t i = 0; i < level->bases.n; i++) out[i] = 0;
  for (size_t t = 0; t < level->terms.n; t++) {
    const loom_step_term *term = &level->terms.at[t];
    out[term->to] += values[term->from] * (factors[term->p] - (term->n < 0 ? 0 : factors[term->n]));
  }
}

bool loom_part_add(loom_nest *nest, int part, const loom_search_level *level, const double *values,
                   const int32_t *tiles, loom_rows *out, double **keys, uint32_t **fused) {
  double factors[LOOM_SEARCH_MAX_FACTORS];
  if (!loom_nest_factors(nest, part, tiles, factors)) return false;
  ptrdiff_t r = loom_rows_add(nest->ctx, out);
  if (r < 0) return false;
  size_t row = (size_t)r;
  memcpy(out->tiles + row * (size_t)out->n_tiles, tiles, (size_t)out->n_tiles * sizeof *tiles);
  level_values(level, values, factors, out->values + row * (size_t)out->n_values);
  *keys = out->keys + row * (size_t)out->n_keys;
  *fused = &out->fused[row];
  return true;
}

/* The chains of one variable as choices of its part; keys lose the extent. */
static bool finish(loom_nest *nest, int part, const loom_rows *rows, const loom_search_level *level,
                   const double *values, loom_rows *out) {
  for (size_t i = 0; i < rows->n; i++) {
    double *keys;
    uint32_t *fused;
    if (i % 1024 == 1023 && loom_is_stopped(nest->ctx)) return false;
    if (!loom_part_add(nest, part, level, values, rows->tiles + i * (size_t)rows->n_tiles, out,
                       &keys, &fused))
      return false;
    for (int q = 0; q < out->n_keys; q++)
      keys[q] = rows->keys[i * (size_t)rows->n_keys + (size_t)q];
    *fused = rows->fused[i];
  }
  return true;
}

bool loom_part_prune(loom_nest *nest, const loom_search_level *level, loom_rows *rows) {
  bool compared[256];
  if (level->bases.n > 256) return true;
  for (size_t k = 0; k < level->bases.n; k++)
    compared[k] = nest->columns.at[level->bases.at[k].column].compared;
  size_t before = rows->n;
  bool done = loom_rows_prune(nest->ctx, rows, compared);
  loom_nest_fall(nest, LOOM_RULE_DOMINATED, -1, nest->others * (double)(before - rows->n));
  return done;
}

/* Chains of each variable of the part; what falls stands for the chains of the others. */
static bool list_variables(loom_nest *nest, int number, const loom_search_level *first,
                           const double *values, const loom_search_level *level, loom_rows *lists) {
  const loom_search_part *part = &nest->parts[number];
  const double others = nest->others;
  bool done = true;
  for (int i = 0; i < part->n_variables && done; i++) {
    nest->others = others;
    for (int k = 0; k < i; k++) nest->others *= (double)lists[k].n;
    for (int k = i + 1; k < part->n_variables; k++)
      nest->others *= loom_chains_in_all(&nest->variables[part->variables[k]]);
    done = list_variable(nest, number, part->variables[i], first, values, level, &lists[i]);
  }
  nest->others = others;
  return done;
}

bool loom_nest_chains(loom_nest *nest, int number, const loom_search_level *first,
                      const double *values, const loom_search_level *level, loom_rows *out) {
  const loom_search_part *part = &nest->parts[number];
  loom_rows lists[LOOM_SEARCH_MAX_VARIABLES] = {{0}};
  *out = (loom_rows){.ranked = nest->ranked,
                     .n_values = (int)level->bases.n,
                     .n_keys = loom_part_keys(nest, part),
                     .n_tiles = nest->n_loops};
  bool done = list_variables(nest, number, first, values, level, lists);
  if (done) {
    done = part->n_variables == 1 ? finish(nest, number, lists, level, values, out)
                                  : loom_part_cross(nest, number, lists, level, values, out);
  }
  done = done && loom_part_prune(nest, level, out);
  for (int i = 0; i < part->n_variables; i++) loom_rows_free(nest->ctx, &lists[i]);
  return done;
}
