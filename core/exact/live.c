/* SPDX-License-Identifier: MIT */
/* The least that a holder must have at one time: doc/formulas.md#exact-fewest-live.
** Invariant: units below a holder run in step, and what one of them still needs is there. */
#include "exact/exact.h"

#include <string.h>

/* One visit being looked into, from the outside in. */
typedef struct descent {
  size_t above; /* loops above the holder */
  loom_expr values;
} descent;

static bool is_below(const loom_analysis *an, const descent *d, size_t loop) {
  return an->exact->place[loop] >= d->above;
}

static bool is_relevant(const loom_analysis *an, size_t loop) {
  return an->exact->geometry.group_of[an->loops[loop].variable] >= 0;
}

/* Values of the tensor with the loops as they are taken now. */
static loom_expr values_now(loom_analysis *an) {
  loom_expr product = an->one;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    if (an->exact->geometry.group_of[v] < 0) continue;
    loom_view *view = loom_view_of(an, (int)v);
    loom_expr values = view ? loom_view_values(an, view) : LOOM_NONE;
    if (values == LOOM_NONE || !loom_multiply(an, &product, values)) return LOOM_NONE;
  }
  return product;
}

/* How often a loop runs in the largest visit. */
static loom_expr trips(loom_analysis *an, size_t loop) {
  unsigned char *ways = an->exact->ways, kept = ways[loop];
  ways[loop] = LOOM_WAY_CUT;
  loom_view *view = loom_view_of(an, an->loops[loop].variable);
  loom_expr n = view ? loom_view_number(an, view) : LOOM_NONE;
  ways[loop] = kept;
  return n;
}

/* Iterations of a loop that the tensor uses touch different parts, one at a time; units, different
** parts at the same time.  A loop that it does not use needs all again, if it runs again. */
static loom_expr live_from(loom_analysis *an, const descent *d, size_t at) {
  loom_exact *ex = an->exact;
  for (; at < an->n_loops; at++) {
    if (!is_below(an, d, at)) continue;
    bool spatial = an->loops[at].spatial;
    if (is_relevant(an, at)) {
      ex->ways[at] = spatial ? LOOM_WAY_CUT : LOOM_WAY_LARGEST;
      continue;
    }
    ex->ways[at] = LOOM_WAY_LARGEST;
    if (spatial) continue;
    loom_expr n = trips(an, at);
    if (n == LOOM_NONE) return LOOM_NONE;
    if (n == an->one) continue;
    loom_expr whole = values_now(an);
    if (whole == LOOM_NONE || loom_facts_of(an->ctx, n).lo >= 2) return whole;
    loom_expr part = live_from(an, d, at + 1);
    for (size_t i = at + 1; i < an->n_loops; i++)
      if (is_below(an, d, i)) ex->ways[i] = LOOM_WAY_PASS;
    return part == whole ? whole : loom_select(an->ctx, loom_eq(an->ctx, n, an->one), part, whole);
  }
  return values_now(an);
}

static bool has_form(const loom_analysis *an) {
  const loom_geometry *geometry = &an->exact->geometry;
  for (size_t g = 0; g < geometry->n; g++)
    if (geometry->groups[g].kind != LOOM_SHAPE_PRODUCT) return false;
  for (size_t i = 0; i < an->n_loops; i++)
    if (an->loops[i].step != LOOM_NONE || an->loops[i].first != LOOM_NONE) return false;
  return true;
}

/* What does not change inside a visit is there all the time. */
static loom_expr count_live(loom_analysis *an, size_t above_holder) {
  const loom_geometry *geometry = &an->exact->geometry;
  loom_expr product = loom_counted_live(an, above_holder);
  loom_asked asked = {.above_holder = above_holder, .tile = true};
  for (size_t g = 0; g < geometry->n && product != LOOM_NONE; g++) {
    if (loom_group_changes(an, &geometry->groups[g], above_holder, an->n_loops)) continue;
    loom_expr tile = loom_elements_of_group(an, &asked, &geometry->groups[g]);
    if (tile == LOOM_NONE || !loom_multiply(an, &product, tile)) return LOOM_NONE;
  }
  return product;
}

bool loom_fewest_live(loom_analysis *an, size_t above_holder, loom_expr *live) {
  descent d = {.above = above_holder};
  if (!has_form(an)) {
    *live = count_live(an, above_holder);
    if (*live != LOOM_NONE || loom_error_status(an->ctx) != LOOM_ERR_LIMIT)
      return *live != LOOM_NONE;
    loom_error_clear(an->ctx);
    return true;
  }
  for (size_t i = 0; i < an->n_loops; i++)
    an->exact->ways[i] = is_below(an, &d, i) || an->exact->place[i] < an->exact->from
                             ? LOOM_WAY_PASS
                             : LOOM_WAY_LARGEST;
  *live = live_from(an, &d, 0);
  return *live != LOOM_NONE;
}
