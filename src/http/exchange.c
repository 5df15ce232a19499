/* SPDX-License-Identifier: Apache-2.0 */
#include "http/exchange.h"

#include "base/log.h"
#include "base/mem.h"
#include "http/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ash__status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {206, "Partial Content"},
        {207, "Multi-Status"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {308, "Permanent Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {423, "Locked"},
        {424, "Failed Dependency"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {460, "Checksum Mismatch"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
        {508, "Loop Detected"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Unknown";
}

bool ash__method_is_safe(const char *method)
{
    static const char *const safe[] = {"GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(safe); i++)
        if (strcmp(method, safe[i]) == 0)
            return true;
    return false;
}

bool ash__answered(const ash_exchange *x)
{
    return x->status != 0;
}

void ash__exchange_finish(ash_exchange *x)
{
    if (x->admits == NULL || x->admits(x))
        x->finish(x);
}

void ash__exchange_wake(ash_exchange *x)
{
    if (x->wake != NULL)
        x->wake(x->wake_ctx);
}

/* ---- answering ---- */

void ash__answer_field(ash_exchange *x, const char *name, const char *format, ...)
{
    va_list args;
    char text[512];
    char *value = text;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len >= (int)sizeof text) {
        value = ash__alloc((size_t)len + 1);
        va_start(args, format);
        vsnprintf(value, (size_t)len + 1, format, args);
        va_end(args);
    }
    /* A line break in a value would begin another field, or the body. */
    size_t n = 0;
    for (const char *at = value; *at != '\0'; at++)
        if (((unsigned char)*at >= 0x20 && *at != 0x7f) || *at == '\t')
            value[n++] = *at;
    ash__buffer_append_text(&x->fields, name);
    ash__buffer_append(&x->fields, ": ", 2);
    ash__buffer_append(&x->fields, value, n);
    ash__buffer_append(&x->fields, "\r\n", 2);
    if (value != text)
        ash__free(value);
}

static void answer(ash_exchange *x, int status, const char *type, int64_t length)
{
    ash_assert(x->status == 0);
    x->status = status;
    x->length = length;
    if (type != NULL)
        ash__answer_field(x, "Content-Type", "%s", type);
}

void ash__answer_empty(ash_exchange *x, int status)
{
    answer(x, status, NULL, 0);
}

void ash__answer_body(ash_exchange *x, int status, const char *type, const void *data, size_t len)
{
    answer(x, status, type, (int64_t)len);
    ash__buffer_append(&x->body, data, len);
}

void ash__answer_text(ash_exchange *x, int status, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t size = (size_t)(len > 0 ? len : 0);
    char *text = ash__alloc(size + 2);
    vsnprintf(text, size + 1, format, again);
    va_end(again);
    text[size] = '\n';
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    ash__answer_body(x, status, "text/plain; charset=utf-8", text, size + 1);
    ash__free(text);
}

void ash__answer_stream(ash_exchange *x, int status, const char *type, int64_t length)
{
    ash_assert(x->more != NULL);
    answer(x, status, type, length);
    x->is_streamed = true;
}

int ash__status_of(int code)
{
    /* A table of items that failed is for PROPFIND and its kin, where somebody writes one. */
    return code == ASH_EPARTIAL ? 500 : ash_error_http_status(code);
}

void ash__answer_error(ash_exchange *x, const ash_error *err)
{
    int status = ash__status_of(err->code);
    if (status == 503 || status == 504)
        ash__answer_field(x, "Retry-After", "5");
    if (status >= 500 && status != 507 && status != 501) {
        char *path = ash__http_without_secrets(x->target.path != NULL ? x->target.path : "*");
        ash__log(ASH_LOG_ERROR, "%s %s: %s", x->method, path, err->text);
        ash__free(path);
        /* Texts of damage name what is damaged, and that is the client's own. */
        if (err->code != ASH_ECORRUPT && err->code != ASH_EPARTIAL) {
            ash__answer_text(x, status, "the server failed; its log says why (request %s)", x->id);
            return;
        }
    }
    /* Of what a user may not see, the text would say where it is. */
    if (err->code == ASH_EACCES && x->op != NULL)
        ash__answer_text(x, status, "that is not allowed to this user");
    else
        ash__answer_text(x, status, "%s", err->text);
}
