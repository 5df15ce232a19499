/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "http/dav/below.h"
#include "http/dav/guard.h"
#include "http/dav/if.h"
#include "http/dav/locks.h"
#include "http/dav/multistatus.h"
#include "http/dav/slow.h"
#include "http/dav/upload.h"
#include "http/dav/xml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A client that is there renews its lock; one that died should not keep others out for long, and an
 * hour is as long as anybody's lunch. */
enum { MAX_XML_BYTES = 64 * 1024, DEFAULT_SECONDS = 600, MAX_SECONDS = 3600 };

typedef struct locking {
    ash_dav *dav;
    const ash_op *op; /* who asks */
    char *path;
    int64_t seconds;
    bool deep;
    bool made; /* the resource was not there */
    int depth;
    ash_dav_guard guard;
} locking;

static void release(ash_exchange *x)
{
    locking *k = x->state;
    ash__dav_guard_release(&k->guard);
    ash__free(k->path);
    ash__free(k);
}

/* "Second-3600, Infinite": the first that is understood. */
static int64_t seconds_of(const ash_exchange *x)
{
    const char *text = ash__head_field(x->head, "Timeout");
    while (text != NULL && *text != '\0') {
        text += strspn(text, " \t,");
        if (strncasecmp(text, "Second-", 7) == 0) {
            long long n = strtoll(text + 7, NULL, 10);
            return n < 1 ? 1 : n > MAX_SECONDS ? MAX_SECONDS : n;
        }
        if (strncasecmp(text, "Infinite", 8) == 0)
            return MAX_SECONDS;
        text += strcspn(text, ",");
    }
    return DEFAULT_SECONDS;
}

static void answer_lock(ash_exchange *x, locking *k, const ash_dav_lock *lock, bool is_new)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_dav_lock_set set = {.items = (ash_dav_lock *)(uintptr_t)lock, .count = 1};
    ash__buffer_append_text(&out, ASH_DAV_XML_BEGIN "<D:prop xmlns:D=\"DAV:\"><D:lockdiscovery>");
    ash__dav_locks_describe(k->dav, &set, lock->path, &out);
    ash__buffer_append_text(&out, "</D:lockdiscovery></D:prop>\n");
    if (is_new)
        ash__answer_field(x, "Lock-Token", "<%s>", lock->token);
    ash__answer_body(x, k->made ? 201 : 200, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&out);
}

/* path: of the other lock. */
static void answer_conflict(ash_exchange *x, ash_dav *dav, const char *path, const char *asked,
                            const ash_error *err)
{
    ash_buffer href = ASH_BUFFER_INIT;
    if (err->code != ASH_ELOCKED) {
        ash__answer_error(x, err);
        return;
    }
    /* A folder's has its '/' already.  What may not be seen has no name. */
    bool seen = ash__dav_allows(dav, x->op, path, ASH_TREE_READ);
    ash__dav_href(dav, &href, seen ? path : asked, false);
    ash__dav_answer_condition(x, 423, "no-conflicting-lock", ash__buffer_text(&href));
    ash__buffer_release(&href);
}

/* ---- a new one ---- */

/* RFC 4918 §7.3: what is not there becomes an empty file. */
static int make_file(locking *k, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_writer *w = NULL;
    o.if_absent = true;
    o.fence = k->guard.fence;
    int rc = ash_tree_open_writer(k->dav->tree, k->path, &o, k->op, &w, err);
    if (rc == 0)
        rc = ash_tree_writer_finish(w, NULL, &k->guard.entry, err);
    ash_tree_writer_free(w);
    k->made = rc == 0;
    /* Another client was faster, and its lock may stand in the way, or not. */
    if (rc == ASH_EEXISTS) {
        rc = ash__dav_lookup(k->dav, k->op, k->path, &k->guard.entry, err);
        if (rc == 0 && k->guard.entry == NULL)
            rc = ash__fail(err, ASH_ECONFLICT, "%s comes and goes; try again", k->path);
    }
    return rc;
}

/* An empty file that nobody has a lock on is no answer to a LOCK. */
static void unmake_file(locking *k)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    const ash_fence nobody = ash__dav_locks_fence(ash_tree_entry_id(k->guard.entry), NULL);
    o.if_version = ash_tree_entry_version(k->guard.entry);
    o.fence = &nobody;
    /* Whoever has written or locked it meanwhile keeps it. */
    ash_tree_remove(k->dav->tree, k->path, &o, k->op, NULL);
    k->made = false;
}

/* Ids that are none of ours are of roots, which do not come and go. */
static bool is_same(const ash_tree_entry *a, const ash_tree_entry *b)
{
    const bson_value_t *x = ash_tree_entry_id(a), *y = ash_tree_entry_id(b);
    return x->value_type == y->value_type &&
           (x->value_type != BSON_TYPE_OID || bson_oid_equal(&x->value.v_oid, &y->value.v_oid));
}

/* Is what was locked what the path leads to?  Somebody may have deleted or moved it between the look
 * and the grant; from then on nobody can without the lock's token. */
static int check_place(const locking *k, ash_error *err)
{
    ash_tree_entry *now = NULL;
    int rc = ash__dav_lookup(k->dav, k->op, k->path, &now, err);
    if (rc == 0 && (now == NULL || !is_same(now, k->guard.entry)))
        rc = ash__fail(err, ASH_ECONFLICT, "%s comes and goes; try again", k->path);
    ash_tree_entry_free(now);
    return rc;
}

static void take_lock(ash_exchange *x, locking *k, ash_dav_lock *lock)
{
    ash_error err = ASH_ERROR_INIT;
    char *conflict = NULL;
    lock->seconds = k->seconds;
    lock->deep = k->deep;
    int rc = ash__dav_locks_take(k->dav->locks, k->guard.entry, lock, &conflict, &err);
    if (rc == 0 && check_place(k, &err) != 0) {
        rc = err.code;
        ash__dav_locks_drop(k->dav->locks, lock, NULL);
    }
    if (rc != 0 && k->made)
        unmake_file(k);
    if (rc == 0)
        answer_lock(x, k, lock, true);
    else
        answer_conflict(x, k->dav, conflict != NULL ? conflict : k->path, k->path, &err);
    ash__free(conflict);
}

/* Also where the folder is not to be seen: first of all, or another's lock on it would be told. */
static bool has_folder(const locking *k)
{
    ash_tree_entry *folder = NULL;
    bool there =
        ash__dav_lookup_parent(k->dav, k->op, k->path, &folder, NULL) == 0 && folder != NULL;
    ash_tree_entry_free(folder);
    return there;
}

/* Makes nothing that could not be locked then; false: answered. */
static bool make_place(ash_exchange *x, locking *k, const ash_dav_lock *lock)
{
    ash_error err = ASH_ERROR_INIT;
    char *conflict = NULL;
    if (k->guard.entry != NULL)
        return true;
    if (x->target.is_folder)
        ash__answer_text(x, 409, "a folder that is not there cannot be locked");
    else if (!has_folder(k))
        ash__answer_text(x, 409, "the folder that %s would lie in is not there", k->path);
    else if (ash__dav_locks_ask(k->dav->locks, lock, k->path, &conflict, &err) != 0)
        answer_conflict(x, k->dav, conflict != NULL ? conflict : k->path, k->path, &err);
    else if (make_file(k, &err) != 0)
        ash__dav_answer_change(x, &err);
    ash__free(conflict);
    return x->status == 0;
}

/* A lock keeps others from writing, and is for those who may.  Of what is not there, or is not to be
 * seen, the file that would be made decides. */
static bool may_lock(const locking *k)
{
    return ash__dav_allows(k->dav, k->op, k->path, ASH_TREE_WRITE) ||
           !ash__dav_allows(k->dav, k->op, k->path, ASH_TREE_READ);
}

/* ---- all that lies below ---- */

/* RFC 4918 §9.10.3: which member keeps the folder from being locked; one that is not to be seen has
 * no name. */
static void answer_closed(ash_exchange *x, const locking *k, const ash_tree_entry *e)
{
    ash_buffer out = ASH_BUFFER_INIT;
    if (!ash__dav_allows(k->dav, k->op, ash_tree_entry_path(e), ASH_TREE_READ)) {
        ash__answer_text(x, 403, "only who may write all that lies in %s may lock that, too",
                         k->path);
        return;
    }
    ash__buffer_append_text(&out, ASH_DAV_MULTISTATUS_BEGIN "<D:response><D:href>");
    ash__dav_href(k->dav, &out, ash_tree_entry_path(e), ash_tree_entry_is_folder(e));
    ash__buffer_append_text(&out, "</D:href>");
    ash__dav_status(&out, 403);
    ash__buffer_append_text(&out, "</D:response><D:response><D:href>");
    ash__dav_href(k->dav, &out, k->path, true);
    ash__buffer_append_text(&out, "</D:href>");
    ash__dav_status(&out, 424);
    ash__buffer_append_text(&out, "</D:response>" ASH_DAV_MULTISTATUS_END);
    ash__answer_body(x, 207, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&out);
}

/* A lock keeps out whom it covers: so it covers nothing that its holder may not write.  Looking takes
 * as long as the folder is large. */
static bool may_lock_below(ash_exchange *x, const locking *k)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *closed = NULL;
    const ash_tree_entry *top = k->guard.entry;
    if (k->op == NULL || !k->deep || top == NULL || !ash_tree_entry_is_folder(top))
        return true;
    if (!ash__dav_slow_begin(x))
        return false;
    if (ash__dav_find_closed(k->dav, k->op, k->path, ASH_TREE_WRITE, &closed, &err) != 0)
        ash__answer_error(x, &err);
    else if (closed != NULL)
        answer_closed(x, k, closed);
    ash__dav_slow_end();
    ash_tree_entry_free(closed);
    return x->status == 0;
}

static void lock_new(ash_exchange *x, locking *k, const ash_xml_node *root)
{
    const ash_xml_node *scope = ash__xml_child(root, "DAV:", "lockscope");
    const ash_xml_node *type = ash__xml_child(root, "DAV:", "locktype");
    const ash_xml_node *owner = ash__xml_child(root, "DAV:", "owner");
    ash_dav_lock lock = {0};
    bool exclusive = scope != NULL && ash__xml_child(scope, "DAV:", "exclusive") != NULL;
    lock.shared = !exclusive && scope != NULL && ash__xml_child(scope, "DAV:", "shared") != NULL;
    lock.by = ash__dav_who(k->op);
    lock.owner = ash__strdup(owner != NULL && owner->inner != NULL ? owner->inner : "");
    if (type == NULL || ash__xml_child(type, "DAV:", "write") == NULL ||
        (!exclusive && !lock.shared))
        ash__answer_text(x, 400, "<lockinfo> asks for no write lock, exclusive or shared");
    else if (strlen(lock.owner) > ASH_DAV_MAX_OWNER_BYTES)
        ash__answer_text(x, 413, "the owner is too long");
    else if (!may_lock(k))
        ash__answer_text(x, 403, "only who may write %s may lock it", k->path);
    else if (may_lock_below(x, k) && make_place(x, k, &lock))
        take_lock(x, k, &lock);
    ash__dav_lock_release(&lock);
}

/* ---- one that is there, for longer ---- */

static void renew(ash_exchange *x, locking *k)
{
    char *text = ash__head_join(x->head, "If");
    ash_dav_if asked;
    ash_dav_lock_set set = {0};
    ash_dav_lock *lock = NULL;
    ash_error err = ASH_ERROR_INIT;
    bool good = ash__dav_if_parse(text, &asked) && text != NULL;
    if (good && ash__dav_locks_load_at(k->dav->locks, k->path, &asked, &set, &err) == 0)
        for (size_t i = 0; i < set.count && lock == NULL; i++)
            if (ash__dav_lock_covers(&set.items[i], k->path) &&
                ash__dav_if_submits(&asked, set.items[i].token))
                lock = &set.items[i];
    if (!good)
        ash__answer_text(x, 400, "LOCK without a body renews a lock, and needs its token in If");
    else if (lock == NULL)
        ash__answer_text(x, 412, "no lock of that token is on %s", k->path);
    else if (!ash__dav_lock_is_of(lock, k->op))
        ash__answer_text(x, 403, "another user has locked %s", k->path);
    else if (ash__dav_locks_renew(k->dav->locks, lock, k->seconds, &err) != 0)
        ash__answer_text(x, err.code == ASH_ELOST ? 412 : ash__status_of(err.code), "%s", err.text);
    else
        answer_lock(x, k, lock, false);
    ash__dav_if_release(&asked);
    ash__dav_lock_set_release(&set);
    ash__free(text);
}

static void understand(ash_exchange *x, const ash_xml_node *root)
{
    locking *k = x->state;
    unsigned changes = ASH_GUARD_READ;
    if (root != NULL && (strcmp(root->space, "DAV:") != 0 || strcmp(root->name, "lockinfo") != 0)) {
        ash__answer_text(x, 400, "the body of a LOCK is <lockinfo> of the namespace DAV:");
        return;
    }
    if (root != NULL && k->depth != 0 && k->depth != -1) {
        ash__answer_text(x, 400, "Depth is 0 or infinity here");
        return;
    }
    /* Of what is there conditions alone: what stands against a lock is another lock, and says so
     * below. */
    if (root != NULL)
        changes |= ASH_GUARD_MAKE;
    if (!ash__dav_guard(k->dav, x, k->path, changes, &k->guard))
        return;
    if (root == NULL)
        renew(x, k);
    else
        lock_new(x, k, root);
    if (x->is_put_off)
        ash__dav_guard_release(&k->guard); /* looks again */
}

void ash__dav_lock(ash_dav *dav, ash_exchange *x, const char *path)
{
    locking *k = ash__new(locking);
    k->dav = dav;
    k->op = x->op;
    k->path = ash__strdup(path);
    k->seconds = seconds_of(x);
    k->depth = ash__dav_depth(x, -1);
    k->deep = k->depth == -1;
    x->state = k;
    x->release = release;
    ash__xml_collect(x, MAX_XML_BYTES, true, understand);
}

void ash__dav_unlock(ash_dav *dav, ash_exchange *x, const char *path)
{
    const char *field = ash__head_field(x->head, "Lock-Token");
    ash_dav_lock_set set = {0};
    const ash_dav_lock *lock = NULL;
    ash_error err = ASH_ERROR_INIT;
    size_t len = field != NULL ? strlen(field) : 0;
    if (len < 3 || field[0] != '<' || field[len - 1] != '>') {
        ash__answer_text(x, 400, "UNLOCK needs Lock-Token: <TOKEN>");
        return;
    }
    if (ash__dav_locks_load(dav->locks, &set, &err) != 0) {
        ash__answer_error(x, &err);
        return;
    }
    for (size_t i = 0; i < set.count; i++)
        if (strlen(set.items[i].token) == len - 2 &&
            strncmp(set.items[i].token, field + 1, len - 2) == 0 &&
            ash__dav_lock_covers(&set.items[i], path))
            lock = &set.items[i];
    /* A token can be seen by whoever may read; to take a lock away is to change. */
    if (lock == NULL || !ash__dav_allows(dav, x->op, lock->path, ASH_TREE_READ))
        ash__dav_answer_condition(x, 409, "lock-token-matches-request-uri", NULL);
    else if (!ash__dav_allows(dav, x->op, lock->path, ASH_TREE_WRITE))
        ash__answer_text(x, 403, "you may not change %s", lock->path);
    else if (!ash__dav_lock_is_of(lock, x->op))
        ash__answer_text(x, 403, "another user has locked %s", lock->path);
    else if (ash__dav_locks_drop(dav->locks, lock, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_empty(x, 204);
    ash__dav_lock_set_release(&set);
}
