/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar lock`: the lock is asked for with an event to come, so that a signal can end the wait;
 * then the command runs while the library keeps the lock alive. */
#include "cmd/kit/verbs.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/child.h"
#include "cmd/kit/door.h"
#include "cmd/locks/locks.h"
#include "store/reach.h"
#include "wire/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARED, WAIT, LEASE, GRACE, META };
static const ash_cmd_option options[] = {
    {0, "shared", NULL, "a read lock: others may read too"},
    {'w', "wait", "TIME", "how long to wait for it: 90, 1.5s, 15m, 12h (default: not at all)"},
    {0, "lease", "TIME", "free it this long after the command's machine died (default 30)"},
    {0, "grace", "TIME",
     "respect locks of gridfs-locks' users this much longer, as their clocks may be off (default "
     "10)"},
    {0, "meta", "TEXT", "shown by `ashlar locks ls` while it is held"},
    {0, NULL, NULL, NULL},
};

/* What the callback of the lock needs: it runs on a thread of the library. */
struct run {
    const ash_cmd *cmd;
    int pipe[2]; /* a byte comes when the wait is over … */
    ash_lock_event_kind outcome;
    ash_error why; /* … and this is set */
    int64_t token; /* of the lock; 0: `why` says why there is none */
    atomic_bool waiting;
    atomic_bool lost;
    bool is_remote; /* nobody else comes to the store through us */
};

/* At once, so that the command's lock is as good as the grant. */
static void find_token(struct run *run, ash_lock *lock)
{
    ash_fence fence = ASH_FENCE_INIT;
    if (ash_lock_get_state(lock) == ASH_LOCK_READING)
        run->token = ash_lock_token(lock);
    else if (ash_lock_fence(lock, &fence, &run->why) == 0) /* which says why there is none */
        run->token = fence.token;
}

static void on_event(void *ctx, ash_lock *lock, const ash_lock_event *event)
{
    struct run *run = ctx;
    if (event->kind == ASH_LOCK_LOST) {
        run->lost = true;
        ash__cmd_warn(run->cmd, "%s; stopping the command", event->error.text);
        ash__child_stop();
    } else if (run->waiting) {
        /* Later events are no outcome of the wait. */
        run->waiting = false;
        run->outcome = event->kind;
        run->why = event->error;
        if (event->kind == ASH_LOCK_LOCKED)
            find_token(run, lock);
        while (write(run->pipe[1], "", 1) < 0 && errno == EINTR)
            continue;
    }
}

/* A signal ends the wait, too. */
static int wait_for_lock(struct run *run, ash_lock *lock, bool shared, ash_error *err)
{
    struct pollfd over = {.fd = run->pipe[0], .events = POLLIN};
    run->waiting = true;
    int rc = shared ? ash_lock_request_read(lock, err) : ash_lock_request_write(lock, err);
    if (rc != 0)
        return rc;
    /* Ten looks a second: a signal that comes between the look and the poll would be missed. */
    while (poll(&over, 1, 100) <= 0)
        if (ash__cmd_is_interrupted())
            ash_lock_cancel(lock);
    if (run->outcome == ASH_LOCK_LOCKED)
        /* Got just when somebody interrupted: the command is not begun. */
        return ash__cmd_check_interrupted(err);
    *err = run->why;
    if (run->outcome == ASH_LOCK_TIMED_OUT)
        err->code = ASH_ELOCKED;
    return err->code;
}

/* The command sees which lock it runs under. */
static int tell_command(const struct run *run, const char *name, ash_error *err)
{
    char text[32];
    if (run->token == 0)
        return ash__fail(err, run->why.code != 0 ? run->why.code : ASH_ELOST,
                         "its fencing token cannot be had%s%s", run->why.code != 0 ? ": " : "",
                         run->why.text);
    snprintf(text, sizeof text, "%" PRId64, run->token);
    setenv("ASHLAR_LOCK_NAME", name, 1);
    setenv("ASHLAR_LOCK_TOKEN", text, 1);
    return 0;
}

static int run_command(const struct run *run, const ash_cmd_args *args, ash_error *err)
{
    int count = args->count - 1;
    char **argv = ash__alloc_array((size_t)count + 1, sizeof(char *));
    for (int i = 0; i < count; i++)
        argv[i] = ash__strdup(args->words[i + 1]);
    int rc = ash__child_start(argv, err);
    if (rc == 0) {
        rc = ash__child_wait();
        /* They are ours again. */
        ash__cmd_catch_signals();
    } else {
        ash__cmd_fail(run->cmd, NULL, err);
        /* As shells have it. */
        rc = rc == ASH_ENOTFOUND ? 127 : 126;
    }
    for (int i = 0; i < count; i++)
        ash__free(argv[i]);
    ash__free(argv);
    return rc < 0 ? ASH_EXIT_OTHER : rc;
}

static int fail_lost(int status, ash_error *err)
{
    return ash__fail(err, ASH_ELOST,
                     "lock was lost while the command ran, which ended with status %d", status);
}

/* Between obtaining and releasing. */
static int run_locked(struct run *run, ash_lock *lock, const ash_cmd_args *args, ash_error *err)
{
    int rc = tell_command(run, args->words[0], err);
    if (rc != 0) {
        (void)ash_lock_release(lock, NULL);
        return rc;
    }
    int status = run_command(run, args, err);
    if (run->lost && run->is_remote) {
        /* There is nothing to give back, and where the store is out of reach each farewell to it
         * would take half a minute. */
        fail_lost(status, err);
        status = ash__cmd_fail(run->cmd, args->words[0], err);
        fflush(NULL);
        _exit(status);
    }
    rc = ash_lock_release(lock, err);
    if (run->lost || rc == ASH_ELOST)
        return fail_lost(status, err);
    if (rc != 0)
        ash__cmd_warn(run->cmd, "%s; it ends on its own", err->text);
    return status;
}

static void add_hint(const ash_cmd_args *args, ash_error *err)
{
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%.400s (`ashlar locks` shows all%s)", err->text,
             args->values[WAIT] == NULL ? "; --wait TIME waits" : "");
    ash__fail(err, ASH_ELOCKED, "%s", text);
}

static int with_lock(ash_cmd *cmd, ash_lock_collection *c, const ash_cmd_args *args,
                     const bson_t *meta, bool is_remote, ash_error *err)
{
    struct run run = {.cmd = cmd, .is_remote = is_remote};
    bool shared = args->values[SHARED] != NULL;
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    bson_value_t id;
    ash_lock *lock = NULL;
    o.meta_data = meta;
    o.on_event = on_event;
    o.event_ctx = &run;
    int rc = ash__locks_id(args->words[0], &id, err);
    if (rc != 0)
        return rc;
    if (pipe(run.pipe) != 0) {
        bson_value_destroy(&id);
        return ash__fail_errno(err, errno, "cannot make a pipe");
    }
    /* The command is none of its readers or writers. */
    fcntl(run.pipe[0], F_SETFD, FD_CLOEXEC);
    fcntl(run.pipe[1], F_SETFD, FD_CLOEXEC);
    rc = ash_lock_new(c, &id, &o, &lock, err);
    if (rc == 0)
        rc = wait_for_lock(&run, lock, shared, err);
    if (rc == 0)
        rc = run_locked(&run, lock, args, err);
    else if (rc == ASH_ELOCKED)
        add_hint(args, err);
    ash_lock_free(lock);
    close(run.pipe[0]);
    close(run.pipe[1]);
    bson_value_destroy(&id);
    return rc;
}

/* A folder is held by one process, and that is us now: let the command in. */
static int let_others_in(ash_cmd *cmd, ash_store *store, ash_cmd_door *door, ash_server **server,
                         ash_error *err)
{
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    int rc = ash_store_capabilities(store, &can, err);
    if (rc != 0 || !can.in_process)
        return rc;
    char *folder = ash__cmd_store_folder(cmd);
    rc = ash__door_open(folder, ASH_REACH_SOCKET, ASH_REACH_ADDRESS_FILE, door, err);
    ash__free(folder);
    if (rc != 0)
        return rc;
    o.socket_path = door->path;
    o.version = ASH_VERSION;
    return ash__server_start(store, &o, server, err);
}

/* Commands that came in by our door would lose the store with us, a lock they hold with it. */
static void wait_for_others(const ash_cmd *cmd, ash_server *server)
{
    bool said = false;
    while (server != NULL && ash__server_connection_count(server) > 0 &&
           !ash__cmd_is_interrupted()) {
        if (!said && cmd->verbose > 0)
            ash__cmd_say(cmd, "waiting for other commands that use the store through this one");
        said = true;
        ash__clock_sleep_ms(20);
    }
}

/* Neither taken nor waited for: whoever holds it is not disturbed. */
static int say_what_would_run(const ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_error err = ASH_ERROR_INIT;
    bson_value_t id;
    int rc = ash__locks_id(args->words[0], &id, &err);
    if (rc != 0)
        return ash__cmd_fail(cmd, args->words[0], &err);
    bson_value_destroy(&id);
    bool shared = args->values[SHARED] != NULL;
    if (cmd->json) {
        bson_t object = BSON_INITIALIZER, words;
        BSON_APPEND_UTF8(&object, "lock", args->words[0]);
        BSON_APPEND_BOOL(&object, "shared", shared);
        BSON_APPEND_ARRAY_BEGIN(&object, "command", &words);
        for (int i = 1; i < args->count; i++) {
            char index[12];
            snprintf(index, sizeof index, "%d", i - 1);
            BSON_APPEND_UTF8(&words, index, args->words[i]);
        }
        bson_append_array_end(&object, &words);
        BSON_APPEND_BOOL(&object, "dryRun", true);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return ASH_EXIT_OK;
    }
    ash_buffer line = ASH_BUFFER_INIT;
    for (int i = 1; i < args->count; i++)
        ash__buffer_printf(&line, "%s%s", i > 1 ? " " : "", args->words[i]);
    char *name = ash__cmd_printable(args->words[0]);
    char *command = ash__cmd_printable(ash__buffer_text(&line));
    ash__cmd_say(cmd, "would run under the %slock of %s: %s", shared ? "read " : "", name, command);
    ash__free(name);
    ash__free(command);
    ash__buffer_release(&line);
    return ASH_EXIT_OK;
}

static int parse_times(const ash_cmd *cmd, const ash_cmd_args *args, ash_lock_options *o)
{
    double *const into[] = {[WAIT] = &o->time_out_s, [LEASE] = &o->lease_s, [GRACE] = &o->grace_s};
    for (int i = WAIT; i <= GRACE; i++) {
        const char *text = args->values[i];
        int status = text != NULL ? ash__cmd_time(cmd, options[i].name, text, into[i]) : 0;
        if (status != 0)
            return status;
    }
    return 0;
}

static int run_lock(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    ash_lock_collection *c = NULL;
    ash_server *server = NULL;
    ash_cmd_door door = {0};
    bson_t meta = BSON_INITIALIZER;
    int rc = parse_times(cmd, args, &o);
    if (rc != 0)
        return rc;
    if (cmd->dry_run)
        return say_what_would_run(cmd, args);
    BSON_APPEND_UTF8(&meta, "command", args->words[1]);
    if (args->values[META] != NULL)
        BSON_APPEND_UTF8(&meta, "note", args->values[META]);
    ash__cmd_catch_signals();
    signal(SIGPIPE, SIG_DFL); /* the command inherits it */
    rc = ash__locks_open(cmd, ASH_CMD_WRITE, &o, &store, &c, &err);
    if (rc == 0)
        rc = let_others_in(cmd, store, &door, &server, &err);
    if (rc == 0)
        rc = with_lock(cmd, c, args, &meta, server == NULL, &err);
    if (rc < 0)
        rc = ash__cmd_fail(cmd, args->words[0], &err);
    wait_for_others(cmd, server);
    ash__server_stop(server);
    ash_lock_collection_close(c);
    ash__cmd_close_store(store);
    ash__door_close(&door);
    bson_destroy(&meta);
    return rc;
}

const ash_cmd_verb ash__cmd_lock = {
    .name = "lock",
    .group = "store",
    .synopsis = "[--shared] [--wait TIME] NAME -- COMMAND [ARG...]",
    .summary = "run a command under a lock",
    .details =
        "NAME is any text, or id:VALUE for the lock of the file with that id.  The lock is kept\n"
        "alive while the command runs; its exit status is passed on (128 + N if signal N ended "
        "it).\n"
        "If the lock is lost, the command gets SIGTERM and the exit status is 6, whatever its "
        "own;\n"
        "if the lock cannot be had in time, it is 6, too, and 130 if the wait is interrupted.\n"
        "Signals sent to this process are passed on; Ctrl-C reaches the command directly.\n"
        "If no `ashlar serve` serves the folder, this process lets other commands use it "
        "meanwhile,\n"
        "and ends after the last of them.\n"
        "The command finds NAME and the fencing token in ASHLAR_LOCK_NAME and ASHLAR_LOCK_TOKEN.",
    .options = options,
    .min_words = 2,
    .max_words = -1,
    .takes_names = true,
    .has_dry_run = true,
    .run = run_lock,
};
