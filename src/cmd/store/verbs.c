/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs on a whole store: init, df, check. */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/folder.h"
#include "cmd/store/archived.h"
#include "cmd/store/repair.h"

#include <inttypes.h>
#include <string.h>

static void say_what_init_did(const ash_cmd *cmd, bool was_there)
{
    char *uri = ash__cmd_store_uri(cmd), *shown = ash__cmd_uri_shown(uri);
    if (cmd->json) {
        bson_t *object = BCON_NEW("store", BCON_UTF8(shown), "made", BCON_BOOL(!was_there));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else {
        ash__cmd_say(cmd, was_there ? "%s is already a store" : "made a new store at %s", shown);
    }
    ash__free(shown);
    ash__free(uri);
}

static int say_what_init_would(const ash_cmd *cmd)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    int rc = ash__cmd_open_if_any(cmd, &store, &err);
    if (rc != 0)
        return ash__cmd_fail(cmd, NULL, &err);
    char *uri = ash__cmd_store_uri(cmd), *shown = ash__cmd_uri_shown(uri);
    if (cmd->json) {
        bson_t *object = BCON_NEW("store", BCON_UTF8(shown), "exists", BCON_BOOL(store != NULL),
                                  "dryRun", BCON_BOOL(true));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else {
        ash__cmd_say(cmd, store != NULL ? "%s is already a store" : "would make a store at %s",
                     shown);
    }
    ash__free(shown);
    ash__free(uri);
    ash__cmd_close_store(store);
    return ASH_EXIT_OK;
}

static int run_init(ash_cmd *cmd, const ash_cmd_args *args)
{
    if (cmd->dry_run)
        return say_what_init_would(cmd);
    /* Asked before it is made. */
    bool was_there = ash__cmd_store_is_there(cmd);
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    (void)args;
    if (ash__cmd_open_store(cmd, ASH_CMD_WRITE, NULL, &store, &err) != 0)
        return ash__cmd_fail(cmd, NULL, &err);
    ash__cmd_close_store(store);
    say_what_init_did(cmd, was_there);
    return ASH_EXIT_OK;
}

static int64_t field(const bson_t *doc, const char *path)
{
    bson_iter_t iter, found;
    if (!bson_iter_init(&iter, doc) || !bson_iter_find_descendant(&iter, path, &found) ||
        !BSON_ITER_HOLDS_NUMBER(&found))
        return 0;
    return bson_iter_as_int64(&found);
}

static void show_folder(const ash_cmd *cmd)
{
    char size[32];
    char *folder = ash__cmd_store_folder(cmd);
    if (folder == NULL)
        return;
    int64_t bytes = ash__folder_takes(folder);
    char *shown = ash__cmd_printable(folder);
    ash__cmd_print_size(size, sizeof size, bytes);
    if (cmd->json) {
        bson_t *object = BCON_NEW("folder", BCON_UTF8(shown), "diskBytes", BCON_INT64(bytes));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else {
        printf("%s takes %s on the disk\n", shown, size);
    }
    ash__free(shown);
    ash__free(folder);
}

/* A client may call a database what it likes. */
static void print_database(const char *data, const char *stored, int64_t documents,
                           const char *name)
{
    char *shown = ash__cmd_printable(name);
    printf("%12s  %12s  %10" PRId64 "  %s\n", data, stored, documents, shown);
    ash__cmd_keep_output_error();
    ash__free(shown);
}

static int show_space(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, ash_error *err)
{
    bson_t databases;
    bson_iter_t iter, list, db;
    (void)args;
    int rc = ash_store_list_databases(store, NULL, &databases, err);
    if (rc != 0)
        return rc;
    if (!cmd->json)
        printf("%12s  %12s  %10s  %s\n", "DATA", "STORED", "DOCUMENTS", "DATABASE");
    /* Without a list the reply's own fields are passed over below: none is a database. */
    if (!bson_iter_init_find(&iter, &databases, "databases") || !bson_iter_recurse(&iter, &list))
        bson_iter_init(&list, &databases);
    while (rc == 0 && bson_iter_next(&list)) {
        bson_t stats;
        char data[32], stored[32];
        if (!BSON_ITER_HOLDS_DOCUMENT(&list) || !bson_iter_recurse(&list, &db) ||
            !bson_iter_find(&db, "name"))
            continue;
        const char *name = bson_iter_utf8(&db, NULL);
        if (ash__cmd_names_database(cmd) && strcmp(name, ash_store_default_db(store)) != 0)
            continue;
        rc = ash_store_stats(store, name, NULL, 1, NULL, &stats, err);
        if (rc != 0)
            break;
        ash__cmd_print_size(data, sizeof data, field(&stats, "dataSize"));
        ash__cmd_print_size(stored, sizeof stored,
                            field(&stats, "storageSize") + field(&stats, "indexSize"));
        if (cmd->json)
            ash__cmd_emit(&stats);
        else
            print_database(data, stored, field(&stats, "objects"), name);
        bson_destroy(&stats);
    }
    bson_destroy(&databases);
    if (rc == 0)
        show_folder(cmd);
    return rc;
}

static int run_df(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_store(cmd, ASH_CMD_READ, args, show_space);
}

/* ---- check ---- */

enum { QUICK, REPAIR, INTO, REPLACE, FORCE };
static const ash_cmd_option check_options[] = {
    {0, "quick", NULL, "do not read the payloads, only what describes them"},
    {0, "repair", NULL, "copy what is whole into a new store and list what is not"},
    {0, "into", "FOLDER", "with --repair: the new store (default: beside the damaged one, dated)"},
    {0, "replace", NULL, "with --repair: give the new store the name of the damaged one"},
    {0, "force", NULL, "with --repair: copy a store that is sound, too"},
    {0, NULL, NULL, NULL},
};

void ash__cmd_print_findings(const bson_t *report)
{
    bson_iter_t iter, findings, finding;
    if (bson_iter_init_find(&iter, report, "findings") && BSON_ITER_HOLDS_ARRAY(&iter) &&
        bson_iter_recurse(&iter, &findings)) {
        while (bson_iter_next(&findings)) {
            if (BSON_ITER_HOLDS_DOCUMENT(&findings) && bson_iter_recurse(&findings, &finding) &&
                bson_iter_find(&finding, "text") && BSON_ITER_HOLDS_UTF8(&finding)) {
                char *shown = ash__cmd_printable(bson_iter_utf8(&finding, NULL));
                printf("%s\n", shown);
                ash__free(shown);
            }
        }
    }
}

static void print_report(const ash_cmd *cmd, const bson_t *report)
{
    if (cmd->json) {
        ash__cmd_emit(report);
        return;
    }
    ash__cmd_print_findings(report);
    int64_t collections = field(report, "collections"), documents = field(report, "records"),
            keys = field(report, "indexKeys"), problems = field(report, "findingCount");
    ash__cmd_say(cmd,
                 "%" PRId64 " collection%s, %" PRId64 " document%s, %" PRId64
                 " index key%s: %" PRId64 " problem%s",
                 collections, ash__cmd_s(collections), documents, ash__cmd_s(documents), keys,
                 ash__cmd_s(keys), problems, ash__cmd_s(problems));
}

static int check_store(ash_cmd *cmd, ash_store *store, const ash_cmd_args *args, ash_error *err)
{
    bson_t report;
    ash_progress *progress = ash__progress_new(cmd, 0, 0);
    bson_t *action =
        BCON_NEW("check", BCON_INT32(1), "payloads", BCON_BOOL(args->values[QUICK] == NULL));
    int rc = ash_store_maintain(store, action, ash__progress_maintain, progress, &report, err);
    ash__progress_free(progress);
    if (rc == 0 || rc == ASH_ECORRUPT) {
        print_report(cmd, &report);
        bson_destroy(&report);
    }
    bson_destroy(action);
    return rc == 0 ? ash__cmd_check_archived(cmd, store, err) : rc;
}

static int run_check(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_cmd_repair_options opts = {.into = args->values[INTO],
                                   .replace = args->values[REPLACE] != NULL,
                                   .force = args->values[FORCE] != NULL};
    bool repair = args->values[REPAIR] != NULL;
    if (!repair && (opts.into != NULL || opts.replace || opts.force))
        return ash__cmd_usage(cmd, "--into, --replace and --force go with --repair");
    if (opts.into != NULL && opts.into[0] == 0)
        return ash__cmd_usage(cmd, "--into cannot be empty");
    /* A store in need of repair may not open. */
    if (repair)
        return ash__cmd_repair(cmd, &opts);
    /* Of a deployment the server's own tools know more. */
    int status = ash__cmd_refuse_address(cmd);
    return status != 0 ? status : ash__cmd_with_store(cmd, ASH_CMD_READ, args, check_store);
}

const ash_cmd_verb ash__cmd_init = {
    .name = "init",
    .group = "store",
    .synopsis = "",
    .summary = "make an empty store, if there is none",
    .has_dry_run = true,
    .run = run_init,
};

const ash_cmd_verb ash__cmd_df = {
    .name = "df",
    .group = "store",
    .synopsis = "",
    .summary = "show how much the databases hold, and how much space they take",
    .details = "STORED is what a database's documents and indexes take up in the store.  The "
               "store's folder takes more: free\n"
               "space, room set aside for the next writes, the journal and the change history.  "
               "The last line (\"folder\" and\n"
               "\"diskBytes\" with --json) adds up the disk blocks of all its files.",
    .run = run_df,
};

const ash_cmd_verb ash__cmd_check = {
    .name = "check",
    .group = "store",
    .synopsis = "[--quick] | --repair [--into FOLDER] [--replace] [--force]",
    .summary = "look for damage",
    .details =
        "Reads everything: metadata, indexes, free space, and every payload against its "
        "checksum.  Exit status 7 when\n"
        "something is wrong; each finding is a line, which names the file and the chunk that a "
        "damaged payload belongs to.  Where that is sound, objects whose bytes are in an archive "
        "beside "
        "their store are looked\n"
        "for there, and those that are missing are named.\n\n"
        "--repair reads everything first, and copies nothing when the store is sound and was "
        "shut down properly "
        "(unless --force is\n"
        "given).  It does not touch a damaged store, which may be too damaged to open: it reads "
        "what "
        "has its checksum,\n"
        "copies every whole file and document into a new store beside it, and prints a line for "
        "each thing that was lost:\n"
        "bucket, file, chunk, segment and offset.  What may be an older state of a file or "
        "document "
        "is counted, and named\n"
        "with -v.  Nobody may have the store open meanwhile.  With -n it only says what would be "
        "done.  With --replace the\n"
        "new store takes the damaged one's name NAME, and that is renamed to NAME.damaged-DATE.  "
        "Exit "
        "status 0\n"
        "when nothing was lost, 3 when something was.  Chunks that belong to no file (of "
        "unfinished "
        "uploads too) are named\n"
        "and not copied; the change history starts "
        "anew.",
    .options = check_options,
    .has_dry_run = true,
    .run = run_check,
};
