/* SPDX-License-Identifier: MIT */
/* Names in messages: what is known, and which of it was meant. */
#ifndef EINLOOM_NAMES_H
#define EINLOOM_NAMES_H

#include "base/base.h"

/* Names that can be listed: name(data, i) for i in 0 .. n-1, NULL where there is none. */
typedef struct loom_names {
  size_t n;
  const void *data;
  const char *(*name)(const void *data, size_t i);
} loom_names;

/* Edits that make b of a: insertions, deletions, substitutions and swaps of neighbours, a change of
** case counting half.  In half edits.  O(|a| |b|) for the first 64 bytes of each; longer names
** count the difference of their lengths. */
unsigned loom_name_distance(const char *a, const char *b);
/* The known name nearest to a misspelt one, or NULL when none is near: at most a third of its
** length, and at least one edit, away. */
const char *loom_name_nearest(const char *name, loom_names known);
/* Records "WHERE: WHAT 'NAME' ...; known: A, B, C; did you mean 'B'?" and returns status. */
loom_status loom_name_error(loom_ctx *ctx, loom_status status, const char *where, const char *what,
                            const char *name, loom_names known);

/* strcmp equality; NULL equals NULL only. */
bool loom_name_same(const char *a, const char *b);

#endif
