/* SPDX-License-Identifier: MIT */
/* Memory that runs out at every point: for tests that can do all they test in a new context.
** Include after cmocka.h. */
#ifndef EINLOOM_EVERY_LIMIT_H
#define EINLOOM_EVERY_LIMIT_H

#include "base/base.h"
#include "einloom.h"

/* With a limit that rises until all goes well: an error each time before, and afterwards the
** context works again.  More than `least` limits must have been too low. */
static void assert_every_limit(bool (*do_all)(loom_ctx *ctx), size_t least) {
  size_t failures = 0;
  bool good = false;
  loom_ctx *ctx = loom_ctx_new();
  size_t bytes = loom_ctx_bytes(ctx);
  loom_ctx_free(ctx);
  for (size_t extra = 0; !good; extra += extra / 16 + 24) {
    ctx = loom_ctx_new();
    loom_base_of(ctx)->bytes_limit = bytes + extra;
    good = do_all(ctx);
    if (!good) {
      failures++;
      assert_int_equal(loom_error_status(ctx), LOOM_ERR_MEMORY);
      loom_error_clear(ctx);
      loom_base_of(ctx)->bytes_limit = 0;
      assert_true(do_all(ctx));
    }
    loom_ctx_free(ctx);
  }
  assert_true(failures > least);
}

#endif
