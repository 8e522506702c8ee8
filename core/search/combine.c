/* SPDX-License-Identifier: MIT */
/* Chains of single variables combined into points of a template.
**
** Chains are sorted into classes: what they give to the key of a group (tiles of fused loops) and to the
** dimensions.  One class of each variable at a time fixes group and dimensions; there, variables are
** joined one after the other, and what cannot meet a limit or enter the group's front, whatever the
** variables to come choose, is left out. */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* ---- lists of chains ---------------------------------------------------------------------- */

static bool fill_factors(loom_nest *nest, int variable, loom_chain_list *l) {
  size_t n = l->n_factors = nest->variables[variable].factors.n;
  l->factors = loom_realloc_array(nest->ctx, NULL, 0, l->rows.n * n + 1, sizeof *l->factors);
  if (!l->factors) return false;
  for (size_t i = 0; i < l->rows.n; i++)
    if (!loom_nest_factors(nest, variable, l->rows.tiles + i * (size_t)l->rows.n_tiles,
                           l->factors + i * n))
      return false;
  return true;
}

static bool same_class(const loom_rows *r, size_t a, size_t b) {
  size_t n = (size_t)r->n_keys;
  return r->fused[a] == r->fused[b] &&
         (n == 0 || memcmp(r->keys + a * n, r->keys + b * n, n * sizeof *r->keys) == 0);
}

static bool add_class(loom_nest *nest, loom_chain_list *l, size_t first, size_t n) {
  loom_chain_class c = {.first = first, .n = n};
  c.least = loom_arena_array(&nest->arena, l->n_factors, sizeof *c.least);
  c.most = loom_arena_array(&nest->arena, l->n_factors, sizeof *c.most);
  if (!c.least || !c.most) return false;
  for (size_t k = 0; k < l->n_factors; k++) c.least[k] = INFINITY;
  for (size_t i = first; i < first + n; i++) {
    const double *f = l->factors + i * l->n_factors;
    for (size_t k = 0; k < l->n_factors; k++) {
      if (f[k] < c.least[k]) c.least[k] = f[k];
      if (f[k] > c.most[k]) c.most[k] = f[k];
    }
  }
  return loom_vec_push(nest->ctx, &l->classes, c);
}

static bool list_classes(loom_nest *nest, loom_chain_list *l) {
  l->least = loom_arena_array(&nest->arena, l->n_factors, sizeof *l->least);
  l->most = loom_arena_array(&nest->arena, l->n_factors, sizeof *l->most);
  if (!l->least || !l->most) return false;
  for (size_t k = 0; k < l->n_factors; k++) l->least[k] = INFINITY;
  for (size_t from = 0, to; from < l->rows.n; from = to) {
    for (to = from + 1; to < l->rows.n && same_class(&l->rows, from, to);) to++;
    if (!add_class(nest, l, from, to - from)) return false;
    const loom_chain_class *c = &l->classes.at[l->classes.n - 1];
    for (size_t k = 0; k < l->n_factors; k++) {
      if (c->least[k] < l->least[k]) l->least[k] = c->least[k];
      if (c->most[k] > l->most[k]) l->most[k] = c->most[k];
    }
  }
  return true;
}

/* Variables with few chains first. */
static void sort_variables(loom_nest *nest) {
  for (int i = 0; i < nest->n_variables; i++) {
    int k = i;
    for (; k > 0 && nest->lists[nest->order[k - 1]].rows.n > nest->lists[i].rows.n; k--)
      nest->order[k] = nest->order[k - 1];
    nest->order[k] = i;
  }
}

bool loom_nest_prepare(loom_nest *nest) {
  double *values = NULL;
  size_t room = 1;
  for (size_t i = 0; i < nest->columns.n; i++) room += nest->columns.at[i].items.n;
  if (nest->columns.n > LOOM_SEARCH_MAX_FIGURES) {
    loom_error_set(nest->ctx, LOOM_ERR_LIMIT, "a template has too many figures");
    return false;
  }
  bool done = loom_level_first(nest, &nest->levels[0], &values);
  for (int v = 0; v < nest->n_variables && done; v++) {
    loom_chain_list *l = &nest->lists[v];
    done = loom_level_next(nest, &nest->levels[0], v, &l->level) &&
           loom_nest_chains(nest, v, &nest->levels[0], values, &l->level, &l->rows) &&
           loom_rows_sort(nest->ctx, &l->rows) && fill_factors(nest, v, l) && list_classes(nest, l);
  }
  if (done) sort_variables(nest);
  for (int i = 0; i < nest->n_variables && done; i++)
    done = loom_level_next(nest, &nest->levels[i], nest->order[i], &nest->levels[i + 1]);
  for (int i = 0; i <= nest->n_variables && done; i++)
    done = nest->levels[i].bases.n <= LOOM_SEARCH_MAX_FIGURES;
  nest->values = values;
  nest->values_room = values ? room : 0;
  return done;
}

void loom_nest_free_lists(loom_nest *nest) {
  loom_ctx *ctx = nest->ctx;
  for (int v = 0; v < nest->n_variables; v++) {
    loom_chain_list *l = &nest->lists[v];
    loom_give_back(ctx, l->factors, l->rows.n * l->n_factors + 1, sizeof *l->factors);
    l->factors = NULL;
    loom_rows_free(ctx, &l->rows);
    loom_level_free(ctx, &l->level);
    loom_vec_free(ctx, &l->classes);
  }
  for (int i = 0; i <= nest->n_variables; i++) loom_level_free(ctx, &nest->levels[i]);
  loom_give_back(ctx, nest->values, nest->values_room, sizeof *nest->values);
  nest->values = NULL;
}

/* ---- columns ------------------------------------------------------------------------------ */

bool loom_nest_evaluate(const loom_nest *nest, const int32_t *tiles, double *columns) {
  double factors[LOOM_SEARCH_MAX_VARIABLES][LOOM_SEARCH_MAX_FACTORS];
  for (int v = 0; v < nest->n_variables; v++)
    if (!loom_nest_factors(nest, v, tiles, factors[v])) return false;
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *column = &nest->columns.at[i];
    columns[i] = 0;
    for (size_t k = 0; k < column->items.n; k++) {
      const loom_item *item = &column->items.at[k];
      double p = item->coefficient, n = item->n[0] >= 0 ? item->coefficient : 0;
      for (int v = 0; v < nest->n_variables; v++) {
        p *= factors[v][item->p[v]];
        if (item->n[0] >= 0) n *= factors[v][item->n[v]];
      }
      columns[i] += p - n;
    }
  }
  return true;
}

void loom_nest_least(const loom_nest *nest, double *columns) {
  for (size_t i = 0; i < nest->columns.n; i++) {
    const loom_column *column = &nest->columns.at[i];
    columns[i] = 0;
    for (size_t k = 0; k < column->items.n; k++) {
      const loom_item *item = &column->items.at[k];
      bool large = item->coefficient < 0, difference = item->n[0] >= 0;
      double p = 1, n = difference ? 1 : 0;
      for (int v = 0; v < nest->n_variables; v++) {
        const loom_chain_list *l = &nest->lists[v];
        p *= large ? l->most[item->p[v]] : l->least[item->p[v]];
        if (difference) n *= large ? l->least[item->n[v]] : l->most[item->n[v]];
      }
      columns[i] += item->coefficient * (p > n || large ? p - n : 0);
    }
  }
}

/* ---- one class of each variable ------------------------------------------------------------ */

typedef struct combination {
  loom_nest *nest;
  loom_collector *collector;
  size_t beam; /* rows kept at most while variables are joined; 0: all */
  const loom_chain_class *classes[LOOM_SEARCH_MAX_VARIABLES];
  double keys[LOOM_SEARCH_MAX_VARIABLES + 1][LOOM_SEARCH_MAX_KEYS];
  uint32_t fused[LOOM_SEARCH_MAX_VARIABLES + 1];
  size_t *chosen[LOOM_SEARCH_MAX_VARIABLES]; /* rows of each class that may matter */
  size_t n_chosen[LOOM_SEARCH_MAX_VARIABLES];
  size_t looked_at;
} combination;

/* Bounds of each basis over the variables that `open` tells. */
static void bound_bases(const combination *c, loom_search_level *level, const bool *open) {
  for (size_t b = 0; b < level->bases.n; b++) {
    loom_basis *basis = &level->bases.at[b];
    bool difference = basis->item.n[0] >= 0;
    double p_least = 1, p_most = 1, n_least = 1, n_most = 1;
    for (int v = 0; v < c->nest->n_variables; v++) {
      if (!open[v]) continue;
      const loom_chain_class *k = c->classes[v];
      p_least *= k->least[basis->item.p[v]];
      p_most *= k->most[basis->item.p[v]];
      if (!difference) continue;
      n_least *= k->least[basis->item.n[v]];
      n_most *= k->most[basis->item.n[v]];
    }
    basis->least = !difference ? p_least : p_least > n_most ? p_least - n_most : 0;
    basis->most = difference ? p_most - n_least : p_most;
  }
}

/* The least that each column can become, into the collector. */
static void bound_columns(const combination *c, const loom_search_level *level,
                          const double *values) {
  double *out = loom_collector_columns(c->collector);
  for (size_t i = 0; i < c->nest->columns.n; i++) out[i] = 0;
  for (size_t b = 0; b < level->bases.n; b++) {
    const loom_basis *basis = &level->bases.at[b];
    out[basis->column] += values[b] * (values[b] < 0 ? basis->most : basis->least);
  }
}

/* Asked before every choice: often enough to be stopped in time, seldom enough to cost nothing. */
static bool is_stopped(combination *c) {
  return ++c->looked_at % 256 == 0 && loom_is_stopped(c->nest->ctx);
}

static bool may_matter(const combination *c, const loom_search_level *level, const double *values) {
  const loom_nest *nest = c->nest;
  bound_columns(c, level, values);
  const double *columns = loom_collector_columns(c->collector);
  for (size_t i = 0; i < nest->columns.n; i++)
    if (columns[i] > nest->columns.at[i].limit * (1 + 1e-12)) return false;
  return !loom_collector_dominated(c->collector);
}

static void choose_values(const loom_search_level *level, const double *old, const double *factors,
                          double *x) {
  memset(x, 0, level->bases.n * sizeof *x);
  for (size_t q = 0; q < level->terms.n; q++) {
    const loom_step_term *term = &level->terms.at[q];
    x[term->to] += old[term->from] * (factors[term->p] - (term->n < 0 ? 0 : factors[term->n]));
  }
}

/* Rows of each class that may matter by themselves; false if some class has none. */
static bool choose_rows(combination *c) {
  loom_nest *nest = c->nest;
  bool open[LOOM_SEARCH_MAX_VARIABLES];
  for (int v = 0; v < nest->n_variables; v++) open[v] = true;
  bound_bases(c, &nest->levels[0], open);
  if (!may_matter(c, &nest->levels[0], nest->values)) return false;
  for (int v = 0; v < nest->n_variables; v++) {
    loom_chain_list *l = &nest->lists[v];
    open[v] = false;
    bound_bases(c, &l->level, open);
    open[v] = true;
    c->n_chosen[v] = 0;
    for (size_t i = c->classes[v]->first; i < c->classes[v]->first + c->classes[v]->n; i++)
      if (may_matter(c, &l->level, l->rows.values + i * (size_t)l->rows.n_values))
        c->chosen[v][c->n_chosen[v]++] = i;
    if (c->n_chosen[v] == 0) return false;
  }
  return true;
}

static void add_tiles(const loom_rows *from, size_t i, const loom_rows *list, size_t j,
                      int32_t *out) {
  size_t t = (size_t)from->n_tiles;
  for (size_t q = 0; q < t; q++) out[q] = from->tiles[i * t + q] + list->tiles[j * t + q];
}

/* Joins rows with the chosen chains of order[i]; the last variable makes points. */
static bool join_variable(combination *c, const loom_rows *from, int i, loom_rows *to) {
  loom_nest *nest = c->nest;
  const int v = nest->order[i];
  const loom_chain_list *l = &nest->lists[v];
  const loom_search_level *level = &nest->levels[i + 1];
  bool last = i + 1 == nest->n_variables;
  double x[LOOM_SEARCH_MAX_FIGURES];
  int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  *to = (loom_rows){.n_values = (int)level->bases.n, .n_tiles = nest->n_loops};
  nest->counts.combined += (double)from->n * (double)c->n_chosen[v];
  for (size_t a = 0; a < from->n; a++) {
    const double *old = from->values + a * (size_t)from->n_values;
    for (size_t b = 0; b < c->n_chosen[v]; b++) {
      if (is_stopped(c)) return false;
      size_t j = c->chosen[v][b];
      choose_values(level, old, l->factors + j * l->n_factors, x);
      if (!may_matter(c, level, x)) continue;
      if (last) {
        add_tiles(from, a, &l->rows, j, tiles);
        nest->counts.points++;
        if (!loom_collector_add(c->collector, tiles)) return false;
        continue;
      }
      ptrdiff_t r = loom_rows_add(nest->ctx, to);
      if (r < 0) return false;
      if (level->bases.n > 0)
        memcpy(to->values + (size_t)r * level->bases.n, x, level->bases.n * sizeof *x);
      add_tiles(from, a, &l->rows, j, to->tiles + (size_t)r * (size_t)nest->n_loops);
      to->fused[r] = 0;
    }
  }
  return true;
}

/* Keeps the rows that promise most. */
static void narrow(const combination *c, const loom_search_level *level, loom_rows *rows) {
  if (rows->n_values == 0) {
    if (rows->n > c->beam) rows->n = c->beam;
    return;
  }
  size_t w = (size_t)rows->n_values, t = (size_t)rows->n_tiles, n = 0;
  double score[64];
  for (size_t i = 0; i < rows->n; i++) {
    bound_columns(c, level, rows->values + i * w);
    double x = loom_collector_score(c->collector);
    size_t k = n < c->beam ? n++ : n - 1;
    if (k == n - 1 && i >= c->beam && score[k] <= x) continue;
    double row[LOOM_SEARCH_MAX_FIGURES];
    int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
    memcpy(row, rows->values + i * w, w * sizeof *row);
    memcpy(tiles, rows->tiles + i * t, t * sizeof *tiles);
    for (; k > 0 && score[k - 1] > x; k--) {
      score[k] = score[k - 1];
      memcpy(rows->values + k * w, rows->values + (k - 1) * w, w * sizeof *row);
      memcpy(rows->tiles + k * t, rows->tiles + (k - 1) * t, t * sizeof *tiles);
    }
    score[k] = x;
    memcpy(rows->values + k * w, row, w * sizeof *row);
    memcpy(rows->tiles + k * t, tiles, t * sizeof *tiles);
  }
  rows->n = n;
}

static bool shrink(combination *c, const loom_search_level *level, loom_rows *rows) {
  bool compared[LOOM_SEARCH_MAX_FIGURES];
  if (c->beam > 0) {
    narrow(c, level, rows);
    return true;
  }
  for (size_t b = 0; b < level->bases.n; b++)
    compared[b] = c->nest->columns.at[level->bases.at[b].column].compared;
  return loom_rows_prune(c->nest->ctx, rows, compared);
}

static bool start(const loom_nest *nest, loom_rows *rows) {
  *rows = (loom_rows){.n_values = (int)nest->levels[0].bases.n, .n_tiles = nest->n_loops};
  if (loom_rows_add(nest->ctx, rows) < 0) return false;
  if (nest->levels[0].bases.n > 0)
    memcpy(rows->values, nest->values, nest->levels[0].bases.n * sizeof *nest->values);
  if (nest->n_loops > 0) memset(rows->tiles, 0, (size_t)nest->n_loops * sizeof *rows->tiles);
  rows->fused[0] = 0;
  return true;
}

static bool join_classes(combination *c) {
  loom_nest *nest = c->nest;
  bool open[LOOM_SEARCH_MAX_VARIABLES], done;
  loom_rows rows = {0};
  int n = nest->n_variables;
  for (int v = 0; v < n; v++) open[v] = true;
  done = start(nest, &rows);
  if (n == 0 && done && may_matter(c, &nest->levels[0], nest->values))
    done = loom_collector_add(c->collector, rows.tiles);
  for (int i = 0; i < n && done && rows.n > 0; i++) {
    loom_rows next = {0};
    open[nest->order[i]] = false;
    bound_bases(c, &nest->levels[i + 1], open);
    done = join_variable(c, &rows, i, &next);
    if (done && i + 1 < n) done = shrink(c, &nest->levels[i + 1], &next);
    loom_rows_free(nest->ctx, &rows);
    rows = next;
  }
  loom_rows_free(nest->ctx, &rows);
  return done;
}

static int count_bits(uint32_t x) {
  int n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}

/* Every choice of a class for the variables from order[i] on. */
static bool choose_classes(combination *c, int i) {
  loom_nest *nest = c->nest;
  int n_keys = nest->n_fused + nest->n_dims;
  if (i == nest->n_variables) {
    if (!loom_nest_is_spread(nest, c->keys[i] + nest->n_fused)) return true;
    loom_collector_enter(c->collector, c->fused[i], c->keys[i]);
    return !choose_rows(c) || join_classes(c);
  }
  int v = nest->order[i];
  const loom_chain_list *l = &nest->lists[v];
  for (size_t k = 0; k < l->classes.n; k++) {
    const loom_chain_class *class_ = &l->classes.at[k];
    if (is_stopped(c)) return false;
    c->classes[v] = class_;
    c->fused[i + 1] = c->fused[i] | l->rows.fused[class_->first];
    if (nest->max_fused >= 0 && count_bits(c->fused[i + 1]) > nest->max_fused) continue;
    for (int q = 0; q < n_keys; q++)
      c->keys[i + 1][q] = c->keys[i][q] * l->rows.keys[class_->first * (size_t)n_keys + (size_t)q];
    if (!loom_nest_may_spread(nest, c->keys[i + 1] + nest->n_fused)) continue;
    if (!choose_classes(c, i + 1)) return false;
  }
  return true;
}

bool loom_nest_combine(loom_nest *nest, loom_collector *collector, size_t beam) {
  combination c = {.nest = nest, .collector = collector, .beam = beam};
  bool done = true;
  for (int q = 0; q < nest->n_fused + nest->n_dims; q++) c.keys[0][q] = 1;
  for (int v = 0; v < nest->n_variables; v++) {
    size_t n = nest->lists[v].rows.n;
    c.chosen[v] = loom_realloc_array(nest->ctx, NULL, 0, n + 1, sizeof(size_t));
    done = done && c.chosen[v];
  }
  done = done && choose_classes(&c, 0);
  for (int v = 0; v < nest->n_variables; v++)
    loom_give_back(nest->ctx, c.chosen[v], nest->lists[v].rows.n + 1, sizeof(size_t));
  return done;
}
