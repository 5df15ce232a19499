/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SALVAGE_SWAP_H
#define ASH_STORE_EMBEDDED_SALVAGE_SWAP_H

/* A repaired store takes the name of the damaged one.
 *
 * Two folders change places in one step where the file system can do that, so that the name never
 * stands for nothing.  Elsewhere it takes two renames; whoever is killed between them leaves FOLDER
 * missing beside FOLDER.damaged-TAIL and FOLDER.repaired-TAIL, by which that is recognized, and
 * finished. */

#include "base/error.h"

/* What comes behind ".damaged-" and ".repaired-": the date, and a number where these names are
 * taken.  ash__free. */
char *ash__swap_tail(const char *folder);

/* fresh gets the name of folder, and what was there becomes FOLDER.damaged-TAIL.  After an error
 * both are where they were, or the text says where they are.  ASH_EEXISTS: there is something in
 * the place of the damaged one already. */
int ash__swap(const char *folder, const char *fresh, const char *tail, ash_error *err);

/* The tail of a swap of folder that was cut off; NULL: there is none.  ash__free. */
char *ash__swap_unfinished(const char *folder);
int ash__swap_finish(const char *folder, const char *tail, ash_error *err);

#endif
