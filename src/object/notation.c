/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, NUIDs, base64 and the text of digests, as NATS' clients write them, and as some of them did. */
#include "object/info.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const char BASE62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

bool ash__uri_is_nats(const char *uri)
{
    return strncmp(uri, "nats://", 7) == 0 || strncmp(uri, "tls://", 6) == 0;
}

void ash__nuid(char out[ASH_NUID_TEXT_BYTES])
{
    uint8_t random[64];
    size_t len = 0, at = sizeof random;
    while (len < ASH_NUID_TEXT_BYTES - 1) {
        if (at == sizeof random) {
            ash__random(random, sizeof random);
            at = 0;
        }
        uint8_t r = random[at++];
        if (r < 248) /* 4 * 62: above it, some digits would come more often */
            out[len++] = BASE62[r % 62];
    }
    out[len] = '\0';
}

/* ---- digests ---- */

typedef struct digest_name {
    ash_digest_kind kind;
    const char *name;
    size_t len;
} digest_name;

static const digest_name names[] = {{ASH_DIGEST_SHA256, "SHA-256=", 32},
                                    {ASH_DIGEST_SHA1, "SHA-1=", 20},
                                    {ASH_DIGEST_MD5, "MD5=", 16}};

static const digest_name *name_of(ash_digest_kind kind)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        if (names[i].kind == kind)
            return &names[i];
    return NULL;
}

void ash__digest_text(ash_digest_kind kind, const uint8_t *bytes, char out[64])
{
    const digest_name *n = name_of(kind);
    ash_assert(n != NULL);
    char *text = ash__base64_write(bytes, n->len);
    (void)snprintf(out, 64, "%s%s", n->name, text);
    ash__free(text);
}

void ash__digest_text_from_hex(ash_digest_kind kind, const char *hex, char out[64])
{
    const digest_name *n = name_of(kind);
    uint8_t bytes[32];
    ash_assert(n != NULL);
    bool good = ash__hex_read(hex, n->len, bytes);
    ash_assert(good);
    ash__digest_text(kind, bytes, out);
}

static bool parse_base64(const char *text, uint8_t *out, size_t len)
{
    size_t digits = strlen(text), have = 0;
    uint8_t *bytes = NULL;
    while (digits > 0 && text[digits - 1] == '=')
        digits--;
    bool good = ash__base64_read(text, digits, &bytes, &have) && have == len;
    if (good)
        memcpy(out, bytes, len);
    ash__free(bytes);
    return good;
}

bool ash__digest_parse(const char *text, ash_digest_kind *kind, uint8_t out[32], size_t *len)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        size_t head = strlen(names[i].name);
        if (strncmp(text, names[i].name, head) != 0)
            continue;
        *kind = names[i].kind;
        *len = names[i].len;
        return ash__hex_read(text + head, *len, out) || parse_base64(text + head, out, *len);
    }
    return false;
}
