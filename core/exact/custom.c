/* SPDX-License-Identifier: MIT */
/* Holders of a kind of their own: the caller's function sees one visit, with the statistics of what is
** inside it, once for each combination of extents that visits have; what it makes of them is summed
** over visits and units (doc/formulas.md#exact-custom).
** Invariant: while a visit is looked at, an->exact stands for its inside; afterwards for the nest. */
#include "exact/exact.h"

#include <string.h>

#define MOST_COMBINATIONS 4096

/* A visit with these extents: statistics before and after the caller's function, innermost buffet
** first, and what marks them. */
typedef struct visit {
  struct visit *next;
  loom_expr *extents; /* by variable of the workload */
  loom_stats before, after;
  loom_frame frames[2];
  loom_kept kept;
} visit;

typedef struct visits {
  loom_analysis *an;
  const loom_holder *holder;
  size_t n_inner; /* buffets inside */
  visit *made;
  size_t n_made;
} visits;

/* ---- one visit ---------------------------------------------------------------------------- */

/* The inside of a visit: its extents are whole, loops around it are not looked into. */
static loom_exact *inside(loom_analysis *an, const loom_holder *h, const loom_expr *extents) {
  loom_exact *ex = loom_arena_new(&an->scratch, sizeof *ex);
  if (!ex) return NULL;
  *ex = *an->exact;
  ex->around = an->exact;
  ex->answers = NULL;
  ex->from = h->above;
  ex->whole = loom_arena_array(&an->scratch, an->w->variables.n, sizeof *ex->whole);
  if (!ex->whole) return NULL;
  for (size_t v = 0; v < an->w->variables.n; v++)
    if (!loom_view_whole(an, &ex->whole[v], extents[v])) return NULL;
  return ex;
}

static bool count_inside(visits *vs, visit *v) {
  loom_analysis *an = vs->an;
  loom_stats *stats = &v->after;
  const loom_holder *h = vs->holder;
  for (size_t i = 0; i < vs->n_inner; i++)
    if (!loom_add_buffet(an, h - vs->n_inner + i, stats)) return false;
  if (!loom_add_empty_buffet(an, h, stats)) return false;
  an->with_compute = true;
  stats->fanout = loom_arena_array(&an->scratch, an->n_fanout, sizeof *stats->fanout);
  stats->first_latency =
      loom_arena_array(&an->scratch, an->n_first_latency, sizeof *stats->first_latency);
  if (!stats->fanout || !stats->first_latency || !loom_count_inside(an, stats)) return false;
  memcpy(v->before.buffets, stats->buffets, stats->n_buffets * sizeof *stats->buffets);
  v->before.n_buffets = stats->n_buffets;
  memcpy(an->extents, v->extents, an->w->variables.n * sizeof *an->extents);
  return loom_analyze_custom(an, h->node, stats);
}

/* Looks at a visit; what it gives stays marked. */
static bool run(visits *vs, visit *v) {
  loom_analysis *an = vs->an;
  loom_exact *outside = an->exact;
  v->kept = (loom_kept){outside->kept, an->w->variables.n, v->extents};
  outside->kept = &v->kept;
  v->frames[0] = (loom_frame){an->frames, &v->before};
  v->frames[1] = (loom_frame){&v->frames[0], &v->after};
  an->frames = &v->frames[1];
  loom_exact *within = inside(an, vs->holder, v->extents);
  if (!within) return false;
  an->exact = within;
  bool good = count_inside(vs, v);
  an->exact = outside;
  return good;
}

static visit *visit_with(visits *vs, const loom_expr *extents) {
  loom_analysis *an = vs->an;
  size_t n = an->w->variables.n, bytes = n * sizeof *extents;
  for (visit *v = vs->made; v; v = v->next)
    if (memcmp(v->extents, extents, bytes) == 0) return v;
  if (vs->n_made++ >= MOST_COMBINATIONS) {
    loom_fail(an, LOOM_ERR_LIMIT, vs->holder->node->source,
              "the visits of '%s' have more than %d combinations of extents",
              vs->holder->node->node.custom, MOST_COMBINATIONS);
    return NULL;
  }
  visit *v = loom_arena_new(&an->scratch, sizeof *v);
  if (!v) return NULL;
  v->extents = loom_arena_array(&an->scratch, n, sizeof *v->extents);
  v->before.buffets = loom_arena_array(&an->scratch, vs->n_inner + 1, sizeof *v->before.buffets);
  v->after.buffets = loom_arena_array(&an->scratch, vs->n_inner + 1, sizeof *v->after.buffets);
  if (!v->extents || !v->before.buffets || !v->after.buffets) return NULL;
  memcpy(v->extents, extents, bytes);
  if (!run(vs, v)) return NULL;
  v->next = vs->made;
  vs->made = v;
  return v;
}

/* ---- sums over visits --------------------------------------------------------------------- */

/* Which visits a field is summed over, and whose. */
static loom_asked question(loom_buffet_field field, bool own) {
  loom_asked asked = {.shared = false};
  switch (field) {
  case LOOM_BUFFET_total_reads_to_parent:
  case LOOM_BUFFET_total_writes_to_parent: asked.shared = own; break;
  case LOOM_BUFFET_total_skipped_first_reads_to_parent:
    asked.shared = own;
    asked.first = true;
    break;
  case LOOM_BUFFET_max_per_parent_reads_to_parent:
  case LOOM_BUFFET_max_per_parent_writes_to_parent:
  case LOOM_BUFFET_min_per_parent_skipped_first_reads_to_parent:
    asked.shared = own;
    asked.whose = own ? LOOM_OF_BUSIEST_PARENT : LOOM_OF_BUSIEST_UNIT;
    asked.first = field == LOOM_BUFFET_min_per_parent_skipped_first_reads_to_parent;
    break;
  case LOOM_BUFFET_max_per_unit_read_actions:
  case LOOM_BUFFET_max_per_unit_write_actions: asked.whose = LOOM_OF_BUSIEST_UNIT; break;
  case LOOM_BUFFET_min_per_unit_skipped_first_read_actions:
  case LOOM_BUFFET_min_per_unit_skipped_first_write_actions:
    asked.whose = LOOM_OF_BUSIEST_UNIT;
    asked.first = true;
    break;
  case LOOM_BUFFET_total_skipped_first_read_actions:
  case LOOM_BUFFET_total_skipped_first_write_actions: asked.first = true; break;
  case LOOM_BUFFET_max_occupancy:
  case LOOM_BUFFET_fewest_live: asked.tile = true; break;
  default: break;
  }
  return asked;
}

/* Extents of the visits that a question is about, by variable. */
static loom_status take_pieces(visits *vs, const loom_asked *asked, loom_view **views) {
  loom_analysis *an = vs->an;
  loom_asked apart = *asked;
  apart.shared = false;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    int group = an->exact->geometry.group_of[v];
    loom_group plain = {.kind = LOOM_SHAPE_PRODUCT};
    bool known = group < 0 ? loom_take_irrelevant(an, asked, (int)v)
                           : loom_take_relevant(an, &apart, &plain, (int)v);
    if (!known)
      return loom_fail(an, LOOM_ERR_LIMIT, vs->holder->node->source,
                       "loops over '%s' with a first tile or a step around '%s' are not counted",
                       an->w->variables.at[v].name, vs->holder->node->node.custom);
    const int *loops = an->exact->loops_of[v];
    size_t n = 0;
    while (loops[n] >= 0) n++;
    while (n > 0 && an->exact->place[loops[n - 1]] >= vs->holder->above)
      an->exact->ways[loops[--n]] = LOOM_WAY_PASS;
    views[v] = loom_view_of(an, (int)v);
    if (!views[v] || !loom_view_pieces(an, views[v])) return loom_failed(an);
  }
  return LOOM_OK;
}

/* The visit with the chosen pieces, and how many there are. */
static visit *chosen(visits *vs, loom_view *const *views, const size_t *choice, loom_expr *count) {
  loom_analysis *an = vs->an;
  size_t n = an->w->variables.n;
  loom_expr *extents = loom_arena_array(&an->scratch, n, sizeof *extents);
  if (!extents) return NULL;
  *count = an->one;
  for (size_t v = 0; v < n; v++) {
    loom_pieces p = views[v]->pieces[choice[v]];
    loom_expr pair[2] = {an->one, p.extent};
    bool may_be_empty = loom_facts_of(an->ctx, p.extent).lo < 1;
    extents[v] = may_be_empty ? loom_max(an->ctx, 2, pair) : p.extent;
    if (may_be_empty && !loom_multiply(an, count, loom_min(an->ctx, 2, pair))) return NULL;
    if (extents[v] == LOOM_NONE || !loom_multiply(an, count, p.count)) return NULL;
  }
  return visit_with(vs, extents);
}

static bool next_choice(size_t n, loom_view *const *views, size_t *choice) {
  for (size_t v = 0; v < n; v++) {
    if (++choice[v] < views[v]->n_pieces) return true;
    choice[v] = 0;
  }
  return false;
}

/* Looks at every visit of a question; adds up one field of one buffet where `into` is given. */
static loom_status go_through(visits *vs, const loom_asked *asked, size_t buffet,
                              loom_buffet_field field, loom_expr *into) {
  loom_analysis *an = vs->an;
  size_t n = an->w->variables.n;
  loom_view **views = loom_arena_array(&an->scratch, n, sizeof(loom_view *));
  size_t *choice = loom_arena_array(&an->scratch, n, sizeof *choice);
  if (!views || !choice) return loom_failed(an);
  loom_status status = take_pieces(vs, asked, views);
  if (status != LOOM_OK) return status;
  for (size_t v = 0; v < n; v++)
    if (views[v]->n_pieces == 0) return LOOM_OK;
  do {
    loom_expr count;
    visit *v = chosen(vs, views, choice, &count);
    if (!v) return loom_failed(an);
    if (!into) continue;
    loom_expr here = v->after.buffets[buffet].field[field];
    if (here == LOOM_NONE) {
      *into = LOOM_NONE;
      return LOOM_OK;
    }
    if (!loom_multiply(an, &here, count) || !loom_accumulate(an, into, here))
      return loom_failed(an);
  } while (next_choice(n, views, choice));
  return LOOM_OK;
}

static loom_asked question_about(const visits *vs, size_t buffet, loom_buffet_field field) {
  loom_asked asked = question(field, buffet == vs->n_inner);
  asked.above_holder = vs->holder->above;
  asked.above_parent = vs->holder->has_parent ? vs->holder[1].above : 0;
  return asked;
}

/* The caller's function may have changed what its visits' insides count. */
static bool changed(const visits *vs, size_t buffet, int field) {
  for (const visit *v = vs->made; v; v = v->next)
    if (v->before.buffets[buffet].field[field] != v->after.buffets[buffet].field[field])
      return true;
  return false;
}

/* All calls come before all sums: what is being added up is not marked. */
static loom_status sum_up(visits *vs, loom_stats *stats) {
  for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++)
    for (size_t own = 0; own < 2; own++) {
      loom_asked asked = question_about(vs, own ? vs->n_inner : 0, (loom_buffet_field)f);
      loom_status status = go_through(vs, &asked, 0, (loom_buffet_field)f, NULL);
      if (status != LOOM_OK) return status;
    }
  for (size_t b = 0; b <= vs->n_inner; b++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      if (b < vs->n_inner && !changed(vs, b, f)) continue;
      loom_asked asked = question_about(vs, b, (loom_buffet_field)f);
      loom_expr sum = vs->an->zero;
      loom_status status = go_through(vs, &asked, b, (loom_buffet_field)f, &sum);
      if (status != LOOM_OK) return status;
      stats->buffets[b].field[f] = sum;
    }
  return LOOM_OK;
}

bool loom_add_custom(loom_analysis *an, const loom_holder *holders, size_t at, loom_stats *stats) {
  visits vs = {.an = an, .holder = &holders[at], .n_inner = at};
  loom_frame *frames = an->frames;
  loom_kept *kept = an->exact->kept;
  bool good = loom_add_empty_buffet(an, &holders[at], stats) && sum_up(&vs, stats) == LOOM_OK;
  an->frames = frames;
  an->exact->kept = kept;
  return good;
}
