/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a head line by line.  Every doubt is a refusal: a proxy before us could have decided it the
 * other way, and seen another request where we see this one. */
#include "http/head.h"

#include "base/buffer.h"

#include <string.h>
#include <strings.h>

static bool is_token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static size_t token_length(const char *text)
{
    size_t n = 0;
    while (is_token_char((unsigned char)text[n]))
        n++;
    return n;
}

static int refuse(const char **why, int status, const char *text)
{
    *why = text;
    return status;
}

/* ---- where it ends ---- */

/* Bytes of empty lines that some clients send after a body. */
static size_t empty_lines(const char *data, size_t len)
{
    size_t n = 0;
    while (n + 1 < len && data[n] == '\r' && data[n + 1] == '\n')
        n += 2;
    return n;
}

/* Bytes up to and with the empty line; 0: it is not there yet. */
static size_t head_length(const char *data, size_t len)
{
    for (const char *at = data; (at = memchr(at, '\n', len - (size_t)(at - data))) != NULL; at++) {
        size_t n = (size_t)(at - data);
        if (n >= 3 && at[-1] == '\r' && at[-2] == '\n')
            return n + 1;
    }
    return 0;
}

/* All that is there is the beginning of a head: may it go on? */
static int check_incomplete(const char *data, size_t len, const char **why)
{
    const char *line_end = memchr(data, '\n', len);
    if (len > 0 && data[0] == ASH_HEAD_TLS_BYTE)
        return refuse(why, 400, "this port speaks no TLS: the URL begins with http://");
    if (line_end == NULL && len > ASH_HEAD_MAX_TARGET_BYTES + 64)
        return refuse(why, 414, "the request's target is too long");
    if (len >= ASH_HEAD_MAX_BYTES)
        return refuse(why, 431, "the request's header fields are too long");
    return ASH_HEAD_INCOMPLETE;
}

/* ---- its lines ---- */

/* The line that begins at *at, as a text; *at is moved behind it.  NULL: a control character is in
 * it, or it does not end in CR LF. */
static char *next_line(char **at)
{
    char *line = *at;
    char *end = line;
    while (*end != '\n') {
        unsigned char c = (unsigned char)*end;
        if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7f || (c == '\r' && end[1] != '\n'))
            return NULL;
        end++;
    }
    if (end == line || end[-1] != '\r')
        return NULL;
    end[-1] = '\0';
    *at = end + 1;
    return line;
}

static int parse_version(ash_head *out, const char *version, const char **why)
{
    if (strcmp(version, "HTTP/1.1") == 0)
        return 0;
    out->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
    if (out->is_http_1_0)
        return 0;
    /* HTTP/1.2 would be answered as 1.1, but there is none. */
    if (strncmp(version, "HTTP/", 5) == 0 && strlen(version) == 8)
        return refuse(why, 505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    return refuse(why, 400, "the request line is no HTTP");
}

static int parse_request_line(ash_head *out, char *line, const char **why)
{
    size_t n = token_length(line);
    if (n == 0 || line[n] != ' ')
        return refuse(why, 400, "the request line has no method");
    if (n > ASH_HEAD_MAX_METHOD_BYTES)
        return refuse(why, 501, "there is no such method");
    line[n] = '\0';
    out->method = line;
    char *target = line + n + 1;
    char *space = strchr(target, ' ');
    if (space == NULL || space == target || strchr(space + 1, ' ') != NULL ||
        strchr(target, '\t') != NULL)
        return refuse(why, 400, "the request line is not \"METHOD TARGET VERSION\"");
    *space = '\0';
    if ((size_t)(space - target) > ASH_HEAD_MAX_TARGET_BYTES)
        return refuse(why, 414, "the request's target is too long");
    out->target = target;
    return parse_version(out, space + 1, why);
}

static int parse_field(ash_head *out, char *line, const char **why)
{
    size_t n = token_length(line);
    if (line[0] == ' ' || line[0] == '\t')
        return refuse(why, 400, "a header field goes on in another line");
    if (n == 0 || line[n] != ':')
        return refuse(why, 400, "a header field is not \"Name: value\"");
    if (out->field_count == ASH_HEAD_MAX_FIELDS)
        return refuse(why, 431, "there are too many header fields");
    line[n] = '\0';
    char *value = line + n + 1;
    value += strspn(value, " \t");
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        value[--len] = '\0';
    out->fields[out->field_count++] = (ash_head_field){line, value};
    return 0;
}

/* ---- what follows from the fields ---- */

static bool parse_length(const char *text, int64_t *out)
{
    int64_t n = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 18 || text[digits] != '\0')
        return false;
    for (size_t i = 0; i < digits; i++)
        n = n * 10 + (text[i] - '0');
    *out = n;
    return true;
}

static int frame_body(ash_head *out, const char **why)
{
    bool has_length = false, chunked = false;
    for (size_t i = 0; i < out->field_count; i++) {
        const char *value = out->fields[i].value;
        if (strcasecmp(out->fields[i].name, "Content-Length") == 0) {
            int64_t length;
            if (!parse_length(value, &length) || (has_length && length != out->body_length))
                return refuse(why, 400, "Content-Length is no length");
            out->body_length = length;
            has_length = true;
        } else if (strcasecmp(out->fields[i].name, "Transfer-Encoding") == 0) {
            if (chunked)
                return refuse(why, 400, "Transfer-Encoding is there twice");
            if (strcasecmp(value, "chunked") != 0)
                return refuse(why, 501, "the only Transfer-Encoding taken is chunked");
            chunked = true;
        }
    }
    if (chunked && (has_length || out->is_http_1_0))
        return refuse(why, 400, "Transfer-Encoding stands beside Content-Length, or in HTTP/1.0");
    if (chunked)
        out->body_length = -1;
    return 0;
}

/* host:port and nothing else: others would read another host in "a@b". */
static bool is_host(const char *text)
{
    return text[strcspn(text, "@/\\?#,\"<> \t")] == '\0';
}

static int check_host(const ash_head *out, const char **why)
{
    int hosts = 0;
    for (size_t i = 0; i < out->field_count; i++)
        hosts += strcasecmp(out->fields[i].name, "Host") == 0;
    if (hosts > 1 || (hosts == 0 && !out->is_http_1_0))
        return refuse(why, 400, "a request has one Host");
    const char *host = ash__head_field(out, "Host");
    if (host != NULL && !is_host(host))
        return refuse(why, 400, "Host is no host's name with or without a port");
    return 0;
}

static int conclude(ash_head *out, const char **why)
{
    int status = check_host(out, why);
    if (status == 0)
        status = frame_body(out, why);
    if (status != 0)
        return status;
    out->keep_alive = out->is_http_1_0 ? ash__head_has_word(out, "Connection", "keep-alive")
                                       : !ash__head_has_word(out, "Connection", "close");
    const char *expect = ash__head_field(out, "Expect");
    if (expect != NULL && !out->is_http_1_0) {
        if (strcasecmp(expect, "100-continue") != 0)
            return refuse(why, 417, "nothing is known of that expectation");
        out->expects_continue = out->body_length != 0;
    }
    return ASH_HEAD_DONE;
}

int ash__head_parse(char *data, size_t len, ash_head *out, size_t *used, const char **why)
{
    size_t skipped = empty_lines(data, len);
    size_t n = head_length(data + skipped, len - skipped);
    if (n == 0)
        return check_incomplete(data + skipped, len - skipped, why);
    if (n > ASH_HEAD_MAX_BYTES)
        return refuse(why, 431, "the request's header fields are too long");
    *out = (ash_head){0};
    *used = skipped + n;
    char *at = data + skipped;
    char *line = next_line(&at);
    int status = line == NULL ? refuse(why, 400, "a control character is in the request line")
                              : parse_request_line(out, line, why);
    /* The empty line is the last one. */
    while (status == 0 && !(at[0] == '\r' && at[1] == '\n')) {
        line = next_line(&at);
        status = line == NULL ? refuse(why, 400, "a control character is in a header field")
                              : parse_field(out, line, why);
    }
    return status != 0 ? status : conclude(out, why);
}

/* ---- asking ---- */

const char *ash__head_field(const ash_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}

static bool list_has(const char *list, const char *word)
{
    size_t len = strlen(word);
    while (*list != '\0') {
        list += strspn(list, " \t,");
        size_t n = strcspn(list, " \t,");
        if (n == len && strncasecmp(list, word, len) == 0)
            return true;
        list += n;
    }
    return false;
}

bool ash__head_has_word(const ash_head *head, const char *name, const char *word)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0 && list_has(head->fields[i].value, word))
            return true;
    return false;
}

char *ash__head_join(const ash_head *head, const char *name)
{
    ash_buffer joined = ASH_BUFFER_INIT;
    bool any = false;
    for (size_t i = 0; i < head->field_count; i++) {
        if (strcasecmp(head->fields[i].name, name) != 0)
            continue;
        ash__buffer_append_text(&joined, any ? ", " : "");
        ash__buffer_append_text(&joined, head->fields[i].value);
        any = true;
    }
    if (!any)
        return NULL;
    ash__buffer_append_byte(&joined, 0);
    return (char *)ash__buffer_detach(&joined);
}
