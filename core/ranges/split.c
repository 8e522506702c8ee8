/* SPDX-License-Identifier: MIT */
/* Splits the loops of a nest onto groups of iterations (doc/formulas.md#splitting-loops).
** Invariant: pieces stand in order of the groups and, within one, of the loops, so the pieces of a
** loop are consecutive and the values of all loops enumerate what the pieces enumerate, in the same
** order.  Each group is the product of its pieces where the split is complete. */
#include <stdio.h>
#include <string.h>

#include "ranges/sizes.h"

typedef enum outcome { DONE, CANNOT, INCOMPLETE, FAILED /* with an error */ } outcome;

typedef struct splitter {
  loom_ctx *ctx;
  const loom_given *given;
  bool any_span, strict;
  size_t n_groups, group; /* the group being filled */
  loom_expr *rest;        /* what is left of each group */
  loom_split *out;
} splitter;

/* The next piece: e of group i. */
static outcome add_piece(splitter *s, size_t i, loom_expr e) {
  if (!loom_size_multiple(s->ctx, s->rest[i], e, s->given)) return CANNOT;
  s->rest[i] = loom_floor_div(s->ctx, s->rest[i], e);
  if (s->rest[i] == LOOM_NONE) return FAILED;
  s->out->pieces[s->out->n_pieces++] = (loom_split_piece){e, i};
  return DONE;
}

static void skip_full_groups(splitter *s) {
  while (s->group < s->n_groups && loom_size_is_one(s->ctx, s->rest[s->group], s->given))
    s->group++;
}

/* Takes the rest of the current group as the leading piece of a loop of size *e; what remains of the
** loop goes to the next group. */
static outcome span_next(splitter *s, loom_expr *e) {
  loom_expr whole = s->rest[s->group];
  if (!loom_size_multiple(s->ctx, *e, whole, s->given)) return CANNOT;
  *e = loom_floor_div(s->ctx, *e, whole);
  if (*e == LOOM_NONE) return FAILED;
  outcome result = add_piece(s, s->group++, whole);
  if (result == DONE && s->any_span) skip_full_groups(s);
  return result;
}

static bool must_span(const splitter *s, loom_expr e) {
  return s->group + 1 < s->n_groups && loom_size_above(s->ctx, e, s->rest[s->group], s->given);
}

static outcome split_loop(splitter *s, loom_expr e, loom_getter *getter) {
  getter->first = s->out->n_pieces;
  while (must_span(s, e)) {
    outcome result = span_next(s, &e);
    if (result != DONE) return result;
    if (!s->any_span) break;
  }
  outcome result = s->group < s->n_groups ? add_piece(s, s->group, e) : CANNOT;
  getter->count = s->out->n_pieces - getter->first;
  return result;
}

/* Loops left over when every group is full get no getter, unless they are an error. */
static outcome split_list(splitter *s, size_t n, const loom_expr *sizes, size_t *n_getters) {
  loom_getter *getters = &s->out->getters[s->out->n_pointwise];
  for (size_t i = 0; i < n; i++) {
    if (loom_size_is_one(s->ctx, sizes[i], s->given)) {
      getters[(*n_getters)++] = (loom_getter){s->out->n_pieces, 0};
      continue;
    }
    skip_full_groups(s);
    if (s->group == s->n_groups && !s->strict) continue;
    if (s->group == s->n_groups) return CANNOT;
    outcome result = split_loop(s, sizes[i], &getters[*n_getters]);
    if (result != DONE) return result;
    (*n_getters)++;
  }
  return DONE;
}

/* Whether nothing is left of any group, with the hints in place of the symbols. */
static bool is_complete(const splitter *s) {
  for (size_t i = 0; i < s->n_groups; i++)
    if (!loom_size_hinted_one(s->ctx, s->rest[i], s->given)) return false;
  return true;
}

static bool reserve(loom_ctx *ctx, loom_split *out, size_t n_groups, size_t n_loops) {
  bool pieces = n_groups + n_loops <= out->capacity_pieces ||
                loom_vec_grow(ctx, (void **)(void *)&out->pieces, &out->capacity_pieces,
                              n_groups + n_loops, sizeof *out->pieces);
  return pieces && (n_loops <= out->capacity_getters ||
                    loom_vec_grow(ctx, (void **)(void *)&out->getters, &out->capacity_getters,
                                  n_loops, sizeof *out->getters));
}

static outcome split_lists(splitter *s, const loom_loops *loops) {
  loom_split *out = s->out;
  size_t n_pointwise = 0;
  outcome result = split_list(s, loops->n_pointwise, loops->sizes, &n_pointwise);
  out->n_pointwise = n_pointwise;
  if (result == DONE)
    result =
        split_list(s, loops->n_reduction, loops->sizes + loops->n_pointwise, &out->n_reduction);
  if (result == DONE && !is_complete(s)) result = INCOMPLETE;
  return result;
}

enum { FEW_GROUPS = 16 };

static outcome try_split(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                         const loom_loops *loops, const loom_split_options *options,
                         loom_split *out) {
  loom_expr few[FEW_GROUPS], *rest = few;
  size_t n_loops = loops->n_pointwise + loops->n_reduction;
  out->n_pieces = out->n_pointwise = out->n_reduction = 0;
  out->direct = false;
  if (n_loops == 0) return DONE;
  if (!reserve(ctx, out, n_groups, n_loops)) return FAILED;
  if (n_groups > FEW_GROUPS) rest = loom_realloc_array(ctx, NULL, 0, n_groups, sizeof *rest);
  if (!rest) return FAILED;
  bool good = true;
  for (size_t i = 0; i < n_groups; i++)
    good = (rest[i] = loom_simplify(ctx, groups[i])) != LOOM_NONE && good;
  splitter s = {.ctx = ctx, .n_groups = n_groups, .rest = rest, .out = out};
  if (options) {
    s.given = options->given;
    s.any_span = options->any_span;
    s.strict = options->given && options->given->strict;
  }
  outcome result = good ? split_lists(&s, loops) : FAILED;
  if (rest != few) loom_realloc_array(ctx, rest, n_groups, 0, sizeof *rest);
  return loom_base_failed(ctx) ? FAILED : result;
}

/* ---- messages ----------------------------------------------------------------------------- */

enum { MESSAGE_SIZE = 160 };

/* Appends "BEFORE[a, b, c]" to a text of MESSAGE_SIZE bytes, cut where it is full. */
static void append_sizes(loom_ctx *ctx, char *text, const char *before, size_t n,
                         const loom_expr *sizes) {
  size_t used = strlen(text);
  for (size_t i = 0; i <= n && used < MESSAGE_SIZE; i++) {
    char *printed = i < n ? loom_print(ctx, sizes[i], LOOM_INFIX) : NULL;
    int more = snprintf(text + used, MESSAGE_SIZE - used, "%s%s%s%s", i == 0 ? before : "",
                        i == 0  ? "["
                        : i < n ? ", "
                                : "",
                        printed ? printed : "", i < n ? "" : "]");
    loom_free(printed);
    used += more > 0 ? (size_t)more : 0;
  }
}

static loom_status refuse(loom_ctx *ctx, outcome result, size_t n_groups, const loom_expr *groups,
                          const loom_loops *loops) {
  if (result == DONE) return LOOM_OK;
  if (result == FAILED) return loom_error_status(ctx);
  char nest[MESSAGE_SIZE] = "", onto[MESSAGE_SIZE] = "";
  append_sizes(ctx, nest, "", loops->n_pointwise, loops->sizes);
  if (loops->n_reduction > 0)
    append_sizes(ctx, nest, " and reductions ", loops->n_reduction,
                 loops->sizes + loops->n_pointwise);
  append_sizes(ctx, onto, "", n_groups, groups);
  bool cannot = result == CANNOT;
  return loom_error_set(ctx, cannot ? LOOM_ERR_CANNOT_SPLIT : LOOM_ERR_INCOMPLETE_SPLIT,
                        cannot ? "loops %s cannot be split onto %s"
                               : "loops %s do not run over all of %s",
                        nest, onto);
}

/* ---- from outside ------------------------------------------------------------------------- */

static bool check_sizes(loom_ctx *ctx, size_t n, const loom_expr *sizes, const char *what) {
  for (size_t i = 0; i < n; i++)
    if (!loom_size_check(ctx, sizes[i], what)) return false;
  return true;
}

static bool check(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                  const loom_loops *loops) {
  return check_sizes(ctx, n_groups, groups, "the extent of a group") &&
         check_sizes(ctx, loops->n_pointwise + loops->n_reduction, loops->sizes,
                     "the size of a loop");
}

loom_status loom_split_loops(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                             const loom_loops *loops, const loom_split_options *options,
                             loom_split *out) {
  if (!check(ctx, n_groups, groups, loops)) return loom_error_status(ctx);
  return refuse(ctx, try_split(ctx, n_groups, groups, loops, options, out), n_groups, groups,
                loops);
}

static bool covers(loom_ctx *ctx, size_t n, const loom_expr *sizes, loom_expr extent,
                   const loom_given *given) {
  return loom_sizes_same(ctx, loom_size_product(ctx, n, sizes), extent, given);
}

/* Each list of loops is a group. */
static bool is_direct(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                      const loom_loops *loops, const loom_given *given) {
  const loom_expr *reduction = loops->sizes + loops->n_pointwise;
  return n_groups == 2 && covers(ctx, loops->n_pointwise, loops->sizes, groups[0], given) &&
         covers(ctx, loops->n_reduction, reduction, groups[1], given);
}

/* Every loop is a piece. */
static loom_status map_directly(loom_ctx *ctx, const loom_loops *loops, loom_split *out) {
  size_t n = loops->n_pointwise + loops->n_reduction;
  if (!reserve(ctx, out, 0, n)) return LOOM_ERR_MEMORY;
  for (size_t i = 0; i < n; i++) {
    out->pieces[i] = (loom_split_piece){loops->sizes[i], i >= loops->n_pointwise};
    out->getters[i] = (loom_getter){i, 1};
  }
  out->n_pieces = n;
  out->n_pointwise = loops->n_pointwise;
  out->n_reduction = loops->n_reduction;
  out->direct = true;
  return LOOM_OK;
}

loom_status loom_map_loops(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                           const loom_loops *loops, const loom_split_options *options,
                           loom_split *out) {
  if (!check(ctx, n_groups, groups, loops)) return loom_error_status(ctx);
  if (is_direct(ctx, n_groups, groups, loops, options ? options->given : NULL))
    return map_directly(ctx, loops, out);
  return loom_split_loops(ctx, n_groups, groups, loops, options, out);
}

bool loom_loops_lack_reduction(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                               const loom_loops *loops, loom_expr extent,
                               const loom_split_options *options) {
  const loom_given *given = options ? options->given : NULL;
  if (extent == LOOM_NONE || loops->n_reduction > 0 || loom_size_is_one(ctx, extent, given))
    return false;
  loom_expr all = loom_size_product(ctx, n_groups, groups);
  loom_expr pointwise = loom_size_product(ctx, loops->n_pointwise, loops->sizes);
  return loom_sizes_same(ctx, all, loom_mul(ctx, pointwise, extent), given);
}

/* The outcome for the loops with one more, a reduction. */
static outcome try_with(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                        const loom_loops *loops, loom_expr extent,
                        const loom_split_options *options, loom_split *out) {
  loom_expr few[FEW_GROUPS], *sizes = few;
  size_t n = loops->n_pointwise;
  if (n + 1 > FEW_GROUPS) sizes = loom_realloc_array(ctx, NULL, 0, n + 1, sizeof *sizes);
  if (!sizes) return FAILED;
  memcpy(sizes, loops->sizes, n * sizeof *sizes);
  sizes[n] = extent;
  outcome result = try_split(ctx, n_groups, groups, &(loom_loops){sizes, n, 1}, options, out);
  if (sizes != few) loom_realloc_array(ctx, sizes, n + 1, 0, sizeof *sizes);
  return result;
}

loom_status loom_loops_fit(loom_ctx *ctx, size_t n_groups, const loom_expr *groups,
                           const loom_loops *loops, loom_expr extent,
                           const loom_split_options *options) {
  if (!check(ctx, n_groups, groups, loops)) return loom_error_status(ctx);
  loom_split split = {0};
  outcome result = loom_loops_lack_reduction(ctx, n_groups, groups, loops, extent, options)
                       ? try_with(ctx, n_groups, groups, loops, extent, options, &split)
                       : try_split(ctx, n_groups, groups, loops, options, &split);
  loom_split_free(ctx, &split);
  switch (result) {
  case DONE: return LOOM_OK;
  case CANNOT: return LOOM_ERR_CANNOT_SPLIT;
  case INCOMPLETE: return LOOM_ERR_INCOMPLETE_SPLIT;
  default: return loom_error_status(ctx);
  }
}

loom_expr loom_getter_value(loom_ctx *ctx, const loom_split *split, loom_getter getter,
                            const loom_expr *values) {
  loom_expr value = loom_int(ctx, 0), weight = loom_int(ctx, 1);
  for (size_t i = getter.first + getter.count; i-- > getter.first;) {
    value = loom_add(ctx, loom_mul(ctx, weight, values[i]), value);
    if (i > getter.first) weight = loom_mul(ctx, weight, split->pieces[i].size);
  }
  return value;
}

void loom_split_free(loom_ctx *ctx, loom_split *split) {
  loom_realloc_array(ctx, split->pieces, split->capacity_pieces, 0, sizeof *split->pieces);
  loom_realloc_array(ctx, split->getters, split->capacity_getters, 0, sizeof *split->getters);
  *split = (loom_split){0};
}
