/* SPDX-License-Identifier: MIT */
/* Components as data, outer before inner, with their per-tensor settings.
** Invariant: names of components, of a component's dimensions and of its actions are distinct, and
** every expression stored is above 0 as far as is known (energies and powers: not below). */
#ifndef EINLOOM_ARCH_H
#define EINLOOM_ARCH_H

#include "expr/node.h"
#include "model/arena.h"
#include "model/names.h"

/* A setting for some tensors: NULL stands for every einsum, every tensor, every action. */
typedef struct loom_setting {
  const char *einsum, *tensor, *action;
  loom_expr value;
  loom_direction direction;
} loom_setting;

typedef LOOM_VEC(loom_setting) loom_settings;

typedef struct loom_action {
  const char *name;
  loom_expr energy, throughput, bits_per_action; /* throughput LOOM_NONE: no limit */
} loom_action;

typedef struct loom_dimension {
  const char *name;
  loom_expr fanout, usage_scale;
  bool power_gateable;
  loom_settings may_reuse;
} loom_dimension;

typedef struct loom_component {
  loom_class class_;
  int parent; /* the component directly above, or -1 */
  const char *name;
  loom_expr number[LOOM_N_COMPONENT_NUMBERS]; /* size LOOM_NONE: no limit */
  bool skip_initial_output_write;
  loom_latency_rule latency_rule;
  loom_expr latency_value;
  LOOM_VEC(loom_action) actions;
  LOOM_VEC(loom_dimension) dimensions;
  loom_settings bits, values_per_action, directions;
} loom_component;

/* A branch, or (list 0) the trunk. */
typedef struct loom_arch_list {
  int last;    /* its last component, or the last one above it, or -1 */
  bool forked; /* nothing may follow */
} loom_arch_list;

struct loom_arch {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  LOOM_VEC(loom_arch_list) lists;
  LOOM_VEC(int) forks; /* by fork: the list it ends */
  LOOM_VEC(loom_component) components;
};

const char *loom_class_name(loom_class class_);

/* Indices by name, or -1. */
int loom_arch_find(const loom_arch *a, const char *component);
int loom_component_find_dimension(const loom_component *c, const char *dimension);
/* Whether a component is another or stands above it. */
bool loom_arch_at_or_above(const loom_arch *a, int above, int below);
/* An action, or NULL. */
const loom_action *loom_component_find_action(const loom_component *c, const char *action);
loom_names loom_arch_names(const loom_arch *a);
loom_names loom_component_dimension_names(const loom_component *c);

/* Settings that hold for one tensor of one einsum; the most particular one wins: the einsum named
** before all einsums, then the tensor named before all tensors, then the last one given. */
bool loom_component_may_reuse(const loom_component *c, int dimension, const char *einsum,
                              const char *tensor);
/* `otherwise` where the component says nothing. */
loom_expr loom_component_bits(const loom_component *c, const char *einsum, const char *tensor,
                              loom_expr otherwise);
loom_direction loom_component_direction(const loom_component *c, const char *einsum,
                                        const char *tensor);
/* Actions that one value costs: 1 / values per action where given (for the action before for all
** actions), else bits / bits per action.  LOOM_NONE when memory runs out. */
loom_expr loom_component_actions_per_value(loom_ctx *ctx, const loom_component *c,
                                           const char *action, const char *einsum,
                                           const char *tensor, loom_expr bits);

#endif
