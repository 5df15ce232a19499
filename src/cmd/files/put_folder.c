/* SPDX-License-Identifier: Apache-2.0 */
/* Folders are walked twice: for the totals, and to give the files to the workers. */
#include "cmd/files/put.h"

#include "base/mem.h"
#include "cmd/kit/walk.h"

#include <string.h>

#define WORKERS 4

static void do_job(void *ctx, void *taken, void *scratch)
{
    ash_put_job *job = taken;
    if (!ash__put_must_stop(ctx))
        ash__put_one(ctx, job, scratch);
    ash__free(job->path);
    ash__free(job->name);
    ash__free(job);
}

static void add_job(ash_put *p, const char *path, char *name, bool is_folder)
{
    /* The walk's texts end with the visit; the worker frees these. */
    ash_put_job *job = ash__new(ash_put_job);
    *job = (ash_put_job){ash__strdup(path), name, is_folder};
    ash__work_add(p->work, job);
}

static bool queue_found(void *ctx, const char *path, const char *relative, const struct stat *st,
                        const ash_error *err)
{
    ash_put *p = ctx;
    if (st == NULL) {
        if (err != NULL) {
            ash__put_note_failure(p, path, err);
        } else {
            ash__progress_clear(p->progress);
            ash__cmd_note(p->cmd, "skipped %s: it is the store itself", path);
        }
        return !ash__put_must_stop(p);
    }
    bool has_prefix = p->prefix != NULL && p->prefix[0] != 0;
    size_t len = has_prefix ? strlen(p->prefix) : 0;
    const char *slash = has_prefix && p->prefix[len - 1] != '/' ? "/" : "";
    char *name = ash__sprintf("%s%s%s", has_prefix ? p->prefix : "", slash, relative);
    add_job(p, path, name, S_ISDIR(st->st_mode) != 0);
    return !ash__put_must_stop(p);
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
    return !ash__cmd_is_interrupted();
}

static void say_how_many(ash_put *p)
{
    char size[32], left[48] = "";
    ash__cmd_print_size(size, sizeof size, p->done_bytes);
    ash__progress_clear(p->progress);
    if (p->update)
        snprintf(left, sizeof left, ", %d unchanged", p->unchanged);
    if (!p->cmd->dry_run && (p->done > 0 || p->unchanged > 0))
        ash__cmd_say(p->cmd, "kept %d file%s (%s)%s", p->done, ash__cmd_s(p->done), size, left);
    if (!p->cmd->dry_run && p->again && p->done > 0 && p->opts.condition != ASH_PUT_IF_ABSENT)
        ash__cmd_note(p->cmd, "names that were there have one more revision now; --update leaves "
                              "out what is unchanged, --replace deletes the older ones");
}

void ash__put_folders(ash_put *p, const ash_cmd_args *args)
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
    p->work = ash__work_start(WORKERS, ASH_PUT_BUFFER_BYTES, do_job, p);
    for (int i = 0; i < args->count && !ash__put_must_stop(p); i++)
        ash__walk(args->words[i], except, queue_found, p);
    ash__work_finish(p->work);
    say_how_many(p);
}
