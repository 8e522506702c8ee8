/* SPDX-License-Identifier: MIT */
/* Which addresses of a kernel are walked element by element along which of its common loops, and
** the split that would let more of them be (doc/formulas.md#coalescing).
** Invariant: an address is in one list once; its buffers are different. */
#include <stdio.h>
#include <string.h>

#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/address.h"
#include "ranges/sizes.h"
#include "simd/common.h"
#include "simd/select.h"

typedef struct address_item {
  loom_expr index;
  LOOM_VEC(int) buffers;
} address_item;
typedef LOOM_VEC(address_item) address_list;

struct owned_coalescing {
  loom_coalescing shown;
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
};
typedef struct owned_coalescing owned_coalescing;

typedef struct analysis {
  loom_graph *g;
  loom_ctx *ctx;
  const loom_kernel_steps *steps;
  owned_coalescing *out;
  loom_extent *loops;
  size_t n;
  bool exact, gives_up;
  address_list reads, writes;
  LOOM_VEC(loom_expr) variables, values; /* of one operation */
  loom_split split;
} analysis;

/* ---- life --------------------------------------------------------------------------------- */

static void mark_addresses(loom_ctx *ctx, size_t n, const loom_common_address *list) {
  for (size_t i = 0; i < n; i++) loom_gc_mark(ctx, list[i].index);
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  const owned_coalescing *c =
      (const owned_coalescing *)(const void *)((const char *)owner -
                                               offsetof(owned_coalescing, owner));
  const loom_coalescing *s = &c->shown;
  for (size_t i = 0; i < s->n_pointwise + s->n_reduction; i++) {
    loom_gc_mark(ctx, s->loops[i].variable);
    loom_gc_mark(ctx, s->loops[i].size);
  }
  if (s->split_factor != LOOM_NONE) loom_gc_mark(ctx, s->split_factor);
  mark_addresses(ctx, s->n_reads, s->reads);
  mark_addresses(ctx, s->n_writes, s->writes);
}

void loom_coalescing_free(loom_coalescing *c) {
  if (!c) return;
  owned_coalescing *owned = (owned_coalescing *)(void *)c;
  loom_arena_free(&owned->arena);
  loom_owner_remove(&owned->owner);
  loom_realloc(owned->ctx, owned, sizeof *owned, 0);
}

static owned_coalescing *new_coalescing(loom_ctx *ctx) {
  owned_coalescing *c = loom_realloc(ctx, NULL, 0, sizeof *c);
  if (!c) return NULL;
  *c = (owned_coalescing){.ctx = ctx};
  loom_arena_init(&c->arena, ctx);
  loom_owner_add(ctx, &c->owner, mark);
  return c;
}

/* ---- operations in common loops ----------------------------------------------------------- */

/* The value of each piece: its group's variable times the sizes of the pieces of the group behind it. */
static bool piece_values(analysis *a, loom_expr *values) {
  loom_expr product = loom_int(a->ctx, 1);
  for (size_t i = a->split.n_pieces; i-- > 0;) {
    size_t group = a->split.pieces[i].group;
    if (i + 1 == a->split.n_pieces || a->split.pieces[i + 1].group != group)
      product = loom_int(a->ctx, 1);
    values[i] = loom_mul(a->ctx, a->loops[group].variable, product);
    product = loom_mul(a->ctx, product, a->split.pieces[i].size);
  }
  return !loom_base_failed(a->ctx);
}

/* What the loops of the operation become, in a->variables and a->values. */
static bool map_op(analysis *a, const loom_op *op) {
  loom_ctx *ctx = a->ctx;
  size_t n = op->n_pointwise + op->n_reduction, split;
  loom_expr *sizes = loom_arena_array(&a->out->arena, n + 1, sizeof *sizes);
  loom_expr *groups = loom_arena_array(&a->out->arena, a->n, sizeof *groups);
  a->variables.n = a->values.n = 0;
  if (!sizes || !groups || !loom_vec_reserve(ctx, &a->variables, n) ||
      !loom_vec_reserve(ctx, &a->values, n))
    return false;
  for (size_t i = 0; i < n; i++) sizes[i] = op->loops[i].size;
  for (size_t i = 0; i < a->n; i++) groups[i] = a->loops[i].size;
  loom_common_sides(a->g, op, a->steps, &split);
  loom_loops loops = {sizes, split, n - split};
  loom_split_options options = {&a->g->given, a->g->given.strict};
  if (loom_loops_lack_reduction(ctx, a->n, groups, &loops, a->steps->reduction_extent, &options))
    sizes[n + loops.n_reduction++] = a->steps->reduction_extent;
  if (loom_split_loops(ctx, a->n, groups, &loops, &options, &a->split) != LOOM_OK) return false;
  loom_expr *pieces = loom_arena_array(&a->out->arena, a->split.n_pieces, sizeof *pieces);
  if (!pieces || !piece_values(a, pieces)) return false;
  for (size_t i = 0; i < n && i < a->split.n_pointwise + a->split.n_reduction; i++) {
    a->variables.at[a->variables.n++] = op->loops[i].variable;
    a->values.at[a->values.n++] = loom_getter_value(ctx, &a->split, a->split.getters[i], pieces);
  }
  return !loom_base_failed(ctx);
}

/* ---- addresses ---------------------------------------------------------------------------- */

static bool has_loaded_value(analysis *a, loom_expr index) {
  loom_expr_list symbols = {0};
  bool found = false;
  if (loom_list_symbols(a->ctx, index, &symbols))
    for (size_t i = 0; !found && i < symbols.n; i++)
      found = loom_symbol_is_loaded(a->ctx, symbols.at[i]);
  loom_vec_free(a->ctx, &symbols);
  return found;
}

static bool add_buffer(loom_ctx *ctx, address_item *item, int buffer) {
  for (size_t i = 0; i < item->buffers.n; i++)
    if (item->buffers.at[i] == buffer) return true;
  return loom_vec_push(ctx, &item->buffers, buffer);
}

static bool add_address(analysis *a, address_list *list, loom_expr index, int buffer) {
  for (size_t i = 0; i < list->n; i++)
    if (list->at[i].index == index) return add_buffer(a->ctx, &list->at[i], buffer);
  return loom_vec_push(a->ctx, list, ((address_item){.index = index})) &&
         add_buffer(a->ctx, &list->at[list->n - 1], buffer);
}

static bool add_use(analysis *a, const loom_use *use, address_list *list) {
  if (use->mode != LOOM_USE_INDEXED) return true;
  loom_expr index = loom_reveal(a->ctx, use->index);
  index = loom_substitute(a->ctx, index, a->variables.n, a->variables.at, a->values.at);
  loom_given given = a->g->given;
  given.extents = a->loops;
  given.n_extents = a->n;
  index = loom_simplify_in(a->ctx, index, &given);
  return index != LOOM_NONE && add_address(a, list, index, use->buffer);
}

static bool add_op(analysis *a, const loom_op *op) {
  if (!map_op(a, op)) return false;
  for (size_t i = 0; i < op->n_reads; i++)
    if (loom_steps_load(a->g, op->reads[i].buffer) && !add_use(a, &op->reads[i], &a->reads))
      return false;
  for (size_t i = 0; i < op->n_writes; i++)
    if (!loom_steps_internal(a->g, op->writes[i].buffer) && !add_use(a, &op->writes[i], &a->writes))
      return false;
  return true;
}

static void look_for_gathers(analysis *a, const loom_op *op) {
  for (size_t i = 0; i < op->n_reads + op->n_writes; i++) {
    const loom_use *use = i < op->n_reads ? &op->reads[i] : &op->writes[i - op->n_reads];
    if (use->mode == LOOM_USE_INDEXED && has_loaded_value(a, use->index)) a->gives_up = true;
  }
}

/* ---- scores ------------------------------------------------------------------------------- */

static bool add_score(analysis *a, size_t loop, int64_t score) {
  loom_coalesced *list = (loom_coalesced *)(uintptr_t)a->out->shown.coalesced;
  loom_expr variable = a->loops[loop].variable;
  size_t i = 0;
  while (i < a->out->shown.n_coalesced && list[i].variable != variable) i++;
  if (i == a->out->shown.n_coalesced) {
    list[i] = (loom_coalesced){variable, 0};
    a->out->shown.n_coalesced++;
  }
  return !__builtin_add_overflow(list[i].score, score, &list[i].score);
}

typedef struct tally {
  size_t loop;
  loom_expr factor;
  int64_t score;
} tally;
typedef LOOM_VEC(tally) tallies;

static bool add_tally(analysis *a, tallies *list, size_t loop, loom_expr factor, int64_t score) {
  for (size_t i = 0; i < list->n; i++)
    if (list->at[i].loop == loop && list->at[i].factor == factor)
      return !__builtin_add_overflow(list->at[i].score, score, &list->at[i].score);
  return loom_vec_push(a->ctx, list, ((tally){loop, factor, score}));
}

/* Whether both parts of the loop split by the factor have more than a few elements, at the hints. */
static bool is_worth_it(analysis *a, size_t loop, loom_expr factor) {
  enum { LEAST = 8 };
  int64_t f, size;
  loom_expr inner, all;
  return loom_hint_value(a->ctx, factor, &a->g->given, &inner) && loom_as_int(a->ctx, inner, &f) &&
         loom_hint_value(a->ctx, a->loops[loop].size, &a->g->given, &all) &&
         loom_as_int(a->ctx, all, &size) && f > LEAST && f < size && size / f > LEAST;
}

/* The factor by which the loop is split so that the address is walked along its outer part: proved for
** all points, or as the reference finds it from the address along that loop alone. */
static bool find_factor(analysis *a, loom_expr index, size_t loop, loom_expr *factor) {
  loom_expr zero = loom_int(a->ctx, 0);
  if (a->exact) return loom_unit_split(a->ctx, index, a->n, a->loops, loop, &a->g->given, factor);
  for (size_t k = 0; k < a->n; k++)
    if (k != loop) index = loom_substitute(a->ctx, index, 1, &a->loops[k].variable, &zero);
  return loom_unit_factor(a->ctx, index, factor);
}

/* Splits that would let the address be walked along the outer part of a loop. */
static bool tally_splits(analysis *a, loom_expr index, int64_t score, tallies *list) {
  for (size_t v = 0; v < a->n; v++) {
    loom_expr factor;
    if (!loom_occurs(a->ctx, a->loops[v].variable, index)) continue;
    if (find_factor(a, index, v, &factor) && is_worth_it(a, v, factor) &&
        !add_tally(a, list, v, factor, score))
      return false;
    if (loom_error_status(a->ctx) != LOOM_OK) return false;
  }
  return true;
}

/* The loop along which the address is walked: at every point, or as the reference looks. */
static ptrdiff_t find_loop(analysis *a, loom_expr index) {
  loom_expr one = loom_int(a->ctx, 1), factor;
  if (!a->exact) return loom_unit_loop(a->ctx, index, a->n, a->loops, &a->g->given);
  for (size_t v = 0; v < a->n; v++)
    if (find_factor(a, index, v, &factor) && factor == one) return (ptrdiff_t)v;
  return -1;
}

static int64_t weight_of(const analysis *a, const address_item *item, bool write) {
  int64_t bytes = 0;
  for (size_t i = 0; i < item->buffers.n; i++)
    bytes += loom_dtype_bytes(a->g->buffers.at[item->buffers.at[i]].dtype);
  return write ? 2 * bytes : bytes;
}

static bool score_item(analysis *a, const address_item *item, bool write, tallies *list) {
  int64_t points, score;
  loom_expr all = loom_address_points(a->ctx, item->index, a->n, a->loops, &a->g->given);
  if (!loom_as_int(a->ctx, all, &points)) return false;
  if (points == 0) return true;
  if (__builtin_mul_overflow(points, weight_of(a, item, write), &score)) return false;
  ptrdiff_t loop = find_loop(a, item->index);
  return loop >= 0 ? add_score(a, (size_t)loop, score) : tally_splits(a, item->index, score, list);
}

static bool score_all(analysis *a) {
  tallies list = {0};
  loom_coalesced *coalesced = loom_arena_array(&a->out->arena, a->n, sizeof *coalesced);
  bool good = coalesced != NULL;
  a->out->shown.coalesced = coalesced;
  for (size_t i = 0; good && i < a->reads.n; i++)
    good = score_item(a, &a->reads.at[i], false, &list);
  for (size_t i = 0; good && i < a->writes.n; i++)
    good = score_item(a, &a->writes.at[i], true, &list);
  int64_t best = 0;
  for (size_t i = 0; i < list.n; i++)
    if (list.at[i].score > best) {
      best = list.at[i].score;
      a->out->shown.split_variable = a->loops[list.at[i].loop].variable;
      a->out->shown.split_factor = list.at[i].factor;
      a->out->shown.split_score = best;
    }
  loom_vec_free(a->ctx, &list);
  if (!good && loom_error_status(a->ctx) == LOOM_OK)
    loom_error_set(a->ctx, LOOM_ERR_LIMIT, "the scores of the addresses of a kernel are too large");
  return good;
}

/* ---- entry -------------------------------------------------------------------------------- */

static loom_expr loop_variable(loom_ctx *ctx, size_t i) {
  char name[32];
  snprintf(name, sizeof name, "n%zu", i);
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static bool find_loops(analysis *a) {
  loom_nest_sizes common;
  if (!loom_common_loops(a->g, a->steps, &a->out->arena, &common)) return false;
  a->n = common.n_pointwise + common.n_reduction;
  a->loops = loom_arena_array(&a->out->arena, a->n, sizeof *a->loops);
  if (!a->loops) return false;
  for (size_t i = 0; i < a->n; i++) {
    a->loops[i] = (loom_extent){loop_variable(a->ctx, i), common.sizes[i]};
    if (a->loops[i].variable == LOOM_NONE) return false;
  }
  a->out->shown.n_pointwise = common.n_pointwise;
  a->out->shown.n_reduction = common.n_reduction;
  a->out->shown.loops = a->loops;
  return true;
}

static const loom_common_address *copy_list(analysis *a, const address_list *list, size_t *n) {
  loom_common_address *copy = loom_arena_array(&a->out->arena, list->n, sizeof *copy);
  *n = 0;
  for (size_t i = 0; copy && i < list->n; i++) {
    const address_item *item = &list->at[i];
    int *buffers = loom_arena_array(&a->out->arena, item->buffers.n, sizeof *buffers);
    if (!buffers) return NULL;
    memcpy(buffers, item->buffers.at, item->buffers.n * sizeof *buffers);
    copy[(*n)++] = (loom_common_address){item->index, item->buffers.n, buffers};
  }
  return copy;
}

static bool analyse(analysis *a) {
  if (!find_loops(a)) return false;
  for (size_t i = 0; i < a->steps->n; i++)
    if (a->steps->schedule[i] >= 0 && !add_op(a, &a->g->ops.at[a->steps->schedule[i]]))
      return false;
  if (!score_all(a)) return false;
  a->out->shown.reads = copy_list(a, &a->reads, &a->out->shown.n_reads);
  a->out->shown.writes = copy_list(a, &a->writes, &a->out->shown.n_writes);
  return a->out->shown.reads && a->out->shown.writes;
}

/* Whether the analysis can handle the size: a number, and exactly one with hints too. */
static bool has_size(const analysis *a, loom_expr size) {
  loom_expr value;
  return loom_expr_is_num(a->ctx, size) ||
         (a->exact && loom_hint_value(a->ctx, size, &a->g->given, &value));
}

/* Whether there is nothing that the analysis cannot handle. */
static bool begin(analysis *a) {
  if (!loom_steps_stamp(a->g, a->steps)) return false;
  a->gives_up = !has_size(a, a->steps->extent) || !has_size(a, a->steps->reduction_extent);
  for (size_t i = 0; i < a->steps->n; i++)
    if (a->steps->schedule[i] >= 0) look_for_gathers(a, &a->g->ops.at[a->steps->schedule[i]]);
  return !loom_base_failed(a->ctx);
}

static void free_list(loom_ctx *ctx, address_list *list) {
  for (size_t i = 0; i < list->n; i++) loom_vec_free(ctx, &list->at[i].buffers);
  loom_vec_free(ctx, list);
}

loom_coalescing *loom_coalesce(loom_graph *g, const loom_kernel_steps *steps, bool exact) {
  loom_ctx *ctx = g->ctx;
  loom_kernel_steps simple = *steps;
  if (!loom_steps_check(g, steps)) return NULL;
  simple.extent = loom_simplify(ctx, steps->extent);
  simple.reduction_extent = loom_simplify(ctx, steps->reduction_extent);
  analysis a = {.g = g, .ctx = ctx, .steps = &simple, .exact = exact};
  if (!begin(&a) || a.gives_up) return NULL;
  a.out = new_coalescing(ctx);
  bool good = a.out && analyse(&a) && !loom_base_failed(ctx);
  free_list(ctx, &a.reads);
  free_list(ctx, &a.writes);
  loom_vec_free(ctx, &a.variables);
  loom_vec_free(ctx, &a.values);
  loom_split_free(ctx, &a.split);
  if (good) return &a.out->shown;
  loom_coalescing_free(a.out ? &a.out->shown : NULL);
  return NULL;
}
