/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_TARGET_H
#define ASH_HTTP_TARGET_H

/* What a request is for: a path, decoded once and checked, and a query.  Pure, no I/O. */

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ash_http_target {
    char *path;     /* decoded: "/", "/a/b"; UTF-8, without NUL, "//", "." and ".." as names, and
                   without '/' at the end but for the root.  NULL: "*" */
    bool is_folder; /* it ended in '/' */
    char *query;    /* as it came, without '?'; NULL: none */
} ash_http_target;

/* From the request line: "/a%20b?x=1", "*", or absolute ("http://host/a").  Or from a Destination
 * field.  *host (or NULL): "host:port" of an absolute one, else NULL; the caller frees.
 * false: it cannot be, *why says what is wrong: a '%' that is no escape, NUL or '/' escaped, names
 * "." and "..", a fragment, something that is no UTF-8.  Empty names between slashes are left out.
 * *out is the caller's either way: ash__http_target_release(). */
bool ash__http_target_parse(const char *text, ash_http_target *out, char **host, const char **why);
void ash__http_target_release(ash_http_target *t);

/* A value of the query, decoded ('+' is a space), NUL-terminated; false: it has no such key, or it
 * cannot be decoded to UTF-8.  *out is the caller's; with "key" alone it is "". */
bool ash__http_target_query(const ash_http_target *t, const char *key, char **out);
/* 1, "true", "yes" or nothing ("?deleted"). */
bool ash__http_target_flag(const ash_http_target *t, const char *key);

/* Percent-encode a path for an href or a Location: '/' stays, and so do the characters that RFC 3986
 * calls unreserved, "!$&'()*+,;=:@" less what XML and HTML would have escaped ("&'"). */
void ash__http_target_encode(ash_buffer *out, const char *path);

#endif
