/* SPDX-License-Identifier: MIT */
/* The double interpreter: each instruction is one loop over a block of points.
** Invariant: every variant of the kernel does the same operations in the same order, without
** contraction, so that all machines give the same bits.  This file is compiled with -O3
** -fno-trapping-math -ffp-contract=off (CMakeLists.txt). */
#include <math.h>

#include "expr/tape.h"

#if defined(__GNUC__) && !defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#define INDEPENDENT _Pragma("GCC ivdep")
#define UNROLL _Pragma("GCC unroll 4")
#else
#define INLINE static inline
#define INDEPENDENT
#define UNROLL
#endif

/* Where an instruction reads and writes. */
typedef struct streams {
  double *d;
  const double *a[LOOM_TAPE_WIDTH], *b[LOOM_TAPE_WIDTH];
  const double *c;
  size_t points;
} streams;

#define EACH(expression) INDEPENDENT for (size_t p = 0; p < s.points; p++) s.d[p] = (expression)

INLINE double term(loom_tape_op op, double c, double a, double b) {
  switch (op) {
  case LOOM_TAPE_LIN: return c * a;
  case LOOM_TAPE_DOT: return c * a * b;
  case LOOM_TAPE_QUO: return c * a / b;
  default: return c / a;
  }
}

INLINE void sum_terms(loom_tape_op op, unsigned n, bool add, streams s) {
  double c0 = s.c[0], c[LOOM_TAPE_WIDTH];
  for (unsigned k = 0; k < n; k++) c[k] = s.c[k + 1];
  INDEPENDENT for (size_t p = 0; p < s.points; p++) {
    double sum = add ? s.d[p] : c0;
    UNROLL for (unsigned k = 0; k < n; k++) sum += term(op, c[k], s.a[k][p], s.b[k][p]);
    s.d[p] = sum;
  }
}

INLINE double join(loom_tape_op op, double x, double y) {
  switch (op) {
  case LOOM_TAPE_MUL: return x * y;
  case LOOM_TAPE_MIN: return y < x ? y : x;
  default: return y > x ? y : x;
  }
}

INLINE void join_values(loom_tape_op op, unsigned n, bool add, streams s) {
  INDEPENDENT for (size_t p = 0; p < s.points; p++) {
    double value = add ? join(op, s.d[p], s.a[0][p]) : s.a[0][p];
    UNROLL for (unsigned k = 1; k < n; k++) value = join(op, value, s.a[k][p]);
    s.d[p] = value;
  }
}

/* One loop for each number of terms. */
#define BY_WIDTH(f, op, add)        \
  switch (n) {                      \
  case 1: f(op, 1, add, s); break;  \
  case 2: f(op, 2, add, s); break;  \
  case 3: f(op, 3, add, s); break;  \
  default: f(op, 4, add, s); break; \
  }

INLINE void run_sum(loom_tape_op op, unsigned n, bool add, streams s) {
  if (add) {
    BY_WIDTH(sum_terms, op, true)
  } else {
    BY_WIDTH(sum_terms, op, false)
  }
}

INLINE void run_join(loom_tape_op op, unsigned n, bool add, streams s) {
  if (add) {
    BY_WIDTH(join_values, op, true)
  } else {
    BY_WIDTH(join_values, op, false)
  }
}

/* floor(a / c) and a % c for an integer c by its rounded reciprocal, put right by what is left:
** exact wherever a and the quotient are exact, at a fraction of the price of a division. */
INLINE double floor_quotient(double a, double c, double reciprocal) {
  double q = floor(a * reciprocal), rest = a - q * c;
  return rest < 0 ? q - 1 : rest >= c ? q + 1 : q;
}

INLINE double remainder_of(double a, double c, double reciprocal) {
  double rest = a - floor(a * reciprocal) * c;
  return rest < 0 ? rest + c : rest >= c ? rest - c : rest;
}

INLINE bool has_constant(loom_tape_op op) {
  return op == LOOM_TAPE_DIVC || op == LOOM_TAPE_FLOORS || op == LOOM_TAPE_CEILS ||
         op == LOOM_TAPE_FDIVI || op == LOOM_TAPE_CDIVI || op == LOOM_TAPE_MODS ||
         op == LOOM_TAPE_MODI;
}

INLINE void run_one(loom_tape_op op, streams s) {
  const double *a = s.a[0], *b = s.a[1], *e = s.a[2];
  double c = has_constant(op) ? s.c[0] : 1, r = 1 / c;
  switch (op) {
  case LOOM_TAPE_DIVC: EACH(a[p] / c); break;
  case LOOM_TAPE_FLOOR: EACH(floor(a[p])); break;
  case LOOM_TAPE_CEIL: EACH(ceil(a[p])); break;
  case LOOM_TAPE_FLOORS: EACH(floor(a[p] * c)); break;
  case LOOM_TAPE_CEILS: EACH(ceil(a[p] * c)); break;
  case LOOM_TAPE_FDIVI: EACH(floor_quotient(a[p], c, r)); break;
  case LOOM_TAPE_CDIVI: EACH(-floor_quotient(-a[p], c, r)); break;
  case LOOM_TAPE_FDIV: EACH(floor(a[p] / b[p])); break;
  case LOOM_TAPE_CDIV: EACH(ceil(a[p] / b[p])); break;
  case LOOM_TAPE_MODS: EACH(a[p] - c * floor(a[p] * r)); break;
  case LOOM_TAPE_MODI: EACH(remainder_of(a[p], c, r)); break;
  case LOOM_TAPE_MOD: EACH(a[p] - b[p] * floor(a[p] / b[p])); break;
  case LOOM_TAPE_LT: EACH(a[p] < b[p] ? 1.0 : 0.0); break;
  case LOOM_TAPE_LE: EACH(a[p] <= b[p] ? 1.0 : 0.0); break;
  case LOOM_TAPE_EQ: EACH(a[p] == b[p] ? 1.0 : 0.0); break;
  case LOOM_TAPE_SELECT: EACH(a[p] != 0.0 ? b[p] : e[p]); break;
  default: EACH(a[p]); break;
  }
}

INLINE void run_instr(const loom_tape_instr *instr, streams s) {
  switch ((loom_tape_op)instr->op) {
  case LOOM_TAPE_LIN: run_sum(LOOM_TAPE_LIN, instr->n, instr->add, s); break;
  case LOOM_TAPE_DOT: run_sum(LOOM_TAPE_DOT, instr->n, instr->add, s); break;
  case LOOM_TAPE_QUO: run_sum(LOOM_TAPE_QUO, instr->n, instr->add, s); break;
  case LOOM_TAPE_RCP: run_sum(LOOM_TAPE_RCP, instr->n, instr->add, s); break;
  case LOOM_TAPE_MUL: run_join(LOOM_TAPE_MUL, instr->n, instr->add, s); break;
  case LOOM_TAPE_MIN: run_join(LOOM_TAPE_MIN, instr->n, instr->add, s); break;
  case LOOM_TAPE_MAX: run_join(LOOM_TAPE_MAX, instr->n, instr->add, s); break;
  default: run_one((loom_tape_op)instr->op, s); break;
  }
}

/* Where the arguments of an instruction are; unused places point at the first. */
INLINE streams streams_of(const loom_program *program, const loom_tape_instr *instr,
                          const double *const *read, double *const *write, size_t points) {
  const uint32_t *arg = program->args + instr->args;
  bool pairs = instr->op == LOOM_TAPE_DOT || instr->op == LOOM_TAPE_QUO;
  streams s = {.d = write[instr->dst], .c = program->values + instr->consts, .points = points};
  for (unsigned k = 0; k < LOOM_TAPE_WIDTH; k++) {
    unsigned i = k < instr->n ? k : 0;
    s.a[k] = read[arg[pairs ? 2 * i : i]];
    s.b[k] = pairs ? read[arg[2 * i + 1]] : s.a[k];
  }
  return s;
}

INLINE void run(const loom_program *program, const double *const *read, double *const *write,
                size_t points) {
  for (size_t i = 0; i < program->n_instrs; i++) {
    const loom_tape_instr *instr = &program->instrs[i];
    if (instr->op == LOOM_TAPE_CALL)
      loom_tape_call(program, instr, read, write, points);
    else
      run_instr(instr, streams_of(program, instr, read, write, points));
  }
}

static void run_plain(const loom_program *program, const double *const *read, double *const *write,
                      size_t points) {
  run(program, read, write, points);
}

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
__attribute__((target("avx2"))) static void run_avx2(const loom_program *program,
                                                     const double *const *read,
                                                     double *const *write, size_t points) {
  run(program, read, write, points);
}

__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512"))) static void
run_avx512(const loom_program *program, const double *const *read, double *const *write,
           size_t points) {
  run(program, read, write, points);
}

loom_tape_kernel loom_tape_kernel_at(size_t i) {
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
  if (wide && i-- == 0) return run_avx512;
  if (__builtin_cpu_supports("avx2") && i-- == 0) return run_avx2;
  return i == 0 ? run_plain : NULL;
}
#else
loom_tape_kernel loom_tape_kernel_at(size_t i) {
  return i == 0 ? run_plain : NULL;
}
#endif
