/* SPDX-License-Identifier: Apache-2.0 */
/* Where the chunks of an alteration are, and how one gets from there into memory (alter.h). */
#include "bucket/alter.h"

#include "base/mem.h"

#include <string.h>

static uint64_t number_of_changed(const void *chunk)
{
    return (uint64_t)((const ash_changed_chunk *)chunk)->n;
}

/* Index of the first changed chunk with a number not below n. */
static size_t find_changed(const ash_alter *a, int64_t n)
{
    return ash__first_not_below(a->changed, a->changed_count, sizeof *a->changed, (uint64_t)n,
                                number_of_changed);
}

static uint64_t number_of_staged(const void *n)
{
    const int64_t *number = n;
    return (uint64_t)*number;
}

static size_t find_staged(const ash_alter *a, int64_t n)
{
    return ash__first_not_below(a->staged, a->staged_count, sizeof *a->staged, (uint64_t)n,
                                number_of_staged);
}

static bool is_staged(const ash_alter *a, int64_t n)
{
    size_t i = find_staged(a, n);
    return i < a->staged_count && a->staged[i] == n;
}

static void note_staged(ash_alter *a, int64_t n)
{
    size_t at = find_staged(a, n);
    a->staged = ash__realloc_array(a->staged, a->staged_count + 1, sizeof *a->staged);
    memmove(a->staged + at + 1, a->staged + at, (a->staged_count - at) * sizeof *a->staged);
    a->staged[at] = n;
    a->staged_count++;
}

/* All changed chunks go into the store, out of sight.  length: of the file that they are for. */
static int stage(ash_alter *a, int64_t length, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(a->bucket, deadline_ms);
    int rc = 0;
    size_t done = 0;
    while (rc == 0 && done < a->changed_count) {
        const ash_changed_chunk *c = &a->changed[done];
        rc = ash__chunk_insert(&work, &a->staging, c->n, c->data,
                               (size_t)ash__chunk_length(length, a->file->chunk_size, c->n), err);
        if (rc == 0) {
            note_staged(a, c->n);
            ash__free(c->data);
            done++;
        }
    }
    a->changed_count -= done;
    memmove(a->changed, a->changed + done, a->changed_count * sizeof *a->changed);
    return rc;
}

int ash__alter_stage_all(ash_alter *a, int64_t deadline_ms, ash_error *err)
{
    return stage(a, a->length, deadline_ms, err);
}

static int unstage(ash_alter *a, int64_t n, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(a->bucket, deadline_ms);
    size_t at = find_staged(a, n);
    a->staged_count--;
    memmove(a->staged + at, a->staged + at + 1, (a->staged_count - at) * sizeof *a->staged);
    return ash__chunks_remove(&work, &a->staging, n, n + 1, NULL, err);
}

/* The bytes of a chunk of the id; *len: how many they are. */
static int load(ash_alter *a, const bson_value_t *id, const ash_changed_chunk *into,
                int64_t deadline_ms, size_t *len, ash_error *err)
{
    ash_work work = ash__work(a->bucket, deadline_ms);
    int64_t n = into->n;
    bson_t filter = BSON_INITIALIZER;
    bson_t found;
    int64_t number;
    const uint8_t *bytes;
    ash_find_options o = ash__work_find_options(&work);
    ash__filter_id(&filter, "files_id", id);
    BSON_APPEND_INT64(&filter, "n", n);
    int rc = ash_collection_find_one(a->bucket->chunks, &filter, &o, &found, err);
    bson_destroy(&filter);
    if (rc == ASH_ENOTFOUND)
        return ash__chunk_missing(a->file, n, err);
    if (rc != 0)
        return rc;
    rc = ash__chunk_parse(a->file, ash__doc_from_bson(&found), &number, &bytes, len, err);
    if (rc == 0 && *len > (size_t)a->file->chunk_size)
        rc = ash__chunk_check(a->file, n, n, *len, err);
    if (rc == 0)
        memcpy(into->data, bytes, *len);
    bson_destroy(&found);
    return rc;
}

static int load_old(ash_alter *a, const ash_changed_chunk *into, int64_t deadline_ms,
                    ash_error *err)
{
    size_t len = 0;
    /* What was cut off once reads as zeros, also when the file grew again. */
    int64_t rest = a->base_length - into->n * a->file->chunk_size;
    if (rest <= 0)
        return 0;
    int rc = load(a, &a->file->id, into, deadline_ms, &len, err);
    if (rc == 0)
        rc = ash__chunk_check(a->file, into->n, into->n, len, err);
    if (rc == 0 && (int64_t)len > rest)
        memset(into->data + rest, 0, len - (size_t)rest);
    return rc;
}

static int fill(ash_alter *a, const ash_changed_chunk *into, bool whole, int64_t deadline_ms,
                ash_error *err)
{
    size_t len;
    int rc = 0;
    if (!is_staged(a, into->n))
        return whole ? 0 : load_old(a, into, deadline_ms, err);
    if (!whole)
        rc = load(a, &a->staging, into, deadline_ms, &len, err);
    /* In memory from now on, and a number is in one place only. */
    return rc == 0 ? unstage(a, into->n, deadline_ms, err) : rc;
}

int ash__alter_chunk(ash_alter *a, int64_t n, bool whole, int64_t deadline_ms, uint8_t **data,
                     ash_error *err)
{
    size_t at = find_changed(a, n);
    if (at < a->changed_count && a->changed[at].n == n) {
        *data = a->changed[at].data;
        return 0;
    }
    int rc = 0;
    /* Whole, since where the file will end is not known before it is finished. */
    if (a->changed_count == a->changed_max)
        rc = stage(a, INT64_MAX, deadline_ms, err);
    if (rc != 0)
        return rc;
    ash_changed_chunk chunk = {n, ash__try_alloc((size_t)a->file->chunk_size)};
    if (chunk.data == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for a chunk of %d bytes",
                         (int)a->file->chunk_size);
    memset(chunk.data, 0, (size_t)a->file->chunk_size);
    rc = fill(a, &chunk, whole, deadline_ms, err);
    if (rc != 0) {
        ash__free(chunk.data);
        return rc;
    }
    at = find_changed(a, n); /* staging may have emptied the list */
    memmove(a->changed + at + 1, a->changed + at, (a->changed_count - at) * sizeof *a->changed);
    a->changed[at] = chunk;
    a->changed_count++;
    *data = chunk.data;
    return 0;
}

int ash__alter_forget(ash_alter *a, int64_t first, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(a->bucket, deadline_ms);
    size_t keep = find_changed(a, first);
    for (size_t i = keep; i < a->changed_count; i++)
        ash__free(a->changed[i].data);
    a->changed_count = keep;
    keep = find_staged(a, first);
    if (keep == a->staged_count)
        return 0;
    a->staged_count = keep;
    return ash__chunks_remove(&work, &a->staging, first, -1, NULL, err);
}
