/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors of the driver, in batches of ours. */

#include "store/mongo/driver.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

#include <limits.h>
#include <string.h>

/* The driver's documents live until its next step, so a batch is copied into `bytes`; a batch of
 * one is not. */
struct mongo_cursor {
    ash_cursor base;
    ash_mongo_call call;
    ash_op op;
    mongoc_cursor_t *driver;        /* one of these two … */
    mongoc_change_stream_t *stream; /* … */
    bool waits;                     /* tailable or a stream: each step of the driver may wait */
    const bson_t *pending;          /* taken from the driver, not handed out yet */
    bool past_damage;               /* the server puts what it cannot read into batches */
    ash_error damage;               /* … which is told next, where there is a code */
    bool invalidated;               /* a stream's last event was handed out */
    bool ended;
    ash_buffer bytes;
    ash_doc *docs;
    size_t count;
    size_t capacity;
};

static void let_go(struct mongo_cursor *c)
{
    if (c->driver != NULL)
        mongoc_cursor_destroy(c->driver);
    if (c->stream != NULL)
        mongoc_change_stream_destroy(c->stream);
    c->driver = NULL;
    c->stream = NULL;
    c->pending = NULL;
    ash__mongo_call_end(&c->call);
}

static int fail_step(struct mongo_cursor *c, const bson_t *reply, ash_error *err)
{
    /* The labels in it say whether a transaction may be tried again. */
    if (reply != NULL) {
        bson_destroy(&c->call.reply);
        bson_copy_to(reply, &c->call.reply);
    }
    return ash__mongo_call_fail(&c->call, err);
}

/* c->pending: the driver's next document, NULL when there is none (now, or ever: c->ended). */
static int ask_driver(struct mongo_cursor *c, ash_error *err)
{
    const bson_t *reply = NULL;

    c->pending = NULL;
    if (c->stream != NULL) {
        if (mongoc_change_stream_next(c->stream, &c->pending))
            return 0;
        if (mongoc_change_stream_error_document(c->stream, &c->call.error, &reply))
            return fail_step(c, reply, err);
        return 0;
    }
    if (mongoc_cursor_next(c->driver, &c->pending))
        return 0;
    if (mongoc_cursor_error_document(c->driver, &c->call.error, &reply))
        return fail_step(c, reply, err);
    /* No document now is not the end of a tailable cursor. */
    c->ended = !mongoc_cursor_more(c->driver);
    return 0;
}

/* Our server tells of a document that it cannot read in its place. */
static void note_damage(struct mongo_cursor *c)
{
    bson_iter_t it, text;
    if (!c->past_damage || c->pending == NULL || !bson_iter_init(&it, c->pending) ||
        !bson_iter_next(&it) || strcmp(bson_iter_key(&it), "$ashlarDamage") != 0)
        return;
    bool told = BSON_ITER_HOLDS_DOCUMENT(&it) && bson_iter_recurse(&it, &text) &&
                bson_iter_find(&text, "errmsg") && BSON_ITER_HOLDS_UTF8(&text);
    ash__fail(&c->damage, ASH_ECORRUPT, "%s",
              told ? bson_iter_utf8(&text, NULL) : "a document cannot be read");
    c->pending = NULL;
}

static int tell_damage(struct mongo_cursor *c, ash_error *err)
{
    ash_error told = c->damage;
    c->damage = (ash_error)ASH_ERROR_INIT;
    if (err != NULL)
        *err = told;
    return told.code;
}

static int step(struct mongo_cursor *c, ash_error *err)
{
    int rc;
    ash__mongo_call_limit(&c->call, &c->op);
    rc = ask_driver(c, err);
    ash__mongo_call_limit(&c->call, NULL);
    /* Each document, for it came from a socket and nobody behind here looks again. */
    if (rc == 0 && c->pending != NULL)
        rc = ash__mongo_check(c->pending, err);
    if (rc != 0)
        c->pending = NULL;
    note_damage(c);
    return rc;
}

static void keep_pending(struct mongo_cursor *c)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity > 0 ? c->capacity * 2 : 16;
        c->docs = ash__realloc_array(c->docs, c->capacity, sizeof *c->docs);
    }
    c->docs[c->count++].len = c->pending->len;
    ash__buffer_append(&c->bytes, bson_get_data(c->pending), c->pending->len);
    c->pending = NULL;
}

/* The bytes may have moved while they grew, so the views are set last. */
static void set_views(struct mongo_cursor *c)
{
    const uint8_t *at = c->bytes.data;
    for (size_t i = 0; i < c->count; i++) {
        c->docs[i].data = at;
        at += c->docs[i].len;
    }
}

static int fill(struct mongo_cursor *c, size_t max_docs, size_t max_bytes, ash_error *err)
{
    while (c->count < max_docs && !c->ended) {
        int rc = ash__op_check(&c->op, err);
        if (rc == 0 && c->pending == NULL && c->damage.code == 0)
            rc = step(c, err);
        if (rc != 0)
            return c->count > 0 ? 0 : rc; /* it will be the same next time */
        if (c->damage.code != 0)
            return c->count > 0 ? 0 : tell_damage(c, err);
        if (c->pending == NULL)
            break;
        if (c->count > 0 &&
            (c->bytes.len >= max_bytes || c->pending->len > max_bytes - c->bytes.len))
            break;
        keep_pending(c);
    }
    return 0;
}

/* The last event of a stream.  The driver would take what follows for a broken connection, and
 * start over. */
static bool is_invalidate(const bson_t *event)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, event, "operationType") && BSON_ITER_HOLDS_UTF8(&it) &&
           strcmp(bson_iter_utf8(&it, NULL), "invalidate") == 0;
}

static int next_single(struct mongo_cursor *c, ash_batch *out, ash_error *err)
{
    int rc = ash__op_check(&c->op, err);
    /* Behind the invalidate event the end is not asked for (is_invalidate). */
    if (c->invalidated)
        c->ended = true;
    else if (rc == 0 && c->pending == NULL && c->damage.code == 0)
        rc = step(c, err);
    if (rc == 0 && c->damage.code != 0)
        rc = tell_damage(c, err);
    if (rc != 0)
        return rc;
    if (c->pending != NULL) {
        c->invalidated = c->stream != NULL && is_invalidate(c->pending);
        if (c->capacity == 0) {
            c->capacity = 1;
            c->docs = ash__alloc_array(1, sizeof *c->docs);
        }
        c->docs[0] = (ash_doc){bson_get_data(c->pending), c->pending->len};
        c->count = 1;
        c->pending = NULL;
    }
    out->docs = c->docs;
    out->count = c->count;
    return 0;
}

static void set_resume_token(struct mongo_cursor *c, ash_batch *out)
{
    const bson_t *token = mongoc_change_stream_get_resume_token(c->stream);
    if (token != NULL)
        out->resume_token = (ash_doc){bson_get_data(token), token->len};
}

static int mongo_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                            ash_error *err)
{
    struct mongo_cursor *c = (struct mongo_cursor *)cursor;
    int rc = 0;

    *out = (ash_batch){0};
    c->count = 0;
    ash__buffer_clear(&c->bytes);
    if (c->ended) {
        out->exhausted = true;
        return 0;
    }
    /* Whoever waits is given each document as it comes. */
    if (c->waits || max_docs == 1) {
        rc = next_single(c, out, err);
    } else {
        rc = fill(c, max_docs, max_bytes, err);
        set_views(c);
        out->docs = c->docs;
        out->count = c->count;
    }
    if (rc == 0 && c->stream != NULL && !c->ended)
        set_resume_token(c, out);
    out->exhausted = c->ended;
    /* The connection serves others from now on. */
    if (c->ended)
        let_go(c);
    return rc;
}

static void mongo_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                         int64_t await_ms)
{
    struct mongo_cursor *c = (struct mongo_cursor *)cursor;
    c->op.deadline_ms = deadline_ms;
    c->op.cancel = cancel;
    /* A change stream keeps the wait it was opened with. */
    if (await_ms >= 0 && c->driver != NULL && c->waits)
        mongoc_cursor_set_max_await_time_ms(c->driver, await_ms < UINT32_MAX ? (uint32_t)await_ms
                                                                             : UINT32_MAX);
}

static void mongo_rest(ash_cursor *cursor)
{
    struct mongo_cursor *c = (struct mongo_cursor *)cursor;
    ash__buffer_release(&c->bytes);
    c->count = 0;
}

static void mongo_free(ash_cursor *cursor)
{
    struct mongo_cursor *c = (struct mongo_cursor *)cursor;
    let_go(c);
    ash__buffer_release(&c->bytes);
    ash__free(c->docs);
    ash__free(c);
}

static const ash_cursor_ops cursor_ops = {
    .next_batch = mongo_next_batch,
    .set_op = mongo_set_op,
    .rest = mongo_rest,
    .free = mongo_free,
};

static struct mongo_cursor *new_cursor(ash_mongo_call *call, bool waits)
{
    struct mongo_cursor *c = ash__new(struct mongo_cursor);
    c->base.ops = &cursor_ops;
    c->base.store = &call->store->base;
    c->waits = waits;
    c->op = *call->op;
    c->call = *call;
    c->call.op = &c->op; /* the caller's is gone by the next batch */
    bson_init(&c->call.opts);
    bson_init(&c->call.reply);
    bson_destroy(&call->opts);
    bson_destroy(&call->reply);
    ash__mongo_call_limit(&c->call, NULL);
    return c;
}

int ash__mongo_cursor_new(ash_mongo_call *call, mongoc_cursor_t *driver, bool tailable,
                          ash_cursor **out, ash_error *err)
{
    bool past_damage = bson_has_field(&call->opts, "ashlarPastDamage");
    struct mongo_cursor *c = new_cursor(call, tailable);
    c->past_damage = past_damage;
    int rc = 0;

    c->driver = driver;
    /* The first step sends the command, so what is wrong with it shows now; but the first step of a
     * tailable cursor also waits for documents. */
    if (!tailable)
        rc = step(c, err);
    if (rc == 0 && c->ended)
        let_go(c);
    if (rc != 0)
        mongo_free(&c->base);
    else
        *out = &c->base;
    return rc;
}

int ash__mongo_stream_new(ash_mongo_call *call, mongoc_change_stream_t *stream, ash_cursor **out,
                          ash_error *err)
{
    struct mongo_cursor *c = new_cursor(call, true);
    const bson_t *reply = NULL;

    c->stream = stream;
    if (mongoc_change_stream_error_document(stream, &c->call.error, &reply)) {
        int rc = fail_step(c, reply, err);
        mongo_free(&c->base);
        return rc;
    }
    *out = &c->base;
    return 0;
}
