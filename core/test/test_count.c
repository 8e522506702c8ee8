/* SPDX-License-Identifier: MIT */
/* Tests of the counting engine: random nests against counting by sets, symbolic problems, limits.
** TEST_COUNT_SEED and TEST_COUNT_CASES choose the random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>

#include "count/count.h"
#include "count/nest.h"

/* ---- nests -------------------------------------------------------------------------------- */

enum { VARIABLES = 4, LOOPS = 9, RANKS = 3, STEPS = 12 };

typedef struct plain_loop {
  int variable, tile, first, step;
  bool spatial, shared, anew, anew_if_overlapping;
} plain_loop;

typedef struct nest {
  int n_variables, n_loops, n_ranks;
  int size[VARIABLES];
  plain_loop loops[LOOPS];
  loom_rank ranks[RANKS];
  loom_index_term terms[RANKS][VARIABLES];
  loom_rank_step steps[RANKS][STEPS];
  int above_parent, above_holder;
  bool retain, output, to_one_unit;
} nest;

static uint64_t state;

static int pick(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (uint64_t)n);
}

static int extent_of(const nest *x, int variable, int below) {
  int extent = x->size[variable];
  for (int l = 0; l < below; l++)
    if (x->loops[l].variable == variable) {
      int largest = x->loops[l].tile > x->loops[l].first ? x->loops[l].tile : x->loops[l].first;
      if (largest < extent) extent = largest;
    }
  return extent;
}

static void random_rank(nest *x, int r) {
  loom_rank *rank = &x->ranks[r];
  *rank = (loom_rank){.name = "r", .terms = x->terms[r], .steps = x->steps[r]};
  rank->constant = pick(5) - 2;
  int n = 1 + pick(3);
  for (int i = 0; i < n; i++) {
    int v = pick(x->n_variables), k = 0;
    while (k < rank->n_terms && rank->terms[k].variable != v) k++;
    if (k < rank->n_terms) continue;
    static const int64_t coefficients[] = {1, 1, 1, 2, -1, 3};
    rank->terms[rank->n_terms++] = (loom_index_term){v, coefficients[pick(6)]};
  }
  if (pick(5)) return;
  for (int i = 0; i < rank->n_terms; i++) {
    loom_index_operation op = pick(3) == 0   ? LOOM_INDEX_MOD
                              : pick(2) == 0 ? LOOM_INDEX_FLOOR_DIV
                                             : LOOM_INDEX_SCALE;
    rank->steps[rank->n_steps++] =
        (loom_rank_step){LOOM_INDEX_VARIABLE, rank->terms[i].variable, 0};
    rank->steps[rank->n_steps++] = (loom_rank_step){op, 0, 1 + pick(3)};
    if (i > 0) rank->steps[rank->n_steps++] = (loom_rank_step){LOOM_INDEX_ADD, 0, 0};
    rank->terms[i].coefficient = 1;
  }
  rank->steps[rank->n_steps++] =
      (loom_rank_step){pick(2) ? LOOM_INDEX_MOD : LOOM_INDEX_FLOOR_DIV, 0, 2 + pick(3)};
}

static const nest *random_nest(void) {
  static nest x;
  x = (nest){.n_variables = 1 + pick(VARIABLES), .n_ranks = pick(RANKS + 1)};
  static const int most[] = {9, 6, 5, 4};
  int cost = 1;
  for (int v = 0; v < x.n_variables; v++) x.size[v] = 1 + pick(most[x.n_variables - 1]);
  for (int r = 0; r < x.n_ranks; r++) random_rank(&x, r);
  int n = pick(LOOPS), spatial = 0;
  bool firsts = pick(4) == 0, steps = pick(4) == 0;
  for (int l = 0; l < n; l++) {
    plain_loop *loop = &x.loops[x.n_loops];
    loop->variable = pick(x.n_variables);
    int extent = extent_of(&x, loop->variable, x.n_loops);
    loop->tile = 1 + pick(extent);
    loop->spatial = spatial < 3 && pick(3) == 0;
    loop->first = firsts && pick(2) ? 1 + pick(extent) : loop->tile;
    loop->step = steps && loop->first == loop->tile ? 1 + pick(loop->tile) : loop->tile;
    loop->shared = pick(3) > 0;
    int trips = 1 + (extent - 1) / loop->step + 1;
    if (cost * trips > 3000) continue;
    cost *= trips;
    spatial += loop->spatial;
    x.n_loops++;
  }
  x.above_holder = pick(x.n_loops + 1);
  if (pick(3)) x.above_holder = x.n_loops;
  x.above_parent = pick(x.above_holder + 1);
  if (pick(2)) x.above_parent = 0;
  x.retain = pick(2);
  x.output = pick(2);
  x.to_one_unit = x.output && pick(3) == 0;
  for (int l = 0; l < x.above_parent && x.output; l++) x.loops[l].anew = pick(4) == 0;
  for (int l = 0; l < x.above_parent && x.output; l++)
    x.loops[l].anew_if_overlapping = pick(2) == 0;
  return &x;
}

static void print_nest(const nest *x) {
  for (int v = 0; v < x->n_variables; v++) printf("v%d < %d; ", v, x->size[v]);
  printf("\n[");
  for (int r = 0; r < x->n_ranks; r++) {
    const loom_rank *rank = &x->ranks[r];
    if (rank->n_steps == 0) printf("%" PRId64, rank->constant);
    for (int i = 0; rank->n_steps == 0 && i < rank->n_terms; i++)
      printf(" + %" PRId64 "*v%d", rank->terms[i].coefficient, rank->terms[i].variable);
    for (int i = 0; i < rank->n_steps; i++)
      printf(" (%d %d %" PRId64 ")", (int)rank->steps[i].operation, rank->steps[i].variable,
             rank->steps[i].value);
    printf(", ");
  }
  printf("]\n");
  for (int l = 0; l <= x->n_loops; l++) {
    if (l == x->above_parent) printf("parent\n");
    if (l == x->above_holder) printf("holder\n");
    if (l == x->n_loops) break;
    const plain_loop *loop = &x->loops[l];
    printf("  %s v%d tile %d first %d step %d%s%s\n", loop->spatial ? "spatial" : "for",
           loop->variable, loop->tile, loop->first, loop->step,
           loop->spatial && loop->shared ? " shared" : "",
           loop->anew                  ? " anew"
           : loop->anew_if_overlapping ? " anew if overlapping"
                                       : "");
  }
  printf("%s %s%s\n", x->retain ? "retain" : "scope", x->output ? "output" : "input",
         x->to_one_unit ? " to one unit" : "");
}

/* ---- counting by sets --------------------------------------------------------------------- */

enum { MOST = 4096 };

typedef struct set {
  uint64_t word[MOST / 64];
} set;

typedef struct box {
  int lo[VARIABLES], hi[VARIABLES];
} box;

static int n_elements;
static int64_t element[MOST][RANKS];

static int64_t floor_of(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

static int64_t index_of(const nest *x, int r, const int *at) {
  const loom_rank *rank = &x->ranks[r];
  int64_t stack[STEPS], sum = rank->constant;
  int n = 0;
  for (int i = 0; i < rank->n_terms; i++)
    sum += rank->terms[i].coefficient * at[rank->terms[i].variable];
  if (rank->n_steps == 0) return sum;
  for (int i = 0; i < rank->n_steps; i++) {
    loom_rank_step s = rank->steps[i];
    if (s.operation == LOOM_INDEX_VARIABLE) stack[n++] = at[s.variable];
    if (s.operation == LOOM_INDEX_SCALE) stack[n - 1] *= s.value;
    if (s.operation == LOOM_INDEX_FLOOR_DIV) stack[n - 1] = floor_of(stack[n - 1], s.value);
    if (s.operation == LOOM_INDEX_MOD) stack[n - 1] -= s.value * floor_of(stack[n - 1], s.value);
    if (s.operation == LOOM_INDEX_ADD) {
      stack[n - 2] += stack[n - 1];
      n--;
    }
  }
  return stack[0];
}

static int number_of(const nest *x, const int *at) {
  int64_t key[RANKS] = {0};
  for (int r = 0; r < x->n_ranks; r++) key[r] = index_of(x, r, at);
  for (int i = 0; i < n_elements; i++)
    if (memcmp(element[i], key, sizeof key) == 0) return i;
  assert_true(n_elements < MOST);
  memcpy(element[n_elements], key, sizeof key);
  return n_elements++;
}

static int element_at[MOST]; /* by point of the whole space */

static int point_of(const nest *x, const int *at) {
  int point = 0;
  for (int v = 0; v < x->n_variables; v++) point = point * x->size[v] + at[v];
  return point;
}

static void number_points(const nest *x) {
  int at[VARIABLES] = {0};
  n_elements = 0;
  for (bool more = true; more;) {
    element_at[point_of(x, at)] = number_of(x, at);
    more = false;
    for (int v = x->n_variables; v-- > 0 && !more;) {
      more = ++at[v] < x->size[v];
      if (!more) at[v] = 0;
    }
  }
}

static void add_box(const nest *x, const box *b, set *out) {
  int at[VARIABLES];
  for (int v = 0; v < x->n_variables; v++) {
    at[v] = b->lo[v];
    if (b->lo[v] >= b->hi[v]) return;
  }
  for (bool more = true; more;) {
    int e = element_at[point_of(x, at)];
    out->word[e / 64] |= (uint64_t)1 << e % 64;
    more = false;
    for (int v = x->n_variables; v-- > 0 && !more;) {
      more = ++at[v] < b->hi[v];
      if (!more) at[v] = b->lo[v];
    }
  }
}

/* Cuts the box by loop l at an index; false where there is no such piece. */
static bool cut_box(const nest *x, int l, int index, box *b) {
  const plain_loop *loop = &x->loops[l];
  int lo = b->lo[loop->variable], hi = b->hi[loop->variable], from = lo, to = lo + loop->first;
  for (int i = 0; i < index; i++) {
    if (to >= hi) return false;
    from = to - (loop->tile - loop->step);
    to = from + loop->tile;
  }
  b->lo[loop->variable] = from;
  b->hi[loop->variable] = to < hi ? to : hi;
  return true;
}

typedef enum { NO, LESS, AND, OR } how;

static int combine(set *a, const set *b, how h) {
  int count = 0;
  for (int i = 0; i < MOST / 64; i++) {
    a->word[i] = h == LESS  ? a->word[i] & ~b->word[i]
                 : h == AND ? a->word[i] & b->word[i]
                 : h == OR  ? a->word[i] | b->word[i]
                            : a->word[i];
    count += __builtin_popcountll(a->word[i]);
  }
  return count;
}

static int size_of(const set *a) {
  set b = *a;
  return combine(&b, a, NO);
}

/* Indices of all loops; the next vector over those of a kind in [from, to), inner ones fastest. */
static bool next_index(const nest *x, int *index, int from, int to, bool spatial,
                       const int *trips) {
  for (int l = to; l-- > from;) {
    if (x->loops[l].spatial != spatial) continue;
    if (++index[l] < trips[l]) return true;
    index[l] = 0;
  }
  return false;
}

static bool box_at(const nest *x, const int *index, int from, int to, box *b) {
  for (int l = from; l < to; l++)
    if (!cut_box(x, l, index[l], b)) return false;
  return true;
}

static box whole(const nest *x) {
  box b = {{0}, {0}};
  for (int v = 0; v < x->n_variables; v++) b.hi[v] = x->size[v];
  return b;
}

/* The number of a unit among all, or along the loops that are not joined, or outside the parent. */
static int unit_number(const nest *x, const int *index, const int *trips, int which) {
  int number = 0;
  for (int l = 0; l < x->above_holder; l++) {
    if (!x->loops[l].spatial) continue;
    if (which == 2 && l >= x->above_parent) continue;
    if (which == 1 && l >= x->above_parent && x->loops[l].shared) continue;
    number = number * trips[l] + index[l];
  }
  return number;
}

enum { UNITS = 4096 };
static set seen[UNITS], touched[UNITS];
static set held[UNITS], arrives[UNITS], leaves[UNITS], taken[UNITS];
static int arrived[UNITS], departed[UNITS], reads[UNITS], writes[UNITS], firsts[UNITS],
    first_arrived[UNITS];

static int alive_in(const nest *x, box visit, const int *trips) {
  static int first[MOST], last[MOST];
  int index[LOOPS] = {0}, n = 0, best = 0;
  for (int e = 0; e < n_elements; e++) first[e] = -1;
  do {
    set used = {{0}};
    bool any = false;
    do {
      box b = visit;
      if (!box_at(x, index, x->above_holder, x->n_loops, &b)) continue;
      any = true;
      add_box(x, &b, &used);
    } while (next_index(x, index, x->above_holder, x->n_loops, true, trips));
    if (!any) continue;
    for (int e = 0; e < n_elements; e++) {
      if (!(used.word[e / 64] >> e % 64 & 1)) continue;
      if (first[e] < 0) first[e] = n;
      last[e] = n;
    }
    n++;
  } while (next_index(x, index, x->above_holder, x->n_loops, false, trips));
  for (int s = 0; s < n; s++) {
    int alive = 0;
    for (int e = 0; e < n_elements; e++) alive += first[e] >= 0 && first[e] <= s && last[e] >= s;
    if (alive > best) best = alive;
  }
  return best;
}

/* The number of the index vector of the loops that begin afresh. */
static int anew_number(const nest *x, const int *index, const int *trips) {
  int number = 0;
  for (int l = 0; l < x->above_holder; l++)
    if (x->loops[l].anew ||
        (x->loops[l].anew_if_overlapping && x->loops[l].step < x->loops[l].tile))
      number = number * trips[l] + index[l];
  assert_true(number < UNITS);
  return number;
}

/* One step: what arrives and leaves at each unit; false where none works. */
static bool step_all(const nest *x, int *index, const int *trips, int64_t *out) {
  bool any = false;
  memset(taken, 0, sizeof taken);
  do {
    box b = whole(x);
    int unit = unit_number(x, index, trips, 0), key = unit_number(x, index, trips, 1);
    if (!box_at(x, index, 0, x->above_holder, &b)) {
      if (x->retain) combine(&taken[key], &held[unit], OR);
      continue;
    }
    set tile = {{0}}, fresh, left;
    any = true;
    add_box(x, &b, &tile);
    fresh = left = tile;
    if (x->retain) {
      combine(&fresh, &held[unit], LESS);
      left = held[unit];
      combine(&left, &tile, LESS);
    }
    if (x->to_one_unit) combine(&fresh, &taken[key], LESS);
    combine(&taken[key], &tile, OR);
    arrived[unit] += size_of(&fresh);
    set early = fresh;
    first_arrived[unit] += combine(&early, &seen[anew_number(x, index, trips)], LESS);
    departed[unit] += size_of(&left);
    combine(&arrives[key], &fresh, OR);
    combine(&leaves[key], &left, OR);
    combine(&touched[anew_number(x, index, trips)], &tile, OR);
    held[unit] = tile;
    if (size_of(&tile) > out[LOOM_COUNT_TILE]) out[LOOM_COUNT_TILE] = size_of(&tile);
    int alive = alive_in(x, b, trips);
    if (alive > out[LOOM_COUNT_LIVE]) out[LOOM_COUNT_LIVE] = alive;
  } while (next_index(x, index, 0, x->above_holder, true, trips));
  return any;
}

static void take_keys(const nest *x, int *index, const int *trips, bool reads_too) {
  do {
    int key = unit_number(x, index, trips, 1), owner = unit_number(x, index, trips, 2);
    set fresh = arrives[key];
    reads[owner] += size_of(&arrives[key]);
    writes[owner] += size_of(&leaves[key]);
    if (reads_too) firsts[owner] += combine(&fresh, &seen[anew_number(x, index, trips)], LESS);
    memset(&arrives[key], 0, sizeof(set));
    memset(&leaves[key], 0, sizeof(set));
  } while (next_index(x, index, 0, x->above_holder, true, trips));
}

static void clear_all(void) {
  memset(seen, 0, sizeof seen);
  memset(touched, 0, sizeof touched);
  memset(held, 0, sizeof held);
  memset(arrives, 0, sizeof arrives);
  memset(leaves, 0, sizeof leaves);
  memset(taken, 0, sizeof taken);
  memset(arrived, 0, sizeof arrived);
  memset(departed, 0, sizeof departed);
  memset(reads, 0, sizeof reads);
  memset(writes, 0, sizeof writes);
  memset(firsts, 0, sizeof firsts);
  memset(first_arrived, 0, sizeof first_arrived);
}

static void count_by_sets(const nest *x, int64_t *out) {
  int trips[LOOPS], index[LOOPS] = {0};
  memset(out, 0, LOOM_N_COUNT_FIGURES * sizeof *out);
  clear_all();
  number_points(x);
  for (int l = 0; l < x->n_loops; l++) {
    box b = whole(x);
    int v = x->loops[l].variable, n = 0;
    b.hi[v] = extent_of(x, v, l);
    for (box c = b; cut_box(x, l, n, &c); c = b) n++;
    trips[l] = n;
  }
  do {
    if (!step_all(x, index, trips, out)) continue;
    take_keys(x, index, trips, true);
    for (int i = 0; i < UNITS; i++) combine(&seen[i], &touched[i], OR);
  } while (next_index(x, index, 0, x->above_holder, false, trips));
  if (x->retain) {
    do {
      int unit = unit_number(x, index, trips, 0), key = unit_number(x, index, trips, 1);
      departed[unit] += size_of(&held[unit]);
      combine(&leaves[key], &held[unit], OR);
    } while (next_index(x, index, 0, x->above_holder, true, trips));
    take_keys(x, index, trips, false);
  }
  int64_t net = -1, net_here = -1;
  for (int u = 0; u < UNITS; u++) {
    out[LOOM_COUNT_DELIVERIES] += arrived[u];
    out[LOOM_COUNT_DEPARTURES] += departed[u];
    out[LOOM_COUNT_READS] += reads[u];
    out[LOOM_COUNT_WRITES] += writes[u];
    out[LOOM_COUNT_FIRST_READS] += firsts[u];
    out[LOOM_COUNT_FIRST_DELIVERIES] += first_arrived[u];
    if (arrived[u] > out[LOOM_COUNT_MOST_DELIVERIES]) out[LOOM_COUNT_MOST_DELIVERIES] = arrived[u];
    if (departed[u] > out[LOOM_COUNT_MOST_DEPARTURES])
      out[LOOM_COUNT_MOST_DEPARTURES] = departed[u];
    if (reads[u] > out[LOOM_COUNT_MOST_READS]) out[LOOM_COUNT_MOST_READS] = reads[u];
    if (writes[u] > out[LOOM_COUNT_MOST_WRITES]) out[LOOM_COUNT_MOST_WRITES] = writes[u];
  }
  int owners = 1, units = 1;
  for (int l = 0; l < x->above_holder; l++) units *= x->loops[l].spatial ? trips[l] : 1;
  for (int u = 0; u < units; u++)
    if (arrived[u] - first_arrived[u] > net_here) net_here = arrived[u] - first_arrived[u];
  out[LOOM_COUNT_LEAST_FIRST_DELIVERIES] = out[LOOM_COUNT_MOST_DELIVERIES] - net_here;
  for (int l = 0; l < x->above_parent; l++) owners *= x->loops[l].spatial ? trips[l] : 1;
  for (int u = 0; u < owners; u++)
    if (reads[u] - firsts[u] > net) net = reads[u] - firsts[u];
  out[LOOM_COUNT_LEAST_FIRST_READS] = out[LOOM_COUNT_MOST_READS] - net;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static loom_ctx *ctx;

static int setup(void **unused) {
  (void)unused;
  ctx = loom_ctx_new();
  return ctx ? 0 : -1;
}

static int teardown(void **unused) {
  (void)unused;
  loom_ctx_free(ctx);
  return 0;
}

typedef struct problem {
  loom_count_problem p;
  loom_access access;
  loom_expr sizes[VARIABLES];
  loom_count_loop loops[LOOPS];
} problem;

static void fill_problem(const nest *x, problem *q) {
  memset(q, 0, sizeof *q);
  q->access.output = x->output;
  q->access.ranks.at = (loom_rank *)(uintptr_t)x->ranks;
  q->access.ranks.n = (size_t)x->n_ranks;
  for (int v = 0; v < x->n_variables; v++) q->sizes[v] = loom_int(ctx, x->size[v]);
  for (int l = 0; l < x->n_loops; l++) {
    const plain_loop *loop = &x->loops[l];
    q->loops[l] =
        (loom_count_loop){loop->variable,
                          loop->spatial,
                          l < x->above_parent,
                          loop->shared,
                          false,
                          loop->anew,
                          loop->anew_if_overlapping,
                          loom_int(ctx, loop->tile),
                          loop->first == loop->tile ? LOOM_NONE : loom_int(ctx, loop->first),
                          loop->step == loop->tile ? LOOM_NONE : loom_int(ctx, loop->step)};
  }
  q->p = (loom_count_problem){.tensor = "T",
                              .level = "L",
                              .access = &q->access,
                              .sizes = q->sizes,
                              .n_loops = (size_t)x->n_loops,
                              .loops = q->loops,
                              .above_holder = (size_t)x->above_holder,
                              .lifetime = x->retain ? LOOM_RETAIN : LOOM_SCOPE,
                              .to_one_unit = x->to_one_unit};
}

static const char *const figure_names[] = {
#define NAME(enumerator, name) name,
    LOOM_COUNT_FIGURE_LIST(NAME)
#undef NAME
};

static void check_nest(const nest *x, uint64_t seed) {
  int64_t expected[LOOM_N_COUNT_FIGURES];
  loom_expr got[LOOM_N_COUNT_FIGURES];
  problem q;
  fill_problem(x, &q);
  count_by_sets(x, expected);
  unsigned all = (1u << LOOM_COUNT_UNIT) - 1;
  if (!x->output)
    all &= ~(1u << LOOM_COUNT_FIRST_DELIVERIES | 1u << LOOM_COUNT_LEAST_FIRST_DELIVERIES |
             1u << LOOM_COUNT_FIRST_READS | 1u << LOOM_COUNT_LEAST_FIRST_READS |
             1u << LOOM_COUNT_WRITES | 1u << LOOM_COUNT_DEPARTURES);
  if (loom_count_all(ctx, &q.p, all, got) != LOOM_OK) {
    print_nest(x);
    fail_msg("seed %" PRIu64 ": %s", seed, loom_error_message(ctx));
  }
  for (int i = 0; i < LOOM_COUNT_UNIT; i++) {
    int64_t value = -1;
    if (!(all >> i & 1)) continue;
    assert_true(loom_as_int(ctx, got[i], &value));
    if (value == expected[i]) continue;
    print_nest(x);
    fail_msg("seed %" PRIu64 ": %s is %" PRId64 ", not %" PRId64, seed, figure_names[i], value,
             expected[i]);
  }
}

/* The holder's parent as the holder in between: its own traffic and that inside it by unit. */
static void check_units(const nest *x, uint64_t seed) {
  static int own_arrived[UNITS], own_departed[UNITS], own_first[UNITS];
  int64_t unused[LOOM_N_COUNT_FIGURES], most = -1, net = -1, value = -1;
  nest own = *x;
  own.above_holder = x->above_parent;
  own.above_parent = pick(own.above_holder + 1);
  own.retain = pick(2);
  for (int r = 0; r < RANKS; r++) {
    own.ranks[r].terms = own.terms[r];
    own.ranks[r].steps = own.steps[r];
  }
  for (int l = own.above_parent; l < own.n_loops; l++)
    own.loops[l].anew = own.loops[l].anew_if_overlapping = false;
  count_by_sets(&own, unused);
  memcpy(own_arrived, arrived, sizeof arrived);
  memcpy(own_departed, departed, sizeof departed);
  memcpy(own_first, first_arrived, sizeof first_arrived);
  count_by_sets(x, unused);
  unsigned parts = 1 + (unsigned)pick(15);
  if (!x->output) parts &= LOOM_UNIT_READS | LOOM_UNIT_DELIVERIES;
  int n = 1;
  for (int l = 0; l < own.above_holder; l++) {
    box b = whole(x);
    int v = x->loops[l].variable, trips = 0;
    b.hi[v] = extent_of(x, v, l);
    for (box c = b; cut_box(x, l, trips, &c); c = b) trips++;
    n *= x->loops[l].spatial ? trips : 1;
  }
  for (int u = 0; u < n; u++) {
    int sum = (parts & LOOM_UNIT_READS ? reads[u] : 0) + (parts & LOOM_UNIT_WRITES ? writes[u] : 0);
    sum += (parts & LOOM_UNIT_DELIVERIES ? own_arrived[u] : 0) +
           (parts & LOOM_UNIT_DEPARTURES ? own_departed[u] : 0);
    int early = parts & LOOM_UNIT_READS ? firsts[u] : own_first[u];
    if (sum - early > net) net = sum - early;
    if (sum > most) most = sum;
  }
  problem outer, inner;
  loom_expr got[LOOM_N_COUNT_FIGURES];
  fill_problem(&own, &outer);
  fill_problem(x, &inner);
  outer.p.inside = &inner.p;
  outer.p.parts = parts;
  unsigned figures = 1u << LOOM_COUNT_UNIT;
  bool with_first = x->output && (parts & (LOOM_UNIT_READS | LOOM_UNIT_DELIVERIES));
  if (with_first) figures |= 1u << LOOM_COUNT_LEAST_UNIT_FIRST;
  if (loom_count_all(ctx, &outer.p, figures, got) != LOOM_OK)
    fail_msg("seed %" PRIu64 ": %s", seed, loom_error_message(ctx));
  int64_t least = most - net, early = least;
  assert_true(loom_as_int(ctx, got[LOOM_COUNT_UNIT], &value));
  if (with_first) assert_true(loom_as_int(ctx, got[LOOM_COUNT_LEAST_UNIT_FIRST], &early));
  if (value == most && early == least) return;
  print_nest(&own);
  print_nest(x);
  fail_msg("seed %" PRIu64 ": parts %u of a unit are %" PRId64 ", first %" PRId64 ", not %" PRId64
           ", %" PRId64,
           seed, parts, value, early, most, least);
}

static uint64_t number_from(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_random(void **unused) {
  (void)unused;
  uint64_t seed = number_from("TEST_COUNT_SEED", 20261130);
  uint64_t cases = number_from("TEST_COUNT_CASES", 1500);
  printf("seed %" PRIu64 "\n", seed);
  for (uint64_t i = 0; i < cases; i++) {
    state = seed + i;
    for (int k = 0; k < 3; k++) pick(2);
    const nest *x = random_nest();
    check_nest(x, seed + i);
    check_units(x, seed + i);
  }
}

/* Seeds whose nests have units that idle before they work, in such a way that it shows. */
static void test_idle_units(void **unused) {
  (void)unused;
  static const uint64_t seeds[] = {20269384};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    state = seeds[i];
    for (int k = 0; k < 3; k++) pick(2);
    check_nest(random_nest(), seeds[i]);
  }
}

/* A symbolic problem is a call that becomes the number of the numeric one. */
static void test_symbolic(void **unused) {
  (void)unused;
  uint64_t seed = number_from("TEST_COUNT_SEED", 7);
  for (uint64_t i = 0; i < 200; i++) {
    state = seed + i;
    for (int k = 0; k < 3; k++) pick(2);
    const nest *x = random_nest();
    problem q, symbolic;
    fill_problem(x, &q);
    symbolic = q;
    symbolic.p.access = &symbolic.access;
    symbolic.p.loops = symbolic.loops;
    symbolic.p.sizes = symbolic.sizes;
    loom_expr names[VARIABLES + LOOPS], values[VARIABLES + LOOPS];
    size_t n = 0;
    for (int v = 0; v < x->n_variables; v++) {
      char name[16];
      if (pick(2)) continue;
      snprintf(name, sizeof name, "V%d", v);
      values[n] = q.sizes[v];
      symbolic.sizes[v] = names[n++] = loom_symbol(ctx, name, NULL);
    }
    for (int l = 0; l < x->n_loops; l++) {
      char name[16];
      if (pick(2)) continue;
      snprintf(name, sizeof name, "t%d", l);
      values[n] = q.loops[l].tile;
      symbolic.loops[l].tile = names[n++] = loom_symbol(ctx, name, NULL);
    }
    loom_count_figure figure = (loom_count_figure)pick(LOOM_COUNT_UNIT);
    loom_expr e = loom_count(ctx, &symbolic.p, figure);
    assert_int_not_equal(e, LOOM_NONE);
    assert_int_equal(loom_count(ctx, &symbolic.p, figure), e);
    assert_int_equal(loom_substitute(ctx, e, n, names, values), loom_count(ctx, &q.p, figure));
  }
}

static void test_names(void **unused) {
  (void)unused;
  nest x = {.n_variables = 1, .n_loops = 1, .n_ranks = 1, .size = {10}, .above_holder = 1};
  x.loops[0] = (plain_loop){.tile = 3, .first = 3, .step = 3};
  x.terms[0][0] = (loom_index_term){0, 1};
  x.ranks[0] = (loom_rank){.name = "r", .n_terms = 1, .terms = x.terms[0]};
  problem q;
  fill_problem(&x, &q);
  q.p.tensor = "In put";
  q.p.level = "Reg";
  q.loops[0].tile = loom_symbol(ctx, "t", NULL);
  loom_expr e = loom_count(ctx, &q.p, LOOM_COUNT_READS);
  char *text = loom_print(ctx, e, LOOM_INFIX);
  assert_string_equal(text, "reads_In_put_Reg(t)");
  loom_free(text);
  assert_int_equal(loom_is_integer(ctx, e), LOOM_YES);
}

static void test_errors(void **unused) {
  (void)unused;
  nest x = {.n_variables = 2, .n_loops = 2, .n_ranks = 1, .size = {10, 10}, .above_holder = 2};
  x.loops[0] = (plain_loop){.tile = 1, .first = 1, .step = 1};
  x.loops[1] = (plain_loop){.variable = 1, .tile = 1, .first = 1, .step = 1};
  x.terms[0][0] = (loom_index_term){0, 1};
  x.terms[0][1] = (loom_index_term){1, 3};
  x.ranks[0] = (loom_rank){.name = "r", .n_terms = 2, .terms = x.terms[0]};
  x.output = true;
  problem q;
  fill_problem(&x, &q);
  q.sizes[0] = q.sizes[1] = loom_int(ctx, 1 << 20);
  assert_int_equal(loom_count(ctx, &q.p, LOOM_COUNT_FIRST_READS), LOOM_NONE);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_LIMIT);
  assert_non_null(strstr(loom_error_message(ctx), "of T at L: counting takes more than"));
  loom_error_clear(ctx);
  q.loops[0].tile = loom_int(ctx, 0);
  assert_int_equal(loom_count(ctx, &q.p, LOOM_COUNT_READS), LOOM_NONE);
  assert_int_equal(loom_error_status(ctx), LOOM_ERR_DOMAIN);
  assert_non_null(strstr(loom_error_message(ctx), "a tile is below 1"));
  loom_error_clear(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random), cmocka_unit_test(test_idle_units),
      cmocka_unit_test(test_symbolic), cmocka_unit_test(test_names), cmocka_unit_test(test_errors)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
