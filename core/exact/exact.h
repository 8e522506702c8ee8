/* SPDX-License-Identifier: MIT */
/* The model `exact`: what the loops of a path really do, clipped tiles included, for the code inside
** core/exact (doc/formulas.md#exact).
** Invariant: every figure is the number that walking each step and each unit would give, or an
** error; expressions that are LOOM_NONE have their error recorded. */
#ifndef EINLOOM_EXACT_H
#define EINLOOM_EXACT_H

#include "reuse/reuse.h"

/* What a view makes of a loop that cuts a piece. */
typedef enum loom_way {
  LOOM_WAY_PASS,    /* the loop is not looked into: its piece is seen whole */
  LOOM_WAY_CUT,     /* each of its tiles is a piece */
  LOOM_WAY_FIRST,   /* its first tile alone */
  LOOM_WAY_SECOND,  /* its second tile alone */
  LOOM_WAY_LARGEST, /* its largest tile alone */
  LOOM_WAY_SOLE     /* its first tile where there is no other, else nothing */
} loom_way;

/* So many pieces of an extent (which may be 0: an empty piece is none). */
typedef struct loom_pieces {
  loom_expr extent, count;
} loom_pieces;

/* Pieces that the loops over one variable leave when each is taken some way, shared by all that look
** at them so; made when asked for.  The sums are over all pieces. */
typedef struct loom_view {
  struct loom_view *outer, *inner, *next; /* without the last loop; one loop more; another way */
  int loop;                               /* the last loop, -1: the whole variable */
  loom_way way;
  loom_pieces *pieces; /* NULL: not made */
  size_t n_pieces;
  loom_expr number; /* of pieces that are not empty */
  loom_expr values; /* sum of extents */
} loom_view;

/* How the elements that a box of variables touches are counted: doc/formulas.md#exact-footprints. */
typedef enum loom_shape_kind {
  LOOM_SHAPE_PRODUCT, /* different points, different elements */
  LOOM_SHAPE_CHAINS,  /* points that differ by a multiple of one vector share an element */
  LOOM_SHAPE_SPAN,    /* one rank, coefficients all 1 or -1: elements are an interval */
  LOOM_SHAPE_OTHER    /* no closed form */
} loom_shape_kind;

/* Variables that share ranks, and their ranks; elements of groups are independent. */
typedef struct loom_group {
  loom_shape_kind kind;
  size_t n;
  int *variables;
  int64_t *vector;    /* CHAINS: by variable of the group, not negative */
  loom_access access; /* with the ranks of the group alone */
} loom_group;

/* A tensor as the groups of the variables that index it. */
typedef struct loom_geometry {
  size_t n;
  loom_group *groups;
  int *group_of; /* by variable of the workload; -1: the tensor does not use it */
} loom_geometry;

/* Of which units, or parent units, a figure is. */
typedef enum loom_whose {
  LOOM_OF_ALL,
  LOOM_OF_BUSIEST_PARENT, /* one instance of the parent */
  LOOM_OF_BUSIEST_UNIT    /* one instance of the holder */
} loom_whose;

/* Elements that come to the visits of a holder: a figure of one tensor.  Loops are counted from the
** outermost of its nest. */
typedef struct loom_asked {
  size_t above_parent, above_holder;
  loom_whose whose;
  bool shared; /* once for all units that a dimension serves at the same time */
  bool first;  /* only those that no earlier step has computed */
  bool tile;   /* of the largest visit alone */
  bool retain; /* what a unit has from its last visit does not come again */
  bool leaves; /* what goes, where that may differ from what comes: contents are retained */
} loom_asked;

/* A figure that was asked for. */
typedef struct loom_answered {
  struct loom_answered *next;
  loom_asked asked;
  loom_expr value;
} loom_answered;

/* A holder of a tensor, or the compute unit. */
typedef struct loom_holder {
  const loom_path_node *node;
  size_t above;  /* loops above it */
  size_t visits; /* loops above what its traffic is for: of a toll, above the next inner holder */
  bool skips_first; /* what its traffic is for leaves out first reads */
  bool retains;     /* what its traffic is for keeps contents between visits */
  bool has_parent;
} loom_holder;

/* Expressions to be marked. */
typedef struct loom_kept {
  struct loom_kept *next;
  size_t n;
  const loom_expr *at;
} loom_kept;

typedef struct loom_exact {
  struct loom_exact *around; /* of the nest, where this one stands for the inside of a visit */
  size_t from;               /* loops around that visit: they are not looked into */
  loom_kept *kept;
  loom_view *whole;    /* by variable */
  int **loops_of;      /* by variable: its loops in path order, then -1 */
  unsigned char *ways; /* by loop: the view that is asked for */

  /* The tensor at hand. */
  loom_geometry geometry;
  size_t *place;    /* by loop: its place among the loops of the nest */
  bool *reuses;     /* by loop: the dimension may serve several units at once */
  size_t outermost; /* loops above the tensor's outermost holder */
  loom_answered *answers;
} loom_exact;

/* Counts the einsum at hand: loom_analysis.count of this model. */
loom_status loom_exact_count(loom_analysis *an, loom_result_part *part);
/* Marks what is being computed for a collection. */
void loom_exact_mark(loom_ctx *ctx, const loom_exact *ex, size_t n_variables);

/* ---- views.c ------------------------------------------------------------------------------ */

/* Views of the einsum at hand: an->exact is new. */
loom_status loom_views_begin(loom_analysis *an);
/* A view of a whole variable of that extent. */
bool loom_view_whole(loom_analysis *an, loom_view *view, loom_expr extent);
/* Its pieces. */
bool loom_view_pieces(loom_analysis *an, loom_view *view);
/* The first tile that a loop without a first tile of its own makes of an extent. */
loom_expr loom_whole_tile(loom_analysis *an, int loop, loom_expr extent);
/* The pieces of a variable with its loops taken as an->exact->ways says. NULL: out of memory. */
loom_view *loom_view_of(loom_analysis *an, int variable);
loom_expr loom_view_number(loom_analysis *an, loom_view *view);
loom_expr loom_view_values(loom_analysis *an, loom_view *view);
/* Sum over the pieces of what exceeds `length`, which is not below 0. */
loom_expr loom_view_excess(loom_analysis *an, loom_view *view, int64_t length);
/* The same of what does not exceed it. */
loom_expr loom_view_least(loom_analysis *an, loom_view *view, int64_t length);
/* True and the extent where all pieces are alike. */
bool loom_view_even(loom_analysis *an, loom_view *view, loom_expr *extent);

/* ---- geometry.c --------------------------------------------------------------------------- */

loom_status loom_geometry_of(loom_analysis *an, const loom_access *access, loom_geometry *out);
/* Elements that the pieces of the views touch, each combination of pieces counted by itself; views
** in the order of the group's variables; not for LOOM_SHAPE_OTHER. */
loom_expr loom_group_elements(loom_analysis *an, const loom_group *group, loom_view *const *views);

/* ---- elements.c --------------------------------------------------------------------------- */

/* Begins with the tensor whose nest is at hand. */
loom_status loom_elements_begin(loom_analysis *an);
/* The factor of one group in a figure. */
loom_expr loom_elements_of_group(loom_analysis *an, const loom_asked *asked, const loom_group *g);
/* A figure of the tensor at hand. */
loom_expr loom_elements(loom_analysis *an, const loom_asked *asked);
/* Values that a visit of a holder must have at one time at least, if each comes just before its first
** use and goes after its last (doc/formulas.md#exact-fewest-live); LOOM_NONE where there is no form. */
bool loom_fewest_live(loom_analysis *an, size_t above_holder, loom_expr *live);

/* ---- counted.c ---------------------------------------------------------------------------- */

/* A figure counted by the engine: of the ranks `part` of the tensor at hand (none for a variable it
** does not use) and the loops over their variables. */
loom_expr loom_counted(loom_analysis *an, const loom_asked *asked, const loom_access *part,
                       size_t n, const int *variables);
/* Of all whose tiles change above the holder: every group and variable with a temporal loop there. */
loom_expr loom_counted_together(loom_analysis *an, const loom_asked *asked);
/* Of everything: for what is not a product of figures of the groups. */
loom_expr loom_counted_whole(loom_analysis *an, const loom_asked *asked);
/* The largest sum of some traffic (LOOM_UNIT_READS, ...) of one unit of a holder, and by how much the
** largest without first reads or deliveries is less: the holder's own traffic and that of the next
** inner one. */
bool loom_counted_unit(loom_analysis *an, const loom_asked *own, const loom_asked *inside,
                       unsigned parts, bool with_first, loom_expr *most, loom_expr *first);
/* The fewest live values of all whose parts change inside a visit. */
loom_expr loom_counted_live(loom_analysis *an, size_t above_holder);
/* Some temporal loop over a variable of the group has a place in [from, to). */
bool loom_group_changes(const loom_analysis *an, const loom_group *g, size_t from, size_t to);

/* ---- ways.c ------------------------------------------------------------------------------- */

/* Some loop over the variable has tiles that overlap, or a first tile of its own. */
bool loom_loops_overlap(const loom_analysis *an, int variable);
bool loom_loops_have_first(const loom_analysis *an, int variable);
/* Takes the loops over a variable that the tensor does not use, or that a group does, as a figure
** wants them; false where there is no closed form. */
bool loom_take_irrelevant(const loom_analysis *an, const loom_asked *asked, int variable);
bool loom_take_relevant(const loom_analysis *an, const loom_asked *asked, const loom_group *g,
                        int variable);
/* The same for what is there already when a temporal loop goes on: true where that is known. */
bool loom_take_kept(const loom_analysis *an, const loom_asked *asked, int variable, int loop);

/* ---- interleave.c ------------------------------------------------------------------------- */

/* Elements of the group where units that are served at once each walk through a part of their own;
** false where that is not so, or there is no form. */
bool loom_interleaved(loom_analysis *an, const loom_asked *asked, const loom_group *g,
                      loom_expr *elements);

/* ---- slide.c ------------------------------------------------------------------------------ */

/* Boxes of the group's variables touch intervals, and steps of each variable move them by one. */
bool loom_group_slides(const loom_group *g);
/* Elements of such a group that are there already each time a temporal loop goes on; closed: set to
** false where there is no form. */
loom_status loom_kept_by_sliding(loom_analysis *an, const loom_asked *asked, const loom_group *g,
                                 int loop, bool *closed, loom_expr *kept);

/* ---- retain.c ----------------------------------------------------------------------------- */

/* Of the elements of all visits, those that are there from the visit before; closed: false where there
** is no closed form. */
loom_status loom_kept_elements(loom_analysis *an, const loom_asked *asked, bool *closed,
                               loom_expr *kept);

/* ---- operations.c, traffic.c -------------------------------------------------------------- */

/* Operations, steps, fanout, first latencies, and the trips of the loops. */
loom_status loom_exact_operations(loom_analysis *an, loom_stats *stats);
/* The same of what is inside a visit, without first latencies. */
bool loom_count_inside(loom_analysis *an, loom_stats *stats);
/* The buffets of the tensor at hand. */
loom_status loom_exact_traffic(loom_analysis *an, loom_stats *stats);
/* Adds the buffet of a holder that stands in a list, innermost first, after those inside it. */
bool loom_add_buffet(loom_analysis *an, const loom_holder *h, loom_stats *stats);
/* Adds a buffet with its tile and nothing counted. */
bool loom_add_empty_buffet(loom_analysis *an, const loom_holder *h, loom_stats *stats);
/* Adds the buffet of a holder of a kind of its own, number `at` of the list. */
bool loom_add_custom(loom_analysis *an, const loom_holder *holders, size_t at, loom_stats *stats);

#endif
