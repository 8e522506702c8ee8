/* SPDX-License-Identifier: MIT */
/* Reads tokens of the infix notation.
** Invariant: progress: a token or an error consumes at least one byte, except at the end. */
#include "expr/lex.h"

#include <string.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char peek(const loom_lexer *lexer, size_t ahead) {
  size_t i = lexer->at + ahead;
  return i < lexer->length ? lexer->text[i] : '\0';
}

static void skip_digits(loom_lexer *lexer) {
  while (is_digit(peek(lexer, 0))) lexer->at++;
}

static bool lex_number(loom_ctx *ctx, loom_lexer *lexer, loom_token *token) {
  skip_digits(lexer);
  if (peek(lexer, 0) == '.') {
    lexer->at++;
    if (!is_digit(peek(lexer, 0))) {
      loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at, "expected a digit after '.'");
      return false;
    }
    skip_digits(lexer);
  }
  if (peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E') {
    size_t sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-';
    if (!is_digit(peek(lexer, 1 + sign))) {
      loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at,
                        "expected digits of an exponent after '%c'", peek(lexer, 0));
      return false;
    }
    lexer->at += 1 + sign;
    skip_digits(lexer);
  }
  if (is_letter(peek(lexer, 0))) {
    loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at,
                      "expected an operator between a number and a name");
    return false;
  }
  token->kind = LOOM_TOKEN_NUMBER;
  token->length = lexer->at - token->at;
  return true;
}

static bool lex_quoted_name(loom_ctx *ctx, loom_lexer *lexer, loom_token *token) {
  size_t start = ++lexer->at;
  while (lexer->at < lexer->length && lexer->text[lexer->at] != '`') lexer->at++;
  if (lexer->at == lexer->length) {
    loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)(start - 1),
                      "expected '`' to close the name that starts here");
    return false;
  }
  *token = (loom_token){LOOM_TOKEN_NAME, start, lexer->at - start};
  lexer->at++;
  return true;
}

static bool lex_operator(loom_ctx *ctx, loom_lexer *lexer, loom_token *token) {
  char c = peek(lexer, 0), next = peek(lexer, 1);
  size_t length = 1;
  switch (c) {
  case '+': token->kind = LOOM_TOKEN_PLUS; break;
  case '-': token->kind = LOOM_TOKEN_MINUS; break;
  case '^': token->kind = LOOM_TOKEN_POWER; break;
  case '%': token->kind = LOOM_TOKEN_PERCENT; break;
  case '(': token->kind = LOOM_TOKEN_OPEN; break;
  case ')': token->kind = LOOM_TOKEN_CLOSE; break;
  case ',': token->kind = LOOM_TOKEN_COMMA; break;
  case '*':
    length += next == '*';
    token->kind = next == '*' ? LOOM_TOKEN_POWER : LOOM_TOKEN_STAR;
    break;
  case '/':
    length += next == '/';
    token->kind = next == '/' ? LOOM_TOKEN_FLOOR_DIV : LOOM_TOKEN_SLASH;
    break;
  case '<':
    length += next == '=';
    token->kind = next == '=' ? LOOM_TOKEN_LESS_EQUAL : LOOM_TOKEN_LESS;
    break;
  case '>':
    length += next == '=';
    token->kind = next == '=' ? LOOM_TOKEN_GREATER_EQUAL : LOOM_TOKEN_GREATER;
    break;
  case '=':
    if (next == '=') {
      length = 2;
      token->kind = LOOM_TOKEN_EQUAL;
      break;
    }
    loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at, "expected '==' to compare");
    return false;
  case '\xEF':
    if (peek(lexer, 1) == '\xBB' && peek(lexer, 2) == '\xBF') {
      loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at,
                        "unexpected byte order mark (UTF-8)");
      return false;
    }
    loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at, "unexpected byte 0xef");
    return false;
  default:
    if (c > ' ' && c <= '~')
      loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at, "unexpected character '%c'", c);
    else
      loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)lexer->at, "unexpected byte 0x%02x",
                        (unsigned)(unsigned char)c);
    return false;
  }
  lexer->at += length;
  token->length = length;
  return true;
}

/* Words for numbers that expressions do not have. */
static bool is_reserved(const char *name, size_t length) {
  return length == 3 && (strncmp(name, "inf", 3) == 0 || strncmp(name, "nan", 3) == 0);
}

bool loom_lex(loom_ctx *ctx, loom_lexer *lexer, loom_token *token) {
  while (is_blank(peek(lexer, 0)) && lexer->at < lexer->length) lexer->at++;
  *token = (loom_token){LOOM_TOKEN_END, lexer->at, 0};
  if (lexer->at == lexer->length) return true;
  char c = peek(lexer, 0);
  if (is_digit(c)) return lex_number(ctx, lexer, token);
  if (c == '`') return lex_quoted_name(ctx, lexer, token);
  if (!is_letter(c)) return lex_operator(ctx, lexer, token);
  while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0))) lexer->at++;
  token->kind = LOOM_TOKEN_NAME;
  token->length = lexer->at - token->at;
  if (!is_reserved(lexer->text + token->at, token->length)) return true;
  loom_error_set_at(ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)token->at,
                    "%.3s is no number: expressions are finite and exact", lexer->text + token->at);
  return false;
}

bool loom_lex_is_name(const char *text) {
  if (!is_letter(*text) || is_reserved(text, strlen(text))) return false;
  while (is_letter(*text) || is_digit(*text)) text++;
  return *text == '\0';
}
