/* SPDX-License-Identifier: Apache-2.0 */
/* Tails of capped collections: what was inserted behind the position, and waiting for it. */

#include "store/embedded/find/cursor.h"

#include "base/clock.h"

int ash__tail_check(ash_find_cursor *c, ash_error *err)
{
    ash_record r;
    bool found = false;
    ash_scan_plan *p = &c->scan;
    if (p->after_rid == 0)
        return 0;
    /* The scan had come to its end; there may be more behind it now. */
    ash__scan_plan_rewind_end(p);
    int rc = ash__record_locate(p->snap, p->coll, p->after_rid, &r, &found, err);
    if (rc == 0 && !found)
        rc = ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_CAPPED_POSITION_LOST,
                              "collection scan died: the cursor's position in capped collection "
                              "%s.%s was overwritten",
                              c->db, c->coll);
    return rc;
}

int ash__tail_wait(ash_find_cursor *c, uint64_t seen, ash_tail_look look, ash_error *err)
{
    /* A cursor that has not found anything yet has no position to wait behind. */
    if (c->scan.after_rid == 0) {
        c->exhausted = true;
        return 0;
    }
    /* Within a transaction nothing is inserted while we wait. */
    if (!c->await_data || c->op.transaction != NULL)
        return 0;
    int64_t until = ash__clock_ms() + c->await_ms;
    if (c->op.deadline_ms != 0 && c->op.deadline_ms < until)
        until = c->op.deadline_ms;
    while (c->batch.count == 0 && ash__clock_ms() < until) {
        /* Any commit wakes us, of whatever collection: looking is cheap beside a list of who waits
         * for what. */
        if (!ash__oplog_wait(c->store->engine, seen, until, c->op.cancel))
            break;
        int rc = look(c, &seen, err);
        if (rc != 0)
            return rc;
    }
    if (c->op.cancel != NULL && *c->op.cancel)
        return ash__op_check(&c->op, err);
    return 0;
}
