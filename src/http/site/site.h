/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_H
#define ASH_HTTP_SITE_H

/* One URL space over a store: trees where people and their clients look for them, and everything
 * else below one reserved name.
 *
 *     /, or PREFIX/ of each mount     a tree: WebDAV, and the page for browsers
 *     /.ashlar/assets/…               what the page is made of
 *     /.ashlar/tree/…                 the tree's JSON API (api.c)
 *     /.ashlar/archive/PATH           a folder as one tar or zip
 *     /.ashlar/events/PATH            changes as they happen (SSE)
 *     /.ashlar/uploads/…              resumable uploads (tus)
 *     /.ashlar/versions/PATH/…        versions as a read-only folder
 *     /.ashlar/trash/…                what was deleted, likewise
 *     /.ashlar/at/TIME/PATH           a tree as it was, likewise
 *     /.ashlar/tokens/…               tokens of whoever asks
 *     /.ashlar/share/TOKEN/…          what somebody shared, for whoever has the link
 *     /.ashlar/login, /.ashlar/logout       for browsers, where the server asks who they are
 *     /.ashlar/health, /.ashlar/metrics     also as /health and /metrics, where no tree has such a
 *                                           name
 *
 * A PATH below the reserved name begins with the mount's prefix, as in the tree's own URLs. */

#include "http/server.h"

#include <ashlar/store.h>

enum { ASH_SITE_MAX_MOUNTS = 64 };
#define ASH_SITE_RESERVED "/.ashlar"

typedef struct ash_site ash_site;

typedef struct ash_site_mount_options {
    const char *prefix; /* "" or "/docs": no '/' at its end */
    const char *root;   /* of the tree, as ash_tree_open() has it */
} ash_site_mount_options;

typedef struct ash_site_options {
    size_t size;
    const ash_site_mount_options *mounts;
    size_t mount_count;
    /* Names that clients may call this server by, besides addresses and "localhost": a page of
     * somebody else's, whose name leads here (DNS rebinding), is refused. */
    const char *const *hosts;
    size_t host_count;
    /* Who asks, and what they may (http/gate/gate.h); borrowed.  NULL: everybody may everything. */
    struct ash_gate *gate;
    const char *version; /* of the program, for /health; or NULL */
    /* Somebody else's part of the space, below a reserved name ("buckets", "objects",
     * "openapi.json"); NULL ends the list.  rest: what stands behind the name, "" or "/…". */
    const struct ash_site_annex *annexes;
    /* Whose counts /metrics shows; may be set later by ash__site_watch_server(). */
} ash_site_options;
#define ASH_SITE_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(ash_site_options)                                                           \
    }

/* Nobody gets to it without a name where the gate asks for one; what its users may is its own to
 * ask. */
typedef struct ash_site_annex {
    const char *name;
    void (*begin)(void *ctx, ash_exchange *x, const char *rest);
    void *ctx;
    /* What a change there is for the audit log (ASH_AUDIT_…); NULL: a write. */
    unsigned (*change_kind)(const char *rest);
} ash_site_annex;

/* May a tree be shown there? */
bool ash__site_is_good_prefix(const char *prefix);
/* Opens the trees; makes nothing.  *out is yours: ash__site_free(), after the server's stop. */
int ash__site_new(ash_store *store, const ash_site_options *opts, ash_site **out, ash_error *err);
void ash__site_free(ash_site *site);
void ash__site_watch_server(ash_site *site, const ash_http_server *server);

/* Its ctx is the site. */
const ash_http_service *ash__site_service(void);

#endif
