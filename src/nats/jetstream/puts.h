/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_PUTS_H
#define ASH_NATS_JETSTREAM_PUTS_H

/* Puts that are under way: bytes that came as chunks, and whose meta message is still to come.
 *
 * They belong to the server, not to a client, who may come again on another connection.  A put is
 * taken, used by whoever took it, and given back or dropped.
 *
 *   take ──▶ NULL: there is none ──new──▶ in use
 *        ──▶ in use ──give_back──▶ waiting ──ASH_JSD_PUT_IDLE_MS──▶ dropped
 *                   ──drop──▶ its bytes are forgotten, unless the object is there by now */

#include "nats/jetstream/door.h"
#include "object/said.h"

enum {
    ASH_JSD_PUTS = 64,                      /* at once; each holds some MiB … */
    ASH_JSD_PUTS_OF_ONE = ASH_JSD_PUTS / 4, /* … that one client began, so that others can */
    ASH_JSD_PUT_IDLE_MS = 15 * 60 * 1000,
    ASH_JSD_PUT_MAKES_ROOM_MS =
        30 * 1000,         /* idle for so long, it goes when there is no other place for
                          the next one */
    ASH_JSD_PUT_IDS = 4096 /* of its last chunks, to know them again */
};

typedef struct ash_jsd_put {
    struct ash_jsd_put *next; /* ash_jetstream.mutex, as the next two */
    bool in_use;
    int64_t used_ms;
    uint64_t owner; /* the client that began it */

    ash_object_store *store; /* its own */
    ash_object_writer *writer;
    char nuid[64];
    int64_t max_bytes; /* of the store; 0: any number */
    uint64_t chunks;
    bool failed; /* a chunk is lacking: nothing can become of it */
    /* Checksums of message ids by the number of the chunk, round and round; 0: it had none. */
    uint64_t ids[ASH_JSD_PUT_IDS];
} ash_jsd_put;

/* *busy: there is one, and somebody else uses it. */
ash_jsd_put *ash__jsd_put_take(ash_jetstream *j, const char *store, const char *nuid, bool *busy);
/* In use.  Takes over the store, also on failure.  ASH_EEXISTS: an object has that NUID.  ASH_ENOMEM:
 * there are too many, or the client has begun its share. */
int ash__jsd_put_new(ash_jsd_client *c, ash_object_store *store, const char *nuid,
                     int32_t chunk_size, ash_jsd_put **out, ash_error *err);
/* Has the client begun as many as one may? */
bool ash__jsd_put_share_is_used(const ash_jsd_client *c);
void ash__jsd_put_give_back(ash_jetstream *j, ash_jsd_put *put);
void ash__jsd_put_drop(ash_jetstream *j, ash_jsd_put *put);

/* How many chunks came of one that waits; 0: of none, or somebody uses it. */
uint64_t ash__jsd_put_chunks(ash_jetstream *j, const char *store, const char *nuid);
/* The chunk that came under this id, from 1; 0: none is known. */
uint64_t ash__jsd_put_known(const ash_jsd_put *put, const char *id);
/* A chunk more.  id "": it had none. */
int ash__jsd_put_write(ash_jsd_put *put, const char *id, const void *data, size_t len,
                       ash_error *err);

/* Those that waited too long. */
void ash__jsd_puts_tidy(ash_jetstream *j, int64_t now_ms);
void ash__jsd_puts_drop_store(ash_jetstream *j, const char *store);
void ash__jsd_puts_free(ash_jetstream *j);

#endif
