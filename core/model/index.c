/* SPDX-License-Identifier: MIT */
/* Index expressions at a point. */
#include "model/workload.h"

static int64_t floor_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + b : r;
}

static bool sum_value(const loom_rank *rank, const int64_t *values, int64_t *index) {
  int64_t sum = rank->constant, part;
  for (int i = 0; i < rank->n_terms; i++) {
    const loom_index_term *term = &rank->terms[i];
    if (__builtin_mul_overflow(term->coefficient, values[term->variable], &part) ||
        __builtin_add_overflow(sum, part, &sum))
      return false;
  }
  *index = sum;
  return true;
}

bool loom_rank_value(const loom_rank *rank, const int64_t *values, int64_t *index) {
  if (rank->n_steps == 0) return sum_value(rank, values, index);
  int64_t stack[LOOM_INDEX_DEPTH];
  int top = -1;
  for (int i = 0; i < rank->n_steps; i++) {
    const loom_rank_step *step = &rank->steps[i];
    switch (step->operation) {
    case LOOM_INDEX_VARIABLE: stack[++top] = values[step->variable]; break;
    case LOOM_INDEX_CONSTANT: stack[++top] = step->value; break;
    case LOOM_INDEX_ADD:
      top--;
      if (__builtin_add_overflow(stack[top], stack[top + 1], &stack[top])) return false;
      break;
    case LOOM_INDEX_SCALE:
      if (__builtin_mul_overflow(stack[top], step->value, &stack[top])) return false;
      break;
    case LOOM_INDEX_FLOOR_DIV: {
      int64_t rest = floor_mod(stack[top], step->value);
      if (__builtin_sub_overflow(stack[top], rest, &stack[top])) return false;
      stack[top] /= step->value;
      break;
    }
    case LOOM_INDEX_MOD: stack[top] = floor_mod(stack[top], step->value); break;
    }
  }
  *index = stack[0];
  return true;
}

const loom_rank *loom_einsum_quasi_affine(const loom_einsum *e, const loom_access **access) {
  for (size_t a = 0; a < e->accesses.n; a++)
    for (size_t i = 0; i < e->accesses.at[a].ranks.n; i++)
      if (e->accesses.at[a].ranks.at[i].n_steps > 0) {
        *access = &e->accesses.at[a];
        return &e->accesses.at[a].ranks.at[i];
      }
  return NULL;
}
