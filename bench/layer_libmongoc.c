/* SPDX-License-Identifier: Apache-2.0 */
/* libmongoc over loopback, against `ashlar serve`: its own GridFS, and bare chunk documents. */
#include "layer.h"

#include <fcntl.h>
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNKS_A_CALL = 16 };

struct driver {
    struct places places;
    struct server server;
    mongoc_client_t *client;
    mongoc_database_t *db;
    mongoc_gridfs_bucket_t *bucket;
    char *buffer;
};

static void *driver_open(const struct places *p)
{
    struct driver *l = calloc(1, sizeof *l);
    bson_error_t error;
    mongoc_init();
    l->places = *p;
    bench_serve(&l->server, p->command, p->folder);
    l->client = mongoc_client_new(l->server.uri);
    bench_check(l->client != NULL, "client");
    l->db = mongoc_client_get_database(l->client, "bench");
    l->bucket = mongoc_gridfs_bucket_new(l->db, NULL, NULL, &error);
    bench_check(l->bucket != NULL, "bucket");
    l->buffer = malloc(LAYER_BUFFER);
    return l;
}

static void put_file(struct driver *l, const char *path, const char *name)
{
    bson_error_t error;
    bson_value_t id;
    ssize_t got;
    int in = open(path, O_RDONLY);
    mongoc_stream_t *to =
        mongoc_gridfs_bucket_open_upload_stream(l->bucket, name, NULL, &id, &error);
    bench_check(in >= 0 && to != NULL, "open upload");
    while ((got = read(in, l->buffer, LAYER_BUFFER)) > 0)
        bench_check(mongoc_stream_write(to, l->buffer, (size_t)got, 0) == got, "upload");
    bench_check(mongoc_stream_close(to) == 0, "finish upload");
    mongoc_stream_destroy(to);
    bson_value_destroy(&id);
    close(in);
}

static void driver_put(void *layer)
{
    struct driver *l = layer;
    put_file(l, l->places.source, "source");
}

static uint64_t driver_get(void *layer)
{
    struct driver *l = layer;
    bson_error_t error;
    const bson_t *file;
    uint64_t total = 0;
    ssize_t got;
    bson_t *filter = BCON_NEW("filename", BCON_UTF8("source"));
    mongoc_cursor_t *files = mongoc_gridfs_bucket_find(l->bucket, filter, NULL);
    bson_iter_t it;
    bench_check(mongoc_cursor_next(files, &file) && bson_iter_init_find(&it, file, "_id"), "find");
    mongoc_stream_t *from =
        mongoc_gridfs_bucket_open_download_stream(l->bucket, bson_iter_value(&it), &error);
    bench_check(from != NULL, "open download");
    while ((got = mongoc_stream_read(from, l->buffer, LAYER_BUFFER, 0, 0)) > 0)
        total += (uint64_t)got;
    mongoc_stream_destroy(from);
    mongoc_cursor_destroy(files);
    bson_destroy(filter);
    return total;
}

static void driver_put_small(void *layer)
{
    struct driver *l = layer;
    char path[4096], name[32];
    for (int i = 0; i < l->places.count; i++) {
        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "%s/%d", l->places.small, i);
        put_file(l, path, name);
    }
}

static void driver_close(void *layer)
{
    struct driver *l = layer;
    mongoc_gridfs_bucket_destroy(l->bucket);
    mongoc_database_destroy(l->db);
    mongoc_client_destroy(l->client);
    bench_stop(&l->server);
    free(l->buffer);
    free(l);
}

const bench_layer layer_libmongoc = {
    "libmongoc", "mongoc_gridfs_bucket over loopback; client and server share the processors",
    driver_open, driver_put,
    driver_get,  driver_put_small,
    driver_close};

/* ---- bare chunks ---- */

static void insert_chunks(mongoc_collection_t *chunks, const uint8_t *data, uint64_t bytes)
{
    bson_error_t error;
    int32_t n = 0;
    for (uint64_t at = 0; at < bytes;) {
        bson_t docs[CHUNKS_A_CALL];
        const bson_t *list[CHUNKS_A_CALL];
        size_t count = 0;
        for (; count < CHUNKS_A_CALL && at < bytes; count++) {
            uint64_t part = bytes - at < BENCH_CHUNK_BYTES ? bytes - at : BENCH_CHUNK_BYTES;
            bson_init(&docs[count]);
            BSON_APPEND_INT32(&docs[count], "files_id", 1);
            BSON_APPEND_INT32(&docs[count], "n", n++);
            BSON_APPEND_BINARY(&docs[count], "data", BSON_SUBTYPE_BINARY, data, (uint32_t)part);
            list[count] = &docs[count];
            at += part;
        }
        bench_check(mongoc_collection_insert_many(chunks, list, count, NULL, NULL, &error),
                    "insert chunks");
        for (size_t i = 0; i < count; i++)
            bson_destroy(&docs[i]);
    }
}

static uint64_t find_chunks(mongoc_collection_t *chunks)
{
    uint64_t total = 0;
    const bson_t *doc;
    bson_t *filter = BCON_NEW("files_id", BCON_INT32(1));
    bson_t *opts = BCON_NEW("sort", "{", "n", BCON_INT32(1), "}");
    mongoc_cursor_t *c = mongoc_collection_find_with_opts(chunks, filter, opts, NULL);
    while (mongoc_cursor_next(c, &doc)) {
        bson_iter_t it;
        const uint8_t *data;
        uint32_t len;
        bson_subtype_t subtype;
        bench_check(bson_iter_init_find(&it, doc, "data"), "chunk");
        bson_iter_binary(&it, &subtype, &len, &data);
        total += len;
    }
    bson_error_t error;
    bench_check(!mongoc_cursor_error(c, &error), "find chunks");
    mongoc_cursor_destroy(c);
    bson_destroy(filter);
    bson_destroy(opts);
    return total;
}

void bench_chunks(const struct places *p, double *put_seconds, double *get_seconds)
{
    bson_error_t error;
    struct driver *l = driver_open(p);
    mongoc_collection_t *chunks = mongoc_database_get_collection(l->db, "bare.chunks");
    uint8_t *data = malloc(BENCH_CHUNK_BYTES);
    bench_fill(data, BENCH_CHUNK_BYTES, 3);
    bson_t *index = BCON_NEW("createIndexes", BCON_UTF8("bare.chunks"), "indexes", "[", "{", "key",
                             "{", "files_id", BCON_INT32(1), "n", BCON_INT32(1), "}", "name",
                             BCON_UTF8("files_id_1_n_1"), "unique", BCON_BOOL(true), "}", "]");
    bench_check(mongoc_database_write_command_with_opts(l->db, index, NULL, NULL, &error), "index");
    double start = bench_now();
    insert_chunks(chunks, data, p->bytes);
    *put_seconds = bench_now() - start;
    /* The first time unmeasured: for the page cache. */
    bench_check(find_chunks(chunks) == p->bytes, "all chunks");
    start = bench_now();
    bench_check(find_chunks(chunks) == p->bytes, "all chunks");
    *get_seconds = bench_now() - start;
    free(data);
    bson_destroy(index);
    mongoc_collection_destroy(chunks);
    driver_close(l);
}
