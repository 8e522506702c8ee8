/* SPDX-License-Identifier: MIT */
/* Closed forms of the model `exact` at every point of small ranges, against cutting intervals one by
** one, and against walking the whole nest.  Check ids (doc/formulas.md): X1 pieces of one variable, X2
** holders of a kind of their own, X3 all figures of whole nests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"
#include "nest_text.h"

static const loom_options exact = {.model = LOOM_EXACT, .allow_growing_tiles = true};

/* ---- X1: pieces --------------------------------------------------------------------------- */

#define MAX_LOOPS 3
#define MAX_UNITS 32

typedef struct cut {
  int tile, first; /* first 0: none */
  bool spatial;
} cut;

/* What is inside the loops, by unit: visits, values in them, the longest. */
typedef struct walked {
  int visits[MAX_UNITS * MAX_UNITS], values[MAX_UNITS * MAX_UNITS];
  int longest, steps[MAX_UNITS * MAX_UNITS];
} walked;

static void walk(const cut *cuts, int n, int extent, int unit, int step, walked *w) {
  if (n == 0) {
    w->visits[unit]++;
    w->values[unit] += extent;
    w->steps[step] = 1;
    if (extent > w->longest) w->longest = extent;
    return;
  }
  int length = cuts->first ? cuts->first : cuts->tile, at = 0;
  for (int i = 0; at < extent; i++) {
    int here = at + length < extent ? length : extent - at;
    walk(cuts + 1, n - 1, here, cuts->spatial ? unit * MAX_UNITS + i : unit,
         cuts->spatial ? step : step * MAX_UNITS + i, w);
    at += length;
    length = cuts->tile;
  }
}

static int largest(const int *values) {
  int most = 0;
  for (int i = 0; i < MAX_UNITS * MAX_UNITS; i++) most = values[i] > most ? values[i] : most;
  return most;
}

static int total(const int *values) {
  int sum = 0;
  for (int i = 0; i < MAX_UNITS * MAX_UNITS; i++) sum += values[i];
  return sum;
}

static void check_value(text_case *c, const char *what, loom_expr e, size_t n,
                        const loom_expr *symbols, const loom_expr *values, int expected) {
  loom_expr got = loom_substitute(c->ctx, e, n, symbols, values);
  if (got == loom_int(c->ctx, expected)) return;
  fail_msg("%s at %s: expected %d, got %s: %s", what, loom_print(c->ctx, values[0], LOOM_INFIX),
           expected, loom_print(c->ctx, got, LOOM_INFIX), loom_print(c->ctx, e, LOOM_INFIX));
}

/* Loops over v above Buf, as text with symbols t0, t1, t2 (first tiles f0, f1, f2). */
static void check_pieces(const char *loops, int n, const cut *shape) {
  char mapping[256];
  snprintf(mapping, sizeof mapping, "Main[A,B,Z] %s Buf[A,B,Z] v:1 w:1 +MM@MAC", loops);
  text_case c = case_analyze_as("v=S w=1 MM:A[v,w],B[w]>Z[v,w]", "Main #PE(X=64,Y=64) Buf +MAC",
                                mapping, &exact);
  if (!c.r) fail_msg("%s: %s", mapping, loom_error_message(c.ctx));
  const loom_buffet *a = case_buffet(&c, 0, "Buf", "A"), *b = case_buffet(&c, 0, "Buf", "B");
  loom_expr symbols[2 * MAX_LOOPS + 1] = {loom_symbol(c.ctx, "S", NULL)}, values[2 * MAX_LOOPS + 1];
  for (int i = 0; i < n; i++) {
    char name[4] = {'t', (char)('0' + i), '\0'};
    symbols[1 + i] = loom_symbol(c.ctx, name, NULL);
    name[0] = 'f';
    symbols[1 + n + i] = loom_symbol(c.ctx, name, NULL);
  }
  size_t m = 1 + 2 * (size_t)n;
  int most = n == 3 ? 7 : 9, point[1 + 2 * MAX_LOOPS] = {0};
  for (size_t i = 0; i < m; i++) point[i] = 1;
  for (;;) {
    cut cuts[MAX_LOOPS];
    for (size_t i = 0; i < m; i++) values[i] = loom_int(c.ctx, point[i]);
    for (int i = 0; i < n; i++)
      cuts[i] = (cut){point[1 + i], shape[i].first ? point[1 + n + i] : 0, shape[i].spatial};
    walked w = {0};
    walk(cuts, n, point[0], 0, 0, &w);
#define CHECK(what, e, expected) check_value(&c, what, e, m, symbols, values, expected)
    CHECK("visits", b->field[LOOM_BUFFET_total_deliveries], total(w.visits));
    CHECK("values", a->field[LOOM_BUFFET_total_deliveries], total(w.values));
    CHECK("longest", a->field[LOOM_BUFFET_max_occupancy], 8 * w.longest);
    CHECK("steps", b->field[LOOM_BUFFET_total_reads_to_parent], total(w.steps));
    CHECK("visits of one", b->field[LOOM_BUFFET_max_per_unit_write_actions], 8 * largest(w.visits));
    CHECK("values of one", a->field[LOOM_BUFFET_max_per_unit_write_actions], 8 * largest(w.values));
#undef CHECK
    size_t i = 0;
    for (; i < m; i++) {
      bool used = i <= (size_t)n || shape[i - 1 - (size_t)n].first;
      if (used && ++point[i] <= most) break;
      point[i] = 1;
    }
    if (i == m) break;
  }
  case_end(&c);
}

static void pieces_agree_with_cutting(void **state) {
  (void)state;
  const cut temporal = {0, 0, false}, spatial = {0, 0, true}, first = {0, 1, false};
  check_pieces("v:t0", 1, (cut[]){temporal});
  check_pieces("v:t0@PE.X", 1, (cut[]){spatial});
  check_pieces("v:t0^f0", 1, (cut[]){first});
  check_pieces("v:t0 v:t1", 2, (cut[]){temporal, temporal});
  check_pieces("v:t0 v:t1@PE.X", 2, (cut[]){temporal, spatial});
  check_pieces("v:t0@PE.X v:t1", 2, (cut[]){spatial, temporal});
  check_pieces("v:t0@PE.X v:t1@PE.Y", 2, (cut[]){spatial, spatial});
  check_pieces("v:t0^f0 v:t1", 2, (cut[]){first, temporal});
  check_pieces("v:t0 v:t1^f1", 2, (cut[]){temporal, first});
  check_pieces("v:t0^f0 v:t1@PE.X", 2, (cut[]){first, spatial});
  check_pieces("v:t0 v:t1@PE.X v:t2", 3, (cut[]){temporal, spatial, temporal});
  check_pieces("v:t0@PE.X v:t1 v:t2@PE.Y", 3, (cut[]){spatial, temporal, spatial});
}

/* ---- X2: holders of a kind of their own --------------------------------------------------- */

static loom_status as_storage(void *data, loom_ctx *ctx, loom_analysis *self, const loom_node *node,
                              const loom_shape *shape, loom_stats *stats) {
  (void)node;
  assert_true(shape->n > 0);
  loom_gc_begin(ctx);
  loom_gc_end(ctx);
  ++*(int *)data;
  return loom_analyze_as(self, LOOM_NODE_STORAGE, stats);
}

/* A kind that does what a memory does counts what a memory counts. */
static void check_kind(const char *workload, const char *plain, const char *own, int calls) {
  int called = 0;
  loom_node_analyzer analyzer = {"own", as_storage, &called};
  loom_options options = {
      .model = LOOM_EXACT, .allow_growing_tiles = true, .analyzers = &analyzer, .n_analyzers = 1};
  const char *arch = "Main Buf #PE(X=64,Y=64) Reg +MAC";
  text_case c = case_analyze_as(workload, arch, plain, &exact);
  text_case d = case_analyze_as(workload, arch, own, &options);
  if (!c.r || !d.r) fail_msg("%s: %s", own, loom_error_message(c.r ? d.ctx : c.ctx));
  assert_int_equal(called, calls);
  const loom_stats *a = loom_result_stats(c.r, 0), *b = loom_result_stats(d.r, 0);
  for (size_t i = 0; i < a->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      int64_t expected = -1, got = -2;
      assert_true(loom_as_int(c.ctx, a->buffets[i].field[f], &expected));
      assert_true(loom_as_int(d.ctx, b->buffets[i].field[f], &got));
      if (expected != got)
        fail_msg("%s: %s@%s %s: expected %lld, got %lld", own, a->buffets[i].tensor,
                 a->buffets[i].level, loom_buffet_field_name((loom_buffet_field)f),
                 (long long)expected, (long long)got);
    }
  case_end(&c);
  case_end(&d);
}

static void own_kinds_see_each_combination_of_extents(void **state) {
  (void)state;
  const char *product = "m=7 k=5 n=6 MM:A[m,k],B[k,n]>Z[m,n]";
  check_kind(product, "Main[A,B,Z] m:4 k:2 Buf[A,Z] m:1@PE.X Reg[Z] m:1 k:1 n:1 +MM@MAC",
             "Main[A,B,Z] m:4 k:2 own~Buf[A,Z] m:1@PE.X Reg[Z] m:1 k:1 n:1 +MM@MAC", 8);
  check_kind(product, "Main[A,B,Z] n:4@PE.X m:3 k:2 Reg[A,B,Z] m:1 k:1 n:1 +MM@MAC",
             "Main[A,B,Z] n:4@PE.X m:3 k:2 own~Reg[A,B,Z] m:1 k:1 n:1 +MM@MAC", 24);
  check_kind(product, "Main[A,B,Z] n:4 m:3 Buf[B,Z] k:2 n:3@PE.Y Reg[A,B,Z] m:1 k:1 n:1 +MM@MAC",
             "Main[A,B,Z] n:4 m:3 own~Buf[B,Z] k:2 n:3@PE.Y own~Reg[A,B,Z] m:1 k:1 n:1 +MM@MAC",
             44);
}

/* Formulas with tiles that may be empty. */
static void own_kinds_in_formulas(void **state) {
  (void)state;
  int called = 0;
  loom_node_analyzer analyzer = {"own", as_storage, &called};
  loom_options options = {
      .model = LOOM_EXACT, .allow_growing_tiles = true, .analyzers = &analyzer, .n_analyzers = 1};
  text_case c = case_analyze_as("m=M k=5 MM:A[m,k],B[k]>Z[m]", "Main Buf +MAC",
                                "Main[A,B,Z] m:t k:2 own~Buf[A,B,Z] m:1 k:1 +MM@MAC", &options);
  text_case d = case_analyze_as("m=M k=5 MM:A[m,k],B[k]>Z[m]", "Main Buf +MAC",
                                "Main[A,B,Z] m:t k:2 Buf[A,B,Z] m:1 k:1 +MM@MAC", &exact);
  assert_non_null(c.r);
  const loom_stats *a = loom_result_stats(c.r, 0), *b = loom_result_stats(d.r, 0);
  for (int size = 1; size < 9; size++)
    for (int tile = 1; tile < 9; tile++)
      for (size_t i = 0; i < a->n_buffets; i++)
        for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
          int64_t value[2] = {-1, -2};
          for (int side = 0; side < 2; side++) {
            loom_ctx *ctx = side ? d.ctx : c.ctx;
            loom_expr symbols[2] = {loom_symbol(ctx, "M", NULL), loom_symbol(ctx, "t", NULL)};
            loom_expr values[2] = {loom_int(ctx, size), loom_int(ctx, tile)};
            loom_expr e = (side ? b : a)->buffets[i].field[f];
            assert_true(
                loom_as_int(ctx, loom_substitute(ctx, e, 2, symbols, values), &value[side]));
          }
          assert_int_equal(value[0], value[1]);
        }
  case_end(&c);
  case_end(&d);
}

/* ---- X3: whole nests ---------------------------------------------------------------------- */

/* A nest with letters for sizes and tiles; each takes every value up to its most. */
typedef struct nest {
  const char *workload, *mapping;
  const char *letters, *most; /* "SAB", "744" */
  bool retain, one_unit;
  char step, of; /* letters of a step and of its tile, which is not smaller */
} nest;

static const char *const machine = "Main Buf #PE(X=64,Y=64) !Link Reg +MAC";

typedef struct held {
  const nest *n;
  text_case c;
  loom_result *counted;
  size_t m;
  loom_expr symbols[8], values[8];
} held;

static void hold(held *h, const char *what, const char *of, loom_expr formula, loom_expr count) {
  loom_ctx *ctx = h->c.ctx;
  loom_expr got = loom_substitute(ctx, formula, h->m, h->symbols, h->values);
  assert_true(loom_expr_kind(ctx, count) == LOOM_NUM);
  if (got == count) return;
  char point[128] = "";
  for (size_t i = 0; i < h->m; i++)
    snprintf(point + strlen(point), sizeof point - strlen(point), " %c=%s", h->n->letters[i],
             loom_print(ctx, h->values[i], LOOM_INFIX));
  fail_msg("%s at%s: %s of %s: walked %s, formula %s: %s", h->n->mapping, point, what, of,
           loom_print(ctx, count, LOOM_INFIX), loom_print(ctx, got, LOOM_INFIX),
           loom_print(ctx, formula, LOOM_INFIX));
}

static void hold_all(held *h) {
  const loom_stats *a = loom_result_stats(h->c.r, 0), *b = loom_result_stats(h->counted, 0);
  assert_int_equal(a->n_buffets, b->n_buffets);
  for (size_t i = 0; i < a->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      char of[64];
      snprintf(of, sizeof of, "%s@%s", a->buffets[i].tensor, a->buffets[i].level);
      hold(h, loom_buffet_field_name((loom_buffet_field)f), of, a->buffets[i].field[f],
           b->buffets[i].field[f]);
    }
  hold(h, "operations", "MAC", a->compute.total_ops, b->compute.total_ops);
  hold(h, "most operations", "MAC", a->compute.max_per_unit_ops, b->compute.max_per_unit_ops);
  hold(h, "instances", "MAC", a->compute.instances, b->compute.instances);
  hold(h, "steps", "MAC", a->temporal_steps, b->temporal_steps);
  for (size_t i = 0; i < a->n_fanout; i++)
    hold(h, "fanout", a->fanout[i].dim, a->fanout[i].used, b->fanout[i].used);
}

static int hold_at(held *h, const loom_options *options) {
  h->counted = loom_simulate(h->c.w, h->c.a, h->c.m, options, h->m, h->symbols, h->values);
  if (!h->counted) fail_msg("%s: %s", h->n->mapping, loom_error_message(h->c.ctx));
  hold_all(h);
  loom_result_free(h->counted);
  return 1;
}

static int64_t number_at(const held *h, loom_expr e) {
  int64_t value = -1;
  loom_expr at = loom_substitute(h->c.ctx, e, h->m, h->symbols, h->values);
  assert_true(loom_as_int(h->c.ctx, at, &value));
  return value;
}

/* The size at the point: what stands before the letter in the workload is its variable. */
static int64_t size_of(const held *h, char variable) {
  for (const char *at = h->n->workload; *at; at++) {
    if (at[0] != variable || at[1] != '=') continue;
    const char *letter = strchr(h->n->letters, at[2]);
    return letter ? number_at(h, h->symbols[letter - h->n->letters]) : atoi(at + 2);
  }
  fail();
  return 0;
}

/* No tile is larger than the extent around its loop. */
static bool tiles_fit(const held *h) {
  const loom_node *nodes;
  size_t n = loom_result_path(h->c.r, 0, &nodes);
  int64_t around[128] = {0};
  for (size_t i = 0; i < n; i++) {
    if (!nodes[i].variable) continue;
    int64_t *extent = &around[(unsigned char)nodes[i].variable[0]];
    if (*extent == 0) *extent = size_of(h, nodes[i].variable[0]);
    int64_t tile = number_at(h, nodes[i].tile);
    if (tile > *extent) return false;
    if (nodes[i].first != LOOM_NONE && number_at(h, nodes[i].first) > *extent) return false;
    *extent = tile;
  }
  return true;
}

static int hold_at_all_points(const nest *n, bool grows) {
  const loom_options options = {.model = LOOM_EXACT,
                                .lifetime = n->retain ? LOOM_RETAIN : LOOM_SCOPE,
                                .partial_sums_to_one_unit = n->one_unit,
                                .allow_growing_tiles = grows};
  int point[8], points = 0;
  held h = {.n = n, .m = strlen(n->letters)};
  h.c = case_analyze_as(n->workload, machine, n->mapping, &options);
  if (!h.c.r) fail_msg("%s: %s", n->mapping, loom_error_message(h.c.ctx));
  for (size_t i = 0; i < h.m; i++) {
    char name[2] = {n->letters[i], '\0'};
    h.symbols[i] = loom_symbol(h.c.ctx, name, NULL);
    point[i] = 1;
  }
  for (;;) {
    for (size_t i = 0; i < h.m; i++) h.values[i] = loom_int(h.c.ctx, point[i]);
    bool gaps = n->step && point[strchr(n->letters, n->step) - n->letters] >
                               point[strchr(n->letters, n->of) - n->letters];
    if (!gaps && (grows || tiles_fit(&h))) points += hold_at(&h, &options);
    size_t i = 0;
    for (; i < h.m && ++point[i] > n->most[i] - '0'; i++) point[i] = 1;
    if (i == h.m) break;
  }
  case_end(&h.c);
  return points;
}

static void formulas_hold_at_every_point(void **state) {
  (void)state;
#define MM "m=M k=4 n=3 MM:A[m,k],B[k,n]>Z[m,n]"
#define CV(index) "p=P r=R k=2 CV:A[" index "],B[r,k]>Z[k,p]"
  const nest nests[] = {
      {MM, "Main[A,B,Z] m:S k:T Buf[A,B,Z] m:1@PE.X k:U Reg[A,Z] m:1 k:1 n:1 +MM@MAC", "MSTU",
       "6543", false, false, 0, 0},
      {MM, "Main[A,B,Z] m:S@PE.Y k:T@PE.X m:U Reg[A,B,Z] m:1 k:1 n:1 +MM@MAC", "MSTU", "7643",
       false, true, 0, 0},
      {MM, "Main[A,B,Z] n:2 m:S Buf[A,B,Z] k:T m:U !Link[A,Z] m:1@PE.X Reg[Z] m:1 k:1 n:1 +MM@MAC",
       "MSTU", "6534", false, false, 0, 0},
      {MM, "Main[A,B,Z] m:S^U n:2@PE.X Buf[A,Z] k:T Reg[B,Z] m:1 k:1 n:1 +MM@MAC", "MSUT", "7543",
       false, false, 0, 0},
      {MM, "Main[A,B,Z] n:2 m:S k:T Buf[A,B,Z] n:1@PE.X m:U Reg[Z] m:1 k:1 n:1 +MM@MAC", "MSTU",
       "5433", true, false, 0, 0},
      {MM, "Main[A,B,Z] k:T m:S n:2 Buf[A,B,Z] m:1 k:1 n:1 +MM@MAC", "MST", "754", true, true, 0,
       0},
      {CV("p+r"), "Main[A,B,Z] p:S r:T Buf[A] k:1 Reg[B,Z] p:1 r:1 k:1 +CV@MAC", "PRST", "6443",
       false, false, 0, 0},
      {CV("2*p+r"), "Main[A,B] Main[Z] r:T@PE.X p:S Reg[A,B] p:1 r:1 k:1 +CV@MAC", "PRTS", "5544",
       false, false, 0, 0},
      {CV("p-r+2"), "Main[A,B,Z] p:S r:T@PE.X r:U Reg[A,Z] p:1 r:1 k:1 +CV@MAC", "PRSTU", "54433",
       false, false, 0, 0},
      {CV("2*p+3*r"), "Main[A,B,Z] p:S r:T Reg[A] p:1 r:1 k:1 +CV@MAC", "PRST", "5643", false,
       false, 0, 0},
      {"p=P r=R k=K SP:A[p+r+k],B[r]>Z[p]", "Main[A,B,Z] p:S r:T k:U Reg[A,Z] p:1 r:1 k:1 +SP@MAC",
       "PRKSTU", "333333", false, false, 0, 0},
      {"p=P r=R k=K SP:A[p+r,r+k],B[r]>Z[p]",
       "Main[A,B,Z] p:S r:T k:U Reg[A,Z] p:1 r:1 k:1 +SP@MAC", "PRKSTU", "333333", false, false, 0,
       0},
      {"p=P r=R DG:A[p+r,p],B[r,r]>Z[p,p-r]",
       "Main[A,B,Z] p:S r:T@PE.X Buf[B] p:U Reg[A,Z] p:1 r:1 +DG@MAC", "PRSTU", "54433", true,
       false, 0, 0},
      {CV("p+r"), "Main[A,B,Z] k:1 p:S r:T Buf[A] k:1 p:U Reg[A,Z] p:1 r:1 k:1 +CV@MAC", "PRSTU",
       "74433", true, false, 0, 0},
      {CV("p-r+2"), "Main[A,B,Z] r:T@PE.X r:U p:S Reg[A,B] p:1 r:1 k:1 +CV@MAC", "PRSTU", "64443",
       true, false, 0, 0},
      {"p=P q=Q W2:A[p+1,q+p]>Z[p,q]", "Main[A,Z] p:S q:T p:1 Buf[A] q:1 +W2@MAC", "PQST", "5544",
       true, false, 0, 0},
      {"p=P q=Q r=2 s=3 W2:A[p+r,q-s]>Z[p,q]",
       "Main[A,Z] p:S q:T Buf[A] p:1 q:U Reg[A] q:1 r:1 s:1 +W2@MAC", "PQSTU", "44443", true, false,
       0, 0},
      {CV("p+r"), "Main[A,B,Z] p:S@PE.X r:2 p:T Reg[A] k:1 p:1 r:1 +CV@MAC", "PRST", "9354", false,
       false, 0, 0},
      {CV("p-r+2"), "Main[A,B,Z] p:U p:S@PE.X r:V@PE.Y p:T Reg[A] k:1 p:1 r:1 +CV@MAC", "PRUSTV",
       "736432", false, false, 0, 0},
      {CV("p+r"), "Main[A,B,Z] p:S~U r:T Reg[A,B] p:1 r:1 k:1 +CV@MAC", "PRSUT", "64433", false,
       false, 'U', 'S'},
  };
  int points = 0;
  for (size_t i = 0; i < sizeof nests / sizeof *nests; i++)
    points += hold_at_all_points(&nests[i], true) + hold_at_all_points(&nests[i], false);
  assert_true(points > 4000);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* With a limit that rises until the analysis goes through: the error, and nothing lost. */
static void out_of_memory(const char *workload, const char *mapping, const loom_options *options) {
  size_t failures = 0;
  for (size_t extra = 0;; extra += extra / 64 + 256) {
    text_case c = case_begin(workload, machine, mapping);
    loom_base_of(c.ctx)->bytes_limit = loom_ctx_bytes(c.ctx) + extra;
    c.r = loom_analyze(c.w, c.a, c.m, options);
    bool good = c.r != NULL;
    if (!good) {
      failures++;
      assert_int_equal(loom_error_status(c.ctx), LOOM_ERR_MEMORY);
      loom_error_clear(c.ctx);
      loom_base_of(c.ctx)->bytes_limit = 0;
      c.r = loom_analyze(c.w, c.a, c.m, options);
      if (!c.r) fail_msg("%s", loom_error_message(c.ctx));
    }
    case_end(&c);
    if (good) break;
  }
  assert_true(failures > 10);
}

static void memory_may_run_out_anywhere(void **state) {
  (void)state;
  int called = 0;
  loom_node_analyzer analyzer = {"own", as_storage, &called};
  const loom_options plain = {.model = LOOM_EXACT},
                     retain = {.model = LOOM_EXACT, .lifetime = LOOM_RETAIN},
                     own = {.model = LOOM_EXACT, .analyzers = &analyzer, .n_analyzers = 1};
  out_of_memory("m=M k=4 n=3 MM:A[m,k],B[k,n]>Z[m,n]",
                "Main[A,B,Z] m:S k:T Buf[A,B,Z] m:1@PE.X !Link[A] Reg[Z] m:1 k:1 n:1 +MM@MAC",
                &plain);
  out_of_memory("p=P r=3 CV:A[p+r],B[r]>Z[p]", "Main[A,B,Z] r:2 p:S Buf[A] p:1 r:1 +CV@MAC",
                &retain);
  out_of_memory("p=9 r=3 CV:A[p+r],B[r]>Z[p]",
                "Main[A,B,Z] p:4@PE.X p:2 Reg[A,B,Z] p:1 r:1 +CV@MAC", &plain);
  out_of_memory("m=7 k=5 n=6 MM:A[m,k],B[k,n]>Z[m,n]",
                "Main[A,B,Z] m:4 k:2 own~Buf[A,Z] m:1@PE.X Reg[Z] m:1 k:1 n:1 +MM@MAC", &own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_may_run_out_anywhere),
      cmocka_unit_test(formulas_hold_at_every_point),
      cmocka_unit_test(pieces_agree_with_cutting),
      cmocka_unit_test(own_kinds_see_each_combination_of_extents),
      cmocka_unit_test(own_kinds_in_formulas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
