/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_QUERY_PROJECT_CASES_H
#define ASH_TESTS_QUERY_PROJECT_CASES_H

#include "cases.h"

#include "query/project/project.h"

struct project_case {
    const char *spec, *doc, *expected;
};

/* filter: what found the document, for positional projections; or NULL. */
void project_check(const struct project_case *c, const char *filter);
void project_check_errors(const struct error_case *cases, size_t count);

#endif
