/* SPDX-License-Identifier: MIT */
/* The pieces facts are computed from, shared by the files that compute them. */
#ifndef EINLOOM_FACTS_H
#define EINLOOM_FACTS_H

#include "expr/interval.h"
#include "expr/make.h"

/* Facts that say nothing. */
loom_facts loom_facts_nothing(void);
/* Facts of floor(a / b) and a - b * floor(a / b), not settled. */
loom_facts loom_facts_floor_div(loom_facts a, loom_facts b);
loom_facts loom_facts_mod(loom_facts a, loom_facts b);
/* Facts of coef * product of powers, coef not 0; "divides" assumptions cancel denominators. */
loom_facts loom_facts_product(loom_ctx *ctx, loom_num coef, size_t n, const loom_power *powers);
/* Facts of coef * e, coef not 0, never weaker than those of e scaled. */
loom_facts loom_facts_term(loom_ctx *ctx, loom_num coef, loom_expr e);
/* Whether coef * e is known to be an integer; coef not 0. */
bool loom_term_is_integer(loom_ctx *ctx, loom_num coef, loom_expr e);
/* Whether a negative exponent stands in the product or power e. */
bool loom_has_denominator(const loom_cell *cell);
/* Facts of the draft of a sum. */
loom_facts loom_facts_packed_sum(loom_ctx *ctx, const loom_draft *draft);

#endif
