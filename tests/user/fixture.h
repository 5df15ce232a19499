/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_USER_FIXTURE_H
#define ASH_TESTS_USER_FIXTURE_H

#include "check.h"

#include "user/users.h"

/* Users of a store in a folder of its own, removed at the end. */
typedef struct fixture {
    char folder[256];
    ash_store *store;
    ash_users users;
    ash_error err;
} fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);
/* JSON as a document; the caller destroys. */
bson_t *fixture_json(const char *text);
/* A user or role by JSON of {pwd, roles, privileges, customData, mechanisms}; where: "name@db". */
int fixture_create(fixture *f, const ash_user_kind *kind, const char *where, const char *json);
int fixture_update(fixture *f, const ash_user_kind *kind, const char *where, const char *json);
/* What the user's roles allow; the caller releases. */
void fixture_resolve(fixture *f, const char *name, const char *db, ash_privileges *out);

#endif
