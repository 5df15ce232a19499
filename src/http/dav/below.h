/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_BELOW_H
#define ASH_HTTP_DAV_BELOW_H

/* What lies in a folder and goes with it, though it has an access list of its own. */

#include "http/dav/resource.h"

/* The first below the folder with which op's user may not do all of that (ASH_TREE_READ, _WRITE);
 * NULL: there is none, or nobody is asked.  *out: yours.  Reads a listing of all that is there. */
int ash__dav_find_closed(ash_dav *dav, const ash_op *op, const char *path, unsigned rights,
                         ash_tree_entry **out, ash_error *err);

/* *closed: what is to be moved is a folder, and something in it is not op's user's to move. */
int ash__dav_has_closed_members(ash_dav *dav, const ash_op *op, const ash_tree_entry *moved,
                                bool *closed, ash_error *err);

#endif
