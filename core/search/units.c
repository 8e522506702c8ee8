/* SPDX-License-Identifier: MIT */
/* Units of a search: templates, each sketched (some good points), then explored (all that may
** matter).
** Invariant: what exploring a unit finds depends on the unit and on the sketches of all units, never on
** what else has been explored: neither order, nor threads, nor who else explores what changes the
** points of a unit. */
#include <math.h>
#include <string.h>

#include "search/search.h"

#define FIRST_BEAM 4
/* Chains of units that are sketched are kept for exploring while the context has not more than this;
** others are found again. */
#define KEPT_BYTES ((size_t)96 << 20)

loom_ranking loom_ranking_of(const loom_space_one *one) {
  return (loom_ranking){one->texts.at, one->n_loops.at, one->ranked};
}

void loom_nest_shrink(loom_nest *nest) {
  loom_nest_free_lists(nest);
  loom_arena_free(&nest->arena);
  nest->falls = NULL;
}

void loom_nest_free(loom_nest *nest) {
  loom_nest_free_parts(nest);
  loom_nest_free_formulas(nest);
  for (size_t i = 0; i < nest->columns.n; i++) loom_vec_free(nest->ctx, &nest->columns.at[i].items);
  loom_vec_free(nest->ctx, &nest->columns);
  loom_nest_unbar(nest);
  loom_nest_shrink(nest);
}

static void free_unit(loom_space *s, loom_unit *u) {
  if (!u) return;
  loom_nest_free(&u->nest);
  loom_fronts_free(s->ctx, &u->found);
  loom_realloc(s->ctx, u, sizeof *u, 0);
}

void loom_space_free_units(loom_space *s, loom_space_one *one) {
  for (size_t i = 0; i < one->units.n; i++) free_unit(s, one->units.at[i]);
  loom_vec_free(s->ctx, &one->units);
  loom_space_free_functions(s->ctx, &one->pool);
  loom_vec_free(s->ctx, &one->texts);
  loom_vec_free(s->ctx, &one->n_loops);
  loom_fronts_free(s->ctx, &one->sketch);
  loom_fronts_free(s->ctx, &one->fronts);
}

/* ---- adding ------------------------------------------------------------------------------- */

static bool refuse(loom_ctx *ctx, loom_status status, const char *what) {
  loom_error_set(ctx, status, "%s", what);
  return false;
}

static bool init_nest(loom_space *s, loom_space_one *one, const loom_space_template *t,
                      loom_nest *nest) {
  *nest = (loom_nest){.ctx = s->ctx,
                      .n_variables = one->n_variables,
                      .n_loops = (int)t->n_loops,
                      .n_fused = (int)t->n_fused,
                      .n_dims = (int)one->dims.n,
                      .loops = t->loops,
                      .text = t->text,
                      .pool = &one->pool,
                      .dims = one->dims.at,
                      .n_bounds = one->bounds.n,
                      .bounds = one->bounds.at,
                      .absent = t->absent,
                      .n_memories = (int)s->memories.n,
                      .ranked = s->options.ranked,
                      .max_fused = s->options.max_fused_loops,
                      .coarseness = s->options.coarseness < 1 ? 1 : s->options.coarseness,
                      .max_fused_per_variable = s->options.max_fused_loops_per_rank_variable,
                      .one_dimension = s->options.one_spatial_dim_per_variable};
  one->pool.arena = &s->arena;
  loom_arena_init(&nest->arena, s->ctx);
  if (t->n_fused > LOOM_SEARCH_MAX_FUSED)
    return refuse(s->ctx, LOOM_ERR_LIMIT, "a template has more than 16 fused loops");
  for (int v = 0; v < one->n_variables; v++) {
    nest->variables[v].size = one->sizes[v];
    nest->variables[v].uneven = one->uneven[v];
  }
  for (size_t i = 0; i < t->n_loops; i++) {
    loom_search_variable *v = &nest->variables[t->loops[i].variable];
    if (v->n_loops == LOOM_SEARCH_MAX_LOOPS)
      return refuse(s->ctx, LOOM_ERR_LIMIT, "a variable has more than 24 loops");
    v->loop[v->n_loops++] = (int)i;
  }
  for (int i = 0; i < one->n_variables; i++) {
    loom_search_variable *v = &nest->variables[i];
    if (v->n_loops == 0)
      return refuse(s->ctx, LOOM_ERR_MISSING_LOOP, "a template has no loop over a variable");
    if (!loom_nest_set_table(s, one, nest, i)) return false;
  }
  return true;
}

static bool check_size(const loom_nest *nest) {
  if (nest->columns.n > LOOM_SEARCH_MAX_FIGURES)
    return refuse(nest->ctx, LOOM_ERR_LIMIT, "a template has too many figures");
  for (int i = 0; i < nest->n_parts; i++)
    if (nest->parts[i].factors.n > LOOM_SEARCH_MAX_FACTORS)
      return refuse(nest->ctx, LOOM_ERR_LIMIT,
                    "a template has more than 512 factors of a variable");
  return true;
}

static bool copy_template(loom_space *s, const loom_space_template *t, loom_space_template *copy) {
  loom_space_loop *loops = loom_arena_array(&s->arena, t->n_loops, sizeof *loops);
  bool *border = loom_arena_array(&s->arena, t->n_fused, sizeof *border);
  loom_space_backing *backings = loom_arena_array(&s->arena, t->n_backings, sizeof *backings);
  if (!loops || !border || !backings) return false;
  for (size_t i = 0; i < t->n_loops; i++) {
    loops[i] = t->loops[i];
    if (!loops[i].tiles) continue;
    int32_t *tiles = loom_arena_array(&s->arena, loops[i].n_tiles, sizeof *tiles);
    if (!tiles) return false;
    for (size_t k = 0; k < loops[i].n_tiles; k++) tiles[k] = t->loops[i].tiles[k];
    loops[i].tiles = tiles;
  }
  for (size_t i = 0; i < t->n_fused; i++) border[i] = t->border[i];
  for (size_t i = 0; i < t->n_backings; i++) backings[i] = t->backings[i];
  *copy = *t;
  copy->loops = loops;
  copy->border = border;
  copy->backings = backings;
  copy->text = loom_arena_string(&s->arena, t->text ? t->text : "");
  return copy->text != NULL;
}

static bool is_free(const loom_nest *nest) {
  for (int i = 0; i < nest->n_loops; i++)
    if (nest->loops[i].tiles || (nest->uneven && nest->loops[i].pinned)) return false;
  return true;
}

/* Which uses loops can have depends on their order. */
static bool in_order(const loom_nest *nest) {
  return nest->uneven || nest->coarseness > 1;
}

/* How the loops of a nest are spread: how many each variable has over each dimension, or the dimensions
** of all of them in their order. */
static void read_spread(const loom_nest *nest, uint8_t *loops) {
  size_t n_dims = (size_t)nest->n_dims;
  for (int i = 0; i < nest->n_variables; i++) {
    const loom_search_variable *v = &nest->variables[i];
    for (int j = 0; j < v->n_loops; j++) {
      int dim = nest->loops[v->loop[j]].dimension;
      if (in_order(nest)) loops[(size_t)i * LOOM_SEARCH_MAX_LOOPS + (size_t)j] = (uint8_t)(dim + 2);
      if (!in_order(nest) && dim >= 0) loops[(size_t)i * n_dims + (size_t)dim]++;
    }
  }
}

/* The spreads of a template whose loops are spread as those of an earlier one are its, unless tiles of
** loops are given. */
static bool list_spreads(loom_space *s, loom_space_one *one, loom_nest *nest) {
  if (!is_free(nest)) return loom_nest_list_spreads(nest, &s->arena);
  size_t n =
      (size_t)nest->n_variables * (in_order(nest) ? LOOM_SEARCH_MAX_LOOPS : (size_t)nest->n_dims);
  uint8_t *loops = loom_arena_array(&s->arena, n, sizeof *loops);
  if (!loops) return false;
  read_spread(nest, loops);
  for (size_t i = 0; i < one->spreads.n; i++) {
    if (one->spreads.at[i].in_order != in_order(nest) ||
        (n > 0 && memcmp(one->spreads.at[i].loops, loops, n) != 0))
      continue;
    nest->spreads = one->spreads.at[i].spreads;
    nest->n_spreads = one->spreads.at[i].n;
    nest->uses = one->spreads.at[i].uses;
    nest->n_uses = one->spreads.at[i].n_uses;
    return true;
  }
  if (!loom_nest_list_spreads(nest, &s->arena)) return false;
  loom_spread_list list = {loops,      in_order(nest),  nest->spreads,
                           nest->uses, nest->n_spreads, nest->n_uses};
  return loom_vec_push(s->ctx, &one->spreads, list);
}

static const loom_einsum_costs *costs_of(const loom_space_one *one, const loom_costs *costs) {
  for (size_t i = 0; i < loom_costs_einsums(costs); i++)
    if (strcmp(loom_costs_einsum(costs, i)->einsum, one->name) == 0)
      return loom_costs_einsum(costs, i);
  return NULL;
}

static bool fill_unit(loom_space *s, loom_space_one *one, const loom_space_template *t,
                      const loom_einsum_costs *e, loom_unit *u) {
  uint32_t mark = loom_scratch_mark(s->ctx);
  bool done = copy_template(s, t, &u->t) && init_nest(s, one, &u->t, &u->nest) &&
              loom_nest_fill(s, one, &u->nest, &u->t, e) && loom_nest_set_limits(s, &u->nest) &&
              check_size(&u->nest) && list_spreads(s, one, &u->nest);
  loom_scratch_release(s->ctx, mark);
  return done && loom_vec_reserve(s->ctx, &one->units, 1) &&
         loom_vec_reserve(s->ctx, &one->texts, 1) && loom_vec_reserve(s->ctx, &one->n_loops, 1);
}

/* What no choice is below, as far as is known without any chain. */
static void note_first_least(const loom_space *s, loom_unit *u) {
  double columns[LOOM_SEARCH_MAX_FIGURES];
  loom_nest_first_least(&u->nest, columns);
  loom_objectives(s, &u->nest, columns, u->least);
}

int loom_space_add(loom_space *s, int einsum, const loom_costs *costs,
                   const loom_space_template *t) {
  loom_space_one *one = &s->einsums.at[einsum];
  const loom_einsum_costs *e = costs_of(one, costs);
  if (!e) {
    refuse(s->ctx, LOOM_ERR_ARGUMENT, "the costs are not of the einsum");
    return -1;
  }
  loom_unit *u = loom_realloc(s->ctx, NULL, 0, sizeof *u);
  if (!u) return -1;
  *u = (loom_unit){.number = (int)one->units.n, .nest = {.ctx = s->ctx}};
  loom_arena_init(&u->nest.arena, s->ctx);
  if (!fill_unit(s, one, t, e, u)) {
    free_unit(s, u);
    return -1;
  }
  note_first_least(s, u);
  one->units.at[one->units.n++] = u;
  one->texts.at[one->texts.n++] = u->t.text;
  one->n_loops.at[one->n_loops.n++] = u->t.n_loops;
  return u->number;
}

/* ---- exploring ---------------------------------------------------------------------------- */

/* The context of everything that a unit holds. */
static void set_account(loom_unit *u, loom_ctx *ctx) {
  u->nest.ctx = ctx;
  u->nest.arena.ctx = ctx;
}

static bool combine(const loom_space *s, const loom_space_one *one, loom_unit *u,
                    const loom_fronts *known, size_t beam) {
  loom_collector *c = loom_collector_new(s, one, u, known);
  bool done = c && loom_nest_combine(&u->nest, c, beam);
  loom_collector_free(c);
  return done;
}

static void note_least(const loom_space *s, loom_unit *u) {
  double columns[LOOM_SEARCH_MAX_FIGURES], least[2];
  for (int v = 0; v < u->nest.n_parts; v++) {
    if (u->nest.lists[v].rows.n > 0) continue;
    u->least[0] = u->least[1] = INFINITY;
    return;
  }
  loom_nest_least(&u->nest, columns);
  loom_objectives(s, &u->nest, columns, least);
  for (int k = 0; k < s->n_objectives; k++) {
    if (!s->options.ranked && u->lowest[k] > least[k]) least[k] = u->lowest[k];
    least[k] *= 1 - 1e-12;
    if (least[k] > u->least[k]) u->least[k] = least[k];
  }
}

/* Chains that were not kept, not counted twice. */
static bool prepare_again(loom_nest *nest) {
  loom_space_counts counts = nest->counts;
  bool done = loom_nest_prepare(nest);
  nest->counts = counts;
  if (!done) loom_nest_shrink(nest);
  return done;
}

/* All points past the sketches of all; what falls is counted if the unit is not stopped on the way. */
static bool explore(const loom_space *s, const loom_space_one *one, loom_unit *u) {
  if (!u->nest.falls && !prepare_again(&u->nest)) return false;
  size_t n = (size_t)loom_n_falls(&u->nest);
  double *before = loom_realloc_array(u->nest.ctx, NULL, 0, n, sizeof *before);
  if (!before) return false;
  memcpy(before, u->nest.falls, n * sizeof *before);
  for (int k = 0; k < s->n_objectives; k++) u->reached[k] = INFINITY;
  bool done = combine(s, one, u, &one->sketch, 0);
  for (int k = 0; k < s->n_objectives && done; k++)
    if (u->reached[k] > u->least[k]) u->least[k] = u->reached[k];
  if (!done) memcpy(u->nest.falls, before, n * sizeof *before);
  loom_give_back(u->nest.ctx, before, n, sizeof *before);
  return done;
}

/* Which spreads of the list the limits leave tiles for; *all: they do for all. */
static bool probe(const loom_space *s, const loom_space_one *one, loom_unit *u, bool *reached,
                  bool *all) {
  size_t n = u->nest.n_spreads, found = 0;
  for (size_t i = 0; i < n; i++) reached[i] = false;
  loom_nest_mark_spreads(&u->nest, &u->found, reached);
  for (size_t i = 0; i < n; i++) found += reached[i];
  *all = found == n;
  if (*all) return true;
  loom_collector *c = loom_collector_new(s, one, u, NULL);
  bool done = c && loom_nest_probe(&u->nest, c, reached);
  loom_collector_free(c);
  *all = true;
  for (size_t i = 0; i < n; i++) *all = *all && reached[i];
  return done;
}

/* Where ranks count figures have limits, which bound more than points of other templates would. */
static bool sketch_once(const loom_space *s, const loom_space_one *one, loom_unit *u) {
  u->lowest[0] = u->lowest[1] = INFINITY;
  return loom_nest_prepare(&u->nest) && (s->options.ranked || combine(s, one, u, NULL, FIRST_BEAM));
}

/* In place of the fullest uses that loops can have, those that the limits leave tiles for. */
static bool sketch_reached(const loom_space *s, const loom_space_one *one, loom_unit *u,
                           bool *reached) {
  bool all;
  loom_nest_shrink(&u->nest);
  loom_nest_ask_all(&u->nest);
  bool done = loom_nest_prepare(&u->nest) && probe(s, one, u, reached, &all);
  loom_nest_shrink(&u->nest);
  return done && loom_nest_bar(&u->nest, reached) && sketch_once(s, one, u);
}

/* Chains and some good points. */
static bool sketch(const loom_space *s, const loom_space_one *one, loom_unit *u) {
  const double *spreads = u->nest.spreads;
  size_t n = u->nest.n_uses, n_spreads = u->nest.n_spreads;
  bool all = true, done = sketch_once(s, one, u);
  if (done && spreads) {
    bool *reached = loom_realloc_array(u->nest.ctx, NULL, 0, n + 1, sizeof *reached);
    done = reached && probe(s, one, u, reached, &all);
    if (done && !all) done = sketch_reached(s, one, u, reached);
    loom_give_back(u->nest.ctx, reached, n + 1, sizeof *reached);
  }
  if (!done) {
    u->nest.spreads = spreads;
    u->nest.n_spreads = n_spreads;
    return false;
  }
  note_least(s, u);
  return true;
}

bool loom_unit_advance(const loom_space *s, const loom_space_one *one, loom_unit *u,
                       loom_ctx *ctx) {
  bool done;
  set_account(u, ctx);
  if (u->state == LOOM_UNIT_ADDED) {
    done = sketch(s, one, u);
    if (!done) loom_nest_shrink(&u->nest);
  } else {
    done = explore(s, one, u);
  }
  set_account(u, s->ctx);
  return done;
}

static void add_counts(loom_space_counts *to, loom_space_counts *from) {
  to->chains += from->chains;
  to->combined += from->combined;
  to->points += from->points;
  *from = (loom_space_counts){0};
}

/* Nothing more will be looked for. */
static void finish_unit(loom_space *s, loom_space_one *one, loom_unit *u) {
  u->state = LOOM_UNIT_EXPLORED;
  one->n_explored++;
  loom_nest_shrink(&u->nest);
  loom_fronts_free(s->ctx, &u->found);
}

/* What has fallen since the unit was prepared, to the einsum. */
static bool add_falls(loom_space *s, loom_space_one *one, const loom_nest *nest) {
  int n = loom_n_falls(nest);
  if (!one->falls) one->falls = loom_arena_array(&s->arena, (size_t)n, sizeof *one->falls);
  if (!one->falls) return false;
  for (int i = 0; i < n; i++) one->falls[i] += nest->falls[i];
  return true;
}

/* What a unit found, to the others; all of it, or as much as there is before it was stopped. */
static bool commit(loom_space *s, loom_space_one *one, loom_unit *u, bool done) {
  loom_ranking ranking = loom_ranking_of(one);
  bool sketch = u->state == LOOM_UNIT_ADDED;
  loom_space_end_join(s);
  add_counts(&one->counts, &u->nest.counts);
  if (sketch && !done) {
    loom_fronts_free(s->ctx, &u->found);
    return true;
  }
  if (!loom_fronts_merge(s->ctx, &one->fronts, &u->found, &ranking)) return false;
  if (sketch && !loom_fronts_merge(s->ctx, &one->sketch, &u->found, &ranking)) return false;
  if (sketch) loom_fronts_free(s->ctx, &u->found);
  if (!done) return true;
  if (!sketch && !add_falls(s, one, &u->nest)) return false;
  u->state = sketch ? LOOM_UNIT_SKETCHED : LOOM_UNIT_EXPLORED;
  if (sketch) one->n_sketched++;
  if (!sketch || u->left) finish_unit(s, one, u);
  if (loom_ctx_bytes(s->ctx) > KEPT_BYTES) loom_nest_shrink(&u->nest);
  return true;
}

bool loom_unit_take_sketch(loom_space *s, loom_space_one *one, loom_unit *u) {
  return commit(s, one, u, true);
}

/* The next units, at most n, that are not as far as all shall be, from position `next` on. */
static size_t list_next(loom_space_one *one, size_t n, loom_unit **list) {
  loom_unit_state wanted = one->n_sketched < one->units.n ? LOOM_UNIT_ADDED : LOOM_UNIT_SKETCHED;
  size_t found = 0;
  for (size_t i = 0; i < one->units.n && found < n; i++) {
    if (one->next >= one->units.n) one->next = 0;
    loom_unit *u = one->units.at[one->next++];
    if (u->state == wanted) list[found++] = u;
  }
  return found;
}

/* Units of one state, then what they found to the others. */
static bool explore_units(loom_space *s, loom_space_one *one, size_t n, loom_unit **units,
                          bool *done) {
  for (size_t i = 0; i < n; i++) done[i] = false;
  bool all = loom_units_advance(s, one, n, units, done);
  for (size_t i = 0; i < n; i++)
    if (!commit(s, one, units[i], done[i])) all = false;
  return all;
}

static bool more_to_do(const loom_space_one *one) {
  return one->n_sketched + one->n_explored < 2 * one->units.n;
}

loom_status loom_space_explore_some(loom_space *s, int einsum, size_t n, bool *more) {
  loom_space_one *one = &s->einsums.at[einsum];
  size_t room = n < one->units.n ? n : one->units.n;
  *more = more_to_do(one);
  if (!*more) return LOOM_OK;
  loom_unit **units = loom_realloc_array(s->ctx, NULL, 0, room, sizeof *units);
  bool *done = loom_realloc_array(s->ctx, NULL, 0, room, sizeof *done);
  bool all = units && done && explore_units(s, one, list_next(one, room, units), units, done);
  loom_give_back(s->ctx, units, room, sizeof *units);
  loom_give_back(s->ctx, done, room, sizeof *done);
  *more = more_to_do(one);
  return all ? LOOM_OK : loom_error_status(s->ctx);
}

/* Those of the units with these numbers that are not explored; false where there is no such unit. */
static bool list_unexplored(loom_space *s, int einsum, size_t n, const int *numbers,
                            loom_unit **list, size_t *found) {
  *found = 0;
  for (size_t i = 0; i < n; i++) {
    loom_unit *u = loom_space_unit(s, einsum, numbers[i]);
    if (!u) return false;
    bool twice = false;
    for (size_t k = 0; k < *found && !twice; k++) twice = list[k] == u;
    if (u->state != LOOM_UNIT_EXPLORED && !twice) list[(*found)++] = u;
  }
  return true;
}

loom_status loom_space_explore_units(loom_space *s, int einsum, size_t n, const int *numbers) {
  loom_space_one *one = &s->einsums.at[einsum];
  loom_status status = LOOM_OK;
  bool more;
  while (status == LOOM_OK && one->n_sketched < one->units.n)
    status = loom_space_explore_some(s, einsum, SIZE_MAX, &more);
  if (status != LOOM_OK || n == 0) return status;
  size_t found = 0;
  loom_unit **units = loom_realloc_array(s->ctx, NULL, 0, n, sizeof *units);
  bool *done = loom_realloc_array(s->ctx, NULL, 0, n, sizeof *done);
  bool all = units && done && list_unexplored(s, einsum, n, numbers, units, &found) &&
             explore_units(s, one, found, units, done);
  loom_give_back(s->ctx, units, n, sizeof *units);
  loom_give_back(s->ctx, done, n, sizeof *done);
  return all ? LOOM_OK : loom_error_status(s->ctx);
}

loom_status loom_space_explore(loom_space *s, int einsum) {
  loom_status status = LOOM_OK;
  for (bool more = true; more && status == LOOM_OK;)
    status = loom_space_explore_some(s, einsum, SIZE_MAX, &more);
  return status;
}

loom_status loom_space_leave(loom_space *s, int einsum, int number) {
  loom_unit *u = loom_space_unit(s, einsum, number);
  if (!u) return LOOM_ERR_ARGUMENT;
  u->left = true;
  if (u->state == LOOM_UNIT_SKETCHED) finish_unit(s, &s->einsums.at[einsum], u);
  return LOOM_OK;
}

loom_space_counts loom_space_counts_of(const loom_space *s, int einsum) {
  const loom_space_one *one = &s->einsums.at[einsum];
  loom_space_counts counts = one->counts;
  counts.units = (double)one->units.n;
  counts.sketched = (double)one->n_sketched;
  counts.explored = (double)one->n_explored;
  counts.groups = (double)one->fronts.groups.n;
  for (size_t i = 0; i < one->fronts.groups.n; i++)
    counts.kept += (double)one->fronts.groups.at[i].n;
  return counts;
}
