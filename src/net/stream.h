/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_STREAM_H
#define ASH_NET_STREAM_H

/* Bytes to and from a client, with time limits: over a socket, or over what stands on one, as TLS
 * does.
 *
 * One thread reads and writes; shutdown may be called by any. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct ash_stream ash_stream;

/* What receive and send return when no byte moved: it is over, or the descriptor has to be readable
 * or writable first.  (TLS may have to write in order to read.) */
enum { ASH_STREAM_OVER = -1, ASH_STREAM_WANTS_READ = -2, ASH_STREAM_WANTS_WRITE = -3 };

typedef struct ash_stream_ops {
    /* Neither waits.  How many bytes moved, at least one; or ASH_STREAM_…. */
    ssize_t (*receive)(ash_stream *s, void *data, size_t room);
    ssize_t (*send)(ash_stream *s, const struct iovec *iov, size_t count);
    /* Has it received what nobody has read, so that the descriptor does not tell?  NULL: never. */
    bool (*holds)(const ash_stream *s);
    /* Nothing more is sent, and the peer may know.  NULL: there is nothing to tell. */
    void (*finish)(ash_stream *s);
    void (*release)(ash_stream *s); /* its state; the descriptor is closed behind it.  NULL: none */
    /* As ash__stream_subject().  NULL: nobody has shown anything. */
    bool (*subject)(const ash_stream *s, char *out, size_t room);
} ash_stream_ops;

struct ash_stream {
    const ash_stream_ops *ops;
    int fd;          /* non-blocking */
    void *state;     /* of ops */
    bool is_private; /* whoever is in between can neither read nor change it */
    bool opening;    /* what stands on the descriptor is not agreed on yet */
};

/* A plain descriptor, which is taken over.  Who puts another stream on top replaces ops and state.
 */
void ash__stream_init(ash_stream *s, int fd);
void ash__stream_close(ash_stream *s);
/* The next read finds the end; with both set, so does the next write. */
void ash__stream_shutdown(ash_stream *s, bool both);

/* Has it received what nobody has read, so that the descriptor does not tell? */
bool ash__stream_holds(const ash_stream *s);

/* Nothing more is sent: the peer finds the end behind what it has not read yet. */
void ash__stream_finish(ash_stream *s);

/* Wait until there is something to read, at most timeout_ms (< 0: forever). */
bool ash__stream_wait(const ash_stream *s, int64_t timeout_ms);

/* What a wait is for, and what came of it. */
enum { ASH_STREAM_READABLE = 1, ASH_STREAM_WRITABLE = 2, ASH_STREAM_OTHER = 4 };

/* Wait until one of the wishes (ASH_STREAM_READABLE, _WRITABLE) can be had without waiting, which an
 * end can be, too, or until the descriptor other_fd is readable (ASH_STREAM_OTHER; always wished for),
 * at most timeout_ms (< 0: forever).  What has come true of it; 0: nothing in that time. */
unsigned ash__stream_wait_any(const ash_stream *s, unsigned wishes, int other_fd,
                              int64_t timeout_ms);

/* Let the time pass, whatever the peer sends meanwhile; false, and at once, when it is gone, or the
 * stream was shut down. */
bool ash__stream_rest(const ash_stream *s, int64_t time_ms);

/* Will the peer send nothing any more?  Does not wait. */
bool ash__stream_hung_up(const ash_stream *s);

/* The subject of the certificate that the peer has shown and that was checked, as RFC 2253 spells it;
 * false: there is none, or it is longer. */
enum { ASH_STREAM_SUBJECT_BYTES = 1024 };
bool ash__stream_subject(const ash_stream *s, char out[ASH_STREAM_SUBJECT_BYTES]);

/* How long the network takes to the peer and back; 0 where nobody knows, and on one machine. */
int64_t ash__stream_round_trip_us(const ash_stream *s);

/* At least one byte and at most room of them into data, before the deadline (monotonic ms, 0 =
 * none). Returns how many, 0 when the peer hung up, failed, or was too slow. */
size_t ash__stream_read(ash_stream *s, void *data, size_t room, int64_t deadline_ms);

/* Less than this is no progress: whoever takes or sends single bytes is as slow as who does
 * nothing.
 */
enum { ASH_STREAM_STEP_BYTES = 64 * 1024 };

/* What the stream takes at once; false when the peer is gone.  The rest is left in *iov, *count. */
bool ash__stream_push(ash_stream *s, struct iovec **iov, size_t *count);

/* All pieces; false when the peer is gone, or took neither the rest nor ASH_STREAM_STEP_BYTES
 * within timeout_ms.  iov is changed.  *moved_ms (or NULL): when it last made progress, monotonic.
 */
bool ash__stream_write(ash_stream *s, struct iovec *iov, size_t count, int64_t timeout_ms,
                       _Atomic int64_t *moved_ms);

#endif
