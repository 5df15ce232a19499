/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads: opened, written, forgotten or aborted.  upload_seal.c and upload_finish.c have the rest.
 */
#include "bucket/upload.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "bucket/transfer.h"

#include <string.h>

static const int64_t RESUME_EXPIRY_S = 24 * 3600;
enum { ALL_DIGESTS = ASH_DIGEST_SHA256 | ASH_DIGEST_SHA1 | ASH_DIGEST_MD5 };

/* ---- opening ---- */

static int check_aliases(const bson_t *aliases, ash_error *err)
{
    bson_iter_t it;
    uint32_t n = 0;
    if (ash__bson_validate(bson_get_data(aliases), aliases->len, ASH_DOC_MAX_DEPTH, err) != 0)
        return ASH_EINVAL;
    if (!bson_iter_init(&it, aliases))
        return ash__fail(err, ASH_EINVAL, "aliases are not a valid array");
    for (; bson_iter_next(&it); n++) {
        char buf[12];
        const char *key;
        bson_uint32_to_string(n, &key, buf, sizeof buf);
        if (strcmp(bson_iter_key(&it), key) != 0)
            return ash__fail(err, ASH_EINVAL, "aliases are a document, not an array");
        if (!BSON_ITER_HOLDS_UTF8(&it))
            return ash__fail(err, ASH_EINVAL, "aliases hold something that is not a string");
    }
    return 0;
}

static int check_options(const ash_upload_options *o, ash_error *err)
{
    if (o->chunk_size_bytes < 0 || o->chunk_size_bytes > ASH_CHUNK_SIZE_MAX)
        return ash__fail(err, ASH_EINVAL, "chunk size %d is not between 1 and %d bytes",
                         (int)o->chunk_size_bytes, ASH_CHUNK_SIZE_MAX);
    if (o->metadata != NULL &&
        ash__bson_validate(bson_get_data(o->metadata), o->metadata->len, ASH_DOC_MAX_DEPTH, err))
        return ASH_EINVAL;
    if (o->content_type != NULL &&
        !bson_utf8_validate(o->content_type, strlen(o->content_type), false))
        return ash__fail(err, ASH_EINVAL, "content type is not valid UTF-8");
    if ((int)o->condition < ASH_PUT_ALWAYS || (int)o->condition > ASH_PUT_IF_NEWEST_IS)
        return ash__fail(err, ASH_EINVAL, "unknown put condition %d", (int)o->condition);
    if ((o->condition == ASH_PUT_IF_NEWEST_IS) != (o->newest != NULL))
        return ash__fail(err, ASH_EINVAL,
                         "id of the newest revision belongs to the condition "
                         "that names it, and only to that");
    if (o->resume_expiry_s < 0)
        return ash__fail(err, ASH_EINVAL, "expiry of the resumable upload is negative");
    if (o->timeout_ms < 0)
        return ash__fail(err, ASH_EINVAL, "upload timeout is negative");
    if ((o->digests & ~(unsigned)ALL_DIGESTS) != 0)
        return ash__fail(err, ASH_EINVAL, "unknown kind of digest among %u", o->digests);
    return o->aliases != NULL ? check_aliases(o->aliases, err) : 0;
}

static int take_options(ash_upload *u, const ash_upload_options *o, ash_error *err)
{
    if (o->content_type != NULL)
        BSON_APPEND_UTF8(&u->extra, "contentType", o->content_type);
    if (o->aliases != NULL)
        BSON_APPEND_ARRAY(&u->extra, "aliases", o->aliases);
    if (o->metadata != NULL)
        BSON_APPEND_DOCUMENT(&u->extra, "metadata", o->metadata);
    /* 1024: what else a files document has, the id left out. */
    if (u->extra.len + strlen(u->filename) + 1024 > ASH_DOC_MAX_BYTES)
        return ash__fail(err, ASH_ETOOBIG, "name and metadata do not fit a document of 16 MiB");
    u->condition = o->condition;
    if (o->newest != NULL)
        bson_value_copy(o->newest, &u->newest);
    u->replace = o->replace;
    u->ttl_s = o->ttl_s < 0 ? 0 : o->ttl_s > 0 ? o->ttl_s : u->bucket->default_ttl_s;
    u->timeout_ms = o->timeout_ms;
    if (o->without_digest)
        u->digest_kinds &= ~(unsigned)ASH_DIGEST_SHA256;
    u->digest_kinds |= o->digests;
    u->resume_expiry_s = o->resume_expiry_s != 0 ? o->resume_expiry_s : RESUME_EXPIRY_S;
    int rc = ash__upload_choose_digests(u, err);
    return rc == 0 ? ash__fence_copy(u->bucket, o->fence, &u->fence, err) : rc;
}

int ash__upload_choose_digests(ash_upload *u, ash_error *err)
{
    if (ash__hasher_choose(u->hasher, u->digest_kinds))
        return 0;
    return ash__fail(err, ASH_EUNSUPPORTED, "a digest is not available on this machine");
}

int ash__upload_new(ash_bucket *b, const bson_value_t *id, const char *filename, int32_t chunk_size,
                    ash_upload **out, ash_error *err)
{
    ash_upload *u = ash__bucket_new(ash_upload);
    u->bucket = b;
    u->chunk_size = chunk_size;
    u->filename = ash__strdup(filename);
    u->newest.value_type = u->staged.value_type = BSON_TYPE_EOD;
    u->stored_at_ms = ash__clock_ms();
    bson_value_copy(id, &u->id);
    bson_init(&u->extra);
    u->hasher = ash__hasher_new();
    u->digest_kinds = ASH_DIGEST_SHA256 | (b->md5 ? ASH_DIGEST_MD5 : 0u);
    int rc = ash__chunk_writer_init(&u->writer, b, &u->id, chunk_size, err);
    if (rc == 0)
        rc = ash__upload_choose_digests(u, err);
    if (rc == 0) {
        *out = u;
    } else {
        u->state = UPLOAD_FAILED;
        ash_upload_free(u);
    }
    return rc;
}

int ash__upload_stage(ash_upload *u, ash_error *err)
{
    u->staged.value_type = BSON_TYPE_OID;
    bson_oid_init(&u->staged.value.v_oid, NULL);
    /* Anew, since the id is in the head of every chunk. */
    ash__chunk_writer_release(&u->writer);
    return ash__chunk_writer_init(&u->writer, u->bucket, &u->staged, u->chunk_size, err);
}

void ash__upload_note_new_id(ash_upload *u)
{
    u->id_is_new = true;
}

void ash__upload_stage_as_is(ash_upload *u)
{
    bson_value_copy(&u->id, &u->staged);
    u->writer.files_id = &u->staged;
}

/* A revision that is to be replaced may have the very id.  What can be resumed is looked for under
 * its own id, and does not take the place of such a one. */
static int stage_if_replaced(ash_upload *u, ash_error *err)
{
    ash_file *file = NULL;
    ash_error own = ASH_ERROR_INIT;
    ash_work work = ash__work(u->bucket, ash__bucket_deadline(u->bucket, u->timeout_ms));
    int rc = ash__file_get(&work, &u->id, false, &file, &own);
    bool same = rc == 0 && file->filename != NULL && strcmp(file->filename, u->filename) == 0;
    ash_file_free(file);
    if (same)
        return ash__upload_stage(u, err);
    return rc == ASH_ECORRUPT ? 0 : ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* Under which id the chunks lie until the file has one. */
static int stage(ash_upload *u, const ash_upload_options *o, bool given, ash_error *err)
{
    u->id_at_end = o->id_at_end;
    u->id_is_new = !given && !o->id_at_end && !o->resumable;
    if (o->id_at_end && given)
        return ash__fail(err, ASH_EINVAL, "an id is given, and is to be given at the end");
    if (o->id_at_end && o->resumable) {
        ash__upload_stage_as_is(u); /* the resume document knows the id */
        return 0;
    }
    if (o->id_at_end)
        return ash__upload_stage(u, err);
    return o->replace && given && !o->resumable ? stage_if_replaced(u, err) : 0;
}

/* id NULL: nobody chose one. */
static int open_upload(ash_bucket *b, const bson_value_t *id, const char *filename,
                       const ash_upload_options *opts, ash_upload **out, ash_error *err)
{
    bson_value_t made = {.value_type = BSON_TYPE_OID};
    bool given = id != NULL;
    ash_upload_options o;
    ash_upload *u = NULL;
    *out = NULL;
    bson_oid_init(&made.value.v_oid, NULL);
    if (id == NULL)
        id = &made;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = check_options(&o, err);
    if (rc == 0)
        rc = ash__filename_check(filename, err);
    if (rc == 0)
        rc = ash__id_check(id, err);
    if (rc == 0)
        rc = ash__upload_new(b, id, filename,
                             o.chunk_size_bytes != 0 ? o.chunk_size_bytes : b->chunk_size, &u, err);
    if (rc == 0)
        rc = take_options(u, &o, err);
    if (rc == 0)
        rc = stage(u, &o, given, err);
    if (rc == 0 && o.resumable)
        rc = ash__resume_create(u, ash__bucket_deadline(b, u->timeout_ms), err);
    if (rc == 0) {
        *out = u;
        return 0;
    }
    if (u != NULL)
        u->state = UPLOAD_FAILED; /* it stored nothing that would have to be removed */
    ash_upload_free(u);
    return rc;
}

int ash_bucket_open_upload_stream(ash_bucket *b, const char *filename,
                                  const ash_upload_options *opts, ash_upload **out, ash_error *err)
{
    return open_upload(b, NULL, filename, opts, out, err);
}

int ash_bucket_open_upload_stream_with_id(ash_bucket *b, const bson_value_t *id,
                                          const char *filename, const ash_upload_options *opts,
                                          ash_upload **out, ash_error *err)
{
    ash_assert(id != NULL);
    return open_upload(b, id, filename, opts, out, err);
}

/* ---- writing ---- */

const bson_value_t *ash_upload_id(const ash_upload *u)
{
    return &u->id;
}

int64_t ash_upload_position(const ash_upload *u)
{
    return u->position;
}

const char *ash_upload_token(const ash_upload *u)
{
    return u->token[0] != '\0' ? u->token : NULL;
}

int ash__upload_state_check(const ash_upload *u, bool sealed_too, ash_error *err)
{
    static const char *const why[] = {"",       "is sealed",   "takes part in a transaction",
                                      "failed", "was aborted", "is finished"};
    if (u->state == UPLOAD_OPEN || (sealed_too && u->state == UPLOAD_SEALED))
        return 0;
    return ash__fail(err, ASH_ESTATE, "upload %s already", why[u->state]);
}

/* `len` bytes are in their place, at `at`.  Digests take whole chunks: they stay where they are
 * until their block is used again. */
static void take_bytes(ash_upload *u, const uint8_t *at, size_t len)
{
    ash__chunk_writer_took(&u->writer, len);
    u->position += (int64_t)len;
    if (u->writer.fill == 0)
        ash__hasher_add(u->hasher, at + len - u->chunk_size, (size_t)u->chunk_size);
}

/* The writer is about to hand chunks to the store: the indexes come first (§ Before write
 * operations). */
int ash__upload_prepare(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    int rc = ash__bucket_index(&work, err);
    int64_t rested = ash__clock_ms() - u->stored_at_ms;
    if (rested > u->rested_ms)
        u->rested_ms = rested;
    if (rc == 0 && u->token[0] != '\0')
        rc = ash__resume_keep(u, deadline_ms, err);
    if (rc == 0)
        rc = ash__transfer_keep(u, deadline_ms, err);
    u->stored_at_ms = ash__clock_ms();
    return rc;
}

static int next_space(ash_upload *u, uint8_t **at, size_t *room, int64_t deadline_ms,
                      ash_error *err)
{
    int rc = 0;
    /* Only a full block goes to the store; before that nothing has to be said to anybody. */
    bool full = u->writer.held == u->writer.slots;
    if (full)
        rc = ash__upload_prepare(u, deadline_ms, err);
    if (rc == 0)
        rc = ash__chunk_writer_space(&u->writer, at, room, deadline_ms, err);
    /* The block is filled anew from here on, so its bytes must have been taken in. */
    if (full)
        ash__hasher_drain(u->hasher, ash__chunk_writer_kept(&u->writer));
    return rc;
}

int ash_upload_write(ash_upload *u, const void *data, size_t len, ash_error *err)
{
    const uint8_t *from = data;
    int64_t deadline = ash__bucket_deadline(u->bucket, u->timeout_ms);
    int rc = ash__upload_state_check(u, false, err);
    if (rc != 0)
        return rc;
    while (len > 0) {
        uint8_t *at;
        size_t room;
        rc = next_space(u, &at, &room, deadline, err);
        if (rc != 0) {
            u->state = UPLOAD_FAILED;
            u->left_chunks = true;
            return rc;
        }
        size_t take = len < room ? len : room;
        memcpy(at, from, take);
        take_bytes(u, at, take);
        from += take;
        len -= take;
    }
    return 0;
}

/* ---- ending ---- */

/* On a server everybody who writes waits for a transaction. */
#define CHUNKS_AT_ONCE 8192

typedef struct discard_call {
    ash_upload *upload;
    int64_t first; /* chunk that is certainly this upload's */
    bool ours;
    bool later; /* they are too many for the transaction */
} discard_call;

/* Only numbers below `stored` can be this upload's: a chunk that was there would have refused ours.
 * But they may have become a file's since: this one's whose commit gave no answer, or that of the
 * process that went on with the same resumable upload. */
static int find_first(discard_call *call, const ash_work *work, ash_error *err)
{
    ash_file *file = NULL;
    ash_error own = ASH_ERROR_INIT;
    const ash_upload *u = call->upload;
    call->first = 0;
    if (u->id_at_end)
        return 0;
    int rc = ash__file_get(work, &u->id, false, &file, &own);
    if (rc == 0)
        call->first = ash__chunk_count(file->length, file->chunk_size);
    else if (rc == ASH_ECORRUPT)
        call->first = INT64_MAX;
    ash_file_free(file);
    return rc == ASH_ECORRUPT ? 0 : ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* The resume document goes first, or the claim of a transfer.  Whose removal finds it is alone with
 * the chunks from then on, with transactions or without: nobody can take the upload over any more,
 * nor finish it.  Without them a process that ends in between leaves chunks for the sweep. */
static int commit_discard(const ash_work *work, void *ctx, ash_error *err)
{
    discard_call *call = ctx;
    ash_upload *u = call->upload;
    int64_t removed = 1;
    int rc = 0;
    if (u->token[0] != '\0')
        rc = ash__resume_remove(u, work, &removed, err);
    else if (u->claimed)
        rc = ash__transfer_release(u, work, &removed, err);
    call->ours = rc == 0 && removed > 0;
    if (call->ours)
        rc = find_first(call, work, err);
    int64_t count = u->writer.stored - call->first;
    call->later = work->transaction != NULL && !work->manner->in_process && count > CHUNKS_AT_ONCE;
    if (rc == 0 && call->ours && !call->later && count > 0)
        rc = ash__chunks_remove(work, u->writer.files_id, call->first, u->writer.stored, NULL, err);
    return rc;
}

int ash__upload_discard(ash_upload *u, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(u->bucket, deadline_ms);
    discard_call call = {.upload = u};
    (void)ash__chunk_writer_settle(&u->writer, deadline_ms, NULL);
    if (ash__upload_is_staged(u) && u->token[0] == '\0') /* nobody else knows that id */
        return ash__chunks_remove(&work, &u->staged, -1, -1, NULL, err);
    if (u->writer.stored == 0 && u->token[0] == '\0' && !u->claimed)
        return 0;
    int rc = ash__bucket_commit(&work, commit_discard, &call, err);
    if (rc == 0 && call.ours && call.later)
        rc = ash__chunks_remove(&work, u->writer.files_id, call.first, u->writer.stored, NULL, err);
    return rc;
}

int ash_upload_abort(ash_upload *u, ash_error *err)
{
    if (u->state == UPLOAD_FINISHED || u->state == UPLOAD_ABORTED || u->state == UPLOAD_JOINED)
        return ash__upload_state_check(u, false, err);
    /* Also when this fails: what could not be removed is left to the sweep. */
    u->state = UPLOAD_ABORTED;
    u->left_chunks = false;
    int rc = ash__upload_discard(u, ash__bucket_deadline(u->bucket, u->timeout_ms), err);
    if (rc != 0)
        ash__error_prefix(err, "upload could not be aborted wholly");
    return rc;
}

/* What a forgotten upload leaves: nothing, or as much as can be gone on with.  One that failed is
 * cleaned up where that is likely to work (§ Operation Failure). */
static void let_go(ash_upload *u)
{
    ash_commit_manner manner;
    int64_t deadline = ash__bucket_deadline(u->bucket, u->timeout_ms);
    if (u->state == UPLOAD_FAILED &&
        (ash__bucket_manner(u->bucket, &manner, NULL) != 0 || !manner.in_process))
        return;
    if (u->token[0] == '\0')
        (void)ash__upload_discard(u, deadline, NULL);
    else if (u->state == UPLOAD_OPEN && ash__chunk_writer_settle(&u->writer, deadline, NULL) == 0 &&
             u->writer.held > 0 && ash__upload_prepare(u, deadline, NULL) == 0) {
        ash__hasher_drain(u->hasher, 0); /* the flush moves what it may be reading */
        (void)ash__chunk_writer_flush(&u->writer, false, deadline, NULL);
    }
}

void ash_upload_free(ash_upload *u)
{
    if (u == NULL)
        return;
    if (u->state == UPLOAD_OPEN || u->state == UPLOAD_SEALED || u->left_chunks)
        let_go(u);
    ash__upload_leave(u->joined);
    ash__hasher_free(u->hasher); /* it may be reading the writer's chunks */
    ash__chunk_writer_release(&u->writer);
    ash__fence_release(&u->fence);
    bson_value_destroy(&u->id);
    bson_value_destroy(&u->newest);
    bson_destroy(&u->extra);
    ash__free(u->filename);
    ash__free(u);
}

/* ---- from a stream ---- */

/* Straight from the source into the chunk documents.  *source_failed tells whose error it is. */
static int copy_all(ash_upload *u, const ash_input *in, int64_t deadline_ms, bool *source_failed,
                    ash_error *err)
{
    for (;;) {
        uint8_t *at;
        size_t room;
        int rc = ash__deadline_check(deadline_ms, "upload", err);
        if (rc == 0)
            rc = next_space(u, &at, &room, deadline_ms, err);
        if (rc != 0)
            return rc;
        int64_t got = in->read(in->ctx, at, room, err);
        *source_failed = got < 0;
        if (got <= 0)
            return (int)got;
        ash_assert((uint64_t)got <= room);
        take_bytes(u, at, (size_t)got);
    }
}

/* § Aborting an upload, § Operation Failure: a failed source aborts the upload, a failed operation
 * is reported at once where cleaning up would most likely fail, too. */
static void clean_up(ash_upload *u, bool source_failed)
{
    ash_commit_manner manner;
    if (u->state == UPLOAD_FINISHED || u->state == UPLOAD_ABORTED)
        return;
    bool here = ash__bucket_manner(u->bucket, &manner, NULL) == 0 && manner.in_process;
    if (u->token[0] == '\0' && (source_failed || here))
        (void)ash_upload_abort(u, NULL);
    else if (u->state == UPLOAD_OPEN && u->token[0] == '\0')
        u->state = UPLOAD_FAILED;
}

static int run_upload(ash_upload *u, const ash_input *in, ash_error *err)
{
    static const ash_finish_options nothing_special;
    int64_t deadline = ash__bucket_deadline(u->bucket, u->timeout_ms);
    bool source_failed = false;
    int rc = copy_all(u, in, deadline, &source_failed, err);
    if (rc == 0)
        rc = ash__upload_finish(u, &nothing_special, NULL, NULL, deadline, err);
    if (rc != 0)
        clean_up(u, source_failed);
    return rc;
}

int ash_bucket_upload_from_stream(ash_bucket *b, const char *filename, const ash_input *in,
                                  const ash_upload_options *opts, bson_value_t *id, ash_error *err)
{
    ash_upload *u = NULL;
    int rc = ash_bucket_open_upload_stream(b, filename, opts, &u, err);
    if (rc == 0)
        rc = run_upload(u, in, err);
    if (rc == 0 && id != NULL)
        bson_value_copy(&u->id, id);
    ash_upload_free(u);
    return rc;
}

int ash_bucket_upload_from_stream_with_id(ash_bucket *b, const bson_value_t *id,
                                          const char *filename, const ash_input *in,
                                          const ash_upload_options *opts, ash_error *err)
{
    ash_upload *u = NULL;
    int rc = ash_bucket_open_upload_stream_with_id(b, id, filename, opts, &u, err);
    if (rc == 0)
        rc = run_upload(u, in, err);
    ash_upload_free(u);
    return rc;
}
