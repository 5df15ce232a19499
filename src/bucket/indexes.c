/* SPDX-License-Identifier: Apache-2.0 */
/* § Indexes: looked for before the first write of a bucket object, and made only where the bucket
 * is empty. */
#include "bucket/bucket.h"

#include "bson/compare.h"

#include <string.h>

typedef struct wanted_index {
    const char *name;
    const char *first;
    const char *second; /* or NULL */
    bool unique;
    bool sparse; /* files that never expire are not in it */
} wanted_index;

static const wanted_index files_index = {"filename_1_uploadDate_1", "filename", "uploadDate", false,
                                         false};
static const wanted_index chunks_index = {"files_id_1_n_1", "files_id", "n", true, false};
static const wanted_index expiry_index = {"expires_1", "expires", NULL, false, true};

static void append_key(bson_t *doc, const wanted_index *w)
{
    BSON_APPEND_INT32(doc, w->first, 1);
    if (w->second != NULL)
        BSON_APPEND_INT32(doc, w->second, 1);
}

/* § Indexes: numbers are compared by value, whatever their type; the order of fields counts. */
static bool is_wanted(ash_doc index, const wanted_index *w)
{
    ash_value key = ash__doc_get(index, "key");
    ash_value unique = ash__doc_get(index, "unique");
    if (key.type != BSON_TYPE_DOCUMENT)
        return false;
    if (w->unique && (ash__value_is_missing(unique) || !ash__value_truthy(unique)))
        return false;
    bson_t want = BSON_INITIALIZER;
    append_key(&want, w);
    bool same = true;
    ash_doc_iter a = ash__doc_iter(ash__value_doc(key));
    ash_doc_iter b = ash__doc_iter(ash__doc_from_bson(&want));
    bool more_a = ash__doc_iter_next(&a);
    bool more_b = ash__doc_iter_next(&b);
    while (same && more_a && more_b) {
        same = strcmp(a.name, b.name) == 0 && ash__value_is_number(a.value) &&
               ash__value_compare(a.value, b.value, NULL) == 0;
        more_a = ash__doc_iter_next(&a);
        more_b = ash__doc_iter_next(&b);
    }
    bson_destroy(&want);
    return same && !more_a && !more_b;
}

static int index_exists(ash_collection *c, const wanted_index *w, const ash_op *op, bool *out,
                        ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc;
    ash_error own = ASH_ERROR_INIT;
    *out = false;
    int rc = ash_collection_list_indexes(c, op, &cursor, &own);
    while (rc == 0 && !*out) {
        rc = ash_cursor_next(cursor, &doc, &own);
        if (rc != 0 || doc.data == NULL)
            break;
        *out = is_wanted(doc, w);
    }
    ash_cursor_free(cursor);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err); /* no collection, no index */
}

static int create_index(ash_collection *c, const wanted_index *w, const ash_op *op, ash_error *err)
{
    bson_t specs = BSON_INITIALIZER;
    bson_t spec;
    bson_t key;
    BSON_APPEND_DOCUMENT_BEGIN(&specs, "0", &spec);
    BSON_APPEND_DOCUMENT_BEGIN(&spec, "key", &key);
    append_key(&key, w);
    bson_append_document_end(&spec, &key);
    BSON_APPEND_UTF8(&spec, "name", w->name);
    if (w->unique)
        BSON_APPEND_BOOL(&spec, "unique", true);
    if (w->sparse)
        BSON_APPEND_BOOL(&spec, "sparse", true);
    bson_append_document_end(&specs, &spec);
    int rc = ash_collection_create_indexes(c, &specs, op, NULL, err);
    if (rc != 0)
        ash__error_prefix(err, "cannot create index %s on %s", w->name, ash_collection_name(c));
    bson_destroy(&specs);
    return rc;
}

static int ensure_index(ash_collection *c, const wanted_index *w, const ash_op *op, ash_error *err)
{
    bool exists = false;
    int rc = index_exists(c, w, op, &exists, err);
    if (rc == 0 && !exists)
        rc = create_index(c, w, op, err);
    return rc;
}

/* Looked up on the primary, whatever the bucket's read preference: an old view of another member
 * could look empty. */
static int files_are_empty(const ash_work *work, bool *out, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t filter = BSON_INITIALIZER;
    bson_t *projection = BCON_NEW("_id", BCON_INT32(1));
    bson_t *primary = BCON_NEW("mode", "primary");
    bson_t found;
    o.op.deadline_ms = work->deadline_ms;
    o.op.read_preference = primary;
    o.projection = projection;
    bool any = false;
    int rc = ash__collection_find_if_any(work->bucket->files, &filter, &o, &found, &any, err);
    *out = rc == 0 && !any;
    if (any)
        bson_destroy(&found);
    bson_destroy(primary);
    bson_destroy(projection);
    return rc;
}

int ash__bucket_index(const ash_work *work, ash_error *err)
{
    if (atomic_load(&work->bucket->indexed))
        return 0;
    bool empty = false;
    ash_op op = ash__work_write_op(work);
    int rc = files_are_empty(work, &empty, err);
    if (rc == 0 && empty)
        rc = ensure_index(work->bucket->files, &files_index, &op, err);
    if (rc == 0 && empty)
        rc = ensure_index(work->bucket->chunks, &chunks_index, &op, err);
    /* Two threads may both look; creating what exists changes nothing. */
    if (rc == 0)
        atomic_store(&work->bucket->indexed, true);
    return rc;
}

int ash__bucket_index_expiry(const ash_work *work, ash_error *err)
{
    if (atomic_load(&work->bucket->expiry_indexed))
        return 0;
    ash_op op = ash__work_write_op(work);
    int rc = ensure_index(work->bucket->attributes, &expiry_index, &op, err);
    if (rc == 0)
        atomic_store(&work->bucket->expiry_indexed, true);
    return rc;
}
