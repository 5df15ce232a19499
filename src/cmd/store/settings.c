/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the settings file, and what values they take. */
#include "cmd/store/settings.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/amount.h"
#include "cmd/store/settings_key.h"
#include "net/listen.h"

#include <stdio.h>
#include <string.h>

#define SET_NAME_CHARS                                                                             \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                               \
    "-_."

static const ash_setting_key keys[ASH_SETTINGS] = {
    [ASH_SET_MONGO] = {"", "mongo", ASH_KEY_ADDRESSES, .max = ASH_FACE_ADDRESSES},
    [ASH_SET_NATS] = {"", "nats", ASH_KEY_ADDRESSES, .max = ASH_FACE_ADDRESSES},
    [ASH_SET_HTTP] = {"", "http", ASH_KEY_ADDRESSES, .max = ASH_FACE_ADDRESSES},
    [ASH_SET_HTTP_ROOT] = {"", "http-root", ASH_KEY_TEXT},
    [ASH_SET_HTTP_HOST] = {"", "http-host", ASH_KEY_NAMES, .max = ASH_SETTINGS_MAX_HOSTS},
    [ASH_SET_HTTP_LOG] = {"", "http-log", ASH_KEY_TEXT},
    [ASH_SET_HTTP_LOG_FORMAT] = {"", "http-log-format", ASH_KEY_CHOICE,
                                 .choices = "combined or json"},
    [ASH_SET_DURABILITY] = {"", "durability", ASH_KEY_CHOICE, .choices = "file, every or interval"},
    [ASH_SET_ADVERTISE] = {"", "advertise", ASH_KEY_TEXT},
    [ASH_SET_STANDALONE] = {"", "standalone", ASH_KEY_FLAG},
    [ASH_SET_REPLICA_SET] = {"", "replica-set", ASH_KEY_SET_NAME},
    [ASH_SET_NO_SOCKET] = {"", "no-socket", ASH_KEY_FLAG},
    [ASH_SET_MAX_CONNECTIONS] = {"", "max-connections", ASH_KEY_NUMBER, 1, 1000000, .live = true},
    [ASH_SET_TEST_COMMANDS] = {"", "test-commands", ASH_KEY_FLAG},
    [ASH_SET_AUTH] = {"", "auth", ASH_KEY_FLAG},
    [ASH_SET_TLS_CERTIFICATE] = {"", "tls-certificate", ASH_KEY_TEXT},
    [ASH_SET_TLS_KEY] = {"", "tls-key", ASH_KEY_TEXT},
    [ASH_SET_TLS_CA] = {"", "tls-ca", ASH_KEY_TEXT},
    [ASH_SET_TLS_CLIENTS] = {"", "tls-clients", ASH_KEY_CHOICE, .choices = "none, ask or require"},
    [ASH_SET_TLS_SELF_SIGNED] = {"", "tls-self-signed", ASH_KEY_FLAG},
    [ASH_SET_INSECURE_ANYWHERE] = {"", "insecure-anywhere", ASH_KEY_FLAG},
    [ASH_SET_AUDIT] = {"", "audit", ASH_KEY_TEXT},
    [ASH_SET_AUDIT_FILTER] = {"", "audit-filter", ASH_KEY_KINDS, .max = ASH_SETTINGS_MAX_KINDS,
                              .choices = "authentication, users, structure, writes or reads"},
    [ASH_SET_AUDIT_SIZE] = {"", "audit-size", ASH_KEY_NUMBER, 1, 1000000},
    [ASH_SET_AUDIT_KEEP] = {"", "audit-keep", ASH_KEY_NUMBER, 1, 1000},
    [ASH_SET_EXPIRE_EVERY] = {"", "expire-every", ASH_KEY_SECONDS, 1, 86400, .live = true},
    [ASH_SET_SUM_EVERY] = {"", "sum-every", ASH_KEY_SECONDS, 1, 86400, .live = true},
    [ASH_SET_NO_BACKGROUND] = {"", "no-background", ASH_KEY_FLAG},
    [ASH_SET_STOP_TIMEOUT] = {"", "stop-timeout", ASH_KEY_SECONDS, 1, 86400},
    [ASH_SET_LOG_LEVEL] = {"", "log-level", ASH_KEY_CHOICE,
                           .choices = "error, warning, info or debug", .live = true},
    [ASH_SET_STORE] = {"", "store", ASH_KEY_TEXT},
    [ASH_SET_ENDPOINTS] = {"webdav", "endpoints", ASH_KEY_ENDPOINTS},
};

const ash_setting_key *ash__setting_key(ash_setting key)
{
    return &keys[key];
}

const char *ash__setting_name(ash_setting key)
{
    return keys[key].name;
}

bool ash__setting_is_live(ash_setting key)
{
    return keys[key].live;
}

bool ash__setting_is_list(ash_setting key)
{
    return keys[key].kind == ASH_KEY_ADDRESSES || keys[key].kind == ASH_KEY_NAMES ||
           keys[key].kind == ASH_KEY_KINDS || keys[key].kind == ASH_KEY_ENDPOINTS;
}

const char *ash__hosted_address(const char *address, char hosted[ASH_HOSTED_BYTES])
{
    const char *port = address[0] == ':' ? address + 1 : address;
    size_t len = strlen(port);
    if (len == 0 || len > 5 || strspn(port, "0123456789") != len)
        return address;
    snprintf(hosted, ASH_HOSTED_BYTES, "127.0.0.1:%s", port);
    return hosted;
}

static bool refuse(char *why, const char *takes, const char *value)
{
    snprintf(why, ASH_SETTING_WHY_BYTES, "takes %s, not \"%.80s\"", takes, value);
    return false;
}

/* One of "this, that or another". */
static bool check_choice(const ash_setting_key *k, const char *value, char *why)
{
    size_t len = strlen(value), step;
    for (const char *at = k->choices; *at != '\0'; at += step + strspn(at + step, ", ")) {
        step = strcspn(at, ", ");
        if (step == len && len > 0 && strncmp(at, value, len) == 0 && strcmp(value, "or") != 0)
            return true;
    }
    return refuse(why, k->choices, value);
}

static bool check_address(const char *value, char *why)
{
    /* Who may listen where is asked when all is known that it hangs on. */
    const ash_listen_rule rule = {1, NULL};
    char hosted[ASH_HOSTED_BYTES];
    ash_error err = ASH_ERROR_INIT;
    if (ash__listen_check(&rule, ash__hosted_address(value, hosted), &err) == 0)
        return true;
    snprintf(
        why, ASH_SETTING_WHY_BYTES,
        "takes addresses such as 127.0.0.1:27017, [::1]:27017, localhost:27017 or fd:3: %.200s",
        err.text);
    return false;
}

static bool check_amount(const ash_setting_key *k, const char *value, char *why)
{
    char takes[100];
    int64_t amount;
    if (k->kind == ASH_KEY_NUMBER) {
        snprintf(takes, sizeof takes, "a whole number from %d to %d", k->min, k->max);
        return ash__amount_number(value, k->min, k->max, &amount) || refuse(why, takes, value);
    }
    snprintf(takes, sizeof takes, "whole seconds from %d to %d, such as 90, 15m or 12h", k->min,
             k->max);
    return ash__amount_seconds(value, k->min, k->max, &amount) || refuse(why, takes, value);
}

bool ash__setting_check(ash_setting key, const char *value, char why[ASH_SETTING_WHY_BYTES])
{
    const ash_setting_key *k = &keys[key];
    size_t len = strlen(value);
    switch (k->kind) {
    case ASH_KEY_FLAG:
        return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0 ||
               refuse(why, "yes or no", value);
    case ASH_KEY_CHOICE:
    case ASH_KEY_KINDS:
        return check_choice(k, value, why);
    case ASH_KEY_NUMBER:
    case ASH_KEY_SECONDS:
        return check_amount(k, value, why);
    case ASH_KEY_ADDRESSES:
        return check_address(value, why);
    case ASH_KEY_SET_NAME:
        return (len > 0 && len <= 64 && strspn(value, SET_NAME_CHARS) == len) ||
               refuse(why, "1 to 64 letters, digits, \"-\", \"_\" and \".\"", value);
    case ASH_KEY_NAMES:
        return (len > 0 && strpbrk(value, ", ") == NULL) ||
               refuse(why, "names, separated by commas", value);
    case ASH_KEY_TEXT:
    case ASH_KEY_ENDPOINTS:
        break;
    }
    return len > 0 || refuse(why, "a text that is not empty", value);
}

long long ash__setting_amount(ash_setting key, const char *value)
{
    const ash_setting_key *k = &keys[key];
    int64_t amount = 0;
    if (k->kind == ASH_KEY_NUMBER)
        (void)ash__amount_number(value, k->min, k->max, &amount);
    else
        (void)ash__amount_seconds(value, k->min, k->max, &amount);
    return amount;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool ash__setting_is_same(ash_setting key, const ash_settings *a, const ash_settings *b)
{
    if (key != ASH_SET_ENDPOINTS)
        return is_same_text(a->values[key], b->values[key]);
    bool same = a->endpoint_count == b->endpoint_count;
    for (size_t i = 0; i < a->endpoint_count && same; i++)
        same = is_same_text(a->endpoints[i].prefix, b->endpoints[i].prefix) &&
               is_same_text(a->endpoints[i].root, b->endpoints[i].root);
    return same;
}
