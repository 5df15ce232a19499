/* SPDX-License-Identifier: Apache-2.0 */
/* Connection strings as they may be shown: without their passwords. */
#include "cmd/kit/cmd.h"

#include "base/buffer.h"
#include "base/mem.h"

#include <string.h>

/* Where the password before the hosts ends, or NULL: at the last '@', since who forgot to escape
 * one in it has shown it otherwise. */
static const char *find_at(const char *authority)
{
    size_t len = strcspn(authority, "/?");
    for (size_t i = len; i > 0; i--) {
        if (authority[i - 1] == '@')
            return authority + i - 1;
    }
    return strchr(authority, '@');
}

/* Options have passwords too: tlsCertificateKeyFilePassword. */
static void append_tail(ash_buffer *out, const char *tail)
{
    static const char option[] = "password=";
    size_t len = strlen(option);
    while (*tail != 0) {
        if (strncasecmp(tail, option, len) == 0) {
            ash__buffer_append(out, tail, len);
            ash__buffer_append_text(out, "[**REDACTED**]");
            tail += len + strcspn(tail + len, "&");
        } else {
            ash__buffer_append_byte(out, (uint8_t)*tail++);
        }
    }
}

char *ash__cmd_uri_shown(const char *uri)
{
    ash_buffer out = ASH_BUFFER_INIT;
    const char *scheme = strstr(uri, "://");
    const char *at = scheme != NULL ? find_at(scheme + 3) : NULL;
    const char *colon = at != NULL ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
    if (scheme == NULL)
        return ash__strdup(uri);
    if (colon != NULL)
        ash__buffer_printf(&out, "%.*s:[**REDACTED**]", (int)(colon - uri), uri);
    append_tail(&out, colon != NULL ? at : uri);
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}
