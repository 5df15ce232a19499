/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline asks of the store while it runs: other collections, statistics, a place to write
 * to. */

#include "store/embedded/read/aggregate.h"

#include "store/embedded/catalog/slots.h"
#include "store/embedded/find/cursor.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/read/views.h"

#define BATCH_DOCS  1000
#define BATCH_BYTES ((size_t)1 << 20) /* views in views keep one each */

typedef struct cursor_source {
    ash_cursor *cursor;
    ash_batch batch;
    size_t at;
} cursor_source;

static int source_next(void *ctx, ash_doc *out, ash_error *err)
{
    cursor_source *s = ctx;
    *out = (ash_doc){NULL, 0};
    while (s->at == s->batch.count) {
        if (s->batch.exhausted)
            return 0;
        s->at = 0;
        s->batch.count = 0;
        int rc = s->cursor->ops->next_batch(s->cursor, BATCH_DOCS, BATCH_BYTES, &s->batch, err);
        if (rc != 0)
            return rc;
    }
    *out = s->batch.docs[s->at++];
    return 0;
}

static void source_free(void *ctx)
{
    cursor_source *s = ctx;
    s->cursor->ops->free(s->cursor);
    ash__free(s);
}

ash_source ash__source_from_cursor(ash_cursor *cursor)
{
    cursor_source *s = ash__new(cursor_source);
    s->cursor = cursor;
    return (ash_source){s, source_next, source_free};
}

/* What a view gives.  Views that join themselves, or each other, would go round for ever. */
static int find_in_view(const ash_agg_host *h, const ash_find_spec *view, uint32_t stages,
                        ash_source *out, ash_error *err)
{
    /* A copy, since only what runs below is one view deeper. */
    ash_agg_host outer = *h;
    ash_cursor *c = NULL;
    if (h->view_depth == ASH_VIEW_MAX_DEPTH)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_VIEW_DEPTH_LIMIT_EXCEEDED,
                                "views on views are deeper than %d", ASH_VIEW_MAX_DEPTH);
    outer.view_depth++;
    outer.stages = stages;
    int rc = ash__view_find(h->store, view, &outer, &c, err);
    if (rc == 0)
        *out = ash__source_from_cursor(c);
    return rc;
}

static int host_find(void *ctx, const char *collection, ash_doc filter, uint32_t stages,
                     ash_source *out, ash_error *err)
{
    ash_agg_host *h = ctx;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_find_cursor *c = NULL;
    ash_error own = ASH_ERROR_INIT;
    bson_t view;
    ash__doc_to_bson(filter, &view);
    /* Stages read as of the same time, and end by the same deadline. */
    opts.op = h->op;
    opts.collation = h->collation;
    ash_find_spec spec = {{h->db, collection}, &view, &opts};
    int rc = ash__find_open(h->store, &spec, &c, &own);
    /* A stage may name a view as well as a collection. */
    if (ash__view_was_refused(rc, &own))
        return find_in_view(h, &spec, stages, out, err);
    if (rc == 0)
        *out = ash__source_from_cursor(&c->base);
    else if (err != NULL)
        *err = own;
    return rc;
}

/* The collection's part of the answer to $collStats: what the argument asks for. */
static int host_coll_stats(void *ctx, ash_doc spec, bson_t *out, ash_error *err)
{
    ash_agg_host *h = ctx;
    ash_builder b = ASH_BUILDER_INIT;
    bson_t stats;
    int64_t scale = 0;
    ash_value storage = ash__doc_get(spec, "storageStats");
    if (h->coll == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "$collStats needs a collection");
    if (storage.type == BSON_TYPE_DOCUMENT)
        ash__value_as_int64(ash__doc_get(ash__value_doc(storage), "scale"), &scale);
    int rc =
        ash__embedded_stats(&h->store->base, (ash_ns){h->db, h->coll}, scale, &h->op, &stats, err);
    if (rc != 0)
        return rc;
    char *ns = ash__sprintf("%s.%s", h->db, h->coll);
    ash__builder_begin(&b);
    ash__builder_text(&b, "ns", ns);
    if (storage.type == BSON_TYPE_DOCUMENT)
        ash__builder_doc_value(&b, "storageStats", ash__doc_from_bson(&stats));
    if (!ash__value_is_missing(ash__doc_get(spec, "count")))
        ash__builder_value(&b, "count", ash__doc_get(ash__doc_from_bson(&stats), "count"));
    ash__builder_end(&b);
    ash__doc_give(ash__builder_doc(&b), out);
    ash__builder_release(&b);
    bson_destroy(&stats);
    ash__free(ns);
    return 0;
}

static int host_write_out(void *ctx, bool is_merge, ash_value spec, ash_source *input,
                          ash_error *err)
{
    ash_agg_host *h = ctx;
    return is_merge ? ash__agg_merge(h, spec, input, err) : ash__agg_out(h, spec, input, err);
}

void ash__agg_host_init(ash_agg_host *h, ash_pipeline_host *out)
{
    *out = (ash_pipeline_host){.ctx = h,
                               .find = host_find,
                               .coll_stats = host_coll_stats,
                               .write_out = host_write_out,
                               .memory = h->memory,
                               .stages = h->stages};
}

int ash__agg_namespace(const ash_agg_host *h, ash_value spec, ash_ns *out, ash_error *err)
{
    uint32_t len;
    out->db = h->db;
    if (spec.type == BSON_TYPE_UTF8) {
        out->coll = ash__value_string(spec, &len);
    } else {
        ash_doc doc = spec.type == BSON_TYPE_DOCUMENT ? ash__value_doc(spec) : ash__doc_empty;
        ash_value to_db = ash__doc_get(doc, "db");
        ash_value to_coll = ash__doc_get(doc, "coll");
        if (to_coll.type != BSON_TYPE_UTF8)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_TARGET_ILLEGAL,
                                    "the target must name a collection");
        out->coll = ash__value_string(to_coll, &len);
        /* $merge may write to another database. */
        if (to_db.type == BSON_TYPE_UTF8)
            out->db = ash__value_string(to_db, &len);
    }
    return ash__namespace_check(out->db, out->coll, err);
}
