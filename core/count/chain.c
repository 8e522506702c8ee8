/* SPDX-License-Identifier: MIT */
/* Walks the loops over one variable.
** Invariant: runs of equal pieces are visited once and counted as often as they occur; every index
** vector of the temporal loops at which some unit has a piece is counted once per key. */
#include "count/chain.h"

#include <stdlib.h>
#include <string.h>

typedef struct walker {
  loom_tally *t;
  const loom_numbers *p;
  loom_chain *c;
  int64_t period;
  const int64_t *key;              /* index by loop */
  loom_steps *steps;               /* of the owner of the key */
  size_t *width;                   /* by depth: joined units so far */
  loom_run **state;                /* by depth: their intervals */
  loom_run **first, **last, **end; /* by depth: what is inside; end: last of the piece before */
  int64_t *word;
} walker;

/* ---- kinds ---------------------------------------------------------------------------------- */

static bool add_share(walker *w, loom_shares *shares, int64_t kind, int64_t times) {
  if (kind < 0) return false;
  for (size_t i = shares->n; i-- > 0 && i + 8 > shares->n;)
    if (shares->at[i].kind == kind) {
      shares->at[i].times = loom_tally_add(w->t, shares->at[i].times, times);
      return true;
    }
  return loom_list_push(w->t, shares, ((loom_share){kind, times}));
}

/* By how much the runs may be moved to stand near 0. */
static int64_t base_of(const walker *w, const loom_run *runs) {
  int64_t lo = INT64_MAX;
  for (size_t i = 0; i < w->c->n_joined; i++)
    if (!loom_run_empty(runs[i]) && runs[i].lo < lo) lo = runs[i].lo;
  return lo == INT64_MAX || w->period == 0 ? 0 : lo - lo % w->period;
}

/* Writes the interval of each unit, moved; of an idle one nothing. */
static void spell(const walker *w, const loom_run *runs, const loom_run *active, int64_t base,
                  int64_t *word) {
  for (size_t i = 0; i < w->c->n_joined; i++) {
    bool empty = loom_run_empty(runs[i]) || loom_run_empty(active[i]);
    word[2 * i] = empty ? 0 : runs[i].lo - base;
    word[2 * i + 1] = empty ? 0 : runs[i].hi - base;
  }
}

static bool add_tile(walker *w, loom_shares *shares, const loom_run *runs, int64_t times) {
  for (size_t i = 0; i < w->c->n_joined; i++) w->c->idles |= loom_run_empty(runs[i]);
  spell(w, runs, runs, base_of(w, runs), w->word);
  return add_share(w, shares, loom_words_find(w->t, &w->c->tiles, w->word), times);
}

/* before: moved by as much as after is. */
static bool add_pair(walker *w, loom_shares *shares, const loom_run *before, const loom_run *after,
                     int64_t times) {
  int64_t base = base_of(w, after);
  spell(w, before, after, base, w->word);
  spell(w, after, after, base, w->word + 2 * w->c->n_joined);
  return add_share(w, shares, loom_words_find(w->t, &w->c->pairs, w->word), times);
}

/* ---- walking -------------------------------------------------------------------------------- */

static bool visit(walker *w, int depth, int64_t times);

static void move(loom_run *runs, size_t n, int64_t by) {
  for (size_t i = 0; i < n; i++)
    if (!loom_run_empty(runs[i])) {
      runs[i].lo += by;
      runs[i].hi += by;
    }
}

static bool visit_keyed(walker *w, int depth, const loom_cut *cut, int64_t times) {
  bool any = false;
  for (size_t i = 0; i < w->width[depth]; i++) {
    w->state[depth + 1][i] = loom_cut_piece(cut, w->state[depth][i], w->key[depth]);
    any |= !loom_run_empty(w->state[depth + 1][i]);
  }
  size_t bytes = w->c->n_joined * sizeof(loom_run);
  if (any && !visit(w, depth + 1, times)) return false;
  if (!any) memset(w->first[depth + 1], 0, bytes), memset(w->last[depth + 1], 0, bytes);
  memcpy(w->first[depth], w->first[depth + 1], bytes);
  memcpy(w->last[depth], w->last[depth + 1], bytes);
  return true;
}

static bool visit_joined(walker *w, int depth, const loom_cut *cut, int64_t times) {
  size_t units = (size_t)w->c->units[depth], bytes = w->c->n_joined * sizeof(loom_run);
  if (!loom_tally_spend(w->t, w->width[depth + 1])) return false;
  for (size_t i = 0; i < w->width[depth]; i++)
    for (size_t k = 0; k < units; k++)
      w->state[depth + 1][i * units + k] = loom_cut_piece(cut, w->state[depth][i], (int64_t)k);
  if (!visit(w, depth + 1, times)) return false;
  memcpy(w->first[depth], w->first[depth + 1], bytes);
  memcpy(w->last[depth], w->last[depth + 1], bytes);
  return true;
}

/* Sets the pieces at index i; the first index at which they are not those moved by the step, or i
** where all are empty. */
static int64_t pieces_at(walker *w, int depth, const loom_cut *cut, int64_t i) {
  int64_t until = INT64_MAX;
  bool any = false;
  for (size_t k = 0; k < w->width[depth]; k++) {
    loom_run whole = w->state[depth][k], piece = loom_cut_piece(cut, whole, i);
    int64_t change = loom_cut_change(cut, whole, i);
    w->state[depth + 1][k] = piece;
    any |= !loom_run_empty(piece);
    if (change < until) until = change;
  }
  if (!any) return i;
  bool moves = w->period != 0 && cut->step % w->period == 0;
  return moves ? until : i + 1;
}

/* Takes what is inside pieces [i, until) into first and last of the loop. */
static void join_pieces(walker *w, int depth, int64_t i, int64_t by) {
  loom_run *first = w->first[depth + 1], *last = w->last[depth + 1];
  for (size_t k = 0; k < w->c->n_joined; k++) {
    if (loom_run_empty(first[k])) continue;
    if (i == 0)
      w->first[depth][k] = first[k];
    else if (loom_run_empty(w->end[depth][k]))
      w->c->uneven = true;
    if (i > 0 && loom_run_empty(w->first[depth][k])) w->first[depth][k] = first[k];
    w->last[depth][k] = (loom_run){last[k].lo + by, last[k].hi + by};
  }
}

static bool visit_temporal(walker *w, int depth, const loom_cut *cut, int64_t times) {
  size_t n = w->c->n_joined, bytes = n * sizeof(loom_run);
  loom_shares *pairs = &w->steps->advance[depth];
  memset(w->first[depth], 0, bytes);
  memset(w->last[depth], 0, bytes);
  for (int64_t i = 0, until;; i = until) {
    if (!loom_tally_spend(w->t, w->width[depth] + n)) return false;
    until = pieces_at(w, depth, cut, i);
    if (until == i) return true;
    if (!visit(w, depth + 1, loom_tally_mul(w->t, times, until - i))) return false;
    loom_run *first = w->first[depth + 1];
    if (w->p->retain && i > 0 && !add_pair(w, pairs, w->end[depth], first, times)) return false;
    int64_t by = (until - i - 1) * cut->step;
    join_pieces(w, depth, i, by);
    memcpy(w->end[depth], w->last[depth + 1], bytes);
    if (w->p->retain && by > 0) {
      move(first, n, cut->step);
      if (!add_pair(w, pairs, w->end[depth], first, loom_tally_mul(w->t, times, until - i - 1)))
        return false;
    }
    move(w->end[depth], n, by);
  }
}

static bool visit(walker *w, int depth, int64_t times) {
  loom_chain *c = w->c;
  if (!loom_tally_spend(w->t, c->n_joined)) return false;
  if (depth == c->n_loops) {
    memcpy(w->first[depth], w->state[depth], c->n_joined * sizeof(loom_run));
    memcpy(w->last[depth], w->state[depth], c->n_joined * sizeof(loom_run));
    if (!add_tile(w, &w->steps->tiles, w->state[depth], times)) return false;
  } else {
    const loom_cut *cut = &w->p->loops[c->loops[depth]];
    bool good = c->role[depth] == LOOM_ROLE_TEMPORAL ? visit_temporal(w, depth, cut, times)
                : c->role[depth] == LOOM_ROLE_JOINED ? visit_joined(w, depth, cut, times)
                                                     : visit_keyed(w, depth, cut, times);
    if (!good) return false;
  }
  bool any = false;
  for (size_t k = 0; k < c->n_joined && !any; k++) any = !loom_run_empty(w->first[depth][k]);
  if (!w->p->retain || !any) return loom_tally_good(w->t);
  return add_pair(w, &w->steps->wrap[depth], w->last[depth], w->first[depth], times);
}

/* ---- shares --------------------------------------------------------------------------------- */

static int by_kind(const void *a, const void *b) {
  const loom_share *x = a, *y = b;
  return (x->kind > y->kind) - (x->kind < y->kind);
}

static void settle(loom_tally *t, loom_shares *s) {
  size_t kept = 0;
  if (s->n) qsort(s->at, s->n, sizeof *s->at, by_kind);
  for (size_t i = 0; i < s->n; i++) {
    if (kept && s->at[kept - 1].kind == s->at[i].kind)
      s->at[kept - 1].times = loom_tally_add(t, s->at[kept - 1].times, s->at[i].times);
    else
      s->at[kept++] = s->at[i];
  }
  s->n = kept;
}

/* The lists of steps, as many as the chain has. */
static loom_shares *list_of(const loom_chain *c, loom_steps *s, int i) {
  if (i == 0) return &s->tiles;
  if (i == 1) return &s->last;
  i -= 2;
  return i < c->n_loops ? &s->advance[i] : &s->wrap[i - c->n_loops];
}

static int list_count(const loom_chain *c) {
  return 3 + 2 * c->n_loops;
}

static bool same_steps(const loom_chain *c, loom_steps *a, loom_steps *b) {
  for (int i = 0; i < list_count(c); i++) {
    const loom_shares *x = list_of(c, a, i), *y = list_of(c, b, i);
    if (x->n != y->n || (x->n && memcmp(x->at, y->at, x->n * sizeof *x->at) != 0)) return false;
  }
  return true;
}

static bool new_steps(loom_tally *t, const loom_chain *c, loom_steps *s) {
  *s = (loom_steps){0};
  s->advance = loom_tally_new(t, (size_t)c->n_loops + 1, sizeof *s->advance);
  s->wrap = loom_tally_new(t, (size_t)c->n_loops + 1, sizeof *s->wrap);
  return s->advance && s->wrap;
}

static bool add_steps(loom_tally *t, const loom_chain *c, loom_steps *to, loom_steps *from,
                      int64_t times) {
  for (int i = 0; i < list_count(c); i++) {
    const loom_shares *x = list_of(c, from, i);
    loom_shares *y = list_of(c, to, i);
    for (size_t k = 0; k < x->n; k++) {
      loom_share s = {x->at[k].kind, loom_tally_mul(t, x->at[k].times, times)};
      if (!loom_list_push(t, y, s)) return false;
    }
    settle(t, y);
  }
  return loom_tally_good(t);
}

/* Owners that do the same become one kind. */
static bool sort_owners(loom_tally *t, loom_chain *c, loom_steps *steps) {
  c->kind = loom_tally_new(t, c->n_owners, sizeof *c->kind);
  c->count = loom_tally_new(t, c->n_owners, sizeof *c->count);
  c->of_owner = loom_tally_new(t, c->n_owners, sizeof *c->of_owner);
  if (!c->kind || !c->count || !c->of_owner || !new_steps(t, c, &c->all)) return false;
  for (size_t o = 0; o < c->n_owners; o++) {
    for (int i = 0; i < list_count(c); i++) settle(t, list_of(c, &steps[o], i));
    size_t k = c->n_kinds;
    while (k > 0 && !same_steps(c, &c->of_owner[k - 1], &steps[o])) k--;
    if (k == 0) {
      c->of_owner[c->n_kinds++] = steps[o];
      k = c->n_kinds;
    }
    c->kind[o] = k - 1;
    c->count[k - 1]++;
  }
  for (size_t k = 0; k < c->n_kinds; k++)
    if (!add_steps(t, c, &c->all, &c->of_owner[k], (int64_t)c->count[k])) return false;
  return true;
}

/* ---- chains --------------------------------------------------------------------------------- */

static bool prepare_chain(loom_tally *t, const loom_numbers *p, loom_view view, loom_chain *c) {
  c->loops = loom_tally_new(t, (size_t)p->above_holder + 1, sizeof *c->loops);
  c->role = loom_tally_new(t, (size_t)p->above_holder + 1, sizeof *c->role);
  c->units = loom_tally_new(t, (size_t)p->above_holder + 1, sizeof *c->units);
  if (!c->loops || !c->role || !c->units) return false;
  int64_t joined = 1, keys = 1;
  for (int l = 0; l < p->above_holder; l++) {
    const loom_cut *cut = &p->loops[l];
    if (cut->variable != c->variable) continue;
    bool shares = view == LOOM_VIEW_SHARED && cut->shared && !cut->outside;
    loom_role role = !cut->spatial ? LOOM_ROLE_TEMPORAL
                     : shares      ? LOOM_ROLE_JOINED
                                   : LOOM_ROLE_KEYED;
    c->units[c->n_loops] = cut->spatial ? loom_cut_most(p, l) : 1;
    if (role == LOOM_ROLE_JOINED) joined = loom_tally_mul(t, joined, c->units[c->n_loops]);
    if (role == LOOM_ROLE_KEYED) keys = loom_tally_mul(t, keys, c->units[c->n_loops]);
    c->role[c->n_loops] = role;
    c->loops[c->n_loops++] = l;
  }
  c->n_joined = (size_t)joined;
  c->n_keys = (size_t)keys;
  c->tiles.length = 2 * c->n_joined;
  c->pairs.length = 4 * c->n_joined;
  return loom_tally_spend(t, c->n_joined + c->n_keys);
}

static bool prepare_walker(walker *w) {
  size_t depths = (size_t)w->c->n_loops + 1, n = w->c->n_joined;
  w->width = loom_tally_new(w->t, depths, sizeof *w->width);
  w->state = loom_tally_new(w->t, depths, sizeof *w->state);
  w->first = loom_tally_new(w->t, depths, sizeof *w->first);
  w->last = loom_tally_new(w->t, depths, sizeof *w->last);
  w->end = loom_tally_new(w->t, depths, sizeof *w->end);
  w->word = loom_tally_new(w->t, 4 * n, sizeof *w->word);
  if (!w->width || !w->state || !w->first || !w->last || !w->end || !w->word) return false;
  w->width[0] = 1;
  for (size_t d = 0; d < depths; d++) {
    w->state[d] = loom_tally_new(w->t, n, sizeof **w->state);
    w->first[d] = loom_tally_new(w->t, n, sizeof **w->first);
    w->last[d] = loom_tally_new(w->t, n, sizeof **w->last);
    w->end[d] = loom_tally_new(w->t, n, sizeof **w->end);
    if (!w->end[d]) return false;
    if (d + 1 < depths)
      w->width[d + 1] =
          w->width[d] * (w->c->role[d] == LOOM_ROLE_JOINED ? (size_t)w->c->units[d] : 1);
  }
  return true;
}

/* The indices of a key, and its owner: the loops outside the parent, or in the view of units all. */
static size_t spell_key(const loom_numbers *p, const loom_chain *c, loom_view view, size_t key,
                        int64_t *index) {
  size_t owner = 0, scale = 1;
  for (int d = c->n_loops; d-- > 0;) {
    if (c->role[d] != LOOM_ROLE_KEYED) continue;
    size_t units = (size_t)c->units[d], i = key % units;
    key /= units;
    index[d] = (int64_t)i;
    if (view == LOOM_VIEW_SHARED && !p->loops[c->loops[d]].outside) continue;
    owner += i * scale;
    scale *= units;
  }
  return owner;
}

static size_t count_owners(const loom_numbers *p, const loom_chain *c, loom_view view) {
  size_t n = 1;
  for (int d = 0; d < c->n_loops; d++)
    if (c->role[d] == LOOM_ROLE_KEYED && (view == LOOM_VIEW_UNITS || p->loops[c->loops[d]].outside))
      n *= (size_t)c->units[d];
  return n;
}

bool loom_chain_walk(loom_tally *t, const loom_numbers *p, int variable, loom_view view,
                     loom_chain *c) {
  *c = (loom_chain){.variable = variable};
  if (!prepare_chain(t, p, view, c)) return false;
  walker w = {.t = t, .p = p, .c = c, .period = p->period[variable]};
  c->n_owners = count_owners(p, c, view);
  loom_steps *steps = loom_tally_new(t, c->n_owners, sizeof *steps);
  int64_t *index = loom_tally_new(t, (size_t)c->n_loops + 1, sizeof *index);
  c->owner = loom_tally_new(t, c->n_keys, sizeof *c->owner);
  if (!steps || !index || !c->owner || !prepare_walker(&w)) return false;
  for (size_t o = 0; o < c->n_owners; o++)
    if (!new_steps(t, c, &steps[o])) return false;
  w.key = index;
  for (size_t key = 0; key < c->n_keys; key++) {
    c->owner[key] = spell_key(p, c, view, key, index);
    w.steps = &steps[c->owner[key]];
    w.state[0][0] = (loom_run){0, p->sizes[variable]};
    bool any = false;
    if (!visit(&w, 0, 1)) return false;
    for (size_t k = 0; k < c->n_joined; k++) any |= !loom_run_empty(w.last[0][k]);
    if (any && !add_tile(&w, &w.steps->last, w.last[0], 1)) return false;
  }
  return sort_owners(t, c, steps);
}

const loom_shares *loom_chain_pairs(const loom_chain *c, const loom_steps *steps, int loop) {
  int depth = 0;
  while (depth < c->n_loops && c->loops[depth] < loop) depth++;
  bool own = depth < c->n_loops && c->loops[depth] == loop;
  return own ? &steps->advance[depth] : &steps->wrap[depth];
}
