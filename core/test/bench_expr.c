/* SPDX-License-Identifier: MIT */
/* Times expression building: nanoseconds per operation, medians of repeats, beside a fixed loop that
** tells how fast the machine was meanwhile.  One line per figure: name, value, unit. */
#include "expr/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 15 };

typedef struct bench {
  loom_ctx *ctx;
  loom_expr symbol[8];
  loom_expr part[1024]; /* expressions to work on */
} bench;

/* Processor time, so that other work on the machine counts little. */
static double now(void) {
  return (double)clock() * (1e9 / CLOCKS_PER_SEC);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Runs a body that returns how many operations it did, in a fresh scratch region or not. */
static double median(bench *b, size_t (*body)(bench *), bool scratch) {
  double times[REPEATS];
  for (int i = 0; i < REPEATS; i++) {
    uint32_t mark = scratch ? loom_scratch_mark(b->ctx) : 0;
    double start = now();
    size_t n = body(b);
    times[i] = (now() - start) / (double)n;
    if (scratch) loom_scratch_release(b->ctx, mark);
  }
  qsort(times, REPEATS, sizeof *times, by_value);
  return times[REPEATS / 2];
}

static void report(bench *b, const char *name, size_t (*body)(bench *), bool scratch) {
  printf("%-24s %8.1f ns\n", name, median(b, body, scratch));
}

static size_t calibration(bench *b) {
  (void)b;
  volatile uint64_t sink = 0;
  uint64_t h = 1;
  for (int i = 0; i < 1000000; i++) h = h * 6364136223846793005u + (h >> 29);
  sink = h;
  return sink ? 1000000 : 1000000;
}

/* Laurent polynomials as reuse analysis makes them: 13 operations each. */
static size_t polynomials(bench *b) {
  loom_ctx *c = b->ctx;
  loom_expr *s = b->symbol;
  size_t n = 0;
  for (int i = 0; i < 1000; i++) {
    loom_expr t = s[i & 7], u = s[(i * 3 + 1) & 7], v = s[(i * 5 + 2) & 7];
    loom_expr a = loom_mul(c, loom_int(c, 1000 + i), loom_mul(c, t, u));
    loom_expr d = loom_div(c, loom_mul(c, loom_int(c, 77 * (i + 1)), t), v);
    loom_expr e = loom_add(c, loom_add(c, a, d), loom_int(c, i));
    b->part[i & 1023] = loom_mul(c, loom_sub(c, e, u), loom_div(c, v, t));
    n += 9;
  }
  return n;
}

static size_t new_sums(bench *b) {
  for (int i = 0; i < 10000; i++) loom_add(b->ctx, b->symbol[i & 7], loom_int(b->ctx, 1000 + i));
  return 20000;
}

static size_t new_products(bench *b) {
  for (int i = 0; i < 7; i++)
    for (int j = 0; j < 1000; j++) loom_pow(b->ctx, b->symbol[i], j + 2);
  return 7000;
}

static size_t memo_hits(bench *b) {
  for (int i = 0; i < 100000; i++) loom_mul(b->ctx, b->part[i & 255], b->symbol[i & 7]);
  return 100000;
}

static size_t plain_hits(bench *b) {
  for (int i = 0; i < 100000; i++)
    loom_build_sum(b->ctx, LOOM_NUM(3), 2,
                   (loom_term[]){{LOOM_NUM(2), b->symbol[i & 7]}, {LOOM_NUM(5), b->symbol[7]}});
  return 100000;
}

static size_t number_hits(bench *b) {
  for (int i = 0; i < 100000; i++) loom_int(b->ctx, 1000 + (i & 255));
  return 100000;
}

static size_t maxima(bench *b) {
  for (int i = 0; i < 5000; i++)
    loom_max(b->ctx, 2, (loom_expr[]){b->part[i % 1000], b->part[(i * 7 + 1) % 1000]});
  return 5000;
}

static size_t ceilings(bench *b) {
  for (int i = 0; i < 5000; i++) {
    loom_expr a = i & 1 ? loom_int(b->ctx, 48 + i) : b->symbol[i & 7];
    loom_ceil(b->ctx,
              loom_div(b->ctx, a, i & 1 ? b->symbol[(i >> 1) & 7] : loom_int(b->ctx, 3 + i)));
  }
  return 5000;
}

static size_t index_arithmetic(bench *b) {
  loom_ctx *c = b->ctx;
  size_t n = 0;
  for (int i = 0; i < 1000; i++) {
    loom_expr *s = b->symbol;
    loom_expr flat = loom_add(c, loom_mul(c, loom_int(c, 64 + i), s[0]),
                              loom_add(c, loom_mul(c, loom_int(c, 8), s[1]), s[2]));
    loom_floor_div(c, flat, loom_int(c, 64 + i));
    loom_mod(c, flat, loom_int(c, 64 + i));
    loom_mod_index(c, flat, loom_int(c, 8), loom_int(c, 16));
    n += 7;
  }
  return n;
}

static void memory_per_node(bench *b) {
  loom_ctx *c = b->ctx;
  enum { MANY = 200000 };
  size_t nodes = loom_ctx_nodes(c), bytes = loom_ctx_bytes(c);
  for (int i = 0; i < MANY; i++) {
    loom_term terms[] = {{LOOM_NUM(i + 1), b->symbol[i & 7]}, {LOOM_NUM(i + 2), b->part[i & 63]}};
    loom_build_sum(c, LOOM_NUM(i), 2, terms);
  }
  printf("%-24s %8.1f bytes\n", "node of two terms",
         (double)(loom_ctx_bytes(c) - bytes) / (double)(loom_ctx_nodes(c) - nodes));
}

int main(void) {
  bench b = {.ctx = loom_ctx_new()};
  const char *names[] = {"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"};
  if (!b.ctx) return 1;
  for (int i = 0; i < 8; i++) b.symbol[i] = loom_symbol(b.ctx, names[i], NULL);
  report(&b, "calibration", calibration, false);
  polynomials(&b);
  report(&b, "build, new", polynomials, true);
  report(&b, "build, seen before", polynomials, false);
  report(&b, "sum, new", new_sums, true);
  report(&b, "power, new", new_products, true);
  report(&b, "sum, hit", plain_hits, false);
  report(&b, "number, hit", number_hits, false);
  report(&b, "product, memo", memo_hits, false);
  report(&b, "max", maxima, true);
  report(&b, "ceil(a / b)", ceilings, true);
  report(&b, "index, new", index_arithmetic, true);
  memory_per_node(&b);
  loom_ctx_free(b.ctx);
  return 0;
}
