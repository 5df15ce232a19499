/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_HELPER_H
#define ASH_BUCKET_HELPER_H

/* A thread that runs one call at a time beside the thread that it belongs to. */

#include "base/error.h"

typedef struct ash_helper ash_helper;
typedef int (*ash_helper_fn)(void *ctx, ash_error *err);

ash_helper *ash__helper_new(void); /* NULL: no thread could be started */
/* Nothing may be under way.  What ctx points to is the helper's until the next wait. */
void ash__helper_run(ash_helper *h, ash_helper_fn fn, void *ctx);
/* Wait for what was given to run: what fn returned; 0 when nothing was. */
int ash__helper_wait(ash_helper *h, ash_error *err);
void ash__helper_free(ash_helper *h); /* waits, too */

#endif
