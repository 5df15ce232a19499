/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_LOCKS_H
#define ASH_HTTP_DAV_LOCKS_H

/* Locks of WebDAV, as documents beside the tree's, each with a grant of lock's (lock/hand.h) on the
 * entry: so a client that has a file open and a program with ash_lock keep each other out, and
 * locks outlive the server.
 *
 * COLLECTION.webdav {_id: token, root, entry, shared, deep, owner, by, created, expires, seconds,
 * hand: {write, h, writes}, lock: _id of the grant's document}; grants are on the entry's _id in COLLECTION.locks. */

#include "http/dav/dav.h"
#include "http/dav/if.h"
#include "lock/hand.h"

enum {
    ASH_DAV_TOKEN_BYTES = 46,
    ASH_DAV_MAX_LOCKS = 1000,
    ASH_DAV_MAX_LOCKS_OF_ONE = 100, /* shared ones on one resource */
    ASH_DAV_UNTOLD_S = 10, /* what is left of a LOCK that was never answered is over by then */
    ASH_DAV_MAX_OWNER_BYTES = 8192
};

typedef struct ash_dav_lock {
    char token[ASH_DAV_TOKEN_BYTES]; /* "urn:uuid:…" */
    char *path;                      /* where the entry is now */
    bool is_folder;
    bson_value_t entry;
    bool shared, deep; /* deep: all below it, too (Depth: infinity) */
    char *owner;       /* XML that stands by itself, or "" */
    char *by;          /* "DATABASE.NAME" of the user who took it; "" where nobody was asked */
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
/* Of them at least those on the path, on what it lies in, and those whose tokens were submitted:
 * all that a change of what is at the path alone has to ask. */
int ash__dav_locks_load_at(ash_dav_locks *l, const char *path, const ash_dav_if *asked,
                           ash_dav_lock_set *out, ash_error *err);
void ash__dav_lock_set_release(ash_dav_lock_set *set);
/* Is the path locked by it, itself or as what lies below? */
bool ash__dav_lock_covers(const ash_dav_lock *lock, const char *path);

/* Did op's user take it (RFC 4918 §6.4)?  Where nobody is asked, nobody is told from another; so it
 * is with locks that were taken then, which whoever has their token may use as long as they last. */
bool ash__dav_lock_is_of(const ash_dav_lock *lock, const ash_op *op);

/* Where the entry of an id is, folders with a '/' behind; yours.  NULL: nothing of this tree, or
 * nothing any more. */
int ash__dav_locks_path(ash_dav_locks *l, const bson_value_t *id, char **out, ash_error *err);

/* Could there be such a lock (shared, deep) at a path?  ASH_ELOCKED: another one stands against it;
 * *conflict: its path, as by ash__dav_locks_path(); yours.  ASH_ENOSPC: there are too many. */
int ash__dav_locks_ask(ash_dav_locks *l, const ash_dav_lock *lock, const char *path,
                       char **conflict, ash_error *err);
/* What is asked for: owner, by, shared, deep, seconds. On success a token is in it, and the rest is
 * filled.  ASH_ELOCKED: as before, or a program's lock does; *conflict may be NULL then. */
int ash__dav_locks_take(ash_dav_locks *l, const ash_tree_entry *entry, ash_dav_lock *lock,
                        char **conflict, ash_error *err);
int ash__dav_locks_renew(ash_dav_locks *l, ash_dav_lock *lock, int64_t seconds, ash_error *err);
int ash__dav_locks_drop(ash_dav_locks *l, const ash_dav_lock *lock, ash_error *err);
void ash__dav_lock_release(ash_dav_lock *lock); /* memory */

typedef struct ash_dav_place {
    const ash_tree_entry *entry;  /* or NULL */
    const ash_tree_entry *folder; /* that a name comes into or goes from, or NULL */
    bool below;                   /* all that lies in entry, too */
    bool shared;                  /* who only reads does not count */
} ash_dav_place;
/* Somebody without a token of WebDAV's who holds what a change is about: 0 and *who, a text (yours),
 * or NULL.  A program's lock on a folder is on its names, not on what lies deeper.  own: locks whose
 * holders are known. */
int ash__dav_locks_foreign(ash_dav_locks *l, const ash_dav_place *place,
                           const ash_dav_lock_set *own, char **who, ash_error *err);
/* A fence that nobody holds the entry, or (entry NULL) that the lock is held; points into them. */
ash_fence ash__dav_locks_fence(const bson_value_t *entry, const ash_dav_lock *lock);

/* <D:activelock> … of all that cover the path. */
void ash__dav_locks_describe(ash_dav *dav, const ash_dav_lock_set *set, const char *path,
                             ash_buffer *out);

#endif
