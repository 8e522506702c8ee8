/* SPDX-License-Identifier: MIT */
/* The printer's work list, shared by the files that spell out nodes.
** Invariant: a node is spelled by pushing, left to right, the pieces it is made of; the driver in
** print.c emits them in that order, so nesting costs memory and never stack. */
#ifndef EINLOOM_PRINTER_H
#define EINLOOM_PRINTER_H

#include "expr/node.h"

/* How strongly text binds: what is weaker than its place asks for is put in parentheses. */
enum {
  LOOM_BIND_ANY,
  LOOM_BIND_COMPARE,
  LOOM_BIND_SUM,
  LOOM_BIND_PRODUCT,
  LOOM_BIND_FACTOR, /* stands beside * and to the right of / */
  LOOM_BIND_ATOM
};

typedef enum loom_piece_kind {
  LOOM_PIECE_TEXT,      /* `count` bytes of text */
  LOOM_PIECE_EXPR,      /* e, binding at least as `bind` */
  LOOM_PIECE_CONDITION, /* e as a truth value */
  LOOM_PIECE_SYMBOL,    /* the name of e, a symbol or a call */
  LOOM_PIECE_DIGITS,    /* the integer num >= 0 */
  LOOM_PIECE_POWER,     /* e ^ count, count > 0 */
  LOOM_PIECE_TERM       /* num * e, num > 0, as a product */
} loom_piece_kind;

typedef struct loom_piece {
  loom_piece_kind kind;
  uint8_t bind;
  uint32_t count;
  loom_expr e;
  const char *text;
  loom_num num;
} loom_piece;

typedef struct loom_printer {
  loom_ctx *ctx;
  loom_style style;
  bool failed;
  LOOM_VEC(loom_piece) pieces; /* top is next */
  LOOM_VEC(char) out;
  LOOM_VEC(uint32_t) order; /* room to sort children */
} loom_printer;

/* Further pieces of the node being spelled, left to right. */
void loom_push(loom_printer *p, loom_piece piece);
void loom_push_text(loom_printer *p, const char *text);
void loom_push_expr(loom_printer *p, loom_expr e, int bind);
/* Text in which $ and two characters stand for an argument: its digit, then how its place binds
** (a digit, or c for a condition), as in "$03 // $14". */
void loom_push_pattern(loom_printer *p, const char *pattern, const loom_expr *args);

/* Spells a node that is neither number, symbol, sum, product nor power (print_call.c). */
void loom_push_call(loom_printer *p, loom_expr e);
void loom_push_condition(loom_printer *p, loom_expr e);
/* How the text of such a node binds. */
int loom_call_bind(const loom_printer *p, loom_expr e);

#endif
