/* SPDX-License-Identifier: Apache-2.0 */
/* Every match changed, in turns of the writer.  The matches are listed first, so that no change can
 * bring its own result up again, and each is looked at again when its turn comes. */

#include "store/embedded/write/many_documents.h"

#include "base/budget.h"
#include "base/clock.h"

/* Of one turn: other writers wait behind it. */
#define TURN_RECORDS 500
#define TURN_MS      20

/* Has each document exactly one key in each index?  Only then a damaged one cannot leave keys
 * behind that it no longer gives. */
static bool all_have_one_key(const ash_coll *c)
{
    for (uint32_t i = 0; i < c->index_count; i++) {
        const ash_index *x = &c->indexes[i];
        /* Each of these may leave a document without a key, or with several. */
        if (!x->ready || x->sparse || x->multikey || x->partial != NULL)
            return false;
    }
    return true;
}

static int collect(ash_many *m, ash_snapshot *snap, ash_error *err)
{
    const ash_coll *coll = NULL;
    int rc = ash__target_resolve(m->target, snap, &coll, err);
    if (rc != 0 || coll == NULL)
        return rc;
    /* By id in the turns to come: a collection of the same name made anew is another one. */
    m->coll_id = coll->id;
    return ash__target_all(m->target, snap, coll, &m->rids, err);
}

/* The next record, if it matches.  Where keys decide, a large document is not read for it: the
 * change compares its keys with the indexes, and so a chunk can go whose data is damaged. */
static int get_next(ash_many *m, ash_changer *c, ash_match *out, ash_error *err)
{
    ash_snapshot *snap = ash__writer_snapshot(c->writer);
    uint64_t rid = m->rids.rids[m->at];
    if (m->by_keys) {
        int rc = ash__record_get_unread(snap, c->coll, rid, &out->record, &out->found, err);
        if (rc == 0 && out->found)
            rc = ash__matcher_check(m->target->request.filter, out->record.doc, NULL, &out->found,
                                    err);
        if (rc != 0 || out->found)
            return rc;
    }
    return ash__target_again(m->target, snap, c->coll, rid, out, err);
}

static int change_next(ash_many *m, ash_changer *c, ash_error *err)
{
    ash_match match = {.details = {-1}};
    int rc = get_next(m, c, &match, err);
    m->at++;
    return rc == 0 && match.found ? m->change(m->target, c, &match, m->result, err) : rc;
}

static int turn(ash_writer *w, void *ctx, ash_error *err)
{
    ash_many *m = ctx;
    bson_t details = BSON_INITIALIZER;
    ash_changer c = {
        .store = m->target->store, .writer = w, .op = m->target->spec.op, .details = &details};
    ash_error own = ASH_ERROR_INIT;
    /* In a transaction we are on the writer already, and nobody can come between: all of it is one
     * turn. */
    bool whole = c.op->transaction != NULL;
    int64_t until = ash__clock_ms() + TURN_MS;
    int rc = whole ? collect(m, ash__writer_snapshot(w), &own) : 0;
    if (rc == 0)
        rc = ash__catalog_find_id(ash__writer_snapshot(w), m->coll_id, &c.coll, &own);
    /* Dropped meanwhile: nothing is left to change. */
    if (rc == 0 && c.coll == NULL)
        m->at = m->rids.count;
    /* Images in the log need the document itself. */
    m->by_keys = rc == 0 && c.coll != NULL && m->only_keys && ash__target_is_by_keys(m->target) &&
                 all_have_one_key(c.coll) && !ash__change_keeps_images(c.coll);
    for (size_t n = 0; rc == 0 && m->at < m->rids.count; n++) {
        /* The clock is asked now and then: it costs as much as a small change. */
        if (!whole && (n == TURN_RECORDS || (n % 16 == 15 && ash__clock_ms() >= until)))
            break;
        rc = n % 100 == 0 ? ash__op_check(c.op, &own) : 0;
        /* Each document has its own time for the filter and the update. */
        ash__budget_turn();
        if (rc == 0)
            rc = change_next(m, &c, &own);
    }
    if (rc != 0 && err != NULL)
        *err = own;
    if (rc == ASH_EEXISTS || rc == ASH_EINVAL)
        ash__write_result_add_error(m->result, 0, &own, bson_empty(&details) ? NULL : &details);
    bson_destroy(&details);
    m->turn_result = rc;
    return rc;
}

/* A turn, with its commit. */
static int run_turn(ash_many *m, ash_error *err)
{
    ash_target *t = m->target;
    ash_write_result *r = m->result;
    int64_t matched = r->matched, modified = r->modified, deleted = r->deleted;
    /* To tell a turn that failed from a commit that did. */
    m->turn_result = 0;
    ash_write_terms terms = {.op = t->spec.op, .coll = t->spec.ns.coll};
    int rc = ash__write_run(t->store, &terms, turn, m, err);
    if (ash__write_is_lost(m->turn_result, rc)) {
        r->matched = matched;
        r->modified = modified;
        r->deleted = deleted;
    }
    return rc;
}

int ash__many_run(ash_many *m, ash_error *err)
{
    ash_target *t = m->target;
    const ash_op *op = t->spec.op;
    ash_reading reading = {0};
    int rc = 0;
    /* Listing on a snapshot keeps the writer free for others. */
    if (op->transaction == NULL) {
        rc = ash__reading_begin(t->store, op, &reading, err);
        if (rc == 0)
            rc = collect(m, reading.snap, err);
        ash__reading_end(&reading);
    }
    if (op->transaction != NULL)
        rc = run_turn(m, err);
    while (rc == 0 && m->at < m->rids.count)
        rc = run_turn(m, err);
    ash__rid_list_release(&m->rids);
    return rc;
}
