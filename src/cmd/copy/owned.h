/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_COPY_OWNED_H
#define ASH_CMD_COPY_OWNED_H

#include "cmd/kit/cmd.h"

/* Collections that are object stores' (owned.c). */
typedef struct ash_copy_owned ash_copy_owned;

/* Of the databases that `from` names.  *out is to be freed, also after a failure. */
int ash__copy_owned_find(const ash_cmd *from, ash_store *store, ash_copy_owned **out,
                         ash_error *err);
/* Is the collection db.NAMEsuffix?  o NULL: none is. */
bool ash__copy_is_owned(const ash_copy_owned *o, const char *db, const char *name,
                        const char *suffix);
void ash__copy_owned_free(ash_copy_owned *o); /* NULL is fine */

#endif
