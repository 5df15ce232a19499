/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar serve`.  Everything that can be wrong on the command line or at the addresses is found
 * before the store is opened; the end goes the other way round: clients first, the store last. */
#include "cmd/kit/verbs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/door.h"
#include "cmd/store/faces.h"
#include "cmd/store/notify.h"
#include "store/reach.h"

#include <ashlar/log.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MONGO,
    NATS,
    HTTP,
    HTTP_ROOT,
    HTTP_HOST,
    HTTP_LOG,
    HTTP_LOG_FORMAT,
    DURABILITY,
    ADVERTISE,
    STANDALONE,
    REPLICA_SET,
    NO_SOCKET,
    CONNECTIONS,
    TEST_COMMANDS,
    EXPIRE,
    SUM,
    NO_BACKGROUND
};
static const ash_cmd_option options[] = {
    {0, "mongo", "ADDR",
     "listen here for MongoDB drivers; several, separated by commas (default 127.0.0.1:27017)"},
    {0, "nats", "ADDR",
     "listen here for NATS' object-store clients, too; several, separated by commas (port 4222)"},
    {0, "http", "ADDR",
     "show a tree by WebDAV and as a page here, too; several, separated by commas (port 8080)"},
    {0, "http-root", "NAME", "the tree that is shown by HTTP (default /)"},
    {0, "http-host", "NAME",
     "a name that browsers know this server by, besides localhost and addresses; several, "
     "separated "
     "by commas"},
    {0, "http-log", "FILE", "write a line there for each request by HTTP; - is standard output"},
    {0, "http-log-format", "FORM", "how: combined, as Apache has it (default), or json",
     "combined json"},
    {0, "durability", "WHEN", "when a write is acknowledged: file (default), every or interval",
     "file every interval"},
    {0, "advertise", "ADDR",
     "the address that clients are told to come back to (default: the one they used)"},
    {0, "standalone", NULL, "present a standalone server instead of a replica set of one"},
    {0, "replica-set", "NAME", "the name of that replica set (default ashlar)"},
    {0, "no-socket", NULL,
     "make no socket in the folder, through which other commands use the store"},
    {0, "max-connections", "N", "most clients at a time (default 1000)"},
    {0, "test-commands", NULL, "offer configureFailPoint, for driver test suites"},
    {0, "expire-every", "TIME", "how often to look for expired files: 10, 90s, 5m, 1h (default 1)"},
    {0, "sum-every", "TIME",
     "how often to look for files without a digest, such as those that drivers upload (default "
     "10)"},
    {0, "no-background", NULL,
     "look for neither expired files nor missing digests; `ashlar sweep` and `ashlar sum` do it on "
     "request"},
    {0, NULL, NULL, NULL},
};

static void print_log(void *context, ash_log_level level, const char *line)
{
    ash__cmd_log(context, level, line);
}

static ash_log_level log_level(const ash_cmd *cmd)
{
    if (cmd->quiet)
        return ASH_LOG_WARN;
    return cmd->verbose > 0 ? ASH_LOG_DEBUG : ASH_LOG_INFO;
}

static int parse_durability(const ash_cmd *cmd, const char *text, ash_durability *out)
{
    /* In the order of ash_durability. */
    static const char *const names[] = {"", "file", "every", "interval"};
    *out = ASH_DURABILITY_DEFAULT;
    if (text == NULL)
        return 0;
    for (size_t i = 1; i < ASH_ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (ash_durability)i;
            return 0;
        }
    }
    return ash__cmd_usage(cmd, "--durability takes file, every or interval, not \"%s\"", text);
}

/* It is a part of URIs, and "name/host" is how some write it. */
static int check_set_name(const ash_cmd *cmd, const ash_cmd_args *args)
{
    static const char *const allowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "-_.";
    const char *name = args->values[REPLICA_SET];
    if (name == NULL)
        return 0;
    if (args->values[STANDALONE] != NULL)
        return ash__cmd_usage(cmd, "a --standalone server has no --replica-set");
    if (name[0] == '\0' || strlen(name) > 64 || name[strspn(name, allowed)] != '\0')
        return ash__cmd_usage(cmd,
                              "--replica-set takes 1 to 64 letters, digits, \"-\", \"_\" and "
                              "\".\", not \"%.80s\"",
                              name);
    return 0;
}

static void wait_for_signal(void)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    /* Blocked between the look at the flag and the wait, so that a signal is not missed in between.
     */
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int64_t watchdog_ms = ash__notify_watchdog_ms();
    struct timespec beat = {watchdog_ms / 1000, (long)(watchdog_ms % 1000) * 1000000};
    while (!ash__cmd_is_interrupted()) {
        if (watchdog_ms == 0) {
            sigsuspend(&before);
        } else {
            ash__notify("WATCHDOG=1");
            pselect(0, NULL, NULL, NULL, &beat, &before);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct chores {
    int64_t expire_s, sum_s; /* 0: their defaults */
    bool off;
    ash_chore *expiry, *sums;
};

static int parse_chores(const ash_cmd *cmd, const ash_cmd_args *args, struct chores *out)
{
    int rc = 0;
    out->off = args->values[NO_BACKGROUND] != NULL;
    if (args->values[EXPIRE] != NULL)
        rc = ash__cmd_seconds(cmd, "expire-every", args->values[EXPIRE], 1, 86400, &out->expire_s);
    if (rc == 0 && args->values[SUM] != NULL)
        rc = ash__cmd_seconds(cmd, "sum-every", args->values[SUM], 1, 86400, &out->sum_s);
    return rc;
}

static void stop_chores(struct chores *c)
{
    ash__chore_stop(c->expiry);
    ash__chore_stop(c->sums);
}

/* The bytes of a deployment's files are not fetched just for their digests. */
static int start_chores(ash_store *store, struct chores *c, ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    if (c->off)
        return 0;
    int rc = ash_store_capabilities(store, &can, err);
    if (rc == 0)
        rc = ash__chore_start(store, ASH_CHORE_EXPIRE, c->expire_s * 1000, &c->expiry, err);
    if (rc == 0 && can.in_process)
        rc = ash__chore_start(store, ASH_CHORE_SUM, c->sum_s * 1000, &c->sums, err);
    return rc;
}

/* Before the store is opened, which may have to be made or waited for.  When it is there, whoever
 * has the address may be the one who has the store: opening tells more then. */
static int check_beforehand(const ash_cmd *cmd, const ash_faces *faces, ash_error *err)
{
    char *folder =
        ash__cmd_need_folder(cmd, "only a store in a folder can be served, not a deployment", err);
    if (folder == NULL)
        return err->code;
    struct stat st;
    char *made = ash__path_join(folder, "ashlar.store");
    int rc = ash__faces_try(faces, err);
    if (rc == ASH_EEXISTS && stat(made, &st) == 0)
        rc = 0;
    ash__free(made);
    ash__free(folder);
    return rc;
}

static int serve(const ash_serving *s, ash_faces *faces, struct chores *chores, ash_error *err)
{
    /* Chores before faces: whoever is told an address finds a server that is complete. */
    int rc = start_chores(s->store, chores, err);
    if (rc == 0)
        rc = ash__faces_start(faces, s, err);
    if (rc == 0) {
        ash__faces_announce(faces, s->cmd);
        ash__notify("READY=1");
        wait_for_signal();
        ash__notify("STOPPING=1");
    }
    stop_chores(chores);
    ash__faces_stop(faces);
    return rc;
}

/* A server lives long: what a large answer took goes back to the system, not to a pool. */
static void keep_memory_flat(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
#endif
}

/* A server that found damage ends with the status of damage, however well it ran. */
static int report_damage(ash_store *store, ash_error *err)
{
    bson_t stats;
    bson_iter_t it, at;
    int rc = 0;
    if (ash_store_stats(store, NULL, NULL, 1, NULL, &stats, err) != 0)
        /* Whatever else fails at the end says nothing about damage. */
        return err->code == ASH_ECORRUPT ? ASH_ECORRUPT : 0;
    if (bson_iter_init(&it, &stats) && bson_iter_find_descendant(&it, "ashlar.damage.first", &at) &&
        BSON_ITER_HOLDS_UTF8(&at))
        rc = ash__fail(err, ASH_ECORRUPT, "the metadata is damaged: %s; `ashlar check` says more",
                       bson_iter_utf8(&at, NULL));
    bson_destroy(&stats);
    return rc;
}

/* A server that nobody watches has no terminal to lose, and nothing to read anew: what sends SIGHUP
 * to such ones means no end. */
static void outlive_terminals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    if (!isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO) && !isatty(STDERR_FILENO))
        sigaction(SIGHUP, &ignore, NULL);
}

static int parse_log_format(const ash_cmd *cmd, const char *text, bool *json)
{
    *json = text != NULL && strcmp(text, "json") == 0;
    if (text == NULL || *json || strcmp(text, "combined") == 0)
        return 0;
    return ash__cmd_usage(cmd, "--http-log-format takes combined or json, not \"%.80s\"", text);
}

static int parse(const ash_cmd *cmd, const ash_cmd_args *args, ash_serving *out)
{
    int64_t connections = 0;
    int rc = check_set_name(cmd, args);
    *out = (ash_serving){.cmd = cmd,
                         .listen = {args->values[MONGO], args->values[NATS], args->values[HTTP]},
                         .http_root = args->values[HTTP_ROOT],
                         .http_hosts = args->values[HTTP_HOST],
                         .http_log = args->values[HTTP_LOG],
                         .advertise = args->values[ADVERTISE],
                         .set_name = args->values[REPLICA_SET],
                         .standalone = args->values[STANDALONE] != NULL,
                         .test_commands = args->values[TEST_COMMANDS] != NULL};
    if (rc == 0)
        rc = parse_log_format(cmd, args->values[HTTP_LOG_FORMAT], &out->http_log_json);
    if (rc == 0 && args->values[CONNECTIONS] != NULL)
        rc = ash__cmd_number(cmd, "max-connections", args->values[CONNECTIONS], 1, 1000000,
                             &connections);
    out->max_connections = (int32_t)connections;
    return rc;
}

/* Other commands on the folder come in by a socket in it. */
static int open_door(const ash_serving *s, ash_cmd_door *door, ash_error *err)
{
    char *folder = ash__cmd_store_folder(s->cmd);
    if (folder == NULL)
        return 0;
    int rc = ash__door_open(folder, ASH_REACH_SOCKET, ASH_REACH_ADDRESS_FILE, door, err);
    ash__free(folder);
    return rc;
}

static int run_serve(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_cmd_door door = {0};
    struct chores chores = {0};
    ash_serving serving;
    ash_faces faces = {0};
    int rc = parse_durability(cmd, args->values[DURABILITY], &opts.durability);
    if (rc == 0)
        rc = parse_chores(cmd, args, &chores);
    if (rc == 0)
        rc = parse(cmd, args, &serving);
    if (rc == 0)
        rc = ash__faces_init(&faces, &serving);
    if (rc != 0) {
        ash__faces_stop(&faces);
        return rc;
    }
    /* Before anything large is allocated. */
    keep_memory_flat();
    opts.no_server = true; /* one that is already there is an error, not a detour */
    ash_log_set(print_log, cmd, log_level(cmd));
    ash__cmd_catch_signals();
    outlive_terminals();
    rc = check_beforehand(cmd, &faces, &err);
    if (rc == 0)
        rc = ash__cmd_open_store(cmd, ASH_CMD_WRITE, &opts, &serving.store, &err);
    if (rc == 0 && args->values[NO_SOCKET] == NULL)
        rc = open_door(&serving, &door, &err);
    /* NULL without a door. */
    serving.socket_path = door.path;
    if (rc == 0)
        rc = serve(&serving, &faces, &chores, &err);
    if (rc == 0)
        rc = report_damage(serving.store, &err);
    if (rc < 0)
        rc = ash__cmd_fail(cmd, NULL, &err);
    ash__cmd_close_store(serving.store);
    ash__door_close(&door);
    ash__faces_stop(&faces);
    return rc;
}

const ash_cmd_verb ash__cmd_serve = {
    .name = "serve",
    .group = "serve",
    .synopsis = "[--mongo ADDR[,ADDR...]] [--nats ADDR[,ADDR...]] [--http ADDR[,ADDR...]]",
    .summary = "let MongoDB drivers, NATS clients, browsers, WebDAV clients, and other commands on "
               "the same "
               "folder, use the store",
    .details = "Prints a mongodb://, nats:// or http:// line for each address (with --json: an "
               "object with "
               "\"uri\"), "
               "then serves until it gets SIGINT\n"
               "or SIGTERM or, when it was started on a terminal, until that is closed (SIGHUP).\n"
               "Its log goes to standard error, each line with its date (with --json: objects "
               "\"log\"); with -q, only warnings and\n"
               "errors.  Only loopback addresses are allowed, since clients are not authenticated. "
               " Port 0 is any free port; a\n"
               "port alone means 127.0.0.1.",
    .options = options,
    .run = run_serve,
};
