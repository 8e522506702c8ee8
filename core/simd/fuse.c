/* SPDX-License-Identifier: MIT */
/* Fusion of the operations of a graph into kernels, pair by pair (doc/formulas.md#fusion).
** Invariant: f->order has the number of each unit once, in an order in which they may run between
** two rounds. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "expr/ops.h"
#include "simd/fusion.h"

enum { MOST_ROUNDS = 10, MOST_PARTNERS = 64 };

const char *loom_fuse_reason_name(loom_fuse_reason reason) {
  static const char *const names[] = {
#define NAME(enumerator, name) name,
      LOOM_FUSE_REASON_LIST(NAME)
#undef NAME
  };
  return (unsigned)reason < LOOM_N_FUSE_REASONS ? names[reason] : "?";
}

/* ---- life --------------------------------------------------------------------------------- */

static void mark(loom_owner *owner, loom_ctx *ctx) {
  const loom_fusion *f = (const loom_fusion *)(const void *)owner;
  for (size_t i = 0; i < f->tilings.n; i++)
    for (size_t k = 0; k < f->tilings.at[i].n; k++) loom_gc_mark(ctx, f->tilings.at[i].extent[k]);
  for (size_t i = 0; i < f->n_ops; i++)
    for (size_t k = 0; k < f->groups[i].candidates.n; k++)
      loom_gc_mark(ctx, f->groups[i].candidates.at[k].score);
}

static bool begin(loom_fusion *f) {
  size_t n = f->n_ops, n_buffers = f->graph->buffers.n;
  f->groups = loom_arena_array(&f->arena, n, sizeof *f->groups);
  f->units = loom_arena_array(&f->arena, n, sizeof *f->units);
  int *numbers = loom_arena_array(&f->arena, 3 * (n + n_buffers), sizeof *numbers);
  if (!f->groups || !f->units || !numbers) {
    f->n_ops = 0;
    return false;
  }
  f->parent = numbers;
  f->next = numbers + n;
  f->nest_of = numbers + 2 * n;
  f->first_use = numbers + 3 * n;
  f->last_use = f->first_use + n_buffers;
  f->stamp = f->last_use + n_buffers;
  for (size_t i = 0; i < n_buffers; i++) f->first_use[i] = -1;
  return loom_fusion_begin(f);
}

void loom_fusion_free(loom_fusion *f) {
  if (!f) return;
  loom_ctx *ctx = f->ctx;
  for (size_t i = 0; i < f->n_ops; i++) {
    loom_vec_free(ctx, &f->groups[i].storages);
    loom_vec_free(ctx, &f->groups[i].candidates);
    loom_vec_free(ctx, &f->groups[i].ranked);
  }
  loom_vec_free(ctx, &f->order);
  loom_vec_free(ctx, &f->needs);
  loom_vec_free(ctx, &f->visited);
  loom_vec_free(ctx, &f->trail);
  loom_vec_free(ctx, &f->moves);
  loom_vec_free(ctx, &f->nests);
  loom_vec_free(ctx, &f->tilings);
  loom_table_free(ctx, &f->nest_places);
  loom_table_free(ctx, &f->tiling_places);
  loom_idmap_free(ctx, &f->fits);
  loom_idmap_free(ctx, &f->storages);
  loom_vec_free(ctx, &f->storage_sizes);
  loom_idmap_free(ctx, &f->seen);
  loom_vec_free(ctx, &f->choices);
  loom_vec_free(ctx, &f->uses);
  loom_vec_free(ctx, &f->used);
  loom_vec_free(ctx, &f->users);
  loom_vec_free(ctx, &f->scratch);
  loom_vec_free(ctx, &f->stack);
  loom_vec_free(ctx, &f->numbers);
  loom_vec_free(ctx, &f->kernels);
  loom_vec_free(ctx, &f->refusals);
  loom_arena_free(&f->arena);
  loom_owner_remove(&f->owner);
  loom_graph_free(f->graph);
  loom_realloc(ctx, f, sizeof *f, 0);
}

const loom_graph *loom_fusion_graph(const loom_fusion *f) {
  return f->graph;
}

/* ---- which units use which buffers ------------------------------------------------------- */

static bool use_buffer(loom_fusion *f, int unit, int buffer) {
  if (f->stamp[buffer] == f->epoch) return true;
  f->stamp[buffer] = f->epoch;
  int place = (int)f->uses.n;
  if (!loom_vec_push(f->ctx, &f->uses, ((loom_buffer_use){unit, -1}))) return false;
  if (f->first_use[buffer] < 0) {
    f->first_use[buffer] = place;
    if (!loom_vec_push(f->ctx, &f->used, buffer)) return false;
  } else {
    f->uses.at[f->last_use[buffer]].next = place;
  }
  f->last_use[buffer] = place;
  return true;
}

/* Whether the group itself writes what is read, element by element. */
static bool is_inner(const loom_fusion *f, const loom_group *g, const loom_dep *read) {
  int writer = f->graph->buffers.at[read->buffer].writer;
  if (writer < 0 || !loom_fusion_in(f, writer, g)) return false;
  const loom_op *op = loom_fusion_op(f, writer);
  for (size_t i = 0; i < op->n_dep_writes; i++)
    if (op->dep_writes[i] == read) return true;
  return false;
}

/* What the operations of a group read of others, or what they write. */
static bool use_side(loom_fusion *f, int unit, const loom_group *g, bool written) {
  for (int op = g->first; op >= 0; op = f->next[op]) {
    const loom_op *o = loom_fusion_op(f, op);
    for (size_t i = 0; i < (written ? o->n_dep_writes : o->n_dep_reads); i++) {
      const loom_dep *dep = written ? o->dep_writes[i] : o->dep_reads[i];
      if ((written || !is_inner(f, g, dep)) && !use_buffer(f, unit, dep->buffer)) return false;
    }
  }
  return true;
}

/* What is read, then what is written, in the order of the operations. */
static bool use_buffers(loom_fusion *f, int unit) {
  const loom_unit *u = &f->units[unit];
  f->epoch++;
  for (int written = 0; written < 2; written++)
    for (size_t i = 0; i < u->n; i++)
      if (!use_side(f, unit, &f->groups[u->members[i]], written)) return false;
  return true;
}

/* How many of the buffers a unit uses others use too. */
static void count_common(loom_fusion *f) {
  for (size_t i = 0; i < f->order.n; i++) f->units[f->order.at[i]].n_common = 0;
  for (size_t i = 0; i < f->used.n; i++) {
    int use = f->first_use[f->used.at[i]];
    bool common = f->uses.at[use].next >= 0;
    for (; common && use >= 0; use = f->uses.at[use].next)
      f->units[f->uses.at[use].unit].n_common++;
  }
}

/* Of calls too, where those are asked about. */
static bool find_uses(loom_fusion *f, bool calls) {
  for (size_t i = 0; i < f->used.n; i++) f->first_use[f->used.at[i]] = -1;
  f->used.n = f->uses.n = 0;
  for (size_t i = 0; i < f->order.n; i++) {
    const loom_group *g = loom_unit_group(f, f->order.at[i]);
    if ((calls || !g->opaque) && !use_buffers(f, f->order.at[i])) return false;
  }
  count_common(f);
  return true;
}

/* Units that use the buffer, in order, to f->users. */
static bool list_users(loom_fusion *f, int buffer) {
  f->users.n = 0;
  for (int use = f->first_use[buffer]; use >= 0; use = f->uses.at[use].next)
    if (!loom_vec_push(f->ctx, &f->users, f->uses.at[use].unit)) return false;
  return true;
}

/* ---- pairs -------------------------------------------------------------------------------- */

/* Whether the pair has not been seen in this round.  Two units of which one has a single buffer in
** common with any other meet once, unless pairs of equal extents are asked about too. */
static bool is_new(loom_fusion *f, int first, int second) {
  bool by_extent = f->options.aggressive || f->options.unshared;
  if (!by_extent && (f->units[first].n_common == 1 || f->units[second].n_common == 1)) return true;
  uint64_t key = ((uint64_t)first + 1) << 32 | (uint32_t)second;
  return !loom_idmap_get(&f->seen, key) && loom_idmap_put(f->ctx, &f->seen, key, 1);
}

static bool add_choice(loom_fusion *f, int first, int second) {
  loom_fuse_score score = loom_fusion_score(f, first, second);
  loom_fuse_choice choice = {.bytes = score.bytes,
                             .nearness = (int)score.nearness,
                             .kind = 2 * score.kind + score.same_kind,
                             .first = first,
                             .second = second,
                             .place = (uint32_t)f->choices.n};
  return loom_vec_push(f->ctx, &f->choices, choice);
}

static bool propose(loom_fusion *f, int first, int second) {
  if (!is_new(f, first, second)) return !loom_base_failed(f->ctx);
  loom_fuse_reason reason = loom_fusion_decide(f, first, second, false);
  return reason == LOOM_FUSE_OK ? add_choice(f, first, second) : reason != LOOM_FUSE_ERROR;
}

/* Each of f->users with those behind it. */
static bool propose_pairs(loom_fusion *f) {
  for (size_t i = 0; i < f->users.n; i++)
    for (size_t k = i + 1; k < f->users.n && k <= i + MOST_PARTNERS; k++)
      if (!propose(f, f->users.at[i], f->users.at[k])) return false;
  return true;
}

static bool equal_extents(const loom_fusion *f, int first, int second) {
  const loom_group *a = loom_unit_group(f, first), *b = loom_unit_group(f, second);
  return loom_group_extent(f, a) == loom_group_extent(f, b) &&
         loom_group_reduction(f, a) == loom_group_reduction(f, b);
}

/* Units of one group and equal extents, in order of the first of each; f->stack holds those not yet listed. */
static bool propose_by_extent(loom_fusion *f) {
  f->stack.n = 0;
  for (size_t i = 0; i < f->order.n; i++)
    if (f->units[f->order.at[i]].n == 1 && !loom_unit_group(f, f->order.at[i])->opaque &&
        !loom_vec_push(f->ctx, &f->stack, f->order.at[i]))
      return false;
  while (f->stack.n > 0) {
    size_t left = 0;
    f->users.n = 0;
    for (size_t i = 0; i < f->stack.n; i++) {
      int unit = f->stack.at[i];
      if (!equal_extents(f, f->stack.at[0], unit) && i > 0)
        f->stack.at[++left] = unit;
      else if (!loom_vec_push(f->ctx, &f->users, unit))
        return false;
    }
    memmove(f->stack.at, f->stack.at + 1, left * sizeof *f->stack.at);
    f->stack.n = left;
    if (!propose_pairs(f)) return false;
  }
  return true;
}

/* The larger members of scores first, one after the other; the pair found first of equal ones. */
static int by_score(const void *one, const void *other) {
  const loom_fuse_choice *a = one, *b = other;
  if (a->kind != b->kind) return a->kind > b->kind ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if (a->nearness != b->nearness) return a->nearness > b->nearness ? -1 : 1;
  return a->place < b->place ? -1 : 1;
}

static bool find_choices(loom_fusion *f) {
  f->choices.n = 0;
  loom_idmap_clear(f->ctx, &f->seen);
  if (!find_uses(f, false)) return false;
  for (size_t i = 0; i < f->used.n; i++)
    if (!list_users(f, f->used.at[i]) || !propose_pairs(f)) return false;
  if ((f->options.aggressive || f->options.unshared) && !propose_by_extent(f)) return false;
  if (f->choices.n > 0) qsort(f->choices.at, f->choices.n, sizeof *f->choices.at, by_score);
  return true;
}

/* ---- order -------------------------------------------------------------------------------- */

static int by_min_order(const void *one, const void *other) {
  int a = ((const int *)one)[0], b = ((const int *)other)[0];
  return a < b ? -1 : a > b;
}

static int first_of(const loom_fusion *f, int unit) {
  int first = INT_MAX;
  for (size_t i = 0; i < f->units[unit].n; i++) {
    int order = f->groups[f->units[unit].members[i]].min_order;
    if (order < first) first = order;
  }
  return first;
}

/* Sorts the units by their first operation in the graph; f->numbers gets pairs of it and unit. */
static bool sort_units(loom_fusion *f) {
  size_t n = 0;
  f->numbers.n = 0;
  if (!loom_vec_reserve(f->ctx, &f->numbers, 2 * f->order.n)) return false;
  for (size_t i = 0; i < f->order.n; i++) {
    int unit = f->order.at[i];
    if (f->groups[loom_fusion_group(f, f->units[unit].members[0])].unit != unit) continue;
    f->numbers.at[2 * n] = first_of(f, unit);
    f->numbers.at[2 * n++ + 1] = unit;
  }
  if (n > 0) qsort(f->numbers.at, n, 2 * sizeof *f->numbers.at, by_min_order);
  for (size_t i = 0; i < n; i++) f->order.at[i] = f->numbers.at[2 * i + 1];
  f->order.n = n;
  return true;
}

/* The units whose results a group reads, in order of the names of the buffers, the last one first, to
** the stack. */
static bool push_read(loom_fusion *f, const loom_group *g) {
  size_t from = f->stack.n;
  for (size_t i = 0; i < g->unmet.n; i++) {
    int buffer = f->graph->deps.at[g->unmet.at[i]]->buffer;
    if (!loom_vec_push(f->ctx, &f->stack, buffer)) return false;
    const char *name = f->graph->buffers.at[buffer].name;
    size_t place = f->stack.n - 1;
    while (place > from && strcmp(f->graph->buffers.at[f->stack.at[place - 1]].name, name) < 0) {
      f->stack.at[place] = f->stack.at[place - 1];
      place--;
    }
    f->stack.at[place] = buffer;
  }
  for (size_t i = from; i < f->stack.n; i++)
    f->stack.at[i] = loom_fusion_unit(f, f->graph->buffers.at[f->stack.at[i]].writer);
  return true;
}

/* The units a unit waits for: on top of the stack those whose results it reads, below them those it
** needs for any reason. */
static bool push_needed(loom_fusion *f, int unit) {
  const loom_unit *u = &f->units[unit];
  for (int i = u->needs; i >= 0; i = f->needs.at[i].next)
    if (!loom_vec_push(f->ctx, &f->stack, loom_fusion_unit(f, f->needs.at[i].op))) return false;
  for (size_t i = u->n; i-- > 0;)
    if (!push_read(f, &f->groups[u->members[i]])) return false;
  return true;
}

typedef enum state { NEW, ENTERED, LEFT } state;

/* Puts the unit behind all it waits for, to f->numbers.  On the stack a unit is to be visited, or
** (as -1 - unit) left. */
static bool visit(loom_fusion *f, unsigned char *states, int unit) {
  f->stack.n = 0;
  if (!loom_vec_push(f->ctx, &f->stack, unit)) return false;
  while (f->stack.n > 0) {
    int top = f->stack.at[--f->stack.n];
    if (top < 0) {
      states[-1 - top] = LEFT;
      f->numbers.at[f->numbers.n++] = -1 - top;
      continue;
    }
    if (states[top] != NEW) continue;
    states[top] = ENTERED;
    if (!loom_vec_push(f->ctx, &f->stack, -1 - top) || !push_needed(f, top)) return false;
  }
  return true;
}

static bool order_units(loom_fusion *f) {
  if (!sort_units(f)) return false;
  unsigned char *states = loom_realloc_array(f->ctx, NULL, 0, f->n_ops, sizeof *states);
  if (!states && f->n_ops > 0) return false;
  if (f->n_ops > 0) memset(states, NEW, f->n_ops);
  bool good = true;
  f->numbers.n = 0;
  for (size_t i = 0; good && i < f->order.n; i++) good = visit(f, states, f->order.at[i]);
  loom_realloc_array(f->ctx, states, f->n_ops, 0, sizeof *states);
  for (size_t i = 0; good && i < f->numbers.n; i++) f->order.at[i] = f->numbers.at[i];
  if (good) loom_fusion_label(f);
  return good;
}

/* ---- entry -------------------------------------------------------------------------------- */

loom_fusion *loom_fusion_new(loom_graph *g, const loom_fusion_options *options) {
  loom_ctx *ctx = g->ctx;
  loom_fusion *f = loom_realloc(ctx, NULL, 0, sizeof *f);
  if (!f) return NULL;
  *f = (loom_fusion){.ctx = ctx, .graph = loom_graph_hold(g), .n_ops = g->ops.n};
  if (options) f->options = *options;
  loom_arena_init(&f->arena, ctx);
  loom_owner_add(ctx, &f->owner, mark);
  if (begin(f) && (g->lists.n == 0 || order_units(f)) && !loom_base_failed(ctx)) return f;
  loom_fusion_free(f);
  return NULL;
}

/* ---- rounds ------------------------------------------------------------------------------- */

static bool run_round(loom_fusion *f, bool *changed) {
  if (!find_choices(f)) return false;
  *changed = false;
  for (size_t i = 0; i < f->choices.n; i++) {
    int first = loom_fusion_unit(f, f->units[f->choices.at[i].first].members[0]);
    int second = loom_fusion_unit(f, f->units[f->choices.at[i].second].members[0]);
    if (first == second) continue;
    loom_fuse_reason reason = loom_fusion_decide(f, first, second, false);
    if (reason == LOOM_FUSE_ERROR) return false;
    if (reason != LOOM_FUSE_OK) continue;
    if (!loom_fusion_join(f, first, second)) return false;
    *changed = true;
  }
  return order_units(f);
}

loom_status loom_fusion_run(loom_fusion *f) {
  bool changed = true, good = true;
  for (int i = 0; good && changed && i < MOST_ROUNDS && f->order.n > 1; i++)
    good = run_round(f, &changed);
  return good && !loom_base_failed(f->ctx) ? LOOM_OK : loom_error_status(f->ctx);
}

/* ---- looking ------------------------------------------------------------------------------ */

loom_status loom_fusion_pair(loom_fusion *f, int first, int second, loom_fuse_pair *out) {
  if (first < 0 || second < 0 || (size_t)first >= f->n_ops || (size_t)second >= f->n_ops)
    return loom_error_set(f->ctx, LOOM_ERR_ARGUMENT, "fusion knows no operation number %d",
                          first < 0 || (size_t)first >= f->n_ops ? first : second);
  loom_group *a = &f->groups[loom_fusion_group(f, first)];
  loom_group *b = &f->groups[loom_fusion_group(f, second)];
  if (a == b)
    return loom_error_set(f->ctx, LOOM_ERR_ARGUMENT, "operations '%s' and '%s' are one group",
                          loom_fusion_op(f, first)->name, loom_fusion_op(f, second)->name);
  *out =
      (loom_fuse_pair){.shape = a->opaque || b->opaque ? LOOM_FUSE_OK : loom_fusion_shape(f, a, b),
                       .reason = LOOM_FUSE_LIST_MEMBERS_MIXED};
  if (a->unit != b->unit) {
    out->depends = loom_fusion_depends(f, a->unit, b->unit);
    out->reason = loom_fusion_decide(f, a->unit, b->unit, true);
    out->score = loom_fusion_score(f, a->unit, b->unit);
  }
  bool failed = out->reason == LOOM_FUSE_ERROR || out->shape == LOOM_FUSE_ERROR;
  return failed || loom_base_failed(f->ctx) ? loom_error_status(f->ctx) : LOOM_OK;
}

static loom_fused fused(loom_fusion *f, const loom_group *g, size_t launch) {
  loom_fused k = {.n = g->n,
                  .ops = f->numbers.at + f->numbers.n,
                  .extent = loom_group_extent(f, g),
                  .reduction_extent = loom_group_reduction(f, g),
                  .launch = launch};
  for (int op = g->first; op >= 0; op = f->next[op]) f->numbers.at[f->numbers.n++] = op;
  return k;
}

ptrdiff_t loom_fusion_kernels(loom_fusion *f, const loom_fused **kernels) {
  f->kernels.n = 0;
  f->numbers.n = 0;
  if (!loom_vec_reserve(f->ctx, &f->kernels, f->n_ops) ||
      !loom_vec_reserve(f->ctx, &f->numbers, f->n_ops))
    return -1;
  for (size_t i = 0; i < f->order.n; i++) {
    const loom_unit *u = &f->units[f->order.at[i]];
    for (size_t k = 0; k < u->n; k++)
      f->kernels.at[f->kernels.n++] = fused(f, &f->groups[u->members[k]], i);
  }
  *kernels = f->kernels.at;
  return (ptrdiff_t)f->kernels.n;
}

/* ---- refusals ----------------------------------------------------------------------------- */

static bool add_refusal(loom_fusion *f, int first, int second, const int *place) {
  if (!is_new(f, first, second)) return !loom_base_failed(f->ctx);
  loom_fuse_reason reason = loom_fusion_decide(f, first, second, true);
  if (reason == LOOM_FUSE_ERROR) return false;
  return loom_vec_push(f->ctx, &f->refusals,
                       ((loom_refusal){(size_t)place[first], (size_t)place[second], reason}));
}

static int by_place(const void *one, const void *other) {
  const loom_refusal *a = one, *b = other;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a->second < b->second ? -1 : a->second > b->second;
}

ptrdiff_t loom_fusion_refusals(loom_fusion *f, const loom_refusal **refusals) {
  f->refusals.n = 0;
  loom_idmap_clear(f->ctx, &f->seen);
  int *place = loom_arena_array(&f->arena, f->n_ops, sizeof *place);
  if (!place || !find_uses(f, true)) return -1;
  for (size_t i = 0, n = 0; i < f->order.n; n += f->units[f->order.at[i++]].n)
    place[f->order.at[i]] = (int)n;
  for (size_t i = 0; i < f->used.n; i++) {
    if (!list_users(f, f->used.at[i])) return -1;
    for (size_t a = 0; a < f->users.n; a++)
      for (size_t b = a + 1; b < f->users.n && b <= a + MOST_PARTNERS; b++)
        if (!add_refusal(f, f->users.at[a], f->users.at[b], place)) return -1;
  }
  if (f->refusals.n > 0) qsort(f->refusals.at, f->refusals.n, sizeof *f->refusals.at, by_place);
  *refusals = f->refusals.at;
  return (ptrdiff_t)f->refusals.n;
}
