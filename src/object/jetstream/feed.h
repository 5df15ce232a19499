/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_FEED_H
#define ASH_OBJECT_JETSTREAM_FEED_H

/* Messages of a stream in their order, by an ephemeral consumer that is made anew where the last
 * message stood when one is missed or the server falls silent (ADR-17's ordered consumer).  The
 * server sends no more than it is told was read.  One thread at a time. */

#include "object/jetstream/message.h"

enum { ASH_JS_HEARTBEAT_MS = 1000 };

typedef enum ash_js_from {
    ASH_JS_FROM_START,
    ASH_JS_FROM_SEQUENCE,
    ASH_JS_FROM_LAST_OF_EACH, /* subject */
    ASH_JS_FROM_NOW
} ash_js_from;

typedef struct ash_js_feed_request {
    const char *subject; /* may hold wildcards; copied */
    ash_js_from from;
    uint64_t sequence; /* of the first, for ASH_JS_FROM_SEQUENCE */
    bool heads;        /* without payloads: `size` says how long they are */
} ash_js_feed_request;

typedef struct ash_js_feed ash_js_feed;

/* What the feed brought; valid until the next call. */
typedef struct ash_js_fed {
    natsMsg *message; /* NULL: nothing came in time */
    uint64_t sequence;
    int64_t time_ms;
    uint64_t pending; /* how many more there were when it was sent */
    int64_t size;     /* of the payload */
} ash_js_fed;

/* *pending: how many messages there are for now.  *out is yours: ash__js_feed_free(). */
int ash__js_feed_open(const ash_js_stream *s, const ash_js_feed_request *r, const ash_op *op,
                      ash_js_feed **out, uint64_t *pending, ash_error *err);
/* Waits at most timeout_ms.  ASH_ENOTFOUND: the stream is gone. */
int ash__js_feed_next(ash_js_feed *f, int64_t timeout_ms, const ash_op *op, ash_js_fed *out,
                      ash_error *err);
/* Asks the server whether there is more than what was read; for whoever waits for the last one of
 * those that there were, and gets nothing since they went. */
int ash__js_feed_has_more(ash_js_feed *f, const ash_op *op, bool *out, ash_error *err);
/* The message that was fed last becomes the caller's. */
natsMsg *ash__js_feed_detach(ash_js_feed *f);
/* Likewise, with what it says of itself. */
void ash__js_feed_take(ash_js_feed *f, const ash_js_fed *fed, ash_js_message *out);
void ash__js_feed_free(ash_js_feed *f);

#endif
