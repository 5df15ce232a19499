/* SPDX-License-Identifier: Apache-2.0 */
/* A download as a stream of bytes: which file, which part of it, and whether it is still the same
 * one.  The chunks come from download_chunks.c. */
#include "bucket/download.h"

#include "base/mem.h"
#include "base/options.h"
#include "bucket/attributes.h"
#include "store/parts.h"

#include <string.h>

static const int VERSION_TRIES = 100; /* each means that somebody changed the file in between */

/* ---- which file ---- */

typedef struct which {
    const bson_value_t *id; /* or (NULL) … */
    ash_revision revision;
} which;

static int get_file(const ash_work *work, const which *w, bool with_attributes, ash_file **out,
                    ash_error *err)
{
    if (w->id != NULL)
        return ash__file_get_living(work, w->id, with_attributes, out, err);
    return ash__file_get_by_name(work, &w->revision, with_attributes, out, err);
}

static int check_options(const ash_download_options *o, ash_error *err)
{
    if (o->start < 0)
        return ash__fail(err, ASH_EINVAL, "start %lld is negative", (long long)o->start);
    if (o->end < 0)
        return ash__fail(err, ASH_EINVAL, "end %lld is negative", (long long)o->end);
    if (o->timeout_ms < 0)
        return ash__fail(err, ASH_EINVAL, "download timeout is negative");
    return 0;
}

/* § Partial File Retrieval */
static int choose_range(ash_download *d, const ash_download_options *o, ash_error *err)
{
    int64_t length = d->file->length;
    d->start = o->start;
    d->end = o->end != 0 || o->has_end ? o->end : length;
    if (d->start > length || d->end > length)
        return ash__fail(err, ASH_EINVAL, "range %lld to %lld goes beyond the file's %lld bytes",
                         (long long)d->start, (long long)d->end, (long long)length);
    if (d->start > d->end)
        return ash__fail(err, ASH_EINVAL, "range starts at %lld, after its end %lld",
                         (long long)d->start, (long long)d->end);
    d->position = d->start;
    return 0;
}

/* ---- the end ---- */

static int check_digest(ash_download *d, ash_error *err)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[2 * ASH_DIGEST_MAX_BYTES + 1];
    /* Whoever sought has not read all of it in order, and gets no verdict. */
    if (d->digest == NULL || d->digested != d->file->length || d->file->digests.sha256[0] == '\0')
        return 0;
    ash__hex(bytes, ash__digest_finish(d->digest, bytes), hex);
    ash__digest_free(d->digest);
    d->digest = NULL;
    if (strcmp(hex, d->file->digests.sha256) == 0)
        return 0;
    char *id = ash__id_text(&d->file->id);
    int rc = ash__fail(err, ASH_ECORRUPT, "file %s: SHA-256 is %s, not %s as when it was stored",
                       id, hex, d->file->digests.sha256);
    ash__free(id);
    return rc;
}

static int check_end(ash_download *d, ash_error *err)
{
    int rc = 0;
    if (d->ended)
        return 0;
    /* Chunks behind the last byte are looked for only where all of the file was wanted. */
    if (d->cursor != NULL && !d->lost && d->end == d->file->length)
        rc = ash__download_check_no_more(d, err);
    if (rc == 0)
        rc = check_digest(d, err);
    d->ended = rc == 0;
    return rc;
}

/* ---- the stream ---- */

/* false: the file changed between its files document and the hold on its chunks. */
static int is_same_version(ash_download *d, int64_t deadline_ms, bool *same, ash_error *err)
{
    ash_work work = ash__work(d->bucket, deadline_ms);
    ash_file *now = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__file_get(&work, &d->file->id, true, &now, &own);
    *same = rc == 0 && ash__file_same(d->file, now);
    ash_file_free(now);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static void forget_try(ash_download *d)
{
    ash__download_close_chunks(d);
    ash_file_free(d->file);
    d->file = NULL;
}

typedef struct opening {
    ash_download *download;
    const which *which;
    const ash_download_options *options;
    int64_t deadline_ms;
} opening;

/* Find the file; where the store can hold a version, take hold of it. */
static int find_and_hold(ash_transaction *t, void *ctx, ash_error *err)
{
    const opening *op = ctx;
    ash_download *d = op->download;
    const ash_work work = {.bucket = d->bucket, .transaction = t, .deadline_ms = op->deadline_ms};
    /* Without a look at one moment, it takes the attributes' version to see a change. */
    bool with = op->options->with_attributes || op->options->verify ||
                (d->pinned && !ash__store_can_look(d->bucket->store));
    int rc = get_file(&work, op->which, with, &d->file, err);
    if (rc == 0)
        rc = choose_range(d, op->options, err);
    if (rc != 0 || !d->pinned || d->start == d->end)
        return rc;
    rc = ash__download_open_chunks(d, &work, err);
    /* A cursor in parts holds all chunks and is never opened anew; others may be, and then it takes
     * the attributes to tell whether the version is the same. */
    if (rc == 0 && !with && !d->in_parts)
        rc = ash__attributes_read(&work, d->file, err);
    return rc;
}

static int try_open(opening *op, bool *same, ash_error *err)
{
    ash_download *d = op->download;
    ash_store *store = d->bucket->store;
    ash_op look = {.size = sizeof(ash_op), .deadline_ms = op->deadline_ms};
    int rc = ash__store_look(store, find_and_hold, op, &look, err);
    *same = true;
    if (rc == 0 && d->cursor != NULL && !ash__store_can_look(store))
        rc = is_same_version(d, op->deadline_ms, same, err);
    return rc;
}

static int open_download(const ash_work *work, const which *w, const ash_download_options *o,
                         ash_download **out, ash_error *err)
{
    ash_commit_manner manner;
    int rc = check_options(o, err);
    if (rc == 0)
        rc = ash__bucket_manner(work->bucket, &manner, err);
    if (rc != 0)
        return rc;
    ash_download *d = ash__new(ash_download);
    d->bucket = work->bucket;
    d->timeout_ms = o->timeout_ms;
    d->pinned = manner.pinned;
    opening op = {d, w, o, work->deadline_ms};
    bool same = false;
    for (int i = 0; rc == 0 && !same; i++) {
        if (i == VERSION_TRIES)
            rc = ash__fail(err, ASH_ECONFLICT, "file changes faster than it can be opened");
        forget_try(d);
        if (rc == 0)
            rc = try_open(&op, &same, err);
    }
    if (rc == 0 && o->verify && d->start == 0 && d->end == d->file->length)
        d->digest = ash__digest_new(ASH_DIGEST_SHA256);
    if (rc == 0)
        *out = d;
    else
        ash_download_free(d);
    return rc;
}

/* The caller's options, and which file they mean: of the id, or (id NULL) of the name. */
static int take_options(const bson_value_t *id, const char *filename,
                        const ash_download_options *opts, ash_download_options *o, which *w,
                        ash_error *err)
{
    int rc = ash__options_copy(o, sizeof *o, opts, err);
    if (rc != 0)
        return rc;
    if (id != NULL && o->has_revision)
        return ash__fail(err, ASH_EINVAL, "revision belongs to a name, not to an id");
    *w = (which){id, {filename, o->has_revision ? o->revision : -1}};
    return 0;
}

static int open_which(ash_bucket *b, const bson_value_t *id, const char *filename,
                      const ash_download_options *opts, ash_download **out, ash_error *err)
{
    ash_download_options o;
    which w;
    *out = NULL;
    int rc = take_options(id, filename, opts, &o, &w, err);
    if (rc != 0)
        return rc;
    ash_work work = ash__work(b, ash__bucket_deadline(b, o.timeout_ms));
    return open_download(&work, &w, &o, out, err);
}

int ash_bucket_open_download_stream(ash_bucket *b, const bson_value_t *id,
                                    const ash_download_options *opts, ash_download **out,
                                    ash_error *err)
{
    ash_assert(id != NULL);
    return open_which(b, id, NULL, opts, out, err);
}

int ash_bucket_open_download_stream_by_name(ash_bucket *b, const char *filename,
                                            const ash_download_options *opts, ash_download **out,
                                            ash_error *err)
{
    return open_which(b, NULL, filename, opts, out, err);
}

void ash_download_free(ash_download *d)
{
    if (d == NULL)
        return;
    ash__download_close_chunks(d);
    ash_file_free(d->file);
    ash__digest_free(d->digest);
    ash__free(d);
}

const ash_file *ash_download_file(const ash_download *d)
{
    return d->file;
}

int64_t ash_download_position(const ash_download *d)
{
    return d->position;
}

/* After a seek.  The hold on the version went with the old cursor, so the new one must have found
 * the same. */
static int reopen(ash_download *d, int64_t deadline_ms, ash_error *err)
{
    bool same = true;
    ash_work work = ash__work(d->bucket, deadline_ms);
    ash__download_close_chunks(d);
    int rc = ash__download_open_chunks(d, &work, err);
    if (rc == 0 && d->pinned)
        rc = is_same_version(d, deadline_ms, &same, err);
    if (rc == 0 && !same) {
        char *id = ash__id_text(&d->file->id);
        rc = ash__fail(err, ASH_ECONFLICT, "file %s changed between two parts of its download", id);
        ash__free(id);
    }
    return rc;
}

/* The rest of the current chunk, loading one when there is none; *len 0 at the end. */
static int current_piece(ash_download *d, int64_t deadline_ms, ash_error *err)
{
    bool astray = false;
    int rc = 0;
    if (d->piece_len > 0)
        return 0;
    if (d->position == d->end)
        return check_end(d, err);
    if (d->cursor == NULL)
        rc = reopen(d, deadline_ms, err);
    else if (d->lost)
        rc = ash__download_search_chunk(d, err);
    if (rc == 0)
        rc = ash__download_load_chunk(d, &astray, err);
    if (rc == 0 && astray)
        rc = ash__download_search_chunk(d, err);
    if (rc == 0 && astray)
        rc = ash__download_load_chunk(d, &astray, err);
    return rc;
}

/* At the end of a file there is no piece, and nothing to go on in. */
static void skip_in_piece(ash_download *d, size_t len)
{
    if (len == 0)
        return;
    d->piece += len;
    d->piece_len -= len;
}

static int take(ash_download *d, size_t max, int64_t deadline_ms, const uint8_t **data, size_t *len,
                ash_error *err)
{
    *len = 0;
    if (d->failed)
        return ash__fail(err, ASH_ESTATE, "download failed already");
    if (d->cursor != NULL)
        ash_cursor_set_op(d->cursor, deadline_ms, NULL, -1);
    int rc = current_piece(d, deadline_ms, err);
    size_t next = d->piece_len < max ? d->piece_len : max;
    if (rc == 0)
        rc = ash__download_verify_piece(d, next, err);
    if (rc != 0) {
        d->failed = true;
        return rc;
    }
    *len = next;
    *data = d->piece;
    if (d->digest != NULL && d->digested == d->position) {
        ash__digest_add(d->digest, d->piece, *len);
        d->digested += (int64_t)*len;
    }
    skip_in_piece(d, *len);
    d->position += (int64_t)*len;
    return 0;
}

int ash_download_next(ash_download *d, const uint8_t **data, size_t *len, ash_error *err)
{
    *data = NULL;
    return take(d, SIZE_MAX, ash__bucket_deadline(d->bucket, d->timeout_ms), data, len, err);
}

int ash_download_view(ash_download *d, size_t max, const uint8_t **data, size_t *len,
                      ash_error *err)
{
    *data = NULL;
    *len = 0;
    if (max == 0)
        return ash__fail(err, ASH_EINVAL, "a view of no bytes");
    return take(d, max, ash__bucket_deadline(d->bucket, d->timeout_ms), data, len, err);
}

int ash_download_read(ash_download *d, void *buf, size_t len, size_t *got, ash_error *err)
{
    int64_t deadline = ash__bucket_deadline(d->bucket, d->timeout_ms);
    uint8_t *to = buf;
    *got = 0;
    while (*got < len) {
        const uint8_t *data;
        size_t n;
        int rc = take(d, len - *got, deadline, &data, &n, err);
        if (rc != 0)
            return rc;
        if (n == 0)
            break;
        memcpy(to + *got, data, n);
        *got += n;
    }
    /* The views are used up, so what lies behind the last byte can be looked at already. */
    int rc = *got > 0 && d->position == d->end ? check_end(d, err) : 0;
    d->failed = rc != 0;
    return rc;
}

int ash_download_seek(ash_download *d, int64_t position, ash_error *err)
{
    if (d->failed)
        return ash__fail(err, ASH_ESTATE, "download failed already");
    if (position < d->start || position > d->end)
        return ash__fail(err, ASH_EINVAL, "position %lld is not between %lld and %lld",
                         (long long)position, (long long)d->start, (long long)d->end);
    int64_t ahead = position - d->position;
    d->position = position;
    if (ahead >= 0 && ahead <= (int64_t)d->piece_len)
        skip_in_piece(d, (size_t)ahead);
    else
        ash__download_seek_chunk(d);
    d->ended = false;
    return 0;
}

/* ---- to a destination ---- */

static int copy_all(ash_download *d, const ash_output *out, int64_t deadline_ms, ash_error *err)
{
    for (;;) {
        const uint8_t *data;
        size_t len;
        int rc = ash__deadline_check(deadline_ms, "download", err);
        if (rc == 0)
            rc = take(d, SIZE_MAX, deadline_ms, &data, &len, err);
        if (rc != 0 || len == 0)
            return rc;
        rc = out->write(out->ctx, data, len, err);
        if (rc != 0)
            return rc;
    }
}

static int download_to(ash_bucket *b, const bson_value_t *id, const char *filename,
                       const ash_output *out, const ash_download_options *opts, ash_error *err)
{
    ash_download_options o;
    which w;
    ash_download *d = NULL;
    int rc = take_options(id, filename, opts, &o, &w, err);
    if (rc != 0)
        return rc;
    ash_work work = ash__work(b, ash__bucket_deadline(b, o.timeout_ms));
    rc = open_download(&work, &w, &o, &d, err);
    if (rc == 0)
        rc = copy_all(d, out, work.deadline_ms, err);
    ash_download_free(d);
    return rc;
}

int ash_bucket_download_to_stream(ash_bucket *b, const bson_value_t *id, const ash_output *out,
                                  const ash_download_options *opts, ash_error *err)
{
    ash_assert(id != NULL);
    return download_to(b, id, NULL, out, opts, err);
}

int ash_bucket_download_to_stream_by_name(ash_bucket *b, const char *filename,
                                          const ash_output *out, const ash_download_options *opts,
                                          ash_error *err)
{
    return download_to(b, NULL, filename, out, opts, err);
}
