/* SPDX-License-Identifier: MIT */
/* Groups of independent kernels that are launched together.
** Invariant: kernels of a group have the same key: as many tiles, or three with the same y. */
#include "expr/ops.h"
#include "simd/plan.h"

enum { MOST_ACCESSES = 250 };
#define LARGE INT64_C(51200000)
#define LONG INT64_C(2048)

typedef struct combine {
  loom_ctx *ctx;
  const loom_launch *kernels;
  const loom_combine_options *options;
  size_t *order, *ends;
  size_t n_done, n_groups;
  LOOM_VEC(size_t) list; /* of kernels that may be together */
  LOOM_VEC(bool) taken;  /* by place in the list */
} combine;

/* ---- packing ------------------------------------------------------------------------------ */

static bool may_mix(const combine *c) {
  return c->options->mixed == 2 || (c->options->mixed == 1 && c->options->size_aware);
}

/* Whether a kernel goes by its y, else by its number of tiles. */
static bool by_y(const combine *c, const loom_launch *k) {
  return !may_mix(c) && k->tiling.n == 3;
}

static loom_expr y_of(const loom_launch *k) {
  for (size_t i = 0; i < k->tiling.n; i++)
    if (k->tiling.prefix[i] == LOOM_PREFIX_Y) return k->tiling.extent[i];
  return LOOM_NONE;
}

static bool same_key(const combine *c, const loom_launch *a, const loom_launch *b) {
  if (a->tiling.n != b->tiling.n) return false;
  return !by_y(c, a) || y_of(a) == y_of(b);
}

/* Packs the kernels of the list with the key of the one at `first`, in order. */
static void pack(combine *c, size_t first) {
  const loom_launch *key = &c->kernels[c->list.at[first]];
  size_t load = 0;
  for (size_t i = first; i < c->list.n; i++) {
    const loom_launch *k = &c->kernels[c->list.at[i]];
    if (c->taken.at[i] || !same_key(c, key, k)) continue;
    if (load + k->n_accesses > MOST_ACCESSES) {
      c->ends[c->n_groups++] = c->n_done;
      load = 0;
    }
    load += k->n_accesses;
    c->taken.at[i] = true;
    c->order[c->n_done++] = c->list.at[i];
  }
  c->ends[c->n_groups++] = c->n_done;
}

static loom_status pack_list(combine *c) {
  for (size_t i = 0; i < c->list.n; i++)
    if (!may_mix(c) && c->kernels[c->list.at[i]].tiling.n > 3)
      return loom_error_set(c->ctx, LOOM_ERR_DOMAIN,
                            "kernels of more than three tiles are not combined unless mixed");
  for (int ys = 0; ys < 2; ys++)
    for (size_t i = 0; i < c->list.n; i++)
      if (!c->taken.at[i] && by_y(c, &c->kernels[c->list.at[i]]) == (ys == 1)) pack(c, i);
  c->list.n = c->taken.n = 0;
  return LOOM_OK;
}

static bool put(combine *c, size_t kernel) {
  return loom_vec_push(c->ctx, &c->list, kernel) && loom_vec_push(c->ctx, &c->taken, false);
}

/* ---- lists -------------------------------------------------------------------------------- */

typedef enum size_class { LARGE_ALONE, POINTWISE, SHORT, LONGER, N_CLASSES } size_class;

static bool is_above(const combine *c, loom_expr e, int64_t limit) {
  loom_expr value;
  return loom_hint_value(c->ctx, e, c->options->given, &value) &&
         loom_known_lt(c->ctx, loom_int(c->ctx, limit), value) == LOOM_YES;
}

static size_class class_of(const combine *c, const loom_launch *k) {
  bool flat = k->tiling.n == 2 && k->tiling.prefix[0] == LOOM_PREFIX_X;
  if (!k->reduction && flat && is_above(c, k->tiling.extent[0], LARGE)) return LARGE_ALONE;
  if (!k->reduction || (k->one_pass && k->no_x)) return POINTWISE;
  return is_above(c, k->reduction_extent, LONG) ? LONGER : SHORT;
}

/* The kernels with that many tiles of a class; large ones one by one. */
static loom_status pack_class(combine *c, size_t n, size_t tiles, size_class class) {
  loom_status status = LOOM_OK;
  for (size_t i = 0; status == LOOM_OK && i < n; i++) {
    const loom_launch *k = &c->kernels[i];
    if (k->tiling.n != tiles || class_of(c, k) != class) continue;
    if (!put(c, i)) return loom_error_status(c->ctx);
    if (class == LARGE_ALONE) status = pack_list(c);
  }
  return status == LOOM_OK && class != LARGE_ALONE ? pack_list(c) : status;
}

static loom_status pack_by_size(combine *c, size_t n) {
  loom_status status = LOOM_OK;
  for (size_t tiles = 1; tiles <= LOOM_N_PREFIXES; tiles++)
    for (int class = 0; status == LOOM_OK && class < N_CLASSES; class ++)
      status = pack_class(c, n, tiles, (size_class) class);
  return status;
}

static loom_status pack_all(combine *c, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!put(c, i)) return loom_error_status(c->ctx);
  return pack_list(c);
}

loom_status loom_combine(loom_ctx *ctx, size_t n, const loom_launch *kernels,
                         const loom_combine_options *options, size_t *order, size_t *ends,
                         size_t *n_groups) {
  combine c = {.ctx = ctx, .kernels = kernels, .options = options, .order = order, .ends = ends};
  loom_status status = options->size_aware ? pack_by_size(&c, n) : pack_all(&c, n);
  *n_groups = c.n_groups;
  loom_vec_free(ctx, &c.list);
  loom_vec_free(ctx, &c.taken);
  return status;
}
