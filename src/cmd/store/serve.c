/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar serve`.  Everything that can be wrong on the command line or at the addresses is found
 * before the store is opened; the end goes the other way round: clients first, the store last. */
#include "cmd/kit/verbs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/kit/door.h"
#include "cmd/store/certificate.h"
#include "cmd/store/faces.h"
#include "cmd/store/notify.h"
#include "cmd/store/serving.h"
#include "cmd/store/traces.h"
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

/* Behind those that the settings file has, too. */
enum { CONFIG = ASH_SET_STORE, CHECK_CONFIG };
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
    {0, "auth", NULL,
     "ask MongoDB's drivers to sign in, also before the first user is made (`ashlar user add`); "
     "with users, they always have to"},
    {0, "tls-certificate", "FILE",
     "speak TLS with MongoDB's drivers and by HTTP, with this certificate (PEM, with those above "
     "it "
     "behind it, and its key if there is no --tls-key)"},
    {0, "tls-key", "FILE", "the certificate's key (PEM, without a password)"},
    {0, "tls-ca", "FILE",
     "check certificates of clients against these (PEM): MongoDB's drivers sign in by them "
     "(MONGODB-X509)"},
    {0, "tls-clients", "HOW",
     "whether clients need one: none, ask (default with --tls-ca) or require", "none ask require"},
    {0, "tls-self-signed", NULL,
     "speak TLS with a certificate that is made in the store's folder, for a first try"},
    {0, "insecure-anywhere", NULL,
     "listen on any address though nobody has to sign in, or can be overheard"},
    {0, "audit", "FILE",
     "write who did what there, a line of JSON for each event; docs/OPERATING.md says which"},
    {0, "audit-filter", "KIND",
     "what: authentication, users, structure, writes, reads; several, separated by commas (default "
     "authentication,users,structure)"},
    {0, "audit-size", "N", "MiB after which that file becomes FILE.1 (default 64)"},
    {0, "audit-keep", "N", "how many of those are kept (default 10)"},
    {0, "expire-every", "TIME",
     "how often to look for expired files: 10, 90s, 5m, 1h (default 1s)"},
    {0, "sum-every", "TIME",
     "how often to look for files without a digest, such as those that drivers upload (default "
     "10s)"},
    {0, "no-background", NULL,
     "look for neither expired files nor missing digests; `ashlar sweep` and `ashlar sum` do it on "
     "request"},
    {0, "stop-timeout", "TIME",
     "how long a stop waits for clients to take the answers that are on their way (default 1s)"},
    {0, "log-level", "LEVEL", "what the log has: error, warning, info (default) or debug",
     "error warning info debug"},
    {0, "config", "FILE",
     "settings, by the names of these options: `mongo = 127.0.0.1:27017`; what the command line "
     "has "
     "goes before it"},
    {0, "check-config", NULL, "say what is wrong with that file, and serve nothing"},
    {0, NULL, NULL, NULL},
};

static void print_log(void *context, ash_log_level level, const char *line)
{
    ash__cmd_log(context, level, line);
}

static ash_durability durability_of(const char *text)
{
    /* In the order of ash_durability. */
    static const char *const names[] = {"", "file", "every", "interval"};
    for (size_t i = 1; text != NULL && i < ASH_ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0)
            return (ash_durability)i;
    return ASH_DURABILITY_DEFAULT;
}

/* ---- work on a schedule ---- */

struct chores {
    ash_chore *expiry, *sums;
};

static void stop_chores(struct chores *c)
{
    ash__chore_stop(c->expiry);
    ash__chore_stop(c->sums);
}

/* The bytes of a deployment's files are not fetched just for their digests. */
static int start_chores(ash_store *store, const ash_choices *choices, struct chores *c,
                        ash_error *err)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    if (ash__choice(choices, ASH_SET_NO_BACKGROUND) != NULL)
        return 0;
    int rc = ash_store_capabilities(store, &can, err);
    if (rc == 0)
        rc = ash__chore_start(store, ASH_CHORE_EXPIRE,
                              ash__choice_amount(choices, ASH_SET_EXPIRE_EVERY) * 1000, &c->expiry,
                              err);
    if (rc == 0 && can.in_process)
        rc = ash__chore_start(store, ASH_CHORE_SUM,
                              ash__choice_amount(choices, ASH_SET_SUM_EVERY) * 1000, &c->sums, err);
    return rc;
}

/* ---- while it runs ---- */

typedef struct running {
    ash_cmd *cmd;
    ash_choices *choices;
    const ash_serving *serving;
    ash_certificate certificate;
    ash_faces faces;
    struct chores chores;
} running;

/* How often memory is given back, at least. */
enum { TIDY_MS = 10000 };

static volatile sig_atomic_t hung_up;

static void on_hang_up(int number)
{
    (void)number;
    hung_up = 1;
}

/* With a settings file or a certificate SIGHUP means to read it again, on a terminal, too. */
static void catch_hang_up(void)
{
    struct sigaction action = {.sa_handler = on_hang_up};
    sigemptyset(&action.sa_mask);
    sigaction(SIGHUP, &action, NULL);
}

static void tell_ready(const running *r)
{
    ash_buffer state = ASH_BUFFER_INIT;
    ash__buffer_append_text(&state, "READY=1\nSTATUS=Serving");
    ash__faces_describe(&r->faces, r->serving, &state);
    ash__notify(ash__buffer_text(&state));
    ash__buffer_release(&state);
}

static void reload(running *r)
{
    ash_choices *c = r->choices;
    ash__notify_reloading();
    ash__certificate_reload(&r->certificate);
    if (c->path != NULL && ash__choices_again(c)) {
        ash__faces_set_max_connections(&r->faces,
                                       (int32_t)ash__choice_amount(c, ASH_SET_MAX_CONNECTIONS));
        ash__chore_set_interval(r->chores.expiry,
                                ash__choice_amount(c, ASH_SET_EXPIRE_EVERY) * 1000);
        ash__chore_set_interval(r->chores.sums, ash__choice_amount(c, ASH_SET_SUM_EVERY) * 1000);
        ash__log(ASH_LOG_INFO, "%s is read again", c->path);
        ash_log_set(print_log, r->cmd, ash__choice_log_level(c));
    }
    tell_ready(r);
}

/* What many clients at once took lies in pieces in the threads' pools, where a threshold does not
 * reach it. */
static void give_memory_back(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    enum { WORTHWHILE = 8 * 1024 * 1024 };
    if (mallinfo2().fordblks > WORTHWHILE)
        malloc_trim(0);
#endif
}

static void wait_for_signal(running *r)
{
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    /* Blocked between the look at the flags and the wait, so that a signal is not missed in
     * between. */
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int64_t watchdog_ms = ash__notify_watchdog_ms();
    int64_t beat_ms = watchdog_ms > 0 && watchdog_ms < TIDY_MS ? watchdog_ms : TIDY_MS;
    struct timespec beat = {beat_ms / 1000, (long)(beat_ms % 1000) * 1000000};
    while (!ash__cmd_is_interrupted()) {
        if (hung_up) {
            hung_up = 0;
            reload(r);
            continue;
        }
        if (watchdog_ms > 0)
            ash__notify("WATCHDOG=1");
        give_memory_back();
        pselect(0, NULL, NULL, NULL, &beat, &before);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- start and end ---- */

/* Before the store is opened, which may have to be made or waited for.  When it is there, whoever
 * has the address may be the one who has the store: opening tells more then. */
static int check_beforehand(const ash_cmd *cmd, const running *r, ash_error *err)
{
    char *folder =
        ash__cmd_need_folder(cmd, "only a store in a folder can be served, not a deployment", err);
    if (folder == NULL)
        return err->code;
    struct stat st;
    char *made = ash__path_join(folder, "ashlar.store");
    int rc = ash__faces_try(&r->faces, r->serving, err);
    if (rc == ASH_EEXISTS && stat(made, &st) == 0)
        rc = 0;
    ash__free(made);
    ash__free(folder);
    return rc;
}

static int serve(running *r, ash_error *err)
{
    /* Chores before faces: whoever is told an address finds a server that is complete. */
    int rc = start_chores(r->serving->store, r->choices, &r->chores, err);
    if (rc == 0)
        rc = ash__faces_start(&r->faces, r->serving, err);
    if (rc == 0) {
        /* Before the first who asks what happened. */
        ash__traces_tell(r->serving, "startup", &r->faces);
        ash__faces_announce(&r->faces, r->serving);
        ash__certificate_announce(&r->certificate, r->cmd);
        tell_ready(r);
        wait_for_signal(r);
        ash__notify("STOPPING=1");
        ash__traces_tell(r->serving, "shutdown", &r->faces);
    }
    stop_chores(&r->chores);
    ash__faces_stop(&r->faces);
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

/* A server that nobody watches has no terminal to lose, and without --config nothing to read anew: what sends SIGHUP
 * to such ones means no end. */
static void outlive_terminals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    if (!isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO) && !isatty(STDERR_FILENO))
        sigaction(SIGHUP, &ignore, NULL);
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

/* Signals, memory and the log: before anything large is allocated. */
static void prepare(ash_cmd *cmd, const ash_choices *choices)
{
    keep_memory_flat();
    ash_log_set(print_log, cmd, ash__choice_log_level(choices));
    ash__cmd_catch_signals();
    if (choices->path != NULL || ash__certificate_is_wanted(choices))
        catch_hang_up();
    else
        outlive_terminals();
}

/* One that is made lies in the folder, which there has to be first. */
static int make_certificate(running *r, ash_error *err)
{
    char *folder = ash__cmd_store_folder(r->cmd);
    int rc = ash__certificate_open(&r->certificate, r->choices, folder, err);
    ash__free(folder);
    return rc;
}

static int open_and_serve(ash_cmd *cmd, running *r, ash_serving *serving)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_cmd_door door = {0};
    opts.durability = durability_of(ash__choice(r->choices, ASH_SET_DURABILITY));
    opts.no_server = true; /* one that is already there is an error, not a detour */
    int rc = check_beforehand(cmd, r, &err);
    if (rc == 0)
        rc = ash__cmd_open_store(cmd, ASH_CMD_WRITE, &opts, &serving->store, &err);
    if (rc == 0)
        rc = make_certificate(r, &err);
    serving->tls = r->certificate.tls;
    if (rc == 0 && ash__choice(r->choices, ASH_SET_NO_SOCKET) == NULL)
        rc = open_door(serving, &door, &err);
    /* NULL without a door. */
    serving->socket_path = door.path;
    if (rc == 0)
        rc = ash__traces_open(serving, &err);
    if (rc == 0)
        rc = serve(r, &err);
    ash__traces_close(serving);
    if (rc == 0)
        rc = report_damage(serving->store, &err);
    if (rc < 0)
        rc = ash__cmd_fail(cmd, NULL, &err);
    ash__cmd_close_store(serving->store);
    ash__door_close(&door);
    return rc;
}

/* What others can see of the server, and whether its certificate is any. */
static int check_safety(running *r, bool only_check)
{
    ash_error err = ASH_ERROR_INIT;
    ash_log_set(print_log, r->cmd, ash__choice_log_level(r->choices));
    int rc = ash__certificate_check(r->choices);
    if (rc == 0 && (ash__faces_check(&r->faces, r->serving, &err) != 0 ||
                    ash__certificate_open(&r->certificate, r->choices, NULL, &err) != 0)) {
        rc = only_check ? ASH_EXIT_USAGE : ash__cmd_fail(r->cmd, NULL, &err);
        if (only_check)
            ash__choices_complain(r->choices, ash__strdup(err.text));
    }
    return rc;
}

static int run_serve(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_choices choices;
    ash_serving serving;
    running r = {.cmd = cmd, .choices = &choices, .serving = &serving};
    bool only_check = args->values[CHECK_CONFIG] != NULL;
    if (only_check && args->values[CONFIG] == NULL)
        return ash__cmd_usage(cmd, "--check-config needs a --config FILE to look at");
    int rc = ash__choices_make(cmd, args, args->values[CONFIG], &choices);
    if (rc == 0)
        rc = ash__serving_make(&choices, &serving);
    if (rc == 0)
        rc = ash__faces_init(&r.faces, &serving);
    if (rc == 0)
        rc = check_safety(&r, only_check);
    if (only_check) {
        rc = ash__choices_report(&choices, rc);
    } else if (rc != 0) {
        ash__choices_print_errors(&choices);
    } else {
        /* The command line's own goes before it, and it before the environment's. */
        if (cmd->store_uri == NULL)
            cmd->store_uri = ash__choice(&choices, ASH_SET_STORE);
        ash__faces_warn_unused(&r.faces, cmd);
        ash__given_forget();
        prepare(cmd, &choices);
        rc = open_and_serve(cmd, &r, &serving);
    }
    ash__faces_stop(&r.faces);
    ash__certificate_release(&r.certificate);
    ash__choices_release(&choices);
    return rc;
}

const ash_cmd_verb ash__cmd_serve = {
    .name = "serve",
    .group = "serve",
    .synopsis = "[--mongo ADDR[,ADDR...]] [--nats ADDR[,ADDR...]] [--http ADDR[,ADDR...]] "
                "[--config FILE]",
    .summary = "let MongoDB drivers, NATS clients, browsers, WebDAV clients, and other commands on "
               "the same "
               "folder, use the store",
    .details = "Prints a mongodb://, nats:// or http:// line for each address (with --json: an "
               "object with "
               "\"uri\"), "
               "then serves until it gets SIGINT\n"
               "or SIGTERM or, when it was started on a terminal, until that is closed (SIGHUP).  "
               "With --config, SIGHUP reads the\n"
               "file again: limits, intervals and the log's level change at once, and the log "
               "says what takes a restart.\n"
               "Its log goes to standard error, each line with its date (with --json: objects "
               "\"log\"); with -q, only warnings and\n"
               "errors.  Beyond loopback addresses it takes TLS and clients that have to sign in: "
               "--auth and --tls-certificate.\n"
               "With a certificate, SIGHUP reads that again, too.  Port 0 is any free port; a port "
               "alone means 127.0.0.1.  fd:3 is a socket that was given to the process; those "
               "that systemd names mongo, nats or\n"
               "http are taken by themselves.",
    .options = options,
    .run = run_serve,
};
