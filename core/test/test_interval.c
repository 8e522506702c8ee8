/* SPDX-License-Identifier: MIT */
/* Intervals near the ends of 64 bits: every operation on every pair of boundary intervals is held
** against exact numbers, and expressions over symbols bounded there against their values. */
#include "expr/facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t MIN = INT64_MIN, MAX = INT64_MAX;

#define BIG ((int64_t)1 << 62)
static const int64_t ends[] = {
    -INT64_MAX + 1, -INT64_MAX + 2, -BIG - 1,     -BIG, -3, -1, 0, 1, 2, BIG,
    BIG + 1,        INT64_MAX - 2,  INT64_MAX - 1};
enum { N_ENDS = sizeof ends / sizeof *ends, N_BEYOND = 4 };

/* Values outside of 64 bits stand for what an open interval holds. */
static const char *const beyond[N_BEYOND] = {"9223372036854775807", "9223372036854775808",
                                             "100000000000000000000", "1e40"};

typedef struct sample {
  loom_range range;
  loom_num in[4 + 2 * N_BEYOND];
  size_t n;
} sample;

static loom_num number(loom_ctx *ctx, const char *text) {
  return loom_num_parse(ctx, text, strlen(text));
}

static void put(loom_ctx *ctx, sample *s, loom_num value) {
  loom_range r = s->range;
  if (r.lo != LOOM_MINUS_INF && loom_num_cmp(ctx, value, loom_num_int(ctx, r.lo)) < 0) return;
  if (r.hi != LOOM_PLUS_INF && loom_num_cmp(ctx, value, loom_num_int(ctx, r.hi)) > 0) return;
  s->in[s->n++] = value;
}

static sample sample_of(loom_ctx *ctx, int64_t lo, int64_t hi) {
  sample s = {.range = {lo, hi}};
  if (lo != LOOM_MINUS_INF) put(ctx, &s, loom_num_int(ctx, lo));
  if (hi != LOOM_PLUS_INF && hi != lo) put(ctx, &s, loom_num_int(ctx, hi));
  if (lo < 0 && hi > 0) put(ctx, &s, LOOM_NUM_ZERO);
  put(ctx, &s, loom_num_ratio(ctx, 7, 2));
  for (int i = 0; i < N_BEYOND; i++) {
    put(ctx, &s, number(ctx, beyond[i]));
    put(ctx, &s, loom_num_neg(ctx, number(ctx, beyond[i])));
  }
  return s;
}

/* Every interval between two boundary ends, half-lines and the line. */
static size_t samples(loom_ctx *ctx, sample *out) {
  size_t n = 0;
  for (int i = -1; i < N_ENDS; i++)
    for (int j = i < 0 ? 0 : i; j <= N_ENDS; j++)
      out[n++] =
          sample_of(ctx, i < 0 ? LOOM_MINUS_INF : ends[i], j == N_ENDS ? LOOM_PLUS_INF : ends[j]);
  out[n++] = sample_of(ctx, LOOM_MINUS_INF, LOOM_PLUS_INF);
  return n;
}
enum { MOST_SAMPLES = (N_ENDS + 1) * (N_ENDS + 2) };

static void assert_end_form(loom_range r) {
  assert_true(r.lo == LOOM_MINUS_INF || (r.lo >= -LOOM_MOST && r.lo <= LOOM_MOST));
  assert_true(r.hi == LOOM_PLUS_INF || (r.hi >= -LOOM_MOST && r.hi <= LOOM_MOST));
}

static bool holds(loom_ctx *ctx, loom_range r, loom_num value) {
  return (r.lo == LOOM_MINUS_INF || loom_num_cmp(ctx, loom_num_int(ctx, r.lo), value) <= 0) &&
         (r.hi == LOOM_PLUS_INF || loom_num_cmp(ctx, loom_num_int(ctx, r.hi), value) >= 0);
}

static uint8_t signs_of(const loom_range r) {
  uint8_t sign = LOOM_ANY_SIGN;
  if (r.lo >= 0) sign &= (uint8_t)~LOOM_NEG;
  if (r.lo > 0 || r.hi < 0) sign &= (uint8_t)~LOOM_ZERO;
  if (r.hi <= 0) sign &= (uint8_t)~LOOM_POS;
  return sign;
}

static void check_pair(loom_ctx *ctx, const sample *a, const sample *b) {
  uint8_t sign = signs_of(b->range);
  loom_range product = loom_range_mul(a->range, b->range);
  loom_range quotient = loom_range_div(a->range, b->range, sign);
  loom_range floors = loom_range_floor_div(a->range, b->range, sign);
  assert_end_form(product);
  assert_end_form(quotient);
  assert_end_form(floors);
  for (size_t i = 0; i < a->n; i++)
    for (size_t j = 0; j < b->n; j++) {
      assert_true(holds(ctx, product, loom_num_mul(ctx, a->in[i], b->in[j])));
      if (loom_num_is_zero(b->in[j])) continue;
      loom_num q = loom_num_div(ctx, a->in[i], b->in[j]);
      assert_true(holds(ctx, quotient, q));
      assert_true(holds(ctx, floors, loom_num_floor(ctx, q)));
    }
}

static void operations_hold_their_values(void **unused) {
  (void)unused;
  loom_ctx *ctx = loom_ctx_new();
  static sample s[MOST_SAMPLES];
  size_t n = samples(ctx, s);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) check_pair(ctx, &s[i], &s[j]);
    for (uint32_t k = 1; k <= 70; k += k < 5 ? 1 : 31) {
      loom_range power = loom_range_pow(s[i].range, k);
      assert_end_form(power);
      for (size_t p = 0; p < s[i].n; p++)
        assert_true(holds(ctx, power, loom_num_pow(ctx, s[i].in[p], k)));
    }
  }
  assert_int_equal(loom_error_status(ctx), LOOM_OK);
  loom_ctx_free(ctx);
}

/* ---- expressions ------------------------------------------------------------------------------ */

static loom_expr bounded(loom_ctx *ctx, const char *name, bool has_min, int64_t min, bool has_max,
                         int64_t max) {
  loom_assume a = {.integer = true, .has_min = has_min, .min = min, .has_max = has_max, .max = max};
  return loom_symbol(ctx, name, &a);
}

typedef struct variable {
  loom_expr symbol;
  const char *values[4];
} variable;

enum { N_VARIABLES = 9, N_LITERALS = 8, N_ATOMS = N_VARIABLES + N_LITERALS };

static const char *const literals[N_LITERALS] = {"3",
                                                 "-2",
                                                 "9223372036854775807",
                                                 "-9223372036854775807",
                                                 "9223372036854775808",
                                                 "-9223372036854775808",
                                                 "1e20",
                                                 "-1e20"};

static void make_variables(loom_ctx *ctx, variable *v) {
  v[0] = (variable){loom_symbol(ctx, "x", NULL), {"1", "5", "9223372036854775807", "1e30"}};
  v[1] = (variable){bounded(ctx, "neg", false, 0, true, -1),
                    {"-1", "-9000000000000000000", "-9223372036854775808", "-1e30"}};
  v[2] = (variable){bounded(ctx, "d", true, -MAX, true, -5),
                    {"-5", "-9223372036854775807", "-9223372036854775806", NULL}};
  v[3] = (variable){bounded(ctx, "a", true, -3, true, 3), {"-3", "0", "2", "3"}};
  v[4] = (variable){bounded(ctx, "c", true, BIG, false, 0),
                    {"4611686018427387904", "9223372036854775807", "1e25", NULL}};
  v[5] = (variable){bounded(ctx, "least", false, 0, true, MIN),
                    {"-9223372036854775808", "-1e20", NULL, NULL}};
  v[6] = (variable){bounded(ctx, "most", true, MAX, false, 0),
                    {"9223372036854775807", "9223372036854775808", "1e20", NULL}};
  v[7] = (variable){bounded(ctx, "one", true, MAX, true, MAX), {"9223372036854775807", NULL}};
  loom_assume m = {.integer = true,
                   .has_min = true,
                   .min = -((int64_t)1 << 41),
                   .has_max = true,
                   .max = (int64_t)1 << 41,
                   .multiple = (int64_t)1 << 40};
  v[8] = (variable){loom_symbol(ctx, "m", &m), {"-2199023255552", "0", "1099511627776", NULL}};
}

/* A value chosen for each variable, and the exact values of a choice of expressions. */
typedef struct world {
  loom_ctx *ctx;
  variable v[N_VARIABLES];
  uint64_t state;
  int point[N_VARIABLES];
} world;

static uint64_t draw(world *w, uint64_t n) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (w->state >> 33) % n;
}

static void draw_point(world *w) {
  for (int i = 0; i < N_VARIABLES; i++) {
    uint64_t n = 0;
    while (n < 4 && w->v[i].values[n]) n++;
    w->point[i] = (int)draw(w, n);
  }
}

typedef struct made {
  loom_expr e;
  loom_num value; /* none: undefined at the point */
} made;

static made atom(world *w, uint64_t k) {
  const char *text = k < N_VARIABLES ? w->v[k].values[w->point[k]] : literals[k - N_VARIABLES];
  loom_num value = number(w->ctx, text);
  return (made){k < N_VARIABLES ? w->v[k].symbol : loom_from_num(w->ctx, value), value};
}

enum { N_OPERATIONS = 11 };

static made apply(loom_ctx *ctx, uint64_t op, made a, made b) {
  bool zero = loom_num_is_zero(b.value);
  int order = loom_num_cmp(ctx, a.value, b.value);
  if (loom_expr_is_num(ctx, b.e) && zero && op >= 3 && op <= 6) op = 0;
  loom_num none = LOOM_NUM_NONE, undefined = none;
  switch (op) {
  case 0: return (made){loom_add(ctx, a.e, b.e), loom_num_add(ctx, a.value, b.value)};
  case 1: return (made){loom_sub(ctx, a.e, b.e), loom_num_sub(ctx, a.value, b.value)};
  case 2: return (made){loom_mul(ctx, a.e, b.e), loom_num_mul(ctx, a.value, b.value)};
  case 3:
    return (made){loom_div(ctx, a.e, b.e), zero ? undefined : loom_num_div(ctx, a.value, b.value)};
  case 4:
    return (made){loom_floor_div(ctx, a.e, b.e),
                  zero ? undefined : loom_num_floor_div(ctx, a.value, b.value)};
  case 5:
    return (made){loom_mod(ctx, a.e, b.e), zero ? undefined : loom_num_mod(ctx, a.value, b.value)};
  case 6:
    return (made){loom_ceil(ctx, loom_div(ctx, a.e, b.e)),
                  zero ? undefined : loom_num_ceil(ctx, loom_num_div(ctx, a.value, b.value))};
  case 7: return (made){loom_min(ctx, 2, (loom_expr[]){a.e, b.e}), order < 0 ? a.value : b.value};
  case 8: return (made){loom_max(ctx, 2, (loom_expr[]){a.e, b.e}), order > 0 ? a.value : b.value};
  case 9: return (made){loom_lt(ctx, a.e, b.e), LOOM_NUM(order < 0)};
  default: return (made){loom_le(ctx, a.e, b.e), LOOM_NUM(order <= 0)};
  }
}

static made tree(world *w, int depth) {
  if (depth == 0 || draw(w, 6) == 0) return atom(w, draw(w, N_ATOMS));
  uint64_t op = draw(w, N_OPERATIONS);
  made a = tree(w, depth - 1), b = tree(w, depth - 1);
  if (loom_num_is_none(a.value) || loom_num_is_none(b.value)) return (made){0, LOOM_NUM_NONE};
  return apply(w->ctx, op, a, b);
}

static loom_expr at_point(world *w, loom_expr e) {
  loom_expr symbols[N_VARIABLES], values[N_VARIABLES];
  for (uint64_t i = 0; i < N_VARIABLES; i++) {
    symbols[i] = w->v[i].symbol;
    values[i] = loom_from_num(w->ctx, number(w->ctx, w->v[i].values[w->point[i]]));
  }
  return loom_substitute(w->ctx, e, N_VARIABLES, symbols, values);
}

static void complain(world *w, loom_expr e, loom_num value, const char *what) {
  char *text = loom_print(w->ctx, e, LOOM_INFIX), *want = loom_num_print(w->ctx, value);
  print_error("%s: %s is %s\n", what, text, want);
  for (int i = 0; i < N_VARIABLES; i++)
    print_error("  %s=%s\n", loom_symbol_name(w->ctx, w->v[i].symbol), w->v[i].values[w->point[i]]);
  loom_free(text);
  loom_free(want);
  fail();
}

static void check_facts(world *w, loom_expr e, loom_num value) {
  loom_ctx *ctx = w->ctx;
  loom_facts f = loom_facts_of(ctx, e);
  int sign = loom_num_sign(ctx, value);
  bool good = holds(ctx, (loom_range){f.lo, f.hi}, value);
  good = good && (f.sign & (sign > 0 ? LOOM_POS : sign < 0 ? LOOM_NEG : LOOM_ZERO));
  good =
      good && (f.integer == LOOM_UNKNOWN || (f.integer == LOOM_YES) == loom_num_is_int(ctx, value));
  if (good && f.integer == LOOM_YES && f.modulus > 1)
    good = loom_num_residue(ctx, value, f.modulus) == f.remainder;
  if (good && f.integer == LOOM_YES && f.modulus == 0)
    good = loom_num_same(value, loom_num_int(ctx, f.remainder));
  if (!good) complain(w, e, value, "facts");
}

static void check_questions(world *w, made a, made b) {
  loom_ctx *ctx = w->ctx;
  int order = loom_num_cmp(ctx, a.value, b.value);
  loom_answer lt = loom_known_lt(ctx, a.e, b.e), le = loom_known_le(ctx, a.e, b.e);
  loom_answer eq = loom_known_eq(ctx, a.e, b.e);
  bool good = (lt == LOOM_UNKNOWN || (lt == LOOM_YES) == (order < 0)) &&
              (le == LOOM_UNKNOWN || (le == LOOM_YES) == (order <= 0)) &&
              (eq == LOOM_UNKNOWN || (eq == LOOM_YES) == (order == 0));
  if (!good) complain(w, loom_sub(ctx, a.e, b.e), loom_num_sub(ctx, a.value, b.value), "question");
}

static void expressions_keep_their_values(void **unused) {
  (void)unused;
  int checked = 0;
  for (uint64_t round = 0; round < 4000; round++) {
    if (round == 0) print_message("seeds 0..3999\n");
    world w = {.ctx = loom_ctx_new(), .state = round * 2654435761u + 1};
    make_variables(w.ctx, w.v);
    draw_point(&w);
    made a = tree(&w, 1 + (int)draw(&w, 3)), b = tree(&w, 1);
    bool good = !loom_num_is_none(a.value) && !loom_num_is_none(b.value);
    if (good) {
      assert_int_not_equal(a.e, LOOM_NONE);
      check_facts(&w, a.e, a.value);
      loom_expr got = at_point(&w, a.e);
      if (got == LOOM_NONE || !loom_num_same(loom_num_of(w.ctx, got), a.value))
        complain(&w, a.e, a.value, got == LOOM_NONE ? loom_error_message(w.ctx) : "value");
      check_questions(&w, a, b);
      checked++;
    }
    loom_ctx_free(w.ctx);
  }
  assert_true(checked > 2000);
}

static loom_expr parse(world *w, const char *text) {
  loom_expr symbols[N_VARIABLES];
  for (int i = 0; i < N_VARIABLES; i++) symbols[i] = w->v[i].symbol;
  return loom_parse(w->ctx, text, strlen(text), N_VARIABLES, symbols, NULL);
}

static void quotients_of_the_largest_integer(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *name, *at, *want;
  } cases[] = {
      {"max(3, 9223372036854775807/x)", "x", "9223372036854775807", "3"},
      {"min(5, 9223372036854775807/x)", "x", "9223372036854775807", "1"},
      {"max(3, -9223372036854775807/neg)", "neg", "-9223372036854775807", "3"},
      {"max(100, -1e20/neg)", "neg", "-9000000000000000000", "100"},
      {"le(-1e20/neg, 100)", "neg", "-9000000000000000000", "1"},
      {"neg", "neg", "-9223372036854775808", "-9223372036854775808"},
      {"neg", "neg", "-1e20", "-100000000000000000000"},
      {"lt(9223372036854775807, most)", "most", "9223372036854775808", "1"},
      {"lt(9223372036854775807, most)", "most", "9223372036854775807", "0"},
      {"least + 1", "least", "-9223372036854775808", "-9223372036854775807"},
  };
  world w = {.ctx = loom_ctx_new()};
  make_variables(w.ctx, w.v);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    loom_expr e = parse(&w, cases[i].text), symbol = parse(&w, cases[i].name);
    loom_expr value = loom_from_num(w.ctx, number(w.ctx, cases[i].at));
    char *got = loom_print(w.ctx, loom_substitute(w.ctx, e, 1, &symbol, &value), LOOM_INFIX);
    assert_non_null(got);
    assert_string_equal(got, cases[i].want);
    loom_free(got);
  }
  assert_int_equal(loom_known_lt(w.ctx, parse(&w, "-1e20/neg"), parse(&w, "5")), LOOM_UNKNOWN);
  loom_ctx_free(w.ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operations_hold_their_values),
      cmocka_unit_test(expressions_keep_their_values),
      cmocka_unit_test(quotients_of_the_largest_integer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
