/* SPDX-License-Identifier: MIT */
/* einloom: exact symbolic analysis of tensor computations on machines.  The header to include; its parts
** are in einloom/.
**
** One context owns every expression and belongs to one thread.  A fallible call returns LOOM_NONE,
** NULL, -1 or a loom_status other than LOOM_OK; what went wrong is then in the context
** (loom_error_*).  LOOM_NONE given to an expression function gives LOOM_NONE back and leaves the
** first error in place, so a chain of calls needs one check.  No call prints, exits or jumps. */
#ifndef EINLOOM_H
#define EINLOOM_H

#include "einloom/base.h"
#include "einloom/expr.h"
#include "einloom/model.h"
#include "einloom/reuse.h"
#include "einloom/cost.h"
#include "einloom/ranges.h"
#include "einloom/graph.h"
#include "einloom/kernel.h"
#include "einloom/tiling.h"
#include "einloom/fusion.h"
#include "einloom/search.h"

#endif
