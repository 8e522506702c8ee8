/* SPDX-License-Identifier: MIT */
/* Einsums as data: variables, tensors and their index expressions by number.
** Invariant: every index stored is in range, terms of a rank have distinct variables and
** coefficients that are not 0; steps of a rank leave one integer and never need more than
** LOOM_INDEX_DEPTH. */
#ifndef EINLOOM_WORKLOAD_H
#define EINLOOM_WORKLOAD_H

#include "expr/node.h"
#include "model/arena.h"
#include "model/names.h"

typedef struct loom_index_term {
  int variable;
  int64_t coefficient;
} loom_index_term;

#define LOOM_INDEX_DEPTH 64
typedef struct loom_rank_step {
  loom_index_operation operation;
  int variable;
  int64_t value;
} loom_rank_step;

/* constant + sum of terms; where there are steps they are the index, and the terms only list its
** variables, with coefficient 1. */
typedef struct loom_rank {
  const char *name;
  int64_t constant;
  int n_terms, n_steps;
  loom_index_term *terms;
  loom_rank_step *steps;
} loom_rank;

typedef struct loom_access {
  int tensor;
  bool output;
  loom_expr bits;
  LOOM_VEC(loom_rank) ranks;
} loom_access;

typedef struct loom_einsum {
  const char *name;
  bool is_copy;
  loom_expr n_instances;
  LOOM_VEC(loom_access) accesses;
} loom_einsum;

typedef struct loom_variable {
  const char *name;
  loom_expr size;
} loom_variable;

typedef struct loom_tensor {
  const char *name;
  int n_users; /* einsums that access it */
} loom_tensor;

struct loom_workload {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_expr n_instances;
  LOOM_VEC(loom_variable) variables;
  LOOM_VEC(loom_tensor) tensors;
  LOOM_VEC(loom_einsum) einsums;
};

/* Indices by name, or -1. */
int loom_workload_find_variable(const loom_workload *w, const char *name);
int loom_workload_find_tensor(const loom_workload *w, const char *name);
int loom_workload_find_einsum(const loom_workload *w, const char *name);
/* By number; NULL with a recorded error. */
loom_einsum *loom_workload_einsum_at(const loom_workload *w, int einsum);
loom_access *loom_workload_access_at(const loom_workload *w, int einsum, int access);
loom_names loom_workload_variable_names(const loom_workload *w);
loom_names loom_workload_tensor_names(const loom_workload *w);
loom_names loom_workload_einsum_names(const loom_workload *w);

/* The index at a point, values by variable; false: it does not fit 64 bits. */
bool loom_rank_value(const loom_rank *rank, const int64_t *values, int64_t *index);
/* A rank of the einsum whose index is no sum of multiples of variables, and the access it belongs to,
** or NULL. */
const loom_rank *loom_einsum_quasi_affine(const loom_einsum *e, const loom_access **access);

/* Geometry (doc/formulas.md#geometry), for ranks without steps; relevancy for all. */
loom_relevancy loom_access_relevancy(const loom_access *access, int variable);
/* Values in the bounding box of a tile: extents by variable.  LOOM_NONE when memory runs out. */
loom_expr loom_access_occupancy(loom_ctx *ctx, const loom_access *access, const loom_expr *extents);
/* The rank uses the variable with a coefficient other than 1 or together with others: a step of 1
** moves its values by more than 1, or shares values with the neighbour. */
bool loom_rank_has_halo(const loom_workload *w, const loom_rank *rank, int variable);
/* Every index expression of the einsum that mentions the variable is the bare variable. */
bool loom_einsum_used_alone(const loom_einsum *e, int variable);
/* Some index expression of the einsum mentions the variable. */
bool loom_einsum_has_variable(const loom_einsum *e, int variable);

#endif
