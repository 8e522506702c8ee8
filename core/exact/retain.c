/* SPDX-License-Identifier: MIT */
/* What a unit still has from its last visit when contents are retained: doc/formulas.md#exact-retain.
** Invariant: two visits that follow each other differ in one loop that goes on and those inside it
** that start again. */
#include "exact/exact.h"

/* Pieces of the loop's own variable at which it goes on: all but the first. */
static loom_expr goings_on(loom_analysis *an, int variable, int loop) {
  unsigned char *way = &an->exact->ways[loop];
  loom_view *view = loom_view_of(an, variable);
  *way = LOOM_WAY_FIRST;
  loom_view *begun = view ? loom_view_of(an, variable) : NULL;
  if (!begun) return LOOM_NONE;
  return loom_sub(an->ctx, loom_view_number(an, view), loom_view_number(an, begun));
}

/* What is kept, of one variable, when the loop goes on. */
static loom_status kept_of(loom_analysis *an, const loom_asked *asked, int variable, int loop,
                           bool *closed, loom_expr *kept) {
  int group = an->exact->geometry.group_of[variable];
  bool known = group < 0
                   ? loom_take_irrelevant(an, asked, variable)
                   : loom_take_relevant(an, asked, &an->exact->geometry.groups[group], variable);
  if (!loom_take_kept(an, asked, variable, loop)) known = false;
  if (!known) {
    *closed = false;
    return LOOM_OK;
  }
  if (an->loops[loop].variable == variable) {
    *kept = goings_on(an, variable, loop);
  } else {
    loom_view *view = loom_view_of(an, variable);
    *kept = !view ? LOOM_NONE : group < 0 ? loom_view_number(an, view) : loom_view_values(an, view);
  }
  return *kept == LOOM_NONE ? loom_failed(an) : LOOM_OK;
}

/* Where different points are different elements, what is kept is kept variable by variable. */
static bool slides(const loom_analysis *an, size_t group) {
  return an->exact->geometry.groups[group].kind != LOOM_SHAPE_PRODUCT;
}

/* Elements that are kept each time the loop goes on, all variables together. */
static loom_status kept_by(loom_analysis *an, const loom_asked *asked, int loop, bool *closed,
                           loom_expr *kept) {
  const loom_geometry *geometry = &an->exact->geometry;
  *kept = an->one;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    int group = geometry->group_of[v];
    if (group < 0 ? an->exact->loops_of[v][0] < 0 : slides(an, (size_t)group)) continue;
    loom_expr factor = LOOM_NONE;
    loom_status status = kept_of(an, asked, (int)v, loop, closed, &factor);
    if (status != LOOM_OK || !*closed) return status;
    if (!loom_multiply(an, kept, factor)) return loom_failed(an);
  }
  for (size_t g = 0; g < geometry->n; g++) {
    if (!slides(an, g)) continue;
    loom_expr factor = LOOM_NONE;
    loom_status status =
        loom_kept_by_sliding(an, asked, &geometry->groups[g], loop, closed, &factor);
    if (status != LOOM_OK || !*closed) return status;
    if (!loom_multiply(an, kept, factor)) return loom_failed(an);
  }
  return LOOM_OK;
}

static bool has_form(const loom_analysis *an) {
  const loom_geometry *geometry = &an->exact->geometry;
  for (size_t g = 0; g < geometry->n; g++)
    if (slides(an, g) && !loom_group_slides(&geometry->groups[g])) return false;
  for (size_t v = 0; v < an->w->variables.n; v++)
    if (loom_loops_overlap(an, (int)v) || loom_loops_have_first(an, (int)v)) return false;
  return true;
}

loom_status loom_kept_elements(loom_analysis *an, const loom_asked *asked, bool *closed,
                               loom_expr *kept) {
  *kept = an->zero;
  *closed = has_form(an);
  for (size_t l = 0; l < an->n_loops && *closed; l++) {
    const loom_loop *loop = &an->loops[l];
    bool goes_on = !loop->spatial && an->exact->place[l] < asked->above_holder &&
                   an->exact->place[l] >= an->exact->from;
    int group = an->exact->geometry.group_of[loop->variable];
    if (!goes_on || (group >= 0 && !slides(an, (size_t)group))) continue;
    loom_expr here;
    loom_status status = kept_by(an, asked, (int)l, closed, &here);
    if (status != LOOM_OK) return status;
    if (*closed && !loom_accumulate(an, kept, here)) return loom_failed(an);
  }
  return LOOM_OK;
}
