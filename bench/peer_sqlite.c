/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite: WAL, synchronous FULL, 64 KiB pages, secure_delete off; one connection a thread. */
#include "sqlite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_THREADS 64

struct connection {
    sqlite3 *db;
    sqlite3_stmt *insert, *select, *one, *remove;
};

struct sql {
    char path[4096];
    pthread_key_t mine;      /* this thread's connection */
    pthread_mutex_t writing; /* in turn: SQLite's own waiting for its writer's lock is sleeping */
    pthread_mutex_t lock;    /* guards the two below */
    int count;
    struct connection *all[MAX_THREADS];
};

static struct connection *connection_of(struct sql *s)
{
    struct connection *c = pthread_getspecific(s->mine);
    if (c != NULL)
        return c;
    c = calloc(1, sizeof *c);
    c->db = bench_sql_open(s->path);
    /* Checkpoints lock, too. */
    sqlite3_busy_timeout(c->db, 60000);
    bench_sql_run(
        c->db, "PRAGMA page_size=65536; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA "
               "secure_delete=OFF;"
               "PRAGMA mmap_size=2147483648;"
               "CREATE TABLE IF NOT EXISTS chunks (file INTEGER, n INTEGER, data BLOB, PRIMARY KEY "
               "(file, n)) WITHOUT ROWID;");
    c->insert = bench_sql_prepare(c->db, "INSERT INTO chunks VALUES (?, ?, ?)");
    c->select = bench_sql_prepare(c->db, "SELECT data FROM chunks WHERE file = ? ORDER BY n");
    c->one = bench_sql_prepare(c->db, "SELECT data FROM chunks WHERE file = ? AND n = ?");
    c->remove = bench_sql_prepare(c->db, "DELETE FROM chunks WHERE file = ?");
    pthread_mutex_lock(&s->lock);
    bench_check(s->count < MAX_THREADS, "sqlite threads");
    s->all[s->count++] = c;
    pthread_mutex_unlock(&s->lock);
    pthread_setspecific(s->mine, c);
    return c;
}

static void *sql_open(const char *folder)
{
    struct sql *s = calloc(1, sizeof *s);
    snprintf(s->path, sizeof s->path, "%s/db", folder);
    pthread_mutex_init(&s->writing, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_key_create(&s->mine, NULL);
    connection_of(s);
    return s;
}

static void sql_put(void *store, uint64_t file, const uint8_t *data, size_t len, size_t chunk_bytes)
{
    struct sql *s = store;
    struct connection *c = connection_of(s);
    pthread_mutex_lock(&s->writing);
    bench_sql_run(c->db, "BEGIN IMMEDIATE");
    for (size_t at = 0; at < len; at += chunk_bytes) {
        size_t part = len - at < chunk_bytes ? len - at : chunk_bytes;
        sqlite3_bind_int64(c->insert, 1, (sqlite3_int64)file);
        sqlite3_bind_int(c->insert, 2, (int)(at / chunk_bytes));
        sqlite3_bind_blob(c->insert, 3, data + at, (int)part, SQLITE_STATIC);
        bench_check(sqlite3_step(c->insert) == SQLITE_DONE, "sqlite insert");
        sqlite3_reset(c->insert);
    }
    bench_sql_run(c->db, "COMMIT");
    pthread_mutex_unlock(&s->writing);
}

static void sql_get(void *store, uint64_t file, bench_take take, void *ctx)
{
    struct connection *c = connection_of(store);
    sqlite3_bind_int64(c->select, 1, (sqlite3_int64)file);
    while (sqlite3_step(c->select) == SQLITE_ROW)
        take(ctx, sqlite3_column_blob(c->select, 0), (size_t)sqlite3_column_bytes(c->select, 0));
    sqlite3_reset(c->select);
}

static void sql_get_range(void *store, uint64_t file, uint64_t offset, bench_take take, void *ctx)
{
    struct connection *c = connection_of(store);
    uint64_t end = offset + 4096;
    while (offset < end) {
        sqlite3_bind_int64(c->one, 1, (sqlite3_int64)file);
        sqlite3_bind_int(c->one, 2, (int)(offset / BENCH_CHUNK_BYTES));
        bench_check(sqlite3_step(c->one) == SQLITE_ROW, "sqlite select");
        size_t from = offset % BENCH_CHUNK_BYTES, have = (size_t)sqlite3_column_bytes(c->one, 0);
        size_t part = have - from < end - offset ? have - from : end - offset;
        take(ctx, (const uint8_t *)sqlite3_column_blob(c->one, 0) + from, part);
        sqlite3_reset(c->one);
        offset += part;
    }
}

static void sql_remove(void *store, uint64_t file)
{
    struct connection *c = connection_of(store);
    sqlite3_bind_int64(c->remove, 1, (sqlite3_int64)file);
    bench_check(sqlite3_step(c->remove) == SQLITE_DONE, "sqlite delete");
    sqlite3_reset(c->remove);
}

static void sql_close(void *store)
{
    struct sql *s = store;
    for (int i = 0; i < s->count; i++) {
        sqlite3_finalize(s->all[i]->insert);
        sqlite3_finalize(s->all[i]->select);
        sqlite3_finalize(s->all[i]->one);
        sqlite3_finalize(s->all[i]->remove);
        sqlite3_close(s->all[i]->db);
        free(s->all[i]);
    }
    pthread_key_delete(s->mine);
    free(s);
}

const bench_peer bench_sqlite = {"sqlite",   "WAL, FULL, 64 KiB pages, secure_delete off, mmap",
                                 sql_open,   sql_put,
                                 sql_get,    sql_get_range,
                                 sql_remove, sql_close};
