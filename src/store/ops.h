/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_OPS_H
#define ASH_STORE_OPS_H

/* What a backend is: one constant table of typed operations.
 *
 * The public functions in store.c check arguments, copy option structs to the current size and call
 * one slot each; nobody else calls a slot.  No slot may be NULL but where it says so.  Slots get
 * options that are never NULL and of this version's size; op, filter, pipeline and `create` options
 * never NULL (nothing is
 * {}), results never NULL and initialised; output pointers never NULL.  What cannot be right on any
 * backend (names, negative limits, an update that is no document) was refused before.  Contracts
 * are those of ashlar/store.h; what is said here is what a backend owes beyond them. */

#include <ashlar/store.h>

/* A server code that callers look for: CannotConvertIndexToUnique. */
enum { ASH_CANNOT_BE_UNIQUE = 359 };

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
    void (*set_op)(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                   int64_t await_ms);
    void (*rest)(ash_cursor *cursor);
    void (*free)(ash_cursor *cursor);
    /* As in store/parts.h; NULL, all four, where there is no such thing. */
    bool (*take_parts)(ash_cursor *cursor);
    int (*verify)(ash_cursor *cursor, size_t index, size_t *from, size_t *to, ash_error *err);
    bool (*lasts)(ash_cursor *cursor, size_t index);
    bool (*seek)(ash_cursor *cursor, size_t index);
};

struct ash_store_ops {
    void (*close)(ash_store *store);
    int (*capabilities)(ash_store *store, ash_capabilities *out, ash_error *err);

    int (*create)(ash_store *store, const char *db, const char *coll, const bson_t *options,
                  const ash_op *op, ash_error *err);
    int (*drop)(ash_store *store, const char *db, const char *coll, const ash_op *op,
                ash_error *err);
    int (*rename)(ash_store *store, const char *db, const char *coll, const char *to_db,
                  const char *to_coll, bool drop_target, const ash_op *op, ash_error *err);
    /* err is never NULL.  old_values as in ash_collection_modify. */
    int (*modify)(ash_store *store, const char *db, const char *coll, const bson_t *changes,
                  const ash_op *op, bson_t *old_values, ash_error *err);
    int (*list_collections)(ash_store *store, const char *db, const bson_t *filter,
                            const ash_op *op, ash_cursor **out, ash_error *err);
    int (*list_databases)(ash_store *store, const ash_op *op, bson_t *out, ash_error *err);
    int (*drop_database)(ash_store *store, const char *db, const ash_op *op, ash_error *err);

    int (*find)(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                const ash_find_options *opts, ash_cursor **out, ash_error *err);
    /* coll NULL: aggregate over the database ({aggregate: 1}). */
    int (*aggregate)(ash_store *store, const char *db, const char *coll, const bson_t *pipeline,
                     const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);
    int (*count)(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                 const ash_count_options *opts, int64_t *out, ash_error *err);
    int (*distinct)(ash_store *store, const char *db, const char *coll, const char *key,
                    const bson_t *filter, const bson_t *collation, const ash_op *op, bson_t *out,
                    ash_error *err);
    int (*explain)(ash_store *store, const char *db, const char *coll, const bson_t *command,
                   const char *verbosity, const ash_op *op, bson_t *out, ash_error *err);

    int (*insert)(ash_store *store, const char *db, const char *coll, const ash_doc *docs,
                  size_t count, const ash_insert_options *opts, ash_write_result *result,
                  ash_error *err);
    int (*update)(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                  const bson_value_t *update, const ash_update_options *opts,
                  ash_write_result *result, ash_error *err);
    int (*remove)(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                  const ash_remove_options *opts, ash_write_result *result, ash_error *err);
    int (*find_and_modify)(ash_store *store, const char *db, const char *coll, const bson_t *filter,
                           const ash_find_and_modify_options *opts, bson_t *value, bool *found,
                           ash_write_result *result, ash_error *err);

    int (*create_indexes)(ash_store *store, const char *db, const char *coll, const bson_t *specs,
                          const ash_op *op, bson_t *reply, ash_error *err);
    int (*list_indexes)(ash_store *store, const char *db, const char *coll, const ash_op *op,
                        ash_cursor **out, ash_error *err);
    int (*drop_indexes)(ash_store *store, const char *db, const char *coll,
                        const bson_value_t *index, const ash_op *op, ash_error *err);

    int (*transact)(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                    ash_error *err);
    int (*watch)(ash_store *store, const char *db, const char *coll, const ash_watch_options *opts,
                 ash_cursor **out, ash_error *err);

    /* As ash_store_hold.  Reads with op->at_time are given only times that this slot gave. */
    int (*hold)(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out, ash_error *err);

    int (*time)(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err);
    int (*stats)(ash_store *store, const char *db, const char *coll, int64_t scale,
                 const ash_op *op, bson_t *out, ash_error *err);
    int (*flush)(ash_store *store, const ash_op *op, ash_error *err);
    int (*maintain)(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                    bson_t *out, ash_error *err);
    /* As in store/parts.h; may be NULL. */
    int (*look)(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op, ash_error *err);
    /* Readers (ash_op.reader) are about to come; may be NULL. */
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

/* Append one entry to result->errors, from err (with details {keyPattern, keyValue} or
 * {errInfo}, or NULL), leaving out what ASH_WRITE_ERRORS_BYTES has no room for. */
void ash__write_result_add_error(ash_write_result *r, uint32_t index, const ash_error *err,
                                 const bson_t *details);

/* May a list with count entries in so_far bytes take more bytes of texts and details? */
bool ash__write_errors_fit(uint32_t count, size_t so_far, size_t more);

#endif
