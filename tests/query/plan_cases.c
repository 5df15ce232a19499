/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_cases.h"

#include <stdio.h>
#include <string.h>

static bool flag(ash_doc doc, const char *name)
{
    return ash__value_truthy(ash__doc_get(doc, name));
}

static void add_index(struct plan_indexes *x, const char *name, ash_doc doc)
{
    ash_error err = ASH_ERROR_INIT;
    uint32_t at = x->count++;
    ash_collation fold = {.ignore_case = flag(doc, "ignoreCase")};
    ash_value partial = ash__doc_get(doc, "partial");
    assert_true(at < MAX_INDEXES);
    ash__doc_to_bson(ash__value_doc(ash__doc_get(doc, "key")), &x->keys[at]);
    assert_ok(
        ash__key_pattern_parse(&x->keys[at], flag(doc, "sparse"), &fold, &x->patterns[at], &err),
        &err);
    if (!ash__value_is_missing(partial)) {
        bson_t filter;
        ash__doc_to_bson(ash__value_doc(partial), &filter);
        assert_ok(ash__matcher_new(&filter, NULL, &x->partials[at], &err), &err);
    }
    x->descs[at] = (ash_index_desc){.name = name,
                                    .key = &x->keys[at],
                                    .pattern = &x->patterns[at],
                                    .partial = x->partials[at],
                                    .unique = flag(doc, "unique"),
                                    .sparse = flag(doc, "sparse"),
                                    .multikey = flag(doc, "multikey"),
                                    .hidden = flag(doc, "hidden")};
}

void plan_indexes_init(struct plan_indexes *x, const char *json)
{
    memset(x, 0, sizeof *x);
    x->spec = cases_bson(json);
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(x->spec)); ash__doc_iter_next(&it);)
        add_index(x, it.name, ash__value_doc(it.value));
}

void plan_indexes_release(struct plan_indexes *x)
{
    for (uint32_t i = 0; i < x->count; i++) {
        ash__key_pattern_release(&x->patterns[i]);
        ash__matcher_free(x->partials[i]);
    }
    bson_destroy(x->spec);
}

int plan_query(struct planned *q, const struct plan_indexes *x, const char *filter,
               const char *sort, const char *hint, const ash_query_env *env, ash_error *err)
{
    ash_plan_query query = {.indexes = x->descs, .index_count = x->count};
    memset(q, 0, sizeof *q);
    q->filter_bson = cases_bson(filter);
    q->sort_bson = cases_bson(sort);
    if (hint != NULL) {
        q->hint_bson = cases_bson(hint);
        query.hint = ash__doc_get(ash__doc_from_bson(q->hint_bson), "");
    }
    assert_ok(ash__matcher_new(q->filter_bson, env, &q->matcher, err), err);
    assert_ok(ash__sort_spec_new(q->sort_bson, env, &q->sort, err), err);
    query.filter = q->matcher;
    query.sort = q->sort;
    return ash__plan_new(&query, &q->plan, err);
}

void planned_release(struct planned *q)
{
    ash__plan_free(q->plan);
    ash__matcher_free(q->matcher);
    ash__sort_spec_free(q->sort);
    bson_destroy(q->filter_bson);
    bson_destroy(q->sort_bson);
    bson_destroy(q->hint_bson);
}

void plan_summary(const ash_plan *p, char *text, size_t size)
{
    static const char *const kinds[] = {"EMPTY", "COLLSCAN", "", "OR"};
    const char *name = p->kind == ASH_PLAN_IXSCAN ? p->index->name : kinds[p->kind];
    snprintf(text, size, "%s %u %s%s%s%s%s", name,
             p->kind == ASH_PLAN_OR ? p->branch_count : p->range_count, p->provides_sort ? "S" : "",
             p->merges ? "M" : "", p->needs_fetch_filter ? "F" : "", p->backward ? "B" : "",
             p->may_repeat ? "R" : "");
}
