/* SPDX-License-Identifier: MIT */
/* The canonical order of expressions and of the children of a node.
** Invariant: the order depends on structure alone, never on ids, except between two nodes of equal
** kind, size and hash that also agree to the depth looked at. */
#include "expr/function.h"
#include "expr/make.h"

#include <stdlib.h>
#include <string.h>

/* Down to DEPTH_BY_PARTS small nodes are compared part by part, for an order that reads well;
** deeper or wider ones by their hash, and by parts again where hashes collide, down to DEEPEST. */
enum { DEPTH_BY_PARTS = 4, FEW_PARTS = 8, DEEPEST = 32, MOST_PARTS = 64 };

static int compare(const loom_ctx *ctx, loom_expr a, loom_expr b, int depth);

static int sign_of(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static void sort_indices(const loom_ctx *ctx, loom_expr e, uint32_t *at, size_t n, int depth) {
  for (size_t i = 0; i < n; i++) {
    loom_expr child = loom_child(ctx, e, i);
    size_t j = i;
    for (; j > 0 && compare(ctx, loom_child(ctx, e, at[j - 1]), child, depth) > 0; j--)
      at[j] = at[j - 1];
    at[j] = (uint32_t)i;
  }
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t digits_of(const char *at) {
  size_t n = 0;
  while (is_digit(at[n])) n++;
  return n;
}

/* Digits compare by their value, so that t2 comes before t10; else, and at a tie, byte by byte. */
static int compare_names(const char *a, const char *b) {
  const char *x = a, *y = b;
  while (*x && *y) {
    if (!is_digit(*x) || !is_digit(*y)) {
      if (*x != *y) break;
      x++, y++;
      continue;
    }
    while (*x == '0') x++;
    while (*y == '0') y++;
    size_t m = digits_of(x), n = digits_of(y);
    int order = m != n ? (m < n ? -1 : 1) : memcmp(x, y, m);
    if (order) return order;
    x += m, y += n;
  }
  int order = strcmp(x, y);
  return order ? order : strcmp(a, b);
}

static int compare_symbols(const loom_ctx *ctx, loom_expr a, loom_expr b, int depth) {
  const loom_symbol_data *x = loom_cell_of(ctx, a)->u.symbol, *y = loom_cell_of(ctx, b)->u.symbol;
  int order = compare_names(x->name, y->name);
  if (order) return order;
  const loom_assume *s = &x->assume, *t = &y->assume;
  int64_t left[] = {s->integer, s->has_min, s->min, s->has_max, s->max, s->multiple};
  int64_t right[] = {t->integer, t->has_min, t->min, t->has_max, t->max, t->multiple};
  for (size_t i = 0; i < sizeof left / sizeof *left; i++)
    if (left[i] != right[i]) return sign_of(left[i], right[i]);
  if (s->divides == LOOM_NONE || t->divides == LOOM_NONE) return sign_of(s->divides, t->divides);
  return compare(ctx, s->divides, t->divides, depth + 1);
}

/* The numbers beside the i-th child: coefficient or exponent. */
static int compare_weights(const loom_ctx *ctx, loom_expr a, size_t i, loom_expr b, size_t j) {
  switch (loom_kind_of(ctx, a)) {
  case LOOM_ADD:
    return loom_num_order(ctx, loom_add_term(ctx, a, i).coef, loom_add_term(ctx, b, j).coef);
  case LOOM_POW:
  case LOOM_MUL:
    return sign_of(loom_mul_power(ctx, a, i).exponent, loom_mul_power(ctx, b, j).exponent);
  default: return 0;
  }
}

static bool unordered(loom_kind kind) {
  return kind == LOOM_MUL || kind == LOOM_ADD || kind == LOOM_MIN || kind == LOOM_MAX;
}

/* Two nodes of one kind and of the same number n <= MOST_PARTS of children. */
static int compare_parts(const loom_ctx *ctx, loom_expr a, loom_expr b, size_t n, int depth) {
  uint32_t x[MOST_PARTS], y[MOST_PARTS];
  if (loom_kind_of(ctx, a) == LOOM_CALL) {
    int order = loom_function_order(loom_call_function(ctx, a), loom_call_function(ctx, b));
    if (order) return order;
  }
  for (uint32_t i = 0; i < n; i++) x[i] = y[i] = i;
  if (unordered(loom_kind_of(ctx, a))) {
    sort_indices(ctx, a, x, n, depth + 1);
    sort_indices(ctx, b, y, n, depth + 1);
  }
  for (size_t i = 0; i < n; i++) {
    int order = compare(ctx, loom_child(ctx, a, x[i]), loom_child(ctx, b, y[i]), depth + 1);
    if (order) return order;
  }
  for (size_t i = 0; i < n; i++) {
    int order = compare_weights(ctx, a, x[i], b, y[i]);
    if (order) return order;
  }
  if (loom_kind_of(ctx, a) != LOOM_ADD) return 0;
  return loom_num_order(ctx, loom_add_constant(ctx, a), loom_add_constant(ctx, b));
}

static int compare(const loom_ctx *ctx, loom_expr a, loom_expr b, int depth) {
  if (a == b) return 0;
  const loom_cell *x = loom_cell_of(ctx, a), *y = loom_cell_of(ctx, b);
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->kind == LOOM_NUM) return loom_num_order(ctx, x->v.num, y->v.num);
  if (x->kind == LOOM_SYM && depth < DEEPEST) return compare_symbols(ctx, a, b, depth);
  if (x->count != y->count) return x->count < y->count ? -1 : 1;
  bool by_parts = depth < DEEPEST && x->count <= (uint32_t)FEW_PARTS >> depth;
  if (!by_parts && x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  int order =
      depth < DEEPEST && x->count <= MOST_PARTS ? compare_parts(ctx, a, b, x->count, depth) : 0;
  return order ? order : sign_of(a, b);
}

int loom_expr_order(const loom_ctx *ctx, loom_expr a, loom_expr b) {
  if (!loom_expr_live(ctx, a) || !loom_expr_live(ctx, b)) return sign_of(a, b);
  return compare(ctx, a, b, 0);
}

/* One pass of merging runs of `width` indices. */
static void merge_pass(const loom_ctx *ctx, loom_expr e, const uint32_t *from, uint32_t *to,
                       size_t n, size_t width) {
  for (size_t start = 0; start < n; start += 2 * width) {
    size_t middle = start + width < n ? start + width : n;
    size_t end = start + 2 * width < n ? start + 2 * width : n;
    for (size_t i = start, j = middle, k = start; k < end; k++) {
      bool left = j >= end || (i < middle && compare(ctx, loom_child(ctx, e, from[i]),
                                                     loom_child(ctx, e, from[j]), 0) <= 0);
      to[k] = left ? from[i++] : from[j++];
    }
  }
}

void loom_child_order(const loom_ctx *ctx, loom_expr e, uint32_t *indices) {
  size_t n = loom_child_count(ctx, e);
  for (uint32_t i = 0; i < n; i++) indices[i] = i;
  if (n < 2 || !unordered(loom_kind_of(ctx, e))) return;
  uint32_t *other = n > 16 ? malloc(n * sizeof *other) : NULL;
  if (!other) {
    sort_indices(ctx, e, indices, n, 0);
    return;
  }
  uint32_t *from = indices, *to = other;
  for (size_t width = 1; width < n; width *= 2) {
    merge_pass(ctx, e, from, to, n, width);
    uint32_t *t = from;
    from = to;
    to = t;
  }
  if (from != indices) memcpy(indices, from, n * sizeof *indices);
  free(other);
}
