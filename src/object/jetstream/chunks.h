/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_CHUNKS_H
#define ASH_OBJECT_JETSTREAM_CHUNKS_H

/* An object's chunks on their way into a stream, several at once.
 *
 * Their order in the stream is the order of the bytes, so one that got lost must not be overtaken.
 * As long as all acknowledgements come, and in order, chunks are sent one after the other.  When one
 * fails to come (a leader died, a crowd), nothing new is sent; the unacknowledged ones are sent
 * again, one at a time, under the message ids that they had, so that what is stored already is
 * found by the server and not stored twice.  One that was stored behind its successor is deleted,
 * and stored again under a new id.
 *
 *            put                        not acknowledged, refused,
 *          ┌─────┐                      or out of order
 *          ▼     │                            │
 *       SENDING ─┴──► SENDING … ──────────────┴──► MENDING ──► SENDING
 *          │ settle: all acknowledged                 │ ASH_JS_PATIENCE_MS over
 *          ▼                                          ▼
 *       SETTLED                                    failed: the caller purges
 *
 * A sweep takes chunks for those of somebody who died when the last of them is old.  It begins with
 * that one and deletes it by its number.  So whoever was silent for a while deletes its last chunk
 * and stores it again, before anything else: of the two deletions one finds its chunk, and the other
 * side knows that it came too late.  After it the chunks are counted.
 *
 * One thread at a time. */

#include "object/jetstream/message.h"

enum {
    ASH_JS_IN_FLIGHT_BYTES = 4 * 1024 * 1024,
    ASH_JS_IN_FLIGHT_CHUNKS = 512,
    ASH_JS_ACK_MS = 3000 /* after it an acknowledgement is taken for lost */
};

typedef struct ash_js_chunks ash_js_chunks;

/* ttl_ms: of each message; 0: the stream's.  *out is yours: ash__js_chunks_free(). */
int ash__js_chunks_new(const ash_js_stream *s, const char *subject, const char *nuid,
                       int64_t ttl_ms, ash_js_chunks **out, ash_error *err);
/* One chunk, copied. */
int ash__js_chunks_put(ash_js_chunks *c, const void *data, size_t len, const ash_op *op,
                       ash_error *err);
/* Something else that is asked meanwhile, so that nobody waits for it alone: the last messages of at
 * most ASH_JS_LOOKS subjects, by `which`.  Errors show when it is looked for. */
enum { ASH_JS_LOOKS = 2 };
void ash__js_chunks_look(ash_js_chunks *c, int which, const char *subject);
/* The answer is the caller's; NULL: there is none. */
natsMsg *ash__js_chunks_looked(ash_js_chunks *c, int which, const ash_op *op);
/* All of them are stored and in order when it returns 0, and no sweep takes them that respects ages
 * of more than a second.  ASH_ECONFLICT: one has taken some.  May be called again, and is, right
 * before they get an owner. */
int ash__js_chunks_settle(ash_js_chunks *c, const ash_op *op, ash_error *err);
/* Waits until nothing that was sent is under way any more, as far as can be known: before a purge. */
void ash__js_chunks_quiesce(ash_js_chunks *c);
uint64_t ash__js_chunks_count(const ash_js_chunks *c);
void ash__js_chunks_free(ash_js_chunks *c);

#endif
