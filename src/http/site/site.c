/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers what: trees by their prefixes, and the reserved name. */
#include "http/site/site.h"

#include "base/mem.h"
#include "http/site/state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* An upload is in memory in part: smaller pieces than the tree's own, since there may be many. */
enum { PIECE_BYTES = 8 * 1024 * 1024 };

/* ---- making ---- */

static bool is_good_prefix(const char *prefix)
{
    size_t len = strlen(prefix);
    size_t reserved = strlen(ASH_SITE_RESERVED);
    return len == 0 || (prefix[0] == '/' && prefix[len - 1] != '/' && len < 256 &&
                        strpbrk(prefix, "?#%\\\"<>") == NULL && strstr(prefix, "//") == NULL &&
                        !(strncmp(prefix, ASH_SITE_RESERVED, reserved) == 0 &&
                          (prefix[reserved] == '/' || prefix[reserved] == '\0')));
}

static int open_mount(ash_site *s, const ash_site_mount_options *o, ash_error *err)
{
    ash_site_mount *m = &s->mounts[s->mount_count++];
    ash_tree_options t = ASH_TREE_OPTIONS_INIT;
    if (!is_good_prefix(o->prefix))
        return ash__fail(
            err, ASH_EINVAL,
            "\"%.100s\" is no prefix: it is \"\" or \"/NAME\", without a '/' at its end",
            o->prefix);
    for (size_t i = 0; i + 1 < s->mount_count; i++)
        if (strcmp(s->mounts[i].prefix, o->prefix) == 0)
            return ash__fail(err, ASH_EINVAL, "two trees are to be at \"%s/\"", o->prefix);
    t.piece_bytes = PIECE_BYTES;
    m->prefix = ash__strdup(o->prefix);
    m->root = ash__strdup(o->root);
    int rc = ash_tree_open(s->store, o->root, &t, &m->tree, err);
    return rc == 0 ? ash__dav_new(s->store, m->tree, o->prefix, &m->dav, err) : rc;
}

/* One that could not be made comes last. */
static int longest_first(const void *a, const void *b)
{
    const char *p = ((const ash_site_mount *)a)->prefix, *q = ((const ash_site_mount *)b)->prefix;
    size_t x = p != NULL ? strlen(p) : 0, y = q != NULL ? strlen(q) : 0;
    return (x < y) - (x > y);
}

int ash__site_new(ash_store *store, const ash_site_options *opts, ash_site **out, ash_error *err)
{
    ash_site *s = ash__new(ash_site);
    int rc =
        opts->mount_count > ASH_SITE_MAX_MOUNTS
            ? ash__fail(err, ASH_EINVAL, "at most %d trees are shown", (int)ASH_SITE_MAX_MOUNTS)
            : 0;
    s->store = store;
    s->annexes = opts->annexes;
    s->version = ash__strdup(opts->version != NULL ? opts->version : "");
    s->hosts = ash__alloc_array(opts->host_count + 1, sizeof *s->hosts);
    for (size_t i = 0; i < opts->host_count; i++)
        s->hosts[s->host_count++] = ash__strdup(opts->hosts[i]);
    for (size_t i = 0; i < opts->mount_count && rc == 0; i++)
        rc = open_mount(s, &opts->mounts[i], err);
    qsort(s->mounts, s->mount_count, sizeof *s->mounts, longest_first);
    if (rc == 0)
        rc = ash__site_parts_new(s, err);
    if (rc != 0) {
        ash__site_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void ash__site_free(ash_site *s)
{
    if (s == NULL)
        return;
    ash__site_parts_free(s);
    for (size_t i = 0; i < s->mount_count; i++) {
        ash__dav_free(s->mounts[i].dav);
        ash_tree_close(s->mounts[i].tree);
        ash__free(s->mounts[i].prefix);
        ash__free(s->mounts[i].root);
    }
    for (size_t i = 0; i < s->host_count; i++)
        ash__free(s->hosts[i]);
    ash__free(s->hosts);
    ash__free(s->version);
    ash__free(s);
}

void ash__site_watch_server(ash_site *site, const ash_http_server *server)
{
    atomic_store(&site->server, server);
}

const ash_site_mount *ash__site_mount_of(const ash_site *site, const char *path,
                                         const char **in_tree)
{
    for (size_t i = 0; i < site->mount_count; i++) {
        const ash_site_mount *m = &site->mounts[i];
        size_t len = strlen(m->prefix);
        if (strncmp(path, m->prefix, len) == 0 && (path[len] == '/' || path[len] == '\0')) {
            *in_tree = path[len] == '\0' ? "/" : path + len;
            return m;
        }
    }
    return NULL;
}

/* ---- who asks ---- */

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

/* A change that another site's page asks for, in the name of whoever looks at it. */
static bool is_foreign(const ash_exchange *x, const char *host)
{
    const char *origin = ash__head_field(x->head, "Origin");
    const char *site = ash__head_field(x->head, "Sec-Fetch-Site");
    char name[256];
    if (ash__method_is_safe(x->method))
        return false;
    if (site != NULL && (strcmp(site, "cross-site") == 0 || strcmp(site, "same-site") == 0))
        return true;
    if (origin == NULL)
        return false;
    const char *at = strstr(origin, "://");
    if (at == NULL)
        return true;
    host_of(at + 3, name, sizeof name);
    return strcasecmp(name, host) != 0;
}

/* true: x is answered. */
static bool refuse_stranger(const ash_site *s, ash_exchange *x)
{
    const char *field = ash__head_field(x->head, "Host");
    char host[256] = "localhost";
    if (field != NULL)
        host_of(field, host, sizeof host);
    if (!is_known_host(s, host))
        ash__answer_text(
            x, 403, "this server is not known as \"%s\"; `ashlar serve --http-host %s` makes it so",
            host, host);
    else if (is_foreign(x, host))
        ash__answer_text(x, 403, "another site's page asks for this change");
    return x->status != 0;
}

/* ---- below the reserved name ---- */

typedef struct part {
    const char *name;
    void (*begin)(ash_site *site, ash_exchange *x, const char *rest);
} part;

static const part parts[] = {
    ASH_SITE_PARTS,
};

static void begin_reserved(ash_site *s, ash_exchange *x, const char *rest)
{
    size_t len = strcspn(rest + (rest[0] == '/'), "/");
    const char *name = rest + (rest[0] == '/');
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++)
        if (strlen(parts[i].name) == len && strncmp(parts[i].name, name, len) == 0) {
            parts[i].begin(s, x, name + len);
            return;
        }
    for (const ash_site_annex *a = s->annexes; a != NULL && a->name != NULL; a++)
        if (strlen(a->name) == len && strncmp(a->name, name, len) == 0) {
            a->begin(a->ctx, x, name + len);
            return;
        }
    ash__answer_text(x, 404, "nothing of that name is below " ASH_SITE_RESERVED "/");
}

/* ---- trees ---- */

static bool wants_page(const ash_exchange *x)
{
    return (strcmp(x->method, "GET") == 0 || x->is_head) &&
           ash__head_has_word(x->head, "Accept", "text/html");
}

static int look(const ash_site_mount *m, const char *path, bool *there, bool *is_folder,
                ash_error *err)
{
    ash_tree_entry *e = NULL;
    int rc = ash__dav_lookup(m->dav, path, &e, err);
    *there = e != NULL;
    *is_folder = e != NULL && ash_tree_entry_is_folder(e);
    ash_tree_entry_free(e);
    return rc;
}

static void redirect_to_folder(const ash_site_mount *m, ash_exchange *x, const char *path)
{
    ash_buffer to = ASH_BUFFER_INIT;
    ash__dav_href(m->dav, &to, path, true);
    if (x->target.query != NULL)
        ash__buffer_printf(&to, "?%s", x->target.query);
    ash__answer_field(x, "Location", "%s", ash__buffer_text(&to));
    ash__answer_empty(x, 301);
    ash__buffer_release(&to);
}

/* /health and /metrics, where people look for them. */
static bool is_operators(ash_site *s, ash_exchange *x, const char *path)
{
    if (strcmp(x->method, "GET") != 0 && !x->is_head)
        return false;
    if (strcmp(path, "/health") == 0)
        ash__site_health(s, x, "");
    else if (strcmp(path, "/metrics") == 0)
        ash__site_metrics(s, x, "");
    return x->status != 0;
}

static bool is_operators_path(const char *path)
{
    return strcmp(path, "/health") == 0 || strcmp(path, "/metrics") == 0;
}

static void begin_tree(ash_site *s, const ash_site_mount *m, ash_exchange *x, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    bool there = true, is_folder = false;
    bool for_page = wants_page(x);
    /* Others find out by themselves. */
    if ((for_page || is_operators_path(x->target.path)) &&
        look(m, path, &there, &is_folder, &err) != 0) {
        ash__answer_error(x, &err);
        return;
    }
    if (!there && is_operators(s, x, x->target.path))
        return;
    if (is_folder && for_page && !x->target.is_folder)
        redirect_to_folder(m, x, path);
    else if (for_page && (is_folder || !there))
        ash__site_page(s, m, x, path);
    else
        ash__dav_begin(m->dav, x, path);
}

static void begin_nowhere(ash_site *s, ash_exchange *x, const char *path)
{
    if (strcmp(x->method, "OPTIONS") == 0)
        ash__dav_options(NULL, x, path);
    else if (strcmp(path, "/") == 0 && s->mount_count > 0) {
        ash_buffer to = ASH_BUFFER_INIT;
        ash__http_target_encode(&to, s->mounts[0].prefix);
        ash__answer_field(x, "Location", "%s/", ash__buffer_text(&to));
        ash__answer_empty(x, 302);
        ash__buffer_release(&to);
    } else if (!is_operators(s, x, path))
        ash__answer_text(x, 404, "no tree is at %s", path);
}

static void begin(ash_exchange *x)
{
    ash_site *s = x->service;
    const char *path = x->target.path, *in_tree = NULL;
    size_t reserved = strlen(ASH_SITE_RESERVED);
    if (refuse_stranger(s, x))
        return;
    if (path == NULL) {
        ash__dav_options(NULL, x, "*");
        return;
    }
    if (strncmp(path, ASH_SITE_RESERVED, reserved) == 0 &&
        (path[reserved] == '/' || path[reserved] == '\0')) {
        begin_reserved(s, x, path + reserved);
        return;
    }
    const ash_site_mount *m = ash__site_mount_of(s, path, &in_tree);
    if (m == NULL)
        begin_nowhere(s, x, path);
    else
        begin_tree(s, m, x, in_tree);
}

const ash_http_service *ash__site_service(void)
{
    static const ash_http_service service = {begin};
    return &service;
}
