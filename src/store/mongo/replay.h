/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_MONGO_REPLAY_H
#define ASH_STORE_MONGO_REPLAY_H

/* Transactions on an Ashlar server, by its own command ashlarTransact.
 *
 * Nothing of such a transaction is open on the server between two operations.  Each operation is
 * sent behind all those before it; the server runs the whole list and undoes it again, so that the
 * operation sees what the transaction did, and answers what the last one came to.  The commit sends
 * the list once more, to stay.  Should an operation of the list answer otherwise than before,
 * somebody changed what this transaction builds on (ASH_ECONFLICT), and fn is run again.
 *
 *   request  {ashlarTransact: 1, operations: [command, …], results: [hash, …], now, seed,
 *             commit: true, session, number, writeConcern}       to the database admin
 *   answer   {result: the last command's answer, hash, now}      or, of a commit, nothing
 *
 * now is the server's time of the first answer, seed an ObjectId: with both the same, what the
 * server makes up for itself is the same each time.  session and number are the commit's identity:
 * one whose answer was lost is sent again, and is not done twice.
 *
 * Bounds are the server's: 1,000 operations, 16 MiB of them together, 16 MiB that one of them
 * finds, and some seconds for a list.  So large documents are better written before. */

#include "store/mongo/driver.h"

/* The version of the command that hello must tell. */
enum { ASH_REPLAY_VERSION = 1 };

int ash__replay_transact(ash_mongo_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                         ash_error *err);

/* Is the operation one of such a transaction? */
static inline bool ash__replay_is_on(const ash_op *op)
{
    const ash_mongo_transaction *t = (const ash_mongo_transaction *)op->transaction;
    return t != NULL && t->replay != NULL;
}

/* Run one operation.  command: as it is sent alone; the caller destroys.  *call is begun by this
 * and ended by the caller, also after a failure; call->reply is the command's own answer.  One that
 * says ok: 0 is this call's failure. */
int ash__replay_run(ash_mongo_call *call, ash_store *store, const ash_op *op, const char *db,
                    const bson_t *command, ash_error *err);

/* The slots within such a transaction. */
int ash__replay_find(ash_store *store, ash_ns ns, const bson_t *filter,
                     const ash_find_options *opts, ash_cursor **out, ash_error *err);
int ash__replay_aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                          const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);
int ash__replay_count(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_count_options *opts, int64_t *out, ash_error *err);
/* command: {distinct: …} */
int ash__replay_distinct(ash_store *store, const char *db, const bson_t *command, const ash_op *op,
                         bson_t *out, ash_error *err);
int ash__replay_insert(ash_store *store, ash_ns ns, const ash_doc_list *docs,
                       const ash_insert_options *opts, ash_write_result *result, ash_error *err);
int ash__replay_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                       const ash_update_options *opts, ash_write_result *result, ash_error *err);
int ash__replay_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                       const ash_remove_options *opts, ash_write_result *result, ash_error *err);
int ash__replay_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                                const ash_find_and_modify_options *opts,
                                const ash_modify_answer *answer, ash_error *err);

#endif
