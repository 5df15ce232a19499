/* SPDX-License-Identifier: Apache-2.0 */
#include "user/origin.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An address, and how many of its bits count. */
typedef struct range {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    int bits;
} range;

static bool read_address(const char *text, range *out)
{
    struct in_addr four;
    out->bits = 128;
    if (inet_pton(AF_INET6, text, out->bytes) == 1)
        return true;
    if (inet_pton(AF_INET, text, &four) != 1)
        return false;
    memset(out->bytes, 0, 10);
    memset(out->bytes + 10, 0xff, 2);
    memcpy(out->bytes + 12, &four, 4);
    return true;
}

/* "192.0.2.0/24", or one address. */
static bool read_range(const char *text, range *out)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (len >= sizeof address)
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    if (!read_address(address, out))
        return false;
    if (slash == NULL)
        return true;
    int most = strchr(address, ':') != NULL ? 128 : 32;
    if (slash[1] == '\0' || strlen(slash + 1) > 3 ||
        strspn(slash + 1, "0123456789") != strlen(slash + 1) || atoi(slash + 1) > most)
        return false;
    out->bits = 128 - most + atoi(slash + 1);
    return true;
}

static bool covers(const range *r, const range *address)
{
    int whole = r->bits / 8, rest = r->bits % 8;
    if (memcmp(r->bytes, address->bytes, (size_t)whole) != 0)
        return false;
    return rest == 0 || (r->bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

/* "192.0.2.1:4711" and "[::1]:27017" without their ports. */
static bool read_peer(const char *text, range *out)
{
    char address[INET6_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    size_t skip = text[0] == '[', len = colon != NULL ? (size_t)(colon - text) : 0;
    if (len < 2 * skip + 1 || len - 2 * skip >= sizeof address)
        return false;
    memcpy(address, text + skip, len - 2 * skip);
    address[len - 2 * skip] = '\0';
    /* Which of our networks a link-local one is on. */
    address[strcspn(address, "%")] = '\0';
    return read_address(address, out);
}

/* ---- a document ---- */

static int check_list(ash_value list, ash_error *err)
{
    range unused;
    if (list.type != BSON_TYPE_ARRAY)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "clientSource and serverAddress are arrays of addresses");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        const char *text = ash__value_utf8(it.value, NULL);
        if (text == NULL || !read_range(text, &unused))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "'%.60s' is neither an address nor a range such as "
                                    "192.0.2.0/24",
                                    text != NULL ? text : "");
    }
    return 0;
}

int ash__origins_check(ash_doc restrictions, ash_error *err)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(restrictions); rc == 0 && ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_DOCUMENT || ash__doc_is_empty(ash__value_doc(it.value)))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "authenticationRestrictions are documents of clientSource and "
                                    "serverAddress");
        for (ash_doc_iter f = ash__doc_iter(ash__value_doc(it.value));
             rc == 0 && ash__doc_iter_next(&f);)
            rc = strcmp(f.name, "clientSource") == 0 || strcmp(f.name, "serverAddress") == 0
                     ? check_list(f.value, err)
                     : ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                        "Unrecognized authentication restriction: '%.60s'", f.name);
    }
    return rc;
}

static bool is_in(ash_value list, const char *peer)
{
    range address, r;
    if (list.type != BSON_TYPE_ARRAY || !read_peer(peer, &address))
        return false;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        const char *text = ash__value_utf8(it.value, NULL);
        if (text != NULL && read_range(text, &r) && covers(&r, &address))
            return true;
    }
    return false;
}

static bool fits(ash_doc restriction, const char *remote, const char *local)
{
    for (ash_doc_iter it = ash__doc_iter(restriction); ash__doc_iter_next(&it);) {
        bool is_source = strcmp(it.name, "clientSource") == 0;
        if ((!is_source && strcmp(it.name, "serverAddress") != 0) ||
            !is_in(it.value, is_source ? remote : local))
            return false;
    }
    return true;
}

bool ash__origins_admit(ash_doc user, const char *remote, const char *local)
{
    ash_value v = ash__doc_get(user, "authenticationRestrictions");
    if (v.type == 0 || v.type == BSON_TYPE_NULL)
        return true;
    if (v.type != BSON_TYPE_ARRAY)
        return false;
    if (ash__doc_is_empty(ash__value_doc(v)))
        return true;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);)
        if (it.value.type == BSON_TYPE_DOCUMENT && fits(ash__value_doc(it.value), remote, local))
            return true;
    return false;
}
