/* SPDX-License-Identifier: MIT */
/* One tensor's holders, when its elements are updated, and how long they are needed. */
#include "simulate/simulate.h"

static bool holds(const loom_path_node *node) {
  return node->node.kind != LOOM_NODE_RESERVATION && node->node.loop < 0;
}

/* The loops of the nest at hand before a position, of one kind. */
static bool list_above(const sim *s, size_t position, bool spatial, sim_list *list) {
  const loom_analysis *an = s->an;
  list->loop = loom_arena_array(&s->an->scratch, s->n_loops, sizeof *list->loop);
  list->n = 0;
  if (!list->loop) return false;
  for (size_t i = 0; i < position; i++) {
    int loop = an->path[an->nest[i].at].node.loop;
    if (loop >= 0 && s->loops[loop].spatial == spatial) list->loop[list->n++] = loop;
  }
  return true;
}

static bool list_remaking(sim_tensor *t) {
  const sim *s = t->s;
  const sim_list above[2] = {t->holders[0].temporal, t->holders[0].spatial};
  t->remaking.loop = loom_arena_array(&s->an->scratch, s->n_loops, sizeof *t->remaking.loop);
  if (!t->remaking.loop) return false;
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < above[k].n; i++)
      if (s->loops[above[k].loop[i]].remakes) t->remaking.loop[t->remaking.n++] = above[k].loop[i];
  return true;
}

bool sim_tensor_begin(sim_tensor *t, const sim *s) {
  loom_analysis *an = s->an;
  *t = (sim_tensor){.s = s, .access = loom_access_of(an, an->access)};
  t->holders = loom_arena_array(&an->scratch, an->n_nest, sizeof *t->holders);
  if (!t->holders || !sim_elements_number(&t->elements, s, t->access)) return false;
  for (size_t i = 0; i < an->n_nest; i++) {
    const loom_path_node *node = &an->path[an->nest[i].at];
    if (!holds(node)) continue;
    sim_holder *holder = &t->holders[t->n_holders++];
    holder->node = node;
    if (!list_above(s, i, false, &holder->temporal) || !list_above(s, i, true, &holder->spatial))
      return false;
  }
  return list_remaking(t);
}

static void append(sim_list *list, sim_list from, size_t skip) {
  for (size_t i = skip; i < from.n; i++) list->loop[list->n++] = from.loop[i];
}

/* The loops above a holder, then the others; temporal ones first in both parts. */
static bool list_all(const sim_tensor *t, const sim_holder *h, sim_list *list) {
  const sim_holder *compute = &t->holders[t->n_holders - 1];
  *list = (sim_list){loom_arena_array(&t->s->an->scratch, t->s->n_loops, sizeof(int)), 0};
  if (!list->loop) return false;
  append(list, h->temporal, 0);
  append(list, h->spatial, 0);
  append(list, compute->temporal, h->temporal.n);
  append(list, compute->spatial, h->spatial.n);
  return true;
}

bool sim_note_updates(sim_tensor *t) {
  const sim *s = t->s;
  const sim_holder *compute = &t->holders[t->n_holders - 1];
  sim_list digits;
  sim_walk walk;
  if (!list_all(t, compute, &digits) || !sim_walk_begin(&walk, s, digits, 2)) return false;
  const sim_track *time = sim_walk_track(&walk, compute->temporal);
  const sim_track *anew = sim_walk_track(&walk, t->remaking);
  size_t slots = t->elements.n * anew->size;
  t->updated = loom_arena_array(&s->an->scratch, slots, sizeof *t->updated);
  int64_t *marks = loom_arena_array(&s->an->scratch, t->elements.n, sizeof *marks);
  uint32_t *list = loom_arena_array(&s->an->scratch, t->elements.n, sizeof *list);
  if (!t->updated || !marks || !list) return false;
  for (size_t i = 0; i < slots; i++) t->updated[i] = -1;
  int64_t turn = 0;
  do {
    if (!sim_walk_active(&walk)) continue;
    size_t n = sim_elements_list(&t->elements, &walk, marks, ++turn, list);
    for (size_t i = 0; i < n; i++) {
      int64_t *updated = &t->updated[list[i] * anew->size + anew->at];
      if (*updated < 0) *updated = (int64_t)time->at;
    }
  } while (sim_walk_next(&walk));
  return true;
}

/* What is needed in one visit: by element the first and last step, by step how many begin and how many
** have ended just before. */
typedef struct needs {
  int64_t *visit; /* by element: the last visit that used it */
  size_t *first, *last;
  uint32_t *used;
  size_t n_used;
  int64_t *change;
  size_t n_steps;
} needs;

static bool needs_begin(needs *x, const sim *s, size_t elements, size_t steps) {
  loom_arena *scratch = &s->an->scratch;
  *x = (needs){.n_steps = steps};
  x->visit = loom_arena_array(scratch, elements, sizeof *x->visit);
  x->first = loom_arena_array(scratch, elements, sizeof *x->first);
  x->last = loom_arena_array(scratch, elements, sizeof *x->last);
  x->used = loom_arena_array(scratch, elements, sizeof *x->used);
  x->change = loom_arena_array(scratch, steps + 1, sizeof *x->change);
  return x->visit && x->first && x->last && x->used && x->change;
}

static void needs_use(needs *x, uint32_t element, int64_t visit, size_t step) {
  if (x->visit[element] != visit) {
    x->visit[element] = visit;
    x->first[element] = step;
    x->used[x->n_used++] = element;
  }
  x->last[element] = step;
}

/* The most at one step; ready for the next visit. */
static int64_t needs_end(needs *x) {
  int64_t alive = 0, most = 0;
  for (size_t i = 0; i < x->n_used; i++) {
    x->change[x->first[x->used[i]]]++;
    x->change[x->last[x->used[i]] + 1]--;
  }
  for (size_t step = 0; step <= x->n_steps; step++) {
    alive += x->change[step];
    x->change[step] = 0;
    if (alive > most) most = alive;
  }
  x->n_used = 0;
  return most;
}

/* Temporal loops of a list that stand below a holder. */
static sim_list below(sim_list all, sim_list above) {
  return (sim_list){all.loop + above.n, all.n - above.n};
}

int64_t sim_fewest_live(const sim_tensor *t, size_t holder) {
  const sim *s = t->s;
  const sim_holder *h = &t->holders[holder], *compute = &t->holders[t->n_holders - 1];
  sim_list digits;
  sim_walk walk;
  needs need;
  if (!list_all(t, h, &digits) || !sim_walk_begin(&walk, s, digits, 1)) return -1;
  const sim_track *step = sim_walk_track(&walk, below(compute->temporal, h->temporal));
  size_t inner = step->size * sim_trips(s, below(compute->spatial, h->spatial));
  int64_t *marks = loom_arena_array(&s->an->scratch, t->elements.n, sizeof *marks);
  uint32_t *list = loom_arena_array(&s->an->scratch, t->elements.n, sizeof *list);
  if (!marks || !list || !needs_begin(&need, s, t->elements.n, step->size)) return -1;
  int64_t most = 0, visit = 1, turn = 0;
  size_t seen = 0;
  do {
    if (sim_walk_active(&walk)) {
      size_t n = sim_elements_list(&t->elements, &walk, marks, ++turn, list);
      for (size_t i = 0; i < n; i++) needs_use(&need, list[i], visit, step->at);
    }
    if (++seen < inner) continue;
    int64_t alive = needs_end(&need);
    if (alive > most) most = alive;
    seen = 0;
    visit++;
  } while (sim_walk_next(&walk));
  return most;
}
