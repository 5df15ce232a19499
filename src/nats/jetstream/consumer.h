/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_CONSUMER_H
#define ASH_NATS_JETSTREAM_CONSUMER_H

/* A consumer: a source, and how its messages get to the client.
 *
 * It belongs to the client that made it, and ends with its connection; who comes again makes another
 * one, as clients do for ordered consumers.  Nothing is acknowledged: acknowledgements are taken and
 * mean nothing, and what was given is not given again.
 *
 * A push consumer with flow control has at most a window of bytes under way: beyond half of it, the
 * client is asked to say that it has come so far, and the window grows with each answer. */

#include "nats/jetstream/source.h"

enum {
    ASH_JSD_REQUESTS = 512,                 /* of a pull consumer, at once */
    ASH_JSD_TEXT_BYTES = 1024 * 1024,       /* of what a client's consumers keep of its words */
    ASH_JSD_WINDOW_FIRST = 2 * 1024 * 1024, /* bytes … */
    ASH_JSD_WINDOW_LAST = 32 * 1024 * 1024, /* … at most */
    ASH_JSD_INACTIVE_MS = 5000,             /* a consumer without interest lives so long … */
    ASH_JSD_LEFT_MS = 1000                  /* … and one to which somebody listened before */
};

/* What a client of a pull consumer asked for. */
typedef struct ash_jsd_pull {
    struct ash_jsd_pull *next;
    char *reply;
    int64_t batch, bytes; /* left; bytes < 0: any number */
    int64_t expires_ms;   /* monotonic; 0: never */
    int64_t heartbeat_ms, heard_ms;
    bool no_wait;
} ash_jsd_pull;

typedef struct ash_jsd_consumer {
    struct ash_jsd_consumer *next;
    char *name, *stream, *deliver; /* deliver NULL: it pulls */
    char *config;                  /* JSON, as it is shown */
    ash_jsd_source *source;
    bool heads;
    bool listened;                  /* somebody did, at its deliver subject */
    int64_t created_ms;             /* since 1970 */
    int64_t inactive_ms, active_ms; /* how long without interest, and since when */
    int64_t heartbeat_ms, heard_ms; /* 0: no heartbeats; when the client heard something last */
    uint64_t delivered, sequence;   /* messages, and the last one's sequence */
    bool flow;
    int64_t window, under_way, asked; /* bytes; asked: of which the client is asked */
    uint64_t flow_count;              /* of requests, which their subjects have */
    ash_jsd_pull *pulls;              /* the oldest first */
    int pull_count;
    size_t bytes; /* of its texts, and its requests' */
} ash_jsd_consumer;

ash_jsd_consumer *ash__jsd_consumer_find(ash_jsd_client *c, const char *stream, const char *name);
/* How many the client has of a store's stream. */
int ash__jsd_consumer_count(const ash_jsd_client *c, const char *store);
void ash__jsd_consumer_free(ash_jsd_consumer *k);
/* Is there room for that much more text of the client's? */
bool ash__jsd_consumers_have_room(const ash_jsd_client *c, size_t bytes);
/* It is over for the client, who is told why: a status. */
void ash__jsd_consumer_end(ash_jsd_client *c, ash_jsd_consumer *k, const char *status);
/* Those of a stream; stream NULL: all, and nobody is told. */
void ash__jsd_consumers_end(ash_jsd_client *c, const char *stream);

/* Delivers what is due of all; as the service's pump. */
int64_t ash__jsd_deliver(ash_jsd_client *c, int64_t now_ms);
/* "$JS.FC.stream.consumer.number" was published. */
void ash__jsd_flow_goes_on(ash_jsd_client *c, const char *subject);

#endif
