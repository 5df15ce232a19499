/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/clock.h"
#include "base/mem.h"

#include <poll.h>
#include <unistd.h>

static const ash_cmd_option options[] = {ASH_CMD_TREE_OPTIONS, ASH_CMD_TREE_NO_OPTION};
enum { WAIT_MS = 200 };

static const char *const kinds[] = {
    [ASH_TREE_CREATED] = "created",
    [ASH_TREE_CHANGED] = "changed",
    [ASH_TREE_MOVED] = "moved",
    [ASH_TREE_DELETED] = "deleted",
};

static void emit_event(const ash_tree_event *event)
{
    bson_t object = BSON_INITIALIZER, entry;
    BSON_APPEND_UTF8(&object, "event", kinds[event->kind]);
    BSON_APPEND_UTF8(&object, "path", event->path);
    if (event->from != NULL)
        BSON_APPEND_UTF8(&object, "from", event->from);
    if (event->entry != NULL) {
        BSON_APPEND_DOCUMENT_BEGIN(&object, "entry", &entry);
        ash__cmd_tree_object(event->entry, &entry);
        bson_append_document_end(&object, &entry);
    }
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

static void say_event(const ash_tree_event *event)
{
    char date[64];
    char *path = ash__cmd_printable(event->path);
    char *from = ash__cmd_printable(event->from != NULL ? event->from : "");
    ash__clock_print(date, sizeof date, ash__clock_wall_ms());
    printf("%s  %-7s  %s%s%s\n", date, kinds[event->kind], from, from[0] != 0 ? " to " : "", path);
    ash__cmd_keep_output_error();
    ash__free(path);
    ash__free(from);
}

/* Whoever read the output went away, which a write would only tell with the next event. */
static bool is_unread(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLNVAL)) != 0;
}

/* Until it is interrupted, or nobody reads any more. */
static int watch(ash_cmd_tree_run *r, ash_error *err)
{
    ash_tree_watch *w = NULL;
    ash_tree_event event = ASH_TREE_EVENT_INIT;
    const char *path = r->args->count > 0 ? r->args->words[0] : "/";
    int rc = ash__cmd_tree_no_id(path, err);
    if (rc == 0)
        rc = ash_tree_watch_open(r->tree, path, &r->op, &w, err);
    if (rc == 0)
        ash__cmd_note(r->cmd, "watching %s; Ctrl-C ends it", path);
    while (rc == 0 && !ash__cmd_is_interrupted() && ash__cmd_flush_output()) {
        rc = ash_tree_watch_next(w, WAIT_MS, &event, err);
        if (rc == 0 && (int)event.kind == 0 && is_unread())
            break;
        if (rc != 0 || (int)event.kind == 0)
            continue;
        if (r->cmd->json)
            emit_event(&event);
        else
            say_event(&event);
    }
    ash_tree_watch_close(w);
    if (ash__cmd_is_interrupted())
        return ASH_EXIT_INTERRUPTED;
    return rc == 0 && is_unread() ? ASH_EXIT_PIPE : rc;
}

static int run_watch(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_tree_run(cmd, ASH_CMD_READ, args, watch);
}

const ash_cmd_verb ash__cmd_tree_watch = {
    .name = "tree watch",
    .group = "trees",
    .synopsis = "[PATH]",
    .summary = "print changes as they happen",
    .details = "Of PATH and all below it, from now on, until it is interrupted (exit status 130), "
               "or nobody reads its output any more (141).",
    .options = options,
    .max_words = 1,
    .run = run_watch,
};
