/* SPDX-License-Identifier: Apache-2.0 */
/* What both kinds of scan share, and scans of records. */
#include "engine/scan.h"

#include "base/mem.h"

#include <string.h>

static enum ash_database database_of(const ash_scan *s)
{
    return s->index != NULL ? ASH_DB_INDEX : ASH_DB_RECORDS;
}

/* Cursors of the writer do not outlive a call: its transactions nest and end under them.  There
 * every call begins anew behind the last hit. */
int ash__scan_enter(ash_scan *s, ash_error *err)
{
    enum ash_database db = database_of(s);
    /* Of a snapshot it stays where it is between calls: nothing moves there. */
    if (s->cursor != NULL)
        return 0;
    int rc = ash__lmdb_cursor_open(s->snap->txn, s->snap->engine->dbi[db], &s->cursor);
    return rc != 0 ? ash__read_fail(s->snap, rc, err, "cannot scan") : 0;
}

void ash__scan_leave(ash_scan *s)
{
    if (s->cursor != NULL && s->snap->is_writer) {
        mdb_cursor_close(s->cursor);
        s->cursor = NULL;
        s->placed = false;
    }
}

/* Where the cursor stands before a step, when that matters. */
typedef struct spot_before {
    uint8_t bytes[ASH_KEY_MAX];
    ash_doc key; /* data NULL: nowhere */
} spot_before;

static void note_spot(const ash_scan *s, MDB_cursor_op op, const MDB_val *key, spot_before *out)
{
    MDB_val at = {0}, value;
    out->key = (ash_doc){NULL, 0};
    if (op == MDB_SET_RANGE)
        at = *key;
    else if ((op == MDB_NEXT || op == MDB_PREV) &&
             ash__lmdb_cursor_get(s->cursor, &at, &value, MDB_GET_CURRENT) != 0)
        at.mv_size = 0;
    if (at.mv_size == 0 || at.mv_size > sizeof out->bytes)
        return;
    memcpy(out->bytes, at.mv_data, at.mv_size);
    out->key = (ash_doc){out->bytes, at.mv_size};
}

/* The first key behind all with the prefix; none behind the last of them. */
static ash_doc behind_prefix(const ash_scan *s, uint8_t out[4])
{
    uint32_t id = ash__get_be32(s->prefix);
    ash__put_be32(out, id + 1);
    return id == UINT32_MAX ? (ash_doc){NULL, 0} : (ash_doc){out, 4};
}

static ash_doc with_prefix(const ash_scan *s, const ash_buffer *b, uint8_t out[ASH_KEY_MAX])
{
    size_t len = b->len < ASH_LONG_PREFIX ? b->len : ASH_LONG_PREFIX;
    memcpy(out, s->prefix, 4);
    if (len > 0)
        memcpy(out + 4, b->data, len);
    return (ash_doc){out, 4 + len};
}

/* Of damaged metadata: may rows lie between the step's two ends, as far as the scan goes? */
static int judge_step(const ash_scan *s, bool back, ash_doc from, const ash_row *row,
                      ash_error *err)
{
    uint8_t first[ASH_KEY_MAX], last[ASH_KEY_MAX], end[4];
    ash_doc here = {NULL, 0}, low = with_prefix(s, &s->from, first), high = behind_prefix(s, end);
    if (s->to.len > 0 && s->to.len <= ASH_LONG_PREFIX)
        high = with_prefix(s, &s->to, last);
    if (row->found)
        here = ash__bytes(row->key.mv_data, row->key.mv_size);
    if (back && here.data == NULL)
        here = low;
    ash_doc begin = back ? here : from, stop = back ? from : here;
    if (begin.data == NULL || ash__bytes_compare(begin, low) < 0)
        begin = low;
    if (stop.data == NULL || (high.data != NULL && ash__bytes_compare(stop, high) > 0))
        stop = high;
    if (stop.data != NULL && ash__bytes_compare(begin, stop) >= 0)
        return 0;
    return ash__soundness_absent(s->snap, database_of(s), begin, stop, err);
}

static int out_of_order(ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "the metadata's keys are out of order");
}

/* A step that was taken in metadata known to be damaged. */
static int judge(const ash_scan *s, MDB_cursor_op op, ash_doc from, const ash_row *row,
                 ash_error *err)
{
    bool back = op == MDB_PREV || op == MDB_LAST;
    ash_doc here = {row->key.mv_data, row->key.mv_size};
    /* A step that went the wrong way met keys out of order, and could be taken for ever. */
    int order = row->found && from.data != NULL ? ash__bytes_compare(here, from) : 0;
    if (back ? order > 0 : order < 0)
        return out_of_order(err);
    int rc = judge_step(s, back, from, row, err);
    return rc == 0 && row->found ? ash__soundness_found(s->snap, database_of(s), here, err) : rc;
}

int ash__scan_move(ash_scan *s, MDB_cursor_op op, ash_row *row, ash_error *err)
{
    spot_before before = {.key = {NULL, 0}};
    bool is_damaged = atomic_load(&s->snap->engine->damaged) && op != MDB_GET_CURRENT;
    ash_doc asked = {row->key.mv_data, op == MDB_SET_RANGE ? row->key.mv_size : 0};
    if (is_damaged)
        note_spot(s, op, &row->key, &before);
    int rc = ash__lmdb_cursor_get(s->cursor, &row->key, &row->value, op);
    row->found = rc == 0 && row->key.mv_size > 4 && memcmp(row->key.mv_data, s->prefix, 4) == 0;
    if (rc != 0 && rc != MDB_NOTFOUND)
        return ash__read_fail(s->snap, rc, err, "cannot scan");
    /* Whoever walks by seeking would go round for ever. */
    if (row->found && op == MDB_SET_RANGE &&
        ash__bytes_compare(ash__bytes(row->key.mv_data, row->key.mv_size), asked) < 0)
        return out_of_order(err);
    return is_damaged ? judge(s, op, before.key, row, err) : 0;
}

/* The last entry before the key.  What is asked of damaged metadata is the way from the key, not
 * from where the search for it came to stand: among keys out of order that may be anywhere. */
int ash__scan_seek_before(ash_scan *s, ash_doc key, ash_row *row, ash_error *err)
{
    row->key = ash__val(key.data, key.len);
    int rc = ash__lmdb_cursor_get(s->cursor, &row->key, &row->value, MDB_SET_RANGE);
    if (rc != 0 && rc != MDB_NOTFOUND)
        return ash__read_fail(s->snap, rc, err, "cannot scan");
    /* Nothing at or behind the key: then the last of all is before it. */
    MDB_cursor_op op = rc == 0 ? MDB_PREV : MDB_LAST;
    int result = ash__scan_move(s, op, row, err);
    if (result != 0 || !atomic_load(&s->snap->engine->damaged))
        return result;
    return judge(s, op, key, row, err);
}

ash_scan *ash__scan_records(ash_snapshot *snap, const ash_coll *c, bool backward, uint64_t after)
{
    ash_scan *s = ash__new(ash_scan);
    s->snap = snap;
    s->backward = backward;
    s->last_rid = after;
    s->has_last = after != 0;
    ash__put_be32(s->prefix, c->id);
    return s;
}

static int next_record(ash_scan *s, ash_row *row, ash_error *err)
{
    uint8_t from[ASH_RECORD_KEY_BYTES];
    uint32_t id = ash__get_be32(s->prefix);
    if (s->placed)
        return ash__scan_move(s, s->backward ? MDB_PREV : MDB_NEXT, row, err);
    s->placed = true;
    if (s->backward) {
        ash__record_key(from, id, s->has_last ? s->last_rid : UINT64_MAX);
        return ash__scan_seek_before(s, ash__bytes(from, sizeof from), row, err);
    }
    ash__record_key(from, id, s->has_last ? s->last_rid + 1 : 0);
    row->key = ash__val(from, sizeof from);
    return ash__scan_move(s, MDB_SET_RANGE, row, err);
}

static int scan_records_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err)
{
    ash_row row = {.found = false};
    int rc = ash__scan_enter(s, err);
    if (rc == 0)
        rc = next_record(s, &row, err);
    *found = row.found;
    if (rc == 0 && row.found && row.key.mv_size != ASH_RECORD_KEY_BYTES)
        rc = ash__fail(err, ASH_ECORRUPT, "a record with a damaged key");
    if (rc == 0 && row.found) {
        hit->rid = ash__get_be64((const uint8_t *)row.key.mv_data + 4);
        hit->key = (ash_doc){NULL, 0};
        s->last_rid = hit->rid;
        /* Where a scan of the writer goes on, whatever becomes of this record. */
        s->has_last = true;
    }
    ash__scan_leave(s);
    return rc;
}

static int look_beside(const ash_scan *s, ash_error *err)
{
    uint8_t first[ASH_KEY_MAX];
    return ash__beside(s->snap, database_of(s), with_prefix(s, &s->from, first), err);
}

int ash__scan_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err)
{
    *found = false;
    if (s->ended)
        return 0;
    int rc = s->index != NULL ? ash__scan_index_next(s, hit, found, err)
                              : scan_records_next(s, hit, found, err);
    s->ended = rc != 0 || !*found;
    /* Of several that were asked for, a hidden one leaves a gap, which a census alone finds; of one
     * there is nothing. */
    if (rc == 0 && !s->has_last)
        rc = look_beside(s, err);
    return rc;
}

void ash__scan_free(ash_scan *s)
{
    if (s == NULL)
        return;
    if (s->cursor != NULL)
        mdb_cursor_close(s->cursor);
    ash__buffer_release(&s->from);
    ash__buffer_release(&s->to);
    ash__buffer_release(&s->last_key);
    ash__free(s->group);
    ash__free(s);
}
