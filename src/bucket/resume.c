/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads that survive their process: the document that keeps one, and going on with it. */
#include "bucket/resume.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bucket/upload.h"

#include <string.h>

void ash__resume_filter(bson_t *filter, const char *token)
{
    BCON_APPEND(filter, "_id", "{", "resume", BCON_UTF8(token), "}");
}

bson_t *ash__resume_filter_all(void)
{
    return BCON_NEW("_id", "{", "$gte", "{", "resume", BCON_UTF8(""), "}", "$lt", "{", "resume",
                    "{", "}", "}", "}");
}

/* What a later process needs to go on.  A fence is not kept: it belongs to a lock that the process
 * held. */
static void build_upload(const ash_upload *u, bson_t *doc)
{
    BSON_APPEND_VALUE(doc, "files_id", &u->id);
    BSON_APPEND_UTF8(doc, "filename", u->filename);
    BSON_APPEND_INT32(doc, "chunkSize", u->chunk_size);
    BSON_APPEND_DOCUMENT(doc, "extra", &u->extra);
    BSON_APPEND_INT32(doc, "condition", (int32_t)u->condition);
    if (u->newest.value_type != BSON_TYPE_EOD)
        BSON_APPEND_VALUE(doc, "newest", &u->newest);
    BSON_APPEND_BOOL(doc, "replace", u->replace);
    BSON_APPEND_INT64(doc, "ttl", u->ttl_s);
    BSON_APPEND_INT64(doc, "keep", u->resume_expiry_s);
    BSON_APPEND_INT64(doc, "timeout", u->timeout_ms);
    BSON_APPEND_INT32(doc, "digests", (int32_t)u->digest_kinds);
    BSON_APPEND_BOOL(doc, "idAtEnd", u->id_at_end);
}

int ash__resume_create(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    uint8_t random[ASH_TOKEN_CHARS / 2];
    bson_t doc = BSON_INITIALIZER;
    bson_t upload;
    int rc = ash__bucket_index(&work, err);
    if (rc == 0)
        rc = ash__bucket_index_expiry(&work, err);
    if (rc != 0)
        return rc;
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, u->token);
    u->kept_until_ms = ash__expiry_ms(ash__clock_wall_ms(), u->resume_expiry_s);
    ash__resume_filter(&doc, u->token);
    BSON_APPEND_DOCUMENT_BEGIN(&doc, "upload", &upload);
    build_upload(u, &upload);
    bson_append_document_end(&doc, &upload);
    bson_oid_init(&u->holder, NULL);
    BSON_APPEND_OID(&doc, "holder", &u->holder);
    BSON_APPEND_DATE_TIME(&doc, "expires", u->kept_until_ms);
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = ash__work_write_op(&work);
    rc = ash_collection_insert_one(u->bucket->attributes, &doc, &o, err);
    bson_destroy(&doc);
    return rc;
}

/* The document, as long as nobody else goes on with the upload. */
static void held(const ash_upload *u, bson_t *filter)
{
    ash__resume_filter(filter, u->token);
    BSON_APPEND_OID(filter, "holder", &u->holder);
}

static int is_there(const ash_upload *u, const ash_work *work, const bson_t *filter, bool *found,
                    ash_error *err)
{
    bson_t doc;
    bson_t *only_id = BCON_NEW("_id", BCON_INT32(1));
    ash_find_options o = ash__work_find_options(work);
    o.projection = only_id;
    int rc = ash__collection_find_if_any(u->bucket->attributes, filter, &o, &doc, found, err);
    if (*found)
        bson_destroy(&doc);
    bson_destroy(only_id);
    return rc;
}

int ash__resume_say_lost(const ash_upload *u, const ash_work *work, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bool found = false;
    ash__resume_filter(&filter, u->token);
    int rc = is_there(u, work, &filter, &found, err);
    bson_destroy(&filter);
    if (rc == 0 && found)
        rc =
            ash__fail(err, ASH_ELOST, "another process goes on with resumable upload %s", u->token);
    else if (rc == 0)
        rc = ash__fail(err, ASH_ENOTFOUND,
                       "resumable upload %s has expired, or another process finished it", u->token);
    return rc;
}

static int move_expiry(ash_upload *u, const bson_t *filter, int64_t until_ms, int64_t deadline_ms,
                       bool *found, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    int64_t matched = 0;
    bson_t *set = BCON_NEW("$set", "{", "holder", BCON_OID(&u->holder), "expires",
                           BCON_DATE_TIME(until_ms), "}");
    ash_update_options o = ash__work_update_options(&work);
    int rc = ash__collection_change(u->bucket->attributes, filter, set, &o, &matched, err);
    bson_destroy(set);
    *found = matched > 0;
    if (*found)
        u->kept_until_ms = until_ms;
    return rc;
}

/* Moved on when a quarter of the time is over, so that a running upload never expires. */
int ash__resume_keep(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bson_t filter = BSON_INITIALIZER;
    bool found = false;
    int64_t until = ash__expiry_ms(ash__clock_wall_ms(), u->resume_expiry_s);
    held(u, &filter);
    /* 250: a quarter, in ms. */
    int rc = until - u->kept_until_ms < u->resume_expiry_s * 250
                 ? is_there(u, &work, &filter, &found, err)
                 : move_expiry(u, &filter, until, deadline_ms, &found, err);
    bson_destroy(&filter);
    return rc == 0 && !found ? ash__resume_say_lost(u, &work, err) : rc;
}

int ash__resume_remove(ash_upload *u, const ash_work *work, int64_t *removed, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    held(u, &filter);
    ash_op op = ash__work_write_op(work);
    int rc = ash__collection_remove_all(u->bucket->attributes, &filter, &op, removed, err);
    bson_destroy(&filter);
    return rc;
}

/* ---- going on ---- */

static int corrupt(const char *token, const char *field, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "resumable upload %s has no valid %s", token, field);
}

static int64_t get_int64(ash_doc doc, const char *field)
{
    int64_t v = 0;
    return ash__value_as_int64(ash__doc_get(doc, field), &v) ? v : 0;
}

/* The upload as it was opened, without any chunk yet. */
static int rebuild(ash_bucket *b, const char *token, const bson_t *found, ash_upload **out,
                   ash_error *err)
{
    bson_iter_t it;
    bson_iter_t at;
    uint32_t len;
    ash_doc doc = ash__value_doc(ash__doc_get(ash__doc_from_bson(found), "upload"));
    ash_value name = ash__doc_get(doc, "filename");
    ash_value extra = ash__doc_get(doc, "extra");
    int64_t chunk_size = get_int64(doc, "chunkSize");
    int64_t condition = get_int64(doc, "condition");
    if (name.type != BSON_TYPE_UTF8)
        return corrupt(token, "filename", err);
    if (extra.type != BSON_TYPE_DOCUMENT)
        return corrupt(token, "extra", err);
    if (chunk_size < 1 || chunk_size > ASH_CHUNK_SIZE_MAX)
        return corrupt(token, "chunkSize", err);
    if (condition < ASH_PUT_ALWAYS || condition > ASH_PUT_IF_NEWEST_IS)
        return corrupt(token, "condition", err);
    if (!bson_iter_init(&it, found) || !bson_iter_find_descendant(&it, "upload.files_id", &at))
        return corrupt(token, "files_id", err);
    int rc = ash__upload_new(b, bson_iter_value(&at), ash__value_string(name, &len),
                             (int32_t)chunk_size, out, err);
    if (rc != 0)
        return rc;
    ash_upload *u = *out;
    bson_t view;
    ash__doc_to_bson(ash__value_doc(extra), &view);
    bson_concat(&u->extra, &view);
    u->condition = (ash_put_condition)condition;
    if (bson_iter_init(&it, found) && bson_iter_find_descendant(&it, "upload.newest", &at))
        bson_value_copy(bson_iter_value(&at), &u->newest);
    u->replace = ash__value_truthy(ash__doc_get(doc, "replace"));
    u->ttl_s = get_int64(doc, "ttl");
    u->resume_expiry_s = get_int64(doc, "keep");
    u->timeout_ms = get_int64(doc, "timeout");
    memcpy(u->token, token, sizeof u->token); /* find_upload has looked at its length */
    if (!ash__value_is_missing(ash__doc_get(doc, "digests")))
        u->digest_kinds =
            (unsigned)get_int64(doc, "digests") | (b->md5 ? (unsigned)ASH_DIGEST_MD5 : 0u);
    u->id_at_end = ash__value_truthy(ash__doc_get(doc, "idAtEnd"));
    if (u->id_at_end)
        ash__upload_stage_as_is(u);
    return ash__upload_choose_digests(u, err);
}

static int find_upload(const ash_work *work, const char *token, bson_t *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__work_find_options(work);
    int rc = ASH_ENOTFOUND;
    /* None of another length was ever given out. */
    if (strlen(token) == ASH_TOKEN_CHARS) {
        ash__resume_filter(&filter, token);
        rc = ash_collection_find_one(work->bucket->attributes, &filter, &o, found, err);
    }
    bson_destroy(&filter);
    if (rc == 0) {
        ash_doc doc = ash__doc_from_bson(found);
        ash_value expires = ash__doc_get(doc, "expires");
        bool valid = ash__doc_get(doc, "upload").type == BSON_TYPE_DOCUMENT &&
                     expires.type == BSON_TYPE_DATE_TIME;
        if (valid && ash__value_int64(expires) > ash__clock_wall_ms())
            return 0;
        bson_destroy(found);
        rc = valid ? ASH_ENOTFOUND : ASH_ECORRUPT;
    }
    if (rc == ASH_ENOTFOUND)
        ash__fail(err, rc, "no resumable upload %.64s, or it has expired", token);
    else if (rc == ASH_ECORRUPT)
        ash__fail(err, rc, "resumable upload %s has no valid state", token);
    return rc;
}

/* Take the whole chunks 0, 1, 2 … that the store has, and their bytes into the digest. */
static int account_stored(ash_upload *u, ash_cursor *cursor, ash_error *err)
{
    ash_file as_if = {.length = INT64_MAX, .chunk_size = u->chunk_size, .id = u->id};
    for (;;) {
        ash_doc doc;
        int64_t n;
        const uint8_t *data;
        size_t len;
        int rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        /* Up to the first that is not as this upload makes them; cut_off_rest removes that. */
        if (ash__chunk_parse(&as_if, doc, &n, &data, &len, NULL) != 0 || n != u->writer.stored ||
            len != (size_t)u->chunk_size)
            return 0;
        ash__hasher_add(u->hasher, data, len);
        ash__hasher_drain(u->hasher, 0); /* the bytes are the cursor's until its next document */
        u->position += (int64_t)len;
        u->writer.stored++;
    }
}

static int read_stored(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("n", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_find_options o = ash__work_find_options(&work);
    o.sort = sort;
    ash__filter_id(&filter, "files_id", &u->id);
    int rc = ash_collection_find(u->bucket->chunks, &filter, &o, &cursor, err);
    if (rc == 0)
        rc = account_stored(u, cursor, err);
    ash_cursor_free(cursor);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

/* From here on the one who had it stores nothing more, but for what is on its way. */
static int take_over(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bson_t filter = BSON_INITIALIZER;
    bool found = false;
    int64_t until = ash__expiry_ms(ash__clock_wall_ms(), u->resume_expiry_s);
    bson_oid_init(&u->holder, NULL);
    ash__resume_filter(&filter, u->token);
    int rc = move_expiry(u, &filter, until, deadline_ms, &found, err);
    bson_destroy(&filter);
    return rc == 0 && !found ? ash__resume_say_lost(u, &work, err) : rc;
}

static int refuse_existing(ash_upload *u, const ash_work *work, ash_error *err)
{
    bool exists = false;
    int rc = ash__file_exists(work, &u->id, &exists, err);
    if (rc == 0 && exists)
        rc = ash__say_id_taken(&u->id, err);
    return rc;
}

/* What follows a gap, or is no whole chunk, is of no use and would refuse the chunks to come; but
 * it may be the last chunk of a file that became visible meanwhile.  Without transactions one that
 * does so between the look and the removal loses it: only two uploads that were given the same id
 * can come to that, since the holder of the document is another one by now. */
static int cut_off_rest(const ash_work *work, void *ctx, ash_error *err)
{
    ash_upload *u = ctx;
    int rc = refuse_existing(u, work, err);
    if (rc == 0)
        rc = ash__chunks_remove(work, &u->id, u->writer.stored, -1, NULL, err);
    return rc;
}

int ash_bucket_resume_upload(ash_bucket *b, const char *token, ash_upload **out, ash_error *err)
{
    bson_t found;
    ash_upload *u = NULL;
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    *out = NULL;
    int rc = find_upload(&work, token, &found, err);
    if (rc != 0)
        return rc;
    rc = rebuild(b, token, &found, &u, err);
    bson_destroy(&found);
    if (rc == 0)
        rc = refuse_existing(u, &work, err);
    if (rc == 0)
        rc = take_over(u, work.deadline_ms, err); /* before its chunks are counted */
    if (rc == 0)
        rc = read_stored(u, work.deadline_ms, err);
    if (rc == 0)
        rc = ash__bucket_commit(&work, cut_off_rest, u, err);
    if (rc == 0) {
        *out = u;
        return 0;
    }
    if (u != NULL)
        u->state = UPLOAD_FAILED;
    ash_upload_free(u);
    return rc;
}
