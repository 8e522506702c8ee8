/* SPDX-License-Identifier: MIT */
/* An order in which the groups may run, kept while they are joined, and the search along what they need
** (doc/formulas.md#fusion).
** Invariant: a group has a larger label than those it needs, so that a search for one goes no further
** back than to its label; in the list of what a group needs each other group comes at most once when
** a search has looked through it. */
#include <stdlib.h>

#include "simd/fusion.h"

#define STEP (INT64_C(1) << 36) /* between labels at first */
enum { SHARE = 8 };             /* of the room before a group that is taken at once */

/* ---- labels ------------------------------------------------------------------------------- */

void loom_fusion_label(loom_fusion *f) {
  int before = -1;
  for (size_t i = 0; i < f->order.n; i++) {
    loom_group *g = &f->groups[f->order.at[i]];
    g->label = (int64_t)(i + 1) * STEP;
    g->before = before;
    g->behind = -1;
    if (before >= 0) f->groups[before].behind = f->order.at[i];
    before = f->order.at[i];
  }
  f->first = f->order.n > 0 ? f->order.at[0] : -1;
}

/* Labels with room between them, in the order there is. */
static void spread(loom_fusion *f) {
  int64_t label = 0;
  for (int i = f->first; i >= 0; i = f->groups[i].behind) f->groups[i].label = label += STEP;
}

static void unlink_group(loom_fusion *f, int group) {
  loom_group *g = &f->groups[group];
  if (g->before >= 0)
    f->groups[g->before].behind = g->behind;
  else
    f->first = g->behind;
  if (g->behind >= 0) f->groups[g->behind].before = g->before;
}

static void link_before(loom_fusion *f, int group, int other) {
  loom_group *g = &f->groups[group], *o = &f->groups[other];
  g->before = o->before;
  g->behind = other;
  if (o->before >= 0)
    f->groups[o->before].behind = group;
  else
    f->first = group;
  o->before = group;
}

static int64_t label_before(const loom_fusion *f, int group) {
  int before = f->groups[group].before;
  return before >= 0 ? f->groups[before].label : 0;
}

static int by_label(const void *one, const void *other) {
  const int64_t *a = one, *b = other;
  return *a < *b ? -1 : *a > *b;
}

/* Puts the visited groups before another, in the order they have. */
static bool move_visited(loom_fusion *f, int other) {
  size_t n = f->visited.n;
  if (n == 0) return true;
  if (!loom_vec_reserve(f->ctx, &f->moves, n)) return false;
  for (size_t i = 0; i < n; i++) {
    int group = f->visited.at[i];
    f->moves.at[i] = (loom_fuse_move){f->groups[group].label, group};
  }
  qsort(f->moves.at, n, sizeof *f->moves.at, by_label);
  for (size_t i = 0; i < n; i++) unlink_group(f, f->moves.at[i].group);
  int64_t room = f->groups[other].label - label_before(f, other);
  if (room / SHARE / (int64_t)(n + 1) == 0) {
    spread(f);
    room = f->groups[other].label - label_before(f, other);
  }
  int64_t step = room / SHARE / (int64_t)(n + 1), label = label_before(f, other);
  bool fits = step > 0;
  for (size_t i = 0; i < n; i++) {
    link_before(f, f->moves.at[i].group, other);
    f->groups[f->moves.at[i].group].label = label += step;
  }
  if (!fits) spread(f);
  return true;
}

bool loom_fusion_merge_labels(loom_fusion *f, int a, int b) {
  bool swapped = f->groups[a].label > f->groups[b].label;
  int early = swapped ? b : a, late = swapped ? a : b;
  loom_fuse_path path;
  if (!loom_fusion_path(f, early, late, &path) || !move_visited(f, early)) return false;
  unlink_group(f, late);
  if (!swapped) return true;
  link_before(f, a, b);
  f->groups[a].label = f->groups[b].label;
  unlink_group(f, b);
  return true;
}

/* ---- search ------------------------------------------------------------------------------- */

bool loom_fusion_need(loom_fusion *f, loom_group *g, int op) {
  int place = (int)f->needs.n;
  if (!loom_vec_push(f->ctx, &f->needs, ((loom_fuse_need){op, -1}))) return false;
  if (g->needs < 0)
    g->needs = place;
  else
    f->needs.at[g->last_need].next = place;
  g->last_need = place;
  return true;
}

/* The groups that a group needs, to the end of the trail; its list loses what it has no more. */
static bool push_needs(loom_fusion *f, int group) {
  loom_group *g = &f->groups[group];
  int kept = -1;
  g->listed = ++f->listing;
  for (int i = g->needs; i >= 0; i = f->needs.at[i].next) {
    int need = loom_fusion_group(f, f->needs.at[i].op);
    if (f->groups[need].listed == f->listing) continue;
    f->groups[need].listed = f->listing;
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
  int64_t label = f->groups[a].label;
  *out = (loom_fuse_path){0};
  f->visited.n = f->trail.n = 0;
  if (f->groups[b].label < label) return true;
  for (int top = b;; top = f->trail.at[--f->trail.n]) {
    size_t n = 0;
    if (top != b && !loom_vec_push(f->ctx, &f->visited, top)) return false;
    size_t from = f->trail.n;
    if (!push_needs(f, top)) return false;
    for (size_t i = from; i < f->trail.n; i++) {
      loom_group *need = &f->groups[f->trail.at[i]];
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

bool loom_fusion_depends(const loom_fusion *f, int a, int b) {
  for (int op = f->groups[b].first; op >= 0; op = f->next[op])
    for (int on = f->groups[a].first; on >= 0; on = f->next[on])
      if (loom_graph_depends(f->graph, op, on)) return true;
  return false;
}
