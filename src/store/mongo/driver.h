/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_MONGO_DRIVER_H
#define ASH_STORE_MONGO_DRIVER_H

/* What the files of this folder share. */

#include <mongoc/mongoc.h>

#include "store/mongo/limits.h"
#include "store/ops.h"

typedef struct ash_mongo_store {
    ash_store base;
    mongoc_client_pool_t *pool;
    ash_mongo_limits_list limits;
    ash_durability durability;
    bool own_write_concern; /* the URI names one */
    bool transactions;
    bool replays; /* transactions are the server's own command (replay.h), not the driver's */
    bool watch;
    bool served;      /* the server is Ashlar's */
    bool past_damage; /* … and its finds go on behind a damaged document */
} ash_mongo_store;

typedef struct ash_mongo_transaction {
    ash_transaction base;
    mongoc_client_t *client;
    mongoc_client_session_t *session; /* one of these two */
    struct ash_mongo_replay *replay;
    bool transient; /* an operation failed in a way that trying all again may cure */
} ash_mongo_transaction;

/* One call: a connection (the transaction's, or one of the pool), the options that every command
 * takes, and room for the answer. */
typedef struct ash_mongo_call {
    ash_mongo_store *store;
    const ash_op *op;
    ash_mongo_transaction *transaction; /* or NULL */
    mongoc_client_t *client;
    ash_mongo_limits *limits; /* the client's */
    bson_t opts;              /* sessionId, maxTimeMS */
    bson_t reply;
    bson_error_t error;
} ash_mongo_call;

/* Once per process; thread-safe. */
void ash__mongo_init(void);

/* begin fails with ASH_ETIMEOUT or ASH_ENETWORK when no connection is free; end is then not needed
 * but allowed. */
int ash__mongo_call_begin(ash_mongo_call *call, ash_store *store, const ash_op *op, ash_error *err);
void ash__mongo_call_end(ash_mongo_call *call);
/* For a command about a transaction itself, on its connection. */
void ash__mongo_call_join(ash_mongo_call *call, ash_store *store, ash_mongo_transaction *t,
                          const ash_op *op);
/* From now on the connection minds op's deadline and cancel flag; NULL: none.  A call does so from
 * begin to end; a cursor in between only while it asks. */
void ash__mongo_call_limit(ash_mongo_call *call, const ash_op *op);
/* For updates: the driver would put maxTimeMS into the statement, which servers refuse.  The
 * connection's deadline holds alone then. */
void ash__mongo_call_local_limit(ash_mongo_call *call);
/* Adds the operation's read concern; *prefs: its read preference, to be destroyed (NULL is fine),
 * or NULL for the URI's. */
int ash__mongo_call_reads(ash_mongo_call *call, mongoc_read_prefs_t **prefs, ash_error *err);
/* Adds the write concern.  coll may be NULL. */
void ash__mongo_call_writes(ash_mongo_call *call, const char *coll);

/* Is a write to coll (NULL: to no collection in particular) acknowledged when on disk? */
bool ash__mongo_call_wants_disk(const ash_mongo_call *call, const char *coll);

/* READ: what takes any read concern, so that the URI's goes with it.  ASK: what takes none but
 * "local", as listIndexes; a deployment refuses it with another, so none is sent. */
enum ash_mongo_kind { ASH_MONGO_READ, ASH_MONGO_ASK, ASH_MONGO_WRITE };
typedef struct ash_mongo_request {
    enum ash_mongo_kind kind;
    const char *db;
    const bson_t *command;
} ash_mongo_request;
/* Sends it with call->opts; the answer is in call->reply, checked. */
int ash__mongo_command(ash_mongo_call *call, const ash_mongo_request *request, ash_error *err);
/* The answer without what only the protocol needs; initialises out. */
void ash__mongo_copy_reply(const ash_mongo_call *call, bson_t *out);
/* The same from begin to end, with a write concern if it writes.  out (may be NULL): the answer
 * without what only the protocol needs; initialised on success. */
int ash__mongo_run(ash_store *store, const ash_mongo_request *request, const ash_op *op,
                   bson_t *out, ash_error *err);

/* Nothing behind this backend looks at lengths and types in a document again, so what came from a
 * socket is checked here: ASH_ENETWORK. */
int ash__mongo_check(const bson_t *b, ash_error *err);

/* Fill *err from call->error and return its code. */
int ash__mongo_call_fail(ash_mongo_call *call, ash_error *err);
int ash__mongo_fail(const bson_error_t *error, ash_error *err);
/* The deployment's writeErrors or writeConcernError(s) in call->reply, into result; 0 if none. */
int ash__mongo_write_errors(ash_mongo_call *call, ash_write_result *result, ash_error *err);
int64_t ash__mongo_int_field(const bson_t *b, const char *name);

/* Optional fields. */
void ash__mongo_add_doc(bson_t *to, const char *name, const bson_t *value);
void ash__mongo_add_array(bson_t *to, const char *name, const bson_t *value);
void ash__mongo_add_value(bson_t *to, const char *name, const bson_value_t *value);

/* The update as a document of the same bytes; ASH_EINVAL for what the driver would send wrongly. */
int ash__mongo_view_update(const bson_value_t *update, bson_t *view, ash_error *err);

/* Cursors.  They take over `call` (copied; the caller must not end it) and the driver's cursor or
 * stream.  Errors that the first batch shows are returned here, and then everything is freed. */
int ash__mongo_cursor_new(ash_mongo_call *call, mongoc_cursor_t *driver, bool tailable,
                          ash_cursor **out, ash_error *err);
int ash__mongo_stream_new(ash_mongo_call *call, mongoc_change_stream_t *stream, ash_cursor **out,
                          ash_error *err);

/* Parts of commands and answers that the driver's functions and replays share. */
void ash__mongo_find_fields(bson_t *to, const ash_find_options *o);
/* Of findAndModify: lastErrorObject and value. */
void ash__mongo_modify_reply(const bson_t *reply, bool removed, const ash_modify_answer *answer);

/* Slots, by file. */
int ash__mongo_create(ash_store *store, ash_ns ns, const bson_t *options, const ash_op *op,
                      ash_error *err);
int ash__mongo_drop(ash_store *store, ash_ns ns, const ash_op *op, ash_error *err);
int ash__mongo_rename(ash_store *store, ash_ns ns, ash_ns to, bool drop_target, const ash_op *op,
                      ash_error *err);
int ash__mongo_modify(ash_store *store, ash_ns ns, const bson_t *changes, const ash_op *op,
                      bson_t *old_values, ash_error *err);
int ash__mongo_list_collections(ash_store *store, const char *db, const bson_t *filter,
                                const ash_op *op, ash_cursor **out, ash_error *err);
int ash__mongo_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err);
int ash__mongo_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err);

int ash__mongo_create_indexes(ash_store *store, ash_ns ns, const bson_t *specs, const ash_op *op,
                              bson_t *reply, ash_error *err);
int ash__mongo_list_indexes(ash_store *store, ash_ns ns, const ash_op *op, ash_cursor **out,
                            ash_error *err);
int ash__mongo_drop_indexes(ash_store *store, ash_ns ns, const bson_value_t *index,
                            const ash_op *op, ash_error *err);

int ash__mongo_find(ash_store *store, ash_ns ns, const bson_t *filter, const ash_find_options *opts,
                    ash_cursor **out, ash_error *err);
int ash__mongo_aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                         const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);
int ash__mongo_count(ash_store *store, ash_ns ns, const bson_t *filter,
                     const ash_count_options *opts, int64_t *out, ash_error *err);
int ash__mongo_distinct(ash_store *store, ash_ns ns, const ash_distinct_request *request,
                        const ash_op *op, bson_t *out, ash_error *err);
int ash__mongo_explain(ash_store *store, ash_ns ns, const ash_explain_request *request,
                       const ash_op *op, bson_t *out, ash_error *err);

int ash__mongo_insert(ash_store *store, ash_ns ns, const ash_doc_list *docs,
                      const ash_insert_options *opts, ash_write_result *result, ash_error *err);
int ash__mongo_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                      const ash_update_options *opts, ash_write_result *result, ash_error *err);
int ash__mongo_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_remove_options *opts, ash_write_result *result, ash_error *err);
int ash__mongo_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                               const ash_find_and_modify_options *opts,
                               const ash_modify_answer *answer, ash_error *err);

int ash__mongo_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                        ash_error *err);
int ash__mongo_watch(ash_store *store, ash_ns ns, const ash_watch_options *opts, ash_cursor **out,
                     ash_error *err);
/* The driver resumes change streams by itself only when they are opened as such. */
int ash__mongo_watch_stage(ash_store *store, ash_ns ns, const bson_t *pipeline,
                           const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);

int ash__mongo_hold(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out,
                    ash_error *err);
int ash__mongo_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err);
int ash__mongo_stats(ash_store *store, ash_ns ns, int64_t scale, const ash_op *op, bson_t *out,
                     ash_error *err);
int ash__mongo_flush(ash_store *store, const ash_op *op, ash_error *err);
int ash__mongo_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                        bson_t *out, ash_error *err);

#endif
