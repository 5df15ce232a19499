/* SPDX-License-Identifier: Apache-2.0 */
/* What drivers ask before anything else: who is there, what it can do, and whether one must sign
 * in.  Without topologyVersion in hello they poll and do not stream. */
#include "wire/cmd.h"

#include "base/clock.h"
#include "base/hash.h"
#include "wire/compress.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_WIRE_VERSION = 21, /* MongoDB 7.0's; 25 would promise the command bulkWrite */
    MAX_WRITE_BATCH = 100000
};

void ash__note_app(ash_command *c)
{
    uint32_t len;
    ash_value client = ash__arg(c, "client");
    if (client.type != BSON_TYPE_DOCUMENT)
        return;
    ash_value app = ash__doc_get(ash__value_doc(client), "application");
    if (app.type != BSON_TYPE_DOCUMENT)
        return;
    ash_value name = ash__doc_get(ash__value_doc(app), "name");
    if (name.type == BSON_TYPE_UTF8)
        snprintf(c->connection->app, sizeof c->connection->app, "%s",
                 ash__value_string(name, &len));
}

/* A replica set of one, whose member is the address that the client reached. */
static void add_replica_set(ash_command *c)
{
    /* Of a set that has elected once: drivers pass over a primary with an older one. */
    static const bson_oid_t election = {{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1}};
    ash_builder *b = &c->reply->body;
    const ash_server *s = c->server;
    const char *host = s->advertise != NULL ? s->advertise : c->connection->peer.local;
    uint64_t now = ash__server_cluster_time(c->server);
    ash__builder_begin_array(b, "hosts");
    ash__builder_text(b, "0", host);
    ash__builder_end(b);
    ash__builder_text(b, "setName", s->set_name);
    ash__builder_int32(b, "setVersion", 1);
    ash__builder_bool(b, "secondary", false);
    ash__builder_text(b, "primary", host);
    ash__builder_text(b, "me", host);
    ash__builder_oid(b, "electionId", &election);
    ash__builder_begin_doc(b, "lastWrite");
    ash__reply_op_time(c, "opTime", now);
    ash__builder_date(b, "lastWriteDate", (int64_t)(now >> 32) * 1000);
    ash__reply_op_time(c, "majorityOpTime", now);
    ash__builder_date(b, "majorityWriteDate", (int64_t)(now >> 32) * 1000);
    ash__builder_end(b);
}

/* Of the client's compressors those that this server has, in the client's order. */
static void add_compression(ash_command *c)
{
    char index[12];
    uint32_t len, count = 0;
    uint8_t id;
    ash_builder *b = &c->reply->body;
    ash_value list = ash__arg(c, "compression");
    if (list.type != BSON_TYPE_ARRAY)
        return;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_UTF8 ||
            !ash__compressor_from_name(ash__value_string(it.value, &len), &id))
            continue;
        if (count == 0)
            ash__builder_begin_array(b, "compression");
        ash__builder_value(b, ash__index_name(count++, index), it.value);
    }
    if (count > 0)
        ash__builder_end(b);
}

static int run_hello(ash_command *c, bool legacy, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    if (ash__arg_bool(c, "helloOk", false))
        ash__builder_bool(b, "helloOk", true);
    /* Drivers say hello by the old name until they were told helloOk. */
    ash__builder_bool(b, legacy ? "ismaster" : "isWritablePrimary", true);
    if (!c->server->opts.standalone)
        add_replica_set(c);
    ash__builder_int32(b, "maxBsonObjectSize", ASH_DOC_MAX_BYTES);
    ash__builder_int32(b, "maxMessageSizeBytes", ASH_MESSAGE_ASKED_BYTES);
    ash__builder_int32(b, "maxWriteBatchSize", MAX_WRITE_BATCH);
    ash__builder_date(b, "localTime", ash__clock_wall_ms());
    ash__builder_int32(b, "logicalSessionTimeoutMinutes", ASH_SESSION_MINUTES);
    /* Clients read an int32. */
    ash__builder_int32(b, "connectionId", (int32_t)(c->connection->peer.id & INT32_MAX));
    ash__builder_int32(b, "minWireVersion", 0);
    ash__builder_int32(b, "maxWireVersion", MAX_WIRE_VERSION);
    ash__builder_bool(b, "readOnly", false);
    add_compression(c);
    int rc = ash__reply_mechanisms(c, err);
    if (rc != 0)
        return rc;
    /* Drivers pass over fields that they do not know. */
    if (c->server->can_pass_damage)
        ash__builder_bool(b, "ashlarPastDamage", true);
    if (c->server->can_transact)
        ash__builder_int32(b, "ashlarTransact", ASH_TRANSACT_VERSION);
    return 0;
}

int ash__run_hello(ash_command *c, ash_error *err)
{
    return run_hello(c, false, err);
}

int ash__run_ismaster(ash_command *c, ash_error *err)
{
    return run_hello(c, true, err);
}

int ash__run_ping(ash_command *c, ash_error *err)
{
    (void)c;
    (void)err;
    return 0;
}

int ash__run_whatsmyuri(ash_command *c, ash_error *err)
{
    (void)err;
    ash__builder_text(&c->reply->body, "you", c->connection->peer.remote);
    return 0;
}

int ash__run_getnonce(ash_command *c, ash_error *err)
{
    uint8_t nonce[8];
    char text[17];
    (void)err;
    ash__random(nonce, sizeof nonce);
    ash__hex(nonce, sizeof nonce, text);
    ash__builder_text(&c->reply->body, "nonce", text);
    return 0;
}
