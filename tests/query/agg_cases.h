/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_QUERY_AGG_CASES_H
#define ASH_TESTS_QUERY_AGG_CASES_H

/* Tables of cases for expressions, updates and pipelines, in the JSON of cases.h. */

#include "cases.h"

#include "query/expr/expr.h"
#include "query/update/update.h"

/* The clock of all cases: 2024-02-29T12:30:45.678Z, and second 1000, increment 7. */
#define CASE_NOW_MS       INT64_C(1709209845678)
#define CASE_CLUSTER_TIME (UINT64_C(1000) << 32 | 7)
extern const ash_query_env case_env;

/* A JSON value in a document of its own, under "v". */
bson_t *cases_value(const char *json);

struct expr_case {
    const char *expr;
    const char *doc;
    const char *expected; /* NULL: missing */
};
void cases_expr(const struct expr_case *cases, size_t count);
#define RUN_EXPR(table) cases_expr(table, sizeof(table) / sizeof((table)[0]))

/* Fails while parsing or evaluating over {a: [1, 2], s: "x", n: 5, z: null}. */
void cases_expr_errors(const struct error_case *cases, size_t count);
#define RUN_EXPR_ERRORS(table) cases_expr_errors(table, sizeof(table) / sizeof((table)[0]))

struct update_case {
    const char *update;
    const char *doc;
    const char *expected;
};
void cases_update(const struct update_case *cases, size_t count);
#define RUN_UPDATE(table) cases_update(table, sizeof(table) / sizeof((table)[0]))

struct update_error_case {
    const char *update;
    const char *doc; /* NULL: fails while parsing */
    int32_t server_code;
    const char *names;
};
void cases_update_errors(const struct update_error_case *cases, size_t count);
#define RUN_UPDATE_ERRORS(table) cases_update_errors(table, sizeof(table) / sizeof((table)[0]))

/* Applies an update to what filter matches, with array filters and changes if not NULL; the new
 * document in *out (the caller destroys it).  Returns what applying returned. */
int cases_apply(const char *update, const char *filters, const char *filter, const char *doc,
                bson_t **out, bool *modified, bson_t **changes, ash_error *err);

/* It failed, with that code, and the text says so. */
void cases_check_error(const char *what, int rc, const ash_error *err, int32_t server_code,
                       const char *names);

/* Equal bytes, or the test fails and shows both as JSON. */
void cases_same(const char *what, const char *on, const bson_t *expected, const bson_t *found);

#endif
