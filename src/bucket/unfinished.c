/* SPDX-License-Identifier: Apache-2.0 */
/* Resumable uploads as they stand, for those who look after a bucket. */
#include "bucket/resume.h"

#include "base/clock.h"
#include "bucket/chunks.h"

/* How many whole chunks there are, and when the last one came: 0 when there is none. */
static int look_at_chunks(const ash_work *work, const bson_value_t *files_id, int64_t *count,
                          int64_t *last_ms, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t last;
    bool found = false;
    bson_t *sort = BCON_NEW("n", BCON_INT32(-1));
    bson_t *projection = BCON_NEW("n", BCON_INT32(1));
    ash_find_options o = ash__work_find_options(work);
    o.sort = sort;
    o.projection = projection;
    ash__filter_id(&filter, "files_id", files_id);
    *count = *last_ms = 0;
    int rc = ash__collection_find_if_any(work->bucket->chunks, &filter, &o, &last, &found, err);
    if (found) {
        ash_doc doc = ash__doc_from_bson(&last);
        ash_value id = ash__doc_get(doc, "_id");
        int64_t n = 0;
        if (ash__value_as_int64(ash__doc_get(doc, "n"), &n))
            *count = n + 1;
        if (id.type == BSON_TYPE_OID)
            *last_ms = (int64_t)bson_oid_get_time_t(ash__value_oid(id)) * 1000;
        bson_destroy(&last);
    }
    bson_destroy(sort);
    bson_destroy(projection);
    bson_destroy(&filter);
    return rc;
}

/* false: the document is none of ours. */
static bool read_upload(ash_doc doc, ash_unfinished *out, int64_t *chunk_size, bson_value_t *id)
{
    bson_t view;
    bson_iter_t it;
    bson_iter_t at;
    uint32_t len;
    int64_t keep_s = 0;
    ash__doc_to_bson(doc, &view);
    ash_doc upload = ash__value_doc(ash__doc_get(doc, "upload"));
    ash_value token = ash__doc_get(ash__value_doc(ash__doc_get(doc, "_id")), "resume");
    ash_value name = ash__doc_get(upload, "filename");
    ash_value expires = ash__doc_get(doc, "expires");
    if (token.type != BSON_TYPE_UTF8 || name.type != BSON_TYPE_UTF8 ||
        expires.type != BSON_TYPE_DATE_TIME || !bson_iter_init(&it, &view) ||
        !bson_iter_find_descendant(&it, "upload.files_id", &at) ||
        !ash__value_as_int64(ash__doc_get(upload, "chunkSize"), chunk_size))
        return false;
    (void)ash__value_as_int64(ash__doc_get(upload, "keep"), &keep_s);
    out->token = ash__value_string(token, &len);
    out->filename = ash__value_string(name, &len);
    out->until_ms = ash__value_int64(expires);
    out->last_ms = out->until_ms - keep_s * 1000; /* the date was set then */
    bson_value_copy(bson_iter_value(&at), id);
    return true;
}

static int visit_one(const ash_work *work, ash_doc doc, ash_unfinished_visit visit, void *ctx,
                     ash_error *err)
{
    ash_unfinished found = {.token = NULL};
    bson_value_t id;
    int64_t chunk_size;
    int64_t chunks;
    int64_t last_ms;
    if (!read_upload(doc, &found, &chunk_size, &id))
        return 0;
    int rc = look_at_chunks(work, &id, &chunks, &last_ms, err);
    bson_value_destroy(&id);
    found.bytes = chunks * chunk_size;
    if (last_ms > found.last_ms)
        found.last_ms = last_ms;
    return rc == 0 ? visit(ctx, work->bucket, &found, err) : rc;
}

int ash__unfinished_each(ash_bucket *b, ash_unfinished_visit visit, void *ctx, ash_error *err)
{
    bson_t *filter = ash__resume_filter_all();
    ash_cursor *cursor = NULL;
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    ash_find_options o = ash__work_find_options(&work);
    int rc = ash_collection_find(b->attributes, filter, &o, &cursor, err);
    while (rc == 0) {
        ash_doc doc;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = visit_one(&work, doc, visit, ctx, err);
    }
    ash_cursor_free(cursor);
    bson_destroy(filter);
    return rc;
}

int ash__unfinished_end(ash_bucket *b, const ash_unfinished *u, bool *ended, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    int64_t matched = 0;
    bson_t *set = BCON_NEW("$set", "{", "expires", BCON_DATE_TIME(ash__clock_wall_ms()), "}");
    ash__resume_filter(&filter, u->token);
    /* As it was when it was visited: somebody who goes on with it moves the date. */
    BSON_APPEND_DATE_TIME(&filter, "expires", u->until_ms);
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    ash_update_options o = ash__work_update_options(&work);
    int rc = ash__collection_change(b->attributes, &filter, set, &o, &matched, err);
    *ended = rc == 0 && matched > 0;
    bson_destroy(set);
    bson_destroy(&filter);
    return rc;
}
