/* SPDX-License-Identifier: MIT */
/* Elements that come to a holder, summed over steps and units: a product over the groups of variables
** of the tensor and over the variables that it does not use (doc/formulas.md#exact-traffic).
** Invariant: a figure is asked once; the same question has the same answer. */
#include "exact/exact.h"

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

/* ---- one factor --------------------------------------------------------------------------- */

static loom_expr visits(loom_analysis *an, const loom_asked *asked, int variable) {
  if (!loom_take_irrelevant(an, asked, variable))
    return loom_counted(an, asked, &(loom_access){0}, 1, &variable);
  loom_view *view = loom_view_of(an, variable);
  return view ? loom_view_number(an, view) : LOOM_NONE;
}

loom_expr loom_elements_of_group(loom_analysis *an, const loom_asked *asked, const loom_group *g) {
  bool closed = true;
  for (size_t i = 0; i < g->n; i++)
    if (!loom_take_relevant(an, asked, g, g->variables[i])) closed = false;
  loom_expr elements;
  if (!closed && loom_interleaved(an, asked, g, &elements)) return elements;
  if (loom_error_status(an->ctx) != LOOM_OK) return LOOM_NONE;
  if (!closed) return loom_counted(an, asked, &g->access, g->n, g->variables);
  loom_view **views = loom_arena_array(&an->scratch, g->n, sizeof(loom_view *));
  if (!views) return LOOM_NONE;
  for (size_t i = 0; i < g->n; i++)
    if (!(views[i] = loom_view_of(an, g->variables[i]))) return LOOM_NONE;
  return loom_group_elements(an, g, views);
}

static bool changes(const loom_analysis *an, const loom_asked *asked, int variable) {
  loom_group one = {.n = 1, .variables = &variable};
  return loom_group_changes(an, &one, an->exact->from, asked->above_holder);
}

/* The product over groups and variables; `still`: of those alone whose tiles do not change. */
static loom_expr count_elements(loom_analysis *an, const loom_asked *asked, bool still) {
  const loom_geometry *geometry = &an->exact->geometry;
  loom_expr product = an->one;
  for (size_t i = 0; i < geometry->n; i++) {
    if (still && loom_group_changes(an, &geometry->groups[i], an->exact->from, asked->above_holder))
      continue;
    loom_expr factor = loom_elements_of_group(an, asked, &geometry->groups[i]);
    if (factor == LOOM_NONE || !loom_multiply(an, &product, factor)) return LOOM_NONE;
  }
  for (size_t v = 0; v < an->w->variables.n; v++) {
    if (geometry->group_of[v] >= 0 || an->exact->loops_of[v][0] < 0) continue;
    if (still && changes(an, asked, (int)v)) continue;
    loom_expr factor = visits(an, asked, (int)v);
    if (factor == LOOM_NONE || !loom_multiply(an, &product, factor)) return LOOM_NONE;
  }
  return product;
}

/* The same without what is kept from visit to visit. */
static loom_expr count_arrivals(loom_analysis *an, const loom_asked *asked) {
  loom_expr kept = an->zero;
  bool closed = !(asked->retain && asked->first);
  if (asked->retain && closed && loom_kept_elements(an, asked, &closed, &kept) != LOOM_OK)
    return LOOM_NONE;
  loom_expr all = count_elements(an, asked, !closed);
  if (all == LOOM_NONE || kept == LOOM_NONE) return LOOM_NONE;
  if (closed) return kept == an->zero ? all : loom_expand(an->ctx, loom_sub(an->ctx, all, kept));
  loom_expr changing = loom_counted_together(an, asked);
  return changing != LOOM_NONE && loom_multiply(an, &all, changing) ? all : LOOM_NONE;
}

static bool same_question(const loom_asked *a, const loom_asked *b) {
  return a->above_parent == b->above_parent && a->above_holder == b->above_holder &&
         a->whose == b->whose && a->shared == b->shared && a->first == b->first &&
         a->tile == b->tile && a->retain == b->retain && a->leaves == b->leaves;
}

/* Some temporal loop runs again over what was computed. */
static bool computes_again(const loom_analysis *an) {
  for (size_t i = 0; i < an->n_loops; i++)
    if (!an->loops[i].spatial && an->exact->place[i] < an->exact->outermost &&
        (an->loops[i].step != LOOM_NONE ||
         !loom_einsum_has_variable(an->einsum, an->loops[i].variable)))
      return true;
  return false;
}

/* Distinctions that make no difference are left out: whose, and whether shared, where no spatial loop
** is. */
static loom_asked simplest(const loom_analysis *an, loom_asked asked) {
  bool above = false, between = false, served = false;
  for (size_t i = 0; i < an->n_loops; i++) {
    size_t place = an->exact->place[i];
    if (!an->loops[i].spatial || place >= asked.above_holder || place < an->exact->from) continue;
    bool outside = place < asked.above_parent;
    above = above || outside;
    between = between || !outside;
    served = served || (!outside && an->exact->reuses[i]);
  }
  if (asked.tile || (asked.first && !computes_again(an))) asked.retain = false;
  if (!asked.retain) asked.leaves = false;
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
  *answer = (loom_answered){ex->answers, asked, count_arrivals(an, &asked)};
  ex->answers = answer;
  return answer->value;
}
