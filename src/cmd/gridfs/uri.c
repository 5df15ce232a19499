/* SPDX-License-Identifier: Apache-2.0 */
/* mongofiles' options for the deployment, as one connection string: what they say goes through
 * libmongoc like any other. */
#include "cmd/gridfs/gridfs.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/reach.h"

#include <string.h>
#include <strings.h>

static void append_option(ash_buffer *out, char *separator, const char *name, const char *value)
{
    if (value == NULL)
        return;
    ash__buffer_printf(out, "%c%s=", *separator, name);
    ash__reach_escape(out, value);
    *separator = '&';
}

/* --host is [SET/]HOST[:PORT][,HOST…]; --port belongs to each host that names none. */
static void append_hosts(ash_buffer *out, const char *hosts, const char *port)
{
    while (*hosts != 0) {
        size_t len = strcspn(hosts, ",");
        /* The colons of an IPv6 address are no port's. */
        const char *bracket = memchr(hosts, ']', len);
        const char *from = bracket != NULL ? bracket : hosts;
        bool has_port = memchr(from, ':', len - (size_t)(from - hosts)) != NULL;
        ash__buffer_printf(out, "%.*s", (int)len, hosts);
        if (!has_port && port != NULL)
            ash__buffer_printf(out, ":%s", port);
        hosts += len;
        if (*hosts == ',') {
            ash__buffer_append_byte(out, ',');
            hosts++;
        }
    }
}

static char *build(const char *const *options, const char *db)
{
    ash_buffer out = ASH_BUFFER_INIT;
    char separator = '?';
    const char *host = options[ASH_GRIDFS_HOST] != NULL ? options[ASH_GRIDFS_HOST] : "localhost";
    const char *slash = strchr(host, '/');
    char *set = slash != NULL ? ash__strndup(host, (size_t)(slash - host)) : NULL;
    ash__buffer_printf(&out, "mongodb://");
    if (options[ASH_GRIDFS_USERNAME] != NULL) {
        ash__reach_escape(&out, options[ASH_GRIDFS_USERNAME]);
        if (options[ASH_GRIDFS_PASSWORD] != NULL) {
            ash__buffer_append_byte(&out, ':');
            ash__reach_escape(&out, options[ASH_GRIDFS_PASSWORD]);
        }
        ash__buffer_append_byte(&out, '@');
    }
    append_hosts(&out, slash != NULL ? slash + 1 : host, options[ASH_GRIDFS_PORT]);
    ash__buffer_append_byte(&out, '/');
    ash__reach_escape(&out, db != NULL ? db : "");
    append_option(&out, &separator, "replicaSet", set);
    if (options[ASH_GRIDFS_USERNAME] != NULL)
        append_option(&out, &separator, "authSource",
                      options[ASH_GRIDFS_AUTH_DB] != NULL ? options[ASH_GRIDFS_AUTH_DB] : "admin");
    append_option(&out, &separator, "authMechanism", options[ASH_GRIDFS_AUTH_MECHANISM]);
    append_option(&out, &separator, "tls", options[ASH_GRIDFS_TLS] != NULL ? "true" : NULL);
    append_option(&out, &separator, "tlsCAFile", options[ASH_GRIDFS_CA_FILE]);
    append_option(&out, &separator, "tlsCertificateKeyFile", options[ASH_GRIDFS_KEY_FILE]);
    append_option(&out, &separator, "tlsAllowInvalidCertificates",
                  options[ASH_GRIDFS_ANY_CERTIFICATE] != NULL ? "true" : NULL);
    append_option(&out, &separator, "tlsAllowInvalidHostnames",
                  options[ASH_GRIDFS_ANY_HOSTNAME] != NULL ? "true" : NULL);
    ash__buffer_append_byte(&out, 0);
    ash__free(set);
    return (char *)ash__buffer_detach(&out);
}

int ash__gridfs_uri(const char *const *options, const char *given, const char *db, char **out,
                    ash_error *err)
{
    const char *uri = options[ASH_GRIDFS_URI];
    bool by_parts = options[ASH_GRIDFS_HOST] != NULL || options[ASH_GRIDFS_PORT] != NULL ||
                    options[ASH_GRIDFS_USERNAME] != NULL;
    *out = NULL;
    if (uri != NULL && given != NULL)
        return ash__fail(err, ASH_EINVAL, "illegal argument combination: two connection strings");
    if (uri == NULL)
        uri = given;
    if (uri != NULL && by_parts)
        return ash__fail(err, ASH_EINVAL,
                         "illegal argument combination: a connection string says the host, the "
                         "port and the user itself");
    if (uri != NULL && strncmp(uri, "mongodb://", 10) != 0 && strncmp(uri, "mongodb+srv://", 14))
        return ash__fail(err, ASH_EINVAL,
                         "error parsing uri: it begins with neither mongodb:// "
                         "nor mongodb+srv://");
    /* mongofiles asks for it; here standard input may be the file. */
    if (options[ASH_GRIDFS_USERNAME] != NULL && options[ASH_GRIDFS_PASSWORD] == NULL)
        return ash__fail(err, ASH_EINVAL, "--username needs --password");
    if (uri != NULL)
        *out = ash__strdup(uri);
    else if (by_parts)
        *out = build(options, db);
    return 0;
}
