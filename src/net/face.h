/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NET_FACE_H
#define ASH_NET_FACE_H

/* A face is what a host shows its clients: a protocol, as one constant table.
 *
 *   host (host.h)     listens, accepts, keeps count, and takes places away when there are too few
 *   peer (below)      one client that is connected: a stream, a thread, what it owes and holds
 *   face              reads requests from a peer and answers them
 *
 * Nothing in this folder knows a protocol, and no face knows how connections come to be. */

#include "base/error.h"
#include "net/listen.h"
#include "net/room.h"
#include "net/stream.h"

struct ash_host;

enum { ASH_HOLDS_REQUEST = 1, ASH_HOLDS_ANSWER = 2 };

/* A face's own connection begins with it.  The thread that serves the peer owns it; what others
 * look at says so. */
typedef struct ash_peer {
    struct ash_host *host;
    ash_stream stream;
    int64_t id; /* 1, 2, …, of its host */
    bool is_unix;
    char remote[ASH_ADDRESS_TEXT_BYTES]; /* of the client */
    char local[ASH_ADDRESS_TEXT_BYTES];  /* that it reached */

    /* Since when the client owes the rest of a request, or its first one (monotonic ms); 0: it owes
     * nothing.  Read by whoever needs its place. */
    _Atomic int64_t owes_since_ms;
    /* While its client should send or take something: whose room it holds, for those who wait. */
    _Atomic unsigned holds;   /* ASH_HOLDS_… */
    _Atomic int64_t moved_ms; /* when it last did (monotonic) */

    /* Of peers that take turns (turns.h).  Guarded by the turns' lock, but for the first, which its
     * turn may set. */
    int64_t turn_due_ms; /* a turn comes then at the latest (monotonic); 0: no time */
    uint32_t turn_place;
    unsigned turn_wishes; /* ASH_TURN_… that it rests with */
    bool turn_runs;       /* on a seat */
    bool turn_again;      /* woken since */

    /* Its thread's: serve returned because the peer is to go on on another thread. */
    bool moves;

    bool put_out;          /* host->lock: its place is given away, its thread is about to end */
    struct ash_peer *next; /* host->lock */
    struct ash_peer *prev;
} ash_peer;

enum { ASH_TURN_READ = 1, ASH_TURN_WRITE = 2, ASH_TURN_OVER = 4 };

/* What a stream's receive or send said that moved nothing (ASH_STREAM_…), as what a turn rests for. */
unsigned ash__turn_wish(ssize_t outcome);

typedef struct ash_face {
    const char *name;   /* "mongodb" */
    uint16_t port;      /* where an address names none */
    size_t peer_bytes;  /* of the face's own connection */
    size_t stack_bytes; /* of its thread; 0: the system's default */
    /* Why it listens on loopback only, unless its host is told otherwise ("clients are not
     * authenticated"), or NULL: it asks who they are, and listens anywhere. */
    const char *no_users;
    const char *no_place; /* sent to who finds no place, before the end; NULL: nothing */
    /* On a thread of the peer's own, from the first byte to the last; the rest of the connection is
     * zeroed.  The stream is closed, and the connection freed, behind it; unless it returns with
     * peer->moves set: then it is called again, on another thread if there is one. */
    void (*serve)(ash_peer *peer);
    /* Instead of serve, for peers that take turns on a few threads: does what can be done for the
     * peer without waiting for its client, and says what for it rests: a sum of ASH_TURN_READ and
     * _WRITE, 0 (until it is woken, or its client goes), or ASH_TURN_OVER. */
    unsigned (*turn)(ash_peer *peer);
    void (*leave)(ash_peer *peer); /* after its last turn: what it has of its own.  NULL: nothing */
    /* Once a second, on the host's thread. */
    void (*keep_house)(struct ash_host *host);
    /* The host stops: end what goes on for peers, and let waits be over. */
    void (*interrupt)(struct ash_host *host);
} ash_face;

/* Of a peer that takes turns: it has one soon.  Any thread, as long as the peer is surely there. */
void ash__peer_wake(ash_peer *p);

/* ---- of the peer's thread ---- */

/* As ash__stream_read and _write, and whoever needs room sees that the peer moves. */
size_t ash__peer_read(ash_peer *p, void *data, size_t room, int64_t deadline_ms, size_t *moved);
bool ash__peer_write(ash_peer *p, struct iovec *iov, size_t count, int64_t timeout_ms);
/* For who reads or writes the stream without waiting: so many bytes more did move.  *moved: kept by
 * the caller for one direction, 0 at first. */
void ash__peer_moved(ash_peer *p, size_t bytes, size_t *moved);

/* This thread lets others run first from now on, as far as the system knows of that: whoever has
 * not said who it is must not keep those waiting who have.  A thread cannot take it back, so that
 * the peer moves to another one then (moves). */
void ash__peer_give_way(void);

/* From now on, until it is released, the client's pace matters to those who wait for room.
 * holds: ASH_HOLDS_…. */
void ash__peer_hold(ash_peer *p, unsigned holds);
void ash__peer_release_hold(ash_peer *p);
/* The same for one of the kinds, where they begin and end apart; nothing if it is so already. */
void ash__peer_holds(ash_peer *p, unsigned kind, bool does);

/* The client owes something since now; it owes nothing. */
void ash__peer_owes(ash_peer *p);
void ash__peer_owes_nothing(ash_peer *p);

#endif
