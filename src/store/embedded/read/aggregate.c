/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: what leads them is read by a find's cursor, with its indexes, and the rest runs over
 * that; $changeStream becomes a watch instead. */

#include "store/embedded/read/aggregate.h"

#include "base/budget.h"
#include "store/embedded/find/cursor.h"
#include "store/embedded/read/slots.h"
#include "store/embedded/read/views.h"
#include "store/embedded/watch/slots.h"

typedef struct agg_cursor {
    ash_cursor base;
    ash_agg_host host;
    ash_env env;
    bson_t collation; /* the operation's own, kept for $lookup */
    ash_pipeline *pipeline;
    ash_pipeline_memory memory; /* in use unless it runs for another one */
    ash_batch_memory batch;
    ash_cursor *input;  /* of the pipeline's source, which owns it; or NULL */
    ash_buffer pending; /* a document that did not fit the last batch */
    bool exhausted;
} agg_cursor;

static int next_document(agg_cursor *c, ash_doc *out, ash_error *err)
{
    if (c->pending.len == 0)
        return ash__pipeline_next(c->pipeline, out, err);
    *out = (ash_doc){c->pending.data, c->pending.len};
    return 0;
}

static int agg_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                          ash_error *err)
{
    agg_cursor *c = (agg_cursor *)(void *)cursor;
    int rc = 0;
    ash_budget outer = ash__budget_enter(c->host.op.deadline_ms, c->host.op.cancel, 0);
    ash__batch_memory_begin(&c->batch, max_docs, max_bytes);
    while (rc == 0 && !c->exhausted && !ash__batch_memory_is_full(&c->batch)) {
        ash_doc doc;
        rc = ash__op_check(&c->host.op, err);
        if (rc == 0)
            rc = next_document(c, &doc, err);
        if (rc != 0)
            break;
        if (doc.data == NULL) {
            c->exhausted = true;
            break;
        }
        /* The pipeline cannot take it back. */
        if (!ash__batch_memory_fits(&c->batch, doc.len)) {
            ash__buffer_append(&c->pending, doc.data, doc.len);
            break;
        }
        ash__batch_memory_add_copy(&c->batch, doc);
        ash__buffer_clear(&c->pending);
    }
    ash__batch_memory_give(&c->batch, c->exhausted, out);
    ash__budget_leave(outer);
    return rc;
}

static void agg_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                       int64_t await_ms)
{
    agg_cursor *c = (agg_cursor *)(void *)cursor;
    c->host.op.deadline_ms = deadline_ms;
    c->host.op.cancel = cancel;
    /* Expressions look at these while they run. */
    c->env.query.cancelled = cancel;
    c->env.query.deadline_ms = deadline_ms;
    if (c->input != NULL)
        c->input->ops->set_op(c->input, deadline_ms, cancel, await_ms);
}

static void agg_rest(ash_cursor *cursor)
{
    ash__batch_memory_rest(&((agg_cursor *)(void *)cursor)->batch);
}

static void agg_free(ash_cursor *cursor)
{
    agg_cursor *c = (agg_cursor *)(void *)cursor;
    ash__pipeline_free(c->pipeline);
    ash__batch_memory_release(&c->batch);
    ash__buffer_release(&c->pending);
    ash__env_release(&c->env);
    bson_destroy(&c->collation);
    ash__free(c->host.db);
    ash__free(c->host.coll);
    ash__free(c);
}

static const ash_cursor_ops agg_ops = {
    .next_batch = agg_next_batch,
    .set_op = agg_set_op,
    .rest = agg_rest,
    .free = agg_free,
};

static int no_documents(void *ctx, ash_doc *out, ash_error *err)
{
    (void)ctx;
    (void)err;
    *out = (ash_doc){NULL, 0};
    return 0;
}

static void nothing_to_free(void *ctx)
{
    (void)ctx;
}

/* Let the store do what it does better: the leading match, sort, skip and limit. */
static int start(agg_cursor *c, const ash_aggregate_options *opts, ash_error *err)
{
    const ash_pipeline_head *head = ash__pipeline_head(c->pipeline);
    /* $collStats makes its one document itself. */
    ash_source input = {NULL, no_documents, nothing_to_free};
    ash_find_options find = ASH_FIND_OPTIONS_INIT;
    if (!head->is_coll_stats) {
        if (c->host.coll == NULL)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                    "{aggregate: 1} is not valid for this pipeline; a collection "
                                    "is required");
        find.op = c->host.op;
        find.sort = &head->sort;
        find.skip = head->skip;
        find.limit = head->limit;
        find.hint = opts->hint;
        find.collation = opts->collation;
        find.let = opts->let;
        find.allow_disk_use = opts->allow_disk_use;
        ash_find_cursor *cursor = NULL;
        ash_find_spec spec = {{c->host.db, c->host.coll}, &head->match, &find};
        int rc = ash__find_open(c->host.store, &spec, &cursor, err);
        if (rc != 0)
            return rc;
        c->input = &cursor->base;
        input = ash__source_from_cursor(c->input);
    }
    ash__pipeline_start(c->pipeline, input);
    return 0;
}

/* A pipeline that writes runs now; its cursor gives nothing. */
static int run_to_end(agg_cursor *c, ash_error *err)
{
    ash_doc doc;
    int rc;
    do {
        rc = ash__op_check(&c->host.op, err);
        if (rc == 0)
            rc = ash__pipeline_next(c->pipeline, &doc, err);
    } while (rc == 0 && doc.data != NULL);
    c->exhausted = true;
    return rc;
}

static int adopt_collation(agg_cursor *c, ash_error *err)
{
    const ash_coll *coll = NULL;
    ash_reading reading = {0};
    if (c->env.has_collation || c->host.coll == NULL)
        return 0;
    int rc = ash__reading_begin(c->host.store, &c->host.op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, c->host.db, c->host.coll, &coll, err);
    if (rc == 0)
        ash__env_adopt(&c->env, coll);
    ash__reading_end(&reading);
    return rc;
}

static int watch_instead(agg_cursor *c, const bson_t *pipeline, const ash_aggregate_options *opts,
                         ash_cursor **out, ash_error *err);

static int open_pipeline(agg_cursor *c, const bson_t *pipeline, const ash_aggregate_options *opts,
                         ash_cursor **instead, ash_error *err)
{
    ash_pipeline_host host;
    ash__agg_host_init(&c->host, &host);
    /* Before anything is compiled: literals compare by it. */
    int rc = adopt_collation(c, err);
    if (rc == 0)
        rc = ash__pipeline_new(pipeline, &c->env.query, &host, &c->pipeline, err);
    if (rc != 0)
        return rc;
    const ash_pipeline_head *head = ash__pipeline_head(c->pipeline);
    /* Known only when the pipeline is compiled; nothing was read yet. */
    if (head->is_change_stream)
        return watch_instead(c, pipeline, opts, instead, err);
    if (head->splits_events)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_ILLEGAL_OPERATION,
                                "$changeStreamSplitLargeEvent is only allowed in a change stream's "
                                "pipeline");
    /* As in MongoDB.  The target is written in commits of its own. */
    if (head->has_write_out && c->host.op.transaction != NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED,
                                ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                                "$out and $merge cannot run in a transaction");
    rc = start(c, opts, err);
    if (rc == 0 && head->has_write_out)
        rc = run_to_end(c, err);
    c->host.details = NULL; /* the caller's only during the call */
    return rc;
}

static int aggregate(ash_embedded *s, const ash_agg_spec *spec, ash_cursor **out, ash_error *err)
{
    const ash_aggregate_options *opts = spec->opts;
    const ash_agg_host *outer = spec->outer;
    agg_cursor *c = ash__new(agg_cursor);
    ash_cursor *instead = NULL;
    c->base.ops = &agg_ops;
    c->base.store = &s->base;
    c->host = (ash_agg_host){.store = s,
                             .op = opts->op,
                             .db = ash__strdup(spec->ns.db),
                             .details = opts->error_details,
                             .coll = spec->ns.coll != NULL ? ash__strdup(spec->ns.coll) : NULL};
    /* It belongs to the whole aggregate, not to each write of $merge. */
    c->host.op.retry = NULL;
    /* A view within a pipeline counts against the same bounds. */
    c->host.memory = outer != NULL ? outer->memory : &c->memory;
    c->host.stages = outer != NULL ? outer->stages : 0;
    c->host.view_depth = outer != NULL ? outer->view_depth : 0;
    bson_init(&c->collation);
    if (opts->collation != NULL) {
        bson_concat(&c->collation, opts->collation);
        c->host.collation = &c->collation;
    }
    ash__batch_memory_init(&c->batch, s);
    ash_budget before = ash__budget_enter(opts->op.deadline_ms, opts->op.cancel, 0);
    int rc = ash__env_init(s, &opts->op, opts->collation, opts->let, &c->env, err);
    if (rc == 0)
        rc = open_pipeline(c, spec->pipeline, opts, &instead, err);
    ash__budget_leave(before);
    if (rc == 0 && instead == NULL) {
        *out = &c->base;
        return 0;
    }
    /* A watch stands for itself: nothing of the pipeline is needed any more. */
    agg_free(&c->base);
    *out = instead;
    return rc;
}

int ash__agg_open(ash_embedded *s, const ash_agg_spec *spec, ash_cursor **out, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = aggregate(s, spec, out, &own);
    /* Views are rare, so a look for one comes after the refusal, not before each aggregate. */
    if (spec->ns.coll != NULL && ash__view_was_refused(rc, &own)) {
        int on_view = ash__view_aggregate(s, spec, out, err);
        if (on_view != 0 || *out != NULL)
            return on_view;
        /* It was another view, which a stage names. */
    }
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

int ash__embedded_aggregate(ash_store *store, ash_ns ns, const bson_t *pipeline,
                            const ash_aggregate_options *opts, ash_cursor **out, ash_error *err)
{
    ash_agg_spec spec = {ns, pipeline, opts, NULL};
    return ash__agg_open(ash__embedded(store), &spec, out, err);
}

/* ---- $changeStream ----------------------------------------------------------------------------
 */

static void read_spec(const bson_t *spec, ash_watch_options *w, bson_t docs[2])
{
    static const char *const tokens[] = {"resumeAfter", "startAfter"};
    bson_iter_t it;
    for (int i = 0; i < 2; i++) {
        const uint8_t *data;
        uint32_t len;
        if (!bson_iter_init_find(&it, spec, tokens[i]) || !BSON_ITER_HOLDS_DOCUMENT(&it))
            continue;
        bson_iter_document(&it, &len, &data);
        ash__doc_to_bson((ash_doc){data, len}, &docs[i]);
        *(i == 0 ? &w->resume_after : &w->start_after) = &docs[i];
    }
    if (bson_iter_init_find(&it, spec, "startAtOperationTime") && BSON_ITER_HOLDS_TIMESTAMP(&it)) {
        uint32_t seconds;
        uint32_t increment;
        bson_iter_timestamp(&it, &seconds, &increment);
        w->start_at_operation_time = (uint64_t)seconds << 32 | increment;
    }
    if (bson_iter_init_find(&it, spec, "fullDocument") && BSON_ITER_HOLDS_UTF8(&it))
        w->full_document = bson_iter_utf8(&it, NULL);
    if (bson_iter_init_find(&it, spec, "fullDocumentBeforeChange") && BSON_ITER_HOLDS_UTF8(&it))
        w->full_document_before_change = bson_iter_utf8(&it, NULL);
    if (bson_iter_init_find(&it, spec, "showExpandedEvents"))
        w->expanded_events = bson_iter_as_bool(&it);
    if (bson_iter_init_find(&it, spec, "allChangesForCluster"))
        w->all_changes = bson_iter_as_bool(&it);
}

static int watch_instead(agg_cursor *c, const bson_t *pipeline, const ash_aggregate_options *opts,
                         ash_cursor **out, ash_error *err)
{
    ash_watch_options w = ASH_WATCH_OPTIONS_INIT;
    ash_builder rest = ASH_BUILDER_INIT;
    /* Views into the pipeline's head, which lives until the watch is open. */
    bson_t docs[2];
    bson_t stages;
    char name[12];
    uint32_t at = 0;
    ash__builder_begin(&rest);
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(pipeline));
    for (; ash__doc_iter_next(&it); at++)
        if (at > 0)
            ash__builder_value(&rest, ash__index_name(at - 1, name), it.value);
    ash__builder_end(&rest);
    ash__doc_to_bson(ash__builder_doc(&rest), &stages);
    read_spec(&ash__pipeline_head(c->pipeline)->change_stream, &w, docs);
    w.op = opts->op;
    w.pipeline = at > 1 ? &stages : NULL;
    w.max_await_ms = opts->max_await_ms;
    w.batch_size = opts->batch_size;
    ash_ns ns = {w.all_changes ? NULL : c->host.db, c->host.coll};
    int rc = ash__embedded_watch(&c->host.store->base, ns, &w, out, err);
    ash__builder_release(&rest);
    return rc;
}
