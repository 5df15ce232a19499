/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_FORMAT_INFO_H
#define ASH_OBJECT_JETSTREAM_FORMAT_INFO_H

/* ObjectInfo as it lies in meta messages. */

#include "object/info.h"
#include "object/jetstream/format/json.h"

/* Appends the JSON that nats.go writes for the same object, byte for byte: its order of fields, its
 * escapes, the zero time for mtime; but maps stay in their order, where Go sorts them.  Tags go into the header Ashlar-Tags, unknown fields behind
 * the known ones.  nuid: where the object has none, as links do; other clients refuse to follow a
 * link without. */
void ash__js_write_info(const ash_object *o, const char *nuid, ash_buffer *out);

/* A meta message; borrowed. */
typedef struct ash_js_meta_text {
    const char *store;
    const uint8_t *data;
    size_t len;
    uint64_t sequence;
    int64_t time_ms;    /* since 1970 */
    int64_t expires_ms; /* 0: with the stream's */
} ash_js_meta_text;

/* What any client wrote: links without nuid and size, headers that are no arrays, an mtime, a
 * digest in hexadecimal.  The time is the message's, revision its sequence.  ASH_ECORRUPT. */
int ash__js_read_info(const ash_js_meta_text *m, ash_object **out, ash_error *err);

#endif
