/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to $JS.API: which there are, what they are about, and that each is answered. */
#include "nats/jetstream/trace.h"

#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <string.h>

#define API "$JS.API."

enum needs {
    NO_STREAM,   /* it is about none */
    STREAM,      /* its name stands in the subject … */
    THERE,       /* … and there is one */
    RAW = 8,     /* it sends its answer by itself */
    NO_JSON = 16 /* its body is read by itself */
};

typedef struct verb {
    const char *name; /* of the subject, behind the API's */
    const char *type; /* of the answer */
    int needs;
    void (*handle)(ash_jsd_request *r);
    unsigned kind; /* for the audit log; 0: nothing that has to be told */
} verb;

static const verb verbs[] = {
    {"INFO", "account_info", NO_STREAM, ash__jsd_account_info},
    {"STREAM.CREATE", "stream_create", STREAM, ash__jsd_stream_create, ASH_AUDIT_STRUCTURE},
    {"STREAM.UPDATE", "stream_update", THERE, ash__jsd_stream_update, ASH_AUDIT_STRUCTURE},
    {"STREAM.INFO", "stream_info", THERE, ash__jsd_stream_info},
    {"STREAM.DELETE", "stream_delete", THERE, ash__jsd_stream_delete, ASH_AUDIT_STRUCTURE},
    {"STREAM.PURGE", "stream_purge", THERE, ash__jsd_stream_purge, ASH_AUDIT_WRITES},
    {"STREAM.NAMES", "stream_names", NO_STREAM, ash__jsd_stream_names},
    {"STREAM.LIST", "stream_list", NO_STREAM, ash__jsd_stream_list},
    {"STREAM.MSG.GET", "stream_msg_get", THERE, ash__jsd_message_get, ASH_AUDIT_READS},
    {"STREAM.MSG.DELETE", "stream_msg_delete", THERE, ash__jsd_message_delete, ASH_AUDIT_WRITES},
    {"DIRECT.GET", "direct_get", THERE | RAW, ash__jsd_direct_get, ASH_AUDIT_READS},
    {"CONSUMER.CREATE", "consumer_create", THERE, ash__jsd_consumer_create, ASH_AUDIT_READS},
    {"CONSUMER.DURABLE.CREATE", "consumer_create", THERE, ash__jsd_consumer_create,
     ASH_AUDIT_READS},
    {"CONSUMER.INFO", "consumer_info", THERE, ash__jsd_consumer_info},
    {"CONSUMER.DELETE", "consumer_delete", STREAM, ash__jsd_consumer_delete},
    {"CONSUMER.NAMES", "consumer_names", THERE, ash__jsd_consumer_names},
    {"CONSUMER.LIST", "consumer_list", THERE, ash__jsd_consumer_list},
    {"CONSUMER.MSG.NEXT", "consumer_msg_next", STREAM | RAW | NO_JSON, ash__jsd_consumer_next},
};

/* The verb of the subject, and what stands behind it: NULL when it is none. */
static const verb *find_verb(const char *subject, const char **rest)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(verbs); i++) {
        size_t len = strlen(verbs[i].name);
        bool of_stream = (verbs[i].needs & 3) != NO_STREAM;
        if (strncmp(subject, verbs[i].name, len) != 0 || subject[len] != (of_stream ? '.' : '\0'))
            continue;
        *rest = subject + len + (of_stream ? 1 : 0);
        return &verbs[i];
    }
    return NULL;
}

static void split_stream(ash_jsd_request *r, const char *rest)
{
    size_t len = strcspn(rest, ".");
    r->stream = ash__strndup(rest, len);
    r->rest = rest[len] == '.' ? rest + len + 1 : "";
    r->store = ash__store_of_stream(r->stream);
    if (r->store == NULL)
        r->store = ""; /* no store has that name */
}

/* false: it was told why not. */
static bool bind(ash_jsd_request *r, bool there)
{
    ash_error err = ASH_ERROR_INIT;
    ash_op op = ash__jsd_op();
    if (ash__object_store_name_check(r->store, NULL) != 0) {
        ash__jsd_fail(r, there ? ASH_JSD_STREAM_NOT_FOUND : ASH_JSD_STREAM_CONFIG,
                      there ? NULL : "only streams of object stores, OBJ_…, are kept here");
        return false;
    }
    if (!there)
        return true;
    int rc = ash_object_manager_bind(r->client->jetstream->manager, r->store, &op, &r->bound, &err);
    if (rc != 0)
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_GENERAL);
    return rc == 0;
}

static bool read_body(ash_jsd_request *r)
{
    const ash_nats_message *m = r->message;
    ash_error err = ASH_ERROR_INIT;
    if (m->len == 0)
        return true;
    int rc = m->len <= ASH_JSD_BODY_MAX
                 ? ash__json_parse((const char *)m->data, m->len, &r->body, &err)
                 : ASH_ETOOBIG;
    if (rc == 0 && r->body->type == ASH_JSON_OBJECT)
        return true;
    ash__jsd_fail(r, ASH_JSD_INVALID_JSON, NULL);
    return false;
}

/* A client that counts on what came after this version of the API says so; it is told where it would
 * be misunderstood. */
static bool is_of_this_level(ash_jsd_request *r, bool raw)
{
    char level[ASH_JSD_HEADER_BYTES];
    if (!ash__jsd_header_value(r->message, "Nats-Required-Api-Level", level) ||
        strcmp(level, "0") == 0)
        return true;
    if (!raw)
        ash__jsd_fail(r, ASH_JSD_API_LEVEL, NULL);
    else if (r->message->reply != NULL)
        ash__jsd_status(r->client, r->message->reply, NULL, "412 Required Api Level", "");
    return false;
}

static void handle(ash_jsd_request *r, const verb *v)
{
    bool raw = (v->needs & RAW) != 0;
    if (!is_of_this_level(r, raw))
        return;
    if (ash__jsd_admits(r->client, v->kind))
        v->handle(r);
    else if (!raw)
        ash__jsd_fail(r, ASH_JSD_INSUFFICIENT_RESOURCES, "the audit log cannot be written");
    else if (r->message->reply != NULL)
        ash__jsd_status(r->client, r->message->reply, NULL, "503 Audit Log Cannot Be Written", "");
}

bool ash__jsd_api(ash_jsd_client *c, const ash_nats_message *m)
{
    const char *rest = NULL;
    const verb *v = find_verb(m->subject + strlen(API), &rest);
    if (v == NULL)
        return false;
    ash_jsd_request r = {.client = c, .message = m, .type = v->type, .rest = ""};
    ash__buffer_append_byte(&r.answer, '{');
    ash__buffer_printf(&r.answer, "\"type\":\"io.nats.jetstream.api.v1.%s_response\"", v->type);
    int needs = v->needs & 3;
    bool good = true;
    if (needs != NO_STREAM) {
        split_stream(&r, rest);
        good = bind(&r, needs == THERE);
    }
    if (good && (v->needs & NO_JSON) == 0)
        good = read_body(&r);
    if (good)
        handle(&r, v);
    if (r.answer.len >= ASH_NATS_MAX_PAYLOAD_BYTES)
        ash__jsd_fail(&r, ASH_JSD_INSUFFICIENT_RESOURCES, "the answer has no room in a message");
    /* Nobody answers a direct get of a stream that is not there, but 503. */
    bool served = good || (v->needs & RAW) == 0;
    if ((v->needs & RAW) == 0) {
        ash__buffer_append_byte(&r.answer, '}');
        ash__jsd_reply(c, m, r.answer.data, r.answer.len);
    }
    if (v->kind != 0)
        ash__jsd_tell_request(&r, v->name, v->kind);
    ash_object_store_close(r.bound);
    ash__json_free(r.body);
    ash__free(r.stream);
    ash__buffer_release(&r.answer);
    return served;
}
