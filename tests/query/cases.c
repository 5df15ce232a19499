/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* libbson's JSON reader takes some operators for its own types: these are written with @. */
static void restore_names(uint8_t *bytes, ash_doc doc)
{
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        if (it.name[0] == '@')
            bytes[(const uint8_t *)it.name - bytes] = '$';
        if (it.value.type == BSON_TYPE_DOCUMENT || it.value.type == BSON_TYPE_ARRAY)
            restore_names(bytes, ash__value_doc(it.value));
    }
}

bson_t *cases_bson(const char *json)
{
    bson_error_t error;
    char *text = ash__strdup(json);
    for (char *c = text; *c != 0; c++)
        if (*c == '\'')
            *c = '"';
    bson_t *doc = bson_new_from_json((const uint8_t *)text, -1, &error);
    if (doc == NULL)
        fail_msg("bad JSON: %s: %s", text, error.message);
    ash__free(text);
    uint32_t len;
    uint8_t *bytes = bson_destroy_with_steal(doc, true, &len);
    restore_names(bytes, (ash_doc){bytes, len});
    doc = bson_new_from_data(bytes, len);
    bson_free(bytes);
    return doc;
}

void cases_match(const struct match_case *cases, size_t count, const ash_query_env *env)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *filter = cases_bson(cases[i].filter);
        bson_t *doc = cases_bson(cases[i].doc);
        ash_matcher *m = NULL;
        if (ash__matcher_new(filter, env, &m, &err) != 0)
            fail_msg("%s: %s", cases[i].filter, err.text);
        bool matches = ash__matcher_test(m, ash__doc_from_bson(doc), NULL, &err);
        if (matches != cases[i].matches)
            fail_msg("%s %s %s", cases[i].filter, matches ? "matches" : "does not match",
                     cases[i].doc);
        ash__matcher_free(m);
        bson_destroy(filter);
        bson_destroy(doc);
    }
}

void cases_filter_errors(const struct error_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *filter = cases_bson(cases[i].text);
        ash_matcher *m = NULL;
        int result = ash__matcher_new(filter, NULL, &m, &err);
        if (result == 0 || ash_error_server_code(&err) != cases[i].server_code)
            fail_msg("%s: code %d, not %d: %s", cases[i].text, (int)ash_error_server_code(&err),
                     (int)cases[i].server_code, err.text);
        if (strstr(err.text, cases[i].names) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].text, err.text, cases[i].names);
        assert_null(m);
        bson_destroy(filter);
    }
}
