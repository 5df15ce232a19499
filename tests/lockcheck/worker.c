/* SPDX-License-Identifier: Apache-2.0 */
/* One of the processes that check.py torments: it changes and reads a file under a lock, for ever,
 * and appends what it did to a history, a line of JSON each, with times of the monotonic clock.
 *
 * usage: lock-worker URI HISTORY NUMBER SEED fenced|unfenced
 *        lock-worker URI HISTORY NUMBER SEED last       the lock must be had by anybody now
 *
 * A writer reads version N, waits, and commits version N + 1 with the fence of its lock (unfenced:
 * without).  A reader reads twice. */
#include <ashlar/ashlar.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIFE_S       0.6
#define POLL_S       0.1
#define TIME_OUT_S   2.0
#define LAST_LIMIT_S 60.0

struct worker {
    int number;
    int history;
    bool fenced;
    uint64_t random;
    ash_store *store;
    ash_bucket *bucket;
    ash_lock_collection *locks;
    ash_lock *lock;
    double time_out_s;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_ms(int64_t ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}

/* 0 … below - 1 (splitmix64). */
static int64_t random_below(uint64_t *state, int64_t below)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)((z ^ (z >> 31)) % (uint64_t)below);
}

/* One write, so that a line is whole or not there. */
__attribute__((format(printf, 2, 3))) static void tell(const struct worker *w, const char *format,
                                                       ...)
{
    char line[500];
    int len = snprintf(line, sizeof line, "{\"p\": %d, \"at\": %" PRId64 ", ", w->number, now_ms());
    va_list args;
    va_start(args, format);
    len += vsnprintf(line + len, sizeof line - (size_t)len - 3, format, args);
    va_end(args);
    if (len > (int)sizeof line - 3)
        len = (int)sizeof line - 3;
    line[len++] = '}';
    line[len++] = '\n';
    if (write(w->history, line, (size_t)len) != len)
        _exit(2);
}

static void tell_failure(const struct worker *w, const char *what, ash_error *err)
{
    for (char *c = err->text; *c != 0; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '\'';
    tell(w, "\"op\": \"failed\", \"what\": \"%s\", \"why\": \"%.300s\"", what, err->text);
}

/* Mostly short; now and then longer than a lock lives. */
static void pause_somewhat(struct worker *w)
{
    bool over = random_below(&w->random, 8) == 0;
    sleep_ms(over ? (int64_t)(LIFE_S * 1000) + 200 : random_below(&w->random, 20));
}

/* The version that the file has; 0 when there is no file yet. */
static int read_version(struct worker *w, int64_t *out, ash_error *err)
{
    ash_download *d = NULL;
    char text[32] = "";
    size_t got = 0;
    *out = 0;
    int rc = ash_bucket_open_download_stream_by_name(w->bucket, "file", NULL, &d, err);
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc == 0)
        rc = ash_download_read(d, text, sizeof text - 1, &got, err);
    ash_download_free(d);
    *out = strtoll(text, NULL, 10);
    return rc;
}

/* The fence is given before the pause: whether it still holds is for the commit to find out. */
static int commit_next(struct worker *w, int64_t *version, ash_error *err)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    ash_fence fence = ASH_FENCE_INIT;
    char text[32];
    int rc = 0;
    if (w->fenced)
        rc = ash_lock_fence(w->lock, &fence, err);
    o.fence = w->fenced ? &fence : NULL;
    o.replace = true;
    if (rc == 0)
        rc = ash_bucket_open_upload_stream(w->bucket, "file", &o, &u, err);
    if (rc == 0)
        rc = read_version(w, version, err);
    *version += 1;
    pause_somewhat(w);
    snprintf(text, sizeof text, "%" PRId64, *version);
    if (rc == 0)
        rc = ash_upload_write(u, text, strlen(text), err);
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, err);
    ash_upload_free(u);
    return rc;
}

static void update(struct worker *w, int64_t token)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t version = 0;
    int rc = commit_next(w, &version, &err);
    if (rc == 0)
        tell(w, "\"op\": \"commit\", \"version\": %" PRId64 ", \"token\": %" PRId64, version,
             token);
    else if (rc == ASH_ELOST || rc == ASH_ESTATE)
        tell(w, "\"op\": \"refused\", \"version\": %" PRId64, version);
    else
        tell_failure(w, "commit", &err);
    if (random_below(&w->random, 10) == 0)
        ash_lock_remove(w->lock, NULL);
    else
        ash_lock_release(w->lock, NULL);
}

static void look_twice(struct worker *w)
{
    int64_t first, second = 0;
    int rc = read_version(w, &first, NULL);
    pause_somewhat(w);
    if (rc == 0)
        rc = read_version(w, &second, NULL);
    bool held = ash_lock_release(w->lock, NULL) == 0 && rc == 0;
    tell(w, "\"op\": \"read\", \"held\": %s, \"first\": %" PRId64 ", \"second\": %" PRId64,
         held ? "true" : "false", first, second);
}

static int obtain(struct worker *w, bool write, ash_error *err)
{
    int64_t start = now_ms();
    int rc = write ? ash_lock_obtain_write(w->lock, err) : ash_lock_obtain_read(w->lock, err);
    tell(w,
         "\"op\": \"wait\", \"start\": %" PRId64 ", \"end\": %" PRId64
         ", \"limit\": %.0f, \"got\": %s",
         start, now_ms(), w->time_out_s * 1000, rc == 0 ? "true" : "false");
    return rc;
}

static void turn(struct worker *w)
{
    ash_error err = ASH_ERROR_INIT;
    bool write = random_below(&w->random, 3) != 0;
    int rc = obtain(w, write, &err);
    if (rc == 0 && write)
        update(w, ash_lock_token(w->lock));
    else if (rc == 0)
        look_twice(w);
    else if (rc != ASH_ELOCKED)
        tell_failure(w, "obtain", &err);
    sleep_ms(random_below(&w->random, 30));
}

static int open_all(struct worker *w, const char *uri, ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    bson_value_t id = {.value_type = BSON_TYPE_INT32};
    o.lock_expiration_s = LIFE_S;
    o.polling_interval_s = POLL_S;
    o.time_out_s = w->time_out_s;
    id.value.v_int32 = 1;
    int rc = ash_store_open(uri, NULL, &w->store, err);
    if (rc == 0)
        rc = ash_bucket_new(w->store, NULL, &w->bucket, err);
    if (rc == 0)
        rc = ash_lock_collection_open(w->store, &o, &w->locks, err);
    if (rc == 0)
        rc = ash_lock_new(w->locks, &id, NULL, &w->lock, err);
    return rc;
}

/* Whatever was left by those that were killed: both kinds of lock can be had, and nobody is in the
 * document afterwards. */
static int be_the_last(struct worker *w)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {0};
    int64_t version = -1;
    int rc = ash_lock_obtain_write(w->lock, &err);
    if (rc == 0)
        rc = ash_lock_release(w->lock, &err);
    if (rc == 0)
        rc = ash_lock_obtain_read(w->lock, &err);
    if (rc == 0)
        rc = read_version(w, &version, &err);
    if (rc == 0)
        rc = ash_lock_release(w->lock, &err);
    if (rc == 0)
        rc = ash_lock_list(w->locks, NULL, &cursor, &err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, &err);
    if (rc != 0) {
        tell_failure(w, "last", &err);
    } else {
        bson_t shown;
        bson_iter_t at;
        bool good = doc.data != NULL && bson_init_static(&shown, doc.data, doc.len) &&
                    bson_iter_init_find(&at, &shown, "state") && BSON_ITER_HOLDS_UTF8(&at);
        tell(w, "\"op\": \"last\", \"version\": %" PRId64 ", \"state\": \"%s\"", version,
             good ? bson_iter_utf8(&at, NULL) : "?");
    }
    ash_cursor_free(cursor);
    ash_lock_free(w->lock);
    ash_lock_collection_close(w->locks);
    ash_bucket_free(w->bucket);
    ash_store_close(w->store);
    return rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct worker w = {0};
    ash_error err = ASH_ERROR_INIT;
    if (argc != 6)
        return 2;
    bool last = strcmp(argv[5], "last") == 0;
    w.history = open(argv[2], O_WRONLY | O_APPEND | O_CLOEXEC);
    w.number = atoi(argv[3]);
    w.random = strtoull(argv[4], NULL, 10);
    w.fenced = strcmp(argv[5], "fenced") == 0;
    w.time_out_s = last ? LAST_LIMIT_S : TIME_OUT_S;
    if (w.history < 0)
        return 2;
    if (open_all(&w, argv[1], &err) != 0) {
        tell_failure(&w, "open", &err);
        return 2;
    }
    if (last)
        return be_the_last(&w);
    tell(&w, "\"op\": \"begins\"");
    for (;;)
        turn(&w);
}
