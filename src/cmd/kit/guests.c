/* SPDX-License-Identifier: Apache-2.0 */
/* A watching thread opens the door when the command takes longer than most; at the end the door is
 * shut first, and then those inside are waited for. */
#include "cmd/kit/guests.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cmd/kit/door.h"
#include "store/reach.h"
#include "wire/server.h"

#include <string.h>
#include <unistd.h>

#define GUEST_SOCKET       "ashlar.guest.sock"
#define GUEST_ADDRESS_FILE "ashlar.guest.addr"
#define GUEST_SHUT_FILE    "ashlar.guest.shut"

enum {
    GUESTS_AFTER_MS =
        100, /* most commands are over by then, and a server costs more than they do */
    GUESTS_WAIT_MS = 60000,
    TELL_AFTER_MS = 1000,
    LOOK_AGAIN_MS = 25,
    BUSY_TIMEOUT_MS = 5000 /* the library's, which cannot wait here: it knows no doors */
};

struct ash_guests {
    ash_cmd cmd; /* a copy: some are of one function */
    ash_store *store;
    char *folder;
    pthread_t thread;
    ash_mutex lock; /* guards `over` */
    ash_cond ended;
    bool over;
    ash_cmd_door door; /* the thread's, until it is joined, as the next */
    ash_server *server;
};

static void open_again(const char *folder)
{
    char *path = ash__path_join(folder, GUEST_SHUT_FILE);
    unlink(path);
    ash__free(path);
}

/* Without a door others wait for the folder, as they would without us. */
static void let_in(ash_guests *g)
{
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    open_again(g->folder); /* of one that was killed */
    int rc = ash__door_open(g->folder, GUEST_SOCKET, GUEST_ADDRESS_FILE, &g->door, &err);
    o.socket_path = g->door.path;
    o.version = ASH_VERSION;
    if (rc == 0)
        rc = ash__server_start(g->store, &o, &g->server, &err);
    if (rc != 0)
        ash__cmd_trace(&g->cmd, 1, "no other command can use the store now: %s", err.text);
}

static void *watch(void *arg)
{
    ash_guests *g = arg;
    int64_t at = ash__clock_ms() + GUESTS_AFTER_MS;
    bool in_time = true;
    ash__mutex_lock(&g->lock);
    while (!g->over && in_time)
        in_time = ash__cond_wait_until(&g->ended, &g->lock, at);
    bool over = g->over;
    ash__mutex_unlock(&g->lock);
    if (!over)
        let_in(g);
    return NULL;
}

ash_guests *ash__guests_begin(const ash_cmd *cmd, ash_store *store, const char *folder)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    /* Only who holds the folder can let others in. */
    if (folder == NULL || ash_store_capabilities(store, &can, NULL) != 0 || !can.in_process)
        return NULL;
    ash_guests *g = ash__new(ash_guests);
    g->cmd = *cmd;
    g->store = store;
    g->folder = ash__strdup(folder);
    ash__mutex_init(&g->lock, ASH_RANK_SERVER);
    ash__cond_init(&g->ended);
    if (ash__thread_start(&g->thread, 0, watch, g) == 0)
        return g;
    ash__cond_release(&g->ended);
    ash__mutex_release(&g->lock);
    ash__free(g->folder);
    ash__free(g);
    return NULL;
}

/* Nobody else comes in: whoever wants the folder has it when we are through. */
static void see_out(ash_guests *g)
{
    int64_t now = ash__clock_ms(), tell_at = now + TELL_AFTER_MS, until = now + GUESTS_WAIT_MS;
    char *shut = ash__path_join(g->folder, GUEST_SHUT_FILE);
    /* The socket stays for those who are in: each of their threads has a connection of its own, and
     * some have yet to make it. */
    if (ash__file_replace(shut, "", 0, NULL) != 0)
        unlink(g->door.path);
    ash__free(shut);
    while (ash__server_connection_count(g->server) > 0 && !ash__cmd_is_interrupted() &&
           (now = ash__clock_ms()) < until) {
        if (now >= tell_at) {
            ash__cmd_note(&g->cmd, "done; waiting for other commands that use the store through "
                                   "this one");
            tell_at = until;
        }
        ash__clock_sleep_ms(LOOK_AGAIN_MS);
    }
}

void ash__guests_end(ash_guests *g)
{
    if (g == NULL)
        return;
    ash__mutex_lock(&g->lock);
    g->over = true;
    ash__cond_signal(&g->ended);
    ash__mutex_unlock(&g->lock);
    /* From here on door and server are ours. */
    pthread_join(g->thread, NULL);
    if (g->server != NULL)
        see_out(g);
    ash__server_stop(g->server);
    ash__door_close(&g->door);
    open_again(g->folder);
    ash__cond_release(&g->ended);
    ash__mutex_release(&g->lock);
    ash__free(g->folder);
    ash__free(g);
}

/* ---- being one ---- */

/* ASH_EBUSY: there is no door, or not any more. */
static int visit(const char *folder, const ash_store_options *opts, ash_store **out, ash_error *err)
{
    char *shut = ash__path_join(folder, GUEST_SHUT_FILE);
    bool is_shut = access(shut, F_OK) == 0;
    ash__free(shut);
    char *door = is_shut ? NULL : ash__reach_door(folder, GUEST_SOCKET, GUEST_ADDRESS_FILE);
    if (door == NULL)
        return ASH_EBUSY;
    ash_error why = ASH_ERROR_INIT;
    int rc = ash_store_open(door, opts, out, &why);
    ash__free(door);
    /* It was shut between two looks, or its command was killed. */
    if (rc == ASH_ENETWORK)
        return ASH_EBUSY;
    if (rc != 0)
        *err = why;
    return rc;
}

int ash__guests_open_store(const char *uri, const ash_store_options *opts, ash_store **out,
                           ash_error *err)
{
    char *folder = opts->no_server ? NULL : ash__reach_folder(uri);
    ash_store_options at_once = *opts;
    int64_t wait_ms = opts->busy_timeout_ms != 0 ? opts->busy_timeout_ms : BUSY_TIMEOUT_MS;
    int64_t until = ash__clock_ms() + wait_ms;
    if (folder == NULL)
        return ash_store_open(uri, opts, out, err);
    /* The waiting is done here, at the folder and at the door in turn. */
    at_once.busy_timeout_ms = -1;
    for (;;) {
        /* A door that was shut meanwhile may have cost all the time, with the folder free since. */
        bool last = ash__clock_ms() >= until;
        int rc = ash_store_open(uri, &at_once, out, err);
        if (rc == ASH_EBUSY)
            rc = visit(folder, opts, out, err);
        if (rc != ASH_EBUSY || last) {
            ash__free(folder);
            return rc;
        }
        ash__clock_sleep_ms(LOOK_AGAIN_MS);
    }
}
