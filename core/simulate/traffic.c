/* SPDX-License-Identifier: MIT */
/* What arrives at a holder and leaves it, step by step and unit by unit, and what of it is one read or
** one write of an outer holder: doc/formulas.md#enumeration. */
#include "simulate/simulate.h"

/* Contents of one unit that retains. */
typedef struct contents {
  uint32_t *list;
  size_t n, room;
} contents;

/* The state of one count.  A group: the units below one outer unit among which one read or write
** serves all, at one step; `seen` lists are by element and hold the group that saw it last. */
typedef struct count {
  const sim_tensor *t;
  sim_traffic *out;
  sim_walk walk;
  const sim_track *time, *unit, *outer, *anew;
  size_t later; /* time steps of the whole in one step here */
  bool output, asks, returns, skips, retains, one_unit;
  int64_t group;
  int64_t *marks, *old, *held, *read_by, *skipped_by, *written_by;
  int64_t turn;
  uint32_t *tile;
  contents *kept;
} count;

static bool is_first(const count *c, uint32_t element) {
  int64_t updated = c->t->updated[element * c->anew->size + c->anew->at];
  return updated < 0 || updated / (int64_t)c->later >= (int64_t)c->time->at;
}

static void arrive(count *c, uint32_t element) {
  sim_traffic *out = c->out;
  bool first = c->skips && is_first(c, element);
  out->deliveries++;
  out->arrivals[c->unit->at]++;
  if (first) out->first_arrivals[c->unit->at]++;
  if (c->read_by[element] != c->group) {
    c->read_by[element] = c->group;
    out->reads++;
    out->outer_reads[c->outer->at]++;
  }
  if (first && c->skipped_by[element] != c->group) {
    c->skipped_by[element] = c->group;
    out->skips++;
    out->outer_skips[c->outer->at]++;
  }
}

static void leave(count *c, uint32_t element) {
  sim_traffic *out = c->out;
  out->departures++;
  out->unit_departures[c->unit->at]++;
  if (c->written_by[element] == c->group) return;
  c->written_by[element] = c->group;
  out->writes++;
  out->outer_writes[c->outer->at]++;
}

/* Whether the element is another unit's to receive; the unit at hand holds it from here on. */
static bool held_before(count *c, uint32_t element) {
  bool before = c->held[element] == c->group;
  c->held[element] = c->group;
  return before && c->one_unit && c->output;
}

static bool keep(count *c, contents *kept, size_t n) {
  if (n > kept->room) {
    kept->room = 2 * n;
    kept->list = loom_arena_array(&c->t->s->an->scratch, kept->room, sizeof *kept->list);
    if (!kept->list) return false;
  }
  for (size_t i = 0; i < n; i++) kept->list[i] = c->tile[i];
  kept->n = n;
  return true;
}

/* A visit of a unit that drops its contents. */
static void visit(count *c, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!held_before(c, c->tile[i]) && c->asks) arrive(c, c->tile[i]);
    if (c->returns) leave(c, c->tile[i]);
  }
}

/* A visit of one that keeps what the new tile has too. */
static bool change(count *c, contents *kept, size_t n) {
  for (size_t i = 0; i < kept->n; i++) c->old[kept->list[i]] = c->turn;
  for (size_t i = 0; i < n; i++) {
    bool other = held_before(c, c->tile[i]);
    if (c->old[c->tile[i]] != c->turn && !other && c->asks) arrive(c, c->tile[i]);
  }
  for (size_t i = 0; i < kept->n && c->returns; i++)
    if (c->marks[kept->list[i]] != c->turn) leave(c, kept->list[i]);
  return keep(c, kept, n);
}

static bool step(count *c, contents *kept) {
  c->turn++;
  if (!sim_walk_active(&c->walk)) {
    for (size_t i = 0; c->retains && i < kept->n; i++) held_before(c, kept->list[i]);
    return true;
  }
  size_t n = sim_elements_list(&c->t->elements, &c->walk, c->marks, c->turn, c->tile);
  if ((int64_t)n > c->out->largest) c->out->largest = (int64_t)n;
  if (c->retains) return change(c, kept, n);
  visit(c, n);
  return true;
}

/* ---- the walk ----------------------------------------------------------------------------- */

/* Digits: time, outer units, then the loops in between, those last among which traffic is shared.
** Returns how many units the last ones make. */
static size_t order(const sim_tensor *t, const sim_holder *h, size_t outer, sim_list *digits) {
  const sim *s = t->s;
  const loom_analysis *an = s->an;
  size_t n = 0, units = 1;
  for (size_t i = 0; i < h->temporal.n; i++) digits->loop[n++] = h->temporal.loop[i];
  for (size_t i = 0; i < outer; i++) digits->loop[n++] = h->spatial.loop[i];
  for (int shared = 0; shared < 2; shared++)
    for (size_t i = outer; i < h->spatial.n; i++) {
      int loop = h->spatial.loop[i];
      const loom_path_node *node = &an->path[an->loops[loop].at];
      bool reuses =
          loom_component_may_reuse(&an->a->components.at[node->component], node->dim,
                                   an->einsum->name, an->w->tensors.at[t->access->tensor].name);
      if (reuses != (shared == 1)) continue;
      digits->loop[n++] = loop;
      if (shared) units *= s->loops[loop].trips;
    }
  digits->n = n;
  return units;
}

static bool make_lists(count *c) {
  loom_arena *scratch = &c->t->s->an->scratch;
  size_t n = c->t->elements.n;
  int64_t **lists[] = {&c->marks, &c->old, &c->held, &c->read_by, &c->skipped_by, &c->written_by};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (!(*lists[i] = loom_arena_array(scratch, n, sizeof(int64_t)))) return false;
  sim_traffic *out = c->out;
  int64_t **by_outer[] = {&out->outer_reads, &out->outer_writes, &out->outer_skips};
  int64_t **by_unit[] = {&out->arrivals, &out->first_arrivals, &out->unit_departures};
  out->n_outer = c->outer->size;
  out->n_units = c->unit->size;
  for (int i = 0; i < 3; i++) {
    *by_outer[i] = loom_arena_array(scratch, out->n_outer, sizeof(int64_t));
    *by_unit[i] = loom_arena_array(scratch, out->n_units, sizeof(int64_t));
    if (!*by_outer[i] || !*by_unit[i]) return false;
  }
  c->tile = loom_arena_array(scratch, n, sizeof *c->tile);
  c->kept = loom_arena_array(scratch, out->n_units, sizeof *c->kept);
  return c->tile && c->kept;
}

static void read_rules(count *c, const sim_holder *h, int outer) {
  const loom_analysis *an = c->t->s->an;
  bool compute = h->node->node.kind == LOOM_NODE_COMPUTE, copy = an->einsum->is_copy;
  c->output = c->t->access->output;
  c->asks = outer >= 0 && (!copy || (compute && !c->output));
  c->returns = outer >= 0 && (c->output || (copy && !compute));
  c->skips =
      c->output && !copy && an->a->components.at[h->node->component].skip_initial_output_write;
  c->retains = h->node->node.kind == LOOM_NODE_STORAGE && h->node->node.lifetime == LOOM_RETAIN;
  c->one_unit = an->options->partial_sums_to_one_unit;
}

/* What is still there in the end goes up together. */
static void end(count *c, size_t units, size_t shared) {
  for (size_t i = 0; i < units && c->retains && c->returns; i++) {
    if (i % shared == 0) c->group++;
    for (size_t k = 0; k < c->kept[i].n; k++) leave(c, c->kept[i].list[k]);
    sim_walk_next(&c->walk);
  }
}

bool sim_count_traffic(const sim_tensor *t, size_t holder, int outer, sim_traffic *out) {
  static const sim_list none = {0};
  const sim_holder *h = &t->holders[holder];
  sim_list outside = outer < 0 ? none : t->holders[outer].spatial;
  sim_list digits = {loom_arena_array(&t->s->an->scratch, t->s->n_loops, sizeof(int)), 0};
  count c = {.t = t, .out = out};
  *out = (sim_traffic){0};
  if (!digits.loop) return false;
  size_t shared = order(t, h, outside.n, &digits);
  if (!sim_walk_begin(&c.walk, t->s, digits, 4)) return false;
  c.time = sim_walk_track(&c.walk, h->temporal);
  c.unit = sim_walk_track(&c.walk, h->spatial);
  c.outer = sim_walk_track(&c.walk, outside);
  c.anew = sim_walk_track(&c.walk, outer < 0 ? none : t->remaking);
  c.later = sim_trips(t->s, t->holders[t->n_holders - 1].temporal) / c.time->size;
  read_rules(&c, h, outer);
  if (!make_lists(&c)) return false;
  size_t units = c.unit->size, at = 0;
  do {
    if (at % shared == 0) c.group++;
    if (!step(&c, &c.kept[at])) return false;
    if (++at == units) at = 0;
  } while (sim_walk_next(&c.walk));
  end(&c, units, shared);
  return true;
}
