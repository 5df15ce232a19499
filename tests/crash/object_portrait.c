/* SPDX-License-Identifier: Apache-2.0 */
#include "object_steps.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

/* ---- what there is ---- */

static void add_object(const ash_object *o, const char *what, ash_buffer *out)
{
    ash__buffer_printf(out, "%s %s %llu%s %lld in %lld, %s \"%s\"", what, ash_object_name(o),
                       (unsigned long long)ash_object_revision(o),
                       ash_object_is_deleted(o) ? " deleted" : "", (long long)ash_object_size(o),
                       (long long)ash_object_chunks(o), ash_object_digest(o),
                       ash_object_description(o));
    for (size_t i = 0; i < ash_object_tag_count(o); i++)
        ash__buffer_printf(out, " #%s", ash_object_tag(o, i));
    if (ash_object_is_link(o))
        ash__buffer_printf(out, " -> %s", ash_object_link_name(o));
    ash__buffer_append_byte(out, '\n');
}

typedef int (*object_fn)(object_worker *w, const ash_object *o, void *ctx, ash_error *err);

/* Takes over the listing. */
static int each(object_worker *w, ash_object_listing *l, object_fn fn, void *ctx, ash_error *err)
{
    const ash_object *o = NULL;
    int rc = 0;
    while (rc == 0 && (rc = ash_object_listing_next(l, &o, err)) == 0 && o != NULL)
        rc = fn(w, o, ctx, err);
    ash_object_listing_free(l);
    return rc;
}

static int add_version(object_worker *w, const ash_object *o, void *ctx, ash_error *err)
{
    (void)w;
    (void)err;
    add_object(o, "-", ctx);
    return 0;
}

/* Also of names that have no object any more. */
static int add_versions(object_worker *w, ash_buffer *out, ash_error *err)
{
    int rc = 0;
    for (char name[2] = "a"; rc == 0 && name[0] <= 'h'; name[0]++) {
        ash_object_listing *l = NULL;
        rc = ash_object_store_versions(w->objects, name, 0, NULL, &l, err);
        if (rc == 0)
            rc = each(w, l, add_version, out, err);
    }
    return rc;
}

static int add_current(object_worker *w, const ash_object *o, void *ctx, ash_error *err)
{
    (void)w;
    (void)err;
    add_object(o, "now", ctx);
    return 0;
}

static int list_all(object_worker *w, object_fn fn, void *ctx, ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *l = NULL;
    o.deleted = true;
    o.by_name = true;
    int rc = ash_object_store_list(w->objects, &o, NULL, &l, err);
    return rc == 0 ? each(w, l, fn, ctx, err) : rc;
}

static int add_status(object_worker *w, ash_buffer *out, ash_error *err)
{
    ash_object_status *st = NULL;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    int rc = ash_object_store_status(w->objects, NULL, &st, err);
    if (rc == 0)
        rc = ash_object_status_config(st, &config, err);
    if (rc == 0)
        ash__buffer_printf(out, "revision %llu, %lld objects, %lld bytes%s, \"%s\"\n",
                           (unsigned long long)ash_object_status_revision(st),
                           (long long)ash_object_status_objects(st),
                           (long long)ash_object_status_bytes(st),
                           ash_object_status_is_sealed(st) ? ", sealed" : "",
                           config.description != NULL ? config.description : "");
    ash_object_status_free(st);
    return rc;
}

int object_portrait(object_worker *w, ash_buffer *out, ash_error *err)
{
    ash__buffer_clear(out);
    if (w->objects == NULL) {
        ash__buffer_append_text(out, "none\n");
        return 0;
    }
    int rc = list_all(w, add_current, out, err);
    if (rc == 0 && w->thread % 2 == 1)
        rc = add_versions(w, out, err);
    return rc == 0 ? add_status(w, out, err) : rc;
}

/* ---- bytes ---- */

/* The digest is compared when the end is reached. */
static int read_object(object_worker *w, const ash_object *o, void *ctx, ash_error *err)
{
    static uint8_t buf[65536];
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object_reader *r = NULL;
    size_t got = 1;
    (void)ctx;
    if (ash_object_is_deleted(o) || ash_object_is_link(o))
        return 0;
    opts.revision = w->thread % 2 == 1 ? ash_object_revision(o) : 0;
    int rc = ash_object_store_open_reader(w->objects, ash_object_name(o), &opts, NULL, &r, err);
    while (rc == 0 && got > 0)
        rc = ash_object_reader_read(r, buf, sizeof buf, &got, err);
    ash_object_reader_free(r);
    if (rc != 0)
        ash__error_prefix(err, "%s at %llu", ash_object_name(o),
                          (unsigned long long)ash_object_revision(o));
    return rc;
}

int object_read_all(object_worker *w, ash_error *err)
{
    int rc = 0;
    if (w->objects == NULL)
        return 0;
    if (w->thread % 2 == 0)
        return list_all(w, read_object, NULL, err);
    for (char name[2] = "a"; rc == 0 && name[0] <= 'h'; name[0]++) {
        ash_object_listing *l = NULL;
        rc = ash_object_store_versions(w->objects, name, 0, NULL, &l, err);
        if (rc == 0)
            rc = each(w, l, read_object, NULL, err);
    }
    return rc;
}

/* ---- what nobody has ---- */

int object_sweep(object_worker *w, int64_t *left, ash_error *err)
{
    ash_object_sweep_options o = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report report = ASH_OBJECT_SWEEP_REPORT_INIT;
    *left = 0;
    if (w->objects == NULL)
        return 0;
    o.min_age_s = -1;
    int rc = ash_object_store_sweep(w->objects, &o, NULL, NULL, err);
    o.dry_run = true;
    if (rc == 0)
        rc = ash_object_store_sweep(w->objects, &o, NULL, &report, err);
    *left = report.orphans;
    return rc;
}
