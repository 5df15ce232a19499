/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_IDLE_PAGES_H
#define ASH_ENGINE_IDLE_PAGES_H

/* Pages of meta.mdb that are free, and may become holes.  The writer's own: no transaction changes
 * anything meanwhile, and the last commit is durable. */

#include "engine/internal.h"

typedef struct ash_idle_pages ash_idle_pages;

/* NULL: the list cannot be read. */
ash_idle_pages *ash__idle_pages_new(ash_engine *e);
void ash__idle_pages_free(ash_idle_pages *p);

uint64_t ash__idle_pages_in_use(const ash_idle_pages *p); /* bytes of pages that are not free */
/* How many bytes the file takes on the disk beyond those. */
uint64_t ash__idle_pages_taken(const ash_idle_pages *p);
/* The metadata must have been found whole.  Ends early at the deadline (ash__clock_ms), or where
 * the file system cannot make holes; what is left is for the next one. */
void ash__idle_pages_punch(ash_idle_pages *p, int64_t deadline);

#endif
