/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_KEYS_H
#define ASH_USER_KEYS_H

/* The two primitives of SCRAM, inside this folder: HMAC and digest of a mechanism. */

#include "user/scram.h"

/* key: ash__scram_key_bytes() long. */
void ash__scram_hmac(ash_scram_mechanism mechanism, const uint8_t *key, const char *text,
                     uint8_t out[ASH_SCRAM_KEY_BYTES]);
/* Of a key. */
void ash__scram_hash(ash_scram_mechanism mechanism, const uint8_t *data,
                     uint8_t out[ASH_SCRAM_KEY_BYTES]);
/* RFC 4648's base64 with '+' and '/', as SCRAM and its documents have it.  Yours. */
char *ash__scram_base64(const uint8_t *data, size_t len);

#endif
