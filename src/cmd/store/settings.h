/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_SETTINGS_H
#define ASH_CMD_STORE_SETTINGS_H

/* The file of `ashlar serve --config`: lines of
 *
 *     # a remark
 *     key = value
 *     list = one, another
 *     text = "with blanks"
 *     [section]
 *
 * in UTF-8.  The keys before the first section are the long options of `serve`, with the same
 * meaning; flags take yes or no.  To add a key: a row in settings.c, and in serve.c's options if it
 * is one of these. */

#include <stdbool.h>
#include <stddef.h>

enum {
    ASH_SETTINGS_MAX_BYTES = 1024 * 1024,
    ASH_SETTINGS_MAX_LINE = 4096,
    ASH_SETTINGS_MAX_ERRORS = 100, /* that are told; the rest is counted */
    ASH_SETTINGS_MAX_ENDPOINTS = 64,
    ASH_SETTINGS_MAX_HOSTS = 32,
    ASH_SETTINGS_MAX_KINDS = 5,
    ASH_FACE_ADDRESSES = 16,
    ASH_HOSTED_BYTES = 32,
    ASH_SETTING_WHY_BYTES = 400
};

/* Options of `serve` first, in the order of its table, which begins with the faces' addresses. */
typedef enum ash_setting {
    ASH_SET_MONGO,
    ASH_SET_NATS,
    ASH_SET_HTTP,
    ASH_SET_HTTP_ROOT,
    ASH_SET_HTTP_HOST,
    ASH_SET_HTTP_LOG,
    ASH_SET_HTTP_LOG_FORMAT,
    ASH_SET_DURABILITY,
    ASH_SET_ADVERTISE,
    ASH_SET_STANDALONE,
    ASH_SET_REPLICA_SET,
    ASH_SET_NO_SOCKET,
    ASH_SET_MAX_CONNECTIONS,
    ASH_SET_TEST_COMMANDS,
    ASH_SET_AUTH,
    ASH_SET_TLS_CERTIFICATE,
    ASH_SET_TLS_KEY,
    ASH_SET_TLS_CA,
    ASH_SET_TLS_CLIENTS,
    ASH_SET_TLS_SELF_SIGNED,
    ASH_SET_INSECURE_ANYWHERE,
    ASH_SET_AUDIT,
    ASH_SET_AUDIT_FILTER,
    ASH_SET_AUDIT_SIZE,
    ASH_SET_AUDIT_KEEP,
    ASH_SET_EXPIRE_EVERY,
    ASH_SET_SUM_EVERY,
    ASH_SET_NO_BACKGROUND,
    ASH_SET_STOP_TIMEOUT,
    ASH_SET_LOG_LEVEL,
    ASH_SET_STORE, /* no option of the verb's own from here on */
    ASH_SET_ENDPOINTS,
    ASH_SETTINGS
} ash_setting;

/* A tree, and where it is shown. */
typedef struct ash_endpoint {
    char *prefix; /* "" or "/docs" */
    char *root;
} ash_endpoint;

typedef struct ash_settings {
    /* As the option would have them, lists with commas in between; a flag that is not set, and what
     * is not in the file: NULL. */
    char *values[ASH_SETTINGS];
    int lines[ASH_SETTINGS]; /* where it stands, the last of several; 0: nowhere */
    ash_endpoint endpoints[ASH_SETTINGS_MAX_ENDPOINTS];
    size_t endpoint_count;
    struct ash_settings_error {
        int line; /* 0: of no line */
        char *text;
    } errors[ASH_SETTINGS_MAX_ERRORS];
    size_t error_count; /* may be more than are kept */
} ash_settings;

/* Zero-initialise; release also after errors.  All that is wrong is in out->errors; a file that
 * cannot be read is one error. */
void ash__settings_parse(const char *text, size_t len_bytes, ash_settings *out);
void ash__settings_load(const char *path, ash_settings *out);
void ash__settings_release(ash_settings *s);

const char *ash__setting_name(ash_setting key);
/* Does reading the file again change it in a server that runs? */
bool ash__setting_is_live(ash_setting key);
/* false, and why in why ("takes yes or no, not …", to stand behind the key's name): the option, or
 * one word of a list, cannot have this value. */
bool ash__setting_check(ash_setting key, const char *value, char why[ASH_SETTING_WHY_BYTES]);
/* Of a value that was checked. */
long long ash__setting_amount(ash_setting key, const char *value);
/* Do two files say the same of it? */
bool ash__setting_is_same(ash_setting key, const ash_settings *a, const ash_settings *b);

/* ":27102" and "27102" are ports of this machine: the address itself, or hosted. */
const char *ash__hosted_address(const char *address, char hosted[ASH_HOSTED_BYTES]);

#endif
