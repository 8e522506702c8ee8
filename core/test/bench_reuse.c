/* SPDX-License-Identifier: MIT */
/* Microseconds per analysis, medians of repeats: of mappings never seen before (a collection between
** two analyses forgets their expressions) and of the same mapping again; beside a fixed loop of
** arithmetic that tells how fast the machine is. */
#include <time.h>

#include "nest_text.h"

#define ROUNDS 401

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values) {
  qsort(values, ROUNDS, sizeof *values, ascending);
  return values[ROUNDS / 2];
}

/* A million dependent steps of a generator. */
static void calibrate(void) {
  double times[ROUNDS];
  volatile uint64_t sink = 1;
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t x = sink;
    double start = now();
    for (int k = 0; k < 100000; k++) x = x * 6364136223846793005u + 1442695040888963407u;
    times[i] = now() - start;
    sink = x;
  }
  printf("calibration: %.2f us for 100000 steps\n", median(times));
}

static int measure_model(loom_model model, const char *name, const char *workload, const char *arch,
                         const char *mapping) {
  const loom_options options = {.model = model};
  text_case c = case_analyze_as(workload, arch, mapping, &options);
  if (!c.r) {
    printf("%s: %s\n", name, loom_error_message(c.ctx));
    return 1;
  }
  double fresh[ROUNDS], again[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    loom_result_free(c.r);
    loom_gc_begin(c.ctx);
    loom_gc_end(c.ctx);
    double start = now();
    c.r = loom_analyze(c.w, c.a, c.m, &options);
    double middle = now();
    loom_result_free(loom_analyze(c.w, c.a, c.m, &options));
    again[i] = now() - middle;
    fresh[i] = middle - start;
  }
  printf("%s, %s: %.1f us, again %.1f us\n", name, model == LOOM_EXACT ? "exact" : "reference",
         median(fresh), median(again));
  case_end(&c);
  return 0;
}

static int measure(const char *name, const char *workload, const char *arch, const char *mapping) {
  return measure_model(LOOM_REFERENCE, name, workload, arch, mapping) +
         measure_model(LOOM_EXACT, name, workload, arch, mapping);
}

int main(void) {
  calibrate();
  int bad = measure("matmul, 12 nodes, 2 symbols", "m=64 k=64 n=64 MM:A[m,k],B[k,n]>Z[m,n]",
                    "Main Buf Reg +MAC",
                    "Main[A,B,Z] m:M0 n:16 Buf[A] Buf[B] Buf[Z] k:K0 Reg[A] m:1 n:1 k:1 +MM@MAC");
  bad += measure("array, 23 nodes, 11 symbols", "m=512 a=512 b=512 MM:T[m,a],W[a,b]>U[m,b]",
                 "Main Glb Lb(Z=4) #PE(X=128,Y=128) Reg +MAC",
                 "Main-[W] Main-[U] m:s0 a:s1 Glb-[T] a:s2 b:s3 Glb[W] m:s4 Glb[U] a:s5 b:s6@Lb.Z "
                 "a:s7@Lb.Z m:s8@Lb.Z Lb[T] b:s9 Lb[U] a:s10 a:1@PE.Y b:1@PE.X Reg[W] m:1 +MM@MAC");
  return bad != 0;
}
