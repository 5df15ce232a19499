/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WATCH_EVENT_H
#define ASH_STORE_EMBEDDED_WATCH_EVENT_H

#include "store/embedded/kit/oplog.h"

/* Entries of the change log as change stream events. */

enum ash_full_document { ASH_FULL_DEFAULT, ASH_FULL_LOOKUP, ASH_FULL_AVAILABLE, ASH_FULL_REQUIRED };
enum ash_full_before { ASH_BEFORE_OFF, ASH_BEFORE_AVAILABLE, ASH_BEFORE_REQUIRED };

/* What a stream wants in its events. */
typedef struct ash_event_wishes {
    enum ash_full_document full;
    enum ash_full_before before;
    bool expanded; /* also of collections and indexes, and with more fields */
} ash_event_wishes;

/* A decoded entry: views into it. */
typedef struct ash_entry {
    uint64_t time;
    enum ash_change_kind kind;
    const char *db;
    const char *coll; /* NULL for a database's */
    const char *to_db;
    const char *to_coll;
    uint32_t coll_id;
    ash_doc doc;
} ash_entry;

/* Is it of a kind that only expanded streams show? */
bool ash__entry_is_expanded(const ash_entry *e);

/* *known false: nothing that change streams show. */
int ash__entry_read(ash_doc doc, uint64_t time, ash_entry *out, bool *known, ash_error *err);

/* The event into out (starting over).  Documents are read in the snapshot. */
int ash__event_build(ash_snapshot *snap, const ash_entry *e, const ash_event_wishes *wishes,
                     ash_builder *out, ash_error *err);
void ash__event_build_invalidate(uint64_t time, int64_t wall_ms, ash_builder *out);
int64_t ash__entry_wall_ms(const ash_entry *e);

#endif
