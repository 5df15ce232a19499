/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that says after a second what the main thread is waiting for, which cannot say so
 * itself: it is in a call of the library. */
#include "cmd/kit/waiting.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/reach.h"

#include <string.h>
#include <strings.h>

enum { PATIENCE_MS = 1000, SINGLE_SERVER_MS = 5000 /* waiting.h says why not 30 s */ };

struct ash_waiting {
    const ash_cmd *cmd;
    char *what;
    bool has_thread;
    pthread_t thread;
    ash_mutex lock; /* guards `over` */
    ash_cond ended;
    bool over;
};

/* The hosts of a mongodb:// URI, without user, password and options; or the folder. */
static char *describe(const char *uri)
{
    const char *hosts = strstr(uri, "://");
    char *folder = ash__reach_folder(uri);
    if (folder != NULL || hosts == NULL) {
        char *text = ash__sprintf("the folder %s, which another process holds",
                                  folder != NULL ? folder : uri);
        ash__free(folder);
        return text;
    }
    hosts += strlen("://");
    const char *at = ash__cmd_uri_at(hosts);
    hosts = at != NULL ? at + 1 : hosts;
    size_t len = strcspn(hosts, "/?");
    return ash__sprintf("%.*s to answer", (int)len, hosts);
}

static void *watch(void *arg)
{
    ash_waiting *w = arg;
    int64_t until = ash__clock_ms() + PATIENCE_MS;
    bool in_time = true;
    ash__mutex_lock(&w->lock);
    while (!w->over && in_time)
        in_time = ash__cond_wait_until(&w->ended, &w->lock, until);
    bool late = !w->over;
    ash__mutex_unlock(&w->lock);
    if (late)
        ash__cmd_note(w->cmd, "waiting for %s", w->what);
    return NULL;
}

ash_waiting *ash__waiting_begin(const ash_cmd *cmd, const char *uri)
{
    ash_waiting *w = ash__new(ash_waiting);
    w->cmd = cmd;
    w->what = describe(uri);
    ash__mutex_init(&w->lock, ASH_RANK_SERVER);
    ash__cond_init(&w->ended);
    if (!cmd->quiet)
        w->has_thread = ash__thread_start(&w->thread, 0, watch, w) == 0;
    return w;
}

void ash__waiting_end(ash_waiting *w)
{
    ash__mutex_lock(&w->lock);
    w->over = true;
    ash__cond_signal(&w->ended);
    ash__mutex_unlock(&w->lock);
    if (w->has_thread)
        pthread_join(w->thread, NULL);
    ash__cond_release(&w->ended);
    ash__mutex_release(&w->lock);
    ash__free(w->what);
    ash__free(w);
}

/* Does the query of a URI have the option (with "=")? */
static bool has_option(const char *query, const char *option)
{
    size_t len = strlen(option);
    for (const char *at = query; at != NULL; at = strpbrk(at, "&;")) {
        at++;
        if (strncasecmp(at, option, len) == 0)
            return true;
    }
    return false;
}

char *ash__waiting_uri(const char *uri)
{
    static const char *const scheme = "mongodb://";
    if (strncmp(uri, scheme, strlen(scheme)) != 0)
        return ash__strdup(uri);
    const char *hosts = uri + strlen(scheme);
    size_t len = strcspn(hosts, "/?");
    const char *slash = hosts[len] == '/' ? hosts + len : NULL;
    const char *query = strchr(hosts + len, '?');
    if (memchr(hosts, ',', len) != NULL || has_option(query, "replicaSet=") ||
        has_option(query, "serverSelectionTimeoutMS="))
        return ash__strdup(uri);
    return ash__sprintf("%s%sserverSelectionTimeoutMS=%d", uri,
                        query != NULL && query[1] != 0 ? "&"
                        : query != NULL                ? ""
                        : slash != NULL                ? "?"
                                                       : "/?",
                        SINGLE_SERVER_MS);
}
