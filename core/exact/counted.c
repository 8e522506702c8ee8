/* SPDX-License-Identifier: MIT */
/* Figures without a closed form: what the counting engine is asked (doc/formulas.md#exact-counting).
** Invariant: a problem has the loops of some variables alone, because groups of variables count
** independently of one another; where contents are retained, of all whose tiles change. */
#include "exact/exact.h"

#include <stdio.h>
#include <string.h>

#include "count/count.h"

enum { LABEL = 160 };

/* A problem being filled. */
typedef struct counted {
  loom_count_problem p;
  loom_access access;
  char label[LABEL];
} counted;

static bool is_among(int variable, size_t n, const int *variables) {
  for (size_t i = 0; i < n; i++)
    if (variables[i] == variable) return true;
  return false;
}

/* Some loop over the variable further inside in the path is above the holder. */
static bool encloses_above(const loom_analysis *an, const loom_asked *asked, size_t loop) {
  for (size_t i = loop + 1; i < an->n_loops; i++)
    if (an->loops[i].variable == an->loops[loop].variable &&
        an->exact->place[i] < asked->above_holder)
      return true;
  return false;
}

static void list_loop(const loom_analysis *an, const loom_asked *asked, bool shared, bool alone,
                      size_t i, loom_count_loop *out) {
  const loom_exact *ex = an->exact;
  const loom_loop *loop = &an->loops[i];
  bool around = asked->first && ex->place[i] < ex->outermost && !alone;
  *out = (loom_count_loop){.variable = loop->variable,
                           .spatial = loop->spatial && !alone,
                           .outside = ex->place[i] < asked->above_parent,
                           .shared = shared && ex->reuses[i],
                           .alone = alone,
                           .anew = around && !loom_einsum_has_variable(an->einsum, loop->variable),
                           .anew_if_overlapping = around,
                           .tile = loop->tile,
                           .first = loop->first,
                           .step = loop->step};
}

/* The loops over the variables: those above the holder, then the others, in the order in which the path
** cuts; those around a visit that is looked into do not exist.  Over a variable that the tensor does
** not use the nest may have a loop above the holder which in the path stands inside one below; then
** the largest tile stands for all of the latter, or, for what happens inside the largest visit, of
** the former. */
static bool list_loops(loom_analysis *an, const loom_asked *asked, bool inside, bool shared,
                       size_t n, const int *variables, counted *c) {
  const loom_exact *ex = an->exact;
  loom_count_loop *list = loom_arena_array(&an->scratch, 2 * an->n_loops, sizeof *list);
  if (!list) return false;
  for (int part = 0; part < 2; part++)
    for (size_t i = 0; i < an->n_loops; i++) {
      int variable = an->loops[i].variable;
      if (ex->place[i] < ex->from || !is_among(variable, n, variables)) continue;
      bool below = ex->place[i] >= asked->above_holder, used = ex->geometry.group_of[variable] >= 0;
      bool moved = !used && below && !inside && part == 0 && encloses_above(an, asked, i),
           lone = !used && !below && inside;
      if (!moved && (below || lone ? 1 : 0) != part) continue;
      list_loop(an, asked, shared, moved || lone, i, &list[c->p.n_loops++]);
      c->p.above_holder += part == 0;
    }
  c->p.loops = list;
  return true;
}

static bool list_sizes(loom_analysis *an, counted *c) {
  loom_expr *sizes = loom_arena_array(&an->scratch, an->w->variables.n, sizeof *sizes);
  if (!sizes) return false;
  for (size_t v = 0; v < an->w->variables.n; v++)
    sizes[v] = loom_view_values(an, &an->exact->whole[v]);
  c->p.sizes = sizes;
  return true;
}

/* The component below the loops above the holder. */
static const char *level_below(const loom_analysis *an, size_t loops) {
  const char *level = "holder";
  size_t above = 0;
  for (size_t i = 0; i < an->n_nest && above <= loops; i++) {
    const loom_path_node *node = &an->path[an->nest[i].at];
    if (node->node.loop >= 0) {
      above++;
    } else if (node->node.component) {
      level = node->node.component;
    }
  }
  return level;
}

/* Names the part of the tensor that is counted, where it is not all of it. */
static void name_part(const loom_analysis *an, const loom_access *part, size_t n,
                      const int *variables, counted *c) {
  const loom_access *whole = loom_access_of(an, an->access);
  size_t length = (size_t)snprintf(c->label, LABEL, "%s", an->w->tensors.at[whole->tensor].name);
  size_t n_names = part->ranks.n ? part->ranks.n : n;
  if (part->ranks.n == whole->ranks.n && part->ranks.n) return;
  for (size_t i = 0; i < n_names && length < LABEL; i++)
    length += (size_t)snprintf(c->label + length, LABEL - length, "_%s",
                               part->ranks.n ? part->ranks.at[i].name
                                             : an->w->variables.at[variables[i]].name);
}

static loom_count_figure figure_of(const loom_asked *asked) {
  bool of_all = asked->whose == LOOM_OF_ALL, of_unit = asked->whose == LOOM_OF_BUSIEST_UNIT;
  if (asked->tile) return LOOM_COUNT_TILE;
  if (asked->first) {
    if (of_all) return asked->shared ? LOOM_COUNT_FIRST_READS : LOOM_COUNT_FIRST_DELIVERIES;
    return of_unit ? LOOM_COUNT_LEAST_FIRST_DELIVERIES : LOOM_COUNT_LEAST_FIRST_READS;
  }
  if (asked->leaves) {
    if (of_all) return asked->shared ? LOOM_COUNT_WRITES : LOOM_COUNT_DEPARTURES;
    return of_unit ? LOOM_COUNT_MOST_DEPARTURES : LOOM_COUNT_MOST_WRITES;
  }
  if (of_all) return asked->shared ? LOOM_COUNT_READS : LOOM_COUNT_DELIVERIES;
  return of_unit ? LOOM_COUNT_MOST_DELIVERIES : LOOM_COUNT_MOST_READS;
}

/* The figure of the loops over n variables and of some ranks of the tensor. */
static loom_expr count(loom_analysis *an, const loom_asked *asked, loom_count_figure figure,
                       const loom_access *part, size_t n, const int *variables) {
  const loom_access *whole = loom_access_of(an, an->access);
  counted c = {.access = *whole};
  bool one = an->options->partial_sums_to_one_unit && whole->output && !asked->leaves;
  bool shared = asked->shared || (one && asked->whose == LOOM_OF_BUSIEST_UNIT);
  c.access.ranks = part->ranks;
  if (!list_loops(an, asked, figure == LOOM_COUNT_LIVE, shared, n, variables, &c) ||
      !list_sizes(an, &c))
    return LOOM_NONE;
  name_part(an, part, n, variables, &c);
  c.p.tensor = c.label;
  c.p.level = level_below(an, asked->above_holder);
  c.p.access = &c.access;
  c.p.lifetime = asked->retain ? LOOM_RETAIN : LOOM_SCOPE;
  c.p.to_one_unit = one && shared;
  return loom_count(an->ctx, &c.p, figure);
}

/* Every variable that has loops or that the tensor uses. */
static bool list_all(loom_analysis *an, size_t *n, int **variables) {
  *n = 0;
  *variables = loom_arena_array(&an->scratch, an->w->variables.n, sizeof **variables);
  for (size_t v = 0; *variables && v < an->w->variables.n; v++)
    if (an->exact->loops_of[v][0] >= 0 || an->exact->geometry.group_of[v] >= 0)
      (*variables)[(*n)++] = (int)v;
  return *variables;
}

/* The problem of all variables that a question about the busiest unit is part of. */
static bool fill_whole(loom_analysis *an, const loom_asked *asked, size_t n, const int *variables,
                       counted *c) {
  const loom_access *whole = loom_access_of(an, an->access);
  *c = (counted){.access = *whole};
  if (!list_loops(an, asked, false, true, n, variables, c) || !list_sizes(an, c)) return false;
  name_part(an, whole, n, variables, c);
  c->p.tensor = c->label;
  c->p.level = level_below(an, asked->above_holder);
  c->p.access = &c->access;
  c->p.lifetime = asked->retain ? LOOM_RETAIN : LOOM_SCOPE;
  c->p.to_one_unit = an->options->partial_sums_to_one_unit && whole->output;
  return true;
}

bool loom_counted_unit(loom_analysis *an, const loom_asked *own, const loom_asked *inside,
                       unsigned parts, bool with_first, loom_expr *most, loom_expr *first) {
  counted c, inner;
  size_t n;
  int *variables;
  loom_asked around = *own, within = *inside;
  loom_expr out[LOOM_N_COUNT_FIGURES];
  unsigned figures = 1u << LOOM_COUNT_UNIT;
  around.first = within.first = with_first;
  if (!list_all(an, &n, &variables) || !fill_whole(an, &around, n, variables, &c) ||
      !fill_whole(an, &within, n, variables, &inner))
    return false;
  c.p.inside = &inner.p;
  c.p.parts = parts;
  if (with_first) figures |= 1u << LOOM_COUNT_LEAST_UNIT_FIRST;
  if (loom_count_all(an->ctx, &c.p, figures, out) != LOOM_OK) return false;
  *most = out[LOOM_COUNT_UNIT];
  *first = with_first ? out[LOOM_COUNT_LEAST_UNIT_FIRST] : an->zero;
  return true;
}

loom_expr loom_counted(loom_analysis *an, const loom_asked *asked, const loom_access *part,
                       size_t n, const int *variables) {
  return count(an, asked, figure_of(asked), part, n, variables);
}

loom_expr loom_counted_whole(loom_analysis *an, const loom_asked *asked) {
  size_t n;
  int *variables;
  if (!list_all(an, &n, &variables)) return LOOM_NONE;
  return count(an, asked, figure_of(asked), loom_access_of(an, an->access), n, variables);
}

/* ---- several groups together -------------------------------------------------------------- */

/* Some temporal loop over a variable stands in part of the nest. */
static bool changes(const loom_analysis *an, int variable, size_t from, size_t to) {
  for (const int *l = an->exact->loops_of[variable]; *l >= 0; l++) {
    size_t place = an->exact->place[*l];
    if (!an->loops[*l].spatial && place >= from && place < to) return true;
  }
  return false;
}

bool loom_group_changes(const loom_analysis *an, const loom_group *g, size_t from, size_t to) {
  for (size_t i = 0; i < g->n; i++)
    if (changes(an, g->variables[i], from, to)) return true;
  return false;
}

/* The variables and ranks of what changes in a part of the nest. */
static bool gather(loom_analysis *an, size_t from, size_t to, loom_access *part, size_t *n,
                   int **variables) {
  const loom_geometry *geometry = &an->exact->geometry;
  const loom_access *whole = loom_access_of(an, an->access);
  *n = 0;
  *part = (loom_access){0};
  *variables = loom_arena_array(&an->scratch, an->w->variables.n, sizeof **variables);
  part->ranks.at = loom_arena_array(&an->scratch, whole->ranks.n, sizeof *part->ranks.at);
  if (!*variables || !part->ranks.at) return false;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    int g = geometry->group_of[v];
    bool wanted = g < 0 ? changes(an, (int)v, from, to)
                        : loom_group_changes(an, &geometry->groups[g], from, to);
    if (wanted) (*variables)[(*n)++] = (int)v;
  }
  for (size_t i = 0; i < whole->ranks.n; i++) {
    const loom_rank *rank = &whole->ranks.at[i];
    if (rank->n_terms && is_among(rank->terms[0].variable, *n, *variables))
      part->ranks.at[part->ranks.n++] = *rank;
  }
  return true;
}

loom_expr loom_counted_together(loom_analysis *an, const loom_asked *asked) {
  loom_access part;
  size_t n;
  int *variables;
  if (!gather(an, an->exact->from, asked->above_holder, &part, &n, &variables)) return LOOM_NONE;
  return count(an, asked, figure_of(asked), &part, n, variables);
}

loom_expr loom_counted_live(loom_analysis *an, size_t above_holder) {
  loom_asked asked = {.above_holder = above_holder};
  loom_access part;
  size_t n;
  int *variables;
  if (!gather(an, above_holder, an->n_loops, &part, &n, &variables)) return LOOM_NONE;
  return count(an, &asked, LOOM_COUNT_LIVE, &part, n, variables);
}
