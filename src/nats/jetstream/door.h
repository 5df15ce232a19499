/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_DOOR_H
#define ASH_NATS_JETSTREAM_DOOR_H

/* What the files of this folder share: the server's state, and a client's. */

#include "base/thread.h"
#include "nats/jetstream/jetstream.h"
#include "nats/server.h"
#include "object/info.h"

enum {
    ASH_JSD_CONSUMERS = 256,                      /* of a client */
    ASH_JSD_WATCHES = 256,                        /* of the server; each has a thread … */
    ASH_JSD_WATCHES_OF_ONE = ASH_JSD_WATCHES / 4, /* … and of a client, so that others have some */
    ASH_JSD_TOLD = 1024,                          /* meta messages that are known again */
    ASH_JSD_CENSUSES = 32,      /* stores whose messages are counted and remembered */
    ASH_JSD_BODY_MAX = 1 << 20, /* of a request or a meta message */
    ASH_JSD_OP_MS = 30000,      /* of one request; clients wait for less */
    /* Of an object in one message, whatever its chunks are; and of a page of a list. Also in base64,
     * and with all that stands around it, it has room in the payload that clients were told of. */
    ASH_JSD_MESSAGE_BYTES = ASH_NATS_MAX_PAYLOAD_BYTES / 2
};

/* How many messages a store has, as of one state of it. */
typedef struct ash_jsd_census {
    char *store;
    int64_t created_ms, bytes, objects;
    uint64_t revision;
    uint64_t messages, subjects;
    uint64_t first;            /* revision of the oldest message; 0: there is none */
    int64_t first_ms, last_ms; /* when the oldest and the newest came */
} ash_jsd_census;

/* A meta message that was acknowledged, to know it again when its client did not hear that. */
typedef struct ash_jsd_told {
    uint64_t sum; /* of the store, when it was made and the message's id; 0: none */
    uint64_t sequence;
} ash_jsd_told;

struct ash_jetstream {
    ash_object_manager *manager;
    struct ash_audit *audit; /* or NULL; set before there are clients */
    ash_mutex mutex; /* guards what follows; nothing is called, and nothing waits, under it */
    struct ash_jsd_put *puts;
    struct ash_jsd_watch *watches; /* also those whose client let go, until their threads end */
    int put_count, watch_count;
    ash_cond watch_ended;
    uint64_t clients; /* so many came */
    ash_jsd_census censuses[ASH_JSD_CENSUSES];
    int next_census; /* that is overwritten next */
    ash_jsd_told told[ASH_JSD_TOLD];
    int next_told;
};

typedef struct ash_jsd_client {
    ash_jetstream *jetstream;
    ash_nats_client *client;
    uint64_t id; /* of all that ever came */
    struct ash_jsd_consumer *consumers;
    int consumer_count;
    char *renamed; /* the meta subject that the last rename left, which its client purges … */
    int64_t renamed_ms;                  /* … soon after this, monotonic (purge.c) */
    char told_nuid[ASH_NUID_TEXT_BYTES]; /* whose chunks it reads, in the audit log already */
} ash_jsd_client;

/* Bounds a call that a client waits for. */
ash_op ash__jsd_op(void);

/* A message on $O.…; false: there is no such stream. */
bool ash__jsd_publish(ash_jsd_client *c, const ash_nats_message *m);
/* A request to $JS.API.…; false: nobody serves it. */
bool ash__jsd_api(ash_jsd_client *c, const ash_nats_message *m);

/* The client has renamed what that meta subject had; the purge that follows has nothing left to do.
 * subject is taken over. */
void ash__jsd_renamed(ash_jsd_client *c, char *subject);
/* It did something with that subject, and knows what is there: a purge that follows is meant. */
void ash__jsd_renamed_is_over(ash_jsd_client *c, const char *subject);

#endif
