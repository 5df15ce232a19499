/* SPDX-License-Identifier: Apache-2.0 */
/* The first match changed, or an upsert.  What happened is kept with the retry id in the same
 * commit. */

#include "store/embedded/write/target.h"

#include "store/embedded/write/retry.h"

static int store_result(ash_single *one, ash_writer *w, ash_error *err)
{
    const ash_op *op = one->target->spec.op;
    ash_builder b = ASH_BUILDER_INIT;
    if (op->retry == NULL)
        return 0;
    ash__builder_begin(&b);
    ash__retry_encode(&b, one->result);
    if (one->encode != NULL)
        one->encode(one, &b);
    ash__builder_end(&b);
    int rc = ash__retry_store(w, op, ash__builder_doc(&b), err);
    ash__builder_release(&b);
    return rc;
}

#define SMALL_COLLECTION 1000

/* Would the writer have to read a large collection through? */
static int should_look_ahead(ash_single *one, ash_changer *c, bool *yes, ash_error *err)
{
    ash_coll_stats stats;
    *yes = false;
    /* A transaction has the writer anyway, and a sort reads everything wherever it runs. */
    if (one->looked || c->coll == NULL || c->op->transaction != NULL ||
        one->target->request.plan->kind != ASH_PLAN_COLLSCAN ||
        !ash__sort_spec_is_empty(one->target->request.sort))
        return 0;
    int rc = ash__coll_stats(ash__writer_snapshot(c->writer), c->coll, &stats, err);
    *yes = rc == 0 && stats.count > SMALL_COLLECTION;
    return rc;
}

static int look_ahead(ash_single *one, ash_error *err)
{
    ash_target *t = one->target;
    ash_reading reading = {0};
    const ash_coll *coll = NULL;
    ash_match m = {.found = false};
    /* Once only: whatever the snapshot shows, the writer does the work next time. */
    one->looked = true;
    one->candidate = 0;
    int rc = ash__reading_begin(t->store, t->spec.op, &reading, err);
    if (rc == 0)
        rc = ash__target_resolve(t, reading.snap, &coll, err);
    if (rc == 0 && coll != NULL)
        rc = ash__target_first(t, reading.snap, coll, &m, err);
    if (rc == 0 && m.found)
        one->candidate = m.record.rid;
    ash__reading_end(&reading);
    return rc;
}

int ash__single_first(ash_single *one, ash_changer *c, ash_match *out, ash_error *err)
{
    ash_snapshot *snap = ash__writer_snapshot(c->writer);
    *out = (ash_match){.details = {-1}};
    /* What the look found is tried first; it may have changed since. */
    if (one->looked && one->candidate != 0) {
        int rc = ash__target_again(one->target, snap, c->coll, one->candidate, out, err);
        if (rc != 0 || out->found)
            return rc;
    }
    /* There was no match a moment ago: only who would insert one must be sure that none came. */
    if (one->looked && one->candidate == 0 && !one->create)
        return 0;
    return ash__target_first(one->target, snap, c->coll, out, err);
}

static int run_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    ash_single *one = ctx;
    ash_target *t = one->target;
    bson_t details = BSON_INITIALIZER;
    ash_changer c = {.store = t->store, .writer = w, .op = t->spec.op, .details = &details};
    ash_error own = ASH_ERROR_INIT;
    bool repeated = false;
    ash_doc stored;
    /* Before anything else: a repetition must not even make a collection. */
    int rc = ash__retry_begin(w, t->spec.op, &repeated, &stored, &own);
    if (rc == 0 && repeated) {
        ash__retry_decode(stored, one->result);
        if (one->decode != NULL)
            one->decode(one, stored);
        goto out;
    }
    if (rc == 0 && one->create)
        rc = ash__coll_ensure(w, t->spec.ns, &c.coll, &own);
    if (rc == 0)
        rc = ash__target_resolve(t, ash__writer_snapshot(w), &c.coll, &own);
    if (rc == 0)
        rc = should_look_ahead(one, &c, &one->look_ahead, &own);
    if (rc == 0 && one->look_ahead)
        goto out;
    if (rc == 0)
        rc = one->change(one, &c, &own);
    if (rc == 0)
        rc = store_result(one, w, &own);
out:
    if (rc != 0 && err != NULL)
        *err = own;
    if (rc == ASH_EEXISTS || rc == ASH_EINVAL)
        ash__write_result_add_error(one->result, 0, &own, bson_empty(&details) ? NULL : &details);
    bson_destroy(&details);
    return rc;
}

int ash__single_run(ash_single *one, ash_error *err)
{
    const ash_target_spec *s = &one->target->spec;
    ash_embedded *store = one->target->store;
    ash_write_result *r = one->result;
    ash_write_terms terms = {.op = s->op, .coll = s->ns.coll, .flags = one->flags};
    int rc = ash__write_run(store, &terms, run_on_writer, one, err);
    if (rc == 0 && one->look_ahead) {
        /* Back on the caller's thread: the collection is read on a snapshot, then the writer is
         * asked again. */
        one->look_ahead = false;
        rc = look_ahead(one, err);
        if (rc == 0)
            rc = ash__write_run(store, &terms, run_on_writer, one, err);
    }
    /* Whatever the counts say, none of it happened. */
    if (ash__write_is_lost(0, rc)) {
        r->matched = r->modified = r->deleted = 0;
        r->upserted = false;
    }
    return rc;
}
