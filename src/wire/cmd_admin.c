/* SPDX-License-Identifier: Apache-2.0 */
/* What an administrator asks of the server: running operations, maintenance, fail points, and the
 * replica set that it presents. */
#include "wire/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "store/ops.h"

#include <string.h>

/* Who may not see everybody's sees his own. */
void ash__describe_operations(ash_command *c, ash_builder *b)
{
    const ash_who *who = &c->connection->access.who;
    ash__operations_describe(&c->server->operations,
                             ash__may_cluster(c, ASH_CAN(INPROG)) ? NULL : who, b);
}

int ash__run_current_op(ash_command *c, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    (void)err;
    ash__builder_begin_array(b, "inprog");
    ash__describe_operations(c, b);
    ash__builder_end(b);
    return 0;
}

int ash__run_kill_op(ash_command *c, ash_error *err)
{
    int64_t id = ash__arg_int64(c, "op", 0);
    if (ash__arg(c, "op").type == 0)
        return ash__missing_argument(c, "op", err);
    if (id > 0 && id <= INT32_MAX)
        ash__operations_kill(&c->server->operations, (int32_t)id,
                             ash__may_cluster(c, ASH_CAN(KILLOP)) ? NULL
                                                                  : &c->connection->access.who);
    /* As the server does, whether there is such an operation or not. */
    ash__builder_text(&c->reply->body, "info", "attempting to kill op");
    return 0;
}

int ash__run_fsync(ash_command *c, ash_error *err)
{
    if (ash__arg_bool(c, "lock", false))
        return ash__fail(err, ASH_EUNSUPPORTED, "fsync: option 'lock' is not supported");
    int rc = ash_store_flush(c->server->store, &c->op, err);
    if (rc == 0)
        ash__builder_int32(&c->reply->body, "numFiles", 1);
    return rc;
}

/* There is no profiler, which is what level 0 says. */
int ash__run_profile(ash_command *c, ash_error *err)
{
    int64_t level = 0;
    if (!ash__value_as_int64(c->value, &level) || level > 0)
        return ash__fail(err, ASH_EUNSUPPORTED, "profile: only level 0 is supported");
    ash__builder_int32(&c->reply->body, "was", 0);
    return 0;
}

int ash__run_configure_fail_point(ash_command *c, ash_error *err)
{
    const struct {
        const char *name;
        ash_failpoint *failpoint;
    } known[] = {
        {"failCommand", &c->server->failpoint},
        {"onPrimaryTransactionalWrite", &c->server->write_failpoint},
        {"failGetMoreAfterCursorCheckout", &c->server->get_more_failpoint},
        {"maxTimeAlwaysTimeOut", &c->server->time_failpoint},
    };
    const char *name = ash__value_utf8(c->value, "");
    for (size_t i = 0; i < ASH_ARRAY_LEN(known); i++)
        if (strcmp(known[i].name, name) == 0)
            /* Only failCommand is about commands by their names. */
            return ash__failpoint_set(known[i].failpoint, ash__arg(c, "mode"), ash__arg(c, "data"),
                                      i == 0, err);
    return ash__fail(err, ASH_EUNSUPPORTED, "this server has no fail point '%.60s'", name);
}

/* ---- maintenance ---- */

static bool go_on(void *ctx, const char *what, int64_t done, int64_t total)
{
    ash_command *c = ctx;
    if (what != NULL)
        ash__operations_progress(&c->server->operations, &c->connection->operation, what, done,
                                 total);
    /* Killed, or its maxTimeMS is over. */
    return !ash__is_cancelled(c->op.cancel) &&
           (c->op.deadline_ms == 0 || ash__clock_ms() < c->op.deadline_ms);
}

int ash__command_maintain(ash_command *c, const bson_t *action, bson_t *out, ash_error *err)
{
    return ash_store_maintain(c->server->store, action, go_on, c, out, err);
}

/* What was found goes with the error. */
static void report_damage(ash_reply *r, const bson_t *report)
{
    ash__builder_begin(&r->details);
    ash__builder_doc_value(&r->details, "report", ash__doc_from_bson(report));
    ash__builder_end(&r->details);
    r->has_details = true;
}

int ash__run_ashlar_maintain(ash_command *c, ash_error *err)
{
    bson_t action, out;
    /* It reads and writes folders with the server's rights: only for those who may open the
     * socket. */
    if (!c->connection->peer.is_unix)
        return ash__fail(err, ASH_EACCES,
                         "ashlarMaintain is only taken through the server's Unix socket: "
                         "name the store's folder instead of the server's address");
    if (ash__arg_bson(c, "action", &action) == NULL)
        return ash__missing_argument(c, "action", err);
    int rc = ash__command_maintain(c, &action, &out, err);
    if (rc == 0)
        ash__builder_doc_value(&c->reply->body, "report", ash__doc_from_bson(&out));
    else if (rc == ASH_ECORRUPT)
        report_damage(c->reply, &out);
    if (rc == 0 || rc == ASH_ECORRUPT)
        bson_destroy(&out);
    return rc;
}

/* ---- the replica set of one ---- */

/* What hello told: a driver drops a member of another name. */
static const char *host_of(const ash_command *c)
{
    return c->server->advertise != NULL ? c->server->advertise : c->connection->peer.local;
}

static void add_member(ash_command *c, uint64_t now)
{
    ash_builder *b = &c->reply->body;
    const ash_server *s = c->server;
    ash__builder_begin_array(b, "members");
    ash__builder_begin_doc(b, "0");
    ash__builder_int32(b, "_id", 0);
    ash__builder_text(b, "name", host_of(c));
    ash__builder_double(b, "health", 1.0);
    /* 1 is PRIMARY. */
    ash__builder_int32(b, "state", 1);
    ash__builder_text(b, "stateStr", "PRIMARY");
    ash__builder_int32(b, "uptime", (int32_t)((ash__clock_ms() - s->started_ms) / 1000));
    ash__reply_op_time(c, "optime", now);
    ash__builder_date(b, "optimeDate", (int64_t)(now >> 32) * 1000);
    ash__builder_date(b, "electionDate", s->started_wall_ms);
    ash__builder_int32(b, "configVersion", 1);
    ash__builder_int32(b, "configTerm", 1);
    ash__builder_bool(b, "self", true);
    ash__builder_end(b);
    ash__builder_end(b);
}

static int refuse_on_standalone(const ash_command *c, ash_error *err)
{
    if (!c->server->opts.standalone)
        return 0;
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_NO_REPLICATION_ENABLED,
                            "not running with --replSet");
}

int ash__run_repl_set_get_config(ash_command *c, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    int rc = refuse_on_standalone(c, err);
    if (rc != 0)
        return rc;
    ash__builder_begin_doc(b, "config");
    ash__builder_text(b, "_id", c->server->set_name);
    ash__builder_int32(b, "version", 1);
    ash__builder_int64(b, "term", 1);
    ash__builder_int64(b, "protocolVersion", 1);
    ash__builder_bool(b, "writeConcernMajorityJournalDefault", true);
    ash__builder_begin_array(b, "members");
    ash__builder_begin_doc(b, "0");
    ash__builder_int32(b, "_id", 0);
    ash__builder_text(b, "host", host_of(c));
    ash__builder_bool(b, "arbiterOnly", false);
    ash__builder_bool(b, "hidden", false);
    ash__builder_double(b, "priority", 1.0);
    ash__builder_int32(b, "votes", 1);
    ash__builder_end(b);
    ash__builder_end(b);
    ash__builder_end(b);
    return 0;
}

int ash__run_repl_set_get_status(ash_command *c, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    /* One member is the majority, so all its times are one. */
    uint64_t now = ash__server_cluster_time(c->server);
    int rc = refuse_on_standalone(c, err);
    if (rc != 0)
        return rc;
    ash__builder_text(b, "set", c->server->set_name);
    ash__builder_date(b, "date", ash__clock_wall_ms());
    ash__builder_int32(b, "myState", 1);
    ash__builder_int64(b, "term", 1);
    ash__builder_int64(b, "heartbeatIntervalMillis", 2000);
    ash__builder_int32(b, "majorityVoteCount", 1);
    ash__builder_int32(b, "writeMajorityCount", 1);
    ash__builder_int32(b, "votingMembersCount", 1);
    ash__builder_begin_doc(b, "optimes");
    ash__reply_op_time(c, "lastCommittedOpTime", now);
    ash__reply_op_time(c, "appliedOpTime", now);
    ash__reply_op_time(c, "durableOpTime", now);
    ash__builder_end(b);
    add_member(c, now);
    return 0;
}
