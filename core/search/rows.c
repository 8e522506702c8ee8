/* SPDX-License-Identifier: MIT */
/* Rows of choices and pruning by dominance.
** Invariant: pruning keeps the order of rows; of equal rows the first stays. */
#include <stdlib.h>
#include <string.h>

#include "search/search.h"

/* Rows between two looks at whether to stop. */
#define STRIDE 2048

void loom_give_back(loom_ctx *ctx, void *array, size_t n, size_t item) {
  if (array) loom_realloc_array(ctx, array, n, 0, item);
}

void *loom_larger(loom_ctx *ctx, const void *array, size_t n, size_t capacity, size_t item) {
  void *copy = loom_realloc_array(ctx, NULL, 0, capacity, item);
  if (copy && n > 0) memcpy(copy, array, n * item);
  return copy;
}

void loom_rows_free(loom_ctx *ctx, loom_rows *r) {
  loom_give_back(ctx, r->values, r->capacity * (size_t)r->n_values, sizeof *r->values);
  loom_give_back(ctx, r->keys, r->capacity * (size_t)r->n_keys, sizeof *r->keys);
  loom_give_back(ctx, r->tiles, r->capacity * (size_t)r->n_tiles, sizeof *r->tiles);
  loom_give_back(ctx, r->fused, r->capacity, sizeof *r->fused);
  r->values = r->keys = NULL;
  r->tiles = NULL;
  r->fused = NULL;
  r->n = r->capacity = 0;
}

/* Room for `capacity` rows in all arrays or, failing, in none more. */
static bool grow(loom_ctx *ctx, loom_rows *r, size_t capacity) {
  loom_rows next = *r;
  size_t v = (size_t)r->n_values, k = (size_t)r->n_keys, t = (size_t)r->n_tiles;
  next.capacity = capacity;
  next.values = loom_larger(ctx, r->values, r->n * v, capacity * v, sizeof *r->values);
  next.keys = loom_larger(ctx, r->keys, r->n * k, capacity * k, sizeof *r->keys);
  next.tiles = loom_larger(ctx, r->tiles, r->n * t, capacity * t, sizeof *r->tiles);
  next.fused = loom_larger(ctx, r->fused, r->n, capacity, sizeof *r->fused);
  if ((v > 0 && !next.values) || (k > 0 && !next.keys) || (t > 0 && !next.tiles) || !next.fused) {
    loom_rows_free(ctx, &next);
    return false;
  }
  loom_rows_free(ctx, r);
  *r = next;
  return true;
}

ptrdiff_t loom_rows_add(loom_ctx *ctx, loom_rows *r) {
  if (r->n == r->capacity && !grow(ctx, r, r->capacity ? 2 * r->capacity : 64)) return -1;
  return (ptrdiff_t)r->n++;
}

/* What a comparison of rows looks at. */
typedef struct order {
  const loom_rows *rows;
  const int *which; /* compared values */
  int n;
} order;

static int compare_keys(const loom_rows *r, size_t a, size_t b) {
  if (r->fused[a] != r->fused[b]) return r->fused[a] < r->fused[b] ? -1 : 1;
  const double *x = r->keys + a * (size_t)r->n_keys, *y = r->keys + b * (size_t)r->n_keys;
  for (int k = 0; k < r->n_keys; k++)
    if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
  return 0;
}

static int compare_tiles(const loom_rows *r, const int32_t *a, const int32_t *b) {
  for (int t = 0; t < r->n_tiles; t++)
    if (a[t] != b[t]) return a[t] < b[t] ? -1 : 1;
  return 0;
}

static const int32_t *tiles_of(const loom_rows *r, size_t i) {
  return r->tiles + i * (size_t)r->n_tiles;
}

static int compare_rows(const void *context, size_t a, size_t b) {
  const order *o = context;
  int keys = compare_keys(o->rows, a, b);
  if (keys) return keys;
  const double *x = o->rows->values + a * (size_t)o->rows->n_values;
  const double *y = o->rows->values + b * (size_t)o->rows->n_values;
  for (int k = 0; k < o->n; k++)
    if (x[o->which[k]] != y[o->which[k]]) return x[o->which[k]] < y[o->which[k]] ? -1 : 1;
  int tiles =
      o->rows->ranked ? compare_tiles(o->rows, tiles_of(o->rows, a), tiles_of(o->rows, b)) : 0;
  return tiles ? tiles : a < b ? -1 : a > b;
}

/* Merge sort: the standard one takes no context for its comparison. */
bool loom_sort(loom_ctx *ctx, size_t *list, size_t *spare, size_t n, loom_comparison *compare,
               const void *context) {
  if (n < 2) return true;
  if (n > STRIDE && loom_is_stopped(ctx)) return false;
  size_t half = n / 2;
  if (!loom_sort(ctx, list, spare, half, compare, context) ||
      !loom_sort(ctx, list + half, spare, n - half, compare, context))
    return false;
  if (compare(context, list[half - 1], list[half]) <= 0) return true;
  memcpy(spare, list, half * sizeof *list);
  for (size_t i = 0, j = half, k = 0; i < half; k++)
    list[k] = j < n && compare(context, list[j], spare[i]) < 0 ? list[j++] : spare[i++];
  return true;
}

/* Values that tell rows apart: compared, not the same everywhere, not a multiple of an earlier one. */
static int distinct_values(const loom_rows *r, const bool *compared, int *which) {
  int n = 0;
  for (int k = 0; k < r->n_values; k++) {
    if (!compared[k]) continue;
    bool varies = false;
    for (size_t i = 1; i < r->n && !varies; i++)
      varies = r->values[i * (size_t)r->n_values + (size_t)k] != r->values[k];
    bool copy = false;
    for (int j = 0; j < n && varies && !copy; j++) {
      double x = r->values[which[j]], y = r->values[k];
      copy = x > 0 && y > 0;
      for (size_t i = 1; i < r->n && copy; i++) {
        const double *row = r->values + i * (size_t)r->n_values;
        copy = row[which[j]] * y == row[k] * x;
      }
    }
    if (varies && !copy) which[n++] = k;
  }
  return n;
}

/* Rows of a front, in the order in which they came, and their compared values. */
typedef struct row_front {
  size_t n;
  size_t *rows;
  double *values;
} row_front;

static bool dominated(const order *o, const row_front *front, size_t row, const double *x,
                      size_t *last) {
  size_t width = (size_t)o->n;
  for (size_t f = 0; f < front->n; f++) {
    size_t at = f == 0 ? *last : f <= *last ? f - 1 : f;
    const double *y = front->values + at * width;
    int k = o->n; /* rows are sorted by the first values: the last ones tell more */
    while (k > 0 && y[k - 1] <= x[k - 1]) k--;
    if (k == 0 && (!o->rows->ranked || compare_tiles(o->rows, tiles_of(o->rows, front->rows[at]),
                                                     tiles_of(o->rows, row)) <= 0)) {
      *last = at;
      return true;
    }
  }
  return false;
}

/* Marks the rows of one run of equal keys that stay. */
static bool prune_run(loom_ctx *ctx, const order *o, const size_t *list, size_t n, row_front *front,
                      bool *stays) {
  size_t last = 0, looked_at = 0;
  double x[256];
  front->n = 0;
  for (size_t i = 0; i < n; i++, looked_at += front->n) {
    if (looked_at > 256 * STRIDE) {
      if (loom_is_stopped(ctx)) return false;
      looked_at = 0;
    }
    const double *row = o->rows->values + list[i] * (size_t)o->rows->n_values;
    for (int k = 0; k < o->n; k++) x[k] = row[o->which[k]];
    if (front->n > 0 && dominated(o, front, list[i], x, &last)) continue;
    for (int k = 0; k < o->n; k++) front->values[front->n * (size_t)o->n + (size_t)k] = x[k];
    front->rows[front->n] = list[i];
    last = front->n++;
    stays[list[i]] = true;
  }
  return true;
}

static void compact(loom_rows *r, const bool *stays) {
  size_t kept = 0;
  for (size_t i = 0; i < r->n; i++) {
    if (!stays[i]) continue;
    size_t v = (size_t)r->n_values, k = (size_t)r->n_keys, t = (size_t)r->n_tiles;
    if (kept != i) {
      if (v > 0) memmove(r->values + kept * v, r->values + i * v, v * sizeof *r->values);
      if (k > 0) memmove(r->keys + kept * k, r->keys + i * k, k * sizeof *r->keys);
      if (t > 0) memmove(r->tiles + kept * t, r->tiles + i * t, t * sizeof *r->tiles);
      r->fused[kept] = r->fused[i];
    }
    kept++;
  }
  r->n = kept;
}

bool loom_rows_prune(loom_ctx *ctx, loom_rows *r, const bool *compared) {
  int which[256];
  if (r->n < 2) return true;
  if (r->n_values > 256) {
    loom_error_set(ctx, LOOM_ERR_LIMIT, "a template has more than 256 figures to compare");
    return false;
  }
  order o = {r, which, distinct_values(r, compared, which)};
  size_t n = r->n, room = n * (size_t)o.n + 1;
  size_t *list = loom_realloc_array(ctx, NULL, 0, 3 * n, sizeof *list);
  double *values = loom_realloc_array(ctx, NULL, 0, room, sizeof *values);
  bool *stays = loom_realloc_array(ctx, NULL, 0, n, sizeof *stays);
  bool done = list && values && stays;
  row_front front = {0, list ? list + 2 * n : NULL, values};
  if (done) {
    memset(stays, 0, n * sizeof *stays);
    for (size_t i = 0; i < n; i++) list[i] = i;
    done = loom_sort(ctx, list, list + n, n, compare_rows, &o);
  }
  for (size_t from = 0, to; from < n && done; from = to) {
    for (to = from + 1; to < n && compare_keys(r, list[from], list[to]) == 0;) to++;
    done = prune_run(ctx, &o, list + from, to - from, &front, stays);
  }
  if (done) compact(r, stays);
  loom_give_back(ctx, list, 3 * n, sizeof *list);
  loom_give_back(ctx, values, room, sizeof *values);
  loom_give_back(ctx, stays, n, sizeof *stays);
  return done;
}

static bool permute(loom_ctx *ctx, void *array, const size_t *list, const loom_rows *r, int width,
                    size_t item) {
  char **at = array;
  size_t bytes = (size_t)width * item;
  char *sorted = loom_realloc_array(ctx, NULL, 0, r->capacity, bytes);
  if (bytes == 0) return true;
  if (!sorted) return false;
  for (size_t i = 0; i < r->n; i++) memcpy(sorted + i * bytes, *at + list[i] * bytes, bytes);
  loom_realloc_array(ctx, *at, r->capacity, 0, bytes);
  *at = sorted;
  return true;
}

bool loom_rows_sort(loom_ctx *ctx, loom_rows *r) {
  order o = {r, NULL, 0};
  if (r->n < 2) return true;
  size_t *list = loom_realloc_array(ctx, NULL, 0, 2 * r->n, sizeof *list);
  if (!list) return false;
  for (size_t i = 0; i < r->n; i++) list[i] = i;
  bool done = loom_sort(ctx, list, list + r->n, r->n, compare_rows, &o) &&
              permute(ctx, &r->values, list, r, r->n_values, sizeof *r->values) &&
              permute(ctx, &r->tiles, list, r, r->n_tiles, sizeof *r->tiles) &&
              permute(ctx, &r->keys, list, r, r->n_keys, sizeof *r->keys) &&
              permute(ctx, &r->fused, list, r, 1, sizeof *r->fused);
  loom_realloc_array(ctx, list, 2 * r->n, 0, sizeof *list);
  return done;
}
