/* SPDX-License-Identifier: MIT */
/* Lowers expressions to the values of a tape.
** Invariant: the values and their order depend on the structure of the expressions alone.
** Terms of a sum over one denominator are added before they are divided, and what floor, ceil, //
** and % look at is one quotient of integers where it can be: in double this is exact as long as its
** numerators and denominators stay below 2^53. */
#include <stdlib.h>

#include "expr/ir.h"

/* Common denominators of coefficients up to here are divided by instead of rounded away. */
#define DENOMINATOR_LIMIT 4096
#define EXACT_DENOMINATOR_LIMIT ((int64_t)1 << 40)
/* Denominators (products of powers) that are brought to a common one: a division costs as much as
** some tens of multiplications. */
#define FRACTION_GROUPS 6

typedef struct factor {
  uint32_t value;
  uint32_t exponent;
} factor;

/* coef * above / below; above may be the constant 1, below LOOM_IR_NONE. */
typedef struct fraction {
  loom_num coef;
  uint32_t above, below;
  uint32_t place;   /* in the sum */
  loom_expr source; /* of the powers below */
} fraction;

typedef struct lowerer {
  loom_ctx *ctx;
  loom_ir *ir;
  loom_walk walk;
  uint32_t one;                /* the constant 1 */
  LOOM_VEC(uint32_t) order;    /* of the powers of a product */
  LOOM_VEC(uint32_t) children; /* order of those of a sum or call */
  LOOM_VEC(uint32_t) args;
  LOOM_VEC(uint32_t) sum_args;
  LOOM_VEC(loom_num) sum_nums; /* constant first */
  LOOM_VEC(fraction) fractions;
  LOOM_VEC(factor) common;
} lowerer;

static uint32_t lower_product(lowerer *low, loom_expr e);

/* The value of a visited node or of a product of visited bases. */
static uint32_t value_of(lowerer *low, loom_expr e) {
  uint32_t known = loom_walk_get(&low->walk, e);
  if (known) return known - 1;
  loom_kind kind = loom_kind_of(low->ctx, e);
  uint32_t v = kind == LOOM_MUL || kind == LOOM_POW ? lower_product(low, e) : LOOM_IR_NONE;
  if (v != LOOM_IR_NONE) loom_walk_set(&low->walk, e, v + 1);
  return v;
}

static uint32_t times(lowerer *low, uint32_t a, uint32_t b) {
  if (a == LOOM_IR_NONE || b == LOOM_IR_NONE) return LOOM_IR_NONE;
  if (loom_ir_is_const(low->ir, a)) return loom_ir_scale(low->ir, loom_ir_nums(low->ir, a)[0], b);
  if (loom_ir_is_const(low->ir, b)) return loom_ir_scale(low->ir, loom_ir_nums(low->ir, b)[0], a);
  return loom_ir_mul(low->ir, 2, (uint32_t[]){a, b});
}

/* Appends value ^ exponent to the arguments of a product. */
static bool push_factor(lowerer *low, uint32_t value, uint32_t exponent) {
  if (value == LOOM_IR_NONE) return false;
  if (exponent > LOOM_IR_REPEAT) {
    value = loom_ir_pow(low->ir, value, exponent);
    exponent = 1;
  }
  for (uint32_t i = 0; i < exponent; i++)
    if (!loom_vec_push(low->ctx, &low->args, value)) return false;
  return true;
}

static size_t sort_powers(lowerer *low, loom_expr e) {
  size_t n = loom_mul_count(low->ctx, e);
  low->order.n = 0;
  if (!loom_vec_reserve(low->ctx, &low->order, n)) return 0;
  low->order.at[0] = 0;
  if (n > 1) loom_child_order(low->ctx, e, low->order.at);
  return n;
}

/* The product of the powers of e with exponents of one sign, without the sign; the constant 1 if
** there are none. */
static uint32_t lower_powers(lowerer *low, loom_expr e, size_t n, bool negative) {
  low->args.n = 0;
  for (size_t i = 0; i < n; i++) {
    loom_power power = loom_mul_power(low->ctx, e, low->order.at[i]);
    if ((power.exponent < 0) != negative) continue;
    uint32_t exponent = negative ? 0 - (uint32_t)power.exponent : (uint32_t)power.exponent;
    if (!push_factor(low, value_of(low, power.base), exponent)) return LOOM_IR_NONE;
  }
  return loom_ir_mul(low->ir, low->args.n, low->args.at);
}

/* The term coef * id as a fraction. */
static bool split_term(lowerer *low, loom_num coef, loom_expr id, uint32_t place, fraction *out) {
  *out = (fraction){coef, LOOM_IR_NONE, LOOM_IR_NONE, place, id};
  loom_kind kind = loom_kind_of(low->ctx, id);
  if (kind == LOOM_MUL || kind == LOOM_POW) {
    size_t n = sort_powers(low, id);
    if (n == 0) return false;
    out->above = lower_powers(low, id, n, false);
    uint32_t below = lower_powers(low, id, n, true);
    if (below == LOOM_IR_NONE) return false;
    if (below != low->one) out->below = below;
  } else {
    out->above = value_of(low, id);
  }
  return out->above != LOOM_IR_NONE;
}

static uint32_t quotient(lowerer *low, uint32_t above, uint32_t below) {
  return loom_ir_make(low->ir, LOOM_IR_QUO, 2, (uint32_t[]){above, below});
}

static uint32_t lower_product(lowerer *low, loom_expr e) {
  fraction f;
  if (!split_term(low, LOOM_NUM_ONE, e, 0, &f)) return LOOM_IR_NONE;
  return f.below == LOOM_IR_NONE ? f.above : quotient(low, f.above, f.below);
}

/* ---- sums --------------------------------------------------------------------------------- */

static int by_denominator(const void *a, const void *b) {
  const fraction *x = a, *y = b;
  if (x->below != y->below) return x->below + 1 < y->below + 1 ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* The terms of the sum e, the constant first, then by denominator; within one in canonical order.
 */
static bool split_sum(lowerer *low, loom_expr e) {
  size_t n = loom_add_count(low->ctx, e);
  loom_num constant = loom_add_constant(low->ctx, e);
  low->fractions.n = 0;
  bool good = loom_vec_reserve(low->ctx, &low->fractions, n + 1) &&
              loom_vec_reserve(low->ctx, &low->children, n);
  if (good) loom_child_order(low->ctx, e, low->children.at);
  if (good && !loom_num_is_zero(constant))
    low->fractions.at[low->fractions.n++] =
        (fraction){constant, low->one, LOOM_IR_NONE, 0, LOOM_NONE};
  for (uint32_t i = 0; good && i < n; i++) {
    loom_term term = loom_add_term(low->ctx, e, low->children.at[i]);
    good = split_term(low, term.coef, term.id, i + 1, &low->fractions.at[low->fractions.n]);
    low->fractions.n += good;
  }
  if (good) qsort(low->fractions.at, low->fractions.n, sizeof(fraction), by_denominator);
  return good;
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* The common denominator of the coefficients of fractions[from ... to), if it is worth a division:
** 1 when it is a power of two (exact in double) or beyond the limit. */
static int64_t common_denominator(const lowerer *low, size_t from, size_t to, int64_t limit) {
  int64_t common = 1;
  for (size_t i = from; i < to; i++) {
    int64_t den = low->fractions.at[i].coef.den;
    if (den <= 0) return 1;
    int64_t rest = den / gcd(common, den);
    if (rest > limit / common) return 1;
    common *= rest;
  }
  return (common & (common - 1)) == 0 ? 1 : common;
}

static bool begin_sum(lowerer *low) {
  low->sum_args.n = low->sum_nums.n = 0;
  return loom_vec_push(low->ctx, &low->sum_nums, LOOM_NUM_ZERO);
}

/* Adds num * value to the sum being made. */
static bool push_scaled(lowerer *low, loom_num num, uint32_t value) {
  if (value == LOOM_IR_NONE || loom_num_is_none(num)) return false;
  if (loom_ir_is_const(low->ir, value)) {
    num = loom_num_mul(low->ctx, num, loom_ir_nums(low->ir, value)[0]);
    low->sum_nums.at[0] = loom_num_add(low->ctx, low->sum_nums.at[0], num);
    return !loom_num_is_none(low->sum_nums.at[0]);
  }
  return loom_vec_push(low->ctx, &low->sum_args, value) &&
         loom_vec_push(low->ctx, &low->sum_nums, num);
}

static uint32_t end_sum(lowerer *low) {
  return loom_ir_lin(low->ir, low->sum_args.n, low->sum_args.at, low->sum_nums.at);
}

/* factor * the numerators of fractions[from ... to), over `below`. */
static uint32_t lower_group(lowerer *low, size_t from, size_t to, int64_t denominator) {
  uint32_t below = low->fractions.at[from].below;
  if (!begin_sum(low)) return LOOM_IR_NONE;
  for (size_t i = from; i < to; i++) {
    const fraction *f = &low->fractions.at[i];
    if (!push_scaled(low, loom_num_mul(low->ctx, f->coef, LOOM_NUM(denominator)), f->above))
      return LOOM_IR_NONE;
  }
  uint32_t above = end_sum(low);
  if (denominator != 1)
    below = below == LOOM_IR_NONE ? loom_ir_const(low->ir, LOOM_NUM(denominator))
                                  : loom_ir_scale(low->ir, LOOM_NUM(denominator), below);
  return below == LOOM_IR_NONE ? above : quotient(low, above, below);
}

static size_t group_end(const lowerer *low, size_t from) {
  size_t to = from;
  while (to < low->fractions.n && low->fractions.at[to].below == low->fractions.at[from].below)
    to++;
  return to;
}

/* ---- one denominator ---------------------------------------------------------------------- */

/* Raises the common denominator to a multiple of the powers below of e. */
static bool join_powers(lowerer *low, loom_expr e) {
  size_t n = sort_powers(low, e);
  for (size_t i = 0; i < n; i++) {
    loom_power power = loom_mul_power(low->ctx, e, low->order.at[i]);
    if (power.exponent > 0) continue;
    factor f = {value_of(low, power.base), 0 - (uint32_t)power.exponent};
    size_t k = 0;
    while (k < low->common.n && low->common.at[k].value != f.value) k++;
    if (k == low->common.n && !loom_vec_push(low->ctx, &low->common, f)) return false;
    if (low->common.at[k].exponent < f.exponent) low->common.at[k].exponent = f.exponent;
  }
  return n > 0;
}

/* The common denominator without the powers below of e (LOOM_NONE: all of it). */
static uint32_t missing_powers(lowerer *low, loom_expr e) {
  size_t n = e == LOOM_NONE ? 0 : sort_powers(low, e);
  low->args.n = 0;
  for (size_t k = 0; k < low->common.n; k++) {
    factor f = low->common.at[k];
    for (size_t i = 0; i < n; i++) {
      loom_power power = loom_mul_power(low->ctx, e, low->order.at[i]);
      if (power.exponent < 0 && value_of(low, power.base) == f.value)
        f.exponent -= 0 - (uint32_t)power.exponent;
    }
    if (!push_factor(low, f.value, f.exponent)) return LOOM_IR_NONE;
  }
  return loom_ir_mul(low->ir, low->args.n, low->args.at);
}

static size_t count_groups(const lowerer *low, size_t from) {
  size_t groups = 0;
  for (; from < low->fractions.n; from = group_end(low, from)) groups++;
  return groups;
}

/* fractions[from ...) over one denominator. */
static bool join_sum(lowerer *low, size_t from, int64_t denominator, uint32_t *above,
                     uint32_t *below) {
  low->common.n = 0;
  for (size_t i = from; i < low->fractions.n; i = group_end(low, i))
    if (low->fractions.at[i].below != LOOM_IR_NONE &&
        !join_powers(low, low->fractions.at[i].source))
      return false;
  uint32_t missing = LOOM_IR_NONE;
  if (!begin_sum(low)) return false;
  for (size_t i = from; i < low->fractions.n; i++) {
    const fraction *f = &low->fractions.at[i];
    if (i == from || f->below != f[-1].below)
      missing = missing_powers(low, f->below == LOOM_IR_NONE ? LOOM_NONE : f->source);
    if (!push_scaled(low, loom_num_mul(low->ctx, f->coef, LOOM_NUM(denominator)),
                     times(low, f->above, missing)))
      return false;
  }
  *above = end_sum(low);
  *below = loom_ir_scale(low->ir, LOOM_NUM(denominator), missing_powers(low, LOOM_NONE));
  return *above != LOOM_IR_NONE && *below != LOOM_IR_NONE;
}

static bool split_into_quotient(lowerer *low, loom_expr e, uint32_t *above, uint32_t *below) {
  if (!split_sum(low, e)) return false;
  int64_t denominator = common_denominator(low, 0, low->fractions.n, EXACT_DENOMINATOR_LIMIT);
  if (count_groups(low, 0) <= FRACTION_GROUPS) return join_sum(low, 0, denominator, above, below);
  *above = value_of(low, e);
  return *above != LOOM_IR_NONE;
}

/* e = above / below. */
static bool as_quotient(lowerer *low, loom_expr e, uint32_t *above, uint32_t *below) {
  *below = low->one;
  switch (loom_kind_of(low->ctx, e)) {
  case LOOM_ADD: return split_into_quotient(low, e, above, below);
  case LOOM_NUM: {
    loom_num num = loom_num_of(low->ctx, e);
    *above = loom_ir_const(low->ir, loom_num_numerator(low->ctx, num));
    *below = loom_ir_const(low->ir, loom_num_denominator(low->ctx, num));
    return *above != LOOM_IR_NONE && *below != LOOM_IR_NONE;
  }
  case LOOM_MUL:
  case LOOM_POW: {
    fraction f;
    if (!split_term(low, LOOM_NUM_ONE, e, 0, &f)) return false;
    *above = f.above;
    if (f.below != LOOM_IR_NONE) *below = f.below;
    return true;
  }
  default: *above = value_of(low, e); return *above != LOOM_IR_NONE;
  }
}

/* floor or ceil of a / b; b LOOM_NONE: of a. */
static uint32_t lower_rounding(lowerer *low, bool up, loom_expr a, loom_expr b) {
  uint32_t above, below, over, under;
  if (!as_quotient(low, a, &above, &below)) return LOOM_IR_NONE;
  if (b != LOOM_NONE) {
    if (!as_quotient(low, b, &over, &under)) return LOOM_IR_NONE;
    above = times(low, above, under);
    below = times(low, below, over);
  }
  if (above == LOOM_IR_NONE || below == LOOM_IR_NONE) return LOOM_IR_NONE;
  if (below == low->one) return loom_ir_make(low->ir, up ? LOOM_IR_CEIL : LOOM_IR_FLOOR, 1, &above);
  return loom_ir_make(low->ir, up ? LOOM_IR_CDIV : LOOM_IR_FDIV, 2, (uint32_t[]){above, below});
}

/* Puts the values fractions[from ...) are lowered to in their place: one quotient if their
** denominators are few, else one for each. */
static bool lower_fractions(lowerer *low, size_t from) {
  size_t kept = from, n = low->fractions.n;
  if (count_groups(low, from) <= FRACTION_GROUPS) {
    uint32_t above, below;
    int64_t denominator = common_denominator(low, from, n, DENOMINATOR_LIMIT);
    if (!join_sum(low, from, denominator, &above, &below)) return false;
    uint32_t v = quotient(low, above, below);
    low->fractions.at[kept++] = (fraction){LOOM_NUM_ONE, v, LOOM_IR_NONE, 0, LOOM_NONE};
    low->fractions.n = kept;
    return v != LOOM_IR_NONE;
  }
  for (size_t to; from < n; from = to) {
    to = group_end(low, from);
    uint32_t v = lower_group(low, from, to, common_denominator(low, from, to, DENOMINATOR_LIMIT));
    if (v == LOOM_IR_NONE) return false;
    low->fractions.at[kept++] = (fraction){LOOM_NUM_ONE, v, LOOM_IR_NONE, 0, LOOM_NONE};
  }
  low->fractions.n = kept;
  return true;
}

/* Plain terms stay terms, or become one quotient by their common denominator; then the others. */
static uint32_t lower_sum(lowerer *low, loom_expr e) {
  if (!split_sum(low, e)) return LOOM_IR_NONE;
  size_t plain = low->fractions.at[0].below == LOOM_IR_NONE ? group_end(low, 0) : 0;
  int64_t denominator = common_denominator(low, 0, plain, DENOMINATOR_LIMIT);
  uint32_t first = denominator == 1 ? LOOM_IR_NONE : lower_group(low, 0, plain, denominator);
  if (plain < low->fractions.n && !lower_fractions(low, plain)) return LOOM_IR_NONE;
  if (!begin_sum(low)) return LOOM_IR_NONE;
  if (denominator != 1 && !push_scaled(low, LOOM_NUM_ONE, first)) return LOOM_IR_NONE;
  for (size_t i = denominator == 1 ? 0 : plain; i < low->fractions.n; i++)
    if (!push_scaled(low, low->fractions.at[i].coef, low->fractions.at[i].above))
      return LOOM_IR_NONE;
  return end_sum(low);
}

/* ---- nodes -------------------------------------------------------------------------------- */

/* (n/d) % (m/d) = (n % m) / d, whatever the sign of d. */
static uint32_t lower_mod(lowerer *low, loom_expr a, loom_expr b) {
  uint32_t above, below, over, under;
  if (!as_quotient(low, a, &above, &below) || !as_quotient(low, b, &over, &under))
    return LOOM_IR_NONE;
  uint32_t args[] = {times(low, above, under), times(low, over, below)};
  uint32_t rest = loom_ir_make(low->ir, LOOM_IR_MOD, 2, args);
  below = times(low, below, under);
  if (below == low->one || rest == LOOM_IR_NONE || below == LOOM_IR_NONE)
    return below == LOOM_IR_NONE ? below : rest;
  return quotient(low, rest, below);
}

/* The values of the children of e, in order, to sum_args. */
static bool list_children(lowerer *low, loom_expr e) {
  size_t n = loom_child_count(low->ctx, e);
  low->sum_args.n = 0;
  if (!loom_vec_reserve(low->ctx, &low->children, n) ||
      !loom_vec_reserve(low->ctx, &low->sum_args, n))
    return false;
  loom_child_order(low->ctx, e, low->children.at);
  for (size_t i = 0; i < n; i++) {
    uint32_t v = value_of(low, loom_child(low->ctx, e, low->children.at[i]));
    if (v == LOOM_IR_NONE) return false;
    low->sum_args.at[low->sum_args.n++] = v;
  }
  return true;
}

static uint32_t lower_children(lowerer *low, loom_ir_op op, loom_expr e) {
  if (!list_children(low, e)) return LOOM_IR_NONE;
  return loom_ir_make(low->ir, op, low->sum_args.n, low->sum_args.at);
}

static uint32_t lower_call(lowerer *low, loom_expr e) {
  if (!list_children(low, e)) return LOOM_IR_NONE;
  return loom_ir_call(low->ir, loom_call_function(low->ctx, e), low->sum_args.n, low->sum_args.at);
}

static uint32_t lower_node(lowerer *low, loom_expr f) {
  loom_ctx *ctx = low->ctx;
  switch (loom_kind_of(ctx, f)) {
  case LOOM_NUM: return loom_ir_const(low->ir, loom_num_of(ctx, f));
  case LOOM_ADD: return lower_sum(low, f);
  case LOOM_MIN: return lower_children(low, LOOM_IR_MIN, f);
  case LOOM_MAX: return lower_children(low, LOOM_IR_MAX, f);
  case LOOM_FLOOR: return lower_rounding(low, false, loom_child(ctx, f, 0), LOOM_NONE);
  case LOOM_CEIL: return lower_rounding(low, true, loom_child(ctx, f, 0), LOOM_NONE);
  case LOOM_FLOORDIV:
    return lower_rounding(low, false, loom_child(ctx, f, 0), loom_child(ctx, f, 1));
  case LOOM_MOD: return lower_mod(low, loom_child(ctx, f, 0), loom_child(ctx, f, 1));
  case LOOM_MODIDX: {
    uint32_t whole = lower_rounding(low, false, loom_child(ctx, f, 0), loom_child(ctx, f, 1));
    uint32_t modulus = value_of(low, loom_child(ctx, f, 2));
    return loom_ir_make(low->ir, LOOM_IR_MOD, 2, (uint32_t[]){whole, modulus});
  }
  case LOOM_LT: return lower_children(low, LOOM_IR_LT, f);
  case LOOM_LE: return lower_children(low, LOOM_IR_LE, f);
  case LOOM_EQ: return lower_children(low, LOOM_IR_EQ, f);
  case LOOM_SELECT: return lower_children(low, LOOM_IR_SELECT, f);
  case LOOM_OPAQUE: return value_of(low, loom_child(ctx, f, 0));
  case LOOM_CALL: return lower_call(low, f);
  case LOOM_SYM:
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "symbol %s is not among the inputs",
                   loom_symbol_name(ctx, f));
    return LOOM_IR_NONE;
  default: return LOOM_IR_NONE; /* products and powers: where they are used */
  }
}

static bool is_product(const loom_ctx *ctx, loom_expr e) {
  loom_kind kind = loom_kind_of(ctx, e);
  return kind == LOOM_MUL || kind == LOOM_POW;
}

static bool lower_all(lowerer *low, size_t n, const loom_expr *outputs, uint32_t *values) {
  for (size_t i = 0; i < n; i++) {
    loom_walk_root(&low->walk, outputs[i]);
    for (loom_expr f; (f = loom_walk_next(&low->walk)) != LOOM_NONE;) {
      if (is_product(low->ctx, f)) continue;
      uint32_t v = lower_node(low, f);
      if (v == LOOM_IR_NONE) return false;
      loom_walk_set(&low->walk, f, v + 1);
    }
    values[i] = value_of(low, outputs[i]);
    if (values[i] == LOOM_IR_NONE) return false;
  }
  return true;
}

bool loom_ir_lower(loom_ir *ir, size_t n_outputs, const loom_expr *outputs, size_t n_symbols,
                   const loom_expr *symbols, uint32_t *values) {
  lowerer low = {.ctx = ir->ctx, .ir = ir};
  if (!loom_walk_begin(ir->ctx, &low.walk, true)) return false;
  bool good = (low.one = loom_ir_const(ir, LOOM_NUM_ONE)) != LOOM_IR_NONE;
  for (uint32_t i = 0; good && i < n_symbols; i++) {
    uint32_t v = loom_ir_input(ir, i);
    good = v != LOOM_IR_NONE;
    if (good) loom_walk_set(&low.walk, symbols[i], v + 1);
  }
  good = good && lower_all(&low, n_outputs, outputs, values);
  if (!loom_walk_end(&low.walk)) good = false;
  loom_vec_free(ir->ctx, &low.order);
  loom_vec_free(ir->ctx, &low.children);
  loom_vec_free(ir->ctx, &low.args);
  loom_vec_free(ir->ctx, &low.sum_args);
  loom_vec_free(ir->ctx, &low.sum_nums);
  loom_vec_free(ir->ctx, &low.fractions);
  loom_vec_free(ir->ctx, &low.common);
  return good;
}
