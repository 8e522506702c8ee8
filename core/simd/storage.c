/* SPDX-License-Identifier: MIT */
/* What of a kernel is in memory: buffers that take over the storage of others, buffers that are never
** stored, and the arguments that are left (doc/formulas.md#storage-in-place).
** Invariant: a buffer is in one group at most. */
#include <string.h>

#include "expr/ops.h"
#include "simd/plan.h"

/* ---- groups ------------------------------------------------------------------------------- */

/* A group grows by one buffer at its end. */
typedef struct group {
  int *buffers;
  size_t n, capacity;
} group;

typedef struct storage {
  loom_plan *plan;
  loom_kernel *kernel;
  int number; /* of the kernel */
  LOOM_VEC(group) groups;
  int *group_of; /* by buffer: group + 1; plan->place */
} storage;

/* Whether all that is left to use the buffer is op: not its ancestors, nor earlier kernels but those
** that are launched with this one. */
static bool is_last_use(const storage *s, const loom_buffer *b, int op) {
  if (b->output || b->updated_by >= 0) return false;
  bool found = false;
  for (size_t i = 0; i < b->n_users; i++) {
    int user = b->users[i].op, kernel = s->plan->kernel_of.at[user];
    if (user == op)
      found = true;
    else if (loom_plan_at_once(s->plan, kernel, s->kernel) ||
             (!loom_graph_depends(s->plan->graph, op, user) &&
              !(kernel >= 0 && kernel < s->number)))
      return false;
  }
  return found;
}

/* Whether op writes once, where it reads the buffer. */
static bool writes_where_read(const loom_op *op, int buffer) {
  if (op->n_dep_writes != 1) return false;
  const loom_dep *write = op->dep_writes[0];
  if (write->mode != LOOM_USE_INDEXED) return false;
  for (size_t i = 0; i < op->n_dep_reads; i++) {
    const loom_dep *read = op->dep_reads[i];
    if (read->buffer != buffer) continue;
    if (read->mode != LOOM_USE_INDEXED || read->index != write->index || read->n != write->n ||
        memcmp(read->loops, write->loops, read->n * sizeof *read->loops) != 0)
      return false;
  }
  return true;
}

/* Whether b fits into the storage of a, and hardly less. */
static bool same_storage(loom_ctx *ctx, const loom_buffer *a, const loom_buffer *b) {
  int64_t whole, part;
  if (a->dtype != b->dtype) return false;
  if (a->storage == b->storage) return true;
  return loom_as_int(ctx, a->storage, &whole) && loom_as_int(ctx, b->storage, &part) &&
         part <= whole && (double)part >= 0.95 * (double)whole;
}

/* What is behind the template may overwrite only what nothing else in the kernel makes or reads: the
** rest runs for other elements at the same time. */
static bool is_free_of_template(const storage *s, const loom_buffer *b) {
  if (s->kernel->template_op < 0) return true;
  if (s->plan->kernel_of.at[b->writer] == s->number) return false;
  for (size_t i = 0; i < b->n_users; i++)
    if (s->plan->kernel_of.at[b->users[i].op] == s->number &&
        !loom_graph_depends(s->plan->graph, b->users[i].op, s->kernel->template_op))
      return false;
  return true;
}

/* Whether all users of the buffer in the kernel access it in one way. */
static bool accessed_one_way(const storage *s, const loom_buffer *b, int buffer) {
  const loom_dep *seen = NULL;
  for (size_t i = 0; i < b->n_users; i++) {
    if (s->plan->kernel_of.at[b->users[i].op] != s->number) continue;
    const loom_op *op = &s->plan->graph->ops.at[b->users[i].op];
    for (size_t j = 0; j < op->n_dep_reads; j++) {
      if (op->dep_reads[j]->buffer != buffer) continue;
      if (seen && seen != op->dep_reads[j]) return false;
      seen = op->dep_reads[j];
    }
  }
  return true;
}

static bool can_reuse(const storage *s, int op, int from, int to) {
  const loom_buffer *buffers = s->plan->graph->buffers.at, *b = &buffers[from];
  return b->writer >= 0 && s->plan->graph->ops.at[b->writer].kind != LOOM_OP_NOP && !b->removed &&
         b->updates < 0 && is_last_use(s, b, op) &&
         writes_where_read(&s->plan->graph->ops.at[op], from) &&
         same_storage(s->plan->ctx, b, &buffers[to]) && accessed_one_way(s, b, from) &&
         is_free_of_template(s, b);
}

static bool push(storage *s, group *g, int buffer) {
  if (g->n == g->capacity) {
    size_t capacity = g->capacity ? 2 * g->capacity : 2;
    int *more = loom_arena_array(&s->plan->arena, capacity, sizeof *more);
    if (!more) return false;
    if (g->n > 0) memcpy(more, g->buffers, g->n * sizeof *more);
    g->buffers = more;
    g->capacity = capacity;
  }
  g->buffers[g->n++] = buffer;
  return true;
}

static bool join(storage *s, int from, int to) {
  if (s->group_of[from] == 0) {
    if (!loom_vec_push(s->plan->ctx, &s->groups, (group){0})) return false;
    s->group_of[from] = (int)s->groups.n;
    if (!push(s, &s->groups.at[s->groups.n - 1], from)) return false;
  }
  s->group_of[to] = s->group_of[from];
  return push(s, &s->groups.at[s->group_of[from] - 1], to);
}

static bool find_groups(storage *s) {
  for (size_t i = 0; i < s->kernel->n_ops; i++) {
    int number = s->kernel->ops[i].op;
    const loom_op *op = &s->plan->graph->ops.at[number];
    for (size_t j = 0; op->n_mutates == 0 && j < op->n_outputs; j++) {
      if (s->plan->graph->buffers.at[op->outputs[j]].removed) continue;
      size_t r = 0;
      while (r < op->n_dep_reads && !can_reuse(s, number, op->dep_reads[r]->buffer, op->outputs[j]))
        r++;
      if (r < op->n_dep_reads && !join(s, op->dep_reads[r]->buffer, op->outputs[j])) return false;
    }
  }
  return true;
}

/* ---- local buffers ------------------------------------------------------------------------ */

/* Whether the buffer lives in this kernel alone and never in memory. */
static bool is_local(const storage *s, int buffer) {
  return loom_plan_local(s->plan, buffer, s->number) &&
         (s->kernel->info.one_pass || !s->plan->kept.at[buffer]);
}

/* Groups that are local as a whole vanish. */
static bool keep_groups(storage *s) {
  loom_in_place *kept = loom_arena_array(&s->plan->arena, s->groups.n, sizeof *kept);
  if (!kept) return false;
  for (size_t i = 0; i < s->groups.n; i++) {
    const group *g = &s->groups.at[i];
    size_t local = 0;
    while (local < g->n && is_local(s, g->buffers[local])) local++;
    if (local < g->n) kept[s->kernel->n_groups++] = (loom_in_place){g->n, g->buffers};
  }
  s->kernel->groups = kept;
  return true;
}

static bool is_listed(const loom_plan *plan, int buffer) {
  for (size_t i = 0; i < plan->numbers.n; i++)
    if (plan->numbers.at[i] == buffer) return true;
  return false;
}

/* What two inputs of a template come from is in the kernel twice. */
static bool find_never_stored(storage *s) {
  loom_plan *plan = s->plan;
  plan->numbers.n = 0;
  for (size_t i = 0; i < s->kernel->n_ops; i++) {
    const loom_op *op = loom_plan_op(plan, s->kernel, i);
    for (size_t j = 0; j < op->n_outputs; j++)
      if (s->group_of[op->outputs[j]] == 0 && is_local(s, op->outputs[j]) &&
          !(s->kernel->n_parts > 1 && is_listed(plan, op->outputs[j])) &&
          !loom_vec_push(plan->ctx, &plan->numbers, op->outputs[j]))
        return false;
  }
  s->kernel->n_never_stored = plan->numbers.n;
  s->kernel->never_stored =
      loom_plan_copy(plan, plan->numbers.n, plan->numbers.at, sizeof *plan->numbers.at);
  return s->kernel->never_stored != NULL;
}

/* ---- arguments ---------------------------------------------------------------------------- */

typedef struct arguments {
  storage *s;
  LOOM_VEC(loom_argument) list;
  int *done; /* by buffer, not 0: it is an argument that is read; plan->other_place */
} arguments;

static bool add(arguments *a, loom_argument argument) {
  return loom_vec_push(a->s->plan->ctx, &a->list, argument);
}

static bool add_groups(arguments *a) {
  const loom_kernel *k = a->s->kernel;
  for (size_t i = 0; i < k->n_groups; i++) {
    int last = k->groups[i].buffers[k->groups[i].n - 1];
    if (!add(a, (loom_argument){.kind = LOOM_ARGUMENT_IN_PLACE, .buffer = last, .written = true}))
      return false;
  }
  return true;
}

static bool is_written_here(const storage *s, int buffer) {
  int writer = s->plan->graph->buffers.at[buffer].writer;
  return writer >= 0 && s->plan->kernel_of.at[writer] == s->number;
}

static bool add_read(arguments *a, int buffer) {
  if (a->done[buffer] || a->s->group_of[buffer] != 0 || is_written_here(a->s, buffer)) return true;
  a->done[buffer] = 1;
  return add(a, (loom_argument){.buffer = buffer});
}

/* A buffer that is new content of another is that one. */
static bool add_write(arguments *a, int buffer) {
  const loom_buffer *b = &a->s->plan->graph->buffers.at[buffer];
  if (a->s->group_of[buffer] != 0 || is_local(a->s, buffer)) return true;
  int name = b->updates >= 0 ? b->updates : buffer;
  return add(a, (loom_argument){.buffer = name, .written = true});
}

static bool add_buffers(arguments *a) {
  const loom_kernel *k = a->s->kernel;
  for (size_t i = 0; i < k->n_ops; i++)
    for (size_t j = 0; j < k->ops[i].n_accesses; j++) {
      const loom_kernel_access *access = &k->ops[i].accesses[j];
      if (!access->store && !add_read(a, access->buffer)) return false;
    }
  for (size_t i = 0; i < k->n_ops; i++) {
    const loom_op *op = loom_plan_op(a->s->plan, k, i);
    for (size_t j = 0; j < op->n_outputs; j++)
      if (!add_write(a, op->outputs[j])) return false;
  }
  return true;
}

static bool is_size(const arguments *a, loom_expr symbol) {
  loom_ctx *ctx = a->s->plan->ctx;
  if (loom_ranges_entry(a->s->kernel->ranges, symbol) || loom_symbol_is_loaded(ctx, symbol))
    return false;
  for (size_t i = 0; i < a->list.n; i++)
    if (a->list.at[i].symbol == symbol) return false;
  return true;
}

/* The symbols of sizes in an index, in order of their names. */
static bool add_sizes_in(arguments *a, loom_expr index) {
  loom_expr_list *symbols = &a->s->plan->symbols;
  loom_ctx *ctx = a->s->plan->ctx;
  symbols->n = 0;
  if (!loom_list_symbols(ctx, index, symbols)) return false;
  for (;;) {
    loom_expr first = LOOM_NONE;
    for (size_t i = 0; i < symbols->n; i++)
      if (is_size(a, symbols->at[i]) &&
          (first == LOOM_NONE ||
           strcmp(loom_symbol_name(ctx, symbols->at[i]), loom_symbol_name(ctx, first)) < 0))
        first = symbols->at[i];
    if (first == LOOM_NONE) return true;
    loom_argument size = {.kind = LOOM_ARGUMENT_SIZE, .buffer = -1, .symbol = first};
    if (!add(a, size)) return false;
  }
}

static bool add_sizes(arguments *a) {
  const loom_kernel *k = a->s->kernel;
  loom_expr last = LOOM_NONE;
  for (size_t i = 0; i < k->n_ops; i++)
    for (size_t j = 0; j < k->ops[i].n_accesses; j++) {
      loom_expr index = k->ops[i].accesses[j].simplified;
      if (index == LOOM_NONE || index == last) continue;
      if (!add_sizes_in(a, index)) return false;
      last = index;
    }
  return true;
}

static bool find_arguments(storage *s) {
  loom_plan *plan = s->plan;
  arguments a = {.s = s, .done = plan->other_place.at};
  bool good = add_groups(&a) && add_buffers(&a) && add_sizes(&a);
  s->kernel->n_arguments = a.list.n;
  if (good) s->kernel->arguments = loom_plan_copy(plan, a.list.n, a.list.at, sizeof *a.list.at);
  loom_vec_free(plan->ctx, &a.list);
  return good && s->kernel->arguments;
}

bool loom_plan_storage(loom_plan *plan, loom_kernel *k) {
  storage s = {.plan = plan, .kernel = k, .number = (int)plan->kernels.n};
  s.group_of = plan->place.at;
  bool good = find_groups(&s) && keep_groups(&s) && find_never_stored(&s) && find_arguments(&s);
  loom_plan_clear(plan, k, plan->place.at);
  loom_plan_clear(plan, k, plan->other_place.at);
  loom_vec_free(plan->ctx, &s.groups);
  return good;
}
