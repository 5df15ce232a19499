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
    ash_tree_entry *folder; /* that the name comes into or goes from; or NULL */
    ash_fence *fences;      /* a chain of so many */
    size_t fence_count;
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
    if (ash__dav_lookup(g->dav, g->x->op, path, &e, &err) != 0 || e == NULL)
        return false;
    ash__dav_etag(e, now);
    ash_tree_entry_free(e);
    return strcmp(now, etag) == 0;
}

/* The path of a tagged list's resource in this tree; NULL: it is none of it.  Under which name a
 * client knows this server is not asked: a proxy may have changed it, and tokens are ours alone. */
static char *path_of(const guarding *g, const char *resource)
{
    ash_http_target t;
    const char *why;
    size_t prefix = strlen(g->dav->prefix);
    char *path = NULL;
    if (ash__http_target_parse(resource, &t, NULL, &why) && t.path != NULL &&
        strncmp(t.path, g->dav->prefix, prefix) == 0 &&
        (t.path[prefix] == '/' || t.path[prefix] == '\0'))
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

/* A token can be read by whoever may read what is locked: it is a key for who took the lock alone. */
static bool is_key(const guarding *g, const ash_dav_lock *lock)
{
    return ash__dav_if_submits(&g->asked, lock->token) && ash__dav_lock_is_of(lock, g->x->op);
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
        if (strcmp(g->locks.items[i].path, g->path) == 0 && is_key(g, &g->locks.items[i]))
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

static void answer_locked(const guarding *g, const ash_dav_lock *lock)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_buffer href = ASH_BUFFER_INIT;
    /* What may not be seen has no name. */
    if (ash__dav_allows(g->dav, g->x->op, lock->path, ASH_TREE_READ))
        ash__dav_href(g->dav, &href, lock->path, lock->is_folder);
    else
        ash__dav_href(g->dav, &href, g->path, false);
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
static bool stands(const guarding *g, const ash_dav_lock *lock)
{
    if (ash__dav_lock_covers(lock, g->path))
        return true;
    if (g->folder != NULL && strcmp(lock->path, ash_tree_entry_path(g->folder)) == 0)
        return true;
    return g->changes & ASH_GUARD_BELOW && is_below(lock->path, g->path);
}

/* Of several shared ones, one's token is enough. */
static bool has_key(const guarding *g, const ash_dav_lock *lock)
{
    if (is_key(g, lock))
        return true;
    for (size_t i = 0; lock->shared && i < g->locks.count; i++)
        if (strcmp(g->locks.items[i].path, lock->path) == 0 && is_key(g, &g->locks.items[i]))
            return true;
    return false;
}

/* Of a DELETE: what lies in the folder and is locked, the members that keep it where it is (RFC 4918
 * §9.6.1).  Those above them need no word of their own. */
static void answer_locked_members(const guarding *g)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_text(&out, ASH_DAV_MULTISTATUS_BEGIN);
    for (size_t i = 0; i < g->locks.count; i++) {
        const ash_dav_lock *lock = &g->locks.items[i];
        ash_buffer href = ASH_BUFFER_INIT;
        if (!is_below(lock->path, g->path) || has_key(g, lock))
            continue;
        bool seen = ash__dav_allows(g->dav, g->x->op, lock->path, ASH_TREE_READ);
        ash__dav_href(g->dav, &href, seen ? lock->path : g->path, seen && lock->is_folder);
        ash__buffer_printf(&out, "<D:response><D:href>%s</D:href>", ash__buffer_text(&href));
        ash__dav_status(&out, 423);
        ash__buffer_printf(&out,
                           "<D:error><D:lock-token-submitted><D:href>%s</D:href>"
                           "</D:lock-token-submitted></D:error></D:response>",
                           ash__buffer_text(&href));
        ash__buffer_release(&href);
    }
    ash__buffer_append_text(&out, ASH_DAV_MULTISTATUS_END);
    ash__answer_body(g->x, 207, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&out);
}

/* Are the folder itself, its name and those above it free? */
static bool is_of_members(const guarding *g)
{
    for (size_t i = 0; i < g->locks.count; i++) {
        const ash_dav_lock *lock = &g->locks.items[i];
        if (stands(g, lock) && !has_key(g, lock) && !is_below(lock->path, g->path))
            return false;
    }
    return strcmp(g->x->method, "DELETE") == 0;
}

/* The folder that a path lies in, by its name; false: it is the top. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (path[1] == '\0')
        return false;
    slash[slash == path] = '\0';
    return true;
}

/* Who may not write what is there, or the folder of what is not, is refused by the tree, and is not
 * told before that somebody has it locked: of what is hidden, that would say that it is there. */
static bool is_in_vain(const guarding *g)
{
    const ash_op *op = g->x->op;
    char *path = ash__strdup(g->path);
    int rc = 0;
    if (op != NULL)
        do
            rc = ash_tree_allows(g->dav->tree, path, op->principal, ASH_TREE_WRITE, NULL, NULL);
        /* Below a file nothing is, either. */
        while ((rc == ASH_ENOTFOUND || rc == ASH_EINVAL) && go_up(path));
    ash__free(path);
    return rc == ASH_EACCES;
}

static bool check_locks(guarding *g)
{
    const ash_dav_lock *in_the_way = NULL;
    for (size_t i = 0; in_the_way == NULL && i < g->locks.count; i++)
        if (stands(g, &g->locks.items[i]) && !has_key(g, &g->locks.items[i]))
            in_the_way = &g->locks.items[i];
    if (in_the_way != NULL && is_in_vain(g))
        return true;
    if (in_the_way != NULL && is_of_members(g))
        answer_locked_members(g);
    else if (in_the_way != NULL)
        answer_locked(g, in_the_way);
    return in_the_way == NULL;
}

static bool check_foreign(guarding *g, const ash_tree_entry *e)
{
    char *who = NULL;
    ash_error err = ASH_ERROR_INIT;
    const ash_dav_place place = {.entry = e,
                                 .folder = g->folder,
                                 .below = e != NULL && g->changes & ASH_GUARD_BELOW &&
                                          ash_tree_entry_is_folder(e)};
    if (ash__dav_locks_foreign(g->dav->locks, &place, &g->locks, &who, &err) != 0)
        ash__answer_error(g->x, &err);
    else if (who != NULL && !is_in_vain(g))
        ash__answer_text(g->x, 423, "%s holds a lock on %s, its folder, or something in it", who,
                         g->path);
    ash__free(who);
    return g->x->status == 0;
}

/* ---- that it is as it was found holds in the commit, too ---- */

static void add_fence(guarding *g, ash_fence fence)
{
    g->fences[g->fence_count] = fence;
    if (g->fence_count > 0)
        g->fences[g->fence_count - 1].next = &g->fences[g->fence_count];
    g->fence_count++;
}

/* Where no client of WebDAV has a lock, no program may have one by then, either. */
static void fence_nobody(guarding *g, const ash_tree_entry *e)
{
    for (size_t i = 0; e != NULL && i < g->locks.count; i++)
        if (strcmp(g->locks.items[i].path, ash_tree_entry_path(e)) == 0)
            return;
    if (e != NULL)
        add_fence(g, ash__dav_locks_fence(ash_tree_entry_id(e), NULL));
}

static void set_fences(guarding *g, ash_dav_guard *out)
{
    g->fences = ash__alloc_array(g->locks.count + 2, sizeof *g->fences);
    fence_nobody(g, out->entry);
    fence_nobody(g, g->folder);
    for (size_t i = 0; i < g->locks.count; i++)
        if (stands(g, &g->locks.items[i]) && is_key(g, &g->locks.items[i]))
            add_fence(g, ash__dav_locks_fence(NULL, &g->locks.items[i]));
    out->fence = g->fence_count > 0 ? g->fences : NULL;
}

const ash_fence *ash__dav_guard_fences(ash_dav_guard *first, const ash_dav_guard *second)
{
    guarding *g = first->state;
    if (first->fence == NULL)
        return second->fence;
    g->fences[g->fence_count - 1].next = second->fence;
    return first->fence;
}

/* ---- all of it ---- */

static int find_folder(guarding *g, const ash_tree_entry *e, ash_error *err)
{
    /* Bytes for what is not there make a new name. */
    if (e == NULL && g->changes & (ASH_GUARD_BYTES | ASH_GUARD_MAKE))
        g->changes |= ASH_GUARD_NAME;
    if (!(g->changes & ASH_GUARD_NAME) || strcmp(g->path, "/") == 0)
        return 0;
    return ash__dav_lookup_parent(g->dav, g->x->op, g->path, &g->folder, err);
}

/* What goes along with it may be locked anywhere below. */
static int load_locks(guarding *g, ash_error *err)
{
    return g->changes & ASH_GUARD_BELOW
               ? ash__dav_locks_load(g->dav->locks, &g->locks, err)
               : ash__dav_locks_load_at(g->dav->locks, g->path, &g->asked, &g->locks, err);
}

static bool prepare(guarding *g, ash_dav_guard *out)
{
    ash_error err = ASH_ERROR_INIT;
    char *asked = ash__head_join(g->x->head, "If");
    bool good = ash__dav_if_parse(asked, &g->asked);
    ash__free(asked);
    if (!good)
        ash__answer_text(g->x, 400, "the If field is none that RFC 4918 knows");
    else if (load_locks(g, &err) != 0 ||
             ash__dav_lookup(g->dav, g->x->op, g->path, &out->entry, &err) != 0 ||
             find_folder(g, out->entry, &err) != 0)
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
    bool other = changes & ASH_GUARD_OTHER;
    if (!other && !ash__dav_if_holds(&g->asked, holds, g)) {
        ash__answer_text(x, 412, "what the If field says does not hold");
        return false;
    }
    if (!other && !check_conditions(g, out))
        return false;
    if (changes & ASH_GUARD_READ && !(g->changes & ASH_GUARD_NAME))
        return true;
    if (!check_locks(g) || !check_foreign(g, out->entry))
        return false;
    set_fences(g, out);
    return true;
}

bool ash__dav_guard_again(ash_dav_guard *out)
{
    guarding *g = out->state;
    /* The fences point to what was found before. */
    ash_dav_lock_set before = g->locks;
    ash_error err = ASH_ERROR_INIT;
    bool good = false;
    if (load_locks(g, &err) != 0)
        ash__answer_error(g->x, &err);
    else
        good = check_locks(g);
    ash__dav_lock_set_release(&g->locks);
    g->locks = before;
    return good;
}

void ash__dav_guard_release(ash_dav_guard *out)
{
    guarding *g = out->state;
    ash_tree_entry_free(out->entry);
    if (g != NULL) {
        ash_tree_entry_free(g->folder);
        ash__free(g->fences);
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
