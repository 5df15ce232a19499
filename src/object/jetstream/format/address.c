/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/format/address.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

#define NATS_SCHEME "nats://"
#define TLS_SCHEME  "tls://"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool ash__nats_address_accepts(const char *uri)
{
    return begins(uri, NATS_SCHEME) || begins(uri, TLS_SCHEME);
}

static int digit_of(char c)
{
    unsigned char u = (unsigned char)c;
    return !isxdigit(u) ? -1 : isdigit(u) ? u - '0' : (u | 0x20) - 'a' + 10;
}

/* NULL where a '%' is not followed by two digits, or stands for a NUL. */
static char *decode(const char *text, size_t len)
{
    char *out = ash__alloc(len + 1);
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '%') {
            out[at++] = text[i];
            continue;
        }
        int high = i + 2 < len ? digit_of(text[i + 1]) : -1;
        int low = i + 2 < len ? digit_of(text[i + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0) {
            ash__free(out);
            return NULL;
        }
        out[at++] = (char)(high << 4 | low);
        i += 2;
    }
    return out;
}

/* "user:password" or "token"; those of the first server that has any are used with all. */
static int take_user(ash_nats_address *a, const char *text, size_t len, ash_error *err)
{
    const char *colon = memchr(text, ':', len);
    if (a->user != NULL || a->token != NULL)
        return 0;
    if (colon == NULL) {
        a->token = decode(text, len);
    } else {
        a->user = decode(text, (size_t)(colon - text));
        a->password = decode(colon + 1, len - (size_t)(colon - text) - 1);
    }
    if (colon == NULL ? a->token == NULL : a->user == NULL || a->password == NULL)
        return ash__fail(err, ASH_EINVAL, "user or password of a NATS address: bad '%%'");
    return 0;
}

static int take_server(ash_nats_address *a, const char *text, size_t len, ash_error *err)
{
    const char *at = NULL;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '@')
            at = text + i;
    }
    if (at != NULL) {
        int rc = take_user(a, text, (size_t)(at - text), err);
        if (rc != 0)
            return rc;
        len -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    if (len == 0)
        return ash__fail(err, ASH_EINVAL, "a NATS address without a host");
    if (a->count == ASH_NATS_MAX_SERVERS)
        return ash__fail(err, ASH_EINVAL, "a NATS address of more than %d servers",
                         ASH_NATS_MAX_SERVERS);
    a->servers[a->count++] = ash__sprintf(NATS_SCHEME "%.*s", (int)len, text);
    return 0;
}

static int take_servers(ash_nats_address *a, const char *text, const char *end, ash_error *err)
{
    while (true) {
        if (begins(text, NATS_SCHEME)) {
            text += strlen(NATS_SCHEME);
        } else if (begins(text, TLS_SCHEME)) {
            text += strlen(TLS_SCHEME);
            a->tls = true;
        }
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = comma != NULL ? comma : end;
        int rc = take_server(a, text, (size_t)(stop - text), err);
        if (rc != 0 || comma == NULL)
            return rc;
        text = comma + 1;
    }
}

static char **place_of(ash_nats_address *a, const char *name, size_t len)
{
    const struct {
        const char *name;
        char **place;
    } places[] = {
        {"creds", &a->creds},       {"nkey", &a->nkey},       {"tls_ca", &a->tls_ca},
        {"tls_cert", &a->tls_cert}, {"tls_key", &a->tls_key}, {"domain", &a->domain},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(places); i++) {
        if (strlen(places[i].name) == len && memcmp(places[i].name, name, len) == 0)
            return places[i].place;
    }
    return NULL;
}

static int take_option(ash_nats_address *a, const char *text, size_t len, ash_error *err)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - text) : len;
    char **place = place_of(a, text, name_len);
    if (place == NULL)
        return ash__fail(err, ASH_EINVAL, "a NATS address has no option '%.*s'", (int)name_len,
                         text);
    char *value = equals != NULL ? decode(equals + 1, len - name_len - 1) : NULL;
    if (value == NULL || *value == '\0') {
        ash__free(value);
        return ash__fail(err, ASH_EINVAL, "option '%.*s' of a NATS address needs a value",
                         (int)name_len, text);
    }
    ash__free(*place);
    *place = value;
    return 0;
}

static int take_options(ash_nats_address *a, const char *text, ash_error *err)
{
    int rc = 0;
    while (rc == 0 && *text != '\0') {
        size_t len = strcspn(text, "&");
        rc = len > 0 ? take_option(a, text, len, err) : 0;
        text += len + (text[len] == '&');
    }
    return rc;
}

int ash__nats_address_parse(const char *uri, ash_nats_address *out, ash_error *err)
{
    *out = (ash_nats_address){0};
    if (!ash__nats_address_accepts(uri))
        return ash__fail(err, ASH_EINVAL, "no NATS address");
    const char *end = strstr(uri, "://") + 3;
    end += strcspn(end, "/?");
    /* A later server's scheme has slashes of its own. */
    while (end[0] == '/' && end[1] == '/' && end[-1] == ':')
        end = end + 2 + strcspn(end + 2, "/?");
    const char *options = strchr(end, '?');
    if (end[0] == '/' && end[1] != '\0' && end[1] != '?')
        return ash__fail(err, ASH_EINVAL, "a NATS address ends with its servers and options");
    int rc = take_servers(out, uri, end, err);
    if (rc == 0 && options != NULL)
        rc = take_options(out, options + 1, err);
    if (rc == 0 && (out->tls_cert == NULL) != (out->tls_key == NULL))
        rc = ash__fail(err, ASH_EINVAL, "tls_cert and tls_key of a NATS address go together");
    return rc;
}

void ash__nats_address_release(ash_nats_address *a)
{
    char *texts[] = {a->user,   a->password, a->token,   a->creds, a->nkey,
                     a->tls_ca, a->tls_cert, a->tls_key, a->domain};
    for (int i = 0; i < a->count; i++)
        ash__free(a->servers[i]);
    for (size_t i = 0; i < ASH_ARRAY_LEN(texts); i++)
        ash__free(texts[i]);
    *a = (ash_nats_address){0};
}
