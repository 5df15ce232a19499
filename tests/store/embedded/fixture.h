/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_EMBEDDED_FIXTURE_H
#define ASH_TESTS_EMBEDDED_FIXTURE_H

#include "check.h"

#include "store/embedded/kit/embedded.h"

/* An embedded store in a folder of its own, removed at the end. */
typedef struct fixture {
    char folder[256];
    ash_store_options opts;
    ash_store *store;
    ash_collection *c; /* test.things */
    ash_error err;
} fixture;

int fixture_setup(void **state);
int fixture_teardown(void **state);
void fixture_open(fixture *f);
void fixture_close(fixture *f);

bson_t *fixture_json(const char *text); /* the caller destroys */
int fixture_insert(fixture *f, ash_collection *c, const char *doc);
int64_t fixture_count(fixture *f, ash_collection *c, const char *filter);
bson_t *fixture_chunk(int file, int n, int version, size_t bytes); /* the caller destroys */

#define EMBEDDED(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

#endif
