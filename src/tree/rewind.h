/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_REWIND_H
#define ASH_TREE_REWIND_H

/* A folder becomes what it was: rewind.c goes through it, rewind_entry.c settles one entry. */

#include "tree/lookup.h"

/* A folder that was not in its place before; all below it is what came with it. */
typedef struct ash_tree_arrival {
    char *path;
    bool is_back; /* from the trash, so that what is found in it came back, too */
} ash_tree_arrival;

/* Of a dry run: what would be elsewhere by now. */
typedef struct ash_tree_moved {
    bson_value_t id;
    char *to; /* NULL: in the trash */
} ash_tree_moved;

typedef struct ash_tree_rewind {
    ash_tree *tree;
    ash_op op;
    const ash_tree_restore_options *opts;
    ash_tree_change_options change; /* what each change says */
    const char *path;
    bson_value_t top;           /* the folder, once it is settled; own; EOD: none that is there */
    ash_tree_arrival *arrivals; /* each below the one before it */
    size_t arrival_count, arrival_capacity;
    ash_tree_moved *moved; /* open addressing; a power of two, at most half full */
    size_t moved_count, moved_capacity;
    ash_tree_restore_report report;
    bool stopped; /* by a callback */
} ash_tree_rewind;

/* The entry of then is at its path again, as it was.  now: what was seen there, or NULL; looked at
 * again, unless it is the very version. */
int ash__rewind_entry(ash_tree_rewind *w, const ash_tree_entry *then, const ash_tree_entry *now,
                      ash_error *err);
/* What was made since goes to the trash. */
int ash__rewind_remove(ash_tree_rewind *w, const ash_tree_entry *now, ash_error *err);
/* Counts and tells; ASH_EINTERRUPTED when the caller's function wants no more. */
int ash__rewind_did(ash_tree_rewind *w, ash_tree_event_kind kind, const ash_tree_entry *entry,
                    const char *from, ash_error *err);
/* Leaves the arrivals that the path is not below; then says whether it is below one. */
bool ash__rewind_arrived(ash_tree_rewind *w, const char *path);
/* Of a dry run (rewind_moved.c): it would be there by now; NULL: in the trash. */
void ash__rewind_remember(ash_tree_rewind *w, const bson_value_t *id, const char *to);
/* NULL: it would be where it is. */
const ash_tree_moved *ash__rewind_moved(const ash_tree_rewind *w, const bson_value_t *id);
void ash__rewind_forget(ash_tree_rewind *w);
bool ash__rewind_is_below(const char *path, const char *folder);

#endif
