/* SPDX-License-Identifier: MIT */
/* Evaluation of programs: blocks of points in double, one point in exact numbers.
** Invariant: everything written belongs to the call, so one program serves any number of threads.
*/
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "expr/function.h"
#include "expr/node.h"
#include "expr/tape.h"

/* ---- double ------------------------------------------------------------------------------- */

#define ALIGNMENT 64

/* Register tables and scratch memory of one evaluation, in one allocation. */
typedef struct workspace {
  const double **read;
  double **write;
  double *scratch;
  void *memory;
} workspace;

static bool workspace_new(const loom_program *p, workspace *w) {
  size_t n = loom_program_registers(p), rows = p->n_loaded + p->n_scratch;
  size_t tables = n * (sizeof *w->read + sizeof *w->write);
  size_t bytes = tables + ALIGNMENT + rows * p->block * sizeof(double);
  w->memory = malloc(bytes);
  if (!w->memory) return false;
  uintptr_t at = ((uintptr_t)w->memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
  w->scratch = (double *)at;
  w->read = (const double **)(void *)(w->scratch + rows * p->block);
  w->write = (double **)(void *)(w->read + n);
  for (size_t r = 0; r < rows; r++)
    w->read[p->n_inputs + r] = w->write[p->n_inputs + r] = w->scratch + r * p->block;
  for (size_t r = 0; r < p->n_loaded; r++)
    for (size_t i = 0; i < p->block; i++) w->scratch[r * p->block + i] = p->values[r];
  return true;
}

void loom_tape_call(const loom_program *program, const loom_tape_instr *instr,
                    const double *const *read, double *const *write, size_t points) {
  const uint32_t *arg = program->args + instr->args;
  const loom_function *f = program->functions[arg[instr->n]];
  double values[LOOM_MOST_ARGUMENTS];
  for (size_t p = 0; p < points; p++) {
    for (size_t k = 0; k < instr->n; k++) values[k] = read[arg[k]][p];
    write[instr->dst][p] = loom_function_real(f, values);
  }
}

/* Outputs must not overlap inputs or each other. */
loom_status loom_program_eval(const loom_program *program, size_t n, const double *const *inputs,
                              double *const *outputs) {
  workspace w;
  size_t first = program->n_inputs + program->n_loaded + program->n_scratch;
  if (!workspace_new(program, &w)) return LOOM_ERR_MEMORY;
  for (size_t at = 0; at < n; at += program->block) {
    size_t points = n - at < program->block ? n - at : program->block;
    for (size_t i = 0; i < program->n_inputs; i++) {
      w.read[i] = inputs[i] + at;
      w.write[i] = NULL;
    }
    for (size_t j = 0; j < program->n_outputs; j++)
      w.read[first + j] = w.write[first + j] = outputs[j] + at;
    program->run(program, w.read, w.write, points);
  }
  free(w.memory);
  return LOOM_OK;
}

/* ---- exact -------------------------------------------------------------------------------- */

/* A register without a value (division by zero, or too large) holds LOOM_NUM_NONE, which matters
** where it reaches an output: `error` is what went wrong first. */
typedef struct exact {
  loom_ctx *ctx;
  const loom_program *program;
  loom_num *regs, *consts;
  bool clean; /* no error before */
  loom_error_record error;
} exact;

static loom_num exact_const(loom_ctx *ctx, const loom_tape_const *c) {
  if (c->den) return (loom_num){c->num, c->den};
  return c->text ? loom_num_parse(ctx, c->text, strlen(c->text)) : loom_wide_put(ctx, &c->wide);
}

static loom_num exact_term(loom_ctx *ctx, loom_tape_op op, loom_num c, loom_num a, loom_num b) {
  switch (op) {
  case LOOM_TAPE_LIN: return loom_num_mul(ctx, c, a);
  case LOOM_TAPE_DOT: return loom_num_mul(ctx, loom_num_mul(ctx, c, a), b);
  case LOOM_TAPE_QUO: return loom_num_div(ctx, loom_num_mul(ctx, c, a), b);
  default: return loom_num_div(ctx, c, a);
  }
}

static loom_num exact_sum(const exact *x, const loom_tape_instr *instr, const uint32_t *arg,
                          const loom_num *c) {
  bool pairs = instr->op == LOOM_TAPE_DOT || instr->op == LOOM_TAPE_QUO;
  loom_num sum = instr->add ? x->regs[instr->dst] : c[0];
  for (size_t k = 0; k < instr->n; k++) {
    loom_num a = x->regs[arg[pairs ? 2 * k : k]];
    loom_num b = pairs ? x->regs[arg[2 * k + 1]] : LOOM_NUM_ONE;
    sum = loom_num_add(x->ctx, sum, exact_term(x->ctx, (loom_tape_op)instr->op, c[k + 1], a, b));
  }
  return sum;
}

static loom_num exact_join(const exact *x, const loom_tape_instr *instr, const uint32_t *arg) {
  size_t k = instr->add ? 0 : 1;
  loom_num value = x->regs[instr->add ? instr->dst : arg[0]];
  for (; k < instr->n; k++) {
    loom_num next = x->regs[arg[k]];
    if (loom_num_is_none(next)) return next;
    if (instr->op == LOOM_TAPE_MUL) {
      value = loom_num_mul(x->ctx, value, next);
    } else if (!loom_num_is_none(value)) {
      int order = loom_num_cmp(x->ctx, next, value);
      if (instr->op == LOOM_TAPE_MIN ? order < 0 : order > 0) value = next;
    }
  }
  return value;
}

static loom_num exact_one(loom_ctx *ctx, loom_tape_op op, const loom_num *v, loom_num c) {
  switch (op) {
  case LOOM_TAPE_DIVC: return loom_num_div(ctx, v[0], c);
  case LOOM_TAPE_FLOOR: return loom_num_floor(ctx, v[0]);
  case LOOM_TAPE_CEIL: return loom_num_ceil(ctx, v[0]);
  case LOOM_TAPE_FLOORS: return loom_num_floor(ctx, loom_num_mul(ctx, v[0], c));
  case LOOM_TAPE_CEILS: return loom_num_ceil(ctx, loom_num_mul(ctx, v[0], c));
  case LOOM_TAPE_FDIVI: return loom_num_floor_div(ctx, v[0], c);
  case LOOM_TAPE_CDIVI: return loom_num_ceil(ctx, loom_num_div(ctx, v[0], c));
  case LOOM_TAPE_FDIV: return loom_num_floor_div(ctx, v[0], v[1]);
  case LOOM_TAPE_CDIV: return loom_num_ceil(ctx, loom_num_div(ctx, v[0], v[1]));
  case LOOM_TAPE_MODS:
  case LOOM_TAPE_MODI: return loom_num_mod(ctx, v[0], c);
  case LOOM_TAPE_MOD: return loom_num_mod(ctx, v[0], v[1]);
  case LOOM_TAPE_LT: return LOOM_NUM(loom_num_cmp(ctx, v[0], v[1]) < 0);
  case LOOM_TAPE_LE: return LOOM_NUM(loom_num_cmp(ctx, v[0], v[1]) <= 0);
  case LOOM_TAPE_EQ: return LOOM_NUM(loom_num_same(v[0], v[1]));
  default: return v[0];
  }
}

/* Only the side that counts must have a value. */
static loom_num exact_select(const loom_num *v) {
  if (loom_num_is_none(v[0])) return v[0];
  return loom_num_is_zero(v[0]) ? v[2] : v[1];
}

static loom_num exact_call(const exact *x, const loom_tape_instr *instr, const uint32_t *arg) {
  loom_num values[LOOM_MOST_ARGUMENTS];
  for (size_t k = 0; k < instr->n; k++) {
    values[k] = x->regs[arg[k]];
    if (loom_num_is_none(values[k])) return values[k];
  }
  return loom_function_at(x->ctx, x->program->functions[arg[instr->n]], values);
}

static loom_num exact_instr(const exact *x, const loom_tape_instr *instr) {
  const uint32_t *arg = x->program->args + instr->args;
  const loom_num *c = x->consts + instr->consts;
  loom_num v[3] = {LOOM_NUM_ZERO, LOOM_NUM_ZERO, LOOM_NUM_ZERO};
  switch ((loom_tape_op)instr->op) {
  case LOOM_TAPE_LIN:
  case LOOM_TAPE_DOT:
  case LOOM_TAPE_QUO:
  case LOOM_TAPE_RCP: return exact_sum(x, instr, arg, c);
  case LOOM_TAPE_MUL:
  case LOOM_TAPE_MIN:
  case LOOM_TAPE_MAX: return exact_join(x, instr, arg);
  case LOOM_TAPE_CALL: return exact_call(x, instr, arg);
  default:
    for (size_t k = 0; k < instr->n && k < 3; k++) v[k] = x->regs[arg[k]];
    if (instr->op == LOOM_TAPE_SELECT) return exact_select(v);
    for (size_t k = 0; k < 3; k++)
      if (loom_num_is_none(v[k])) return v[k];
    return exact_one(x->ctx, (loom_tape_op)instr->op, v, *c);
  }
}

static loom_status exact_inputs(exact *x, const loom_expr *inputs) {
  for (size_t i = 0; i < x->program->n_inputs; i++) {
    if (inputs[i] == LOOM_NONE) return loom_error_status(x->ctx);
    if (!loom_expr_live(x->ctx, inputs[i]) || !loom_expr_is_num(x->ctx, inputs[i]))
      return loom_error_set(x->ctx, LOOM_ERR_ARGUMENT, "input %zu is not a number", i);
    x->regs[i] = loom_num_of(x->ctx, inputs[i]);
  }
  return LOOM_OK;
}

/* Keeps the first error and goes on without it. */
static void set_aside(exact *x) {
  if (loom_error_status(x->ctx) == LOOM_OK) return;
  if (x->error.status == LOOM_OK) x->error = loom_base_of(x->ctx)->error;
  if (x->clean) loom_error_clear(x->ctx);
}

static loom_status exact_run(exact *x, const loom_expr *inputs, loom_expr *outputs) {
  const loom_program *p = x->program;
  loom_status status = exact_inputs(x, inputs);
  if (status != LOOM_OK) return status;
  for (size_t i = 0; i < p->n_consts; i++) {
    x->consts[i] = exact_const(x->ctx, &p->consts[i]);
    if (loom_num_is_none(x->consts[i])) return loom_error_status(x->ctx);
  }
  for (size_t i = 0; i < p->n_loaded; i++) x->regs[p->n_inputs + i] = x->consts[i];
  for (size_t i = 0; i < p->n_instrs; i++) {
    x->regs[p->instrs[i].dst] = exact_instr(x, &p->instrs[i]);
    if (loom_base_failed(x->ctx)) return loom_error_status(x->ctx);
    set_aside(x);
  }
  for (size_t j = 0; j < p->n_outputs; j++) {
    loom_num value = x->regs[loom_program_registers(p) - p->n_outputs + j];
    if (loom_num_is_none(value))
      return loom_error_set(x->ctx, x->error.status, "%s", x->error.message);
    outputs[j] = loom_from_num(x->ctx, value);
    if (outputs[j] == LOOM_NONE) return loom_error_status(x->ctx);
  }
  return LOOM_OK;
}

/* LOOM_ERR_DOMAIN for a division by zero that an output depends on. */
loom_status loom_program_exact(const loom_program *program, loom_ctx *ctx, const loom_expr *inputs,
                               loom_expr *outputs) {
  size_t n = loom_program_registers(program) + program->n_consts + 1;
  exact x = {.ctx = ctx, .program = program, .clean = loom_error_status(ctx) == LOOM_OK};
  x.regs = loom_realloc_array(ctx, NULL, 0, n, sizeof *x.regs);
  if (!x.regs) return LOOM_ERR_MEMORY;
  x.consts = x.regs + loom_program_registers(program);
  loom_status status = exact_run(&x, inputs, outputs);
  (void)loom_realloc_array(ctx, x.regs, n, 0, sizeof *x.regs);
  return status;
}
