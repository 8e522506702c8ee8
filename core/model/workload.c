/* SPDX-License-Identifier: MIT */
/* Builds workloads: names are checked and turned into indices as they come. */
#include "model/workload.h"

#include <string.h>

static const char *variable_name(const void *data, size_t i) {
  return ((const loom_workload *)data)->variables.at[i].name;
}

static const char *tensor_name(const void *data, size_t i) {
  return ((const loom_workload *)data)->tensors.at[i].name;
}

static const char *einsum_name(const void *data, size_t i) {
  return ((const loom_workload *)data)->einsums.at[i].name;
}

loom_names loom_workload_variable_names(const loom_workload *w) {
  return (loom_names){w->variables.n, w, variable_name};
}

loom_names loom_workload_tensor_names(const loom_workload *w) {
  return (loom_names){w->tensors.n, w, tensor_name};
}

loom_names loom_workload_einsum_names(const loom_workload *w) {
  return (loom_names){w->einsums.n, w, einsum_name};
}

static int find(loom_names names, const char *name) {
  for (size_t i = 0; i < names.n; i++)
    if (strcmp(names.name(names.data, i), name) == 0) return (int)i;
  return -1;
}

int loom_workload_find_variable(const loom_workload *w, const char *name) {
  return find(loom_workload_variable_names(w), name);
}

int loom_workload_find_tensor(const loom_workload *w, const char *name) {
  return find(loom_workload_tensor_names(w), name);
}

int loom_workload_find_einsum(const loom_workload *w, const char *name) {
  return find(loom_workload_einsum_names(w), name);
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  loom_workload *w = (loom_workload *)(void *)owner;
  if (w->n_instances != LOOM_NONE) loom_gc_mark(ctx, w->n_instances);
  for (size_t i = 0; i < w->variables.n; i++) loom_gc_mark(ctx, w->variables.at[i].size);
  for (size_t i = 0; i < w->einsums.n; i++) {
    const loom_einsum *e = &w->einsums.at[i];
    loom_gc_mark(ctx, e->n_instances);
    for (size_t k = 0; k < e->accesses.n; k++) loom_gc_mark(ctx, e->accesses.at[k].bits);
  }
}

loom_workload *loom_workload_new(loom_ctx *ctx) {
  loom_workload *w = loom_realloc(ctx, NULL, 0, sizeof *w);
  if (!w) return NULL;
  *w = (loom_workload){.ctx = ctx, .n_instances = loom_int(ctx, 1)};
  loom_arena_init(&w->arena, ctx);
  loom_owner_add(ctx, &w->owner, mark);
  return w;
}

void loom_workload_free(loom_workload *w) {
  if (!w) return;
  for (size_t i = 0; i < w->einsums.n; i++) {
    loom_einsum *e = &w->einsums.at[i];
    for (size_t k = 0; k < e->accesses.n; k++) loom_vec_free(w->ctx, &e->accesses.at[k].ranks);
    loom_vec_free(w->ctx, &e->accesses);
  }
  loom_vec_free(w->ctx, &w->einsums);
  loom_vec_free(w->ctx, &w->tensors);
  loom_vec_free(w->ctx, &w->variables);
  loom_arena_free(&w->arena);
  loom_owner_remove(&w->owner);
  loom_realloc(w->ctx, w, sizeof *w, 0);
}

static loom_status recorded(const loom_workload *w) {
  return loom_error_status(w->ctx);
}

/* A size, width or count: not LOOM_NONE, and above 0 as far as is known. */
static loom_status check_positive(loom_workload *w, const char *what, const char *name,
                                  loom_expr value, bool whole) {
  if (value == LOOM_NONE) {
    if (recorded(w) != LOOM_OK) return recorded(w);
    return loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "%s '%s' has no value", what, name);
  }
  loom_facts facts = loom_facts_of(w->ctx, value);
  if (loom_facts_nonpositive(facts))
    return loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "%s '%s' must be above 0", what, name);
  if (whole && facts.integer == LOOM_NO)
    return loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "%s '%s' must be an integer", what, name);
  return LOOM_OK;
}

loom_status loom_workload_variable(loom_workload *w, const char *variable, loom_expr size) {
  loom_status status = check_positive(w, "the size of rank variable", variable, size, true);
  if (status != LOOM_OK) return status;
  if (loom_workload_find_variable(w, variable) >= 0)
    return loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "rank variable '%s' is given twice",
                          variable);
  char *name = loom_arena_string(&w->arena, variable);
  if (!name || !loom_vec_push(w->ctx, &w->variables, ((loom_variable){name, size})))
    return recorded(w);
  return LOOM_OK;
}

loom_status loom_workload_repeat(loom_workload *w, loom_expr n_instances) {
  loom_status status = check_positive(w, "the repeat count of", "workload", n_instances, false);
  if (status == LOOM_OK) w->n_instances = n_instances;
  return status;
}

int loom_workload_einsum(loom_workload *w, const char *name, bool is_copy, loom_expr n_instances) {
  if (check_positive(w, "the repeat count of einsum", name, n_instances, false) != LOOM_OK)
    return -1;
  if (loom_workload_find_einsum(w, name) >= 0) {
    loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "einsum '%s' is given twice", name);
    return -1;
  }
  loom_einsum e = {.is_copy = is_copy, .n_instances = n_instances};
  e.name = loom_arena_string(&w->arena, name);
  if (!e.name || !loom_vec_push(w->ctx, &w->einsums, e)) return -1;
  return (int)w->einsums.n - 1;
}

loom_einsum *loom_workload_einsum_at(const loom_workload *w, int einsum) {
  if (einsum >= 0 && (size_t)einsum < w->einsums.n) return &w->einsums.at[einsum];
  loom_error_set(w->ctx, LOOM_ERR_ARGUMENT, "the workload has no einsum number %d", einsum);
  return NULL;
}

loom_access *loom_workload_access_at(const loom_workload *w, int einsum, int access) {
  loom_einsum *e = loom_workload_einsum_at(w, einsum);
  if (!e) return NULL;
  if (access >= 0 && (size_t)access < e->accesses.n) return &e->accesses.at[access];
  loom_error_set(w->ctx, LOOM_ERR_ARGUMENT, "einsum '%s' has no access number %d", e->name, access);
  return NULL;
}

static int intern_tensor(loom_workload *w, const char *tensor) {
  int found = loom_workload_find_tensor(w, tensor);
  if (found >= 0) return found;
  char *name = loom_arena_string(&w->arena, tensor);
  if (!name || !loom_vec_push(w->ctx, &w->tensors, ((loom_tensor){name, 0}))) return -1;
  return (int)w->tensors.n - 1;
}

int loom_workload_access(loom_workload *w, int einsum, const char *tensor, bool output,
                         loom_expr bits_per_value) {
  loom_einsum *e = loom_workload_einsum_at(w, einsum);
  if (!e || check_positive(w, "bits per value of tensor", tensor, bits_per_value, false) != LOOM_OK)
    return -1;
  int index = intern_tensor(w, tensor);
  if (index < 0) return -1;
  for (size_t i = 0; i < e->accesses.n; i++)
    if (e->accesses.at[i].tensor == index) {
      loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "einsum '%s' accesses tensor '%s' twice",
                     e->name, tensor);
      return -1;
    }
  loom_access access = {.tensor = index, .output = output, .bits = bits_per_value};
  if (!loom_vec_push(w->ctx, &e->accesses, access)) return -1;
  w->tensors.at[index].n_users++;
  return (int)e->accesses.n - 1;
}

static bool add_term(loom_rank *rank, int variable, int64_t coefficient) {
  for (int i = 0; i < rank->n_terms; i++)
    if (rank->terms[i].variable == variable)
      return !__builtin_add_overflow(rank->terms[i].coefficient, coefficient,
                                     &rank->terms[i].coefficient);
  rank->terms[rank->n_terms++] = (loom_index_term){variable, coefficient};
  return true;
}

static void drop_zero_terms(loom_rank *rank) {
  int kept = 0;
  for (int i = 0; i < rank->n_terms; i++)
    if (rank->terms[i].coefficient != 0) rank->terms[kept++] = rank->terms[i];
  rank->n_terms = kept;
}

/* An access that gets a rank of this name, NULL with a recorded error. */
static loom_access *check_new_rank(loom_workload *w, int einsum, int access, const char *rank) {
  loom_access *a = loom_workload_access_at(w, einsum, access);
  for (size_t i = 0; a && i < a->ranks.n; i++)
    if (strcmp(a->ranks.at[i].name, rank) == 0) {
      loom_error_set(w->ctx, LOOM_ERR_BAD_WORKLOAD, "tensor '%s' has rank '%s' twice",
                     w->tensors.at[a->tensor].name, rank);
      return NULL;
    }
  return a;
}

/* The number of a variable; -1 with an error that names the tensor. */
static int check_variable(loom_workload *w, const loom_access *a, const char *variable) {
  int v = loom_workload_find_variable(w, variable);
  if (v < 0)
    loom_name_error(w->ctx, LOOM_ERR_BAD_WORKLOAD, w->tensors.at[a->tensor].name,
                    "unknown rank variable", variable, loom_workload_variable_names(w));
  return v;
}

loom_status loom_workload_rank(loom_workload *w, int einsum, int access, const char *rank,
                               int64_t constant, size_t n_terms, const char *const *variables,
                               const int64_t *coefficients) {
  loom_access *a = check_new_rank(w, einsum, access, rank);
  if (!a) return recorded(w);
  loom_rank r = {.constant = constant};
  r.name = loom_arena_string(&w->arena, rank);
  r.terms = loom_arena_array(&w->arena, n_terms, sizeof *r.terms);
  if (!r.name || !r.terms) return recorded(w);
  for (size_t i = 0; i < n_terms; i++) {
    int v = check_variable(w, a, variables[i]);
    if (v < 0) return recorded(w);
    if (!add_term(&r, v, coefficients[i]))
      return loom_error_set(w->ctx, LOOM_ERR_LIMIT, "%s: coefficient of '%s' beyond 64 bits",
                            w->tensors.at[a->tensor].name, variables[i]);
  }
  drop_zero_terms(&r);
  return loom_vec_push(w->ctx, &a->ranks, r) ? LOOM_OK : recorded(w);
}

/* Integers on the stack after a step that finds depth there; -1 where it finds too few, or nothing to
** divide by. */
static int depth_after(const loom_index_step *step, int depth) {
  switch (step->operation) {
  case LOOM_INDEX_VARIABLE:
  case LOOM_INDEX_CONSTANT: return depth + 1;
  case LOOM_INDEX_ADD: return depth >= 2 ? depth - 1 : -1;
  case LOOM_INDEX_SCALE: return depth >= 1 ? depth : -1;
  case LOOM_INDEX_FLOOR_DIV:
  case LOOM_INDEX_MOD: return depth >= 1 && step->value > 0 ? depth : -1;
  }
  return -1;
}

static loom_status add_step(loom_workload *w, const loom_access *a, loom_rank *r,
                            const loom_index_step *step) {
  loom_rank_step kept = {.operation = step->operation, .variable = -1, .value = step->value};
  if (step->operation == LOOM_INDEX_VARIABLE) {
    kept.variable = check_variable(w, a, step->variable);
    if (kept.variable < 0) return recorded(w);
    bool listed = false;
    for (int i = 0; i < r->n_terms && !listed; i++) listed = r->terms[i].variable == kept.variable;
    if (!listed) r->terms[r->n_terms++] = (loom_index_term){kept.variable, 1};
  }
  r->steps[r->n_steps++] = kept;
  return LOOM_OK;
}

loom_status loom_workload_index(loom_workload *w, int einsum, int access, const char *rank,
                                size_t n_steps, const loom_index_step *steps) {
  loom_access *a = check_new_rank(w, einsum, access, rank);
  if (!a) return recorded(w);
  loom_rank r = {.name = loom_arena_string(&w->arena, rank)};
  r.terms = loom_arena_array(&w->arena, n_steps, sizeof *r.terms);
  r.steps = loom_arena_array(&w->arena, n_steps, sizeof *r.steps);
  if (!r.name || !r.terms || !r.steps) return recorded(w);
  int depth = 0;
  for (size_t i = 0; i < n_steps; i++) {
    depth = depth_after(&steps[i], depth);
    if (depth < 0) break;
    if (depth > LOOM_INDEX_DEPTH)
      return loom_error_set(w->ctx, LOOM_ERR_LIMIT,
                            "%s: the index of rank '%s' is nested too deeply",
                            w->tensors.at[a->tensor].name, rank);
    loom_status status = add_step(w, a, &r, &steps[i]);
    if (status != LOOM_OK) return status;
  }
  if (depth != 1)
    return loom_error_set(w->ctx, LOOM_ERR_ARGUMENT, "%s: the steps of rank '%s' are no index",
                          w->tensors.at[a->tensor].name, rank);
  return loom_vec_push(w->ctx, &a->ranks, r) ? LOOM_OK : recorded(w);
}
