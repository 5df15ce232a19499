/* SPDX-License-Identifier: Apache-2.0 */
#include "http/multipart.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

enum {
    PREAMBLE, /* before the first delimiter */
    CONTENT,
    BEHIND, /* a delimiter: "--" or the end of the line follows */
    HEAD,
    OVER
};

/* ---- parameters of fields ---- */

/* A value in quotes.  Browsers write a quote as %22 and line breaks as %0D and %0A, others put a
 * backslash before it; a backslash before anything else is one (a path of Windows'). */
static const char *read_quoted(const char *at, ash_buffer *out)
{
    for (at++; *at != '"' && *at != '\0'; at++) {
        if (at[0] == '\\' && (at[1] == '"' || at[1] == '\\'))
            ash__buffer_append_byte(out, (uint8_t) * ++at);
        else if (strncmp(at, "%22", 3) == 0) {
            ash__buffer_append_byte(out, '"');
            at += 2;
        } else
            ash__buffer_append_byte(out, (uint8_t)*at);
    }
    return *at == '"' ? at + 1 : at;
}

/* The value of a parameter behind the first ';', yours; NULL: there is none. */
static char *parameter(const char *field, const char *name)
{
    size_t name_len = strlen(name);
    const char *at = field + strcspn(field, ";");
    while (*at == ';') {
        ash_buffer value = ASH_BUFFER_INIT;
        at += 1 + strspn(at + 1, " \t");
        const char *key = at;
        at += strcspn(at, "=;");
        size_t key_len = (size_t)(at - key);
        if (*at == '=') {
            at++;
            if (*at == '"') {
                at = read_quoted(at, &value);
            } else {
                size_t len = strcspn(at, "; \t");
                ash__buffer_append(&value, at, len);
                at += len;
            }
        }
        char *text = ash__strdup(ash__buffer_text(&value));
        ash__buffer_release(&value);
        if (key_len == name_len && strncasecmp(key, name, key_len) == 0)
            return text;
        ash__free(text);
        at += strcspn(at, ";");
    }
    return NULL;
}

bool ash__multipart_init(ash_multipart *m, const char *content_type)
{
    static const char type[] = "multipart/form-data";
    memset(m, 0, sizeof *m);
    size_t len = content_type != NULL ? strcspn(content_type, "; \t") : 0;
    if (len != sizeof type - 1 || strncasecmp(content_type, type, len) != 0)
        return false;
    char *boundary = parameter(content_type, "boundary");
    size_t boundary_len = boundary != NULL ? strlen(boundary) : 0;
    bool good = boundary_len > 0 && boundary_len <= ASH_MULTIPART_MAX_BOUNDARY &&
                strpbrk(boundary, "\r\n") == NULL;
    if (good) {
        memcpy(m->delimiter, "\r\n--", 4);
        memcpy(m->delimiter + 4, boundary, boundary_len);
        m->delimiter_len = boundary_len + 4;
        /* The first one may stand at the very beginning. */
        m->matched = 2;
    }
    ash__free(boundary);
    return good;
}

static void forget_part(ash_multipart *m)
{
    ash__free(m->name);
    ash__free(m->file_name);
    ash__free(m->type);
    m->name = m->file_name = m->type = NULL;
}

void ash__multipart_release(ash_multipart *m)
{
    forget_part(m);
    ash__buffer_release(&m->head);
}

static int refuse(ash_multipart *m, const char *why)
{
    m->why = why;
    return ASH_MULTIPART_BAD;
}

/* ---- the head of a part ---- */

static const char *field_value(const char *line, const char *name)
{
    size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    return line + len + 1 + strspn(line + len + 1, " \t");
}

static void read_field(ash_multipart *m, const char *line)
{
    const char *disposition = field_value(line, "Content-Disposition");
    const char *type = field_value(line, "Content-Type");
    if (disposition != NULL && m->name == NULL && m->file_name == NULL) {
        char *file = parameter(disposition, "filename");
        m->name = parameter(disposition, "name");
        if (file != NULL) {
            /* Some browsers told the whole path, which is nobody's business. */
            const char *slash = strrchr(file, '/'), *other = strrchr(file, '\\');
            const char *last = slash == NULL || (other != NULL && other > slash) ? other : slash;
            m->file_name = ash__strdup(last != NULL ? last + 1 : file);
            ash__free(file);
        }
    } else if (type != NULL && m->type == NULL) {
        m->type = ash__strdup(type);
    }
}

/* The head is complete, with its empty line. */
static int read_head(ash_multipart *m)
{
    char *text = (char *)m->head.data;
    size_t len = m->head.len;
    if (memchr(text, '\0', len) != NULL || ash__text_good(text, len) != len)
        return refuse(m, "the head of a part is no text in UTF-8");
    if (++m->parts > ASH_MULTIPART_MAX_PARTS)
        return refuse(m, "the form has too many parts");
    ash__buffer_append_byte(&m->head, '\0');
    for (char *line = (char *)m->head.data; *line != '\0';) {
        char *end = strstr(line, "\r\n");
        if (end == NULL)
            break;
        *end = '\0';
        read_field(m, line);
        line = end + 2;
    }
    ash__buffer_clear(&m->head);
    m->state = CONTENT;
    return ASH_MULTIPART_PART;
}

static bool head_is_complete(const ash_buffer *head)
{
    const char *text = (const char *)head->data;
    size_t n = head->len;
    return (n == 2 && memcmp(text, "\r\n", 2) == 0) ||
           (n >= 4 && memcmp(text + n - 4, "\r\n\r\n", 4) == 0);
}

static int take_head(ash_multipart *m, const char *data, size_t len, size_t *used)
{
    while (*used < len) {
        ash__buffer_append_byte(&m->head, (uint8_t)data[(*used)++]);
        if (head_is_complete(&m->head))
            return read_head(m);
        if (m->head.len > ASH_MULTIPART_MAX_HEAD_BYTES)
            return refuse(m, "the head of a part is too long");
    }
    return ASH_MULTIPART_MORE;
}

/* ---- delimiters ---- */

/* What stands behind a delimiter: "--", or blanks and the end of the line. */
static int take_behind(ash_multipart *m, const char *data, size_t len, size_t *used)
{
    while (*used < len) {
        char c = data[(*used)++];
        ash__buffer_append_byte(&m->head, (uint8_t)c);
        const char *text = (const char *)m->head.data;
        size_t n = m->head.len;
        if (n == 2 && memcmp(text, "--", 2) == 0) {
            m->state = OVER;
            return ASH_MULTIPART_END;
        }
        if (n >= 2 && memcmp(text + n - 2, "\r\n", 2) == 0) {
            ash__buffer_clear(&m->head);
            m->state = HEAD;
            return take_head(m, data, len, used);
        }
        bool good = c == ' ' || c == '\t' || c == '\r' || (c == '-' && n == 1);
        if (!good || n > 256 || (n >= 2 && (text[n - 2] == '\r' || text[0] == '-')))
            return refuse(m, "a boundary is followed by something else");
    }
    return ASH_MULTIPART_MORE;
}

static int end_part(ash_multipart *m)
{
    bool began = m->state == CONTENT;
    m->state = BEHIND;
    m->matched = 0;
    forget_part(m);
    return began ? ASH_MULTIPART_PART_END : ASH_MULTIPART_DATA;
}

/* Bytes up to the next one that may begin a delimiter.  A delimiter's first byte stands nowhere else
 * in it, so what was matched in vain is content, and nothing of it has to be looked at again. */
static int take_content(ash_multipart *m, const char *data, size_t len, size_t *used,
                        const char **piece, size_t *piece_len)
{
    if (m->matched == 0) {
        const char *cr = memchr(data, '\r', len);
        *used = cr != NULL ? (size_t)(cr - data) : len;
        *piece = data;
        *piece_len = *used;
        if (*used > 0)
            return ASH_MULTIPART_DATA;
    }
    while (*used < len && m->matched < m->delimiter_len &&
           data[*used] == m->delimiter[m->matched]) {
        ++*used;
        m->matched++;
    }
    if (m->matched == m->delimiter_len)
        return end_part(m);
    if (*used == len)
        return ASH_MULTIPART_MORE;
    *piece = m->delimiter;
    *piece_len = m->matched;
    m->matched = 0;
    return ASH_MULTIPART_DATA;
}

int ash__multipart_next(ash_multipart *m, const char *data, size_t len, size_t *used,
                        const char **piece, size_t *piece_len)
{
    for (*used = 0;;) {
        size_t step = 0;
        int rc;
        *piece_len = 0;
        if (m->why != NULL)
            return ASH_MULTIPART_BAD;
        if (m->state == OVER)
            return ASH_MULTIPART_END;
        if (*used == len)
            return ASH_MULTIPART_MORE;
        const char *rest = data + *used;
        bool preamble = m->state == PREAMBLE;
        if (m->state == HEAD)
            rc = take_head(m, rest, len - *used, &step);
        else if (m->state == BEHIND)
            rc = take_behind(m, rest, len - *used, &step);
        else
            rc = take_content(m, rest, len - *used, &step, piece, piece_len);
        *used += step;
        /* What stands before the first delimiter is nobody's. */
        if (rc != ASH_MULTIPART_MORE && !(preamble && rc == ASH_MULTIPART_DATA))
            return rc;
    }
}
