/* SPDX-License-Identifier: MIT */
/* An order in which the units may run, kept while they are joined, and the search along what they need
** (doc/formulas.md#fusion).
** Invariant: a group has a larger label than those it needs, so that a search for one goes no further
** back than to its label; in the list of what a unit needs each other comes at most once when
** a search has looked through it. */
#include <stdlib.h>

#include "simd/fusion.h"

#define STEP (INT64_C(1) << 36) /* between labels at first */
enum { SHARE = 8 };             /* of the room before a unit that is taken at once */

/* ---- labels ------------------------------------------------------------------------------- */

void loom_fusion_label(loom_fusion *f) {
  int before = -1;
  for (size_t i = 0; i < f->order.n; i++) {
    loom_unit *g = &f->units[f->order.at[i]];
    g->label = (int64_t)(i + 1) * STEP;
    g->before = before;
    g->behind = -1;
    if (before >= 0) f->units[before].behind = f->order.at[i];
    before = f->order.at[i];
  }
  f->first = f->order.n > 0 ? f->order.at[0] : -1;
}

/* Labels with room between them, in the order there is. */
static void spread(loom_fusion *f) {
  int64_t label = 0;
  for (int i = f->first; i >= 0; i = f->units[i].behind) f->units[i].label = label += STEP;
}

static void unlink_unit(loom_fusion *f, int unit) {
  loom_unit *g = &f->units[unit];
  if (g->before >= 0)
    f->units[g->before].behind = g->behind;
  else
    f->first = g->behind;
  if (g->behind >= 0) f->units[g->behind].before = g->before;
}

static void link_before(loom_fusion *f, int unit, int other) {
  loom_unit *g = &f->units[unit], *o = &f->units[other];
  g->before = o->before;
  g->behind = other;
  if (o->before >= 0)
    f->units[o->before].behind = unit;
  else
    f->first = unit;
  o->before = unit;
}

static int64_t label_before(const loom_fusion *f, int unit) {
  int before = f->units[unit].before;
  return before >= 0 ? f->units[before].label : 0;
}

static int by_label(const void *one, const void *other) {
  const int64_t *a = one, *b = other;
  return *a < *b ? -1 : *a > *b;
}

/* Puts the visited units before another, in the order they have. */
static bool move_visited(loom_fusion *f, int other) {
  size_t n = f->visited.n;
  if (n == 0) return true;
  if (!loom_vec_reserve(f->ctx, &f->moves, n)) return false;
  for (size_t i = 0; i < n; i++) {
    int unit = f->visited.at[i];
    f->moves.at[i] = (loom_fuse_move){f->units[unit].label, unit};
  }
  qsort(f->moves.at, n, sizeof *f->moves.at, by_label);
  for (size_t i = 0; i < n; i++) unlink_unit(f, f->moves.at[i].unit);
  int64_t room = f->units[other].label - label_before(f, other);
  if (room / SHARE / (int64_t)(n + 1) == 0) {
    spread(f);
    room = f->units[other].label - label_before(f, other);
  }
  int64_t step = room / SHARE / (int64_t)(n + 1), label = label_before(f, other);
  bool fits = step > 0;
  for (size_t i = 0; i < n; i++) {
    link_before(f, f->moves.at[i].unit, other);
    f->units[f->moves.at[i].unit].label = label += step;
  }
  if (!fits) spread(f);
  return true;
}

static void join_needs(loom_fusion *f, loom_unit *a, const loom_unit *b) {
  if (b->needs < 0) return;
  if (a->needs < 0)
    a->needs = b->needs;
  else
    f->needs.at[a->last_need].next = b->needs;
  a->last_need = b->last_need;
}

bool loom_fusion_merge_labels(loom_fusion *f, int a, int b) {
  bool swapped = f->units[a].label > f->units[b].label;
  int early = swapped ? b : a, late = swapped ? a : b;
  loom_fuse_path path;
  if (!loom_fusion_path(f, early, late, &path) || !move_visited(f, early)) return false;
  join_needs(f, &f->units[a], &f->units[b]);
  unlink_unit(f, late);
  if (!swapped) return true;
  link_before(f, a, b);
  f->units[a].label = f->units[b].label;
  unlink_unit(f, b);
  return true;
}

/* ---- search ------------------------------------------------------------------------------- */

bool loom_fusion_need(loom_fusion *f, int unit, int op) {
  loom_unit *g = &f->units[unit];
  int place = (int)f->needs.n;
  if (!loom_vec_push(f->ctx, &f->needs, ((loom_fuse_need){op, -1}))) return false;
  if (g->needs < 0)
    g->needs = place;
  else
    f->needs.at[g->last_need].next = place;
  g->last_need = place;
  return true;
}

/* The units that a unit needs, to the end of the trail; its list loses what it has no more. */
static bool push_needs(loom_fusion *f, int unit) {
  loom_unit *g = &f->units[unit];
  int kept = -1;
  g->listed = ++f->listing;
  for (int i = g->needs; i >= 0; i = f->needs.at[i].next) {
    int need = loom_fusion_unit(f, f->needs.at[i].op);
    if (f->units[need].listed == f->listing) continue;
    f->units[need].listed = f->listing;
    if (!loom_vec_push(f->ctx, &f->trail, need)) return false;
    if (kept < 0)
      g->needs = i;
    else
      f->needs.at[kept].next = i;
    kept = i;
  }
  if (kept < 0)
    g->needs = -1;
  else
    f->needs.at[kept].next = -1;
  g->last_need = kept;
  return true;
}

bool loom_fusion_path(loom_fusion *f, int a, int b, loom_fuse_path *out) {
  uint32_t mark = ++f->search;
  int64_t label = f->units[a].label;
  *out = (loom_fuse_path){0};
  f->visited.n = f->trail.n = 0;
  if (f->units[b].label < label) return true;
  for (int top = b;; top = f->trail.at[--f->trail.n]) {
    size_t n = 0;
    if (top != b && !loom_vec_push(f->ctx, &f->visited, top)) return false;
    size_t from = f->trail.n;
    if (!push_needs(f, top)) return false;
    for (size_t i = from; i < f->trail.n; i++) {
      loom_unit *need = &f->units[f->trail.at[i]];
      if (f->trail.at[i] == a) {
        *(top == b ? &out->direct : &out->between) = true;
      } else if (need->label > label && need->mark != mark) {
        need->mark = mark;
        f->trail.at[from + n++] = f->trail.at[i];
      }
    }
    f->trail.n = from + n;
    if (out->between || f->trail.n == 0) return true;
  }
}

static bool group_depends(const loom_fusion *f, const loom_group *b, const loom_group *a) {
  for (int op = b->first; op >= 0; op = f->next[op])
    for (int on = a->first; on >= 0; on = f->next[on])
      if (loom_graph_depends(f->graph, op, on)) return true;
  return false;
}

bool loom_fusion_depends(const loom_fusion *f, int a, int b) {
  const loom_unit *u = &f->units[a], *v = &f->units[b];
  for (size_t i = 0; i < v->n; i++)
    for (size_t k = 0; k < u->n; k++)
      if (group_depends(f, &f->groups[v->members[i]], &f->groups[u->members[k]])) return true;
  return false;
}
