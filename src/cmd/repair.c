/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/repair.h"
#include "cmd/folder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/embedded/salvage.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct repair {
    ash_cmd *cmd;
    ash_progress *progress;
    char *folder;
    char *into;
    char *aside;       /* where the damaged store goes; NULL: it stays */
    int64_t uncertain; /* copied, and not named one by one */
} repair;

/* A name that nothing has yet: of two repairs in one second the later gets a number. */
static char *dated(const char *folder, const char *word)
{
    char date[32];
    struct tm tm;
    struct stat st;
    time_t now = time(NULL);
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &tm);
    char *path = ash__sprintf("%s.%s-%s", folder, word, date);
    for (int n = 2; lstat(path, &st) == 0; n++) {
        ash__free(path);
        path = ash__sprintf("%s.%s-%s-%d", folder, word, date, n);
    }
    return path;
}

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

static int move(const char *from, const char *to, ash_error *err)
{
    struct stat st;
    if (lstat(to, &st) == 0)
        return ash__fail(err, ASH_EEXISTS, "%s exists already", to);
    if (ash__io()->rename(from, to) != 0)
        return ash__fail_errno(err, errno, "cannot rename %s to %s", from, to);
    return 0;
}

/* The store's name never stays without a store: when the second rename fails, the first is undone.
 */
static int swap(const repair *r, ash_error *err)
{
    int result = move(r->folder, r->aside, err);
    if (result != 0)
        return result;
    result = move(r->into, r->folder, err);
    if (result != 0) {
        move(r->aside, r->folder, NULL);
        return result;
    }
    char *parent = ash__strdup(r->folder);
    char *slash = strrchr(parent, '/');
    if (slash != NULL)
        slash[slash == parent] = 0;
    result = ash__dir_sync(slash != NULL ? parent : ".", err);
    ash__free(parent);
    return result;
}

static int run(repair *r, ash_error *err)
{
    ash_salvage_report report;
    ash_salvage_options opts = {.into = r->cmd->dry_run ? NULL : r->into,
                                .progress = on_progress,
                                .finding = on_finding,
                                .ctx = r};
    ash_error swap_err = ASH_ERROR_INIT;
    int result = ash__embedded_salvage(r->folder, &opts, &report, err);
    bool done = result == 0 || result == ASH_EPARTIAL;
    bool replace = done && r->aside != NULL && !r->cmd->dry_run;
    int swapped = replace ? swap(r, &swap_err) : 0;
    ash__progress_clear(r->progress);
    if (done)
        print_report(r, &report, replace && swapped == 0 ? r->folder : r->into);
    if (swapped != 0) {
        *err = swap_err;
        result = swapped;
    }
    return result;
}

static char *without_slashes(char *path)
{
    size_t len = path != NULL ? strlen(path) : 0;
    while (len > 1 && path[len - 1] == '/')
        path[--len] = 0;
    return path;
}

int ash__cmd_repair(ash_cmd *cmd, const char *into, bool replace)
{
    ash_error err = ASH_ERROR_INIT;
    repair r = {.cmd = cmd,
                .folder = without_slashes(
                    ash__cmd_need_folder(cmd, "only a store in a folder can be repaired", &err))};
    int result = err.code;
    ash__cmd_catch_signals();
    r.progress = ash__progress_new(cmd, 0, 0);
    if (r.folder != NULL) {
        r.into = into != NULL ? without_slashes(ash__strdup(into)) : dated(r.folder, "repaired");
        r.aside = replace ? dated(r.folder, "damaged") : NULL;
        bool inside = ash__folder_holds(r.folder, r.into) && !ash__folder_holds(r.into, r.folder);
        result = inside ? ash__fail(&err, ASH_EINVAL, "%s lies in the store that is to be repaired",
                                    r.into)
                        : run(&r, &err);
    }
    int status = result != 0 ? ash__cmd_fail(cmd, NULL, &err) : ASH_EXIT_OK;
    ash__progress_free(r.progress);
    ash__free(r.folder);
    ash__free(r.into);
    ash__free(r.aside);
    return status;
}
