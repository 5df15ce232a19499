/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_WATCH_H
#define ASH_NATS_JETSTREAM_WATCH_H

/* A store's meta messages as they are and as they come, for a client that must not wait: a thread
 * waits, and wakes the client.
 *
 * What the store has is told first, in the order of its revisions, and then changes; nothing twice,
 * nothing left out between.  What is purged, expires or leaves its name is not told, as JetStream
 * does not. */

#include "nats/jetstream/answer.h"

typedef struct ash_jsd_watch ash_jsd_watch;

typedef struct ash_jsd_watch_request {
    const char *name;   /* of the only object that matters; NULL: all */
    bool news;          /* nothing that was there before */
    uint64_t revision;  /* nothing with a smaller one; 0: all */
    int64_t changed_ms; /* nothing that was changed before; 0: all */
} ash_jsd_watch_request;

/* Takes over s when it returns 0; then *out is yours: ash__jsd_watch_free().  ASH_ENOMEM: the server
 * has too many, or the client has its share.  May wait for threads that are about to end. */
int ash__jsd_watch_open(ash_jsd_client *c, ash_object_store *s, const ash_jsd_watch_request *r,
                        ash_jsd_watch **out, ash_error *err);
/* Has the client as many as one may have? */
bool ash__jsd_watch_share_is_used(const ash_jsd_client *c);
/* How many there are still to be told of those that were there; 0 from then on. */
uint64_t ash__jsd_watch_pending(ash_jsd_watch *w);
/* Does not wait.  *out is yours, or NULL: nothing for now. */
int ash__jsd_watch_next(ash_jsd_watch *w, ash_object **out, ash_error *err);
/* Its thread may go on for a moment, without the client. */
void ash__jsd_watch_free(ash_jsd_watch *w);
/* Waits for the threads of all that were freed. */
void ash__jsd_watches_end(ash_jetstream *j);

#endif
