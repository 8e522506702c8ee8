/* SPDX-License-Identifier: MIT */
/* Makes and finds the values a tape is lowered from.
** Invariant: the table of slots is at most half full and holds every value once. */
#include <string.h>

#include "expr/function.h"
#include "expr/ir.h"

void loom_ir_free(loom_ir *ir) {
  (void)loom_realloc_array(ir->ctx, ir->slots, ir->n_slots, 0, sizeof *ir->slots);
  loom_vec_free(ir->ctx, &ir->values);
  loom_vec_free(ir->ctx, &ir->args);
  loom_vec_free(ir->ctx, &ir->nums);
  loom_vec_free(ir->ctx, &ir->functions);
}

static uint32_t mix(uint32_t h, uint32_t x) {
  h = (h ^ x) * 0x9e3779b1u;
  return h ^ h >> 15;
}

static size_t num_count(loom_ir_op op, size_t n) {
  return op == LOOM_IR_LIN ? n + 1 : op == LOOM_IR_CONST || op == LOOM_IR_CALL;
}

static size_t arg_count(const loom_ir_value *v) {
  return v->op == LOOM_IR_INPUT ? 1 : v->n;
}

static bool grow(loom_ir *ir) {
  size_t n = ir->n_slots ? 2 * ir->n_slots : 64;
  uint32_t *slots = loom_realloc_array(ir->ctx, NULL, 0, n, sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, n * sizeof *slots);
  for (uint32_t v = 0; v < ir->values.n; v++) {
    size_t i = ir->values.at[v].hash & (n - 1);
    while (slots[i]) i = (i + 1) & (n - 1);
    slots[i] = v + 1;
  }
  (void)loom_realloc_array(ir->ctx, ir->slots, ir->n_slots, 0, sizeof *ir->slots);
  ir->slots = slots;
  ir->n_slots = n;
  return true;
}

static bool same(const loom_ir *ir, const loom_ir_value *v, const loom_ir_value *key,
                 const uint32_t *args, const loom_num *nums) {
  if (v->hash != key->hash || v->op != key->op || v->n != key->n) return false;
  size_t n_nums = num_count((loom_ir_op)v->op, v->n);
  for (size_t i = 0; i < arg_count(v); i++)
    if (ir->args.at[v->args + i] != args[i]) return false;
  for (size_t i = 0; i < n_nums; i++)
    if (!loom_num_same(ir->nums.at[v->nums + i], nums[i])) return false;
  return true;
}

static uint32_t make(loom_ir *ir, loom_ir_op op, size_t n, const uint32_t *args,
                     const loom_num *nums) {
  loom_ir_value v = {.op = (uint8_t)op, .n = (uint32_t)n, .hash = mix((uint32_t)op, (uint32_t)n)};
  size_t n_args = arg_count(&v), n_nums = num_count(op, n);
  for (size_t i = 0; i < n_args; i++) {
    if (args[i] == LOOM_IR_NONE) return LOOM_IR_NONE;
    v.hash = mix(v.hash, args[i]);
  }
  for (size_t i = 0; i < n_nums; i++) {
    if (loom_num_is_none(nums[i])) return LOOM_IR_NONE;
    v.hash = mix(mix(v.hash, (uint32_t)nums[i].num), (uint32_t)nums[i].den);
  }
  if (2 * (ir->values.n + 1) > ir->n_slots && !grow(ir)) return LOOM_IR_NONE;
  size_t slot = v.hash & (ir->n_slots - 1);
  for (; ir->slots[slot]; slot = (slot + 1) & (ir->n_slots - 1))
    if (same(ir, &ir->values.at[ir->slots[slot] - 1], &v, args, nums)) return ir->slots[slot] - 1;
  if (!loom_vec_reserve(ir->ctx, &ir->args, n_args) ||
      !loom_vec_reserve(ir->ctx, &ir->nums, n_nums))
    return LOOM_IR_NONE;
  v.args = (uint32_t)ir->args.n;
  v.nums = (uint32_t)ir->nums.n;
  if (!loom_vec_push(ir->ctx, &ir->values, v)) return LOOM_IR_NONE;
  for (size_t i = 0; i < n_args; i++) ir->args.at[ir->args.n++] = args[i];
  for (size_t i = 0; i < n_nums; i++) ir->nums.at[ir->nums.n++] = nums[i];
  ir->slots[slot] = (uint32_t)ir->values.n;
  return (uint32_t)ir->values.n - 1;
}

uint32_t loom_ir_make(loom_ir *ir, loom_ir_op op, size_t n, const uint32_t *args) {
  return make(ir, op, n, args, NULL);
}

uint32_t loom_ir_input(loom_ir *ir, uint32_t input) {
  return make(ir, LOOM_IR_INPUT, 0, &input, NULL);
}

uint32_t loom_ir_const(loom_ir *ir, loom_num num) {
  return make(ir, LOOM_IR_CONST, 0, NULL, &num);
}

uint32_t loom_ir_lin(loom_ir *ir, size_t n, const uint32_t *args, const loom_num *nums) {
  if (n == 0) return loom_ir_const(ir, nums[0]);
  if (n == 1 && loom_num_is_zero(nums[0]) && loom_num_is_one(nums[1])) return args[0];
  return make(ir, LOOM_IR_LIN, n, args, nums);
}

uint32_t loom_ir_scale(loom_ir *ir, loom_num num, uint32_t value) {
  if (value == LOOM_IR_NONE) return value;
  if (loom_ir_is_const(ir, value))
    return loom_ir_const(ir, loom_num_mul(ir->ctx, num, loom_ir_nums(ir, value)[0]));
  return loom_ir_lin(ir, 1, &value, (loom_num[]){LOOM_NUM_ZERO, num});
}

uint32_t loom_ir_mul(loom_ir *ir, size_t n, const uint32_t *args) {
  if (n == 0) return loom_ir_const(ir, LOOM_NUM_ONE);
  return n == 1 ? args[0] : make(ir, LOOM_IR_MUL, n, args, NULL);
}

uint32_t loom_ir_pow(loom_ir *ir, uint32_t value, uint32_t exponent) {
  uint32_t result = LOOM_IR_NONE;
  for (uint32_t square = value;; square = loom_ir_mul(ir, 2, (uint32_t[]){square, square})) {
    if (exponent & 1)
      result = result == LOOM_IR_NONE ? square : loom_ir_mul(ir, 2, (uint32_t[]){result, square});
    exponent >>= 1;
    if (!exponent || square == LOOM_IR_NONE) return exponent ? LOOM_IR_NONE : result;
  }
}

uint32_t loom_ir_call(loom_ir *ir, const loom_function *f, size_t n, const uint32_t *args) {
  size_t i = 0;
  while (i < ir->functions.n && loom_function_order(ir->functions.at[i], f) != 0) i++;
  if (i == ir->functions.n && !loom_vec_push(ir->ctx, &ir->functions, f)) return LOOM_IR_NONE;
  loom_num which = LOOM_NUM((int64_t)i);
  return make(ir, LOOM_IR_CALL, n, args, &which);
}
