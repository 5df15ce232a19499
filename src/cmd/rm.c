/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbs.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

enum { RECURSIVE };
static const ash_cmd_option options[] = {
    {'r', "recursive", NULL, "every file whose name begins with NAME (\".\": all)"},
    {0, NULL, NULL, NULL},
};

struct removal {
    ash_cmd *cmd;
    ash_bucket *bucket;
    int done, failed;
    bool lost; /* the store is out of reach */
};

static int remove_found(void *ctx, const ash_file *f)
{
    struct removal *r = ctx;
    ash_error err = ASH_ERROR_INIT;
    const char *name = ash_file_filename(f) != NULL ? ash_file_filename(f) : "(no name)";
    char *shown = ash__cmd_printable(name);
    if (r->cmd->dry_run) {
        ash__cmd_say(r->cmd, "would delete %s", shown);
    } else if (ash_bucket_delete(r->bucket, ash_file_id(f), NULL, &err) != 0) {
        ash__cmd_fail(r->cmd, name, &err);
        r->failed++;
        r->lost = err.code == ASH_ENETWORK;
    } else if (r->cmd->verbose > 0) {
        ash__cmd_say(r->cmd, "%s", shown);
    }
    r->done++;
    ash__free(shown);
    return ash__cmd_interrupted ? ASH_EXIT_INTERRUPTED : r->lost ? ASH_EXIT_PARTIAL : 0;
}

static int remove_prefix(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx,
                         ash_error *err)
{
    struct removal removal = {.cmd = cmd, .bucket = bucket};
    (void)ctx;
    if (word[0] == 0) /* most likely a variable that should have had a value */
        return ash__fail(err, ASH_EINVAL, "an empty name; \".\" deletes all files");
    int result = ash__cmd_each_file(cmd, bucket, word, true, remove_found, &removal, err);
    if (result > 0 && !removal.lost)
        return ash__fail(err, ASH_EINTERRUPTED, "interrupted after %d files", removal.done);
    if (result >= 0 && removal.failed > 0)
        return ash__fail(err, ASH_EPARTIAL, "%d of %d files could not be deleted", removal.failed,
                         removal.done);
    if (result == 0 && removal.done == 0)
        return ash__fail(err, ASH_ENOTFOUND, "no file's name begins with it");
    return result;
}

static int remove_one(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx, ash_error *err)
{
    ash_cmd_address address;
    ash_file *file = NULL;
    (void)ctx;
    int result = ash__cmd_address_find(bucket, word, &address, err);
    if (result != 0)
        return result;
    bool all = address.name != NULL && !address.has_revision;
    if (address.name == NULL && !cmd->dry_run)
        result = ash_bucket_delete(bucket, &address.id, NULL, err); /* damaged or not */
    else if (!all || cmd->dry_run)
        result = ash__cmd_address_file(bucket, &address, &file, err);
    if (result == 0 && cmd->dry_run)
        ash__cmd_say(cmd, "would delete %s", word);
    else if (result == 0 && all)
        result = ash_bucket_delete_by_name(bucket, address.name, NULL, err);
    else if (result == 0 && file != NULL)
        result = ash_bucket_delete(bucket, ash_file_id(file), NULL, err);
    ash_file_free(file);
    ash__cmd_address_release(&address);
    return result;
}

static int remove_all(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    (void)err;
    return ash__cmd_each_word(cmd, bucket, args,
                              args->values[RECURSIVE] != NULL ? remove_prefix : remove_one, NULL);
}

static int run_rm(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, remove_all);
}

const ash_cmd_verb ash__cmd_rm = {
    .name = "rm",
    .group = "files",
    .synopsis = "[-r] NAME...",
    .summary = "delete files",
    .details =
        "Deletes all revisions of NAME; NAME@REV and id:VALUE delete one file.  Their space is "
        "used again; what is free\n"
        "beyond 64 MiB and half of what is in use goes back to the file system, of a served store "
        "after a minute.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .takes_names = true,
    .has_dry_run = true,
    .run = run_rm,
};
