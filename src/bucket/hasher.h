/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_HASHER_H
#define ASH_BUCKET_HASHER_H

/* The digests of an upload, made beside it: SHA-256 is about as slow as a disk is fast, so from the
 * first MiB on a thread of its own does it while the same bytes are written.  One user thread. */

#include <stdbool.h>
#include <stddef.h>

#include <ashlar/digest.h>

typedef struct ash_hasher ash_hasher;

/* As text; "" is not known. */
typedef struct ash_digests {
    char sha256[65];
    char sha1[41];
    char md5[33];
} ash_digests;
/* The text of one kind; NULL for what is none. */
const char *ash__digests_get(const ash_digests *d, ash_digest_kind kind);

ash_hasher *ash__hasher_new(void);
/* Which digests it makes, before the first add: a sum of kinds; 0, as it is made: none.  false:
 * this machine's library does not have them all. */
bool ash__hasher_choose(ash_hasher *h, unsigned kinds);
/* The bytes must stay as they are until a drain that does not leave them out. */
void ash__hasher_add(ash_hasher *h, const void *data, size_t len);
/* Waits until all that was added is taken in, but for at most the newest `but` bytes. */
void ash__hasher_drain(ash_hasher *h, size_t but);
/* Drains; what was not chosen is "".  Once. */
void ash__hasher_finish(ash_hasher *h, ash_digests *out);
void ash__hasher_free(ash_hasher *h);

#endif
