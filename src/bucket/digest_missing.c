/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of files that came without: drivers send none. */
#include "base/mem.h"
#include "base/options.h"
#include "bucket/digest.h"

#include <string.h>

enum { MAX_FILES = 100, MAX_BYTES = 256 * 1024 * 1024 };

static const char *const of_contents[] = {"store", "in", "refs"};

/* Newest first, by their ids: who has just uploaded a file may soon ask for its digest. */
static bson_t *pipeline_of(const ash_bucket *b, int64_t since_ms)
{
    bson_oid_t first = {{0}};
    /* ObjectIds begin with the time in seconds, so the bound needs no index but that on _id. */
    uint32_t seconds = BSON_UINT32_TO_BE((uint32_t)(since_ms / 1000));
    memcpy(first.bytes, &seconds, sizeof seconds);
    bson_t *match = since_ms > 0 ? BCON_NEW("_id", "{", "$gte", BCON_OID(&first), "}") : bson_new();
    /* Contents of trees have their digest in `_id`; of what is not kept as it is, or not in chunks,
     * that of the chunks would say nothing. */
    for (size_t i = 0; i < sizeof of_contents / sizeof of_contents[0]; i++)
        BCON_APPEND(match, of_contents[i], "{", "$exists", BCON_BOOL(false), "}");
    char *attributes = ash__sprintf("%s.attributes", b->name);
    bson_t *stages =
        BCON_NEW("0", "{", "$match", BCON_DOCUMENT(match), "}", "1", "{", "$sort", "{", "_id",
                 BCON_INT32(-1), "}", "}", "2", "{", "$project", "{", "length", BCON_INT32(1), "}",
                 "}", "3", "{", "$lookup", "{", "from", BCON_UTF8(attributes), "localField", "_id",
                 "foreignField", "_id", "as", "facts", "}", "}", "4", "{", "$match", "{",
                 "facts.sha256", "{", "$exists", BCON_BOOL(false), "}", "}", "}");
    ash__free(attributes);
    bson_destroy(match);
    return stages;
}

static int find_missing(const ash_work *work, const ash_sum_missing_options *o, ash_cursor **out,
                        ash_error *err)
{
    ash_aggregate_options a = ASH_AGGREGATE_OPTIONS_INIT;
    bson_t *pipeline = pipeline_of(work->bucket, o->since_ms);
    a.op.cancel = o->cancel;
    a.op.deadline_ms = work->deadline_ms;
    a.allow_disk_use = true;
    int rc = ash_collection_aggregate(work->bucket->files, pipeline, &a, out, err);
    bson_destroy(pipeline);
    return rc;
}

/* A damaged file is not the others' trouble, and whoever reads it is told. */
static bool passed_over(int rc)
{
    return rc == ASH_ENOTFOUND || rc == ASH_ECORRUPT || rc == ASH_ECHUNKMISSING ||
           rc == ASH_ECHUNKEXTRA || rc == ASH_ECHUNKSIZE || rc == ASH_EINVAL;
}

static int sum_document(const ash_work *work, const ash_sum_missing_options *o, const ash_doc *doc,
                        ash_sum_missing_report *report, ash_error *err)
{
    bson_t view;
    bson_iter_t it;
    char hex[65];
    ash_error own = ASH_ERROR_INIT;
    if (!bson_init_static(&view, doc->data, doc->len) || !bson_iter_init_find(&it, &view, "_id"))
        return 0;
    ash_sum_watch watch = {.cancel = o->cancel, .deadline_ms = work->deadline_ms};
    int rc = ash__bucket_sum(work->bucket, bson_iter_value(&it), false, &watch, hex, &own);
    if (passed_over(rc)) {
        report->failed++;
        return 0;
    }
    if (rc == 0) {
        report->files++;
        if (bson_iter_init_find(&it, &view, "length"))
            report->bytes += bson_iter_as_int64(&it);
    }
    return ash__unless(0, rc, &own, err);
}

static int sum_missing(ash_bucket *b, const ash_sum_missing_options *opts,
                       ash_sum_missing_report *out, ash_error *err)
{
    ash_sum_missing_options o;
    ash_cursor *cursor = NULL;
    ash_doc doc;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0 && (o.max_files < 0 || o.max_bytes < 0 || o.since_ms < 0))
        rc = ash__fail(err, ASH_EINVAL, "limit of files to sum is negative");
    if (rc != 0)
        return rc;
    int64_t max_files = o.max_files > 0 ? o.max_files : MAX_FILES;
    int64_t max_bytes = o.max_bytes > 0 ? o.max_bytes : MAX_BYTES;
    ash_work work = ash__work(b, ash__bucket_deadline(b, 0));
    rc = find_missing(&work, &o, &cursor, err);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        /* Looked at only when there is another one, so that `more` is true only then. */
        out->more = out->files >= max_files || out->bytes >= max_bytes;
        if (out->more)
            break;
        rc = sum_document(&work, &o, &doc, out, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

int ash_bucket_sum_missing(ash_bucket *b, const ash_sum_missing_options *opts,
                           ash_sum_missing_report *out, ash_error *err)
{
    ash_sum_missing_report report = ASH_SUM_MISSING_REPORT_INIT;
    int rc = ash__out_copy(out, &report, sizeof report, err);
    if (rc != 0)
        return rc;
    rc = sum_missing(b, opts, &report, err);
    (void)ash__out_copy(out, &report, sizeof report, NULL);
    return rc;
}
