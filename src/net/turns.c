/* SPDX-License-Identifier: Apache-2.0 */
/* Seats wait on one epoll set, in which each peer is armed for one event at a time.  An event names
 * a place and how often that was given away, not a peer: between an event and the look at it the
 * peer may have had a turn on another seat, and be gone. */
#include "net/turns.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/host.h"
#include "net/seats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* What a seat's thread is given. */
typedef struct chair {
    ash_turns *turns;
    int number;
    pthread_t thread;
} chair;

typedef struct place {
    ash_peer *peer; /* NULL: free */
    uint32_t generation;
    uint32_t next_free; /* + 1; 0: none */
} place;

struct ash_turns {
    ash_host *host;
    int epoll;
    int end[2]; /* a pipe that ends the seats */
    ash_seats *seats;
    chair *chairs;
    int chair_count; /* whose threads run */

    ash_mutex lock; /* guards what follows, and the peers' turn_… */
    place *places;
    size_t count, capacity;
    uint32_t first_free; /* + 1 */
};

static const uint64_t end_event = UINT64_MAX;

static uint64_t event_of(const ash_turns *t, const ash_peer *p)
{
    return (uint64_t)t->places[p->turn_place].generation << 32 | p->turn_place;
}

/* Nothing comes of an event for which nobody wished, but of an end. */
static int arm(ash_turns *t, ash_peer *p, unsigned wishes, int how)
{
    struct epoll_event e = {.events = EPOLLONESHOT | EPOLLRDHUP, .data.u64 = event_of(t, p)};
    if (wishes & ASH_TURN_READ)
        e.events |= EPOLLIN;
    if (wishes & ASH_TURN_WRITE)
        e.events |= EPOLLOUT;
    /* Who waits to write would be woken for ever by a client that has shut down its own side. */
    if (wishes == ASH_TURN_WRITE)
        e.events &= ~(uint32_t)EPOLLRDHUP;
    return epoll_ctl(t->epoll, how, p->stream.fd, &e);
}

/* ---- places ---- */

static void take_place(ash_turns *t, ash_peer *p)
{
    ash__mutex_assert_held(&t->lock);
    if (t->first_free == 0) {
        t->places = ash__grow_array(t->places, t->count, &t->capacity, sizeof *t->places);
        t->places[t->count] = (place){0};
        t->first_free = (uint32_t)++t->count;
    }
    p->turn_place = t->first_free - 1;
    place *at = &t->places[p->turn_place];
    t->first_free = at->next_free;
    at->peer = p;
}

static void give_place(ash_turns *t, ash_peer *p)
{
    ash__mutex_assert_held(&t->lock);
    place *at = &t->places[p->turn_place];
    at->peer = NULL;
    at->generation++;
    at->next_free = t->first_free;
    t->first_free = p->turn_place + 1;
}

bool ash__turns_add(ash_turns *t, ash_peer *p)
{
    ash__mutex_lock(&t->lock);
    take_place(t, p);
    p->turn_wishes = ASH_TURN_READ;
    /* Also who says nothing has a turn soon, from which its times count. */
    p->turn_due_ms = ash__clock_ms();
    bool added = arm(t, p, ASH_TURN_READ, EPOLL_CTL_ADD) == 0;
    if (!added)
        give_place(t, p);
    ash__mutex_unlock(&t->lock);
    return added;
}

/* ---- seats ---- */

/* The peer of an event, if it rests still; it has its turn from then on. */
static ash_peer *begin_turn(ash_turns *t, uint64_t event)
{
    uint32_t index = (uint32_t)event;
    ash_peer *p = NULL;
    ash__mutex_lock(&t->lock);
    if (index < t->count && t->places[index].generation == event >> 32)
        p = t->places[index].peer;
    if (p != NULL && p->turn_runs) {
        p->turn_again = true;
        p = NULL;
    } else if (p != NULL) {
        p->turn_runs = true;
    }
    ash__mutex_unlock(&t->lock);
    return p;
}

/* true: the peer rests; false: it was woken meanwhile, and has another turn. */
static bool end_turn(ash_turns *t, ash_peer *p, unsigned wishes)
{
    ash__mutex_lock(&t->lock);
    /* What the stream holds already makes no event. */
    bool again = p->turn_again || (wishes & ASH_TURN_READ && ash__stream_holds(&p->stream));
    p->turn_again = false;
    if (!again) {
        p->turn_runs = false;
        p->turn_wishes = wishes;
        arm(t, p, wishes, EPOLL_CTL_MOD);
    }
    ash__mutex_unlock(&t->lock);
    return !again;
}

static void leave(ash_turns *t, ash_peer *p)
{
    ash__mutex_lock(&t->lock);
    give_place(t, p);
    ash__mutex_unlock(&t->lock);
    /* From here on nobody finds the peer; its descriptor leaves the set as it is closed. */
    if (t->host->face->leave != NULL)
        t->host->face->leave(p);
    ash__host_leave(p);
}

static void take_turn(ash_turns *t, ash_peer *p)
{
    unsigned wishes;
    do {
        wishes = t->host->face->turn(p);
        if (wishes == ASH_TURN_OVER) {
            leave(t, p);
            return;
        }
    } while (!end_turn(t, p, wishes));
}

/* false: the end. */
static bool await_event(ash_turns *t, uint64_t *event)
{
    for (;;) {
        struct epoll_event e;
        int n = epoll_wait(t->epoll, &e, 1, -1);
        if (n < 0 && errno != EINTR)
            ash__clock_sleep_ms(10);
        if (n <= 0)
            continue;
        *event = e.data.u64;
        return e.data.u64 != end_event;
    }
}

unsigned ash__turn_wish(ssize_t outcome)
{
    return outcome == ASH_STREAM_WANTS_READ    ? ASH_TURN_READ
           : outcome == ASH_STREAM_WANTS_WRITE ? ASH_TURN_WRITE
                                               : ASH_TURN_OVER;
}

static void *sit(void *arg)
{
    const chair *c = arg;
    ash_turns *t = c->turns;
    uint64_t event;
    bool sits = ash__seats_sit(t->seats);
    while (sits && await_event(t, &event)) {
        ash_peer *p = begin_turn(t, event);
        if (p == NULL)
            continue;
        ash__seats_begin(t->seats, c->number);
        take_turn(t, p);
        ash__seats_end(t->seats, c->number);
        sits = ash__seats_may_stay(t->seats);
    }
    return NULL;
}

/* ---- waking ---- */

/* Nearly every socket takes something at once, so that the event comes.  One that does not has a
 * client which takes nothing, and for that nothing can be done before it does. */
static void wake(ash_turns *t, ash_peer *p)
{
    ash__mutex_assert_held(&t->lock);
    if (p->turn_runs)
        p->turn_again = true;
    else
        arm(t, p, ASH_TURN_READ | ASH_TURN_WRITE, EPOLL_CTL_MOD);
}

void ash__peer_wake(ash_peer *p)
{
    ash_turns *t = p->host->turns;
    ash__mutex_lock(&t->lock);
    wake(t, p);
    ash__mutex_unlock(&t->lock);
}

void ash__turns_tick(ash_turns *t)
{
    int64_t now = ash__clock_ms();
    ash__mutex_lock(&t->lock);
    for (size_t i = 0; i < t->count; i++) {
        ash_peer *p = t->places[i].peer;
        if (p == NULL || p->turn_runs || p->turn_due_ms == 0 || p->turn_due_ms > now)
            continue;
        /* Whoever wants to write and cannot learns of its end by failing. */
        if (p->turn_wishes == ASH_TURN_WRITE)
            ash__stream_shutdown(&p->stream, true);
        else
            wake(t, p);
    }
    ash__mutex_unlock(&t->lock);
}

/* ---- start and stop ---- */

static void release(ash_turns *t)
{
    if (t->epoll >= 0)
        close(t->epoll);
    if (t->end[0] >= 0) {
        close(t->end[0]);
        close(t->end[1]);
    }
    ash__seats_free(t->seats);
    ash__mutex_release(&t->lock);
    ash__free(t->places);
    ash__free(t->chairs);
    ash__free(t);
}

static int open_set(ash_turns *t, ash_error *err)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u64 = end_event};
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (t->epoll < 0)
        return ash__fail_errno(err, errno, "cannot wait for connections");
    if (pipe(t->end) != 0) {
        t->end[0] = t->end[1] = -1;
        return ash__fail_errno(err, errno, "cannot start the server");
    }
    fcntl(t->end[0], F_SETFD, FD_CLOEXEC);
    fcntl(t->end[1], F_SETFD, FD_CLOEXEC);
    if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->end[0], &e) != 0)
        return ash__fail_errno(err, errno, "cannot wait for connections");
    return 0;
}

/* 0 or an errno value. */
static int start_seats(ash_turns *t, int seats)
{
    int failed = 0;
    t->chairs = ash__alloc_array((size_t)seats, sizeof *t->chairs);
    t->seats = ash__seats_new(seats);
    if (t->seats == NULL)
        return EAGAIN;
    for (int i = 0; i < seats && failed == 0; i++) {
        t->chairs[i] = (chair){.turns = t, .number = i};
        failed =
            ash__thread_start(&t->chairs[i].thread, t->host->face->stack_bytes, sit, &t->chairs[i]);
        if (failed == 0)
            t->chair_count++;
    }
    return failed;
}

int ash__turns_start(ash_host *host, int seats, ash_turns **out, ash_error *err)
{
    ash_turns *t = ash__new(ash_turns);
    t->host = host;
    t->epoll = t->end[0] = t->end[1] = -1;
    ash__mutex_init(&t->lock, ASH_RANK_PEERS);
    int rc = open_set(t, err);
    int failed = rc == 0 ? start_seats(t, seats) : 0;
    if (failed != 0)
        rc = ash__fail_errno(err, failed, "cannot start the server's threads");
    if (rc != 0) {
        ash__turns_stop(t);
        return rc;
    }
    *out = t;
    return 0;
}

void ash__turns_stop(ash_turns *t)
{
    if (t == NULL)
        return;
    if (t->seats != NULL)
        ash__seats_stop(t->seats);
    /* Nobody reads it, so that each seat sees it. */
    ssize_t told = t->end[1] >= 0 ? write(t->end[1], "", 1) : 1;
    ash_assert(told == 1);
    for (int i = 0; i < t->chair_count; i++)
        pthread_join(t->chairs[i].thread, NULL);
    release(t);
}
