/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_BUCKET_H
#define ASH_BUCKET_BUCKET_H

/* What the files of this folder share: the bucket object, its options as operations want them, and
 * filters on ids and names. */

#include <stdatomic.h>

#include <ashlar/bucket.h>

#include "base/error.h"
#include "bson/value.h"

#define ASH_BLOCK_OF_CHUNKS (4 * 1024 * 1024)
enum { ASH_SPARE_BLOCKS = 2 };

struct ash_bucket {
    ash_store *store;
    char *db;
    char *name;
    ash_collection *files;
    ash_collection *chunks;
    ash_collection *attributes;
    int32_t chunk_size;
    ash_durability durability;
    bson_t read_concern, read_preference, write_concern; /* {} when not given */
    bool md5;
    int64_t timeout_ms;
    int64_t default_ttl_s;
    atomic_bool indexed;        /* the first write's look at the indexes succeeded */
    atomic_bool expiry_indexed; /* the same for the index on expiry dates */
    void *_Atomic spare_blocks[ASH_SPARE_BLOCKS];
};

/* Memory for an upload's chunks, not zeroed; NULL when there is none.  A bucket keeps what its last
 * upload gave back: fresh pages cost as much as a copy of all that is put there. */
void *ash__bucket_block_take(ash_bucket *b);
void ash__bucket_block_give(ash_bucket *b, void *block); /* NULL is fine */

/* Zeroed memory for a type that holds a bson_t, which must lie at a multiple of 128 bytes;
 * ash__free(). */
void *ash__bucket_alloc(size_t size_bytes, size_t alignment);
#define ash__bucket_new(type) ((type *)ash__bucket_alloc(sizeof(type), _Alignof(type)))

/* How the store commits: asked for once an operation. */
typedef struct ash_commit_manner {
    bool in_process;   /* it is held by this one */
    bool transactions; /* ash_store_transact works */
    bool serial;       /* and what it reads is still so when it commits, without being touched */
    bool replayed; /* and each operation in it is run again with all that follow: few and short */
    bool pinned;   /* a running download keeps its version */
    bool joined;   /* it is a caller's transaction, which may go on after a failure */
    bson_t *rest;  /* with `replayed`, array: files whose last chunks go after the commit */
} ash_commit_manner;
int ash__bucket_manner(ash_bucket *b, ash_commit_manner *out, ash_error *err);

/* One unit of work, which its operations on the store share.  Lent by whoever began it. */
typedef struct ash_work {
    ash_bucket *bucket;
    ash_transaction *transaction;    /* NULL: each operation is visible by itself */
    const ash_commit_manner *manner; /* in a commit: how it goes; else NULL */
    int64_t deadline_ms;             /* monotonic; 0: none */
} ash_work;
/* Outside of any commit. */
ash_work ash__work(ash_bucket *b, int64_t deadline_ms);
int64_t ash__bucket_deadline(const ash_bucket *b, int64_t timeout_ms); /* 0: the bucket's */
int ash__deadline_check(int64_t deadline_ms, const char *what, ash_error *err);

/* Options of one operation: the bucket's concerns, the transaction and the deadline. */
ash_op ash__work_write_op(const ash_work *work);
ash_update_options ash__work_update_options(const ash_work *work);
ash_find_options ash__work_find_options(const ash_work *work);

/* Everything in fn becomes visible and durable as one where the store can do that: as part of
 * work->transaction, or (NULL) of one of its own.  Elsewhere fn runs without a transaction, in its
 * own order, and each step is visible by itself.  fn gets a unit of work of its own, with a manner;
 * it may run more than once and on another thread.  In a caller's transaction it must have failed
 * before its first change, or ash__transaction_break() what it left half-way. */
typedef int (*ash_commit_fn)(const ash_work *work, void *ctx, ash_error *err);
int ash__bucket_commit(const ash_work *work, ash_commit_fn fn, void *ctx, ash_error *err);
/* ASH_EINVAL: it is of another store.  t may be NULL. */
int ash__bucket_transaction_check(const ash_bucket *b, const ash_transaction *t, ash_error *err);

/* The two indexes of § Indexes, if this bucket object has not looked yet. */
int ash__bucket_index(const ash_work *work, ash_error *err);
/* The index that finds expired files. */
int ash__bucket_index_expiry(const ash_work *work, ash_error *err);

/* Append {name: id} to a filter, so that an id which is a document is compared, never run as an
 * operator. */
void ash__filter_id(bson_t *filter, const char *name, const bson_value_t *id);
/* An _id may be any type but array, regular expression and undefined. */
int ash__id_check(const bson_value_t *id, ash_error *err);
bool ash__id_equal(const bson_value_t *a, const bson_value_t *b);
/* What every document of the cursor has at the dotted path, appended to the array. */
int ash__ids_collect(ash_cursor *cursor, const char *path, bson_t *ids, uint32_t *count,
                     ash_error *err);
/* The _id of each document that the filter finds; *count of them.  Options without a projection. */
int ash__ids_find(ash_collection *c, const bson_t *filter, const ash_find_options *opts,
                  bson_t *ids, uint32_t *count, ash_error *err);
char *ash__id_text(const bson_value_t *id);                      /* for error texts; ash__free() */
int ash__say_id_taken(const bson_value_t *id, ash_error *err);   /* ASH_EEXISTS */
int ash__say_id_missing(const bson_value_t *id, ash_error *err); /* ASH_ENOTFOUND */
int ash__filename_check(const char *filename, ash_error *err);

/* The first match into *out, or *found false (and *out not initialised), which is no error here. */
int ash__collection_find_if_any(ash_collection *c, const bson_t *filter, const ash_find_options *o,
                                bson_t *out, bool *found, ash_error *err);

/* Before what is not there is a reason to delete: ASH_ECORRUPT when the metadata of a store in a
 * folder is damaged.  0 also where nobody can say. */
int ash__bucket_require_sound(ash_bucket *b, ash_error *err);

/* Remove what the filter finds; *removed may be NULL. */
int ash__collection_remove_all(ash_collection *c, const bson_t *filter, const ash_op *op,
                               int64_t *removed, ash_error *err);
/* Change what the filter finds by update operators, or to a whole document; *matched may be NULL. */
int ash__collection_change(ash_collection *c, const bson_t *filter, const bson_t *update,
                           const ash_update_options *opts, int64_t *matched, ash_error *err);

#endif
