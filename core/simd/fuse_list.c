/* SPDX-License-Identifier: MIT */
/* Lists of like operations, which are launched at once, each on blocks of its own: how units are fused
** group by group (doc/formulas.md#lists).
** Invariant: a member of a unit needs no other member of it. */
#include "simd/fusion.h"

/* The one member of the unit that needs the group or that it needs; -1: none, -2: several. */
static int partner_of(const loom_fusion *f, int unit, const loom_group *g) {
  const loom_unit *u = &f->units[unit];
  int found = -1;
  for (size_t i = 0; i < u->n; i++) {
    const loom_group *member = &f->groups[u->members[i]];
    if (!loom_group_needs(f, member, g) && !loom_group_needs(f, g, member)) continue;
    if (found >= 0) return -2;
    found = u->members[i];
  }
  return found;
}

bool loom_units_pair(const loom_fusion *f, int first, int second, size_t i, loom_unit_pair *out) {
  const loom_unit *u = &f->units[first], *v = &f->units[second];
  if (u->n == v->n) {
    if (i == u->n) return false;
    *out = (loom_unit_pair){&f->groups[u->members[i]], &f->groups[v->members[i]]};
    return true;
  }
  if (i > 0) return false;
  loom_group *a = loom_unit_group(f, first), *b = loom_unit_group(f, second);
  int partner = u->n == 1 ? partner_of(f, second, a) : partner_of(f, first, b);
  if (partner < 0) return false;
  *out = u->n == 1 ? (loom_unit_pair){a, &f->groups[partner]}
                   : (loom_unit_pair){&f->groups[partner], b};
  return true;
}

/* Whether a member of one list needs one of another that it is not fused with. */
static bool crosses(const loom_fusion *f, const loom_unit *u, const loom_unit *v) {
  for (size_t i = 0; i < v->n; i++)
    for (size_t k = 0; k < u->n; k++)
      if (i != k && (loom_group_needs(f, &f->groups[v->members[i]], &f->groups[u->members[k]]) ||
                     loom_group_needs(f, &f->groups[u->members[k]], &f->groups[v->members[i]])))
        return true;
  return false;
}

loom_fuse_reason loom_units_fit(const loom_fusion *f, int first, int second) {
  const loom_unit *u = &f->units[first], *v = &f->units[second];
  if (u->n > 1 && v->n > 1) {
    if (u->n != v->n) return LOOM_FUSE_LIST_LENGTHS_DIFFER;
    return crosses(f, u, v) ? LOOM_FUSE_LIST_MEMBERS_MIXED : LOOM_FUSE_OK;
  }
  int partner = u->n == 1 ? partner_of(f, second, loom_unit_group(f, first))
                          : partner_of(f, first, loom_unit_group(f, second));
  return partner >= 0 ? LOOM_FUSE_OK : LOOM_FUSE_LIST_MEMBERS_MIXED;
}

/* The members of the unit of both, in the order of its list. */
static void join_members(loom_fusion *f, int first, int second) {
  loom_unit *u = &f->units[first];
  const loom_unit *v = &f->units[second], *list = u->n >= v->n ? u : v;
  for (size_t i = 0; i < list->n; i++) {
    list->members[i] = loom_fusion_group(f, list->members[i]);
    f->groups[list->members[i]].unit = first;
  }
  u->members = list->members;
  u->n = list->n;
}

bool loom_fusion_join(loom_fusion *f, int first, int second) {
  loom_unit_pair pair;
  if (!loom_fusion_merge_labels(f, first, second)) return false;
  size_t n = f->units[first].n == f->units[second].n ? f->units[first].n : 1;
  for (size_t i = 0; i < n; i++)
    if (!loom_units_pair(f, first, second, i, &pair) || !loom_group_join(f, pair.a, pair.b))
      return false;
  join_members(f, first, second);
  return true;
}
