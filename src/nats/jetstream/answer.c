/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/answer.h"

#include "base/base64.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

typedef struct error_text {
    int code, number;
    const char *text;
} error_text;

#define ROW(name, code, number, text) {code, number, text},
static const error_text errors[] = {{0, 0, ""}, ASH_JSD_ERRORS(ROW)};
#undef ROW

/* ---- errors ---- */

void ash__jsd_put_error(ash_buffer *out, ash_jsd_error error, const char *text)
{
    const error_text *e = &errors[error];
    ash__json_put_key(out, "error");
    ash__buffer_append_byte(out, '{');
    ash__json_put_int_member(out, "code", e->code);
    ash__json_put_int_member(out, "err_code", e->number);
    ash__json_put_text_member(out, "description", text != NULL ? text : e->text);
    ash__buffer_append_byte(out, '}');
}

void ash__jsd_fail(ash_jsd_request *r, ash_jsd_error error, const char *text)
{
    ash__buffer_clear(&r->answer);
    ash__buffer_append_byte(&r->answer, '{');
    ash__buffer_printf(&r->answer, "\"type\":\"io.nats.jetstream.api.v1.%s_response\"", r->type);
    ash__jsd_put_error(&r->answer, error, text);
}

ash_jsd_error ash__jsd_error_of(int rc, ash_jsd_error otherwise)
{
    switch (rc) {
    case ASH_ENOTFOUND:
        return ASH_JSD_STREAM_NOT_FOUND;
    case ASH_EEXISTS:
        return ASH_JSD_STREAM_NAME_IN_USE;
    case ASH_EREADONLY:
        return ASH_JSD_SEALED;
    case ASH_ECONDITION:
        return ASH_JSD_WRONG_LAST_SEQUENCE;
    case ASH_ENOMEM:
        return ASH_JSD_INSUFFICIENT_RESOURCES;
    default:
        return otherwise;
    }
}

void ash__jsd_fail_rc(ash_jsd_request *r, int rc, const ash_error *err, ash_jsd_error otherwise)
{
    ash_jsd_error error = ash__jsd_error_of(rc, otherwise);
    ash__jsd_fail(r, error, error == otherwise ? err->text : NULL);
}

/* ---- messages ---- */

void ash__jsd_reply(ash_jsd_client *c, const ash_nats_message *to, const void *data, size_t len)
{
    ash_nats_message m = {.subject = to->reply, .data = data, .len = len};
    if (to->reply != NULL)
        (void)ash__nats_deliver(c->client, &m);
}

void ash__jsd_status(ash_jsd_client *c, const char *to, const char *reply, const char *status,
                     const char *lines)
{
    char *headers = ash__sprintf("NATS/1.0 %s\r\n%s\r\n", status, lines);
    ash_nats_message m = {
        .subject = to, .reply = reply, .headers = headers, .headers_len = strlen(headers)};
    (void)ash__nats_deliver(c->client, &m);
    ash__free(headers);
}

static bool copy_value(const char *value, const char *end, char *out, size_t room)
{
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if ((size_t)(end - value) >= room || memchr(value, '\0', (size_t)(end - value)) != NULL)
        return false;
    memcpy(out, value, (size_t)(end - value));
    out[end - value] = '\0';
    return true;
}

bool ash__jsd_header(const ash_nats_message *m, const char *name, char *out, size_t room)
{
    const char *at = m->headers, *end = at != NULL ? at + m->headers_len : NULL;
    size_t len = strlen(name);
    while (at != NULL && at < end) {
        const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        at = stop + 1;
        if (stop > line && stop[-1] == '\r')
            stop--;
        if ((size_t)(stop - line) > len && line[len] == ':' && strncasecmp(line, name, len) == 0)
            return copy_value(line + len + 1, stop, out, room);
    }
    return false;
}

/* ---- members ---- */

void ash__jsd_time_text(int64_t ms, char out[32])
{
    struct tm tm = {0};
    if (ms == 0) { /* Go's zero time */
        (void)snprintf(out, 32, "0001-01-01T00:00:00Z");
        return;
    }
    time_t seconds = (time_t)(ms / 1000);
    (void)gmtime_r(&seconds, &tm);
    size_t len = strftime(out, 24, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out + len, 32 - len, ".%03dZ", (int)(ms % 1000));
}

void ash__jsd_put_time(ash_buffer *out, const char *key, int64_t ms)
{
    char text[32];
    ash__jsd_time_text(ms, text);
    ash__json_put_text_member(out, key, text);
}

/* In base64's first alphabet, as Go writes bytes. */
void ash__jsd_put_base64(ash_buffer *out, const char *key, const void *data, size_t len)
{
    char *text = ash__base64_write(data, len);
    for (char *c = text; *c != '\0'; c++)
        *c = (char)(*c == '-' ? '+' : *c == '_' ? '/' : *c);
    ash__json_put_text_member(out, key, text);
    ash__free(text);
}
