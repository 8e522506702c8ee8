/* SPDX-License-Identifier: MIT */
/* Latencies that round what parts add up to, or take the least or largest of it: functions of columns
** which never fall where a column grows, so that columns may be compared in their place.
** Invariant: what is reported is the formula of the tiles; columns only bound it. */
#include <math.h>
#include <string.h>

#include "search/search.h"

#define MOST_DEEP 64 /* values on the stack */

/* ---- making ------------------------------------------------------------------------------- */

typedef struct builder {
  loom_nest *nest;
  loom_formula formula;
  int index;
} builder;

static bool is_several(const loom_nest *nest, uint32_t variables) {
  int part = -1;
  for (int v = 0; v < nest->n_variables; v++) {
    if (!(variables >> v & 1)) continue;
    if (part >= 0 && nest->variables[v].part != part) return true;
    part = nest->variables[v].part;
  }
  return false;
}

/* floor, ceil, min or max of what several parts have a share in; what a quotient is rounded by. */
static bool is_outer(loom_nest *nest, loom_expr e, double *divisor) {
  *divisor = 1;
  switch (loom_expr_kind(nest->ctx, e)) {
  case LOOM_MIN:
  case LOOM_MAX:
  case LOOM_FLOOR:
  case LOOM_CEIL: break;
  case LOOM_FLOORDIV:
    if (!loom_as_real(nest->ctx, loom_expr_arg(nest->ctx, e, 1), divisor) || *divisor <= 0)
      return false;
    break;
  default: return false;
  }
  return is_several(nest, loom_nest_variables(nest, e));
}

/* The same times a positive number. */
static bool is_outer_term(loom_nest *nest, loom_expr e, loom_expr *outer, double *number) {
  double divisor;
  *outer = e;
  *number = 1;
  if (loom_expr_kind(nest->ctx, e) == LOOM_MUL && loom_expr_arity(nest->ctx, e) == 2 &&
      loom_as_real(nest->ctx, loom_expr_arg(nest->ctx, e, 0), number))
    *outer = loom_expr_arg(nest->ctx, e, 1);
  return *number > 0 && is_outer(nest, *outer, &divisor);
}

static bool push(builder *b, loom_step_kind kind, int n, double number) {
  loom_formula_step step = {kind, n, number};
  return loom_vec_push(b->nest->ctx, &b->formula.steps, step);
}

/* A column of a sum of products. */
static bool build_column(builder *b, loom_expr e, double scale) {
  int number = loom_nest_new_column(b->nest, LOOM_COLUMN_INSIDE, b->index);
  return number >= 0 && push(b, LOOM_STEP_COLUMN, number, 0) &&
         loom_nest_add(b->nest, &b->nest->columns.at[number], e, scale);
}

static bool build(builder *b, loom_expr e, double scale);

static bool build_outer(builder *b, loom_expr e, double scale) {
  loom_ctx *ctx = b->nest->ctx;
  double divisor;
  loom_kind kind = loom_expr_kind(ctx, e);
  size_t n = loom_expr_arity(ctx, e);
  if (kind == LOOM_MIN || kind == LOOM_MAX) {
    for (size_t i = 0; i < n; i++)
      if (!build(b, loom_expr_arg(ctx, e, i), scale)) return false;
    return push(b, kind == LOOM_MIN ? LOOM_STEP_MIN : LOOM_STEP_MAX, (int)n, 0);
  }
  is_outer(b->nest, e, &divisor);
  return build(b, loom_expr_arg(ctx, e, 0), 1 / divisor) &&
         push(b, kind == LOOM_CEIL ? LOOM_STEP_CEIL : LOOM_STEP_FLOOR, 1, 0) &&
         push(b, LOOM_STEP_SCALE, 1, scale);
}

/* Terms that round one by one, the others together. */
static bool build_sum(builder *b, loom_expr e, double scale) {
  loom_ctx *ctx = b->nest->ctx;
  loom_expr outer, rest = loom_int(ctx, 0);
  double number;
  int n = 0;
  for (size_t i = 0; i < loom_expr_arity(ctx, e); i++) {
    loom_expr term = loom_expr_arg(ctx, e, i);
    if (!is_outer_term(b->nest, term, &outer, &number)) {
      rest = loom_add(ctx, rest, term);
      continue;
    }
    n++;
    if (!build_outer(b, outer, scale * number)) return false;
  }
  return rest != LOOM_NONE && build_column(b, rest, scale) && push(b, LOOM_STEP_ADD, n + 1, 0);
}

static bool build(builder *b, loom_expr e, double scale) {
  loom_expr outer;
  double number;
  e = loom_expand(b->nest->ctx, e);
  if (e == LOOM_NONE) return false;
  if (loom_expr_kind(b->nest->ctx, e) == LOOM_ADD) return build_sum(b, e, scale);
  if (!is_outer_term(b->nest, e, &outer, &number)) return build_column(b, e, scale);
  return build_outer(b, outer, scale * number);
}

/* The open tiles of a template. */
static size_t list_tiles(const loom_nest *nest, loom_expr *symbols) {
  size_t n = 0;
  for (int i = 0; i < nest->n_loops; i++)
    if (nest->loops[i].tile != LOOM_NONE) symbols[n++] = nest->loops[i].tile;
  return n;
}

static bool has_outer(loom_nest *nest, loom_expr e) {
  loom_expr outer;
  double number;
  if (loom_expr_kind(nest->ctx, e) != LOOM_ADD) return is_outer_term(nest, e, &outer, &number);
  for (size_t i = 0; i < loom_expr_arity(nest->ctx, e); i++)
    if (is_outer_term(nest, loom_expr_arg(nest->ctx, e, i), &outer, &number)) return true;
  return false;
}

static int deepest(const loom_formula *f) {
  int depth = 0, most = 0;
  for (size_t i = 0; i < f->steps.n; i++) {
    const loom_formula_step *step = &f->steps.at[i];
    depth += step->kind == LOOM_STEP_COLUMN ? 1 : 1 - step->n;
    if (depth > most) most = depth;
  }
  return most;
}

static bool add_formula(loom_nest *nest, loom_expr e, double scale) {
  loom_expr symbols[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  builder b = {.nest = nest, .formula = {.scale = scale}, .index = (int)nest->formulas.n};
  b.formula.column = loom_nest_new_column(nest, LOOM_COLUMN_LATENCY, 0);
  bool done = b.formula.column >= 0 && build(&b, e, scale);
  if (done && deepest(&b.formula) > MOST_DEEP) {
    loom_error_set(nest->ctx, LOOM_ERR_LIMIT, "a latency has more than %d terms that round",
                   MOST_DEEP);
    done = false;
  }
  if (done) {
    b.formula.program = loom_compile(nest->ctx, 1, &e, list_tiles(nest, symbols), symbols);
    done = b.formula.program && loom_vec_push(nest->ctx, &nest->formulas, b.formula);
  }
  if (done) return true;
  loom_program_free(b.formula.program);
  loom_vec_free(nest->ctx, &b.formula.steps);
  return false;
}

void loom_nest_free_formulas(loom_nest *nest) {
  for (size_t i = 0; i < nest->formulas.n; i++) {
    loom_program_free(nest->formulas.at[i].program);
    loom_vec_free(nest->ctx, &nest->formulas.at[i].steps);
  }
  loom_vec_free(nest->ctx, &nest->formulas);
}

/* As a sum of products first; what only that would couple is given up for a formula. */
bool loom_nest_add_latency(loom_nest *nest, loom_expr e, double scale) {
  uint32_t coupled[LOOM_SEARCH_MAX_VARIABLES];
  bool before = nest->split_wrongly;
  memcpy(coupled, nest->coupled, sizeof coupled);
  nest->split_wrongly = false;
  int number = loom_nest_new_column(nest, LOOM_COLUMN_LATENCY, 0);
  if (number < 0 || !loom_nest_add(nest, &nest->columns.at[number], e, scale)) return false;
  if (nest->split_wrongly) {
    loom_expr expanded = loom_expand(nest->ctx, e);
    if (expanded == LOOM_NONE) return false;
    if (has_outer(nest, expanded)) {
      memcpy(nest->coupled, coupled, sizeof coupled);
      nest->split_wrongly = false;
      loom_vec_free(nest->ctx, &nest->columns.at[number].items);
      nest->columns.n--;
      if (!add_formula(nest, expanded, scale)) return false;
    }
  }
  nest->split_wrongly = nest->split_wrongly || before;
  return true;
}

/* ---- values ------------------------------------------------------------------------------- */

/* A little less than a sum in double: nothing is rounded to more than its exact value is. */
static double lower(double x) {
  return x - 1e-12 * fabs(x);
}

static double join(const loom_formula_step *step, const double *x) {
  double y = x[0];
  for (int i = 1; i < step->n; i++) {
    if (step->kind == LOOM_STEP_ADD) y += x[i];
    if (step->kind == LOOM_STEP_MIN && x[i] < y) y = x[i];
    if (step->kind == LOOM_STEP_MAX && x[i] > y) y = x[i];
  }
  if (step->kind == LOOM_STEP_FLOOR) y = floor(lower(y));
  if (step->kind == LOOM_STEP_CEIL) y = ceil(lower(y));
  return step->kind == LOOM_STEP_SCALE ? y * step->number : y;
}

static double bound_of(const loom_formula *f, const double *columns) {
  double stack[MOST_DEEP];
  int n = 0;
  for (size_t i = 0; i < f->steps.n; i++) {
    const loom_formula_step *step = &f->steps.at[i];
    if (step->kind == LOOM_STEP_COLUMN) {
      stack[n++] = columns[step->n];
    } else {
      n -= step->n;
      stack[n] = join(step, stack + n);
      n++;
    }
  }
  return stack[0];
}

void loom_nest_bound_formulas(const loom_nest *nest, double *columns) {
  for (size_t i = 0; i < nest->formulas.n; i++)
    columns[nest->formulas.at[i].column] = bound_of(&nest->formulas.at[i], columns);
}

bool loom_nest_evaluate_formulas(const loom_nest *nest, const int32_t *tiles, double *columns) {
  double x[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS], value, *out = &value;
  const double *in[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  size_t n = 0;
  for (int i = 0; i < nest->n_loops && nest->formulas.n > 0; i++) {
    if (nest->loops[i].tile == LOOM_NONE) continue;
    x[n] = tiles[i];
    in[n] = &x[n];
    n++;
  }
  for (size_t i = 0; i < nest->formulas.n; i++) {
    const loom_formula *f = &nest->formulas.at[i];
    if (loom_program_eval(f->program, 1, in, &out) != LOOM_OK) {
      loom_error_memory(nest->ctx);
      return false;
    }
    if (!isfinite(value)) {
      loom_error_set(nest->ctx, LOOM_ERR_DOMAIN, "a latency has no value at some tiles of '%s'",
                     nest->text ? nest->text : "");
      return false;
    }
    columns[f->column] = value * f->scale;
  }
  return true;
}
