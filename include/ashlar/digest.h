/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_DIGEST_H
#define ASHLAR_DIGEST_H

/* Digests of contents.  They can be asked for together: the values are bits. */

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     unsigned both = ASH_DIGEST_SHA1 | ASH_DIGEST_MD5;
 *     char hex[ASH_DIGEST_TEXT_BYTES];
 *     printf("%u, up to %zu digits\n", both, sizeof hex - 1);
 */

typedef enum ash_digest_kind {
    ASH_DIGEST_SHA256 = 1,
    ASH_DIGEST_SHA1 = 2, /* names contents of old; no protection from somebody who forges */
    ASH_DIGEST_MD5 = 4   /* likewise */
} ash_digest_kind;

/* A digest as text, lower-case hexadecimal with its NUL, takes at most: */
#define ASH_DIGEST_TEXT_BYTES 65

#ifdef __cplusplus
}
#endif
#endif
