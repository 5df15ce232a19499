/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_STORE_H
#define ASHLAR_STORE_H

/* A store: databases of collections of BSON documents, named by a URI.
 *
 *   ./files, /srv/files, file:/srv/files    the embedded engine, in that folder
 *   mongodb://…, mongodb+srv://…            a MongoDB deployment, through libmongoc
 *
 * One program text runs on both.  A folder is held by one process; when that process is `ashlar
 * serve`, a second process that opens the folder reaches it through a Unix socket in it, without
 * noticing.
 *
 * Threads: a store and its collections may be used from any number of threads.  A cursor or a
 * transaction belongs to one thread at a time.  Everything else in this header is plain data.
 *
 * Pointers must not be NULL unless a comment allows it.  Allowed everywhere: options (NULL: the
 * defaults), err (NULL: only the code is wanted), and what a free or close function is given.  Any
 * other NULL is a bug of the caller and ends the program, as a rule by an assertion.
 *
 * Documents: views (ash_doc) and bson_t that are passed in are read during the call and stay the
 * caller's.  Semantics of filters, updates and stages are MongoDB's; docs/COMPATIBILITY.md lists
 * what is supported.
 *
 * Errors common to all operations and not repeated below: ASH_EINVAL for what does not parse,
 * ASH_ETIMEOUT past the deadline, ASH_EINTERRUPTED when cancelled, ASH_EIO, ASH_ENOSPC,
 * ASH_ECORRUPT from the disk, ASH_ENETWORK from a deployment. ash_error.server_code holds MongoDB's
 * own number.  After any failure the store is as before the call, except where a result says how
 * far it came. */

#include <stdbool.h>

#include <string.h>

#include <ashlar/doc.h>
#include <ashlar/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     ash_error err = ASH_ERROR_INIT;
 *     ash_store *store = NULL;
 *     ash_collection *things = NULL;
 *     bson_t *doc = BCON_NEW("name", BCON_UTF8("a"));
 *     int rc = ash_store_open("./files", NULL, &store, &err);
 *     if (rc == 0)
 *         rc = ash_collection_new(store, "test", "things", &things, &err);
 *     if (rc == 0)
 *         rc = ash_collection_insert_one(things, doc, NULL, &err);
 *     if (rc != 0)
 *         fprintf(stderr, "%s\n", err.text);
 *     bson_destroy(doc);
 *     ash_collection_free(things);
 *     ash_store_close(store);
 */

typedef struct ash_store ash_store;
typedef struct ash_collection ash_collection;
typedef struct ash_cursor ash_cursor;
typedef struct ash_transaction ash_transaction;

/* ---- opening ---- */

/* When a write is acknowledged.  Whatever is chosen, a single operation may ask for more
 * (ash_op.durability). */
typedef enum ash_durability {
    ASH_DURABILITY_DEFAULT = 0, /* the store's; for a store: FILE */
    ASH_DURABILITY_FILE,    /* documents in *.chunks when applied; everything else, and with it all
                               that came before, when on disk */
    ASH_DURABILITY_EVERY,   /* every write when on disk */
    ASH_DURABILITY_INTERVAL /* every write when applied; on disk at most 100 ms later */
} ash_durability;

typedef struct ash_store_options {
    size_t size;
    bool must_exist; /* do not create a missing folder: ASH_ENOTFOUND */
    bool read_only;  /* refuse writes; the embedded engine still needs to hold the folder */
    bool no_server;  /* do not reach for a server that holds the folder: ASH_EBUSY */
    ash_durability durability;
    int64_t busy_timeout_ms; /* wait for a folder held by another short-lived process; 0 = 5000, < 0
                                = do not wait */
    int64_t map_bytes;     /* most the engine's metadata may grow to; 0 = 1 TiB of address space */
    int64_t segment_bytes; /* most a new segment file may have; 0 = 256 MiB.  It gets as much as all
                              before it together, 4 MiB at least; what one document needs if that is
                              more, and less where the disk is nearly full */
    /* Change history to keep; 0 = 64 MiB.  But as long as nobody has ever watched the store, nor
     * asked ash_store_time() or a server for an operation time, 256 KiB, or a 64th of what it takes. */
    int64_t oplog_bytes;
    int64_t ttl_interval_ms; /* pause between sweeps of TTL indexes; 0 = 5000 */
    int64_t slow_ms;         /* log operations slower than this; 0 = 100 */
    /* How long a resting download keeps a deleted file readable; 0 = 600000. */
    int64_t pin_timeout_ms;
    const char *default_db; /* copied; NULL = the URI's path (mongodb://host/db), else "test" */
} ash_store_options;
#define ASH_STORE_OPTIONS_INIT ASH_OPTIONS_INIT(ash_store_options)

/* Open (and for a folder: create) a store.  *out is yours: ash_store_close().  ASH_EBUSY: another
 * process holds it and does not serve.  ASH_EVERSION: written by a newer Ashlar.  ASH_ECORRUPT: not
 * a store, or damaged: `ashlar check`.  ASH_EUNSUPPORTED: this build lacks the backend.
 *
 * While stores in folders are open, the process has a handler for SIGBUS and SIGSEGV, which makes
 * errors of payloads' pages that cannot be read.  Other faults go to the handlers that were there
 * before; who sets their own later passes on what is not theirs. */
int ash_store_open(const char *uri, const ash_store_options *opts, ash_store **out, ash_error *err);

/* Waits for running operations of other threads, makes everything durable and lets go.  Free
 * cursors and collections first. NULL is fine. */
void ash_store_close(ash_store *store);

const char *ash_store_default_db(const ash_store *store); /* borrowed until close */

/* What the backend can do: decides what callers offer, not how they call. */
typedef struct ash_capabilities {
    size_t size;
    const char *backend;   /* to be shown: "embedded", "mongodb", "server" (a folder reached through
                              its server) */
    bool transactions;     /* ash_store_transact works, and is atomic */
    bool atomic_commits;   /* several operations become visible and durable as one */
    bool watch;            /* ash_store_watch works */
    bool pinned_downloads; /* a running download reads one version to its end */
    bool past_damage;      /* finds with past_damage go on behind a damaged document */
    bool in_process; /* this process holds the store: no network lies between, and others reach it
                        through this process or not at all */
    bool serial_transactions; /* one after the other: what one reads is still so when it commits */
    bool replayed_transactions; /* each operation in one is run again with all that follow: few and
                                   short ones only */
} ash_capabilities;
#define ASH_CAPABILITIES_INIT ASH_OPTIONS_INIT(ash_capabilities)
int ash_store_capabilities(ash_store *store, ash_capabilities *out, ash_error *err);

/* ---- what every operation takes ---- */

/* Identity of a retryable write: repeated with the same three, it is not done twice and gives the
 * first result, also after a restart. */
typedef struct ash_retry_id {
    uint8_t session[16];
    int64_t txn_number;
    int32_t statement;
} ash_retry_id;

/* Who asks, and as what.  Servers say it of each operation; nothing is refused because of it yet.
 */
typedef struct ash_principal {
    size_t size;
    const char *user;    /* NULL: nobody has signed in */
    const char *db;      /* that the user belongs to; NULL with user */
    const bson_t *roles; /* array of {role, db}; NULL: none */
} ash_principal;
#define ASH_PRINCIPAL_INIT ASH_OPTIONS_INIT(ash_principal)

typedef struct ash_op {
    size_t size;
    ash_transaction *transaction; /* inside ash_store_transact; else NULL */
    ash_durability durability; /* EVERY: acknowledged when on disk, whatever the store's default */
    int64_t deadline_ms; /* on the monotonic clock (ash_deadline()); 0 = none; bounds the whole
                            operation and, for cursors, each batch */
    const volatile int *cancel; /* set to non-zero from any thread to stop the operation; or NULL */
    const ash_retry_id *retry;  /* or NULL */
    bool bypass_validation;     /* of the collection's validator */
    uint64_t reader;  /* for servers: a number of the client that reads, so that the embedded engine
                         gives it the chunks of the files documents it was given; 0 = none */
    uint64_t at_time; /* read the state that ash_store_hold() gave this time; 0 = the newest.  Finds
                         (not tailable), aggregates that do not write, counts and distinct:
                         ASH_ECURSOR (239) once it has lapsed, also between batches */
    /* For a deployment, instead of what the URI says; NULL = that.  The embedded engine always
     * reads its newest commit and takes no notice of them. */
    const bson_t *read_concern;     /* {level} */
    const bson_t *read_preference;  /* {mode, tags, maxStalenessSeconds} */
    const bson_t *write_concern;    /* {w, j, wtimeout} */
    const ash_principal *principal; /* who asks; NULL: the owner of the process */
} ash_op;
#define ASH_OP_INIT ASH_OPTIONS_INIT(ash_op)

/* Now + timeout on the clock that deadlines use; <= 0 gives 0, no deadline. */
int64_t ash_deadline(int64_t timeout_ms);

/* ---- collections ---- */

/* A name for documents: costs nothing, creates nothing.  db NULL = the default database.  *out is
 * yours: ash_collection_free(); it must not outlive the store.  ASH_EINVAL (73) for a name that is
 * empty, too long (255 bytes with the database), or holds NUL or '$' where MongoDB refuses it. */
int ash_collection_new(ash_store *store, const char *db, const char *name, ash_collection **out,
                       ash_error *err);
void ash_collection_free(ash_collection *c);
const char *ash_collection_db(const ash_collection *c);
const char *ash_collection_name(const ash_collection *c);
ash_store *ash_collection_store(const ash_collection *c);

/* options: MongoDB's `create` fields (capped, size, max, validator, validationLevel,
 * validationAction, collation, …) or NULL. ASH_EEXISTS (48) unless it exists with the same options.
 */
int ash_collection_create(ash_collection *c, const bson_t *options, const ash_op *op,
                          ash_error *err);
/* ASH_ENOTFOUND (26) if absent. */
int ash_collection_drop(ash_collection *c, const ash_op *op, ash_error *err);
int ash_collection_rename(ash_collection *c, const char *to_db, const char *to_name,
                          bool drop_target, const ash_op *op, ash_error *err);
/* collMod.  old_values (or NULL): initialised by the call on success, the caller destroys; on
 * ASH_EEXISTS with the code 359, too (an index cannot become unique), and then it says which
 * documents share keys: {violations: [{ids: […]}, …]}. */
int ash_collection_modify(ash_collection *c, const bson_t *changes, const ash_op *op,
                          bson_t *old_values, ash_error *err);

/* {name, type, options, info: {readOnly, uuid}, idIndex} documents, filtered. */
int ash_store_list_collections(ash_store *store, const char *db, const bson_t *filter,
                               const ash_op *op, ash_cursor **out, ash_error *err);
/* {databases: [{name, sizeOnDisk, empty}], totalSize}; out: initialised by the call on success, the
 * caller destroys. */
int ash_store_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err);
int ash_store_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err);

/* ---- reading ---- */

typedef struct ash_find_options {
    size_t size;
    const bson_t *sort;
    const bson_t *projection;
    const bson_value_t *hint; /* index name or key document */
    const bson_t *collation;
    const bson_t *let;
    int64_t skip;
    int64_t limit;        /* 0 = all */
    int32_t batch_size;   /* a wish for remote stores; 0 = theirs */
    bool tailable;        /* capped collections only */
    bool await_data;      /* with tailable: a batch waits for documents … */
    int64_t max_await_ms; /* … this long; 0 = 1000 */
    bool no_cursor_timeout;
    bool allow_disk_use;
    bool download;       /* reading the chunks of one file: keep this version readable until the end
                            (embedded engine; also taken for any find on *.chunks that fixes files_id) */
    bool show_record_id; /* documents end with $recordId, a number that keeps to the record */
    const bson_t *min; /* only keys of the hinted index from here on, {field: value …} of all of its
                          fields; or NULL */
    const bson_t *max; /* … and below here.  ASH_EINVAL 51173 to 51176 */
    bool past_damage;  /* where the store can: after ASH_ECORRUPT for a damaged document the cursor
                          may  be asked again, and goes on behind it; with a sort that no index
                          gives,  behind all of them */
    ash_op op;         /* last: it grows by itself */
} ash_find_options;
#define ASH_FIND_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_find_options)

/* *out is yours: ash_cursor_free().  A missing collection gives no documents. */
int ash_collection_find(ash_collection *c, const bson_t *filter, const ash_find_options *opts,
                        ash_cursor **out, ash_error *err);

/* The first match, copied into *out (initialised by the call on success; the caller destroys).
 * ASH_ENOTFOUND if none. */
int ash_collection_find_one(ash_collection *c, const bson_t *filter, const ash_find_options *opts,
                            bson_t *out, ash_error *err);

/* Next document as a view, valid until the next call on the cursor; *doc->data is NULL at the end
 * (for tailable cursors and watches: nothing now, ask again).  A file's chunk that fails its
 * checksum is ASH_ECORRUPT naming chunk and place. */
int ash_cursor_next(ash_cursor *cursor, ash_doc *doc, ash_error *err);

/* Many at once: at most max_docs documents (0 = no limit) of together at most max_bytes (0 = 16
 * MiB; but always one), all valid until the next call on the cursor.  count 0: as the end above.
 * Large documents are not copied: views point into the store's mapping, and stay whole whatever
 * happens to the documents meanwhile. */
typedef struct ash_batch {
    const ash_doc *docs;
    size_t count;
    bool exhausted;       /* nothing will ever follow */
    ash_doc resume_token; /* change streams: where a new watch would go on after this batch; else
                             data NULL */
} ash_batch;
int ash_cursor_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                          ash_error *err);

/* Deadline, cancel flag and wait for the following calls (a getMore brings its own).  await_ms < 0
 * leaves the wait. */
void ash_cursor_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                       int64_t await_ms);

/* Let go of views and of what they hold, keeping the position.  Call it when a cursor will rest for
 * a while. */
void ash_cursor_rest(ash_cursor *cursor);
void ash_cursor_free(ash_cursor *cursor);

typedef struct ash_aggregate_options {
    size_t size;
    const bson_value_t *hint;
    const bson_t *collation;
    const bson_t *let;
    int32_t batch_size;
    bool allow_disk_use;
    int64_t max_await_ms;  /* $changeStream */
    bson_t *error_details; /* the caller's, initialised; or NULL.  What refused a document that
                              $merge wrote: {keyPattern, keyValue} or {errInfo} (embedded engine) */
    ash_op op;             /* last: it grows by itself */
} ash_aggregate_options;
#define ASH_AGGREGATE_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_aggregate_options)
/* pipeline: array of stages.  $out and $merge run to the end before this returns. */
int ash_collection_aggregate(ash_collection *c, const bson_t *pipeline,
                             const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);
int ash_store_aggregate(ash_store *store, const char *db, const bson_t *pipeline,
                        const ash_aggregate_options *opts, ash_cursor **out, ash_error *err);

typedef struct ash_count_options {
    size_t size;
    const bson_value_t *hint;
    const bson_t *collation;
    int64_t skip;
    int64_t limit;
    ash_op op; /* last: it grows by itself */
} ash_count_options;
#define ASH_COUNT_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_count_options)
int ash_collection_count(ash_collection *c, const bson_t *filter, const ash_count_options *opts,
                         int64_t *out, ash_error *err);

/* *out: {values: […]}, initialised on success, the caller destroys.  key: dotted path; arrays are
 * unwound. */
int ash_collection_distinct(ash_collection *c, const char *key, const bson_t *filter,
                            const bson_t *collation, const ash_op *op, bson_t *out, ash_error *err);

/* What a find, count, distinct, aggregate, update, delete or findAndModify command would do.
 * command: as on the wire; verbosity: "queryPlanner", "executionStats", "allPlansExecution".  *out
 * initialised on success, the caller destroys. */
int ash_collection_explain(ash_collection *c, const bson_t *command, const char *verbosity,
                           const ash_op *op, bson_t *out, ash_error *err);

/* ---- writing ---- */

/* A list of errors has an entry for each, but not everything about all of them: texts and details
 * (keyPattern, keyValue, errInfo) together take this many bytes.  What does not fit is left out:
 * first an entry's details, then its text (errmsg is ""), never index and code.  The first entry
 * may take more, so that it is whole but for enormous details. */
#define ASH_WRITE_ERRORS_BYTES      ((size_t)1024 * 1024)
#define ASH_WRITE_ERROR_FIRST_BYTES ((size_t)8 * 1024 * 1024)

/* How far a write came.  init before, release after; the caller's memory. */
typedef struct ash_write_result {
    size_t size; /* set by init */
    int64_t inserted;
    int64_t matched;  /* documents that the filter found (upserts not counted) */
    int64_t modified; /* whose bytes changed */
    int64_t deleted;
    bool upserted;
    bson_t upserted_id; /* {_id: …} when upserted */
    bson_t errors;      /* array of {index, code, errmsg, keyPattern?, keyValue?, errInfo?};
                              empty if none; see ASH_WRITE_ERRORS_BYTES */
    uint32_t error_count;
    bool retried; /* the result of an earlier execution (ash_op.retry) */
} ash_write_result;
/* Here, so that it knows the struct as its caller does. */
static inline void ash_write_result_init(ash_write_result *r)
{
    memset((void *)r, 0, sizeof *r);
    r->size = sizeof *r;
    bson_init(&r->upserted_id);
    bson_init(&r->errors);
}
void ash_write_result_release(ash_write_result *r);

typedef struct ash_insert_options {
    size_t size;
    bool unordered; /* go on after a document that failed */
    bool to_disk;   /* the embedded engine brings large documents' bytes to the disk before it
                       answers, so that the change which is to make them visible waits for less.  It
                       makes nothing durable by itself */
    ash_op op;      /* last: it grows by itself */
} ash_insert_options;
#define ASH_INSERT_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_insert_options)

/* Insert count documents, in order.  A missing _id is generated and put first.  result may be NULL.
 * When documents fail (duplicate key 11000, validation 121, …) the others' fate is in result, and
 * the return value is the first failure's code. Each document is atomic.  When the store itself
 * fails (a full disk), that is the return value, result->inserted counts what is in the store, and
 * an unordered insert has an error in result for every document that is not. */
int ash_collection_insert(ash_collection *c, const ash_doc *docs, size_t count,
                          const ash_insert_options *opts, ash_write_result *result, ash_error *err);
int ash_collection_insert_one(ash_collection *c, const bson_t *doc, const ash_insert_options *opts,
                              ash_error *err);

typedef struct ash_update_options {
    size_t size;
    bool multi;
    bool upsert;
    const bson_t *array_filters;
    const bson_value_t *hint;
    const bson_t *collation;
    const bson_t *let;
    ash_op op; /* last: it grows by itself */
} ash_update_options;
#define ASH_UPDATE_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_update_options)

/* update: a document of operators, a replacement document, or an array of pipeline stages. Each
 * document is atomic; a multi update is not one unit.  ASH_EEXISTS (11000) when a unique index
 * refuses; result->errors then has keyPattern and keyValue. */
int ash_collection_update(ash_collection *c, const bson_t *filter, const bson_value_t *update,
                          const ash_update_options *opts, ash_write_result *result, ash_error *err);

typedef struct ash_remove_options {
    size_t size;
    bool just_one;
    const bson_value_t *hint;
    const bson_t *collation;
    const bson_t *let;
    ash_op op; /* last: it grows by itself */
} ash_remove_options;
#define ASH_REMOVE_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_remove_options)
int ash_collection_remove(ash_collection *c, const bson_t *filter, const ash_remove_options *opts,
                          ash_write_result *result, ash_error *err);

typedef struct ash_find_and_modify_options {
    size_t size;
    const bson_t *sort;
    const bson_t *projection;
    const bson_value_t *update; /* or … */
    bool remove;                /* … remove the match */
    bool upsert;
    bool return_new;
    const bson_t *array_filters;
    const bson_value_t *hint;
    const bson_t *collation;
    const bson_t *let;
    ash_op op; /* last: it grows by itself */
} ash_find_and_modify_options;
#define ASH_FIND_AND_MODIFY_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_find_and_modify_options)

/* Finds one and changes it, atomically.  *value: the document before (or after, return_new), {}
 * when there is none; *found says which.  Initialised by the call on success, the caller destroys.
 * result: as for update. */
int ash_collection_find_and_modify(ash_collection *c, const bson_t *filter,
                                   const ash_find_and_modify_options *opts, bson_t *value,
                                   bool *found, ash_write_result *result, ash_error *err);

/* ---- indexes ---- */

/* specs: array of {key, name, unique?, sparse?, expireAfterSeconds?, partialFilterExpression?,
 * collation?, hidden?}.  Creates the collection when missing.  *reply (may be NULL):
 * {numIndexesBefore, numIndexesAfter, createdCollectionAutomatically, note?}; initialised on
 * success. Conflicts are ASH_EEXISTS with 85, 86 or 68; 67 for a bad key; 11000 and nothing built
 * when the data has duplicates. */
int ash_collection_create_indexes(ash_collection *c, const bson_t *specs, const ash_op *op,
                                  bson_t *reply, ash_error *err);
/* ASH_ENOTFOUND (26) for a missing collection. */
int ash_collection_list_indexes(ash_collection *c, const ash_op *op, ash_cursor **out,
                                ash_error *err);
/* index: name, key document, array of names, or "*" (all but _id_).  ASH_ENOTFOUND (27). */
int ash_collection_drop_indexes(ash_collection *c, const bson_value_t *index, const ash_op *op,
                                ash_error *err);

/* ---- several operations as one ---- */

/* fn runs with a transaction to put into ash_op.transaction of its operations.  Without it they are
 * ASH_ESTATE on fn's thread, since they could wait for their own thread for ever; so is a cursor
 * that was opened outside.  fn must not wait for other threads that use the store.  Returning 0
 * commits all as one, anything else undoes all and is returned by ash_store_transact.  fn may run
 * on another thread, and more than once (ASH_ECONFLICT on a deployment or a server).  Keep it
 * short: other writers of the embedded engine wait meanwhile.  Durable when 0 is returned unless
 * op->durability says otherwise.  With op->retry (embedded engine) one that was committed before is
 * not run again: 0.  ASH_EUNSUPPORTED where the deployment has no transactions.
 *
 * Through a folder's server nothing is open between two operations: each of them is sent again with
 * every later one and with the commit, and has to come to the same.  So what fn does is bounded:
 * 1,000 operations, together 16 MiB, each finding at most 16 MiB (ASH_ETOOBIG), the server's writer
 * busy for 5 s at most (ASH_ETIMEOUT); there are finds, aggregates that do not write, counts,
 * distinct, inserts, updates, removes and find_and_modify, others are ASH_EUNSUPPORTED.  Operations
 * with a result of chance ($rand, $sample) end with ASH_ECONFLICT after two minutes.  When the
 * connection is lost during the commit, it is asked for again, and is not done twice; ASH_ENETWORK
 * means that its outcome is unknown. */
typedef int (*ash_transact_fn)(ash_transaction *t, void *ctx, ash_error *err);
int ash_store_transact(ash_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                       ash_error *err);

/* ---- changes ---- */

typedef struct ash_watch_options {
    size_t size;
    const bson_t *pipeline;     /* array of stages that filter or map events; or NULL */
    const bson_t *resume_after; /* a resume token */
    const bson_t *start_after;
    uint64_t start_at_operation_time; /* seconds << 32 | increment; 0 = now */
    const char *full_document;        /* "default", "updateLookup", "whenAvailable", "required" */
    int64_t max_await_ms;             /* how long next waits for an event; 0 = 1000 */
    bool all_changes;                 /* of the whole store (db must be NULL) */
    int32_t batch_size;
    const char *full_document_before_change; /* "off", "whenAvailable", "required"; NULL = off */
    bool expanded_events; /* also of collections and indexes created, changed or dropped */
    ash_op op;            /* last: it grows by itself */
} ash_watch_options;
#define ASH_WATCH_OPTIONS_INIT ASH_OP_OPTIONS_INIT(ash_watch_options)

/* Events as MongoDB's change streams give them, of one collection (db, collection), one database
 * (collection NULL) or all (both NULL).  A waiting cursor is woken by the commit.  ASH_EINVAL 260
 * for a bad token, ASH_ECURSOR 286 when the history is gone. */
int ash_store_watch(ash_store *store, const char *db, const char *collection,
                    const ash_watch_options *opts, ash_cursor **out, ash_error *err);

/* ---- the store itself ---- */

/* The store's clock: wall time in ms and the newest operation time (0 where there is none). */
int ash_store_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err);

/* Hold a snapshot of the store for reads that are to agree with one another (ash_op.at_time).  time
 * 0: the newest; else that of an earlier answer, or the present one's.  *out: its time.  It lapses
 * after a minute without use, after five at the latest, when many newer ones (over 64) are held, or
 * when more than 1 GiB of metadata was freed that it still sees; meanwhile deleted documents keep
 * their space.  ASH_ECURSOR (239): the snapshot of that time is gone.
 * ASH_EINVAL (72): a time to come.  ASH_ECONFLICT (246): all snapshots are being read.  Embedded
 * engine only, else ASH_EUNSUPPORTED. */
int ash_store_hold(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out,
                   ash_error *err);

/* Statistics as MongoDB's commands name their fields: of the store (db and collection NULL:
 * serverStatus's storage part), a database (dbStats), a collection (collStats).  scale: divisor for
 * sizes, 0 = 1.  *out initialised on success. */
int ash_store_stats(ash_store *store, const char *db, const char *collection, int64_t scale,
                    const ash_op *op, bson_t *out, ash_error *err);

/* Everything acknowledged so far is on disk when this returns 0. */
int ash_store_flush(ash_store *store, const ash_op *op, ash_error *err);

/* Maintenance of a store in a folder, also through its server; ASH_EUNSUPPORTED on a deployment.
 * The first field of action says what to do, and *out is a report, initialised on success and on
 * ASH_ECORRUPT (damage was found): of check and backup as told below, else, and through a server,
 * it may be empty.
 *
 *   {check: 1, payloads: bool}       look for damage; payloads: read them all (default true).
 *       {clean, collections, records, indexKeys, payloadBytes, findingCount, findings}
 *   {validate: "db.coll", full: bool}       the same, with what was found in one collection; full:
 *       read the payloads (default false).  0 also when it is damaged.  {ns, nInvalidDocuments,
 *       nrecords, nIndexes, keysPerIndex: {name: keys …}, valid, repaired: false, warnings: [],
 *       errors: as findings}; nInvalidDocuments: those that cannot be read.  ASH_ENOTFOUND (26).
 *   {compact: "db.coll"}       give free space of the whole store back to the file system,
 *       whichever of its collections is named; a number instead names none.  {bytesFreed};
 *       ASH_ENOTFOUND (26), ASH_EREADONLY
 *   {sound: any value}       for who is about to delete because something is not there: is the
 *       metadata whole, as a look at it tells that is at most ten minutes old, or fifty times what
 *       it took?  {}; ASH_ECORRUPT: it is damaged
 *   {backup: "folder", verify: bool, replace: bool}       copy the store into a folder that is new
 *       or an earlier backup; verify: read all payloads of the copy; replace: also one that was
 *       changed by itself or is of a later state (both: default false).  {records, copiedRecords,
 *       copiedBytes, metaBytes, copiedMetaBytes, segments, damaged, clean, findingCount, findings}
 *
 * findings: the first 1,000 of findingCount, each {text, kind, invariant, …}: text is a line for
 * people, invariant a number of docs/FORMAT.md; where it applies db, collection, rid (the record's
 * number), index, segment, offset, and document, which is what a damaged one still says.  Of a
 * file's chunk also filename (cut behind 1,024 bytes), files_id and n, as far as they are known.
 *
 * ASH_EINVAL: an unknown action or argument, or one of another kind.  A damaged store is repaired
 * while nobody has it open, by `ashlar check --repair`: {repair: 1} is ASH_EUNSUPPORTED.  progress
 * (may be NULL) is called now and then, on the calling thread, and stops the work by returning
 * false (ASH_EINTERRUPTED). */
typedef bool (*ash_progress_fn)(void *ctx, const char *what, int64_t done, int64_t total);
int ash_store_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                       bson_t *out, ash_error *err);

#ifdef __cplusplus
}
#endif
#endif
