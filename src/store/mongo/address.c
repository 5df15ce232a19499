/* SPDX-License-Identifier: Apache-2.0 */
/* What of an address the driver would take silently, misread or die of; and what its errors mean to
 * whoever wrote the address. */
#include "store/mongo/address.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Behind the scheme. */
static const char *authority_of(const char *text)
{
    const char *scheme = strstr(text, "://");
    return scheme != NULL ? scheme + 3 : text;
}

/* The '@' before the hosts, or NULL; a password that has '/' or '?' as they are moves it. */
static const char *find_at(const char *authority)
{
    size_t len = strcspn(authority, "?");
    for (size_t i = len; i > 0; i--) {
        if (authority[i - 1] == '@')
            return authority + i - 1;
    }
    return strchr(authority, '@');
}

/* The driver's own words may repeat what it could not read, which may be a password. */
static int fail_to_parse(const char *text, const bson_error_t *error, ash_error *err)
{
    const char *authority = authority_of(text), *at = find_at(authority);
    bson_error_t own = {0};
    /* Of a certificate's key. */
    bool has_other = strstr(text, "assword") != NULL || strstr(text, "ASSWORD") != NULL;
    /* Of mechanisms it says what they take, and nothing else of the address. */
    if ((at == NULL && !has_other) || strstr(error->message, "authentication mechanism") != NULL)
        return ash__fail(err, ASH_EINVAL, "store URI does not parse: %s", error->message);
    if (at == NULL)
        return ash__fail(err, ASH_EINVAL, "store URI does not parse");
    char *without = ash__sprintf("%.*s%s", (int)(authority - text), text, at + 1);
    mongoc_uri_t *uri = mongoc_uri_new_with_error(without, &own);
    ash__free(without);
    mongoc_uri_destroy(uri);
    if (uri == NULL && !has_other)
        return ash__fail(err, ASH_EINVAL, "store URI does not parse: %s", own.message);
    return ash__fail(err, ASH_EINVAL,
                     "store URI does not parse at user, password or options; in a password, all "
                     "but letters, digits and -._~ is written %%XX ('@' as %%40, '%%' as %%25)");
}

/* A name that nobody knows would be passed over, and a connection be less safe than was meant. */
static int check_option(const char *name, size_t len, ash_error *err)
{
    static const char *const known[] = {
        MONGOC_URI_TLS,
        MONGOC_URI_TLSCAFILE,
        MONGOC_URI_TLSCERTIFICATEKEYFILE,
        MONGOC_URI_TLSCERTIFICATEKEYFILEPASSWORD,
        MONGOC_URI_TLSALLOWINVALIDCERTIFICATES,
        MONGOC_URI_TLSALLOWINVALIDHOSTNAMES,
        MONGOC_URI_TLSINSECURE,
        MONGOC_URI_TLSDISABLECERTIFICATEREVOCATIONCHECK,
        MONGOC_URI_TLSDISABLEOCSPENDPOINTCHECK,
        MONGOC_URI_SSL,
        MONGOC_URI_AUTHSOURCE,
        MONGOC_URI_AUTHMECHANISM,
        MONGOC_URI_AUTHMECHANISMPROPERTIES,
    };
    if (strncasecmp(name, "tls", 3) != 0 && strncasecmp(name, "ssl", 3) != 0 &&
        strncasecmp(name, "auth", 4) != 0)
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) != len || strncasecmp(known[i], name, len) != 0)
            continue;
        bool is_empty = name[len] != '=' || strchr("&;", name[len + 1]) != NULL;
        return !is_empty ? 0
                         : ash__fail(err, ASH_EINVAL, "option %s of the store URI has no value",
                                     known[i]);
    }
    return ash__fail(err, ASH_EINVAL, "store URI has an option \"%.*s\", which there is not",
                     (int)len, name);
}

/* Of an address that parses: a password may have a '?' as it is. */
static int check_options(const char *text, ash_error *err)
{
    const char *authority = authority_of(text);
    const char *at = memchr(authority, '@', strcspn(authority, "/"));
    const char *query = strchr(at != NULL ? at : authority, '?');
    int rc = 0;
    for (const char *next = query; rc == 0 && next != NULL; next = strpbrk(next, "&;")) {
        next++;
        rc = check_option(next, strcspn(next, "=&;"), err);
    }
    return rc;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names != NULL && strcasecmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* The driver says that there is no such mechanism when it has found a server, and how names of hosts
 * are to be read never. */
static int check_mechanism(const mongoc_uri_t *uri, ash_error *err)
{
    static const char *const mechanisms[] = {
        "SCRAM-SHA-1", "SCRAM-SHA-256", "MONGODB-X509", "PLAIN", "GSSAPI", "MONGODB-AWS", NULL,
    };
    static const char *const canonical[] = {
        "none", "forward", "forwardAndReverse", "true", "false", NULL,
    };
    const char *mechanism = mongoc_uri_get_auth_mechanism(uri);
    if (mechanism != NULL && !is_one_of(mechanism, mechanisms))
        return ash__fail(
            err, ASH_EINVAL,
            "store URI has an authMechanism which there is not; there are SCRAM-SHA-1, "
            "SCRAM-SHA-256, MONGODB-X509, PLAIN, GSSAPI and MONGODB-AWS");
    bson_t properties;
    bson_iter_t it;
    if (!mongoc_uri_get_mechanism_properties(uri, &properties) ||
        !bson_iter_init_find_case(&it, &properties, "CANONICALIZE_HOST_NAME"))
        return 0;
    if (BSON_ITER_HOLDS_UTF8(&it) && !is_one_of(bson_iter_utf8(&it, NULL), canonical))
        return ash__fail(err, ASH_EINVAL,
                         "CANONICALIZE_HOST_NAME of the store URI is none of none, forward and "
                         "forwardAndReverse");
    return 0;
}

/* The driver takes what is before the first '@' for the password and shows the rest as a host. */
static int check_user(const char *text, const mongoc_uri_t *uri, ash_error *err)
{
    const char *mechanism = mongoc_uri_get_auth_mechanism(uri);
    const char *user = mongoc_uri_get_username(uri), *authority = authority_of(text);
    const char *first = memchr(authority, '@', strcspn(authority, "/?"));
    if (first != NULL && memchr(first + 1, '@', strcspn(first + 1, "/?")) != NULL)
        return ash__fail(err, ASH_EINVAL,
                         "store URI has two '@' before its end; one in a password is written %%40");
    bool has_password = mongoc_uri_get_password(uri) != NULL;
    bool needs_one = mechanism == NULL || strncasecmp(mechanism, "SCRAM", 5) == 0 ||
                     strcasecmp(mechanism, "PLAIN") == 0 ||
                     strcasecmp(mechanism, "MONGODB-AWS") == 0;
    /* The driver would die of it. */
    if (user != NULL && user[0] != '\0' && !has_password && needs_one)
        return ash__fail(err, ASH_EACCES, "store URI has the user \"%s\" and no password", user);
    if (mechanism != NULL && strcasecmp(mechanism, "PLAIN") == 0 && !mongoc_uri_get_tls(uri))
        return ash__fail(err, ASH_EINVAL,
                         "PLAIN shows the password to whoever listens: it needs tls=true");
    return 0;
}

/* The driver says no more than that TLS cannot be.  Not found is what a store is, not its options. */
static int check_files(const mongoc_uri_t *uri, ash_error *err)
{
    static const struct {
        const char *option, *shown;
    } rows[] = {{MONGOC_URI_TLSCAFILE, "tlsCAFile"},
                {MONGOC_URI_TLSCERTIFICATEKEYFILE, "tlsCertificateKeyFile"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *path = mongoc_uri_get_option_as_utf8(uri, rows[i].option, NULL);
        ash_error own = ASH_ERROR_INIT;
        if (path == NULL || access(path, R_OK) == 0)
            continue;
        ash__fail_errno(&own, errno, "%s: cannot read %s", rows[i].shown, path);
        return ash__fail(err, ASH_EINVAL, "%s", own.text);
    }
    return 0;
}

int ash__mongo_address(const char *text, mongoc_uri_t **out, ash_error *err)
{
    bson_error_t error = {0};
    *out = mongoc_uri_new_with_error(text, &error);
    int rc = *out != NULL ? check_user(text, *out, err) : fail_to_parse(text, &error, err);
    if (rc == 0)
        rc = check_mechanism(*out, err);
    if (rc == 0)
        rc = check_options(text, err);
    if (rc == 0)
        rc = check_files(*out, err);
    if (rc != 0) {
        mongoc_uri_destroy(*out);
        *out = NULL;
    }
    return rc;
}

static const char *advice(const mongoc_uri_t *uri, const char *said)
{
    if (strstr(said, "certificate verify failed") != NULL)
        return " (tlsCAFile=FILE names whose certificates are trusted)";
    if (strstr(said, "Failed initialize TLS state") != NULL)
        return " (what tlsCAFile or tlsCertificateKeyFile name are no PEM files that fit, or the "
               "key's password is wrong)";
    if (strstr(said, "TLS handshake failed") != NULL)
        return " (the server may not speak TLS, or want a certificate: tlsCertificateKeyFile=FILE)";
    /* Somebody listened, and did not understand the question. */
    if (!mongoc_uri_get_tls(uri) &&
        (strstr(said, "Failed to read") != NULL || strstr(said, "socket error or timeout") != NULL))
        return " (a server that wants TLS answers nothing else: tls=true)";
    return "";
}

static void advise_who_is_refused(const mongoc_uri_t *uri, ash_error *err)
{
    ash_error was = *err;
    const char *user = mongoc_uri_get_username(uri);
    const char *mechanism = mongoc_uri_get_auth_mechanism(uri);
    if (mechanism != NULL && strcmp(mechanism, "MONGODB-X509") == 0)
        ash__fail_server(err, was.code, was.server_code,
                         "the server knows no user by this certificate (tlsCertificateKeyFile=FILE "
                         "names one): %s",
                         was.text);
    else if (user != NULL)
        ash__fail_server(err, was.code, was.server_code,
                         "the server does not know user \"%s\" with this password in "
                         "database %s (authSource names another): %s",
                         user, mongoc_uri_get_auth_source(uri), was.text);
}

void ash__mongo_advise(const mongoc_uri_t *uri, ash_error *err)
{
    if (err == NULL)
        return;
    ash_error was = *err;
    if (was.code == ASH_EACCES && strstr(was.text, "uthentication failed") != NULL)
        advise_who_is_refused(uri, err);
    if (was.code == ASH_ENETWORK)
        ash__fail(err, was.code, "%s%s", was.text, advice(uri, was.text));
}
