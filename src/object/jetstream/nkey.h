/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_NKEY_H
#define ASH_OBJECT_JETSTREAM_NKEY_H

/* NKeys: Ed25519 keys in base32 with a checksum.  libnats signs with the seed in a file, but wants to be
 * told the public key that belongs to it. */

#include "base/error.h"

enum { ASH_NKEY_PUBLIC_BYTES = 57 }; /* 56 characters and a NUL */

/* From the first line of the file that is a seed.  ASH_EINVAL: there is none; never says what the
 * file holds. */
int ash__nkey_public(const char *seed_file, char out[ASH_NKEY_PUBLIC_BYTES], ash_error *err);

/* The same from a seed's text. */
int ash__nkey_public_of(const char *seed, char out[ASH_NKEY_PUBLIC_BYTES], ash_error *err);

#endif
