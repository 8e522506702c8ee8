/* SPDX-License-Identifier: MIT */
/* Which elements a product of sets of index values touches, group by group.
** Invariant: an element of a group is one integer: its ranks weighted so that none spills into the
** next, so sums of indices stay sums and a set of elements is a set of integers. */
#include <stdlib.h>
#include <string.h>

#include "count/nest.h"

/* ---- ranges and periods of indices ----------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

static loom_run scale(loom_tally *t, loom_run r, int64_t by) {
  int64_t a = loom_tally_mul(t, r.lo, by), b = loom_tally_mul(t, r.hi, by);
  return a < b ? (loom_run){a, b} : (loom_run){b, a};
}

static loom_run add(loom_tally *t, loom_run a, loom_run b) {
  return (loom_run){loom_tally_add(t, a.lo, b.lo), loom_tally_add(t, a.hi, b.hi)};
}

/* Least and greatest value of an index; both ends belong to it. */
static loom_run range_of(loom_tally *t, const loom_numbers *p, const loom_index *x) {
  loom_run stack[LOOM_INDEX_DEPTH], sum = {x->constant, x->constant};
  size_t n = 0;
  for (size_t i = 0; x->n_steps == 0 && i < x->n_terms; i++) {
    int64_t last = p->sizes[x->terms[i].variable] - 1;
    sum = add(t, sum, scale(t, (loom_run){0, last}, x->terms[i].coefficient));
  }
  if (x->n_steps == 0) return sum;
  for (size_t i = 0; i < x->n_steps; i++) {
    int64_t value = x->steps[i].value;
    loom_run *top = n ? &stack[n - 1] : stack;
    switch (x->steps[i].operation) {
    case LOOM_INDEX_VARIABLE: stack[n++] = (loom_run){0, p->sizes[x->steps[i].variable] - 1}; break;
    case LOOM_INDEX_CONSTANT: stack[n++] = (loom_run){value, value}; break;
    case LOOM_INDEX_ADD:
      stack[n - 2] = add(t, stack[n - 2], *top);
      n--;
      break;
    case LOOM_INDEX_SCALE: *top = scale(t, *top, value); break;
    case LOOM_INDEX_FLOOR_DIV:
      *top = (loom_run){floor_div(top->lo, value), floor_div(top->hi, value)};
      break;
    case LOOM_INDEX_MOD: *top = (loom_run){0, value - 1}; break;
    }
  }
  return stack[0];
}

/* An index grows by `grows` when the variable grows by `period`. */
typedef struct pace {
  int64_t period, grows;
} pace;

static pace stretch(loom_tally *t, pace a, int64_t to_divide) {
  int64_t by = to_divide / gcd(a.grows, to_divide);
  return (pace){loom_tally_mul(t, a.period, by), loom_tally_mul(t, a.grows, by)};
}

static int64_t common(loom_tally *t, int64_t a, int64_t b) {
  return loom_tally_mul(t, a / gcd(a, b), b);
}

static pace together(loom_tally *t, pace a, pace b) {
  int64_t period = common(t, a.period, b.period);
  int64_t grows = loom_tally_add(t, loom_tally_mul(t, a.grows, period / a.period),
                                 loom_tally_mul(t, b.grows, period / b.period));
  return (pace){period, grows};
}

/* The period of a variable in an index with steps. */
static int64_t period_in(loom_tally *t, const loom_index *x, int variable) {
  pace stack[LOOM_INDEX_DEPTH];
  size_t n = 0;
  for (size_t i = 0; i < x->n_steps && loom_tally_good(t); i++) {
    int64_t value = x->steps[i].value;
    switch (x->steps[i].operation) {
    case LOOM_INDEX_VARIABLE: stack[n++] = (pace){1, x->steps[i].variable == variable}; break;
    case LOOM_INDEX_CONSTANT: stack[n++] = (pace){1, 0}; break;
    case LOOM_INDEX_ADD:
      stack[n - 2] = together(t, stack[n - 2], stack[n - 1]);
      n--;
      break;
    case LOOM_INDEX_SCALE: stack[n - 1].grows = loom_tally_mul(t, stack[n - 1].grows, value); break;
    case LOOM_INDEX_FLOOR_DIV:
      stack[n - 1] = stretch(t, stack[n - 1], value);
      stack[n - 1].grows /= value;
      break;
    case LOOM_INDEX_MOD:
      stack[n - 1] = stretch(t, stack[n - 1], value);
      stack[n - 1].grows = 0;
      break;
    }
  }
  return stack[0].period;
}

/* A period that does not fit is none: every place is its own. */
static bool find_periods(loom_tally *t, loom_numbers *p) {
  p->period = loom_tally_new(t, (size_t)p->n_variables + 1, sizeof *p->period);
  p->values = loom_tally_new(t, (size_t)p->n_variables + 1, sizeof *p->values);
  if (!p->period || !p->values) return false;
  for (int v = 0; v < p->n_variables; v++) {
    loom_tally scratch = {.work = 1, .status = LOOM_OK};
    int64_t period = 1;
    for (int r = 0; r < p->n_ranks && loom_tally_good(&scratch); r++)
      if (p->ranks[r].n_steps)
        period = common(&scratch, period, period_in(&scratch, &p->ranks[r], v));
    p->period[v] = loom_tally_good(&scratch) ? period : 0;
  }
  return true;
}

/* ---- groups --------------------------------------------------------------------------------- */

static int root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static bool fill_group(loom_tally *t, loom_numbers *p, int *parent, int of) {
  loom_index_group *g = &p->groups[p->n_groups];
  g->variables = loom_tally_new(t, (size_t)p->n_variables, sizeof *g->variables);
  g->ranks = loom_tally_new(t, (size_t)p->n_ranks + 1, sizeof *g->ranks);
  g->affine = true;
  if (!g->variables || !g->ranks) return false;
  for (int v = 0; v < p->n_variables; v++)
    if (root(parent, v) == of) g->variables[g->n_variables++] = v;
  for (int r = 0; r < p->n_ranks; r++) {
    loom_index *x = &p->ranks[r];
    if (x->n_terms == 0 || root(parent, x->terms[0].variable) != of) continue;
    x->group = p->n_groups;
    g->ranks[g->n_ranks++] = r;
    g->affine = g->affine && x->n_steps == 0;
  }
  p->n_groups++;
  return true;
}

static bool weigh(loom_tally *t, loom_numbers *p, loom_index_group *g) {
  int64_t weight = 1;
  g->weight = loom_tally_new(t, (size_t)g->n_variables, sizeof *g->weight);
  g->ascending = loom_tally_new(t, (size_t)g->n_variables, sizeof *g->ascending);
  if (!g->weight || !g->ascending) return false;
  for (int i = g->n_ranks; i-- > 0;) {
    loom_index *x = &p->ranks[g->ranks[i]];
    x->weight = weight;
    loom_run range = range_of(t, p, x);
    weight = loom_tally_mul(t, weight, loom_tally_add(t, range.hi - range.lo, 1));
    for (size_t k = 0; x->n_steps == 0 && k < x->n_terms; k++)
      for (int v = 0; v < g->n_variables; v++)
        if (g->variables[v] == x->terms[k].variable)
          g->weight[v] = loom_tally_add(t, g->weight[v],
                                        loom_tally_mul(t, x->terms[k].coefficient, x->weight));
  }
  for (int i = 0; i < g->n_variables; i++) {
    int j = i;
    for (; j > 0 && llabs(g->weight[g->ascending[j - 1]]) > llabs(g->weight[i]); j--)
      g->ascending[j] = g->ascending[j - 1];
    g->ascending[j] = i;
  }
  return loom_tally_good(t);
}

bool loom_numbers_group(loom_tally *t, loom_numbers *p, bool one) {
  int *parent = loom_tally_new(t, (size_t)p->n_variables + 1, sizeof *parent);
  p->groups = loom_tally_new(t, (size_t)p->n_variables + 1, sizeof *p->groups);
  if (!parent || !p->groups || !find_periods(t, p)) return false;
  p->n_groups = 0;
  for (int v = 0; v < p->n_variables; v++) parent[v] = one ? 0 : v;
  for (int r = 0; r < p->n_ranks; r++)
    for (size_t k = 1; k < p->ranks[r].n_terms; k++)
      parent[root(parent, p->ranks[r].terms[k].variable)] =
          root(parent, p->ranks[r].terms[0].variable);
  for (int v = 0; v < p->n_variables; v++)
    if (root(parent, v) == v && !fill_group(t, p, parent, v)) return false;
  for (int i = 0; i < p->n_groups; i++)
    if (!weigh(t, p, &p->groups[i])) return false;
  return true;
}

/* ---- images --------------------------------------------------------------------------------- */

/* Appends in + weight * set. */
static bool add_set(loom_tally *t, const loom_runs *in, const loom_runs *set, int64_t weight,
                    loom_runs *out) {
  int64_t size = llabs(weight);
  for (size_t j = 0; j < set->n; j++) {
    loom_run u = set->at[j];
    int64_t a = weight * u.lo, b = weight * (u.hi - 1);
    int64_t lo = a < b ? a : b, hi = a < b ? b : a;
    for (size_t i = 0; i < in->n; i++) {
      loom_run r = in->at[i];
      bool solid = r.hi - r.lo >= size;
      int64_t most = solid ? lo : hi;
      if (!loom_tally_spend(t, size && !solid ? (size_t)((hi - lo) / size) + 1 : 1)) return false;
      for (int64_t x = lo; x <= most; x += size ? size : 1) {
        loom_run moved = {r.lo + x, r.hi + (solid ? hi : x)};
        if (!loom_list_push(t, out, moved)) return false;
      }
    }
  }
  return true;
}

static bool affine_image(loom_tally *t, const loom_index_group *g, const loom_runs *sets,
                         loom_runs *out) {
  loom_runs *now = &t->scratch[0], *next = &t->scratch[1];
  now->n = 0;
  if (!loom_list_push(t, now, ((loom_run){0, 1}))) return false;
  for (int i = 0; i < g->n_variables; i++) {
    int at = g->ascending[i];
    loom_runs *swap = now;
    next->n = 0;
    if (!add_set(t, now, &sets[at], g->weight[at], next)) return false;
    loom_runs_settle(t, next);
    now = next;
    next = swap;
  }
  return loom_runs_append(t, out, now);
}

static int64_t index_at(const loom_index *x, const int64_t *values) {
  int64_t stack[LOOM_INDEX_DEPTH], sum = x->constant;
  size_t n = 0;
  for (size_t i = 0; x->n_steps == 0 && i < x->n_terms; i++)
    sum += x->terms[i].coefficient * values[x->terms[i].variable];
  if (x->n_steps == 0) return sum;
  for (size_t i = 0; i < x->n_steps; i++) {
    const loom_rank_step *s = &x->steps[i];
    switch (s->operation) {
    case LOOM_INDEX_VARIABLE: stack[n++] = values[s->variable]; break;
    case LOOM_INDEX_CONSTANT: stack[n++] = s->value; break;
    case LOOM_INDEX_ADD:
      stack[n - 2] += stack[n - 1];
      n--;
      break;
    case LOOM_INDEX_SCALE: stack[n - 1] *= s->value; break;
    case LOOM_INDEX_FLOOR_DIV: stack[n - 1] = floor_div(stack[n - 1], s->value); break;
    case LOOM_INDEX_MOD: stack[n - 1] -= s->value * floor_div(stack[n - 1], s->value); break;
    }
  }
  return stack[0];
}

/* Every point, one after the other. */
static bool point_image(loom_tally *t, const loom_numbers *p, const loom_index_group *g, int place,
                        const loom_runs *sets, int64_t *values, loom_runs *out) {
  if (place == g->n_variables) {
    int64_t element = 0;
    for (int i = 0; i < g->n_ranks; i++) {
      const loom_index *x = &p->ranks[g->ranks[i]];
      element += x->weight * index_at(x, values);
    }
    loom_run last = out->n ? out->at[out->n - 1] : (loom_run){0, 0};
    if (out->n && last.lo <= element && element < last.hi) return true;
    if (!loom_tally_spend(t, 8)) return false;
    return loom_list_push(t, out, ((loom_run){element, element + 1}));
  }
  for (size_t i = 0; i < sets[place].n; i++)
    for (int64_t x = sets[place].at[i].lo; x < sets[place].at[i].hi; x++) {
      values[g->variables[place]] = x;
      if (!point_image(t, p, g, place + 1, sets, values, out)) return false;
    }
  return true;
}

bool loom_image(loom_tally *t, const loom_numbers *p, const loom_index_group *g,
                const loom_runs *sets, loom_runs *out) {
  for (int i = 0; i < g->n_variables; i++)
    if (sets[i].n == 0) return true;
  bool good;
  if (g->affine) {
    good = affine_image(t, g, sets, out);
  } else {
    good = point_image(t, p, g, 0, sets, p->values, out);
  }
  loom_runs_settle(t, out);
  return good && loom_tally_good(t);
}
