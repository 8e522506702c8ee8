/* SPDX-License-Identifier: MIT */
/* Rules by which choices of tiles go, named and counted.
** Invariant: of the choices of all tiles of a template that was explored each has fallen to one rule
** or is a point that was handed on. */
#include <stdio.h>

#include "search/search.h"

const char *loom_rule_name(loom_rule rule) {
  static const char *const names[] = {
#define LOOM_RULE_TEXT(enumerator, name) name,
      LOOM_RULE_LIST(LOOM_RULE_TEXT)
#undef LOOM_RULE_TEXT
  };
  size_t i = (size_t)rule;
  return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

void loom_space_name_rule(const loom_space *s, int einsum, loom_space_verdict broken, size_t size,
                          char *out) {
  const char *name = loom_rule_name(broken.rule);
  if (broken.rule == LOOM_RULE_CAPACITY) {
    snprintf(out, size, "%s:%s", name, s->memories.at[broken.index].component);
  } else if (broken.rule == LOOM_RULE_FANOUT || broken.rule == LOOM_RULE_LOOP_BOUND) {
    const loom_search_dim *dim = &s->einsums.at[einsum].dims.at[broken.index];
    snprintf(out, size, "%s:%s.%s", name, dim->component, dim->name);
  } else {
    snprintf(out, size, "%s", name);
  }
}

loom_space_verdict loom_limit_rule(const loom_column *column) {
  loom_rule rule = column->kind == LOOM_COLUMN_INSTANCES ? LOOM_RULE_FANOUT : LOOM_RULE_CAPACITY;
  return (loom_space_verdict){rule, column->index};
}

/* Counts: one for each rule, then capacities by memory, fanouts and bounds of loops by dimension. */
typedef struct layout {
  int n_memories, n_dims;
} layout;

static int count_of(layout l) {
  return LOOM_N_RULES + l.n_memories + 2 * l.n_dims;
}

static int place_of(layout l, loom_rule rule, int index) {
  if (rule == LOOM_RULE_CAPACITY) return LOOM_N_RULES + index;
  if (rule == LOOM_RULE_FANOUT) return LOOM_N_RULES + l.n_memories + index;
  if (rule == LOOM_RULE_LOOP_BOUND) return LOOM_N_RULES + l.n_memories + l.n_dims + index;
  return (int)rule;
}

static loom_space_verdict rule_at(layout l, int place) {
  if (place < LOOM_N_RULES) return (loom_space_verdict){(loom_rule)place, -1};
  place -= LOOM_N_RULES;
  if (place < l.n_memories) return (loom_space_verdict){LOOM_RULE_CAPACITY, place};
  place -= l.n_memories;
  if (place < l.n_dims) return (loom_space_verdict){LOOM_RULE_FANOUT, place};
  return (loom_space_verdict){LOOM_RULE_LOOP_BOUND, place - l.n_dims};
}

static layout layout_of(const loom_nest *nest) {
  return (layout){nest->n_memories, nest->n_dims};
}

int loom_n_falls(const loom_nest *nest) {
  return count_of(layout_of(nest));
}

void loom_nest_fall(loom_nest *nest, loom_rule rule, int index, double n) {
  nest->falls[place_of(layout_of(nest), rule, index)] += n;
}

/* Rules about a memory or dimension have places of their own. */
static bool is_used(int place) {
  return place != LOOM_RULE_CAPACITY && place != LOOM_RULE_FANOUT && place != LOOM_RULE_LOOP_BOUND;
}

bool loom_space_falls(const loom_space *s, int einsum, size_t i, loom_space_fall *out) {
  const loom_space_one *one = &s->einsums.at[einsum];
  layout l = {(int)s->memories.n, (int)one->dims.n};
  for (int place = 0; place < count_of(l); place++) {
    if (!is_used(place) || i-- > 0) continue;
    *out = (loom_space_fall){rule_at(l, place), one->falls ? one->falls[place] : 0};
    return true;
  }
  return false;
}

double loom_space_size(const loom_space *s, int einsum) {
  const loom_space_one *one = &s->einsums.at[einsum];
  double sum = 0;
  for (size_t i = 0; i < one->units.n; i++) {
    const loom_unit *u = one->units.at[i];
    double product = 1;
    for (int v = 0; v < u->nest.n_variables; v++)
      product *= loom_chains_in_all(&u->nest.variables[v]);
    if (u->state == LOOM_UNIT_EXPLORED && !u->left) sum += product;
  }
  return sum;
}
