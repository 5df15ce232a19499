/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the driver: a connection from the pool, the options that go with every command, and
 * its answer. */

#include "store/mongo/driver.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "bson/value.h"

#include <string.h>

/* A change event or an explanation wraps a document of the full depth. */
#define MAX_DEPTH (ASH_DOC_MAX_DEPTH + 20)

static int take_client(ash_mongo_call *call, ash_error *err)
{
    call->transaction = (ash_mongo_transaction *)call->op->transaction;
    if (call->transaction != NULL && call->transaction->replay != NULL)
        return ash__fail_server(
            err, ASH_EUNSUPPORTED, ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
            "a transaction through an Ashlar server reads and writes documents, "
            "and nothing else");
    if (call->transaction != NULL) {
        call->client = call->transaction->client;
        call->limits = ash__mongo_limits_of(&call->store->limits, call->client);
        if (!mongoc_client_session_append(call->transaction->session, &call->opts, &call->error))
            return ash__mongo_call_fail(call, err);
        return 0;
    }
    call->client = mongoc_client_pool_pop(call->store->pool);
    if (call->client == NULL)
        return ash__fail(err, ASH_ETIMEOUT,
                         "no connection of the pool became free (maxPoolSize, waitQueueTimeoutMS)");
    call->limits = ash__mongo_limits_of(&call->store->limits, call->client);
    return 0;
}

void ash__mongo_call_limit(ash_mongo_call *call, const ash_op *op)
{
    if (call->limits == NULL)
        return;
    call->limits->deadline_ms = op != NULL ? op->deadline_ms : 0;
    call->limits->cancel = op != NULL ? op->cancel : NULL;
}

static void init_call(ash_mongo_call *call, ash_store *store, const ash_op *op)
{
    memset(call, 0, sizeof *call);
    call->store = (ash_mongo_store *)store;
    call->op = op;
    bson_init(&call->opts);
    bson_init(&call->reply);
}

void ash__mongo_call_join(ash_mongo_call *call, ash_store *store, ash_mongo_transaction *t,
                          const ash_op *op)
{
    init_call(call, store, op);
    call->transaction = t;
    call->client = t->client;
    call->limits = ash__mongo_limits_of(&call->store->limits, call->client);
    ash__mongo_call_limit(call, op);
}

int ash__mongo_call_begin(ash_mongo_call *call, ash_store *store, const ash_op *op, ash_error *err)
{
    int rc;

    init_call(call, store, op);
    rc = take_client(call, err);
    ash__mongo_call_limit(call, op);
    /* The deployment stops by itself; our own limits only hang up.  At least 1: 0 would be no
     * limit. */
    if (rc == 0 && op->deadline_ms != 0) {
        int64_t left = op->deadline_ms - ash__clock_ms();
        BSON_APPEND_INT64(&call->opts, "maxTimeMS", left > 0 ? left : 1);
    }
    if (rc != 0)
        ash__mongo_call_end(call);
    return rc;
}

void ash__mongo_call_local_limit(ash_mongo_call *call)
{
    bson_t rest;
    bson_init(&rest);
    bson_copy_to_excluding_noinit(&call->opts, &rest, "maxTimeMS", NULL);
    bson_destroy(&call->opts);
    bson_steal(&call->opts, &rest);
}

void ash__mongo_call_end(ash_mongo_call *call)
{
    ash__mongo_call_limit(call, NULL);
    /* A transaction keeps its connection until it ends. */
    if (call->client != NULL && call->transaction == NULL)
        mongoc_client_pool_push(call->store->pool, call->client);
    call->client = NULL;
    call->limits = NULL;
    bson_destroy(&call->opts);
    bson_destroy(&call->reply);
    bson_init(&call->opts);
    bson_init(&call->reply);
}

static bool is_chunks(const char *coll)
{
    static const char suffix[] = ".chunks";
    size_t len = coll != NULL ? strlen(coll) : 0;
    return len >= sizeof suffix && strcmp(coll + len - (sizeof suffix - 1), suffix) == 0;
}

bool ash__mongo_call_wants_disk(const ash_mongo_call *call, const char *coll)
{
    ash_durability asked = call->op->durability;
    /* What is asked for in so many words outranks the URI; the default does not. */
    if (asked == ASH_DURABILITY_EVERY || call->store->durability == ASH_DURABILITY_EVERY)
        return true;
    if (call->store->own_write_concern)
        return false;
    if (asked == ASH_DURABILITY_DEFAULT)
        asked = call->store->durability;
    return asked == ASH_DURABILITY_FILE && !is_chunks(coll);
}

void ash__mongo_call_writes(ash_mongo_call *call, const char *coll)
{
    /* A transaction has one write concern, which its commit carries. */
    if (call->transaction == NULL && call->op->write_concern != NULL) {
        ash__mongo_add_doc(&call->opts, "writeConcern", call->op->write_concern);
    } else if (call->transaction == NULL && ash__mongo_call_wants_disk(call, coll)) {
        mongoc_write_concern_t *concern = mongoc_write_concern_new();
        mongoc_write_concern_set_wmajority(concern, 0);
        mongoc_write_concern_set_journal(concern, true);
        mongoc_write_concern_append(concern, &call->opts);
        mongoc_write_concern_destroy(concern);
    }
}

int ash__mongo_command(ash_mongo_call *call, const ash_mongo_request *request, ash_error *err)
{
    const char *db = request->db;
    const bson_t *command = request->command;
    bool ok;

    bson_destroy(&call->reply);
    /* Three calls, since the driver adds read and write concerns by which one it is. */
    if (request->kind == ASH_MONGO_READ)
        ok = mongoc_client_read_command_with_opts(call->client, db, command, NULL, &call->opts,
                                                  &call->reply, &call->error);
    else if (request->kind == ASH_MONGO_ASK)
        ok = mongoc_client_command_with_opts(call->client, db, command,
                                             mongoc_client_get_read_prefs(call->client),
                                             &call->opts, &call->reply, &call->error);
    else
        ok = mongoc_client_write_command_with_opts(call->client, db, command, &call->opts,
                                                   &call->reply, &call->error);
    return ok ? ash__mongo_check(&call->reply, err) : ash__mongo_call_fail(call, err);
}

int ash__mongo_check(const bson_t *b, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    if (ash__bson_validate(bson_get_data(b), b->len, MAX_DEPTH, &why) == 0)
        return 0;
    return ash__fail(err, ASH_ENETWORK, "deployment sent a broken document: %s", why.text);
}

void ash__mongo_copy_reply(const ash_mongo_call *call, bson_t *out)
{
    bson_init(out);
    /* A caller must not see whether a server or the engine has answered. */
    bson_copy_to_excluding_noinit(&call->reply, out, "ok", "errmsg", "code", "codeName",
                                  "$clusterTime", "operationTime", NULL);
}

int ash__mongo_run(ash_store *store, const ash_mongo_request *request, const ash_op *op,
                   bson_t *out, ash_error *err)
{
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, store, op, err);
    if (rc != 0)
        return rc;
    if (request->kind == ASH_MONGO_WRITE)
        ash__mongo_call_writes(&call, NULL);
    rc = ash__mongo_command(&call, request, err);
    if (rc == 0 && out != NULL)
        ash__mongo_copy_reply(&call, out);
    ash__mongo_call_end(&call);
    return rc;
}

void ash__mongo_add_doc(bson_t *to, const char *name, const bson_t *value)
{
    if (value != NULL)
        BSON_APPEND_DOCUMENT(to, name, value);
}

void ash__mongo_add_array(bson_t *to, const char *name, const bson_t *value)
{
    if (value != NULL)
        BSON_APPEND_ARRAY(to, name, value);
}

void ash__mongo_add_value(bson_t *to, const char *name, const bson_value_t *value)
{
    if (value != NULL)
        BSON_APPEND_VALUE(to, name, value);
}

int64_t ash__mongo_int_field(const bson_t *b, const char *name)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, b, name) ? bson_iter_as_int64(&it) : 0;
}
