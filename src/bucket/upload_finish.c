/* SPDX-License-Identifier: Apache-2.0 */
/* The commit that makes an upload a file, and what becomes of both when it fails. */
#include "bucket/upload.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "bucket/claim.h"
#include "bucket/delete.h"
#include "bucket/intent.h"
#include "bucket/transfer.h"
#include "store/transaction.h"

#include <string.h>

static const int64_t STALE_MS = 3600 * 1000;
static const int64_t RESTED_MS = 1000; /* no sweep takes what is younger */
static const int64_t DAY_MS = 24 * 3600 * 1000;

typedef struct finish_call {
    ash_upload *upload;
    bool keep_existing;
    ash_file *existing; /* that stays, by the last run; or NULL */
    bson_t doc;         /* the files document of the last run; {} before */
    int64_t expires_ms;
} finish_call;

/* The time of completion; but revisions are told apart by it, so it comes after the newest one's.
 * A date far in the future (somebody's wrong clock) is left alone. */
static int choose_date(ash_upload *u, const ash_work *work, int64_t *out, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    int64_t newest = INT64_MIN;
    int64_t now = ash__clock_wall_ms();
    bool found = false;
    int rc = ash__file_newest(work, u->filename, &found, &id, &newest, err);
    bson_value_destroy(&id);
    *out = newest >= now && newest < now + DAY_MS ? newest + 1 : now;
    return rc;
}

static void build_files_doc(const finish_call *call, int64_t date_ms, bson_t *doc)
{
    const ash_upload *u = call->upload;
    BSON_APPEND_VALUE(doc, "_id", &u->id);
    BSON_APPEND_INT64(doc, "length", u->position);
    BSON_APPEND_INT32(doc, "chunkSize", u->chunk_size);
    BSON_APPEND_DATE_TIME(doc, "uploadDate", date_ms);
    if (u->bucket->md5 && u->digests.md5[0] != '\0')
        BSON_APPEND_UTF8(doc, "md5", u->digests.md5);
    BSON_APPEND_UTF8(doc, "filename", u->filename);
    bson_concat(doc, &u->extra);
    ash__append_expiry(doc, call->expires_ms);
}

/* Chunks without a file may be swept once the youngest has the age that somebody chose, so an
 * upload that slept looks whether its own are still there, whatever it stored since.  A sweep takes
 * all at once: after a short sleep the first one tells, without counting on the writer. */
static int check_chunks(const finish_call *call, const ash_work *work, ash_error *err)
{
    const ash_upload *u = call->upload;
    int64_t rested = ash__clock_ms() - u->stored_at_ms;
    if (rested < u->rested_ms)
        rested = u->rested_ms;
    if (u->as_is != NULL) /* somebody may have taken it over, or given it up: see transfer.h */
        rested = STALE_MS;
    if (rested < RESTED_MS || u->chunks == 0 || u->chunks_wait)
        return 0;
    bson_t filter = BSON_INITIALIZER;
    int64_t count = 0, wanted = rested < STALE_MS ? 1 : u->chunks;
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    o.op.transaction = work->transaction;
    o.op.deadline_ms = work->deadline_ms;
    ash__filter_id(&filter, "files_id", u->writer.files_id);
    if (rested < STALE_MS)
        BSON_APPEND_INT32(&filter, "n", 0);
    int rc = ash_collection_count(u->bucket->chunks, &filter, &o, &count, err);
    bson_destroy(&filter);
    if (rc == 0 && count != wanted)
        rc = ash__fail(err, ASH_ECHUNKMISSING,
                       "chunks of the upload are gone: it rested for too long, and "
                       "they were swept");
    return rc;
}

static int insert_document(ash_upload *u, const ash_work *work, const bson_t *doc, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    o.op = ash__work_write_op(work);
    int rc = ash_collection_insert_one(u->bucket->files, doc, &o, err);
    return rc == ASH_EEXISTS ? ash__say_id_taken(&u->id, err) : rc;
}

/* Without its name first; the update gives it the very document that it is to have. */
static int insert_announced(const finish_call *call, const ash_work *work, ash_error *err)
{
    ash_upload *u = call->upload;
    ash_intent intent;
    bson_t nameless = BSON_INITIALIZER;
    ash__intent_init(&intent, &u->id, true);
    bson_copy_to_excluding_noinit(&call->doc, &nameless, "filename", NULL);
    ash__intent_append(&intent, &nameless);
    int rc = insert_document(u, work, &nameless, err);
    bson_destroy(&nameless);
    if (rc == 0)
        rc = ash__intent_announce(work, &u->fence, &intent, err);
    if (rc == 0)
        rc = ash__intent_update(work, &intent, &call->doc, err);
    if (rc == 0)
        ash__intent_settle(work, &u->fence, &intent);
    else if (rc == ASH_ELOST) /* the next holder took the nameless document away */
        (void)ash__attributes_remove(work, &u->id, NULL);
    return rc;
}

static int insert_file(finish_call *call, const ash_work *work, ash_error *err)
{
    ash_upload *u = call->upload;
    int64_t date = 0;
    int rc = 0;
    if (u->as_is != NULL)
        date = u->as_is->upload_date_ms;
    else
        rc = choose_date(u, work, &date, err);
    if (rc != 0)
        return rc;
    ash_attributes a = {.id = &u->id,
                        .length = u->position,
                        .upload_date_ms = date,
                        .digests = &u->digests,
                        .expires_ms = call->expires_ms,
                        .token = u->fence.given ? u->fence.token : 0,
                        /* Without a transaction a try that failed may have left them. */
                        .is_new = u->id_is_new && work->transaction != NULL};
    bson_reinit(&call->doc);
    if (u->as_is != NULL) {
        bson_t view;
        ash__doc_to_bson(u->as_is->doc, &view);
        bson_concat(&call->doc, &view);
    } else {
        build_files_doc(call, date, &call->doc);
    }
    /* First: where each step is visible, a file that is seen has its digests, and attributes
     * without a file are of no account. */
    rc = ash__attributes_write(work, &a, err);
    if (rc != 0)
        return rc;
    if (ash__intent_needed(&u->fence, work->transaction))
        return insert_announced(call, work, err);
    return insert_document(u, work, &call->doc, err);
}

/* What has to be so, and is looked at in the commit. */
static int check_all(const finish_call *call, const ash_work *work, ash_error *err)
{
    ash_upload *u = call->upload;
    int rc = ash__fence_check(work, &u->fence, &u->id, err);
    if (rc == 0)
        rc = ash__condition_check(work, u->condition, &u->newest, u->filename, err);
    if (rc == 0)
        rc = check_chunks(call, work, err);
    if (rc == 0 && u->replaced != NULL)
        rc = ash__file_check_unchanged(work, u->replaced, err);
    return rc;
}

/* The files that this one takes the place of. */
static int find_old(ash_upload *u, const ash_work *work, bson_t *old, uint32_t *count,
                    ash_error *err)
{
    if (u->replaced != NULL) {
        BSON_APPEND_VALUE(old, "0", &u->id);
        *count = 1;
        return 0;
    }
    return u->replace ? ash__file_ids_of_name(work, u->filename, 0, old, count, err) : 0;
}

/* What has the id goes before the staged chunks get it, all of it: what is left for after the
 * commit would be the new file's then.  Without transactions both versions are out of sight for
 * these few steps; a process that ends just then leaves the new one's chunks, which no file has. */
static int take_away(const ash_work *work, const bson_t *old, ash_error *err)
{
    ash_commit_manner at_once = *work->manner;
    ash_work whole = *work;
    at_once.replayed = false;
    whole.manner = &at_once;
    return ash__delete_ids(&whole, old, err);
}

static int move_in(const ash_upload *u, const ash_work *work, const bson_t *old, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t operators = BSON_INITIALIZER;
    bson_t set;
    int64_t moved = 0;
    ash__filter_id(&filter, "files_id", &u->staged);
    BSON_APPEND_DOCUMENT_BEGIN(&operators, "$set", &set);
    BSON_APPEND_VALUE(&set, "files_id", &u->id);
    bson_append_document_end(&operators, &set);
    ash_update_options o = ash__work_update_options(work);
    o.multi = true;
    int rc = take_away(work, old, err);
    if (rc == 0)
        rc = ash__collection_change(u->bucket->chunks, &filter, &operators, &o, &moved, err);
    if (rc == 0 && moved != u->chunks)
        rc = ash__fail(err, ASH_ECHUNKMISSING, "chunks of the upload are gone: they were swept");
    bson_destroy(&operators);
    bson_destroy(&filter);
    return rc;
}

/* Whatever says that the upload is this process's goes with the commit, or refuses it. */
static int let_go_of(ash_upload *u, const ash_work *work, ash_error *err)
{
    int64_t removed = 1;
    int rc = 0;
    if (u->token[0] != '\0') {
        rc = ash__resume_remove(u, work, &removed, err);
        if (rc == 0 && removed == 0)
            rc = ash__resume_say_lost(u, work, err);
    } else if (u->claimed) {
        rc = ash__transfer_release(u, work, &removed, err);
        if (rc == 0 && removed == 0)
            rc = ash__transfer_say_lost(err);
    }
    return rc;
}

/* The same, before anything is done that could not be taken back. */
static int check_hold(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    u->claimed_at_ms = INT64_MIN / 2; /* to be asked now */
    return u->token[0] != '\0' ? ash__resume_keep(u, deadline_ms, err)
                               : ash__transfer_keep(u, deadline_ms, err);
}

/* What has the id already: it stays, if that is wanted, or it is over and goes with the commit.
 * Looked for only where it is likely; elsewhere the insertion of the files document tells. */
static int look_for_existing(finish_call *call, const ash_work *work, bson_t *old,
                             uint32_t *old_count, ash_error *err)
{
    ash_upload *u = call->upload;
    ash_error own = ASH_ERROR_INIT;
    ash_file *file = NULL;
    ash_file_free(call->existing);
    call->existing = NULL;
    if (*old_count > 0 || u->id_is_new || (!u->id_at_end && !work->manner->joined))
        return 0;
    int rc = 0;
    if (work->transaction != NULL && !work->manner->serial)
        rc = ash__id_claim(work, &u->id, err);
    if (rc == 0)
        rc = ash__file_get(work, &u->id, true, &file, &own);
    if (rc == 0 && file == NULL)
        return 0;
    if (rc != 0)
        return ash__unless(ASH_ENOTFOUND, rc, &own, err);
    bool over = ash__file_is_over(file);
    if (over && ash__upload_is_staged(u)) {
        BSON_APPEND_VALUE(old, "0", &u->id);
        *old_count = 1;
    } else if (call->keep_existing && !over) {
        call->existing = file;
        return 0;
    } else {
        rc = ash__say_id_taken(&u->id, err);
    }
    ash_file_free(file);
    return rc;
}

/* In this order, so that where the store has no transactions the files document comes after its
 * chunks and attributes, and older revisions go only when the new one stands, but for one that has
 * the same id. */
static int write_file(finish_call *call, const ash_work *work, const bson_t *old, ash_error *err)
{
    ash_upload *u = call->upload;
    bool staged = ash__upload_is_staged(u);
    int rc = 0;
    if (staged && u->chunks_wait)
        rc = take_away(work, old, err);
    if (rc == 0 && u->chunks_wait)
        rc = ash__chunk_writer_insert_as(&u->writer, work, &u->id, err);
    else if (rc == 0 && staged)
        rc = move_in(u, work, old, err);
    if (rc == 0)
        rc = insert_file(call, work, err);
    if (rc == 0)
        rc = let_go_of(u, work, err);
    if (rc == 0 && !staged)
        rc = ash__delete_ids(work, old, err);
    return rc;
}

static int commit_file(const ash_work *work, void *ctx, ash_error *err)
{
    finish_call *call = ctx;
    ash_upload *u = call->upload;
    bson_t old = BSON_INITIALIZER;
    uint32_t old_count = 0;
    /* In a transaction let_go_of() asks, and a refusal undoes the rest. */
    int rc = work->transaction == NULL ? check_hold(u, work->deadline_ms, err) : 0;
    if (rc == 0)
        rc = check_all(call, work, err);
    if (rc == 0)
        rc = find_old(u, work, &old, &old_count, err);
    if (rc == 0)
        rc = look_for_existing(call, work, &old, &old_count, err);
    if (rc == 0) {
        rc = call->existing != NULL ? let_go_of(u, work, err) : write_file(call, work, &old, err);
        if (rc != 0 && work->manner->joined)
            ash__transaction_break(work->transaction);
    }
    bson_destroy(&old);
    return rc;
}

/* Whether the failure proves that the commit did not happen. */
static bool is_definite(int rc)
{
    return rc != ASH_ETIMEOUT && rc != ASH_ENETWORK && rc != ASH_EIO && rc != ASH_EINTERNAL;
}

void ash__upload_give_up(ash_upload *u, int rc, int64_t deadline_ms)
{
    ash_commit_manner manner;
    u->state = UPLOAD_FAILED;
    if (!is_definite(rc) || ash__bucket_manner(u->bucket, &manner, NULL) != 0)
        return;
    bool refused = rc == ASH_ECONDITION || rc == ASH_ELOST || rc == ASH_EEXISTS;
    if (refused || (manner.in_process && u->token[0] == '\0'))
        if (ash__upload_discard(u, deadline_ms, NULL) == 0)
            u->state = UPLOAD_ABORTED;
}

static int commit_in_turn(ash_upload *u, finish_call *call, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    ash_commit_manner manner;
    bson_oid_t claim;
    int rc = ash__bucket_manner(u->bucket, &manner, err);
    bool alone = u->condition == ASH_PUT_ALWAYS || manner.transactions;
    if (rc == 0 && !alone)
        rc = ash__claim_take(&work, u->filename, &claim, err);
    if (rc != 0)
        return rc;
    rc = ash__bucket_commit(&work, commit_file, call, err);
    /* The index of the chunks may have refused it first, in words about chunks. */
    if (rc == ASH_EEXISTS && u->chunks_wait)
        ash__chunk_writer_say_taken(&u->writer, &u->id, deadline_ms, err);
    if (!alone)
        ash__claim_release(&work, u->filename, &claim);
    return rc;
}

/* ---- the end ---- */

/* It is a file, or a file was there already, and what it brought is not needed. */
static void became_visible(ash_upload *u, bool dropped, int64_t deadline_ms)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    u->state = UPLOAD_FINISHED;
    if (u->chunks_wait)
        ash__chunk_writer_stored(&u->writer);
    else if (dropped) /* should this fail, a sweep takes them */
        (void)ash__chunks_remove(&work, &u->staged, -1, -1, NULL, NULL);
}

/* The upload of a caller's transaction that runs. */
struct ash_upload_end {
    ash_transaction_end end;
    ash_upload *upload; /* NULL: it was freed meanwhile */
    bool dropped;
};

void ash__upload_leave(ash_upload_end *end)
{
    if (end != NULL)
        end->upload = NULL;
}

static void end_of_upload(ash_transaction_end *end, ash_outcome outcome)
{
    ash_upload_end *self = (ash_upload_end *)end;
    ash_upload *u = self->upload;
    if (u != NULL) {
        u->joined = NULL;
        if (outcome == ASH_COMMITTED)
            became_visible(u, self->dropped, ash__bucket_deadline(u->bucket, u->timeout_ms));
        else
            u->state = outcome == ASH_UNDONE ? UPLOAD_SEALED : UPLOAD_FAILED;
    }
    ash__free(self);
}

static int finish_in(ash_upload *u, const ash_work *work, finish_call *call, ash_error *err)
{
    /* When that fails the upload is still sealed, and can be finished by another transaction. */
    int rc = ash__bucket_commit(work, commit_file, call, err);
    if (rc != 0)
        return rc;
    /* The upload may be freed before the transaction ends, so what waits for that is apart. */
    ash_upload_end *self = ash__new(ash_upload_end);
    *self = (ash_upload_end){{.fn = end_of_upload}, u, call->existing != NULL};
    u->joined = self;
    u->state = UPLOAD_JOINED;
    ash__transaction_at_end(work->transaction, &self->end);
    return 0;
}

static int finish_alone(ash_upload *u, finish_call *call, int64_t deadline_ms, ash_error *err)
{
    int rc = commit_in_turn(u, call, deadline_ms, err);
    if (rc == 0)
        became_visible(u, call->existing != NULL, deadline_ms);
    else
        ash__upload_give_up(u, rc, deadline_ms);
    return rc;
}

static int give_file(finish_call *call, ash_file **file, ash_error *err)
{
    int rc = 0;
    if (call->existing != NULL) {
        *file = call->existing;
        call->existing = NULL;
    } else {
        rc = ash_file_from_document(ash__doc_from_bson(&call->doc), file, err);
    }
    /* As they were written just now, without reading them again. */
    if (rc == 0 && !(*file)->has_attributes) {
        (*file)->digests = call->upload->digests;
        (*file)->expires_ms = call->expires_ms;
    }
    return rc;
}

static int check_finish(const ash_upload *u, const ash_finish_options *o, ash_error *err)
{
    int rc = ash__bucket_transaction_check(u->bucket, o->transaction, err);
    if (rc == 0 && u->id_at_end != (o->id != NULL))
        rc = ash__fail(err, ASH_EINVAL,
                       u->id_at_end ? "the id that was to come at the end is missing"
                                    : "the upload has an id already");
    if (rc == 0 && o->id != NULL)
        rc = ash__id_check(o->id, err);
    if (rc == 0 && o->keep_existing && o->id == NULL)
        rc = ash__fail(err, ASH_EINVAL, "what is there is kept for an id that comes at the end");
    if (rc == 0)
        rc = ash__upload_state_check(u, true, err);
    if (rc == 0 && o->transaction != NULL && u->state != UPLOAD_SEALED)
        rc = ash__fail(err, ASH_ESTATE, "upload has to be sealed before the transaction");
    return rc;
}

int ash__upload_finish(ash_upload *u, const ash_finish_options *opts, ash_file **file,
                       bool *existed, int64_t deadline_ms, ash_error *err)
{
    finish_call call = {.upload = u, .keep_existing = opts->keep_existing};
    ash_work work = ash__work(u->bucket, deadline_ms);
    work.transaction = opts->transaction;
    int rc = check_finish(u, opts, err);
    if (rc == 0 && u->state == UPLOAD_OPEN)
        rc = ash__upload_seal(u, deadline_ms, err);
    if (rc != 0)
        return rc;
    if (opts->id != NULL) {
        /* That of an earlier try, in a transaction that came to nothing, gives way. */
        bson_value_destroy(&u->id);
        bson_value_copy(opts->id, &u->id);
    }
    if (u->ttl_s > 0)
        call.expires_ms = ash__expiry_ms(ash__clock_wall_ms(), u->ttl_s);
    else if (u->as_is != NULL)
        call.expires_ms = u->as_is->expires_ms;
    bson_init(&call.doc);
    rc = opts->transaction != NULL ? finish_in(u, &work, &call, err)
                                   : finish_alone(u, &call, deadline_ms, err);
    if (rc == 0 && existed != NULL)
        *existed = call.existing != NULL;
    if (rc == 0 && file != NULL)
        rc = give_file(&call, file, err);
    ash_file_free(call.existing);
    bson_destroy(&call.doc);
    return rc;
}

int ash_upload_finish_with(ash_upload *u, const ash_finish_options *opts, ash_file **file,
                           bool *existed, ash_error *err)
{
    ash_finish_options o;
    if (file != NULL)
        *file = NULL;
    if (existed != NULL)
        *existed = false;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc != 0)
        return rc;
    return ash__upload_finish(u, &o, file, existed, ash__bucket_deadline(u->bucket, u->timeout_ms),
                              err);
}

int ash_upload_finish(ash_upload *u, ash_file **file, ash_error *err)
{
    return ash_upload_finish_with(u, NULL, file, NULL, err);
}
