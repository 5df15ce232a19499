/* SPDX-License-Identifier: Apache-2.0 */
/* What an update, remove or findAndModify is aimed at, compiled on the caller's thread and planned
 * where it is looked for. */

#include "store/embedded/write/target.h"

#include "base/bytes.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/kit/view.h"
#include "store/embedded/write/document.h"

static int compile(ash_target *t, ash_error *err)
{
    const ash_target_spec *s = &t->spec;
    ash_request_spec spec = {s->filter, s->sort, s->projection, s->hint, t->store->files};
    ash_doc scratch;
    bson_t holder;
    ash__request_release(&t->request);
    ash__update_free(t->update);
    t->update = NULL;
    int rc = ash__request_compile(&t->request, &spec, &t->env.query, err);
    if (rc != 0 || s->update == NULL)
        return rc;
    ash_value update = ash__value_of_bson_value(s->update, &scratch, &holder);
    rc = ash__update_new(update, s->array_filters, &t->env.query, &t->update, err);
    bson_destroy(&holder);
    return rc;
}

int ash__target_init(ash_target *t, ash_embedded *s, const ash_target_spec *spec, ash_error *err)
{
    t->store = s;
    t->spec = *spec;
    int rc = ash__env_init(s, spec->op, spec->collation, spec->let, &t->env, err);
    /* What a write stores of the time has to be its own: no two calls get one stamp. */
    t->env.query.cluster_time = ash__oplog_stamp(s->engine);
    return rc == 0 ? compile(t, err) : rc;
}

void ash__target_release(ash_target *t)
{
    ash__request_release(&t->request);
    ash__update_free(t->update);
    ash__env_release(&t->env);
    t->update = NULL;
}

int ash__target_resolve(ash_target *t, ash_snapshot *snap, const ash_coll **coll, ash_error *err)
{
    int rc = ash__catalog_find(snap, t->spec.ns.db, t->spec.ns.coll, coll, err);
    if (rc == 0)
        rc = ash__view_refuse(*coll, err);
    if (rc != 0 || *coll == NULL)
        return rc;
    /* The collection's collation is known only now; literals compare by it, so all is compiled once
     * more. */
    if (ash__env_adopt(&t->env, *coll)) {
        rc = compile(t, err);
        if (rc != 0)
            return rc;
    }
    return ash__request_plan(&t->request, *coll, t->spec.hint, err);
}

static bool wants_details(const ash_target *t)
{
    return (t->update != NULL && ash__update_uses_position(t->update)) ||
           (t->request.projection != NULL && ash__projection_needs_details(t->request.projection));
}

int ash__target_again(ash_target *t, ash_snapshot *snap, const ash_coll *coll, uint64_t rid,
                      ash_match *out, ash_error *err)
{
    out->details.array_index = -1;
    int rc = ash__record_get(snap, coll, rid, &out->record, &out->found, err);
    if (rc == 0 && out->found)
        rc =
            ash__matcher_check(t->request.filter, out->record.doc, &out->details, &out->found, err);
    return rc;
}

/* No index gives the order: look at all matches and keep the smallest. */
static int first_sorted(ash_target *t, ash_scan_plan *scan, uint64_t *rid, ash_error *err)
{
    ash_sorter *sorter = ash__sorter_new(t->request.sort, 1, &t->env.query);
    ash_doc doc;
    int rc = 0;
    while (rc == 0) {
        ash_record r;
        bool found = false;
        rc = ash__scan_plan_next(scan, &r, NULL, &found, err);
        if (rc != 0 || !found)
            break;
        rc = ash__sorter_add(sorter, r.doc, r.rid, err);
    }
    *rid = 0;
    if (rc == 0) {
        /* It kept one document, the smallest. */
        ash__sorter_finish(sorter);
        if (!ash__sorter_next(sorter, &doc, rid))
            *rid = 0;
    }
    ash__sorter_free(sorter);
    return rc;
}

int ash__target_first(ash_target *t, ash_snapshot *snap, const ash_coll *coll, ash_match *out,
                      ash_error *err)
{
    ash_scan_plan scan;
    ash_request *r = &t->request;
    /* Any order will do when none was asked for. */
    bool in_order = ash__sort_spec_is_empty(r->sort) || ash__sort_spec_natural(r->sort) != 0 ||
                    r->plan->provides_sort;
    uint64_t rid = 0;
    out->found = false;
    out->details.array_index = -1;
    ash__scan_plan_init(&scan, r, t->spec.op, ASH_FETCH_DOC);
    int rc = ash__scan_plan_attach(&scan, snap, coll, err);
    if (rc == 0 && in_order)
        rc = ash__scan_plan_next(&scan, &out->record, wants_details(t) ? &out->details : NULL,
                                 &out->found, err);
    else if (rc == 0)
        rc = first_sorted(t, &scan, &rid, err);
    ash__scan_plan_release(&scan);
    /* The sorter kept a copy of the document; the change needs the record. */
    if (rc == 0 && rid != 0)
        rc = ash__target_again(t, snap, coll, rid, out, err);
    return rc;
}

int ash__target_all(ash_target *t, ash_snapshot *snap, const ash_coll *coll, ash_rid_list *out,
                    ash_error *err)
{
    ash_scan_plan scan;
    /* Ids alone: each document is read when its turn comes. */
    ash__scan_plan_init(&scan, &t->request, t->spec.op, ASH_FETCH_NONE);
    int rc = ash__scan_plan_attach(&scan, snap, coll, err);
    while (rc == 0) {
        ash_record r;
        bool found = false;
        rc = ash__scan_plan_next(&scan, &r, NULL, &found, err);
        if (rc != 0 || !found)
            break;
        ash__rid_list_add(out, r.rid);
    }
    ash__scan_plan_release(&scan);
    return rc;
}

bool ash__target_is_by_keys(const ash_target *t)
{
    const ash_plan *p = t->request.plan;
    return p->kind == ASH_PLAN_IXSCAN && !p->needs_fetch_filter;
}

/* Each upsert of a command that makes several has its own _id, the same each time. */
static void choose_next_id(const ash_target *t)
{
    ash_transaction *tx = t->spec.op->transaction;
    if (tx != NULL && tx->has_new_id)
        /* Bytes 4 to 11 of an ObjectId are its random and counting part; the time stays. */
        ash__put_be64(tx->new_id.bytes + 4, ash__get_be64(tx->new_id.bytes + 4) + 1);
}

int ash__target_upsert(ash_target *t, ash_changer *c, ash_builder *after, ash_write_result *result,
                       ash_error *err)
{
    ash_prepared p = {0};
    uint64_t rid;
    int rc = ash__update_upsert(t->update, t->request.filter, after, err);
    if (rc == 0)
        rc = ash__document_prepare(ash__builder_doc(after), t->store->engine, &p, err);
    if (rc == 0)
        rc = ash__change_insert(c, p.doc, NULL, &rid, err);
    if (rc == 0) {
        ash_value id = ash__doc_get(p.doc, "_id");
        ash_builder b = ASH_BUILDER_INIT;
        ash__builder_begin(&b);
        ash__builder_value(&b, "_id", id);
        ash__builder_end(&b);
        ash__doc_give_instead(ash__builder_doc(&b), &result->upserted_id);
        result->upserted = true;
        ash__builder_release(&b);
        choose_next_id(t);
    }
    /* What is given back is what was stored: with its _id first, and timestamps filled in. */
    if (rc == 0 && p.owned != NULL) {
        ash__buffer_clear(&after->buf);
        ash__buffer_append(&after->buf, p.doc.data, p.doc.len);
    }
    ash__document_release(t->store, &p);
    return rc;
}
