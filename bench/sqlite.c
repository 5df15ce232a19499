/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite's calls with their results checked. */
#include "sqlite.h"

sqlite3 *bench_sql_open(const char *path)
{
    sqlite3 *db = NULL;
    bench_check(sqlite3_open(path, &db) == SQLITE_OK, "sqlite open");
    return db;
}

void bench_sql_run(sqlite3 *db, const char *text)
{
    char *error = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &error) != SQLITE_OK)
        bench_die(text, error);
}

sqlite3_stmt *bench_sql_prepare(sqlite3 *db, const char *text)
{
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK)
        bench_die(text, sqlite3_errmsg(db));
    return s;
}
