/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_EVENT_H
#define ASH_STORE_EMBEDDED_EVENT_H

#include "store/embedded/oplog.h"

/* Entries of the change log as change stream events. */

enum ash_full_document { ASH_FULL_DEFAULT, ASH_FULL_LOOKUP, ASH_FULL_AVAILABLE, ASH_FULL_REQUIRED };

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

/* *known false: nothing that change streams show. */
int ash__entry_read(ash_doc doc, uint64_t time, ash_entry *out, bool *known, ash_error *err);

/* The event into out (starting over).  Documents are read in the view. */
int ash__event_build(ash_view *v, const ash_entry *e, enum ash_full_document full, ash_builder *out,
                     ash_error *err);
void ash__event_build_invalidate(uint64_t time, int64_t wall_ms, ash_builder *out);
int64_t ash__entry_wall_ms(const ash_entry *e);

#endif
