/* SPDX-License-Identifier: MIT */
/* What tests of costs share: cases in the notation of nest_text.h with energies and rates. */
#ifndef EINLOOM_COST_TEXT_H
#define EINLOOM_COST_TEXT_H

#include "nest_text.h"

/* Gives a component of the case one action: energy and actions per unit of time (0: no limit) of 8
** bits each. */
static inline void case_action(const text_case *c, int component, const char *action,
                               int64_t energy, int64_t throughput) {
  loom_arch_action(c->a, component, action, loom_int(c->ctx, energy),
                   throughput ? loom_int(c->ctx, throughput) : LOOM_NONE, loom_int(c->ctx, 8));
}

static inline void case_number(const text_case *c, int component, loom_component_number which,
                               int64_t value) {
  loom_arch_number(c->a, component, which, loom_int(c->ctx, value));
}

/* The costs of a case, with the analysis in c->r; NULL: the error is in the context. */
static inline loom_costs *case_costs(text_case *c, const loom_cost_options *options) {
  loom_result_free(c->r);
  c->r = loom_analyze(c->w, c->a, c->m, &of_reference);
  return c->r ? loom_cost(c->r, c->w, c->a, c->m, options) : NULL;
}

/* The costs of a case with ever more memory: an error each time until there is enough. */
static inline void costs_with_little_memory(text_case (*make)(void)) {
  bool done = false;
  for (size_t extra = 0; !done; extra += 512) {
    text_case c = make();
    c.r = loom_analyze(c.w, c.a, c.m, &of_reference);
    assert_non_null(c.r);
    loom_base_of(c.ctx)->bytes_limit = loom_ctx_bytes(c.ctx) + extra;
    loom_costs *costs = loom_cost(c.r, c.w, c.a, c.m, NULL);
    done = costs != NULL;
    if (!done) assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_MEMORY);
    assert_true(extra < 1 << 24);
    loom_costs_free(costs);
    case_end(&c);
  }
}

static inline const loom_component_cost *cost_component(const loom_costs *costs, size_t einsum,
                                                        const char *component) {
  const loom_einsum_costs *e = loom_costs_einsum(costs, einsum);
  for (size_t i = 0; i < e->n_components; i++)
    if (strcmp(e->components[i].component, component) == 0) return &e->components[i];
  return NULL;
}

static inline const loom_action_cost *cost_action(const loom_costs *costs, size_t einsum,
                                                  const char *component, const char *tensor,
                                                  const char *action) {
  const loom_einsum_costs *e = loom_costs_einsum(costs, einsum);
  for (size_t i = 0; i < e->n_actions; i++) {
    const loom_action_cost *a = &e->actions[i];
    if (strcmp(a->component, component) == 0 && strcmp(a->action, action) == 0 &&
        strcmp(a->tensor ? a->tensor : "", tensor) == 0)
      return a;
  }
  return NULL;
}

static inline const loom_peak *cost_peak(const loom_costs *costs, const char *component) {
  const loom_total_costs *t = loom_costs_total(costs);
  for (size_t i = 0; i < t->n_peaks; i++)
    if (strcmp(t->peaks[i].component, component) == 0) return &t->peaks[i];
  return NULL;
}

#endif
