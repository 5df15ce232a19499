/* SPDX-License-Identifier: Apache-2.0 */
#include "agg_cases.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

const ash_query_env case_env = {.now_ms = CASE_NOW_MS, .cluster_time = CASE_CLUSTER_TIME};

void cases_same(const char *what, const char *on, const bson_t *expected, const bson_t *found)
{
    if (bson_equal(expected, found))
        return;
    char *want = bson_as_canonical_extended_json(expected, NULL);
    char *have = bson_as_canonical_extended_json(found, NULL);
    fail_msg("%s on %s:\n  expected %s\n  found    %s", what, on, want, have);
}

bson_t *cases_value(const char *json)
{
    char *text = ash__sprintf("{'v': %s}", json);
    bson_t *b = cases_bson(text);
    ash__free(text);
    return b;
}

/* Zero, or the failure; *out is {v: result}. */
static int eval_expr(const char *json, const bson_t *doc, bson_t **out, ash_error *err)
{
    bson_t *spec = cases_value(json);
    ash_expr *e = NULL;
    ash_arena *arena = ash__arena_new();
    ash_value v = ASH_VALUE_MISSING;
    int rc = ash__expr_new(ash__doc_get(ash__doc_from_bson(spec), "v"), &case_env, &e, err);
    bson_destroy(spec);
    if (rc == 0)
        rc = ash__expr_eval(e, ash__doc_from_bson(doc), NULL, arena, &v, err);
    if (rc == 0) {
        ash_builder b = ASH_BUILDER_INIT;
        ash__builder_begin(&b);
        ash__builder_value(&b, "v", v);
        ash__builder_end(&b);
        *out = bson_new_from_data(b.buf.data, b.buf.len);
        assert_non_null(*out);
        ash__builder_release(&b);
    }
    ash__expr_free(e);
    ash__arena_free(arena);
    return rc;
}

void cases_expr(const struct expr_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *doc = cases_bson(cases[i].doc);
        bson_t *expected =
            cases[i].expected == NULL ? cases_bson("{}") : cases_value(cases[i].expected);
        bson_t *found = NULL;
        if (eval_expr(cases[i].expr, doc, &found, &err) != 0)
            fail_msg("%s on %s: %s", cases[i].expr, cases[i].doc, err.text);
        cases_same(cases[i].expr, cases[i].doc, expected, found);
        bson_destroy(doc);
        bson_destroy(expected);
        bson_destroy(found);
    }
}

void cases_check_error(const char *what, int rc, const ash_error *err, int32_t server_code,
                       const char *names)
{
    if (rc == 0)
        fail_msg("%s does not fail", what);
    if (ash_error_server_code(err) != server_code)
        fail_msg("%s: code %d, expected %d: %s", what, (int)ash_error_server_code(err),
                 (int)server_code, err->text);
    if (names != NULL && strstr(err->text, names) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", what, err->text, names);
    assert_int_equal(rc, err->code);
}

void cases_expr_errors(const struct error_case *cases, size_t count)
{
    bson_t *doc = cases_bson("{'a': [1, 2], 's': 'x', 'n': 5, 'z': null}");
    for (size_t i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        bson_t *found = NULL;
        int rc = eval_expr(cases[i].text, doc, &found, &err);
        bson_destroy(found);
        cases_check_error(cases[i].text, rc, &err, cases[i].server_code, cases[i].names);
    }
    bson_destroy(doc);
}
