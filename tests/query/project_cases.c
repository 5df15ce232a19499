/* SPDX-License-Identifier: Apache-2.0 */
#include "project_cases.h"

#include <string.h>

void project_check(const struct project_case *c, const char *filter)
{
    ash_error err = ASH_ERROR_INIT;
    ash_projection *p = NULL;
    ash_builder out = ASH_BUILDER_INIT;
    ash_match_details details = {-1};
    bson_t *spec = cases_bson(c->spec), *doc = cases_bson(c->doc);
    bson_t *expected = cases_bson(c->expected), got;
    ash_matcher *m = NULL;
    if (filter != NULL) {
        bson_t *query = cases_bson(filter);
        assert_ok(ash__matcher_new(query, NULL, &m, &err), &err);
        assert_true(ash__matcher_test(m, ash__doc_from_bson(doc), &details, NULL));
        bson_destroy(query);
    }
    if (ash__projection_new(spec, NULL, &p, &err) != 0 ||
        ash__projection_apply(p, ash__doc_from_bson(doc), &details, &out, &err) != 0)
        fail_msg("%s: %s", c->spec, err.text);
    ash__doc_to_bson(ash__builder_doc(&out), &got);
    if (!bson_equal(&got, expected)) {
        char *text = bson_as_relaxed_extended_json(&got, NULL);
        fail_msg("%s of %s: %s, not %s", c->spec, c->doc, text, c->expected);
    }
    ash__projection_free(p);
    ash__matcher_free(m);
    ash__builder_release(&out);
    bson_destroy(spec);
    bson_destroy(doc);
    bson_destroy(expected);
}

void project_check_errors(const struct error_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        ash_projection *p = NULL;
        bson_t *spec = cases_bson(cases[i].text);
        if (ash__projection_new(spec, NULL, &p, &err) == 0 ||
            ash_error_server_code(&err) != cases[i].server_code ||
            strstr(err.text, cases[i].names) == NULL)
            fail_msg("%s: %d %s", cases[i].text, (int)ash_error_server_code(&err), err.text);
        assert_null(p);
        bson_destroy(spec);
    }
}
