/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes that know their rank.  Those that a thread holds are a chain through the mutexes
 * themselves, so that checking the order costs no memory and no search. */
#define _GNU_SOURCE /* syscall, where the system has it */
#include "base/thread.h"

#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* The one that this thread locked last; each knows the one before. */
static _Thread_local ash_mutex *held;

void ash__mutex_init(ash_mutex *m, enum ash_lock_rank rank)
{
    ash_assert(pthread_mutex_init(&m->mutex, NULL) == 0);
    m->rank = (int)rank;
    m->before = NULL;
}

void ash__mutex_release(ash_mutex *m)
{
    pthread_mutex_destroy(&m->mutex);
}

void ash__mutex_lock(ash_mutex *m)
{
    /* Before it waits: afterwards it would be the deadlock that nobody can report.  Equal ranks are
     * refused, too, as two of them could be taken in either order. */
    ash_assert(held == NULL || held->rank < m->rank);
    ash_assert(pthread_mutex_lock(&m->mutex) == 0);
    m->before = held;
    held = m;
}

void ash__mutex_unlock(ash_mutex *m)
{
    /* Last locked, first unlocked: so the chain never loses one from its middle. */
    ash_assert(held == m);
    held = m->before;
    ash_assert(pthread_mutex_unlock(&m->mutex) == 0);
}

void ash__mutex_assert_held(const ash_mutex *m)
{
    const ash_mutex *one = held;
    while (one != NULL && one != m)
        one = one->before;
    ash_assert(one == m);
}

void ash__cond_init(ash_cond *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    /* Deadlines are monotonic (base/clock.h); by default conditions go by the wall clock. */
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    ash_assert(pthread_cond_init(&c->cond, &attr) == 0);
    pthread_condattr_destroy(&attr);
}

void ash__cond_release(ash_cond *c)
{
    pthread_cond_destroy(&c->cond);
}

void ash__cond_signal(ash_cond *c)
{
    pthread_cond_signal(&c->cond);
}

void ash__cond_broadcast(ash_cond *c)
{
    pthread_cond_broadcast(&c->cond);
}

void ash__cond_wait(ash_cond *c, ash_mutex *m)
{
    /* Others lock and unlock while this thread waits, so what it held before is kept here. */
    ash_mutex *before = m->before;
    pthread_cond_wait(&c->cond, &m->mutex);
    m->before = before;
}

bool ash__cond_wait_until(ash_cond *c, ash_mutex *m, int64_t deadline_ms)
{
    if (deadline_ms == 0) {
        ash__cond_wait(c, m);
        return true;
    }
    ash_mutex *before = m->before;
    struct timespec at = {.tv_sec = (time_t)(deadline_ms / 1000),
                          .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
    int rc = pthread_cond_timedwait(&c->cond, &m->mutex, &at);
    m->before = before;
    return rc != ETIMEDOUT;
}

int ash__thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *), void *arg)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attr, stack_bytes);
    /* A program's signal handlers run on its own threads, which expect them. */
    sigfillset(&all);
    /* What a thread does to itself: blocked, a fault would end the process whatever handles it. */
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    /* A thread begins with its maker's mask; set by itself, it would come too late for a signal. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(out, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
}

#if defined(__linux__) && defined(SYS_sched_setattr)

/* The kernel's struct sched_attr in its first size, which the C library does not declare. */
typedef struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* ns of a turn; whoever asks for shorter ones may break in */
    uint64_t deadline;
    uint64_t period;
} scheduling;

enum { LONG_TURN_NS = 20 * 1000 * 1000 };

/* Older kernels take it and do nothing; what a sandbox refuses was only a wish. */
static void take_turns(uint64_t runtime_ns)
{
    scheduling s = {.size = sizeof s};
    if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0) != 0 || s.policy != 0)
        return;
    s.size = sizeof s;
    s.flags = 0;
    s.runtime = runtime_ns;
    (void)syscall(SYS_sched_setattr, 0, &s, 0);
}

void ash__thread_take_long_turns(void)
{
    take_turns(LONG_TURN_NS);
}

void ash__thread_take_usual_turns(void)
{
    take_turns(0);
}

int64_t ash__thread_turn_ns(void)
{
    scheduling s = {.size = sizeof s};
    if (syscall(SYS_sched_getattr, 0, &s, sizeof s, 0) != 0 || s.policy != 0)
        return 0;
    return (int64_t)s.runtime;
}

#else

void ash__thread_take_long_turns(void)
{
}

void ash__thread_take_usual_turns(void)
{
}

int64_t ash__thread_turn_ns(void)
{
    return 0;
}

#endif
