/* SPDX-License-Identifier: MIT */
/* Einsums joined in their order.  A state has the tensors that later einsums use, each with the loops
** above its outermost holder, and rows of values: energy, latency, then for each open memory what is
** needed at depth 0 .. d (A: at most by branches that are over, under j shared loops) and what is
** reserved at depth 0 .. d - 1 while the branch that is open runs (C); d loops stand above the
** deepest of the tensors.  Derivation: doc/formulas.md#search-joining. */
#include <math.h>
#include <string.h>

#include "search/search.h"

#define FIRST_ROWS 4

/* A tensor between its first and its last user. */
typedef struct live {
  int tensor, memory, depth;
  bool always; /* persistent */
  double bits;
  int ranks[LOOM_SEARCH_MAX_FUSED], dims[LOOM_SEARCH_MAX_FUSED];
  int32_t tiles[LOOM_SEARCH_MAX_FUSED];
} live;

typedef struct state {
  int depth, width;
  size_t n_live, room;
  live *lives; /* by number of the tensor */
  size_t n, capacity, checked;
  double *values;
  loom_join_link *links;
} state;

struct loom_joining {
  loom_space *s;
  loom_ctx *ctx;
  const loom_space_one *one;
  const loom_space_use *use;
  bool quick, started; /* the quick pass goes on, or is to be the only one; it has begun */
  bool only_quick, finished;
  size_t step;
  size_t at, group, row, first; /* of the step: state, group and row that are next; rows before */
  bool *hopeful;                /* rows of the state at hand, or NULL */
  size_t n_hopeful;
  int *last; /* step of the last user, by tensor */
  int n_tensors;
  LOOM_VEC(state) before, after;
  size_t beam;  /* rows of a state kept at most; 0: all */
  double *rest; /* least of each objective that the uses from a step on add */
  size_t rest_room;
  double *goals; /* figures of complete results, which bound what is worth keeping */
  size_t n_goals, goals_room;
  loom_join_links *links; /* by use */
  size_t work;            /* pairs that may still be looked at before a pause */
};

typedef struct loom_joining join;

static int width_of(const loom_space *s, int depth) {
  return s->n_objectives + s->n_open * (2 * depth + 1 + s->n_always);
}

static void free_rows(loom_ctx *ctx, state *st) {
  loom_give_back(ctx, st->values, st->capacity * (size_t)st->width, sizeof *st->values);
  loom_give_back(ctx, st->links, st->capacity, sizeof *st->links);
}

static void free_state(loom_ctx *ctx, state *st) {
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

/* Every tensor of both sides is kept in the same place, and the shared loops are seen by one. */
static bool fit(const join *g, const state *left, const loom_group *right) {
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
  out->width = width_of(g->s, out->depth);
  if (out->width <= LOOM_SEARCH_MAX_FIGURES) return true;
  loom_error_set(g->ctx, LOOM_ERR_LIMIT,
                 "too many memories are shared by einsums under fused loops");
  loom_give_back(g->ctx, out->lives, out->room, sizeof *out->lives);
  return false;
}

static state *find_after(join *g, const state *left, const loom_group *right) {
  state st = {0};
  if (!list_after(g, left, right, &st)) return NULL;
  for (size_t i = 0; i < g->after.n; i++) {
    state *other = &g->after.at[i];
    bool same = other->n_live == st.n_live;
    for (size_t k = 0; k < st.n_live && same; k++) same = same_live(&other->lives[k], &st.lives[k]);
    if (!same) continue;
    free_state(g->ctx, &st);
    return other;
  }
  if (loom_vec_push(g->ctx, &g->after, st)) return &g->after.at[g->after.n - 1];
  free_state(g->ctx, &st);
  return NULL;
}

/* ---- values ------------------------------------------------------------------------------- */

/* Bits at each depth that do not depend on the point: shared tensors of the right side, without
** those the left side has counted. */
typedef struct constants {
  int shared, depth; /* loops shared with the left side; loops of the state after */
  double added[32][LOOM_SEARCH_MAX_FUSED + 1], always[32];
} constants;

static bool is_live(const state *st, int tensor) {
  for (size_t q = 0; q < st->n_live; q++)
    if (st->lives[q].tensor == tensor) return true;
  return false;
}

static void list_constants(const join *g, const state *left, const loom_group *right,
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
    bool better = n > 0;
    for (size_t k = 0; k < n && better; k++) better = goal[k] * (1 + 1e-9) < least[k];
    if (better) return true;
  }
  return false;
}

static bool is_hopeless(const join *g, const double *values, const double *more) {
  double least[2];
  if (g->n_goals == 0) return false;
  for (int k = 0; k < g->s->n_objectives; k++) least[k] = values[k] + more[k];
  return is_beaten(g, least);
}

static bool grow_state(loom_ctx *ctx, state *st) {
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

static bool add_row(const join *g, const constants *k, const double *left, const loom_group *right,
                    size_t point, const loom_join_link *link, state *after) {
  const loom_space *s = g->s;
  double x[256];
  const double *r = right->values + point * (size_t)right->width;
  int n = s->n_objectives, from = n, own = n, to = n;
  for (int i = 0; i < n; i++) x[i] = left[i] + r[i];
  if (is_hopeless(g, x, g->rest + (g->step + 1) * (size_t)n)) return true;
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
    if (need > store->bits * (1 + 1e-12)) {
      if (g->beam == 0) s->joint[m]++;
      return true;
    }
    from += n_left + s->n_always;
    own += n_right + s->n_always;
    to += n_after + s->n_always;
  }
  if (!grow_state(g->ctx, after)) return false;
  memcpy(after->values + after->n * (size_t)after->width, x, (size_t)after->width * sizeof *x);
  after->links[after->n++] = *link;
  return true;
}

/* Keeps the front of a state. */
static bool prune_state(join *g, state *st) {
  loom_rows rows = {.n = st->n, .capacity = st->n, .n_values = st->width, .n_tiles = 1};
  bool compared[256], done = false;
  memset(compared, true, sizeof compared);
  /* At the end only what is asked for counts. */
  if (st->n_live == 0 && !g->s->options.usage && g->step + 1 == g->s->n_uses)
    for (int i = g->s->n_objectives; i < st->width; i++) compared[i] = false;
  rows.values = loom_realloc_array(g->ctx, NULL, 0, st->n * (size_t)st->width, sizeof(double));
  rows.tiles = loom_realloc_array(g->ctx, NULL, 0, st->n, sizeof(int32_t));
  rows.fused = loom_realloc_array(g->ctx, NULL, 0, st->n, sizeof(uint32_t));
  if (st->n == 0 || (rows.tiles && rows.fused && (rows.values || st->width == 0))) {
    for (size_t i = 0; i < st->n; i++) {
      rows.tiles[i] = (int32_t)i;
      rows.fused[i] = 0;
    }
    if (st->width > 0 && st->n > 0)
      memcpy(rows.values, st->values, st->n * (size_t)st->width * sizeof(double));
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

/* Keeps the rows with the least product of objectives, in their order. */
static void narrow_state(const join *g, state *st) {
  size_t best[FIRST_ROWS], w = (size_t)st->width, n = 0, kept = 0;
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

/* Least of each objective that a use adds to a state, over the groups that fit it; false if none do.
 */
static bool least_step(const join *g, const state *left, double *least) {
  bool found = false;
  size_t n = (size_t)g->s->n_objectives;
  for (size_t i = 0; i < g->one->fronts.groups.n; i++) {
    const loom_group *right = &g->one->fronts.groups.at[i];
    if (right->n == 0 || !fit(g, left, right)) continue;
    for (size_t k = 0; k < n; k++)
      if (!found || right->least[k] < least[k]) least[k] = right->least[k];
    found = true;
  }
  return found;
}

/* Rows of the left state from the next one on with one group: false with an error, or for a pause. */
static bool join_pair(join *g, const state *left, int group) {
  const loom_group *right = &g->one->fronts.groups.at[group];
  state *after = find_after(g, left, right);
  constants k;
  if (!after) return false;
  list_constants(g, left, right, after, &k);
  for (; g->row < left->n; g->row++) {
    if (!g->hopeful[g->row]) continue;
    if (g->work == 0 || loom_is_stopped(g->ctx)) return false;
    if (after->n > 4 * after->checked + 4096 && !prune_state(g, after)) return false;
    g->work -= g->work < right->n ? g->work : right->n;
    for (size_t p = 0; p < right->n; p++) {
      loom_join_link link = {g->first + g->row, group, p};
      if (!add_row(g, &k, left->values + g->row * (size_t)left->width, right, p, &link, after))
        return false;
    }
  }
  return true;
}

static void drop_states(join *g) {
  for (size_t i = 0; i < g->before.n; i++) free_state(g->ctx, &g->before.at[i]);
  for (size_t i = 0; i < g->after.n; i++) free_state(g->ctx, &g->after.at[i]);
  g->before.n = g->after.n = 0;
}

/* The rows after the step become those before the next one; their links are kept. */
static bool advance(join *g) {
  loom_join_links *links = &g->links[g->step];
  size_t n = 0;
  for (size_t i = 0; i < g->after.n; i++) {
    if (!prune_state(g, &g->after.at[i])) return false;
    if (g->beam > 0) narrow_state(g, &g->after.at[i]);
    n += g->after.at[i].n;
  }
  if (!loom_vec_reserve(g->ctx, links, n)) return false;
  for (size_t i = 0; i < g->after.n; i++) {
    const state *st = &g->after.at[i];
    if (st->n > 0) memcpy(links->at + links->n, st->links, st->n * sizeof *st->links);
    links->n += st->n;
  }
  for (size_t i = 0; i < g->before.n; i++) free_state(g->ctx, &g->before.at[i]);
  g->before.n = 0;
  if (!loom_vec_reserve(g->ctx, &g->before, g->after.n)) return false;
  for (size_t i = 0; i < g->after.n; i++) g->before.at[g->before.n++] = g->after.at[i];
  g->after.n = 0;
  return true;
}

/* Marks the rows that can still become a best result; false if none can. */
static bool list_hopeful(const join *g, const state *left, bool *hopeful) {
  double more[2] = {0};
  bool any = false;
  if (!least_step(g, left, more)) return false;
  for (int k = 0; k < g->s->n_objectives; k++)
    more[k] += g->rest[(g->step + 1) * (size_t)g->s->n_objectives + (size_t)k];
  for (size_t i = 0; i < left->n; i++) {
    hopeful[i] = !is_hopeless(g, left->values + i * (size_t)left->width, more);
    any = any || hopeful[i];
  }
  return any;
}

static void drop_hopeful(join *g) {
  loom_give_back(g->ctx, g->hopeful, g->n_hopeful, sizeof *g->hopeful);
  g->hopeful = NULL;
}

static bool join_state(join *g, const state *left) {
  if (!g->hopeful) {
    g->n_hopeful = left->n + 1;
    g->hopeful = loom_realloc_array(g->ctx, NULL, 0, g->n_hopeful, sizeof *g->hopeful);
    if (!g->hopeful) return false;
    g->row = 0;
    g->group = list_hopeful(g, left, g->hopeful) ? 0 : g->one->fronts.groups.n;
  }
  for (; g->group < g->one->fronts.groups.n; g->group++, g->row = 0)
    if (fit(g, left, &g->one->fronts.groups.at[g->group]) && !join_pair(g, left, (int)g->group))
      return false;
  drop_hopeful(g);
  return true;
}

/* Goes on with the step: true when it is done. */
static bool join_step(join *g) {
  g->use = &g->s->uses[g->step];
  g->one = &g->s->einsums.at[g->use->einsum];
  for (; g->at < g->before.n; g->at++) {
    const state *left = &g->before.at[g->at];
    if (left->n > 0 && !join_state(g, left)) return false;
    g->first += left->n;
  }
  if (!advance(g)) return false;
  g->at = g->first = 0;
  g->step++;
  return true;
}

/* One state with one row: nothing is joined yet. */
static bool begin(join *g) {
  state st = {.width = width_of(g->s, 0)};
  drop_states(g);
  drop_hopeful(g);
  for (size_t i = 0; i < g->s->n_uses; i++) g->links[i].n = 0;
  for (size_t i = 0; i < g->s->memories.n; i++) g->s->joint[i] = 0;
  g->step = g->at = g->first = 0;
  if (!grow_state(g->ctx, &st)) return false;
  for (int i = 0; i < st.width; i++) st.values[i] = 0;
  st.links[0] = (loom_join_link){0};
  st.n = 1;
  if (loom_vec_push(g->ctx, &g->before, st)) return true;
  free_state(g->ctx, &st);
  return false;
}

static bool list_last_users(join *g) {
  for (size_t i = 0; i < g->s->n_uses; i++) {
    const loom_space_use *use = &g->s->uses[i];
    for (size_t k = 0; k < g->s->einsums.at[use->einsum].tensors.n; k++)
      if (use->tensors[k] >= g->n_tensors) g->n_tensors = use->tensors[k] + 1;
  }
  g->last = loom_realloc_array(g->ctx, NULL, 0, (size_t)g->n_tensors, sizeof *g->last);
  if (!g->last && g->n_tensors > 0) return false;
  for (size_t i = 0; i < g->s->n_uses; i++) {
    const loom_space_use *use = &g->s->uses[i];
    for (size_t k = 0; k < g->s->einsums.at[use->einsum].tensors.n; k++)
      g->last[use->tensors[k]] = (int)i;
  }
  return true;
}

static void drop_results(loom_space *s) {
  loom_vec_free(s->ctx, &s->results);
  loom_vec_free(s->ctx, &s->choices);
  loom_vec_free(s->ctx, &s->tiles);
}

/* What a result has of a use, copied: groups and points may change. */
static bool add_choice(join *g, const loom_space_one *one, const loom_join_link *link,
                       loom_chosen *out) {
  loom_space *s = g->s;
  const loom_group *group = &one->fronts.groups.at[link->group];
  *out = (loom_chosen){
      .number = group->templates[link->point], .n_fused = group->n_loops, .tiles = s->tiles.n};
  for (int j = 0; j < group->n_loops; j++) out->variables[j] = group->loops[j].variable;
  size_t n = one->n_loops.at[out->number];
  if (!loom_vec_reserve(g->ctx, &s->tiles, n)) return false;
  if (n > 0)
    memcpy(s->tiles.at + s->tiles.n, one->fronts.tiles.at + group->tiles[link->point],
           n * sizeof(int32_t));
  s->tiles.n += n;
  return true;
}

/* The row of the last use becomes a result. */
static bool add_result(join *g, const double *values, size_t row) {
  loom_space *s = g->s;
  size_t n = (size_t)(s->n_objectives + s->n_open), uses = s->n_uses;
  if (!loom_vec_reserve(g->ctx, &s->results, n + 1) || !loom_vec_reserve(g->ctx, &s->choices, uses))
    return false;
  for (size_t k = 0; k < n; k++) {
    bool open = k >= (size_t)s->n_objectives;
    size_t before = open ? (k - (size_t)s->n_objectives) * (size_t)s->n_always : 0;
    s->results.at[s->results.n + k] = values[k + before];
  }
  loom_chosen *choices = s->choices.at + s->choices.n;
  for (size_t use = uses; use-- > 0;) {
    const loom_join_link *link = &g->links[use].at[row];
    if (!add_choice(g, &s->einsums.at[s->uses[use].einsum], link, &choices[use])) return false;
    row = link->before;
  }
  s->choices.n += uses;
  s->results.n += n;
  s->n_results++;
  return true;
}

/* The rows that are left become the results, in place of earlier ones. */
static bool list_results(join *g) {
  size_t row = 0;
  g->s->results.n = g->s->choices.n = g->s->tiles.n = g->s->n_results = 0;
  for (size_t i = 0; i < g->before.n; i++) {
    const state *st = &g->before.at[i];
    for (size_t k = 0; k < st->n; k++, row++)
      if (!add_result(g, st->values + k * (size_t)st->width, row)) return false;
  }
  return true;
}

static bool new_links(join *g) {
  size_t n = g->s->n_uses;
  g->links = loom_realloc_array(g->ctx, NULL, 0, n, sizeof *g->links);
  if (!g->links && n > 0) return false;
  if (n > 0) memset(g->links, 0, n * sizeof *g->links);
  return true;
}

void loom_space_end_join(loom_space *s) {
  join *g = s->join;
  if (!g) return;
  drop_states(g);
  drop_hopeful(g);
  for (size_t i = 0; i < s->n_uses && g->links; i++) loom_vec_free(g->ctx, &g->links[i]);
  loom_give_back(g->ctx, g->links, s->n_uses, sizeof *g->links);
  loom_vec_free(g->ctx, &g->before);
  loom_vec_free(g->ctx, &g->after);
  loom_give_back(g->ctx, g->last, (size_t)g->n_tensors, sizeof *g->last);
  loom_give_back(g->ctx, g->rest, g->rest_room, sizeof *g->rest);
  loom_give_back(g->ctx, g->goals, g->goals_room, sizeof *g->goals);
  loom_realloc(g->ctx, g, sizeof *g, 0);
  s->join = NULL;
}

void loom_space_drop_join(loom_space *s) {
  loom_space_end_join(s);
  drop_results(s);
  s->n_uses = s->n_results = 0;
}

static bool copy_uses(loom_space *s, size_t n, const loom_space_use *uses) {
  s->uses = loom_arena_array(&s->arena, n, sizeof *s->uses);
  if (!s->uses) return false;
  for (size_t i = 0; i < n; i++) {
    size_t k = s->einsums.at[uses[i].einsum].tensors.n;
    int *tensors = loom_arena_array(&s->arena, k, sizeof *tensors);
    if (!tensors) return false;
    if (k > 0) memcpy(tensors, uses[i].tensors, k * sizeof *tensors);
    s->uses[i] = (loom_space_use){uses[i].einsum, tensors};
  }
  s->n_uses = n;
  return true;
}

/* Least objectives of every group and of the uses from each step on. */
static bool list_rest(join *g) {
  loom_space *s = g->s;
  size_t n = (size_t)s->n_objectives;
  g->rest_room = (s->n_uses + 1) * n + 1;
  g->rest = loom_realloc_array(g->ctx, NULL, 0, g->rest_room, sizeof *g->rest);
  if (!g->rest) return false;
  for (size_t k = 0; k < n; k++) g->rest[s->n_uses * n + k] = 0;
  for (size_t step = s->n_uses; step-- > 0;) {
    const loom_space_one *one = &s->einsums.at[s->uses[step].einsum];
    for (size_t k = 0; k < n; k++) {
      double least = INFINITY;
      for (size_t i = 0; i < one->fronts.groups.n; i++)
        if (one->fronts.groups.at[i].n > 0 && one->fronts.groups.at[i].least[k] < least)
          least = one->fronts.groups.at[i].least[k];
      g->rest[step * n + k] = g->rest[(step + 1) * n + k] + least;
    }
  }
  return true;
}

static void note_least(loom_space *s) {
  for (size_t e = 0; e < s->einsums.n; e++) {
    for (size_t i = 0; i < s->einsums.at[e].fronts.groups.n; i++) {
      loom_group *group = &s->einsums.at[e].fronts.groups.at[i];
      for (int k = 0; k < s->n_objectives; k++) {
        group->least[k] = INFINITY;
        for (size_t p = 0; p < group->n; p++) {
          double x = group->values[p * (size_t)group->width + (size_t)k];
          if (x < group->least[k]) group->least[k] = x;
        }
      }
    }
  }
}

/* The results of the quick pass bound the search for all. */
static bool keep_goals(join *g) {
  loom_space *s = g->s;
  g->goals_room = s->results.n + 1;
  g->goals = loom_realloc_array(g->ctx, NULL, 0, g->goals_room, sizeof *g->goals);
  if (!g->goals) return false;
  if (s->results.n > 0) memcpy(g->goals, s->results.at, s->results.n * sizeof *g->goals);
  g->n_goals = s->n_results;
  return true;
}

/* Goes on: true when all is done. */
static bool run(join *g) {
  while (!g->finished) {
    if (!g->started && !begin(g)) return false;
    g->started = true;
    while (g->step < g->s->n_uses)
      if (!join_step(g)) return false;
    if (!list_results(g)) return false;
    g->finished = !g->quick || g->only_quick;
    if (!g->finished && !keep_goals(g)) return false;
    g->quick = g->started = false;
    g->beam = 0;
  }
  return true;
}

static loom_status new_join(loom_space *s, size_t n, const loom_space_use *uses,
                            loom_join_kind kind) {
  join *g = loom_realloc(s->ctx, NULL, 0, sizeof *g);
  if (!g) return LOOM_ERR_MEMORY;
  *g = (join){.s = s, .ctx = s->ctx, .only_quick = kind == LOOM_JOIN_QUICK};
  g->quick = g->only_quick || (s->n_objectives > 0 && !s->options.usage);
  g->beam = g->quick ? FIRST_ROWS : 0;
  s->join = g;
  if (!s->joint) s->joint = loom_arena_array(&s->arena, s->memories.n, sizeof *s->joint);
  bool done =
      s->joint && copy_uses(s, n, uses) && new_links(g) && list_last_users(g) && list_rest(g);
  return done ? LOOM_OK : loom_error_status(s->ctx);
}

loom_status loom_space_join_begin(loom_space *s, size_t n, const loom_space_use *uses,
                                  loom_join_kind kind) {
  loom_space_drop_join(s);
  if (s->n_open > 32)
    return loom_error_set(s->ctx, LOOM_ERR_LIMIT, "more than 32 memories are shared by einsums");
  for (size_t e = 0; e < s->einsums.n; e++) {
    loom_ranking ranking = loom_ranking_of(&s->einsums.at[e]);
    if (!loom_fronts_sort(s->ctx, &s->einsums.at[e].fronts, &ranking))
      return loom_error_status(s->ctx);
  }
  note_least(s);
  loom_status status = new_join(s, n, uses, kind);
  if (status != LOOM_OK) loom_space_drop_join(s);
  return status;
}

loom_status loom_space_join_some(loom_space *s, size_t work, bool *more) {
  join *g = s->join;
  *more = false;
  if (!g) return loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "no join has begun");
  g->work = work > 0 ? work : 1;
  *more = !run(g);
  return *more ? loom_error_status(s->ctx) : LOOM_OK;
}

loom_status loom_space_join(loom_space *s, size_t n, const loom_space_use *uses) {
  loom_status status = loom_space_join_begin(s, n, uses, LOOM_JOIN_ALL);
  for (bool more = true; more && status == LOOM_OK;)
    status = loom_space_join_some(s, SIZE_MAX, &more);
  return status;
}

size_t loom_space_results(const loom_space *s) {
  return s->n_results;
}

const double *loom_space_result(const loom_space *s, size_t result, size_t *n) {
  *n = (size_t)(s->n_objectives + s->n_open);
  return s->results.at + result * *n;
}

loom_status loom_space_choose(const loom_space *s, size_t result, size_t use,
                              loom_space_choice *out) {
  if (result >= s->n_results || use >= s->n_uses)
    return loom_error_set(s->ctx, LOOM_ERR_ARGUMENT, "no such result");
  const loom_space_one *one = &s->einsums.at[s->uses[use].einsum];
  const loom_chosen *c = &s->choices.at[result * s->n_uses + use];
  *out = (loom_space_choice){.number = c->number,
                             .n_loops = one->n_loops.at[c->number],
                             .n_fused = (size_t)c->n_fused,
                             .tiles = s->tiles.at + c->tiles};
  for (int j = 0; j < c->n_fused; j++) out->variables[j] = c->variables[j];
  return LOOM_OK;
}

/* ---- bounds ------------------------------------------------------------------------------- */

/* No mapping of an einsum alone is below. */
static double least_of(const loom_space_one *one, int objective, int n_objectives) {
  double least = INFINITY;
  for (size_t i = 0; i < one->fronts.groups.n; i++) {
    const loom_group *g = &one->fronts.groups.at[i];
    for (size_t p = 0; p < g->n; p++)
      if (g->values[p * (size_t)g->width + (size_t)objective] < least)
        least = g->values[p * (size_t)g->width + (size_t)objective];
  }
  for (size_t i = 0; i < one->units.n && n_objectives > 0; i++) {
    const loom_unit *u = one->units.at[i];
    if (u->state == LOOM_UNIT_ADDED) return 0;
    if (u->state == LOOM_UNIT_SKETCHED && u->least[objective] < least) least = u->least[objective];
  }
  return least;
}

/* No complete row that comes of those at hand is below, and none of the goals. */
static double least_to_come(const join *g, int objective) {
  size_t n = (size_t)g->s->n_objectives, k = (size_t)objective;
  double least = INFINITY;
  for (size_t i = 0; i < g->before.n; i++) {
    const state *st = &g->before.at[i];
    for (size_t r = 0; r < st->n; r++) {
      double x = st->values[r * (size_t)st->width + k] + g->rest[g->step * n + k];
      if (x < least) least = x;
    }
  }
  for (size_t i = 0; i < g->n_goals; i++)
    if (g->goals[i * (n + (size_t)g->s->n_open) + k] < least)
      least = g->goals[i * (n + (size_t)g->s->n_open) + k];
  return least;
}

static bool all_explored(const loom_space *s) {
  for (size_t i = 0; i < s->einsums.n; i++)
    if (s->einsums.at[i].n_explored < s->einsums.at[i].units.n) return false;
  return true;
}

bool loom_space_bound(const loom_space *s, double bound[2]) {
  const join *g = s->join;
  for (int k = 0; k < s->n_objectives; k++) {
    bound[k] = 0;
    for (size_t use = 0; use < s->n_uses; use++)
      bound[k] += least_of(&s->einsums.at[s->uses[use].einsum], k, s->n_objectives);
    if (!g || g->quick || !g->started || !all_explored(s)) continue;
    double closer = least_to_come(g, k);
    if (closer > bound[k]) bound[k] = closer;
  }
  return s->n_uses > 0;
}
