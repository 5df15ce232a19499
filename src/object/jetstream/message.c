/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/message.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/config.h"
#include "object/jetstream/format/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GONE_MS = 1000,    /* who has no answer by then says nothing */
    PUBLISH_MS = 3000, /* where a leader has just died nobody answers: soon again */
    DIRECT_MS = 2000   /* servers before 2.10 never answer for a stream that they do not have */
};

void ash__js_message_release(ash_js_message *m)
{
    natsMsg_Destroy(m->owner);
    ash__free(m->bytes);
    ash__free(m->subject);
    ash__free(m->id);
    ash__free(m->other);
    *m = (ash_js_message){0};
}

int ash__js_message_object(const ash_js_message *m, const char *store, ash_object **out,
                           ash_error *err)
{
    ash_js_meta_text text = {.store = store,
                             .data = m->data,
                             .len = m->len,
                             .sequence = m->sequence,
                             .time_ms = m->time_ms,
                             .expires_ms = m->expires_ms};
    return ash__js_read_info(&text, out, err);
}

/* "90s", "1h30m" and plain seconds, as Go and the server write times. */
static int64_t duration_ms(const char *text)
{
    double total = 0;
    while (*text != '\0') {
        char *end = NULL;
        double number = strtod(text, &end);
        if (end == text)
            return 0;
        if (strncmp(end, "ms", 2) == 0) {
            total += number;
            end += 2;
        } else {
            double unit = *end == 'h' ? 3600000 : *end == 'm' ? 60000 : 1000;
            total += number * unit;
            end += *end != '\0';
        }
        text = end;
    }
    return (int64_t)total;
}

/* Ours say it exactly; of others' the server's seconds count. */
static int64_t expiry(const char *ttl, const char *expires, int64_t time_ms)
{
    int64_t left = ttl != NULL ? duration_ms(ttl) : 0;
    int64_t at = expires != NULL && left > 0 ? strtoll(expires, NULL, 10) : 0;
    return at > 0 ? at : left > 0 ? time_ms + left : 0;
}

/* The same, but for so long at most. */
static ash_op brief_op(const ash_op *op, int64_t limit_ms)
{
    ash_op brief = ASH_OPTIONS_INIT(ash_op);
    int64_t until = ash__clock_deadline(limit_ms);
    if (op != NULL)
        brief = *op;
    if (brief.deadline_ms == 0 || brief.deadline_ms > until)
        brief.deadline_ms = until;
    return brief;
}

static char *copy_header(natsMsg *message, const char *name)
{
    const char *value = ash__js_header(message, name);
    return value != NULL ? ash__strdup(value) : NULL;
}

void ash__js_message_take(natsMsg *owner, ash_js_message *out)
{
    const char *ttl = ash__js_header(owner, ASH_JS_TTL);
    const char *expires = ash__js_header(owner, ASH_JS_EXPIRES);
    out->owner = owner;
    out->data = (const uint8_t *)natsMsg_GetData(owner);
    out->len = (size_t)natsMsg_GetDataLength(owner);
    out->expires_ms = expiry(ttl, expires, out->time_ms);
    out->id = copy_header(owner, ASH_JS_ID);
    out->other = copy_header(owner, ASH_JS_OTHER);
}

int ash__js_answer_last(natsMsg *answer, ash_js_message *out, ash_error *err)
{
    *out = (ash_js_message){0};
    const char *status =
        natsMsg_GetDataLength(answer) == 0 ? ash__js_header(answer, "Status") : NULL;
    if (status != NULL) {
        bool missing = strcmp(status, "404") == 0;
        int rc = ash__fail(err, missing ? ASH_ENOTFOUND : ASH_ENETWORK,
                           "JetStream: no message found (%s)", status);
        out->number = missing ? ASH_JS_NO_MESSAGE : 0;
        natsMsg_Destroy(answer);
        return rc;
    }
    const char *sequence = ash__js_header(answer, "Nats-Sequence");
    const char *time = ash__js_header(answer, "Nats-Time-Stamp");
    out->sequence = sequence != NULL ? strtoull(sequence, NULL, 10) : 0;
    out->time_ms = time != NULL ? ash__js_time(time) : 0;
    out->subject = copy_header(answer, "Nats-Subject");
    ash__js_message_take(answer, out);
    return 0;
}

/* From "NATS/1.0\r\nName: value\r\n…". */
static char *find_header(const char *headers, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = headers; line != NULL && *line != '\0';) {
        if (strncmp(line, name, len) == 0 && line[len] == ':') {
            line += len + 1;
            line += strspn(line, " ");
            return ash__strndup(line, strcspn(line, "\r\n"));
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

static void take_headers(const char *text, ash_js_message *out)
{
    uint8_t *headers = NULL;
    size_t len = 0;
    if (!ash__base64_read(text, strlen(text), &headers, &len))
        return;
    char *ttl = find_header((const char *)headers, ASH_JS_TTL);
    char *expires = find_header((const char *)headers, ASH_JS_EXPIRES);
    out->expires_ms = expiry(ttl, expires, out->time_ms);
    out->id = find_header((const char *)headers, ASH_JS_ID);
    out->other = find_header((const char *)headers, ASH_JS_OTHER);
    ash__free(ttl);
    ash__free(expires);
    ash__free(headers);
}

static int take_answer(const ash_json *answer, ash_js_message *out, ash_error *err)
{
    const ash_json *message = ash__json_get(answer, "message");
    const char *data = ash__json_text(message, "data", "");
    if (message == NULL || !ash__base64_read(data, strlen(data), &out->bytes, &out->len))
        return ash__fail(err, ASH_ENETWORK, "JetStream: an answer that cannot be read");
    out->data = out->bytes;
    out->sequence = ash__json_unsigned(message, "seq", 0);
    out->time_ms = ash__js_time(ash__json_text(message, "time", ""));
    out->subject = ash__strdup(ash__json_text(message, "subject", ""));
    take_headers(ash__json_text(message, "hdrs", ""), out);
    return 0;
}

/* By the leader, which knows everything that was acknowledged. */
static int get_by_leader(const ash_js_stream *s, ash_buffer *body, const ash_op *op,
                         ash_js_message *out, ash_error *err)
{
    char *verb = ash__sprintf("STREAM.MSG.GET.%s", s->name);
    ash_json *answer = NULL;
    int rc = ash__js_request(s->js, verb, body, op, &answer, err);
    out->number = ash__js_number(answer);
    if (rc == 0)
        rc = take_answer(answer, out, err);
    ash__json_free(answer);
    ash__free(verb);
    return rc;
}

static int get_direct(const ash_js_stream *s, const char *subject, const ash_buffer *body,
                      const ash_op *op, ash_js_message *out, ash_error *err)
{
    natsMsg *message = NULL, *answer = NULL;
    ash_op brief = brief_op(op, DIRECT_MS);
    char *to = ash__sprintf("%s.DIRECT.GET.%s%s%s", s->js->api, s->name, body == NULL ? "." : "",
                            body == NULL ? subject : "");
    natsStatus status =
        natsMsg_Create(&message, to, NULL, body != NULL ? (const char *)body->data : NULL,
                       body != NULL ? (int)body->len : 0);
    int rc = status == NATS_OK ? ash__js_ask(s->js, message, &brief, &answer, err)
                               : ash__js_fail_status(status, "to ask", err);
    if (rc == 0)
        rc = ash__js_answer_last(answer, out, err);
    natsMsg_Destroy(message);
    ash__free(to);
    return rc;
}

int ash__js_ask_last(const ash_js_stream *s, const char *subject, const char *reply, ash_error *err)
{
    char *to = ash__sprintf("%s.DIRECT.GET.%s.%s", s->js->api, s->name, subject);
    natsStatus status = natsConnection_PublishRequest(s->js->nc, to, reply, NULL, 0);
    ash__free(to);
    return status == NATS_OK ? 0 : ash__js_fail_status(status, "to ask", err);
}

int ash__js_get_last(const ash_js_stream *s, const char *subject, bool newest, const ash_op *op,
                     ash_js_message *out, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    *out = (ash_js_message){0};
    if (s->direct && !(newest && s->replicas)) {
        int rc = get_direct(s, subject, NULL, op, out, err);
        /* Where the stream is gone nobody answers, on servers before 2.10. */
        if (rc != ASH_ENETWORK && rc != ASH_ETIMEOUT)
            return rc;
    }
    ash__buffer_append_byte(&body, '{');
    ash__json_put_text_member(&body, "last_by_subj", subject);
    ash__buffer_append_byte(&body, '}');
    int rc = get_by_leader(s, &body, op, out, err);
    ash__buffer_release(&body);
    return rc;
}

int ash__js_get_from(const ash_js_stream *s, const char *subject, uint64_t sequence,
                     const ash_op *op, ash_js_message *out, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    int rc = ASH_ENETWORK;
    *out = (ash_js_message){0};
    ash__buffer_append_byte(&body, '{');
    ash__json_put_key(&body, "seq");
    ash__buffer_printf(&body, "%" PRIu64, sequence);
    ash__json_put_text_member(&body, "next_by_subj", subject);
    ash__buffer_append_byte(&body, '}');
    if (s->direct)
        rc = get_direct(s, subject, &body, op, out, err);
    /* A replica may not have it yet. */
    if (rc == ASH_ENETWORK || rc == ASH_ETIMEOUT || (rc == ASH_ENOTFOUND && s->replicas))
        rc = get_by_leader(s, &body, op, out, err);
    ash__buffer_release(&body);
    return rc;
}

int ash__js_read_ack(natsMsg *answer, ash_js_ack *out, ash_error *err)
{
    ash_json *json = NULL;
    *out = (ash_js_ack){0};
    if (natsMsg_IsNoResponders(answer))
        return ash__js_fail_status(NATS_NO_RESPONDERS, "to publish", err);
    int rc =
        ash__json_parse(natsMsg_GetData(answer), (size_t)natsMsg_GetDataLength(answer), &json, err);
    if (rc == 0)
        rc = ash__js_answer_error(json, &out->number, err);
    out->sequence = ash__json_unsigned(json, "seq", 0);
    out->duplicate = ash__json_truth(json, "duplicate", false);
    if (rc == 0 && out->sequence == 0)
        rc = ash__fail(err, ASH_ENETWORK, "JetStream: an acknowledgement that cannot be read");
    ash__json_free(json);
    return rc;
}

bool ash__js_is_gone(const ash_js_stream *s)
{
    ash_op op = ASH_OPTIONS_INIT(ash_op);
    ash_json *answer = NULL;
    char *verb = ash__sprintf("STREAM.INFO.%s", s->name);
    op.deadline_ms = ash__clock_deadline(GONE_MS);
    (void)ash__js_request(s->js, verb, NULL, &op, &answer, NULL);
    int number = ash__js_number(answer);
    ash__json_free(answer);
    ash__free(verb);
    return number == ASH_JS_STREAM_NOT_FOUND;
}

int ash__js_publish(ash_js *js, natsMsg *message, const ash_op *op, ash_js_ack *out, ash_error *err)
{
    natsMsg *answer = NULL;
    ash_op brief = brief_op(op, PUBLISH_MS);
    *out = (ash_js_ack){0};
    int rc = ash__js_ask(js, message, &brief, &answer, err);
    if (rc == 0)
        rc = ash__js_read_ack(answer, out, err);
    natsMsg_Destroy(answer);
    return rc;
}

int ash__js_delete(const ash_js_stream *s, uint64_t sequence, const ash_op *op, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    char *verb = ash__sprintf("STREAM.MSG.DELETE.%s", s->name);
    ash_error why = ASH_ERROR_INIT;

    ash__buffer_printf(&body, "{\"seq\":%" PRIu64 ",\"no_erase\":true}", sequence);
    int rc = ash__js_request(s->js, verb, &body, op, NULL, &why);
    ash__buffer_release(&body);
    ash__free(verb);
    return ash__unless(ASH_ENOTFOUND, rc, &why, err);
}

int ash__js_take(const ash_js_stream *s, uint64_t sequence, const ash_op *op, bool *taken,
                 ash_error *err)
{
    int64_t give_up = ash__clock_ms() + ASH_JS_PATIENCE_MS;
    ash_buffer body = ASH_BUFFER_INIT;
    char *verb = ash__sprintf("STREAM.MSG.DELETE.%s", s->name);
    ash_error why = ASH_ERROR_INIT;
    int number = 0, rc;

    ash__buffer_printf(&body, "{\"seq\":%" PRIu64 ",\"no_erase\":true}", sequence);
    do {
        ash_js_answer got = {NULL, 0};
        rc = ash__js_request_once(s->js, verb, &body, op, &got, &why);
        number = got.number;
        ash__json_free(got.json);
    } while (rc != 0 && number != ASH_JS_DELETE_FAILED && ash__js_is_passing(rc, number) &&
             ash__js_pause(op, give_up, NULL) == 0);
    ash__buffer_release(&body);
    ash__free(verb);
    *taken = rc == 0;
    if (number == ASH_JS_DELETE_FAILED || number == ASH_JS_SEQUENCE_NOT_FOUND)
        return 0;
    return ash__unless(0, rc, &why, err);
}

int ash__js_purge(const ash_js_stream *s, const char *subject, const ash_op *op, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    char *verb = ash__sprintf("STREAM.PURGE.%s", s->name);

    ash__buffer_append_byte(&body, '{');
    ash__json_put_text_member(&body, "filter", subject);
    ash__buffer_append_byte(&body, '}');
    int rc = ash__js_request(s->js, verb, &body, op, NULL, err);
    ash__buffer_release(&body);
    ash__free(verb);
    return rc;
}
