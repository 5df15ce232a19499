/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_HASHER_H
#define ASH_BUCKET_HASHER_H

/* The digests of an upload, made beside it: SHA-256 is about as slow as a disk is fast, so from the
 * first MiB on a thread of its own does it while the same bytes are written.  One user thread. */

#include <stdbool.h>
#include <stddef.h>

typedef struct ash_hasher ash_hasher;

/* NULL when this machine's library has no MD5 and it was asked for. */
ash_hasher *ash__hasher_new(bool with_md5);
/* Before the first add.  Without MD5 there is nothing left to do then. */
void ash__hasher_leave_out_sha256(ash_hasher *h);
/* The bytes must stay as they are until a drain that does not leave them out. */
void ash__hasher_add(ash_hasher *h, const void *data, size_t len);
/* Waits until all that was added is taken in, but for at most the newest `but` bytes. */
void ash__hasher_drain(ash_hasher *h, size_t but);
/* Drains.  As lower-case text; what was not asked for is left alone.  Once. */
void ash__hasher_finish(ash_hasher *h, char sha256[65], char md5[65]);
void ash__hasher_free(ash_hasher *h);

#endif
