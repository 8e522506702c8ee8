/* SPDX-License-Identifier: MIT */
/* The elements of a tensor as numbers, and those that a box of the iteration space touches.
** Invariant: two points have the same number if and only if all their indices are equal. */
#include "simulate/simulate.h"

#include <string.h>

static bool list_variables(sim_elements *elements, const sim *s, const loom_access *access) {
  size_t n = s->an->w->variables.n;
  elements->variables = loom_arena_array(&s->an->scratch, n, sizeof *elements->variables);
  elements->strides = loom_arena_array(&s->an->scratch, n, sizeof *elements->strides);
  elements->box = loom_arena_array(&s->an->scratch, n, sizeof *elements->box);
  elements->at = loom_arena_array(&s->an->scratch, n, sizeof *elements->at);
  if (!elements->variables || !elements->strides || !elements->box || !elements->at) return false;
  for (size_t v = 0; v < n; v++)
    if (loom_access_relevancy(access, (int)v) != LOOM_IRRELEVANT)
      elements->variables[elements->n_variables++] = (int)v;
  size_t points = 1;
  for (size_t i = elements->n_variables; i-- > 0;) {
    elements->strides[i] = points;
    points *= (size_t)s->sizes[elements->variables[i]];
  }
  elements->id = loom_arena_array(&s->an->scratch, points, sizeof *elements->id);
  elements->n = points;
  return elements->id;
}

/* Index vectors met so far, by number, in an open hash table of numbers + 1. */
typedef struct met {
  int64_t *indices;
  size_t n, n_ranks, mask;
  uint32_t *table;
} met;

static uint32_t number_of(met *m, const int64_t *indices) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (size_t r = 0; r < m->n_ranks; r++) {
    hash = (hash ^ (uint64_t)indices[r]) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  size_t bytes = m->n_ranks * sizeof *indices;
  size_t slot = (size_t)hash & m->mask;
  for (; m->table[slot]; slot = (slot + 1) & m->mask)
    if (memcmp(m->indices + (m->table[slot] - 1) * m->n_ranks, indices, bytes) == 0)
      return m->table[slot] - 1;
  memcpy(m->indices + m->n * m->n_ranks, indices, bytes);
  m->table[slot] = (uint32_t)++m->n;
  return m->table[slot] - 1;
}

static bool index_of(const sim *s, const loom_access *access, const int64_t *values,
                     int64_t *indices) {
  for (size_t r = 0; r < access->ranks.n; r++)
    if (!loom_rank_value(&access->ranks.at[r], values, &indices[r])) {
      loom_error_set(s->an->ctx, LOOM_ERR_LIMIT, "einsum '%s': an index of '%s' is beyond 64 bits",
                     s->an->einsum->name, s->an->w->tensors.at[access->tensor].name);
      return false;
    }
  return true;
}

bool sim_elements_number(sim_elements *elements, const sim *s, const loom_access *access) {
  loom_arena *scratch = &s->an->scratch;
  *elements = (sim_elements){0};
  if (!list_variables(elements, s, access)) return false;
  size_t points = elements->n, slots = 2;
  while (slots < 2 * points) slots *= 2;
  met m = {.n_ranks = access->ranks.n, .mask = slots - 1};
  m.indices = loom_arena_array(scratch, points * m.n_ranks, sizeof *m.indices);
  m.table = loom_arena_array(scratch, slots, sizeof *m.table);
  int64_t *values = loom_arena_array(scratch, s->an->w->variables.n, sizeof *values);
  int64_t *indices = loom_arena_array(scratch, m.n_ranks, sizeof *indices);
  if (!m.indices || !m.table || !values || !indices) return false;
  for (size_t point = 0; point < points; point++) {
    for (size_t i = 0, rest = point; i < elements->n_variables; i++) {
      values[elements->variables[i]] = (int64_t)(rest / elements->strides[i]);
      rest %= elements->strides[i];
    }
    if (!index_of(s, access, values, indices)) return false;
    elements->id[point] = number_of(&m, indices);
  }
  elements->n = m.n;
  return true;
}

size_t sim_elements_list(const sim_elements *elements, const sim_walk *walk, int64_t *marks,
                         int64_t mark, uint32_t *out) {
  sim_interval *box = elements->box;
  int64_t *at = elements->at;
  size_t n = elements->n_variables, listed = 0, point = 0;
  for (size_t i = 0; i < n; i++) {
    box[i] = sim_walk_interval(walk, elements->variables[i]);
    at[i] = box[i].lo;
    point += (size_t)at[i] * elements->strides[i];
  }
  for (size_t turn = 1; turn > 0;) {
    uint32_t id = elements->id[point];
    if (marks[id] != mark) {
      marks[id] = mark;
      out[listed++] = id;
    }
    for (turn = n; turn > 0; turn--) {
      size_t i = turn - 1;
      point += elements->strides[i];
      if (++at[i] < box[i].hi) break;
      point -= (size_t)(box[i].hi - box[i].lo) * elements->strides[i];
      at[i] = box[i].lo;
    }
  }
  return listed;
}
