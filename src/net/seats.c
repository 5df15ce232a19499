/* SPDX-License-Identifier: Apache-2.0 */
#include "net/seats.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <unistd.h>

enum {
    LOOK_MS = 1,
    CALM_LOOKS = 20, /* without a turn before the watcher sleeps: waking it costs the turn */
    CLOSE_LOOKS = 20 /* before one seat less is open */
};

/* Each on a cache line of its own, or two, since seats count all the time. */
typedef struct seat {
    _Atomic uint64_t turns; /* begun and ended: odd in one */
    uint64_t seen;          /* the watcher's */
    uint8_t apart[48];
} seat;

struct ash_seats {
    int count, least;
    seat *seats;
    pthread_t watcher;
    bool watched;
    atomic_bool asleep; /* the watcher: whoever begins a turn wakes it */

    ash_mutex lock; /* guards changes of what follows */
    ash_cond opened, begun;
    atomic_int open;   /* so many may sit */
    atomic_int seated; /* so many do; more than may, until their next turn ends */
    atomic_bool stop;
};

/* ---- the watcher ---- */

/* How many have been in one turn since the last look; *any: somebody had a turn since. */
static int count_long(ash_seats *s, bool *any)
{
    int lasting = 0;
    *any = false;
    for (int i = 0; i < s->count; i++) {
        uint64_t now = atomic_load(&s->seats[i].turns);
        *any = *any || now != s->seats[i].seen || now % 2 != 0;
        lasting += now % 2 != 0 && now == s->seats[i].seen;
        s->seats[i].seen = now;
    }
    return lasting;
}

static void set_open(ash_seats *s, int lasting, int *closing)
{
    int wanted = s->least + lasting, open = atomic_load(&s->open);
    ash__mutex_assert_held(&s->lock);
    if (wanted > s->count)
        wanted = s->count;
    if (wanted >= open) {
        *closing = 0;
    } else if (++*closing >= CLOSE_LOOKS) {
        *closing = 0;
        wanted = open - 1;
    } else {
        wanted = open;
    }
    atomic_store(&s->open, wanted);
    if (wanted > open)
        ash__cond_broadcast(&s->opened);
}

/* Says first that it sleeps, and looks then: whoever begins a turn counts it first, and looks then
 * whether the watcher sleeps. */
static void sleep_until_begun(ash_seats *s)
{
    bool any;
    ash__mutex_assert_held(&s->lock);
    atomic_store(&s->asleep, true);
    (void)count_long(s, &any);
    while (!any && !atomic_load(&s->stop) && atomic_load(&s->asleep))
        ash__cond_wait(&s->begun, &s->lock);
    atomic_store(&s->asleep, false);
}

static void *watch(void *arg)
{
    ash_seats *s = arg;
    int calm = 0, closing = 0;
    ash__mutex_lock(&s->lock);
    while (!atomic_load(&s->stop)) {
        bool any;
        ash__cond_wait_until(&s->begun, &s->lock, ash__clock_ms() + LOOK_MS);
        int lasting = count_long(s, &any);
        set_open(s, lasting, &closing);
        calm = any ? 0 : calm + 1;
        if (calm < CALM_LOOKS || atomic_load(&s->open) > s->least)
            continue;
        calm = 0;
        sleep_until_begun(s);
    }
    ash__mutex_unlock(&s->lock);
    return NULL;
}

/* ---- seats ---- */

static int least_of(int count)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? count : processors + 1 < count ? (int)processors + 1 : count;
}

ash_seats *ash__seats_new(int count)
{
    ash_seats *s = ash__new(ash_seats);
    s->count = count;
    s->least = least_of(count);
    s->seats = ash__alloc_array((size_t)count, sizeof *s->seats);
    ash__mutex_init(&s->lock, ASH_RANK_PEERS);
    ash__cond_init(&s->opened);
    ash__cond_init(&s->begun);
    atomic_store(&s->open, s->least);
    s->watched = ash__thread_start(&s->watcher, 0, watch, s) == 0;
    if (s->watched)
        return s;
    ash__seats_free(s);
    return NULL;
}

void ash__seats_free(ash_seats *s)
{
    if (s == NULL)
        return;
    ash__seats_stop(s);
    if (s->watched)
        pthread_join(s->watcher, NULL);
    ash__cond_release(&s->opened);
    ash__cond_release(&s->begun);
    ash__mutex_release(&s->lock);
    ash__free(s->seats);
    ash__free(s);
}

bool ash__seats_sit(ash_seats *s)
{
    ash__mutex_lock(&s->lock);
    while (!atomic_load(&s->stop) && atomic_load(&s->seated) >= atomic_load(&s->open))
        ash__cond_wait(&s->opened, &s->lock);
    bool sits = !atomic_load(&s->stop);
    if (sits)
        atomic_fetch_add(&s->seated, 1);
    ash__mutex_unlock(&s->lock);
    return sits;
}

/* Of two that see one too many only one stands up. */
static bool stand_up(ash_seats *s)
{
    ash__mutex_lock(&s->lock);
    bool stands = atomic_load(&s->seated) > atomic_load(&s->open);
    if (stands)
        atomic_fetch_sub(&s->seated, 1);
    ash__mutex_unlock(&s->lock);
    return stands;
}

bool ash__seats_may_stay(ash_seats *s)
{
    if (atomic_load(&s->stop))
        return false;
    if (atomic_load(&s->seated) <= atomic_load(&s->open))
        return true;
    return !stand_up(s) || ash__seats_sit(s);
}

void ash__seats_begin(ash_seats *s, int number)
{
    atomic_fetch_add(&s->seats[number].turns, 1);
    if (!atomic_load(&s->asleep) || !atomic_exchange(&s->asleep, false))
        return;
    ash__mutex_lock(&s->lock);
    ash__cond_signal(&s->begun);
    ash__mutex_unlock(&s->lock);
}

void ash__seats_end(ash_seats *s, int number)
{
    atomic_fetch_add(&s->seats[number].turns, 1);
}

void ash__seats_stop(ash_seats *s)
{
    ash__mutex_lock(&s->lock);
    atomic_store(&s->stop, true);
    ash__cond_broadcast(&s->opened);
    ash__cond_broadcast(&s->begun);
    ash__mutex_unlock(&s->lock);
}

int ash__seats_open(ash_seats *s)
{
    return atomic_load(&s->open);
}
