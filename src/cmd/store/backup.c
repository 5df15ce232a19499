/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar backup`: the copy is made by whoever holds the store, this process or the one that serves
 * it. */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERIFY, REPLACE };
static const ash_cmd_option options[] = {
    {0, "verify", NULL, "read every payload of the copy, not only what was copied now"},
    {0, "replace", NULL,
     "overwrite a DEST that was changed on its own, or is later than the store"},
    {0, NULL, NULL, NULL},
};

/* The folder may be a server's to write, which has another current folder. */
static char *absolute(const char *path, ash_error *err)
{
    char here[4096];
    if (path[0] == '/')
        return ash__strdup(path);
    if (getcwd(here, sizeof here) != NULL)
        return ash__path_join(here, path);
    ash__fail_errno(err, errno, "cannot find the current folder");
    return NULL;
}

/* Nobody means to make the folder above: most likely a disk is not mounted there. */
static int check_above(const char *folder, ash_error *err)
{
    struct stat st;
    char *above = ash__strdup(folder);
    size_t len = strlen(above);
    int rc = 0;
    while (len > 1 && above[len - 1] == '/')
        above[--len] = 0;
    char *slash = strrchr(above, '/');
    if (slash != NULL && slash != above) {
        *slash = 0;
        if (stat(above, &st) != 0)
            rc = errno == EACCES
                     ? ash__fail_errno(err, EACCES, "cannot look into the folder above %s", folder)
                     : ash__fail(err, ASH_ENOTFOUND,
                                 "cannot make the backup %s: there is no folder %s", folder, above);
    }
    ash__free(above);
    return rc;
}

static int64_t number(const bson_t *report, const char *name)
{
    bson_iter_t iter;
    return bson_iter_init_find(&iter, report, name) ? bson_iter_as_int64(&iter) : 0;
}

static void print_backup(const ash_cmd *cmd, const bson_t *report)
{
    char copied[32], meta[32], all[32];
    if (cmd->json) {
        ash__cmd_emit(report);
        return;
    }
    ash__cmd_print_findings(report);
    ash__cmd_print_size(copied, sizeof copied, number(report, "copiedBytes"));
    ash__cmd_print_size(meta, sizeof meta, number(report, "copiedMetaBytes"));
    ash__cmd_print_size(all, sizeof all, number(report, "metaBytes"));
    int64_t records = number(report, "records"), payloads = number(report, "copiedRecords");
    if (number(report, "metaBytes") == 0)
        return; /* it was refused */
    ash__cmd_say(
        cmd, "%" PRId64 " document%s: %" PRId64 " payload%s copied (%s), and %s of %s of metadata",
        records, ash__cmd_s(records), payloads, ash__cmd_s(payloads), copied, meta, all);
}

static int back_up(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, ash_error *err)
{
    bson_t report;
    char *folder = absolute(args->words[0], err);
    if (folder == NULL || check_above(folder, err) != 0) {
        ash__free(folder);
        return err->code;
    }
    ash_progress *progress = ash__progress_new(cmd, 0, 0);
    bson_t *action =
        BCON_NEW("backup", BCON_UTF8(folder), "verify", BCON_BOOL(args->values[VERIFY] != NULL),
                 "replace", BCON_BOOL(args->values[REPLACE] != NULL));
    int rc = ash_store_maintain(store, action, ash__progress_maintain, progress, &report, err);
    ash__progress_free(progress);
    /* A report comes with damage, too. */
    if (rc == 0 || rc == ASH_ECORRUPT) {
        print_backup(cmd, &report);
        bson_destroy(&report);
    }
    bson_destroy(action);
    ash__free(folder);
    return rc;
}

static int run_backup(ash_cmd *cmd, const ash_cmd_args *args)
{
    /* The variable that was to name it is not set; the current folder was hardly meant. */
    if (args->words[0][0] == 0)
        return ash__cmd_usage(cmd, "the name of the backup's folder cannot be empty");
    int status = ash__cmd_refuse_address(cmd);
    return status != 0 ? status : ash__cmd_with_store(cmd, ASH_CMD_READ, args, back_up);
}

const ash_cmd_verb ash__cmd_backup = {
    .name = "backup",
    .group = "store",
    .synopsis = "[--verify] [--replace] DEST",
    .summary = "copy the store as it is now to folder DEST",
    .details =
        "The store may be in use.  DEST is empty, or holds an earlier backup of the same "
        "store: then only what has\n"
        "changed is written.  The store is checked first, and afterwards the copy, which is "
        "a store itself.  When the\n"
        "store is damaged, an earlier backup is left as it was, and what an empty DEST gets is "
        "damaged, too (exit status 7).\n"
        "A DEST that was changed on its own, or is of a later state than the store, is refused (5) "
        "unless --replace is given.\n"
        "While a backup is being written, and after one that was interrupted, DEST does not open: "
        "to have an older copy at\n"
        "all times, use two folders in turn.",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .run = run_backup,
};
