/* SPDX-License-Identifier: MIT */
/* Fields of statistics and sums and products over them that cost nothing where nothing changes. */
#include "reuse/reuse.h"

const unsigned char loom_buffet_classes[LOOM_N_BUFFET_FIELDS] = {
#define FIELD_CLASSES(field, classes) (classes),
    LOOM_BUFFET_FIELD_LIST(FIELD_CLASSES)
#undef FIELD_CLASSES
};

const char *loom_buffet_field_name(loom_buffet_field field) {
  static const char *const names[] = {
#define FIELD_NAME(name, classes) #name,
      LOOM_BUFFET_FIELD_LIST(FIELD_NAME)
#undef FIELD_NAME
  };
  return field >= 0 && field < LOOM_N_BUFFET_FIELDS ? names[field] : "?";
}

loom_buffet *loom_buffet_add(const loom_analysis *an, loom_stats *stats, const char *level) {
  loom_buffet *b = &stats->buffets[stats->n_buffets++];
  *b = (loom_buffet){.level = level};
  for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++)
    b->field[f] = (loom_buffet_classes[f] & LOOM_F_EXACT) ? LOOM_NONE : an->zero;
  return b;
}

bool loom_accumulate(const loom_analysis *an, loom_expr *into, loom_expr term) {
  if (term == an->zero) return true;
  *into = *into == an->zero ? term : loom_add(an->ctx, *into, term);
  return *into != LOOM_NONE;
}

bool loom_multiply(const loom_analysis *an, loom_expr *into, loom_expr factor) {
  if (factor == an->one || *into == an->zero) return true;
  *into = *into == an->one ? factor : loom_mul(an->ctx, *into, factor);
  return *into != LOOM_NONE;
}
