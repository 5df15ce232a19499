/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_WIRE_FAKE_STORE_H
#define ASH_TESTS_WIRE_FAKE_STORE_H

/* A store in memory that knows little: all documents are in one list whatever their collection,
 * filters are not looked at.  It remembers what the last write was asked for. */

#include "base/thread.h"
#include "store/ops.h"

enum { FAKE_DOCS = 4096 };

typedef struct fake_store {
    ash_store base;
    ash_mutex lock;
    ash_doc docs[FAKE_DOCS];
    size_t count;
    ash_durability durability;
    ash_retry_id retry; /* of the last write that had one */
    bool retried;
    int fail_code; /* the next write fails so, with fail_server_code */
    int32_t fail_server_code;
    int64_t insert_ms;          /* how long the next insert takes after its change was made */
    int64_t find_ms;            /* how long a find takes */
    const ash_principal *asked; /* who the last operation came from; of the caller */
} fake_store;

fake_store *fake_store_new(void);
void fake_store_free(fake_store *f);

#endif
