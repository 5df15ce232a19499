/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_cases.h"

#include "base/mem.h"

#include <string.h>

const char *const case_collections =
    "{'items': [{'_id': 1, 'sku': 'a', 'n': 10}, {'_id': 2, 'sku': 'b', 'n': 20},"
    "           {'_id': 3, 'n': 30}, {'_id': 4, 'sku': ['a', 'c'], 'n': 40}],"
    " 'staff': [{'_id': 'dev'}, {'_id': 'eliot', 'boss': 'dev'}, {'_id': 'ron', 'boss': 'eliot'},"
    "           {'_id': 'andrew', 'boss': 'eliot'}, {'_id': 'asya', 'boss': 'ron'}],"
    " 'ring': [{'_id': 1, 'next': 2}, {'_id': 2, 'next': 3}, {'_id': 3, 'next': 1}]}";

/* Documents that are kept, filtered, and given in order. */
struct list {
    bson_t *holder;
    ash_matcher *matcher;
    ash_doc_iter at;
};

static struct {
    bson_t *filters;
    uint32_t filter_count;
    bson_t *written;
} seen;

void cases_host_reset(void)
{
    bson_destroy(seen.filters);
    bson_destroy(seen.written);
    seen.filters = NULL;
    seen.written = NULL;
    seen.filter_count = 0;
}

const bson_t *cases_host_filters(void)
{
    return seen.filters;
}

const bson_t *cases_host_written(void)
{
    return seen.written;
}

static int next_in_list(void *ctx, ash_doc *out, ash_error *err)
{
    struct list *l = ctx;
    (void)err;
    *out = (ash_doc){NULL, 0};
    while (ash__doc_iter_next(&l->at)) {
        ash_doc doc = ash__value_doc(l->at.value);
        if (!ash__matcher_test(l->matcher, doc, NULL, NULL))
            continue;
        *out = doc;
        break;
    }
    return 0;
}

static void free_list(void *ctx)
{
    struct list *l = ctx;
    ash__matcher_free(l->matcher);
    bson_destroy(l->holder);
    ash__free(l);
}

/* holder {v: [documents]} is taken over. */
static int list_source(bson_t *holder, ash_doc filter, const ash_query_env *env, ash_source *out,
                       ash_error *err)
{
    bson_t spec;
    struct list *l = ash__new(struct list);
    l->holder = holder;
    ash_value docs = ash__doc_get(ash__doc_from_bson(holder), "v");
    l->at = ash__doc_iter(ash__value_is_missing(docs) ? ash__doc_empty : ash__value_doc(docs));
    ash__doc_to_bson(filter, &spec);
    int rc = ash__matcher_new(&spec, env, &l->matcher, err);
    if (rc == 0)
        *out = (ash_source){l, next_in_list, free_list};
    else
        free_list(l);
    return rc;
}

static int host_find(void *ctx, const char *collection, ash_doc filter, uint32_t stages,
                     ash_source *out, ash_error *err)
{
    bson_t *all = cases_bson(case_collections);
    bson_t *holder = bson_new();
    bson_t found, spec;
    char name[12];
    ash_value docs = ash__doc_get(ash__doc_from_bson(all), collection);
    (void)ctx;
    (void)stages;
    if (!ash__value_is_missing(docs)) {
        ash__doc_to_bson(ash__value_doc(docs), &found);
        bson_append_array(holder, "v", -1, &found);
    }
    if (seen.filters == NULL)
        seen.filters = bson_new();
    ash__doc_to_bson(filter, &spec);
    bson_append_document(seen.filters, ash__index_name(seen.filter_count++, name), -1, &spec);
    bson_destroy(all);
    return list_source(holder, filter, &case_env, out, err);
}

static int host_stats(void *ctx, ash_doc spec, bson_t *out, ash_error *err)
{
    (void)ctx;
    (void)err;
    bson_append_int32(out, "count", -1, ash__value_is_missing(ash__doc_get(spec, "count")) ? 0 : 5);
    return 0;
}

static int host_write(void *ctx, bool is_merge, ash_value spec, ash_source *input, ash_error *err)
{
    uint32_t n = 0;
    ash_doc doc;
    int rc;
    (void)ctx;
    (void)spec;
    seen.written = bson_new();
    bson_append_bool(seen.written, "merge", -1, is_merge);
    while ((rc = input->next(input->ctx, &doc, err)) == 0 && doc.data != NULL) {
        char name[12];
        bson_t b;
        ash__doc_to_bson(doc, &b);
        bson_append_document(seen.written, ash__index_name(n++, name), -1, &b);
    }
    return rc;
}

/* What a store does with the head: match, sort, skip, limit; a new {v: [documents]}. */
static int run_head(const ash_pipeline_head *head, bson_t *docs, const ash_query_env *env,
                    bson_t **out, ash_error *err)
{
    ash_source source;
    ash_sort_spec *spec = NULL;
    ash_builder b = ASH_BUILDER_INIT;
    ash_doc doc;
    uint64_t order = 0;
    uint32_t n = 0;
    int64_t skip = head->skip, limit = head->limit;
    assert_ok(list_source(docs, ash__doc_from_bson(&head->match), env, &source, err), err);
    assert_ok(ash__sort_spec_new(&head->sort, env, &spec, err), err);
    ash_sorter *sorter = ash__sorter_new(spec, 0, env);
    while (source.next(source.ctx, &doc, err) == 0 && doc.data != NULL)
        assert_ok(ash__sorter_add(sorter, doc, order++, err), err);
    ash__sorter_finish(sorter);
    ash__builder_begin(&b);
    ash__builder_begin_array(&b, "v");
    while (ash__sorter_next(sorter, &doc, &order)) {
        if (skip-- > 0)
            continue;
        if (limit > 0 && n == (uint32_t)limit)
            break;
        ash__builder_item(&b, n++, ash__value_of_doc(doc));
    }
    ash__builder_end(&b);
    ash__builder_end(&b);
    *out = bson_new_from_data(b.buf.data, b.buf.len);
    ash__builder_release(&b);
    ash__sorter_free(sorter);
    ash__sort_spec_free(spec);
    source.free(source.ctx);
    return 0;
}

static int drain(ash_pipeline *p, bson_t **out, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_doc doc;
    uint32_t n = 0;
    int rc;
    ash__builder_begin(&b);
    ash__builder_begin_array(&b, "v");
    while ((rc = ash__pipeline_next(p, &doc, err)) == 0 && doc.data != NULL)
        ash__builder_item(&b, n++, ash__value_of_doc(doc));
    ash__builder_end(&b);
    ash__builder_end(&b);
    if (rc == 0)
        *out = bson_new_from_data(b.buf.data, b.buf.len);
    ash__builder_release(&b);
    return rc;
}

int cases_run_pipeline(const char *stages, const char *docs, const ash_query_env *env, bson_t **out,
                       ash_error *err)
{
    static const ash_pipeline_host host = {
        .find = host_find, .coll_stats = host_stats, .write_out = host_write};
    bson_t *spec = cases_bson(stages);
    ash_pipeline *p = NULL;
    bson_t *start = NULL;
    ash_source source;
    int rc = ash__pipeline_new(spec, env, &host, &p, err);
    bson_destroy(spec);
    if (rc != 0)
        return rc;
    assert_ok(run_head(ash__pipeline_head(p), cases_value(docs), env, &start, err), err);
    assert_ok(list_source(start, ash__doc_empty, env, &source, err), err);
    ash__pipeline_start(p, source);
    rc = drain(p, out, err);
    ash__pipeline_free(p);
    return rc;
}

void cases_pipeline(const struct pipeline_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *expected = cases_value(cases[i].expected);
        bson_t *found = NULL;
        if (cases_run_pipeline(cases[i].stages, cases[i].docs, &case_env, &found, &err) != 0)
            fail_msg("%s on %s: %s", cases[i].stages, cases[i].docs, err.text);
        cases_same(cases[i].stages, cases[i].docs, expected, found);
        bson_destroy(expected);
        bson_destroy(found);
    }
    cases_host_reset();
}

void cases_pipeline_errors(const struct error_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *found = NULL;
        int rc = cases_run_pipeline(cases[i].text, "[{'_id': 1, 'a': 1, 's': 'x'}]", &case_env,
                                    &found, &err);
        bson_destroy(found);
        cases_check_error(cases[i].text, rc, &err, cases[i].server_code, cases[i].names);
    }
    cases_host_reset();
}
