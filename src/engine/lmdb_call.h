/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_LMDB_CALL_H
#define ASH_ENGINE_LMDB_CALL_H

/* LMDB's calls, survived.
 *
 * LMDB follows the numbers in its pages without looking, through memory that is mapped from the
 * file.  A damaged page lets it run out of the mapping, into an assertion, or return a row that
 * reaches beyond the file; so does a file that was cut off.  Each call here is the one of LMDB with the same name and arguments, and
 * ends with an error instead.  Nothing else in Ashlar calls those.
 *
 * A fault while rows are read costs the call: MDB_CORRUPTED.  What is returned lies in memory that
 * can be read, whatever it says, and a key has at most 511 bytes.
 *
 * A fault amid a change leaves LMDB's lists of dirty pages and cursors leading nowhere:
 * ASH_LMDB_LOST. That transaction must be neither committed nor aborted, and no other may change
 * this environment; reading goes on.  What was committed is untouched, since LMDB never writes over
 * it. */

#include <lmdb.h>
#include <stdbool.h>

enum { ASH_LMDB_LOST = -30700 }; /* MDB_KEYEXIST is -30799, and lower numbers are the system's */

/* Makes assertions end a call; for each environment, before it is opened. */
void ash__lmdb_prepare(MDB_env *env);

/* ---- reading ---- */

int ash__lmdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int ash__lmdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **out);
int ash__lmdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op);
int ash__lmdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *out);

/* ---- opening, and beginning ---- */

int ash__lmdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode);
int ash__lmdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *out);
int ash__lmdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **out);
int ash__lmdb_txn_renew(MDB_txn *txn);

/* ---- ending, and looking ---- */

/* A fault leaves the transaction or the environment as it is: its memory is lost, and its place in
 * the table of readers too. */
void ash__lmdb_txn_reset(MDB_txn *txn);
void ash__lmdb_txn_abort(MDB_txn *txn);
void ash__lmdb_env_close(MDB_env *env);
/* MDB_CORRUPTED: zeros, but for a size of pages. */
int ash__lmdb_env_info(MDB_env *env, MDB_envinfo *out);
int ash__lmdb_env_stat(MDB_env *env, MDB_stat *out);

/* ---- changing ---- */

int ash__lmdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags);
int ash__lmdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int ash__lmdb_cursor_del(MDB_cursor *cursor, unsigned flags);
/* All rows; the database stays. */
int ash__lmdb_drop(MDB_txn *txn, MDB_dbi dbi);
int ash__lmdb_txn_commit(MDB_txn *txn);

#endif
