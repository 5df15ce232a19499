/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor of a change stream: from its position in the change log it makes events, runs them
 * through the pipeline, and waits for commits. */

#include "store/embedded/watch/slots.h"

#include "base/budget.h"
#include "base/clock.h"
#include "query/pipeline/pipeline.h"
#include "store/embedded/kit/batch.h"
#include "store/embedded/watch/event.h"
#include "store/embedded/watch/token.h"

#include <string.h>

/* A document's own limit, and what a server adds to it. */
#define MAX_EVENT_BYTES (ASH_DOC_MAX_BYTES + 16 * 1024)

typedef struct watch_cursor {
    ash_cursor base;
    ash_embedded *store;
    ash_op op;
    char *db;   /* NULL: all */
    char *coll; /* NULL: all of the database */
    ash_env env;
    ash_event_wishes wishes;
    ash_pipeline *pipeline; /* or NULL */
    ash_matcher *match;     /* the pipeline's leading filter, or NULL */
    ash_doc fed;            /* the event given to the pipeline; data NULL: it was taken */
    int64_t await_ms;
    uint64_t after;       /* every change up to this time was looked at */
    uint64_t invalidated; /* an invalidate event for the change of this time is due; 0: none */
    int64_t invalidated_ms;
    bool exhausted;
    ash_builder event;
    ash_builder token;
    ash_batch_memory batch;
} watch_cursor;

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* What a server keeps to itself (users, for one) is told only to who watches just that. */
static bool is_own(const char *coll)
{
    return coll != NULL && strncmp(coll, "system.", strlen("system.")) == 0;
}

static bool concerns(const watch_cursor *c, const ash_entry *e)
{
    if (c->coll == NULL && (is_own(e->coll) || is_own(e->to_coll)))
        return false;
    if (ash__entry_is_expanded(e) && !c->wishes.expanded)
        return false;
    if (c->db == NULL)
        return true;
    /* What is renamed to a name that is watched concerns its watcher as well. */
    if (e->kind == ASH_CHANGE_RENAME && same(c->db, e->to_db) &&
        (c->coll == NULL || same(c->coll, e->to_coll)))
        return true;
    return same(c->db, e->db) && (c->coll == NULL || same(c->coll, e->coll));
}

static bool invalidates(const watch_cursor *c, const ash_entry *e)
{
    if (c->coll != NULL)
        return e->kind == ASH_CHANGE_DROP || e->kind == ASH_CHANGE_RENAME;
    return c->db != NULL && e->kind == ASH_CHANGE_DROP_DATABASE;
}

static int feed(void *ctx, ash_doc *out, ash_error *err)
{
    watch_cursor *c = ctx;
    (void)err;
    *out = c->fed;
    c->fed = (ash_doc){NULL, 0};
    return 0;
}

static void nothing_to_free(void *ctx)
{
    (void)ctx;
}

static bool same_value(ash_value a, ash_value b)
{
    return a.type == b.type && a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* *fits false: it has to wait for the next batch. */
static int deliver(watch_cursor *c, bool *fits, ash_error *err)
{
    ash_doc doc = ash__builder_doc(&c->event);
    *fits = true;
    bool wanted = true;
    int result = c->match == NULL ? 0 : ash__matcher_check(c->match, doc, NULL, &wanted, err);
    if (result != 0 || !wanted)
        return result;
    if (c->pipeline != NULL) {
        c->fed = doc;
        int rc = ash__pipeline_next(c->pipeline, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        /* A client resumes by the last _id that it saw. */
        if (!same_value(ash__doc_get(doc, "_id"), ash__doc_get(ash__builder_doc(&c->event), "_id")))
            return ash__fail_server(err, ASH_EINTERNAL, ASH_MONGO_CHANGE_STREAM_FATAL_ERROR,
                                    "the pipeline changed or removed the event's _id, which "
                                    "resuming needs");
    }
    if (doc.len > MAX_EVENT_BYTES)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_BSON_OBJECT_TOO_LARGE,
                                "an event of %zu bytes is larger than a document may be; a "
                                "projection can make it smaller",
                                (size_t)doc.len);
    *fits = ash__batch_memory_fits(&c->batch, doc.len);
    if (*fits)
        ash__batch_memory_add_copy(&c->batch, doc);
    return 0;
}

static int deliver_invalidate(watch_cursor *c, ash_error *err)
{
    bool fits = true;
    ash__event_build_invalidate(c->invalidated, c->invalidated_ms, &c->event);
    int rc = deliver(c, &fits, err);
    if (rc == 0 && fits)
        c->exhausted = true;
    return rc;
}

static int deliver_entry(watch_cursor *c, ash_snapshot *snap, const ash_entry *e, bool *fits,
                         ash_error *err)
{
    int rc = ash__event_build(snap, e, &c->wishes, &c->event, err);
    if (rc == 0)
        rc = deliver(c, fits, err);
    if (rc == 0 && *fits && invalidates(c, e)) {
        /* The invalidate event is made behind this one, for which the batch may have no room. */
        c->invalidated = e->time;
        c->invalidated_ms = ash__entry_wall_ms(e);
    }
    return rc;
}

/* The store keeps at least one entry older than any that was not yet looked at, unless it had to
 * throw away some of those. */
static int check_history(ash_snapshot *snap, uint64_t after, ash_error *err)
{
    uint64_t oldest;
    uint64_t newest;
    int rc = ash__oplog_bounds(snap, &oldest, &newest, err);
    if (rc == 0 && oldest > after)
        rc = ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_CHANGE_STREAM_HISTORY_LOST,
                              "resume of change stream was not possible, as the resume point may "
                              "no longer be in the change log");
    return rc;
}

static int fill_from_view(watch_cursor *c, ash_snapshot *snap, ash_error *err)
{
    int rc = check_history(snap, c->after, err);
    for (uint32_t n = 0; rc == 0 && !c->exhausted && !ash__batch_memory_is_full(&c->batch); n++) {
        ash_entry e;
        ash_doc doc;
        uint64_t time;
        bool found = false;
        bool known = false;
        bool fits = true;
        /* Behind the event that ended the stream, in the next batch if need be. */
        if (c->invalidated != 0)
            return deliver_invalidate(c, err);
        /* Streams of one collection pass over the entries of all others. */
        rc = n % 100 == 0 ? ash__op_check(&c->op, err) : 0;
        if (rc == 0)
            rc = ash__oplog_next(snap, c->after, &time, &doc, &found, err);
        if (rc != 0 || !found)
            return rc;
        rc = ash__entry_read(doc, time, &e, &known, err);
        if (rc == 0 && known && concerns(c, &e))
            rc = deliver_entry(c, snap, &e, &fits, err);
        /* c->after stays: the entry is read again for the next batch. */
        if (rc != 0 || !fits)
            return rc;
        c->after = time;
    }
    return rc;
}

static int look(watch_cursor *c, ash_error *err)
{
    ash_snapshot *snap = NULL;
    int rc = ash__op_check(&c->op, err);
    if (rc == 0)
        rc = ash__snapshot_open(c->store->engine, &snap, err);
    if (rc != 0)
        return rc;
    ash_budget outer = ash__budget_enter(c->op.deadline_ms, c->op.cancel, 0);
    rc = fill_from_view(c, snap, err);
    ash__budget_leave(outer);
    ash__snapshot_close(snap);
    return rc;
}

/* Where the batch ends.  Only the token of the event that ends the stream brings the invalidate
 * event: a stream may also begin behind it. */
static enum ash_token_kind token_kind(const watch_cursor *c)
{
    if (c->invalidated == 0)
        return ASH_TOKEN_PAST;
    return c->exhausted ? ASH_TOKEN_INVALIDATE : ASH_TOKEN_EVENT;
}

static int watch_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                            ash_error *err)
{
    watch_cursor *c = (watch_cursor *)(void *)cursor;
    int64_t until = ash__clock_ms() + c->await_ms;
    if (c->op.deadline_ms != 0 && c->op.deadline_ms < until)
        until = c->op.deadline_ms;
    ash__batch_memory_begin(&c->batch, max_docs, max_bytes);
    int rc = c->exhausted ? 0 : look(c, err);
    while (rc == 0 && !c->exhausted && c->batch.count == 0 && c->await_ms > 0 &&
           ash__clock_ms() < until) {
        if (!ash__oplog_wait(c->store->engine, c->after, until, c->op.cancel)) {
            if (ash__is_cancelled(c->op.cancel))
                rc = ash__op_check(&c->op, err);
            break;
        }
        rc = look(c, err);
    }
    ash__batch_memory_give(&c->batch, c->exhausted, out);
    /* With every batch, also an empty one: a client that resumes need not pass over what was of no
     * concern. */
    ash__builder_begin(&c->token);
    ash__token_append(&c->token, "t", c->after, token_kind(c));
    ash__builder_end(&c->token);
    out->resume_token = ash__value_doc(ash__doc_get(ash__builder_doc(&c->token), "t"));
    return rc;
}

static void watch_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                         int64_t await_ms)
{
    watch_cursor *c = (watch_cursor *)(void *)cursor;
    c->op.deadline_ms = deadline_ms;
    c->op.cancel = cancel;
    c->env.query.cancelled = cancel;
    c->env.query.deadline_ms = deadline_ms;
    if (await_ms >= 0)
        c->await_ms = await_ms;
}

static void watch_rest(ash_cursor *cursor)
{
    ash__batch_memory_rest(&((watch_cursor *)(void *)cursor)->batch);
}

static void watch_free(ash_cursor *cursor)
{
    watch_cursor *c = (watch_cursor *)(void *)cursor;
    ash__matcher_free(c->match);
    ash__pipeline_free(c->pipeline);
    ash__env_release(&c->env);
    ash__builder_release(&c->event);
    ash__builder_release(&c->token);
    ash__batch_memory_release(&c->batch);
    ash__free(c->db);
    ash__free(c->coll);
    ash__free(c);
}

static const ash_cursor_ops watch_ops = {
    .next_batch = watch_next_batch,
    .set_op = watch_set_op,
    .rest = watch_rest,
    .free = watch_free,
};

/* ---- opening ---- */

/* *out: which of the names text is, NULL the first. */
static int read_choice(const char *option, const char *text, const char *const *names,
                       unsigned count, unsigned *out, ash_error *err)
{
    *out = 0;
    for (unsigned i = 0; text != NULL && i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    return text == NULL
               ? 0
               : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                  "Enumeration value '%.60s' for field '$changeStream.%s' is not "
                                  "a valid value.",
                                  text, option);
}

static int read_wishes(const ash_watch_options *opts, ash_event_wishes *out, ash_error *err)
{
    static const char *const fulls[] = {"default", "updateLookup", "whenAvailable", "required"};
    static const char *const befores[] = {"off", "whenAvailable", "required"};
    unsigned full = 0, before = 0;
    int rc =
        read_choice("fullDocument", opts->full_document, fulls, ASH_ARRAY_LEN(fulls), &full, err);
    if (rc == 0)
        rc = read_choice("fullDocumentBeforeChange", opts->full_document_before_change, befores,
                         ASH_ARRAY_LEN(befores), &before, err);
    *out = (ash_event_wishes){.full = (enum ash_full_document)full,
                              .before = (enum ash_full_before)before,
                              .expanded = opts->expanded_events};
    return rc;
}

static int compile_pipeline(watch_cursor *c, const bson_t *stages, ash_error *err)
{
    ash_pipeline_host none = {0};
    if (stages == NULL || bson_empty(stages))
        return 0;
    int rc = ash__pipeline_new(stages, &c->env.query, &none, &c->pipeline, err);
    if (rc != 0)
        return rc;
    const ash_pipeline_head *head = ash__pipeline_head(c->pipeline);
    /* A stream has no end at which anything could be sorted or grouped. */
    if (!ash__pipeline_is_streaming(c->pipeline) || head->is_coll_stats || head->has_write_out ||
        head->is_change_stream || head->skip != 0 || head->limit != 0 || !bson_empty(&head->sort))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_ILLEGAL_OPERATION,
                                "only stages that filter or map events are allowed in a change "
                                "stream's pipeline");
    ash__pipeline_start(c->pipeline, (ash_source){c, feed, nothing_to_free});
    return bson_empty(&head->match) ? 0
                                    : ash__matcher_new(&head->match, &c->env.query, &c->match, err);
}

/* The change a token names may itself have ended the stream: then that is said first. */
static int look_at_named(watch_cursor *c, ash_snapshot *snap, ash_error *err)
{
    ash_entry e;
    ash_doc doc;
    uint64_t time;
    bool found = false;
    bool known = false;
    int rc = ash__oplog_next(snap, c->after - 1, &time, &doc, &found, err);
    if (rc != 0 || !found || time != c->after)
        return rc;
    rc = ash__entry_read(doc, time, &e, &known, err);
    if (rc == 0 && known && concerns(c, &e) && invalidates(c, &e)) {
        c->invalidated = time;
        c->invalidated_ms = ash__entry_wall_ms(&e);
    }
    return rc;
}

static int find_start(watch_cursor *c, const ash_watch_options *opts, ash_snapshot *snap,
                      ash_error *err)
{
    const bson_t *token = opts->resume_after != NULL ? opts->resume_after : opts->start_after;
    enum ash_token_kind kind = ASH_TOKEN_EVENT;
    uint64_t oldest;
    int given = (opts->resume_after != NULL) + (opts->start_after != NULL) +
                (opts->start_at_operation_time != 0);
    if (given > 1)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_RESUME_POINT_TWICE,
                                "only one of resumeAfter, startAfter and startAtOperationTime may "
                                "be given");
    /* From now on. */
    if (given == 0)
        return ash__oplog_bounds(snap, &oldest, &c->after, err);
    if (token == NULL) {
        /* That very time is included; c->after is what was looked at. */
        c->after = opts->start_at_operation_time - 1;
        return check_history(snap, c->after, err);
    }
    int rc = ash__token_parse(ash__doc_from_bson(token), &c->after, &kind, err);
    /* There is nothing behind the end; startAfter begins a new stream there. */
    if (rc == 0 && kind == ASH_TOKEN_INVALIDATE && opts->resume_after != NULL)
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_RESUME_TOKEN,
                              "attempting to resume a change stream using 'resumeAfter' is not "
                              "allowed from an invalidate notification");
    if (rc == 0)
        rc = check_history(snap, c->after, err);
    if (rc == 0 && kind == ASH_TOKEN_EVENT && c->after > 0)
        rc = look_at_named(c, snap, err);
    return rc;
}

static int open_watch(watch_cursor *c, const ash_watch_options *opts, ash_error *err)
{
    ash_snapshot *snap = NULL;
    int rc = read_wishes(opts, &c->wishes, err);
    if (rc == 0)
        rc = compile_pipeline(c, opts->pipeline, err);
    if (rc == 0)
        rc = ash__snapshot_open(c->store->engine, &snap, err);
    if (rc != 0)
        return rc;
    rc = find_start(c, opts, snap, err);
    ash__snapshot_close(snap);
    return rc;
}

int ash__embedded_watch(ash_store *store, ash_ns ns, const ash_watch_options *opts,
                        ash_cursor **out, ash_error *err)
{
    ash_embedded *s = ash__embedded(store);
    if (opts->op.transaction != NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED,
                                ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                                "change streams cannot be opened in a transaction");
    watch_cursor *c = ash__new(watch_cursor);
    c->base.ops = &watch_ops;
    c->base.store = store;
    c->store = s;
    c->op = opts->op;
    c->db = ns.db != NULL ? ash__strdup(ns.db) : NULL;
    c->coll = ns.coll != NULL ? ash__strdup(ns.coll) : NULL;
    c->await_ms = opts->max_await_ms > 0 ? opts->max_await_ms : 1000;
    ash__batch_memory_init(&c->batch, s);
    int rc = ash__env_init(s, &opts->op, NULL, NULL, &c->env, err);
    /* Before a token is given out. */
    ash__oplog_watched(s->engine);
    if (rc == 0)
        rc = open_watch(c, opts, err);
    if (rc != 0) {
        watch_free(&c->base);
        return rc;
    }
    *out = &c->base;
    return 0;
}
