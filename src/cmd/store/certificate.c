/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/store/certificate.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DAY_S = 24 * 60 * 60, SOON_DAYS = 14 };

bool ash__certificate_is_wanted(const ash_choices *c)
{
    return ash__choice(c, ASH_SET_TLS_CERTIFICATE) != NULL ||
           ash__choice(c, ASH_SET_TLS_SELF_SIGNED) != NULL;
}

static ash_tls_clients clients_of(const ash_choices *c)
{
    const char *value = ash__choice(c, ASH_SET_TLS_CLIENTS);
    if (value == NULL)
        return ash__choice(c, ASH_SET_TLS_CA) != NULL ? ASH_TLS_CLIENTS_ASK : ASH_TLS_CLIENTS_NONE;
    return strcmp(value, "require") == 0 ? ASH_TLS_CLIENTS_REQUIRE
           : strcmp(value, "ask") == 0   ? ASH_TLS_CLIENTS_ASK
                                         : ASH_TLS_CLIENTS_NONE;
}

int ash__certificate_check(const ash_choices *c)
{
    static const ash_setting rest[] = {ASH_SET_TLS_KEY, ASH_SET_TLS_CA, ASH_SET_TLS_CLIENTS};
    bool given = ash__choice(c, ASH_SET_TLS_CERTIFICATE) != NULL;
    if (given && ash__choice(c, ASH_SET_TLS_SELF_SIGNED) != NULL)
        return ash__cmd_usage(c->cmd, "--tls-self-signed makes a certificate, and "
                                      "--tls-certificate has one: take one of them");
    for (size_t i = 0; i < ASH_ARRAY_LEN(rest); i++)
        if (ash__choice(c, rest[i]) != NULL && !ash__certificate_is_wanted(c))
            return ash__cmd_usage(c->cmd, "--%s needs a --tls-certificate",
                                  ash__setting_name(rest[i]));
    if (!given && ash__choice(c, ASH_SET_TLS_KEY) != NULL)
        return ash__cmd_usage(c->cmd, "--tls-self-signed has a key of its own");
    if (clients_of(c) != ASH_TLS_CLIENTS_NONE && ash__choice(c, ASH_SET_TLS_CA) == NULL)
        return ash__cmd_usage(c->cmd, "--tls-clients %s needs a --tls-ca",
                              ash__choice(c, ASH_SET_TLS_CLIENTS));
    return 0;
}

/* ---- opening ---- */

/* Names that browsers know the server by are names that the certificate is for. */
static void list_hosts(ash_certificate *k, const ash_choices *c)
{
    const char *list = ash__choice(c, ASH_SET_HTTP_HOST);
    char *rest = NULL;
    k->host_list = ash__strdup(list != NULL ? list : "");
    for (char *name = strtok_r(k->host_list, ",", &rest);
         name != NULL && k->host_count < ASH_SETTINGS_MAX_HOSTS; name = strtok_r(NULL, ",", &rest))
        k->hosts[k->host_count++] = name;
}

static void warn_of_end(const ash_certificate *k)
{
    int64_t left_s = ash__tls_ends_s(k->tls) - (int64_t)time(NULL);
    if (left_s > 0 && left_s < SOON_DAYS * DAY_S)
        ash__log(ASH_LOG_WARN, "the certificate ends in %lld days", (long long)(left_s / DAY_S));
}

int ash__certificate_open(ash_certificate *k, const ash_choices *c, const char *folder,
                          ash_error *err)
{
    ash_tls_options o = {.certificate = ash__choice(c, ASH_SET_TLS_CERTIFICATE),
                         .key = ash__choice(c, ASH_SET_TLS_KEY),
                         .ca = ash__choice(c, ASH_SET_TLS_CA),
                         .clients = clients_of(c)};
    int rc = 0;
    if (k->tls != NULL || (o.certificate == NULL && folder == NULL) ||
        !ash__certificate_is_wanted(c))
        return 0;
    if (o.certificate == NULL) {
        list_hosts(k, c);
        k->made = ash__path_join(folder, ASH_SELF_SIGNED_FILE);
        o.certificate = k->made;
        rc = ash__tls_make_self_signed(k->made, k->hosts, k->host_count, err);
    }
    if (rc == 0)
        rc = ash__tls_new(&o, &k->tls, err);
    if (rc == 0)
        warn_of_end(k);
    return rc;
}

void ash__certificate_reload(ash_certificate *k)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = 0;
    if (k->tls == NULL)
        return;
    if (k->made != NULL)
        rc = ash__tls_make_self_signed(k->made, k->hosts, k->host_count, &err);
    if (rc == 0)
        rc = ash__tls_reload(k->tls, &err);
    if (rc != 0) {
        ash__log(ASH_LOG_ERROR, "%s: the certificate of before goes on", err.text);
        return;
    }
    ash__log(ASH_LOG_INFO, "the certificate is read again");
    warn_of_end(k);
}

void ash__certificate_announce(const ash_certificate *k, const ash_cmd *cmd)
{
    char fingerprint[ASH_TLS_FINGERPRINT_BYTES];
    if (k->tls == NULL || k->made == NULL || cmd->quiet)
        return;
    ash__tls_fingerprint(k->tls, fingerprint);
    ash__log(ASH_LOG_INFO,
             "the certificate is self-signed: clients have to be given %s, or to "
             "compare its SHA-256 fingerprint, %s",
             k->made, fingerprint);
}

void ash__certificate_release(ash_certificate *k)
{
    ash__tls_free(k->tls);
    ash__free(k->made);
    ash__free(k->host_list);
    *k = (ash_certificate){0};
}
