/* SPDX-License-Identifier: Apache-2.0 */
/* Grants a second, and how long a waiter takes to notice a release when it is woken by changes.
 * What polling would take, as the npm package waits, follows from the interval and is not measured.
 *
 * usage: ashlar-bench-locks STORE [POLLING_SECONDS]     default: the package's 5 */
#include <ashlar/ashlar.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GRANTS  400
#define FILES   8
#define WAKINGS 20

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void check(int rc, const ash_error *err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static ash_lock *open_lock(ash_lock_collection *c, int32_t id, double time_out_s)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_lock *lock = NULL;
    bson_value_t v = {.value_type = BSON_TYPE_INT32};
    v.value.v_int32 = id;
    o.time_out_s = time_out_s;
    check(ash_lock_open(c, &v, &o, &lock, &err), &err);
    return lock;
}

struct worker {
    pthread_t thread;
    ash_lock_collection *c;
    int32_t id;
    bool write;
};

static void *grant_many(void *arg)
{
    struct worker *w = arg;
    ash_error err = ASH_ERROR_INIT;
    ash_lock *lock = open_lock(w->c, w->id, 60);
    for (int i = 0; i < GRANTS; i++) {
        check(w->write ? ash_lock_obtain_write(lock, &err) : ash_lock_obtain_read(lock, &err),
              &err);
        check(ash_lock_release(lock, &err), &err);
    }
    ash_lock_free(lock);
    return NULL;
}

static void measure_grants(ash_lock_collection *c, const char *what, int threads, bool write,
                           bool apart)
{
    struct worker workers[FILES];
    int64_t start = now_us();
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.c = c, .id = apart ? i : 0, .write = write};
        pthread_create(&workers[i].thread, NULL, grant_many, &workers[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    double seconds = (double)(now_us() - start) / 1e6;
    printf("%-44s %8.0f grants and releases a second\n", what, threads * GRANTS / seconds);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The waiter belongs to another lock collection, as in another process. */
static int64_t measure_wake(ash_lock_collection *holders, ash_lock_collection *waiters)
{
    int64_t took[WAKINGS];
    ash_error err = ASH_ERROR_INIT;
    ash_lock_event event;
    ash_lock *held = open_lock(holders, 100, 0), *waits = open_lock(waiters, 100, 60);
    for (int i = 0; i < WAKINGS; i++) {
        struct timespec rest = {.tv_nsec = 50000000};
        check(ash_lock_obtain_write(held, &err), &err);
        check(ash_lock_request_write(waits, &err), &err);
        nanosleep(&rest, NULL);
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
    return took[WAKINGS / 2];
}

int main(int argc, char **argv)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    ash_lock_collection *c = NULL, *other = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: %s STORE [POLLING_SECONDS]\n", argv[0]);
        return 2;
    }
    o.root = "bench";
    o.polling_interval_s = argc > 2 ? strtod(argv[2], NULL) : 5;
    check(ash_store_open(argv[1], NULL, &store, &err), &err);
    check(ash_lock_collection_open(store, &o, &c, &err), &err);
    check(ash_lock_collection_open(store, &o, &other, &err), &err);
    measure_grants(c, "one thread, write locks", 1, true, false);
    measure_grants(c, "8 threads, write locks on a file each", FILES, true, true);
    measure_grants(c, "8 threads, read locks on one file", FILES, false, false);
    measure_grants(c, "8 threads, write locks on one file", FILES, true, false);
    int64_t woken = measure_wake(c, other);
    /* A poller notices after half an interval on average. */
    double polled = o.polling_interval_s * 1e6 / 2;
    printf("%-44s %8" PRId64 " us after the release (median of %d)\n", "a waiting writer gets in",
           woken, WAKINGS);
    printf("%-44s %8.0f us: half the interval, not measured; %.0f times as long\n",
           "by polling alone it would get in", polled, polled / (double)woken);
    ash_lock_collection_close(c);
    ash_lock_collection_close(other);
    ash_store_close(store);
    return 0;
}
