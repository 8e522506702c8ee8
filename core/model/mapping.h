/* SPDX-License-Identifier: MIT */
/* Mappings as a tree of lists of nodes.
** Invariant: list 0 is the root; every other list is a branch of one split; a node stands
** in one list. */
#ifndef EINLOOM_MAPPING_H
#define EINLOOM_MAPPING_H

#include "expr/node.h"
#include "model/arena.h"
#include "model/names.h"

/* What a loop is in one einsum; own_tiles: its tiles differ too. */
typedef struct loom_alias {
  const char *einsum, *variable;
  bool own_tiles;
  loom_expr tile, first, step;
} loom_alias;

/* Names as they were given; LOOM_NONE: an open tile, no first tile, tiles that do not overlap. */
typedef struct loom_mapping_node {
  loom_node_kind kind;
  int list, position;
  const char *component, *dim, *variable, *einsum, *custom, *where;
  loom_expr tile, first, step;
  bool persistent, may_lower, has_lifetime;
  loom_lifetime lifetime;
  LOOM_VEC(const char *) tensors;
  LOOM_VEC(loom_alias) aliases;
  LOOM_VEC(int) branches; /* lists */
} loom_mapping_node;

typedef struct loom_mapping_list {
  int parent, branch; /* the split (-1: root) and which of its branches */
  LOOM_VEC(int) nodes;
} loom_mapping_list;

struct loom_mapping {
  loom_owner owner;
  loom_ctx *ctx;
  loom_arena arena;
  LOOM_VEC(loom_mapping_node) nodes;
  LOOM_VEC(loom_mapping_list) lists;
};

/* Where a node was written, or its path ("mapping.nodes[3].branches[1][2]", counted from 1; nodes
** far down are cut to the inner part), in buffer. */
#define LOOM_WHERE_SIZE 160
const char *loom_mapping_place(const loom_mapping *m, int node, char buffer[LOOM_WHERE_SIZE]);
/* What a loop is in an einsum. */
loom_alias loom_mapping_loop_in(const loom_mapping_node *loop, const char *einsum);

static inline bool loom_node_is_loop(loom_node_kind kind) {
  return kind == LOOM_NODE_TEMPORAL || kind == LOOM_NODE_SPATIAL;
}
static inline bool loom_node_is_split(loom_node_kind kind) {
  return kind == LOOM_NODE_SEQUENTIAL || kind == LOOM_NODE_PIPELINE || kind == LOOM_NODE_PARALLEL;
}
static inline bool loom_node_is_holder(loom_node_kind kind) {
  return kind == LOOM_NODE_STORAGE || kind == LOOM_NODE_TOLL || kind == LOOM_NODE_CUSTOM;
}

#endif
