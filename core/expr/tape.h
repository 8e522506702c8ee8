/* SPDX-License-Identifier: MIT */
/* Compiled programs: a tape of instructions over blocks of points.
** Invariant: a program never changes once made and refers to no context; whatever an evaluation
** writes is its own. */
#ifndef EINLOOM_TAPE_H
#define EINLOOM_TAPE_H

#include "base/wide.h"
#include "einloom.h"

/* Instructions.  dst and the operands a, b (and a_k, b_k) are registers: inputs, then constants,
** scratch and outputs.  c_k are constants of the instruction.  X(name) */
#define LOOM_TAPE_LIST(X)                                    \
  X(LIN) /* c0 + sum of c_k * a_k */                         \
  X(DOT) /* c0 + sum of c_k * a_k * b_k */                   \
  X(QUO) /* c0 + sum of c_k * a_k / b_k */                   \
  X(RCP) /* c0 + sum of c_k / a_k */                         \
  X(MUL) /* product of a_k */                                \
  X(MIN)                                                     \
  X(MAX)                                                     \
  X(DIVC) /* a / c0 */                                       \
  X(FLOOR)                                                   \
  X(CEIL)                                                    \
  X(FLOORS) /* floor(a * c0), c0 a power of two */           \
  X(CEILS)                                                   \
  X(FDIVI) /* floor(a / c0), c0 an integer, 0 < c0 < 2^31 */ \
  X(CDIVI)                                                   \
  X(FDIV) /* floor(a / b) */                                 \
  X(CDIV)                                                    \
  X(MODS) /* a - c0 * floor(a / c0), c0 a power of two */    \
  X(MODI)                                                    \
  X(MOD)                                                     \
  X(LT)                                                      \
  X(LE)                                                      \
  X(EQ)                                                      \
  X(SELECT)                                                  \
  X(CALL) /* args: a_0 a_1 ..., then which function */       \
  X(COPY)

typedef enum loom_tape_op {
#define LOOM_TAPE_ENUM(name) LOOM_TAPE_##name,
  LOOM_TAPE_LIST(LOOM_TAPE_ENUM)
#undef LOOM_TAPE_ENUM
} loom_tape_op;

#define LOOM_TAPE_WIDTH 4 /* terms of one instruction */

/* The first four operations add to the register a_n when `add` is set.  args: a_0 b_0 a_1 b_1 ...
** or a_0 a_1 ...; consts: c0 c_0 c_1 ... for those four, c0 else. */
typedef struct loom_tape_instr {
  uint8_t op, n;
  bool add;
  uint32_t dst, args, consts;
} loom_tape_instr;

/* An exact constant: num / den; where that does not fit, den is 0 and the value is in `wide`; where
** that does not either, den is 0 and `text` spells it. */
typedef struct loom_tape_const {
  int64_t num, den;
  loom_wide wide;
  char *text;
} loom_tape_const;

/* Runs the whole tape over `points` <= block points.  read and write: one array per register, the
** same memory; write[input] is not used. */
typedef void (*loom_tape_kernel)(const loom_program *program, const double *const *read,
                                 double *const *write, size_t points);

struct loom_program {
  size_t n_inputs, n_outputs, n_instrs, n_args, n_consts;
  uint32_t n_loaded;  /* registers that hold constants: consts[0 ... n_loaded) */
  uint32_t n_scratch; /* scratch registers */
  uint32_t block;     /* points per instruction */
  loom_tape_instr *instrs;
  uint32_t *args;
  double *values;            /* consts rounded once */
  loom_tape_const *consts;   /* the same, exact */
  loom_function **functions; /* held */
  size_t n_functions;
  loom_tape_kernel run;
};

/* Registers of a program, in this order: inputs, loaded constants, scratch, outputs. */
static inline uint32_t loom_program_registers(const loom_program *p) {
  return (uint32_t)(p->n_inputs + p->n_loaded + p->n_scratch + p->n_outputs);
}

/* One call at every point. */
void loom_tape_call(const loom_program *program, const loom_tape_instr *instr,
                    const double *const *read, double *const *write, size_t points);

/* The kernels that run on this machine, the fastest first: the i-th or NULL.  All give the same
** bits. */
loom_tape_kernel loom_tape_kernel_at(size_t i);

#endif
