/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_COPY_OBJECTS_H
#define ASH_CMD_COPY_OBJECTS_H

#include "cmd/kit/objects.h"

/* Object stores from one address to another, object by object, whatever keeps them (objects.c).  What
 * is there already is compared, so that a copy can be repeated. */

typedef struct ash_copy_objects {
    const ash_cmd *cmd;
    const ash_cmd *from_cmd; /* which databases */
    const ash_cmd_objects *from;
    const ash_cmd_objects
        *to;           /* neither store nor manager: a dry run whose target is yet to be made */
    const char *to_db; /* NULL: that of the source */
    const char *const *names; /* only these, each of which sets its flag in `found`; NULL: all */
    bool *found;
    int name_count;
    bool replace;         /* an object of the target that is another */
    bool deleted;         /* delete what is deleted in the source */
    bool without_history; /* what is there now, and nothing that was */
    bool lossy;           /* go on without what the target cannot keep */
    ash_progress *progress;
    struct ash_copy_object_store *chosen; /* ash__copy_objects_release() */
    size_t chosen_count, chosen_capacity;
    int64_t stores, objects, versions, bytes, present, failed;
} ash_copy_objects;

/* Before there is a target.  ASH_ENOTFOUND: the source lacks one of the names; without names, it has
 * none at all. */
int ash__copy_objects_exist(const ash_cmd *from_cmd, const ash_cmd_objects *from,
                            const char *const *names, int name_count, ash_error *err);
/* Which there are, and what the target has no room for: each is told.  ASH_EUNSUPPORTED: something
 * would be lost, and nothing was written. */
int ash__copy_objects_choose(ash_copy_objects *c, ash_error *err);
/* Trouble with an object is reported and counted in `failed`; what ends everything is returned. */
int ash__copy_objects(ash_copy_objects *c, ash_error *err);
void ash__copy_objects_release(ash_copy_objects *c);

#endif
