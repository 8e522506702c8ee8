/* SPDX-License-Identifier: MIT */
/* How the loops over one variable are looked at for a figure: doc/formulas.md#exact-ways.
** Invariant: where a function says that there is a closed form, the ways it has set give it. */
#include "exact/exact.h"

static bool is_spatial(const loom_analysis *an, int loop) {
  return an->loops[loop].spatial;
}

/* Running loops over a variable that the einsum does not have computes everything again. */
static bool begins_afresh(const loom_analysis *an, int loop) {
  return an->exact->place[loop] < an->exact->outermost &&
         !loom_einsum_has_variable(an->einsum, an->loops[loop].variable);
}

bool loom_loops_overlap(const loom_analysis *an, int variable) {
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++)
    if (an->loops[*l].step != LOOM_NONE) return true;
  return false;
}

bool loom_loops_have_first(const loom_analysis *an, int variable) {
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++)
    if (an->loops[*l].first != LOOM_NONE) return true;
  return false;
}

/* The way of a loop above the holder, the same for all variables; `serves` is set where one value
** serves all units of the loop. */
static loom_way way_above(const loom_analysis *an, const loom_asked *asked, int loop, bool relevant,
                          bool *serves) {
  *serves = false;
  if (an->exact->place[loop] < an->exact->from) return LOOM_WAY_PASS;
  if (asked->tile) return LOOM_WAY_LARGEST;
  if (!is_spatial(an, loop)) {
    bool first = asked->first && !relevant && !begins_afresh(an, loop);
    return first ? LOOM_WAY_FIRST : LOOM_WAY_CUT;
  }
  if (asked->whose == LOOM_OF_BUSIEST_UNIT) return LOOM_WAY_LARGEST;
  if (an->exact->place[loop] < asked->above_parent)
    return asked->whose == LOOM_OF_BUSIEST_PARENT ? LOOM_WAY_LARGEST : LOOM_WAY_CUT;
  *serves = asked->shared && an->exact->reuses[loop];
  return LOOM_WAY_CUT;
}

/* Which unit is busiest is known where no first tile may be smaller than others. */
static bool unknown_busiest(const loom_analysis *an, const loom_asked *asked, int loop,
                            loom_way way) {
  return way == LOOM_WAY_LARGEST && !asked->tile && is_spatial(an, loop) &&
         asked->whose != LOOM_OF_ALL && an->loops[loop].first != LOOM_NONE;
}

/* A visit of several units that are served at once takes place where the one with most to do has
** something to do; so it is with loops that are not above the holder. */
bool loom_take_irrelevant(const loom_analysis *an, const loom_asked *asked, int variable) {
  bool closed = !asked->first || !loom_loops_overlap(an, variable);
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++) {
    bool serves = false;
    loom_way way = LOOM_WAY_LARGEST;
    if (an->exact->place[*l] < asked->above_holder) {
      way = way_above(an, asked, *l, false, &serves);
      if (unknown_busiest(an, asked, *l, way)) closed = false;
    }
    an->exact->ways[*l] = (unsigned char)(serves ? LOOM_WAY_LARGEST : way);
  }
  return closed;
}

/* Units that are served at once have, together, what is around their loop, if no loop inside cuts it
** further; where different points are different elements nothing is shared. */
bool loom_take_relevant(const loom_analysis *an, const loom_asked *asked, const loom_group *g,
                        int variable) {
  bool apart = g->kind == LOOM_SHAPE_PRODUCT && !loom_loops_overlap(an, variable);
  bool closed = g->kind != LOOM_SHAPE_OTHER && (apart || !asked->first), joined = false;
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++) {
    bool serves = false;
    loom_way way = LOOM_WAY_PASS;
    if (an->exact->place[*l] < asked->above_holder) {
      way = way_above(an, asked, *l, true, &serves);
      if (unknown_busiest(an, asked, *l, way)) closed = false;
      if (serves && !apart) {
        way = LOOM_WAY_PASS;
        joined = true;
      } else if (joined) {
        closed = false;
      }
    }
    an->exact->ways[*l] = (unsigned char)way;
  }
  return closed;
}

/* When `loop` goes on, the loops inside start again: what is kept of a variable that the tensor uses
** is its piece if it is the only one. */
bool loom_take_kept(const loom_analysis *an, const loom_asked *asked, int variable, int loop) {
  const loom_exact *ex = an->exact;
  bool relevant = ex->geometry.group_of[variable] >= 0, restarts = false, closed = true;
  for (const int *l = ex->loops_of[variable]; *l >= 0; l++) {
    if (ex->place[*l] >= asked->above_holder || ex->place[*l] < ex->from) continue;
    bool inside = !is_spatial(an, *l) && ex->place[*l] > ex->place[loop];
    if (inside) ex->ways[*l] = (unsigned char)(relevant ? LOOM_WAY_SOLE : LOOM_WAY_FIRST);
    if (relevant && restarts && is_spatial(an, *l)) closed = false;
    restarts = restarts || inside;
  }
  return closed;
}
