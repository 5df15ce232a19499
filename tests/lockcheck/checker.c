/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that change and read one file under locks, while they are stopped and killed at random;
 * then the record of what they did is checked.
 *
 * usage: lock-checker URI SECONDS PROCESSES SEED [unfenced]
 *
 * A writer reads version N, waits, and commits version N + 1 with the fence of its lock (unfenced:
 * without).  Violations: two commits of one version (an update was lost), a reader that held its
 * lock to the end and saw two versions, a wait that went on over a second past its time-out
 * without a stop, a lock that is not free at the end.  Exit status 0: none; 1: some; 2: broken.
 *
 * Where the store has no transactions, the check of the fence precedes the change: a process that
 * was stopped just then ("blurred") is left out of the account. */
#include <ashlar/ashlar.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 64
#define VERSIONS_MAX  1000000
#define LIFE_S        0.4
#define POLL_S        0.1
#define TIME_OUT_S    2.0

/* Between the processes; outlives each of them. */
struct record {
    _Atomic int32_t commits[VERSIONS_MAX]; /* acknowledged, of each version */
    _Atomic int64_t commit_count, refused, blurred, reads, lost_reads, torn_reads, late_waits,
        failures;
    _Atomic int32_t stops[PROCESSES_MAX];
};

struct child {
    struct record *record;
    const char *uri;
    int number;
    bool fenced;
    bool blurs; /* no transactions */
    uint64_t random;
    ash_store *store;
    ash_bucket *bucket;
    ash_lock_collection *locks;
    ash_lock *lock;
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

/* ---- a process ---- */

/* Mostly short; now and then longer than a lock lives. */
static void pause_somewhat(struct child *c)
{
    bool over = random_below(&c->random, 8) == 0;
    sleep_ms(over ? (int64_t)(LIFE_S * 1000) + 200 : random_below(&c->random, 20));
}

/* The version that the file has; 0 when there is no file yet. */
static int read_version(struct child *c, int64_t *out, ash_error *err)
{
    ash_download *d = NULL;
    char text[32] = "";
    size_t got = 0;
    *out = 0;
    int rc = ash_bucket_open_download_stream_by_name(c->bucket, "file", NULL, &d, err);
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc == 0)
        rc = ash_download_read(d, text, sizeof text - 1, &got, err);
    ash_download_free(d);
    *out = strtoll(text, NULL, 10);
    return rc;
}

/* The fence is given before the pause: whether it still holds is for the commit to find out. */
static int commit_next(struct child *c, int64_t *version, bool *blurred, ash_error *err)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_upload *u = NULL;
    ash_fence fence;
    char text[32];
    int rc = 0;
    if (c->fenced)
        rc = ash_lock_fence(c->lock, &fence, err);
    o.fence = c->fenced ? &fence : NULL;
    o.replace = true;
    if (rc == 0)
        rc = ash_bucket_open_upload_stream(c->bucket, "file", &o, &u, err);
    if (rc == 0)
        rc = read_version(c, version, err);
    *version += 1;
    pause_somewhat(c);
    snprintf(text, sizeof text, "%" PRId64, *version);
    if (rc == 0)
        rc = ash_upload_write(u, text, strlen(text), err);
    int32_t stops = c->record->stops[c->number];
    if (rc == 0)
        rc = ash_upload_finish(u, NULL, err);
    *blurred = c->fenced && c->blurs && stops != c->record->stops[c->number];
    ash_upload_free(u);
    return rc;
}

static void update(struct child *c)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t version = 0;
    bool blurred;
    int rc = commit_next(c, &version, &blurred, &err);
    if (rc == 0 && blurred) {
        c->record->blurred++;
    } else if (rc == 0 && version < VERSIONS_MAX) {
        c->record->commits[version]++;
        c->record->commit_count++;
    } else if (rc == ASH_ELOST || rc == ASH_ESTATE) {
        c->record->refused++;
    } else {
        c->record->failures++;
        fprintf(stderr, "# commit: %s\n", err.text);
    }
    ash_lock_release(c->lock, NULL);
}

static void look_twice(struct child *c)
{
    int64_t first, second;
    int rc = read_version(c, &first, NULL);
    pause_somewhat(c);
    if (rc == 0)
        rc = read_version(c, &second, NULL);
    if (ash_lock_release(c->lock, NULL) != 0 || rc != 0) {
        c->record->lost_reads++;
        return;
    }
    c->record->reads++;
    if (first != second)
        c->record->torn_reads++;
}

static void turn(struct child *c)
{
    ash_error err = ASH_ERROR_INIT;
    bool write = random_below(&c->random, 3) != 0;
    int32_t stops = c->record->stops[c->number];
    int64_t start = now_ms();
    int rc = write ? ash_lock_obtain_write(c->lock, &err) : ash_lock_obtain_read(c->lock, &err);
    if (now_ms() - start > (int64_t)(TIME_OUT_S * 1000) + 1000 &&
        stops == c->record->stops[c->number])
        c->record->late_waits++;
    if (rc == 0 && write)
        update(c);
    else if (rc == 0)
        look_twice(c);
    else if (rc != ASH_ELOCKED)
        fprintf(stderr, "# obtain: %s\n", err.text);
}

static int open_all(struct child *c, ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    bson_value_t id = {.value_type = BSON_TYPE_INT32};
    o.lock_expiration_s = LIFE_S;
    o.polling_interval_s = POLL_S;
    o.time_out_s = TIME_OUT_S;
    id.value.v_int32 = 1;
    ash_capabilities can;
    int rc = ash_store_open(c->uri, NULL, &c->store, err);
    if (rc == 0)
        rc = ash_store_capabilities(c->store, &can, err);
    if (rc == 0)
        c->blurs = !can.transactions;
    if (rc == 0)
        rc = ash_bucket_open(c->store, NULL, &c->bucket, err);
    if (rc == 0)
        rc = ash_lock_collection_open(c->store, &o, &c->locks, err);
    if (rc == 0)
        rc = ash_lock_open(c->locks, &id, NULL, &c->lock, err);
    return rc;
}

static void close_all(struct child *c)
{
    ash_lock_free(c->lock);
    ash_lock_collection_close(c->locks);
    ash_bucket_free(c->bucket);
    ash_store_close(c->store);
}

static pid_t start(struct child *c)
{
    ash_error err = ASH_ERROR_INIT;
    c->random += 1;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (open_all(c, &err) != 0) {
        fprintf(stderr, "# open: %s\n", err.text);
        c->record->failures++;
        _exit(2);
    }
    for (;;)
        turn(c);
}

/* ---- the one who stops and kills ---- */

static void torment(struct child *children, pid_t *pids, int count, int64_t until_ms,
                    uint64_t *random)
{
    while (now_ms() < until_ms) {
        int victim = (int)random_below(random, count);
        sleep_ms(random_below(random, 60));
        children[victim].record->stops[victim]++;
        if (random_below(random, 8) == 0) {
            kill(pids[victim], SIGKILL);
            waitpid(pids[victim], NULL, 0);
            pids[victim] = start(&children[victim]);
            continue;
        }
        kill(pids[victim], SIGSTOP);
        sleep_ms(100 + random_below(random, 900));
        /* Before it goes on, so that it sees a stop in whatever it did meanwhile. */
        children[victim].record->stops[victim]++;
        kill(pids[victim], SIGCONT);
    }
    for (int i = 0; i < count; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

/* What was left by those that were killed must be had by anybody soon. */
static bool free_at_the_end(const struct child *like)
{
    struct child c = *like;
    ash_error err = ASH_ERROR_INIT;
    int rc = open_all(&c, &err);
    if (rc == 0)
        rc = ash_lock_obtain_write(c.lock, &err);
    if (rc != 0)
        printf("# the lock is not free at the end: %s\n", err.text);
    close_all(&c);
    return rc == 0;
}

static int judge(struct record *r, bool is_free)
{
    int64_t doubled = 0;
    for (int i = 0; i < VERSIONS_MAX; i++)
        doubled += r->commits[i] > 1 ? r->commits[i] - 1 : 0;
    printf("# %" PRId64 " commits, %" PRId64 " refused, %" PRId64 " blurred; %" PRId64
           " reads, %" PRId64 " lost meanwhile; %" PRId64 " failures\n",
           r->commit_count, r->refused, r->blurred, r->reads, r->lost_reads, r->failures);
    printf("# violations: %" PRId64 " updates lost, %" PRId64 " torn reads, %" PRId64
           " late waits, %d locks not free\n",
           doubled, r->torn_reads, r->late_waits, is_free ? 0 : 1);
    if (r->commit_count < 3 || r->reads < 1)
        return 2;
    return doubled + r->torn_reads + r->late_waits > 0 || !is_free;
}

int main(int argc, char **argv)
{
    static struct child children[PROCESSES_MAX];
    static pid_t pids[PROCESSES_MAX];
    if (argc < 5)
        return 2;
    int count = atoi(argv[3]);
    uint64_t random = strtoull(argv[4], NULL, 10);
    struct record *record =
        mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (record == MAP_FAILED || count < 1 || count > PROCESSES_MAX)
        return 2;
    for (int i = 0; i < count; i++) {
        children[i] = (struct child){.record = record, .uri = argv[1], .number = i};
        children[i].fenced = argc < 6 || strcmp(argv[5], "unfenced") != 0;
        children[i].random = random + (uint64_t)i * 1000003;
        pids[i] = start(&children[i]);
    }
    torment(children, pids, count, now_ms() + atoll(argv[2]) * 1000, &random);
    return judge(record, free_at_the_end(&children[0]));
}
