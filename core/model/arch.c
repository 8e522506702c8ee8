/* SPDX-License-Identifier: MIT */
/* Builds architectures. */
#include "model/arch.h"

#include <string.h>

static const char *component_name(const void *data, size_t i) {
  return ((const loom_arch *)data)->components.at[i].name;
}

static const char *dimension_name(const void *data, size_t i) {
  return ((const loom_component *)data)->dimensions.at[i].name;
}

loom_names loom_arch_names(const loom_arch *a) {
  return (loom_names){a->components.n, a, component_name};
}

loom_names loom_component_dimension_names(const loom_component *c) {
  return (loom_names){c->dimensions.n, c, dimension_name};
}

int loom_arch_find(const loom_arch *a, const char *component) {
  for (size_t i = 0; i < a->components.n; i++)
    if (strcmp(a->components.at[i].name, component) == 0) return (int)i;
  return -1;
}

int loom_component_find_dimension(const loom_component *c, const char *dimension) {
  for (size_t i = 0; i < c->dimensions.n; i++)
    if (strcmp(c->dimensions.at[i].name, dimension) == 0) return (int)i;
  return -1;
}

bool loom_arch_at_or_above(const loom_arch *a, int above, int below) {
  while (below > above) below = a->components.at[below].parent;
  return below == above;
}

const loom_action *loom_component_find_action(const loom_component *c, const char *action) {
  for (size_t i = 0; i < c->actions.n; i++)
    if (strcmp(c->actions.at[i].name, action) == 0) return &c->actions.at[i];
  return NULL;
}

const char *loom_class_name(loom_class class_) {
  static const char *const names[] = {"memory", "toll", "compute unit", "container"};
  return names[class_];
}

static void mark_settings(loom_ctx *ctx, const loom_settings *settings) {
  for (size_t i = 0; i < settings->n; i++)
    if (settings->at[i].value != LOOM_NONE) loom_gc_mark(ctx, settings->at[i].value);
}

static void mark_one(loom_ctx *ctx, loom_expr e) {
  if (e != LOOM_NONE) loom_gc_mark(ctx, e);
}

static void mark_component(loom_ctx *ctx, const loom_component *c) {
  for (int i = 0; i < LOOM_N_COMPONENT_NUMBERS; i++) mark_one(ctx, c->number[i]);
  mark_one(ctx, c->latency_value);
  for (size_t i = 0; i < c->actions.n; i++) {
    mark_one(ctx, c->actions.at[i].energy);
    mark_one(ctx, c->actions.at[i].throughput);
    mark_one(ctx, c->actions.at[i].bits_per_action);
  }
  for (size_t i = 0; i < c->dimensions.n; i++) {
    mark_one(ctx, c->dimensions.at[i].fanout);
    mark_one(ctx, c->dimensions.at[i].usage_scale);
  }
  mark_settings(ctx, &c->bits);
  mark_settings(ctx, &c->values_per_action);
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  loom_arch *a = (loom_arch *)(void *)owner;
  for (size_t i = 0; i < a->components.n; i++) mark_component(ctx, &a->components.at[i]);
}

loom_arch *loom_arch_new(loom_ctx *ctx) {
  loom_arch *a = loom_realloc(ctx, NULL, 0, sizeof *a);
  if (!a) return NULL;
  *a = (loom_arch){.ctx = ctx};
  loom_arena_init(&a->arena, ctx);
  loom_owner_add(ctx, &a->owner, mark);
  if (loom_vec_push(ctx, &a->lists, (loom_arch_list){.last = -1})) return a;
  loom_arch_free(a);
  return NULL;
}

void loom_arch_free(loom_arch *a) {
  if (!a) return;
  for (size_t i = 0; i < a->components.n; i++) {
    loom_component *c = &a->components.at[i];
    for (size_t d = 0; d < c->dimensions.n; d++)
      loom_vec_free(a->ctx, &c->dimensions.at[d].may_reuse);
    loom_vec_free(a->ctx, &c->dimensions);
    loom_vec_free(a->ctx, &c->actions);
    loom_vec_free(a->ctx, &c->bits);
    loom_vec_free(a->ctx, &c->values_per_action);
    loom_vec_free(a->ctx, &c->directions);
  }
  loom_vec_free(a->ctx, &a->components);
  loom_vec_free(a->ctx, &a->lists);
  loom_vec_free(a->ctx, &a->forks);
  loom_arena_free(&a->arena);
  loom_owner_remove(&a->owner);
  loom_realloc(a->ctx, a, sizeof *a, 0);
}

static loom_status recorded(const loom_arch *a) {
  return loom_error_status(a->ctx);
}

static loom_component *component_at(const loom_arch *a, int component) {
  if (component >= 0 && (size_t)component < a->components.n) return &a->components.at[component];
  loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "the architecture has no component number %d",
                 component);
  return NULL;
}

/* A number of a component: above 0, or (zero) not below it. */
static loom_status check_number(loom_arch *a, const char *component, const char *what,
                                loom_expr value, bool zero) {
  loom_facts facts = loom_facts_of(a->ctx, value);
  if (zero ? loom_facts_negative(facts) : loom_facts_nonpositive(facts))
    return loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s': %s must %s 0", component,
                          what, zero ? "not be below" : "be above");
  return LOOM_OK;
}

/* As check_number, where LOOM_NONE is an error too. */
static loom_status check_given(loom_arch *a, const char *component, const char *what,
                               loom_expr value, bool zero) {
  if (value != LOOM_NONE) return check_number(a, component, what, value, zero);
  if (recorded(a) != LOOM_OK) return recorded(a);
  return loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s': %s is missing", component,
                        what);
}

/* A list that is not closed by a fork. */
static loom_arch_list *open_list(loom_arch *a, int list) {
  if (list < 0 || (size_t)list >= a->lists.n) {
    loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "the architecture has no list number %d", list);
  } else if (a->lists.at[list].forked) {
    loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "nothing may follow a fork in its list");
  } else {
    return &a->lists.at[list];
  }
  return NULL;
}

int loom_arch_fork(loom_arch *a, int list) {
  loom_arch_list *l = open_list(a, list);
  if (!l || !loom_vec_push(a->ctx, &a->forks, list)) return -1;
  l->forked = true;
  return (int)a->forks.n - 1;
}

int loom_arch_branch(loom_arch *a, int fork) {
  if (fork < 0 || (size_t)fork >= a->forks.n) {
    loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "the architecture has no fork number %d", fork);
    return -1;
  }
  loom_arch_list branch = {.last = a->lists.at[a->forks.at[fork]].last};
  return loom_vec_push(a->ctx, &a->lists, branch) ? (int)a->lists.n - 1 : -1;
}

int loom_arch_component(loom_arch *a, loom_class class_, const char *name) {
  return loom_arch_component_in(a, 0, class_, name);
}

int loom_arch_component_in(loom_arch *a, int list, loom_class class_, const char *name) {
  loom_arch_list *l = open_list(a, list);
  if (!l) return -1;
  if (class_ < LOOM_MEMORY || class_ > LOOM_CONTAINER) {
    loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "component '%s': unknown class %d", name,
                   (int)class_);
    return -1;
  }
  if (loom_arch_find(a, name) >= 0) {
    loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s' is given twice", name);
    return -1;
  }
  loom_component c = {.class_ = class_, .parent = l->last, .skip_initial_output_write = true};
  c.number[LOOM_LEAK_POWER] = c.number[LOOM_AREA] = loom_int(a->ctx, 0);
  c.number[LOOM_ACTIONS_SCALE] = c.number[LOOM_N_PARALLEL_INSTANCES] = loom_int(a->ctx, 1);
  c.name = loom_arena_string(&a->arena, name);
  if (!c.name || !loom_vec_push(a->ctx, &a->components, c)) return -1;
  return l->last = (int)a->components.n - 1;
}

loom_status loom_arch_number(loom_arch *a, int component, loom_component_number which,
                             loom_expr value) {
  static const char *const names[] = {
#define NUMBER_NAME(enumerator, name) name,
      LOOM_COMPONENT_NUMBER_LIST(NUMBER_NAME)
#undef NUMBER_NAME
  };
  loom_component *c = component_at(a, component);
  if (!c) return recorded(a);
  if (which < 0 || which >= LOOM_N_COMPONENT_NUMBERS)
    return loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "unknown number %d of a component",
                          (int)which);
  if (which != LOOM_SIZE || (value == LOOM_NONE && recorded(a) != LOOM_OK)) {
    bool zero = which == LOOM_LEAK_POWER || which == LOOM_AREA || which == LOOM_ACTIONS_SCALE;
    loom_status status = check_given(a, c->name, names[which], value, zero);
    if (status != LOOM_OK) return status;
  } else if (value != LOOM_NONE && check_number(a, c->name, names[which], value, true) != LOOM_OK) {
    return recorded(a);
  }
  c->number[which] = value;
  return LOOM_OK;
}

loom_status loom_arch_skip_initial_output_write(loom_arch *a, int component, bool skip) {
  loom_component *c = component_at(a, component);
  if (!c) return recorded(a);
  c->skip_initial_output_write = skip;
  return LOOM_OK;
}

loom_status loom_arch_latency_rule(loom_arch *a, int component, loom_latency_rule rule,
                                   loom_expr value) {
  loom_component *c = component_at(a, component);
  if (!c) return recorded(a);
  if (rule == LOOM_SUM_COUNT_OVER || rule == LOOM_CONSTANT_LATENCY) {
    bool zero = rule == LOOM_CONSTANT_LATENCY;
    loom_status status = check_given(a, c->name, "the latency value", value, zero);
    if (status != LOOM_OK) return status;
    c->latency_value = value;
  } else if (rule != LOOM_SUM_COUNT_OVER_THROUGHPUT && rule != LOOM_MAX_COUNT_OVER_THROUGHPUT) {
    return loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "component '%s': unknown latency rule %d",
                          c->name, (int)rule);
  }
  c->latency_rule = rule;
  return LOOM_OK;
}

static bool class_has_action(loom_class class_, const char *action) {
  switch (class_) {
  case LOOM_MEMORY: return strcmp(action, "read") == 0 || strcmp(action, "write") == 0;
  case LOOM_TOLL: return strcmp(action, "read") == 0;
  case LOOM_COMPUTE: return strcmp(action, "compute") == 0;
  default: return false;
  }
}

static loom_status check_action(loom_arch *a, const loom_component *c, const char *action) {
  if (!class_has_action(c->class_, action))
    return loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s': a %s has no action '%s'",
                          c->name, loom_class_name(c->class_), action);
  return LOOM_OK;
}

loom_status loom_arch_action(loom_arch *a, int component, const char *action, loom_expr energy,
                             loom_expr throughput, loom_expr bits_per_action) {
  loom_component *c = component_at(a, component);
  if (!c || check_action(a, c, action) != LOOM_OK) return recorded(a);
  if (loom_component_find_action(c, action))
    return loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s': action '%s' is given twice",
                          c->name, action);
  if (energy == LOOM_NONE) energy = loom_int(a->ctx, 0);
  if (bits_per_action == LOOM_NONE) bits_per_action = loom_int(a->ctx, 1);
  if (check_given(a, c->name, "energy", energy, true) != LOOM_OK ||
      check_given(a, c->name, "bits per action", bits_per_action, false) != LOOM_OK ||
      (throughput != LOOM_NONE &&
       check_number(a, c->name, "throughput", throughput, false) != LOOM_OK))
    return recorded(a);
  loom_action item = {.energy = energy,
                      .throughput = throughput,
                      .bits_per_action = bits_per_action,
                      .name = loom_arena_string(&a->arena, action)};
  if (!item.name || !loom_vec_push(a->ctx, &c->actions, item)) return recorded(a);
  return LOOM_OK;
}

int loom_arch_dimension(loom_arch *a, int component, const char *name, loom_expr fanout,
                        loom_expr usage_scale, bool power_gateable) {
  loom_component *c = component_at(a, component);
  if (!c) return -1;
  if (loom_component_find_dimension(c, name) >= 0) {
    loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s': dimension '%s' is given twice",
                   c->name, name);
    return -1;
  }
  if (usage_scale == LOOM_NONE) usage_scale = loom_int(a->ctx, 1);
  if (check_given(a, c->name, "the fanout of a dimension", fanout, false) != LOOM_OK ||
      check_given(a, c->name, "usage scale", usage_scale, true) != LOOM_OK)
    return -1;
  loom_dimension d = {
      .fanout = fanout, .usage_scale = usage_scale, .power_gateable = power_gateable};
  d.name = loom_arena_string(&a->arena, name);
  if (!d.name || !loom_vec_push(a->ctx, &c->dimensions, d)) return -1;
  return (int)c->dimensions.n - 1;
}

/* ---- per-tensor settings ------------------------------------------------------------------ */

static loom_status add_setting(loom_arch *a, loom_settings *settings, loom_setting setting) {
  const char **names[] = {&setting.einsum, &setting.tensor, &setting.action};
  for (size_t i = 0; i < 3; i++)
    if (*names[i] && !(*names[i] = loom_arena_string(&a->arena, *names[i]))) return recorded(a);
  return loom_vec_push(a->ctx, settings, setting) ? LOOM_OK : recorded(a);
}

loom_status loom_arch_may_reuse(loom_arch *a, int component, int dimension, const char *einsum,
                                const char *tensor) {
  loom_component *c = component_at(a, component);
  if (!c) return recorded(a);
  if (dimension < 0 || (size_t)dimension >= c->dimensions.n)
    return loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "component '%s' has no dimension number %d",
                          c->name, dimension);
  return add_setting(a, &c->dimensions.at[dimension].may_reuse,
                     (loom_setting){.einsum = einsum, .tensor = tensor});
}

loom_status loom_arch_bits_per_value(loom_arch *a, int component, const char *einsum,
                                     const char *tensor, loom_expr bits) {
  loom_component *c = component_at(a, component);
  if (!c || check_given(a, c->name, "bits per value", bits, false) != LOOM_OK) return recorded(a);
  return add_setting(a, &c->bits,
                     (loom_setting){.einsum = einsum, .tensor = tensor, .value = bits});
}

loom_status loom_arch_values_per_action(loom_arch *a, int component, const char *action,
                                        const char *einsum, const char *tensor, loom_expr values) {
  loom_component *c = component_at(a, component);
  if (!c || check_given(a, c->name, "values per action", values, false) != LOOM_OK)
    return recorded(a);
  if (action && check_action(a, c, action) != LOOM_OK) return recorded(a);
  return add_setting(
      a, &c->values_per_action,
      (loom_setting){.einsum = einsum, .tensor = tensor, .action = action, .value = values});
}

loom_status loom_arch_direction(loom_arch *a, int component, const char *einsum, const char *tensor,
                                loom_direction d) {
  loom_component *c = component_at(a, component);
  if (!c) return recorded(a);
  if (c->class_ != LOOM_TOLL)
    return loom_error_set(a->ctx, LOOM_ERR_BAD_ARCH, "component '%s': a %s has no direction",
                          c->name, loom_class_name(c->class_));
  if (d < LOOM_UP || d > LOOM_UP_AND_DOWN)
    return loom_error_set(a->ctx, LOOM_ERR_ARGUMENT, "component '%s': unknown direction %d",
                          c->name, (int)d);
  return add_setting(a, &c->directions,
                     (loom_setting){.einsum = einsum, .tensor = tensor, .direction = d});
}

/* The winning setting for an einsum's tensor (and action: NULL means the settings for all actions
** only), or NULL. */
static const loom_setting *lookup(const loom_settings *settings, const char *einsum,
                                  const char *tensor, const char *action) {
  const loom_setting *best = NULL;
  int best_rank = -1;
  for (size_t i = 0; i < settings->n; i++) {
    const loom_setting *s = &settings->at[i];
    if (!loom_name_same(s->action, action) || (s->einsum && strcmp(s->einsum, einsum) != 0) ||
        (s->tensor && strcmp(s->tensor, tensor) != 0))
      continue;
    int rank = (s->einsum ? 2 : 0) + (s->tensor ? 1 : 0);
    if (rank >= best_rank) {
      best = s;
      best_rank = rank;
    }
  }
  return best;
}

bool loom_component_may_reuse(const loom_component *c, int dimension, const char *einsum,
                              const char *tensor) {
  return lookup(&c->dimensions.at[dimension].may_reuse, einsum, tensor, NULL) != NULL;
}

loom_expr loom_component_bits(const loom_component *c, const char *einsum, const char *tensor,
                              loom_expr otherwise) {
  const loom_setting *s = lookup(&c->bits, einsum, tensor, NULL);
  return s ? s->value : otherwise;
}

loom_direction loom_component_direction(const loom_component *c, const char *einsum,
                                        const char *tensor) {
  const loom_setting *s = lookup(&c->directions, einsum, tensor, NULL);
  return s ? s->direction : LOOM_UP_AND_DOWN;
}

loom_expr loom_component_actions_per_value(loom_ctx *ctx, const loom_component *c,
                                           const char *action, const char *einsum,
                                           const char *tensor, loom_expr bits) {
  const loom_setting *s = lookup(&c->values_per_action, einsum, tensor, action);
  if (!s) s = lookup(&c->values_per_action, einsum, tensor, NULL);
  if (s) return loom_div(ctx, loom_int(ctx, 1), s->value);
  const loom_action *found = loom_component_find_action(c, action);
  return found ? loom_div(ctx, bits, found->bits_per_action) : bits;
}
