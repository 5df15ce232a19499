/* SPDX-License-Identifier: Apache-2.0 */
/* Forgetting versions by a rule: name by name, the newest first, each in a commit of its own. */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "store/ops.h"

#include <string.h>

typedef struct prune_run {
    ash_docs *store;
    const ash_object_prune_options *opts;
    const ash_op *op;
    ash_object_prune_report *report;
    int32_t keep_last;
    int64_t keep_within_ms, now_ms;
    char *name; /* whose versions are looked at */
    int64_t rank;
} prune_run;

typedef struct prune_call {
    const ash_object *version;
    bool gone;
} prune_call;

static int forget(ash_docs_commit *c, void *ctx, ash_error *err)
{
    prune_call *call = ctx;
    ash_object *now = NULL;
    int rc = ash__docs_find_version(c->store, call->version->name, call->version->revision, &c->op,
                                    &now, err);
    call->gone = rc == 0 && now != NULL;
    if (call->gone)
        rc = ash__commit_forget_version(c, now, err);
    ash_object_free(now);
    return rc;
}

static int prune_one(prune_run *p, const ash_object *version, ash_error *err)
{
    prune_call call = {.version = version, .gone = true};
    ash_docs_change change = {.op = p->op, .care = true, .fn = forget, .ctx = &call};
    int rc = p->opts->dry_run ? 0 : ash__docs_commit(p->store, &change, err);
    if (rc != 0 || !call.gone)
        return rc;
    p->report->versions++;
    p->report->bytes += version->deleted ? 0 : version->size;
    if (p->opts->each != NULL && !p->opts->each(p->opts->each_ctx, version))
        return ash__fail(err, ASH_EINTERRUPTED, "stopped");
    return 0;
}

static bool is_kept(prune_run *p, const ash_object *version)
{
    if (p->name == NULL || strcmp(p->name, version->name) != 0) {
        ash__free(p->name);
        p->name = ash__strdup(version->name);
        p->rank = 0;
    }
    p->rank++;
    return p->keep_last < 0 || p->rank <= p->keep_last ||
           (p->keep_within_ms > 0 && version->ended_ms > p->now_ms - p->keep_within_ms);
}

static int walk(prune_run *p, ash_cursor *cursor, ash_error *err)
{
    ash_doc doc = {NULL, 0};
    int rc = 0;
    while (rc == 0) {
        ash_object *version = NULL;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = ash__docs_object(doc, &version, err);
        if (rc == 0 && !is_kept(p, version))
            rc = prune_one(p, version, err);
        ash_object_free(version);
        if (rc == 0)
            rc = ash__op_check(p->op, err);
    }
    return rc;
}

int ash__docs_prune(ash_object_store *base, const ash_object_prune_options *opts, const ash_op *op,
                    ash_object_prune_report *report, ash_error *err)
{
    ash_docs_config c;
    prune_run p = {.store = ash__docs(base), .opts = opts, .op = op, .report = report};
    bson_t *filter = opts->name != NULL ? BCON_NEW("name", BCON_UTF8(opts->name)) : bson_new();
    bson_t *sort = BCON_NEW("name", BCON_INT32(1), "_id", BCON_INT32(-1));
    ash_find_options o = ash__docs_find_options(op);
    ash_cursor *cursor = NULL;
    o.sort = sort;
    int rc = ash__docs_config_own(p.store, op, &c, err);
    if (rc == 0) {
        p.keep_last = opts->by_rule ? opts->keep_last : c.copy.config.keep_last;
        p.keep_within_ms = opts->by_rule ? opts->keep_within_ms : c.copy.config.keep_within_ms;
        ash__docs_config_release(&c);
        rc = ash_store_time(p.store->manager->store, &p.now_ms, NULL, err);
    }
    if (rc == 0)
        rc = ash_collection_find(p.store->versions, filter, &o, &cursor, err);
    if (rc == 0)
        rc = walk(&p, cursor, err);
    ash_cursor_free(cursor);
    ash__free(p.name);
    bson_destroy(sort);
    bson_destroy(filter);
    return rc;
}
