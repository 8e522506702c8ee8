/* SPDX-License-Identifier: MIT */
/* Where an expression of one symbol changes its piece.
** Invariant: a range of points is skipped only when exact interval arithmetic shows that every
** piecewise node keeps its piece over all of it; the rest is halved down to neighbouring points,
** which are compared exactly. */
#include "expr/ops.h"
#include "expr/span.h"

/* Node evaluations of one call, and how many are done before the whole is estimated. */
#define WORK_LIMIT ((int64_t)1 << 26)
#define WORK_BEFORE_ESTIMATE ((int64_t)1 << 18)
#define WORK_OF_ESTIMATE ((size_t)1 << 16)
#define FEWEST_CHANGES 12
/* Arguments of a min or max whose differences are followed. */
#define MOST_PAIRED 6

/* A node of the expression, children before parents. */
typedef struct step {
  loom_expr e;
  bool watched;      /* piecewise and part of the expression asked about */
  uint32_t children; /* indices of steps, in `links`; of min and max in canonical order */
  uint32_t helpers;  /* the quotient or the differences its piece is read from, in `links` */
  uint32_t n_helpers;
} step;

typedef struct finder {
  loom_ctx *ctx;
  loom_expr symbol;
  int64_t work;
  LOOM_VEC(step) steps;
  LOOM_VEC(uint32_t) links;
  LOOM_VEC(loom_expr) nodes, helpers; /* piecewise nodes; scratch */
  LOOM_VEC(uint32_t) order;
  LOOM_VEC(loom_span) spans;
  LOOM_VEC(loom_num) left, right; /* values at both ends; none where undefined */
} finder;

/* ---- values at a point -------------------------------------------------------------------- */

static loom_num divide(loom_ctx *ctx, loom_num a, loom_num b) {
  return loom_num_is_none(b) || loom_num_is_zero(b) ? LOOM_NUM_NONE : loom_num_div(ctx, a, b);
}

static loom_num floor_quotient(loom_ctx *ctx, loom_num a, loom_num b) {
  loom_num q = divide(ctx, a, b);
  return loom_num_is_none(q) ? q : loom_num_floor(ctx, q);
}

static loom_num remainder_of(loom_ctx *ctx, loom_num a, loom_num b) {
  loom_num q = floor_quotient(ctx, a, b);
  return loom_num_is_none(q) ? q : loom_num_sub(ctx, a, loom_num_mul(ctx, b, q));
}

static loom_num power_at(loom_ctx *ctx, loom_num base, int32_t exponent) {
  if (loom_num_is_none(base) || (exponent < 0 && loom_num_is_zero(base))) return LOOM_NUM_NONE;
  return loom_num_pow(ctx, base, exponent);
}

static loom_num extremum_at(loom_ctx *ctx, bool max, size_t n, const uint32_t *c,
                            const loom_num *v) {
  loom_num best = v[c[0]];
  for (size_t i = 1; i < n && !loom_num_is_none(best); i++) {
    if (loom_num_is_none(v[c[i]])) return LOOM_NUM_NONE;
    int order = loom_num_cmp(ctx, v[c[i]], best);
    if (max ? order > 0 : order < 0) best = v[c[i]];
  }
  return best;
}

static loom_num value_at(finder *f, const step *s, const loom_num *v, loom_num at) {
  loom_ctx *ctx = f->ctx;
  const uint32_t *c = f->links.at + s->children;
  size_t n = loom_child_count(ctx, s->e);
  loom_kind kind = loom_kind_of(ctx, s->e);
  loom_num r;
  for (size_t i = 0; i < n && kind != LOOM_SELECT; i++)
    if (loom_num_is_none(v[c[i]])) return LOOM_NUM_NONE;
  switch (kind) {
  case LOOM_NUM: return loom_num_of(ctx, s->e);
  case LOOM_SYM: return at;
  case LOOM_ADD:
    r = loom_add_constant(ctx, s->e);
    for (size_t i = 0; i < n; i++)
      r = loom_num_add(ctx, r, loom_num_mul(ctx, loom_add_term(ctx, s->e, i).coef, v[c[i]]));
    return r;
  case LOOM_MUL:
  case LOOM_POW:
    r = LOOM_NUM_ONE;
    for (size_t i = 0; i < n; i++)
      r = loom_num_mul(ctx, r, power_at(ctx, v[c[i]], loom_mul_power(ctx, s->e, i).exponent));
    return r;
  case LOOM_MIN:
  case LOOM_MAX: return extremum_at(ctx, kind == LOOM_MAX, n, c, v);
  case LOOM_FLOOR: return loom_num_floor(ctx, v[c[0]]);
  case LOOM_CEIL: return loom_num_ceil(ctx, v[c[0]]);
  case LOOM_FLOORDIV: return floor_quotient(ctx, v[c[0]], v[c[1]]);
  case LOOM_MOD: return remainder_of(ctx, v[c[0]], v[c[1]]);
  case LOOM_MODIDX: return remainder_of(ctx, floor_quotient(ctx, v[c[0]], v[c[1]]), v[c[2]]);
  case LOOM_LT: return LOOM_NUM(loom_num_cmp(ctx, v[c[0]], v[c[1]]) < 0);
  case LOOM_LE: return LOOM_NUM(loom_num_cmp(ctx, v[c[0]], v[c[1]]) <= 0);
  case LOOM_EQ: return LOOM_NUM(loom_num_same(v[c[0]], v[c[1]]));
  case LOOM_SELECT:
    if (loom_num_is_none(v[c[0]])) return LOOM_NUM_NONE;
    return loom_num_is_zero(v[c[0]]) ? v[c[2]] : v[c[1]];
  case LOOM_OPAQUE: return v[c[0]];
  case LOOM_CALL: break;
  }
  return LOOM_NUM_NONE;
}

static bool evaluate_at(finder *f, int64_t at, loom_num *values) {
  f->work -= (int64_t)f->steps.n;
  for (size_t i = 0; i < f->steps.n; i++)
    values[i] = value_at(f, &f->steps.at[i], values, loom_num_int(f->ctx, at));
  return !loom_base_failed(f->ctx);
}

/* ---- intervals ---------------------------------------------------------------------------- */

static loom_span span_extremum(loom_ctx *ctx, bool max, size_t n, const uint32_t *c,
                               const loom_span *v) {
  loom_num sign = max ? LOOM_NUM_ONE : LOOM_NUM_MINUS_ONE;
  loom_span r = loom_span_scale(ctx, v[c[0]], sign);
  for (size_t i = 1; i < n; i++) r = loom_span_max(ctx, r, loom_span_scale(ctx, v[c[i]], sign));
  return loom_span_scale(ctx, r, sign);
}

static loom_span span_sum(loom_ctx *ctx, loom_expr e, const uint32_t *c, const loom_span *v) {
  loom_span r = loom_span_point(loom_add_constant(ctx, e));
  for (size_t i = 0, n = loom_add_count(ctx, e); i < n; i++)
    r = loom_span_add(ctx, r, loom_span_scale(ctx, v[c[i]], loom_add_term(ctx, e, i).coef));
  return r;
}

static loom_span span_product(loom_ctx *ctx, loom_expr e, const uint32_t *c, const loom_span *v) {
  loom_span r = loom_span_point(LOOM_NUM_ONE);
  for (size_t i = 0, n = loom_mul_count(ctx, e); i < n; i++)
    r = loom_span_mul(ctx, r, loom_span_pow(ctx, v[c[i]], loom_mul_power(ctx, e, i).exponent));
  return r;
}

static loom_span span_of(finder *f, const step *s, const loom_span *v, loom_span at) {
  loom_ctx *ctx = f->ctx;
  const uint32_t *c = f->links.at + s->children, *h = f->links.at + s->helpers;
  loom_kind kind = loom_kind_of(ctx, s->e);
  loom_span q;
  switch (kind) {
  case LOOM_NUM: return loom_span_point(loom_num_of(ctx, s->e));
  case LOOM_SYM: return at;
  case LOOM_ADD: return span_sum(ctx, s->e, c, v);
  case LOOM_MUL:
  case LOOM_POW: return span_product(ctx, s->e, c, v);
  case LOOM_MIN:
  case LOOM_MAX: return span_extremum(ctx, kind == LOOM_MAX, loom_child_count(ctx, s->e), c, v);
  case LOOM_FLOOR: return loom_span_round(ctx, v[c[0]], false);
  case LOOM_CEIL: return loom_span_round(ctx, v[c[0]], true);
  case LOOM_FLOORDIV: return loom_span_round(ctx, v[h[0]], false);
  case LOOM_MOD:
    return loom_span_remainder(ctx, v[c[0]], v[c[1]], loom_span_round(ctx, v[h[0]], false));
  case LOOM_MODIDX:
    q = loom_span_round(ctx, v[h[0]], false);
    return loom_span_remainder(ctx, q, v[c[2]], loom_span_quotient(ctx, q, v[c[2]]));
  case LOOM_SELECT:
    if (!loom_span_has_zero(ctx, v[c[0]])) return v[c[1]];
    if (loom_span_is_point(v[c[0]])) return v[c[2]];
    return loom_span_join(ctx, v[c[1]], v[c[2]]);
  case LOOM_OPAQUE: return v[c[0]];
  default: return (loom_span){LOOM_NUM_ZERO, LOOM_NUM_ONE, false, false};
  }
}

/* ---- pieces ------------------------------------------------------------------------------- */

static bool is_extremum(loom_kind kind) {
  return kind == LOOM_MIN || kind == LOOM_MAX;
}

/* What tells pieces apart: the first argument that is the extremum, a quotient, a truth value. */
static loom_num piece_of(finder *f, const step *s, const loom_num *v, const loom_num *value) {
  loom_ctx *ctx = f->ctx;
  const uint32_t *c = f->links.at + s->children;
  int64_t i = 0;
  switch (loom_kind_of(ctx, s->e)) {
  case LOOM_MIN:
  case LOOM_MAX:
    if (loom_num_is_none(*value)) return *value;
    while (!loom_num_same(v[c[i]], *value)) i++;
    return LOOM_NUM(i);
  case LOOM_MOD: return floor_quotient(ctx, v[c[0]], v[c[1]]);
  case LOOM_MODIDX: return floor_quotient(ctx, v[c[0]], v[c[1]]);
  case LOOM_SELECT:
    return loom_num_is_none(v[c[0]]) ? v[c[0]] : LOOM_NUM(!loom_num_is_zero(v[c[0]]));
  default: return *value;
  }
}

static bool same_pieces(finder *f) {
  for (size_t i = 0; i < f->steps.n; i++) {
    const step *s = &f->steps.at[i];
    if (!s->watched) continue;
    loom_num left = piece_of(f, s, f->left.at, &f->left.at[i]);
    loom_num right = piece_of(f, s, f->right.at, &f->right.at[i]);
    if (!loom_num_same(left, right)) return false;
    if (loom_kind_of(f->ctx, s->e) != LOOM_MODIDX) continue;
    uint32_t modulus = f->links.at[s->children + 2];
    if (!loom_num_same(floor_quotient(f->ctx, left, f->left.at[modulus]),
                       floor_quotient(f->ctx, right, f->right.at[modulus])))
      return false;
  }
  return true;
}

/* Whether argument i of a min or max beats argument k over the whole range. */
static bool beats(finder *f, const step *s, size_t i, size_t k, const loom_span *v) {
  loom_ctx *ctx = f->ctx;
  const uint32_t *c = f->links.at + s->children;
  size_t n = loom_child_count(ctx, s->e), low = i < k ? i : k, high = i < k ? k : i;
  bool max = loom_kind_of(ctx, s->e) == LOOM_MAX;
  loom_span d;
  if (s->n_helpers)
    d = v[f->links.at[s->helpers + low * n - low * (low + 1) / 2 + (high - low - 1)]];
  else
    d = loom_span_add(ctx, v[c[low]], loom_span_scale(ctx, v[c[high]], LOOM_NUM_MINUS_ONE));
  if ((i < k) != max) d = loom_span_scale(ctx, d, LOOM_NUM_MINUS_ONE);
  if (d.below) return false;
  return i < k ? loom_num_sign(ctx, d.lo) >= 0 : loom_num_sign(ctx, d.lo) > 0;
}

static bool keeps_extremum(finder *f, size_t at, const loom_span *v) {
  const step *s = &f->steps.at[at];
  loom_num first = piece_of(f, s, f->left.at, &f->left.at[at]);
  if (loom_num_is_none(first)) return false;
  for (size_t k = 0, n = loom_child_count(f->ctx, s->e); k < n; k++)
    if (k != (size_t)first.num && !beats(f, s, (size_t)first.num, k, v)) return false;
  return true;
}

static bool keeps_sign(const loom_ctx *ctx, loom_kind kind, loom_span d) {
  switch (kind) {
  case LOOM_LT:
    return (!d.above && loom_num_sign(ctx, d.hi) < 0) ||
           (!d.below && loom_num_sign(ctx, d.lo) >= 0);
  case LOOM_LE:
    return (!d.above && loom_num_sign(ctx, d.hi) <= 0) ||
           (!d.below && loom_num_sign(ctx, d.lo) > 0);
  default: return !loom_span_has_zero(ctx, d) || loom_span_is_point(d);
  }
}

/* Whether the spans show that a watched node has one piece. */
static bool keeps_piece(finder *f, size_t at, const loom_span *v) {
  loom_ctx *ctx = f->ctx;
  const step *s = &f->steps.at[at];
  const uint32_t *c = f->links.at + s->children, *h = f->links.at + s->helpers;
  loom_kind kind = loom_kind_of(ctx, s->e);
  if (is_extremum(kind)) return keeps_extremum(f, at, v);
  if (kind == LOOM_FLOOR || kind == LOOM_CEIL)
    return loom_span_is_point(loom_span_round(ctx, v[c[0]], kind == LOOM_CEIL));
  loom_span q = v[kind == LOOM_SELECT ? c[0] : h[0]];
  switch (kind) {
  case LOOM_FLOORDIV:
  case LOOM_MOD: return loom_span_is_point(loom_span_round(ctx, q, false));
  case LOOM_MODIDX:
    q = loom_span_round(ctx, q, false);
    return loom_span_is_point(q) && loom_span_is_point(loom_span_quotient(ctx, q, v[c[2]]));
  default: return keeps_sign(ctx, kind, q);
  }
}

static bool keeps_pieces(finder *f, int64_t lo, int64_t hi) {
  loom_span at = {loom_num_int(f->ctx, lo), loom_num_int(f->ctx, hi), false, false};
  f->work -= (int64_t)f->steps.n;
  for (size_t i = 0; i < f->steps.n; i++) {
    f->spans.at[i] = span_of(f, &f->steps.at[i], f->spans.at, at);
    if (f->steps.at[i].watched && !keeps_piece(f, i, f->spans.at)) return false;
  }
  return true;
}

/* ---- preparation -------------------------------------------------------------------------- */

/* Appends the steps of e that are not there yet. */
static bool add_steps(finder *f, loom_walk *walk, loom_expr e) {
  loom_ctx *ctx = f->ctx;
  loom_walk_root(walk, e);
  for (loom_expr g; (g = loom_walk_next(walk)) != LOOM_NONE;) {
    size_t n = loom_child_count(ctx, g);
    step s = {.e = g, .children = (uint32_t)f->links.n};
    if (!loom_vec_reserve(ctx, &f->links, n) || !loom_vec_reserve(ctx, &f->order, n)) return false;
    for (uint32_t i = 0; i < n; i++) f->order.at[i] = i;
    if (is_extremum(loom_kind_of(ctx, g))) loom_child_order(ctx, g, f->order.at);
    for (size_t i = 0; i < n; i++)
      f->links.at[f->links.n++] = loom_walk_get(walk, loom_child(ctx, g, f->order.at[i])) - 1;
    if (loom_kind_of(ctx, g) == LOOM_SYM && g != f->symbol) {
      loom_error_set(ctx, LOOM_ERR_ARGUMENT, "loom_breakpoints: %s has no value",
                     loom_symbol_name(ctx, g));
      return false;
    }
    if (loom_kind_of(ctx, g) == LOOM_CALL) {
      loom_error_set(ctx, LOOM_ERR_ARGUMENT,
                     "loom_breakpoints: %s, a function that is computed, tells no pieces",
                     loom_call_name(ctx, g));
      return false;
    }
    if (!loom_vec_push(ctx, &f->steps, s)) return false;
    loom_walk_set(walk, g, (uint32_t)f->steps.n);
  }
  return true;
}

/* What the piece of a node is read from: differences of arguments, or a quotient. */
static bool make_helpers(finder *f, loom_expr e) {
  loom_ctx *ctx = f->ctx;
  loom_kind kind = loom_kind_of(ctx, e);
  size_t n = loom_child_count(ctx, e);
  f->helpers.n = 0;
  if (is_extremum(kind)) {
    if (n > MOST_PAIRED) return true;
    uint32_t order[MOST_PAIRED];
    loom_child_order(ctx, e, order);
    for (size_t i = 0; i < n; i++)
      for (size_t k = i + 1; k < n; k++)
        if (!loom_vec_push(
                ctx, &f->helpers,
                loom_sub(ctx, loom_child(ctx, e, order[i]), loom_child(ctx, e, order[k]))))
          return false;
  } else if (kind == LOOM_LT || kind == LOOM_LE || kind == LOOM_EQ) {
    return loom_vec_push(ctx, &f->helpers,
                         loom_sub(ctx, loom_child(ctx, e, 0), loom_child(ctx, e, 1)));
  } else if (kind == LOOM_FLOORDIV || kind == LOOM_MOD || kind == LOOM_MODIDX) {
    return loom_vec_push(ctx, &f->helpers,
                         loom_div(ctx, loom_child(ctx, e, 0), loom_child(ctx, e, 1)));
  }
  return true;
}

static bool add_piecewise(finder *f, loom_walk *walk, loom_expr e) {
  if (!make_helpers(f, e)) return false;
  for (size_t i = 0; i < f->helpers.n; i++)
    if (f->helpers.at[i] == LOOM_NONE || !add_steps(f, walk, f->helpers.at[i])) return false;
  if (!add_steps(f, walk, e) || !loom_vec_reserve(f->ctx, &f->links, f->helpers.n)) return false;
  step *s = &f->steps.at[loom_walk_get(walk, e) - 1];
  s->watched = true;
  s->helpers = (uint32_t)f->links.n;
  s->n_helpers = (uint32_t)f->helpers.n;
  for (size_t i = 0; i < f->helpers.n; i++)
    f->links.at[f->links.n++] = loom_walk_get(walk, f->helpers.at[i]) - 1;
  return true;
}

static bool is_piecewise(loom_kind kind) {
  return kind > LOOM_ADD && kind != LOOM_OPAQUE;
}

static bool list_piecewise(finder *f, loom_expr e) {
  loom_walk walk;
  bool good = true;
  if (!loom_walk_begin(f->ctx, &walk, true)) return false;
  loom_walk_root(&walk, e);
  for (loom_expr g; good && (g = loom_walk_next(&walk)) != LOOM_NONE;)
    if (is_piecewise(loom_kind_of(f->ctx, g))) good = loom_vec_push(f->ctx, &f->nodes, g);
  return loom_walk_end(&walk) && good;
}

static bool prepare(finder *f, loom_expr e) {
  loom_walk walk;
  if (!list_piecewise(f, e) || !loom_walk_begin(f->ctx, &walk, true)) return false;
  bool good = true;
  for (size_t i = 0; good && i < f->nodes.n; i++) good = add_piecewise(f, &walk, f->nodes.at[i]);
  good = good && add_steps(f, &walk, e);
  if (!loom_walk_end(&walk)) good = false;
  return good && loom_vec_reserve(f->ctx, &f->spans, f->steps.n) &&
         loom_vec_reserve(f->ctx, &f->left, f->steps.n) &&
         loom_vec_reserve(f->ctx, &f->right, f->steps.n);
}

/* ---- search ------------------------------------------------------------------------------- */

typedef struct range {
  int64_t lo, hi;
} range;

static int64_t middle(range r) {
  return r.lo + (int64_t)(((uint64_t)r.hi - (uint64_t)r.lo) / 2);
}

/* The value at one point and whether the next one has another piece. */
static bool probe(finder *f, int64_t at, int *changes) {
  if (!evaluate_at(f, at, f->left.at) || !evaluate_at(f, at + 1, f->right.at)) return false;
  *changes += !same_pieces(f);
  return true;
}

/* Whether the pieces that scattered probes find in all of [lo, hi] would cost more than twice the
** limit at the cost of those found so far: then there is no point in going on. */
static bool is_hopeless(finder *f, int64_t lo, int64_t hi, ptrdiff_t found) {
  uint64_t length = (uint64_t)hi - (uint64_t)lo, state = 1;
  double spent = (double)(WORK_LIMIT - f->work);
  size_t n = WORK_OF_ESTIMATE / f->steps.n;
  int changes = 0;
  for (size_t i = 0; i < n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t offset = (uint64_t)(((unsigned __int128)state * length) >> 64);
    if (!probe(f, lo + (int64_t)offset, &changes)) return false;
  }
  if (changes < FEWEST_CHANGES || found == 0) return false;
  double pieces = (double)length * changes / (double)n;
  return pieces * (spent / (double)found) > 2.0 * (double)WORK_LIMIT;
}

static ptrdiff_t search(finder *f, int64_t lo, int64_t hi, int64_t *out, size_t capacity) {
  LOOM_VEC(range) ranges = {0};
  ptrdiff_t found = 0;
  bool clean = loom_error_status(f->ctx) == LOOM_OK;
  bool good = lo >= hi || loom_vec_push(f->ctx, &ranges, ((range){lo, hi}));
  bool estimated = false;
  while (good && ranges.n) {
    range r = ranges.at[--ranges.n];
    if (!estimated && WORK_LIMIT - f->work > WORK_BEFORE_ESTIMATE) {
      estimated = true;
      if (is_hopeless(f, lo, hi, found)) f->work = 0;
    }
    good = f->work > 0 && evaluate_at(f, r.lo, f->left.at);
    if (good && (uint64_t)r.hi - (uint64_t)r.lo == 1) {
      good = evaluate_at(f, r.hi, f->right.at);
      if (!good || same_pieces(f)) continue;
      if ((size_t)found < capacity) out[found] = r.hi;
      found++;
    } else if (good && !keeps_pieces(f, r.lo, r.hi)) {
      int64_t half = middle(r);
      good = loom_vec_push(f->ctx, &ranges, ((range){half, r.hi})) &&
             loom_vec_push(f->ctx, &ranges, ((range){r.lo, half}));
    }
  }
  if (f->work <= 0)
    loom_error_set(f->ctx, LOOM_ERR_LIMIT, "too many pieces or points between %lld and %lld",
                   (long long)lo, (long long)hi);
  loom_vec_free(f->ctx, &ranges);
  if (clean && loom_error_status(f->ctx) != LOOM_OK) good = false;
  return good && !loom_base_failed(f->ctx) ? found : -1;
}

/* Every v in (lo, hi] whose piece is not that of v - 1; a point at which something divides by zero
** is a piece of its own.  At a tie the first argument of min and max in canonical order counts.
** Work grows with the number of pieces and the logarithm of the range; -1 with LOOM_ERR_LIMIT
** beyond 2^26 evaluations of a node (early where that is foreseen), with LOOM_ERR_ARGUMENT when e has another symbol. */
ptrdiff_t loom_breakpoints(loom_ctx *ctx, loom_expr e, loom_expr symbol, int64_t lo, int64_t hi,
                           int64_t *out, size_t capacity) {
  finder f = {.ctx = ctx, .symbol = symbol, .work = WORK_LIMIT};
  if (!loom_expr_check(ctx, e) || !loom_symbol_check(ctx, symbol)) return -1;
  ptrdiff_t found = prepare(&f, e) ? search(&f, lo, hi, out, capacity) : -1;
  loom_vec_free(ctx, &f.steps);
  loom_vec_free(ctx, &f.links);
  loom_vec_free(ctx, &f.nodes);
  loom_vec_free(ctx, &f.helpers);
  loom_vec_free(ctx, &f.order);
  loom_vec_free(ctx, &f.spans);
  loom_vec_free(ctx, &f.left);
  loom_vec_free(ctx, &f.right);
  return found;
}
