/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that no file has.  Each id is looked at, weighed, and looked at once more in the commit
 * that removes it, since uploads finish while this runs. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "bucket/attributes.h"
#include "bucket/chunks.h"
#include "bucket/intent.h"
#include "bucket/resume.h"
#include "bucket/sweep_ids.h"
#include "store/parts.h"

static const int64_t DEFAULT_AGE_S = 24 * 3600;

typedef struct sweep {
    ash_work work;
    ash_sweep_options options;
    int64_t born_before_s; /* chunks made later are too young; INT64_MAX: none is */
    bson_t owned;          /* array of the ids that resumable uploads own */
    ash_sweep_report *report;
    int64_t looked_at;
    ash_error damage; /* the first that was passed over; code 0: none was */
} sweep;

/* ---- who owns chunks ---- */

static int load_owned(sweep *s, ash_error *err)
{
    bson_t *filter = ash__resume_filter_all();
    ash_cursor *cursor = NULL;
    uint32_t count = 0;
    ash_find_options o = ash__work_find_options(&s->work);
    int rc = ash_collection_find(s->work.bucket->attributes, filter, &o, &cursor, err);
    if (rc == 0)
        rc = ash__ids_collect(cursor, "upload.files_id", &s->owned, &count, err);
    ash_cursor_free(cursor);
    bson_destroy(filter);
    return rc;
}

static bool is_owned(const sweep *s, const bson_value_t *id)
{
    bson_iter_t it;
    if (!bson_iter_init(&it, &s->owned))
        return false;
    while (bson_iter_next(&it))
        if (ash__id_equal(bson_iter_value(&it), id))
            return true;
    return false;
}

/* ---- one id ---- */

typedef struct orphan {
    const bson_value_t *id;
    int64_t chunks;
    int64_t bytes;
    bool young; /* some chunk is, or may be */
    bool removed;
} orphan;

static void weigh_chunk(const sweep *s, ash_doc doc, orphan *o)
{
    ash_value id = ash__doc_get(doc, "_id");
    o->chunks++;
    /* All drivers make ObjectIds, and those begin with the time; another id has no age. */
    if (s->born_before_s == INT64_MAX)
        return;
    if (id.type != BSON_TYPE_OID || bson_oid_get_time_t(ash__value_oid(id)) > s->born_before_s)
        o->young = true;
}

/* In a store of this process a chunk's head tells, so that damaged data keeps nothing. */
static int measure_chunk(ash_cursor *cursor, size_t index, bool in_parts, ash_doc doc, size_t *len,
                         ash_error *err)
{
    size_t from = 0, to = 1;
    int64_t n;
    const uint8_t *data;
    uint32_t whole = 0;
    int rc = in_parts ? ash__cursor_verify(cursor, index, &from, &to, err) : 0;
    if (rc != 0 || (in_parts && ash__chunk_parse_head(doc, to, &n, &data, len)))
        return rc;
    from = to;
    to = doc.len;
    if (in_parts && from < to)
        rc = ash__cursor_verify(cursor, index, &from, &to, err);
    ash_value value = rc == 0 ? ash__doc_get(doc, "data") : ASH_VALUE_MISSING;
    if (value.type == BSON_TYPE_BINARY)
        (void)ash__value_binary_content(value, &whole);
    *len = whole;
    return rc;
}

static int weigh_all(const sweep *s, ash_cursor *cursor, orphan *found, ash_error *err)
{
    bool in_parts = ash__cursor_take_parts(cursor);
    for (size_t index = 0; !found->young; index++) {
        ash_doc doc;
        size_t len = 0;
        int rc = ash_cursor_next(cursor, &doc, err);
        if (rc == 0 && doc.data != NULL)
            rc = measure_chunk(cursor, index, in_parts, doc, &len, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        weigh_chunk(s, doc, found);
        found->bytes += (int64_t)len;
    }
    return 0;
}

static int weigh(const sweep *s, orphan *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *by_number = BCON_NEW("n", BCON_INT32(1));
    ash_cursor *cursor = NULL;
    ash_find_options o = ash__work_find_options(&s->work);
    o.sort = by_number;
    o.download = true;
    ash__filter_id(&filter, "files_id", found->id);
    int rc = ash_collection_find(s->work.bucket->chunks, &filter, &o, &cursor, err);
    if (rc == 0)
        rc = weigh_all(s, cursor, found, err);
    ash_cursor_free(cursor);
    bson_destroy(by_number);
    bson_destroy(&filter);
    return rc;
}

/* The file may have been finished since it was looked for. */
static int remove_orphan(const ash_work *work, void *ctx, ash_error *err)
{
    orphan *o = ctx;
    bool exists = false;
    int rc = ash__file_exists(work, o->id, &exists, err);
    o->removed = rc == 0 && !exists;
    if (o->removed)
        rc = ash__chunks_remove(work, o->id, -1, -1, NULL, err);
    return rc;
}

static int sweep_id(sweep *s, const bson_value_t *id, ash_error *err)
{
    orphan o = {.id = id};
    bool exists = false;
    int rc = ash__file_exists(&s->work, id, &exists, err);
    if (rc != 0 || exists || is_owned(s, id))
        return rc;
    rc = weigh(s, &o, err);
    if (rc != 0 || o.young || o.chunks == 0)
        return rc;
    o.removed = s->options.dry_run;
    if (!s->options.dry_run)
        rc = ash__bucket_commit(&s->work, remove_orphan, &o, err);
    if (rc == 0 && o.removed) {
        s->report->files++;
        s->report->chunks += o.chunks;
        s->report->bytes += o.bytes;
    }
    return rc;
}

static int visit_id(void *ctx, const bson_value_t *id, ash_error *err)
{
    sweep *s = ctx;
    const ash_sweep_options *o = &s->options;
    s->looked_at++;
    if (o->progress != NULL && !o->progress(o->progress_ctx, "files", s->looked_at, 0))
        return ash__fail(err, ASH_EINTERRUPTED, "sweep was stopped");
    int rc = ash__deadline_check(s->work.deadline_ms, "sweep", err);
    if (rc != 0)
        return rc;
    ash_error own = ASH_ERROR_INIT;
    rc = sweep_id(s, id, &own);
    /* One damaged file does not keep the others' leavings; it is told at the end. */
    if (rc == ASH_ECORRUPT && s->damage.code == 0)
        s->damage = own;
    return ash__unless(ASH_ECORRUPT, rc, &own, err);
}

/* ---- attributes of files that drivers deleted ---- */

/* Where there are no transactions, attributes are written just before their file. */
static bool attributes_are_young(const sweep *s, ash_doc doc)
{
    ash_value version = ash__doc_get(doc, "version");
    return s->born_before_s != INT64_MAX && version.type == BSON_TYPE_OID &&
           bson_oid_get_time_t(ash__value_oid(version)) > s->born_before_s;
}

static int sweep_attributes_doc(sweep *s, ash_doc doc, ash_error *err)
{
    bson_t view;
    bson_iter_t it;
    bool exists = true;
    ash__doc_to_bson(doc, &view);
    if (attributes_are_young(s, doc) || bson_has_field(&view, "upload") ||
        !bson_iter_init_find(&it, &view, "_id"))
        return 0;
    const bson_value_t *id = bson_iter_value(&it);
    int rc = ash__file_exists(&s->work, id, &exists, err);
    if (rc == 0 && !exists)
        rc = ash__attributes_remove(&s->work, id, err);
    return rc;
}

static int sweep_attributes(sweep *s, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    ash_cursor *cursor = NULL;
    ash_find_options o = ash__work_find_options(&s->work);
    int rc = ash_collection_find(s->work.bucket->attributes, &all, &o, &cursor, err);
    while (rc == 0) {
        ash_doc doc;
        rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = sweep_attributes_doc(s, doc, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

static int sweep_bucket(ash_bucket *b, const ash_sweep_options *opts, ash_sweep_report *report,
                        ash_error *err)
{
    sweep s = {.work = ash__work(b, ash__bucket_deadline(b, 0)), .report = report};
    int rc = ash__options_copy(&s.options, sizeof s.options, opts, err);
    if (rc != 0)
        return rc;
    int64_t age = s.options.min_age_s != 0 ? s.options.min_age_s : DEFAULT_AGE_S;
    /* The time in an id is rounded down; none is to count as older than it is. */
    s.born_before_s = age < 0 ? INT64_MAX : ash__clock_wall_ms() / 1000 - age - 1;
    bson_init(&s.owned);
    rc = s.options.dry_run ? 0 : ash__bucket_require_sound(b, err);
    /* Once: whoever opens a resumable upload later has chunks that are too young, but for a
     * min_age_s below 0. */
    if (rc == 0)
        rc = load_owned(&s, err);
    if (rc == 0 && !s.options.dry_run)
        rc = ash__intents_sweep(&s.work, s.born_before_s, err);
    if (rc == 0)
        rc = ash__sweep_each_id(&s.work, visit_id, &s, &s.damage, err);
    if (rc == 0 && !s.options.dry_run)
        rc = sweep_attributes(&s, err);
    bson_destroy(&s.owned);
    if (rc == 0 && s.damage.code != 0) {
        rc = s.damage.code;
        if (err != NULL)
            *err = s.damage;
    }
    return rc;
}

int ash_bucket_sweep(ash_bucket *b, const ash_sweep_options *opts, ash_sweep_report *out,
                     ash_error *err)
{
    ash_sweep_report report = ASH_SWEEP_REPORT_INIT;
    int rc = ash__out_copy(out, &report, sizeof report, err);
    if (rc != 0)
        return rc;
    rc = sweep_bucket(b, opts, &report, err);
    (void)ash__out_copy(out, &report, sizeof report, NULL);
    return rc;
}
