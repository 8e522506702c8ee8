/* SPDX-License-Identifier: MIT */
/* Variables in parts: those in one that some function looks at together.
** Invariant: every variable is in one part; without such functions each is a part of its own, with its
** number. */
#include <string.h>

#include "search/search.h"

/* All variables that have to be with one, over others too. */
static uint32_t companions(const loom_nest *nest, int variable) {
  uint32_t all = (uint32_t)1 << variable;
  for (uint32_t before = 0; before != all;) {
    before = all;
    for (int v = 0; v < nest->n_variables; v++)
      if (all >> v & 1) all |= nest->coupled[v];
  }
  return all;
}

static bool refuse_loops(loom_nest *nest) {
  loom_error_set(nest->ctx, LOOM_ERR_LIMIT,
                 "variables whose tiles a formula has together have more than %d loops in '%s'",
                 LOOM_SEARCH_MAX_PLACES, nest->text ? nest->text : "");
  return false;
}

static bool add_part(loom_nest *nest, uint32_t variables) {
  int number = nest->n_parts++;
  loom_search_part *part = &nest->parts[number];
  *part = (loom_search_part){0};
  for (int i = 0; i < nest->n_variables; i++) {
    loom_search_variable *v = &nest->variables[i];
    if (!(variables >> i & 1)) continue;
    if (part->n_places + v->n_loops > LOOM_SEARCH_MAX_PLACES) return refuse_loops(nest);
    part->variables[part->n_variables++] = i;
    v->part = number;
    v->first = part->n_places;
    for (int j = 0; j < v->n_loops; j++) part->loop[part->n_places++] = v->loop[j];
  }
  loom_factor constant = {0};
  loom_part_function none = {0};
  return loom_vec_push(nest->ctx, &part->factors, constant) &&
         loom_vec_push(nest->ctx, &part->functions, none);
}

void loom_nest_free_parts(loom_nest *nest) {
  for (int i = 0; i < nest->n_parts; i++) {
    loom_search_part *part = &nest->parts[i];
    loom_vec_free(nest->ctx, &part->functions);
    loom_vec_free(nest->ctx, &part->factors);
  }
  nest->n_parts = 0;
}

bool loom_nest_split(loom_nest *nest) {
  uint32_t done = 0;
  loom_nest_free_parts(nest);
  nest->split_wrongly = false;
  for (int v = 0; v < nest->n_variables; v++) {
    if (done >> v & 1) continue;
    uint32_t together = companions(nest, v);
    if (!add_part(nest, together)) return false;
    done |= together;
  }
  return true;
}

bool loom_nest_find_tile(const loom_nest *nest, loom_expr symbol, int *variable, int *place) {
  for (int i = 0; i < nest->n_loops; i++) {
    if (nest->loops[i].tile != symbol) continue;
    *variable = nest->loops[i].variable;
    const loom_search_variable *v = &nest->variables[*variable];
    for (int k = 0; k < v->n_loops; k++)
      if (v->loop[k] == i) *place = v->first + k;
    return true;
  }
  return false;
}

int loom_part_variable(const loom_nest *nest, const loom_search_part *part, int place) {
  return nest->loops[part->loop[place]].variable;
}

void loom_nest_couple(loom_nest *nest, uint32_t variables) {
  int part = -1;
  for (int v = 0; v < nest->n_variables; v++) {
    if (!(variables >> v & 1)) continue;
    nest->coupled[v] |= variables;
    if (part >= 0 && nest->variables[v].part != part) nest->split_wrongly = true;
    part = nest->variables[v].part;
  }
}
