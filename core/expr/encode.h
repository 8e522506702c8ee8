/* SPDX-License-Identifier: MIT */
/* From values to a tape: instructions over virtual registers, then over real ones.
** Invariant: virtual register i < number of values is value i; further ones are intermediate. */
#ifndef EINLOOM_ENCODE_H
#define EINLOOM_ENCODE_H

#include "expr/ir.h"
#include "expr/tape.h"

typedef struct loom_encoder {
  loom_ctx *ctx;
  loom_ir *ir;
  LOOM_VEC(loom_tape_instr) instrs;
  LOOM_VEC(uint32_t) args;
  LOOM_VEC(loom_num) consts; /* of instructions */
  LOOM_VEC(loom_num) loaded; /* held by registers */
  LOOM_VEC(uint32_t) places; /* by virtual register: its real one */
  uint32_t n_virtual, n_scratch;
} loom_encoder;

/* Appends the instructions that compute `outputs` (values of ir). */
bool loom_encode(loom_encoder *enc, size_t n, const uint32_t *outputs);
/* Gives every virtual register a real one: see loom_program_registers for their order. */
bool loom_encode_registers(loom_encoder *enc, size_t n_inputs, size_t n, const uint32_t *outputs);

#endif
