/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mongo/driver.h"

#include "base/error.h"

/* Maintenance of a folder by the server that holds it: the one command that only Ashlar's own
 * server knows, sent to the database admin.
 *
 *   request  {ashlarMaintain: 1, action: {…}}     action: as of ash_store_maintain
 *   reply    {report: {…}, ok: 1}                 done
 *            {ok: 0, code, errmsg, codeName}      as of any command; with code 376, when stored
 *                                                 bytes were found damaged, also report: {…}
 *
 * The folder of {backup: "folder"} is the server's, so a client sends absolute paths. */

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
    int result = ash__mongo_call_fail(call, err);
    if (result == ASH_ECORRUPT && !read_report(&call->reply, out))
        bson_init(out);
    return result;
}

int ash__mongo_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress, void *ctx,
                        bson_t *out, ash_error *err)
{
    static const ash_op op;
    bson_t *command;
    ash_mongo_call call;
    int result;

    if (!((ash_mongo_store *)store)->served)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "maintenance is the embedded engine's; a MongoDB deployment has its own");
    /* The server tells nothing on the way. */
    if (progress != NULL && !progress(ctx, "waiting for the server", 0, 0))
        return ash__fail(err, ASH_EINTERRUPTED, "operation was interrupted");
    result = ash__mongo_call_begin(&call, store, &op, err);
    if (result != 0)
        return result;
    command = BCON_NEW("ashlarMaintain", BCON_INT32(1), "action", BCON_DOCUMENT(action));
    bson_destroy(&call.reply);
    if (!mongoc_client_command_simple(call.client, "admin", command, NULL, &call.reply,
                                      &call.error))
        result = fail_maintain(&call, out, err);
    else if (!read_report(&call.reply, out))
        result = ash__fail(err, ASH_ENETWORK, "answer to ashlarMaintain has no report");
    bson_destroy(command);
    ash__mongo_call_end(&call);
    return result;
}
