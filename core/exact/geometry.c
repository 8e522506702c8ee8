/* SPDX-License-Identifier: MIT */
/* How many elements of a tensor a box of its variables touches: doc/formulas.md#exact-footprints.
** Invariant: a group's form holds for boxes of any extents, the empty box included. */
#include "exact/arith.h"
#include "exact/exact.h"

#include <stdlib.h>
#include <string.h>

/* ---- the linear map of a group ------------------------------------------------------------ */

/* Coefficients: a row for each rank, a column for each variable of the group. */
typedef struct matrix {
  size_t rows, columns;
  int64_t *at;
} matrix;

static int64_t *cell(const matrix *m, size_t row, size_t column) {
  return &m->at[row * m->columns + column];
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

static void divide_row(const matrix *m, size_t row) {
  int64_t g = 0;
  for (size_t c = 0; c < m->columns; c++) g = gcd(g, *cell(m, row, c));
  for (size_t c = 0; c < m->columns && g > 1; c++) *cell(m, row, c) /= g;
}

static void swap_rows(const matrix *m, size_t a, size_t b) {
  for (size_t c = 0; c < m->columns; c++) {
    int64_t kept = *cell(m, a, c);
    *cell(m, a, c) = *cell(m, b, c);
    *cell(m, b, c) = kept;
  }
}

/* row := row * pivot - pivot_row * entry; false when numbers become too large. */
static bool eliminate(const matrix *m, size_t row, size_t pivot_row, size_t column) {
  int64_t pivot = *cell(m, pivot_row, column), entry = *cell(m, row, column);
  for (size_t c = 0; c < m->columns; c++) {
    int64_t a, b;
    if (__builtin_mul_overflow(*cell(m, row, c), pivot, &a) ||
        __builtin_mul_overflow(*cell(m, pivot_row, c), entry, &b) ||
        __builtin_sub_overflow(a, b, cell(m, row, c)) || *cell(m, row, c) == INT64_MIN)
      return false;
  }
  divide_row(m, row);
  return true;
}

/* Brings the matrix to reduced echelon form: row i has its only pivot in column pivots[i].  The rank,
** or -1 when numbers become too large. */
static int reduce(const matrix *m, size_t *pivots) {
  size_t rank = 0;
  for (size_t c = 0; c < m->columns && rank < m->rows; c++) {
    size_t row = rank;
    while (row < m->rows && *cell(m, row, c) == 0) row++;
    if (row == m->rows) continue;
    swap_rows(m, row, rank);
    divide_row(m, rank);
    for (size_t r = 0; r < m->rows; r++)
      if (r != rank && *cell(m, r, c) != 0 && !eliminate(m, r, rank, c)) return -1;
    pivots[rank++] = c;
  }
  return (int)rank;
}

/* The shortest integer vector that a reduced map of one dimension less than variables takes to 0,
** signs left out; false when numbers become too large. */
static bool kernel(const matrix *m, const size_t *pivots, size_t rank, int64_t *vector) {
  size_t open = 0;
  while (open < rank && pivots[open] == open) open++;
  int64_t scale = 1;
  for (size_t i = 0; i < rank; i++) {
    int64_t pivot = llabs(*cell(m, i, pivots[i]));
    if (__builtin_mul_overflow(scale / gcd(scale, pivot), pivot, &scale)) return false;
  }
  int64_t common = vector[open] = scale;
  for (size_t i = 0; i < rank; i++) {
    int64_t factor = scale / llabs(*cell(m, i, pivots[i]));
    if (__builtin_mul_overflow(llabs(*cell(m, i, open)), factor, &vector[pivots[i]])) return false;
    common = gcd(common, vector[pivots[i]]);
  }
  for (size_t i = 0; i <= rank; i++) vector[i] /= common;
  return true;
}

static bool all_alike(const matrix *m) {
  for (size_t c = 1; c < m->columns; c++)
    if (llabs(*cell(m, 0, c)) != llabs(*cell(m, 0, 0))) return false;
  return true;
}

static bool is_affine(const loom_group *g) {
  for (size_t r = 0; r < g->access.ranks.n; r++)
    if (g->access.ranks.at[r].n_steps > 0) return false;
  return true;
}

static bool classify(loom_analysis *an, loom_group *g) {
  g->kind = LOOM_SHAPE_OTHER;
  if (!is_affine(g)) return true;
  matrix m = {.rows = g->access.ranks.n, .columns = g->n};
  m.at = loom_arena_array(&an->scratch, m.rows * m.columns, sizeof *m.at);
  size_t *pivots = loom_arena_array(&an->scratch, m.columns, sizeof *pivots);
  g->vector = loom_arena_array(&an->scratch, g->n, sizeof *g->vector);
  if (!m.at || !pivots || !g->vector) return false;
  for (size_t r = 0; r < m.rows; r++) {
    const loom_rank *rank = &g->access.ranks.at[r];
    for (int t = 0; t < rank->n_terms; t++)
      for (size_t c = 0; c < m.columns; c++)
        if (g->variables[c] == rank->terms[t].variable)
          *cell(&m, r, c) = rank->terms[t].coefficient;
  }
  int rank = reduce(&m, pivots);
  if (rank == (int)g->n) {
    g->kind = LOOM_SHAPE_PRODUCT;
  } else if (rank == (int)g->n - 1) {
    if (kernel(&m, pivots, (size_t)rank, g->vector)) g->kind = LOOM_SHAPE_CHAINS;
  } else if (rank == 1 && all_alike(&m)) {
    g->kind = LOOM_SHAPE_SPAN;
  }
  return true;
}

/* ---- groups ------------------------------------------------------------------------------- */

/* Variables in one rank come into one group. */
static void join(int *group_of, size_t n, int a, int b) {
  int from = group_of[a] > group_of[b] ? group_of[a] : group_of[b];
  int to = group_of[a] + group_of[b] - from;
  for (size_t v = 0; v < n; v++)
    if (group_of[v] == from) group_of[v] = to;
}

static void connect(const loom_analysis *an, const loom_access *access, loom_geometry *out) {
  size_t n = an->w->variables.n;
  for (size_t v = 0; v < n; v++)
    out->group_of[v] = loom_access_relevancy(access, (int)v) == LOOM_IRRELEVANT ? -1 : (int)v;
  for (size_t r = 0; r < access->ranks.n; r++) {
    const loom_rank *rank = &access->ranks.at[r];
    for (int t = 1; t < rank->n_terms; t++)
      join(out->group_of, n, rank->terms[0].variable, rank->terms[t].variable);
  }
}

/* The group that has the number of one of its variables becomes the next one. */
static bool add_group(loom_analysis *an, const loom_access *access, int label, loom_geometry *out) {
  size_t n = an->w->variables.n;
  loom_group *g = &out->groups[out->n];
  *g = (loom_group){
      .access = {.tensor = access->tensor, .output = access->output, .bits = access->bits}};
  g->variables = loom_arena_array(&an->scratch, n, sizeof *g->variables);
  g->access.ranks.at = loom_arena_array(&an->scratch, access->ranks.n, sizeof *g->access.ranks.at);
  if (!g->variables || !g->access.ranks.at) return false;
  for (size_t v = 0; v < n; v++)
    if (out->group_of[v] == label) g->variables[g->n++] = (int)v;
  for (size_t r = 0; r < access->ranks.n; r++) {
    const loom_rank *rank = &access->ranks.at[r];
    if (rank->n_terms > 0 && out->group_of[rank->terms[0].variable] == label)
      g->access.ranks.at[g->access.ranks.n++] = *rank;
  }
  out->n++;
  return classify(an, g);
}

loom_status loom_geometry_of(loom_analysis *an, const loom_access *access, loom_geometry *out) {
  size_t n = an->w->variables.n;
  *out = (loom_geometry){.groups = loom_arena_array(&an->scratch, n, sizeof *out->groups),
                         .group_of = loom_arena_array(&an->scratch, n, sizeof *out->group_of)};
  if (!out->groups || !out->group_of) return loom_failed(an);
  connect(an, access, out);
  for (size_t v = 0; v < n; v++)
    if (out->group_of[v] == (int)v && !add_group(an, access, (int)v, out)) return loom_failed(an);
  for (size_t g = 0; g < out->n; g++)
    for (size_t i = 0; i < out->groups[g].n; i++)
      out->group_of[out->groups[g].variables[i]] = (int)g;
  return LOOM_OK;
}

/* ---- elements ----------------------------------------------------------------------------- */

static loom_expr scaled(loom_analysis *an, int64_t factor, loom_expr e) {
  return factor == 1 ? e : loom_mul(an->ctx, loom_int(an->ctx, factor), e);
}

static loom_expr product_of_numbers(loom_analysis *an, size_t n, loom_view *const *views,
                                    size_t without) {
  loom_expr product = an->one;
  for (size_t i = 0; i < n && product != LOOM_NONE; i++)
    if (i != without) product = loom_times(an, product, loom_view_number(an, views[i]));
  return product;
}

static loom_expr product_of_values(loom_analysis *an, size_t n, loom_view *const *views) {
  loom_expr product = an->one;
  for (size_t i = 0; i < n && product != LOOM_NONE; i++)
    product = loom_times(an, product, loom_view_values(an, views[i]));
  return product;
}

/* No piece is shorter than `length`. */
static bool no_piece_below(loom_analysis *an, loom_view *view, int64_t length) {
  if (length <= 1) return true;
  loom_expr least = loom_int(an->ctx, length), even;
  loom_view_even(an, view, &even);
  for (size_t i = 0; i < view->n_pieces; i++)
    if (loom_known_le(an->ctx, least, view->pieces[i].extent) != LOOM_YES) return false;
  return view->pieces != NULL;
}

/* One variable of two in pieces of one extent X: k2*S1 + k1*N1*(X - k2) in each of them. */
static loom_expr beside_even(loom_analysis *an, const int64_t *vector, loom_view *const *views,
                             int other, loom_expr extent) {
  loom_ctx *ctx = an->ctx;
  int even = 1 - other;
  loom_expr more = loom_sub(ctx, extent, loom_int(ctx, vector[even]));
  loom_expr number = scaled(an, vector[other], loom_view_number(an, views[other]));
  loom_expr sum = loom_add(ctx, scaled(an, vector[even], loom_view_values(an, views[other])),
                           loom_times(an, number, more));
  return loom_times(an, loom_view_number(an, views[even]), sum);
}

/* Two variables, no piece shorter than the vector: k2*X1 + k1*X2 - k1*k2 in each pair of pieces. */
static loom_expr window(loom_analysis *an, const int64_t *vector, loom_view *const *views) {
  loom_ctx *ctx = an->ctx;
  loom_expr both = loom_int(ctx, vector[0] * vector[1]), x[2];
  loom_expr n1 = loom_view_number(an, views[0]), n2 = loom_view_number(an, views[1]);
  if (n1 == LOOM_NONE || n2 == LOOM_NONE) return LOOM_NONE;
  bool even[2];
  for (int i = 0; i < 2; i++) even[i] = loom_view_even(an, views[i], &x[i]);
  if (even[0] && even[1]) {
    loom_expr width = loom_add(ctx, scaled(an, vector[1], x[0]), scaled(an, vector[0], x[1]));
    return loom_times(an, loom_times(an, n1, n2), loom_sub(ctx, width, both));
  }
  if (even[0]) return beside_even(an, vector, views, 1, x[0]);
  if (even[1]) return beside_even(an, vector, views, 0, x[1]);
  loom_expr s1 = loom_view_values(an, views[0]), s2 = loom_view_values(an, views[1]);
  loom_expr sum = loom_add(ctx, scaled(an, vector[1], loom_times(an, s1, n2)),
                           scaled(an, vector[0], loom_times(an, n1, s2)));
  return loom_sub(ctx, sum, loom_times(an, both, loom_times(an, n1, n2)));
}

/* Points less those that have another one of their chain behind them.  A variable's points are, in
** each piece, those of its first k and the E behind: X1*X2 - E1*E2 = M1*X2 + E1*M2, and so on. */
static loom_expr chains(loom_analysis *an, const loom_group *g, loom_view *const *views) {
  int64_t both;
  if (g->n == 2 && !__builtin_mul_overflow(g->vector[0], g->vector[1], &both) &&
      no_piece_below(an, views[0], g->vector[0]) && no_piece_below(an, views[1], g->vector[1]))
    return window(an, g->vector, views);
  loom_expr sum = an->zero, behind = an->one;
  for (size_t i = 0; i < g->n; i++)
    if (loom_view_excess(an, views[i], g->vector[i]) == an->zero)
      return product_of_values(an, g->n, views);
  for (size_t i = 0; i < g->n && behind != LOOM_NONE; i++) {
    if (g->vector[i] > 0) {
      loom_expr here = loom_times(an, behind, loom_view_least(an, views[i], g->vector[i]));
      if (here != LOOM_NONE)
        here = loom_times(an, here, product_of_values(an, g->n - i - 1, views + i + 1));
      if (here == LOOM_NONE || !loom_accumulate(an, &sum, here)) return LOOM_NONE;
    }
    behind = loom_times(an, behind, loom_view_excess(an, views[i], g->vector[i]));
  }
  return behind == LOOM_NONE ? LOOM_NONE : sum;
}

/* 1 + sum of (X - 1) in each combination of pieces. */
static loom_expr span(loom_analysis *an, const loom_group *g, loom_view *const *views) {
  loom_ctx *ctx = an->ctx;
  loom_expr all = product_of_numbers(an, g->n, views, g->n), width = an->one, sum = all;
  bool even = true;
  for (size_t i = 0; i < g->n && sum != LOOM_NONE; i++) {
    loom_expr extent;
    even = even && loom_view_even(an, views[i], &extent);
    if (even) width = loom_add(ctx, width, loom_sub(ctx, extent, an->one));
    loom_expr beyond =
        loom_sub(ctx, loom_view_values(an, views[i]), loom_view_number(an, views[i]));
    beyond = loom_times(an, beyond, product_of_numbers(an, g->n, views, i));
    if (beyond == LOOM_NONE || !loom_accumulate(an, &sum, beyond)) return LOOM_NONE;
  }
  return even ? loom_times(an, all, width) : sum;
}

loom_expr loom_group_elements(loom_analysis *an, const loom_group *group, loom_view *const *views) {
  switch (group->kind) {
  case LOOM_SHAPE_PRODUCT: return product_of_values(an, group->n, views);
  case LOOM_SHAPE_CHAINS: return chains(an, group, views);
  case LOOM_SHAPE_SPAN: return span(an, group, views);
  default: return LOOM_NONE;
  }
}
