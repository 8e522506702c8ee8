/* SPDX-License-Identifier: MIT */
/* The scheduler's decision about a pair of groups, with its reason (doc/formulas.md#fusion).
** Invariant: the first rule that refuses gives the reason; nothing of a pair is remembered. */
#include "ranges/sizes.h"
#include "simd/fusion.h"

enum { MOST_OPS = 64, LEAST_BYTES = 10, FARTHEST = 64, HELD_PER_SHARED = 32 };

/* ---- shared data -------------------------------------------------------------------------- */

/* Bytes of the buffers that a template reads or writes as a whole and the other group at indices. */
static int64_t template_bytes(const loom_fusion *f, const loom_group *a, const loom_group *b) {
  int64_t bytes = 0;
  if (a->template_op < 0) return 0;
  const loom_op *op = loom_fusion_op(f, a->template_op);
  for (size_t i = 0; i < op->n_dep_reads + op->n_dep_writes; i++) {
    const loom_dep *dep =
        i < op->n_dep_reads ? op->dep_reads[i] : op->dep_writes[i - op->n_dep_reads];
    for (size_t k = 0; dep->mode == LOOM_USE_WHOLE && k < b->deps.n; k++) {
      const loom_dep *other = f->graph->deps.at[b->deps.at[k]];
      if (other->buffer != dep->buffer || other->mode != LOOM_USE_INDEXED) continue;
      if (__builtin_add_overflow(bytes, dep->bytes, &bytes)) return INT64_MAX;
      break;
    }
  }
  return bytes;
}

/* Bytes of the accesses common to both. */
static int64_t shared_bytes(const loom_fusion *f, const loom_group *a, const loom_group *b) {
  const loom_id_set *small = a->deps.n <= b->deps.n ? &a->deps : &b->deps;
  const loom_id_set *large = small == &a->deps ? &b->deps : &a->deps;
  int64_t bytes = template_bytes(f, a, b);
  if (__builtin_add_overflow(bytes, template_bytes(f, b, a), &bytes)) return INT64_MAX;
  for (size_t i = 0; i < small->n; i++)
    if (loom_id_set_has(large, small->at[i]) &&
        __builtin_add_overflow(bytes, f->graph->deps.at[small->at[i]]->bytes, &bytes))
      return INT64_MAX;
  return bytes;
}

static int64_t far(int a, int b) {
  return a > b ? (int64_t)a - b : (int64_t)b - a;
}

static int64_t distance(const loom_group *a, const loom_group *b) {
  int64_t one = far(a->min_order, b->max_order), other = far(b->min_order, a->max_order);
  return one > other ? one : other;
}

static loom_fuse_score pair_score(const loom_fusion *f, const loom_group *a, const loom_group *b) {
  int64_t bytes = shared_bytes(f, a, b);
  bool shares = bytes > 0 && a->template_op < 0;
  return (loom_fuse_score){.kind = b->template_op >= 0 ? 0
                                   : shares            ? 2
                                                       : 1,
                           .same_kind = a->reduces == b->reduces && bytes > 0,
                           .bytes = bytes,
                           .nearness = -distance(a, b)};
}

/* Of lists: the bytes of all pairs of groups, the least of the other members. */
loom_fuse_score loom_fusion_score(const loom_fusion *f, int first, int second) {
  loom_unit_pair pair;
  loom_fuse_score score = {0};
  for (size_t i = 0; loom_units_pair(f, first, second, i, &pair); i++) {
    loom_fuse_score one = pair_score(f, pair.a, pair.b);
    int64_t bytes = score.bytes;
    if (i == 0) {
      score = one;
      continue;
    }
    if (__builtin_add_overflow(bytes, one.bytes, &score.bytes)) score.bytes = INT64_MAX;
    if (one.kind < score.kind) score.kind = one.kind;
    if (one.nearness < score.nearness) score.nearness = one.nearness;
    score.same_kind = score.same_kind && one.same_kind;
  }
  return score;
}

/* ---- limits ------------------------------------------------------------------------------- */

/* Inputs of one storage size and type that only one operation on each side reads could take each
** other's place; a kernel of both sides holds them at once. */
static bool holds_more(const loom_fusion *f, const loom_group *a, const loom_group *b,
                       int64_t shared) {
  const loom_group *small = a->storages.n <= b->storages.n ? a : b, *large = small == a ? b : a;
  int64_t held = 0;
  for (size_t i = 0; i < small->storages.n; i++) {
    int storage = small->storages.at[i].storage;
    size_t k = 0;
    while (k < large->storages.n && large->storages.at[k].storage != storage) k++;
    int64_t elements;
    if (k == large->storages.n) continue;
    if (!loom_as_int(f->ctx, f->storage_sizes.at[storage], &elements)) return false;
    if (__builtin_add_overflow(held, elements, &held)) held = INT64_MAX;
  }
  return held / HELD_PER_SHARED > shared ||
         (held / HELD_PER_SHARED == shared && held % HELD_PER_SHARED > 0);
}

static size_t count_buffers(loom_fusion *f, const loom_group *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->deps.n; i++) {
    int buffer = f->graph->deps.at[g->deps.at[i]]->buffer;
    n += f->stamp[buffer] != f->epoch;
    f->stamp[buffer] = f->epoch;
  }
  return n;
}

static bool has_many_buffers(loom_fusion *f, const loom_group *a, const loom_group *b) {
  if (f->options.max_buffers == 0) return false;
  f->epoch++;
  return count_buffers(f, a) + count_buffers(f, b) > f->options.max_buffers;
}

/* ---- a group and what it depends on ------------------------------------------------------- */

static bool starts_with(const loom_dep *read, const loom_dep *write) {
  if (read->n < write->n) return false;
  for (size_t i = 0; i < write->n; i++)
    if (read->loops[i].variable != write->loops[i].variable ||
        read->loops[i].size != write->loops[i].size)
      return false;
  return true;
}

/* A read that finds what was written at the same step. */
static bool meets(const loom_dep *read, const loom_dep *write) {
  if (read->buffer != write->buffer) return false;
  if (read->mode == LOOM_USE_WHOLE)
    return write->mode == LOOM_USE_WHOLE && read->accumulates && write->accumulates;
  return read->mode == LOOM_USE_INDEXED && write->mode == LOOM_USE_INDEXED && !read->indirect &&
         !write->indirect && read->index == write->index && starts_with(read, write);
}

/* Between a template, which takes a buffer as a whole, and an operation that runs over all of it in
** order. */
static bool meets_template(const loom_fusion *f, const loom_dep *whole, const loom_dep *other) {
  return whole->buffer == other->buffer && whole->mode == LOOM_USE_WHOLE &&
         loom_graph_covers(f->graph, other);
}

/* What the group b reads of what an operation writes; what is scattered is there only when all is. */
static bool is_met(const loom_fusion *f, const loom_group *b, const loom_dep *read, int writer) {
  const loom_op *op = loom_fusion_op(f, writer);
  for (size_t i = 0; i < op->n_dep_writes; i++) {
    const loom_dep *write = op->dep_writes[i];
    if ((op->kind != LOOM_OP_SCATTER && meets(read, write)) ||
        (op->extensible && meets_template(f, write, read)) ||
        (b->template_op >= 0 && meets_template(f, read, write)))
      return true;
  }
  return false;
}

/* ---- updates in place --------------------------------------------------------------------- */

/* The one write of a buffer, NULL unless it is at an index that is known and each element is written
** at one step. */
static const loom_dep *update_of(const loom_fusion *f, int buffer) {
  const loom_op *op = loom_fusion_op(f, f->graph->buffers.at[buffer].writer);
  const loom_dep *found = NULL;
  for (size_t i = 0; i < op->n_dep_writes; i++) {
    if (op->dep_writes[i]->buffer != buffer) continue;
    if (found || op->kind == LOOM_OP_SCATTER) return NULL;
    found = op->dep_writes[i];
  }
  return found && found->mode == LOOM_USE_INDEXED && !found->indirect ? found : NULL;
}

static bool reads_as_updated(const loom_dep *read, const loom_dep *update) {
  return read->mode == LOOM_USE_INDEXED && !read->indirect && read->index == update->index &&
         read->n == update->n && starts_with(read, update);
}

/* An ordering behind an operation that reads what the group updates: in one kernel it holds where each
** element is read at the step that overwrites it.  Any other ordering asks for another kernel. */
static bool order_holds(const loom_fusion *f, const loom_group *g, int reader) {
  const loom_op *op = loom_fusion_op(f, reader);
  bool found = false;
  for (size_t i = 0; i < op->n_dep_reads; i++) {
    const loom_dep *read = op->dep_reads[i];
    int updated_by = f->graph->buffers.at[read->buffer].updated_by;
    if (read->mode == LOOM_USE_ORDER || updated_by < 0 ||
        !loom_fusion_in(f, f->graph->buffers.at[updated_by].writer, g))
      continue;
    const loom_dep *update = update_of(f, updated_by);
    if (!update || !reads_as_updated(read, update)) return false;
    found = true;
  }
  return found;
}

/* ---- the decision ------------------------------------------------------------------------- */

/* The second group needs the first: what it needs of it must be there at each step. */
static loom_fuse_reason behind(const loom_fusion *f, const loom_group *a, const loom_group *b) {
  for (size_t i = 0; i < b->unmet.n; i++) {
    const loom_dep *dep = f->graph->deps.at[b->unmet.at[i]];
    int writer = f->graph->buffers.at[dep->buffer].writer;
    if (!loom_fusion_in(f, writer, a)) continue;
    bool met = dep->mode == LOOM_USE_ORDER ? order_holds(f, b, writer) : is_met(f, b, dep, writer);
    if (!met) return LOOM_FUSE_ACCESS_MISMATCH;
  }
  return LOOM_FUSE_OK;
}

static bool updates(const loom_fusion *f, const loom_group *g) {
  for (int op = g->first; op >= 0; op = f->next[op])
    if (loom_fusion_op(f, op)->n_mutates > 0) return true;
  return false;
}

/* Whether the operation is in the group of the template and not behind it. */
static bool is_before(const loom_fusion *f, const loom_group *g, int op) {
  for (int i = g->first; i >= 0; i = f->next[i]) {
    if (i == op) return true;
    if (i == g->template_op) return false;
  }
  return false;
}

/* Whether nothing needs what the first group writes but it, the template and what is before it. */
static bool is_used_before(const loom_fusion *f, const loom_group *a, const loom_group *b) {
  for (int op = a->first; op >= 0; op = f->next[op]) {
    const loom_op *o = loom_fusion_op(f, op);
    for (size_t i = 0; i < o->n_outputs; i++) {
      const loom_buffer *buffer = &f->graph->buffers.at[o->outputs[i]];
      if (buffer->output) return false;
      for (size_t k = 0; k < buffer->n_users; k++)
        if (!loom_fusion_in(f, buffer->users[k].op, a) && !is_before(f, b, buffer->users[k].op))
          return false;
    }
  }
  return true;
}

/* A template takes in what runs behind it or, used by nothing else, before it, element by element. */
static bool suits_template(const loom_fusion *f, const loom_group *a, const loom_group *b,
                           bool depends) {
  if (a->template_op < 0 && b->template_op < 0) return true;
  const loom_group *other = a->template_op < 0 ? a : b;
  if (other->template_op >= 0 || other->reduces || updates(f, other) || !depends) return false;
  return b->template_op < 0 || is_used_before(f, a, b);
}

static loom_fuse_reason limits(loom_fusion *f, const loom_group *a, const loom_group *b,
                               int64_t shared) {
  size_t most = f->options.max_ops ? f->options.max_ops : MOST_OPS;
  bool aggressive = f->options.aggressive || f->options.unshared;
  if (shared == 0 && (!aggressive || a->reduces || b->reduces)) return LOOM_FUSE_NO_SHARED_DATA;
  if (a->n + b->n > most) return LOOM_FUSE_TOO_MANY_NODES;
  if (has_many_buffers(f, a, b)) return LOOM_FUSE_MANY_READS;
  return holds_more(f, a, b, shared) ? LOOM_FUSE_PEAK_MEMORY : LOOM_FUSE_OK;
}

/* How the two depend on each other. */
typedef struct relation {
  loom_fuse_path path; /* of the second to the first */
  bool depends, wrong; /* in the graph: the second on the first, the first on the second */
  bool cycle;          /* by way of third groups alone */
} relation;

/* Where it is not asked exactly a path through groups counts as one in the graph: both refuse. */
static bool relate(loom_fusion *f, int first, int second, bool exact, relation *out) {
  loom_fuse_path back;
  *out = (relation){.wrong = false};
  if (!loom_fusion_path(f, first, second, &out->path) || !loom_fusion_path(f, second, first, &back))
    return false;
  out->depends =
      out->path.direct || (out->path.between && (!exact || loom_fusion_depends(f, first, second)));
  out->wrong = back.direct || (back.between && (!exact || loom_fusion_depends(f, second, first)));
  out->cycle = (out->path.between && !out->depends) || (back.between && !out->wrong);
  return true;
}

/* The rules for two groups with loops, but for those of the shapes. */
static loom_fuse_reason by_order(loom_fusion *f, const loom_group *a, const loom_group *b,
                                 const relation *r, bool depends, int64_t shared) {
  if (!suits_template(f, a, b, depends)) return LOOM_FUSE_UNFIT_FOR_TEMPLATE;
  loom_fuse_reason reason = limits(f, a, b, shared);
  if (reason == LOOM_FUSE_OK && depends) reason = behind(f, a, b);
  if (reason != LOOM_FUSE_OK) return reason;
  if (r->depends && r->path.between) return LOOM_FUSE_NODE_BETWEEN;
  if (depends) return LOOM_FUSE_OK;
  if (shared < LEAST_BYTES && !f->options.unshared) return LOOM_FUSE_LITTLE_SHARED_DATA;
  return distance(a, b) > FARTHEST ? LOOM_FUSE_TOO_FAR : LOOM_FUSE_OK;
}

/* What refuses a pair of single groups at once, where it need not be the first rule that does. */
static loom_fuse_reason quick(loom_fusion *f, const loom_group *a, const loom_group *b) {
  loom_fuse_reason reason = limits(f, a, b, shared_bytes(f, a, b));
  if (reason != LOOM_FUSE_OK) return reason;
  return distance(a, b) > FARTHEST && !loom_group_needs(f, b, a) ? LOOM_FUSE_TOO_FAR : LOOM_FUSE_OK;
}

static loom_fuse_reason opaque(const loom_unit_pair *pair) {
  return pair->a->opaque   ? LOOM_FUSE_FIRST_OPAQUE
         : pair->b->opaque ? LOOM_FUSE_SECOND_OPAQUE
                           : LOOM_FUSE_OK;
}

static loom_fuse_reason decide_pair(loom_fusion *f, const loom_unit_pair *pair, const relation *r,
                                    bool alone) {
  loom_fuse_reason reason = opaque(pair);
  bool depends = alone ? r->depends : loom_group_needs(f, pair->b, pair->a);
  if (reason == LOOM_FUSE_OK)
    reason = by_order(f, pair->a, pair->b, r, depends, shared_bytes(f, pair->a, pair->b));
  return reason == LOOM_FUSE_OK ? loom_fusion_shape(f, pair->a, pair->b) : reason;
}

loom_fuse_reason loom_fusion_decide(loom_fusion *f, int first, int second, bool exact) {
  loom_unit_pair pair = {loom_unit_group(f, first), loom_unit_group(f, second)};
  bool alone = f->units[first].n == 1 && f->units[second].n == 1;
  loom_fuse_reason reason = alone ? opaque(&pair) : loom_units_fit(f, first, second);
  if (reason == LOOM_FUSE_OK && alone && !exact) reason = quick(f, pair.a, pair.b);
  if (reason != LOOM_FUSE_OK) return reason;
  relation r;
  if (!relate(f, first, second, exact, &r)) return LOOM_FUSE_ERROR;
  if (r.wrong) return LOOM_FUSE_WRONG_ORDER;
  for (size_t i = 0; loom_units_pair(f, first, second, i, &pair); i++) {
    reason = decide_pair(f, &pair, &r, alone);
    if (reason != LOOM_FUSE_OK) return reason;
  }
  return r.cycle ? LOOM_FUSE_CYCLE : LOOM_FUSE_OK;
}
