/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/views.h"

#include "query/pipeline/pipeline.h"
#include "store/embedded/slots.h"

int ash__view_refuse(const ash_coll *c, ash_error *err)
{
    if (c == NULL || !bson_has_field(&c->options, "viewOn"))
        return 0;
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_IS_A_VIEW,
                            "Namespace %s.%s is a view, not a collection", c->db, c->name);
}

bool ash__view_was_refused(int rc, const ash_error *err)
{
    return rc == ASH_EUNSUPPORTED && err->server_code == ASH_IS_A_VIEW;
}

int ash__view_check_options(ash_doc options, ash_error *err)
{
    static const char *const others[] = {"capped", "size", "max", "validator",
                                         "changeStreamPreAndPostImages"};
    ash_value stages = ash__doc_get(options, "pipeline");
    ash_query_env env = {0};
    ash_pipeline_host none = {0};
    ash_pipeline *p = NULL;
    bson_t view;
    if (ash__value_is_missing(ash__doc_get(options, "viewOn"))) {
        if (ash__value_is_missing(stages))
            return 0;
        return ash__fail_server(err, ASH_EINVAL, 72, "'pipeline' requires 'viewOn' to be given");
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++)
        if (!ash__value_is_missing(ash__doc_get(options, others[i])))
            return ash__fail_server(err, ASH_EINVAL, 72, "a view cannot have the option '%s'",
                                    others[i]);
    if (ash__value_is_missing(stages))
        return 0;
    ash__doc_to_bson(ash__value_doc(stages), &view);
    int rc = ash__pipeline_new(&view, &env, &none, &p, err);
    if (rc == 0 &&
        (ash__pipeline_head(p)->has_write_out || ash__pipeline_head(p)->is_change_stream))
        rc = ash__fail_server(err, ASH_EINVAL, 167,
                              "a view's pipeline can neither write nor be a change stream");
    ash__pipeline_free(p);
    return rc;
}

/* ---- from a view to what it stands on ---- */

/* Put the stages of one view before those gathered; *base is then what it stands on. */
static void prepend(const ash_coll *view, ash_builder *stages, char **base)
{
    uint32_t len, n = 0;
    char name[12];
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
static int expand(ash_embedded *s, const ash_op *op, const char *db, ash_builder *stages,
                  char **base, int *depth, ash_error *err)
{
    ash_reading reading = {0};
    int rc = ash__reading_begin(s, op, &reading, err);
    for (*depth = 0; rc == 0; (*depth)++) {
        const ash_coll *c = NULL;
        rc = ash__catalog_find(reading.view, db, *base, &c, err);
        if (rc != 0 || c == NULL || !bson_has_field(&c->options, "viewOn"))
            break;
        if (*depth == ASH_VIEW_MAX_DEPTH)
            rc = ash__fail_server(err, ASH_EINVAL, 165, "views on views are deeper than %d",
                                  ASH_VIEW_MAX_DEPTH);
        else
            prepend(c, stages, base);
    }
    ash__reading_end(&reading);
    return rc;
}

int ash__view_aggregate(ash_embedded *s, const char *db, const char *view, const bson_t *stages,
                        const ash_aggregate_options *opts, const ash_agg_host *outer,
                        ash_cursor **out, ash_error *err)
{
    ash_builder all = ASH_BUILDER_INIT;
    char *base = ash__strdup(view);
    bson_t pipeline;
    int depth = 0;
    *out = NULL;
    ash__builder_begin(&all);
    ash__builder_elements(&all, ash__doc_from_bson(stages));
    ash__builder_end(&all);
    int rc = expand(s, &opts->op, db, &all, &base, &depth, err);
    if (rc == 0 && depth > 0) {
        ash__doc_to_bson(ash__builder_doc(&all), &pipeline);
        rc = ash__agg_open(s, db, base, &pipeline, opts, outer, out, err);
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

int ash__view_find(ash_embedded *s, const char *db, const char *view, const bson_t *filter,
                   const ash_find_options *opts, const ash_agg_host *outer, ash_cursor **out,
                   ash_error *err)
{
    ash_aggregate_options o = ASH_AGGREGATE_OPTIONS_INIT;
    ash_builder b = ASH_BUILDER_INIT;
    uint32_t n = 0;
    bson_t stages;
    *out = NULL;
    if (opts->tailable)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_IS_A_VIEW,
                                "a tailable cursor cannot read the view %s.%s", db, view);
    if ((opts->min != NULL && !bson_empty(opts->min)) ||
        (opts->max != NULL && !bson_empty(opts->max)))
        return ash__fail_server(err, ASH_EINVAL, 168,
                                "Option min/max is not supported on the view %s.%s", db, view);
    o.op = opts->op;
    o.collation = opts->collation;
    o.let = opts->let;
    o.allow_disk_use = opts->allow_disk_use;
    ash__builder_begin(&b);
    add_doc_stage(&b, &n, "$match", filter);
    add_doc_stage(&b, &n, "$sort", opts->sort);
    add_number_stage(&b, &n, "$skip", opts->skip);
    add_number_stage(&b, &n, "$limit", opts->limit);
    add_doc_stage(&b, &n, "$project", opts->projection);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &stages);
    int rc = ash__view_aggregate(s, db, view, &stages, &o, outer, out, err);
    ash__builder_release(&b);
    if (rc == 0 && *out == NULL)
        rc = ash__fail_server(err, ASH_ECONFLICT, 112, "the view %s.%s was just dropped", db, view);
    return rc;
}

int ash__view_count(ash_embedded *s, const char *db, const char *view, const bson_t *filter,
                    const ash_count_options *opts, int64_t *out, ash_error *err)
{
    ash_find_options find = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_batch batch = {0};
    find.op = opts->op;
    find.collation = opts->collation;
    find.skip = opts->skip;
    find.limit = opts->limit < 0 ? -opts->limit : opts->limit;
    *out = 0;
    int rc = ash__view_find(s, db, view, filter, &find, NULL, &cursor, err);
    while (rc == 0 && !batch.exhausted) {
        rc = cursor->ops->next_batch(cursor, 1000, ASH_DOC_MAX_BYTES, &batch, err);
        *out += rc == 0 ? (int64_t)batch.count : 0;
    }
    if (cursor != NULL)
        cursor->ops->free(cursor);
    return rc;
}
