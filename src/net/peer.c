/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer's thread tells others of its client: that it moves, what it holds, what it owes. */
#include "net/face.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { STEPS_BACK = 10 }; /* of nice: a tenth of the processor's time beside one who does not */

/* On Linux a priority is a thread's; where it is the process's, nobody gives way.  It alone says how
 * much of a processor the thread gets: whoever wakes would still wait for the end of its turn, which
 * is some milliseconds, unless its turns are longer than theirs. */
void ash__peer_give_way(void)
{
#ifdef __linux__
    errno = 0;
    int now = getpriority(PRIO_PROCESS, 0);
    if (errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, now + STEPS_BACK);
    ash__thread_take_long_turns();
#endif
}

void ash__peer_moved(ash_peer *p, size_t bytes, size_t *moved)
{
    *moved += bytes;
    /* Single bytes are no progress: whoever sends them keeps others from the room all the same. */
    if (*moved >= ASH_STREAM_STEP_BYTES) {
        *moved = 0;
        atomic_store_explicit(&p->moved_ms, ash__clock_ms(), memory_order_relaxed);
    }
}

size_t ash__peer_read(ash_peer *p, void *data, size_t room, int64_t deadline_ms, size_t *moved)
{
    size_t n = ash__stream_read(&p->stream, data, room, deadline_ms);
    ash__peer_moved(p, n, moved);
    return n;
}

bool ash__peer_write(ash_peer *p, struct iovec *iov, size_t count, int64_t timeout_ms)
{
    return ash__stream_write(&p->stream, iov, count, timeout_ms, &p->moved_ms);
}

void ash__peer_hold(ash_peer *p, unsigned holds)
{
    /* The time before the flag: whoever sees the flag (press() in host.c, by acquire) must not put
     * the peer out for a time of long ago. */
    atomic_store_explicit(&p->moved_ms, ash__clock_ms(), memory_order_relaxed);
    atomic_store_explicit(&p->holds, holds, memory_order_release);
}

void ash__peer_release_hold(ash_peer *p)
{
    atomic_store_explicit(&p->holds, 0, memory_order_relaxed);
}

void ash__peer_holds(ash_peer *p, unsigned kind, bool does)
{
    unsigned before = atomic_load_explicit(&p->holds, memory_order_relaxed);
    unsigned now = does ? before | kind : before & ~kind;
    if (now == before)
        return;
    /* What is given back begins no time anew. */
    if (does)
        ash__peer_hold(p, now);
    else
        atomic_store_explicit(&p->holds, now, memory_order_relaxed);
}

void ash__peer_owes(ash_peer *p)
{
    atomic_store_explicit(&p->owes_since_ms, ash__clock_ms(), memory_order_relaxed);
}

void ash__peer_owes_nothing(ash_peer *p)
{
    atomic_store_explicit(&p->owes_since_ms, 0, memory_order_relaxed);
}
