/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_HOST_H
#define ASH_NET_HOST_H

/* Listens for a face: accepts connections, gives each a thread, and bounds what they may take.
 *
 * Over max_peers, whoever owes (the rest of) a request for half a second loses its place to the
 * newcomer.  While somebody waits for room, whoever holds some and moves nothing for three seconds
 * loses the connection. */

#include <pthread.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "net/face.h"

typedef struct ash_host_options {
    const char *const *listen; /* texts as of ash__listeners_add */
    size_t listen_count;
    const char *socket_path; /* Unix socket, made with mode 0600, removed at the end; or NULL */
    int32_t max_peers;       /* from the start on guarded by the lock */
    int64_t room_bytes;      /* for requests in flight, and as much for answers */
    int32_t seats;           /* threads of a face whose peers take turns */
    int64_t stop_timeout_ms; /* how long a stop waits for clients to take their last answers */
    /* Listen on any address, though the face asks nobody who they are or what they say can be read
     * by others: whoever starts the host has seen to that, or was told not to. */
    bool anywhere;
    /* Put another stream on top of a new connection's plain one before anything is read, but for
     * Unix sockets; NULL: nothing.  It must not wait.  A negative ASH_E… closes the connection. */
    int (*wrap)(void *ctx, ash_stream *stream, ash_error *err);
    void *wrap_ctx;
} ash_host_options;

typedef struct ash_host {
    const ash_face *face;
    void *server; /* the face's own state */
    ash_host_options opts;
    ash_listeners listeners;
    const char *addresses[ASH_MAX_LISTENERS]; /* as they are, borrowed from listeners */
    int wake[2]; /* a pipe that ends the host's thread's poll: a move, or the end */
    pthread_t thread;
    struct ash_turns *turns; /* of a face with turn(); else NULL */

    ash_mutex lock; /* guards what follows */
    ash_cond all_gone;
    ash_peer *peers;
    int32_t peer_count;
    int32_t put_out_count; /* of these, how many are about to end */
    bool stopping;
    struct ash_move *moves; /* peers that wait for another thread */
    ash_cond moved;         /* one of them has it, or will not get it */
    int32_t moving;         /* threads that wait for such a move */
    bool settled;           /* nobody gets another thread any more */

    _Atomic bool deaf; /* no peer may begin another request */
    _Atomic int64_t peers_made;
    ash_room requests;
    ash_room answers;
} ash_host;

/* The rooms are there from then on.  opts: copied, their texts as long as the host. */
void ash__host_init(ash_host *h, const ash_face *face, void *server, const ash_host_options *opts);

/* Listen and serve.  Errors as of ash__listeners_add; ASH_EINVAL without an address.  After a
 * failure the host is to be released all the same. */
int ash__host_start(ash_host *h, ash_error *err);

/* Would the addresses do?  Takes each for a moment, in which nobody can connect. */
int ash__host_try_addresses(const ash_face *face, const char *const *listen, size_t count,
                            bool anywhere, ash_error *err);

/* Accept nobody, interrupt what goes on, close all connections; after stop_timeout_ms also those
 * whose clients do not read.  No thread of the host is left. */
void ash__host_stop(ash_host *h);
void ash__host_release(ash_host *h); /* stopped, or never started */

/* A peer's stream is closed, and its memory gone.  For turns.c. */
void ash__host_leave(ash_peer *p);

int32_t ash__host_peer_count(ash_host *h);
/* opts.max_peers, which may change while the host runs; who is there already stays. */
int32_t ash__host_max_peers(ash_host *h);
void ash__host_set_max_peers(ash_host *h, int32_t max_peers);
bool ash__host_is_stopping(ash_host *h);

#endif
