/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/guard.h"

#include "base/mem.h"
#include "http/dav/if.h"
#include "http/dav/locks.h"
#include "http/dav/multistatus.h"

#include <string.h>

typedef struct guarding {
    ash_dav *dav;
    ash_exchange *x;
    const char *path;
    unsigned changes;
    ash_dav_if asked;
    ash_dav_lock_set locks;
    ash_fence fence;
} guarding;

/* ---- If ---- */

static bool token_holds(const guarding *g, const char *path, const char *token)
{
    for (size_t i = 0; i < g->locks.count; i++)
        if (strcmp(g->locks.items[i].token, token) == 0)
            return ash__dav_lock_covers(&g->locks.items[i], path);
    return false;
}

static bool etag_holds(const guarding *g, const char *path, const char *etag)
{
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    char now[ASH_ETAG_BYTES];
    if (ash__dav_lookup(g->dav, path, &e, &err) != 0 || e == NULL)
        return false;
    ash__dav_etag(e, now);
    ash_tree_entry_free(e);
    return strcmp(now, etag) == 0;
}

/* The path of a tagged list's resource in this tree; NULL: it is none of it. */
static char *path_of(const guarding *g, const char *resource)
{
    ash_http_target t;
    const char *why;
    size_t prefix = strlen(g->dav->prefix);
    char *path = NULL;
    if (ash__http_target_parse(resource, &t, NULL, &why) && t.path != NULL &&
        strncmp(t.path, g->dav->prefix, prefix) == 0)
        path = ash__strdup(t.path[prefix] == '\0' ? "/" : t.path + prefix);
    ash__http_target_release(&t);
    return path;
}

static bool holds(void *ctx, const ash_dav_condition *c)
{
    const guarding *g = ctx;
    char *path = c->resource != NULL ? path_of(g, c->resource) : ash__strdup(g->path);
    bool yes =
        path != NULL && (c->is_etag ? etag_holds(g, path, c->text) : token_holds(g, path, c->text));
    ash__free(path);
    return yes;
}

/* ---- conditions of HTTP ---- */

/* A file that LOCK made and nobody has written is there and is not: davfs2 asks for it to be absent,
 * or to be what HEAD said of it. */
static bool is_unwritten(const guarding *g, const ash_tree_entry *e)
{
    if (ash_tree_entry_is_folder(e) || ash_tree_entry_version(e) != 1 ||
        ash_tree_entry_length(e) != 0)
        return false;
    for (size_t i = 0; i < g->locks.count; i++)
        if (strcmp(g->locks.items[i].path, g->path) == 0 &&
            ash__dav_if_submits(&g->asked, g->locks.items[i].token))
            return true;
    return false;
}

static bool conditions_hold(const guarding *g, const ash_tree_entry *e)
{
    char etag[ASH_ETAG_BYTES];
    ash_validators now;
    ash__dav_validators(e, etag, &now);
    return ash__http_condition_check(g->x->head, g->x->method, &now) == 0;
}

static bool check_conditions(const guarding *g, ash_dav_guard *out)
{
    bool hold = conditions_hold(g, out->entry) ||
                (out->entry != NULL && is_unwritten(g, out->entry) && conditions_hold(g, NULL));
    if (!hold) {
        ash__answer_text(g->x, 412, "%s is not what the request's conditions want it to be",
                         g->path);
        return false;
    }
    if (ash__condition_is_there(g->x->head) || g->asked.count > 0) {
        out->if_version = out->entry != NULL ? ash_tree_entry_version(out->entry) : 0;
        out->if_absent = out->entry == NULL;
    }
    return true;
}

/* ---- locks ---- */

static void answer_locked(const guarding *g, const char *path)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_buffer href = ASH_BUFFER_INIT;
    ash__dav_href(g->dav, &href, path, false);
    ash__dav_error_body(&out, "lock-token-submitted", ash__buffer_text(&href));
    ash__answer_body(g->x, 423, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&href);
    ash__buffer_release(&out);
}

static bool is_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return len == 1 || (strncmp(path, above, len) == 0 && path[len] == '/');
}

/* Does a lock stand in the way of the change? */
static bool stands(const guarding *g, const ash_dav_lock *lock, const char *folder)
{
    if (ash__dav_lock_covers(lock, g->path))
        return true;
    if (g->changes & ASH_GUARD_NAME && strcmp(lock->path, folder) == 0)
        return true;
    return g->changes & ASH_GUARD_BELOW && is_below(lock->path, g->path);
}

/* Of several shared ones, one's token is enough. */
static bool has_key(const guarding *g, const ash_dav_lock *lock)
{
    if (ash__dav_if_submits(&g->asked, lock->token))
        return true;
    for (size_t i = 0; lock->shared && i < g->locks.count; i++)
        if (strcmp(g->locks.items[i].path, lock->path) == 0 &&
            ash__dav_if_submits(&g->asked, g->locks.items[i].token))
            return true;
    return false;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return ash__strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static bool check_locks(guarding *g)
{
    char *folder = folder_of(g->path);
    const ash_dav_lock *in_the_way = NULL;
    for (size_t i = 0; in_the_way == NULL && i < g->locks.count; i++)
        if (stands(g, &g->locks.items[i], folder) && !has_key(g, &g->locks.items[i]))
            in_the_way = &g->locks.items[i];
    if (in_the_way != NULL)
        answer_locked(g, in_the_way->path);
    ash__free(folder);
    return in_the_way == NULL;
}

static bool check_foreign(guarding *g, const ash_tree_entry *e)
{
    char *who = NULL;
    ash_error err = ASH_ERROR_INIT;
    bool below = g->changes & ASH_GUARD_BELOW && ash_tree_entry_is_folder(e);
    if (ash__dav_locks_foreign(g->dav->locks, e, below, &g->locks, &who, &err) != 0)
        ash__answer_error(g->x, &err);
    else if (who != NULL)
        ash__answer_text(g->x, 423, "%s holds a lock on %s", who, g->path);
    ash__free(who);
    return g->x->status == 0;
}

/* That it is as it was found holds in the commit, too. */
static void set_fence(guarding *g, ash_dav_guard *out)
{
    const ash_dav_lock *own = NULL;
    for (size_t i = 0; i < g->locks.count; i++) {
        if (strcmp(g->locks.items[i].path, g->path) != 0)
            continue;
        /* Shared ones: whoever wants to write has to have their readers' consent anyhow. */
        if (g->locks.items[i].shared)
            return;
        own = &g->locks.items[i];
    }
    if (out->entry == NULL)
        return;
    ash__dav_locks_fence(g->dav->locks, ash_tree_entry_id(out->entry), own, &g->fence);
    out->fence = &g->fence;
}

/* ---- all of it ---- */

static bool prepare(guarding *g, ash_dav_guard *out)
{
    ash_error err = ASH_ERROR_INIT;
    char *asked = ash__head_join(g->x->head, "If");
    bool good = ash__dav_if_parse(asked, &g->asked);
    ash__free(asked);
    if (!good)
        ash__answer_text(g->x, 400, "the If field is none that RFC 4918 knows");
    else if (ash__dav_locks_load(g->dav->locks, &g->locks, &err) != 0 ||
             ash__dav_lookup(g->dav, g->path, &out->entry, &err) != 0)
        ash__answer_error(g->x, &err);
    return g->x->status == 0;
}

bool ash__dav_guard(ash_dav *dav, ash_exchange *x, const char *path, unsigned changes,
                    ash_dav_guard *out)
{
    guarding *g = ash__new(guarding);
    *out = (ash_dav_guard){.state = g};
    *g = (guarding){.dav = dav, .x = x, .path = ash__strdup(path), .changes = changes};
    if (!prepare(g, out))
        return false;
    /* Bytes for what is not there make a new name. */
    if (out->entry == NULL && changes & ASH_GUARD_BYTES)
        g->changes |= ASH_GUARD_NAME;
    bool other = changes & ASH_GUARD_OTHER;
    if (!other && !ash__dav_if_holds(&g->asked, holds, g)) {
        ash__answer_text(x, 412, "what the If field says does not hold");
        return false;
    }
    if (!other && !check_conditions(g, out))
        return false;
    if (changes & ASH_GUARD_READ)
        return true;
    if (!check_locks(g) || (out->entry != NULL && !check_foreign(g, out->entry)))
        return false;
    set_fence(g, out);
    return true;
}

void ash__dav_guard_release(ash_dav_guard *out)
{
    guarding *g = out->state;
    ash_tree_entry_free(out->entry);
    if (g != NULL) {
        ash__dav_if_release(&g->asked);
        ash__dav_lock_set_release(&g->locks);
        ash__free((void *)(uintptr_t)g->path);
        ash__free(g);
    }
    *out = (ash_dav_guard){0};
}

void ash__dav_locks_gone(ash_dav_guard *out)
{
    const guarding *g = out->state;
    for (size_t i = 0; i < g->locks.count; i++)
        if (is_below(g->locks.items[i].path, g->path) ||
            strcmp(g->locks.items[i].path, g->path) == 0)
            /* One that stays ends by itself. */
            ash__dav_locks_drop(g->dav->locks, &g->locks.items[i], NULL);
}
