/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_STORE_MONGO_SUPPORT_H
#define ASH_TESTS_STORE_MONGO_SUPPORT_H

#include "check.h"

#include "mock/mock.h"
#include "store/ops.h"

/* A store on a scripted deployment, with collection test.c. */
struct rig {
    mock *m;
    ash_store *store;
    ash_collection *c;
    ash_error err;
};

void rig_start(struct rig *r, enum mock_kind kind, const char *options,
               const ash_store_options *opts);
/* Closes the store, then fails the test when the script was not kept. */
void rig_finish(struct rig *r);

/* Answer command with a batch of the cursor: which is "first" or "next", id 0 ends it, docs is
 * "{…}, {…}". */
void rig_expect_batch(struct rig *r, const char *command, const char *which, int id,
                      const char *docs);

/* Insert 'json' documents; NULL ends the list. */
int rig_insert(struct rig *r, const ash_insert_options *opts, ash_write_result *result, ...);
/* A number out of a view. */
int64_t field_of(ash_doc doc, const char *name);
/* A bson_value_t that borrows b. */
bson_value_t doc_value(const bson_t *b);
void assert_json(const bson_t *actual, const char *expected);

#endif
