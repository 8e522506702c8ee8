/* SPDX-License-Identifier: MIT */
/* Proves the building rules by enumeration: random descriptions of expressions are built with the
** library and evaluated naively, side by side, at points that keep the assumptions, negative values
** included; facts are held against the values.  The descriptions and their arithmetic know nothing of
** the library.  EINLOOM_SEED and EINLOOM_ROUNDS in the environment repeat or lengthen a run. */
#include "expr/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* ---- rationals of the judge ------------------------------------------------------------------ */

typedef __int128 wide;

/* den == 0: no value (division by zero, or too large to judge). */
typedef struct ratio {
  wide num, den;
} ratio;

static const ratio none = {0, 0};

static wide gcd(wide a, wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b) {
    wide t = a % b;
    a = b;
    b = t;
  }
  return a;
}

static ratio make(wide num, wide den) {
  const wide limit = (wide)1 << 60;
  if (den == 0) return none;
  wide g = gcd(num, den);
  if (den < 0) g = -g;
  num /= g;
  den /= g;
  if (num > limit || num < -limit || den > limit) return none;
  return (ratio){num, den};
}

static ratio whole(int64_t v) {
  return make(v, 1);
}
static bool is_none(ratio a) {
  return a.den == 0;
}
static ratio add(ratio a, ratio b) {
  return make(a.num * b.den + b.num * a.den, a.den * b.den);
}
static ratio mul(ratio a, ratio b) {
  return make(a.num * b.num, a.den * b.den);
}
static ratio neg(ratio a) {
  return make(-a.num, a.den);
}
static ratio quotient(ratio a, ratio b) {
  return make(a.num * b.den, a.den * b.num);
}
static int cmp(ratio a, ratio b) {
  wide x = a.num * b.den, y = b.num * a.den;
  return (x > y) - (x < y);
}
static ratio floor_of(ratio a) {
  if (is_none(a)) return a;
  return make(a.num / a.den - (a.num % a.den < 0), 1);
}
static ratio power(ratio a, int64_t n) {
  ratio result = whole(1);
  for (int64_t i = n < 0 ? -n : n; i > 0; i--) result = mul(result, a);
  return n < 0 ? quotient(whole(1), result) : result;
}
static ratio floor_div(ratio a, ratio b) {
  return floor_of(quotient(a, b));
}
static ratio mod(ratio a, ratio b) {
  return add(a, neg(mul(b, floor_div(a, b))));
}

/* ---- random ---------------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t draw(uint32_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 16) % n);
}

static int between(int lo, int hi) {
  return lo + (int)draw((uint32_t)(hi - lo + 1));
}

/* ---- symbols --------------------------------------------------------------------------------- */

enum { X, Y, Z, W, R, M, T, U, N_SYMBOLS };

/* x, y positive integers; z any integer; w an integer in [-3, 5]; r any rational; m a multiple of 4
** from 4 on; t a positive divisor of m; u a divisor of 12, perhaps negative. */
static void make_symbols(loom_ctx *ctx, loom_expr *s) {
  s[X] = loom_symbol(ctx, "x", NULL);
  s[Y] = loom_symbol(ctx, "y", NULL);
  s[Z] = loom_symbol(ctx, "z", &(loom_assume){.integer = true});
  s[W] = loom_symbol(
      ctx, "w",
      &(loom_assume){.integer = true, .has_min = true, .min = -3, .has_max = true, .max = 5});
  s[R] = loom_symbol(ctx, "r", &(loom_assume){.integer = false});
  s[M] = loom_symbol(ctx, "m",
                     &(loom_assume){.integer = true, .has_min = true, .min = 1, .multiple = 4});
  s[T] = loom_symbol(ctx, "t",
                     &(loom_assume){.integer = true, .has_min = true, .min = 1, .divides = s[M]});
  s[U] = loom_symbol(ctx, "u", &(loom_assume){.integer = true, .divides = loom_int(ctx, 12)});
}

static void draw_point(ratio *at) {
  static const int divisors[] = {1, 2, 3, 4, 6, 12, -1, -2, -3, -4, -6, -12};
  at[X] = whole(between(1, 7));
  at[Y] = whole(between(1, 5));
  at[Z] = whole(between(-9, 9));
  at[W] = whole(between(-3, 5));
  at[R] = make(between(-13, 13), between(1, 4));
  int m = 4 * between(1, 6), t;
  do t = between(1, m);
  while (m % t != 0);
  at[M] = whole(m);
  at[T] = whole(t);
  at[U] = whole(divisors[draw(12)]);
}

/* ---- descriptions ---------------------------------------------------------------------------- */

typedef enum op {
  LITERAL,
  SYMBOL,
  ADD,
  SUB,
  NEG,
  MUL,
  DIV,
  POW,
  FLOOR,
  CEIL,
  FDIV,
  MOD,
  MODIDX,
  MIN2,
  MAX2,
  MAX3,
  LT,
  LE,
  EQ,
  SELECT,
  SUM3,
  PRODUCT3,
  N_OPS
} op;

typedef struct desc {
  op op;
  int kid[3];
  int num, den; /* literal; exponent of POW in num */
} desc;

enum { MOST = 40 };

typedef struct tree {
  desc at[MOST];
  int n;
} tree;

static int kids_of(op o) {
  switch (o) {
  case LITERAL:
  case SYMBOL: return 0;
  case NEG:
  case POW:
  case FLOOR:
  case CEIL: return 1;
  case MODIDX:
  case MAX3:
  case SELECT:
  case SUM3:
  case PRODUCT3: return 3;
  default: return 2;
  }
}

/* Operations are built from earlier ones, so that parts are shared. */
static void draw_tree(tree *t, int n) {
  t->n = 0;
  for (int i = 0; i < n; i++) {
    desc *d = &t->at[t->n++];
    bool leaf = i < 3 || draw(4) == 0;
    d->op = leaf ? (draw(3) == 0 ? LITERAL : SYMBOL) : (op)(ADD + draw(N_OPS - ADD));
    d->num = d->op == SYMBOL ? (int)draw(N_SYMBOLS)
             : d->op == POW  ? between(-2, 3)
                             : between(-8, 16);
    d->den = draw(5) == 0 ? between(1, 6) : 1;
    for (int k = 0; k < 3; k++) {
      int recent = i < 5 ? i : 5;
      d->kid[k] =
          i == 0 ? 0
                 : (draw(3) == 0 ? (int)draw((uint32_t)i) : i - 1 - (int)draw((uint32_t)recent));
    }
  }
}

static int add_desc(tree *t, op o, int a, int b, int c) {
  t->at[t->n] = (desc){.op = o, .kid = {a, b, c}, .den = 1};
  return t->n++;
}

static int add_literal(tree *t, int value) {
  int i = add_desc(t, LITERAL, 0, 0, 0);
  t->at[i].num = value;
  return i;
}

static int add_symbol(tree *t) {
  static const int integers[] = {X, Y, Z, W, M, T, U};
  int i = add_desc(t, SYMBOL, 0, 0, 0);
  t->at[i].num = integers[draw(7)];
  return i;
}

/* Index arithmetic: multiples of integers added up, divided and reduced by numbers with common
** factors, by symbols, and again. */
static void draw_index(tree *t) {
  static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, -1, -2, -4, -6, 64};
  t->n = 0;
  int e = add_symbol(t);
  while (t->n < MOST - 12) {
    int term = draw(3) == 0 ? (int)draw((uint32_t)t->n) : add_symbol(t);
    int factor = draw(5) ? add_literal(t, sizes[draw(12)]) : add_symbol(t);
    if (draw(4)) e = add_desc(t, ADD, e, add_desc(t, MUL, factor, term, 0), 0);
    if (draw(3) == 0) e = add_desc(t, ADD, e, add_literal(t, between(-9, 20)), 0);
    if (draw(6) == 0) e = add_desc(t, MUL, e, draw(2) ? e : add_symbol(t), 0);
    int by = draw(4) ? add_literal(t, sizes[draw(12)]) : add_symbol(t);
    switch (draw(7)) {
    case 0: e = add_desc(t, FDIV, e, by, 0); break;
    case 1: e = add_desc(t, MOD, e, by, 0); break;
    case 2: e = add_desc(t, MODIDX, e, by, add_literal(t, sizes[draw(12)])); break;
    case 3: e = add_desc(t, CEIL, add_desc(t, DIV, e, by, 0), 0, 0); break;
    case 4: e = add_desc(t, FLOOR, add_desc(t, DIV, e, by, 0), 0, 0); break;
    case 5: e = add_desc(t, draw(2) ? MIN2 : MAX2, e, by, 0); break;
    default: break;
    }
  }
}

static ratio extreme(ratio a, ratio b, bool largest) {
  if (is_none(a) || is_none(b)) return none;
  return (cmp(a, b) < 0) == largest ? b : a;
}

static ratio judge(const desc *d, const ratio *v, const ratio *at) {
  ratio a = d->op > SYMBOL ? v[d->kid[0]] : none, b = d->op > SYMBOL ? v[d->kid[1]] : none;
  ratio c = d->op > SYMBOL ? v[d->kid[2]] : none;
  int kids = kids_of(d->op);
  if ((kids > 0 && is_none(a)) || (kids > 1 && is_none(b)) || (kids > 2 && is_none(c))) return none;
  switch (d->op) {
  case LITERAL: return make(d->num, d->den);
  case SYMBOL: return at[d->num];
  case ADD: return add(a, b);
  case SUB: return add(a, neg(b));
  case NEG: return neg(a);
  case MUL: return mul(a, b);
  case DIV: return quotient(a, b);
  case POW: return power(a, d->num);
  case FLOOR: return floor_of(a);
  case CEIL: return neg(floor_of(neg(a)));
  case FDIV: return floor_div(a, b);
  case MOD: return mod(a, b);
  case MODIDX: {
    ratio q = floor_div(a, b);
    return is_none(q) ? q : mod(q, c);
  }
  case MIN2: return extreme(a, b, false);
  case MAX2: return extreme(a, b, true);
  case MAX3: return extreme(extreme(a, b, true), c, true);
  case LT: return whole(cmp(a, b) < 0);
  case LE: return whole(cmp(a, b) <= 0);
  case EQ: return whole(cmp(a, b) == 0);
  case SELECT: return a.num != 0 ? b : c;
  case SUM3: return add(add(a, b), c);
  case PRODUCT3: return mul(mul(a, b), c);
  default: return none;
  }
}

static loom_expr build(loom_ctx *ctx, const desc *d, const loom_expr *v, const loom_expr *s) {
  if (d->op == LITERAL) return loom_ratio(ctx, d->num, d->den);
  if (d->op == SYMBOL) return s[d->num];
  loom_expr k[3] = {v[d->kid[0]], v[d->kid[1]], v[d->kid[2]]};
  switch (d->op) {
  case ADD: return loom_add(ctx, k[0], k[1]);
  case SUB: return loom_sub(ctx, k[0], k[1]);
  case NEG: return loom_neg(ctx, k[0]);
  case MUL: return loom_mul(ctx, k[0], k[1]);
  case DIV: return loom_div(ctx, k[0], k[1]);
  case POW: return loom_pow(ctx, k[0], d->num);
  case FLOOR: return loom_floor(ctx, k[0]);
  case CEIL: return loom_ceil(ctx, k[0]);
  case FDIV: return loom_floor_div(ctx, k[0], k[1]);
  case MOD: return loom_mod(ctx, k[0], k[1]);
  case MODIDX: return loom_mod_index(ctx, k[0], k[1], k[2]);
  case MIN2: return loom_min(ctx, 2, k);
  case MAX2: return loom_max(ctx, 2, k);
  case MAX3: return loom_max(ctx, 3, k);
  case LT: return loom_lt(ctx, k[0], k[1]);
  case LE: return loom_le(ctx, k[0], k[1]);
  case EQ: return loom_eq(ctx, k[0], k[1]);
  case SELECT: return loom_select(ctx, k[0], k[1], k[2]);
  case SUM3: return loom_sum(ctx, 3, k);
  case PRODUCT3: return loom_product(ctx, 3, k);
  default: return LOOM_NONE;
  }
}

/* ---- values of built expressions --------------------------------------------------------------- */

static ratio value_of(loom_ctx *ctx, loom_expr e, const loom_expr *s, const ratio *at);

static ratio number(loom_ctx *ctx, loom_num n) {
  int64_t num, den;
  return loom_num_to_ratio(ctx, n, &num, &den) ? make(num, den) : none;
}

static ratio value_of_sum(loom_ctx *ctx, loom_expr e, const loom_expr *s, const ratio *at) {
  ratio sum = number(ctx, loom_add_constant(ctx, e));
  for (size_t i = 0; i < loom_add_count(ctx, e); i++) {
    loom_term t = loom_add_term(ctx, e, i);
    ratio v = value_of(ctx, t.id, s, at);
    if (is_none(v) || is_none(sum)) return none;
    sum = add(sum, mul(number(ctx, t.coef), v));
  }
  return sum;
}

static ratio value_of_product(loom_ctx *ctx, loom_expr e, const loom_expr *s, const ratio *at) {
  ratio product = whole(1);
  for (size_t i = 0; i < loom_mul_count(ctx, e); i++) {
    loom_power p = loom_mul_power(ctx, e, i);
    ratio v = value_of(ctx, p.base, s, at);
    if (is_none(v) || is_none(product)) return none;
    product = mul(product, power(v, p.exponent));
  }
  return product;
}

static ratio value_of(loom_ctx *ctx, loom_expr e, const loom_expr *s, const ratio *at) {
  static const op ops[] = {[LOOM_FLOOR] = FLOOR, [LOOM_CEIL] = CEIL,     [LOOM_FLOORDIV] = FDIV,
                           [LOOM_MOD] = MOD,     [LOOM_MODIDX] = MODIDX, [LOOM_LT] = LT,
                           [LOOM_LE] = LE,       [LOOM_EQ] = EQ,         [LOOM_SELECT] = SELECT};
  loom_kind kind = loom_kind_of(ctx, e);
  if (kind == LOOM_NUM) return number(ctx, loom_num_of(ctx, e));
  if (kind == LOOM_ADD) return value_of_sum(ctx, e, s, at);
  if (kind == LOOM_MUL || kind == LOOM_POW) return value_of_product(ctx, e, s, at);
  for (int i = 0; i < N_SYMBOLS; i++)
    if (s[i] == e) return at[i];
  size_t n = loom_child_count(ctx, e);
  ratio v[3] = {none, none, none}, best = none;
  if (kind == LOOM_SELECT) {
    ratio c = value_of(ctx, loom_child(ctx, e, 0), s, at);
    return is_none(c) ? c : value_of(ctx, loom_child(ctx, e, c.num != 0 ? 1 : 2), s, at);
  }
  for (size_t i = 0; i < n; i++) {
    ratio child = value_of(ctx, loom_child(ctx, e, i), s, at);
    if (is_none(child)) return none;
    if (i < 3) v[i] = child;
    best = i == 0 ? child : extreme(best, child, kind == LOOM_MAX);
  }
  if (kind == LOOM_MIN || kind == LOOM_MAX) return best;
  return judge(&(desc){.op = ops[kind], .kid = {0, 1, 2}}, v, at);
}

/* ---- checks ----------------------------------------------------------------------------------- */

static char text[1 << 16];

static void show(const tree *t, int i, int depth) {
  static const char *const names[] = {
      "literal", "symbol", "add", "sub", "neg",  "mul", "div", "pow", "floor",  "ceil", "fdiv",
      "mod",     "modidx", "min", "max", "max3", "lt",  "le",  "eq",  "select", "sum3", "product3"};
  const desc *d = &t->at[i];
  char *at = text + strlen(text);
  if (strlen(text) > sizeof text - 200 || depth > 12) return;
  if (d->op == LITERAL)
    sprintf(at, "%d/%d", d->num, d->den);
  else if (d->op == SYMBOL)
    sprintf(at, "%c", "xyzwrmtu"[d->num]);
  else {
    sprintf(at, "%s(", names[d->op]);
    for (int k = 0; k < kids_of(d->op); k++) {
      if (k) strcat(text, ", ");
      show(t, d->kid[k], depth + 1);
    }
    if (d->op == POW) sprintf(text + strlen(text), ", %d", d->num);
    strcat(text, ")");
  }
}

static void complain(const tree *t, int i, const ratio *at, ratio want, ratio got,
                     const char *what) {
  text[0] = '\0';
  show(t, i, 0);
  print_error(
      "%s\n  %s\n  at x=%d y=%d z=%d w=%d r=%d/%d m=%d t=%d u=%d: %lld/%lld, built %lld/%lld\n",
      what, text, (int)at[X].num, (int)at[Y].num, (int)at[Z].num, (int)at[W].num, (int)at[R].num,
      (int)at[R].den, (int)at[M].num, (int)at[T].num, (int)at[U].num, (long long)want.num,
      (long long)want.den, (long long)got.num, (long long)got.den);
  fail();
}

static bool facts_hold(loom_facts f, ratio v) {
  int sign = v.num > 0 ? LOOM_POS : v.num < 0 ? LOOM_NEG : LOOM_ZERO;
  bool integer = v.den == 1;
  if (!(f.sign & sign)) return false;
  if (f.integer == LOOM_YES && !integer) return false;
  if (f.integer == LOOM_NO && integer) return false;
  if (f.lo != LOOM_MINUS_INF && v.num < (wide)f.lo * v.den) return false;
  if (f.hi != LOOM_PLUS_INF && v.num > (wide)f.hi * v.den) return false;
  if (f.integer != LOOM_YES) return f.modulus == 1;
  if (f.modulus == 0) return v.num == f.remainder;
  return (v.num - f.remainder) % f.modulus == 0;
}

/* At one point: every part of the tree has the value of what was built for it. */
static int check_point(loom_ctx *ctx, const tree *t, const loom_expr *built, const loom_expr *s) {
  ratio at[N_SYMBOLS], v[MOST];
  int checked = 0;
  draw_point(at);
  for (int i = 0; i < t->n; i++) {
    v[i] = judge(&t->at[i], v, at);
    if (is_none(v[i])) continue;
    if (built[i] == LOOM_NONE) complain(t, i, at, v[i], none, "refused although it has a value");
    if (!facts_hold(loom_facts_of(ctx, built[i]), v[i]))
      complain(t, i, at, v[i], v[i], "the facts are wrong");
    ratio got = value_of(ctx, built[i], s, at);
    if (got.num != v[i].num || got.den != v[i].den)
      complain(t, i, at, v[i], got, "the value is wrong");
    checked++;
  }
  return checked;
}

/* Every intermediate value must be small enough for the judge, or points are simply not judged:
** the built form may pass through larger numbers, which then do not count either. */
static bool too_large_for_judge(loom_ctx *ctx, loom_expr e) {
  return e != LOOM_NONE && loom_expr_size(ctx, e) > 400;
}

static void build_tree(loom_ctx *ctx, const tree *t, const loom_expr *s, loom_expr *built) {
  for (int i = 0; i < t->n; i++) {
    built[i] = LOOM_NONE;
    bool usable = true;
    for (int k = 0; k < kids_of(t->at[i].op); k++)
      usable = usable && built[t->at[i].kid[k]] != LOOM_NONE;
    if (!usable) continue;
    built[i] = build(ctx, &t->at[i], built, s);
    if (built[i] != LOOM_NONE) {
      assert_false(too_large_for_judge(ctx, built[i]));
      continue;
    }
    assert_int_equal(loom_error_status(ctx), LOOM_ERR_DOMAIN);
    loom_error_clear(ctx);
  }
}

static int rounds(int usual) {
  const char *text_of = getenv("EINLOOM_ROUNDS");
  return text_of ? atoi(text_of) : usual;
}

static void check_trees(bool index, int n) {
  loom_ctx *ctx = loom_ctx_new();
  loom_expr s[N_SYMBOLS], built[MOST];
  tree t;
  long checked = 0;
  for (int round = 0; round < n; round++) {
    if (round % 500 == 0) {
      loom_ctx_free(ctx);
      ctx = loom_ctx_new();
      make_symbols(ctx, s);
    }
    if (index)
      draw_index(&t);
    else
      draw_tree(&t, between(4, 14));
    build_tree(ctx, &t, s, built);
    for (int p = 0; p < 24; p++) checked += check_point(ctx, &t, built, s);
  }
  assert_true(checked > n);
  loom_ctx_free(ctx);
}

static void every_part_keeps_its_value(void **unused) {
  (void)unused;
  check_trees(false, rounds(4000));
}

static void index_arithmetic_keeps_its_value(void **unused) {
  (void)unused;
  check_trees(true, rounds(4000) / 4);
}

/* ---- independence of history ------------------------------------------------------------------- */

static void spell(loom_ctx *ctx, loom_expr e) {
  size_t room = strlen(text);
  if (room > sizeof text - 300) return;
  loom_kind kind = loom_kind_of(ctx, e);
  if (kind == LOOM_SYM) {
    strcat(text, loom_symbol_name(ctx, e));
    return;
  }
  sprintf(text + room, "%s(", loom_kind_name(kind));
  if (kind == LOOM_NUM || kind == LOOM_ADD) {
    char *digits =
        loom_num_print(ctx, kind == LOOM_NUM ? loom_num_of(ctx, e) : loom_add_constant(ctx, e));
    if (strlen(digits) < 100) strcat(text, digits);
    loom_free(digits);
  }
  uint32_t order[64];
  size_t n = loom_child_count(ctx, e);
  assert_true(n <= 64);
  loom_child_order(ctx, e, order);
  for (size_t i = 0; i < n; i++) {
    strcat(text, " ");
    if (kind == LOOM_ADD) {
      char *digits = loom_num_print(ctx, loom_add_term(ctx, e, order[i]).coef);
      if (strlen(digits) < 100) strcat(text, digits);
      loom_free(digits);
    }
    if (kind == LOOM_MUL || kind == LOOM_POW)
      sprintf(text + strlen(text), "^%d", (int)loom_mul_power(ctx, e, order[i]).exponent);
    spell(ctx, loom_child(ctx, e, order[i]));
  }
  strcat(text, ")");
}

static void history_does_not_show(void **unused) {
  (void)unused;
  static char first[sizeof text];
  for (int round = 0; round < rounds(4000) / 4; round++) {
    loom_ctx *a = loom_ctx_new(), *b = loom_ctx_new();
    loom_expr s[N_SYMBOLS], q[N_SYMBOLS], built[MOST], again[MOST];
    tree t, other;
    draw_tree(&t, between(4, 12));
    draw_tree(&other, between(4, 12));
    make_symbols(a, s);
    build_tree(a, &t, s, built);
    loom_symbol(b, "y", NULL);
    loom_symbol(b, "w", NULL);
    make_symbols(b, q);
    build_tree(b, &other, q, again);
    build_tree(b, &t, q, again);
    for (int i = 0; i < t.n; i++) {
      assert_int_equal(built[i] == LOOM_NONE, again[i] == LOOM_NONE);
      if (built[i] == LOOM_NONE) continue;
      text[0] = '\0';
      spell(a, built[i]);
      strcpy(first, text);
      text[0] = '\0';
      spell(b, again[i]);
      if (strcmp(first, text) != 0) {
        print_error("one history:   %s\nanother one:   %s\n", first, text);
        text[0] = '\0';
        show(&t, i, 0);
        print_error("of %s\n", text);
        fail();
      }
      assert_int_equal(loom_expr_order(a, built[i], built[0]) < 0,
                       loom_expr_order(b, again[i], again[0]) < 0);
    }
    loom_ctx_free(a);
    loom_ctx_free(b);
  }
}

int main(void) {
  const char *seed = getenv("EINLOOM_SEED");
  state = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  if (state == 0) state = 1;
  print_message("EINLOOM_SEED=%llu\n", (unsigned long long)state);
  state *= 0x9e3779b97f4a7c15u;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_part_keeps_its_value),
      cmocka_unit_test(index_arithmetic_keeps_its_value),
      cmocka_unit_test(history_does_not_show),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
