/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_MESSAGES_H
#define ASH_NATS_JETSTREAM_MESSAGES_H

/* What a stream of a store has as messages. */

#include "nats/jetstream/answer.h"

typedef struct ash_jsd_stored {
    uint64_t sequence;
    int64_t time_ms;
    char *subject;
    ash_buffer headers; /* lines, each with its end; without the first and the empty one */
    ash_buffer data;
    int64_t size; /* of the data, also where that was left out */
} ash_jsd_stored;
void ash__jsd_stored_release(ash_jsd_stored *m);

/* An object's meta message. */
void ash__jsd_stored_meta(const ash_object *o, ash_jsd_stored *out);
/* Chunk `index` (from 0) of an object, from a reader that stands at its beginning; heads: without its
 * bytes, and r may be NULL. */
int ash__jsd_stored_chunk(const ash_object *o, uint64_t index, ash_object_reader *r, bool heads,
                          ash_jsd_stored *out, ash_error *err);
/* How many chunks its bytes are told in. */
uint64_t ash__jsd_chunk_count(const ash_object *o);
/* A reader of this very object, at that chunk.  ASH_ECONFLICT: it is another by now. */
int ash__jsd_open_reader(ash_object_store *s, const ash_object *o, uint64_t chunk, const ash_op *op,
                         ash_object_reader **out, ash_error *err);

/* Appends "NATS/1.0", the message's headers, `more` lines, and the end. */
void ash__jsd_put_headers(const ash_jsd_stored *m, const char *more, ash_buffer *out);

#endif
