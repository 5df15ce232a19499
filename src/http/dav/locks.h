/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_LOCKS_H
#define ASH_HTTP_DAV_LOCKS_H

/* Locks of WebDAV, as documents beside the tree's, each with a grant of lock's (lock/hand.h) on the
 * entry: so a client that has a file open and a program with ash_lock keep each other out, and
 * locks outlive the server.
 *
 * COLLECTION.webdav {_id: token, root, entry, shared, deep, owner, created, expires, seconds,
 * hand: {write, h, writes}, lock: _id of the grant's document}; grants are on the entry's _id in COLLECTION.locks. */

#include "http/dav/dav.h"
#include "lock/hand.h"

enum { ASH_DAV_TOKEN_BYTES = 46, ASH_DAV_MAX_LOCKS = 1000, ASH_DAV_MAX_OWNER_BYTES = 8192 };

typedef struct ash_dav_lock {
    char token[ASH_DAV_TOKEN_BYTES]; /* "urn:uuid:…" */
    char *path;                      /* where the entry is now */
    bson_value_t entry;
    bool shared, deep; /* deep: all below it, too (Depth: infinity) */
    char *owner;       /* XML that stands by itself, or "" */
    int64_t seconds, expires_ms;
    ash_lock_hand hand;
} ash_dav_lock;

typedef struct ash_dav_lock_set {
    ash_dav_lock *items;
    size_t count, capacity;
} ash_dav_lock_set;

/* Makes nothing before the first lock.  collection: of the tree; locks is of one root. */
int ash__dav_locks_new(ash_store *store, ash_tree *tree, ash_dav_locks **out, ash_error *err);
void ash__dav_locks_free(ash_dav_locks *l);

/* All of the root that hold now: not over, not broken, on something that is there. */
int ash__dav_locks_load(ash_dav_locks *l, ash_dav_lock_set *out, ash_error *err);
void ash__dav_lock_set_release(ash_dav_lock_set *set);
/* Is the path locked by it, itself or as what lies below? */
bool ash__dav_lock_covers(const ash_dav_lock *lock, const char *path);

/* What is asked for: owner, shared, deep, seconds. On success a token is in it, and the rest is
 * filled.  ASH_ELOCKED: somebody else's stands against it; *conflict (or NULL): its path, yours. */
int ash__dav_locks_take(ash_dav_locks *l, const ash_tree_entry *entry, ash_dav_lock *lock,
                        char **conflict, ash_error *err);
int ash__dav_locks_renew(ash_dav_locks *l, ash_dav_lock *lock, int64_t seconds, ash_error *err);
int ash__dav_locks_drop(ash_dav_locks *l, const ash_dav_lock *lock, ash_error *err);
void ash__dav_lock_release(ash_dav_lock *lock); /* memory */

/* Somebody without a token of WebDAV's who holds the entry, or (below) something in it: 0 and *who, a
 * text (yours), or NULL.  own: locks whose holders are known. */
int ash__dav_locks_foreign(ash_dav_locks *l, const ash_tree_entry *entry, bool below,
                           const ash_dav_lock_set *own, char **who, ash_error *err);
/* A fence that nobody holds the entry, or that the lock does; into *out, which points into both. */
void ash__dav_locks_fence(const ash_dav_locks *l, const bson_value_t *entry,
                          const ash_dav_lock *lock, ash_fence *out);

/* <D:activelock> … of all that cover the path. */
void ash__dav_locks_describe(ash_dav *dav, const ash_dav_lock_set *set, const char *path,
                             ash_buffer *out);

#endif
