/* SPDX-License-Identifier: Apache-2.0 */
/* filemd5, which old drivers call after an upload, and what drivers cannot know of a bucket: the
 * collection of attributes beside it. */
#include "wire/cmd.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

/* Adds the data of the chunks, which must be numbered 0, 1, 2, …, to the digest. */
static int digest_chunks(ash_cursor *cursor, ash_digest *md5, int64_t *count, ash_error *err)
{
    for (;;) {
        ash_doc chunk;
        int64_t n = -1;
        const uint8_t *bytes = NULL;
        uint32_t len = 0;
        int rc = ash_cursor_next(cursor, &chunk, err);
        if (rc != 0 || chunk.data == NULL)
            return rc;
        ash_value data = ash__doc_get(chunk, "data");
        ash__value_as_int64(ash__doc_get(chunk, "n"), &n);
        if (data.type == BSON_TYPE_BINARY)
            bytes = ash__value_binary_content(data, &len);
        /* A gap would give the digest of another file. */
        if (n != *count || bytes == NULL)
            return ash__fail_server(err, ASH_ECHUNKMISSING, ASH_MONGO_LOCATION_CHUNKS_OUT_OF_ORDER,
                                    "chunks out of order: expected n %lld, found %lld",
                                    (long long)*count, (long long)n);
        ash__digest_add(md5, bytes, len);
        (*count)++;
    }
}

static int open_chunks(ash_command *c, ash_cursor **out, ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_builder filter = ASH_BUILDER_INIT, sort = ASH_BUILDER_INIT;
    ash_collection *coll = NULL;
    bson_t filter_doc, sort_doc;
    char *name = ash__sprintf("%s.chunks", ash__arg_string(c, "root", "fs"));
    ash__builder_begin(&filter);
    ash__builder_begin_doc(&filter, "files_id");
    ash__builder_value(&filter, "$eq", c->value);
    ash__builder_end(&filter);
    ash__builder_end(&filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &filter_doc);
    ash__builder_begin(&sort);
    ash__builder_int32(&sort, "n", 1);
    ash__builder_end(&sort);
    ash__doc_to_bson(ash__builder_doc(&sort), &sort_doc);
    o.op = c->op;
    o.sort = &sort_doc;
    o.download = true;
    int rc = ash_collection_new(c->server->store, c->db, name, &coll, err);
    if (rc == 0)
        rc = ash_collection_find(coll, &filter_doc, &o, out, err);
    ash_collection_free(coll);
    ash__free(name);
    ash__builder_release(&filter);
    ash__builder_release(&sort);
    return rc;
}

int ash__run_filemd5(ash_command *c, ash_error *err)
{
    ash_cursor *cursor = NULL;
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    char text[2 * ASH_DIGEST_MAX_BYTES + 1];
    int64_t count = 0;
    ash_digest *md5 = ash__digest_new(ASH_DIGEST_MD5);
    if (md5 == NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_LOCATION_NO_MD5,
                                "this machine's cryptography does not offer MD5");
    int rc = open_chunks(c, &cursor, err);
    if (rc == 0)
        rc = digest_chunks(cursor, md5, &count, err);
    if (rc == 0) {
        ash__hex(digest, ash__digest_finish(md5, digest), text);
        ash__builder_int32(&c->reply->body, "numChunks", (int32_t)count);
        ash__builder_text(&c->reply->body, "md5", text);
    }
    ash_cursor_free(cursor);
    ash__digest_free(md5);
    return rc;
}

/* ---- what goes with a dropped bucket ---- */

/* "files" or "chunks": the bucket's name, to be freed; NULL for another collection. */
static char *bucket_of(const char *coll)
{
    static const char *const parts[] = {".files", ".chunks"};
    size_t len = strlen(coll);
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        size_t part = strlen(parts[i]);
        if (len > part && strcmp(coll + len - part, parts[i]) == 0)
            return ash__strndup(coll, len - part);
    }
    return NULL;
}

/* {name: {$in: [bucket.files, bucket.chunks]}} */
static void parts_filter(const char *bucket, ash_builder *out)
{
    char *files = ash__sprintf("%s.files", bucket), *chunks = ash__sprintf("%s.chunks", bucket);
    ash__builder_begin(out);
    ash__builder_begin_doc(out, "name");
    ash__builder_begin_array(out, "$in");
    ash__builder_text(out, "0", files);
    ash__builder_text(out, "1", chunks);
    ash__builder_end(out);
    ash__builder_end(out);
    ash__builder_end(out);
    ash__free(files);
    ash__free(chunks);
}

/* Is neither of the bucket's collections there any more? */
static int is_gone(ash_command *c, const char *bucket, bool *gone, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    parts_filter(bucket, &filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &view);
    int rc = ash_store_list_collections(c->server->store, c->db, &view, &c->op, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    *gone = rc == 0 && doc.data == NULL;
    ash_cursor_free(cursor);
    ash__builder_release(&filter);
    return rc;
}

static void add_type(ash_builder *b, const char *field, const char *type)
{
    ash__builder_begin_doc(b, field);
    ash__builder_text(b, "$type", type);
    ash__builder_end(b);
}

static void add_exists(ash_builder *b, const char *index, const char *field)
{
    ash__builder_begin_doc(b, index);
    ash__builder_begin_doc(b, field);
    ash__builder_bool(b, "$exists", true);
    ash__builder_end(b);
    ash__builder_end(b);
}

/* {$nor: [the forms that bucket/attributes.h has]} */
static void foreign_filter(ash_builder *out)
{
    ash__builder_begin(out);
    ash__builder_begin_array(out, "$nor");
    ash__builder_begin_doc(out, "0");
    add_type(out, "length", "long");
    add_type(out, "uploadDate", "date");
    ash__builder_end(out);
    add_exists(out, "1", "_id.resume");
    add_exists(out, "2", "_id.copy");
    ash__builder_end(out);
    ash__builder_end(out);
}

/* Documents of another form: then the collection is somebody's own, whatever its name. */
static int count_foreign(ash_command *c, ash_collection *attributes, int64_t *count, ash_error *err)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    ash_builder filter = ASH_BUILDER_INIT;
    bson_t view;
    foreign_filter(&filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &view);
    o.op = c->op;
    o.limit = 1;
    int rc = ash_collection_count(attributes, &view, &o, count, err);
    ash__builder_release(&filter);
    return rc;
}

static int drop_attributes(ash_command *c, const char *bucket, ash_error *err)
{
    ash_collection *attributes = NULL;
    int64_t foreign = 0;
    bool gone = false;
    char *name = ash__sprintf("%s.attributes", bucket);
    int rc = is_gone(c, bucket, &gone, err);
    if (rc == 0 && gone)
        rc = ash_collection_new(c->server->store, c->db, name, &attributes, err);
    if (rc == 0 && gone)
        rc = count_foreign(c, attributes, &foreign, err);
    if (rc == 0 && gone && foreign == 0)
        rc = ash_collection_drop(attributes, &c->op, err);
    ash_collection_free(attributes);
    ash__free(name);
    return rc;
}

void ash__gridfs_dropped(ash_command *c)
{
    ash_error err = ASH_ERROR_INIT;
    char *bucket = bucket_of(c->coll);
    /* The drop itself has been done: what goes wrong here is no failure of it. */
    int rc = bucket != NULL && c->op.transaction == NULL ? drop_attributes(c, bucket, &err) : 0;
    if (rc != 0 && rc != ASH_ENOTFOUND)
        ash__log(ASH_LOG_WARN, "cannot drop %s.%s.attributes with its bucket: %s", c->db, bucket,
                 err.text);
    ash__free(bucket);
}
