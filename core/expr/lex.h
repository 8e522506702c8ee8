/* SPDX-License-Identifier: MIT */
/* Tokens of the infix notation.
** Invariant: a lexer looks at each byte once; a token is a slice of the text, nothing is copied. */
#ifndef EINLOOM_LEX_H
#define EINLOOM_LEX_H

#include "base/base.h"

typedef enum loom_token_kind {
  LOOM_TOKEN_END,
  LOOM_TOKEN_NUMBER,
  LOOM_TOKEN_NAME,
  LOOM_TOKEN_PLUS,
  LOOM_TOKEN_MINUS,
  LOOM_TOKEN_STAR,
  LOOM_TOKEN_SLASH,
  LOOM_TOKEN_FLOOR_DIV,
  LOOM_TOKEN_PERCENT,
  LOOM_TOKEN_POWER,
  LOOM_TOKEN_LESS,
  LOOM_TOKEN_LESS_EQUAL,
  LOOM_TOKEN_EQUAL,
  LOOM_TOKEN_GREATER,
  LOOM_TOKEN_GREATER_EQUAL,
  LOOM_TOKEN_OPEN,
  LOOM_TOKEN_CLOSE,
  LOOM_TOKEN_COMMA
} loom_token_kind;

typedef struct loom_token {
  loom_token_kind kind;
  size_t at, length; /* slice of the text; of a quoted name without its quotes */
} loom_token;

typedef struct loom_lexer {
  const char *text;
  size_t length, at;
} loom_lexer;

/* The next token.  False with LOOM_ERR_SYNTAX and its offset recorded when there is none. */
bool loom_lex(loom_ctx *ctx, loom_lexer *lexer, loom_token *token);
/* True if text is a name as it stands: a letter or _, then letters, digits and _. */
bool loom_lex_is_name(const char *text);

#endif
