/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of views, as aggregates on what the views stand on. */

#include "store/embedded/read/views.h"

#include "query/pipeline/pipeline.h"

/* ---- from a view to what it stands on ---- */

/* Put the stages of one view before those gathered; *base is then what it stands on. */
static void prepend(const ash_coll *view, ash_builder *stages, char **base)
{
    uint32_t len, n = 0;
    char name[12];
    /* A builder cannot be put in front of, so both lists are written once more; views stand on few
     * others. */
    ash_builder both = ASH_BUILDER_INIT;
    ash_doc options = ash__doc_from_bson(&view->options);
    ash_value own = ash__doc_get(options, "pipeline");
    ash_doc lists[] = {own.type == BSON_TYPE_ARRAY ? ash__value_doc(own) : ash__doc_empty,
                       ash__builder_doc(stages)};
    ash__builder_begin(&both);
    for (size_t i = 0; i < ASH_ARRAY_LEN(lists); i++)
        for (ash_doc_iter it = ash__doc_iter(lists[i]); ash__doc_iter_next(&it);)
            ash__builder_value(&both, ash__index_name(n++, name), it.value);
    ash__builder_end(&both);
    ash__builder_release(stages);
    *stages = both;
    ash__free(*base);
    *base = ash__strdup(ash__value_string(ash__doc_get(options, "viewOn"), &len));
}

/* *depth: how many views were passed. */
static int expand(ash_embedded *s, const ash_agg_spec *view, ash_builder *stages, char **base,
                  int *depth, ash_error *err)
{
    ash_reading reading = {0};
    int rc = ash__reading_begin(s, &view->opts->op, &reading, err);
    for (*depth = 0; rc == 0; (*depth)++) {
        const ash_coll *c = NULL;
        rc = ash__catalog_find(reading.snap, view->ns.db, *base, &c, err);
        if (rc != 0 || !ash__coll_is_view(c))
            break;
        /* Views that stand on each other would go round for ever. */
        if (*depth == ASH_VIEW_MAX_DEPTH)
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_VIEW_DEPTH_LIMIT_EXCEEDED,
                                  "views on views are deeper than %d", ASH_VIEW_MAX_DEPTH);
        else
            prepend(c, stages, base);
    }
    ash__reading_end(&reading);
    return rc;
}

int ash__view_aggregate(ash_embedded *s, const ash_agg_spec *view, ash_cursor **out, ash_error *err)
{
    ash_builder all = ASH_BUILDER_INIT;
    char *base = ash__strdup(view->ns.coll);
    bson_t pipeline;
    int depth = 0;
    *out = NULL;
    ash__builder_begin(&all);
    ash__builder_elements(&all, ash__doc_from_bson(view->pipeline));
    ash__builder_end(&all);
    int rc = expand(s, view, &all, &base, &depth, err);
    if (rc == 0 && depth > 0) {
        ash__doc_to_bson(ash__builder_doc(&all), &pipeline);
        ash_agg_spec spec = {{view->ns.db, base}, &pipeline, view->opts, view->outer};
        rc = ash__agg_open(s, &spec, out, err);
    }
    ash__builder_release(&all);
    ash__free(base);
    return rc;
}

/* ---- other reads as aggregates ---- */

static void begin_stage(ash_builder *b, uint32_t *n)
{
    char name[12];
    ash__builder_begin_doc(b, ash__index_name((*n)++, name));
}

static void add_doc_stage(ash_builder *b, uint32_t *n, const char *stage, const bson_t *doc)
{
    if (doc == NULL || bson_empty(doc))
        return;
    begin_stage(b, n);
    ash__builder_doc_value(b, stage, ash__doc_from_bson(doc));
    ash__builder_end(b);
}

static void add_number_stage(ash_builder *b, uint32_t *n, const char *stage, int64_t number)
{
    if (number <= 0)
        return;
    begin_stage(b, n);
    ash__builder_int64(b, stage, number);
    ash__builder_end(b);
}

int ash__view_find(ash_embedded *s, const ash_find_spec *view, const ash_agg_host *outer,
                   ash_cursor **out, ash_error *err)
{
    const ash_find_options *opts = view->opts;
    ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
    ash_builder b = ASH_BUILDER_INIT;
    /* The stages stand in the order in which find applies its options. */
    uint32_t n = 0;
    bson_t stages;
    *out = NULL;
    if (opts->tailable)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_COMMAND_NOT_SUPPORTED_ON_VIEW,
                                "a tailable cursor cannot read the view %s.%s", view->ns.db,
                                view->ns.coll);
    /* Bounds are of an index, and what a view gives has none. */
    if ((opts->min != NULL && !bson_empty(opts->min)) ||
        (opts->max != NULL && !bson_empty(opts->max)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_PIPELINE_OPERATOR,
                                "Option min/max is not supported on the view %s.%s", view->ns.db,
                                view->ns.coll);
    o.op = opts->op;
    o.collation = opts->collation;
    o.let = opts->let;
    o.allow_disk_use = opts->allow_disk_use;
    ash__builder_begin(&b);
    add_doc_stage(&b, &n, "$match", view->filter);
    add_doc_stage(&b, &n, "$sort", opts->sort);
    add_number_stage(&b, &n, "$skip", opts->skip);
    add_number_stage(&b, &n, "$limit", opts->limit);
    add_doc_stage(&b, &n, "$project", opts->projection);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &stages);
    ash_agg_spec spec = {view->ns, &stages, &o, outer};
    int rc = ash__view_aggregate(s, &spec, out, err);
    ash__builder_release(&b);
    /* It was refused as a view a moment ago. */
    if (rc == 0 && *out == NULL)
        rc = ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_WRITE_CONFLICT,
                              "the view %s.%s was just dropped", view->ns.db, view->ns.coll);
    return rc;
}

int ash__view_count(ash_embedded *s, ash_ns view, const bson_t *filter,
                    const ash_count_options *opts, int64_t *out, ash_error *err)
{
    ash_find_options find = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch = {0};
    find.op = opts->op;
    find.collation = opts->collation;
    find.skip = opts->skip;
    /* A negative limit counts like its absolute value. */
    find.limit = opts->limit < 0 ? -opts->limit : opts->limit;
    *out = 0;
    ash_find_spec spec = {view, filter, &find};
    int rc = ash__view_find(s, &spec, NULL, &cursor, err);
    while (rc == 0 && !batch.exhausted) {
        rc = cursor->ops->next_batch(cursor, 1000, ASH_DOC_MAX_BYTES, &batch, err);
        *out += rc == 0 ? (int64_t)batch.count : 0;
    }
    if (cursor != NULL)
        cursor->ops->free(cursor);
    return rc;
}
