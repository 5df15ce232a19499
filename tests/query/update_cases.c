/* SPDX-License-Identifier: Apache-2.0 */
#include "agg_cases.h"

static int match_details(const char *filter, ash_doc doc, ash_match_details *details,
                         ash_error *err)
{
    bson_t *spec = cases_bson(filter);
    ash_matcher *m = NULL;
    int rc = ash__matcher_new(spec, &case_env, &m, err);
    if (rc == 0 && !ash__matcher_test(m, doc, details, NULL))
        fail_msg("%s does not match", filter);
    ash__matcher_free(m);
    bson_destroy(spec);
    return rc;
}

static bson_t *bson_of(const ash_builder *b)
{
    bson_t *doc = bson_new_from_data(b->buf.data, b->buf.len);
    assert_non_null(doc);
    return doc;
}

int cases_apply(const char *update, const char *filters, const char *filter, const char *doc_json,
                bson_t **out, bool *modified, bson_t **changes, ash_error *err)
{
    bson_t *spec = cases_value(update);
    bson_t *filter_list = filters != NULL ? cases_bson(filters) : NULL;
    bson_t *doc = cases_bson(doc_json != NULL ? doc_json : "{}");
    ash_match_details details = {-1};
    ash_update *u = NULL;
    ash_builder result = ASH_BUILDER_INIT, change = ASH_BUILDER_INIT;
    bool changed = false;
    int rc = ash__update_new(ash__doc_get(ash__doc_from_bson(spec), "v"), filter_list, &case_env,
                             &u, err);
    bson_destroy(spec);
    if (rc == 0 && filter != NULL)
        rc = match_details(filter, ash__doc_from_bson(doc), &details, err);
    const ash_update_subject subject = {.doc = ash__doc_from_bson(doc), .details = &details};
    if (rc == 0)
        rc = ash__update_apply(u, &subject, &result, &changed, changes != NULL ? &change : NULL,
                               err);
    else if (doc_json != NULL && u == NULL)
        fail_msg("%s: %s", update, err->text);
    if (rc == 0 && out != NULL)
        *out = bson_of(&result);
    if (rc == 0 && changes != NULL && change.buf.len > 0)
        *changes = bson_of(&change);
    if (modified != NULL)
        *modified = changed;
    ash__builder_release(&result);
    ash__builder_release(&change);
    ash__update_free(u);
    bson_destroy(filter_list);
    bson_destroy(doc);
    return rc;
}

void cases_update(const struct update_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *expected = cases_bson(cases[i].expected);
        bson_t *doc = cases_bson(cases[i].doc);
        bson_t *found = NULL;
        bool modified;
        int rc =
            cases_apply(cases[i].update, NULL, NULL, cases[i].doc, &found, &modified, NULL, &err);
        if (rc != 0)
            fail_msg("%s on %s: %s", cases[i].update, cases[i].doc, err.text);
        cases_same(cases[i].update, cases[i].doc, expected, found);
        assert_int_equal(modified, !bson_equal(doc, found));
        bson_destroy(expected);
        bson_destroy(doc);
        bson_destroy(found);
    }
}

void cases_update_errors(const struct update_error_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        int rc = cases_apply(cases[i].update, NULL, NULL, cases[i].doc, NULL, NULL, NULL, &err);
        cases_check_error(cases[i].update, rc, &err, cases[i].server_code, cases[i].names);
    }
}
