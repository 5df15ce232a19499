/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BENCH_SQLITE_H
#define ASH_BENCH_SQLITE_H

/* What the peers on SQLite share; failures end the program. */

#include <sqlite3.h>

#include "peer.h"

sqlite3 *bench_sql_open(const char *path);
void bench_sql_run(sqlite3 *db, const char *text); /* any number of statements */
sqlite3_stmt *bench_sql_prepare(sqlite3 *db, const char *text);

#endif
