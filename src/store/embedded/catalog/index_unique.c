/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an index may become unique: equal keys are neighbours in it, so one walk finds them all.
 */

#include "store/embedded/catalog/index_unique.h"

#include "base/budget.h"
#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

/* The answer has to fit a document, whatever number of them there is. */
enum { VIOLATION_BYTES = 4 * 1024 * 1024 };

/* Neighbours in the index that have the same key. */
typedef struct run {
    ash_snapshot *snap;
    const ash_coll *coll;
    ash_builder *out;
    ash_buffer key;
    uint64_t rid;    /* the first of them */
    uint32_t groups; /* that were written down */
    uint32_t count;  /* of ids in the group that is being written; 0: there is none */
} run;

static int add_id(run *r, uint64_t rid, ash_error *err)
{
    ash_record record;
    bool found = false;
    int rc = ash__record_get(r->snap, r->coll, rid, &record, &found, err);
    if (rc != 0 || !found)
        return rc;
    ash__builder_item(r->out, r->count++, ash__doc_get(record.doc, "_id"));
    return 0;
}

static int begin_group(run *r, ash_error *err)
{
    char name[16];
    /* Only now: without a violation there is no such field. */
    if (r->groups == 0)
        ash__builder_begin_array(r->out, "violations");
    snprintf(name, sizeof name, "%u", r->groups++);
    ash__builder_begin_doc(r->out, name);
    ash__builder_begin_array(r->out, "ids");
    return add_id(r, r->rid, err);
}

static void end_group(run *r)
{
    if (r->count > 0) {
        ash__builder_end(r->out);
        ash__builder_end(r->out);
    }
    r->count = 0;
}

static int visit(run *r, const ash_scan_hit *hit, ash_error *err)
{
    int rc = 0;
    if (r->key.len == hit->key.len && hit->key.len > 0 &&
        memcmp(r->key.data, hit->key.data, hit->key.len) == 0) {
        if (r->count == 0)
            rc = begin_group(r, err);
        return rc == 0 ? add_id(r, hit->rid, err) : rc;
    }
    end_group(r);
    r->key.len = 0;
    ash__buffer_append(&r->key, hit->key.data, hit->key.len);
    r->rid = hit->rid;
    return 0;
}

int ash__index_may_be_unique(ash_snapshot *snap, const ash_coll *c, const ash_index *index,
                             ash_builder *out, ash_error *err)
{
    static const ash_scan_range all = {.backward = false};
    run r = {.snap = snap, .coll = c, .out = out, .key = ASH_BUFFER_INIT};
    ash_scan_hit hit;
    bool found = true;
    int rc = 0;
    ash_scan *scan = ash__scan_index(snap, index, &all, NULL);
    while (rc == 0 && found && out->buf.len < VIOLATION_BYTES) {
        ash__budget_turn();
        rc = ash__budget_step(err);
        if (rc == 0)
            rc = ash__scan_next(scan, &hit, &found, err);
        if (rc == 0 && found)
            rc = visit(&r, &hit, err);
    }
    end_group(&r);
    if (r.groups > 0)
        ash__builder_end(out);
    ash__scan_free(scan);
    ash__buffer_release(&r.key);
    if (rc == 0 && r.groups > 0)
        rc = ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_CANNOT_CONVERT_INDEX_TO_UNIQUE,
                              "Cannot convert the index to unique: documents share keys of %s; "
                              "change those and run collMod again",
                              index->name);
    return rc;
}
