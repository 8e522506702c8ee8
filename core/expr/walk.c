/* SPDX-License-Identifier: MIT */
/* Walks over distinct sub-expressions, children first, without recursion.
** Invariant: a stack entry is a node still to be opened, or an opened one whose children lie above.
 */
#include "expr/make.h"

#include <stdlib.h>
#include <string.h>

#define OPENED ((uint64_t)1 << 32)

static bool grow_side(loom_ctx *ctx, loom_side *side, size_t n) {
  size_t capacity = side->capacity ? side->capacity * 2 : LOOM_PAGE_SIZE;
  if (capacity < n) capacity = n;
  uint32_t *seen = loom_realloc_array(ctx, NULL, 0, capacity, sizeof *seen);
  uint32_t *value = seen ? loom_realloc_array(ctx, NULL, 0, capacity, sizeof *value) : NULL;
  if (!value) {
    if (seen) loom_realloc_array(ctx, seen, capacity, 0, sizeof *seen);
    return false;
  }
  memset(seen, 0, capacity * sizeof *seen);
  if (side->capacity) {
    memcpy(seen, side->seen, side->capacity * sizeof *seen);
    memcpy(value, side->value, side->capacity * sizeof *value);
  }
  loom_realloc_array(ctx, side->seen, side->capacity, 0, sizeof *seen);
  loom_realloc_array(ctx, side->value, side->capacity, 0, sizeof *value);
  side->seen = seen;
  side->value = value;
  side->capacity = capacity;
  return true;
}

bool loom_walk_begin(loom_ctx *ctx, loom_walk *walk, bool canonical) {
  *walk = (loom_walk){.ctx = ctx, .canonical = canonical};
  for (int i = 0; i < LOOM_WALK_LEVELS && !walk->side; i++)
    if (!ctx->side[i].busy) walk->side = &ctx->side[i];
  if (!walk->side) {
    loom_error_set(ctx, LOOM_ERR_LIMIT, "more than %d nested walks", LOOM_WALK_LEVELS);
    return false;
  }
  loom_side *side = walk->side;
  if (++side->epoch == 0) {
    if (side->seen) memset(side->seen, 0, side->capacity * sizeof *side->seen);
    side->epoch = 1;
  }
  side->busy = true;
  return true;
}

bool loom_walk_seen(const loom_walk *walk, loom_expr e) {
  return e < walk->side->capacity && walk->side->seen[e] == walk->side->epoch;
}

uint32_t loom_walk_get(const loom_walk *walk, loom_expr e) {
  return loom_walk_seen(walk, e) ? walk->side->value[e] : 0;
}

void loom_walk_set(loom_walk *walk, loom_expr e, uint32_t value) {
  loom_side *side = walk->side;
  if (e >= side->capacity && !grow_side(walk->ctx, side, walk->ctx->n_cells)) {
    walk->failed = true;
    return;
  }
  side->seen[e] = side->epoch;
  side->value[e] = value;
}

static void push(loom_walk *walk, loom_expr e) {
  if (loom_walk_seen(walk, e)) return;
  if (!loom_vec_push(walk->ctx, &walk->stack, (uint64_t)e)) walk->failed = true;
}

void loom_walk_root(loom_walk *walk, loom_expr e) {
  push(walk, e);
}

static void push_in_order(loom_walk *walk, loom_expr e, size_t n) {
  uint32_t few[32], *order = few;
  if (n > 32) order = loom_realloc_array(walk->ctx, NULL, 0, n, sizeof *order);
  if (!order) {
    walk->failed = true;
    return;
  }
  loom_child_order(walk->ctx, e, order);
  for (size_t i = n; i > 0; i--) push(walk, loom_child(walk->ctx, e, order[i - 1]));
  if (order != few) loom_realloc_array(walk->ctx, order, n, 0, sizeof *order);
}

static void push_children(loom_walk *walk, loom_expr e) {
  size_t n = loom_child_count(walk->ctx, e);
  if (walk->canonical && n > 1) {
    push_in_order(walk, e, n);
    return;
  }
  for (size_t i = n; i > 0; i--) push(walk, loom_child(walk->ctx, e, i - 1));
}

loom_expr loom_walk_next(loom_walk *walk) {
  while (walk->stack.n > 0 && !walk->failed) {
    uint64_t *top = &walk->stack.at[walk->stack.n - 1];
    loom_expr e = (loom_expr)*top;
    if (*top & OPENED) {
      walk->stack.n--;
      return e;
    }
    if (loom_walk_seen(walk, e)) {
      walk->stack.n--;
      continue;
    }
    *top |= OPENED;
    loom_walk_set(walk, e, 0);
    push_children(walk, e);
  }
  return LOOM_NONE;
}

bool loom_walk_end(loom_walk *walk) {
  loom_vec_free(walk->ctx, &walk->stack);
  walk->side->busy = false;
  return !walk->failed;
}
