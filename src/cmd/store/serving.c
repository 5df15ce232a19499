/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/store/serving.h"

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/store/notify.h"

#include <stdlib.h>
#include <string.h>

static size_t kept_errors(const ash_settings *s)
{
    return s->error_count < ASH_SETTINGS_MAX_ERRORS ? s->error_count : ASH_SETTINGS_MAX_ERRORS;
}

/* "FILE:LINE: what is wrong"; the caller frees. */
static char *error_text(const char *path, const struct ash_settings_error *e)
{
    return e->line > 0 ? ash__sprintf("%s:%d: %s", path, e->line, e->text)
                       : ash__sprintf("%s: %s", path, e->text);
}

void ash__choices_print_errors(const ash_choices *c)
{
    const ash_settings *s = &c->file;
    for (size_t i = 0; i < kept_errors(s); i++) {
        char *text = error_text(c->path, &s->errors[i]);
        ash__cmd_usage(c->cmd, "%s", text);
        ash__free(text);
    }
    if (s->error_count > kept_errors(s))
        ash__cmd_usage(c->cmd, "%s: and %zu more", c->path, s->error_count - kept_errors(s));
}

void ash__choices_complain(ash_choices *c, char *text)
{
    size_t at = c->file.error_count++;
    if (at < ASH_SETTINGS_MAX_ERRORS)
        c->file.errors[at] = (struct ash_settings_error){.line = 0, .text = text};
    else
        ash__free(text);
}

/* ---- for --check-config ---- */

static void emit_report(const ash_choices *c, bool good)
{
    bson_t object = BSON_INITIALIZER, errors, e;
    BSON_APPEND_UTF8(&object, "file", c->path);
    BSON_APPEND_BOOL(&object, "good", good);
    BSON_APPEND_INT64(&object, "errorCount", (int64_t)c->file.error_count);
    BSON_APPEND_ARRAY_BEGIN(&object, "errors", &errors);
    for (size_t i = 0; i < kept_errors(&c->file); i++) {
        char key[24];
        snprintf(key, sizeof key, "%zu", i);
        BSON_APPEND_DOCUMENT_BEGIN(&errors, key, &e);
        if (c->file.errors[i].line > 0)
            BSON_APPEND_INT32(&e, "line", c->file.errors[i].line);
        char *message = ash__cmd_uri_shown(c->file.errors[i].text);
        BSON_APPEND_UTF8(&e, "message", message);
        ash__free(message);
        bson_append_document_end(&errors, &e);
    }
    bson_append_array_end(&object, &errors);
    ash__cmd_emit(&object);
    bson_destroy(&object);
}

int ash__choices_report(const ash_choices *c, int status)
{
    bool good = status == 0 && c->file.error_count == 0;
    if (c->cmd->json) {
        emit_report(c, good);
        return status;
    }
    for (size_t i = 0; i < kept_errors(&c->file); i++) {
        char *text = error_text(c->path, &c->file.errors[i]);
        char *known = ash__cmd_uri_shown(text), *shown = ash__cmd_printable(known);
        ash__free(known);
        printf("%s\n", shown);
        ash__free(shown);
        ash__free(text);
    }
    if (c->file.error_count > kept_errors(&c->file))
        printf("%s: and %zu more\n", c->path, c->file.error_count - kept_errors(&c->file));
    if (good) {
        char *shown = ash__cmd_printable(c->path);
        printf("%s: good\n", shown);
        ash__free(shown);
    }
    return status;
}

/* ---- the command line ---- */

/* Addresses are looked at when they are tried, and lists part by part where they are used. */
static bool is_checked_later(ash_setting key)
{
    return key == ASH_SET_MONGO || key == ASH_SET_NATS || key == ASH_SET_HTTP;
}

static int check_list(const ash_cmd *cmd, ash_setting key, const char *list)
{
    char why[ASH_SETTING_WHY_BYTES], *rest = NULL, *copy = ash__strdup(list);
    int count = 0, rc = 0;
    for (char *part = strtok_r(copy, ",", &rest); part != NULL && rc == 0;
         part = strtok_r(NULL, ",", &rest), count++)
        if (!ash__setting_check(key, part, why))
            rc = ash__cmd_usage(cmd, "--%s %s", ash__setting_name(key), why);
    if (rc == 0 && (count == 0 || count > ASH_SETTINGS_MAX_HOSTS))
        rc = ash__cmd_usage(cmd, "--%s takes 1 to %d names", ash__setting_name(key),
                            ASH_SETTINGS_MAX_HOSTS);
    ash__free(copy);
    return rc;
}

static int check_options(const ash_cmd *cmd, const ash_cmd_args *args)
{
    char why[ASH_SETTING_WHY_BYTES];
    int rc = 0;
    for (int i = 0; i < ASH_SET_STORE && rc == 0; i++) {
        const char *value = args->values[i];
        ash_setting key = (ash_setting)i;
        if (value == NULL || is_checked_later(key))
            continue;
        if (key == ASH_SET_HTTP_HOST || key == ASH_SET_AUDIT_FILTER)
            rc = check_list(cmd, key, value);
        /* A flag's value is empty. */
        else if (cmd->verb->options[i].argument != NULL && !ash__setting_check(key, value, why))
            rc = ash__cmd_usage(cmd, "--%s %s", ash__setting_name(key), why);
    }
    return rc;
}

/* ---- together ---- */

/* The settings that the server runs with. */
static const ash_settings *running_of(const ash_choices *c, ash_setting key)
{
    return c->is_again && ash__setting_is_live(key) ? &c->again : &c->file;
}

const char *ash__choice(const ash_choices *c, ash_setting key)
{
    if (key < ASH_SET_STORE && c->args->values[key] != NULL)
        return c->args->values[key];
    if ((size_t)key < ASH_FACES && c->given[key] != NULL)
        return c->given[key];
    return running_of(c, key)->values[key];
}

int64_t ash__choice_amount(const ash_choices *c, ash_setting key)
{
    const char *value = ash__choice(c, key);
    return value != NULL ? ash__setting_amount(key, value) : 0;
}

ash_log_level ash__choice_log_level(const ash_choices *c)
{
    /* In the order of ash_log_level. */
    static const char *const names[] = {"error", "warning", "info", "debug"};
    const char *value = ash__choice(c, ASH_SET_LOG_LEVEL);
    if (c->args->values[ASH_SET_LOG_LEVEL] == NULL && c->cmd->quiet)
        return ASH_LOG_WARN;
    if (c->args->values[ASH_SET_LOG_LEVEL] == NULL && c->cmd->verbose > 0)
        return ASH_LOG_DEBUG;
    for (size_t i = 0; value != NULL && i < ASH_ARRAY_LEN(names); i++)
        if (strcmp(names[i], value) == 0)
            return (ash_log_level)i;
    return ASH_LOG_INFO;
}

int ash__choices_make(const ash_cmd *cmd, const ash_cmd_args *args, const char *path,
                      ash_choices *out)
{
    *out = (ash_choices){.cmd = cmd, .args = args, .path = path};
    for (int i = 0; i < ASH_FACES; i++)
        out->given[i] = ash__given_sockets(ash__setting_name((ash_setting)i));
    int rc = check_options(cmd, args);
    if (rc != 0 || path == NULL)
        return rc;
    ash__settings_load(path, &out->file);
    return out->file.error_count == 0 ? 0 : ASH_EXIT_USAGE;
}

void ash__choices_release(ash_choices *c)
{
    ash__settings_release(&c->file);
    ash__settings_release(&c->again);
    for (int i = 0; i < ASH_FACES; i++)
        ash__free(c->given[i]);
}

int ash__serving_make(const ash_choices *c, ash_serving *out)
{
    const char *form = ash__choice(c, ASH_SET_HTTP_LOG_FORMAT);
    *out = (ash_serving){.cmd = c->cmd,
                         .http_root = ash__choice(c, ASH_SET_HTTP_ROOT),
                         .endpoints = c->file.endpoints,
                         .endpoint_count = c->file.endpoint_count,
                         .http_hosts = ash__choice(c, ASH_SET_HTTP_HOST),
                         .http_log = ash__choice(c, ASH_SET_HTTP_LOG),
                         .http_log_json = form != NULL && strcmp(form, "json") == 0,
                         .advertise = ash__choice(c, ASH_SET_ADVERTISE),
                         .set_name = ash__choice(c, ASH_SET_REPLICA_SET),
                         .standalone = ash__choice(c, ASH_SET_STANDALONE) != NULL,
                         .test_commands = ash__choice(c, ASH_SET_TEST_COMMANDS) != NULL,
                         .auth = ash__choice(c, ASH_SET_AUTH) != NULL,
                         .uses_tls = ash__choice(c, ASH_SET_TLS_CERTIFICATE) != NULL ||
                                     ash__choice(c, ASH_SET_TLS_SELF_SIGNED) != NULL,
                         .insecure_anywhere = ash__choice(c, ASH_SET_INSECURE_ANYWHERE) != NULL,
                         .audit_path = ash__choice(c, ASH_SET_AUDIT),
                         .audit_filter = ash__choice(c, ASH_SET_AUDIT_FILTER)};
    for (int i = 0; i < ASH_FACES; i++)
        out->listen[i] = ash__choice(c, (ash_setting)i);
    out->max_connections = (int32_t)ash__choice_amount(c, ASH_SET_MAX_CONNECTIONS);
    out->audit_bytes = ash__choice_amount(c, ASH_SET_AUDIT_SIZE) * 1024 * 1024;
    out->audit_keep = (int32_t)ash__choice_amount(c, ASH_SET_AUDIT_KEEP);
    out->stop_timeout_ms = ash__choice_amount(c, ASH_SET_STOP_TIMEOUT) * 1000;
    if (out->standalone && out->set_name != NULL)
        return ash__cmd_usage(c->cmd, "a --standalone server has no --replica-set");
    if (out->audit_path == NULL &&
        (out->audit_filter != NULL || out->audit_bytes > 0 || out->audit_keep > 0))
        return ash__cmd_usage(c->cmd, "what is said of the audit log needs an --audit FILE");
    return 0;
}

/* ---- again ---- */

static void log_errors(const char *path, const ash_settings *s)
{
    for (size_t i = 0; i < kept_errors(s); i++) {
        char *text = error_text(path, &s->errors[i]);
        ash__log(ASH_LOG_ERROR, "%s", text);
        ash__free(text);
    }
    ash__log(ASH_LOG_ERROR, "%s has %zu mistake%s: the settings stay as they were", path,
             s->error_count, ash__cmd_s((int64_t)s->error_count));
}

static void log_change(const ash_choices *c, ash_setting key, const ash_settings *now)
{
    const char *name = ash__setting_name(key), *value = now->values[key];
    if (key < ASH_SET_STORE && c->args->values[key] != NULL)
        ash__log(ASH_LOG_INFO, "%s has changed in %s, but the command line has --%s", name, c->path,
                 name);
    else if (!ash__setting_is_live(key))
        ash__log(ASH_LOG_WARN, "%s has changed in %s, which takes a restart", name, c->path);
    else if (value != NULL)
        ash__log(ASH_LOG_INFO, "%s is %s from now on", name, value);
    else
        ash__log(ASH_LOG_INFO, "%s is as by default from now on", name);
}

bool ash__choices_again(ash_choices *c)
{
    ash_settings now = {0};
    ash__settings_load(c->path, &now);
    if (now.error_count > 0) {
        log_errors(c->path, &now);
        ash__settings_release(&now);
        return false;
    }
    for (int i = 0; i < ASH_SETTINGS; i++) {
        ash_setting key = (ash_setting)i;
        /* What takes a restart is told as long as the server runs with something else. */
        if (!ash__setting_is_same(key, running_of(c, key), &now))
            log_change(c, key, &now);
    }
    ash__settings_release(&c->again);
    c->again = now;
    c->is_again = true;
    return true;
}
