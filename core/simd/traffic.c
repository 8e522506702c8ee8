/* SPDX-License-Identifier: MIT */
/* Memory traffic of a kernel, by accesses over one flat variable for its extent (i0) and one for its
** reduction (i1) (doc/formulas.md#memory-traffic).
** Invariant: accesses of one place are different; places are the kernel held as a whole (-1), outside
** its reduction loops (0), and these (1, 2, ...). */
#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/sizes.h"
#include "simd/plan.h"

enum { WHOLE = -1, OUTSIDE = 0 };

typedef struct flat_access {
  int place, buffer;
  bool write, accumulates, indirect, dropped, joined;
  loom_expr index;
  loom_expr elements;   /* touched */
  loom_expr strides[2]; /* LOOM_NONE where a gather does not step */
} flat_access;

typedef struct traffic {
  loom_plan *plan;
  loom_kernel *kernel;
  loom_ctx *ctx;
  int number, loop; /* of the kernel; the current loop */
  bool on;
  loom_expr flat[2], extent[2];
  LOOM_VEC(loom_extent) extents; /* of sizes, then of flat */
  loom_given given;
  LOOM_VEC(flat_access) accesses;
  LOOM_VEC(loom_traffic_loop) loops;
  int *written;   /* by buffer: bit WRITTEN_* */
  int *last_loop; /* by buffer: the last loop that it was written in */
} traffic;

enum { WRITTEN = 1, WRITTEN_OUTSIDE = 2, READ_WHOLE = 4, MUST_KEEP = 8 };

/* ---- flat indices ------------------------------------------------------------------------- */

/* The variable for a piece with that divisor and length. */
static loom_expr piece_value(traffic *t, size_t group, loom_expr divisor, loom_expr length) {
  loom_expr flat = t->flat[group], all = loom_mul(t->ctx, divisor, length);
  if (loom_sizes_same(t->ctx, all, t->extent[group], &t->given))
    return loom_floor_div(t->ctx, flat, divisor);
  return loom_mod_index(t->ctx, flat, divisor, length);
}

/* The values of the pieces of the split, in plan->values. */
static bool piece_values(traffic *t) {
  loom_split *split = &t->plan->split;
  loom_expr divisor[2] = {loom_int(t->ctx, 1), loom_int(t->ctx, 1)};
  t->plan->values.n = 0;
  if (!loom_vec_reserve(t->ctx, &t->plan->values, split->n_pieces)) return false;
  for (size_t i = split->n_pieces; i-- > 0;) {
    loom_split_piece piece = split->pieces[i];
    t->plan->values.at[i] = piece_value(t, piece.group, divisor[piece.group], piece.size);
    divisor[piece.group] = loom_mul(t->ctx, divisor[piece.group], piece.size);
  }
  return !loom_base_failed(t->ctx);
}

/* What the loops of the nest become, in plan->values behind the sizes of its loops. */
static bool flatten(traffic *t, loom_nest *nest) {
  loom_ctx *ctx = t->ctx;
  loom_plan *plan = t->plan;
  size_t n = nest->n_pointwise + nest->n_reduction;
  loom_split_options options = {&plan->graph->given, plan->graph->given.strict};
  plan->values.n = 0;
  if (!loom_vec_reserve(ctx, &plan->values, n + 1)) return false;
  for (size_t i = 0; i < n; i++) plan->values.at[i] = nest->loops[i].size;
  loom_loops loops = {plan->values.at, nest->n_pointwise, nest->n_reduction};
  if (nest->n_values_reduction > nest->n_reduction)
    plan->values.at[n + loops.n_reduction++] = t->kernel->info.reduction_extent;
  loom_expr *flat = loom_arena_array(&plan->arena, n, sizeof *flat);
  if (!flat || loom_map_loops(ctx, 2, t->extent, &loops, &options, &plan->split) != LOOM_OK ||
      !piece_values(t))
    return false;
  for (size_t i = 0; i < n; i++)
    flat[i] = loom_getter_value(ctx, &plan->split, plan->split.getters[i], plan->values.at);
  nest->flat = flat;
  size_t n_pieces[2] = {0};
  for (size_t i = 0; i < plan->split.n_pieces; i++) n_pieces[plan->split.pieces[i].group]++;
  for (int d = 0; d < 2; d++) nest->in_pieces[d] = n_pieces[d] > 1;
  return !loom_base_failed(ctx);
}

/* ---- accesses ----------------------------------------------------------------------------- */

static bool same_access(const void *data, uint32_t i, const void *key) {
  const flat_access *a = &((const traffic *)data)->accesses.at[i], *b = key;
  return a->place == b->place && a->buffer == b->buffer && a->index == b->index &&
         a->write == b->write && a->accumulates == b->accumulates && a->joined == b->joined;
}

static bool add(traffic *t, flat_access access, int place) {
  access.place = place;
  uint32_t hash = loom_table_mix((uint32_t)(place + 1) * 2 + access.write, access.index);
  hash = loom_table_mix(hash, (uint32_t)access.buffer);
  if (loom_table_find(&t->plan->seen, hash, same_access, t, &access) >= 0) return true;
  return loom_vec_push(t->ctx, &t->accesses, access) &&
         loom_table_add(t->ctx, &t->plan->seen, hash, (uint32_t)t->accesses.n - 1);
}

static bool is_multiple(loom_ctx *ctx, loom_expr term, loom_expr variable) {
  if (term == variable) return true;
  if (loom_expr_kind(ctx, term) != LOOM_MUL) return false;
  for (size_t i = 0; i < loom_expr_arity(ctx, term); i++)
    if (loom_expr_arg(ctx, term, i) == variable) return true;
  return false;
}

/* Whether a flat variable in the index comes from joining the pieces of its extent.  The reference
** keeps it apart from one that stands for a single piece: a division by 1 is left over. */
static bool is_joined(const traffic *t, const loom_nest *nest, loom_expr index) {
  bool sum = loom_expr_kind(t->ctx, index) == LOOM_ADD;
  if (t->given.strict) return false;
  size_t n = sum ? loom_expr_arity(t->ctx, index) : 1;
  for (size_t i = 0; i < n; i++) {
    loom_expr term = sum ? loom_expr_arg(t->ctx, index, i) : index;
    for (int d = 0; d < 2; d++)
      if (nest->in_pieces[d] && is_multiple(t->ctx, term, t->flat[d])) return true;
  }
  return false;
}

/* What is known of the index over flat variables. */
static bool look(traffic *t, loom_nest *nest, loom_expr index, loom_nest_index *out) {
  loom_ctx *ctx = t->ctx;
  loom_expr_list *symbols = &t->plan->symbols;
  if (!nest->flat && !flatten(t, nest)) return false;
  size_t n = nest->n_pointwise + nest->n_reduction;
  out->index = loom_substitute(ctx, index, n, nest->variables, nest->flat);
  out->index = loom_simplify_in(ctx, out->index, &t->given);
  symbols->n = 0;
  if (out->index == LOOM_NONE || !loom_list_symbols(ctx, out->index, symbols)) return false;
  out->elements = loom_int(ctx, 1);
  for (size_t i = 0; i < symbols->n; i++)
    for (int d = 0; d < 2; d++)
      if (symbols->at[i] == t->flat[d]) out->elements = loom_mul(ctx, out->elements, t->extent[d]);
  out->is_flat = true;
  out->joined = is_joined(t, nest, out->index);
  return loom_strides(ctx, out->index, 2, t->flat, 0, NULL, out->strides) == LOOM_OK;
}

/* The access in flat variables.  False with an error. */
static bool make(traffic *t, size_t nest, const loom_use *use, bool write, flat_access *out) {
  ptrdiff_t place = loom_plan_index(t->plan, t->kernel, nest, use->index);
  if (place < 0) return false;
  loom_nest_index *item = &t->plan->indices.at[place];
  if (!item->is_flat && !look(t, &t->plan->nests.at[nest], use->index, item)) return false;
  *out = (flat_access){.buffer = use->buffer,
                       .write = write,
                       .accumulates = use->accumulates,
                       .indirect = item->access.indirect,
                       .joined = item->joined,
                       .index = item->index,
                       .elements = item->elements,
                       .strides = {item->strides[0], item->strides[1]}};
  if (out->indirect) out->elements = t->plan->graph->buffers.at[use->buffer].elements;
  return true;
}

static bool mentions(traffic *t, const flat_access *a) {
  return a->indirect || loom_occurs(t->ctx, t->flat[1], a->index);
}

static int place_of(traffic *t, const flat_access *a) {
  return t->on && mentions(t, a) ? t->loop : OUTSIDE;
}

static bool add_read(traffic *t, const flat_access *a) {
  int *written = &t->written[a->buffer];
  if (!(*written & WRITTEN)) {
    *written |= READ_WHOLE;
    if (!add(t, *a, WHOLE)) return false;
  }
  bool here = *written & WRITTEN_OUTSIDE || t->last_loop[a->buffer] == t->loop;
  if (here) return true;
  int place = place_of(t, a);
  if (*written & WRITTEN && place != OUTSIDE) *written |= MUST_KEEP;
  return add(t, *a, place);
}

static bool add_write(traffic *t, const flat_access *a) {
  int place = place_of(t, a);
  t->written[a->buffer] |= place == OUTSIDE ? WRITTEN | WRITTEN_OUTSIDE : WRITTEN;
  if (place != OUTSIDE) t->last_loop[a->buffer] = place;
  return add(t, *a, WHOLE) && add(t, *a, place);
}

static bool add_op(traffic *t, const loom_op *op) {
  flat_access access;
  ptrdiff_t nest = loom_plan_nest(t->plan, t->kernel, op, t->on);
  if (nest < 0) return false;
  for (size_t i = 0; i < op->n_reads + op->n_writes; i++) {
    bool write = i >= op->n_reads;
    const loom_use *use = write ? &op->writes[i - op->n_reads] : &op->reads[i];
    if (use->mode != LOOM_USE_INDEXED) continue;
    if (!make(t, (size_t)nest, use, write, &access)) return false;
    if (!(write ? add_write(t, &access) : add_read(t, &access))) return false;
  }
  return true;
}

static bool add_all(traffic *t) {
  bool good = true;
  const loom_kernel_info *info = &t->kernel->info;
  for (size_t i = 0, n = 0; good && i < info->n; i++) {
    if (info->schedule[i] < 0) {
      t->on = info->schedule[i] == LOOM_REDUCTION_ON;
      t->extent[1] = t->on ? info->reduction_extent : loom_int(t->ctx, 1);
      t->extents.at[t->extents.n - 1].size = t->extent[1];
      t->loop += t->on;
    } else {
      good = add_op(t, loom_plan_op(t->plan, t->kernel, n++));
    }
  }
  return good;
}

/* ---- what stays in the kernel -------------------------------------------------------------- */

static void drop_local(traffic *t) {
  for (size_t i = 0; i < t->accesses.n; i++) {
    flat_access *a = &t->accesses.at[i];
    int written = t->written[a->buffer];
    if (!(written & WRITTEN) || written & READ_WHOLE ||
        !loom_plan_local(t->plan, a->buffer, t->number))
      continue;
    if (a->place == WHOLE || !(written & MUST_KEEP)) a->dropped = true;
    if (written & MUST_KEEP) t->plan->kept.at[a->buffer] = true;
  }
}

/* ---- figures ------------------------------------------------------------------------------ */

/* The accesses of one buffer in one place, on one side. */
typedef struct figure {
  int buffer;
  size_t n;
  loom_expr elements;
  bool other[2];
} figure;

typedef struct figures {
  traffic *t;
  LOOM_VEC(figure) list;
} figures;

static void count_dims(traffic *t, loom_traffic *out, const flat_access *a, figure *f) {
  loom_expr one = loom_int(t->ctx, 1), none = loom_int(t->ctx, 0);
  for (int d = 0; d < 2; d++) {
    loom_traffic_dim *dim = &out->dims[d];
    if (a->strides[d] == one) {
      dim->contiguous++;
    } else if (a->strides[d] == none && !a->indirect) {
      dim->broadcast++;
    } else {
      dim->other++;
      f->other[d] = true;
    }
  }
}

static void add_bytes(traffic *t, loom_traffic *out, const figure *f) {
  loom_ctx *ctx = t->ctx;
  const loom_buffer *b = &t->plan->graph->buffers.at[f->buffer];
  loom_expr elements = f->elements;
  if (f->n > 1) elements = loom_min(ctx, 2, (loom_expr[]){elements, b->elements});
  loom_expr bytes = loom_mul(ctx, elements, loom_int(ctx, loom_dtype_bytes(b->dtype)));
  out->bytes = loom_add(ctx, out->bytes, bytes);
  loom_expr *total =
      f->other[0] && f->other[1] ? &out->bytes_other : &out->bytes_contiguous_or_broadcast;
  *total = loom_add(ctx, *total, bytes);
  for (int d = 0; d < 2; d++) {
    loom_traffic_dim *dim = &out->dims[d];
    loom_expr *part = f->other[d] ? &dim->bytes_other : &dim->bytes_contiguous_or_broadcast;
    *part = loom_add(ctx, *part, bytes);
  }
}

/* Adds the accesses of a place to the traffic, and how many there are to the loop. */
static bool add_place(figures *fs, int place, bool write, loom_traffic *out,
                      loom_traffic_loop *loop) {
  traffic *t = fs->t;
  int *place_of_buffer = t->plan->place.at;
  fs->list.n = 0;
  for (size_t i = 0; i < t->accesses.n; i++) {
    const flat_access *a = &t->accesses.at[i];
    if (a->dropped || a->place != place || a->write != write) continue;
    if (place_of_buffer[a->buffer] == 0) {
      if (!loom_vec_push(t->ctx, &fs->list, ((figure){a->buffer, 0, loom_int(t->ctx, 0), {0}})))
        return false;
      place_of_buffer[a->buffer] = (int)fs->list.n;
    }
    figure *f = &fs->list.at[place_of_buffer[a->buffer] - 1];
    f->n++;
    f->elements = loom_add(t->ctx, f->elements, a->elements);
    count_dims(t, out, a, f);
    loop->accesses++;
    loop->bytes += loom_dtype_bytes(t->plan->graph->buffers.at[a->buffer].dtype);
  }
  for (size_t i = 0; i < fs->list.n; i++) {
    add_bytes(t, out, &fs->list.at[i]);
    place_of_buffer[fs->list.at[i].buffer] = 0;
  }
  return true;
}

/* The places from first to last (outside counts as one in each of the others). */
static bool add_places(figures *fs, int first, int last, bool write, loom_traffic *out) {
  traffic *t = fs->t;
  loom_expr none = loom_int(t->ctx, 0);
  *out = (loom_traffic){.bytes = none, .bytes_contiguous_or_broadcast = none, .bytes_other = none};
  for (int d = 0; d < 2; d++)
    out->dims[d].bytes_contiguous_or_broadcast = out->dims[d].bytes_other = none;
  loom_traffic_loop outside = {0};
  t->loops.n = 0;
  for (int place = first; place <= last; place++) {
    loom_traffic_loop loop = {0};
    if (!add_place(fs, place, write, out, &loop)) return false;
    out->accesses += loop.accesses;
    out->bytes_per_element += loop.bytes;
    if (place == OUTSIDE && last > OUTSIDE) {
      outside = loop;
      continue;
    }
    loop.accesses += outside.accesses;
    loop.bytes += outside.bytes;
    if (!loom_vec_push(t->ctx, &t->loops, loop)) return false;
  }
  out->n_loops = t->loops.n;
  out->loops = loom_plan_copy(t->plan, t->loops.n, t->loops.at, sizeof *t->loops.at);
  return out->loops && !loom_base_failed(t->ctx);
}

/* Whether something is left in a place. */
static bool in_use(const traffic *t, int place) {
  for (size_t i = 0; i < t->accesses.n; i++)
    if (t->accesses.at[i].place == place && !t->accesses.at[i].dropped) return true;
  return false;
}

static bool sum_up(traffic *t) {
  figures fs = {.t = t};
  int last = t->loop;
  if (last > 0 && !in_use(t, last)) last--;
  bool as_whole = last <= 1 && !(in_use(t, OUTSIDE) && in_use(t, 1)), good = true;
  for (int write = 0; good && write < 2; write++) {
    good = add_places(&fs, WHOLE, WHOLE, write, &t->kernel->one_pass[write]) &&
           (as_whole || add_places(&fs, OUTSIDE, last, write, &t->kernel->looped[write]));
    if (good && as_whole) t->kernel->looped[write] = t->kernel->one_pass[write];
  }
  loom_vec_free(t->ctx, &fs.list);
  return good;
}

/* ---- entry -------------------------------------------------------------------------------- */

static loom_expr flat_variable(loom_ctx *ctx, const char *name) {
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static bool begin(traffic *t) {
  const loom_given *given = &t->plan->graph->given;
  const loom_kernel_info *info = &t->kernel->info;
  t->flat[0] = flat_variable(t->ctx, "i0");
  t->flat[1] = flat_variable(t->ctx, "i1");
  t->extent[0] = info->extent;
  t->extent[1] = info->reduction_extent;
  if (!loom_vec_reserve(t->ctx, &t->extents, given->n_extents + 2)) return false;
  for (size_t i = 0; i < given->n_extents; i++) t->extents.at[t->extents.n++] = given->extents[i];
  for (int d = 0; d < 2; d++)
    t->extents.at[t->extents.n++] = (loom_extent){t->flat[d], t->extent[d]};
  t->given = *given;
  t->given.extents = t->extents.at;
  t->given.n_extents = t->extents.n;
  t->written = t->plan->other_place.at;
  return true;
}

bool loom_plan_traffic(loom_plan *plan, loom_kernel *k) {
  traffic t = {.plan = plan, .kernel = k, .ctx = plan->ctx, .loop = 1, .on = true};
  t.number = (int)plan->kernels.n;
  t.last_loop = plan->last_loop.at;
  bool good = begin(&t) && add_all(&t);
  if (good) {
    drop_local(&t);
    good = sum_up(&t);
  }
  loom_plan_clear(plan, k, plan->other_place.at);
  loom_plan_clear(plan, k, plan->last_loop.at);
  loom_plan_clear(plan, k, plan->place.at);
  loom_vec_free(plan->ctx, &t.extents);
  loom_vec_free(plan->ctx, &t.accesses);
  loom_vec_free(plan->ctx, &t.loops);
  loom_table_clear(plan->ctx, &plan->seen);
  return good && !loom_base_failed(plan->ctx);
}
