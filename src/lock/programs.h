/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_LOCK_PROGRAMS_H
#define ASH_LOCK_PROGRAMS_H

/* The transitions of a lock document, as pipeline updates: the whole protocol (docs/LOCKS.md).
 *
 * Each runs inside one findAndModify, decides by the document and the server's clock ($$NOW), and
 * finds its parameters in the field `_q`, which its first stage sets and its last one takes away. A
 * transition that changes nothing leaves the document's bytes as they are, so that nobody is woken
 * by it.
 *
 * The document, by write_lock and read_locks:
 *
 *   free ──OBTAIN_WRITE──▶ written ──RELEASE_WRITE──▶ free
 *   free ──OBTAIN_READ──▶ read ──OBTAIN_READ──▶ read
 *   read ──RELEASE_READ──▶ read, or free when it was the last reader
 *   written ──RENEW_WRITE──▶ written, for longer;  read ──RENEW_READ──▶ read, for longer
 *   written, read ──OBTAIN_WRITE──▶ written, and ──OBTAIN_READ──▶ read, once the lives of those who
 *                                   hold it are over: they have lost it
 *   written ──ash__lock_brief_pass──▶ written, by the first in the queue
 *   written ──ash__lock_delete──▶ no document ──OBTAIN_WRITE, OBTAIN_READ (upsert)──▶ as from free
 *   anything ──BREAK──▶ free
 *
 * Beside that, a refused OBTAIN_WRITE that waits enters `waiters`, and takes others of its process along
 * in any case; one that is granted leaves them, and so does WITHDRAW. */

#include "base/error.h"

#include <bson/bson.h>

enum ash_lock_program {
    ASH_LOCK_OBTAIN_READ,
    ASH_LOCK_OBTAIN_WRITE,
    ASH_LOCK_RELEASE_READ,
    ASH_LOCK_RELEASE_WRITE,
    ASH_LOCK_RENEW_READ,
    ASH_LOCK_RENEW_WRITE,
    ASH_LOCK_WITHDRAW, /* a waiting writer leaves the queue */
    ASH_LOCK_BREAK,
    ASH_LOCK_PROGRAM_COUNT
};

typedef struct ash_lock_programs {
    bson_t stages[ASH_LOCK_PROGRAM_COUNT]; /* arrays of stages, without the parameters */
} ash_lock_programs;

int ash__lock_programs_init(ash_lock_programs *p, ash_error *err);
void ash__lock_programs_release(ash_lock_programs *p); /* zeroed is fine */

/* The update array: parameters first.  *out is initialised; bson_destroy() by the caller. */
void ash__lock_program_with(const ash_lock_programs *p, enum ash_lock_program which,
                            const bson_t *parameters, bson_t *out);

/* Parsed from the same notation: extended JSON with ' for ". */
int ash__lock_parse(const char *text, bson_t *out, ash_error *err);

#endif
