/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_STATE_H
#define ASH_HTTP_SITE_STATE_H

/* What the parts of a site share. */

#include "http/dav/dav.h"
#include "http/site/site.h"

typedef struct ash_site_mount {
    char *prefix; /* "" or "/docs" */
    char *root;
    ash_tree *tree;
    ash_dav *dav;
} ash_site_mount;

struct ash_site {
    ash_store *store;
    ash_site_mount mounts[ASH_SITE_MAX_MOUNTS]; /* longest prefix first */
    size_t mount_count;
    char **hosts;
    size_t host_count;
    char *version;
    const ash_site_annex *annexes;
    const ash_http_server *server;     /* whose counts are shown, or NULL */
    struct ash_site_uploads *uploads;  /* uploads.c */
    struct ash_site_feeds *feeds;      /* events.c */
    struct ash_site_shares *shares;    /* share.c */
};

/* Whose prefix a path of the URL space begins with, and the rest, a path in its tree ("/…",
 * borrowed from path); NULL: nobody's. */
const ash_site_mount *ash__site_mount_of(const ash_site *site, const char *path,
                                         const char **in_tree);

/* Parts.  Each answers; path: in the mount's tree. */
void ash__site_page(ash_site *site, const ash_site_mount *m, ash_exchange *x, const char *path);
void ash__site_api(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_asset(ash_exchange *x, const char *name);
void ash__site_archive(const ash_site_mount *m, ash_exchange *x, const char *path);
void ash__site_events(ash_site *site, const ash_site_mount *m, ash_exchange *x, const char *path);
void ash__site_health(ash_site *site, ash_exchange *x);
void ash__site_metrics(ash_site *site, ash_exchange *x);
/* rest: what stands behind "/.ashlar/uploads", "/.ashlar/versions" …: "" or "/…" */
void ash__site_uploads(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_versions(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_trash(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_at(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_share(ash_site *site, ash_exchange *x, const char *rest);

int ash__site_uploads_new(ash_site *site, ash_error *err);
void ash__site_uploads_free(ash_site *site);
void ash__site_feeds_new(ash_site *site);
void ash__site_feeds_free(ash_site *site); /* every feed has ended then */

#endif
