/* SPDX-License-Identifier: Apache-2.0 */
/* A store's cursor as an answer: how much of it goes into one, what waits for more, and what is
 * left for the next command; and small things that handlers share. */
#include "wire/cmd.h"

#include "base/clock.h"
#include "net/stream.h"
#include "store/ops.h"
#include "wire/text.h"

#include <string.h>

enum {
    FIRST_BATCH_DOCS = 101, /* MongoDB's, unless the client says another number */
    AWAIT_SLICE_MS = 500
};

void ash__reply_fields(ash_command *c, const bson_t *doc)
{
    ash__builder_elements(&c->reply->body, ash__doc_from_bson(doc));
}

void ash__reply_op_time(ash_command *c, const char *name, uint64_t time)
{
    ash_builder *b = &c->reply->body;
    ash__builder_begin_doc(b, name);
    ash__builder_timestamp(b, "ts", time);
    ash__builder_int64(b, "t", 1);
    ash__builder_end(b);
}

/* The suites' fail point is of transactional writes, and a retryable one is one to a server. */
static bool may_fail_write(const ash_command *c)
{
    return c->retryable && c->server->opts.test_commands;
}

int ash__command_fail_write(ash_command *c, ash_error *err)
{
    bool close;
    ash_failpoint *f = &c->server->write_failpoint;
    int32_t code = may_fail_write(c) ? ash__failpoint_code(f, "failBeforeCommitExceptionCode") : 0;
    if (code == 0 || !ash__failpoint_hit_plain(f, true, &close))
        return 0;
    c->reply->close = c->reply->close || close;
    return ash__fail_server(err, ash__code_from_server(code), code,
                            "Failing write via 'onPrimaryTransactionalWrite' failpoint");
}

void ash__command_wrote(ash_command *c)
{
    bool close;
    ash_failpoint *f = &c->server->write_failpoint;
    if (may_fail_write(c) && ash__failpoint_code(f, "failBeforeCommitExceptionCode") == 0 &&
        ash__failpoint_hit_plain(f, true, &close))
        c->reply->close = c->reply->close || close;
}

bool ash__error_ends_command(const ash_error *err)
{
    return err->code == ASH_ETIMEOUT || err->code == ASH_EINTERRUPTED ||
           err->code == ASH_ENETWORK || ash_error_server_code(err) == ASH_MONGO_TRANSACTION_TOO_OLD;
}

/* Small, so that the answer takes a copy. */
static void add_name_only(ash_reply *r, ash_doc doc)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_value(&b, "name", ash__doc_get(doc, "name"));
    ash__builder_value(&b, "type", ash__doc_get(doc, "type"));
    ash__builder_end(&b);
    ash__reply_add_item(r, ash__builder_doc(&b));
    ash__builder_release(&b);
}

/* In the place of a document that cannot be read, for who asked for it. */
static void add_damage(ash_reply *r, const ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "$ashlarDamage");
    ash__builder_int32(&b, "code", ash_error_server_code(err));
    ash__wire_text(&b, "errmsg", err->text);
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash__reply_copy_item(r, ash__builder_doc(&b));
    ash__builder_release(&b);
}

/* How much one answer may hold: enough to keep the network busy while the next one is asked for,
 * and not more, because clients take new memory for each answer, which for 16 MiB costs them
 * several times as long as reading it does.  4 GB/s is what loopback does. */
static size_t batch_bytes(const ash_command *c)
{
    enum { LEAST = 1024 * 1024, BYTES_A_US = 4000 };
    int64_t bytes = ash__stream_round_trip_us(&c->connection->peer.stream) * BYTES_A_US;
    return bytes < LEAST ? LEAST : bytes > ASH_DOC_MAX_BYTES ? ASH_DOC_MAX_BYTES : (size_t)bytes;
}

/* Like ash_cursor_next_batch, waiting for documents in slices: news wake the store, but neither a
 * killed operation nor a client that hung up does. */
static int wait_for_batch(ash_command *c, size_t max_docs, size_t max_bytes, ash_batch *batch,
                          ash_error *err)
{
    const ash_wire_cursor *w = c->reply->cursor;
    int64_t until = ash__clock_ms() + c->await_ms;
    for (;;) {
        int64_t left = until - ash__clock_ms();
        if (c->await_ms > 0)
            ash_cursor_set_op(w->cursor, 0, c->op.cancel,
                              left < AWAIT_SLICE_MS ? (left > 0 ? left : 0) : AWAIT_SLICE_MS);
        int rc = ash_cursor_next_batch(w->cursor, max_docs, max_bytes, batch, err);
        /* Somebody still waits, and his time is not over: look whether he is there. */
        if (rc != 0 || batch->count > 0 || batch->exhausted || left <= AWAIT_SLICE_MS)
            return rc;
        if (ash__is_cancelled(c->op.cancel) || ash__stream_hung_up(&c->connection->peer.stream))
            return ash__fail(err, ASH_EINTERRUPTED, "operation was interrupted");
    }
}

static int64_t room_deadline(const ash_command *c)
{
    return ash__clock_deadline(c->server->opts.message_timeout_ms);
}

/* A batch of at most max_docs documents (0: no limit), and room in the answer for it. */
static int fetch(ash_command *c, size_t max_docs, bool single, ash_batch *batch, ash_error *err)
{
    size_t max_bytes = single ? ASH_DOC_MAX_BYTES : batch_bytes(c);
    int rc = 0;
    /* Its documents may be made for it: who waits for room for so many must not hold them yet. */
    if (single && max_docs != 1)
        rc = ash__reply_claim(c->reply, ASH_DOC_MAX_BYTES, room_deadline(c), err);
    if (rc == 0)
        rc = wait_for_batch(c, max_docs, max_bytes, batch, err);
    if (rc == 0)
        rc = ash__reply_claim_items(c->reply, batch->docs, batch->count, room_deadline(c), err);
    return rc;
}

/* Fetch a batch of the answer's cursor and put it there; *more: the cursor may give others. */
static int fill(ash_command *c, int64_t batch_size, bool single, ash_batch *batch, bool *more,
                ash_error *err)
{
    ash_wire_cursor *w = c->reply->cursor;
    size_t max_docs = batch_size > 0 ? (size_t)batch_size : 0;
    if (w->limit_left > 0 && (max_docs == 0 || max_docs > (size_t)w->limit_left))
        max_docs = (size_t)w->limit_left;
    int64_t started_ms = ash__clock_ms();
    int rc = fetch(c, max_docs, single, batch, err);
    bool damaged = rc == ASH_ECORRUPT && w->past_damage;
    /* As far as the store told: the error becomes a document, and the cursor goes on behind it. */
    if (damaged) {
        add_damage(c->reply, err);
        *batch = (ash_batch){0};
    } else if (rc != 0) {
        return rc;
    }
    if (w->time_left_ms > 0) {
        w->time_left_ms -= ash__clock_ms() - started_ms;
        /* Used up; 0 would mean that there is no limit. */
        if (w->time_left_ms <= 0)
            w->time_left_ms = 1;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (w->name_only)
            add_name_only(c->reply, batch->docs[i]);
        else
            ash__reply_add_item(c->reply, batch->docs[i]);
    }
    if (w->limit_left > 0)
        w->limit_left -= (int64_t)batch->count;
    /* An empty batch is the end of all but tailable cursors; one that tells of damage has no
     * documents and ends nothing. */
    *more = !batch->exhausted && w->limit_left != 0 && (batch->count > 0 || damaged || w->tailable);
    return 0;
}

/* What later commands on the cursor go by. */
static ash_wire_cursor *make_cursor(ash_command *c, ash_cursor *cursor, const ash_first_batch *how)
{
    ash_wire_cursor *w = ash__wire_cursor_new(cursor, how->ns);
    w->has_session = c->has_session;
    w->connection_id = c->connection->peer.id;
    w->session = c->session;
    w->who = c->connection->access.who;
    w->no_timeout = how->no_timeout;
    w->tailable = how->tailable;
    w->awaits = how->awaits;
    w->changes = how->changes;
    w->name_only = how->name_only;
    w->past_damage = how->past_damage;
    w->limit_left = how->limit > 0 ? how->limit : -1;
    w->time_left_ms = c->max_time_ms;
    w->await_ms = how->await_ms;
    return w;
}

/* Nothing of a transaction stays open between two commands: all that the cursor finds is the
 * answer, copied, because views end with the transaction. */
static int reply_whole(ash_command *c, ash_cursor *cursor, const char *ns, ash_error *err)
{
    ash_batch batch = {0};
    size_t bytes = 0;
    int rc;
    ash_cursor_set_op(cursor, c->op.deadline_ms, c->op.cancel, 0);
    do {
        rc = ash_cursor_next_batch(cursor, 0, ASH_DOC_MAX_BYTES, &batch, err);
        for (size_t i = 0; rc == 0 && i < batch.count; i++) {
            bytes += batch.docs[i].len;
            if (bytes > ASH_DOC_MAX_BYTES)
                rc = ash__fail(err, ASH_ETOOBIG,
                               "one operation of a transaction may find at most %d bytes",
                               ASH_DOC_MAX_BYTES);
            else
                ash__reply_copy_item(c->reply, batch.docs[i]);
        }
    } while (rc == 0 && batch.count > 0 && !batch.exhausted);
    if (rc == 0)
        ash__reply_cursor(c->reply, "firstBatch", 0, ns, (ash_doc){NULL, 0});
    ash_cursor_free(cursor);
    return rc;
}

/* Into the table.  A session that ends takes its cursors out of there after it is gone itself:
 * whoever still finds it here may be sure that this one will be among them. */
static int keep_cursor(ash_command *c, ash_wire_cursor *w, ash_error *err)
{
    int rc = ash__cursors_add(c->server->cursors, w, &c->connection->operation.cancel, err);
    if (rc == 0 && w->has_session && !ash__sessions_exists(c->server->sessions, &w->session))
        rc = ash__fail(err, ASH_EINTERRUPTED, "the session ended before its cursor was open");
    return rc;
}

int ash__reply_first_batch(ash_command *c, ash_cursor *cursor, const ash_first_batch *how,
                           ash_error *err)
{
    if (c->op.transaction != NULL)
        return reply_whole(c, cursor, how->ns, err);
    ash_batch batch = {0};
    bool more = true;
    int rc = 0;
    ash_wire_cursor *w = make_cursor(c, cursor, how);
    /* From here on the connection frees it or gives it back, whatever fails (give_cursor_back). */
    c->reply->cursor = w;
    c->reply->at_time = c->op.at_time;
    /* The first batch tells what there is and never waits for more. */
    ash_cursor_set_op(cursor, c->op.deadline_ms, c->op.cancel, 0);
    /* batchSize 0 asks for the cursor and no documents. */
    if (how->batch_size != 0)
        rc = fill(c, how->batch_size < 0 ? FIRST_BATCH_DOCS : how->batch_size, how->single, &batch,
                  &more, err);
    c->reply->keep_cursor = rc == 0 && more && !how->single;
    if (c->reply->keep_cursor)
        rc = keep_cursor(c, w, err);
    if (rc == 0)
        ash__reply_cursor(c->reply, "firstBatch", w->id, w->ns, batch.resume_token);
    return rc;
}

int ash__reply_next_batch(ash_command *c, ash_wire_cursor *w, int64_t batch_size, ash_error *err)
{
    ash_batch batch = {0};
    bool more = false;
    c->reply->cursor = w;
    int rc = fill(c, batch_size, false, &batch, &more, err);
    if (rc != 0)
        return rc;
    c->reply->keep_cursor = more;
    ash__reply_cursor(c->reply, "nextBatch", more ? w->id : 0, w->ns, batch.resume_token);
    return 0;
}
