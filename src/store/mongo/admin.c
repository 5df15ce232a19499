/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about the deployment as a whole. */

#include "store/mongo/driver.h"

#include "base/error.h"

int ash__mongo_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err)
{
    static const ash_op op = ASH_OP_INIT;
    /* Needs no rights, and tells both times. */
    bson_t *command = BCON_NEW("hello", BCON_INT32(1));
    bson_iter_t it;
    ash_mongo_call call;
    int rc = ash__mongo_call_begin(&call, store, &op, err);
    if (rc == 0)
        rc = ash__mongo_command(&call, &(ash_mongo_request){ASH_MONGO_ASK, "admin", command}, err);
    if (rc == 0 && bson_iter_init_find(&it, &call.reply, "localTime") &&
        BSON_ITER_HOLDS_DATE_TIME(&it))
        *wall_ms = bson_iter_date_time(&it);
    if (rc == 0 && operation_time != NULL &&
        bson_iter_init_find(&it, &call.reply, "operationTime") && BSON_ITER_HOLDS_TIMESTAMP(&it)) {
        uint32_t seconds, increment;
        bson_iter_timestamp(&it, &seconds, &increment);
        *operation_time = (uint64_t)seconds << 32 | increment;
    }
    ash__mongo_call_end(&call);
    bson_destroy(command);
    return rc;
}

/* The driver's snapshot sessions do this; nobody has needed it here yet. */
int ash__mongo_hold(ash_store *store, uint64_t time, const ash_op *op, uint64_t *out,
                    ash_error *err)
{
    (void)store;
    (void)time;
    (void)op;
    (void)out;
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_SNAPSHOT_UNAVAILABLE,
                            "states of a deployment cannot be held for reading");
}

/* A delete that finds nothing is answered once everything before it is journalled on a majority,
 * and asks for no more rights than writing does. */
int ash__mongo_flush(ash_store *store, const ash_op *op, ash_error *err)
{
    ash_op every = *op;
    bson_t *command;
    int rc;

    /* A store that is open for reading has nothing to wait for, and no right to delete. */
    if (store->read_only)
        return 0;
    every.durability = ASH_DURABILITY_EVERY;
    command = BCON_NEW("delete", "ashlar.flush", "deletes", "[", "{", "q", "{", "_id", "{", "$in",
                       "[", "]", "}", "}", "limit", BCON_INT32(1), "}", "]");
    rc = ash__mongo_run(store, &(ash_mongo_request){ASH_MONGO_WRITE, store->default_db, command},
                        &every, NULL, err);
    bson_destroy(command);
    return rc;
}
