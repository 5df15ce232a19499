/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar mv`: names are fields of files documents, so nothing is copied, and several files can
 * have one. */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

enum { FORCE };
static const ash_cmd_option options[] = {
    {'f', "force", NULL, "even if NEWNAME exists: all become revisions of it"},
    {0, NULL, NULL, NULL},
};

/* Not in one step with the rename: whoever puts the name meanwhile gets another revision, and
 * nothing is lost. */
static int check_target(ash_bucket *bucket, const char *name, ash_error *err)
{
    ash_file *there = NULL;
    int rc = ash_bucket_get_file_by_name(bucket, name, -1, false, &there, err);
    ash_file_free(there);
    if (rc == ASH_ENOTFOUND)
        return 0;
    return rc != 0 ? rc
                   : ash__fail(err, ASH_EEXISTS, "%s exists; mv -f makes the files revisions of it",
                               name);
}

/* NAME means all its revisions; NAME@REV and id:VALUE one file. */
static int rename_one(ash_bucket *bucket, const ash_cmd_address *from, const char *to,
                      ash_error *err)
{
    ash_file *file = NULL;
    if (from->name != NULL && !from->has_revision)
        return ash_bucket_rename_by_name(bucket, from->name, to, NULL, err);
    if (from->name == NULL)
        return ash_bucket_rename(bucket, &from->id, to, NULL, err);
    int rc = ash__cmd_address_file(bucket, from, &file, err);
    if (rc == 0)
        rc = ash_bucket_rename(bucket, ash_file_id(file), to, NULL, err);
    ash_file_free(file);
    return rc;
}

/* The new name in full, for a NEWNAME that ends in "/".  The caller frees. */
static char *new_name(ash_bucket *bucket, const ash_cmd_address *from, const char *to,
                      ash_error *err)
{
    ash_file *file = NULL;
    size_t len = strlen(to);
    const char *was = from->name;
    bool into = len > 0 && to[len - 1] == '/';
    /* Known by its id only: what is it called? */
    if (was == NULL && into && ash__cmd_address_file(bucket, from, &file, err) == 0)
        was = ash_file_filename(file);
    bool failed = was == NULL && into && file == NULL;
    char *name = failed ? NULL : ash__cmd_target_name(to, was, err);
    ash_file_free(file);
    return name;
}

static void report(ash_cmd *cmd, const char *from, const char *to)
{
    bson_t object = BSON_INITIALIZER;
    ash__cmd_say(cmd, "%s %s to %s", cmd->dry_run ? "would rename" : "renamed", from, to);
    if (cmd->json) {
        BSON_APPEND_UTF8(&object, "renamed", from);
        BSON_APPEND_UTF8(&object, "name", to);
        if (cmd->dry_run)
            BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
    }
    bson_destroy(&object);
}

static int move(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    ash_cmd_address from;
    int rc = ash__cmd_address_find(bucket, args->words[0], &from, err);
    if (rc != 0)
        return rc;
    char *to = NULL;
    rc = ash__cmd_check_name(args->words[1], err);
    if (rc == 0 && (to = new_name(bucket, &from, args->words[1], err)) == NULL)
        rc = err->code;
    if (rc == 0 && from.name != NULL && !from.has_revision && strcmp(from.name, to) == 0)
        rc = ash__fail(err, ASH_EINVAL, "%s is its name already", to);
    if (rc == 0 && args->values[FORCE] == NULL)
        rc = check_target(bucket, to, err);
    if (rc == 0 && !cmd->dry_run)
        rc = rename_one(bucket, &from, to, err);
    if (rc == 0)
        report(cmd, args->words[0], to);
    rc = ash__cmd_explain_folder(cmd, bucket, args->words[0], rc, err);
    ash__cmd_address_release(&from);
    ash__free(to);
    return rc;
}

static int run_mv(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, move);
}

const ash_cmd_verb ash__cmd_mv = {
    .name = "mv",
    .group = "files",
    .synopsis = "[-f] NAME NEWNAME",
    .summary = "rename files",
    .details =
        "Renames all revisions of NAME; NAME@REV and id:VALUE rename one file.  A NEWNAME "
        "that ends in \"/\" is a folder\n"
        "for them to go into.  With -f, they become revisions of a NEWNAME that is there, in "
        "the order in which all of\n"
        "them were uploaded: cat shows what was uploaded last, wherever it came from.",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .takes_names = true,
    .has_dry_run = true,
    .run = run_mv,
};
