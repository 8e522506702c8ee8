/* SPDX-License-Identifier: MIT */
/* Counts one group of variables from the kinds of its chains.
** Invariant: each combination of kinds is looked at once; what a sum needs is how often it occurs,
** the product of how often each kind does. */
#include "count/group.h"

#include <string.h>

static loom_run interval(const int64_t *word, size_t unit) {
  return (loom_run){word[2 * unit], word[2 * unit + 1]};
}

/* ---- values of combinations ----------------------------------------------------------------- */

/* Elements of the union over the joined units: the variables' units are independent. */
static int64_t size_of(loom_tally *t, loom_grouped *x, const int64_t *tuple) {
  int64_t i = loom_words_find(t, &x->tiles, tuple);
  if (i < 0 || (size_t)i < x->size.n) return i < 0 ? 0 : x->size.at[i];
  for (int v = 0; v < x->g->n_variables; v++) {
    const loom_chain *c = &x->chains[v];
    const int64_t *word = loom_word(&c->tiles, tuple[v]);
    x->sets[v].n = 0;
    for (size_t u = 0; u < c->n_joined; u++)
      if (!loom_list_push(t, &x->sets[v], interval(word, u))) return 0;
    loom_runs_settle(t, &x->sets[v]);
  }
  x->here.n = 0;
  if (!loom_image(t, x->p, x->g, x->sets, &x->here)) return 0;
  int64_t size = loom_runs_size(&x->here);
  return loom_list_push(t, &x->size, size) ? size : 0;
}

/* The intervals of one joint unit before and after; false if it idles. */
static bool set_unit(loom_tally *t, loom_grouped *x, const int64_t *tuple, size_t unit) {
  for (int v = 0; v < x->g->n_variables; v++) {
    const loom_chain *c = &x->chains[v];
    const int64_t *word = loom_word(&c->pairs, tuple[v]);
    size_t u = x->joint[unit * (size_t)x->g->n_variables + (size_t)v];
    loom_run before = interval(word, u), after = interval(word, c->n_joined + u);
    if (loom_run_empty(after)) return false;
    x->sets[v].n = x->before[v].n = 0;
    if (!loom_list_push(t, &x->sets[v], after)) return false;
    if (!loom_run_empty(before) && !loom_list_push(t, &x->before[v], before)) return false;
  }
  return true;
}

/* Adds one unit's tiles before and after, what arrives, and what leaves it; of what goes to the first
** unit alone, how much that has already. */
static bool add_unit(loom_tally *t, loom_grouped *x, loom_advance *sum) {
  x->here.n = x->old.n = x->mine.n = x->twice.n = 0;
  if (!loom_image(t, x->p, x->g, x->sets, &x->here) ||
      !loom_image(t, x->p, x->g, x->before, &x->old))
    return false;
  if (x->p->to_one_unit) {
    loom_runs_settle(t, &x->after);
    if (!loom_runs_less(t, &x->here, &x->after, &x->mine) ||
        !loom_runs_shared(t, &x->mine, &x->old, &x->twice))
      return false;
    sum->kept += loom_runs_size(&x->twice);
  } else if (!loom_runs_less(t, &x->here, &x->old, &x->fresh)) {
    return false;
  }
  return loom_runs_less(t, &x->old, &x->here, &x->left) &&
         loom_runs_append(t, &x->after, &x->here) && loom_runs_append(t, &x->there, &x->old);
}

static loom_advance moved_of(loom_tally *t, loom_grouped *x, const int64_t *tuple) {
  loom_advance sum = {0};
  int64_t i = loom_words_find(t, &x->pairs, tuple);
  if (i < 0 || (size_t)i < x->moved.n) return i < 0 ? sum : x->moved.at[i];
  x->fresh.n = x->left.n = x->after.n = x->there.n = 0;
  for (size_t unit = 0; unit < x->n_joint; unit++) {
    if (!loom_tally_spend(t, 1)) return sum;
    if (set_unit(t, x, tuple, unit) && !add_unit(t, x, &sum)) return sum;
  }
  loom_runs_settle(t, &x->fresh);
  loom_runs_settle(t, &x->left);
  loom_runs_settle(t, &x->after);
  loom_runs_settle(t, &x->there);
  if (!x->p->to_one_unit) sum.kept = loom_runs_size(&x->after) - loom_runs_size(&x->fresh);
  sum.gone = loom_runs_size(&x->there);
  sum.stays = sum.gone - loom_runs_size(&x->left);
  (void)loom_list_push(t, &x->moved, sum);
  return sum;
}

/* ---- sums over combinations ----------------------------------------------------------------- */

/* Adds up, over one kind of each variable from `place` on, the values times how often they occur. */
static void sum_tiles(loom_tally *t, loom_grouped *x, const loom_shares *const *shares, int place,
                      int64_t times, int64_t *sum) {
  if (place == x->g->n_variables) {
    int64_t size = size_of(t, x, x->tuple);
    *sum = loom_tally_add(t, *sum, loom_tally_mul(t, times, size));
    return;
  }
  for (size_t i = 0; i < shares[place]->n && loom_tally_good(t); i++) {
    loom_share s = shares[place]->at[i];
    x->tuple[place] = s.kind;
    sum_tiles(t, x, shares, place + 1, loom_tally_mul(t, times, s.times), sum);
  }
}

static void sum_pairs(loom_tally *t, loom_grouped *x, const loom_shares *const *shares, int place,
                      int64_t times, loom_advance *sum) {
  if (place == x->g->n_variables) {
    loom_advance one = moved_of(t, x, x->tuple);
    sum->kept = loom_tally_add(t, sum->kept, loom_tally_mul(t, times, one.kept));
    sum->gone = loom_tally_add(t, sum->gone, loom_tally_mul(t, times, one.gone));
    sum->stays = loom_tally_add(t, sum->stays, loom_tally_mul(t, times, one.stays));
    return;
  }
  for (size_t i = 0; i < shares[place]->n && loom_tally_good(t); i++) {
    loom_share s = shares[place]->at[i];
    x->tuple[place] = s.kind;
    sum_pairs(t, x, shares, place + 1, loom_tally_mul(t, times, s.times), sum);
  }
}

bool loom_grouped_figures(loom_tally *t, loom_grouped *x, const loom_steps *const *steps,
                          int n_advance, loom_figures *f) {
  int n = x->g->n_variables, at = 0;
  const loom_shares **shares = loom_tally_new(t, (size_t)n, sizeof *shares);
  *f = (loom_figures){.advance = loom_tally_new(t, (size_t)n_advance + 1, sizeof *f->advance)};
  if (!shares || !f->advance) return false;
  for (int v = 0; v < n; v++) shares[v] = &steps[v]->tiles;
  sum_tiles(t, x, shares, 0, 1, &f->all);
  if (!x->p->retain) return loom_tally_good(t);
  for (int v = 0; v < n; v++) shares[v] = &steps[v]->last;
  sum_tiles(t, x, shares, 0, 1, &f->last);
  for (int l = 0; l < x->p->above_holder; l++) {
    if (x->p->loops[l].spatial) continue;
    for (int v = 0; v < n; v++) shares[v] = loom_chain_pairs(&x->chains[v], steps[v], l);
    sum_pairs(t, x, shares, 0, 1, &f->advance[at++]);
  }
  return loom_tally_good(t);
}

/* ---- owners --------------------------------------------------------------------------------- */

/* The next of all combinations, the last place fastest. */
static bool next_choice(const size_t *n, size_t *at, int places) {
  for (int v = places; v-- > 0;) {
    if (++at[v] < n[v]) return true;
    at[v] = 0;
  }
  return false;
}

/* Distinct figures of owners: by the kinds of their variables and their first elements. */
static bool fill_owners(loom_tally *t, loom_grouped *x, int n_advance, const int64_t *first) {
  int n = x->g->n_variables;
  loom_words seen = {.length = (size_t)n + 1};
  size_t *count = loom_tally_new(t, (size_t)n, sizeof *count);
  size_t *at = loom_tally_new(t, (size_t)n, sizeof *at);
  int64_t *word = loom_tally_new(t, (size_t)n + 1, sizeof *word);
  const loom_steps **steps = loom_tally_new(t, (size_t)n, sizeof *steps);
  if (!count || !at || !word || !steps) return false;
  for (int v = 0; v < n; v++) count[v] = first ? x->chains[v].n_owners : x->chains[v].n_kinds;
  size_t owner = 0;
  do {
    for (int v = 0; v < n; v++) {
      size_t kind = first ? x->chains[v].kind[at[v]] : at[v];
      steps[v] = &x->chains[v].of_owner[kind];
      word[v] = (int64_t)kind;
    }
    word[n] = first ? first[owner] : 0;
    int64_t number = loom_words_find(t, &seen, word);
    if (number < 0) return false;
    if ((size_t)number == x->of_owner.n) {
      loom_figures f;
      if (!loom_grouped_figures(t, x, steps, n_advance, &f)) return false;
      f.first = word[n];
      if (!loom_list_push(t, &x->of_owner, f)) return false;
    }
    owner++;
  } while (next_choice(count, at, n));
  return true;
}

bool loom_grouped_count(loom_tally *t, loom_grouped *x, int n_advance, bool owners,
                        bool with_first) {
  int n = x->g->n_variables;
  const loom_steps **steps = loom_tally_new(t, (size_t)n, sizeof *steps);
  if (!steps) return false;
  for (int v = 0; v < n; v++) steps[v] = &x->chains[v].all;
  if (!loom_grouped_figures(t, x, steps, n_advance, &x->all)) return false;
  int64_t *first = NULL;
  if (with_first) {
    size_t n_owners = 1;
    for (int v = 0; v < n; v++) n_owners *= x->chains[v].n_owners;
    first = loom_tally_new(t, n_owners, sizeof *first);
    if (!first || !loom_count_first(t, x, first)) return false;
    for (size_t o = 0; o < n_owners; o++) x->all.first = loom_tally_add(t, x->all.first, first[o]);
  }
  return !owners || fill_owners(t, x, n_advance, first);
}

int64_t loom_grouped_largest(loom_tally *t, loom_grouped *x) {
  int n = x->g->n_variables;
  int64_t largest = 0;
  size_t *count = loom_tally_new(t, (size_t)n, sizeof *count);
  size_t *at = loom_tally_new(t, (size_t)n, sizeof *at);
  if (!count || !at) return 0;
  for (int v = 0; v < n; v++) count[v] = x->chains[v].tiles.n;
  for (int v = 0; v < n; v++)
    if (count[v] == 0) return 0;
  do {
    for (int v = 0; v < n; v++) x->tuple[v] = (int64_t)at[v];
    int64_t size = size_of(t, x, x->tuple);
    if (size > largest) largest = size;
  } while (loom_tally_good(t) && next_choice(count, at, n));
  return largest;
}

bool loom_contents_factor(const loom_numbers *p, const loom_grouped *groups) {
  bool idles = false, overlap = false;
  for (int g = 0; g < p->n_groups; g++) {
    const loom_index_group *group = groups[g].g;
    for (int v = 0; v < group->n_variables; v++) {
      if (groups[g].chains[v].uneven) return false;
      idles = idles || groups[g].chains[v].idles;
    }
    if (groups[g].n_joint > 1 && group->n_ranks > 0 && !loom_index_group_is_partition(p, group))
      overlap = true;
  }
  return !(p->to_one_unit && idles && overlap);
}

/* ---- beginning ------------------------------------------------------------------------------ */

/* Lists the units that are counted together in the order of their indices, outer loops first. */
static bool list_joint(loom_tally *t, loom_grouped *x) {
  int n = x->g->n_variables;
  size_t joint = 1, stride = 1;
  for (int v = 0; v < n; v++) joint *= x->chains[v].n_joined;
  if (!loom_tally_spend(t, joint)) return false;
  x->n_joint = joint;
  x->joint = loom_tally_new(t, joint * (size_t)n, sizeof *x->joint);
  size_t *scale = loom_tally_new(t, (size_t)n, sizeof *scale);
  if (!x->joint || !scale) return false;
  for (int v = 0; v < n; v++) scale[v] = 1;
  for (int l = x->p->above_holder; l-- > 0;)
    for (int v = 0; v < n; v++) {
      const loom_chain *c = &x->chains[v];
      for (int d = 0; d < c->n_loops; d++) {
        if (c->loops[d] != l || c->role[d] != LOOM_ROLE_JOINED) continue;
        size_t units = (size_t)c->units[d];
        for (size_t u = 0; u < joint; u++)
          x->joint[u * (size_t)n + (size_t)v] += (uint32_t)(u / stride % units * scale[v]);
        stride *= units;
        scale[v] *= units;
      }
    }
  return true;
}

bool loom_grouped_begin(loom_tally *t, const loom_numbers *p, const loom_index_group *g,
                        loom_view view, loom_grouped *x) {
  size_t n = (size_t)g->n_variables;
  *x = (loom_grouped){.p = p, .g = g, .tiles.length = n, .pairs.length = n};
  x->chains = loom_tally_new(t, n, sizeof *x->chains);
  x->sets = loom_tally_new(t, n, sizeof *x->sets);
  x->before = loom_tally_new(t, n, sizeof *x->before);
  x->tuple = loom_tally_new(t, n, sizeof *x->tuple);
  if (!x->chains || !x->sets || !x->before || !x->tuple) return false;
  for (size_t v = 0; v < n; v++)
    if (!loom_chain_walk(t, p, g->variables[v], view, &x->chains[v])) return false;
  return list_joint(t, x);
}
