/* SPDX-License-Identifier: MIT */
/* The costs of one analysed mapping, for the code inside core/cost: actions, latencies, elapsed
** time, leakage, memory over time, totals and limits, one file each.
** Invariant: steps run in the order in which they are declared; each fills its own part of the
** costs; an expression that is LOOM_NONE where it may not be has its error recorded. */
#ifndef EINLOOM_COST_H
#define EINLOOM_COST_H

#include "model/arch.h"
#include "model/mapping.h"
#include "model/workload.h"
#include "reuse/reuse.h"

struct loom_costs {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  loom_einsum_costs *einsums;
  size_t n_einsums;
  loom_total_costs total;
  const loom_latency_query *query; /* while a user's formula runs */
};

/* One einsum at work. */
typedef struct loom_cost_part {
  const loom_einsum *einsum;
  const loom_stats *stats;
  loom_einsum_costs *out;
  int compute;       /* component of the compute unit */
  int list;          /* of the mapping, that its compute node stands in */
  loom_expr latency; /* of one execution */
  loom_expr share;   /* elapsed time that it stands for / its latency */
} loom_cost_part;

typedef struct loom_costing {
  loom_ctx *ctx;
  const loom_result *r;
  const loom_workload *w;
  const loom_arch *a;
  const loom_mapping *m;
  const loom_cost_options *options;
  loom_costs *costs;
  loom_arena scratch;
  loom_expr zero, one;
  const char **component_name, **tensor_name; /* in the costs */
  loom_cost_part *parts;
  size_t n_parts;
  bool symbolic; /* some size or tile is: limits are constraints */
} loom_costing;

/* Rows of actions and their energy. */
loom_status loom_cost_actions(loom_costing *c, loom_cost_part *part);
/* Latency of each component, of the einsum, and what bounds it. */
loom_status loom_cost_latency(loom_costing *c, loom_cost_part *part);
/* Bits and fractions of memories and of dimensions. */
loom_status loom_cost_usage(loom_costing *c, loom_cost_part *part);
/* Latency of the whole and every part's share. */
loom_status loom_cost_elapsed(loom_costing *c);
/* Leak energy of each component. */
loom_status loom_cost_leakage(loom_costing *c, loom_cost_part *part);
/* Memories while each einsum runs. */
loom_status loom_cost_lifetimes(loom_costing *c);
/* Sums over einsums. */
loom_status loom_cost_totals(loom_costing *c);
/* Constraints, or errors where they are not met. */
loom_status loom_cost_limits(loom_costing *c);

/* ---- helpers ------------------------------------------------------------------------------ */

/* *into += term; false when it failed. */
bool loom_cost_add(loom_costing *c, loom_expr *into, loom_expr term);
/* Instances of a component, all fanouts at or above it multiplied. */
loom_expr loom_cost_instances(loom_costing *c, int component);
/* Instances that an einsum uses in a dimension: 1 where no loop runs over it. */
loom_expr loom_cost_used(const loom_costing *c, const loom_cost_part *part, int component,
                         int dimension);
/* bits / size of a memory, 0 without limit. */
loom_expr loom_cost_fraction(loom_costing *c, int component, loom_expr bits);
/* The place of the largest of n values, or -1 where symbols decide. */
int loom_cost_largest(loom_costing *c, size_t n, const loom_expr *values);
/* The split of the mapping whose branches lead to two different parts, and which of the branches. */
int loom_cost_meeting(const loom_costing *c, int a, int b, int branches[2]);
/* The error recorded, or LOOM_ERR_MEMORY where none is. */
loom_status loom_cost_failed(const loom_costing *c);

#endif
