/* SPDX-License-Identifier: Apache-2.0 */
/* A command from its bytes to its answer: which it is, whether it may be so, its place among the
 * others, the handler, and what every answer carries: ok, errors with their labels, concerns,
 * times. */
#include "wire/dispatch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/ops.h"
#include "wire/audit.h"
#include "wire/cmd.h"
#include "wire/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- errors and labels ---- */

void ash__reply_error(ash_reply *r, const ash_error *err)
{
    char name[64];
    int32_t code = ash_error_server_code(err);
    ash_error_server_name(code, name, sizeof name);
    ash__builder_double(&r->body, "ok", 0.0);
    ash__wire_text(&r->body, "errmsg", err->text);
    ash__builder_int32(&r->body, "code", code);
    ash__builder_text(&r->body, "codeName", name);
    if (r->has_details)
        ash__builder_elements(&r->body, ash__builder_doc(&r->details));
}

static bool is_one_of(int32_t code, const int32_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* The driver may try the same write once more: the list of the specification of retryable writes. */
static bool is_retryable_write_code(int32_t code)
{
    static const int32_t codes[] = {ASH_MONGO_HOST_UNREACHABLE,
                                    ASH_MONGO_HOST_NOT_FOUND,
                                    ASH_MONGO_NETWORK_TIMEOUT,
                                    ASH_MONGO_SHUTDOWN_IN_PROGRESS,
                                    ASH_MONGO_READ_CONCERN_MAJORITY_NOT_AVAILABLE_YET,
                                    ASH_MONGO_PRIMARY_STEPPED_DOWN,
                                    ASH_MONGO_EXCEEDED_TIME_LIMIT,
                                    ASH_MONGO_SOCKET_EXCEPTION,
                                    ASH_MONGO_NOT_WRITABLE_PRIMARY,
                                    ASH_MONGO_INTERRUPTED_AT_SHUTDOWN,
                                    ASH_MONGO_INTERRUPTED_DUE_TO_REPL_STATE_CHANGE,
                                    ASH_MONGO_NOT_PRIMARY_NO_SECONDARY_OK,
                                    ASH_MONGO_NOT_PRIMARY_OR_SECONDARY};
    return is_one_of(code, codes, ASH_ARRAY_LEN(codes));
}

/* The driver may open the change stream again where it was: the list of the specification of change
 * streams. */
static bool is_resumable_change_code(int32_t code)
{
    static const int32_t codes[] = {ASH_MONGO_HOST_UNREACHABLE,
                                    ASH_MONGO_HOST_NOT_FOUND,
                                    ASH_MONGO_STALE_SHARD_VERSION,
                                    ASH_MONGO_NETWORK_TIMEOUT,
                                    ASH_MONGO_SHUTDOWN_IN_PROGRESS,
                                    ASH_MONGO_FAILED_TO_SATISFY_READ_PREFERENCE,
                                    ASH_MONGO_STALE_EPOCH,
                                    ASH_MONGO_PRIMARY_STEPPED_DOWN,
                                    ASH_MONGO_RETRY_CHANGE_STREAM,
                                    ASH_MONGO_EXCEEDED_TIME_LIMIT,
                                    ASH_MONGO_SOCKET_EXCEPTION,
                                    ASH_MONGO_NOT_WRITABLE_PRIMARY,
                                    ASH_MONGO_INTERRUPTED_AT_SHUTDOWN,
                                    ASH_MONGO_INTERRUPTED_DUE_TO_REPL_STATE_CHANGE,
                                    ASH_MONGO_STALE_CONFIG,
                                    ASH_MONGO_NOT_PRIMARY_NO_SECONDARY_OK,
                                    ASH_MONGO_NOT_PRIMARY_OR_SECONDARY};
    return is_one_of(code, codes, ASH_ARRAY_LEN(codes));
}

/* The change stream is over for good, whatever a driver's own list of codes says. */
static bool is_fatal_change_code(int32_t code)
{
    return code == ASH_MONGO_CHANGE_STREAM_FATAL_ERROR ||
           code == ASH_MONGO_CHANGE_STREAM_HISTORY_LOST;
}

/* The failed command is a getMore, and by its cursor's id it is known whether that watches. */
static bool is_change_stream(const ash_command *c)
{
    int64_t id;
    return c->info != NULL && strcmp(c->info->name, "getMore") == 0 &&
           ash__value_as_int64(c->value, &id) &&
           ash__cursors_is_change_stream(c->server->cursors, id);
}

/* By these newer drivers try again, later from time to time: the specification of client
 * backpressure. */
static void add_overload_labels(ash_builder *b)
{
    ash__builder_begin_array(b, "errorLabels");
    ash__builder_text(b, "0", "SystemOverloadedError");
    ash__builder_text(b, "1", "RetryableError");
    ash__builder_end(b);
}

static void add_labels(ash_command *c, int32_t code, const ash_failure *failure)
{
    ash_builder *b = &c->reply->body;
    const char *label = NULL;
    /* failCommand strikes before a server has looked whose cursor it is. */
    bool by_failpoint = failure != NULL && failure->error_code != 0;
    /* A suite's own labels are all that there are. */
    if (failure != NULL && failure->has_labels) {
        ash__builder_array_value(b, "errorLabels",
                                 (ash_doc){failure->labels.data, failure->labels.len});
        return;
    }
    if (c->retryable && is_retryable_write_code(code))
        label = "RetryableWriteError";
    else if (!by_failpoint && is_resumable_change_code(code) && is_change_stream(c))
        label = "ResumableChangeStreamError";
    else if (!by_failpoint && is_fatal_change_code(code))
        label = "NonResumableChangeStreamError";
    if (code == ASH_MONGO_INGRESS_REQUEST_RATE_LIMIT_EXCEEDED)
        add_overload_labels(b);
    if (label == NULL)
        return;
    ash__builder_begin_array(b, "errorLabels");
    ash__builder_text(b, "0", label);
    ash__builder_end(b);
}

static void add_write_concern_error(ash_command *c, const ash_failure *failure)
{
    char name[64];
    ash_builder *b = &c->reply->body;
    int64_t code = c->concern.error_code;
    if (failure != NULL && failure->write_concern_error.len != 0) {
        ash_doc doc = {failure->write_concern_error.data, failure->write_concern_error.len};
        ash__builder_doc_value(b, "writeConcernError", doc);
        ash__value_as_int64(ash__doc_get(doc, "code"), &code);
        ash_value labels = ash__doc_get(doc, "errorLabels");
        if (labels.type == BSON_TYPE_ARRAY)
            ash__builder_value(b, "errorLabels", labels);
        else
            add_labels(c, (int32_t)code, failure);
    } else if (code != 0 && (c->info->flags & ASH_COMMAND_WRITES)) {
        ash_error_server_name((int32_t)code, name, sizeof name);
        ash__builder_begin_doc(b, "writeConcernError");
        ash__builder_int32(b, "code", (int32_t)code);
        ash__builder_text(b, "codeName", name);
        ash__wire_text(b, "errmsg", c->concern.error_text);
        ash__builder_end(b);
    }
}

/* Drivers send back the newest time they were told, to whom they ask next; the signature is that of
 * a server without keys. */
static void add_times(ash_command *c)
{
    static const uint8_t no_hash[20];
    ash_builder *b = &c->reply->body;
    if (c->server->opts.standalone)
        return;
    uint64_t now = ash__server_cluster_time(c->server);
    ash__builder_begin_doc(b, "$clusterTime");
    ash__builder_timestamp(b, "clusterTime", now);
    ash__builder_begin_doc(b, "signature");
    ash__builder_binary(b, "hash", BSON_SUBTYPE_BINARY, no_hash, sizeof no_hash);
    ash__builder_int64(b, "keyId", 0);
    ash__builder_end(b);
    ash__builder_end(b);
    ash__builder_timestamp(b, "operationTime", now);
}

/* ---- what the request is about ---- */

static int check_db_name(const char *db, size_t len, ash_error *err)
{
    if (len == 0 || len >= ASH_DB_NAME_BYTES || len != strcspn(db, "/\\. \"") ||
        (strchr(db, '$') != NULL && strcmp(db, "$external") != 0))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "Invalid database name: '%.80s'", db);
    return 0;
}

/* The database: $db, or the first part of an old query's "database.$cmd". */
static int read_db(ash_command *c, ash_error *err)
{
    uint32_t len;
    const char *db;
    if (c->request->query_ns != NULL) {
        const char *ns = c->request->query_ns;
        const char *dot = strchr(ns, '.');
        /* Reading collections by OP_QUERY has been gone since MongoDB 5.1. */
        if (dot == NULL || strcmp(dot, ".$cmd") != 0)
            return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_UNSUPPORTED_OP_QUERY_COMMAND,
                                    "OP_QUERY is only taken for commands, not on '%.100s'", ns);
        len = (uint32_t)(dot - ns);
        if (len >= sizeof c->db_text)
            return check_db_name(ns, len, err);
        memcpy(c->db_text, ns, len);
        c->db_text[len] = '\0';
        db = c->db_text;
    } else {
        ash_value v = ash__doc_get(c->body, "$db");
        if (v.type != BSON_TYPE_UTF8)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MESSAGE_WITHOUT_DB,
                                    "OP_MSG requests require a $db argument");
        db = ash__value_string(v, &len);
        /* Behind a NUL nobody would look. */
        if (strlen(db) != len)
            return check_db_name("", 0, err);
    }
    c->db = db;
    return check_db_name(db, len, err);
}

static int read_coll(ash_command *c, ash_error *err)
{
    uint32_t len = 0;
    if (c->value.type != BSON_TYPE_UTF8)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "collection name has invalid type %s",
                                ash__type_name(c->value.type));
    c->coll = ash__value_string(c->value, &len);
    if (len == 0 || strlen(c->coll) != len)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "Invalid namespace specified '%s.%.100s'", c->db, c->coll);
    if ((c->info->flags & ASH_COMMAND_NOT_SYSTEM) != 0)
        return ash__check_system_name(c->db, c->coll, err);
    return 0;
}

static int read_command(ash_command *c, const char **name, ash_error *err)
{
    ash_doc_iter it = ash__doc_iter(c->body);
    *name = ash__doc_iter_next(&it) ? it.name : "";
    c->value = it.value;
    int rc = read_db(c, err);
    if (rc != 0)
        return rc;
    c->info = ash__wire_command_find(*name);
    /* Without the option it is as if there were no such command. */
    if (c->info != NULL && (c->info->flags & ASH_COMMAND_TEST) && !c->server->opts.test_commands)
        c->info = NULL;
    if (c->info == NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_COMMAND_NOT_FOUND,
                                "no such command: '%.100s'", *name);
    if ((c->info->flags & ASH_COMMAND_ADMIN) && strcmp(c->db, "admin") != 0)
        return ash__fail_server(err, ASH_EACCES, ASH_MONGO_UNAUTHORIZED,
                                "%s may only be run against the admin database.", c->info->name);
    return (c->info->flags & ASH_COMMAND_COLLECTION) ? read_coll(c, err) : 0;
}

/* What such an operation cannot have of its own: session, concerns and time are the command's. */
static int check_nested_arguments(const ash_command *c, ash_error *err)
{
    const ash_argument *generic = ash__wire_generic_arguments();
    for (const ash_argument *a = generic; a->name != NULL; a++)
        if (strcmp(a->name, "$db") != 0 && strcmp(a->name, "comment") != 0 &&
            ash__arg(c, a->name).type != 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                    "%s in a transaction must not have a %s of its own",
                                    c->info->name, a->name);
    return 0;
}

int ash__command_read_nested(ash_command *c, ash_error *err)
{
    ash_doc_iter it = ash__doc_iter(c->body);
    const char *name = ash__doc_iter_next(&it) ? it.name : "";
    c->value = it.value;
    int rc = read_db(c, err);
    if (rc != 0)
        return rc;
    c->info = ash__wire_command_find(name);
    if (c->info == NULL || (c->info->flags & ASH_COMMAND_TRANSACTION) == 0)
        return ash__fail_server(err, ASH_EUNSUPPORTED,
                                ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                                "no operation of a transaction: '%.100s'", name);
    if (c->info->flags & ASH_COMMAND_COLLECTION)
        rc = read_coll(c, err);
    if (rc == 0)
        rc = ash__command_check_arguments(c, err);
    return rc == 0 ? check_nested_arguments(c, err) : rc;
}

/* From here on the time runs; 0 is no limit. */
static int read_max_time(ash_command *c, ash_error *err)
{
    c->max_time_ms = ash__arg_int64(c, "maxTimeMS", 0);
    if (c->max_time_ms < 0 || c->max_time_ms > INT_MAX)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "%lld value for maxTimeMS is out of range [0, %d]",
                                (long long)c->max_time_ms, INT_MAX);
    c->op.deadline_ms = ash_deadline(c->max_time_ms);
    return 0;
}

static int prepare(ash_command *c, ash_error *err)
{
    int rc = ash__command_check_arguments(c, err);
    if (rc == 0)
        rc = ash__command_check_api(c, err);
    if (rc == 0)
        rc = read_max_time(c, err);
    if (rc == 0)
        rc = ash__command_read_session(c, err);
    if (rc == 0)
        rc = ash__command_read_concerns(c, err);
    return rc;
}

/* ---- running ---- */

/* A fail point's doing before the command: false when the command must not run. */
static bool fail_first(ash_command *c, const ash_failure *failure, ash_error *err)
{
    char name[64];
    int64_t until = ash__clock_ms() + failure->block_ms;
    /* In short naps: a kill or a stop ends it. */
    while (ash__clock_ms() < until && !ash__is_cancelled(c->op.cancel))
        ash__clock_sleep_ms(5);
    c->reply->close = failure->close_connection;
    if (failure->error_code == 0)
        return !failure->close_connection;
    ash_error_server_name(failure->error_code, name, sizeof name);
    ash__fail_server(err, ash__code_from_server(failure->error_code), failure->error_code,
                     "Failing command via 'failCommand' failpoint: %s", name);
    return false;
}

/* Suites name namespaces in fail points; "db.coll" of this command. */
static char *namespace_text(const ash_command *c)
{
    const char *coll = c->coll;
    if (coll == NULL)
        coll = ash__arg_string(c, "collection", "");
    return ash__sprintf("%s.%s", c->db, coll);
}

/* For suites: whatever has a time limit has used it up. */
static int fail_timed(ash_command *c, ash_error *err)
{
    bool close;
    if (!c->server->opts.test_commands || c->max_time_ms == 0 ||
        !ash__failpoint_hit_plain(&c->server->time_failpoint, false, &close))
        return 0;
    return ash__fail(err, ASH_ETIMEOUT,
                     "operation exceeded time limit, says the 'maxTimeAlwaysTimeOut' failpoint");
}

static bool hit_failpoint(ash_command *c, ash_failure *failure)
{
    /* A hello may be meant by the name that it brings. */
    ash__note_app(c);
    if (!c->server->opts.test_commands || (c->info->flags & ASH_COMMAND_TEST))
        return false;
    char *ns = namespace_text(c);
    ash_failpoint_command command = {c->info->name, c->info->aliases, ns, c->connection->app};
    bool hit = ash__failpoint_hit(&c->server->failpoint, &command, failure);
    ash__free(ns);
    return hit;
}

/* What the failed command had begun to answer goes away; its cursor, too. */
static void finish_failed(ash_command *c, const ash_error *err, const ash_failure *failure)
{
    c->reply->keep_cursor = false;
    ash__reply_begin(c->reply);
    ash__reply_error(c->reply, err);
    add_labels(c, ash_error_server_code(err), failure);
    atomic_fetch_add_explicit(&c->server->counters.user_asserts, 1, memory_order_relaxed);
    ash__log(ASH_LOG_DEBUG, "command %s failed: %s", c->info != NULL ? c->info->name : "?",
             err->text);
}

/* The other operations count themselves, by document or statement. */
static void count_command(const ash_command *c)
{
    static const char *const others[] = {"insert", "find", "update", "delete", "getMore"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++)
        if (strcmp(others[i], c->info->name) == 0)
            return;
    atomic_fetch_add_explicit(&c->server->counters.command, 1, memory_order_relaxed);
}

static bool only_reads(const ash_command *c)
{
    /* An aggregate writes by $out or $merge, and is a read without. */
    ash_value stages = ash__doc_get(c->body, "pipeline");
    if ((c->info->flags & ASH_COMMAND_WRITES) == 0)
        return true;
    if (strcmp(c->info->name, "aggregate") != 0 || stages.type != BSON_TYPE_ARRAY)
        return false;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(stages)); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_DOCUMENT)
            return false;
        ash_doc stage = ash__value_doc(it.value);
        if (!ash__value_is_missing(ash__doc_get(stage, "$out")) ||
            !ash__value_is_missing(ash__doc_get(stage, "$merge")))
            return false;
    }
    return true;
}

/* An answer that is one large document, as of distinct.  What was written cannot fail any more, but
 * its answer can be lost. */
static int claim_body(ash_command *c, ash_error *err)
{
    ash_reply *r = c->reply;
    if (r->batch_at != 0)
        return 0;
    int rc = ash__reply_claim(r, r->body.buf.len,
                              ash__clock_deadline(c->server->opts.message_timeout_ms), err);
    if (rc != 0 && (c->info->flags & ASH_COMMAND_WRITES)) {
        ash__log(ASH_LOG_WARN, "connection %lld from %s closed: %s",
                 (long long)c->connection->peer.id, c->connection->peer.remote, err->text);
        r->close = true;
    }
    return rc;
}

/* The change was made, and the client's time was over before it was durable: that is a failure of
 * the write concern alone, where the answer has a place for it. */
static int tell_late(ash_command *c, ash_error *err)
{
    ash_write_concern *w = &c->concern;
    if (!c->connection->turn.late)
        return 0;
    if ((c->info->flags & ASH_COMMAND_WRITES) == 0 || c->info->run == ash__run_ashlar_transact)
        return ash__fail(err, ASH_ETIMEOUT, "timed out waiting for the disk");
    if (w->error_code == 0) {
        w->error_code = ASH_MONGO_MAX_TIME_MS_EXPIRED;
        snprintf(w->error_text, sizeof w->error_text,
                 "operation exceeded time limit while it waited for the disk");
    }
    return 0;
}

/* What changes something does so in the order in which requests came; reads do not wait for that.
 */
static void find_place(ash_command *c, bool only_reads)
{
    ash_arrival *a = &c->connection->arrival;
    /* Answered from memory: so the order can be kept at no cost to anybody. */
    bool brief = c->info != NULL && (c->info->flags & ASH_COMMAND_BRIEF) != 0;
    /* These may read, or wait, for long before they change something. */
    bool slow = c->info != NULL &&
                (c->info->run == ash__run_aggregate || c->info->run == ash__run_ashlar_transact);
    if ((only_reads && !brief) || slow)
        ash__arrival_leave(a);
    else
        ash__arrival_wait(a);
}

/* Whatever may have changed users and roles, by a command on them or as documents of admin, counts
 * before the answer leaves; also when it failed, as a part of it may have been done. */
static int tell_access(ash_command *c, int rc, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    bool anywhere = c->info->run == ash__run_aggregate || (c->info->flags & ASH_COMMAND_USERS) != 0;
    if (!anywhere && strcmp(c->db, "admin") != 0)
        return rc;
    int told = ash__access_changed(c, &own);
    if (rc != 0 || told == 0)
        return rc;
    *err = own;
    return told;
}

static void run_command(ash_command *c, ash_operation *operation)
{
    ash_error err = ASH_ERROR_INIT;
    ash_failure failure;
    const ash_failure *hit = NULL;
    bool ran = false;
    int rc = read_command(c, &operation->name, &err);
    operation->db = c->db != NULL ? c->db : "";
    operation->stream = &c->connection->peer.stream;
    operation->only_reads = rc == 0 && only_reads(c);
    operation->secret = c->info == NULL || (c->info->flags & ASH_COMMAND_SECRET) != 0;
    operation->who = c->connection->access.who;
    /* Before the operation begins: waiting for a place is not its time. */
    find_place(c, rc != 0 || operation->only_reads);
    ash__operations_begin(&c->server->operations, operation);
    if (rc == 0)
        rc = ash__access_enter(c, &err);
    if (rc == 0)
        rc = ash__access_pace(c, &err);
    if (rc == 0)
        rc = prepare(c, &err);
    if (rc == 0)
        rc = ash__access_check(c, &err);
    if (rc == 0)
        rc = ash__wire_audit_admit(c, &err);
    if (rc == 0)
        rc = fail_timed(c, &err);
    if (rc == 0 && hit_failpoint(c, &failure)) {
        hit = &failure;
        ash__arrival_leave(&c->connection->arrival);
        if (!fail_first(c, hit, &err))
            rc = err.code != 0 ? err.code : ASH_ENETWORK;
    }
    if (rc == 0)
        rc = ash__command_hold_snapshot(c, &err);
    if (rc == 0) {
        /* From here on something may have been written. */
        ran = true;
        count_command(c);
        rc = c->info->run(c, &err);
        if (!operation->only_reads)
            rc = tell_access(c, rc, &err);
        if (rc == 0)
            rc = tell_late(c, &err);
        if (rc == 0)
            rc = claim_body(c, &err);
    }
    /* Drivers try again elsewhere, or here when the server is back; a killed operation they do not.
     */
    if (rc == ASH_EINTERRUPTED && hit == NULL && ash__host_is_stopping(&c->server->host))
        err.server_code = ASH_MONGO_INTERRUPTED_AT_SHUTDOWN;
    ash__wire_audit_tell(c, rc != 0 ? ash_error_server_code(&err) : 0);
    if (rc != 0) {
        finish_failed(c, &err, hit);
        /* What the concern asks for is not to be had either way. */
        if (ran && hit == NULL)
            add_write_concern_error(c, NULL);
    } else {
        add_write_concern_error(c, hit);
        ash__builder_double(&c->reply->body, "ok", 1.0);
    }
    add_times(c);
    ash__operations_end(&c->server->operations, operation);
    if (hit != NULL)
        ash__failure_release(&failure);
}

void ash__dispatch(ash_connection *connection, const ash_request *request)
{
    ash_command c;
    ash_operation *operation = &connection->operation;
    memset(&c, 0, sizeof c);
    c.server = connection->server;
    c.connection = connection;
    c.request = request;
    c.reply = &connection->reply;
    c.body = request->body;
    ash__command_begin_op(&c);
    c.op.cancel = &operation->cancel;
    c.reply->close = false;
    c.reply->has_details = false;
    c.reply->keep_cursor = false;
    c.reply->at_time = 0;
    /* Of the command before. */
    connection->turn.late = false;
    operation->connection_id = connection->peer.id;
    operation->client = connection->peer.remote;
    operation->body = request->body;
    ash__reply_begin(c.reply);
    run_command(&c, operation);
}
