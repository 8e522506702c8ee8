/* SPDX-License-Identifier: MIT */
/* The makers: hashing content, finding its node, or entering it.
** Invariant: the hash of a node depends on kinds, numbers, names and assumptions alone, never on ids
** or on the order in which terms are stored. */
#include "expr/function.h"
#include "expr/make.h"

#include <assert.h>
#include <string.h>

/* ---- hashing -------------------------------------------------------------------------------- */

static inline uint32_t mix(uint32_t a, uint32_t b) {
  uint64_t x = ((uint64_t)a << 32 | b) ^ 0x2d358dccaa6c78a5u;
  unsigned __int128 h = (unsigned __int128)x * 0x9e3779b97f4a7c15u;
  uint64_t folded = (uint64_t)h ^ (uint64_t)(h >> 64);
  return (uint32_t)(folded ^ (folded >> 32));
}

static inline uint32_t mix64(uint32_t a, int64_t b) {
  return mix(mix(a, (uint32_t)b), (uint32_t)((uint64_t)b >> 32));
}

static inline uint32_t hash_of(const loom_ctx *ctx, loom_expr e) {
  return loom_cell_of(ctx, e)->hash;
}

static inline uint32_t hash_packed(const loom_ctx *ctx, loom_packed p) {
  if ((p & 0xffff) == 0) return hash_of(ctx, (loom_expr)(p >> 16));
  return (uint32_t)p ^ (uint32_t)((uint64_t)p >> 32) * 0x85ebca6bu;
}

static inline uint32_t finish_hash(uint32_t hash, loom_kind kind) {
  return mix(hash, (uint32_t)kind + 1);
}

static uint32_t hash_symbol(const loom_ctx *ctx, const loom_symbol_data *symbol) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < symbol->length; i++)
    h = (h ^ (unsigned char)symbol->name[i]) * 16777619u;
  const loom_assume *a = &symbol->assume;
  h = mix(h, (uint32_t)(a->integer | a->has_min << 1 | a->has_max << 2));
  h = mix64(mix64(mix64(h, a->min), a->max), a->multiple);
  return a->divides == LOOM_NONE ? h : mix(h, hash_of(ctx, a->divides));
}

/* ---- finding -------------------------------------------------------------------------------- */

typedef bool matcher(const loom_cell *cell, const loom_draft *draft);

static inline __attribute__((always_inline)) loom_expr get(loom_ctx *ctx, const loom_draft *draft,
                                                           matcher *same) {
  uint32_t mask = ctx->n_slots - 1, at = draft->hash & mask;
  loom_expr e = LOOM_NONE;
  for (;; at = (at + 1) & mask) {
    loom_slot slot = ctx->slots[at];
    if (slot.id == LOOM_NONE) break;
    if (slot.hash != draft->hash) continue;
    const loom_cell *cell = loom_cell_of(ctx, slot.id);
    if (cell->kind != (uint8_t)draft->kind || cell->count != draft->count || !same(cell, draft))
      continue;
    e = slot.id;
    break;
  }
  if (e == LOOM_NONE) e = loom_table_insert(ctx, draft);
  if (ctx->collecting && e != LOOM_NONE) loom_gc_mark(ctx, e);
  return e;
}

/* ---- numbers and symbols --------------------------------------------------------------------- */

static inline bool same_num(const loom_cell *cell, const loom_draft *d) {
  return loom_num_same(cell->v.num, d->num);
}

loom_expr loom_make_num(loom_ctx *ctx, loom_num value) {
  loom_draft draft = {
      .kind = LOOM_NUM, .num = value, .hash = finish_hash(loom_num_hash(ctx, value), LOOM_NUM)};
  return get(ctx, &draft, same_num);
}

static bool same_symbol(const loom_cell *cell, const loom_draft *d) {
  const loom_symbol_data *a = cell->u.symbol, *b = d->symbol;
  const loom_assume *x = &a->assume, *y = &b->assume;
  return a->length == b->length && memcmp(a->name, b->name, a->length) == 0 &&
         x->integer == y->integer && x->has_min == y->has_min && x->has_max == y->has_max &&
         x->min == y->min && x->max == y->max && x->multiple == y->multiple &&
         x->divides == y->divides;
}

loom_expr loom_make_symbol(loom_ctx *ctx, const loom_symbol_data *symbol) {
  loom_draft draft = {
      .kind = LOOM_SYM, .symbol = symbol, .hash = finish_hash(hash_symbol(ctx, symbol), LOOM_SYM)};
  return get(ctx, &draft, same_symbol);
}

/* ---- operations ------------------------------------------------------------------------------ */

static inline bool same_args(const loom_cell *cell, const loom_draft *d) {
  const loom_expr *args = loom_cell_args(cell);
  for (uint32_t i = 0; i < d->count; i++)
    if (args[i] != d->args[i]) return false;
  return true;
}

/* The number that an integer is known to be, or the node itself. */
static loom_expr only_value(loom_ctx *ctx, loom_expr e) {
  if (e == LOOM_NONE) return e;
  const loom_cell *cell = loom_cell_of(ctx, e);
  bool known = cell->v.range.lo == cell->v.range.hi && cell->known >> 3 == LOOM_YES;
  return known ? loom_from_num(ctx, loom_num_int(ctx, cell->v.range.lo)) : e;
}

loom_expr loom_make_args(loom_ctx *ctx, loom_kind kind, size_t n, const loom_expr *args) {
  assert(kind > LOOM_ADD && n > 0);
  bool unordered = kind == LOOM_MIN || kind == LOOM_MAX;
  uint32_t h = 0;
  for (size_t i = 0; i < n; i++) {
    if (args[i] == LOOM_NONE) return LOOM_NONE;
    h = unordered ? h + mix(hash_of(ctx, args[i]), 1) : mix(h, hash_of(ctx, args[i]));
  }
  loom_draft draft = {
      .kind = kind, .count = (uint32_t)n, .args = args, .hash = finish_hash(h, kind)};
  return only_value(ctx, get(ctx, &draft, same_args));
}

static bool same_call(const loom_cell *cell, const loom_draft *d) {
  return same_args(cell, d) && loom_function_order(cell->u.call->function, d->function) == 0;
}

loom_expr loom_make_call(loom_ctx *ctx, const loom_function *f, const loom_expr *args) {
  loom_draft draft = {
      .kind = LOOM_CALL, .count = (uint32_t)loom_function_arity(f), .args = args, .function = f};
  uint32_t h = loom_function_hash(f);
  for (uint32_t i = 0; i < draft.count; i++) h = mix(h, hash_of(ctx, args[i]));
  draft.hash = finish_hash(h, LOOM_CALL);
  return only_value(ctx, get(ctx, &draft, same_call));
}

static inline bool same_power(const loom_cell *cell, const loom_draft *d) {
  return cell->u.power.base == d->powers->base && cell->u.power.exponent == d->powers->exponent;
}

static inline bool same_powers(const loom_cell *cell, const loom_draft *d) {
  for (uint32_t i = 0; i < d->count; i++) {
    loom_power a = cell->u.powers[i], b = d->powers[i];
    if (a.base != b.base || a.exponent != b.exponent) return false;
  }
  return true;
}

loom_expr loom_make_product(loom_ctx *ctx, size_t n, const loom_power *powers) {
  assert(n > 1 || (n == 1 && powers->exponent != 1));
  uint32_t h = 0;
  for (size_t i = 0; i < n; i++) {
    assert(i == 0 || powers[i - 1].base < powers[i].base);
    h += mix(hash_of(ctx, powers[i].base), (uint32_t)powers[i].exponent);
  }
  loom_draft draft = {.kind = n == 1 ? LOOM_POW : LOOM_MUL, .count = (uint32_t)n, .powers = powers};
  draft.hash = finish_hash(h, draft.kind);
  return n == 1 ? get(ctx, &draft, same_power) : get(ctx, &draft, same_powers);
}

static inline bool same_sum(const loom_cell *cell, const loom_draft *d) {
  const loom_packed *packed = (const loom_packed *)(const void *)cell->u.add;
  const loom_expr *ids = loom_cell_ids(cell);
  if (packed[0] != d->packed[0]) return false;
  for (uint32_t i = 0; i < d->count; i++)
    if (ids[i] != d->args[i] || packed[i + 1] != d->packed[i + 1]) return false;
  return true;
}

/* False when a wide coefficient could not be made a node. */
static inline bool pack(loom_ctx *ctx, loom_num a, loom_packed *out) {
  const int64_t limit = (int64_t)1 << 47;
  if (a.den > 0 && a.den <= 0xffff && a.num < limit && a.num >= -limit) {
    *out = (loom_packed)((uint64_t)a.num << 16) | a.den;
    return true;
  }
  loom_expr e = loom_from_num(ctx, a);
  *out = (loom_packed)((uint64_t)e << 16);
  return e != LOOM_NONE;
}

static inline loom_expr make_sum_in(loom_ctx *ctx, loom_num constant, size_t n,
                                    const loom_term *terms, loom_packed *packed, loom_expr *ids) {
  if (!pack(ctx, constant, &packed[0])) return LOOM_NONE;
  uint32_t h = mix(1, hash_packed(ctx, packed[0]));
  for (size_t i = 0; i < n; i++) {
    assert(!loom_num_is_zero(terms[i].coef) && (i == 0 || terms[i - 1].id < terms[i].id));
    if (!pack(ctx, terms[i].coef, &packed[i + 1])) return LOOM_NONE;
    ids[i] = terms[i].id;
    h += mix(hash_of(ctx, ids[i]), hash_packed(ctx, packed[i + 1]));
  }
  loom_draft draft = {.kind = LOOM_ADD,
                      .count = (uint32_t)n,
                      .packed = packed,
                      .args = ids,
                      .hash = finish_hash(h, LOOM_ADD)};
  return get(ctx, &draft, same_sum);
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
