/* SPDX-License-Identifier: Apache-2.0 */
/* ash_cursor_next on top of batches, batches on top of what it left over, and what of a batch
 * outlives a rest. */

#include "store/call.h"

#include "base/mem.h"

#include <string.h>

#define BATCH_DEFAULT_BYTES ((size_t)16 * 1024 * 1024)
/* One document at a time is asked of a cursor that may be left early, so its batches stay small. */
#define NEXT_MAX_DOCS  128
#define NEXT_MAX_BYTES ((size_t)1024 * 1024)

static int fetch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_error *err)
{
    ash_batch batch = {0};
    int rc;

    /* What a failed call leaves must not be read again. */
    cursor->batch = batch;
    cursor->batch_at = 0;
    ash__free(cursor->kept);
    cursor->kept = NULL;
    /* A cursor of the transaction is part of it; another one's batch could wait for the writer for
     * ever. */
    rc = cursor->in_transaction ? 0 : ash__call_outside(cursor->store, err);
    if (rc != 0)
        return rc;
    rc = cursor->ops->next_batch(cursor, max_docs, max_bytes, &batch, err);
    if (rc == 0)
        cursor->batch = batch;
    return rc;
}

int ash_cursor_next(ash_cursor *cursor, ash_doc *doc, ash_error *err)
{
    *doc = (ash_doc){NULL, 0};
    if (cursor->batch_at >= cursor->batch.count) {
        int rc;
        if (cursor->batch.exhausted)
            return 0;
        rc = fetch(cursor, NEXT_MAX_DOCS, NEXT_MAX_BYTES, err);
        if (rc != 0)
            return rc;
    }
    if (cursor->batch_at < cursor->batch.count)
        *doc = cursor->batch.docs[cursor->batch_at++];
    return 0;
}

/* Hand out of the batch at hand what ash_cursor_next left over. */
static void take_unread(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out)
{
    const ash_batch *batch = &cursor->batch;
    size_t first = cursor->batch_at, bytes = 0, n = 0;

    /* The first goes whatever its size; bytes never exceeds max_bytes, so that the difference
     * cannot wrap. */
    while (first + n < batch->count && n < max_docs &&
           (n == 0 || batch->docs[first + n].len <= max_bytes - bytes)) {
        size_t len = batch->docs[first + n++].len;
        bytes = len < max_bytes - bytes ? bytes + len : max_bytes;
    }
    cursor->batch_at = first + n;
    *out = (ash_batch){.docs = n > 0 ? batch->docs + first : NULL, .count = n};
    /* The token stands behind the whole batch: given before its last document, it would resume too
     * late. */
    if (cursor->batch_at == batch->count) {
        out->exhausted = batch->exhausted;
        out->resume_token = batch->resume_token;
    }
}

int ash_cursor_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                          ash_error *err)
{
    size_t docs = max_docs > 0 ? max_docs : SIZE_MAX;
    size_t bytes = max_bytes > 0 ? max_bytes : BATCH_DEFAULT_BYTES;

    *out = (ash_batch){0};
    if (cursor->batch_at >= cursor->batch.count && !cursor->batch.exhausted) {
        int rc = fetch(cursor, docs, bytes, err);
        if (rc != 0)
            return rc;
    }
    take_unread(cursor, docs, bytes, out);
    return 0;
}

void ash_cursor_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                       int64_t await_ms)
{
    cursor->ops->set_op(cursor, deadline_ms, cancel, await_ms);
}

/* One block: the array of views, then their bytes, the resume token's last. */
static void keep_unread(ash_cursor *cursor)
{
    ash_batch *batch = &cursor->batch;
    size_t count = batch->count - cursor->batch_at;
    const ash_doc *from = count > 0 ? batch->docs + cursor->batch_at : NULL;
    size_t bytes = batch->resume_token.len;
    ash_doc *docs;
    uint8_t *at;

    for (size_t i = 0; i < count; i++)
        bytes += from[i].len;
    docs = ash__alloc(count * sizeof *docs + bytes);
    at = (uint8_t *)(docs + count);
    for (size_t i = 0; i < count; i++) {
        memcpy(at, from[i].data, from[i].len);
        docs[i] = (ash_doc){at, from[i].len};
        at += from[i].len;
    }
    if (batch->resume_token.data != NULL) {
        memcpy(at, batch->resume_token.data, batch->resume_token.len);
        batch->resume_token.data = at;
    }
    *batch = (ash_batch){docs, count, batch->exhausted, batch->resume_token};
    cursor->batch_at = 0;
    cursor->kept = docs;
}

void ash_cursor_rest(ash_cursor *cursor)
{
    ash_batch *batch = &cursor->batch;
    /* Of a batch that was read to its end one thing still matters: that there is no other. */
    bool wanted = cursor->batch_at < batch->count || batch->exhausted;

    if (cursor->kept == NULL && wanted)
        keep_unread(cursor);
    else if (cursor->kept == NULL)
        *batch = (ash_batch){0};
    cursor->ops->rest(cursor);
}

void ash_cursor_free(ash_cursor *cursor)
{
    if (cursor == NULL)
        return;
    ash__free(cursor->kept);
    cursor->ops->free(cursor);
}
