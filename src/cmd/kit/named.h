/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_NAMED_H
#define ASH_CMD_KIT_NAMED_H

#include <ashlar/error.h>

/* The user's list of stores: $ASHLAR_STORES, else ashlar/stores in $XDG_CONFIG_HOME or ~/.config.
 * A line is a name, blanks and an address or a folder; lines that begin with '#' are passed over.
 * It must be a regular file of the user (or root's) that nobody else may read or write.
 *
 * "@NAME" becomes what the list says, any other text stays as it is; the caller frees *out.
 * ASH_ENOTFOUND, ASH_EACCES, ASH_EINVAL, ASH_ETOOBIG: *out is NULL, and no error text has anything
 * of the list but NAME. */
int ash__cmd_named_store(const char *text, char **out, ash_error *err);

#endif
