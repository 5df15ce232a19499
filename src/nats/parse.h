/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_PARSE_H
#define ASH_NATS_PARSE_H

/* NATS' text protocol: a control line, and behind some of them a payload.
 *
 * A command is looked for at the start of what arrived, as often as more has arrived; nothing is
 * remembered in between, and nothing changed before all of it is there.  Read is what clients may
 * say; what only servers do is unknown here. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASH_NATS_LINE_BYTES = 4096 }; /* most of a control line, without its end */

typedef enum ash_nats_op {
    ASH_NATS_CONNECT,
    ASH_NATS_PING,
    ASH_NATS_PONG,
    ASH_NATS_SUB,
    ASH_NATS_UNSUB,
    ASH_NATS_PUB,
    ASH_NATS_HPUB,
    ASH_NATS_OK,
    ASH_NATS_ERR
} ash_nats_op;

/* Texts are NUL-terminated and, as the payload, lie in what was parsed. */
typedef struct ash_nats_command {
    ash_nats_op op;
    const char *text; /* CONNECT: JSON; -ERR: what it says, with its quotes */
    const char *subject;
    const char *queue; /* SUB; NULL: none */
    const char *sid;   /* SUB, UNSUB */
    const char *reply; /* NULL: none */
    uint64_t max;      /* UNSUB: after so many messages; 0: now */
    const char *headers;
    size_t headers_len; /* 0: none */
    const uint8_t *data;
    size_t len;
    size_t size; /* of the command, from its first byte to its last */
} ash_nats_command;

typedef enum ash_nats_outcome {
    ASH_NATS_WHOLE,
    ASH_NATS_PART, /* size: so many bytes are needed at least, more than there are */
    ASH_NATS_BAD   /* text: what -ERR is to say; there is no next command */
} ash_nats_outcome;

/* data is changed only when the outcome is WHOLE: NULs are put behind the texts.  max_payload: most
 * bytes of headers and payload together. */
ash_nats_outcome ash__nats_parse(uint8_t *data, size_t len, size_t max_payload,
                                 ash_nats_command *out);

#endif
