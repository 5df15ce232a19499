/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_QUERY_PIPELINE_CASES_H
#define ASH_TESTS_QUERY_PIPELINE_CASES_H

/* Pipelines over documents in memory: the test plays the store, which runs the head, and the
 * host, which finds in a few collections. */

#include "agg_cases.h"

#include "query/pipeline/pipeline.h"

/* {name: [documents]}: what $lookup and its kin see. */
extern const char *const case_collections;

struct pipeline_case {
    const char *stages;
    const char *docs; /* a JSON array */
    const char *expected;
};
void cases_pipeline(const struct pipeline_case *cases, size_t count);
#define RUN_PIPELINE(table) cases_pipeline(table, sizeof(table) / sizeof((table)[0]))

/* Fails while parsing, or while running over [{_id: 1, a: 1, s: 'x'}]. */
void cases_pipeline_errors(const struct error_case *cases, size_t count);
#define RUN_PIPELINE_ERRORS(table) cases_pipeline_errors(table, sizeof(table) / sizeof((table)[0]))

/* Runs one; the results as {v: [documents]} in *out, which the caller destroys. */
int cases_run_pipeline(const char *stages, const char *docs, const ash_query_env *env, bson_t **out,
                       ash_error *err);

/* The filters that reached the host in the last run, as {"0": {…}, …}; what was written. */
const bson_t *cases_host_filters(void);
const bson_t *cases_host_written(void);
void cases_host_reset(void);

#endif
