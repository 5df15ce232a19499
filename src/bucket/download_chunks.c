/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket/download.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "store/parts.h"

#include <string.h>

/* Where a download's bytes come from: the cursor over its chunks.
 *
 * A store in this process gives the chunks as they lie in its segments (store/parts.h), all held
 * from the moment the cursor was opened: the bytes that are given out are verified just before, and
 * a seek goes to another chunk without asking the store for it again. */

static const size_t BATCH_BYTES = 4 * 1024 * 1024;
static const size_t BATCH_BYTES_IN_PARTS = 16 * 1024 * 1024;
static const size_t BATCH_CHUNKS_IN_PARTS = 64;

/* ---- the cursor ---- */

/* The next one begins with the result's document number `first`. */
static void forget_batch(ash_download *d, size_t first)
{
    d->batch = (ash_batch){.count = 0};
    d->batch_at = 0;
    d->batch_first = first;
    d->piece_len = 0;
}

static int open_cursor(ash_download *d, const ash_work *work, ash_error *err)
{
    /* {n: 1}, not built anew for each of many small files. */
    static const uint8_t by_n[] = {12, 0, 0, 0, BSON_TYPE_INT32, 'n', 0, 1, 0, 0, 0, 0};
    bson_t filter = BSON_INITIALIZER;
    bson_t range, sort;
    ash_find_options o = ash__work_find_options(work);
    int64_t first = d->position / d->file->chunk_size;
    bool to_the_end = d->end == d->file->length;
    ash_assert(bson_init_static(&sort, by_n, sizeof by_n));
    ash__filter_id(&filter, "files_id", &d->file->id);
    if (first > 0 || !to_the_end) {
        BSON_APPEND_DOCUMENT_BEGIN(&filter, "n", &range);
        BSON_APPEND_INT64(&range, "$gte", first);
        if (!to_the_end)
            BSON_APPEND_INT64(&range, "$lte", (d->end - 1) / d->file->chunk_size);
        bson_append_document_end(&filter, &range);
    }
    o.sort = &sort;
    o.download = true;
    int rc = ash_collection_find(d->bucket->chunks, &filter, &o, &d->cursor, err);
    d->in_parts = rc == 0 && ash__cursor_take_parts(d->cursor);
    d->first_n = d->next_n = first;
    d->sought = d->lost = d->aside = false;
    d->batch_chunks = 1;
    forget_batch(d, 0);
    bson_destroy(&filter);
    return rc;
}

/* In parts a batch costs a look at each record's header, so the first after a seek is short. */
static int next_batch(ash_download *d, ash_error *err)
{
    size_t count = d->batch_chunks;
    forget_batch(d, d->batch_first + d->batch.count);
    if (!d->in_parts)
        return ash_cursor_next_batch(d->cursor, 0, BATCH_BYTES, &d->batch, err);
    d->batch_chunks = 2 * count < BATCH_CHUNKS_IN_PARTS ? 2 * count : BATCH_CHUNKS_IN_PARTS;
    return ash_cursor_next_batch(d->cursor, count, BATCH_BYTES_IN_PARTS, &d->batch, err);
}

int ash__download_open_chunks(ash_download *d, const ash_work *work, ash_error *err)
{
    int rc = open_cursor(d, work, err);
    return rc == 0 ? next_batch(d, err) : rc;
}

void ash__download_close_chunks(ash_download *d)
{
    ash_cursor_free(d->cursor);
    d->cursor = NULL;
    forget_batch(d, 0);
    d->sought = d->lost = d->aside = false;
    ash__free(d->known);
    d->known = NULL;
}

/* The next chunk document, or NULL when there is none. */
static int next_document(ash_download *d, const ash_doc **doc, ash_error *err)
{
    *doc = NULL;
    if (d->batch_at == d->batch.count) {
        int rc = next_batch(d, err);
        if (rc != 0)
            return rc;
    }
    if (d->batch_at < d->batch.count) {
        d->chunk_index = d->batch_first + d->batch_at;
        *doc = &d->batch.docs[d->batch_at++];
    }
    return 0;
}

/* ---- one chunk ---- */

/* From *from to *to the current chunk's bytes are right. */
static int verify(ash_download *d, size_t from, size_t to, ash_error *err)
{
    size_t wide_from = from, wide_to = to;
    int rc = ash__cursor_verify(d->cursor, d->chunk_index, &wide_from, &wide_to, err);
    if (rc != 0)
        return rc;
    if (wide_from > d->right_to || wide_to < d->right_from) {
        d->right_from = wide_from;
        d->right_to = wide_to;
        return 0;
    }
    d->right_from = wide_from < d->right_from ? wide_from : d->right_from;
    d->right_to = wide_to > d->right_to ? wide_to : d->right_to;
    return 0;
}

int ash__download_verify_piece(ash_download *d, size_t len, ash_error *err)
{
    if (!d->in_parts || len == 0)
        return 0;
    size_t from = (size_t)(d->piece - d->chunk->data), to = from + len;
    if (from >= d->right_from && to <= d->right_to)
        return 0;
    if (from >= d->right_from && from < d->right_to)
        from = d->right_to;
    return verify(d, from, to, err);
}

/* Number and data of a chunk document, all of it verified if need be. */
static int parse(ash_download *d, int64_t *n, const uint8_t **data, size_t *len, ash_error *err)
{
    ash_doc doc = *d->chunk;
    d->right_from = d->right_to = 0;
    if (!d->in_parts)
        return ash__chunk_parse(d->file, doc, n, data, len, err);
    /* One byte brings the whole block that it is in, and that holds the head as a rule. */
    int rc = verify(d, 0, 1, err);
    if (rc == 0 && d->right_to < doc.len && ash__chunk_parse_head(doc, d->right_to, n, data, len))
        return 0;
    if (rc == 0 && d->right_to < doc.len)
        rc = verify(d, d->right_to, doc.len, err);
    return rc == 0 ? ash__chunk_parse(d->file, doc, n, data, len, err) : rc;
}

/* The bytes from `position` on are given out next. */
static void begin_piece(ash_download *d, int64_t n, const uint8_t *data, size_t len)
{
    size_t skip = (size_t)(d->position - n * d->file->chunk_size);
    int64_t want = d->end - d->position;
    d->piece = data + skip;
    d->piece_len = (int64_t)(len - skip) < want ? len - skip : (size_t)want;
    d->next_n = n + 1;
}

/* Whoever seeks once may come again: then nothing but the bytes is looked at. */
static void note_known(ash_download *d, int64_t n, const uint8_t *data, size_t len)
{
    size_t index = (size_t)(n - d->first_n);
    if (!d->sought || d->chunk_index != index || !ash__cursor_lasts(d->cursor, index))
        return;
    if (d->known == NULL)
        d->known = ash__alloc_array((size_t)((d->end - 1) / d->file->chunk_size - d->first_n + 1),
                                    sizeof *d->known);
    d->known[index] =
        (ash_known_chunk){d->chunk->data, (uint32_t)(data - d->chunk->data), (uint32_t)len};
}

static bool go_to(ash_download *d, size_t index);

/* After a known chunk the one behind it comes. */
static bool come_back(ash_download *d)
{
    if (!d->aside)
        return true;
    d->aside = false;
    d->sought = go_to(d, (size_t)(d->next_n - d->first_n));
    return d->sought;
}

int ash__download_load_chunk(ash_download *d, bool *astray, ash_error *err)
{
    int64_t n = 0;
    const uint8_t *data = NULL;
    size_t len = 0;
    *astray = !come_back(d);
    if (*astray)
        return 0;
    int rc = next_document(d, &d->chunk, err);
    if (rc == 0 && d->chunk == NULL)
        rc = ash__chunk_missing(d->file, d->next_n, err);
    else if (rc == 0)
        rc = parse(d, &n, &data, &len, err);
    *astray = rc == 0 && d->sought && n != d->next_n;
    if (rc == 0 && !*astray)
        rc = ash__chunk_check(d->file, d->next_n, n, len, err);
    if (rc != 0 || *astray)
        return rc;
    if (d->in_parts)
        note_known(d, n, data, len);
    begin_piece(d, n, data, len);
    return 0;
}

/* Chunks after the last byte.  An empty one is what old implementations left behind a file. */
int ash__download_check_no_more(ash_download *d, ash_error *err)
{
    int64_t n = 0;
    const uint8_t *data;
    size_t len = 0;
    if (!come_back(d))
        return 0;
    for (;;) {
        int rc = next_document(d, &d->chunk, err);
        if (rc != 0 || d->chunk == NULL)
            return rc;
        rc = parse(d, &n, &data, &len, err);
        if (rc != 0)
            return rc;
        if (len > 0 || n < d->next_n)
            return ash__chunk_extra(d->file, n, err);
    }
}

/* ---- another place ---- */

/* The index-th chunk comes next; false: there is none, or it is no longer held. */
static bool go_to(ash_download *d, size_t index)
{
    forget_batch(d, index);
    d->batch_chunks = 1;
    d->aside = false;
    d->lost = !ash__cursor_seek(d->cursor, index);
    return !d->lost;
}

/* To a chunk that was met before; false: to none. */
static bool go_aside(ash_download *d, int64_t n)
{
    const ash_known_chunk *k = d->known != NULL ? &d->known[n - d->first_n] : NULL;
    if (k == NULL || k->doc == NULL)
        return false;
    forget_batch(d, 0);
    /* Its data is its last field: so much was found out when it was met. */
    d->known_doc = (ash_doc){k->doc, k->data_at + k->len + 1};
    d->chunk = &d->known_doc;
    d->chunk_index = (size_t)(n - d->first_n);
    d->right_from = 0;
    d->right_to = k->data_at;
    d->lost = false;
    begin_piece(d, n, k->doc + k->data_at, k->len);
    d->aside = true;
    return true;
}

static bool is_in_batch(const ash_download *d, int64_t over)
{
    return over >= 0 && over < (int64_t)(d->batch.count - d->batch_at);
}

/* Chunks between here and there in the batch at hand are passed over without a word to the store;
 * so is, where the store holds them all, any other.  Elsewhere a cursor has to be opened. */
void ash__download_seek_chunk(ash_download *d)
{
    int64_t n = d->position / d->file->chunk_size;
    int64_t over = n - d->next_n;
    if (d->cursor == NULL)
        return;
    d->piece_len = 0;
    d->next_n = n;
    if (!d->in_parts && (d->position == d->end || !is_in_batch(d, over))) {
        ash__download_close_chunks(d);
    } else if (d->position == d->end) {
        forget_batch(d, 0);
        d->aside = false;
        d->lost = true;
    } else if (is_in_batch(d, over)) {
        d->batch_at += (size_t)over;
    } else if (!go_aside(d, n)) {
        d->sought = go_to(d, (size_t)(n - d->first_n));
    }
}

/* The number of the index-th chunk; *found false: there is none. */
static int look_at_number(ash_download *d, size_t index, int64_t *n, bool *found, ash_error *err)
{
    const uint8_t *data;
    size_t len;
    *found = go_to(d, index);
    int rc = *found ? next_document(d, &d->chunk, err) : 0;
    *found = *found && d->chunk != NULL;
    return rc == 0 && *found ? parse(d, n, &data, &len, err) : rc;
}

int ash__download_search_chunk(ash_download *d, ash_error *err)
{
    int64_t wanted = d->position / d->file->chunk_size;
    size_t low = 0, high = (size_t)INT32_MAX + 1; /* chunks are numbered by an int32 */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t n = 0;
        bool found = false;
        int rc = look_at_number(d, middle, &n, &found, err);
        if (rc != 0)
            return rc;
        if (found && n < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    d->next_n = wanted;
    d->sought = false;
    if (go_to(d, low))
        return 0;
    /* A cursor that no longer holds its chunks says so. */
    int rc = next_batch(d, err);
    return rc == 0 ? ash__chunk_missing(d->file, wanted, err) : rc;
}
