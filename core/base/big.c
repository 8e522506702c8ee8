/* SPDX-License-Identifier: MIT */
/* Interning and collection of ratios beyond 64 bits.
** Invariant: every live item is in the slots under its hash; free items are chained. */
#include "base/big.h"

#include <string.h>

bool loom_fraction_zero(loom_ctx *ctx, loom_fraction *ratio) {
  if (mp_init_multi(&ratio->num, &ratio->den, NULL) != MP_OKAY) {
    loom_error_memory(ctx);
    return false;
  }
  mp_set_u32(&ratio->den, 1);
  return true;
}

bool loom_fraction_load(loom_ctx *ctx, loom_fraction *ratio, loom_num a) {
  if (loom_num_is_none(a) || !loom_fraction_zero(ctx, ratio)) return false;
  if (!loom_num_is_big(a)) {
    mp_set_i64(&ratio->num, a.num);
    mp_set_i64(&ratio->den, a.den);
    return true;
  }
  const loom_fraction *big = loom_big_of(ctx, a);
  if (mp_copy(&big->num, &ratio->num) == MP_OKAY && mp_copy(&big->den, &ratio->den) == MP_OKAY)
    return true;
  loom_fraction_clear(ratio);
  loom_error_memory(ctx);
  return false;
}

void loom_fraction_clear(loom_fraction *ratio) {
  mp_clear_multi(&ratio->num, &ratio->den, NULL);
}

static uint32_t hash_digits(uint32_t hash, const mp_int *a) {
  uint64_t h = hash ^ (a->sign == MP_NEG ? 0x5bd1e995u : 0u);
  for (int i = 0; i < a->used; i++) {
    h = (h ^ (uint64_t)a->dp[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return (uint32_t)(h ^ (h >> 32));
}

static mp_err reduce(loom_fraction *ratio) {
  if (mp_cmp_d(&ratio->den, 1) == MP_EQ) return MP_OKAY;
  mp_int g;
  mp_err err = mp_init(&g);
  if (err != MP_OKAY) return err;
  err = mp_gcd(&ratio->num, &ratio->den, &g);
  if (err == MP_OKAY && mp_cmp_d(&g, 1) != MP_EQ) {
    err = mp_div(&ratio->num, &g, &ratio->num, NULL);
    if (err == MP_OKAY) err = mp_div(&ratio->den, &g, &ratio->den, NULL);
  }
  if (err == MP_OKAY && ratio->den.sign == MP_NEG) {
    err = mp_neg(&ratio->den, &ratio->den);
    if (err == MP_OKAY) err = mp_neg(&ratio->num, &ratio->num);
  }
  mp_clear(&g);
  return err;
}

static bool fits(const loom_fraction *ratio) {
  return mp_count_bits(&ratio->num) < 64 && mp_count_bits(&ratio->den) < 64;
}

/* Counts the digits of an item in (or out of) the memory held. */
static void count_digits(loom_ctx *ctx, const loom_fraction *ratio, bool in) {
  size_t bytes = ((size_t)ratio->num.alloc + (size_t)ratio->den.alloc) * sizeof(mp_digit);
  loom_base *base = loom_base_of(ctx);
  base->bytes = in ? base->bytes + bytes : base->bytes - bytes;
  base->bigs.bytes = in ? base->bigs.bytes + bytes : base->bigs.bytes - bytes;
}

static void drop_item(loom_ctx *ctx, struct loom_big *item) {
  count_digits(ctx, &item->ratio, false);
  loom_fraction_clear(&item->ratio);
  item->live = false;
}

static bool grow_slots(loom_ctx *ctx) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  size_t n = bigs->n_slots ? bigs->n_slots * 2 : 64;
  uint32_t *slots = loom_realloc_array(ctx, NULL, 0, n, sizeof *slots);
  if (!slots) return false;
  memset(slots, 0, n * sizeof *slots);
  for (size_t i = 0; i < bigs->n; i++) {
    if (!bigs->items[i].live) continue;
    size_t at = bigs->items[i].hash & (n - 1);
    while (slots[at]) at = (at + 1) & (n - 1);
    slots[at] = (uint32_t)i + 1;
  }
  loom_realloc_array(ctx, bigs->slots, bigs->n_slots, 0, sizeof *slots);
  bigs->slots = slots;
  bigs->n_slots = n;
  return true;
}

static bool reserve(loom_ctx *ctx) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  if (bigs->n * 2 >= bigs->n_slots && !grow_slots(ctx)) return false;
  if (bigs->free_list || bigs->n < bigs->capacity) return true;
  size_t capacity = bigs->capacity ? bigs->capacity * 2 : 16;
  struct loom_big *items =
      loom_realloc_array(ctx, bigs->items, bigs->capacity, capacity, sizeof *items);
  if (!items) return false;
  bigs->items = items;
  bigs->capacity = capacity;
  return true;
}

static uint32_t hash_ratio(const mp_int *num, const mp_int *den) {
  return hash_digits(hash_digits(0x2545f491u, num), den);
}

/* The slot of a value: its own or an empty one.  Room must have been made. */
static uint32_t *find(const loom_bigs *bigs, uint32_t hash, const mp_int *num, const mp_int *den) {
  size_t at = hash & (bigs->n_slots - 1);
  for (; bigs->slots[at]; at = (at + 1) & (bigs->n_slots - 1)) {
    const struct loom_big *item = &bigs->items[bigs->slots[at] - 1];
    if (item->hash == hash && mp_cmp(&item->ratio.num, num) == MP_EQ &&
        mp_cmp(&item->ratio.den, den) == MP_EQ)
      break;
  }
  return &bigs->slots[at];
}

/* Gives a ratio to a free item. */
static loom_num add_item(loom_ctx *ctx, uint32_t *slot, uint32_t hash, loom_fraction *ratio) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  uint32_t index = bigs->free_list ? bigs->free_list - 1 : (uint32_t)bigs->n;
  if (bigs->free_list)
    bigs->free_list = bigs->items[index].next_free;
  else
    bigs->n++;
  bigs->items[index] = (struct loom_big){.ratio = *ratio, .hash = hash, .live = true};
  *slot = index + 1;
  count_digits(ctx, ratio, true);
  return (loom_num){index, 0};
}

static loom_num intern(loom_ctx *ctx, loom_fraction *ratio) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  uint32_t hash = hash_ratio(&ratio->num, &ratio->den);
  if (!reserve(ctx)) {
    loom_fraction_clear(ratio);
    return LOOM_NUM_NONE;
  }
  uint32_t *slot = find(bigs, hash, &ratio->num, &ratio->den);
  if (!*slot) return add_item(ctx, slot, hash, ratio);
  loom_fraction_clear(ratio);
  return (loom_num){*slot - 1, 0};
}

loom_num loom_big_intern(loom_ctx *ctx, const mp_int *num, const mp_int *den) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  uint32_t hash = hash_ratio(num, den);
  if (!reserve(ctx)) return LOOM_NUM_NONE;
  uint32_t *slot = find(bigs, hash, num, den);
  if (*slot) return (loom_num){*slot - 1, 0};
  loom_fraction copy;
  if (!loom_fraction_zero(ctx, &copy)) return LOOM_NUM_NONE;
  if (mp_copy(num, &copy.num) == MP_OKAY && mp_copy(den, &copy.den) == MP_OKAY)
    return add_item(ctx, slot, hash, &copy);
  loom_fraction_clear(&copy);
  loom_error_memory(ctx);
  return LOOM_NUM_NONE;
}

loom_num loom_fraction_store(loom_ctx *ctx, loom_fraction *ratio) {
  if (mp_iszero(&ratio->den)) {
    loom_fraction_clear(ratio);
    loom_error_set(ctx, LOOM_ERR_DOMAIN, "division by zero");
    return LOOM_NUM_NONE;
  }
  if (reduce(ratio) != MP_OKAY) {
    loom_fraction_clear(ratio);
    loom_error_memory(ctx);
    return LOOM_NUM_NONE;
  }
  if (fits(ratio)) {
    loom_num small = {mp_get_i64(&ratio->num), mp_get_i64(&ratio->den)};
    loom_fraction_clear(ratio);
    return small;
  }
  if (mp_count_bits(&ratio->num) > LOOM_NUM_MAX_BITS ||
      mp_count_bits(&ratio->den) > LOOM_NUM_MAX_BITS) {
    loom_fraction_clear(ratio);
    loom_error_set(ctx, LOOM_ERR_LIMIT, "a number of more than %d bits", LOOM_NUM_MAX_BITS);
    return LOOM_NUM_NONE;
  }
  return intern(ctx, ratio);
}

void loom_bigs_begin(loom_ctx *ctx) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  for (size_t i = 0; i < bigs->n; i++) bigs->items[i].marked = false;
}

void loom_bigs_mark(loom_ctx *ctx, loom_num a) {
  if (loom_num_is_big(a)) loom_base_of(ctx)->bigs.items[a.num].marked = true;
}

void loom_bigs_end(loom_ctx *ctx) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  if (bigs->n == 0) return;
  memset(bigs->slots, 0, bigs->n_slots * sizeof *bigs->slots);
  for (size_t i = 0; i < bigs->n; i++) {
    struct loom_big *item = &bigs->items[i];
    if (item->live && !item->marked) {
      drop_item(ctx, item);
      item->next_free = bigs->free_list;
      bigs->free_list = (uint32_t)i + 1;
    }
    if (!item->live) continue;
    size_t at = item->hash & (bigs->n_slots - 1);
    while (bigs->slots[at]) at = (at + 1) & (bigs->n_slots - 1);
    bigs->slots[at] = (uint32_t)i + 1;
  }
}

void loom_bigs_free(loom_ctx *ctx) {
  loom_bigs *bigs = &loom_base_of(ctx)->bigs;
  for (size_t i = 0; i < bigs->n; i++)
    if (bigs->items[i].live) drop_item(ctx, &bigs->items[i]);
  loom_realloc_array(ctx, bigs->items, bigs->capacity, 0, sizeof *bigs->items);
  loom_realloc_array(ctx, bigs->slots, bigs->n_slots, 0, sizeof *bigs->slots);
  *bigs = (loom_bigs){0};
}
