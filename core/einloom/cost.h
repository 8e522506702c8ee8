/* SPDX-License-Identifier: MIT */
/* Costs of an analysed mapping. */
#ifndef EINLOOM_PUBLIC_COST_H
#define EINLOOM_PUBLIC_COST_H

#include "einloom/reuse.h"

LOOM_C_BEGIN

/* What a mapping costs, from its reuse statistics (doc/formulas.md#costs).  Every quantity is an
** expression, a number where workload, architecture and tiles are; energy, time, power and area in
** the units of the architecture, memory in bits and as a fraction of the memory's size (0 of one
** without limit). */

/* The actions of one component, of one tensor (NULL: operations of a compute unit).  First accesses
** that are skipped are not counted; counts are multiplied by the component's actions_scale. */
typedef struct loom_action_cost {
  const char *component, *tensor, *action;
  loom_expr total, max_per_unit; /* over all instances; of the busiest one */
  loom_expr energy;              /* of the total */
} loom_action_cost;

typedef struct loom_component_cost {
  const char *component;
  bool mapped;           /* it holds a tensor or computes */
  loom_expr latency;     /* LOOM_NONE: not mapped */
  loom_expr leak_energy; /* of all instances; LOOM_NONE: a container without leak power */
  loom_expr bits, usage; /* memories that hold something: most at once; else LOOM_NONE */
} loom_component_cost;

/* What one tensor occupies in one memory, and where (-1: persistent). */
typedef struct loom_memory_usage {
  const char *component, *tensor;
  int n_loops_above;
  loom_expr bits, fraction;
} loom_memory_usage;

/* All that is reserved in a memory below at most that many loops. */
typedef struct loom_reserved {
  const char *component;
  int n_loops_above;
  loom_expr bits, fraction;
} loom_reserved;

/* Instances used in a dimension on the way to the compute unit; fraction: of the fanout, times the
** dimension's usage_scale. */
typedef struct loom_spatial_usage {
  const char *component, *dim;
  loom_expr used, fanout, fraction;
} loom_spatial_usage;

/* One einsum, executed once; latency, dynamic_energy and leak_energy are times n_instances, the
** repeats of the einsum and of the workload. */
typedef struct loom_einsum_costs {
  const char *einsum;
  loom_expr n_instances, latency, dynamic_energy, leak_energy;
  const char *bound_by; /* the component whose latency is the einsum's; NULL: symbols decide */
  bool compute_bound;   /* and it is the compute unit */
  loom_action_cost *actions;
  loom_component_cost *components; /* outermost first */
  loom_memory_usage *memory;
  loom_reserved *reserved; /* by component, then ascending n_loops_above */
  loom_spatial_usage *spatial;
  size_t n_actions, n_components, n_memory, n_reserved, n_spatial;
} loom_einsum_costs;

/* What is in a memory while an einsum (by position, `step`) runs; `einsum` reserved it. */
typedef struct loom_resident {
  size_t step;
  const char *component, *tensor, *einsum;
  loom_expr bits, fraction;
} loom_resident;

typedef struct loom_step_usage {
  size_t step;
  const char *component;
  loom_expr bits, fraction;
} loom_step_usage;

typedef struct loom_peak {
  const char *component;
  int step; /* an einsum that runs while most is in use; -1: symbols decide */
  loom_expr bits, fraction;
} loom_peak;

typedef struct loom_component_total {
  const char *component;
  loom_expr energy, dynamic_energy, leak_energy, area; /* area of all instances */
} loom_component_total;

/* A limit of the architecture, met where `condition` (needed <= available) is 1.  Kinds:
** LOOM_ERR_FANOUT (instances, of one einsum), LOOM_ERR_CAPACITY (bits, of one einsum),
** LOOM_ERR_CAPACITY_JOINT (bits, of all einsums; einsum NULL). */
typedef struct loom_constraint {
  loom_status kind;
  const char *einsum, *component, *dim;
  loom_expr needed, available, condition;
} loom_constraint;

/* The whole workload, repeats included. */
typedef struct loom_total_costs {
  loom_expr latency, energy, dynamic_energy, leak_energy, energy_delay_product, area;
  loom_component_total *components; /* containers without energy and area left out */
  loom_peak *peaks;                 /* of the memories that hold something */
  loom_step_usage *steps;           /* of the same, while each einsum runs */
  loom_resident *residents;         /* what the steps are made of */
  loom_constraint *constraints;
  size_t n_components, n_peaks, n_steps, n_residents, n_constraints;
} loom_total_costs;

/* A user's latency of a component in one einsum from what its busiest unit does; called once, with
** formulas.  LOOM_NONE: failed, the error is recorded. */
typedef struct loom_action_count {
  const char *action;
  loom_expr count;      /* actions; steps for a compute unit */
  loom_expr throughput; /* n_parallel_instances included; LOOM_NONE: without limit */
} loom_action_count;
typedef struct loom_latency_query {
  const char *component, *einsum;
  const loom_action_count *actions;
  size_t n_actions;
} loom_latency_query;
typedef loom_expr (*loom_latency)(void *data, loom_ctx *ctx, const loom_latency_query *query);
typedef struct loom_component_latency {
  const char *component;
  loom_latency latency;
  void *data;
} loom_component_latency;

typedef struct loom_cost_options {
  bool allow_exceeded_limits; /* limits that are not met are no errors */
  bool leave_undecided; /* formulas alone: nothing is said of which is largest, nor of limits */
  const loom_component_latency *latencies; /* instead of the components' own rules */
  size_t n_latencies;
} loom_cost_options;

/* Costs of what loom_analyze gave for w, a and m.  A limit of the architecture that is not met is
** an error unless a size or tile is symbolic.  NULL and an error otherwise too.  The costs outlive
** r, w, a and m.  Options NULL: none. */
LOOM_API LOOM_GIVE loom_costs *loom_cost(const loom_result *r, const loom_workload *w,
                                         const loom_arch *a, const loom_mapping *m,
                                         const loom_cost_options *options);
LOOM_API void loom_costs_free(loom_costs *costs);
/* Einsums in the order of loom_result_einsum. */
LOOM_API size_t loom_costs_einsums(const loom_costs *costs);
LOOM_API const loom_einsum_costs *loom_costs_einsum(const loom_costs *costs, size_t einsum);
LOOM_API const loom_total_costs *loom_costs_total(const loom_costs *costs);

/* Energy of the whole workload broken down: rows with the names that are asked for (NULL: the
** others, added up), in order of first occurrence.  Leakage is the action "leak" of no tensor.  The
** rows always add up to the total.  Writes up to capacity, returns how many there are; 0 and an
** error when memory runs out. */
enum { LOOM_BY_EINSUM = 1, LOOM_BY_COMPONENT = 2, LOOM_BY_TENSOR = 4, LOOM_BY_ACTION = 8 };
typedef struct loom_energy {
  const char *einsum, *component, *tensor, *action;
  loom_expr energy;
} loom_energy;
LOOM_API size_t loom_costs_energy(const loom_costs *costs, unsigned by, loom_energy *out,
                                  size_t capacity);

LOOM_C_END

#endif
