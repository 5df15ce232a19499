/* SPDX-License-Identifier: Apache-2.0 */
/* Documents as JSON text in SQLite, with indexes on expressions. */
#include "docs.h"

#include "sqlite.h"

#include <stdio.h>
#include <stdlib.h>

struct docs {
    sqlite3 *db;
    sqlite3_stmt *insert, *get, *range, *update;
};

static void *docs_open(const char *folder)
{
    char path[4096];
    struct docs *d = calloc(1, sizeof *d);
    snprintf(path, sizeof path, "%s/db", folder);
    d->db = bench_sql_open(path);
    bench_sql_run(
        d->db,
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=OFF;"
        "PRAGMA cache_size=-262144; PRAGMA mmap_size=2147483648;"
        "CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT);"
        "CREATE INDEX by_when ON docs (json_extract(body, '$.when'));"
        "CREATE INDEX by_tag ON docs (json_extract(body, '$.tag'), json_extract(body, '$.when'));");
    d->insert = bench_sql_prepare(d->db, "INSERT INTO docs VALUES (?, ?)");
    d->get = bench_sql_prepare(d->db, "SELECT body FROM docs WHERE id = ?");
    d->range =
        bench_sql_prepare(d->db, "SELECT body FROM docs WHERE json_extract(body, '$.when') >= ? "
                                 "ORDER BY json_extract(body, '$.when') LIMIT ?");
    d->update =
        bench_sql_prepare(d->db, "UPDATE docs SET body = json_set(body, '$.when', ?) WHERE id = ?");
    return d;
}

static void load(void *docs, int first, int count)
{
    struct docs *d = docs;
    char body[DOCS_TEXT + 150];
    bench_sql_run(d->db, "BEGIN IMMEDIATE");
    for (int id = first; id < first + count; id++) {
        snprintf(body, sizeof body, "{\"_id\":%d,\"when\":%d,\"tag\":\"tag %d\",\"text\":\"%s\"}",
                 id, docs_when(id), id % 100, docs_text());
        sqlite3_bind_int(d->insert, 1, id);
        sqlite3_bind_text(d->insert, 2, body, -1, SQLITE_STATIC);
        bench_check(sqlite3_step(d->insert) == SQLITE_DONE, "sqlite insert");
        sqlite3_reset(d->insert);
    }
    bench_sql_run(d->db, "COMMIT");
}

static int get(void *docs, int id)
{
    struct docs *d = docs;
    sqlite3_bind_int(d->get, 1, id);
    bench_check(sqlite3_step(d->get) == SQLITE_ROW, "sqlite get");
    /* The text is made when it is asked for. */
    bench_check(sqlite3_column_text(d->get, 0) != NULL, "sqlite get");
    int len = sqlite3_column_bytes(d->get, 0);
    sqlite3_reset(d->get);
    return len;
}

static int range(void *docs, int when)
{
    struct docs *d = docs;
    int count = 0;
    sqlite3_bind_int(d->range, 1, when);
    sqlite3_bind_int(d->range, 2, DOCS_RANGE);
    while (sqlite3_step(d->range) == SQLITE_ROW)
        count += sqlite3_column_text(d->range, 0) != NULL;
    sqlite3_reset(d->range);
    return count;
}

static void update(void *docs, int id, int when)
{
    struct docs *d = docs;
    sqlite3_bind_int(d->update, 1, when);
    sqlite3_bind_int(d->update, 2, id);
    bench_check(sqlite3_step(d->update) == SQLITE_DONE, "sqlite update");
    sqlite3_reset(d->update);
}

static void docs_close(void *docs)
{
    struct docs *d = docs;
    sqlite3_finalize(d->insert);
    sqlite3_finalize(d->get);
    sqlite3_finalize(d->range);
    sqlite3_finalize(d->update);
    sqlite3_close(d->db);
    free(d);
}

const docs_peer docs_sqlite = {
    "sqlite",
    "documents: JSON text, indexes on expressions, WAL, FULL, 4 KiB pages, 256 MiB cache",
    docs_open,
    load,
    get,
    range,
    update,
    docs_close};
