/* SPDX-License-Identifier: MIT */
/* Results of a join, and what no mapping is below.
** Invariant: results are copies: they stay while groups and points change. */
#include <math.h>
#include <string.h>

#include "search/join.h"

void loom_space_drop_results(loom_space *s) {
  loom_vec_free(s->ctx, &s->results);
  loom_vec_free(s->ctx, &s->choices);
  loom_vec_free(s->ctx, &s->tiles);
}

/* What a result has of a use, copied: groups and points may change. */
static bool add_choice(join *g, const loom_space_one *one, const loom_join_link *link,
                       loom_chosen *out) {
  loom_space *s = g->s;
  const loom_group *group = &one->fronts.groups.at[link->group];
  *out = (loom_chosen){
      .number = group->templates[link->point], .n_fused = group->n_loops, .tiles = s->tiles.n};
  for (int j = 0; j < group->n_loops; j++) out->variables[j] = group->loops[j].variable;
  size_t n = one->n_loops.at[out->number];
  if (!loom_vec_reserve(g->ctx, &s->tiles, n)) return false;
  if (n > 0)
    memcpy(s->tiles.at + s->tiles.n, one->fronts.tiles.at + group->tiles[link->point],
           n * sizeof(int32_t));
  s->tiles.n += n;
  return true;
}

/* The row of the last use becomes a result. */
static bool add_result(join *g, const double *values, size_t row) {
  loom_space *s = g->s;
  size_t n = (size_t)(s->n_objectives + s->n_open), uses = s->n_uses;
  if (!loom_vec_reserve(g->ctx, &s->results, n + 1) || !loom_vec_reserve(g->ctx, &s->choices, uses))
    return false;
  for (size_t k = 0; k < n; k++) {
    bool open = k >= (size_t)s->n_objectives;
    size_t before = open ? (k - (size_t)s->n_objectives) * (size_t)s->n_always : 0;
    s->results.at[s->results.n + k] = values[k + before];
  }
  loom_chosen *choices = s->choices.at + s->choices.n;
  for (size_t use = uses; use-- > 0;) {
    const loom_join_link *link = &g->links[use].at[row];
    if (!add_choice(g, &s->einsums.at[s->uses[use].einsum], link, &choices[use])) return false;
    row = link->before;
  }
  s->choices.n += uses;
  s->results.n += n;
  s->n_results++;
  return true;
}

/* Rows of one state in the order of their ranks. */
static bool add_results(join *g, const state *st, size_t first) {
  size_t *list = loom_realloc_array(g->ctx, NULL, 0, 2 * st->n + 1, sizeof *list);
  bool done = list != NULL;
  for (size_t k = 0; k < st->n && done; k++) list[k] = k;
  done = done && loom_sort(g->ctx, list, list + st->n, st->n, loom_compare_ranks, st->links);
  for (size_t k = 0; k < st->n && done; k++)
    done = add_result(g, st->values + list[k] * (size_t)st->width, first + list[k]);
  loom_give_back(g->ctx, list, 2 * st->n + 1, sizeof *list);
  return done;
}

bool loom_join_list_results(join *g) {
  size_t first = 0;
  g->s->results.n = g->s->choices.n = g->s->tiles.n = g->s->n_results = 0;
  for (size_t i = 0; i < g->before.n; i++) {
    if (!add_results(g, &g->before.at[i], first)) return false;
    first += g->before.at[i].n;
  }
  return true;
}

size_t loom_space_results(const loom_space *s) {
  return s->n_results;
}

const double *loom_space_result(const loom_space *s, size_t result, size_t *n) {
  *n = (size_t)(s->n_objectives + s->n_open);
  return s->results.at + result * *n;
}

loom_status loom_space_choose(const loom_space *s, size_t result, size_t use,
                              loom_space_choice *out) {
  if (result >= s->n_results || use >= s->n_uses)
    return loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "no such result");
  const loom_space_one *one = &s->einsums.at[s->uses[use].einsum];
  const loom_chosen *c = &s->choices.at[result * s->n_uses + use];
  *out = (loom_space_choice){.number = c->number,
                             .n_loops = one->n_loops.at[c->number],
                             .n_fused = (size_t)c->n_fused,
                             .tiles = s->tiles.at + c->tiles};
  for (int j = 0; j < c->n_fused; j++) out->variables[j] = c->variables[j];
  return LOOM_OK;
}

/* ---- bounds ------------------------------------------------------------------------------- */

/* No mapping of an einsum alone is below. */
static double least_of(const loom_space_one *one, int objective, int n_objectives) {
  double least = INFINITY;
  for (size_t i = 0; i < one->fronts.groups.n; i++) {
    const loom_group *g = &one->fronts.groups.at[i];
    for (size_t p = 0; p < g->n; p++)
      if (g->values[p * (size_t)g->width + (size_t)objective] < least)
        least = g->values[p * (size_t)g->width + (size_t)objective];
  }
  for (size_t i = 0; i < one->units.n && n_objectives > 0; i++) {
    const loom_unit *u = one->units.at[i];
    if (u->state != LOOM_UNIT_EXPLORED && u->least[objective] < least) least = u->least[objective];
  }
  return least;
}

loom_status loom_space_least(loom_space *s, int einsum, int number, double least[2]) {
  const loom_space_one *one = &s->einsums.at[einsum];
  const loom_unit *u = number < 0 ? NULL : loom_space_unit(s, einsum, number);
  if (number >= 0 && !u) return loom_error_status(s->ctx);
  for (int k = 0; k < s->n_objectives; k++)
    least[k] = u ? u->least[k] : least_of(one, k, s->n_objectives);
  return LOOM_OK;
}

/* No complete row that comes of those at hand is below, and none of the goals. */
static double least_to_come(const join *g, int objective) {
  size_t n = (size_t)g->s->n_objectives, k = (size_t)objective;
  double least = INFINITY;
  for (size_t i = 0; i < g->before.n; i++) {
    const state *st = &g->before.at[i];
    for (size_t r = 0; r < st->n; r++) {
      double x = st->values[r * (size_t)st->width + k] + g->rest[g->step * n + k];
      if (x < least) least = x;
    }
  }
  for (size_t i = 0; i < g->n_goals; i++)
    if (g->goals[i * (n + (size_t)g->s->n_open) + k] < least)
      least = g->goals[i * (n + (size_t)g->s->n_open) + k];
  return least;
}

/* The least of all results. */
static double least_result(const loom_space *s, int objective) {
  double least = INFINITY;
  for (size_t i = 0; i < s->n_results; i++) {
    double x = s->results.at[i * (size_t)(s->n_objectives + s->n_open) + (size_t)objective];
    if (x < least) least = x;
  }
  return least;
}

static bool all_explored(const loom_space *s) {
  for (size_t i = 0; i < s->einsums.n; i++)
    if (s->einsums.at[i].n_explored < s->einsums.at[i].units.n) return false;
  return true;
}

bool loom_space_bound(const loom_space *s, double bound[2]) {
  const join *g = s->join;
  for (int k = 0; k < s->n_objectives; k++) {
    bound[k] = 0;
    for (size_t use = 0; use < s->n_uses; use++)
      bound[k] += least_of(&s->einsums.at[s->uses[use].einsum], k, s->n_objectives);
    bool finished =
        g && g->finished && !g->only_quick && s->n_results > 0 && s->options.objective_slack == 0;
    if (!g || (!finished && (g->quick || !g->started)) || !all_explored(s)) continue;
    double closer = finished ? least_result(s, k) : least_to_come(g, k);
    if (closer > bound[k]) bound[k] = closer;
  }
  return s->n_uses > 0;
}
