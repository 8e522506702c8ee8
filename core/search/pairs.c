/* SPDX-License-Identifier: MIT */
/* Bounds of factors over all chains of tiles, and negative items paired with positive ones that are
** never smaller.
**
** A tile is the product of the trips of the loops inside it, so a product of powers of tiles is one of
** powers of trips r_j >= 1 whose product is the size N of the variable: its least value is N to the
** least exponent, its largest N to the largest. */
#include <math.h>

#include "search/search.h"

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

static void powers(const loom_nest *nest, int variable, int factor, int sign, int *power) {
  const loom_factor *f = &nest->variables[variable].factors.at[factor];
  for (int j = 0; j < LOOM_SEARCH_MAX_LOOPS; j++) power[j] += sign * f->power[j];
}

double loom_factor_min(const loom_nest *nest, int variable, int factor) {
  return loom_ratio_min(nest, variable, factor, 0);
}

double loom_factor_max(const loom_nest *nest, int variable, int factor) {
  const loom_search_variable *v = &nest->variables[variable];
  int power[LOOM_SEARCH_MAX_LOOPS] = {0}, least, most;
  powers(nest, variable, factor, 1, power);
  if (v->factors.at[factor].rounded != 0) return INFINITY;
  exponents(v, power, &least, &most);
  return pow((double)v->size, most);
}

/* Trips that are rounded up are at least 1, and at least what they are before. */
double loom_ratio_min(const loom_nest *nest, int variable, int p, int n) {
  const loom_search_variable *v = &nest->variables[variable];
  int power[LOOM_SEARCH_MAX_LOOPS] = {0}, least, most;
  powers(nest, variable, p, 1, power);
  powers(nest, variable, n, -1, power);
  uint32_t up = v->factors.at[p].rounded, down = v->factors.at[n].rounded;
  if (down & ~up) return 0;
  exponents(v, power, &least, &most);
  double bound = pow((double)v->size, least);
  up &= ~down;
  if (up == 0) return bound;
  for (int j = 0; j < v->n_loops; j++) {
    if (!(up >> j & 1)) continue;
    if (j > 0) power[j - 1]++;
    power[j]--;
  }
  exponents(v, power, &least, &most);
  double other = pow((double)v->size, least + (int)(up & 1));
  return other > bound ? other : bound;
}

/* Variables in which two items differ; -1 if p may be smaller than n somewhere. */
static int difference(const loom_nest *nest, const loom_item *p, const loom_item *n) {
  int count = 0;
  for (int v = 0; v < nest->n_variables; v++) {
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
      for (int v = 0; v < nest->n_variables; v++) both.n[v] = n->p[v];
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
