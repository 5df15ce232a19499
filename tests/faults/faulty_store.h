/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_FAULTS_STORE_H
#define ASH_TESTS_FAULTS_STORE_H

/* A store around another one, whose n-th call fails, is late or finds the world changed. */

#include "store/ops.h"

ash_store *faulty_store_new(ash_store *inner);
void faulty_store_free(ash_store *store); /* the inner store stays open */

/* The n-th call from now on fails: with ASH_ENOSPC before the inner store sees it, or with ASH_EIO
 * after it is done, so that its outcome is unknown.  delay_ms > 0: it is late instead.  n 0: none.
 */
void faulty_store_set(ash_store *store, int n, bool done, int delay_ms);
/* From now on every call is late. */
void faulty_store_slow(ash_store *store, int every_ms);
bool faulty_store_happened(const ash_store *store);
/* How many calls there were. */
int faulty_store_calls(const ash_store *store);
/* Before the n-th call from now on, something else happens: fn.  It may use the inner store, not
 * this one. */
void faulty_store_before(ash_store *store, int n, void (*fn)(void *ctx), void *ctx);
/* From now on without transactions, as a single MongoDB server. */
void faulty_store_bare(ash_store *store);
/* What one transaction did at most, and how many there were, from faulty_store_count() on; for one
 * thread alone. */
typedef struct faulty_work {
    int64_t calls;   /* operations of one */
    int64_t removed; /* documents that one took away by ash_collection_remove() */
    int64_t transactions;
} faulty_work;
void faulty_store_count(ash_store *store);
faulty_work faulty_store_work(const ash_store *store);
/* Of the last find_and_modify; NULL: none was given.  The store's own. */
const bson_t *faulty_store_write_concern(const ash_store *store);

#endif
