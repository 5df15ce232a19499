/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_SCAN_H
#define ASH_ENGINE_SCAN_H

#include "base/buffer.h"
#include "engine/internal.h"

/* An entry of a group: long entries that share their first bytes, to be sorted by their values. */
typedef struct ash_member {
    ash_doc key; /* in LMDB's map */
    uint64_t rid;
} ash_member;

struct ash_scan {
    ash_snapshot *snap;
    MDB_cursor *cursor;
    uint8_t prefix[4]; /* collection or index id */
    bool backward;
    bool ended;
    bool placed; /* the cursor stands where the next step begins */

    bool has_last;
    uint64_t last_rid; /* of the last hit, or what to start behind */

    /* Of indexes only. */
    const ash_index *index; /* the caller keeps it alive */
    ash_buffer from, to, last_key;
    bool in_run;  /* backward, not unique: the cursor goes forward through equal keys */
    bool at_next; /* the cursor stands on the next entry already … */
    bool drained; /* … or at the end */
    ash_member *group;
    size_t group_count, group_capacity, group_at;
};

int ash__scan_enter(ash_scan *s, ash_error *err);
void ash__scan_leave(ash_scan *s);
/* row: where the cursor comes to stand; with MDB_SET_RANGE, row->key is what is sought.  Another
 * prefix's row is none. */
int ash__scan_move(ash_scan *s, MDB_cursor_op op, ash_row *row, ash_error *err);
int ash__scan_seek_before(ash_scan *s, ash_doc key, ash_row *row, ash_error *err);
int ash__scan_index_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err);

#endif
