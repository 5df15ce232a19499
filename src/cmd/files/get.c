/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar get`.  One file goes where the user says; of many the names come from the bucket, and
 * place.h keeps them below the folder. */
#include "cmd/kit/verbs.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/place.h"
#include "cmd/kit/preserve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECURSIVE, PREFIX, PRESERVE };
static const ash_cmd_option options[] = {
    {'r', "recursive", NULL, "the folder NAME (\".\": all) into folder LOCAL"},
    {0, "prefix", NULL, "as -r, but every file whose name begins with NAME, wherever it ends"},
    {'p', "preserve", NULL, "restore the time and mode that put -p or -u kept"},
    {0, NULL, NULL, NULL},
};

struct get {
    ash_cmd *cmd;
    ash_bucket *bucket;
    ash_progress *progress;
    int root_fd;
    int done, failed;
    bool count_only;
    bool preserve;
    int64_t total_bytes, total_items, done_bytes;
};

static int copy_out(struct get *g, ash_download *download, const ash_output *out, ash_error *err)
{
    for (;;) {
        const uint8_t *data;
        size_t len;
        int rc = ash_download_next(download, &data, &len, err);
        if (rc != 0 || len == 0)
            return rc;
        rc = out->write(out->ctx, data, len, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc != 0)
            return rc;
        ash__progress_add(g->progress, (int64_t)len, 0, NULL);
    }
}

static int copy_to_place(struct get *g, ash_download *download, ash_place *place, ash_error *err)
{
    ash_output out = {place, ash__place_write};
    int rc = copy_out(g, download, &out, err);
    if (rc == 0 && g->preserve) {
        ash_preserved kept = ash__preserved(ash_download_file(download));
        rc = ash__place_preserve(place, &kept, err);
    }
    return rc != 0 ? rc : ash__place_finish(place, err);
}

static void report(const struct get *g, const ash_file *file, const char *path)
{
    char size[32];
    bson_t object = BSON_INITIALIZER;
    const char *name = ash_file_filename(file);
    ash__progress_clear(g->progress);
    ash__cmd_trace(g->cmd, 1, "%s: %" PRId64 " bytes written", name != NULL ? name : "(no name)",
                   ash_file_length(file));
    if (g->cmd->json) {
        ash__cmd_file_object(file, &object);
        ash__cmd_emit(&object);
    } else if (path != NULL) {
        ash__cmd_print_size(size, sizeof size, ash_file_length(file));
        ash__cmd_say(g->cmd, "got %s (%s)", path, size);
    }
    bson_destroy(&object);
}

static void say_what_would_come(const struct get *g, const ash_file *file, const char *path)
{
    bson_t object = BSON_INITIALIZER;
    ash__cmd_say(g->cmd, "would get %s", path);
    if (g->cmd->json) {
        ash__cmd_file_object(file, &object);
        BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
    }
    bson_destroy(&object);
}

/* ---- one file ---- */

/* Where a single file goes: LOCAL, LOCAL/its name, or its name here.  The caller frees. */
static char *choose_path(const char *local, const ash_file *file, ash_error *err)
{
    struct stat st;
    const char *whole = ash_file_filename(file) != NULL ? ash_file_filename(file) : "";
    const char *name = strrchr(whole, '/') != NULL ? strrchr(whole, '/') + 1 : whole;
    bool into_folder = local != NULL && stat(local, &st) == 0 && S_ISDIR(st.st_mode);
    if (local != NULL && !into_folder)
        return ash__strdup(local);
    /* Only the last part is taken, and it may still be none. */
    if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        ash__fail(err, ASH_EINVAL, "the file's name is no local name; say where it should go");
        return NULL;
    }
    bool slash = local != NULL && local[0] != 0 && local[strlen(local) - 1] == '/';
    return slash           ? ash__sprintf("%s%s", local, name)
           : local != NULL ? ash__path_join(local, name)
                           : ash__strdup(name);
}

static int get_to_path(struct get *g, ash_download *download, const char *local, ash_error *err)
{
    ash_place *place = NULL;
    const ash_file *file = ash_download_file(download);
    char *path = choose_path(local, file, err);
    if (path == NULL)
        return err->code;
    int rc = 0;
    if (g->cmd->dry_run) {
        say_what_would_come(g, file, path);
    } else {
        ash__progress_set_total(g->progress, ash_file_length(file), 1);
        ash__progress_add(g->progress, 0, 0, path);
        rc = ash__place_open(path, &place, err);
        if (rc == 0)
            rc = copy_to_place(g, download, place, err);
        if (rc == 0)
            report(g, file, path);
    }
    ash__place_free(place);
    ash__free(path);
    return rc;
}

static int get_one(struct get *g, const char *word, const char *local, ash_error *err)
{
    ash_cmd_address address;
    ash_download *download = NULL;
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_output standard = {NULL, ash__cmd_write_out};
    /* What does not have its digest is not put in place of anything. */
    opts.verify = true;
    opts.with_attributes = true;
    int rc = ash__cmd_address_find(g->bucket, word, &address, err);
    if (rc != 0)
        return rc;
    rc = ash__cmd_address_download(g->bucket, &address, &opts, &download, err);
    if (rc == 0 && local != NULL && strcmp(local, "-") == 0)
        rc = copy_out(g, download, &standard, err);
    else if (rc == 0)
        rc = get_to_path(g, download, local, err);
    ash_download_free(download);
    ash__cmd_address_release(&address);
    return rc;
}

/* ---- many files ---- */

/* A name that ends in "/" is the mark of an empty folder; bytes under it have no place. */
static int check_marker(const ash_file *f, ash_error *err)
{
    const char *name = ash_file_filename(f) != NULL ? ash_file_filename(f) : "";
    size_t len = strlen(name);
    if (len == 0 || name[len - 1] != '/' || ash_file_length(f) == 0)
        return 0;
    return ash__fail(err, ASH_EEXISTS,
                     "a name that ends in \"/\" is a folder's, and the file has %" PRId64
                     " bytes: get it alone, as in `ashlar get NAME LOCAL`",
                     ash_file_length(f));
}

static int get_below(struct get *g, const ash_file *f, ash_error *err)
{
    ash_place *place = NULL;
    ash_download *download = NULL;
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    opts.verify = true;
    opts.with_attributes = true;
    if (ash_file_filename(f) == NULL)
        return ash__fail(err, ASH_EINVAL, "a file without a name cannot go into a folder");
    int rc = ash__place_open_below(g->root_fd, ash_file_filename(f), &place, err);
    if (rc == 0 && place != NULL)
        /* By its id: the name may have a newer revision by now. */
        rc = ash_bucket_open_download_stream(g->bucket, ash_file_id(f), &opts, &download, err);
    if (rc == 0 && place != NULL)
        rc = copy_to_place(g, download, place, err);
    ash_download_free(download);
    ash__place_free(place);
    return rc;
}

static int visit_file(void *ctx, const ash_file *f)
{
    struct get *g = ctx;
    ash_error err = ASH_ERROR_INIT;
    const char *name = ash_file_filename(f) != NULL ? ash_file_filename(f) : "";
    if (g->count_only) {
        g->total_bytes += ash_file_length(f);
        g->total_items++;
        return 0;
    }
    ash__progress_add(g->progress, 0, 0, name);
    int rc = check_marker(f, &err);
    if (rc == 0 && g->cmd->dry_run)
        say_what_would_come(g, f, name);
    else if (rc == 0)
        rc = get_below(g, f, &err);
    ash__progress_add(g->progress, 0, 1, NULL);
    if (rc == ASH_EINTERRUPTED)
        return ASH_EXIT_INTERRUPTED;
    if (rc != 0) {
        ash__progress_clear(g->progress);
        ash__cmd_fail(g->cmd, name, &err);
        g->failed++;
        /* A full disk will not get better with the next file, nor a lost store. */
        return rc == ASH_ENOSPC || rc == ASH_ENETWORK ? ash_error_exit_code(rc) : 0;
    }
    g->done++;
    g->done_bytes += ash_file_length(f);
    if (!g->cmd->dry_run)
        report(g, f, NULL);
    return 0;
}

static int open_root(struct get *g, const char *folder, ash_error *err)
{
    int rc = ash__dir_make(folder, err);
    if (rc == 0 && (g->root_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = ash__fail_errno(err, errno, "cannot open folder %s", folder);
    return rc;
}

static void summarise(struct get *g, const char *folder)
{
    char size[32];
    ash__cmd_print_size(size, sizeof size, g->done_bytes);
    ash__progress_clear(g->progress);
    if (!g->cmd->dry_run && g->done > 0)
        ash__cmd_say(g->cmd, "got %d file%s (%s) into %s", g->done, ash__cmd_s(g->done), size,
                     folder);
}

static int get_many(struct get *g, const char *name, enum ash_cmd_scope scope, const char *folder,
                    ash_error *err)
{
    ash_file_visitor visitor = {visit_file, g, false};
    g->count_only = true;
    /* Two runs: the first one counts, for the progress line, and says nothing of damage. */
    int rc = ash__cmd_each_file(NULL, g->bucket, name, scope, &visitor, err);
    g->count_only = false;
    bool damaged = rc == ASH_EPARTIAL;
    if (damaged)
        rc = 0; /* the second run reports them */
    if (rc == 0 && !damaged && g->total_items == 0)
        rc = ash__cmd_check_named(g->cmd, g->bucket, err);
    if (rc == 0 && !damaged && g->total_items == 0 &&
        (scope == ASH_CMD_PREFIX || strcmp(name, ".") != 0))
        rc = ash__cmd_no_such(name, scope, err);
    ash__progress_set_total(g->progress, g->total_bytes, g->total_items);
    if (rc == 0 && !g->cmd->dry_run)
        rc = open_root(g, folder, err);
    if (rc == 0)
        rc = ash__cmd_each_file(g->cmd, g->bucket, name, scope, &visitor, err);
    if (g->root_fd >= 0)
        close(g->root_fd);
    summarise(g, folder);
    if (rc == 0 && g->failed > 0)
        return ASH_EXIT_PARTIAL;
    return rc;
}

static int run_get(ash_cmd *cmd, const ash_cmd_args *args)
{
    struct get g = {.cmd = cmd, .root_fd = -1, .preserve = args->values[PRESERVE] != NULL};
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    const char *local = args->count > 1 ? args->words[1] : NULL;
    int rc = ash__cmd_open_bucket(cmd, ASH_CMD_READ, &store, &g.bucket, &err);
    ash__cmd_catch_signals();
    g.progress = ash__progress_new(cmd, 0, 1);
    bool prefix = args->values[PREFIX] != NULL;
    if (rc == 0 && (args->values[RECURSIVE] != NULL || prefix))
        rc = get_many(&g, args->words[0], prefix ? ASH_CMD_PREFIX : ASH_CMD_FOLDER,
                      local != NULL ? local : ".", &err);
    else if (rc == 0)
        rc = ash__cmd_explain_folder(cmd, g.bucket, args->words[0],
                                     get_one(&g, args->words[0], local, &err), &err);
    ash__progress_free(g.progress);
    if (rc < 0)
        rc = ash__cmd_fail(cmd, args->words[0], &err);
    ash_bucket_free(g.bucket);
    ash__cmd_close_store(store);
    return rc;
}

const ash_cmd_verb ash__cmd_get = {
    .name = "get",
    .group = "files",
    .synopsis = "[-r | --prefix] [-p] NAME [LOCAL]",
    .summary = "get files back",
    .details = "Writes the file to LOCAL, into it when it is a folder, or to standard output when "
               "it is \"-\"; without LOCAL, into\n"
               "the current folder under its own name.  An existing file is replaced in one step "
               "and keeps its mode; links are\n"
               "followed; devices and pipes are written to.\n"
               "With -r, the newest revision of every file in folder NAME (\".\": of every file), "
               "and of the file NAME, goes into\n"
               "folder LOCAL under its full name: get -r docs out makes out/docs/….  A name is "
               "reported and skipped (exit status 3) when it would lead "
               "out of LOCAL, when a file\n"
               "and a folder have the same name (whatever comes second), or when it ends in \"/\" "
               "and the file is not empty.",
    .options = options,
    .min_words = 1,
    .max_words = 2,
    .takes_names = true,
    .has_dry_run = true,
    .run = run_get,
};
