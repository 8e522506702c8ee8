/* SPDX-License-Identifier: MIT */
/* What tests of searches share: spaces of one product of matrices with a memory Buf, and templates in
** the notation of nest_text.h. */
#ifndef EINLOOM_SEARCH_TEXT_H
#define EINLOOM_SEARCH_TEXT_H

#include "cost_text.h"

static const loom_space_use only_use = {0, NULL};

/* The costs of a case as formulas of its tiles, with the analysis in c->r; NULL: the error is in the
** context. */
static inline loom_costs *template_costs(text_case *c) {
  loom_cost_options formulas = {.allow_exceeded_limits = true, .leave_undecided = true};
  return case_costs(c, &formulas);
}

/* n loops of a template over these variables, with tiles by name (NULL: of one value), over no
** dimension. */
static inline void template_loops(loom_ctx *ctx, int n, const int *variables,
                                  const char *const *tiles, loom_space_loop *loops) {
  for (int i = 0; i < n; i++)
    loops[i] = (loom_space_loop){.tile = tiles[i] ? loom_symbol(ctx, tiles[i], NULL) : LOOM_NONE,
                                 .variable = variables[i],
                                 .dimension = -1};
}

/* A space with the memory Buf of so many bits and the einsum MM over m, n and k; NULL: the error is in
** the context. */
static inline loom_space *space_of_product(loom_ctx *ctx, const loom_space_options *options,
                                           double bits, loom_memory_role role,
                                           const int64_t sizes[3]) {
  loom_space *s = loom_space_new(ctx, options);
  if (s && loom_space_memory(s, "Buf", bits, role) == 0 &&
      loom_space_einsum(s, "MM", 3, sizes, NULL) == 0)
    return s;
  loom_space_free(s);
  return NULL;
}

#endif
