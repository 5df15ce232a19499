/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_HASH_H
#define ASH_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ashlar/digest.h>

/* XXH3, 64 bits, seed 0: the checksum of everything stored. */
uint64_t ash__checksum(const void *data, size_t len_bytes);

/* XXH3, 128 bits, big-endian: the tail of index keys that were cut. */
void ash__checksum128(const void *data, size_t len_bytes, uint8_t out[16]);

/* Streaming XXH3-64 over parts; new/free. */
typedef struct ash_checksum ash_checksum;
ash_checksum *ash__checksum_new(void);
void ash__checksum_add(ash_checksum *c, const void *data, size_t len_bytes);
uint64_t ash__checksum_value(const ash_checksum *c);
void ash__checksum_free(ash_checksum *c);

/* Digests by OpenSSL; new/free.  finish may be called once. */
#define ASH_DIGEST_MAX_BYTES 32
typedef struct ash_digest ash_digest;
ash_digest *ash__digest_new(ash_digest_kind kind); /* NULL where the kind is not available */
void ash__digest_add(ash_digest *d, const void *data, size_t len_bytes);
size_t ash__digest_finish(ash_digest *d, uint8_t out[ASH_DIGEST_MAX_BYTES]); /* length in bytes */
void ash__digest_free(ash_digest *d);

void ash__hex(const uint8_t *data, size_t len_bytes, char *out); /* 2 * len + NUL, lower case */
int ash__hex_digit(char c); /* of either case; -1: it is none */
/* text is 2 * len_bytes digits, and nothing else. */
bool ash__hex_read(const char *text, size_t len_bytes, uint8_t *out);

/* Random bytes from the operating system. */
void ash__random(void *out, size_t len_bytes);

#endif
