/* SPDX-License-Identifier: MIT */
/* Reads the infix notation with an operator-precedence stack (grammar: doc/manual.md).
** Invariant: no recursion and no rescanning, so depth is bounded by memory and time is linear in
** the text; a run of + and - (of * and /) stays on the value stack until it ends and becomes one
** n-ary sum (product). */
#include <string.h>

#include "expr/lex.h"
#include "expr/node.h"

typedef enum operator_kind {
  OP_OPEN,
  OP_CALL,
  OP_COMPARE,
  OP_SUM,
  OP_PRODUCT,
  OP_FLOOR_DIV,
  OP_MOD,
  OP_NEGATE,
  OP_POWER
} operator_kind;

/* Binding strength; OP_OPEN and OP_CALL end at their closing parenthesis only. */
static const int strength[] = {0, 0, 1, 2, 3, 3, 3, 4, 5};

typedef loom_expr (*unary_builder)(loom_ctx *, loom_expr);
typedef loom_expr (*binary_builder)(loom_ctx *, loom_expr, loom_expr);
typedef loom_expr (*ternary_builder)(loom_ctx *, loom_expr, loom_expr, loom_expr);
typedef loom_expr (*list_builder)(loom_ctx *, size_t, const loom_expr *);

/* A function of the notation; arity 0: one or more arguments. */
typedef struct function {
  const char *name;
  int arity;
  union {
    unary_builder unary;
    binary_builder binary;
    ternary_builder ternary;
    list_builder list;
  } build;
} function;

static loom_expr heaviside(loom_ctx *ctx, loom_expr a) {
  loom_expr zero = loom_int(ctx, 0);
  return loom_select(ctx, loom_eq(ctx, a, zero), loom_ratio(ctx, 1, 2), loom_lt(ctx, zero, a));
}

static const function functions[] = {
    {"max", 0, {.list = loom_max}},
    {"min", 0, {.list = loom_min}},
    {"ceil", 1, {.unary = loom_ceil}},
    {"floor", 1, {.unary = loom_floor}},
    {"floor_div", 2, {.binary = loom_floor_div}},
    {"mod", 2, {.binary = loom_mod}},
    {"mod_index", 3, {.ternary = loom_mod_index}},
    {"select", 3, {.ternary = loom_select}},
    {"lt", 2, {.binary = loom_lt}},
    {"le", 2, {.binary = loom_le}},
    {"eq", 2, {.binary = loom_eq}},
    {"opaque", 1, {.unary = loom_opaque}},
    {"fdiv", 2, {.binary = loom_floor_div}},
    {"modidx", 3, {.ternary = loom_mod_index}},
    {"pmod", 2, {.binary = loom_mod}},
    {"Max", 0, {.list = loom_max}},
    {"Min", 0, {.list = loom_min}},
    {"ceiling", 1, {.unary = loom_ceil}},
    {"FloorDiv", 2, {.binary = loom_floor_div}},
    {"Mod", 2, {.binary = loom_mod}},
    {"ModularIndexing", 3, {.ternary = loom_mod_index}},
    {"Heaviside", 1, {.unary = heaviside}},
};

/* An operator waiting for its last operand.  Its operands are values[base ...]. */
typedef struct operator_entry {
  operator_kind kind;
  loom_token_kind token; /* the last operator read of a run, or the comparison */
  uint32_t call;         /* index into functions */
  size_t base, at;       /* offset of that operator; of the name of a call */
} operator_entry;

typedef struct parser {
  loom_ctx *ctx;
  loom_lexer lexer;
  loom_token token;
  LOOM_VEC(loom_expr) values;
  LOOM_VEC(operator_entry) operators;
  LOOM_VEC(char) name; /* zero-terminated copy for loom_symbol */
  const loom_expr *symbols;
  size_t n_symbols;
  uint32_t *names; /* hash table of given symbols: index + 1 */
  size_t n_names;
  const loom_assume *others;
  bool fresh; /* no error was recorded when parsing began */
} parser;

static bool fail(parser *p, size_t at, const char *message) {
  loom_error_set_at(p->ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)at, "%s", message);
  return false;
}

static uint32_t name_hash(const char *name, size_t length) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)name[i]) * 16777619u;
  return h ^ h >> 15;
}

/* The slot of a name among the given symbols: the entry or an empty one. */
static uint32_t *name_slot(const parser *p, const char *name, size_t length) {
  for (size_t i = name_hash(name, length);; i++) {
    uint32_t *slot = &p->names[i & (p->n_names - 1)];
    if (!*slot) return slot;
    const char *known = loom_symbol_name(p->ctx, p->symbols[*slot - 1]);
    if (strncmp(known, name, length) == 0 && known[length] == '\0') return slot;
  }
}

static bool index_symbols(parser *p) {
  size_t n = 4;
  while (n < 2 * p->n_symbols) n *= 2;
  p->names = loom_realloc_array(p->ctx, NULL, 0, n, sizeof *p->names);
  if (!p->names) return false;
  p->n_names = n;
  memset(p->names, 0, p->n_names * sizeof *p->names);
  for (size_t i = 0; i < p->n_symbols; i++) {
    if (!loom_expr_live(p->ctx, p->symbols[i]) || loom_kind_of(p->ctx, p->symbols[i]) != LOOM_SYM) {
      loom_error_set(p->ctx, LOOM_ERR_ARGUMENT, "loom_parse: argument %zu is not a symbol", i);
      return false;
    }
    const char *name = loom_symbol_name(p->ctx, p->symbols[i]);
    uint32_t *slot = name_slot(p, name, strlen(name));
    if (!*slot) *slot = (uint32_t)i + 1;
  }
  return true;
}

/* Gives the failure of a builder the position it came from.  Returns false. */
static bool fail_at(parser *p, size_t at) {
  loom_error_record *error = &loom_base_of(p->ctx)->error;
  if (p->fresh && error->offset < 0) error->offset = (ptrdiff_t)at;
  return false;
}

static bool push_value(parser *p, loom_expr e, size_t at) {
  return e == LOOM_NONE ? fail_at(p, at) : loom_vec_push(p->ctx, &p->values, e);
}

static bool push_operator(parser *p, operator_kind kind, size_t base) {
  operator_entry entry = {kind, p->token.kind, 0, base, p->token.at};
  return loom_vec_push(p->ctx, &p->operators, entry);
}

static operator_entry *top_operator(parser *p) {
  return p->operators.n ? &p->operators.at[p->operators.n - 1] : NULL;
}

static bool push_number(parser *p) {
  loom_expr e = loom_decimal(p->ctx, p->lexer.text + p->token.at, p->token.length);
  return push_value(p, e, p->token.at);
}

static bool push_symbol(parser *p) {
  const char *name = p->lexer.text + p->token.at;
  size_t length = p->token.length;
  uint32_t slot = *name_slot(p, name, length);
  if (slot) return push_value(p, p->symbols[slot - 1], p->token.at);
  if (length == 0) return fail(p, p->token.at, "expected a name between the quotes");
  if (memchr(name, '\0', length)) return fail(p, p->token.at, "unexpected zero byte in a name");
  p->name.n = 0;
  if (!loom_vec_reserve(p->ctx, &p->name, length + 1)) return false;
  memcpy(p->name.at, name, length);
  p->name.at[length] = '\0';
  return push_value(p, loom_symbol(p->ctx, p->name.at, p->others), p->token.at);
}

/* The last value of a run becomes an operand: negated after '-', inverted after '/'. */
static bool finish_operand(parser *p, const operator_entry *run) {
  loom_expr *last = &p->values.at[p->values.n - 1];
  if (run->token == LOOM_TOKEN_MINUS) *last = loom_neg(p->ctx, *last);
  if (run->token == LOOM_TOKEN_SLASH) *last = loom_div(p->ctx, loom_int(p->ctx, 1), *last);
  return *last != LOOM_NONE || fail_at(p, run->at);
}

static bool reduce_power(parser *p, const operator_entry *op) {
  int64_t exponent;
  const loom_expr *v = &p->values.at[op->base];
  if (loom_is_integer(p->ctx, v[1]) == LOOM_YES && loom_expr_is_num(p->ctx, v[1]) &&
      !loom_as_int(p->ctx, v[1], &exponent)) {
    loom_error_set_at(p->ctx, LOOM_ERR_LIMIT, (ptrdiff_t)op->at, "exponent beyond 64 bits");
    return false;
  }
  if (!loom_as_int(p->ctx, v[1], &exponent))
    return fail(p, op->at, "expected an integer exponent after the power operator");
  p->values.n = op->base;
  return push_value(p, loom_pow(p->ctx, v[0], exponent), op->at);
}

static bool reduce_compare(parser *p, const operator_entry *op) {
  const loom_expr *v = &p->values.at[op->base];
  loom_expr a = v[0], b = v[1], e;
  switch (op->token) {
  case LOOM_TOKEN_LESS: e = loom_lt(p->ctx, a, b); break;
  case LOOM_TOKEN_LESS_EQUAL: e = loom_le(p->ctx, a, b); break;
  case LOOM_TOKEN_GREATER: e = loom_lt(p->ctx, b, a); break;
  case LOOM_TOKEN_GREATER_EQUAL: e = loom_le(p->ctx, b, a); break;
  default: e = loom_eq(p->ctx, a, b); break;
  }
  p->values.n = op->base;
  return push_value(p, e, op->at);
}

/* Applies the operator on top of the stack to its operands. */
static bool reduce(parser *p) {
  operator_entry op = p->operators.at[--p->operators.n];
  loom_expr *v = &p->values.at[op.base], e;
  size_t n = p->values.n - op.base;
  switch (op.kind) {
  case OP_POWER: return reduce_power(p, &op);
  case OP_COMPARE: return reduce_compare(p, &op);
  case OP_NEGATE: e = loom_neg(p->ctx, v[0]); break;
  case OP_FLOOR_DIV: e = loom_floor_div(p->ctx, v[0], v[1]); break;
  case OP_MOD: e = loom_mod(p->ctx, v[0], v[1]); break;
  case OP_SUM: e = finish_operand(p, &op) ? loom_sum(p->ctx, n, v) : LOOM_NONE; break;
  default: e = finish_operand(p, &op) ? loom_product(p->ctx, n, v) : LOOM_NONE; break;
  }
  p->values.n = op.base;
  return push_value(p, e, op.at);
}

/* Applies what binds at least as strongly as `limit`. */
static bool reduce_to(parser *p, int limit) {
  while (p->operators.n && strength[top_operator(p)->kind] >= limit)
    if (!reduce(p)) return false;
  return true;
}

/* Continues the run of + - (or * /) on top of the stack or starts one. */
static bool read_run(parser *p, operator_kind kind) {
  if (!reduce_to(p, strength[kind] + 1)) return false;
  operator_entry *top = top_operator(p);
  if (top && strength[top->kind] == strength[kind] && top->kind != kind) {
    if (!reduce(p)) return false;
    top = top_operator(p);
  }
  if (!top || top->kind != kind) return push_operator(p, kind, p->values.n - 1);
  if (!finish_operand(p, top)) return false;
  top->token = p->token.kind;
  top->at = p->token.at;
  return true;
}

static bool read_binary(parser *p, operator_kind kind) {
  if (kind != OP_POWER && !reduce_to(p, strength[kind])) return false;
  return push_operator(p, kind, p->values.n - 1);
}

static bool read_compare(parser *p) {
  if (!reduce_to(p, strength[OP_COMPARE] + 1)) return false;
  operator_entry *top = top_operator(p);
  if (top && top->kind == OP_COMPARE)
    return fail(p, p->token.at, "expected parentheses around one of two comparisons");
  return push_operator(p, OP_COMPARE, p->values.n - 1);
}

/* f(values[base ...]): the closing parenthesis of a call has been read. */
static bool apply_call(parser *p, const operator_entry *call) {
  const function *f = &functions[call->call];
  size_t n = p->values.n - call->base;
  const loom_expr *v = &p->values.at[call->base];
  loom_expr e;
  if (f->arity && n != (size_t)f->arity) {
    loom_error_set_at(p->ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)call->at,
                      "expected %d argument%s of %s, got %zu", f->arity, f->arity > 1 ? "s" : "",
                      f->name, n);
    return false;
  }
  switch (f->arity) {
  case 0: e = f->build.list(p->ctx, n, v); break;
  case 1: e = f->build.unary(p->ctx, v[0]); break;
  case 2: e = f->build.binary(p->ctx, v[0], v[1]); break;
  default: e = f->build.ternary(p->ctx, v[0], v[1], v[2]); break;
  }
  p->values.n = call->base;
  return push_value(p, e, call->at);
}

static bool read_close(parser *p) {
  if (!reduce_to(p, 1)) return false;
  if (!p->operators.n) return fail(p, p->token.at, "')' without '('");
  operator_entry op = p->operators.at[--p->operators.n];
  return op.kind == OP_OPEN || apply_call(p, &op);
}

static bool read_comma(parser *p) {
  if (!reduce_to(p, 1)) return false;
  operator_entry *top = top_operator(p);
  if (!top || top->kind != OP_CALL)
    return fail(p, p->token.at, top ? "expected an operator or ')'" : "expected an operator");
  return true;
}

/* A name was read and '(' follows. */
static bool open_call(parser *p) {
  const char *name = p->lexer.text + p->token.at;
  for (uint32_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strncmp(functions[i].name, name, p->token.length) == 0 &&
        functions[i].name[p->token.length] == '\0') {
      operator_entry entry = {OP_CALL, p->token.kind, i, p->values.n, p->token.at};
      return loom_vec_push(p->ctx, &p->operators, entry);
    }
  }
  loom_error_set_at(p->ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)p->token.at,
                    "unknown function '%.*s': expected max, min, ceil, floor, floor_div, mod, "
                    "mod_index, select, lt, le or eq",
                    p->token.length < 64 ? (int)p->token.length : 64, name);
  return false;
}

/* Where an operand may start.  Sets *operand when one was read whole. */
static bool read_operand(parser *p, bool *operand) {
  switch (p->token.kind) {
  case LOOM_TOKEN_NUMBER: *operand = true; return push_number(p);
  case LOOM_TOKEN_PLUS: return true;
  case LOOM_TOKEN_MINUS: return push_operator(p, OP_NEGATE, p->values.n);
  case LOOM_TOKEN_OPEN: return push_operator(p, OP_OPEN, p->values.n);
  case LOOM_TOKEN_NAME: {
    loom_lexer ahead = p->lexer;
    loom_token next = {LOOM_TOKEN_END, 0, 0};
    if (ahead.at < ahead.length && !loom_lex(p->ctx, &ahead, &next)) return false;
    if (next.kind == LOOM_TOKEN_OPEN) {
      p->lexer = ahead;
      return open_call(p);
    }
    *operand = true;
    return push_symbol(p);
  }
  default: return fail(p, p->token.at, "expected a number, a name, '-' or '('");
  }
}

static bool inside(const parser *p) {
  size_t i = p->operators.n;
  while (i && strength[p->operators.at[i - 1].kind]) i--;
  return i > 0;
}

/* Where an operator may stand.  Clears *operand when another operand must follow. */
static bool read_operator(parser *p, bool *operand) {
  *operand = p->token.kind == LOOM_TOKEN_CLOSE;
  switch (p->token.kind) {
  case LOOM_TOKEN_PLUS:
  case LOOM_TOKEN_MINUS: return read_run(p, OP_SUM);
  case LOOM_TOKEN_STAR:
  case LOOM_TOKEN_SLASH: return read_run(p, OP_PRODUCT);
  case LOOM_TOKEN_FLOOR_DIV: return read_binary(p, OP_FLOOR_DIV);
  case LOOM_TOKEN_PERCENT: return read_binary(p, OP_MOD);
  case LOOM_TOKEN_POWER: return read_binary(p, OP_POWER);
  case LOOM_TOKEN_CLOSE: return read_close(p);
  case LOOM_TOKEN_COMMA: return read_comma(p);
  case LOOM_TOKEN_LESS:
  case LOOM_TOKEN_LESS_EQUAL:
  case LOOM_TOKEN_EQUAL:
  case LOOM_TOKEN_GREATER:
  case LOOM_TOKEN_GREATER_EQUAL: return read_compare(p);
  default:
    return fail(p, p->token.at,
                inside(p) ? "expected an operator, ',' or ')'" : "expected an operator or the end");
  }
}

static loom_expr parse(parser *p) {
  bool operand = false;
  for (;;) {
    if (!loom_lex(p->ctx, &p->lexer, &p->token)) return LOOM_NONE;
    if (operand && p->token.kind == LOOM_TOKEN_END) break;
    if (!(operand ? read_operator(p, &operand) : read_operand(p, &operand))) return LOOM_NONE;
  }
  if (!reduce_to(p, 1)) return LOOM_NONE;
  if (p->operators.n) {
    size_t start = top_operator(p)->at, shown = p->lexer.length - start;
    loom_error_set_at(p->ctx, LOOM_ERR_SYNTAX, (ptrdiff_t)p->token.at,
                      "expected ')' to close what starts with '%.*s'", shown < 20 ? (int)shown : 20,
                      p->lexer.text + start);
    return LOOM_NONE;
  }
  return p->values.at[0];
}

/* Linear in the text plus the cost of the builders.  Errors carry the byte offset: LOOM_ERR_SYNTAX,
** and those of the builders at the operator or function that failed. */
loom_expr loom_parse(loom_ctx *ctx, const char *text, size_t length, size_t n,
                     const loom_expr *symbols, const loom_assume *others) {
  parser p = {.ctx = ctx,
              .lexer = {text, length, 0},
              .symbols = symbols,
              .n_symbols = n,
              .others = others,
              .fresh = loom_error_status(ctx) == LOOM_OK};
  loom_expr e = index_symbols(&p) ? parse(&p) : LOOM_NONE;
  (void)loom_realloc_array(ctx, p.names, p.n_names, 0, sizeof *p.names);
  loom_vec_free(ctx, &p.values);
  loom_vec_free(ctx, &p.operators);
  loom_vec_free(ctx, &p.name);
  return e;
}
