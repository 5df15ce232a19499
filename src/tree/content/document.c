/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "base/mem.h"

#include <string.h>

/* [{_id, len, off?}] */
static void append_parts(bson_t *doc, const ash_form_part *parts, size_t count)
{
    bson_t list, part;
    char buf[ASH_KEY_CHARS];
    const char *key;
    bson_append_array_begin(doc, "base", 4, &list);
    for (size_t i = 0; i < count; i++) {
        bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        bson_append_document_begin(&list, key, -1, &part);
        ash__append_id(&part, "_id", &parts[i].id);
        bson_append_int64(&part, "len", 3, parts[i].len);
        if (parts[i].off != 0)
            bson_append_int64(&part, "off", 3, parts[i].off);
        bson_append_document_end(&list, &part);
    }
    bson_append_array_end(doc, &list);
}

/* GridFS's fields are always there, since drivers stumble over documents without them. */
static void append_head(const ash_content_writer *w, const ash_content_id *id, int64_t stored,
                        bool is_piece, bson_t *out)
{
    ash__append_id(out, "_id", id);
    bson_append_int64(out, "length", 6, stored);
    bson_append_int32(out, "chunkSize", 9, ash_bucket_chunk_size_bytes(w->c->bucket));
    bson_append_date_time(out, "uploadDate", 10, w->upload_date_ms);
    if (w->filename[0] != '\0' && !is_piece)
        bson_append_utf8(out, "filename", 8, w->filename, -1);
    if (w->content_type != NULL && !is_piece)
        bson_append_utf8(out, "contentType", 11, w->content_type, -1);
}

/* What it is like (tree/codec/sketch.h): numbers to be found by, and a byte of each slot that they
 * were made of. */
static void append_sketch(const ash_sketch *sketch, bson_t *out)
{
    int32_t features[ASH_SKETCH_FEATURES];
    ash_short_sketch slots;
    bson_t list;
    char buf[ASH_KEY_CHARS];
    const char *key;
    int n = ash__sketch_features(sketch, features);
    if (n == 0)
        return;
    bson_append_array_begin(out, "features", 8, &list);
    for (int i = 0; i < n; i++) {
        bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        bson_append_int32(&list, key, -1, features[i]);
    }
    bson_append_array_end(out, &list);
    ash__sketch_shorten(sketch, &slots);
    bson_append_binary(out, "sketch", 6, BSON_SUBTYPE_BINARY, slots.slots, sizeof slots.slots);
}

static const char *store_of(const ash_plan *plan, bool inside)
{
    if (inside && plan->store == NULL)
        return "in";
    if (inside && strcmp(plan->store, "z") == 0)
        return "zin";
    return plan->store;
}

void ash__content_document(const ash_content_writer *w, const ash_plan *plan,
                           const ash_content_id *id, int64_t length, bson_t *out)
{
    bool inside = plan->len <= ASH_IN_DOC_BYTES;
    const char *store = store_of(plan, inside);
    append_head(w, id, inside ? 0 : (int64_t)plan->len, plan->is_piece, out);
    if (store != NULL)
        bson_append_utf8(out, "store", 5, store, -1);
    if (plan->packed != NULL)
        bson_append_int64(out, "size", 4, length);
    if (plan->part_count > 0) {
        append_parts(out, plan->parts, plan->part_count);
        bson_append_int32(out, "depth", 5, plan->depth);
    }
    if (inside)
        bson_append_binary(out, "in", 2, BSON_SUBTYPE_BINARY, plan->data, (uint32_t)plan->len);
    if (plan->sketched)
        append_sketch(&plan->sketch, out);
}

void ash__list_document(const ash_content_writer *w, const ash_form_part *parts, size_t count,
                        const ash_content_id *id, bool is_piece, bson_t *out)
{
    bson_t ways, way;
    int64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].len;
    append_head(w, id, 0, is_piece, out);
    bson_append_utf8(out, "store", 5, "alt", 3);
    bson_append_int64(out, "size", 4, size);
    bson_append_array_begin(out, "alt", 3, &ways);
    bson_append_document_begin(&ways, "0", 1, &way);
    bson_append_utf8(&way, "store", 5, "cat", 3);
    append_parts(&way, parts, count);
    bson_append_document_end(&ways, &way);
    bson_append_array_end(out, &ways);
}

/* ---- many at once ---- */

void ash__documents_add(ash_documents *d, bson_t *doc)
{
    ash_assert(d->made == d->count);
    d->docs = ash__grow_array(d->docs, d->count, &d->capacity, sizeof(bson_t *));
    d->docs[d->count++] = doc;
    d->made = d->count;
}

/* An empty one at the end, with room for so much. */
static bson_t *add_empty(ash_documents *d, size_t room)
{
    if (d->count == d->made) {
        /* At once as large as it gets: growing doubles, and touches twice the memory. */
        ash__documents_add(d, bson_sized_new(room));
        return d->docs[d->count - 1];
    }
    bson_reinit(d->docs[d->count]);
    return d->docs[d->count++];
}

void ash__documents_add_chunks(ash_documents *d, const ash_contents *c, const ash_content_id *id,
                               const ash_plan *plan)
{
    size_t size = (size_t)ash_bucket_chunk_size_bytes(c->bucket);
    int32_t n = 0;
    if (plan->len <= ASH_IN_DOC_BYTES)
        return;
    for (size_t at = 0; at < plan->len; at += size) {
        enum { FIELDS_BYTES = 128 };
        bson_oid_t oid;
        size_t len = plan->len - at < size ? plan->len - at : size;
        bson_t *doc = add_empty(d, len + FIELDS_BYTES);
        bson_oid_init(&oid, NULL);
        bson_append_oid(doc, "_id", 3, &oid);
        ash__append_id(doc, "files_id", id);
        bson_append_int32(doc, "n", 1, n++);
        bson_append_binary(doc, "data", 4, BSON_SUBTYPE_BINARY, plan->data + at, (uint32_t)len);
    }
}

int ash__documents_insert(const ash_documents *d, ash_collection *c, const ash_op *op,
                          ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    if (d->count == 0)
        return 0;
    ash_doc *views = ash__alloc_array(d->count, sizeof *views);
    o.op = *op;
    for (size_t i = 0; i < d->count; i++)
        views[i] = ash__doc_from_bson(d->docs[i]);
    int rc = ash_collection_insert(c, views, d->count, &o, NULL, err);
    ash__free(views);
    return rc;
}

void ash__documents_release(ash_documents *d)
{
    for (size_t i = 0; i < d->made; i++)
        bson_destroy(d->docs[i]);
    ash__free(d->docs);
    *d = (ash_documents){0};
}

void ash__documents_clear(ash_documents *d)
{
    d->count = 0;
}
