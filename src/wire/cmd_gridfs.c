/* SPDX-License-Identifier: Apache-2.0 */
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
    ash_builder filter = ASH_BUILDER_INIT;
    ash_collection *coll = NULL;
    bson_t filter_doc, *sort = BCON_NEW("n", BCON_INT32(1));
    char *name = ash__sprintf("%s.chunks", ash__arg_string(c, "root", "fs"));
    ash__builder_begin(&filter);
    ash__builder_begin_doc(&filter, "files_id");
    ash__builder_value(&filter, "$eq", c->value);
    ash__builder_end(&filter);
    ash__builder_end(&filter);
    ash__doc_to_bson(ash__builder_doc(&filter), &filter_doc);
    o.op = c->op;
    o.sort = sort;
    o.download = true;
    int rc = ash_collection_new(c->server->store, c->db, name, &coll, err);
    if (rc == 0)
        rc = ash_collection_find(coll, &filter_doc, &o, out, err);
    ash_collection_free(coll);
    ash__free(name);
    ash__builder_release(&filter);
    bson_destroy(sort);
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

/* Is neither of the bucket's collections there any more? */
static int is_gone(ash_command *c, const char *bucket, bool *gone, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    char *files = ash__sprintf("%s.files", bucket), *chunks = ash__sprintf("%s.chunks", bucket);
    bson_t *filter =
        BCON_NEW("name", "{", "$in", "[", BCON_UTF8(files), BCON_UTF8(chunks), "]", "}");
    int rc = ash_store_list_collections(c->server->store, c->db, filter, &c->op, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    *gone = rc == 0 && doc.data == NULL;
    ash_cursor_free(cursor);
    bson_destroy(filter);
    ash__free(files);
    ash__free(chunks);
    return rc;
}

/* Documents that are not of the form in bucket/attributes.h: then the collection is somebody's own,
 * whatever its name. */
static int count_foreign(ash_command *c, ash_collection *attributes, int64_t *count, ash_error *err)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    bson_t *filter =
        BCON_NEW("$nor", "[", "{", "length", "{", "$type", "long", "}", "uploadDate", "{", "$type",
                 "date", "}", "}", "{", "_id.resume", "{", "$exists", BCON_BOOL(true), "}", "}",
                 "{", "_id.copy", "{", "$exists", BCON_BOOL(true), "}", "}", "]");
    o.op = c->op;
    o.limit = 1;
    int rc = ash_collection_count(attributes, filter, &o, count, err);
    bson_destroy(filter);
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
    int rc = bucket != NULL && c->op.transaction == NULL ? drop_attributes(c, bucket, &err) : 0;
    if (rc != 0 && rc != ASH_ENOTFOUND)
        ash__log(ASH_LOG_WARN, "cannot drop %s.%s.attributes with its bucket: %s", c->db, bucket,
                 err.text);
    ash__free(bucket);
}
