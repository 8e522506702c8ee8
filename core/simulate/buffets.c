/* SPDX-License-Identifier: MIT */
/* The figures of a tensor's holders: totals, those of the busiest unit, and actions:
** doc/formulas.md#enumeration. */
#include "simulate/simulate.h"

/* What is known of one holder: its own traffic, and that of the next inner one by its units. */
typedef struct figures {
  const sim_holder *holder;
  const sim_traffic *own, *child;
  int64_t live;
  size_t n_loops_above;
} figures;

static loom_expr number(const sim *s, int64_t value) {
  return loom_int(s->an->ctx, value);
}

static int64_t at(const int64_t *list, size_t i) {
  return list ? list[i] : 0;
}

/* The largest sum of two counts of one unit, and by how much the largest without a third is less. */
typedef struct busiest {
  int64_t most, least_skipped;
} busiest;

static busiest find_busiest(size_t n, const int64_t *a, const int64_t *b, const int64_t *skipped) {
  int64_t most = -1, net = -1;
  for (size_t i = 0; i < n; i++) {
    int64_t sum = at(a, i) + at(b, i), rest = sum - at(skipped, i);
    if (sum > most) most = sum;
    if (rest > net) net = rest;
  }
  return (busiest){most, most - net};
}

static void add_traffic(const sim *s, const figures *f, loom_buffet *b) {
  const sim_traffic *x = f->own;
  loom_expr *field = b->field;
  busiest reads = find_busiest(x->n_outer, x->outer_reads, NULL, x->outer_skips);
  busiest writes = find_busiest(x->n_outer, x->outer_writes, NULL, NULL);
  field[LOOM_BUFFET_total_reads_to_parent] = number(s, x->reads);
  field[LOOM_BUFFET_total_writes_to_parent] = number(s, x->writes);
  field[LOOM_BUFFET_total_skipped_first_reads_to_parent] = number(s, x->skips);
  field[LOOM_BUFFET_max_per_parent_reads_to_parent] = number(s, reads.most);
  field[LOOM_BUFFET_max_per_parent_writes_to_parent] = number(s, writes.most);
  field[LOOM_BUFFET_min_per_parent_skipped_first_reads_to_parent] = number(s, reads.least_skipped);
}

/* field = values * scale */
static bool charge(const sim *s, loom_buffet *b, loom_buffet_field field, int64_t values,
                   loom_expr scale) {
  b->field[field] = loom_mul(s->an->ctx, number(s, values), scale);
  return b->field[field] != LOOM_NONE;
}

static loom_expr scale_of(const sim *s, const figures *f, const char *action) {
  loom_analysis *an = s->an;
  const loom_path_node *node = f->holder->node;
  const char *tensor = an->w->tensors.at[loom_access_of(an, node->access)->tensor].name;
  return loom_component_actions_per_value(an->ctx, &an->a->components.at[node->component], action,
                                          an->einsum->name, tensor, loom_bits_of(an, node));
}

static bool add_memory_actions(const sim *s, const figures *f, loom_buffet *b) {
  const sim_traffic *own = f->own, *child = f->child;
  loom_expr read = scale_of(s, f, "read"), write = scale_of(s, f, "write");
  if (read == LOOM_NONE || write == LOOM_NONE) return false;
  bool skips = s->an->a->components.at[f->holder->node->component].skip_initial_output_write;
  bool drains = own && !s->an->options->uncounted_drains;
  size_t n = child->n_outer;
  busiest reads = find_busiest(n, child->outer_reads, drains ? own->unit_departures : NULL,
                               skips ? child->outer_skips : NULL);
  busiest writes = find_busiest(n, child->outer_writes, own ? own->arrivals : NULL,
                                own ? own->first_arrivals : NULL);
  int64_t first_arrivals = 0;
  for (size_t i = 0; own && i < n; i++) first_arrivals += own->first_arrivals[i];
  return charge(s, b, LOOM_BUFFET_total_read_actions, child->reads + (drains ? own->departures : 0),
                read) &&
         charge(s, b, LOOM_BUFFET_total_write_actions, child->writes + (own ? own->deliveries : 0),
                write) &&
         charge(s, b, LOOM_BUFFET_max_per_unit_read_actions, reads.most, read) &&
         charge(s, b, LOOM_BUFFET_max_per_unit_write_actions, writes.most, write) &&
         charge(s, b, LOOM_BUFFET_total_skipped_first_read_actions, skips ? child->skips : 0,
                read) &&
         charge(s, b, LOOM_BUFFET_total_skipped_first_write_actions, first_arrivals, write) &&
         charge(s, b, LOOM_BUFFET_min_per_unit_skipped_first_read_actions, reads.least_skipped,
                read) &&
         charge(s, b, LOOM_BUFFET_min_per_unit_skipped_first_write_actions, writes.least_skipped,
                write);
}

/* A toll is charged for what passes it down, and up. */
static bool add_toll_actions(const sim *s, const figures *f, loom_buffet *b) {
  const loom_analysis *an = s->an;
  const loom_path_node *node = f->holder->node;
  const sim_traffic *child = f->child;
  const char *tensor = an->w->tensors.at[loom_access_of(an, node->access)->tensor].name;
  unsigned direction =
      loom_component_direction(&an->a->components.at[node->component], an->einsum->name, tensor);
  bool down = direction & LOOM_DOWN, up = (direction & LOOM_UP) && !node->node.backing;
  loom_expr read = scale_of(s, f, "read");
  if (read == LOOM_NONE) return false;
  busiest reads = find_busiest(child->n_outer, down ? child->outer_reads : NULL,
                               up ? child->outer_writes : NULL, down ? child->outer_skips : NULL);
  return charge(s, b, LOOM_BUFFET_total_read_actions,
                (down ? child->reads : 0) + (up ? child->writes : 0), read) &&
         charge(s, b, LOOM_BUFFET_max_per_unit_read_actions, reads.most, read) &&
         charge(s, b, LOOM_BUFFET_total_skipped_first_read_actions, down ? child->skips : 0,
                read) &&
         charge(s, b, LOOM_BUFFET_min_per_unit_skipped_first_read_actions, reads.least_skipped,
                read);
}

static bool add_contents(const sim *s, const figures *f, int64_t largest, loom_buffet *b) {
  loom_expr bits = loom_bits_of(s->an, f->holder->node);
  loom_expr *field = b->field;
  field[LOOM_BUFFET_max_occupancy] = loom_mul(s->an->ctx, number(s, largest), bits);
  field[LOOM_BUFFET_fewest_live] = loom_mul(s->an->ctx, number(s, f->live), bits);
  field[LOOM_BUFFET_total_deliveries] = number(s, f->own ? f->own->deliveries : 0);
  field[LOOM_BUFFET_total_departures] = field[LOOM_BUFFET_total_drains] =
      number(s, f->own ? f->own->departures : 0);
  return field[LOOM_BUFFET_max_occupancy] != LOOM_NONE &&
         field[LOOM_BUFFET_fewest_live] != LOOM_NONE;
}

/* What a toll or the compute unit has: nothing to be held but the value at hand. */
static void add_passage(const sim *s, int64_t deliveries, int64_t departures, int64_t held,
                        loom_buffet *b) {
  b->field[LOOM_BUFFET_max_occupancy] = b->field[LOOM_BUFFET_fewest_live] = number(s, held);
  b->field[LOOM_BUFFET_total_deliveries] = number(s, deliveries);
  b->field[LOOM_BUFFET_total_departures] = number(s, departures);
  b->field[LOOM_BUFFET_total_drains] = number(s, 0);
}

static bool add_buffet(const sim *s, const figures *f, int64_t largest, loom_stats *stats) {
  loom_analysis *an = s->an;
  const loom_path_node *node = f->holder->node;
  loom_buffet *b = loom_buffet_add(an, stats, node->node.component);
  b->tensor = loom_name_of_tensor(an, loom_access_of(an, an->access)->tensor);
  b->n_loops_above = (int)(f->holder->temporal.n + f->holder->spatial.n);
  b->persistent = node->node.persistent;
  if (f->own) add_traffic(s, f, b);
  switch (node->node.kind) {
  case LOOM_NODE_COMPUTE: add_passage(s, f->own->deliveries, f->own->departures, 1, b); return true;
  case LOOM_NODE_TOLL:
    add_passage(s, f->own ? f->child->reads : 0, f->own ? f->child->writes : 0, 0, b);
    return add_toll_actions(s, f, b);
  default: return add_contents(s, f, largest, b) && add_memory_actions(s, f, b);
  }
}

/* A holder of a copy asks for nothing, a toll of its destination as well. */
static void ask_nothing(sim_traffic *x) {
  x->reads = x->skips = 0;
  for (size_t i = 0; i < x->n_outer; i++) x->outer_reads[i] = x->outer_skips[i] = 0;
}

static bool is_destination(const sim_tensor *t, size_t i) {
  const loom_analysis *an = t->s->an;
  return an->einsum->is_copy && loom_access_of(an, t->holders[i].node->access)->output;
}

/* Traffic between every holder and the one outside it; a toll's is that of the next inner holder that
** is none. */
static bool count_all(const sim_tensor *t, sim_traffic *traffic, int64_t *live) {
  for (size_t i = t->n_holders; i-- > 0;) {
    bool toll = t->holders[i].node->node.kind == LOOM_NODE_TOLL;
    size_t source = i;
    while (t->holders[source].node->node.kind == LOOM_NODE_TOLL) source++;
    if ((i > 0 || !toll) && !sim_count_traffic(t, source, (int)i - 1, &traffic[i])) return false;
    if (i > 0 && toll && is_destination(t, i)) ask_nothing(&traffic[i]);
    if (t->holders[i].node->node.kind != LOOM_NODE_STORAGE) continue;
    live[i] = sim_fewest_live(t, i);
    if (live[i] < 0) return false;
  }
  return true;
}

loom_status sim_add_buffets(const sim_tensor *t, loom_stats *stats) {
  const sim *s = t->s;
  sim_traffic *traffic = loom_arena_array(&s->an->scratch, t->n_holders, sizeof *traffic);
  int64_t *live = loom_arena_array(&s->an->scratch, t->n_holders, sizeof *live);
  if (!traffic || !live || !count_all(t, traffic, live)) return loom_failed(s->an);
  for (size_t i = t->n_holders; i-- > 0;) {
    figures f = {.holder = &t->holders[i],
                 .own = i > 0 ? &traffic[i] : NULL,
                 .child = i + 1 < t->n_holders ? &traffic[i + 1] : NULL,
                 .live = live[i]};
    if (!add_buffet(s, &f, traffic[i].largest, stats)) return loom_failed(s->an);
  }
  return LOOM_OK;
}
