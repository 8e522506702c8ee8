/* SPDX-License-Identifier: MIT */
/* Functions of the tiles of a part: what costs hold that is no product of powers.
** Invariant: a value depends on the function and the tiles alone, whether it is kept or not. */
#include <math.h>
#include <string.h>

#include "search/search.h"

#define MOST_KNOWN 65536    /* values of a function that are kept */
#define MOST_LOOKED_AT 8192 /* tiles for bounds of a function */

/* ---- tiles that some places can have --------------------------------------------------------- */

typedef struct walk {
  const loom_nest *nest;
  const loom_search_part *part;
  int n;
  const int8_t *places;
  int32_t *tiles;
  loom_tiles_visit *visit;
  void *data;
} walk;

/* The tile outside of the one of the i-th place: of the place before, if that is of the same variable,
** or the size. */
static int64_t outer_tile(const walk *w, int i, const loom_search_variable *v) {
  const loom_search_part *part = w->part;
  if (i > 0 && &w->nest->variables[loom_part_variable(w->nest, part, w->places[i - 1])] == v)
    return w->tiles[part->loop[w->places[i - 1]]];
  return v->size;
}

static bool visit_from(const walk *w, int i) {
  if (i == w->n) return w->visit(w->data, w->tiles);
  int loop = w->part->loop[w->places[i]];
  const loom_search_variable *v =
      &w->nest->variables[loom_part_variable(w->nest, w->part, w->places[i])];
  const loom_tile_table *table = v->table;
  int64_t outer = outer_tile(w, i, v);
  bool any = table->uneven && outer == v->size;
  for (size_t k = 0; k < table->n_tiles; k++) {
    int64_t tile = table->tiles[k];
    if (tile > outer || (outer % tile != 0 && !any)) continue;
    if (!loom_nest_may_have(w->nest, loop, (int32_t)tile)) continue;
    w->tiles[loop] = (int32_t)tile;
    if (!visit_from(w, i + 1)) return false;
  }
  return true;
}

bool loom_part_each(const loom_nest *nest, int part, int n, const int8_t *places, int32_t *tiles,
                    loom_tiles_visit *visit, void *data) {
  walk w = {nest, &nest->parts[part], n, places, tiles, visit, data};
  return visit_from(&w, 0);
}

/* ---- values ------------------------------------------------------------------------------- */

static double compute(const loom_search_part *part, const loom_tile_function *f,
                      const int32_t *tiles) {
  double x[LOOM_SEARCH_MAX_PLACES], value = NAN, *out = &value;
  const double *in[LOOM_SEARCH_MAX_PLACES];
  for (int i = 0; i < f->n; i++) {
    x[i] = tiles[part->loop[f->place[i]]];
    in[i] = &x[i];
  }
  return loom_program_eval(f->program, 1, in, &out) == LOOM_OK ? value : NAN;
}

/* The number of the tiles of a function among all that tables have. */
static size_t index_of(const loom_nest *nest, const loom_search_part *part,
                       const loom_tile_function *f, const int32_t *tiles) {
  size_t index = 0;
  for (int i = 0; i < f->n; i++) {
    const loom_tile_table *t = nest->variables[loom_part_variable(nest, part, f->place[i])].table;
    index = index * t->n_tiles + loom_tile_position(t, tiles[part->loop[f->place[i]]]);
  }
  return index;
}

double loom_part_value(const loom_nest *nest, int number, int function, const int32_t *tiles) {
  const loom_search_part *part = &nest->parts[number];
  const loom_tile_function *f = &part->functions.at[function];
  if (!f->known) return compute(part, f, tiles);
  double *known = &f->known[index_of(nest, part, f, tiles)];
  if (isnan(*known)) *known = compute(part, f, tiles);
  return *known;
}

static size_t count_values(const loom_nest *nest, const loom_search_part *part,
                           const loom_tile_function *f) {
  size_t n = 1;
  for (int i = 0; i < f->n && n <= MOST_KNOWN; i++)
    n *= nest->variables[loom_part_variable(nest, part, f->place[i])].table->n_tiles;
  return n;
}

static bool remember(loom_nest *nest, const loom_search_part *part, loom_tile_function *f) {
  size_t n = count_values(nest, part, f);
  if (f->known || n > MOST_KNOWN) return true;
  f->known = loom_arena_array(&nest->arena, n, sizeof *f->known);
  if (!f->known) return false;
  for (size_t i = 0; i < n; i++) f->known[i] = NAN;
  return true;
}

bool loom_nest_remember(loom_nest *nest) {
  for (int i = 0; i < nest->n_parts; i++)
    for (size_t k = 1; k < nest->parts[i].functions.n; k++)
      if (!remember(nest, &nest->parts[i], &nest->parts[i].functions.at[k])) return false;
  return true;
}

void loom_nest_forget(loom_nest *nest) {
  for (int i = 0; i < nest->n_parts; i++)
    for (size_t k = 1; k < nest->parts[i].functions.n; k++)
      nest->parts[i].functions.at[k].known = NULL;
}

/* ---- making ------------------------------------------------------------------------------- */

static bool refuse(loom_nest *nest, loom_expr e, const char *what) {
  char *text = loom_print(nest->ctx, e, LOOM_INFIX);
  loom_error_set(nest->ctx, LOOM_ERR_DOMAIN, "%s %s, in the costs of '%s'",
                 text ? text : "a formula", what, nest->text ? nest->text : "");
  loom_free(text);
  return false;
}

/* The places of its symbols, ascending. */
static bool place_symbols(loom_nest *nest, loom_tile_function *f, loom_expr *symbols) {
  size_t n = loom_expr_symbols(nest->ctx, f->expression, symbols, LOOM_SEARCH_MAX_PLACES);
  if (n == 0 || n > LOOM_SEARCH_MAX_PLACES) return refuse(nest, f->expression, "has no tiles");
  for (size_t i = 0; i < n; i++) {
    int variable, place, k = f->n++;
    loom_expr symbol = symbols[i];
    if (!loom_nest_find_tile(nest, symbol, &variable, &place))
      return refuse(nest, symbol, "is no tile");
    for (; k > 0 && f->place[k - 1] > place; k--) {
      f->place[k] = f->place[k - 1];
      symbols[k] = symbols[k - 1];
    }
    f->place[k] = (int8_t)place;
    symbols[k] = symbol;
  }
  return true;
}

typedef struct bounding {
  const loom_search_part *part;
  loom_tile_function *f;
  size_t n;
} bounding;

static bool widen(void *data, const int32_t *tiles) {
  bounding *b = data;
  double x = compute(b->part, b->f, tiles);
  if (!isfinite(x) || ++b->n > MOST_LOOKED_AT) {
    b->f->bounded = false;
    return false;
  }
  if (b->n == 1 || x < b->f->least) b->f->least = x;
  if (b->n == 1 || x > b->f->most) b->f->most = x;
  return true;
}

/* Bounds by all tiles or, where these are many, by what is known of the expression. */
static bool bound(loom_nest *nest, int part, loom_tile_function *f) {
  int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  loom_expr low, high;
  bounding b = {&nest->parts[part], f, 0};
  f->bounded = true;
  if (loom_part_each(nest, part, f->n, f->place, tiles, widen, &b)) return true;
  if (b.n <= MOST_LOOKED_AT) return refuse(nest, f->expression, "has no value for some tiles");
  if (loom_bounds(nest->ctx, f->expression, &low, &high) != LOOM_OK) return false;
  f->bounded = low != LOOM_NONE && loom_as_real(nest->ctx, low, &f->least);
  if (high == LOOM_NONE || !loom_as_real(nest->ctx, high, &f->most)) f->most = INFINITY;
  return true;
}

int loom_part_function(loom_nest *nest, int number, loom_expr e) {
  loom_search_part *part = &nest->parts[number];
  loom_expr symbols[LOOM_SEARCH_MAX_PLACES];
  for (size_t i = 1; i < part->functions.n; i++)
    if (part->functions.at[i].expression == e) return (int)i;
  loom_tile_function f = {.expression = e};
  if (!place_symbols(nest, &f, symbols)) return 0;
  f.program = loom_compile(nest->ctx, 1, &e, (size_t)f.n, symbols);
  if (f.program && bound(nest, number, &f) && loom_vec_push(nest->ctx, &part->functions, f))
    return (int)part->functions.n - 1;
  loom_program_free(f.program);
  return 0;
}
