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

int ash__jsd_error_number(ash_jsd_error error)
{
    return errors[error].number;
}

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
    r->failed = ash__jsd_error_number(error);
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

/* ---- headers ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool split(const char *line, const char *end, ash_jsd_header *out)
{
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (colon == NULL)
        return false;
    const char *value = colon + 1;
    while (value < end && is_blank(*value))
        value++;
    while (end > value && is_blank(end[-1]))
        end--;
    *out = (ash_jsd_header){line, value, (size_t)(colon - line), (size_t)(end - value)};
    return true;
}

bool ash__jsd_header_next(const ash_nats_message *m, const char **at, ash_jsd_header *out)
{
    const char *end = m->headers != NULL ? m->headers + m->headers_len : NULL;
    if (*at == NULL)
        *at = m->headers;
    while (*at < end) {
        const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop != NULL ? stop : end;
        *at = stop < end ? stop + 1 : end;
        if (stop > line && stop[-1] == '\r')
            stop--;
        if (split(line, stop, out))
            return true;
    }
    return false;
}

bool ash__jsd_header_is(const ash_jsd_header *h, const char *name)
{
    return h->name_len == strlen(name) && strncasecmp(h->name, name, h->name_len) == 0;
}

bool ash__jsd_header_value(const ash_nats_message *m, const char *name,
                           char out[ASH_JSD_HEADER_BYTES])
{
    const char *at = NULL;
    ash_jsd_header h;
    out[0] = '\0';
    while (ash__jsd_header_next(m, &at, &h)) {
        if (!ash__jsd_header_is(&h, name))
            continue;
        if (h.value_len >= ASH_JSD_HEADER_BYTES)
            return false;
        memcpy(out, h.value, h.value_len);
        out[h.value_len] = '\0';
        return true;
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
