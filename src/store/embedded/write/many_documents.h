/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WRITE_MANY_DOCUMENTS_H
#define ASH_STORE_EMBEDDED_WRITE_MANY_DOCUMENTS_H

#include "store/embedded/write/target.h"

/* Change every match, each atomically, in bounded turns of the writer.  The matches are collected
 * first (outside the writer, when not in a transaction), so no change can bring its own result up
 * again; each is tested once more when its turn comes. */
typedef struct ash_many {
    ash_target *target;
    ash_write_result *result;
    int (*change)(ash_target *t, ash_changer *c, const ash_match *m, ash_write_result *result,
                  ash_error *err);

    bool only_keys; /* change looks at a large document's keys alone */

    /* The run's own. */
    ash_rid_list rids;
    size_t at;
    int turn_result; /* of the last turn itself, before its commit */
    uint32_t coll_id;
    bool by_keys; /* keys decide what matches, and change needs no more */
} ash_many;

int ash__many_run(ash_many *m, ash_error *err);

#endif
