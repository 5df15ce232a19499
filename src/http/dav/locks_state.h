/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_LOCKS_STATE_H
#define ASH_HTTP_DAV_LOCKS_STATE_H

/* For locks.c and foreign.c alone. */

#include "base/thread.h"
#include "http/dav/locks.h"

#define ASH_DAV_COLLECTION "v7files" /* of the tree */

struct ash_dav_locks {
    ash_store *store;
    ash_tree *tree;
    ash_collection *facts;     /* COLLECTION.webdav */
    ash_collection *grants;    /* COLLECTION.locks, to look at */
    ash_mutex lock;            /* guards made */
    ash_lock_collection *made; /* NULL before the first lock */
};

/* Opens made. */
int ash__dav_locks_open(ash_dav_locks *l, ash_error *err);

#endif
