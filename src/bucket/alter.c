/* SPDX-License-Identifier: Apache-2.0 */
/* Altering a file: what a caller writes goes into whole chunks in memory, and into the store under
 * another id when there are too many; the commit is in alter_finish.c. */
#include "bucket/alter.h"

#include "base/mem.h"

#include <string.h>

static int prepare(ash_alter *a, const bson_value_t *id, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(a->bucket, deadline_ms);
    ash_commit_manner manner;
    int rc = ash__bucket_manner(a->bucket, &manner, err);
    if (rc == 0 && !manner.transactions)
        rc = ash__fail(err, ASH_EUNSUPPORTED,
                       "files cannot be altered in this store, which has no transactions");
    if (rc == 0)
        rc = ash__file_get_living(&work, id, true, &a->file, err);
    if (rc != 0)
        return rc;
    if (a->file->chunk_size > ASH_CHUNK_SIZE_MAX)
        return ash__fail(err, ASH_EUNSUPPORTED, "files with chunks of %d bytes cannot be altered",
                         (int)a->file->chunk_size);
    a->length = a->base_length = a->file->length;
    a->changed_max = ASH_ALTER_HELD_BYTES / (size_t)a->file->chunk_size;
    if (a->changed_max < 2)
        a->changed_max = 2;
    if (a->changed_max > 1024)
        a->changed_max = 1024;
    a->changed = ash__alloc_array(a->changed_max, sizeof *a->changed);
    /* Nobody knows that id, so chunks under it are orphans from the start: a sweep takes them. */
    a->staging.value_type = BSON_TYPE_OID;
    bson_oid_init(&a->staging.value.v_oid, NULL);
    return 0;
}

int ash_bucket_open_alter(ash_bucket *b, const bson_value_t *id, const ash_change_options *opts,
                          ash_alter **out, ash_error *err)
{
    ash_alter *a = ash__new(ash_alter);
    ash_change change;
    *out = NULL;
    a->bucket = b;
    int rc = ash__change_init(b, opts, &change, err);
    a->fence = change.fence;
    a->timeout_ms = opts != NULL ? opts->timeout_ms : 0;
    if (rc == 0)
        rc = ash__change_refuse_all(&change, err);
    if (rc == 0)
        rc = prepare(a, id, change.work.deadline_ms, err);
    if (rc == 0)
        *out = a;
    else
        ash_alter_free(a);
    return rc;
}

int64_t ash_alter_length(const ash_alter *a)
{
    return a->length;
}

static int check_state(const ash_alter *a, ash_error *err)
{
    if (a->finished)
        return ash__fail(err, ASH_ESTATE, "alteration is finished already");
    if (a->failed)
        return ash__fail(err, ASH_ESTATE, "alteration failed already");
    return 0;
}

static int check_length(const ash_alter *a, int64_t length, ash_error *err)
{
    if (ash__chunk_count(length, a->file->chunk_size) > ASH_CHUNKS_MAX)
        return ash__fail(err, ASH_ETOOBIG, "%lld bytes are more chunks than can be numbered",
                         (long long)length);
    return 0;
}

/* data NULL: zeros. */
static int put_bytes(ash_alter *a, int64_t offset, const uint8_t *data, int64_t len,
                     int64_t deadline_ms, ash_error *err)
{
    int32_t size = a->file->chunk_size;
    while (len > 0) {
        uint8_t *chunk;
        int64_t n = offset / size;
        int64_t at = offset % size;
        int64_t take = size - at < len ? size - at : len;
        int rc = ash__deadline_check(deadline_ms, "alteration", err);
        if (rc == 0)
            rc = ash__alter_chunk(a, n, take == size, deadline_ms, &chunk, err);
        if (rc != 0)
            return rc;
        if (data != NULL)
            memcpy(chunk + at, data, (size_t)take);
        else
            memset(chunk + at, 0, (size_t)take);
        data = data != NULL ? data + take : NULL;
        offset += take;
        len -= take;
        /* The chunk that was the last one is among those written to, so it gets its new length. */
        if (offset > a->length)
            a->length = offset;
    }
    return 0;
}

int ash_alter_write(ash_alter *a, int64_t offset, const void *data, size_t len, ash_error *err)
{
    int64_t deadline = ash__bucket_deadline(a->bucket, a->timeout_ms);
    int rc = check_state(a, err);
    if (rc != 0)
        return rc;
    if (offset < 0 || offset > a->length)
        return ash__fail(err, ASH_EINVAL, "offset %lld is not between 0 and the length %lld",
                         (long long)offset, (long long)a->length);
    if (len > (uint64_t)(INT64_MAX - offset))
        return ash__fail(err, ASH_ETOOBIG, "file would be too long");
    rc = check_length(a, offset + (int64_t)len, err);
    if (rc != 0)
        return rc;
    rc = put_bytes(a, offset, data, (int64_t)len, deadline, err);
    /* Part of it may be in place: which part, nobody could say. */
    a->failed = rc != 0;
    return rc;
}

int ash_alter_append(ash_alter *a, const void *data, size_t len, ash_error *err)
{
    return ash_alter_write(a, a->length, data, len, err);
}

static int cut(ash_alter *a, int64_t length, int64_t deadline_ms, ash_error *err)
{
    int32_t size = a->file->chunk_size;
    uint8_t *chunk;
    int rc = ash__alter_forget(a, ash__chunk_count(length, size), deadline_ms, err);
    if (rc == 0 && length % size != 0) {
        rc = ash__alter_chunk(a, length / size, false, deadline_ms, &chunk, err);
        /* Zeros behind the end, as alter.h has it, since the file may grow again. */
        if (rc == 0)
            memset(chunk + length % size, 0, (size_t)(size - length % size));
    }
    if (rc == 0) {
        a->length = length;
        if (a->base_length > length)
            a->base_length = length;
    }
    return rc;
}

int ash_alter_truncate(ash_alter *a, int64_t length, ash_error *err)
{
    int64_t deadline = ash__bucket_deadline(a->bucket, a->timeout_ms);
    int rc = check_state(a, err);
    if (rc == 0 && length < 0)
        rc = ash__fail(err, ASH_EINVAL, "length %lld is negative", (long long)length);
    if (rc == 0)
        rc = check_length(a, length, err);
    if (rc != 0)
        return rc;
    if (length > a->length)
        rc = put_bytes(a, a->length, NULL, length - a->length, deadline, err);
    else if (length < a->length)
        rc = cut(a, length, deadline, err);
    a->failed = rc != 0;
    return rc;
}

void ash_alter_free(ash_alter *a)
{
    if (a == NULL)
        return;
    if (a->file != NULL && !a->finished && a->staged_count > 0) {
        ash_work work = ash__work(a->bucket, ash__bucket_deadline(a->bucket, a->timeout_ms));
        (void)ash__chunks_remove(&work, &a->staging, -1, -1, NULL, NULL);
    }
    for (size_t i = 0; i < a->changed_count; i++)
        ash__free(a->changed[i].data);
    ash__free(a->changed);
    ash__free(a->staged);
    ash__fence_release(&a->fence);
    ash_file_free(a->file);
    ash__free(a);
}
