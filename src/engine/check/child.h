/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_CHECK_CHILD_H
#define ASH_ENGINE_CHECK_CHILD_H

/* A child process that reads what may be damaged: LMDB does not guard its pages, so walking damaged
 * ones may end the process.  What it finds it sends as documents through a pipe. */

#include "engine/internal.h"

typedef struct ash_child {
    int fd; /* to the parent */
} ash_child;

/* fn runs in the child.  take gets each document in the parent, in the same order; false ends the
 * child: ASH_EINTERRUPTED.  *status: how it ended, as waitpid says; 0 when fn returned. */
typedef void (*ash_child_fn)(ash_child *child, void *ctx);
typedef bool (*ash_child_take_fn)(void *ctx, const bson_t *doc);
int ash__child_run(ash_engine *e, ash_child_fn fn, ash_child_take_fn take, void *ctx, int *status,
                   ash_error *err);

/* Of the child.  What is too large is left out. */
void ash__child_send(const ash_child *child, ash_doc doc);

#endif
