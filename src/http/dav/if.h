/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_IF_H
#define ASH_HTTP_DAV_IF_H

/* The If field (RFC 4918 §10.4).  Pure, no I/O. */

#include <stdbool.h>
#include <stddef.h>

enum { ASH_IF_MAX_BYTES = 16 * 1024, ASH_IF_MAX_CONDITIONS = 64 };

typedef struct ash_dav_condition {
    char *text; /* a state token, or an entity tag with its quotes */
    bool is_etag, negated;
    size_t list;    /* conditions of one list hold together */
    char *resource; /* its URL, as it came; NULL: the request's own */
} ash_dav_condition;

typedef struct ash_dav_if {
    ash_dav_condition items[ASH_IF_MAX_CONDITIONS];
    size_t count;
} ash_dav_if;

/* text NULL: nothing is asked.  false: it is none, or too long.  Released in any case. */
bool ash__dav_if_parse(const char *text, ash_dav_if *out);
void ash__dav_if_release(ash_dav_if *i);

/* Does one of the lists hold?  holds: of one condition, without its Not.  True where nothing is
 * asked. */
bool ash__dav_if_holds(const ash_dav_if *i,
                       bool (*holds)(void *ctx, const ash_dav_condition *condition), void *ctx);
/* Was the token submitted, in whichever list? */
bool ash__dav_if_submits(const ash_dav_if *i, const char *token);

#endif
