/* SPDX-License-Identifier: Apache-2.0 */
/* `check --repair`: first whether there is anything to repair, then salvage into a new store, then
 * perhaps the swap of names; a swap that was cut off the last time is finished instead. */
#include "cmd/store/repair.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/folder.h"
#include "store/embedded/salvage/salvage.h"
#include "store/embedded/salvage/swap.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct repair {
    ash_cmd *cmd;
    ash_progress *progress;
    char *folder;
    char *into;
    char *tail;        /* of both dated names */
    char *aside;       /* where the damaged store goes; NULL: it stays */
    int64_t uncertain; /* copied, and not named one by one */
} repair;

static bool on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    const repair *r = ctx;
    return ash__progress_maintain(r->progress, what, done, total);
}

/* Where the newest commits' pages are gone these are all records that there are. */
static bool is_uncertain(const bson_t *facts)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, facts, "kind") && BSON_ITER_HOLDS_UTF8(&it) &&
           strcmp(bson_iter_utf8(&it, NULL), "uncertain") == 0 &&
           bson_iter_init_find(&it, facts, "lost") && !bson_iter_as_bool(&it);
}

static void on_finding(void *ctx, const bson_t *facts)
{
    repair *r = ctx;
    bson_iter_t it;
    ash__progress_clear(r->progress);
    if (r->cmd->json) {
        ash__cmd_emit(facts);
    } else if (is_uncertain(facts) && r->cmd->verbose == 0) {
        r->uncertain++;
    } else if (bson_iter_init_find(&it, facts, "text")) {
        char *shown = ash__cmd_printable(bson_iter_utf8(&it, NULL));
        bool lost = bson_iter_init_find(&it, facts, "lost") && bson_iter_as_bool(&it);
        printf("%s%s\n", lost ? "lost: " : "", shown);
        ash__free(shown);
    }
}

static void print_salvaged(const ash_cmd *cmd, const ash_salvage_report *report)
{
    char *lost = report->lost > 0 ? ash__salvage_lost_text(report) : NULL;
    ash__cmd_say(cmd,
                 "%s %" PRIu64 " file%s and %" PRIu64 " document%s in %" PRIu64
                 " collection%s; %s lost",
                 cmd->dry_run ? "would salvage" : "salvaged", report->files,
                 ash__cmd_s((int64_t)report->files), report->documents,
                 ash__cmd_s((int64_t)report->documents), report->collections,
                 ash__cmd_s((int64_t)report->collections), lost != NULL ? lost : "nothing");
    ash__free(lost);
}

static void print_report(const repair *r, const ash_salvage_report *report, const char *into)
{
    const ash_cmd *cmd = r->cmd;
    bson_t out = BSON_INITIALIZER;
    if (!cmd->json) {
        if (r->uncertain > 0)
            printf("%" PRId64 " file%s or document%s copied that may have been changed or deleted "
                   "since (-v names them)\n",
                   r->uncertain, ash__cmd_s(r->uncertain), ash__cmd_s(r->uncertain));
        print_salvaged(cmd, report);
        if (!cmd->dry_run)
            ash__cmd_say(cmd, "the new store is %s", into);
        if (r->aside != NULL && !cmd->dry_run)
            ash__cmd_say(cmd, "the damaged store is now %s", r->aside);
        return;
    }
    BSON_APPEND_BOOL(&out, "clean", report->lost == 0);
    BSON_APPEND_BOOL(&out, "dryRun", cmd->dry_run);
    BSON_APPEND_UTF8(&out, "into", into);
    if (r->aside != NULL)
        BSON_APPEND_UTF8(&out, "damaged", r->aside);
    BSON_APPEND_INT64(&out, "collections", (int64_t)report->collections);
    BSON_APPEND_INT64(&out, "files", (int64_t)report->files);
    BSON_APPEND_INT64(&out, "documents", (int64_t)report->documents);
    BSON_APPEND_INT64(&out, "bytes", (int64_t)report->bytes);
    BSON_APPEND_INT64(&out, "rescuedChunks", (int64_t)report->rescued);
    BSON_APPEND_INT64(&out, "lostCount", (int64_t)report->lost);
    BSON_APPEND_INT64(&out, "lostFiles", (int64_t)report->lost_files);
    BSON_APPEND_INT64(&out, "lostChunks", (int64_t)report->lost_chunks);
    BSON_APPEND_INT64(&out, "lostDocuments", (int64_t)report->lost_documents);
    ash__cmd_emit(&out);
    bson_destroy(&out);
}

static int run(repair *r, ash_error *err)
{
    ash_salvage_report report;
    ash_salvage_options opts = {.into = r->cmd->dry_run ? NULL : r->into,
                                .progress = on_progress,
                                .finding = on_finding,
                                .ctx = r};
    ash_error swap_err = ASH_ERROR_INIT;
    int rc = ash__embedded_salvage(r->folder, &opts, &report, err);
    bool done = rc == 0 || rc == ASH_EPARTIAL;
    bool replace = done && r->aside != NULL && !r->cmd->dry_run;
    /* Also when something was lost: the damaged store stays, under its other name. */
    int swapped = replace ? ash__swap(r->folder, r->into, r->tail, &swap_err) : 0;
    ash__progress_clear(r->progress);
    if (done)
        print_report(r, &report, replace && swapped == 0 ? r->folder : r->into);
    if (swapped != 0) {
        *err = swap_err;
        rc = swapped;
    }
    return rc;
}

static char *without_slashes(char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;
    while (len > 1 && path[len - 1] == '/')
        path[--len] = 0;
    return path;
}

/* ---- is there anything to repair? ---- */

/* The child's side: 0 when nothing was found. */
static int look(const ash_cmd *cmd, const char *folder)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    ash_store *store = NULL;
    bson_t report, *action = BCON_NEW("check", BCON_INT32(1), "payloads", BCON_BOOL(true));
    char *uri = ash__sprintf("%s%s", folder[0] == '/' ? "file:" : "", folder);
    opts.read_only = opts.no_server = true;
    opts.busy_timeout_ms = 1;
    int rc = ash_store_open(uri, &opts, &store, NULL);
    if (rc == 0) {
        ash_progress *progress = ash__progress_new(cmd, 0, 0);
        rc = ash_store_maintain(store, action, ash__progress_maintain, progress, &report, NULL);
        ash__progress_free(progress);
    }
    bson_destroy(action);
    ash_store_close(store);
    return rc != 0;
}

/* Opening a damaged store may end the process that does it. */
static bool is_sound(const ash_cmd *cmd, const char *folder)
{
    int status = 0;
    /* Else the child would print what is in our buffers once more. */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        /* No handlers of exit: they are the parent's. */
        _exit(look(cmd, folder));
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
        /* A signal that came to us alone. */
        if (ash__cmd_is_interrupted())
            kill(child, SIGINT);
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void say_it_is_sound(const ash_cmd *cmd, const char *folder)
{
    if (cmd->json) {
        bson_t *out = BCON_NEW("clean", BCON_BOOL(true), "sound", BCON_BOOL(true), "dryRun",
                               BCON_BOOL(cmd->dry_run));
        ash__cmd_emit(out);
        bson_destroy(out);
    } else {
        ash__cmd_say(cmd, "%s is sound: there is nothing to repair, and nothing was copied",
                     folder);
    }
}

/* A swap that was cut off: all that is left to do is the last rename. */
static int finish_swap(const repair *r, bool replace, ash_error *err)
{
    if (!replace || r->cmd->dry_run)
        return ash__cmd_refuse_unfinished(r->folder, err);
    int rc = ash__swap_finish(r->folder, r->tail, err);
    if (rc == 0)
        ash__cmd_say(r->cmd, "%s is the repaired store now; the damaged one is %s.damaged-%s",
                     r->folder, r->folder, r->tail);
    return rc;
}

static int repair_folder(repair *r, const ash_cmd_repair_options *opts, ash_error *err)
{
    r->tail = ash__swap_unfinished(r->folder);
    if (r->tail != NULL)
        return finish_swap(r, opts->replace, err);
    r->tail = ash__swap_tail(r->folder);
    r->into = opts->into != NULL ? without_slashes(ash__strdup(opts->into))
                                 : ash__sprintf("%s.repaired-%s", r->folder, r->tail);
    if (opts->replace)
        r->aside = ash__sprintf("%s.damaged-%s", r->folder, r->tail);
    if (ash__folder_holds(r->folder, r->into) && !ash__folder_holds(r->into, r->folder))
        return ash__fail(err, ASH_EINVAL, "%s lies in the store that is to be repaired", r->into);
    if (opts->into != NULL && !r->cmd->dry_run && access(r->into, F_OK) == 0)
        return ash__fail(err, ASH_EEXISTS, "%s exists already", r->into);
    if (!opts->force && is_sound(r->cmd, r->folder)) {
        say_it_is_sound(r->cmd, r->folder);
        return 0;
    }
    r->progress = ash__progress_new(r->cmd, 0, 0);
    int rc = run(r, err);
    ash__progress_free(r->progress);
    return rc;
}

int ash__cmd_repair(ash_cmd *cmd, const ash_cmd_repair_options *opts)
{
    ash_error err = ASH_ERROR_INIT;
    repair r = {.cmd = cmd,
                .folder = without_slashes(
                    ash__cmd_need_folder(cmd, "only a store in a folder can be repaired", &err))};
    ash__cmd_catch_signals();
    int rc = r.folder != NULL ? repair_folder(&r, opts, &err) : err.code;
    int status = rc != 0 ? ash__cmd_fail(cmd, NULL, &err) : ASH_EXIT_OK;
    ash__free(r.folder);
    ash__free(r.into);
    ash__free(r.tail);
    ash__free(r.aside);
    return status;
}
