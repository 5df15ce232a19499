/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/upload.h"

#include "bucket/transfer.h"

#include <string.h>

/* The end of an upload's bytes: what is left of them goes to the store, and the digests are known.
 * Whatever has to happen outside of the transaction that makes the file visible happens here. */

/* A small file's chunks wait for the commit; others are not to keep the engine's writer busy. */
static int hand_over_chunks(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_chunk_writer *w = &u->writer;
    ash_commit_manner manner;
    int rc = ash__bucket_manner(u->bucket, &manner, err);
    if (rc != 0)
        return rc;
    if (w->fill > 0) /* what makes no whole chunk is not in the digests yet */
        ash__hasher_add(u->hasher, ash__chunk_writer_rest(w), (size_t)w->fill);
    u->chunks_wait = manner.in_process && ash__chunk_writer_is_small(w);
    if (u->chunks_wait)
        u->chunks = ash__chunk_writer_waiting(w);
    else
        rc = ash__chunk_writer_flush(w, true, deadline_ms, err);
    if (!u->chunks_wait)
        u->chunks = w->stored;
    return rc;
}

int ash__upload_seal(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bool has_chunks = u->writer.held + (u->writer.fill > 0) > 0;
    int rc = has_chunks ? ash__upload_prepare(u, deadline_ms, err) : ash__bucket_index(&work, err);
    if (rc == 0 && u->ttl_s > 0)
        rc = ash__bucket_index_expiry(&work, err);
    if (rc != 0)
        return rc;
    rc = hand_over_chunks(u, deadline_ms, err);
    if (rc == 0) {
        ash__hasher_finish(u->hasher, &u->digests); /* behind the writes, beside which it ran */
        rc = ash__transfer_check(u, err);
    }
    if (rc == 0)
        u->state = UPLOAD_SEALED;
    else
        ash__upload_give_up(u, rc, deadline_ms);
    return rc;
}

int ash_upload_seal(ash_upload *u, ash_error *err)
{
    int rc = ash__upload_state_check(u, true, err);
    if (rc != 0 || u->state == UPLOAD_SEALED)
        return rc;
    return ash__upload_seal(u, ash__bucket_deadline(u->bucket, u->timeout_ms), err);
}

int ash_upload_digest(const ash_upload *u, ash_digest_kind kind, char *hex, ash_error *err)
{
    const char *text = ash__digests_get(&u->digests, kind);
    hex[0] = '\0';
    if (text == NULL || (u->digest_kinds & (unsigned)kind) == 0)
        return ash__fail(err, ASH_EINVAL, "the upload was not asked for this digest");
    if (text[0] == '\0')
        return ash__fail(err, ASH_ESTATE, "digests are known once the upload is sealed");
    memcpy(hex, text, strlen(text) + 1);
    return 0;
}
