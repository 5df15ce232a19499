/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/get.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <string.h>

enum { RECURSIVE = ASH_CMD_TREE_FIRST_OPTION, DELETE, QUICK, AT };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'r', "recursive", NULL,
     "what lies in folder PATH goes below LOCAL; what is here already as it "
     "is there is left alone"},
    {0, "delete", NULL, "with -r: delete below LOCAL what is not in PATH, so that both are equal"},
    {0, "quick", NULL,
     "with -r: a file of the same size and time is the same; else its bytes decide"},
    ASH_CMD_TREE_AT_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};
enum { BUFFER_BYTES = 256 * 1024 };

int ash__cmd_tree_copy_out(ash_tree_reader *reader, const ash_output *out, ash_progress *progress,
                           ash_error *err)
{
    char *buf = ash__alloc(BUFFER_BYTES);
    size_t got = 1;
    int rc = 0;
    while (rc == 0 && got > 0) {
        rc = ash_tree_reader_read(reader, buf, BUFFER_BYTES, &got, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc == 0 && got > 0)
            rc = out->write(out->ctx, buf, got, err);
        if (rc == 0 && progress != NULL)
            ash__progress_add(progress, (int64_t)got, 0, NULL);
    }
    ash__free(buf);
    return rc;
}

int ash__cmd_tree_get_file(const ash_cmd_tree_run *r, const ash_tree_entry *e, ash_place *place,
                           ash_progress *progress, ash_error *err)
{
    ash_tree_reader *reader = NULL;
    ash_output out = {place, ash__place_write};
    ash_preserved kept = {.has_mtime = true, .mtime_ms = ash_tree_entry_modified_ms(e)};
    int rc = ash_tree_open_entry(r->tree, e, NULL, &r->op, &reader, err);
    if (rc == 0)
        rc = ash__cmd_tree_copy_out(reader, &out, progress, err);
    if (rc == 0)
        rc = ash__place_preserve(place, &kept, err);
    if (rc == 0)
        rc = ash__place_finish(place, err);
    ash_tree_reader_free(reader);
    return rc;
}

/* Where a single file goes: LOCAL, LOCAL/its name, or its name here.  The caller frees. */
static char *choose_path(const char *local, const ash_tree_entry *e)
{
    struct stat st;
    const char *name = ash_tree_entry_name(e);
    if (local == NULL)
        return ash__strdup(name);
    if (stat(local, &st) != 0 || !S_ISDIR(st.st_mode))
        return ash__strdup(local);
    bool slash = local[0] != 0 && local[strlen(local) - 1] == '/';
    return ash__sprintf("%s%s%s", local, slash ? "" : "/", name);
}

static int get_to_standard(ash_cmd_tree_run *r, const ash_tree_entry *e, ash_error *err)
{
    ash_tree_reader *reader = NULL;
    ash_output out = {NULL, ash__cmd_write_out};
    int rc = ash_tree_open_entry(r->tree, e, NULL, &r->op, &reader, err);
    if (rc == 0)
        rc = ash__cmd_tree_copy_out(reader, &out, NULL, err);
    ash_tree_reader_free(reader);
    return rc;
}

static int get_to_path(ash_cmd_tree_run *r, const ash_tree_entry *e, const char *path,
                       ash_error *err)
{
    char size[32];
    ash_place *place = NULL;
    const char *did = r->cmd->dry_run ? "would get" : "got";
    ash__cmd_print_size(size, sizeof size, ash_tree_entry_length(e));
    if (!r->cmd->dry_run) {
        ash_progress *progress = ash__progress_new(r->cmd, ash_tree_entry_length(e), 1);
        ash__progress_add(progress, 0, 0, path);
        int rc = ash__place_open(path, &place, err);
        if (rc == 0)
            rc = ash__cmd_tree_get_file(r, e, place, progress, err);
        ash__place_free(place);
        ash__progress_free(progress);
        if (rc != 0)
            return rc;
    }
    if (!ash__cmd_tree_emit(r, e, "local", path))
        ash__cmd_say(r->cmd, "%s %s (%s)", did, path, size);
    return 0;
}

static int get_file(ash_cmd_tree_run *r, const ash_tree_entry *e, const char *local, ash_error *err)
{
    if (local != NULL && strcmp(local, "-") == 0)
        return get_to_standard(r, e, err);
    char *path = choose_path(local, e);
    int rc = get_to_path(r, e, path, err);
    ash__free(path);
    return rc;
}

/* Below LOCAL; of several, each below LOCAL/its name. */
static int get_folder(ash_cmd_tree_run *r, const ash_tree_entry *e, int64_t at_ms,
                      const char *local, ash_error *err)
{
    const char *name = ash_tree_entry_name(e);
    char *target = r->args->count > 2 ? ash__path_join(local, name)
                                      : ash__strdup(local != NULL  ? local
                                                    : name[0] != 0 ? name
                                                                   : ".");
    ash_cmd_tree_get_folder all = {e, at_ms, target, r->args->values[DELETE] != NULL,
                                   r->args->values[QUICK] != NULL};
    int rc = r->args->values[RECURSIVE] == NULL
                 ? ash__fail(err, ASH_EINVAL, "%s is a folder; get -r gets folders",
                             ash_tree_entry_path(e))
                 : ash__cmd_tree_get_folder(r, &all, err);
    ash__free(target);
    return rc;
}

static int get_word(ash_cmd_tree_run *r, const char *word, ash_error *err)
{
    const char *local = r->args->count > 1 ? r->args->words[r->args->count - 1] : NULL;
    ash_cmd_tree_address address;
    ash_tree_entry *entry = NULL;
    int rc = ash__cmd_tree_address(r, word, &address, err);
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, &entry, err);
    if (rc == 0 && ash_tree_entry_is_folder(entry))
        rc = ash__cmd_tree_folder_at(&address, entry, err);
    if (rc == 0 && ash_tree_entry_is_folder(entry))
        rc = get_folder(r, entry, address.when.at_ms, local, err);
    else if (rc == 0)
        rc = get_file(r, entry, local, err);
    ash_tree_entry_free(entry);
    ash__cmd_tree_address_release(&address);
    return rc;
}

static int get(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    return ash__cmd_tree_each(r, 0, r->args->count > 1 ? r->args->count - 1 : 1, get_word);
}

/* Several need a folder to be in, as does a file whose LOCAL ends in "/". */
static int check_local(const ash_cmd *cmd, const ash_cmd_args *args)
{
    struct stat st;
    ash_error err = ASH_ERROR_INIT;
    const char *local = args->words[args->count - 1];
    size_t len = strlen(local);
    bool slash = args->count == 2 && len > 0 && local[len - 1] == '/';
    if ((args->count < 3 && (!slash || args->values[RECURSIVE] != NULL)) || strcmp(local, "-") == 0)
        return 0;
    if (stat(local, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    ash__fail(&err, ASH_ENOTFOUND, "is no folder here");
    return ash__cmd_fail(cmd, local, &err);
}

static int run_get(ash_cmd *cmd, const ash_cmd_args *args)
{
    bool recursive = args->values[RECURSIVE] != NULL;
    if (!recursive && (args->values[DELETE] != NULL || args->values[QUICK] != NULL))
        return ash__cmd_usage(cmd, "--%s needs -r",
                              args->values[DELETE] != NULL ? "delete" : "quick");
    if (args->values[DELETE] != NULL && args->count < 2)
        return ash__cmd_usage(cmd, "--delete needs LOCAL, so that nothing is deleted by accident");
    if (args->values[DELETE] != NULL && args->count > 2)
        return ash__cmd_usage(cmd, "--delete needs one PATH");
    int status = check_local(cmd, args);
    return status != 0 ? status : ash__cmd_tree_run(cmd, ASH_CMD_READ, args, get);
}

const ash_cmd_verb ash__cmd_tree_get = {
    .name = "tree get",
    .group = "trees",
    .synopsis = "[-r] [--delete] [--quick] [--at TIME] PATH [LOCAL] | PATH... LOCAL",
    .summary = "get files and folders back",
    .details =
        "Writes the file to LOCAL, into it when it is a folder, or to standard output when it is "
        "\"-\"; without LOCAL, into\n"
        "the current folder under its own name.  Several go into LOCAL by their names.  Files get "
        "the "
        "time that the local file\n"
        "had when it was put.\n"
        "With -r, what lies in folder PATH goes below LOCAL, of several folders each below "
        "LOCAL/its "
        "name; a file whose bytes\n"
        "are here already is left alone.  With --delete, LOCAL becomes what PATH is: what is not "
        "there "
        "is deleted for good, and\n"
        "where one has a file and the other a folder, PATH's counts.  Each file is there whole or "
        "not "
        "at all.",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_get,
};
