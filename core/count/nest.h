/* SPDX-License-Identifier: MIT */
/* A counting problem in numbers, and the pieces every count is made of.
** Invariant: variables are numbered from 0 within the nest; groups partition the variables and the
** ranks, and no rank has variables of two groups. */
#ifndef EINLOOM_NEST_H
#define EINLOOM_NEST_H

#include "count/count.h"
#include "count/tally.h"

/* How a loop cuts an interval. */
typedef struct loom_cut {
  int variable;
  bool spatial, outside, shared, alone, anew;
  int64_t tile, first, step;
} loom_cut;

typedef struct loom_index {
  int64_t constant;
  size_t n_terms, n_steps;
  loom_index_term *terms; /* where there are steps, the variables alone */
  loom_rank_step *steps;
  int group;
  int64_t weight; /* of the rank in an element's number within its group */
} loom_index;

/* Variables connected through ranks, and how an index vector of theirs becomes one integer: two
** vectors give the same if and only if they touch the same element. */
typedef struct loom_index_group {
  int n_variables, n_ranks;
  int *variables, *ranks;
  bool affine;
  int64_t *weight; /* by place in variables; affine */
  int *ascending;  /* places, by absolute weight */
} loom_index_group;

typedef struct loom_numbers {
  int n_variables, n_loops, n_ranks, n_groups;
  int64_t *sizes;
  int64_t
      *period; /* by variable: moving it by a multiple moves every index by a constant; 0: none */
  int64_t *values; /* room for one of each variable */
  loom_cut *loops;
  loom_index *ranks;
  loom_index_group *groups;
  int above_holder;
  bool retain, to_one_unit;
  struct loom_numbers *inside; /* of UNIT figures, with the same variables and ranks */
  unsigned parts;
} loom_numbers;

/* Fills groups and periods; `one`: a single group of all variables. */
bool loom_numbers_group(loom_tally *t, loom_numbers *p, bool one);

/* How many pieces a loop makes of an interval, and the i-th (empty beyond the last). */
int64_t loom_cut_pieces(const loom_cut *cut, loom_run whole);
loom_run loom_cut_piece(const loom_cut *cut, loom_run whole, int64_t i);
/* The first index above i whose piece is not piece i moved by the step. */
int64_t loom_cut_change(const loom_cut *cut, loom_run whole, int64_t i);
/* The most pieces a loop of the nest ever makes. */
int64_t loom_cut_most(const loom_numbers *p, int loop);

/* Appends the elements touched by a product of sets, one for each variable of the group in its
** order, and makes the whole a set. */
bool loom_image(loom_tally *t, const loom_numbers *p, const loom_index_group *g,
                const loom_runs *sets, loom_runs *out);

/* ---- words: lists of integers by number --------------------------------------------------- */

typedef struct loom_words {
  size_t length; /* of each word */
  LOOM_LIST(int64_t) text;
  uint32_t *slots; /* number + 1 */
  size_t n_slots, n;
} loom_words;
/* The number of a word, entered if it is new; -1 once the tally has failed. */
int64_t loom_words_find(loom_tally *t, loom_words *words, const int64_t *word);
static inline const int64_t *loom_word(const loom_words *words, int64_t i) {
  return words->text.at + (size_t)i * words->length;
}

/* ---- counting (each sets the figures it is asked for) -------------------------------------- */

bool loom_count_traffic(loom_tally *t, const loom_numbers *p, unsigned figures,
                        int64_t out[LOOM_N_COUNT_FIGURES]);
/* The same by walking all steps, for what does not factor. */
bool loom_count_walk(loom_tally *t, const loom_numbers *p, int64_t out[LOOM_N_COUNT_FIGURES]);
typedef struct loom_walked {
  size_t n_owners, n_units;                    /* units of the parent; of the holder */
  int64_t *reads, *writes, *first_reads;       /* by owner */
  int64_t *arrived, *departed, *first_arrived; /* by unit */
  int64_t tile;
} loom_walked;
bool loom_walk_units(loom_tally *t, const loom_numbers *p, loom_walked *out);
/* Figures of one unit of the holder. */
bool loom_count_units(loom_tally *t, const loom_numbers *p, unsigned figures,
                      int64_t out[LOOM_N_COUNT_FIGURES]);
bool loom_count_live(loom_tally *t, const loom_numbers *p, int64_t *out);

/* All figures of a problem in numbers; what is wrong in message. */
loom_status loom_count_numbers(loom_tally *t, loom_numbers *p, unsigned figures,
                               int64_t out[LOOM_N_COUNT_FIGURES], char *message, size_t size);

#endif
