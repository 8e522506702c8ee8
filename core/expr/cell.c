/* SPDX-License-Identifier: MIT */
/* What a cell holds, kind by kind: hashing, comparing, filling and emptying payloads, children.
** Invariant: the hash of a node depends on kinds, numbers, names and assumptions alone, never on
** ids or on the order in which terms are stored. */
#include "expr/function.h"
#include "expr/make.h"

#include <assert.h>
#include <string.h>

/* ---- payloads ------------------------------------------------------------------------------- */

static size_t payload_size(const loom_cell *cell, loom_kind kind) {
  size_t n = cell->count;
  switch (kind) {
  case LOOM_NUM:
  case LOOM_POW: return 0;
  case LOOM_SYM: return sizeof(loom_symbol_data) + cell->u.symbol->length + 1;
  case LOOM_MUL: return n * sizeof(loom_power);
  case LOOM_ADD: return (n + 1) * sizeof(loom_packed) + n * sizeof(loom_expr);
  case LOOM_CALL: return sizeof(loom_call_data) + n * sizeof(loom_expr);
  default: return loom_args_inline(kind, cell->count) ? 0 : n * sizeof(loom_expr);
  }
}

static bool fill_symbol(loom_ctx *ctx, loom_cell *cell, const loom_symbol_data *from) {
  size_t size = sizeof *from + from->length + 1;
  loom_symbol_data *symbol = loom_pool_new(ctx, size);
  if (!symbol) return false;
  *symbol = *from;
  memcpy(symbol->name, from->name, from->length);
  symbol->name[from->length] = '\0';
  cell->u.symbol = symbol;
  return true;
}

static bool fill_sum(loom_ctx *ctx, loom_cell *cell, const loom_draft *d) {
  size_t n = d->count, coefs = (n + 1) * sizeof *d->packed;
  char *block = loom_pool_new(ctx, coefs + n * sizeof *d->args);
  if (!block) return false;
  memcpy(block, d->packed, coefs);
  memcpy(block + coefs, d->args, n * sizeof *d->args);
  cell->u.add = (loom_add_data *)(void *)block;
  return true;
}

static bool fill_call(loom_ctx *ctx, loom_cell *cell, const loom_draft *d) {
  loom_call_data *call = loom_pool_new(ctx, sizeof *call + d->count * sizeof *d->args);
  if (!call) return false;
  call->function = loom_function_hold(d->function);
  memcpy(call->args, d->args, d->count * sizeof *d->args);
  cell->u.call = call;
  return true;
}

static bool fill_args(loom_ctx *ctx, loom_cell *cell, const loom_draft *d) {
  loom_expr *to = cell->u.arg;
  if (!loom_args_inline(d->kind, d->count)) {
    to = loom_pool_new(ctx, d->count * sizeof *to);
    if (!to) return false;
    cell->u.args = to;
  }
  memcpy(to, d->args, d->count * sizeof *to);
  return true;
}

bool loom_cell_fill(loom_ctx *ctx, loom_cell *cell, const loom_draft *d) {
  switch (d->kind) {
  case LOOM_NUM: cell->v.num = d->num; return true;
  case LOOM_SYM: return fill_symbol(ctx, cell, d->symbol);
  case LOOM_POW: cell->u.power = *d->powers; return true;
  case LOOM_MUL:
    cell->u.powers = loom_pool_new(ctx, d->count * sizeof *d->powers);
    if (cell->u.powers) memcpy(cell->u.powers, d->powers, d->count * sizeof *d->powers);
    return cell->u.powers != NULL;
  case LOOM_ADD: return fill_sum(ctx, cell, d);
  case LOOM_CALL: return fill_call(ctx, cell, d);
  default: return fill_args(ctx, cell, d);
  }
}

void loom_cell_empty(loom_ctx *ctx, loom_cell *cell) {
  size_t size = payload_size(cell, (loom_kind)cell->kind);
  if (cell->kind == LOOM_CALL) loom_function_free(cell->u.call->function);
  if (size) loom_pool_release(ctx, cell->u.args, size);
}

/* ---- children ------------------------------------------------------------------------------- */

size_t loom_child_count(const loom_ctx *ctx, loom_expr e) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  return cell->kind <= LOOM_SYM ? 0 : cell->count;
}

loom_expr loom_child(const loom_ctx *ctx, loom_expr e, size_t i) {
  const loom_cell *cell = loom_cell_of(ctx, e);
  assert(i < cell->count);
  switch (cell->kind) {
  case LOOM_POW: return cell->u.power.base;
  case LOOM_MUL: return cell->u.powers[i].base;
  case LOOM_ADD: return loom_cell_ids(cell)[i];
  default: return loom_cell_args(cell)[i];
  }
}

static void visit_packed(loom_ctx *ctx, loom_packed p, void (*visit)(loom_ctx *, loom_expr)) {
  if ((p & 0xffff) == 0) visit(ctx, (loom_expr)(p >> 16));
}

void loom_cell_references(loom_ctx *ctx, const loom_cell *cell,
                          void (*visit)(loom_ctx *ctx, loom_expr e)) {
  uint32_t n = cell->count;
  switch (cell->kind) {
  case LOOM_NUM: return;
  case LOOM_SYM:
    if (cell->u.symbol->assume.divides != LOOM_NONE) visit(ctx, cell->u.symbol->assume.divides);
    return;
  case LOOM_POW: visit(ctx, cell->u.power.base); return;
  case LOOM_MUL:
    for (uint32_t i = 0; i < n; i++) visit(ctx, cell->u.powers[i].base);
    return;
  case LOOM_ADD:
    visit_packed(ctx, cell->u.add->constant, visit);
    for (uint32_t i = 0; i < n; i++) visit_packed(ctx, cell->u.add->coef[i], visit);
    for (uint32_t i = 0; i < n; i++) visit(ctx, loom_cell_ids(cell)[i]);
    return;
  default:
    for (uint32_t i = 0; i < n; i++) visit(ctx, loom_cell_args(cell)[i]);
  }
}
