/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody has any more: objects and tombstones that expired, files that no object names, chunks
 * without a file. */
#include "object/docs/commit.h"

#include "base/mem.h"
#include "bson/value.h"
#include "bucket/bucket.h"
#include "object/docs/expire.h"
#include "store/ops.h"

#include <string.h>

/* ---- expiry ---- */

typedef struct expire_call {
    const char *name;
    bool gone, tombstone;
} expire_call;

static int forget(ash_docs_commit *c, void *ctx, ash_error *err)
{
    expire_call *call = ctx;
    ash_object *o = NULL;
    int rc = ash__docs_find_name(c->store, call->name, &c->op, &o, err);
    call->gone = rc == 0 && o != NULL && ash__docs_is_over(o, c->now_ms);
    call->tombstone = call->gone && o->deleted;
    if (call->gone)
        rc = ash__commit_forget(c, o, err);
    ash_object_free(o);
    return rc;
}

static int expire_one(ash_docs *s, const ash_object *o, const ash_op *op, expire_call *call,
                      ash_error *err)
{
    *call = (expire_call){.name = o->name};
    ash_docs_change change = {.op = op, .care = true, .fn = forget, .ctx = call};
    return ash__docs_commit(s, &change, err);
}

static int find_due(ash_docs *s, const ash_op *op, ash_cursor **out, ash_error *err)
{
    int64_t now = 0;
    ash_find_options o = ash__docs_find_options(op);
    int rc = ash_store_time(s->manager->store, &now, NULL, err);
    if (rc != 0)
        return rc;
    bson_t *filter = BCON_NEW("expires", "{", "$lte", BCON_DATE_TIME(now), "}");
    rc = ash_collection_find(s->meta, filter, &o, out, err);
    bson_destroy(filter);
    return rc;
}

int ash__docs_expire(ash_docs *s, const ash_op *op, bool dry_run, int64_t *objects,
                     int64_t *tombstones, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int rc = find_due(s, op, &cursor, err);
    while (rc == 0) {
        ash_object *o = NULL;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = ash__docs_object(doc, &o, err);
        expire_call call = {.gone = dry_run, .tombstone = rc == 0 && o->deleted};
        if (rc == 0 && !dry_run)
            rc = expire_one(s, o, op, &call, err);
        if (rc == 0 && call.gone)
            ++*(call.tombstone && tombstones != NULL ? tombstones : objects);
        ash_object_free(o);
        if (rc == 0)
            rc = ash__op_check(op, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

int ash__docs_next_end(ash_object_store *base, const ash_op *op, int64_t *ms, ash_error *err)
{
    ash_docs *s = ash__docs(base);
    ash_find_options o = ash__docs_find_options(op);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t *filter = BCON_NEW("expires", "{", "$exists", BCON_BOOL(true), "}");
    bson_t *sort = BCON_NEW("expires", BCON_INT32(1));
    o.sort = sort;
    o.limit = 1;
    *ms = 0;
    int rc = ash_collection_find(s->meta, filter, &o, &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    if (rc == 0 && doc.data != NULL) {
        ash_object *next = NULL;
        rc = ash__docs_object(doc, &next, err);
        *ms = rc == 0 ? next->expires_ms : 0;
        ash_object_free(next);
    }
    ash_cursor_free(cursor);
    bson_destroy(sort);
    bson_destroy(filter);
    return rc;
}

/* ---- files ---- */

typedef struct orphan_call {
    const char *nuid;
    bool gone;
} orphan_call;

static int drop_file(ash_docs_commit *c, void *ctx, ash_error *err)
{
    orphan_call *call = ctx;
    return ash__commit_drop_bytes(c, call->nuid, &call->gone, err);
}

static int look_at_file(ash_docs *s, ash_doc doc, const ash_op *op, bool dry_run, bool *orphan,
                        ash_error *err)
{
    orphan_call call = {.nuid = ash__doc_utf8(doc, "_id", "")};
    ash_object *o = NULL;
    bson_t *filter = ash__docs_filter_bytes(call.nuid);
    int rc = ash__docs_find(s->meta, filter, op, &o, err);
    if (rc == 0 && o == NULL)
        rc = ash__docs_find(s->versions, filter, op, &o, err);
    *orphan = rc == 0 && o == NULL;
    if (*orphan && !dry_run) {
        ash_docs_change change = {.op = op, .care = true, .fn = drop_file, .ctx = &call};
        rc = ash__docs_commit(s, &change, err);
        *orphan = call.gone;
    }
    ash_object_free(o);
    bson_destroy(filter);
    return rc;
}

/* Files appear with their object; these were left by somebody's hand.  What drivers put into the
 * bucket has another kind of _id and stays. */
static int sweep_files(ash_docs *s, const ash_object_sweep_options *opts, const ash_op *op,
                       ash_object_sweep_report *report, ash_error *err)
{
    int64_t now = 0, age = opts->min_age_s != 0 ? opts->min_age_s : 24 * 3600;
    ash_bucket_find_options o = ASH_BUCKET_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int rc = ash_store_time(s->manager->store, &now, NULL, err);
    bson_t *filter = BCON_NEW("_id", "{", "$type", BCON_UTF8("string"), "}", "uploadDate", "{",
                              "$lte", BCON_DATE_TIME(age > 0 ? now - age * 1000 : now), "}");
    if (rc == 0)
        rc = ash_bucket_find(s->bucket, filter, &o, &cursor, err);
    while (rc == 0) {
        bool orphan = false;
        int64_t length = 0;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        (void)ash__value_as_int64(ash__doc_get(doc, "length"), &length);
        rc = look_at_file(s, doc, op, opts->dry_run, &orphan, err);
        report->orphans += orphan;
        report->bytes += orphan ? length : 0;
        if (rc == 0)
            rc = ash__op_check(op, err);
    }
    ash_cursor_free(cursor);
    bson_destroy(filter);
    return rc;
}

static int sweep_chunks(ash_docs *s, const ash_object_sweep_options *opts,
                        ash_object_sweep_report *report, ash_error *err)
{
    ash_sweep_options o = ASH_SWEEP_OPTIONS_INIT;
    ash_sweep_report r = ASH_SWEEP_REPORT_INIT;
    o.dry_run = opts->dry_run;
    o.min_age_s = opts->min_age_s;
    o.progress = opts->progress;
    o.progress_ctx = opts->progress_ctx;
    int rc = ash_bucket_sweep(s->bucket, &o, &r, err);
    report->orphans += r.files;
    report->bytes += r.bytes;
    return rc;
}

int ash__docs_sweep(ash_object_store *base, const ash_object_sweep_options *opts, const ash_op *op,
                    ash_object_sweep_report *report, ash_error *err)
{
    ash_docs *s = ash__docs(base);
    ash_docs_config c;
    int rc = ash__docs_config_own(s, op, &c, err);
    if (rc != 0)
        return rc;
    ash__docs_config_release(&c);
    rc = ash__docs_expire(s, op, opts->dry_run, &report->expired, &report->tombstones, err);
    if (rc != 0 || opts->expired_only)
        return rc;
    rc = sweep_files(s, opts, op, report, err);
    return rc == 0 ? sweep_chunks(s, opts, report, err) : rc;
}
