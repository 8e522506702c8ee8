/* SPDX-License-Identifier: MIT */
/* Bounds of factors over all chains of tiles, and negative items paired with positive ones that are
** never smaller.
**
** A tile is the product of the trips of the loops inside it, so a product of powers of tiles is one of
** powers of trips r_j >= 1 whose product is the size N of the variable: its least value is N to the
** least exponent, its largest N to the largest.  Where some tiles are given, the same holds for the
** trips between each two of them. */
#include <math.h>

#include "search/search.h"

#define MOST_LOOKED_AT 8192 /* tiles for the bound of a quotient */

/* Least and largest exponent of a trip in the product of powers. */
static void exponents(const loom_search_variable *v, const int *power, int *least, int *most) {
  int sum = 0;
  *least = *most = 0;
  for (int j = 0; j + 1 < v->n_loops; j++) {
    sum += power[j];
    if (sum < *least) *least = sum;
    if (sum > *most) *most = sum;
  }
}

/* Powers of the tiles of a variable in the quotient of two factors; n may be NULL. */
static void powers(const loom_search_variable *v, const loom_factor *p, const loom_factor *n,
                   int *power) {
  for (int j = 0; j < v->n_loops; j++)
    power[j] = p->power[v->first + j] - (n ? n->power[v->first + j] : 0);
}

static double powers_min(const loom_search_variable *v, const loom_factor *p,
                         const loom_factor *n) {
  int power[LOOM_SEARCH_MAX_LOOPS], least, most;
  powers(v, p, n, power);
  exponents(v, power, &least, &most);
  return pow((double)v->size, least);
}

double loom_powers_min(const loom_nest *nest, int variable, const loom_factor *f) {
  return powers_min(&nest->variables[variable], f, NULL);
}

double loom_factor_min(const loom_nest *nest, int part, int factor) {
  const loom_search_part *own = &nest->parts[part];
  int function = own->factors.at[factor].function;
  if (function > 0 && !own->functions.at[function].bounded) return -INFINITY;
  if (function > 0) return own->factors.at[factor].least;
  return loom_ratio_min(nest, part, factor, 0);
}

double loom_factor_max(const loom_nest *nest, int part, int factor) {
  const loom_search_part *own = &nest->parts[part];
  const loom_factor *f = &own->factors.at[factor];
  double product = 1;
  if (f->rounded != 0) return INFINITY;
  if (f->function > 0) product = own->functions.at[f->function].f->most;
  if (f->function > 0 && !own->functions.at[f->function].bounded) return INFINITY;
  for (int i = 0; i < own->n_variables; i++) {
    const loom_search_variable *v = &nest->variables[own->variables[i]];
    int power[LOOM_SEARCH_MAX_LOOPS], least, most;
    powers(v, f, NULL, power);
    exponents(v, power, &least, &most);
    product *= pow((double)v->size, most);
  }
  return product;
}

/* ---- quotients of functions --------------------------------------------------------------- */

/* Trips between two given tiles of a variable: their least exponent. */
typedef struct segment {
  int variable, outer, inner; /* loops; -1: the size, or 1 */
  int least;
} segment;

/* The quotient of two factors over the tiles that their functions look at. */
typedef struct quotient {
  const loom_nest *nest;
  int part, up, down; /* functions */
  int n_places, n_segments;
  int8_t places[LOOM_SEARCH_MAX_PLACES];
  segment segments[LOOM_SEARCH_MAX_PLACES + LOOM_SEARCH_MAX_VARIABLES];
  double least;
  size_t n;
} quotient;

static bool looks_at(const loom_search_part *part, int function, int place) {
  const loom_part_function *own = &part->functions.at[function];
  for (int i = 0; function > 0 && i < own->f->n; i++)
    if (own->place[i] == place) return true;
  return false;
}

/* The segments of one variable, and the tiles between them. */
static void cut_variable(quotient *q, const loom_search_part *part, const loom_search_variable *v,
                         const int *power) {
  segment s = {.variable = (int)(v - q->nest->variables), .outer = -1, .inner = -1};
  int sum = 0;
  for (int j = 0; j + 1 < v->n_loops; j++) {
    bool given = looks_at(part, q->up, v->first + j) || looks_at(part, q->down, v->first + j);
    if (given) {
      s.inner = v->loop[j];
      q->segments[q->n_segments++] = s;
      q->places[q->n_places++] = (int8_t)(v->first + j);
      s.outer = v->loop[j];
      s.inner = -1;
    }
    sum += power[j];
    if (given || sum < s.least) s.least = sum;
  }
  q->segments[q->n_segments++] = s;
}

static bool look_at(void *data, const int32_t *tiles) {
  quotient *q = data;
  double up = q->up ? loom_part_value(q->nest, q->part, q->up, tiles) : 1;
  double down = q->down ? loom_part_value(q->nest, q->part, q->down, tiles) : 1;
  double x = down == 0 ? INFINITY : up / down;
  for (int i = 0; i < q->n_segments; i++) {
    const segment *s = &q->segments[i];
    if (s->least == 0) continue;
    double outer = s->outer < 0 ? (double)q->nest->variables[s->variable].size : tiles[s->outer];
    x *= pow(outer / (s->inner < 0 ? 1 : tiles[s->inner]), s->least);
  }
  if (x < q->least) q->least = x;
  return ++q->n < MOST_LOOKED_AT;
}

/* Of functions that differ: by the tiles that they look at or, where these are many, by bounds of each. */
static double quotient_min(const loom_nest *nest, int number, const loom_factor *p,
                           const loom_factor *n) {
  const loom_search_part *part = &nest->parts[number];
  const loom_part_function *up = &part->functions.at[p->function];
  const loom_part_function *down = &part->functions.at[n->function];
  int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  if ((p->function && !up->bounded) || (n->function && !down->bounded)) return 0;
  quotient q = {.nest = nest, .part = number, .up = p->function, .down = n->function};
  double product = 1;
  q.least = INFINITY;
  for (int i = 0; i < part->n_variables; i++) {
    const loom_search_variable *v = &nest->variables[part->variables[i]];
    int power[LOOM_SEARCH_MAX_LOOPS];
    powers(v, p, n, power);
    cut_variable(&q, part, v, power);
    product *= powers_min(v, p, n);
  }
  if (loom_part_each(nest, number, q.n_places, q.places, tiles, look_at, &q)) return q.least;
  if (p->function) product *= up->f->least;
  return n->function ? product / down->f->most : product;
}

/* Powers and trips of one variable: trips that are rounded up are at least 1, and at least what they
** are before. */
static double variable_min(const loom_search_variable *v, const loom_factor *p,
                           const loom_factor *n) {
  int power[LOOM_SEARCH_MAX_LOOPS], least, most;
  uint64_t all = ((uint64_t)1 << v->n_loops) - 1, up = (p->rounded & ~n->rounded) >> v->first & all;
  double bound = powers_min(v, p, n);
  if (up == 0) return bound;
  powers(v, p, n, power);
  for (int j = 0; j < v->n_loops; j++) {
    if (!(up >> j & 1)) continue;
    if (j > 0) power[j - 1]++;
    power[j]--;
  }
  exponents(v, power, &least, &most);
  double other = pow((double)v->size, least + (int)(up & 1));
  return other > bound ? other : bound;
}

double loom_ratio_min(const loom_nest *nest, int number, int first, int second) {
  const loom_search_part *part = &nest->parts[number];
  const loom_factor *p = &part->factors.at[first], *n = &part->factors.at[second];
  if (n->rounded & ~p->rounded) return 0;
  if (p->function != n->function) return quotient_min(nest, number, p, n);
  if (p->function && !part->functions.at[p->function].bounded) return 0;
  double product = 1;
  for (int i = 0; i < part->n_variables; i++)
    product *= variable_min(&nest->variables[part->variables[i]], p, n);
  return product;
}

/* Parts in which two items differ; -1 if p may be smaller than n somewhere. */
static int difference(const loom_nest *nest, const loom_item *p, const loom_item *n) {
  int count = 0;
  for (int v = 0; v < nest->n_parts; v++) {
    if (p->p[v] == n->p[v]) continue;
    count++;
    if (loom_ratio_min(nest, v, p->p[v], n->p[v]) < 1) return -1;
  }
  return count;
}

static loom_item *partner(const loom_nest *nest, loom_column *column, const loom_item *n) {
  loom_item *best = NULL;
  int least = 0;
  for (size_t i = 0; i < column->items.n; i++) {
    loom_item *p = &column->items.at[i];
    if (p->coefficient <= 0 || p->n[0] >= 0) continue;
    int count = difference(nest, p, n);
    if (count > 0 && (!best || count < least)) {
      best = p;
      least = count;
    }
  }
  return best;
}

bool loom_nest_pair(loom_nest *nest, loom_column *column) {
  for (size_t i = 0; i < column->items.n; i++) {
    while (column->items.at[i].coefficient < 0) {
      loom_item *n = &column->items.at[i], *p = partner(nest, column, n);
      if (!p) break;
      double amount = p->coefficient < -n->coefficient ? p->coefficient : -n->coefficient;
      loom_item both = *p;
      both.coefficient = amount;
      for (int v = 0; v < nest->n_parts; v++) both.n[v] = n->p[v];
      p->coefficient -= amount;
      n->coefficient += amount;
      if (!loom_vec_push(nest->ctx, &column->items, both)) return false;
    }
  }
  size_t kept = 0;
  for (size_t i = 0; i < column->items.n; i++)
    if (column->items.at[i].coefficient != 0) column->items.at[kept++] = column->items.at[i];
  column->items.n = kept;
  return true;
}

void loom_nest_note_least(loom_nest *nest) {
  for (int i = 0; i < nest->n_parts; i++)
    for (size_t k = 0; k < nest->parts[i].factors.n; k++) {
      loom_factor *f = &nest->parts[i].factors.at[k];
      if (f->function > 0) f->least = loom_ratio_min(nest, i, (int)k, 0);
    }
}
