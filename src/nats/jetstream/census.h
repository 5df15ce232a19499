/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_CENSUS_H
#define ASH_NATS_JETSTREAM_CENSUS_H

/* How many messages a store would be as a stream. */

#include "nats/jetstream/answer.h"

/* Appends the member "state", which it leaves open: objects, tombstones and links are a message each, bytes one for each
 * chunk.  Counted once for each state of the store.  st: of s. */
int ash__jsd_census_write(ash_jetstream *j, ash_object_store *s, const ash_object_status *st,
                          ash_buffer *out, ash_error *err);
/* "subjects" of at most ASH_JSD_SUBJECTS subjects that match the filter, behind the first `offset`;
 * total: that match.  Of puts that are under way only who asks for one by its NUID is told. */
enum { ASH_JSD_SUBJECTS = 100000 };
typedef struct ash_jsd_subjects {
    const char *filter;
    int64_t offset;
    int64_t total; /* out */
} ash_jsd_subjects;
int ash__jsd_census_subjects(ash_jetstream *j, ash_object_store *s, ash_jsd_subjects *asked,
                             ash_buffer *out, ash_error *err);
void ash__jsd_censuses_free(ash_jetstream *j);

#endif
