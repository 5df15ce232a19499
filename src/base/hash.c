/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3 for what is stored, OpenSSL for digests that others compare.  The handles that are given out
 * are the libraries' own states, without a struct of ours around them. */
#include "base/hash.h"

#include "base/mem.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#ifdef ASH_XXH_DISPATCH
#include <xxh_x86dispatch.h> /* the widest vectors this processor has; same results */
#else
#include <xxhash.h>
#endif

uint64_t ash__checksum(const void *data, size_t len_bytes)
{
    return XXH3_64bits(data, len_bytes);
}

void ash__checksum128(const void *data, size_t len_bytes, uint8_t out[16])
{
    /* The canonical form is big-endian on every machine: these bytes are in keys on disk. */
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, len_bytes));
    for (int i = 0; i < 16; i++)
        out[i] = canonical.digest[i];
}

ash_checksum *ash__checksum_new(void)
{
    XXH3_state_t *state = XXH3_createState();
    ash_assert(state != NULL);
    XXH3_64bits_reset(state);
    return (ash_checksum *)state;
}

void ash__checksum_add(ash_checksum *c, const void *data, size_t len_bytes)
{
    XXH3_64bits_update((XXH3_state_t *)c, data, len_bytes);
}

uint64_t ash__checksum_value(const ash_checksum *c)
{
    return XXH3_64bits_digest((const XXH3_state_t *)c);
}

void ash__checksum_free(ash_checksum *c)
{
    XXH3_freeState((XXH3_state_t *)c);
}

/* Fetched once: what OpenSSL looks up anew with each EVP_sha256() takes longer than a short text's
 * digest.  Kept until the process ends. */
static EVP_MD *kinds[3]; /* md5, sha1, sha256; NULL: not to be had */
static pthread_once_t kinds_once = PTHREAD_ONCE_INIT;

static void fetch_kinds(void)
{
    kinds[0] = EVP_MD_fetch(NULL, "MD5", NULL);
    kinds[1] = EVP_MD_fetch(NULL, "SHA1", NULL);
    kinds[2] = EVP_MD_fetch(NULL, "SHA256", NULL);
}

ash_digest *ash__digest_new(ash_digest_kind kind)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    pthread_once(&kinds_once, fetch_kinds);
    const EVP_MD *md = kinds[kind == ASH_DIGEST_MD5 ? 0 : kind == ASH_DIGEST_SHA1 ? 1 : 2];
    ash_assert(ctx != NULL);
    /* A policy of the system may forbid MD5. */
    if (md == NULL || EVP_DigestInit_ex(ctx, md, NULL) != 1) {
        EVP_MD_CTX_free(ctx);
        return NULL;
    }
    return (ash_digest *)ctx;
}

void ash__digest_add(ash_digest *d, const void *data, size_t len_bytes)
{
    /* A digest that was begun fails only when it is used wrongly. */
    ash_assert(EVP_DigestUpdate((EVP_MD_CTX *)d, data, len_bytes) == 1);
}

size_t ash__digest_finish(ash_digest *d, uint8_t out[ASH_DIGEST_MAX_BYTES])
{
    unsigned int len = 0;
    ash_assert(EVP_DigestFinal_ex((EVP_MD_CTX *)d, out, &len) == 1);
    return len;
}

void ash__digest_free(ash_digest *d)
{
    EVP_MD_CTX_free((EVP_MD_CTX *)d);
}

void ash__hex(const uint8_t *data, size_t len_bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len_bytes; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * len_bytes] = 0;
}

int ash__hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool ash__hex_read(const char *text, size_t len_bytes, uint8_t *out)
{
    if (strlen(text) != 2 * len_bytes)
        return false;
    for (size_t i = 0; i < len_bytes; i++) {
        int high = ash__hex_digit(text[2 * i]), low = ash__hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void ash__random(void *out, size_t len_bytes)
{
    uint8_t *at = out;
    while (len_bytes > 0) {
        /* A long request may be interrupted, or get less than it asked for. */
        ssize_t got = getrandom(at, len_bytes, 0);
        ash_assert(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            len_bytes -= (size_t)got;
        }
    }
}
