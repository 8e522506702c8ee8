/* SPDX-License-Identifier: MIT */
/* Statistics of random mappings held against walking the nest of each tensor point by point.
** Check ids (doc/formulas.md): E1 traffic, E2 first touches, E3 actions of all and of one unit,
** E4 occupancy, E5 operations and steps, E6 formulas at the tiles they are formulas of; each for even
** tiles and for first tiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nest_text.h"

#define BITS 8
#define MAX_VARIABLES 4
#define MAX_RANKS 3
#define MAX_ELEMENTS 4096
#define MAX_COPIES 64

/* A tensor's index expressions as coefficients of the variables. */
typedef struct shape {
  const char *name;
  bool output;
  int n_ranks;
  int coef[MAX_RANKS][MAX_VARIABLES];
} shape;

typedef struct family {
  const char *text, *variables;
  int n_variables, n_tensors;
  shape tensors[3];
} family;

static const family families[] = {
    {"MM:A[m,k],B[k,n]>Z[m,n]",
     "mkn",
     3,
     3,
     {{"A", false, 2, {{1, 0, 0, 0}, {0, 1, 0, 0}}},
      {"B", false, 2, {{0, 1, 0, 0}, {0, 0, 1, 0}}},
      {"Z", true, 2, {{1, 0, 0, 0}, {0, 0, 1, 0}}}}},
    {"CV:I[p+r],F[r,k]>O[k,p]",
     "prk",
     3,
     3,
     {{"I", false, 1, {{1, 1, 0, 0}}},
      {"F", false, 2, {{0, 1, 0, 0}, {0, 0, 1, 0}}},
      {"O", true, 2, {{0, 0, 1, 0}, {1, 0, 0, 0}}}}},
};

/* ---- walking ------------------------------------------------------------------------------ */

typedef struct walk {
  const family *f;
  const shape *t;
  const loom_node *nodes;
  size_t n;
  int64_t lo[MAX_VARIABLES], hi[MAX_VARIABLES];
  size_t target;   /* node whose visits are counted */
  size_t fixed;    /* spatial loops before this node stay on their first tile */
  bool may_share;  /* spatial loops may serve several units at once */
  bool first_only; /* count elements not touched before */
  int copy;        /* which copy of the tensor: spatial units that do not share */
  unsigned char (*seen)[MAX_ELEMENTS];
} walk;

static int variable_of(const family *f, const char *name) {
  return (int)(strchr(f->variables, name[0]) - f->variables);
}

static bool uses(const shape *t, int v) {
  for (int r = 0; r < t->n_ranks; r++)
    if (t->coef[r][v]) return true;
  return false;
}

static int64_t number(const text_case *c, loom_expr e) {
  int64_t value = -1;
  assert_true(loom_as_int(c->ctx, e, &value));
  return value;
}

static const text_case *current;

/* Elements of the tensor that the points of the current intervals touch, or only new ones. */
static int64_t elements(walk *w) {
  unsigned char here[MAX_ELEMENTS] = {0};
  int64_t at[MAX_VARIABLES], count = 0;
  for (int v = 0; v < w->f->n_variables; v++) at[v] = w->lo[v];
  for (;;) {
    int64_t id = 0;
    for (int r = 0; r < w->t->n_ranks; r++) {
      int64_t index = 0;
      for (int v = 0; v < w->f->n_variables; v++) index += w->t->coef[r][v] * at[v];
      id = id * 32 + index;
    }
    assert_true(id < MAX_ELEMENTS);
    if (!here[id] && !(w->first_only && w->seen[w->copy][id])) count++;
    here[id] = 1;
    if (w->first_only) w->seen[w->copy][id] = 1;
    int v = 0;
    while (v < w->f->n_variables && ++at[v] == w->hi[v]) {
      at[v] = w->lo[v];
      v++;
    }
    if (v == w->f->n_variables) return count;
  }
}

/* At a spatial loop the tensor's outermost buffet inside is the target's: no reservation between.
 */
static bool next_buffet_is_target(const walk *w, size_t loop) {
  for (size_t i = loop + 1; i < w->target; i++)
    if (w->nodes[i].kind == LOOM_NODE_RESERVATION) return false;
  return true;
}

typedef enum { COUNT, LARGEST, STEPS, OPERATIONS } quantity;

static int64_t walk_from(walk *w, size_t i, quantity what);

static int64_t walk_loop(walk *w, size_t i, quantity what) {
  const loom_node *node = &w->nodes[i];
  bool spatial = node->kind == LOOM_NODE_SPATIAL;
  int v = variable_of(w->f, node->variable);
  int64_t lo = w->lo[v], hi = w->hi[v], tile = number(current, node->tile), total = 0;
  int64_t length = node->first == LOOM_NONE ? tile : number(current, node->first);
  bool irrelevant = w->t && !uses(w->t, v);
  bool shares = spatial && irrelevant && w->may_share && next_buffet_is_target(w, i);
  int copy = w->copy, units = 0;
  for (int64_t at = lo; at < hi; at += length, length = tile) {
    w->lo[v] = at;
    w->hi[v] = at + length < hi ? at + length : hi;
    if (spatial && irrelevant && !shares) w->copy = copy * 4 + units;
    assert_true(w->copy < MAX_COPIES);
    int64_t part = walk_from(w, i + 1, what);
    bool most = what == LARGEST || (what == STEPS && spatial);
    total = most ? (part > total ? part : total) : total + part;
    units++;
    if (what == COUNT && spatial && (shares || i < w->fixed)) break;
  }
  w->lo[v] = lo;
  w->hi[v] = hi;
  w->copy = copy;
  return total;
}

static int64_t walk_from(walk *w, size_t i, quantity what) {
  for (; i < w->n; i++) {
    if (i == w->target && (what == COUNT || what == LARGEST)) return elements(w);
    if (w->nodes[i].kind == LOOM_NODE_TEMPORAL || w->nodes[i].kind == LOOM_NODE_SPATIAL)
      return walk_loop(w, i, what);
  }
  return 1;
}

static walk start(const text_case *c, const family *f, size_t tensor, const int *sizes) {
  static unsigned char seen[MAX_COPIES][MAX_ELEMENTS];
  memset(seen, 0, sizeof seen);
  walk w = {.f = f, .t = &f->tensors[tensor], .seen = seen};
  w.n = loom_result_nest(c->r, 0, tensor, &w.nodes);
  for (int v = 0; v < f->n_variables; v++) w.hi[v] = sizes[v];
  current = c;
  return w;
}

/* ---- checks ------------------------------------------------------------------------------- */

typedef struct checked {
  const text_case *c;
  const family *f;
  size_t tensor;
  const int *sizes;
  const char *mapping;
} checked;

static int64_t count(const checked *k, size_t target, size_t fixed, bool may_share, bool first) {
  walk w = start(k->c, k->f, k->tensor, k->sizes);
  w.target = target;
  w.fixed = fixed;
  w.may_share = may_share;
  w.first_only = first;
  return walk_from(&w, 0, COUNT);
}

static void same(const checked *k, const loom_buffet *b, loom_buffet_field field,
                 int64_t expected) {
  if (b->field[field] == loom_int(k->c->ctx, expected)) return;
  char *text = loom_print(k->c->ctx, b->field[field], LOOM_INFIX);
  fail_msg("%s: %s@%s %s: expected %lld, got %s", k->mapping, b->tensor, b->level,
           loom_buffet_field_name(field), (long long)expected, text);
}

#define SAME(k, b, field, expected) same(k, b, LOOM_BUFFET_##field, expected)

/* The holder of a buffet, or the compute node. */
static size_t holder_of(const walk *w, const loom_buffet *b) {
  for (size_t i = 0; i < w->n; i++) {
    loom_node_kind kind = w->nodes[i].kind;
    bool holder = kind == LOOM_NODE_STORAGE || kind == LOOM_NODE_COMPUTE;
    if (holder && strcmp(w->nodes[i].component, b->level) == 0) return i;
  }
  fail();
  return 0;
}

static void check_buffet(const checked *k, const loom_buffet *b, const loom_buffet *child) {
  walk w = start(k->c, k->f, k->tensor, k->sizes);
  size_t at = holder_of(&w, b);
  bool output = w.t->output, leaf = !child, backing = w.nodes[at].backing;
  int64_t reads = backing ? 0 : count(k, at, 0, true, false);
  SAME(k, b, total_reads_to_parent, reads);
  SAME(k, b, total_writes_to_parent, output ? reads : 0);
  int64_t first = backing || !output ? 0 : count(k, at, 0, true, true);
  SAME(k, b, total_skipped_first_reads_to_parent, first);
  if (leaf) return;
  int64_t fills = backing ? 0 : count(k, at, 0, false, false);
  int64_t fills_of_one = backing ? 0 : count(k, at, at, false, false);
  size_t below = holder_of(&w, child);
  int64_t served = count(k, below, 0, true, false),
          served_of_one = count(k, below, at, true, false);
  SAME(k, b, total_read_actions, BITS * (served + (output ? fills : 0)));
  SAME(k, b, max_per_unit_read_actions, BITS * (served_of_one + (output ? fills_of_one : 0)));
  SAME(k, b, total_write_actions, BITS * (fills + (output ? served : 0)));
  SAME(k, b, max_per_unit_write_actions, BITS * (fills_of_one + (output ? served_of_one : 0)));
  w.target = at;
  while (w.nodes[w.target].kind != LOOM_NODE_RESERVATION) w.target++;
  SAME(k, b, max_occupancy, BITS * walk_from(&w, 0, LARGEST));
}

static void check_operations(const text_case *c, const family *f, const int *sizes,
                             const char *mapping) {
  walk w = {.f = f, .target = SIZE_MAX};
  w.n = loom_result_path(c->r, 0, &w.nodes);
  current = c;
  for (int v = 0; v < f->n_variables; v++) w.hi[v] = sizes[v];
  const loom_stats *stats = loom_result_stats(c->r, 0);
  int64_t operations = walk_from(&w, 0, OPERATIONS), steps = walk_from(&w, 0, STEPS);
  if (stats->compute.total_ops != loom_int(c->ctx, operations) ||
      stats->compute.max_latency != loom_int(c->ctx, steps) ||
      stats->temporal_steps != loom_int(c->ctx, steps))
    fail_msg("%s: expected %lld operations in %lld steps", mapping, (long long)operations,
             (long long)steps);
}

/* Figures that can never be right: more operations than units could do in the steps, an operand
** read more often by the compute units than there are operations. */
static void check_bounds(const text_case *c, const char *mapping) {
  const loom_stats *stats = loom_result_stats(c->r, 0);
  int64_t units = 1, operations = number(c, stats->compute.total_ops);
  for (size_t i = 0; i < stats->n_fanout; i++) units *= number(c, stats->fanout[i].used);
  if (operations > units * number(c, stats->temporal_steps))
    fail_msg("%s: more operations than units can do", mapping);
  for (size_t i = 0; i < stats->n_buffets; i++) {
    const loom_buffet *b = &stats->buffets[i];
    bool leaf = strcmp(b->level, stats->compute.level) == 0;
    if (leaf && number(c, b->field[LOOM_BUFFET_total_reads_to_parent]) > operations)
      fail_msg("%s: %s is read more often than used", mapping, b->tensor);
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++)
      assert_true(b->field[f] == LOOM_NONE || number(c, b->field[f]) >= 0);
  }
}

/* Every tile shape above 1 becomes a symbol named after it: "m:4" is "m:t4". */
static void with_symbols(const char *mapping, char *out) {
  for (; *mapping; mapping++) {
    *out++ = *mapping;
    bool tile = *mapping == ':' || *mapping == '^';
    if (tile && !(mapping[1] == '1' && !isdigit((unsigned char)mapping[2]))) *out++ = 't';
  }
  *out = '\0';
}

/* The values of such symbols. */
static loom_expr at_tiles(loom_ctx *ctx, loom_expr e) {
  loom_expr symbols[16], values[16];
  size_t n = loom_expr_symbols(ctx, e, symbols, 16);
  for (size_t i = 0; i < n; i++)
    values[i] = loom_int(ctx, atoi(loom_symbol_name(ctx, symbols[i]) + 1));
  return loom_substitute(ctx, e, n, symbols, values);
}

static void check_formulas(const text_case *c, const char *workload, const char *mapping) {
  char symbolic[512];
  with_symbols(mapping, symbolic);
  text_case d = case_analyze(workload, "Main Buf #PE(X=64,Y=64) Reg +MAC", symbolic);
  if (!d.r) fail_msg("%s: %s", symbolic, loom_error_message(d.ctx));
  const loom_stats *numbers = loom_result_stats(c->r, 0), *formulas = loom_result_stats(d.r, 0);
  assert_int_equal(numbers->n_buffets, formulas->n_buffets);
  for (size_t i = 0; i < numbers->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      if (numbers->buffets[i].field[f] == LOOM_NONE) continue;
      loom_expr formula = at_tiles(d.ctx, formulas->buffets[i].field[f]);
      if (formula == loom_int(d.ctx, number(c, numbers->buffets[i].field[f]))) continue;
      fail_msg("%s: the formula of %s@%s %s differs", symbolic, numbers->buffets[i].tensor,
               numbers->buffets[i].level, loom_buffet_field_name(f));
    }
  assert_int_equal(at_tiles(d.ctx, formulas->temporal_steps),
                   loom_int(d.ctx, number(c, numbers->temporal_steps)));
  case_end(&d);
}

static void check_mapping(const family *f, const int *sizes, const char *mapping) {
  char workload[128];
  size_t used = 0;
  for (int v = 0; v < f->n_variables; v++)
    used += (size_t)snprintf(workload + used, sizeof workload - used, "%c=%d ", f->variables[v],
                             sizes[v]);
  snprintf(workload + used, sizeof workload - used, "%s", f->text);
  text_case c = case_analyze(workload, "Main Buf #PE(X=64,Y=64) Reg +MAC", mapping);
  if (!c.r) fail_msg("%s: %s", mapping, loom_error_message(c.ctx));
  const loom_stats *stats = loom_result_stats(c.r, 0);
  for (size_t t = 0; t < (size_t)f->n_tensors; t++) {
    checked k = {&c, f, t, sizes, mapping};
    const loom_buffet *child = NULL;
    for (size_t i = 0; i < stats->n_buffets; i++) {
      const loom_buffet *b = &stats->buffets[i];
      if (strcmp(b->tensor, f->tensors[t].name) != 0) continue;
      check_buffet(&k, b, child);
      child = b;
    }
  }
  check_operations(&c, f, sizes, mapping);
  check_bounds(&c, mapping);
  check_formulas(&c, workload, mapping);
  case_end(&c);
}

/* ---- random mappings ---------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

static int below(uint32_t *seed, int n) {
  return (int)(next_random(seed) % (uint32_t)n);
}

static int divisor(uint32_t *seed, int n) {
  int d = 1 + below(seed, n);
  while (n % d) d--;
  return d;
}

/* Loops in random order: each variable is cut to `tile`. */
static void add_loops(uint32_t *seed, const family *f, const int *tile, const int *extent,
                      const int *first, const char *at, char *out, size_t size) {
  int order[MAX_VARIABLES];
  for (int v = 0; v < f->n_variables; v++) {
    int k = below(seed, v + 1);
    order[v] = order[k];
    order[k] = v;
  }
  for (int i = 0; i < f->n_variables; i++) {
    int v = order[i];
    if (tile[v] == extent[v] && below(seed, 3)) continue;
    size_t used = strlen(out);
    int n = snprintf(out + used, size - used, "%c:%d", f->variables[v], tile[v]);
    if (first && first[v])
      snprintf(out + used + (size_t)n, size - used - (size_t)n, "^%d", first[v]);
    used = strlen(out);
    snprintf(out + used, size - used, "%s ", at);
  }
}

static void add_holder(uint32_t *seed, const family *f, const char *level, char *out, size_t size) {
  const char *lower = below(seed, 2) ? "" : "-";
  for (int t = 0; t < f->n_tensors; t++)
    if (below(seed, 4)) {
      size_t used = strlen(out);
      snprintf(out + used, size - used, "%s%s[%s] ", level, lower, f->tensors[t].name);
    }
}

static void random_mapping(uint32_t *seed, const family *f, const int *sizes, bool patterns,
                           char *out, size_t size) {
  int extent[MAX_VARIABLES], tile[MAX_VARIABLES], first[MAX_VARIABLES];
  snprintf(out, size, "Main[%s,%s,%s] ", f->tensors[0].name, f->tensors[1].name,
           f->tensors[2].name);
  for (int v = 0; v < f->n_variables; v++) {
    extent[v] = sizes[v];
    tile[v] = divisor(seed, extent[v]);
    first[v] = 0;
    if (patterns && below(seed, 2) && tile[v] < extent[v])
      first[v] = tile[v] * (1 + below(seed, extent[v] / tile[v]));
  }
  add_loops(seed, f, tile, extent, first, "", out, size);
  add_holder(seed, f, "Buf", out, size);
  static const char *const places[] = {"", "@PE.X", "@PE.Y", ""};
  for (int level = 0; level < 3; level++) {
    for (int v = 0; v < f->n_variables; v++) {
      extent[v] = tile[v];
      tile[v] = divisor(seed, extent[v]);
      if (extent[v] / tile[v] > 3) tile[v] = extent[v];
    }
    if (level == 2)
      for (int v = 0; v < f->n_variables; v++) tile[v] = 1;
    const char *place = level == 0 ? places[1 + below(seed, 2)] : "";
    add_loops(seed, f, tile, extent, NULL, place, out, size);
    if (level == 0) add_holder(seed, f, "Reg", out, size);
  }
  for (int v = 0; v < f->n_variables; v++) {
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%c:1 ", f->variables[v]);
  }
  size_t used = strlen(out);
  snprintf(out + used, size - used, "+%.2s@MAC", f->text);
}

static void random_mappings(bool patterns, uint32_t seed, int rounds) {
  print_message("seed %u\n", seed);
  static const int sizes_of[] = {1, 2, 3, 4, 6, 8};
  for (int i = 0; i < rounds; i++) {
    const family *f = &families[below(&seed, 2)];
    int sizes[MAX_VARIABLES];
    char mapping[512];
    for (int v = 0; v < f->n_variables; v++) sizes[v] = sizes_of[below(&seed, 6)];
    random_mapping(&seed, f, sizes, patterns, mapping, sizeof mapping);
    check_mapping(f, sizes, mapping);
  }
}

static uint32_t seed_of(uint32_t otherwise) {
  const char *given = getenv("EINLOOM_SEED");
  return given ? (uint32_t)strtoul(given, NULL, 10) : otherwise;
}

static void even_tiles_agree_with_enumeration(void **state) {
  (void)state;
  random_mappings(false, seed_of(11), 400);
}

static void first_tiles_agree_with_enumeration(void **state) {
  (void)state;
  random_mappings(true, seed_of(23), 300);
}

static void chosen_mappings_agree_with_enumeration(void **state) {
  (void)state;
  static const int mm[] = {6, 4, 6}, cv[] = {8, 3, 4};
  check_mapping(&families[0], mm, "Main[A,B,Z] k:2 Buf[A,B,Z] m:1 n:1 k:1 +MM@MAC");
  check_mapping(&families[0], mm,
                "Main[A,B,Z] Buf[A,B,Z] n:2@PE.X k:2@PE.Y Reg[A,B,Z] m:1 n:1 k:1 +MM@MAC");
  check_mapping(&families[0], mm, "Main[A,B,Z] m:2^4 Buf[A,B,Z] n:1 m:1 k:1 +MM@MAC");
  check_mapping(&families[0], mm,
                "Main[A,B,Z] Buf[A,B,Z] n:2^4@PE.X k:1@PE.Y Reg[A,B,Z] m:1 n:1 +MM@MAC");
  check_mapping(&families[0], mm,
                "Main[A,B,Z] k:2 Buf[A,B] m:1^3@PE.X Reg[A,Z] n:1 m:1 k:1 +MM@MAC");
  check_mapping(&families[1], cv, "Main[I,F,O] p:2^4 Buf[I,F,O] r:1 k:1 p:1 +CV@MAC");
  check_mapping(&families[1], cv, "Main[I,F,O] k:2 p:3^5 Buf-[I,F] r:1 k:1 p:1 +CV@MAC");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chosen_mappings_agree_with_enumeration),
      cmocka_unit_test(even_tiles_agree_with_enumeration),
      cmocka_unit_test(first_tiles_agree_with_enumeration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
