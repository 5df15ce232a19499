/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_HTTP_SITE_HOSTED_H
#define ASH_TESTS_HTTP_SITE_HOSTED_H

/* A site over a fresh store (tree/support.h) for each test: the tree "/" at "/", and "papers" at
 * "/docs".  It is also known as "files.example". */

#include "http/visit.h"
#include "tree/support.h"

#include "http/site/site.h"

typedef struct hosted {
    fixture *f;
    ash_site *site;
} hosted;

int hosted_setup(void **state);
int hosted_teardown(void **state);

/* A request and its answer; visit_free().  body NULL: none. */
visit *hosted_ask(hosted *h, const char *line, const char *fields, const char *body);
/* One whose status is all that is wanted. */
void hosted_expect(hosted *h, const char *line, const char *fields, const char *body, int status);
/* What a browser asks for. */
visit *hosted_browse(hosted *h, const char *target, int status);
/* What the API answers, as JSON; body: of a POST, NULL for a GET.  bson_destroy(). */
bson_t *hosted_call(hosted *h, const char *call, const char *body, int status);
/* The names or paths of an answer's entries, "a b c". */
void hosted_expect_entries(hosted *h, const char *call, const char *field, const char *values);
/* A member of an answer, as text, by a path with dots; "" when it is not there.  Valid until the
 * next call. */
const char *hosted_member(const bson_t *answer, const char *path);

#endif
