/* SPDX-License-Identifier: MIT */
/* Counting problems as numbers, and as functions of what is not a number in them.
** Invariant: the data of a function spells the problem completely, names of variables aside, so that
** equal problems are one function; what is not a number in it is an argument. */
#include <stdio.h>
#include <string.h>

#include "count/nest.h"
#include "expr/ops.h"

/* Work of one count, in steps of the innermost loops of the engine: some seconds. */
#define WORK_LIMIT ((int64_t)1 << 28)
#define NAME_SIZE 256
#define UNIT_FIGURES (1u << LOOM_COUNT_UNIT | 1u << LOOM_COUNT_LEAST_UNIT_FIRST)

static const char *const figure_name[] = {
#define LOOM_COUNT_NAME(enumerator, name) name,
    LOOM_COUNT_FIGURE_LIST(LOOM_COUNT_NAME)
#undef LOOM_COUNT_NAME
};

/* ---- spelling ------------------------------------------------------------------------------- */

typedef struct speller {
  loom_ctx *ctx;
  const loom_count_problem *problem;
  bool good;
  LOOM_VEC(int64_t) code;
  LOOM_VEC(loom_expr) args;
  LOOM_VEC(int) variables; /* of the workload, by their number in the code */
} speller;

static void put(speller *s, int64_t word) {
  s->good = s->good && loom_vec_push(s->ctx, &s->code, word);
}

/* A number as it is, anything else as an argument. */
static void put_quantity(speller *s, loom_expr e) {
  int64_t value;
  if (!s->good) return;
  if (!loom_expr_check(s->ctx, e)) {
    s->good = false;
  } else if (loom_as_int(s->ctx, e, &value)) {
    put(s, 0);
    put(s, value);
  } else {
    size_t i = 0;
    while (i < s->args.n && s->args.at[i] != e) i++;
    if (i == s->args.n) s->good = loom_vec_push(s->ctx, &s->args, e);
    put(s, 1);
    put(s, (int64_t)i);
  }
}

static int number_of(speller *s, int variable) {
  for (size_t i = 0; i < s->variables.n; i++)
    if (s->variables.at[i] == variable) return (int)i;
  s->good = s->good && loom_vec_push(s->ctx, &s->variables, variable);
  return (int)s->variables.n - 1;
}

static void put_loop(speller *s, const loom_count_loop *loop) {
  loom_expr first = loop->first == LOOM_NONE ? loop->tile : loop->first;
  loom_expr step = loop->step == LOOM_NONE ? loop->tile : loop->step;
  put(s, number_of(s, loop->variable));
  put(s, loop->spatial);
  put(s, loop->spatial && loop->outside);
  put(s, loop->alone);
  put(s, loop->spatial && loop->shared);
  put(s, !s->problem->access->output ? 0 : loop->anew ? 1 : loop->anew_if_overlapping ? 2 : 0);
  put_quantity(s, loop->tile);
  put_quantity(s, first);
  put_quantity(s, step);
}

static void put_rank(speller *s, const loom_rank *rank) {
  put(s, rank->constant);
  put(s, rank->n_terms);
  put(s, rank->n_steps);
  for (int i = 0; i < rank->n_terms; i++) {
    put(s, number_of(s, rank->terms[i].variable));
    put(s, rank->terms[i].coefficient);
  }
  for (int i = 0; i < rank->n_steps; i++) {
    const loom_rank_step *step = &rank->steps[i];
    bool variable = step->operation == LOOM_INDEX_VARIABLE;
    put(s, step->operation);
    put(s, variable ? number_of(s, step->variable) : step->value);
  }
}

/* Loops inside the holder matter for what is alive alone. */
static void put_nest(speller *s, const loom_count_problem *p, bool live) {
  size_t n_loops = live ? p->n_loops : p->above_holder;
  put(s, p->lifetime == LOOM_RETAIN);
  put(s, p->access->output && p->to_one_unit);
  put(s, (int64_t)p->above_holder);
  put(s, (int64_t)n_loops);
  for (size_t i = 0; i < n_loops; i++) put_loop(s, &p->loops[i]);
}

static bool spell(speller *s, unsigned figures) {
  const loom_count_problem *p = s->problem;
  s->good = true;
  put(s, figures);
  put(s, figures & UNIT_FIGURES ? (int64_t)p->parts : 0);
  put_nest(s, p, figures & 1u << LOOM_COUNT_LIVE);
  if (figures & UNIT_FIGURES) put_nest(s, p->inside, false);
  put(s, (int64_t)p->access->ranks.n);
  for (size_t i = 0; i < p->access->ranks.n; i++) put_rank(s, &p->access->ranks.at[i]);
  put(s, (int64_t)s->variables.n);
  for (size_t i = 0; i < s->variables.n; i++) put_quantity(s, p->sizes[s->variables.at[i]]);
  return s->good;
}

static void end_speller(speller *s) {
  loom_vec_free(s->ctx, &s->code);
  loom_vec_free(s->ctx, &s->args);
  loom_vec_free(s->ctx, &s->variables);
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reader {
  const int64_t *at, *args;
} reader;

static int64_t get(reader *r) {
  return *r->at++;
}

static int64_t get_quantity(reader *r) {
  int64_t argument = get(r), value = get(r);
  return argument ? r->args[value] : value;
}

static bool get_rank(loom_tally *t, reader *r, loom_index *x) {
  x->constant = get(r);
  x->n_terms = (size_t)get(r);
  x->n_steps = (size_t)get(r);
  x->terms = loom_tally_new(t, x->n_terms + 1, sizeof *x->terms);
  x->steps = loom_tally_new(t, x->n_steps + 1, sizeof *x->steps);
  if (!x->terms || !x->steps) return false;
  for (size_t i = 0; i < x->n_terms; i++) {
    x->terms[i].variable = (int)get(r);
    x->terms[i].coefficient = get(r);
  }
  for (size_t i = 0; i < x->n_steps; i++) {
    loom_rank_step *s = &x->steps[i];
    int64_t operation = get(r), value = get(r);
    s->operation = (loom_index_operation)operation;
    if (s->operation == LOOM_INDEX_VARIABLE)
      s->variable = (int)value;
    else
      s->value = value;
  }
  return true;
}

static void get_loop(reader *r, loom_cut *cut) {
  cut->variable = (int)get(r);
  cut->spatial = get(r);
  cut->outside = get(r);
  cut->alone = get(r);
  cut->shared = get(r);
  int64_t anew = get(r);
  cut->tile = get_quantity(r);
  cut->first = get_quantity(r);
  cut->step = get_quantity(r);
  cut->anew = anew == 1 || (anew == 2 && cut->step < cut->tile);
}

static bool get_nest(loom_tally *t, reader *r, loom_numbers *p) {
  p->retain = get(r);
  p->to_one_unit = get(r);
  p->above_holder = (int)get(r);
  p->n_loops = (int)get(r);
  p->loops = loom_tally_new(t, (size_t)p->n_loops + 1, sizeof *p->loops);
  if (!p->loops) return false;
  for (int i = 0; i < p->n_loops; i++) get_loop(r, &p->loops[i]);
  return true;
}

static bool read_numbers(loom_tally *t, reader *r, loom_numbers *p, unsigned *figures) {
  *p = (loom_numbers){0};
  *figures = (unsigned)get(r);
  p->parts = (unsigned)get(r);
  if (!get_nest(t, r, p)) return false;
  if (*figures & UNIT_FIGURES) p->inside = loom_tally_new(t, 1, sizeof *p->inside);
  if ((*figures & UNIT_FIGURES) && (!p->inside || !get_nest(t, r, p->inside))) return false;
  p->n_ranks = (int)get(r);
  p->ranks = loom_tally_new(t, (size_t)p->n_ranks + 1, sizeof *p->ranks);
  if (!p->ranks) return false;
  for (int i = 0; i < p->n_ranks; i++)
    if (!get_rank(t, r, &p->ranks[i])) return false;
  p->n_variables = (int)get(r);
  p->sizes = loom_tally_new(t, (size_t)p->n_variables + 1, sizeof *p->sizes);
  if (!p->sizes) return false;
  for (int i = 0; i < p->n_variables; i++) p->sizes[i] = get_quantity(r);
  if (!p->inside) return true;
  p->inside->n_ranks = p->n_ranks;
  p->inside->ranks = p->ranks;
  p->inside->n_variables = p->n_variables;
  p->inside->sizes = p->sizes;
  return true;
}

/* ---- counting ------------------------------------------------------------------------------- */

static const char *what_is_wrong(const loom_numbers *p) {
  for (int v = 0; v < p->n_variables; v++)
    if (p->sizes[v] < 0) return "a size is below 0";
  for (int l = 0; l < p->n_loops; l++) {
    const loom_cut *cut = &p->loops[l];
    if (cut->tile < 1 || cut->first < 1 || cut->step < 1) return "a tile is below 1";
    if (cut->step > cut->tile && loom_cut_most(p, l) > 1)
      return "tiles start further apart than they are large";
    if (cut->step != cut->tile && cut->first != cut->tile)
      return "a loop has a first tile and overlapping ones";
  }
  return NULL;
}

/* A tile that is larger than its variable is all of it. */
static void clip(loom_numbers *p) {
  for (int l = 0; l < p->n_loops; l++) {
    loom_cut *cut = &p->loops[l];
    int64_t size = p->sizes[cut->variable] > 1 ? p->sizes[cut->variable] : 1;
    bool same = cut->step == cut->tile, plain = cut->first == cut->tile;
    if (cut->first >= size && cut->first > cut->tile) cut->tile = cut->first;
    if (cut->tile > size && (plain || cut->first > size)) {
      cut->tile = cut->first = size;
      cut->step = same || cut->step > size ? size : cut->step;
    }
  }
}

/* All but the error. */
static bool count_numbers(loom_tally *t, loom_numbers *p, unsigned figures,
                          int64_t out[LOOM_N_COUNT_FIGURES]) {
  unsigned live = figures & 1u << LOOM_COUNT_LIVE, unit = figures & UNIT_FIGURES;
  figures &= ~(live | unit);
  clip(p);
  if (p->inside) clip(p->inside);
  if (!loom_numbers_group(t, p, false)) return false;
  if (p->inside && !loom_numbers_group(t, p->inside, false)) return false;
  return (!figures || loom_count_traffic(t, p, figures, out)) &&
         (!live || loom_count_live(t, p, &out[LOOM_COUNT_LIVE])) &&
         (!unit || loom_count_units(t, p, unit, out));
}

loom_status loom_count_numbers(loom_tally *t, loom_numbers *p, unsigned figures,
                               int64_t out[LOOM_N_COUNT_FIGURES], char *message, size_t size) {
  const char *wrong = what_is_wrong(p);
  if (!wrong && p->inside) wrong = what_is_wrong(p->inside);
  if (wrong) {
    snprintf(message, size, "%s", wrong);
    return t->status = LOOM_ERR_DOMAIN;
  }
  for (int v = 0; v < p->n_variables; v++)
    if (p->sizes[v] == 0) return LOOM_OK;
  for (int v = 0; v < p->n_variables; v++) {
    if (p->sizes[v] <= INT32_MAX) continue;
    snprintf(message, size, "the size %lld is too large to be counted, above 2^31 - 1",
             (long long)p->sizes[v]);
    return t->status = LOOM_ERR_LIMIT;
  }
  (void)count_numbers(t, p, figures, out);
  if (t->status == LOOM_ERR_LIMIT)
    snprintf(message, size, "counting takes more than %lld steps", (long long)WORK_LIMIT);
  if (t->status == LOOM_ERR_DOMAIN) snprintf(message, size, "the number is beyond 64 bits");
  return t->status;
}

static loom_status count_code(const int64_t *code, const int64_t *args,
                              int64_t out[LOOM_N_COUNT_FIGURES], char *message, size_t size) {
  loom_tally t;
  loom_numbers p;
  unsigned figures;
  reader r = {code, args};
  loom_tally_begin(&t, WORK_LIMIT);
  memset(out, 0, LOOM_N_COUNT_FIGURES * sizeof *out);
  loom_status status = LOOM_ERR_MEMORY;
  if (read_numbers(&t, &r, &p, &figures))
    status = loom_count_numbers(&t, &p, figures, out, message, size);
  loom_tally_end(&t);
  return status;
}

/* The evaluator: a single figure. */
static loom_status evaluate(const void *data, const int64_t *args, int64_t *value, char *message,
                            size_t size) {
  int64_t out[LOOM_N_COUNT_FIGURES];
  const int64_t *code = data;
  loom_status status = count_code(code, args, out, message, size);
  int figure = 0;
  while (!((uint64_t)code[0] >> figure & 1)) figure++;
  *value = out[figure];
  return status;
}

/* ---- figures -------------------------------------------------------------------------------- */

static void make_name(const loom_count_problem *p, loom_count_figure figure, char name[NAME_SIZE]) {
  bool unit = 1u << figure & UNIT_FIGURES;
  bool reads = p->parts & (LOOM_UNIT_READS | LOOM_UNIT_DEPARTURES);
  snprintf(name, NAME_SIZE, "%s%s_%s_%s", figure_name[figure],
           !unit   ? ""
           : reads ? "_reads"
                   : "_writes",
           p->tensor, p->level);
  for (char *c = name; *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
    if (!letter && !(*c >= '0' && *c <= '9')) *c = '_';
  }
}

static loom_expr call(speller *s, loom_count_figure figure) {
  char name[NAME_SIZE];
  make_name(s->problem, figure, name);
  if (s->args.n > LOOM_MOST_ARGUMENTS) {
    loom_error_set(s->ctx, LOOM_ERR_LIMIT, "%s depends on more than %d sizes and tiles", name,
                   LOOM_MOST_ARGUMENTS);
    return LOOM_NONE;
  }
  loom_function_info info = {.name = name,
                             .arity = s->args.n,
                             .evaluate = evaluate,
                             .has_min = true,
                             .data = s->code.at,
                             .size = s->code.n * sizeof *s->code.at};
  loom_function *f = loom_function_new(s->ctx, &info);
  if (!f) return LOOM_NONE;
  loom_expr e = loom_call(s->ctx, f, s->args.n, s->args.at);
  loom_function_free(f);
  return e;
}

static bool count_now(speller *s, unsigned figures, loom_expr out[LOOM_N_COUNT_FIGURES]) {
  int64_t numbers[LOOM_N_COUNT_FIGURES];
  char message[LOOM_MESSAGE_SIZE] = "";
  loom_status status = count_code(s->code.at, NULL, numbers, message, sizeof message);
  if (status == LOOM_ERR_MEMORY)
    loom_error_memory(s->ctx);
  else if (status != LOOM_OK)
    loom_error_set(s->ctx, status, "traffic of %s at %s: %s", s->problem->tensor, s->problem->level,
                   message);
  for (int i = 0; i < LOOM_N_COUNT_FIGURES && status == LOOM_OK; i++)
    if (figures >> i & 1) out[i] = loom_int(s->ctx, numbers[i]);
  return status == LOOM_OK && !loom_base_failed(s->ctx);
}

loom_status loom_count_all(loom_ctx *ctx, const loom_count_problem *problem, unsigned figures,
                           loom_expr out[LOOM_N_COUNT_FIGURES]) {
  speller s = {.ctx = ctx, .problem = problem};
  bool good = spell(&s, figures), symbolic = s.args.n > 0;
  if (good && !symbolic) good = count_now(&s, figures, out);
  end_speller(&s);
  for (int i = 0; i < LOOM_N_COUNT_FIGURES && good && symbolic; i++) {
    if (!(figures >> i & 1)) continue;
    s = (speller){.ctx = ctx, .problem = problem};
    good = spell(&s, 1u << i);
    if (good) out[i] = call(&s, (loom_count_figure)i);
    good = good && out[i] != LOOM_NONE;
    end_speller(&s);
  }
  if (good) return LOOM_OK;
  return loom_error_status(ctx) == LOOM_OK ? LOOM_ERR_MEMORY : loom_error_status(ctx);
}

loom_expr loom_count(loom_ctx *ctx, const loom_count_problem *problem, loom_count_figure figure) {
  loom_expr out[LOOM_N_COUNT_FIGURES];
  loom_status status = loom_count_all(ctx, problem, 1u << figure, out);
  return status == LOOM_OK ? out[figure] : LOOM_NONE;
}
