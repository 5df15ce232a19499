/* SPDX-License-Identifier: Apache-2.0 */
/* Background work of a server: a thread a kind, which goes round all buckets and object stores, then
 * rests nineteen times as long as it has worked. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <ashlar/object.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum {
    EXPIRE_EVERY_MS = 1000, /* a file is gone within the second */
    SUM_EVERY_MS = 10000,
    FILES_AT_ONCE = 100, /* between two looks at whether to stop */
    TURN_MS = 2000,
    REST_FACTOR = 19, /* at most a twentieth of the time is work */
    WHOLE_EVERY_MS = 3600 * 1000,
    RECENT_MS = 24 * 3600 * 1000
};

typedef struct chore_kind {
    const char *what;   /* for the log: "cannot …" */
    const char *done;   /* "… files" */
    const char *suffix; /* of the collection that makes a bucket worth a visit */
    int64_t every_ms;   /* unless somebody says otherwise */
    /* Bounded work; *count files were done. */
    int (*work)(ash_chore *c, ash_bucket *b, int64_t *count, bool *more, ash_error *err);
    void (*also)(ash_chore *c); /* once a round, behind the buckets; or NULL */
} chore_kind;

struct ash_chore {
    const chore_kind *kind;
    ash_store *store;
    ash_cmd all; /* names no database and no bucket */
    pthread_t thread;
    ash_mutex lock;
    int64_t interval_ms; /* under the lock */
    ash_cond changed;
    atomic_bool stopping; /* set under the lock */
    /* Of the thread alone: */
    int64_t count;             /* in this round */
    int64_t since_ms;          /* files that are older were looked at before */
    int64_t whole_at;          /* when all files were last looked at; 0: not yet */
    bool unfinished;           /* a bucket was left with work to do */
    ash_object_reaper *reaper; /* NULL: not yet */
};

static int expire(ash_chore *c, ash_bucket *b, int64_t *count, bool *more, ash_error *err)
{
    (void)c;
    return ash_bucket_expire(b, FILES_AT_ONCE, count, more, err);
}

static void expire_objects(ash_chore *c)
{
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_op op = ASH_OP_INIT;
    op.cancel = &ash__cmd_interrupted;
    int rc = c->reaper == NULL ? ash_object_reaper_open(c->store, &c->reaper, &err) : 0;
    if (rc == 0)
        rc = ash_object_reaper_round(c->reaper, &op, &report, &err);
    if (rc != 0 && rc != ASH_EINTERRUPTED)
        ash__log(ASH_LOG_WARN, "cannot expire objects: %s", err.text);
    if (report.expired > 0)
        ash__log(ASH_LOG_INFO, "%" PRId64 " object%s expired", report.expired,
                 ash__cmd_s(report.expired));
}

static int sum(ash_chore *c, ash_bucket *b, int64_t *count, bool *more, ash_error *err)
{
    ash_sum_missing_options o = ASH_SUM_MISSING_OPTIONS_INIT;
    ash_sum_missing_report report = ASH_SUM_MISSING_REPORT_INIT;
    o.since_ms = c->since_ms;
    o.cancel = &ash__cmd_interrupted;
    int rc = ash_bucket_sum_missing(b, &o, &report, err);
    *count = report.files;
    *more = report.more;
    return rc;
}

static const chore_kind kinds[] = {
    [ASH_CHORE_EXPIRE] = {"expire files", "expired", ".attributes", EXPIRE_EVERY_MS, expire,
                          expire_objects},
    [ASH_CHORE_SUM] = {"compute digests", "given a digest", ".files", SUM_EVERY_MS, sum, NULL},
};

/* A bucket with much to do is left after a while, so that the others have their turn. */
static int visit(void *ctx, ash_store *store, const char *db, const char *name, ash_error *err)
{
    ash_chore *c = ctx;
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *bucket = NULL;
    bool more = true;
    int64_t until = ash__clock_deadline(TURN_MS);
    opts.db = db;
    opts.bucket_name = name;
    if (atomic_load(&c->stopping))
        return ASH_EINTERRUPTED;
    int rc = ash_bucket_new(store, &opts, &bucket, err);
    while (rc == 0 && more && ash__clock_ms() < until && !atomic_load(&c->stopping)) {
        int64_t count = 0;
        rc = c->kind->work(c, bucket, &count, &more, err);
        c->count += count;
    }
    c->unfinished = c->unfinished || (rc == 0 && more);
    ash_bucket_free(bucket);
    /* One bucket's trouble is not the others'. */
    if (rc != 0 && rc != ASH_EINTERRUPTED)
        ash__log(ASH_LOG_WARN, "cannot %s of %s.%s: %s", c->kind->what, db, name, err->text);
    return 0;
}

/* Every file is looked at first, and now and then; between these only what is recent, so that a
 * large store costs little at rest. */
static void go_round(ash_chore *c)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t now = ash__clock_ms();
    bool whole = c->unfinished || c->whole_at == 0 || now - c->whole_at > WHOLE_EVERY_MS;
    c->since_ms = whole ? 0 : ash__clock_wall_ms() - RECENT_MS;
    c->count = 0;
    c->unfinished = false;
    int rc = ash__cmd_each_bucket(&c->all, c->store, c->kind->suffix, visit, c, &err);
    if (rc != 0 && rc != ASH_EINTERRUPTED)
        ash__log(ASH_LOG_WARN, "cannot %s: %s", c->kind->what, err.text);
    else if (whole)
        c->whole_at = now;
    if (c->count > 0)
        ash__log(ASH_LOG_INFO, "%" PRId64 " file%s %s", c->count, ash__cmd_s(c->count),
                 c->kind->done);
    if (c->kind->also != NULL && !atomic_load(&c->stopping))
        c->kind->also(c);
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* For the interval as it becomes meanwhile.  false: it is to stop. */
static bool rest(ash_chore *c, int64_t least_ms)
{
    int64_t began = ash__clock_ms();
    ash__mutex_assert_held(&c->lock);
    for (;;) {
        int64_t until = began + longer(least_ms, c->interval_ms);
        if (atomic_load(&c->stopping))
            return false;
        if (ash__clock_ms() >= until)
            return true;
        (void)ash__cond_wait_until(&c->changed, &c->lock, until);
    }
}

static void *run(void *arg)
{
    ash_chore *c = arg;
    int64_t least_ms = 0;
    ash__mutex_lock(&c->lock);
    while (rest(c, least_ms)) {
        /* Whoever stops it does not wait at the lock for a round: that looks at `stopping` itself. */
        ash__mutex_unlock(&c->lock);
        int64_t began = ash__clock_ms();
        go_round(c);
        least_ms = (ash__clock_ms() - began) * REST_FACTOR;
        ash__mutex_lock(&c->lock);
    }
    ash__mutex_unlock(&c->lock);
    return NULL;
}

int ash__chore_start(ash_store *store, enum ash_chore_kind kind, int64_t interval_ms,
                     ash_chore **out, ash_error *err)
{
    ash_chore *c = ash__new(ash_chore);
    *out = NULL;
    c->kind = &kinds[kind];
    c->store = store;
    c->all.store_uri = "/"; /* a folder: no database is singled out */
    c->interval_ms = interval_ms > 0 ? interval_ms : c->kind->every_ms;
    ash__mutex_init(&c->lock, ASH_RANK_SERVER);
    ash__cond_init(&c->changed);
    int reason = ash__thread_start(&c->thread, 0, run, c);
    if (reason != 0) {
        ash__cond_release(&c->changed);
        ash__mutex_release(&c->lock);
        ash__free(c);
        return ash__fail_errno(err, reason, "cannot start the thread for background work");
    }
    *out = c;
    return 0;
}

void ash__chore_set_interval(ash_chore *c, int64_t interval_ms)
{
    if (c == NULL)
        return;
    ash__mutex_lock(&c->lock);
    c->interval_ms = interval_ms > 0 ? interval_ms : c->kind->every_ms;
    ash__cond_broadcast(&c->changed);
    ash__mutex_unlock(&c->lock);
}

void ash__chore_stop(ash_chore *c)
{
    if (c == NULL)
        return;
    ash__mutex_lock(&c->lock);
    atomic_store(&c->stopping, true);
    /* Out of its rest; a round ends by itself. */
    ash__cond_broadcast(&c->changed);
    ash__mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    ash_object_reaper_close(c->reaper);
    ash__cond_release(&c->changed);
    ash__mutex_release(&c->lock);
    ash__free(c);
}
