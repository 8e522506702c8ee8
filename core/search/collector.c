/* SPDX-License-Identifier: MIT */
/* Takes the points of one template into its fronts, past those that others have found.
** Invariant: the figures of a point that is kept are those of loom_nest_evaluate, whatever way the
** search came to it. */
#include <math.h>
#include <string.h>

#include "search/search.h"

struct loom_collector {
  loom_ctx *ctx;
  const loom_space *s;
  const loom_space_one *one;
  loom_unit *unit;
  const loom_nest *nest;
  const loom_fronts *known; /* NULL: none */
  loom_fronts *found;
  loom_ranking ranking;
  uint32_t fused;
  loom_group key;
  ptrdiff_t before, group; /* of the key, in `known` and in `found`; -1: none */
  loom_backing backings[64];
  double columns[LOOM_SEARCH_MAX_FIGURES], values[LOOM_SEARCH_MAX_FIGURES];
  int segment[LOOM_SEARCH_MAX_FUSED]; /* of the loops that stay */
  int place[LOOM_SEARCH_MAX_FIGURES]; /* of each column among the values, or -1 */
  size_t tiles;                       /* of the point at hand */
  bool is_kept;                       /* in some group */
};

loom_collector *loom_collector_new(const loom_space *s, const loom_space_one *one, loom_unit *unit,
                                   const loom_fronts *known) {
  loom_ctx *ctx = unit->nest.ctx;
  loom_collector *c = loom_realloc(ctx, NULL, 0, sizeof *c);
  if (!c) return NULL;
  memset(c, 0, sizeof *c);
  c->ctx = ctx;
  c->s = s;
  c->one = one;
  c->unit = unit;
  c->nest = &unit->nest;
  c->known = known;
  c->found = &unit->found;
  c->ranking = loom_ranking_of(one);
  return c;
}

void loom_collector_free(loom_collector *c) {
  if (c) loom_realloc(c->ctx, c, sizeof *c, 0);
}

double *loom_collector_columns(loom_collector *c) {
  return c->columns;
}

static int count_below(uint32_t fused, int depth) {
  int n = 0;
  for (int i = 0; i < depth; i++) n += (int)(fused >> i & 1);
  return n;
}

static void place_columns(loom_collector *c) {
  const loom_space *s = c->s;
  int depths = c->key.n_loops + 1 + s->n_always;
  c->key.width = s->n_objectives + s->n_open * depths;
  for (size_t i = 0; i < c->nest->columns.n; i++) {
    const loom_column *column = &c->nest->columns.at[i];
    c->place[i] = -1;
    if (column->kind == LOOM_COLUMN_OWN)
      c->place[i] = s->n_objectives + s->memories.at[column->index].open * depths +
                    count_below(c->fused, column->depth);
    if (column->kind == LOOM_COLUMN_ALWAYS)
      c->place[i] = s->n_objectives + s->memories.at[column->index].open * depths + depths - 1;
  }
}

void loom_collector_enter(loom_collector *c, uint32_t fused, const double *keys) {
  const loom_space_template *t = &c->unit->t;
  int segment = 0;
  c->fused = fused;
  c->key.n_loops = 0;
  for (int i = 0; i < c->nest->n_fused; i++) {
    if (t->border[i]) segment++;
    if (!(fused >> i & 1)) continue;
    c->segment[c->key.n_loops] = segment;
    c->key.loops[c->key.n_loops++] =
        (loom_fused_loop){t->loops[i].variable, t->loops[i].dimension, (int32_t)keys[i]};
  }
  c->key.backings = c->backings;
  c->key.n_tensors = (int)c->one->tensors.n;
  for (size_t i = 0; i < c->one->tensors.n; i++) c->backings[i] = (loom_backing){-1, 0, false, 0};
  for (size_t i = 0; i < t->n_backings; i++) {
    const loom_space_backing *b = &t->backings[i];
    c->backings[b->tensor] = (loom_backing){b->memory, count_below(fused, b->n_loops), false, 0};
  }
  place_columns(c);
  c->before = c->known ? loom_fronts_find(c->known, &c->key) : -1;
  c->group = loom_fronts_find(c->found, &c->key);
}

void loom_objectives(const loom_space *s, const loom_nest *nest, const double *columns,
                     double *out) {
  double energy = 0, latency = 0;
  for (size_t i = 0; i < nest->columns.n; i++) {
    loom_column_kind kind = nest->columns.at[i].kind;
    if (kind == LOOM_COLUMN_ENERGY) energy = fmax(energy, columns[i]);
    if (kind == LOOM_COLUMN_LATENCY) latency = fmax(latency, columns[i]);
  }
  if (s->options.energy) *out++ = energy + nest->leak * latency;
  if (s->options.latency) *out = latency;
}

/* Energy, latency and bits by depth of the columns at hand. */
static void read_values(loom_collector *c) {
  for (int i = c->s->n_objectives; i < c->key.width; i++) c->values[i] = 0;
  for (size_t i = 0; i < c->nest->columns.n; i++)
    if (c->place[i] >= 0) c->values[c->place[i]] += c->columns[i];
  loom_objectives(c->s, c->nest, c->columns, c->values);
}

/* The values at hand raised as far as points that are known may be above them. */
static void loosen(loom_collector *c) {
  const loom_space_options *o = &c->s->options;
  for (int i = 0; i < c->s->n_objectives && o->objective_slack > 0; i++)
    c->values[i] *= 1 + o->objective_slack;
  for (int i = c->s->n_objectives; i < c->key.width && o->usage_slack > 0; i++)
    c->values[i] *= 1 + o->usage_slack;
}

void loom_collector_objectives(loom_collector *c, double least[2]) {
  loom_objectives(c->s, c->nest, c->columns, least);
}

void loom_collector_lower(loom_collector *c, const double least[2]) {
  for (int k = 0; k < c->s->n_objectives; k++)
    if (least[k] < c->unit->lowest[k]) c->unit->lowest[k] = least[k];
}

/* Notes objectives that some choice has at least. */
static void reach(loom_collector *c, const double *least) {
  for (int k = 0; k < c->s->n_objectives; k++)
    if (least[k] < c->unit->reached[k]) c->unit->reached[k] = least[k];
}

bool loom_collector_dominated(loom_collector *c) {
  if (c->before < 0 && c->group < 0 && !c->s->limited) return false;
  int number = c->unit->number;
  read_values(c);
  if (loom_space_exceeds(c->s, c->values, c->one->others)) return true;
  double least[2] = {0};
  for (int k = 0; k < c->s->n_objectives; k++) least[k] = c->values[k];
  loosen(c);
  bool dominated = (c->before >= 0 && loom_group_dominates(&c->known->groups.at[c->before],
                                                           &c->ranking, c->values, number)) ||
                   (c->group >= 0 && loom_group_dominates(&c->found->groups.at[c->group],
                                                          &c->ranking, c->values, number));
  if (dominated) reach(c, least);
  return dominated;
}

double loom_collector_score(loom_collector *c) {
  double score = 1;
  read_values(c);
  for (int i = 0; i < c->s->n_objectives; i++)
    if (c->values[i] > 0) score *= c->values[i];
  return score;
}

static bool keep(loom_collector *c) {
  ptrdiff_t at = loom_fronts_enter(c->ctx, c->found, &c->key);
  if (at < 0) return false;
  bool done = loom_fronts_add(c->ctx, c->found, (size_t)at, &c->ranking, c->values, c->unit->number,
                              c->tiles);
  const loom_group *g = &c->found->groups.at[at];
  c->is_kept = c->is_kept || (g->n > 0 && g->tiles[g->n - 1] == c->tiles);
  return done;
}

/* Every order of loops that nothing stands between. */
static bool keep_orders(loom_collector *c, int from) {
  if (from >= c->key.n_loops) return keep(c);
  for (int i = from; i < c->key.n_loops && c->segment[i] == c->segment[from]; i++) {
    loom_fused_loop first = c->key.loops[i];
    memmove(&c->key.loops[from + 1], &c->key.loops[from], (size_t)(i - from) * sizeof first);
    c->key.loops[from] = first;
    bool done = keep_orders(c, from + 1);
    memmove(&c->key.loops[from], &c->key.loops[from + 1], (size_t)(i - from) * sizeof first);
    c->key.loops[i] = first;
    if (!done) return false;
  }
  return true;
}

bool loom_collector_add(loom_collector *c, const int32_t *tiles) {
  size_t n = (size_t)c->nest->n_loops;
  if (!loom_nest_evaluate(c->nest, tiles, c->columns)) return false;
  read_values(c);
  reach(c, c->values);
  for (size_t i = 0; i < c->nest->columns.n; i++) {
    const loom_column *column = &c->nest->columns.at[i];
    if (column->kind != LOOM_COLUMN_SHARED) continue;
    c->backings[column->index].bits = c->columns[i];
    c->backings[column->index].always = column->always;
  }
  if (!loom_fronts_pack(c->ctx, c->found, &c->ranking)) return false;
  c->tiles = c->found->tiles.n;
  c->is_kept = false;
  if (!loom_vec_reserve(c->ctx, &c->found->tiles, n)) return false;
  if (n > 0) memcpy(c->found->tiles.at + c->tiles, tiles, n * sizeof *tiles);
  c->found->tiles.n += n;
  if (!keep_orders(c, 0)) return false;
  if (!c->is_kept) c->found->tiles.n = c->tiles;
  if (c->group < 0) c->group = loom_fronts_find(c->found, &c->key);
  return true;
}
