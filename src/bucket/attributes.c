/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing NAME.attributes, whose documents attributes.h describes. */
#include "bucket/attributes.h"

#include <string.h>

int64_t ash__expiry_ms(int64_t now_ms, int64_t seconds)
{
    if (seconds > (INT64_MAX - now_ms) / 1000)
        return INT64_MAX;
    return now_ms + seconds * 1000;
}

/* An earlier file of the same id left them behind. */
static bool belongs_to(ash_doc doc, const ash_file *file)
{
    ash_value date = ash__doc_get(doc, "uploadDate");
    int64_t length;
    return ash__value_as_int64(ash__doc_get(doc, "length"), &length) && length == file->length &&
           date.type == BSON_TYPE_DATE_TIME && ash__value_int64(date) == file->upload_date_ms;
}

static void read_digest(ash_doc doc, const char *field, uint32_t digits, char *out)
{
    ash_value v = ash__doc_get(doc, field);
    uint32_t len;
    if (v.type != BSON_TYPE_UTF8)
        return;
    const char *text = ash__value_string(v, &len);
    /* Whatever else stands there is no digest, and is not to be compared with one. */
    if (len == digits && strspn(text, "0123456789abcdef") == digits)
        memcpy(out, text, digits + 1);
}

static void append_digest(bson_t *doc, const char *field, const char *text)
{
    if (text[0] != '\0')
        BSON_APPEND_UTF8(doc, field, text);
}

int ash__attributes_read(const ash_work *work, ash_file *file, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t found;
    ash_find_options o = ash__work_find_options(work);
    ash__filter_id(&filter, "_id", &file->id);
    bool any = false;
    int rc = ash__collection_find_if_any(work->bucket->attributes, &filter, &o, &found, &any, err);
    bson_destroy(&filter);
    if (!any)
        return rc; /* 0 for a driver's file */
    ash_doc doc = ash__doc_from_bson(&found);
    if (belongs_to(doc, file)) {
        ash_value version = ash__doc_get(doc, "version");
        ash_value expires = ash__doc_get(doc, "expires");
        read_digest(doc, "sha256", 64, file->digests.sha256);
        read_digest(doc, "sha1", 40, file->digests.sha1);
        read_digest(doc, "md5", 32, file->digests.md5);
        if (expires.type == BSON_TYPE_DATE_TIME)
            file->expires_ms = ash__value_int64(expires);
        (void)ash__value_as_int64(ash__doc_get(doc, "token"), &file->token);
        file->has_attributes = true;
        file->has_version = version.type == BSON_TYPE_OID;
        if (file->has_version)
            bson_oid_copy(ash__value_oid(version), &file->version);
    }
    bson_destroy(&found);
    return 0;
}

static void build(const ash_attributes *a, bson_t *doc)
{
    bson_oid_t version;
    /* A new one each time: it tells two versions apart whose files documents are the same. */
    bson_oid_init(&version, NULL);
    BSON_APPEND_VALUE(doc, "_id", a->id);
    BSON_APPEND_OID(doc, "version", &version);
    BSON_APPEND_INT64(doc, "length", a->length);
    BSON_APPEND_DATE_TIME(doc, "uploadDate", a->upload_date_ms);
    if (a->digests != NULL) {
        append_digest(doc, "sha256", a->digests->sha256);
        append_digest(doc, "sha1", a->digests->sha1);
        append_digest(doc, "md5", a->digests->md5);
    }
    if (a->expires_ms != 0)
        BSON_APPEND_DATE_TIME(doc, "expires", a->expires_ms);
    if (a->altered_ms != 0)
        BSON_APPEND_DATE_TIME(doc, "altered", a->altered_ms);
    if (a->token != 0)
        BSON_APPEND_INT64(doc, "token", a->token);
}

static int insert(const ash_work *work, const bson_t *doc, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = ash__work_write_op(work);
    return ash_collection_insert_one(work->bucket->attributes, doc, &o, err);
}

/* The whole document, so that nothing of an earlier file of that id stays. */
static int write_over(const ash_work *work, const bson_value_t *id, const bson_t *doc,
                      ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_update_options o = ash__work_update_options(work);
    ash__filter_id(&filter, "_id", id);
    o.upsert = true;
    int rc = ash__collection_change(work->bucket->attributes, &filter, doc, &o, NULL, err);
    bson_destroy(&filter);
    return rc;
}

int ash__attributes_write(const ash_work *work, const ash_attributes *a, ash_error *err)
{
    bson_t doc = BSON_INITIALIZER;
    build(a, &doc);
    int rc = a->is_new ? insert(work, &doc, err) : write_over(work, a->id, &doc, err);
    bson_destroy(&doc);
    return rc;
}

int ash__attributes_remove(const ash_work *work, const bson_value_t *id, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_op op = ash__work_write_op(work);
    ash__filter_id(&filter, "_id", id);
    int rc = ash__collection_remove_all(work->bucket->attributes, &filter, &op, NULL, err);
    bson_destroy(&filter);
    return rc;
}

static void append_facts(bson_t *operators, const ash_file *file, const char *sha256,
                         const int64_t *expires_ms)
{
    bson_t set;
    BSON_APPEND_DOCUMENT_BEGIN(operators, "$set", &set);
    BSON_APPEND_INT64(&set, "length", file->length);
    BSON_APPEND_DATE_TIME(&set, "uploadDate", file->upload_date_ms);
    if (sha256 != NULL)
        BSON_APPEND_UTF8(&set, "sha256", sha256);
    if (expires_ms != NULL && *expires_ms != 0)
        BSON_APPEND_DATE_TIME(&set, "expires", *expires_ms);
    bson_append_document_end(operators, &set);
}

int ash__attributes_amend(const ash_work *work, const ash_file *file, const char *sha256,
                          const int64_t *expires_ms, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t operators = BSON_INITIALIZER;
    bson_t unset;
    bool foreign = !file->has_attributes; /* what is there may speak of an earlier file */
    ash__filter_id(&filter, "_id", &file->id);
    /* With length and date, by which it belongs to the version at hand from now on. */
    append_facts(&operators, file, sha256, expires_ms);
    bson_init(&unset);
    if (foreign && sha256 == NULL)
        BSON_APPEND_UTF8(&unset, "sha256", "");
    if (expires_ms != NULL ? *expires_ms == 0 : foreign)
        BSON_APPEND_UTF8(&unset, "expires", "");
    if (foreign) {
        BSON_APPEND_UTF8(&unset, "sha1", "");
        BSON_APPEND_UTF8(&unset, "md5", "");
        BSON_APPEND_UTF8(&unset, "version", "");
        BSON_APPEND_UTF8(&unset, "altered", "");
    }
    if (!bson_empty(&unset)) /* older servers refuse an empty one */
        BSON_APPEND_DOCUMENT(&operators, "$unset", &unset);
    bson_destroy(&unset);
    ash_update_options o = ash__work_update_options(work);
    o.upsert = true;
    int rc = ash__collection_change(work->bucket->attributes, &filter, &operators, &o, NULL, err);
    bson_destroy(&filter);
    bson_destroy(&operators);
    return rc;
}
