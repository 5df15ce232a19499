/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: grants a second and how soon a waiter gets in.  The same work as locks_npm.js, in the same
 * order; a line is figure,peer,value,unit.
 *
 * usage: ashlar-bench-locks STORE PEER SCALE */
#include "peer.h"

#include <ashlar/ashlar.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FILES       10000
#define READERS     5000
#define WRITERS     50
#define COLLECTIONS 4 /* as many processes would have them */
#define AT_ONCE     8
#define CROWD_S     20
#define WAKINGS     41

struct bench {
    ash_store *store;
    ash_lock_collection *collections[COLLECTIONS];
    const char *peer;
    double scale;
};

static int64_t now_us(void)
{
    return (int64_t)(bench_now() * 1e6);
}

static void rest_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void check(int rc, const ash_error *err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void figure(const struct bench *b, const char *name, double value, const char *unit)
{
    printf("%s,%s,%.1f,%s\n", name, b->peer, value, unit);
    fflush(stdout);
}

static ash_lock *open_lock(ash_lock_collection *c, int32_t id)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_lock *lock = NULL;
    bson_value_t v = {.value_type = BSON_TYPE_INT32};
    v.value.v_int32 = id;
    o.time_out_s = 3600;
    check(ash_lock_new(c, &v, &o, &lock, &err), &err);
    return lock;
}

/* ---- many files, a lock each ---- */

struct files {
    ash_lock_collection *c;
    atomic_int *next;
    int count;
    pthread_t thread;
};

static void *lock_files(void *arg)
{
    struct files *f = arg;
    ash_error err = ASH_ERROR_INIT;
    for (int id; (id = atomic_fetch_add(f->next, 1)) < f->count;) {
        ash_lock *lock = open_lock(f->c, id + 1);
        check(ash_lock_obtain_write(lock, &err), &err);
        check(ash_lock_release(lock, &err), &err);
        ash_lock_free(lock);
    }
    return NULL;
}

static void measure_files(const struct bench *b, const char *name)
{
    struct files parts[AT_ONCE];
    atomic_int next = 0;
    int count = (int)(FILES * b->scale);
    int64_t start = now_us();
    for (int i = 0; i < AT_ONCE; i++) {
        parts[i] = (struct files){b->collections[i % COLLECTIONS], &next, count, 0};
        pthread_create(&parts[i].thread, NULL, lock_files, &parts[i]);
    }
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(parts[i].thread, NULL);
    figure(b, name, count * 1e6 / (double)(now_us() - start), "grants/s");
}

/* ---- a crowd at one file ---- */

struct crowd {
    atomic_bool over;
    atomic_llong reads, writes;
    atomic_llong waited_us, longest_us; /* writers: from asking to getting in */
};

struct member {
    struct crowd *crowd;
    ash_lock *lock;
    bool write;
    int64_t asked_us;
};

static void ask(struct member *m)
{
    m->asked_us = now_us();
    if (m->write)
        ash_lock_request_write(m->lock, NULL);
    else
        ash_lock_request_read(m->lock, NULL);
}

static void count_grant(struct member *m)
{
    int64_t waited = now_us() - m->asked_us;
    atomic_fetch_add(m->write ? &m->crowd->writes : &m->crowd->reads, 1);
    if (!m->write)
        return;
    atomic_fetch_add(&m->crowd->waited_us, waited);
    if (waited > m->crowd->longest_us)
        m->crowd->longest_us = waited;
}

static void on_event(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    struct member *m = ctx;
    if (event->kind == ASH_LOCK_LOCKED) {
        count_grant(m);
        ash_lock_release(lock, NULL);
    } else if (event->kind == ASH_LOCK_RELEASED && !m->crowd->over) {
        ask(m);
    }
}

static void measure_crowd(const struct bench *b)
{
    struct crowd crowd = {.over = false};
    int count = (int)((READERS + WRITERS) * (b->scale < 1 ? b->scale : 1));
    struct member *members = calloc((size_t)count, sizeof *members);
    int64_t start = now_us();
    for (int i = 0; i < count; i++) {
        struct member *m = &members[i];
        m->crowd = &crowd;
        m->write = i % ((READERS + WRITERS) / WRITERS) == 0;
        m->lock = open_lock(b->collections[i % COLLECTIONS], 0);
        ash_lock_on_event(m->lock, on_event, m);
    }
    for (int i = 0; i < count; i++)
        ask(&members[i]);
    rest_ms(CROWD_S * 1000);
    double seconds = (double)(now_us() - start) / 1e6;
    figure(b, "locks_crowd_reads", (double)crowd.reads / seconds, "grants/s");
    figure(b, "locks_crowd_writes", (double)crowd.writes / seconds, "grants/s");
    if (crowd.writes > 0)
        figure(b, "locks_crowd_wait", (double)crowd.waited_us / (double)crowd.writes, "us");
    crowd.over = true;
    for (int i = 0; i < count; i++)
        ash_lock_free(members[i].lock);
    free(members);
}

/* ---- one waiter ---- */

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The waiter belongs to another lock collection, as in another process. */
static void measure_wake(const struct bench *b)
{
    int64_t took[WAKINGS];
    ash_error err = ASH_ERROR_INIT;
    ash_lock_event event = ASH_LOCK_EVENT_INIT;
    ash_lock *held = open_lock(b->collections[0], -1), *waits = open_lock(b->collections[1], -1);
    for (int i = 0; i < WAKINGS; i++) {
        check(ash_lock_obtain_read(held, &err), &err);
        check(ash_lock_request_write(waits, &err), &err);
        rest_ms(50);
        int64_t start = now_us();
        check(ash_lock_release(held, &err), &err);
        do {
            check(ash_lock_next_event(waits, 60000, &event, &err), &err);
        } while (event.kind != ASH_LOCK_LOCKED);
        took[i] = now_us() - start;
        check(ash_lock_release(waits, &err), &err);
    }
    ash_lock_free(held);
    ash_lock_free(waits);
    qsort(took, WAKINGS, sizeof took[0], compare);
    figure(b, "locks_wake_p50", (double)took[WAKINGS / 2], "us");
    figure(b, "locks_wake_max", (double)took[WAKINGS - 1], "us");
}

int main(int argc, char **argv)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    struct bench b = {0};
    char root[40];
    if (argc != 4) {
        fprintf(stderr, "usage: %s STORE PEER SCALE\n", argv[0]);
        return 2;
    }
    b.peer = argv[2];
    b.scale = strtod(argv[3], NULL);
    snprintf(root, sizeof root, "bench%" PRId64, now_us());
    o.root = root; /* every run has its own documents */
    check(ash_store_open(argv[1], NULL, &b.store, &err), &err);
    for (int i = 0; i < COLLECTIONS; i++)
        check(ash_lock_collection_open(b.store, &o, &b.collections[i], &err), &err);
    measure_files(&b, "locks_files_first");
    measure_files(&b, "locks_files_again");
    measure_wake(&b);
    measure_crowd(&b);
    for (int i = 0; i < COLLECTIONS; i++)
        ash_lock_collection_close(b.collections[i]);
    ash_store_close(b.store);
    return 0;
}
