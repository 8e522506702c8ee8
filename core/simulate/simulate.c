/* SPDX-License-Identifier: MIT */
/* Counts a mapping by walking it: numbers, the limit, one einsum after the other. */
#include "simulate/simulate.h"

/* Points times buffets that are walked at most. */
#define MOST_VISITS ((size_t)200 * 1000 * 1000)

/* Values of symbols. */
typedef struct point {
  size_t n;
  const loom_expr *symbols, *values;
} point;

/* ---- numbers ------------------------------------------------------------------------------ */

static loom_status not_a_number(const loom_analysis *an, int source, const char *what,
                                const char *variable, loom_expr e) {
  if (e == LOOM_NONE) return loom_failed(an);
  char *text = loom_print(an->ctx, e, LOOM_INFIX);
  loom_status status = loom_fail(an, LOOM_ERR_DOMAIN, source,
                                 "a walk of the loops needs integers above 0: the %s of '%s' is %s",
                                 what, variable, text ? text : "?");
  loom_free(text);
  return status;
}

/* The integer above 0 that an expression is where the symbols have their values. */
static bool read_number(const loom_analysis *an, loom_expr *e, int64_t *value) {
  const point *p = an->given;
  if (p->n > 0) *e = loom_substitute(an->ctx, *e, p->n, p->symbols, p->values);
  return *e != LOOM_NONE && loom_as_int(an->ctx, *e, value) && *value > 0;
}

static loom_status read_sizes(sim *s, int leaf) {
  const loom_analysis *an = s->an;
  for (size_t v = 0; v < an->w->variables.n; v++) {
    const loom_variable *variable = &an->w->variables.at[v];
    loom_expr size = variable->size;
    if (read_number(an, &size, &s->sizes[v])) continue;
    bool looped = false;
    for (size_t i = 0; i < an->n_loops; i++) looped = looped || an->loops[i].variable == (int)v;
    if (looped || loom_einsum_has_variable(an->einsum, (int)v))
      return not_a_number(an, leaf, "size", variable->name, size);
    s->sizes[v] = 1;
  }
  return LOOM_OK;
}

static loom_status read_loop(sim *s, size_t i) {
  const loom_analysis *an = s->an;
  const loom_loop *from = &an->loops[i];
  const char *names[] = {"tile", "step", "first tile"};
  loom_expr from_parts[] = {from->tile, from->step, from->first};
  sim_loop *loop = &s->loops[i];
  int64_t *parts[] = {&loop->tile, &loop->step, &loop->first};
  *loop = (sim_loop){.variable = from->variable, .spatial = from->spatial};
  for (int k = 0; k < 3; k++)
    if (from_parts[k] != LOOM_NONE && !read_number(an, &from_parts[k], parts[k]))
      return not_a_number(an, an->path[from->at].source, names[k],
                          an->w->variables.at[from->variable].name, from_parts[k]);
  if (from->step == LOOM_NONE) loop->step = loop->tile;
  loop->remakes = loop->step < loop->tile || !loom_einsum_has_variable(an->einsum, from->variable);
  return LOOM_OK;
}

/* Pieces of the largest interval, and the largest piece. */
static size_t count_pieces(const sim_loop *loop, int64_t extent, int64_t *largest) {
  int64_t begin = loop->first > 0 ? loop->first : loop->tile;
  int64_t step = loop->first > 0 ? loop->tile : loop->step;
  *largest = extent;
  if (extent <= begin) return 1;
  int64_t rest = extent - begin;
  int64_t later = loop->first > 0 && rest < loop->tile ? rest : loop->tile;
  *largest = later > begin ? later : begin;
  return 1 + (size_t)(rest / step + (rest % step > 0));
}

static bool count_trips(sim *s) {
  int64_t *extents = loom_arena_array(&s->an->scratch, s->an->w->variables.n, sizeof *extents);
  s->looped = loom_arena_array(&s->an->scratch, s->an->w->variables.n, sizeof *s->looped);
  if (!extents || !s->looped) return false;
  for (size_t i = 0; i < s->n_loops; i++) {
    int v = s->loops[i].variable;
    int64_t around = extents[v] > 0 ? extents[v] : s->sizes[v];
    if (extents[v] == 0) s->looped[s->n_looped++] = v;
    s->loops[i].trips = count_pieces(&s->loops[i], around, &extents[v]);
    loom_loop *loop = &s->an->loops[i];
    loop->trips = loop->reference = s->an->path[loop->at].node.trips =
        loom_int(s->an->ctx, (int64_t)s->loops[i].trips);
  }
  return true;
}

/* ---- the limit ---------------------------------------------------------------------------- */

static loom_status check_limit(const sim *s) {
  const loom_analysis *an = s->an;
  size_t buffets = an->einsum->accesses.n, visits;
  for (size_t i = 0; i < an->n_path; i++) buffets += loom_node_is_holder(an->path[i].node.kind);
  visits = buffets;
  bool fits = true;
  double points = 1;
  for (size_t i = 0; i < s->n_loops; i++) {
    points *= (double)s->loops[i].trips;
    fits = fits && !__builtin_mul_overflow(visits, s->loops[i].trips, &visits);
  }
  for (size_t i = 0; fits && i < an->w->variables.n; i++)
    fits = !loom_einsum_has_variable(an->einsum, (int)i) || s->sizes[i] <= (int64_t)MOST_VISITS;
  if (fits && visits <= MOST_VISITS) return LOOM_OK;
  return loom_error_set(an->ctx, LOOM_ERR_LIMIT,
                        "einsum '%s': its loops have %.0f points, which times %zu buffets is more "
                        "than the %zu that are walked",
                        an->einsum->name, points, buffets, MOST_VISITS);
}

static loom_status check_kinds(const loom_analysis *an) {
  for (size_t i = 0; i < an->n_path; i++)
    if (an->path[i].node.kind == LOOM_NODE_CUSTOM)
      return loom_fail(
          an, LOOM_ERR_BAD_MAPPING, an->path[i].source,
          "a walk of the loops knows memories, tolls and compute units; '%s' is a kind "
          "of its own",
          an->path[i].node.custom);
  return LOOM_OK;
}

/* ---- one einsum --------------------------------------------------------------------------- */

static loom_status begin(sim *s, loom_analysis *an) {
  *s = (sim){.an = an, .n_loops = an->n_loops};
  s->sizes = loom_arena_array(&an->scratch, an->w->variables.n, sizeof *s->sizes);
  s->loops = loom_arena_array(&an->scratch, an->n_loops, sizeof *s->loops);
  if (!s->sizes || !s->loops) return loom_failed(an);
  loom_status status = read_sizes(s, an->path[an->n_path - 1].source);
  for (size_t i = 0; i < s->n_loops && status == LOOM_OK; i++) status = read_loop(s, i);
  if (status != LOOM_OK) return status;
  return count_trips(s) ? check_limit(s) : loom_failed(an);
}

static loom_status count_tensor(const sim *s, loom_result_part *part, int access) {
  loom_status status = loom_nest_build(s->an, access);
  if (status != LOOM_OK) return status;
  sim_tensor t;
  if (!sim_tensor_begin(&t, s) || !sim_note_updates(&t)) return loom_failed(s->an);
  loom_stats stats = {.buffets = part->stats.buffets + part->stats.n_buffets};
  status = sim_add_buffets(&t, &stats);
  return status == LOOM_OK ? loom_part_add_tensor(s->an, part, &stats) : status;
}

static loom_status count_by_walking(loom_analysis *an, loom_result_part *part) {
  sim s;
  loom_status status = check_kinds(an);
  if (status == LOOM_OK) status = begin(&s, an);
  if (status != LOOM_OK) return status;
  loom_stats *stats = &part->stats;
  loom_arena *arena = &an->result->arena;
  stats->fanout = loom_arena_array(arena, an->n_fanout, sizeof *stats->fanout);
  stats->first_latency = loom_arena_array(arena, an->n_first_latency, sizeof *stats->first_latency);
  if (!stats->fanout || !stats->first_latency || !sim_count_operations(&s, stats))
    return loom_failed(an);
  for (size_t i = 0; i < part->n_tensors && status == LOOM_OK; i++)
    status = count_tensor(&s, part, (int)i);
  return status;
}

loom_result *loom_simulate(const loom_workload *w, const loom_arch *a, const loom_mapping *m,
                           const loom_options *options, size_t n, const loom_expr *symbols,
                           const loom_expr *values) {
  const point at = {n, symbols, values};
  loom_options exact = options ? *options : (loom_options){0};
  exact.model = LOOM_EXACT;
  exact.allow_growing_tiles = true;
  return loom_analyze_by(w, a, m, &exact, count_by_walking, &at);
}
