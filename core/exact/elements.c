/* SPDX-License-Identifier: MIT */
/* Elements that come to a holder, summed over steps and units: a product over the groups of variables
** of the tensor and over the variables that it does not use (doc/formulas.md#exact-traffic).
** Invariant: a figure is asked once; the same question has the same answer. */
#include "exact/exact.h"

static bool is_spatial(const loom_analysis *an, int loop) {
  return an->loops[loop].spatial;
}

static void find_reuse(loom_analysis *an, const loom_access *access) {
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_path_node *node = &an->path[an->loops[i].at];
    an->exact->reuses[i] =
        an->loops[i].spatial &&
        loom_component_may_reuse(&an->a->components.at[node->component], node->dim,
                                 an->einsum->name, an->w->tensors.at[access->tensor].name);
  }
}

loom_status loom_elements_begin(loom_analysis *an) {
  loom_exact *ex = an->exact;
  ex->place = loom_arena_array(&an->scratch, an->n_loops, sizeof *ex->place);
  ex->reuses = loom_arena_array(&an->scratch, an->n_loops, sizeof *ex->reuses);
  ex->answers = NULL;
  if (!ex->place || !ex->reuses) return loom_failed(an);
  size_t loops = 0;
  bool held = false;
  for (size_t i = 0; i < an->n_nest; i++) {
    const loom_path_node *node = &an->path[an->nest[i].at];
    if (node->node.loop >= 0) {
      ex->place[node->node.loop] = loops++;
    } else if (!held) {
      held = true;
      ex->outermost = loops;
    }
  }
  const loom_access *access = loom_access_of(an, an->access);
  find_reuse(an, access);
  return loom_geometry_of(an, access, &ex->geometry);
}

/* ---- ways --------------------------------------------------------------------------------- */

/* Running loops over a variable that the einsum does not have computes everything again. */
static bool begins_afresh(const loom_analysis *an, int loop) {
  return an->exact->place[loop] < an->exact->outermost &&
         !loom_einsum_has_variable(an->einsum, an->loops[loop].variable);
}

/* The way of a loop above the holder, the same for all variables; `serves` is set where one value
** serves all units of the loop. */
static loom_way way_above(const loom_analysis *an, const loom_asked *asked, int loop, bool relevant,
                          bool *serves) {
  *serves = false;
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

/* Some loop over the variable has tiles that overlap. */
static bool overlaps(const loom_analysis *an, int variable) {
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++)
    if (an->loops[*l].step != LOOM_NONE) return true;
  return false;
}

/* Which unit is busiest is known where the first tile is not smaller than others. */
static bool unknown_busiest(const loom_analysis *an, const loom_asked *asked, int loop,
                            loom_way way) {
  return way == LOOM_WAY_LARGEST && !asked->tile && is_spatial(an, loop) &&
         asked->whose != LOOM_OF_ALL && an->loops[loop].first != LOOM_NONE;
}

/* Ways of the loops over a variable that the tensor does not use: a visit of several units that are
** served at once takes place where the one with most to do has something to do, and so do those of
** loops that are not above the holder. */
static bool take_irrelevant(loom_analysis *an, const loom_asked *asked, int variable) {
  bool closed = !asked->first || !overlaps(an, variable);
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

/* Ways of the loops over a variable of a group.  Units that are served at once have, together, what
** is around their loop, if no loop inside cuts it further; where different points are different
** elements nothing is shared. */
static bool take_relevant(loom_analysis *an, const loom_asked *asked, const loom_group *g,
                          int variable) {
  bool apart = g->kind == LOOM_SHAPE_PRODUCT && !overlaps(an, variable);
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

/* ---- one factor --------------------------------------------------------------------------- */

static loom_expr no_form(loom_analysis *an, const char *what) {
  loom_error_set(an->ctx, LOOM_ERR_LIMIT, "einsum '%s', tensor '%s': no closed form for %s",
                 an->einsum->name, an->w->tensors.at[loom_access_of(an, an->access)->tensor].name,
                 what);
  return LOOM_NONE;
}

static loom_expr visits(loom_analysis *an, const loom_asked *asked, int variable) {
  if (!take_irrelevant(an, asked, variable)) return no_form(an, an->w->variables.at[variable].name);
  loom_view *view = loom_view_of(an, variable);
  return view ? loom_view_number(an, view) : LOOM_NONE;
}

static loom_expr elements_of(loom_analysis *an, const loom_asked *asked, const loom_group *g) {
  bool closed = true;
  for (size_t i = 0; i < g->n; i++)
    if (!take_relevant(an, asked, g, g->variables[i])) closed = false;
  if (!closed) return no_form(an, an->w->variables.at[g->variables[0]].name);
  loom_view **views = loom_arena_array(&an->scratch, g->n, sizeof(loom_view *));
  if (!views) return LOOM_NONE;
  for (size_t i = 0; i < g->n; i++)
    if (!(views[i] = loom_view_of(an, g->variables[i]))) return LOOM_NONE;
  return loom_group_elements(an, g, views);
}

static loom_expr count_elements(loom_analysis *an, const loom_asked *asked) {
  const loom_geometry *geometry = &an->exact->geometry;
  loom_expr product = an->one;
  for (size_t i = 0; i < geometry->n; i++) {
    loom_expr factor = elements_of(an, asked, &geometry->groups[i]);
    if (factor == LOOM_NONE || !loom_multiply(an, &product, factor)) return LOOM_NONE;
  }
  for (size_t v = 0; v < an->w->variables.n; v++) {
    if (geometry->group_of[v] >= 0 || an->exact->loops_of[v][0] < 0) continue;
    loom_expr factor = visits(an, asked, (int)v);
    if (factor == LOOM_NONE || !loom_multiply(an, &product, factor)) return LOOM_NONE;
  }
  return product;
}

static bool same_question(const loom_asked *a, const loom_asked *b) {
  return a->above_parent == b->above_parent && a->above_holder == b->above_holder &&
         a->whose == b->whose && a->shared == b->shared && a->first == b->first &&
         a->tile == b->tile;
}

/* Distinctions that make no difference are left out: whose, and whether shared, where no spatial loop
** is. */
static loom_asked simplest(const loom_analysis *an, loom_asked asked) {
  bool above = false, between = false, served = false;
  for (size_t i = 0; i < an->n_loops; i++) {
    if (!is_spatial(an, (int)i) || an->exact->place[i] >= asked.above_holder) continue;
    bool outside = an->exact->place[i] < asked.above_parent;
    above = above || outside;
    between = between || !outside;
    served = served || (!outside && an->exact->reuses[i]);
  }
  if (!served || asked.whose == LOOM_OF_BUSIEST_UNIT) asked.shared = false;
  if (!between && asked.whose == LOOM_OF_BUSIEST_UNIT) asked.whose = LOOM_OF_BUSIEST_PARENT;
  if (!above && asked.whose == LOOM_OF_BUSIEST_PARENT) asked.whose = LOOM_OF_ALL;
  if (!asked.shared && asked.whose != LOOM_OF_BUSIEST_PARENT) asked.above_parent = 0;
  return asked;
}

loom_expr loom_elements(loom_analysis *an, const loom_asked *question) {
  loom_exact *ex = an->exact;
  loom_asked asked = simplest(an, *question);
  for (const loom_answered *a = ex->answers; a; a = a->next)
    if (same_question(&a->asked, &asked)) return a->value;
  loom_answered *answer = loom_arena_new(&an->scratch, sizeof *answer);
  if (!answer) return LOOM_NONE;
  *answer = (loom_answered){ex->answers, asked, count_elements(an, &asked)};
  ex->answers = answer;
  return answer->value;
}
