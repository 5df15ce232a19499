/* SPDX-License-Identifier: Apache-2.0 */
/* From one store to another, of any backends. */
#include "object/transfer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/options.h"
#include "bson/value.h"

#include <string.h>

typedef struct copy_run {
    ash_object_transfer transfer;
    const ash_object_copy_options *opts;
    ash_object_copy_report *report;
} copy_run;

/* ---- what the target has ---- */

static bool same_field(const ash_object *a, const ash_object *b, const char *field)
{
    bson_iter_t x, y;
    bool has_x = bson_iter_init_find(&x, a->document, field);
    bool has_y = bson_iter_init_find(&y, b->document, field);
    if (!has_x || !has_y)
        return has_x == has_y;
    return ash__value_identical(ash__value_of_iter(&x), ash__value_of_iter(&y));
}

/* A link into the store that is copied leads into the copy. */
static const char *link_store(const copy_run *c, const ash_object *o)
{
    return strcmp(o->link_store, c->transfer.from->name) == 0 ? c->transfer.to->name
                                                              : o->link_store;
}

static bool is_same(const copy_run *c, const ash_object *a, const ash_object *b)
{
    static const char *const fields[] = {"description", "headers", "metadata",
                                         "tags",        "size",    "digest"};
    if (ash_object_is_link(a) != ash_object_is_link(b) || a->deleted != b->deleted)
        return false;
    if (ash_object_is_link(a))
        return strcmp(link_store(c, a), b->link_store) == 0 &&
               strcmp(a->link_name != NULL ? a->link_name : "",
                      b->link_name != NULL ? b->link_name : "") == 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(fields); i++)
        if (!same_field(a, b, fields[i]))
            return false;
    return true;
}

/* Or NULL. */
static int look(copy_run *c, const char *name, ash_object **out, ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    o.deleted = true;
    *out = NULL;
    int rc = ash_object_store_info(c->transfer.to, name, &o, c->transfer.op, out, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* ---- bringing one ---- */

static int bring_bytes(copy_run *c, const ash_object *object, const ash_object_change_options *o,
                       ash_error *err)
{
    ash_object_said said;
    ash_object_writer *w = NULL;
    ash__object_said(object, c->transfer.to, &said);
    int rc = ash_object_store_open_writer(c->transfer.to, &said.meta, o, c->transfer.op, &w, err);
    if (rc == 0)
        rc = ash__transfer_bytes(&c->transfer, object, w, err);
    if (rc == 0)
        rc = ash_object_writer_finish(w, NULL, NULL, err);
    ash_object_writer_free(w);
    return rc;
}

static int bring_link(copy_run *c, const ash_object *object, const ash_object_change_options *o,
                      ash_error *err)
{
    ash_object_store *to = c->transfer.to;
    bson_t *set = BCON_NEW("bucket", BCON_UTF8(to->name), "options", "{", "link", "{", "bucket",
                           BCON_UTF8(link_store(c, object)), "name",
                           BCON_UTF8(object->link_name != NULL ? object->link_name : ""), "}", "}",
                           "expires", BCON_NULL, "revision", BCON_NULL, "mtime", BCON_NULL);
    ash_object_request r = {object->name, o, c->transfer.op};
    ash_object *link = NULL, *made = NULL;
    int rc = ash__object_set(object, set, &link, err);
    if (rc == 0)
        rc = to->manager->ops->link(to, &r, link, &made, err);
    ash_object_free(link);
    ash_object_free(made);
    bson_destroy(set);
    return rc;
}

static int bring(copy_run *c, const ash_object *object, const ash_object *there, ash_error *err)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    o.if_revision = there != NULL ? there->revision : 0;
    o.if_absent = there == NULL;
    if (object->expires_ms != 0 && c->transfer.to->manager->can.object_ttl) {
        o.ttl_ms = object->expires_ms - ash__clock_wall_ms();
        o.ttl_ms = o.ttl_ms > 0 ? o.ttl_ms : 1;
    }
    if (object->deleted) {
        o.ttl_ms = 0;
        return ash_object_store_delete(c->transfer.to, object->name, &o, c->transfer.op, NULL, err);
    }
    return ash_object_is_link(object) ? bring_link(c, object, &o, err)
                                      : bring_bytes(c, object, &o, err);
}

static int told(const copy_run *c, const ash_object *object, ash_error *err)
{
    if (c->opts->each == NULL || c->opts->each(c->opts->each_ctx, object))
        return 0;
    return ash__fail(err, ASH_EINTERRUPTED, "stopped");
}

/* Changed or gone since it was listed: the next run brings it. */
static bool is_passed_over(int rc)
{
    return rc == ASH_ECONFLICT || rc == ASH_ENOTFOUND || rc == ASH_ECONDITION;
}

static int copy_one(copy_run *c, const ash_object *object, ash_error *err)
{
    ash_object *there = NULL;
    int rc = look(c, object->name, &there, err);
    if (rc != 0)
        return rc;
    bool skip = there != NULL ? is_same(c, object, there) : object->deleted;
    bool other = there != NULL && !there->deleted && c->opts->keep_existing;
    if (skip || other) {
        c->report->skipped++;
        c->transfer.total -= object->size;
        ash_object_free(there);
        return 0;
    }
    ash_error own = ASH_ERROR_INIT;
    rc = c->opts->dry_run ? 0 : bring(c, object, there, &own);
    ash_object_free(there);
    if (rc == ASH_ECORRUPT || is_passed_over(rc)) {
        c->report->failed++;
        return 0;
    }
    if (rc != 0) {
        if (err != NULL)
            *err = own;
        return rc;
    }
    c->report->objects++;
    c->report->bytes += object->size;
    return told(c, object, err);
}

/* ---- all of them ---- */

static int list(const copy_run *c, ash_object_listing **out, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    o.prefix = c->opts->prefix;
    o.filter = c->opts->filter;
    o.deleted = c->opts->deleted;
    return ash_object_store_list(c->transfer.from, &o, c->transfer.op, out, err);
}

static int add_up(copy_run *c, ash_error *err)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    if (c->opts->progress == NULL)
        return 0;
    int rc = list(c, &l, err);
    while (rc == 0) {
        rc = ash_object_listing_next(l, &o, err);
        if (rc != 0 || o == NULL)
            break;
        c->transfer.total += o->size;
    }
    ash_object_listing_free(l);
    return rc;
}

static int copy_all(copy_run *c, ash_error *err)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    int rc = add_up(c, err);
    if (rc == 0)
        rc = list(c, &l, err);
    while (rc == 0) {
        rc = ash_object_listing_next(l, &o, err);
        if (rc != 0 || o == NULL)
            break;
        rc = copy_one(c, o, err);
    }
    ash_object_listing_free(l);
    if (rc == 0 && c->report->failed > 0)
        rc = ash__fail(err, ASH_EPARTIAL,
                       "%lld objects were left out: damaged, or changed meanwhile",
                       (long long)c->report->failed);
    return rc;
}

int ash_object_store_copy(ash_object_store *from, ash_object_store *to,
                          const ash_object_copy_options *opts, const ash_op *op,
                          ash_object_copy_report *report, ash_error *err)
{
    ash_object_copy_options o;
    ash_object_copy_report own_report = ASH_OBJECT_COPY_REPORT_INIT;
    ash_assert(from != NULL && to != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0) {
        copy_run c = {.transfer = {.from = from,
                                   .to = to,
                                   .op = &own,
                                   .progress = o.progress,
                                   .progress_ctx = o.progress_ctx},
                      .opts = &o,
                      .report = &own_report};
        rc = copy_all(&c, err);
    }
    if (report != NULL)
        (void)ash__out_copy(report, &own_report, sizeof own_report, NULL);
    return rc;
}
