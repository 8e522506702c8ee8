/* SPDX-License-Identifier: MIT */
/* Numbers as decimal text: reading exactly, writing exactly.
** Invariant: reading what was written gives the same value. */
#include "base/big.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pieces of a number's text. */
typedef struct literal {
  bool negative;
  const char *digits, *fraction, *denominator; /* NULL: absent */
  size_t n_digits, n_fraction, n_denominator;
  int64_t exponent;
} literal;

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *text, size_t length, size_t at) {
  while (at < length && is_digit(text[at])) at++;
  return at;
}

static bool read_exponent(literal *out, const char *text, size_t length, size_t *at) {
  size_t i = *at + 1;
  bool negative = i < length && text[i] == '-';
  if (i < length && (text[i] == '-' || text[i] == '+')) i++;
  size_t end = skip_digits(text, length, i);
  if (end == i) return false;
  int64_t value = 0;
  for (; i < end; i++)
    if (value < 10 * LOOM_NUM_MAX_BITS) value = value * 10 + (text[i] - '0');
  out->exponent = negative ? -value : value;
  *at = end;
  return true;
}

/* False with the offset of the first byte that does not fit. */
static bool split(literal *out, const char *text, size_t length, size_t *at) {
  size_t i = 0;
  *out = (literal){0};
  if (i < length && (text[i] == '-' || text[i] == '+')) out->negative = text[i++] == '-';
  out->digits = text + i;
  size_t end = skip_digits(text, length, i);
  out->n_digits = end - i;
  i = end;
  if (i < length && text[i] == '.') {
    out->fraction = text + i + 1;
    end = skip_digits(text, length, i + 1);
    out->n_fraction = end - i - 1;
    i = end;
  }
  bool good = out->n_digits + out->n_fraction > 0;
  if (good && i < length && text[i] == '/' && !out->fraction) {
    out->denominator = text + i + 1;
    end = skip_digits(text, length, i + 1);
    out->n_denominator = end - i - 1;
    good = out->n_denominator > 0;
    i = end;
  } else if (good && i < length && (text[i] == 'e' || text[i] == 'E')) {
    good = read_exponent(out, text, length, &i);
  }
  *at = i;
  return good && i == length;
}

static loom_num too_long(loom_ctx *ctx) {
  loom_error_set(ctx, LOOM_ERR_LIMIT, "a number of more than %d bits", LOOM_NUM_MAX_BITS);
  return LOOM_NUM_NONE;
}

/* An unsigned integer from the digits of two runs. */
static loom_num read_digits(loom_ctx *ctx, const char *a, size_t n, const char *b, size_t m) {
  for (; n > 0 && *a == '0'; a++) n--;
  if (n + m <= 18) {
    int64_t value = 0;
    for (size_t i = 0; i < n; i++) value = value * 10 + (a[i] - '0');
    for (size_t i = 0; i < m; i++) value = value * 10 + (b[i] - '0');
    return LOOM_NUM(value);
  }
  if (n > LOOM_NUM_MAX_BITS || m > LOOM_NUM_MAX_BITS || (n + m) * 3 > LOOM_NUM_MAX_BITS)
    return too_long(ctx);
  char *copy = loom_realloc(ctx, NULL, 0, n + m + 1);
  if (!copy) return LOOM_NUM_NONE;
  memcpy(copy, a, n);
  if (m) memcpy(copy + n, b, m);
  copy[n + m] = '\0';
  loom_fraction r;
  loom_num value = LOOM_NUM_NONE;
  if (loom_fraction_zero(ctx, &r)) {
    if (mp_read_radix(&r.num, copy, 10) == MP_OKAY) {
      value = loom_fraction_store(ctx, &r);
    } else {
      loom_fraction_clear(&r);
      loom_error_memory(ctx);
    }
  }
  loom_realloc(ctx, copy, n + m + 1, 0);
  return value;
}

static loom_num scale_by_ten(loom_ctx *ctx, loom_num value, int64_t exponent) {
  if (exponent == 0 || loom_num_is_zero(value)) return value;
  if (exponent > LOOM_NUM_MAX_BITS / 3 || exponent < -LOOM_NUM_MAX_BITS / 3) return too_long(ctx);
  return loom_num_mul(ctx, value, loom_num_pow(ctx, LOOM_NUM(10), exponent));
}

loom_num loom_num_parse(loom_ctx *ctx, const char *text, size_t length) {
  literal in;
  size_t at;
  if (!split(&in, text, length, &at)) {
    loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)at, "not a number: '%.*s'",
                      length > 60 ? 60 : (int)length, text);
    return LOOM_NUM_NONE;
  }
  while (in.n_fraction > 0 && in.fraction[in.n_fraction - 1] == '0') in.n_fraction--;
  loom_num value = read_digits(ctx, in.digits, in.n_digits, in.fraction, in.n_fraction);
  if (in.denominator)
    value = loom_num_div(ctx, value, read_digits(ctx, in.denominator, in.n_denominator, NULL, 0));
  value = scale_by_ten(ctx, value, in.exponent - (int64_t)in.n_fraction);
  return in.negative ? loom_num_neg(ctx, value) : value;
}

static char *print_small(loom_ctx *ctx, loom_num a) {
  char *text = malloc(48);
  if (!text) {
    loom_error_memory(ctx);
    return NULL;
  }
  if (a.den == 1)
    snprintf(text, 48, "%lld", (long long)a.num);
  else
    snprintf(text, 48, "%lld/%lld", (long long)a.num, (long long)a.den);
  return text;
}

char *loom_num_print(loom_ctx *ctx, loom_num a) {
  if (loom_num_is_none(a)) return NULL;
  if (!loom_num_is_big(a)) return print_small(ctx, a);
  const loom_fraction *big = loom_big_of(ctx, a);
  int n = 0, m = 0;
  char *text = NULL;
  size_t written = 0;
  if (mp_radix_size(&big->num, 10, &n) == MP_OKAY && mp_radix_size(&big->den, 10, &m) == MP_OKAY)
    text = malloc((size_t)n + (size_t)m + 2);
  if (text && mp_to_radix(&big->num, text, (size_t)n, &written, 10) == MP_OKAY) {
    size_t end = strlen(text);
    if (loom_num_is_int(ctx, a)) return text;
    text[end] = '/';
    if (mp_to_radix(&big->den, text + end + 1, (size_t)m, &written, 10) == MP_OKAY) return text;
  }
  free(text);
  loom_error_memory(ctx);
  return NULL;
}
