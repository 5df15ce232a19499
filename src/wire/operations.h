/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_OPERATIONS_H
#define ASH_WIRE_OPERATIONS_H

/* Commands that run now: what currentOp shows and killOp stops. */

#include "base/thread.h"
#include "bson/builder.h"
#include "wire/access.h"

/* Raise a flag that ash_op.cancel points at. */
static inline void ash__cancel(volatile int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

typedef struct ash_operation {
    int32_t id;
    volatile int cancel; /* the store looks at it (ash_op.cancel) */
    int64_t started_us;  /* monotonic */
    int64_t started_wall_ms;
    const struct ash_stream *stream; /* of the connection */
    bool only_reads;                 /* nobody misses it when its client is gone */
    int64_t connection_id;
    ash_who who;        /* asks */
    bool secret;        /* its body is not shown */
    const char *client; /* address text; lives as long as the connection */
    const char *db;     /* all views live while the command runs */
    const char *name;
    ash_doc body;
    char stage[32]; /* of long work; empty: it does not tell */
    int64_t done, total;
    struct ash_operation *next;
    struct ash_operation *prev;
} ash_operation;

typedef struct ash_operation_list {
    ash_mutex lock; /* guards the list and the operations' fields but cancel */
    ash_operation *first;
    int32_t last_id;
    bool stopping;
} ash_operation_list;

void ash__operations_init(ash_operation_list *list);
void ash__operations_release(ash_operation_list *list); /* must be empty */

/* Enter and leave; begin gives an id and clears cancel (or
 * raises it, when all are stopped). */
void ash__operations_begin(ash_operation_list *list, ash_operation *op);
void ash__operations_end(ash_operation_list *list, ash_operation *op);

/* How far it is, for currentOp: done of total (0: not known) of what it works at. */
void ash__operations_progress(ash_operation_list *list, ash_operation *op, const char *what,
                              int64_t done, int64_t total);

/* who: it must be that user's; NULL: anybody's. */
bool ash__operations_kill(ash_operation_list *list, int32_t id, const ash_who *who);

/* Interrupt those that only read for a client who has hung up.  What writes goes on: it may have
 * been sent to be done without an answer. */
void ash__operations_abandon(ash_operation_list *list);

/* Interrupt all, those that begin later, too. */
void ash__operations_stop(ash_operation_list *list);

/* Append {opid, op, ns, command, …} documents as items of an open array; returns how many.
 * who: as above. */
uint32_t ash__operations_describe(ash_operation_list *list, const ash_who *who, ash_builder *array);

#endif
