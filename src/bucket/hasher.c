/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/hasher.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdint.h>

enum {
    PIECES = 64,
    THREAD_FROM_BYTES = 1024 * 1024, /* a thread costs more than it saves on less */
    START_FROM_BYTES = 640 * 1024,   /* it takes a while to come up */
    PIECE_MIN_BYTES = 16 * 1024      /* so does handing over less */
};

typedef struct piece {
    const void *data;
    size_t len;
} piece;

struct ash_hasher {
    ash_digest *sha256; /* or NULL … */
    ash_digest *md5;    /* … as this; both belong to the thread while pieces wait */
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
    if (h->sha256 != NULL)
        ash__digest_add(h->sha256, data, len);
    if (h->md5 != NULL)
        ash__digest_add(h->md5, data, len);
}

static void *run(void *arg)
{
    ash_hasher *h = arg;
    ash__thread_take_long_turns();
    ash__mutex_lock(&h->lock);
    for (;;) {
        while (h->done == h->count && !h->stop)
            ash__cond_wait(&h->work, &h->lock);
        if (h->done == h->count)
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

ash_hasher *ash__hasher_new(bool with_md5)
{
    ash_hasher *h = ash__new(ash_hasher);
    ash__mutex_init(&h->lock, ASH_RANK_BUCKET);
    ash__cond_init(&h->work);
    ash__cond_init(&h->idle);
    h->sha256 = ash__digest_new(ASH_DIGEST_SHA256);
    h->md5 = with_md5 ? ash__digest_new(ASH_DIGEST_MD5) : NULL;
    if (!with_md5 || h->md5 != NULL)
        return h;
    ash__hasher_free(h);
    return NULL;
}

void ash__hasher_leave_out_sha256(ash_hasher *h)
{
    ash_assert(h->total == 0);
    ash__digest_free(h->sha256);
    h->sha256 = NULL;
}

static bool wants_thread(ash_hasher *h, size_t len)
{
    if (!h->has_thread && !h->alone && h->total >= START_FROM_BYTES) {
        h->has_thread = ash__thread_start(&h->thread, 0, run, h) == 0;
        h->alone = !h->has_thread;
    }
    return h->has_thread && h->total >= THREAD_FROM_BYTES && len >= PIECE_MIN_BYTES;
}

/* With the lock held. */
static void await(ash_hasher *h, size_t most_pieces, size_t most_bytes)
{
    h->most_pieces = most_pieces;
    h->most_bytes = most_bytes;
    while (h->count - h->done > most_pieces || h->waiting_bytes > most_bytes)
        ash__cond_wait(&h->idle, &h->lock);
}

void ash__hasher_add(ash_hasher *h, const void *data, size_t len)
{
    if (h->sha256 == NULL && h->md5 == NULL)
        return;
    h->total += len;
    if (!wants_thread(h, len)) {
        ash__hasher_drain(h, 0);
        take_in(h, data, len);
        return;
    }
    ash__mutex_lock(&h->lock);
    if (h->count - h->done == PIECES)
        await(h, PIECES / 2, SIZE_MAX);
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

static void digest_text(ash_digest *d, char out[65])
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    if (d == NULL)
        return;
    size_t len = ash__digest_finish(d, bytes);
    ash__hex(bytes, len, out);
}

void ash__hasher_finish(ash_hasher *h, char sha256[65], char md5[65])
{
    ash__hasher_drain(h, 0);
    digest_text(h->sha256, sha256);
    digest_text(h->md5, md5);
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
    ash__digest_free(h->sha256);
    ash__digest_free(h->md5);
    ash__cond_release(&h->work);
    ash__cond_release(&h->idle);
    ash__mutex_release(&h->lock);
    ash__free(h);
}
