/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_ARRIVAL_H
#define ASH_WIRE_ARRIVAL_H

/* The order in which requests came, whatever connection they came on.
 *
 * A client with a pool sends one request after the other on different connections, and a thread
 * waits at each of them: which of the threads gets a processor first is chance, most of all on a
 * busy machine.  So requests stand in a line as the kernel saw them come, and who is about to
 * change something waits until those before it have said what they want: a change leaves the line
 * when it is in the writer's queue, a read at once, and a brief answer when it was sent.
 *
 * Nobody waits for long (ASH_ARRIVAL_MS; for the rest of a request that came in pieces far less),
 * and reads never do.  Where the kernel does not tell the
 * order (it is asked by epoll), requests stand in line as their threads come.
 *
 * One thread owns an arrival; any may look at the line.  A mutex of rank ASH_RANK_ARRIVALS is held
 * for some instructions and a call that does not wait. */

#include "base/thread.h"

/* Then those before somebody lose their places. */
enum { ASH_ARRIVAL_MS = 200 };

typedef struct ash_arrival ash_arrival;

typedef struct ash_arrivals {
    ash_mutex lock; /* guards the line */
    ash_arrival *first, *last;
    int poll; /* an epoll instance, or -1 */
} ash_arrivals;

/* OPEN --look, in arrival.c--> COME --ash__arrival_take--> BUSY --ash__arrival_open, _done--> OPEN;
 * what look has not seen yet goes from OPEN to BUSY. */
enum ash_arrival_state {
    ASH_ARRIVAL_OPEN, /* what comes now is the start of a request */
    ASH_ARRIVAL_COME, /* it did come, and its place is in the line already */
    ASH_ARRIVAL_BUSY, /* it is being dealt with: what comes now is more of it, or has come too early
                       */
};

/* The owner's memory: of one socket.  All zero, it is in no line: what is done with it does nothing,
 * and nobody waits for it. */
struct ash_arrival {
    ash_arrivals *line;
    ash_arrival *next, *prev;
    int fd;
    bool placed;
    enum ash_arrival_state state;
    ash_cond first; /* it is the first of the line, or has lost its place */
};

void ash__arrivals_init(ash_arrivals *line);
void ash__arrivals_release(ash_arrivals *line);

/* From now on what comes at the socket is seen, up to end(). */
void ash__arrival_begin(ash_arrival *a, ash_arrivals *line, int fd);
void ash__arrival_end(ash_arrival *a);

/* The owner has seen that something came: it has a place from then on. */
void ash__arrival_take(ash_arrival *a);

/* Until it is the first, or has no place; at most ASH_ARRIVAL_MS. */
void ash__arrival_wait(ash_arrival *a);

/* Others need not wait for the request that is being dealt with. */
void ash__arrival_leave(ash_arrival *a);

/* The answer is about to be sent: the client may send the next request as soon as it has it, while
 * the owner still waits for a processor.  The place remains until then, or until done(). */
void ash__arrival_open(ash_arrival *a);

/* The answer was sent, or there is none.  A place that the next request has got by now remains. */
void ash__arrival_done(ash_arrival *a);

#endif
