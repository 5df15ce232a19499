/* SPDX-License-Identifier: Apache-2.0 */
/* From a URI to a pool of connections, and what the deployment behind it can do. */

#include "store/mongo/mongo.h"

#include "base/error.h"
#include "base/mem.h"
#include "store/mongo/address.h"
#include "store/mongo/driver.h"
#include "store/mongo/replay.h"
#include "store/reach.h"

#include <string.h>

#define DEFAULT_WAIT_QUEUE_MS 30000
/* Of a folder's server, which is on this machine: it answers soon or not at all. */
#define SERVED_SELECTION_MS 5000
#define SERVED_LEAST_MS     1000
#define SERVED_SOCKET_MS    (24 * 3600 * 1000) /* checks and backups take their time */
/* Wire versions of MongoDB 4.0 and 4.2. */
#define TRANSACTIONS_REPLICA_SET 7
#define TRANSACTIONS_SHARDED     8

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool mongo_accepts(const char *uri)
{
    return has_prefix(uri, "mongodb://") || has_prefix(uri, "mongodb+srv://") ||
           has_prefix(uri, ASH_REACH_SCHEME);
}

static void mongo_close(ash_store *store)
{
    ash_mongo_store *s = (ash_mongo_store *)store;
    if (s->pool != NULL)
        mongoc_client_pool_destroy(s->pool);
    ash__mongo_limits_release(&s->limits);
    ash__free(s);
}

static int mongo_capabilities(ash_store *store, ash_capabilities *out, ash_error *err)
{
    const ash_mongo_store *s = (const ash_mongo_store *)store;
    (void)err;
    *out = (ash_capabilities){
        .backend = s->served ? "server" : "mongodb",
        .transactions = s->transactions,
        .atomic_commits = s->transactions,
        .watch = s->watch,
        .pinned_downloads = s->served,
        .past_damage = s->past_damage,
        .serial_transactions = s->served && s->transactions,
        .replayed_transactions = s->served && s->transactions,
    };
    return 0;
}

static const ash_store_ops mongo_ops = {
    .close = mongo_close,
    .capabilities = mongo_capabilities,
    .create = ash__mongo_create,
    .drop = ash__mongo_drop,
    .rename = ash__mongo_rename,
    .modify = ash__mongo_modify,
    .list_collections = ash__mongo_list_collections,
    .list_databases = ash__mongo_list_databases,
    .drop_database = ash__mongo_drop_database,
    .find = ash__mongo_find,
    .aggregate = ash__mongo_aggregate,
    .count = ash__mongo_count,
    .distinct = ash__mongo_distinct,
    .explain = ash__mongo_explain,
    .insert = ash__mongo_insert,
    .update = ash__mongo_update,
    .remove = ash__mongo_remove,
    .find_and_modify = ash__mongo_find_and_modify,
    .create_indexes = ash__mongo_create_indexes,
    .list_indexes = ash__mongo_list_indexes,
    .drop_indexes = ash__mongo_drop_indexes,
    .transact = ash__mongo_transact,
    .watch = ash__mongo_watch,
    .hold = ash__mongo_hold,
    .time = ash__mongo_time,
    .stats = ash__mongo_stats,
    .flush = ash__mongo_flush,
    .maintain = ash__mongo_maintain,
};

static int parse_uri(const char *text, bool served, int64_t busy_ms, mongoc_uri_t **out,
                     ash_error *err)
{
    char *own = NULL;

    if (served)
        own = ash__sprintf("mongodb://%s/?directConnection=true", text + strlen(ASH_REACH_SCHEME));
    int rc = ash__mongo_address(served ? own : text, out, err);
    mongoc_uri_t *uri = *out;
    ash__free(own);
    if (rc != 0)
        return rc;
    if (!mongoc_uri_has_option(uri, MONGOC_URI_WAITQUEUETIMEOUTMS))
        /* The driver would wait for a free connection without end. */
        mongoc_uri_set_option_as_int32(uri, MONGOC_URI_WAITQUEUETIMEOUTMS, DEFAULT_WAIT_QUEUE_MS);
    if (served) {
        /* It may hang, and whoever opens the folder says how long to wait for it. */
        int32_t wait_ms = busy_ms > SERVED_SELECTION_MS ? SERVED_SELECTION_MS
                          : busy_ms < SERVED_LEAST_MS   ? SERVED_LEAST_MS
                                                        : (int32_t)busy_ms;
        mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, wait_ms);
        mongoc_uri_set_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, wait_ms);
        mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SOCKETTIMEOUTMS, SERVED_SOCKET_MS);
    }
    return 0;
}

static int read_uri(ash_mongo_store *s, const mongoc_uri_t *uri, char **db, ash_error *err)
{
    const mongoc_write_concern_t *concern = mongoc_uri_get_write_concern(uri);
    const char *name = mongoc_uri_get_database(uri);

    if (!mongoc_write_concern_is_acknowledged(concern))
        return ash__fail(err, ASH_EINVAL, "store URI asks for writes that nobody acknowledges (w)");
    s->own_write_concern = !mongoc_write_concern_is_default(concern);
    if (name != NULL && ash__namespace_check(name, NULL, err) != 0)
        return ASH_EINVAL;
    *db = name != NULL ? ash__strdup(name) : NULL;
    return 0;
}

static void read_hello(ash_mongo_store *s, const bson_t *hello)
{
    bson_iter_t it;
    int64_t wire = ash__mongo_int_field(hello, "maxWireVersion");
    bool replica_set = bson_has_field(hello, "setName");
    bool sharded = bson_iter_init_find(&it, hello, "msg") && BSON_ITER_HOLDS_UTF8(&it) &&
                   strcmp(bson_iter_utf8(&it, NULL), "isdbgrid") == 0;
    bool sessions = bson_has_field(hello, "logicalSessionTimeoutMinutes");

    /* A lone server has no log of changes to stream from. */
    s->watch = replica_set || sharded;
    s->replays = ash__mongo_int_field(hello, "ashlarTransact") == ASH_REPLAY_VERSION;
    s->past_damage = bson_has_field(hello, "ashlarPastDamage");
    s->transactions = sessions && ((replica_set && wire >= TRANSACTIONS_REPLICA_SET) ||
                                   (sharded && wire >= TRANSACTIONS_SHARDED));
}

/* A first command, so that wrong names, ports and passwords show when the store is opened. Ashlar's
 * server poses as a MongoDB of a certain version, but does not hide its own. */
static int reach_deployment(ash_mongo_store *s, ash_error *err)
{
    static const ash_op op = ASH_OP_INIT;
    mongoc_read_prefs_t *nearest = mongoc_read_prefs_new(MONGOC_READ_NEAREST);
    mongoc_server_description_t *server = NULL;
    bson_t *question = BCON_NEW("buildInfo", BCON_INT32(1));
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, &s->base, &op, err);
    if (rc != 0)
        goto out;
    server = mongoc_client_select_server(call.client, false, nearest, &call.error);
    if (server == NULL) {
        rc = ash__mongo_call_fail(&call, err);
        goto out;
    }
    read_hello(s, mongoc_server_description_hello_response(server));
    bson_destroy(&call.reply);
    if (!mongoc_client_command_simple(call.client, "admin", question, nearest, &call.reply,
                                      &call.error))
        rc = ash__mongo_call_fail(&call, err);
    s->served = s->served || bson_has_field(&call.reply, "ashlarVersion");
    s->past_damage = s->past_damage && s->served;
    /* A deployment that says the same of itself by chance is none of ours. */
    s->replays = s->replays && s->served;
    s->transactions = s->served ? s->replays : s->transactions;
out:
    ash__mongo_call_end(&call);
    mongoc_server_description_destroy(server);
    mongoc_read_prefs_destroy(nearest);
    bson_destroy(question);
    return rc;
}

/* A pool looks for its server until its time is over, though that be gone for good; a client of its
 * own looks once.  While it is connected, a command that lets others in waits for it, so that the
 * pool finds the door open. */
static int knock(const mongoc_uri_t *uri, mongoc_client_t **out, ash_error *err)
{
    bson_error_t error = {0};
    mongoc_server_description_t *server = NULL;
    int rc = 0;
    *out = mongoc_client_new_from_uri_with_error(uri, &error);
    if (*out != NULL) {
        mongoc_client_set_error_api(*out, MONGOC_ERROR_API_VERSION_2);
        server = mongoc_client_select_server(*out, false, NULL, &error);
    }
    if (server == NULL)
        rc = ash__mongo_fail(&error, err);
    mongoc_server_description_destroy(server);
    return rc;
}

static int mongo_open(const char *text, const ash_store_options *opts, ash_store **out, char **db,
                      ash_error *err)
{
    ash_mongo_store *s = NULL;
    mongoc_uri_t *uri;
    mongoc_client_t *first = NULL;
    bson_error_t error = {0};
    bool served = has_prefix(text, ASH_REACH_SCHEME);
    int rc;

    ash__mongo_init();
    rc = parse_uri(text, served, opts->busy_timeout_ms, &uri, err);
    if (rc != 0)
        return rc;
    s = ash__new(ash_mongo_store);
    s->base.ops = &mongo_ops;
    ash__mongo_limits_init(&s->limits);
    s->durability = opts->durability;
    s->served = served;
    rc = read_uri(s, uri, db, err);
    if (rc == 0 && served)
        rc = knock(uri, &first, err);
    if (rc == 0) {
        s->pool = mongoc_client_pool_new_with_error(uri, &error);
        if (s->pool == NULL)
            rc = ash__mongo_fail(&error, err);
    }
    if (rc == 0) {
        /* Version 2 keeps a server's own codes apart from the driver's. */
        mongoc_client_pool_set_error_api(s->pool, MONGOC_ERROR_API_VERSION_2);
        rc = reach_deployment(s, err);
    }
    if (rc != 0 && !served)
        ash__mongo_advise(uri, err);
    mongoc_client_destroy(first);
    mongoc_uri_destroy(uri);
    if (rc != 0)
        mongo_close(&s->base);
    else
        *out = &s->base;
    return rc;
}

const ash_backend ash__backend_mongo = {
    .name = "mongodb",
    .accepts = mongo_accepts,
    .open = mongo_open,
};
