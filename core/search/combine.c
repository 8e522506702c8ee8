/* SPDX-License-Identifier: MIT */
/* Chains of single parts combined into points of a template.  One class of each part at a time fixes
** group and dimensions; there, parts are joined one after the other, and what cannot meet a limit or
** enter the group's front, whatever the parts to come choose, is left out. */
#include <math.h>
#include <string.h>

#include "search/search.h"

/* ---- one class of each part ---------------------------------------------------------------- */

typedef struct combination {
  loom_nest *nest;
  loom_collector *collector;
  size_t beam; /* rows kept at most while parts are joined; 0: all */
  const loom_chain_class *classes[LOOM_SEARCH_MAX_VARIABLES];
  double keys[LOOM_SEARCH_MAX_VARIABLES + 1][LOOM_SEARCH_MAX_KEYS];
  uint32_t fused[LOOM_SEARCH_MAX_VARIABLES + 1];
  size_t *chosen[LOOM_SEARCH_MAX_VARIABLES]; /* rows of each class that may matter */
  size_t n_chosen[LOOM_SEARCH_MAX_VARIABLES];
  size_t looked_at;
  double before[LOOM_SEARCH_MAX_VARIABLES + 1]; /* choices of the classes of the first parts */
  double after[LOOM_SEARCH_MAX_VARIABLES + 1];  /* chains of the parts from order[i] on */
  bool *
      reached; /* by spread, when only that is asked for: a point has it; NULL: points are asked for */
  size_t spread; /* at hand */
} combination;

/* Bounds of each basis over the parts that `open` tells. */
static void bound_bases(const combination *c, loom_search_level *level, const bool *open) {
  for (size_t b = 0; b < level->bases.n; b++) {
    loom_basis *basis = &level->bases.at[b];
    bool difference = basis->item.n[0] >= 0;
    double p_least = 1, p_most = 1, n_least = 1, n_most = 1;
    for (int v = 0; v < c->nest->n_parts; v++) {
      if (!open[v]) continue;
      const loom_chain_class *k = c->classes[v];
      p_least *= k->least[basis->item.p[v]];
      p_most *= k->most[basis->item.p[v]];
      if (!difference) continue;
      n_least *= k->least[basis->item.n[v]];
      n_most *= k->most[basis->item.n[v]];
    }
    basis->least = !difference ? p_least : p_least > n_most ? p_least - n_most : 0;
    basis->most = difference ? p_most - n_least : p_most;
  }
}

/* The least that each column can become, into the collector. */
static void bound_columns(const combination *c, const loom_search_level *level,
                          const double *values) {
  double *out = loom_collector_columns(c->collector);
  for (size_t i = 0; i < c->nest->columns.n; i++) out[i] = 0;
  for (size_t b = 0; b < level->bases.n; b++) {
    const loom_basis *basis = &level->bases.at[b];
    out[basis->column] += values[b] * (values[b] < 0 ? basis->most : basis->least);
  }
  if (c->nest->formulas.n > 0) loom_nest_bound_formulas(c->nest, out);
}

/* Asked before every choice: often enough to be stopped in time, seldom enough to cost nothing. */
static bool is_stopped(combination *c) {
  return ++c->looked_at % 256 == 0 && loom_is_stopped(c->nest->ctx);
}

/* The rule by which a choice goes, whatever is chosen for the rest; LOOM_RULE_NONE: it may matter. */
static loom_space_verdict judge(const combination *c, const loom_search_level *level,
                                const double *values) {
  const loom_nest *nest = c->nest;
  bound_columns(c, level, values);
  const double *columns = loom_collector_columns(c->collector);
  for (size_t i = 0; i < nest->columns.n; i++)
    if (columns[i] > nest->columns.at[i].limit) return loom_limit_rule(&nest->columns.at[i]);
  bool bounded = !c->reached && loom_collector_dominated(c->collector);
  return (loom_space_verdict){bounded ? LOOM_RULE_BOUNDED : LOOM_RULE_NONE, -1};
}

/* Notes that so many choices of all tiles have fallen to a rule. */
static void fall(const combination *c, loom_space_verdict verdict, double n) {
  if (c->beam == 0 && !c->reached) loom_nest_fall(c->nest, verdict.rule, verdict.index, n);
}

static void choose_values(const loom_search_level *level, const double *old, const double *factors,
                          double *x) {
  memset(x, 0, level->bases.n * sizeof *x);
  for (size_t q = 0; q < level->terms.n; q++) {
    const loom_step_term *term = &level->terms.at[q];
    x[term->to] += old[term->from] * (factors[term->p] - (term->n < 0 ? 0 : factors[term->n]));
  }
}

/* Choices of the parts from `first` to `last` - 1, of rows that are chosen or of all. */
static double choices(const combination *c, int first, int last, bool chosen) {
  double product = 1;
  for (int v = first; v < last; v++)
    product *= (double)(chosen ? c->n_chosen[v] : c->classes[v]->n);
  return product;
}

/* Objectives that the choice which was judged last has at least. */
static void lower(combination *c, loom_space_verdict verdict, double least[2]) {
  double own[2] = {INFINITY, INFINITY};
  if (c->beam == 0) return;
  if (verdict.rule == LOOM_RULE_NONE || verdict.rule == LOOM_RULE_BOUNDED)
    loom_collector_objectives(c->collector, own);
  for (int k = 0; k < 2; k++)
    if (own[k] < least[k]) least[k] = own[k];
}

static void raise(double to[2], const double least[2]) {
  for (int k = 0; k < 2; k++)
    if (least[k] > to[k]) to[k] = least[k];
}

/* Rows of the class of one part that may matter by themselves; what all of them have at least. */
static void choose_rows_of(combination *c, int v, double least[2]) {
  const loom_chain_list *l = &c->nest->lists[v];
  const loom_chain_class *class_ = c->classes[v];
  double others = choices(c, 0, v, true) * choices(c, v + 1, c->nest->n_parts, false);
  c->n_chosen[v] = 0;
  for (size_t i = class_->first; i < class_->first + class_->n; i++) {
    loom_space_verdict verdict = judge(c, &l->level, l->rows.values + i * (size_t)l->rows.n_values);
    lower(c, verdict, least);
    if (verdict.rule == LOOM_RULE_NONE) {
      c->chosen[v][c->n_chosen[v]++] = i;
    } else {
      fall(c, verdict, others);
    }
  }
}

/* The same of each class; false if some class has none. */
static bool choose_rows_of_all(combination *c, double least[2]) {
  loom_nest *nest = c->nest;
  bool open[LOOM_SEARCH_MAX_VARIABLES];
  for (int v = 0; v < nest->n_parts; v++) open[v] = true;
  bound_bases(c, &nest->levels[0], open);
  loom_space_verdict verdict = judge(c, &nest->levels[0], nest->values);
  least[0] = least[1] = INFINITY;
  lower(c, verdict, least);
  if (verdict.rule != LOOM_RULE_NONE) {
    fall(c, verdict, choices(c, 0, nest->n_parts, false));
    return false;
  }
  for (int v = 0; v < nest->n_parts; v++) {
    open[v] = false;
    bound_bases(c, &nest->lists[v].level, open);
    open[v] = true;
    double own[2] = {INFINITY, INFINITY};
    choose_rows_of(c, v, own);
    raise(least, own);
    if (c->n_chosen[v] == 0) return false;
  }
  return true;
}

/* The same; a sketch learns what the template has at least. */
static bool choose_rows(combination *c) {
  double least[2];
  bool some = choose_rows_of_all(c, least);
  if (c->beam > 0) loom_collector_lower(c->collector, least);
  return some;
}

/* Choices of the parts that are joined after order[i]. */
static double choices_after(const combination *c, int i) {
  double product = 1;
  for (int k = i + 1; k < c->nest->n_parts; k++) product *= (double)c->n_chosen[c->nest->order[k]];
  return product;
}

static void add_tiles(const loom_rows *from, size_t i, const loom_rows *list, size_t j,
                      int32_t *out) {
  size_t t = (size_t)from->n_tiles;
  for (size_t q = 0; q < t; q++) out[q] = from->tiles[i * t + q] + list->tiles[j * t + q];
}

/* Joins rows with the chosen chains of order[i]; the last part makes points. */
static bool join_part(combination *c, const loom_rows *from, int i, loom_rows *to) {
  loom_nest *nest = c->nest;
  const int v = nest->order[i];
  const loom_chain_list *l = &nest->lists[v];
  const loom_search_level *level = &nest->levels[i + 1];
  bool last = i + 1 == nest->n_parts;
  const double after = choices_after(c, i);
  double x[LOOM_SEARCH_MAX_FIGURES];
  int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
  *to = (loom_rows){
      .ranked = nest->ranked, .n_values = (int)level->bases.n, .n_tiles = nest->n_loops};
  nest->counts.combined += (double)from->n * (double)c->n_chosen[v];
  for (size_t a = 0; a < from->n; a++) {
    const double *old = from->values + a * (size_t)from->n_values;
    for (size_t b = 0; b < c->n_chosen[v]; b++) {
      if (is_stopped(c)) return false;
      size_t j = c->chosen[v][b];
      choose_values(level, old, l->factors + j * l->n_factors, x);
      loom_space_verdict verdict = judge(c, level, x);
      if (verdict.rule != LOOM_RULE_NONE) {
        fall(c, verdict, after);
        continue;
      }
      if (last && c->reached) {
        c->reached[c->spread] = true;
        return true;
      }
      if (last) {
        add_tiles(from, a, &l->rows, j, tiles);
        nest->counts.points++;
        fall(c, verdict, 1);
        if (!loom_collector_add(c->collector, tiles)) return false;
        continue;
      }
      ptrdiff_t r = loom_rows_add(nest->ctx, to);
      if (r < 0) return false;
      if (level->bases.n > 0)
        memcpy(to->values + (size_t)r * level->bases.n, x, level->bases.n * sizeof *x);
      add_tiles(from, a, &l->rows, j, to->tiles + (size_t)r * (size_t)nest->n_loops);
      to->fused[r] = 0;
    }
  }
  return true;
}

/* Keeps the rows that promise most. */
static void narrow(const combination *c, const loom_search_level *level, loom_rows *rows) {
  if (rows->n_values == 0) {
    if (rows->n > c->beam) rows->n = c->beam;
    return;
  }
  size_t w = (size_t)rows->n_values, t = (size_t)rows->n_tiles, n = 0;
  double score[64];
  for (size_t i = 0; i < rows->n; i++) {
    bound_columns(c, level, rows->values + i * w);
    double x = loom_collector_score(c->collector);
    size_t k = n < c->beam ? n++ : n - 1;
    if (k == n - 1 && i >= c->beam && score[k] <= x) continue;
    double row[LOOM_SEARCH_MAX_FIGURES];
    int32_t tiles[LOOM_SEARCH_MAX_VARIABLES * LOOM_SEARCH_MAX_LOOPS];
    memcpy(row, rows->values + i * w, w * sizeof *row);
    memcpy(tiles, rows->tiles + i * t, t * sizeof *tiles);
    for (; k > 0 && score[k - 1] > x; k--) {
      score[k] = score[k - 1];
      memcpy(rows->values + k * w, rows->values + (k - 1) * w, w * sizeof *row);
      memcpy(rows->tiles + k * t, rows->tiles + (k - 1) * t, t * sizeof *tiles);
    }
    score[k] = x;
    memcpy(rows->values + k * w, row, w * sizeof *row);
    memcpy(rows->tiles + k * t, tiles, t * sizeof *tiles);
  }
  rows->n = n;
}

static bool shrink(combination *c, const loom_search_level *level, loom_rows *rows) {
  bool compared[LOOM_SEARCH_MAX_FIGURES];
  if (c->beam > 0) {
    narrow(c, level, rows);
    return true;
  }
  for (size_t b = 0; b < level->bases.n; b++)
    compared[b] = c->nest->columns.at[level->bases.at[b].column].compared;
  return loom_rows_prune(c->nest->ctx, rows, compared);
}

static bool start(const loom_nest *nest, loom_rows *rows) {
  *rows = (loom_rows){.n_values = (int)nest->levels[0].bases.n, .n_tiles = nest->n_loops};
  if (loom_rows_add(nest->ctx, rows) < 0) return false;
  if (nest->levels[0].bases.n > 0)
    memcpy(rows->values, nest->values, nest->levels[0].bases.n * sizeof *nest->values);
  if (nest->n_loops > 0) memset(rows->tiles, 0, (size_t)nest->n_loops * sizeof *rows->tiles);
  rows->fused[0] = 0;
  return true;
}

static bool join_classes(combination *c) {
  loom_nest *nest = c->nest;
  bool open[LOOM_SEARCH_MAX_VARIABLES], done;
  loom_rows rows = {0};
  int n = nest->n_parts;
  for (int v = 0; v < n; v++) open[v] = true;
  done = start(nest, &rows);
  if (n == 0 && c->reached) c->reached[c->spread] = true;
  if (n == 0) fall(c, (loom_space_verdict){LOOM_RULE_NONE, -1}, 1);
  if (n == 0 && done && !c->reached) done = loom_collector_add(c->collector, rows.tiles);
  for (int i = 0; i < n && done && rows.n > 0; i++) {
    loom_rows next = {0};
    open[nest->order[i]] = false;
    bound_bases(c, &nest->levels[i + 1], open);
    done = join_part(c, &rows, i, &next);
    size_t before = next.n;
    if (done && i + 1 < n) done = shrink(c, &nest->levels[i + 1], &next);
    fall(c, (loom_space_verdict){LOOM_RULE_DOMINATED, -1},
         (double)(before - next.n) * choices_after(c, i));
    loom_rows_free(nest->ctx, &rows);
    rows = next;
  }
  loom_rows_free(nest->ctx, &rows);
  return done;
}

/* The product of the trips of a bound's variables over its dimension, of those in parts that have a
** class. */
static double trips_of(const combination *c, const loom_search_bound *bound, int n_chosen) {
  const loom_nest *nest = c->nest;
  double product = 1;
  for (int k = 0; k < n_chosen; k++) {
    const loom_search_part *part = &nest->parts[nest->order[k]];
    const loom_rows *r = &nest->lists[nest->order[k]].rows;
    const double *keys = r->keys + c->classes[nest->order[k]]->first * (size_t)r->n_keys;
    for (int i = 0; i < part->n_variables; i++)
      if (bound->variables >> part->variables[i] & 1)
        product *= keys[loom_uses_key(nest, part, i) + bound->dim];
  }
  return product;
}

/* The rule that the classes of the first n parts break whatever the others are. */
static loom_space_verdict judge_classes(const combination *c, int n) {
  const loom_nest *nest = c->nest;
  bool all = n == nest->n_parts;
  const double *used = c->keys[n] + nest->n_fused;
  for (size_t i = 0; i < nest->n_bounds; i++) {
    const loom_search_bound *bound = &nest->bounds[i];
    if (bound->product && !(nest->absent >> bound->dim & 1) &&
        !loom_bound_allows(bound, trips_of(c, bound, n), all))
      return (loom_space_verdict){LOOM_RULE_LOOP_BOUND, bound->dim};
  }
  bool spread = all ? loom_nest_is_spread(nest, used) : loom_nest_may_spread(nest, used);
  return (loom_space_verdict){spread ? LOOM_RULE_NONE : LOOM_RULE_SHARE, -1};
}

/* Rows of the classes at hand joined; of a spread that has been reached no more is asked. */
static bool join_choice(combination *c) {
  loom_nest *nest = c->nest;
  int n = nest->n_parts;
  if (c->reached) {
    c->spread = loom_nest_find_spread(nest, c->keys[n] + nest->n_fused);
    if (c->reached[c->spread]) return true;
  }
  loom_collector_enter(c->collector, c->fused[n], c->keys[n]);
  return !choose_rows(c) || join_classes(c);
}

/* Every choice of a class for the parts from order[i] on. */
static bool choose_classes(combination *c, int i) {
  loom_nest *nest = c->nest;
  int n_keys = nest->n_fused + nest->n_dims;
  if (i == nest->n_parts) return join_choice(c);
  int v = nest->order[i];
  const loom_chain_list *l = &nest->lists[v];
  for (size_t k = 0; k < l->classes.n; k++) {
    const loom_chain_class *class_ = &l->classes.at[k];
    if (is_stopped(c)) return false;
    c->classes[v] = class_;
    c->before[i + 1] = c->before[i] * (double)class_->n;
    c->fused[i + 1] = c->fused[i] | l->rows.fused[class_->first];
    if (nest->max_fused >= 0 && loom_count_bits(c->fused[i + 1]) > nest->max_fused) {
      fall(c, (loom_space_verdict){LOOM_RULE_FUSED, -1}, c->before[i + 1] * c->after[i + 1]);
      continue;
    }
    for (int q = 0; q < n_keys; q++)
      c->keys[i + 1][q] =
          c->keys[i][q] * l->rows.keys[class_->first * (size_t)l->rows.n_keys + (size_t)q];
    loom_space_verdict verdict = judge_classes(c, i + 1);
    if (verdict.rule != LOOM_RULE_NONE) {
      fall(c, verdict, c->before[i + 1] * c->after[i + 1]);
    } else if (!choose_classes(c, i + 1)) {
      return false;
    }
  }
  return true;
}

static bool run(combination *c) {
  loom_nest *nest = c->nest;
  bool done = true;
  int n = nest->n_parts;
  for (int q = 0; q < nest->n_fused + nest->n_dims; q++) c->keys[0][q] = 1;
  c->before[0] = c->after[n] = 1;
  for (int i = n; i-- > 0;)
    c->after[i] = c->after[i + 1] * (double)nest->lists[nest->order[i]].rows.n;
  for (int v = 0; v < n; v++) {
    c->chosen[v] =
        loom_realloc_array(nest->ctx, NULL, 0, nest->lists[v].rows.n + 1, sizeof(size_t));
    done = done && c->chosen[v];
  }
  loom_space_verdict verdict = {LOOM_RULE_NONE, -1};
  if (n == 0) verdict = judge_classes(c, 0);
  if (verdict.rule != LOOM_RULE_NONE) {
    fall(c, verdict, 1);
    return done;
  }
  done = done && choose_classes(c, 0);
  for (int v = 0; v < n; v++)
    loom_give_back(nest->ctx, c->chosen[v], nest->lists[v].rows.n + 1, sizeof(size_t));
  return done;
}

bool loom_nest_combine(loom_nest *nest, loom_collector *collector, size_t beam) {
  combination c = {.nest = nest, .collector = collector, .beam = beam};
  return run(&c);
}

bool loom_nest_probe(loom_nest *nest, loom_collector *collector, bool *reached) {
  combination c = {.nest = nest, .collector = collector, .reached = reached};
  return run(&c);
}
