/* SPDX-License-Identifier: Apache-2.0 */
/* One slot for a call, one thread that empties it: whoever gives waits until it is empty. */
#include "bucket/background.h"

#include "base/mem.h"
#include "base/thread.h"

struct ash_background {
    pthread_t thread;
    ash_mutex lock; /* guards what follows; not held while fn runs */
    ash_cond work;
    ash_cond done;
    ash_background_fn fn; /* NULL: nothing is under way */
    void *ctx;
    int result; /* of the last call, until somebody waited for it */
    ash_error error;
    bool stop;
};

static void *run(void *arg)
{
    ash_background *h = arg;
    ash__thread_take_long_turns();
    ash__mutex_lock(&h->lock);
    for (;;) {
        while (h->fn == NULL && !h->stop)
            ash__cond_wait(&h->work, &h->lock);
        if (h->fn == NULL)
            break;
        /* result and error are this thread's as long as fn is set: nobody else looks at them. */
        ash__mutex_unlock(&h->lock);
        h->result = h->fn(h->ctx, &h->error);
        ash__mutex_lock(&h->lock);
        h->fn = NULL;
        ash__cond_signal(&h->done);
    }
    ash__mutex_unlock(&h->lock);
    return NULL;
}

static void release(ash_background *h)
{
    ash__cond_release(&h->work);
    ash__cond_release(&h->done);
    ash__mutex_release(&h->lock);
    ash__free(h);
}

ash_background *ash__background_new(void)
{
    ash_background *h = ash__new(ash_background);
    ash__mutex_init(&h->lock, ASH_RANK_BUCKET);
    ash__cond_init(&h->work);
    ash__cond_init(&h->done);
    if (ash__thread_start(&h->thread, 0, run, h) == 0)
        return h;
    release(h);
    return NULL;
}

void ash__background_run(ash_background *h, ash_background_fn fn, void *ctx)
{
    ash__mutex_lock(&h->lock);
    ash_assert(h->fn == NULL);
    h->fn = fn;
    h->ctx = ctx;
    h->result = 0;
    h->error = (ash_error)ASH_ERROR_INIT;
    ash__cond_signal(&h->work);
    ash__mutex_unlock(&h->lock);
}

int ash__background_wait(ash_background *h, ash_error *err)
{
    ash__mutex_lock(&h->lock);
    while (h->fn != NULL)
        ash__cond_wait(&h->done, &h->lock);
    int rc = h->result;
    if (rc != 0 && err != NULL)
        *err = h->error;
    h->result = 0; /* told once */
    ash__mutex_unlock(&h->lock);
    return rc;
}

void ash__background_free(ash_background *h)
{
    if (h == NULL)
        return;
    (void)ash__background_wait(h, NULL);
    ash__mutex_lock(&h->lock);
    h->stop = true;
    ash__cond_signal(&h->work);
    ash__mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    release(h);
}
