/* SPDX-License-Identifier: MIT */
/* Whether indices of 32 bits do (doc/formulas.md#indices-of-32-bits).
** Invariant: loom_address_narrow is a proof: no value that is computed on the way to an address, in
** whatever order its terms are added, leaves [-(2^31 - 1), 2^31 - 1]. */
#include "expr/ops.h"
#include "ranges/sizes.h"

#define MOST_32 INT64_C(2147483647)

/* ---- extents ------------------------------------------------------------------------------ */

static bool is_narrow(loom_ctx *ctx, loom_expr e, const loom_given *given) {
  loom_expr most = loom_int(ctx, MOST_32), value;
  if (loom_known(ctx, LOOM_REL_LE, e, most, given)) return true;
  if ((given && given->strict) || !loom_hint_value(ctx, e, given, &value)) return false;
  return loom_known(ctx, LOOM_REL_LE, value, most, NULL);
}

bool loom_index_narrow(loom_ctx *ctx, loom_expr extent, size_t n, const loom_expr *sizes,
                       const loom_given *given) {
  if (!loom_size_check(ctx, extent, "the extent of a kernel")) return false;
  for (size_t i = 0; i < n; i++)
    if (!loom_size_check(ctx, sizes[i], "the size of a buffer")) return false;
  if (!is_narrow(ctx, extent, given)) return false;
  for (size_t i = 0; i < n; i++)
    if (!is_narrow(ctx, sizes[i], given)) return false;
  return true;
}

/* ---- addresses ---------------------------------------------------------------------------- */

/* The variables with symbols in their place whose bounds are those of the loops. */
typedef struct bounded {
  loom_ctx *ctx;
  size_t n;
  loom_expr *variables, *symbols;
} bounded;

static bool fits(int64_t lo, int64_t hi) {
  return lo >= -MOST_32 && hi <= MOST_32;
}

static bool bound(bounded *b, const loom_address *a) {
  for (size_t i = 0; i < a->n; i++) {
    loom_facts facts = loom_facts_of(b->ctx, a->loops[i].size);
    if (facts.hi < 1 || facts.hi > MOST_32) return false;
    loom_assume assume = {.integer = true, .has_min = true, .has_max = true, .max = facts.hi - 1};
    b->variables[i] = a->loops[i].variable;
    b->symbols[i] = loom_symbol(b->ctx, loom_symbol_name(b->ctx, a->loops[i].variable), &assume);
    if (b->symbols[i] == LOOM_NONE) return false;
  }
  return true;
}

static bool part_fits(const bounded *b, loom_expr part, loom_facts *facts) {
  loom_expr e = loom_substitute(b->ctx, part, b->n, b->variables, b->symbols);
  if (e == LOOM_NONE) return false;
  *facts = loom_facts_of(b->ctx, e);
  return fits(facts->lo, facts->hi);
}

/* The terms above 0 and those below it, each added up, do not leave the range: then no partial sum
** does. */
static bool sum_fits(const bounded *b, loom_expr e) {
  loom_ctx *ctx = b->ctx;
  int64_t constant, below = 0, above = 0;
  if (!loom_num_to_int(ctx, loom_add_constant(ctx, e), &constant) || !fits(constant, constant))
    return false;
  if (constant < 0)
    below = constant;
  else
    above = constant;
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++) {
    loom_term term = loom_add_term(ctx, e, i);
    loom_facts facts;
    int64_t factor;
    if (!loom_num_to_int(ctx, term.coef, &factor) || !fits(factor, factor) ||
        !part_fits(b, loom_scale(ctx, term.coef, term.id), &facts))
      return false;
    if (facts.lo < 0) below += facts.lo;
    if (facts.hi > 0) above += facts.hi;
    if (!fits(below, above)) return false;
  }
  return true;
}

static bool parts_fit(const bounded *b, loom_expr index) {
  loom_walk walk;
  bool good = loom_walk_begin(b->ctx, &walk, false);
  if (!good) return false;
  loom_walk_root(&walk, index);
  for (loom_expr e; good && (e = loom_walk_next(&walk)) != LOOM_NONE;) {
    loom_facts facts;
    good = part_fits(b, e, &facts) && (loom_kind_of(b->ctx, e) != LOOM_ADD || sum_fits(b, e));
  }
  return loom_walk_end(&walk) && good;
}

static bool iterations_fit(loom_ctx *ctx, const loom_address *a) {
  int64_t product = 1;
  for (size_t i = 0; i < a->n; i++) {
    product *= loom_facts_of(ctx, a->loops[i].size).hi; /* both at most 2^31 - 1 */
    if (product > MOST_32) return false;
  }
  return true;
}

bool loom_address_narrow(loom_ctx *ctx, const loom_address *a) {
  if (!loom_expr_check(ctx, a->index)) return false;
  for (size_t i = 0; i < a->n; i++)
    if (!loom_symbol_check(ctx, a->loops[i].variable) ||
        !loom_size_check(ctx, a->loops[i].size, "the size of a loop"))
      return false;
  loom_expr *memory = loom_realloc_array(ctx, NULL, 0, 2 * a->n + 1, sizeof *memory);
  if (!memory) return false;
  uint32_t mark = loom_scratch_mark(ctx);
  bounded b = {ctx, a->n, memory, memory + a->n};
  bool good = bound(&b, a) && iterations_fit(ctx, a) && parts_fit(&b, a->index);
  loom_realloc_array(ctx, memory, 2 * a->n + 1, 0, sizeof *memory);
  return loom_scratch_release(ctx, mark) == LOOM_OK && good && !loom_base_failed(ctx);
}
