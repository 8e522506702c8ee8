/* SPDX-License-Identifier: MIT */
/* Collects what a kernel touches in memory (doc/formulas.md#memory-sectors).
** Invariant: accesses in the list differ in buffer or in some address. */
#include "simd/touch.h"

#include <string.h>

#include "expr/index.h"
#include "ranges/address.h"
#include "simd/common.h"

enum { BUDGET = 1 << 20, MOST_TABLE = 1 << 18 };
#define MOST_POINTS (INT64_C(1) << 53)

static bool at_hint(loom_touches *t, loom_expr e, int64_t *value) {
  loom_expr number;
  if (loom_as_int(t->g->ctx, e, value)) return true;
  return loom_hint_value(t->g->ctx, e, &t->g->given, &number) &&
         loom_as_int(t->g->ctx, number, value);
}

/* ---- loaded values ------------------------------------------------------------------------ */

/* The running number of the values of the loops that are not in the index; of all where all are. */
static loom_expr number_of(loom_ctx *ctx, const loom_touch *touch, loom_expr index) {
  size_t n_free = 0;
  loom_expr number = loom_int(ctx, 0);
  for (size_t i = 0; i < touch->n_loops; i++)
    n_free += touch->variables[i] != LOOM_NONE && touch->sizes[i] > 1 &&
              !loom_occurs(ctx, touch->variables[i], index);
  for (size_t i = 0; i < touch->n_loops; i++) {
    loom_expr v = touch->variables[i];
    if (v == LOOM_NONE || (n_free > 0 && loom_occurs(ctx, v, index))) continue;
    number = loom_add(ctx, loom_mul(ctx, number, loom_int(ctx, touch->sizes[i])), v);
  }
  return number;
}

/* A value that is loaded at run time is taken to be another one for each value of the loops that are
** not in the index, and to lead to sectors of its own. */
static loom_expr unload(loom_touches *t, const loom_touch *touch, loom_expr index) {
  loom_ctx *ctx = t->g->ctx;
  loom_expr_list symbols = {0};
  int64_t storage, apart;
  bool good = loom_list_symbols(ctx, index, &symbols);
  loom_expr number = good ? number_of(ctx, touch, index) : LOOM_NONE;
  for (size_t i = 0; good && i < symbols.n; i++) {
    if (!loom_symbol_is_loaded(ctx, symbols.at[i])) continue;
    good = at_hint(t, t->g->buffers.at[touch->buffer].storage, &storage) && storage < MOST_POINTS;
    apart = good ? (storage / LOOM_SECTOR_BYTES + 2) * LOOM_SECTOR_BYTES : 0;
    loom_expr value = loom_mul(ctx, number, loom_int(ctx, apart));
    index = good ? loom_substitute(ctx, index, 1, &symbols.at[i], &value) : LOOM_NONE;
  }
  loom_vec_free(ctx, &symbols);
  return good ? index : LOOM_NONE;
}

/* ---- accesses ----------------------------------------------------------------------------- */

/* Neighbouring digits that go on as one are one: equal addresses have equal forms. */
static void join(loom_form *form) {
  size_t n = 0;
  for (size_t i = 0; i < form->n; i++) {
    loom_step d = form->digits[i], *last = &form->digits[n > 0 ? n - 1 : 0];
    if (n > 0 && last->step == d.step * d.size)
      *last = (loom_step){last->size * d.size, d.step};
    else
      form->digits[n++] = d;
  }
  form->n = n;
}

static bool same_form(const loom_form *a, const loom_form *b) {
  if (a->n != b->n || a->constant != b->constant) return false;
  for (size_t i = 0; i < a->n; i++)
    if (a->digits[i].size != b->digits[i].size || a->digits[i].step != b->digits[i].step)
      return false;
  return true;
}

static bool same_addresses(const loom_touch *a, const loom_touch *b) {
  if (a->buffer != b->buffer || a->has_form != b->has_form) return false;
  if (a->has_form) return same_form(&a->form, &b->form);
  if (a->numeric != b->numeric || a->n_loops != b->n_loops) return false;
  for (size_t i = 0; i < a->n_loops; i++)
    if (a->variables[i] != b->variables[i] || a->sizes[i] != b->sizes[i]) return false;
  return true;
}

static bool add(loom_touches *t, const loom_touch *touch) {
  for (size_t i = 0; i < t->list.n; i++)
    if (same_addresses(&t->list.at[i], touch)) {
      t->list.at[i].store |= touch->store;
      return true;
    }
  return loom_vec_push(t->g->ctx, &t->list, *touch);
}

/* The access with all sizes in numbers; *known false: it cannot be counted. */
static bool add_use(loom_touches *t, loom_touch touch, const loom_use *use, bool *known) {
  loom_ctx *ctx = t->g->ctx;
  const loom_buffer *b = &t->g->buffers.at[use->buffer];
  if (use->mode != LOOM_USE_INDEXED) return true;
  touch.buffer = use->buffer;
  touch.index = use->index;
  touch.width = LOOM_SECTOR_BYTES / loom_dtype_bytes(b->dtype);
  touch.numeric = loom_add(ctx, use->index, b->offset);
  touch.numeric = unload(t, &touch, touch.numeric);
  if (touch.numeric != LOOM_NONE) touch.numeric = loom_at_hints(ctx, touch.numeric, &t->g->given);
  if (touch.numeric == LOOM_NONE) {
    *known = false;
    return loom_error_status(ctx) == LOOM_OK;
  }
  touch.has_form =
      loom_form_of(ctx, touch.numeric, touch.n_loops, touch.variables, touch.sizes, &touch.form);
  if (touch.has_form) join(&touch.form);
  return loom_error_status(ctx) == LOOM_OK && add(t, &touch);
}

/* The loops of the operation in numbers, with one over the reduction where it has none. */
static bool list_loops(loom_touches *t, const loom_op *op, loom_touch *touch, bool *known) {
  size_t n = op->n_pointwise + op->n_reduction;
  int64_t *sizes = loom_arena_array(&t->arena, n + 1, sizeof *sizes), points = 1;
  loom_expr *variables = loom_arena_array(&t->arena, n + 1, sizeof *variables);
  if (!sizes || !variables) return false;
  for (size_t i = 0; *known && i < n; i++) {
    variables[i] = op->loops[i].variable;
    *known = at_hint(t, op->loops[i].size, &sizes[i]) && sizes[i] > 0 &&
             !__builtin_mul_overflow(points, sizes[i], &points);
  }
  if (*known && points != t->extent * t->reduction_extent) {
    *known = points == t->extent;
    sizes[n++] = t->reduction_extent;
  }
  touch->n_loops = n;
  touch->variables = variables;
  touch->sizes = sizes;
  return true;
}

static bool add_op(loom_touches *t, int number, bool *known) {
  const loom_op *op = &t->g->ops.at[number];
  loom_touch touch = {.op = number};
  if (!list_loops(t, op, &touch, known)) return false;
  for (size_t i = 0; *known && i < op->n_reads + op->n_writes; i++) {
    touch.store = i >= op->n_reads;
    const loom_use *use = touch.store ? &op->writes[i - op->n_reads] : &op->reads[i];
    bool in_memory =
        touch.store ? !loom_steps_internal(t->g, use->buffer) : loom_steps_load(t->g, use->buffer);
    if (in_memory && !add_use(t, touch, use, known)) return false;
  }
  return true;
}

bool loom_touches_begin(loom_touches *t, loom_graph *g, const loom_kernel_steps *steps,
                        bool *known) {
  *t = (loom_touches){.g = g, .steps = steps, .budget = BUDGET};
  loom_arena_init(&t->arena, g->ctx);
  int64_t points;
  if (!loom_steps_check(g, steps) || !loom_steps_stamp(g, steps)) return false;
  *known = at_hint(t, steps->extent, &t->extent) &&
           at_hint(t, steps->reduction_extent, &t->reduction_extent) && t->extent > 0 &&
           t->reduction_extent > 0 &&
           !__builtin_mul_overflow(t->extent, t->reduction_extent, &points) && points < MOST_POINTS;
  for (size_t i = 0; *known && i < steps->n; i++)
    if (steps->schedule[i] >= 0 && !add_op(t, steps->schedule[i], known)) return false;
  return loom_error_status(g->ctx) == LOOM_OK;
}

void loom_touches_free(loom_touches *t) {
  loom_vec_free(t->g->ctx, &t->list);
  loom_arena_free(&t->arena);
}

/* ---- counting ----------------------------------------------------------------------------- */

static bool has_points(loom_touches *t, loom_touch *touch) {
  int64_t n = t->extent * t->reduction_extent;
  if (touch->tried) return touch->has_points;
  touch->tried = true;
  if (n > MOST_TABLE || n > t->budget) return false;
  t->budget -= n;
  uint32_t run = (uint32_t)t->reduction_extent;
  loom_numeric_nest nest = {touch->n_loops, touch->variables, touch->sizes, (uint32_t)n, 1};
  if (nest.n > 0 && nest.variables[nest.n - 1] == LOOM_NONE) {
    nest.n--;
    nest.repeats = run;
  }
  touch->has_points =
      loom_points_of(&t->arena, touch->numeric, &nest, run, touch->width, &touch->points);
  return touch->has_points;
}

static int64_t count_points(loom_touches *t, loom_touch *touch, loom_grid grid) {
  if (!has_points(t, touch) || touch->points.n > t->budget) return -1;
  if (!touch->points.reduces) grid.n = grid.n_pointwise;
  t->budget -= touch->points.n;
  return loom_points_sectors(&touch->points, &grid);
}

int64_t loom_touch_placed(loom_touches *t, loom_touch *touch, const loom_placed *placed,
                          const loom_grid *grid) {
  int64_t sectors = placed ? loom_placed_sectors(placed, grid, touch->width) : -1;
  return sectors >= 0 ? sectors : count_points(t, touch, *grid);
}

int64_t loom_touch_sectors(loom_touches *t, loom_touch *touch, const loom_grid *grid) {
  loom_placed placed;
  bool good = touch->has_form && loom_form_place(&touch->form, grid, &placed);
  return loom_touch_placed(t, touch, good ? &placed : NULL, grid);
}
