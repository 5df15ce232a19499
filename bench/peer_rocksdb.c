/* SPDX-License-Identifier: Apache-2.0 */
/* RocksDB with blob files, synced writes, one batch a file, no compression (the data has nothing to
 * compress). */
#include "peer.h"

#include <rocksdb/c.h>
#include <stdlib.h>

struct rocks {
    rocksdb_t *db;
    rocksdb_writeoptions_t *sync;
    rocksdb_readoptions_t *read;
};

static void must(char *error, const char *what)
{
    if (error != NULL)
        bench_die(what, error);
}

static const char *make_key(char key[12], uint64_t file, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        key[i] = (char)(file >> (56 - 8 * i));
    for (int i = 0; i < 4; i++)
        key[8 + i] = (char)(n >> (24 - 8 * i));
    return key;
}

static void *rocks_open(const char *folder)
{
    struct rocks *r = calloc(1, sizeof *r);
    char *error = NULL;
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_compression(o, rocksdb_no_compression);
    rocksdb_options_set_enable_blob_files(o, 1);
    rocksdb_options_set_min_blob_size(o, 4096);
    rocksdb_options_set_enable_blob_gc(o, 1);
    r->db = rocksdb_open(o, folder, &error);
    must(error, "rocksdb open");
    rocksdb_options_destroy(o);
    r->sync = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(r->sync, 1);
    r->read = rocksdb_readoptions_create();
    return r;
}

static void apply(struct rocks *r, rocksdb_writebatch_t *batch)
{
    char *error = NULL;
    rocksdb_write(r->db, r->sync, batch, &error);
    must(error, "rocksdb write");
    rocksdb_writebatch_destroy(batch);
}

static void rocks_put(void *store, uint64_t file, const uint8_t *data, size_t len,
                      size_t chunk_bytes)
{
    char key[12];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t at = 0; at < len; at += chunk_bytes) {
        size_t part = len - at < chunk_bytes ? len - at : chunk_bytes;
        rocksdb_writebatch_put(batch, make_key(key, file, at / chunk_bytes), 12,
                               (const char *)data + at, part);
    }
    apply(store, batch);
}

static rocksdb_pinnableslice_t *get_chunk(struct rocks *r, uint64_t file, uint64_t n)
{
    char key[12], *error = NULL;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned(r->db, r->read, make_key(key, file, n), 12, &error);
    must(error, "rocksdb get");
    return slice;
}

static void rocks_get(void *store, uint64_t file, bench_take take, void *ctx)
{
    rocksdb_pinnableslice_t *slice;
    for (uint64_t n = 0; (slice = get_chunk(store, file, n)) != NULL; n++) {
        size_t len;
        const char *data = rocksdb_pinnableslice_value(slice, &len);
        take(ctx, (const uint8_t *)data, len);
        rocksdb_pinnableslice_destroy(slice);
    }
}

static void rocks_get_range(void *store, uint64_t file, uint64_t offset, bench_take take, void *ctx)
{
    uint64_t end = offset + 4096;
    while (offset < end) {
        size_t len, from = offset % BENCH_CHUNK_BYTES;
        rocksdb_pinnableslice_t *slice = get_chunk(store, file, offset / BENCH_CHUNK_BYTES);
        bench_check(slice != NULL, "rocksdb get");
        const char *data = rocksdb_pinnableslice_value(slice, &len);
        size_t part = len - from < end - offset ? len - from : end - offset;
        take(ctx, (const uint8_t *)data + from, part);
        rocksdb_pinnableslice_destroy(slice);
        offset += part;
    }
}

static void rocks_remove(void *store, uint64_t file)
{
    char from[12], to[12];
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writebatch_delete_range(batch, make_key(from, file, 0), 12, make_key(to, file + 1, 0),
                                    12);
    apply(store, batch);
}

static void rocks_close(void *store)
{
    struct rocks *r = store;
    rocksdb_readoptions_destroy(r->read);
    rocksdb_writeoptions_destroy(r->sync);
    rocksdb_close(r->db);
    free(r);
}

const bench_peer bench_rocksdb = {
    "rocksdb",    "blob files, sync, one batch a file, no compression",
    rocks_open,   rocks_put,
    rocks_get,    rocks_get_range,
    rocks_remove, rocks_close};
