/* SPDX-License-Identifier: Apache-2.0 */
/* Updates given as a pipeline. */
#include "query/update/node.h"

#include "base/mem.h"
#include "query/pipeline/stage.h"
#include "query/project/reshape.h"

struct ash_update_stage {
    ash_reshape *reshape;
};

static int parse_stage(ash_update_parser *p, ash_value stage)
{
    ash_doc_iter it;
    if (stage.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "Each element of the 'pipeline' array must be an object");
    if (ash__doc_count(ash__value_doc(stage)) != 1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_STAGE_NOT_ONE_FIELD,
                                "A pipeline stage specification object must contain exactly one "
                                "field.");
    it = ash__doc_iter(ash__value_doc(stage));
    ash__doc_iter_next(&it);
    if (!ash__stage_is_known(it.name))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_STAGE,
                                "Unrecognized pipeline stage name: '%s'", it.name);
    if (!ash__reshape_is_stage(it.name))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "%s is not allowed to be used within an update", it.name);
    ash_reshape **slot = &p->u->stages[p->u->stage_count].reshape;
    int rc = ash__reshape_new(it.name, it.value, p->u->env, slot, p->err);
    if (rc == 0)
        p->u->stage_count++;
    return rc;
}

int ash__update_parse_pipeline(ash_update_parser *p, ash_doc stages)
{
    p->u->stages = ash__arena_alloc(p->u->arena, ash__doc_count(stages) * sizeof *p->u->stages);
    for (ash_doc_iter it = ash__doc_iter(stages); ash__doc_iter_next(&it);) {
        int rc = parse_stage(p, it.value);
        if (rc != 0)
            return rc;
    }
    return 0;
}

void ash__update_free_pipeline(ash_update *u)
{
    for (uint32_t i = 0; i < u->stage_count; i++)
        ash__reshape_free(u->stages[i].reshape);
}

/* Two builders take turns; the last result goes behind the document's own _id. */
int ash__update_apply_pipeline(ash_update_run *r)
{
    ash_builder turn[2] = {ASH_BUILDER_INIT, ASH_BUILDER_INIT};
    ash_doc doc = r->doc;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->u->stage_count; i++) {
        rc = ash__reshape_apply(r->u->stages[i].reshape, doc, r->arena, &turn[i % 2], r->err);
        if (rc == 0)
            doc = ash__builder_doc(&turn[i % 2]);
    }
    ash__builder_begin(r->out);
    if (rc == 0) {
        /* A stage that drops _id does not change it. */
        if (ash__value_is_missing(ash__doc_get(doc, "_id")))
            ash__builder_value(r->out, "_id", ash__doc_get(r->doc, "_id"));
        ash__builder_elements(r->out, doc);
    }
    ash__builder_end(r->out);
    ash__builder_release(&turn[0]);
    ash__builder_release(&turn[1]);
    return rc;
}
