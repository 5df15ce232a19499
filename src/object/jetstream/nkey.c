/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/nkey.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

enum {
    SEED_LEN = 58, /* characters: two bytes of prefix, the key, two bytes of checksum */
    KEY_BYTES = 32,
    RAW_SEED_BYTES = 36,
    RAW_PUBLIC_BYTES = 35,
    SEED_PREFIX = 18 << 3, /* reads as 'S' */
    LINE_BYTES = 256
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static uint16_t checksum(const uint8_t *data, size_t len)
{
    uint16_t crc = 0; /* XMODEM's */
    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t)(crc ^ data[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

static bool decode_seed(const char *text, uint8_t out[RAW_SEED_BYTES])
{
    uint32_t bits = 0;
    int have = 0, at = 0;
    for (int i = 0; i < SEED_LEN; i++) {
        const char *found = text[i] != '\0' ? strchr(alphabet, text[i]) : NULL;
        if (found == NULL)
            return false;
        bits = bits << 5 | (uint32_t)(found - alphabet);
        have += 5;
        if (have >= 8) {
            have -= 8;
            out[at++] = (uint8_t)(bits >> have);
        }
    }
    uint16_t expected = checksum(out, RAW_SEED_BYTES - 2);
    return (out[0] & 0xf8) == SEED_PREFIX && out[RAW_SEED_BYTES - 2] == (expected & 0xff) &&
           out[RAW_SEED_BYTES - 1] == expected >> 8;
}

static void encode_public(const uint8_t raw[RAW_PUBLIC_BYTES], char out[ASH_NKEY_PUBLIC_BYTES])
{
    for (int i = 0; i < ASH_NKEY_PUBLIC_BYTES - 1; i++) {
        int bit = i * 5, byte = bit / 8;
        uint32_t pair =
            (uint32_t)raw[byte] << 8 | (byte + 1 < RAW_PUBLIC_BYTES ? raw[byte + 1] : 0);
        out[i] = alphabet[pair >> (11 - bit % 8) & 31];
    }
    out[ASH_NKEY_PUBLIC_BYTES - 1] = '\0';
}

int ash__nkey_public_of(const char *seed, char out[ASH_NKEY_PUBLIC_BYTES], ash_error *err)
{
    uint8_t raw[RAW_SEED_BYTES] = {0}, public_key[RAW_PUBLIC_BYTES] = {0};
    size_t len = KEY_BYTES;
    EVP_PKEY *key = NULL;
    bool good = strlen(seed) >= SEED_LEN && decode_seed(seed, raw);

    if (good)
        key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, raw + 2, KEY_BYTES);
    good = key != NULL && EVP_PKEY_get_raw_public_key(key, public_key + 1, &len) == 1;
    if (good) {
        /* The kind of key (a user's, an account's) is told by what follows the seed's prefix. */
        public_key[0] = (uint8_t)((raw[0] & 7) << 5 | (raw[1] & 0xf8) >> 3);
        uint16_t sum = checksum(public_key, RAW_PUBLIC_BYTES - 2);
        public_key[RAW_PUBLIC_BYTES - 2] = (uint8_t)(sum & 0xff);
        public_key[RAW_PUBLIC_BYTES - 1] = (uint8_t)(sum >> 8);
        encode_public(public_key, out);
    }
    EVP_PKEY_free(key);
    OPENSSL_cleanse(raw, sizeof raw);
    return good ? 0 : ash__fail(err, ASH_EINVAL, "not the seed of an NKey");
}

int ash__nkey_public(const char *seed_file, char out[ASH_NKEY_PUBLIC_BYTES], ash_error *err)
{
    char line[LINE_BYTES] = "";
    bool found = false;
    FILE *file = fopen(seed_file, "re");
    if (file == NULL)
        return ash__fail_errno(err, errno, "NKey's seed %s", seed_file);
    while (!found && fgets(line, sizeof line, file) != NULL)
        found = ash__nkey_public_of(line, out, NULL) == 0;
    (void)fclose(file);
    OPENSSL_cleanse(line, sizeof line);
    return found ? 0 : ash__fail(err, ASH_EINVAL, "%s holds no NKey's seed", seed_file);
}
