/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_MESSAGE_H
#define ASH_OBJECT_JETSTREAM_MESSAGE_H

/* Single messages of a stream: fetched, published, deleted. */

#include "object/info.h"
#include "object/jetstream/connection.h"

/* What our messages carry beside their payload. */
#define ASH_JS_ID       "Nats-Msg-Id" /* chunks: NUID.NUMBER */
#define ASH_JS_ROLLUP   "Nats-Rollup"
#define ASH_JS_EXPECTED "Nats-Expected-Last-Subject-Sequence"
#define ASH_JS_TTL      "Nats-TTL"       /* in seconds … */
#define ASH_JS_EXPIRES  "Ashlar-Expires" /* … and to the millisecond, since 1970 */
/* Of meta messages that were renamed: the subject of the other end. */
#define ASH_JS_OTHER "Ashlar-Renamed"

/* A stream as its messages are fetched; borrowed. */
typedef struct ash_js_stream {
    ash_js *js;
    const char *name;
    bool direct;   /* the stream lets every server that has it answer */
    bool replicas; /* more than one: only the leader is sure to know the newest */
} ash_js_stream;

typedef struct ash_js_message {
    int number;     /* of JetStream's error, when it could not be had */
    natsMsg *owner; /* of what follows, or NULL: `bytes` is */
    uint8_t *bytes;
    const uint8_t *data;
    size_t len;
    uint64_t sequence;
    int64_t time_ms;    /* since 1970 */
    int64_t expires_ms; /* 0: with the stream's */
    char *subject;      /* own copies, all three */
    char *id;           /* or NULL */
    char *other;        /* or NULL */
} ash_js_message;
void ash__js_message_release(ash_js_message *m);
/* As an object of that store. */
int ash__js_message_object(const ash_js_message *m, const char *store, ash_object **out,
                           ash_error *err);

/* The last message of a subject: ASH_ENOTFOUND where there is none, with out->number
 * ASH_JS_NO_MESSAGE, or no stream (ASH_JS_STREAM_NOT_FOUND).  newest: what was acknowledged before the call is seen. */
int ash__js_get_last(const ash_js_stream *s, const char *subject, bool newest, const ash_op *op,
                     ash_js_message *out, ash_error *err);
/* The same in two steps, where `direct` is set: asked now, with the answer going to `reply` … */
int ash__js_ask_last(const ash_js_stream *s, const char *subject, const char *reply,
                     ash_error *err);
/* … and read; answer is taken over. */
int ash__js_answer_last(natsMsg *answer, ash_js_message *out, ash_error *err);
/* The first of a subject from that sequence on. */
int ash__js_get_from(const ash_js_stream *s, const char *subject, uint64_t sequence,
                     const ash_op *op, ash_js_message *out, ash_error *err);
/* Of a message that a consumer brought: everything but what `owner` holds is copied, and owner is
 * taken over. */
void ash__js_message_take(natsMsg *owner, ash_js_message *out);

/* What JetStream says of one publication. */
typedef struct ash_js_ack {
    uint64_t sequence;
    bool duplicate;
    int number; /* of an error */
} ash_js_ack;
/* Reads an answer to a publication. */
int ash__js_read_ack(natsMsg *answer, ash_js_ack *out, ash_error *err);
/* Is the stream certainly not there, rather than without a leader for now? */
bool ash__js_is_gone(const ash_js_stream *s);
/* Publishes and waits for the acknowledgement, once. */
int ash__js_publish(ash_js *js, natsMsg *message, const ash_op *op, ash_js_ack *out,
                    ash_error *err);

/* 0 also where it is not there any more. */
int ash__js_delete(const ash_js_stream *s, uint64_t sequence, const ash_op *op, ash_error *err);
/* The same, and *taken says whether it was this call that deleted it: of several who take one message
 * one at most is told so.  false also where the stream lets nobody delete, and where an answer got
 * lost. */
int ash__js_take(const ash_js_stream *s, uint64_t sequence, const ash_op *op, bool *taken,
                 ash_error *err);
/* All messages of a subject; 0 also where there are none. */
int ash__js_purge(const ash_js_stream *s, const char *subject, const ash_op *op, ash_error *err);

#endif
