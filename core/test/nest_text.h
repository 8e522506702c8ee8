/* SPDX-License-Identifier: MIT */
/* A short notation for workloads, architectures and mappings in tests.
**
** workload      sizes, then einsums:  "m=8 k=4 n=6 MM:A[m,k],B[k,n]>Z[m,n]"; an index is a sum of
**               c*v, v and c; "CP=:" makes a copy einsum; every tensor has 8 bits per value
** architecture  outermost first: "Main Buf !Link #PE(X=4,Y=2) Reg +MAC" (memory, toll, container,
**               compute unit); every dimension may share every tensor; 1 bit per action;
**               "Main { Buf +MAC | +ALU }" is a fork
** mapping       "Main[A,B,Z] m:2 Buf[A,B,Z] m:1@PE.X k:1 n:1 +MM@MAC": holders (persistent: "Buf*",
**               may not be lowered: "Buf-", toll: "!Link[A]", custom: "kind~Buf[A]"), loops with a
**               tile shape (symbol: any other name, open: "?", first tile: "p:4^6", step:
**               "p:4~3"), compute
**               nodes; "{ a | b }" is a split, "{> a | b }" a pipeline, "{& a | b }" runs both at
**               once */
#ifndef EINLOOM_NEST_TEXT_H
#define EINLOOM_NEST_TEXT_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "einloom.h"

typedef struct text_reader {
  loom_ctx *ctx;
  const char *at;
} text_reader;

static inline void skip_blanks(text_reader *r) {
  while (*r->at == ' ') r->at++;
}

static inline bool accept(text_reader *r, char c) {
  if (*r->at != c) return false;
  r->at++;
  return true;
}

/* A name or number of at most 31 bytes. */
static inline const char *read_word(text_reader *r, char word[32]) {
  size_t n = 0;
  while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '?' || *r->at == '/' ||
         (*r->at == '-' && n == 0 && isdigit((unsigned char)r->at[1])))
    if (n < 31) word[n++] = *r->at++;
  word[n] = '\0';
  return word;
}

static inline loom_expr word_expr(loom_ctx *ctx, const char *word) {
  if (strcmp(word, "?") == 0) return LOOM_NONE;
  if (isdigit((unsigned char)*word) || *word == '-') return loom_decimal(ctx, word, strlen(word));
  return loom_symbol(ctx, word, NULL);
}

/* ---- workload ----------------------------------------------------------------------------- */

static inline void read_index(text_reader *r, loom_workload *w, int einsum, int access, int rank) {
  char names[8][32];
  const char *variables[8];
  int64_t coefficients[8], constant = 0;
  size_t n = 0;
  do {
    int64_t sign = accept(r, '-') ? -1 : (accept(r, '+'), 1), factor = 1;
    bool number = isdigit((unsigned char)*r->at);
    if (number) factor = strtoll(r->at, (char **)(uintptr_t)&r->at, 10);
    if (number && !accept(r, '*')) {
      constant += sign * factor;
      continue;
    }
    variables[n] = read_word(r, names[n]);
    coefficients[n++] = sign * factor;
  } while (*r->at == '+' || *r->at == '-');
  char name[16] = {'R', (char)('0' + rank), '\0'};
  loom_workload_rank(w, einsum, access, name, constant, n, variables, coefficients);
}

static inline void read_tensor(text_reader *r, loom_workload *w, int einsum, bool output) {
  char word[32];
  int access = loom_workload_access(w, einsum, read_word(r, word), output, loom_int(r->ctx, 8));
  int rank = 0;
  accept(r, '[');
  while (*r->at && !accept(r, ']')) {
    read_index(r, w, einsum, access, rank++);
    accept(r, ',');
  }
}

static inline void read_einsum(text_reader *r, loom_workload *w, const char *name) {
  bool copy = accept(r, '='), output = false;
  accept(r, ':');
  int einsum = loom_workload_einsum(w, name, copy, loom_int(r->ctx, 1));
  while (*r->at && *r->at != ' ') {
    read_tensor(r, w, einsum, output);
    if (accept(r, '>')) output = true;
    accept(r, ',');
  }
}

static inline loom_workload *workload_of(loom_ctx *ctx, const char *text) {
  text_reader r = {ctx, text};
  loom_workload *w = loom_workload_new(ctx);
  for (skip_blanks(&r); *r.at; skip_blanks(&r)) {
    char word[32], value[32];
    read_word(&r, word);
    if (*r.at == '=' && r.at[1] != ':') {
      r.at++;
      loom_workload_variable(w, word, word_expr(ctx, read_word(&r, value)));
    } else {
      read_einsum(&r, w, word);
    }
  }
  return w;
}

/* ---- architecture ------------------------------------------------------------------------- */

static inline void read_dimensions(text_reader *r, loom_arch *a, int component) {
  char word[32], value[32];
  if (!accept(r, '(')) return;
  while (*r->at && !accept(r, ')')) {
    read_word(r, word);
    accept(r, '=');
    int d = loom_arch_dimension(a, component, word, word_expr(r->ctx, read_word(r, value)),
                                LOOM_NONE, false);
    loom_arch_may_reuse(a, component, d, NULL, NULL);
    accept(r, ',');
  }
}

static inline void read_components(text_reader *r, loom_arch *a, int list) {
  for (skip_blanks(r); *r->at && *r->at != '|' && *r->at != '}'; skip_blanks(r)) {
    char word[32];
    if (accept(r, '{')) {
      int fork = loom_arch_fork(a, list);
      do read_components(r, a, loom_arch_branch(a, fork));
      while (accept(r, '|'));
      accept(r, '}');
      continue;
    }
    loom_class class_ = accept(r, '!')   ? LOOM_TOLL
                        : accept(r, '#') ? LOOM_CONTAINER
                        : accept(r, '+') ? LOOM_COMPUTE
                                         : LOOM_MEMORY;
    int c = loom_arch_component_in(a, list, class_, read_word(r, word));
    read_dimensions(r, a, c);
  }
}

static inline loom_arch *arch_of(loom_ctx *ctx, const char *text) {
  text_reader r = {ctx, text};
  loom_arch *a = loom_arch_new(ctx);
  read_components(&r, a, 0);
  return a;
}

/* ---- mapping ------------------------------------------------------------------------------ */

static inline void read_loop(text_reader *r, loom_mapping *m, int list, const char *variable) {
  char word[32], component[32], dim[32];
  loom_expr tile = word_expr(r->ctx, read_word(r, word)), first = LOOM_NONE, step = LOOM_NONE;
  if (accept(r, '^')) first = word_expr(r->ctx, read_word(r, word));
  if (accept(r, '~')) step = word_expr(r->ctx, read_word(r, word));
  bool spatial = accept(r, '@');
  if (spatial) {
    read_word(r, component);
    accept(r, '.');
  }
  int loop =
      spatial ? loom_mapping_spatial(m, list, variable, tile, first, component, read_word(r, dim))
              : loom_mapping_temporal(m, list, variable, tile, first);
  if (step != LOOM_NONE) loom_mapping_step(m, loop, step);
}

static inline void read_holder(text_reader *r, loom_mapping *m, int list, bool toll,
                               const char *name) {
  char word[32], component[32];
  const char *kind = accept(r, '~') ? name : NULL;
  const char *on = kind ? read_word(r, component) : name;
  bool persistent = accept(r, '*'), lower = !accept(r, '-');
  int node = kind   ? loom_mapping_custom(m, list, kind, on, lower)
             : toll ? loom_mapping_toll(m, list, on, lower)
                    : loom_mapping_storage(m, list, on, persistent, lower);
  accept(r, '[');
  while (*r->at && !accept(r, ']')) {
    loom_mapping_tensor(m, node, read_word(r, word));
    accept(r, ',');
  }
}

static inline void read_nodes(text_reader *r, loom_mapping *m, int list) {
  for (skip_blanks(r); *r->at && *r->at != '|' && *r->at != '}'; skip_blanks(r)) {
    char word[32], component[32];
    if (accept(r, '{')) {
      int split = accept(r, '>')   ? loom_mapping_pipeline(m, list)
                  : accept(r, '&') ? loom_mapping_parallel(m, list)
                                   : loom_mapping_sequential(m, list);
      do read_nodes(r, m, loom_mapping_branch(m, split));
      while (accept(r, '|'));
      accept(r, '}');
    } else if (accept(r, '+')) {
      read_word(r, word);
      accept(r, '@');
      loom_mapping_compute(m, list, word, read_word(r, component));
    } else {
      bool toll = accept(r, '!');
      read_word(r, word);
      if (accept(r, ':')) {
        read_loop(r, m, list, word);
      } else {
        read_holder(r, m, list, toll, word);
      }
    }
  }
}

static inline loom_mapping *mapping_of(loom_ctx *ctx, const char *text) {
  text_reader r = {ctx, text};
  loom_mapping *m = loom_mapping_new(ctx);
  read_nodes(&r, m, 0);
  return m;
}

/* ---- a case ------------------------------------------------------------------------------- */

typedef struct text_case {
  loom_ctx *ctx;
  loom_workload *w;
  loom_arch *a;
  loom_mapping *m;
  loom_result *r;
} text_case;

static inline text_case case_begin(const char *workload, const char *arch, const char *mapping) {
  loom_ctx *ctx = loom_ctx_new();
  return (text_case){ctx, workload_of(ctx, workload), arch_of(ctx, arch), mapping_of(ctx, mapping),
                     NULL};
}

static const loom_options of_reference = {.model = LOOM_REFERENCE};

static inline text_case case_analyze_as(const char *workload, const char *arch, const char *mapping,
                                        const loom_options *options) {
  text_case c = case_begin(workload, arch, mapping);
  c.r = loom_analyze(c.w, c.a, c.m, options);
  return c;
}

static inline text_case case_analyze(const char *workload, const char *arch, const char *mapping) {
  return case_analyze_as(workload, arch, mapping, &of_reference);
}

static inline void case_end(text_case *c) {
  loom_result_free(c->r);
  loom_mapping_free(c->m);
  loom_arch_free(c->a);
  loom_workload_free(c->w);
  loom_ctx_free(c->ctx);
}

static inline const loom_buffet *case_buffet(const text_case *c, size_t einsum, const char *level,
                                             const char *tensor) {
  const loom_stats *stats = loom_result_stats(c->r, einsum);
  for (size_t i = 0; i < stats->n_buffets; i++)
    if (strcmp(stats->buffets[i].level, level) == 0 &&
        strcmp(stats->buffets[i].tensor, tensor) == 0)
      return &stats->buffets[i];
  return NULL;
}

/* Nodes as text, in the notation above: reservations are "(A@Buf)", loops of a path marked as fused
** end in "&". */
static inline void write_nodes(loom_ctx *ctx, const loom_node *nodes, size_t n, char *out,
                               size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < n && used < size; i++) {
    const loom_node *d = &nodes[i];
    char *tile = d->tile == LOOM_NONE ? NULL : loom_print(ctx, d->tile, LOOM_INFIX);
    char *first = d->first == LOOM_NONE ? NULL : loom_print(ctx, d->first, LOOM_INFIX);
    const char *gap = i ? " " : "";
    int more = 0;
    switch (d->kind) {
    case LOOM_NODE_TEMPORAL:
    case LOOM_NODE_SPATIAL:
      more = snprintf(out + used, size - used, "%s%s:%s%s%s%s%s%s%s%s", gap, d->variable, tile,
                      first ? "^" : "", first ? first : "", d->dim ? "@" : "",
                      d->dim ? d->component : "", d->dim ? "." : "", d->dim ? d->dim : "",
                      d->fused ? "&" : "");
      break;
    case LOOM_NODE_RESERVATION:
      more = snprintf(out + used, size - used, "%s(%s@%s)", gap, d->tensor, d->component);
      break;
    case LOOM_NODE_COMPUTE:
      more = snprintf(out + used, size - used, "%s+%s@%s", gap, d->einsum, d->component);
      break;
    default:
      more = snprintf(out + used, size - used, "%s%s%s[%s]", gap,
                      d->kind == LOOM_NODE_TOLL ? "!" : "", d->component, d->tensor);
    }
    loom_free(tile);
    loom_free(first);
    used += (size_t)more;
  }
}

#endif
