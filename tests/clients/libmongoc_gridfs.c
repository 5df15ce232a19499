/* SPDX-License-Identifier: Apache-2.0 */
/* libmongoc's GridFS bucket against a server.  usage: libmongoc_gridfs URI upload|verify|all NAME
 * SIZE (the same bytes as pymongo_gridfs.py makes) */
#include <mongoc/mongoc.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_PARTS 2048

static void check(bool good, const char *what, const bson_error_t *error)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, error != NULL ? error->message : "wrong");
    exit(1);
}

static uint8_t *content(const char *name, size_t size)
{
    uint8_t *block = malloc(BLOCK_PARTS * 32), *out = malloc(size + 1);
    char text[256];
    unsigned int len;
    check(block != NULL && out != NULL, "memory", NULL);
    for (int i = 0; i < BLOCK_PARTS; i++) {
        int n = snprintf(text, sizeof text, "%s %d", name, i);
        EVP_Digest(text, (size_t)n, block + 32 * i, &len, EVP_sha256(), NULL);
    }
    for (size_t at = 0; at < size; at++)
        out[at] = block[at % (BLOCK_PARTS * 32)];
    free(block);
    return out;
}

static void upload(mongoc_gridfs_bucket_t *bucket, const char *name, const uint8_t *data,
                   size_t size, bson_value_t *id)
{
    bson_error_t error;
    bson_t *opts = BCON_NEW("metadata", "{", "made", BCON_UTF8("by libmongoc"), "}");
    mongoc_stream_t *stream =
        mongoc_gridfs_bucket_open_upload_stream(bucket, name, opts, id, &error);
    check(stream != NULL, "open upload", &error);
    check(mongoc_stream_write(stream, (void *)(uintptr_t)data, size, 0) == (ssize_t)size, "write",
          NULL);
    check(mongoc_stream_close(stream) == 0, "close", NULL);
    mongoc_stream_destroy(stream);
    bson_destroy(opts);
}

static void download(mongoc_gridfs_bucket_t *bucket, const bson_value_t *id, const uint8_t *data,
                     size_t size)
{
    bson_error_t error;
    uint8_t *got = malloc(size + 1);
    size_t have = 0;
    mongoc_stream_t *stream = mongoc_gridfs_bucket_open_download_stream(bucket, id, &error);
    check(stream != NULL, "open download", &error);
    for (;;) {
        ssize_t n = mongoc_stream_read(stream, got + have, size + 1 - have, 0, 0);
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    check(have == size && memcmp(got, data, size) == 0, "downloaded bytes", NULL);
    mongoc_stream_destroy(stream);
    free(got);
}

static int64_t count(mongoc_gridfs_bucket_t *bucket, const bson_t *filter, bson_value_t *first_id)
{
    const bson_t *doc;
    bson_iter_t iter;
    int64_t n = 0;
    mongoc_cursor_t *cursor = mongoc_gridfs_bucket_find(bucket, filter, NULL);
    while (mongoc_cursor_next(cursor, &doc)) {
        if (n++ == 0 && first_id != NULL && bson_iter_init_find(&iter, doc, "_id"))
            bson_value_copy(bson_iter_value(&iter), first_id);
    }
    mongoc_cursor_destroy(cursor);
    return n;
}

static void verify(mongoc_gridfs_bucket_t *bucket, const char *name, const uint8_t *data,
                   size_t size)
{
    bson_value_t id;
    bson_t *filter = BCON_NEW("filename", BCON_UTF8(name));
    check(count(bucket, filter, &id) == 1, "find by name", NULL);
    download(bucket, &id, data, size);
    bson_value_destroy(&id);
    bson_destroy(filter);
}

static void everything(mongoc_gridfs_bucket_t *bucket, mongoc_collection_t *files, const char *name,
                       const uint8_t *data, size_t size)
{
    bson_error_t error;
    bson_value_t first, second;
    bson_t *by_metadata =
        BCON_NEW("metadata.made", BCON_UTF8("by libmongoc"), "filename", BCON_UTF8(name));
    upload(bucket, name, data, size, &first);
    upload(bucket, name, data, size / 2, &second);
    download(bucket, &first, data, size);
    download(bucket, &second, data, size / 2);
    check(count(bucket, by_metadata, NULL) == 2, "two revisions by metadata", NULL);
    /* This version has no rename of its own: users update the files document. */
    bson_t *selector = bson_new(),
           *rename = BCON_NEW("$set", "{", "filename", BCON_UTF8("renamed"), "}");
    BSON_APPEND_VALUE(selector, "_id", &first);
    check(mongoc_collection_update_one(files, selector, rename, NULL, NULL, &error), "rename",
          &error);
    check(count(bucket, by_metadata, NULL) == 1, "one left under the old name", NULL);
    check(mongoc_gridfs_bucket_delete_by_id(bucket, &first, &error), "delete", &error);
    check(mongoc_gridfs_bucket_delete_by_id(bucket, &second, &error), "delete", &error);
    check(count(bucket, by_metadata, NULL) == 0, "none left", NULL);
    check(mongoc_gridfs_bucket_open_download_stream(bucket, &first, &error) == NULL,
          "a deleted file opens", NULL);
    bson_destroy(selector);
    bson_destroy(rename);
    bson_destroy(by_metadata);
    bson_value_destroy(&first);
    bson_value_destroy(&second);
}

int main(int argc, char **argv)
{
    bson_error_t error;
    bson_value_t id;
    check(argc == 5, "usage: libmongoc_gridfs URI upload|verify|all NAME SIZE", NULL);
    mongoc_init();
    mongoc_client_t *client = mongoc_client_new(argv[1]);
    check(client != NULL, "URI", NULL);
    mongoc_database_t *db = mongoc_client_get_database(client, "test");
    mongoc_collection_t *files = mongoc_client_get_collection(client, "test", "fs.files");
    mongoc_gridfs_bucket_t *bucket = mongoc_gridfs_bucket_new(db, NULL, NULL, &error);
    check(bucket != NULL, "bucket", &error);
    size_t size = (size_t)strtoull(argv[4], NULL, 10);
    uint8_t *data = content(argv[3], size);
    if (strcmp(argv[2], "upload") == 0) {
        upload(bucket, argv[3], data, size, &id);
        bson_value_destroy(&id);
    } else if (strcmp(argv[2], "verify") == 0) {
        verify(bucket, argv[3], data, size);
    } else {
        everything(bucket, files, argv[3], data, size);
    }
    free(data);
    mongoc_gridfs_bucket_destroy(bucket);
    mongoc_collection_destroy(files);
    mongoc_database_destroy(db);
    mongoc_client_destroy(client);
    mongoc_cleanup();
    return 0;
}
