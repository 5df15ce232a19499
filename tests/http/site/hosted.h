/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_HTTP_SITE_HOSTED_H
#define ASH_TESTS_HTTP_SITE_HOSTED_H

/* A site over a fresh store (tree/support.h) for each test: the tree "/" at "/", and "papers" at
 * "/docs".  It is also known as "files.example". */

#include "http/visit.h"
#include "tree/support.h"

#include "http/gate/gate.h"
#include "http/site/site.h"
#include "user/users.h"

typedef struct hosted {
    fixture *f;
    ash_gate *gate; /* asks from the first user on */
    ash_users users;
    ash_site *site;
} hosted;

/* That is told what happens, if set before hosted_setup(). */
extern struct ash_audit *hosted_audit;

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
/* A user of admin, or of DATABASE in "NAME@DATABASE"; roles: a JSON array, in which
 * "$" is the store's default database. */
void hosted_add_user(hosted *h, const char *name, const char *password, const char *roles);
void hosted_change_user(hosted *h, const char *name, const char *password, const char *roles);
void hosted_remove_user(hosted *h, const char *name);
/* As hosted_ask(), by Basic; who: "NAME:PASSWORD", or NULL for nobody. */
visit *hosted_ask_as(hosted *h, const char *who, const char *line, const char *fields,
                     const char *body);
void hosted_expect_as(hosted *h, const char *who, const char *line, const char *body, int status);
/* The names or paths of an answer's entries, "a b c". */
void hosted_expect_entries(hosted *h, const char *call, const char *field, const char *values);
/* A member of an answer, as text, by a path with dots; "" when it is not there.  Valid until the
 * next call. */
const char *hosted_member(const bson_t *answer, const char *path);

#endif
