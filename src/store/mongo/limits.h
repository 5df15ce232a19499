/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_MONGO_LIMITS_H
#define ASH_STORE_MONGO_LIMITS_H

/* Deadlines and cancel flags on the driver's connections.
 *
 * The driver has one socket timeout for all that a client does.  So each client of the pool opens
 * its connections here, as sockets of the driver's own with a stream around them that also looks at
 * the limits of the call at hand: while it waits for an answer, the flag every 50 ms.  A connection
 * given up this way is closed; the deployment stops by maxTimeMS.
 *
 * With TLS the driver opens its connections itself, for only it knows all the options; then a
 * silent deployment is given up after socketTimeoutMS. */

#include <mongoc/mongoc.h>
#include <stdint.h>

#include "base/thread.h"

/* Of one client; used by the one thread that has the client. */
typedef struct ash_mongo_limits {
    struct ash_mongo_limits *next;
    mongoc_client_t *client;
    int64_t deadline_ms;        /* 0 = none */
    const volatile int *cancel; /* or NULL */
    /* Identity of the client's commits by ashlarTransact (replay.h). */
    uint8_t session[16];
    int64_t commits;
} ash_mongo_limits;

typedef struct ash_mongo_limits_list {
    ash_mutex lock; /* guards the list, not what its items say */
    ash_mongo_limits *first;
} ash_mongo_limits_list;

void ash__mongo_limits_init(ash_mongo_limits_list *list);
/* After the pool is gone. */
void ash__mongo_limits_release(ash_mongo_limits_list *list);
/* The client's, made when it is new; valid until release. */
ash_mongo_limits *ash__mongo_limits_of(ash_mongo_limits_list *list, mongoc_client_t *client);

#endif
