/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar put`: what the words and options mean.  put_file.c keeps one file, put_folder.c finds
 * them. */
#include "cmd/files/put.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    RECURSIVE,
    NAME,
    CHUNK_SIZE,
    METADATA,
    IF_ABSENT,
    REPLACE,
    TTL,
    ID,
    RESUME,
    PRESERVE,
    UPDATE,
    CHECKSUM
};
static const ash_cmd_option options[] = {
    {'r', "recursive", NULL, "keep whole folders; each file's name is its path below the folder"},
    {0, "name", "NAME", "name in the bucket; one that ends in \"/\", or any with -r, is a folder"},
    {0, "chunk-size", "SIZE", "size of the chunks, in bytes or with k or M (default 255k)"},
    {0, "metadata", "JSON", "metadata document to keep with each file"},
    {0, "if-absent", NULL, "fail if the name exists already"},
    {0, "replace", NULL, "delete older revisions of the name in the same step"},
    {0, "ttl", "TIME", "delete the file after this time: 90, 90s, 15m, 12h, 7d"},
    {0, "id", "VALUE", "the file's _id, written as after \"id:\""},
    {0, "resume", NULL, "if interrupted, the same command typed again carries on where it stopped"},
    {'p', "preserve", NULL,
     "keep the time and mode of local files in their metadata, as mtime and mode"},
    {'u', "update", NULL, "skip files that have not changed, by size and time; implies -p"},
    {0, "checksum", NULL, "with --update: by size and SHA-256"},
    {0, NULL, NULL, NULL},
};

static void put_file(ash_put *p, const char *path, const char *name, uint8_t *buf)
{
    ash_error err = ASH_ERROR_INIT;
    struct stat st;
    bool streamed = strcmp(path, "-") == 0;
    if (!streamed && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        ash__fail(&err, ASH_EINVAL, "is a folder (put -r keeps folders)");
        ash__put_note_failure(p, path, &err);
        return;
    }
    char *target = name == NULL ? ash__strdup(ash__cmd_last_part(path))
                                : ash__cmd_target_name(name, streamed ? NULL : path, &err);
    /* Borrowed: put_one only reads it. */
    ash_put_job job = {(char *)(uintptr_t)path, target, false};
    if (target != NULL)
        ash__put_one(p, &job, buf);
    else
        ash__put_note_failure(p, path, &err);
    ash__free(target);
}

static void put_files(ash_put *p, const ash_cmd_args *args, int count, const char *name)
{
    uint8_t *buf = ash__alloc(ASH_PUT_BUFFER_BYTES);
    struct stat st;
    /* What cannot be seen counts nothing here: putting it says why. */
    int64_t total = 0;
    for (int i = 0; i < count; i++)
        total += stat(args->words[i], &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    ash__progress_set_total(p->progress, total, count);
    for (int i = 0; i < count && !ash__put_must_stop(p); i++)
        put_file(p, args->words[i], name, buf);
    ash__free(buf);
}

static bool is_folder_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && name[len - 1] == '/';
}

/* Which words are local files, and which is the name?  Two words that both exist locally could mean
 * either. */
static int split_words(const ash_cmd *cmd, const ash_cmd_args *args, int *count, const char **name)
{
    struct stat st;
    const char *last = args->words[args->count - 1];
    *count = args->count;
    *name = args->values[NAME];
    if (args->count > 2 && *name == NULL && is_folder_name(last) && stat(last, &st) != 0) {
        *name = last;
        *count = args->count - 1;
    } else if (args->count == 2 && *name == NULL) {
        if (stat(args->words[1], &st) == 0)
            return ash__cmd_usage(cmd,
                                  "\"%s\" is a local file too: say --name %s to keep %s under "
                                  "that name, or put one at a time",
                                  args->words[1], args->words[1], args->words[0]);
        *name = args->words[1];
        *count = 1;
    }
    if (*name != NULL && (*name)[0] == 0) /* most likely a variable that should have had a value */
        return ash__cmd_usage(cmd, "a name cannot be empty");
    if (args->values[RECURSIVE] == NULL && *name != NULL && *count > 1 && !is_folder_name(*name))
        return ash__cmd_usage(cmd, "several files cannot have one name; %s/ is a folder", *name);
    for (int i = 0; i < *count; i++) {
        if (strcmp(args->words[i], "-") == 0 && (*name == NULL || args->values[RECURSIVE] != NULL))
            return ash__cmd_usage(cmd, "standard input needs a name: put - NAME");
        if (strcmp(args->words[i], "-") == 0 && args->values[RESUME] != NULL)
            return ash__cmd_usage(cmd, "--resume needs a local file: standard input cannot be read "
                                       "again");
    }
    return 0;
}

static int fill_options(ash_put *p, const ash_cmd_args *args, bson_t *metadata)
{
    int64_t number = 0;
    int status = 0;
    bson_error_t reason;
    p->opts = (ash_upload_options)ASH_UPLOAD_OPTIONS_INIT;
    if (args->values[IF_ABSENT] != NULL && args->values[REPLACE] != NULL)
        return ash__cmd_usage(p->cmd, "--replace and --if-absent cannot both be had");
    if (args->values[CHUNK_SIZE] != NULL)
        status = ash__cmd_bytes(p->cmd, "chunk-size", args->values[CHUNK_SIZE], 1,
                                ASH_CHUNK_SIZE_MAX, &number);
    p->opts.chunk_size_bytes = (int32_t)number;
    if (status == 0 && args->values[TTL] != NULL)
        status =
            ash__cmd_seconds(p->cmd, "ttl", args->values[TTL], 1, INT64_C(1) << 40, &p->opts.ttl_s);
    if (status == 0 && args->values[METADATA] != NULL) {
        bson_destroy(metadata);
        if (!ash__cmd_json(args->values[METADATA], metadata, &reason))
            return ash__cmd_usage(p->cmd, "--metadata is not a JSON document: %s", reason.message);
        p->opts.metadata = metadata;
    }
    p->opts.condition = args->values[IF_ABSENT] != NULL ? ASH_PUT_IF_ABSENT : ASH_PUT_ALWAYS;
    p->opts.replace = args->values[REPLACE] != NULL;
    p->resume = args->values[RESUME] != NULL;
    p->checksum = args->values[CHECKSUM] != NULL;
    p->update = args->values[UPDATE] != NULL || p->checksum;
    p->preserve = args->values[PRESERVE] != NULL || p->update;
    p->recursive = args->values[RECURSIVE] != NULL;
    /* Whatever would make another file of it; a token of other settings is not resumed. */
    p->settings = ash__sprintf("%s\n%s\n%" PRId32 "\n%" PRId64 "\n%d%d%d",
                               args->values[ID] != NULL ? args->values[ID] : "",
                               args->values[METADATA] != NULL ? args->values[METADATA] : "",
                               p->opts.chunk_size_bytes, p->opts.ttl_s, p->opts.condition,
                               p->opts.replace, p->preserve);
    return status;
}

static int fill_id(ash_put *p, const ash_cmd_args *args, int count)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cmd_address address;
    if (args->values[ID] == NULL)
        return 0;
    if (count > 1 || args->values[RECURSIVE] != NULL)
        return ash__cmd_usage(p->cmd, "several files cannot have one id");
    char *text = ash__sprintf("id:%s", args->values[ID]);
    int rc = ash__cmd_address_parse(text, &address, &err);
    ash__free(text);
    if (rc != 0)
        return ash__cmd_fail(p->cmd, NULL, &err);
    p->id = address.id; /* taken over */
    return 0;
}

static int summarise(ash_put *p)
{
    if (ash__cmd_is_interrupted()) {
        ash_error err = ASH_ERROR_INIT;
        ash__cmd_check_interrupted(&err);
        if (p->first_status != ASH_EXIT_INTERRUPTED) /* no file was in the middle of it */
            ash__cmd_fail(p->cmd, NULL, &err);
        return ASH_EXIT_INTERRUPTED;
    }
    if (p->lost)
        ash__cmd_warn(p->cmd, "the store is out of reach: files not yet put were not tried");
    if (p->failed > 0)
        /* One file's own status, when it was the only one; of several, that some failed. */
        return p->done + p->unchanged > 0 || p->failed > 1 ? ASH_EXIT_PARTIAL : p->first_status;
    return ASH_EXIT_OK;
}

/* A dry run makes no store; without one every name is free. */
static int open_target(ash_put *p, ash_store **store, ash_error *err)
{
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    opts.bucket_name = p->cmd->bucket;
    if (!p->cmd->dry_run) {
        ash_capabilities can = ASH_CAPABILITIES_INIT;
        int rc = ash__cmd_open_bucket(p->cmd, ASH_CMD_WRITE, store, &p->bucket, err);
        if (rc == 0 && p->resume)
            rc = ash_store_capabilities(*store, &can, err);
        /* Elsewhere a server goes on when we end (secure() in put_file.c). */
        if (rc == 0 && p->resume && can.in_process)
            p->secured_store = *store;
        return rc;
    }
    int result = ash__cmd_open_if_any(p->cmd, store, err);
    return result == 0 && *store != NULL ? ash_bucket_new(*store, &opts, &p->bucket, err) : result;
}

/* Can it be read, as far as that is seen without opening it?  Who opens a pipe and closes it takes
 * its writer's only reader away. */
static int check_local(const ash_put *p, const char *path, ash_error *err)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return 0;
    if (stat(path, &st) != 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
        return ash__fail_errno(err, errno, "cannot open %s", path);
    if (S_ISDIR(st.st_mode) && !p->recursive)
        return ash__fail(err, ASH_EINVAL, "is a folder; put -r keeps folders");
    return 0;
}

/* No store is made for mistyped names alone. */
static int check_locals(const ash_put *p, const ash_cmd_args *args, int count)
{
    int status = ASH_EXIT_OK;
    if (p->cmd->dry_run || ash__cmd_store_is_there(p->cmd))
        return ASH_EXIT_OK;
    for (int i = 0; i < count; i++) {
        if (check_local(p, args->words[i], NULL) == 0)
            return ASH_EXIT_OK;
    }
    for (int i = 0; i < count; i++) {
        ash_error err = ASH_ERROR_INIT;
        if (check_local(p, args->words[i], &err) != 0)
            status = ash__cmd_fail(p->cmd, args->words[i], &err);
    }
    return status != ASH_EXIT_OK && count > 1 ? ASH_EXIT_PARTIAL : status;
}

static int run_put(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_put p = {.cmd = cmd};
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    bson_t metadata = BSON_INITIALIZER;
    const char *name;
    int count;
    int status = split_words(cmd, args, &count, &name);
    if (status == 0)
        status = fill_options(&p, args, &metadata);
    if (status == 0)
        status = fill_id(&p, args, count);
    if (status == 0)
        status = check_locals(&p, args, count);
    if (status == 0 && open_target(&p, &store, &err) != 0)
        status = ash__cmd_fail(cmd, NULL, &err);
    if (status == 0) {
        /* The words without the NAME behind them. */
        ash_cmd_args locals = *args;
        locals.count = count;
        ash__cmd_catch_signals();
        ash__mutex_init(&p.lock, ASH_RANK_SERVER);
        p.progress = ash__progress_new(cmd, 0, 0);
        p.prefix = name;
        if (p.recursive)
            ash__put_folders(&p, &locals);
        else
            put_files(&p, &locals, count, name);
        ash__progress_free(p.progress);
        ash__mutex_release(&p.lock);
        status = summarise(&p);
    }
    if (p.id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&p.id);
    bson_destroy(&metadata);
    ash__free(p.settings);
    ash_bucket_free(p.bucket);
    ash__cmd_close_store(store);
    return status;
}

const ash_cmd_verb ash__cmd_put = {
    .name = "put",
    .group = "files",
    .synopsis = "[-r] [-u] [-p] LOCAL... [NAME]",
    .summary = "keep local files",
    .details =
        "A file is kept under its base name; a single file can be kept under NAME instead.  A NAME "
        "that ends in \"/\" is a\n"
        "folder for the files to go into.  \"-\" is standard input.  Each put of a name makes a "
        "new revision "
        "of it.\n"
        "With -r, links are followed, NAME is put in front of each path, and a LOCAL that is a "
        "file keeps its base name.\n"
        "An empty folder is kept as a file named \"PATH/\"; the store's own folder is skipped.\n"
        "With --update, a file is skipped when the newest of its name has the same size and time "
        "(or, where no time was\n"
        "kept, was put after the local file last changed).  Time and mode are kept in the "
        "metadata, as mtime and mode;\n"
        "get -p restores them.\n"
        "With --resume, what was uploaded before an interruption stays in the store for 24 hours, "
        "and the same command\n"
        "goes on from there, as long as the local file has the same size and modification time.  "
        "While one such command\n"
        "is running, a second one is refused (exit status 6).",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_put,
};
