/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/put.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { RECURSIVE = ASH_CMD_TREE_FIRST_OPTION, DELETE, QUICK, VERIFY, TYPE, IF_ABSENT, BY };
static const ash_cmd_option options[] = {
    ASH_CMD_TREE_OPTIONS,
    {'r', "recursive", NULL,
     "what lies in folder LOCAL goes below PATH; what is there already as it "
     "is here is left alone"},
    {0, "delete", NULL, "with -r: delete below PATH what is not in LOCAL, so that both are equal"},
    {0, "quick", NULL,
     "with -r: a file of the same size and time is the same; else its bytes decide"},
    {0, "verify", NULL,
     "with -r: read what the tree has, too, and put again what is damaged there"},
    {0, "type", "TYPE", "content type, such as text/html"},
    {0, "if-absent", NULL, "fail if PATH is there already (not with -r)"},
    ASH_CMD_TREE_BY_OPTION,
    ASH_CMD_TREE_NO_OPTION,
};

int ash__cmd_tree_put_write(const ash_cmd_tree_put_target *to, ash_sync_file *f,
                            ash_tree_writer **out, ash_error *err)
{
    ash_tree_writer *writer = NULL;
    int rc = ash_tree_open_writer(to->tree, to->path, to->opts, to->op, &writer, err);
    if (rc == 0 && !f->whole)
        rc = ash__sync_fill(f, err);
    while (rc == 0 && f->got > 0) {
        rc = ash_tree_writer_write(writer, f->buf, f->got, err);
        ash__progress_add(to->progress, (int64_t)f->got, 0, NULL);
        f->got = 0;
        if (rc == 0 && !f->whole)
            rc = ash__sync_fill(f, err);
    }
    if (rc != 0)
        ash_tree_writer_free(writer);
    else
        *out = writer;
    return rc;
}

/* before: what had the path, or NULL. */
static void report(const ash_cmd_tree_run *r, const char *local, const ash_tree_entry *before,
                   const ash_tree_entry *e)
{
    char size[32];
    if (ash__cmd_tree_emit(r, e, NULL, NULL))
        return;
    ash__cmd_print_size(size, sizeof size, ash_tree_entry_length(e));
    bool same = before != NULL &&
                ash_tree_entry_changed_ms(before) == ash_tree_entry_changed_ms(e) &&
                ash_tree_entry_version(before) == ash_tree_entry_version(e);
    ash__cmd_say(r->cmd,
                 same ? "%s is what %s has: still version %" PRId32 " (%s)"
                      : "kept %s as %s, version %" PRId32 " (%s)",
                 strcmp(local, "-") == 0 ? "standard input" : local, ash_tree_entry_path(e),
                 ash_tree_entry_version(e), size);
}

static int plan(const ash_cmd_tree_run *r, const char *local, const char *path, ash_error *err)
{
    bson_t object = BSON_INITIALIZER;
    if (strcmp(local, "-") != 0 && access(local, R_OK) != 0)
        return ash__fail_errno(err, errno, "cannot open %s", local);
    BSON_APPEND_UTF8(&object, "local", local);
    BSON_APPEND_UTF8(&object, "path", path);
    BSON_APPEND_BOOL(&object, "dryRun", true);
    if (r->cmd->json)
        ash__cmd_emit(&object);
    else
        ash__cmd_say(r->cmd, "would put %s as %s", local, path);
    bson_destroy(&object);
    return 0;
}

static ash_tree_change_options changes(const ash_cmd_tree_run *r, const char *local)
{
    struct stat st;
    ash_tree_change_options o = ash__cmd_tree_changes(r);
    o.make_folders = true;
    o.if_absent = r->args->values[IF_ABSENT] != NULL;
    o.content_type = r->args->values[TYPE];
    if (strcmp(local, "-") != 0 && stat(local, &st) == 0 && S_ISREG(st.st_mode))
        o.modified_ms = ash__local_time_ms(&st);
    return o;
}

static int put_one(ash_cmd_tree_run *r, const char *local, const char *path, ash_error *err)
{
    ash_tree_change_options o = changes(r, local);
    ash_sync_file f = {.fd = STDIN_FILENO, .path = local};
    bool streamed = strcmp(local, "-") == 0;
    ash_tree_entry *before = NULL, *entry = NULL;
    ash_tree_writer *writer = NULL;
    ash_cmd_tree_put_target to = {r->tree, path, &o, &r->op, NULL};
    if (r->cmd->dry_run)
        return plan(r, local, path, err);
    int rc = streamed ? 0 : ash__sync_open(local, &f, err);
    if (rc != 0)
        return rc;
    f.buf = ash__alloc(ASH_SYNC_BUFFER_BYTES);
    to.progress = ash__progress_new(r->cmd, 0, 1);
    ash__progress_add(to.progress, 0, 0, path);
    rc = ash__cmd_tree_put_write(&to, &f, &writer, err);
    if (rc == 0 && !r->cmd->quiet)
        (void)ash__cmd_tree_peek(r, path, &before, NULL);
    if (rc == 0)
        rc = ash_tree_writer_finish(writer, NULL, &entry, err);
    ash_tree_writer_free(writer);
    ash__progress_free(to.progress);
    ash__free(f.buf);
    if (!streamed)
        ash__sync_close(&f);
    if (rc == 0)
        report(r, local, before, entry);
    ash_tree_entry_free(before);
    ash_tree_entry_free(entry);
    return rc;
}

/* ---- which words mean what ---- */

static bool is_folder(const char *local)
{
    struct stat st;
    return strcmp(local, "-") != 0 && stat(local, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "a/b/" is called "b"; the caller frees. */
static char *own_name(const char *local)
{
    const char *part = ash__cmd_last_part(local);
    size_t len = strlen(part);
    while (len > 0 && part[len - 1] == '/')
        len--;
    return strcmp(local, "-") == 0 ? ash__strdup("") : ash__strndup(part, len);
}

/* One folder goes to PATH; of several words each goes into it by its own name. */
static int put_word(ash_cmd_tree_run *r, const char *local, ash_error *err)
{
    const char *path = r->args->words[r->args->count - 1];
    bool folder = is_folder(local);
    if (folder && r->args->values[RECURSIVE] == NULL)
        return ash__fail(err, ASH_EINVAL, "is a folder; put -r keeps folders");
    char *name = own_name(local);
    char *target = r->args->count > 2 ? ash__cmd_tree_join(path, name)
                   : folder           ? ash__strdup(path)
                                      : ash__cmd_tree_target(r, path, name, err);
    const char *const *values = r->args->values;
    ash_cmd_tree_put_folder all = {.local = local,
                                   .path = target,
                                   .content_type = values[TYPE],
                                   .delete = values[DELETE] != NULL,
                                   .quick = values[QUICK] != NULL,
                                   .verify = values[VERIFY] != NULL};
    int rc = target == NULL ? err->code
             : folder       ? ash__cmd_tree_put_folder(r, &all, err)
                            : put_one(r, local, target, err);
    ash__free(target);
    ash__free(name);
    return rc;
}

static int put(ash_cmd_tree_run *r, ash_error *err)
{
    (void)err;
    return ash__cmd_tree_each(r, 0, r->args->count - 1, put_word);
}

/* A store is not made for nothing: one of the words has to be there. */
static int check_locals(const ash_cmd *cmd, const ash_cmd_args *args)
{
    int status = 0;
    for (int i = 0; i < args->count - 1; i++)
        if (strcmp(args->words[i], "-") == 0 || access(args->words[i], F_OK) == 0)
            return 0;
    for (int i = 0; i < args->count - 1; i++) {
        ash_error err = ASH_ERROR_INIT;
        ash__fail_errno(&err, errno, "cannot open %s", args->words[i]);
        status = ash__cmd_fail(cmd, NULL, &err);
    }
    return args->count > 2 ? ASH_EXIT_PARTIAL : status;
}

static int check_words(const ash_cmd *cmd, const ash_cmd_args *args)
{
    int locals = args->count - 1;
    int status = ash__cmd_tree_check_new_path(cmd, args->words[locals]);
    if (status != 0)
        return status;
    if (args->values[DELETE] != NULL && (args->values[RECURSIVE] == NULL || locals != 1))
        return ash__cmd_usage(cmd, "--delete needs -r and one folder");
    if (args->values[QUICK] != NULL && args->values[RECURSIVE] == NULL)
        return ash__cmd_usage(cmd, "--quick needs -r");
    if (args->values[VERIFY] != NULL && args->values[RECURSIVE] == NULL)
        return ash__cmd_usage(cmd, "--verify needs -r; a single file is always compared");
    for (int i = 0; i < locals; i++) {
        if (locals > 1 && strcmp(args->words[i], "-") == 0)
            return ash__cmd_usage(cmd, "standard input needs a path of its own: put - PATH");
        if (args->values[DELETE] != NULL && !is_folder(args->words[i]))
            return ash__cmd_usage(cmd, "--delete needs a folder, and %s is none", args->words[i]);
    }
    return check_locals(cmd, args);
}

static int run_put(ash_cmd *cmd, const ash_cmd_args *args)
{
    int status = check_words(cmd, args);
    return status != 0 ? status : ash__cmd_tree_run(cmd, ASH_CMD_WRITE, args, put);
}

const ash_cmd_verb ash__cmd_tree_put = {
    .name = "tree put",
    .group = "trees",
    .synopsis = "[-r] [--delete] [--quick] [--verify] LOCAL... PATH",
    .summary = "keep local files and folders",
    .details =
        "A file goes to PATH, or into it when it is a folder; \"-\" is standard input.  Missing "
        "folders are made.\n"
        "With -r, what lies in folder LOCAL goes below PATH; of several LOCALs, each goes into "
        "PATH "
        "by its own name.\n"
        "A file whose bytes are in the tree already is left as it is, its time included, so that "
        "the same command typed\n"
        "again goes on where it was interrupted; but where the store has lost the bytes they are "
        "kept again (\"healed\"), with\n"
        "--verify also where it has damaged them.  Times of local files are kept, and get -r sets "
        "them; symbolic links and\n"
        "special files are left out.  With --delete, PATH becomes what LOCAL is: what is not there "
        "is deleted (and can be\n"
        "undeleted), and where one has a file and the other a folder, LOCAL's counts.\n"
        "All that -r does is durable when the last line is printed.",
    .options = options,
    .min_words = 2,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_put,
};
