/* SPDX-License-Identifier: Apache-2.0 */
/* The line is a list.  Nobody watches the sockets: whoever takes its own request asks epoll first
 * what came before, on behalf of all. */
#include "wire/arrival.h"

#include "base/clock.h"

#include <stddef.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#endif

enum { EVENTS_A_CALL = 64 };

void ash__arrivals_init(ash_arrivals *line)
{
    ash__mutex_init(&line->lock, ASH_RANK_ARRIVALS);
    line->first = line->last = NULL;
    line->poll = -1;
#ifdef __linux__
    line->poll = epoll_create1(EPOLL_CLOEXEC);
#endif
}

void ash__arrivals_release(ash_arrivals *line)
{
    if (line->poll >= 0)
        close(line->poll);
    ash__mutex_release(&line->lock);
}

static void place(ash_arrival *a)
{
    ash_arrivals *line = a->line;
    ash__mutex_assert_held(&line->lock);
    if (a->placed)
        return;
    a->prev = line->last;
    a->next = NULL;
    a->placed = true;
    if (line->last != NULL)
        line->last->next = a;
    else
        line->first = a;
    line->last = a;
}

static void take_out(ash_arrival *a)
{
    ash_arrivals *line = a->line;
    ash__mutex_assert_held(&line->lock);
    if (!a->placed)
        return;
    if (a->prev != NULL)
        a->prev->next = a->next;
    else
        line->first = a->next;
    if (a->next != NULL)
        a->next->prev = a->prev;
    else
        line->last = a->prev;
    a->placed = false;
    /* It was the first: whoever is now may go. */
    if (a->prev == NULL && line->first != NULL)
        ash__cond_signal(&line->first->first);
}

/* Give places to whose requests came since somebody looked, in their order. */
static void look(ash_arrivals *line)
{
    ash__mutex_assert_held(&line->lock);
#ifdef __linux__
    struct epoll_event events[EVENTS_A_CALL];
    int n = line->poll < 0 ? 0 : EVENTS_A_CALL;
    while (n == EVENTS_A_CALL) {
        n = epoll_wait(line->poll, events, EVENTS_A_CALL, 0);
        for (int i = 0; i < n; i++) {
            ash_arrival *a = events[i].data.ptr;
            /* More of a request that is being dealt with, or the next one, sent early: that gets
             * its place when its owner takes it. */
            if (a->state != ASH_ARRIVAL_OPEN)
                continue;
            take_out(a); /* what had this place was answered */
            place(a);
            a->state = ASH_ARRIVAL_COME;
        }
    }
#endif
}

void ash__arrival_begin(ash_arrival *a, ash_arrivals *line, int fd)
{
    *a = (ash_arrival){.line = line, .fd = fd, .state = ASH_ARRIVAL_OPEN};
    ash__cond_init(&a->first);
#ifdef __linux__
    /* Told once for each time that something comes. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = a};
    if (line->poll >= 0)
        epoll_ctl(line->poll, EPOLL_CTL_ADD, fd, &event);
#endif
}

void ash__arrival_end(ash_arrival *a)
{
    ash_arrivals *line = a->line;
    if (line == NULL)
        return;
    ash__mutex_lock(&line->lock);
#ifdef __linux__
    struct epoll_event none = {0};
    if (line->poll >= 0)
        /* Under the lock: a look must not find an arrival whose memory is the owner's again. */
        epoll_ctl(line->poll, EPOLL_CTL_DEL, a->fd, &none);
#endif
    take_out(a);
    ash__mutex_unlock(&line->lock);
    ash__cond_release(&a->first);
}

void ash__arrival_take(ash_arrival *a)
{
    ash_arrivals *line = a->line;
    if (line == NULL)
        return;
    ash__mutex_lock(&line->lock);
    look(line);
    /* It came while an earlier one was dealt with. */
    place(a);
    a->state = ASH_ARRIVAL_BUSY;
    ash__mutex_unlock(&line->lock);
}

void ash__arrival_wait(ash_arrival *a)
{
    ash_arrivals *line = a->line;
    int64_t until = ash__clock_deadline(ASH_ARRIVAL_MS);
    if (line == NULL)
        return;
    ash__mutex_lock(&line->lock);
    while (a->placed && line->first != a)
        /* Too late: those before it have had their time, and are passed by all together. */
        if (!ash__cond_wait_until(&a->first, &line->lock, until))
            while (a->placed && line->first != a)
                take_out(line->first);
    ash__mutex_unlock(&line->lock);
}

void ash__arrival_leave(ash_arrival *a)
{
    if (a->line == NULL)
        return;
    ash__mutex_lock(&a->line->lock);
    take_out(a);
    ash__mutex_unlock(&a->line->lock);
}

void ash__arrival_open(ash_arrival *a)
{
    if (a->line == NULL)
        return;
    ash__mutex_lock(&a->line->lock);
    a->state = ASH_ARRIVAL_OPEN;
    ash__mutex_unlock(&a->line->lock);
}

void ash__arrival_done(ash_arrival *a)
{
    if (a->line == NULL)
        return;
    ash__mutex_lock(&a->line->lock);
    /* COME: the client has its answer and was quicker than we are. */
    if (a->state != ASH_ARRIVAL_COME) {
        take_out(a);
        a->state = ASH_ARRIVAL_OPEN;
    }
    ash__mutex_unlock(&a->line->lock);
}
