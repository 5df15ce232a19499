/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_JETSTREAM_SUPPORT_H
#define ASH_TESTS_JETSTREAM_SUPPORT_H

/* One server (or three) for a program, a manager, and a new store for each test. */

#include "check.h"
#include "object/jetstream/servers.h"

#include "object/jetstream/jetstream.h"

typedef struct live {
    servers *servers;
    ash_object_manager *manager;
    ash_object_store *store;
    ash_js_stream stream; /* of the store */
    char name[32];
    ash_error err;
} live;

extern live *live_now; /* of the program: groups hand over no state of their own to tests' setups */

int live_start(void **state); /* a group's setup; without servers the tests skip themselves */
int live_start_cluster(void **state); /* likewise */
int live_stop(void **state);
int live_new_store(void **state);
int live_close_store(void **state);

/* Bytes that only their seed knows; yours: ash__free(). */
uint8_t *live_bytes(uint32_t seed, size_t len);
void live_put(live *l, const char *name, const void *data, size_t len, ash_object **out);
/* The object's bytes are these. */
void live_expect(live *l, const char *name, const void *data, size_t len);
/* How many messages the stream has whose subject this is; may hold wildcards. */
uint64_t live_count(live *l, const char *subject);
/* Of the store's chunks, of its meta messages. */
uint64_t live_chunks(live *l);
uint64_t live_metas(live *l);
/* As another client would: without message ids, without conditions.  Headers: "Name: value" or NULL. */
uint64_t live_publish(live *l, const char *subject, const void *data, size_t len,
                      const char *header);
/* JetStream's answer to a request, with ' for " in the body; yours: ash__json_free(). */
ash_json *live_request(live *l, const char *verb, const char *body);
/* Skips the test where there are no servers. */
#define live_need(l)                                                                               \
    do {                                                                                           \
        if ((l)->servers == NULL)                                                                  \
            skip();                                                                                \
    } while (0)
bool live_has_2_10(live *l);
bool live_has_2_11(live *l);

#endif
