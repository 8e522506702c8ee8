/* SPDX-License-Identifier: MIT */
/* Gives the virtual registers of a tape real ones.
** Invariant: an instruction never writes a register it also reads (unless it adds to it), and a
** scratch register is reused, last freed first, once its value has been read for the last time. */
#include <string.h>

#include "expr/encode.h"

/* Until the number of scratch registers is known, outputs are counted from here. */
#define OUTPUTS 0x80000000u
#define NOWHERE UINT32_MAX

typedef struct allocator {
  loom_encoder *enc;
  LOOM_VEC(uint32_t) last; /* by virtual register: the last instruction that reads it */
  LOOM_VEC(uint32_t) free_list;
  uint32_t first; /* scratch register */
} allocator;

static size_t arg_count(const loom_tape_instr *instr) {
  return instr->op == LOOM_TAPE_DOT || instr->op == LOOM_TAPE_QUO ? 2u * instr->n : instr->n;
}

static bool is_scratch(const allocator *a, uint32_t place) {
  return place >= a->first && place < OUTPUTS;
}

static bool place_fixed(allocator *a, size_t n_inputs, size_t n, const uint32_t *outputs) {
  loom_encoder *enc = a->enc;
  uint32_t input = 0, loaded = (uint32_t)n_inputs;
  for (uint32_t v = 0; v < enc->n_virtual; v++) enc->places.at[v] = NOWHERE;
  for (uint32_t v = 0; v < enc->ir->values.n; v++) {
    loom_ir_op op = (loom_ir_op)loom_ir_at(enc->ir, v)->op;
    if (op == LOOM_IR_INPUT)
      enc->places.at[v] = input++;
    else if (op == LOOM_IR_CONST && loom_ir_at(enc->ir, v)->uses)
      enc->places.at[v] = loaded++;
  }
  for (uint32_t j = 0; j < n; j++)
    if (enc->places.at[outputs[j]] == NOWHERE) enc->places.at[outputs[j]] = OUTPUTS + j;
  return true;
}

static bool place_instr(allocator *a, uint32_t i) {
  loom_encoder *enc = a->enc;
  loom_tape_instr *instr = &enc->instrs.at[i];
  uint32_t *place = &enc->places.at[instr->dst];
  if (*place == NOWHERE)
    *place = a->free_list.n ? a->free_list.at[--a->free_list.n] : a->first + enc->n_scratch++;
  instr->dst = *place;
  for (size_t k = 0; k < arg_count(instr); k++) {
    uint32_t *arg = &enc->args.at[instr->args + k], v = *arg;
    *arg = enc->places.at[v];
    if (a->last.at[v] != i || !is_scratch(a, *arg)) continue;
    a->last.at[v] = NOWHERE;
    if (!loom_vec_push(enc->ctx, &a->free_list, *arg)) return false;
  }
  return true;
}

/* Copies the outputs that are inputs, constants or earlier outputs. */
static bool copy_outputs(allocator *a, size_t n, const uint32_t *outputs) {
  loom_encoder *enc = a->enc;
  for (uint32_t j = 0; j < n; j++) {
    uint32_t place = enc->places.at[outputs[j]];
    if (place == OUTPUTS + j) continue;
    loom_tape_instr copy = {LOOM_TAPE_COPY,         1, false, OUTPUTS + j, (uint32_t)enc->args.n,
                            (uint32_t)enc->consts.n};
    if (!loom_vec_push(enc->ctx, &enc->args, place) || !loom_vec_push(enc->ctx, &enc->instrs, copy))
      return false;
  }
  return true;
}

static void move_outputs(loom_encoder *enc, uint32_t by) {
  for (size_t i = 0; i < enc->instrs.n; i++)
    if (enc->instrs.at[i].dst >= OUTPUTS) enc->instrs.at[i].dst += by - OUTPUTS;
  for (size_t k = 0; k < enc->args.n; k++)
    if (enc->args.at[k] >= OUTPUTS) enc->args.at[k] += by - OUTPUTS;
}

bool loom_encode_registers(loom_encoder *enc, size_t n_inputs, size_t n, const uint32_t *outputs) {
  allocator a = {.enc = enc, .first = (uint32_t)(n_inputs + enc->loaded.n)};
  bool good = loom_vec_reserve(enc->ctx, &enc->places, enc->n_virtual) &&
              loom_vec_reserve(enc->ctx, &a.last, enc->n_virtual) &&
              place_fixed(&a, n_inputs, n, outputs);
  for (uint32_t v = 0; good && v < enc->n_virtual; v++) a.last.at[v] = NOWHERE;
  uint32_t n_instrs = (uint32_t)enc->instrs.n;
  for (uint32_t i = 0; good && i < n_instrs; i++)
    for (size_t k = 0; k < arg_count(&enc->instrs.at[i]); k++)
      a.last.at[enc->args.at[enc->instrs.at[i].args + k]] = i;
  for (uint32_t i = 0; good && i < n_instrs; i++) good = place_instr(&a, i);
  good = good && copy_outputs(&a, n, outputs);
  if (good) move_outputs(enc, a.first + enc->n_scratch);
  loom_vec_free(enc->ctx, &a.last);
  loom_vec_free(enc->ctx, &a.free_list);
  return good;
}
