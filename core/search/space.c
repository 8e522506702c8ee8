/* SPDX-License-Identifier: MIT */
/* The space of a search: memories, einsums and their templates.
** Invariant: a template leaves only points behind; its nest lives during loom_space_add. */
#include <math.h>
#include <string.h>

#include "search/search.h"

loom_space *loom_space_new(loom_ctx *ctx, const loom_space_options *options) {
  loom_space *s = loom_realloc(ctx, NULL, 0, sizeof *s);
  if (!s) return NULL;
  *s = (loom_space){.ctx = ctx, .options = *options};
  s->n_objectives = (options->energy ? 1 : 0) + (options->latency ? 1 : 0);
  loom_arena_init(&s->arena, ctx);
  return s;
}

static void free_waiting(loom_space *s, loom_space_one *one);

void loom_space_free(loom_space *s) {
  if (!s) return;
  loom_space_drop_join(s);
  for (size_t i = 0; i < s->einsums.n; i++) {
    loom_space_one *one = &s->einsums.at[i];
    for (size_t k = 0; k < one->groups.n; k++) loom_group_free(s->ctx, &one->groups.at[k]);
    free_waiting(s, one);
    loom_vec_free(s->ctx, &one->waiting);
    loom_vec_free(s->ctx, &one->spreads);
    loom_vec_free(s->ctx, &one->groups);
    loom_vec_free(s->ctx, &one->dims);
    loom_vec_free(s->ctx, &one->tensors);
    loom_vec_free(s->ctx, &one->templates);
    loom_vec_free(s->ctx, &one->tiles);
  }
  loom_vec_free(s->ctx, &s->einsums);
  loom_vec_free(s->ctx, &s->memories);
  loom_arena_free(&s->arena);
  loom_realloc(s->ctx, s, sizeof *s, 0);
}

static int refuse(loom_space *s, const char *what) {
  loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "%s", what);
  return -1;
}

int loom_space_memory(loom_space *s, const char *component, double bits, loom_memory_role role) {
  loom_space_store store = {loom_arena_string(&s->arena, component), bits, role, -1};
  if (s->einsums.n > 0) return refuse(s, "memories come before einsums");
  if (role == LOOM_MEMORY_OPEN) store.open = s->n_open++;
  if (!store.component || !loom_vec_push(s->ctx, &s->memories, store)) return -1;
  return (int)s->memories.n - 1;
}

int loom_space_einsum(loom_space *s, const char *einsum, size_t n_variables, const int64_t *sizes,
                      const bool *uneven) {
  if (n_variables > LOOM_SEARCH_MAX_VARIABLES)
    return refuse(s, "a search takes einsums of up to 16 variables with several values");
  loom_space_one one = {.name = loom_arena_string(&s->arena, einsum),
                        .n_variables = (int)n_variables};
  for (size_t i = 0; i < n_variables; i++) {
    if (sizes[i] < 1 || sizes[i] > INT32_MAX)
      return refuse(s, "the size of a variable is from 1 to 2147483647");
    one.sizes[i] = sizes[i];
    one.uneven[i] = uneven && uneven[i];
  }
  if (!one.name || !loom_vec_push(s->ctx, &s->einsums, one)) return -1;
  return (int)s->einsums.n - 1;
}

int loom_space_dimension(loom_space *s, int einsum, const char *component, const char *dimension,
                         double count, double min_fraction) {
  loom_search_dim dim = {loom_arena_string(&s->arena, component),
                         loom_arena_string(&s->arena, dimension), count, min_fraction};
  loom_space_one *one = &s->einsums.at[einsum];
  if (one->dims.n == LOOM_SEARCH_MAX_FUSED) return refuse(s, "too many dimensions");
  if (!dim.component || !dim.name || !loom_vec_push(s->ctx, &one->dims, dim)) return -1;
  return (int)one->dims.n - 1;
}

int loom_space_tensor(loom_space *s, int einsum, const char *tensor, const int *ranks) {
  loom_space_one *one = &s->einsums.at[einsum];
  loom_space_shared t = {.name = loom_arena_string(&s->arena, tensor)};
  for (int v = 0; v < one->n_variables; v++) t.ranks[v] = ranks[v];
  if (one->tensors.n == 64) return refuse(s, "too many shared tensors of one einsum");
  if (!t.name || !loom_vec_push(s->ctx, &one->tensors, t)) return -1;
  return (int)one->tensors.n - 1;
}

/* ---- columns ------------------------------------------------------------------------------ */

static loom_column *new_column(loom_nest *nest, loom_column_kind kind, int index, int depth) {
  for (size_t i = 0; i < nest->columns.n; i++) {
    loom_column *c = &nest->columns.at[i];
    if (c->kind == kind && c->index == index && c->depth == depth && kind != LOOM_COLUMN_LATENCY)
      return c;
  }
  loom_column column = {.kind = kind, .index = index, .depth = depth, .limit = INFINITY};
  column.compared = kind != LOOM_COLUMN_SHARED && kind != LOOM_COLUMN_TOTAL;
  if (!loom_vec_push(nest->ctx, &nest->columns, column)) return NULL;
  return &nest->columns.at[nest->columns.n - 1];
}

/* One column for each argument of a maximum. */
static bool add_latency(loom_nest *nest, loom_expr e, double scale) {
  double number;
  loom_expr inner = e;
  if (loom_expr_kind(nest->ctx, e) == LOOM_MUL && loom_expr_arity(nest->ctx, e) == 2 &&
      loom_as_real(nest->ctx, loom_expr_arg(nest->ctx, e, 0), &number)) {
    inner = loom_expr_arg(nest->ctx, e, 1);
    if (loom_expr_kind(nest->ctx, inner) == LOOM_MAX) scale *= number;
  }
  if (loom_expr_kind(nest->ctx, inner) != LOOM_MAX) {
    loom_column *column = new_column(nest, LOOM_COLUMN_LATENCY, 0, 0);
    return column && loom_nest_add(nest, column, e, scale);
  }
  for (size_t i = 0; i < loom_expr_arity(nest->ctx, inner); i++)
    if (!add_latency(nest, loom_expr_arg(nest->ctx, inner, i), scale)) return false;
  return true;
}

/* Leaked energy per unit of latency: both at the point where every tile is 1. */
static bool read_leak(loom_nest *nest, const loom_einsum_costs *e) {
  loom_expr symbols[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  loom_expr ones[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  size_t n = 0;
  double leak, latency;
  for (int i = 0; i < nest->n_loops; i++) {
    if (nest->loops[i].tile == LOOM_NONE) continue;
    symbols[n] = nest->loops[i].tile;
    ones[n++] = loom_int(nest->ctx, 1);
  }
  loom_expr l = loom_substitute(nest->ctx, e->leak_energy, n, symbols, ones);
  loom_expr t = loom_substitute(nest->ctx, e->latency, n, symbols, ones);
  if (!loom_as_real(nest->ctx, l, &leak) || !loom_as_real(nest->ctx, t, &latency)) return false;
  nest->leak = latency > 0 ? leak / latency : 0;
  return true;
}

static bool add_objectives(const loom_space *s, loom_nest *nest, const loom_einsum_costs *e) {
  double scale;
  if (!read_leak(nest, e)) return false;
  if (s->options.energy) {
    loom_column *column = new_column(nest, LOOM_COLUMN_ENERGY, 0, 0);
    if (!column || !loom_nest_add(nest, column, e->dynamic_energy, 1)) return false;
  }
  if (!s->options.latency && !(s->options.energy && nest->leak > 0)) return true;
  if (!loom_as_real(nest->ctx, e->n_instances, &scale)) return false;
  for (size_t i = 0; i < e->n_components; i++)
    if (e->components[i].latency != LOOM_NONE &&
        !add_latency(nest, e->components[i].latency, scale))
      return false;
  return true;
}

static int memory_of(const loom_space *s, const char *component) {
  for (size_t i = 0; i < s->memories.n; i++)
    if (strcmp(s->memories.at[i].component, component) == 0) return (int)i;
  return -1;
}

static int backing_of(const loom_space_one *one, const loom_space_template *t, int memory,
                      const char *tensor) {
  for (size_t i = 0; i < t->n_backings; i++)
    if (t->backings[i].memory == memory &&
        strcmp(one->tensors.at[t->backings[i].tensor].name, tensor) == 0)
      return t->backings[i].tensor;
  return -1;
}

static bool add_memory_row(const loom_space *s, loom_space_one *one, loom_nest *nest,
                           const loom_space_template *t, const loom_memory_usage *row) {
  int memory = memory_of(s, row->component);
  if (memory < 0) return true;
  const loom_space_store *store = &s->memories.at[memory];
  if (store->bits == INFINITY && store->role == LOOM_MEMORY_PRIVATE) return true;
  if (row->n_loops_above < 0) {
    loom_error_set(s->ctx, LOOM_ERR_DOMAIN,
                   "a search does not keep persistent tensors (%s) in a memory with a limit (%s)",
                   row->tensor, row->component);
    return false;
  }
  loom_column *total = new_column(nest, LOOM_COLUMN_TOTAL, memory, 0);
  if (!total) return false;
  total->limit = store->bits;
  total->compared = store->role == LOOM_MEMORY_PRIVATE;
  if (!loom_nest_add(nest, total, row->bits, 1)) return false;
  if (store->role == LOOM_MEMORY_PRIVATE) return true;
  int tensor = backing_of(one, t, memory, row->tensor);
  int depth = row->n_loops_above < nest->n_fused ? row->n_loops_above : nest->n_fused;
  loom_column *own = tensor >= 0 ? new_column(nest, LOOM_COLUMN_SHARED, tensor, 0)
                                 : new_column(nest, LOOM_COLUMN_OWN, memory, depth);
  return own && loom_nest_add(nest, own, row->bits, 1);
}

static bool add_limits(const loom_space *s, loom_space_one *one, loom_nest *nest,
                       const loom_space_template *t, const loom_einsum_costs *e) {
  for (size_t i = 0; i < e->n_memory; i++)
    if (!add_memory_row(s, one, nest, t, &e->memory[i])) return false;
  for (size_t i = 0; i < e->n_spatial; i++) {
    for (int d = 0; d < nest->n_dims; d++) {
      const loom_search_dim *dim = &nest->dims[d];
      if (strcmp(dim->component, e->spatial[i].component) != 0 ||
          strcmp(dim->name, e->spatial[i].dim) != 0 || dim->min_fraction > 0)
        continue;
      loom_column *column = new_column(nest, LOOM_COLUMN_INSTANCES, d, 0);
      if (!column || !loom_nest_add(nest, column, e->spatial[i].used, 1)) return false;
      column->limit = dim->count;
    }
  }
  return true;
}

/* A limit that is met at all tiles is none. */
static void drop_idle_limits(loom_nest *nest) {
  size_t kept = 0;
  for (size_t i = 0; i < nest->columns.n; i++) {
    loom_column *c = &nest->columns.at[i];
    double most = 0;
    for (size_t k = 0; k < c->items.n; k++) {
      const loom_item *item = &c->items.at[k];
      double x = item->coefficient > 0 ? item->coefficient : 0;
      for (int v = 0; v < nest->n_variables; v++) x *= loom_factor_max(nest, v, item->p[v]);
      most += x;
    }
    bool idle = c->kind == LOOM_COLUMN_TOTAL && most <= c->limit;
    if (idle) {
      loom_vec_free(nest->ctx, &c->items);
    } else {
      nest->columns.at[kept++] = *c;
    }
  }
  nest->columns.n = kept;
}

/* ---- templates ---------------------------------------------------------------------------- */

static bool init_nest(const loom_space *s, loom_space_one *one, const loom_space_template *t,
                      loom_nest *nest) {
  *nest = (loom_nest){.ctx = s->ctx,
                      .n_variables = one->n_variables,
                      .n_loops = (int)t->n_loops,
                      .n_fused = (int)t->n_fused,
                      .n_dims = (int)one->dims.n,
                      .loops = t->loops,
                      .dims = one->dims.at,
                      .counts = &one->counts,
                      .max_fused = s->options.max_fused,
                      .max_fused_per_variable = s->options.max_fused_per_variable,
                      .one_dimension = s->options.one_dimension_per_variable};
  loom_arena_init(&nest->arena, s->ctx);
  if (t->n_fused > LOOM_SEARCH_MAX_FUSED) {
    loom_error_set(s->ctx, LOOM_ERR_LIMIT, "a template has more than 16 fused loops");
    return false;
  }
  for (int v = 0; v < one->n_variables; v++) {
    loom_factor constant = {0};
    nest->variables[v].size = one->sizes[v];
    nest->variables[v].uneven = one->uneven[v];
    if (!loom_vec_push(s->ctx, &nest->variables[v].factors, constant)) return false;
  }
  for (size_t i = 0; i < t->n_loops; i++) {
    loom_search_variable *v = &nest->variables[t->loops[i].variable];
    if (v->n_loops == LOOM_SEARCH_MAX_LOOPS) {
      loom_error_set(s->ctx, LOOM_ERR_LIMIT, "a variable has more than 24 loops");
      return false;
    }
    v->loop[v->n_loops++] = (int)i;
  }
  for (int v = 0; v < one->n_variables; v++) {
    if (nest->variables[v].n_loops > 0) continue;
    loom_error_set(s->ctx, LOOM_ERR_MISSING_LOOP, "a template has no loop over a variable");
    return false;
  }
  return true;
}

static void free_nest(loom_nest *nest) {
  for (int v = 0; v < nest->n_variables; v++) loom_vec_free(nest->ctx, &nest->variables[v].factors);
  for (size_t i = 0; i < nest->columns.n; i++) loom_vec_free(nest->ctx, &nest->columns.at[i].items);
  loom_vec_free(nest->ctx, &nest->columns);
  loom_nest_free_lists(nest);
  loom_arena_free(&nest->arena);
}

static bool fill_columns(const loom_space *s, loom_space_one *one, loom_nest *nest,
                         const loom_space_template *t, const loom_einsum_costs *e) {
  if (!add_objectives(s, nest, e) || !add_limits(s, one, nest, t, e)) return false;
  drop_idle_limits(nest);
  for (size_t i = 0; i < nest->columns.n; i++)
    if (!loom_nest_pair(nest, &nest->columns.at[i])) return false;
  return true;
}

static void free_waiting(loom_space *s, loom_space_one *one) {
  for (size_t i = 0; i < one->waiting.n; i++) {
    free_nest(one->waiting.at[i].nest);
    loom_realloc(s->ctx, one->waiting.at[i].nest, sizeof(loom_nest), 0);
  }
  one->waiting.n = 0;
}

static bool combine(loom_space *s, loom_space_one *one, const loom_waiting *w, size_t beam) {
  loom_collector *c = loom_collector_new(s, one, w->nest, &w->t, w->number);
  bool done = c && loom_nest_combine(w->nest, c, beam);
  loom_collector_free(c);
  return done;
}

static bool copy_template(loom_space *s, const loom_space_template *t, loom_space_template *copy) {
  loom_space_loop *loops = loom_arena_array(&s->arena, t->n_loops, sizeof *loops);
  bool *border = loom_arena_array(&s->arena, t->n_fused, sizeof *border);
  loom_space_backing *backings = loom_arena_array(&s->arena, t->n_backings, sizeof *backings);
  if (!loops || !border || !backings) return false;
  for (size_t i = 0; i < t->n_loops; i++) loops[i] = t->loops[i];
  for (size_t i = 0; i < t->n_fused; i++) border[i] = t->border[i];
  for (size_t i = 0; i < t->n_backings; i++) backings[i] = t->backings[i];
  *copy = *t;
  copy->loops = loops;
  copy->border = border;
  copy->backings = backings;
  return true;
}

/* The spreads of a template whose loops are spread as those of an earlier one are its. */
static bool list_spreads(loom_space *s, loom_space_one *one, loom_nest *nest) {
  size_t n_dims = (size_t)nest->n_dims, n = (size_t)nest->n_variables * n_dims;
  uint8_t *loops = loom_arena_array(&s->arena, n, sizeof *loops);
  if (!loops) return false;
  for (int i = 0; i < nest->n_loops; i++)
    if (nest->loops[i].dimension >= 0)
      loops[(size_t)nest->loops[i].variable * n_dims + (size_t)nest->loops[i].dimension]++;
  for (size_t i = 0; i < one->spreads.n; i++) {
    if (n > 0 && memcmp(one->spreads.at[i].loops, loops, n) != 0) continue;
    nest->spreads = one->spreads.at[i].spreads;
    nest->n_spreads = one->spreads.at[i].n;
    return true;
  }
  if (!loom_nest_list_spreads(nest, &s->arena)) return false;
  loom_spread_list list = {loops, nest->spreads, nest->n_spreads};
  return loom_vec_push(s->ctx, &one->spreads, list);
}

#define FIRST_BEAM 4

int loom_space_add(loom_space *s, int einsum, const loom_costs *costs,
                   const loom_space_template *t) {
  loom_space_one *one = &s->einsums.at[einsum];
  const loom_einsum_costs *e = NULL;
  for (size_t i = 0; i < loom_costs_einsums(costs); i++)
    if (strcmp(loom_costs_einsum(costs, i)->einsum, one->name) == 0)
      e = loom_costs_einsum(costs, i);
  if (!e) return refuse(s, "the costs are not of the einsum");
  loom_waiting w = {.number = (int)one->templates.n};
  if (!copy_template(s, t, &w.t)) return -1;
  w.nest = loom_realloc(s->ctx, NULL, 0, sizeof *w.nest);
  if (!w.nest) return -1;
  uint32_t mark = loom_scratch_mark(s->ctx);
  bool done = init_nest(s, one, &w.t, w.nest) && fill_columns(s, one, w.nest, &w.t, e) &&
              list_spreads(s, one, w.nest) && loom_nest_prepare(w.nest) &&
              combine(s, one, &w, FIRST_BEAM) && loom_vec_push(s->ctx, &one->templates, t->n_loops);
  loom_scratch_release(s->ctx, mark);
  if (!done || !loom_vec_push(s->ctx, &one->waiting, w)) {
    free_nest(w.nest);
    loom_realloc(s->ctx, w.nest, sizeof *w.nest, 0);
    return -1;
  }
  return w.number;
}

loom_status loom_space_explore(loom_space *s, int einsum) {
  loom_space_one *one = &s->einsums.at[einsum];
  bool done = true;
  for (size_t i = 0; i < one->waiting.n && done; i++)
    done = combine(s, one, &one->waiting.at[i], 0);
  free_waiting(s, one);
  return done ? LOOM_OK : loom_error_status(s->ctx);
}

loom_space_counts loom_space_counts_of(const loom_space *s, int einsum) {
  const loom_space_one *one = &s->einsums.at[einsum];
  loom_space_counts counts = one->counts;
  counts.groups = (double)one->groups.n;
  for (size_t i = 0; i < one->groups.n; i++) counts.kept += (double)one->groups.at[i].n;
  return counts;
}

size_t loom_space_memories(const loom_space *s) {
  return s->memories.n;
}

size_t loom_space_einsums(const loom_space *s) {
  return s->einsums.n;
}

size_t loom_space_variables(const loom_space *s, int einsum) {
  return (size_t)s->einsums.at[einsum].n_variables;
}

size_t loom_space_dimensions(const loom_space *s, int einsum) {
  return s->einsums.at[einsum].dims.n;
}

size_t loom_space_tensors(const loom_space *s, int einsum) {
  return s->einsums.at[einsum].tensors.n;
}
