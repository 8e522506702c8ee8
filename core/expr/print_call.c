/* SPDX-License-Identifier: MIT */
/* How functions, divisions and comparisons are spelled in each style.
** Invariant: one row per kind; infix text reads back as the same node. */
#include <string.h>

#include "expr/printer.h"

/* Patterns by loom_style. */
static const char *const floor_pattern[] = {
    "floor($00)", "floor($00)", "\\left\\lfloor $00 \\right\\rfloor", "math.floor($00)"};
static const char *const ceil_pattern[] = {"ceil($00)", "ceil($00)",
                                           "\\left\\lceil $00 \\right\\rceil", "math.ceil($00)"};
static const char *const floor_div_pattern[] = {"$03 // $14", "floor($03/$14)",
                                                "\\left\\lfloor \\frac{$00}{$10} \\right\\rfloor",
                                                "$03 // $14"};
static const char *const mod_pattern[] = {"$03 % $14", "($03 - $14*floor($03/$14))",
                                          "$04 \\bmod $14", "$03 % $14"};
static const char *const mod_index_pattern[] = {
    "mod_index($00, $10, $20)", "(floor($03/$14) - $24*floor(floor($03/$14)/$24))",
    "\\left\\lfloor \\frac{$00}{$10} \\right\\rfloor \\bmod $24", "$03 // $14 % $24"};
static const char *const select_pattern[] = {
    "select($00, $10, $20)", "($0c ? $12 : $22)",
    "\\begin{cases} $10 & \\text{if } $0c \\\\ $20 & \\text{otherwise} \\end{cases}",
    "($0c and $12 or $22)"};

static const char *const opaque_pattern[] = {"opaque($00)", "($00)", "\\left( $00 \\right)",
                                             "($00)"};

static const char *const lt_pattern[] = {"$02 < $12", "$02 < $12", "$02 < $12", "$02 < $12"};
static const char *const le_pattern[] = {"$02 <= $12", "$02 <= $12", "$02 \\le $12", "$02 <= $12"};
static const char *const eq_pattern[] = {"$02 == $12", "$02 == $12", "$02 = $12", "$02 == $12"};
/* A comparison as a number, and a number as a condition. */
static const char *const value_pattern[] = {"$0c", "($0c ? 1.0 : 0.0)", "\\left[ $0c \\right]",
                                            "($0c and 1 or 0)"};
static const char *const truth_pattern[] = {"$01", "$02 != 0", "$02 \\ne 0", "$02 ~= 0"};

static const char *const min_name[] = {"min(", "fmin(", "\\min\\left(", "math.min("};
static const char *const max_name[] = {"max(", "fmax(", "\\max\\left(", "math.max("};

static bool is_comparison(const loom_printer *p, loom_expr e) {
  loom_kind kind = loom_kind_of(p->ctx, e);
  return kind == LOOM_LT || kind == LOOM_LE || kind == LOOM_EQ;
}

/* (c*t + d - 1) // d is how ceil(c*t/d) is kept: c*t/d if e has this form, else LOOM_NONE. */
static loom_expr ceiling_of(const loom_printer *p, loom_expr e) {
  loom_ctx *ctx = p->ctx;
  if (loom_kind_of(ctx, e) != LOOM_FLOORDIV) return LOOM_NONE;
  loom_expr above = loom_child(ctx, e, 0), below = loom_child(ctx, e, 1);
  if (!loom_expr_is_num(ctx, below) || loom_kind_of(ctx, above) != LOOM_ADD ||
      loom_add_count(ctx, above) != 1)
    return LOOM_NONE;
  loom_num den = loom_num_of(ctx, below);
  loom_num last = loom_num_sub(ctx, den, LOOM_NUM_ONE);
  if (!loom_num_same(last, loom_add_constant(ctx, above))) return LOOM_NONE;
  loom_term term = loom_add_term(ctx, above, 0);
  loom_expr quotient = loom_scale(ctx, loom_num_div(ctx, term.coef, den), term.id);
  return loom_ceil(ctx, quotient) == e ? quotient : LOOM_NONE;
}

static void push_children(loom_printer *p, const char *pattern, loom_expr e) {
  loom_expr args[3] = {LOOM_NONE, LOOM_NONE, LOOM_NONE};
  size_t n = loom_child_count(p->ctx, e);
  for (size_t i = 0; i < n && i < 3; i++) args[i] = loom_child(p->ctx, e, i);
  loom_push_pattern(p, pattern, args);
}

/* min or max: nested calls of two arguments in C. */
static void push_list(loom_printer *p, const char *name, loom_expr e) {
  size_t n = loom_child_count(p->ctx, e);
  const char *close = p->style == LOOM_LATEX ? "\\right)" : ")";
  p->order.n = 0;
  if (!loom_vec_reserve(p->ctx, &p->order, n)) {
    p->failed = true;
    return;
  }
  loom_child_order(p->ctx, e, p->order.at);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || (p->style == LOOM_C && i + 1 < n)) loom_push_text(p, name);
    loom_push_expr(p, loom_child(p->ctx, e, p->order.at[i]), LOOM_BIND_ANY);
    if (i + 1 < n) loom_push_text(p, ", ");
  }
  for (size_t i = 0; i < (p->style == LOOM_C ? n - 1 : 1); i++) loom_push_text(p, close);
}

/* A named function. */
static void push_function(loom_printer *p, loom_expr e) {
  loom_push(p, (loom_piece){.kind = LOOM_PIECE_SYMBOL, .e = e});
  loom_push_text(p, p->style == LOOM_LATEX ? "\\left(" : "(");
  for (size_t i = 0, n = loom_child_count(p->ctx, e); i < n; i++) {
    if (i > 0) loom_push_text(p, ", ");
    loom_push_expr(p, loom_child(p->ctx, e, i), LOOM_BIND_ANY);
  }
  loom_push_text(p, p->style == LOOM_LATEX ? "\\right)" : ")");
}

void loom_push_call(loom_printer *p, loom_expr e) {
  loom_expr ceiling = ceiling_of(p, e);
  if (ceiling != LOOM_NONE) {
    loom_push_pattern(p, ceil_pattern[p->style], &ceiling);
    return;
  }
  switch (loom_kind_of(p->ctx, e)) {
  case LOOM_MIN: push_list(p, min_name[p->style], e); break;
  case LOOM_MAX: push_list(p, max_name[p->style], e); break;
  case LOOM_FLOOR: push_children(p, floor_pattern[p->style], e); break;
  case LOOM_CEIL: push_children(p, ceil_pattern[p->style], e); break;
  case LOOM_FLOORDIV: push_children(p, floor_div_pattern[p->style], e); break;
  case LOOM_MOD: push_children(p, mod_pattern[p->style], e); break;
  case LOOM_MODIDX: push_children(p, mod_index_pattern[p->style], e); break;
  case LOOM_SELECT: push_children(p, select_pattern[p->style], e); break;
  case LOOM_OPAQUE: push_children(p, opaque_pattern[p->style], e); break;
  case LOOM_CALL: push_function(p, e); break;
  default: loom_push_pattern(p, value_pattern[p->style], &e); break;
  }
}

void loom_push_condition(loom_printer *p, loom_expr e) {
  switch (loom_kind_of(p->ctx, e)) {
  case LOOM_LT: push_children(p, lt_pattern[p->style], e); break;
  case LOOM_LE: push_children(p, le_pattern[p->style], e); break;
  case LOOM_EQ: push_children(p, eq_pattern[p->style], e); break;
  default: loom_push_pattern(p, truth_pattern[p->style], &e); break;
  }
}

int loom_call_bind(const loom_printer *p, loom_expr e) {
  switch (loom_kind_of(p->ctx, e)) {
  case LOOM_FLOORDIV:
    if (ceiling_of(p, e) != LOOM_NONE) return LOOM_BIND_ATOM;
    return p->style == LOOM_INFIX || p->style == LOOM_LUA ? LOOM_BIND_PRODUCT : LOOM_BIND_ATOM;
  case LOOM_MOD: return p->style == LOOM_C ? LOOM_BIND_ATOM : LOOM_BIND_PRODUCT;
  case LOOM_MODIDX:
    return p->style == LOOM_LATEX || p->style == LOOM_LUA ? LOOM_BIND_PRODUCT : LOOM_BIND_ATOM;
  default:
    return p->style == LOOM_INFIX && is_comparison(p, e) ? LOOM_BIND_COMPARE : LOOM_BIND_ATOM;
  }
}
