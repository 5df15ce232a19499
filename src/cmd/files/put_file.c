/* SPDX-License-Identifier: Apache-2.0 */
/* One file: skipped when it is there, resumed when it was begun, else uploaded; on any of four
 * threads when a folder is put. */
#include "cmd/files/put.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/pending.h"
#include "cmd/kit/preserve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define SECURE_BYTES (32 * 1024 * 1024) /* so much at most is put again after a kill */
#define RESUME_BYTES (1024 * 1024)      /* shorter files are not worth a token */

void ash__put_note_failure(ash_put *p, const char *path, const ash_error *err)
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

bool ash__put_must_stop(ash_put *p)
{
    ash__mutex_lock(&p->lock);
    bool lost = p->lost;
    ash__mutex_unlock(&p->lock);
    return lost || ash__cmd_is_interrupted();
}

/* What an upload that can be resumed has stored in a folder is safe from this process's end only
 * when it is committed, which the engine does ten times a second; but a fast disk takes much in
 * that time.  A server goes on without us. */
static int secure(ash_put *p, const ash_upload *upload, int64_t *secured, ash_error *err)
{
    /* Not without a token: what is uploaded then is of use only when it is finished. */
    if (p->secured_store == NULL || ash_upload_token(upload) == NULL ||
        ash_upload_position(upload) - *secured < SECURE_BYTES)
        return 0;
    *secured = ash_upload_position(upload);
    return ash_store_flush(p->secured_store, NULL, err);
}

static int copy_bytes(ash_put *p, int fd, ash_upload *upload, uint8_t *buf, ash_error *err)
{
    int64_t secured = ash_upload_position(upload);
    for (;;) {
        ssize_t got = read(fd, buf, ASH_PUT_BUFFER_BYTES);
        /* The handler does not restart it, or a pipe that is silent could not be given up. */
        if (got < 0 && errno == EINTR) {
            if (ash__cmd_is_interrupted())
                return ash__cmd_check_interrupted(err);
            continue;
        }
        if (got < 0)
            return ash__fail_errno(err, errno, "cannot read");
        if (got == 0)
            return 0;
        int rc = ash_upload_write(upload, buf, (size_t)got, err);
        if (rc == 0)
            rc = secure(p, upload, &secured, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc != 0)
            return rc;
        ash__progress_add(p->progress, got, 0, NULL);
    }
}

/* fd: of the local file; < 0 or of no regular file: there is nothing to preserve. */
static int open_upload(ash_put *p, const char *name, int fd, bool resumable, ash_upload **out,
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
    int rc = p->id.value_type != BSON_TYPE_EOD
                 ? ash_bucket_open_upload_stream_with_id(p->bucket, &p->id, name, &opts, out, err)
                 : ash_bucket_open_upload_stream(p->bucket, name, &opts, out, err);
    if (preserve)
        bson_destroy(&metadata);
    return rc;
}

/* *pending: of the upload's token, or NULL when it has none. */
static int open_resumable(ash_put *p, int fd, const ash_put_job *job, ash_upload **out,
                          ash_pending **pending, ash_error *err)
{
    ash_local_file local = {.path = job->path, .name = job->name};
    if (!p->resume || fd < 0 || fstat(fd, &local.st) != 0 || !S_ISREG(local.st.st_mode) ||
        local.st.st_size < RESUME_BYTES)
        return open_upload(p, job->name, fd, false, out, err);
    int rc = ash__pending_open(p->cmd, &local, p->settings, pending, err);
    if (rc != 0)
        return rc;
    bool known = ash__pending_known(*pending);
    rc = ash__pending_reopen(*pending, p->bucket, fd, p->progress, out, err);
    if (rc != 0 || *out != NULL)
        return rc;
    if (!known && !p->recursive) {
        ash__progress_clear(p->progress);
        ash__cmd_say(p->cmd, "no earlier upload of %s as it is now: starting at byte 0", job->path);
    }
    /* The token is saved before the first byte is sent. */
    rc = open_upload(p, job->name, fd, true, out, err);
    if (rc == 0)
        rc = ash__pending_save(*pending, ash_upload_token(*out), err);
    return rc;
}

/* An upload that can never be finished is not kept: its condition fails, or its id is taken. */
static bool is_final(int rc)
{
    return rc == 0 || rc == ASH_ECONDITION || rc == ASH_EEXISTS || rc == ASH_EINVAL;
}

/* "kept a as b (6 B)", or "would put a as b". */
static void say_what(ash_put *p, const char *did, const ash_put_job *job, const char *size)
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
static void report_done(ash_put *p, const ash_put_job *job, const ash_file *file, int64_t took_ms)
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
static void say_what_is_kept(ash_put *p, const ash_put_job *job, const ash_upload *upload)
{
    char size[32];
    ash__cmd_print_size(size, sizeof size, ash_upload_position(upload));
    ash__progress_clear(p->progress);
    ash__cmd_note(
        p->cmd, "%s of %s are kept in the store for 24 hours: the same command goes on from there",
        size, job->path);
}

static int put_stream(ash_put *p, int fd, const ash_put_job *job, uint8_t *buf, ash_error *err)
{
    ash_upload *upload = NULL;
    ash_file *file = NULL;
    ash_pending *pending = NULL;
    int64_t began = ash__clock_ms();
    int rc = open_resumable(p, fd, job, &upload, &pending, err);
    if (rc == 0 && fd >= 0)
        rc = copy_bytes(p, fd, upload, buf, err);
    if (rc == 0)
        rc = ash_upload_finish(upload, &file, err);
    /* Finished or hopeless: nothing to come back to.  Else its bytes stay; those of an upload
     * without a token are of no use to anybody. */
    if (pending != NULL && is_final(rc)) {
        if (rc != 0 && upload != NULL)
            ash_upload_abort(upload, NULL);
        ash__pending_forget(pending);
    } else if (pending != NULL && upload != NULL && ash_upload_position(upload) > 0) {
        say_what_is_kept(p, job, upload);
    } else if (pending == NULL && rc != 0 && rc != ASH_ENETWORK && upload != NULL) {
        ash_upload_abort(upload, NULL);
    }
    ash_upload_free(upload);
    ash__pending_free(pending);
    if (rc == 0)
        report_done(p, job, file, ash__clock_ms() - began);
    ash_file_free(file);
    return rc;
}

/* What a dry run can see of what would go wrong. */
static int would_fail(ash_put *p, const ash_put_job *job, ash_error *err)
{
    ash_file *file = NULL;
    ash_error ignored = ASH_ERROR_INIT;
    bool local = strcmp(job->path, "-") != 0 && !job->is_folder;
    int rc = 0;
    if (local && access(job->path, R_OK) != 0)
        return ash__fail_errno(err, errno, "cannot open %s", job->path);
    if (p->bucket == NULL)
        return 0;
    if (p->opts.condition == ASH_PUT_IF_ABSENT &&
        ash_bucket_get_file_by_name(p->bucket, job->name, -1, false, &file, &ignored) == 0)
        rc = ash__fail(err, ASH_ECONDITION, "file named %.200s exists already", job->name);
    ash_file_free(file);
    file = NULL;
    if (rc == 0 && p->id.value_type != BSON_TYPE_EOD &&
        ash_bucket_get_file(p->bucket, &p->id, false, &file, &ignored) == 0)
        rc = ash__fail(err, ASH_EEXISTS, "a file with the id exists already");
    ash_file_free(file);
    return rc;
}

static void say_what_would_go(ash_put *p, const ash_put_job *job)
{
    say_what(p, "would put", job, "");
    if (!p->cmd->json)
        return;
    bson_t *object = BCON_NEW("local", BCON_UTF8(job->path), "name", BCON_UTF8(job->name), "dryRun",
                              BCON_BOOL(true));
    ash__cmd_emit(object);
    bson_destroy(object);
}

static void say_unchanged(ash_put *p, const ash_put_job *job)
{
    if (p->cmd->json) {
        bson_t *object = BCON_NEW("name", BCON_UTF8(job->name), "unchanged", BCON_BOOL(true));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else if (p->cmd->verbose > 0) {
        say_what(p, "unchanged:", job, "");
    }
}

/* *skip: the file is there as it is here. */
static int compare(ash_put *p, const ash_put_job *job, bool *skip, ash_error *err)
{
    ash_local_file local = {.path = job->path, .name = job->name};
    int rc = 0;
    *skip = false;
    if (p->update && p->bucket != NULL && stat(job->path, &local.st) == 0 &&
        (S_ISREG(local.st.st_mode) || job->is_folder))
        rc = ash__is_unchanged(p->bucket, &local, p->checksum, skip, err);
    if (*skip) {
        ash__mutex_lock(&p->lock);
        p->unchanged++;
        ash__mutex_unlock(&p->lock);
        ash__progress_add(p->progress, job->is_folder ? 0 : local.st.st_size, 0, NULL);
        say_unchanged(p, job);
    }
    return rc;
}

/* Whoever puts a folder twice may not know that the first one stays. */
static void look_for_older(ash_put *p, const ash_put_job *job)
{
    ash_file *file = NULL;
    ash_error ignored = ASH_ERROR_INIT;
    ash__mutex_lock(&p->lock);
    /* One is enough for the note at the end; later files are not asked about. */
    bool look = p->recursive && !p->update && !p->again && !p->opts.replace && p->bucket != NULL;
    ash__mutex_unlock(&p->lock);
    if (!look || ash_bucket_get_file_by_name(p->bucket, job->name, -1, false, &file, &ignored) != 0)
        return;
    ash_file_free(file);
    ash__mutex_lock(&p->lock);
    p->again = true;
    ash__mutex_unlock(&p->lock);
}

void ash__put_one(ash_put *p, const ash_put_job *job, uint8_t *buf)
{
    bool skip = false;
    ash_error err = ASH_ERROR_INIT;
    int fd = -1;
    ash__progress_add(p->progress, 0, 0, job->name);
    int rc = ash__cmd_check_name(job->name, &err);
    if (rc == 0)
        rc = compare(p, job, &skip, &err);
    if (rc == 0 && !skip && p->cmd->dry_run)
        rc = would_fail(p, job, &err);
    if (rc == 0 && !skip && p->cmd->dry_run) {
        say_what_would_go(p, job);
        ash__mutex_lock(&p->lock);
        p->done++; /* for the exit status */
        ash__mutex_unlock(&p->lock);
        return;
    }
    if (rc == 0 && !skip)
        look_for_older(p, job);
    if (rc == 0 && strcmp(job->path, "-") == 0)
        fd = STDIN_FILENO;
    else if (rc == 0 && !skip && !job->is_folder)
        rc = ash__file_open(job->path, O_RDONLY, &fd, &err);
    if (rc == 0 && !skip)
        rc = put_stream(p, fd, job, buf, &err);
    if (fd != STDIN_FILENO)
        ash__file_close(fd);
    if (rc != 0)
        ash__put_note_failure(p, job->path, &err);
    ash__progress_add(p->progress, 0, 1, NULL);
}
