/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_SUMS_H
#define ASH_HTTP_DAV_SUMS_H

/* Digests that a client sends along with a body, compared before anything of it becomes visible. */

#include "http/head.h"

typedef struct ash_dav_sums ash_dav_sums;

/* What the fields promise: Repr-Digest and Content-Digest (RFC 9530), Digest (RFC 3230), Content-MD5, OC-Checksum;
 * SHA-256, SHA-1 and MD5.  NULL: nothing that is understood.  *bad: a promise that is no digest. */
ash_dav_sums *ash__dav_sums_new(const ash_head *head, bool *bad);
void ash__dav_sums_add(ash_dav_sums *s, const void *data, size_t len); /* s may be NULL */
/* NULL: all are kept (or s is NULL); else the name of one that is not.  Once. */
const char *ash__dav_sums_broken(ash_dav_sums *s);
void ash__dav_sums_free(ash_dav_sums *s);

/* RFC 4648 §4, padded; the caller frees. */
char *ash__dav_base64(const void *data, size_t len);

#endif
