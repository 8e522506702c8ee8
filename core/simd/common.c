/* SPDX-License-Identifier: MIT */
/* Loops that all operations of a kernel can be written in: the finest nest of one of them onto which
** the others split, refined where they cut it, or coarser ones.
** Invariant: options of a length are different and in order of appearance. */
#include "simd/common.h"

#include <string.h>

#include "ranges/sizes.h"

typedef LOOM_VEC(loom_nest_sizes) nest_list;

typedef struct finder {
  loom_graph *g;
  loom_ctx *ctx;
  const loom_kernel_steps *steps;
  loom_arena *arena;
  nest_list all;     /* different nests that must split */
  nest_list options; /* different lists of pointwise loops */
  nest_list tried;
  loom_expr reduction; /* the one reduced loop; LOOM_NONE: there is none */
  loom_split split;
} finder;

bool loom_common_sides(loom_graph *g, const loom_op *op, const loom_kernel_steps *steps,
                       size_t *split) {
  loom_expr product = loom_int(g->ctx, 1);
  *split = op->n_pointwise;
  if (op->n_reduction > 0 || op->extent == steps->extent) return true;
  for (size_t i = op->n_pointwise; i-- > 0;) {
    product = loom_mul(g->ctx, product, op->loops[i].size);
    if (product != steps->reduction_extent) continue;
    *split = i;
    return true;
  }
  return false;
}

/* ---- members ------------------------------------------------------------------------------ */

bool loom_steps_stamp(loom_graph *g, const loom_kernel_steps *steps) {
  if (!loom_vec_reserve(g->ctx, &g->stamps, g->ops.n > g->stamps.n ? g->ops.n - g->stamps.n : 0))
    return false;
  while (g->stamps.n < g->ops.n) g->stamps.at[g->stamps.n++] = 0;
  g->epoch++;
  for (size_t i = 0; i < steps->n; i++)
    if (steps->schedule[i] >= 0) g->stamps.at[steps->schedule[i]] = g->epoch;
  return true;
}

static bool is_member(const loom_graph *g, int op) {
  return g->stamps.at[op] == g->epoch;
}

bool loom_steps_internal(const loom_graph *g, int buffer) {
  const loom_buffer *b = &g->buffers.at[buffer];
  if (b->output || b->writer < 0 || b->updates >= 0 || b->updated_by >= 0 ||
      !is_member(g, b->writer))
    return false;
  for (size_t i = 0; i < b->n_users; i++)
    if (!b->users[i].order && !is_member(g, b->users[i].op)) return false;
  return true;
}

static bool writes_where_read(const loom_op *writer, const loom_dep *read) {
  for (size_t i = 0; i < writer->n_dep_writes; i++)
    if (writer->dep_writes[i] == read) return true;
  return false;
}

bool loom_steps_load(const loom_graph *g, int buffer) {
  const loom_buffer *b = &g->buffers.at[buffer];
  if (loom_steps_internal(g, buffer)) return false;
  if (b->writer < 0 || !is_member(g, b->writer)) return true;
  const loom_op *writer = &g->ops.at[b->writer];
  for (size_t i = 0; i < b->n_users; i++) {
    if (!is_member(g, b->users[i].op)) continue;
    const loom_op *reader = &g->ops.at[b->users[i].op];
    for (size_t k = 0; k < reader->n_dep_reads; k++)
      if (reader->dep_reads[k]->buffer == buffer &&
          !writes_where_read(writer, reader->dep_reads[k]))
        return true;
  }
  return false;
}

/* ---- lists -------------------------------------------------------------------------------- */

static bool same_sizes(const loom_nest_sizes *a, const loom_nest_sizes *b) {
  return a->n_pointwise == b->n_pointwise && a->n_reduction == b->n_reduction &&
         (a->n_pointwise + a->n_reduction == 0 ||
          memcmp(a->sizes, b->sizes, (a->n_pointwise + a->n_reduction) * sizeof *a->sizes) == 0);
}

static bool contains(const nest_list *list, const loom_nest_sizes *nest) {
  for (size_t i = 0; i < list->n; i++)
    if (same_sizes(&list->at[i], nest)) return true;
  return false;
}

static bool add(finder *f, nest_list *list, loom_nest_sizes nest) {
  return contains(list, &nest) || loom_vec_push(f->ctx, list, nest);
}

/* ---- what there is ------------------------------------------------------------------------ */

/* The nest of an operation, with the reduction of the kernel added where it runs inside and has
** none. */
static bool add_op(finder *f, const loom_op *op) {
  size_t n = op->n_pointwise + op->n_reduction, split;
  loom_expr *sizes = loom_arena_array(f->arena, n + 1, sizeof *sizes);
  if (!sizes) return false;
  for (size_t i = 0; i < n; i++) sizes[i] = op->loops[i].size;
  bool sided = loom_common_sides(f->g, op, f->steps, &split);
  loom_nest_sizes nest = {split, n - split, sizes};
  if (!sided) return add(f, &f->all, nest);
  loom_expr groups[] = {f->steps->extent, f->steps->reduction_extent};
  loom_loops loops = {sizes, nest.n_pointwise, nest.n_reduction};
  loom_split_options options = {&f->g->given, f->g->given.strict};
  if (loom_loops_lack_reduction(f->ctx, 2, groups, &loops, groups[1], &options))
    sizes[n + nest.n_reduction++] = groups[1];
  if (!add(f, &f->options, (loom_nest_sizes){nest.n_pointwise, 0, sizes})) return false;
  if (nest.n_reduction > 0)
    f->reduction = loom_size_product(f->ctx, nest.n_reduction, sizes + nest.n_pointwise);
  return add(f, &f->all, nest);
}

static bool collect(finder *f) {
  for (size_t i = f->steps->n; i-- > 0;)
    if (f->steps->schedule[i] >= 0 && !add_op(f, &f->g->ops.at[f->steps->schedule[i]]))
      return false;
  return !loom_base_failed(f->ctx);
}

/* ---- trying ------------------------------------------------------------------------------- */

/* The option with the reduced loop. */
static bool with_reduction(finder *f, const loom_nest_sizes *option, loom_nest_sizes *out) {
  size_t n = option->n_pointwise;
  loom_expr *sizes = loom_arena_array(f->arena, n + 1, sizeof *sizes);
  if (!sizes) return false;
  if (n > 0) memcpy(sizes, option->sizes, n * sizeof *sizes);
  sizes[n] = f->reduction;
  *out = (loom_nest_sizes){n, f->reduction != LOOM_NONE, sizes};
  return true;
}

/* The pieces of the pointwise groups of the last split. */
static bool pieces_of(finder *f, size_t n_groups, loom_nest_sizes *out) {
  loom_expr *sizes = loom_arena_array(f->arena, f->split.n_pieces, sizeof *sizes);
  if (!sizes) return false;
  *out = (loom_nest_sizes){.sizes = sizes};
  for (size_t i = 0; i < f->split.n_pieces; i++)
    if (f->split.pieces[i].group < n_groups) sizes[out->n_pointwise++] = f->split.pieces[i].size;
  return true;
}

typedef enum trial { FAILED, FOUND, BROKEN } trial;

/* Whether every nest splits onto the option; where one cuts it, the finer option is tried first. */
static trial try_option(finder *f, const loom_nest_sizes *option, loom_nest_sizes *out) {
  loom_split_options options = {&f->g->given, f->g->given.strict};
  loom_nest_sizes groups, finer;
  if (contains(&f->tried, option)) return FAILED;
  if (!add(f, &f->tried, *option) || !with_reduction(f, option, &groups)) return BROKEN;
  size_t n = groups.n_pointwise + groups.n_reduction;
  for (size_t i = 0; i < f->all.n; i++) {
    loom_nest_sizes nest = f->all.at[i];
    loom_loops loops = {nest.sizes, nest.n_pointwise, nest.n_reduction};
    if (loom_loops_fit(f->ctx, n, groups.sizes, &loops, LOOM_NONE, &options) != LOOM_OK)
      return loom_error_status(f->ctx) == LOOM_OK ? FAILED : BROKEN;
    if (loom_split_loops(f->ctx, n, groups.sizes, &loops, &options, &f->split) != LOOM_OK ||
        !pieces_of(f, groups.n_pointwise, &finer))
      return BROKEN;
    if (same_sizes(&finer, option)) continue;
    trial inner = try_option(f, &finer, out);
    if (inner != FAILED) return inner;
  }
  *out = groups;
  return FOUND;
}

/* Every option of n loops with two neighbours multiplied. */
static bool coarsen(finder *f, size_t n) {
  for (size_t k = 0; k < f->options.n; k++) {
    if (f->options.at[k].n_pointwise != n) continue;
    for (size_t i = 0; i + 1 < n; i++) {
      loom_expr *sizes = loom_arena_array(f->arena, n - 1, sizeof *sizes);
      if (!sizes) return false;
      const loom_expr *old = f->options.at[k].sizes;
      for (size_t j = 0; j < n - 1; j++) sizes[j] = old[j < i + 1 ? j : j + 1];
      sizes[i] = loom_mul(f->ctx, old[i], old[i + 1]);
      if (!add(f, &f->options, (loom_nest_sizes){n - 1, 0, sizes})) return false;
    }
  }
  return true;
}

static bool search(finder *f, loom_nest_sizes *out) {
  size_t most = 0;
  for (size_t i = 0; i < f->options.n; i++)
    if (f->options.at[i].n_pointwise > most) most = f->options.at[i].n_pointwise;
  for (size_t n = most; n > 0; n--) {
    for (size_t k = 0; k < f->options.n; k++) {
      if (f->options.at[k].n_pointwise != n) continue;
      loom_nest_sizes option = f->options.at[k];
      trial result = try_option(f, &option, out);
      if (result != FAILED) return result == FOUND;
    }
    if (!coarsen(f, n)) return false;
  }
  loom_expr *sizes = loom_arena_array(f->arena, 2, sizeof *sizes);
  if (!sizes) return false;
  sizes[0] = f->steps->extent;
  sizes[1] = f->steps->reduction_extent;
  *out = (loom_nest_sizes){1, 1, sizes};
  return true;
}

bool loom_common_loops(loom_graph *g, const loom_kernel_steps *steps, loom_arena *arena,
                       loom_nest_sizes *out) {
  finder f = {.g = g, .ctx = g->ctx, .steps = steps, .arena = arena};
  bool good = collect(&f);
  if (good && f.all.n == 1)
    *out = f.all.at[0];
  else if (good)
    good = search(&f, out);
  loom_vec_free(g->ctx, &f.all);
  loom_vec_free(g->ctx, &f.options);
  loom_vec_free(g->ctx, &f.tried);
  loom_split_free(g->ctx, &f.split);
  return good && !loom_base_failed(g->ctx);
}
