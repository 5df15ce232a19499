/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/pending.h"
#include "cmd/preserve.h"
#include "cmd/verbs.h"
#include "cmd/walk.h"
#include "cmd/work.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
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
    {0, "if-absent", NULL, "fail when the name exists already"},
    {0, "replace", NULL, "delete older revisions of the name in the same step"},
    {0, "ttl", "TIME", "the file is gone after that time: 90, 90s, 15m, 12h, 7d"},
    {0, "id", "VALUE", "_id of the file, as behind \"id:\""},
    {0, "resume", NULL, "if interrupted, the same command typed again carries on where it stopped"},
    {'p', "preserve", NULL,
     "keep time and mode of local files in their metadata, as mtime and mode"},
    {'u', "update", NULL, "leave out what is there unchanged, by size and time; keeps them, as -p"},
    {0, "checksum", NULL, "with --update: by size and SHA-256"},
    {0, NULL, NULL, NULL},
};

#define WORKERS      4
#define BUFFER_BYTES (1024 * 1024)
#define SECURE_BYTES (32 * 1024 * 1024)
#define RESUME_BYTES (1024 * 1024) /* shorter files are not worth a token */

struct job {
    char *path; /* "-": standard input */
    char *name;
    bool is_folder; /* an empty one: a marker without bytes */
};

/* One run of the verb.  The lock guards the counters; the rest is set before the workers start. */
struct put {
    ash_cmd *cmd;
    ash_bucket *bucket;
    ash_upload_options opts;
    bson_value_t id; /* of the only file, with --id */
    bool recursive;
    bool resume;
    bool preserve, update, checksum;
    ash_store *secured_store; /* with resume, when it is a folder of this process; else NULL */
    char *settings;           /* the options that make an upload what it is, as one text */
    ash_progress *progress;
    const char *prefix;
    ash_mutex lock;
    int failed, done;
    int unchanged; /* left out */
    bool again;    /* a name was there already, and has one more revision now */
    int64_t done_bytes;
    int first_status; /* exit code of the first failure */
    ash_work *work;
    bool lost; /* the store is out of reach: what is left would fail the same slow way */
};

static void note_failure(struct put *p, const char *path, const ash_error *err)
{
    ash__progress_clear(p->progress);
    int status = ash__cmd_fail(p->cmd, path, err);
    ash__mutex_lock(&p->lock);
    p->failed++;
    if (p->first_status == 0)
        p->first_status = status;
    p->lost = p->lost || err->code == ASH_ENETWORK;
    ash__mutex_unlock(&p->lock);
}

static bool must_stop(struct put *p)
{
    ash__mutex_lock(&p->lock);
    bool lost = p->lost;
    ash__mutex_unlock(&p->lock);
    return lost || ash__cmd_interrupted;
}

/* What an upload that can be resumed has stored in a folder is safe from this process's end only
 * when it is committed, which the engine does ten times a second; but a fast disk takes much in
 * that time.  A server goes on without us. */
static int secure(struct put *p, const ash_upload *upload, int64_t *secured, ash_error *err)
{
    if (p->secured_store == NULL || ash_upload_token(upload) == NULL ||
        ash_upload_position(upload) - *secured < SECURE_BYTES)
        return 0;
    *secured = ash_upload_position(upload);
    return ash_store_flush(p->secured_store, NULL, err);
}

static int copy_bytes(struct put *p, int fd, ash_upload *upload, uint8_t *buf, ash_error *err)
{
    int64_t secured = ash_upload_position(upload);
    for (;;) {
        ssize_t got = read(fd, buf, BUFFER_BYTES);
        if (got < 0 && errno == EINTR) {
            if (ash__cmd_interrupted)
                return ash__cmd_check_interrupted(err);
            continue;
        }
        if (got < 0)
            return ash__fail_errno(err, errno, "cannot read");
        if (got == 0)
            return 0;
        int result = ash_upload_write(upload, buf, (size_t)got, err);
        if (result == 0)
            result = secure(p, upload, &secured, err);
        if (result == 0)
            result = ash__cmd_check_interrupted(err);
        if (result != 0)
            return result;
        ash__progress_add(p->progress, got, 0, NULL);
    }
}

/* fd: of the local file; < 0 or of no regular file: there is nothing to preserve. */
static int open_upload(struct put *p, const char *name, int fd, bool resumable, ash_upload **out,
                       ash_error *err)
{
    struct stat st;
    bson_t metadata;
    ash_upload_options opts = p->opts;
    opts.resumable = resumable;
    bool preserve = p->preserve && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (preserve) {
        ash__preserve(p->opts.metadata, &st, &metadata);
        opts.metadata = &metadata;
    }
    int result =
        p->id.value_type != BSON_TYPE_EOD
            ? ash_bucket_open_upload_stream_with_id(p->bucket, &p->id, name, &opts, out, err)
            : ash_bucket_open_upload_stream(p->bucket, name, &opts, out, err);
    if (preserve)
        bson_destroy(&metadata);
    return result;
}

/* *pending: of the upload's token, or NULL when it has none. */
static int open_resumable(struct put *p, int fd, const struct job *job, ash_upload **out,
                          ash_pending **pending, ash_error *err)
{
    struct stat st;
    if (!p->resume || fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size < RESUME_BYTES)
        return open_upload(p, job->name, fd, false, out, err);
    int result = ash__pending_open(p->cmd, job->name, p->settings, job->path, &st, pending, err);
    if (result != 0)
        return result;
    bool known = ash__pending_known(*pending);
    result = ash__pending_reopen(*pending, p->cmd, p->bucket, fd, p->progress, out, err);
    if (result != 0 || *out != NULL)
        return result;
    if (!known && !p->recursive) {
        ash__progress_clear(p->progress);
        ash__cmd_say(p->cmd, "no earlier upload of %s as it is now: starting at byte 0", job->path);
    }
    result = open_upload(p, job->name, fd, true, out, err);
    if (result == 0)
        result = ash__pending_save(*pending, ash_upload_token(*out), err);
    return result;
}

/* An upload that can never be finished is not kept: its condition fails, or its id is taken. */
static bool is_final(int result)
{
    return result == 0 || result == ASH_ECONDITION || result == ASH_EEXISTS || result == ASH_EINVAL;
}

/* "kept a as b (6 B)", or "would put a as b". */
static void say_what(struct put *p, const char *did, const struct job *job, const char *size)
{
    bool streamed = strcmp(job->path, "-") == 0;
    bool renamed = streamed || strcmp(job->path, job->name) != 0;
    char *from = ash__cmd_printable(streamed ? "standard input" : job->path);
    char *name = ash__cmd_printable(job->name);
    ash__progress_clear(p->progress);
    ash__cmd_say(p->cmd, "%s %s%s%s%s", did, from, renamed ? " as " : "", renamed ? name : "",
                 size);
    ash__free(from);
    ash__free(name);
}

/* A folder's files are too many to be told of one by one, unless somebody asks for it. */
static void report_done(struct put *p, const struct job *job, const ash_file *file, int64_t took_ms)
{
    char size[32], around[80], took[32] = "";
    ash__mutex_lock(&p->lock);
    p->done++;
    p->done_bytes += ash_file_length(file);
    ash__mutex_unlock(&p->lock);
    if (p->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_file_object(file, &object);
        ash__cmd_emit(&object);
        bson_destroy(&object);
    } else if (!p->recursive || p->cmd->verbose > 0) {
        ash__cmd_print_size(size, sizeof size, ash_file_length(file));
        if (p->cmd->verbose > 0)
            snprintf(took, sizeof took, ", %" PRId64 ".%03d s", took_ms / 1000,
                     (int)(took_ms % 1000));
        snprintf(around, sizeof around, " (%s%s)", size, took);
        say_what(p, "kept", job, around);
    }
}

/* An upload that ended early, and what to do about it. */
static void say_what_is_kept(struct put *p, const struct job *job, const ash_upload *upload)
{
    char size[32];
    ash__cmd_print_size(size, sizeof size, ash_upload_position(upload));
    ash__progress_clear(p->progress);
    ash__cmd_note(
        p->cmd, "%s of %s are kept in the store for 24 hours: the same command goes on from there",
        size, job->path);
}

static int put_stream(struct put *p, int fd, const struct job *job, uint8_t *buf, ash_error *err)
{
    ash_upload *upload = NULL;
    ash_file *file = NULL;
    ash_pending *pending = NULL;
    int64_t began = ash__clock_ms();
    int result = open_resumable(p, fd, job, &upload, &pending, err);
    if (result == 0 && fd >= 0)
        result = copy_bytes(p, fd, upload, buf, err);
    if (result == 0)
        result = ash_upload_finish(upload, &file, err);
    if (pending != NULL && is_final(result)) {
        if (result != 0 && upload != NULL)
            ash_upload_abort(upload, NULL);
        ash__pending_forget(pending);
    } else if (pending != NULL && upload != NULL && ash_upload_position(upload) > 0) {
        say_what_is_kept(p, job, upload);
    } else if (pending == NULL && result != 0 && result != ASH_ENETWORK && upload != NULL) {
        ash_upload_abort(upload, NULL);
    }
    ash_upload_free(upload);
    ash__pending_free(pending);
    if (result == 0)
        report_done(p, job, file, ash__clock_ms() - began);
    ash_file_free(file);
    return result;
}

/* What a dry run can see of what would go wrong. */
static int would_fail(struct put *p, const struct job *job, ash_error *err)
{
    ash_file *file = NULL;
    ash_error ignored = ASH_ERROR_INIT;
    bool local = strcmp(job->path, "-") != 0 && !job->is_folder;
    int result = 0;
    if (local && access(job->path, R_OK) != 0)
        return ash__fail_errno(err, errno, "cannot open %s", job->path);
    if (p->bucket == NULL)
        return 0;
    if (p->opts.condition == ASH_PUT_IF_ABSENT &&
        ash_bucket_get_file_by_name(p->bucket, job->name, -1, false, &file, &ignored) == 0)
        result = ash__fail(err, ASH_ECONDITION, "file named %.200s exists already", job->name);
    ash_file_free(file);
    file = NULL;
    if (result == 0 && p->id.value_type != BSON_TYPE_EOD &&
        ash_bucket_get_file(p->bucket, &p->id, false, &file, &ignored) == 0)
        result = ash__fail(err, ASH_EEXISTS, "a file with the id exists already");
    ash_file_free(file);
    return result;
}

static void say_what_would_go(struct put *p, const struct job *job)
{
    bson_t object = BSON_INITIALIZER;
    say_what(p, "would put", job, "");
    if (p->cmd->json) {
        BSON_APPEND_UTF8(&object, "local", job->path);
        BSON_APPEND_UTF8(&object, "name", job->name);
        BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
    }
    bson_destroy(&object);
}

/* *skip: the file is there as it is here. */
static int compare(struct put *p, const struct job *job, bool *skip, ash_error *err)
{
    struct stat st;
    bson_t object = BSON_INITIALIZER;
    int result = 0;
    *skip = false;
    if (p->update && p->bucket != NULL && stat(job->path, &st) == 0 &&
        (S_ISREG(st.st_mode) || job->is_folder))
        result = ash__is_unchanged(p->bucket, job->name, job->path, &st, p->checksum, skip, err);
    if (*skip) {
        ash__mutex_lock(&p->lock);
        p->unchanged++;
        ash__mutex_unlock(&p->lock);
        ash__progress_add(p->progress, job->is_folder ? 0 : st.st_size, 0, NULL);
        BSON_APPEND_UTF8(&object, "name", job->name);
        BSON_APPEND_BOOL(&object, "unchanged", true);
        if (p->cmd->json)
            ash__cmd_emit(&object);
        else if (p->cmd->verbose > 0)
            say_what(p, "unchanged:", job, "");
    }
    bson_destroy(&object);
    return result;
}

/* Whoever puts a folder twice may not know that the first one stays. */
static void look_for_older(struct put *p, const struct job *job)
{
    ash_file *file = NULL;
    ash_error ignored = ASH_ERROR_INIT;
    ash__mutex_lock(&p->lock);
    bool look = p->recursive && !p->update && !p->again && !p->opts.replace && p->bucket != NULL;
    ash__mutex_unlock(&p->lock);
    if (!look || ash_bucket_get_file_by_name(p->bucket, job->name, -1, false, &file, &ignored) != 0)
        return;
    ash_file_free(file);
    ash__mutex_lock(&p->lock);
    p->again = true;
    ash__mutex_unlock(&p->lock);
}

static void put_one(struct put *p, const struct job *job, uint8_t *buf)
{
    bool skip = false;
    ash_error err = ASH_ERROR_INIT;
    int fd = -1;
    ash__progress_add(p->progress, 0, 0, job->name);
    int result = ash__cmd_check_name(job->name, &err);
    if (result == 0)
        result = compare(p, job, &skip, &err);
    if (result == 0 && !skip && p->cmd->dry_run)
        result = would_fail(p, job, &err);
    if (result == 0 && !skip && p->cmd->dry_run) {
        say_what_would_go(p, job);
        ash__mutex_lock(&p->lock);
        p->done++; /* for the exit status */
        ash__mutex_unlock(&p->lock);
        return;
    }
    if (result == 0 && !skip)
        look_for_older(p, job);
    if (result == 0 && strcmp(job->path, "-") == 0)
        fd = STDIN_FILENO;
    else if (result == 0 && !skip && !job->is_folder)
        result = ash__file_open(job->path, O_RDONLY, &fd, &err);
    if (result == 0 && !skip)
        result = put_stream(p, fd, job, buf, &err);
    if (fd != STDIN_FILENO)
        ash__file_close(fd);
    if (result != 0)
        note_failure(p, job->path, &err);
    ash__progress_add(p->progress, 0, 1, NULL);
}

/* ---- folders ---- */

static void do_job(void *ctx, void *taken, void *scratch)
{
    struct job *job = taken;
    if (!must_stop(ctx))
        put_one(ctx, job, scratch);
    ash__free(job->path);
    ash__free(job->name);
    ash__free(job);
}

static void add_job(struct put *p, const char *path, char *name, bool is_folder)
{
    struct job *job = ash__new(struct job);
    *job = (struct job){ash__strdup(path), name, is_folder};
    ash__work_add(p->work, job);
}

static bool queue_found(void *ctx, const char *path, const char *relative, const struct stat *st,
                        const ash_error *err)
{
    struct put *p = ctx;
    if (st == NULL) {
        if (err != NULL) {
            note_failure(p, path, err);
        } else {
            ash__progress_clear(p->progress);
            ash__cmd_note(p->cmd, "passed over %s: it is the store itself", path);
        }
        return !must_stop(p);
    }
    bool has_prefix = p->prefix != NULL && p->prefix[0] != 0;
    size_t len = has_prefix ? strlen(p->prefix) : 0;
    const char *slash = has_prefix && p->prefix[len - 1] != '/' ? "/" : "";
    char *name = ash__sprintf("%s%s%s", has_prefix ? p->prefix : "", slash, relative);
    add_job(p, path, name, S_ISDIR(st->st_mode) != 0);
    return !must_stop(p);
}

static bool count_found(void *ctx, const char *path, const char *relative, const struct stat *st,
                        const ash_error *err)
{
    int64_t *totals = ctx;
    (void)path, (void)relative, (void)err;
    if (st != NULL) {
        totals[0] += S_ISREG(st->st_mode) ? st->st_size : 0;
        totals[1]++;
    }
    return !ash__cmd_interrupted;
}

static void say_how_many(struct put *p)
{
    char size[32], left[48] = "";
    ash__cmd_print_size(size, sizeof size, p->done_bytes);
    ash__progress_clear(p->progress);
    if (p->update)
        snprintf(left, sizeof left, ", %d unchanged", p->unchanged);
    if (!p->cmd->dry_run && (p->done > 0 || p->unchanged > 0))
        ash__cmd_say(p->cmd, "kept %d file%s (%s)%s", p->done, ash__cmd_s(p->done), size, left);
    if (!p->cmd->dry_run && p->again)
        ash__cmd_note(p->cmd, "names that were there have one more revision now; --update leaves "
                              "out what is unchanged, --replace deletes the older ones");
}

static void put_folders(struct put *p, const ash_cmd_args *args)
{
    int64_t totals[2] = {0, 0};
    struct stat st;
    /* A store that keeps itself keeps what changes while it is read. */
    char *store = ash__cmd_store_folder(p->cmd);
    const struct stat *except = store != NULL && stat(store, &st) == 0 ? &st : NULL;
    ash__free(store);
    for (int i = 0; i < args->count; i++)
        ash__walk(args->words[i], except, count_found, totals);
    ash__progress_set_total(p->progress, totals[0], totals[1]);
    p->work = ash__work_start(WORKERS, BUFFER_BYTES, do_job, p);
    for (int i = 0; i < args->count && !must_stop(p); i++)
        ash__walk(args->words[i], except, queue_found, p);
    ash__work_finish(p->work);
    say_how_many(p);
}

/* ---- the verb ---- */

static void put_file(struct put *p, const char *path, const char *name, uint8_t *buf)
{
    ash_error err = ASH_ERROR_INIT;
    struct stat st;
    bool streamed = strcmp(path, "-") == 0;
    if (!streamed && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        ash__fail(&err, ASH_EINVAL, "is a folder; put -r keeps folders");
        note_failure(p, path, &err);
        return;
    }
    char *target = name == NULL ? ash__strdup(ash__cmd_last_part(path))
                                : ash__cmd_target_name(name, streamed ? NULL : path, &err);
    struct job job = {(char *)(uintptr_t)path, target, false};
    if (target != NULL)
        put_one(p, &job, buf);
    else
        note_failure(p, path, &err);
    ash__free(target);
}

static void put_files(struct put *p, const ash_cmd_args *args, int count, const char *name)
{
    uint8_t *buf = ash__alloc(BUFFER_BYTES);
    struct stat st;
    int64_t total = 0;
    for (int i = 0; i < count; i++)
        total += stat(args->words[i], &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    ash__progress_set_total(p->progress, total, count);
    for (int i = 0; i < count && !must_stop(p); i++)
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
    }
    return 0;
}

static int fill_options(struct put *p, const ash_cmd_args *args, bson_t *metadata)
{
    int64_t number = 0;
    int status = 0;
    bson_error_t reason;
    p->opts = (ash_upload_options)ASH_UPLOAD_OPTIONS_INIT;
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
            return ash__cmd_usage(p->cmd, "--metadata is no JSON document: %s", reason.message);
        p->opts.metadata = metadata;
    }
    p->opts.condition = args->values[IF_ABSENT] != NULL ? ASH_PUT_IF_ABSENT : ASH_PUT_ALWAYS;
    p->opts.replace = args->values[REPLACE] != NULL;
    p->resume = args->values[RESUME] != NULL;
    p->checksum = args->values[CHECKSUM] != NULL;
    p->update = args->values[UPDATE] != NULL || p->checksum;
    p->preserve = args->values[PRESERVE] != NULL || p->update;
    p->recursive = args->values[RECURSIVE] != NULL;
    p->settings = ash__sprintf("%s\n%s\n%" PRId32 "\n%" PRId64 "\n%d%d%d",
                               args->values[ID] != NULL ? args->values[ID] : "",
                               args->values[METADATA] != NULL ? args->values[METADATA] : "",
                               p->opts.chunk_size_bytes, p->opts.ttl_s, p->opts.condition,
                               p->opts.replace, p->preserve);
    return status;
}

static int fill_id(struct put *p, const ash_cmd_args *args, int count)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cmd_address address;
    if (args->values[ID] == NULL)
        return 0;
    if (count > 1 || args->values[RECURSIVE] != NULL)
        return ash__cmd_usage(p->cmd, "several files cannot have one id");
    char *text = ash__sprintf("id:%s", args->values[ID]);
    int result = ash__cmd_address_parse(text, &address, &err);
    ash__free(text);
    if (result != 0)
        return ash__cmd_fail(p->cmd, NULL, &err);
    p->id = address.id; /* taken over */
    return 0;
}

static int summarise(struct put *p)
{
    if (ash__cmd_interrupted) {
        ash_error err = ASH_ERROR_INIT;
        ash__cmd_check_interrupted(&err);
        if (p->first_status != ASH_EXIT_INTERRUPTED) /* no file was in the middle of it */
            ash__cmd_fail(p->cmd, NULL, &err);
        return ASH_EXIT_INTERRUPTED;
    }
    if (p->lost)
        ash__cmd_warn(p->cmd, "the store is out of reach: files not yet put were not tried");
    if (p->failed > 0)
        return p->done + p->unchanged > 0 || p->failed > 1 ? ASH_EXIT_PARTIAL : p->first_status;
    return ASH_EXIT_OK;
}

/* A dry run makes no store; without one every name is free. */
static int open_target(struct put *p, ash_store **store, ash_error *err)
{
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    opts.bucket_name = p->cmd->bucket;
    if (!p->cmd->dry_run) {
        ash_capabilities can;
        int rc = ash__cmd_open_bucket(p->cmd, ASH_CMD_WRITE, store, &p->bucket, err);
        if (rc == 0 && p->resume)
            rc = ash_store_capabilities(*store, &can, err);
        if (rc == 0 && p->resume && strcmp(can.backend, "embedded") == 0)
            p->secured_store = *store;
        return rc;
    }
    int result = ash__cmd_open_if_any(p->cmd, store, err);
    return result == 0 && *store != NULL ? ash_bucket_open(*store, &opts, &p->bucket, err) : result;
}

static int run_put(ash_cmd *cmd, const ash_cmd_args *args)
{
    struct put p = {.cmd = cmd};
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
    if (status == 0 && open_target(&p, &store, &err) != 0)
        status = ash__cmd_fail(cmd, NULL, &err);
    if (status == 0) {
        ash_cmd_args locals = *args;
        locals.count = count;
        ash__cmd_catch_signals();
        ash__mutex_init(&p.lock, ASH_RANK_SERVER);
        p.progress = ash__progress_new(cmd, 0, 0);
        p.prefix = name;
        if (p.recursive)
            put_folders(&p, &locals);
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
        "A file is kept under its base name, or under NAME (one file); a NAME that ends in \"/\" "
        "is "
        "the folder it goes\n"
        "into.  \"-\" is standard input.  Each put makes a new revision of the name.  With -r, "
        "links are followed, an empty folder is kept as a "
        "file named \"PATH/\", the\n"
        "folder of the store itself is passed over, and NAME is put in front of each path; a LOCAL "
        "that is a file has its\n"
        "base name.\n"
        "With --update, a file is left out when the newest of its name has its size and time (or, "
        "where no time was kept,\n"
        "was put after the local one was changed).  Time and mode are the fields mtime and mode of "
        "the metadata; get -p\n"
        "gives them back.\n"
        "With --resume, an upload that ends early is kept in the store for 24 hours.  The same "
        "command goes on with it, as\n"
        "long as the local file has the same size and time of change; while one is running, a "
        "second "
        "one is refused (exit\n"
        "status 6).",
    .options = options,
    .min_words = 1,
    .max_words = -1,
    .has_dry_run = true,
    .run = run_put,
};
