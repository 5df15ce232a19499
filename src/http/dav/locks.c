/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/locks_state.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/dav/chain.h"
#include "http/dav/resource.h"
#include "http/dav/xml.h"

#include <stdio.h>
#include <string.h>

enum { FEW_LOCKS = 4 };

int ash__dav_locks_new(ash_store *store, ash_tree *tree, ash_dav_locks **out, ash_error *err)
{
    ash_dav_locks *l = ash__new(ash_dav_locks);
    l->store = store;
    l->tree = tree;
    ash__mutex_init(&l->lock, ASH_RANK_BUCKET);
    int rc = ash_collection_new(store, NULL, ASH_DAV_COLLECTION ".webdav", &l->facts, err);
    if (rc == 0)
        rc = ash_collection_new(store, NULL, ASH_DAV_COLLECTION ".locks", &l->grants, err);
    if (rc != 0) {
        ash__dav_locks_free(l);
        return rc;
    }
    *out = l;
    return 0;
}

void ash__dav_locks_free(ash_dav_locks *l)
{
    if (l == NULL)
        return;
    ash_lock_collection_close(l->made);
    ash_collection_free(l->facts);
    ash_collection_free(l->grants);
    ash__mutex_release(&l->lock);
    ash__free(l);
}

/* Opened, and its indexes made, with the first lock. */
int ash__dav_locks_open(ash_dav_locks *l, ash_error *err)
{
    ash_lock_options o = ASH_LOCK_OPTIONS_INIT;
    ash_lock_collection *made = NULL;
    ash__mutex_lock(&l->lock);
    bool there = l->made != NULL;
    ash__mutex_unlock(&l->lock);
    if (there)
        return 0;
    o.root = ASH_DAV_COLLECTION;
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "expires", BCON_INT32(1), "}", "name",
                             BCON_UTF8("expires_1"), "expireAfterSeconds", BCON_INT32(0), "}");
    int rc = ash_collection_create_indexes(l->facts, specs, NULL, NULL, err);
    bson_destroy(specs);
    if (rc == 0)
        rc = ash_lock_collection_open(l->store, &o, &made, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&l->lock);
    bool first = l->made == NULL;
    if (first)
        l->made = made;
    ash__mutex_unlock(&l->lock);
    /* Two first locks at once. */
    if (!first)
        ash_lock_collection_close(made);
    return 0;
}

/* ---- one lock ---- */

void ash__dav_lock_release(ash_dav_lock *lock)
{
    ash__free(lock->path);
    ash__free(lock->owner);
    ash__free(lock->by);
    if (lock->entry.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&lock->entry);
    ash__lock_hand_free(&lock->hand);
    memset(lock, 0, sizeof *lock);
}

void ash__dav_lock_set_release(ash_dav_lock_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        ash__dav_lock_release(&set->items[i]);
    ash__free(set->items);
    *set = (ash_dav_lock_set){0};
}

bool ash__dav_lock_covers(const ash_dav_lock *lock, const char *path)
{
    size_t len = strlen(lock->path);
    if (strcmp(lock->path, path) == 0)
        return true;
    return lock->deep && (len == 1 || (strncmp(path, lock->path, len) == 0 && path[len] == '/'));
}

bool ash__dav_lock_is_of(const ash_dav_lock *lock, const ash_op *op)
{
    char *who = ash__dav_who(op);
    bool is_of = op == NULL || lock->by[0] == '\0' || strcmp(lock->by, who) == 0;
    ash__free(who);
    return is_of;
}

static void new_token(char out[ASH_DAV_TOKEN_BYTES])
{
    uint8_t r[16];
    char hex[33];
    ash__random(r, sizeof r);
    r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
    r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
    ash__hex(r, sizeof r, hex);
    snprintf(out, ASH_DAV_TOKEN_BYTES, "urn:uuid:%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
             hex + 16, hex + 20);
}

static bson_t *document_of(const ash_dav_locks *l, const ash_dav_lock *lock)
{
    bson_t *doc =
        BCON_NEW("_id", BCON_UTF8(lock->token), "root", BCON_UTF8(ash_tree_root(l->tree)));
    BSON_APPEND_VALUE(doc, "entry", &lock->entry);
    BCON_APPEND(doc, "shared", BCON_BOOL(lock->shared), "deep", BCON_BOOL(lock->deep), "owner",
                BCON_UTF8(lock->owner), "by", BCON_UTF8(lock->by), "created",
                BCON_DATE_TIME(ash__clock_wall_ms()), "expires", BCON_DATE_TIME(lock->expires_ms),
                "seconds", BCON_INT64(lock->seconds), "hand", "{", "write",
                BCON_BOOL(lock->hand.write), "h", BCON_OID(&lock->hand.h), "writes",
                BCON_INT64(lock->hand.writes), "}");
    /* The lock document's id may be of any type. */
    BSON_APPEND_VALUE(doc, "lock", &lock->hand.doc_id);
    return doc;
}

/* ---- making ---- */

static bool is_against(const ash_dav_lock *other, const ash_dav_lock *lock, const char *path)
{
    ash_dav_lock mine = *lock;
    mine.path = (char *)(uintptr_t)path;
    if (other->shared && lock->shared)
        return false;
    return ash__dav_lock_covers(other, path) || ash__dav_lock_covers(&mine, other->path);
}

static int compare(const ash_dav_lock_set *set, const ash_dav_lock *lock, const char *path,
                   char **conflict, ash_error *err)
{
    size_t others = 0, here = 0;
    for (size_t i = 0; i < set->count; i++) {
        const ash_dav_lock *other = &set->items[i];
        if (strcmp(other->token, lock->token) == 0)
            continue;
        others++;
        here += strcmp(other->path, path) == 0;
        if (!is_against(other, lock, path))
            continue;
        *conflict = ash__sprintf("%s%s", other->path,
                                 other->is_folder && other->path[1] != '\0' ? "/" : "");
        return ash__fail(err, ASH_ELOCKED, "%s is locked", other->path);
    }
    if (others >= ASH_DAV_MAX_LOCKS)
        return ash__fail(err, ASH_ENOSPC, "there are %d locks already", (int)ASH_DAV_MAX_LOCKS);
    if (here >= ASH_DAV_MAX_LOCKS_OF_ONE)
        return ash__fail(err, ASH_ENOSPC, "there are %d locks on %s already",
                         (int)ASH_DAV_MAX_LOCKS_OF_ONE, path);
    return 0;
}

int ash__dav_locks_ask(ash_dav_locks *l, const ash_dav_lock *lock, const char *path,
                       char **conflict, ash_error *err)
{
    ash_dav_lock_set set = {0};
    *conflict = NULL;
    int rc = ash__dav_locks_load(l, &set, err);
    if (rc == 0)
        rc = compare(&set, lock, path, conflict, err);
    ash__dav_lock_set_release(&set);
    return rc;
}

/* With all below, what programs hold there stands against it, too. */
static int ask_programs(ash_dav_locks *l, const ash_tree_entry *entry, const ash_dav_lock *lock,
                        ash_error *err)
{
    const ash_dav_place place = {.entry = entry, .below = true, .shared = lock->shared};
    ash_dav_lock_set set = {0};
    char *who = NULL;
    if (!lock->deep || !ash_tree_entry_is_folder(entry))
        return 0;
    int rc = ash__dav_locks_load(l, &set, err);
    if (rc == 0)
        rc = ash__dav_locks_foreign(l, &place, &set, &who, err);
    if (rc == 0 && who != NULL)
        rc = ash__fail(err, ASH_ELOCKED, "%s holds a lock on %s, or in it", who,
                       ash_tree_entry_path(entry));
    ash__dav_lock_set_release(&set);
    ash__free(who);
    return rc;
}

/* A grant that no client was told of, since the server or its disk failed meanwhile, is nobody's to
 * give back: it is for some seconds at first, and then it is free. */
static int64_t first_life_ms(const ash_dav_lock *lock)
{
    return (lock->seconds < ASH_DAV_UNTOLD_S ? lock->seconds : ASH_DAV_UNTOLD_S) * 1000;
}

static int take_grant(ash_dav_locks *l, const ash_tree_entry *entry, ash_dav_lock *lock,
                      ash_error *err)
{
    bson_t *meta = BCON_NEW("webdav", BCON_UTF8(lock->token), "path",
                            BCON_UTF8(ash_tree_entry_path(entry)), "owner", BCON_UTF8(lock->owner));
    const ash_lock_wish wish = {ash_tree_entry_id(entry), !lock->shared, first_life_ms(lock), meta};
    int rc = ash__dav_locks_open(l, err);
    if (rc == 0)
        rc = ash__lock_hand_take(l->made, &wish, &lock->hand, err);
    bson_destroy(meta);
    return rc;
}

int ash__dav_locks_take(ash_dav_locks *l, const ash_tree_entry *entry, ash_dav_lock *lock,
                        char **conflict, ash_error *err)
{
    const char *path = ash_tree_entry_path(entry);
    new_token(lock->token);
    lock->path = ash__strdup(path);
    bson_value_copy(ash_tree_entry_id(entry), &lock->entry);
    lock->expires_ms = ash__clock_wall_ms() + lock->seconds * 1000;
    lock->is_folder = ash_tree_entry_is_folder(entry);
    int rc = ash__dav_locks_ask(l, lock, path, conflict, err);
    if (rc == 0)
        rc = take_grant(l, entry, lock, err);
    if (rc != 0)
        return rc;
    bson_t *doc = document_of(l, lock);
    rc = ash_collection_insert_one(l->facts, doc, NULL, err);
    bson_destroy(doc);
    /* Two that stand against each other may both be written; both see it then. */
    if (rc == 0)
        rc = ash__dav_locks_ask(l, lock, path, conflict, err);
    if (rc == 0)
        rc = ask_programs(l, entry, lock, err);
    if (rc == 0 && lock->seconds * 1000 > first_life_ms(lock))
        rc = ash__lock_hand_renew(l->made, &lock->hand, lock->seconds * 1000, err);
    if (rc != 0)
        ash__dav_locks_drop(l, lock, NULL);
    return rc;
}

static int update_expiry(ash_dav_locks *l, const ash_dav_lock *lock, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(lock->token));
    bson_t *set = BCON_NEW("$set", "{", "expires", BCON_DATE_TIME(lock->expires_ms), "seconds",
                           BCON_INT64(lock->seconds), "}");
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(set);
    value.value.v_doc.data_len = set->len;
    int rc = ash_collection_update(l->facts, filter, &value, NULL, NULL, err);
    bson_destroy(filter);
    bson_destroy(set);
    return rc;
}

int ash__dav_locks_renew(ash_dav_locks *l, ash_dav_lock *lock, int64_t seconds, ash_error *err)
{
    int64_t before_ms = lock->expires_ms;
    lock->seconds = seconds;
    lock->expires_ms = ash__clock_wall_ms() + seconds * 1000;
    /* The grant never outlives what is known of it: nobody could give it back. */
    bool longer = lock->expires_ms > before_ms;
    int rc = ash__dav_locks_open(l, err);
    if (rc == 0 && longer)
        rc = update_expiry(l, lock, err);
    if (rc == 0)
        rc = ash__lock_hand_renew(l->made, &lock->hand, seconds * 1000, err);
    return rc == 0 && !longer ? update_expiry(l, lock, err) : rc;
}

int ash__dav_locks_drop(ash_dav_locks *l, const ash_dav_lock *lock, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(lock->token));
    int rc = ash__dav_locks_open(l, err);
    if (rc == 0)
        rc = ash__lock_hand_release(l->made, &lock->hand, err);
    /* It had ended already. */
    if (rc == ASH_ELOST)
        rc = 0;
    if (rc == 0)
        rc = ash_collection_remove(l->facts, filter, NULL, NULL, err);
    bson_destroy(filter);
    return rc;
}

/* ---- what holds now ---- */

static char *text_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    bool there = bson_iter_init_find(&at, doc, field) && BSON_ITER_HOLDS_UTF8(&at);
    return ash__strdup(there ? bson_iter_utf8(&at, NULL) : "");
}

static bool flag_of(const bson_t *doc, const char *field)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, doc, field) && bson_iter_as_bool(&at);
}

static bool read_hand(const bson_t *doc, ash_lock_hand *out)
{
    bson_iter_t top, at;
    if (!bson_iter_init(&top, doc) || !bson_iter_find_descendant(&top, "hand.h", &at) ||
        !BSON_ITER_HOLDS_OID(&at))
        return false;
    bson_oid_copy(bson_iter_oid(&at), &out->h);
    if (!bson_iter_init(&top, doc) || !bson_iter_find_descendant(&top, "hand.writes", &at))
        return false;
    out->writes = bson_iter_as_int64(&at);
    if (!bson_iter_init_find(&at, doc, "lock"))
        return false;
    bson_value_copy(bson_iter_value(&at), &out->doc_id);
    return true;
}

/* false: no document of ours. */
static bool read_lock(const bson_t *doc, ash_dav_lock *out)
{
    bson_iter_t at;
    char *token = text_of(doc, "_id");
    snprintf(out->token, sizeof out->token, "%s", token);
    ash__free(token);
    out->owner = text_of(doc, "owner");
    out->by = text_of(doc, "by");
    out->shared = flag_of(doc, "shared");
    out->deep = flag_of(doc, "deep");
    out->hand.write = !out->shared;
    if (bson_iter_init_find(&at, doc, "seconds"))
        out->seconds = bson_iter_as_int64(&at);
    if (bson_iter_init_find(&at, doc, "expires") && BSON_ITER_HOLDS_DATE_TIME(&at))
        out->expires_ms = bson_iter_date_time(&at);
    if (!bson_iter_init_find(&at, doc, "entry") || !read_hand(doc, &out->hand))
        return false;
    bson_value_copy(bson_iter_value(&at), &out->entry);
    return true;
}

/* Has the entry's time, which is in the document's `holders`, ended? */
static bool is_over(const bson_t *doc, const bson_oid_t *h)
{
    bson_iter_t list, entry, at;
    if (!bson_iter_init_find(&list, doc, "holders") || !bson_iter_recurse(&list, &entry))
        return false;
    while (bson_iter_next(&entry))
        if (bson_iter_recurse(&entry, &at) && bson_iter_find(&at, "h") &&
            BSON_ITER_HOLDS_OID(&at) && bson_oid_equal(bson_iter_oid(&at), h))
            return bson_iter_recurse(&entry, &at) && bson_iter_find(&at, "exp") &&
                   BSON_ITER_HOLDS_DATE_TIME(&at) &&
                   bson_iter_date_time(&at) < ash__clock_wall_ms();
    return false;
}

/* Broken by somebody, taken over, or over? */
static int is_granted(ash_dav_locks *l, const ash_dav_lock *lock, bool *granted, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t doc;
    ash__lock_hand_filter(&lock->hand, &filter);
    int rc = ash_collection_find_one(l->grants, &filter, NULL, &doc, err);
    bson_destroy(&filter);
    *granted = rc == 0 && !is_over(&doc, &lock->hand.h);
    if (rc == 0)
        bson_destroy(&doc);
    return rc == ASH_ENOTFOUND ? 0 : rc;
}

static int add_lock(ash_dav_locks *l, const bson_t *doc, ash_dav_lock_set *out, ash_error *err)
{
    ash_dav_lock lock = {0};
    bool granted = false;
    int rc = 0;
    if (read_lock(doc, &lock))
        rc = is_granted(l, &lock, &granted, err);
    if (rc == 0 && granted)
        rc = ash__dav_locks_path(l, &lock.entry, &lock.path, err);
    if (rc != 0 || lock.path == NULL) {
        ash__dav_lock_release(&lock);
        return rc;
    }
    size_t len = strlen(lock.path);
    lock.is_folder = lock.path[len - 1] == '/';
    if (lock.is_folder && len > 1)
        lock.path[len - 1] = '\0';
    out->items = ash__grow_array(out->items, out->count, &out->capacity, sizeof *out->items);
    out->items[out->count++] = lock;
    return 0;
}

/* Whose locks are asked for; without a path all. */
typedef struct wanted {
    ash_tree *tree;
    const char *path;
    const ash_dav_if *asked;
    size_t seen;
    ash_dav_chain chain;
} wanted;

/* To find out where a lock's entry lies, and that it is granted still, takes longer than to find out
 * what leads to one path: it pays where there are more than some. */
static bool is_wanted(wanted *w, const bson_t *doc)
{
    bson_iter_t id, entry;
    if (w->path == NULL || ++w->seen <= FEW_LOCKS)
        return true;
    if (w->seen == FEW_LOCKS + 1 && !ash__dav_chain_read(w->tree, w->path, &w->chain)) {
        w->path = NULL;
        return true;
    }
    return !bson_iter_init_find(&entry, doc, "entry") ||
           ash__dav_chain_has(&w->chain, bson_iter_value(&entry)) ||
           (bson_iter_init_find(&id, doc, "_id") && BSON_ITER_HOLDS_UTF8(&id) &&
            ash__dav_if_submits(w->asked, bson_iter_utf8(&id, NULL)));
}

static int load(ash_dav_locks *l, wanted *w, ash_dav_lock_set *out, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc view;
    bson_t doc;
    bson_t *filter = BCON_NEW("root", BCON_UTF8(ash_tree_root(l->tree)), "expires", "{", "$gt",
                              BCON_DATE_TIME(ash__clock_wall_ms()), "}");
    *out = (ash_dav_lock_set){0};
    int rc = ash_collection_find(l->facts, filter, NULL, &cursor, err);
    bson_destroy(filter);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &view, err);
        if (rc != 0 || view.data == NULL)
            break;
        if (bson_init_static(&doc, view.data, view.len) && is_wanted(w, &doc))
            rc = add_lock(l, &doc, out, err);
    }
    ash_cursor_free(cursor);
    if (rc != 0)
        ash__dav_lock_set_release(out);
    return rc;
}

int ash__dav_locks_load(ash_dav_locks *l, ash_dav_lock_set *out, ash_error *err)
{
    wanted all = {.path = NULL};
    return load(l, &all, out, err);
}

int ash__dav_locks_load_at(ash_dav_locks *l, const char *path, const ash_dav_if *asked,
                           ash_dav_lock_set *out, ash_error *err)
{
    wanted some = {.tree = l->tree, .path = path, .asked = asked};
    int rc = load(l, &some, out, err);
    ash__dav_chain_release(&some.chain);
    return rc;
}

ash_fence ash__dav_locks_fence(const bson_value_t *entry, const ash_dav_lock *lock)
{
    ash_fence fence = ASH_FENCE_INIT;
    if (entry == NULL) {
        ash__lock_hand_fence(ASH_DAV_COLLECTION ".locks", &lock->hand, &fence);
        return fence;
    }
    fence.collection = ASH_DAV_COLLECTION ".locks";
    fence.lock_id = entry;
    fence.writes = -1;
    return fence;
}

/* ---- telling ---- */

static void describe(const ash_dav *dav, const ash_dav_lock *lock, ash_buffer *out)
{
    int64_t left = (lock->expires_ms - ash__clock_wall_ms() + 999) / 1000;
    ash__buffer_printf(
        out,
        "<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:%s/></D:lockscope>"
        "<D:depth>%s</D:depth>",
        lock->shared ? "shared" : "exclusive", lock->deep ? "infinity" : "0");
    if (lock->owner[0] != '\0')
        ash__buffer_printf(out, "<D:owner>%s</D:owner>", lock->owner);
    ash__buffer_printf(
        out,
        "<D:timeout>Second-%lld</D:timeout><D:locktoken><D:href>%s</D:href></D:locktoken>"
        "<D:lockroot><D:href>",
        (long long)(left > 0 ? left : 0), lock->token);
    ash__dav_href(dav, out, lock->path, lock->is_folder);
    ash__buffer_append_text(out, "</D:href></D:lockroot></D:activelock>");
}

void ash__dav_locks_describe(ash_dav *dav, const ash_dav_lock_set *set, const char *path,
                             ash_buffer *out)
{
    for (size_t i = 0; i < set->count; i++)
        if (ash__dav_lock_covers(&set->items[i], path))
            describe(dav, &set->items[i], out);
}
