/* SPDX-License-Identifier: MIT */
/* Units advanced by several threads.
** Invariant: a thread has an account of its own and works on one unit at a time; everything else that
** it looks at is not written while threads run, so that what comes out does not depend on them. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "search/search.h"

#define MOST_THREADS 64
#define PAUSE 5000000 /* nanoseconds between two looks at whether to stop */

typedef struct pool {
  const loom_space *s;
  const loom_space_one *one;
  size_t n;
  loom_unit **units;
  bool *done;
  atomic_size_t next;
  atomic_bool stop; /* asked for, or a thread failed */
  pthread_mutex_t lock;
  pthread_cond_t ended;
  int running; /* under the lock */
} pool;

typedef struct worker {
  pool *pool;
  loom_base account;
  pthread_t thread;
} worker;

/* The account of the calling thread asks for all. */
static bool ask(void *data) {
  pool *p = data;
  const loom_base *base = loom_base_of_const(p->s->ctx);
  if (!atomic_load(&base->stop) && !(base->watch && base->watch(base->watched))) return false;
  atomic_store(&p->stop, true);
  return true;
}

static void work(worker *w) {
  pool *p = w->pool;
  while (!atomic_load(&p->stop)) {
    size_t i = atomic_fetch_add(&p->next, 1);
    if (i >= p->n) return;
    p->done[i] = loom_unit_advance(p->s, p->one, p->units[i], (loom_ctx *)(void *)&w->account);
    if (!p->done[i]) atomic_store(&p->stop, true);
  }
}

static void *run_thread(void *data) {
  worker *w = data;
  work(w);
  pthread_mutex_lock(&w->pool->lock);
  w->pool->running--;
  pthread_cond_signal(&w->pool->ended);
  pthread_mutex_unlock(&w->pool->lock);
  return NULL;
}

/* Until all threads have ended, asking now and then whether they shall stop. */
static void await_threads(pool *p) {
  pthread_mutex_lock(&p->lock);
  while (p->running > 0) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PAUSE;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&p->ended, &p->lock, &until);
    ask(p);
  }
  pthread_mutex_unlock(&p->lock);
}

/* Accounts to the context: what failed before what was stopped for it. */
static void close_accounts(loom_ctx *ctx, worker *workers, size_t n) {
  for (int stopped = 0; stopped < 2; stopped++)
    for (size_t i = 0; i < n; i++)
      if ((workers[i].account.error.status == LOOM_ERR_STOPPED) == stopped)
        loom_account_close(ctx, &workers[i].account);
}

static void run_workers(pool *p, worker *workers, size_t n) {
  size_t started = 1;
  for (size_t i = 0; i < n; i++) {
    loom_account_open(p->s->ctx, &workers[i].account, n, &p->stop);
    workers[i].pool = p;
  }
  workers[0].account.watch = ask;
  workers[0].account.watched = p;
  p->running = (int)n - 1;
  while (started < n &&
         pthread_create(&workers[started].thread, NULL, run_thread, &workers[started]) == 0)
    started++;
  pthread_mutex_lock(&p->lock);
  p->running -= (int)(n - started);
  pthread_mutex_unlock(&p->lock);
  work(&workers[0]);
  await_threads(p);
  for (size_t i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
  close_accounts(p->s->ctx, workers, n);
}

bool loom_units_advance(loom_space *s, const loom_space_one *one, size_t n, loom_unit **units,
                        bool *done) {
  size_t threads = s->options.threads > 1 ? (size_t)s->options.threads : 1;
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  if (threads > n) threads = n;
  if (threads == 1) {
    for (size_t i = 0; i < n; i++) {
      if (loom_is_stopped(s->ctx)) return false;
      done[i] = loom_unit_advance(s, one, units[i], s->ctx);
      if (!done[i]) return false;
    }
    return true;
  }
  pool p = {.s = s, .one = one, .n = n, .units = units, .done = done};
  worker *workers = loom_realloc_array(s->ctx, NULL, 0, threads, sizeof *workers);
  if (!workers) return false;
  pthread_mutex_init(&p.lock, NULL);
  pthread_cond_init(&p.ended, NULL);
  run_workers(&p, workers, threads);
  pthread_cond_destroy(&p.ended);
  pthread_mutex_destroy(&p.lock);
  loom_give_back(s->ctx, workers, threads, sizeof *workers);
  if (loom_error_status(s->ctx) == LOOM_OK && loom_is_stopped(s->ctx)) return false;
  return loom_error_status(s->ctx) == LOOM_OK;
}
