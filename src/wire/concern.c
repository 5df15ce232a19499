/* SPDX-License-Identifier: Apache-2.0 */
/* What a request says beside its arguments, read once for all commands: session and transaction
 * number, write and read concern, API version.  All of it is checked before anything runs. */
#include "wire/dispatch.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/ops.h"

#include <stdio.h>
#include <string.h>

enum { MAX_W = 50 }; /* as many members as a replica set can have */

/* ---- sessions ---- */

void ash__session_use(const ash_command *c, const ash_session_id *id)
{
    ash_session_id displaced;
    if (!ash__sessions_touch(c->server->sessions, id, c->connection->peer.id, &displaced))
        return;
    /* With the session goes what only it could use. */
    ash__cursors_kill_session(c->server->cursors, &displaced);
    ash__store_forget_reader(c->server->store, ash__session_reader(&displaced));
}

/* A session is its user's: the same id of another one is another session, as in MongoDB. */
void ash__session_of(const ash_command *c, const uint8_t bytes[ASH_SESSION_ID_BYTES],
                     ash_session_id *out)
{
    const ash_access *a = &c->connection->access;
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    memcpy(out->bytes, bytes, sizeof out->bytes);
    if (a->user == NULL)
        return;
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash_assert(d != NULL);
    ash__digest_add(d, a->who.bytes, sizeof a->who.bytes);
    ash__digest_add(d, bytes, ASH_SESSION_ID_BYTES);
    ash__digest_finish(d, digest);
    ash__digest_free(d);
    memcpy(out->bytes, digest, sizeof out->bytes);
}

static int read_lsid(ash_command *c, ash_value lsid, ash_error *err)
{
    uint8_t subtype = 0;
    uint32_t len = 0;
    const uint8_t *bytes = NULL;
    ash_value id = ash__doc_get(ash__value_doc(lsid), "id");
    if (id.type == BSON_TYPE_BINARY)
        bytes = ash__value_binary(id, &subtype, &len);
    if (bytes == NULL || subtype != BSON_SUBTYPE_UUID || len != ASH_SESSION_ID_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "lsid.id must be a UUID (binary of subtype 4, 16 bytes)");
    ash__session_of(c, bytes, &c->session);
    c->has_session = true;
    ash__session_use(c, &c->session);
    return 0;
}

static int refuse_transaction(const ash_command *c, ash_error *err)
{
    if (ash__arg(c, "startTransaction").type == 0 && ash__arg(c, "autocommit").type == 0)
        return 0;
    /* Not 20, which drivers take to mean that retryable writes are missing. */
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                            "multi-document transactions are not supported by this server");
}

static int read_txn_number(ash_command *c, ash_value number, ash_error *err)
{
    if (!c->has_session)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "Transaction number requires a session ID to also be specified");
    if (c->server->opts.standalone)
        return ash__fail_server(
            err, ASH_ESTATE, ASH_MONGO_ILLEGAL_OPERATION,
            "Transaction numbers are only allowed on a replica set member or mongos");
    if ((c->info->flags & ASH_COMMAND_RETRYABLE) == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_NOT_A_RETRYABLE_WRITE_COMMAND,
                                "txnNumber may only be provided for retryable write commands, and "
                                "'%s' is not one",
                                c->info->name);
    if (!ash__value_as_int64(number, &c->retry.txn_number) || c->retry.txn_number < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "txnNumber must be a whole number that is not negative");
    memcpy(c->retry.session, c->session.bytes, sizeof c->retry.session);
    c->retryable = true;
    c->op.retry = &c->retry;
    return 0;
}

uint64_t ash__session_reader(const ash_session_id *id)
{
    /* 0 is nobody. */
    uint64_t number = ash__checksum(id->bytes, sizeof id->bytes);
    return number != 0 ? number : 1;
}

/* Drivers find a file and its chunks in one session; those without sessions, on one connection. */
static uint64_t reader_of(const ash_command *c)
{
    if (c->has_session)
        return ash__session_reader(&c->session);
    uint64_t number = ash__checksum(&c->connection->peer.id, sizeof c->connection->peer.id);
    return number != 0 ? number : 1;
}

int ash__command_read_session(ash_command *c, ash_error *err)
{
    ash_value lsid = ash__arg(c, "lsid");
    ash_value number = ash__arg(c, "txnNumber");
    int rc = 0;
    /* Who may say hello alone has no session: those of others would have to make room. */
    if (ash__access_is_stranger(c))
        return 0;
    if (lsid.type == BSON_TYPE_DOCUMENT)
        rc = read_lsid(c, lsid, err);
    if (rc == 0)
        c->op.reader = reader_of(c);
    /* A standalone server's answer names transaction numbers, whatever else is asked. */
    if (rc == 0 && !(c->server->opts.standalone && number.type != 0))
        rc = refuse_transaction(c, err);
    if (rc == 0 && number.type != 0)
        rc = read_txn_number(c, number, err);
    return rc;
}

/* ---- write concern ---- */

static void read_w_text(ash_command *c, const char *text)
{
    ash_write_concern *out = &c->concern;
    out->majority = strcmp(text, "majority") == 0;
    if (!out->majority && text[0] != '\0') {
        out->error_code = ASH_MONGO_UNKNOWN_REPL_WRITE_CONCERN;
        snprintf(out->error_text, sizeof out->error_text,
                 "No write concern mode named '%.60s' found in replica set configuration", text);
    }
}

static int read_w(ash_command *c, ash_value w, ash_error *err)
{
    ash_write_concern *out = &c->concern;
    uint32_t len;
    if (w.type == 0 || ash__value_is_null(w))
        return 0;
    if (w.type == BSON_TYPE_UTF8) {
        read_w_text(c, ash__value_string(w, &len));
        return 0;
    }
    if (!ash__value_as_int64(w, &out->w))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "w has to be a number or a string, not %s", ash__type_name(w.type));
    if (out->w < 0 || out->w > MAX_W)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "w has to be a non-negative number and not greater than %d; found: "
                                "%lld",
                                MAX_W, (long long)out->w);
    if (out->w > 1 && c->server->opts.standalone)
        return ash__fail(err, ASH_EINVAL, "cannot use 'w' > 1 when a host is not replicated");
    /* The write is done and the failure is told beside it, as by a set whose other members are
     * down. */
    if (out->w > 1) {
        out->error_code = ASH_MONGO_UNSATISFIABLE_WRITE_CONCERN;
        snprintf(out->error_text, sizeof out->error_text, "Not enough data-bearing nodes");
    }
    return 0;
}

static int read_write_concern(ash_command *c, ash_doc concern, ash_error *err)
{
    static const ash_argument fields[] = {{"w", ASH_ARG_ANY},
                                          {"j", ASH_ARG_BOOL},
                                          {"wtimeout", ASH_ARG_ANY},
                                          {"fsync", ASH_ARG_BOOL},
                                          {"provenance", ASH_ARG_STRING},
                                          {"getLastError", ASH_ARG_ANY},
                                          {NULL, 0}};
    int rc = ash__check_fields(concern, fields, "writeConcern", err);
    if (rc == 0)
        rc = read_w(c, ash__doc_get(concern, "w"), err);
    if (rc != 0)
        return rc;
    c->concern.journal = ash__value_truthy(ash__doc_get(concern, "j")) ||
                         ash__value_truthy(ash__doc_get(concern, "fsync"));
    if (c->concern.journal && c->concern.w == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cannot have j: true with w: 0");
    /* The only member is the majority, once the disk has it.  wtimeout has nobody to wait for. */
    if (c->concern.journal || c->concern.majority)
        c->op.durability = ASH_DURABILITY_EVERY;
    return 0;
}

/* ---- read concern ---- */

/* All that was acknowledged is visible, so a time that has come needs no waiting, and one that has
 * not may never come. */
static int check_after(const ash_command *c, ash_value after, ash_error *err)
{
    if (after.type == 0)
        return 0;
    if (after.type != BSON_TYPE_TIMESTAMP)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field 'readConcern.afterClusterTime' is the wrong type '%s', "
                                "expected type 'timestamp'",
                                ash__type_name(after.type));
    uint64_t wanted = (uint64_t)ash__value_int64(after);
    uint64_t now = ash__server_cluster_time(c->server);
    if (wanted <= now || (int64_t)(wanted >> 32) <= ash__clock_wall_ms() / 1000)
        return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                            "readConcern afterClusterTime value must not be greater than the "
                            "current clusterTime; asked for %u.%u, and it is %u.%u",
                            (unsigned)(wanted >> 32), (unsigned)wanted, (unsigned)(now >> 32),
                            (unsigned)now);
}

static int read_time(ash_command *c, ash_doc concern, ash_error *err)
{
    ash_value at = ash__doc_get(concern, "atClusterTime");
    ash_value after = ash__doc_get(concern, "afterClusterTime");
    if (at.type == 0)
        return check_after(c, after, err);
    if (at.type != BSON_TYPE_TIMESTAMP)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field 'readConcern.atClusterTime' is the wrong type '%s', "
                                "expected type 'timestamp'",
                                ash__type_name(at.type));
    if (!c->wants_snapshot || after.type != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "atClusterTime is only for read concern level snapshot, without "
                                "afterClusterTime");
    c->wanted_time = (uint64_t)ash__value_int64(at);
    /* 0 is the present to us, and to a client a mistake. */
    if (c->wanted_time == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "atClusterTime must not be a null timestamp");
    return 0;
}

static int read_snapshot(ash_command *c, ash_error *err)
{
    if ((c->info->flags & ASH_COMMAND_SNAPSHOT) == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "Command %s does not support read concern level snapshot",
                                c->info->name);
    if (c->server->opts.standalone)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_A_REPLICA_SET,
                                "node needs to be a replica set member to use read concern level "
                                "snapshot");
    c->wants_snapshot = true;
    return 0;
}

static bool is_level(const char *level)
{
    static const char *const levels[] = {"local", "available", "majority", "linearizable"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(levels); i++)
        if (strcmp(level, levels[i]) == 0)
            return true;
    return false;
}

static int read_level(ash_command *c, const char *level, ash_error *err)
{
    c->read_level = level;
    if (strcmp(level, "snapshot") == 0)
        return read_snapshot(c, err);
    if (!is_level(level))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "'%.60s' is not a read concern level", level);
    /* local is what every command does anyway. */
    if ((c->info->flags & ASH_COMMAND_READ_CONCERN) == 0 && strcmp(level, "local") != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "Command %s does not support read concern level %s", c->info->name,
                                level);
    return 0;
}

static int read_read_concern(ash_command *c, ash_doc concern, ash_error *err)
{
    static const ash_argument fields[] = {
        {"level", ASH_ARG_STRING},      {"afterClusterTime", ASH_ARG_ANY},
        {"atClusterTime", ASH_ARG_ANY}, {"afterOpTime", ASH_ARG_ANY},
        {"provenance", ASH_ARG_STRING}, {NULL, 0}};
    uint32_t len;
    int rc = ash__check_fields(concern, fields, "readConcern", err);
    ash_value v = ash__doc_get(concern, "level");
    /* Drivers repeat it on a getMore, whose cursor has its own. */
    if (rc != 0 || strcmp(c->info->name, "getMore") == 0)
        return rc;
    if (v.type == BSON_TYPE_UTF8)
        rc = read_level(c, ash__value_string(v, &len), err);
    return rc == 0 ? read_time(c, concern, err) : rc;
}

int ash__command_hold_snapshot(ash_command *c, ash_error *err)
{
    if (!c->wants_snapshot)
        return 0;
    return ash_store_hold(c->server->store, c->wanted_time, &c->op, &c->op.at_time, err);
}

int ash__command_read_concerns(ash_command *c, ash_error *err)
{
    ash_value write = ash__arg(c, "writeConcern");
    ash_value read = ash__arg(c, "readConcern");
    int rc = 0;
    c->concern.w = 1;
    c->read_level = "";
    if (write.type == BSON_TYPE_DOCUMENT)
        rc = read_write_concern(c, ash__value_doc(write), err);
    if (rc == 0 && read.type == BSON_TYPE_DOCUMENT)
        rc = read_read_concern(c, ash__value_doc(read), err);
    return rc;
}

/* ---- API version ---- */

int ash__command_check_api(const ash_command *c, ash_error *err)
{
    const char *version = ash__arg_string(c, "apiVersion", NULL);
    if (version == NULL) {
        if (ash__arg_bool(c, "apiStrict", false) || ash__arg_bool(c, "apiDeprecationErrors", false))
            return ash__fail_server(
                err, ASH_EINVAL, ASH_MONGO_API_VERSION_ERROR,
                "apiStrict and apiDeprecationErrors need apiVersion beside them");
        return 0;
    }
    if (strcmp(version, "1") != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_API_VERSION_ERROR,
                                "API version must be \"1\"");
    if (ash__arg_bool(c, "apiStrict", false) && (c->info->flags & ASH_COMMAND_API1) == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_API_STRICT_ERROR,
                                "Provided apiStrict:true, but the command %s is not in API "
                                "Version 1",
                                c->info->name);
    return 0;
}
