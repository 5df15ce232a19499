/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_TRANSACTION_H
#define ASH_STORE_TRANSACTION_H

/* For what is built on a store and takes part in a caller's transaction: to learn how it ended.
 *
 *   fn runs ──▶ 0 ──▶ commit ──▶ ASH_COMMITTED
 *    ▲  │               ├──────▶ ASH_UNDONE
 *    │  └─▶ failure ────┤
 *    │                  └──────▶ ASH_UNCERTAIN   the answer to the commit was lost
 *    └── again (ASH_UNDONE is told of the run before)
 */

#include <ashlar/store.h>

typedef enum ash_outcome { ASH_COMMITTED, ASH_UNDONE, ASH_UNCERTAIN } ash_outcome;

/* Somebody who wants to be told.  Embedded in memory of his own that stays until then. */
typedef struct ash_transaction_end {
    struct ash_transaction_end *next; /* transact.c's */
    /* Once for each time that it was asked for, when no transaction of the store runs on the
     * thread: everything may be called.  Newest first. */
    void (*fn)(struct ash_transaction_end *self, ash_outcome outcome);
} ash_transaction_end;

/* From within a transaction: end->fn is to be called. */
void ash__transaction_at_end(ash_transaction *t, ash_transaction_end *end);

/* An operation of several parts failed behind its first change: the transaction cannot be committed
 * any more, whatever fn returns (ASH_ESTATE when it is 0). */
void ash__transaction_break(ash_transaction *t);

bool ash__transaction_is_of(const ash_transaction *t, const ash_store *store);

#endif
