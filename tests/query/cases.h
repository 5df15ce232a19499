/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_QUERY_CASES_H
#define ASH_TESTS_QUERY_CASES_H

/* Tables of cases, written as Extended JSON with single quotes for double ones,
 * @type, @regex and @options for the operators of those names. */

#include "check.h"

#include "query/match/match.h"

/* Fails the test when the text is no JSON.  The caller destroys it. */
bson_t *cases_bson(const char *json);

struct match_case {
    const char *filter;
    const char *doc;
    bool matches;
};
void cases_match(const struct match_case *cases, size_t count, const ash_query_env *env);

struct error_case {
    const char *text;
    int32_t server_code;
    const char *names; /* must be in the error's text */
};
void cases_filter_errors(const struct error_case *cases, size_t count);

#define RUN_MATCH(table)          cases_match(table, sizeof(table) / sizeof((table)[0]), NULL)
#define RUN_MATCH_ENV(table, env) cases_match(table, sizeof(table) / sizeof((table)[0]), env)
#define RUN_FILTER_ERRORS(table)  cases_filter_errors(table, sizeof(table) / sizeof((table)[0]))

#endif
