/* SPDX-License-Identifier: MIT */
/* Most elements of a tile that are between their first and their last use at one step of a visit.
** Invariant: an element is the elements of all groups together, and its first (last) use the first
** (last) of each, so that counting those used before a step goes loop by loop: the loop where they
** first differ decides, and what is inside it depends on the steps of each group there alone. */
#include <string.h>

#include "count/chain.h"

/* Trees of steps: a leaf is one step, a list its items in order; equal trees are one number. */
enum { TREE_LEAF, TREE_NONE, TREE_LIST /* the items before, the last item */ };

typedef struct lane {
  int depth;
  size_t *width;
  loom_run **state;
} lane;

typedef struct live {
  loom_tally *t;
  const loom_numbers *p;
  loom_words trees;               /* which, a, b */
  LOOM_LIST(int64_t) first, last; /* by tree: elements used there first, last */
  int n_advance;
  int *group; /* by temporal loop of the holder's visit, outermost first */
  /* One group: */
  const loom_index_group *g;
  lane *lanes;
  int n_loops;
  int *loops, *place;
  loom_runs *sets, touched, fresh, seen;
  LOOM_LIST(int64_t) fresh_at, gone_at; /* by step */
  size_t step;
  bool backwards;
  /* All groups: */
  LOOM_LIST(int64_t) best; /* by state */
  loom_words states;       /* loop, tree of each group */
} live;

/* ---- trees ---------------------------------------------------------------------------------- */

static int64_t tree(live *w, int64_t which, int64_t a, int64_t b) {
  int64_t word[3] = {which, a, b};
  int64_t i = loom_words_find(w->t, &w->trees, word);
  if (i < 0 || (size_t)i < w->first.n) return i;
  int64_t first = which == TREE_LEAF ? a : 0, last = which == TREE_LEAF ? b : 0;
  if (which == TREE_LIST) {
    first = loom_tally_add(w->t, w->first.at[a], w->first.at[b]);
    last = loom_tally_add(w->t, w->last.at[a], w->last.at[b]);
  }
  bool good = loom_list_push(w->t, &w->first, first) && loom_list_push(w->t, &w->last, last);
  return good ? i : -1;
}

/* ---- the steps of one group ----------------------------------------------------------------- */

static bool walk(live *w, int at);

static bool count_step(live *w) {
  for (int v = 0; v < w->g->n_variables; v++) {
    lane *l = &w->lanes[v];
    w->sets[v].n = 0;
    for (size_t u = 0; u < l->width[l->depth]; u++)
      if (!loom_run_empty(l->state[l->depth][u]) &&
          !loom_list_push(w->t, &w->sets[v], l->state[l->depth][u]))
        return false;
    loom_runs_settle(w->t, &w->sets[v]);
  }
  w->touched.n = w->fresh.n = 0;
  if (!loom_tally_spend(w->t, 1) || !loom_image(w->t, w->p, w->g, w->sets, &w->touched) ||
      !loom_runs_less(w->t, &w->touched, &w->seen, &w->fresh))
    return false;
  int64_t size = loom_runs_size(&w->fresh);
  bool good = w->backwards ? loom_list_push(w->t, &w->gone_at, size)
                           : loom_list_push(w->t, &w->fresh_at, size);
  if (w->fresh.n == 0) return good;
  good = good && loom_runs_append(w->t, &w->seen, &w->fresh);
  loom_runs_settle(w->t, &w->seen);
  return good && loom_tally_good(w->t);
}

static int64_t steps_of(const loom_cut *cut, const lane *l) {
  int64_t most = 0;
  for (size_t u = 0; u < l->width[l->depth]; u++) {
    int64_t n = loom_cut_pieces(cut, l->state[l->depth][u]);
    if (n > most) most = n;
  }
  return most;
}

static bool walk_temporal(live *w, int at, const loom_cut *cut, lane *l) {
  int64_t n = steps_of(cut, l);
  for (int64_t i = 0; i < n; i++) {
    if (!loom_tally_spend(w->t, l->width[l->depth])) return false;
    for (size_t u = 0; u < l->width[l->depth]; u++)
      l->state[l->depth + 1][u] =
          loom_cut_piece(cut, l->state[l->depth][u], w->backwards ? n - 1 - i : i);
    l->depth++;
    bool good = walk(w, at + 1);
    l->depth--;
    if (!good) return false;
  }
  return true;
}

static bool walk(live *w, int at) {
  if (at == w->n_loops) return count_step(w);
  const loom_cut *cut = &w->p->loops[w->loops[at]];
  lane *l = &w->lanes[w->place[at]];
  if (!cut->spatial) return walk_temporal(w, at, cut, l);
  size_t n = l->width[l->depth + 1], units = n / l->width[l->depth];
  if (!loom_tally_spend(w->t, n)) return false;
  for (size_t u = 0; u < n; u++)
    l->state[l->depth + 1][u] =
        loom_cut_piece(cut, l->state[l->depth][u / units], (int64_t)(u % units));
  l->depth++;
  bool good = walk(w, at + 1);
  l->depth--;
  return good;
}

/* The tree of the steps from a loop on: w->step is the next one. */
static int64_t tree_of(live *w, int at) {
  if (at == w->n_loops) {
    size_t i = w->step++;
    return tree(w, TREE_LEAF, w->fresh_at.at[i], w->gone_at.at[w->gone_at.n - 1 - i]);
  }
  const loom_cut *cut = &w->p->loops[w->loops[at]];
  lane *l = &w->lanes[w->place[at]];
  size_t n = l->width[l->depth + 1], units = n / l->width[l->depth];
  int64_t steps = cut->spatial ? 1 : steps_of(cut, l);
  int64_t list = cut->spatial ? 0 : tree(w, TREE_NONE, 0, 0);
  for (int64_t i = 0; i < steps && list >= 0; i++) {
    for (size_t u = 0; u < n; u++)
      l->state[l->depth + 1][u] = loom_cut_piece(cut, l->state[l->depth][u / units],
                                                 cut->spatial ? (int64_t)(u % units) : i);
    l->depth++;
    int64_t item = tree_of(w, at + 1);
    l->depth--;
    if (item < 0) return -1;
    list = cut->spatial ? item : tree(w, TREE_LIST, list, item);
  }
  return list;
}

/* The tree of a visit whose intervals stand in the lanes. */
static int64_t tree_of_visit(live *w) {
  w->fresh_at.n = w->gone_at.n = w->step = 0;
  w->seen.n = 0;
  w->backwards = false;
  if (!walk(w, 0)) return -1;
  w->seen.n = 0;
  w->backwards = true;
  if (!walk(w, 0)) return -1;
  return tree_of(w, 0);
}

/* ---- visits --------------------------------------------------------------------------------- */

/* The most pieces inside the holder are those of the largest tile. */
static bool prepare_lane(live *w, int v, int64_t extent) {
  int variable = w->g->variables[v];
  size_t depths = 1;
  for (int i = 0; i < w->n_loops; i++) depths += w->place[i] == v;
  lane *l = &w->lanes[v];
  *l = (lane){0};
  l->width = loom_tally_new(w->t, depths, sizeof *l->width);
  l->state = loom_tally_new(w->t, depths, sizeof *l->state);
  if (!l->width || !l->state) return false;
  l->width[0] = 1;
  size_t d = 0;
  for (int i = w->p->above_holder; d < depths; i++) {
    l->state[d] = loom_tally_new(w->t, l->width[d], sizeof **l->state);
    if (!l->state[d]) return false;
    while (i < w->p->n_loops && w->p->loops[i].variable != variable) i++;
    if (++d == depths) break;
    const loom_cut *cut = &w->p->loops[i];
    int64_t units = cut->spatial ? loom_cut_pieces(cut, (loom_run){0, extent}) : 1;
    int64_t largest = cut->tile > cut->first ? cut->tile : cut->first;
    l->width[d] = l->width[d - 1] * (size_t)units;
    if (largest < extent) extent = largest;
    if (!loom_tally_spend(w->t, l->width[d])) return false;
  }
  return true;
}

static bool prepare_group(live *w, const loom_index_group *g, const loom_chain *chains) {
  size_t n = (size_t)g->n_variables;
  w->g = g;
  w->n_loops = 0;
  w->lanes = loom_tally_new(w->t, n, sizeof *w->lanes);
  w->sets = loom_tally_new(w->t, n, sizeof *w->sets);
  if (!w->lanes || !w->sets) return false;
  for (int l = w->p->above_holder; l < w->p->n_loops; l++)
    for (int v = 0; v < g->n_variables; v++) {
      if (w->p->loops[l].variable != g->variables[v]) continue;
      w->loops[w->n_loops] = l;
      w->place[w->n_loops++] = v;
    }
  for (int v = 0; v < g->n_variables; v++) {
    int64_t extent = 0;
    for (size_t k = 0; k < chains[v].tiles.n; k++) {
      const int64_t *word = loom_word(&chains[v].tiles, (int64_t)k);
      if (word[1] - word[0] > extent) extent = word[1] - word[0];
    }
    if (!prepare_lane(w, v, extent)) return false;
  }
  return true;
}

/* The distinct trees of a group's visits. */
static bool list_trees(live *w, const loom_index_group *g, loom_words *found) {
  int n = g->n_variables;
  loom_chain *chains = loom_tally_new(w->t, (size_t)n, sizeof *chains);
  size_t *at = loom_tally_new(w->t, (size_t)n, sizeof *at);
  if (!chains || !at) return false;
  for (int v = 0; v < n; v++)
    if (!loom_chain_walk(w->t, w->p, g->variables[v], LOOM_VIEW_UNITS, &chains[v])) return false;
  if (!prepare_group(w, g, chains)) return false;
  for (bool more = true; more;) {
    for (int v = 0; v < n; v++) {
      const int64_t *word = loom_word(&chains[v].tiles, (int64_t)at[v]);
      w->lanes[v].state[0][0] = (loom_run){word[0], word[1]};
    }
    int64_t root = tree_of_visit(w);
    if (root < 0 || loom_words_find(w->t, found, &root) < 0) return false;
    more = false;
    for (int v = n; v-- > 0 && !more;) {
      more = ++at[v] < chains[v].tiles.n;
      if (!more) at[v] = 0;
    }
  }
  return true;
}

/* ---- all groups together -------------------------------------------------------------------- */

static int64_t product(live *w, const int64_t *trees, const int64_t *of, int without) {
  int64_t result = 1;
  for (int g = 0; g < w->p->n_groups; g++)
    if (g != without) result = loom_tally_mul(w->t, result, of[trees[g]]);
  return result;
}

/* The most elements that are used first not after, and last not before, one step inside `loop`,
** of those whose first and last use are not decided by the loops outside; trees: loop, then the
** groups' steps from it on. */
static int64_t most_alive(live *w, const int64_t *word) {
  int n = w->p->n_groups;
  int64_t loop = word[0];
  if (loop == w->n_advance) return product(w, word + 1, w->first.at, -1);
  int64_t state = loom_words_find(w->t, &w->states, word);
  if (state < 0) return 0;
  if ((size_t)state < w->best.n && w->best.at[state] >= 0) return w->best.at[state];
  while (w->best.n <= (size_t)state)
    if (!loom_list_push(w->t, &w->best, -1)) return 0;
  int g = w->group[loop];
  int64_t first = product(w, word + 1, w->first.at, g), best = 0;
  int64_t last = product(w, word + 1, w->last.at, g);
  int64_t *next = loom_tally_new(w->t, (size_t)n + 1, sizeof *next);
  if (!next) return 0;
  memcpy(next, word, ((size_t)n + 1) * sizeof *next);
  next[0] = loop + 1;
  for (int64_t list = next[1 + g];;) {
    const int64_t *node = loom_word(&w->trees, list);
    if (node[0] != TREE_LIST || !loom_tally_spend(w->t, 1)) break;
    int64_t before = node[1];
    next[1 + g] = node[2];
    int64_t alive = loom_tally_add(w->t, loom_tally_mul(w->t, first, w->first.at[before]),
                                   -loom_tally_mul(w->t, last, w->last.at[before]));
    alive = loom_tally_add(w->t, alive, most_alive(w, next));
    if (alive > best) best = alive;
    list = before;
  }
  w->best.at[state] = best;
  return best;
}

static bool list_loops(live *w) {
  size_t n = (size_t)w->p->n_loops + 1;
  w->loops = loom_tally_new(w->t, n, sizeof *w->loops);
  w->place = loom_tally_new(w->t, n, sizeof *w->place);
  w->group = loom_tally_new(w->t, n, sizeof *w->group);
  if (!w->loops || !w->place || !w->group) return false;
  for (int l = w->p->above_holder; l < w->p->n_loops; l++) {
    if (w->p->loops[l].spatial) continue;
    for (int g = 0; g < w->p->n_groups; g++)
      for (int v = 0; v < w->p->groups[g].n_variables; v++)
        if (w->p->groups[g].variables[v] == w->p->loops[l].variable) w->group[w->n_advance] = g;
    w->n_advance++;
  }
  return true;
}

bool loom_count_live(loom_tally *t, const loom_numbers *p, int64_t *out) {
  live w = {.t = t, .p = p, .trees.length = 3, .states.length = (size_t)p->n_groups + 1};
  size_t n = (size_t)p->n_groups;
  loom_words *roots = loom_tally_new(t, n + 1, sizeof *roots);
  int64_t *word = loom_tally_new(t, n + 1, sizeof *word);
  size_t *at = loom_tally_new(t, n + 1, sizeof *at);
  if (!roots || !word || !at || !list_loops(&w)) return false;
  for (size_t g = 0; g < n; g++) {
    roots[g].length = 1;
    if (!list_trees(&w, &p->groups[g], &roots[g])) return false;
  }
  *out = 0;
  for (bool more = true; more && loom_tally_good(t);) {
    for (size_t g = 0; g < n; g++) word[1 + g] = *loom_word(&roots[g], (int64_t)at[g]);
    int64_t alive = most_alive(&w, word);
    if (alive > *out) *out = alive;
    more = false;
    for (size_t g = 0; g < n && !more; g++) {
      more = ++at[g] < roots[g].n;
      if (!more) at[g] = 0;
    }
  }
  return loom_tally_good(t);
}
