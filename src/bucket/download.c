/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/download.h"

#include <string.h>

#include "base/mem.h"
#include "base/options.h"

/* From the store in this process few chunks at a time, so that their bytes are still in the
 * processor's cache, where the checksum left them, when the caller comes to read them. */
static const size_t BATCH_BYTES = 4 * 1024 * 1024;
static const size_t BATCH_BYTES_HERE = 512 * 1024;
static const int VERSION_TRIES = 100;

/* ---- which file ---- */

typedef struct which {
    const bson_value_t *id; /* or … */
    const char *filename;   /* … and … */
    int32_t revision;
} which;

static int get_file(ash_bucket *b, const which *w, bool with_attributes, int64_t deadline_ms,
                    ash_file **out, ash_error *err)
{
    if (w->id != NULL)
        return ash__file_get(b, NULL, w->id, with_attributes, deadline_ms, out, err);
    return ash__file_get_by_name(b, w->filename, w->revision, with_attributes, deadline_ms, out,
                                 err);
}

int ash__download_check_options(const ash_download_options *o, ash_error *err)
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

/* ---- chunks ---- */

static int open_cursor(ash_download *d, int64_t deadline_ms, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t range;
    bson_t *sort = BCON_NEW("n", BCON_INT32(1));
    ash_find_options o = ash__bucket_find_options(d->bucket, NULL, deadline_ms);
    int64_t first = d->position / d->file->chunk_size;
    bool to_the_end = d->end == d->file->length;
    ash__filter_id(&filter, "files_id", &d->file->id);
    if (first > 0 || !to_the_end) {
        bson_append_document_begin(&filter, "n", 1, &range);
        bson_append_int64(&range, "$gte", 4, first);
        if (!to_the_end)
            bson_append_int64(&range, "$lte", 4, (d->end - 1) / d->file->chunk_size);
        bson_append_document_end(&filter, &range);
    }
    o.sort = sort;
    o.download = true;
    int rc = ash_collection_find(d->bucket->chunks, &filter, &o, &d->cursor, err);
    d->next_n = first;
    d->batch = (ash_batch){.count = 0};
    d->batch_at = 0;
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

static int next_batch(ash_download *d, ash_error *err)
{
    d->batch_at = 0;
    d->piece_len = 0;
    return ash_cursor_next_batch(d->cursor, 0, d->embedded ? BATCH_BYTES_HERE : BATCH_BYTES,
                                 &d->batch, err);
}

int ash__download_open_chunks(ash_download *d, int64_t deadline_ms, ash_error *err)
{
    int rc = open_cursor(d, deadline_ms, err);
    return rc == 0 ? next_batch(d, err) : rc;
}

/* The next chunk document, or data NULL when there is none. */
static int next_document(ash_download *d, ash_doc *doc, ash_error *err)
{
    *doc = (ash_doc){NULL, 0};
    if (d->batch_at == d->batch.count) {
        int rc = next_batch(d, err);
        if (rc != 0)
            return rc;
    }
    if (d->batch_at < d->batch.count)
        *doc = d->batch.docs[d->batch_at++];
    return 0;
}

/* The chunk that holds `position`, checked, as the current piece. */
static int load_chunk(ash_download *d, ash_error *err)
{
    ash_doc doc;
    int64_t n = 0;
    const uint8_t *data = NULL;
    size_t len = 0;
    int rc = next_document(d, &doc, err);
    if (rc == 0 && doc.data == NULL)
        rc = ash__chunk_missing(d->file, d->next_n, err);
    else if (rc == 0)
        rc = ash__chunk_parse(d->file, doc, &n, &data, &len, err);
    if (rc == 0)
        rc = ash__chunk_check(d->file, d->next_n, n, len, err);
    if (rc != 0)
        return rc;
    size_t skip = (size_t)(d->position - n * d->file->chunk_size);
    int64_t want = d->end - d->position;
    d->piece = data + skip;
    d->piece_len = (int64_t)(len - skip) < want ? len - skip : (size_t)want;
    d->next_n = n + 1;
    return 0;
}

/* Chunks after the last byte.  An empty one is what old implementations left behind a file. */
static int check_no_more(ash_download *d, ash_error *err)
{
    ash_doc doc;
    int64_t n = 0;
    const uint8_t *data;
    size_t len = 0;
    for (;;) {
        int rc = next_document(d, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        rc = ash__chunk_parse(d->file, doc, &n, &data, &len, err);
        if (rc != 0)
            return rc;
        if (len > 0 || n < d->next_n)
            return ash__chunk_check(d->file, INT64_MAX, n, len, err);
    }
}

static int check_digest(ash_download *d, ash_error *err)
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    char hex[2 * ASH_DIGEST_MAX_BYTES + 1];
    if (d->digest == NULL || d->digested != d->file->length || d->file->sha256[0] == '\0')
        return 0;
    ash__hex(bytes, ash__digest_finish(d->digest, bytes), hex);
    ash__digest_free(d->digest);
    d->digest = NULL;
    if (strcmp(hex, d->file->sha256) == 0)
        return 0;
    char *id = ash__id_text(&d->file->id);
    int rc = ash__fail(err, ASH_ECORRUPT, "file %s: SHA-256 is %s, not %s as when it was stored",
                       id, hex, d->file->sha256);
    ash__free(id);
    return rc;
}

static int check_end(ash_download *d, ash_error *err)
{
    int rc = 0;
    if (d->ended)
        return 0;
    if (d->cursor != NULL && d->end == d->file->length)
        rc = check_no_more(d, err);
    if (rc == 0)
        rc = check_digest(d, err);
    d->ended = rc == 0;
    return rc;
}

/* ---- the stream ---- */

/* false: the file changed between its files document and the hold on its chunks. */
static int is_same_version(ash_download *d, int64_t deadline_ms, bool *same, ash_error *err)
{
    ash_file *now = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__file_get(d->bucket, NULL, &d->file->id, true, deadline_ms, &now, &own);
    *same = rc == 0 && ash__file_same(d->file, now);
    ash_file_free(now);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static void forget_try(ash_download *d)
{
    ash_cursor_free(d->cursor);
    ash_file_free(d->file);
    d->cursor = NULL;
    d->file = NULL;
    d->batch = (ash_batch){.count = 0};
}

/* Find the file; where the store can hold a version, take hold of it. */
static int try_open(ash_download *d, const which *w, const ash_download_options *o,
                    int64_t deadline_ms, bool *same, ash_error *err)
{
    bool with = o->with_attributes || o->verify || d->pinned;
    int rc = get_file(d->bucket, w, with, deadline_ms, &d->file, err);
    if (rc == 0)
        rc = choose_range(d, o, err);
    *same = true;
    if (rc != 0 || !d->pinned || d->start == d->end)
        return rc;
    rc = ash__download_open_chunks(d, deadline_ms, err);
    if (rc == 0)
        rc = is_same_version(d, deadline_ms, same, err);
    return rc;
}

static int open_download(ash_bucket *b, const which *w, const ash_download_options *o,
                         int64_t deadline_ms, ash_download **out, ash_error *err)
{
    ash_commit_manner manner;
    int rc = ash__download_check_options(o, err);
    if (rc == 0)
        rc = ash__bucket_manner(b, &manner, err);
    if (rc != 0)
        return rc;
    ash_download *d = ash__new(ash_download);
    d->bucket = b;
    d->timeout_ms = o->timeout_ms;
    d->pinned = manner.pinned;
    d->embedded = manner.embedded;
    bool same = false;
    for (int i = 0; rc == 0 && !same; i++) {
        if (i == VERSION_TRIES)
            rc = ash__fail(err, ASH_ECONFLICT, "file changes faster than it can be opened");
        forget_try(d);
        if (rc == 0)
            rc = try_open(d, w, o, deadline_ms, &same, err);
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
    *w = (which){id, filename, o->has_revision ? o->revision : -1};
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
    return open_download(b, &w, &o, ash__bucket_deadline(b, o.timeout_ms), out, err);
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
    ash_cursor_free(d->cursor);
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
    int rc = ash__download_open_chunks(d, deadline_ms, err);
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
    int rc = 0;
    if (d->piece_len > 0)
        return 0;
    if (d->position == d->end)
        return check_end(d, err);
    if (d->cursor == NULL)
        rc = reopen(d, deadline_ms, err);
    if (rc == 0)
        rc = load_chunk(d, err);
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
    if (rc != 0) {
        d->failed = true;
        return rc;
    }
    *len = d->piece_len < max ? d->piece_len : max;
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

/* Chunks between here and there in the batch at hand are passed over without opening a cursor. */
static bool seek_in_batch(ash_download *d, int64_t position)
{
    int64_t n = position / d->file->chunk_size;
    int64_t over = n - d->next_n;
    if (d->cursor == NULL || position == d->end || over < 0 ||
        over >= (int64_t)(d->batch.count - d->batch_at))
        return false;
    d->batch_at += (size_t)over;
    d->next_n = n;
    d->piece_len = 0;
    return true;
}

int ash_download_seek(ash_download *d, int64_t position, ash_error *err)
{
    if (d->failed)
        return ash__fail(err, ASH_ESTATE, "download failed already");
    if (position < d->start || position > d->end)
        return ash__fail(err, ASH_EINVAL, "position %lld is not between %lld and %lld",
                         (long long)position, (long long)d->start, (long long)d->end);
    int64_t ahead = position - d->position;
    if (ahead >= 0 && ahead <= (int64_t)d->piece_len) {
        skip_in_piece(d, (size_t)ahead);
    } else if (!seek_in_batch(d, position)) {
        ash_cursor_free(d->cursor);
        d->cursor = NULL;
        d->batch = (ash_batch){.count = 0};
        d->batch_at = 0;
        d->piece_len = 0;
    }
    d->position = position;
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
    int64_t deadline = ash__bucket_deadline(b, o.timeout_ms);
    rc = open_download(b, &w, &o, deadline, &d, err);
    if (rc == 0)
        rc = copy_all(d, out, deadline, err);
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
