/* SPDX-License-Identifier: MIT */
/* A holder analysed by the caller's function: doc/formulas.md#custom. */
#include "reuse/reuse.h"

#include <string.h>

/* Tile extents of the einsum's variables, in scratch. */
static bool describe_shape(loom_analysis *an, loom_shape *shape) {
  size_t n = an->w->variables.n;
  const char **names = loom_arena_array(&an->scratch, n, sizeof *names);
  loom_expr *extents = loom_arena_array(&an->scratch, n, sizeof *extents);
  if (!names || !extents) return false;
  *shape = (loom_shape){.variables = names, .extents = extents};
  for (size_t v = 0; v < n; v++) {
    if (!loom_einsum_has_variable(an->einsum, (int)v)) continue;
    names[shape->n] = loom_name_of_variable(an, (int)v);
    if (!names[shape->n]) return false;
    extents[shape->n++] = an->extents[v];
  }
  return true;
}

static bool valid_fields(const loom_analysis *an, const loom_stats *stats) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      loom_expr x = stats->buffets[i].field[f];
      bool absent = x == LOOM_NONE && (loom_buffet_classes[f] & LOOM_F_EXACT);
      if (!absent && !loom_expr_live(an->ctx, x)) return false;
    }
  return true;
}

/* Nothing that is counted is below 0. */
static bool check_signs(const loom_analysis *an, const loom_path_node *node,
                        const loom_stats *stats) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    for (int f = 0; f < LOOM_N_BUFFET_FIELDS; f++) {
      loom_expr x = stats->buffets[i].field[f];
      if (x == LOOM_NONE || !loom_facts_negative(loom_facts_of(an->ctx, x))) continue;
      char *text = loom_print(an->ctx, x, LOOM_INFIX);
      loom_fail(an, LOOM_ERR_CALLBACK, node->source, "the analyzer of '%s' gave a negative %s: %s",
                node->node.custom, loom_buffet_field_name((loom_buffet_field)f), text ? text : "?");
      loom_free(text);
      return false;
    }
  return true;
}

/* What the caller may not change is put back. */
static void restore(loom_stats *stats, const loom_stats *before) {
  for (size_t i = 0; i < before->n_buffets; i++) {
    stats->buffets[i].tensor = before->buffets[i].tensor;
    stats->buffets[i].level = before->buffets[i].level;
    stats->buffets[i].n_loops_above = before->buffets[i].n_loops_above;
  }
}

static bool call(loom_analysis *an, const loom_path_node *node, const loom_shape *shape,
                 loom_stats *stats) {
  const loom_node_analyzer *analyzer = &an->options->analyzers[node->analyzer];
  loom_stats given = *stats, before = *stats;
  before.buffets = loom_arena_array(&an->scratch, stats->n_buffets, sizeof *before.buffets);
  if (!before.buffets) return false;
  memcpy(before.buffets, stats->buffets, stats->n_buffets * sizeof *before.buffets);
  an->custom = node;
  loom_status status = analyzer->analyze(analyzer->data, an->ctx, an, &node->node, shape, stats);
  an->custom = NULL;
  if (status != LOOM_OK || loom_error_status(an->ctx) != LOOM_OK) {
    loom_fail(an, status == LOOM_OK ? LOOM_ERR_CALLBACK : status, node->source,
              "the analyzer of '%s' failed", node->node.custom);
    return false;
  }
  if (stats->buffets != given.buffets || stats->n_buffets != given.n_buffets ||
      stats->fanout != given.fanout || stats->first_latency != given.first_latency ||
      !valid_fields(an, stats)) {
    loom_fail(an, LOOM_ERR_CALLBACK, node->source,
              "the analyzer of '%s' must keep the buffets it was given and fill every field",
              node->node.custom);
    return false;
  }
  restore(stats, &before);
  return check_signs(an, node, stats);
}

bool loom_analyze_custom(loom_analysis *an, const loom_path_node *node, loom_stats *stats) {
  loom_shape shape;
  if (node->node.persistent) stats->buffets[stats->n_buffets - 1].persistent = true;
  return describe_shape(an, &shape) && call(an, node, &shape, stats);
}

loom_status loom_analyze_as(loom_analysis *self, loom_node_kind kind, loom_stats *stats) {
  if (!self->custom)
    return loom_error_set(self->ctx, LOOM_ERR_ARGUMENT,
                          "an analyzer can be applied inside a custom analyzer only");
  bool good;
  switch (kind) {
  case LOOM_NODE_STORAGE: good = loom_analyze_storage(self, self->custom, stats); break;
  case LOOM_NODE_TOLL: good = loom_analyze_toll(self, self->custom, stats); break;
  default:
    return loom_error_set(self->ctx, LOOM_ERR_ARGUMENT,
                          "a holder can be analysed as storage or toll only");
  }
  return good ? LOOM_OK : loom_failed(self);
}
