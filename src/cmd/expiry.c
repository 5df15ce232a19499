/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cmd.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { EVERY_MS = 10000, FILES_AT_ONCE = 100, REST_FACTOR = 19 };

struct ash_expiry {
    ash_store *store;
    ash_cmd all; /* names no database and no bucket */
    int64_t interval_ms;
    pthread_t thread;
    ash_mutex lock;
    ash_cond changed;
    atomic_bool stopping; /* set under the lock */
    int64_t deleted;      /* in this round */
};

/* A bucket with much to do is left after a while, so that the others have their turn. */
static int expire_bucket(void *ctx, ash_store *store, const char *db, const char *name,
                         ash_error *err)
{
    ash_expiry *e = ctx;
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    ash_bucket *bucket = NULL;
    bool more = true;
    opts.db = db;
    opts.bucket_name = name;
    if (atomic_load(&e->stopping))
        return ASH_EINTERRUPTED;
    int result = ash_bucket_open(store, &opts, &bucket, err);
    for (int turn = 0; result == 0 && more && turn < 10 && !atomic_load(&e->stopping); turn++) {
        int64_t deleted = 0;
        result = ash_bucket_expire(bucket, FILES_AT_ONCE, &deleted, &more, err);
        e->deleted += deleted;
    }
    ash_bucket_free(bucket);
    /* One bucket's trouble is not the others'. */
    if (result != 0)
        ash__log(ASH_LOG_WARN, "cannot expire files of %s.%s: %s", db, name, err->text);
    return 0;
}

static void *run(void *arg)
{
    ash_expiry *e = arg;
    int64_t pause = e->interval_ms;
    ash__mutex_lock(&e->lock);
    while (!atomic_load(&e->stopping)) {
        int64_t until = ash__clock_deadline(pause);
        while (!atomic_load(&e->stopping) && ash__cond_wait_until(&e->changed, &e->lock, until))
            ;
        if (atomic_load(&e->stopping))
            break;
        ash__mutex_unlock(&e->lock);
        ash_error err = ASH_ERROR_INIT;
        int64_t began = ash__clock_ms();
        e->deleted = 0;
        int result = ash__cmd_each_bucket(&e->all, e->store, ".attributes", expire_bucket, e, &err);
        if (result != 0 && result != ASH_EINTERRUPTED)
            ash__log(ASH_LOG_WARN, "cannot look for expired files: %s", err.text);
        if (e->deleted > 0)
            ash__log(ASH_LOG_INFO, "%" PRId64 " files expired", e->deleted);
        int64_t rest = (ash__clock_ms() - began) * REST_FACTOR;
        pause = rest > e->interval_ms ? rest : e->interval_ms;
        ash__mutex_lock(&e->lock);
    }
    ash__mutex_unlock(&e->lock);
    return NULL;
}

int ash__expiry_start(ash_store *store, int64_t interval_ms, ash_expiry **out, ash_error *err)
{
    ash_expiry *e = ash__new(ash_expiry);
    *out = NULL;
    e->store = store;
    e->all.store_uri = "/"; /* a folder: no database is singled out */
    e->interval_ms = interval_ms > 0 ? interval_ms : EVERY_MS;
    ash__mutex_init(&e->lock, ASH_RANK_SERVER);
    ash__cond_init(&e->changed);
    int reason = ash__thread_start(&e->thread, 0, run, e);
    if (reason != 0) {
        ash__cond_release(&e->changed);
        ash__mutex_release(&e->lock);
        ash__free(e);
        return ash__fail_errno(err, reason, "cannot start the thread that expires files");
    }
    *out = e;
    return 0;
}

void ash__expiry_stop(ash_expiry *e)
{
    if (e == NULL)
        return;
    ash__mutex_lock(&e->lock);
    atomic_store(&e->stopping, true);
    ash__cond_broadcast(&e->changed);
    ash__mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    ash__cond_release(&e->changed);
    ash__mutex_release(&e->lock);
    ash__free(e);
}
