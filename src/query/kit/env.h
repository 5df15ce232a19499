/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_ENV_H
#define ASH_QUERY_KIT_ENV_H

/* What a query, update or pipeline may ask of its surroundings.  All pointers are borrowed for the
 * lifetime of whatever was compiled with them. Nothing in src/query does I/O; of time it knows only
 * base/budget.h. */

#include "bson/compare.h"

typedef struct ash_query_env {
    ash_collation collation;       /* all zero: byte order */
    int64_t now_ms;                /* $$NOW and $currentDate */
    const bson_oid_t *new_id;      /* the _id of what an upsert makes without one; NULL: any new */
    uint64_t cluster_time;         /* $$CLUSTER_TIME and timestamps: seconds << 32 | increment */
    const bson_t *let;             /* $$variables, already constants, undefined standing for
                                      missing; or NULL */
    const volatile int *cancelled; /* non-zero: stop with ASH_EINTERRUPTED; or NULL */
    int64_t deadline_ms; /* on the monotonic clock, 0 = none; what runs long between two documents
                            is stopped by base/budget.h */
    size_t memory_limit_bytes; /* for sort and group; 0 = 100 MiB */
} ash_query_env;

/* Has another thread raised the flag? */
static inline bool ash__query_cancelled(const ash_query_env *env)
{
    return env->cancelled != NULL && __atomic_load_n(env->cancelled, __ATOMIC_RELAXED) != 0;
}

/* One row of docs/COMPATIBILITY.md.  Tables of them end with a name of NULL and are constant. */
typedef struct ash_feature {
    const char *name;
    const char *support; /* "full", "partly", "refused" */
    const char *note; /* what differs, or the code it is refused with; "" when there is nothing */
} ash_feature;

#endif
