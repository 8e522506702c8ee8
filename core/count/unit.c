/* SPDX-License-Identifier: MIT */
/* What one unit of a holder does: its own traffic and that of what is inside it, together, since the
** unit that has most of one need not have most of the other.
** Invariant: a unit of the holder is an owner inside it: both count the same spatial loops alike. */
#include "count/group.h"

/* The traffic of the holder by unit, or of what is inside it by owner. */
typedef struct side {
  const loom_numbers *p;
  loom_grouped *groups;
  int n_advance;
} side;

/* What a unit's variables of one group come to on both sides. */
typedef struct choice {
  loom_figures own, inside;
} choice;
typedef LOOM_LIST(choice) choices;

typedef struct units {
  loom_tally *t;
  side own, inside;
  unsigned parts;
  bool first, uneven;
  choices *of_group;
} units;

static bool begin_side(units *u, side *s, const loom_numbers *p, loom_view view) {
  s->p = p;
  s->groups = loom_tally_new(u->t, (size_t)p->n_groups + 1, sizeof *s->groups);
  if (!s->groups) return false;
  for (int l = 0; l < p->above_holder; l++) s->n_advance += !p->loops[l].spatial;
  for (int g = 0; g < p->n_groups; g++)
    if (!loom_grouped_begin(u->t, p, &p->groups[g], view, &s->groups[g])) return false;
  u->uneven |= p->retain && !loom_contents_factor(p, s->groups);
  return true;
}

/* ---- choices -------------------------------------------------------------------------------- */

/* The owners of a group's variables; false and LOOM_ERR_ARGUMENT where the sides differ. */
static bool count_owners(units *u, int g, size_t *count, size_t *all) {
  const loom_grouped *own = &u->own.groups[g], *inside = &u->inside.groups[g];
  *all = 1;
  for (int v = 0; v < own->g->n_variables; v++) {
    count[v] = own->chains[v].n_owners;
    *all *= count[v];
    if (inside->chains[v].n_owners != count[v]) u->t->status = LOOM_ERR_ARGUMENT;
  }
  return loom_tally_spend(u->t, *all);
}

static bool first_of(units *u, const loom_grouped *x, bool wanted, size_t n, int64_t **first) {
  *first = loom_tally_new(u->t, n, sizeof **first);
  return *first && (!wanted || loom_count_first(u->t, x, *first));
}

/* The figures of a side's choice of one owner for each variable. */
static bool figures_of(units *u, const side *s, int g, const size_t *at, int64_t first,
                       loom_figures *out) {
  loom_grouped *x = &s->groups[g];
  const loom_steps **steps = loom_tally_new(u->t, (size_t)x->g->n_variables, sizeof *steps);
  if (!steps) return false;
  for (int v = 0; v < x->g->n_variables; v++)
    steps[v] = &x->chains[v].of_owner[x->chains[v].kind[at[v]]];
  bool good = loom_grouped_figures(u->t, x, steps, s->n_advance, out);
  out->first = first;
  return good;
}

static bool list_choices(units *u, int g) {
  loom_grouped *own = &u->own.groups[g], *inside = &u->inside.groups[g];
  size_t n = (size_t)own->g->n_variables, all, owner = 0;
  loom_words seen = {.length = 2 * n + 2};
  size_t *count = loom_tally_new(u->t, n, sizeof *count);
  size_t *at = loom_tally_new(u->t, n, sizeof *at);
  int64_t *word = loom_tally_new(u->t, 2 * n + 2, sizeof *word), *first[2];
  bool inner = u->parts & LOOM_UNIT_READS;
  if (!count || !at || !word || !count_owners(u, g, count, &all) ||
      !first_of(u, own, u->first && !inner, all, &first[0]) ||
      !first_of(u, inside, u->first && inner, all, &first[1]))
    return false;
  for (bool more = true; more; owner++) {
    for (size_t v = 0; v < n; v++) {
      word[v] = (int64_t)own->chains[v].kind[at[v]];
      word[n + v] = (int64_t)inside->chains[v].kind[at[v]];
    }
    word[2 * n] = first[0][owner];
    word[2 * n + 1] = first[1][owner];
    int64_t number = loom_words_find(u->t, &seen, word);
    choice c;
    if (number < 0) return false;
    if ((size_t)number == u->of_group[g].n &&
        (!figures_of(u, &u->own, g, at, first[0][owner], &c.own) ||
         !figures_of(u, &u->inside, g, at, first[1][owner], &c.inside) ||
         !loom_list_push(u->t, &u->of_group[g], c)))
      return false;
    more = false;
    for (size_t v = n; v-- > 0 && !more;) {
      more = ++at[v] < count[v];
      if (!more) at[v] = 0;
    }
  }
  return true;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static int64_t sum_of(loom_tally *t, unsigned parts, loom_crossing own, loom_crossing inside) {
  int64_t sum = 0;
  if (parts & LOOM_UNIT_READS) sum = loom_tally_add(t, sum, inside.reads);
  if (parts & LOOM_UNIT_DEPARTURES) sum = loom_tally_add(t, sum, own.writes);
  if (parts & LOOM_UNIT_DELIVERIES) sum = loom_tally_add(t, sum, own.reads);
  if (parts & LOOM_UNIT_WRITES) sum = loom_tally_add(t, sum, inside.writes);
  return sum;
}

/* The most so far, and the most without first ones. */
typedef struct record {
  int64_t most, net;
} record;

static void take(int64_t sum, int64_t first, record *r) {
  if (sum > r->most) r->most = sum;
  if (sum - first > r->net) r->net = sum - first;
}

static void note(const record *r, int64_t *out) {
  out[LOOM_COUNT_UNIT] = r->most;
  out[LOOM_COUNT_LEAST_UNIT_FIRST] = r->most - r->net;
}

static bool find_most(units *u, int64_t *out) {
  int n = u->own.p->n_groups;
  const loom_figures **own = loom_tally_new(u->t, (size_t)n + 1, sizeof *own);
  const loom_figures **inside = loom_tally_new(u->t, (size_t)n + 1, sizeof *inside);
  size_t *at = loom_tally_new(u->t, (size_t)n + 1, sizeof *at);
  record r = {0, 0};
  if (!own || !inside || !at) return false;
  size_t work = (size_t)(n * (u->own.n_advance + u->inside.n_advance + 2));
  for (bool more = true; more && loom_tally_spend(u->t, work);) {
    for (int g = 0; g < n; g++) {
      own[g] = &u->of_group[g].at[at[g]].own;
      inside[g] = &u->of_group[g].at[at[g]].inside;
    }
    loom_crossing a = loom_crossing_of(u->t, u->own.p, u->own.n_advance, own);
    loom_crossing b = loom_crossing_of(u->t, u->inside.p, u->inside.n_advance, inside);
    take(sum_of(u->t, u->parts, a, b), u->parts & LOOM_UNIT_READS ? b.first : a.first, &r);
    more = false;
    for (int g = 0; g < n && !more; g++) {
      more = ++at[g] < u->of_group[g].n;
      if (!more) at[g] = 0;
    }
  }
  note(&r, out);
  return loom_tally_good(u->t);
}

static bool walk_both(loom_tally *t, const loom_numbers *p, int64_t *out) {
  loom_walked own, inside;
  record r = {0, 0};
  if (!loom_walk_units(t, p, &own) || !loom_walk_units(t, p->inside, &inside)) return false;
  if (own.n_units != inside.n_owners) t->status = LOOM_ERR_ARGUMENT;
  for (size_t i = 0; i < own.n_units && loom_tally_good(t); i++) {
    loom_crossing a = {own.arrived[i], own.departed[i], own.first_arrived[i]};
    loom_crossing b = {inside.reads[i], inside.writes[i], inside.first_reads[i]};
    take(sum_of(t, p->parts, a, b), p->parts & LOOM_UNIT_READS ? b.first : a.first, &r);
  }
  note(&r, out);
  return loom_tally_good(t);
}

/* ---- units ---------------------------------------------------------------------------------- */

/* Which unit gets an old partial sum, and which element of what stays is computed again, does not
** factor. */
static bool must_walk(const loom_numbers *p, unsigned figures) {
  const loom_numbers *sides[2] = {p, p->inside};
  for (int i = 0; i < 2; i++)
    for (int l = 0; l < sides[i]->above_holder; l++) {
      const loom_cut *cut = &sides[i]->loops[l];
      if (sides[i]->retain && cut->anew && (figures & 1u << LOOM_COUNT_LEAST_UNIT_FIRST))
        return true;
      if (i == 0 && p->to_one_unit && (p->parts & LOOM_UNIT_DELIVERIES) && cut->spatial &&
          cut->shared && !cut->outside)
        return true;
    }
  return false;
}

bool loom_count_units(loom_tally *t, const loom_numbers *p, unsigned figures,
                      int64_t out[LOOM_N_COUNT_FIGURES]) {
  units u = {.t = t, .parts = p->parts, .first = figures & 1u << LOOM_COUNT_LEAST_UNIT_FIRST};
  if (must_walk(p, figures)) return walk_both(t, p, out);
  u.of_group = loom_tally_new(t, (size_t)p->n_groups + 1, sizeof *u.of_group);
  if (!u.of_group || !begin_side(&u, &u.own, p, LOOM_VIEW_UNITS) ||
      !begin_side(&u, &u.inside, p->inside, LOOM_VIEW_SHARED))
    return false;
  if (u.uneven) return walk_both(t, p, out);
  for (int g = 0; g < p->n_groups; g++)
    if (!list_choices(&u, g)) return false;
  return find_most(&u, out);
}
