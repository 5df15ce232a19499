/* SPDX-License-Identifier: Apache-2.0 */
/* `keep`, `prune` and `gc`: how much of the past there is. */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

/* As units are typed: "30d", "22h 30m". */
static void print_period(char *buf, size_t size, int64_t seconds)
{
    static const struct {
        int64_t seconds;
        char letter;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t at = 0;
    buf[0] = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(units); i++) {
        int64_t count = seconds / units[i].seconds;
        seconds %= units[i].seconds;
        if (count > 0 && at < size)
            at += (size_t)snprintf(buf + at, size - at, "%s%" PRId64 "%c", at > 0 ? " " : "", count,
                                   units[i].letter);
    }
}

/* The two options that both verbs have; *given: there is one. */
static int read_rule(const ash_cmd *cmd, const char *last, const char *within, ash_tree_keep *keep,
                     bool *given)
{
    int64_t number = 0;
    int status = 0;
    *keep = (ash_tree_keep)ASH_TREE_KEEP_INIT;
    *given = last != NULL || within != NULL;
    if (last != NULL)
        status = ash__cmd_number(cmd, "last", last, 0, INT32_MAX, &number);
    keep->last = (int32_t)number;
    if (status == 0 && within != NULL)
        status = ash__cmd_age(cmd, "within", within, 1, INT64_C(1) << 40, &keep->within_s);
    return status;
}

/* ---- keep ---- */

enum { KEEP_LAST = ASH_CMD_TREE_FIRST_OPTION, KEEP_WITHIN, KEEP_ALL, KEEP_INHERIT };
static const ash_cmd_option keep_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "last", "N", "the N versions of each file before the newest"},
    {0, "within", "TIME", "versions that were current within that time: 12h, 30d, \"2 weeks\""},
    {0, "all", NULL, "everything: what counts where no rule is"},
    {0, "inherit", NULL, "no rule of its own: that of the folder above counts"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static void say_rule(const ash_cmd_tree_run *r, const char *path, const ash_tree_keep *keep,
                     const char *from)
{
    char period[40], last[48] = "", within[80] = "", by[300] = "";
    print_period(period, sizeof period, keep->within_s);
    if (keep->last > 0)
        snprintf(last, sizeof last, "%" PRId32 " before the newest", keep->last);
    if (keep->within_s > 0)
        snprintf(within, sizeof within, "%swhat was current within %s",
                 last[0] != 0 ? ", and " : "", period);
    if (from != NULL && strcmp(from, path) != 0)
        snprintf(by, sizeof by, " (by the rule of %.250s)", from);
    if (keep->all)
        ash__cmd_say(r->cmd, "%s keeps all versions%s", path, by);
    else if (last[0] == 0 && within[0] == 0)
        ash__cmd_say(r->cmd, "%s keeps no version but the newest%s", path, by);
    else
        ash__cmd_say(r->cmd, "%s keeps %s%s%s", path, last, within, by);
}

static int show_rule(ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    ash_tree_entry *entry = NULL;
    char *from = NULL;
    bson_t object = BSON_INITIALIZER;
    int rc = ash_tree_get(r->tree, path, NULL, &r->op, &entry, err);
    if (rc == 0)
        rc = ash_tree_get_keep(r->tree, path, &r->op, &keep, &from, err);
    if (rc == 0 && r->cmd->json) {
        BSON_APPEND_UTF8(&object, "path", ash_tree_entry_path(entry));
        BSON_APPEND_BOOL(&object, "all", keep.all);
        BSON_APPEND_INT32(&object, "last", keep.last);
        BSON_APPEND_INT64(&object, "withinSeconds", keep.within_s);
        if (from != NULL)
            BSON_APPEND_UTF8(&object, "from", from);
        ash__cmd_emit(&object);
    } else if (rc == 0) {
        say_rule(r, ash_tree_entry_path(entry), &keep, from);
    }
    bson_destroy(&object);
    ash_tree_string_free(from);
    ash_tree_entry_free(entry);
    return rc;
}

static int keep_rule(ash_cmd_tree_run *r, ash_error *err)
{
    const char *path = r->args->words[0];
    const char *const *values = r->args->values;
    bool inherit = values[KEEP_INHERIT] != NULL, given;
    ash_tree_keep keep;
    int status = read_rule(r->cmd, values[KEEP_LAST], values[KEEP_WITHIN], &keep, &given);
    if (status != 0)
        return status;
    keep.all = values[KEEP_ALL] != NULL;
    if (given + keep.all + inherit > 1)
        return ash__cmd_usage(r->cmd, "--all, --inherit, and --last with --within cannot be had "
                                      "together");
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    int rc = ash__cmd_tree_no_id(path, err);
    if (rc == 0 && (given || keep.all || inherit))
        rc = ash_tree_set_keep(r->tree, path, inherit ? NULL : &keep, &o, &r->op, err);
    return rc == 0 ? show_rule(r, path, err) : rc;
}

static int run_keep(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, keep_rule);
}

const ash_cmd_verb ash__cmd_tree_keep = {
    .name = "tree keep",
    .group = "trees",
    .synopsis = "[--last N] [--within TIME] [--all] [--inherit] PATH",
    .summary = "say how many versions a folder keeps",
    .details =
        "The rule of the nearest folder counts, and `ashlar tree prune` goes by it.  A version "
        "stays when either part of\n"
        "the rule keeps it, or when it is tagged.  Without options: the rule that counts.",
    .options = keep_options,
    .min_words = 1,
    .max_words = 1,
    .run = run_keep,
};

/* ---- prune ---- */

enum { PRUNE_LAST = ASH_CMD_TREE_FIRST_OPTION, PRUNE_WITHIN };
static const ash_cmd_option prune_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "last", "N", "keep N versions of each file before the newest, whatever the rules are"},
    {0, "within", "TIME", "keep versions that were current within that time, likewise"},
    ASH_CMD_TREE_NO_OPTION,
};

static bool tell_pruned(void *ctx, const ash_tree_entry *e)
{
    const ash_cmd_tree_run *r = ctx;
    char *id = ash__cmd_id_text(ash_tree_entry_id(e)); /* a deletion has no path of its own */
    const char *path = ash_tree_entry_path(e);
    if (!ash__cmd_tree_emit(r, e, NULL, NULL) && (r->cmd->dry_run || r->cmd->verbose > 0))
        ash__cmd_say(r->cmd, "%s %s%s@%" PRId32 "%s", r->cmd->dry_run ? "would forget" : "forgot",
                     path[0] != 0 ? "" : "id:", path[0] != 0 ? path : id, ash_tree_entry_version(e),
                     ash_tree_entry_is_deleted(e) ? " (its deletion)" : "");
    ash__free(id);
    return !ash__cmd_is_interrupted();
}

static void emit_pruned(const ash_cmd_tree_run *r, const ash_tree_prune_report *report)
{
    bson_t object = BSON_INITIALIZER;
    BSON_APPEND_INT64(&object, "versions", report->versions);
    BSON_APPEND_INT64(&object, "bytes", report->bytes);
    if (r->cmd->dry_run)
        BSON_APPEND_BOOL(&object, "dryRun", true);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static int prune(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_prune_report report = ASH_TREE_PRUNE_REPORT_INIT;
    ash_tree_keep keep;
    bool given;
    char size[32], number[ASH_CMD_TREE_NUMBER_BYTES];
    int status = read_rule(r->cmd, r->args->values[PRUNE_LAST], r->args->values[PRUNE_WITHIN],
                           &keep, &given);
    if (status != 0)
        return status;
    o.keep = given ? &keep : NULL;
    o.dry_run = r->cmd->dry_run;
    o.each = tell_pruned;
    o.each_ctx = r;
    const char *path = r->args->count > 0 ? r->args->words[0] : "/";
    int rc = ash__cmd_tree_no_id(path, err);
    if (rc == 0)
        rc = ash_tree_prune(r->tree, path, &o, &r->op, &report, err);
    ash__cmd_print_size(size, sizeof size, report.bytes);
    if (r->cmd->json && (rc == 0 || report.versions > 0))
        emit_pruned(r, &report);
    else if (rc == 0 || report.versions > 0)
        ash__cmd_say(r->cmd, "%s %s version%s (%s)", o.dry_run ? "would forget" : "forgot",
                     ash__cmd_tree_number(number, report.versions), ash__cmd_s(report.versions),
                     size);
    return rc;
}

static int run_prune(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, prune);
}

const ash_cmd_verb ash__cmd_tree_prune = {
    .name = "tree prune",
    .group = "trees",
    .synopsis = "[--last N] [--within TIME] [PATH]",
    .summary = "forget versions that no rule keeps",
    .details =
        "The newest versions and those with a tag always stay.  `ashlar tree gc` gives their "
        "space back afterwards.",
    .options = prune_options,
    .max_words = 1,
    .has_dry_run = true,
    .run = run_prune,
};

/* ---- gc ---- */

enum { MIN_AGE = ASH_CMD_TREE_FIRST_OPTION };
static const ash_cmd_option gc_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {0, "min-age", "TIME",
     "leave contents that are younger, which somebody may be about to use (default 1h)"},
    ASH_CMD_TREE_NO_OPTION,
};

static bool tell_collected(void *ctx, const char *digest, int64_t stored)
{
    const ash_cmd_tree_run *r = ctx;
    bson_t object = BSON_INITIALIZER;
    BSON_APPEND_UTF8(&object, "digest", digest);
    BSON_APPEND_INT64(&object, "stored", stored);
    BSON_APPEND_BOOL(&object, "dryRun", r->cmd->dry_run);
    if (r->cmd->json)
        ash__cmd_emit(&object);
    else if (r->cmd->dry_run || r->cmd->verbose > 0)
        ash__cmd_say(r->cmd, "%s %s", r->cmd->dry_run ? "would delete" : "deleted", digest);
    bson_destroy(&object);
    return !ash__cmd_is_interrupted();
}

static void emit_collected(const ash_cmd_tree_run *r, const ash_tree_collect_report *report)
{
    bson_t object = BSON_INITIALIZER;
    BSON_APPEND_INT64(&object, "lookedAt", report->looked_at);
    BSON_APPEND_INT64(&object, "contents", report->contents);
    BSON_APPEND_INT64(&object, "bytes", report->bytes);
    BSON_APPEND_INT64(&object, "young", report->young);
    BSON_APPEND_BOOL(&object, "dryRun", r->cmd->dry_run);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static void say_collected(const ash_cmd_tree_run *r, const ash_tree_collect_report *report)
{
    char size[32], looked[ASH_CMD_TREE_NUMBER_BYTES], gone[ASH_CMD_TREE_NUMBER_BYTES],
        young[96] = "";
    char number[ASH_CMD_TREE_NUMBER_BYTES];
    ash__cmd_print_size(size, sizeof size, report->bytes);
    if (report->young > 0)
        snprintf(young, sizeof young, "; %s unused, but too young to go",
                 ash__cmd_tree_number(number, report->young));
    ash__cmd_say(r->cmd, "looked at %s content%s, %s %s (%s)%s",
                 ash__cmd_tree_number(looked, report->looked_at), ash__cmd_s(report->looked_at),
                 r->cmd->dry_run ? "would delete" : "deleted",
                 ash__cmd_tree_number(gone, report->contents), size, young);
}

static int collect(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_collect_options o = ASH_TREE_COLLECT_OPTIONS_INIT;
    ash_tree_collect_report report = ASH_TREE_COLLECT_REPORT_INIT;
    const char *age = r->args->values[MIN_AGE];
    o.dry_run = r->cmd->dry_run;
    o.each = tell_collected;
    o.each_ctx = r;
    if (age != NULL) {
        int status = ash__cmd_age(r->cmd, "min-age", age, 0, INT64_C(1) << 40, &o.min_age_s);
        if (status != 0)
            return status;
        o.min_age_s = o.min_age_s == 0 ? -1 : o.min_age_s;
    }
    int rc = ash_tree_collect(r->tree, &o, &r->op, &report, err);
    if (r->cmd->json && (rc == 0 || report.contents > 0))
        emit_collected(r, &report);
    else if (rc == 0 || report.contents > 0)
        say_collected(r, &report);
    return rc;
}

static int run_gc(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, collect);
}

const ash_cmd_verb ash__cmd_tree_gc = {
    .name = "tree gc",
    .group = "trees",
    .synopsis = "[--min-age TIME]",
    .summary = "delete contents that no version has any more",
    .details =
        "Of all trees in the collection.  Whoever writes meanwhile is not disturbed.  --min-age "
        "0 takes also what an upload\n"
        "that is running has just stored, which then stores it again.",
    .options = gc_options,
    .max_words = 0,
    .has_dry_run = true,
    .run = run_gc,
};
