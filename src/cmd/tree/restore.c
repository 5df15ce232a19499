/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>

enum { RECURSIVE = ASH_CMD_TREE_FIRST_OPTION, AT, BY };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'r', "recursive", NULL, "a folder and all below it become what they were at PATH@{TIME}"},
    ASH_CMD_TREE_AT_OPTION,
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

/* ---- a folder ---- */

/* What is told of each kind of change: in JSON; to a person, done and not. */
static const struct {
    const char *key, *done, *planned;
} changes[] = {
    [ASH_TREE_CREATED] = {"created", "brought back", "would bring back"},
    [ASH_TREE_CHANGED] = {"changed", "restored", "would restore"},
    [ASH_TREE_MOVED] = {"moved", "moved back", "would move back"},
    [ASH_TREE_DELETED] = {"deleted", "removed", "would remove"},
};

static bool tell_change(void *ctx, const ash_tree_event *event)
{
    const ash_cmd_tree_run *r = ctx;
    if (r->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_tree_object(event->entry, &object);
        BSON_APPEND_UTF8(&object, "change", changes[event->kind].key);
        if (event->from != NULL)
            BSON_APPEND_UTF8(&object, "from", event->from);
        if (r->cmd->dry_run)
            BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
        bson_destroy(&object);
    } else {
        const char *from = event->from != NULL ? event->from : "";
        ash__cmd_say(r->cmd, "%s %s%s%s%s",
                     r->cmd->dry_run ? changes[event->kind].planned : changes[event->kind].done,
                     from, from[0] != 0 ? " to " : "", event->path,
                     ash_tree_entry_is_folder(event->entry) ? "/" : "");
    }
    return !ash__cmd_is_interrupted() && !ferror(stdout);
}

static void tell_failure(void *ctx, const char *text, const bson_t *facts)
{
    const ash_cmd_tree_run *r = ctx;
    ash_error err = ASH_ERROR_INIT;
    (void)facts;
    (void)ash__fail(&err, ASH_EPARTIAL, "%s", text);
    ash__cmd_fail(r->cmd, NULL, &err);
}

static void say_sum(const ash_cmd_tree_run *r, const ash_tree_restore_report *report)
{
    const struct {
        const char *key, *title;
        int64_t count;
    } parts[] = {{"created", "brought back", report->created},
                 {"changed", "restored", report->changed},
                 {"moved", "moved back", report->moved},
                 {"deleted", "removed", report->deleted},
                 {"unchanged", "unchanged", report->unchanged}};
    char number[ASH_CMD_TREE_NUMBER_BYTES];
    ash_buffer line = ASH_BUFFER_INIT;
    bson_t object = BSON_INITIALIZER;
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        BSON_APPEND_INT64(&object, parts[i].key, parts[i].count);
        ash__buffer_printf(&line, "%s%s %s", i > 0 ? ", " : "",
                           ash__cmd_tree_number(number, parts[i].count), parts[i].title);
    }
    BSON_APPEND_INT64(&object, "failed", report->failed);
    if (r->cmd->dry_run)
        BSON_APPEND_BOOL(&object, "dryRun", true);
    if (r->cmd->json)
        ash__cmd_emit(&object);
    else
        ash__cmd_say(r->cmd, "%s%s", r->cmd->dry_run ? "would be: " : "", ash__buffer_text(&line));
    ash__buffer_release(&line);
    bson_destroy(&object);
}

/* All of it is on the disk when the last line is said. */
static int restore_folder(ash_cmd_tree_run *r, const ash_cmd_tree_address *a, ash_error *err)
{
    ash_tree_restore_options o = ASH_TREE_RESTORE_OPTIONS_INIT;
    ash_tree_restore_report report = ASH_TREE_RESTORE_REPORT_INIT;
    ash_op op = r->op;
    op.durability = ASH_DURABILITY_INTERVAL;
    o.at_ms = a->when.at_ms;
    o.dry_run = r->cmd->dry_run;
    o.changed_by = r->by;
    o.each = tell_change;
    o.failed = tell_failure;
    o.each_ctx = o.failed_ctx = r;
    int rc = ash_tree_restore_folder(r->tree, a->path, &o, &op, &report, err);
    if (!o.dry_run) {
        int flushed = ash_store_flush(r->store, NULL, rc == 0 ? err : NULL);
        rc = rc == 0 ? flushed : rc;
    }
    if (rc == 0 || rc == ASH_EPARTIAL || rc == ASH_EINTERRUPTED)
        say_sum(r, &report);
    return rc;
}

/* ---- a version ---- */

static void say_restored(const ash_cmd_tree_run *r, const ash_tree_entry *e, int32_t version,
                         bool differs)
{
    if (ash__cmd_tree_emit(r, e, NULL, NULL))
        return;
    bool folder = ash_tree_entry_is_folder(e);
    int32_t now = ash_tree_entry_version(e);
    if (!differs && !folder)
        ash__cmd_say(r->cmd, "%s says what version %" PRId32 " said: still version %" PRId32,
                     ash_tree_entry_path(e), version, now);
    else
        ash__cmd_say(r->cmd, "%s %s as of version %" PRId32 ": %s version %" PRId32 "%s",
                     r->cmd->dry_run ? "would restore" : "restored", ash_tree_entry_path(e),
                     version, differs ? "now" : "still", now + (differs && r->cmd->dry_run ? 1 : 0),
                     folder
                         ? " (restore -r does it with all below it); what lies in it stays as it "
                           "is"
                         : "");
}

/* The path that stands before the "@" has to be there: what was deleted is undeleted first. */
static int restore_version(ash_cmd_tree_run *r, const ash_cmd_tree_address *a,
                           const ash_tree_entry *old, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *now = NULL, *entry = NULL;
    int32_t version = ash_tree_entry_version(old);
    int rc = ash_tree_get(r->tree, a->path, NULL, &r->op, &now, err);
    if (rc == ASH_ENOTFOUND)
        rc = ash__cmd_tree_say_gone(r, a->path, err);
    if (rc == 0)
        o.if_version = ash_tree_entry_version(now);
    if (rc == 0 && !r->cmd->dry_run)
        rc = ash_tree_restore(r->tree, a->path, version, &o, &r->op, &entry, err);
    if (rc == 0 && r->cmd->dry_run)
        say_restored(r, now, version, !ash__cmd_tree_says_same(now, old));
    else if (rc == 0)
        say_restored(r, entry, version, ash_tree_entry_version(entry) != o.if_version);
    ash_tree_entry_free(now);
    ash_tree_entry_free(entry);
    return rc;
}

static int restore(ash_cmd_tree_run *r, ash_error *err)
{
    ash_cmd_tree_address a;
    ash_tree_entry *old = NULL;
    bool recursive = r->args->values[RECURSIVE] != NULL;
    int rc = ash__cmd_tree_address(r, r->args->words[0], &a, err);
    if (rc == 0)
        rc = ash__cmd_tree_no_id(r->args->words[0], err);
    if (rc == 0 && (a.path == NULL || (a.when.version == 0 && a.when.at_ms == 0)))
        rc = ash__fail(err, ASH_EINVAL, "say which version: %s",
                       recursive ? "PATH@{TIME} or PATH@TAG"
                                 : "PATH@VERSION, PATH@TAG or PATH@{TIME}");
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &a, &old, err);
    bool folder = rc == 0 && recursive && ash_tree_entry_is_folder(old);
    if (folder)
        rc = ash__cmd_tree_folder_at(&a, old, err);
    if (rc == 0 && folder)
        rc = restore_folder(r, &a, err);
    else if (rc == 0)
        rc = restore_version(r, &a, old, err);
    ash_tree_entry_free(old);
    ash__cmd_tree_address_release(&a);
    return rc;
}

static int run_restore(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, restore);
}

const ash_cmd_verb ash__cmd_tree_restore = {
    .name = "tree restore",
    .group = "trees",
    .synopsis = "[-r] [--at TIME] PATH@VERSION|PATH@TAG|PATH@{TIME}",
    .summary = "make an earlier version the newest, or a folder what it was",
    .details =
        "Its contents, type, time and properties become a new version; name and place stay.  "
        "PATH@{TIME} is the version\n"
        "of then.  Of a folder, what lies in it stays as it is, but with -r: then what was deleted "
        "since comes back, what\n"
        "was changed gets one more version, what was moved within the folder moves back, and of "
        "what was moved out of it a\n"
        "copy comes back; what was made since is removed, and can be undeleted.  Access lists, "
        "rules and tags stay.  -n says\n"
        "beforehand what would be done.  Others may change the folder meanwhile: what they "
        "changed in the same moment is told\n"
        "and left, and the same again does the rest.",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .has_dry_run = true,
    .run = run_restore,
};
