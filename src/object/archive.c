/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of objects on their way into an archive and back.
 *
 *   here: bytes ──put──▶ archive ──read back, compared──▶ commit here: `archive`, bytes go
 *   here: `archive` ──read, compared──▶ bytes here, unseen ──▶ commit here: bytes ──▶ archive's go,
 *                                                              unless versions have them, too
 *
 * A process that ends in between leaves the object where it was, and bytes at the other end that the
 * next run uses or a sweep takes. */
#include "object/transfer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"

#include <string.h>

typedef struct archive_run {
    ash_object_store *store, *archive;
    const ash_object_archive_options *opts;
    const ash_op *op;
    ash_object_archive_report *report;
    int64_t now_ms;
} archive_run;

/* ---- there ---- */

/* "STORE/NUID" */
static char *archive_name(const ash_object *o)
{
    return ash__sprintf("%s/%s", o->store, o->nuid);
}

static int put_there(archive_run *a, const ash_object *object, const char *name, ash_error *err)
{
    ash_object_said said;
    ash_object_writer *w = NULL;
    ash_object_transfer t = {.from = a->store, .to = a->archive, .op = a->op};
    ash__object_said(object, a->archive, &said);
    said.meta.name = name;
    int rc = ash_object_store_open_writer(a->archive, &said.meta, NULL, a->op, &w, err);
    if (rc == 0)
        rc = ash__transfer_bytes(&t, object, w, err);
    if (rc == 0)
        rc = ash_object_writer_finish(w, NULL, NULL, err);
    ash_object_writer_free(w);
    return rc;
}

static int ignore_bytes(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)ctx, (void)data, (void)len, (void)err;
    return 0;
}

/* What is to be let go of here is read there. */
static int read_back(archive_run *a, const ash_object *object, const char *name, ash_error *err)
{
    ash_output nowhere = {NULL, ignore_bytes};
    ash_object *there = NULL;
    int rc = ash_object_store_get(a->archive, name, &nowhere, NULL, a->op, &there, err);
    if (rc == 0 && there->size != object->size)
        rc = ash__fail(err, ASH_ECORRUPT, "%.200s has another size in the archive", object->name);
    ash_object_free(there);
    return rc;
}

static int is_there(archive_run *a, const ash_object *object, const char *name, bool *out,
                    ash_error *err)
{
    ash_object *there = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_object_store_info(a->archive, name, NULL, a->op, &there, &own);
    *out = rc == 0 && there->size == object->size && strcmp(there->digest, object->digest) == 0;
    ash_object_free(there);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static int move_there(archive_run *a, const ash_object *object, ash_error *err)
{
    char *name = archive_name(object);
    ash_object_place place = {a->archive->name, name};
    bool there = false;
    int rc = is_there(a, object, name, &there, err);
    if (rc == 0 && !there)
        rc = put_there(a, object, name, err);
    if (rc == 0)
        rc = read_back(a, object, name, err);
    if (rc == 0)
        rc = a->store->manager->ops->detach(a->store, object, &place, a->op, err);
    ash__free(name);
    return rc;
}

/* ---- and back ---- */

static int move_back(archive_run *a, const ash_object *object, ash_error *err)
{
    ash_object_said said;
    ash_object_writer *w = NULL;
    ash_object_transfer t = {.from = a->store, .to = a->store, .op = a->op};
    bool needed = false;
    ash__object_said(object, a->store, &said);
    int rc = ash_object_store_open_writer(a->store, &said.meta, NULL, a->op, &w, err);
    if (rc == 0)
        rc = ash__transfer_bytes(&t, object, w, err);
    if (rc == 0)
        rc =
            a->store->manager->ops->attach(ash__object_writer_sink(w), object, a->op, &needed, err);
    ash_object_writer_free(w);
    /* The object has its bytes again; what the archive still has is a copy. */
    if (rc == 0 && !needed)
        (void)ash_object_store_delete(a->archive, object->archive_name, NULL, a->op, NULL, NULL);
    return rc;
}

/* ---- the rule ---- */

static bool is_taken(const archive_run *a, const ash_object *o)
{
    const ash_object_archive_options *r = a->opts;
    if (ash_object_is_link(o) || o->size == 0 || ash_object_is_archived(o) != r->back)
        return false;
    return o->size >= r->min_bytes &&
           (r->older_than_ms == 0 || o->modified_ms <= a->now_ms - r->older_than_ms);
}

static int archive_one(void *ctx, const ash_object *o, ash_error *err)
{
    archive_run *a = ctx;
    ash_error own = ASH_ERROR_INIT;
    int rc = 0;
    if (!is_taken(a, o))
        return 0;
    if (!a->opts->dry_run)
        rc = a->opts->back ? move_back(a, o, &own) : move_there(a, o, &own);
    if (rc == ASH_ECORRUPT || rc == ASH_ECHUNKMISSING || rc == ASH_ECONFLICT ||
        rc == ASH_ENOTFOUND) {
        a->report->failed++;
        return 0;
    }
    if (rc != 0) {
        if (err != NULL)
            *err = own;
        return rc;
    }
    a->report->objects++;
    a->report->bytes += o->size;
    if (a->opts->each != NULL && !a->opts->each(a->opts->each_ctx, o))
        return ash__fail(err, ASH_EINTERRUPTED, "stopped");
    return 0;
}

static int archive_all(archive_run *a, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    o.prefix = a->opts->prefix;
    o.filter = a->opts->filter;
    int rc = ash__object_each(a->store, &o, a->op, archive_one, a, err);
    if (rc == 0 && a->report->failed > 0)
        rc = ash__fail(err, ASH_EPARTIAL, "%lld objects stayed: damaged, or changed meanwhile",
                       (long long)a->report->failed);
    return rc;
}

int ash_object_store_archive(ash_object_store *s, ash_object_store *archive,
                             const ash_object_archive_options *opts, const ash_op *op,
                             ash_object_archive_report *report, ash_error *err)
{
    ash_object_archive_options o;
    ash_object_archive_report own_report = ASH_OBJECT_ARCHIVE_REPORT_INIT;
    ash_assert(s != NULL && archive != NULL && s != archive);
    ash_op own = ash__op_of(op);
    ash_object_store *attached = s->archive;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0)
        rc = ash__object_require(s->manager, s->manager->can.archive, "archiving", err);
    if (rc == 0 && s->manager == archive->manager && strcmp(s->name, archive->name) == 0)
        rc = ash__fail(err, ASH_EINVAL, "object store %s cannot be its own archive", s->name);
    if (rc == 0) {
        archive_run a = {.store = s,
                         .archive = archive,
                         .opts = &o,
                         .op = &own,
                         .report = &own_report,
                         .now_ms = ash__clock_wall_ms()};
        s->archive = archive;
        rc = archive_all(&a, err);
        s->archive = attached;
    }
    if (report != NULL)
        (void)ash__out_copy(report, &own_report, sizeof own_report, NULL);
    return rc;
}
