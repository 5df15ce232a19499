/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of those who bring the same file, so that one of them works and the others wait. */
#include "bucket/transfer.h"

#include "base/clock.h"
#include "bucket/claim.h"

#include <string.h>

static const int64_t DEAD_AFTER_MS = 15000;
static const int64_t KEEP_MS = 1000;
static const int64_t PAUSE_MS = 50;

/* ---- the claim ---- */

static void claim_filter(const bson_value_t *file_id, bson_t *filter)
{
    bson_t id;
    BSON_APPEND_DOCUMENT_BEGIN(filter, "_id", &id);
    BSON_APPEND_VALUE(&id, "copy", file_id);
    bson_append_document_end(filter, &id);
}

static int insert_claim(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bson_t doc = BSON_INITIALIZER;
    ash_error own = ASH_ERROR_INIT;
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = ash__work_write_op(&work);
    claim_filter(&u->id, &doc);
    BSON_APPEND_OID(&doc, "version", &u->claim);
    int rc = ash_collection_insert_one(u->bucket->attributes, &doc, &o, &own);
    u->claimed = rc == 0;
    bson_destroy(&doc);
    return ash__unless(ASH_EEXISTS, rc, &own, err);
}

/* Whose it is; {0} when it has just been given up. */
static int find_claim(const ash_upload *u, bson_oid_t *holder, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bson_t filter = BSON_INITIALIZER;
    claim_filter(&u->id, &filter);
    int rc = ash__claim_holder(&work, &filter, holder, err);
    bson_destroy(&filter);
    return rc;
}

/* A new version in place of that one; *done false: somebody was faster. */
static int change_claim(ash_upload *u, const bson_oid_t *from, bool *done, int64_t deadline_ms,
                        ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bson_t filter = BSON_INITIALIZER;
    bson_oid_t to;
    int64_t matched = 0;
    bson_oid_init(&to, NULL);
    bson_t *set = BCON_NEW("$set", "{", "version", BCON_OID(&to), "}");
    ash_update_options o = ash__work_update_options(&work);
    claim_filter(&u->id, &filter);
    BSON_APPEND_OID(&filter, "version", from);
    int rc = ash__collection_change(u->bucket->attributes, &filter, set, &o, &matched, err);
    bson_destroy(set);
    bson_destroy(&filter);
    *done = matched > 0;
    if (*done) {
        u->claim = to;
        u->claimed_at_ms = ash__clock_ms();
    }
    return rc;
}

int ash__transfer_say_lost(ash_error *err)
{
    return ash__fail(err, ASH_ELOST, "another copy of the same file took this one for dead");
}

int ash__transfer_keep(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    bool done = true;
    int rc = 0;
    if (u->claimed && ash__clock_ms() - u->claimed_at_ms >= KEEP_MS) {
        bson_oid_t mine = u->claim;
        rc = change_claim(u, &mine, &done, deadline_ms, err);
    }
    return rc == 0 && !done ? ash__transfer_say_lost(err) : rc; /* it has another version */
}

int ash__transfer_release(ash_upload *u, const ash_work *work, int64_t *removed, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_op op = ash__work_write_op(work);
    claim_filter(&u->id, &filter);
    BSON_APPEND_OID(&filter, "version", &u->claim);
    int rc = ash__collection_remove_all(u->bucket->attributes, &filter, &op, removed, err);
    bson_destroy(&filter);
    return rc;
}

/* ---- what a dead one left ---- */

/* ObjectIds have five random bytes that each process draws once, behind four of the time. */
static bool same_process(const bson_oid_t *a, const bson_oid_t *b)
{
    return memcmp(a->bytes + 4, b->bytes + 4, 5) == 0;
}

typedef struct leftovers {
    const ash_upload *upload;
    bson_oid_t dead; /* the claim of the process that made them */
} leftovers;

/* The first chunk tells: whoever stored it kept everybody else from storing the others. */
static int are_of_the_dead(const leftovers *l, const ash_work *work, bool *out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t found;
    bson_iter_t it;
    bool any = false;
    bson_t *only_id = BCON_NEW("_id", BCON_INT32(1));
    ash_find_options o = ash__work_find_options(work);
    o.projection = only_id;
    ash__filter_id(&filter, "files_id", &l->upload->id);
    BSON_APPEND_INT32(&filter, "n", 0);
    int rc = ash__collection_find_if_any(l->upload->bucket->chunks, &filter, &o, &found, &any, err);
    *out = false;
    if (any) {
        *out = bson_iter_init_find(&it, &found, "_id") && BSON_ITER_HOLDS_OID(&it) &&
               same_process(bson_iter_oid(&it), &l->dead);
        bson_destroy(&found);
    }
    bson_destroy(only_id);
    bson_destroy(&filter);
    return rc;
}

/* Without transactions, one that was taken for dead could finish between the look and the removal;
 * but it looks at its claim before that, which is another's by now. */
static int remove_leftovers(const ash_work *work, void *ctx, ash_error *err)
{
    const leftovers *l = ctx;
    bool exists = false, theirs = false;
    int rc = ash__file_exists(work, &l->upload->id, &exists, err);
    if (rc == 0 && !exists)
        rc = are_of_the_dead(l, work, &theirs, err);
    if (rc == 0 && theirs)
        rc = ash__chunks_remove(work, &l->upload->id, -1, -1, NULL, err);
    return rc;
}

/* ---- opening ---- */

/* When the same claim was there for too long, or is of a process that cannot be there any more. */
static bool is_dead(const bson_oid_t *holder, const bson_oid_t *mine, int64_t since_ms,
                    bool embedded)
{
    return ash__clock_ms() - since_ms > DEAD_AFTER_MS || (embedded && !same_process(holder, mine));
}

static int take_over(ash_upload *u, const bson_oid_t *dead, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    leftovers l = {.upload = u, .dead = *dead};
    int rc = change_claim(u, dead, &u->claimed, deadline_ms, err);
    if (rc == 0 && u->claimed)
        rc = ash__bucket_commit(&work, remove_leftovers, &l, err);
    return rc;
}

/* The age is measured here, by how long the same version stays, so that clocks of other machines do
 * not matter. */
static int take_claim(ash_upload *u, const volatile int *cancel, int64_t deadline_ms,
                      ash_error *err)
{
    ash_commit_manner manner;
    bson_oid_t seen = {{0}}, holder;
    int64_t since = ash__clock_ms();
    int rc = ash__bucket_manner(u->bucket, &manner, err);
    bson_oid_init(&u->claim, NULL);
    u->claimed_at_ms = since;
    /* Each round tries anew, since a claim may be given up at any moment. */
    while (rc == 0) {
        rc = insert_claim(u, deadline_ms, err);
        if (rc != 0 || u->claimed)
            return rc;
        rc = find_claim(u, &holder, deadline_ms, err);
        if (rc == 0 && !bson_oid_equal(&holder, &seen)) {
            seen = holder;
            since = ash__clock_ms();
        }
        if (rc == 0 && is_dead(&seen, &u->claim, since, manner.in_process))
            rc = take_over(u, &seen, deadline_ms, err);
        if (rc != 0 || u->claimed)
            return rc;
        if (cancel != NULL && *cancel)
            return ash__fail(err, ASH_EINTERRUPTED, "interrupted");
        rc = ash__deadline_check(deadline_ms, "wait for another copy of the file", err);
        ash__clock_sleep_ms(PAUSE_MS);
    }
    return rc;
}

/* The claim comes first: with it, nobody else makes the file visible. */
static int begin(ash_upload *u, const volatile int *cancel, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    bool exists = false;
    int rc = ash__bucket_index(&work, err);
    if (rc == 0 && u->as_is->expires_ms != 0)
        rc = ash__bucket_index_expiry(&work, err);
    if (rc == 0 && u->replaced != NULL)
        return ash__upload_stage(u, err);
    if (rc == 0)
        rc = take_claim(u, cancel, deadline_ms, err);
    if (rc == 0)
        rc = ash__file_exists(&work, &u->id, &exists, err);
    if (rc == 0 && exists)
        rc = ash__fail(err, ASH_EEXISTS, "a file of that id is there already");
    return rc;
}

int ash__transfer_open(ash_bucket *b, const ash_file *file, const ash_file *replaced,
                       const volatile int *cancel, ash_upload **out, ash_error *err)
{
    int64_t deadline = ash__bucket_deadline(b, 0);
    int32_t chunk_size = file->chunk_size;
    ash_upload *u = NULL;
    *out = NULL;
    /* A driver may say any size of a file that has one chunk. */
    if (chunk_size > ASH_CHUNK_SIZE_MAX && file->length < chunk_size)
        chunk_size = file->length > 0 ? (int32_t)file->length : 1;
    int rc = ash__upload_new(b, &file->id, file->filename != NULL ? file->filename : "", chunk_size,
                             &u, err);
    if (rc != 0)
        return rc;
    u->as_is = file;
    u->replaced = replaced;
    u->digest_kinds |= ash__file_digest_kinds(file);
    rc = ash__upload_choose_digests(u, err);
    if (rc == 0)
        rc = begin(u, cancel, deadline, err);
    if (rc == 0)
        *out = u;
    else
        ash_upload_free(u);
    return rc;
}

int ash__transfer_check(const ash_upload *u, ash_error *err)
{
    const char *sha256 = u->digests.sha256;
    if (u->as_is == NULL)
        return 0;
    const char *known = ash_file_sha256(u->as_is);
    if (u->position != u->as_is->length)
        return ash__fail(err, ASH_ECHUNKSIZE, "%lld bytes came instead of %lld",
                         (long long)u->position, (long long)u->as_is->length);
    if (known != NULL && strcmp(known, sha256) != 0)
        return ash__fail(err, ASH_ECORRUPT, "SHA-256 is %s, not %s as when it was stored", sha256,
                         known);
    return 0;
}
