/* SPDX-License-Identifier: MIT */
/* Windows of units that are served at once while each walks through a part of its own: neighbours are a
** part apart, and share what their windows reach over (doc/formulas.md#exact-interleaved).
** Invariant: the form holds for one loop in space and one in time inside it, over one variable of a
** group whose boxes touch intervals. */
#include "exact/arith.h"
#include "exact/exact.h"

typedef struct interleaving {
  loom_analysis *an;
  const loom_asked *asked;
  const loom_group *group;
  size_t own;      /* the variable, in the group */
  int space, time; /* its loops */
} interleaving;

static bool is_above(const loom_analysis *an, const loom_asked *asked, int loop) {
  size_t place = an->exact->place[loop];
  return place >= an->exact->from && place < asked->above_holder;
}

static bool is_served(const loom_analysis *an, const loom_asked *asked, int loop) {
  return asked->shared && an->loops[loop].spatial && an->exact->reuses[loop] &&
         an->exact->place[loop] >= asked->above_parent;
}

/* The last two loops over a variable above the holder are one in space, whose units are served at once,
** and one in time; no other one is served. */
static bool find_loops(const loom_analysis *an, const loom_asked *asked, int variable, int *space,
                       int *time) {
  *space = *time = -1;
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++) {
    if (!is_above(an, asked, *l)) continue;
    if (*time >= 0 || an->loops[*l].first != LOOM_NONE || an->loops[*l].step != LOOM_NONE)
      return false;
    if (is_served(an, asked, *l)) {
      if (*space >= 0) return false;
      *space = *l;
    } else if (*space >= 0) {
      if (an->loops[*l].spatial) return false;
      *time = *l;
    }
  }
  return *time >= 0;
}

/* Steps at which units with one extent have a neighbour before them, times what they share with it;
** `inside` is how much of its part a unit has at such a step. */
static loom_expr shared_at(const interleaving *x, loom_expr pairs, loom_expr inside,
                           loom_expr reach) {
  loom_analysis *an = x->an;
  loom_expr apart = loom_sub(an->ctx, an->loops[x->space].tile, inside);
  return loom_times(an, pairs, loom_positive_part(an, loom_sub(an->ctx, reach, apart)));
}

/* What the neighbours in a piece of the variable share, over all steps in it, with windows that reach
** so far beyond what the variable itself covers. */
static loom_expr shared_in(const interleaving *x, loom_expr extent, loom_expr reach) {
  loom_analysis *an = x->an;
  loom_ctx *ctx = an->ctx;
  loom_expr part = an->loops[x->space].tile, tile = an->loops[x->time].tile;
  loom_expr units = loom_floor_div(ctx, extent, part), rest = loom_mod(ctx, extent, part);
  loom_expr whole = loom_floor_div(ctx, part, tile), left = loom_mod(ctx, part, tile);
  loom_expr pairs = loom_positive_part(an, loom_sub(ctx, units, an->one));
  loom_expr has_pair = loom_smaller(an, an->one, units);
  loom_expr steps = loom_ceil(ctx, loom_div(ctx, rest, tile)); /* of the unit with the rest */
  loom_expr steps_whole = loom_smaller(an, steps, whole);
  loom_expr at_whole =
      loom_add(ctx, loom_times(an, pairs, whole), loom_times(an, has_pair, steps_whole));
  loom_expr at_left = loom_add(ctx, loom_times(an, pairs, loom_smaller(an, an->one, left)),
                               loom_times(an, has_pair, loom_sub(ctx, steps, steps_whole)));
  return loom_add(ctx, shared_at(x, at_whole, tile, reach), shared_at(x, at_left, left, reach));
}

/* Views of the variables; of the interleaved one with its two loops taken in one way. */
static bool take_views(const interleaving *x, loom_way own, loom_view **views) {
  loom_analysis *an = x->an;
  for (size_t v = 0; v < x->group->n; v++) {
    bool closed = loom_take_relevant(an, x->asked, x->group, x->group->variables[v]);
    if (v == x->own) {
      an->exact->ways[x->space] = an->exact->ways[x->time] = (unsigned char)own;
    } else if (!closed) {
      return false;
    }
    views[v] = loom_view_of(an, x->group->variables[v]);
    if (!views[v] || !loom_view_pieces(an, views[v])) return false;
  }
  return true;
}

/* The chosen pieces of all variables. */
static loom_expr shared_by(const interleaving *x, loom_view *const *views, const size_t *choice) {
  loom_analysis *an = x->an;
  loom_expr count = an->one, reach = an->zero;
  for (size_t v = 0; v < x->group->n; v++) {
    loom_pieces p = views[v]->pieces[choice[v]];
    count = loom_times(an, count, p.count);
    if (v == x->own) continue;
    count = loom_times(an, count, loom_smaller(an, an->one, p.extent));
    reach = loom_add(an->ctx, reach, loom_sub(an->ctx, p.extent, an->one));
  }
  return loom_times(an, count, shared_in(x, views[x->own]->pieces[choice[x->own]].extent, reach));
}

static bool add_up(const interleaving *x, loom_view *const *views, loom_expr *shared) {
  loom_analysis *an = x->an;
  size_t *choice = loom_arena_array(&an->scratch, x->group->n, sizeof *choice), v = 0;
  if (!choice) return false;
  for (; v < x->group->n; v++)
    if (views[v]->n_pieces == 0) return true;
  do {
    loom_expr here = shared_by(x, views, choice);
    if (here == LOOM_NONE || !loom_accumulate(an, shared, here)) return false;
    for (v = 0; v < x->group->n && ++choice[v] == views[v]->n_pieces; v++) choice[v] = 0;
  } while (v < x->group->n);
  return true;
}

bool loom_interleaved(loom_analysis *an, const loom_asked *asked, const loom_group *g,
                      loom_expr *elements) {
  interleaving x = {.an = an, .asked = asked, .group = g};
  if (asked->first || !loom_group_slides(g)) return false;
  while (x.own < g->n && !find_loops(an, asked, g->variables[x.own], &x.space, &x.time)) x.own++;
  loom_view **views = loom_arena_array(&an->scratch, g->n, sizeof(loom_view *));
  loom_expr shared = an->zero;
  if (x.own == g->n || !views || !take_views(&x, LOOM_WAY_PASS, views) ||
      !add_up(&x, views, &shared) || !take_views(&x, LOOM_WAY_CUT, views))
    return false;
  loom_expr all = loom_group_elements(an, g, views);
  *elements = shared == an->zero ? all : loom_sub(an->ctx, all, shared);
  return true;
}
