/* SPDX-License-Identifier: MIT */
/* Writes expressions as text.
** Invariant: children come in their canonical order, so the text does not depend on how the
** context came to be; infix text parses back to the same handle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/lex.h"
#include "expr/printer.h"

/* The longest text made: an expression shared many times over is longer than its nodes. */
#define PRINT_LIMIT ((size_t)64 << 20)

/* ---- pieces ------------------------------------------------------------------------------- */

void loom_push(loom_printer *p, loom_piece piece) {
  if (!loom_vec_push(p->ctx, &p->pieces, piece)) p->failed = true;
}

static void push_slice(loom_printer *p, const char *text, size_t length) {
  if (length)
    loom_push(p, (loom_piece){.kind = LOOM_PIECE_TEXT, .count = (uint32_t)length, .text = text});
}

void loom_push_text(loom_printer *p, const char *text) {
  push_slice(p, text, strlen(text));
}

void loom_push_expr(loom_printer *p, loom_expr e, int bind) {
  loom_push(p, (loom_piece){.kind = LOOM_PIECE_EXPR, .bind = (uint8_t)bind, .e = e});
}

void loom_push_pattern(loom_printer *p, const char *pattern, const loom_expr *args) {
  while (*pattern) {
    size_t length = strcspn(pattern, "$");
    push_slice(p, pattern, length);
    pattern += length;
    if (*pattern != '$') continue;
    loom_expr e = args[pattern[1] - '0'];
    if (pattern[2] == 'c')
      loom_push(p, (loom_piece){.kind = LOOM_PIECE_CONDITION, .e = e});
    else
      loom_push_expr(p, e, pattern[2] - '0');
    pattern += 3;
  }
}

static void push_digits(loom_printer *p, loom_num num) {
  loom_push(p, (loom_piece){.kind = LOOM_PIECE_DIGITS, .num = num});
}

/* ---- output ------------------------------------------------------------------------------- */

static void emit(loom_printer *p, const char *text, size_t length) {
  if (p->failed) return;
  if (length > PRINT_LIMIT - p->out.n) {
    loom_error_set(p->ctx, LOOM_ERR_LIMIT, "text longer than %zu bytes", PRINT_LIMIT);
    p->failed = true;
  } else if (!loom_vec_reserve(p->ctx, &p->out, length)) {
    p->failed = true;
  } else {
    memcpy(p->out.at + p->out.n, text, length);
    p->out.n += length;
  }
}

static void emit_text(loom_printer *p, const char *text) {
  emit(p, text, strlen(text));
}

static void emit_digits(loom_printer *p, loom_num num) {
  char small[24];
  if (loom_num_is_big(num)) {
    char *text = loom_num_print(p->ctx, num);
    if (text)
      emit_text(p, text);
    else
      p->failed = true;
    loom_free(text);
  } else {
    emit(p, small, (size_t)snprintf(small, sizeof small, "%lld", (long long)num.num));
  }
  if (p->style == LOOM_C) emit_text(p, ".0");
}

/* stride_0 and stride0 become \mathit{stride}_{0}. */
static void emit_latex_name(loom_printer *p, const char *name) {
  size_t length = strlen(name), stem = length;
  while (stem > 1 && name[stem - 1] >= '0' && name[stem - 1] <= '9') stem--;
  size_t digits = stem;
  if (stem > 1 && name[stem - 1] == '_') stem--;
  if (stem > 1) emit_text(p, "\\mathit{");
  for (size_t i = 0; i < stem; i++) {
    if (strchr("_#$%&{}", name[i])) emit_text(p, "\\");
    emit(p, &name[i], 1);
  }
  if (stem > 1) emit_text(p, "}");
  if (digits == length) return;
  emit_text(p, "_{");
  emit_text(p, name + digits);
  emit_text(p, "}");
}

static void emit_symbol(loom_printer *p, loom_expr e) {
  bool call = loom_kind_of(p->ctx, e) == LOOM_CALL;
  const char *name = call ? loom_call_name(p->ctx, e) : loom_symbol_name(p->ctx, e);
  if (p->style == LOOM_LATEX) {
    emit_latex_name(p, name);
  } else if (p->style == LOOM_INFIX && !loom_lex_is_name(name)) {
    emit_text(p, "`");
    emit_text(p, name);
    emit_text(p, "`");
  } else {
    emit_text(p, name);
  }
}

/* ---- numbers, products, sums -------------------------------------------------------------- */

static bool latex(const loom_printer *p) {
  return p->style == LOOM_LATEX;
}

/* The powers of e in canonical order, as indices in p->order; how many. */
static size_t sort_powers(loom_printer *p, loom_expr e) {
  size_t n = loom_mul_count(p->ctx, e);
  p->order.n = 0;
  if (!loom_vec_reserve(p->ctx, &p->order, n)) {
    p->failed = true;
    return 0;
  }
  p->order.at[0] = 0;
  if (n > 1) loom_child_order(p->ctx, e, p->order.at);
  return n;
}

/* A product of digits (if not 1, or if nothing else stands there) and of the powers of e whose
** exponents have one sign. */
static void push_product(loom_printer *p, loom_num digits, loom_expr e, size_t n, size_t n_powers,
                         bool negative, bool alone) {
  bool first = n_powers > 0 && loom_num_is_one(digits);
  if (!first) push_digits(p, digits);
  uint8_t bind = alone && first && n_powers == 1 ? LOOM_BIND_ANY : LOOM_BIND_FACTOR;
  for (size_t i = 0; i < n; i++) {
    loom_power power = loom_mul_power(p->ctx, e, p->order.at[i]);
    if ((power.exponent < 0) != negative) continue;
    if (!first) loom_push_text(p, latex(p) ? " " : "*");
    first = false;
    uint32_t count = (uint32_t)power.exponent;
    loom_push(p, (loom_piece){.kind = LOOM_PIECE_POWER,
                              .bind = bind,
                              .e = power.base,
                              .count = negative ? 0 - count : count});
  }
}

/* coef * e with coef > 0, as numerator/denominator, each a product. */
static void push_term(loom_printer *p, loom_num coef, loom_expr e) {
  size_t n = sort_powers(p, e), above = 0, below = 0;
  for (size_t i = 0; i < n; i++)
    ++*(loom_mul_power(p->ctx, e, p->order.at[i]).exponent > 0 ? &above : &below);
  loom_num num = loom_num_numerator(p->ctx, coef), den = loom_num_denominator(p->ctx, coef);
  if (p->failed || loom_num_is_none(num) || loom_num_is_none(den)) {
    p->failed = true;
    return;
  }
  bool fraction = below || !loom_num_is_one(den);
  bool several = below + !loom_num_is_one(den) > 1;
  if (latex(p) && fraction) loom_push_text(p, "\\frac{");
  push_product(p, num, e, n, above, false, latex(p) && fraction);
  if (!fraction) return;
  loom_push_text(p, latex(p) ? "}{" : several ? "/(" : "/");
  push_product(p, den, e, n, below, true, latex(p));
  if (latex(p) || several) loom_push_text(p, latex(p) ? "}" : ")");
}

/* base ^ count with count > 0. */
static void push_power(loom_printer *p, loom_expr base, uint32_t count, int bind) {
  if (count == 1) {
    loom_push_expr(p, base, bind);
  } else if (p->style == LOOM_C) {
    loom_push_text(p, "pow(");
    loom_push_expr(p, base, LOOM_BIND_ANY);
    loom_push_text(p, ", ");
    push_digits(p, LOOM_NUM(count));
    loom_push_text(p, ")");
  } else {
    loom_push_expr(p, base, LOOM_BIND_ATOM);
    loom_push_text(p, latex(p) ? "^{" : "^");
    push_digits(p, LOOM_NUM(count));
    if (latex(p)) loom_push_text(p, "}");
  }
}

/* A number or term of a sum, after the sign that joins it to what stands before. */
static void push_signed(loom_printer *p, loom_num coef, loom_expr e, bool first) {
  bool negative = loom_num_sign(p->ctx, coef) < 0;
  if (negative) {
    loom_push_text(p, first ? "-" : " - ");
    coef = loom_num_neg(p->ctx, coef);
  } else if (!first) {
    loom_push_text(p, " + ");
  }
  loom_push(p, (loom_piece){.kind = LOOM_PIECE_TERM,
                            .bind = negative && first ? LOOM_BIND_FACTOR : LOOM_BIND_PRODUCT,
                            .e = e,
                            .num = coef});
}

static void push_sum(loom_printer *p, loom_expr e) {
  size_t n = loom_add_count(p->ctx, e);
  loom_num constant = loom_add_constant(p->ctx, e);
  bool first = true;
  p->order.n = 0;
  if (!loom_vec_reserve(p->ctx, &p->order, n)) {
    p->failed = true;
    return;
  }
  loom_child_order(p->ctx, e, p->order.at);
  if (!loom_num_is_zero(constant)) {
    push_signed(p, constant, LOOM_NONE, true);
    first = false;
  }
  for (size_t i = 0; i < n; i++, first = false) {
    loom_term term = loom_add_term(p->ctx, e, p->order.at[i]);
    push_signed(p, term.coef, term.id, first);
  }
}

static void push_number(loom_printer *p, loom_num num) {
  loom_num above = loom_num_numerator(p->ctx, num), below = loom_num_denominator(p->ctx, num);
  if (loom_num_is_none(above) || loom_num_is_none(below)) {
    p->failed = true;
    return;
  }
  bool fraction = !loom_num_is_one(below);
  if (latex(p) && fraction) loom_push_text(p, "\\frac{");
  push_digits(p, above);
  if (!fraction) return;
  loom_push_text(p, latex(p) ? "}{" : "/");
  push_digits(p, below);
  if (latex(p)) loom_push_text(p, "}");
}

/* ---- driver ------------------------------------------------------------------------------- */

static int number_bind(const loom_printer *p, loom_expr e) {
  loom_num num = loom_num_of(p->ctx, e);
  if (loom_num_sign(p->ctx, num) < 0) return LOOM_BIND_SUM;
  return loom_num_is_int(p->ctx, num) || latex(p) ? LOOM_BIND_ATOM : LOOM_BIND_PRODUCT;
}

static int sum_bind(const loom_printer *p, loom_expr e) {
  if (loom_add_count(p->ctx, e) > 1 || !loom_num_is_zero(loom_add_constant(p->ctx, e)))
    return LOOM_BIND_SUM;
  return loom_num_sign(p->ctx, loom_add_term(p->ctx, e, 0).coef) < 0 ? LOOM_BIND_SUM
                                                                     : LOOM_BIND_PRODUCT;
}

static int bind_of(const loom_printer *p, loom_expr e) {
  switch (loom_kind_of(p->ctx, e)) {
  case LOOM_NUM: return number_bind(p, e);
  case LOOM_SYM: return LOOM_BIND_ATOM;
  case LOOM_ADD: return sum_bind(p, e);
  case LOOM_MUL:
  case LOOM_POW: return LOOM_BIND_PRODUCT;
  default: return loom_call_bind(p, e);
  }
}

static void push_expr(loom_printer *p, loom_expr e, int bind) {
  bool parentheses = bind_of(p, e) < bind;
  if (parentheses) loom_push_text(p, latex(p) ? "\\left(" : "(");
  switch (loom_kind_of(p->ctx, e)) {
  case LOOM_NUM: {
    loom_num num = loom_num_of(p->ctx, e);
    push_signed(p, num, LOOM_NONE, true);
    break;
  }
  case LOOM_SYM: loom_push(p, (loom_piece){.kind = LOOM_PIECE_SYMBOL, .e = e}); break;
  case LOOM_ADD: push_sum(p, e); break;
  case LOOM_MUL:
  case LOOM_POW: push_term(p, LOOM_NUM_ONE, e); break;
  default: loom_push_call(p, e); break;
  }
  if (parentheses) loom_push_text(p, latex(p) ? "\\right)" : ")");
}

/* A term that is a product, a power or scaled; another one alone binds as its place asks for. */
static void push_term_piece(loom_printer *p, loom_num coef, loom_expr e, int bind) {
  if (e == LOOM_NONE) {
    push_number(p, coef);
    return;
  }
  loom_kind kind = loom_kind_of(p->ctx, e);
  if (loom_num_is_one(coef) && kind != LOOM_MUL && kind != LOOM_POW)
    loom_push_expr(p, e, bind);
  else
    push_term(p, coef, e);
}

/* Emits a piece or pushes what it is made of, then turns that round: the first piece is on top. */
static void print_piece(loom_printer *p, loom_piece piece) {
  size_t start = p->pieces.n;
  switch (piece.kind) {
  case LOOM_PIECE_TEXT: emit(p, piece.text, piece.count); break;
  case LOOM_PIECE_DIGITS: emit_digits(p, piece.num); break;
  case LOOM_PIECE_SYMBOL: emit_symbol(p, piece.e); break;
  case LOOM_PIECE_EXPR: push_expr(p, piece.e, piece.bind); break;
  case LOOM_PIECE_CONDITION: loom_push_condition(p, piece.e); break;
  case LOOM_PIECE_POWER: push_power(p, piece.e, piece.count, piece.bind); break;
  case LOOM_PIECE_TERM: push_term_piece(p, piece.num, piece.e, piece.bind); break;
  }
  for (size_t i = start, j = p->pieces.n; i + 1 < j; i++) {
    loom_piece swap = p->pieces.at[i];
    p->pieces.at[i] = p->pieces.at[--j];
    p->pieces.at[j] = swap;
  }
}

/* Linear in the text.  LOOM_ERR_LIMIT beyond 64 MiB; LOOM_ERR_ARGUMENT for a handle or style that
** is not one.  C text computes in double and needs <math.h>; names are written as they are. */
char *loom_print(loom_ctx *ctx, loom_expr e, loom_style style) {
  loom_printer p = {.ctx = ctx, .style = style};
  char *text = NULL;
  if (e == LOOM_NONE) return NULL;
  if (!loom_expr_live(ctx, e) || (unsigned)style > LOOM_LUA) {
    loom_error_set(ctx, LOOM_ERR_ARGUMENT, "loom_print: %s",
                   (unsigned)style > LOOM_LUA ? "unknown style" : "stale expression");
    return NULL;
  }
  loom_push_expr(&p, e, LOOM_BIND_ANY);
  while (p.pieces.n && !p.failed) print_piece(&p, p.pieces.at[--p.pieces.n]);
  emit(&p, "", 1);
  if (!p.failed && !(text = malloc(p.out.n))) loom_error_memory(ctx);
  if (text) memcpy(text, p.out.at, p.out.n);
  loom_vec_free(ctx, &p.pieces);
  loom_vec_free(ctx, &p.out);
  loom_vec_free(ctx, &p.order);
  return text;
}
