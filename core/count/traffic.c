/* SPDX-License-Identifier: MIT */
/* Traffic of a holder, group by group: tiles, index vectors and units are products over the groups of
** variables, so that sums over them are products of sums (doc/formulas.md#exact-counting).
** Invariant: a group's figures are of its own index vectors and units alone; what is put together
** from them is exact as long as no unit idles before it works (loom_chain.uneven). */
#include <string.h>

#include "count/group.h"

/* All groups in one view. */
typedef struct board {
  loom_tally *t;
  const loom_numbers *p;
  loom_grouped *groups;
  int n_advance; /* temporal loops outside the holder */
  bool with_first;
} board;

loom_crossing loom_crossing_of(loom_tally *t, const loom_numbers *p, int n_advance,
                               const loom_figures *const *of) {
  int n = p->n_groups;
  loom_crossing sum = {1, 1, 1};
  for (int g = 0; g < n; g++) {
    sum.reads = loom_tally_mul(t, sum.reads, of[g]->all);
    sum.writes = loom_tally_mul(t, sum.writes, p->retain ? of[g]->last : of[g]->all);
    sum.first = loom_tally_mul(t, sum.first, of[g]->first);
  }
  for (int l = 0; p->retain && l < n_advance; l++) {
    int64_t kept = 1, gone = 1, stays = 1;
    for (int g = 0; g < n; g++) {
      kept = loom_tally_mul(t, kept, of[g]->advance[l].kept);
      gone = loom_tally_mul(t, gone, of[g]->advance[l].gone);
      stays = loom_tally_mul(t, stays, of[g]->advance[l].stays);
    }
    sum.reads = loom_tally_add(t, sum.reads, -kept);
    sum.writes = loom_tally_add(t, sum.writes, gone - stays);
  }
  return sum;
}

static loom_crossing put_together(board *b, const loom_figures *const *of) {
  return loom_crossing_of(b->t, b->p, b->n_advance, of);
}

/* Of every owner at once. */
static loom_crossing total_of(board *b) {
  const loom_figures **of = loom_tally_new(b->t, (size_t)b->p->n_groups + 1, sizeof *of);
  for (int g = 0; of && g < b->p->n_groups; g++) of[g] = &b->groups[g].all;
  return of ? put_together(b, of) : (loom_crossing){0};
}

/* Most reads and writes of one owner, and by how much most reads are less without first ones. */
static loom_crossing most_of(board *b) {
  int n = b->p->n_groups;
  loom_crossing most = {-1, -1, 0};
  int64_t net = -1;
  const loom_figures **of = loom_tally_new(b->t, (size_t)n + 1, sizeof *of);
  size_t *at = loom_tally_new(b->t, (size_t)n + 1, sizeof *at);
  if (!of || !at) return most;
  for (int g = 0; g < n; g++) of[g] = b->groups[g].of_owner.at;
  for (bool more = true; more && loom_tally_spend(b->t, (size_t)(n * (b->n_advance + 1)));) {
    loom_crossing next = put_together(b, of);
    if (next.reads > most.reads) most.reads = next.reads;
    if (next.reads - next.first > net) net = next.reads - next.first;
    if (next.writes > most.writes) most.writes = next.writes;
    more = false;
    for (int g = 0; g < n && !more; g++) {
      more = ++at[g] < b->groups[g].of_owner.n;
      if (!more) at[g] = 0;
      of[g] = &b->groups[g].of_owner.at[at[g]];
    }
  }
  most.first = most.reads - net;
  return most;
}

static int64_t largest_tile(board *b) {
  int64_t size = 1;
  for (int g = 0; g < b->p->n_groups; g++)
    size = loom_tally_mul(b->t, size, loom_grouped_largest(b->t, &b->groups[g]));
  return size;
}

static bool fill_board(board *b, loom_view view, bool owners, bool *uneven) {
  b->groups = loom_tally_new(b->t, (size_t)b->p->n_groups + 1, sizeof *b->groups);
  if (!b->groups) return false;
  for (int l = 0; l < b->p->above_holder; l++) b->n_advance += !b->p->loops[l].spatial;
  for (int g = 0; g < b->p->n_groups; g++) {
    if (!loom_grouped_begin(b->t, b->p, &b->p->groups[g], view, &b->groups[g])) return false;
  }
  *uneven = !loom_contents_factor(b->p, b->groups);
  if (*uneven && b->p->retain) return true;
  for (int g = 0; g < b->p->n_groups; g++)
    if (!loom_grouped_count(b->t, &b->groups[g], b->n_advance, owners, b->with_first)) return false;
  return true;
}

#define ASKED(figure) (figures & 1u << (figure))
enum {
  OF_SHARED = 1u << LOOM_COUNT_READS | 1u << LOOM_COUNT_WRITES | 1u << LOOM_COUNT_FIRST_READS |
              1u << LOOM_COUNT_MOST_READS | 1u << LOOM_COUNT_MOST_WRITES |
              1u << LOOM_COUNT_LEAST_FIRST_READS,
  OF_UNITS = 1u << LOOM_COUNT_DELIVERIES | 1u << LOOM_COUNT_DEPARTURES |
             1u << LOOM_COUNT_MOST_DELIVERIES | 1u << LOOM_COUNT_MOST_DEPARTURES |
             1u << LOOM_COUNT_FIRST_DELIVERIES | 1u << LOOM_COUNT_LEAST_FIRST_DELIVERIES |
             1u << LOOM_COUNT_TILE,
  OF_FIRST = 1u << LOOM_COUNT_FIRST_READS | 1u << LOOM_COUNT_LEAST_FIRST_READS |
             1u << LOOM_COUNT_FIRST_DELIVERIES | 1u << LOOM_COUNT_LEAST_FIRST_DELIVERIES,
  OF_OWNERS = 1u << LOOM_COUNT_MOST_READS | 1u << LOOM_COUNT_MOST_WRITES |
              1u << LOOM_COUNT_LEAST_FIRST_READS | 1u << LOOM_COUNT_MOST_DELIVERIES |
              1u << LOOM_COUNT_MOST_DEPARTURES | 1u << LOOM_COUNT_LEAST_FIRST_DELIVERIES
};

static bool count_shared(loom_tally *t, const loom_numbers *p, unsigned figures, int64_t *out,
                         bool *uneven) {
  board b = {.t = t, .p = p, .with_first = (figures & OF_FIRST) != 0};
  bool owners = (figures & OF_SHARED & OF_OWNERS) != 0;
  if (!fill_board(&b, LOOM_VIEW_SHARED, owners, uneven)) return false;
  if (*uneven && p->retain) return true;
  loom_crossing total = total_of(&b), most = {0};
  if (owners) most = most_of(&b);
  out[LOOM_COUNT_READS] = total.reads;
  out[LOOM_COUNT_WRITES] = total.writes;
  out[LOOM_COUNT_FIRST_READS] = total.first;
  out[LOOM_COUNT_MOST_READS] = most.reads;
  out[LOOM_COUNT_MOST_WRITES] = most.writes;
  out[LOOM_COUNT_LEAST_FIRST_READS] = most.first;
  if (p->to_one_unit) {
    out[LOOM_COUNT_DELIVERIES] = total.reads;
    out[LOOM_COUNT_FIRST_DELIVERIES] = total.first;
  }
  return loom_tally_good(t);
}

static bool count_units(loom_tally *t, const loom_numbers *p, unsigned figures, int64_t *out,
                        bool *uneven) {
  board b = {.t = t, .p = p, .with_first = (figures & OF_FIRST) != 0};
  bool owners = (figures & OF_UNITS & OF_OWNERS) != 0;
  if (!fill_board(&b, LOOM_VIEW_UNITS, owners, uneven)) return false;
  if (*uneven && p->retain) return true;
  loom_crossing total = total_of(&b), most = {0};
  if (owners) most = most_of(&b);
  if (!p->to_one_unit) {
    out[LOOM_COUNT_DELIVERIES] = total.reads;
    out[LOOM_COUNT_FIRST_DELIVERIES] = total.first;
  }
  out[LOOM_COUNT_DEPARTURES] = total.writes;
  out[LOOM_COUNT_MOST_DELIVERIES] = most.reads;
  out[LOOM_COUNT_LEAST_FIRST_DELIVERIES] = most.first;
  out[LOOM_COUNT_MOST_DEPARTURES] = most.writes;
  if (ASKED(LOOM_COUNT_TILE)) out[LOOM_COUNT_TILE] = largest_tile(&b);
  return loom_tally_good(t);
}

/* Where old partial sums go to the first of the units that share, a unit's own walk does not tell
** what arrives there, unless tiles of units that share are either equal, and nothing idles where the
** first one does not, or have nothing in common.  Walks of the others, which leave steps out, give no
** more: what c has beyond a lies in what c has beyond b and b beyond a. */
static bool units_are_apart(const loom_numbers *p) {
  for (int l = 0; l < p->above_holder; l++) {
    const loom_cut *cut = &p->loops[l];
    bool joined = cut->spatial && cut->shared && !cut->outside;
    for (int g = 0; g < p->n_groups; g++)
      for (int v = 0; v < p->groups[g].n_variables; v++)
        if (joined && p->groups[g].variables[v] == cut->variable && p->groups[g].n_ranks > 0 &&
            !loom_index_group_is_partition(p, &p->groups[g]))
          return false;
    if (cut->first != cut->tile) return false;
  }
  return true;
}

bool loom_count_traffic(loom_tally *t, const loom_numbers *p, unsigned figures,
                        int64_t out[LOOM_N_COUNT_FIGURES]) {
  bool uneven = false, walk = false;
  for (int l = 0; l < p->above_holder; l++)
    walk = walk || (p->retain && p->loops[l].anew && (figures & OF_FIRST));
  unsigned shared = figures & OF_SHARED, units = figures & OF_UNITS;
  if (p->to_one_unit && ASKED(LOOM_COUNT_DELIVERIES)) shared |= 1u << LOOM_COUNT_READS;
  if (p->to_one_unit && ASKED(LOOM_COUNT_FIRST_DELIVERIES)) shared |= 1u << LOOM_COUNT_FIRST_READS;
  if (p->to_one_unit &&
      (ASKED(LOOM_COUNT_MOST_DELIVERIES) || ASKED(LOOM_COUNT_LEAST_FIRST_DELIVERIES)))
    walk = walk || !units_are_apart(p);
  if (!walk && shared && !count_shared(t, p, shared, out, &uneven)) return false;
  if (!walk && !(uneven && p->retain) && units && !count_units(t, p, units, out, &uneven))
    return false;
  if (walk || (uneven && p->retain)) return loom_count_walk(t, p, out);
  return loom_tally_good(t);
}
