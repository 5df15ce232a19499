/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { RECURSIVE, PREFIX, FORCE };
static const ash_cmd_option options[] = {
    {'r', "recursive", NULL, "the folder NAME with all in it (\".\": everything)"},
    {0, "prefix", NULL, "every file whose name begins with NAME, wherever it ends"},
    {'f', "force", NULL, "ignore a NAME that does not exist"},
    {0, NULL, NULL, NULL},
};

struct removal {
    ash_cmd *cmd;
    ash_bucket *bucket;
    const ash_cmd_args *args;
    int64_t files, bytes; /* deleted, or in a dry run to be deleted */
    int failed;
    bool lost; /* the store is out of reach */
};

/* What was done for one word. */
static void report(const struct removal *r, const char *word, bool many)
{
    bson_t object = BSON_INITIALIZER;
    char size[32];
    const char *did = r->cmd->dry_run ? "would delete" : "deleted";
    ash__cmd_print_size(size, sizeof size, r->bytes);
    if (r->cmd->json) {
        BSON_APPEND_UTF8(&object, "deleted", word);
        BSON_APPEND_INT64(&object, "files", r->files);
        BSON_APPEND_INT64(&object, "bytes", r->bytes);
        if (r->cmd->dry_run)
            BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
    } else if (many) {
        ash__cmd_say(r->cmd, "%s %" PRId64 " file%s (%s) of %s", did, r->files,
                     ash__cmd_s(r->files), size, word);
    } else if (r->files > 1) {
        ash__cmd_say(r->cmd, "%s %s (%" PRId64 " revisions, %s)", did, word, r->files, size);
    } else {
        ash__cmd_say(r->cmd, "%s %s (%s)", did, word, size);
    }
    bson_destroy(&object);
}

static void count(struct removal *r, const ash_file *f)
{
    r->files++;
    r->bytes += ash_file_length(f);
}

static int remove_found(void *ctx, const ash_file *f)
{
    struct removal *r = ctx;
    ash_error err = ASH_ERROR_INIT;
    const char *name = ash_file_filename(f) != NULL ? ash_file_filename(f) : "(no name)";
    int rc = r->cmd->dry_run ? 0 : ash_bucket_delete(r->bucket, ash_file_id(f), NULL, &err);
    if (rc == ASH_ENOTFOUND)
        return 0; /* somebody else was quicker */
    if (rc != 0) {
        ash__cmd_fail(r->cmd, name, &err);
        r->failed++;
        r->lost = err.code == ASH_ENETWORK;
    } else {
        count(r, f);
        if (r->cmd->dry_run || r->cmd->verbose > 0)
            ash__cmd_say(r->cmd, "%s%s", r->cmd->dry_run ? "would delete " : "", name);
    }
    return ash__cmd_is_interrupted() ? ASH_EXIT_INTERRUPTED : r->lost ? ASH_EXIT_PARTIAL : 0;
}

static int remove_many(struct removal *r, const char *word, ash_error *err)
{
    enum ash_cmd_scope scope = r->args->values[PREFIX] != NULL ? ASH_CMD_PREFIX : ASH_CMD_FOLDER;
    ash_file_visitor remover = {remove_found, r, true};
    if (word[0] == 0) /* most likely a variable that should have had a value */
        return ash__fail(err, ASH_EINVAL, "an empty name; -r . deletes all files");
    int rc = ash__cmd_each_file(r->cmd, r->bucket, word, scope, &remover, err);
    if (r->files > 0)
        report(r, word, true);
    if (rc > 0 && !r->lost)
        return ash__fail(err, ASH_EINTERRUPTED, "interrupted after %" PRId64 " files", r->files);
    if (rc >= 0 && r->failed > 0)
        return ash__fail(err, ASH_EPARTIAL, "%d of %" PRId64 " files could not be deleted",
                         r->failed, r->files + r->failed);
    if (rc == 0 && r->files == 0)
        rc = ash__cmd_check_named(r->cmd, r->bucket, err);
    if (rc == 0 && r->files == 0 && (scope == ASH_CMD_PREFIX || strcmp(word, ".") != 0))
        return ash__cmd_no_such(word, scope, err);
    return rc;
}

static int count_found(void *ctx, const ash_file *f)
{
    count(ctx, f);
    return 0;
}

static int remove_name(struct removal *r, const char *name, ash_error *err)
{
    ash_file_visitor counter = {count_found, r, true};
    bson_t *filter = BCON_NEW("filename", BCON_UTF8(name));
    /* Damaged ones go as well, and are not counted. */
    int rc = ash__cmd_each_match(NULL, r->bucket, filter, &counter, err);
    bool damaged = rc == ASH_EPARTIAL;
    rc = damaged ? 0 : rc;
    if (rc == 0 && !r->cmd->dry_run)
        rc = ash_bucket_delete_by_name(r->bucket, name, NULL, err);
    if (rc == 0 && r->files == 0 && !damaged) /* what has expired counts as gone */
        rc = ash__fail(err, ASH_ENOTFOUND, "no file named %.200s", name);
    bson_destroy(filter);
    return rc;
}

static int remove_file(struct removal *r, const ash_cmd_address *address, ash_error *err)
{
    ash_file *file = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__cmd_address_file(r->bucket, address, &file, &own);
    if (rc == 0)
        count(r, file);
    /* By its id goes what is damaged, too, and what is left of a file that is gone. */
    if (rc == ASH_ENOTFOUND && address->name == NULL && !r->cmd->dry_run)
        (void)ash_bucket_delete(r->bucket, &address->id, NULL, NULL);
    else if (rc == ASH_ECORRUPT && address->name == NULL)
        rc = r->cmd->dry_run ? 0 : ash_bucket_delete(r->bucket, &address->id, NULL, &own);
    else if (rc == 0 && !r->cmd->dry_run)
        rc = ash_bucket_delete(r->bucket, ash_file_id(file), NULL, &own);
    if (rc != 0)
        *err = own;
    ash_file_free(file);
    return rc;
}

static int remove_one(struct removal *r, const char *word, ash_error *err)
{
    ash_cmd_address address;
    int rc = ash__cmd_address_find(r->bucket, word, &address, err);
    if (rc != 0)
        return rc;
    if (address.name != NULL && !address.has_revision)
        rc = remove_name(r, address.name, err);
    else
        rc = remove_file(r, &address, err);
    if (rc == 0)
        report(r, word, false);
    ash__cmd_address_release(&address);
    return rc;
}

static int remove_word(ash_cmd *cmd, ash_bucket *bucket, const char *word, void *ctx,
                       ash_error *err)
{
    /* Counts are of one word. */
    struct removal r = {.cmd = cmd, .bucket = bucket, .args = ctx};
    bool many = r.args->values[RECURSIVE] != NULL || r.args->values[PREFIX] != NULL;
    int rc = many ? remove_many(&r, word, err) : remove_one(&r, word, err);
    /* Not other failures: -f is about what is not there. */
    bool none = rc == ASH_ENOTFOUND || rc == ASH_ENOREVISION;
    return none && r.args->values[FORCE] != NULL ? 0 : rc;
}

static int remove_all(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    /* The item's ctx is not const. */
    ash_cmd_args copy = *args;
    (void)err;
    return ash__cmd_each_word(cmd, bucket, args, remove_word, &copy);
}

static int run_rm(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, remove_all);
}

const ash_cmd_verb ash__cmd_rm = {
    .name = "rm",
    .group = "files",
    .synopsis = "[-r | --prefix] [-f] NAME...",
    .summary = "delete files",
    .details = "Deletes all revisions of NAME; NAME@REV and id:VALUE delete one file.  With -r, it "
               "also deletes everything in\n"
               "folder NAME, but no names that merely begin the same way, such as NAME.bak: "
               "--prefix does that.  The space is\n"
               "used again for new files; whatever is free beyond half of what is in use plus 64 "
               "MiB goes back to the file\n"
               "system (within a minute, when the store is served).",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .takes_names = true,
    .has_dry_run = true,
    .run = run_rm,
};
