/* SPDX-License-Identifier: MIT */
/* Turns values into instructions, several values into one where that saves a pass over the block.
** Invariant: a value is either computed by instructions of its own or, when it is used once, inside
** those of its user. */
#include <string.h>

#include "expr/encode.h"

enum { WITHIN = 1 /* computed inside its user */ };

/* c * a [* or /] b of a sum. */
typedef struct term {
  loom_num c;
  uint32_t a, b;
} term;

typedef LOOM_VEC(term) term_vec;

typedef struct encoding {
  loom_encoder *enc;
  loom_ctx *ctx;
  loom_ir *ir;
  LOOM_VEC(uint8_t) flags;
  term_vec lin, dot, quo, rcp;
} encoding;

static bool used_once(const encoding *x, uint32_t v, loom_ir_op op) {
  const loom_ir_value *value = loom_ir_at(x->ir, v);
  return value->op == op && value->uses == 1;
}

/* A coefficient times one value, used once. */
static bool is_scaled(const encoding *x, uint32_t v) {
  return used_once(x, v, LOOM_IR_LIN) && loom_ir_at(x->ir, v)->n == 1 &&
         loom_num_is_zero(loom_ir_nums(x->ir, v)[0]);
}

static void count_uses(loom_ir *ir, size_t n, const uint32_t *outputs) {
  for (size_t v = 0; v < ir->values.n; v++) ir->values.at[v].uses = 0;
  for (size_t i = 0; i < n; i++) ir->values.at[outputs[i]].uses++;
  for (size_t v = ir->values.n; v-- > 0;) {
    if (!ir->values.at[v].uses) continue;
    const uint32_t *args = loom_ir_args(ir, (uint32_t)v);
    for (size_t k = 0; k < ir->values.at[v].n; k++) ir->values.at[args[k]].uses++;
  }
}

/* Decides which values are computed inside their users. */
static void place_within(encoding *x) {
  for (size_t i = x->ir->values.n; i-- > 0;) {
    uint32_t v = (uint32_t)i;
    const loom_ir_value *value = loom_ir_at(x->ir, v);
    const uint32_t *args = loom_ir_args(x->ir, v);
    if (!value->uses) continue;
    if (value->op == LOOM_IR_QUO && is_scaled(x, args[0])) x->flags.at[args[0]] = WITHIN;
    if (value->op != LOOM_IR_LIN || x->flags.at[v] == WITHIN) continue;
    for (size_t k = 0; k < value->n; k++)
      if (used_once(x, args[k], LOOM_IR_MUL) ||
          (used_once(x, args[k], LOOM_IR_QUO) &&
           !loom_ir_is_const(x->ir, loom_ir_args(x->ir, args[k])[1])))
        x->flags.at[args[k]] = WITHIN;
  }
}

/* ---- instructions ------------------------------------------------------------------------- */

static bool put(encoding *x, loom_tape_op op, bool add, uint32_t dst, size_t n, size_t n_args,
                const uint32_t *args, size_t n_consts, const loom_num *consts) {
  loom_encoder *enc = x->enc;
  loom_tape_instr instr = {
      (uint8_t)op, (uint8_t)n, add, dst, (uint32_t)enc->args.n, (uint32_t)enc->consts.n};
  if (!loom_vec_reserve(x->ctx, &enc->args, n_args) ||
      !loom_vec_reserve(x->ctx, &enc->consts, n_consts))
    return false;
  for (size_t i = 0; i < n_args; i++) enc->args.at[enc->args.n++] = args[i];
  for (size_t i = 0; i < n_consts; i++) enc->consts.at[enc->consts.n++] = consts[i];
  return loom_vec_push(x->ctx, &enc->instrs, instr);
}

static bool put_plain(encoding *x, loom_tape_op op, uint32_t dst, size_t n, const uint32_t *args) {
  return put(x, op, false, dst, n, n, args, 0, NULL);
}

static bool put_const(encoding *x, loom_tape_op op, uint32_t dst, uint32_t a, loom_num c) {
  return put(x, op, false, dst, 1, 1, &a, 1, &c);
}

/* dst = a_0 op a_1 op ... */
static bool put_chain(encoding *x, loom_tape_op op, uint32_t dst, size_t n, const uint32_t *args) {
  for (size_t i = 0; i < n; i += LOOM_TAPE_WIDTH) {
    size_t width = n - i < LOOM_TAPE_WIDTH ? n - i : LOOM_TAPE_WIDTH;
    if (!put(x, op, i > 0, dst, width, width, args + i, 0, NULL)) return false;
  }
  return true;
}

/* Adds the terms to dst; c0 is put into the first instruction of a sum. */
static bool put_terms(encoding *x, loom_tape_op op, uint32_t dst, const term_vec *terms,
                      loom_num *c0, bool *started) {
  bool pairs = op == LOOM_TAPE_DOT || op == LOOM_TAPE_QUO;
  for (size_t i = 0; i < terms->n; i += LOOM_TAPE_WIDTH) {
    uint32_t args[2 * LOOM_TAPE_WIDTH];
    loom_num consts[LOOM_TAPE_WIDTH + 1] = {*c0};
    size_t n = 0, n_args = 0;
    for (; n < LOOM_TAPE_WIDTH && i + n < terms->n; n++) {
      args[n_args++] = terms->at[i + n].a;
      if (pairs) args[n_args++] = terms->at[i + n].b;
      consts[n + 1] = terms->at[i + n].c;
    }
    if (!put(x, op, *started, dst, n, n_args, args, n + 1, consts)) return false;
    *started = true;
    *c0 = LOOM_NUM_ZERO;
  }
  return true;
}

static uint32_t next_virtual(encoding *x) {
  return x->enc->n_virtual++;
}

/* The term c * (product v), with all but its last factor multiplied beforehand. */
static bool push_product(encoding *x, loom_num c, uint32_t v) {
  size_t n = loom_ir_at(x->ir, v)->n;
  const uint32_t *args = loom_ir_args(x->ir, v);
  term t = {c, args[0], args[n - 1]};
  if (n > 2) {
    t.a = next_virtual(x);
    if (!put_chain(x, LOOM_TAPE_MUL, t.a, n - 1, args)) return false;
  }
  return loom_vec_push(x->ctx, &x->dot, t);
}

/* The term c * (quotient v). */
static bool push_quotient(encoding *x, loom_num c, uint32_t v) {
  const uint32_t *args = loom_ir_args(x->ir, v);
  term t = {c, args[0], args[1]};
  if (loom_ir_is_const(x->ir, t.a)) {
    t.c = loom_num_mul(x->ctx, c, loom_ir_nums(x->ir, t.a)[0]);
    t.a = t.b;
    return !loom_num_is_none(t.c) && loom_vec_push(x->ctx, &x->rcp, t);
  }
  if (x->flags.at[t.a] == WITHIN) {
    t.c = loom_num_mul(x->ctx, c, loom_ir_nums(x->ir, t.a)[1]);
    t.a = loom_ir_args(x->ir, t.a)[0];
  }
  return !loom_num_is_none(t.c) && loom_vec_push(x->ctx, &x->quo, t);
}

static bool put_sum(encoding *x, uint32_t dst, loom_num c0) {
  bool started = false;
  return put_terms(x, LOOM_TAPE_LIN, dst, &x->lin, &c0, &started) &&
         put_terms(x, LOOM_TAPE_DOT, dst, &x->dot, &c0, &started) &&
         put_terms(x, LOOM_TAPE_QUO, dst, &x->quo, &c0, &started) &&
         put_terms(x, LOOM_TAPE_RCP, dst, &x->rcp, &c0, &started);
}

static void clear_terms(encoding *x) {
  x->lin.n = x->dot.n = x->quo.n = x->rcp.n = 0;
}

static bool encode_sum(encoding *x, uint32_t v) {
  const loom_ir_value *value = loom_ir_at(x->ir, v);
  clear_terms(x);
  for (size_t k = 0; k < value->n; k++) {
    uint32_t a = loom_ir_args(x->ir, v)[k];
    loom_num c = loom_ir_nums(x->ir, v)[k + 1];
    bool good;
    if (x->flags.at[a] != WITHIN)
      good = loom_vec_push(x->ctx, &x->lin, ((term){c, a, 0}));
    else if (loom_ir_at(x->ir, a)->op == LOOM_IR_MUL)
      good = push_product(x, c, a);
    else
      good = push_quotient(x, c, a);
    if (!good) return false;
  }
  return put_sum(x, v, loom_ir_nums(x->ir, v)[0]);
}

static bool encode_quotient(encoding *x, uint32_t v) {
  const uint32_t *args = loom_ir_args(x->ir, v);
  if (!loom_ir_is_const(x->ir, args[1])) {
    clear_terms(x);
    return push_quotient(x, LOOM_NUM_ONE, v) && put_sum(x, v, LOOM_NUM_ZERO);
  }
  loom_num below = loom_ir_nums(x->ir, args[1])[0];
  if (x->flags.at[args[0]] != WITHIN) return put_const(x, LOOM_TAPE_DIVC, v, args[0], below);
  uint32_t scaled = next_virtual(x);
  loom_num consts[] = {LOOM_NUM_ZERO, loom_ir_nums(x->ir, args[0])[1]};
  return put(x, LOOM_TAPE_LIN, false, scaled, 1, 1, loom_ir_args(x->ir, args[0]), 2, consts) &&
         put_const(x, LOOM_TAPE_DIVC, v, scaled, below);
}

static bool is_power_of_two(loom_num a) {
  return a.den == 1 && a.num > 0 && (a.num & (a.num - 1)) == 0;
}

static bool is_small_integer(loom_num a) {
  return a.den == 1 && a.num > 0 && a.num < INT64_C(1) << 31;
}

/* floor or ceil of a quotient, or a remainder: by a power of two, a small integer, anything. */
static bool encode_division(encoding *x, uint32_t v, loom_tape_op shift, loom_tape_op integer,
                            loom_tape_op general) {
  const uint32_t *args = loom_ir_args(x->ir, v);
  if (!loom_ir_is_const(x->ir, args[1])) return put_plain(x, general, v, 2, args);
  loom_num below = loom_ir_nums(x->ir, args[1])[0];
  if (!is_power_of_two(below))
    return is_small_integer(below) ? put_const(x, integer, v, args[0], below)
                                   : put_plain(x, general, v, 2, args);
  if (shift == LOOM_TAPE_MODS) return put_const(x, shift, v, args[0], below);
  return put_const(x, shift, v, args[0], loom_num_inv(x->ctx, below));
}

/* The arguments and, behind them, which function. */
static bool encode_call(encoding *x, uint32_t v, size_t n, const uint32_t *args) {
  uint32_t operands[LOOM_MOST_ARGUMENTS + 1];
  memcpy(operands, args, n * sizeof *args);
  operands[n] = (uint32_t)loom_ir_nums(x->ir, v)[0].num;
  return put(x, LOOM_TAPE_CALL, false, v, n, n + 1, operands, 0, NULL);
}

static bool encode_value(encoding *x, uint32_t v) {
  const loom_ir_value *value = loom_ir_at(x->ir, v);
  const uint32_t *args = loom_ir_args(x->ir, v);
  switch ((loom_ir_op)value->op) {
  case LOOM_IR_INPUT: return true;
  case LOOM_IR_CONST: return loom_vec_push(x->ctx, &x->enc->loaded, loom_ir_nums(x->ir, v)[0]);
  case LOOM_IR_LIN: return encode_sum(x, v);
  case LOOM_IR_MUL: return put_chain(x, LOOM_TAPE_MUL, v, value->n, args);
  case LOOM_IR_QUO: return encode_quotient(x, v);
  case LOOM_IR_FLOOR: return put_plain(x, LOOM_TAPE_FLOOR, v, 1, args);
  case LOOM_IR_CEIL: return put_plain(x, LOOM_TAPE_CEIL, v, 1, args);
  case LOOM_IR_FDIV:
    return encode_division(x, v, LOOM_TAPE_FLOORS, LOOM_TAPE_FDIVI, LOOM_TAPE_FDIV);
  case LOOM_IR_CDIV: return encode_division(x, v, LOOM_TAPE_CEILS, LOOM_TAPE_CDIVI, LOOM_TAPE_CDIV);
  case LOOM_IR_MOD: return encode_division(x, v, LOOM_TAPE_MODS, LOOM_TAPE_MODI, LOOM_TAPE_MOD);
  case LOOM_IR_MIN: return put_chain(x, LOOM_TAPE_MIN, v, value->n, args);
  case LOOM_IR_MAX: return put_chain(x, LOOM_TAPE_MAX, v, value->n, args);
  case LOOM_IR_LT: return put_plain(x, LOOM_TAPE_LT, v, 2, args);
  case LOOM_IR_LE: return put_plain(x, LOOM_TAPE_LE, v, 2, args);
  case LOOM_IR_EQ: return put_plain(x, LOOM_TAPE_EQ, v, 2, args);
  case LOOM_IR_SELECT: return put_plain(x, LOOM_TAPE_SELECT, v, 3, args);
  case LOOM_IR_CALL: return encode_call(x, v, value->n, args);
  }
  return false;
}

bool loom_encode(loom_encoder *enc, size_t n, const uint32_t *outputs) {
  encoding x = {.enc = enc, .ctx = enc->ctx, .ir = enc->ir};
  size_t n_values = enc->ir->values.n;
  if (!loom_vec_reserve(x.ctx, &x.flags, n_values)) return false;
  memset(x.flags.at, 0, n_values);
  enc->n_virtual = (uint32_t)n_values;
  count_uses(enc->ir, n, outputs);
  place_within(&x);
  bool good = true;
  for (uint32_t v = 0; good && v < n_values; v++)
    if (loom_ir_at(x.ir, v)->uses && x.flags.at[v] != WITHIN) good = encode_value(&x, v);
  loom_vec_free(x.ctx, &x.flags);
  loom_vec_free(x.ctx, &x.lin);
  loom_vec_free(x.ctx, &x.dot);
  loom_vec_free(x.ctx, &x.quo);
  loom_vec_free(x.ctx, &x.rcp);
  return good;
}
