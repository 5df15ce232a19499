/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes, each by the command of that name. */

#include "store/mongo/driver.h"

int ash__mongo_create_indexes(ash_store *store, ash_ns ns, const bson_t *specs, const ash_op *op,
                              bson_t *reply, ash_error *err)
{
    bson_t *command = BCON_NEW("createIndexes", BCON_UTF8(ns.coll), "indexes", BCON_ARRAY(specs));
    int rc = ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, ns.db, command}, op, reply,
                            err);
    bson_destroy(command);
    return rc;
}

/* The driver's own helper answers a missing collection with an empty list, so the command is sent
 * here; its cursor must go on at the same server. */
int ash__mongo_list_indexes(ash_store *store, ash_ns ns, const ash_op *op, ash_cursor **out,
                            ash_error *err)
{
    bson_t *command = BCON_NEW("listIndexes", BCON_UTF8(ns.coll), "cursor", "{", "}");
    mongoc_server_description_t *server = NULL;
    bson_t reply, cursor_opts = BSON_INITIALIZER;
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, store, op, err);
    if (rc != 0)
        goto out;
    server = mongoc_client_select_server(call.client, false, NULL, &call.error);
    if (server == NULL) {
        rc = ash__mongo_call_fail(&call, err);
    } else {
        int32_t id = (int32_t)mongoc_server_description_id(server);
        /* The cursor that the command opens lives on the server that answered. */
        BSON_APPEND_INT32(&call.opts, "serverId", id);
        BSON_APPEND_INT32(&cursor_opts, "serverId", id);
        rc = ash__mongo_command(&call, &(ash_mongo_request){ASH_MONGO_ASK, ns.db, command}, err);
    }
    if (rc != 0) {
        ash__mongo_call_end(&call);
    } else {
        if (call.transaction != NULL)
            mongoc_client_session_append(call.transaction->session, &cursor_opts, NULL);
        bson_steal(&reply, &call.reply); /* the cursor's from now on */
        bson_init(&call.reply);
        rc = ash__mongo_cursor_new(
            &call,
            mongoc_cursor_new_from_command_reply_with_opts(call.client, &reply, &cursor_opts),
            false, out, err);
    }
out:
    mongoc_server_description_destroy(server);
    bson_destroy(&cursor_opts);
    bson_destroy(command);
    return rc;
}

int ash__mongo_drop_indexes(ash_store *store, ash_ns ns, const bson_value_t *index,
                            const ash_op *op, ash_error *err)
{
    bson_t *command = BCON_NEW("dropIndexes", BCON_UTF8(ns.coll));
    int rc;
    BSON_APPEND_VALUE(command, "index", index);
    rc =
        ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, ns.db, command}, op, NULL, err);
    bson_destroy(command);
    return rc;
}
