/* SPDX-License-Identifier: Apache-2.0 */
/* `mkdir`, `mv`, `cp` and `rm`. */
#include "cmd/tree/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static void report(const ash_cmd_tree_run *r, const char *did, const ash_tree_entry *e,
                   const char *from)
{
    const char *path = e != NULL ? ash_tree_entry_path(e) : "";
    if (ash__cmd_tree_emit(r, e, from != NULL ? "from" : NULL, from))
        return;
    if (from != NULL)
        ash__cmd_say(r->cmd, "%s %s to %s", did, from, path);
    else
        ash__cmd_say(r->cmd, "%s %s", did, path);
}

/* Of a dry run: there is no entry yet. */
static void report_plan(const ash_cmd_tree_run *r, const char *would, const char *from,
                        const char *to)
{
    bson_t object = BSON_INITIALIZER;
    if (from != NULL)
        BSON_APPEND_UTF8(&object, "from", from);
    BSON_APPEND_UTF8(&object, "path", to);
    BSON_APPEND_BOOL(&object, "dryRun", true);
    if (r->cmd->json)
        ash__cmd_emit(&object);
    else
        ash__cmd_say(r->cmd, "would %s %s%s%s", would, from != NULL ? from : "",
                     from != NULL ? " to " : "", to);
    bson_destroy(&object);
}

/* ---- mkdir ---- */

enum { MKDIR_PARENTS = ASH_CMD_TREE_FIRST_OPTION, MKDIR_BY };
static const ash_cmd_option mkdir_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'p', "parents", NULL, "those above it, too; no error if it is there"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static int make_one(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *entry = NULL;
    o.make_folders = r->args->values[MKDIR_PARENTS] != NULL;
    int rc = ash__cmd_tree_peek(r, word, &entry, err);
    if (rc != 0)
        return rc;
    bool there = entry != NULL;
    if (there && (!o.make_folders || !ash_tree_entry_is_folder(entry)))
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already", word);
    if (rc == 0 && !there && r->cmd->dry_run)
        report_plan(r, "make", NULL, word);
    else if (rc == 0 && !there)
        rc = ash_tree_make_folder(r->tree, word, &o, &r->op, &entry, err);
    if (rc == 0 && !there && !r->cmd->dry_run)
        report(r, "made", entry, NULL);
    ash_tree_entry_free(entry);
    return rc;
}

static int make_all(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    return ash__cmd_tree_each(r, 0, r->args->count, make_one);
}

static int run_mkdir(ash_cmd *cmd, const ash_cmd_args *args)
{
    for (int i = 0; i < args->count; i++) {
        int status = ash__cmd_tree_check_new_path(cmd, args->words[i]);
        if (status != 0)
            return status;
    }
    return ash__cmd_tree_run(cmd, ASH_CMD_WRITE, args, make_all);
}

const ash_cmd_verb ash__cmd_tree_mkdir = {
    .name = "tree mkdir",
    .group = "trees",
    .synopsis = "[-p] PATH...",
    .summary = "make folders",
    .options = mkdir_options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_mkdir,
};

/* ---- mv ---- */

enum { MV_FORCE = ASH_CMD_TREE_FIRST_OPTION, MV_BY };
static const ash_cmd_option mv_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'f', "force", NULL, "onto a file that is there: it can be undeleted"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static int say_no_folder(const char *to, const ash_tree_entry *there, ash_error *err)
{
    return there != NULL ? ash__fail(err, ASH_EINVAL, "%s is a file, not a folder", to)
                         : ash__fail(err, ASH_ENOTFOUND, "there is no folder %s", to);
}

/* All words but the last one go into it, or the only one to it. */
static int into_last(ash_cmd_tree_run *r, ash_cmd_tree_item item, ash_error *err)
{
    int count = r->args->count;
    ash_tree_entry *there = NULL;
    int rc = count > 2 ? ash__cmd_tree_peek(r, r->args->words[count - 1], &there, err) : 0;
    if (rc == 0 && count > 2 && (there == NULL || !ash_tree_entry_is_folder(there)))
        rc = say_no_folder(r->args->words[count - 1], there, err);
    ash_tree_entry_free(there);
    return rc == 0 ? ash__cmd_tree_each(r, 0, count - 1, item) : rc;
}

/* Into the last word, if that is a folder, which it has to be for a file if it ends in "/"; else by
 * that name.  *out: the caller frees. */
static int find_target(const ash_cmd_tree_run *r, const ash_tree_entry *from, bool force,
                       char **out, ash_error *err)
{
    const char *to = r->args->words[r->args->count - 1];
    ash_tree_entry *there = NULL;
    size_t len = strlen(to);
    bool slash = len > 0 && to[len - 1] == '/';
    int rc = ash__cmd_tree_no_id(to, err);
    if (rc == 0)
        rc = ash__cmd_tree_peek(r, to, &there, err);
    bool into = there != NULL && ash_tree_entry_is_folder(there);
    bool must = slash && (there != NULL || !ash_tree_entry_is_folder(from));
    if (rc == 0 && !into && must)
        rc = say_no_folder(to, there, err);
    else if (rc == 0 && into && ash_tree_entry_name(from)[0] == 0)
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder; say what it is called in it", to);
    else if (rc == 0)
        *out = into ? ash__cmd_tree_join(to, ash_tree_entry_name(from)) : ash__strdup(to);
    ash_tree_entry_free(there);
    there = NULL;
    if (rc == 0)
        rc = ash__cmd_tree_peek(r, *out, &there, err);
    if (rc == 0 && there != NULL && !force)
        rc = ash__fail(err, ASH_EEXISTS, "%s is there already; -f replaces it", *out);
    ash_tree_entry_free(there);
    return rc;
}

static int move_one(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *from = NULL, *entry = NULL;
    char *to = NULL;
    o.replace = r->args->values[MV_FORCE] != NULL;
    int rc = ash__cmd_tree_no_id(word, err);
    if (rc == 0)
        rc = ash_tree_get(r->tree, word, NULL, &r->op, &from, err);
    if (rc == ASH_ENOTFOUND)
        rc = ash__cmd_tree_say_gone(r, word, err);
    if (rc == 0)
        rc = find_target(r, from, o.replace, &to, err);
    if (rc == 0 && r->cmd->dry_run)
        report_plan(r, "move", ash_tree_entry_path(from), to);
    else if (rc == 0)
        rc = ash_tree_move(r->tree, word, to, &o, &r->op, &entry, err);
    if (rc == 0 && !r->cmd->dry_run)
        report(r, "moved", entry, ash_tree_entry_path(from));
    ash_tree_entry_free(from);
    ash_tree_entry_free(entry);
    ash__free(to);
    return rc;
}

static int move(ash_cmd_tree_run *r, ash_error *err)
{
    return into_last(r, move_one, err);
}

static int run_mv(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, move);
}

const ash_cmd_verb ash__cmd_tree_mv = {
    .name = "tree mv",
    .group = "trees",
    .synopsis = "[-f] FROM... TO",
    .summary = "move or rename files and folders",
    .details =
        "Into TO, if that is a folder, which it has to be for several.  A file's versions go with "
        "it: `ashlar tree log TO` shows\n"
        "where it was before.",
    .options = mv_options,
    .min_words = 2,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_mv,
};

/* ---- cp ---- */

enum { CP_RECURSIVE = ASH_CMD_TREE_FIRST_OPTION, CP_FORCE, CP_AT, CP_BY };
static const ash_cmd_option cp_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'r', "recursive", NULL, "a folder with all that lies in it"},
    {'f', "force", NULL, "onto a file that is there, which becomes a version of it"},
    ASH_CMD_TREE_AT_OPTION,
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

static int64_t read_content(void *ctx, void *buf, size_t len, ash_error *err)
{
    size_t got = 0;
    int rc = ash_tree_reader_read(ctx, buf, len, &got, err);
    return rc != 0 ? rc : (int64_t)got;
}

/* A file of a content that nothing but its digest was said of: it is read once more, and found to be
 * there. */
static int copy_content(ash_cmd_tree_run *r, const ash_tree_entry *content, const char *to,
                        ash_tree_change_options *o, ash_tree_entry **entry, ash_error *err)
{
    ash_tree_reader *reader = NULL;
    o->if_absent = !o->replace;
    int rc = ash_tree_open_entry(r->tree, content, NULL, &r->op, &reader, err);
    ash_input in = {reader, read_content};
    if (rc == 0)
        rc = ash_tree_put(r->tree, to, &in, o, &r->op, entry, err);
    ash_tree_reader_free(reader);
    return rc;
}

static int copy_entry(ash_cmd_tree_run *r, const char *word, ash_cmd_tree_address *a,
                      const ash_tree_entry *from, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *entry = NULL;
    char *to = NULL;
    o.replace = r->args->values[CP_FORCE] != NULL;
    o.recursive = r->args->values[CP_RECURSIVE] != NULL;
    int rc = 0;
    if (ash_tree_entry_is_folder(from) && !o.recursive)
        rc = ash__fail(err, ASH_EINVAL, "%s is a folder; cp -r copies folders",
                       ash_tree_entry_path(from));
    else if (ash_tree_entry_is_folder(from))
        rc = ash__cmd_tree_folder_at(a, from, err);
    if (rc == 0)
        rc = find_target(r, from, o.replace, &to, err);
    if (rc == 0 && r->cmd->dry_run)
        report_plan(r, "copy", word, to);
    else if (rc == 0 && a->digest != NULL)
        rc = copy_content(r, from, to, &o, &entry, err);
    else if (rc == 0)
        rc = ash_tree_copy(r->tree, a->path, &a->when, to, &o, &r->op, &entry, err);
    if (rc == 0 && !r->cmd->dry_run)
        report(r, "copied", entry, word);
    ash_tree_entry_free(entry);
    ash__free(to);
    return rc;
}

static int copy_one(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_cmd_tree_address address;
    ash_tree_entry *from = NULL;
    int rc = ash__cmd_tree_address(r, word, &address, err);
    if (rc == 0 && address.digest == NULL)
        rc = ash__cmd_tree_no_id(word, err);
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, &from, err);
    if (rc == 0)
        rc = copy_entry(r, word, &address, from, err);
    ash_tree_entry_free(from);
    ash__cmd_tree_address_release(&address);
    return rc;
}

static int copy(ash_cmd_tree_run *r, ash_error *err)
{
    return into_last(r, copy_one, err);
}

static int run_cp(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, copy);
}

const ash_cmd_verb ash__cmd_tree_cp = {
    .name = "tree cp",
    .group = "trees",
    .synopsis = "[-r] [-f] [--at TIME] FROM... TO",
    .summary = "copy files and folders",
    .details =
        "Into TO, if that is a folder, which it has to be for several.  FROM may be "
        "PATH@VERSION or "
        "PATH@{TIME}, or\n"
        "digest:DIGITS.  No bytes are copied: the copy has the same contents, which are kept "
        "once.",
    .options = cp_options,
    .min_words = 2,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_cp,
};

/* ---- rm ---- */

enum { RM_RECURSIVE = ASH_CMD_TREE_FIRST_OPTION, RM_FORCE, RM_BY };
static const ash_cmd_option rm_options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'r', "recursive", NULL, "folders with all that lies in them"},
    {'f', "force", NULL, "what is not there is no error; versions go unasked"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

/* What removing it would say. */
static int check_empty(ash_cmd_tree_run *r, const char *path, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e = NULL;
    o.limit = 1;
    int rc = ash_tree_list(r->tree, path, &o, &r->op, &listing, err);
    if (rc == 0)
        rc = ash_tree_listing_next(listing, &e, err);
    if (rc == 0 && e != NULL)
        rc = ash__fail(err, ASH_ESTATE, "%s is not empty; rm -r removes folders", path);
    ash_tree_listing_free(listing);
    return rc;
}

/* Of a large folder a part may have gone. */
static int say_how_to_go_on(const char *path, int rc, ash_error *err)
{
    ash_error said = *err;
    return ash__fail(err, rc,
                     "%s; what lies in %s may be removed in part: the same again removes the rest, "
                     "and `ashlar tree undelete` brings back what went",
                     said.text, path);
}

static int remove_path(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    ash_tree_entry *entry = NULL;
    o.recursive = r->args->values[RM_RECURSIVE] != NULL;
    int rc = ash_tree_get(r->tree, word, NULL, &r->op, &entry, err);
    if (rc == ASH_ENOTFOUND && r->args->values[RM_FORCE] != NULL)
        return 0;
    if (rc == ASH_ENOTFOUND)
        rc = ash__cmd_tree_say_gone(r, word, err);
    if (rc == 0 && ash_tree_entry_is_folder(entry) && !o.recursive && r->cmd->dry_run)
        rc = check_empty(r, word, err);
    if (rc == 0 && r->cmd->dry_run)
        report_plan(r, "remove", NULL, ash_tree_entry_path(entry));
    else if (rc == 0)
        rc = ash_tree_remove(r->tree, word, &o, &r->op, err);
    if (rc == ASH_ESTATE && !o.recursive && !r->cmd->dry_run) {
        ash_error said = *err;
        rc = ash__fail(err, rc, "%s; rm -r removes folders", said.text);
    }
    bool folder = entry != NULL && ash_tree_entry_is_folder(entry);
    if ((rc == ASH_EINTERRUPTED || rc == ASH_ENOSPC) && folder && o.recursive)
        rc = say_how_to_go_on(word, rc, err);
    if (rc == 0 && !r->cmd->dry_run)
        report(r, "removed", entry, NULL);
    ash_tree_entry_free(entry);
    return rc;
}

static int remove_one(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    ash_cmd_tree_address a = {.when = ASH_TREE_WHEN_INIT};
    /* Most likely a variable that should have had a value. */
    if (word[0] == 0)
        return ash__fail(err, ASH_EINVAL, "an empty path");
    int rc = ash__cmd_tree_no_id(word, err);
    if (rc == 0 && strchr(word, '@') != NULL)
        rc = ash__cmd_tree_address(r, word, &a, err);
    if (rc == 0 && (a.when.version != 0 || a.when.at_ms != 0))
        rc = ash__cmd_tree_forget(r, &a, r->args->values[RM_FORCE] != NULL, err);
    else if (rc == 0)
        rc = remove_path(r, word, err);
    ash__cmd_tree_address_release(&a);
    return rc;
}

static int remove_all(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    return ash__cmd_tree_each(r, 0, r->args->count, remove_one);
}

static int run_rm(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, remove_all);
}

const ash_cmd_verb ash__cmd_tree_rm = {
    .name = "tree rm",
    .group = "trees",
    .synopsis = "[-r] [-f] PATH[@VERSION]...",
    .summary = "remove files and folders, or one version",
    .details =
        "A folder that is not empty needs -r.  What was removed can be undeleted until it is "
        "pruned.  More than 10,000 files\n"
        "and folders go in several commits: when it was interrupted, the same again does the "
        "rest.\n"
        "PATH@VERSION is that version of a file alone, which nothing brings back: a terminal is "
        "asked, others need -f.\n"
        "The newest stays, and what is tagged.",
    .options = rm_options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_rm,
};
