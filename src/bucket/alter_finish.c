/* SPDX-License-Identifier: Apache-2.0 */
/* The commit of an alteration: which old chunks go, which new ones take their numbers. */
#include "base/clock.h"
#include "base/mem.h"
#include "bucket/alter.h"

#define LONG_RUN        100  /* chunks: from here on a range is less than its numbers */
#define NUMBERS_AT_ONCE 2000 /* in one filter */

typedef struct alter_call {
    ash_alter *alter;
    ash_file *result;
} alter_call;

/* The next number, of changed and staged chunks together; INT64_MAX: none. */
static int64_t next_new(const ash_alter *a, size_t *changed_at, size_t *staged_at)
{
    int64_t changed = *changed_at < a->changed_count ? a->changed[*changed_at].n : INT64_MAX;
    int64_t staged = *staged_at < a->staged_count ? a->staged[*staged_at] : INT64_MAX;
    if (changed < staged)
        (*changed_at)++;
    else if (staged < INT64_MAX)
        (*staged_at)++;
    return changed < staged ? changed : staged;
}

/* Chunks to be removed by their numbers, in one operation. */
typedef struct number_list {
    bson_t numbers; /* array */
    uint32_t count;
} number_list;

static int remove_listed(const ash_alter *a, const ash_work *work, number_list *list,
                         ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    if (list->count == 0)
        return 0;
    ash__filter_id(&filter, "files_id", &a->file->id);
    BCON_APPEND(&filter, "n", "{", "$in", BCON_ARRAY(&list->numbers), "}");
    ash_op op = ash__work_write_op(work);
    int rc = ash__collection_remove_all(a->bucket->chunks, &filter, &op, NULL, err);
    bson_destroy(&filter);
    bson_reinit(&list->numbers);
    list->count = 0;
    return rc;
}

/* A long run goes by its ends, short ones are gathered, so that it takes few operations however the
 * changes are scattered. */
static int remove_run(const ash_alter *a, const ash_work *work, number_list *list, int64_t first,
                      int64_t end, ash_error *err)
{
    char key[12];
    const char *name;
    int rc = 0;
    if (end - first >= LONG_RUN)
        return ash__chunks_remove(work, &a->file->id, first, end, NULL, err);
    for (int64_t n = first; n < end; n++) {
        size_t len = bson_uint32_to_string(list->count++, &name, key, sizeof key);
        bson_append_int64(&list->numbers, name, (int)len, n);
    }
    if (list->count >= NUMBERS_AT_ONCE)
        rc = remove_listed(a, work, list, err);
    return rc;
}

/* Old chunks that have a successor, and those behind the new end. */
static int remove_old(const ash_alter *a, const ash_work *work, ash_error *err)
{
    const bson_value_t *id = &a->file->id;
    number_list list = {.numbers = BSON_INITIALIZER};
    int64_t old_count = ash__chunk_count(a->file->length, a->file->chunk_size);
    size_t changed_at = 0;
    size_t staged_at = 0;
    int rc = 0;
    int64_t n = next_new(a, &changed_at, &staged_at);
    while (rc == 0 && n < old_count) {
        int64_t first = n;
        int64_t end = n;
        do {
            end++;
            n = next_new(a, &changed_at, &staged_at);
        } while (n == end);
        rc = remove_run(a, work, &list, first, end, err);
    }
    if (rc == 0)
        rc = remove_listed(a, work, &list, err);
    if (rc == 0)
        rc = ash__chunks_remove(work, id, ash__chunk_count(a->length, a->file->chunk_size), -1,
                                NULL, err);
    bson_destroy(&list.numbers);
    return rc;
}

static int insert_new(const ash_alter *a, const ash_work *work, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < a->changed_count; i++) {
        const ash_changed_chunk *c = &a->changed[i];
        int32_t len = ash__chunk_length(a->length, a->file->chunk_size, c->n);
        rc = ash__chunk_insert(work, &a->file->id, c->n, c->data, (size_t)len, err);
    }
    if (rc != 0 || a->staged_count == 0)
        return rc;
    int64_t moved = 0;
    bson_t filter = BSON_INITIALIZER;
    bson_t operators = BSON_INITIALIZER;
    bson_t set;
    ash__filter_id(&filter, "files_id", &a->staging);
    BSON_APPEND_DOCUMENT_BEGIN(&operators, "$set", &set);
    BSON_APPEND_VALUE(&set, "files_id", &a->file->id);
    bson_append_document_end(&operators, &set);
    ash_update_options o = ash__work_update_options(work);
    o.multi = true;
    rc = ash__collection_change(a->bucket->chunks, &filter, &operators, &o, &moved, err);
    bson_destroy(&operators);
    bson_destroy(&filter);
    /* They were not on disk yet, or so old that somebody swept them. */
    if (rc == 0 && moved != (int64_t)a->staged_count)
        rc = ash__fail(err, ASH_ECONFLICT, "chunks of the alteration were lost before it ended");
    return rc;
}

/* uploadDate stays: it says which revision of the name this is, and altering one does not make it
 * the newest.  A digest of the old bytes does not stay. */
static int update_documents(const ash_alter *a, const ash_work *work, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *operators = BCON_NEW("$set", "{", "length", BCON_INT64(a->length), "}", "$unset", "{",
                                 "md5", BCON_UTF8(""), "}");
    ash__filter_id(&filter, "_id", &a->file->id);
    ash_update_options o = ash__work_update_options(work);
    int rc = ash__collection_change(a->bucket->files, &filter, operators, &o, NULL, err);
    bson_destroy(operators);
    bson_destroy(&filter);
    ash_attributes attributes = {.id = &a->file->id,
                                 .length = a->length,
                                 .upload_date_ms = a->file->upload_date_ms,
                                 .expires_ms = a->file->expires_ms,
                                 .altered_ms = ash__clock_wall_ms(),
                                 .token = a->fence.given ? a->fence.token : a->file->token};
    if (rc == 0)
        rc = ash__attributes_write(work, &attributes, err);
    return rc;
}

static int commit_alter(const ash_work *work, void *ctx, ash_error *err)
{
    alter_call *call = ctx;
    ash_alter *a = call->alter;
    int rc = ash__fence_check(work, &a->fence, &a->file->id, err);
    if (rc == 0)
        rc = ash__file_check_unchanged(work, a->file, err);
    if (rc == 0)
        rc = update_documents(a, work, err);
    ash_file_free(call->result);
    call->result = NULL;
    if (rc == 0)
        rc = ash__file_get(work, &a->file->id, true, &call->result, err);
    /* What takes long comes last: it is run again with everything behind it (replayed). */
    if (rc == 0)
        rc = remove_old(a, work, err);
    if (rc == 0)
        rc = insert_new(a, work, err);
    return rc;
}

/* Staged chunks are whole; the last one may have to be shorter. */
static int bring_last_home(ash_alter *a, int64_t deadline_ms, ash_error *err)
{
    uint8_t *chunk;
    int64_t n = a->length / a->file->chunk_size;
    bool partial = a->length % a->file->chunk_size != 0;
    if (!partial || a->staged_count == 0 || a->staged[a->staged_count - 1] != n)
        return 0;
    return ash__alter_chunk(a, n, false, deadline_ms, &chunk, err);
}

int ash_alter_finish(ash_alter *a, ash_file **file, ash_error *err)
{
    int64_t deadline = ash__bucket_deadline(a->bucket, a->timeout_ms);
    ash_work work = ash__work(a->bucket, deadline);
    alter_call call = {.alter = a};
    if (file != NULL)
        *file = NULL;
    if (a->failed || a->finished)
        return ash__fail(err, ASH_ESTATE, "alteration %s already",
                         a->finished ? "is finished" : "failed");
    ash_commit_manner manner;
    int rc = bring_last_home(a, deadline, err);
    if (rc == 0)
        rc = ash__bucket_manner(a->bucket, &manner, err);
    /* What is replayed had better be small: moving a chunk is less than sending it. */
    if (rc == 0 && manner.replayed)
        rc = ash__alter_stage_all(a, deadline, err);
    if (rc == 0)
        rc = ash__bucket_commit(&work, commit_alter, &call, err);
    a->failed = rc != 0;
    a->finished = rc == 0;
    if (rc == 0 && file != NULL)
        *file = call.result;
    else
        ash_file_free(call.result);
    return rc;
}
