/* SPDX-License-Identifier: MIT */
/* The buffets of one tensor: what moves between a holder and the next outer one, and the actions that
** follow (doc/formulas.md#exact-traffic).
** Invariant: each figure comes from the holder's place in the nest alone, not from the figures of
** inner holders; actions come from the traffic on both sides. */
#include "exact/exact.h"

#include "count/count.h"

#define FIELD(b, name) ((b)->field[LOOM_BUFFET_##name])

/* What moves between a holder and its parent; `of_unit`: the holder's. */
typedef struct traffic {
  loom_expr all, of_parent; /* arriving, shared */
  loom_expr each, of_unit;
  loom_expr gone, gone_of_parent; /* leaving, shared */
  loom_expr gone_each, gone_of_unit;
  loom_expr first, first_of_parent, first_each, first_of_unit;
} traffic;

static bool skips(const loom_analysis *an, const loom_path_node *node) {
  return !an->einsum->is_copy && an->a->components.at[node->component].skip_initial_output_write;
}

/* Innermost first: the compute unit, then the holders. */
static loom_holder *list_holders(loom_analysis *an, size_t *n) {
  loom_holder *list = loom_arena_array(&an->scratch, an->n_nest, sizeof *list);
  if (!list) return NULL;
  size_t above = an->n_loops;
  *n = 0;
  for (size_t i = an->n_nest; i-- > 0;) {
    const loom_path_node *node = &an->path[an->nest[i].at];
    if (node->node.loop >= 0) {
      above--;
    } else if (node->node.kind != LOOM_NODE_RESERVATION) {
      loom_holder *h = &list[(*n)++];
      *h = (loom_holder){.node = node,
                         .above = above,
                         .visits = above,
                         .skips_first = skips(an, node),
                         .retains = node->node.kind == LOOM_NODE_STORAGE &&
                                    node->node.lifetime == LOOM_RETAIN,
                         .has_parent = !node->node.backing};
      if (node->node.kind == LOOM_NODE_TOLL) {
        h->visits = h[-1].visits;
        h->skips_first = h[-1].skips_first;
        h->retains = h[-1].retains;
      }
    }
  }
  return list;
}

static loom_expr ask(loom_analysis *an, const loom_holder *h, loom_whose whose, bool shared,
                     bool first, bool leaves) {
  loom_asked asked = {.above_parent = h[1].above,
                      .above_holder = h->visits,
                      .whose = whose,
                      .shared = shared,
                      .first = first,
                      .retain = h->retains,
                      .leaves = leaves};
  return loom_elements(an, &asked);
}

/* The first unit has most of everything, also without first ones: of outputs each of whose elements is
** of one value of each of its variables, spread in tiles of which none but the last is smaller. */
static bool first_unit_has_most(const loom_analysis *an, const loom_holder *h, size_t above) {
  const loom_exact *ex = an->exact;
  bool several = false, alike = true;
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_loop *loop = &an->loops[i];
    if (ex->place[i] < ex->from || ex->place[i] >= h->visits) continue;
    several = several || (loop->spatial && ex->place[i] < above);
    if (loop->step != LOOM_NONE || (loop->spatial && loop->first != LOOM_NONE)) alike = false;
  }
  for (size_t g = 0; g < ex->geometry.n; g++)
    if (ex->geometry.groups[g].kind != LOOM_SHAPE_PRODUCT) alike = false;
  return !several || alike;
}

static loom_expr first_of_parent(loom_analysis *an, const loom_holder *h) {
  if (first_unit_has_most(an, h, h[1].above))
    return ask(an, h, LOOM_OF_BUSIEST_PARENT, true, true, false);
  loom_asked asked = {.above_parent = h[1].above,
                      .above_holder = h->visits,
                      .whose = LOOM_OF_BUSIEST_PARENT,
                      .shared = true,
                      .first = true,
                      .retain = h->retains};
  return loom_counted_whole(an, &asked);
}

static bool find_traffic(loom_analysis *an, const loom_holder *h, traffic *t) {
  bool output = loom_access_of(an, an->access)->output;
  *t = (traffic){an->zero, an->zero, an->zero, an->zero, an->zero, an->zero,
                 an->zero, an->zero, an->zero, an->zero, an->zero, an->zero};
  if (!h->has_parent) return true;
  t->all = ask(an, h, LOOM_OF_ALL, true, false, false);
  t->of_parent = ask(an, h, LOOM_OF_BUSIEST_PARENT, true, false, false);
  t->each = ask(an, h, LOOM_OF_ALL, false, false, false);
  t->of_unit = ask(an, h, LOOM_OF_BUSIEST_UNIT, false, false, false);
  if (output || an->einsum->is_copy) {
    t->gone = ask(an, h, LOOM_OF_ALL, true, false, true);
    t->gone_of_parent = ask(an, h, LOOM_OF_BUSIEST_PARENT, true, false, true);
    t->gone_each = ask(an, h, LOOM_OF_ALL, false, false, true);
    t->gone_of_unit = ask(an, h, LOOM_OF_BUSIEST_UNIT, false, false, true);
  }
  if (output && h->skips_first) {
    t->first = ask(an, h, LOOM_OF_ALL, true, true, false);
    t->first_of_parent = first_of_parent(an, h);
    t->first_each = ask(an, h, LOOM_OF_ALL, false, true, false);
    if (first_unit_has_most(an, h, h->above))
      t->first_of_unit = ask(an, h, LOOM_OF_BUSIEST_UNIT, false, true, false);
  }
  return loom_error_status(an->ctx) == LOOM_OK && !loom_base_failed(an->ctx);
}

/* Where only one of the units that add up gets an old partial sum, as many arrive as are read. */
static loom_expr arriving(const loom_analysis *an, loom_expr each, loom_expr shared) {
  bool one = an->options->partial_sums_to_one_unit && loom_access_of(an, an->access)->output;
  return one ? shared : each;
}

static void note_traffic(loom_analysis *an, const traffic *t, loom_buffet *b) {
  const loom_access *access = loom_access_of(an, an->access);
  bool copy = an->einsum->is_copy;
  if (!copy) {
    FIELD(b, total_reads_to_parent) = t->all;
    FIELD(b, max_per_parent_reads_to_parent) = t->of_parent;
    FIELD(b, total_deliveries) = arriving(an, t->each, t->all);
    FIELD(b, total_skipped_first_reads_to_parent) = t->first;
    FIELD(b, min_per_parent_skipped_first_reads_to_parent) = t->first_of_parent;
  }
  if (copy || access->output) {
    FIELD(b, total_writes_to_parent) = t->gone;
    FIELD(b, max_per_parent_writes_to_parent) = t->gone_of_parent;
    FIELD(b, total_departures) = t->gone_each;
  }
}

/* In a copy the innermost holder of the source reads, that of the destination writes. */
static void note_copy_leaf(loom_analysis *an, const traffic *t, loom_buffet *b) {
  if (loom_access_of(an, an->access)->output) {
    note_traffic(an, t, b);
    return;
  }
  FIELD(b, total_reads_to_parent) = FIELD(b, total_deliveries) = t->all;
  FIELD(b, max_per_parent_reads_to_parent) = t->of_parent;
}

/* ---- actions ------------------------------------------------------------------------------ */

static bool charge(const loom_analysis *an, loom_expr *into, loom_expr count, loom_expr scale) {
  if (count == an->zero || scale == an->zero) return true;
  return loom_multiply(an, &count, scale) && loom_accumulate(an, into, count);
}

static bool charge_down(const loom_analysis *an, loom_buffet *b, const traffic *own, bool skipping,
                        loom_expr read, loom_expr write) {
  const loom_buffet *child = b - 1;
  bool copy = an->einsum->is_copy;
  bool good =
      charge(an, &FIELD(b, total_read_actions), FIELD(child, total_reads_to_parent), read) &&
      charge(an, &FIELD(b, max_per_unit_read_actions), FIELD(child, max_per_parent_reads_to_parent),
             read);
  if (good && !copy)
    good =
        charge(an, &FIELD(b, total_write_actions), FIELD(b, total_deliveries), write) &&
        charge(an, &FIELD(b, max_per_unit_write_actions), own->of_unit, write) &&
        charge(an, &FIELD(b, total_skipped_first_write_actions),
               arriving(an, own->first_each, own->first), write) &&
        charge(an, &FIELD(b, min_per_unit_skipped_first_write_actions), own->first_of_unit, write);
  if (!good || !skipping) return good;
  return charge(an, &FIELD(b, total_skipped_first_read_actions),
                FIELD(child, total_skipped_first_reads_to_parent), read) &&
         charge(an, &FIELD(b, min_per_unit_skipped_first_read_actions),
                FIELD(child, min_per_parent_skipped_first_reads_to_parent), read);
}

static bool charge_up(const loom_analysis *an, loom_buffet *b, const traffic *own, bool toll,
                      loom_expr read, loom_expr write) {
  const loom_buffet *child = b - 1;
  bool sends = an->einsum->is_copy || loom_access_of(an, an->access)->output;
  bool good =
      charge(an, &FIELD(b, total_write_actions), FIELD(child, total_writes_to_parent), write) &&
      charge(an, &FIELD(b, max_per_unit_write_actions),
             FIELD(child, max_per_parent_writes_to_parent), write);
  if (!good || !sends || (an->options->uncounted_drains && !toll)) return good;
  return charge(an, &FIELD(b, total_read_actions), FIELD(b, total_departures), read) &&
         charge(an, &FIELD(b, max_per_unit_read_actions), own->gone_of_unit, read);
}

/* The unit that is busiest with a holder's own traffic is so with that inside it, the first one: not
** where first tiles of units differ, indices are no sums, or what stays of windows counts. */
static bool same_unit_is_busiest(const loom_analysis *an, const loom_holder *h) {
  const loom_exact *ex = an->exact;
  bool several = false, alike = true, stays = h->retains || h[-1].retains;
  for (size_t i = 0; i < an->n_loops; i++) {
    const loom_loop *loop = &an->loops[i];
    if (!loop->spatial || ex->place[i] < ex->from || ex->place[i] >= h->above) continue;
    several = true;
    if (loop->first != LOOM_NONE) alike = false;
  }
  for (size_t g = 0; g < ex->geometry.n; g++) {
    const loom_group *group = &ex->geometry.groups[g];
    for (size_t r = 0; r < group->access.ranks.n; r++)
      if (group->access.ranks.at[r].n_steps > 0) alike = false;
    if (stays && group->kind != LOOM_SHAPE_PRODUCT) alike = false;
  }
  return !several || alike;
}

/* Of a toll its own place counts: what passes it is what is inside it. */
static loom_asked traffic_of(const loom_holder *h, size_t above) {
  return (loom_asked){.above_parent = h->has_parent ? h[1].above : 0,
                      .above_holder = above,
                      .shared = true,
                      .retain = h->retains};
}

/* Charges the busiest unit with what it does in all, instead of the most of each; where `alike`, that
** is the same, but not what of it is first. */
static bool charge_unit(loom_analysis *an, const loom_holder *h, loom_buffet *b, bool alike,
                        bool skipping, loom_expr read, loom_expr write) {
  loom_asked own = traffic_of(h, h->above), inside = traffic_of(h - 1, h[-1].visits);
  bool output = loom_access_of(an, an->access)->output;
  bool drains = output && !an->options->uncounted_drains;
  unsigned reads = LOOM_UNIT_READS | (drains ? LOOM_UNIT_DEPARTURES : 0);
  unsigned writes = LOOM_UNIT_DELIVERIES | (output ? LOOM_UNIT_WRITES : 0);
  loom_expr most[2], first[2];
  loom_expr *fields[4] = {&FIELD(b, max_per_unit_read_actions),
                          &FIELD(b, max_per_unit_write_actions),
                          &FIELD(b, min_per_unit_skipped_first_read_actions),
                          &FIELD(b, min_per_unit_skipped_first_write_actions)};
  if (!loom_counted_unit(an, &own, &inside, reads, output && skipping && h[-1].skips_first,
                         &most[0], &first[0]) ||
      !loom_counted_unit(an, &own, &inside, writes, output && h->skips_first, &most[1], &first[1]))
    return false;
  for (int i = alike ? 2 : 0; i < 4; i++) *fields[i] = an->zero;
  return (alike ||
          (charge(an, fields[0], most[0], read) && charge(an, fields[1], most[1], write))) &&
         charge(an, fields[2], first[0], read) && charge(an, fields[3], first[1], write);
}

/* The same of a toll, which reads alone. */
static bool charge_unit_of_toll(loom_analysis *an, const loom_holder *h, loom_buffet *b,
                                unsigned direction, loom_expr read) {
  loom_asked own = traffic_of(h, h->above), inside = traffic_of(h - 1, h[-1].visits);
  unsigned parts = (direction & LOOM_DOWN ? LOOM_UNIT_READS : 0) |
                   ((direction & LOOM_UP) && h->has_parent ? LOOM_UNIT_WRITES : 0);
  loom_expr most, first;
  if (!loom_counted_unit(an, &own, &inside, parts, (direction & LOOM_DOWN) && h[-1].skips_first,
                         &most, &first))
    return false;
  FIELD(b, max_per_unit_read_actions) = FIELD(b, min_per_unit_skipped_first_read_actions) =
      an->zero;
  return charge(an, &FIELD(b, max_per_unit_read_actions), most, read) &&
         charge(an, &FIELD(b, min_per_unit_skipped_first_read_actions), first, read);
}

static bool charge_actions(loom_analysis *an, const loom_holder *h, loom_buffet *b,
                           const traffic *own) {
  const loom_access *access = loom_access_of(an, an->access);
  const loom_component *c = &an->a->components.at[h->node->component];
  const char *tensor = an->w->tensors.at[access->tensor].name;
  bool toll = h->node->node.kind == LOOM_NODE_TOLL, copy = an->einsum->is_copy;
  loom_expr bits = loom_bits_of(an, h->node);
  loom_expr read =
      loom_component_actions_per_value(an->ctx, c, "read", an->einsum->name, tensor, bits);
  loom_expr write =
      toll ? an->zero
           : loom_component_actions_per_value(an->ctx, c, "write", an->einsum->name, tensor, bits);
  unsigned direction =
      toll ? loom_component_direction(c, an->einsum->name, tensor) : LOOM_UP_AND_DOWN;
  bool skipping = toll ? !copy : skips(an, h->node);
  if (read == LOOM_NONE || write == LOOM_NONE) return false;
  bool good = (!(direction & LOOM_DOWN) || charge_down(an, b, own, skipping, read, write)) &&
              (!(direction & LOOM_UP) || charge_up(an, b, own, toll, read, write));
  bool alike = same_unit_is_busiest(an, h);
  bool first_alike = !access->output || first_unit_has_most(an, h - 1, h->above);
  if (!good || copy || (alike && first_alike)) return good;
  if (toll) return !access->output || charge_unit_of_toll(an, h, b, direction, read);
  return !h->has_parent || charge_unit(an, h, b, alike, skipping, read, write);
}

/* ---- buffets ------------------------------------------------------------------------------ */

static bool measure(loom_analysis *an, const loom_holder *h, loom_buffet *b) {
  loom_expr *tile = &FIELD(b, max_occupancy), *live = &FIELD(b, fewest_live);
  *live = an->zero;
  if (h->node->node.kind == LOOM_NODE_TOLL) return true;
  if (h->node->node.kind == LOOM_NODE_COMPUTE) {
    *tile = *live = an->one;
    return true;
  }
  loom_asked asked = {.above_holder = h->above, .tile = true};
  *tile = loom_elements(an, &asked);
  loom_expr bits = loom_bits_of(an, h->node);
  return *tile != LOOM_NONE && loom_multiply(an, tile, bits) &&
         loom_fewest_live(an, h->above, live) &&
         (*live == LOOM_NONE || loom_multiply(an, live, bits));
}

/* A toll keeps nothing: what its units pass on is what its child asks and returns.  In a copy the
** innermost holder of the source alone asks, and nothing returns from it. */
static void note_toll(loom_analysis *an, traffic *t, loom_buffet *b) {
  const loom_buffet *child = b - 1;
  FIELD(b, total_deliveries) = FIELD(child, total_reads_to_parent);
  FIELD(b, total_departures) = FIELD(child, total_writes_to_parent);
  t->gone_of_unit = FIELD(child, max_per_parent_writes_to_parent);
  if (an->einsum->is_copy && FIELD(child, total_reads_to_parent) != an->zero) {
    FIELD(b, total_reads_to_parent) = t->all;
    FIELD(b, max_per_parent_reads_to_parent) = t->of_parent;
  }
  if (an->einsum->is_copy && FIELD(child, total_writes_to_parent) == an->zero)
    FIELD(b, total_writes_to_parent) = FIELD(b, max_per_parent_writes_to_parent) = an->zero;
}

static loom_buffet *begin_buffet(loom_analysis *an, const loom_holder *h, loom_stats *stats) {
  loom_buffet *b = loom_buffet_add(an, stats, h->node->node.component);
  b->tensor = loom_name_of_tensor(an, loom_access_of(an, an->access)->tensor);
  b->n_loops_above = (int)(h->above - an->exact->from);
  b->persistent = h->node->node.persistent;
  FIELD(b, total_deliveries) = FIELD(b, total_departures) = FIELD(b, total_drains) = an->zero;
  return b;
}

bool loom_add_empty_buffet(loom_analysis *an, const loom_holder *h, loom_stats *stats) {
  return measure(an, h, begin_buffet(an, h, stats));
}

bool loom_add_buffet(loom_analysis *an, const loom_holder *h, loom_stats *stats) {
  bool leaf = h->node->node.kind == LOOM_NODE_COMPUTE;
  bool toll = h->node->node.kind == LOOM_NODE_TOLL;
  traffic t;
  loom_buffet *b = begin_buffet(an, h, stats);
  if (!find_traffic(an, h, &t)) return false;
  if (leaf && an->einsum->is_copy) {
    note_copy_leaf(an, &t, b);
  } else {
    note_traffic(an, &t, b);
  }
  if (toll && h->has_parent) note_toll(an, &t, b);
  if (!leaf && !toll) FIELD(b, total_drains) = FIELD(b, total_departures);
  return measure(an, h, b) && (leaf || charge_actions(an, h, b, &t));
}

static bool add_holder(loom_analysis *an, const loom_holder *holders, size_t at,
                       loom_stats *stats) {
  bool custom = holders[at].node->node.kind == LOOM_NODE_CUSTOM;
  return custom ? loom_add_custom(an, holders, at, stats)
                : loom_add_buffet(an, &holders[at], stats);
}

/* What a toll passes on for a holder of a kind of its own is not known visit by visit. */
static bool passes_what_is_known(const loom_analysis *an, const loom_holder *h) {
  if (h->node->node.kind != LOOM_NODE_TOLL || h[-1].node->node.kind != LOOM_NODE_CUSTOM)
    return true;
  loom_fail(an, LOOM_ERR_UNKNOWN_NODE_KIND, h->node->source,
            "a toll directly above a '%s' node is analysed by the model 'reference' only",
            h[-1].node->node.custom);
  return false;
}

loom_status loom_exact_traffic(loom_analysis *an, loom_stats *stats) {
  size_t n;
  loom_holder *holders = list_holders(an, &n);
  if (!holders || loom_elements_begin(an) != LOOM_OK) return loom_failed(an);
  stats->n_buffets = 0;
  loom_frame frame = {an->frames, stats};
  an->frames = &frame;
  bool good = true;
  for (size_t i = 0; i < n && good; i++)
    good = passes_what_is_known(an, &holders[i]) && add_holder(an, holders, i, stats);
  an->frames = frame.next;
  return good ? LOOM_OK : loom_failed(an);
}
