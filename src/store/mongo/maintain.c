/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mongo/driver.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"

#include <stdio.h>

/* Maintenance of a folder by the server that holds it: the one command that only Ashlar's own
 * server knows, sent to the database admin.
 *
 *   request  {ashlarMaintain: 1, action: {…}, comment: ObjectId}
 *                                                 action: as of ash_store_maintain
 *   reply    {report: {…}, ok: 1}                 done
 *            {ok: 0, code, errmsg, codeName}      as of any command; with code 301, when stored
 *                                                 bytes were found damaged, also report: {…}
 *
 * The folder of {backup: "folder"} is the server's, so a client sends absolute paths.
 *
 * It may take hours.  So that the caller can watch and stop it, a thread waits for the answer,
 * while the caller's asks on another connection how far the command is (currentOp finds it by its
 * comment) and ends it by killOp. */

enum { ASK_EVERY_MS = 250, ASK_WITHIN_MS = 2000, END_WITHIN_MS = 10000 };

typedef struct maintenance {
    ash_store *store;
    const bson_t *action;
    bson_oid_t comment;
    volatile int cancel; /* the server does not answer a killOp either */

    ash_mutex lock; /* guards what follows until the thread is joined */
    ash_cond ended_cond;
    bool ended;
    int result;
    ash_error err;
    bson_t *out;
} maintenance;

static bool read_report(const bson_t *reply, bson_t *out)
{
    bson_iter_t it;
    uint32_t len = 0;
    const uint8_t *data = NULL;
    bson_t view;

    if (!bson_iter_init_find(&it, reply, "report") || !BSON_ITER_HOLDS_DOCUMENT(&it))
        return false;
    bson_iter_document(&it, &len, &data);
    if (!bson_init_static(&view, data, len) || ash__mongo_check(&view, NULL) != 0)
        return false;
    bson_copy_to(&view, out);
    return true;
}

/* Damage has a report beside the error; ash_store_maintain promises one, so it may be empty. */
static int fail_maintain(ash_mongo_call *call, bson_t *out, ash_error *err)
{
    int rc = ash__mongo_call_fail(call, err);
    if (rc == ASH_ECORRUPT && !read_report(&call->reply, out))
        bson_init(out);
    return rc;
}

/* ---- the work ---- */

static int run(maintenance *m, ash_error *err)
{
    /* No deadline: it may take hours. */
    ash_op op = {.size = sizeof(ash_op), .cancel = &m->cancel};
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, m->store, &op, err);
    if (rc != 0)
        return rc;
    bson_t *command = BCON_NEW("ashlarMaintain", BCON_INT32(1), "action", BCON_DOCUMENT(m->action),
                               "comment", BCON_OID(&m->comment));
    /* The driver initialises it. */
    bson_destroy(&call.reply);
    if (!mongoc_client_command_simple(call.client, "admin", command, NULL, &call.reply,
                                      &call.error))
        rc = fail_maintain(&call, m->out, err);
    else if (!read_report(&call.reply, m->out))
        rc = ash__fail(err, ASH_ENETWORK, "answer to ashlarMaintain has no report");
    bson_destroy(command);
    ash__mongo_call_end(&call);
    return rc;
}

static void *run_beside(void *arg)
{
    maintenance *m = arg;
    ash_error err = ASH_ERROR_INIT;
    int rc = run(m, &err);
    ash__mutex_lock(&m->lock);
    m->result = rc;
    m->err = err;
    m->ended = true;
    ash__cond_signal(&m->ended_cond);
    ash__mutex_unlock(&m->lock);
    return NULL;
}

static bool has_ended(maintenance *m, int64_t wait_ms)
{
    int64_t until = ash__clock_ms() + wait_ms;
    ash__mutex_lock(&m->lock);
    /* A condition may wake for nothing. */
    while (!m->ended && ash__cond_wait_until(&m->ended_cond, &m->lock, until))
        continue;
    bool ended = m->ended;
    ash__mutex_unlock(&m->lock);
    return ended;
}

/* ---- watching it ---- */

typedef struct progress_seen {
    int64_t id; /* of the operation; 0: it is not known */
    char what[32];
    int64_t done, total;
} progress_seen;

static void read_progress(const bson_t *reply, progress_seen *out)
{
    bson_iter_t it, found;
    if (bson_iter_init(&it, reply) &&
        bson_iter_find_descendant(&it, "cursor.firstBatch.0.opid", &found))
        out->id = bson_iter_as_int64(&found);
    if (bson_iter_init(&it, reply) &&
        bson_iter_find_descendant(&it, "cursor.firstBatch.0.msg", &found) &&
        BSON_ITER_HOLDS_UTF8(&found))
        snprintf(out->what, sizeof out->what, "%s", bson_iter_utf8(&found, NULL));
    if (bson_iter_init(&it, reply) &&
        bson_iter_find_descendant(&it, "cursor.firstBatch.0.progress.done", &found))
        out->done = bson_iter_as_int64(&found);
    if (bson_iter_init(&it, reply) &&
        bson_iter_find_descendant(&it, "cursor.firstBatch.0.progress.total", &found))
        out->total = bson_iter_as_int64(&found);
}

static void ask(const maintenance *m, progress_seen *out)
{
    ash_op op = {.size = sizeof(ash_op), .deadline_ms = ash__clock_deadline(ASK_WITHIN_MS)};
    bson_t reply;
    bson_t *command = BCON_NEW("aggregate", BCON_INT32(1), "pipeline", "[", "{", "$currentOp", "{",
                               "}", "}", "{", "$match", "{", "command.comment",
                               BCON_OID(&m->comment), "}", "}", "]", "cursor", "{", "}");
    *out = (progress_seen){.what = "waiting for the server"};
    if (ash__mongo_run(m->store, &(ash_mongo_request){ASH_MONGO_ASK, "admin", command}, &op, &reply,
                       NULL) == 0) {
        read_progress(&reply, out);
        bson_destroy(&reply);
    }
    bson_destroy(command);
}

/* The answer then says what was left undone; who gets none hangs up. */
static void stop(maintenance *m, int64_t id)
{
    ash_op op = {.size = sizeof(ash_op), .deadline_ms = ash__clock_deadline(ASK_WITHIN_MS)};
    bson_t *command = BCON_NEW("killOp", BCON_INT32(1), "op", BCON_INT64(id));
    /* Without an id the server was never seen at it: hanging up is all that is left. */
    bool told =
        id != 0 && ash__mongo_run(m->store, &(ash_mongo_request){ASH_MONGO_ASK, "admin", command},
                                  &op, NULL, NULL) == 0;
    bson_destroy(command);
    if (!told || !has_ended(m, END_WITHIN_MS))
        __atomic_store_n(&m->cancel, 1, __ATOMIC_RELAXED);
}

static int run_watched(maintenance *m, ash_progress_fn progress, void *ctx, ash_error *err)
{
    pthread_t thread;
    progress_seen seen = {.what = "waiting for the server"};
    ash__mutex_init(&m->lock, ASH_RANK_STORE);
    ash__cond_init(&m->ended_cond);
    int failed = ash__thread_start(&thread, 0, run_beside, m);
    while (failed == 0 && !has_ended(m, ASK_EVERY_MS)) {
        ask(m, &seen);
        if (progress(ctx, seen.what, seen.done, seen.total))
            continue;
        stop(m, seen.id);
        break;
    }
    if (failed == 0)
        pthread_join(thread, NULL);
    ash__cond_release(&m->ended_cond);
    ash__mutex_release(&m->lock);
    if (failed != 0)
        return ash__fail_errno(err, failed, "cannot start a thread");
    if (m->result != 0 && err != NULL)
        *err = m->err;
    return m->result;
}

int ash__mongo_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                        bson_t *out, ash_error *err)
{
    maintenance m = {.store = store, .action = action, .out = out, .err = ASH_ERROR_INIT};
    if (!((ash_mongo_store *)store)->served)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "maintenance is the embedded engine's; a MongoDB deployment has its own");
    bson_oid_init(&m.comment, NULL);
    if (progress == NULL)
        return run(&m, err);
    if (!progress(ctx, "waiting for the server", 0, 0))
        return ash__fail(err, ASH_EINTERRUPTED, "operation was interrupted");
    return run_watched(&m, progress, ctx, err);
}
