/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_CONTENT_CONTENTS_H
#define ASH_TREE_CONTENT_CONTENTS_H

/* What the files of this folder share: the object, its collections, and small requests to them. */

#include "tree/content/content.h"

#include <stdatomic.h>

#include "base/hash.h"
#include "bson/value.h"
#include "store/ops.h"
#include "tree/content/recent.h"

/* The most that is ever decoded as one: a content in one frame, or what a delta builds on. */
#define ASH_CONTENT_WHOLE_MAX ((int64_t)32 * 1024 * 1024)
/* Threads that make contents at a time without making tables anew. */
#define ASH_SPARE_CODECS 2
/* Ids in one request. */
#define ASH_CONTENT_IDS_AT_ONCE 1000

struct ash_contents {
    ash_store *store;
    ash_bucket *bucket;    /* NULL in the last generation */
    ash_collection *files; /* NAME.files; in the last generation NAME */
    ash_collection *chunks, *attributes;
    ash_collection *holders[2]; /* or NULL */
    bool last_generation;
    bool serial;   /* the store's transactions are: what one reads needs no touch */
    bool replayed; /* each operation of a transaction is run again with those that follow */
    bool transactions;
    ash_digest_kind digest;
    int64_t piece_bytes, renew_ms;
    atomic_bool prepared;
    /* The store's clock, by which collections tell ages: how far it is ahead of this process's, and
     * when that was asked for (monotonic; 0: never). */
    atomic_int_least64_t ahead_ms, asked_ms;
    /* Of writers before, for the next: making their tables takes long. */
    struct ash_zstd *_Atomic spare[ASH_SPARE_CODECS];
    ash_recent recent;
};

/* A codec that is not in use, and back again; NULL is fine. */
struct ash_zstd *ash__codec_take(ash_contents *c);
void ash__codec_give(ash_contents *c, struct ash_zstd *z);

/* Room for a name of a BSON array's element. */
#define ASH_KEY_CHARS 12

static inline void ash__append_id(bson_t *doc, const char *key, const ash_content_id *id)
{
    bson_append_binary(doc, key, -1, BSON_SUBTYPE_BINARY, id->bytes, id->len);
}

/* The array element number i. */
void ash__append_nth_id(bson_t *array, uint32_t i, const ash_content_id *id);
/* {FIELD: {$in: [ids]}} */
void ash__filter_ids(bson_t *filter, const char *field, const ash_content_id *ids, size_t count);
bool ash__content_id_from(ash_value v, ash_content_id *out);

/* Of the kind that the id is. */
ash_digest *ash__content_digest_new(const ash_content_id *id);
/* Ends it, and frees it: are its bytes those of the id? */
bool ash__content_digest_gives(ash_digest *digest, const ash_content_id *id);
/* "content DIGEST WHAT" as an error; and in front of one, unless that names it. */
int ash__content_fail(ash_error *err, int code, const ash_content_id *id, const char *what);
void ash__content_blame(const ash_content_id *id, ash_error *err);

/* Changes what the filter finds, by operators or by a pipeline; *matched may be NULL. */
typedef struct ash_content_change {
    const bson_t *filter, *update;
    bool is_pipeline;
} ash_content_change;
int ash__change_many(ash_collection *c, const ash_content_change *change, const ash_op *op,
                     int64_t *matched, ash_error *err);
int ash__remove_many(ash_collection *c, const bson_t *filter, const ash_op *op, ash_error *err);
/* Asks for the store's time now and then; not within a transaction. */
int ash__contents_ask_time(ash_contents *c, ash_error *err);
/* The store's time, as far as was asked: since 1970, and as an id of its own that says it. */
int64_t ash__contents_now_ms(const ash_contents *c);
void ash__contents_stamp(const ash_contents *c, bson_oid_t *out);

/* The documents, chunks and rows of attributes of contents; nobody is asked. */
int ash__contents_remove(ash_contents *c, const ash_content_id *ids, size_t count, const ash_op *op,
                         ash_error *err);
/* The document of a content, copied into *out (bson_destroy()); false: there is none. */
int ash__find_content(ash_contents *c, const ash_content_id *id, const ash_op *op, bson_t *out,
                      bool *found, ash_error *err);
/* A copy that is complete, whatever the caller's size. */
int ash__contents_op(const ash_op *op, ash_op *out, ash_error *err);

#endif
