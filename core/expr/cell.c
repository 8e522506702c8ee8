/* SPDX-License-Identifier: MIT */
/* What a cell holds, kind by kind: hashing, comparing, filling and emptying payloads, children.
** Invariant: the hash of a node depends on kinds, numbers, names and assumptions alone, never on
** ids or on the order in which terms are stored. */
#include "expr/make.h"

#include <assert.h>
#include <string.h>

/* ---- hashing -------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t a, uint32_t b) {
  uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93u;
  return (uint32_t)(h ^ (h >> 32));
}

static uint32_t hash_of(const loom_ctx *ctx, loom_expr e) {
  return loom_cell_of(ctx, e)->hash;
}

static uint32_t hash_packed(const loom_ctx *ctx, loom_packed p) {
  if ((p & 0xffff) == 0) return hash_of(ctx, (loom_expr)(p >> 16));
  return (uint32_t)p ^ (uint32_t)((uint64_t)p >> 32) * 0x85ebca6bu;
}

static uint32_t hash_symbol(const loom_ctx *ctx, const loom_symbol_data *symbol) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < symbol->length; i++)
    h = (h ^ (unsigned char)symbol->name[i]) * 16777619u;
  const loom_assume *a = &symbol->assume;
  h = mix(h, (uint32_t)(a->integer | a->has_min << 1 | a->has_max << 2));
  h = mix(h, (uint32_t)a->min ^ (uint32_t)((uint64_t)a->min >> 32) * 31u);
  h = mix(h, (uint32_t)a->max ^ (uint32_t)((uint64_t)a->max >> 32) * 31u);
  h = mix(h, (uint32_t)a->multiple ^ (uint32_t)((uint64_t)a->multiple >> 32) * 31u);
  return a->divides == LOOM_NONE ? h : mix(h, hash_of(ctx, a->divides));
}

static uint32_t hash_powers(const loom_ctx *ctx, const loom_draft *d) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < d->count; i++)
    sum += mix(hash_of(ctx, d->powers[i].base), (uint32_t)d->powers[i].exponent);
  return sum;
}

static uint32_t hash_sum(const loom_ctx *ctx, const loom_draft *d) {
  uint32_t sum = mix(1, hash_packed(ctx, d->packed[0]));
  for (uint32_t i = 0; i < d->count; i++)
    sum += mix(hash_of(ctx, d->args[i]), hash_packed(ctx, d->packed[i + 1]));
  return sum;
}

static uint32_t hash_args(const loom_ctx *ctx, const loom_draft *d) {
  bool unordered = d->kind == LOOM_MIN || d->kind == LOOM_MAX;
  uint32_t h = 0;
  for (uint32_t i = 0; i < d->count; i++)
    h = unordered ? h + mix(hash_of(ctx, d->args[i]), 1) : mix(h, hash_of(ctx, d->args[i]));
  return h;
}

static uint32_t hash_content(const loom_ctx *ctx, const loom_draft *d) {
  switch (d->kind) {
  case LOOM_NUM: return loom_num_hash(ctx, d->num);
  case LOOM_SYM: return hash_symbol(ctx, d->symbol);
  case LOOM_POW:
  case LOOM_MUL: return hash_powers(ctx, d);
  case LOOM_ADD: return hash_sum(ctx, d);
  default: return hash_args(ctx, d);
  }
}

uint32_t loom_hash_draft(const loom_ctx *ctx, const loom_draft *draft) {
  return mix(hash_content(ctx, draft), (uint32_t)draft->kind + 1);
}

/* ---- payloads ------------------------------------------------------------------------------- */

static bool inline_args(loom_kind kind, uint32_t count) {
  return kind > LOOM_ADD && kind != LOOM_MIN && kind != LOOM_MAX && count <= 2;
}

static size_t payload_size(const loom_cell *cell, loom_kind kind) {
  size_t n = cell->count;
  switch (kind) {
  case LOOM_NUM:
  case LOOM_POW: return 0;
  case LOOM_SYM: return sizeof(loom_symbol_data) + cell->u.symbol->length + 1;
  case LOOM_MUL: return n * sizeof(loom_power);
  case LOOM_ADD: return (n + 1) * sizeof(loom_packed) + n * sizeof(loom_expr);
  default: return inline_args(kind, cell->count) ? 0 : n * sizeof(loom_expr);
  }
}

static bool same_symbol(const loom_symbol_data *a, const loom_symbol_data *b) {
  const loom_assume *x = &a->assume, *y = &b->assume;
  return a->length == b->length && memcmp(a->name, b->name, a->length) == 0 &&
         x->integer == y->integer && x->has_min == y->has_min && x->has_max == y->has_max &&
         x->min == y->min && x->max == y->max && x->multiple == y->multiple &&
         x->divides == y->divides;
}

static const loom_expr *args_of(const loom_cell *cell) {
  return inline_args((loom_kind)cell->kind, cell->count) ? cell->u.arg : cell->u.args;
}

static const loom_expr *ids_of(const loom_cell *cell) {
  return (const loom_expr *)(const void *)&cell->u.add->coef[cell->count];
}

bool loom_cell_matches(const loom_cell *cell, const loom_draft *d) {
  if (cell->kind != (uint8_t)d->kind || cell->count != d->count) return false;
  size_t n = d->count;
  switch (d->kind) {
  case LOOM_NUM: return loom_num_same(cell->v.num, d->num);
  case LOOM_SYM: return same_symbol(cell->u.symbol, d->symbol);
  case LOOM_POW:
    return cell->u.power.base == d->powers->base && cell->u.power.exponent == d->powers->exponent;
  case LOOM_MUL: return memcmp(cell->u.powers, d->powers, n * sizeof *d->powers) == 0;
  case LOOM_ADD:
    return memcmp(cell->u.add, d->packed, (n + 1) * sizeof *d->packed) == 0 &&
           memcmp(ids_of(cell), d->args, n * sizeof *d->args) == 0;
  default: return memcmp(args_of(cell), d->args, n * sizeof *d->args) == 0;
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

static bool fill_args(loom_ctx *ctx, loom_cell *cell, const loom_draft *d) {
  loom_expr *to = cell->u.arg;
  if (!inline_args(d->kind, d->count)) {
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
  default: return fill_args(ctx, cell, d);
  }
}

void loom_cell_empty(loom_ctx *ctx, loom_cell *cell) {
  size_t size = payload_size(cell, (loom_kind)cell->kind);
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
  case LOOM_ADD: return ids_of(cell)[i];
  default: return args_of(cell)[i];
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
    for (uint32_t i = 0; i < n; i++) visit(ctx, ids_of(cell)[i]);
    return;
  default:
    for (uint32_t i = 0; i < n; i++) visit(ctx, args_of(cell)[i]);
  }
}

/* ---- makers --------------------------------------------------------------------------------- */

loom_expr loom_make_args(loom_ctx *ctx, loom_kind kind, size_t n, const loom_expr *args) {
  assert(kind > LOOM_ADD && n > 0);
  loom_draft draft = loom_draft_of_args(kind, n, args);
  return loom_make(ctx, &draft);
}

loom_expr loom_make_product(loom_ctx *ctx, size_t n, const loom_power *powers) {
  assert(n > 1 || (n == 1 && powers->exponent != 1));
  for (size_t i = 1; i < n; i++) assert(powers[i - 1].base < powers[i].base);
  loom_draft draft = {.kind = n == 1 ? LOOM_POW : LOOM_MUL, .count = (uint32_t)n, .powers = powers};
  return loom_make(ctx, &draft);
}

/* False when a wide coefficient could not be made a node. */
static bool pack(loom_ctx *ctx, loom_num a, loom_packed *out) {
  const int64_t limit = (int64_t)1 << 47;
  if (a.den > 0 && a.den <= 0xffff && a.num < limit && a.num >= -limit) {
    *out = (loom_packed)((uint64_t)a.num << 16) | a.den;
    return true;
  }
  loom_expr e = loom_from_num(ctx, a);
  *out = (loom_packed)((uint64_t)e << 16);
  return e != LOOM_NONE;
}

static loom_expr make_sum_in(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms,
                             loom_packed *packed, loom_expr *ids) {
  if (!pack(ctx, constant, &packed[0])) return LOOM_NONE;
  for (size_t i = 0; i < n; i++) {
    assert(!loom_num_is_zero(terms[i].coef) && (i == 0 || terms[i - 1].id < terms[i].id));
    if (!pack(ctx, terms[i].coef, &packed[i + 1])) return LOOM_NONE;
    ids[i] = terms[i].id;
  }
  loom_draft draft = {.kind = LOOM_ADD, .count = (uint32_t)n, .packed = packed, .args = ids};
  return loom_make(ctx, &draft);
}

loom_expr loom_make_sum(loom_ctx *ctx, loom_num constant, size_t n, const loom_term *terms) {
  enum { FEW = 24 };
  if (n <= FEW) {
    loom_packed packed[FEW + 1];
    loom_expr ids[FEW];
    return make_sum_in(ctx, constant, n, terms, packed, ids);
  }
  size_t size = (n + 1) * sizeof(loom_packed) + n * sizeof(loom_expr);
  loom_packed *packed = loom_realloc(ctx, NULL, 0, size);
  if (!packed) return LOOM_NONE;
  loom_expr *ids = (loom_expr *)(void *)(packed + n + 1);
  loom_expr e = make_sum_in(ctx, constant, n, terms, packed, ids);
  loom_realloc(ctx, packed, size, 0);
  return e;
}
