/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_GUARD_H
#define ASH_HTTP_DAV_GUARD_H

/* May a request change this?  Its If field (RFC 4918 §10.4), the locks that stand in its way (§7),
 * and the conditions of HTTP, asked in one place; and the fence that makes it hold in the commit,
 * too, beside locks that programs take with ash_lock. */

#include "http/dav/resource.h"

typedef struct ash_dav_guard {
    /* For ash_tree_change_options; all stays with the guard. */
    const ash_fence *fence; /* or NULL: none needed */
    int32_t if_version;     /* the version that was looked at, when a condition was asked for; 0 */
    bool if_absent;         /* there was nothing, and the condition counts on it */
    ash_tree_entry *entry;  /* of the path; NULL: there is none */
    void *state;
} ash_dav_guard;

enum {
    ASH_GUARD_BYTES = 1, /* the resource's own content or properties change; of what is not there,
                            ASH_GUARD_NAME as well */
    ASH_GUARD_NAME = 2,  /* it appears, goes, or gets another name: its folder changes, too */
    ASH_GUARD_BELOW = 4, /* all that lies below goes along */
    ASH_GUARD_READ = 8,  /* nothing changes: conditions alone */
    ASH_GUARD_MAKE = 32, /* with it: where nothing is, something appears (LOCK) */
    ASH_GUARD_OTHER = 16 /* another path of the same request (Destination): its conditions, which
                              are of the request's own, were asked before */
};

/* true: go on; the guard is released by the caller in any case.  false: x is answered (412, 423
 * with the lock's href in lock-token-submitted, 207 with one 423 for each locked member that a DELETE
 * would take, 400 for an If field that does not parse, or an
 * error).  changes: a sum of ASH_GUARD_….
 * With a second path (COPY, MOVE) call it once for each: If is evaluated for the request as a whole, and its tokens count for both. */
bool ash__dav_guard(ash_dav *dav, ash_exchange *x, const char *path, unsigned changes,
                    ash_dav_guard *out);
void ash__dav_guard_release(ash_dav_guard *g);
/* Locks once more, just before the commit of what took its time: a folder above may have been locked
 * with all that lies in it, which no fence says.  As ash__dav_guard(). */
bool ash__dav_guard_again(ash_dav_guard *g);
/* The fences of both, for a change of two paths: first's, with second's behind them. */
const ash_fence *ash__dav_guard_fences(ash_dav_guard *first, const ash_dav_guard *second);

/* After a DELETE, or of the source after a MOVE (RFC 4918 §7.6): locks on the guard's path, and
 * below it, are over. */
void ash__dav_locks_gone(ash_dav_guard *g);

#endif
