/* SPDX-License-Identifier: Apache-2.0 */
/* A request compiled, and its plan: chosen once for a collection, pointed at each snapshot's
 * indexes anew. */

#include "store/embedded/scan/request.h"

#include "store/embedded/kit/filters.h"

int ash__request_compile(ash_request *r, const ash_request_spec *spec, const ash_query_env *env,
                         ash_error *err)
{
    r->files = spec->files;
    int rc = ash__matcher_new(spec->filter, env, &r->filter, err);
    if (rc == 0)
        rc = ash__sort_spec_new(spec->sort, env, &r->sort, err);
    if (rc == 0)
        rc = ash__projection_new(spec->projection, env, &r->projection, err);
    return rc;
}

static void describe_index(const ash_index *index, ash_index_desc *out)
{
    *out = (ash_index_desc){
        .name = index->name,
        .key = &index->key,
        .pattern = &index->pattern,
        .partial = ash__hooked_matcher(index->partial),
        .unique = index->unique,
        .sparse = index->sparse,
        .multikey = index->multikey,
        .hidden = index->hidden,
        .kinds = index->kinds,
        .handle = (void *)(uintptr_t)index,
    };
}

static void drop_plan(ash_request *r)
{
    ash__plan_free(r->plan);
    ash__free(r->descs);
    ash__free(r->index_ids);
    r->plan = NULL;
    r->descs = NULL;
    r->index_ids = NULL;
    r->desc_count = 0;
}

int ash__request_plan(ash_request *r, const ash_coll *coll, const bson_value_t *hint,
                      ash_error *err)
{
    ash_plan_query query = {.filter = r->filter, .sort = r->sort};
    ash_doc scratch;
    bson_t holder;
    bool has_hint = hint != NULL && hint->value_type != BSON_TYPE_EOD;
    drop_plan(r);
    r->coll_id = coll->id;
    r->descs = ash__alloc_array(coll->index_count, sizeof *r->descs);
    r->index_ids = ash__alloc_array(coll->index_count, sizeof *r->index_ids);
    for (uint32_t i = 0; i < coll->index_count; i++) {
        /* A half-built index lacks records. */
        if (!coll->indexes[i].ready)
            continue;
        r->index_ids[r->desc_count] = coll->indexes[i].id;
        describe_index(&coll->indexes[i], &r->descs[r->desc_count++]);
    }
    query.indexes = r->descs;
    query.index_count = r->desc_count;
    if (has_hint)
        query.hint = ash__value_of_bson_value(hint, &scratch, &holder);
    bool between = r->min.len > 5 || r->max.len > 5; /* {} is none */
    int rc = between ? ash__plan_between(&query, r->min, r->max, &r->plan, err)
                     : ash__plan_new(&query, &r->plan, err);
    if (has_hint)
        bson_destroy(&holder);
    return rc;
}

static bool plan_uses(const ash_plan *p, const ash_index_desc *desc)
{
    if (p->kind == ASH_PLAN_IXSCAN && p->index == desc)
        return true;
    for (uint32_t i = 0; i < p->branch_count; i++)
        if (plan_uses(p->branches[i], desc))
            return true;
    return false;
}

static const ash_index *find_index(const ash_coll *coll, uint32_t id)
{
    for (uint32_t i = 0; i < coll->index_count; i++)
        if (coll->indexes[i].id == id)
            return &coll->indexes[i];
    return NULL;
}

int ash__request_attach(ash_request *r, const ash_coll *coll, ash_error *err)
{
    for (uint32_t i = 0; i < r->desc_count; i++) {
        const ash_index *index = find_index(coll, r->index_ids[i]);
        if (index != NULL)
            describe_index(index, &r->descs[i]);
        else if (plan_uses(r->plan, &r->descs[i]))
            return ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_QUERY_PLAN_KILLED,
                                    "query plan killed: an index it uses was dropped");
        else
            /* Gone, but the plan does not need it. */
            r->descs[i].handle = NULL;
    }
    return 0;
}

void ash__request_release(ash_request *r)
{
    drop_plan(r);
    ash__projection_free(r->projection);
    ash__sort_spec_free(r->sort);
    ash__matcher_free(r->filter);
    *r = (ash_request){0};
}
