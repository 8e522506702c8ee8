/* SPDX-License-Identifier: MIT */
/* Values loaded at run time that are part of an address. */
#ifndef EINLOOM_LOADED_H
#define EINLOOM_LOADED_H

#include "expr/node.h"

/* The address with symbols in place of its loaded values that have the bounds these must have for the
** address to be in [0, most]; the n loops vary.  LOOM_NONE: a loaded value stands elsewhere than in a
** term of its own, its bounds are not known, or an error. */
loom_expr loom_bound_loaded(loom_ctx *ctx, loom_expr address, int64_t most, size_t n,
                            const loom_extent *loops);

#endif
