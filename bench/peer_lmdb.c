/* SPDX-License-Identifier: Apache-2.0 */
/* Plain LMDB with the chunks inside, one transaction a file. */
#include "peer.h"

#include <lmdb.h>
#include <stdlib.h>

struct plain {
    MDB_env *env;
    MDB_dbi dbi;
};

static void must(int result, const char *what)
{
    if (result != 0)
        bench_die(what, mdb_strerror(result));
}

static MDB_val make_key(uint8_t key[12], uint64_t file, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        key[i] = (uint8_t)(file >> (56 - 8 * i));
    for (int i = 0; i < 4; i++)
        key[8 + i] = (uint8_t)(n >> (24 - 8 * i));
    return (MDB_val){12, key};
}

static MDB_txn *begin(struct plain *p, unsigned flags)
{
    MDB_txn *txn;
    must(mdb_txn_begin(p->env, NULL, flags, &txn), "lmdb txn");
    return txn;
}

static void *plain_open(const char *folder)
{
    struct plain *p = calloc(1, sizeof *p);
    must(mdb_env_create(&p->env), "lmdb");
    must(mdb_env_set_mapsize(p->env, (size_t)64 << 30), "lmdb map");
    must(mdb_env_open(p->env, folder, MDB_NOTLS, 0600), "lmdb open");
    MDB_txn *txn = begin(p, 0);
    must(mdb_dbi_open(txn, NULL, 0, &p->dbi), "lmdb dbi");
    must(mdb_txn_commit(txn), "lmdb commit");
    return p;
}

static void plain_put(void *store, uint64_t file, const uint8_t *data, size_t len,
                      size_t chunk_bytes)
{
    struct plain *p = store;
    uint8_t bytes[12];
    MDB_txn *txn = begin(p, 0);
    for (size_t at = 0; at < len; at += chunk_bytes) {
        size_t part = len - at < chunk_bytes ? len - at : chunk_bytes;
        MDB_val k = make_key(bytes, file, at / chunk_bytes),
                v = {part, (void *)(uintptr_t)(data + at)};
        must(mdb_put(txn, p->dbi, &k, &v, 0), "lmdb put");
    }
    must(mdb_txn_commit(txn), "lmdb commit");
}

static void plain_get(void *store, uint64_t file, bench_take take, void *ctx)
{
    struct plain *p = store;
    uint8_t bytes[12];
    MDB_val v;
    MDB_txn *txn = begin(p, MDB_RDONLY);
    for (uint64_t n = 0;; n++) {
        MDB_val k = make_key(bytes, file, n);
        if (mdb_get(txn, p->dbi, &k, &v) != 0)
            break;
        take(ctx, v.mv_data, v.mv_size);
    }
    mdb_txn_abort(txn);
}

static void plain_get_range(void *store, uint64_t file, uint64_t offset, bench_take take, void *ctx)
{
    struct plain *p = store;
    uint8_t bytes[12];
    uint64_t end = offset + 4096;
    MDB_val v;
    MDB_txn *txn = begin(p, MDB_RDONLY);
    while (offset < end) {
        MDB_val k = make_key(bytes, file, offset / BENCH_CHUNK_BYTES);
        must(mdb_get(txn, p->dbi, &k, &v), "lmdb get");
        size_t from = offset % BENCH_CHUNK_BYTES;
        size_t part = v.mv_size - from < end - offset ? v.mv_size - from : end - offset;
        take(ctx, (const uint8_t *)v.mv_data + from, part);
        offset += part;
    }
    mdb_txn_abort(txn);
}

static void plain_remove(void *store, uint64_t file)
{
    struct plain *p = store;
    uint8_t bytes[12];
    MDB_txn *txn = begin(p, 0);
    for (uint64_t n = 0;; n++) {
        MDB_val k = make_key(bytes, file, n);
        if (mdb_del(txn, p->dbi, &k, NULL) != 0)
            break;
    }
    must(mdb_txn_commit(txn), "lmdb commit");
}

static void plain_close(void *store)
{
    struct plain *p = store;
    mdb_env_close(p->env);
    free(p);
}

const bench_peer bench_lmdb = {
    "lmdb",       "chunks as values, default sync, one transaction a file",
    plain_open,   plain_put,
    plain_get,    plain_get_range,
    plain_remove, plain_close};
