/* SPDX-License-Identifier: Apache-2.0 */
/* What is secret in connection strings, wherever these stand in a text: it is neither shown nor
 * left where `ps` finds it. */
#include "cmd/kit/cmd.h"

#include "base/buffer.h"
#include "base/mem.h"

#include <string.h>

typedef struct span {
    size_t at, len;
} span;

/* Of an address that begins here, else NULL. */
static const char *find_authority(const char *text, bool *is_nats)
{
    static const char *const schemes[] = {"mongodb://", "mongodb+srv://", "nats://", "tls://"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(schemes); i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) {
            *is_nats = i > 1;
            return text + strlen(schemes[i]);
        }
    }
    return NULL;
}

/* Where what stands before the hosts ends, or NULL: at the last '@', since who forgot to escape one
 * in it has shown it otherwise. */
const char *ash__cmd_uri_at(const char *authority)
{
    static const char blanks[] = " \t\r\n\"";
    size_t len = strcspn(authority, "/? \t\r\n\"");
    for (size_t i = len; i > 0; i--) {
        if (authority[i - 1] == '@')
            return authority + i - 1;
    }
    len = strcspn(authority, blanks);
    return memchr(authority, '@', len);
}

/* A text that was cut may end amid a password; what is no port is taken for one. */
static bool find_cut(const char *text, const char *authority, span *out)
{
    size_t len = strcspn(authority, ":[,/? \t\r\n\"");
    const char *from = authority + len + 1;
    if (authority[len] != ':')
        return false;
    size_t rest = strcspn(from, ",/? \t\r\n\"");
    *out = (span){(size_t)(from - text), rest};
    return strspn(from, "0123456789") < rest;
}

/* mongodb:// has a password behind a name; a name alone is a token to NATS. */
static bool find_password(const char *text, const char *at, span *out)
{
    bool is_nats = false;
    const char *authority = find_authority(at, &is_nats);
    const char *end = authority != NULL ? ash__cmd_uri_at(authority) : NULL;
    const char *colon = end != NULL ? memchr(authority, ':', (size_t)(end - authority)) : NULL;
    const char *from = colon != NULL ? colon + 1 : authority;
    if (authority != NULL && end == NULL)
        return find_cut(text, authority, out);
    if (end == NULL || (colon == NULL && !is_nats))
        return false;
    *out = (span){(size_t)(from - text), (size_t)(end - from)};
    return true;
}

/* Options have passwords too: tlsCertificateKeyFilePassword. */
static bool find_option(const char *text, const char *at, span *out)
{
    static const char option[] = "password=";
    size_t len = strlen(option);
    if (strncasecmp(at, option, len) != 0)
        return false;
    *out = (span){(size_t)(at - text) + len, strcspn(at + len, "& \t\r\n\"")};
    return true;
}

static bool find_secret(const char *text, size_t from, span *out)
{
    for (const char *at = text + from; *at != 0; at++) {
        if (find_password(text, at, out) || find_option(text, at, out))
            return true;
    }
    return false;
}

char *ash__cmd_uri_shown(const char *text)
{
    ash_buffer out = ASH_BUFFER_INIT;
    size_t done = 0;
    for (span s; find_secret(text, done, &s); done = s.at + s.len) {
        ash__buffer_append(&out, text + done, s.at - done);
        ash__buffer_append_text(&out, "[**REDACTED**]");
    }
    ash__buffer_append_text(&out, text + done);
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

bool ash__cmd_uri_blot(char *text)
{
    bool any = false;
    size_t done = 0;
    for (span s; find_secret(text, done, &s); done = s.at + s.len) {
        memset(text + s.at, 'x', s.len);
        any = true;
    }
    return any;
}
