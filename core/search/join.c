/* SPDX-License-Identifier: MIT */
/* Einsums joined in their order, in steps that pause.
** Invariant: between two steps a join can be gone on with or be ended; derivation:
** doc/formulas.md#search-joining. */
#include <math.h>
#include <string.h>

#include "search/join.h"

/* Least of each objective that a use adds to a state, over the groups that fit it; false if none do.
 */
static bool least_step(const join *g, const state *left, double *least) {
  bool found = false;
  size_t n = (size_t)g->s->n_objectives;
  for (size_t i = 0; i < g->one->fronts.groups.n; i++) {
    const loom_group *right = &g->one->fronts.groups.at[i];
    if (right->n == 0 || !loom_state_fits(g, left, right)) continue;
    for (size_t k = 0; k < n; k++)
      if (!found || right->least[k] < least[k]) least[k] = right->least[k];
    found = true;
  }
  return found;
}

/* The place of a row with a point attached in the order of all their parts. */
static double rank_of(const join *g, const state *left, const loom_group *right, size_t point) {
  if (!g->ranks) return 0;
  const join_ranks *own = &g->ranks[g->use->einsum];
  return left->links[g->row].rank * (double)own->n + own->of[right->first + point];
}

/* Rows of the left state from the next one on with one group: false with an error, or for a pause. */
static bool join_pair(join *g, const state *left, int group) {
  const loom_group *right = &g->one->fronts.groups.at[group];
  state *after = loom_state_after(g, left, right);
  constants k;
  if (!after) return false;
  loom_state_constants(g, left, right, after, &k);
  for (; g->row < left->n; g->row++) {
    if (!g->hopeful[g->row]) continue;
    if (g->work == 0 || loom_is_stopped(g->ctx)) return false;
    if (after->n > 4 * after->checked + 4096 && !loom_state_prune(g, after)) return false;
    g->work -= g->work < right->n ? g->work : right->n;
    for (size_t p = 0; p < right->n; p++) {
      loom_join_link link = {g->first + g->row, group, p, rank_of(g, left, right, p)};
      if (!loom_state_add_row(g, &k, left->values + g->row * (size_t)left->width, right, p, &link,
                              after))
        return false;
    }
  }
  return true;
}

static void drop_states(join *g) {
  for (size_t i = 0; i < g->before.n; i++) loom_state_free(g->ctx, &g->before.at[i]);
  for (size_t i = 0; i < g->after.n; i++) loom_state_free(g->ctx, &g->after.at[i]);
  g->before.n = g->after.n = 0;
}

int loom_compare_ranks(const void *context, size_t a, size_t b) {
  const loom_join_link *links = context;
  if (links[a].rank != links[b].rank) return links[a].rank < links[b].rank ? -1 : 1;
  return 0;
}

/* Ranks of the rows after the step become their numbers in that order, so that they stay small. */
static bool number_rows(join *g, loom_join_links *links) {
  size_t n = links->n, row = 0;
  if (!g->ranks) return true;
  size_t *list = loom_realloc_array(g->ctx, NULL, 0, 2 * n + 1, sizeof *list);
  bool done = list != NULL;
  for (size_t i = 0; i < n && done; i++) list[i] = i;
  done = done && loom_sort(g->ctx, list, list + n, n, loom_compare_ranks, links->at);
  double before = -1, number = -1;
  for (size_t i = 0; i < n && done; i++) {
    double own = links->at[list[i]].rank;
    if (own != before) number++;
    before = own;
    links->at[list[i]].rank = number;
  }
  for (size_t i = 0; i < g->after.n && done; i++)
    for (size_t k = 0; k < g->after.at[i].n; k++)
      g->after.at[i].links[k].rank = links->at[row++].rank;
  loom_give_back(g->ctx, list, 2 * n + 1, sizeof *list);
  return done;
}

/* The rows after the step become those before the next one; their links are kept. */
static bool advance(join *g) {
  loom_join_links *links = &g->links[g->step];
  size_t n = 0;
  for (size_t i = 0; i < g->after.n; i++) {
    if (!loom_state_prune(g, &g->after.at[i])) return false;
    if (g->beam > 0) loom_state_narrow(g, &g->after.at[i]);
    n += g->after.at[i].n;
  }
  if (!loom_vec_reserve(g->ctx, links, n)) return false;
  for (size_t i = 0; i < g->after.n; i++) {
    const state *st = &g->after.at[i];
    if (st->n > 0) memcpy(links->at + links->n, st->links, st->n * sizeof *st->links);
    links->n += st->n;
  }
  if (!number_rows(g, links)) {
    links->n = 0;
    return false;
  }
  for (size_t i = 0; i < g->before.n; i++) loom_state_free(g->ctx, &g->before.at[i]);
  g->before.n = 0;
  if (!loom_vec_reserve(g->ctx, &g->before, g->after.n)) return false;
  for (size_t i = 0; i < g->after.n; i++) g->before.at[g->before.n++] = g->after.at[i];
  g->after.n = 0;
  return true;
}

/* Marks the rows that can still become a best result; false if none can. */
static bool list_hopeful(const join *g, const state *left, bool *hopeful) {
  double more[2] = {0};
  bool any = false;
  if (!least_step(g, left, more)) return false;
  for (int k = 0; k < g->s->n_objectives; k++)
    more[k] += g->rest[(g->step + 1) * (size_t)g->s->n_objectives + (size_t)k];
  for (size_t i = 0; i < left->n; i++) {
    hopeful[i] = !loom_join_is_hopeless(g, left->values + i * (size_t)left->width, more);
    any = any || hopeful[i];
  }
  return any;
}

static void drop_hopeful(join *g) {
  loom_give_back(g->ctx, g->hopeful, g->n_hopeful, sizeof *g->hopeful);
  g->hopeful = NULL;
}

static bool join_state(join *g, const state *left) {
  if (!g->hopeful) {
    g->n_hopeful = left->n + 1;
    g->hopeful = loom_realloc_array(g->ctx, NULL, 0, g->n_hopeful, sizeof *g->hopeful);
    if (!g->hopeful) return false;
    g->row = 0;
    g->group = list_hopeful(g, left, g->hopeful) ? 0 : g->one->fronts.groups.n;
  }
  for (; g->group < g->one->fronts.groups.n; g->group++, g->row = 0)
    if (loom_state_fits(g, left, &g->one->fronts.groups.at[g->group]) &&
        !join_pair(g, left, (int)g->group))
      return false;
  drop_hopeful(g);
  return true;
}

/* Goes on with the step: true when it is done. */
static bool join_step(join *g) {
  g->use = &g->s->uses[g->step];
  g->one = &g->s->einsums.at[g->use->einsum];
  for (; g->at < g->before.n; g->at++) {
    const state *left = &g->before.at[g->at];
    if (left->n > 0 && !join_state(g, left)) return false;
    g->first += left->n;
  }
  if (!advance(g)) return false;
  g->at = g->first = 0;
  g->step++;
  return true;
}

/* One state with one row: nothing is joined yet. */
static bool begin(join *g) {
  state st = {.width = loom_state_width(g->s, 0)};
  drop_states(g);
  drop_hopeful(g);
  for (size_t i = 0; i < g->s->n_uses; i++) g->links[i].n = 0;
  for (size_t i = 0; i < g->s->memories.n; i++) g->s->joint[i] = 0;
  g->step = g->at = g->first = 0;
  if (!loom_state_grow(g->ctx, &st)) return false;
  for (int i = 0; i < st.width; i++) st.values[i] = 0;
  st.links[0] = (loom_join_link){0};
  st.n = 1;
  if (loom_vec_push(g->ctx, &g->before, st)) return true;
  loom_state_free(g->ctx, &st);
  return false;
}

static bool list_last_users(join *g) {
  for (size_t i = 0; i < g->s->n_uses; i++) {
    const loom_space_use *use = &g->s->uses[i];
    for (size_t k = 0; k < g->s->einsums.at[use->einsum].tensors.n; k++)
      if (use->tensors[k] >= g->n_tensors) g->n_tensors = use->tensors[k] + 1;
  }
  g->last = loom_realloc_array(g->ctx, NULL, 0, (size_t)g->n_tensors, sizeof *g->last);
  if (!g->last && g->n_tensors > 0) return false;
  for (size_t i = 0; i < g->s->n_uses; i++) {
    const loom_space_use *use = &g->s->uses[i];
    for (size_t k = 0; k < g->s->einsums.at[use->einsum].tensors.n; k++)
      g->last[use->tensors[k]] = (int)i;
  }
  return true;
}

static bool new_links(join *g) {
  size_t n = g->s->n_uses;
  g->links = loom_realloc_array(g->ctx, NULL, 0, n, sizeof *g->links);
  if (!g->links && n > 0) return false;
  if (n > 0) memset(g->links, 0, n * sizeof *g->links);
  return true;
}

void loom_space_end_join(loom_space *s) {
  join *g = s->join;
  if (!g) return;
  drop_states(g);
  drop_hopeful(g);
  for (size_t i = 0; i < s->n_uses && g->links; i++) loom_vec_free(g->ctx, &g->links[i]);
  loom_give_back(g->ctx, g->links, s->n_uses, sizeof *g->links);
  loom_vec_free(g->ctx, &g->before);
  loom_vec_free(g->ctx, &g->after);
  for (size_t e = 0; e < s->einsums.n && g->ranks; e++)
    loom_give_back(g->ctx, g->ranks[e].of, g->ranks[e].n + 1, sizeof(double));
  loom_give_back(g->ctx, g->ranks, s->einsums.n, sizeof *g->ranks);
  loom_give_back(g->ctx, g->last, (size_t)g->n_tensors, sizeof *g->last);
  loom_give_back(g->ctx, g->rest, g->rest_room, sizeof *g->rest);
  loom_give_back(g->ctx, g->goals, g->goals_room, sizeof *g->goals);
  loom_realloc(g->ctx, g, sizeof *g, 0);
  s->join = NULL;
}

void loom_space_drop_join(loom_space *s) {
  loom_space_end_join(s);
  loom_space_drop_results(s);
  s->n_uses = s->n_results = 0;
}

static bool copy_uses(loom_space *s, size_t n, const loom_space_use *uses) {
  s->uses = loom_arena_array(&s->arena, n, sizeof *s->uses);
  if (!s->uses) return false;
  for (size_t i = 0; i < n; i++) {
    size_t k = s->einsums.at[uses[i].einsum].tensors.n;
    int *tensors = loom_arena_array(&s->arena, k, sizeof *tensors);
    if (!tensors) return false;
    if (k > 0) memcpy(tensors, uses[i].tensors, k * sizeof *tensors);
    s->uses[i] = (loom_space_use){uses[i].einsum, tensors};
  }
  s->n_uses = n;
  return true;
}

/* Least objectives of every group and of the uses from each step on. */
static bool list_rest(join *g) {
  loom_space *s = g->s;
  size_t n = (size_t)s->n_objectives;
  g->rest_room = (s->n_uses + 1) * n + 1;
  g->rest = loom_realloc_array(g->ctx, NULL, 0, g->rest_room, sizeof *g->rest);
  if (!g->rest) return false;
  for (size_t k = 0; k < n; k++) g->rest[s->n_uses * n + k] = 0;
  for (size_t step = s->n_uses; step-- > 0;) {
    const loom_space_one *one = &s->einsums.at[s->uses[step].einsum];
    for (size_t k = 0; k < n; k++) {
      double least = INFINITY;
      for (size_t i = 0; i < one->fronts.groups.n; i++)
        if (one->fronts.groups.at[i].n > 0 && one->fronts.groups.at[i].least[k] < least)
          least = one->fronts.groups.at[i].least[k];
      g->rest[step * n + k] = g->rest[(step + 1) * n + k] + least;
    }
  }
  return true;
}

static bool list_ranks(join *g) {
  loom_space *s = g->s;
  if (!s->options.ranked) return true;
  g->ranks = loom_realloc_array(g->ctx, NULL, 0, s->einsums.n, sizeof *g->ranks);
  if (!g->ranks) return s->einsums.n == 0;
  memset(g->ranks, 0, s->einsums.n * sizeof *g->ranks);
  for (size_t e = 0; e < s->einsums.n; e++) {
    loom_space_one *one = &s->einsums.at[e];
    loom_ranking ranking = loom_ranking_of(one);
    size_t n;
    double *of = loom_fronts_rank(g->ctx, &one->fronts, &ranking, &n);
    if (!of) return false;
    g->ranks[e] = (join_ranks){of, n};
  }
  return true;
}

static void note_least(loom_space *s) {
  for (size_t e = 0; e < s->einsums.n; e++) {
    for (size_t i = 0; i < s->einsums.at[e].fronts.groups.n; i++) {
      loom_group *group = &s->einsums.at[e].fronts.groups.at[i];
      for (int k = 0; k < s->n_objectives; k++) {
        group->least[k] = INFINITY;
        for (size_t p = 0; p < group->n; p++) {
          double x = group->values[p * (size_t)group->width + (size_t)k];
          if (x < group->least[k]) group->least[k] = x;
        }
      }
    }
  }
}

/* The results of the quick pass bound the search for all. */
static bool keep_goals(join *g) {
  loom_space *s = g->s;
  g->goals_room = s->results.n + 1;
  g->goals = loom_realloc_array(g->ctx, NULL, 0, g->goals_room, sizeof *g->goals);
  if (!g->goals) return false;
  if (s->results.n > 0) memcpy(g->goals, s->results.at, s->results.n * sizeof *g->goals);
  g->n_goals = s->n_results;
  return true;
}

/* Goes on: true when all is done. */
static bool run(join *g) {
  while (!g->finished) {
    if (!g->started && !begin(g)) return false;
    g->started = true;
    while (g->step < g->s->n_uses)
      if (!join_step(g)) return false;
    if (!loom_join_list_results(g)) return false;
    g->finished = !g->quick || g->only_quick;
    if (!g->finished && !keep_goals(g)) return false;
    g->quick = g->started = false;
    g->beam = 0;
  }
  return true;
}

static loom_status new_join(loom_space *s, size_t n, const loom_space_use *uses,
                            loom_join_kind kind) {
  join *g = loom_realloc(s->ctx, NULL, 0, sizeof *g);
  if (!g) return LOOM_ERR_MEMORY;
  *g = (join){.s = s, .ctx = s->ctx, .only_quick = kind == LOOM_JOIN_QUICK};
  g->quick = g->only_quick || (s->n_objectives > 0 && !s->options.usage);
  g->beam = g->quick ? LOOM_JOIN_FIRST_ROWS : 0;
  s->join = g;
  if (!s->joint) s->joint = loom_arena_array(&s->arena, s->memories.n, sizeof *s->joint);
  bool done = s->joint && copy_uses(s, n, uses) && new_links(g) && list_last_users(g) &&
              list_rest(g) && list_ranks(g);
  return done ? LOOM_OK : loom_error_status(s->ctx);
}

loom_status loom_space_join_begin(loom_space *s, size_t n, const loom_space_use *uses,
                                  loom_join_kind kind) {
  loom_space_drop_join(s);
  if (s->n_open > 32)
    return loom_error_set(s->ctx, LOOM_ERR_LIMIT, "more than 32 memories are shared by einsums");
  for (size_t e = 0; e < s->einsums.n; e++) {
    loom_ranking ranking = loom_ranking_of(&s->einsums.at[e]);
    if (!loom_fronts_sort(s->ctx, &s->einsums.at[e].fronts, &ranking))
      return loom_error_status(s->ctx);
  }
  note_least(s);
  loom_status status = new_join(s, n, uses, kind);
  if (status != LOOM_OK) loom_space_drop_join(s);
  return status;
}

loom_status loom_space_join_some(loom_space *s, size_t work, bool *more) {
  join *g = s->join;
  *more = false;
  if (!g) return loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "no join has begun");
  g->work = work > 0 ? work : 1;
  *more = !run(g);
  return *more ? loom_error_status(s->ctx) : LOOM_OK;
}

loom_status loom_space_join(loom_space *s, size_t n, const loom_space_use *uses) {
  loom_status status = loom_space_join_begin(s, n, uses, LOOM_JOIN_ALL);
  for (bool more = true; more && status == LOOM_OK;)
    status = loom_space_join_some(s, SIZE_MAX, &more);
  return status;
}
