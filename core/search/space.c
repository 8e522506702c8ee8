/* SPDX-License-Identifier: MIT */
/* The space of a search: memories and einsums.
** Invariant: memories come before einsums. */
#include "search/search.h"

loom_space *loom_space_new(loom_ctx *ctx, const loom_space_options *options) {
  loom_space *s = loom_realloc(ctx, NULL, 0, sizeof *s);
  if (!s) return NULL;
  *s = (loom_space){.ctx = ctx, .options = *options};
  s->n_objectives = (options->energy ? 1 : 0) + (options->latency ? 1 : 0);
  s->n_always = options->persistent ? 1 : 0;
  loom_arena_init(&s->arena, ctx);
  return s;
}

void loom_space_free(loom_space *s) {
  if (!s) return;
  loom_space_drop_join(s);
  for (size_t i = 0; i < s->einsums.n; i++) {
    loom_space_one *one = &s->einsums.at[i];
    loom_space_free_units(s, one);
    loom_vec_free(s->ctx, &one->spreads);
    loom_vec_free(s->ctx, &one->dims);
    loom_vec_free(s->ctx, &one->bounds);
    loom_vec_free(s->ctx, &one->tensors);
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
  loom_space_store store = {loom_arena_string(&s->arena, component), bits, role, -1, true};
  if (s->einsums.n > 0) return refuse(s, "memories come before einsums");
  if (role == LOOM_MEMORY_OPEN) store.open = s->n_open++;
  if (!store.component || !loom_vec_push(s->ctx, &s->memories, store)) return -1;
  return (int)s->memories.n - 1;
}

int loom_space_einsum(loom_space *s, const char *einsum, size_t n_variables, const int64_t *sizes,
                      const unsigned *uneven) {
  if (n_variables > LOOM_SEARCH_MAX_VARIABLES)
    return refuse(s, "a search takes einsums of up to 16 variables with several values");
  loom_space_one one = {.name = loom_arena_string(&s->arena, einsum),
                        .ranked = s->options.ranked,
                        .n_variables = (int)n_variables};
  for (size_t i = 0; i < n_variables; i++) {
    if (sizes[i] < 1 || sizes[i] > INT32_MAX)
      return refuse(s, "the size of a variable is from 1 to 2147483647");
    one.sizes[i] = sizes[i];
    one.uneven[i] = uneven ? uneven[i] : 0;
  }
  if (!one.name || !loom_vec_push(s->ctx, &s->einsums, one)) return -1;
  return (int)s->einsums.n - 1;
}

int loom_space_dimension(loom_space *s, int einsum, const char *component, const char *dimension,
                         double count, double min_fraction) {
  loom_search_dim dim = {loom_arena_string(&s->arena, component),
                         loom_arena_string(&s->arena, dimension), count, min_fraction,
                         min_fraction > 0};
  loom_space_one *one = &s->einsums.at[einsum];
  if (one->dims.n == LOOM_SEARCH_MAX_FUSED) return refuse(s, "too many dimensions");
  if (!dim.component || !dim.name || !loom_vec_push(s->ctx, &one->dims, dim)) return -1;
  return (int)one->dims.n - 1;
}

loom_status loom_space_bound_loops(loom_space *s, int einsum, int dimension, size_t n,
                                   const int *variables, loom_bound_op op, bool product,
                                   double value) {
  loom_space_one *one = &s->einsums.at[einsum];
  loom_search_bound bound = {.dim = dimension, .op = op, .product = product, .value = value};
  if (one->units.n > 0) refuse(s, "bounds of loops come before templates");
  for (size_t i = 0; i < n; i++) bound.variables |= (uint32_t)1 << variables[i];
  if (one->units.n > 0 || !loom_vec_push(s->ctx, &one->bounds, bound))
    return loom_error_status(s->ctx);
  one->dims.at[dimension].keyed = true;
  return LOOM_OK;
}

int loom_space_tensor(loom_space *s, int einsum, const char *tensor, const int *ranks) {
  loom_space_one *one = &s->einsums.at[einsum];
  loom_space_shared t = {.name = loom_arena_string(&s->arena, tensor)};
  for (int v = 0; v < one->n_variables; v++) t.ranks[v] = ranks[v];
  if (one->tensors.n == 64) return refuse(s, "too many shared tensors of one einsum");
  if (!t.name || !loom_vec_push(s->ctx, &one->tensors, t)) return -1;
  return (int)one->tensors.n - 1;
}

void loom_space_limit(loom_space *s, const double *limits, const bool *decided) {
  s->limited = true;
  for (int k = 0; k < s->n_objectives; k++) {
    s->limits[k] = limits[k];
    s->decided[k] = decided[k];
  }
}

void loom_space_limit_einsum(loom_space *s, int einsum, const double *others) {
  for (int k = 0; k < s->n_objectives; k++) s->einsums.at[einsum].others[k] = others[k];
}

bool loom_space_exceeds(const loom_space *s, const double *values, const double *more) {
  for (int k = 0; k < s->n_objectives && s->limited; k++)
    if (values[k] + more[k] > s->limits[k] * (1 + 1e-12)) return true;
  return false;
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

size_t loom_space_units(const loom_space *s, int einsum) {
  return s->einsums.at[einsum].units.n;
}

size_t loom_space_loops(const loom_space *s, int einsum, int number) {
  return s->einsums.at[einsum].n_loops.at[number];
}

size_t loom_space_objectives(const loom_space *s) {
  return (size_t)s->n_objectives;
}

size_t loom_space_figures(const loom_space *s) {
  return (size_t)(s->n_objectives + s->n_open);
}

double loom_space_joint_falls(const loom_space *s, int memory) {
  return s->joint ? s->joint[memory] : 0;
}
