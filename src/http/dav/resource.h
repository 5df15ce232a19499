/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_RESOURCE_H
#define ASH_HTTP_DAV_RESOURCE_H

/* What all methods have in common: an entry of the tree as an HTTP resource. */

#include "http/condition.h"
#include "http/dav/dav.h"

enum { ASH_ETAG_BYTES = 80 };

/* A strong validator, with its quotes: of a file the first 32 digits of its digest; of a folder its
 * id and version. */
void ash__dav_etag(const ash_tree_entry *e, char out[ASH_ETAG_BYTES]);
/* etag and time of an entry; e NULL: there is none. */
void ash__dav_validators(const ash_tree_entry *e, char etag[ASH_ETAG_BYTES], ash_validators *out);

/* What calls for this request begin with: who asks. */
ash_op ash__dav_op(const ash_exchange *x);
/* "DATABASE.NAME" of op's user, yours; "" where nobody is asked, or nobody has a name. */
char *ash__dav_who(const ash_op *op);
/* By the tree's access lists; true where nobody is asked. */
bool ash__dav_allows(ash_dav *dav, const ash_op *op, const char *path, unsigned rights);
/* 0 and the entry, or NULL where nothing is there (an ancestor that is missing or a file, too), or
 * nothing that op's principal may see: the one is not told from the other. */
int ash__dav_lookup(ash_dav *dav, const ash_op *op, const char *path, ash_tree_entry **out,
                    ash_error *err);
/* The same of the folder that path lies in. */
int ash__dav_lookup_parent(ash_dav *dav, const ash_op *op, const char *path, ash_tree_entry **out,
                           ash_error *err);

/* A path of the tree as an href: with the prefix, percent-encoded; folders end in '/'. */
void ash__dav_href(const ash_dav *dav, ash_buffer *out, const char *path, bool is_folder);

/* A name as one line for who has no use for a page, also with a line break in it; folders have '/'
 * behind it. */
void ash__dav_add_line(ash_buffer *out, const char *name, bool is_folder);

/* The name of the URL space that no tree has (http/site). */
#define ASH_DAV_RESERVED "/.ashlar"

/* Content-Type by the name's extension, where the entry has none. */
const char *ash__dav_type(const ash_tree_entry *e);
const char *ash__dav_type_of_name(const char *name);

/* Where a Destination field leads: 0 and a path of the tree (the caller's), or the status that
 * refuses it (400, 502 for another host or outside of the prefix). */
int ash__dav_destination(ash_dav *dav, ash_exchange *x, char **path, bool *is_folder);

/* Depth: 0, 1, -1 for infinity, `otherwise` where it is missing, -2 when it is none of these. */
int ash__dav_depth(const ash_exchange *x, int otherwise);

#endif
