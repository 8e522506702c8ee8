/* SPDX-License-Identifier: MIT */
/* Makes and frees programs.
** Invariant: a program owns all it refers to and outlives its context. */
#include <stdlib.h>
#include <string.h>

#include "expr/encode.h"
#include "expr/function.h"

void loom_program_free(loom_program *program) {
  if (!program) return;
  for (size_t i = 0; program->consts && i < program->n_consts; i++) free(program->consts[i].text);
  for (size_t i = 0; i < program->n_functions; i++) loom_function_free(program->functions[i]);
  free(program->functions);
  free(program->instrs);
  free(program->args);
  free(program->values);
  free(program->consts);
  free(program);
}

size_t loom_program_inputs(const loom_program *program) {
  return program->n_inputs;
}
size_t loom_program_outputs(const loom_program *program) {
  return program->n_outputs;
}
size_t loom_program_length(const loom_program *program) {
  return program->n_instrs;
}

static void *copy(const void *from, size_t n, size_t size) {
  void *to = malloc(n ? n * size : 1);
  if (to && n) memcpy(to, from, n * size);
  return to;
}

static bool store_const(loom_ctx *ctx, loom_program *p, loom_num num) {
  loom_tape_const *c = &p->consts[p->n_consts];
  *c = (loom_tape_const){.num = num.num, .den = num.den};
  if (loom_num_is_big(num) && !loom_wide_get(ctx, num, &c->wide) &&
      !(c->text = loom_num_print(ctx, num)))
    return false;
  p->values[p->n_consts++] = loom_num_to_real(ctx, num);
  return true;
}

/* The constants: those of registers, then those of instructions. */
static bool store_consts(loom_encoder *enc, loom_program *p) {
  size_t n = enc->loaded.n + enc->consts.n;
  p->values = malloc((n + 1) * sizeof *p->values);
  p->consts = calloc(n + 1, sizeof *p->consts);
  if (!p->values || !p->consts) return false;
  for (size_t i = 0; i < enc->loaded.n; i++)
    if (!store_const(enc->ctx, p, enc->loaded.at[i])) return false;
  for (size_t i = 0; i < enc->consts.n; i++)
    if (!store_const(enc->ctx, p, enc->consts.at[i])) return false;
  for (size_t i = 0; i < p->n_instrs; i++) p->instrs[i].consts += p->n_loaded;
  return true;
}

static bool store_functions(const loom_ir *ir, loom_program *p) {
  p->functions = malloc((ir->functions.n + 1) * sizeof *p->functions);
  if (!p->functions) return false;
  for (; p->n_functions < ir->functions.n; p->n_functions++)
    p->functions[p->n_functions] = loom_function_hold(ir->functions.at[p->n_functions]);
  return true;
}

/* Points per instruction: inputs and scratch registers should stay in the first-level cache. */
static uint32_t block_size(uint32_t n_registers) {
  return n_registers <= 16 ? 256 : 128;
}

static loom_program *store(loom_encoder *enc, size_t n_inputs, size_t n_outputs) {
  loom_program *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->n_inputs = n_inputs;
  p->n_outputs = n_outputs;
  p->n_instrs = enc->instrs.n;
  p->n_args = enc->args.n;
  p->n_scratch = enc->n_scratch;
  p->n_loaded = (uint32_t)enc->loaded.n;
  p->block = block_size(loom_program_registers(p));
  p->run = loom_tape_kernel_at(0);
  p->instrs = copy(enc->instrs.at, enc->instrs.n, sizeof *p->instrs);
  p->args = copy(enc->args.at, enc->args.n, sizeof *p->args);
  if (p->instrs && p->args && store_consts(enc, p) && store_functions(enc->ir, p)) return p;
  loom_program_free(p);
  return NULL;
}

static bool check(loom_ctx *ctx, size_t n_outputs, const loom_expr *outputs, size_t n_symbols,
                  const loom_expr *symbols) {
  for (size_t i = 0; i < n_outputs; i++)
    if (!loom_expr_check(ctx, outputs[i])) return false;
  for (size_t i = 0; i < n_symbols; i++)
    if (!loom_symbol_check(ctx, symbols[i])) return false;
  return true;
}

/* Linear in the distinct sub-expressions, up to the sorting of terms.  LOOM_ERR_ARGUMENT when an
** output has a symbol that is not given. */
loom_program *loom_compile(loom_ctx *ctx, size_t n_outputs, const loom_expr *outputs,
                           size_t n_symbols, const loom_expr *symbols) {
  loom_ir ir = {.ctx = ctx};
  loom_encoder enc = {.ctx = ctx, .ir = &ir};
  loom_program *program = NULL;
  if (!check(ctx, n_outputs, outputs, n_symbols, symbols)) return NULL;
  uint32_t *values = loom_realloc_array(ctx, NULL, 0, n_outputs + 1, sizeof *values);
  if (values && loom_ir_lower(&ir, n_outputs, outputs, n_symbols, symbols, values) &&
      loom_encode(&enc, n_outputs, values) &&
      loom_encode_registers(&enc, n_symbols, n_outputs, values)) {
    program = store(&enc, n_symbols, n_outputs);
    if (!program) loom_error_memory(ctx);
  }
  if (values) (void)loom_realloc_array(ctx, values, n_outputs + 1, 0, sizeof *values);
  loom_ir_free(&ir);
  loom_vec_free(ctx, &enc.instrs);
  loom_vec_free(ctx, &enc.args);
  loom_vec_free(ctx, &enc.consts);
  loom_vec_free(ctx, &enc.loaded);
  loom_vec_free(ctx, &enc.places);
  return program;
}
