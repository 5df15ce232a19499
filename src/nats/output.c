/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/output.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/host.h"

#include <string.h>

enum {
    /* Pieces that are less together are gathered, for one call to the system. */
    GATHERED_BYTES = 32 * 1024,
    /* One size only: who had some and waited for more would wait for others that do the same. */
    LARGE_BYTES = 2 * 1024 * 1024,
    MOST_PIECES = 8
};

void ash__nats_output_init(ash_nats_output *o, ash_peer *peer, int64_t timeout_ms)
{
    *o = (ash_nats_output){.peer = peer, .timeout_ms = timeout_ms};
    ash__block_init(&o->block, &peer->host->answers);
}

void ash__nats_output_release(ash_nats_output *o)
{
    ash__block_release(&o->block);
}

size_t ash__nats_output_pending(const ash_nats_output *o)
{
    return o->end - o->start;
}

int64_t ash__nats_output_deadline(const ash_nats_output *o)
{
    return o->end > o->start ? o->step_ms + o->timeout_ms : INT64_MAX;
}

void ash__nats_output_shrink(ash_nats_output *o)
{
    if (o->end == o->start)
        ash__block_shrink(&o->block, 0);
}

/* ---- what waits ---- */

/* Whoever waits for room may look for those whose clients do not take what they hold. */
static void tell_holds(ash_nats_output *o)
{
    ash__peer_holds(o->peer, ASH_HOLDS_ANSWER,
                    o->block.capacity > ASH_BLOCK_SMALL_BYTES && o->end > o->start);
}

static void keep(ash_nats_output *o, const struct iovec *iov, size_t count)
{
    if (o->end == o->start)
        o->step_ms = ash__clock_ms();
    for (size_t i = 0; i < count; i++) {
        if (iov[i].iov_len == 0)
            continue;
        memcpy(o->block.data + o->end, iov[i].iov_base, iov[i].iov_len);
        o->end += iov[i].iov_len;
    }
}

static bool fits(ash_nats_output *o, size_t bytes)
{
    size_t pending = o->end - o->start;
    if (o->end + bytes <= o->block.capacity)
        return true;
    if (pending + bytes > o->block.capacity)
        return false;
    memmove(o->block.data, o->block.data + o->start, pending);
    o->start = 0;
    o->end = pending;
    return true;
}

/* As fits(), in more memory if there may be more; false also when it failed. */
static bool fits_in_large(ash_nats_output *o, size_t bytes)
{
    ash_error err = ASH_ERROR_INIT;
    size_t pending = o->end - o->start;
    if (o->block.capacity >= LARGE_BYTES || pending + bytes > LARGE_BYTES)
        return false;
    memmove(o->block.data, o->block.data + o->start, pending);
    o->start = 0;
    o->end = pending;
    if (ash__block_reserve(&o->block, pending, LARGE_BYTES, ash__clock_deadline(o->timeout_ms),
                           &err) == 0)
        return true;
    ash__log(ASH_LOG_WARN, "connection %lld from %s closed: %s", (long long)o->peer->id,
             o->peer->remote, err.text);
    o->failed = true;
    return false;
}

/* ---- to the socket ---- */

static size_t sum(const struct iovec *iov, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

static void took(ash_nats_output *o, size_t bytes)
{
    ash__peer_moved(o->peer, bytes, &o->moved);
    o->since_step += bytes;
    if (o->since_step >= ASH_STREAM_STEP_BYTES) {
        o->since_step = 0;
        o->step_ms = ash__clock_ms();
    }
}

/* What waits, and the pieces behind it, as far as the socket takes them; what is left of the pieces
 * is left in them. */
static bool push(ash_nats_output *o, struct iovec **iov, size_t *count)
{
    struct iovec all[1 + MOST_PIECES] = {
        {.iov_base = o->block.data + o->start, .iov_len = o->end - o->start}};
    struct iovec *left = all;
    size_t left_count = 1 + *count, before;
    ash_assert(*count <= MOST_PIECES);
    if (*count > 0)
        memcpy(all + 1, *iov, *count * sizeof(struct iovec));
    before = sum(all, left_count);
    if (!ash__stream_push(&o->peer->stream, &left, &left_count)) {
        o->failed = true;
        return false;
    }
    took(o, before - sum(left, left_count));
    /* The first of all is what waits, as long as it is there. */
    size_t gone = (size_t)(left - all);
    o->start = gone > 0 ? o->end : o->end - left->iov_len;
    if (o->start == o->end)
        o->start = o->end = 0;
    size_t pieces_gone = gone > 0 ? gone - 1 : 0;
    *iov += pieces_gone;
    *count -= pieces_gone;
    if (*count > 0)
        **iov = all[1 + pieces_gone];
    tell_holds(o);
    return true;
}

bool ash__nats_output_push(ash_nats_output *o)
{
    struct iovec nothing, *none = &nothing;
    size_t count = 0;
    if (o->failed)
        return false;
    return o->end == o->start || push(o, &none, &count);
}

/* As slow as the client takes it, but no slower than it must. */
static bool write_all(ash_nats_output *o, const struct iovec *iov, size_t count)
{
    struct iovec all[1 + MOST_PIECES] = {
        {.iov_base = o->block.data + o->start, .iov_len = o->end - o->start}};
    if (count > 0)
        memcpy(all + 1, iov, count * sizeof(struct iovec));
    if (!ash__peer_write(o->peer, all, 1 + count, o->timeout_ms)) {
        ash__log(ASH_LOG_INFO, "connection %lld from %s closed: it does not take what is for it",
                 (long long)o->peer->id, o->peer->remote);
        o->failed = true;
    }
    o->start = o->end = 0;
    o->since_step = 0;
    tell_holds(o);
    return !o->failed;
}

bool ash__nats_output_finish(ash_nats_output *o)
{
    return !o->failed && (o->end == o->start || write_all(o, NULL, 0));
}

bool ash__nats_output_add(ash_nats_output *o, struct iovec *iov, size_t count)
{
    size_t bytes = sum(iov, count);
    if (o->failed)
        return false;
    if (bytes >= GATHERED_BYTES || !fits(o, bytes)) {
        if (!push(o, &iov, &count))
            return false;
        bytes = sum(iov, count);
        if (!fits(o, bytes) && !fits_in_large(o, bytes))
            return !o->failed && write_all(o, iov, count);
    }
    keep(o, iov, count);
    tell_holds(o);
    return true;
}

bool ash__nats_output_add_text(ash_nats_output *o, const char *text)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    return ash__nats_output_add(o, &iov, 1);
}
