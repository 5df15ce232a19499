/* SPDX-License-Identifier: Apache-2.0 */
/* From one store to another, of any backends. */
#include "object/copy.h"

#include "base/mem.h"
#include "base/options.h"

#include <string.h>

/* Or NULL. */
static int look(ash_copy_run *c, const char *name, ash_object **out, ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    o.deleted = true;
    *out = NULL;
    if (c->transfer.to == NULL)
        return 0;
    int rc = ash_object_store_info(c->transfer.to, name, &o, c->transfer.op, out, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* ---- what is to be brought of a name ---- */

/* The source's, oldest first, from `first` on. */
typedef struct plan {
    ash_copy_past past;
    size_t first;
    bool other; /* the target has something else there */
} plan;

static bool is_live(const ash_object *o)
{
    return o != NULL && !o->deleted;
}

/* As many as the target would forget again need not be brought. */
static void trim(const ash_copy_run *c, plan *p)
{
    size_t most = c->most >= 0 ? (size_t)c->most + 1 : p->past.count;
    size_t surplus = p->past.count > most ? p->past.count - most : 0;
    for (size_t i = 0; i < surplus; i++)
        ash_object_free(p->past.items[i]);
    p->past.count -= surplus;
    memmove(p->past.items, p->past.items + surplus, p->past.count * sizeof *p->past.items);
}

static int plan_with_past(ash_copy_run *c, const ash_object *object, const ash_object *there,
                          plan *p, ash_error *err)
{
    ash_copy_past target = {NULL, 0, 0};
    bool known = true;
    int rc = ash__copy_past(c->transfer.from, object->name, c->transfer.op, &p->past, err);
    if (rc == 0 && p->past.count == 0)
        return ash__fail(err, ASH_ECONFLICT, "%.200s is not there any more", object->name);
    if (rc == 0 && c->keeps_past)
        trim(c, p);
    if (rc == 0 && c->keeps_past && there != NULL)
        rc = ash__copy_past(c->transfer.to, object->name, c->transfer.op, &target, err);
    else if (rc == 0 && there != NULL) {
        target.items = ash__alloc_array(1, sizeof *target.items);
        target.items[target.count++] = ash_object_copy(there);
    }
    if (rc == 0)
        rc = ash__copy_align(c, &p->past, &target, &p->first, &known, err);
    p->other = !known && is_live(there);
    p->first = known ? p->first : 0;
    /* What a deletion ended was forgotten. */
    while (there == NULL && p->first < p->past.count && p->past.items[p->first]->deleted)
        p->first++;
    ash__copy_past_release(&target);
    return rc;
}

static int plan_alone(ash_copy_run *c, const ash_object *object, const ash_object *there, plan *p,
                      ash_error *err)
{
    bool same = there == NULL && object->deleted;
    int rc = there != NULL ? ash__copy_compare(c, object, there, &same, err) : 0;
    p->past.items = ash__alloc_array(1, sizeof *p->past.items);
    p->past.items[p->past.count++] = ash_object_copy(object);
    p->first = same ? 1 : 0;
    p->other = is_live(there);
    return rc;
}

/* Where the target keeps no versions, the source's are but looked at: is it just behind? */
static int make_plan(ash_copy_run *c, const ash_object *object, const ash_object *there, plan *p,
                     ash_error *err)
{
    memset(p, 0, sizeof *p);
    if (c->keeps_past)
        return plan_with_past(c, object, there, p, err);
    int rc = plan_alone(c, object, there, p, err);
    if (rc != 0 || p->first == p->past.count || !p->other || !c->reads_past)
        return rc;
    plan whole = {{NULL, 0, 0}, 0, false};
    rc = plan_with_past(c, object, there, &whole, err);
    p->other = whole.other;
    ash__copy_past_release(&whole.past);
    return rc;
}

/* ---- bringing it ---- */

static int bring_one(ash_copy_run *c, const ash_object *o, ash_object **there, bool final,
                     ash_error *err)
{
    ash_object *made = NULL;
    if (!c->opts->dry_run) {
        int rc = ash__copy_bring(c, o, *there, final, &made, err);
        if (rc != 0)
            return rc;
        ash_object_free(*there);
        *there = made;
    }
    c->report->versions += final ? 0 : 1;
    c->report->bytes += o->size;
    return 0;
}

static int bring_all(ash_copy_run *c, const plan *p, ash_object **there, ash_error *err)
{
    int rc = 0;
    for (size_t i = p->first; rc == 0 && i + 1 < p->past.count; i++)
        c->transfer.total += p->past.items[i]->size;
    for (size_t i = p->first; rc == 0 && i < p->past.count; i++)
        rc = bring_one(c, p->past.items[i], there, i + 1 == p->past.count, err);
    return rc;
}

static int told(const ash_copy_run *c, const ash_object *object, ash_error *err)
{
    if (c->opts->each == NULL || c->opts->each(c->opts->each_ctx, object))
        return 0;
    return ash__fail(err, ASH_EINTERRUPTED, "stopped");
}

/* Damaged, or what the target cannot take; or changed or gone since it was listed: the next run
 * brings that. */
static bool is_passed_over(int rc)
{
    static const int codes[] = {ASH_ECORRUPT,   ASH_ECHUNKMISSING, ASH_ECONFLICT, ASH_ENOTFOUND,
                                ASH_ECONDITION, ASH_ENOREVISION,   ASH_EEXISTS,   ASH_EINVAL,
                                ASH_ETOOBIG,    ASH_ESTATE};
    for (size_t i = 0; i < ASH_ARRAY_LEN(codes); i++)
        if (rc == codes[i])
            return true;
    return false;
}

static int pass_over(ash_copy_run *c, const ash_object *object, const ash_error *why)
{
    c->report->failed++;
    if (c->opts->failed != NULL)
        c->opts->failed(c->opts->failed_ctx, object, why);
    return 0;
}

static int copy_name(ash_copy_run *c, const ash_object *object, ash_object **there, bool *brought,
                     ash_error *err)
{
    plan p;
    int rc = make_plan(c, object, *there, &p, err);
    bool there_already = rc == 0 && p.first == p.past.count;
    bool left = rc == 0 && !there_already && p.other && c->opts->keep_existing;
    if (rc == 0 && !there_already && p.other && c->opts->refuse_existing)
        rc = ash__fail(err, ASH_EEXISTS, "the target has another object of that name");
    *brought = rc == 0 && !there_already && !left;
    if (*brought)
        rc = bring_all(c, &p, there, err);
    ash__copy_past_release(&p.past);
    return rc;
}

static int copy_one(void *ctx, const ash_object *object, ash_error *err)
{
    ash_copy_run *c = ctx;
    ash_object *there = NULL;
    ash_error own = ASH_ERROR_INIT;
    bool brought = false;
    int rc = look(c, object->name, &there, &own);
    if (rc == 0)
        rc = copy_name(c, object, &there, &brought, &own);
    ash_object_free(there);
    if (is_passed_over(rc))
        return pass_over(c, object, &own);
    if (rc != 0)
        return ash__unless(0, rc, &own, err);
    c->report->objects += brought ? 1 : 0;
    c->report->skipped += brought ? 0 : 1;
    c->transfer.total -= brought ? 0 : object->size;
    return brought ? told(c, object, err) : 0;
}

/* ---- all of them ---- */

static int add_size(void *ctx, const ash_object *o, ash_error *err)
{
    ash_copy_run *c = ctx;
    (void)err;
    c->transfer.total += o->size;
    return 0;
}

static int copy_all(ash_copy_run *c, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    int rc = 0;
    o.prefix = c->opts->prefix;
    o.filter = c->opts->filter;
    o.deleted = c->opts->deleted;
    if (c->opts->progress != NULL)
        rc = ash__object_each(c->transfer.from, &o, c->transfer.op, add_size, c, err);
    if (rc == 0)
        rc = ash__object_each(c->transfer.from, &o, c->transfer.op, copy_one, c, err);
    if (rc == 0 && c->report->failed > 0)
        rc = ash__fail(err, ASH_EPARTIAL,
                       "%lld object%s left out: damaged, changed meanwhile, or refused",
                       (long long)c->report->failed, c->report->failed == 1 ? " was" : "s were");
    return rc;
}

/* Does the target keep what a name had before?  One that is yet to be made is as the source. */
static int choose_past(ash_copy_run *c, ash_error *err)
{
    ash_object_store *to = c->transfer.to != NULL ? c->transfer.to : c->transfer.from;
    ash_object_status *st = NULL;
    c->reads_past = c->opts->versions && c->transfer.from->manager->can.versions;
    if (!c->reads_past || !to->manager->can.versions)
        return 0;
    int rc = ash_object_store_status(to, c->transfer.op, &st, err);
    if (rc == 0) {
        const ash_object_config *k = &st->config.config;
        c->keeps_past = k->keep_last != 0 || k->keep_within_ms != 0;
        c->most = k->keep_within_ms == 0 ? k->keep_last : -1;
    }
    ash_object_status_free(st);
    return rc;
}

int ash_object_store_copy(ash_object_store *from, ash_object_store *to,
                          const ash_object_copy_options *opts, const ash_op *op,
                          ash_object_copy_report *report, ash_error *err)
{
    ash_object_copy_options o;
    ash_object_copy_report own_report = ASH_OBJECT_COPY_REPORT_INIT;
    ash_assert(from != NULL);
    ash_op own = ash__op_of(op);
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    ash_assert(rc != 0 || to != NULL || o.dry_run);
    if (rc == 0)
        rc = ash__object_outside(&own, err);
    if (rc == 0) {
        ash_copy_run c = {.transfer = {.from = from,
                                       .to = to,
                                       .op = &own,
                                       .progress = o.progress,
                                       .progress_ctx = o.progress_ctx,
                                       .finds_archives = true},
                          .opts = &o,
                          .report = &own_report};
        rc = choose_past(&c, err);
        if (rc == 0)
            rc = copy_all(&c, err);
        ash__transfer_end(&c.transfer);
    }
    if (report != NULL)
        (void)ash__out_copy(report, &own_report, sizeof own_report, NULL);
    return rc;
}
