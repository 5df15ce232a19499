/* SPDX-License-Identifier: Apache-2.0 */
/* copy, archive, prune, sweep. */
#include "cmd/object/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static void say_count(const ash_cmd_object_run *r, const char *did, int64_t count, int64_t bytes)
{
    char size[32];
    bson_t out = BSON_INITIALIZER;
    ash__cmd_print_size(size, sizeof size, bytes);
    if (r->cmd->json) {
        BCON_APPEND(&out, did, BCON_INT64(count), "bytes", BCON_INT64(bytes));
        if (r->cmd->dry_run)
            BSON_APPEND_BOOL(&out, "dryRun", true);
        ash__cmd_emit(&out);
    } else {
        ash__cmd_say(r->cmd, "%s%s %" PRId64 " (%s)", r->cmd->dry_run ? "would have " : "", did,
                     count, size);
    }
    bson_destroy(&out);
}

/* ---- copy ---- */

enum {
    COPY_TO = ASH_CMD_OBJECT_FIRST_OPTION,
    COPY_PREFIX,
    COPY_DELETE,
    COPY_KEEP,
    COPY_NO_HISTORY
};
static const ash_cmd_option copy_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [COPY_TO] = {0, "to", "ADDRESS",
                 "the target is there: a folder, mongodb:// or nats:// (default: as -s)"},
    [COPY_PREFIX] = {0, "prefix", "TEXT", "only names that begin so"},
    [COPY_DELETE] = {0, "delete", NULL, "delete in the target what is deleted here"},
    [COPY_KEEP] = {0, "keep", NULL, "leave objects of the target that are others"},
    [COPY_NO_HISTORY] = {0, "no-history", NULL, "without earlier versions"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static void tell_failure(void *ctx, const ash_object *o, const ash_error *why)
{
    const ash_cmd_object_teller *t = ctx;
    ash__progress_clear(t->progress);
    ash__cmd_fail(t->run->cmd, ash_object_name(o), why);
}

static void read_copy_options(const ash_cmd_object_run *r, ash_object_copy_options *o)
{
    o->prefix = ash__cmd_object_value(r, COPY_PREFIX);
    o->deleted = ash__cmd_object_value(r, COPY_DELETE) != NULL;
    o->keep_existing = ash__cmd_object_value(r, COPY_KEEP) != NULL;
    o->versions = ash__cmd_object_value(r, COPY_NO_HISTORY) == NULL;
    o->dry_run = r->cmd->dry_run;
}

/* target NULL: it is not made yet. */
static int copy_into(ash_cmd_object_run *r, ash_object_manager *m, ash_object_store *target,
                     ash_error *err)
{
    ash_object_capabilities can = ASH_OBJECT_CAPABILITIES_INIT;
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    ash_object_copy_report report = ASH_OBJECT_COPY_REPORT_INIT;
    ash_cmd_objects_progress p = {ash__progress_new(r->cmd, 0, 0), 0, 0};
    ash_cmd_object_teller teller = {r, r->cmd->dry_run ? "would copy" : "copied", p.progress};
    read_copy_options(r, &o);
    if (m != NULL && ash_object_manager_capabilities(m, &can, NULL) == 0)
        o.versions = o.versions && can.versions;
    o.each = ash__cmd_object_tell;
    o.failed = tell_failure;
    o.each_ctx = o.failed_ctx = &teller;
    o.progress = ash__cmd_objects_progress_fn;
    o.progress_ctx = &p;
    int rc = ash_object_store_copy(r->objects, target, &o, &r->op, &report, err);
    ash__progress_free(p.progress);
    if (rc == 0 || rc == ASH_EPARTIAL)
        say_count(r, "copied", report.objects, report.bytes);
    return rc;
}

/* The target's words may go elsewhere: what is lost is told by the options' names. */
/* What the target's manager has no room for; before anything is made there. */
static int tell_lost(const ash_cmd_object_run *r, ash_object_manager *m, ash_error *err)
{
    ash_object_copy_options o = ASH_OBJECT_COPY_OPTIONS_INIT;
    bson_t lost = BSON_INITIALIZER;
    read_copy_options(r, &o);
    int rc = ash_object_store_losses(r->objects, m, &o, &r->op, &lost, err);
    if (rc == 0 && !bson_empty(&lost)) {
        char *names = ash__cmd_objects_names(&lost);
        ash__cmd_warn(r->cmd, "the target cannot keep %s, and gets the rest", names);
        ash__free(names);
    }
    bson_destroy(&lost);
    return rc;
}

/* As the source is, but for what only its backend has. */
static int make_target(ash_cmd_object_run *r, ash_object_manager *m, const char *name,
                       ash_object_store **out, ash_error *err)
{
    ash_object_config source = ASH_OBJECT_CONFIG_INIT, c = ASH_OBJECT_CONFIG_INIT;
    ash_object_status *st = NULL;
    int rc = ash_object_store_status(r->objects, &r->op, &st, err);
    if (rc == 0)
        rc = ash_object_status_config(st, &source, err);
    if (rc == 0)
        rc = ash_object_config_fit(&source, m, ash__cmd_object_value(r, COPY_NO_HISTORY) == NULL,
                                   &c, NULL, err);
    c.name = name;
    if (rc == 0)
        rc = ash_object_manager_create(m, &c, &r->op, out, err);
    ash_object_status_free(st);
    return rc;
}

/* m NULL: there is no store yet that it could be in.  In a dry run none is made. */
static int copy_to(ash_cmd_object_run *r, ash_object_manager *m, const char *name, ash_error *err)
{
    ash_object_store *target = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = m != NULL ? tell_lost(r, m, err) : 0;
    if (rc != 0)
        return rc;
    rc = m != NULL ? ash_object_manager_bind(m, name, &r->op, &target, &own) : ASH_ENOTFOUND;
    if (rc == ASH_ENOTFOUND && !r->cmd->dry_run)
        rc = make_target(r, m, name, &target, err);
    else
        rc = ash__unless(ASH_ENOTFOUND, rc, &own, err);
    if (rc == 0)
        rc = copy_into(r, m, target, err);
    ash_object_store_close(target);
    return rc;
}

static int open_there(const ash_cmd_object_run *r, const char *address, ash_cmd_objects *out,
                      ash_error *err)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_cmd there = *r->cmd;
    there.store_uri = address;
    there.db = NULL;
    ash__cmd_object_identity(r, &o);
    if (!there.dry_run || !ash__cmd_is_store(&there))
        return ash__cmd_open_objects(&there, ASH_CMD_WRITE, &o, out, err);
    int rc = ash__cmd_open_if_any(&there, &out->store, err);
    return rc == 0 && out->store != NULL
               ? ash_object_manager_new(out->store, &o, &out->manager, err)
               : rc;
}

static int copy(ash_cmd_object_run *r, ash_error *err)
{
    const char *to = ash__cmd_object_value(r, COPY_TO), *from = r->args->words[0];
    const char *name = r->args->count > 1 ? r->args->words[1] : from;
    ash_cmd_objects there = {NULL, NULL};
    if (to == NULL && strcmp(name, from) == 0)
        return ash__cmd_usage(r->cmd, "a copy needs another name, or --to another address");
    int rc = to != NULL ? open_there(r, to, &there, err) : 0;
    if (rc == 0)
        rc = copy_to(r, to != NULL ? there.manager : r->manager, name, err);
    ash__cmd_close_objects(&there);
    return rc;
}

static int run_copy(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, copy);
}

const ash_cmd_verb ash__cmd_object_copy = {
    .name = "object copy",
    .group = "objects",
    .synopsis = "[--to ADDRESS] [--prefix TEXT] [--delete] [--keep] [--no-history] STORE [TARGET]",
    .summary = "copy a store's objects into another store",
    .details =
        "Into TARGET, which is made as STORE is if it is not there, here or at ADDRESS.  Digests "
        "are compared on both sides; what\n"
        "is there already is left alone, so that the same line goes on after an interruption.  "
        "Earlier versions go along where\n"
        "TARGET keeps them.  What it has no room for is told before anything is made there.  "
        "`ashlar "
        "copy --objects` copies all\n"
        "stores at once.",
    .options = copy_options,
    .min_words = 1,
    .max_words = 2,
    .has_dry_run = true,
    .run = run_copy,
};

/* ---- archive ---- */

enum {
    ARCHIVE_OLDER_THAN = ASH_CMD_OBJECT_FIRST_OPTION,
    ARCHIVE_MIN_SIZE,
    ARCHIVE_PREFIX,
    ARCHIVE_BACK
};
static const ash_cmd_option archive_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [ARCHIVE_OLDER_THAN] = {0, "older-than", "TIME",
                            "only objects that have not changed for so long, as in 30d"},
    [ARCHIVE_MIN_SIZE] = {0, "min-size", "BYTES", "only objects of at least so many"},
    [ARCHIVE_PREFIX] = {0, "prefix", "TEXT", "only names that begin so"},
    [ARCHIVE_BACK] = {0, "back", NULL, "the other way round"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int archive(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_archive_options o = ASH_OBJECT_ARCHIVE_OPTIONS_INIT;
    ash_object_archive_report report = ASH_OBJECT_ARCHIVE_REPORT_INIT;
    ash_cmd_object_teller teller = {r, r->cmd->dry_run ? "would move" : "moved", NULL};
    if (r->archive == NULL)
        return ash__cmd_usage(r->cmd, "--archive STORE says where the bytes go");
    o.back = ash__cmd_object_value(r, ARCHIVE_BACK) != NULL;
    o.prefix = ash__cmd_object_value(r, ARCHIVE_PREFIX);
    o.dry_run = r->cmd->dry_run;
    o.each = ash__cmd_object_tell;
    o.each_ctx = &teller;
    int rc = ash__cmd_object_time(r, ARCHIVE_OLDER_THAN, &o.older_than_ms);
    if (rc == 0)
        rc = ash__cmd_object_bytes(r, ARCHIVE_MIN_SIZE, &o.min_bytes);
    if (rc == 0)
        rc = ash_object_store_archive(r->objects, r->archive, &o, &r->op, &report, err);
    if (rc == 0 || rc == ASH_EPARTIAL)
        say_count(r, "moved", report.objects, report.bytes);
    return rc;
}

static int run_archive(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, archive);
}

const ash_cmd_verb ash__cmd_object_archive = {
    .name = "object archive",
    .group = "objects",
    .synopsis =
        "--archive STORE [--older-than TIME] [--min-size BYTES] [--prefix TEXT] [--back] STORE",
    .summary = "move the bytes of old or large objects to another store",
    .details = "Names and what is said of them stay; the bytes are read back and compared before "
               "those here go.  Who gets such an object\n"
               "says where they are, by the same --archive.",
    .options = archive_options,
    .min_words = 1,
    .max_words = 1,
    .has_dry_run = true,
    .run = run_archive,
};

/* ---- prune ---- */

enum { PRUNE_KEEP = ASH_CMD_OBJECT_FIRST_OPTION, PRUNE_KEEP_WITHIN };
static const ash_cmd_option prune_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [PRUNE_KEEP] = {0, "keep", "N", "of each object, instead of what the store says"},
    [PRUNE_KEEP_WITHIN] = {0, "keep-within", "TIME", "and those that are younger"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int prune(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_prune_options o = ASH_OBJECT_PRUNE_OPTIONS_INIT;
    ash_object_prune_report report = ASH_OBJECT_PRUNE_REPORT_INIT;
    ash_cmd_object_teller teller = {r, r->cmd->dry_run ? "would forget" : "forgot", NULL};
    int64_t keep = 0;
    o.name = ash__cmd_object_word(r, 1);
    o.dry_run = r->cmd->dry_run;
    o.by_rule = ash__cmd_object_value(r, PRUNE_KEEP) != NULL ||
                ash__cmd_object_value(r, PRUNE_KEEP_WITHIN) != NULL;
    o.each = ash__cmd_object_tell;
    o.each_ctx = &teller;
    int rc = ash__cmd_object_number(r, PRUNE_KEEP, 0, INT32_MAX, &keep);
    if (rc == 0)
        rc = ash__cmd_object_time(r, PRUNE_KEEP_WITHIN, &o.keep_within_ms);
    o.keep_last = (int32_t)keep;
    if (rc == 0)
        rc = ash_object_store_prune(r->objects, &o, &r->op, &report, err);
    if (rc == 0)
        say_count(r, "forgotten", report.versions, report.bytes);
    return rc;
}

static int run_prune(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, prune);
}

const ash_cmd_verb ash__cmd_object_prune = {
    .name = "object prune",
    .group = "objects",
    .synopsis = "[--keep N] [--keep-within TIME] STORE [NAME]",
    .summary = "forget versions that no rule keeps",
    .options = prune_options,
    .min_words = 1,
    .max_words = 2,
    .has_dry_run = true,
    .run = run_prune,
};

/* ---- sweep ---- */

enum { SWEEP_MIN_AGE = ASH_CMD_OBJECT_FIRST_OPTION, SWEEP_FORCE };
static const ash_cmd_option sweep_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [SWEEP_MIN_AGE] = {0, "min-age", "TIME", "of bytes that nobody has, from 1m on (default: 24h)"},
    [SWEEP_FORCE] = {'f', "force", NULL, "bytes of any age, when nobody puts"},
    ASH_CMD_OBJECT_NO_OPTION,
};

enum { SWEEP_LEAST_S = 60 };

static int read_age(const ash_cmd_object_run *r, int64_t *age_s)
{
    const char *age = ash__cmd_object_value(r, SWEEP_MIN_AGE);
    bool force = ash__cmd_object_value(r, SWEEP_FORCE) != NULL;
    if (force && age != NULL)
        return ash__cmd_usage(r->cmd, "--force takes bytes of any age: it does not go with "
                                      "--min-age");
    *age_s = force ? -1 : 0;
    int status = age != NULL ? ash__cmd_age(r->cmd, "min-age", age, 0, INT64_C(1) << 40, age_s) : 0;
    if (status == 0 && age != NULL && *age_s < SWEEP_LEAST_S)
        return ash__cmd_usage(r->cmd,
                              "--min-age takes at least 1m, since a put that goes on may be quiet "
                              "for a while, and would lose its bytes; --force takes bytes of any "
                              "age, when nobody puts");
    return status;
}

/* What is passed over for its age takes its place all the same. */
static int add_young(ash_cmd_object_run *r, const ash_object_sweep_options *how,
                     const ash_object_sweep_report *found, ash_object_sweep_report *young,
                     ash_error *err)
{
    ash_object_sweep_options all = *how;
    if (how->min_age_s < 0)
        return 0;
    all.dry_run = true;
    all.min_age_s = -1;
    int rc = ash_object_store_sweep(r->objects, &all, &r->op, young, err);
    if (rc == 0 && how->dry_run) {
        young->orphans -= found->orphans;
        young->bytes -= found->bytes;
    }
    return rc;
}

static void say_swept(const ash_cmd_object_run *r, const ash_object_sweep_report *s,
                      const ash_object_sweep_report *young)
{
    char size[32];
    ash__cmd_print_size(size, sizeof size, s->bytes);
    ash__cmd_say(r->cmd,
                 "%s: %" PRId64 " without an object (%s), %" PRId64 " expired, %" PRId64
                 " of deleted objects",
                 r->cmd->dry_run ? "would go" : "went", s->orphans, size, s->expired,
                 s->tombstones);
    ash__cmd_print_size(size, sizeof size, young->bytes);
    if (young->orphans > 0)
        ash__cmd_say(r->cmd,
                     "%s: %" PRId64 " without an object (%s), too young to tell from a put that "
                     "goes on: --min-age",
                     r->cmd->dry_run ? "would stay" : "stayed", young->orphans, size);
}

static void emit_swept(const ash_cmd_object_run *r, const ash_object_sweep_report *s,
                       const ash_object_sweep_report *young)
{
    bson_t out = BSON_INITIALIZER;
    BCON_APPEND(&out, "orphans", BCON_INT64(s->orphans), "bytes", BCON_INT64(s->bytes), "expired",
                BCON_INT64(s->expired), "tombstones", BCON_INT64(s->tombstones), "young",
                BCON_INT64(young->orphans), "youngBytes", BCON_INT64(young->bytes), "dryRun",
                BCON_BOOL(r->cmd->dry_run));
    ash__cmd_emit(&out);
    bson_destroy(&out);
}

static int sweep(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_sweep_options o = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report s = ASH_OBJECT_SWEEP_REPORT_INIT;
    ash_object_sweep_report young = ASH_OBJECT_SWEEP_REPORT_INIT;
    o.dry_run = r->cmd->dry_run;
    int rc = read_age(r, &o.min_age_s);
    if (rc == 0)
        rc = ash_object_store_sweep(r->objects, &o, &r->op, &s, err);
    if (rc == 0)
        rc = add_young(r, &o, &s, &young, err);
    if (rc == 0 && r->cmd->json)
        emit_swept(r, &s, &young);
    else if (rc == 0)
        say_swept(r, &s, &young);
    return rc;
}

static int run_sweep(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, sweep);
}

const ash_cmd_verb ash__cmd_object_sweep = {
    .name = "object sweep",
    .group = "objects",
    .synopsis = "[--min-age TIME | --force] STORE",
    .summary = "remove what nobody has any more",
    .details = "Objects whose time is over, deleted ones that are to be forgotten, and bytes whose "
               "putting was never finished: those that\n"
               "have been there for --min-age, since younger ones may be of a put that goes on.  "
               "What stays for that reason is told.",
    .options = sweep_options,
    .min_words = 1,
    .max_words = 1,
    .has_dry_run = true,
    .run = run_sweep,
};
