/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, begun, kept alive and ended; the table is sessions.h's.  Transactions in them are
 * refused: clients of Ashlar's own have ashlarTransact. */
#include "wire/cmd.h"

#include "base/hash.h"
#include "store/ops.h"
#include "wire/dispatch.h"

#include <string.h>

enum { MAX_SESSIONS_A_COMMAND = 10000 };

int ash__run_start_session(ash_command *c, ash_error *err)
{
    (void)err;
    ash_session_id id, own;
    ash_builder *b = &c->reply->body;
    ash__random(id.bytes, sizeof id.bytes);
    /* A random UUID, version 4. */
    id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x40);
    id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
    ash__session_of(c, id.bytes, &own);
    ash__session_use(c, &own);
    ash__builder_begin_doc(b, "id");
    ash__builder_binary(b, "id", BSON_SUBTYPE_UUID, id.bytes, sizeof id.bytes);
    ash__builder_end(b);
    ash__builder_int32(b, "timeoutMinutes", ASH_SESSION_MINUTES);
    return 0;
}

typedef int (*session_fn)(ash_command *c, const ash_session_id *id, ash_error *err);

/* The command's value is an array of {id: UUID}. */
static int each_session(ash_command *c, session_fn fn, ash_error *err)
{
    uint32_t count = 0;
    if (c->value.type != BSON_TYPE_ARRAY)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field '%s' is the wrong type '%s', expected type 'array'",
                                c->info->name, ash__type_name(c->value.type));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(c->value)); ash__doc_iter_next(&it);) {
        uint8_t subtype = 0;
        uint32_t len = 0;
        ash_session_id id;
        ash_value v = ASH_VALUE_MISSING;
        if (it.value.type == BSON_TYPE_DOCUMENT)
            v = ash__doc_get(ash__value_doc(it.value), "id");
        const uint8_t *bytes =
            v.type == BSON_TYPE_BINARY ? ash__value_binary(v, &subtype, &len) : NULL;
        if (bytes == NULL || len != sizeof id.bytes || ++count > MAX_SESSIONS_A_COMMAND)
            return ash__fail(err, ASH_EINVAL, "%s takes at most %d documents {id: UUID}",
                             c->info->name, MAX_SESSIONS_A_COMMAND);
        ash__session_of(c, bytes, &id);
        int rc = fn(c, &id, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int refresh_one(ash_command *c, const ash_session_id *id, ash_error *err)
{
    (void)err;
    ash__session_use(c, id);
    return 0;
}

static int end_one(ash_command *c, const ash_session_id *id, ash_error *err)
{
    (void)err;
    /* The session first: a command that opens a cursor looks for its session after that is in the
     * table (keep_cursor in batch.c), so one of the two finds it. */
    ash__sessions_end(c->server->sessions, id);
    ash__cursors_kill_session(c->server->cursors, id);
    ash__store_forget_reader(c->server->store, ash__session_reader(id));
    return 0;
}

int ash__run_refresh_sessions(ash_command *c, ash_error *err)
{
    return each_session(c, refresh_one, err);
}

/* Also killSessions. */
int ash__run_end_sessions(ash_command *c, ash_error *err)
{
    return each_session(c, end_one, err);
}

int ash__run_kill_all_sessions(ash_command *c, ash_error *err)
{
    (void)err;
    ash__sessions_end_all(c->server->sessions);
    ash__cursors_kill_all(c->server->cursors);
    return 0;
}

int ash__run_refuse_transaction(ash_command *c, ash_error *err)
{
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                            "%s: multi-document transactions are not supported by this server",
                            c->info->name);
}
