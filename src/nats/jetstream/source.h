/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_SOURCE_H
#define ASH_NATS_JETSTREAM_SOURCE_H

/* The messages that a consumer is given, in their order. */

#include "nats/jetstream/messages.h"

typedef enum ash_jsd_policy {
    ASH_JSD_ALL,
    ASH_JSD_LAST,
    ASH_JSD_NEW,
    ASH_JSD_FROM_SEQUENCE,
    ASH_JSD_FROM_TIME
} ash_jsd_policy;

typedef struct ash_jsd_source_request {
    const char *filter; /* a subject of the store */
    ash_jsd_policy policy;
    uint64_t sequence;
    int64_t time_ms;
    bool heads; /* without the bytes of chunks */
} ash_jsd_source_request;

typedef struct ash_jsd_source ash_jsd_source;

/* Takes over the store, also on failure.  *out is yours: ash__jsd_source_free().  ASH_EINVAL: the
 * filter is none that is served. */
int ash__jsd_source_open(ash_jsd_client *c, ash_object_store *s, const ash_jsd_source_request *r,
                         ash_jsd_source **out, ash_error *err);
/* That are there and were not given. */
uint64_t ash__jsd_source_pending(ash_jsd_source *u);
/* Does not wait for anybody.  *got false: there is none for now.  An error ends it: the object is
 * another by now, the store is gone. */
int ash__jsd_source_next(ash_jsd_source *u, ash_jsd_stored *out, bool *got, ash_error *err);
void ash__jsd_source_free(ash_jsd_source *u);

#endif
