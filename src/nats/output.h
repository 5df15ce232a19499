/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_OUTPUT_H
#define ASH_NATS_OUTPUT_H

/* What is on its way to a client: bytes that its socket has not taken yet, in memory of bounded size
 * out of the host's room for answers.  Small pieces are gathered, large ones go straight to the
 * socket.  One thread. */

#include "net/face.h"

enum {
    /* With so much on its way it is full: nothing more is begun for the client. */
    ASH_NATS_FULL_BYTES = 512 * 1024
};

typedef struct ash_nats_output {
    ash_peer *peer;
    ash_block block;
    size_t start, end; /* what waits in the block */
    int64_t timeout_ms;
    int64_t step_ms;   /* when the client last took ASH_STREAM_STEP_BYTES, or all there was */
    size_t since_step; /* it took so much since */
    size_t moved;      /* of ash__peer_moved() */
    bool failed;       /* the client is gone or too slow: nothing is sent any more */
} ash_nats_output;

/* timeout_ms: of a client that takes neither what there is nor ASH_STREAM_STEP_BYTES of it. */
void ash__nats_output_init(ash_nats_output *o, ash_peer *peer, int64_t timeout_ms);
void ash__nats_output_release(ash_nats_output *o);

/* All of the pieces, in their order.  Waits where they do not fit; false when it failed.  iov is
 * changed. */
bool ash__nats_output_add(ash_nats_output *o, struct iovec *iov, size_t count);
bool ash__nats_output_add_text(ash_nats_output *o, const char *text);
/* What the socket takes at once; false when it failed. */
bool ash__nats_output_push(ash_nats_output *o);
/* All there is; waits for the client. */
bool ash__nats_output_finish(ash_nats_output *o);

size_t ash__nats_output_pending(const ash_nats_output *o);
/* When the client is too slow (monotonic ms); INT64_MAX while there is nothing to take. */
int64_t ash__nats_output_deadline(const ash_nats_output *o);
/* Gives large memory back if nothing is in it. */
void ash__nats_output_shrink(ash_nats_output *o);

#endif
