/* SPDX-License-Identifier: Apache-2.0 */
/* What the server tells of itself: fields that tools and drivers read, with what is true here.  It
 * is the version whose behaviour is kept to that stands under version. */
#include "wire/cmd.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

int ash__run_build_info(ash_command *c, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    (void)err;
    ash__builder_text(b, "version", ASH_SERVER_VERSION);
    ash__builder_text(b, "gitVersion", "none");
    /* By this clients of Ashlar's own know what they talk to. */
    ash__builder_text(b, "ashlarVersion", c->server->version != NULL ? c->server->version : "");
    ash__builder_begin_array(b, "modules");
    ash__builder_end(b);
    ash__builder_text(b, "allocator", "system");
    ash__builder_text(b, "javascriptEngine", "none");
    ash__builder_text(b, "sysInfo", "deprecated");
    ash__builder_begin_array(b, "versionArray");
    ash__builder_int32(b, "0", 7);
    ash__builder_int32(b, "1", 0);
    ash__builder_int32(b, "2", 0);
    ash__builder_int32(b, "3", 0);
    ash__builder_end(b);
    ash__builder_int32(b, "bits", (int32_t)sizeof(void *) * 8);
    ash__builder_bool(b, "debug", false);
    ash__builder_int32(b, "maxBsonObjectSize", ASH_DOC_MAX_BYTES);
    ash__builder_begin_array(b, "storageEngines");
    ash__builder_text(b, "0", "ashlar");
    ash__builder_end(b);
    return 0;
}

/* ---- serverStatus ---- */

static void add_connections(ash_command *c)
{
    ash_server *s = c->server;
    ash_builder *b = &c->reply->body;
    int32_t current = ash__host_peer_count(&s->host);
    ash__builder_begin_doc(b, "connections");
    ash__builder_int32(b, "current", current);
    ash__builder_int32(b, "available", ash__host_max_peers(&s->host) - current);
    ash__builder_int64(b, "totalCreated", atomic_load(&s->host.peers_made));
    ash__builder_end(b);
}

static void add_counters(ash_command *c)
{
    ash_server_counters *n = &c->server->counters;
    ash_builder *b = &c->reply->body;
    ash__builder_begin_doc(b, "opcounters");
    ash__builder_int64(b, "insert", atomic_load(&n->insert));
    ash__builder_int64(b, "query", atomic_load(&n->query));
    ash__builder_int64(b, "update", atomic_load(&n->update));
    ash__builder_int64(b, "delete", atomic_load(&n->remove));
    ash__builder_int64(b, "getmore", atomic_load(&n->getmore));
    ash__builder_int64(b, "command", atomic_load(&n->command));
    ash__builder_end(b);
    ash__builder_begin_doc(b, "network");
    ash__builder_int64(b, "bytesIn", atomic_load(&n->bytes_in));
    ash__builder_int64(b, "bytesOut", atomic_load(&n->bytes_out));
    ash__builder_int64(b, "numRequests", atomic_load(&n->requests));
    ash__builder_int64(b, "messageBytesInFlight",
                       (int64_t)ash__room_used(&c->server->host.requests));
    ash__builder_int64(b, "answerBytesInFlight", (int64_t)ash__room_used(&c->server->host.answers));
    ash__builder_end(b);
    ash__builder_begin_doc(b, "asserts");
    ash__builder_int64(b, "user", atomic_load(&n->user_asserts));
    ash__builder_end(b);
}

static void add_cursors_and_sessions(ash_command *c)
{
    ash_cursor_counts n = ash__cursors_counts(c->server->cursors);
    ash_builder *b = &c->reply->body;
    ash__builder_begin_doc(b, "metrics");
    ash__builder_begin_doc(b, "cursor");
    ash__builder_int64(b, "timedOut", n.timed_out);
    ash__builder_int64(b, "totalOpened", n.total_opened);
    ash__builder_begin_doc(b, "open");
    ash__builder_int64(b, "noTimeout", (int64_t)n.no_timeout);
    ash__builder_int64(b, "pinned", (int64_t)n.pinned);
    ash__builder_int64(b, "total", (int64_t)n.open);
    ash__builder_end(b);
    ash__builder_end(b);
    ash__builder_end(b);
    ash__builder_begin_doc(b, "logicalSessionRecordCache");
    ash__builder_int32(b, "activeSessionsCount", (int32_t)ash__sessions_count(c->server->sessions));
    ash__builder_end(b);
}

static void add_repl(ash_command *c)
{
    ash_builder *b = &c->reply->body;
    if (c->server->opts.standalone)
        return;
    ash__builder_begin_doc(b, "repl");
    ash__builder_text(b, "setName", c->server->set_name);
    ash__builder_int32(b, "setVersion", 1);
    ash__builder_bool(b, "isWritablePrimary", true);
    ash__builder_bool(b, "secondary", false);
    ash__builder_end(b);
}

int ash__run_server_status(ash_command *c, ash_error *err)
{
    bson_t out;
    ash_builder *b = &c->reply->body;
    int64_t uptime_ms = ash__clock_ms() - c->server->started_ms;
    ash__builder_text(b, "host", c->connection->peer.local);
    ash__builder_text(b, "version", ASH_SERVER_VERSION);
    ash__builder_text(b, "process", "ashlar");
    ash__builder_int64(b, "pid", getpid());
    ash__builder_double(b, "uptime", (double)uptime_ms / 1000);
    ash__builder_int64(b, "uptimeMillis", uptime_ms);
    ash__builder_date(b, "localTime", ash__clock_wall_ms());
    add_connections(c);
    add_counters(c);
    add_cursors_and_sessions(c);
    add_repl(c);
    ash__builder_begin_doc(b, "storageEngine");
    ash__builder_text(b, "name", "ashlar");
    ash__builder_bool(b, "persistent", true);
    ash__builder_bool(b, "readOnly", false);
    ash__builder_end(b);
    int rc = ash_store_stats(c->server->store, NULL, NULL, 1, &c->op, &out, err);
    if (rc != 0)
        return rc;
    /* What no other server has; the rest of the store's is what stands above. */
    ash_value own = ash__doc_get(ash__doc_from_bson(&out), "ashlar");
    if (own.type == BSON_TYPE_DOCUMENT)
        ash__builder_doc_value(b, "ashlar", ash__value_doc(own));
    bson_destroy(&out);
    return 0;
}

int ash__run_host_info(ash_command *c, ash_error *err)
{
    struct utsname u;
    ash_builder *b = &c->reply->body;
    (void)err;
    memset(&u, 0, sizeof u);
    uname(&u);
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    ash__builder_begin_doc(b, "system");
    ash__builder_date(b, "currentTime", ash__clock_wall_ms());
    ash__builder_text(b, "hostname", u.nodename);
    ash__builder_int32(b, "cpuAddrSize", (int32_t)sizeof(void *) * 8);
    ash__builder_int64(b, "memSizeMB", memory / (1024 * 1024));
    ash__builder_int32(b, "numCores", (int32_t)sysconf(_SC_NPROCESSORS_ONLN));
    ash__builder_text(b, "cpuArch", u.machine);
    ash__builder_end(b);
    ash__builder_begin_doc(b, "os");
    ash__builder_text(b, "type", u.sysname);
    ash__builder_text(b, "name", u.sysname);
    ash__builder_text(b, "version", u.release);
    ash__builder_end(b);
    ash__builder_begin_doc(b, "extra");
    ash__builder_end(b);
    return 0;
}

/* ---- getParameter ---- */

/* Of the version that buildInfo tells. */
static void add_fcv(ash_command *c, const char *name)
{
    ash_builder *b = &c->reply->body;
    ash__builder_begin_doc(b, name);
    ash__builder_text(b, "version", "7.0");
    ash__builder_end(b);
}

static void add_mechanisms(ash_command *c, const char *name)
{
    ash__builder_begin_array(&c->reply->body, name);
    ash__builder_end(&c->reply->body);
}

static void add_test_commands(ash_command *c, const char *name)
{
    ash__builder_bool(&c->reply->body, name, c->server->opts.test_commands);
}

static void add_cursor_timeout(ash_command *c, const char *name)
{
    ash__builder_int64(&c->reply->body, name, c->server->opts.cursor_timeout_ms);
}

static void add_session_timeout(ash_command *c, const char *name)
{
    ash__builder_int32(&c->reply->body, name, ASH_SESSION_MINUTES);
}

static const struct {
    const char *name;
    void (*add)(ash_command *c, const char *name);
} parameters[] = {
    {"authenticationMechanisms", add_mechanisms},
    {"cursorTimeoutMillis", add_cursor_timeout},
    {"enableTestCommands", add_test_commands},
    {"featureCompatibilityVersion", add_fcv},
    {"localLogicalSessionTimeoutMinutes", add_session_timeout},
};

/* Everything is wanted: {getParameter: "*"} or {getParameter: {allParameters: true}}. */
static bool wants_all_parameters(const ash_command *c)
{
    uint32_t len;
    if (c->value.type == BSON_TYPE_UTF8)
        return strcmp(ash__value_string(c->value, &len), "*") == 0;
    return c->value.type == BSON_TYPE_DOCUMENT &&
           ash__value_truthy(ash__doc_get(ash__value_doc(c->value), "allParameters"));
}

int ash__run_get_parameter(ash_command *c, ash_error *err)
{
    bool all = wants_all_parameters(c), any = false;
    for (size_t i = 0; i < ASH_ARRAY_LEN(parameters); i++) {
        if (!all && ash__doc_get(c->body, parameters[i].name).type == 0)
            continue;
        parameters[i].add(c, parameters[i].name);
        any = true;
    }
    return any ? 0
               : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                  "no option found to get");
}

/* ---- the rest ---- */

int ash__run_get_log(ash_command *c, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    const char *name = ash__value_utf8(c->value, "");
    if (strcmp(name, "*") == 0) {
        ash__builder_begin_array(b, "names");
        ash__builder_text(b, "0", "global");
        ash__builder_text(b, "1", "startupWarnings");
        ash__builder_end(b);
        return 0;
    }
    if (strcmp(name, "global") != 0 && strcmp(name, "startupWarnings") != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_OPERATION_FAILED,
                                "no RamLog named: %.60s", name);
    ash__builder_int32(b, "totalLinesWritten", 0);
    ash__builder_begin_array(b, "log");
    ash__builder_end(b);
    return 0;
}

int ash__run_get_cmd_line_opts(ash_command *c, ash_error *err)
{
    char index[12];
    const ash_server *s = c->server;
    ash_builder *b = &c->reply->body;
    (void)err;
    ash__builder_begin_array(b, "argv");
    ash__builder_text(b, "0", "ashlar");
    ash__builder_text(b, "1", "serve");
    ash__builder_end(b);
    ash__builder_begin_doc(b, "parsed");
    ash__builder_begin_array(b, "listen");
    for (size_t i = 0; i < s->host.listeners.count; i++)
        ash__builder_text(b, ash__index_name((uint32_t)i, index), s->host.addresses[i]);
    ash__builder_end(b);
    if (!s->opts.standalone) {
        ash__builder_begin_doc(b, "replication");
        ash__builder_text(b, "replSet", s->set_name);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    return 0;
}

int ash__run_list_commands(ash_command *c, ash_error *err)
{
    size_t count;
    const ash_wire_command_info *list = ash__wire_commands(&count);
    ash_builder *b = &c->reply->body;
    (void)err;
    ash__builder_begin_doc(b, "commands");
    for (size_t i = 0; i < count; i++) {
        if ((list[i].flags & ASH_COMMAND_REFUSED) ||
            ((list[i].flags & ASH_COMMAND_TEST) && !c->server->opts.test_commands))
            continue;
        ash__builder_begin_doc(b, list[i].name);
        ash__builder_text(b, "help", list[i].note != NULL ? list[i].note : "");
        ash__builder_bool(b, "requiresAuth", false);
        ash__builder_bool(b, "secondaryOk", (list[i].flags & ASH_COMMAND_WRITES) == 0);
        ash__builder_bool(b, "adminOnly", (list[i].flags & ASH_COMMAND_ADMIN) != 0);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    return 0;
}
