/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of jobs between one thread that finds them and some that do them.  It is bounded, so that
 * finding millions of files does not fill the memory. */
#include "cmd/kit/work.h"

#include "base/mem.h"
#include "base/thread.h"

enum { THREADS_MAX = 16, QUEUE_MAX = 256 };

struct ash_work {
    void (*run)(void *ctx, void *job, void *scratch);
    void *ctx;
    size_t scratch_bytes;
    pthread_t threads[THREADS_MAX];
    int started;
    ash_mutex lock; /* guards what follows */
    ash_cond changed;
    void *queue[QUEUE_MAX];
    int head, waiting;
    bool closed;
};

static bool take_job(ash_work *w, void **out)
{
    ash__mutex_lock(&w->lock);
    while (w->waiting == 0 && !w->closed)
        ash__cond_wait(&w->changed, &w->lock);
    bool found = w->waiting > 0;
    if (found) {
        *out = w->queue[w->head];
        w->head = (w->head + 1) % QUEUE_MAX;
        w->waiting--;
        ash__cond_broadcast(&w->changed);
    }
    ash__mutex_unlock(&w->lock);
    return found;
}

static void *work(void *arg)
{
    ash_work *w = arg;
    void *job;
    /* Never of no bytes. */
    void *scratch = ash__alloc(w->scratch_bytes + 1);
    while (take_job(w, &job))
        w->run(w->ctx, job, scratch);
    ash__free(scratch);
    return NULL;
}

ash_work *ash__work_start(int threads, size_t scratch_bytes,
                          void (*run)(void *ctx, void *job, void *scratch), void *ctx)
{
    ash_work *w = ash__new(ash_work);
    ash_assert(threads >= 1 && threads <= THREADS_MAX);
    w->run = run;
    w->ctx = ctx;
    w->scratch_bytes = scratch_bytes;
    ash__mutex_init(&w->lock, ASH_RANK_SERVER);
    ash__cond_init(&w->changed);
    /* One thread is enough to go on with. */
    while (w->started < threads && ash__thread_start(&w->threads[w->started], 0, work, w) == 0)
        w->started++;
    ash_assert(w->started > 0);
    return w;
}

void ash__work_add(ash_work *w, void *job)
{
    ash__mutex_lock(&w->lock);
    while (w->waiting == QUEUE_MAX)
        ash__cond_wait(&w->changed, &w->lock);
    w->queue[(w->head + w->waiting) % QUEUE_MAX] = job;
    w->waiting++;
    ash__cond_broadcast(&w->changed);
    ash__mutex_unlock(&w->lock);
}

void ash__work_finish(ash_work *w)
{
    ash__mutex_lock(&w->lock);
    w->closed = true;
    ash__cond_broadcast(&w->changed);
    ash__mutex_unlock(&w->lock);
    for (int i = 0; i < w->started; i++)
        pthread_join(w->threads[i], NULL);
    ash__cond_release(&w->changed);
    ash__mutex_release(&w->lock);
    ash__free(w);
}
