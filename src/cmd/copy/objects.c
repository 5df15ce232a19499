/* SPDX-License-Identifier: Apache-2.0 */
/* Object stores, one after the other.  How an object is brought is the library's matter
 * (ash_object_store_copy). */
#include "cmd/copy/objects.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

struct ash_copy_object_store {
    char *db; /* NULL: its address has none */
    char *name;
    bson_t *lost;  /* what the target has no room for, by names */
    bool left_out; /* the target has no object stores that can be changed */
};

/* One of them, on both sides. */
typedef struct copying {
    ash_copy_objects *all;
    const struct ash_copy_object_store *which;
    ash_op op;
    ash_object_manager *from_manager, *to_manager; /* to_manager NULL: there is no target yet */
    ash_object_store *from, *to;                   /* to NULL: likewise */
    ash_object_status *status;                     /* of from */
    ash_cmd_objects_progress progress;
    bool made;
} copying;

/* ---- both sides ---- */

/* Of a database, where there are some. */
static int open_manager(const ash_cmd_objects *o, const char *db, ash_object_manager **out,
                        ash_error *err)
{
    ash_object_manager_options mo = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    *out = o->manager;
    if (o->store == NULL)
        return 0;
    mo.db = db;
    return ash_object_manager_new(o->store, &mo, out, err);
}

static void close_manager(const ash_cmd_objects *o, ash_object_manager *m)
{
    if (o->store != NULL)
        ash_object_manager_close(m);
}

static int begin(copying *k, ash_copy_objects *c, const struct ash_copy_object_store *which,
                 ash_error *err)
{
    *k = (copying){.all = c, .which = which, .op = ASH_OP_INIT};
    k->op.cancel = &ash__cmd_interrupted;
    k->op.durability = ASH_DURABILITY_EVERY;
    k->progress.progress = c->progress;
    int rc = open_manager(c->from, which->db, &k->from_manager, err);
    if (rc == 0)
        rc = open_manager(c->to, c->to_db != NULL ? c->to_db : which->db, &k->to_manager, err);
    if (rc == 0)
        rc = ash_object_manager_bind(k->from_manager, which->name, &k->op, &k->from, err);
    return rc == 0 ? ash_object_store_status(k->from, &k->op, &k->status, err) : rc;
}

static void end(copying *k)
{
    ash_object_status_free(k->status);
    ash_object_store_close(k->from);
    ash_object_store_close(k->to);
    close_manager(k->all->from, k->from_manager);
    close_manager(k->all->to, k->to_manager);
}

/* ---- which ---- */

/* Is it one of the names?  One may have been given twice. */
static bool is_wanted(ash_copy_objects *c, const char *name)
{
    bool wanted = c->names == NULL;
    for (int i = 0; i < c->name_count; i++)
        if (strcmp(c->names[i], name) == 0)
            wanted = c->found[i] = true;
    return wanted;
}

static int choose(ash_copy_objects *c, const char *db, const char *name, ash_error *err)
{
    if (!is_wanted(c, name))
        return 0;
    for (size_t i = 0; (c->to_db != NULL || c->to->manager != NULL) && i < c->chosen_count; i++)
        if (strcmp(c->chosen[i].name, name) == 0)
            return ash__fail(err, ASH_EINVAL,
                             "object store %s is in database %s and in %s: choose one by -d", name,
                             c->chosen[i].db, db);
    c->chosen = ash__grow_array(c->chosen, c->chosen_count, &c->chosen_capacity, sizeof *c->chosen);
    c->chosen[c->chosen_count++] = (struct ash_copy_object_store){
        .db = db != NULL ? ash__strdup(db) : NULL, .name = ash__strdup(name), .lost = bson_new()};
    return 0;
}

static int choose_of(ash_copy_objects *c, const char *db, ash_error *err)
{
    ash_object_manager *m = NULL;
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    int rc = open_manager(c->from, db, &m, err);
    if (rc == 0)
        rc = ash_object_manager_list(m, NULL, &l, err);
    while (rc == 0 && ash_object_status_listing_next(l, &st, NULL) == 0 && st != NULL)
        rc = choose(c, db, ash_object_status_name(st), err);
    ash_object_status_listing_free(l);
    close_manager(c->from, m);
    return rc;
}

static int visit_database(void *ctx, ash_store *store, const char *db, ash_error *err)
{
    (void)store;
    return choose_of(ctx, db, err);
}

static int choose_all(ash_copy_objects *c, ash_error *err)
{
    int rc = c->from->store != NULL
                 ? ash__cmd_each_database(c->from_cmd, c->from->store, visit_database, c, err)
                 : choose_of(c, NULL, err);
    for (int i = 0; rc == 0 && i < c->name_count; i++)
        if (!c->found[i])
            rc = ash__fail(err, ASH_ENOTFOUND, "there is no object store %s", c->names[i]);
    return rc;
}

void ash__copy_objects_release(ash_copy_objects *c)
{
    for (size_t i = 0; i < c->chosen_count; i++) {
        ash__free(c->chosen[i].db);
        ash__free(c->chosen[i].name);
        bson_destroy(c->chosen[i].lost);
    }
    ash__free(c->chosen);
}

/* ---- what the target has no room for ---- */

/* What a target that is yet to be made keeps, it has from the source. */
static int copy_options(const copying *k, ash_object_copy_options *out, ash_error *err)
{
    const ash_copy_objects *c = k->all;
    ash_object_capabilities can = ASH_OBJECT_CAPABILITIES_INIT;
    int rc = k->to_manager != NULL ? ash_object_manager_capabilities(k->to_manager, &can, err) : 0;
    out->versions = !c->without_history && (k->to_manager == NULL || can.versions);
    out->deleted = c->deleted;
    out->refuse_existing = !c->replace;
    out->dry_run = c->cmd->dry_run;
    return rc;
}

/* *lost: something is. */
static int tell_losses(ash_copy_objects *c, struct ash_copy_object_store *which, bool *lost,
                       ash_error *err)
{
    copying k;
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    ash_error own = ASH_ERROR_INIT;
    int rc = begin(&k, c, which, &own);
    o.versions = !c->without_history;
    if (rc == 0 && k.to_manager != NULL)
        rc = ash_object_store_losses(k.from, k.to_manager, &o, &k.op, which->lost, &own);
    which->left_out = rc == ASH_EUNSUPPORTED;
    if (which->left_out) {
        ash__cmd_warn(c->cmd, "object store %s: the target cannot keep it: %s", which->name,
                      own.text);
    } else if (rc == 0 && !bson_empty(which->lost)) {
        char *names = ash__cmd_objects_names(which->lost);
        ash__cmd_warn(c->cmd, "object store %s: the target cannot keep %s", which->name, names);
        ash__free(names);
    }
    *lost = *lost || which->left_out || !bson_empty(which->lost);
    end(&k);
    return ash__unless(ASH_EUNSUPPORTED, rc, &own, err);
}

int ash__copy_objects_exist(const ash_cmd *from_cmd, const ash_cmd_objects *from,
                            const char *const *names, int name_count, ash_error *err)
{
    const ash_cmd_objects nowhere = {NULL, NULL};
    ash_copy_objects c = {.from_cmd = from_cmd,
                          .from = from,
                          .to = &nowhere,
                          .names = name_count > 0 ? names : NULL,
                          .found = ash__alloc_array((size_t)name_count + 1, sizeof *c.found),
                          .name_count = name_count};
    int rc = choose_all(&c, err);
    if (rc == 0 && c.chosen_count == 0)
        rc = ash__fail(err, ASH_ENOTFOUND, "there is no object store");
    ash__copy_objects_release(&c);
    ash__free(c.found);
    return rc;
}

int ash__copy_objects_choose(ash_copy_objects *c, ash_error *err)
{
    bool lost = false;
    int rc = choose_all(c, err);
    for (size_t i = 0; rc == 0 && i < c->chosen_count; i++)
        rc = tell_losses(c, &c->chosen[i], &lost, err);
    if (rc == 0 && lost && !c->lossy)
        rc = ash__fail(err, ASH_EUNSUPPORTED,
                       "the target cannot keep all of it, and nothing was copied: --lossy goes on "
                       "without that");
    return rc;
}

/* ---- what is told ---- */

static void append_place(const copying *k, bson_t *out)
{
    const ash_copy_objects *c = k->all;
    const char *db = c->to_db != NULL ? c->to_db : k->which->db;
    if (db != NULL && c->to->manager == NULL)
        BSON_APPEND_UTF8(out, "db", db);
    BSON_APPEND_UTF8(out, "objectStore", k->which->name);
}

static bool show(void *ctx, const ash_object *o)
{
    const copying *k = ctx;
    const ash_cmd *cmd = k->all->cmd;
    bson_t out = BSON_INITIALIZER;
    if (cmd->json || cmd->dry_run)
        ash__progress_clear(k->all->progress);
    if (cmd->json) {
        append_place(k, &out);
        BSON_APPEND_UTF8(&out, "name", ash_object_name(o));
        BSON_APPEND_INT64(&out, "size", ash_object_size(o));
        if (ash_object_digest(o)[0] != 0)
            BSON_APPEND_UTF8(&out, "digest", ash_object_digest(o));
        BSON_APPEND_BOOL(&out, "deleted", ash_object_is_deleted(o));
        if (cmd->dry_run)
            BSON_APPEND_BOOL(&out, "dryRun", true);
        ash__cmd_emit(&out);
    } else if (cmd->dry_run) {
        char *name = ash__cmd_printable(ash_object_name(o));
        ash__cmd_say(cmd, "would copy %s > %s", k->which->name, name);
        ash__free(name);
    }
    ash__progress_add(k->all->progress, 0, 1, ash_object_name(o));
    bson_destroy(&out);
    return !ash__cmd_is_interrupted();
}

static void show_failure(void *ctx, const ash_object *o, const ash_error *why)
{
    const copying *k = ctx;
    char *what = ash__sprintf("%s > %s", k->which->name, ash_object_name(o));
    ash_error err = *why;
    ash__cmd_objects_error(&err);
    if (why->code == ASH_EEXISTS)
        (void)ash__fail(&err, ASH_EEXISTS, "%s; --replace replaces it", why->text);
    ash__progress_clear(k->all->progress);
    ash__cmd_fail(k->all->cmd, what, &err);
    ash__free(what);
}

static void report(const copying *k, const ash_object_copy_report *r)
{
    bson_t out = BSON_INITIALIZER;
    if (k->all->cmd->json) {
        append_place(k, &out);
        BSON_APPEND_BOOL(&out, "made", k->made);
        BSON_APPEND_INT64(&out, "copied", r->objects);
        BSON_APPEND_INT64(&out, "versions", r->versions);
        BSON_APPEND_INT64(&out, "bytes", r->bytes);
        BSON_APPEND_INT64(&out, "present", r->skipped);
        BSON_APPEND_INT64(&out, "failed", r->failed);
        BSON_APPEND_ARRAY(&out, "lost", k->which->lost);
        if (k->all->cmd->dry_run)
            BSON_APPEND_BOOL(&out, "dryRun", true);
        ash__progress_clear(k->all->progress);
        ash__cmd_emit(&out);
    }
    bson_destroy(&out);
}

/* ---- one store ---- */

static int make_target(copying *k, ash_object_config *fitting, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_object_manager_create(k->to_manager, fitting, &k->op, &k->to, &own);
    /* A server by itself has no replicas, another cluster other names. */
    if (rc != 0 && k->all->lossy && fitting->replicas > 1) {
        ash__cmd_warn(k->all->cmd, "object store %s: it is made without its placement: %s",
                      k->which->name, own.text);
        fitting->replicas = 0;
        fitting->cluster = NULL;
        fitting->placement_tags = NULL;
        return ash_object_manager_create(k->to_manager, fitting, &k->op, &k->to, err);
    }
    return ash__unless(0, rc, &own, err);
}

/* Made as the source is, as far as the target can; one that is there keeps what it is. */
static int bind_target(copying *k, ash_error *err)
{
    const ash_copy_objects *c = k->all;
    ash_object_config source = ASH_OBJECT_CONFIG_INIT, fitting = ASH_OBJECT_CONFIG_INIT;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_object_manager_bind(k->to_manager, k->which->name, &k->op, &k->to, &own);
    bool missing = rc == ASH_ENOTFOUND;
    k->made = missing;
    if ((rc != 0 && !missing) || (missing && c->cmd->dry_run))
        return ash__unless(ASH_ENOTFOUND, rc, &own, err);
    rc = ash_object_status_config(k->status, &source, err);
    if (rc == 0)
        rc =
            ash_object_config_fit(&source, k->to_manager, !c->without_history, &fitting, NULL, err);
    if (rc != 0 || (!missing && c->cmd->dry_run))
        return rc;
    if (!missing) {
        /* Whether it is the same, making it tells. */
        if (ash_object_manager_create(k->to_manager, &fitting, &k->op, NULL, &own) == ASH_EEXISTS) {
            ash__cmd_objects_error(&own);
            ash__cmd_note(c->cmd, "%s, and stays so", own.text);
        }
        return 0;
    }
    return make_target(k, &fitting, err);
}

static int copy_objects(copying *k, ash_object_copy_report *r, ash_error *err)
{
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    int rc = copy_options(k, &o, err);
    if (rc != 0)
        return rc;
    o.each = show;
    o.failed = show_failure;
    o.each_ctx = o.failed_ctx = k;
    o.progress = ash__cmd_objects_progress_fn;
    o.progress_ctx = &k->progress;
    rc = ash_object_store_copy(k->from, k->to, &o, &k->op, r, err);
    return rc == ASH_EPARTIAL ? 0 : rc;
}

static void add_up(ash_copy_objects *c, const ash_object_copy_report *r)
{
    c->stores++;
    c->objects += r->objects;
    c->versions += r->versions;
    c->bytes += r->bytes;
    c->present += r->skipped;
    c->failed += r->failed;
}

static int copy_store(ash_copy_objects *c, const struct ash_copy_object_store *which,
                      ash_error *err)
{
    copying k;
    ash_object_copy_report r = ASH_OBJECT_COPY_REPORT_INIT;
    int rc = begin(&k, c, which, err);
    if (rc == 0 && k.to_manager != NULL)
        rc = bind_target(&k, err);
    if (rc == 0)
        rc = copy_objects(&k, &r, err);
    add_up(c, &r);
    if (rc == 0) {
        report(&k, &r);
        if (ash_object_status_is_sealed(k.status) && !c->cmd->dry_run && k.made)
            ash__cmd_note(c->cmd, "object store %s is sealed; its copy is not (ashlar object seal)",
                          which->name);
    }
    end(&k);
    return rc;
}

static void say_sum(const ash_copy_objects *c)
{
    char size[32];
    ash__cmd_print_size(size, sizeof size, c->bytes);
    ash__cmd_say(c->cmd,
                 "%s%" PRId64 " object%s (%s) of %" PRId64 " object store%s, %" PRId64
                 " earlier version%s, %" PRId64 " there already, %" PRId64 " failed",
                 c->cmd->dry_run ? "would copy " : "copied ", c->objects, ash__cmd_s(c->objects),
                 size, c->stores, ash__cmd_s(c->stores), c->versions, ash__cmd_s(c->versions),
                 c->present, c->failed);
}

int ash__copy_objects(ash_copy_objects *c, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->chosen_count; i++)
        rc = c->chosen[i].left_out ? 0 : copy_store(c, &c->chosen[i], err);
    ash__progress_clear(c->progress);
    if (c->chosen_count > 0)
        say_sum(c);
    return rc;
}
