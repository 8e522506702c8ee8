/* SPDX-License-Identifier: MIT */
/* Points attached to states of a join: which fit, what they need of memories, and which rows stay.
** Invariant: rows of one state have equal live tensors, and none dominates another after pruning. */
#include <string.h>

#include "search/join.h"

int loom_state_width(const loom_space *s, int depth) {
  return s->n_objectives + s->n_open * (2 * depth + 1 + s->n_always);
}

static void free_rows(loom_ctx *ctx, state *st) {
  loom_give_back(ctx, st->values, st->capacity * (size_t)st->width, sizeof *st->values);
  loom_give_back(ctx, st->links, st->capacity, sizeof *st->links);
}

void loom_state_free(loom_ctx *ctx, state *st) {
  free_rows(ctx, st);
  loom_give_back(ctx, st->lives, st->room, sizeof *st->lives);
}

static bool same_live(const live *a, const live *b) {
  if (a->tensor != b->tensor || a->memory != b->memory || a->depth != b->depth) return false;
  for (int j = 0; j < a->depth; j++)
    if (a->ranks[j] != b->ranks[j] || a->tiles[j] != b->tiles[j] || a->dims[j] != b->dims[j])
      return false;
  return true;
}

/* ---- fitting ------------------------------------------------------------------------------ */

static live live_of(const join *g, const loom_group *right, int position) {
  const loom_backing *b = &right->backings[position];
  live l = {.tensor = g->use->tensors[position],
            .memory = b->memory,
            .depth = b->depth,
            .always = b->always,
            .bits = b->bits};
  for (int j = 0; j < b->depth; j++) {
    l.ranks[j] = g->one->tensors.at[position].ranks[right->loops[j].variable];
    l.tiles[j] = right->loops[j].tile;
    l.dims[j] = right->loops[j].dimension;
  }
  return l;
}

static int position_of(const join *g, int tensor) {
  for (size_t i = 0; i < g->one->tensors.n; i++)
    if (g->use->tensors[i] == tensor) return (int)i;
  return -1;
}

bool loom_state_fits(const join *g, const state *left, const loom_group *right) {
  int seen = 0;
  if (right->n_loops < left->depth) return false;
  for (size_t i = 0; i < left->n_live; i++) {
    const live *l = &left->lives[i];
    int position = position_of(g, l->tensor);
    if (position < 0) continue;
    live r = live_of(g, right, position);
    if (!same_live(l, &r)) return false;
    if (l->depth > seen) seen = l->depth;
  }
  return seen >= left->depth;
}

/* The live tensors after the step. */
static bool list_after(const join *g, const state *left, const loom_group *right, state *out) {
  out->room = left->n_live + g->one->tensors.n;
  out->lives = loom_realloc_array(g->ctx, NULL, 0, out->room, sizeof *out->lives);
  if (!out->lives && out->room > 0) return false;
  for (size_t i = 0; i < left->n_live; i++)
    if (g->last[left->lives[i].tensor] > (int)g->step) out->lives[out->n_live++] = left->lives[i];
  for (size_t i = 0; i < g->one->tensors.n; i++) {
    live r = live_of(g, right, (int)i);
    if (g->last[r.tensor] <= (int)g->step) continue;
    size_t k = 0;
    while (k < out->n_live && out->lives[k].tensor < r.tensor) k++;
    if (k < out->n_live && out->lives[k].tensor == r.tensor) continue;
    memmove(&out->lives[k + 1], &out->lives[k], (out->n_live - k) * sizeof r);
    out->lives[k] = r;
    out->n_live++;
  }
  for (size_t i = 0; i < out->n_live; i++)
    if (out->lives[i].depth > out->depth) out->depth = out->lives[i].depth;
  out->width = loom_state_width(g->s, out->depth);
  if (out->width <= LOOM_SEARCH_MAX_FIGURES) return true;
  loom_error_set(g->ctx, LOOM_ERR_LIMIT,
                 "too many memories are shared by einsums under fused loops");
  loom_give_back(g->ctx, out->lives, out->room, sizeof *out->lives);
  return false;
}

state *loom_state_after(join *g, const state *left, const loom_group *right) {
  state st = {0};
  if (!list_after(g, left, right, &st)) return NULL;
  for (size_t i = 0; i < g->after.n; i++) {
    state *other = &g->after.at[i];
    bool same = other->n_live == st.n_live;
    for (size_t k = 0; k < st.n_live && same; k++) same = same_live(&other->lives[k], &st.lives[k]);
    if (!same) continue;
    loom_state_free(g->ctx, &st);
    return other;
  }
  if (loom_vec_push(g->ctx, &g->after, st)) return &g->after.at[g->after.n - 1];
  loom_state_free(g->ctx, &st);
  return NULL;
}

/* ---- values ------------------------------------------------------------------------------- */

static bool is_live(const state *st, int tensor) {
  for (size_t q = 0; q < st->n_live; q++)
    if (st->lives[q].tensor == tensor) return true;
  return false;
}

void loom_state_constants(const join *g, const state *left, const loom_group *right,
                          const state *after, constants *k) {
  memset(k, 0, sizeof *k);
  k->shared = left->depth;
  k->depth = after->depth;
  for (size_t i = 0; i < g->one->tensors.n; i++) {
    const loom_backing *b = &right->backings[i];
    if (b->memory < 0 || g->s->memories.at[b->memory].open < 0) continue;
    int open = g->s->memories.at[b->memory].open;
    bool counted = is_live(left, g->use->tensors[i]);
    if (b->always) {
      if (!counted) k->always[open] += b->bits;
    } else if (!counted || b->depth >= k->shared) {
      k->added[open][b->depth] += b->bits;
    }
  }
  for (size_t q = 0; q < left->n_live; q++) {
    const live *l = &left->lives[q];
    if (l->depth != k->shared || l->memory < 0 || l->always || position_of(g, l->tensor) >= 0)
      continue;
    int open = g->s->memories.at[l->memory].open;
    if (open >= 0) k->added[open][l->depth] += l->bits;
  }
}

/* One memory of one pair of rows: writes A and C of the state after; what is needed, but for persistent
** tensors. */
static double add_memory(const constants *k, const double *added, const double *a, const double *c,
                         const double *own, int n_loops, double *out) {
  double reserved[LOOM_SEARCH_MAX_FUSED + 1], need = 0;
  for (int j = 0; j <= n_loops; j++) reserved[j] = own[j] + added[j] + (j < k->shared ? c[j] : 0);
  for (int j = n_loops; j >= k->depth; j--) {
    need += reserved[j];
    if (j <= k->shared && a[j] > need) need = a[j];
  }
  for (int j = 0; j < k->depth; j++) {
    out[j] = j <= k->shared ? a[j] : 0;
    out[k->depth + 1 + j] = reserved[j];
  }
  out[k->depth] = need;
  for (int j = k->depth - 1; j >= 0; j--) {
    need += reserved[j];
    if (out[j] > need) need = out[j];
  }
  return need;
}

/* Complete results that are better than anything a row with these least figures can become. */
static bool is_beaten(const join *g, const double *least) {
  const loom_space *s = g->s;
  size_t n = (size_t)s->n_objectives, width = (size_t)(s->n_objectives + s->n_open);
  for (size_t i = 0; i < g->n_goals; i++) {
    const double *goal = g->goals + i * width;
    if (s->options.product) {
      if (goal[0] * goal[1] * (1 + 1e-9) < least[0] * least[1]) return true;
      continue;
    }
    bool better = true, open = false;
    for (size_t k = 0; k < n && better; k++) {
      if (s->decided[k]) continue;
      better = goal[k] * (1 + 1e-9) < least[k];
      open = true;
    }
    if (better && open) return true;
  }
  return false;
}

bool loom_join_is_hopeless(const join *g, const double *values, const double *more) {
  double least[2];
  if (loom_space_exceeds(g->s, values, more)) return true;
  if (g->n_goals == 0) return false;
  for (int k = 0; k < g->s->n_objectives; k++) least[k] = values[k] + more[k];
  return is_beaten(g, least);
}

bool loom_state_grow(loom_ctx *ctx, state *st) {
  if (st->n < st->capacity) return true;
  state next = *st;
  size_t w = (size_t)st->width, capacity = next.capacity = st->capacity ? 2 * st->capacity : 16;
  next.values = loom_larger(ctx, st->values, st->n * w, capacity * w, sizeof *st->values);
  next.links = loom_larger(ctx, st->links, st->n, capacity, sizeof *st->links);
  if ((w > 0 && !next.values) || !next.links) {
    free_rows(ctx, &next);
    return false;
  }
  free_rows(ctx, st);
  *st = next;
  return true;
}

bool loom_state_add_row(const join *g, const constants *k, const double *left,
                        const loom_group *right, size_t point, const loom_join_link *link,
                        state *after) {
  const loom_space *s = g->s;
  double x[256];
  const double *r = right->values + point * (size_t)right->width;
  int n = s->n_objectives, from = n, own = n, to = n;
  for (int i = 0; i < n; i++) x[i] = left[i] + r[i];
  if (loom_join_is_hopeless(g, x, g->rest + (g->step + 1) * (size_t)n)) return true;
  bool last = g->step + 1 == s->n_uses;
  for (size_t m = 0; m < s->memories.n; m++) {
    const loom_space_store *store = &s->memories.at[m];
    if (store->open < 0) continue;
    int n_left = 2 * k->shared + 1, n_right = right->n_loops + 1, n_after = 2 * k->depth + 1;
    double need = add_memory(k, k->added[store->open], left + from, left + from + k->shared + 1,
                             r + own, right->n_loops, x + to);
    if (s->n_always > 0) {
      double always = left[from + n_left] + r[own + n_right] + k->always[store->open];
      need += always;
      if (last) x[to] += always;
      x[to + n_after] = last ? 0 : always;
    }
    if (need > loom_most_within(store->bits, store->whole)) {
      if (g->beam == 0) s->joint[m]++;
      return true;
    }
    from += n_left + s->n_always;
    own += n_right + s->n_always;
    to += n_after + s->n_always;
  }
  if (!loom_state_grow(g->ctx, after)) return false;
  memcpy(after->values + after->n * (size_t)after->width, x, (size_t)after->width * sizeof *x);
  after->links[after->n++] = *link;
  return true;
}

/* What rows are compared by. */
static void copy_row(const join *g, const state *st, size_t i, double *out) {
  size_t w = (size_t)st->width;
  if (w > 0) memcpy(out, st->values + i * w, w * sizeof *out);
  if (g->ranks) out[w] = st->links[i].rank;
}

bool loom_state_prune(join *g, state *st) {
  size_t width = (size_t)st->width + (g->ranks ? 1 : 0);
  loom_rows rows = {.n = st->n, .capacity = st->n, .n_values = (int)width, .n_tiles = 1};
  bool compared[256], done = false;
  memset(compared, true, sizeof compared);
  /* At the end only what is asked for counts. */
  if (st->n_live == 0 && !g->s->options.usage && g->step + 1 == g->s->n_uses)
    for (int i = g->s->n_objectives; i < st->width; i++) compared[i] = false;
  rows.values = loom_realloc_array(g->ctx, NULL, 0, st->n * width, sizeof(double));
  rows.tiles = loom_realloc_array(g->ctx, NULL, 0, st->n, sizeof(int32_t));
  rows.fused = loom_realloc_array(g->ctx, NULL, 0, st->n, sizeof(uint32_t));
  if (st->n == 0 || (rows.tiles && rows.fused && (rows.values || width == 0))) {
    for (size_t i = 0; i < st->n; i++) {
      rows.tiles[i] = (int32_t)i;
      rows.fused[i] = 0;
      copy_row(g, st, i, rows.values + i * width);
    }
    done = loom_rows_prune(g->ctx, &rows, compared);
    for (size_t i = 0; i < rows.n && done; i++) {
      size_t at = (size_t)rows.tiles[i], w = (size_t)st->width;
      if (at == i) continue;
      memcpy(st->values + i * w, st->values + at * w, w * sizeof(double));
      st->links[i] = st->links[at];
    }
    if (done) st->n = rows.n;
  }
  loom_rows_free(g->ctx, &rows);
  st->checked = st->n;
  return done;
}

static double score_of(const join *g, const state *st, size_t row) {
  double score = 1;
  for (int k = 0; k < g->s->n_objectives; k++)
    score *= st->values[row * (size_t)st->width + (size_t)k];
  return score;
}

void loom_state_narrow(const join *g, state *st) {
  size_t best[LOOM_JOIN_FIRST_ROWS], w = (size_t)st->width, n = 0, kept = 0;
  if (st->n <= g->beam) return;
  for (size_t i = 0; i < st->n; i++) {
    double score = score_of(g, st, i);
    size_t k = n < g->beam ? n++ : n;
    if (k == n && score_of(g, st, best[--k]) <= score) continue;
    for (; k > 0 && score_of(g, st, best[k - 1]) > score; k--) best[k] = best[k - 1];
    best[k] = i;
  }
  for (size_t i = 0; i < st->n; i++) {
    size_t k = 0;
    while (k < n && best[k] != i) k++;
    if (k == n) continue;
    memmove(st->values + kept * w, st->values + i * w, w * sizeof *st->values);
    st->links[kept++] = st->links[i];
  }
  st->n = kept;
}
