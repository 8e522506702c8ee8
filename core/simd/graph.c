/* SPDX-License-Identifier: MIT */
/* Graphs: their life, names and buffers.
** Invariant: a name is that of one buffer and of one operation at most. */
#include "simd/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "expr/index.h"
#include "expr/ops.h"
#include "ranges/sizes.h"

/* ---- names of kinds ----------------------------------------------------------------------- */

#define NAME(enumerator, name) name,
#define LISTED(function, type, list, count)                \
  const char *function(type value) {                       \
    static const char *const names[] = {list(NAME)};       \
    return (unsigned)value < (count) ? names[value] : "?"; \
  }
LISTED(loom_op_kind_name, loom_op_kind, LOOM_OP_KIND_LIST, LOOM_N_OP_KINDS)
LISTED(loom_reduction_hint_name, loom_reduction_hint, LOOM_REDUCTION_HINT_LIST,
       LOOM_N_REDUCTION_HINTS)
LISTED(loom_use_mode_name, loom_use_mode, LOOM_USE_MODE_LIST, LOOM_N_USE_MODES)
#undef LISTED
#undef NAME

const char *loom_dtype_name(loom_dtype dtype) {
  static const char *const names[] = {
#define NAME(enumerator, name, bytes) name,
      LOOM_DTYPE_LIST(NAME)
#undef NAME
  };
  return (unsigned)dtype < LOOM_N_DTYPES ? names[dtype] : "?";
}

int loom_dtype_bytes(loom_dtype dtype) {
  static const int sizes[] = {
#define BYTES(enumerator, name, bytes) bytes,
      LOOM_DTYPE_LIST(BYTES)
#undef BYTES
  };
  return (unsigned)dtype < LOOM_N_DTYPES ? sizes[dtype] : 0;
}

/* ---- life --------------------------------------------------------------------------------- */

static void mark_list(loom_ctx *ctx, size_t n, const loom_expr *list) {
  for (size_t i = 0; i < n; i++)
    if (list[i] != LOOM_NONE) loom_gc_mark(ctx, list[i]);
}

static void mark_loops(loom_ctx *ctx, size_t n, const loom_extent *loops) {
  for (size_t i = 0; i < n; i++) mark_list(ctx, 2, (loom_expr[]){loops[i].variable, loops[i].size});
}

static void mark_uses(loom_ctx *ctx, size_t n, const loom_use *uses) {
  for (size_t i = 0; i < n; i++) mark_list(ctx, 1, &uses[i].index);
}

static void mark_candidates(loom_ctx *ctx, const loom_candidates *c) {
  mark_list(ctx, 2, (loom_expr[]){c->extent, c->reduction_extent});
  for (size_t i = 0; i < c->n; i++) {
    mark_list(ctx, 1, &c->list[i].score);
    mark_list(ctx, c->list[i].tiling.n, c->list[i].tiling.extent);
  }
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  const loom_graph *g = (const loom_graph *)(const void *)owner;
  mark_loops(ctx, g->extents.n, g->extents.at);
  for (size_t i = 0; i < g->hints.n; i++)
    mark_list(ctx, 2, (loom_expr[]){g->hints.at[i].symbol, g->hints.at[i].value});
  for (size_t i = 0; i < g->buffers.n; i++) {
    const loom_buffer *b = &g->buffers.at[i];
    mark_list(ctx, b->rank, b->sizes);
    mark_list(ctx, b->rank, b->strides);
    mark_list(ctx, 3, (loom_expr[]){b->offset, b->elements, b->storage});
  }
  for (size_t i = 0; i < g->ops.n; i++) {
    const loom_op *op = &g->ops.at[i];
    mark_loops(ctx, op->n_pointwise + op->n_reduction, op->loops);
    mark_uses(ctx, op->n_reads, op->reads);
    mark_uses(ctx, op->n_writes, op->writes);
    mark_list(ctx, 3, (loom_expr[]){op->extent, op->reduction_extent, op->flops});
  }
  for (size_t i = 0; i < g->merged.n; i++) {
    const loom_merged *m = &g->merged.at[i];
    mark_list(ctx, 2, (loom_expr[]){m->index, m->merged_index});
    mark_loops(ctx, m->n, m->loops);
    mark_loops(ctx, m->n_merged, m->merged_loops);
  }
  for (size_t i = 0; i < g->candidates.n; i++) mark_candidates(ctx, &g->candidates.at[i]);
  for (size_t i = 0; i < g->deps.n; i++) {
    const loom_dep *d = g->deps.at[i];
    mark_list(ctx, 3, (loom_expr[]){d->index, d->elements, d->moved});
  }
}

/* A copy of what is given, whose symbols and sizes are checked. */
static bool copy_given(loom_graph *g, const loom_given *given) {
  loom_ctx *ctx = g->ctx;
  if (!given) return true;
  g->given.strict = given->strict;
  for (size_t i = 0; i < given->n_extents; i++)
    if (!loom_symbol_check(ctx, given->extents[i].variable) ||
        !loom_expr_check(ctx, given->extents[i].size) ||
        !loom_vec_push(ctx, &g->extents, given->extents[i]))
      return false;
  for (size_t i = 0; i < given->n_hints; i++)
    if (!loom_symbol_check(ctx, given->hints[i].symbol) ||
        !loom_vec_push(ctx, &g->hints, given->hints[i]))
      return false;
  g->given = (loom_given){g->extents.at, g->extents.n, g->hints.at, g->hints.n, given->strict};
  return true;
}

loom_graph *loom_graph_new(loom_ctx *ctx, const loom_given *given) {
  loom_graph *g = loom_realloc(ctx, NULL, 0, sizeof *g);
  if (!g) return NULL;
  *g = (loom_graph){.ctx = ctx};
  loom_arena_init(&g->arena, ctx);
  loom_owner_add(ctx, &g->owner, mark);
  if (copy_given(g, given)) return g;
  loom_graph_free(g);
  return NULL;
}

loom_graph *loom_graph_hold(loom_graph *g) {
  g->n_holds++;
  return g;
}

void loom_graph_free(loom_graph *g) {
  if (!g || g->n_holds-- > 0) return;
  loom_ctx *ctx = g->ctx;
  loom_vec_free(ctx, &g->extents);
  loom_vec_free(ctx, &g->hints);
  loom_vec_free(ctx, &g->buffers);
  loom_vec_free(ctx, &g->ops);
  loom_vec_free(ctx, &g->merged);
  loom_vec_free(ctx, &g->deps);
  loom_vec_free(ctx, &g->found);
  loom_vec_free(ctx, &g->stamps);
  loom_vec_free(ctx, &g->candidates);
  loom_vec_free(ctx, &g->reach);
  loom_vec_free(ctx, &g->lists);
  loom_vec_free(ctx, &g->list_of);
  loom_vec_free(ctx, &g->stack);
  loom_vec_free(ctx, &g->numbers);
  loom_table_free(ctx, &g->buffer_names);
  loom_table_free(ctx, &g->op_names);
  loom_table_free(ctx, &g->merged_places);
  loom_table_free(ctx, &g->dep_places);
  loom_arena_free(&g->arena);
  loom_owner_remove(&g->owner);
  loom_realloc(ctx, g, sizeof *g, 0);
}

int loom_graph_bad(loom_graph *g, const char *format, ...) {
  char message[LOOM_MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  loom_error_set(g->ctx, LOOM_ERR_BAD_GRAPH, "%s", message);
  return -1;
}

/* ---- looking ------------------------------------------------------------------------------ */

size_t loom_graph_buffers(const loom_graph *g, const loom_buffer **buffers) {
  if (buffers) *buffers = g->buffers.at;
  return g->buffers.n;
}

size_t loom_graph_ops(const loom_graph *g, const loom_op **ops) {
  if (ops) *ops = g->ops.at;
  return g->ops.n;
}

const loom_given *loom_graph_given(const loom_graph *g) {
  return &g->given;
}

static bool same_buffer(const void *data, uint32_t i, const void *key) {
  return strcmp(((const loom_graph *)data)->buffers.at[i].name, key) == 0;
}

static bool same_op(const void *data, uint32_t i, const void *key) {
  return strcmp(((const loom_graph *)data)->ops.at[i].name, key) == 0;
}

int loom_graph_find_buffer(const loom_graph *g, const char *name) {
  return (int)loom_table_find(&g->buffer_names, loom_table_hash_text(name), same_buffer, g, name);
}

int loom_graph_find_op(const loom_graph *g, const char *name) {
  return (int)loom_table_find(&g->op_names, loom_table_hash_text(name), same_op, g, name);
}

/* ---- sizes -------------------------------------------------------------------------------- */

static void report_hinted(loom_graph *g, const char *what, const char *name, loom_expr size,
                          loom_expr value) {
  loom_ctx *ctx = g->ctx;
  loom_hint hint = {LOOM_NONE, LOOM_NONE};
  for (size_t i = g->hints.n; i-- > 0;)
    if (loom_occurs(ctx, g->hints.at[i].symbol, size)) hint = g->hints.at[i];
  char *texts[] = {loom_print(ctx, size, LOOM_INFIX), loom_print(ctx, value, LOOM_INFIX),
                   hint.value == LOOM_NONE ? NULL : loom_print(ctx, hint.value, LOOM_INFIX)};
  if (texts[0] && texts[1] && texts[2])
    loom_graph_bad(g, "%s '%s' has a size of %s, which is %s at the hint %s = %s", what, name,
                   texts[0], texts[1], loom_symbol_name(ctx, hint.symbol), texts[2]);
  else
    loom_graph_bad(g, "%s '%s' has a size that is negative at the hints", what, name);
  for (size_t i = 0; i < 3; i++) loom_free(texts[i]);
}

bool loom_graph_check_hinted(loom_graph *g, const char *what, const char *name, loom_expr size) {
  loom_expr value;
  if (!loom_hint_value(g->ctx, size, &g->given, &value)) return !loom_base_failed(g->ctx);
  if (loom_known_lt(g->ctx, value, loom_int(g->ctx, 0)) != LOOM_YES) return true;
  report_hinted(g, what, name, size, value);
  return false;
}

/* ---- buffers ------------------------------------------------------------------------------ */

static loom_expr *copy_list(loom_graph *g, size_t n, const loom_expr *list) {
  loom_expr *copy = loom_arena_array(&g->arena, n, sizeof *copy);
  if (copy && n > 0) memcpy(copy, list, n * sizeof *copy);
  return copy;
}

static loom_expr *row_major(loom_graph *g, size_t n, const loom_expr *sizes) {
  loom_expr *strides = loom_arena_array(&g->arena, n, sizeof *strides);
  loom_expr step = loom_int(g->ctx, 1);
  for (size_t i = n; strides && i > 0; i--) {
    strides[i - 1] = step;
    step = loom_mul(g->ctx, step, sizes[i - 1]);
  }
  return strides;
}

/* offset + 1 + the strides times what the indices can be; 0 without elements. */
static loom_expr storage_of(loom_ctx *ctx, const loom_buffer *b) {
  if (b->elements == loom_int(ctx, 0)) return b->elements;
  loom_expr one = loom_int(ctx, 1), storage = loom_add(ctx, b->offset, one);
  for (size_t i = 0; i < b->rank; i++) {
    loom_expr last = loom_sub(ctx, b->sizes[i], one);
    storage = loom_add(ctx, storage, loom_mul(ctx, last, b->strides[i]));
  }
  return loom_simplify(ctx, storage);
}

static bool check_buffer(loom_graph *g, const loom_buffer_info *info) {
  if ((unsigned)info->dtype >= LOOM_N_DTYPES) {
    loom_graph_bad(g, "buffer '%s' has no known dtype", info->name);
    return false;
  }
  if (loom_graph_find_buffer(g, info->name) >= 0) {
    loom_graph_bad(g, "buffer '%s' is given twice", info->name);
    return false;
  }
  for (size_t i = 0; i < info->rank; i++)
    if (!loom_size_check(g->ctx, info->sizes[i], "the size of a buffer") ||
        !loom_graph_check_hinted(g, "buffer", info->name, info->sizes[i]) ||
        (info->strides && !loom_expr_check(g->ctx, info->strides[i])))
      return false;
  return info->offset == LOOM_NONE || loom_expr_check(g->ctx, info->offset);
}

int loom_graph_buffer(loom_graph *g, const loom_buffer_info *info) {
  loom_ctx *ctx = g->ctx;
  if (!check_buffer(g, info)) return -1;
  loom_buffer b = {.rank = info->rank,
                   .dtype = info->dtype,
                   .output = info->output,
                   .writer = -1,
                   .updates = -1,
                   .updated_by = -1};
  b.name = loom_arena_string(&g->arena, info->name);
  b.sizes = copy_list(g, b.rank, info->sizes);
  if (!b.name || !b.sizes) return -1;
  b.strides = info->strides ? copy_list(g, b.rank, info->strides) : row_major(g, b.rank, b.sizes);
  if (!b.strides) return -1;
  b.offset = info->offset == LOOM_NONE ? loom_int(ctx, 0) : info->offset;
  b.elements = loom_size_product(ctx, b.rank, b.sizes);
  b.storage = storage_of(ctx, &b);
  size_t number = g->buffers.n;
  if (b.elements == LOOM_NONE || b.storage == LOOM_NONE || loom_base_failed(ctx) ||
      !loom_vec_reserve(ctx, &g->buffers, 1) ||
      !loom_table_add(ctx, &g->buffer_names, loom_table_hash_text(b.name), (uint32_t)number))
    return -1;
  g->buffers.at[g->buffers.n++] = b;
  return (int)number;
}

loom_status loom_graph_remove(loom_graph *g, int buffer, bool removed) {
  if (buffer < 0 || (size_t)buffer >= g->buffers.n)
    return loom_error_set(g->ctx, LOOM_ERR_ARGUMENT, "the graph has no buffer number %d", buffer);
  g->buffers.at[buffer].removed = removed;
  g->candidates.n = 0;
  return LOOM_OK;
}

bool loom_graph_stamp(loom_graph *g) {
  if (g->stamps.n < g->buffers.n &&
      !loom_vec_reserve(g->ctx, &g->stamps, g->buffers.n - g->stamps.n))
    return false;
  while (g->stamps.n < g->buffers.n) g->stamps.at[g->stamps.n++] = 0;
  g->epoch++;
  return true;
}

bool loom_graph_use(loom_graph *g, int buffer, int op, bool order) {
  loom_buffer *b = &g->buffers.at[buffer];
  loom_user *users = (loom_user *)(uintptr_t)b->users;
  size_t n = b->n_users;
  if (n > 0 && users[n - 1].op == op) {
    users[n - 1].order = users[n - 1].order && order;
    return true;
  }
  if ((n & (n - 1)) == 0) {
    loom_user *more = loom_arena_array(&g->arena, n ? 2 * n : 1, sizeof *more);
    if (!more) return false;
    if (n > 0) memcpy(more, users, n * sizeof *more);
    b->users = users = more;
  }
  users[b->n_users++] = (loom_user){op, order};
  return true;
}
