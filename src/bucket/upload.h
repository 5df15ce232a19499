/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_UPLOAD_H
#define ASH_BUCKET_UPLOAD_H

/* An upload, from open to finish.
 *
 *   open ──ash_upload_write──▶ open, or failed when it fails
 *   open ──ash__upload_seal──▶ sealed
 *                          ──▶ open        it failed before any chunk was handed over
 *   open ──ash__upload_seal: ash__upload_give_up──▶ failed, or aborted where cleaning up worked
 *   sealed ──finish_alone: became_visible──▶ finished
 *   sealed ──finish_alone: ash__upload_give_up──▶ failed or aborted, likewise
 *   sealed ──finish_in──▶ joined           in a caller's transaction; when it fails, still sealed
 *   joined ──end_of_upload──▶ finished     it was committed: became_visible
 *                         ──▶ sealed       it was undone
 *                         ──▶ failed       nobody knows
 *   open, sealed, failed ──ash_upload_abort──▶ aborted
 *
 * ash__upload_finish seals what is open.  ash_upload_free takes one in any state. */

#include "bucket/attributes.h"
#include "bucket/chunks.h"
#include "bucket/condition.h"
#include "bucket/hasher.h"

enum upload_state {
    UPLOAD_OPEN,
    UPLOAD_SEALED,
    UPLOAD_JOINED,
    UPLOAD_FAILED,
    UPLOAD_ABORTED,
    UPLOAD_FINISHED
};

#define ASH_TOKEN_CHARS 32

/* What a transaction's end is told to. */
typedef struct ash_upload_end ash_upload_end;

struct ash_upload {
    ash_bucket *bucket;
    enum upload_state state;
    bool left_chunks; /* write() failed: what it stored before has no file */
    bson_value_t id;
    bool id_at_end; /* finish gives it; until then it is `staged` */
    bool id_is_new; /* it was made for this file: nothing of it is there before */
    char *filename;
    int32_t chunk_size;
    bson_t extra; /* contentType, aliases, metadata: as the files document will have them */
    ash_put_condition condition;
    bson_value_t newest;
    bool replace;
    ash_fence_copy fence;
    int64_t ttl_s; /* 0: never */
    int64_t timeout_ms;
    char token[ASH_TOKEN_CHARS + 1]; /* "" unless resumable */
    bson_oid_t holder;               /* in the resume document as long as nobody took it over */
    int64_t resume_expiry_s;
    int64_t kept_until_ms;    /* wall time in the resume document */
    bson_value_t staged;      /* of the chunks until the commit, when the id's own are in the way */
    const ash_file *as_is;    /* transfer.h: the file that it is to be, lent; or NULL */
    const ash_file *replaced; /* transfer.h: the version that has the id, lent; or NULL */
    bool claimed;
    bson_oid_t claim;
    int64_t claimed_at_ms; /* monotonic */
    ash_chunk_writer writer;
    unsigned digest_kinds; /* as a sum */
    ash_hasher *hasher;
    ash_digests digests;    /* once it is sealed … */
    int64_t chunks;         /* … as this */
    bool chunks_wait;       /* likewise: in the writer, for the commit */
    ash_upload_end *joined; /* the end that is waited for; or NULL */
    int64_t position;
    int64_t stored_at_ms; /* monotonic: the last time that the store took chunks */
    int64_t rested_ms;    /* the longest time between two such */
};

static inline bool ash__upload_is_staged(const ash_upload *u)
{
    return u->staged.value_type != BSON_TYPE_EOD;
}

/* An upload object without options. */
int ash__upload_new(ash_bucket *b, const bson_value_t *id, const char *filename, int32_t chunk_size,
                    ash_upload **out, ash_error *err);
/* The chunks go under an id of their own and get the file's in the commit that shows it, once what
 * has that id now is gone.  Before anything is written. */
int ash__upload_stage(ash_upload *u, ash_error *err);
/* The same under the id that the upload has so far. */
void ash__upload_stage_as_is(ash_upload *u);
/* The id that was given was made for this file, and nobody else uses it: then nothing is looked for
 * under it.  Before finish. */
void ash__upload_note_new_id(ash_upload *u);
/* Make the digests of u->digest_kinds.  Before the first byte. */
int ash__upload_choose_digests(ash_upload *u, ash_error *err);
/* ASH_ESTATE unless the upload is open, or, where that will do, sealed. */
int ash__upload_state_check(const ash_upload *u, bool sealed_too, ash_error *err);
/* The indexes, and whatever says that the upload goes on, before chunks are handed to the store. */
int ash__upload_prepare(ash_upload *u, int64_t deadline_ms, ash_error *err);
int ash__upload_seal(ash_upload *u, int64_t deadline_ms, ash_error *err);
/* opts: complete; file and existed may be NULL. */
int ash__upload_finish(ash_upload *u, const ash_finish_options *opts, ash_file **file,
                       bool *existed, int64_t deadline_ms, ash_error *err);
/* A file that was not to be keeps no chunks, unless the failure is the store's and cleaning up
 * would fail as well. */
void ash__upload_give_up(ash_upload *u, int rc, int64_t deadline_ms);
/* It is freed: the end of its transaction must not touch it. */
void ash__upload_leave(ash_upload_end *end);
/* Delete the chunks that this upload stored, and its resume document: nothing of a file that is
 * visible, and nothing at all when somebody else goes on with the upload, or finished it. */
int ash__upload_discard(ash_upload *u, int64_t deadline_ms, ash_error *err);

/* The resume document: made when a resumable upload opens, its expiry moved while it runs, removed
 * in the commit that finishes it.  keep and remove look for it as this upload left it; keep fails
 * when somebody else goes on with it (ASH_ELOST), or it is gone (ASH_ENOTFOUND). */
int ash__resume_create(ash_upload *u, int64_t deadline_ms, ash_error *err);
/* What keep says of a document that is not this upload's any more. */
int ash__resume_say_lost(const ash_upload *u, const ash_work *work, ash_error *err);
int ash__resume_keep(ash_upload *u, int64_t deadline_ms, ash_error *err);
int ash__resume_remove(ash_upload *u, const ash_work *work, int64_t *removed, ash_error *err);

#endif
