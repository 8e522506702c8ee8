/* SPDX-License-Identifier: MIT */
/* Evaluates an index at every point of a nest.
** Invariant: a value is exact, or there are none. */
#include "simd/values.h"

#include <math.h>

#include "simd/form.h"

enum { BATCH = 256 };

/* The values of the loops at points first, first + 1, ..., one row of BATCH for each loop. */
static void fill(const loom_numeric_nest *nest, uint32_t first, size_t count, double *rows) {
  for (size_t k = 0; k < count; k++) {
    int64_t left = ((int64_t)first + (int64_t)k) / nest->repeats;
    for (size_t i = nest->n; i-- > 0; left /= nest->sizes[i])
      rows[i * BATCH + k] = (double)(left % nest->sizes[i]);
  }
}

static bool evaluate(loom_ctx *ctx, const loom_program *program, const loom_numeric_nest *nest,
                     double *memory, int64_t *out) {
  const double *inputs[LOOM_MOST_DIGITS];
  double *values = memory + nest->n * BATCH;
  for (size_t i = 0; i < nest->n; i++) inputs[i] = memory + i * BATCH;
  for (uint32_t first = 0; first < nest->n_points; first += BATCH) {
    uint32_t left = nest->n_points - first;
    size_t count = left < BATCH ? left : BATCH;
    fill(nest, first, count, memory);
    if (loom_program_eval(program, count, inputs, &values) != LOOM_OK) {
      loom_error_memory(ctx);
      return false;
    }
    for (size_t k = 0; k < count; k++) {
      if (!(fabs(values[k]) < 9007199254740992.0) || values[k] != floor(values[k])) return false;
      out[first + k] = (int64_t)values[k];
    }
  }
  return true;
}

bool loom_nest_values(loom_ctx *ctx, loom_expr index, const loom_numeric_nest *nest, int64_t *out) {
  size_t room = (nest->n + 1) * BATCH;
  if (nest->n > LOOM_MOST_DIGITS) return false;
  double *memory = loom_realloc_array(ctx, NULL, 0, room, sizeof *memory);
  loom_program *program = memory ? loom_compile(ctx, 1, &index, nest->n, nest->variables) : NULL;
  bool good = program && evaluate(ctx, program, nest, memory, out);
  loom_program_free(program);
  if (memory) loom_realloc_array(ctx, memory, room, 0, sizeof *memory);
  return good;
}
