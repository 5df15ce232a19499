/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CONTRACT_H
#define ASH_TESTS_CONTRACT_H

/* One suite over the public API, for every backend.
 *
 * The store comes from the environment variable ASH_TEST_STORE; without it every test opens a
 * fresh folder, which is removed afterwards.  Each test works in a database of its own, dropped
 * at the end. */

#include "check.h"

#include <ashlar/ashlar.h>

typedef struct contract {
    ash_store *store;
    ash_collection *c; /* "things" in the test's database */
    char db[40];
    char folder[256]; /* "" when the store was named from outside */
    ash_error err;
    ash_capabilities can;
} contract;

int contract_setup(void **state);
int contract_teardown(void **state);

/* A document from JSON (extended), freed by the test's end. */
bson_t *json(const char *text);
/* What json() made so far is not needed any more. */
void forget_json(void);
ash_collection *open_collection(contract *t, const char *name);

/* The batch as one relaxed extended JSON array, without spaces, in the order it came; freed by
 * the test's end. */
const char *found(contract *t, ash_collection *c, const char *filter, const char *sort,
                  const char *projection, int64_t skip, int64_t limit);
const char *drain(contract *t, ash_cursor *cursor);
const char *compact_json(const bson_t *b);

int insert_json(contract *t, ash_collection *c, const char *doc);
int update_json(contract *t, ash_collection *c, const char *filter, const char *update,
                ash_update_options *opts, ash_write_result *r);
int index_json(contract *t, ash_collection *c, const char *specs, bson_t *reply);
int64_t count_json(contract *t, ash_collection *c, const char *filter);

/* Another thread inserts {_id: id, a: 0} into "things" in a moment; wait for it to have done so. */
void insert_soon(contract *t, int32_t id);
void insert_soon_wait(void);

/* Document number n of a size around bytes. */
bson_t *big_document(int32_t n, size_t bytes);

#define CONTRACT(name) cmocka_unit_test_setup_teardown(name, contract_setup, contract_teardown)

#endif
