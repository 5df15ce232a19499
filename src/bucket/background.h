/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_BACKGROUND_H
#define ASH_BUCKET_BACKGROUND_H

/* A thread that runs one call at a time beside the thread that it belongs to. */

#include "base/error.h"

typedef struct ash_background ash_background;
typedef int (*ash_background_fn)(void *ctx, ash_error *err);

ash_background *ash__background_new(void); /* NULL: no thread could be started */
/* Nothing may be under way.  What ctx points to is its thread's until the next wait. */
void ash__background_run(ash_background *h, ash_background_fn fn, void *ctx);
/* Wait for what was given to run: what fn returned; 0 when nothing was. */
int ash__background_wait(ash_background *h, ash_error *err);
void ash__background_free(ash_background *h); /* waits, too */

#endif
