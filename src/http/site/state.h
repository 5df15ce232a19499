/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SITE_STATE_H
#define ASH_HTTP_SITE_STATE_H

/* What the parts of a site share. */

#include "http/dav/resource.h"
#include "http/site/site.h"
#include "share/share.h"

typedef struct ash_site_events ash_site_events;
typedef struct ash_site_uploads ash_site_uploads;

typedef struct ash_site_mount {
    char *prefix; /* "" or "/docs" */
    char *root;
    ash_tree *tree;
    ash_dav *dav;
} ash_site_mount;

struct ash_site {
    ash_store *store;
    struct ash_gate *gate;                      /* borrowed; NULL: nobody is asked */
    ash_site_mount mounts[ASH_SITE_MAX_MOUNTS]; /* longest prefix first */
    size_t mount_count;
    char **hosts;
    size_t host_count;
    char *version;
    const ash_site_annex *annexes;
    const ash_http_server
        *_Atomic server;       /* whose counts are shown, or NULL; set while requests come */
    ash_site_events *events;   /* events.c */
    ash_site_uploads *uploads; /* uploads_store.c */
    ash_shares *shares;
    struct ash_site_names *names; /* shared_upload.c */
};

/* Whose prefix a path of the URL space begins with, and the rest, a path in its tree ("/…",
 * borrowed from path); NULL: nobody's. */
const ash_site_mount *ash__site_mount_of(const ash_site *site, const char *path,
                                         const char **in_tree);

/* Is it the reserved name, or below it? */
bool ash__site_is_reserved(const char *path);

/* What a part needs of who asks (needs.c).  Each row that answers has one; 0 would be none. */
typedef enum ash_site_need {
    ASH_SITE_NEEDS_NOTHING = 1, /* for everybody, and as nobody: x->op is NULL */
    ASH_SITE_NEEDS_NAME,        /* for users; the part asks for the rest */
    ASH_SITE_NEEDS_LOOK,        /* find in the trees' collections */
    ASH_SITE_NEEDS_CHANGE,      /* and insert, update, remove */
    ASH_SITE_NEEDS_BY_METHOD,   /* the one or the other */
    ASH_SITE_NEEDS_SHARE,       /* find in the trees, and insert, find or remove in the shares */
    ASH_SITE_NEEDS_SHARES,
    ASH_SITE_NEEDS_UNSHARE,
    ASH_SITE_NEEDS_MONITOR /* serverStatus */
} ash_site_need;

bool ash__site_may(const ash_site *site, const ash_exchange *x, ash_site_need need);
/* true: x is answered, with 401 or 403. */
bool ash__site_refuse_need(const ash_site *site, ash_exchange *x, ash_site_need need);

/* By a token that is held to a path: is that one in it? */
bool ash__site_is_within(const ash_exchange *x, const char *path);
/* What leads elsewhere; true: x is answered. */
bool ash__site_refuse_outside(ash_exchange *x);

/* Refuses whoever calls this server by a name that is not its own, and changes that another site's
 * page asks for; true: x is answered (origin.c). */
bool ash__site_refuse_stranger(const ash_site *site, ash_exchange *x);
/* For what can be read and nothing else; true: x is answered, with 405. */
bool ash__site_refuse_change(ash_exchange *x);

/* What is moved to a place where another tree lies would be in this one, and hidden.  true: x, with
 * such a Destination, is answered. */
bool ash__site_leaves_tree(const ash_site *site, const ash_site_mount *m, ash_exchange *x);
/* Does it ask for what browsers show? */
bool ash__site_wants_page(const ash_exchange *x);
/* Names the trees, where none is at the top. */
void ash__site_roots(const ash_site *site, ash_exchange *x);
/* Of what was looked for at a path: missing, and not to be seen, are one answer. */
void ash__site_answer_look(ash_exchange *x, const char *path, const ash_error *err);
/* To the same address with a '/' at its end, so that what is said relative to it is in the folder. */
void ash__site_redirect_to_folder(ash_exchange *x);

/* A browser that has not signed in is led to the form; true: x is answered (login.c). */
bool ash__site_lead_to_login(ash_exchange *x);
/* Who has signed in by the form and may not do that learns so on a page; true: x is answered. */
bool ash__site_refuse_by_page(ash_exchange *x);
/* A button for who has signed in by the form; user NULL: none. */
void ash__site_add_sign_out(ash_buffer *out, const char *user);
/* Where a part of the page is, with its digest. */
void ash__site_asset_href(ash_buffer *out, const char *name);
/* "1.2 MB". */
void ash__site_size_text(ash_buffer *out, int64_t bytes);
/* Text as a value in a query. */
void ash__site_query_value(ash_buffer *out, const char *text);
/* A folder or file as an archive, in the request's `format`; at_ms as ash_tree_when has it. */
void ash__site_pack(const ash_site_mount *m, ash_exchange *x, const char *path, int64_t at_ms);
/* Fields that every page of ours has. */
void ash__site_page_fields(ash_exchange *x);

/* The page of a folder, or of what is not there. */
void ash__site_page(ash_site *site, const ash_site_mount *m, ash_exchange *x, const char *path);

/* ---- parts below the reserved name; rest: what stands behind their own, "" or "/…" ---- */

void ash__site_health(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_login(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_logout(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_metrics(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_assets(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_api(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_openapi(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_archive(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_events(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_uploads(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_versions(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_tokens(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_trash(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_share(ash_site *site, ash_exchange *x, const char *rest);
void ash__site_at(ash_site *site, ash_exchange *x, const char *rest);

/* What of a part's requests goes into the audit log (told.c). */
typedef enum ash_site_telling {
    ASH_SITE_TELLS_NOTHING = 1, /* but refusals */
    ASH_SITE_TELLS_METHOD,      /* a read or a write, by its method */
    ASH_SITE_TELLS_SECRET,      /* the same; what stands behind its name is told to nobody */
    ASH_SITE_TELLS_USERS,       /* a change of who may do what, or a read */
    ASH_SITE_TELLS_CALL         /* by the call */
} ash_site_telling;

/* One row for each: its name, what it needs, what is told of it, and what answers. */
/* clang-format off */
#define ASH_SITE_PARTS(X)                                                              \
    X("archive", ASH_SITE_NEEDS_LOOK, ASH_SITE_TELLS_METHOD, ash__site_archive)        \
    X("assets", ASH_SITE_NEEDS_NOTHING, ASH_SITE_TELLS_NOTHING, ash__site_assets)      \
    X("at", ASH_SITE_NEEDS_BY_METHOD, ASH_SITE_TELLS_METHOD, ash__site_at)             \
    X("events", ASH_SITE_NEEDS_LOOK, ASH_SITE_TELLS_METHOD, ash__site_events)          \
    X("health", ASH_SITE_NEEDS_NOTHING, ASH_SITE_TELLS_NOTHING, ash__site_health)      \
    X("login", ASH_SITE_NEEDS_NOTHING, ASH_SITE_TELLS_NOTHING, ash__site_login)        \
    X("logout", ASH_SITE_NEEDS_NOTHING, ASH_SITE_TELLS_NOTHING, ash__site_logout)      \
    X("metrics", ASH_SITE_NEEDS_MONITOR, ASH_SITE_TELLS_NOTHING, ash__site_metrics)    \
    X("openapi.json", ASH_SITE_NEEDS_NAME, ASH_SITE_TELLS_NOTHING, ash__site_openapi)  \
    X("share", ASH_SITE_NEEDS_NOTHING, ASH_SITE_TELLS_SECRET, ash__site_share)         \
    X("trash", ASH_SITE_NEEDS_BY_METHOD, ASH_SITE_TELLS_METHOD, ash__site_trash)       \
    X("tokens", ASH_SITE_NEEDS_NAME, ASH_SITE_TELLS_USERS, ash__site_tokens)           \
    X("tree", ASH_SITE_NEEDS_NAME, ASH_SITE_TELLS_CALL, ash__site_api)                 \
    X("uploads", ASH_SITE_NEEDS_CHANGE, ASH_SITE_TELLS_SECRET, ash__site_uploads)      \
    X("versions", ASH_SITE_NEEDS_BY_METHOD, ASH_SITE_TELLS_METHOD, ash__site_versions)
/* clang-format on */

typedef struct ash_site_part {
    const char *name;
    ash_site_need need;
    ash_site_telling tells;
    void (*begin)(ash_site *site, ash_exchange *x, const char *rest);
} ash_site_part;

/* Whose a path below the reserved name is; both NULL: nobody's. */
typedef struct ash_site_place {
    const ash_site_part *part;
    const ash_site_annex *annex;
    const char *rest; /* of "/archive/docs": "/docs" */
} ash_site_place;
ash_site_place ash__site_place_of(const ash_site *site, const char *path);

/* What the audit log is to have of x, which has entered; true: x is answered (told.c).  place: NULL
 * for what is not below the reserved name. */
bool ash__site_trace(const ash_site *site, ash_exchange *x, const ash_site_place *place);
/* Of a call of the API, ASH_AUDIT_…; 0: there is none of that name (api.c). */
unsigned ash__site_api_kind(const char *name);

/* What parts have of their own, for as long as the site. */
int ash__site_parts_new(ash_site *site, ash_error *err);
void ash__site_parts_free(ash_site *site);

#endif
