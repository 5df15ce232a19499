/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "base/mem.h"

static void append_plan(const ash_plan *plan, int64_t length, bson_t *out)
{
    bson_t list, part;
    if (plan->store != NULL)
        bson_append_utf8(out, "store", 5, plan->store, -1);
    if (plan->store != NULL && (int64_t)plan->len != length)
        bson_append_int64(out, "size", 4, length);
    if (plan->base.len != 0) {
        bson_append_array_begin(out, "base", 4, &list);
        bson_append_document_begin(&list, "0", 1, &part);
        ash__append_id(&part, "_id", &plan->base);
        bson_append_int64(&part, "len", 3, plan->base_len);
        bson_append_document_end(&list, &part);
        bson_append_array_end(out, &list);
        bson_append_int32(out, "depth", 5, plan->depth);
    }
}

static void append_features(const ash_plan *plan, bson_t *out)
{
    bson_t list;
    char buf[ASH_KEY_CHARS];
    const char *key;
    if (plan->feature_count == 0)
        return;
    bson_append_array_begin(out, "features", 8, &list);
    for (int i = 0; i < plan->feature_count; i++) {
        bson_uint32_to_string((uint32_t)i, &key, buf, sizeof buf);
        bson_append_int64(&list, key, -1, (int64_t)plan->features[i]);
    }
    bson_append_array_end(out, &list);
}

/* GridFS's fields are always there, since drivers stumble over documents without them. */
void ash__content_document(const ash_content_writer *w, const ash_plan *plan,
                           const ash_content_id *id, int64_t length, bson_t *out)
{
    bool inside = plan->len <= ASH_IN_DOC_BYTES;
    ash_plan named = *plan;
    if (inside && plan->store == NULL)
        named.store = "in";
    else if (inside && strcmp(plan->store, "z") == 0)
        named.store = "zin";
    ash__append_id(out, "_id", id);
    bson_append_int64(out, "length", 6, inside ? 0 : (int64_t)plan->len);
    bson_append_int32(out, "chunkSize", 9, ash_bucket_chunk_size_bytes(w->c->bucket));
    bson_append_date_time(out, "uploadDate", 10, w->upload_date_ms);
    if (w->filename[0] != '\0')
        bson_append_utf8(out, "filename", 8, w->filename, -1);
    if (w->content_type != NULL)
        bson_append_utf8(out, "contentType", 11, w->content_type, -1);
    append_plan(&named, length, out);
    if (inside)
        bson_append_binary(out, "in", 2, BSON_SUBTYPE_BINARY, plan->data, (uint32_t)plan->len);
    append_features(plan, out);
}

int ash__insert_documents(ash_collection *c, const bson_t *const *docs, size_t count,
                          const ash_op *op, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    ash_doc *views = ash__alloc_array(count, sizeof *views);
    o.op = *op;
    for (size_t i = 0; i < count; i++)
        views[i] = ash__doc_from_bson(docs[i]);
    int rc = ash_collection_insert(c, views, count, &o, NULL, err);
    ash__free(views);
    return rc;
}

static bson_t *make_chunk(const ash_content_id *id, int32_t n, const uint8_t *data, size_t len)
{
    bson_t *doc = bson_new();
    bson_oid_t oid;
    bson_oid_init(&oid, NULL);
    bson_append_oid(doc, "_id", 3, &oid);
    ash__append_id(doc, "files_id", id);
    bson_append_int32(doc, "n", 1, n);
    bson_append_binary(doc, "data", 4, BSON_SUBTYPE_BINARY, data, (uint32_t)len);
    return doc;
}

int ash__insert_chunks(ash_contents *c, const ash_content_id *id, const uint8_t *data, size_t len,
                       const ash_op *op, ash_error *err)
{
    size_t size = (size_t)ash_bucket_chunk_size_bytes(c->bucket);
    size_t count = (len + size - 1) / size;
    bson_t **docs = ash__alloc_array(count + 1, sizeof *docs);
    for (size_t i = 0; i < count; i++)
        docs[i] =
            make_chunk(id, (int32_t)i, data + i * size, i + 1 < count ? size : len - i * size);
    int rc = ash__insert_documents(c->chunks, (const bson_t *const *)docs, count, op, err);
    for (size_t i = 0; i < count; i++)
        bson_destroy(docs[i]);
    ash__free(docs);
    return rc;
}
