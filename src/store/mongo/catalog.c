/* SPDX-License-Identifier: Apache-2.0 */
/* Collections and databases, each by the command of that name. */

#include "store/mongo/driver.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

int ash__mongo_create(ash_store *store, ash_ns ns, const bson_t *options, const ash_op *op,
                      ash_error *err)
{
    bson_t *command = BCON_NEW("create", BCON_UTF8(ns.coll));
    int rc;
    bson_concat(command, options);
    rc =
        ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, ns.db, command}, op, NULL, err);
    bson_destroy(command);
    return rc;
}

int ash__mongo_drop(ash_store *store, ash_ns ns, const ash_op *op, ash_error *err)
{
    bson_t *command = BCON_NEW("drop", BCON_UTF8(ns.coll));
    bson_t reply;
    ash_error why = ASH_ERROR_INIT;
    int rc = ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, ns.db, command}, op,
                            &reply, &why);
    /* Old servers, and those made after them, give these words no number. */
    if (rc != 0 && strcmp(why.text, "ns not found") == 0)
        rc = ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND, "ns not found");
    else if (rc != 0 && err != NULL)
        *err = why;
    if (rc == 0) {
        /* Servers from 7.0 on say yes to dropping nothing, but then name nothing they dropped. */
        if (!bson_has_field(&reply, "ns") && !bson_has_field(&reply, "nIndexesWas"))
            rc =
                ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND, "ns not found");
        bson_destroy(&reply);
    }
    bson_destroy(command);
    return rc;
}

int ash__mongo_rename(ash_store *store, ash_ns ns, ash_ns to, bool drop_target, const ash_op *op,
                      ash_error *err)
{
    char *from = ash__sprintf("%s.%s", ns.db, ns.coll);
    char *target = ash__sprintf("%s.%s", to.db, to.coll);
    bson_t *command = BCON_NEW("renameCollection", BCON_UTF8(from), "to", BCON_UTF8(target),
                               "dropTarget", BCON_BOOL(drop_target));
    int rc = ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, "admin", command}, op,
                            NULL, err);
    bson_destroy(command);
    ash__free(from);
    ash__free(target);
    return rc;
}

int ash__mongo_modify(ash_store *store, ash_ns ns, const bson_t *changes, const ash_op *op,
                      bson_t *old_values, ash_error *err)
{
    bson_t *command = BCON_NEW("collMod", BCON_UTF8(ns.coll));
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, store, op, err);
    if (rc == 0) {
        bson_concat(command, changes);
        ash__mongo_call_writes(&call, NULL);
        rc = ash__mongo_command(&call, &(ash_mongo_request){ASH_MONGO_WRITE, ns.db, command}, err);
        /* That refusal tells which documents are in the way. */
        if (rc == 0 || ash_error_server_code(err) == ASH_MONGO_CANNOT_CONVERT_INDEX_TO_UNIQUE)
            ash__mongo_copy_reply(&call, old_values);
        ash__mongo_call_end(&call);
    }
    bson_destroy(command);
    return rc;
}

int ash__mongo_list_collections(ash_store *store, const char *db, const bson_t *filter,
                                const ash_op *op, ash_cursor **out, ash_error *err)
{
    mongoc_database_t *database;
    mongoc_cursor_t *driver;
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, store, op, err);
    if (rc != 0)
        return rc;
    BSON_APPEND_DOCUMENT(&call.opts, "filter", filter);
    database = mongoc_client_get_database(call.client, db);
    driver = mongoc_database_find_collections_with_opts(database, &call.opts);
    mongoc_database_destroy(database);
    return ash__mongo_cursor_new(&call, driver, false, out, err);
}

int ash__mongo_list_databases(ash_store *store, const ash_op *op, bson_t *out, ash_error *err)
{
    bson_t *command = BCON_NEW("listDatabases", BCON_INT32(1));
    int rc =
        ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_ASK, "admin", command}, op, out, err);
    bson_destroy(command);
    return rc;
}

int ash__mongo_drop_database(ash_store *store, const char *db, const ash_op *op, ash_error *err)
{
    bson_t *command = BCON_NEW("dropDatabase", BCON_INT32(1));
    int rc =
        ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, db, command}, op, NULL, err);
    bson_destroy(command);
    return rc;
}
