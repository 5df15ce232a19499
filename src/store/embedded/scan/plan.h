/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SCAN_PLAN_H
#define ASH_STORE_EMBEDDED_SCAN_PLAN_H

#include "query/plan/key_filter.h"
#include "store/embedded/scan/request.h"
#include "store/embedded/kit/rid_set.h"
#include "store/embedded/scan/merge.h"

/* Runs a plan: the records a request's filter matches, in the plan's order, each once.
 *
 * A scan outlives snapshots: detach remembers the position, attach to a later one goes on behind it.
 * One thread. */

enum ash_scan_fetch {
    ASH_FETCH_DOC,   /* documents, checksums verified */
    ASH_FETCH_PLACE, /* where they lie; documents only as far as the filter needs them */
    ASH_FETCH_NONE   /* record ids only; documents as far as the filter needs them */
};

typedef struct ash_scan_plan {
    ash_request *request; /* borrowed */
    const ash_op *op;     /* borrowed; looked at every hundred keys */
    enum ash_scan_fetch fetch;
    const ash_plan **leaves; /* the branches of an OR, else the plan itself */
    uint32_t leaf_count;
    ash_key_filter **key_filters; /* one a leaf; NULL: that leaf's keys do not tell */

    /* Where we are. */
    uint32_t leaf;
    uint32_t range; /* how many ranges of the leaf are done */
    bool has_after; /* go on behind this hit */
    uint64_t after_rid;
    ash_buffer after_key;
    ash_scan_merge *merge; /* instead, where the plan merges */

    /* While attached. */
    ash_snapshot *snap;
    const ash_coll *coll;
    ash_scan *scan;
    ash_scan_hit hit;
    bool has_hit;

    bool dedupe;
    ash_rid_set seen;
    uint32_t ticks;
    uint64_t keys_examined;
    uint64_t docs_examined;
} ash_scan_plan;

/* r is planned and stays where it is.  Zero-initialise; release when done. */
void ash__scan_plan_init(ash_scan_plan *p, ash_request *r, const ash_op *op,
                         enum ash_scan_fetch fetch);
int ash__scan_plan_attach(ash_scan_plan *p, ash_snapshot *snap, const ash_coll *coll,
                          ash_error *err);
void ash__scan_plan_detach(ash_scan_plan *p);
void ash__scan_plan_release(ash_scan_plan *p);

/* The next match.  details may be NULL.  With ASH_FETCH_PLACE and _NONE out->doc may be absent
 * (data NULL). */
int ash__scan_plan_next(ash_scan_plan *p, ash_record *out, ash_match_details *details, bool *found,
                        ash_error *err);

/* One record again, as it is in the attached snapshot: *found false when it is gone or no longer
 * matches. */
int ash__scan_plan_reget(ash_scan_plan *p, uint64_t rid, ash_record *out,
                         ash_match_details *details, bool *found, ash_error *err);

/* A collection scan that came to its end looks again for records behind the last one. */
void ash__scan_plan_rewind_end(ash_scan_plan *p);

#endif
