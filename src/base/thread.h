/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_THREAD_H
#define ASH_BASE_THREAD_H

/* Mutexes, conditions and threads.
 *
 * Each mutex has a rank; a thread may lock only mutexes of a higher rank than those it holds.  The
 * rule is checked on every lock, also in release builds (one thread-local compare), so that a
 * deadlock in waiting shows in the first test that passes by.  No callback of the user runs, and
 * nothing waits for a device, under a lock unless the header of that lock says so. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum ash_lock_rank {
    ASH_RANK_SERVER = 10,     /* net: list of peers */
    ASH_RANK_CONNECTION = 20, /* net: rooms; wire: cursor table */
    ASH_RANK_BUCKET = 30,
    ASH_RANK_LOCK = 40,     /* gridfs-locks objects */
    ASH_RANK_CONTENTS = 45, /* tree: what contents were like that were stored last */
    ASH_RANK_KEPT = 46,     /* http/dav: small files in memory */
    ASH_RANK_STORE = 50,
    ASH_RANK_CATALOG = 60,
    ASH_RANK_QUEUE = 70,     /* the writer's queue */
    ASH_RANK_WATCH = 80,     /* who waits for changes */
    ASH_RANK_SNAPSHOTS = 85, /* open snapshots */
    ASH_RANK_PINS = 90,      /* extents that readers hold */
    ASH_RANK_DAMAGE = 95,    /* what is known of damage */
    ASH_RANK_SEGMENT = 100,  /* free extents, segment table */
    ASH_RANK_ARRIVALS = 105, /* whose request came first */
    ASH_RANK_PEERS = 107,    /* net: whose turn it is */
    ASH_RANK_TURNS = 110,    /* who may answer next */
    ASH_RANK_TLS = 112,      /* which certificate is shown */
    ASH_RANK_ATTEMPTS = 115, /* user: failed attempts to sign in */
    ASH_RANK_USAGE = 116,    /* user: who takes what of a server */
    ASH_RANK_PACE = 117,     /* user: what one of them takes */
    ASH_RANK_AUDIT = 120,    /* audit: lines that wait */
    ASH_RANK_LOG = 200       /* always last */
};

typedef struct ash_mutex {
    pthread_mutex_t mutex;
    int rank;
    struct ash_mutex *before; /* that its holder locked before it */
} ash_mutex;

typedef struct ash_cond {
    pthread_cond_t cond;
} ash_cond;

void ash__mutex_init(ash_mutex *m, enum ash_lock_rank rank);
void ash__mutex_release(ash_mutex *m);
void ash__mutex_lock(ash_mutex *m);
void ash__mutex_unlock(ash_mutex *m);
/* What a function counts on that is called with the lock held. */
void ash__mutex_assert_held(const ash_mutex *m);

void ash__cond_init(ash_cond *c);
void ash__cond_release(ash_cond *c);
void ash__cond_signal(ash_cond *c);
void ash__cond_broadcast(ash_cond *c);
void ash__cond_wait(ash_cond *c, ash_mutex *m);
/* false when the deadline (monotonic ms, 0 = none) passed. */
bool ash__cond_wait_until(ash_cond *c, ash_mutex *m, int64_t deadline_ms);

/* Starts a thread with all signals blocked; 0 or an errno value.  stack_bytes 0 = the default. */
int ash__thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *arg);

/* The calling thread works long for one: those that wake to do a little for others shall come
 * first, where the scheduler listens (Linux from 6.12 on).  It gets no less of a processor. */
void ash__thread_take_long_turns(void);
/* Takes it back, also what a thread has from the one that started it. */
void ash__thread_take_usual_turns(void);
/* For tests: how long they are; 0 where the scheduler does not say. */
int64_t ash__thread_turn_ns(void);

#endif
