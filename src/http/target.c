/* SPDX-License-Identifier: Apache-2.0 */
#include "http/target.h"

#include "base/mem.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What len bytes mean, as a text; NULL: not to be decoded, *why says what is wrong. */
static char *decode(const char *text, size_t len, bool plus_is_space, const char **why)
{
    char *out = ash__alloc(len + 1);
    size_t n = 0;
    *why = NULL;
    for (size_t i = 0; i < len && *why == NULL; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
            if (low < 0)
                *why = "a '%' in the target is no escape";
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (c == '\0' && *why == NULL)
            *why = "a name has a NUL";
        out[n++] = c;
    }
    if (*why == NULL && ash__text_good(out, n) != n)
        *why = "the target is no UTF-8";
    if (*why != NULL) {
        ash__free(out);
        return NULL;
    }
    return out;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Name by name, so that an escaped '/' is told from one between names. */
static char *decode_path(const char *text, size_t len, bool *is_folder, const char **why)
{
    ash_buffer path = ASH_BUFFER_INIT;
    const char *end = text + len;
    *is_folder = len == 0 || end[-1] == '/';
    while (text < end) {
        const char *slash = memchr(text, '/', (size_t)(end - text));
        size_t n = slash != NULL ? (size_t)(slash - text) : (size_t)(end - text);
        char *name = decode(text, n, false, why);
        if (name != NULL && (is_dots(name) || strchr(name, '/') != NULL)) {
            *why = "a name is \".\" or \"..\", or has a '/' in it";
            ash__free(name);
            name = NULL;
        }
        if (name == NULL) {
            ash__buffer_release(&path);
            return NULL;
        }
        if (name[0] != '\0') {
            ash__buffer_append_byte(&path, '/');
            ash__buffer_append_text(&path, name);
        }
        ash__free(name);
        text += n + (slash != NULL);
    }
    if (path.len == 0)
        ash__buffer_append_byte(&path, '/');
    ash__buffer_append_byte(&path, 0);
    return (char *)ash__buffer_detach(&path);
}

/* "http://host:1/path": the rest from the path on, and the host. */
static const char *skip_authority(const char *text, char **host, const char **why)
{
    size_t scheme = strncasecmp(text, "http://", 7) == 0    ? 7
                    : strncasecmp(text, "https://", 8) == 0 ? 8
                                                            : 0;
    size_t n = scheme > 0 ? strcspn(text + scheme, "/?") : 0;
    if (n == 0 || memchr(text + scheme, '@', n) != NULL) {
        *why = "the target is neither a path nor an address";
        return NULL;
    }
    if (host != NULL)
        *host = ash__strndup(text + scheme, n);
    return text + scheme + n;
}

bool ash__http_target_parse(const char *text, ash_http_target *out, char **host, const char **why)
{
    *out = (ash_http_target){0};
    if (host != NULL)
        *host = NULL;
    if (strcmp(text, "*") == 0)
        return true;
    if (strchr(text, '#') != NULL) {
        *why = "the target has a fragment ('#')";
        return false;
    }
    if (text[0] != '/') {
        text = skip_authority(text, host, why);
        if (text == NULL)
            return false;
    }
    size_t len = strcspn(text, "?");
    out->path = decode_path(text, len, &out->is_folder, why);
    if (out->path == NULL)
        return false;
    out->query = text[len] == '?' ? ash__strdup(text + len + 1) : NULL;
    return true;
}

void ash__http_target_release(ash_http_target *t)
{
    ash__free(t->path);
    ash__free(t->query);
    *t = (ash_http_target){0};
}

bool ash__http_target_query(const ash_http_target *t, const char *key, char **out)
{
    size_t key_len = strlen(key);
    const char *why;
    for (const char *at = t->query; at != NULL && *at != '\0';) {
        size_t n = strcspn(at, "&");
        size_t name = strcspn(at, "=&");
        if (name == key_len && strncmp(at, key, key_len) == 0) {
            const char *value = at + name + (name < n);
            *out = decode(value, (size_t)(at + n - value), true, &why);
            return *out != NULL;
        }
        at += n + (at[n] == '&');
    }
    *out = NULL;
    return false;
}

bool ash__http_target_flag(const ash_http_target *t, const char *key)
{
    char *value;
    bool set = ash__http_target_query(t, key, &value) &&
               (value[0] == '\0' || strcmp(value, "1") == 0 || strcmp(value, "true") == 0 ||
                strcmp(value, "yes") == 0);
    ash__free(value);
    return set;
}

/* What may stand in a path as it is (RFC 3986 §3.3), and is no trap for who quotes URLs by '. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '-' && c <= ';') || c == '_' ||
           c == '~' || c == '!' || c == '$' || (c >= '(' && c <= ',') || c == '=' || c == '@';
}

void ash__http_target_encode(ash_buffer *out, const char *path)
{
    static const char hex[] = "0123456789ABCDEF";
    while (*path != '\0') {
        size_t n = 0;
        while (is_plain(path[n]))
            n++;
        ash__buffer_append(out, path, n);
        path += n;
        if (*path == '\0')
            break;
        unsigned char c = (unsigned char)*path++;
        char escape[3] = {'%', hex[c >> 4], hex[c & 15]};
        ash__buffer_append(out, escape, 3);
    }
}
