/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_OPS_H
#define ASH_STORE_OPS_H

/* What a backend is: one constant table of typed operations.
 *
 * The public functions in store.c check arguments, copy option structs to the current size and call
 * one slot each; nobody else calls a slot.  No slot may be NULL but where it says so.  Slots get
 * options that are never NULL and of this version's size; op, filter, pipeline and `create` options
 * never NULL (nothing is {}), results never NULL and initialised; output pointers never NULL.  What
 * cannot be right on any backend (names, negative limits, an update that is no document) was refused
 * before.  Contracts are those of ashlar/store.h; what is said here is what a backend owes beyond
 * them. */

#include <ashlar/store.h>

typedef struct ash_backend ash_backend;
typedef struct ash_store_ops ash_store_ops;
typedef struct ash_cursor_ops ash_cursor_ops;

/* A backend's store embeds this as its first member. */
struct ash_store {
    const ash_store_ops *ops;
    char *default_db; /* owned by store.c, which sets and frees it */
    bool read_only;   /* set by store.c from the options; store.c refuses writes, so a backend needs
                         no check of its own */
};

/* What an operation is about: a collection; with coll NULL a whole database; with db NULL, too, the
 * whole store.  Both are NULL only where a slot says so.  A view: the names are the caller's, and
 * stay as long as the call. */
typedef struct ash_ns {
    const char *db;
    const char *coll;
} ash_ns;

/* Backends do not embed this: a collection is a name. */
struct ash_collection {
    ash_store *store;
    char *db;
    char *name;
};

/* A backend's cursor embeds this as its first member. */
struct ash_cursor {
    const ash_cursor_ops *ops;
    ash_store *store;
    bool in_transaction; /* set by store.c: opened in one, and over with it */
    /* store.c's own, for ash_cursor_next over batches. */
    ash_batch batch;
    size_t batch_at;
    void *kept; /* unread documents that ash_cursor_rest copied */
};

/* A backend's transaction embeds this as its first member. */
struct ash_transaction {
    ash_store *store;
    /* For whoever runs the same operations again and wants the same results (the embedded engine
     * keeps to them): the time that $$NOW and $currentDate give, 0 = each operation's own; and the
     * _id that the next upsert without one makes, if has_new_id; each upsert counts it up. */
    int64_t now_ms;
    bson_oid_t new_id;
    bool has_new_id;
    /* transact.c's own: what is to be told of its end, and that it must not come to a commit. */
    struct ash_transaction_end **ends;
    bool broken;
};

struct ash_cursor_ops {
    /* As ash_cursor_next_batch; both limits given.  Views, and the array `docs`, stay
     * valid until the next next_batch, rest or free of this cursor. */
    int (*next_batch)(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                      ash_error *err);
    /* Deadline, cancel flag and wait of the batches to come; await_ms < 0: as it was. */
    void (*set_op)(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                   int64_t await_ms);
    /* Nobody looks at the last batch any more, and the next one may be long in coming: let go of
     * what only the views needed (snapshots, pins, connections), and keep the position. */
    void (*rest)(ash_cursor *cursor);
    /* At any time, also after an error, and on another thread than the last call's.  Cannot fail;
     * what a deployment holds for the cursor is let go there as far as that works. */
    void (*free)(ash_cursor *cursor);

    /* A private lane of the embedded backend: downloads whose caller verifies what he looks at, as
     * in store/parts.h.  NULL, all four, elsewhere. */
    bool (*take_parts)(ash_cursor *cursor);
    int (*verify)(ash_cursor *cursor, size_t index, size_t *from, size_t *to, ash_error *err);
    bool (*lasts)(ash_cursor *cursor, size_t index);
    bool (*seek)(ash_cursor *cursor, size_t index);
};

/* What some slots are asked for, beside options; all of it the caller's.  Nothing is NULL but where
 * it is said. */
typedef struct ash_doc_list {
    const ash_doc *docs;
    size_t count; /* > 0 */
} ash_doc_list;

typedef struct ash_update_request {
    const bson_t *filter;
    const bson_value_t *update; /* operators, a whole document, or an array of stages */
} ash_update_request;

typedef struct ash_distinct_request {
    const char *key;
    const bson_t *filter;
    const bson_t *collation; /* or NULL */
} ash_distinct_request;

typedef struct ash_explain_request {
    const bson_t *command; /* {find | aggregate | count | distinct …} */
    const char *verbosity; /* "queryPlanner", "executionStats" or "allPlansExecution" */
} ash_explain_request;

/* What findAndModify gives back; the places are the caller's. */
typedef struct ash_modify_answer {
    bson_t *value; /* initialised by the slot on success, empty where *found is false */
    bool *found;
    ash_write_result *result;
} ash_modify_answer;

struct ash_store_ops {
    /* No call is running, and no cursor or transaction is open.  Everything acknowledged or not is
     * made durable as far as it can be; cannot fail. */
    void (*close)(ash_store *store);
    /* What is true of this store as it was opened; never changes while it is.  store.c fills in
     * `size`. */
    int (*capabilities)(ash_store *store, ash_capabilities *out, ash_error *err);

    /* ---- collections: atomic each, and durable when they return ---- */

    /* 0 where it is there with the same options, by MongoDB's notion of the same. */
    int (*create)(ash_store *store, ash_ns ns, const bson_t *options, const ash_op *op,
                  ash_error *err);
    /* With all its documents and indexes; cursors on it fail at their next batch (175). */
    int (*drop)(ash_store *store, ash_ns ns, const ash_op *op, ash_error *err);
    /* Both names were checked, and differ.  drop_target: the target goes in the same step. */
    int (*rename)(ash_store *store, ash_ns ns, ash_ns to, bool drop_target, const ash_op *op,
                  ash_error *err);
    /* err is never NULL.  old_values as in ash_collection_modify. */
    int (*modify)(ash_store *store, ash_ns ns, const bson_t *changes, const ash_op *op,
                  bson_t *old_values, ash_error *err);
    /* In the order of their names where the backend has one; views too. */
    int (*list_collections)(ash_store *store, const char *db, const bson_t *filter,
                            const ash_op *op, ash_cursor **out, ash_error *err);
    /* out: initialised by the slot on success. */
    int (*list_databases)(ash_store *store, const ash_op *op, bson_t *out, ash_error *err);
    /* 0 also when there is none.  Where it is not one step, what is left after a failure is whole
     * collections. */
    int (*drop_database)(ash_store *store, const char *db, const ash_op *op, ash_error *err);

    /* ---- reading: what was acknowledged before the call is seen ---- */

    /* A collection that is not there is empty.  Errors of the filter are told here, not by the
     * first batch. */
    int (*find)(ash_store *store, ash_ns ns, const bson_t *filter, const ash_find_options *opts,
                ash_cursor **out, ash_error *err);
    /* ns.coll NULL: aggregate over the database ({aggregate: 1}).  With $out or $merge, everything was
     * written when it returns, and the cursor is empty. */
    int (*aggregate)(ash_store *store, ash_ns ns, const bson_t *pipeline,
                     const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);
    /* *out is set on success only. */
    int (*count)(ash_store *store, ash_ns ns, const bson_t *filter, const ash_count_options *opts,
                 int64_t *out, ash_error *err);
    /* out: an array, initialised by the slot on success. */
    int (*distinct)(ash_store *store, ash_ns ns, const ash_distinct_request *request,
                    const ash_op *op, bson_t *out, ash_error *err);
    /* Runs the command, unless verbosity is "queryPlanner"; the collection that it names is ns's. */
    int (*explain)(ash_store *store, ash_ns ns, const ash_explain_request *request,
                   const ash_op *op, bson_t *out, ash_error *err);

    /* ---- writing: each document is whole or not there; durable as op and the store's options ask.
     * result: how far it came, also on failure; its errors by ash__write_result_add_error.  A retry
     * id that was seen gives the first result again and does nothing. ---- */

    /* In order, up to the first failure, unless opts says unordered. */
    int (*insert)(ash_store *store, ash_ns ns, const ash_doc_list *list,
                  const ash_insert_options *opts, ash_write_result *result, ash_error *err);
    /* One document, or each match, each by itself. */
    int (*update)(ash_store *store, ash_ns ns, const ash_update_request *request,
                  const ash_update_options *opts, ash_write_result *result, ash_error *err);
    /* One match, or all of them, each by itself. */
    int (*remove)(ash_store *store, ash_ns ns, const bson_t *filter, const ash_remove_options *opts,
                  ash_write_result *result, ash_error *err);
    /* Finding and changing are one step. */
    int (*find_and_modify)(ash_store *store, ash_ns ns, const bson_t *filter,
                           const ash_find_and_modify_options *opts, const ash_modify_answer *answer,
                           ash_error *err);

    /* ---- indexes ---- */

    /* specs: an array.  All of them or none; usable, and durable, when it returns.  Writes go on
     * meanwhile.  reply: as MongoDB's, initialised by the slot on success. */
    int (*create_indexes)(ash_store *store, ash_ns ns, const bson_t *specs, const ash_op *op,
                          bson_t *reply, ash_error *err);
    /* ASH_ENOTFOUND (26) without a collection. */
    int (*list_indexes)(ash_store *store, ash_ns ns, const ash_op *op, ash_cursor **out,
                        ash_error *err);
    /* index: a name, a key pattern, an array of names, or "*": all but that on _id. */
    int (*drop_indexes)(ash_store *store, ash_ns ns, const bson_value_t *index, const ash_op *op,
                        ash_error *err);

    /* ---- several as one ---- */

    /* Runs fn, with a transaction that embeds ash_transaction, as often as it takes, on any thread;
     * what it returned last is returned.  0: everything it did through the transaction is visible
     * and durable as one.  Else nothing is, unless the error says that this is not known
     * (ASH_ENETWORK, ASH_ETIMEOUT).  Never commits a transaction that is `broken`.  store.c sees to
     * it that nothing else of the store is called meanwhile on that thread, and tells the ends
     * (store/transaction.h).  ASH_EUNSUPPORTED where capabilities says there are none. */
    int (*transact)(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                    ash_error *err);
    /* ns may be a database or the whole store.  Events from now on (or from where opts says) are kept for the cursor
     * from its opening. */
    int (*watch)(ash_store *store, ash_ns ns, const ash_watch_options *opts, ash_cursor **out,
                 ash_error *err);

    /* As ash_store_hold.  Reads with op->at_time are given only times that this slot gave. */
    int (*hold)(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out, ash_error *err);

    /* The store's clock, and the time of its newest change (NULL: nobody asks).  Does not wait. */
    int (*time)(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err);
    /* As ash__store_moment.  NULL: it never can. */
    bool (*moment)(ash_store *store, uint64_t *out);
    /* ns may be a database or the whole store.  scale > 0.  out: initialised by the slot on success. */
    int (*stats)(ash_store *store, ash_ns ns, int64_t scale, const ash_op *op, bson_t *out,
                 ash_error *err);
    /* Everything acknowledged by now is durable when it returns. */
    int (*flush)(ash_store *store, const ash_op *op, ash_error *err);
    /* As ash_store_maintain; ASH_EUNSUPPORTED for actions that it does not know.  out: empty, and on
     * the stack where it stays so. */
    int (*maintain)(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                    bson_t *out, ash_error *err);

    /* ---- private lanes of the embedded backend, NULL elsewhere ---- */

    /* Several reads of one state, as in store/parts.h. */
    int (*look)(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op, ash_error *err);
    /* A server's clients will name themselves (ash_op.reader), so that each is given the chunks of
     * the files documents that it was given; one of them reads no more. */
    void (*expect_readers)(ash_store *store);
    void (*forget_reader)(ash_store *store, uint64_t reader);
};

struct ash_backend {
    const char *name; /* "embedded", "mongodb" */
    /* Does this backend take the URI? */
    bool (*accepts)(const char *uri);
    /* opts: complete.  On success the store's ops are set; store.c fills in default_db (from opts,
     * else from *db, which the backend may set to a name of its own to be freed by store.c). */
    int (*open)(const char *uri, const ash_store_options *opts, ash_store **out, char **db,
                ash_error *err);
};

/* The backends of this build, NULL-terminated: the one list outside src/store that names them
 * (src/backends.c). */
extern const ash_backend *const ash__backends[];

/* For backends: a cursor over documents that are already there.  Takes over `docs` (a BSON array).
 */
ash_cursor *ash__cursor_from_array(ash_store *store, bson_t *docs);

/* For decorators and backends: hand a call on with checked, complete options (the public functions
 * do just this). */
int ash__namespace_check(const char *db, const char *coll, ash_error *err);
/* Beyond that, for what is about to be made: no driver can list a name that is not UTF-8.  What has
 * one already can be read and dropped. */
int ash__namespace_check_new(const char *db, const char *coll, ash_error *err);

/* For a server, before its first client: operations will name their reader. */
void ash__store_expect_readers(ash_store *store);
/* This one (ash_op.reader) reads no more. */
void ash__store_forget_reader(ash_store *store, uint64_t reader);

/* Does an array of stages hold $out or $merge? */
bool ash__pipeline_writes(const bson_t *pipeline);

/* Has another thread raised the flag (which may be NULL)? */
static inline bool ash__is_cancelled(const volatile int *cancel)
{
    return cancel != NULL && __atomic_load_n(cancel, __ATOMIC_RELAXED) != 0;
}

/* ASH_EINTERRUPTED or ASH_ETIMEOUT when op says so by now; for loops in backends. */
int ash__op_check(const ash_op *op, ash_error *err);
/* op of a caller who may not have one. */
ash_op ash__op_of(const ash_op *op);

/* Append one entry to result->errors, from err (with details {keyPattern, keyValue} or
 * {errInfo}, or NULL), leaving out what ASH_WRITE_ERRORS_BYTES has no room for. */
void ash__write_result_add_error(ash_write_result *r, uint32_t index, const ash_error *err,
                                 const bson_t *details);

/* May a list with count entries in so_far bytes take more bytes of texts and details? */
bool ash__write_errors_fit(uint32_t count, size_t so_far, size_t more);

#endif
