/* SPDX-License-Identifier: MIT */
/* Symbols in indices: which there are, and which are known at run time only. */
#ifndef EINLOOM_ADDRESS_H
#define EINLOOM_ADDRESS_H

#include "expr/node.h"

/* tmp0, tmp1, ... */
bool loom_symbol_is_tmp(const loom_ctx *ctx, loom_expr symbol);
/* And indirect0, indirect1, ... */
bool loom_symbol_is_loaded(const loom_ctx *ctx, loom_expr symbol);

typedef LOOM_VEC(loom_expr) loom_expr_list;
/* The distinct symbols of e, in an empty list.  False with an error. */
bool loom_list_symbols(loom_ctx *ctx, loom_expr e, loom_expr_list *list);

#endif
