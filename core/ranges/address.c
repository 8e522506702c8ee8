/* SPDX-License-Identifier: MIT */
/* Properties of one access: its address over the loops of a nest (doc/formulas.md#merged-accesses).
** Invariant: a merged nest visits the same addresses; with the order kept, in the same order. */
#include "ranges/address.h"

#include <stdio.h>
#include <string.h>

#include "expr/ops.h"
#include "ranges/sizes.h"

/* ---- symbols ------------------------------------------------------------------------------ */

bool loom_list_symbols(loom_ctx *ctx, loom_expr e, loom_expr_list *list) {
  size_t n = loom_expr_symbols(ctx, e, list->at, list->capacity);
  if (loom_base_failed(ctx)) return false;
  if (n > list->capacity) {
    if (!loom_vec_reserve(ctx, list, n)) return false;
    n = loom_expr_symbols(ctx, e, list->at, n);
    if (loom_base_failed(ctx)) return false;
  }
  list->n = n;
  return true;
}

static bool is_numbered(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(name, prefix, n) == 0 && name[n] >= '0' && name[n] <= '9';
}

bool loom_symbol_is_tmp(const loom_ctx *ctx, loom_expr symbol) {
  return is_numbered(loom_symbol_name(ctx, symbol), "tmp");
}

bool loom_symbol_is_loaded(const loom_ctx *ctx, loom_expr symbol) {
  return loom_symbol_is_tmp(ctx, symbol) || is_numbered(loom_symbol_name(ctx, symbol), "indirect");
}

/* ---- merging ------------------------------------------------------------------------------ */

typedef struct nest {
  loom_ctx *ctx;
  size_t n, n_new;
  loom_expr *variables, *sizes, *strides, *new_sizes, *replaced;
  size_t *kept;
  void *block;
  size_t bytes;
} nest;

static bool nest_begin(loom_ctx *ctx, const loom_address *a, nest *out) {
  size_t n = a->n, bytes = (n + 1) * (5 * sizeof(loom_expr) + sizeof(size_t));
  char *block = loom_realloc(ctx, NULL, 0, bytes);
  if (!block) return false;
  *out = (nest){.ctx = ctx, .n = n, .block = block, .bytes = bytes};
  out->kept = (size_t *)(void *)block;
  loom_expr *next = (loom_expr *)(void *)(block + (n + 1) * sizeof(size_t));
  out->variables = next;
  out->sizes = next + n;
  out->strides = next + 2 * n;
  out->new_sizes = next + 3 * n;
  out->replaced = next + 4 * n;
  for (size_t i = 0; i < n; i++) {
    out->variables[i] = a->loops[i].variable;
    out->sizes[i] = a->loops[i].size;
  }
  return true;
}

static void nest_end(nest *n) {
  loom_realloc(n->ctx, n->block, n->bytes, 0);
}

static void swap(loom_expr *items, size_t i) {
  loom_expr item = items[i];
  items[i] = items[i - 1];
  items[i - 1] = item;
}

static bool falls(const nest *n, size_t i) {
  return loom_num_order(n->ctx, loom_num_of(n->ctx, n->strides[i - 1]),
                        loom_num_of(n->ctx, n->strides[i])) < 0;
}

/* By descending stride; loops of the same stride keep their order. */
static loom_status order_by_stride(nest *n, loom_expr index, const loom_given *given) {
  loom_status status =
      loom_stride_hints(n->ctx, index, n->n, n->variables, 0, NULL, given, n->strides);
  if (status != LOOM_OK) return status;
  for (size_t k = 1; k < n->n; k++)
    for (size_t i = k; i > 0 && falls(n, i); i--) {
      swap(n->strides, i);
      swap(n->variables, i);
      swap(n->sizes, i);
    }
  return LOOM_OK;
}

static loom_expr new_variable(loom_ctx *ctx, const char *prefix, size_t i) {
  char name[64];
  snprintf(name, sizeof name, "%.32s%zu", prefix, i);
  return loom_symbol(ctx, name, &(loom_assume){.integer = true, .has_min = true});
}

static loom_expr rename_loops(nest *n, loom_expr index, const char *prefix, loom_extent *loops) {
  for (size_t i = 0; i < n->n; i++) n->replaced[i] = loom_int(n->ctx, 0);
  for (size_t i = 0; i < n->n_new; i++) {
    loops[i] = (loom_extent){new_variable(n->ctx, prefix, i), n->new_sizes[i]};
    n->replaced[n->kept[i]] = loops[i].variable;
  }
  return loom_substitute(n->ctx, index, n->n, n->variables, n->replaced);
}

static bool occurs(loom_ctx *ctx, loom_expr e, loom_expr symbol) {
  loom_expr_list symbols = {0};
  bool found = false;
  if (loom_list_symbols(ctx, e, &symbols))
    for (size_t i = 0; !found && i < symbols.n; i++) found = symbols.at[i] == symbol;
  loom_vec_free(ctx, &symbols);
  return found;
}

static bool check(loom_ctx *ctx, const loom_address *a) {
  if (!loom_expr_check(ctx, a->index)) return false;
  for (size_t i = 0; i < a->n; i++)
    if (!loom_symbol_check(ctx, a->loops[i].variable) ||
        !loom_size_check(ctx, a->loops[i].size, "the size of a loop"))
      return false;
  return true;
}

ptrdiff_t loom_address_merge(loom_ctx *ctx, const loom_address *a, bool by_stride,
                             const char *prefix, const loom_given *given, loom_expr *index,
                             loom_extent *loops) {
  nest n;
  if (!check(ctx, a) || !nest_begin(ctx, a, &n)) return -1;
  bool good = !by_stride || order_by_stride(&n, a->index, given) == LOOM_OK;
  ptrdiff_t merged = good ? loom_merge_loops(ctx, n.n, n.variables, n.sizes, 1, &a->index, true,
                                             n.kept, n.new_sizes)
                          : -1;
  if (merged >= 0) {
    n.n_new = (size_t)merged;
    *index = rename_loops(&n, a->index, prefix, loops);
    while (!by_stride && merged > 0 && !occurs(ctx, *index, loops[merged - 1].variable)) merged--;
  }
  nest_end(&n);
  return merged >= 0 && *index != LOOM_NONE && !loom_base_failed(ctx) ? merged : -1;
}

/* ---- properties --------------------------------------------------------------------------- */

static bool is_loop(const loom_address *a, loom_expr e) {
  for (size_t i = 0; i < a->n; i++)
    if (a->loops[i].variable == e) return true;
  return false;
}

/* Whether some term of the sum is an integer above 1 times the variable, and none the variable. */
static bool is_multiple_of(loom_ctx *ctx, loom_expr e, loom_expr variable) {
  bool sum = loom_kind_of(ctx, e) == LOOM_ADD;
  for (size_t i = 0, n = sum ? loom_add_count(ctx, e) : 1; i < n; i++) {
    loom_term term = sum ? loom_add_term(ctx, e, i) : loom_split_coef(ctx, e);
    if (term.id == variable)
      return loom_num_is_int(ctx, term.coef) && loom_num_sign(ctx, term.coef) > 0 &&
             !loom_num_is_one(term.coef);
  }
  return false;
}

static bool steps_by_one(loom_ctx *ctx, loom_expr e, loom_expr variable) {
  loom_expr one = loom_int(ctx, 1);
  return loom_simplify(ctx, loom_difference(ctx, e, variable, one)) == one;
}

/* Whether the merged nest is one loop over neighbours. */
static bool is_contiguous_merged(loom_ctx *ctx, const loom_address *a, loom_expr offset,
                                 const loom_given *given) {
  loom_expr index;
  loom_extent *loops = loom_realloc_array(ctx, NULL, 0, a->n + 1, sizeof *loops);
  if (!loops) return false;
  ptrdiff_t n = loom_address_merge(ctx, a, false, "c", given, &index, loops);
  bool contiguous = n == 0;
  if (n == 1) contiguous = loom_simplify(ctx, loom_sub(ctx, index, offset)) == loops[0].variable;
  loom_realloc_array(ctx, loops, a->n + 1, 0, sizeof *loops);
  return contiguous;
}

/* scalar, indirect and the product of the sizes of the variables used. */
static bool look_at_symbols(loom_ctx *ctx, const loom_address *a, loom_address_features *out) {
  loom_expr_list symbols = {0};
  bool good = loom_list_symbols(ctx, a->index, &symbols);
  out->scalar = true;
  out->elements = loom_int(ctx, 1);
  for (size_t i = 0; i < symbols.n; i++) {
    if (loom_symbol_is_loaded(ctx, symbols.at[i])) out->indirect = true;
    if (is_loop(a, symbols.at[i])) out->scalar = false;
  }
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < symbols.n; k++)
      if (symbols.at[k] == a->loops[i].variable)
        out->elements = loom_mul(ctx, out->elements, a->loops[i].size);
  if (out->indirect) out->scalar = false;
  loom_vec_free(ctx, &symbols);
  return good;
}

static loom_expr offset_of(loom_ctx *ctx, const loom_address *a) {
  nest n;
  if (!nest_begin(ctx, a, &n)) return LOOM_NONE;
  loom_expr offset = loom_offset(ctx, a->index, n.n, n.variables);
  nest_end(&n);
  return offset;
}

loom_status loom_address_look(loom_ctx *ctx, const loom_address *a, loom_expr elements,
                              const loom_given *given, loom_address_features *out) {
  bool strict = given && given->strict;
  *out = (loom_address_features){0};
  if (!check(ctx, a) || !loom_size_check(ctx, elements, "the size of a buffer") ||
      !look_at_symbols(ctx, a, out))
    return loom_error_status(ctx);
  out->offset = offset_of(ctx, a);
  if (out->indirect) out->elements = elements;
  loom_expr last = a->n > 0 ? a->loops[a->n - 1].variable : LOOM_NONE;
  if (strict) {
    out->contiguous = !out->indirect && is_contiguous_merged(ctx, a, out->offset, given);
    out->stride1_last = a->n == 0 || steps_by_one(ctx, a->index, last);
    out->elements = loom_min(ctx, 2, (loom_expr[]){out->elements, elements});
  } else {
    out->contiguous = is_loop(a, a->index) || loom_expr_is_num(ctx, a->index);
    out->stride1_last = a->n == 0 || !is_multiple_of(ctx, a->index, last);
  }
  return out->offset == LOOM_NONE || out->elements == LOOM_NONE ? loom_error_status(ctx) : LOOM_OK;
}
