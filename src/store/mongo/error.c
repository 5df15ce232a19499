/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's errors and a deployment's, as ours: its numbers stay in server_code, and ours say
 * what can be done about them. */

#include "store/mongo/driver.h"

#include "base/error.h"

#define FIRST_LOCATION_CODE 10000

static int code_of(int32_t server_code)
{
    int code = ash__code_from_server(server_code);
    if (server_code == ASH_MONGO_LOCATION_CHANGE_STREAM_ON_STANDALONE)
        return ASH_EUNSUPPORTED;
    /* Numbers from 10000 on have no names; nearly all are about a query that does not parse. */
    if (code == ASH_EINTERNAL && server_code >= FIRST_LOCATION_CODE)
        return ASH_EINVAL;
    return code;
}

static int code_from_client_error(uint32_t code)
{
    switch (code) {
    case MONGOC_ERROR_CLIENT_AUTHENTICATE:
    case MONGOC_ERROR_CLIENT_GETNONCE:
        return ASH_EACCES;
    case MONGOC_ERROR_CLIENT_TOO_BIG:
        return ASH_ETOOBIG;
    case MONGOC_ERROR_CLIENT_SESSION_FAILURE:
        return ASH_EUNSUPPORTED;
    default:
        return ASH_ENETWORK;
    }
}

static int code_from_driver(const bson_error_t *error)
{
    switch (error->domain) {
    case MONGOC_ERROR_CLIENT:
        return code_from_client_error(error->code);
    case MONGOC_ERROR_STREAM:
    case MONGOC_ERROR_SERVER_SELECTION:
    case MONGOC_ERROR_POOL:
        return ASH_ENETWORK;
    case MONGOC_ERROR_PROTOCOL:
        return error->code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION ? ASH_EUNSUPPORTED
                                                                     : ASH_ENETWORK;
    case MONGOC_ERROR_SASL:
    case MONGOC_ERROR_SCRAM:
        return ASH_EACCES;
    case MONGOC_ERROR_BSON:
    case MONGOC_ERROR_COMMAND:
    case MONGOC_ERROR_NAMESPACE:
        return ASH_EINVAL;
    case MONGOC_ERROR_CURSOR:
        return ASH_ECURSOR;
    case MONGOC_ERROR_TRANSACTION:
        return ASH_ESTATE;
    default:
        return ASH_EINTERNAL;
    }
}

/* "No suitable servers found: `serverSelectionTimeoutMS` expired: [what is wrong with whom]" */
static int fail_to_reach(const bson_error_t *error, ash_error *err)
{
    const char *why = strchr(error->message, '[');
    const char *end = strrchr(error->message, ']');
    if (why == NULL || end == NULL || end <= why + 1)
        return ash__fail(err, ASH_ENETWORK, "%s", error->message);
    return ash__fail(err, ASH_ENETWORK, "no suitable server answers: %.*s", (int)(end - why - 1),
                     why + 1);
}

int ash__mongo_fail(const bson_error_t *error, ash_error *err)
{
    int32_t number = (int32_t)error->code;

    if (error->domain == MONGOC_ERROR_SERVER)
        return ash__fail_server(err, code_of(number), number, "%s", error->message);
    /* The write was done: only that enough members have it is not known. */
    if (error->domain == MONGOC_ERROR_WRITE_CONCERN)
        return ash__fail_server(err, number != 0 ? code_of(number) : ASH_ETIMEOUT,
                                number != 0 ? number : ASH_MONGO_WRITE_CONCERN_FAILED,
                                "applied, but not acknowledged as asked: %s", error->message);
    if (error->domain == MONGOC_ERROR_SERVER_SELECTION)
        return fail_to_reach(error, err);
    if (error->domain == MONGOC_ERROR_STREAM)
        return ash__fail(err, code_from_driver(error), "the connection to the server was lost: %s",
                         error->message);
    return ash__fail(err, code_from_driver(error), "%s", error->message);
}

int ash__mongo_call_fail(ash_mongo_call *call, ash_error *err)
{
    int rc = ash__mongo_fail(&call->error, err);

    /* The one thing by which the driver, or a replay, tells that trying all again may cure it. */
    if (call->transaction != NULL &&
        mongoc_error_has_label(&call->reply, "TransientTransactionError"))
        call->transaction->transient = true;
    /* A connection given up because time was up, or the caller has had enough. */
    if (rc == ASH_ENETWORK && ash__op_check(call->op, NULL) != 0)
        rc = ash__op_check(call->op, err);
    return rc;
}

/* From {code, errmsg} of a writeErrors or writeConcernErrors entry. */
static void read_entry(const bson_t *entry, ash_error *out)
{
    bson_iter_t it;
    int32_t number = (int32_t)ash__mongo_int_field(entry, "code");
    const char *text = "write failed";

    if (bson_iter_init_find(&it, entry, "errmsg") && BSON_ITER_HOLDS_UTF8(&it))
        text = bson_iter_utf8(&it, NULL);
    ash__fail_server(out, code_of(number), number, "%s", text);
}

static bool first_entry(const bson_t *reply, const char *name, bson_iter_t *item)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, reply, name) && BSON_ITER_HOLDS_ARRAY(&it) &&
           bson_iter_recurse(&it, item) && bson_iter_next(item);
}

static bool entry_of(const bson_iter_t *item, bson_t *out)
{
    uint32_t len = 0;
    const uint8_t *data = NULL;
    if (!BSON_ITER_HOLDS_DOCUMENT(item))
        return false;
    bson_iter_document(item, &len, &data);
    return bson_init_static(out, data, len);
}

static int write_concern_error(const bson_t *reply, ash_error *err)
{
    bson_iter_t item;
    bson_t entry;
    ash_error why = ASH_ERROR_INIT;

    if (!first_entry(reply, "writeConcernErrors", &item)) {
        if (!bson_iter_init_find(&item, reply, "writeConcernError"))
            return 0;
    }
    if (!entry_of(&item, &entry))
        return 0;
    read_entry(&entry, &why);
    return ash__fail_server(err, why.code, why.server_code,
                            "applied, but not acknowledged as asked: %s", why.text);
}

int ash__mongo_write_errors(ash_mongo_call *call, ash_write_result *result, ash_error *err)
{
    bson_iter_t item;
    int code = 0;

    if (!first_entry(&call->reply, "writeErrors", &item))
        return write_concern_error(&call->reply, err);
    do {
        bson_t entry;
        ash_error why = ASH_ERROR_INIT;
        if (!entry_of(&item, &entry))
            continue;
        read_entry(&entry, &why);
        ash__write_result_add_error(result, (uint32_t)ash__mongo_int_field(&entry, "index"), &why,
                                    &entry);
        /* Of several the first is the one to return; all are in the result. */
        if (code == 0) {
            code = why.code;
            ash__fail_server(err, why.code, why.server_code, "%s", why.text);
        }
    } while (bson_iter_next(&item));
    return code;
}
