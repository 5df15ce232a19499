/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks: by what name, and from whose page. */
#include "http/site/state.h"

#include <string.h>
#include <strings.h>

enum { MAX_AUTHORITY = 300 };

/* ---- by what name ---- */

/* The host alone: "[::1]:8080" is "::1". */
static void host_of(const char *field, char *out, size_t size)
{
    size_t start = field[0] == '[';
    size_t len = strcspn(field + start, start ? "]" : ":");
    if (len >= size)
        len = size - 1;
    memcpy(out, field + start, len);
    out[len] = '\0';
}

/* A page somewhere else can have a name of its own lead to this machine, and would then be of the
 * same origin as what is served here.  It cannot make the browser say another name. */
static bool is_known_host(const ash_site *s, const char *host)
{
    if (strspn(host, "0123456789.") == strlen(host) || strchr(host, ':') != NULL ||
        strcasecmp(host, "localhost") == 0)
        return true;
    for (size_t i = 0; i < s->host_count; i++)
        if (strcasecmp(host, s->hosts[i]) == 0)
            return true;
    return false;
}

/* ---- from whose page ---- */

/* Bytes of "host:port" without the port that goes without saying. */
static size_t plain_length(const char *authority, const char *default_port)
{
    size_t len = strlen(authority);
    const char *port = strrchr(authority, ':');
    if (port != NULL && strcmp(port, default_port) == 0 && (authority[0] != '[' || port[-1] == ']'))
        len = (size_t)(port - authority);
    return len;
}

/* How the browser came here, as far as that is known: a proxy in front may speak TLS and say
 * nothing.  No other site's page can have it say what it does not.  NULL: nobody knows. */
static const char *own_scheme(const ash_exchange *x, size_t *len)
{
    const char *said = ash__head_field(x->head, "X-Forwarded-Proto");
    const char *scheme = said != NULL ? said : x->is_secure ? "https" : NULL;
    *len = scheme != NULL ? strcspn(scheme, ", ") : 0;
    return scheme;
}

/* What is said in the clear may be anybody's who is between, and is another site than what is said
 * over TLS. */
static bool is_own_origin(const ash_exchange *x, const char *origin, const char *host)
{
    size_t len;
    const char *at = strstr(origin, "://"), *scheme = own_scheme(x, &len);
    if (at == NULL ||
        (scheme != NULL && (len != (size_t)(at - origin) || strncasecmp(origin, scheme, len) != 0)))
        return false;
    const char *port = strncasecmp(origin, "https:", 6) == 0 ? ":443" : ":80";
    at += 3;
    len = plain_length(at, port);
    return len == plain_length(host, port) && strncasecmp(at, host, len) == 0;
}

/* A change that another site's page asks for, in the name of whoever looks at it.  What listens at
 * another port of the same host is another site. */
static bool is_foreign(const ash_exchange *x, const char *host)
{
    const char *origin = ash__head_field(x->head, "Origin");
    const char *site = ash__head_field(x->head, "Sec-Fetch-Site");
    if (ash__method_is_safe(x->method))
        return false;
    if (site != NULL && (strcmp(site, "cross-site") == 0 || strcmp(site, "same-site") == 0))
        return true;
    /* Of a proxy; a browser lets no other site's page say it. */
    const char *forwarded = ash__head_field(x->head, "X-Forwarded-Host");
    return origin != NULL && !is_own_origin(x, origin, host) &&
           (forwarded == NULL || !is_own_origin(x, origin, forwarded));
}

bool ash__site_refuse_stranger(const ash_site *s, ash_exchange *x)
{
    const char *field = ash__head_field(x->head, "Host");
    const char *authority = field != NULL ? field : "localhost";
    char host[MAX_AUTHORITY];
    host_of(authority, host, sizeof host);
    if (!is_known_host(s, host))
        ash__answer_text(
            x, 403, "this server is not known as \"%s\"; `ashlar serve --http-host %s` makes it so",
            host, host);
    else if (is_foreign(x, authority))
        ash__answer_text(x, 403, "another site's page asks for this change");
    return x->status != 0;
}

bool ash__site_refuse_change(ash_exchange *x)
{
    if (strcmp(x->method, "GET") == 0 || x->is_head)
        return false;
    ash__answer_field(x, "Allow", "GET, HEAD");
    ash__answer_text(x, 405, "it can be read, and nothing else");
    return true;
}
