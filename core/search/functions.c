/* SPDX-License-Identifier: MIT */
/* Functions of the tiles of a part: what costs hold that is no product of powers.
** Invariant: a value depends on the function and the tiles alone, whether it is kept or not.  Nothing of
** a function changes once it is made, so that threads may ask for values. */
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

static const loom_tile_table *table_of(const loom_nest *nest, const loom_tile_function *f, int i) {
  return nest->variables[f->variables[i]].table;
}

/* Bits that tell the tiles of a table apart. */
static int bits_of(const loom_tile_table *t) {
  int bits = 0;
  while ((size_t)1 << bits < t->n_tiles) bits++;
  return bits;
}

/* x: the tiles of the function. */
static uint64_t key_of(const loom_nest *nest, const loom_tile_function *f, const double *x) {
  uint64_t key = 0;
  for (int i = 0; i < f->n; i++) {
    const loom_tile_table *t = table_of(nest, f, i);
    key = key << bits_of(t) | loom_tile_position(t, (int64_t)x[i]);
  }
  return key + 1;
}

/* Keys are less than the largest number. */
static bool can_pack(const loom_nest *nest, const loom_tile_function *f) {
  int bits = 0;
  for (int i = 0; i < f->n; i++) bits += bits_of(table_of(nest, f, i));
  return bits < 64;
}

/* Where a key is, or where there is room for it. */
static size_t slot_of(const loom_tile_values *known, uint64_t key) {
  size_t mask = known->room - 1, i = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & mask;
  while (known->keys[i] != 0 && known->keys[i] != key) i = (i + 1) & mask;
  return i;
}

static double compute(const loom_tile_function *f, const double *x) {
  const double *in[LOOM_SEARCH_MAX_PLACES];
  double value = NAN, *out = &value;
  for (int i = 0; i < f->n; i++) in[i] = &x[i];
  return loom_program_eval(f->program, 1, in, &out) == LOOM_OK ? value : NAN;
}

double loom_part_value(const loom_nest *nest, int number, int function, const int32_t *tiles) {
  const loom_search_part *part = &nest->parts[number];
  const loom_part_function *own = &part->functions.at[function];
  const loom_tile_function *f = own->f;
  double x[LOOM_SEARCH_MAX_PLACES];
  for (int i = 0; i < f->n; i++) x[i] = tiles[part->loop[own->place[i]]];
  if (f->known.room == 0) return compute(f, x);
  uint64_t key = key_of(nest, f, x);
  size_t slot = slot_of(&f->known, key);
  return f->known.keys[slot] == key ? f->known.values[slot] : compute(f, x);
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
static bool place_symbols(loom_nest *nest, loom_expr e, loom_tile_function *f, int8_t *place) {
  loom_expr *symbols = f->symbols;
  size_t n = loom_expr_symbols(nest->ctx, e, symbols, LOOM_SEARCH_MAX_PLACES);
  if (n == 0 || n > LOOM_SEARCH_MAX_PLACES) return refuse(nest, e, "has no tiles");
  for (size_t i = 0; i < n; i++) {
    int variable, at, k = f->n++;
    loom_expr symbol = symbols[i];
    if (!loom_nest_find_tile(nest, symbol, &variable, &at))
      return refuse(nest, symbol, "is no tile");
    for (; k > 0 && place[k - 1] > at; k--) {
      place[k] = place[k - 1];
      symbols[k] = symbols[k - 1];
      f->variables[k] = f->variables[k - 1];
    }
    place[k] = (int8_t)at;
    symbols[k] = symbol;
    f->variables[k] = variable;
    for (int j = 0; j < nest->variables[variable].n_loops; j++)
      f->own = f->own || nest->loops[nest->variables[variable].loop[j]].tiles != NULL;
  }
  return true;
}

/* All values of a function, as they are looked at. */
typedef struct looking {
  loom_nest *nest;
  const loom_search_part *part;
  const int8_t *place;
  loom_tile_function *f;
  bool keep, failed;
  LOOM_VEC(uint64_t) keys;
  LOOM_VEC(double) values;
  size_t n;
} looking;

static bool look_at(void *data, const int32_t *tiles) {
  looking *l = data;
  loom_tile_function *f = l->f;
  double x[LOOM_SEARCH_MAX_PLACES];
  if (l->n == MOST_LOOKED_AT) return false;
  for (int i = 0; i < f->n; i++) x[i] = tiles[l->part->loop[l->place[i]]];
  double value = compute(f, x);
  l->failed = !isfinite(value);
  if (l->failed) return false;
  if (l->n == 0 || value < f->least) f->least = value;
  if (l->n == 0 || value > f->most) f->most = value;
  l->n++;
  return !l->keep || (loom_vec_push(l->nest->ctx, &l->keys, key_of(l->nest, f, x)) &&
                      loom_vec_push(l->nest->ctx, &l->values, value));
}

static bool keep_values(loom_function_pool *pool, loom_tile_function *f, size_t n,
                        const uint64_t *keys, const double *values) {
  loom_tile_values known = {.n = n, .room = 4};
  while (known.room < 2 * n) known.room *= 2;
  known.keys = loom_arena_array(pool->arena, known.room, sizeof *known.keys);
  known.values = loom_arena_array(pool->arena, known.room, sizeof *known.values);
  if (!known.keys || !known.values) return false;
  for (size_t i = 0; i < n; i++) {
    size_t slot = slot_of(&known, keys[i]);
    known.keys[slot] = keys[i];
    known.values[slot] = values[i];
  }
  pool->n_known += n;
  f->known = known;
  return true;
}

/* Bounds by what is known of the expression. */
static bool bound(loom_nest *nest, loom_tile_function *f) {
  loom_expr low, high;
  if (loom_bounds(nest->ctx, f->expression, &low, &high) != LOOM_OK) return false;
  f->bounded = low != LOOM_NONE && loom_as_real(nest->ctx, low, &f->least);
  if (high == LOOM_NONE || !loom_as_real(nest->ctx, high, &f->most)) f->most = INFINITY;
  return true;
}

/* Values and bounds at all tiles; where these are many, bounds alone. */
static bool look_at_all(loom_nest *nest, int part, const int8_t *place, loom_tile_function *f) {
  int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  looking l = {.nest = nest, .part = &nest->parts[part], .place = place, .f = f};
  l.keep = can_pack(nest, f) && nest->pool->n_known < MOST_KNOWN;
  f->bounded = loom_part_each(nest, part, f->n, place, tiles, look_at, &l);
  bool done = true;
  if (f->bounded) {
    done = !l.keep || keep_values(nest->pool, f, l.n, l.keys.at, l.values.at);
  } else if (l.failed) {
    done = refuse(nest, f->expression, "has no value for some tiles");
  } else {
    done = l.n == MOST_LOOKED_AT && bound(nest, f);
  }
  loom_vec_free(nest->ctx, &l.keys);
  loom_vec_free(nest->ctx, &l.values);
  return done;
}

static bool is_same(const loom_tile_function *f, const loom_tile_function *other) {
  return f->expression == other->expression && f->generation == other->generation && !f->own &&
         !other->own && f->n == other->n &&
         memcmp(f->symbols, other->symbols, (size_t)f->n * sizeof *f->symbols) == 0 &&
         memcmp(f->variables, other->variables, (size_t)f->n * sizeof *f->variables) == 0;
}

/* The function of the pool, new or not; NULL with an error. */
static const loom_tile_function *find(loom_nest *nest, int part, const int8_t *place,
                                      const loom_tile_function *like) {
  loom_function_pool *pool = nest->pool;
  for (size_t i = 0; i < pool->functions.n; i++)
    if (is_same(like, pool->functions.at[i])) return pool->functions.at[i];
  loom_tile_function *f = loom_arena_new(pool->arena, sizeof *f);
  if (!f) return NULL;
  *f = *like;
  f->program = loom_compile(nest->ctx, 1, &f->expression, (size_t)f->n, f->symbols);
  if (f->program && look_at_all(nest, part, place, f) &&
      loom_vec_push(nest->ctx, &pool->functions, f))
    return f;
  loom_program_free(f->program);
  return NULL;
}

void loom_space_free_functions(loom_ctx *ctx, loom_function_pool *pool) {
  for (size_t i = 0; i < pool->functions.n; i++) loom_program_free(pool->functions.at[i]->program);
  loom_vec_free(ctx, &pool->functions);
}

int loom_part_add_function(loom_nest *nest, int number, loom_expr e) {
  loom_search_part *part = &nest->parts[number];
  for (size_t i = 1; i < part->functions.n; i++)
    if (part->functions.at[i].f->expression == e) return (int)i;
  loom_tile_function like = {.expression = e, .generation = loom_expr_generation(nest->ctx, e)};
  loom_part_function own = {0};
  if (!place_symbols(nest, e, &like, own.place)) return 0;
  own.f = find(nest, number, own.place, &like);
  if (!own.f) return 0;
  own.bounded = own.f->bounded;
  return loom_vec_push(nest->ctx, &part->functions, own) ? (int)part->functions.n - 1 : 0;
}
