/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: which store is meant, whether one may be made there, how others get in meanwhile, and
 * what to say when it cannot be had. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/folder.h"
#include "cmd/kit/guests.h"
#include "cmd/kit/named.h"
#include "cmd/kit/waiting.h"
#include "store/embedded/salvage/swap.h"
#include "store/reach.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The stores of this process, and who else uses them through it; in the main thread only. */
static struct {
    ash_store *store;
    ash_guests *guests;
} opened[4];

static void remember(const ash_cmd *cmd, const char *uri, ash_store *store)
{
    char *folder = ash__reach_folder(uri);
    for (size_t i = 0; folder != NULL && i < ASH_ARRAY_LEN(opened); i++) {
        if (opened[i].store != NULL)
            continue;
        opened[i].store = store;
        opened[i].guests = ash__guests_begin(cmd, store, folder);
        break;
    }
    ash__free(folder);
}

void ash__cmd_close_store(ash_store *store)
{
    for (size_t i = 0; store != NULL && i < ASH_ARRAY_LEN(opened); i++) {
        if (opened[i].store != store)
            continue;
        /* Whoever reads our output need not wait for guests, and may be one. */
        ash__cmd_end_bytes();
        ash__guests_end(opened[i].guests);
        opened[i].store = NULL;
    }
    ash_store_close(store);
}

static bool is_set(const char *text)
{
    return text != NULL && text[0] != 0;
}

/* Not the current folder: what is kept below one is not found from another. */
char *ash__cmd_home(void)
{
    const char *home = getenv("HOME");
    char texts[16384];
    struct passwd entry, *own = NULL;
    if (home != NULL && home[0] == '/')
        return ash__strdup(home);
    if (getpwuid_r(geteuid(), &entry, texts, sizeof texts, &own) == 0 && own != NULL &&
        own->pw_dir != NULL && own->pw_dir[0] == '/')
        return ash__strdup(own->pw_dir);
    return NULL;
}

static char *default_store(ash_error *err)
{
    const char *data = getenv("XDG_DATA_HOME");
    if (data != NULL && data[0] == '/')
        return ash__path_join(data, "ashlar");
    char *home = ash__cmd_home();
    char *uri = home != NULL ? ash__path_join(home, ".local/share/ashlar") : NULL;
    if (home == NULL)
        ash__fail(err, ASH_EINVAL,
                  "no store is named, and there is no home folder for one: give -s STORE, or set "
                  "ASHLAR_STORE or HOME");
    ash__free(home);
    return uri;
}

/* The store to use; the caller frees.  NULL: none was named, and there is no place for one.
 * *is_default: it lies in the user's data folder, whose parents may have to be made. */
static char *choose_uri(const ash_cmd *cmd, bool *is_default, ash_error *err)
{
    const char *chosen = getenv("ASHLAR_STORE");
    *is_default = false;
    if (is_set(cmd->store_uri))
        chosen = cmd->store_uri;
    if (is_set(chosen)) {
        char *uri = NULL;
        (void)ash__cmd_named_store(chosen, &uri, err);
        return uri;
    }
    *is_default = true;
    return default_store(err);
}

char *ash__cmd_store_uri(const ash_cmd *cmd)
{
    bool is_default;
    ash_error unsaid = ASH_ERROR_INIT;
    const char *chosen = getenv("ASHLAR_STORE");
    char *uri = choose_uri(cmd, &is_default, &unsaid);
    if (is_set(cmd->store_uri))
        chosen = cmd->store_uri;
    /* A name that leads nowhere stays what it is until the store is opened, which says so. */
    return uri == NULL && is_set(chosen) ? ash__strdup(chosen) : uri;
}

char *ash__cmd_store_folder(const ash_cmd *cmd)
{
    char *uri = ash__cmd_store_uri(cmd);
    char *folder = uri != NULL ? ash__reach_folder(uri) : NULL;
    ash__free(uri);
    return folder;
}

char *ash__cmd_need_folder(const ash_cmd *cmd, const char *refusal, ash_error *err)
{
    bool is_default;
    char *uri = choose_uri(cmd, &is_default, err);
    if (uri == NULL)
        return NULL;
    char *folder = ash__reach_folder(uri);
    if (folder == NULL)
        ash__fail(err, ASH_EUNSUPPORTED, "%s", refusal);
    ash__free(uri);
    return folder;
}

int ash__cmd_refuse_address(const ash_cmd *cmd)
{
    char *uri = ash__cmd_store_uri(cmd);
    bool refused = uri != NULL && strncmp(uri, "mongodb", 7) == 0 && strstr(uri, "://") != NULL &&
                   strstr(uri, "%2F") == NULL && strstr(uri, "%2f") == NULL;
    const char *verb = cmd->verb->name;
    ash__free(uri);
    return !refused ? 0
                    : ash__cmd_usage(cmd,
                                     "%s needs the store's folder (ashlar -s FOLDER %s), not a "
                                     "mongodb:// address",
                                     verb, verb);
}

/* A folder whose parent is missing is most likely mistyped: do not build a tree there. */
static int check_parent(const char *uri, ash_error *err)
{
    struct stat st;
    char *folder = ash__reach_folder(uri);
    if (folder == NULL)
        return 0;
    char *parent = ash__strdup(folder);
    size_t len = strlen(parent);
    while (len > 1 && parent[len - 1] == '/')
        parent[--len] = 0;
    char *slash = strrchr(parent, '/');
    int rc = 0;
    if (slash != NULL && slash != parent) {
        *slash = 0;
        if (stat(parent, &st) != 0)
            rc = errno == EACCES
                     ? ash__fail_errno(err, EACCES, "cannot look into the folder above %s", folder)
                     : ash__fail(err, ASH_ENOTFOUND,
                                 "cannot make the store %s: there is no folder %s", folder, parent);
    }
    ash__free(parent);
    ash__free(folder);
    return rc;
}

/* A store that is made under that name would be in the way of the one that is to have it. */
static int check_unfinished(const char *uri, ash_error *err)
{
    char *folder = ash__reach_folder(uri);
    char *tail = folder != NULL ? ash__swap_unfinished(folder) : NULL;
    int rc = tail != NULL ? ash__cmd_refuse_unfinished(folder, err) : 0;
    ash__free(tail);
    ash__free(folder);
    return rc;
}

/* Whoever wants what is in a store has nothing from an empty one. */
static bool wants_what_is_kept(const ash_cmd *cmd)
{
    static const char *const verbs[] = {"copy", "get", "cat", "stat", "backup"};
    for (size_t i = 0; cmd->verb != NULL && i < ASH_ARRAY_LEN(verbs); i++) {
        if (strcmp(cmd->verb->name, verbs[i]) == 0)
            return true;
    }
    return false;
}

static void say_no_store(const ash_cmd *cmd, const char *uri, ash_error *err)
{
    struct stat st;
    char *folder = ash__reach_folder(uri);
    char *shown = ash__cmd_uri_shown(uri);
    bool is_file = folder != NULL && stat(folder, &st) == 0 && !S_ISDIR(st.st_mode);
    if (is_file)
        ash__fail(err, ASH_ENOTFOUND, "%s is a file and not the folder of a store", uri);
    else if (folder != NULL && ash__folder_is_others(folder))
        ash__fail(err, ASH_ENOTFOUND,
                  "there is no store at %s, but other files; name another folder", uri);
    else if (wants_what_is_kept(cmd))
        ash__fail(err, ASH_ENOTFOUND, "there is no store at %s", shown);
    else
        ash__fail(err, ASH_ENOTFOUND, "there is no store at %s; `ashlar -s %s init` makes one",
                  shown, shown);
    ash__free(shown);
    ash__free(folder);
}

static int open_waiting(const ash_cmd *cmd, const char *uri, const ash_store_options *opts,
                        ash_store **out, ash_error *err)
{
    ash_waiting *waiting = ash__waiting_begin(cmd, uri);
    char *patient = ash__waiting_uri(uri);
    int rc = ash__guests_open_store(patient, opts, out, err);
    ash__free(patient);
    ash__waiting_end(waiting);
    /* `serve` itself needs no such advice. */
    if (rc == ASH_EBUSY && err != NULL && !opts->no_server) {
        ash_error busy = *err;
        ash__fail(err, ASH_EBUSY,
                  "%s; `ashlar serve` lets programs and commands use a store at the same time",
                  busy.text);
    }
    return rc;
}

static void tell_of(const ash_cmd *cmd, const char *uri, const ash_store_options *opts,
                    ash_store *store, int64_t began_ms)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    if (cmd->verbose == 0 || ash_store_capabilities(store, &can, NULL) != 0)
        return;
    char *shown = ash__cmd_uri_shown(uri);
    ash__cmd_trace(cmd, 1, "store %s (%s%s), database %s: opened in %" PRId64 " ms", shown,
                   can.in_process              ? "folder"
                   : can.replayed_transactions ? "by the process that holds the folder"
                                               : can.backend,
                   opts->read_only ? ", for reading only" : "", ash_store_default_db(store),
                   ash__clock_ms() - began_ms);
    ash__free(shown);
}

static atomic_bool files_are_read_only;

bool ash__cmd_files_are_read_only(void)
{
    return atomic_load(&files_are_read_only);
}

/* Who may read a folder and not write to it can do what needs no more than that. */
static int open_somehow(const ash_cmd *cmd, const char *uri, enum ash_cmd_open how,
                        ash_store_options *opts, ash_store **out, ash_error *err)
{
    int64_t began = ash__clock_ms();
    ash_error first = ASH_ERROR_INIT;
    int rc = open_waiting(cmd, uri, opts, out, &first);
    char *folder = ash__reach_folder(uri);
    if (how == ASH_CMD_READ && folder != NULL && (rc == ASH_EACCES || rc == ASH_EREADONLY)) {
        ash_error second = ASH_ERROR_INIT;
        opts->read_only = true;
        int again = open_waiting(cmd, uri, opts, out, &second);
        /* That it was not closed, or who holds it, says more than what was refused at first. */
        if (again != 0 && again != rc)
            first = second;
        rc = again == 0 ? 0 : first.code;
    }
    ash__free(folder);
    if (opts->read_only || rc == ASH_EREADONLY)
        atomic_store(&files_are_read_only, true);
    /* Others could not write through a store that is read only, and a server lets them in by its
     * own door. */
    if (rc == 0 && !opts->read_only && !opts->no_server)
        remember(cmd, uri, *out);
    if (rc == 0)
        tell_of(cmd, uri, opts, *out, began);
    else
        *err = first;
    return rc;
}

bool ash__cmd_store_is_there(const ash_cmd *cmd)
{
    struct stat st;
    char *folder = ash__cmd_store_folder(cmd);
    char *made = folder != NULL ? ash__path_join(folder, "ashlar.store") : NULL;
    bool there = made == NULL || stat(made, &st) == 0;
    ash__free(made);
    ash__free(folder);
    return there;
}

/* A mistyped name is seen at once: a store is not made without a word. */
static void say_it_was_made(const ash_cmd *cmd, const char *uri)
{
    const char *verb = cmd->verb != NULL ? cmd->verb->name : "";
    if (cmd->mongofiles || strcmp(verb, "init") == 0 || strcmp(verb, "gridfs") == 0)
        return; /* they say it themselves, or must not */
    char *folder = ash__reach_folder(uri);
    if (folder != NULL)
        ash__cmd_note(cmd, "made a new store at %s", folder);
    ash__free(folder);
}

int ash__cmd_open_store(const ash_cmd *cmd, enum ash_cmd_open how, ash_store_options *opts,
                        ash_store **out, ash_error *err)
{
    ash_store_options defaults = ASH_STORE_OPTIONS_INIT;
    bool is_default;
    int rc = 0;
    if (opts == NULL)
        opts = &defaults;
    char *uri = choose_uri(cmd, &is_default, err);
    if (uri == NULL)
        return err->code;
    if (is_set(cmd->db))
        opts->default_db = cmd->db;
    opts->must_exist = how == ASH_CMD_READ;
    /* Asked before: afterwards there is one in any case. */
    bool there = how == ASH_CMD_READ || ash__cmd_store_is_there(cmd);
    rc = check_unfinished(uri, err);
    bool unfinished = rc != 0;
    if (rc == 0 && how == ASH_CMD_WRITE)
        /* Its parents are ours to make; those of a path that was typed are not. */
        rc = is_default ? ash__dir_make(uri, err) : check_parent(uri, err);
    if (rc == 0)
        rc = open_somehow(cmd, uri, how, opts, out, err);
    if (rc == ASH_ENOTFOUND && how == ASH_CMD_READ && !unfinished)
        say_no_store(cmd, uri, err);
    if (rc == 0 && !there)
        say_it_was_made(cmd, uri);
    ash__free(uri);
    return rc;
}

int ash__cmd_open_if_any(const ash_cmd *cmd, ash_store **out, ash_error *err)
{
    bool is_default;
    ash_error own = ASH_ERROR_INIT;
    *out = NULL;
    char *uri = choose_uri(cmd, &is_default, err);
    if (uri == NULL)
        return err->code;
    int rc = ash__cmd_open_store(cmd, ASH_CMD_READ, NULL, out, &own);
    /* Would writing have made it? */
    if (rc == ASH_ENOTFOUND && check_unfinished(uri, err) == 0)
        rc = is_default ? 0 : check_parent(uri, err);
    else if (rc == ASH_ENOTFOUND)
        rc = err->code;
    else if (rc != 0)
        *err = own;
    ash__free(uri);
    return rc;
}

int ash__cmd_open_bucket(const ash_cmd *cmd, enum ash_cmd_open how, ash_store **store,
                         ash_bucket **bucket, ash_error *err)
{
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    opts.bucket_name = cmd->bucket;
    *bucket = NULL;
    int rc = cmd->bucket != NULL ? ash__cmd_check_name(cmd->bucket, err) : 0;
    if (rc == 0)
        rc = ash__cmd_open_store(cmd, how, NULL, store, err);
    if (rc != 0)
        return rc;
    rc = ash_bucket_new(*store, &opts, bucket, err);
    if (rc != 0) {
        ash__cmd_close_store(*store);
        *store = NULL;
    }
    return rc;
}

int ash__cmd_with_store(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                        ash_cmd_store_work work)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    int status = ash__cmd_open_store(cmd, how, NULL, &store, &err);
    /* Behind opening, which a first Ctrl-C may end at once. */
    ash__cmd_catch_signals();
    if (status == 0)
        status = work(cmd, store, args, &err);
    if (status < 0)
        status = ash__cmd_fail(cmd, NULL, &err);
    ash__cmd_close_store(store);
    return status;
}

int ash__cmd_with_bucket(ash_cmd *cmd, enum ash_cmd_open how, const ash_cmd_args *args,
                         ash_cmd_work work)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    ash_bucket *bucket = NULL;
    int status = ash__cmd_open_bucket(cmd, how, &store, &bucket, &err);
    ash__cmd_catch_signals();
    if (status == 0)
        status = work(cmd, bucket, args, &err);
    if (status < 0)
        status = ash__cmd_fail(cmd, NULL, &err);
    ash_bucket_free(bucket);
    ash__cmd_close_store(store);
    return status;
}

int ash__cmd_each_word(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args,
                       ash_cmd_item item, void *ctx)
{
    int failed = 0, status = ASH_EXIT_OK;
    for (int i = 0; i < args->count; i++) {
        ash_error err = ASH_ERROR_INIT;
        if (ash__cmd_is_interrupted())
            return ASH_EXIT_INTERRUPTED;
        int rc = item(cmd, bucket, args->words[i], ctx, &err);
        ash__cmd_trace(cmd, 2, "%s: %s", args->words[i], rc == 0 ? "done" : "failed");
        if (rc == 0)
            continue;
        ash__cmd_explain_folder(cmd, bucket, args->words[i], rc, &err);
        int item_status = ash__cmd_fail(cmd, args->words[i], &err);
        /* Whoever reads is gone: no word can be shown any more. */
        if (item_status == ASH_EXIT_PIPE)
            return item_status;
        status = failed == 0 ? item_status : status;
        failed++;
        if (err.code == ASH_ENETWORK)
            break; /* the others would fail the same slow way */
    }
    return failed > 0 && args->count > 1 ? ASH_EXIT_PARTIAL : status;
}
