/* SPDX-License-Identifier: Apache-2.0 */
/* Results of retryable writes, in the engine's small state beside documents: what a driver sends a
 * second time is answered, not done. */

#include "store/embedded/write/retry.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "store/embedded/kit/give.h"

#include <inttypes.h>
#include <string.h>

#define SWEEP_PER_TURN 1000
#define KEY_BYTES      22
#define PART_KEY_BYTES (KEY_BYTES + 4)
#define EMPTY_BYTES    5 /* of a document without fields */

/* One family of keys among others of the state. */
static const char PREFIX[] = "rt";

static void make_key(const ash_retry_id *id, int32_t statement, uint8_t key[KEY_BYTES])
{
    memcpy(key, PREFIX, 2);
    memcpy(key + 2, id->session, 16);
    /* Big-endian, so that one session's statements are neighbours. */
    ash__put_be32(key + 18, (uint32_t)statement);
}

/* What is kept of one statement. */
typedef struct kept_result {
    bool found;
    int64_t number;   /* of its transaction */
    ash_value result; /* a view until the writer changes anything; or missing */
} kept_result;

static int read_entry(ash_writer *w, const ash_retry_id *id, int32_t statement, kept_result *out,
                      ash_error *err)
{
    uint8_t key[KEY_BYTES];
    ash_doc doc;
    *out = (kept_result){.result = ASH_VALUE_MISSING};
    make_key(id, statement, key);
    int rc = ash__state_get(ash__writer_snapshot(w), key, sizeof key, &doc, &out->found, err);
    if (rc != 0 || !out->found)
        return rc;
    out->result = ash__doc_get(doc, "r");
    if (!ash__value_as_int64(ash__doc_get(doc, "t"), &out->number))
        return ash__fail(err, ASH_ECORRUPT, "the stored result of a retryable write is damaged");
    return 0;
}

static int write_entry(ash_writer *w, const ash_retry_id *id, int32_t statement, ash_doc result,
                       ash_error *err)
{
    uint8_t key[KEY_BYTES];
    ash_builder b = ASH_BUILDER_INIT;
    make_key(id, statement, key);
    ash__builder_begin(&b);
    ash__builder_int64(&b, "t", id->txn_number);
    ash__builder_date(&b, "w", ash__clock_wall_ms());
    if (result.data != NULL)
        ash__builder_doc_value(&b, "r", result);
    ash__builder_end(&b);
    ash_doc doc = ash__builder_doc(&b);
    int rc = ash__state_put(w, key, sizeof key, doc.data, doc.len, err);
    ash__builder_release(&b);
    return rc;
}

int ash__retry_begin(ash_writer *w, const ash_op *op, bool *repeated, ash_doc *stored,
                     ash_error *err)
{
    const ash_retry_id *id = op->retry;
    kept_result e;
    *repeated = false;
    if (id == NULL)
        return 0;
    int rc = read_entry(w, id, 0, &e, err);
    if (rc != 0)
        return rc;
    /* The session has gone on: its driver has given the older write up, so it must not happen now.
     */
    if (e.found && id->txn_number < e.number)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TRANSACTION_TOO_OLD,
                                "retryable write with txnNumber %" PRId64
                                " is prohibited on its session because a newer one with txnNumber "
                                "%" PRId64 " has already started",
                                id->txn_number, e.number);
    if (!e.found || e.number < id->txn_number)
        /* Statement 0 carries the newest number, even when the first statement to come is another.
         */
        return id->statement == 0 ? 0 : write_entry(w, id, 0, (ash_doc){NULL, 0}, err);
    if (id->statement != 0) {
        rc = read_entry(w, id, id->statement, &e, err);
        if (rc != 0)
            return rc;
    }
    *repeated = e.found && e.number == id->txn_number && e.result.type == BSON_TYPE_DOCUMENT;
    if (*repeated)
        *stored = ash__value_doc(e.result);
    return 0;
}

int ash__retry_store(ash_writer *w, const ash_op *op, ash_doc result, ash_error *err)
{
    return op->retry == NULL ? 0 : write_entry(w, op->retry, op->retry->statement, result, err);
}

void ash__retry_encode_counts(ash_builder *b, const ash_write_result *r)
{
    ash__builder_int64(b, "i", r->inserted);
    ash__builder_int64(b, "n", r->matched);
    ash__builder_int64(b, "m", r->modified);
    ash__builder_int64(b, "d", r->deleted);
    if (r->upserted)
        ash__builder_doc_value(b, "u", ash__doc_from_bson(&r->upserted_id));
}

void ash__retry_encode(ash_builder *b, const ash_write_result *r)
{
    ash__retry_encode_counts(b, r);
    if (r->error_count > 0)
        ash__builder_array_value(b, "e", ash__doc_from_bson(&r->errors));
}

static void decode_number(ash_doc doc, const char *name, int64_t *out)
{
    if (!ash__value_as_int64(ash__doc_get(doc, name), out))
        *out = 0;
}

static void decode_doc(ash_value v, bson_t *out)
{
    bson_destroy(out);
    ash__doc_give(ash__value_doc(v), out);
}

void ash__retry_decode(ash_doc stored, ash_write_result *r)
{
    /* What this run has counted so far is replaced, not added to. */
    ash_write_result_release(r);
    ash_write_result_init(r);
    decode_number(stored, "i", &r->inserted);
    decode_number(stored, "n", &r->matched);
    decode_number(stored, "m", &r->modified);
    decode_number(stored, "d", &r->deleted);
    ash_value upserted = ash__doc_get(stored, "u");
    ash_value errors = ash__doc_get(stored, "e");
    r->upserted = upserted.type == BSON_TYPE_DOCUMENT;
    if (r->upserted)
        decode_doc(upserted, &r->upserted_id);
    if (errors.type == BSON_TYPE_ARRAY) {
        decode_doc(errors, &r->errors);
        r->error_count = ash__doc_count(ash__value_doc(errors));
    }
    r->retried = true;
}

/* ---- errors in parts ---- */

static void make_part_key(const ash_retry_id *id, uint32_t part, uint8_t key[PART_KEY_BYTES])
{
    make_key(id, id->statement, key);
    ash__put_be32(key + KEY_BYTES, part);
}

/* The entries of the list from that byte on, as a document. */
static void append_rest(ash_builder *b, const char *name, ash_doc list, uint32_t from)
{
    ash_buffer rest = ASH_BUFFER_INIT;
    uint8_t head[4];
    from = from > EMPTY_BYTES ? from - 1 : 4; /* the end was overwritten by what came after */
    ash__put_le32(head, list.len - from + 4);
    ash__buffer_append(&rest, head, sizeof head);
    ash__buffer_append(&rest, list.data + from, list.len - from);
    ash__builder_doc_value(b, name, (ash_doc){rest.data, (uint32_t)rest.len});
    ash__buffer_release(&rest);
}

int ash__retry_put_errors(ash_writer *w, const ash_op *op, const ash_write_result *r,
                          ash_retry_parts *parts, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint8_t key[PART_KEY_BYTES];
    ash_doc list = ash__doc_from_bson(&r->errors);
    /* Each error is written once, with the turn that met it: a list of thousands would be written
     * anew each time. */
    if (op->retry == NULL || list.len == EMPTY_BYTES || list.len == parts->bytes)
        return 0;
    make_part_key(op->retry, parts->count, key);
    ash__builder_begin(&b);
    ash__builder_int64(&b, "t", op->retry->txn_number);
    /* Later turns renew the result but not its parts, which have to be there as long. */
    ash__builder_date(&b, "w", ash__clock_wall_ms() + ASH_RETRY_KEEP_MS);
    append_rest(&b, "e", list, parts->bytes);
    ash__builder_end(&b);
    ash_doc doc = ash__builder_doc(&b);
    int rc = ash__state_put(w, key, sizeof key, doc.data, doc.len, err);
    ash__builder_release(&b);
    if (rc == 0)
        *parts = (ash_retry_parts){parts->count + 1, list.len};
    return rc;
}

int ash__retry_get_errors(ash_writer *w, const ash_op *op, uint32_t count, ash_write_result *r,
                          ash_retry_parts *parts, ash_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t key[PART_KEY_BYTES];
        bool found = false;
        int64_t number = -1;
        ash_doc doc;
        bson_t view;
        make_part_key(op->retry, i, key);
        int rc = ash__state_get(ash__writer_snapshot(w), key, sizeof key, &doc, &found, err);
        if (rc != 0)
            return rc;
        ash_value errors = found ? ash__doc_get(doc, "e") : ASH_VALUE_MISSING;
        /* A part of another number is of a write that came later in the session. */
        if (errors.type != BSON_TYPE_DOCUMENT ||
            !ash__value_as_int64(ash__doc_get(doc, "t"), &number) ||
            number != op->retry->txn_number)
            return ash__fail(err, ASH_ECORRUPT,
                             "errors of the stored result of a retryable write are missing");
        ash__doc_to_bson(ash__value_doc(errors), &view);
        /* Into the list as it grows, under the names that the items have. */
        bson_concat(&r->errors, &view);
        r->error_count += ash__doc_count(ash__value_doc(errors));
    }
    /* Errors that an earlier release stored with the result are in no part yet. */
    *parts = (ash_retry_parts){count, count > 0 ? r->errors.len : 0};
    return 0;
}

/* ---- sweeping ---- */

typedef struct sweep {
    int64_t before_ms;
    uint32_t count;
    struct {
        uint8_t bytes[PART_KEY_BYTES];
        size_t len;
    } keys[SWEEP_PER_TURN];
} sweep;

static bool is_old(ash_doc entry, int64_t before_ms)
{
    ash_value at = ash__doc_get(entry, "w");
    return at.type != BSON_TYPE_DATE_TIME || ash__value_int64(at) < before_ms;
}

static bool collect_old(void *ctx, const void *key, size_t key_len, ash_doc value)
{
    sweep *old = ctx;
    /* Keys of another length are none of ours. */
    if ((key_len == KEY_BYTES || key_len == PART_KEY_BYTES) && is_old(value, old->before_ms)) {
        memcpy(old->keys[old->count].bytes, key, key_len);
        old->keys[old->count++].len = key_len;
    }
    return old->count < SWEEP_PER_TURN;
}

static int delete_old(ash_writer *w, void *ctx, ash_error *err)
{
    sweep *old = ctx;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < old->count; i++) {
        ash_doc value;
        bool found = false;
        /* Its session may have come back since it was collected. */
        const void *key = old->keys[i].bytes;
        rc = ash__state_get(ash__writer_snapshot(w), key, old->keys[i].len, &value, &found, err);
        if (rc == 0 && found && is_old(value, old->before_ms))
            rc = ash__state_delete(w, key, old->keys[i].len, err);
    }
    return rc;
}

static int sweep_turn(ash_embedded *s, sweep *old, ash_error *err)
{
    ash_snapshot *snap = NULL;
    old->count = 0;
    int rc = ash__snapshot_open(s->engine, &snap, err);
    if (rc == 0) {
        rc = ash__state_each(snap, PREFIX, 2, collect_old, old, err);
        ash__snapshot_close(snap);
    }
    if (rc == 0 && old->count > 0)
        /* Not waited for: what a crash brings back is swept again. */
        rc = ash__engine_apply(s->engine, delete_old, old, NULL, err);
    return rc;
}

int ash__retry_sweep(ash_embedded *s, int64_t before_ms, ash_error *err)
{
    /* Some forty kilobytes: not for the stack of a thread. */
    sweep *old = ash__new(sweep);
    int rc;
    old->before_ms = before_ms;
    do
        rc = sweep_turn(s, old, err);
    while (rc == 0 && old->count == SWEEP_PER_TURN && !ash__embedded_is_closing(s));
    ash__free(old);
    return rc;
}
