/* SPDX-License-Identifier: MIT */
/* Counts by walking every step with every unit: for nests in which units idle before they work, where
** what is in a unit does not factor.
** Invariant: each unit keeps what it held last; an idle one is left alone. */
#include <string.h>

#include "count/nest.h"

/* One variable: where its intervals of all units stand. */
typedef struct lane {
  int depth;
  size_t *width; /* by depth */
  loom_run **state;
} lane;

typedef struct stepper {
  loom_tally *t;
  loom_numbers p; /* all variables in one group */
  lane *lanes;
  size_t n_units, n_keys, n_owners;
  size_t *place;       /* by unit: its interval in each lane */
  size_t *key, *owner; /* by unit; by key: of reads that are not shared, of units of the parent */
  size_t *first;       /* by key: its first unit in units, which are sorted by it */
  size_t *units;
  loom_runs *held; /* by unit */
  loom_runs *sets, here, fresh, left, arrives, leaves, both, taken;
  loom_runs *seen, *touched;                   /* by index vector of the loops that begin afresh */
  size_t n_anew, *anew_scale;                  /* by loop */
  size_t *anew;                                /* by key: of its spatial ones */
  size_t at_anew;                              /* of the temporal ones */
  int64_t *arrived, *departed, *first_arrived; /* by unit */
  int64_t *reads, *writes, *first_reads;       /* by owner */
  int64_t tile;
} stepper;

/* ---- one step ------------------------------------------------------------------------------- */

static bool set_unit(stepper *s, size_t unit) {
  for (int v = 0; v < s->p.n_variables; v++) {
    lane *l = &s->lanes[v];
    loom_run r = l->state[l->depth][s->place[unit * (size_t)s->p.n_variables + (size_t)v]];
    s->sets[v].n = 0;
    if (loom_run_empty(r) || !loom_list_push(s->t, &s->sets[v], r)) return false;
  }
  return true;
}

static bool copy(loom_tally *t, loom_runs *to, const loom_runs *from) {
  to->n = 0;
  return loom_runs_append(t, to, from);
}

/* What arrives at a working unit and what leaves it, to `arrives` and `leaves` of its key. */
static bool step_unit(stepper *s, size_t unit, size_t at) {
  s->here.n = s->fresh.n = s->left.n = 0;
  if (!loom_image(s->t, &s->p, s->p.groups, s->sets, &s->here)) return false;
  int64_t size = loom_runs_size(&s->here);
  if (size > s->tile) s->tile = size;
  loom_runs *held = &s->held[unit];
  if (s->p.to_one_unit) {
    loom_runs_settle(s->t, &s->taken);
    s->both.n = 0;
    if (!loom_runs_less(s->t, &s->here, &s->taken, &s->both) ||
        !loom_runs_less(s->t, &s->both, held, &s->fresh) ||
        !loom_runs_append(s->t, &s->taken, &s->here))
      return false;
  } else if (!loom_runs_less(s->t, &s->here, held, &s->fresh)) {
    return false;
  }
  if (!loom_runs_less(s->t, s->p.retain ? held : &s->here, s->p.retain ? &s->here : held, &s->left))
    return false;
  s->both.n = 0;
  if (!loom_runs_less(s->t, &s->fresh, &s->seen[at], &s->both)) return false;
  s->first_arrived[unit] += loom_runs_size(&s->both);
  s->arrived[unit] += loom_runs_size(&s->fresh);
  s->departed[unit] += loom_runs_size(&s->left);
  return loom_runs_append(s->t, &s->arrives, &s->fresh) &&
         loom_runs_append(s->t, &s->leaves, &s->left) &&
         loom_runs_append(s->t, &s->touched[at], &s->here) &&
         (!s->p.retain || copy(s->t, held, &s->here));
}

static bool count_step(stepper *s) {
  for (size_t k = 0; k < s->n_keys; k++) {
    size_t at = s->at_anew + s->anew[k];
    s->arrives.n = s->leaves.n = s->taken.n = s->both.n = 0;
    size_t last = s->first[k + 1];
    for (size_t i = s->first[k]; i < last; i++) {
      if (!loom_tally_spend(s->t, 1)) return false;
      bool works = set_unit(s, s->units[i]);
      if (works ? !step_unit(s, s->units[i], at)
                : !loom_runs_append(s->t, &s->taken, &s->held[s->units[i]]))
        return false;
    }
    loom_runs_settle(s->t, &s->arrives);
    loom_runs_settle(s->t, &s->leaves);
    s->both.n = 0;
    if (!loom_runs_less(s->t, &s->arrives, &s->seen[at], &s->both)) return false;
    s->reads[s->owner[k]] += loom_runs_size(&s->arrives);
    s->writes[s->owner[k]] += loom_runs_size(&s->leaves);
    s->first_reads[s->owner[k]] += loom_runs_size(&s->both);
  }
  for (size_t k = 0; k < s->n_keys; k++) {
    size_t at = s->at_anew + s->anew[k];
    if (!loom_runs_append(s->t, &s->seen[at], &s->touched[at])) return false;
    loom_runs_settle(s->t, &s->seen[at]);
    s->touched[at].n = 0;
  }
  return loom_tally_good(s->t);
}

/* What units still hold goes at once. */
static bool write_back(stepper *s) {
  for (size_t k = 0; k < s->n_keys; k++) {
    size_t last = s->first[k + 1];
    s->leaves.n = 0;
    for (size_t i = s->first[k]; i < last; i++) {
      s->departed[s->units[i]] += loom_runs_size(&s->held[s->units[i]]);
      if (!loom_runs_append(s->t, &s->leaves, &s->held[s->units[i]])) return false;
    }
    loom_runs_settle(s->t, &s->leaves);
    s->writes[s->owner[k]] += loom_runs_size(&s->leaves);
  }
  return loom_tally_good(s->t);
}

/* ---- walking -------------------------------------------------------------------------------- */

static bool walk(stepper *s, int at);

static bool cut_all(stepper *s, const loom_cut *cut, int64_t i) {
  lane *l = &s->lanes[cut->variable];
  bool any = false;
  if (!loom_tally_spend(s->t, l->width[l->depth + 1])) return false;
  if (!cut->spatial)
    for (size_t u = 0; u < l->width[l->depth]; u++) {
      l->state[l->depth + 1][u] = loom_cut_piece(cut, l->state[l->depth][u], i);
      any |= !loom_run_empty(l->state[l->depth + 1][u]);
    }
  size_t units = l->width[l->depth + 1] / l->width[l->depth];
  for (size_t u = 0; cut->spatial && u < l->width[l->depth + 1]; u++)
    l->state[l->depth + 1][u] =
        loom_cut_piece(cut, l->state[l->depth][u / units], (int64_t)(u % units));
  return any || cut->spatial;
}

static bool walk(stepper *s, int at) {
  if (at == s->p.above_holder) return count_step(s);
  const loom_cut *cut = &s->p.loops[at];
  lane *l = &s->lanes[cut->variable];
  for (int64_t i = 0; cut_all(s, cut, i); i++) {
    size_t outside = s->at_anew;
    if (!cut->spatial) s->at_anew += (size_t)i * s->anew_scale[at];
    l->depth++;
    bool good = walk(s, at + 1);
    l->depth--;
    s->at_anew = outside;
    if (!good) return false;
    if (cut->spatial) break;
  }
  return loom_tally_good(s->t);
}

/* ---- preparation ---------------------------------------------------------------------------- */

static bool prepare_lanes(stepper *s) {
  size_t *depths = loom_tally_new(s->t, (size_t)s->p.n_variables + 1, sizeof *depths);
  s->lanes = loom_tally_new(s->t, (size_t)s->p.n_variables + 1, sizeof *s->lanes);
  s->sets = loom_tally_new(s->t, (size_t)s->p.n_variables + 1, sizeof *s->sets);
  if (!depths || !s->lanes || !s->sets) return false;
  for (int l = 0; l < s->p.above_holder; l++) depths[s->p.loops[l].variable]++;
  for (int v = 0; v < s->p.n_variables; v++) {
    lane *x = &s->lanes[v];
    x->width = loom_tally_new(s->t, depths[v] + 1, sizeof *x->width);
    x->state = loom_tally_new(s->t, depths[v] + 1, sizeof *x->state);
    if (!x->width || !x->state) return false;
    size_t at = 0;
    x->width[0] = 1;
    for (int l = 0; l < s->p.above_holder; l++) {
      if (s->p.loops[l].variable != v) continue;
      x->width[at + 1] =
          x->width[at] * (s->p.loops[l].spatial ? (size_t)loom_cut_most(&s->p, l) : 1);
      at++;
    }
    for (size_t d = 0; d <= depths[v]; d++) {
      x->state[d] = loom_tally_new(s->t, x->width[d], sizeof **x->state);
      if (!x->state[d]) return false;
    }
    x->state[0][0] = (loom_run){0, s->p.sizes[v]};
  }
  return true;
}

/* Numbers the units by the indices of the spatial loops, outer loops first: place, key, owner. */
static bool list_units(stepper *s) {
  size_t units = 1, keys = 1, owners = 1, stride = 1, n = (size_t)s->p.n_variables;
  for (int l = 0; l < s->p.above_holder; l++)
    if (s->p.loops[l].spatial)
      units = (size_t)loom_tally_mul(s->t, (int64_t)units, loom_cut_most(&s->p, l));
  if (!loom_tally_spend(s->t, units)) return false;
  s->n_units = units;
  size_t *key_of = loom_tally_new(s->t, units, sizeof *key_of);
  size_t *owner_of = loom_tally_new(s->t, units, sizeof *owner_of);
  size_t *anew_of = loom_tally_new(s->t, units, sizeof *anew_of);
  size_t *scale = loom_tally_new(s->t, n + 1, sizeof *scale);
  s->place = loom_tally_new(s->t, units * n + 1, sizeof *s->place);
  if (!key_of || !owner_of || !anew_of || !scale || !s->place) return false;
  for (size_t v = 0; v < n; v++) scale[v] = 1;
  for (int l = s->p.above_holder; l-- > 0;) {
    const loom_cut *cut = &s->p.loops[l];
    if (!cut->spatial) continue;
    size_t most = (size_t)loom_cut_most(&s->p, l), v = (size_t)cut->variable;
    bool outside = cut->outside, keyed = outside || !cut->shared;
    for (size_t u = 0; u < units; u++) {
      size_t i = u / stride % most;
      s->place[u * n + v] += i * scale[v];
      if (keyed) key_of[u] += i * keys;
      if (outside) owner_of[u] += i * owners;
      anew_of[u] += i * s->anew_scale[l];
    }
    stride *= most;
    scale[v] *= most;
    if (keyed) keys *= most;
    if (outside) owners *= most;
  }
  s->n_keys = keys;
  s->n_owners = owners;
  s->key = key_of;
  s->owner = loom_tally_new(s->t, keys, sizeof *s->owner);
  s->anew = loom_tally_new(s->t, keys, sizeof *s->anew);
  s->first = loom_tally_new(s->t, keys + 1, sizeof *s->first);
  s->units = loom_tally_new(s->t, units, sizeof *s->units);
  if (!s->owner || !s->anew || !s->first || !s->units) return false;
  for (size_t u = 0; u < units; u++) s->first[key_of[u] + 1]++;
  for (size_t k = 0; k < keys; k++) s->first[k + 1] += s->first[k];
  for (size_t u = 0; u < units; u++) {
    s->units[s->first[key_of[u]]++] = u;
    s->owner[key_of[u]] = owner_of[u];
    s->anew[key_of[u]] = anew_of[u];
  }
  for (size_t k = keys; k > 0; k--) s->first[k] = s->first[k - 1];
  s->first[0] = 0;
  return true;
}

/* Numbers the index vectors of the loops that begin afresh. */
static bool list_anew(stepper *s) {
  s->n_anew = 1;
  s->anew_scale = loom_tally_new(s->t, (size_t)s->p.above_holder + 1, sizeof *s->anew_scale);
  if (!s->anew_scale) return false;
  for (int l = 0; l < s->p.above_holder; l++) {
    if (!s->p.loops[l].anew) continue;
    s->anew_scale[l] = s->n_anew;
    s->n_anew = (size_t)loom_tally_mul(s->t, (int64_t)s->n_anew, loom_cut_most(&s->p, l));
  }
  s->seen = loom_tally_new(s->t, s->n_anew, sizeof *s->seen);
  s->touched = loom_tally_new(s->t, s->n_anew, sizeof *s->touched);
  return s->seen && s->touched;
}

static bool prepare(stepper *s) {
  if (!loom_numbers_group(s->t, &s->p, true) || !prepare_lanes(s) || !list_anew(s) ||
      !list_units(s))
    return false;
  s->held = loom_tally_new(s->t, s->n_units, sizeof *s->held);
  s->arrived = loom_tally_new(s->t, s->n_units, sizeof *s->arrived);
  s->first_arrived = loom_tally_new(s->t, s->n_units, sizeof *s->first_arrived);
  s->departed = loom_tally_new(s->t, s->n_units, sizeof *s->departed);
  s->reads = loom_tally_new(s->t, s->n_owners, sizeof *s->reads);
  s->writes = loom_tally_new(s->t, s->n_owners, sizeof *s->writes);
  s->first_reads = loom_tally_new(s->t, s->n_owners, sizeof *s->first_reads);
  return s->held && s->arrived && s->first_arrived && s->departed && s->reads && s->writes &&
         s->first_reads;
}

/* ---- results -------------------------------------------------------------------------------- */

static void sum_up(const int64_t *at, size_t n, int64_t *sum, int64_t *most) {
  *sum = *most = 0;
  for (size_t i = 0; i < n; i++) {
    *sum += at[i];
    if (at[i] > *most) *most = at[i];
  }
}

/* By how much the most is less without a part of each. */
static int64_t least_of(const int64_t *at, const int64_t *part, size_t n) {
  int64_t most = 0, rest = 0;
  for (size_t i = 0; i < n; i++) {
    if (at[i] > most) most = at[i];
    if (at[i] - part[i] > rest) rest = at[i] - part[i];
  }
  return most - rest;
}

bool loom_walk_units(loom_tally *t, const loom_numbers *p, loom_walked *out) {
  stepper s = {.t = t, .p = *p};
  s.p.ranks = loom_tally_new(t, (size_t)p->n_ranks + 1, sizeof *s.p.ranks);
  if (!s.p.ranks) return false;
  if (p->n_ranks) memcpy(s.p.ranks, p->ranks, (size_t)p->n_ranks * sizeof *p->ranks);
  if (!prepare(&s) || !walk(&s, 0) || (p->retain && !write_back(&s))) return false;
  *out = (loom_walked){s.n_owners, s.n_units,  s.reads,         s.writes, s.first_reads,
                       s.arrived,  s.departed, s.first_arrived, s.tile};
  return loom_tally_good(t);
}

bool loom_count_walk(loom_tally *t, const loom_numbers *p, int64_t out[LOOM_N_COUNT_FIGURES]) {
  loom_walked w;
  int64_t unused;
  if (!loom_walk_units(t, p, &w)) return false;
  sum_up(w.reads, w.n_owners, &out[LOOM_COUNT_READS], &out[LOOM_COUNT_MOST_READS]);
  sum_up(w.writes, w.n_owners, &out[LOOM_COUNT_WRITES], &out[LOOM_COUNT_MOST_WRITES]);
  sum_up(w.arrived, w.n_units, &out[LOOM_COUNT_DELIVERIES], &out[LOOM_COUNT_MOST_DELIVERIES]);
  sum_up(w.departed, w.n_units, &out[LOOM_COUNT_DEPARTURES], &out[LOOM_COUNT_MOST_DEPARTURES]);
  sum_up(w.first_reads, w.n_owners, &out[LOOM_COUNT_FIRST_READS], &unused);
  sum_up(w.first_arrived, w.n_units, &out[LOOM_COUNT_FIRST_DELIVERIES], &unused);
  out[LOOM_COUNT_LEAST_FIRST_READS] = least_of(w.reads, w.first_reads, w.n_owners);
  out[LOOM_COUNT_LEAST_FIRST_DELIVERIES] = least_of(w.arrived, w.first_arrived, w.n_units);
  out[LOOM_COUNT_TILE] = w.tile;
  return true;
}
