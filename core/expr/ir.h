/* SPDX-License-Identifier: MIT */
/* What a tape is lowered from: values numbered in the order they are made.
** Invariant: a value is unique (same operation, arguments and constants: same index) and comes
** after its arguments. */
#ifndef EINLOOM_IR_H
#define EINLOOM_IR_H

#include "expr/ops.h"

typedef enum loom_ir_op {
  LOOM_IR_INPUT, /* args[0]: which */
  LOOM_IR_CONST, /* nums[0] */
  LOOM_IR_LIN,   /* nums[0] + sum of nums[k + 1] * args[k] */
  LOOM_IR_MUL,   /* product of two or more */
  LOOM_IR_QUO,   /* args[0] / args[1] */
  LOOM_IR_FLOOR,
  LOOM_IR_CEIL,
  LOOM_IR_FDIV, /* floor(args[0] / args[1]) */
  LOOM_IR_CDIV, /* ceil(args[0] / args[1]) */
  LOOM_IR_MOD,
  LOOM_IR_MIN,
  LOOM_IR_MAX,
  LOOM_IR_LT,
  LOOM_IR_LE,
  LOOM_IR_EQ,
  LOOM_IR_SELECT,
  LOOM_IR_CALL /* function nums[0] of args */
} loom_ir_op;

typedef struct loom_ir_value {
  uint8_t op;
  uint32_t n;    /* arguments */
  uint32_t args; /* where they start */
  uint32_t nums; /* where the constants start */
  uint32_t hash;
  uint32_t uses; /* by needed values and outputs; filled by the encoder */
} loom_ir_value;

#define LOOM_IR_NONE UINT32_MAX
#define LOOM_IR_REPEAT 4 /* powers up to here are repeated factors of a product */

typedef struct loom_ir {
  loom_ctx *ctx;
  LOOM_VEC(loom_ir_value) values;
  LOOM_VEC(uint32_t) args;
  LOOM_VEC(loom_num) nums;
  LOOM_VEC(const loom_function *) functions; /* called */
  uint32_t *slots;                           /* index + 1 */
  size_t n_slots;
} loom_ir;

void loom_ir_free(loom_ir *ir);

/* Builders: the index of the value, LOOM_IR_NONE when memory runs out or an argument is
** LOOM_IR_NONE.  Arguments are copied and must not lie inside the ir. */
uint32_t loom_ir_make(loom_ir *ir, loom_ir_op op, size_t n, const uint32_t *args);
uint32_t loom_ir_input(loom_ir *ir, uint32_t input);
uint32_t loom_ir_const(loom_ir *ir, loom_num num);
/* nums: the constant, then n coefficients, none 0. */
uint32_t loom_ir_lin(loom_ir *ir, size_t n, const uint32_t *args, const loom_num *nums);
/* num * value. */
uint32_t loom_ir_scale(loom_ir *ir, loom_num num, uint32_t value);
/* The product of n values, n >= 0; arguments must not be constants. */
uint32_t loom_ir_mul(loom_ir *ir, size_t n, const uint32_t *args);
/* value ^ exponent, exponent > 0. */
uint32_t loom_ir_pow(loom_ir *ir, uint32_t value, uint32_t exponent);

/* A call of a function that a live node holds. */
uint32_t loom_ir_call(loom_ir *ir, const loom_function *f, size_t n, const uint32_t *args);

/* Lowers expressions (lower.c): the values of the outputs, with the symbols as inputs in their
** order. False with a recorded error: LOOM_ERR_ARGUMENT for a symbol that is no input. */
bool loom_ir_lower(loom_ir *ir, size_t n_outputs, const loom_expr *outputs, size_t n_symbols,
                   const loom_expr *symbols, uint32_t *values);

static inline const loom_ir_value *loom_ir_at(const loom_ir *ir, uint32_t v) {
  return &ir->values.at[v];
}
static inline const uint32_t *loom_ir_args(const loom_ir *ir, uint32_t v) {
  return ir->args.at + ir->values.at[v].args;
}
static inline const loom_num *loom_ir_nums(const loom_ir *ir, uint32_t v) {
  return ir->nums.at + ir->values.at[v].nums;
}
static inline bool loom_ir_is_const(const loom_ir *ir, uint32_t v) {
  return ir->values.at[v].op == LOOM_IR_CONST;
}

#endif
