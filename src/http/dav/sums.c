/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/sums.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>
#include <strings.h>

enum { MAX_SUMS = 8 };

typedef struct promise {
    const char *name;
    ash_digest_kind kind;
    uint8_t value[ASH_DIGEST_MAX_BYTES];
    ash_digest *digest;
} promise;

struct ash_dav_sums {
    promise items[MAX_SUMS];
    size_t count;
};

static const struct {
    const char *name; /* as RFC 9530, RFC 3230 and ownCloud call it */
    ash_digest_kind kind;
    size_t bytes;
} kinds[] = {
    {"sha-256", ASH_DIGEST_SHA256, 32}, {"sha256", ASH_DIGEST_SHA256, 32},
    {"sha", ASH_DIGEST_SHA1, 20},       {"sha1", ASH_DIGEST_SHA1, 20},
    {"sha-1", ASH_DIGEST_SHA1, 20},     {"md5", ASH_DIGEST_MD5, 16},
};

char *ash__dav_base64(const void *data, size_t len)
{
    char *text = ash__base64_write(data, len);
    for (char *at = text; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '+' : *at == '_' ? '/' : *at);
    return text;
}

static bool read_value(const char *text, size_t len, size_t bytes, uint8_t *out)
{
    uint8_t *value = NULL;
    size_t value_len = 0;
    char *copy = ash__strndup(text, len);
    bool good = len == 2 * bytes && ash__hex_read(copy, bytes, out);
    ash__free(copy);
    if (good)
        return true;
    good = ash__base64_read(text, len, &value, &value_len) && value_len == bytes;
    if (good)
        memcpy(out, value, bytes);
    ash__free(value);
    return good;
}

/* One promise; kinds that are not known promise nothing.  false: it is no digest. */
static bool promise_one(ash_dav_sums *s, const char *name, size_t name_len, const char *value,
                        size_t len)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++) {
        if (strlen(kinds[i].name) != name_len || strncasecmp(kinds[i].name, name, name_len) != 0)
            continue;
        promise *p = &s->items[s->count];
        if (s->count == MAX_SUMS || !read_value(value, len, kinds[i].bytes, p->value))
            return false;
        p->name = kinds[i].name;
        p->kind = kinds[i].kind;
        p->digest = ash__digest_new(p->kind);
        s->count += p->digest != NULL;
        return true;
    }
    return true;
}

/* "sha-256=:BASE64:, md5=BASE64", and "SHA256:HEX MD5:HEX". */
static bool read_list(ash_dav_sums *s, const char *list, char between)
{
    while (list != NULL && *list != '\0') {
        list += strspn(list, " \t,");
        size_t len = strcspn(list, " \t,");
        const char *is = memchr(list, between, len);
        if (len == 0)
            break;
        if (is == NULL)
            return false;
        const char *value = is + 1;
        size_t value_len = (size_t)(list + len - value);
        if (between == '=' && value_len >= 2 && value[0] == ':' && value[value_len - 1] == ':') {
            value++;
            value_len -= 2;
        }
        if (!promise_one(s, list, (size_t)(is - list), value, value_len))
            return false;
        list += len;
    }
    return true;
}

ash_dav_sums *ash__dav_sums_new(const ash_head *head, bool *bad)
{
    static const char *const lists[] = {"Repr-Digest", "Content-Digest", "Digest"};
    ash_dav_sums *s = ash__new(ash_dav_sums);
    const char *md5 = ash__head_field(head, "Content-MD5");
    *bad = false;
    for (size_t i = 0; i < ASH_ARRAY_LEN(lists); i++)
        *bad |= !read_list(s, ash__head_field(head, lists[i]), '=');
    *bad |= !read_list(s, ash__head_field(head, "OC-Checksum"), ':');
    if (md5 != NULL)
        *bad |= !promise_one(s, "md5", 3, md5, strlen(md5));
    if (s->count > 0 && !*bad)
        return s;
    ash__dav_sums_free(s);
    return NULL;
}

void ash__dav_sums_add(ash_dav_sums *s, const void *data, size_t len)
{
    for (size_t i = 0; s != NULL && i < s->count; i++)
        ash__digest_add(s->items[i].digest, data, len);
}

const char *ash__dav_sums_broken(ash_dav_sums *s)
{
    uint8_t value[ASH_DIGEST_MAX_BYTES];
    for (size_t i = 0; s != NULL && i < s->count; i++) {
        size_t len = ash__digest_finish(s->items[i].digest, value);
        if (memcmp(value, s->items[i].value, len) != 0)
            return s->items[i].name;
    }
    return NULL;
}

void ash__dav_sums_free(ash_dav_sums *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        ash__digest_free(s->items[i].digest);
    ash__free(s);
}
