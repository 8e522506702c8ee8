/* SPDX-License-Identifier: MIT */
/* What a window that slides keeps: the overlap of the intervals of elements that two visits touch, one
** after the other (doc/formulas.md#exact-retain).
** Invariant: each variable of the group has index coefficient 1 or -1 in one rank, so that a box of
** them touches an interval. */
#include "exact/arith.h"
#include "exact/exact.h"

/* A piece of a variable before and after a loop goes on, from where the loops around it begin.  Of the
** loop's own variable the last change of each piece may be to a shorter one: it follows the others,
** and `both` is how often either happens (LOOM_NONE: there is no shorter one). */
typedef struct change {
  loom_expr old_start, old_extent, new_start, new_extent, count, both;
} change;

/* The changes of one variable. */
typedef struct changes {
  change *at;
  size_t n;
} changes;

typedef struct slide {
  loom_analysis *an;
  const loom_asked *asked;
  const loom_group *group;
  int loop; /* goes on */
} slide;

static bool is_above(const slide *s, int loop) {
  size_t place = s->an->exact->place[loop];
  return place >= s->an->exact->from && place < s->asked->above_holder;
}

/* The loop starts again when the sliding one goes on. */
static bool restarts(const slide *s, int loop) {
  return is_above(s, loop) && !s->an->loops[loop].spatial &&
         s->an->exact->place[loop] > s->an->exact->place[s->loop];
}

/* A spatial loop over the variable may stand around its temporal ones that change alone, and serve no
** units at once. */
static bool has_form(const slide *s, int variable) {
  bool moves = false;
  for (const int *l = s->an->exact->loops_of[variable]; *l >= 0; l++) {
    if (!is_above(s, *l)) continue;
    bool between = s->an->exact->place[*l] >= s->asked->above_parent;
    bool served = s->asked->shared && between && s->an->exact->reuses[*l];
    if (s->an->loops[*l].spatial && (moves || served)) return false;
    moves = moves || *l == s->loop || restarts(s, *l);
  }
  return true;
}

/* Takes the loops around what changes; those that change are not looked into. */
static loom_view *around(const slide *s, int variable) {
  loom_take_relevant(s->an, s->asked, s->group, variable);
  for (const int *l = s->an->exact->loops_of[variable]; *l >= 0; l++)
    if (*l == s->loop || restarts(s, *l)) s->an->exact->ways[*l] = LOOM_WAY_PASS;
  return loom_view_of(s->an, variable);
}

/* The first and the last piece that the restarting loops over a variable make of an extent. */
static bool ends_of(const slide *s, int variable, loom_expr extent, change *c) {
  loom_analysis *an = s->an;
  loom_ctx *ctx = an->ctx;
  c->new_extent = c->old_extent = extent;
  c->new_start = c->old_start = an->zero;
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++) {
    if (!restarts(s, *l)) continue;
    loom_expr tile = an->loops[*l].tile;
    loom_expr before = loom_sub(ctx, loom_ceil(ctx, loom_div(ctx, c->old_extent, tile)), an->one);
    loom_expr skipped = loom_times(an, before, tile);
    c->new_extent = loom_whole_tile(an, *l, c->new_extent);
    c->old_start = loom_add(ctx, c->old_start, skipped);
    c->old_extent = loom_sub(ctx, c->old_extent, skipped);
  }
  return c->new_extent != LOOM_NONE && c->old_extent != LOOM_NONE && c->old_start != LOOM_NONE;
}

/* The variable's own loop goes on by a tile: to whole ones, and to what is left. */
static bool go_on(const slide *s, int variable, loom_pieces p, changes *out) {
  loom_analysis *an = s->an;
  loom_ctx *ctx = an->ctx;
  loom_expr tile = an->loops[s->loop].tile;
  loom_expr whole = loom_floor_div(ctx, p.extent, tile), rest = loom_mod(ctx, p.extent, tile);
  loom_expr trips = loom_ceil(ctx, loom_div(ctx, p.extent, tile));
  change full, last;
  if (!ends_of(s, variable, tile, &full) || !ends_of(s, variable, rest, &last)) return false;
  full.new_start = tile;
  full.count = loom_times(an, p.count, loom_larger(an, an->zero, loom_sub(ctx, whole, an->one)));
  full.both = loom_times(an, p.count, loom_larger(an, an->zero, loom_sub(ctx, trips, an->one)));
  if (full.count == LOOM_NONE || full.both == LOOM_NONE) return false;
  if (rest == an->zero) full.both = LOOM_NONE;
  if (full.both != LOOM_NONE || full.count != an->zero) out->at[out->n++] = full;
  if (rest == an->zero) return true;
  change shorter = full;
  shorter.both = LOOM_NONE;
  shorter.new_extent = last.new_extent;
  shorter.count =
      loom_times(an, p.count,
                 loom_times(an, loom_smaller(an, an->one, whole), loom_smaller(an, an->one, rest)));
  out->at[out->n++] = shorter;
  return shorter.count != LOOM_NONE;
}

static bool list_changes(const slide *s, int variable, changes *out) {
  loom_analysis *an = s->an;
  loom_view *view = around(s, variable);
  if (!view || !loom_view_pieces(an, view)) return false;
  out->at = loom_arena_array(&an->scratch, 2 * view->n_pieces, sizeof *out->at);
  if (!out->at) return false;
  for (size_t i = 0; i < view->n_pieces; i++) {
    loom_pieces p = view->pieces[i];
    if (an->loops[s->loop].variable == variable) {
      if (!go_on(s, variable, p, out)) return false;
      continue;
    }
    change *c = &out->at[out->n++];
    *c = (change){.both = LOOM_NONE};
    if (!ends_of(s, variable, p.extent, c)) return false;
    c->count = loom_times(an, p.count, loom_smaller(an, an->one, p.extent));
    if (c->count == LOOM_NONE) return false;
  }
  return true;
}

/* ---- intervals ---------------------------------------------------------------------------- */

static int64_t coefficient(const loom_group *g, int variable) {
  const loom_rank *rank = &g->access.ranks.at[0];
  for (int t = 0; t < rank->n_terms; t++)
    if (rank->terms[t].variable == variable) return rank->terms[t].coefficient;
  return 0;
}

/* Adds the ends of c * (start .. start + extent - 1). */
static void widen(loom_analysis *an, int64_t c, loom_expr start, loom_expr extent, loom_expr *lo,
                  loom_expr *hi) {
  loom_ctx *ctx = an->ctx;
  loom_expr end = loom_add(ctx, start, loom_sub(ctx, extent, an->one));
  *lo = c > 0 ? loom_add(ctx, *lo, start) : loom_sub(ctx, *lo, end);
  *hi = c > 0 ? loom_add(ctx, *hi, end) : loom_sub(ctx, *hi, start);
}

/* Whether a change moves both ends of its interval up (1), down (-1), or neither (0): a loop that goes on
** moves them onwards, loops that restart move them back to the first piece, which does not reach
** beyond the last. */
static int direction(const slide *s, const change *c, size_t v, int64_t sign) {
  int variable = s->group->variables[v], up = sign > 0 ? 1 : -1;
  if (s->an->loops[s->loop].variable == variable) return up;
  bool same = c->old_start == c->new_start && c->old_extent == c->new_extent;
  return same ? 0 : -up;
}

/* Elements that both boxes touch. */
static loom_expr overlap(const slide *s, const changes *list, const size_t *choice) {
  loom_analysis *an = s->an;
  loom_ctx *ctx = an->ctx;
  loom_expr old_lo = an->zero, old_hi = an->zero, new_lo = an->zero, new_hi = an->zero;
  bool up = false, down = false;
  for (size_t v = 0; v < s->group->n; v++) {
    const change *c = &list[v].at[choice[v]];
    int64_t sign = coefficient(s->group, s->group->variables[v]);
    widen(an, sign, c->old_start, c->old_extent, &old_lo, &old_hi);
    widen(an, sign, c->new_start, c->new_extent, &new_lo, &new_hi);
    up = up || direction(s, c, v, sign) > 0;
    down = down || direction(s, c, v, sign) < 0;
  }
  loom_expr hi = up ? down ? loom_smaller(an, old_hi, new_hi) : old_hi : new_hi;
  loom_expr lo = up ? down ? loom_larger(an, old_lo, new_lo) : new_lo : old_lo;
  loom_expr width = loom_sub(ctx, hi, lo);
  return loom_larger(an, an->zero, loom_add(ctx, width, an->one));
}

/* How often the chosen changes come together, that of one variable left out. */
static loom_expr how_often(const slide *s, const changes *list, const size_t *choice,
                           size_t without) {
  loom_expr count = s->an->one;
  for (size_t v = 0; v < s->group->n; v++)
    if (v != without) count = loom_times(s->an, count, list[v].at[choice[v]].count);
  return count;
}

/* The chosen changes; where a change to a shorter piece keeps as many elements as those before it, it
** is taken with them and passed over. */
static bool add_overlap(const slide *s, const changes *list, size_t own, size_t *choice,
                        loom_expr *kept) {
  loom_analysis *an = s->an;
  loom_expr here = overlap(s, list, choice), count = how_often(s, list, choice, own);
  if (own < s->group->n) {
    const change *c = &list[own].at[choice[own]];
    loom_expr times_own = c->count;
    if (c->both != LOOM_NONE) {
      choice[own]++;
      if (overlap(s, list, choice) == here) {
        times_own = c->both;
      } else {
        choice[own]--;
      }
    }
    count = loom_times(an, count, times_own);
  }
  here = loom_times(an, count, here);
  return here != LOOM_NONE && loom_accumulate(an, kept, here);
}

/* Places of variables run through their changes, that of the loop's own variable fastest. */
static bool next_choice(const slide *s, const changes *list, size_t own, size_t *choice) {
  for (size_t i = 0; i < s->group->n; i++) {
    size_t v = own < s->group->n ? (own + i) % s->group->n : i;
    if (++choice[v] < list[v].n) return true;
    choice[v] = 0;
  }
  return false;
}

bool loom_group_slides(const loom_group *g) {
  if (g->kind == LOOM_SHAPE_OTHER || g->access.ranks.n != 1) return false;
  for (size_t v = 0; v < g->n; v++) {
    int64_t c = coefficient(g, g->variables[v]);
    if (c != 1 && c != -1) return false;
  }
  return true;
}

loom_status loom_kept_by_sliding(loom_analysis *an, const loom_asked *asked, const loom_group *g,
                                 int loop, bool *closed, loom_expr *kept) {
  const slide s = {an, asked, g, loop};
  *kept = an->zero;
  for (size_t v = 0; v < g->n; v++)
    if (!has_form(&s, g->variables[v])) *closed = false;
  if (!*closed) return LOOM_OK;
  changes *list = loom_arena_array(&an->scratch, g->n, sizeof *list);
  size_t *choice = loom_arena_array(&an->scratch, g->n, sizeof *choice);
  if (!list || !choice) return loom_failed(an);
  for (size_t v = 0; v < g->n; v++) {
    if (!list_changes(&s, g->variables[v], &list[v])) return loom_failed(an);
    if (list[v].n == 0) return LOOM_OK;
  }
  size_t own = 0;
  while (own < g->n && g->variables[own] != an->loops[loop].variable) own++;
  do {
    if (!add_overlap(&s, list, own, choice, kept)) return loom_failed(an);
  } while (next_choice(&s, list, own, choice));
  return LOOM_OK;
}
