/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions on an Ashlar server as lists of operations: each is sent behind all before it, and
 * the commit sends the list once more (replay.h). */

#include "store/mongo/replay.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "bson/value.h"

#include <stdio.h>

enum {
    ATTEMPTS_MS = 120000, /* as long as the driver tries its own transactions */
    PAUSE_MAX_MS = 64,
    OPERATIONS_MAX_BYTES = ASH_DOC_MAX_BYTES - 64 * 1024 /* room for the rest of the request */
};

typedef struct ash_mongo_replay {
    bson_t operations, results; /* arrays, of count items each */
    uint32_t count;
    bool has_now;
    int64_t now_ms;
    bson_oid_t seed;
} ash_mongo_replay;

typedef struct attempt {
    ash_mongo_store *store;
    ash_mongo_transaction t;
    ash_mongo_replay replay;
    const ash_op *op;
} attempt;

static void append_item(bson_t *array, uint32_t index, const bson_t *doc, const int64_t *number)
{
    char text[12];
    const char *name;
    size_t len = bson_uint32_to_string(index, &name, text, sizeof text);
    if (doc != NULL)
        bson_append_document(array, name, (int)len, doc);
    else
        bson_append_int64(array, name, (int)len, *number);
}

/* Up to where an operation of one's own, or the commit, begins. */
static bson_t *begin_request(const ash_mongo_replay *r, const bson_t *operations, const ash_op *op)
{
    bson_t *request = BCON_NEW("ashlarTransact", BCON_INT32(1));
    BSON_APPEND_ARRAY(request, "operations", operations);
    BSON_APPEND_ARRAY(request, "results", &r->results);
    BSON_APPEND_OID(request, "seed", &r->seed);
    if (r->has_now)
        BSON_APPEND_DATE_TIME(request, "now", r->now_ms);
    if (op->deadline_ms != 0) {
        int64_t left = op->deadline_ms - ash__clock_ms();
        BSON_APPEND_INT64(request, "maxTimeMS", left > 0 ? left : 1);
    }
    return request;
}

/* Nothing came of it, or nobody knows, and asking again does no harm. */
static bool is_worth_repeating(const ash_mongo_call *call, int rc)
{
    return (rc == ASH_ENETWORK || mongoc_error_has_label(&call->reply, "RetryableWriteError")) &&
           ash__op_check(call->op, NULL) == 0;
}

/* The same request may be sent twice whatever it is: lists are undone, commits have an identity. */
static int send_request(ash_mongo_call *call, const bson_t *request, ash_error *err)
{
    int rc = 0;
    for (int i = 0; i < 2; i++) {
        bson_destroy(&call->reply);
        if (mongoc_client_command_simple(call->client, "admin", request, NULL, &call->reply,
                                         &call->error))
            return ash__mongo_check(&call->reply, err);
        rc = ash__mongo_call_fail(call, err);
        if (!is_worth_repeating(call, rc))
            break;
    }
    return rc;
}

/* ---- one operation ---- */

static int bad_answer(ash_error *err)
{
    return ash__fail(err, ASH_ENETWORK, "answer to ashlarTransact is not whole");
}

/* call->reply becomes the operation's own answer. */
static int unwrap(ash_mongo_call *call, ash_mongo_replay *r, int64_t *hash, ash_error *err)
{
    bson_iter_t it;
    bson_t view, own;
    uint32_t len = 0;
    const uint8_t *data = NULL;
    if (!bson_iter_init_find(&it, &call->reply, "now") || !BSON_ITER_HOLDS_DATE_TIME(&it))
        return bad_answer(err);
    r->now_ms = bson_iter_date_time(&it);
    r->has_now = true;
    if (!bson_iter_init_find(&it, &call->reply, "hash") || !BSON_ITER_HOLDS_INT64(&it))
        return bad_answer(err);
    *hash = bson_iter_int64(&it);
    if (!bson_iter_init_find(&it, &call->reply, "result") || !BSON_ITER_HOLDS_DOCUMENT(&it))
        return bad_answer(err);
    bson_iter_document(&it, &len, &data);
    if (!bson_init_static(&view, data, len))
        return bad_answer(err);
    bson_copy_to(&view, &own);
    bson_destroy(&call->reply);
    bson_steal(&call->reply, &own);
    return 0;
}

/* {ok: 0, code, errmsg} of the operation. */
static int read_failure(ash_mongo_call *call, ash_error *err)
{
    bson_iter_t it;
    if (bson_iter_init_find(&it, &call->reply, "ok") && bson_iter_as_double(&it) == 1)
        return 0;
    int32_t number = (int32_t)ash__mongo_int_field(&call->reply, "code");
    const char *text = "operation of the transaction failed";
    if (bson_iter_init_find(&it, &call->reply, "errmsg") && BSON_ITER_HOLDS_UTF8(&it))
        text = bson_iter_utf8(&it, NULL);
    /* As if the driver had run the command alone, so that errors come out the same. */
    bson_set_error(&call->error, MONGOC_ERROR_SERVER, (uint32_t)number, "%s", text);
    return ash__mongo_call_fail(call, err);
}

static int run_in_turn(ash_mongo_call *call, ash_mongo_replay *r, const bson_t *operation,
                       ash_error *err)
{
    int64_t hash = 0;
    bson_t all;
    bson_copy_to(&r->operations, &all);
    append_item(&all, r->count, operation, NULL);
    int rc =
        all.len > OPERATIONS_MAX_BYTES
            ? ash__fail(err, ASH_ETOOBIG, "operations of the transaction have more than %d bytes",
                        OPERATIONS_MAX_BYTES)
            : 0;
    if (rc == 0) {
        bson_t *request = begin_request(r, &all, call->op);
        rc = send_request(call, request, err);
        bson_destroy(request);
    }
    if (rc == 0)
        rc = unwrap(call, r, &hash, err);
    if (rc != 0) {
        bson_destroy(&all);
        return rc;
    }
    /* Only what was answered is part of the list, also when the answer is an error: fn saw it. */
    append_item(&r->results, r->count++, NULL, &hash);
    bson_destroy(&r->operations);
    bson_steal(&r->operations, &all);
    return read_failure(call, err);
}

int ash__replay_run(ash_mongo_call *call, ash_store *store, const ash_op *op, const char *db,
                    const bson_t *command, ash_error *err)
{
    ash_mongo_transaction *t = (ash_mongo_transaction *)op->transaction;
    bson_t operation;
    ash__mongo_call_join(call, store, t, op);
    bson_copy_to(command, &operation);
    BSON_APPEND_UTF8(&operation, "$db", db);
    int rc = run_in_turn(call, t->replay, &operation, err);
    bson_destroy(&operation);
    return rc;
}

/* ---- all of it ---- */

static void start_over(attempt *a)
{
    ash_mongo_replay *r = &a->replay;
    bson_reinit(&r->operations);
    bson_reinit(&r->results);
    r->count = 0;
    r->has_now = false;
    /* Each run makes up its own ids; within one they stay the same. */
    bson_oid_init(&r->seed, NULL);
    a->t.transient = false;
}

static int send_commit(attempt *a, ash_mongo_call *call, ash_error *err)
{
    bson_t *request = begin_request(&a->replay, &a->replay.operations, a->op);
    BSON_APPEND_BOOL(request, "commit", true);
    bson_append_binary(request, "session", -1, BSON_SUBTYPE_UUID, call->limits->session,
                       sizeof call->limits->session);
    /* By session and number the server knows a commit that it has done already. */
    BSON_APPEND_INT64(request, "number", ++call->limits->commits);
    if (ash__mongo_call_wants_disk(call, NULL)) {
        bson_t concern;
        BSON_APPEND_DOCUMENT_BEGIN(request, "writeConcern", &concern);
        BSON_APPEND_UTF8(&concern, "w", "majority");
        BSON_APPEND_BOOL(&concern, "j", true);
        bson_append_document_end(request, &concern);
    }
    int rc = send_request(call, request, err);
    bson_destroy(request);
    /* A transient one is tried again and never told. */
    if (rc != 0 && !a->t.transient)
        ash__error_prefix(err, "cannot commit transaction");
    return rc;
}

static int commit(attempt *a, ash_error *err)
{
    ash_mongo_call call;
    /* Nothing was done, and nothing has to be kept. */
    if (a->replay.count == 0)
        return 0;
    ash__mongo_call_join(&call, &a->store->base, &a->t, a->op);
    int rc = send_commit(a, &call, err);
    ash__mongo_call_end(&call);
    return rc;
}

/* Those who get in each other's way are not to do so again at once. */
static void pause_between(const ash_op *op, int tries)
{
    uint32_t random;
    int64_t most = tries < 6 ? 1 << tries : PAUSE_MAX_MS;
    ash__random(&random, sizeof random);
    int64_t until = ash__clock_ms() + random % (uint32_t)(most + 1);
    /* In small steps, for who gives up is not to be kept. */
    while (ash__clock_ms() < until && ash__op_check(op, NULL) == 0)
        ash__clock_sleep_ms(1);
}

static int run_attempts(attempt *a, ash_transact_fn fn, void *ctx, ash_error *err)
{
    int64_t until = ash__clock_ms() + ATTEMPTS_MS;
    for (int tries = 0;; tries++) {
        ash_error own = ASH_ERROR_INIT;
        start_over(a);
        int rc = ash__op_check(a->op, &own);
        if (rc == 0)
            rc = fn(&a->t.base, ctx, &own);
        if (rc == 0)
            rc = commit(a, &own);
        if (rc == 0 || !a->t.transient || ash__clock_ms() >= until) {
            if (rc != 0 && err != NULL)
                *err = own;
            return rc;
        }
        pause_between(a->op, tries);
    }
}

int ash__replay_transact(ash_mongo_store *store, ash_transact_fn fn, void *ctx, const ash_op *op,
                         ash_error *err)
{
    ash_mongo_call call;
    attempt a = {.store = store, .op = op};
    int rc = ash__mongo_call_begin(&call, &store->base, op, err);
    if (rc != 0)
        return rc;
    ash__mongo_call_limit(&call, NULL); /* each request has its own */
    bson_init(&a.replay.operations);
    bson_init(&a.replay.results);
    a.t.base.store = &store->base;
    a.t.client = call.client;
    a.t.replay = &a.replay;
    rc = run_attempts(&a, fn, ctx, err);
    bson_destroy(&a.replay.operations);
    bson_destroy(&a.replay.results);
    ash__mongo_call_end(&call);
    return rc;
}
