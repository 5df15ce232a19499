/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_BYTES_H
#define ASH_HTTP_DAV_BYTES_H

/* A file's bytes as the answer to GET or HEAD: whole, in ranges, or not at all where the client has
 * them. */

#include "http/dav/dav.h"

#include "http/dav/kept.h"

/* entry: a version of a file, of dav's tree; taken over.  Sets x->state. */
void ash__dav_send_file(ash_exchange *x, ash_dav *dav, ash_tree_entry *entry);
/* The same of a path's newest version.  keep: its path, and the moment it was looked for; if it is
 * small it is kept in memory.  NULL: it is not. */
void ash__dav_send_current(ash_exchange *x, ash_dav *dav, ash_tree_entry *entry,
                           const ash_kept_facts *keep);
void ash__dav_send_kept(ash_exchange *x, ash_dav *dav, ash_kept_file *file); /* taken over */

/* Content-Disposition with a name that any client understands. */
void ash__dav_disposition(ash_exchange *x, const char *how, const char *name);

#endif
