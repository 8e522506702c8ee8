/* SPDX-License-Identifier: MIT */
/* Reads the symbols of an entry of spec/golden/expr/expressions.json. */
#ifndef EINLOOM_GOLDEN_SYMBOLS_H
#define EINLOOM_GOLDEN_SYMBOLS_H

#include <jansson.h>

#include "einloom.h"

/* Makes the symbols of an entry with the ranges it gives them, at most `most`; how many there are.
 */
static inline size_t golden_symbols(loom_ctx *ctx, const json_t *item, loom_expr *out,
                                    size_t most) {
  const json_t *names = json_object_get(item, "symbols"), *domain = json_object_get(item, "domain");
  size_t n = json_array_size(names);
  for (size_t i = 0; i < n && i < most; i++) {
    const char *name = json_string_value(json_array_get(names, i));
    const json_t *range = json_object_get(domain, name);
    loom_assume assume = {.integer = true, .has_min = true, .min = 1};
    if (range) {
      assume.min = json_integer_value(json_array_get(range, 0));
      assume.max = json_integer_value(json_array_get(range, 1));
      assume.has_max = true;
    }
    out[i] = loom_symbol(ctx, name, &assume);
  }
  return n;
}

#endif
