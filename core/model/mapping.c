/* SPDX-License-Identifier: MIT */
/* Builds mappings: nodes are kept as given, names are looked up by the analysis. */
#include "model/mapping.h"

#include <stdio.h>
#include <string.h>

static void mark_tiles(loom_ctx *ctx, loom_expr tile, loom_expr first, loom_expr step) {
  if (tile != LOOM_NONE) loom_gc_mark(ctx, tile);
  if (first != LOOM_NONE) loom_gc_mark(ctx, first);
  if (step != LOOM_NONE) loom_gc_mark(ctx, step);
}

static void mark(loom_owner *owner, loom_ctx *ctx) {
  loom_mapping *m = (loom_mapping *)(void *)owner;
  for (size_t i = 0; i < m->nodes.n; i++) {
    const loom_mapping_node *node = &m->nodes.at[i];
    mark_tiles(ctx, node->tile, node->first, node->step);
    for (size_t k = 0; k < node->aliases.n; k++)
      mark_tiles(ctx, node->aliases.at[k].tile, node->aliases.at[k].first,
                 node->aliases.at[k].step);
  }
}

static loom_status recorded(const loom_mapping *m) {
  return loom_error_status(m->ctx);
}

static int new_list(loom_mapping *m, int parent, int branch) {
  loom_mapping_list list = {.parent = parent, .branch = branch};
  return loom_vec_push(m->ctx, &m->lists, list) ? (int)m->lists.n - 1 : -1;
}

loom_mapping *loom_mapping_new(loom_ctx *ctx) {
  loom_mapping *m = loom_realloc(ctx, NULL, 0, sizeof *m);
  if (!m) return NULL;
  *m = (loom_mapping){.ctx = ctx};
  loom_arena_init(&m->arena, ctx);
  loom_owner_add(ctx, &m->owner, mark);
  if (new_list(m, -1, 0) == 0) return m;
  loom_mapping_free(m);
  return NULL;
}

void loom_mapping_free(loom_mapping *m) {
  if (!m) return;
  for (size_t i = 0; i < m->nodes.n; i++) {
    loom_vec_free(m->ctx, &m->nodes.at[i].tensors);
    loom_vec_free(m->ctx, &m->nodes.at[i].aliases);
    loom_vec_free(m->ctx, &m->nodes.at[i].branches);
  }
  for (size_t i = 0; i < m->lists.n; i++) loom_vec_free(m->ctx, &m->lists.at[i].nodes);
  loom_vec_free(m->ctx, &m->nodes);
  loom_vec_free(m->ctx, &m->lists);
  loom_arena_free(&m->arena);
  loom_owner_remove(&m->owner);
  loom_realloc(m->ctx, m, sizeof *m, 0);
}

static bool copy_name(loom_mapping *m, const char **name) {
  return !*name || (*name = loom_arena_string(&m->arena, *name)) != NULL;
}

/* Appends a node whose names are still the caller's. */
static int add_node(loom_mapping *m, int list, loom_mapping_node node) {
  if (list < 0 || (size_t)list >= m->lists.n) {
    loom_error_set(m->ctx, LOOM_ERR_ARGUMENT, "the mapping has no list number %d", list);
    return -1;
  }
  node.list = list;
  node.position = (int)m->lists.at[list].nodes.n;
  if (!copy_name(m, &node.component) || !copy_name(m, &node.dim) || !copy_name(m, &node.variable) ||
      !copy_name(m, &node.einsum) || !copy_name(m, &node.custom) ||
      !loom_vec_push(m->ctx, &m->nodes, node))
    return -1;
  int index = (int)m->nodes.n - 1;
  if (loom_vec_push(m->ctx, &m->lists.at[list].nodes, index)) return index;
  m->nodes.n--;
  return -1;
}

static loom_mapping_node *node_at(const loom_mapping *m, int node) {
  if (node >= 0 && (size_t)node < m->nodes.n) return &m->nodes.at[node];
  loom_error_set(m->ctx, LOOM_ERR_ARGUMENT, "the mapping has no node number %d", node);
  return NULL;
}

int loom_mapping_storage(loom_mapping *m, int list, const char *component, bool persistent,
                         bool may_lower) {
  return add_node(m, list,
                  (loom_mapping_node){.kind = LOOM_NODE_STORAGE,
                                      .component = component,
                                      .persistent = persistent,
                                      .may_lower = may_lower});
}

int loom_mapping_toll(loom_mapping *m, int list, const char *component, bool may_lower) {
  return add_node(
      m, list,
      (loom_mapping_node){.kind = LOOM_NODE_TOLL, .component = component, .may_lower = may_lower});
}

int loom_mapping_custom(loom_mapping *m, int list, const char *kind, const char *component,
                        bool may_lower) {
  return add_node(m, list,
                  (loom_mapping_node){.kind = LOOM_NODE_CUSTOM,
                                      .component = component,
                                      .custom = kind,
                                      .may_lower = may_lower});
}

loom_status loom_mapping_tensor(loom_mapping *m, int holder, const char *tensor) {
  loom_mapping_node *node = node_at(m, holder);
  if (!node) return recorded(m);
  if (!loom_node_is_holder(node->kind))
    return loom_error_set(m->ctx, LOOM_ERR_ARGUMENT, "node number %d holds no tensors", holder);
  const char *name = loom_arena_string(&m->arena, tensor);
  return name && loom_vec_push(m->ctx, &node->tensors, name) ? LOOM_OK : recorded(m);
}

loom_status loom_mapping_lifetime(loom_mapping *m, int storage, loom_lifetime lifetime) {
  loom_mapping_node *node = node_at(m, storage);
  if (!node) return recorded(m);
  if (node->kind != LOOM_NODE_STORAGE)
    return loom_error_set(m->ctx, LOOM_ERR_ARGUMENT, "node number %d is no storage node", storage);
  node->has_lifetime = true;
  node->lifetime = lifetime;
  return LOOM_OK;
}

/* A tile that failed to build is an error already recorded, not an open or absent tile. */
static bool failed_tile(const loom_mapping *m, loom_expr tile, loom_expr first) {
  return (tile == LOOM_NONE || first == LOOM_NONE) && recorded(m) != LOOM_OK;
}

int loom_mapping_temporal(loom_mapping *m, int list, const char *variable, loom_expr tile,
                          loom_expr first) {
  if (failed_tile(m, tile, first)) return -1;
  return add_node(
      m, list,
      (loom_mapping_node){
          .kind = LOOM_NODE_TEMPORAL, .variable = variable, .tile = tile, .first = first});
}

int loom_mapping_spatial(loom_mapping *m, int list, const char *variable, loom_expr tile,
                         loom_expr first, const char *component, const char *dimension) {
  if (failed_tile(m, tile, first)) return -1;
  return add_node(m, list,
                  (loom_mapping_node){.kind = LOOM_NODE_SPATIAL,
                                      .variable = variable,
                                      .tile = tile,
                                      .first = first,
                                      .component = component,
                                      .dim = dimension});
}

static loom_mapping_node *loop_at(const loom_mapping *m, int loop) {
  loom_mapping_node *node = node_at(m, loop);
  if (!node || loom_node_is_loop(node->kind)) return node;
  loom_error_set(m->ctx, LOOM_ERR_ARGUMENT, "node number %d is no loop", loop);
  return NULL;
}

loom_status loom_mapping_variable_in(loom_mapping *m, int loop, const char *einsum,
                                     const char *variable) {
  loom_mapping_node *node = loop_at(m, loop);
  if (!node) return recorded(m);
  loom_alias alias = {.einsum = loom_arena_string(&m->arena, einsum),
                      .variable = loom_arena_string(&m->arena, variable)};
  if (!alias.einsum || !alias.variable || !loom_vec_push(m->ctx, &node->aliases, alias))
    return recorded(m);
  return LOOM_OK;
}

loom_status loom_mapping_step(loom_mapping *m, int loop, loom_expr step) {
  loom_mapping_node *node = loop_at(m, loop);
  if (!node || failed_tile(m, node->tile, step)) return recorded(m);
  node->step = step;
  return LOOM_OK;
}

loom_status loom_mapping_tile_in(loom_mapping *m, int loop, const char *einsum, loom_expr tile,
                                 loom_expr first, loom_expr step) {
  loom_mapping_node *node = loop_at(m, loop);
  if (!node || failed_tile(m, tile, first) || failed_tile(m, tile, step)) return recorded(m);
  for (size_t i = 0; i < node->aliases.n; i++) {
    loom_alias *alias = &node->aliases.at[i];
    if (strcmp(alias->einsum, einsum) != 0) continue;
    alias->own_tiles = true;
    alias->tile = tile;
    alias->first = first;
    alias->step = step;
    return LOOM_OK;
  }
  return loom_error_set(m->ctx, LOOM_ERR_ARGUMENT,
                        "loop number %d has no variable of its own in einsum '%s'", loop, einsum);
}

int loom_mapping_sequential(loom_mapping *m, int list) {
  return add_node(m, list, (loom_mapping_node){.kind = LOOM_NODE_SEQUENTIAL});
}

int loom_mapping_pipeline(loom_mapping *m, int list) {
  return add_node(m, list, (loom_mapping_node){.kind = LOOM_NODE_PIPELINE});
}

int loom_mapping_parallel(loom_mapping *m, int list) {
  return add_node(m, list, (loom_mapping_node){.kind = LOOM_NODE_PARALLEL});
}

int loom_mapping_branch(loom_mapping *m, int split) {
  loom_mapping_node *node = node_at(m, split);
  if (!node) return -1;
  if (!loom_node_is_split(node->kind)) {
    loom_error_set(m->ctx, LOOM_ERR_ARGUMENT, "node number %d has no branches", split);
    return -1;
  }
  int list = new_list(m, split, (int)node->branches.n);
  if (list >= 0 && !loom_vec_push(m->ctx, &node->branches, list)) {
    m->lists.n--;
    return -1;
  }
  return list;
}

int loom_mapping_compute(loom_mapping *m, int list, const char *einsum, const char *component) {
  return add_node(
      m, list,
      (loom_mapping_node){.kind = LOOM_NODE_COMPUTE, .einsum = einsum, .component = component});
}

loom_status loom_mapping_where(loom_mapping *m, int node, const char *where) {
  loom_mapping_node *n = node_at(m, node);
  if (!n) return recorded(m);
  n->where = loom_arena_string(&m->arena, where);
  return n->where ? LOOM_OK : recorded(m);
}

const char *loom_mapping_place(const loom_mapping *m, int node, char buffer[LOOM_WHERE_SIZE]) {
  if (m->nodes.at[node].where) return m->nodes.at[node].where;
  char *end = buffer + LOOM_WHERE_SIZE - 1;
  *end = '\0';
  while (node >= 0) {
    const loom_mapping_node *n = &m->nodes.at[node];
    const loom_mapping_list *list = &m->lists.at[n->list];
    char step[64];
    int length =
        list->parent < 0
            ? snprintf(step, sizeof step, "mapping.nodes[%d]", n->position + 1)
            : snprintf(step, sizeof step, ".branches[%d][%d]", list->branch + 1, n->position + 1);
    if (length > end - buffer - 3) {
      end -= 3;
      memcpy(end, "...", 3);
      break;
    }
    end -= length;
    memcpy(end, step, (size_t)length);
    node = list->parent;
  }
  return end;
}

loom_alias loom_mapping_loop_in(const loom_mapping_node *loop, const char *einsum) {
  loom_alias found = {.einsum = einsum, .variable = loop->variable};
  for (size_t i = 0; i < loop->aliases.n; i++)
    if (strcmp(loop->aliases.at[i].einsum, einsum) == 0) found = loop->aliases.at[i];
  if (found.own_tiles) return found;
  found.tile = loop->tile;
  found.first = loop->first;
  found.step = loop->step;
  return found;
}
