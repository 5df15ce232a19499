/* SPDX-License-Identifier: Apache-2.0 */
/* The backup action: the engine copies, this reports. */

#include "store/embedded/care/maintain.h"

#include "engine/backup/backup.h"
#include "store/embedded/care/findings.h"
#include "store/embedded/kit/give.h"

/* {backup: "folder", verify: bool, replace: bool}: the report is
 *   {records, copiedRecords, copiedBytes, metaBytes, copiedMetaBytes, segments, damaged, clean,
 *    findingCount, findings: [{text, …}]} */

typedef struct backing_up {
    ash_progress_fn progress;
    void *ctx;
    ash_findings findings;
} backing_up;

static bool on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    backing_up *b = ctx;
    return b->progress == NULL || b->progress(b->ctx, what, done, total);
}

static void on_finding(void *ctx, const char *text, const bson_t *facts)
{
    backing_up *b = ctx;
    ash__findings_add(&b->findings, text, facts);
}

static void give_report(const backing_up *state, const ash_backup_report *r, bool clean,
                        bson_t *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_int64(&b, "records", (int64_t)r->records);
    ash__builder_int64(&b, "copiedRecords", (int64_t)r->copied_records);
    ash__builder_int64(&b, "copiedBytes", (int64_t)r->copied_bytes);
    ash__builder_int64(&b, "metaBytes", (int64_t)r->meta_bytes);
    ash__builder_int64(&b, "copiedMetaBytes", (int64_t)r->copied_meta_bytes);
    ash__builder_int64(&b, "segments", (int64_t)r->segments);
    ash__builder_int64(&b, "damaged", (int64_t)r->damaged);
    ash__builder_bool(&b, "clean", clean);
    ash__builder_int64(&b, "findingCount", state->findings.count);
    ash__findings_list(&state->findings, &b, "findings");
    ash__builder_end(&b);
    ash__doc_give(ash__builder_doc(&b), out);
    ash__builder_release(&b);
}

int ash__embedded_backup(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                         bson_t *out, ash_error *err)
{
    backing_up state = {.progress = progress, .ctx = ctx};
    ash_backup_report report = {0};
    uint32_t len;
    ash_doc doc = ash__doc_from_bson(action);
    ash_value folder = ash__doc_get(doc, "backup");
    if (folder.type != BSON_TYPE_UTF8 || ash__value_string(folder, &len)[0] == 0)
        return ash__fail(err, ASH_EINVAL, "backup: the folder is not given");
    ash_backup_options opts = {.verify = ash__value_truthy(ash__doc_get(doc, "verify")),
                               .replace = ash__value_truthy(ash__doc_get(doc, "replace")),
                               .progress = on_progress,
                               .finding = on_finding,
                               .ctx = &state};
    int rc = ash__engine_backup(s->engine, ash__value_string(folder, &len), &opts, &report, err);
    /* The copy's findings are of its own records, which have the numbers of the store's. */
    if (rc == ASH_ECORRUPT)
        ash__findings_name(&state.findings, s->engine);
    if (rc == 0 || rc == ASH_ECORRUPT)
        give_report(&state, &report, rc == 0, out);
    ash__findings_release(&state.findings);
    return rc;
}
