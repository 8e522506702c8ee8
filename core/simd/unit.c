/* SPDX-License-Identifier: MIT */
/* Splits of a loop after which an address grows by one at every point (doc/formulas.md#unit-splits).
** Invariant: a split that is found has been proved for all points and all sizes. */
#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/form.h"
#include "simd/values.h"

enum { MOST_LOOPS = LOOM_MOST_DIGITS, MOST_POINTS = 1 << 16, MOST_TRIALS = 32 };

typedef struct unit {
  loom_ctx *ctx;
  loom_expr e;
  size_t n, loop;
  const loom_extent *loops;
  const loom_given *given;
  loom_expr variables[MOST_LOOPS]; /* in numbers, where all sizes are: */
  int64_t sizes[MOST_LOOPS];
} unit;

/* ---- sizes in numbers --------------------------------------------------------------------- */

/* The outermost digit of the loop with those that go on from it: if its step is one, what is inside. */
static bool read_split(const unit *u, const loom_form *form, int64_t *split) {
  size_t i = 0;
  for (size_t k = 0; k < u->loop; k++)
    for (int64_t rest = u->sizes[k]; rest > 1;) rest /= form->digits[i++].size;
  loom_step d = form->digits[i++];
  int64_t rest = u->sizes[u->loop] / d.size;
  while (rest > 1 && d.step == form->digits[i].step * form->digits[i].size) {
    rest /= form->digits[i].size;
    d.step = form->digits[i++].step;
  }
  *split = rest;
  return d.step == 1;
}

/* Whether the value grows by one over every `split` steps of the loop; inner: points inside it. */
static bool grows(const int64_t *values, int64_t points, int64_t size, int64_t inner,
                  int64_t split) {
  for (int64_t i = 0; i < points; i++)
    if (i / inner % size + split < size && values[i + split * inner] - values[i] != 1) return false;
  return true;
}

static bool try_points(const unit *u, int64_t *split) {
  int64_t points = 1, inner = 1, size = u->sizes[u->loop];
  for (size_t i = 0; i < u->n; i++) {
    if (__builtin_mul_overflow(points, u->sizes[i], &points) || points > MOST_POINTS) return false;
    if (i > u->loop) inner *= u->sizes[i];
  }
  int64_t *values = loom_realloc_array(u->ctx, NULL, 0, (size_t)points, sizeof *values);
  loom_numeric_nest nest = {u->n, u->variables, u->sizes, (uint32_t)points, 1};
  bool found = false;
  if (values && loom_nest_values(u->ctx, u->e, &nest, values))
    for (*split = 1; !found && *split <= size / 2; *split += !found)
      found = size % *split == 0 && grows(values, points, size, inner, *split);
  if (values) loom_realloc_array(u->ctx, values, (size_t)points, 0, sizeof *values);
  return found;
}

/* ---- sizes in symbols --------------------------------------------------------------------- */

/* e in outer * split + inner is outer + what is free of it. */
static bool is_proved(const unit *u, loom_expr split) {
  loom_ctx *ctx = u->ctx;
  loom_assume whole = {.integer = true, .has_min = true};
  loom_expr outer = loom_symbol(ctx, "$outer", &whole), inner = loom_symbol(ctx, "$inner", &whole);
  loom_expr variable = u->loops[u->loop].variable, size = u->loops[u->loop].size;
  loom_extent extents[MOST_LOOPS + 2];
  size_t n = 0;
  if (split != loom_int(ctx, 1) && !loom_size_multiple(ctx, size, split, u->given)) return false;
  for (size_t i = 0; i < u->n; i++)
    if (i != u->loop) extents[n++] = u->loops[i];
  extents[n++] = (loom_extent){outer, loom_simplify(ctx, loom_floor_div(ctx, size, split))};
  extents[n++] = (loom_extent){inner, split};
  loom_given given = {extents, n, NULL, 0, true};
  loom_expr value = loom_add(ctx, loom_mul(ctx, outer, split), inner);
  loom_expr e = loom_substitute(ctx, u->e, 1, &variable, &value);
  e = loom_simplify_in(ctx, e, &given);
  if (e == LOOM_NONE) return false;
  loom_expr rest = loom_simplify(ctx, loom_sub(ctx, e, outer));
  return rest != LOOM_NONE && !loom_occurs(ctx, outer, rest);
}

static bool add_trial(const unit *u, loom_expr trial, size_t *n, loom_expr *trials) {
  if (trial == LOOM_NONE) return false;
  for (size_t i = 0; i < u->n; i++)
    if (loom_occurs(u->ctx, u->loops[i].variable, trial)) return true;
  for (size_t i = 0; i < *n; i++)
    if (trials[i] == trial) return true;
  if (*n < MOST_TRIALS) trials[(*n)++] = trial;
  return true;
}

/* One, and what the divisions and remainders in e divide by. */
static bool list_trials(const unit *u, size_t *n, loom_expr *trials) {
  loom_walk walk;
  bool good = loom_walk_begin(u->ctx, &walk, true);
  if (!good) return false;
  loom_walk_root(&walk, u->e);
  *n = 0;
  good = add_trial(u, loom_int(u->ctx, 1), n, trials);
  for (loom_expr f; good && (f = loom_walk_next(&walk)) != LOOM_NONE;) {
    loom_digit digit;
    if (!loom_digit_of(u->ctx, f, &digit)) continue;
    good = add_trial(u, digit.d, n, trials);
    if (good && digit.m != LOOM_NONE)
      good = add_trial(u, loom_mul(u->ctx, digit.d, digit.m), n, trials);
  }
  return loom_walk_end(&walk) && good;
}

static bool try_symbols(const unit *u, loom_expr *split) {
  loom_expr trials[MOST_TRIALS];
  size_t n;
  if (!list_trials(u, &n, trials)) return false;
  for (size_t i = 0; i < n && loom_error_status(u->ctx) == LOOM_OK; i++)
    if (is_proved(u, trials[i])) {
      *split = trials[i];
      return true;
    }
  return false;
}

/* ---- entry -------------------------------------------------------------------------------- */

/* Whether all sizes are numbers and the address has no symbol but the loops. */
static bool in_numbers(unit *u) {
  for (size_t i = 0; i < u->n; i++) {
    u->variables[i] = u->loops[i].variable;
    if (!loom_as_int(u->ctx, u->loops[i].size, &u->sizes[i]) || u->sizes[i] < 1) return false;
  }
  loom_expr symbols[MOST_LOOPS + 1];
  size_t n = loom_expr_symbols(u->ctx, u->e, symbols, MOST_LOOPS + 1), known = 0;
  for (size_t i = 0; n <= MOST_LOOPS && i < n; i++)
    for (size_t k = 0; k < u->n; k++) known += symbols[i] == u->variables[k];
  return known == n;
}

bool loom_unit_split(loom_ctx *ctx, loom_expr e, size_t n, const loom_extent *loops, size_t loop,
                     const loom_given *given, loom_expr *split) {
  unit u = {ctx, loom_reveal(ctx, e), n, loop, loops, given, {0}, {0}};
  loom_form form;
  int64_t number;
  if (u.e == LOOM_NONE || loop >= n || n > MOST_LOOPS) return false;
  for (size_t i = 0; i < n; i++)
    if (!loom_symbol_check(ctx, loops[i].variable) ||
        !loom_size_check(ctx, loops[i].size, "the size of a loop"))
      return false;
  if (loom_size_is_one(ctx, loops[loop].size, given)) return false;
  if (!in_numbers(&u)) return try_symbols(&u, split);
  bool found = loom_form_of(ctx, u.e, n, u.variables, u.sizes, &form)
                   ? read_split(&u, &form, &number)
                   : loom_error_status(ctx) == LOOM_OK && try_points(&u, &number);
  if (found) *split = loom_int(ctx, number);
  return found && loom_error_status(ctx) == LOOM_OK;
}
