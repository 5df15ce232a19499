/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_MONGO_H
#define ASH_STORE_MONGO_H

/* The backend on a MongoDB deployment, by libmongoc.
 *
 * URIs: mongodb:// and mongodb+srv:// with all of the driver's options (TLS, authentication,
 * replica set, read preference, write concern, pool size, timeouts), which pass through unread, but
 * for w=0, which is refused: a write that nobody answers can tell nothing.  And ashlar+unix://, the
 * server that holds a folder (store/reach.h).
 *
 * Open reaches for the deployment and fails when it cannot be reached or does not let us in, after
 * the URI's serverSelectionTimeoutMS at the latest.
 *
 * Threads: each running call, and each open cursor that is not at its end, holds one connection of
 * a pool (the URI's maxPoolSize, 100); past that a call waits for waitQueueTimeoutMS (30 s unless
 * the URI says otherwise), then fails with ASH_ETIMEOUT.
 *
 * Durable when: EVERY asks for {w: "majority", j: true} on each write; FILE on each write but those
 * to *.chunks, unless the URI fixes a write concern of its own; else the URI's, or the deployment's
 * default.
 *
 * Deadlines become maxTimeMS (but in updates, where the driver has no place for it), so the
 * deployment stops what is too late, and bound the wait for its answer; so do cancel flags.  Over
 * TLS only maxTimeMS and the URI's socketTimeoutMS (the driver's default: 5 minutes) do, and a
 * cancel flag is looked at between messages.  A retry id is not sent: the driver has its own. */

#include "store/ops.h"

extern const ash_backend ash__backend_mongo;

/* Hands libmongoc's log lines to ours from now on, as opening a store does.  For a program that
 * does not want those of the driver's start either, which comes before main(). */
void ash__mongo_hush(void);

#endif
