/* SPDX-License-Identifier: Apache-2.0 */
/* NUIDs, base64 and the text of digests, as NATS' clients write them, and as some of them did. */
#include "object/info.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const char BASE62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char BASE64URL[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

void ash__base64url(const void *data, size_t len, char *out)
{
    const uint8_t *in = data;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                         (left > 2 ? in[i + 2] : 0);
        *out++ = BASE64URL[group >> 18];
        *out++ = BASE64URL[group >> 12 & 63];
        *out++ = left > 1 ? BASE64URL[group >> 6 & 63] : '=';
        *out++ = left > 2 ? BASE64URL[group & 63] : '=';
    }
    *out = '\0';
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
    size_t len = strlen(n->name);
    memcpy(out, n->name, len);
    ash__base64url(bytes, n->len, out + len);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool parse_hex(const char *text, uint8_t *out, size_t len)
{
    if (strlen(text) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void ash__digest_text_from_hex(ash_digest_kind kind, const char *hex, char out[64])
{
    const digest_name *n = name_of(kind);
    uint8_t bytes[32];
    ash_assert(n != NULL);
    bool good = parse_hex(hex, bytes, n->len);
    ash_assert(good);
    ash__digest_text(kind, bytes, out);
}

/* Either alphabet: each has two characters that the other one lacks. */
static int base64_digit(char c)
{
    const char *at = c != '\0' ? strchr(BASE64URL, c == '+' ? '-' : c == '/' ? '_' : c) : NULL;
    return at != NULL ? (int)(at - BASE64URL) : -1;
}

static bool parse_base64(const char *text, uint8_t *out, size_t len)
{
    size_t digits = strlen(text), have = 0;
    uint32_t bits = 0;
    int count = 0;
    while (digits > 0 && text[digits - 1] == '=')
        digits--;
    if (digits != (len * 8 + 5) / 6)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int d = base64_digit(text[i]);
        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        count += 6;
        if (count >= 8 && have < len) {
            count -= 8;
            out[have++] = (uint8_t)(bits >> count);
        }
    }
    return have == len;
}

bool ash__digest_parse(const char *text, ash_digest_kind *kind, uint8_t out[32], size_t *len)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        size_t head = strlen(names[i].name);
        if (strncmp(text, names[i].name, head) != 0)
            continue;
        *kind = names[i].kind;
        *len = names[i].len;
        return parse_hex(text + head, out, *len) || parse_base64(text + head, out, *len);
    }
    return false;
}
