/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NATS_JETSTREAM_SUPPORT_H
#define ASH_TESTS_NATS_JETSTREAM_SUPPORT_H

/* A server of object stores on JetStream's API in a folder of its own, and a client that sends what
 * NATS' clients send. */

#include "check.h"

#include "nats/jetstream/jetstream.h"
#include "nats/raw_client.h"
#include "nats/server.h"

#include <ashlar/object.h>

#include <string.h>

typedef struct door {
    char *folder;
    ash_store *store;
    ash_store *inner; /* of a test's own, in that one; or NULL */
    ash_jetstream *jetstream;
    ash_nats_server *server;
    int port;
    client c; /* subscribed to _I.* and _D.* */
    ash_error err;
} door;

/* That is told what happens, if set before door_setup(). */
extern struct ash_audit *door_audit;

int door_setup(void **state); /* with the object store "s" */
int door_teardown(void **state);
void door_restart(door *d);
/* The two halves of it. */
void door_stop(door *d);
void door_start(door *d);
/* The same to its server, over whatever d->store is. */
void door_end(door *d);
void door_serve(door *d);
void door_open_client(door *d, client *c);

/* What is answered to a request: all that comes, its line, '|', headers and payload.  Until the next
 * call. */
const char *door_ask(client *c, const char *subject, const char *body);
const char *door_publish(client *c, const char *subject, const char *headers, const void *data,
                         size_t len);
/* The sequence of an acknowledgement; and the number of an error, 0 for none. */
uint64_t door_sequence(const char *answer);
int door_error(const char *answer);

/* A chunk of `len` times `fill`. */
const char *door_chunk(client *c, const char *nuid, const char *headers, char fill, size_t len);
/* The meta message of an object that consists of such chunks; digest NULL: the right one. */
typedef struct door_object {
    const char *name, *nuid;
    char fill;
    size_t size, chunks;
    const char *digest, *headers;
    const char *more; /* members, each with a comma before it */
} door_object;
const char *door_meta(client *c, const door_object *o);
/* What it consists of: ash__free(). */
char *door_info(const door_object *o);
/* All of it; the revision. */
uint64_t door_put(client *c, const char *name, const char *nuid, char fill, size_t len);

/* What the store says, round the server: -1 when there is no such object. */
int64_t door_size(door *d, const char *name);
/* Whole, and all of it `fill`? */
bool door_has(door *d, const char *name, char fill, size_t len);

#define assert_says(answer, part)                                                                  \
    do {                                                                                           \
        const char *said_ = answer;                                                                \
        if (said_ == NULL || strstr(said_, part) == NULL)                                          \
            fail_msg("%s does not say %s", said_ != NULL ? said_ : "nothing", part);               \
    } while (0)

#endif
