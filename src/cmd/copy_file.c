/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/copy.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bucket/attributes.h"

#include <string.h>

enum { BATCH_DOCS = 16, BATCH_BYTES = 4 << 20 };

struct copying {
    ash_bucket *to;
    ash_download *download;
    const ash_file *file; /* the version that is being read */
    ash_progress *progress;
    ash_digest *digest;
    char *sha256;
    int64_t chunks;
    bson_t batch[BATCH_DOCS];
    size_t count, bytes;
};

static int flush_batch(struct copying *c, ash_error *err)
{
    ash_doc docs[BATCH_DOCS];
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    int result = 0;
    for (size_t i = 0; i < c->count; i++)
        docs[i] = ash__doc_from_bson(&c->batch[i]);
    if (c->count > 0) {
        opts.op = ash__bucket_write_op(c->to, NULL, 0);
        result = ash_collection_insert(c->to->chunks, docs, c->count, &opts, NULL, err);
    }
    for (size_t i = 0; i < c->count; i++)
        bson_destroy(&c->batch[i]);
    c->count = c->bytes = 0;
    return result;
}

static int add_chunk(struct copying *c, const uint8_t *data, size_t len, ash_error *err)
{
    bson_t *doc = &c->batch[c->count];
    bson_oid_t id;
    if (len != (size_t)ash__chunk_length(c->file->length, c->file->chunk_size, c->chunks))
        return ash__fail(err, ASH_ECHUNKSIZE, "chunk %lld came with %zu bytes",
                         (long long)c->chunks, len);
    bson_oid_init(&id, NULL);
    bson_init(doc);
    BSON_APPEND_OID(doc, "_id", &id);
    BSON_APPEND_VALUE(doc, "files_id", &c->file->id);
    BSON_APPEND_INT32(doc, "n", (int32_t)c->chunks);
    BSON_APPEND_BINARY(doc, "data", BSON_SUBTYPE_BINARY, data, (uint32_t)len);
    c->chunks++;
    c->count++;
    c->bytes += len;
    return c->count == BATCH_DOCS || c->bytes >= BATCH_BYTES ? flush_batch(c, err) : 0;
}

static int copy_chunks(struct copying *c, ash_error *err)
{
    uint8_t sum[ASH_DIGEST_MAX_BYTES];
    for (;;) {
        const uint8_t *data;
        size_t len;
        int result = ash_download_next(c->download, &data, &len, err);
        if (result == 0)
            result = ash__cmd_check_interrupted(err);
        if (result == 0 && len == 0)
            result = flush_batch(c, err);
        if (result != 0)
            return result;
        if (len == 0)
            break;
        ash__digest_add(c->digest, data, len);
        result = add_chunk(c, data, len, err);
        if (result != 0)
            return result;
        if (c->progress != NULL)
            ash__progress_add(c->progress, (int64_t)len, 0, NULL);
    }
    ash__hex(sum, ash__digest_finish(c->digest, sum), c->sha256);
    const char *known = ash_file_sha256(c->file);
    if (known != NULL && strcmp(known, c->sha256) != 0)
        return ash__fail(err, ASH_ECORRUPT, "SHA-256 is %s, not %s as when it was stored",
                         c->sha256, known);
    return 0;
}

/* The file is there: its document, and what is known beside it. */
static int make_visible(ash_bucket *b, ash_transaction *t, const ash_commit_manner *manner,
                        int64_t deadline_ms, void *ctx, ash_error *err)
{
    const struct copying *c = ctx;
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_attributes facts = {.id = &c->file->id,
                            .length = c->file->length,
                            .upload_date_ms = c->file->upload_date_ms,
                            .sha256 = c->sha256,
                            .expires_ms = c->file->expires_ms};
    (void)manner;
    opts.op = ash__bucket_write_op(b, t, deadline_ms);
    opts.op.durability = ASH_DURABILITY_EVERY;
    int result = ash__attributes_write(b, t, &facts, deadline_ms, err);
    bson_t doc;
    ash__doc_to_bson(c->file->doc, &doc);
    return result != 0 ? result : ash_collection_insert_one(b->files, &doc, &opts, err);
}

static int copy_once(struct copying *c, ash_error *err)
{
    c->chunks = 0;
    c->digest = ash__digest_new(ASH_DIGEST_SHA256);
    int result = copy_chunks(c, err);
    for (size_t i = 0; i < c->count; i++)
        bson_destroy(&c->batch[i]);
    c->count = c->bytes = 0;
    ash__digest_free(c->digest);
    if (result == 0)
        result = ash__bucket_commit(c->to, make_visible, c, 0, err);
    return result;
}

/* Chunks without a file, of a copy that ended early; the file itself if it came meanwhile stays. */
static int delete_leftovers(ash_bucket *to, const bson_value_t *id, ash_error *err)
{
    bool exists = false;
    ash_error ignored = ASH_ERROR_INIT;
    int result = ash__file_exists(to, NULL, id, 0, &exists, err);
    if (result != 0)
        return result;
    if (exists)
        return ash__fail(err, ASH_EEXISTS, "the target has a file of that id");
    result = ash_bucket_delete(to, id, NULL, &ignored);
    return result == 0 || result == ASH_ENOTFOUND ? 0 : ash__fail(err, result, "%s", ignored.text);
}

int ash__copy_file(ash_bucket *from, ash_bucket *to, const bson_value_t *id, ash_progress *progress,
                   char *sha256, ash_error *err)
{
    struct copying c = {.to = to, .progress = progress, .sha256 = sha256};
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_error ignored = ASH_ERROR_INIT;
    int result = 0;
    opts.with_attributes = true;
    for (int turn = 0; turn < 2; turn++) {
        result = ash_bucket_open_download_stream(from, id, &opts, &c.download, err);
        if (result != 0)
            return result;
        c.file = ash_download_file(c.download);
        result = ash__bucket_index(to, 0, err);
        if (result == 0 && c.file->expires_ms != 0)
            result = ash__bucket_index_expiry(to, 0, err);
        if (result == 0)
            result = copy_once(&c, err);
        if (result != 0 && result != ASH_EEXISTS)
            delete_leftovers(to, id, &ignored);
        ash_download_free(c.download);
        /* Chunks of an earlier copy may be in the way, once. */
        if (result != ASH_EEXISTS || delete_leftovers(to, id, err) != 0)
            break;
    }
    return result;
}

int ash__copy_document(ash_bucket *to, const ash_file *from, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t doc;
    ash_op op = ash__bucket_write_op(to, NULL, 0);
    op.durability = ASH_DURABILITY_EVERY;
    ash__filter_id(&filter, "_id", &from->id);
    ash__doc_to_bson(from->doc, &doc);
    int result = ash__collection_change(to->files, &filter, &doc, false, false, &op, NULL, err);
    bson_destroy(&filter);
    return result;
}
