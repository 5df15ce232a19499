/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk documents, written and read as bytes: they are most of what a bucket moves, so no document
 * is built by appending, and none is parsed further than to its data. */
#include "bucket/chunks.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

/* From the end of a head backwards: binary's subtype and length, name "data", type, n's value. */
#define LENGTH_FROM_END 5
#define N_FROM_END      (LENGTH_FROM_END + 6 + 4)
#define OID_AT          9 /* document length, type, "_id" with its NUL */

/* Up to here a file's chunks may go into the transaction that makes it visible: the engine keeps
 * them beside its metadata, and the one turn at its writer costs less than two. */
#define SMALL_BYTES 8000

/* A thread costs more than it saves on blocks of less. */
#define BACKGROUND_FROM_BYTES (1024 * 1024)

/* Everything of a chunk document before its data, with values to be patched. */
static void build_head(const bson_value_t *files_id, uint8_t **out, size_t *out_len)
{
    bson_t doc = BSON_INITIALIZER;
    bson_oid_t oid;
    bson_oid_init(&oid, NULL);
    BSON_APPEND_OID(&doc, "_id", &oid);
    BSON_APPEND_VALUE(&doc, "files_id", files_id);
    BSON_APPEND_INT32(&doc, "n", 0);
    BSON_APPEND_BINARY(&doc, "data", BSON_SUBTYPE_BINARY, (const uint8_t *)"", 0);
    *out_len = doc.len - 1; /* without the terminator */
    *out = ash__memdup(bson_get_data(&doc), *out_len);
    bson_destroy(&doc);
}

/* Finish the document at `at` whose data is in place behind the head; returns its length. */
static size_t seal(uint8_t *at, const uint8_t *head, size_t head_bytes, int64_t n, size_t len)
{
    bson_oid_t oid;
    size_t total = head_bytes + len + 1;
    memcpy(at, head, head_bytes);
    /* Sweeping judges a chunk's age by this id, so it is made when the chunk is. */
    bson_oid_init(&oid, NULL);
    memcpy(at + OID_AT, oid.bytes, sizeof oid.bytes);
    ash__put_le32(at, (uint32_t)total);
    ash__put_le32(at + head_bytes - N_FROM_END, (uint32_t)n);
    ash__put_le32(at + head_bytes - LENGTH_FROM_END, (uint32_t)len);
    at[total - 1] = 0;
    return total;
}

int ash__chunk_writer_init(ash_chunk_writer *w, ash_bucket *b, const bson_value_t *files_id,
                           int32_t chunk_size, ash_error *err)
{
    memset(w, 0, sizeof *w);
    w->bucket = b;
    w->files_id = files_id;
    w->chunk_size = chunk_size;
    build_head(files_id, &w->head, &w->head_bytes);
    /* All chunks of a file have heads of one length, so their documents have places of their own
     * in a block before their bytes come. */
    w->slot_bytes = w->head_bytes + (size_t)chunk_size + 1;
    if (w->slot_bytes > ASH_DOC_MAX_BYTES)
        return ash__fail(err, ASH_ETOOBIG,
                         "chunk of %d bytes with its file id does not fit a document of 16 MiB",
                         (int)chunk_size);
    size_t slots = ASH_BLOCK_OF_CHUNKS / w->slot_bytes;
    w->slots = slots < 1 ? 1 : slots > ASH_CHUNKS_HELD_MAX ? ASH_CHUNKS_HELD_MAX : (uint32_t)slots;
    size_t bytes = w->slots * w->slot_bytes;
    w->large = bytes >= BACKGROUND_FROM_BYTES && bytes <= ASH_BLOCK_OF_CHUNKS;
    return 0;
}

static uint8_t *make_block(const ash_chunk_writer *w)
{
    return w->large ? ash__bucket_block_take(w->bucket) : ash__try_alloc(w->slots * w->slot_bytes);
}

static void free_block(const ash_chunk_writer *w, uint8_t *block)
{
    if (w->large)
        ash__bucket_block_give(w->bucket, block);
    else
        ash__free(block);
}

void ash__chunk_writer_release(ash_chunk_writer *w)
{
    ash__background_free(w->background); /* first: it reads the other block */
    ash__free(w->head);
    free_block(w, w->block);
    free_block(w, w->other);
    memset(w, 0, sizeof *w);
}

static uint8_t *slot_at(const ash_chunk_writer *w, uint32_t i)
{
    return w->block + (size_t)i * w->slot_bytes;
}

/* Chunks that are handed over together, all full but the last one. */
typedef struct run {
    uint8_t *block;
    uint32_t count;
    int32_t last_len;
    bool last; /* the file follows, and waits for the disk */
} run;

/* Build the documents in place and hand them over; *inserted: as far as it came. */
static int insert_run(const ash_chunk_writer *w, const ash_work *work, const run *r,
                      uint32_t *inserted, ash_error *err)
{
    ash_doc docs[ASH_CHUNKS_HELD_MAX];
    /* § Chunks: n is an int32. */
    if (w->stored + r->count - 1 > INT32_MAX)
        return ash__fail(err, ASH_ETOOBIG, "file has more chunks than can be numbered");
    for (uint32_t i = 0; i < r->count; i++) {
        size_t len = (size_t)(i + 1 < r->count ? w->chunk_size : r->last_len);
        uint8_t *at = r->block + (size_t)i * w->slot_bytes;
        docs[i].data = at;
        docs[i].len = seal(at, w->head, w->head_bytes, w->stored + i, len);
    }
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    o.op = ash__work_write_op(work);
    o.to_disk = r->last;
    int rc = ash_collection_insert(w->bucket->chunks, docs, r->count, &o, &result, err);
    *inserted = rc == 0 ? r->count : (uint32_t)result.inserted;
    ash_write_result_release(&result);
    return rc;
}

static int insert_held(const ash_chunk_writer *w, const ash_work *work, bool last,
                       uint32_t *inserted, ash_error *err)
{
    bool part = last && w->fill > 0;
    const run r = {w->block, w->held + (part ? 1 : 0), part ? w->fill : w->chunk_size, last};
    return r.count == 0 ? 0 : insert_run(w, work, &r, inserted, err);
}

/* ---- beside the upload ---- */

static int insert_other(void *ctx, ash_error *err)
{
    ash_chunk_writer *w = ctx;
    ash_work work = ash__work(w->bucket, w->deadline_ms);
    const run full = {.block = w->other, .count = w->slots, .last_len = w->chunk_size};
    return insert_run(w, &work, &full, &w->inserted, err);
}

/* The second block and the thread, made the first time.  A server elsewhere is asked in order, and
 * a call that has a time limit is to tell what became of what it did. */
static bool can_go_beside(ash_chunk_writer *w, int64_t deadline_ms)
{
    ash_commit_manner manner;
    if (w->background != NULL || w->alone || deadline_ms != 0)
        return w->background != NULL && deadline_ms == 0;
    w->alone = true; /* what is not to be had now is not asked for again */
    if (!w->large || ash__bucket_manner(w->bucket, &manner, NULL) != 0 || !manner.in_process)
        return false;
    w->other = make_block(w);
    if (w->other != NULL)
        w->background = ash__background_new();
    return w->background != NULL;
}

int ash__chunk_writer_settle(ash_chunk_writer *w, int64_t deadline_ms, ash_error *err)
{
    if (!w->under_way)
        return 0;
    int rc = ash__background_wait(w->background, err);
    w->under_way = false;
    /* Also after a failure: as far as it came, the chunks are this upload's to remove. */
    w->stored += w->inserted;
    if (rc == ASH_EEXISTS)
        ash__chunk_writer_say_taken(w, w->files_id, deadline_ms, err);
    return rc;
}

/* The full block goes to the background, and the other one is filled. */
static int hand_over(ash_chunk_writer *w, int64_t deadline_ms, ash_error *err)
{
    int rc = ash__chunk_writer_settle(w, deadline_ms, err);
    if (rc != 0)
        return rc;
    /* Full, so no chunk was begun in it that would have to move over. */
    uint8_t *full = w->block;
    w->block = w->other;
    w->other = full;
    w->held = 0;
    w->deadline_ms = deadline_ms;
    w->inserted = 0;
    w->under_way = true;
    ash__background_run(w->background, insert_other, w);
    return 0;
}

size_t ash__chunk_writer_kept(const ash_chunk_writer *w)
{
    return w->background != NULL ? w->slots * (size_t)w->chunk_size : 0;
}

void ash__chunk_writer_say_taken(const ash_chunk_writer *w, const bson_value_t *of,
                                 int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(w->bucket, deadline_ms);
    bool exists = false;
    char *id = ash__id_text(of);
    if (ash__file_exists(&work, of, &exists, NULL) == 0 && exists)
        ash__fail(err, ASH_EEXISTS, "a file with the id %s exists already", id);
    else
        ash__fail(err, ASH_EEXISTS,
                  "chunks of a file with the id %s exist already: another upload has it, or was "
                  "cut off",
                  id);
    ash__free(id);
}

int ash__chunk_writer_flush(ash_chunk_writer *w, bool last, int64_t deadline_ms, ash_error *err)
{
    ash_work work = ash__work(w->bucket, deadline_ms);
    uint32_t inserted = 0;
    int rc = ash__chunk_writer_settle(w, deadline_ms, err);
    if (rc == 0)
        rc = insert_held(w, &work, last, &inserted, err);
    w->stored += inserted;
    if (rc == ASH_EEXISTS)
        ash__chunk_writer_say_taken(w, w->files_id, deadline_ms, err);
    if (rc != 0)
        return rc;
    /* The chunk that is being filled goes on in the first slot. */
    if (!last && w->fill > 0)
        memmove(slot_at(w, 0) + w->head_bytes, slot_at(w, w->held) + w->head_bytes,
                (size_t)w->fill);
    else
        w->fill = 0;
    w->held = 0;
    return 0;
}

const uint8_t *ash__chunk_writer_rest(const ash_chunk_writer *w)
{
    return slot_at(w, w->held) + w->head_bytes;
}

int64_t ash__chunk_writer_waiting(const ash_chunk_writer *w)
{
    return (int64_t)w->held + (w->fill > 0);
}

bool ash__chunk_writer_is_small(const ash_chunk_writer *w)
{
    return w->stored == 0 && !w->under_way &&
           w->held * (size_t)w->chunk_size + (size_t)w->fill <= SMALL_BYTES;
}

int ash__chunk_writer_insert_as(ash_chunk_writer *w, const ash_work *work, const bson_value_t *id,
                                ash_error *err)
{
    uint32_t count = (uint32_t)ash__chunk_writer_waiting(w), inserted = 0;
    int rc = 0;
    if (id == w->files_id || ash__id_equal(id, w->files_id))
        return insert_held(w, work, true, &inserted, err);
    /* The heads in the block have the other id, which may be longer: documents are built anew. */
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        size_t len = (size_t)(i < w->held ? w->chunk_size : w->fill);
        rc = ash__chunk_insert(work, id, i, slot_at(w, i) + w->head_bytes, len, err);
    }
    return rc;
}

void ash__chunk_writer_stored(ash_chunk_writer *w)
{
    w->stored += ash__chunk_writer_waiting(w);
    w->held = 0;
    w->fill = 0;
}

int ash__chunk_writer_space(ash_chunk_writer *w, uint8_t **at, size_t *room, int64_t deadline_ms,
                            ash_error *err)
{
    if (w->block == NULL)
        w->block = make_block(w);
    if (w->block == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for %u chunks of %d bytes", w->slots,
                         (int)w->chunk_size);
    if (w->held == w->slots) {
        int rc = can_go_beside(w, deadline_ms)
                     ? hand_over(w, deadline_ms, err)
                     : ash__chunk_writer_flush(w, false, deadline_ms, err);
        if (rc != 0)
            return rc;
    }
    *at = slot_at(w, w->held) + w->head_bytes + w->fill;
    *room = (size_t)(w->chunk_size - w->fill);
    return 0;
}

void ash__chunk_writer_took(ash_chunk_writer *w, size_t len)
{
    w->fill += (int32_t)len;
    if (w->fill == w->chunk_size) {
        w->held++;
        w->fill = 0;
    }
}

int ash__chunk_insert(const ash_work *work, const bson_value_t *files_id, int64_t n,
                      const void *data, size_t len, ash_error *err)
{
    uint8_t *head = NULL;
    size_t head_bytes = 0;
    build_head(files_id, &head, &head_bytes);
    ash_doc doc;
    uint8_t *bytes = ash__try_alloc(head_bytes + len + 1);
    int rc = 0;
    if (bytes == NULL) {
        rc = ash__fail(err, ASH_ENOMEM, "no memory for a chunk of %zu bytes", len);
    } else {
        memcpy(bytes + head_bytes, data, len);
        doc.len = seal(bytes, head, head_bytes, n, len);
        doc.data = bytes;
        ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
        o.op = ash__work_write_op(work);
        rc = ash_collection_insert(work->bucket->chunks, &doc, 1, &o, NULL, err);
    }
    ash__free(bytes);
    ash__free(head);
    return rc;
}

static int fail_of_file(const ash_file *file, int code, ash_error *err, const char *what, int64_t n)
{
    char *id = ash__id_text(&file->id);
    int rc = ash__fail(err, code, "file %s: chunk %lld %s", id, (long long)n, what);
    ash__free(id);
    return rc;
}

int ash__chunk_missing(const ash_file *file, int64_t n, ash_error *err)
{
    return fail_of_file(file, ASH_ECHUNKMISSING, err, "is missing", n);
}

int ash__chunk_extra(const ash_file *file, int64_t n, ash_error *err)
{
    return fail_of_file(file, ASH_ECHUNKEXTRA, err, "is there twice or has no place", n);
}

int ash__chunk_parse(const ash_file *file, ash_doc doc, int64_t *n, const uint8_t **data,
                     size_t *len, ash_error *err)
{
    ash_value number = ash__doc_get(doc, "n");
    ash_value bytes = ash__doc_get(doc, "data");
    uint32_t length;
    /* Of any numeric type: implementations differ. */
    if (!ash__value_as_int64(number, n))
        return fail_of_file(file, ASH_ECORRUPT, err, "or a later one has no number", 0);
    if (bytes.type != BSON_TYPE_BINARY)
        return fail_of_file(file, ASH_ECORRUPT, err, "has no binary data", *n);
    *data = ash__value_binary_content(bytes, &length);
    if (*data == NULL)
        return fail_of_file(file, ASH_ECORRUPT, err,
                            "has binary data of the old subtype with a wrong inner length", *n);
    *len = length;
    return 0;
}

/* Bytes of a value at `at`, of the kinds that stand in front of a chunk's data; 0: of another. */
static size_t head_value_bytes(uint8_t type, const uint8_t *at, size_t have)
{
    switch (type) {
    case BSON_TYPE_OID:
        return 12;
    case BSON_TYPE_INT32:
        return 4;
    case BSON_TYPE_INT64:
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_DATE_TIME:
        return 8;
    case BSON_TYPE_UTF8:
        return have < 4 ? 0 : 4 + (size_t)ash__get_le32(at);
    case BSON_TYPE_BINARY:
        return have < 5 ? 0 : 5 + (size_t)ash__get_le32(at);
    default:
        return 0;
    }
}

/* `value` begins `bytes` of binary, of which at least the first `have` may be looked at. */
static bool take_data(const uint8_t *value, size_t bytes, size_t have, const uint8_t **data,
                      size_t *len)
{
    ash_value v = {BSON_TYPE_BINARY, value, (uint32_t)bytes};
    uint32_t length;
    if (bytes <= 5 || have < 5)
        return false;
    if (value[4] == BSON_SUBTYPE_BINARY_DEPRECATED && have < 9)
        return false;
    *data = ash__value_binary_content(v, &length);
    *len = length;
    return *data != NULL;
}

bool ash__chunk_parse_head(ash_doc doc, size_t have, int64_t *n, const uint8_t **data, size_t *len)
{
    bool numbered = false;
    for (size_t at = 4; at < have;) {
        uint8_t type = doc.data[at++];
        const uint8_t *end = memchr(doc.data + at, 0, have - at);
        if (end == NULL)
            return false;
        const char *name = (const char *)doc.data + at;
        const uint8_t *value = end + 1;
        at = (size_t)(value - doc.data);
        size_t bytes = head_value_bytes(type, value, have - at);
        if (type == BSON_TYPE_BINARY && strcmp(name, "data") == 0) {
            /* A field behind the data may be an n as well: then all of it has to be read. */
            return numbered && at + bytes + 1 == doc.len &&
                   take_data(value, bytes, have - at, data, len);
        }
        if (bytes == 0 || bytes > have - at)
            return false;
        if (strcmp(name, "n") == 0 && (type == BSON_TYPE_INT32 || type == BSON_TYPE_INT64)) {
            *n = type == BSON_TYPE_INT32 ? (int32_t)ash__get_le32(value)
                                         : (int64_t)ash__get_le64(value);
            numbered = true;
        }
        at += bytes;
    }
    return false;
}

int ash__chunk_check(const ash_file *file, int64_t expected, int64_t n, size_t len, ash_error *err)
{
    if (n > expected)
        return ash__chunk_missing(file, expected, err);
    if (n < expected)
        return ash__chunk_extra(file, n, err);
    int32_t want = ash__chunk_length(file->length, file->chunk_size, n);
    if (len == (size_t)want)
        return 0;
    char *id = ash__id_text(&file->id);
    int rc = ash__fail(err, ASH_ECHUNKSIZE, "file %s: chunk %lld has %zu bytes instead of %d", id,
                       (long long)n, len, (int)want);
    ash__free(id);
    return rc;
}

int ash__chunks_remove(const ash_work *work, const bson_value_t *files_id, int64_t first,
                       int64_t end, int64_t *removed, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t range;
    ash__filter_id(&filter, "files_id", files_id);
    if (first >= 0 || end >= 0) {
        BSON_APPEND_DOCUMENT_BEGIN(&filter, "n", &range);
        if (first >= 0)
            BSON_APPEND_INT64(&range, "$gte", first);
        if (end >= 0)
            BSON_APPEND_INT64(&range, "$lt", end);
        bson_append_document_end(&filter, &range);
    }
    ash_op op = ash__work_write_op(work);
    int rc = ash__collection_remove_all(work->bucket->chunks, &filter, &op, removed, err);
    bson_destroy(&filter);
    return rc;
}
