/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/cmd.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum { CHUNKS_OUT_OF_ORDER = 10040, NO_DIGEST = 50792 };

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
            return ash__fail_server(err, ASH_ECHUNKMISSING, CHUNKS_OUT_OF_ORDER,
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
    int rc = ash_collection_open(c->server->store, c->db, name, &coll, err);
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
        return ash__fail_server(err, ASH_EUNSUPPORTED, NO_DIGEST,
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
