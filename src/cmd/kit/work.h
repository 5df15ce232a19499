/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_WORK_H
#define ASH_CMD_KIT_WORK_H

#include <stddef.h>

/* Jobs done side by side, so that their commits share the disk's syncs.
 *
 * run is called for each job on one of the threads and consumes it; scratch is the thread's own
 * memory.  Jobs are added and the work is finished by one thread. */
typedef struct ash_work ash_work;
ash_work *ash__work_start(int threads, size_t scratch_bytes,
                          void (*run)(void *ctx, void *job, void *scratch), void *ctx);
void ash__work_add(ash_work *w, void *job); /* waits while many are waiting */
void ash__work_finish(ash_work *w);         /* waits until all are done, and frees */

#endif
