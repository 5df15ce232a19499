/* SPDX-License-Identifier: Apache-2.0 */
/* Files documents, which any program may have written: what is missing or odd is an error only
 * where the bytes cannot be told without it. */
#include "bucket/file.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bucket/attributes.h"

#include <string.h>

/* A damaged files document: say which file and which field. */
static int corrupt(const ash_file *f, const char *field, const char *why, ash_error *err)
{
    char *id = ash__id_text(&f->id);
    int rc = ash__fail(err, ASH_ECORRUPT, "files document %s: %s %s", id, field, why);
    ash__free(id);
    return rc;
}

/* A whole number of any numeric type: implementations differ in what they store. */
static int read_number(ash_file *f, const char *field, int64_t min, int64_t max, int64_t *out,
                       ash_error *err)
{
    ash_value v = ash__doc_get(f->doc, field);
    if (ash__value_is_missing(v))
        return corrupt(f, field, "is missing", err);
    if (!ash__value_is_number(v))
        return corrupt(f, field, "is not a number", err);
    if (!ash__value_as_int64(v, out))
        return corrupt(f, field, "is not a whole number of bytes", err);
    if (*out < min)
        return corrupt(f, field, min == 0 ? "is negative" : "is not positive", err);
    if (*out > max)
        return corrupt(f, field, "is too big", err);
    return 0;
}

/* Bytes do not need a date, and some program may have put a text there: 1970, then. */
static void read_date(ash_file *f)
{
    ash_value v = ash__doc_get(f->doc, "uploadDate");
    if (v.type == BSON_TYPE_DATE_TIME)
        f->upload_date_ms = ash__value_int64(v);
}

/* Files of older implementations may have none, and drivers take a number for one: its bytes are
 * to be had by its id. */
static void read_filename(ash_file *f)
{
    ash_value v = ash__doc_get(f->doc, "filename");
    uint32_t len;
    if (v.type == BSON_TYPE_UTF8 || v.type == BSON_TYPE_SYMBOL)
        f->filename = ash__value_string(v, &len);
}

/* Needed only where there are bytes.  One that is longer than any chunk can be is as good as one
 * that the whole file fits. */
static int read_chunk_size(ash_file *f, ash_error *err)
{
    int64_t size = 0;
    int rc = read_number(f, "chunkSize", 1, INT64_MAX, &size, f->length > 0 ? err : NULL);
    if (rc != 0 && f->length == 0) {
        size = ASH_CHUNK_SIZE_DEFAULT;
        rc = 0;
    }
    if (rc == 0 && size > INT32_MAX && f->length > INT32_MAX)
        return corrupt(f, "chunkSize", "is too big", err);
    f->chunk_size = size > INT32_MAX ? INT32_MAX : (int32_t)size;
    return rc;
}

static void read_expiry(ash_file *f)
{
    ash_value v = ash__doc_get(f->doc, ASH_FIELD_EXPIRES);
    if (v.type == BSON_TYPE_DATE_TIME)
        f->expires_ms = ash__value_int64(v);
}

static int read_fields(ash_file *f, ash_error *err)
{
    bson_iter_t it;
    bson_t doc;
    ash__doc_to_bson(f->doc, &doc);
    if (!bson_iter_init_find(&it, &doc, "_id"))
        return ash__fail(err, ASH_ECORRUPT, "files document has no _id");
    bson_value_copy(bson_iter_value(&it), &f->id);
    int rc = read_number(f, "length", 0, INT64_MAX, &f->length, err);
    if (rc == 0)
        rc = read_chunk_size(f, err);
    if (rc == 0 && ash__chunk_count(f->length, f->chunk_size) > ASH_CHUNKS_MAX)
        rc = corrupt(f, "length", "needs more chunks than can be numbered", err);
    read_date(f);
    read_filename(f);
    read_expiry(f);
    return rc;
}

/* Keeps a copy of doc. */
static int file_new(ash_doc doc, ash_file **out, ash_error *err)
{
    ash_file *f = ash__alloc(sizeof *f + doc.len);
    memcpy(f->bytes, doc.data, doc.len);
    f->doc = (ash_doc){f->bytes, doc.len};
    f->id.value_type = BSON_TYPE_EOD;
    int rc = read_fields(f, err);
    if (rc == 0)
        *out = f;
    else
        ash_file_free(f);
    return rc;
}

int ash_file_from_document(ash_doc doc, ash_file **out, ash_error *err)
{
    *out = NULL;
    int rc = ash__bson_validate(doc.data, doc.len, ASH_DOC_MAX_DEPTH, err);
    return rc == 0 ? file_new(doc, out, err) : rc;
}

void ash_file_free(ash_file *f)
{
    if (f == NULL)
        return;
    bson_value_destroy(&f->id);
    ash__free(f);
}

ash_doc ash_file_document(const ash_file *f)
{
    return f->doc;
}

const bson_value_t *ash_file_id(const ash_file *f)
{
    return &f->id;
}

int64_t ash_file_length(const ash_file *f)
{
    return f->length;
}

int32_t ash_file_chunk_size_bytes(const ash_file *f)
{
    return f->chunk_size;
}

int64_t ash_file_upload_date_ms(const ash_file *f)
{
    return f->upload_date_ms;
}

const char *ash_file_filename(const ash_file *f)
{
    return f->filename;
}

bool ash_file_metadata(const ash_file *f, bson_t *out)
{
    ash_value v = ash__doc_get(f->doc, "metadata");
    if (v.type != BSON_TYPE_DOCUMENT)
        return false;
    ash__doc_to_bson(ash__value_doc(v), out);
    return true;
}

const char *ash_file_sha256(const ash_file *f)
{
    return ash_file_digest(f, ASH_DIGEST_SHA256);
}

const char *ash_file_digest(const ash_file *f, ash_digest_kind kind)
{
    const char *text = ash__digests_get(&f->digests, kind);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

unsigned ash__file_digest_kinds(const ash_file *f)
{
    static const ash_digest_kind kinds[] = {ASH_DIGEST_SHA256, ASH_DIGEST_SHA1, ASH_DIGEST_MD5};
    unsigned sum = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++)
        sum |= ash_file_digest(f, kinds[i]) != NULL ? (unsigned)kinds[i] : 0;
    return sum;
}

int64_t ash_file_expires_ms(const ash_file *f)
{
    return f->expires_ms;
}

int64_t ash__chunk_count(int64_t length, int32_t chunk_size)
{
    return length / chunk_size + (length % chunk_size != 0);
}

int32_t ash__chunk_length(int64_t length, int32_t chunk_size, int64_t n)
{
    int64_t rest = length - n * chunk_size;
    return rest < chunk_size ? (int32_t)rest : chunk_size;
}

bool ash__file_same(const ash_file *a, const ash_file *b)
{
    if (a->has_version != b->has_version)
        return false;
    if (a->has_version && !bson_oid_equal(&a->version, &b->version))
        return false;
    return a->doc.len == b->doc.len && memcmp(a->doc.data, b->doc.data, a->doc.len) == 0;
}

static int find_by_id(ash_bucket *b, const bson_value_t *id, const ash_find_options *o,
                      ash_file **out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_cursor *cursor = NULL; /* it lends its document, so that that is copied once */
    ash_batch batch = {.count = 0};
    ash__filter_id(&filter, "_id", id);
    int rc = ash_collection_find(b->files, &filter, o, &cursor, err);
    bson_destroy(&filter);
    if (rc == 0)
        rc = ash_cursor_next_batch(cursor, 1, 0, &batch, err);
    if (rc == 0 && batch.count == 0)
        rc = ash__say_id_missing(id, err);
    if (rc == 0)
        rc = file_new(batch.docs[0], out, err);
    ash_cursor_free(cursor);
    return rc;
}

int ash__file_get(const ash_work *work, const bson_value_t *id, bool with_attributes,
                  ash_file **out, ash_error *err)
{
    ash_find_options o = ash__work_find_options(work);
    o.limit = 1;
    *out = NULL;
    int rc = ash__id_check(id, err);
    if (rc == 0)
        rc = find_by_id(work->bucket, id, &o, out, err);
    if (rc == 0 && with_attributes)
        rc = ash__attributes_read(work, *out, err);
    if (rc != 0) {
        ash_file_free(*out);
        *out = NULL;
    }
    return rc;
}

bool ash__file_is_over(const ash_file *f)
{
    return f->expires_ms != 0 && f->expires_ms <= ash__clock_wall_ms();
}

/* Of any other type than a date, or missing: it never ends. */
void ash__filter_living(bson_t *filter)
{
    BCON_APPEND(filter, ASH_FIELD_EXPIRES, "{", "$not", "{", "$lte",
                BCON_DATE_TIME(ash__clock_wall_ms()), "}", "}");
}

void ash__append_expiry(bson_t *doc, int64_t expires_ms)
{
    /* Drivers' dates end there; the attributes have the date all the same. */
    const int64_t year_10000_ms = INT64_C(253402300800000);
    if (expires_ms > 0 && expires_ms < year_10000_ms)
        BSON_APPEND_DATE_TIME(doc, ASH_FIELD_EXPIRES, expires_ms);
}

int ash__file_get_living(const ash_work *work, const bson_value_t *id, bool with_attributes,
                         ash_file **out, ash_error *err)
{
    int rc = ash__file_get(work, id, with_attributes, out, err);
    if (rc != 0 || !ash__file_is_over(*out))
        return rc;
    rc = ash__say_id_missing(id, err);
    ash_file_free(*out);
    *out = NULL;
    return rc;
}

int ash__file_exists(const ash_work *work, const bson_value_t *id, bool *out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t found;
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1));
    ash_find_options o = ash__work_find_options(work);
    o.projection = projection;
    ash__filter_id(&filter, "_id", id);
    int rc = ash__collection_find_if_any(work->bucket->files, &filter, &o, &found, out, err);
    bson_destroy(&filter);
    bson_destroy(projection);
    if (*out)
        bson_destroy(&found);
    return rc;
}

static int find_revision(const ash_work *work, const ash_revision *which, const bson_t *projection,
                         bson_t *doc, bool *found, ash_error *err)
{
    int64_t number = which->number;
    bson_t filter = BSON_INITIALIZER;
    bson_t sort = BSON_INITIALIZER;
    ash_find_options o = ash__work_find_options(work);
    BSON_APPEND_UTF8(&filter, "filename", which->filename);
    ash__filter_living(&filter);
    BSON_APPEND_INT32(&sort, "uploadDate", number < 0 ? -1 : 1);
    o.sort = &sort;
    o.projection = projection;
    /* § revision: -1 is the newest and -2 the one before, counted from the other end. */
    o.skip = number < 0 ? -(number + 1) : number;
    int rc = ash__collection_find_if_any(work->bucket->files, &filter, &o, doc, found, err);
    bson_destroy(&filter);
    bson_destroy(&sort);
    return rc;
}

/* Two failures look alike to the query; the caller must tell them apart (§ File Download by
 * Filename). */
static int no_such_revision(const ash_work *work, const ash_revision *which, ash_error *err)
{
    const ash_revision newest = {which->filename, -1};
    bson_t doc;
    bool any = false;
    int rc = 0;
    if (which->number != 0 && which->number != -1)
        rc = find_revision(work, &newest, NULL, &doc, &any, err);
    if (rc != 0)
        return rc;
    if (!any)
        return ash__fail(err, ASH_ENOTFOUND, "no file named %.200s", which->filename);
    bson_destroy(&doc);
    return ash__fail(err, ASH_ENOREVISION, "no revision %d of the file named %.200s",
                     (int)which->number, which->filename);
}

int ash__file_get_by_name(const ash_work *work, const ash_revision *which, bool with_attributes,
                          ash_file **out, ash_error *err)
{
    bson_t doc;
    *out = NULL;
    int rc = ash__filename_check(which->filename, err);
    if (rc != 0)
        return rc;
    bool found = false;
    rc = find_revision(work, which, NULL, &doc, &found, err);
    if (rc == 0 && !found)
        return no_such_revision(work, which, err);
    if (rc == 0) {
        rc = file_new(ash__doc_from_bson(&doc), out, err);
        bson_destroy(&doc);
    }
    if (rc == 0 && with_attributes)
        rc = ash__attributes_read(work, *out, err);
    if (rc == 0 && ash__file_is_over(*out)) /* as only its attributes say */
        rc = ash__fail(err, ASH_ENOTFOUND, "no file named %.200s", which->filename);
    if (rc != 0) {
        ash_file_free(*out);
        *out = NULL;
    }
    return rc;
}

int ash__file_newest(const ash_work *work, const char *filename, bool *found, bson_value_t *id,
                     int64_t *upload_date_ms, ash_error *err)
{
    bson_t doc;
    bson_iter_t it;
    const ash_revision newest = {filename, -1};
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1), "uploadDate", BCON_INT32(1));
    int rc = find_revision(work, &newest, projection, &doc, found, err);
    bson_destroy(projection);
    if (!*found)
        return rc;
    *upload_date_ms = INT64_MIN; /* anything else than a date is before all dates */
    if (bson_iter_init_find(&it, &doc, "uploadDate") && BSON_ITER_HOLDS_DATE_TIME(&it))
        *upload_date_ms = bson_iter_date_time(&it);
    if (bson_iter_init_find(&it, &doc, "_id"))
        bson_value_copy(bson_iter_value(&it), id);
    else
        rc = ash__fail(err, ASH_ECORRUPT, "files document of %.200s has no _id", filename);
    bson_destroy(&doc);
    return rc;
}

int ash__file_ids_of_name(const ash_work *work, const char *filename, int64_t limit, bson_t *ids,
                          uint32_t *count, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__work_find_options(work);
    bson_init(ids);
    BSON_APPEND_UTF8(&filter, "filename", filename);
    o.limit = limit;
    int rc = ash__ids_find(work->bucket->files, &filter, &o, ids, count, err);
    bson_destroy(&filter);
    return rc;
}

int ash_bucket_get_file(ash_bucket *b, const bson_value_t *id, bool with_attributes, ash_file **out,
                        ash_error *err)
{
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    return ash__file_get_living(&work, id, with_attributes, out, err);
}

int ash_bucket_get_file_by_name(ash_bucket *b, const char *filename, int32_t revision,
                                bool with_attributes, ash_file **out, ash_error *err)
{
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    const ash_revision which = {filename, revision};
    return ash__file_get_by_name(&work, &which, with_attributes, out, err);
}

int ash__file_check_unchanged(const ash_work *work, const ash_file *file, ash_error *err)
{
    ash_file *now = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__file_get(work, &file->id, true, &now, &own);
    bool same = rc == 0 && ash__file_same(file, now);
    ash_file_free(now);
    /* Gone, or no longer a files document: changed, either way. */
    if (same || (rc != 0 && rc != ASH_ENOTFOUND && rc != ASH_ECORRUPT))
        return ash__unless(0, rc, &own, err);
    char *id = ash__id_text(&file->id);
    rc = ash__fail(err, ASH_ECONFLICT, "file %s was changed or deleted meanwhile", id);
    ash__free(id);
    return rc;
}
