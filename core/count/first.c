/* SPDX-License-Identifier: MIT */
/* The step at which each element of a group is touched first.
** Invariant: steps are walked in the order in which they happen; `seen` holds what the steps since
** the last new beginning touched, in any unit. */
#include "count/group.h"

/* One variable: the intervals of all units, of which the last spatial loop's are neighbours. */
typedef struct lane {
  const loom_chain *chain;
  int depth;
  size_t *width; /* by depth: units so far */
  loom_run **state;
  size_t *key; /* by unit: of the chain */
} lane;

typedef struct first_walk {
  loom_tally *t;
  const loom_numbers *p;
  const loom_grouped *x;
  lane *lanes;
  int n_loops;
  int *loops, *place; /* of the group, outermost first; whose they are */
  int64_t *at_anew; /* by loop of the group: the index at hand of those that begin afresh, or -1 */
  int64_t whole;    /* elements there are */
  loom_runs *sets, touched, fresh, seen, here, both;
  size_t *at, *count;
  int64_t *by_owner;
} first_walk;

/* ---- one step ------------------------------------------------------------------------------- */

/* The union of the intervals of the units of a key; SIZE_MAX: of all. */
static bool set_of(first_walk *w, int v, size_t key) {
  lane *l = &w->lanes[v];
  w->sets[v].n = 0;
  for (size_t u = 0; u < l->width[l->depth]; u++)
    if ((key == SIZE_MAX || l->key[u] == key) && !loom_run_empty(l->state[l->depth][u]) &&
        !loom_list_push(w->t, &w->sets[v], l->state[l->depth][u]))
      return false;
  loom_runs_settle(w->t, &w->sets[v]);
  return true;
}

/* Adds, for each choice of one key of each variable, what it shares with the fresh elements. */
static bool count_keys(first_walk *w) {
  int n = w->x->g->n_variables;
  for (int v = 0; v < n; v++) w->at[v] = 0;
  for (bool more = true; more;) {
    size_t owner = 0;
    for (int v = 0; v < n; v++) {
      const loom_chain *c = w->lanes[v].chain;
      if (!set_of(w, v, w->at[v])) return false;
      owner = owner * c->n_owners + c->owner[w->at[v]];
    }
    w->here.n = w->both.n = 0;
    if (!loom_image(w->t, w->p, w->x->g, w->sets, &w->here) ||
        !loom_runs_shared(w->t, &w->here, &w->fresh, &w->both))
      return false;
    w->by_owner[owner] = loom_tally_add(w->t, w->by_owner[owner], loom_runs_size(&w->both));
    more = false;
    for (int v = n; v-- > 0 && !more;) {
      more = ++w->at[v] < w->count[v];
      if (!more) w->at[v] = 0;
    }
  }
  return loom_tally_good(w->t);
}

static bool count_step(first_walk *w) {
  int n = w->x->g->n_variables;
  for (int v = 0; v < n; v++)
    if (!set_of(w, v, SIZE_MAX)) return false;
  w->touched.n = w->fresh.n = 0;
  if (!loom_tally_spend(w->t, 1) || !loom_image(w->t, w->p, w->x->g, w->sets, &w->touched) ||
      !loom_runs_less(w->t, &w->touched, &w->seen, &w->fresh))
    return false;
  if (w->fresh.n == 0) return true;
  if (!count_keys(w) || !loom_runs_append(w->t, &w->seen, &w->fresh)) return false;
  loom_runs_settle(w->t, &w->seen);
  return loom_tally_good(w->t);
}

/* ---- walking -------------------------------------------------------------------------------- */

static bool walk(first_walk *w, int at);

static bool walk_temporal(first_walk *w, int at, const loom_cut *cut, lane *l) {
  for (int64_t i = cut->anew ? w->at_anew[at] : 0;; i++) {
    bool any = false;
    size_t n = l->width[l->depth];
    if (!loom_tally_spend(w->t, n)) return false;
    for (size_t u = 0; u < n; u++) {
      l->state[l->depth + 1][u] = loom_cut_piece(cut, l->state[l->depth][u], i);
      any |= !loom_run_empty(l->state[l->depth + 1][u]);
    }
    if (!any) return true;
    l->depth++;
    bool good = walk(w, at + 1);
    l->depth--;
    if (!good) return false;
    if (cut->anew || loom_runs_size(&w->seen) == w->whole) return true;
  }
}

static bool walk_spatial(first_walk *w, int at, const loom_cut *cut, lane *l) {
  size_t units = (size_t)l->chain->units[l->depth], n = l->width[l->depth];
  if (!loom_tally_spend(w->t, n * units)) return false;
  for (size_t u = 0; u < n; u++)
    for (size_t k = 0; k < units; k++) {
      bool left_out = cut->anew && (int64_t)k != w->at_anew[at];
      l->state[l->depth + 1][u * units + k] =
          left_out ? (loom_run){0, 0} : loom_cut_piece(cut, l->state[l->depth][u], (int64_t)k);
    }
  l->depth++;
  bool good = walk(w, at + 1);
  l->depth--;
  return good;
}

static bool walk(first_walk *w, int at) {
  if (at == w->n_loops) return count_step(w);
  const loom_cut *cut = &w->p->loops[w->loops[at]];
  lane *l = &w->lanes[w->place[at]];
  return cut->spatial ? walk_spatial(w, at, cut, l) : walk_temporal(w, at, cut, l);
}

/* Once for every index vector of the loops that begin afresh. */
static bool walk_all(first_walk *w) {
  for (bool more = true; more;) {
    w->seen.n = 0;
    if (!loom_tally_spend(w->t, 1) || !walk(w, 0)) return false;
    more = false;
    for (int at = 0; at < w->n_loops && !more; at++) {
      if (!w->p->loops[w->loops[at]].anew) continue;
      more = ++w->at_anew[at] < loom_cut_most(w->p, w->loops[at]);
      if (!more) w->at_anew[at] = 0;
    }
  }
  return true;
}

/* ---- preparation ---------------------------------------------------------------------------- */

/* The key of each unit, as loom_chain_walk numbers them. */
static bool list_keys(loom_tally *t, lane *l, size_t units) {
  const loom_chain *c = l->chain;
  l->key = loom_tally_new(t, units, sizeof *l->key);
  if (!l->key || !loom_tally_spend(t, units)) return false;
  for (size_t u = 0; u < units; u++) {
    size_t rest = u, scale = 1;
    for (int d = c->n_loops; d-- > 0;) {
      if (c->role[d] == LOOM_ROLE_TEMPORAL) continue;
      size_t i = rest % (size_t)c->units[d];
      rest /= (size_t)c->units[d];
      if (c->role[d] != LOOM_ROLE_KEYED) continue;
      l->key[u] += i * scale;
      scale *= (size_t)c->units[d];
    }
  }
  return true;
}

static bool prepare_lane(loom_tally *t, const loom_numbers *p, const loom_chain *c, lane *l) {
  size_t depths = (size_t)c->n_loops + 1;
  *l = (lane){.chain = c};
  l->width = loom_tally_new(t, depths, sizeof *l->width);
  l->state = loom_tally_new(t, depths, sizeof *l->state);
  if (!l->width || !l->state) return false;
  l->width[0] = 1;
  for (size_t d = 0; d < depths; d++) {
    l->state[d] = loom_tally_new(t, l->width[d], sizeof **l->state);
    if (!l->state[d]) return false;
    if (d + 1 == depths) break;
    bool spatial = c->role[d] != LOOM_ROLE_TEMPORAL;
    l->width[d + 1] = l->width[d] * (spatial ? (size_t)c->units[d] : 1);
  }
  l->state[0][0] = (loom_run){0, p->sizes[c->variable]};
  return list_keys(t, l, l->width[depths - 1]);
}

static bool prepare(first_walk *w) {
  const loom_index_group *g = w->x->g;
  size_t n = (size_t)g->n_variables, loops = (size_t)w->p->above_holder + 1;
  w->lanes = loom_tally_new(w->t, n, sizeof *w->lanes);
  w->sets = loom_tally_new(w->t, n, sizeof *w->sets);
  w->at = loom_tally_new(w->t, n, sizeof *w->at);
  w->count = loom_tally_new(w->t, n, sizeof *w->count);
  w->loops = loom_tally_new(w->t, loops, sizeof *w->loops);
  w->place = loom_tally_new(w->t, loops, sizeof *w->place);
  w->at_anew = loom_tally_new(w->t, loops, sizeof *w->at_anew);
  if (!w->lanes || !w->sets || !w->at || !w->count || !w->loops || !w->place || !w->at_anew)
    return false;
  for (size_t v = 0; v < n; v++) {
    const loom_chain *c = &w->x->chains[v];
    if (!prepare_lane(w->t, w->p, c, &w->lanes[v])) return false;
    w->count[v] = c->n_keys;
    if (!loom_list_push(w->t, &w->sets[v], ((loom_run){0, w->p->sizes[c->variable]}))) return false;
  }
  for (int l = 0; l < w->p->above_holder; l++)
    for (int v = 0; v < g->n_variables; v++) {
      if (w->p->loops[l].variable != g->variables[v]) continue;
      w->loops[w->n_loops] = l;
      w->place[w->n_loops++] = v;
    }
  if (!loom_image(w->t, w->p, g, w->sets, &w->here)) return false;
  w->whole = loom_runs_size(&w->here);
  return true;
}

bool loom_index_group_is_partition(const loom_numbers *p, const loom_index_group *g) {
  if (g->n_variables != 1 || g->n_ranks == 0 || !g->affine || g->weight[0] == 0) return false;
  for (int l = 0; l < p->above_holder; l++)
    if (p->loops[l].variable == g->variables[0] && p->loops[l].step != p->loops[l].tile)
      return false;
  return true;
}

static bool first_of_partition(loom_tally *t, const loom_grouped *x, int64_t *by_owner) {
  const loom_chain *c = x->chains;
  for (size_t o = 0; o < c->n_owners; o++) {
    const loom_shares *s = &c->of_owner[c->kind[o]].tiles;
    for (size_t i = 0; i < s->n; i++) {
      const int64_t *word = loom_word(&c->tiles, s->at[i].kind);
      int64_t size = 0;
      for (size_t u = 0; u < c->n_joined; u++) size += word[2 * u + 1] - word[2 * u];
      by_owner[o] = loom_tally_add(t, by_owner[o], loom_tally_mul(t, s->at[i].times, size));
    }
  }
  return loom_tally_good(t);
}

bool loom_count_first(loom_tally *t, const loom_grouped *x, int64_t *by_owner) {
  if (loom_index_group_is_partition(x->p, x->g)) return first_of_partition(t, x, by_owner);
  first_walk w = {.t = t, .p = x->p, .x = x, .by_owner = by_owner};
  return prepare(&w) && walk_all(&w);
}
