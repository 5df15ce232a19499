/* SPDX-License-Identifier: Apache-2.0 */
/* Ashlar through its whole bucket interface: files documents, indexes, checksums, digests, change
 * log. */
#include "peer.h"

#include <ashlar/ashlar.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct ours {
    ash_store *store;
    ash_bucket *bucket;
};

static void must(int result, const ash_error *err)
{
    if (result != 0)
        bench_die("ashlar", err->text);
}

static bson_value_t make_id(uint64_t file)
{
    return (bson_value_t){.value_type = BSON_TYPE_INT64, .value.v_int64 = (int64_t)file};
}

static void *ours_open(const char *folder)
{
    struct ours *o = calloc(1, sizeof *o);
    ash_error err = ASH_ERROR_INIT;
    must(ash_store_open(folder, NULL, &o->store, &err), &err);
    must(ash_bucket_new(o->store, NULL, &o->bucket, &err), &err);
    return o;
}

static void put(struct ours *o, uint64_t file, const uint8_t *data, size_t len, size_t chunk_bytes,
                bool without_digest)
{
    ash_error err = ASH_ERROR_INIT;
    ash_upload *upload = NULL;
    char name[32];
    ash_upload_options opts = ASH_UPLOAD_OPTIONS_INIT;
    opts.chunk_size_bytes = (int32_t)chunk_bytes;
    opts.without_digest = without_digest;
    bson_value_t id = make_id(file);
    snprintf(name, sizeof name, "file %" PRIu64, file);
    must(ash_bucket_open_upload_stream_with_id(o->bucket, &id, name, &opts, &upload, &err), &err);
    must(ash_upload_write(upload, data, len, &err), &err);
    must(ash_upload_finish(upload, NULL, &err), &err);
    ash_upload_free(upload);
}

static void ours_put(void *store, uint64_t file, const uint8_t *data, size_t len,
                     size_t chunk_bytes)
{
    put(store, file, data, len, chunk_bytes, false);
}

static void ours_put_bare(void *store, uint64_t file, const uint8_t *data, size_t len,
                          size_t chunk_bytes)
{
    put(store, file, data, len, chunk_bytes, true);
}

static void read_part(struct ours *o, uint64_t file, uint64_t start, uint64_t end, bench_take take,
                      void *ctx)
{
    ash_error err = ASH_ERROR_INIT;
    ash_download *download = NULL;
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    bson_value_t id = make_id(file);
    const uint8_t *data;
    size_t len;
    opts.start = (int64_t)start;
    opts.end = (int64_t)end;
    must(ash_bucket_open_download_stream(o->bucket, &id, &opts, &download, &err), &err);
    for (;;) {
        must(ash_download_next(download, &data, &len, &err), &err);
        if (len == 0)
            break;
        take(ctx, data, len);
    }
    ash_download_free(download);
}

static void ours_get(void *store, uint64_t file, bench_take take, void *ctx)
{
    read_part(store, file, 0, 0, take, ctx);
}

static void ours_get_range(void *store, uint64_t file, uint64_t offset, bench_take take, void *ctx)
{
    read_part(store, file, offset, offset + 4096, take, ctx);
}

static void *ours_open_file(void *store, uint64_t file)
{
    struct ours *o = store;
    ash_error err = ASH_ERROR_INIT;
    ash_download *download = NULL;
    bson_value_t id = make_id(file);
    must(ash_bucket_open_download_stream(o->bucket, &id, NULL, &download, &err), &err);
    return download;
}

static void ours_read_at(void *handle, uint64_t offset, bench_take take, void *ctx)
{
    ash_error err = ASH_ERROR_INIT;
    const uint8_t *data;
    size_t len;
    must(ash_download_seek(handle, (int64_t)offset, &err), &err);
    for (size_t left = 4096; left > 0; left -= len) {
        must(ash_download_view(handle, left, &data, &len, &err), &err);
        if (len == 0)
            break;
        take(ctx, data, len);
    }
}

static void ours_close_file(void *handle)
{
    ash_download_free(handle);
}

static void ours_remove(void *store, uint64_t file)
{
    struct ours *o = store;
    ash_error err = ASH_ERROR_INIT;
    bson_value_t id = make_id(file);
    must(ash_bucket_delete(o->bucket, &id, NULL, &err), &err);
}

static void ours_close(void *store)
{
    struct ours *o = store;
    ash_bucket_free(o->bucket);
    ash_store_close(o->store);
    free(o);
}

const bench_peer bench_ashlar = {
    "ashlar",        "bucket interface, durability file, SHA-256 of every file",
    ours_open,       ours_put,
    ours_get,        ours_get_range,
    ours_remove,     ours_close,
    ours_open_file,  ours_read_at,
    ours_close_file, false};

/* As its peers, which have no digest of a file. */
const bench_peer bench_ashlar_bare = {"ashlar bare",   "as ashlar, without SHA-256",
                                      ours_open,       ours_put_bare,
                                      ours_get,        ours_get_range,
                                      ours_remove,     ours_close,
                                      ours_open_file,  ours_read_at,
                                      ours_close_file, true};
