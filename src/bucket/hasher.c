/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of pieces between the thread that uploads and the one that hashes.  The pieces are the
 * writer's memory: nothing is copied, so it has to be drained before that is used again. */
#include "bucket/hasher.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdint.h>

enum {
    PIECES = 64,
    THREAD_FROM_BYTES = 1024 * 1024, /* a thread costs more than it saves on less */
    START_FROM_BYTES = 640 * 1024,   /* it takes a while to come up */
    PIECE_MIN_BYTES = 16 * 1024,     /* so does handing over less */
    KINDS = 3
};

static const ash_digest_kind kinds_in_order[KINDS] = {ASH_DIGEST_SHA256, ASH_DIGEST_SHA1,
                                                      ASH_DIGEST_MD5};

typedef struct piece {
    const void *data;
    size_t len;
} piece;

struct ash_hasher {
    ash_digest *digests[KINDS]; /* NULL unless chosen; the thread's while pieces wait */
    uint64_t total;
    bool has_thread;
    bool alone; /* no thread could be started */
    pthread_t thread;
    ash_mutex lock; /* guards what follows */
    ash_cond work;
    ash_cond idle;
    piece pieces[PIECES]; /* a ring: number n is at n % PIECES */
    size_t count;         /* numbers given out */
    size_t done;
    size_t waiting_bytes; /* in pieces from done on */
    size_t most_pieces;   /* what the user waits for: no more than these wait … */
    size_t most_bytes;    /* … and no more than these */
    bool stop;
};

static void take_in(ash_hasher *h, const void *data, size_t len)
{
    for (size_t i = 0; i < KINDS; i++)
        if (h->digests[i] != NULL)
            ash__digest_add(h->digests[i], data, len);
}

static void *run(void *arg)
{
    ash_hasher *h = arg;
    ash__thread_take_long_turns();
    ash__mutex_lock(&h->lock);
    for (;;) {
        while (h->done == h->count && !h->stop)
            ash__cond_wait(&h->work, &h->lock);
        if (h->done == h->count) /* only then: also what waits is taken in before the end */
            break;
        piece p = h->pieces[h->done % PIECES];
        ash__mutex_unlock(&h->lock);
        take_in(h, p.data, p.len);
        ash__mutex_lock(&h->lock);
        h->done++;
        h->waiting_bytes -= p.len;
        if (h->count - h->done <= h->most_pieces && h->waiting_bytes <= h->most_bytes)
            ash__cond_signal(&h->idle);
    }
    ash__mutex_unlock(&h->lock);
    return NULL;
}

ash_hasher *ash__hasher_new(void)
{
    ash_hasher *h = ash__new(ash_hasher);
    ash__mutex_init(&h->lock, ASH_RANK_BUCKET);
    ash__cond_init(&h->work);
    ash__cond_init(&h->idle);
    return h;
}

bool ash__hasher_choose(ash_hasher *h, unsigned kinds)
{
    bool all = true;
    ash_assert(h->total == 0);
    for (size_t i = 0; i < KINDS; i++) {
        bool wanted = (kinds & kinds_in_order[i]) != 0;
        if (wanted == (h->digests[i] != NULL)) /* it has taken nothing in yet */
            continue;
        ash__digest_free(h->digests[i]);
        h->digests[i] = wanted ? ash__digest_new(kinds_in_order[i]) : NULL;
        all = all && wanted == (h->digests[i] != NULL);
    }
    return all;
}

static bool has_none(const ash_hasher *h)
{
    return h->digests[0] == NULL && h->digests[1] == NULL && h->digests[2] == NULL;
}

static bool wants_thread(ash_hasher *h, size_t len)
{
    if (!h->has_thread && !h->alone && h->total >= START_FROM_BYTES) {
        h->has_thread = ash__thread_start(&h->thread, 0, run, h) == 0;
        h->alone = !h->has_thread;
    }
    return h->has_thread && h->total >= THREAD_FROM_BYTES && len >= PIECE_MIN_BYTES;
}

/* Until no more than these wait. */
static void await(ash_hasher *h, size_t most_pieces, size_t most_bytes)
{
    ash__mutex_assert_held(&h->lock);
    h->most_pieces = most_pieces;
    h->most_bytes = most_bytes;
    while (h->count - h->done > most_pieces || h->waiting_bytes > most_bytes)
        ash__cond_wait(&h->idle, &h->lock);
}

void ash__hasher_add(ash_hasher *h, const void *data, size_t len)
{
    if (has_none(h))
        return;
    h->total += len;
    if (!wants_thread(h, len)) {
        ash__hasher_drain(h, 0); /* what the thread has comes first */
        take_in(h, data, len);
        return;
    }
    ash__mutex_lock(&h->lock);
    if (h->count - h->done == PIECES)
        await(h, PIECES / 2, SIZE_MAX); /* not PIECES - 1: one wake-up for many pieces */
    h->pieces[h->count++ % PIECES] = (piece){data, len};
    h->waiting_bytes += len;
    ash__cond_signal(&h->work);
    ash__mutex_unlock(&h->lock);
}

void ash__hasher_drain(ash_hasher *h, size_t but)
{
    if (!h->has_thread)
        return;
    ash__mutex_lock(&h->lock);
    await(h, SIZE_MAX, but);
    ash__mutex_unlock(&h->lock);
}

static void finish_digest(ash_digest *d, char *text)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    text[0] = '\0';
    if (d != NULL)
        ash__hex(bytes, ash__digest_finish(d, bytes), text);
}

void ash__hasher_finish(ash_hasher *h, ash_digests *out)
{
    ash__hasher_drain(h, 0);
    finish_digest(h->digests[0], out->sha256);
    finish_digest(h->digests[1], out->sha1);
    finish_digest(h->digests[2], out->md5);
}

const char *ash__digests_get(const ash_digests *d, ash_digest_kind kind)
{
    switch (kind) {
    case ASH_DIGEST_SHA256:
        return d->sha256;
    case ASH_DIGEST_SHA1:
        return d->sha1;
    case ASH_DIGEST_MD5:
        return d->md5;
    }
    return NULL;
}

void ash__hasher_free(ash_hasher *h)
{
    if (h == NULL)
        return;
    if (h->has_thread) {
        ash__mutex_lock(&h->lock);
        h->stop = true;
        ash__cond_signal(&h->work);
        ash__mutex_unlock(&h->lock);
        pthread_join(h->thread, NULL);
    }
    for (size_t i = 0; i < KINDS; i++)
        ash__digest_free(h->digests[i]);
    ash__cond_release(&h->work);
    ash__cond_release(&h->idle);
    ash__mutex_release(&h->lock);
    ash__free(h);
}
