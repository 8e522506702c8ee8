/* SPDX-License-Identifier: MIT */
/* Names in messages: what is known, and which of it was meant. */
#include "model/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST ((size_t)64)
#define LIST_SIZE ((size_t)256)

static unsigned substitution(char a, char b) {
  if (a == b) return 0;
  return tolower((unsigned char)a) == tolower((unsigned char)b) ? 1 : 2;
}

static unsigned least(unsigned a, unsigned b) {
  return a < b ? a : b;
}

unsigned loom_name_distance(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  unsigned extra = (unsigned)(na > nb ? na - nb : nb - na) * 2;
  if (na > LONGEST || nb > LONGEST) return extra + 2;
  unsigned rows[3][LONGEST + 1];
  unsigned *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= nb; j++) last[j] = (unsigned)(2 * j);
  for (size_t i = 1; i <= na; i++) {
    row[0] = (unsigned)(2 * i);
    for (size_t j = 1; j <= nb; j++) {
      unsigned best = last[j - 1] + substitution(a[i - 1], b[j - 1]);
      best = least(best, least(last[j], row[j - 1]) + 2);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best = least(best, before[j - 2] + 2);
      row[j] = best;
    }
    unsigned *spare = before;
    before = last;
    last = row;
    row = spare;
  }
  return last[nb];
}

const char *loom_name_nearest(const char *name, loom_names known) {
  size_t length = strlen(name);
  unsigned allowed = (unsigned)(2 * (length / 3 ? length / 3 : 1));
  unsigned best = allowed + 1;
  const char *nearest = NULL;
  for (size_t i = 0; i < known.n; i++) {
    const char *other = known.name(known.data, i);
    if (!other) continue;
    unsigned distance = loom_name_distance(name, other);
    if (distance < best && distance < 2 * length) {
      best = distance;
      nearest = other;
    }
  }
  return nearest;
}

static void list_names(char *out, size_t size, loom_names known) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < known.n; i++) {
    const char *name = known.name(known.data, i);
    if (!name) continue;
    int more = snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    if (more < 0 || (size_t)more >= size - used) {
      snprintf(out + used, size - used, "%s", size - used > 5 ? ", ..." : "");
      return;
    }
    used += (size_t)more;
  }
  if (!used) snprintf(out, size, "none");
}

loom_status loom_name_error(loom_ctx *ctx, loom_status status, const char *where, const char *what,
                            const char *name, loom_names known) {
  const char *nearest = loom_name_nearest(name, known);
  if (nearest)
    return loom_error_set(ctx, status, "%s: %s '%s'; nearest: %s", where, what, name, nearest);
  char list[LIST_SIZE];
  list_names(list, sizeof list, known);
  return loom_error_set(ctx, status, "%s: %s '%s'; known: %s", where, what, name, list);
}

bool loom_name_same(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}
