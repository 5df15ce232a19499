/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_DEAD_H
#define ASH_HTTP_DAV_DEAD_H

/* Dead properties: what clients set, kept in the entry's `props`.
 *
 * The key is "{NAMESPACE}NAME" (Clark's notation) with "%", "." and "$" as %25, %2E and %24, since
 * those mean something in keys of documents.  The value is a string, what the element has inside as
 * XML that stands by itself; with xml:lang, a document {xml, lang}. */

#include "http/dav/xml.h"

#include <ashlar/tree.h>

typedef struct ash_dav_dead {
    char *space, *name;
    const char *xml;      /* of the entry's document */
    const char *language; /* likewise, or NULL */
} ash_dav_dead;

/* The entry's properties; false: it has none. */
bool ash__dav_props(const ash_tree_entry *e, bson_t *out);
/* What a key and its value say; false: not one of WebDAV's. */
bool ash__dav_dead_read(const bson_iter_t *at, ash_dav_dead *out);
void ash__dav_dead_release(ash_dav_dead *d);
char *ash__dav_dead_key(const char *space, const char *name); /* the caller frees */
/* The property as an element of an answer. */
void ash__dav_dead_write(ash_buffer *out, const ash_dav_dead *d);
/* false: the entry has none of that name. */
bool ash__dav_dead_write_named(ash_buffer *out, const ash_tree_entry *e, const char *space,
                               const char *name);

#endif
